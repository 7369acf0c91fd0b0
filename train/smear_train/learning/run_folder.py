"""A training run is a folder: what was asked for, what came of it, and checkpoints to go on from.

    runs/NAME/
        config.toml     the resolved configuration
        env.json        versions, commit, seed, machine, command
        metrics.jsonl   one line an update
        eval.jsonl      one line an evaluation
        best.json       the evaluation that the best checkpoint won
        ckpt/           last.safetensors, best.safetensors, step-000120.safetensors
        tensorboard/    a mirror of the two .jsonl files, if it is switched on

A checkpoint is one safetensors file: tensors by name, and plain data as JSON in its metadata. Nothing is unpickled, so
reading one runs no code of its author.
"""

import contextlib
import errno
import json
import math
import os
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

import smear_env
from smear_agents.neural import SCHEMA, CheckpointError
from smear_train.doctor import installed_version

DATA = "smear"
"""The key of the metadata of a safetensors file that holds the plain data."""

TEMPORARY = ".tmp"
"""Added to the name of a file that is being written."""

PACKAGES = ("numpy", "numba", "torch")


class RunFolderError(Exception):
    """A run cannot be made, read or written; the message says what failed, where, and what to do."""


# --- Checkpoints -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds.

    Attributes:
        path: where it was read.
        tensors: by name, on the CPU.
        data: as given to `RunFolder.save`, with `schema`, `environment` (the version of smear_env) and `update`. It
            has been through JSON: tuples have become lists, and keys texts.
    """

    path: Path
    tensors: dict[str, torch.Tensor]
    data: dict[str, Any]

    @property
    def update(self) -> int:
        """How many updates had been made."""
        return int(self.data["update"])

    @property
    def game(self) -> str:
        """What it was trained on."""
        return str(self.data["game"])


def read_checkpoint(path: str | Path) -> Checkpoint:
    """The checkpoint in a file.

    Raises:
        CheckpointError: there is none, it is damaged, or it is of another schema or version of smear_env.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            _refuse_pickle(path, file.read(9))
    except OSError as error:
        raise CheckpointError(f"checkpoint {path} cannot be read: {error.strerror}") from error
    try:
        with safetensors.safe_open(path, framework="pt") as content:
            metadata, names = content.metadata() or {}, content.keys()
            # Copies, since what is opened lies in the file, which others may change.
            tensors = {name: content.get_tensor(name).clone() for name in names}
    except (safetensors.SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"checkpoint {path} is damaged, or no safetensors file ({' '.join(str(error).split())}); take another one"
        ) from error
    return Checkpoint(path, tensors, _checked_data(path, metadata))


def _refuse_pickle(path: Path, head: bytes) -> None:
    # A safetensors file begins with the length of its table, which may look like anything, and then the table.
    if head.startswith((b"PK\x03\x04", b"\x80")) and head[8:] != b"{":
        raise CheckpointError(
            f"checkpoint {path} is a pickle, as torch.save writes them. Those are never opened, since they may run "
            "code; needed: a .safetensors file that `smear train` has written"
        )


def _checked_data(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    if DATA not in metadata:
        raise CheckpointError(f"{path} is a safetensors file, but no checkpoint that `smear train` has written")
    try:
        data = json.loads(metadata[DATA])
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"checkpoint {path} is damaged: its data are not JSON; take another one") from error
    if not isinstance(data, dict):
        raise CheckpointError(f"checkpoint {path} is damaged: its data are no table; take another one")
    if data.get("schema") != SCHEMA:
        raise CheckpointError(
            f"checkpoint {path} has schema {data.get('schema')!r}; needed: {SCHEMA}. Read it with the smear-env that "
            f"wrote it ({data.get('environment') or 'unknown'}), or train anew"
        )
    if "environment" not in data:
        raise CheckpointError(
            f"{path} is a player that `smear export` has written: it plays, and there is nothing else in it; name a "
            "checkpoint of a run"
        )
    if data["environment"] != smear_env.__version__:
        raise CheckpointError(
            f"checkpoint {path} is of smear-env {data['environment']}; needed: {smear_env.__version__}. Install "
            "that version, or train anew"
        )
    if not isinstance(data.get("game"), str) or not isinstance(data.get("update"), int):
        raise CheckpointError(f"checkpoint {path} is damaged: it lacks `game` or `update`; take another one")
    return data


