"""Match equity: the chance of winning the game from the scores and the dealer.

It is computed by value iteration from how deals end between given players (`smear fit-equity` measures that and names
its command in the file), as backgammon programs do: equity now is the mean of the equity after the next deal.
"""

import functools
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from smear_agents._jit import kernel
from smear_env import GameRules
from smear_env._jit import int64
from smear_env.rules import NOBODY, REDEAL_NEXT, Tables, differences, make_tables
from smear_env.scoring import defender_points, winning_teams
from smear_env.state import Game, new_games

SWEEPS = 200
"""Most sweeps over all scores; far fewer are needed."""
SCORES = 4
"""The stream of a seed from which `scores_in_games` draws."""
TOLERANCE = 1e-5
"""A sweep that changes no chance by more than this is the last."""


@dataclass(frozen=True)
class Outcomes:
    """How deals end between some players.

    Attributes:
        players: who played.
        deals: how many deals were scored.
        command: what measured it.
        rows: (K, teams + 2) int64: the change of score of each team, the dealer's first and then to his left; the
            bidding team likewise counted from the dealer's; how often. Deals thrown in have no bidder (-1).
    """

    players: str
    deals: int
    command: str
    rows: np.ndarray


@functools.lru_cache(maxsize=16)
def load_outcomes(rules: GameRules) -> Outcomes:
    """The outcomes shipped for the preset nearest to some rules.

    Raises:
        ValueError: none are shipped for so many teams.
    """
    preset, _ = differences(rules)
    source = files("smear_agents").joinpath("data", f"outcomes-{preset}.json")
    if not source.is_file():
        raise ValueError(f"no outcomes of deals are shipped for {preset}; measure them with smear fit-equity")
    data = json.loads(source.read_text(encoding="utf-8"))
    rows = np.array(data["outcomes"], np.int64)
    if rows.shape[1] != rules.teams + 2:
        raise ValueError(f"the outcomes shipped for {preset} are of {rows.shape[1] - 2} teams, not {rules.teams}")
    return Outcomes(data["players"], data["deals"], data["command"], rows)


class MatchEquity:
    """The chance of each team to win a game under some rules.

    >>> from smear_env import make_rules
    >>> equity = MatchEquity(make_rules("four_point", target=4))
    >>> bool(equity.of([3, 0], dealer=0)[0] > 0.5)
    True

    Args:
        rules: the rules; any target.
        outcomes: how deals end; None: those shipped for the nearest preset.

    Attributes:
        table: (S, ..., S, teams) float32: the chances, by the scores of the teams counted from the dealer's, each as
            score - lowest. Scores below `lowest` count as that.
        lowest: minus the target.
        sweeps: how many sweeps it took.

    Raises:
        ValueError: nothing is known of how deals end under such rules.
    """

    def __init__(self, rules: GameRules, outcomes: Outcomes | None = None) -> None:
        self.rules = rules
        self.outcomes = outcomes or load_outcomes(rules)
        self.lowest = -rules.target
        self.table, self.sweeps = _solve(rules, self.outcomes)

    def of(self, scores: Any, dealer: int) -> np.ndarray:
        """The chance of each team, (teams,), before a deal with that dealer (a seat); scores by team."""
        teams = self.rules.teams
        first = dealer % teams
        places = np.clip(np.roll(np.asarray(scores), -first), self.lowest, self.rules.target - 1) - self.lowest
        chances: np.ndarray = np.roll(self.table[tuple(places)], first).astype(np.float64)
        return chances


def scores_in_games(rules: GameRules, games: int, seed: int, outcomes: Outcomes | None = None) -> np.ndarray:
    """Scores at which deals begin, in games between the players measured.

    >>> from smear_env import make_rules
    >>> scores_in_games(make_rules("schmier"), games=10, seed=0)[0]
    array([0, 0, 0])

    Args:
        rules: the rules; any target.
        games: how many games, each from scores of zero to its end.
        seed: of all chance.
        outcomes: how deals end; None: those shipped for the nearest preset.

    Returns:
        (D, teams) int64: the scores of the teams counted from the dealer's, a row for each deal of each game.

    Raises:
        ValueError: nothing is known of how deals end under such rules.
    """
    rows, weights = _weighted(rules, outcomes or load_outcomes(rules))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SCORES,)))
    tables, scratch = make_tables(rules), new_games(1)
    begun, scores = [], np.zeros((games, rules.teams), np.int64)
    while scores.size:
        begun.append(scores.copy())
        over = _play_on(scores, rows[rng.choice(len(rows), len(scores), p=weights)], tables, scratch)
        scores = np.roll(scores[~over], -1, axis=1)  # the deal passes to the left
    return np.concatenate(begun)


@functools.lru_cache(maxsize=8)
def shipped_equity(rules: GameRules) -> MatchEquity:
    """The equity from the outcomes shipped, computed once in a process."""
    return MatchEquity(rules)


