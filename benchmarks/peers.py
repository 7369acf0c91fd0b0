"""How fast smear-env is beside other projects: decisions per second of random play, on one core, in one run.

Each project runs in a process of its own: `make bench-peers`, or `peers.py --help` with a Python that has them.
"""

import argparse
import importlib.metadata
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from loops import GAMES_PLAY, PEERS, Case, Loop

BASE = {"peer": "smear-env", "game": "schmier", "interface": GAMES_PLAY, "batch": 1024}
"""The row that all others are compared with."""

SINGLE_THREADED = {
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
    ),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
    "PYTHONHASHSEED": "0",
}
CHILD_TIMEOUT = 900
"""Seconds after which a project's process is ended."""


# --- In a project's process ----------------------------------------------------------------------------------------


def run_cases(name: str, seconds: float, runs: int) -> None:
    """Measures a project's cases and writes a row of JSON for each to stdout, as soon as it is there."""
    out = results_only()
    peer = PEERS[name]
    for case in peer.cases():
        print(json.dumps(row_of(name, case) | measured(case, seconds, runs)), file=out, flush=True)


def results_only() -> TextIO:
    """The real stdout; what anybody prints from now on goes to stderr."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def row_of(name: str, case: Case | None) -> dict[str, Any]:
    """A row in which nothing has been measured yet; the whole project's without a case."""
    peer = PEERS[name]
    return {
        "peer": peer.name,
        "version": version(peer.package),
        "game": case.game if case else "",
        "interface": case.interface if case else "",
        "batch": case.batch if case else 0,
        "decisions_per_s": None,
        "lowest_per_s": None,
        "highest_per_s": None,
        "decisions_per_cpu_s": None,
        "obs_numbers": None,
        "obs_bytes": None,
        "ratio": None,
        "not_run": None,
    }


