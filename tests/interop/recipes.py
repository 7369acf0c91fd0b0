"""Running a recipe as a user does: a program that trains, saves, restores and says how its player plays."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def run_recipe(recipe: str, folder: Path, *options: str) -> dict[str, Any]:
    """Runs `examples/RECIPE.py` on four_point and returns what it prints.

    An illegal action, in training or afterwards, would have raised: the environments are told to.
    """
    command = [sys.executable, str(ROOT / "examples" / f"{recipe}.py"), "--game", "four_point", "--deals", "50"]
    done = subprocess.run(
        [*command, "--out", str(folder), *options], capture_output=True, text=True, check=False, timeout=1200
    )
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert result["points_restored"] == result["points"]
    return result


def evaluate(player: str, folder: Path) -> dict[str, Any]:
    """What `smear eval PLAYER greedy` says of the player that a recipe has saved."""
    variables = {"PYTHONPATH": str(ROOT / "examples"), "RECIPE": folder.name, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "smear_train", "eval", player, "greedy"]
        + ["--game", "four_point", "--deals", "20", "--time-limit", "120", "--json", "--quiet"],
        capture_output=True, text=True, env=os.environ | variables, cwd=folder.parent, check=False, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads(done.stdout)
    assert not result["players"]["a"]["faults"] and result["players"]["a"]["decisions"] > 0
    return result
