"""The command line `smear`. What a verb needs is imported when it is asked for, so that `--help` is quick."""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from smear_train import evaluating, training
from smear_train.console import (
    CHECK_SAID_NO,
    EXTRA_MISSING,
    FAILED,
    INTERRUPTED,
    OK,
    WRONG_USAGE,
    Parser,
    Progress,
    UsageError,
    add_game,
    check_seed,
    check_seed_and_count,
    error_line,
    format_table,
    game_rules,
    print_result,
)

EXTRA_OF = {
    "scipy": "eval",
    "choix": "eval",
    "matplotlib": "report",
    "jinja2": "report",
    "torch": "train",
    "safetensors": "train",
    "rich": "train",
    "tensorboard": "train",
    "tomli_w": "train",
    "ray": "ray",
}
"""The extra of this package that brings a module."""


def _parser() -> Parser:
    parser = Parser(prog="smear", description="Schmier, Four Point and their family: play, simulate, measure.")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)

    def verb(name: str, run: Callable[[argparse.Namespace], int], text: str) -> Parser:
        sub = verbs.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        sub.add_argument("--json", action="store_true", help="print one JSON document")
        sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
        return sub  # it is of parser_class

    verb("list", _list, "list the games, the agents and the environments")
    sub = verb("rules", _rules, "show the rule options of a game, or its rules in words")
    add_game(sub, positional=True)
    sub.add_argument("--text", action="store_true", help="print RULES.md, the rules in words")
    sub = verb("sim", _sim, "play deals with given players and count what happens")
    add_game(sub, positional=False)
    sub.add_argument(
        "--players", required=True, metavar="A,B,...", help="agents: one for all, one a team, or one a seat"
    )
    sub.add_argument("-n", type=int, default=1000, metavar="N", help="deals (default 1000)")
    sub.add_argument("--seed", type=int, default=0, help="of all chance (default 0)")
    sub.add_argument("--show", action="store_true", help="play one whole game and print it trick by trick instead")
    sub = verb("probe", _probe, "ask a player in positions that card players complained about bots with")
    sub.add_argument("agent", metavar="AGENT", help="an agent, as in `smear sim --players`")
    sub.add_argument("--game", metavar="GAME", help="ask positions of this preset only")
    sub.add_argument("--seed", type=int, default=0, help="of all chance (default 0)")
    sub.add_argument(
        "-n", type=int, default=200, metavar="N", help="deals of self-play that show how it bids (default 200)"
    )
    sub.add_argument("--show", action="store_true", help="print every position that it failed")
    sub = verb("exploit", _exploit, "say exactly how much agents can be beaten by, in a game small enough for it")
    sub.add_argument("agents", nargs="+", metavar="AGENT", help="agents, checkpoints or training runs")
    add_game(sub, positional=False)
    sub.add_argument("--sample", action="store_true", help="networks draw by the probabilities of their outputs")
    sub.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="take the mean of how an agent plays with N seeds (default 1)"
    )
    sub = verb("hint", _hint, "say what players would do in a position, and what each action comes to")
    sub.add_argument("position", metavar="POSITION", help="a position file, .toml or .json (docs/hint.md)")
    sub.add_argument("--agents", default="greedy,club,pimc:30", metavar="A,B,...", help="default greedy,club,pimc:30")
    sub.add_argument("--seed", type=int, default=0, help="of the players' chance (default 0)")
    sub.add_argument("--exact", action="store_true", help="also solve it with ALL CARDS KNOWN; only in the play")
    sub.add_argument(
        "--objective", choices=("score", "points", "margin", "made"), help="with --exact: of what (default score)"
    )
    sub = verb("bench", _bench, "measure decisions per second on one core, the exact solver, or training")
    sub.add_argument(
        "what", nargs="?", choices=("speed", "solver", "train"), default="speed", help="what to measure (default speed)"
    )
    sub.add_argument("config", nargs="?", metavar="CONFIG", help="train: a TOML file (default: Schmier, all defaults)")
    sub.add_argument("-n", type=int, default=200, metavar="N", help="solver: positions of each kind (default 200)")
    sub.add_argument("--seconds", type=float, default=0.5, help="length of one run (default 0.5)")
    sub.add_argument("--runs", type=int, default=5, help="runs of each (default 5); train: updates")
    verb("doctor", _doctor, "check the installation and print what a bug report needs")
    sub = verb("demo", _demo, "a whole game of each kind, then 2,000 deals of each: greedy against random")
    sub.add_argument("--seed", type=int, default=0, help="of all chance (default 0)")
    sub.add_argument("-n", type=int, default=2000, metavar="N", help="deals (default 2000)")
    evaluating.add_verbs(verb)
    training.add_verbs(verb)
    return parser


