"""What a report of a problem needs: versions, the place of compiled code, and whether the games run."""

import importlib.metadata
import os
import platform
import sys
import time
from typing import Any

PACKAGES = ("smear-env", "numpy", "numba", "gymnasium", "pettingzoo", "msgspec", "torch")


def diagnose() -> dict[str, Any]:
    """Versions of what is installed, the cache folder, and the result of playing a deal of each game."""
    began = time.perf_counter()
    from smear_env import PRESETS, Games, _jit

    import_ms = 1000 * (time.perf_counter() - began)
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "packages": {name: installed_version(name) for name in PACKAGES},
        "jit": _jit.JIT,
        "cache": str(_jit.kernel.folder) if _jit.kernel.folder else None,
        "compiled": not _jit.kernel.is_cold(),
        "ms_import": round(import_ms),
        "games": {},
    }
    for name in PRESETS:
        began = time.perf_counter()
        games = Games(name, 1, seed=0, episode="deal", autoreset=False)
        games.reset()
        while games.seats[0] >= 0:
            games.step(games.sample())
        report["games"][name] = "ok" if games.terminated[0] else "failed"
        report[f"ms_{name}"] = round(1000 * (time.perf_counter() - began))
    return report


def installed_version(package: str) -> str | None:
    """The version of a package; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def format_report(report: dict[str, Any]) -> str:
    """The report as text."""
    lines = [f"python {report['python']} ({sys.implementation.name}) on {report['platform']}, {report['cores']} cores"]
    lines += [f"{name} {version or 'not installed'}" for name, version in report["packages"].items()]
    lines.append(f"compiled code: {report['cache'] or 'not kept'}" if report["jit"] else "compiled code: switched off")
    lines += [f"{name}: {result}" for name, result in report["games"].items()]
    return "\n".join(lines)
