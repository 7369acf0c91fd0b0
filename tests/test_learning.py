"""Learning: what decisions were worth, what is drawn from them, and that it makes a policy better."""

import math
import os
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_network import alone

from smear_agents import decide, make_agent
from smear_agents.equity import scores_in_games, shipped_equity
from smear_agents.learner_view import BIDDING, EXCHANGING, PLAYING, ViewOptions, make_view_layout
from smear_agents.network import policy_shape
from smear_env import PRESETS, Games, make_rules
from smear_env.actions import BID_1, MAX_BID, PASS
from smear_train.learning import ppo
from smear_train.learning.config import TrainConfig, parse_config
from smear_train.learning.distributed import World
from smear_train.learning.learner import Learner, Means
from smear_train.learning.model import ActorCritic, log_probabilities
from smear_train.learning.rollout import (
    Decisions,
    Rollout,
    Seating,
    deal_counts,
    estimate_advantages,
    estimate_table_advantages,
    payoffs_by_team,
)
from smear_train.learning.run_folder import Checkpoint
from smear_train.learning.tables import (
    Pool,
    deal_seeds,
    equity_payoffs,
    part_of,
    points_payoffs,
    seat_clones,
    seat_learner,
)
from smear_train.learning.trainer import Trainer, Watch, run

pytestmark = pytest.mark.jit

SCHMIER, FOUR_POINT = PRESETS["schmier"], PRESETS["four_point"]
both_games = pytest.mark.parametrize("rules", [SCHMIER, FOUR_POINT], ids=["schmier", "four_point"])
TINY = """
game = "{game}"
updates = 3
deals = 32
[network]
hidden = [16]
critic_hidden = [16]
[ppo]
epochs = 1
minibatches = 4
[dmc]
minibatches = 4
[clone]
updates = 2
minibatches = 4
[opponents]
every = 1
past = 2
[evaluation]
every = 0
against = ["random"]
deals = 20
"""


def config(*changes: str, game: str = "schmier") -> TrainConfig:
    return parse_config(TINY.format(game=game), changes=changes)


def trainer(*changes: str, game: str = "schmier", **more: Any) -> Trainer:
    return Trainer(config(*changes, game=game), World("cpu"), **more)


def decisions_at_random(rng: np.random.Generator, games: int, players: int, number: int) -> dict[str, np.ndarray]:
    """Decisions of games that go on at the same time, as the kernels get them."""
    return {
        "games": rng.integers(games, size=number), "seats": rng.integers(players, size=number),
        "payoffs": rng.normal(size=(games, players)).astype(np.float32),
    }  # fmt: skip


# --- What decisions were worth -----------------------------------------------------------------------------------


@pytest.mark.parametrize("trace", [0.0, 0.6, 0.95, 1.0])
def test_advantages_are_those_of_the_textbook(trace: float) -> None:
    """Sums of (lambda)^l delta, for each player of each game by himself, written as in the paper (2016, eq. 16)."""
    rng = np.random.default_rng(1)
    d = decisions_at_random(rng, games=5, players=6, number=300)
    values = rng.normal(size=(300, 1)).astype(np.float32)
    advantages, returns = np.zeros(300, np.float32), np.zeros((300, 1), np.float32)
    estimate_advantages(d["games"], d["seats"], values, d["payoffs"], trace, advantages, returns)
    for game in range(5):
        for seat in range(6):
            own = np.flatnonzero((d["games"] == game) & (d["seats"] == seat))
            v = [*values[own, 0], 0.0]
            rewards = [0.0] * (len(own) - 1) + [d["payoffs"][game, seat]]
            deltas = [rewards[t] + v[t + 1] - v[t] for t in range(len(own))]
            for t, k in enumerate(own):
                expected = sum(trace**l * deltas[t + l] for l in range(len(own) - t))  # noqa: E741
                assert advantages[k] == pytest.approx(expected, abs=1e-4)
                assert returns[k, 0] == pytest.approx(expected + v[t], abs=1e-4)


