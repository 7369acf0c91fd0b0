"""The table as a picture: SVG for notebooks and pages, pixels for `rgb_array`, a window for `human`.

`table` lays a picture out, as a tree of shapes in units of its own; two small back ends write the tree as SVG and draw
it with Pillow. So both show the same, and a tree made for a seat holds nothing that the seat may not see. Whatever a
colour tells, a shape and a word or letter tell too.
"""

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias
from xml.sax.saxutils import escape, quoteattr

import gymnasium
import numpy as np

from smear_env.cards import JOKERS, SUIT_NAMES, SUITS, card_text, cards_in
from smear_env.observe import knows_trump
from smear_env.render import ALL, ansi, is_played_for, public_count, result_line, winner_of_last_trick
from smear_env.rules import KINDS, NOBODY, PHASES, GameRules

INSTALL = "pip install 'smear-env[render]'"

# --- Shapes ------------------------------------------------------------------------------------------------------

Point: TypeAlias = tuple[float, float]


class Box(NamedTuple):
    """A rectangle with round corners."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    role: str


class Disc(NamedTuple):
    """A circle."""

    x: float
    y: float
    radius: float
    role: str


class Polygon(NamedTuple):
    """A polygon by its corners."""

    corners: tuple[Point, ...]
    role: str


class Text(NamedTuple):
    """A line of text; y is its base line, x its start, middle or end, as `anchor` says."""

    x: float
    y: float
    text: str
    size: float
    role: str
    anchor: str = "start"
    strong: bool = False


@dataclass(frozen=True)
class Group:
    """Some parts that mean something together: a class, a title to read aloud, and facts as data- attributes."""

    name: str
    parts: list["Part"]
    title: str = ""
    data: Mapping[str, object] = field(default_factory=dict)


Part: TypeAlias = Box | Disc | Polygon | Text | Group


class Paint(NamedTuple):
    """How a role is painted in the light and in the dark theme: fill and, where there is one, outline."""

    fill: tuple[str, str]
    line: tuple[str, str] = ("", "")
    width: float = 0


THEMES = ("light", "dark")

PAINTS = {
    "page": Paint(("#f3f0e9", "#14171a")),
    "felt": Paint(("#cfe2d3", "#1c3528"), ("#8fb39a", "#3b6b50"), 2),
    "panel": Paint(("#fdfcf9", "#20262b"), ("#d3ccbe", "#3a434b"), 1),
    "panel-active": Paint(("#fff7e3", "#2f2a1b"), ("#9a5200", "#f0b04a"), 3),
    "paper": Paint(("#ffffff", "#e9e5da"), ("#8b9096", "#0c0e10"), 1),
    "back": Paint(("#5a7899", "#41628a"), ("#fdfcf9", "#14171a"), 1),
    "back-frame": Paint(("#5a7899", "#41628a"), ("#c3d2e2", "#8fabca"), 1),
    "ink": Paint(("#22272b", "#ece9e2")),
    "faint": Paint(("#5b636a", "#a9b1b8")),
    "mark": Paint(("#22272b", "#ece9e2")),
    "chip": Paint(("#9a5200", "#f0b04a")),
    "chip-ink": Paint(("#ffffff", "#1a1509")),
    "suit-C": Paint(("#1a6a3a", "#14592f")),
    "suit-D": Paint(("#1d5cab", "#174f96")),
    "suit-H": Paint(("#b6202c", "#a31823")),
    "suit-S": Paint(("#1d2125", "#16191c")),
    "joker": Paint(("#6a3a9c", "#592c88")),
}  # fmt: skip
"""The role of a shape says what it is; this says what that looks like."""


# --- Symbols -----------------------------------------------------------------------------------------------------

# Discs (x, y, radius) and polygons in a square from -1 to 1, y downwards. The flanks of the heart touch its discs.
_HEART_FLANK = ((0.0, 0.95), (0.85, -0.08), (0.46, -0.4), (-0.46, -0.4), (-0.85, -0.08))
_STEM = ((0.0, 0.1), (0.3, 0.95), (-0.3, 0.95))
_STAR = tuple(
    (round(r * np.sin(np.pi * k / 5), 2), round(-r * np.cos(np.pi * k / 5), 2)) for k, r in enumerate([1, 0.42] * 5)
)
_SYMBOLS: dict[str, tuple[tuple[tuple[float, float, float], ...], tuple[tuple[Point, ...], ...]]] = {
    "C": (
        ((0, -0.5, 0.43), (-0.49, 0.2, 0.43), (0.49, 0.2, 0.43)),
        (_STEM, ((0.0, -0.5), (0.49, 0.2), (-0.49, 0.2))),
    ),
    "D": ((), (((0, -1), (0.74, 0), (0, 1), (-0.74, 0)),)),
    "H": (((-0.46, -0.4, 0.5), (0.46, -0.4, 0.5)), (_HEART_FLANK,)),
    "S": (
        ((-0.4, 0.25, 0.43), (0.4, 0.25, 0.43)),
        (_STEM, tuple((0.86 * x, -0.09 - 0.86 * y) for x, y in _HEART_FLANK)),
    ),
    "star": ((), (_STAR,)),
    "disc": (((0, 0, 0.9),), ()),
    "square": ((), (((-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)),)),
    "arrow": ((), (((-0.8, -0.95), (0.95, 0), (-0.8, 0.95)),)),
}


def _symbol(name: str, x: float, y: float, radius: float, role: str) -> list[Part]:
    discs, polygons = _SYMBOLS[name]
    parts: list[Part] = [Disc(x + radius * u, y + radius * v, radius * r, role) for u, v, r in discs]
    parts += [Polygon(tuple((x + radius * u, y + radius * v) for u, v in corners), role) for corners in polygons]
    return parts


# --- Cards -------------------------------------------------------------------------------------------------------

_TALL = 1.42  # height of a card of width 1


def _face(card: int, x: float, y: float, width: float) -> Group:
    """A card face up. Its index stands at the left, where it is seen when the next card lies over the rest."""
    text = card_text(card)
    if card in JOKERS:
        symbol, role = "star", "joker"
    else:
        symbol, role = SUITS[card // 13], f"suit-{SUITS[card // 13]}"
    parts: list[Part] = [
        Box(x, y, width, _TALL * width, width / 9, "paper"),
        Text(x + 0.08 * width, y + 0.36 * width, text, 0.34 * width, role, strong=True),
        *_symbol(symbol, x + 0.23 * width, y + 0.6 * width, 0.14 * width, role),
        Group("suit", _symbol(symbol, x + 0.62 * width, y + 0.98 * width, 0.27 * width, role)),
    ]
    return Group("card", parts, text, {"card": text})


def _back(x: float, y: float, width: float) -> Group:
    frame = width / 9
    return Group(
        "hidden-card",
        [
            Box(x, y, width, _TALL * width, width / 9, "back"),
            Box(x + frame, y + frame, width - 2 * frame, _TALL * width - 2 * frame, width / 18, "back-frame"),
        ],
        "hidden card",
    )


def _hand(x: float, y: float, width: float, card_width: float, cards: list[int | None]) -> Group:
    """Cards, or backs for None, side by side: over each other as far as they must, smaller in more rows if need be."""
    height, num_rows, row_step, per_row = _TALL * card_width, 1, 0.0, len(cards)
    # Of a card that another one covers, the index has to be seen.
    while (per_row - 1) * 0.55 * card_width + card_width > width:
        num_rows += 1
        card_width *= 0.74
        row_step = (height - _TALL * card_width) / (num_rows - 1)
        per_row = -(-len(cards) // num_rows)
    step = min(card_width + 5, (width - card_width) / max(per_row - 1, 1))
    x += (width - card_width - step * (per_row - 1)) / 2
    parts: list[Part] = []
    for k, card in enumerate(cards):
        at = x + k % per_row * step, y + k // per_row * row_step
        parts.append(_back(*at, card_width) if card is None else _face(card, *at, card_width))
    return Group("hand", parts)


# --- The table ---------------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 960, 764
_MIDDLE_X, _MIDDLE_Y = 480, 374


class Place(NamedTuple):
    """A place at the table: where its panel stands, and the middle of the card that it plays, from the table's."""

    x: float
    y: float
    width: float
    height: float
    card_x: float
    card_y: float


