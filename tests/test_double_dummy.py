"""Exact play, against a search that tries everything: no pruning, no table, no merging of cards."""

from typing import Any

import numba
import numpy as np
import pytest
from play import scale

from smear_agents import double_dummy, max_n, solve
from smear_agents.double_dummy import best_action, evaluate, new_memory
from smear_agents.two_sides import GENERATION, MAX_GENERATION
from smear_env import PRESETS, GameRules, Games, make_rules
from smear_env._jit import JIT, int64
from smear_env.cards import cards_in, lowest
from smear_env.engine import step
from smear_env.rules import NOBODY, PLAY, make_tables
from smear_env.testing import position

OBJECTIVES = ("points", "margin", "made", "score")
POINTS, MARGIN, MADE, SCORE = range(4)
ILLEGAL = -(10**6)

VARIANTS = {
    "widow": make_rules("four_point", widow=3, low_rank=6),
    "no widow": make_rules("four_point", widow=0),
    "discards for nobody": make_rules("four_point", discards_score_for="nobody"),
    "strict, in play": make_rules("four_point", follow="strict", high="in_play", low="in_play"),
    "2x3": PRESETS["schmier_2x3"],
    "follow or trump": make_rules("schmier", follow="follow_or_trump", left_point=0, max_bid=5),
    "no bauers": make_rules(
        "schmier", left_bower=False, left_point=0, protected=("ace", "right", "low"), high="in_play", max_bid=5
    ),
    "no joker": make_rules("schmier", jokers=0, joker_point=0, joker_card_points=0, low="in_play", max_bid=5),
    "worthless joker": make_rules("schmier", joker_card_points=0, joker_point=0, max_bid=5),
}


# --- Trying everything -------------------------------------------------------------------------------------------

# Compiled, but not kept: what calls itself cannot be kept in a cache.
compiled = numba.njit if JIT else lambda function: function


@compiled
def utility(g: Any, t: Any, team: int, objective: int) -> int:
    """What a team wants of a deal that is over; score times teams - 1."""
    own, others, change, others_change = int64(0), int64(0), int64(0), int64(0)
    for other in range(t.teams):
        points = int64(g.last_points[other])
        delta = points
        if other == t.team_of[g.last_bidder] and points < g.last_bid:
            delta = -int64(g.last_bid)
        if other == team:
            own, change = points, delta
        else:
            others += points
            others_change += delta
    if objective == 0:
        return own
    if objective == 1:
        return own - others
    if objective == 2:
        return int64(g.last_points[t.team_of[g.last_bidder]] >= g.last_bid)
    return (t.teams - 1) * change - others_change


@compiled
def payoff(g: Any, t: Any, objective: int, bidding: bool) -> int:
    """What the bidding side wants: where the others ask for their points, as few of these as can be."""
    team = t.team_of[g.last_bidder]
    if objective > 0 or bidding:
        return utility(g, t, team, objective)
    return utility(g, t, team, 1) - utility(g, t, team, 0)


@compiled
def minimax(games: np.ndarray, t: Any, depth: int, objective: int, bidding: bool) -> int:
    """The payoff of games[depth], a deal under way; the rows after it are used up."""
    g = games[depth]
    if g.terminated:
        return payoff(g, t, objective, bidding)
    maximises = t.team_of[g.actor] == t.team_of[g.bidder]
    best = int64(-1000) if maximises else int64(1000)
    cards = g.legal_cards
    while cards:
        games[depth + 1] = games[depth]
        step(games[depth + 1], t, lowest(cards))
        cards &= cards - 1
        value = minimax(games, t, depth + 1, objective, bidding)
        best = max(best, value) if maximises else min(best, value)
    return best