@pytest.mark.parametrize("trace", [0.0, 0.6, 1.0])
def test_advantages_along_the_table_are_those_of_the_textbook(trace: float) -> None:
    rng = np.random.default_rng(2)
    teams = 3
    d = decisions_at_random(rng, games=4, players=6, number=200)
    d["payoffs"] = d["payoffs"][:, np.arange(6) % teams]  # partners get the same
    values = rng.normal(size=(200, teams)).astype(np.float32)
    advantages, returns = np.zeros(200, np.float32), np.zeros((200, teams), np.float32)
    estimate_table_advantages(d["games"], d["seats"], values, d["payoffs"], trace, advantages, returns)
    for game in range(4):
        turns = np.flatnonzero(d["games"] == game)
        for team in range(teams):
            places = (team - d["seats"][turns]) % teams
            v = [*values[turns, places], d["payoffs"][game, team]]
            deltas = [v[t + 1] - v[t] for t in range(len(turns))]
            for t, k in enumerate(turns):
                expected = sum(trace**l * deltas[t + l] for l in range(len(turns) - t))  # noqa: E741
                assert returns[k, places[t]] == pytest.approx(expected + v[t], abs=1e-4)
                if places[t] == 0:
                    assert advantages[k] == pytest.approx(expected, abs=1e-4)


@both_games
def test_payoffs_are_points_less_the_mean_of_the_others(rules: Any) -> None:
    games = Games(rules, 200, seed=3, episode="deal", autoreset=False)
    games.reset()
    before = games.records["scores"].copy()
    while (games.seats >= 0).any():
        games.step(np.where(games.seats >= 0, games.sample(), 0))
    found = points_payoffs(games.records, rules)
    change = (games.records["scores"] - before)[:, : rules.teams]
    for i in range(200):
        for seat in range(rules.players):
            others = [change[i, team] for team in range(rules.teams) if team != seat % rules.teams]
            assert found[i, seat] == pytest.approx(change[i, seat % rules.teams] - np.mean(others))
    assert np.abs(found).sum() > 100


