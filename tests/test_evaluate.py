"""Evaluation: duplicate deals, intervals, gates, the sequential test, faulty players, and sameness of results."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import faulty
import numpy as np
import pytest
from faulty import SPOTS, WAYS

from smear_agents import AGENTS
from smear_agents.registry import Entry
from smear_env import PRESETS, Games, make_rules
from smear_train.cli import main
from smear_train.evaluate import Setup, document, evaluate, margins, parse_gate
from smear_train.intervals import Interval, control, log_likelihood_ratio, mean_interval, sprt_verdict
from smear_train.match import Crew, Plan, Tables, merge, play

pytestmark = pytest.mark.jit

SCHMIER, FOUR_POINT = PRESETS["schmier"], PRESETS["four_point"]
HALF = "bid=greedy+exchange=greedy+play=random"


def without_times(value: Any) -> Any:
    """A document without what it says of time."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if not key.startswith("ms_")}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def measured(a: str, b: str, rules: Any = FOUR_POINT, deals: int = 40, **options: Any) -> dict[str, Any]:
    return document(evaluate(Setup(rules, a, b, deals, **options)))


# --- Duplicate deals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["random", "greedy", HALF])
@pytest.mark.parametrize("episode", ["deal", "game"])
@pytest.mark.parametrize(
    ("rules", "form"),
    [(FOUR_POINT, None), (SCHMIER, "one-vs-two"), (SCHMIER, "two-vs-one"), (SCHMIER, "both")],
)
def test_equal_agents_are_exactly_equal(rules: Any, form: Any, episode: Any, agent: str) -> None:
    deals = 6 if episode == "game" else 40
    result = measured(agent, agent, rules, deals, form=form, episode=episode)
    assert (result["mean"], result["ci_low"], result["ci_high"], result["sd"]) == (0, 0, 0, 0)
    if episode == "game":
        share = pytest.approx(1 / rules.teams, abs=2e-6)
        truncated = result["truncated_games"]
        assert truncated or (result["win_rate"], result["win_low"], result["win_high"]) == (share, share, share)


@pytest.mark.parametrize("episode", ["deal", "game"])
@pytest.mark.parametrize(
    ("rules", "forms"),
    [(FOUR_POINT, (None, None)), (SCHMIER, ("both", "both")), (SCHMIER, ("one-vs-two", "two-vs-one"))],
)
def test_swapping_the_agents_flips_the_sign_exactly(rules: Any, forms: Any, episode: Any) -> None:
    deals = 8 if episode == "game" else 60
    ours = measured("greedy", HALF, rules, deals, form=forms[0], episode=episode)
    theirs = measured(HALF, "greedy", rules, deals, form=forms[1], episode=episode)
    assert ours["mean"] == -theirs["mean"] != 0
    assert ours["sd"] == theirs["sd"]
    assert ours["ci_low"] == pytest.approx(-theirs["ci_high"], abs=0.02)
    counted = ("bids", "made", "set", "by_bid", "points_by_kind", "by_seat", "decisions")
    for key in counted:
        assert ours["players"]["a"][key] == theirs["players"]["b"][key]


def test_the_tables_of_a_deal_have_the_same_cards_and_dealer() -> None:
    plan = Setup(SCHMIER, "greedy", "random", 20, seed=3).plan()
    games = Games(SCHMIER, 20, plan.deal_seeds(), "deal", autoreset=False)
    games.reset()
    tally = merge(list(play(plan)))
    assert len(np.unique(tally.digests)) == 20
    # The first table of each deal is one against two with A as team 0; its cards are those of the seed.
    alone = merge(list(play(replace(plan, line_ups=((0, 1, 1),)))))
    assert np.array_equal(alone.scores[:, 0], tally.scores[:, 0])
    assert np.array_equal(alone.digests, tally.digests)


