"""The verbs `train` and `export` of the command line."""

import argparse
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from smear_train.console import (
    CHECK_SAID_NO,
    FAILED,
    INTERRUPTED,
    OK,
    Parser,
    UsageError,
    format_table,
    games_won,
    points,
    print_result,
)

PARENT = "SMEAR_PARENT"
"""The variable that tells a process of several by which one it was started."""


def add_verbs(verb: Callable[[str, Callable[[argparse.Namespace], int], str], Parser]) -> None:
    """Adds the verbs to the command line."""
    sub = verb("export", _export, "write a trained policy to a file of its own: a player, nothing to go on from")
    sub.add_argument("source", metavar="RUN", help="the folder of a run (its best checkpoint), or a checkpoint")
    sub.add_argument("file", metavar="FILE", help="NAME.safetensors")
    sub.add_argument("--half", action="store_true", help="16 bits a weight in place of 32, for half the size")
    sub = verb("train", _train, "train a policy by self-play")
    sub.add_argument("config", nargs="?", metavar="CONFIG", help="a configuration, as in configs/train")
    sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key; may be repeated")
    sub.add_argument(
        "--folder", metavar="FOLDER", help="the run's folder (default: runs/NAME-1, NAME-2, ... of CONFIG)"
    )
    sub.add_argument("--resume", metavar="FOLDER", help="go on with a run that was stopped")
    sub.add_argument(
        "--load",
        metavar="WHICH",
        help="PATH: weights to begin with; with --resume: last, best or step:N (default last)",
    )
    sub.add_argument(
        "--best-response-to", default="", metavar="AGENT", help="learn to beat this player, which stays as it is"
    )
    sub.add_argument("--seed", type=int, help="of all chance; the same as --set seed=N")
    sub.add_argument("--max-minutes", type=float, metavar="M", help="stop after so long, to be resumed")
    sub.add_argument("--device", default="auto", metavar="D", help="auto, cpu or cuda (default auto)")
    sub.add_argument("--threads", type=int, default=1, metavar="T", help="threads of each process (default 1)")
    sub.add_argument("--processes", type=int, metavar="P", help="learn by so many processes on this machine")
    sub.add_argument("--tensorboard", action="store_true", help="also write the folder tensorboard/ of the run")


def _train(arguments: argparse.Namespace) -> int:
    _check(arguments)
    if (arguments.processes or 1) > 1 and "WORLD_SIZE" not in os.environ:
        return _in_processes(arguments)

    import torch

    from smear_agents.neural import CheckpointError
    from smear_train.learning.distributed import World
    from smear_train.learning.run_folder import RunFolderError

    torch.set_num_threads(arguments.threads)
    # Until the training begins, SIGTERM ends the program as Ctrl-C does.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    world = None
    try:
        try:
            world = World(arguments.device)
        except ValueError as error:
            raise UsageError(str(error)) from error
        code = _run(arguments, world)
        world.wait()  # one that leaves while another still talks to it may bring that down
        return code
    except CheckpointError as error:
        sys.stderr.write(f"smear train: {error}\n")
        return CHECK_SAID_NO
    except RunFolderError as error:
        sys.stderr.write(f"smear train: {error}\n")
        return FAILED
    finally:
        signal.signal(signal.SIGTERM, before)
        if world is not None:
            world.close()


def _export(arguments: argparse.Namespace) -> int:
    from smear_agents.neural import CheckpointError
    from smear_train.learning.export import export_player

    try:
        data = export_player(arguments.source, arguments.file, arguments.half)
    except CheckpointError as error:
        sys.stderr.write(f"smear export: {error}\n")
        return CHECK_SAID_NO
    except ValueError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        sys.stderr.write(f"smear export: {arguments.file} cannot be written: {error.strerror or error}\n")
        return FAILED
    size = Path(arguments.file).stat().st_size
    document = {"kind": "player", "file": arguments.file, "bytes": size, **data}
    text = f"{arguments.file}: {data['game']}, update {data['update']}, {data['decisions']:,} decisions, {size:,} bytes"
    return print_result(arguments, document, text)


