"""Tournaments: cross-play, ratings, cycles."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smear_agents import GameAgent
from smear_env import PRESETS
from smear_env.actions import legal_actions
from smear_train.cli import main
from smear_train.evaluate import Setup, evaluate
from smear_train.intervals import Interval
from smear_train.match import Crew
from smear_train.tournament import Contest, document, find_cycles, fit_ratings, hold

pytestmark = pytest.mark.jit

SCHMIER, FOUR_POINT = PRESETS["schmier"], PRESETS["four_point"]
HALF = "bid=greedy+exchange=greedy+play=random"


class Cheat(GameAgent):
    sees_all = True

    def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        return np.array([legal_actions(g)[0] for g in games])


@pytest.mark.parametrize("episode", ["deal", "game"])
@pytest.mark.parametrize("rules", [SCHMIER, FOUR_POINT])
def test_pairs_come_out_as_in_an_evaluation(rules: Any, episode: Any) -> None:
    deals = 6 if episode == "game" else 40
    agents = ("greedy", "random", HALF)
    standings = hold(Contest(rules, agents, deals, seed=3, episode=episode))
    for (i, j), lead in standings.leads.items():
        alone = evaluate(Setup(rules, agents[i], agents[j], deals, seed=3, episode=episode))
        assert lead.mean == pytest.approx(alone.difference.mean)
        assert tuple(lead) == pytest.approx(tuple(alone.difference), abs=0.1)
    assert len(standings.shares) == (rules.teams == 3)
    for shares in standings.shares.values():
        assert sum(share.mean for share in shares) == pytest.approx(0)
    ratings = [rating.mean for rating in standings.ratings]
    assert ratings[0] > ratings[2] > ratings[1]
    assert sum(ratings) == pytest.approx(0, abs=1e-6)


def test_the_result_does_not_depend_on_workers_or_on_the_order_of_the_agents() -> None:
    contest = Contest(SCHMIER, ("greedy", "random", HALF), 30)
    ours, theirs = hold(contest), hold(replace(contest, agents=(HALF, "greedy", "random")), Crew(workers=2))
    assert ours.leads[0, 1] == theirs.leads[1, 2]
    assert ours.leads[0, 2].mean == -theirs.leads[0, 1].mean
    assert ours.ratings[0].mean == pytest.approx(theirs.ratings[1].mean, abs=0.1)


def synthetic(strengths: list[float], deals: int, seed: int) -> np.ndarray:
    """Deals won by players of known strength, in rating points."""
    rng = np.random.default_rng(seed)
    n = len(strengths)
    won = np.zeros((deals, n, n))
    for i in range(n):
        for j in range(i + 1, n):
            chance = 1 / (1 + 10 ** ((strengths[j] - strengths[i]) / 400))
            won[:, i, j] = rng.random(deals) < chance
            won[:, j, i] = 1 - won[:, i, j]
    return won


def test_known_strengths_are_found_again() -> None:
    strengths = [120.0, 60.0, 0.0, -60.0, -120.0]
    inside = 0
    for seed in range(20):
        ratings = fit_ratings(synthetic(strengths, 800, seed))
        assert np.argsort([-rating.mean for rating in ratings]).tolist() == [0, 1, 2, 3, 4]
        inside += sum(rating.low <= truth <= rating.high for rating, truth in zip(ratings, strengths, strict=True))
    assert 0.88 <= inside / 100 <= 1


def test_who_wins_or_loses_everything_has_a_finite_rating() -> None:
    won = synthetic([0.0, 0.0, 0.0], 5, seed=1)
    won[:, 0, 1:], won[:, 1:, 0] = 1, 0
    for rating in fit_ratings(won):
        assert np.all(np.isfinite(rating))
    alone = fit_ratings(np.array([[[0, 1.0], [0, 0]]]))
    assert alone[0].mean > 0 and np.all(np.isfinite(alone[0]))


def test_a_planted_cycle_is_flagged_and_nothing_else() -> None:
    leads = {
        (0, 1): Interval(0.5, 0.4, 0.6),
        (1, 2): Interval(0.5, 0.4, 0.6),
        (0, 2): Interval(-0.5, -0.6, -0.4),
        (0, 3): Interval(0.5, 0.4, 0.6),
        (1, 3): Interval(0.5, 0.4, 0.6),
        (2, 3): Interval(0.5, 0.4, 0.6),
    }
    assert find_cycles(leads, 4) == [(0, 1, 2)]
    assert find_cycles({pair: Interval(-lead.mean, -lead.high, -lead.low) for pair, lead in leads.items()}, 4) == [
        (0, 2, 1)
    ]
    unsure = leads | {(0, 2): Interval(-0.5, -1.1, 0.1)}
    assert find_cycles(unsure, 4) == []


def test_cheaters_are_refused_unless_asked_for() -> None:
    name = "test_tournament:Cheat"
    contest = Contest(FOUR_POINT, ("random", name), 5)
    with pytest.raises(ValueError, match="allow-cheaters"):
        hold(contest)
    parts = f"bid=random+exchange=random+play={name}"
    with pytest.raises(ValueError, match="allow-cheaters"):
        hold(replace(contest, agents=("random", parts)))
    with pytest.raises(ValueError, match="'cheater' sees what is hidden"):
        hold(replace(contest, agents=("random", "cheater")))
    allowed = hold(replace(contest, allow_cheaters=True))
    assert not allowed.tally.forfeited.any()
    assert "--allow-cheaters" in document(allowed)["command"]


def test_the_command_line_writes_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tournament", "--agents", f"greedy,random,{HALF}", "--game", "schmier", "--deals", "10", "--quiet"]
    assert main([*words, "--json", "-o", str(tmp_path / "new" / "folder")]) == 0
    result = json.loads(capsys.readouterr().out)
    folder = tmp_path / "new" / "folder"
    assert json.loads((folder / "tournament.json").read_text()) == result
    with (folder / "pairs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["a"], row["b"], float(row["mean"])) for row in rows] == [
        (pair["a"], pair["b"], pair["mean"]) for pair in result["pairs"]
    ]
    with (folder / "ratings.csv").open(newline="") as file:
        assert [row["agent"] for row in csv.DictReader(file)] == [entry["agent"] for entry in result["ratings"]]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "three at a table" in text and text.rstrip().endswith(result["command"])


@pytest.mark.parametrize(
    ("agents", "says"), [("greedy", "two agents"), ("greedy,greedy", "once"), ("greedy,rndom", "did you mean random")]
)
def test_agents_that_are_not_right(agents: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tournament", "--agents", agents, "--game", "schmier", "--deals", "2"]) == 2
    assert says in capsys.readouterr().err
