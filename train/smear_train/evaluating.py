"""The verbs that judge players, and those that measure what players are built on.

`smear eval`, `tournament` and `cross-play` (extra `eval`), `report` (extra `report`), `fit-equity`, `fit-bids`.
"""

import argparse
import json
import math
import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smear_train.console import (
    CHECK_SAID_NO,
    OK,
    Parser,
    Progress,
    UsageError,
    add_game,
    check_seed,
    deal_words,
    format_table,
    game_rules,
    percent,
    points,
    print_result,
    signed,
    with_interval,
)

if TYPE_CHECKING:
    from smear_train.match import Crew

DEALS = 1000


def add_verbs(verb: Callable[[str, Callable[[argparse.Namespace], int], str], Parser]) -> None:
    """Adds what this module understands to the command line."""
    sub = verb("eval", _eval, "compare two agents on duplicate deals, with an interval")
    sub.add_argument(
        "agents",
        nargs="+",
        metavar="AGENT",
        help="two agents, with --protocol one: a name, package.module:Class, bid=A+exchange=B+play=C, A+partner=B",
    )
    sub.add_argument("--protocol", metavar="NAME", help="play the public benchmark of that name (docs/evaluation.md)")
    add_game(sub, positional=False, required=False)
    add_deals(sub)
    sub.add_argument(
        "--form",
        choices=("one-vs-two", "two-vs-one", "both"),
        help="with three teams: whose two they are (default both)",
    )
    sub.add_argument("--episode", choices=("deal", "game"), default="deal", help="single deals or whole games")
    sub.add_argument(
        "--rotations", choices=("all", "one"), default="all", help="tables for each deal: all seats for A, or one drawn"
    )
    sub.add_argument("--control", metavar="AGENT", help="take the deal's value to this agent for a control variate")
    sub.add_argument(
        "--gate", action="append", default=[], metavar="'A>=B+0.5'", help="exit 3 unless the interval supports it"
    )
    sub.add_argument(
        "--sprt", metavar="LOW,HIGH", help="stop once the mean is shown to be HIGH rather than LOW, or not"
    )
    add_time_limit(sub)
    sub = verb("tournament", _tournament, "everybody against everybody on the same deals, with ratings")
    sub.add_argument("--agents", required=True, metavar="A,B,...", help="two agents or more")
    add_game(sub, positional=False)
    add_deals(sub)
    sub.add_argument("--episode", choices=("deal", "game"), default="deal", help="single deals or whole games")
    sub.add_argument("--allow-cheaters", action="store_true", help="let agents in that see what is hidden")
    sub.add_argument("-o", "--out", metavar="FOLDER", help="write tournament.json, pairs.csv and ratings.csv there")
    add_time_limit(sub)
    sub = verb("cross-play", _cross_play, "how players do beside each other's partners, against an agent")
    sub.add_argument("players", nargs="+", metavar="AGENT", help="two or more, such as runs of several seeds")
    sub.add_argument("--against", default="expert", metavar="AGENT", help="who plays the other seats (default expert)")
    sub.add_argument(
        "--partner", action="append", default=[], metavar="AGENT", help="also seat each of them beside this one"
    )
    add_game(sub, positional=False)
    add_deals(sub)
    add_time_limit(sub)
    for name, run, what in (
        ("fit-equity", _fit_equity, "measure how deals end, from which the chance of winning a game is computed"),
        ("fit-bids", _fit_bids, "measure what calls come to by what the hand is worth, for expert"),
    ):
        sub = verb(name, run, what)
        sub.add_argument("--agent", default="club", help="who plays at all seats (default club)")
        add_game(sub, positional=False)
        sub.add_argument("--deals", type=int, default=200_000, metavar="N", help="deals (default 200,000)")
        sub.add_argument("--seed", type=int, default=0, help="of all chance (default 0)")
        sub.add_argument("-o", "--out", required=True, metavar="FILE", help="where to write it")
    sub = verb("report", _report, "one page (HTML) of all results and training runs in some folders")
    sub.add_argument("folders", nargs="+", metavar="FOLDER", help="with what they hold and the folders directly below")
    sub.add_argument("-o", "--out", default="report.html", metavar="FILE", help="the page (default report.html)")


def add_time_limit(parser: Parser) -> None:
    """Adds the option for how long an agent may think."""
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="for each call of an agent")


