"""Agents: the interface, the registry, and the scripted ones."""

import numpy as np
import pytest

from smear_agents import AGENTS, Agent, GameAgent, GreedyAgent, RandomAgent, decide, make_agent, make_agents
from smear_agents.phased import PARTS, make_phased
from smear_env import PRESETS, GameRules, Games, make_rules
from smear_env._jit import JIT
from smear_env.actions import action_text, legal_actions
from smear_env.cards import RANKS, SUITS
from smear_env.resample import hide_each
from smear_env.testing import Table, deal, position
from smear_train.sim import play_out, simulate

pytestmark = pytest.mark.no_cover

VARIANTS = [
    *PRESETS.values(),
    make_rules("four_point", widow=0),
    make_rules("four_point", widow=3, high="in_play", low="in_play"),
    make_rules("schmier", jokers=0, joker_point=0, joker_card_points=0, max_bid=5),
    make_rules("schmier", all_pass="stick_dealer"),
]

SCRIPTED = [name for name, entry in AGENTS.items() if entry.argument is None and name not in ("expert", "cheater")]
"""Those that read observations; for the others see test_search."""


class FirstLegal(Agent):
    """The first legal action: an agent of somebody else's."""

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        return action_masks.argmax(1)


def choice(agent: Agent, table: Table) -> str:
    """What an agent does in a position, as text."""
    return action_text(agent.act(table.games.observations[0], table.games.action_masks[0]))


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
@pytest.mark.parametrize("name", SCRIPTED)
def test_agents_play_only_legal_actions(name: str, rules: GameRules) -> None:
    """R7: 2,000 deals of each, an illegal action being an error."""
    simulate(rules, [name], 2000 if JIT else 4, seed=1)


@pytest.mark.parametrize("name", SCRIPTED)
@pytest.mark.parametrize("game", PRESETS)
def test_agents_survive_hands_that_hardly_occur(name: str, game: str) -> None:
    """R18: all trumps in one hand, nobody with anything to throw, the last trick."""
    rules = PRESETS[game]
    trump = SUITS[rules.suits // 2]
    trumps = [rank + trump for rank in reversed(RANKS[rules.low_rank - 2 :])]
    hands = {0: trumps[: rules.hand_cards], 1: trumps[rules.hand_cards :][-2:]}
    table = deal(rules, hands=hands, dealer=rules.players - 1, actions=[f"bid {rules.max_bid}"], episode="deal")
    agents = make_agents([name], rules)
    play_out(table.games, agents)
    last = position(rules, trump=trump, tricks=rules.hand_cards - 1, episode="deal")
    play_out(last.games, agents)
    assert last.games.terminated[0]


@pytest.mark.boundscheck
@pytest.mark.jit
@pytest.mark.parametrize("name", ["club", "expert", "pimc:2"])
def test_agents_stay_within_their_arrays(name: str) -> None:
    """Compiled code writes beyond an array without a word, unless it is told to look (make test-boundscheck)."""
    simulate(PRESETS["four_point"], [name], 4, seed=3)


@pytest.mark.parametrize("name", SCRIPTED)
def test_an_answer_depends_on_nothing_but_the_view_and_the_seed(name: str) -> None:
    rules = PRESETS["schmier"]
    games = Games(rules, 64, seed=4)
    games.reset()
    for _ in range(30):
        games.step(games.sample())
    agent = make_agent(name, rules, seed=9)
    together = agent(games.observations, games.action_masks)
    backwards = agent(games.observations[::-1], games.action_masks[::-1])[::-1]
    alone = [
        make_agent(name, rules, seed=9).act(view, mask)
        for view, mask in zip(games.observations, games.action_masks, strict=True)
    ]
    assert (together == backwards).all() and (together == alone).all()


def test_random_is_uniform_and_seeded() -> None:
    rules = PRESETS["four_point"]
    games = Games(rules, 4000 if JIT else 400, seed=0)
    observations, masks = games.reset()
    actions = RandomAgent(rules, seed=1)(observations, masks)
    counts = np.bincount(actions, minlength=70)[[54, 56, 57, 58]]
    expected = len(actions) / 4
    assert ((counts - expected) ** 2 / expected).sum() < 21.1  # chi-square, 3 degrees of freedom, 0.01%
    assert (actions != RandomAgent(rules, seed=2)(observations, masks)).mean() > 0.6


def test_registry_makes_ours_and_theirs() -> None:
    rules = PRESETS["four_point"]
    assert isinstance(make_agent("greedy", rules), GreedyAgent)
    theirs = make_agent(f"{__name__}:FirstLegal", rules)
    assert theirs.act(np.zeros(1, np.int8), np.eye(70, dtype=np.int8)[54]) == 54
    assert [type(agent) for agent in make_agents(["greedy", "random"], rules)] == [GreedyAgent, RandomAgent] * 2
    seeds = [agent.seed for agent in make_agents(["random"], rules, seed=1)]
    assert len(set(seeds)) == rules.players


def test_greedy_bids_on_honours() -> None:
    strong = deal("schmier", hands={0: "AH JH JD 2H KH QH"}, dealer=5)
    weak = deal("schmier", hands={0: "3C 4D 5H 6S 8C 9D"}, dealer=5)
    agent = GreedyAgent(PRESETS["schmier"])
    assert choice(agent, strong) == "bid 3" and choice(agent, weak) == "pass"
    assert choice(agent, strong.play("bid 6")) == "trump H"


def test_greedy_throws_low_and_keeps_high() -> None:
    agent = GreedyAgent(PRESETS["schmier"])
    table = deal("schmier", hands={0: "AH JH JD 4C TS AS"}, dealer=5, actions=["bid 6", "trump H"])
    assert choice(agent, table) == "4C"
    assert choice(agent, table.play("4C")) == "TS"
    assert choice(agent, table.play("TS")) == "done"


@pytest.mark.parametrize(
    ("led", "hand", "expected"),
    [
        ("TS", "AS KS 2S", "KS"),  # ten on the table: takes it as cheaply as it can
        ("3S", "AS KS 2S", "2S"),  # nothing there: throws low
        ("TS 3S 4S KS 5S", "AS QS 2S", "AS"),  # last, only the ace takes it
        ("3S 4S AS 5S 6S", "TS KS 2S", "TS"),  # last, the partner takes it: gives the ten
        ("JH", "2H 5H AH", "AH"),  # the right bauer, to be had
    ],
)
def test_greedy_takes_points_cheaply_or_throws_low(led: str, hand: str, expected: str) -> None:
    """S-20 to S-23 as greedy plays them; partners sit three apart."""
    seat = len(led.split())
    table = position("schmier", trump="H", led=led, hands={seat: hand})
    assert choice(GreedyAgent(PRESETS["schmier"]), table) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("game", "least"), [("schmier", 4.0), ("four_point", 3.0)])
