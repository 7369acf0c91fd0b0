"""Exact play of two sides when all cards are known: the kernels under `smear_agents.double_dummy`.

The sides are the team that bid, and all others together. What a deal can come to is put in one row, from the worst
for the bidding side to the best: its *level*. If the bidding side gets `made` points other than game, the level is
2 x made + 1 when game goes to the other side, one more when nobody gets it, and one more still when the bidding side
does. Points, margin, bid made or not and change of score are functions of the level that never fall, so all there is
to search for is whether the bidding side can reach some level (a zero-window search), a few times over.

High and low are no matter of play: whoever holds the card will play it. What is played for are jack (right), left
and joker, the *prizes* here, and the card points that decide game.

Inside the search a card is a *place* of a 64-bit word: 16 x suit + number of cards above it in its suit, trumps as
suit 0. So a card beats another of its suit if its place is lower. The cards still held are one word, the hands dealt
are constant. The search is alpha-beta with a table of positions between tricks. What is proved of a position is kept
with the leads in card points for which it holds ("won with a lead of 3 or more"), as every lead met later that is as
good is then answered too.
"""

from typing import NamedTuple

import numpy as np

from smear_agents._jit import kernel
from smear_env._jit import Buffer, buffer_of, int64, set_word, word_at
from smear_env.cards import NUM_SUITS, bit, count, holds, lowest, without
from smear_env.rules import HIGH, JOKER, LOW, NOBODY, Tables
from smear_env.scoring import card_points_of
from smear_env.state import Game

POINTS, MARGIN, MADE, SCORE = range(4)

# --- Memory ------------------------------------------------------------------------------------------------------
#
# All that the search reads besides the position itself, one array of int64: settings, then the table. It is handed
# on as an address, so that no call counts references.

GENERATION = 0  # of the table: entries of another generation are empty
NODES = 1  # positions looked at
SEATS = 2
MAY_TRUMP = 3  # 1 if trumps may be played instead of following
PRIZES = 4  # cards that bring their taker a point
BIDDERS = 5  # cards dealt to the bidding side
SHIFT = 6  # how far a hash is shifted to be the number of a table entry
COUPLED = 7  # 1 if it serves the bidding side that the two other teams tie: see `is_coupled`
MADE_BEFORE = 8  # points other than game that the bidding side has for certain
LOWEST_LEVEL = 9
HIGHEST_LEVEL = 10
DECIDED = 11  # the card that decided the last search of the root
SURE = 12  # points other than game that will be made, by whichever side
HAND = 16  # + seat: cards
SIDE = 24  # + seat: 0 the bidding team, 1 and 2 the other teams
PAYOFF = 48  # + level: what it is worth
VALUE = 64  # + place: card points
CARD = 128  # + place: the card
STACK = 192  # + FRAME x depth: positions under search
ROOT = 40  # the depth of the stack where the position to solve is kept, deeper than any deal
FRAME = 16  # words: Position, Trick, then
MOVES = 12  # moves left to try
NEXT = 13  # the move that is tried, or to be tried first
LEAD_1, LEAD_2 = 14, 15  # the leads for which what is proved of the moves so far holds
NO_PLACE = 63  # no card's place
TABLE = 1024

ENTRY = 2  # words of a table entry
FAR = 120  # a lead in card points beyond any that can be
MAX_GENERATION = 2**15 - 1
TRUMPS = 0xFFFF  # the places of suit 0

_HASH = np.uint64(0x9E3779B97F4A7C15)


class Position(NamedTuple):
    """What is left to play for.

    cards: in all hands; need: points that the bidding side must still make, game included; lead_1, lead_2: its card
    points less those of the other teams, at least 1 to win game; left: card points in the hands.
    """

    cards: int
    need: int
    lead_1: int
    lead_2: int
    left: int


class Trick(NamedTuple):
    """The trick on the table.

    seat: to play; size: cards on the table; led: suit; best: place of the card that is winning; winner: its seat;
    stake: card points on the table; prizes: prizes on the table.
    """

    seat: int
    size: int
    led: int
    best: int
    winner: int
    stake: int
    prizes: int


@kernel
def new_trick(seat: int) -> Trick:
    """Nothing on the table, and a seat to lead."""
    return Trick(int64(seat), int64(0), int64(0), int64(NO_PLACE), int64(0), int64(0), int64(0))