def add_deals(parser: Parser) -> None:
    """Adds the options for how much is played, and by which processes."""
    parser.add_argument("--deals", type=int, metavar="N", help=f"deals or games (default {DEALS})")
    parser.add_argument("--seed", type=int, default=0, help="of all chance (default 0)")
    parser.add_argument("--workers", type=int, default=1, help="processes; the result is the same (default 1)")
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="play on a Ray cluster instead: auto, or HOST:PORT (docs/clusters.md)"
    )
    parser.add_argument(
        "--keep", metavar="FOLDER", help="keep there what is played; the same command goes on from it after a stop"
    )


def check_deals(arguments: argparse.Namespace) -> None:
    """Fills in the number of deals; raises UsageError for a number that is out of range, or a wrong address."""
    if arguments.deals is None:
        arguments.deals = DEALS
    check_seed(arguments.seed)
    for name, value in (("--deals", arguments.deals), ("--workers", arguments.workers)):
        if value < 1:
            raise UsageError(f"{name} {value} is not allowed; allowed: 1 or more")
    if arguments.time_limit is not None and not arguments.time_limit > 0:
        raise UsageError(f"--time-limit {arguments.time_limit:g} is not allowed; allowed: more than 0")
    if arguments.ray is not None:
        from smear_train.cluster import check_address

        if arguments.workers != 1:
            raise UsageError("--workers is of this machine; with --ray every CPU of the cluster plays, so leave it out")
        try:
            check_address(arguments.ray)
        except ValueError as error:
            raise UsageError(str(error)) from error
        import ray  # noqa: F401  # missing, it is better missed before the deals than after


def _crew(arguments: argparse.Namespace) -> "Crew":
    """Who plays it, and where what is played is kept."""
    from smear_train.match import Crew

    return Crew(arguments.workers, keep=Path(arguments.keep) if arguments.keep else None, ray=arguments.ray)


def _results_alone(arguments: argparse.Namespace) -> AbstractContextManager[Any]:
    """Keeps Ray's messages, such as of a lost node, out of the results: it would print them to stdout."""
    return redirect_stdout(sys.stderr) if arguments.ray is not None else nullcontext()


def _shared(arguments: argparse.Namespace) -> dict[str, Any]:
    """What evaluations, tournaments and cross-play are all told."""
    return {
        "rules": game_rules(arguments),
        "deals": arguments.deals,
        "seed": arguments.seed,
        "time_limit": arguments.time_limit,
        "game": arguments.game,
        "options": tuple(arguments.rule),
    }


def _eval(arguments: argparse.Namespace) -> int:
    import scipy.stats  # noqa: F401  # missing, it is better missed before the deals than after

    from smear_train.evaluate import Setup, document, evaluate, parse_gate

    deals = arguments.deals
    check_deals(arguments)
    if arguments.protocol is not None:
        return _protocol(arguments, deals)
    if len(arguments.agents) != 2:
        raise UsageError(f"two agents are compared; given: {' '.join(arguments.agents)}")
    shared = _shared(arguments)
    try:
        gates = [parse_gate(text) for text in arguments.gate]
        setup = Setup(
            a=arguments.agents[0],
            b=arguments.agents[1],
            form=arguments.form,
            rotations=arguments.rotations,
            control=arguments.control,
            sprt=_parse_sprt(arguments.sprt),
            episode=arguments.episode,
            **shared,
        )
        progress = Progress(arguments.deals, "deals", arguments.quiet)
        with _results_alone(arguments):
            evaluation = evaluate(setup, _crew(arguments), progress)
    except ValueError as error:
        raise UsageError(str(error)) from error
    result = document(evaluation)
    if gates:
        result["gates"] = {gate.text: gate.is_met(evaluation.difference) for gate in gates}
    print_result(arguments, result, report(result))
    says_no = not all(result.get("gates", {}).values()) or ("sprt" in result and result["sprt"]["accepted"] != "high")
    return CHECK_SAID_NO if says_no else OK


