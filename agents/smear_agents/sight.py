"""What a card player sees and remembers, read from the observation: sets of cards, counts, and who may hold what.

Seats and teams are relative, as in the observation: seat 0 is the one that looks, team 0 its own.
"""

from typing import Any, TypeAlias

import numpy as np

from smear_agents._jit import kernel
from smear_env._jit import bits_of, int64
from smear_env.cards import NO_CARDS, NUM_CARDS, NUM_SUITS, count, lowest
from smear_env.observe import SCORE_BASE, Layout, out_of_pack
from smear_env.rules import GAME, HIGH, LOW, MAX_SEATS, NOBODY, Tables

SIGHT = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("hand", "i8"),
                ("legal", "i8"),  # the cards that may be played, thrown or kept
                ("unseen", "i8"),  # cards that others may hold: all but those held, thrown by oneself, and played
                ("table", "i8"),
                ("trump", "i8"),
                ("dealer", "i8"),
                ("bidder", "i8"),
                ("bid", "i8"),
                ("leader", "i8"),
                ("after", "i8"),  # seats that play to this trick after this one
                ("led", "i8"),  # the suit led, NOBODY before the lead
                ("best", "i8"),  # the card that is winning the trick
                ("winner", "i8"),  # the seat that played it
                ("trumps_out", "i8"),  # unseen trumps
                ("plain_out", "i8"),  # unseen plain cards
                ("voids", "i8", MAX_SEATS),  # suits that a seat has shown to lack, as bits
                ("cards_left", "i8", MAX_SEATS),
                ("kinds", "i8", GAME),  # the team that has each point already
                ("card_points", "i8", MAX_SEATS),
                ("scores", "i8", MAX_SEATS),
                ("trump_share", "f8", MAX_SEATS),  # the chance that a seat holds a given unseen trump
                ("plain_share", "f8", MAX_SEATS),  # the same of a plain card
                ("average", "f8"),  # card points of a card that is still out
                ("gain", "f8", MAX_SEATS),  # what a point is worth to us, by the team that gets it
                ("game_gain", "f8", MAX_SEATS),  # the same of a card point
                ("takers", "f8", MAX_SEATS),  # how likely each team takes the trick
            ],
            align=True,
        ),
    )
)

Sight: TypeAlias = Any
"""One row of `SIGHT`, as kernels get it."""


# --- Reading -----------------------------------------------------------------------------------------------------


@kernel
def cards_at(view: np.ndarray, at: int, t: Tables) -> int:
    """The set of cards written from a place of the observation on, one number a card of the pack."""
    return out_of_pack(bits_of(view, at, at + t.deck_size), t)


@kernel
def legal_cards(mask: np.ndarray) -> int:
    """The cards among the legal actions."""
    return bits_of(mask, 0, NUM_CARDS)


@kernel
def which(view: np.ndarray, begin: int, end: int) -> int:
    """The place of the 1 in a block that has at most one, from 0 on; NOBODY if it has none."""
    bits = bits_of(view, begin, end)
    return lowest(bits) if bits != 0 else NOBODY


@kernel
def see_bids(view: np.ndarray, t: Tables, o: Layout, s: Sight) -> None:
    """Dealer, the highest bid and whose it is, and the scores."""
    s.dealer = which(view, o.dealer[0], o.dealer[1])
    s.bidder = which(view, o.bidder[0], o.bidder[1])
    s.bid = 0
    if s.bidder != NOBODY:
        width = t.max_bid - t.min_bid + 2
        at = o.bids[0] + s.bidder * width
        s.bid = which(view, at, at + width) + t.min_bid - 1
    for team in range(t.teams):
        at = o.scores[0] + 2 * team
        s.scores[team] = int64(view[at]) * SCORE_BASE + int64(view[at + 1])


@kernel
def see_hand(view: np.ndarray, mask: np.ndarray, t: Tables, o: Layout, s: Sight) -> None:
    """One's own cards, which of them may be chosen, and trump."""
    s.hand = cards_at(view, o.hand[0], t)
    s.legal = legal_cards(mask)
    s.trump = which(view, o.trump[0], o.trump[1])


@kernel
def see_table(view: np.ndarray, t: Tables, o: Layout, s: Sight) -> None:
    """The trick on the table, all that has been played, voids, points, and what follows about the unseen cards."""
    s.table = cards_at(view, o.table[0], t)
    s.leader = max(which(view, o.leader[0], o.leader[1]), 0)
    s.after = t.players - 1 - count(s.table)
    s.led, s.best, s.winner = NOBODY, NOBODY, NOBODY
    # A joker is never among the discards: the block is that much shorter.
    seen = s.hand | out_of_pack(bits_of(view, o.discards[0], o.discards[1]), t)
    for k in range(t.players):
        played = cards_at(view, o.played[0] + k * t.deck_size, t)
        seen |= played
        s.cards_left[k] = t.hand_cards - count(played)
        s.voids[k] = 0
        if k > 0:
            at = o.voids[0] + (k - 1) * NUM_SUITS
            s.voids[k] = bits_of(view, at, at + NUM_SUITS)
        on_table = played & s.table
        if k >= s.leader and on_table != 0:
            lay(s, t, k, lowest(on_table))
    pack = NO_CARDS
    for suit in range(NUM_SUITS):
        pack |= t.suit_cards[s.trump, suit]
    s.unseen = pack & ~seen
    see_points(view, t, o, s)