_BOTTOM, _TOP = Place(14, 564, 932, 152, 0, 124), Place(355, 48, 250, 136, 0, -124)
_LEFT, _RIGHT = Place(14, 306, 250, 136, -140, 0), Place(696, 306, 250, 136, 140, 0)
_LEFT_LOW, _LEFT_HIGH = _LEFT._replace(y=394, card_y=62), _LEFT._replace(y=218, card_y=-62)
_RIGHT_LOW, _RIGHT_HIGH = _RIGHT._replace(y=394, card_y=62), _RIGHT._replace(y=218, card_y=-62)
_PLACES = {
    2: (_BOTTOM, _TOP),
    3: (_BOTTOM, _LEFT, _RIGHT),
    4: (_BOTTOM, _LEFT, _TOP, _RIGHT),
    5: (_BOTTOM, _LEFT_LOW, _LEFT_HIGH, _RIGHT_HIGH, _RIGHT_LOW),
    6: (_BOTTOM, _LEFT_LOW, _LEFT_HIGH, _TOP, _RIGHT_HIGH, _RIGHT_LOW),
}
"""By the number of players: the places clockwise, as seen from above, from the seat that looks."""


def table(games: np.ndarray, index: int, rules: GameRules, perspective: int | str) -> Group:
    """The picture of game `index` as a tree of shapes, WIDTH by HEIGHT; arguments as for `svg`."""
    g = games[index]
    own = 0 if perspective == ALL else int(perspective)
    places = {(own + k) % rules.players: place for k, place in enumerate(_PLACES[rules.players])}
    sees_trump = g.trump != NOBODY and (perspective == ALL or bool(knows_trump(g, own)))
    parts: list[Part] = [
        Box(0, 0, WIDTH, HEIGHT, 0, "page"),
        _heading(g, rules, perspective),
        _teams(g, rules),
        _points(g, rules),
        Box(280, 198, 400, 352, 120, "felt"),
        _middle(g, rules, sees_trump),
        *(_seat(g, rules, seat, places[seat], perspective) for seat in range(rules.players)),
        _trick(g, places),
        *_result(g, rules),
    ]
    return Group("table", parts)


