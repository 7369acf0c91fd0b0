"""The players that search: legal whatever comes, blind to what is hidden, right where all is known."""

import numpy as np
import pytest
from worlds import World, filled, goes_back_to_six, shown_voids, sizes, world_of, worlds

from smear_agents import AGENTS, Agent, GameAgent, decide, make_agent
from smear_agents.double_dummy import SCORE, evaluate, new_memory
from smear_agents.search import CheaterAgent, IsmctsAgent, PimcAgent
from smear_env import PRESETS, GameRules, Games, SingleSeatEnv, make_rules
from smear_env.actions import action_text, legal_actions
from smear_env.cards import cards_in
from smear_env.resample import hide, hide_each, resample
from smear_env.rules import NOBODY, PLAY, make_tables
from smear_env.testing import Table, deal, position
from smear_train.sim import play_out

pytestmark = [pytest.mark.jit, pytest.mark.slow]

SCHMIER, FOUR_POINT = PRESETS["schmier"], PRESETS["four_point"]
VARIANTS = {
    **PRESETS,
    "no widow": make_rules("four_point", widow=0),
    "widow of three": make_rules("four_point", widow=3, high="in_play", low="in_play"),
    "discards lost": make_rules("four_point", discards_score_for="nobody", low_rank=2, all_pass="stick_dealer"),
    "no joker": make_rules("schmier", jokers=0, joker_point=0, joker_card_points=0, max_bid=5, all_pass="stick_dealer"),
    "no left": make_rules("schmier", left_bower=False, left_point=0, max_bid=5, follow="follow_or_trump"),
    "for two": make_rules("schmier", players=2, teams=2, exchange_discard="up_to_6"),
}
MEMORY = new_memory()
HONEST = ("pimc:2", "ismcts:8", "nn+search:2")
SEARCHING = (*HONEST, "cheater", "expert")
PLAYED_BY = {"expert": PRESETS, "nn+search:2": ("schmier", "four_point", "widow of three")}
"""Those that cannot play them all: a network plays what looks like the game that it was trained for."""
IN_PLAY = [(name, variant) for name in SEARCHING for variant in VARIANTS if variant in PLAYED_BY.get(name, VARIANTS)]


def play_deals(rules: GameRules, name: str, n: int, seed: int) -> None:
    """Plays deals to their end with the same player at all seats; an illegal action is an error."""
    games = Games(rules, n, seed, "deal", autoreset=False)
    games.reset()
    play_out(games, [make_agent(name, rules, seat) for seat in range(rules.players)])
    assert games.terminated.all()


# --- Legal actions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "variant"), IN_PLAY)
def test_only_legal_actions(name: str, variant: str) -> None:
    play_deals(VARIANTS[variant], name, 1, seed=1)


@pytest.mark.long
@pytest.mark.parametrize(("name", "variant"), IN_PLAY)
def test_only_legal_actions_in_many_deals(name: str, variant: str) -> None:
    play_deals(VARIANTS[variant], name, 200, seed=2)


NOBODY_VOID = {
    "schmier": ["2C 8C 2D 8D 2H 2S", "3C 9C 3D 9D 3H 3S", "4C TC 4D TD 4H 4S"]
    + ["5C QC 5D QD 5H 5S", "6C KC 6D KD 6H 6S", "7C AC 7D AD 7H 7S"],
    "four_point": ["7C JC 7D JD 7H 7S", "8C QC 8D QD 8H 8S", "9C KC 9D KD 9H 9S", "TC AC TD AD TH TS"],
}
MOST_TRUMPS = {
    "schmier": ["AH KH QH JH JD TH", "9H 8H 7H 6H 5H 4H", "3H 2H XX AS AC AD"],
    "four_point": ["AH KH QH JH TH 9H", "8H 7H"],
}


def adversarial(game: str) -> dict[str, Table]:
    """Hands that hardly occur, some of them with the bid, the trump and an empty exchange done already."""
    rules = PRESETS[game]
    named = [f"bid {rules.max_bid}", "trump H"]
    trumps = {"hands": MOST_TRUMPS[game], "dealer": rules.players - 1, "episode": "deal"}
    to_dealer = {"hands": MOST_TRUMPS[game], "dealer": 0, "episode": "deal"}
    tables = {
        "all trumps": deal(rules, **trumps),
        "all trumps, to be played": deal(rules, **trumps, actions=named if game == "schmier" else named[:1]),
        "all trumps at the dealer": deal(rules, **to_dealer),
        "nobody void": deal(rules, hands=NOBODY_VOID[game], dealer=1, episode="deal"),
        "last trick": position(rules, trump="H", tricks=5, episode="deal"),
        "before the last trick": position(rules, trump="H", tricks=4, episode="deal"),
    }
    if game == "schmier":
        done = [*named, *["done"] * 5]
        tables["empty exchange"] = deal(rules, hands=NOBODY_VOID[game], dealer=5, actions=done, episode="deal")
    return tables