# --- Proofs ------------------------------------------------------------------------------------------------------
#
# What a search returns, in one word: whether the bidding side gets what it needs, and the leads for which this holds:
# these or higher ones if it does, these or lower ones if not. 9 bits each, for either of the other teams.


@kernel
def proof(reached: bool, lead_1: int, lead_2: int) -> int:
    """The word for a proof."""
    return ((lead_1 + 128) << 10) | ((lead_2 + 128) << 1) | int64(reached)


@kernel
def proof_lead_1(word: int) -> int:
    """The lead over the first other team for which a proof holds."""
    return (word >> 10) - 128


@kernel
def proof_lead_2(word: int) -> int:
    """The lead over the second other team for which a proof holds."""
    return ((word >> 1) & 511) - 128


@kernel
def moved(lead: int, by: int) -> int:
    """A lead that changes; FAR stays far."""
    if lead >= FAR or lead <= -FAR:
        return lead
    return lead + by


@kernel
def is_coupled(m: Buffer, p: Position) -> bool:
    """Whether a tie of the two other teams at the top, which gives game to nobody, would serve and may still come.

    The difference of the two is then part of the position: what is proved of it holds for other leads only as long as
    that is the same.
    """
    return word_at(m, COUPLED) != 0 and abs(p.lead_1 - p.lead_2) <= p.left


@kernel
def settle(m: Buffer, p: Position) -> int:
    """A proof for a position between tricks that needs no search, or -1.

    A prize is safe for a side that holds all trumps from it upwards, and so are the card points of a side's trumps
    above all trumps of the other side.
    """
    trumps = p.cards & TRUMPS
    ours = trumps & word_at(m, BIDDERS)
    theirs = trumps & ~ours
    our_top = ours & ((theirs & -theirs) - 1)
    their_top = theirs & ((ours & -ours) - 1)
    prizes = p.cards & word_at(m, PRIZES)
    safe = count(prizes & our_top)
    open_to_us = count(prizes & ~their_top)
    if p.need <= safe:
        return proof(True, -FAR, -FAR)
    if p.need > open_to_us + 1:
        return proof(False, FAR, FAR)
    winning = p.left - 2 * points_of(m, our_top) + 1  # the lead from which game cannot be lost
    losing = (2 if p.lead_2 == FAR else 1) * points_of(m, their_top) - p.left  # and from which it cannot be won
    if is_coupled(m, p):
        behind = p.lead_1 - p.lead_2
        winning += max(behind, 0)
        if p.left == 0:  # and behind == 0
            return proof(True, -FAR, -FAR)
        if p.need <= safe + 1 and p.lead_1 >= winning:
            return proof(True, winning, -FAR)
        return int64(-1)
    if p.need <= safe + 1 and p.lead_1 >= winning and p.lead_2 >= winning:
        return proof(True, winning, -FAR if p.lead_2 == FAR else winning)
    if p.need > open_to_us:
        if p.lead_1 <= losing:
            return proof(False, losing, FAR)
        if p.lead_2 <= losing:
            return proof(False, FAR, losing)
    return -1


@kernel
def points_of(m: Buffer, cards: int) -> int:
    """The card points of some cards."""
    total = int64(0)
    while cards:
        total += word_at(m, VALUE + lowest(cards))
        cards &= cards - 1
    return total


# --- Table -------------------------------------------------------------------------------------------------------

# The second word of an entry: leads of a win in bits 0 and 8, of a loss in bits 16 and 24, the difference of coupled
# teams in bit 32, the card that decided in bit 41, the generation in bit 47.
_NOTHING_KNOWN = (FAR + 128) | (FAR + 128) << 8 | (128 - FAR) << 16 | (128 - FAR) << 24 | NO_PLACE << 41


@kernel
def key_of(m: Buffer, p: Position, seat: int) -> int:
    """The key of a position between tricks. Its numbers lie in places that no card has."""
    return p.cards | seat << 29 | p.need << 45 | int64(is_coupled(m, p)) << 61


@kernel
def difference_of(m: Buffer, p: Position) -> int:
    """What a position between tricks has besides its key where the other teams are coupled."""
    return p.lead_1 - p.lead_2 + 256 if is_coupled(m, p) else int64(0)