def _solve(rules: GameRules, outcomes: Outcomes) -> tuple[np.ndarray, int]:
    """The table of chances, and how many sweeps it took."""
    teams, size = rules.teams, 2 * rules.target
    table = np.full((size**teams, teams), 1 / teams)
    rows, weights = _weighted(rules, outcomes)
    # From the highest scores down: most deals lead upwards, so a sweep finds most of what it needs done already.
    totals = np.indices((size,) * teams).sum(0).ravel()
    order = np.argsort(-totals, kind="stable")
    scratch = new_games(1)
    sweep, change = 0, 1.0
    while change >= TOLERANCE and sweep < SWEEPS:
        change = _sweep(table, order, rows, weights, size, make_tables(rules), scratch)
        sweep += 1
    return table.reshape(*(size,) * teams, teams).astype(np.float32), sweep


def _weighted(rules: GameRules, outcomes: Outcomes) -> tuple[np.ndarray, np.ndarray]:
    """How a deal can end, (K, teams + 1) as in `Outcomes` but for the count, and how likely each is, (K,)."""
    rows = outcomes.rows
    scored = rows[:, rules.teams] != NOBODY
    if not scored.any():
        raise ValueError("nothing is known of how deals end: all that were played were thrown in")
    if rules.all_pass != "redeal_next":
        rows = rows[scored]  # dealt again as if nothing had been
    return rows[:, :-1], rows[:, -1] / rows[:, -1].sum()


@kernel
def _sweep(
    table: np.ndarray,
    order: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    size: int,
    tables: np.ndarray,
    scratch: np.ndarray,
) -> float:
    """Improves the chances at all scores, in the order given; returns the greatest change."""
    t, g = tables[0], scratch[0]
    teams = rows.shape[1] - 1
    lowest = -(size // 2)
    greatest = 0.0
    scores = np.zeros(teams, np.int64)
    chances = np.zeros(teams)
    for index in order:
        rest = index
        for k in range(teams):
            scores[teams - 1 - k] = rest % size + lowest
            rest //= size
        chances[:] = 0.0
        for i in range(weights.size):
            winners = _winners_after(scores, rows[i], t, g)
            if winners:
                share = weights[i] / count_of(winners, teams)
                for k in range(teams):
                    if (winners >> k) & 1:
                        chances[k] += share
                continue
            # The deal passes to the left: the team next to the dealer's is then the first.
            after = int64(0)
            for k in range(1, teams + 1):
                score = min(max(int64(g.scores[k % teams]), lowest), lowest + size - 1)
                after = after * size + score - lowest
            for k in range(teams):
                chances[k] += weights[i] * table[after, (k + teams - 1) % teams]
        for k in range(teams):
            greatest = max(greatest, abs(chances[k] - table[index, k]))
            table[index, k] = chances[k]
    return greatest


@kernel
def _play_on(scores: np.ndarray, rows: np.ndarray, tables: np.ndarray, scratch: np.ndarray) -> np.ndarray:
    """Ends a deal of each game in the way given, which changes `scores`; returns whether that was the last."""
    t, g = tables[0], scratch[0]
    over = np.zeros(len(scores), np.bool_)
    for i in range(len(scores)):
        over[i] = _winners_after(scores[i], rows[i], t, g) != 0
        for k in range(t.teams):
            scores[i, k] = g.scores[k]
    return over


@kernel
def _winners_after(scores: np.ndarray, row: np.ndarray, t: Tables, g: Game) -> int:
    """The winners, as bits, once a deal has ended so: `row` as in `Outcomes`. The new scores are then in g.scores."""
    bidder = row[t.teams]
    for k in range(t.teams):
        delta = row[k] if k == bidder else defender_points(row[k], scores[k], t)
        g.scores[k] = scores[k] + delta
    if bidder == NOBODY:
        return int64(0)
    return int64(winning_teams(g, t, bidder, row[bidder] > 0))


@kernel
def count_of(bits: int, n: int) -> int:
    """How many of the lowest n bits are set."""
    total = 0
    for k in range(n):
        total += (bits >> k) & 1
    return total


@kernel
def chance_after(
    g: Game, t: Tables, table: np.ndarray, size: int, dealer: int, bidder: int, made_bid: bool, team: int
) -> float:
    """A team's chance once a deal is over and g.scores changed, all by team, `bidder` NOBODY if it was thrown in.

    `table` is that of `MatchEquity`, laid flat to (scores, teams), `size` the scores of one team in it, `dealer` the
    team that dealt.
    """
    if bidder != NOBODY:
        winners = int64(winning_teams(g, t, bidder, made_bid))
        if winners:
            return ((winners >> team) & 1) / count_of(winners, t.teams)
    if bidder != NOBODY or t.all_pass == REDEAL_NEXT:
        dealer += 1
    return chance_at(g.scores, t, table, size, dealer, team)


@kernel
def chance_at(scores: np.ndarray, t: Tables, table: np.ndarray, size: int, dealer: int, team: int) -> float:
    """A team's chance before a deal that the team `dealer` deals, scores by team; `table` as in `chance_after`."""
    lowest = -(size // 2)
    index = int64(0)
    for k in range(t.teams):
        score = min(max(int64(scores[(dealer + k) % t.teams]), lowest), lowest + size - 1)
        index = index * size + score - lowest
    return table[index, (team - dealer) % t.teams]
