"""Match equity: the chance of winning from the scores and the dealer."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from smear_agents.equity import MatchEquity, Outcomes, scores_in_games
from smear_env import PRESETS, GameRules, make_rules
from smear_env.rules import NOBODY, make_tables
from smear_env.scoring import winning_teams
from smear_env.state import new_games
from smear_train.cli import main
from smear_train.fitting import measure_outcomes

pytestmark = pytest.mark.jit

FOUR_POINT, SCHMIER = PRESETS["four_point"], PRESETS["schmier"]


def outcomes(rows: list[list[int]]) -> Outcomes:
    return Outcomes("", 0, "", np.array(rows, np.int64))


def played_out(
    rules: GameRules, deals: Outcomes, scores: list[int], dealer: int, games: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The share of games that each team wins when deals end as in `deals`, by playing them.

    With it the scores before each deal, counted from the dealer's team.
    """
    rng = np.random.default_rng(seed)
    teams = rules.teams
    rows = deals.rows[deals.rows[:, teams] != NOBODY] if rules.all_pass != "redeal_next" else deals.rows
    t, g = make_tables(rules)[0], new_games(1)[0]
    won, begun = np.zeros(teams), []
    for _ in range(games):
        now, first = list(scores), dealer % teams
        while True:
            begun.append(now[first:] + now[:first])
            row = rows[rng.choice(len(rows), p=rows[:, -1] / rows[:, -1].sum())]
            bidder = NOBODY if row[teams] == NOBODY else (row[teams] + first) % teams
            for k in range(teams):
                team, delta = (first + k) % teams, int(row[k])
                if team != bidder and rules.defender_cap != "none":
                    cap = rules.target - (rules.defender_cap == "target_minus_1")
                    delta = min(delta, max(cap - now[team], 0))
                now[team] += delta
            g.scores[:teams] = now
            winners = 0
            if bidder != NOBODY:
                winners = winning_teams(g, t, bidder, bool(row[row[teams]] > 0))
            if winners:
                bits = np.array([winners >> team & 1 for team in range(teams)])
                won += bits / bits.sum()
                break
            first = (first + 1) % teams
    return won / games, np.array(begun)


SMALL_TWO = [[2, 1, 0, 5], [-2, 3, 0, 4], [1, 3, 1, 4], [3, -3, 1, 3], [0, 0, NOBODY, 2]]
SMALL_THREE = [[3, 1, 0, 0, 4], [-3, 2, 1, 0, 3], [1, 4, 1, 1, 4], [2, 0, -4, 2, 3], [0, 1, 5, 2, 2]]


small_rules = pytest.mark.parametrize(
    "rules",
    [
        make_rules("four_point", target=7),
        make_rules("four_point", target=7, all_pass="redeal_next"),
        make_rules("four_point", target=7, finish="bidder_only", defender_cap="target_minus_1"),
        make_rules("schmier", target=9),
        make_rules("schmier", target=9, residual_tie="shared", tie="bidder_first"),
    ],
)


@small_rules
def test_equity_is_what_playing_on_gives(rules: GameRules) -> None:
    deals = outcomes(SMALL_TWO if rules.teams == 2 else SMALL_THREE)
    equity = MatchEquity(rules, deals)
    for scores, dealer in (([0] * rules.teams, 0), ([5, 2, 4][: rules.teams], 1), ([-3, 6, 1][: rules.teams], 2)):
        measured, _ = played_out(rules, deals, scores, dealer, games=1500, seed=3)
        assert equity.of(scores, dealer) == pytest.approx(measured, abs=0.045)


@small_rules
def test_scores_in_games_are_those_of_playing_on(rules: GameRules) -> None:
    deals = outcomes(SMALL_TWO if rules.teams == 2 else SMALL_THREE)
    found = scores_in_games(rules, games=4000, seed=1, outcomes=deals)
    _, begun = played_out(rules, deals, [0] * rules.teams, dealer=0, games=1500, seed=3)
    assert len(found) / 4000 == pytest.approx(len(begun) / 1500, rel=0.05)
    for score in range(-2, rules.target):
        assert (found == score).mean(0) == pytest.approx((begun == score).mean(0), abs=0.02)
    assert (found == scores_in_games(rules, games=4000, seed=1, outcomes=deals)).all()


