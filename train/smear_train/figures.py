"""The figures of `smear report`: SVG that stands in a page, takes its colours from it, and is the same every time."""

import html
import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from smear_train.results import Curve, Evaluation, Tournament

Z = 1.959963984540054
"""Of a 95% interval."""

# Colours that the page says, one set in the light and one in the dark: they are drawn as the colour on the left.
INK, FAINT = "#010203", "#040506"
SERIES = tuple(f"#0708{number:02x}" for number in range(8))
_VARIABLES = {INK: "currentColor", FAINT: "var(--faint)"} | {
    colour: f"var(--c{number})" for number, colour in enumerate(SERIES)
}
MARKERS = "osD^vPX*"
DASHES = ("-", "--", ":")


def wilson(made: int, of: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927).

    >>> tuple(round(end, 4) for end in wilson(8, 10))
    (0.4902, 0.9433)
    """
    share, square = made / of, Z * Z / of
    middle = (share + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(share * (1 - share) / of + square / (4 * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def wrapped(name: str, width: int = 26) -> str:
    """A long name in several lines, broken where its parts meet."""
    lines = [""]
    for part in re.findall(r"[^+/:,\s-]*[+/:,\s-]?", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line[at : at + width] for line in lines for at in range(0, len(line), width))


class Figures:
    """Draws figures, which get numbers in their order, so that no two things in a page have the same id."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """The settings of matplotlib, whatever the user's own are."""
        import matplotlib

        with matplotlib.rc_context(), warnings.catch_warnings():
            # The page is shown with the fonts of whoever reads it, which may have what this machine's have not.
            warnings.filterwarnings("ignore", "Glyph .* missing")
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(
                {
                    "svg.fonttype": "none",
                    "svg.hashsalt": "smear",
                    "font.sans-serif": ["DejaVu Sans"],
                    "font.size": 9,
                    "text.parse_math": False,
                    "axes.spines.top": False,
                    "axes.spines.right": False,
                    "axes.titlesize": 10,
                    "axes.grid": True,
                    "axes.axisbelow": True,
                    "grid.color": FAINT,
                    "grid.linewidth": 0.6,
                    "legend.frameon": False,
                    **dict.fromkeys(
                        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
                    ),
                }
            )
            yield

    def svg(self, figure: Any, title: str, text: str) -> str:
        """A figure as an SVG element with a title and a description.

        Args:
            figure: of matplotlib.
            title: in a few words.
            text: what can be seen.
        """
        self.count += 1
        out = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, bbox_inches="tight", pad_inches=0.05, metadata=nothing)
        drawn = out.getvalue()
        drawn = drawn[drawn.index("<svg") :]
        drawn = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", drawn, flags=re.S)
        prefix = f"f{self.count}-"
        drawn = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{prefix}", drawn)
        drawn = re.sub("|".join(_VARIABLES), lambda match: _VARIABLES[match[0]], drawn)
        width = re.search(r'width="([\d.]+)pt"', drawn)
        assert width is not None
        head = (
            f'<svg role="img" aria-labelledby="{prefix}title {prefix}desc" style="max-width: {float(width[1]):.0f}pt"'
        )
        drawn = re.sub(r'<svg (.*?)width="[^"]*" height="[^"]*"', head + r" \1", drawn, count=1, flags=re.S)
        drawn = re.sub(r"<svg [^>]*", lambda match: re.sub(r'\sheight="[^"]*"', "", match[0]), drawn, count=1)
        words = (
            f'<title id="{prefix}title">{html.escape(title)}</title><desc id="{prefix}desc">{html.escape(text)}</desc>'
        )
        return re.sub(r"(<svg [^>]*>)", lambda match: match[1] + words, drawn, count=1).strip()


def _new(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


_SUFFIXES: tuple[tuple[float, str], ...] = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def _short(value: float, _: Any = None) -> str:
    """A large number in a few signs.

    >>> _short(2_500_000), _short(0)
    ('2.5M', '0')
    """
    for size, suffix in _SUFFIXES:
        if abs(value) >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:g}"


# --- A tournament ------------------------------------------------------------------------------------------------


