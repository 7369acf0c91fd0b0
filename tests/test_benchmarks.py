"""The comparison with other projects: its own part runs, and its report is as described in benchmarks/README.md."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.jit]

NUMBERS = ("decisions_per_s", "lowest_per_s", "highest_per_s", "decisions_per_cpu_s", "obs_numbers", "obs_bytes")
FIELDS = {"peer": str, "version": str, "game": str, "interface": str, "batch": int, "ratio": float} | dict.fromkeys(
    NUMBERS, int
)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What the smear-env part prints and writes."""
    file = tmp_path_factory.mktemp("bench") / "report.json"
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "peers.py", "--only", "smear", "--quick", "--json", file],
        capture_output=True, text=True, env=os.environ, cwd=ROOT, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


def test_rows_have_every_field_and_nothing_failed(outcome: tuple[str, dict[str, Any]]) -> None:
    rows = outcome[1]["rows"]
    for row in rows:
        assert row["not_run"] is None, row
        assert row.keys() == FIELDS.keys() | {"not_run"}
        assert all(type(row[name]) is kind for name, kind in FIELDS.items()), row
        assert 0 < row["lowest_per_s"] <= row["decisions_per_s"] <= row["highest_per_s"], row
        assert row["decisions_per_cpu_s"] > 0 and row["obs_bytes"] == row["obs_numbers"] > 0, row


def test_every_interface_is_measured_and_one_row_is_the_base(outcome: tuple[str, dict[str, Any]]) -> None:
    report = outcome[1]
    for game in ("schmier", "four_point"):
        measured = [(row["interface"].partition(":")[0], row["batch"]) for row in report["rows"] if row["game"] == game]
        assert {"raw_env", "env", "SingleSeatEnv", "SmearVectorEnv"} <= {name for name, _ in measured}
        assert {batch for name, batch in measured if name == "Games"} == {1, 64, 1024, 8192}
    base = [row for row in report["rows"] if report["base"].items() <= row.items()]
    assert len(base) == 1 and base[0]["ratio"] == 1


def test_report_tells_the_machine_and_the_table_has_every_row(outcome: tuple[str, dict[str, Any]]) -> None:
    text, report = outcome
    assert all(report[name] for name in ("processor", "system", "python", "numpy", "seconds", "runs", "base", "rows"))
    assert report["processor"] in text and f"Python {report['python']}" in text
    lines = [line for line in text.splitlines() if line.startswith("| smear-env")]
    assert len(lines) == len(report["rows"])
    assert all(f"| {row['decisions_per_s']:,} |" in line for line, row in zip(lines, report["rows"], strict=True))