def _check(arguments: argparse.Namespace) -> None:
    if (arguments.config is None) == (arguments.resume is None):
        raise UsageError("give either a configuration, as in `smear train CONFIG`, or --resume FOLDER")
    if arguments.resume:
        given = {"--set": arguments.set, "--folder": arguments.folder, "--best-response-to": arguments.best_response_to}
        given["--seed"] = arguments.seed
        for name, value in given.items():
            if value not in (None, [], ""):
                raise UsageError(
                    f"{name} cannot change a run that is resumed; start a new one, with --load PATH for its weights"
                )
    for name, least in (("threads", 1), ("processes", 1), ("max_minutes", 0)):
        value = getattr(arguments, name)
        if value is not None and (value < least or value == 0):
            raise UsageError(f"--{name.replace('_', '-')} {value} is not allowed; allowed: more than 0")


def _in_processes(arguments: argparse.Namespace) -> int:
    """Runs this command by so many processes on this machine, as torchrun would, and waits for them.

    The first that fails ends the others. Signals are handed on, and exit codes are those of a single process.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = {"WORLD_SIZE": str(arguments.processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    world |= {PARENT: str(os.getpid())}
    world |= {"OMP_NUM_THREADS": str(arguments.threads)} if "OMP_NUM_THREADS" not in os.environ else {}
    children: list[subprocess.Popen[bytes]] = []
    # What goes wrong in all of them is said once, by the first.
    with tempfile.TemporaryFile() as said, _stopped_by_signals(children) as stopped:
        for rank in range(arguments.processes):
            children.append(
                subprocess.Popen(
                    [sys.executable, "-m", "smear_train", *sys.argv[1:]],
                    env=os.environ | world | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                    stderr=said if rank else None,
                    start_new_session=True,  # Ctrl-C reaches this process alone
                )
            )
        failed = None
        while any(child.poll() is None for child in children):
            failed = next((child for child in children if child.poll() not in (None, OK, INTERRUPTED)), None)
            if failed is not None:
                break
            time.sleep(0.05)
        for child in children:
            if failed is not None:
                child.kill()
            child.wait()
        failed = failed or next((child for child in children if child.returncode), None)
        if stopped:
            return INTERRUPTED
        if failed is None:
            return OK
        if failed is not children[0]:
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace"))
        return failed.returncode if failed.returncode > 0 else FAILED


def _run(arguments: argparse.Namespace, world: Any) -> int:
    from smear_train.learning.progress import TrainingProgress
    from smear_train.learning.trainer import Watch, run

    trainer, folder = _resume(arguments, world) if arguments.resume else _begin(arguments, world)
    progress = TrainingProgress(trainer.config.total_updates, arguments.quiet or not world.is_first)
    mirror = None
    if arguments.tensorboard and folder is not None:
        from smear_train.learning.mirror import TensorBoardMirror

        mirror = TensorBoardMirror(folder.path, trainer.decisions)
    deadline = time.monotonic() + 60 * arguments.max_minutes if arguments.max_minutes else None

    def update(row: dict[str, Any]) -> None:
        progress.update(row)
        if mirror is not None:
            mirror.write(row)

    def evaluation(row: dict[str, Any]) -> None:
        progress.evaluation(row)
        if mirror is not None:
            mirror.write(row)

    with _stopped_by_signals() as stopped:
        watch = Watch(
            update=update,
            evaluation=evaluation,
            alarm=progress.alarm if world.is_first else lambda text: None,
            stop=lambda: bool(stopped) or _is_orphan() or (deadline is not None and time.monotonic() > deadline),
        )
        try:
            is_done = run(trainer, folder, watch)
        finally:
            progress.close()
            if mirror is not None:
                mirror.close()
    if folder is not None:
        _report(arguments, trainer, folder, is_done)
    return INTERRUPTED if stopped else OK


def _is_orphan() -> bool:
    """Whether the process that has started this one and others has been killed."""
    return PARENT in os.environ and os.environ[PARENT] != str(os.getppid())


@contextmanager
def _stopped_by_signals(children: Sequence[subprocess.Popen[bytes]] | None = None) -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM end the training after the update under way, a second one at once. Yields what has come.

    With children they are only handed on to them.
    """
    stopped: list[int] = []

    def note(number: int, frame: object) -> None:
        for child in children or ():
            child.send_signal(number)
        if stopped and children is None:
            raise KeyboardInterrupt
        stopped.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _begin(arguments: argparse.Namespace, world: Any) -> tuple[Any, Any]:
    """A new run."""
    from smear_train.learning.config import as_toml, load_config
    from smear_train.learning.run_folder import RunFolder, check, describe_environment, read_checkpoint
    from smear_train.learning.trainer import Trainer

    changes = [*arguments.set, *([f"seed={arguments.seed}"] if arguments.seed is not None else [])]
    try:
        config = load_config(arguments.config, tuple(changes))
        trainer = Trainer(config, world, arguments.best_response_to)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if arguments.load:
        checkpoint = read_checkpoint(arguments.load)
        data = trainer.data()
        check(checkpoint, game=data["game"], rules=data["rules"])
        trainer.load_weights(checkpoint)
    if not world.is_first:
        return trainer, None
    path = Path(arguments.folder) if arguments.folder else _new_folder(Path(arguments.config).stem)
    command = shlex.join(["smear", *sys.argv[1:]])
    folder = RunFolder.create(path, as_toml(config), describe_environment(config.seed, command))
    folder.save(trainer.update, trainer.tensors(), trainer.data())  # from now on it can be resumed
    return trainer, folder