@pytest.mark.parametrize(
    "rules",
    [SCHMIER, FOUR_POINT, make_rules("schmier", all_pass="redeal_next")],
    ids=["schmier", "four_point", "deal passes on"],
)
def test_payoffs_in_equity_are_the_change_of_the_chance_to_win(rules: Any) -> None:
    """By `MatchEquity.of` before the deal and, if it goes on, with the next dealer."""
    rng = np.random.default_rng(4)
    n = 300
    games = Games(rules, n, seed=5, episode="deal", autoreset=False)
    games.reset()
    scores = rng.integers(-rules.target // 4, rules.target, size=(n, rules.teams))
    games.records["scores"][:, : rules.teams] = scores
    games.refresh()
    greedy = make_agent("greedy", rules)
    while (games.seats >= 0).any():
        rows = np.flatnonzero(games.seats >= 0)
        actions = np.zeros(n, np.int64)
        actions[rows] = np.where(rng.random(len(rows)) < 0.9, decide(greedy, games, rows), games.sample()[rows])
        games.step(actions)
    found = equity_payoffs(games.records, scores, rules)
    equity, won, thrown_in = shipped_equity(rules), 0, 0
    for i, g in enumerate(games.records):
        if not g["deals_scored"]:
            thrown_in += 1
            if rules.all_pass != "redeal_next":
                assert not found[i].any()
                continue
        before = equity.of(scores[i], int(g["dealer"]))
        after = g["scores"][: rules.teams]
        change = found[i, : rules.teams] + before
        assert (found[i] == found[i, np.arange(rules.players) % rules.teams]).all()
        assert change.sum() == pytest.approx(1, abs=1e-4)
        if change.max() > 0.99999:
            assert after.max() >= rules.target
            won += 1
        else:
            assert change == pytest.approx(equity.of(after, (int(g["dealer"]) + 1) % rules.players), abs=1e-5)
    assert 10 < won < n and (thrown_in > 5 or rules.name == "four_point")


def test_what_came_of_a_decision_begins_with_the_own_team() -> None:
    rng = np.random.default_rng(6)
    d = decisions_at_random(rng, games=3, players=6, number=50)
    none = np.zeros(0, np.int64)
    decisions = Decisions(none, none, none, none, none, none, none, d["games"], d["seats"], none, d["payoffs"])
    for k, row in enumerate(payoffs_by_team(decisions, 3)):
        assert row.tolist() == [d["payoffs"][d["games"][k], (d["seats"][k] % 3 + place) % 3] for place in range(3)]
        assert payoffs_by_team(decisions, 1)[k] == d["payoffs"][d["games"][k], d["seats"][k]]


def test_advantages_are_normalised_by_phase() -> None:
    rng = np.random.default_rng(7)
    groups = rng.integers(3, size=900)
    advantages = (rng.normal(size=900) * 10.0**groups + groups).astype(np.float32)
    by_phase = ppo.normalise(advantages, groups, "phase")
    for group in (BIDDING, EXCHANGING, PLAYING):
        part = by_phase[groups == group]
        assert part.mean() == pytest.approx(0, abs=1e-4) and part.std() == pytest.approx(1, abs=1e-3)
        assert (np.argsort(part) == np.argsort(advantages[groups == group])).all()
    together = ppo.normalise(advantages, groups, "all")
    assert together.std() == pytest.approx(1, abs=1e-3) and together[groups == BIDDING].std() < 0.1
    assert (ppo.normalise(advantages, groups, "none") == advantages).all()
    assert ppo.normalise(advantages[:1], groups[:1], "phase").tolist() == [0]


def test_a_single_legal_action_leaves_no_nan_in_gradients() -> None:
    outputs = torch.tensor([[3e4] + [-3e4] * 69, [0.0] * 70], requires_grad=True)
    masks = torch.zeros(2, 70, dtype=torch.bool)
    masks[0, 5] = masks[1, 7] = True
    logs, probabilities = log_probabilities(outputs, masks)
    entropies = -(probabilities * logs).sum(1)
    assert entropies.tolist() == [0, 0] and logs[0, 5] == 0
    (entropies.sum() + logs[:, 5].sum() + probabilities[1, 7]).backward()
    assert torch.isfinite(outputs.grad).all()


def test_entropy_is_that_of_the_legal_actions_alone() -> None:
    masks = torch.zeros(1, 70, dtype=torch.bool)
    masks[0, :8] = True
    logs, probabilities = log_probabilities(torch.ones(1, 70), masks)
    assert float(-(probabilities * logs).sum()) == pytest.approx(math.log(8), abs=1e-5)


def test_explained_variance() -> None:
    returns = np.arange(10, dtype=np.float32)[:, None]
    assert ppo.explained_variance(returns, returns) == 1
    assert ppo.explained_variance(np.zeros_like(returns), returns) == 0
    assert ppo.explained_variance(returns, np.ones_like(returns)) == 0


# --- Playing -----------------------------------------------------------------------------------------------------


def rolled(seating: Seating, agents: Any = (), rules: Any = SCHMIER, decisions: int = 0) -> Any:
    """A rollout with a policy of small random weights, with room for so many decisions made before."""
    options = ViewOptions()
    shape = policy_shape(rules, options, (16,))
    rollout = Rollout(rules, options, shape.sizes, sees_hidden=True)
    if decisions:
        rollout._notes = rollout._room(decisions)
    rng = np.random.default_rng(8)
    policies = rng.normal(0, 0.1, (3, shape.num_weights)).astype(np.float32)
    return rollout.play(deal_seeds(1, 0, len(seating.roles)), seating, policies, agents)


def same(one: Decisions, other: Decisions) -> bool:
    names = Decisions.__dataclass_fields__
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_what_is_played_does_not_depend_on_the_room_there_was() -> None:
    """A run that is resumed begins with little room again, and has to grow at other moments."""
    agents = [make_agent("club", SCHMIER), make_agent("random", SCHMIER)]
    roles = np.array([[-1, 0, 1, -2, 0, 2], [0, 0, 0, 0, 0, 0], [0, -1, -1, 0, -1, -1]] * 20)
    seating = replace(alone(SCHMIER, 60), roles=roles)
    much, records = rolled(seating, agents, decisions=8192)
    little, others = rolled(seating, agents, decisions=1)
    assert same(much, little) and (records["last_delta"] == others["last_delta"]).all()
    assert len(much) > 1500


@both_games
def test_a_deal_is_played_the_same_whatever_is_beside_it(rules: Any) -> None:
    """So that processes that share the deals of an update play what one would."""
    whole = rolled(alone(rules, 24), rules=rules)[0]
    seating = alone(rules, 24)
    shape = policy_shape(rules, ViewOptions(), (16,))
    policies = np.random.default_rng(8).normal(0, 0.1, (3, shape.num_weights)).astype(np.float32)
    rollout = Rollout(rules, ViewOptions(), shape.sizes, sees_hidden=True)
    part, _ = rollout.play(deal_seeds(1, 0, 24)[10:17], part_of(seating, slice(10, 17)), policies)
    within = (whole.games >= 10) & (whole.games < 17)
    assert (whole.actions[within] == part.actions).all() and (whole.masks[within] == part.masks).all()


def test_decisions_are_in_order_and_whole() -> None:
    decisions, records = rolled(alone(SCHMIER, 30))
    assert (records["terminated"] | records["truncated"]).all()
    assert (decisions.masks.sum(1) > 1).all(), "a forced move was recorded"
    assert decisions.masks[np.arange(len(decisions)), decisions.actions].all()
    assert (decisions.offsets[:-1] < decisions.seen).all() and (decisions.seen <= decisions.offsets[1:]).all()
    for game in range(30):
        groups = decisions.groups[decisions.games == game]
        assert (np.diff(groups) >= 0).all(), "bidding, exchange and play follow each other"
    assert set(decisions.groups.tolist()) == {BIDDING, EXCHANGING, PLAYING}
    is_bid = decisions.masks[:, PASS : BID_1 + MAX_BID].any(1)
    assert (decisions.groups[is_bid] == BIDDING).all()


def test_only_the_learners_decisions_are_recorded() -> None:
    agents = [make_agent("greedy", SCHMIER)]
    roles = np.array([[0, -1, 1, 0, -1, 1]] * 20)
    seating = replace(alone(SCHMIER, 20), roles=roles, recorded=roles == 0)
    decisions, _ = rolled(seating, agents)
    assert set(decisions.seats.tolist()) == {0, 3}


def test_a_teachers_decisions_are_recorded_as_it_takes_them() -> None:
    """Cloning learns from what the teacher does: he is asked again about each view that was recorded."""
    rules = FOUR_POINT
    teacher = make_agent("greedy", rules)
    decisions, records = rolled(seat_clones(rules, config("deals=20", game=rules.name), 0, 0), [teacher], rules)
    games = Games(rules, 20, deal_seeds(1, 0, 20), "deal", autoreset=False, skip_forced=True)
    games.reset()
    counts = np.bincount(decisions.games, minlength=20)
    asked = np.zeros(20, np.int64)
    while (games.seats >= 0).any():
        rows = np.flatnonzero(games.seats >= 0)
        asked[rows] += 1
        actions = np.zeros(20, np.int64)
        actions[rows] = decide(teacher, games, rows)
        games.step(actions)
    assert (asked == counts).all()
    assert (games.records["last_delta"] == records["last_delta"]).all()


def test_an_agent_that_answers_nonsense_is_an_error() -> None:
    class Nonsense:
        def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
            return np.zeros(len(observations), np.int64)

    with pytest.raises(ValueError, match="2C"):
        rolled(seat_clones(SCHMIER, config("deals=4"), 0, 0), [Nonsense()])


def test_a_dealer_who_must_bid_bids() -> None:
    seating = replace(alone(SCHMIER, 200), must_bid=np.arange(200) < 100)
    options = ViewOptions()
    shape = policy_shape(SCHMIER, options, (16,))
    # A policy that always passes: its output for that is far above the others.
    weights = np.zeros((1, shape.num_weights), np.float32)
    weights[0, -shape.sizes[-1] + PASS] = 50
    rollout = Rollout(SCHMIER, options, shape.sizes)
    decisions, records = rollout.play(deal_seeds(2, 0, 200), seating, weights)
    assert (records["deals_scored"][:100] == 1).all() and (records["deals_scored"][100:] == 0).all()
    assert (records["last_bidder"][:100] == records["dealer"][:100]).all()
    dealers = records["dealer"][decisions.games]
    forced = (decisions.groups == BIDDING) & (decisions.seats == dealers) & (decisions.games < 100)
    forced &= decisions.masks[:, BID_1 : BID_1 + MAX_BID].any(1)
    assert forced.sum() == 100 and not decisions.masks[forced, PASS].any()
    free = (decisions.groups == BIDDING) & ~forced & decisions.masks[:, BID_1 : BID_1 + MAX_BID].any(1)
    assert decisions.masks[free, PASS].all()
    counts = deal_counts(records[100:], 3)
    assert (counts["deals"], counts["scored"], counts["bids"]) == (100, 0, 0)


def digest() -> str:
    """Of all that is written down in some deals."""
    decisions = rolled(alone(SCHMIER, 40))[0]
    return str(zlib.crc32(b"".join(getattr(decisions, name).tobytes() for name in Decisions.__dataclass_fields__)))


def test_decisions_do_not_depend_on_threads_or_hashes() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "from test_learning import digest; print(digest())"], cwd=Path(__file__).parent,
        check=True, capture_output=True, text=True,
        env=os.environ | {"NUMBA_NUM_THREADS": "1", "PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "1"},
    ).stdout  # fmt: skip
    assert said.strip() == digest()


