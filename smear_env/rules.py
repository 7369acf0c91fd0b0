"""The rules as data: `GameRules` is what a person writes, `Tables` is what the kernels read.

The bauers and the joker are nothing but entries of these tables: which suit a card belongs to when a suit is trump,
and how strong it is. Nothing else in the engine knows of them.
"""

import difflib
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta

from smear_env.cards import JOKERS, NUM_CARDS, NUM_SUITS, RANKS, bit, set_of

Tables: TypeAlias = Any
"""One row of `TABLES`, as kernels get it."""

NOBODY = -1
MAX_SEATS = 6
MAX_TRICKS = 6

KINDS = ("high", "low", "jack", "left", "joker", "game")
"""The kinds of points; `jack` is the right bauer's where there are bauers."""
HIGH, LOW, JACK, LEFT, JOKER, GAME = range(6)

PHASES = ("bid", "trump", "exchange", "keep", "play", "over")
"""What a game can be waiting for. `trump`: naming it, or the bidder's private commitment (F-8)."""
BID, TRUMP, EXCHANGE, KEEP, PLAY, OVER = range(6)

_HANDS = tuple(range(1, MAX_TRICKS + 1))

_ALL_PASS = ("redeal_same", "redeal_next", "stick_dealer")
REDEAL_SAME, REDEAL_NEXT, STICK_DEALER = range(3)

CARD_POINTS = {"T": 10, "A": 4, "K": 3, "Q": 2, "J": 1}


class At(NamedTuple):
    """Where an option stands in a rules file, what it means, and which of its values work already (empty: all)."""

    place: str
    meaning: str
    implemented: tuple[Any, ...] = ()


