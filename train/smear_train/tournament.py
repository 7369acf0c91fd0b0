"""What `smear tournament` measures: everybody against everybody on the same deals, and ratings fitted to all of it."""

import csv
import itertools
import math
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import smear_env
from smear_env import GameRules
from smear_env.games import Episode
from smear_train.console import deal_words
from smear_train.evaluate import interval_keys, rounded
from smear_train.intervals import Interval, mean_interval
from smear_train.match import ALONE, Crew, Plan, Tally, chunk_size, merge, play
from smear_train.sim import over_others

RATING_RESAMPLES = 200
ELO = 400 / math.log(10)
"""Rating points of one unit of log-odds, as in chess: 400 points are odds of ten to one."""

PRIOR_WINS = 0.5
"""Deals added to each side of each pair, so that who has won or lost everything has a finite rating."""


@dataclass(frozen=True)
class Contest:
    """Who plays what.

    Attributes:
        rules: the game.
        agents: names, at least two, no two the same.
        deals: how many; each is played at all tables.
        seed: of the deals, the players' own chance, and the bootstraps.
        episode: "deal" or "game".
        allow_cheaters: let agents in that see what is hidden.
        time_limit: seconds for a call of an agent.
        game: the game as on the command line.
        options: rule options as on the command line.

    Raises:
        ValueError: agents that are not right.
    """

    rules: GameRules
    agents: tuple[str, ...]
    deals: int
    seed: int = 0
    episode: Episode = "deal"
    allow_cheaters: bool = False
    time_limit: float | None = None
    game: str = ""
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.agents)) < 2 or len(set(self.agents)) < len(self.agents):
            raise ValueError(f"a tournament needs two agents or more, each named once; given: {', '.join(self.agents)}")
        if self.rules.teams > 3:
            raise ValueError(f"a tournament is for two or three teams; {self.rules.name} has {self.rules.teams}")

    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of agents, by number."""
        return list(itertools.combinations(range(len(self.agents)), 2))

    def triples(self) -> list[tuple[int, int, int]]:
        """All triples of agents; none in a game of two teams."""
        return list(itertools.combinations(range(len(self.agents)), 3)) if self.rules.teams == 3 else []

    def groups(self) -> list[list[tuple[int, ...]]]:
        """For each pair and then for each triple the line-ups in which they meet, in all places."""
        teams = self.rules.teams
        groups = []
        for pair in self.pairs():
            tables = set(itertools.product(pair, repeat=teams)) - {(one,) * teams for one in pair}
            groups.append(sorted(tables))
        return groups + [sorted(itertools.permutations(triple)) for triple in self.triples()]

    def plan(self) -> Plan:
        """What has to be played."""
        line_ups = tuple(line_up for group in self.groups() for line_up in group)
        chunk = min(chunk_size(self.deals), max(4, 4096 // len(line_ups)))
        return Plan(
            self.rules, self.agents, line_ups, self.deals, self.seed, self.episode,
            time_limit=self.time_limit, allow_cheaters=self.allow_cheaters, chunk=chunk,
        )  # fmt: skip

    def command(self) -> str:
        """The command line that does this again."""
        words = ["smear", "tournament", "--agents", ",".join(self.agents)]
        words += deal_words(self.game or self.rules.name, self.options, self.deals, self.seed)
        if self.episode != "deal":
            words += ["--episode", self.episode]
        if self.allow_cheaters:
            words.append("--allow-cheaters")
        if self.time_limit is not None:
            words += ["--time-limit", f"{self.time_limit:g}"]
        return shlex.join(words)


@dataclass
class Standings:
    """What a tournament has shown.

    Attributes:
        contest: who played what.
        tally: what happened.
        leads: for each pair the points per deal by which the first is ahead of the second.
        shares: for each triple the points per deal of each of the three, less the mean of the other two.
        ratings: for each agent, in points of the chess scale around 0.
        cycles: triples of agents each of which beats the next, with the whole interval.
        seconds: wall clock.
    """

    contest: Contest
    tally: Tally
    leads: dict[tuple[int, int], Interval]
    shares: dict[tuple[int, int, int], list[Interval]]
    ratings: list[Interval]
    cycles: list[tuple[int, int, int]]
    seconds: float = field(compare=False)


def hold(contest: Contest, crew: Crew = ALONE, progress: Callable[[int], None] = lambda done: None) -> Standings:
    """Plays a tournament.

    Args:
        contest: who plays what.
        crew: who plays it.
        progress: called with the number of deals done.

    Raises:
        ValueError: an agent that does not exist, or that cheats and is not allowed to.
        RuntimeError: as for `smear_train.match.play`.
    """
    began = time.perf_counter()
    tally = merge(list(play(contest.plan(), crew, progress)))
    lead = leads_by_deal(contest, tally)
    pairs, triples = contest.pairs(), contest.triples()
    leads = {pair: mean_interval(values, contest.seed) for pair, values in zip(pairs, lead, strict=False)}
    shares = {}
    for triple, values in zip(triples, _shares_by_deal(contest, tally), strict=True):
        shares[triple] = [mean_interval(column, contest.seed) for column in values.T]
    return Standings(
        contest=contest,
        tally=tally,
        leads=leads,
        shares=shares,
        ratings=fit_ratings(comparisons(contest, tally), contest.seed),
        cycles=find_cycles(leads, len(contest.agents)),
        seconds=time.perf_counter() - began,
    )


# --- From scores to comparisons ----------------------------------------------------------------------------------


def _scores_by_deal(contest: Contest, tally: Tally) -> list[np.ndarray]:
    """For each group of tables the mean score per deal of each agent's teams, (D, agents); NaN where it has none."""
    line_ups, at, scores = np.array(contest.plan().line_ups), 0, []
    for group in contest.groups():
        tables = slice(at, at + len(group))
        at += len(group)
        sitting = line_ups[tally.line_ups[:, tables]]
        dealings = tally.dealings[:, tables].sum(1)
        by_agent = np.full((len(dealings), len(contest.agents)), np.nan)
        for agent in set(itertools.chain(*group)):
            is_theirs = sitting == agent
            seats = is_theirs.sum(2)  # teams at each table
            own = np.where(is_theirs, tally.scores[:, tables], 0).sum(2)
            # A table counts the same whether one team of an agent sits at it or two.
            by_agent[:, agent] = np.where(seats > 0, own / np.maximum(seats, 1), 0).sum(1) / dealings
        scores.append(by_agent)
    return scores


