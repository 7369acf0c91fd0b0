"""What a seat sees, as a vector of small numbers: named blocks, each declared once.

`BLOCKS` is the declaration: offsets, sizes and the table of the documentation are computed from it, `encode`
writes it and `decode` reads it back. Seats and teams are relative to the seat that looks: 0 is itself, 1 the seat
to its left, and so on; team 0 is its own.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from smear_env._jit import Buffer, int64, kernel, write_byte, write_number, write_word
from smear_env.actions import NUM_ACTIONS, PASS
from smear_env.cards import JOKERS, NO_CARDS, NUM_SUITS, SUITS, bit, count
from smear_env.rules import GAME, KINDS, NOBODY, PHASES, GameRules, Tables, make_tables
from smear_env.state import Game

SCORE_SHIFT = 6
SCORE_BASE = 1 << SCORE_SHIFT
"""A score s is written as two numbers of its sign, |s| // 64 and |s| % 64, so that nothing is clipped."""
WRITTEN = 64
"""Cards are written so many numbers at a time (see write_cards)."""
MAX_SCORE = SCORE_BASE * 127 + SCORE_BASE - 1


def _card(rules: GameRules) -> int:
    return rules.deck_size


def _if(condition: bool, width: int) -> int:
    return width if condition else 0


def _has_keep(rules: GameRules) -> bool:
    return bool(rules.max_discard or rules.widow)


def _num_phases(rules: GameRules) -> int:
    return int(make_tables(rules)[0]["phases"]).bit_count()


def _trick_kinds(rules: GameRules) -> list[int]:
    """The kinds of points that can be won before the deal is scored."""
    return [kind for kind in range(GAME) if make_tables(rules)[0]["kind_points"][kind]]


def _padding(rules: GameRules) -> int:
    """What the blocks from `table` on are short of the numbers that are written at a time."""
    names = [block.name for block in BLOCKS]
    return max(0, WRITTEN - sum(block.width(rules) for block in BLOCKS[names.index("table") : -1]))


class Block(NamedTuple):
    """One block of the observation: its name, its width under some rules, and what its numbers mean."""

    name: str
    width: Callable[[GameRules], int]
    meaning: str


BLOCKS = (
    Block("hand", _card, "cards that I hold, one bit a card"),
    Block(
        "discards",
        lambda r: _if(_has_keep(r), r.deck_size - r.jokers),
        "cards that I have thrown or discarded in this deal, one bit a card (a joker never is)",
    ),
    Block("kept", lambda r: _if(_has_keep(r), r.deck_size), "in the keep phase, cards that stay with me for certain"),
    Block("played", lambda r: r.players * r.deck_size, "cards played in this deal, one bit a card, seat by seat"),
    Block("table", _card, "cards of the trick on the table, one bit a card (`played` says whose)"),
    Block("voids", lambda r: (r.players - 1) * NUM_SUITS, "suits that each other seat has shown to be void in"),
    Block(
        "draws",
        lambda r: _if(bool(r.max_discard), r.players * (r.max_discard + 1)),
        "cards each seat has exchanged, one bit for each number 0, 1, ...; none before its turn and for the dealer",
    ),
    Block(
        "bids",
        lambda r: r.players * (r.max_bid - r.min_bid + 2),
        "each seat's bid, one bit for a pass and for each bid from the lowest; none before its turn",
    ),
    Block("dealer", lambda r: r.players, "who deals"),
    Block("bidder", lambda r: r.players, "who has made the highest bid so far"),
    Block("leader", lambda r: r.players, "who leads or led to the trick on the table"),
    Block("phase", _num_phases, "what the game waits for, one bit for each phase that the game has, in playing order"),
    Block("trump", lambda r: NUM_SUITS, "trump, if I know it"),
    Block(
        "points",
        lambda r: len(_trick_kinds(r)) * r.teams,
        "which team holds each point so far (high, low, jack, left, joker, those that are played for)",
    ),
    Block("card_points", lambda r: r.teams, "card points in the tricks that each team has won in this deal"),
    Block("scores", lambda r: 2 * r.teams, "each team's score s as |s| // 64 and |s| % 64, with the sign of s"),
    Block("deals", lambda r: 2, "dealings-out n so far in this game, this one included, as n // 64 and n % 64"),
    Block("padding", _padding, "zeros: cards are written 64 at a time, and the blocks from `table` on are fewer"),
)

LAYOUT = np.dtype((np.record, np.dtype([(block.name, "i8", 2) for block in BLOCKS] + [("length", "i8")], align=True)))
"""Where each block begins and ends, and the length D of the whole, as the kernels read it."""

Layout: TypeAlias = Any
"""One row of `LAYOUT`, as kernels get it."""