@dataclass(frozen=True)
class GameRules:
    """The rules of one game of the family. The defaults are Schmier's.

    The same keywords are understood by the environments, by the command line and, nested as `At.place` says, by
    TOML files. RULES.md tells what each does.

    >>> GameRules(target=11).target
    11

    Raises:
        ValueError: a value that is not allowed, not implemented yet, or that does not go with the others.
    """

    players: Annotated[int, Meta(ge=2, le=MAX_SEATS), At("seats.players", "seats at the table")] = 6
    teams: Annotated[int, Meta(ge=2, le=MAX_SEATS), At("seats.teams", "team = seat mod teams (O-1)")] = 3
    suits: Annotated[int, Meta(ge=1, le=NUM_SUITS), At("deck.suits", "suits in the pack (O-19)")] = 4
    low_rank: Annotated[int, Meta(ge=2, le=13), At("deck.low_rank", "lowest rank in the pack (O-12)")] = 2
    jokers: Annotated[int, Meta(ge=0, le=2), At("deck.jokers", "jokers in the pack (O-13)", (0, 1))] = 1
    left_bower: Annotated[bool, At("trump.left_bower", "other jack of the colour is a trump (O-14)")] = True
    jokers_rank: Annotated[
        Literal["below_all", "above_ten"], At("trump.jokers_rank", "where the joker ranks (S-5)", ("below_all",))
    ] = "below_all"
    joker_tie: Annotated[
        Literal["first_higher", "second_higher", "marked"],
        At("trump.joker_tie", "which of two jokers is higher", ("first_higher",)),
    ] = "first_higher"
    trump_choice: Annotated[
        Literal["named", "pitched"], At("trump.choice", "trump is named (S-13) or the suit of the first lead (F-12)")
    ] = "named"
    first_lead: Annotated[
        Literal["any", "trump"], At("trump.first_lead", "what the bidder may lead first (S-20)", ("any",))
    ] = "any"
    joker_open: Annotated[bool, At("trump.joker_open", "the joker may open the first trick", (True,))] = True
    deal_cards: Annotated[int, Meta(ge=1, le=10), At("deal.cards", "cards dealt to each (O-20)", _HANDS)] = 6
    hand_cards: Annotated[int, Meta(ge=1, le=10), At("deal.hand", "cards each plays with (O-20)", _HANDS)] = 6
    min_bid: Annotated[int, Meta(ge=1, le=10), At("auction.min", "lowest bid (O-3)")] = 3
    max_bid: Annotated[int, Meta(ge=1, le=10), At("auction.max", "highest bid (O-3)")] = 6
    dealer_privilege: Annotated[
        Literal["none", "match_any", "match_max"],
        At("auction.dealer", "bids the dealer may match instead of raise (S-9)", ("none",)),
    ] = "none"
    all_pass: Annotated[
        Literal["redeal_same", "redeal_next", "stick_dealer", "dealer_set", "free_pitch"],
        At("auction.all_pass", "when everybody passes (O-4)", _ALL_PASS),
    ] = "redeal_same"
    max_bid_ends: Annotated[bool, At("auction.max_bid_ends", "the highest bid ends the auction (O-3)")] = True
    widow: Annotated[int, Meta(ge=0, le=6), At("widow.size", "undealt cards the bidder takes (O-11)", (0, 1, 2, 3))] = 0
    exchange_who: Annotated[
        Literal["none", "bidder", "non_dealers", "all"],
        At("exchange.who", "who exchanges cards (O-16)", ("none", "bidder", "non_dealers")),
    ] = "non_dealers"
    exchange_discard: Annotated[
        Literal["up_to_1", "up_to_2", "up_to_3", "up_to_4", "up_to_5", "up_to_6", "down_to_hand", "all_nontrump"],
        At(
            "exchange.discard",
            "how many cards go (O-16)",
            ("up_to_1", "up_to_2", "up_to_3", "up_to_4", "up_to_5", "up_to_6", "down_to_hand"),
        ),
    ] = "up_to_3"
    exchange_draw: Annotated[
        Literal["none", "replace", "refill"], At("exchange.draw", "what is drawn for them", ("none", "replace"))
    ] = "replace"
    stock_to: Annotated[
        Literal["none", "dealer", "bidder"], At("exchange.stock_to", "who gets the rest", ("none", "dealer"))
    ] = "dealer"
    protected: Annotated[
        tuple[Literal["ace", "right", "left", "low", "joker", "three"], ...],
        At("exchange.protected", "trumps never discarded (O-16)"),
    ] = ("ace", "right", "left", "low", "joker")
    discards_score_for: Annotated[
        Literal["nobody", "owner"], At("exchange.score_for", "whose game point discards count for (O-17)")
    ] = "nobody"
    exchange_show: Annotated[
        Literal["none", "count", "excess_trumps"], At("exchange.show", "what others see of it", ("none", "count"))
    ] = "count"
    follow: Annotated[
        Literal["strict", "follow_or_trump", "trump_only"],
        At("play.follow", "what may be played on a lead (O-15)", ("strict", "follow_or_trump")),
    ] = "strict"
    high: Annotated[Literal["ace", "in_play"], At("points.high.card", "what scores high (O-5)")] = "ace"
    low: Annotated[Literal["fixed", "in_play"], At("points.low.card", "what scores low (O-6)")] = "fixed"
    low_to: Annotated[Literal["player", "taker"], At("points.low.to", "who scores low (S-25)", ("player",))] = "player"
    jack_point: Annotated[int, Meta(ge=0, le=1), At("points.jack", "points for the (right) jack (O-13)")] = 1
    left_point: Annotated[int, Meta(ge=0, le=1), At("points.left", "points for the left bauer (O-13)")] = 1
    joker_point: Annotated[int, Meta(ge=0, le=1), At("points.joker", "points for the joker (O-13)")] = 1
    three_points: Annotated[int, Meta(ge=0, le=3), At("points.three", "points for the three", (0,))] = 0
    joker_card_points: Annotated[
        int, Meta(ge=0, le=1), At("points.game.joker_value", "card points of the joker (O-13)")
    ] = 1
    game_tie: Annotated[Literal["nobody"], At("points.game.tie", "who gets a tied game point (S-28)")] = "nobody"
    target: Annotated[int, Meta(ge=1, le=500), At("match.target", "points that end the game (O-2)")] = 21
    finish: Annotated[Literal["any_team", "bidder_only"], At("match.finish", "who can win in a deal (O-7)")] = (
        "any_team"
    )
    defender_cap: Annotated[
        Literal["none", "target_minus_1", "target"], At("match.defender_cap", "how high other teams rise (O-8)")
    ] = "none"
    tie: Annotated[
        Literal["higher_then_bidder", "bidder_first"], At("match.tie", "who wins when several could (O-9)")
    ] = "higher_then_bidder"
    residual_tie: Annotated[
        Literal["play_on", "shared"], At("match.residual_tie", "when teams tie without the bidder (O-10)")
    ] = "play_on"

    def __post_init__(self) -> None:
        for name in OPTIONS:
            object.__setattr__(self, name, _checked(name, getattr(self, name)))
        _check_together(self)

    @property
    def max_points(self) -> int:
        """The most points that one deal can bring."""
        return 3 + self.jack_point + self.left_point + self.joker_point

    @property
    def deck_size(self) -> int:
        """The number of cards in the pack."""
        return self.suits * (15 - self.low_rank) + self.jokers

    @property
    def has_jacks(self) -> bool:
        """Whether there are jacks in the pack."""
        return self.low_rank <= 11

    @property
    def max_discard(self) -> int:
        """The most cards that a player other than the dealer may exchange; 0 where nobody may."""
        return int(self.exchange_discard[-1]) if self.exchange_who == "non_dealers" else 0

    @property
    def name(self) -> str:
        """The nearest preset, and the options that differ from it.

        >>> GameRules(target=11).name
        'schmier target=11'
        """
        preset, options = differences(self)
        return " ".join([preset] + [f"{name}={_option_text(value)}" for name, value in options.items()])