def test_the_score_is_the_team_less_the_mean_of_the_others() -> None:
    plan = Setup(SCHMIER, "greedy", "random", 30).plan()
    tally = merge(list(play(plan)))
    ahead = margins(tally, np.array(plan.line_ups))
    for deal in range(30):
        for table, line_up in enumerate(plan.line_ups):
            ours = [int(score) for score, player in zip(tally.scores[deal, table], line_up, strict=True) if player == 0]
            theirs = [int(score) for score, player in zip(tally.scores[deal, table], line_up, strict=True) if player]
            assert ahead[deal, table] == sum(ours) / len(ours) - sum(theirs) / len(theirs)


def test_the_counts_agree_with_one_another() -> None:
    for episode in ("deal", "game"):
        result = measured("greedy", "random", SCHMIER, 12, episode=episode)
        players = result["players"].values()
        scored = result["dealings"] - round(result["all_pass"] * result["dealings"])
        assert sum(player["bids"] for player in players) == scored
        assert sum(sum(by["bids"] for by in player["by_bid"].values()) for player in players) == scored
        # Every seat of every scored deal is counted once.
        assert sum(seat["deals"] for player in players for seat in player["by_seat"]) == 6 * scored
        total = sum(
            seat["deals"] * seat["points_per_deal"] for player in players for seat in player["by_seat"] if seat["deals"]
        )
        assert total == pytest.approx(0, abs=0.01)
        assert all(sum(player["points_by_kind"][kind] for player in players) <= scored for kind in ("high", "game"))


def test_one_rotation_is_an_unbiased_part_of_all() -> None:
    everything = merge(list(play(Setup(SCHMIER, "greedy", "random", 60, form="both").plan())))
    some = merge(list(play(Setup(SCHMIER, "greedy", "random", 60, form="both", rotations="one").plan())))
    assert some.line_ups.shape == (60, 2)
    assert np.all(some.line_ups[:, 0] < 3) and np.all(some.line_ups[:, 1] >= 3)
    assert len(np.unique(some.line_ups)) == 6
    for deal in range(60):
        for table, line_up in enumerate(some.line_ups[deal]):
            assert np.array_equal(some.scores[deal, table], everything.scores[deal, line_up])


def test_evaluation_deals_are_not_those_of_the_same_seed_elsewhere() -> None:
    from smear_train.sim import deal_seeds

    ours = set(Plan(SCHMIER, ("random",), ((0, 0, 0),), 1000, seed=5).deal_seeds().tolist())
    assert not ours & set(deal_seeds(5, 1000).tolist())