def _new_folder(name: str) -> Path:
    number = 1
    while (path := Path("runs") / f"{name}-{number}").exists():
        number += 1
    return path


def _resume(arguments: argparse.Namespace, world: Any) -> tuple[Any, Any]:
    """A run to go on with."""
    from smear_train.learning.config import load_config
    from smear_train.learning.run_folder import RunFolder, check
    from smear_train.learning.trainer import Trainer

    folder = RunFolder.open(arguments.resume) if world.is_first else RunFolder(arguments.resume)
    try:
        checkpoint = folder.load(arguments.load or "last")
        config = load_config(folder.path / "config.toml")
        trainer = Trainer(config, world, checkpoint.data.get("best_response_to", ""))
    except ValueError as error:
        raise UsageError(str(error)) from error
    data = trainer.data()
    check(checkpoint, game=data["game"], rules=data["rules"])
    trainer.restore(checkpoint)
    world.wait()
    if world.is_first:
        folder.forget_after(trainer.update)
    return trainer, folder if world.is_first else None


def _report(arguments: argparse.Namespace, trainer: Any, folder: Any, is_done: bool) -> None:
    """What came of it, and the commands that go on from here."""
    config = trainer.config
    latest = {row["opponent"]: row for row in folder.evaluations()}
    best = folder.checkpoint("best" if latest else "last")
    resume = None if is_done else shlex.join(["smear", "train", "--resume", str(folder.path)])
    options = [word for name, value in config.rules.items() for word in ("--rule", f"{name}={value}")]
    against = trainer.best_response_to or config.evaluation.against[0]
    evaluate = ["smear", "eval", str(best), against, "--game", config.game, *options, "--deals", "10000"]
    evaluate += ["--form", "one-vs-two"] if trainer.rules.teams == 3 else []
    evaluate += ["--episode", "game"] if config.episode == "game" else []
    document = {
        "kind": "training",
        "run": str(folder.path),
        "game": config.game,
        "seed": config.seed,
        "update": trainer.update,
        "updates": config.total_updates,
        "decisions": trainer.decisions,
        "ms_total": round(1000 * trainer.seconds),
        "evaluations": list(latest.values()),
        "best_response_to": trainer.best_response_to or None,
        "resume": resume,
        "command": shlex.join(evaluate),
    }
    lines = [f"{folder.path}: {trainer.update} of {config.total_updates} updates, {trainer.decisions:,} decisions"]
    if latest:
        shown = [("points/deal", points)] + ([("games won", games_won)] if config.episode == "game" else [])
        rows = [("against", *(head for head, _ in shown), f"{config.episode}s")]
        for opponent, row in latest.items():
            rows.append((opponent, *(text(row) for _, text in shown), f"{row['deals']:,}"))
        lines.append(format_table(rows))
    if trainer.best_response_to and latest:
        lines.append(
            f"By so much at least can {trainer.best_response_to} be exploited by one team; it gains 0 against itself."
        )
    lines += [f"Go on: {resume}"] if resume else []
    lines.append(f"Judge: {document['command']}")
    print_result(arguments, document, "\n".join(lines))
