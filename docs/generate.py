"""Writes docs/tables.md, tables of other pages, the README's ladder, cards of the shipped players: `make docs`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from smear_agents.learner_view import ViewOptions, view_table
from smear_agents.network import policy_shape
from smear_agents.neural import PLAYERS
from smear_env import PRESETS
from smear_env.actions import NUM_ACTIONS, actions_table
from smear_env.observe import observation_size, observation_table, state_size
from smear_env.rules import GameRules, make_rules, rules_table
from smear_train.console import games_won, points
from smear_train.learning.config import TrainConfig, config_table, load_config
from smear_train.learning.export import config_digest
from smear_train.probe import probes_table

PAGE = Path(__file__).parent / "tables.md"
PROBES = Path(__file__).parent / "probes.md"
TRAINING = Path(__file__).parent / "training.md"
INTEROP = Path(__file__).parent / "interop.md"
RECIPE = Path(__file__).parent / "recipe.md"
README = Path(__file__).parents[1] / "README.md"
CONFIGS = Path(__file__).parents[1] / "configs" / "train"
RESULTS = Path(__file__).parent / "results"
"""What commands have printed with --json: the evaluations of the README's ladder, the probes of the players' cards."""
TRAINED = RESULTS / "interop"
"""Evaluations of what the libraries, and we, have trained on equally many decisions."""
ABLATIONS = RESULTS / "ablations"
"""What short runs have logged that differ in one setting, in folders VARIANT-sSEED."""
RUNS = RESULTS / "runs"
"""What training runs have logged."""
RESPONSES = RESULTS / "best_responses"
"""What runs have logged that learned to beat one player."""
CARDS = Path(__file__).parent / "players"
"""What is to be known of the shipped players, a page for each."""


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def with_table(text: str, first: str, new: str) -> str:
    """A page with the table whose head begins with a word replaced by another."""
    return re.sub(rf"^\| {re.escape(first)} .*?\n(?!\|)", lambda _: new, text, flags=re.M | re.S)


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
    return with_table(PROBES.read_text(encoding="utf-8"), "probe", rows)


def training_page() -> str:
    """The page on training, its tables of features and of keys made anew from the code."""
    page = TRAINING.read_text(encoding="utf-8")
    rows = table(("key", "default", "meaning"), list(config_table()))
    page = with_table(page, "key", rows)
    seen = table(("block", "Schmier", "what is true"), list(view_table(PRESETS["schmier"], ViewOptions(scores=True))))
    return with_table(page, "block", seen)


def results(kind: str) -> list[dict[str, Any]]:
    """The documents of one kind."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    return [document for document in documents if document["kind"] == kind]