def _protocol(arguments: argparse.Namespace, deals: int | None) -> int:
    from smear_train.protocol import load_protocol, run

    if len(arguments.agents) != 1 or arguments.game is not None or arguments.rule:
        raise UsageError("--protocol takes one agent, and names the game itself: smear eval --protocol schmier greedy")
    try:
        protocol = load_protocol(arguments.protocol)
        with _results_alone(arguments):
            result = run(
                protocol,
                arguments.agents[0],
                deals,
                _crew(arguments),
                lambda what: Progress(deals or protocol.deals, f"deals {what}", arguments.quiet),
            )
    except ValueError as error:
        raise UsageError(str(error)) from error
    result["command"] = f"smear eval --protocol {shlex.quote(arguments.protocol)} {shlex.quote(arguments.agents[0])}"
    if deals is not None:
        result["command"] += f" --deals {deals}"
    notes = [] if result["complete"] else ["(fewer deals than the protocol wants: not a row to publish)"]
    if not result["in_time"]:
        notes.append(f"(slower than {protocol.seconds_per_decision:g} s a decision: not a row to publish)")
    rule = "|---" * (result["head"].count("|") - 1) + "|"
    print_result(arguments, result, "\n".join([result["head"], rule, result["row"], *notes, result["command"]]))
    return OK if result["complete"] and result["in_time"] else CHECK_SAID_NO


def _fit_equity(arguments: argparse.Namespace) -> int:
    from smear_train.fitting import measure_outcomes

    return _fit(arguments, measure_outcomes)


def _fit_bids(arguments: argparse.Namespace) -> int:
    from smear_train.fitting import measure_bids

    return _fit(arguments, measure_bids)


def _fit(arguments: argparse.Namespace, measure: Callable[..., dict[str, Any]]) -> int:
    """Measures how deals end and writes it with the command that did."""
    rules = game_rules(arguments)
    check_seed(arguments.seed)
    if arguments.deals < 1:
        raise UsageError(f"--deals {arguments.deals} is not allowed; allowed: 1 or more")
    out = Path(arguments.out)
    if not out.parent.is_dir() or out.is_dir():  # better known now than after the deals
        raise UsageError(f"-o {out}: {'that is a folder' if out.is_dir() else f'there is no folder {out.parent}'}")
    progress = Progress(arguments.deals, "deals", arguments.quiet)
    try:
        result = measure(rules, arguments.agent, arguments.deals, arguments.seed, progress)
    except ValueError as error:
        raise UsageError(str(error)) from error
    words = ["smear", arguments.verb, "--agent", arguments.agent]
    words += deal_words(arguments.game, arguments.rule, arguments.deals, arguments.seed)
    words += ["-o", arguments.out]
    result = {"command": shlex.join(words), **result}
    rows = ",\n    ".join(json.dumps(row) for row in result["outcomes"])
    head = json.dumps({key: value for key, value in result.items() if key != "outcomes"}, indent=2)[:-2]
    out.write_text(f'{head},\n  "outcomes": [\n    {rows}\n  ]\n}}\n', encoding="utf-8")
    text = f"{len(result['outcomes'])} ways to end, of {result['deals']:,} deals"
    return print_result(arguments, result, text)


def _parse_sprt(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(f"--sprt {text!r} is not LOW,HIGH in points per deal, as in --sprt 0,0.2") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"--sprt {text}: LOW must be less than HIGH, both finite")
    return low, high