OPTIONS: dict[str, At] = {}
_TYPES: dict[str, Any] = {}
for _name, _hint in get_type_hints(GameRules, include_extras=True).items():
    _TYPES[_name] = _hint
    OPTIONS[_name] = next(extra for extra in get_args(_hint)[1:] if isinstance(extra, At))
KEYWORD_AT = {at.place: name for name, at in OPTIONS.items()}

# Places of a rules file that have a single value so far, hence no keyword.
_FIXED = {
    "exchange.excess": "excess_only",
    "points.high.to": "player",
    "points.game.by": "card_points",
    "scoring.made": "all_points",
    "scoring.set": "minus_bid",
    "scoring.defenders": "all_points",
    "misdeal": "none",
}


def _option_text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def allowed_values(name: str) -> str:
    """What an option may be set to, as text.

    >>> allowed_values("all_pass"), allowed_values("target")
    ('redeal_same, redeal_next, stick_dealer', 'a whole number 1..500')
    """
    hint, *extras = get_args(_TYPES[name])
    if OPTIONS[name].implemented:
        return ", ".join(_option_text(value) for value in OPTIONS[name].implemented)
    if hint is bool:
        return "true, false"
    if get_origin(hint) is Literal:
        return ", ".join(get_args(hint))
    if get_origin(hint) is tuple:
        return "any of " + ", ".join(value for value in get_args(get_args(hint)[0]) if value != "three")
    bounds = next(extra for extra in extras if isinstance(extra, Meta))
    return f"a whole number {bounds.ge}..{bounds.le}"


def _checked(name: str, value: Any, from_text: bool = False) -> Any:
    """The value of an option in its right type.

    Raises:
        ValueError: it is not one of the values allowed, or not implemented yet.
    """
    if from_text and get_origin(get_args(_TYPES[name])[0]) is tuple:
        value = [part for part in value.split(",") if part]
    try:
        checked = msgspec.convert(value, _TYPES[name], strict=not from_text)
    except msgspec.ValidationError:
        raise ValueError(f"rule option {name}={value!r} is not allowed; allowed: {allowed_values(name)}") from None
    implemented = OPTIONS[name].implemented
    if (implemented and checked not in implemented) or (name == "protected" and "three" in checked):
        raise ValueError(
            f"rule option {name}={_option_text(value)} is not implemented yet; implemented: {allowed_values(name)}"
        )
    return checked