def test_equity_sums_to_one_and_rises_with_ones_own_score() -> None:
    equity = MatchEquity(make_rules("schmier", target=11))
    assert equity.table.sum(-1) == pytest.approx(1, abs=1e-4)
    for dealer, team in itertools.product(range(6), range(3)):
        scores = [2, 3, 4]
        chances = []
        for own in range(-5, 11):
            scores[team] = own
            chances.append(equity.of(scores, dealer)[team])
        assert np.all(np.diff(chances) > 0)


def test_equity_knows_what_the_scores_mean() -> None:
    equity = MatchEquity(SCHMIER)
    even = np.mean([equity.of([15, 15, 15], dealer) for dealer in range(6)], axis=0)
    assert even == pytest.approx([1 / 3] * 3, abs=0.01)
    assert equity.of([18, 18, 0], 2)[2] < 0.02
    assert equity.of([5, 0, 0], 0)[0] > equity.of([0, 0, 0], 0)[0] + 0.1
    # Seats of one team are the same for the dealer, and turning the table turns the chances.
    assert np.array_equal(equity.of([3, 7, 1], 1), equity.of([3, 7, 1], 4))
    assert equity.of([1, 3, 7], 2) == pytest.approx(np.roll(equity.of([3, 7, 1], 1), 1))


@pytest.mark.parametrize("all_pass", ["redeal_same", "redeal_next"])
def test_it_takes_a_deal_that_was_scored_to_know_how_games_go(all_pass: str) -> None:
    rules = make_rules("four_point", target=7, all_pass=all_pass)
    for rows in ([[0, 0, NOBODY, 9]], [[0, 0, NOBODY, 9], [1, 1, NOBODY, 2]]):
        for ask in (MatchEquity, lambda rules, deals: scores_in_games(rules, 10, seed=0, outcomes=deals)):
            with pytest.raises(ValueError, match="all that were played were thrown in"):
                ask(rules, outcomes(rows))
    assert MatchEquity(rules, outcomes([[3, 0, 0, 9]])).of([4, 0], 0)[0] == pytest.approx(1)


def test_scores_out_of_the_table_count_as_its_edge() -> None:
    equity = MatchEquity(FOUR_POINT)
    assert np.array_equal(equity.of([-100, 3], 0), equity.of([equity.lowest, 3], 0))


@pytest.mark.parametrize("preset", PRESETS)
def test_outcomes_are_shipped_with_their_command(preset: str) -> None:
    rules = PRESETS[preset]
    shipped = MatchEquity(make_rules(rules, target=5)).outcomes
    assert shipped.command.startswith("smear fit-equity ") and shipped.players in shipped.command
    assert shipped.rows[shipped.rows[:, rules.teams] != NOBODY, -1].sum() == shipped.deals >= 100_000


@pytest.mark.parametrize("verb", ["fit-equity", "fit-bids"])
def test_where_nothing_can_be_written_nothing_is_measured(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smear_train.fitting.simulate", pytest.fail)
    monkeypatch.setattr("smear_train.fitting.Games", pytest.fail)
    for out, says in ((tmp_path / "none" / "x.json", "there is no folder"), (tmp_path, "that is a folder")):
        assert main([verb, "--game", "four_point", "-o", str(out)]) == 2
        assert says in capsys.readouterr().err


def test_measured_outcomes_are_what_can_happen() -> None:
    for rules in (SCHMIER, FOUR_POINT):
        data = measure_outcomes(rules, "greedy", 400, seed=2)
        rows = np.array(data["outcomes"])
        assert rows[:, -1].sum() == 400 == data["deals"] + data["thrown_in"]
        for row in rows:
            bidder = row[rules.teams]
            if bidder == NOBODY:
                assert not row[: rules.teams].any()
            else:
                others = np.delete(row[: rules.teams], bidder)
                assert row[bidder] >= rules.min_bid or -rules.max_bid <= row[bidder] <= -rules.min_bid
                assert np.all((others >= 0) & (others <= rules.max_points))
        assert data == measure_outcomes(rules, "greedy", 400, seed=2)