def _tournament(arguments: argparse.Namespace) -> int:
    import choix  # noqa: F401  # missing, it is better missed before the deals than after
    import scipy.stats  # noqa: F401  # likewise

    from smear_train.tournament import Contest, document, hold, write_tables

    check_deals(arguments)
    shared = _shared(arguments)
    folder = Path(arguments.out) if arguments.out else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    try:
        contest = Contest(
            agents=tuple(arguments.agents.split(",")),
            episode=arguments.episode,
            allow_cheaters=arguments.allow_cheaters,
            **shared,
        )
        progress = Progress(arguments.deals, "deals", arguments.quiet)
        with _results_alone(arguments):
            standings = hold(contest, _crew(arguments), progress)
    except ValueError as error:
        raise UsageError(str(error)) from error
    result = document(standings)
    if folder is not None:
        (folder / "tournament.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        write_tables(result, folder)
    return print_result(arguments, result, tournament_report(result))


def _cross_play(arguments: argparse.Namespace) -> int:
    import scipy.stats  # noqa: F401  # missing, it is better missed before the deals than after

    from smear_train.cross_play import CrossPlay, cross, document

    check_deals(arguments)
    shared = _shared(arguments)
    try:
        contest = CrossPlay(
            players=tuple(arguments.players),
            against=arguments.against,
            partners=tuple(arguments.partner),
            **shared,
        )
        with _results_alone(arguments):
            crossing = cross(
                contest,
                _crew(arguments),
                lambda what: Progress(arguments.deals, f"deals {what}", arguments.quiet),
            )
    except ValueError as error:
        raise UsageError(str(error)) from error
    result = document(crossing)
    return print_result(arguments, result, cross_play_report(result))


def _report(arguments: argparse.Namespace) -> int:
    import jinja2  # noqa: F401  # missing, it is better missed before the reading than after
    import matplotlib  # noqa: F401  # likewise

    from smear_train.report import page, write
    from smear_train.results import ReportError, read_folders

    try:
        text, result = page(read_folders([Path(folder) for folder in arguments.folders]))
    except ReportError as error:
        raise UsageError(str(error)) from error
    try:
        write(text, Path(arguments.out))
    except OSError as error:
        raise UsageError(f"-o {arguments.out} cannot be written: {error.strerror or error}") from error
    result = {"kind": "report", "path": arguments.out, **result}
    result["command"] = shlex.join(["smear", "report", *arguments.folders, "-o", arguments.out])
    counted = ", ".join(
        f"{result[what]} {what}"
        for what in ("evaluations", "tournaments", "cross-plays", "protocols", "probes", "runs", "figures")
    )
    return print_result(
        arguments, result, "\n".join([f"{arguments.out}: {counted}", *result["notes"], result["command"]])
    )


# --- As text -----------------------------------------------------------------------------------------------------


def report(result: dict[str, Any]) -> str:
    """The document of an evaluation as text for people."""
    unit = "games" if result["episode"] == "game" else "deals"
    form = f", {result['form']}" if result["form"] else ""
    lines = [
        f"{result['game']}: A = {result['a']}, B = {result['b']}",
        f"{result['deals']:,} {unit} ({result['distinct_deals']:,} distinct) at {result['tables']:,} tables, "
        f"seed {result['seed']}{form}",
        "",
        f"A - B, points per deal  {signed(result['mean'])}  95% interval {signed(result['ci_low'])} to "
        f"{signed(result['ci_high'])}  (sd {'-' if result['sd'] is None else format(result['sd'], '.3f')})",
    ]
    if result["win_rate"] is not None:
        lines.append(
            f"games won by a team of A  {percent(result['win_rate'])}  95% interval {percent(result['win_low'])} to "
            f"{percent(result['win_high'])}; cut off: {result['truncated_games']}"
        )
    lines.append(f"all passed in {percent(result['all_pass'])} of {result['dealings']:,} dealings-out")
    if result["rotation_gain"] is not None:
        lines.append(f"each rotated table is worth {result['rotation_gain']:.1f} tables with cards of their own")
    if result["control_gain"] is not None:
        lines.append(f"with the control variate {result['control']} a deal is worth {result['control_gain']:.2f} deals")
    if "sprt" in result:
        test = result["sprt"]
        verdict = "no decision" if test["accepted"] is None else f"accepted: {test[test['accepted']]:g}"
        lines.append(
            f"sequential test of {test['low']:g} against {test['high']:g}: {verdict} "
            f"(log-likelihood ratio {test['log_likelihood_ratio']:+.2f})"
        )
    for gate, is_met in result.get("gates", {}).items():
        lines.append(f"gate {gate}: {'supported' if is_met else 'NOT supported by the interval'}")
    players = result["players"]
    lines += ["", format_table([_PLAYER_HEAD, *(_player_row(label, player) for label, player in players.items())])]
    lines += ["", format_table(_bid_rows(players)), "", format_table(_kind_rows(players))]
    lines += ["", format_table(_seat_rows(players))]
    for label, player in players.items():
        for fault, count in player["faults"].items():
            lines.append(f"{label} forfeited {count} times: {fault}")
    return "\n".join([*lines, "", result["command"]])


_PLAYER_HEAD = ("", "player", "bids", "made", "set", "made of bids", "mean bid", "decisions")


def _player_row(label: str, player: dict[str, Any]) -> tuple[str, ...]:
    return (
        label,
        player["name"],
        f"{player['bids']:,}",
        f"{player['made']:,}",
        f"{player['set']:,}",
        percent(player["bid_made"]),
        "-" if player["mean_bid"] is None else f"{player['mean_bid']:.2f}",
        f"{player['decisions']:,}",
    )


def _bid_rows(players: dict[str, Any]) -> list[tuple[str, ...]]:
    bids = list(players["a"]["by_bid"])
    rows = [("bids of", *bids)]
    for label, player in players.items():
        cells = (f"{count['bids']:,} ({percent(_share(count))})" for count in player["by_bid"].values())
        rows.append((label, *cells))
    return rows


def _share(count: dict[str, int]) -> float | None:
    return count["made"] / count["bids"] if count["bids"] else None


def _kind_rows(players: dict[str, Any]) -> list[tuple[str, ...]]:
    kinds = list(players["a"]["points_by_kind"])
    return [
        ("points", *kinds),
        *((label, *(f"{player['points_by_kind'][kind]:,}" for kind in kinds)) for label, player in players.items()),
    ]


def _seat_rows(players: dict[str, Any]) -> list[tuple[str, ...]]:
    seats = players["a"]["by_seat"]
    names = ["dealer" if seat["left_of_dealer"] == 0 else f"{seat['left_of_dealer']} left" for seat in seats]
    rows = [("points per deal at", *names)]
    for label, player in players.items():
        rows.append((label, *(signed(seat["points_per_deal"]) for seat in player["by_seat"])))
    return rows


def cross_play_report(result: dict[str, Any]) -> str:
    """The document of cross-play as text for people."""
    players, partners = result["players"], result["partners"]
    cells = {}
    for team in result["teams"]:
        cells[team["a"], team["b"]] = cells[team["b"], team["a"]] = points(team)
    rows = [(f"points per deal against {result['against']}, beside", *players, *partners)]
    rows += [(one, *(cells[one, other] for other in [*players, *partners])) for one in players]

    lines = [
        f"{result['game']}: {result['deals']:,} deals for each team, seed {result['seed']}",
        "",
        format_table(rows),
        "",
        f"beside themselves: {points(result['self_play'])}",
        f"beside each other: {points(result['cross_play'])}"
        + (f", {percent(result['kept'])} of that" if result["kept"] is not None else ""),
        f"lost by it: {points(result['lost'])}",
    ]
    lines += [f"{one['player']} beside the others: {points(one)}" for one in result["beside_others"]]
    lines += [f"all beside {one['partner']}: {points(one)}" for one in result["beside_partners"]]
    return "\n".join([*lines, "", result["command"]])


def tournament_report(result: dict[str, Any]) -> str:
    """The document of a tournament as text for people."""
    agents = [entry["agent"] for entry in result["ratings"]]
    leads = {(pair["a"], pair["b"]): (pair["mean"], pair["ci_low"], pair["ci_high"]) for pair in result["pairs"]}
    leads |= {
        (b, a): (-mean, high if high is None else -high, low if low is None else -low)
        for (a, b), (mean, low, high) in leads.items()
    }
    rows = [("points per deal against", *agents)]
    for one in agents:
        rows.append((one, *("." if one == other else with_interval(*leads[one, other]) for other in agents)))
    ratings = [("agent", "rating", "95% interval")]
    for entry in result["ratings"]:
        ratings.append((entry["agent"], f"{entry['rating']:+.0f}", f"{entry['low']:+.0f} to {entry['high']:+.0f}"))
    lines = [
        f"{result['game']}: {result['deals']:,} {'games' if result['episode'] == 'game' else 'deals'} "
        f"({result['distinct_deals']:,} distinct) at {result['tables']:,} tables, seed {result['seed']}",
        "",
        format_table(rows),
    ]
    if result["triples"]:
        table: list[tuple[str, ...]] = [("three at a table, points per deal", "", "")]
        for triple in result["triples"]:
            shares = [(at["agent"], points(at)) for at in triple]
            table.append(tuple(" ".join(share) for share in shares))
        lines += ["", format_table(table)]
    lines += ["", format_table(ratings)]
    for cycle in result["cycles"]:
        lines.append(f"intransitive: {' beats '.join([*cycle, cycle[0]])}")
    for player in result["players"]:
        for fault, count in player["faults"].items():
            lines.append(f"{player['agent']} forfeited {count} times: {fault}")
    return "\n".join([*lines, "", result["command"]])
