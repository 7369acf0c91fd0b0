"""What `smear cross-play` measures: does a player keep its strength beside a partner that it was not trained with?

Self-play may invent conventions that only a copy of oneself understands. So players of different runs are seated
together, two and two, against an opponent that none of them was trained with, on the same deals (cross-play; Hu and
others, "Other-Play" for zero-shot coordination, 2020).
"""

import itertools
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import smear_env
from smear_agents.registry import PARTNER
from smear_env import GameRules
from smear_train.asking import Player
from smear_train.console import deal_words
from smear_train.evaluate import Setup, evaluate, interval_keys, rounded
from smear_train.intervals import mean_interval
from smear_train.match import ALONE, Crew


@dataclass(frozen=True)
class CrossPlay:
    """Who is seated with whom.

    Attributes:
        rules: the game, of two or three teams of two.
        players: names, at least two, no two the same: runs that differ in their seed, say.
        against: the agent that all other seats are played by.
        partners: more players that each of them is seated with, such as `club`, but that are not themselves judged.
        deals: how many; each is played by every team at all rotations.
        seed: of the deals, the players' own chance, and the bootstraps.
        time_limit: seconds for a call of an agent.
        game: the game as on the command line.
        options: rule options as on the command line.

    Raises:
        ValueError: players that are not right.
    """

    rules: GameRules
    players: tuple[str, ...]
    against: str
    deals: int
    partners: tuple[str, ...] = ()
    seed: int = 0
    time_limit: float | None = None
    game: str = ""
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        everybody = [*self.players, *self.partners]
        if len(self.players) < 2 or len(set(everybody)) < len(everybody):
            raise ValueError(
                f"cross-play needs two players or more, each named once, partners too; given: {', '.join(everybody)}"
            )
        if teams := [name for name in everybody if PARTNER in name]:
            raise ValueError(f"{teams[0]!r} is a team; cross-play makes teams of single players, so name these")
        if self.rules.players != 2 * self.rules.teams:
            raise ValueError(f"cross-play is for teams of two; {self.rules.name} has {self.rules.players} players")

    def teams(self) -> list[tuple[str, str]]:
        """Every player with itself, with each of the others, and with each of the partners."""
        return [
            *itertools.combinations_with_replacement(self.players, 2),
            *itertools.product(self.players, self.partners),
        ]

    def setup(self, team: tuple[str, str]) -> Setup:
        """The evaluation of a team, one of it against all others."""
        return Setup(
            rules=self.rules,
            a=PARTNER.join(team),
            b=self.against,
            deals=self.deals,
            seed=self.seed,
            form="one-vs-two" if self.rules.teams == 3 else None,
            time_limit=self.time_limit,
        )

    def command(self) -> str:
        """The command line that does this again."""
        words = ["smear", "cross-play", *self.players, "--against", self.against]
        words += [word for partner in self.partners for word in ("--partner", partner)]
        words += deal_words(self.game or self.rules.name, self.options, self.deals, self.seed)
        if self.time_limit is not None:
            words += ["--time-limit", f"{self.time_limit:g}"]
        return shlex.join(words)


@dataclass
class Crossing:
    """What cross-play has shown, in points a deal against the opponent.

    Attributes:
        contest: who was seated with whom.
        values: of each team of `CrossPlay.teams`, one value for each deal, (D,).
        seconds: wall clock.
    """

    contest: CrossPlay
    values: dict[tuple[str, str], np.ndarray]
    seconds: float = field(compare=False)

    def crossed(self, player: str | None = None) -> np.ndarray:
        """The mean of the teams of two different players, or of those with one player in it, for each deal (D,)."""
        pairs = itertools.combinations(self.contest.players, 2)
        return self._mean([pair for pair in pairs if player is None or player in pair])

    def alone(self) -> np.ndarray:
        """The mean of the players beside themselves, for each deal (D,)."""
        return self._mean([(player, player) for player in self.contest.players])

    def beside(self, partner: str) -> np.ndarray:
        """The mean of the players beside a partner, for each deal (D,)."""
        return self._mean([(player, partner) for player in self.contest.players])

    def _mean(self, teams: list[tuple[str, str]]) -> np.ndarray:
        mean: np.ndarray = np.mean([self.values[team] for team in teams], axis=0)
        return mean


def cross(
    contest: CrossPlay,
    crew: Crew = ALONE,
    progress: Callable[[str], Callable[[int], None]] = lambda team: lambda done: None,
) -> Crossing:
    """Plays every team.

    Args:
        contest: who is seated with whom.
        crew: who plays it.
        progress: called with what is played; what it returns is called with the number of deals done.

    Raises:
        ValueError: an agent that does not exist.
        RuntimeError: as for `smear_train.match.play`.
    """
    began = time.perf_counter()
    for name in (*contest.players, *contest.partners, contest.against):  # better missed now than after hours
        Player(name, contest.rules, contest.seed, contest.time_limit).close()
    values = {}
    with crew.gathered():
        for number, team in enumerate(contest.teams(), 1):
            what = progress(f"of team {number} of {len(contest.teams())}")
            values[team] = evaluate(contest.setup(team), crew, what).values
    return Crossing(contest, values, time.perf_counter() - began)


def document(crossing: Crossing) -> dict[str, Any]:
    """The result as plain data: what `smear cross-play --json` prints."""
    contest = crossing.contest

    def interval(values: np.ndarray) -> dict[str, Any]:
        return interval_keys(mean_interval(values, contest.seed))

    alone, crossed = crossing.alone(), crossing.crossed()
    return {
        "kind": "cross-play",
        "game": contest.rules.name,
        "players": list(contest.players),
        "partners": list(contest.partners),
        "against": contest.against,
        "deals": contest.deals,
        "seed": contest.seed,
        "teams": [{"a": a, "b": b, **interval(values)} for (a, b), values in crossing.values.items()],
        "self_play": interval(alone),
        "cross_play": interval(crossed),
        "lost": interval(alone - crossed),
        "kept": rounded(crossed.mean() / alone.mean()) if alone.mean() > 0 else None,
        "beside_others": [{"player": one, **interval(crossing.crossed(one))} for one in contest.players],
        "beside_partners": [{"partner": one, **interval(crossing.beside(one))} for one in contest.partners],
        "command": contest.command(),
        "smear_env": smear_env.__version__,
        "ms_total": round(1000 * crossing.seconds),
    }