def _check_together(rules: GameRules) -> None:
    """Raises ValueError when options that are fine alone contradict each other."""

    def demand(condition: bool, message: str) -> None:
        if not condition:
            raise ValueError(f"these rules do not go together: {message}")

    r = rules
    stock = r.deck_size - r.players * r.deal_cards
    demand(r.players % r.teams == 0, f"players={r.players} cannot be split into teams={r.teams} of the same size")
    demand(
        r.deal_cards == r.hand_cards,
        f"deal_cards={r.deal_cards} and hand_cards={r.hand_cards} have to be the same number",
    )
    demand(
        stock >= r.widow,
        f"players={r.players} x {r.deal_cards} cards and widow={r.widow} need more than the {r.deck_size} in the pack",
    )
    demand(r.min_bid <= r.max_bid, f"min_bid={r.min_bid} is higher than max_bid={r.max_bid}")
    demand(r.max_bid <= r.max_points, f"max_bid={r.max_bid} is more than the {r.max_points} points of a deal")
    demand(r.has_jacks or not r.jack_point, f"jack_point=1 needs a jack in the pack, low_rank={r.low_rank} leaves none")
    demand(r.left_bower or not r.left_point, "left_point=1 needs left_bower=true")
    demand(
        r.has_jacks or not r.left_bower, f"left_bower=true needs jacks in the pack, low_rank={r.low_rank} leaves none"
    )
    demand(r.suits == NUM_SUITS or not r.left_bower, f"left_bower=true needs suits=4, not suits={r.suits}")
    demand(bool(r.jokers) or not r.joker_point, "joker_point=1 needs jokers=1")
    demand(bool(r.jokers) or not r.joker_card_points, "joker_card_points=1 needs jokers=1")
    if r.exchange_who != "none":
        missing = {"joker": not r.jokers, "left": not r.left_bower, "right": not r.has_jacks}
        protected = [name for name in r.protected if not missing.get(name)]
        demand(
            len(protected) <= r.hand_cards,
            f"hand_cards={r.hand_cards} leaves no room for all protected trumps: {','.join(protected)}",
        )
    if r.exchange_who == "non_dealers":
        demand(r.trump_choice == "named", "exchange_who=non_dealers needs trump_choice=named")
        demand(r.exchange_discard.startswith("up_to_"), "exchange_who=non_dealers needs exchange_discard=up_to_N")
        demand(r.exchange_draw == "replace", "exchange_who=non_dealers needs exchange_draw=replace")
        demand(r.stock_to == "dealer", "exchange_who=non_dealers needs stock_to=dealer")
        demand(r.discards_score_for == "nobody", "exchange_who=non_dealers needs discards_score_for=nobody")
        demand(r.exchange_show == "count", "exchange_who=non_dealers needs exchange_show=count")
        demand(
            stock >= (r.players - 1) * r.max_discard,
            f"the stock of {stock} cards is too small for {r.players - 1} players to exchange {r.max_discard} each",
        )
    else:
        demand(r.exchange_draw == "none", f"exchange_who={r.exchange_who} needs exchange_draw=none")
        demand(r.stock_to == "none", f"exchange_who={r.exchange_who} needs stock_to=none")
    if r.exchange_who == "bidder":
        demand(r.trump_choice == "pitched", "exchange_who=bidder needs trump_choice=pitched")
        demand(r.exchange_discard == "down_to_hand", "exchange_who=bidder needs exchange_discard=down_to_hand")
        demand(r.exchange_show == "none", "exchange_who=bidder needs exchange_show=none")
    else:
        demand(r.widow == 0, f"widow={r.widow} needs exchange_who=bidder")
    if r.trump_choice == "pitched":
        demand(not r.left_bower, "trump_choice=pitched with left_bower=true is not implemented yet")
        demand(not r.jokers, "trump_choice=pitched with jokers is not implemented yet")


