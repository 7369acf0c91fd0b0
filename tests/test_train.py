"""`smear train`: what it says, the files of a run, and that a run goes on from wherever it was stopped."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch

from smear_agents import make_agent
from smear_env import PRESETS
from smear_train.cli import main
from smear_train.learning import trainer as trainer_module
from smear_train.learning.config import as_toml, load_config
from smear_train.learning.export import config_digest, export_player
from smear_train.learning.run_folder import Checkpoint, RunFolder, read_checkpoint
from smear_train.learning.trainer import Trainer

pytestmark = pytest.mark.jit

TINY = """
game = "schmier"
updates = 2
deals = 8
[network]
hidden = [16]
critic_hidden = [16]
[clone]
updates = 1
minibatches = 2
[ppo]
epochs = 1
minibatches = 2
[dmc]
minibatches = 2
[opponents]
every = 1
past = 2
agents = ["greedy", "random"]
share = 0.5
[evaluation]
every = 2
against = ["random", "greedy"]
deals = 5
"""
SOON = ("--max-minutes", "0.00001")
"""After one update."""


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return str(path)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "run")


def train(*words: str, code: int = 0) -> None:
    assert main(["train", *words, "--quiet"]) == code


def failure(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    """What a command that ends with this code says on stderr, nothing being on stdout."""
    assert main(["train", *words, "--quiet"]) == code
    captured = capsys.readouterr()
    assert captured.out == "" and "Traceback" not in captured.err
    return captured.err


def rows(folder: str | Path, name: str = "metrics") -> list[dict[str, Any]]:
    """The lines of a file of a run, without the times."""
    lines = [json.loads(line) for line in (Path(folder) / f"{name}.jsonl").read_text().splitlines()]
    times = ("minutes", "decisions_per_s", "time_acting", "time_learning")
    return [{key: value for key, value in line.items() if key not in times} for line in lines]


def state(path: Path) -> tuple[Any, Any]:
    """All that a checkpoint holds, but for the time it took."""
    checkpoint = read_checkpoint(path)
    tensors = {name: (str(t.dtype), t.shape, t.numpy().tobytes()) for name, t in checkpoint.tensors.items()}
    return tensors, {key: value for key, value in checkpoint.data.items() if key != "seconds"}


def assert_same_run(one: str | Path, other: str | Path) -> None:
    for name in ("last", "best"):
        ours, theirs = (state(RunFolder(folder).checkpoint(name)) for folder in (one, other))
        assert ours[0].keys() == theirs[0].keys() and ours[1] == theirs[1]
        assert all(ours[0][key] == theirs[0][key] for key in ours[0]), name
    for name in ("metrics", "eval"):
        assert rows(one, name) == rows(other, name)


# --- Wrong usage -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("ppo.epoch=3", "unknown key ppo.epoch; did you mean epochs?"),
        ("algoritm=dmc", "unknown key algoritm; did you mean algorithm?"),
        ("ppo.epochs=many", "ppo.epochs"),
        ("ppo.epochs=0", "ppo.epochs"),
        ("deals=1", "deals"),
        ("network.hidden=[]", "network.hidden"),
        ("network.critic=none", "network.critic"),
        ("game=schmeer", "schmeer"),
        ("rules.targets=11", "target"),
        ("deals", "is not KEY=VALUE"),
        ("ppo.epochs.x=1", "epochs is not a table"),
        ("seed=-1", "seed"),
        ("view.scores=true", 'needs reward="equity"'),
        ('opponents.agents=["clubb"]', "did you mean club"),
        ('evaluation.against=["clubb"]', "did you mean club"),
    ],
)
def test_a_wrong_configuration_names_the_key(
    capsys: pytest.CaptureFixture[str], config: str, folder: str, change: str, message: str
) -> None:
    assert message in failure(capsys, 2, config, "--folder", folder, "--set", change)
    assert not Path(folder).exists()


def test_wrong_words_are_named(capsys: pytest.CaptureFixture[str], config: str, folder: str, tmp_path: Path) -> None:
    for words, message in (
        ((), "either a configuration"),
        ((config, "--resume", folder), "either a configuration"),
        ((config, "--device", "tpu"), "'tpu' is not allowed; allowed: auto, cpu, cuda"),
        ((config, "--threads", "0"), "--threads 0 is not allowed"),
        ((config, "--processes", "0"), "--processes 0 is not allowed"),
        ((config, "--max-minutes", "0"), "--max-minutes 0.0 is not allowed"),
        ((config, "--seed", "-1"), "seed"),
        ((config, "--best-response-to", "clubb"), "did you mean club"),
        (("--resume", folder, "--set", "deals=3"), "--set cannot change a run that is resumed"),
        (("--resume", folder, "--seed", "3"), "--seed cannot change a run that is resumed"),
        ((str(tmp_path / "none.toml"),), "none.toml cannot be read: No such file"),
        ((str(tmp_path),), "cannot be read"),
    ):
        assert message in failure(capsys, 2, *words), words
    (tmp_path / "bad.toml").write_text("game = ")
    assert "is not TOML" in failure(capsys, 2, str(tmp_path / "bad.toml"))
    assert main(["train", config, "--devise", "cpu"]) == 2
    assert not list(Path("runs").glob("tiny*"))


def test_a_cuda_device_that_is_not_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, config: str, folder: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "use --device cpu" in failure(capsys, 2, config, "--folder", folder, "--device", "cuda")
    assert not Path(folder).exists()


# --- The folder of a run -----------------------------------------------------------------------------------------


def test_a_run_from_its_beginning_to_its_judgement(
    capsys: pytest.CaptureFixture[str], config: str, folder: str, tmp_path: Path
) -> None:
    changes = ("--set", "keep=1", "--set", "deals=9", "--seed", "5")
    assert main(["train", config, "--folder", folder, *changes, "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (document["kind"], document["run"], document["seed"]) == ("training", folder, 5)
    assert (document["update"], document["updates"], document["resume"]) == (2, 2, None)
    assert [row["opponent"] for row in document["evaluations"]] == ["random", "greedy"]
    assert "\x1b" not in captured.err
    shares = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    assert all(row["time_acting"] + row["time_learning"] == pytest.approx(1) for row in shares)

    # The files.
    there = sorted(path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file())
    assert there == [
        "best.json", "ckpt/best.safetensors", "ckpt/last.safetensors", "ckpt/step-000001.safetensors",
        "ckpt/step-000002.safetensors", "config.toml", "env.json", "eval.jsonl", "metrics.jsonl",
    ]  # fmt: skip
    resolved = load_config(Path(folder) / "config.toml")
    assert (resolved.deals, resolved.seed, resolved.keep, resolved.opponents.every) == (9, 5, 1, 1)
    assert as_toml(resolved) == (Path(folder) / "config.toml").read_text()
    env = json.loads((Path(folder) / "env.json").read_text())
    assert env["seed"] == 5 and {"torch", "numpy", "commit", "command", "host"} <= env.keys()
    metrics, evaluations = rows(folder), rows(folder, "eval")
    assert [row["update"] for row in metrics] == [1, 2]
    assert document["decisions"] == metrics[-1]["decisions"] > metrics[0]["decisions"]
    wanted = {"policy_loss", "value_loss", "kl", "entropy_bid", "entropy_play", "all_pass", "bid_made", "mean_bid"}
    assert wanted <= metrics[0].keys() and all(row["illegal"] == 0 for row in metrics)
    assert [(row["update"], row["opponent"], row["deals"]) for row in evaluations] == [
        (2, "random", 5),
        (2, "greedy", 5),
    ]
    best = json.loads((Path(folder) / "best.json").read_text())
    assert {key: best[key] for key in evaluations[0]} == evaluations[0]
    assert evaluations[0]["ci_low"] <= evaluations[0]["mean"] <= evaluations[0]["ci_high"]
    assert state(Path(folder) / "ckpt/step-000002.safetensors") == state(Path(folder) / "ckpt/last.safetensors")

    # The same again, and another seed.
    train(config, "--folder", str(tmp_path / "again"), *changes)
    assert_same_run(folder, tmp_path / "again")
    train(config, "--folder", str(tmp_path / "other"), "--seed", "6", *SOON)
    assert rows(tmp_path / "other")[0] != metrics[0]
    assert "holds a run already" in failure(capsys_cleared(capsys), 1, config, "--folder", folder)

    # What a run is good for: a player, by its folder or a checkpoint; a report.
    views = PRESETS["schmier"]
    for name in (folder, f"{folder}/ckpt/last.safetensors"):
        assert type(make_agent(name, views)).__name__ == "NeuralAgent"
        assert main(["eval", name, "random", "--game", "schmier", "--deals", "4", "--json", "--quiet"]) == 0
        assert json.loads(capsys.readouterr().out)["a"] == name
    assert main(["eval", folder, "random", "--game", "four_point", "--deals", "4", "--quiet"]) == 2
    assert "was trained for schmier and cannot play four_point" in capsys.readouterr().err
    report = tmp_path / "report.html"
    assert main(["report", folder, "--out", str(report), "--quiet"]) == 0
    assert "1 runs" in capsys.readouterr().out and "<html" in report.read_text()


def capsys_cleared(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    capsys.readouterr()
    return capsys


def test_a_run_needs_no_name(config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        train(config, *SOON)
    assert sorted(path.name for path in Path("runs").iterdir()) == ["tiny-1", "tiny-2"]


def test_learning_to_beat_a_player(capsys: pytest.CaptureFixture[str], config: str, folder: str) -> None:
    words = ("--best-response-to", "club", "--set", "updates=1", "--set", "game=four_point")
    assert main(["train", config, "--folder", folder, *words, "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "can club be exploited" in said and [row["opponent"] for row in rows(folder, "eval")] == ["club"]
    assert read_checkpoint(Path(folder) / "ckpt/last.safetensors").data["best_response_to"] == "club"


def test_tensorboard_and_the_command_of_a_run(
    capsys: pytest.CaptureFixture[str], config: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["train", config, "--folder", folder, "--tensorboard", "--json", "--quiet", "--set", "updates=1"]
    monkeypatch.setattr(sys, "argv", ["smear", *words])
    assert main() == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["kind"] == "training"
    assert any(path.stat().st_size > 500 for path in (Path(folder) / "tensorboard").iterdir())
    assert json.loads((Path(folder) / "env.json").read_text())["command"] == shlex.join(["smear", *words])


# --- Going on ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        ("deals=40", "network.critic=all_hands", 'clone.teacher="greedy"', "updates=4"),
        ("deals=40", "algorithm=dmc", "updates=4"),
        ("reward=equity", "view.scores=true", "network.critic=separate", "must_bid=0.5", "game=four_point"),
    ],
)
def test_a_run_that_is_stopped_after_every_update_is_the_same_run(
    config: str, tmp_path: Path, changes: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    sets = [word for change in changes for word in ("--set", change)]
    whole, parts = str(tmp_path / "whole"), str(tmp_path / "parts")
    train(config, "--folder", whole, *sets)
    train(config, "--folder", parts, *sets, *SOON)
    assert f"Go on: smear train --resume {parts}" in capsys.readouterr().out
    total = rows(whole)[-1]["update"]
    for update in range(1, total):
        assert [row["update"] for row in rows(parts)] == list(range(1, update + 1))
        train("--resume", parts, *SOON)
    assert_same_run(whole, parts)
    assert {f"pool.{number}" for number in range(2)} <= read_checkpoint(
        Path(parts) / "ckpt/last.safetensors"
    ).tensors.keys()
    train("--resume", parts)  # it is over: nothing is done
    assert_same_run(whole, parts)


def test_going_on_from_an_earlier_checkpoint(config: str, folder: str, tmp_path: Path) -> None:
    train(config, "--folder", folder, "--set", "keep=1", "--set", "updates=4")
    whole = [state(Path(folder) / "ckpt/last.safetensors"), rows(folder), rows(folder, "eval")]
    train("--resume", folder, "--load", "step:1")
    assert whole == [state(Path(folder) / "ckpt/last.safetensors"), rows(folder), rows(folder, "eval")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_run_after_the_update(
    config: str, folder: str, tmp_path: Path, number: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, handlers = Trainer.step, (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))

    def stopped(self: Trainer) -> dict[str, Any]:
        if self.update == 1:
            signal.raise_signal(number)
        return step(self)

    monkeypatch.setattr(Trainer, "step", stopped)
    train(config, "--folder", folder, "--set", "updates=4", code=130)
    assert [row["update"] for row in rows(folder)] == [1, 2]
    assert RunFolder(folder).load().update == 2
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers
    monkeypatch.undo()
    train("--resume", folder)
    train(config, "--folder", str(tmp_path / "whole"), "--set", "updates=4")
    assert_same_run(folder, tmp_path / "whole")


def test_a_run_remembers_what_it_began_with(config: str, folder: str, tmp_path: Path) -> None:
    """Through a stop, and in the player that comes of it."""
    train(config, "--folder", folder)
    first, last = RunFolder(folder).load().data, str(Path(folder) / "ckpt/last.safetensors")
    train(config, "--folder", str(tmp_path / "next"), "--load", last, *SOON)
    train("--resume", str(tmp_path / "next"))
    (stage,) = RunFolder(tmp_path / "next").load().data["earlier"]
    assert stage == {key: first[key] for key in ("config", "update", "decisions", "seconds")}
    (told,) = export_player(tmp_path / "next", tmp_path / "player.safetensors")["earlier"]
    assert told == {**stage, "config": config_digest(first["config"])}


def test_a_run_for_games_is_judged_by_games(
    config: str, folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    games = ("--set", "reward=equity", "--set", "view.scores=true")
    won = iter([0.3, 0.4, 0.35])
    evaluated = trainer_module.evaluate

    def evaluate(setup: Any) -> Any:
        assert setup.episode == "game"
        result = evaluated(setup)
        assert result.won is not None and 0 <= result.won.low <= result.won.mean <= result.won.high <= 1
        return replace(
            result, won=result.won._replace(mean=next(won)), difference=result.difference._replace(mean=-next(worse))
        )

    worse = itertools.count()
    monkeypatch.setattr(trainer_module, "evaluate", evaluate)
    train(
        config,
        "--folder",
        folder,
        *games,
        "--set",
        "updates=3",
        "--set",
        "evaluation.every=1",
        "--set",
        'evaluation.against=["random"]',
    )
    assert [line["win_rate"] for line in rows(folder, "eval")] == [0.3, 0.4, 0.35]
    best = json.loads((Path(folder) / "best.json").read_text(encoding="utf-8"))
    assert best["win_rate"] == 0.4
    out = capsys.readouterr().out
    assert "games won" in out and "35.0% (" in out and "--episode game" in out


@pytest.mark.parametrize("moment", ["judge", "save", "log_evaluation"])
def test_a_run_that_ends_in_the_middle_of_its_judgement_is_judged_again(
    config: str, folder: str, tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last update is done then, but it is not yet known how good it is."""

    def die(*words: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    def save(self: RunFolder, *words: Any, names: Any = ("last",)) -> None:
        if "best" in names:
            raise KeyboardInterrupt
        original(self, *words, names=names)

    original = RunFolder.save
    if moment == "judge":
        monkeypatch.setattr(trainer_module, "judge", die)
    else:
        monkeypatch.setattr(RunFolder, moment, save if moment == "save" else die)
    train(config, "--folder", folder, code=130)
    monkeypatch.undo()
    train("--resume", folder)
    train(config, "--folder", str(tmp_path / "whole"))
    assert_same_run(folder, tmp_path / "whole")


def test_a_run_that_ends_before_its_first_update_goes_on(
    config: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(self: Trainer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "step", die)
    train(config, "--folder", folder, "--best-response-to", "greedy", code=130)
    monkeypatch.undo()
    train("--resume", folder)
    train(config, "--folder", str(tmp_path / "whole"), "--best-response-to", "greedy")
    assert_same_run(folder, tmp_path / "whole")


def test_what_cannot_be_gone_on_with_is_refused(
    capsys: pytest.CaptureFixture[str], config: str, folder: str, tmp_path: Path
) -> None:
    assert "no training run" in failure(capsys, 1, "--resume", str(tmp_path / "none"))
    train(config, "--folder", folder, *SOON)
    last = Path(folder) / "ckpt/last.safetensors"
    whole = last.read_bytes()
    capsys.readouterr()
    assert "there: last" in failure(capsys, 3, "--resume", folder, "--load", "best")
    assert "allowed: last, best, step:N" in failure(capsys, 2, "--resume", folder, "--load", "newest")
    other = ("--folder", str(tmp_path / "other"), "--load", str(last))
    for change, message in (
        ("game=four_point", "is for schmier; needed: one for four_point"),
        ("rules.target=11", "other rules: target = "),
        ("network.hidden=[8]", "has other networks: policy.weight.0 is ("),
        ("network.critic=separate", "has other networks: critic."),
        ("view.helpers=false", "has other networks"),
    ):
        assert message in failure(capsys, 3, config, *other, "--set", change)
        assert not (tmp_path / "other").exists()
    last.write_bytes(whole[:-10])
    assert "is damaged" in failure(capsys, 3, "--resume", folder)
    assert "is damaged" in failure(capsys, 3, config, *other)
    data = read_back(whole)
    last.write_bytes(with_data(data, environment="0.0.0"))
    assert "is of smear-env 0.0.0; needed: " in failure(capsys, 3, "--resume", folder)
    last.write_bytes(with_data(data, schema=0))
    assert "has schema 0; needed: " in failure(capsys, 3, "--resume", folder)
    for bad in (with_data(data, environment="0.0.0"), with_data(data, schema=0), whole[:-10]):
        last.write_bytes(bad)
        with pytest.raises(ValueError, match=r"schema 0|smear-env 0\.0\.0|damaged"):
            make_agent(str(last), PRESETS["schmier"])
    last.write_bytes(whole)
    (Path(folder) / "config.toml").write_text(TINY.replace("hidden = [16]", "hidden = [8]"))
    assert "has other networks" in failure(capsys, 3, "--resume", folder)


def read_back(content: bytes) -> Checkpoint:
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"checkpoint-{os.getpid()}.safetensors"
    path.write_bytes(content)
    try:
        return read_checkpoint(path)
    finally:
        path.unlink()


def with_data(checkpoint: Checkpoint, **changes: Any) -> bytes:
    return safetensors.torch.save(checkpoint.tensors, {"smear": json.dumps(checkpoint.data | changes)})


def test_weights_of_another_run_are_where_a_new_one_begins(config: str, folder: str, tmp_path: Path) -> None:
    train(config, "--folder", folder)
    other = str(tmp_path / "other")
    train(config, "--folder", other, "--load", f"{folder}/ckpt/last.safetensors", "--set", "ppo.learning_rate=0",
          "--set", "ppo.final_learning_rate=0", "--set", "updates=1")  # fmt: skip
    one, two = (read_checkpoint(Path(path) / "ckpt/last.safetensors") for path in (folder, other))
    names = [name for name in one.tensors if name.startswith("policy.")]
    assert names and all((one.tensors[name] == two.tensors[name]).all() for name in names)
    assert two.update == 1


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
def test_a_full_disk_is_said_and_leaves_the_last_checkpoint(
    capsys: pytest.CaptureFixture[str], config: str, folder: str, tmp_path: Path
) -> None:
    """A limit on the size of files, which a checkpoint is above: it fails in the middle of a write, as a full disk."""
    import resource

    train(config, "--folder", folder, *SOON)
    before = state(Path(folder) / "ckpt/last.safetensors")
    capsys.readouterr()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        said = failure(capsys, 1, "--resume", folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "checkpoint could not be written" in said and "the checkpoints before it are whole" in said
    assert said.count("\n") == 1 + said.count("alarm: ")
    assert state(Path(folder) / "ckpt/last.safetensors") == before
    train("--resume", folder)
    train(config, "--folder", str(tmp_path / "whole"))
    assert_same_run(folder, tmp_path / "whole")


KILLS = """
import os, random, signal, sys, time
from pathlib import Path
import torch
from smear_train.cli import main
from smear_train.learning.run_folder import RunFolder

config, folder, times = sys.argv[1], RunFolder(sys.argv[2]), int(sys.argv[3])
chance = random.Random(5)

def go(*words):
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(main(["train", *words, "--quiet"]))
    return pid

began = time.monotonic()
assert main(["train", config, "--folder", sys.argv[2] + "-whole", "--quiet"]) == 0  # compiled code is loaded before
# A few updates' time: half a second, or less where that is the time of the whole run.
pause = min(0.5, (time.monotonic() - began) / 4)
pid = go(config, "--folder", str(folder.path))
done, lost = 0, 0
for _ in range(times):
    while not folder.checkpoint("last").exists():
        time.sleep(0.01)
    time.sleep(chance.uniform(0, pause))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    update = folder.load().update
    logged = [row["update"] for row in folder.metrics()]
    assert update >= done and logged in (list(range(1, update + 1)), list(range(1, update + 2))), (update, logged)
    lost += len(logged) > update
    done = update
    pid = go("--resume", str(folder.path))
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
print("killed at", done, "lost", lost)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that were forked")
@pytest.mark.parametrize(("times", "updates"), [(4, 10), pytest.param(30, 60, marks=pytest.mark.long)])
def test_a_run_that_is_killed_goes_on(config: str, folder: str, times: int, updates: int) -> None:
    Path(config).write_text(TINY.replace("updates = 2", f"updates = {updates}").replace("every = 2", "every = 3"))
    done = subprocess.run(
        [sys.executable, "-c", KILLS, config, folder, str(times)],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert_same_run(folder, folder + "-whole")


# --- Several processes -------------------------------------------------------------------------------------------

RANK = """
import json, sys, zlib
from pathlib import Path
import torch
from smear_train.learning.config import load_config
from smear_train.learning.distributed import World
from smear_train.learning.trainer import Trainer

torch.set_num_threads(1)
world = World("cpu")
trainer = Trainer(load_config(sys.argv[1], tuple(sys.argv[2:])), world)
decisions = [trainer.step()["decisions"] for _ in range(2)]
tensors = trainer.tensors()
digest = zlib.crc32(b"".join(tensors[name].numpy().tobytes() for name in sorted(tensors)))
share, least, sums = world.share(9), world.least(world.rank + 3), world.sums([1.5, 2])
wishes = [world.agree(world.rank == 1), world.agree(world.rank == 5)]
world.wait()
world.close()
threads = {path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")}
left = sorted(name for name in threads if "gloo" in name or "store" in name)
print(json.dumps([decisions, digest, share.start, share.stop, least, sums, wishes, left]))
"""


def ranks(number: int, *words: str) -> list[Any]:
    """What each of some processes of one training says."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = {"WORLD_SIZE": str(number), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)} if number > 1 else {}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, *words], env=os.environ | world | {"RANK": str(rank)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for rank in range(number)
    ]  # fmt: skip
    said = []
    for child in children:
        out, err = child.communicate(timeout=300)
        assert child.returncode == 0, err
        said.append(json.loads(out))
    return said


@pytest.mark.slow
def test_processes_share_the_deals_and_hold_the_same_weights(config: str) -> None:
    # So many minibatches that one of the two has fewer decisions: they must learn in step all the same.
    one, two = ranks(2, config, "deals=9", "ppo.minibatches=150")
    decisions, digest = one[:2]
    assert one == [decisions, digest, 0, 4, 3, [3.0, 4.0], [True, False], []]
    assert two == [decisions, digest, 4, 9, 3, [3.0, 4.0], [True, False], []], "other weights"
    # No thread of the group is left: one that still ran while the interpreter ends would bring the process down.
    # What is played for an update does not depend on how many play it.
    (alone,) = ranks(1, config, "deals=9")
    assert alone[0][0] == decisions[0] and alone[1] != digest


SELF = ("-m", "smear_train", "train")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [(*TORCHRUN, *SELF), pytest.param((*SELF, "--processes", "2"), marks=pytest.mark.long)]
)
def test_a_run_by_two_processes(config: str, folder: str, words: tuple[str, ...]) -> None:
    command = [sys.executable, *words, config, "--folder", folder, "--quiet", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["update"] == 2
    assert [row["update"] for row in rows(folder)] == [1, 2]
    assert [row["opponent"] for row in rows(folder, "eval")] == ["random", "greedy"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [(["--set", "deals=8"], 1, "holds a run already"), (["--set", "dealz=8"], 2, "did you mean deals")],
)
def test_what_two_processes_refuse_is_said_once(
    config: str, folder: str, changes: list[str], code: int, message: str
) -> None:
    train(config, "--folder", folder, *SOON)
    command = [sys.executable, "-m", "smear_train", "train", config, "--folder", folder, "--processes", "2", *changes]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr.count(message)) == (code, "", 1)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_two_processes(config: str, folder: str, number: int) -> None:
    Path(config).write_text(TINY.replace("updates = 2", "updates = 100000"))
    command = [sys.executable, "-m", "smear_train", "train", config, "--folder", folder, "--processes", "2", "--quiet"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    metrics = Path(folder) / "metrics.jsonl"
    import time

    while not metrics.exists() and child.poll() is None:
        time.sleep(0.1)
    child.send_signal(number)
    out, err = child.communicate(timeout=300)
    assert child.returncode == 130, err
    assert "Go on: " in out
    assert RunFolder(folder).load().update == rows(folder)[-1]["update"]


def test_the_configurations_that_are_shipped_are_right() -> None:
    configs = sorted((Path(__file__).parents[1] / "configs" / "train").glob("*.toml"))
    assert configs
    for path in configs:
        assert path.read_text(encoding="utf-8").startswith("# ")
        load_config(path)


def test_a_player_from_a_damaged_checkpoint_is_a_check_that_said_no(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "damaged.safetensors"
    path.write_bytes(b"\x08" + bytes(20))
    assert main(["eval", str(path), "random", "--game", "schmier", "--deals", "2"]) == 3
    assert "damaged" in capsys.readouterr().err
    assert main(["eval", str(tmp_path / "none.safetensors"), "random", "--game", "schmier", "--deals", "2"]) == 2
    assert "no checkpoint" in capsys.readouterr().err
