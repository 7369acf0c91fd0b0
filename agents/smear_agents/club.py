"""The scripted player `club`: it counts cards, knows who is void, and weighs each card by what it is likely to bring.

A card is worth playing for what the trick then brings, by who is likely to take it, less what the card would bring
if it were kept. The heuristics are the functions that these two sums are made of; their weights stand in `HABITS`.
"""

from typing import Any, TypeAlias

import numpy as np

from smear_agents._jit import kernel
from smear_agents.agent import Agent
from smear_agents.club_bids import BIDS, best_suit, choose_bid, choose_trump
from smear_agents.sight import (
    SIGHT,
    Sight,
    beats,
    chance_to_beat,
    guess_hands,
    has_point,
    see_bids,
    see_hand,
    see_table,
)
from smear_env import GameRules
from smear_env._jit import int64
from smear_env.actions import BID_1, DONE, MAX_BID, PASS, TRUMP_CLUBS
from smear_env.cards import NUM_CARDS, NUM_SUITS, bit, count, lowest, set_of, without
from smear_env.observe import Layout
from smear_env.rules import GAME, NOBODY, Tables, make_tables

HABITS = np.dtype(
    (
        np.record,
        np.dtype(
            [
                # What a plain card is worth keeping for, in the exchange and when picking six cards.
                ("hold_ace", "f8"),
                ("hold_king", "f8"),
                ("hold_queen", "f8"),
                ("hold_ten", "f8"),
                ("hold_rank", "f8"),  # for each rank above the two
                ("hold_mate", "f8"),  # for each other plain card of its suit: less for a lone one, to get void
                ("throw_below", "f8"),  # what is worth less is thrown for a new card
                # The play.
                ("luck", "f8"),  # the chance that an open point goes to the bidder's team
                ("card_point", "f8"),  # what a card point is worth of the game point, while that is open
                ("to_fall", "f8"),  # how many times the average card point a seat still to play is going to add
                ("tempo", "f8"),  # being on lead
                ("power", "f8"),  # a trump that is sure to take a trick, for itself
                ("hunter", "f8"),  # the same, for each right, left or joker that is still to be caught
                ("trump_falls", "f8"),  # the chance that a trump which could take a trick survives one above it
                ("plain_falls", "f8"),  # the same of a plain card
                ("ruffed", "f8"),  # the chance that no trump takes a plain winner
                ("rescue", "f8"),  # the chance that the partner takes home a card that cannot win
                ("smear", "f8"),  # the chance that a partner still to play adds a point that he holds
                ("draw", "f8"),  # leading trump, for the bidder's team
                ("cash", "f8"),  # leading the highest trump from three or more, for the bidder's team
                ("void", "f8"),  # playing the last plain card of a suit, while holding trumps
                # Which cards are above a card: of its suit and stronger, by trump. The same for all players.
                ("above", "i8", (NUM_SUITS + 1, NUM_CARDS)),
            ],
            align=True,
        ),
    )
)

Habits: TypeAlias = Any
"""One row of `HABITS`, as kernels get it."""