def test_greedy_beats_random(game: str, least: float) -> None:
    rules = PRESETS[game]
    points = simulate(rules, ["greedy"] + ["random"] * (rules.teams - 1), 2000, seed=1).points[:, 0]
    assert points.mean() - 3 * points.std() / len(points) ** 0.5 > least


@pytest.mark.slow
def test_greedy_does_not_pass_most_deals() -> None:
    for game in ("schmier", "four_point"):
        sim = simulate(PRESETS[game], ["greedy"], 2000, seed=1)
        assert (~sim.scored).mean() < 0.2
        assert sim.made[sim.scored].mean() > 0.6


class Peeker(GameAgent):
    """Looks at the game; plays the first legal action."""

    def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        self.seen, self.seats = games, seats
        return np.array([legal_actions(g)[0] for g in games])


class Cheat(Peeker):
    sees_all = True


@pytest.mark.parametrize("rules", ["schmier", "four_point"])
def test_a_player_that_needs_the_game_sees_it_hidden(rules: str) -> None:
    games = Games(rules, 32, seed=5)
    games.reset()
    honest, cheat = Peeker(games.rules), Cheat(games.rules)
    for _ in range(60):
        rows = np.flatnonzero(games.seats % 2 == 0)
        actions = games.sample().copy()
        if rows.size:
            actions[rows] = decide(honest, games, rows)
            assert np.array_equal(honest.seats, games.seats[rows])
            assert np.array_equal(honest.seen, hide_each(games.records[rows], games.rules, games.seats[rows]))
            assert np.array_equal(decide(cheat, games, rows), actions[rows])
            assert np.array_equal(cheat.seen, games.records[rows])
        games.step(actions)


def test_a_player_that_needs_the_game_says_so_when_called() -> None:
    games = Games("schmier", 1, seed=5)
    with pytest.raises(TypeError, match="decide"):
        Peeker(games.rules).act(*games.reset())


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["schmier", "four_point"])
def test_a_player_made_of_parts_asks_each_in_its_phases(rules: str) -> None:
    games = Games(rules, 256, seed=8, episode="deal", autoreset=False)
    games.reset()
    parts = {"bid": "greedy", "trump": "random", "exchange": "random", "play": "greedy"}
    name = "+".join(f"{part}={agent}" for part, agent in parts.items())
    agent = make_agent(name, games.rules, seed=4)
    alone = {part: make_agent(part_agent, games.rules, seed=4) for part, part_agent in parts.items()}
    needing_game = make_phased({**alone, "play": Peeker(games.rules)}, games.rules)
    rows = np.arange(256)
    seen = set()
    while True:
        rows = np.flatnonzero(games.seats >= 0)
        if not rows.size:
            break
        actions = np.zeros(256, np.int64)
        actions[rows] = decide(agent, games, rows)
        mixed = dict(zip(rows, decide(needing_game, games, rows), strict=True))
        for part, phases in PARTS.items():
            chosen = rows[np.isin(games.records["phase"][rows], phases)]
            if chosen.size:
                seen.add(part)
                assert np.array_equal(actions[chosen], decide(alone[part], games, chosen))
                if part != "play":
                    assert [mixed[row] for row in chosen] == actions[chosen].tolist()
                else:
                    assert [mixed[row] for row in chosen] == games.action_masks[chosen].argmax(1).tolist()
        games.step(actions)
    assert seen == set(PARTS)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bid=greedy+play=greedy", "no exchange"),
        ("bid=greedy+bid=greedy+exchange=greedy+play=greedy", "twice"),
        ("bid=greedy+exchange=greedy+plya=greedy", "parts: bid, trump, exchange, play"),
        ("bid=greedy+exchange=greedy+play=gredy", "did you mean greedy"),
    ],
)
def test_parts_that_are_not_right_are_named(name: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make_agent(name, PRESETS["schmier"])
