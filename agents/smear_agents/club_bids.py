"""How `club` values a hand, bids and names trump."""

from typing import Any, TypeAlias

import numpy as np

from smear_agents._jit import kernel
from smear_agents.sight import Sight, cards_at, see_bids
from smear_env._jit import int64
from smear_env.actions import BID_1, MAX_BID, PASS, TRUMP_CLUBS
from smear_env.cards import NUM_SUITS, count, lowest
from smear_env.observe import Layout
from smear_env.rules import JACK, JOKER, LEFT, NOBODY, Tables

BIDS = np.dtype(
    (
        np.record,
        np.dtype(
            [
                # What a hand is worth as bidder: the points to expect of the own team, a sum of these.
                ("start", "f8"),
                ("trump", "f8"),  # for each trump
                ("ace", "f8"),  # and for these besides
                ("king", "f8"),
                ("queen", "f8"),
                ("jack", "f8"),  # the right bauer, where there are bauers
                ("left", "f8"),
                ("ten", "f8"),
                ("low", "f8"),
                ("joker", "f8"),
                ("side_ace", "f8"),  # for each ace that is no trump
                # What a hand has to be worth for a bid, by the bid; those that no game has bear nothing.
                ("bears", "f8", MAX_BID + 1),
                ("shut_out", "f8"),  # so much more for one bid higher than it has to be, to leave others less room
                ("race", "f8"),  # so much less for each other team that a point or two without risk take to the target
                ("over_partner", "f8"),  # so much more for outbidding the partner
                ("last_chance", "f8"),  # so much less when all others have passed: else nobody plays
                ("stop_winner", "f8"),  # so much less against a team that wins the game by making its bid
            ],
            align=True,
        ),
    )
)

Bids: TypeAlias = Any
"""One row of `BIDS`, as kernels get it."""


@kernel
def worth_of(hand: int, suit: int, t: Tables, w: Bids) -> float:
    """What a hand is worth with a suit as trump, in points."""
    trumps = hand & t.suit_cards[suit, suit]
    plain = hand & ~trumps
    total = w.start + w.trump * count(trumps)
    while trumps != 0:
        total += worth_of_trump(lowest(trumps), suit, t, w)
        trumps &= trumps - 1
    while plain != 0:
        if lowest(plain) % 13 == 12:
            total += w.side_ace
        plain &= plain - 1
    return total


@kernel
def worth_of_trump(card: int, suit: int, t: Tables, w: Bids) -> float:
    """What a trump is worth beyond its being a trump."""
    kind = t.kind_of[suit, card]
    if kind == JACK:
        return w.jack
    if kind == LEFT:
        return w.left
    if kind == JOKER:
        return w.joker
    rank = card % 13
    if rank == t.low_rank:
        return w.low
    if rank == 12:
        return w.ace
    if rank == 11:
        return w.king
    if rank == 10:
        return w.queen
    if rank == 8:
        return w.ten
    return 0.0


@kernel
def best_suit(hand: int, suits: int, t: Tables, w: Bids) -> tuple[int, float]:
    """The suit that the hand is worth most in, among some suits given as bits, and what it is worth."""
    best = NOBODY
    best_worth = 0.0
    for suit in range(t.suits):
        if (suits >> suit) & 1:
            worth = worth_of(hand, suit, t, w)
            if best == NOBODY or worth > best_worth:
                best, best_worth = suit, worth
    return best, best_worth


@kernel
def choose_bid(view: np.ndarray, mask: np.ndarray, t: Tables, o: Layout, w: Bids, s: Sight) -> int:
    """The least bid that is allowed if the hand bears it, or must be made; else a pass.

    A hand that bears the next bid by far makes that: it takes away the bid with which others would buy the deal.
    """
    see_bids(view, t, o, s)
    _, worth = best_suit(cards_at(view, o.hand[0], t), 15, t, w)
    worth -= reluctance(s, t, w)
    for bid in range(1, MAX_BID + 1):
        action = BID_1 + bid - 1
        if mask[action]:
            if worth < w.bears[bid] and mask[PASS]:
                return PASS
            if bid < t.max_bid and worth >= w.bears[bid + 1] + w.shut_out and s.dealer != 0:
                return action + 1
            return action
    return PASS


@kernel
def reluctance(s: Sight, t: Tables, w: Bids) -> float:
    """How much more than usual a hand has to be worth for a bid here."""
    more = 0.0
    if s.bidder != NOBODY and s.bidder % t.teams == 0:
        more += w.over_partner
    for team in range(1, t.teams):
        if is_near_home(team, s, t):
            more -= w.race
    if s.bidder == NOBODY and s.dealer == 0:
        more -= w.last_chance
    if would_win(s, t):
        more -= w.stop_winner
    return more


@kernel
def is_near_home(team: int, s: Sight, t: Tables) -> bool:
    """Whether the points that a team makes against the bidder are likely to win it the game."""
    return not t.bidder_only and t.defender_cap >= t.target and s.scores[team] + 2 >= t.target


@kernel
def would_win(s: Sight, t: Tables) -> bool:
    """Whether another team wins the game if it makes the bid that stands."""
    if s.bidder == NOBODY or s.bidder % t.teams == 0:
        return False
    return s.scores[s.bidder % t.teams] + s.bid >= t.target


@kernel
def choose_trump(view: np.ndarray, mask: np.ndarray, t: Tables, o: Layout, w: Bids) -> int:
    """The suit that the hand is worth most in."""
    suits = int64(0)
    for suit in range(NUM_SUITS):
        suits |= int64(mask[TRUMP_CLUBS + suit]) << suit
    suit, _ = best_suit(cards_at(view, o.hand[0], t), suits, t, w)
    return TRUMP_CLUBS + suit