@functools.lru_cache(maxsize=256)
def make_layout(rules: GameRules) -> np.ndarray:
    """The layout of the observation under some rules: an array of one row, read-only."""
    layout = np.zeros(1, LAYOUT)
    begin = 0
    for block in BLOCKS:
        layout[block.name] = begin, begin + block.width(rules)
        begin += block.width(rules)
    layout["length"] = begin
    if begin - layout["table"][0, 0] < WRITTEN or begin - layout["card_points"][0, 0] < 8:
        raise ValueError(f"observations of {begin} numbers are too short for how they are written (see write_cards)")
    layout.setflags(write=False)
    return layout


def observation_size(rules: GameRules) -> int:
    """The length D of the observation under some rules."""
    return int(make_layout(rules)["length"][0])


def block_slice(rules: GameRules, name: str) -> slice:
    """Where a block stands in the observation.

    >>> block_slice(GameRules(), "hand")
    slice(0, 53, None)

    Raises:
        KeyError: there is no block of that name.
    """
    if name not in {block.name for block in BLOCKS}:
        raise KeyError(f"no block {name!r}; blocks: {', '.join(block.name for block in BLOCKS)}")
    begin, end = make_layout(rules)[name][0]
    return slice(int(begin), int(end))


# --- Encode ------------------------------------------------------------------------------------------------------


# Cards are written 64 numbers at a time and other bits eight at a time, hence up to so many past the end of a block:
# blocks are written in their order, so the next one mends it, and `make_layout` sees to it that the row is long enough.


@kernel
def write_bits(buffer: Buffer, begin: int, end: int, word: int) -> None:
    """Writes the lowest end - begin bits of a word to buffer[begin:end]."""
    at = begin
    while at < end:  # a range with a step would cost a division
        write_byte(buffer, at, word & 255)
        word >>= 8
        at += 8


@kernel
def write_cards(buffer: Buffer, at: int, cards: int, t: Tables) -> None:
    """Writes a set of cards to the buffer from a place on, one bit for each card of the pack."""
    write_word(buffer, at, in_pack(cards, t))


@kernel
def in_pack(cards: int, t: Tables) -> int:
    """A set of cards numbered as they stand in the pack: without gaps for the ranks and suits that it lacks."""
    if t.deck_size >= 52:
        return cards
    ranks = 13 - t.low_rank
    suit = (int64(1) << ranks) - 1
    dense = int64(0)
    for s in range(t.suits):
        dense |= ((cards >> (13 * s + t.low_rank)) & suit) << (ranks * s)
    return dense | ((cards >> JOKERS[0]) << (ranks * t.suits))


@kernel
def out_of_pack(dense: int, t: Tables) -> int:
    """The set of cards that `in_pack` has numbered."""
    if t.deck_size >= 52:
        return dense
    ranks = 13 - t.low_rank
    suit = (int64(1) << ranks) - 1
    cards = (dense >> (ranks * t.suits)) << JOKERS[0]
    for s in range(t.suits):
        cards |= ((dense >> (ranks * s)) & suit) << (13 * s + t.low_rank)
    return cards


@kernel
def left_of(index: int, size: int) -> int:
    """The next seat or team clockwise, without a branch or a division."""
    return (index + 1) * int64(index + 1 < size)


@kernel
def relative(index: int, seat: int, size: int) -> int:
    """A seat or team as seen from another: how many places to the left."""
    return index - seat + size * int64(index < seat)


@kernel
def one_hot(index: int, seat: int, size: int) -> int:
    """The bit for a seat or team as seen from another; no bit for NOBODY.

    It has no branch, like all that follows: the processor would guess wrong half the time.
    """
    return int64(index != NOBODY) << relative(index, seat, size)


@kernel
def knows_trump(g: Game, seat: int) -> bool:
    """Whether a seat knows what trump is: everybody once it is public, before that the bidder (F-8)."""
    return g.trump != NOBODY and (g.trump_public or seat == g.bidder)


@kernel
def encode(g: Game, t: Tables, o: Layout, seat: int, buffer: Buffer, base: int) -> None:
    """Writes what a seat sees to buffer[base : base + D], every number of it. `o` is the row of the layout.

    `buffer` is `buffer_of` an array (N, D).
    """
    players = t.players
    write_cards(buffer, base + o.hand[0], g.hand[seat], t)
    if o.discards[0] < o.discards[1]:
        write_cards(buffer, base + o.discards[0], g.discards[seat], t)
        write_cards(buffer, base + o.kept[0], g.kept if seat == g.actor else NO_CARDS, t)
    at = base + o.played[0]
    other = seat
    for _ in range(players):
        write_cards(buffer, at, g.played[other], t)
        at += t.deck_size
        other = left_of(other, players)
    table = NO_CARDS
    for card in g.trick[:players]:
        if card != NOBODY:
            table |= bit(card)
    write_cards(buffer, base + o.table[0], table, t)
    encode_signals(g, t, o, seat, buffer, base)
    encode_table(g, t, o, seat, buffer, base)
    encode_numbers(g, t, o, seat, buffer, base)


