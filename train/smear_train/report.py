"""What `smear report` writes: one page with everything that lies in some folders, with nothing to be loaded from afar.

The numbers are those of the documents: a cell shows them rounded, and holds them in full in its `<data>` element.
"""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smear_train import results
from smear_train.console import percent, signed
from smear_train.figures import Figures, conduct, curves, heat_map, place_name, rating_plot
from smear_train.results import (
    MEASURES,
    METRICS,
    CrossPlay,
    Curve,
    Did,
    Evaluation,
    Found,
    Group,
    Mean,
    Probes,
    Protocol,
    Tournament,
    curve,
    groups,
    series,
)

TEMPLATE = "report.html.j2"


# --- Tables ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: as shown.
        value: the number in full; None if the cell is no number.
    """

    text: str
    value: float | None = None


Row = Sequence[Cell | str]


@dataclass
class Table:
    """A table.

    Attributes:
        caption: what it shows.
        head: names of the columns.
        rows: cells, or texts.
    """

    caption: str
    head: Sequence[str]
    rows: list[Row]


@dataclass
class Block:
    """A part of the page.

    Attributes:
        title: of the part.
        id: to link to.
        lines: paragraphs.
        tables: below them.
        figures: SVG with what is to be said below it.
        commands: that make the part's numbers again.
        level: of the heading.
    """

    title: str
    id: str
    lines: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: list[tuple[str, str]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    level: int = 2


def _number(value: float | None, text: Callable[[float | None], str]) -> Cell:
    value = None if value is None or not math.isfinite(value) else value
    return Cell(text(value), value)


def points(value: float | None) -> Cell:
    """A number of points."""
    return _number(value, signed)


def share(value: float | None) -> Cell:
    """A share."""
    return _number(value, percent)


def count(value: int | None) -> Cell:
    """A whole number."""
    return _number(value, lambda number: "-" if number is None else f"{number:,}")


def measure(value: float | None, form: str | None = None) -> Cell:
    """Any other number, with four digits unless a form is given."""
    usual = ",.0f" if value is not None and abs(value) >= 1e4 else ".4g"
    return _number(value, lambda number: "-" if number is None else format(number, form or usual))


# --- The parts of the page ---------------------------------------------------------------------------------------


def _title(evaluation: Evaluation) -> str:
    return f"{evaluation.a} against {evaluation.b}"


def _played(document: Evaluation | Tournament) -> str:
    unit = "games" if document.episode == "game" else "deals"
    return (
        f"{document.game}: {document.deals:,} {unit} ({document.distinct_deals:,} distinct) at "
        f"{document.tables:,} tables, seed {document.seed}; smear-env {document.smear_env}"
    )


def _protocols(found: Found) -> list[Block]:
    tables: dict[str, Table] = {}
    commands = []
    for source, protocol in found.of(Protocol):
        head = protocol.head.strip("| ").split(" | ")
        notes = [] if protocol.complete else ["fewer deals than the protocol wants"]
        notes += [] if protocol.in_time else ["too slow"]
        table = tables.setdefault(
            f"{protocol.protocol} {head}",
            Table(f"Protocol {protocol.protocol}", [*head, "not a row to publish", "file"], []),
        )
        # From the right: an agent may be named as it likes.
        cells = protocol.row.strip("| ").split(" | ")[1 - len(head) :]
        table.rows.append([protocol.agent, *cells, "; ".join(notes), source])
        commands.append(protocol.command)
    if not tables:
        return []
    line = "Points per deal with the 95% interval. What is behind each number is below, under evaluations."
    return [Block("Benchmark", "benchmark", [line], list(tables.values()), commands=[one for one in commands if one])]


def _tournaments(found: Found, figures: Figures) -> list[Block]:
    blocks = []
    for number, (source, tournament) in enumerate(found.of(Tournament), 1):
        agents = [entry.agent for entry in tournament.ratings]
        lines = [f"{_played(tournament)}; from {source}"]
        for cycle in tournament.cycles:
            lines.append(f"Intransitive: {' beats '.join([*cycle, cycle[0]])}, each with the whole interval.")
        if not tournament.cycles and len(agents) > 2:
            lines.append("No three agents beat each other in a circle with the whole interval.")
        for player in tournament.players:
            lines += [f"{player.agent} forfeited {times} times: {fault}" for fault, times in player.faults.items()]
        block = Block(f"Tournament {number}: {tournament.game}", f"tournament-{number}", lines)
        block.figures = [
            (
                heat_map(figures, tournament, agents),
                "Pairs: points per deal by which the row is ahead of the column. The agents are in the order of "
                "their ratings; the intervals are in the table of pairs.",
            ),
            (
                rating_plot(figures, tournament),
                "Ratings (Bradley-Terry, fitted to all comparisons) with 95% intervals; their mean is 0.",
            ),
        ]
        block.tables = _tournament_tables(tournament)
        block.commands = [tournament.command]
        blocks.append(block)
    return blocks


def _tournament_tables(tournament: Tournament) -> list[Table]:
    interval = ["points per deal", "low", "high"]
    ratings: list[Row] = [
        [entry.agent, *(measure(value, "+.0f") for value in (entry.rating, entry.low, entry.high))]
        for entry in tournament.ratings
    ]
    pairs: list[Row] = [[pair.a, pair.b, *_interval(pair)] for pair in tournament.pairs]
    players: list[Row] = [
        [one.agent, count(one.bids), share(one.bid_made), measure(one.ms_per_decision), count(sum(one.faults.values()))]
        for one in tournament.players
    ]
    tables = [
        Table("Ratings", ["agent", "rating", "low", "high"], ratings),
        Table("Pairs: A ahead of B", ["A", "B", *interval], pairs),
    ]
    if tournament.triples:
        triples: list[Row] = [
            [" / ".join(at.agent for at in triple), one.agent, *_interval(one)]
            for triple in tournament.triples
            for one in triple
        ]
        tables.append(Table("Three at a table: ahead of the other two", ["table", "agent", *interval], triples))
    tables.append(Table("Players", ["agent", "bids", "made", "ms per decision", "forfeits"], players))
    return tables


def _cross_plays(found: Found) -> list[Block]:
    blocks = []
    interval = ["points per deal", "low", "high"]
    for number, (source, cross_play) in enumerate(found.of(CrossPlay), 1):
        kept = f" {percent(cross_play.kept)} of what they come to beside themselves is kept." if cross_play.kept else ""
        line = (
            f"{cross_play.game}: {cross_play.deals:,} deals for each team, seed {cross_play.seed}; all other seats are "
            f"played by {cross_play.against}; smear-env {cross_play.smear_env}; from {source}.{kept}"
        )
        teams: list[Row] = [[team.a, team.b, *_interval(team)] for team in cross_play.teams]
        means: list[Row] = [
            ["beside themselves", *_interval(cross_play.self_play)],
            ["beside each other", *_interval(cross_play.cross_play)],
            ["lost by it", *_interval(cross_play.lost)],
        ]
        means += [[f"{one.player} beside the others", *_interval(one)] for one in cross_play.beside_others]
        means += [[f"all beside {one.partner}", *_interval(one)] for one in cross_play.beside_partners]
        tables = [Table("Partners", ["", *interval], means), Table("Teams", ["A", "B", *interval], teams)]
        title, name = f"Cross-play {number}: {cross_play.game}", f"cross-play-{number}"
        blocks.append(Block(title, name, [line], tables, commands=[cross_play.command]))
    return blocks


def _interval(mean: Mean) -> list[Cell]:
    return [points(mean.mean), points(mean.ci_low), points(mean.ci_high)]


def _evaluations(found: Found, figures: Figures) -> list[Block]:
    entries: list[tuple[str, Evaluation]] = found.of(Evaluation)
    for source, protocol in found.of(Protocol):
        entries += [(f"{source}, {what}", evaluation) for what, evaluation in protocol.results.items()]
    if not entries:
        return []
    first = Block(
        "Evaluations",
        "evaluations",
        [
            "The unit is the deal, played as duplicate. Points per deal are those by which A is ahead; all intervals "
            "are 95%. Games won: the share won by a team of A, in whole games."
        ],
        [_result_table(entries), _conduct_table(entries)],
    )
    blocks = [first]
    for number, (source, evaluation) in enumerate(entries, 1):
        block = Block(f"{number}. {_title(evaluation)}", f"evaluation-{number}", level=3)
        form = f", {evaluation.form}" if evaluation.form else ""
        block.lines = [f"{_played(evaluation)}{form}; from {source}", *_claims(evaluation)]
        block.figures = [
            (
                conduct(figures, evaluation),
                "Left: the share of the bids of each value that were made, with Wilson's 95% interval and the number "
                "of the bids (tables of one deal are not independent, so it is a little narrow). Middle: points of "
                "each kind. Right: points per deal at each seat.",
            )
        ]
        block.tables = [
            table
            for table in (_bids(evaluation), _kinds(evaluation), _seats(evaluation))
            if table.rows and len(table.head) > 1
        ]
        block.commands = [evaluation.command]
        blocks.append(block)
    return blocks


def _result_table(entries: list[tuple[str, Evaluation]]) -> Table:
    head = [
        "no.", "game", "A", "B", "episode", "deals", "distinct", "points per deal", "low", "high", "sd",
        "games won", "low", "high", "all passed", "rotation gain", "control gain", "forfeits",
    ]  # fmt: skip
    rows: list[Row] = []
    for number, (_, one) in enumerate(entries, 1):
        rows.append(
            [
                str(number), one.game, one.a, one.b, one.episode, count(one.deals), count(one.distinct_deals),
                points(one.mean), points(one.ci_low), points(one.ci_high), measure(one.sd, ".3f"),
                share(one.win_rate), share(one.win_low), share(one.win_high), share(one.all_pass),
                measure(one.rotation_gain, ".2f"), measure(one.control_gain, ".2f"), count(one.forfeits),
            ]
        )  # fmt: skip
    return Table("Results", head, rows)


def _conduct_table(entries: list[tuple[str, Evaluation]]) -> Table:
    head = [
        "no.",
        "side",
        "player",
        "bids",
        "made",
        "made of bids",
        "mean bid",
        "decisions",
        "ms per decision",
        "forfeits",
    ]
    rows: list[Row] = []
    for number, (_, one) in enumerate(entries, 1):
        for label, player in one.players.items():
            rows.append(
                [
                    str(number), _letter(label), player.name, count(player.bids), count(player.made),
                    share(player.bid_made), measure(player.mean_bid, ".2f"), count(player.decisions),
                    measure(player.ms_per_decision), count(sum(player.faults.values())),
                ]
            )  # fmt: skip
    return Table("Players", head, rows)


def _letter(label: str) -> str:
    return label.upper() if len(label) == 1 else label


def _claims(evaluation: Evaluation) -> list[str]:
    lines = [
        f"Gate {gate}: {'supported' if is_met else 'not supported'} by the interval."
        for gate, is_met in evaluation.gates.items()
    ]
    if evaluation.sprt is not None:
        test = evaluation.sprt
        verdict = {"low": f"accepted: {test.low:g}", "high": f"accepted: {test.high:g}"}.get(
            test.accepted or "", "no decision"
        )
        lines.append(
            f"Sequential test of {test.low:g} against {test.high:g}: {verdict} "
            f"(log-likelihood ratio {test.log_likelihood_ratio:+.2f})."
        )
    for label, player in evaluation.players.items():
        lines += [f"{_letter(label)} forfeited {times} times: {fault}" for fault, times in player.faults.items()]
    return lines


def _by_player(
    evaluation: Evaluation, caption: str, head: Iterable[str], cells: Callable[[Did], Iterable[Cell]]
) -> Table:
    rows: list[Row] = [[_letter(label), *cells(player)] for label, player in evaluation.players.items()]
    return Table(caption, ["", *head], rows)


def _bids(evaluation: Evaluation) -> Table:
    first = evaluation.players["a"]
    head = [word for bid in first.by_bid for word in (f"bids of {bid}", "made")]
    return _by_player(
        evaluation,
        "Bids",
        head,
        lambda player: (count(number) for bid in player.by_bid.values() for number in (bid.bids, bid.made)),
    )


def _kinds(evaluation: Evaluation) -> Table:
    first = evaluation.players["a"]
    return _by_player(
        evaluation,
        "Points by kind",
        first.points_by_kind,
        lambda player: (count(number) for number in player.points_by_kind.values()),
    )


def _seats(evaluation: Evaluation) -> Table:
    first = evaluation.players["a"]
    return _by_player(
        evaluation,
        "Points per deal by seat, seen from the dealer",
        (place_name(seat.left_of_dealer) for seat in first.by_seat),
        lambda player: (points(seat.points_per_deal) for seat in player.by_seat),
    )


def _probes(found: Found) -> list[Block]:
    documents: list[tuple[str, Probes]] = found.of(Probes)
    if not documents:
        return []
    titles = {probe.id: probe.title for _, document in documents for probe in document.probes}
    rows: list[Row] = []
    for probe_id, title in titles.items():
        row: list[Cell | str] = [probe_id, title]
        for _, document in documents:
            of = next((probe for probe in document.probes if probe.id == probe_id), None)
            row += ["-", "-"] if of is None else [count(of.passed), count(of.positions)]
        rows.append(row)
    rows.append(["all", "", *(count(n) for _, one in documents for n in (one.passed, one.positions))])
    head = ["", "probe", *(word for _, one in documents for word in (f"{one.agent}: right", "of"))]
    return [
        Block(
            "Probes",
            "probes",
            ["Positions of which the right answers are known: how many an agent got right, and of how many."],
            [Table("Probes", head, rows)],
            commands=[one.command for _, one in documents if one.command],
        )
    ]


def _training(found: Found, figures: Figures, notes: list[str]) -> list[Block]:
    if not found.runs:
        return []
    grouped = groups(found.runs, notes)
    block = Block(
        "Training",
        "training",
        [
            "Of several runs that differ only in their seed, a curve is the median and the shade goes from the least "
            "to the greatest, after linear interpolation, where all of them have values; the thin lines are the runs. "
            "Of a single run, the shade of its points per deal is their 95% interval. Of more than "
            f"{results.MOST_POINTS} lines, equal runs of lines are averaged."
        ],
    )
    opponents = list(dict.fromkeys(one for run in found.runs for one in run.opponents()))
    panels = {f"{MEASURES['mean']} against {one}": _strength(grouped, one) for one in opponents}
    for key in ("win_rate", "bid_made", "all_pass"):
        panels |= {f"{MEASURES[key]} against {one}": _of_evals(grouped, one, key) for one in opponents}
    strength = {label: of_groups for label, of_groups in panels.items() if of_groups}
    metrics = {label: of_groups for key, label in METRICS.items() if (of_groups := _of_metrics(grouped, key))}
    for shown, title in ((strength, "Evaluations while learning"), (metrics, "Learning")):
        if shown:
            block.figures.append((curves(figures, shown, title), title))
    block.tables = [_run_table(grouped)]
    if opponents:
        block.tables += [_last_table(grouped), _median_table(grouped, opponents)]
    return [block]


def _of_metrics(grouped: list[Group], key: str) -> dict[str, Curve]:
    found = {group.name: curve([series(run.metrics, key) for run in group.runs]) for group in grouped}
    return {name: of for name, of in found.items() if of is not None}


def _of_evals(grouped: list[Group], opponent: str, key: str) -> dict[str, Curve]:
    found = {group.name: curve([series(run.against(opponent), key) for run in group.runs]) for group in grouped}
    return {name: of for name, of in found.items() if of is not None}


def _strength(grouped: list[Group], opponent: str) -> dict[str, Curve]:
    """Points per deal; the range of a single run is that of its intervals."""
    found = _of_evals(grouped, opponent, "mean")
    for group in grouped:
        of = found.get(group.name)
        if of is None or len(of.seeds) > 1:
            continue
        lines = [line for run in group.runs for line in run.against(opponent)]
        low, high = (curve([series(lines, key)]) for key in ("ci_low", "ci_high"))
        if low is not None and high is not None and len(low.x) == len(high.x) == len(of.x):
            of.low, of.high = low.median, high.median
    return found


def _run_table(grouped: list[Group]) -> Table:
    keys = [
        key for key in METRICS if any(key in line for group in grouped for run in group.runs for line in run.metrics)
    ]
    rows: list[Row] = []
    for group in grouped:
        for run in group.runs:
            last = (run.metrics or run.evals or [{}])[-1]
            rows.append(
                [
                    run.name, group.name, count(run.seed), count(len(run.metrics)), count(last.get("decisions")),
                    measure(last.get("minutes"), ".1f"),
                    *(measure(last.get(key)) for key in keys),
                ]
            )  # fmt: skip
    head = ["run", "group", "seed", "lines", "decisions", "minutes", *(METRICS[key] for key in keys)]
    return Table("Runs, as of their last line", head, rows)


def _last_table(grouped: list[Group]) -> Table:
    rows: list[Row] = []
    for run in (run for group in grouped for run in group.runs):
        for opponent in run.opponents():
            last = run.against(opponent)[-1]
            rows.append(
                [
                    run.name, opponent, count(last["decisions"]), measure(last.get("minutes"), ".1f"),
                    *(points(last.get(key)) for key in ("mean", "ci_low", "ci_high")),
                    *(share(last.get(key)) for key in ("bid_made", "all_pass")),
                ]
            )  # fmt: skip
    head = ["run", "opponent", "decisions", "minutes", "points per deal", "low", "high", "bids made", "all passed"]
    return Table("The last evaluation of each run", head, rows)


def _median_table(grouped: list[Group], opponents: list[str]) -> Table:
    rows: list[Row] = []
    for opponent in opponents:
        for name, of in _of_evals(grouped, opponent, "mean").items():
            if len(of.x):
                rows.append(
                    [
                        name, opponent, count(len(of.seeds)), measure(float(of.x[-1]), ",.0f"),
                        *(points(float(values[-1])) for values in (of.median, of.low, of.high)),
                    ]
                )  # fmt: skip
    head = ["group", "opponent", "runs", "decisions", "median of points per deal", "least", "greatest"]
    return Table("Over the seeds, at the last decisions that all runs of a group have reached", head, rows)


# --- The page ----------------------------------------------------------------------------------------------------


def page(found: Found) -> tuple[str, dict[str, Any]]:
    """The page, and what is in it.

    Args:
        found: what the folders hold.

    Returns:
        The page as HTML, and the numbers of documents, runs and figures with the notes, for the command line.
    """
    import jinja2

    figures = Figures()
    notes = list(found.notes)
    blocks = [
        *_protocols(found),
        *_tournaments(found, figures),
        *_cross_plays(found),
        *_evaluations(found, figures),
        *_probes(found),
        *_training(found, figures, notes),
    ]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("smear_train", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = environment.get_template(TEMPLATE).render(blocks=blocks, notes=notes)
    return text, {
        "evaluations": len(found.of(Evaluation)),
        "tournaments": len(found.of(Tournament)),
        "cross-plays": len(found.of(CrossPlay)),
        "protocols": len(found.of(Protocol)),
        "probes": len(found.of(Probes)),
        "runs": len(found.runs),
        "figures": figures.count,
        "notes": notes,
    }


def write(text: str, path: Path) -> None:
    """Writes a file under another name first, so that it is whole or not there.

    Raises:
        OSError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
