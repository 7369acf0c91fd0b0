"""What the recipes share: their command line, a player's score, and the proof that a saved one plays the same.

A recipe is a `Recipe` of its own library. As a program it trains, scores, saves, restores and scores again:

    python examples/train_sb3.py --decisions 20000 --out runs/sb3

The saved player then sits at our tables like any other:

    PYTHONPATH=examples RECIPE=runs/sb3 smear eval train_sb3:MaskablePPOPlayer club --game schmier
"""

import argparse
import contextlib
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch  # every library here brings it

from smear_agents import Agent, make_agent
from smear_env import Games, make_rules
from smear_env.rules import GameRules

AGAINST = ("random", "greedy")


class Recipe(Agent):
    """A player of another library, as an agent of ours; a subclass trains, saves and loads it.

    Args:
        rules: the rules it plays; those it was trained for.
        seed: without effect where its policy leaves nothing to chance.
        model: what `train` or `load` has returned; None: the one saved in the folder that the environment variable
            RECIPE names, so that `smear eval module:Class` finds it.

    Raises:
        ValueError: RECIPE is not set, names no saved player, or one of another game.
    """

    library: ClassVar[str]
    """The name of the distribution, whose version is reported."""

    def __init__(self, rules: GameRules, seed: int = 0, model: Any = None) -> None:
        super().__init__(rules, seed)
        self.model = self.load(_saved_folder(rules), rules) if model is None else model

    @classmethod
    def train(cls, rules: GameRules, decisions: int, seed: int, folder: Path) -> Any:
        """A model that has learned from about so many decisions of its own. Illegal actions raise.

        The folder is for what the library writes by itself.
        """
        raise NotImplementedError

    @classmethod
    def save(cls, model: Any, folder: Path) -> None:
        """Writes a model with its library's own means."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder: Path, rules: GameRules) -> Any:
        """Reads what `save` has written. Some libraries unpickle here: load only what you trust."""
        raise NotImplementedError

    def scores(self, deals: int) -> dict[str, float]:
        """Its points per deal against each of AGAINST, on the same deals every time."""
        return {name: points(self, make_agent(name, self.rules), deals) for name in AGAINST}

    @staticmethod
    def best(values: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """The legal actions (N,) of the highest values (N, 70)."""
        legal: np.ndarray = np.where(action_masks > 0, values, -np.inf).argmax(1)
        return legal


def main(players: dict[str, type[Recipe]], decisions: int) -> None:
    """A recipe as a program; prints one line of JSON, and fails if the restored player plays otherwise.

    Args:
        players: what can be trained, by name; the first unless the command line says so.
        decisions: how many to train on, unless the command line says so.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--player", choices=players, default=next(iter(players)), help="what to train")
    parser.add_argument("--game", default="schmier", help="a preset or the path of a rules file (default schmier)")
    parser.add_argument("--decisions", type=int, default=decisions, help=f"to train on (default {decisions:,})")
    parser.add_argument("--seed", type=int, default=0, help="of all chance (default 0)")
    parser.add_argument("--deals", type=int, default=500, help="to score the player on (default 500)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the trained player")
    arguments = parser.parse_args()
    for name in ("decisions", "deals"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} {getattr(arguments, name)} is not allowed; allowed: 1 or more")
    # Networks as small as these are slower on more threads, much slower on busy cores. The second is for children.
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    kind, rules, folder = players[arguments.player], make_rules(arguments.game), arguments.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    points(
        make_agent("greedy", rules), make_agent("random", rules), deals=2
    )  # compiles the rules before the clock runs
    began, cpu_began = time.perf_counter(), _cpu_seconds()
    with contextlib.redirect_stdout(sys.stderr):  # some libraries print what they do
        model = kind.train(rules, arguments.decisions, arguments.seed, folder)
    seconds, cpu_seconds = time.perf_counter() - began, _cpu_seconds() - cpu_began
    result = {
        "library": kind.library,
        "version": version(kind.library),
        "player": arguments.player,
        "game": arguments.game,
        "decisions": arguments.decisions,
        "seed": arguments.seed,
        "decisions_per_s": round(arguments.decisions / seconds),
        "decisions_per_cpu_s": round(arguments.decisions / cpu_seconds),
        "points": kind(rules, 0, model).scores(arguments.deals),
    }
    kind.save(model, folder)
    (folder / "recipe.json").write_text(json.dumps(result) + "\n", encoding="utf-8")
    result["points_restored"] = kind(rules, 0, kind.load(folder, rules)).scores(arguments.deals)
    print(json.dumps(result), flush=True)
    if result["points_restored"] != result["points"]:
        raise SystemExit("the restored player plays differently from the one that was saved")


def points(player: Agent, opponent: Agent, deals: int, seed: int = 0) -> float:
    """Points per deal of team 0, all seats of which one plays, less the mean of the other teams'.

    Raises:
        IllegalActionError: somebody has chosen an action that is not legal.
    """
    rules = player.rules
    games = Games(rules, deals, seed=seed, episode="deal", autoreset=False)
    observations, action_masks = games.reset()
    total = np.zeros(deals)
    actions = np.zeros(deals, np.int64)
    while not games.terminated.all():
        is_open = ~games.terminated
        is_ours = is_open & (games.seats % rules.teams == 0)
        for rows, asked in ((is_ours, player), (is_open & ~is_ours, opponent)):
            if rows.any():
                actions[rows] = asked(observations[rows], action_masks[rows])
        total += games.step(actions)[0][:, 0]
    return round(float(total.mean()), 6)


def _cpu_seconds() -> float:
    """Seconds of processor time that this process and its ended children have used."""
    return sum(os.times()[:4])


def _saved_folder(rules: GameRules) -> Path:
    """The folder of the saved player that is to play these rules."""
    name = os.environ.get("RECIPE")
    if not name:
        raise ValueError("set RECIPE to the folder that the recipe has written: RECIPE=runs/sb3 smear eval ...")
    file = Path(name) / "recipe.json"
    if not file.is_file():
        raise ValueError(f"RECIPE={name} is not the folder of a recipe: there is no recipe.json in it")
    game = json.loads(file.read_text(encoding="utf-8"))["game"]
    if make_rules(game) != rules:
        raise ValueError(f"RECIPE={name} was trained for {game}, not for {rules.name}")
    return Path(name).resolve()  # RLlib reads no other
