"""What a seat knows of a game, and full deals that agree with it.

`hide` takes out of a record whatever the seat has not seen; `resample` fills it in again at random. A player that
searches gets no more than a hidden record, so it cannot cheat.
"""

import numpy as np

from smear_env._jit import int64, kernel
from smear_env.cards import NO_CARDS, NUM_CARDS, NUM_SUITS, bit, count, holds, lowest
from smear_env.engine import find_legal, random_below
from smear_env.observe import knows_trump
from smear_env.rules import KEEP, MAX_SEATS, NOBODY, OVER, PLAY, TRUMP, GameRules, Tables, make_tables
from smear_env.state import Game, new_games

# Where an unseen card can be: in the hand of a seat, among its discards, in the stock.
_DISCARDS = MAX_SEATS
_STOCK = 2 * MAX_SEATS
_NUM_PLACES = 2 * MAX_SEATS + 1

SWEEPS = 12
"""How long `resample` shuffles before it stops where nothing lies wrong; a sweep is an exchange proposed per card."""

LEAST = 30
"""Exchanges proposed in a sweep of fewer cards."""

MOST_SWEEPS = 4_000
"""How long before it gives up."""

SELDOM = 16
"""One in so many exchanges that would lay a card wrong, where none was, is made."""


# --- Hide --------------------------------------------------------------------------------------------------------


@kernel
def drawn_before(g: Game, t: Tables, seat: int) -> int:
    """How many cards of the stock were dealt before a seat's turn in the exchange."""
    drawn = 0
    other = (g.dealer + 1) % t.players
    while other != seat:
        drawn += max(g.draws[other], 0)
        other = (other + 1) % t.players
    return drawn


