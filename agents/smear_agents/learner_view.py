"""What a network sees: the numbers of the features that are true of a view, with the suits in a fixed order.

The rules do not care which suit is which, so neither need the network: trump stands first and its colour second, and
before trump is known the suit that the hand is worth most in stands for it. Everything is derived from the observation,
so nothing hidden can come in. As some 70 of several hundred features are true at a time, a view is the list of their
numbers; the first layer of a network adds up the rows of its matrix that they name.

With helpers, cards that may be chosen are described too: its rank, how many unseen cards are stronger, whether it would
take the trick, ... The network gives a weight to each of these in the position, and a card's output is the sum of its
own and of the weights of what is true of it. So what is learned of one card is learned of all that are like it. Among
them is what `club` works out by counting: how likely the card takes the trick, or a later one, and what it brings. A
network finds such chances hard to compute from single cards, and easy to improve on.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from smear_agents._jit import kernel
from smear_agents.club import Habits, brings, keeps, weigh_points, wins_later
from smear_agents.club_bids import BIDS, Bids, worth_of
from smear_agents.sight import Sight, beats, cards_at, guess_hands, see_bids, see_hand, see_table, which
from smear_env import GameRules
from smear_env._jit import bits_of, int64
from smear_env.actions import DONE, PASS, TRUMP_CLUBS
from smear_env.cards import JOKERS, NUM_SUITS, bit, count, lowest
from smear_env.observe import Layout, block_slice, out_of_pack
from smear_env.rules import GAME, LEFT, NOBODY, Tables
from smear_env.state import Game

CARD_POINT_STEPS = (1, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 46)
"""Card points taken by a team: one feature for each of these that is reached."""
TABLE_STEPS = (1, 3, 5, 10, 13, 16, 20, 24)
"""Card points on the table, likewise."""
MISSING_STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 19, 22, 26, 31)
"""Points that a team lacks to the target: one feature for each of these that is not exceeded."""
WORTH_STEPS = tuple(round(1.4 + 0.3 * k, 1) for k in range(14))
"""What the hand is worth in its best suit, in points."""
SHARE_STEPS = (1e-9, 0.08, 0.14, 0.2, 0.27, 0.4, 0.6)
"""Chances that a seat holds a given unseen trump: one feature for each of these that is reached."""
MOST_TRUMPS = 15
JACK_RANK = 9


@dataclass(frozen=True)
class ViewOptions:
    """What a network is shown besides the table itself.

    Attributes:
        canonical_suits: put trump and its colour in fixed places. Without, suits stay as they are named.
        helpers: also show what a player can work out: which cards beat the table, which cannot be beaten, trumps
            still out, what the bidder still needs, what the hand is worth.
        scores: also show what each team lacks to the target, for play that depends on the score.
        estimates: with helpers, also show what `club` expects of each card, and who may hold the trumps.
    """

    canonical_suits: bool = True
    helpers: bool = True
    scores: bool = False
    estimates: bool = True


class Block(NamedTuple):
    """One block of features: its name, its width under some rules and options, and what they mean."""

    name: str
    width: Callable[[GameRules, ViewOptions], int]
    meaning: str


def _observed(name: str) -> Callable[[GameRules, ViewOptions], int]:
    def width(rules: GameRules, _: ViewOptions) -> int:
        place = block_slice(rules, name)
        return place.stop - place.start

    return width


def _copied(name: str, meaning: str = "as in the observation") -> Block:
    return Block(name, _observed(name), meaning)


def _helper(name: str, width: Callable[[GameRules], int], meaning: str) -> Block:
    return Block(name, lambda rules, options: width(rules) if options.helpers else 0, meaning)


BLOCKS = (
    *(_copied(name, "as in the observation, suits in order") for name in ("hand", "discards", "kept", "played")),
    *(_copied(name, "as in the observation, suits in order") for name in ("table", "voids")),
    *(_copied(name) for name in ("draws", "bids", "dealer", "bidder", "leader", "phase")),
    Block(
        "trump",
        lambda r, o: 1 + (0 if o.canonical_suits else NUM_SUITS),
        "trump is known to me; and which it is, where suits are as named",
    ),
    _copied("points"),
    Block("card_points", lambda r, o: r.teams * len(CARD_POINT_STEPS), "card points that each team has taken"),
    Block(
        "missing", lambda r, o: r.teams * len(MISSING_STEPS) if o.scores else 0, "what each team lacks to the target"
    ),
    _helper("worth", lambda r: len(WORTH_STEPS), "what the hand is worth in its best suit"),
    _helper("beating", lambda r: r.deck_size, "cards of mine that would take the trick as it lies"),
    _helper("bosses", lambda r: r.deck_size, "cards of mine that no unseen card of their suit beats"),
    _helper("winner", lambda r: r.players, "who is winning the trick"),
    _helper("led", lambda r: NUM_SUITS, "the suit led"),
    _helper("after", lambda r: r.players, "how many seats play to this trick after me"),
    _helper("on_table", lambda r: len(TABLE_STEPS), "card points on the table"),
    _helper("trumps_out", lambda r: MOST_TRUMPS, "how many trumps are unseen"),
    Block(
        "shares",
        lambda r, o: (r.players - 1) * len(SHARE_STEPS) if o.helpers and o.estimates else 0,
        "how likely each other seat holds an unseen trump",
    ),
    _helper("need", lambda r: r.max_bid + 1, "points that the bidder's side still needs, one feature each"),
)

PLAIN_RANK, TRUMP_RANK, IS_LEFT, IS_JOKER = 0, 13, 26, 27
STRONGER, WEAKER, BEATS, FOLLOWS = 28, 32, 35, 36
LENGTH, IS_HIGHEST, IS_LOWEST = 37, 40, 41
TAKES, LATER, BEHIND = 42, 49, 55
NUM_CARD_FEATURES = 61
"""What is said of a card that may be chosen: its rank, plain or trump; how many unseen cards of its suit are stronger
(0, 1, 2, more) and weaker (0, 1 or 2, more); that it would take the trick; that it is of the suit led; how many cards
of its suit are in the hand (1, 2, more); that it is the highest of them; the lowest. In the play also, with estimates:
the chance that one's own team takes the trick with it, that it takes a later trick if it is kept, and how much less
than the best card it brings, in points; each in steps."""
MOST_CARD_FEATURES = 11
"""No card has more of them."""
TAKES_STEPS = (0.02, 0.2, 0.4, 0.6, 0.8, 0.98)
LATER_STEPS = (0.05, 0.25, 0.5, 0.8, 0.98)
BEHIND_STEPS = (1e-9, 0.05, 0.15, 0.4, 1.0)

VIEW_LAYOUT = np.dtype(
    (
        np.record,
        np.dtype(
            [(block.name, "i8", 2) for block in BLOCKS]
            + [(name, "i8") for name in ("length", "canonical", "helpers", "estimates")]
        ),
    )
)
"""Where each block begins and ends, the number of features F, and the options."""

ViewLayout: TypeAlias = Any
"""One row of `VIEW_LAYOUT`, as kernels get it."""

# What a hand is worth, as `club_bids.worth_of` counts it, only to put the suits in order. Networks are trained with
# these: another number makes another input of the same name, so a change needs a new SCHEMA of neural.py.
ORDER = {
    "start": 1.1, "trump": 0.2, "ace": 1.4, "king": 0.4, "queen": 0.25, "jack": 0.5, "left": 0.4, "ten": 0.1,
    "low": 0.7, "joker": 0.05,
}  # fmt: skip


@functools.lru_cache(maxsize=64)
def make_view_layout(rules: GameRules, options: ViewOptions) -> np.ndarray:
    """The layout of the features under some rules and options: an array of one row, read-only."""
    layout = np.zeros(1, VIEW_LAYOUT)
    begin = 0
    for block in BLOCKS:
        width = block.width(rules, options)
        layout[block.name] = begin, begin + width
        begin += width
    layout["length"] = begin
    layout["canonical"], layout["helpers"] = options.canonical_suits, options.helpers
    layout["estimates"] = options.helpers and options.estimates
    layout.setflags(write=False)
    return layout


def num_features(rules: GameRules, options: ViewOptions) -> int:
    """The number of features F."""
    return int(make_view_layout(rules, options)["length"][0])


def view_table(rules: GameRules, options: ViewOptions) -> list[tuple[str, int, str]]:
    """The table of the documentation: (block, width, meaning), absent blocks left out."""
    widths = [(block, block.width(rules, options)) for block in BLOCKS]
    return [(f"`{block.name}`", width, block.meaning) for block, width in widths if width]


def hidden_features(rules: GameRules) -> int:
    """The number of features that `see_hidden` adds: the other hands, the stock, trump if it is private."""
    return rules.players * rules.deck_size + NUM_SUITS


@functools.lru_cache(maxsize=1)
def order_worths() -> np.ndarray:
    """`ORDER` as the kernels read it."""
    row = np.zeros(1, BIDS)
    for name, value in ORDER.items():
        row[name] = value
    row.setflags(write=False)
    return row


def most_features(rules: GameRules) -> int:
    """No view has more features at a time than this."""
    cards = 3 * rules.deck_size + rules.players * rules.hand_cards
    rest = sum(block_slice(rules, name).stop - block_slice(rules, name).start for name in ("voids", "points"))
    steps = rules.teams * (len(CARD_POINT_STEPS) + len(MISSING_STEPS)) + len(WORTH_STEPS) + len(TABLE_STEPS)
    steps += rules.players * len(SHARE_STEPS)
    return cards + rest + steps + 2 * rules.deck_size + MOST_TRUMPS + 5 * rules.players + 24 + hidden_features(rules)


# --- The order of suits ------------------------------------------------------------------------------------------


@kernel
def order_suits(view: np.ndarray, t: Tables, o: Layout, v: ViewLayout, w: Bids, slots: np.ndarray) -> float:
    """Writes the slot of each suit: trump 0; where bauers make the colour matter, its colour 1; the others by length.

    Before trump is known the suit that the hand is worth most in stands for it. Returns what it is worth.
    """
    hand = cards_at(view, o.hand[0], t)
    trump = which(view, o.trump[0], o.trump[1])
    if not v.canonical:
        for suit in range(NUM_SUITS):
            slots[suit] = suit
        best = 0.0
        for suit in range(NUM_SUITS):
            best = max(best, worth_of(hand, suit, t, w))
        return best if trump == NOBODY else worth_of(hand, trump, t, w)
    if trump == NOBODY:
        worth = -1.0
        for suit in range(NUM_SUITS):
            other = worth_of(hand, suit, t, w)
            if other > worth:
                trump, worth = suit, other
    else:
        worth = worth_of(hand, trump, t, w)
    partner = int64(NOBODY)
    if t.suit_of[trump, 13 * (3 - trump) + JACK_RANK] == trump:  # the left bauer; clubs and spades, diamonds and hearts
        partner = int64(3 - trump)
    for suit in range(NUM_SUITS):
        slot = int64(0)
        if suit != trump:
            slot += 1
            length = count_suit(hand, suit)
            for other in range(NUM_SUITS):
                if other in (suit, trump) or suit == partner:
                    continue
                longer = count_suit(hand, other)
                slot += int64(other == partner or longer > length or (longer == length and other < suit))
        slots[suit] = slot
    return worth


@kernel
def count_suit(hand: int, suit: int) -> int:
    """How many cards of a hand show a suit."""
    return count((hand >> (13 * suit)) & 8191)


@kernel
def slot_action(action: int, slots: np.ndarray) -> int:
    """An action with its suit replaced by the slot of the suit."""
    if action < 52:
        return slots[action // 13] * 13 + action % 13
    if TRUMP_CLUBS <= action < TRUMP_CLUBS + NUM_SUITS:
        return TRUMP_CLUBS + slots[action - TRUMP_CLUBS]
    return action


BIDDING, EXCHANGING, PLAYING = 0, 1, 2
"""Groups of phases, whose decisions are alike: auction and trump; exchange and keep; play."""


@kernel
def group_of(view: np.ndarray, mask: np.ndarray, o: Layout) -> int:
    """The group of phases that a decision belongs to."""
    if bits_of(mask, PASS, DONE) != 0:
        return BIDDING
    return EXCHANGING if which(view, o.leader[0], o.leader[1]) == NOBODY else PLAYING


# --- Writing the features ----------------------------------------------------------------------------------------


@kernel
def card_place(card: int, slots: np.ndarray, t: Tables) -> int:
    """The place of a card in a block of cards: without gaps for the ranks that the pack lacks, jokers last."""
    ranks = 13 - t.low_rank
    if card >= 52:
        return t.suits * ranks + card - 52
    return slots[card // 13] * ranks + card % 13 - t.low_rank


@kernel
def add_cards(cards: int, begin: int, slots: np.ndarray, t: Tables, out: np.ndarray, n: int) -> int:
    """Adds the features of a set of cards, as `card_place` numbers them; returns how many features there are then."""
    ranks = 13 - t.low_rank
    for suit in range(NUM_SUITS):
        at = begin + slots[suit] * ranks - t.low_rank
        n = add_bits((cards >> (13 * suit)) & 8191, at, out, n)
    return add_bits(cards >> JOKERS[0], begin + t.suits * ranks, out, n)


@kernel
def add_bits(bits: int, at: int, out: np.ndarray, n: int) -> int:
    """Adds the feature at + k for each bit k that is set."""
    while bits != 0:
        out[n] = at + lowest(bits)
        n += 1
        bits &= bits - 1
    return n


@kernel
def add_steps(value: float, steps: Any, at: int, out: np.ndarray, n: int) -> int:
    """Adds a feature for each step that a value reaches."""
    for k in range(len(steps)):
        if value < steps[k]:
            break
        out[n] = at + k
        n += 1
    return n


@kernel
def see(
    view: np.ndarray,
    mask: np.ndarray,
    t: Tables,
    o: Layout,
    v: ViewLayout,
    w: Bids,
    s: Sight,
    slots: np.ndarray,
    out: np.ndarray,
    n: int,
) -> int:
    """Writes the numbers of the features of one view to out[n:], and the slots of the suits.

    Args:
        view: (D,) an observation.
        mask: (70,) its action mask.
        t: the row of the tables.
        o: the row of the observation's layout.
        v: the row of the features' layout.
        w: the row of `order_worths`.
        s: scratch, a row of `SIGHT`.
        slots: (4,) int64, written.
        out: int32, written.
        n: where to begin.

    Returns:
        Where they end.
    """
    worth = order_suits(view, t, o, v, w, slots)
    n = add_cards(cards_at(view, o.hand[0], t), v.hand[0], slots, t, out, n)
    discards = out_of_pack(bits_of(view, o.discards[0], o.discards[1]), t)  # never a joker: the block is shorter
    n = add_cards(discards, v.discards[0], slots, t, out, n)
    if o.kept[0] < o.kept[1]:
        n = add_cards(cards_at(view, o.kept[0], t), v.kept[0], slots, t, out, n)
    if which(view, o.leader[0], o.leader[1]) != NOBODY:
        for k in range(t.players):
            at = k * t.deck_size
            n = add_cards(cards_at(view, o.played[0] + at, t), v.played[0] + at, slots, t, out, n)
        n = add_cards(cards_at(view, o.table[0], t), v.table[0], slots, t, out, n)
        voids = bits_of(view, o.voids[0], o.voids[1])
        while voids != 0:
            place = lowest(voids)
            voids &= voids - 1
            out[n] = v.voids[0] + (place & ~3) + slots[place & 3]
            n += 1
    n = add_bits(bits_of(view, o.draws[0], o.draws[1]), v.draws[0], out, n)
    n = add_bits(bits_of(view, o.bids[0], o.bids[1]), v.bids[0], out, n)
    # From the dealer to the phase the blocks stand in the same order in both.
    n = add_bits(bits_of(view, o.dealer[0], o.phase[1]), v.dealer[0], out, n)
    trump = which(view, o.trump[0], o.trump[1])
    if trump != NOBODY:
        out[n] = v.trump[0]
        n += 1
        if not v.canonical:
            out[n] = v.trump[0] + 1 + trump
            n += 1
    n = add_bits(bits_of(view, o.points[0], o.points[1]), v.points[0], out, n)
    for team in range(t.teams):
        at = v.card_points[0] + team * len(CARD_POINT_STEPS)
        n = add_steps(float(view[o.card_points[0] + team]), CARD_POINT_STEPS, at, out, n)
    see_bids(view, t, o, s)
    if v.missing[0] < v.missing[1]:
        for team in range(t.teams):
            at = v.missing[0] + team * len(MISSING_STEPS)
            for k in range(len(MISSING_STEPS)):
                if t.target - s.scores[team] <= MISSING_STEPS[k]:
                    out[n] = at + k
                    n += 1
    if v.helpers:
        n = add_steps(worth, WORTH_STEPS, v.worth[0], out, n)
        if group_of(view, mask, o) != BIDDING:
            see_hand(view, mask, t, o, s)
            see_table(view, t, o, s)
            if which(view, o.leader[0], o.leader[1]) != NOBODY:
                if v.estimates and s.trump != NOBODY:
                    guess_hands(view, t, o, s)
                n = see_trick(t, v, s, slots, out, n)
    return n


@kernel
def see_trick(t: Tables, v: ViewLayout, s: Sight, slots: np.ndarray, out: np.ndarray, n: int) -> int:
    """The helpers in the play: what a player can work out about the trick and the cards still out."""
    if s.led != NOBODY:
        if s.led < NUM_SUITS:
            out[n] = v.led[0] + slots[s.led]
            n += 1
        out[n] = v.winner[0] + s.winner
        n += 1
    out[n] = v.after[0] + s.after
    n += 1
    unseen_trumps = int64(0)
    if s.trump != NOBODY:
        unseen_trumps = count(s.unseen & t.suit_cards[s.trump, s.trump])
    for k in range(min(unseen_trumps, MOST_TRUMPS)):
        out[n] = v.trumps_out[0] + k
        n += 1
    stake = int64(0)
    cards = s.table
    while cards != 0:
        stake += t.card_points[lowest(cards)]
        cards &= cards - 1
    n = add_steps(float(stake), TABLE_STEPS, v.on_table[0], out, n)
    if v.estimates and s.trump != NOBODY:
        for k in range(1, t.players):
            n = add_steps(s.trump_share[k], SHARE_STEPS, v.shares[0] + (k - 1) * len(SHARE_STEPS), out, n)
    if s.trump != NOBODY and s.bidder != NOBODY:
        need = s.bid
        for kind in range(GAME):
            if t.kind_points[kind] and s.kinds[kind] != NOBODY and s.kinds[kind] == s.bidder % t.teams:
                need -= 1
        out[n] = v.need[0] + max(need, 0)
        n += 1
    if s.trump == NOBODY:  # the first lead of a game in which it decides: nothing is on the table
        return n
    cards = s.hand
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        place = card_place(card, slots, t)
        if s.led != NOBODY and (s.legal >> card) & 1 and beats(card, s.best, s.trump, t):
            out[n] = v.beating[0] + place
            n += 1
        if is_boss(card, t, s):
            out[n] = v.bosses[0] + place
            n += 1
    return n


@kernel
def describe_cards(
    view: np.ndarray,
    mask: np.ndarray,
    t: Tables,
    o: Layout,
    v: ViewLayout,
    h: Habits,
    s: Sight,
    slots: np.ndarray,
    sums: np.ndarray,
    out: np.ndarray,
) -> int:
    """Writes what is true of each card that may be chosen, after `see` has looked at the same view.

    Args:
        view: as in `see`, like all that follow but the last.
        mask: likewise.
        t: likewise.
        o: likewise.
        v: likewise.
        h: club's habits.
        s: as in `see`.
        slots: likewise.
        sums: (54, 2) scratch.
        out: int32, written: slot of the card x NUM_CARD_FEATURES + feature.

    Returns:
        How many pairs that are.
    """
    n = 0
    if not v.helpers or group_of(view, mask, o) == BIDDING:
        return n
    has_sums = v.estimates and s.trump != NOBODY and which(view, o.leader[0], o.leader[1]) != NOBODY
    most = estimate(t, h, s, sums) if has_sums else 0.0
    cards = s.legal
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        base = slot_action(card, slots) * NUM_CARD_FEATURES
        suit = t.suit_of[s.trump, card]
        strength = t.strength[s.trump, card]
        kind = t.kind_of[s.trump, card]
        rank = PLAIN_RANK + card % 13
        if kind == LEFT:
            rank = IS_LEFT
        elif card >= 52:
            rank = IS_JOKER
        elif suit == s.trump:
            rank = TRUMP_RANK + card % 13
        out[n] = base + rank
        stronger, weaker = compare(s.unseen & t.suit_cards[s.trump, suit], strength, s.trump, t)
        higher, lower = compare(s.hand & t.suit_cards[s.trump, suit], strength, s.trump, t)
        out[n + 1] = base + STRONGER + min(stronger, 3)
        out[n + 2] = base + WEAKER + min((weaker + 1) // 2, 2)
        out[n + 3] = base + LENGTH + min(higher + lower, 2)
        n += 4
        if higher == 0:
            out[n] = base + IS_HIGHEST
            n += 1
        if lower == 0:
            out[n] = base + IS_LOWEST
            n += 1
        if s.led != NOBODY and beats(card, s.best, s.trump, t):
            out[n] = base + BEATS
            n += 1
        if s.led != NOBODY and suit == s.led:
            out[n] = base + FOLLOWS
            n += 1
        if has_sums:
            out[n] = base + TAKES + step_of(sums[card, 0], TAKES_STEPS)
            out[n + 1] = base + LATER + step_of(wins_later(card, t, h, s), LATER_STEPS)
            out[n + 2] = base + BEHIND + step_of(most - sums[card, 1], BEHIND_STEPS)
            n += 3
    return n


@kernel
def estimate(t: Tables, h: Habits, s: Sight, sums: np.ndarray) -> float:
    """Writes club's estimates for each legal card: the chance that the own team takes the trick, and what it brings.

    Returns the most that any brings.
    """
    weigh_points(t, h, s)
    most = -np.inf
    cards = s.legal
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        sums[card, 1] = brings(card, t, h, s) - keeps(card, t, h, s)
        sums[card, 0] = s.takers[0]
        most = max(most, sums[card, 1])
    return most


@kernel
def step_of(value: float, steps: Any) -> int:
    """How many of the steps a value reaches."""
    k = 0
    while k < len(steps) and value >= steps[k]:
        k += 1
    return k


@kernel
def compare(cards: int, strength: int, trump: int, t: Tables) -> tuple[int, int]:
    """How many of some cards are stronger than a strength, and how many weaker."""
    stronger, weaker = int64(0), int64(0)
    while cards != 0:
        other = t.strength[trump, lowest(cards)]
        stronger += int64(other > strength)
        weaker += int64(other < strength)
        cards &= cards - 1
    return stronger, weaker


@kernel
def is_boss(card: int, t: Tables, s: Sight) -> bool:
    """Whether no unseen card of its suit is stronger."""
    rivals = s.unseen & t.suit_cards[s.trump, t.suit_of[s.trump, card]]
    while rivals != 0:
        rival = lowest(rivals)
        if t.strength[s.trump, rival] > t.strength[s.trump, card]:
            return False
        rivals &= rivals - 1
    return True


@kernel
def see_hidden(g: Game, t: Tables, seat: int, begin: int, slots: np.ndarray, out: np.ndarray, n: int) -> int:
    """Adds what the seat does not see, for a critic in training: the others' hands, the stock, a private trump."""
    for k in range(1, t.players):
        n = add_cards(g.hand[(seat + k) % t.players], begin + (k - 1) * t.deck_size, slots, t, out, n)
    stock = int64(0)
    for place in range(g.next_card, t.deck_size):
        stock |= bit(g.deck[place])
    n = add_cards(stock, begin + (t.players - 1) * t.deck_size, slots, t, out, n)
    if g.trump != NOBODY:
        out[n] = begin + t.players * t.deck_size + slots[g.trump]
        n += 1
    return n