@compiled
def prefers(t: Any, team: int, objective: int, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether a team takes one outcome rather than another: utility, own points, then few for the teams after it."""
    sign = -1 if objective == 2 and one[t.teams + 1] != team else 1
    if one[t.teams + 2 + team] != other[t.teams + 2 + team]:
        return sign * one[t.teams + 2 + team] > sign * other[t.teams + 2 + team]
    if one[team] != other[team]:
        return one[team] > other[team]
    for k in range(1, t.teams):
        after = (team + k) % t.teams
        if one[after] != other[after]:
            return one[after] < other[after]
    return False


@compiled
def best_for_each(games: np.ndarray, t: Any, depth: int, objective: int, outcomes: np.ndarray) -> None:
    """Writes to outcomes[depth] the points of each team, then (after two more numbers) its utility."""
    g = games[depth]
    if g.terminated:
        outcomes[depth, t.teams + 1] = t.team_of[g.last_bidder]
        for team in range(t.teams):
            outcomes[depth, team] = g.last_points[team]
            outcomes[depth, t.teams + 2 + team] = utility(g, t, team, objective)
        return
    cards = g.legal_cards
    first = True
    while cards:
        games[depth + 1] = games[depth]
        step(games[depth + 1], t, lowest(cards))
        cards &= cards - 1
        best_for_each(games, t, depth + 1, objective, outcomes)
        if first or prefers(t, t.team_of[g.actor], objective, outcomes[depth + 1], outcomes[depth]):
            for at in range(outcomes.shape[1]):
                outcomes[depth, at] = outcomes[depth + 1, at]
        first = False


@compiled
def minimax_values(games: np.ndarray, tables: np.ndarray, work: np.ndarray, values: np.ndarray) -> None:
    """Writes the value for the actor of every legal action of all games, objectives in turn; values (N, 54)."""
    t = tables[0]
    for i in range(len(games)):
        bidding = t.team_of[games[i].actor] == t.team_of[games[i].bidder]
        cards = games[i].legal_cards
        while cards:
            work[0] = games[i]
            step(work[0], t, lowest(cards))
            value = minimax(work, t, 0, i % 4, bidding)
            values[i, lowest(cards)] = value if bidding else -value
            cards &= cards - 1


@compiled
def max_n_points(games: np.ndarray, tables: np.ndarray, work: np.ndarray, points: np.ndarray) -> None:
    """Writes the points of each team after every legal action of all games, objectives in turn; points (N, 54, 6)."""
    t = tables[0]
    outcomes = np.zeros((40, 2 * t.teams + 2), np.int64)
    for i in range(len(games)):
        cards = games[i].legal_cards
        while cards:
            work[0] = games[i]
            step(work[0], t, lowest(cards))
            best_for_each(work, t, 0, i % 4, outcomes)
            for team in range(t.teams):
                points[i, lowest(cards), team] = outcomes[0, team]
            cards &= cards - 1


# --- Positions ---------------------------------------------------------------------------------------------------


def positions(rules: GameRules, n: int, tricks: int, seed: int, table: int | None = None) -> np.ndarray:
    """About n records of random play with so many tricks still to be played and cards on the table (None: any number).

    Bids are drawn anew, as random ones are mostly the highest.
    """
    rng = np.random.default_rng(seed)
    games = Games(rules, n, seed=seed, episode="deal", autoreset=False)
    games.reset()
    sizes = rng.integers(0, rules.players, n) if table is None else np.full(n, table)
    found = []
    while (games.seats != NOBODY).any():
        g = games.records
        found.append(g[(g["phase"] == PLAY) & (g["tricks"] == 6 - tricks) & (g["trick_size"] == sizes)].copy())
        games.step(games.sample())
    together = np.concatenate(found)
    together["bid"] = rng.integers(rules.min_bid, rules.max_bid + 1, len(together))
    return together


def agrees(rules: GameRules, n: int, tricks: int, seed: int, table: int | None = None) -> bool:
    """Whether values are right in some random positions, with a table so small that its entries are in demand."""
    games, tables, memory = positions(rules, n, tricks, seed, table), make_tables(rules), new_memory(8)
    right = np.full((len(games), 54), ILLEGAL)
    minimax_values(games, tables, np.zeros(40, games.dtype), right)
    found = np.full((len(games), 54), ILLEGAL)
    for i in range(len(games)):
        evaluate(games, i, tables, i % 4, memory, found[i])
        action, value = best_action(games, i, tables, i % 4, memory)
        assert value == right[i].max() == right[i, action], (OBJECTIVES[i % 4], games[i])
    wrong = (found != right).any(axis=1).nonzero()[0]
    assert not wrong.size, (OBJECTIVES[wrong[0] % 4], games[wrong[0]])
    return len(games) > n // 3


def max_n_agrees(rules: GameRules, n: int, tricks: int, seed: int) -> bool:
    """The same for `max_n`, and whether values of a team are those of its points."""
    games, tables, memory = positions(rules, n, tricks, seed), make_tables(rules), new_memory(8)
    right = np.full((len(games), 54, 6), ILLEGAL)
    right[:, :, rules.teams :] = 0
    max_n_points(games, tables, np.zeros(40, games.dtype), right)
    found = np.zeros((54, 8), np.int64)
    for i in range(len(games)):
        max_n.evaluate(games, i, tables, i % 4, memory, found)
        legal = list(cards_in(games[i].legal_cards))
        assert (found[legal, 2:] == right[i, legal]).all(), (OBJECTIVES[i % 4], games[i])
        if i % 4 == POINTS:
            assert (found[legal, 1] == right[i, legal, games[i].actor % rules.teams]).all()
    return len(games) > n // 3


# --- Agreement ---------------------------------------------------------------------------------------------------


@pytest.mark.jit
@pytest.mark.slow
@pytest.mark.parametrize(("game", "n"), [("four_point", 10_500), ("schmier", 2_000)])
def test_three_tricks_agree_with_trying_everything(game: str, n: int) -> None:
    assert agrees(PRESETS[game], n, tricks=3, seed=1, table=0)


@pytest.mark.jit
@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_the_options_of_the_play_agree(name: str) -> None:
    assert agrees(VARIANTS[name], 300, tricks=3, seed=2)
    assert agrees(VARIANTS[name], 1000, tricks=2, seed=3)
    assert agrees(VARIANTS[name], 1000, tricks=1, seed=4)


@pytest.mark.jit
@pytest.mark.slow
def test_four_tricks_and_deals_of_few_choices_agree() -> None:
    assert agrees(PRESETS["four_point"], 60, tricks=4, seed=5)
    assert agrees(make_rules("schmier", players=2, teams=2, widow=0), 12, tricks=6, seed=6)
    assert agrees(make_rules("four_point", players=2, widow=0), 12, tricks=6, seed=7)


@pytest.mark.jit
@pytest.mark.slow
@pytest.mark.parametrize(("name", "n"), [("four_point", 40), ("no widow", 40), ("schmier", 8), ("2x3", 8)])
def test_whole_deals_come_to_what_was_foretold(name: str, n: int) -> None:
    """Best actions on both sides keep the value up to the last card, where the rules count it."""
    rules = (PRESETS | VARIANTS)[name]
    deals, memory = positions(rules, n, tricks=6, seed=14, table=0), new_memory(12)
    for i in range(len(deals)):
        objective, games = OBJECTIVES[i % 4], deals[i : i + 1].copy()
        bidding_team = int(games[0].bidder) % rules.teams
        foretold = solve(games, 0, rules, objective, memory=memory).value
        while not games[0].terminated:
            action, _ = best_action(games, 0, make_tables(rules), i % 4, memory)
            step(games[0], make_tables(rules)[0], action)
        points, change = (games[0][field][: rules.teams].astype(int) for field in ("last_points", "last_delta"))
        others = points.sum() - points[bidding_team]
        made = int(points[bidding_team] >= games[0].last_bid)
        mean_of_others = (change.sum() - change[bidding_team]) / (rules.teams - 1)
        came_to = (points[bidding_team], points[bidding_team] - others, made, change[bidding_team] - mean_of_others)
        assert foretold == came_to[i % 4], (objective, deals[i])


@pytest.mark.parametrize("name", ["four_point", "schmier", "no widow"])
def test_two_tricks_agree_in_both_gears(name: str) -> None:
    rules = (PRESETS | VARIANTS)[name]
    assert agrees(rules, scale(2000, 6), tricks=2, seed=8)


@pytest.mark.jit
@pytest.mark.slow
@pytest.mark.parametrize("name", ["schmier", "no bauers", "follow or trump"])
def test_max_n_agrees_with_trying_everything(name: str) -> None:
    rules = (PRESETS | VARIANTS)[name]
    for tricks, n in ((3, 300), (2, 1000), (1, 200)):
        assert max_n_agrees(rules, n, tricks, seed=9)


@pytest.mark.parametrize("players", [4, 5])
def test_max_n_is_for_any_number_of_teams(players: int) -> None:
    rules = make_rules("schmier", players=players, teams=players, low_rank=4)
    assert max_n_agrees(rules, scale(300, 4), 2, seed=10)


# --- By hand -----------------------------------------------------------------------------------------------------


def four_point(hands: dict[int, str], **named: Any) -> np.ndarray:
    return position("four_point", trump="H", hands=hands, **named).games.records


def test_a_jack_is_worth_more_when_it_waits() -> None:
    """F-20, F-21: led at once it is saved by the king, but the ace of clubs then takes the ten, and game.

    If the nine of clubs is led, the king trumps the ace, and the ten of clubs is led to the jack.
    """
    rules = VARIANTS["discards for nobody"]
    hands = {0: "JH 9C", 1: "8H AC", 2: "KH TC", 3: "8C 9S"}
    games = position(rules, trump="H", hands=hands, card_points=[10, 20]).games.records
    solution = solve(games, 0, rules)
    jack, nine = 35, 7
    assert solution.values == {jack: 1, nine: 2}
    assert solution.value == 2 and solution.best == (nine,)
    assert best_action(games, 0, make_tables(rules), POINTS, new_memory()) == (nine, 2)


def test_trumps_decide_in_the_middle_of_a_trick() -> None:
    """F-14, F-20: seat 2 may trump the ace of clubs with the jack, as nobody after it has a trump."""
    games = four_point({2: "JH 8C", 3: "9C 9S"}, led="TC AC", leader=0, bidder=0, tricks=4)
    solution = solve(games, 0, PRESETS["four_point"], objective="made")
    assert set(solution.values) == {35, 6}


def test_made_is_the_same_whoever_asks_and_score_is_the_actors() -> None:
    for bid, made in ((2, 1), (4, 0)):
        for leader in (0, 1):
            hands = {0: "AH", 1: "9H", 2: "JH", 3: "8H"}
            games = four_point(hands, leader=leader, bid=bid, card_points=[60, 0])
            solution = solve(games, 0, PRESETS["four_point"], objective="made")
            assert solution.value == made
            score = solve(games, 0, PRESETS["four_point"], objective="score").value
            assert score == (1 if leader == 0 else -1) * (3 if made else -4)


def test_the_first_lead_names_trump_where_it_is_free() -> None:
    """F-12: the values of all leads, each with its suit as trump."""
    rules = VARIANTS["no widow"]
    hands = {0: "AH KH QH JH TH 7H", 1: "AS KS", 2: "7C 8C", 3: "7D 8D"}
    games = position(rules, hands=hands).games.records
    solution = solve(games, 0, rules)
    assert set(solution.values) == {34, 35, 36, 37, 38, 31} and solution.value == 4


def test_a_private_commitment_binds_the_first_lead() -> None:
    """F-12: trump is settled, though nobody else knows it."""
    hands = {0: "7H AC KC QC JC TC"}
    games = four_point(hands, leader=0, bidder=0, tricks=0)
    games[0].trump_public = 0
    games[0].legal_cards &= make_tables(PRESETS["four_point"])[0]["suit_cards"][2, 2]
    assert set(solve(games, 0, PRESETS["four_point"]).values) == {31}


# --- Interface ---------------------------------------------------------------------------------------------------


def test_points_are_told_where_the_value_settles_them() -> None:
    games = four_point({0: "AH", 1: "9H", 2: "JH", 3: "8H"}, bidder=1, bid=3, card_points=[0, 60])
    rules = PRESETS["four_point"]
    assert solve(games, 0, rules, objective="margin").points == (2, 1)
    assert solve(games, 0, rules, objective="made").points is None  # set, with one point or with none
    schmier = positions(PRESETS["schmier"], scale(20, 4), 1, seed=11)
    solution = solve(schmier, 0, PRESETS["schmier"], model="max_n")
    assert solution.points is not None and 5 <= sum(solution.points) <= 6
    assert solve(schmier, 0, PRESETS["schmier"]).points is None


def test_what_was_solved_before_makes_no_difference() -> None:
    games, rules = positions(PRESETS["schmier"], scale(30, 5), 2, seed=12), PRESETS["schmier"]
    memory = new_memory(10)
    records = games.tobytes()
    for i in range(len(games)):
        for objective in ("points", "score"):
            for model in ("paranoid", "max_n"):
                again = solve(games, i, rules, objective, model, memory)  # type: ignore[arg-type]  # texts of a loop
                assert again == solve(games, i, rules, objective, model)  # type: ignore[arg-type]  # texts of a loop
    assert games.tobytes() == records


def test_the_table_is_wiped_when_its_generations_run_out() -> None:
    games, rules = positions(PRESETS["schmier"], scale(20, 4), 2, seed=13), PRESETS["schmier"]
    memory = new_memory(4)
    first = solve(games, 0, rules, memory=memory)
    memory[GENERATION] = MAX_GENERATION
    assert solve(games, 0, rules, memory=memory) == first
    assert memory[GENERATION] == 1


def test_a_wrong_question_is_told_what_is_wrong() -> None:
    games = Games("schmier", 1, seed=1)
    games.reset()
    with pytest.raises(ValueError, match="game 0 is in the phase 'bid'; only positions of the phase 'play'"):
        solve(games.records, 0, games.rules)
    with pytest.raises(ValueError, match="objective='tricks' is not allowed; allowed: points, margin, made, score"):
        solve(games.records, 0, games.rules, objective="tricks")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match="model='nice' is not allowed; allowed: paranoid, max_n"):
        solve(games.records, 0, games.rules, model="nice")  # type: ignore[arg-type]  # that is the point
    rules = make_rules("schmier", players=4, teams=4)
    with pytest.raises(ValueError, match="two or three teams, not teams=4; use model='max_n'"):
        solve(positions(rules, 4, 1, seed=1), 0, rules)


def test_numbers_of_the_objectives_stand_in_the_order_of_their_names() -> None:
    numbers = [double_dummy.POINTS, double_dummy.MARGIN, double_dummy.MADE, double_dummy.SCORE]
    assert numbers == [0, 1, 2, 3] == [POINTS, MARGIN, MADE, SCORE]
