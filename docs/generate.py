"""Writes docs/tables.md, the tables of docs/probes.md and docs/training.md, the README's ladder: `make docs`."""

import json
import re
from pathlib import Path
from typing import Any

from smear_agents.learner_view import ViewOptions, view_table
from smear_env import PRESETS
from smear_env.actions import NUM_ACTIONS, actions_table
from smear_env.observe import observation_size, observation_table, state_size
from smear_env.rules import GameRules, rules_table
from smear_train.console import with_interval
from smear_train.learning.config import config_table
from smear_train.probe import probes_table

PAGE = Path(__file__).parent / "tables.md"
PROBES = Path(__file__).parent / "probes.md"
TRAINING = Path(__file__).parent / "training.md"
README = Path(__file__).parents[1] / "README.md"
RESULTS = Path(__file__).parent / "results"
"""What the commands of the README's ladder have printed with --json."""
RUNS = RESULTS / "runs"
"""What training runs have logged."""


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def page() -> str:
    """The whole page."""
    parts = [
        "# Actions, observations, options\n\nMade from the code by `make docs`; a test keeps it so.\n",
        f"## Actions\n\n`Discrete({NUM_ACTIONS})`, the same in every game of the family.\n",
        table(("number", "text", "meaning"), list(actions_table())),
        "## Observations\n\nint8 vectors. Seats and teams are relative: 0 is the seat that looks (or its team), 1 the "
        "next to its left, and so on. Cards stand in the order of their numbers, those that a pack lacks left out.\n",
    ]
    for name, rules in PRESETS.items():
        size = observation_size(rules)
        parts.append(f"### {name}\n\n{size} numbers; `state()` has {state_size(rules)}.\n")
        parts.append(table(("block", "numbers", "width", "meaning"), list(observation_table(rules))))
    parts.append("## Rule options\n\nKeywords, with Schmier's values. RULES.md says what they do, clause by clause.\n")
    parts.append(table(("keyword", "Schmier", "meaning", "implemented"), list(rules_table(GameRules()))))
    return "\n".join(parts)


def probes_page() -> str:
    """The page of the probe suite, its table made anew."""
    head = ("probe", "what is asked", "the complaint", "source", "Schmier", "Four Point")
    rows = table(head, [tuple(row) for row in probes_table()])
    return re.sub(r"^\| probe .*?\n(?!\|)", lambda _: rows, PROBES.read_text(encoding="utf-8"), flags=re.M | re.S)


def training_page() -> str:
    """The page on training, its tables of features and of keys made anew from the code."""
    page = TRAINING.read_text(encoding="utf-8")
    rows = table(("key", "default", "meaning"), list(config_table()))
    page = re.sub(r"^\| key .*?\n(?!\|)", lambda _: rows, page, flags=re.M | re.S)
    seen = table(("block", "Schmier", "what is true"), list(view_table(PRESETS["schmier"], ViewOptions(scores=True))))
    return re.sub(r"^\| block .*?\n(?!\|)", lambda _: seen, page, flags=re.M | re.S)


def ladder_row(result: dict[str, Any]) -> tuple[object, ...]:
    """A row of the ladder from the document of an evaluation."""
    won = ""
    if result["win_rate"] is not None:
        won = f"; games won {result['win_rate']:.1%} ({result['win_low']:.1%} to {result['win_high']:.1%})"
    return (
        f"{result['deals']:,} {result['episode']}s",
        with_interval(result["mean"], result["ci_low"], result["ci_high"]) + won,
        f"{result['ms_per_decision_a']:.3g} / {result['ms_per_decision_b']:.3g}",
        f"`{result['command'].removeprefix('smear ')}`",
    )


def readme() -> str:
    """The README, its ladder made anew."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    head = ("deals", "points a deal, 95% interval", "ms a decision", "smear ...")
    ladder = table(head, [ladder_row(result) for result in results])
    page = re.sub(r"^\| deals .*?\n(?!\|)", lambda _: ladder, README.read_text(encoding="utf-8"), flags=re.M | re.S)
    head = ("smear train ...", "seed", "decisions", "minutes", "against `club`", "against `greedy`")
    rows = table(head, [run_row(path) for path in sorted(RUNS.iterdir())])
    return re.sub(r"^\| smear train .*?\n(?!\|)", lambda _: rows, page, flags=re.M | re.S)


def run_row(folder: Path) -> tuple[object, ...]:
    """A row of the table of training runs: how the policy did at the end of one."""
    lines = [json.loads(line) for line in (folder / "eval.jsonl").read_text(encoding="utf-8").splitlines()]
    last = {line["opponent"]: line for line in lines}
    config, _, seed = folder.name.rpartition("-s")
    points = [with_interval(*(last[name][key] for key in ("mean", "ci_low", "ci_high"))) for name in ("club", "greedy")]
    club = last["club"]
    return f"`configs/train/{config}.toml`", seed, f"{club['decisions']:,}", f"{club['minutes']:.1f}", *points


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
    PROBES.write_text(probes_page(), encoding="utf-8")
    TRAINING.write_text(training_page(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