def check(checkpoint: Checkpoint, *, game: str, rules: Mapping[str, Any]) -> None:
    """Makes sure that a checkpoint is for a game and its rules.

    Its schema and its version of smear_env were checked when it was read.

    Args:
        checkpoint: it was saved with its rule options as `rules` in its data.
        game: its name.
        rules: the options, all of them.

    Raises:
        CheckpointError: it is for another game or for other rules; the message names the options that differ.
    """
    if checkpoint.game != game:
        raise CheckpointError(f"checkpoint {checkpoint.path} is for {checkpoint.game}; needed: one for {game}")
    theirs, ours = checkpoint.data.get("rules"), json.loads(json.dumps(dict(rules)))
    if not isinstance(theirs, dict):
        raise CheckpointError(f"checkpoint {checkpoint.path} does not say for which rules it is; take another one")
    differing = [
        f"{name} = {theirs.get(name)!r} (needed: {ours.get(name)!r})"
        for name in ours | theirs
        if theirs.get(name) != ours.get(name)
    ]
    if differing:
        raise CheckpointError(f"checkpoint {checkpoint.path} is for other rules: {', '.join(differing)}")


# --- The folder --------------------------------------------------------------------------------------------------


class RunFolder:
    """The folder of one training run. One process at a time may write there.

    Attributes:
        path: of the folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def create(cls, path: str | Path, config_toml: str, env: Mapping[str, Any]) -> "RunFolder":
        """Makes the folder of a new run.

        Args:
            path: need not exist; the folders above it are made too.
            config_toml: the resolved configuration, as TOML.
            env: see `describe_environment`.

        Raises:
            RunFolderError: a run is there already, or the folder cannot be written.
        """
        run = cls(path)
        if any((run.path / name).exists() for name in ("config.toml", "metrics.jsonl", "eval.jsonl")):
            raise RunFolderError(
                f"{path} holds a run already: choose another folder with --folder, or go on with this one with --resume"
            )
        with _as_one_error("the run", run.path):
            run._checkpoints.mkdir(parents=True, exist_ok=True)
            write_whole([run.path / "env.json"], (json.dumps(dict(env), indent=2) + "\n").encode())
            # The last one, for it is what makes the folder a run.
            write_whole([run.path / "config.toml"], config_toml.encode())
        return run

    @classmethod
    def open(cls, path: str | Path) -> "RunFolder":
        """The run in a folder, to go on with. Removes what a process that was killed was writing.

        Not for looking at a run that another process goes on with; `read_checkpoint` is.

        Raises:
            RunFolderError: there is none, or the folder cannot be written.
        """
        run = cls(path)
        if not (run.path / "config.toml").is_file():
            raise RunFolderError(
                f"{path} is no training run, for it has no config.toml; start one, or name the folder of one"
            )
        with _as_one_error("the run", run.path):
            run._checkpoints.mkdir(exist_ok=True)
            for folder in (run.path, run._checkpoints):
                for left_over in folder.glob("*" + TEMPORARY):
                    left_over.unlink()
        return run

    @property
    def _checkpoints(self) -> Path:
        return self.path / "ckpt"

    def checkpoint(self, which: str) -> Path:
        """Where a checkpoint is, or would be: `last`, `best` or `step:N`.

        >>> RunFolder("runs/a").checkpoint("step:120").as_posix()
        'runs/a/ckpt/step-000120.safetensors'

        Raises:
            ValueError: it is called nothing of that.
        """
        step = re.fullmatch("step:([0-9]+)", which)
        if step is None and which not in ("last", "best"):
            raise ValueError(f"there is no checkpoint {which!r}; allowed: last, best, step:N")
        return self._checkpoints / f"{f'step-{int(step[1]):06}' if step else which}.safetensors"

    def save(
        self,
        update: int,
        tensors: Mapping[str, torch.Tensor],
        data: Mapping[str, Any],
        *,
        names: Sequence[str] = ("last",),
    ) -> None:
        """Writes a checkpoint, under one name or several.

        At any moment, and after a kill at any moment, each name holds a whole checkpoint, the one before or this one.
        `best` and steps are brought to the disk (fsync) before they take their names, so that a loss of power cannot
        harm them. `last` alone is not, for it is written after every update and that may double the time: a kill cannot
        harm it, a loss of power may, and then it is refused as damaged.

        Args:
            update: how many updates have been made.
            tensors: by name, of any numeric dtype, on any device; they may share memory.
            data: what JSON can say, with `game` and, for `check`, `rules`. Floats come back bit-equal, whole numbers
                of any size too.
            names: `last`, `best`, `step` (of this update) or `step:N`.

        Raises:
            RunFolderError: it could not be written; the checkpoints are as they were.
            ValueError: `data` has no `game`, or a name is not allowed.
        """
        if "game" not in data:
            raise ValueError("the data of a checkpoint must say for which `game` it is")
        paths = [self.checkpoint(f"step:{update}" if name == "step" else name) for name in names]
        text = json.dumps({**data, "schema": SCHEMA, "environment": smear_env.__version__, "update": update})
        content = safetensors.torch.save(_in_memory_of_their_own(tensors), {DATA: text})
        with _as_one_error("a checkpoint", self._checkpoints, "the checkpoints before it are whole"):
            write_whole(paths, content, to_disk=any(name != "last" for name in names))

    def load(self, which: str = "last") -> Checkpoint:
        """Reads a checkpoint: `last`, `best` or `step:N`.

        Raises:
            CheckpointError: as `read_checkpoint`; if there is none such, it says which there are.
            ValueError: `which` is nothing of that.
        """
        path = self.checkpoint(which)
        if not path.exists():
            there = [name.stem for name in sorted(self._checkpoints.glob("*.safetensors"))]
            raise CheckpointError(f"{self.path} has no checkpoint {which}; there: {', '.join(there) or 'none yet'}")
        return read_checkpoint(path)

    def record_best(self, row: Mapping[str, Any]) -> None:
        """Writes `best.json`, once the checkpoint `best` is saved.

        Raises:
            RunFolderError: it could not be written.
        """
        with _as_one_error("the best evaluation", self.path):
            write_whole([self.path / "best.json"], (json.dumps(_plain(row), indent=2, allow_nan=False) + "\n").encode())

    def log(self, row: Mapping[str, Any]) -> None:
        """Adds a line to `metrics.jsonl`.

        Args:
            row: by key, with `update`. Numbers that are not finite are written as null, which JSON has.

        Raises:
            RunFolderError: it could not be written.
        """
        self._append("metrics.jsonl", row)

    def log_evaluation(self, row: Mapping[str, Any]) -> None:
        """Adds a line to `eval.jsonl`; as `log`."""
        self._append("eval.jsonl", row)

    def _append(self, name: str, row: Mapping[str, Any]) -> None:
        line = json.dumps(_plain(row), allow_nan=False) + "\n"
        with _as_one_error("a line", self.path / name), (self.path / name).open("ab") as file:
            file.write(line.encode())

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of `metrics.jsonl`, but for a last one that a killed process has left unfinished.

        Raises:
            RunFolderError: the file cannot be read, or another line of it is not right.
        """
        return [row for _, row in self._lines("metrics.jsonl")]

    def evaluations(self) -> list[dict[str, Any]]:
        """The lines of `eval.jsonl`; as `metrics`."""
        return [row for _, row in self._lines("eval.jsonl")]

    def forget_after(self, update: int) -> None:
        """Drops the lines of updates after this one, which a run that goes on from there will write again.

        To be called before anything is logged in a run that goes on: it also drops an unfinished last line.

        Raises:
            RunFolderError: as `metrics`, or a file could not be written; it is as it was then.
        """
        for name in ("metrics.jsonl", "eval.jsonl"):
            path = self.path / name
            kept = b"".join(text + b"\n" for text, row in self._lines(name) if row.get("update", 0) <= update)
            with _as_one_error("what is left", path):
                if path.exists() and path.read_bytes() != kept:
                    write_whole([path], kept)

    def _lines(self, name: str) -> list[tuple[bytes, dict[str, Any]]]:
        """The lines of a file, each as it stands there and as it reads."""
        path = self.path / name
        try:
            texts = path.read_bytes().split(b"\n") if path.exists() else []
        except OSError as error:
            raise RunFolderError(f"{path} cannot be read: {error.strerror}") from error
        lines = []
        for number, text in enumerate(texts, 1):
            try:
                row = json.loads(text) if text.strip() else None
            except ValueError as error:
                if number == len(texts):
                    continue
                raise RunFolderError(f"{path}, line {number}: not JSON ({error}); mend or remove it") from error
            if isinstance(row, dict):
                lines.append((text, row))
            elif row is not None:
                raise RunFolderError(f"{path}, line {number}: not an object; mend or remove it")
        return lines