@kernel
def encode_signals(g: Game, t: Tables, o: Layout, seat: int, buffer: Buffer, base: int) -> None:
    """The blocks that tell of the others: voids and draws in one word, bids in another."""
    draws_at = o.draws[0] - o.voids[0]
    bid_width = t.max_bid - t.min_bid + 2
    signals, bids = int64(0), int64(0)
    other = seat
    for k in range(t.players):
        if k > 0:
            signals |= int64(g.voids[other]) << (NUM_SUITS * (k - 1))
        drawn = (int64(1) << (g.draws[other] + 1)) >> 1  # no bit for NOBODY
        signals |= drawn << (draws_at + k * (t.max_discard + 1))
        bids |= t.bid_bit[g.bids[other] + 1] << (k * bid_width)
        other = left_of(other, t.players)
    write_bits(buffer, base + o.voids[0], base + o.draws[1], signals)
    write_bits(buffer, base + o.bids[0], base + o.bids[1], bids)


@kernel
def encode_table(g: Game, t: Tables, o: Layout, seat: int, buffer: Buffer, base: int) -> None:
    """The blocks that tell how the table stands, in one word: dealer, bidder, leader, phase, trump, points."""
    begin = o.dealer[0]
    team = t.team_of[seat]
    phase = count(t.phases & ((int64(1) << g.phase) - 1))  # its place among the phases that the game has
    word = one_hot(g.dealer, seat, t.players)
    word |= one_hot(g.bidder, seat, t.players) << (o.bidder[0] - begin)
    word |= one_hot(g.leader, seat, t.players) << (o.leader[0] - begin)
    word |= int64(1) << (o.phase[0] - begin + phase)
    if knows_trump(g, seat):
        word |= int64(1) << (o.trump[0] - begin + g.trump)
    at = o.points[0] - begin
    for kind in range(GAME):
        if t.kind_points[kind]:
            word |= one_hot(g.kinds[kind], team, t.teams) << at
            at += t.teams
    write_bits(buffer, base + begin, base + o.points[1], word)


@kernel
def encode_numbers(g: Game, t: Tables, o: Layout, seat: int, buffer: Buffer, base: int) -> None:
    """The blocks that are numbers: card points, scores, deals."""
    other = t.team_of[seat]
    for k in range(t.teams):
        write_number(buffer, base + o.card_points[0] + k, g.card_points[other])
        score = int64(g.scores[other])
        high = (score + ((score >> 63) & (SCORE_BASE - 1))) >> SCORE_SHIFT  # division that rounds towards zero
        write_number(buffer, base + o.scores[0] + 2 * k, high)
        write_number(buffer, base + o.scores[0] + 2 * k + 1, score - (high << SCORE_SHIFT))
        other = left_of(other, t.teams)
    write_number(buffer, base + o.deals[0], g.deals >> SCORE_SHIFT)
    write_number(buffer, base + o.deals[0] + 1, g.deals & (SCORE_BASE - 1))


@kernel
def encode_mask(g: Game, seat: int, buffer: Buffer, base: int) -> None:
    """Writes the action mask to buffer[base : base + 70]: 1 for each legal action of the actor, 0 for other seats."""
    cards, calls = int64(0), int64(0)
    if seat == g.actor:
        cards, calls = g.legal_cards, g.legal_calls
    write_word(buffer, base, cards | (calls << PASS))
    write_byte(buffer, base + NUM_ACTIONS - 8, (calls >> (NUM_ACTIONS - 8 - PASS)) & 255)


# --- The whole table, for a critic -------------------------------------------------------------------------------


def state_size(rules: GameRules) -> int:
    """The length of the full information that `encode_state` writes."""
    return (2 * rules.players + 1) * rules.deck_size + NUM_SUITS + rules.players + observation_size(rules)