@kernel
def has_seen_place(g: Game, t: Tables, seat: int, place: int) -> bool:
    """Whether a seat has seen the card at a place of the deck come to it: dealt, drawn, taken as stock or widow."""
    dealt = t.players * t.hand_cards
    if place < dealt:
        return (g.dealer + 1 + place // t.hand_cards) % t.players == seat
    if place >= g.next_card:
        return False
    if t.max_discard == 0:
        return g.bidder == seat
    begin = dealt + drawn_before(g, t, seat)
    return place >= begin and (seat == g.dealer or place < begin + max(g.draws[seat], 0))


@kernel
def hide_games(games: np.ndarray, tables: np.ndarray, seats: np.ndarray, hidden: np.ndarray) -> None:
    """Copies each game to its place in `hidden` without what its seat has not seen."""
    for i in range(games.size):
        hidden[i] = games[i]
        hide_cards(games[i], tables[0], seats[i], hidden[i])


@kernel
def hide_cards(g: Game, t: Tables, seat: int, h: Game) -> None:
    """Takes out of h, a copy of g, what the seat has not seen."""
    h.rng = np.uint64(0)
    for other in range(t.players):
        if other != seat:
            h.hand[other] = 0
            h.discards[other] = 0
    if g.actor != seat:
        h.legal_cards = 0
        h.legal_calls = 0
        h.kept = 0
    if g.bidder != seat:
        h.widow = 0
    if not knows_trump(g, seat):
        h.trump = NOBODY
    for place in range(t.deck_size):
        if not has_seen_place(g, t, seat, place):
            h.deck[place] = NOBODY


def hide(games: np.ndarray, index: int, rules: GameRules, seat: int) -> np.ndarray:
    """Game `index` as a seat knows it: a record, shape (1,), with hidden cards 0 or NOBODY.

    It keeps what the seat sees: its cards, its own places in the deck, everything public.
    """
    return hide_each(games[index : index + 1], rules, np.array([seat]))


def hide_each(games: np.ndarray, rules: GameRules, seats: np.ndarray) -> np.ndarray:
    """`hide` for many games: game i as seats[i] knows it, shape (N,)."""
    hidden = new_games(len(games))
    hide_games(games, make_tables(rules), seats, hidden)
    return hidden


# --- Resample ----------------------------------------------------------------------------------------------------


@kernel
def hand_size(g: Game, t: Tables, seat: int) -> int:
    """How many cards everybody knows a seat to hold, a throw under way not counted."""
    size = t.hand_cards - g.tricks
    if g.phase == PLAY and g.trick[seat] != NOBODY:
        size -= 1
    if (g.phase == KEEP and seat == g.actor) or (g.phase == TRUMP and seat == g.bidder):
        size += t.deck_size - t.players * t.hand_cards - drawn_before(g, t, seat) if t.max_discard else t.widow
        if g.phase == TRUMP and not t.pitched:
            size = t.hand_cards
    return size


@kernel
def discard_size(g: Game, t: Tables, seat: int) -> int:
    """How many cards a seat has laid aside for good."""
    if g.draws[seat] > 0:
        return g.draws[seat]
    if g.phase == PLAY:
        if t.max_discard and seat == g.dealer:
            return t.deck_size - t.players * t.hand_cards - drawn_before(g, t, seat)
        if t.widow and seat == g.bidder:
            return t.widow
    return 0


@kernel
def allowed_cards(g: Game, t: Tables, seat: int, place: int) -> int:
    """Cards that may lie at one of the places of a seat.

    None of a suit it is void in; no trumps thrown (S-15), nor protected ones by who went back to six (S-18, O-16).
    """
    everything = (int64(1) << NUM_CARDS) - 1
    if place < _DISCARDS:
        for suit in range(NUM_SUITS):
            if (g.voids[seat] >> suit) & 1:
                everything &= ~t.suit_cards[g.trump, suit]
    elif g.trump != NOBODY:
        trumps = t.suit_cards[g.trump, g.trump]
        owner = g.dealer if t.max_discard else g.bidder
        everything &= ~(t.protected[g.trump] if seat == owner else trumps)
    return everything


@kernel
def wrong_cards(g: Game, t: Tables, owner: int, allowed: np.ndarray, piles: np.ndarray) -> int:
    """How many cards lie where they cannot.

    The owner, who went back to six, has discarded no trumps, unless all his six are trumps (S-17, F-9).
    """
    wrong = 0
    for place in range(_NUM_PLACES):
        wrong += count(piles[place] & ~allowed[place])
    if owner != NOBODY and g.trump != NOBODY:
        trumps = t.suit_cards[g.trump, g.trump]
        if (g.played[owner] | piles[owner]) & ~trumps != 0:
            wrong += count(piles[_DISCARDS + owner] & trumps)
    return wrong


@kernel
def resample_game(hidden: np.ndarray, tables: np.ndarray, seat: int, seed_state: np.uint64, full: np.ndarray) -> bool:
    """Fills hidden[0], what a seat knows, up to a whole game in full[0]. Returns whether it could.

    Unseen cards are laid at random where there is room. If some of them lie wrong, cards are exchanged in random
    pairs: a chain (Metropolis et al. 1953) in which all deals with nothing wrong are equally likely, and those with one
    card wrong `SELDOM` times less. These have to be passed: where voids let the cards of three seats change places in
    a ring, they may not do so in pairs (as in the chain of Jerrum and Sinclair 1989 for perfect matchings).
    """
    t = tables[0]
    full[0] = hidden[0]
    g = full[0]
    g.rng = seed_state
    seen = NO_CARDS
    for other in range(t.players):
        seen |= g.played[other] | g.hand[other] | g.discards[other]
    places = np.zeros(NUM_CARDS, np.int64)
    cards = np.zeros(NUM_CARDS, np.int64)
    allowed = np.zeros(_NUM_PLACES, np.int64)
    allowed[_STOCK] = (int64(1) << NUM_CARDS) - 1
    size = 0
    for other in range(t.players):
        if other != seat:
            allowed[other] = allowed_cards(g, t, other, other)
            allowed[_DISCARDS + other] = allowed_cards(g, t, other, _DISCARDS + other)
            for _ in range(hand_size(g, t, other)):
                places[size] = other
                size += 1
            for _ in range(discard_size(g, t, other)):
                places[size] = _DISCARDS + other
                size += 1
    unseen = 0
    for card in t.deck[: t.deck_size]:
        if not holds(seen, card):
            cards[unseen] = card
            unseen += 1
    while size < unseen:
        places[size] = _STOCK
        size += 1
    piles = np.zeros(_NUM_PLACES, np.int64)
    for k in range(size - 1, -1, -1):
        other = random_below(g, k + 1)
        cards[k], cards[other] = cards[other], cards[k]
        piles[places[k]] |= bit(cards[k])
    owner = back_to_six(g, t, seat)
    wrong = wrong_cards(g, t, owner, allowed, piles)
    for sweep in range(MOST_SWEEPS):
        if size < 2 or (wrong == 0 and (sweep == 0 or sweep >= SWEEPS)):
            break
        for _ in range(max(size, LEAST)):
            a, b = random_below(g, size), random_below(g, size)
            both = bit(cards[a]) ^ bit(cards[b])
            piles[places[a]] ^= both
            piles[places[b]] ^= both
            after = wrong_cards(g, t, owner, allowed, piles)
            if after <= wrong or (after == 1 and random_below(g, SELDOM) == 0):
                wrong = after
                cards[a], cards[b] = cards[b], cards[a]
            else:
                piles[places[a]] ^= both
                piles[places[b]] ^= both
    for other in range(t.players):
        g.hand[other] |= piles[other]
        g.discards[other] |= piles[_DISCARDS + other]
    choose_commitment(g, t, seat)
    lay_deck(g, t, seat)
    begin_turn(g, t, seat)
    return wrong == 0


@kernel
def back_to_six(g: Game, t: Tables, seat: int) -> int:
    """The other seat whose discards have to be explained by what it kept, or NOBODY."""
    if g.phase != PLAY:
        return NOBODY
    owner = g.dealer if t.max_discard else g.bidder
    return owner if owner != seat and (t.max_discard or t.widow) else NOBODY


@kernel
def take_some(g: Game, cards: int, n: int) -> int:
    """N cards of a set, all choices equally likely."""
    taken = NO_CARDS
    for _ in range(n):
        left = cards & ~taken
        for _ in range(random_below(g, count(left))):
            left &= left - 1
        taken |= bit(lowest(left))
    return taken


@kernel
def choose_commitment(g: Game, t: Tables, seat: int) -> None:
    """A suit that the bidder may have committed himself to, of those he holds, if the seat does not know it (F-8)."""
    if g.trump != NOBODY or not t.widow or g.phase not in (KEEP, PLAY):
        return
    suits = NO_CARDS
    for suit in range(NUM_SUITS):
        if g.hand[g.bidder] & t.suit_cards[NOBODY, suit] != 0:
            suits |= bit(suit)
    g.trump = lowest(take_some(g, suits, 1))
    take_back(g, t.suit_cards[NOBODY, g.trump])
    take_back(g, t.protected[g.trump])


@kernel
def take_back(g: Game, wanted: int) -> None:
    """Exchanges wanted cards among the bidder's discards for others that he holds: he kept them first (F-9, O-16)."""
    while g.discards[g.bidder] & wanted != 0 and g.hand[g.bidder] & ~wanted != 0:
        back = bit(lowest(g.discards[g.bidder] & wanted))
        gone = bit(lowest(g.hand[g.bidder] & ~wanted))
        g.discards[g.bidder] = g.discards[g.bidder] & ~back | gone
        g.hand[g.bidder] = g.hand[g.bidder] & ~gone | back


@kernel
def write_places(g: Game, place: int, cards: int) -> int:
    """Lays a set of cards on the deck in random order, from a place on; returns the next place."""
    while cards != 0:
        card = take_some(g, cards, 1)
        g.deck[place] = lowest(card)
        cards &= ~card
        place += 1
    return place


@kernel
def lay_deck(g: Game, t: Tables, seat: int) -> None:
    """Puts the deck into an order in which the hands, the draws and the stock came about."""
    dealt = t.players * t.hand_cards
    place_drawn = dealt
    for k in range(1, t.players + 1):
        other = (g.dealer + k) % t.players
        begin = (k - 1) * t.hand_cards
        drawn_size = g.next_card - place_drawn if t.max_discard and other == g.dealer else max(g.draws[other], 0)
        if t.max_discard == 0:
            drawn_size = g.next_card - dealt if other == g.bidder else 0
        if other != seat:
            # All that it ever held: six dealt, the others drawn.
            ever = g.hand[other] | g.played[other] | g.discards[other]
            could_be_drawn = g.hand[other] | g.played[other] if g.draws[other] > 0 else ever
            drawn = take_some(g, could_be_drawn, drawn_size)
            write_places(g, begin, ever & ~drawn)
            write_places(g, place_drawn, drawn)
            if t.max_discard == 0 and other == g.bidder:
                g.widow = drawn
        place_drawn += drawn_size
    stock = NO_CARDS
    for card in t.deck[: t.deck_size]:
        stock |= bit(card)
    for other in range(t.players):
        stock &= ~(g.hand[other] | g.played[other] | g.discards[other])
    write_places(g, g.next_card, stock)


@kernel
def begin_turn(g: Game, t: Tables, seat: int) -> None:
    """Another seat in the middle of its throw or its keeping is put at the beginning of that turn."""
    if g.phase == KEEP and g.actor != seat:
        g.kept = g.hand[g.actor] & t.suit_cards[g.trump, g.trump]
        if count(g.kept) > t.hand_cards:
            g.kept &= t.protected[g.trump]
    if g.phase != OVER:
        find_legal(g, t)


def resample(hidden: np.ndarray, rules: GameRules, seat: int, seed: int) -> np.ndarray:
    """A whole game, shape (1,), that agrees with all that a seat knows, from what `hide` gave.

    The seat's observation of it is the same as of the game that was hidden, and it can be played on. Deals are equally
    likely (after `SWEEPS` sweeps of exchanges), whatever the others' way of playing; a commitment not known is drawn
    from the suits that the bidder holds.

    Raises:
        ValueError: no deal agrees with it, so it did not come from `hide`.
    """
    full = new_games(1)
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    if not resample_game(hidden, make_tables(rules), seat, state, full):
        raise ValueError("no deal was found that agrees with this record; it must come from hide() for the same seat")
    return full
