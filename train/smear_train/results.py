"""What `smear report` reads: the documents and the training runs in some folders."""

import json
import math
import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

MOST_POINTS = 200
"""Points of a curve in a report; of a longer one, equal runs of lines are averaged."""

METRICS = {
    "reward": "reward",
    "entropy": "entropy",
    "kl": "KL divergence",
    "policy_loss": "policy loss",
    "value_loss": "value loss",
    "explained_variance": "explained variance",
    "clip_fraction": "clipped share",
    "grad_norm": "gradient norm",
    "learning_rate": "learning rate",
    "all_pass": "deals all passed (share)",
    "mean_bid": "mean bid",
    "bid_made": "bids made (share)",
    "illegal": "illegal actions",
    "decisions_per_s": "decisions per second",
}
"""Keys of `metrics.jsonl` that are drawn over `decisions`, and what they are called."""

MEASURES = {
    "mean": "points per deal",
    "ci_low": "low",
    "ci_high": "high",
    "win_rate": "games won (share)",
    "bid_made": "bids made (share)",
    "all_pass": "deals all passed (share)",
}
"""Keys of `eval.jsonl` that are drawn over `decisions`, for each `opponent`."""


class ReportError(ValueError):
    """Something in a folder cannot be read; the message names the file and the place."""


# --- Documents ---------------------------------------------------------------------------------------------------


class Count(msgspec.Struct):
    """Bids of one value."""

    bids: int
    made: int

    def __post_init__(self) -> None:
        if not 0 <= self.made <= self.bids:
            raise ValueError(f"{self.made} of {self.bids} bids cannot have been made")


class Seat(msgspec.Struct):
    """What a player got at one seat."""

    left_of_dealer: int
    deals: int
    points_per_deal: float | None


class Did(msgspec.Struct):
    """What one player did in an evaluation."""

    name: str
    bids: int
    made: int
    bid_made: float | None
    mean_bid: float | None
    by_bid: dict[str, Count]
    points_by_kind: dict[str, int]
    by_seat: list[Seat]
    decisions: int
    ms_per_decision: float | None
    faults: dict[str, int]


class Sequential(msgspec.Struct):
    """A sequential test."""

    low: float
    high: float
    log_likelihood_ratio: float
    accepted: str | None


class Evaluation(msgspec.Struct, tag_field="kind", tag="evaluation"):
    """What `smear eval --json` prints."""

    game: str
    a: str
    b: str
    deals: int
    distinct_deals: int
    tables: int
    seed: int
    form: str | None
    episode: str
    mean: float
    ci_low: float | None
    ci_high: float | None
    sd: float | None
    win_rate: float | None
    win_low: float | None
    win_high: float | None
    all_pass: float | None
    rotation_gain: float | None
    control_gain: float | None
    forfeits: int
    players: dict[str, Did]
    command: str
    smear_env: str
    sprt: Sequential | None = None
    gates: dict[str, bool] = {}

    def __post_init__(self) -> None:
        if not {"a", "b"} <= self.players.keys():
            raise ValueError("`players` must be a and b")
        shapes = [(list(one.by_bid), list(one.points_by_kind), len(one.by_seat)) for one in self.players.values()]
        if any(shape != shapes[0] for shape in shapes):
            raise ValueError("`players` must have the same bids, kinds of points and seats")


class Mean(msgspec.Struct):
    """Points per deal."""

    mean: float
    ci_low: float | None
    ci_high: float | None


class Pair(Mean):
    """Two agents: of a tournament, the first ahead of the second; of cross-play, as a team."""

    a: str
    b: str


class Place(Mean):
    """One of three agents at a table."""

    agent: str


class Rating(msgspec.Struct):
    """An agent's rating."""

    agent: str
    rating: float
    low: float
    high: float


class Entrant(msgspec.Struct):
    """What an agent did in a tournament."""

    agent: str
    bids: int
    bid_made: float | None
    faults: dict[str, int]
    ms_per_decision: float | None


class Tournament(msgspec.Struct, tag_field="kind", tag="tournament"):
    """What `smear tournament --json` prints and `-o` writes."""

    game: str
    agents: list[str]
    deals: int
    distinct_deals: int
    tables: int
    seed: int
    episode: str
    pairs: list[Pair]
    triples: list[list[Place]]
    ratings: list[Rating]
    cycles: list[list[str]]
    players: list[Entrant]
    command: str
    smear_env: str