@kernel
def encode_state(g: Game, t: Tables, o: Layout, buffer: Buffer) -> None:
    """Writes everything but the order of the stock to `buffer`, from seat 0.

    Each seat's hand, each seat's discards, the stock (one bit a card each), trump even if private, who is to decide,
    then the observation of seat 0.
    """
    at = 0
    for seat in range(t.players):
        write_cards(buffer, at, g.hand[seat], t)
        at += t.deck_size
    for seat in range(t.players):
        write_cards(buffer, at, g.discards[seat], t)
        at += t.deck_size
    stock = NO_CARDS
    for place in range(g.next_card, t.deck_size):
        stock |= bit(g.deck[place])
    write_cards(buffer, at, stock, t)
    at += t.deck_size
    write_bits(buffer, at, at + NUM_SUITS, int64(1) << g.trump if g.trump != NOBODY else int64(0))
    at += NUM_SUITS
    write_bits(buffer, at, at + t.players, one_hot(g.actor, 0, t.players))
    at += t.players
    encode(g, t, o, 0, buffer, at)


# --- Decode ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Facts:
    """What an observation says, in words. Seats and teams are absolute. `decode` makes it."""

    hand: frozenset[int]
    discards: frozenset[int]
    kept: frozenset[int]
    played: tuple[frozenset[int], ...]
    trick: tuple[int | None, ...]
    voids: tuple[frozenset[str], ...]
    draws: tuple[int | None, ...]
    bids: tuple[int | None, ...]
    dealer: int
    bidder: int | None
    leader: int | None
    phase: str
    trump: str | None
    points: dict[str, int | None]
    card_points: tuple[int, ...]
    scores: tuple[int, ...]
    deals: int


def decode(observation: np.ndarray, rules: GameRules, seat: int) -> Facts:
    """Reads an observation (D,) back: the inverse of `encode` for the seat that it was made for.

    `voids` has an empty entry for the seat itself, whose hand tells.
    """
    t = make_tables(rules)[0]
    pack = [int(card) for card in t["deck"][: rules.deck_size]]
    players, teams = rules.players, rules.teams
    values = [int(value) for value in observation]

    def block(name: str) -> list[int]:
        return values[block_slice(rules, name)]

    def cards(bits: list[int]) -> frozenset[int]:
        return frozenset(card for card, is_in in zip(pack, bits, strict=False) if is_in)

    def rows(name: str, num_rows: int) -> list[list[int]]:
        bits = block(name)
        width = len(bits) // num_rows
        return [bits[i * width : (i + 1) * width] for i in range(num_rows)]

    def which(bits: list[int]) -> int | None:
        return bits.index(1) if 1 in bits else None

    def turn(by_relative: list[Any], own: int) -> tuple[Any, ...]:
        size = len(by_relative)
        return tuple(by_relative[(place - own) % size] for place in range(size))

    def absolute(index: int | None, own: int, size: int) -> int | None:
        return None if index is None else (index + own) % size

    team = seat % teams
    played = turn([cards(bits) for bits in rows("played", players)], seat)
    table = cards(block("table"))
    trick = tuple(next(iter(cards & table), None) for cards in played)
    bids = [which(bits) for bits in rows("bids", players)]
    draws = [which(bits) for bits in rows("draws", players)] if rules.max_discard else [None] * players
    dealer = absolute(which(block("dealer")), seat, players)
    assert dealer is not None
    phases = [name for phase, name in enumerate(PHASES) if t["phases"] >> phase & 1]
    kinds = _trick_kinds(rules)
    trump = which(block("trump"))
    voids = [[0] * NUM_SUITS, *rows("voids", players - 1)]
    scores = [high * SCORE_BASE + low for high, low in rows("scores", teams)]
    high, low = block("deals")
    return Facts(
        hand=cards(block("hand")),
        discards=cards(block("discards")),
        kept=cards(block("kept")),
        played=played,
        trick=trick,
        voids=turn([frozenset(s for s, void in zip(SUITS, bits, strict=True) if void) for bits in voids], seat),
        draws=turn(draws, seat),
        bids=turn([bid if not bid else bid + rules.min_bid - 1 for bid in bids], seat),
        dealer=dealer,
        bidder=absolute(which(block("bidder")), seat, players),
        leader=absolute(which(block("leader")), seat, players),
        phase=phases[block("phase").index(1)],
        trump=None if trump is None else SUITS[trump],
        points={
            KINDS[kind]: absolute(which(bits), team, teams)
            for kind, bits in zip(kinds, rows("points", len(kinds)), strict=True)
        },
        card_points=turn(block("card_points"), team),
        scores=turn(scores, team),
        deals=high * SCORE_BASE + low,
    )


def observation_table(rules: GameRules) -> list[tuple[str, str, int, str]]:
    """The table of the documentation: (block, numbers, width, meaning), absent blocks left out."""
    places = [(block, block_slice(rules, block.name)) for block in BLOCKS]
    return [
        (block.name, f"{place.start}..{place.stop - 1}", place.stop - place.start, block.meaning)
        for block, place in places
        if place.start < place.stop
    ]