def leads_by_deal(contest: Contest, tally: Tally) -> list[np.ndarray]:
    """For each pair the points per deal by which the first is ahead of the second, (D,)."""
    scores = _scores_by_deal(contest, tally)
    return [by_agent[:, i] - by_agent[:, j] for (i, j), by_agent in zip(contest.pairs(), scores, strict=False)]


def _shares_by_deal(contest: Contest, tally: Tally) -> list[np.ndarray]:
    """For each triple the score of each of the three less the mean of the other two, (D, 3)."""
    scores = _scores_by_deal(contest, tally)[len(contest.pairs()) :]
    shares = []
    for triple, by_agent in zip(contest.triples(), scores, strict=True):
        shares.append(over_others(by_agent[:, triple]))
    return shares


def comparisons(contest: Contest, tally: Tally) -> np.ndarray:
    """How much of each deal an agent has won from another, (D, agents, agents): 1 or, if they are level, 1/2 a group.

    A group of tables (of a pair, or of a triple) counts once for each two of its agents.
    """
    n = len(contest.agents)
    won = np.zeros((len(tally.digests), n, n))
    for by_agent in _scores_by_deal(contest, tally):
        ahead = by_agent[:, :, None] - by_agent[:, None, :]
        won += np.where(np.isnan(ahead), 0, (ahead > 1e-9) + 0.5 * (np.abs(ahead) <= 1e-9))
    diagonal = np.arange(n)
    won[:, diagonal, diagonal] = 0
    return won