# --- Seating -----------------------------------------------------------------------------------------------------


@both_games
def test_who_sits_where_is_as_configured(rules: Any) -> None:
    c = config("opponents.share=0.3", "opponents.weight_of_agents=0.75", "must_bid=0.5", "deals=8000", game=rules.name)
    seating = seat_learner(rules, c, Pool(agents=2, past=3), update=5, progress=0.5)
    has_other = (seating.roles != 0).any(1)
    assert has_other.mean() == pytest.approx(0.3, abs=0.03)
    assert (seating.recorded == (seating.roles == 0)).all()
    others = seating.roles[has_other]
    who = np.where(others == 0, -99, others).max(1)
    for team in range(rules.teams):  # one team learns, all the others are the same somebody
        own = (others[:, team :: rules.teams] == 0).all(1)
        assert own.mean() == pytest.approx(1 / rules.teams, abs=0.04)
    assert ((others == 0).sum(1) == rules.players // rules.teams).all()
    assert ((others == 0) | (others == who[:, None])).all()
    assert (who < 0).mean() == pytest.approx(0.75, abs=0.03)
    assert set(who.tolist()) == {-2, -1, 1, 2, 3}
    # Half of the run is over: from 0.5 to 0, at tables where a network deals at every seat.
    agents = (seating.roles < 0).any(1)
    assert not (seating.must_bid & agents).any()
    assert seating.must_bid[~agents].mean() == pytest.approx(0.25, abs=0.03)
    assert not seating.scores.any()
    again = seat_learner(rules, c, Pool(agents=2, past=3), update=5, progress=0.5)
    assert (again.roles == seating.roles).all()
    assert (seat_learner(rules, c, Pool(2, 3), 6, 0.5).roles != seating.roles).any()


def test_nobody_else_sits_where_the_pool_is_empty() -> None:
    seating = seat_learner(SCHMIER, config("opponents.share=1.0", "deals=50"), Pool(0, 0), 0, 0.0)
    assert not seating.roles.any() and seating.recorded.all()
    for pool, lowest, highest in ((Pool(1, 0), -1, 0), (Pool(0, 2), 0, 2)):
        roles = seat_learner(SCHMIER, config("opponents.share=1.0", "deals=50"), pool, 0, 0.0).roles
        assert (roles.min(), roles.max()) == (lowest, highest)


def test_the_player_to_be_beaten_plays_all_teams_but_one() -> None:
    seating = seat_learner(SCHMIER, config("deals=60"), Pool(1, 3), 0, 0.0, frozen=1)
    assert set(np.unique(seating.roles)) == {-2, 0}
    assert ((seating.roles == 0).sum(1) == 2).all()


@both_games
def test_scores_are_drawn_where_the_reward_is_equity(rules: Any) -> None:
    c = config('reward="equity"', "deals=4000", game=rules.name)
    in_games = scores_in_games(rules, games=500, seed=5)
    for seating in (seat_learner(rules, c, Pool(0, 0), 0, 0.0), seat_clones(rules, c, 0, 0)):
        for score in range(-rules.target, rules.target):
            assert (seating.scores == score).mean(0) == pytest.approx((in_games == score).mean(), abs=0.015)
        assert (seating.scores == 0).all(1).mean() == pytest.approx((in_games == 0).all(1).mean(), abs=0.03)
    assert not seat_learner(rules, config("deals=50", game=rules.name), Pool(0, 0), 0, 0.0).scores.any()


def test_cards_of_training_are_new_in_every_update() -> None:
    seeds = [deal_seeds(seed, update, 100) for seed in (1, 2) for update in (0, 1)]
    assert len(np.unique(seeds)) == 400
    assert (deal_seeds(1, 0, 100) == seeds[0]).all()


# --- Learning ----------------------------------------------------------------------------------------------------


def test_minibatches_are_all_decisions_once_and_none_is_empty() -> None:
    decisions, _ = rolled(alone(SCHMIER, 3))
    model = ActorCritic(policy_shape(SCHMIER, ViewOptions(), (16,)).sizes, "shared", (), 3, seed=1)
    learner = Learner(model, World("cpu"))
    for number in (4, 100_000):
        rows = [batch.rows for batch in learner.minibatches(decisions, 1, number, np.random.default_rng(1))]
        assert sorted(torch.cat(rows).tolist()) == list(range(len(decisions)))
        assert len(rows) == min(number, len(decisions)) and min(map(len, rows)) > 0


def test_means_are_weighted() -> None:
    means = Means()
    means.add(1, loss=1.0)
    means.add(3, loss=5.0, kl=2.0)
    assert means.over(World("cpu")) == {"loss": 4.0, "kl": 2.0}


def score_against_random(t: Trainer) -> float:
    """Points per deal of the learner, one team, taking the best action, against random ones."""
    from smear_agents.network import ARGMAX

    roles = np.where(np.arange(t.rules.players) % t.rules.teams == 0, 0, -1)
    seating = replace(alone(t.rules, 400), roles=np.tile(roles, (400, 1)))
    agents = [make_agent("random", t.rules)]
    policies = t.learner.model.policy_weights()[None]
    _, records = t.rollout.play(deal_seeds(99, 0, 400), seating, policies, agents, ARGMAX)
    return float(points_payoffs(records, t.rules)[:, 0].mean())


@pytest.mark.parametrize(
    ("algorithm", "game", "critic", "floor"),
    [
        ("ppo", "four_point", "shared", 1.2),
        ("ppo", "four_point", "all_hands", 1.2),
        ("ppo", "schmier", "separate", 3.0),
        ("dmc", "four_point", "shared", 1.2),
    ],
)
def test_a_policy_learns_to_beat_random(algorithm: str, game: str, critic: str, floor: float) -> None:
    t = trainer(
        f"algorithm={algorithm}", "updates=15", "deals=128", f"network.critic={critic}", "ppo.learning_rate=5e-3",
        "dmc.learning_rate=5e-3", "dmc.epochs=2", "ppo.epochs=2", 'opponents.agents=["random"]', "opponents.share=0.5",
        "opponents.weight_of_agents=1.0", game=game,
    )  # fmt: skip
    before = score_against_random(t)
    rows = [t.step() for _ in range(15)]
    assert score_against_random(t) > before + floor
    assert all(row["illegal"] == 0 for row in rows)
    assert rows[-1]["explained_variance"] > rows[0]["explained_variance"]
    if algorithm == "ppo":
        assert all(row["kl"] >= 0 for row in rows) and rows[-1]["entropy_play"] < rows[0]["entropy_play"]


@pytest.mark.parametrize("critic", ["shared", "all_hands"])
def test_a_clone_agrees_with_its_teacher(critic: str) -> None:
    t = trainer(
        'clone.teacher="greedy"', "clone.updates=6", "deals=256", "clone.learning_rate=5e-3", "clone.minibatches=20",
        f"network.critic={critic}", "network.hidden=[32]", game="four_point",
    )  # fmt: skip
    rows = [t.step() for _ in range(6)]
    assert {row["phase"] for row in rows} == {"clone"} and not t.is_cloning
    assert rows[0]["agreement"] < 0.8 < 0.88 < rows[-1]["agreement"]
    assert rows[-1]["value_loss"] < rows[0]["value_loss"]
    assert t.step()["phase"] == "ppo"


@both_games
def test_score_dependent_play_runs(rules: Any) -> None:
    t = trainer('reward="equity"', "view.scores=true", "network.critic=all_hands", game=rules.name)
    rows = [t.step() for _ in range(2)]
    assert all(math.isfinite(row["policy_loss"]) and math.isfinite(row["value_loss"]) for row in rows)


@both_games
@pytest.mark.parametrize("critic", ["shared", "separate", "all_hands"])
def test_a_policy_that_did_not_see_the_scores_goes_on_with_them(rules: Any, critic: str) -> None:
    """At first it plays as it did, whatever the scores; it is then free to learn what they mean."""
    before = trainer(f"network.critic={critic}", game=rules.name)
    for _ in range(2):
        before.step()
    after = trainer(f"network.critic={critic}", "view.scores=true", 'reward="equity"', "seed=1", game=rules.name)
    after.load_weights(Checkpoint(Path("last.safetensors"), before.tensors(), before.data()))
    seating = seat_learner(rules, after.config, Pool(0, 0), 0, 0.0)
    assert len(np.unique(seating.scores)) > 4
    (a, _), (b, _) = (
        t.rollout.play(deal_seeds(7, 0, 32), seating, t.learner.model.policy_weights()[None]) for t in (before, after)
    )
    assert (a.actions == b.actions).all() and (a.masks == b.masks).all()
    assert ppo.evaluate(after.learner, b)[1] == pytest.approx(ppo.evaluate(before.learner, a)[1], abs=1e-5)
    assert [(one["update"], one["decisions"]) for one in after.data()["earlier"]] == [(2, before.decisions)]
    missing = slice(*make_view_layout(rules, after.options)["missing"][0])
    assert not after.learner.model.policy.weight[0][missing].any()
    after.step()
    assert after.learner.model.policy.weight[0][missing].any()


def test_earlier_selves_are_kept_and_the_oldest_goes() -> None:
    t = trainer("opponents.past=2", "opponents.every=2")
    kept = []
    for update in range(1, 8):
        t.step()
        if update % 2 == 0:
            kept.append(t.learner.model.policy_weights())
    assert len(t.past) == 2 and all((a == b).all() for a, b in zip(t.past, kept[-2:]))
    t = trainer("opponents.share=0.0")
    t.step()
    assert t.past == []


def test_earlier_selves_choose_as_the_learner_does() -> None:
    """With DMC the outputs are values, not logits: their softmax would be next to random play."""
    from smear_agents.network import ARGMAX

    shape = policy_shape(SCHMIER, ViewOptions(), (16,))
    weights = np.random.default_rng(3).normal(0, 0.05, (1, shape.num_weights)).astype(np.float32)
    rollout, found = Rollout(SCHMIER, ViewOptions(), shape.sizes), []
    for role in (0, 1):
        seating = replace(alone(SCHMIER, 20), roles=np.full((20, 6), role))
        decisions, _ = rollout.play(deal_seeds(1, 0, 20), seating, np.repeat(weights, 2, 0), how=ARGMAX)
        found.append(decisions.actions.copy())
    assert (found[0] == found[1]).all()


# --- Alarms ------------------------------------------------------------------------------------------------------


def test_all_pass_is_an_alarm_and_so_are_high_bids() -> None:
    t = trainer()
    with torch.no_grad():
        t.learner.model.policy.bias[-1][PASS] = 50
    row = t.step()
    assert row["all_pass"] == 1
    assert "100% of the deals" in str(t.alarm(row)) and "must_bid" in str(t.alarm(row))
    assert t.alarm({"update": 1, "all_pass": 0.2, "mean_bid": 4.0, "bid_made": 0.5}) is None
    assert t.alarm({"update": 1, "all_pass": 0.0, "mean_bid": 4.1, "bid_made": 0.7}) is None
    assert "mean bid is 4.1" in str(t.alarm({"update": 1, "all_pass": 0.0, "mean_bid": 4.1, "bid_made": 0.5}))
    seen: list[str] = []
    t = trainer("updates=1")
    with torch.no_grad():
        t.learner.model.policy.bias[-1][PASS] = 50
    run(t, None, Watch(alarm=seen.append))
    assert len(seen) == 1


def test_deals_in_which_a_dealer_must_bid_are_not_counted() -> None:
    """They would hide that everybody passes; where all are such there is nothing to say, and no alarm."""
    t = trainer("must_bid=0.5", "final_must_bid=0.5", "opponents.share=0.0", "deals=64")
    with torch.no_grad():
        t.learner.model.policy.bias[-1][PASS] = 50
    assert t.step()["all_pass"] == 1
    t = trainer("must_bid=1.0", "final_must_bid=1.0", "opponents.share=0.0")
    row = t.step()
    assert math.isnan(row["all_pass"]) and t.alarm(row) is None


# --- What a trainer refuses --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["opponents.agents", "evaluation.against"])
def test_agents_that_do_not_exist_are_refused_before_anything_is_learned(key: str) -> None:
    with pytest.raises(ValueError, match="did you mean club"):
        trainer(f'{key}=["clubb"]')


def test_agents_named_twice_are_one() -> None:
    t = trainer(
        'opponents.agents=["random", "random"]', "opponents.share=1.0", 'clone.teacher="club"', "clone.updates=0"
    )
    assert len(t.agents) == 2
    seen = set()

    def look(agent: Any, games: Games, rows: np.ndarray) -> np.ndarray:
        seen.add(type(agent).__name__)
        return decide(agent, games, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("smear_train.learning.rollout.decide", look)
        t.step()
    assert seen == {"RandomAgent"}