def _heading(g: np.record, rules: GameRules, perspective: int | str) -> Group:
    name = rules.name
    name = name if len(name) <= 36 else name[:33] + "..."
    stage = f"deal {g.deals}   phase {PHASES[g.phase]}"
    if PHASES[g.phase] == "play":
        stage += f"   trick {g.tricks + 1} of {rules.hand_cards}"
    sight = "all hands are shown" if perspective == ALL else f"seen by seat {perspective}"
    return Group(
        "heading",
        [
            Text(16, 31, name, 15, "ink", strong=True),
            Text(_MIDDLE_X, 31, stage, 15, "ink", "middle"),
            Text(WIDTH - 16, 31, sight, 13, "faint", "end"),
        ],
        data={"deal": g.deals, "phase": PHASES[g.phase], "perspective": perspective},
    )


def _teams(g: np.record, rules: GameRules) -> Group:
    """Each team's score and card points."""
    x, y = 14, 48
    step = min(22, 90 / rules.teams)
    parts: list[Part] = [
        Box(x, y, 250, 128, 10, "panel"),
        Text(x + 12, y + 21, f"to {rules.target}", 12, "faint"),
        Text(x + 142, y + 21, "score", 12, "faint", "end"),
        Text(x + 238, y + 21, "card points", 12, "faint", "end"),
    ]
    for team in range(rules.teams):
        at = y + 28 + (team + 0.75) * step
        cells: list[Part] = [
            Text(x + 12, at, f"team {team}", 14, "ink"),
            Text(x + 142, at, str(g.scores[team]), 15, "ink", "end", strong=True),
            Text(x + 238, at, str(g.card_points[team]), 14, "ink", "end"),
        ]
        data = {"team": team, "score": g.scores[team], "card-points": g.card_points[team]}
        parts.append(Group("team", cells, data=data))
    return Group("scores", parts, "scores")