@kernel.wrapping
def entry_of(m: Buffer, key: int) -> int:
    """Where in memory a key's entry stands."""
    return TABLE + ENTRY * int64((np.uint64(key) * _HASH) >> np.uint64(word_at(m, SHIFT)))


@kernel
def recall(m: Buffer, key: int, difference: int) -> int:
    """The second word of the entry for a key."""
    entry = entry_of(m, key)
    word = word_at(m, entry + 1)
    if word_at(m, entry) == key and word >> 47 == word_at(m, GENERATION) and (word >> 32) & 511 == difference:
        return word
    return _NOTHING_KNOWN


@kernel
def answer(word: int, p: Position) -> int:
    """The proof in an entry that holds for the position's leads, or -1."""
    won_1, won_2 = (word & 255) - 128, ((word >> 8) & 255) - 128
    if p.lead_1 >= won_1 and p.lead_2 >= won_2:
        return proof(True, won_1, won_2)
    lost_1, lost_2 = ((word >> 16) & 255) - 128, ((word >> 24) & 255) - 128
    if p.lead_1 <= lost_1 and p.lead_2 <= lost_2:
        return proof(False, lost_1, lost_2)
    return -1


@kernel
def remember(m: Buffer, p: Position, seat: int, found: int, card: int) -> None:
    """Adds a proof to the entry for a position, in place of what stood there for another one."""
    key, difference = key_of(m, p, seat), difference_of(m, p)
    word = recall(m, key, difference) & 0xFFFFFFFF
    leads = (proof_lead_1(found) + 128) | (proof_lead_2(found) + 128) << 8
    if found & 1:
        word = (word & 0xFFFF0000) | leads
    else:
        word = (word & 0xFFFF) | leads << 16
    entry = entry_of(m, key)
    set_word(m, entry, key)
    set_word(m, entry + 1, word | difference << 32 | card << 41 | word_at(m, GENERATION) << 47)


# --- Moves -------------------------------------------------------------------------------------------------------


@kernel
def suit_places(suit: int) -> int:
    """The places of a suit."""
    return int64(TRUMPS) << (16 * suit)


@kernel
def playable(m: Buffer, hand: int, k: Trick) -> int:
    """The cards of a hand that may be played on the trick (S-20 to S-22, F-14 to F-16)."""
    if k.size == 0:
        return hand
    following = hand & suit_places(k.led)
    if following == 0:
        return hand
    if word_at(m, MAY_TRUMP):
        return following | (hand & TRUMPS)
    return following


@kernel
def distinct(m: Buffer, moves: int, others: int) -> int:
    """One of each group of equal cards: neighbours in a suit, of the same value, that are no prizes.

    Neighbours are cards of a hand with none between them that can still beat or be beaten: those in hands and the one
    that is winning the trick.
    """
    kept = moves
    before = int64(NOBODY)
    cards = moves
    while cards:
        card = lowest(cards)
        cards &= cards - 1
        if before >> 4 == card >> 4 and others & (bit(card) - 1) & ~(2 * bit(before) - 1) == 0:
            prizes = bit(card) | bit(before)
            if word_at(m, VALUE + card) == word_at(m, VALUE + before) and word_at(m, PRIZES) & prizes == 0:
                kept = without(kept, before)
        before = card
    return kept


@kernel
def beats(card: int, best: int) -> bool:
    """Whether a card takes the trick from the one that is winning it."""
    return card < best and (card < 16 or card >> 4 == best >> 4)


@kernel
def worth(m: Buffer, card: int) -> int:
    """What a card is worth to the taker, in card points."""
    return word_at(m, VALUE + card) + (12 if holds(word_at(m, PRIZES), card) else 0)


@kernel
def replies(m: Buffer, p: Position, k: Trick, led: int) -> tuple[int, int]:
    """What seats after the one to play may put on the trick, with this suit led: those of its side, and the others."""
    with_us, against = int64(0), int64(0)
    mine = word_at(m, SIDE + k.seat) == 0
    seat = k.seat
    suit = suit_places(led)
    wanted = suit | TRUMPS if word_at(m, MAY_TRUMP) else suit
    for _ in range(word_at(m, SEATS) - 1 - k.size):
        seat = seat + 1 if seat + 1 < word_at(m, SEATS) else int64(0)
        hand = word_at(m, HAND + seat) & p.cards
        if hand & suit:
            hand &= wanted
        if (word_at(m, SIDE + seat) == 0) == mine:
            with_us |= hand
        else:
            against |= hand
    return with_us, against


