"""Playing chunks of deals on a Ray cluster (extra `ray`).

Each chunk is a task of Ray's: where it is done, and that it is done again if its node is lost, is Ray's affair. The
tasks bring all that they need, checkpoints included, but for the packages and anybody's own players.
"""

import copy
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from smear_agents.registry import rename, split_search
from smear_train.asking import has_own_process
from smear_train.console import error_line, shows_live
from smear_train.kept import checkpoints, versions
from smear_train.match import Plan, Range, Tables, Tally

RETRIES = 3
"""How often a chunk is played again if its node, or the process that plays it, is lost."""

REACH_LIMIT = 10.0
"""Seconds in which the address has to answer. Ray itself would try for minutes, and then end the process."""


def check_address(address: str) -> None:
    """Makes sure that an address is written as it should be.

    Raises:
        ValueError: it is neither "auto" nor HOST:PORT.
    """
    host, colon, port = address.rpartition(":")
    if address != "auto" and not (host and colon and "/" not in address and port.isdecimal()):
        raise ValueError(
            f"--ray {address!r} is not allowed; allowed: auto, for the cluster that this machine is part of, "
            "or its HOST:PORT, as `ray start --head` prints it"
        )


def play_chunks(plan: Plan, ranges: list[Range], address: str) -> Generator[tuple[Range, Tally], None, None]:
    """Plays chunks on a cluster and yields them as they are done, each once. Whoever has seen enough may stop.

    Args:
        plan: what is played.
        ranges: the chunks.
        address: "auto" or HOST:PORT of a cluster that this machine is part of.

    Raises:
        RuntimeError: the cluster cannot be reached, runs other versions, or has lost a chunk too often.
    """
    import ray
    from ray.exceptions import RayError

    with connected(address):
        waiting: dict[Any, Range] = {}
        upcoming = iter(ranges)
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_play_chunk)
        try:
            job = ray.put(_Job.of(plan))
            while True:
                cpus = int(ray.cluster_resources().get("CPU", 0))  # nodes come and go
                # A few chunks ahead and no more, so that stopping early wastes little.
                for deals in islice(upcoming, max(0, 2 * max(cpus, 1) - len(waiting))):
                    waiting[task.remote(job, *deals)] = deals
                if not waiting:
                    return
                done, _ = ray.wait(list(waiting), timeout=10)
                for one in done:
                    # A copy: what Ray gives lies in its store, which is not to fill up.
                    yield waiting.pop(one), copy.deepcopy(ray.get(one))
                if not cpus and not done:
                    sys.stderr.write("smear: no node of the cluster has a CPU; waiting for one\n")
        except RayError as error:
            raise RuntimeError(_explain(error)) from error
        finally:
            for one in waiting:
                ray.cancel(one, force=True)


@contextmanager
def connected(address: str) -> Iterator[None]:
    """A connection to a cluster for some time; if there is one already, that one, and it stays.

    Raises:
        RuntimeError: the cluster cannot be reached.
    """
    import ray

    if ray.is_initialized():
        yield
        return
    host, _, port = address.rpartition(":")
    if not shows_live(sys.stderr):
        os.environ.setdefault("RAY_COLOR_PREFIX", "0")  # or its messages have control codes in a log, too
    try:
        if host:
            socket.create_connection((host.strip("[]"), int(port)), REACH_LIMIT).close()
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError) as error:  # ConnectionError too, which Ray raises
        raise RuntimeError(
            f"no Ray cluster answers at {address} ({error}); on the first machine run `ray start --head`, on the "
            "others, this one among them, `ray start --address HOST:PORT`"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _explain(error: Exception) -> str:
    """What became of a chunk, in words."""
    from ray.exceptions import NodeDiedError, ObjectLostError, OutOfMemoryError, RayTaskError, WorkerCrashedError

    if isinstance(error, RayTaskError):
        cause = error.cause if isinstance(error.cause, Exception) else error
        text = f"a node of the cluster cannot play: {error_line(cause)}"
        if "No module named" in text:
            text += (
                ". Every node needs this version of smear-env, and what the players need, in the Python that Ray runs "
                f"in: pip install 'smear-env[ray]=={versions()['smear-env']}'"
            )
        return text
    if not isinstance(error, (NodeDiedError, ObjectLostError, OutOfMemoryError, WorkerCrashedError)):
        return f"Ray failed: {error_line(error)}"
    return (
        f"a chunk of deals was lost {RETRIES + 1} times with the node or process that played it: {error}. "
        "With --keep FOLDER the chunks that are done need not be played again"
    )


# --- On the nodes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    """What the tasks of a run need: the plan, the content of its checkpoints by their paths, and versions."""

    plan: Plan
    files: dict[str, bytes]
    versions: dict[str, str]

    @classmethod
    def of(cls, plan: Plan) -> "_Job":
        files = {path: file for player in plan.players for path, file in checkpoints(player).items()}
        return cls(plan, {path: file.read_bytes() for path, file in files.items()}, versions())


class _Seated:
    """The players of a job in a process of a node; those of checkpoints are read from files of its own."""

    def __init__(self, job: _Job) -> None:
        self.job = job
        self._folder = tempfile.TemporaryDirectory(prefix="smear-env-")
        paths = {}
        for number, (path, content) in enumerate(job.files.items()):
            file = Path(self._folder.name) / f"{number}.safetensors"
            file.write_bytes(content)
            paths[path] = str(file)
        players = tuple(_moved(player, paths) for player in job.plan.players)
        self.tables = Tables(replace(job.plan, players=players))
        if not paths or not any(has_own_process(player, job.plan.time_limit) for player in job.plan.players):
            # They have been read. Only a player with a process of its own is perhaps made again, and reads them again.
            # Ray ends its processes without a farewell, so what is not removed now may stay.
            self._folder.cleanup()

    def close(self) -> None:
        self.tables.close()
        self._folder.cleanup()


def _moved(player: str, paths: dict[str, str]) -> str:
    """The name of a player with the paths of its checkpoints replaced by others."""

    def moved(one: str) -> str:
        path, search = split_search(one)
        return paths.get(path, path) + search

    return rename(player, moved) if paths else player


_seated: _Seated | None = None


def _play_chunk(job: _Job, begin: int, end: int) -> Tally:
    """What a task does, in a process that has perhaps done others of the same job, or of another, before."""
    global _seated
    for name, needed in job.versions.items():
        if versions()[name] != needed:
            raise RuntimeError(
                f"{socket.gethostname()} has {name} {versions()[name]}, but {needed} is needed, as where the run began"
            )
    if _seated is None or _seated.job != job:
        if _seated is not None:
            _seated.close()
        _seated = _Seated(job)
    return _seated.tables.play(begin, end)