def _points(g: np.record, rules: GameRules) -> Group:
    """Who has taken the special points so far."""
    x, y = 696, 48
    kinds = [i for i in range(len(KINDS) - 1) if is_played_for(rules, i)]
    step = min(22, 90 / len(kinds))
    parts: list[Part] = [
        Box(x, y, 250, 128, 10, "panel"),
        Text(x + 12, y + 21, "points taken in this deal", 12, "faint"),
    ]
    for row, i in enumerate(kinds):
        at = y + 28 + (row + 0.75) * step
        holder = "-" if g.kinds[i] == NOBODY else f"team {g.kinds[i]}"
        cells: list[Part] = [
            Text(x + 12, at, KINDS[i], 14, "ink"),
            Text(x + 238, at, holder, 14, "ink", "end", strong=holder != "-"),
        ]
        parts.append(Group("point", cells, data={"kind": KINDS[i], "team": _or_none(g.kinds[i])}))
    return Group("points", parts, "points taken in this deal")


def _middle(g: np.record, rules: GameRules, sees_trump: bool) -> Group:
    """Trump and bid, and at the end who has won the game."""
    x, y = _MIDDLE_X, _MIDDLE_Y
    bid = "no bid yet" if g.bidder == NOBODY else f"seat {g.bidder} bid {g.bid}"
    parts: list[Part] = [Group("bid", [Text(x, y + 39, bid, 14, "ink", "middle")])]
    if sees_trump:
        suit = SUITS[g.trump]
        words = f"trump {SUIT_NAMES[g.trump]} ({suit})" + ("" if g.trump_public else ", not public")
        tile: list[Part] = [
            Box(x - 24, y - 58, 48, 54, 7, "paper"),
            Group("suit", _symbol(suit, x, y - 31, 19, f"suit-{suit}")),
            Text(x, y + 18, words, 15, "ink", "middle", strong=True),
        ]
        parts.append(Group("trump", tile, words, {"trump": suit}))
    else:
        parts.append(Text(x, y + 18, "trump not known", 14, "faint", "middle"))
    if g.winners:
        teams = [team for team in range(rules.teams) if g.winners >> team & 1]
        won = "game won by " + ", ".join(f"team {team}" for team in teams)
        banner: list[Part] = [
            *_symbol("star", x, y + 62, 13, "chip"),
            Text(x, y + 98, won, min(19, 640 / len(won)), "ink", "middle", strong=True),
        ]
        parts.append(Group("game-winner", banner, won, {"teams": " ".join(map(str, teams))}))
    elif g.truncated:
        cut_off = Text(x, y + 98, f"game cut off after {g.deals} deals", 16, "ink", "middle", strong=True)
        parts.append(Group("cut-off", [cut_off]))
    return Group("middle", parts)