_FOUR_POINT = GameRules(
    players=4, teams=2, low_rank=7, jokers=0, left_bower=False, trump_choice="pitched", min_bid=2, max_bid=4, widow=2,
    exchange_who="bidder", exchange_discard="down_to_hand", exchange_draw="none", stock_to="none", protected=(),
    discards_score_for="owner", exchange_show="none", follow="follow_or_trump", left_point=0, joker_point=0,
    joker_card_points=0, target=15,
)  # fmt: skip

_MINI = GameRules(
    players=2, teams=2, suits=2, low_rank=12, left_bower=False, deal_cards=2, hand_cards=2, min_bid=1, max_bid=2,
    exchange_who="none", exchange_discard="down_to_hand", exchange_draw="none", stock_to="none", protected=(),
    exchange_show="none", jack_point=0, left_point=0, target=5,
)  # fmt: skip

PRESETS: dict[str, GameRules] = {
    "schmier": GameRules(),
    "schmier_2x3": GameRules(teams=2),
    "four_point": _FOUR_POINT,
    "mini_2p": _MINI,
    "mini_4p": replace(_MINI, players=4, low_rank=11, jokers=0, jack_point=1, joker_point=0, joker_card_points=0),
}
"""Games by name."""


def _unknown(what: str, given: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(given, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
    return f"unknown {what} {given!r}; {hint}"


def make_rules(rules: "GameRules | str | Path | None" = None, **options: Any) -> GameRules:
    """The rules that a preset name, a TOML file or a `GameRules` stands for, with single options changed.

    >>> make_rules("four_point", widow=3).widow
    3

    Args:
        rules: the name of a preset, the path of a TOML file (its name ends in `.toml`), or rules; None is `schmier`.
        options: single rule options by keyword.

    Raises:
        TypeError: an option that does not exist.
        ValueError: no such preset, a file that is not right, or a value that is not allowed.
    """
    if rules is None:
        rules = "schmier"
    if isinstance(rules, Path) or (isinstance(rules, str) and rules.endswith(".toml")):
        rules = load_rules(rules)
    if isinstance(rules, str):
        if rules not in PRESETS:
            raise ValueError(_unknown("game", rules, PRESETS) + " Or give the path of a .toml file.")
        rules = PRESETS[rules]
    if not isinstance(rules, GameRules):
        raise TypeError(f"rules must be GameRules, the name of a preset or the path of a TOML file, not {rules!r}")
    for name in options:
        if name not in OPTIONS:
            raise TypeError(_unknown("rule option", name, OPTIONS))
    return replace(rules, **options)


def parse_options(texts: Mapping[str, str]) -> dict[str, Any]:
    """Rule options given as text, as on the command line, in their right types.

    >>> parse_options({"target": "11", "max_bid_ends": "false"})
    {'target': 11, 'max_bid_ends': False}
    """
    for name in texts:
        if name not in OPTIONS:
            raise ValueError(_unknown("rule option", name, OPTIONS))
    return {name: _checked(name, text, from_text=True) for name, text in texts.items()}


def _places(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of a nested table by their dotted place."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _places(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def load_rules(path: str | Path) -> GameRules:
    """The rules that a TOML file holds: options nested by their places, on top of the preset it `extends`.

    Raises:
        ValueError: the file cannot be read, is not TOML, or names a place, value or preset that is not there.
    """
    try:
        places = _places(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read the rules file {path}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from None
    preset = places.pop("extends", "schmier")
    options = {}
    for place, value in places.items():
        if place in _FIXED:
            if value != _FIXED[place]:
                raise ValueError(f"{path}: {place} = {value!r} is not implemented yet; implemented: {_FIXED[place]!r}")
        elif place in KEYWORD_AT:
            options[KEYWORD_AT[place]] = value
        else:
            raise ValueError(f"{path}: " + _unknown("rule", place, KEYWORD_AT))
    try:
        if not isinstance(preset, str) or preset not in PRESETS:
            raise ValueError(_unknown("preset to extend", str(preset), PRESETS))
        return make_rules(preset, **options)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def differences(rules: GameRules) -> tuple[str, dict[str, Any]]:
    """The preset nearest to some rules, and the options in which they differ from it.

    >>> differences(make_rules("four_point", widow=3))
    ('four_point', {'widow': 3})
    """
    ours = asdict(rules)

    def changed(preset: str) -> dict[str, Any]:
        theirs = asdict(PRESETS[preset])
        return {name: value for name, value in ours.items() if value != theirs[name]}

    nearest = min(PRESETS, key=lambda preset: len(changed(preset)))
    return nearest, changed(nearest)


# --- Tables ------------------------------------------------------------------------------------------------------

NO_TRUMP_YET = 4
"""The row of the tables for the time before trump is fixed: printed suits. It is the last row, so that the index
NOBODY (-1) of a trump not named yet finds it."""

TABLES = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("suit_cards", "i8", (NUM_SUITS + 1, NUM_SUITS)),  # cards that belong to a suit, by trump
                ("protected", "i8", NUM_SUITS),  # trumps never discarded, by trump
                ("high_cards", "i8", NUM_SUITS),  # cards of which the highest played scores high, by trump
                ("low_cards", "i8", NUM_SUITS),  # cards of which the lowest played scores low, by trump
                ("bid_bit", "i8", 12),  # a bid's bit among the seat's bids, by bid + 1: none, pass, 1, 2, ...
                ("players", "i8"),
                ("teams", "i8"),
                ("hand_cards", "i8"),
                ("deck_size", "i8"),
                ("suits", "i8"),
                ("low_rank", "i8"),  # as an index, 0 for the two
                ("min_bid", "i8"),
                ("max_bid", "i8"),
                ("max_bid_ends", "i8"),
                ("all_pass", "i8"),
                ("pitched", "i8"),
                ("widow", "i8"),
                ("max_discard", "i8"),  # 0: no exchange
                ("count_discards", "i8"),  # the bidder's discards count for his team's game point
                ("follow_or_trump", "i8"),
                ("target", "i8"),
                ("bidder_only", "i8"),
                ("defender_cap", "i8"),  # the score that other teams than the bidder's cannot pass
                ("bidder_first", "i8"),
                ("shared", "i8"),
                ("phases", "i8"),  # bit PHASE set for each phase that the game has
                ("team_of", "i1", MAX_SEATS),
                ("kind_points", "i1", len(KINDS)),  # 1 for each kind of point that is played for
                ("deck", "i1", NUM_CARDS),  # the pack, lowest number first
                ("card_points", "i1", NUM_CARDS),
                ("suit_of", "i1", (NUM_SUITS + 1, NUM_CARDS)),
                ("strength", "i1", (NUM_SUITS + 1, NUM_CARDS)),  # every trump above every other card
                ("kind_of", "i1", (NUM_SUITS + 1, NUM_CARDS)),  # the point won with the trick, or NOBODY
            ],
            align=True,
        ),
    )
)


