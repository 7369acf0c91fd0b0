"""What the verbs of `smear` share: exit codes, errors, tables, progress, and the choice of a game."""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, TextIO

OK, FAILED, WRONG_USAGE, CHECK_SAID_NO, EXTRA_MISSING, INTERRUPTED = 0, 1, 2, 3, 4, 130


class UsageError(Exception):
    """Wrong usage or configuration; the message says what was given, what is allowed, what to do."""


class Parser(argparse.ArgumentParser):
    """A parser that leaves the exit codes to `main`."""

    def error(self, message: str) -> Any:
        """Raises UsageError instead of printing a page of usage."""
        raise UsageError(f"{message}\nSee `{self.prog} --help`.")


def add_game(parser: Parser, positional: bool, required: bool = True) -> None:
    """Adds the choice of a game and of single rules."""
    text = "a preset (see `smear list`) or the path of a rules file (.toml)"
    if positional:
        parser.add_argument("game", metavar="GAME", help=text)
    else:
        parser.add_argument("--game", required=required, metavar="GAME", help=text)
    parser.add_argument(
        "--rule", action="append", default=[], metavar="NAME=VALUE", help="change a single rule option; may be repeated"
    )


def game_rules(arguments: argparse.Namespace) -> Any:
    """The rules asked for; UsageError if there are none such."""
    from smear_env.rules import make_rules, parse_options

    if arguments.game is None:
        raise UsageError("the following arguments are required: --game")
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


def check_seed(seed: int) -> None:
    """Raises UsageError for a seed out of range."""
    if not 0 <= seed < 2**64:
        raise UsageError(f"--seed {seed} is not allowed; allowed: 0..2^64 - 1")


def check_seed_and_count(arguments: argparse.Namespace) -> None:
    """Raises UsageError for a seed or a number of deals out of range."""
    check_seed(arguments.seed)
    if arguments.n < 1:
        raise UsageError(f"-n {arguments.n} is not allowed; allowed: 1 or more")


def deal_words(game: str, options: Sequence[str], deals: int, seed: int) -> list[str]:
    """The words of a command line that say which deals of which game are played."""
    words = ["--game", game]
    for option in options:
        words += ["--rule", option]
    return [*words, "--deals", str(deals), "--seed", str(seed)]


def print_result(arguments: argparse.Namespace, document: dict[str, Any], text: str) -> int:
    """Prints the result as asked for, as a document or as text."""
    print(json.dumps(document, indent=2) if arguments.json else text)
    return OK


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells in columns, the first row being the head."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def signed(value: float | None) -> str:
    """A number of points."""
    return "-" if value is None else f"{value:+.3f}"


def percent(value: float | None) -> str:
    """A share."""
    return "-" if value is None else f"{100 * value:.1f}%"


def with_interval(mean: float, low: float | None, high: float | None) -> str:
    """A number of points with its interval, if it has one."""
    return signed(mean) if low is None else f"{signed(mean)} ({signed(low)} to {signed(high)})"


def points(result: dict[str, Any]) -> str:
    """Points a deal with their interval: of any document, or line of a log, that holds them as `mean`, `ci_low`, ..."""
    return with_interval(result["mean"], result["ci_low"], result["ci_high"])


def games_won(result: dict[str, Any]) -> str:
    """The share of games won with its interval, if it has one: of a document or line that holds them as `win_rate`."""
    if result["win_low"] is None:
        return percent(result["win_rate"])
    return f"{percent(result['win_rate'])} ({percent(result['win_low'])} to {percent(result['win_high'])})"


def error_line(error: BaseException) -> str:
    """An error of anybody's code in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def shows_live(stream: TextIO) -> bool:
    """Whether what is written there may be rewritten: a terminal that takes control codes, and the user lets it."""
    can = os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return stream.isatty() and can and not os.environ.get("NO_COLOR")


class Progress:
    """Progress on stderr: a line rewritten on a terminal, elsewhere one line every ten seconds."""

    def __init__(self, total: int, what: str, quiet: bool) -> None:
        self.total, self.what, self.quiet = total, what, quiet
        self.on_terminal = shows_live(sys.stderr)
        self.last = time.monotonic()

    def __call__(self, done: int) -> None:
        """Tells how much is done."""
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