@kernel
def lay(s: Sight, t: Tables, seat: int, card: int) -> None:
    """A card on the table: it leads, or wins, or neither."""
    if s.led == NOBODY:
        s.led, s.best, s.winner = int64(t.suit_of[s.trump, card]), int64(card), seat
    elif beats(card, s.best, s.trump, t):
        s.best, s.winner = int64(card), seat


@kernel
def beats(card: int, best: int, trump: int, t: Tables) -> bool:
    """Whether a card takes the trick from the one that is winning it: of its suit or a trump, and stronger."""
    suit = t.suit_of[trump, card]
    follows = suit == t.suit_of[trump, best] or suit == trump
    return follows and t.strength[trump, card] > t.strength[trump, best]


@kernel
def see_points(view: np.ndarray, t: Tables, o: Layout, s: Sight) -> None:
    """Who has which point already, and the card points of the teams."""
    at = o.points[0]
    for kind in range(GAME):
        s.kinds[kind] = NOBODY
        if t.kind_points[kind]:
            s.kinds[kind] = which(view, at, at + t.teams)
            at += t.teams
    for team in range(t.teams):
        s.card_points[team] = view[o.card_points[0] + team]


# --- Who may hold what -------------------------------------------------------------------------------------------


@kernel
def guess_hands(view: np.ndarray, t: Tables, o: Layout, s: Sight) -> None:
    """How likely each seat holds a given unseen trump, or a given unseen plain card.

    Every seat has kept the trumps it got to see, so its share of them grows with the cards it has been given. That
    the bidder holds more of them is left out: it made no difference to the play.
    """
    trumps = t.suit_cards[s.trump, s.trump]
    s.trumps_out = count(s.unseen & trumps)
    s.plain_out = count(s.unseen & ~trumps)
    stock = t.deck_size - t.players * t.hand_cards
    hidden = 0.0 if t.max_discard else float(stock - t.widow)  # never dealt to anybody
    drawn = int64(0)
    for k in range(t.players):
        s.trump_share[k] = 0.0
        given = t.hand_cards
        if t.max_discard and k != s.dealer:
            at = o.draws[0] + k * (t.max_discard + 1)
            draws = max(which(view, at, at + t.max_discard + 1), 0)
            given += draws
            drawn += draws
        elif k == s.bidder:
            given += t.widow
        if k > 0 and not (s.voids[k] >> s.trump) & 1:
            s.trump_share[k] = float(given * s.cards_left[k]) / t.hand_cards
    if t.max_discard and s.trump_share[s.dealer] > 0.0:
        s.trump_share[s.dealer] *= float(t.hand_cards + stock - drawn) / t.hand_cards
    total = hidden
    for k in range(1, t.players):
        total += s.trump_share[k]
    for k in range(t.players):
        if total > 0.0:
            s.trump_share[k] /= total
        plain = s.cards_left[k] - s.trumps_out * s.trump_share[k]
        s.plain_share[k] = 0.0
        if k > 0 and s.plain_out > 0 and plain > 0.0:
            s.plain_share[k] = min(plain / s.plain_out, 1.0)


@kernel
def none_of(share: float, cards: int) -> float:
    """The chance that a seat holds none of some cards, each of which it holds with the chance `share`."""
    chance = 1.0
    for _ in range(cards):
        chance *= 1.0 - share
    return chance


@kernel
def chance_to_beat(s: Sight, t: Tables, above: np.ndarray, k: int, card: int) -> float:
    """The chance that a seat can beat a card that is winning a trick in which `s.led` was led."""
    trump = s.trump
    stronger = count(above[trump, card] & s.unseen)
    if s.led == trump:
        return 1.0 - none_of(s.trump_share[k], stronger)
    may_trump = 1.0
    is_void = (s.voids[k] >> s.led) & 1 != 0
    if not t.follow_or_trump and not is_void:
        may_trump = none_of(s.plain_share[k], count(t.suit_cards[trump, s.led] & s.unseen))
    if t.suit_of[trump, card] == trump:
        return may_trump * (1.0 - none_of(s.trump_share[k], stronger))
    trumps_in = may_trump * (1.0 - none_of(s.trump_share[k], s.trumps_out))
    if is_void:
        return trumps_in
    follows_higher = 1.0 - none_of(s.plain_share[k], stronger)
    return follows_higher + (1.0 - follows_higher) * trumps_in


@kernel
def has_point(s: Sight, t: Tables, kind: int) -> int:
    """The team that is sure of high or low: it has played the card, or oneself holds it; NOBODY if not known."""
    if s.kinds[kind] != NOBODY:
        return s.kinds[kind]
    trumps = s.hand & t.suit_cards[s.trump, s.trump]
    if kind == HIGH and count(trumps & t.high_cards[s.trump]) and count(t.high_cards[s.trump]) == 1:
        return 0
    if kind == LOW and count(trumps & t.low_cards[s.trump]) and count(t.low_cards[s.trump]) == 1:
        return 0
    return NOBODY
