"""What `smear eval` measures: two agents on duplicate deals, the difference with its interval, and what they did."""

import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

import smear_env
from smear_env import GameRules
from smear_env.games import Episode
from smear_env.rules import KINDS
from smear_train.console import deal_words
from smear_train.intervals import Interval, control, log_likelihood_ratio, mean_interval, sprt_verdict
from smear_train.match import ALONE, Crew, Plan, Tally, chunk_size, first_tables, merge, play

Form = Literal["one-vs-two", "two-vs-one", "both"]
Rotations = Literal["all", "one"]

SPRT_CHUNK = 64
"""Deals between two looks of the sequential test."""


@dataclass(frozen=True)
class Setup:
    """An evaluation of A against B.

    Attributes:
        rules: the game.
        a: an agent's name; see `smear_agents.make_agent`.
        b: another's.
        deals: how many; each is played at all tables of the form.
        seed: of the deals, the players' own chance, and the bootstrap.
        form: with three teams, one of A against two of B, two of A against one of B, or both; None for two teams.
        episode: "deal", or "game": whole games to the target.
        rotations: "all", or "one" of them for each deal, drawn: fewer tables, more luck.
        control: an agent, all of one kind at the table, whose result on the same deal is taken for its value.
        sprt: stop early, once the mean is shown to be rather the second of these than the first, or the other way.
        time_limit: seconds for a call of an agent; see `smear_train.asking.Player`.
        options: rule options as on the command line, for the command that is printed.
        game: the game as on the command line.
    """

    rules: GameRules
    a: str
    b: str
    deals: int
    seed: int = 0
    form: Form | None = None
    episode: Episode = "deal"
    rotations: Rotations = "all"
    control: str | None = None
    sprt: tuple[float, float] | None = None
    time_limit: float | None = None
    game: str = ""
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.rules.teams == 2 and self.form is not None:
            raise ValueError(f"form={self.form!r} is for three teams; {self.rules.name} has two, so leave it out")
        if self.rules.teams > 3:
            raise ValueError(f"evaluation is for two or three teams; {self.rules.name} has {self.rules.teams}")
        if self.rules.teams == 3 and self.form is None:
            object.__setattr__(self, "form", "both")
        if self.control is not None and (self.rotations == "all" or self.episode == "game"):
            raise ValueError(
                "a control variate needs --rotations one and --episode deal: with all rotations the value of a deal "
                "cancels already"
            )

    def groups(self) -> list[list[tuple[int, ...]]]:
        """The line-ups (0 for A, 1 for B, by team), those that are rotations of each other together."""
        teams = self.rules.teams
        one = [tuple(int(team != alone) for team in range(teams)) for alone in range(teams)]
        two = [tuple(1 - player for player in line_up) for line_up in one]
        return {None: [one], "one-vs-two": [one], "two-vs-one": [two], "both": [one, two]}[self.form]

    def plan(self) -> Plan:
        """What has to be played."""
        groups = self.groups()
        line_ups = [line_up for group in groups for line_up in group]
        choices: tuple[tuple[int, ...], ...] = ()
        players = [self.a, self.b]
        if self.rotations == "one":
            starts = np.cumsum([0] + [len(group) for group in groups])
            choices = tuple(tuple(range(begin, end)) for begin, end in pairwise(starts.tolist()))
        if self.control is not None:
            players.append(self.control)
            choices += ((len(line_ups),),)
            line_ups.append((2,) * self.rules.teams)
        return Plan(
            rules=self.rules,
            players=tuple(players),
            line_ups=tuple(line_ups),
            deals=self.deals,
            seed=self.seed,
            episode=self.episode,
            choices=choices,
            time_limit=self.time_limit,
            chunk=SPRT_CHUNK if self.sprt else chunk_size(self.deals),
        )

    def command(self) -> str:
        """The command line that does this again."""
        words = ["smear", "eval", self.a, self.b]
        words += deal_words(self.game or self.rules.name, self.options, self.deals, self.seed)
        for name, value, usual in (
            ("form", self.form, None),
            ("episode", self.episode, "deal"),
            ("rotations", self.rotations, "all"),
            ("control", self.control, None),
            ("time-limit", self.time_limit, None),
        ):
            if value != usual:
                words += [f"--{name}", str(value)]
        if self.sprt:
            words.append(f"--sprt={self.sprt[0]:g},{self.sprt[1]:g}")
        return shlex.join(words)


# --- From scores to one value a deal -----------------------------------------------------------------------------


def margins(tally: Tally, line_ups: np.ndarray) -> np.ndarray:
    """The mean score of A's teams less that of the others at each table where A sits, (D, K).

    Args:
        tally: of the deals.
        line_ups: (L, teams) 0 where a team is A's.
    """
    is_ours = line_ups[tally.line_ups] == 0
    ours, theirs = is_ours.sum(2), (~is_ours).sum(2)
    own: np.ndarray = np.where(is_ours, tally.scores, 0).sum(2) / ours
    return own - np.where(~is_ours, tally.scores, 0).sum(2) / theirs


