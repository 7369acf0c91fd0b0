"""The scripted player `expert`: bids by the chance to win the game, plays the last tricks exactly."""

import numpy as np
import pytest

from smear_agents import ClubAgent, ExpertAgent, decide, make_agent
from smear_agents.expert import load_bid_table, make_bid_table
from smear_env import PRESETS, GameRules, Games, make_rules
from smear_env.actions import BID_1, PASS, action_text
from smear_env.resample import hide, hide_each, resample
from smear_env.testing import Table, deal, position
from smear_train.fitting import measure_bids
from smear_train.sim import play_out, simulate

pytestmark = pytest.mark.jit

SCHMIER, FOUR_POINT = PRESETS["schmier"], PRESETS["four_point"]
VARIANTS = [
    SCHMIER,
    FOUR_POINT,
    PRESETS["schmier_2x3"],
    make_rules("four_point", widow=0),
    make_rules("four_point", widow=3, high="in_play", low="in_play"),
    make_rules("schmier", all_pass="stick_dealer", target=11, defender_cap="target_minus_1"),
]


def choice(table: Table, agent: str = "expert") -> str:
    """What an agent does in a position, as text."""
    return action_text(int(decide(make_agent(agent, table.rules, 1), table.games, np.zeros(1, np.int64))[0]))


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_only_legal_actions(rules: GameRules) -> None:
    simulate(rules, ["expert"], 30, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("rules", [SCHMIER, FOUR_POINT])
def test_only_legal_actions_in_many_deals(rules: GameRules) -> None:
    simulate(rules, ["expert"], 1000, seed=4)


@pytest.mark.parametrize("rules", [SCHMIER, FOUR_POINT])
def test_the_same_view_gets_the_same_answer_whatever_is_hidden(rules: GameRules) -> None:
    games = Games(rules, 24, seed=7, episode="deal", autoreset=False)
    games.reset()
    agents = [ClubAgent(rules)] * rules.players
    expert = ExpertAgent(rules, seed=5)
    compared = 0
    while np.any(games.seats >= 0):
        rows = np.flatnonzero(games.seats >= 0)
        seats = games.seats[rows].astype(np.int64)
        answers = expert.choose(hide_each(games.records[rows], rules, seats), seats)
        for row, seat, answer in zip(rows[:4], seats[:4], answers[:4], strict=True):
            hidden = hide(games.records, int(row), rules, int(seat))
            other = hide(resample(hidden, rules, int(seat), seed=compared), 0, rules, int(seat))
            assert expert.choose(other, np.array([seat]))[0] == answer
            compared += 1
        actions = np.zeros(24, np.int64)
        actions[rows] = [
            agents[seat](games.observations[[row]], games.action_masks[[row]])[0]
            for row, seat in zip(rows, seats, strict=True)
        ]
        games.step(actions)
    assert compared > 100


def test_away_from_the_target_it_bids_as_club_does() -> None:
    same = 0
    for seed in range(20):
        table = deal("schmier", dealer=seed % 6, seed=seed)
        same += choice(table) == choice(table, "club")
    assert same >= 19


def test_a_team_about_to_win_is_outbid() -> None:
    """With 18 of 21 and a bid of 3 that will be made, the others are lost unless somebody takes the deal from them."""
    hands = {1: "AH QH TH 4C 3D 2D"}
    calm = deal("schmier", hands=hands, dealer=2, scores=[0, 0, 0], actions=["pass", "pass", "pass", "bid 3"])
    dire = deal("schmier", hands=hands, dealer=2, scores=[18, 10, 10], actions=["pass", "pass", "pass", "bid 3"])
    assert calm.view.actor == dire.view.actor == 1
    chances = ExpertAgent(SCHMIER).chances(hide(dire.games.records, 0, SCHMIER, 1), 1)
    assert chances[BID_1 + 3] > chances[PASS]
    calm_chances = ExpertAgent(SCHMIER).chances(hide(calm.games.records, 0, SCHMIER, 1), 1)
    assert calm_chances[BID_1 + 3] - calm_chances[PASS] < chances[BID_1 + 3] - chances[PASS]


def test_chances_are_chances_and_a_pass_is_not_hopeless() -> None:
    for seed in range(20):
        table = deal("four_point", dealer=seed % 4, scores=[seed % 15, 14 - seed % 15], seed=seed)
        seat = table.view.actor
        assert seat is not None
        chances = ExpertAgent(FOUR_POINT).chances(hide(table.games.records, 0, FOUR_POINT, seat), seat)
        assert PASS in chances
        assert all(0 < chance < 1 for chance in chances.values())


def test_the_last_tricks_are_played_exactly() -> None:
    """The ace draws the jack, which else takes the last trick."""
    table = position(
        "four_point", trump="H", hands={0: "AH 7C", 1: "JH 8C", 2: "9C TC", 3: "QC KC"}, leader=0, bidder=0, tricks=4
    )
    assert choice(table) == "AH"


def test_the_table_of_bids_has_every_row_once() -> None:
    rows = np.array([[0, 0, 4, 1, -1, 1, 7], [3, 2, 4, 3, 0, 0, 5], [0, 0, 4, 2, 0, 0, 6], [0, 1, 4, 0, 0, 0, 9]])
    table = make_bid_table(rows, 0.5)
    begin, end = table.begins[0, 0, 4]
    assert sorted(table.rows[begin:end].tolist()) == [[1, -1, 1, 7], [2, 0, 0, 6]]
    begin, end = table.begins[3, 2, 4]
    assert table.rows[begin:end].tolist() == [[3, 0, 0, 5]]
    assert np.diff(table.begins).sum() == len(rows)


@pytest.mark.parametrize("preset", PRESETS)
def test_shipped_tables_agree_with_the_club_that_is_shipped(preset: str) -> None:
    """A small sample drawn anew comes to what the table says, within its noise; else it is time to measure again."""
    rules = PRESETS[preset]
    shipped = load_bid_table(rules)
    anew = make_bid_table(np.array(measure_bids(rules, "club", 4000, seed=77)["outcomes"]), 0.5)
    compared = 0
    for call in range(rules.max_bid + 1):
        begins, ours = shipped.begins[call].reshape(-1, 2), anew.begins[call].reshape(-1, 2)
        for (a, b), (c, d) in zip(begins, ours, strict=True):
            count = anew.rows[c:d, -1].sum()
            if count < 80:
                continue
            values, weights = shipped.rows[a:b, 0], shipped.rows[a:b, -1]
            mean = np.average(values, weights=weights)
            spread = np.sqrt(np.average((values - mean) ** 2, weights=weights))
            measured = np.average(anew.rows[c:d, 0], weights=anew.rows[c:d, -1])
            assert abs(measured - mean) < 4.5 * (spread + 0.05) / np.sqrt(count)
            compared += 1
    assert compared >= 8


def test_mixed_tables_play_to_the_end() -> None:
    games = Games("schmier", 8, seed=1, autoreset=False, max_deals=4)
    games.reset()
    names = ["expert", "club", "greedy"] * 2
    play_out(games, [make_agent(name, games.rules, seat) for seat, name in enumerate(names)])
    assert np.all(games.seats < 0)