def test_the_page_names_the_keys_of_the_document() -> None:
    page = (Path(__file__).parents[1] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    cells = "".join(re.findall(r"^\| (`.*?) \|", page, flags=re.MULTILINE))
    result = measured("greedy", "random", deals=4)
    named = re.findall(r"`(\w+)`", cells)
    assert len(named) == 18 and set(named) <= set(result)
    assert set(result["players"]) == {"a", "b"}


# --- Sameness ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_the_result_is_the_same_for_any_workers_and_start_method() -> None:
    setup = Setup(SCHMIER, "random", HALF, 40, seed=2)
    alone = without_times(document(evaluate(setup)))
    for workers, method in ((2, "spawn"), (4, "fork")):
        assert without_times(document(evaluate(setup, Crew(workers, method)))) == alone, (workers, method)
    assert alone["distinct_deals"] == 40


def test_the_result_does_not_depend_on_the_chunk() -> None:
    plan = Setup(FOUR_POINT, "random", HALF, 30, seed=2).plan()
    one, other = (merge(list(play(replace(plan, chunk=chunk)))) for chunk in (30, 7))
    for name in ("scores", "digests", "bids", "made", "kinds", "seat_points", "decisions"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_the_command_line_prints_the_same_in_another_process(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", "random", "greedy", "--game", "four_point", "--rule", "widow=3", "--deals", "20", "--json"]
    assert main(words) == 0
    ours = json.loads(capsys.readouterr().out)
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    there = subprocess.run(
        [sys.executable, "-m", "smear_train", *words], capture_output=True, text=True, env=environment, check=True
    )
    assert without_times(json.loads(there.stdout)) == without_times(ours)
    assert there.stderr == ""
    assert main([*ours["command"].split()[1:], "--json"]) == 0
    assert without_times(json.loads(capsys.readouterr().out)) == without_times(ours)


# --- Statistics --------------------------------------------------------------------------------------------------


def test_an_interval_of_a_constant_is_its_value_and_one_value_has_none() -> None:
    assert mean_interval(np.full(7, 1.25)) == Interval(1.25, 1.25, 1.25)
    assert mean_interval(np.array([2.0])) == Interval(2.0, None, None)
    result = measured("greedy", "random", deals=1)
    assert result["ci_low"] is None and result["sd"] is None
    assert "nan" not in json.dumps(result).lower()


def test_large_samples_fit_in_memory_and_agree_with_the_normal_interval() -> None:
    values = np.random.default_rng(1).integers(-6, 7, 30_000) / 3
    interval = mean_interval(values, resamples=400)
    error = 1.96 * values.std() / np.sqrt(len(values))
    assert interval.low == pytest.approx(values.mean() - error, abs=0.3 * error)
    assert interval.high == pytest.approx(values.mean() + error, abs=0.3 * error)


def test_intervals_cover_the_known_difference() -> None:
    """Over 400 evaluations drawn from a large set of real deals, whose own mean is then the truth."""
    everything = evaluate(Setup(FOUR_POINT, "greedy", HALF, 4000, seed=1)).values
    rng = np.random.default_rng(2)
    truth, covered = everything.mean(), 0
    for trial in range(400):
        interval = mean_interval(rng.choice(everything, 150), seed=trial, resamples=1000)
        assert interval.low is not None and interval.high is not None
        covered += interval.low <= truth <= interval.high
    assert 0.93 <= covered / 400 <= 0.97


def test_the_sequential_test_keeps_its_error_rates() -> None:
    """At either hypothesis the other is accepted in 5% of the runs at most, give or take the noise of 400 runs."""
    everything = evaluate(Setup(FOUR_POINT, "greedy", HALF, 2000, seed=4)).values
    rng = np.random.default_rng(3)
    truth = float(everything.mean())
    wrong, lengths = {"low": 0, "high": 0}, []
    for shift, accepted_wrongly in ((0.0, "high"), (0.5, "low")):
        low, high = truth - shift, truth - shift + 0.5
        for _ in range(400):
            values = rng.choice(everything, 64 * 60)
            for looked_at in range(64, len(values) + 1, 64):
                verdict = sprt_verdict(log_likelihood_ratio(values[:looked_at], low, high))
                if verdict is not None:
                    break
            wrong[accepted_wrongly] += verdict == accepted_wrongly
            lengths.append(looked_at)
    assert wrong["low"] <= 0.07 * 400 and wrong["high"] <= 0.07 * 400, wrong
    assert np.median(lengths) < 64 * 30


def test_a_control_variate_leaves_the_mean_and_takes_the_noise() -> None:
    rng = np.random.default_rng(5)
    controls = rng.normal(0, 2, (300, 500))
    values = 0.3 + controls + rng.normal(0, 1, (300, 500))
    adjusted = [control(ours, known) for ours, known in zip(values, controls, strict=True)]
    means = np.array([numbers.mean() for numbers, _ in adjusted])
    assert means.mean() == pytest.approx(0.3, abs=4 / np.sqrt(300 * 500))  # unbiased
    assert np.median([gain for _, gain in adjusted]) == pytest.approx(5, rel=0.15)
    assert means.std() < 0.6 * values.mean(1).std()


def test_the_control_variate_of_an_evaluation_saves_deals() -> None:
    setup = Setup(FOUR_POINT, HALF, "bid=greedy+exchange=random+play=random", 1500, rotations="one", control="greedy")
    with_control = evaluate(setup)
    without = evaluate(replace(setup, control=None))
    assert np.array_equal(with_control.values, without.values)
    assert with_control.control_gain is not None and with_control.control_gain > 1.1
    assert document(with_control)["dealings"] == document(without)["dealings"]
    with pytest.raises(ValueError, match="rotations one"):
        Setup(FOUR_POINT, "greedy", "random", 10, control="greedy")


def test_rotation_pays_for_similar_agents() -> None:
    similar = evaluate(Setup(FOUR_POINT, "greedy", "bid=greedy+exchange=random+play=greedy", 400))
    assert similar.rotation_gain is not None and similar.rotation_gain > 2


# --- Gates and verdicts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "interval", "is_met"),
    [
        ("A>=B+0.5", (0.6, 0.5, 0.7), True),
        ("A>=B+0.5", (0.6, 0.49, 0.7), False),
        ("A > B + 0.5", (0.6, 0.5, 0.7), False),
        ("A>=B", (0, 0, 0), True),
        ("A>B", (0, 0, 0), False),
        ("A>=B-0.1", (0, -0.1, 0.1), True),
        ("B>=A", (-0.1, -0.2, 0), True),
        ("B>A", (-0.1, -0.2, 0), False),
        ("B<=A-.5", (0.6, 0.5, 0.7), True),
        ("A<=B", (-0.1, -0.2, 0.1), False),
        ("A>=B", (3, None, None), False),
    ],
)
def test_gates(text: str, interval: tuple[Any, Any, Any], is_met: bool) -> None:
    assert parse_gate(text).is_met(Interval(*interval)) is is_met


@pytest.mark.parametrize("text", ["A>=A", "greedy>=random", "A=>B", "A>=B+", "A>=B+x", ""])
def test_gates_that_are_not_understood(text: str) -> None:
    with pytest.raises(ValueError, match="write it like"):
        parse_gate(text)


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", "greedy", "random", "--game", "four_point", "--deals", "60", "--quiet"]
    assert main([*words, "--gate", "A>=B+1"]) == 0
    assert "supported" in capsys.readouterr().out
    assert main([*words, "--gate", "A>=B+1", "--gate", "B>=A"]) == 3
    assert "NOT supported" in capsys.readouterr().out
    for bounds, code, accepted in (("0,1", 0, "high"), ("6,7", 3, "low"), ("3.9,3.91", 3, None)):
        assert main([*words, "--sprt", bounds, "--deals", "640", "--json"]) == code
        result = json.loads(capsys.readouterr().out)
        assert result["sprt"]["accepted"] == accepted
        assert (result["deals"] < 640) is (accepted is not None)  # it stops early
    for wrong, says in (
        (["--gate", "X"], "write it like"),
        (["--sprt", "1"], "LOW,HIGH"),
        (["--sprt", "1,0"], "less than"),
        (["--sprt", "0,inf"], "finite"),
        (["--sprt", "nan,1"], "finite"),
        (["--deals", "0"], "1 or more"),
        (["--workers", "0"], "1 or more"),
        (["--seed", "-1"], "0..2^64"),
        (["--form", "both"], "three teams"),
        (["--time-limit", "0"], "more than 0"),
        (["--time-limit", "nan"], "more than 0"),
        (["--control", "greedy"], "rotations one"),
    ):
        assert main([*words, *wrong]) == 2
        assert says in capsys.readouterr().err
    for agent, says in (
        ("gredy", "did you mean greedy"),
        ("faulty:CannotBeMade", "no weights"),
        ("nowhere:X", "cannot"),
    ):
        assert main(["eval", agent, "random", "--game", "schmier", "--deals", "2"]) == 2
        assert says in capsys.readouterr().err


# --- Faulty players ----------------------------------------------------------------------------------------------


NEEDS_A_PROCESS = ("Hangs", "Dies")


@pytest.mark.parametrize("spot", SPOTS)
@pytest.mark.parametrize("way", WAYS)
def test_a_player_that_fails_costs_its_own_team(way: str, spot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deal counts as if its team had been set at the highest bid, and the others get nothing."""
    name = f"faulty:{way}{spot}"
    if way not in (*NEEDS_A_PROCESS, "Raises"):  # quicker, and the same, as one of our own
        monkeypatch.setitem(AGENTS, "mine", Entry(getattr(faulty, way + spot), ""))
        name = "mine"
    deals = 1 if way in NEEDS_A_PROCESS else 3
    setup = Setup(FOUR_POINT, name, "greedy", deals, seed=1, time_limit=0.4 if way == "Hangs" else None)
    tally = evaluate(setup).tally
    assert tally.forfeited.sum() >= 2 * deals - 1  # all but a deal in which it has no bid
    line_ups = np.array(setup.plan().line_ups)[tally.line_ups]
    for scores, line_up in zip(tally.scores[tally.forfeited], line_ups[tally.forfeited], strict=True):
        assert [int(score) for score in scores] == [-4 if player == 0 else 0 for player in line_up]
    assert sum(tally.faults[0].values()) == tally.forfeited.sum()
    assert not tally.faults[1]


def test_a_player_fails_only_where_it_fails() -> None:
    """Players that fail in the same places in other ways cost the same."""
    setup = Setup(SCHMIER, "faulty:RaisesAtLastCard", "greedy", 20, form="one-vs-two")
    raising = evaluate(setup)
    cheating = evaluate(replace(setup, a="faulty:PlaysIllegalAtLastCard"))
    assert np.array_equal(raising.tally.scores, cheating.tally.scores)
    assert np.array_equal(raising.tally.forfeited, raising.tally.thrown_in == 0)
    assert raising.tally.forfeited.sum() > 30
    assert "raised RuntimeError: no idea what to do" in raising.tally.faults[0]


def test_a_failed_game_goes_to_the_others() -> None:
    result = measured("faulty:RaisesAtFirstBid", "greedy", SCHMIER, 3, episode="game", form="one-vs-two")
    assert result["win_rate"] == 0
    assert result["forfeits"] == 9


def test_what_a_player_prints_is_no_result(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["eval", "faulty:RaisesAtLastCard", "greedy", "--game", "four_point", "--deals", "4", "--json"]
    assert main(words) == 0
    result = json.loads(capfd.readouterr().out)
    assert result["forfeits"] == 8
    assert result["players"]["a"]["faults"] == {"raised RuntimeError: no idea what to do": 8}


def test_a_player_that_hangs_ends_with_its_parent() -> None:
    """Nothing is left running when the evaluation is stopped in the middle of a call that hangs."""
    words = ["eval", "faulty:HangsAtFirstBid", "greedy", "--game", "four_point", "--deals", "4", "--time-limit", "60"]
    process = subprocess.Popen(
        [sys.executable, "-m", "smear_train", *words],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=6)
    process.kill()
    # The pipe is closed by the last process that holds it: the player's own one.
    process.communicate(timeout=20)


def test_workers_end_with_their_parent() -> None:
    """A killed evaluation leaves no process behind."""
    words = ["eval", "random", "random", "--game", "schmier", "--deals", "300000", "--workers", "2", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "smear_train", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=6)
    process.kill()
    # The pipe is closed by the last process that holds it: a worker.
    process.communicate(timeout=20)


def test_a_tally_of_tables_without_a_process_left_behind() -> None:
    tables = Tables(Setup(FOUR_POINT, "faulty:ReturnsNoneAtFirstBid", "greedy", 2).plan())
    tables.play(0, 2)
    tables.close()
    tables.close()


def test_extras_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    assert main(["eval", "greedy", "random", "--game", "schmier", "--deals", "2"]) == 4
    assert "pip install 'smear-env[eval]'" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main("tournament --agents greedy,random --game schmier --deals 2 --ray auto".split()) == 4
    assert "pip install 'smear-env[ray]'" in capsys.readouterr().err


def test_variants_are_evaluated_too() -> None:
    for rules in (make_rules("schmier_2x3"), make_rules("four_point", widow=0), make_rules("schmier", target=5)):
        result = measured("greedy", "random", rules, 20)
        assert result["mean"] > 0