class BesideOthers(Mean):
    """What a player comes to beside the others."""

    player: str


class BesidePartner(Mean):
    """What all players come to beside a partner."""

    partner: str


class CrossPlay(msgspec.Struct, tag_field="kind", tag="cross-play"):
    """What `smear cross-play --json` prints."""

    game: str
    players: list[str]
    partners: list[str]
    against: str
    deals: int
    seed: int
    teams: list[Pair]
    self_play: Mean
    cross_play: Mean
    lost: Mean
    kept: float | None
    beside_others: list[BesideOthers]
    beside_partners: list[BesidePartner]
    command: str
    smear_env: str


class Protocol(msgspec.Struct, tag_field="kind", tag="protocol"):
    """What `smear eval --protocol NAME --json` prints."""

    protocol: str
    agent: str
    complete: bool
    in_time: bool
    results: dict[str, Evaluation]
    head: str
    row: str
    command: str = ""


class Probe(msgspec.Struct):
    """A family of positions."""

    id: str
    title: str
    passed: int
    positions: int


class Probes(msgspec.Struct, tag_field="kind", tag="probes"):
    """What an agent did in positions of which the right answers are known."""

    agent: str
    passed: int
    positions: int
    probes: list[Probe]
    command: str = ""


Document = Evaluation | Tournament | CrossPlay | Protocol | Probes
KINDS = ("evaluation", "tournament", "cross-play", "protocol", "probes")