def _seat(g: np.record, rules: GameRules, seat: int, place: Place, perspective: int | str) -> Group:
    """The panel of a seat: who it is, what it has bid and drawn, its marks and its cards."""
    x, y, width, height = place[:4]
    num_cards = public_count(g, rules, seat)
    if perspective in (ALL, seat):
        cards: list[int | None] = [*sorted(cards_in(g.hand[seat]), key=lambda card: (card // 13, -card))]
    else:
        cards = [None] * num_cards
    whose = f"team {seat % rules.teams}" + (", you" if perspective == seat else "")
    counts = f"{num_cards} card" + ("" if num_cards == 1 else "s")
    card_width, hand_y = (56, y + 62) if place == _BOTTOM else (43, y + 67)
    parts: list[Part] = [
        Box(x, y, width, height, 10, "panel-active" if seat == g.actor else "panel"),
        Text(x + 12, y + 22, f"seat {seat}", 16, "ink", strong=True),
        Text(x + 76, y + 22, whose, 13, "faint"),
        Text(x + 12, y + 40, "   ".join([*_calls(g, seat), counts]), 13, "ink"),
        *_marks(g, seat, place),
        _hand(x + 12, hand_y, width - 24, card_width, cards),
    ]
    data = {
        "seat": seat,
        "team": seat % rules.teams,
        "bid": _or_none(g.bids[seat]),
        "drew": _or_none(g.draws[seat]),
        "cards": num_cards,
    }
    return Group("seat", parts, f"seat {seat}", data)


def _calls(g: np.record, seat: int) -> Iterator[str]:
    """What a seat has bid and how many cards it has exchanged, in words."""
    bid = g.bids[seat]
    yet = " yet" if PHASES[g.phase] == "bid" else ""
    yield f"no bid{yet}" if bid == NOBODY else "passed" if bid == 0 else f"bid {bid}"
    if g.draws[seat] != NOBODY:
        yield f"drew {g.draws[seat]}"


def _marks(g: np.record, seat: int, place: Place) -> Iterator[Group]:
    """The marks of a seat, each a shape of its own and a word."""
    at, y = place.x + 17, place.y + 56
    if place == _BOTTOM:
        at, y = place.x + 362, place.y + 22
    for name, symbol, word, holder in (
        ("dealer", "disc", "dealer", g.dealer),
        ("bidder", "square", "bidder", g.bidder),
        ("leader", "arrow", "leader", g.leader),
        ("last-trick-winner", "star", "won trick", winner_of_last_trick(g)),
    ):
        if seat == holder:
            parts: list[Part] = [*_symbol(symbol, at, y - 4, 5, "mark"), Text(at + 8, y, word, 11, "ink")]
            yield Group(name, parts, f"seat {seat} {word}")
            at += 18 + 5.9 * len(word)
    if seat == g.actor:
        right, top = place.x + place.width, place.y
        chip: list[Part] = [
            Box(right - 92, top + 8, 82, 20, 10, "chip"),
            *_symbol("arrow", right - 80, top + 18, 5, "chip-ink"),
            Text(right - 43, top + 22, "to move", 12, "chip-ink", "middle", strong=True),
        ]
        yield Group("to-move", chip, f"seat {seat} is to move")


def _trick(g: np.record, places: Mapping[int, Place]) -> Group:
    """The cards on the table, each before the seat that has played it."""
    width = 50
    parts: list[Part] = []
    for seat, place in places.items():
        if g.trick[seat] != NOBODY:
            card = int(g.trick[seat])
            x, y = _MIDDLE_X + place.card_x - width / 2, _MIDDLE_Y + place.card_y - _TALL * width / 2
            title = f"seat {seat} played {card_text(card)}"
            parts.append(Group("played", [_face(card, x, y, width)], title, {"seat": seat}))
    return Group("trick", parts)


def _result(g: np.record, rules: GameRules) -> Iterator[Group]:
    """The result of the deal scored last, in two lines."""
    if g.last_bidder != NOBODY:
        line = result_line(g, rules)
        made_or_set, kinds, rest = line.split("; ", 2)
        texts: list[Part] = [
            Text(_MIDDLE_X, HEIGHT - 27, f"{made_or_set}; {kinds}", 13, "ink", "middle"),
            Text(_MIDDLE_X, HEIGHT - 10, rest, 13, "ink", "middle"),
        ]
        yield Group("result", texts, line)


def _or_none(number: Any) -> int | None:
    return None if number == NOBODY else int(number)


# --- SVG ---------------------------------------------------------------------------------------------------------


def svg(games: np.ndarray, index: int, rules: GameRules, perspective: int | str, theme: str = "auto") -> str:
    """Game `index` as an SVG image that stands alone: no font, script or file from elsewhere.

    Whoever cannot see it is read the table as text: it is the description of the image. Groups have classes (`seat`,
    `card`, `dealer`, `trump`, ...) and data- attributes for programs to read.

    Args:
        games: records.
        index: which of them.
        rules: their rules.
        perspective: the seat that looks, at the bottom, which sees its own cards only; or "all".
        theme: "light", "dark", or "auto": as the reader's system is set.

    Raises:
        ValueError: there is no such theme.
    """
    if theme not in (*THEMES, "auto"):
        raise ValueError(f"theme={theme!r} is not allowed; allowed: 'light', 'dark', 'auto'")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="smear smear-{theme}" role="group" width="{WIDTH}" '
        f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" xml:space="preserve" style="max-width:100%" '
        f'font-family="system-ui,Helvetica,Arial,sans-serif" data-perspective="{perspective}">',
        f"<title>{escape(rules.name)}</title>",
        f"<desc>{escape(ansi(games, index, rules, perspective))}</desc>",
        f"<style>{_style(theme)}</style>",
        *_svg_lines(table(games, index, rules, perspective)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _style(theme: str) -> str:
    """The paints as style sheet. Selectors begin with the theme: a page may hold several pictures."""
    if theme != "auto":
        return "".join(_css(role, paint, theme, THEMES.index(theme)) for role, paint in PAINTS.items())
    light, dark = ("".join(_css(role, paint, theme, i) for role, paint in PAINTS.items()) for i in range(2))
    return f"{light}@media (prefers-color-scheme: dark){{{dark}}}"


def _css(role: str, paint: Paint, theme: str, which: int) -> str:
    outline = f";stroke:{paint.line[which]};stroke-width:{paint.width}" if paint.width else ""
    return f".smear-{theme} .{role}{{fill:{paint.fill[which]}{outline}}}\n"


def _svg_lines(part: Part) -> Iterator[str]:
    if isinstance(part, Group):
        data = {f"data-{name}": value for name, value in part.data.items() if value is not None}
        yield f"<g{_attributes({'class': part.name} | data)}>"
        if part.title:
            yield f"<title>{escape(part.title)}</title>"
        for inner in part.parts:
            yield from _svg_lines(inner)
        yield "</g>"
    elif isinstance(part, Box):
        corner = {"x": part.x, "y": part.y, "width": part.width, "height": part.height, "rx": part.radius}
        yield f"<rect{_attributes(corner | {'class': part.role})}/>"
    elif isinstance(part, Disc):
        yield f"<circle{_attributes({'cx': part.x, 'cy': part.y, 'r': part.radius, 'class': part.role})}/>"
    elif isinstance(part, Polygon):
        corners = " ".join(f"{_number(x)},{_number(y)}" for x, y in part.corners)
        yield f"<polygon{_attributes({'points': corners, 'class': part.role})}/>"
    else:
        look = {"x": part.x, "y": part.y, "font-size": part.size, "class": part.role}
        if part.anchor != "start":
            look["text-anchor"] = part.anchor
        if part.strong:
            look["font-weight"] = "600"
        yield f"<text{_attributes(look)}>{escape(part.text)}</text>"


def _attributes(values: Mapping[str, object]) -> str:
    texts = {name: _number(value) if isinstance(value, float) else str(value) for name, value in values.items()}
    return "".join(f" {name}={quoteattr(text)}" for name, text in texts.items())


def _number(value: float) -> str:
    return f"{round(value, 1):g}"


# --- Pixels ------------------------------------------------------------------------------------------------------

_FINER = 2  # drawn so much larger and then averaged, which smooths edges
_LETTERS = {"start": "ls", "middle": "ms", "end": "rs"}  # Pillow's names: left, middle, right, on the base line


def rgb_array(
    games: np.ndarray,
    index: int,
    rules: GameRules,
    perspective: int | str,
    width: int = 900,
    theme: str = "light",
) -> np.ndarray:
    """Game `index` as pixels, (H, W, 3) uint8. No display is needed.

    Args:
        games: records.
        index: which of them.
        rules: their rules.
        perspective: the seat that looks, at the bottom, which sees its own cards only; or "all".
        width: W; the height follows.
        theme: "light" or "dark".

    Raises:
        ImportError: Pillow is missing; the message says how to install it.
        ValueError: a width or a theme that is not allowed.
    """
    if theme not in THEMES:
        raise ValueError(f"theme={theme!r} is not allowed; allowed: 'light', 'dark'")
    if isinstance(width, bool) or not isinstance(width, int | np.integer) or not 100 <= width <= 4000:
        raise ValueError(f"width={width!r} is not allowed; allowed: a whole number 100..4000")
    image, draw, _ = _pillow()
    size = _FINER * int(width), _FINER * round(width * HEIGHT / WIDTH)
    canvas = image.new("RGB", size)
    _paint(draw.Draw(canvas), table(games, index, rules, perspective), size[0] / WIDTH, THEMES.index(theme))
    return np.array(canvas.reduce(_FINER))


def _pillow() -> tuple[Any, Any, Any]:
    """Pillow's modules for images, drawing and fonts."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise ImportError(f"drawing pixels needs Pillow: {INSTALL}") from error
    return Image, ImageDraw, ImageFont


@functools.lru_cache(maxsize=64)
def _font(size: int) -> Any:
    """Pillow's own font, which comes with it: no file of the machine is read."""
    return _pillow()[2].load_default(size)


def _paint(draw: Any, part: Part, scale: float, which: int) -> None:
    if isinstance(part, Group):
        for inner in part.parts:
            _paint(draw, inner, scale, which)
        return
    paint = PAINTS[part.role]
    look: dict[str, Any] = {"fill": paint.fill[which]}
    if isinstance(part, Text):
        font = _font(max(1, round(part.size * scale)))
        if part.strong:  # the font has one weight
            look |= {"stroke_width": round(part.size * scale / 45), "stroke_fill": look["fill"]}
        draw.text((part.x * scale, part.y * scale), part.text, font=font, anchor=_LETTERS[part.anchor], **look)
        return
    if paint.width:
        look |= {"outline": paint.line[which], "width": max(1, round(paint.width * scale))}
    if isinstance(part, Box):
        corners = part.x, part.y, part.x + part.width, part.y + part.height
        left, top, right, bottom = (round(corner * scale) for corner in corners)  # old Pillows stumble over fractions
        draw.rounded_rectangle((left, top, right - 1, bottom - 1), round(part.radius * scale), **look)
    elif isinstance(part, Disc):
        x, y, radius = part.x * scale, part.y * scale, part.radius * scale
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), **look)
    else:
        draw.polygon([(x * scale, y * scale) for x, y in part.corners], **look)


# --- A window ----------------------------------------------------------------------------------------------------


def has_display() -> bool:
    """Whether a window can be hoped for."""
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


class Window:
    """A window for pictures, opened when the first is shown. A copy of it is a window that has yet to be opened."""

    def __init__(self) -> None:
        self._root: Any = None
        self._label: Any = None

    def __reduce__(self) -> tuple[type["Window"], tuple[()]]:
        return Window, ()

    def show(self, draw: Callable[[], np.ndarray], title: str) -> bool:
        """Shows a picture, or returns False where there is no display, no tkinter or no Pillow.

        Args:
            draw: makes the picture, (H, W, 3) uint8, and raises ImportError if it cannot.
            title: of the window.
        """
        if not has_display():
            return False
        try:
            import tkinter

            picture = draw()
        except ImportError:
            return False
        try:
            if self._root is not None:
                self._root.update()  # the window may have been closed meanwhile: then it opens anew
            if self._root is None:
                self._open(tkinter, title)
            self._put(tkinter, picture)
        except tkinter.TclError:  # the display refuses
            self.close()
            return False
        return True

    def _open(self, tkinter: Any, title: str) -> None:
        self._root = tkinter.Tk()
        self._root.title(title)
        self._root.protocol("WM_DELETE_WINDOW", self.close)
        self._label = tkinter.Label(self._root, borderwidth=0)
        self._label.pack()

    def _put(self, tkinter: Any, picture: np.ndarray) -> None:
        height, width, _ = picture.shape
        pixels = tkinter.PhotoImage(master=self._root, data=b"P6 %d %d 255\n" % (width, height) + picture.tobytes())
        self._label.configure(image=pixels)
        self._label.image = pixels  # Tk itself does not keep it alive
        self._root.update()

    def close(self) -> None:
        """Closes the window, if there is one."""
        root, self._root, self._label = self._root, None, None
        if root is not None:
            root.destroy()


# --- An environment's render() -----------------------------------------------------------------------------------


class Renderer:
    """What the environments do in each render mode: text, pixels, or the one or the other shown to people.

    Args:
        mode: "ansi", "rgb_array", "human" or None.

    Raises:
        ValueError: there is no such mode.
    """

    MODES = ("ansi", "human", "rgb_array")

    def __init__(self, mode: str | None) -> None:
        if mode is not None and mode not in self.MODES:
            allowed = ", ".join(repr(one) for one in (*self.MODES, None))
            raise ValueError(f"render_mode={mode!r} is not allowed; allowed: {allowed}")
        self._mode = mode
        self._window = Window()

    def render(
        self, games: np.ndarray, index: int, rules: GameRules, perspective: int | str
    ) -> str | np.ndarray | None:
        """Text or pixels (H, W, 3); None if it is shown or there is no mode. Arguments as for `svg`.

        Raises:
            ImportError: the mode is "rgb_array" and Pillow is missing.
        """
        if self._mode is None:
            gymnasium.logger.warn("render() needs a render mode: make the environment with render_mode='ansi'")
            return None
        if self._mode == "ansi":
            return ansi(games, index, rules, perspective)
        if self._mode == "rgb_array":
            return rgb_array(games, index, rules, perspective)
        if not self._window.show(lambda: rgb_array(games, index, rules, perspective), rules.name):
            print(ansi(games, index, rules, perspective))
        return None

    def close(self) -> None:
        """Closes the window, if there is one."""
        self._window.close()