def _list(arguments: argparse.Namespace) -> int:
    from smear_agents import AGENTS
    from smear_env import PRESETS

    games = {name: f"{r.players} seats, {r.teams} teams, {r.deck_size} cards" for name, r in PRESETS.items()}
    agents = {name: entry.meaning for name, entry in AGENTS.items()}
    environments = {
        "smear_env.schmier_v0": "PettingZoo, also smear/schmier-v0",
        "smear_env.four_point_v0": "PettingZoo, also smear/four_point-v0",
        "smear_env.Games": "N games side by side",
    }
    document = {"games": games, "agents": agents, "environments": environments}
    text = "\n\n".join(
        f"{title.capitalize()}\n" + format_table([("  " + name, meaning) for name, meaning in entries.items()])
        for title, entries in document.items()
    )
    return print_result(arguments, document, text)


def _rules(arguments: argparse.Namespace) -> int:
    from importlib.resources import files

    from smear_env.rules import rules_table

    rules = game_rules(arguments)
    if arguments.text:
        words = files("smear_env").joinpath("RULES.md").read_text(encoding="utf-8")
        return print_result(arguments, {"game": rules.name, "text": words}, words)
    table = rules_table(rules)
    document = {
        "game": rules.name,
        "options": {
            name: {"value": value, "meaning": text, "allowed": allowed} for name, value, text, allowed in table
        },
    }
    text = f"{rules.name}: {rules.players} seats, {rules.teams} teams, {rules.deck_size} cards\n\n"
    return print_result(arguments, document, text + format_table([("option", "value", "meaning", "allowed"), *table]))


def _sim(arguments: argparse.Namespace) -> int:
    from smear_train.show import show_game

    rules, players = game_rules(arguments), arguments.players.split(",")
    check_seed_and_count(arguments)
    _check_players(rules, players)
    if arguments.show:
        lines: list[str] = []
        show_game(rules, players, arguments.seed, lines.append)
        return print_result(arguments, {"game": rules.name, "players": players, "lines": lines}, "\n".join(lines))
    document, text = _simulate(rules, players, arguments, _sim_command(arguments))
    return print_result(arguments, document, text)


def _check_players(rules: Any, players: list[str]) -> None:
    from smear_agents import make_agents

    try:
        make_agents(players, rules)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _check_agent(rules: Any, name: str) -> None:
    """That there is such a single player. A foreign one that cannot be made is the business of whoever asks it."""
    from smear_agents import make_agent

    try:
        make_agent(name, rules)
    except ValueError as error:
        raise UsageError(str(error)) from error
    except Exception:  # anybody's code may raise anything
        return


def _sim_command(arguments: argparse.Namespace) -> str:
    options = [f"--rule {shlex.quote(rule)}" for rule in arguments.rule]
    words = [f"smear sim --game {shlex.quote(arguments.game)} --players {shlex.quote(arguments.players)}", *options]
    return " ".join([*words, f"-n {arguments.n} --seed {arguments.seed}"])


def _simulate(
    rules: Any, players: list[str], arguments: argparse.Namespace, command: str
) -> tuple[dict[str, Any], str]:
    """Plays the deals; returns what is counted as data and as text."""
    from smear_train.sim import simulate, summary

    progress = Progress(arguments.n, "deals", arguments.quiet)
    counts = summary(simulate(rules, players, arguments.n, arguments.seed, progress))
    document = {"game": rules.name, "players": players, "seed": arguments.seed, **counts, "command": command}
    rows = [("team", "players", "points/deal", "+-", "bids", "made", "set", "mean bid")]
    for team, row in enumerate(counts["teams"]):  # type: ignore[arg-type, var-annotated]  # a list of dicts
        names = players if len(players) == 1 else players[team :: rules.teams]
        rows.append(
            (
                str(team),
                ",".join(dict.fromkeys(names)),
                f"{row['points_per_deal']:+.3f}",
                "-" if row["standard_error"] is None else f"{row['standard_error']:.3f}",
                str(row["bids"]),
                str(row["made"]),
                str(row["set"]),
                "-" if row["mean_bid"] is None else f"{row['mean_bid']:.2f}",
            )
        )
    if not arguments.quiet:
        sys.stderr.write(f"{counts['decisions_per_s']:,} decisions/s\n")
    heading = (
        f"{rules.name}: {arguments.n:,} deals, {counts['thrown_in']:,} thrown in, {counts['decisions']:,} decisions"
    )
    return document, f"{heading}\n{format_table(rows)}\n{command}"


