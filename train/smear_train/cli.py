"""The command line `smear`. What a verb needs is imported when it is asked for, so that `--help` is quick."""

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

OK, FAILED, WRONG_USAGE, CHECK_SAID_NO, EXTRA_MISSING, INTERRUPTED = 0, 1, 2, 3, 4, 130


class UsageError(Exception):
    """Wrong usage or configuration; the message says what was given, what is allowed, what to do."""


class Parser(argparse.ArgumentParser):
    """A parser that leaves the exit codes to `main`."""

    def error(self, message: str) -> Any:
        """Raises UsageError instead of printing a page of usage."""
        raise UsageError(f"{message}\nSee `{self.prog} --help`.")


def _parser() -> Parser:
    parser = Parser(prog="smear", description="Schmier, Four Point and their family: play, simulate, measure.")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)

    def verb(name: str, run: Callable[[argparse.Namespace], int], text: str) -> Parser:
        sub = verbs.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        sub.add_argument("--json", action="store_true", help="print one JSON document")
        sub.add_argument("--quiet", action="store_true", help="no progress on stderr")
        return sub  # type: ignore[no-any-return]  # it is of parser_class

    verb("list", _list, "list the games, the agents and the environments")
    sub = verb("rules", _rules, "show the rule options of a game, or its rules in words")
    _add_game(sub, positional=True)
    sub.add_argument("--text", action="store_true", help="print RULES.md, the rules in words")
    sub = verb("sim", _sim, "play deals with given players and count what happens")
    _add_game(sub, positional=False)
    sub.add_argument(
        "--players", required=True, metavar="A,B,...", help="agents: one for all, one a team, or one a seat"
    )
    sub.add_argument("-n", type=int, default=1000, metavar="N", help="deals (default 1000)")
    sub.add_argument("--seed", type=int, default=0, help="of all chance (default 0)")
    sub.add_argument("--show", action="store_true", help="play one whole game and print it trick by trick instead")
    sub = verb("bench", _bench, "measure decisions per second on one core, or the exact solver")
    sub.add_argument(
        "what", nargs="?", choices=("speed", "solver"), default="speed", help="what to measure (default speed)"
    )
    sub.add_argument("-n", type=int, default=200, metavar="N", help="solver: positions of each kind (default 200)")
    sub.add_argument("--seconds", type=float, default=0.5, help="length of one run (default 0.5)")
    sub.add_argument("--runs", type=int, default=5, help="runs of each, of which the median is shown (default 5)")
    verb("doctor", _doctor, "check the installation and print what a bug report needs")
    sub = verb("demo", _demo, "a whole game of each kind, then 2,000 deals of each: greedy against random")
    sub.add_argument("--seed", type=int, default=0, help="of all chance (default 0)")
    sub.add_argument("-n", type=int, default=2000, metavar="N", help="deals (default 2000)")
    return parser


def _add_game(parser: Parser, positional: bool) -> None:
    text = "a preset (see `smear list`) or the path of a rules file (.toml)"
    if positional:
        parser.add_argument("game", metavar="GAME", help=text)
    else:
        parser.add_argument("--game", required=True, metavar="GAME", help=text)
    parser.add_argument(
        "--rule", action="append", default=[], metavar="NAME=VALUE", help="change a single rule option; may be repeated"
    )


def _game_rules(arguments: argparse.Namespace) -> Any:
    from smear_env.rules import make_rules, parse_options

    texts = {}
    for rule in arguments.rule:
        name, equals, value = rule.partition("=")
        if not equals:
            raise UsageError(f"--rule {rule!r} is not NAME=VALUE, as in --rule target=11")
        texts[name] = value
    try:
        return make_rules(arguments.game, **parse_options(texts))
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error


def _check_seed_and_count(arguments: argparse.Namespace) -> None:
    if not 0 <= arguments.seed < 2**64:
        raise UsageError(f"--seed {arguments.seed} is not allowed; allowed: 0..2^64 - 1")
    if arguments.n < 1:
        raise UsageError(f"-n {arguments.n} is not allowed; allowed: 1 or more")


def _print(arguments: argparse.Namespace, document: dict[str, Any], text: str) -> int:
    print(json.dumps(document, indent=2) if arguments.json else text)
    return OK


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


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
        f"{title.capitalize()}\n" + _table([("  " + name, meaning) for name, meaning in entries.items()])
        for title, entries in document.items()
    )
    return _print(arguments, document, text)