# What the parts of a hand are worth was fitted to the points that the bidder's team made in 40,000 deals of club among
# itself, in which a seat drawn at random bought the bid at 3. Thresholds and the weights of the play were then moved,
# one at a time, as long as that won points in duplicate matches against club without the move: the same deals, once
# with each team in the seats of the other side. In Four Point the threshold of 2 is in truth that of opening with 3.
BIDS_WITH_BAUERS = {
    "start": 1.25, "trump": 0.11, "ace": 1.41, "king": 0.42, "queen": 0.29, "jack": 0.45, "left": 0.37, "ten": 0.15,
    "low": 0.76, "joker": 0.05, "side_ace": 0.0,
    "bears": (0, 2.9, 2.9, 3.0, 3.6, 4.5, 5.2, 9, 9, 9, 9),
    "shut_out": 5.0, "race": 0.3, "over_partner": 0.3, "last_chance": 0.1, "stop_winner": 1.0,
}  # fmt: skip
BIDS_WITHOUT_BAUERS = {
    "start": 1.85, "trump": 0.07, "ace": 0.74, "king": 0.14, "queen": 0.09, "jack": 0.33, "left": 0.0, "ten": 0.07,
    "low": 0.54, "joker": 0.0, "side_ace": 0.07,
    "bears": (0, 2.6, 2.6, 2.5, 3.4, 4.5, 5.6, 9, 9, 9, 9),
    "shut_out": 0.1, "race": 0.0, "over_partner": 0.1, "last_chance": 0.8, "stop_winner": 0.5,
}  # fmt: skip
HABITS_WITH_BAUERS = {
    "hold_ace": 3.0, "hold_king": -0.1, "hold_queen": 0.0, "hold_ten": 0.0, "hold_rank": 0.0, "hold_mate": 0.1,
    "throw_below": 3.75,
    "luck": 0.25, "card_point": 0.021, "to_fall": 0.36,
    "tempo": 0.0, "power": 0.27, "hunter": 0.15, "trump_falls": 0.5, "plain_falls": 0.28,
    "ruffed": 0.26, "rescue": 0.12, "smear": 0.3, "draw": 0.1, "cash": 0.8, "void": 0.15,
}  # fmt: skip
HABITS_WITHOUT_BAUERS = {
    "hold_ace": 1.0, "hold_king": -0.3, "hold_queen": -0.2, "hold_ten": -1.0, "hold_rank": 0.06, "hold_mate": 0.15,
    "throw_below": 3.75,
    "luck": 0.09, "card_point": 0.07, "to_fall": 0.54, "tempo": -0.15, "power": 0.3,
    "hunter": 0.15, "trump_falls": 0.5, "plain_falls": 0.28, "ruffed": 0.38, "rescue": 0.2, "smear": 0.18,
    "draw": 0.3, "cash": 0.3, "void": 0.09,
}  # fmt: skip


def make_row(dtype: Any, values: dict[str, Any]) -> np.ndarray:
    """A table of one row from values by name."""
    row = np.zeros(1, dtype)
    for name, value in values.items():
        row[name] = value
    return row


def cards_above(tables: np.ndarray) -> np.ndarray:
    """For each trump and card, the set of the cards of its suit that are stronger."""
    t = tables[0]
    above = np.zeros((NUM_SUITS + 1, NUM_CARDS), np.int64)
    pack = [int(card) for card in t["deck"][: t["deck_size"]]]
    for trump in range(NUM_SUITS + 1):
        suits, strength = t["suit_of"][trump], t["strength"][trump]
        for card in pack:
            above[trump, card] = set_of(
                other for other in pack if suits[other] == suits[card] and strength[other] > strength[card]
            )
    return above


def club_habits(rules: GameRules, changes: dict[str, Any] | None = None) -> np.ndarray:
    """Club's weights for the exchange and the play under some rules, a table of one row."""
    own = HABITS_WITH_BAUERS if rules.left_bower else HABITS_WITHOUT_BAUERS
    habits = make_row(HABITS, own | (changes or {}))
    habits["above"] = cards_above(make_tables(rules))
    return habits