def shares(tally: Tally, line_ups: np.ndarray) -> np.ndarray:
    """The share of the game that each of A's teams has won, at each table: (D, K). Its chance is 1 / teams."""
    bits = (tally.winners[:, :, None] >> np.arange(line_ups.shape[1])) & 1
    won = bits / np.maximum(bits.sum(2, keepdims=True), 1)
    is_ours = line_ups[tally.line_ups] == 0
    share: np.ndarray = np.where(is_ours, won, 0).sum(2) / is_ours.sum(2)
    return share


def values_of(tally: Tally, line_ups: np.ndarray) -> np.ndarray:
    """The points per deal by which A is ahead, one value for each deal of the evaluation, (D,).

    Sums come first: they are whole or half points, so that equal agents give 0 and not nearly 0.
    """
    values: np.ndarray = margins(tally, line_ups).sum(1) / tally.dealings.sum(1)
    return values


# --- The whole ---------------------------------------------------------------------------------------------------


@dataclass
class Evaluation:
    """What was measured.

    Attributes:
        setup: of what.
        tally: what happened.
        values: (D,) points per deal by which A was ahead, one for each deal.
        difference: their mean and interval.
        won: the share of the games won by one of A's teams, with its interval; None unless whole games are played.
        rotation_gain: variance of as many independent tables over that of the rotated ones; None if either is 0.
        control_gain: variance before over after the control variate; None without.
        ratio: log-likelihood ratio of the sequential test; None without.
        seconds: wall clock.
    """

    setup: Setup
    tally: Tally
    values: np.ndarray
    difference: Interval
    won: Interval | None
    rotation_gain: float | None
    control_gain: float | None
    ratio: float | None
    seconds: float = field(compare=False)


def evaluate(setup: Setup, crew: Crew = ALONE, progress: Callable[[int], None] = lambda done: None) -> Evaluation:
    """Plays the deals and measures.

    Args:
        setup: what to play.
        crew: who plays it.
        progress: called with the number of deals done.

    Raises:
        ValueError: an agent that does not exist.
        RuntimeError: as for `smear_train.match.play`.
    """
    plan = setup.plan()
    line_ups = np.array(plan.line_ups)
    num_tables = plan.tables().shape[1] - (setup.control is not None)
    began = time.perf_counter()
    tallies: list[Tally] = []
    looks: list[np.ndarray] = []
    ratio = None
    for chunk in play(plan, crew, progress):
        tallies.append(chunk)
        if setup.sprt is not None:
            looks.append(values_of(first_tables(chunk, num_tables), line_ups))
            ratio = log_likelihood_ratio(np.concatenate(looks), *setup.sprt)
            if sprt_verdict(ratio) is not None:
                break
    whole = merge(tallies)
    tally = first_tables(whole, num_tables)
    values = values_of(tally, line_ups)
    by_table = margins(tally, line_ups) / tally.dealings
    spread, independent = float(np.var(values)), float(np.var(by_table)) / num_tables
    measured, control_gain = values, None
    if setup.control is not None:
        measured, control_gain = control(values, _deal_values(tally, whole.scores[:, -1], line_ups))
    won = None
    if setup.episode == "game":
        won = mean_interval(shares(tally, line_ups).mean(1), setup.seed)
    return Evaluation(
        setup=setup,
        tally=tally,
        values=values,
        difference=mean_interval(measured, setup.seed),
        won=won,
        rotation_gain=independent / spread if spread and num_tables > 1 else None,
        control_gain=control_gain,
        ratio=ratio,
        seconds=time.perf_counter() - began,
    )


def _deal_values(tally: Tally, scores: np.ndarray, line_ups: np.ndarray) -> np.ndarray:
    """What A's places at the tables of a deal were worth to the control player, (D,). Over the rotations it is 0.

    Args:
        tally: of the deals.
        scores: (D, teams) of the control player against itself.
        line_ups: (L, teams) 0 where a team is A's.
    """
    worth: np.ndarray = margins(replace(tally, scores=scores[:, None]), line_ups).mean(1)
    return worth


# --- As data -----------------------------------------------------------------------------------------------------