def _in_memory_of_their_own(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors as safetensors takes them: on the CPU, contiguous, no two in the same memory."""
    result: dict[str, torch.Tensor] = {}
    memories = set()
    for name, given in tensors.items():
        tensor = given.detach().cpu().contiguous()
        memory = tensor.untyped_storage().data_ptr()
        result[name] = tensor.clone() if memory in memories else tensor
        memories.add(memory)
    return result


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A flat row as JSON can say it: numbers of NumPy and torch as Python's, those that are not finite as None."""
    values = {key: value.item() if hasattr(value, "item") else value for key, value in row.items()}
    return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in values.items()}


# --- Writing -----------------------------------------------------------------------------------------------------

_REMEDIES: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("disk full", "free some space there"),
    errno.EDQUOT: ("quota used up", "free some space there"),
    errno.EFBIG: ("files may not grow that large", "raise that limit (ulimit -f)"),
    errno.EROFS: ("read-only", "make it writable"),
    errno.EACCES: ("not permitted", "make it writable"),
    errno.EPERM: ("not permitted", "make it writable"),
}
"""What an error of the system means to the user, and what helps."""


@contextlib.contextmanager
def _as_one_error(what: str, where: Path, besides: str = "") -> Iterator[None]:
    """Turns errors of the system into one that says what could not be written, and what to do."""
    try:
        yield
    except OSError as error:
        reason, remedy = _REMEDIES.get(error.errno or 0, (error.strerror or str(error), "see to that"))
        raise RunFolderError(
            f"{what} could not be written to {where}: {reason}{'; ' if besides else ''}{besides}. "
            f"Please {remedy}, or choose another folder with --folder"
        ) from error