def _probe(arguments: argparse.Namespace) -> int:
    from smear_env import PRESETS
    from smear_train.probe import load_suite, run_suite, totals

    check_seed_and_count(arguments)
    suite = load_suite()
    games = sorted({one.game for probe in suite for one in probe.positions})
    if arguments.game not in (None, *games):
        raise UsageError(f"--game {arguments.game!r} is not allowed; allowed: {', '.join(games)}")
    _check_agent(PRESETS[arguments.game or games[0]], arguments.agent)
    number = sum(arguments.game in (None, one.game) for probe in suite for one in probe.positions)
    progress = Progress(number, "positions", arguments.quiet)
    results = run_suite(arguments.agent, arguments.game, arguments.seed, arguments.n, suite, progress)
    game = f" --game {arguments.game}" if arguments.game else ""
    command = f"smear probe {shlex.quote(arguments.agent)}{game} -n {arguments.n} --seed {arguments.seed}"
    counts = totals(results)
    document = {
        "kind": "probes",
        "agent": arguments.agent,
        "game": arguments.game,
        "seed": arguments.seed,
        **counts,
        "command": command,
    }
    rows = [(one.id, f"{one.passed} of {one.positions}", one.title) for one in results]
    parts = [format_table([*rows, ("all", f"{counts['passed']} of {counts['positions']}", f"{counts['rate']:.0%}")])]
    parts += [
        f"{one.id} {each.game}: {each.made} of {each.max_bids} maximum bids made in {each.deals:,} deals; "
        f"{'passed' if each.passed else 'failed'}: {each.reason}"
        for one in results
        for each in one.calibrations
    ]
    for failure in (failure for one in results for failure in one.failures) if arguments.show else ():
        played = failure.played or "nothing legal"
        parts.append(
            f"\n=== {failure.position}\n{failure.shown}\n\nPlayed: {played}. Accepted: "
            f"{', '.join(failure.accepted)}. {failure.reason}"
        )
    return print_result(arguments, document, "\n".join([*parts, command]))


def _exploit(arguments: argparse.Namespace) -> int:
    from smear_train.exploit import as_text, behaviour, document, exploitability

    rules = game_rules(arguments)
    if arguments.seeds < 1:
        raise UsageError(f"--seeds {arguments.seeds} is not allowed; allowed: 1 or more")
    try:
        plays = [behaviour(name, rules, arguments.sample, arguments.seeds) for name in arguments.agents]
        found = exploitability(rules, plays)
    except ValueError as error:
        raise UsageError(str(error)) from error
    words = ["smear", "exploit", *arguments.agents, "--game", arguments.game]
    words += [word for rule in arguments.rule for word in ("--rule", rule)]
    words += ["--sample"] if arguments.sample else []
    words += ["--seeds", str(arguments.seeds)] if arguments.seeds > 1 else []
    result = document(rules, arguments.agents, found, arguments.sample, arguments.seeds)
    result["command"] = shlex.join(words)
    return print_result(arguments, result, as_text(result))


def _hint(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from smear_train.hint import as_text, hint, load_position

    check_seed(arguments.seed)
    if arguments.objective and not arguments.exact:
        raise UsageError("--objective is of --exact; give both")
    objective: Any = (arguments.objective or "score") if arguments.exact else None
    try:
        position = load_position(Path(arguments.position))
        table = position.table()
    except OSError as error:
        raise UsageError(f"{arguments.position} cannot be read: {error.strerror or error}") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"{arguments.position}: {error}") from error
    names = list(dict.fromkeys(arguments.agents.split(",")))
    for name in names:
        _check_agent(table.rules, name)
    try:
        found = hint(table, names, arguments.seed, objective)
    except ValueError as error:
        raise UsageError(f"{arguments.position}: {error}") from error
    words = ["smear", "hint", arguments.position, "--agents", ",".join(names), "--seed", str(arguments.seed)]
    words += ["--exact", "--objective", objective] if objective else []
    document = {"position": arguments.position, **found, "command": shlex.join(words)}
    print_result(arguments, document, "\n".join([as_text(found), document["command"]]))
    return FAILED if any(one["fault"] for one in found["answers"]) else OK