def heat_map(figures: Figures, tournament: Tournament, agents: Sequence[str]) -> str:
    """The cross-play matrix: points per deal by which the row is ahead of the column."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    n = len(agents)
    leads = {(pair.a, pair.b): pair.mean for pair in tournament.pairs}
    leads |= {(b, a): -mean for (a, b), mean in leads.items()}
    most = max((abs(mean) for mean in leads.values()), default=0) or 1
    names = [f"{number}. {wrapped(name)}" for number, name in enumerate(agents, 1)]
    with figures.drawing():
        tallest = max(name.count("\n") + 1 for name in names)
        figure, (axes,) = _new(2.6 + 0.75 * n, 0.6 + n * max(0.5, 0.17 * tallest))
        for row, one in enumerate(agents):
            for column, other in enumerate(agents):
                if (one, other) not in leads:
                    continue
                lead = leads[one, other]
                # The middle four fifths of the colours: the ends are too dark to tell apart.
                colour = colormaps["RdBu"](0.5 + 0.4 * lead / most)
                axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white"))
                light = np.dot(colour[:3], (0.299, 0.587, 0.114))
                axes.text(
                    column + 0.5, row + 0.5, f"{lead:+.2f}", ha="center", va="center",
                    color="black" if light > 0.5 else "white",
                )  # fmt: skip
        axes.set(xlim=(0, n), ylim=(n, 0))
        axes.set_xticks(np.arange(n) + 0.5, [str(number + 1) for number in range(n)])
        axes.set_yticks(np.arange(n) + 0.5, names)
        axes.tick_params(length=0)
        axes.xaxis.tick_top()
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        text = "; ".join(f"{pair.a} against {pair.b} {pair.mean:+.2f}" for pair in tournament.pairs)
        return figures.svg(figure, "Cross-play: points per deal by which the row is ahead of the column", text)


def rating_plot(figures: Figures, tournament: Tournament) -> str:
    """Ratings with their intervals."""
    entries = tournament.ratings
    with figures.drawing():
        names = [wrapped(entry.agent) for entry in entries]
        tallest = max(name.count("\n") + 1 for name in names)
        figure, (axes,) = _new(6.5, 0.7 + len(entries) * max(0.32, 0.17 * tallest))
        for at, entry in enumerate(entries):
            axes.plot([entry.low, entry.high], [at, at], color=SERIES[0], linewidth=2, solid_capstyle="butt")
            axes.plot([entry.rating], [at], "o", color=SERIES[0])
        axes.set_yticks(range(len(entries)), names)
        axes.set(ylim=(len(entries) - 0.5, -0.5), xlabel="rating (400 points are odds of ten to one)")
        text = "; ".join(
            f"{entry.agent} {entry.rating:+.0f} ({entry.low:+.0f} to {entry.high:+.0f})" for entry in entries
        )
        return figures.svg(figure, "Ratings with 95% intervals", text)


# --- An evaluation -----------------------------------------------------------------------------------------------


def conduct(figures: Figures, evaluation: Evaluation) -> str:
    """How often each bid was made, points by kind, and points by seat, for A and for B."""
    players = {label: evaluation.players[label] for label in ("a", "b")}
    first = players["a"]
    with figures.drawing():
        figure, (bids, kinds, seats) = _new(11, 3.3, columns=3)
        values = list(first.by_bid)
        for number, player in enumerate(players.values()):
            style = {"color": SERIES[number], "label": "AB"[number]}
            shift = (number - 0.5) * 0.24
            for at, bid in enumerate(values):
                count = player.by_bid[bid]
                if not count.bids:
                    continue
                share, (low, high) = count.made / count.bids, wilson(count.made, count.bids)
                bids.plot([at + shift] * 2, [low, high], color=SERIES[number], linewidth=1.5, solid_capstyle="butt")
                bids.plot([at + shift], [share], MARKERS[number], color=SERIES[number], markersize=5)
                bids.annotate(
                    _short(float(f"{count.bids:.3g}")), (at + shift, 1.05 if number else 1.13),
                    ha="center", va="bottom", fontsize=7, color=SERIES[number],
                )  # fmt: skip
            deals = sum(seat.deals for seat in player.by_seat) or 1
            got = [count / deals for count in player.points_by_kind.values()]
            kinds.bar(np.arange(len(got)) + 1.6 * shift, got, 0.38, **style)
            by_seat = [np.nan if seat.points_per_deal is None else seat.points_per_deal for seat in player.by_seat]
            seats.bar(np.arange(len(by_seat)) + 1.6 * shift, by_seat, 0.38, **style)
        bids.set_xticks(range(len(values)), values)
        bids.set_yticks(np.linspace(0, 1, 6))
        bids.set(
            title="Bids made", xlabel="bid", ylabel="share made", ylim=(-0.02, 1.22), xlim=(-0.6, len(values) - 0.4)
        )
        names = list(first.points_by_kind)
        kinds.set_xticks(range(len(names)), names)
        kinds.set(title="Points by kind", ylabel="per deal and seat")
        places = [place_name(seat.left_of_dealer) for seat in first.by_seat]
        seats.set_xticks(range(len(places)), [place.replace(" left", "") for place in places])
        seats.axhline(0, color=INK, linewidth=0.8)
        seats.set(title="Points per deal by seat", xlabel="places left of the dealer", ylabel="points per deal")
        handles, labels = kinds.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center")
        text = "; ".join(
            f"{label.upper()} is {player.name}: {player.made} of {player.bids} bids made"
            for label, player in players.items()
        )
        return figures.svg(figure, f"What {evaluation.a} (A) and {evaluation.b} (B) did", text)


def place_name(left_of_dealer: int) -> str:
    """A seat, seen from the dealer."""
    return "dealer" if left_of_dealer == 0 else f"{left_of_dealer} left"


# --- Training ----------------------------------------------------------------------------------------------------


def curves(figures: Figures, panels: Mapping[str, Mapping[str, Curve]], title: str) -> str:
    """Learning curves, a panel for each number, a colour for each group of runs.

    Args:
        figures: that this is one of.
        panels: for each panel its title, with the curves by the name of their group.
        title: of the whole.
    """
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with figures.drawing():
        figure, axes = _new(3.7 * columns + 0.3, 2.6 * rows + 0.2 * len(names), rows, columns)
        figure.get_layout_engine().set(h_pad=0.1)
        handles: dict[str, Any] = {}
        for at, (label, of_groups) in zip(axes, panels.items(), strict=False):
            for name, curve in of_groups.items():
                handles[name] = _draw(at, curve, *_style(names.index(name)))
            at.set_title(wrapped(label, 44))
            at.xaxis.set_major_formatter(_short)
            at.margins(x=0.02)
        for at in axes[len(panels) :]:
            at.set_visible(False)
        for at in axes[max(0, len(panels) - columns) : len(panels)]:
            at.set_xlabel("decisions")
        figure.legend(
            [handles[name] for name in names], [wrapped(name, 60) for name in names], loc="outside lower center"
        )
        return figures.svg(figure, title, "; ".join(_last(label, curves) for label, curves in panels.items()))


def _style(number: int) -> tuple[str, str]:
    return SERIES[number % len(SERIES)], DASHES[number // len(SERIES) % len(DASHES)]


def _draw(axes: Any, curve: Curve, colour: str, dash: str) -> Any:
    """Draws each run thinly, the range of the runs, and their median; returns what the legend shows."""
    if len(curve.seeds) > 1:
        for one in curve.seeds:
            axes.plot(one.x, one.y, color=colour, linewidth=0.6, alpha=0.5)
    if np.any(curve.low < curve.high):
        axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
    marker = "o" if len(curve.x) < 30 else ""
    (line,) = axes.plot(
        curve.x, curve.median, color=colour, linestyle=dash, linewidth=1.6, marker=marker, markersize=2.5
    )
    return line


def _last(label: str, curves: Mapping[str, Curve]) -> str:
    ends = (f"{name} {curve.median[-1]:.4g}" for name, curve in curves.items() if len(curve.x))
    return f"{label}, at the end: {', '.join(ends)}"