def write_whole(paths: Sequence[Path], content: bytes, to_disk: bool = True) -> None:
    """Puts the same content under one or more names of one folder: each holds the old content until it has the new."""
    temporaries = [path.with_name(path.name + TEMPORARY) for path in paths]
    try:
        for temporary in temporaries:
            # One that was left over may be a second name of a checkpoint: nothing is ever written into it.
            temporary.unlink(missing_ok=True)
        _write_new(temporaries[0], content, to_disk)
        for temporary in temporaries[1:]:
            try:
                temporary.hardlink_to(temporaries[0])
            except OSError:  # some file systems have no second names
                _write_new(temporary, content, to_disk)
        for temporary, path in zip(temporaries, paths, strict=True):
            temporary.replace(path)
    except BaseException:  # an interrupt leaves nothing behind either
        for temporary in temporaries:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise


def _write_new(path: Path, content: bytes, to_disk: bool) -> None:
    with path.open("xb") as file:
        file.write(content)
        if to_disk:
            file.flush()
            os.fsync(file.fileno())


# --- What a run ran on -------------------------------------------------------------------------------------------


def describe_environment(seed: int, command: str) -> dict[str, Any]:
    """What is to be known of a run besides its configuration, for `env.json`.

    Args:
        seed: of all chance.
        command: that makes the same run.

    Returns:
        Versions (None if it is not installed), `commit` of the source of smear_env (None if it is in no working tree
        of git; it ends in `-dirty` if files were changed since), `seed`, `host`, `platform`, `cores`, `command`.
    """
    return {
        "python": platform.python_version(),
        **{name: installed_version(name) for name in PACKAGES},
        "smear_env": smear_env.__version__,
        "commit": _commit(Path(smear_env.__file__).parent),
        "seed": seed,
        "host": platform.node(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "command": command,
    }


def _commit(folder: Path) -> str | None:
    # A package that is installed may lie in the working tree of something else, which does not hold its files.
    is_ours = _git(folder, "ls-files", "--error-unmatch", "__init__.py")
    return is_ours and _git(folder, "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*")


def _git(folder: Path, *words: str) -> str | None:
    """What git says; None if it fails or there is none."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
