"""Progress of training: a table on a terminal, few plain lines elsewhere; and the mirror for TensorBoard."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from smear_train.cli import main
from smear_train.learning.mirror import TensorBoardMirror
from smear_train.learning.progress import TrainingProgress

pytestmark = pytest.mark.jit

ROW = {
    "update": 12, "decisions": 552_000, "decisions_per_s": 81_234.0, "seconds": 6.8, "time_acting": 0.2,
    "time_learning": 0.75, "reward": 0.1, "entropy_bid": 1.2, "entropy_exchange": 0.8, "entropy_play": 0.6,
    "kl": 0.0031, "clip_fraction": 0.021, "policy_loss": -0.012, "value_loss": 0.34, "explained_variance": 0.55,
    "all_pass": 0.13, "mean_bid": 3.4, "bid_made": 0.72, "learning_rate": 1e-3, "illegal": 0,
}  # fmt: skip
EVALUATION = {"update": 40, "opponent": "club", "deals": 1000, "mean": 0.31, "ci_low": 0.25, "ci_high": 0.37}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def train(stream: io.StringIO, quiet: bool = False, seconds: int = 60) -> list[str]:
    """What is shown of a run of two updates a second."""
    clock = Clock()
    show = TrainingProgress(200, quiet, stream=stream, clock=clock)
    for update in range(1, 2 * seconds + 1):
        clock.now += 0.5
        show.update(ROW | {"update": update})
        if update % 10 == 0:
            show.evaluation(EVALUATION | {"update": update})
    show.close()
    show.close()
    return stream.getvalue().splitlines()


def test_elsewhere_there_is_a_line_every_ten_seconds() -> None:
    lines = train(io.StringIO())
    assert len(lines) == 6
    assert lines[0] == (
        "update 20 of 200 (0:01:30 left), decisions 552,000 81,234/s, time acting 20% learning 75%, "
        "entropy bid 1.20 exchange 0.80 play 0.60, policy KL 0.0031 clipped 2.1% learning rate 1.0e-03, "
        "loss policy -0.0120 value 0.3400 explained 0.55, bids mean 3.40 made 72.0% all pass 13.0%, "
        "reward 0.100, illegal 0, against club +0.310 (+0.250 to +0.370) at update 10"
    )


def test_a_terminal_has_a_table() -> None:
    shown = "\n".join(train(Terminal(), seconds=5))
    assert "\x1b[" in shown
    for text in ("10 of 200", "552,000 81,234/s", "bid 1.20 exchange 0.80 play 0.60", "+0.310 (+0.250 to +0.370)"):
        assert text in shown, text
    assert shown.endswith("\x1b[?25h"), "the cursor is hidden still"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_must_not_be_controlled(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    stream = Terminal()
    assert len(train(stream)) == 6
    assert not set(stream.getvalue()) & {"\r", "\x1b"}


def test_no_terminal_needs_no_rich(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert train(io.StringIO())
    monkeypatch.setattr("smear_train.cli._list", lambda arguments: TrainingProgress(1, False, stream=Terminal()))
    assert main(["list"]) == 4
    assert "pip install 'smear-env[train]'" in capsys.readouterr().err


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_quiet_shows_alarms_only(stream: io.StringIO) -> None:
    assert train(stream, quiet=True) == []
    TrainingProgress(5, True, stream=stream).alarm("all pass")
    assert stream.getvalue() == "alarm: all pass\n"


def test_an_alarm_is_shown_at_once_and_not_at_every_update() -> None:
    for stream in (io.StringIO(), Terminal()):
        clock = Clock()
        show = TrainingProgress(200, False, stream=stream, clock=clock)
        for share in range(21, 61):
            show.alarm(f"{share}% of deals are passed by all; more than 20% is too many [bold]")
            clock.now += 0.5
        show.alarm("illegal actions")
        show.close()
        assert [stream.getvalue().count(text) for text in ("[bold]", "21%", "41%", "illegal")] == [2, 1, 1, 1]


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_any_key_may_be_missing_and_names_are_anybodys(stream: io.StringIO) -> None:
    clock = Clock()
    show = TrainingProgress(None, False, stream=stream, clock=clock)
    rows: list[dict[str, Any]] = [{}, {"update": 3, "kl": None, "reward": float("nan"), "made": "?"}]
    rows += [{key: ROW[key]} for key in ROW]
    for row in rows:
        clock.now += 10
        show.update(row)
    for row in ({}, {"against": "Grüße\x07", "mean": 0.5, "low": 0.25, "high": 0.75}):
        clock.now += 10
        show.evaluation(row)
    show.close()
    assert "+0.500 (+0.250 to +0.750)" in stream.getvalue()
    if type(stream) is io.StringIO:
        assert stream.getvalue().isascii() and "Gr??e?" in stream.getvalue()


def test_tensorboard_draws_what_the_files_say(tmp_path: Path) -> None:
    for begin in (0, 200):
        mirror = TensorBoardMirror(tmp_path, begin)
        for decisions in range(begin + 100, begin + 400, 100):
            mirror.write({"decisions": decisions, "kl": decisions / 8 + begin, "value_loss": float("nan")})
        mirror.write({"decisions": begin + 300, **EVALUATION})
        mirror.close()
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    drawn = {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    assert drawn["training/kl"] == [(100, 12.5), (200, 25), (300, 237.5), (400, 250), (500, 262.5)]
    assert "training/value_loss" not in drawn
    assert drawn["against club/mean"] == [(500, pytest.approx(0.31))]


def test_a_missing_tensorboard_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.setattr("smear_train.cli._list", lambda arguments: TensorBoardMirror(tmp_path))
    assert main(["list"]) == 4
    assert "pip install 'smear-env[train]'" in capsys.readouterr().err