def _bench(arguments: argparse.Namespace) -> int:
    from smear_train.bench import bench, bench_solver, format_rows

    if arguments.runs < 1 or arguments.seconds <= 0 or arguments.n < 1:
        raise UsageError("--runs, --seconds and -n must be more than 0")
    if arguments.config and arguments.what != "train":
        raise UsageError(f"a configuration, {arguments.config}, is only for `smear bench train`")
    to_come = {
        "speed": lambda: bench(arguments.seconds, arguments.runs),
        "solver": lambda: bench_solver(arguments.n),
        "train": lambda: _bench_training(arguments),
    }[arguments.what]()
    rows = []
    for row in to_come:
        rows.append(row)
        if not arguments.quiet:
            sys.stderr.write(" ".join(str(value) for value in list(row.values())[:4]) + "\n")
    return print_result(arguments, {"rows": rows}, format_rows(rows))


def _bench_training(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    import torch

    from smear_train.bench_training import bench_training
    from smear_train.learning.config import TrainConfig, load_config

    torch.set_num_threads(1)
    try:
        config = load_config(arguments.config) if arguments.config else TrainConfig(game="schmier")
    except ValueError as error:
        raise UsageError(str(error)) from error
    return bench_training(config, arguments.runs)


def _doctor(arguments: argparse.Namespace) -> int:
    from smear_train.doctor import diagnose, format_report

    report = diagnose()
    print_result(arguments, report, format_report(report))
    return OK if all(result == "ok" for result in report["games"].values()) else FAILED


def _demo(arguments: argparse.Namespace) -> int:
    from smear_env import PRESETS
    from smear_train.show import show_game

    check_seed_and_count(arguments)
    document: dict[str, Any] = {}
    for game in ("schmier", "four_point"):
        rules = PRESETS[game]
        lines: list[str] = []
        show_game(rules, ["greedy"], arguments.seed, lines.append)
        if not arguments.json:
            print(f"=== A game of {game}\n" + "\n".join(lines) + "\n")
        players = ["greedy"] + ["random"] * (rules.teams - 1)
        command = f"smear sim --game {game} --players {','.join(players)} -n {arguments.n} --seed {arguments.seed}"
        counted, text = _simulate(rules, players, arguments, command)
        document[game] = {"game": lines, "simulation": counted}
        if not arguments.json:
            print(f"=== {text}\n", flush=True)
    if arguments.json:
        print(json.dumps(document, indent=2))
    return OK


def _is_about_checkpoint(error: BaseException | None) -> bool:
    """Whether a player could not be made because his checkpoint is not right."""
    if not isinstance(error, ValueError):
        return False
    from smear_agents.neural import CheckpointError

    return isinstance(error, CheckpointError)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program and returns its exit code (0 ok, 1 failed, 2 wrong usage, 3 a check said no, 4, 130)."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # players of one's own lie there; the last, so that no library is hidden
    debug = "--debug" in words
    try:
        arguments = _parser().parse_args([word for word in words if word != "--debug"])
        if arguments.verb is None:
            raise UsageError("no verb was given; see `smear --help`")
        code = int(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except UsageError as error:
        if debug:
            raise
        print(f"smear: {error}", file=sys.stderr)
        return CHECK_SAID_NO if _is_about_checkpoint(error.__cause__) else WRONG_USAGE
    except BrokenPipeError:
        # Whoever read our output has gone; nothing may be written to it any more, at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        print("smear: interrupted", file=sys.stderr)
        return INTERRUPTED
    except ModuleNotFoundError as error:
        extra = EXTRA_OF.get((error.name or "").partition(".")[0])
        if debug or extra is None:
            raise
        print(
            f"smear: {error.name} is not installed; install it with: pip install 'smear-env[{extra}]'", file=sys.stderr
        )
        return EXTRA_MISSING
    except Exception as error:
        if debug:
            raise
        print(f"smear: {error_line(error)}", file=sys.stderr)
        return FAILED