class ClubAgent(Agent):
    """Plays as a good club player does: by counting cards, and by what each card is likely to bring.

    Args:
        rules: the rules of the game it will play.
        seed: without effect, it leaves nothing to chance.
        bids, habits: other weights than its own for these rules, by name.

    Attributes:
        bids, habits: the weights, each a table of one row.
    """

    def __init__(
        self,
        rules: GameRules,
        seed: int = 0,
        bids: dict[str, Any] | None = None,
        habits: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(rules, seed)
        own_bids = BIDS_WITH_BAUERS if rules.left_bower else BIDS_WITHOUT_BAUERS
        self.bids = make_row(BIDS, own_bids | (bids or {}))
        self.habits = club_habits(rules, habits)

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`."""
        actions = np.empty(len(observations), np.int64)
        sight = np.zeros(1, SIGHT)
        club_actions(observations, action_masks, self.tables, self.layout, self.bids, self.habits, sight, actions)
        return actions

    def hand_worths(self, hands: np.ndarray) -> np.ndarray:
        """What hands, any array of sets of cards, are worth as bidder in their best suits, in points."""
        worths = np.empty(hands.size)
        write_worths(np.ascontiguousarray(hands).ravel(), self.tables, self.bids, worths)
        return worths.reshape(hands.shape)


@kernel
def write_worths(hands: np.ndarray, tables: np.ndarray, bids: np.ndarray, worths: np.ndarray) -> None:
    """Writes what each hand is worth in its best suit."""
    for i in range(worths.size):
        _, worths[i] = best_suit(hands[i], 15, tables[0], bids[0])


@kernel
def club_actions(
    observations: np.ndarray,
    action_masks: np.ndarray,
    tables: np.ndarray,
    layout: np.ndarray,
    bids: np.ndarray,
    habits: np.ndarray,
    sight: np.ndarray,
    actions: np.ndarray,
) -> None:
    """Writes club's action for each row."""
    t, o, w, h, s = tables[0], layout[0], bids[0], habits[0], sight[0]
    for i in range(actions.size):
        actions[i] = club_action(observations[i], action_masks[i], t, o, w, h, s)


@kernel
def club_action(view: np.ndarray, mask: np.ndarray, t: Tables, o: Layout, w: Any, h: Habits, s: Sight) -> int:
    """Club's action for one view, phase by phase."""
    if mask[PASS] or mask[BID_1 : BID_1 + MAX_BID].any():
        return choose_bid(view, mask, t, o, w, s)
    if mask[TRUMP_CLUBS : TRUMP_CLUBS + NUM_SUITS].any():
        return choose_trump(view, mask, t, o, w)
    see_hand(view, mask, t, o, s)
    if mask[DONE]:
        return choose_throw(t, h, s)
    if s.legal & (s.legal - 1) == 0:
        return lowest(s.legal)
    if not is_play(view, t, o):
        return choose_keep(t, h, s)
    if s.trump == NOBODY:  # the suit led will be trump
        suits = int64(0)
        for suit in range(NUM_SUITS):
            suits |= int64(s.legal & t.suit_cards[NOBODY, suit] != 0) << suit
        s.trump, _ = best_suit(s.hand, suits, t, w)
        s.legal &= t.suit_cards[s.trump, s.trump]
    see_bids(view, t, o, s)
    see_table(view, t, o, s)
    guess_hands(view, t, o, s)
    weigh_points(t, h, s)
    return choose_play(t, h, s)


@kernel
def is_play(view: np.ndarray, t: Tables, o: Layout) -> bool:
    """Whether a trick is on: somebody leads."""
    return bool(view[o.leader[0] : o.leader[1]].any())


# --- Exchange and keep -------------------------------------------------------------------------------------------


@kernel
def holding_worth(card: int, t: Tables, h: Habits, s: Sight) -> float:
    """What a plain card is worth keeping for."""
    rank = card % 13
    suit = t.suit_of[s.trump, card]
    worth = h.hold_rank * rank + h.hold_mate * (count(s.hand & t.suit_cards[s.trump, suit]) - 1)
    if rank == 12:
        worth += h.hold_ace
    elif rank == 11:
        worth += h.hold_king
    elif rank == 10:
        worth += h.hold_queen
    elif rank == 8:
        worth += h.hold_ten
    return worth


@kernel
def choose_throw(t: Tables, h: Habits, s: Sight) -> int:
    """Throws the card that is worth least, as long as a new card promises more."""
    worst = DONE
    worst_worth = h.throw_below
    cards = s.legal
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        worth = holding_worth(card, t, h, s)
        if worth < worst_worth:
            worst, worst_worth = card, worth
    return worst


@kernel
def choose_keep(t: Tables, h: Habits, s: Sight) -> int:
    """Keeps what is worth most; of too many trumps those that make points, then the strongest."""
    best = NOBODY
    best_worth = 0.0
    cards = s.legal
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        worth = holding_worth(card, t, h, s)
        if t.suit_of[s.trump, card] == s.trump:
            worth = float(t.strength[s.trump, card]) + 100.0 * makes_point(card, t, s.trump)
        if best == NOBODY or worth > best_worth:
            best, best_worth = card, worth
    return best


@kernel
def makes_point(card: int, t: Tables, trump: int) -> bool:
    """Whether a trump earns a point if it is played: ace, low, right or jack, left, joker."""
    if t.kind_of[trump, card] != NOBODY:
        return True
    rank = card % 13
    return rank == 12 or rank == t.low_rank


# --- What the points are worth -----------------------------------------------------------------------------------


@kernel
def weigh_points(t: Tables, h: Habits, s: Sight) -> None:
    """What a point is worth to us, by the team that gets it, and what a card point is."""
    points = int64(0)  # that the bidder's team has
    still_open = int64(0)
    bidding_team = s.bidder % t.teams
    for kind in range(GAME + 1):
        if not t.kind_points[kind]:
            continue
        team = has_point(s, t, kind) if kind < GAME else NOBODY
        if team == NOBODY:
            still_open += 1
        elif team == bidding_team:
            points += 1
    need = s.bid - points
    at_stake = 1.0
    if still_open > 0:
        makes = at_least(still_open - 1, need - 1, h.luck)
        pivot = makes - at_least(still_open - 1, need, h.luck)
        at_stake = makes + pivot * 2.0 * s.bid
    for team in range(t.teams):
        value = at_stake if team == bidding_team else 1.0
        s.gain[team] = value if team == 0 else -value / (t.teams - 1)
    weigh_game(t, h, s)


@kernel
def at_least(tries: int, hits: int, chance: float) -> float:
    """The chance of so many hits or more in some tries."""
    if hits <= 0:
        return 1.0
    if hits > tries:
        return 0.0
    total = 0.0
    for k in range(hits, tries + 1):
        ways = 1.0
        for i in range(k):
            ways = ways * (tries - i) / (i + 1) * chance
        for _ in range(tries - k):
            ways *= 1.0 - chance
        total += ways
    return total


@kernel
def weigh_game(t: Tables, h: Habits, s: Sight) -> None:
    """What a card point is worth, by the team that gets it: nothing to a team that is out of it or cannot lose it."""
    out = s.hand | s.unseen | s.table
    num_out = count(out)
    rest = int64(0)
    while out != 0:
        rest += t.card_points[lowest(out)]
        out &= out - 1
    s.average = float(rest) / num_out
    for team in range(t.teams):
        most = int64(0)
        for other in range(t.teams):
            if other != team:
                most = max(most, s.card_points[other])
        ahead = s.card_points[team] - most
        s.game_gain[team] = s.gain[team] * h.card_point if -rest <= ahead <= rest else 0.0


# --- Play --------------------------------------------------------------------------------------------------------


@kernel
def choose_play(t: Tables, h: Habits, s: Sight) -> int:
    """The card that brings most; of equals the lower."""
    best = NOBODY
    best_score = 0.0
    cards = s.legal
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        score = brings(card, t, h, s) - keeps(card, t, h, s)
        if best == NOBODY or score > best_score:
            best, best_score = card, score
    return best


@kernel
def brings(card: int, t: Tables, h: Habits, s: Sight) -> float:
    """What the trick is likely to bring if this card is played to it."""
    leads = s.led == NOBODY
    best, winner = s.best, s.winner
    suit = int64(t.suit_of[s.trump, card])
    if leads:
        s.led = suit
    if leads or beats(card, s.best, s.trump, t):
        s.best, s.winner = card, 0
    find_takers(t, h, s)
    points, card_points = on_table(card, t, h, s)
    total = 0.0
    for team in range(t.teams):
        total += s.takers[team] * (points * s.gain[team] + card_points * s.game_gain[team])
    total += h.tempo * s.takers[0]
    if leads and suit == s.trump:
        total += draws(card, t, h, s)
    if leads:
        s.led = NOBODY
    s.best, s.winner = best, winner
    return total


@kernel
def draws(card: int, t: Tables, h: Habits, s: Sight) -> float:
    """What drawing trumps is worth to the bidder's team, with the highest of three or more above all."""
    if s.trumps_out == 0 or s.bidder % t.teams != 0:
        return 0.0
    trumps = s.hand & t.suit_cards[s.trump, s.trump]
    if count(trumps) >= 3 and h.above[s.trump, card] & s.unseen == 0:
        return h.draw + h.cash
    return h.draw


@kernel
def find_takers(t: Tables, h: Habits, s: Sight) -> None:
    """How likely each team takes the trick, as the seats still to play come one after the other.

    A seat beats whatever another team is winning with, if it can, and leaves the trick to its partner.
    """
    for team in range(t.teams):
        s.takers[team] = 0.0
    s.takers[s.winner % t.teams] = 1.0
    for k in range(1, s.after + 1):
        chance = chance_to_beat(s, t, h.above, k, s.best)
        for team in range(t.teams):
            if team != k % t.teams:
                taken = s.takers[team] * chance
                s.takers[team] -= taken
                s.takers[k % t.teams] += taken


@kernel
def on_table(card: int, t: Tables, h: Habits, s: Sight) -> tuple[float, float]:
    """The points and the card points in the trick with this card, those included that are likely to fall yet."""
    points, card_points = 0.0, h.to_fall * s.average * s.after
    cards = s.table | bit(card)
    while cards != 0:
        one = lowest(cards)
        cards &= cards - 1
        points += point_of(one, t, s)
        card_points += t.card_points[one]
    return points + points_to_fall(t, h, s), card_points


@kernel
def point_of(card: int, t: Tables, s: Sight) -> float:
    """The point that goes with a card to whoever takes the trick: right or jack, left, joker."""
    kind = t.kind_of[s.trump, card]
    return float(t.kind_points[kind]) if kind != NOBODY else 0.0


@kernel
def points_to_fall(t: Tables, h: Habits, s: Sight) -> float:
    """Right, left and joker that seats still to play are likely to add: forced by a trump lead, or for a partner."""
    falls = 0.0
    hunted = s.unseen & t.suit_cards[s.trump, s.trump]
    while hunted != 0:
        card = lowest(hunted)
        hunted &= hunted - 1
        if point_of(card, t, s) == 0.0:
            continue
        for k in range(1, s.after + 1):
            chance = h.smear * s.takers[k % t.teams]
            if s.led == s.trump:  # he has to play it if it is his last trump
                alone = 1.0
                for _ in range(s.trumps_out - 1):
                    alone *= 1.0 - s.trump_share[k]
                chance = max(chance, alone)
            falls += s.trump_share[k] * chance
    return falls


@kernel
def keeps(card: int, t: Tables, h: Habits, s: Sight) -> float:
    """What a card would bring if it were kept: what it is worth itself, and what it could catch."""
    strength = wins_later(card, t, h, s)
    home = strength + (1.0 - strength) * h.rescue
    points, card_points = point_of(card, t, s), float(t.card_points[card])
    lost_points, lost_game = 0.0, 0.0
    for team in range(1, t.teams):
        lost_points += s.gain[team]
        lost_game += s.game_gain[team]
    others = t.teams - 1
    total = points * (home * s.gain[0] + (1.0 - home) * lost_points / others)
    total += card_points * (home * s.game_gain[0] + (1.0 - home) * lost_game / others)
    suit = t.suit_of[s.trump, card]
    trumps = s.hand & t.suit_cards[s.trump, s.trump]
    if suit == s.trump:
        return total + strength * (h.power + h.hunter * catchable(t, s)) * s.gain[0]
    if trumps != 0 and without(s.hand & t.suit_cards[s.trump, suit], card) == 0:
        total -= h.void
    return total


@kernel
def wins_later(card: int, t: Tables, h: Habits, s: Sight) -> float:
    """The chance that a card takes a trick later: the less, the more cards above it are likely against it."""
    suit = t.suit_of[s.trump, card]
    in_trumps = 0.0
    against = 0.0
    for k in range(1, t.players):
        if k % t.teams != 0:
            in_trumps += s.trump_share[k]
            against += s.plain_share[k]
    chance = 1.0
    falls = h.plain_falls
    if suit == s.trump:
        against, falls = in_trumps, h.trump_falls
    elif s.trumps_out > 0 and in_trumps > 0.0:
        chance = h.ruffed
    for _ in range(count(h.above[s.trump, card] & s.unseen)):
        chance *= 1.0 - against * (1.0 - falls)
    return chance


@kernel
def catchable(t: Tables, s: Sight) -> float:
    """How many points are still to be caught from others: right, left and joker unseen."""
    points = 0.0
    hunted = s.unseen & t.suit_cards[s.trump, s.trump]
    while hunted != 0:
        points += point_of(lowest(hunted), t, s)
        hunted &= hunted - 1
    return points