@kernel
def beaten_by(card: int, cards: int) -> int:
    """Those of some cards that would take the trick from one."""
    lower = bit(card) - 1
    if card < 16:
        return cards & lower
    return cards & (TRUMPS | (lower & suit_places(card >> 4)))


@kernel
def promise(m: Buffer, k: Trick, card: int, with_us: int, against: int) -> int:
    """How soon to try a card: the higher the sooner. The numbers are those that searched least of whole deals.

    The order is to smear on a trick that is safe first, then to win for certain, without a trump if it can be
    and with no higher card than needed, then to lead to the partner. Whatever may go to the others, cheaply.
    """
    value = worth(m, card)
    if k.size == 0 or beats(card, k.best):
        if beaten_by(card, against) == 0:
            return 60 + value + (card & 15) - (50 if card < 16 else 0)
        if k.size > 0:
            return -10 - value
        return (40 if beaten_by(lowest(beaten_by(card, against)), with_us) else 0) - value
    if (word_at(m, SIDE + k.winner) == 0) == (word_at(m, SIDE + k.seat) == 0):
        return 100 + 2 * value if beaten_by(k.best, against) == 0 else -value
    helpers = beaten_by(k.best, with_us)
    return value if helpers and beaten_by(lowest(helpers), against) == 0 else -value


@kernel
def most_promising(m: Buffer, p: Position, k: Trick, moves: int) -> int:
    """The move to try first."""
    best = lowest(moves)
    moves &= moves - 1
    if moves == 0:
        return best
    led = best >> 4 if k.size == 0 else k.led
    with_us, against = replies(m, p, k, led)
    highest = promise(m, k, best, with_us, against)
    while moves:
        card = lowest(moves)
        moves &= moves - 1
        if k.size == 0 and card >> 4 != led:
            led = card >> 4
            with_us, against = replies(m, p, k, led)
        value = promise(m, k, card, with_us, against)
        if value > highest:
            best, highest = card, value
    return best


# --- Search ------------------------------------------------------------------------------------------------------
#
# Depth first, with a stack of its own in memory: compiled functions that call themselves cannot be kept in a cache.


@kernel
def search(m: Buffer, p: Position, k: Trick, allowed: int) -> int:
    """A proof whether the bidding side gets what it needs; the seat to play chooses among the places allowed."""
    depth = int64(0)
    found = begin_node(m, depth, p, k, allowed)
    while True:
        if found < 0:
            p, k = play_next(m, depth)
            depth += 1
            found = begin_node(m, depth, p, k, int64(-1))
        elif depth == 0:
            return found
        else:
            depth -= 1
            found = end_move(m, depth, found)


@kernel
def begin_node(m: Buffer, depth: int, p: Position, k: Trick, allowed: int) -> int:
    """A proof for a position if there is one without search; else -1, with the moves to try on the stack."""
    hint = int64(NO_PLACE)
    if k.size == 0:
        found = settle(m, p)
        if found >= 0:
            return found
        word = recall(m, key_of(m, p, k.seat), difference_of(m, p))
        found = answer(word, p)
        if found >= 0 and depth > 0:  # the root may be bound to some moves
            return found
        hint = (word >> 41) & 63
    set_word(m, NODES, word_at(m, NODES) + 1)
    hand = word_at(m, HAND + k.seat) & p.cards
    moves = distinct(m, playable(m, hand, k), p.cards | bit(k.best)) & allowed
    worst = int64(FAR) if word_at(m, SIDE + k.seat) == 0 else int64(-FAR)
    push(m, depth, p, k)
    frame = STACK + FRAME * depth
    set_word(m, frame + MOVES, moves)
    set_word(m, frame + NEXT, hint)
    set_word(m, frame + LEAD_1, worst)
    set_word(m, frame + LEAD_2, worst)
    return int64(-1)


