"""The folder of a training run: checkpoints come back bit-equal, and nothing that goes wrong costs the one before."""

import errno
import json
import math
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from smear_env import PRESETS, make_rules
from smear_train.learning import run_folder
from smear_train.learning.run_folder import (
    DATA,
    SCHEMA,
    CheckpointError,
    RunFolder,
    RunFolderError,
    check,
    describe_environment,
    read_checkpoint,
)

pytestmark = pytest.mark.jit

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
]  # fmt: skip
GAME = {"game": "schmier", "rules": json.loads(json.dumps(asdict(PRESETS["schmier"])))}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "runs" / "a", "seed = 1\n", {"seed": 1})


def one(value: float = 0) -> dict[str, Any]:
    return {"policy.weight": torch.full((100,), value)}


def files(run: RunFolder) -> list[str]:
    return sorted(path.relative_to(run.path).as_posix() for path in run.path.rglob("*") if path.is_file())


def child(script: str, *words: str) -> str:
    """What a process of its own prints that has the names of this file's imports."""
    head = "import os, random, resource, signal, sys, time\nimport torch\ntorch.set_num_threads(1)\n"
    head += "from smear_train.learning.run_folder import RunFolder, RunFolderError\n"
    done = subprocess.run(
        [sys.executable, "-c", head + script, *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- Checkpoints -------------------------------------------------------------------------------------------------


def test_tensors_and_data_come_back_bit_equal(run: RunFolder) -> None:
    tensors = {f"pool.{dtype}": torch.arange(6).reshape(2, 3).to(dtype) for dtype in DTYPES}
    shared = torch.randn(3, 4, dtype=torch.float64)
    tensors |= {"a": shared, "b": shared, "row": shared[1], "turned": shared.T, "scalar": torch.tensor(math.pi)}
    tensors |= {"none": torch.zeros(0, 5), "learned": torch.nn.Parameter(torch.tensor([math.nan, -0.0, 1e-45]))}
    generator = np.random.default_rng(3).bit_generator.state
    data = GAME | {"generator": generator, "rate": 0.1 + 0.2, "best": -math.inf, "name": "Ünïcode"}
    run.save(7, tensors, data)
    found = run.load()
    assert (found.update, found.game, found.data["schema"]) == (7, "schmier", SCHEMA)
    assert {key: found.data[key] for key in data} == data
    assert found.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        back, given = found.tensors[name], tensor.detach().contiguous()
        assert (back.dtype, back.shape) == (given.dtype, given.shape), name
        assert back.reshape(-1).view(torch.uint8).tolist() == given.reshape(-1).view(torch.uint8).tolist(), name


def test_the_same_state_makes_the_same_file(run: RunFolder) -> None:
    contents = set()
    for _ in range(2):
        run.save(1, {"x": torch.ones(3), "a": torch.zeros(2, dtype=torch.int64)}, GAME)
        contents.add(run.checkpoint("last").read_bytes())
    assert len(contents) == 1


def test_each_name_keeps_its_own_checkpoint(run: RunFolder) -> None:
    run.save(120, one(1), GAME, names=("last", "best", "step"))
    before = run.load("best")
    run.save(121, one(2), GAME)
    assert [run.load(which).update for which in ("last", "best", "step:120")] == [121, 120, 120]
    assert before.tensors["policy.weight"].tolist() == [1] * 100
    assert files(run)[:3] == ["ckpt/best.safetensors", "ckpt/last.safetensors", "ckpt/step-000120.safetensors"]
    with pytest.raises(CheckpointError, match=r"no checkpoint step:3; there: best, last, step-000120"):
        run.load("step:3")
    with pytest.raises(ValueError, match="allowed: last, best, step:N"):
        run.load("newest")


def test_names_where_a_file_system_has_no_second_names(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    run.save(1, one(), GAME, names=("last", "best"))
    assert run.load("last").update == run.load("best").update == 1


def test_truncated_checkpoints_are_refused(run: RunFolder) -> None:
    run.save(1, one(), GAME)
    whole = run.checkpoint("last").read_bytes()
    lengths = {*range(40), *range(40, len(whole), 97), *range(len(whole) - 20, len(whole))}
    for length in lengths:
        run.checkpoint("last").write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"last\.safetensors is damaged"):
            run.load()


def saved_as(data: Any, metadata: str = DATA) -> bytes:
    return safetensors.torch.save(one(), {metadata: data if isinstance(data, str) else json.dumps(data)})


def test_what_is_no_checkpoint_of_ours_is_refused(run: RunFolder, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    run.save(1, one(), GAME)
    data = run.load().data
    for content, message in (
        (saved_as(data, "other"), "no checkpoint that `smear train` has written"),
        (saved_as("{"), "not JSON"),
        (saved_as("[" * 100_000), "not JSON"),
        (saved_as([]), "no table"),
        (saved_as(data | {"schema": 99}), f"has schema 99; needed: {SCHEMA}"),
        (saved_as(data | {"environment": "0.0.1"}), r"of smear-env 0\.0\.1; needed: "),
        (saved_as({key: data[key] for key in data if key != "game"}), "lacks `game`"),
        (b"hello " * 100, "damaged, or no safetensors file"),
    ):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=message):
            read_checkpoint(path)
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(CheckpointError, match="cannot be read"):
            read_checkpoint(place)


class Bomb:
    """Leaves a trace if it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("zipped", [True, False])
def test_pickles_are_never_opened(tmp_path: Path, zipped: bool) -> None:
    path, trace = tmp_path / "last.safetensors", tmp_path / "trace"
    torch.save({"policy": Bomb(trace)}, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(CheckpointError, match="is a pickle"):
        read_checkpoint(path)
    assert not trace.exists()


def test_a_checkpoint_is_for_one_game_and_its_rules(run: RunFolder) -> None:
    run.save(1, one(), GAME)
    found = run.load()
    check(found, game="schmier", rules=asdict(PRESETS["schmier"]))
    with pytest.raises(CheckpointError, match="is for schmier; needed: one for four_point"):
        check(found, game="four_point", rules=asdict(PRESETS["four_point"]))
    with pytest.raises(CheckpointError, match=r"other rules: target = \d+ \(needed: 11\)$"):
        check(found, game="schmier", rules=asdict(make_rules("schmier", target=11)))
    run.save(1, one(), {"game": "schmier"})
    with pytest.raises(CheckpointError, match="does not say for which rules"):
        check(run.load(), game="schmier", rules=GAME["rules"])
    with pytest.raises(ValueError, match="`game`"):
        run.save(1, one(), {})


# --- What goes wrong ---------------------------------------------------------------------------------------------


def test_a_write_that_fails_leaves_the_checkpoints_before_it(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    run.save(1, one(1), GAME, names=("last", "best"))
    there = files(run)

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_folder.os, "fsync", fail)
    with pytest.raises(
        RunFolderError, match=r"disk full; the checkpoints before it are whole\. Please free some space"
    ):
        run.save(2, one(2), GAME, names=("last", "best"))
    with pytest.raises(RunFolderError, match="disk full"):
        run.record_best({"update": 2})
    monkeypatch.undo()
    assert files(run) == there
    assert run.load().update == run.load("best").update == 1


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
def test_a_disk_that_is_full_in_the_middle_of_a_write(run: RunFolder) -> None:
    """A limit on the size of files fails in the middle of a write, as a full disk does, and needs no disk."""
    run.save(1, one(), GAME)
    there = files(run)
    said = child(
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: RunFolder.open(sys.argv[1]).save(2, {'x': torch.zeros(100_000)}, {'game': 'schmier'})\n"
        "except RunFolderError as error: print(error)",
        str(run.path),
    )
    assert "could not be written" in said and "raise that limit" in said
    assert files(run) == there and run.load().update == 1


def test_places_that_cannot_be_written(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match=r"file[/\\]b: Not a directory\. .* another folder with --folder"):
        RunFolder.create(tmp_path / "file" / "b", "", {})
    run._checkpoints.rmdir()
    run._checkpoints.touch()
    (run.path / "metrics.jsonl").mkdir()
    for write in (lambda: run.save(1, one(), GAME), lambda: run.log({"update": 1}), lambda: RunFolder.open(run.path)):
        with pytest.raises(RunFolderError, match="could not be written"):
            write()
    with pytest.raises(RunFolderError, match="cannot be read"):
        run.metrics()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_is_read_only(run: RunFolder) -> None:
    run.save(1, one(), GAME)
    run._checkpoints.chmod(0o500)
    try:
        with pytest.raises(RunFolderError, match=r"not permitted; .* make it writable"):
            run.save(2, one(), GAME)
        assert run.load().update == 1
    finally:
        run._checkpoints.chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that were forked")
def test_a_kill_at_any_moment_leaves_whole_checkpoints(run: RunFolder) -> None:
    """30 processes that save without end are killed; what each left is read by one who knows what must be in it."""
    run.save(1, {}, GAME)
    said = child(
        """
run, chance = RunFolder(sys.argv[1]), random.Random(5)

def save(update):
    tensors = {f"policy.{i}": torch.full((100_000,), update) for i in range(3)}
    run.save(update, tensors, {"game": "schmier", "again": update}, names=("last", "best"))

update = left_over = 0
save(update)
for _ in range(30):
    ready, tell = os.pipe()
    pid = os.fork()
    if not pid:
        save(update := update + 1)
        os.write(tell, b"!")
        while True:
            save(update := update + 1)
    os.read(ready, 1)
    time.sleep(chance.uniform(0, 0.01))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    left_over += len(list(run.path.glob("ckpt/*.tmp")))
    for which in "last", "best":
        found = run.load(which)
        values = {value for tensor in found.tensors.values() for value in tensor.tolist()}
        assert values == {found.update} == {found.data["again"]}, (which, found.update)
        assert found.update > update
    update = run.load().update
    if chance.random() < 0.5:
        RunFolder.open(run.path)
        assert not list(run.path.glob("ckpt/*.tmp"))
print(left_over)
""",
        str(run.path),
    )
    assert int(said) > 0, "no kill fell into a write"


def test_what_a_killed_process_was_writing_is_removed(run: RunFolder) -> None:
    """A kill between two names leaves a temporary file that is the new checkpoint: it must not be written into."""
    run.save(1, one(1), GAME, names=("best",))
    left_over = run.checkpoint("last").with_name("last.safetensors.tmp")
    left_over.hardlink_to(run.checkpoint("best"))
    run.save(2, one(2), GAME)
    assert (run.load().update, run.load("best").update) == (2, 1)
    left_over.touch()
    RunFolder.open(run.path)
    assert not left_over.exists() and run.load().update == 2


# --- Lines -------------------------------------------------------------------------------------------------------


def test_a_folder_holds_one_run(run: RunFolder, tmp_path: Path) -> None:
    assert files(run) == ["config.toml", "env.json"]
    assert (run.path / "config.toml").read_text() == "seed = 1\n"
    assert json.loads((run.path / "env.json").read_text()) == {"seed": 1}
    with pytest.raises(RunFolderError, match=r"holds a run already: .* --folder, .* --resume"):
        RunFolder.create(run.path, "", {})
    with pytest.raises(RunFolderError, match=r"no training run, for it has no config\.toml"):
        RunFolder.open(tmp_path / "b")
    with pytest.raises(CheckpointError, match="no checkpoint last; there: none yet"):
        run.load()


def test_lines_are_strict_json_and_there_at_once(run: RunFolder) -> None:
    assert run.metrics() == run.evaluations() == []
    run.log({"update": 1, "kl": np.float32(0.5), "loss": math.nan, "entropy": torch.tensor(2.0), "deals": np.int64(3)})
    run.log_evaluation({"update": 1, "opponent": "club", "mean": -math.inf})
    run.record_best({"update": 1, "mean": 0.3})
    assert run.metrics() == [{"update": 1, "kl": 0.5, "loss": None, "entropy": 2.0, "deals": 3}]
    assert run.evaluations() == [{"update": 1, "opponent": "club", "mean": None}]
    assert json.loads((run.path / "best.json").read_text()) == {"update": 1, "mean": 0.3}


def test_going_on_forgets_what_came_after(run: RunFolder) -> None:
    for update in range(1, 6):
        run.log({"update": update})
    run.log_evaluation({"update": 4})
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"update": 6, "los')
    assert len(run.metrics()) == 5
    run.forget_after(5)
    run.log({"update": 6})
    assert [row["update"] for row in run.metrics()] == [1, 2, 3, 4, 5, 6]
    run.forget_after(3)
    assert [row["update"] for row in run.metrics()] == [1, 2, 3] and run.evaluations() == []
    assert (run.path / "metrics.jsonl").read_bytes() == b'{"update": 1}\n{"update": 2}\n{"update": 3}\n'


@pytest.mark.parametrize("line", ["{", "[]", "3"])
def test_a_line_in_the_middle_that_is_not_right_is_named(run: RunFolder, line: str) -> None:
    (run.path / "metrics.jsonl").write_text(f'{{"update": 1}}\n{line}\n{{"update": 3}}\n')
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl, line 2: not "):
        run.forget_after(1)


def test_environment_of_a_run(tmp_path: Path) -> None:
    found = describe_environment(7, "smear train x.toml --seed 7")
    assert {"python", "numpy", "numba", "torch", "smear_env", "commit", "host", "platform", "cores"} <= found.keys()
    assert (found["seed"], found["command"]) == (7, "smear train x.toml --seed 7")
    assert json.loads(json.dumps(found)) == found


def test_commit_of_a_working_tree(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    source = tmp_path / "__init__.py"
    source.touch()
    assert run_folder._commit(tmp_path) is None
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "a")
    assert run_folder._commit(tmp_path) is None, "the working tree is of something else"
    git("add", ".")
    git("commit", "-q", "-m", "b")
    assert run_folder._commit(tmp_path) == git("rev-parse", "HEAD")
    source.write_text("x = 1\n")
    assert run_folder._commit(tmp_path) == git("rev-parse", "HEAD") + "-dirty"