def lines_of(path: Path) -> list[dict[str, Any]]:
    """What a run has logged, line by line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


LADDER = ("deals", "points a deal, 95% interval", "ms a decision", "smear ...")


def ladder_row(result: dict[str, Any]) -> tuple[object, ...]:
    """A row of the ladder from the document of an evaluation."""
    won = "" if result["win_rate"] is None else f"; games won {games_won(result)}"
    return (
        f"{result['deals']:,} {result['episode']}s",
        points(result) + won,
        f"{result['ms_per_decision_a']:.3g} / {result['ms_per_decision_b']:.3g}",
        f"`{result['command'].removeprefix('smear ')}`",
    )


def readme() -> str:
    """The README, its ladder made anew."""
    ladder = table(LADDER, [ladder_row(result) for result in results("evaluation")])
    page = with_table(README.read_text(encoding="utf-8"), "deals", ladder)
    head = ("smear train ...", "seed", "decisions", "minutes", "against `club`", "against `greedy`")
    rows = table(head, [run_row(path) for path in sorted(RUNS.iterdir())])
    page = with_table(page, "smear train", rows)
    head = ("beside themselves", "beside each other", "lost by it", "beside others", "smear ...")
    page = with_table(page, "beside themselves", table(head, [cross_play_row(one) for one in results("cross-play")]))
    head = ("player", "is beaten by", "decisions", "minutes", "smear train ...")
    return with_table(page, "player", table(head, [response_row(path) for path in sorted(RESPONSES.iterdir())]))


def cross_play_row(result: dict[str, Any]) -> tuple[object, ...]:
    """A row of the table of cross-play: what players come to beside themselves, each other, and other partners."""
    partners = ", ".join(f"`{one['partner']}` {points(one)}" for one in result["beside_partners"])
    together = points(result["cross_play"]) + ("" if result["kept"] is None else f", {result['kept']:.0%}")
    command = f"`{result['command'].removeprefix('smear ')}`"
    return points(result["self_play"]), together, points(result["lost"]), partners, command


def response_row(folder: Path) -> tuple[object, ...]:
    """A row of the table of best responses: by how much a player was beaten at the end of a run that learned to."""
    last = lines_of(folder / "eval.jsonl")[-1]
    config = load_config(folder / "config.toml")
    words = [f"configs/train/{config.game}.toml --best-response-to {last['opponent']}", *settings(config, config.game)]
    amounts = f"{last['decisions']:,}", f"{last['minutes']:.0f}"
    return f"`{last['opponent']}`", points(last), *amounts, f"`{' '.join(words)}`"


def run_row(folder: Path) -> tuple[object, ...]:
    """A row of the table of training runs: how the policy did at the end of one."""
    last = {line["opponent"]: line for line in lines_of(folder / "eval.jsonl")}
    name, _, seed = folder.name.rpartition("-s")
    words = [f"configs/train/{name}.toml", *settings(load_config(folder / "config.toml"), name)]
    if name.endswith("_games"):  # goes on from the run before it
        words.append(f"--load runs/{name.removesuffix('_games')}-1/ckpt/last.safetensors")
    club, greedy = last["club"], last["greedy"]
    amounts = f"{club['decisions']:,}", f"{club['minutes']:.1f}"
    return f"`{' '.join(words)}`", seed, *amounts, points(club), points(greedy)


def settings(config: TrainConfig, name: str) -> list[str]:
    """Where a run was configured in another way than the file of that name, but for its seed and evaluations."""

    def changed(given: dict[str, Any], usual: dict[str, Any], prefix: str = "") -> Iterator[str]:
        for key, value in given.items():
            if isinstance(value, dict):
                yield from changed(value, usual.get(key, {}), f"{prefix}{key}.")
            elif key not in usual or value != usual[key]:
                yield f"--set {prefix}{key}={json.dumps(value)}"

    usual = load_config(CONFIGS / f"{name}.toml")
    alike = msgspec.structs.replace(config, seed=usual.seed, evaluation=usual.evaluation)
    return list(changed(msgspec.to_builtins(alike), msgspec.to_builtins(usual)))


BUDGET = (
    ("sb3", "sb3-contrib, MaskablePPO", "examples/train_sb3.py"),
    ("rllib", "RLlib, PPO", "examples/train_rllib.py"),
    ("rlcard_dmc", "RLCard, DMC", "examples/train_rlcard.py --player dmc"),
    ("rlcard_nfsp", "RLCard, NFSP", "examples/train_rlcard.py --player nfsp"),
    ("ppo_raw", "ours, PPO, the table alone", "schmier_scratch.toml --set updates=75 --set view.helpers=false"),
    ("ppo", "ours, PPO, with helpers", "schmier_scratch.toml --set updates=75"),
    ("ppo_estimates", "ours, PPO, with estimates", "schmier_scratch.toml --set updates=75 --set view.estimates=true"),
    ("ppo_clone", "ours, PPO, from a clone of `club`", "schmier_small.toml --set updates=45 --set clone.updates=30"),
    ("dmc", "ours, DMC, with helpers", "schmier_dmc.toml --set updates=80 --set view.estimates=false"),
    ("dmc_estimates", "ours, DMC, with estimates", "schmier_dmc.toml --set updates=90"),
)
"""What has learned from about 200,000 decisions: the name of its results, what it is, what trains it."""


def interop_page() -> str:
    """The page on other libraries, its table of results made anew."""
    rows: list[tuple[object, ...]] = []
    for name, what, trained_by in BUDGET:
        results = [
            json.loads((TRAINED / f"{name}-{opponent}.json").read_text(encoding="utf-8"))
            for opponent in ("club", "expert")
        ]
        rows.append(
            (what, f"`{trained_by}`", *map(points, results), f"`{results[0]['command'].removeprefix('smear ')}`")
        )
    new = table(("what learned", "trained by", "against `club`", "against `expert`", "smear ..."), rows)
    return with_table(INTEROP.read_text(encoding="utf-8"), "what learned", new)


VARIANTS = (
    ("base", "as it is", ""),
    ("no_clone", "no clone, no scripted player at the tables", "schmier_scratch, view.estimates=true"),
    ("no_estimates", "cards not described by what `club` works out", "view.estimates=false"),
    ("no_helpers", "the table alone, nothing worked out", "view.helpers=false"),
    ("suits_as_named", "suits not in a fixed order", "view.canonical_suits=false"),
    ("all_hands", "the critic sees all hands", 'network.critic="all_hands"'),
    ("no_pool", "no other players at the tables", "opponents.share=0"),
    ("no_entropy", "no entropy bonus", "ppo.entropy=0, ppo.final_entropy=0"),
)
"""What was varied: the name of its runs, in words, and the settings."""


def recipe_page() -> str:
    """The page on the recipe, its table of short runs made anew: means of the seeds, the lowest and the highest."""
    rows: list[tuple[object, ...]] = []
    for name, words, settings in VARIANTS:
        runs = [lines_of(folder / "eval.jsonl") for folder in sorted(ABLATIONS.glob(f"{name}-s*"))]
        cells = []
        for lines in zip(*runs, strict=True):
            means = [line["mean"] for line in lines]
            cells.append(f"{sum(means) / len(means):+.3f} ({min(means):+.3f} to {max(means):+.3f})")
        decisions = sum(run[-1]["decisions"] for run in runs) / len(runs)
        cells = [*[""] * (4 - len(cells)), *cells]  # without a clone there is nothing to judge at the beginning
        rows.append((words, f"`{settings}`" if settings else "", *cells, f"{decisions / 1e6:.1f} M"))
    head = ("variant", "settings", "clone", "16 updates", "32", "48", "decisions")
    new = table(head, rows)
    return with_table(RECIPE.read_text(encoding="utf-8"), "variant", new)


# --- Cards of the shipped players --------------------------------------------------------------------------------


def player_data(path: Path) -> dict[str, Any]:
    """What `smear export` has written with the weights: the head of a safetensors file is JSON after its length."""
    content = path.read_bytes()
    head = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    bits = {"F16": 16, "F32": 32}[head["policy.weight.0"]["dtype"]]
    return {**json.loads(head["__metadata__"]["smear"]), "bits": bits, "bytes": len(content)}


def run_of(data: dict[str, Any]) -> Path | None:
    """The folder in docs/results/runs of the run that a player is from; None if it is not there."""
    for folder in sorted(RUNS.iterdir()):
        if config_digest(msgspec.to_builtins(load_config(folder / "config.toml"))) == data["config"]:
            return folder
    return None


def data_row(config: TrainConfig) -> str:
    """What a player was trained on, in words."""
    words = [f"deals played by itself, {config.deals:,} an update; no games of people"]
    if config.clone.teacher:
        words.insert(0, f"first {config.clone.updates} updates of cloning `{config.clone.teacher}`")
    if config.opponents.share:
        others = ", ".join(f"`{agent}`" for agent in config.opponents.agents)
        words.append(f"at {config.opponents.share:.0%} of the tables against {others} and earlier selves")
    words.append(f"algorithm {config.algorithm}, reward {config.reward}, critic {config.network.critic}")
    return "; ".join(words)


def about_player(data: dict[str, Any]) -> str:
    """The table at the head of a card."""
    rules, view, hidden = make_rules(**data["rules"]), ViewOptions(**data["view"]), tuple(data["hidden"])
    shape, run = policy_shape(rules, view, hidden), data["run"]
    stages = [*data.get("earlier", []), data]
    folders = [run_of(stage) for stage in stages]
    units, last = " x ".join(map(str, hidden)), " of the last run" if len(stages) > 1 else ""
    versions = ", ".join(f"{name} {run[name]}" for name in ("python", "numpy", "numba", "torch") if name in run)
    trained = [f"{stage['decisions']:,} decisions, {stage['update']:,} updates" for stage in stages]
    configs = [
        f"[{folder.name}](../results/runs/{folder.name}/config.toml), with the log of the run beside it"
        if folder
        else f"digest `{stage['config']}`; the log of the run is not in docs/results/runs"
        for stage, folder in zip(stages, folders)
    ]
    used = [data_row(load_config(folder / "config.toml")) if folder else "unknown" for folder in folders]
    rows: list[tuple[object, ...]] = [
        ("game", rules.name),
        ("network", f"{shape.sizes[0]:,} features of what its seat sees, {units} units, {shape.sizes[-1]} outputs"),
        ("weights", f"{shape.num_weights:,} of {data['bits']} bits, {data['bytes']:,} bytes"),
        ("data", "; then ".join(used)),
        ("trained for", "; then ".join(trained)),
        ("hours", f"{sum(s['seconds'] for s in stages) / 3600:.2f} of playing and learning, evaluations not counted"),
        ("machine", f"{run.get('cores', '?')} cores; {versions}"),
        (f"seed{last}", run.get("seed", "unknown")),
        (f"source{last}", f"commit `{run.get('commit', 'unknown')}`"),
        (f"command{last}", f"`{run.get('command', 'unknown')}`"),
        ("configuration", "; then ".join(configs)),
    ]
    return table(("", ""), rows)


def card(path: Path) -> str:
    """The page of a shipped player."""
    data, name = player_data(path), f"nn:{path.stem}"
    own = re.compile(rf"(nn|{name})(\+search:\d+)?")
    matches = [
        result
        for result in results("evaluation")
        if result["game"] == data["game"] and any(own.fullmatch(result[side]) for side in "ab")
    ]
    parts = [
        f"# {name}\n\nA policy network, shipped in the package. `make docs` writes this page from its file, the log of "
        "its run and the documents in [docs/results](../results). How such players are made: "
        "[training](../training.md).\n",
        about_player(data),
        "## Results\n\nPoints of A's teams less those of B's, with the 95% interval by bootstrap over deals that were "
        "never trained on. Milliseconds are those of A and B.\n",
        table(LADDER, [ladder_row(result) for result in matches]) if matches else "None yet.\n",
        "## Known weaknesses\n\n" + weaknesses(name, data["game"]),
    ]
    return "\n".join(parts)


def weaknesses(name: str, game: str) -> str:
    """How many positions of each probe a player passes, beside others, and those that it does not."""
    probes = [one for one in results("probes") if one["game"] == game]
    own = next((one for one in probes if one["agent"] in (name, "nn")), None)
    if own is None:
        return f"Not asked yet: `smear probe {name} --game {game} --json` into docs/results.\n"
    others = [one for one in probes if one is not own]
    head = ("[probe](../probes.md)", "what is asked", f"`{own['agent']}`", *(f"`{one['agent']}`" for one in others))
    rows = [
        (probe["id"], probe["title"], *(passed(one["probes"][k]) for one in (own, *others)))
        for k, probe in enumerate(own["probes"])
    ]
    rows.append(("all", "", *(passed(one) for one in (own, *others))))
    failures = [
        f"* {failure['position']}: {failure['played'] or 'nothing legal'}; accepted: {', '.join(failure['accepted'])}"
        for probe in own["probes"]
        for failure in probe["failures"]
    ]
    return "\n".join([table(head, rows), f"Failed, by `{own['command']}`:\n", *failures, ""])


def passed(counts: dict[str, Any]) -> str:
    """So many of so many."""
    return f"{counts['passed']} of {counts['positions']}"


def cards() -> dict[Path, str]:
    """The pages of all shipped players."""
    return {CARDS / f"{path.stem}.md": card(path) for path in sorted(PLAYERS.glob("*.safetensors"))}


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
    PROBES.write_text(probes_page(), encoding="utf-8")
    TRAINING.write_text(training_page(), encoding="utf-8")
    INTEROP.write_text(interop_page(), encoding="utf-8")
    RECIPE.write_text(recipe_page(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    CARDS.mkdir(exist_ok=True)
    for path, text in cards().items():
        path.write_text(text, encoding="utf-8")