def _named_trumps(rules: GameRules, trump: int) -> dict[str, int]:
    """The trumps that have a name of their own."""
    jack, other_jack = (13 * suit + RANKS.index("J") for suit in (trump, 3 - trump))
    named = {"ace": 13 * trump + 12, "low": 13 * trump + rules.low_rank - 2}
    if rules.has_jacks:
        named["right"] = jack
    if rules.left_bower:
        named["left"] = other_jack
    if rules.jokers:
        named["joker"] = JOKERS[0]
    return named


def trump_order(rules: GameRules, trump: int) -> list[int]:
    """The trumps from the highest down, as a player would say them (S-5).

    Without bauers the jack stands where the right bauer would, which is its place in A K Q J 10.
    """
    named = _named_trumps(rules, trump)
    order = ["A", "K", "Q", "right", "left", "T", "9", "8", "7", "6", "5", "4", "3", "2", "joker"]
    cards = []
    for name in order:
        if name in named:
            cards.append(named[name])
        elif name in RANKS and RANKS.index(name) >= rules.low_rank - 2:
            cards.append(13 * trump + RANKS.index(name))
    return cards


@functools.lru_cache(maxsize=256)
def make_tables(rules: GameRules) -> np.ndarray:
    """The tables of some rules: an array of one row, read-only."""
    tables = np.zeros(1, TABLES).view(np.recarray)
    t = tables[0]
    pack = [13 * suit + rank for suit in range(rules.suits) for rank in range(rules.low_rank - 2, 13)]
    pack += JOKERS[: rules.jokers]
    t.deck[:] = NOBODY
    t.deck[: len(pack)] = pack
    t.kind_of[:], t.suit_of[:] = NOBODY, NOBODY
    for card in pack:
        t.suit_of[:, card] = card // 13 if card < 52 else NOBODY
        t.strength[:, card] = card % 13 if card < 52 else 0
        t.card_points[card] = rules.joker_card_points if card >= 52 else CARD_POINTS.get(RANKS[card % 13], 0)
    for trump in range(rules.suits):
        order = trump_order(rules, trump)
        for place, card in enumerate(reversed(order)):
            t.suit_of[trump, card] = trump
            t.strength[trump, card] = 64 + place
        named = _named_trumps(rules, trump)
        t.protected[trump] = set_of(named[name] for name in rules.protected if name in named)
        in_play = set_of(card for card in order if card < 52)
        t.high_cards[trump] = bit(named["ace"]) if rules.high == "ace" else in_play
        t.low_cards[trump] = bit(named["low"]) if rules.low == "fixed" else in_play
        for kind, name in ((JACK, "right"), (LEFT, "left"), (JOKER, "joker")):
            if name in named:
                t.kind_of[trump, named[name]] = kind
    for row in range(NUM_SUITS + 1):
        for suit in range(NUM_SUITS):
            t.suit_cards[row, suit] = set_of(card for card in pack if t.suit_of[row, card] == suit)
    t.kind_points[:] = [1, 1, rules.jack_point, rules.left_point, rules.joker_point, 1]
    t.players, t.teams, t.hand_cards, t.deck_size = rules.players, rules.teams, rules.hand_cards, rules.deck_size
    t.suits, t.low_rank, t.min_bid, t.max_bid, t.max_bid_ends = (
        rules.suits,
        rules.low_rank - 2,
        rules.min_bid,
        rules.max_bid,
        rules.max_bid_ends,
    )
    t.bid_bit[1] = 1
    for bid in range(rules.min_bid, rules.max_bid + 1):
        t.bid_bit[bid + 1] = 1 << (bid - rules.min_bid + 1)
    t.team_of[:] = [seat % rules.teams for seat in range(MAX_SEATS)]
    t.all_pass = _ALL_PASS.index(rules.all_pass)
    t.pitched = rules.trump_choice == "pitched"
    t.widow, t.max_discard = rules.widow, rules.max_discard
    t.count_discards = rules.discards_score_for == "owner"
    t.follow_or_trump = rules.follow == "follow_or_trump"
    t.target = rules.target
    t.bidder_only = rules.finish == "bidder_only"
    t.defender_cap = {"none": 2**30, "target": rules.target, "target_minus_1": rules.target - 1}[rules.defender_cap]
    t.bidder_first = rules.tie == "bidder_first"
    t.shared = rules.residual_tie == "shared"
    t.phases = sum(
        1 << phase
        for phase, present in (
            (BID, True),
            (TRUMP, not t.pitched or t.widow),
            (EXCHANGE, t.max_discard),
            (KEEP, t.max_discard or t.widow),
            (PLAY, True),
            (OVER, True),
        )
        if present
    )
    tables.setflags(write=False)
    return tables.view(np.ndarray)


def rules_table(rules: GameRules) -> list[tuple[str, str, str, str]]:
    """Every option as (keyword, value, meaning, allowed), in their order."""
    return [
        (
            option.name,
            _option_text(getattr(rules, option.name)),
            OPTIONS[option.name].meaning,
            allowed_values(option.name),
        )
        for option in fields(rules)
    ]