def read_document(path: Path, name: str) -> Document | None:
    """The document in a JSON file; None if it is of another kind.

    Raises:
        ReportError: it is no JSON, or lacks what its kind must have.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ReportError(f"{name}, line {error.lineno}: not JSON: {error.msg}") from error
    except ValueError as error:
        raise ReportError(f"{name}: not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("kind") not in KINDS:
        return None
    try:
        converted: Document = msgspec.convert(data, Document)
    except msgspec.ValidationError as error:
        raise ReportError(f"{name} is no {data['kind']} as this version writes it: {error}") from error
    return converted


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


# --- Training runs -----------------------------------------------------------------------------------------------


@dataclass
class Series:
    """Some number over the decisions learned from.

    Attributes:
        x: (T,) decisions, rising.
        y: (T,)
    """

    x: np.ndarray
    y: np.ndarray

    def thinned(self) -> "Series":
        """At most MOST_POINTS points: the means of equal runs of lines."""
        if len(self.x) <= MOST_POINTS:
            return self
        return Series(*(np.array([part.mean() for part in np.array_split(of, MOST_POINTS)]) for of in (self.x, self.y)))


@dataclass
class Run:
    """A training run.

    Attributes:
        name: the folder, as the report calls it.
        seed: of the run; None if it is not known.
        metrics: the lines of metrics.jsonl.
        evals: the lines of eval.jsonl.
        config: config.toml without seeds and names; None without one.
    """

    name: str
    seed: int | None
    metrics: list[dict[str, Any]]
    evals: list[dict[str, Any]]
    config: dict[str, Any] | None

    def opponents(self) -> list[str]:
        """Whom it was evaluated against, in order of appearance."""
        return list(dict.fromkeys(line["opponent"] for line in self.evals))

    def against(self, opponent: str) -> list[dict[str, Any]]:
        """The evaluations against one opponent."""
        return [line for line in self.evals if line["opponent"] == opponent]


def series(lines: Iterable[dict[str, Any]], key: str) -> Series | None:
    """A key of some lines; lines without it, or where it is not finite, are left out. None if nothing is left."""
    points = [(line["decisions"], line[key]) for line in lines if line.get(key) is not None]
    points = [(x, y) for x, y in points if math.isfinite(y)]
    if not points:
        return None
    x, y = np.array(points, float).T
    return Series(x, y)


def read_lines(path: Path, name: str, keys: Iterable[str], notes: list[str]) -> list[dict[str, Any]]:
    """The lines of a JSONL file.

    A last line that a killed process has left unfinished is skipped, with a note. Where `decisions` does not rise, a
    run was resumed from before: the older lines (of the same opponent) from there on are left out, with a note.

    Args:
        path: of the file.
        name: of the file, for messages.
        keys: that must be numbers or null where they appear.
        notes: are added to.

    Raises:
        ReportError: another line that is not right.
    """
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    dropped = 0
    texts = path.read_bytes().split(b"\n")
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        try:
            line = json.loads(text.decode("utf-8"))
        except ValueError as error:
            if number == len(texts):
                notes.append(f"{name}: line {number}, the last one, is cut off and was skipped")
                continue
            raise ReportError(f"{name}, line {number}: not JSON: {error}") from error
        _check_line(line, f"{name}, line {number}", keys, needs_opponent="opponent" in keys)
        same = lines[line.get("opponent") or ""]
        while same and same[-1]["decisions"] >= line["decisions"]:
            same.pop()
            dropped += 1
        same.append(line)
    if dropped:
        notes.append(f"{name}: the run was resumed; {dropped} lines that it played again were left out")
    return sorted((line for same in lines.values() for line in same), key=lambda line: line["decisions"])


def _check_line(line: Any, place: str, keys: Iterable[str], needs_opponent: bool) -> None:
    if not isinstance(line, dict):
        raise ReportError(f"{place}: not an object")
    if not _is_number(line.get("decisions")) or not math.isfinite(line["decisions"]):
        raise ReportError(f"{place}: `decisions` must be a number; given: {line.get('decisions')!r}")
    if needs_opponent and not isinstance(line.get("opponent"), str):
        raise ReportError(f"{place}: `opponent` must be a text; given: {line.get('opponent')!r}")
    for key in keys:
        if key != "opponent" and line.get(key) is not None and not _is_number(line[key]):
            raise ReportError(f"{place}: `{key}` must be a number; given: {line[key]!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_run(folder: Path, name: str, notes: list[str]) -> Run | None:
    """The training run in a folder; None if there is none.

    Raises:
        ReportError: one of its files is not right.
    """
    metrics, evals = folder / "metrics.jsonl", folder / "eval.jsonl"
    if not metrics.is_file() and not evals.is_file():
        return None
    config = _read_config(folder / "config.toml", f"{name}/config.toml")
    seed = _seed(folder / "env.json", f"{name}/env.json")
    if seed is None and config is not None and isinstance(config.get("seed"), int):
        seed = config["seed"]
    if seed is None and (match := _TRAILING_SEED.fullmatch(name)):
        seed = int(match[2])
    read = {}
    for path, keys in ((metrics, ("minutes", *METRICS)), (evals, ("opponent", "minutes", *MEASURES))):
        what = f"{name}/{path.name}"
        read[path] = read_lines(path, what, keys, notes) if path.is_file() else []
        if path.is_file() and not read[path]:
            notes.append(f"{what}: no line yet")
    return Run(name, seed, read[metrics], read[evals], None if config is None else _without(config, ("seed", "name")))


def _read_config(path: Path, name: str) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ReportError(f"{name}: not TOML: {error}") from error


def _seed(path: Path, name: str) -> int | None:
    if not path.is_file():
        return None
    try:
        seed = json.loads(path.read_text(encoding="utf-8")).get("seed")
    except (ValueError, AttributeError) as error:
        raise ReportError(f"{name}: not a JSON object: {error}") from error
    return seed if isinstance(seed, int) else None


def _without(config: Any, keys: Sequence[str]) -> Any:
    """A configuration without some keys, at any depth."""
    if not isinstance(config, dict):
        return config
    return {key: _without(value, keys) for key, value in config.items() if key not in keys}


# --- Seeds of one experiment -------------------------------------------------------------------------------------

_TRAILING_SEED = re.compile(r"(.*[^/])-s(\d+)")


@dataclass
class Group:
    """Runs that differ in the seed only.

    Attributes:
        name: what they have in common.
        runs: in order of their names.
    """

    name: str
    runs: list[Run] = field(default_factory=list)


def groups(runs: Iterable[Run], notes: list[str]) -> list[Group]:
    """Puts runs together whose folders differ only in a trailing seed (NAME-s0, NAME-s1), or only in the seed itself.

    The second are those whose env.json or config.toml has a `seed` and whose config.toml is the same but for that (and
    for a `name`).
    """
    found: dict[str, Group] = {}
    for run in runs:
        match = _TRAILING_SEED.fullmatch(run.name)
        key, name = f"config {run.config}", run.name
        if match:
            key, name = f"name {match[1]}", match[1]
        elif run.seed is None or run.config is None:
            key = f"run {run.name}"
        group = found.setdefault(key, Group(name))
        if group.runs and group.runs[0].config != run.config:
            notes.append(f"{run.name}: its config.toml is not that of {group.runs[0].name}, though their names agree")
        group.runs.append(run)
    return list(found.values())


@dataclass
class Curve:
    """A number over the decisions, for a group of runs.

    Attributes:
        seeds: of each run that has it.
        x: (T,) the grid: the decisions that all of them have reached; empty if there are none such.
        median: (T,) over the runs.
        low: (T,) the least of them.
        high: (T,) the greatest.
    """

    seeds: list[Series]
    x: np.ndarray
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray


def curve(of_runs: Sequence[Series | None]) -> Curve | None:
    """The median and the range of some runs, each interpolated linearly on a common grid; None if none has anything.

    The grid goes from where the last run begins to where the first ends: the points of all runs, or MOST_POINTS in
    equal steps if there are more.
    """
    seeds = [one.thinned() for one in of_runs if one is not None]
    if not seeds:
        return None
    begin, end = max(one.x[0] for one in seeds), min(one.x[-1] for one in seeds)
    x = np.unique(np.concatenate([one.x for one in seeds]))
    x = x[(x >= begin) & (x <= end)]
    if len(x) > MOST_POINTS:
        x = np.linspace(begin, end, MOST_POINTS)
    values = np.array([np.interp(x, one.x, one.y) for one in seeds])
    return Curve(seeds, x, np.median(values, 0), values.min(0), values.max(0))


# --- Folders -----------------------------------------------------------------------------------------------------


@dataclass
class Found:
    """What lies in some folders.

    Attributes:
        documents: with the name of their file.
        runs: training runs.
        notes: what was skipped, and why.
    """

    documents: list[tuple[str, Document]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def of(self, kind: type) -> list[tuple[str, Any]]:
        """The documents of one kind."""
        return [(name, document) for name, document in self.documents if isinstance(document, kind)]


def read_folders(folders: Sequence[Path]) -> Found:
    """Reads folders, and the folders directly in them.

    Raises:
        ReportError: a folder does not exist or holds nothing to report, or a file cannot be read or is not right.
    """
    try:
        return _read_folders(folders)
    except OSError as error:
        raise ReportError(f"{error.filename} cannot be read: {error.strerror}") from error


def _read_folders(folders: Sequence[Path]) -> Found:
    found, seen = Found(), set()
    for folder in folders:
        if not folder.is_dir():
            raise ReportError(f"{folder} is not a folder")
    roots = _names([folder.resolve() for folder in folders])
    for given, (folder, name) in zip(folders, roots, strict=True):
        held = 0
        below = sorted((path for path in folder.iterdir() if path.is_dir() and path.name[0] != "."), key=_in_order)
        for inside, label in [(folder, name), *((path, f"{name}/{path.name}") for path in below)]:
            held += _read_folder(inside, label, found, new=inside.resolve() not in seen)
            seen.add(inside.resolve())
        if not held:
            raise ReportError(
                f"{given} holds nothing to report: no metrics.jsonl or eval.jsonl, and no .json file of a known kind "
                f"({', '.join(KINDS)}), neither in it nor in the folders directly below"
            )
    return found


def _in_order(path: Path) -> list[tuple[int, str]]:
    """Sorts numbers in names as numbers: s2 before s10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path.name)]


def _read_folder(folder: Path, name: str, found: Found, new: bool) -> int:
    """Reads one folder, unless it was read before; returns how much there is in it."""
    notes: list[str] = []
    paths = sorted((path for path in folder.glob("*.json") if path.is_file()), key=_in_order)
    documents = [(f"{name}/{path.name}", read_document(path, f"{name}/{path.name}")) for path in paths]
    known = [(label, document) for label, document in documents if document is not None]
    run = read_run(folder, name, notes)
    if new:
        found.documents += known
        found.runs += [] if run is None else [run]
        found.notes += notes
    return len(known) + (run is not None)


def _names(folders: Sequence[Path]) -> list[tuple[Path, str]]:
    """Folders with what a report calls them: the path from where they all lie, so that no other path is told."""
    try:
        common = Path(os.path.commonpath([folder.parent for folder in folders]))
    except ValueError:  # on different drives
        return [(folder, folder.name) for folder in folders]
    return [(folder, folder.relative_to(common).as_posix()) for folder in folders]