def document(evaluation: Evaluation) -> dict[str, Any]:
    """The result as plain data: what `smear eval --json` prints."""
    setup, tally, difference, won = evaluation.setup, evaluation.tally, evaluation.difference, evaluation.won
    dealings = int(tally.dealings.sum())
    described = [_player(evaluation, index) for index in range(len(setup.plan().players))]
    result: dict[str, Any] = {
        "kind": "evaluation",
        "game": setup.rules.name,
        "a": setup.a,
        "b": setup.b,
        "deals": len(tally.digests),
        "seed": setup.seed,
        "form": setup.form,
        **interval_keys(difference),
        "sd": rounded(float(np.std(evaluation.values, ddof=1)) if len(evaluation.values) > 1 else None),
        "win_rate": rounded(won.mean) if won else None,
        "win_low": rounded(won.low) if won else None,
        "win_high": rounded(won.high) if won else None,
        "bid_made": described[0]["bid_made"],
        "all_pass": rounded(float(tally.thrown_in.sum()) / dealings),
        "ms_per_decision_a": described[0]["ms_per_decision"],
        "ms_per_decision_b": described[1]["ms_per_decision"],
        "command": setup.command(),
        "episode": setup.episode,
        "rotations": setup.rotations,
        "tables": int(tally.line_ups.size),
        "dealings": dealings,
        "distinct_deals": len(np.unique(tally.digests)),
        "truncated_games": int(tally.truncated.sum()) if setup.episode == "game" else None,
        "rotation_gain": rounded(evaluation.rotation_gain),
        "control": setup.control,
        "control_gain": rounded(evaluation.control_gain),
        "forfeits": int(tally.forfeited.sum()),
        "players": dict(zip(("a", "b", "control"), described)),
        "smear_env": smear_env.__version__,
        "ms_total": round(1000 * evaluation.seconds),
    }
    if setup.sprt is not None:
        assert evaluation.ratio is not None
        result["sprt"] = {
            "low": setup.sprt[0],
            "high": setup.sprt[1],
            "log_likelihood_ratio": rounded(evaluation.ratio),
            "accepted": sprt_verdict(evaluation.ratio),
        }
    return result


def _player(evaluation: Evaluation, index: int) -> dict[str, Any]:
    """What a player did."""
    rules, tally = evaluation.setup.rules, evaluation.tally
    bids, made = tally.bids[index], tally.made[index]
    bought, decisions = int(bids.sum()), int(tally.decisions[index])
    values = np.arange(len(bids))
    return {
        "name": evaluation.setup.plan().players[index],
        "bids": bought,
        "made": int(made.sum()),
        "set": bought - int(made.sum()),
        "bid_made": rounded(made.sum() / bought) if bought else None,
        "mean_bid": rounded(bids @ values / bought) if bought else None,
        "by_bid": {
            str(bid): {"bids": int(bids[bid]), "made": int(made[bid])}
            for bid in range(rules.min_bid, rules.max_bid + 1)
        },
        "points_by_kind": {
            kind: int(count)
            for kind, count in zip(KINDS, tally.kinds[index])
            if tally.kinds[:, KINDS.index(kind)].any()
        },
        "by_seat": [
            {
                "left_of_dealer": (place + 1) % rules.players,
                "deals": int(tally.seat_deals[index, place]),
                "points_per_deal": rounded(tally.seat_points[index, place] / tally.seat_deals[index, place])
                if tally.seat_deals[index, place]
                else None,
            }
            for place in range(rules.players)
        ],
        "decisions": decisions,
        "ms_per_decision": rounded(1000 * tally.seconds[index] / decisions) if decisions else None,
        "faults": dict(sorted(tally.faults[index].items())),
    }


def rounded(value: float | None) -> float | None:
    """A number for a document; None for what is not finite."""
    return None if value is None or not np.isfinite(value) else round(float(value), 6)


def interval_keys(interval: Interval) -> dict[str, float | None]:
    """A mean with its interval for a document."""
    return {"mean": rounded(interval.mean), "ci_low": rounded(interval.low), "ci_high": rounded(interval.high)}


# --- Gates -------------------------------------------------------------------------------------------------------

_GATE = re.compile(r"\s*([AB])\s*(>=|<=|>|<)\s*([AB])\s*(?:([+-])\s*(\d+(?:\.\d*)?|\.\d+))?\s*")


@dataclass(frozen=True)
class Gate:
    """A claim about A and B that has to be supported by the whole interval, such as "A>=B+0.5".

    Attributes:
        text: as it was given.
        sign: 1 when A must be ahead by at least (more than) `bound`, -1 when B - A must be.
        bound: points per deal.
        strict: more than, instead of at least.
    """

    text: str
    sign: int
    bound: float
    strict: bool

    def is_met(self, difference: Interval) -> bool:
        """Whether the interval of A's lead supports the claim."""
        if difference.low is None or difference.high is None:
            return False
        least = difference.low if self.sign > 0 else -difference.high
        return least > self.bound if self.strict else least >= self.bound


def parse_gate(text: str) -> Gate:
    """The gate that a text stands for.

    >>> parse_gate("A>=B+0.5").bound
    0.5

    Raises:
        ValueError: it is not written like "A>=B+0.5".
    """
    match = _GATE.fullmatch(text)
    if match is None or match[1] == match[3]:
        raise ValueError(
            f"gate {text!r} is not understood; write it like 'A>=B+0.5' or 'B>A', with the letters A and B, "
            "in points per deal"
        )
    first, relation, _, plus, number = match.groups()
    bound = float(number or 0) * (-1 if plus == "-" else 1)
    # first >= second + bound; "first <= second + bound" is second >= first - bound.
    sign = 1 if first == "A" else -1
    if relation.startswith("<"):
        sign, bound = -sign, -bound
    return Gate(text, sign, bound, strict=not relation.endswith("="))