def version(package: str) -> str | None:
    """The version installed, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def measured(case: Case, seconds: float, runs: int) -> dict[str, Any]:
    """What there is to say of a case: speeds, or why there are none."""
    try:
        loop = case.make()
        return speeds(loop, case.batch, seconds, runs)
    except (Exception, SystemExit) as error:  # whatever a library does, the next row is measured
        text = " ".join(str(error).split()) or "no message"
        return {"not_run": f"{type(error).__name__}: {text}"[:300]}


def speeds(loop: Loop, batch: int, seconds: float, runs: int) -> dict[str, Any]:
    """Median, lowest and highest of several runs of about so many seconds, after a warm-up that compiles."""
    rounds = warm_up(loop.steps, seconds)
    spent = [take(loop.steps, rounds) for _ in range(runs)]
    decisions = rounds * batch * loop.decisions
    per_s = [decisions / wall for wall, _ in spent]
    per_cpu_s = [decisions / max(cpu, 1e-9) for _, cpu in spent]
    return {
        "decisions_per_s": round(statistics.median(per_s)),
        "lowest_per_s": round(min(per_s)),
        "highest_per_s": round(max(per_s)),
        "decisions_per_cpu_s": round(statistics.median(per_cpu_s)),
        "obs_numbers": int(loop.obs_numbers),
        "obs_bytes": int(loop.obs_bytes),
    }


def warm_up(steps: Iterator[None], seconds: float) -> int:
    """Runs what has to be compiled, and returns how many rounds take about so many seconds."""
    take(steps, 2)
    rounds = 1
    while (spent := take(steps, rounds)[0]) < seconds / 4:
        rounds *= 2
    return max(1, round(rounds * seconds / spent))


def take(steps: Iterator[None], rounds: int) -> tuple[float, float]:
    """Seconds by the clock and of the processor for so many rounds."""
    wall, cpu = time.perf_counter(), time.process_time()
    deque(itertools.islice(steps, rounds), maxlen=0)
    return time.perf_counter() - wall, time.process_time() - cpu


# --- In the process that is started --------------------------------------------------------------------------------


def bind(core: int | None) -> int | None:
    """Keeps this process and its children on one core, the highest it may use unless told; returns which."""
    if not hasattr(os, "sched_setaffinity"):
        print("peers.py: this system cannot bind a process to a core; only threads are limited", file=sys.stderr)
        return None
    core = max(os.sched_getaffinity(0)) if core is None else core
    os.sched_setaffinity(0, {core})
    return core


def rows_of(name: str, seconds: float, runs: int) -> list[dict[str, Any]]:
    """The rows of a project, from a process of its own; one that says why if it ends before its time."""
    command = [sys.executable, __file__, "--child", name, "--seconds", str(seconds), "--runs", str(runs)]
    environment = os.environ | SINGLE_THREADED
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=CHILD_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return [row_of(name, None) | {"not_run": f"took more than {CHILD_TIMEOUT} seconds"}]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        rows.append(row_of(name, None) | {"not_run": f"its process ended with {done.returncode}: {last}"[:300]})
    return rows


def add_ratios(rows: list[dict[str, Any]]) -> None:
    """Says of each row how many times as fast the base is, if it was measured."""
    base = next((row["decisions_per_s"] for row in rows if BASE.items() <= row.items()), None)
    for row in rows:
        if base and row["decisions_per_s"]:
            row["ratio"] = float(f"{base / row['decisions_per_s']:.3g}")


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def format_report(report: dict[str, Any]) -> str:
    """The report in Markdown."""
    head = (
        f"{report['processor']}, core {report['core']}; Python {report['python']}, numpy {report['numpy']}; medians "
        f"of {report['runs']} runs of {report['seconds']:g} s, lowest and highest; dealing and resets included"
    )
    columns = (
        "project", "game", "interface", "games at once", "decisions/s", "lowest to highest", "per CPU second",
        "observation", "Games at 1,024 is faster by",
    )  # fmt: skip
    lines = [f"| {' | '.join(columns)} |", "|---|---|---|--:|--:|--:|--:|--:|--:|"]
    lines += [f"| {' | '.join(cells(row))} |" for row in report["rows"]]
    return "\n".join([head, "", *lines])


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """A row of the table."""
    names = (f"{row['peer']} {row['version'] or ''}".strip(), row["game"], row["interface"], f"{row['batch']:,}")
    if row["not_run"]:
        return *names, f"not run: {row['not_run'].replace('|', '/')}", "", "", "", ""
    return (
        *names,
        f"{row['decisions_per_s']:,}",
        f"{row['lowest_per_s']:,} to {row['highest_per_s']:,}",
        f"{row['decisions_per_cpu_s']:,}",
        f"{row['obs_numbers']:,} in {row['obs_bytes']:,} bytes" if row["obs_numbers"] else "none",
        f"{row['ratio']:,g}" if row["ratio"] else "",
    )


def arguments(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", choices=PEERS, metavar="NAME", help=f"of {', '.join(PEERS)}; again")
    parser.add_argument("--quick", action="store_true", help="short runs: does everything work? Numbers mean nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the same as JSON")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a run (%(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each (%(default)s)")
    parser.add_argument("--core", type=int, help="the core to run on (the highest)")
    parser.add_argument("--child", choices=PEERS, help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Runs what the command line asks for; 1 if nothing could be measured."""
    given = arguments(words)
    if given.child:
        run_cases(given.child, given.seconds, given.runs)
        return 0
    seconds, runs = (0.01, 2) if given.quick else (given.seconds, given.runs)
    core = bind(given.core)
    rows = []
    for name in given.only or PEERS:
        print(f"measuring {PEERS[name].name}", file=sys.stderr)
        rows += rows_of(name, seconds, runs)
    add_ratios(rows)
    report = {
        "processor": processor(),
        "core": core,
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "seconds": seconds,
        "runs": runs,
        "base": BASE,
        "rows": rows,
    }
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(format_report(report))
    return 0 if any(row["decisions_per_s"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