@kernel
def push(m: Buffer, depth: int, p: Position, k: Trick) -> None:
    """Puts a position on the stack."""
    at = STACK + FRAME * depth
    set_word(m, at, p.cards)
    set_word(m, at + 1, p.need)
    set_word(m, at + 2, p.lead_1)
    set_word(m, at + 3, p.lead_2)
    set_word(m, at + 4, p.left)
    push_trick(m, depth, k)


@kernel
def push_trick(m: Buffer, depth: int, k: Trick) -> None:
    """Puts a trick on the stack."""
    at = STACK + FRAME * depth + 5
    set_word(m, at, k.seat)
    set_word(m, at + 1, k.size)
    set_word(m, at + 2, k.led)
    set_word(m, at + 3, k.best)
    set_word(m, at + 4, k.winner)
    set_word(m, at + 5, k.stake)
    set_word(m, at + 6, k.prizes)


@kernel
def pushed_position(m: Buffer, depth: int) -> Position:
    """The position at some depth of the stack."""
    at = STACK + FRAME * depth
    return Position(word_at(m, at), word_at(m, at + 1), word_at(m, at + 2), word_at(m, at + 3), word_at(m, at + 4))


@kernel
def pushed_trick(m: Buffer, depth: int) -> Trick:
    """The trick on the table at some depth of the stack."""
    at = STACK + FRAME * depth + 5
    return Trick(
        word_at(m, at),
        word_at(m, at + 1),
        word_at(m, at + 2),
        word_at(m, at + 3),
        word_at(m, at + 4),
        word_at(m, at + 5),
        word_at(m, at + 6),
    )


@kernel
def play_next(m: Buffer, depth: int) -> tuple[Position, Trick]:
    """Plays the most promising of the moves left to try; returns the position after it."""
    p, k = pushed_position(m, depth), pushed_trick(m, depth)
    frame = STACK + FRAME * depth
    moves = word_at(m, frame + MOVES)
    card = word_at(m, frame + NEXT)  # the move that the table suggests, if any
    if not holds(moves, card):
        card = most_promising(m, p, k, moves)
    set_word(m, frame + MOVES, without(moves, card))
    set_word(m, frame + NEXT, card)
    return play(m, p, k, card)


@kernel
def play(m: Buffer, p: Position, k: Trick, card: int) -> tuple[Position, Trick]:
    """The position after a card."""
    after = lay(m, k, card)
    cards, left = without(p.cards, card), p.left - word_at(m, VALUE + card)
    if after.size < word_at(m, SEATS):
        return Position(cards, p.need, p.lead_1, p.lead_2, left), after
    side = word_at(m, SIDE + after.winner)
    need = p.need - after.prizes if side == 0 else p.need
    lead_1, lead_2 = moved(p.lead_1, gain(side, 1, after.stake)), moved(p.lead_2, gain(side, 2, after.stake))
    return Position(cards, need, lead_1, lead_2, left), new_trick(after.winner)


@kernel
def lay(m: Buffer, k: Trick, card: int) -> Trick:
    """The trick with one more card on it, the next seat to play."""
    best, winner, led = k.best, k.winner, k.led
    if k.size == 0:
        best, winner, led = card, k.seat, card >> 4
    elif beats(card, best):
        best, winner = card, k.seat
    seat = k.seat + 1 if k.seat + 1 < word_at(m, SEATS) else int64(0)
    prizes = k.prizes + int64(holds(word_at(m, PRIZES), card))
    return Trick(seat, k.size + 1, led, best, winner, k.stake + word_at(m, VALUE + card), prizes)


@kernel
def gain(side: int, other: int, stake: int) -> int:
    """How a trick taken by a side changes the bidding team's lead over another team."""
    if side == 0:
        return stake
    return -stake if side == other else int64(0)


