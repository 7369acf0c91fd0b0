"""Chunks that are kept: a run that was stopped goes on, and nothing is played, or counted, twice."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smear_env import PRESETS
from smear_train import kept, match
from smear_train.cli import main
from smear_train.evaluate import Setup, document, evaluate
from smear_train.match import Crew, merge, play

pytestmark = pytest.mark.jit

SETUP = Setup(PRESETS["four_point"], "greedy", "random", 64, seed=6)


def without_times(result: dict[str, Any]) -> Any:
    return json.loads(json.dumps(result), object_hook=lambda at: {k: v for k, v in at.items() if k[:3] != "ms_"})


def files_in(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.npz")}


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The chunks that are played in this process from now on."""
    chunks: list[tuple[int, int]] = []
    real = match.Tables.play

    def play_and_note(self: match.Tables, begin: int, end: int) -> match.Tally:
        chunks.append((begin, end))
        return real(self, begin, end)

    monkeypatch.setattr(match.Tables, "play", play_and_note)
    return chunks


def stop_after(deals: int) -> Any:
    def progress(done: int) -> None:
        if done >= deals:
            raise KeyboardInterrupt

    return progress


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path, played: list[tuple[int, int]]) -> None:
    alone = without_times(document(evaluate(SETUP)))
    played.clear()
    with pytest.raises(KeyboardInterrupt):
        evaluate(SETUP, Crew(keep=tmp_path), stop_after(24))
    assert len(files_in(tmp_path)) == len(played) == 6  # of 4 deals each
    told: list[int] = []
    assert without_times(document(evaluate(SETUP, Crew(keep=tmp_path), told.append))) == alone
    assert len(set(played)) == len(played) == 16
    assert told == list(range(28, 65, 4))
    told.clear()
    assert without_times(document(evaluate(SETUP, Crew(keep=tmp_path), told.append))) == alone
    assert len(played) == 16 and told == [64]


def test_with_other_workers_too(tmp_path: Path) -> None:
    alone = without_times(document(evaluate(SETUP)))
    with pytest.raises(KeyboardInterrupt):
        evaluate(SETUP, Crew(2, "fork", tmp_path), stop_after(24))
    kept_files = files_in(tmp_path)
    assert len(kept_files) == 6
    assert without_times(document(evaluate(SETUP, Crew(3, "fork", tmp_path)))) == alone
    assert kept_files.items() <= files_in(tmp_path).items()


def test_a_sequential_test_stops_at_the_same_deal(tmp_path: Path) -> None:
    setup = replace(SETUP, deals=2000, sprt=(0.0, 0.5))
    alone = without_times(document(evaluate(setup)))
    with pytest.raises(KeyboardInterrupt):
        evaluate(setup, Crew(keep=tmp_path), stop_after(64))
    assert without_times(document(evaluate(setup, Crew(keep=tmp_path)))) == alone


def test_a_tally_comes_back_as_it_was(tmp_path: Path) -> None:
    """What players failed at, too."""
    plan = Setup(PRESETS["schmier"], "greedy", "random", 6).plan()
    tally = merge(list(play(plan)))
    tally.faults[1]["raised ValueError: \u2660 'quoted'"] = 3
    folder = kept.Kept(tmp_path, plan)
    folder.write((0, 6), tally)
    (again,) = folder.read([(0, 6), (6, 12)]).values()
    assert again.faults == tally.faults
    for name, value in vars(tally).items():
        if name != "faults":
            assert np.array_equal(getattr(again, name), value) and getattr(again, name).dtype == value.dtype, name


def test_other_runs_in_the_same_folder_are_left_alone(
    tmp_path: Path, played: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [SETUP, replace(SETUP, seed=7), replace(SETUP, b="greedy"), replace(SETUP, rotations="one")]
    for number, setup in enumerate(others, start=1):
        evaluate(setup, Crew(keep=tmp_path))
        assert len(played) == 16 * number
    versions = kept.versions() | {"sources": "0" * 16}
    monkeypatch.setattr(kept, "versions", lambda: versions)
    evaluate(SETUP, Crew(keep=tmp_path))
    assert len(played) == 16 * 5


def test_a_checkpoint_that_was_trained_further_is_another_player(tmp_path: Path) -> None:
    checkpoint = tmp_path / "one.safetensors"
    plan = Setup(PRESETS["four_point"], f"bid=greedy+exchange=greedy+play={checkpoint}", "random", 6).plan()
    folders = []
    for content in (b"one", b"two"):
        checkpoint.write_bytes(content)
        folders.append(kept.Kept(tmp_path / "kept", plan))
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_damaged_files_are_played_anew(tmp_path: Path, played: list[tuple[int, int]]) -> None:
    alone = without_times(document(evaluate(SETUP, Crew(keep=tmp_path))))
    paths = sorted(files_in(tmp_path))
    paths[0].write_bytes(paths[0].read_bytes()[:-100])
    paths[1].write_bytes(b"")
    paths[2].unlink()
    content = bytearray(paths[3].read_bytes())
    content[200] ^= 255
    paths[3].write_bytes(content)
    played.clear()
    assert without_times(document(evaluate(SETUP, Crew(keep=tmp_path)))) == alone
    assert len(played) == 4


def test_no_damage_to_a_file_is_an_error_or_another_result(tmp_path: Path) -> None:
    """NumPy, zipfile and zlib each have exceptions of their own."""
    plan = Setup(PRESETS["four_point"], "greedy", "random", 6).plan()
    folder = kept.Kept(tmp_path, plan)
    folder.write((0, 6), merge(list(play(plan))))
    (whole,) = folder.read([(0, 6)]).values()
    (path,) = tmp_path.rglob("*.npz")
    content, rng = path.read_bytes(), np.random.default_rng(0)
    lost = 0
    for place in rng.choice(len(content), 400, replace=False):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        found = folder.read([(0, 6)])
        lost += not found
        for tally in found.values():
            assert tally.faults == whole.faults
            assert all(np.array_equal(getattr(tally, name), value) for name, value in vars(whole).items())
    assert lost > 200
    assert [one.suffix for one in path.parent.iterdir()] == [".npz"]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "tournament --agents greedy,random --game four_point --deals 64 --json --quiet --keep".split()
    documents = []
    for _ in range(2):
        assert main([*words, str(tmp_path / "kept")]) == 0
        documents.append(without_times(json.loads(capsys.readouterr().out)))
    assert documents[0] == documents[1]
    assert "--keep" not in documents[0]["command"]
    (tmp_path / "file").write_text("")
    assert main([*words, str(tmp_path / "file")]) == 2
    assert "cannot be written to" in capsys.readouterr().err