@pytest.mark.parametrize("name", SEARCHING)
@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_hands_that_hardly_occur(name: str, game: str) -> None:
    rules = PRESETS[game]
    agent = make_agent(name, rules)
    for what, table in adversarial(game).items():
        play_out(table.games, [agent] * rules.players)
        assert table.games.terminated[0], what


def test_four_teams_are_refused() -> None:
    with pytest.raises(ValueError, match="two or three teams"):
        make_agent("pimc:2", make_rules("schmier", players=4, teams=4))


# --- What is hidden ----------------------------------------------------------------------------------------------


def decisions(rules: GameRules, n: int, every: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Records of all phases in which somebody has a choice, and who is to move."""
    games = Games(rules, n, seed, "deal", autoreset=False, skip_forced=True)
    games.reset()
    found = []
    for k in range(200):
        if k % every == 0:
            found.append(games.records[games.seats != NOBODY].copy())
        if np.all(games.seats == NOBODY):
            break
        games.step(games.sample())
    records = np.concatenate(found)
    return records, records["actor"].astype(np.int64)


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        (name, variant)
        for name, variant in IN_PLAY
        if name in HONEST and variant in ("schmier", "four_point", "no widow")
    ],
)
def test_an_answer_depends_on_nothing_but_what_the_seat_knows_and_the_seed(name: str, variant: str) -> None:
    rules = VARIANTS[variant]
    records, seats = decisions(rules, 3, 5, seed=4)
    hidden = hide_each(records, rules, seats)
    agent = make_agent(name, rules, seed=9)
    assert isinstance(agent, GameAgent)
    answers = agent.choose(hidden, seats)
    anew = [resample(hidden[i : i + 1], rules, int(seat), seed=i) for i, seat in enumerate(seats)]
    hidden_anew = hide_each(np.concatenate(anew), rules, seats)
    assert (np.concatenate(anew)["hand"] != records["hand"]).any(1).mean() > 0.5
    assert np.array_equal(agent.choose(hidden_anew, seats), answers)  # also after other questions
    backwards = agent.choose(hidden[::-1].copy(), seats[::-1].copy())[::-1]
    assert np.array_equal(backwards, answers)
    fresh = make_agent(name, rules, seed=9)
    assert isinstance(fresh, GameAgent)
    alone = [int(fresh.choose(hidden[i : i + 1], seats[i : i + 1])[0]) for i in range(len(seats))]
    assert alone == answers.tolist()
    others = [make_agent(name, rules, seed).choose(hidden, seats) for seed in range(10)]  # type: ignore[attr-defined]  # a GameAgent
    assert np.array_equal(others[9], answers) and (np.stack(others) != answers).any()


def test_the_cheater_leaves_nothing_to_chance() -> None:
    records, seats = decisions(FOUR_POINT, 3, 5, seed=4)
    answers = CheaterAgent(FOUR_POINT, 1).choose(records, seats)
    assert np.array_equal(CheaterAgent(FOUR_POINT, 2).choose(records[::-1].copy(), seats[::-1])[::-1], answers)


@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_players_get_the_game_hidden_but_for_the_cheater(game: str) -> None:
    """What `decide` gives them, and so a table, is what they are asked with above."""
    games = Games(game, 8, seed=3)
    games.reset()
    for _ in range(20):
        games.step(games.sample())
    rows = np.arange(8)
    seats = games.seats.astype(np.int64)
    pimc, cheater = make_agent("pimc:2", games.rules), make_agent("cheater", games.rules)
    assert isinstance(pimc, PimcAgent) and isinstance(cheater, CheaterAgent)
    assert not pimc.sees_all and not IsmctsAgent.sees_all and cheater.sees_all
    hidden = hide_each(games.records, games.rules, seats)
    assert np.array_equal(decide(pimc, games, rows), pimc.choose(hidden, seats))
    assert np.array_equal(decide(cheater, games, rows), cheater.choose(games.records.copy(), seats))


# --- Names, parts, environments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pimc", "pimc:N, a whole number 1..1000000, as in pimc:30"),
        ("ismcts", "ismcts:N"),
        ("pimc:", "pimc:N"),
        ("pimc:0", "a whole number 1..1000000"),
        ("pimc:-3", "pimc:N"),
        ("pimc:x", "pimc:N"),
        ("pimc:1000001", "1..1000000"),
        ("ismcts:1.5", "ismcts:N"),
        ("club:3", "takes no argument"),
        ("cheater:1", "takes no argument"),
        ("pimk:3", "pimk"),
        ("nn+search", r"nn\+search:N, a whole number"),
        ("nn:four_point+search:x", r"nn:four_point\+search:N"),
        ("club+search:4", "'club' is no network"),
    ],
)
def test_a_name_that_is_not_right_says_what_is_allowed(name: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make_agent(name, FOUR_POINT)


def test_the_number_in_a_name_is_that_of_worlds_or_iterations() -> None:
    pimc, ismcts = make_agent("pimc:7", FOUR_POINT), make_agent("ismcts:9", FOUR_POINT)
    assert isinstance(pimc, PimcAgent) and pimc.num_worlds == 7
    assert isinstance(ismcts, IsmctsAgent) and ismcts.iterations == 9
    assert {"pimc", "ismcts", "cheater"} <= AGENTS.keys()


@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_as_a_part_it_decides_as_it_does_alone(game: str) -> None:
    games = Games(game, 6, seed=2)
    games.reset()
    parts = make_agent("bid=club+exchange=club+play=pimc:2", games.rules, seed=3)
    alone: dict[bool, Agent] = {
        True: make_agent("pimc:2", games.rules, seed=3),
        False: make_agent("club", games.rules, seed=3),
    }
    seen = set()
    for _ in range(30):
        answers = np.asarray(decide(parts, games, np.arange(6)))
        for row, phase in enumerate(games.records["phase"]):
            seen.add(phase == PLAY)
            assert answers[row] == decide(alone[phase == PLAY], games, np.array([row]))[0]
        games.step(answers)
    assert seen == {True, False}


@pytest.mark.parametrize("name", HONEST)
def test_as_an_opponent_of_a_learner(name: str) -> None:
    opponent = make_agent(name, FOUR_POINT)
    env = SingleSeatEnv("four_point", seat=0, opponents=opponent, episode="deal")
    observation, _ = env.reset(seed=1)
    for _ in range(40):
        observation, _, terminated, truncated, _ = env.step(int(np.flatnonzero(observation["action_mask"])[0]))
        if terminated or truncated:
            return
    raise AssertionError("the deal did not end")


# --- Values ------------------------------------------------------------------------------------------------------


def exact_values(full: np.ndarray, rules: GameRules) -> dict[int, float]:
    """What each legal action comes to with all cards known, in the unit of `PimcAgent.weigh`."""
    values = np.zeros(70, np.int64)
    evaluate(full, 0, make_tables(rules), SCORE, MEMORY, values)
    return {action: values[action] / (rules.teams - 1) for action in legal_actions(full[0])}


def late_tables(rules: GameRules, tricks: int, n: int, seed: int) -> list[Table]:
    """Tables in a trick late in the play, at random, with the trump known to all and the deal not over."""
    games = Games(rules, n, seed, "deal", autoreset=False)
    games.reset()
    rng = np.random.default_rng(seed)
    wanted = tricks * rules.players + rng.integers(rules.players, size=n)
    found: list[Table] = []
    while np.any(games.seats != NOBODY):
        for i, g in enumerate(games.records):
            if g.phase == PLAY and g.tricks * rules.players + g.trick_size == wanted[i] and g.trump_public:
                one = Games(rules, 1, seed, "deal", autoreset=False)
                one.records[:] = games.records[i]
                one.refresh()
                found.append(Table(one))
        games.step(games.sample())
    return found


def to_the_play(*throws: str) -> Table:
    """Schmier with dealer 5, who takes what the others leave of the stock, up to the first lead."""
    table = deal(SCHMIER, dealer=5, seed=6, actions=["bid 6", "trump H"], hands={0: "AH KH 2H 3C 4C 5C"})
    for throw in throws:
        table.play(*(throw.split() or ["done"]))
    while table.view.phase == "keep":
        table.play(min(table.legal()))
    return table


def late_schmier(seed: int, *throws: str) -> Table:
    """The last trick, three cards on the table."""
    table = to_the_play(*throws)
    rng = np.random.default_rng(seed)
    while (table.view.tricks, table.games.records[0].trick_size) != (5, 3):
        table.play(rng.choice(sorted(table.legal())))
    return table


@pytest.mark.parametrize("variant", ["schmier", "four_point", "no widow"])
def test_values_of_pimc_lie_among_the_exact_ones_of_all_deals_that_can_be(variant: str) -> None:
    """Where they are the same in all such deals, pimc's is that one."""
    rules = VARIANTS[variant]
    pimc = PimcAgent(rules, worlds=10)
    if variant == "schmier":
        tables = [late_schmier(seed, "", "", "", "", "") for seed in range(6)]
    else:
        tables = late_tables(rules, 5, 12, seed=2) + late_tables(rules, 4, 12, seed=1)
    known = asked = 0
    for table in tables:
        seat = int(table.games.records[0].actor)
        hidden = hide(table.games.records, 0, rules, seat)
        (weighed,) = pimc.weigh(hidden, np.array([seat]))
        assert weighed.keys() == set(legal_actions(table.games.records[0]))
        possible = [
            exact_values(filled(hidden, rules, seat, world), rules) for world in worlds(hidden, rules, seat, 600)
        ]
        asked += bool(possible)
        for action, value in weighed.items() if possible else ():
            values = [each[action] for each in possible]
            known += min(values) == max(values)
            assert min(values) - 1e-9 <= value <= max(values) + 1e-9, action_text(action)
    assert known >= 2 and asked >= 5


@pytest.mark.parametrize("variant", ["schmier", "no widow", "discards lost"])
def test_last_to_play_knows_all(variant: str) -> None:
    """But for the bidder's discards, where they count."""
    rules = VARIANTS[variant]
    for table in late_tables(rules, 5, 12, seed=5):
        while table.games.records[0].trick_size < rules.players - 1:
            table.play_at_random(1)
        seat = int(table.games.records[0].actor)
        (weighed,) = PimcAgent(rules, worlds=2).weigh(hide(table.games.records, 0, rules, seat), np.array([seat]))
        assert weighed == pytest.approx(exact_values(table.games.records, rules))


OBVIOUS = [
    # The last seat takes the jack, or the bauer, with the trump it can spare.
    ("four_point", {"trump": "H", "led": "8S 9S JH", "hands": {3: "QH 7C"}, "leader": 0}, "QH"),
    ("four_point", {"trump": "H", "led": "TS AS JH", "hands": {3: "AH 8C 9C"}, "leader": 0}, "AH"),
    ("schmier", {"trump": "H", "led": "3S 4S 5S JH 6S", "hands": {5: "AH 3C"}, "leader": 0}, "AH"),
    ("schmier", {"trump": "H", "led": "3S 4S 5S JD XX", "hands": {5: "JH 3C 4C"}, "leader": 0}, "JH"),
]


@pytest.mark.parametrize("name", ["pimc:20", "ismcts:200", "nn+search:20", "cheater"])
@pytest.mark.parametrize(("game", "at", "expected"), OBVIOUS)
def test_obvious_plays_are_found(name: str, game: str, at: dict[str, object], expected: str) -> None:
    table = position(game, **at)
    (action,) = decide(make_agent(name, table.rules), table.games, np.zeros(1, np.int64))
    assert action_text(int(action)) == expected


# --- The deals that are searched ---------------------------------------------------------------------------------


def checked_marginals(hidden: np.ndarray, rules: GameRules, seat: int, all_worlds: list[World], n: int) -> None:
    """Compares how often each unseen card lies where, over n deals, with how often it does over all worlds."""
    cards = sorted(card for pile in all_worlds[0] for card in pile)
    column = {card: i for i, card in enumerate(cards)}

    def counted(some: list[World]) -> np.ndarray:
        counts = np.zeros((len(some[0]), len(cards)))
        for world in some:
            for place, pile in enumerate(world):
                counts[place, [column[card] for card in pile]] += 1
        return counts / len(some)

    sampled = [world_of(resample(hidden, rules, seat, k), rules, seat) for k in range(n)]
    assert set(sampled) <= set(all_worlds)
    exact, found = counted(all_worlds), counted(sampled)
    deviations = (found - exact) / np.sqrt(np.maximum(exact * (1 - exact), 1e-12) / n)
    assert np.abs(deviations).max() < 4.5
    assert np.abs(found - exact).sum() / 2 / len(cards) < 0.02  # in all, in total variation


def enumerated(tables: list[Table], fewest: int, most: int) -> list[tuple[np.ndarray, GameRules, int, list[World]]]:
    """What each seat knows at some tables, where the deals that agree with it are neither too few nor too many."""
    found = []
    for table in tables:
        for seat in range(table.rules.players):
            hidden = hide(table.games.records, 0, table.rules, seat)
            all_worlds = worlds(hidden, table.rules, seat, most)
            if len(all_worlds) >= fewest:
                found.append((hidden, table.rules, seat, all_worlds))
    return found


@pytest.mark.parametrize("variant", ["four_point", "no widow", "widow of three"])
def test_deals_of_four_point_are_as_likely_as_counted(variant: str) -> None:
    """With voids, with the bidder's discards, of which none are trumps unless all that he kept are (F-9)."""
    rules = VARIANTS[variant]
    cases = enumerated(late_tables(rules, 5, 8, seed=3) + late_tables(rules, 4, 4, seed=4), 12, 2000)
    assert any(any(shown_voids(hidden[0], rules)) for hidden, *_ in cases)
    assert not rules.widow or {seat == hidden[0].bidder for hidden, _, seat, _ in cases} == {True, False}
    for hidden, _, seat, all_worlds in cases[:: len(cases) // 5]:
        checked_marginals(hidden, rules, seat, all_worlds, 2000)


@pytest.mark.parametrize(
    "throws",
    [
        ("", "", "", "", ""),
        ("3C 4C 5C", "", "", "", ""),
    ],
    ids=["nobody throws", "one throws three"],
)
def test_deals_of_schmier_are_as_likely_as_counted(throws: tuple[str, ...]) -> None:
    """With voids, own discards, and the dealer's, that hold trumps only if he kept nothing else (S-17, S-18)."""
    cases = enumerated([late_schmier(seed, *throws) for seed in range(4)], 12, 6000)
    assert {seat == hidden[0].dealer for hidden, _, seat, _ in cases} >= {False}
    for hidden, rules, seat, all_worlds in cases[:: len(cases) // 5]:
        checked_marginals(hidden, rules, seat, all_worlds, 2000)


@pytest.mark.parametrize("variant", ["schmier", "schmier_2x3", "four_point", "widow of three"])
def test_deals_keep_to_what_the_seat_knows(variant: str) -> None:
    """Sizes of hands, exchange counts, voids, trumps among discards, own discards, own cards dealt and drawn."""
    rules = VARIANTS[variant]
    t = make_tables(rules)[0]
    voids = 0
    for table in [table for tricks in range(1, 6) for table in late_tables(rules, tricks, 12, seed=tricks)]:
        for seat in range(rules.players):
            hidden = hide(table.games.records, 0, rules, seat)
            before, g = table.games.records[0], hidden[0]
            full = resample(hidden, rules, seat, seed=seat)
            f, world, shown = full[0], world_of(full, rules, seat), shown_voids(g, rules)
            assert [len(pile) for pile in world[:-1]] == sizes(g, rules, seat)
            assert (f.draws == before.draws).all() and f.next_card == before.next_card
            assert f.hand[seat] == before.hand[seat] and f.discards[seat] == before.discards[seat]
            known = g.deck != NOBODY
            assert (f.deck[known] == before.deck[known]).all()
            ever = set(cards_in(int(f.hand[seat] | f.played[seat] | f.discards[seat])))
            assert {int(card) for card in g.deck[known]} == ever
            trumps = set(cards_in(int(t["suit_cards"][g.trump, g.trump])))
            for other in range(rules.players):
                voids += bool(shown[other]) and other != seat
                assert shown[other].isdisjoint(world[2 * other])
                if other == goes_back_to_six(g, rules) and not trumps.isdisjoint(world[2 * other + 1]):
                    assert trumps.issuperset([*world[2 * other], *cards_in(int(g.played[other]))])
                elif rules.max_discard and other != g.dealer:
                    assert trumps.isdisjoint(world[2 * other + 1])
    assert voids > 100