@kernel
def end_move(m: Buffer, depth: int, found: int) -> int:
    """A proof for the position at some depth from that for its last move; -1 if more moves have to be tried."""
    k = pushed_trick(m, depth)
    frame = STACK + FRAME * depth
    card = word_at(m, frame + NEXT)
    first, second = proof_lead_1(found), proof_lead_2(found)
    if k.size + 1 == word_at(m, SEATS):
        after = lay(m, k, card)
        side = word_at(m, SIDE + after.winner)
        first, second = moved(first, -gain(side, 1, after.stake)), moved(second, -gain(side, 2, after.stake))
    reached = found & 1 == 1
    bidding = word_at(m, SIDE + k.seat) == 0
    if reached != bidding:
        if bidding:
            first, second = min(first, word_at(m, frame + LEAD_1)), min(second, word_at(m, frame + LEAD_2))
        else:
            first, second = max(first, word_at(m, frame + LEAD_1)), max(second, word_at(m, frame + LEAD_2))
        if word_at(m, frame + MOVES):
            set_word(m, frame + LEAD_1, first)
            set_word(m, frame + LEAD_2, second)
            return int64(-1)
    found = proof(reached, first, second)
    if depth == 0:
        if reached == bidding:
            set_word(m, DECIDED, card)
    elif k.size == 0:
        remember(m, pushed_position(m, depth), k.seat, found, card)
    return found


# --- The position to solve ---------------------------------------------------------------------------------------


@kernel
def place_of(card: int, trump: int, t: Tables) -> int:
    """The place of a card."""
    strength = int64(t.strength[trump, card])
    if strength >= 64:
        return 78 - strength  # there are 15 trumps at most, strengths 64 to 78
    return 16 * ((t.suit_of[trump, card] - trump) & 3) + 12 - strength


@kernel
def places_of(cards: int, trump: int, t: Tables) -> int:
    """The places of a set of cards, as a word."""
    places = int64(0)
    while cards:
        places |= bit(place_of(lowest(cards), trump, t))
        cards &= cards - 1
    return places


@kernel
def place_hands(m: Buffer, g: Game, t: Tables, trump: int) -> Position:
    """Writes who holds what and what it is worth. Returns the cards held and their card points."""
    bidders, held, prizes, left = int64(0), int64(0), int64(0), int64(0)
    bidding_team = t.team_of[g.bidder]
    for seat in range(t.players):
        set_word(m, SIDE + seat, (t.team_of[seat] - bidding_team + t.teams) % t.teams)
        places = int64(0)
        cards = g.hand[seat]
        while cards:
            card = lowest(cards)
            cards &= cards - 1
            place = place_of(card, trump, t)
            places |= bit(place)
            set_word(m, VALUE + place, t.card_points[card])
            set_word(m, CARD + place, card)
            left += t.card_points[card]
            if is_prize(card, trump, t):
                prizes |= bit(place)
        set_word(m, HAND + seat, places)
        held |= places
        if t.team_of[seat] == bidding_team:
            bidders |= places
    set_word(m, PRIZES, prizes)
    set_word(m, BIDDERS, bidders)
    return Position(held, int64(0), int64(0), int64(0), left)


@kernel
def is_prize(card: int, trump: int, t: Tables) -> bool:
    """Whether a card brings its taker a point."""
    kind = t.kind_of[trump, card]
    return kind != NOBODY and t.kind_points[kind] != 0


@kernel
def place_trick(m: Buffer, g: Game, t: Tables, trump: int) -> Trick:
    """The trick on the table."""
    if g.trick_size == 0:
        return new_trick(g.actor)
    stake, prizes = int64(0), int64(0)
    for seat in range(t.players):
        card = g.trick[seat]
        if card != NOBODY:
            stake += t.card_points[card]
            prizes += int64(is_prize(card, trump, t))
    best = place_of(g.trick[g.winning], trump, t)
    led = place_of(g.trick[g.leader], trump, t) >> 4
    return Trick(int64(g.actor), int64(g.trick_size), led, best, int64(g.winning), stake, prizes)


@kernel
def holder_of(g: Game, t: Tables, trump: int, kind: int) -> int:
    """The team that has high or low once all cards are played, or NOBODY (S-24, S-25; O-5, O-6)."""
    sign = 1 if kind == HIGH else -1
    allowed = t.high_cards[trump] if kind == HIGH else t.low_cards[trump]
    best = g.high_card if kind == HIGH else g.low_card
    team = g.kinds[kind]
    for seat in range(t.players):
        cards = g.hand[seat] & allowed
        while cards:
            card = lowest(cards)
            cards &= cards - 1
            if best == NOBODY or sign * (int64(t.strength[trump, card]) - t.strength[trump, best]) > 0:
                best = card
                team = t.team_of[seat]
    return team