def _rules(arguments: argparse.Namespace) -> int:
    from importlib.resources import files

    from smear_env.rules import rules_table

    rules = _game_rules(arguments)
    if arguments.text:
        words = files("smear_env").joinpath("RULES.md").read_text(encoding="utf-8")
        return _print(arguments, {"game": rules.name, "text": words}, words)
    table = rules_table(rules)
    document = {
        "game": rules.name,
        "options": {
            name: {"value": value, "meaning": text, "allowed": allowed} for name, value, text, allowed in table
        },
    }
    text = f"{rules.name}: {rules.players} seats, {rules.teams} teams, {rules.deck_size} cards\n\n"
    return _print(arguments, document, text + _table([("option", "value", "meaning", "allowed"), *table]))


class _Progress:
    """Progress on stderr: a line rewritten on a terminal, elsewhere one line every ten seconds."""

    def __init__(self, total: int, what: str, quiet: bool) -> None:
        self.total, self.what, self.quiet = total, what, quiet
        self.on_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.last = time.monotonic()

    def __call__(self, done: int) -> None:
        if self.quiet:
            return
        now = time.monotonic()
        if self.on_terminal:
            end = "\n" if done == self.total else "\r"
            sys.stderr.write(f"{done:,} of {self.total:,} {self.what}{end}")
        elif now - self.last >= 10:
            sys.stderr.write(f"{done:,} of {self.total:,} {self.what}\n")
            self.last = now
        sys.stderr.flush()


def _sim(arguments: argparse.Namespace) -> int:
    from smear_train.show import show_game

    rules, players = _game_rules(arguments), arguments.players.split(",")
    _check_seed_and_count(arguments)
    _check_players(rules, players)
    if arguments.show:
        lines: list[str] = []
        show_game(rules, players, arguments.seed, lines.append)
        return _print(arguments, {"game": rules.name, "players": players, "lines": lines}, "\n".join(lines))
    document, text = _simulate(rules, players, arguments, _sim_command(arguments))
    return _print(arguments, document, text)


def _check_players(rules: Any, players: list[str]) -> None:
    from smear_agents import make_agents

    try:
        make_agents(players, rules)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _sim_command(arguments: argparse.Namespace) -> str:
    options = [f"--rule {shlex.quote(rule)}" for rule in arguments.rule]
    words = [f"smear sim --game {shlex.quote(arguments.game)} --players {shlex.quote(arguments.players)}", *options]
    return " ".join([*words, f"-n {arguments.n} --seed {arguments.seed}"])


def _simulate(
    rules: Any, players: list[str], arguments: argparse.Namespace, command: str
) -> tuple[dict[str, Any], str]:
    """Plays the deals; returns what is counted as data and as text."""
    from smear_train.sim import simulate, summary

    progress = _Progress(arguments.n, "deals", arguments.quiet)
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
    return document, f"{heading}\n{_table(rows)}\n{command}"


def _bench(arguments: argparse.Namespace) -> int:
    from smear_train.bench import bench, bench_solver, format_rows

    if arguments.runs < 1 or arguments.seconds <= 0 or arguments.n < 1:
        raise UsageError("--runs, --seconds and -n must be more than 0")
    rows = []
    to_come = bench_solver(arguments.n) if arguments.what == "solver" else bench(arguments.seconds, arguments.runs)
    for row in to_come:
        rows.append(row)
        if not arguments.quiet:
            sys.stderr.write(" ".join(str(value) for value in list(row.values())[:4]) + "\n")
    return _print(arguments, {"rows": rows}, format_rows(rows))


def _doctor(arguments: argparse.Namespace) -> int:
    from smear_train.doctor import diagnose, format_report

    report = diagnose()
    _print(arguments, report, format_report(report))
    return OK if all(result == "ok" for result in report["games"].values()) else FAILED


def _demo(arguments: argparse.Namespace) -> int:
    from smear_env import PRESETS
    from smear_train.show import show_game

    _check_seed_and_count(arguments)
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


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program and returns its exit code (0 ok, 1 failed, 2 wrong usage, 3 a check said no, 4, 130)."""
    words = list(sys.argv[1:] if argv is None else argv)
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
        return WRONG_USAGE
    except BrokenPipeError:
        # Whoever read our output has gone; nothing may be written to it any more, at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        print("smear: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if debug:
            raise
        print(f"smear: {type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
        return FAILED