def fit_ratings(won: np.ndarray, seed: int = 0, resamples: int = RATING_RESAMPLES) -> list[Interval]:
    """Ratings fitted once to all comparisons (Bradley and Terry 1952, by the library choix), with 95% intervals.

    Args:
        won: (D, agents, agents) how much of each deal the one has won from the other.
        seed: of the bootstrap over deals.
        resamples: of the bootstrap.

    Returns:
        For each agent a rating; their mean is 0, and 400 points are odds of ten to one of winning a deal.
    """
    import choix

    n = won.shape[1]
    prior = PRIOR_WINS * (won.sum(0) + won.sum(0).T > 0)

    def fitted(wins: np.ndarray) -> np.ndarray:
        ratings: np.ndarray = ELO * choix.ilsr_pairwise_dense(wins + prior)
        return ratings - ratings.mean()

    best = fitted(won.sum(0))
    rng = np.random.default_rng(seed)
    flat = won.reshape(len(won), n * n)
    weights = rng.multinomial(len(won), np.full(len(won), 1 / len(won)), resamples)
    refitted = np.array([fitted(wins.reshape(n, n)) for wins in weights @ flat])
    low, high = np.quantile(refitted, (0.025, 0.975), axis=0)
    return [Interval(float(best[i]), float(low[i]), float(high[i])) for i in range(n)]


def find_cycles(leads: dict[tuple[int, int], Interval], num_agents: int) -> list[tuple[int, int, int]]:
    """Triples in which each beats the next, and the last the first, with the whole interval of their lead."""

    def beats(one: int, other: int) -> bool:
        if (one, other) in leads:
            low = leads[one, other].low
            return low is not None and low > 0
        high = leads[other, one].high
        return high is not None and high < 0

    cycles = []
    for i, j, k in itertools.combinations(range(num_agents), 3):
        for a, b, c in ((i, j, k), (i, k, j)):
            if beats(a, b) and beats(b, c) and beats(c, a):
                cycles.append((a, b, c))
    return cycles


# --- As data -----------------------------------------------------------------------------------------------------


def document(standings: Standings) -> dict[str, Any]:
    """The result as plain data: what `smear tournament --json` prints."""
    contest, tally, agents = standings.contest, standings.tally, standings.contest.agents
    return {
        "kind": "tournament",
        "game": contest.rules.name,
        "agents": list(agents),
        "deals": len(tally.digests),
        "distinct_deals": len(np.unique(tally.digests)),
        "tables": int(tally.line_ups.size),
        "seed": contest.seed,
        "episode": contest.episode,
        "pairs": [{"a": agents[i], "b": agents[j], **interval_keys(lead)} for (i, j), lead in standings.leads.items()],
        "triples": [
            [{"agent": agents[i], **interval_keys(share)} for i, share in zip(triple, shares, strict=True)]
            for triple, shares in standings.shares.items()
        ],
        "ratings": [
            {"agent": agents[i], "rating": rounded(of.mean), "low": rounded(of.low), "high": rounded(of.high)}
            for i, of in sorted(enumerate(standings.ratings), key=lambda entry: -entry[1].mean)
        ],
        "cycles": [[agents[i] for i in cycle] for cycle in standings.cycles],
        "players": [
            {
                "agent": agents[i],
                "bids": int(tally.bids[i].sum()),
                "bid_made": rounded(tally.made[i].sum() / tally.bids[i].sum()) if tally.bids[i].any() else None,
                "faults": dict(sorted(tally.faults[i].items())),
                "ms_per_decision": rounded(1000 * tally.seconds[i] / max(int(tally.decisions[i]), 1)),
            }
            for i in range(len(agents))
        ],
        "command": contest.command(),
        "smear_env": smear_env.__version__,
        "ms_total": round(1000 * standings.seconds),
    }


def write_tables(result: dict[str, Any], folder: Path) -> None:
    """Writes a document's pairs and ratings to `pairs.csv` and `ratings.csv` in a folder."""
    _write_csv(folder / "pairs.csv", result["pairs"])
    _write_csv(folder / "ratings.csv", result["ratings"])


def _write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