@kernel
def prepare(m: Buffer, g: Game, t: Tables, trump: int) -> None:
    """Writes a position of the play to memory, with a trump suit. The table forgets what it knew."""
    p = place_hands(m, g, t, trump)
    k = place_trick(m, g, t, trump)
    open_prizes = k.prizes + count(word_at(m, PRIZES))
    made, sure = int64(0), open_prizes
    for kind in range(JOKER + 1):
        team = holder_of(g, t, trump, kind) if kind <= LOW else g.kinds[kind]
        if team != NOBODY and t.kind_points[kind]:
            sure += 1
            if team == t.team_of[g.bidder]:
                made += 1
    set_word(m, SEATS, t.players)
    set_word(m, MAY_TRUMP, t.follow_or_trump)
    set_word(m, MADE_BEFORE, made)
    set_word(m, SURE, sure)
    set_word(m, LOWEST_LEVEL, 2 * made + 1)
    set_word(m, HIGHEST_LEVEL, 2 * (made + open_prizes) + 3)
    lead_1, lead_2 = leads(g, t)
    push(m, ROOT, Position(p.cards, int64(0), lead_1, lead_2, p.left), k)
    forget(m)


@kernel
def leads(g: Game, t: Tables) -> tuple[int, int]:
    """The card points of the bidding team less those of the other teams; FAR for one that is not there."""
    team = t.team_of[g.bidder]
    points = int64(g.card_points[team])
    if t.count_discards:
        points += card_points_of(g.discards[g.bidder], t)
    first = points - g.card_points[(team + 1) % t.teams]
    second = points - g.card_points[(team + 2) % t.teams] if t.teams > 2 else int64(FAR)
    return first, second


@kernel
def forget(m: Buffer) -> None:
    """Empties the table: entries of an earlier generation count as empty."""
    generation = word_at(m, GENERATION) + 1
    if generation > MAX_GENERATION:
        for word in range(ENTRY * (int64(1) << (64 - word_at(m, SHIFT)))):
            set_word(m, TABLE + word, 0)
        generation = int64(1)
    set_word(m, GENERATION, generation)


# --- Values ------------------------------------------------------------------------------------------------------


@kernel
def write_payoffs(m: Buffer, g: Game, t: Tables, objective: int) -> None:
    """Writes what each level is worth to the bidding side: the objective, times teams - 1 for SCORE.

    To the other side POINTS is its own points, all else the same with the sign changed.
    """
    bidding = t.team_of[g.actor] == t.team_of[g.bidder]
    for level in range(word_at(m, LOWEST_LEVEL), word_at(m, HIGHEST_LEVEL) + 1):
        made = (level - 1) >> 1
        others = word_at(m, SURE) + (level & 1) - made
        if objective == POINTS:
            payoff = made if bidding else -others
        elif objective == MARGIN:
            payoff = made - others
        elif objective == MADE:
            payoff = int64(made >= g.bid)
        else:
            payoff = (t.teams - 1) * (made if made >= g.bid else -int64(g.bid)) - others
        set_word(m, PAYOFF + level, payoff)


@kernel
def reaches(m: Buffer, level: int, allowed: int) -> bool:
    """Whether the bidding side reaches a level when the seat to play chooses among the places allowed."""
    p = pushed_position(m, ROOT)
    ties_serve = level & 1 == 0
    coupled = ties_serve and p.lead_2 != FAR
    set_word(m, COUPLED, int64(coupled))
    need = (level >> 1) - word_at(m, MADE_BEFORE)
    by = int64(ties_serve)  # a tie for the bidding side's card points is then as good as a lead
    start = Position(p.cards, need, moved(p.lead_1, by), moved(p.lead_2, by), p.left)
    return search(m, start, pushed_trick(m, ROOT), allowed) & 1 == 1


@kernel
def step_between(m: Buffer, low: int, high: int) -> int:
    """A level above low, high at most, that is worth more than the one below it, as near to the middle as can be."""
    middle = (low + high + 1) >> 1
    for away in range(high - low + 1):
        for level in (middle - away, middle + away):
            if low < level <= high and word_at(m, PAYOFF + level) > word_at(m, PAYOFF + level - 1):
                return level
    return high


