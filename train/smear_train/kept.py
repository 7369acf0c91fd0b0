"""Chunks of deals that have been played, kept in a folder, so that a run that was stopped goes on where it was.

They are NumPy's .npz files of plain numbers: reading one runs no code.
"""

import functools
import hashlib
import os
import sys
import uuid
from collections import Counter
from dataclasses import asdict, fields
from pathlib import Path

import msgspec
import numba
import numpy as np

import smear_agents
import smear_env
from smear_agents.neural import checkpoint_file, is_checkpoint
from smear_agents.registry import single_players, split_search
from smear_train.match import Plan, Range, Tally


@functools.cache
def versions() -> dict[str, str]:
    """What a result may depend on besides its plan. `sources` is a digest of the packages' own files."""
    sources = hashlib.sha256()
    for package in (smear_env, smear_agents, sys.modules["smear_train"]):
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.*")):
            if path.suffix in (".py", ".json", ".safetensors"):  # not what only an installed package has
                sources.update(path.read_bytes())
    return {
        "smear-env": smear_env.__version__,
        "sources": sources.hexdigest()[:16],
        "python": ".".join(str(number) for number in sys.version_info[:2]),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def checkpoints(player: str) -> dict[str, Path]:
    """The files of the checkpoints in the name of a player, by the paths that it gives.

    >>> checkpoints("bid=club+exchange=club+play=greedy")
    {}

    Raises:
        ValueError: no such file.
    """
    paths = [split_search(one)[0] for one in single_players(player)]
    return {path: checkpoint_file(path) for path in paths if is_checkpoint(path)}


class Kept:
    """The chunks of a plan in a folder.

    Each plan has a folder in it, named by a digest of all that the result depends on: the plan, the content of its
    players' checkpoints, and versions. So no other run's chunks are ever taken for this one's. What cannot be known is
    whether somebody's own player (`package.module:Class`) has changed.

    Args:
        folder: made if need be.
        plan: what is played.

    Raises:
        ValueError: the folder cannot be made.
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        files = {path: file for player in plan.players for path, file in checkpoints(player).items()}
        content = {path: hashlib.sha256(file.read_bytes()).hexdigest() for path, file in files.items()}
        identity = msgspec.json.encode([asdict(plan), content, versions()])
        self._folder = folder / hashlib.sha256(identity).hexdigest()[:16]
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"the folder {folder} cannot be written to: {error.strerror or error}") from None

    def read(self, ranges: list[Range]) -> dict[Range, Tally]:
        """Those of some chunks that are there and whole."""
        found = {}
        for deals in ranges:
            try:
                found[deals] = read_tally(self._path(deals))
            except Exception:  # not there, or damaged, which NumPy, zipfile and zlib say in many ways: play it
                continue
        return found

    def write(self, deals: Range, tally: Tally) -> None:
        """Keeps a chunk; whenever the process ends, the file is either whole or not there."""
        arrays = {part.name: getattr(tally, part.name) for part in fields(Tally) if part.name != "faults"}
        faults = np.frombuffer(msgspec.json.encode(tally.faults), np.uint8)
        new = self._folder / f"{uuid.uuid4().hex}.new"  # several machines may write here
        try:
            with new.open("xb") as file:
                np.savez_compressed(file, faults=faults, **arrays)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path(deals))
        finally:
            new.unlink(missing_ok=True)

    def _path(self, deals: Range) -> Path:
        return self._folder / f"{deals[0]}-{deals[1]}.npz"


def read_tally(path: Path) -> Tally:
    """A tally from its file. That there is none, or that it is damaged, raises one exception or another."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {part.name: stored[part.name] for part in fields(Tally)}
    faults = msgspec.json.decode(arrays.pop("faults").tobytes(), type=list[dict[str, int]])
    return Tally(**arrays, faults=[Counter(counts) for counts in faults])