@kernel
def level_of(m: Buffer, allowed: int) -> int:
    """The level that the deal comes to, up to levels of the same payoff; DECIDED is a card that leads there."""
    low, high = word_at(m, LOWEST_LEVEL), word_at(m, HIGHEST_LEVEL)
    bidding = word_at(m, SIDE + pushed_trick(m, ROOT).seat) == 0
    best = lowest(allowed)
    set_word(m, DECIDED, best)  # stands where there is nothing to search
    while word_at(m, PAYOFF + low) < word_at(m, PAYOFF + high):
        middle = step_between(m, low, high)
        reached = reaches(m, middle, allowed)
        if reached:
            low = middle
        else:
            high = middle - 1
        if reached == bidding:
            best = word_at(m, DECIDED)
    set_word(m, DECIDED, best)
    return low


@kernel
def trumps_to_try(g: Game) -> int:
    """The trump suits that the actor may bring about, as bits: all four before a first lead that is free (F-12)."""
    return int64(15) if g.trump == NOBODY else bit(g.trump)


@kernel
def prepare_moves(m: Buffer, g: Game, t: Tables, trump: int, objective: int) -> int:
    """Prepares a position with a trump suit; returns the places that may be played then."""
    moves = g.legal_cards
    if g.trump == NOBODY:
        moves &= t.suit_cards[NOBODY, trump]
    if moves == 0:
        return int64(0)
    prepare(m, g, t, trump)
    write_payoffs(m, g, t, objective)
    return places_of(moves, trump, t)


@kernel
def evaluate(
    games: np.ndarray, i: int, tables: np.ndarray, objective: int, memory: np.ndarray, values: np.ndarray
) -> None:
    """Writes the value of every legal action of game i to values (54,), for the actor: the more the better.

    Values are those of `write_payoffs`, with the sign changed where the actor is not of the bidding side.

    Args:
        games: (N,) records with nothing hidden; game i in the phase of play.
        i: which one.
        tables: of the rules, of three teams at most.
        objective: POINTS, MARGIN, MADE or SCORE.
        memory: from `new_memory`; anything that it held is forgotten.
        values: int64, by card; entries of other cards stay as they are.
    """
    g, t, m = games[i], tables[0], buffer_of(memory)
    sign = 1 if t.team_of[g.actor] == t.team_of[g.bidder] else -1
    for trump in range(NUM_SUITS):
        if not holds(trumps_to_try(g), trump):
            continue
        moves = prepare_moves(m, g, t, trump, objective)
        chosen = distinct(m, moves, pushed_position(m, ROOT).cards | bit(pushed_trick(m, ROOT).best))
        value = int64(0)
        above = int64(0)
        cards = moves
        while cards:
            place = lowest(cards)
            cards &= cards - 1
            above |= bit(place)
            if holds(chosen, place):
                value = sign * word_at(m, PAYOFF + level_of(m, bit(place)))
                while above:
                    values[word_at(m, CARD + lowest(above))] = value
                    above &= above - 1


@kernel
def best_action(games: np.ndarray, i: int, tables: np.ndarray, objective: int, memory: np.ndarray) -> tuple[int, int]:
    """A best action of the actor and its value; arguments and values as for `evaluate`, which takes longer."""
    g, t, m = games[i], tables[0], buffer_of(memory)
    sign = 1 if t.team_of[g.actor] == t.team_of[g.bidder] else -1
    best, best_value = int64(NOBODY), int64(0)
    for trump in range(NUM_SUITS):
        if not holds(trumps_to_try(g), trump):
            continue
        moves = prepare_moves(m, g, t, trump, objective)
        if moves:
            value = sign * word_at(m, PAYOFF + level_of(m, moves))
            if best == NOBODY or value > best_value:
                best, best_value = word_at(m, CARD + word_at(m, DECIDED)), value
    return best, best_value


def new_memory(bits: int = 16) -> np.ndarray:
    """Memory for the kernels, with a table of 2^bits positions of 16 bytes each.

    16 bits are enough but for whole deals of Schmier, which 18 solve a fifth faster. One for each thread.
    """
    memory = np.zeros(TABLE + (ENTRY << bits), np.int64)
    memory[SHIFT] = 64 - bits
    return memory
