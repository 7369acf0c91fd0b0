"""The game in playing order: shuffle, deal, auction, trump, exchange, keep, play.

Per phase stands first what is legal, then what an action does.
Kernels over `g`, a row of the record, and `t`, the row of the tables. They take legal actions for granted;
`Games` checks. After every step the game is at a decision or over: nothing is pending. Clause numbers are those
of RULES.md.
"""

import numpy as np

from smear_env._jit import int64, kernel
from smear_env.actions import BID_1, DONE, PASS, TRUMP_CLUBS, call_bit
from smear_env.cards import NO_CARDS, bit, count, lowest, without
from smear_env.rules import BID, EXCHANGE, KEEP, NOBODY, OVER, PLAY, REDEAL_NEXT, STICK_DEALER, TRUMP, Tables
from smear_env.scoring import award_played_card, award_trick, score_deal
from smear_env.state import Game

NOTHING, SCORED, THROWN_IN = 0, 1, 2
"""What a step has brought about: nothing to score, a deal scored, a deal thrown in."""


# --- Chance ------------------------------------------------------------------------------------------------------

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@kernel.wrapping
def mix(x: np.uint64) -> np.uint64:
    """Scrambles 64 bits: the output function of splitmix64 (Steele, Lea, Flood 2014)."""
    x = (x ^ (x >> _30)) * _MIX_1
    x = (x ^ (x >> _27)) * _MIX_2
    return x ^ (x >> _31)


@kernel.wrapping
def advance(state: np.uint64) -> np.uint64:
    """The state of a splitmix64 generator after one more draw."""
    return state + _GOLDEN


@kernel
def below(state: np.uint64, n: int) -> int:
    """A whole number 0..n-1 from a generator's state. Its bias is under n / 2^32."""
    return int64(((mix(state) >> _32) * np.uint64(n)) >> _32)


@kernel.wrapping
def seed_state(seed: np.uint64, stream: int) -> np.uint64:
    """The generator's state for a seed (any 64 bits) and the number of a stream: streams do not overlap."""
    return mix(mix(seed + _GOLDEN) + np.uint64(stream) * _MIX_1)


@kernel
def random_below(g: Game, n: int) -> int:
    """A whole number 0..n-1 from the game's own generator."""
    g.rng = advance(g.rng)
    return below(g.rng, n)


@kernel
def shuffle(g: Game, t: Tables) -> None:
    """Puts the pack in random order (Fisher and Yates)."""
    for place in range(t.deck_size):
        g.deck[place] = t.deck[place]
    for place in range(t.deck_size - 1, 0, -1):
        other = random_below(g, place + 1)
        card = g.deck[place]
        g.deck[place] = g.deck[other]
        g.deck[other] = card


# --- Game and deal -----------------------------------------------------------------------------------------------


@kernel
def start_game(g: Game, t: Tables) -> None:
    """A new game: scores at zero, the first dealer drawn (S-3), the cards shuffled and dealt."""
    for team in range(g.scores.size):
        g.scores[team] = 0
        g.last_card_points[team] = 0
        g.last_points[team] = 0
        g.last_delta[team] = 0
    for kind in range(g.last_kinds.size):
        g.last_kinds[kind] = NOBODY
    g.last_bidder = NOBODY
    g.last_bid = 0
    g.last_trump = NOBODY
    g.last_trick_winner = NOBODY
    g.deals = 0
    g.deals_scored = 0
    g.terminated = 0
    g.truncated = 0
    g.winners = 0
    g.dealer = random_below(g, t.players)
    shuffle(g, t)
    deal(g, t)


@kernel
def deal(g: Game, t: Tables) -> None:
    """Deals the deck as it lies and opens the auction (S-4, S-9)."""
    g.deals += 1
    g.next_card = 0
    for k in range(1, t.players + 1):
        g.hand[(g.dealer + k) % t.players] = take_cards(g, t.hand_cards)
    for seat in range(t.players):
        g.discards[seat] = 0
        g.played[seat] = 0
        g.bids[seat] = NOBODY
        g.draws[seat] = NOBODY
        g.trick[seat] = NOBODY
        g.voids[seat] = 0
    for team in range(t.teams):
        g.card_points[team] = 0
    for kind in range(g.kinds.size):
        g.kinds[kind] = NOBODY
    for trick in range(g.trick_leaders.size):
        g.trick_leaders[trick] = NOBODY
    for place in range(g.plays.size):
        g.plays[place] = NOBODY
    g.kept = 0
    g.widow = 0
    g.bidder = NOBODY
    g.bid = 0
    g.trump = NOBODY
    g.trump_public = 0
    g.high_card = NOBODY
    g.low_card = NOBODY
    g.leader = NOBODY
    g.winning = NOBODY
    g.tricks = 0
    g.trick_size = 0
    g.phase = BID
    g.actor = (g.dealer + 1) % t.players
    find_legal(g, t)


@kernel
def take_cards(g: Game, n: int) -> int:
    """The next n cards of the deck, as a set."""
    cards = NO_CARDS
    for _ in range(n):
        cards |= bit(g.deck[g.next_card])
        g.next_card += 1
    return cards


# --- Auction -----------------------------------------------------------------------------------------------------


@kernel
def legal_bids(g: Game, t: Tables) -> int:
    """Pass, and every bid above the one that stands (S-9)."""
    must_bid = t.all_pass == STICK_DEALER and g.actor == g.dealer and g.bid == 0  # O-4
    calls = NO_CARDS if must_bid else call_bit(PASS)
    for bid in range(max(t.min_bid, g.bid + 1), t.max_bid + 1):
        calls |= call_bit(BID_1 + bid - 1)
    return calls


@kernel
def apply_bid(g: Game, t: Tables, action: int) -> int:
    """A seat's one turn in the auction; after the last the bidder goes on, or the cards are thrown in (S-10, S-12)."""
    seat = g.actor
    g.bids[seat] = 0
    if action != PASS:
        g.bids[seat] = action - BID_1 + 1
        g.bid = g.bids[seat]
        g.bidder = seat
    if seat != g.dealer and not (t.max_bid_ends and g.bid == t.max_bid):
        g.actor = (seat + 1) % t.players
        return NOTHING
    if g.bidder == NOBODY:
        return THROWN_IN
    g.actor = g.bidder
    if t.pitched:
        begin_commitment(g, t)
    else:
        g.phase = TRUMP
    return NOTHING


# --- Trump -------------------------------------------------------------------------------------------------------


@kernel
def begin_commitment(g: Game, t: Tables) -> None:
    """The bidder takes the widow and commits himself to a suit (F-7, F-8); with no widow he leads at once."""
    if t.widow == 0:
        begin_play(g, t)
        return
    g.widow = take_cards(g, t.widow)
    g.hand[g.bidder] |= g.widow
    g.phase = TRUMP
    suits = legal_trumps(g, t)
    if count(suits) == 1:
        apply_trump(g, t, PASS + lowest(suits))


@kernel
def legal_trumps(g: Game, t: Tables) -> int:
    """Any suit of the pack when trump is named (S-13); a suit held when the bidder will have to lead it (F-8)."""
    calls = NO_CARDS
    for suit in range(t.suits):
        if not t.pitched or g.hand[g.bidder] & t.suit_cards[NOBODY, suit] != 0:
            calls |= call_bit(TRUMP_CLUBS + suit)
    return calls


@kernel
def apply_trump(g: Game, t: Tables, action: int) -> None:
    """Names trump for all to hear, or commits the bidder to it in private."""
    g.trump = action - TRUMP_CLUBS
    if t.pitched:
        begin_keep(g, t, g.bidder)
        return
    g.trump_public = 1
    if t.max_discard > 0:
        g.phase = EXCHANGE
        next_exchange(g, t, g.dealer)
    else:
        begin_play(g, t)


# --- Exchange ----------------------------------------------------------------------------------------------------


@kernel
def trumps_of(g: Game, t: Tables, seat: int) -> int:
    """The trumps that a seat holds."""
    return g.hand[seat] & t.suit_cards[g.trump, g.trump]


@kernel
def legal_throws(g: Game, t: Tables) -> int:
    """Cards the actor may throw: all but his trumps (S-15)."""
    return g.hand[g.actor] & ~t.suit_cards[g.trump, g.trump]


@kernel
def apply_exchange(g: Game, t: Tables, action: int) -> None:
    """Throws one card, or ends the throw; the replacements come with its end (S-14)."""
    seat = g.actor
    if action != DONE:
        g.discards[seat] |= bit(action)
        g.hand[seat] = without(g.hand[seat], action)
    thrown = count(g.discards[seat])
    if action == DONE or thrown == t.max_discard or legal_throws(g, t) == 0:
        g.hand[seat] |= take_cards(g, thrown)
        g.draws[seat] = thrown
        next_exchange(g, t, seat)


@kernel
def next_exchange(g: Game, t: Tables, seat: int) -> None:
    """Hands the exchange on to the next seat that has something to throw, at last to the dealer (S-14 to S-17)."""
    seat = (seat + 1) % t.players
    while seat != g.dealer:
        g.actor = seat
        if legal_throws(g, t) != 0:
            return
        g.draws[seat] = 0
        seat = (seat + 1) % t.players
    g.hand[g.dealer] |= take_cards(g, t.deck_size - g.next_card)
    begin_keep(g, t, g.dealer)


# --- Keep --------------------------------------------------------------------------------------------------------


@kernel
def begin_keep(g: Game, t: Tables, seat: int) -> None:
    """Back to six cards: what has to stay is kept by itself, the rest is up to the seat (S-17, S-18; F-9, F-10)."""
    g.phase = KEEP
    g.actor = seat
    g.kept = trumps_of(g, t, seat)
    if count(g.kept) > t.hand_cards:
        g.kept &= t.protected[g.trump]
    end_keep_without_choice(g, t)


@kernel
def legal_keeps(g: Game, t: Tables) -> int:
    """Cards the actor may pick to keep: plain ones, or with more than six trumps the trumps that may also go."""
    trumps = trumps_of(g, t, g.actor)
    if count(trumps) > t.hand_cards:
        return trumps & ~g.kept
    return g.hand[g.actor] & ~trumps & ~g.kept


@kernel
def apply_keep(g: Game, t: Tables, action: int) -> None:
    """Keeps one card."""
    g.kept |= bit(action)
    end_keep_without_choice(g, t)


@kernel
def end_keep_without_choice(g: Game, t: Tables) -> None:
    """Discards and begins the play once only one final hand is left to choose (S-19)."""
    eligible = legal_keeps(g, t)
    to_pick = t.hand_cards - count(g.kept)
    if to_pick == count(eligible):
        g.kept |= eligible
    elif to_pick > 0:
        return
    g.discards[g.actor] = g.hand[g.actor] & ~g.kept
    g.hand[g.actor] = g.kept
    g.kept = 0
    begin_play(g, t)


# --- Play --------------------------------------------------------------------------------------------------------


@kernel
def begin_play(g: Game, t: Tables) -> None:
    """The bidder is to lead to the first trick (S-20, F-12)."""
    g.phase = PLAY
    g.leader = g.bidder
    g.actor = g.bidder
    g.trick_leaders[0] = g.bidder


@kernel
def legal_plays(g: Game, t: Tables) -> int:
    """Cards the actor may play (S-20 to S-22; F-12 to F-16)."""
    hand = g.hand[g.actor]
    if g.trick_size == 0:
        committed = g.trump != NOBODY and not g.trump_public
        return hand & t.suit_cards[g.trump, g.trump] if committed else hand
    led = t.suit_of[g.trump, g.trick[g.leader]]
    following = hand & t.suit_cards[g.trump, led]
    if following == 0:
        return hand
    if t.follow_or_trump:
        return following | (hand & t.suit_cards[g.trump, g.trump])
    return following


@kernel
def apply_play(g: Game, t: Tables, action: int) -> int:
    """Plays a card; the sixth trick ends the deal."""
    seat = g.actor
    card = action
    if not g.trump_public:  # the first lead of F-12
        g.trump = t.suit_of[NOBODY, card]
        g.trump_public = 1
    g.hand[seat] = without(g.hand[seat], card)
    g.played[seat] |= bit(card)
    g.plays[g.tricks * t.players + g.trick_size] = card
    g.trick[seat] = card
    g.trick_size += 1
    award_played_card(g, t, seat, card)
    suit = t.suit_of[g.trump, card]
    if g.trick_size == 1:
        g.winning = seat
    else:
        led = t.suit_of[g.trump, g.trick[g.leader]]
        if suit != led and not (t.follow_or_trump and suit == g.trump):  # a ruff by choice shows no void
            g.voids[seat] |= np.int8(1) << np.int8(led)
        if (suit == led or suit == g.trump) and t.strength[g.trump, card] > t.strength[g.trump, g.trick[g.winning]]:
            g.winning = seat
    if g.trick_size < t.players:
        g.actor = (seat + 1) % t.players
        return NOTHING
    take_trick(g, t)
    if g.tricks < t.hand_cards:
        g.trick_leaders[g.tricks] = g.leader
        return NOTHING
    score_deal(g, t)
    return SCORED


@kernel
def take_trick(g: Game, t: Tables) -> None:
    """The winner takes the trick and is to lead to the next (S-20, S-23)."""
    winner = g.winning
    award_trick(g, t, winner)
    for seat in range(t.players):
        g.trick[seat] = NOBODY
    g.trick_size = 0
    g.tricks += 1
    g.last_trick_winner = winner
    g.winning = NOBODY
    g.leader = winner
    g.actor = winner


# --- Step --------------------------------------------------------------------------------------------------------


@kernel
def find_legal(g: Game, t: Tables) -> None:
    """Writes the legal actions of the actor: the one place that every mask and check reads."""
    cards = NO_CARDS
    calls = NO_CARDS
    if g.phase == PLAY:
        cards = legal_plays(g, t)
    elif g.phase == BID:
        calls = legal_bids(g, t)
    elif g.phase == TRUMP:
        calls = legal_trumps(g, t)
    elif g.phase == EXCHANGE:
        cards = legal_throws(g, t)
        calls = call_bit(DONE)
    elif g.phase == KEEP:
        cards = legal_keeps(g, t)
    g.legal_cards = cards
    g.legal_calls = calls


@kernel
def step(g: Game, t: Tables, action: int) -> int:
    """Does a legal action and moves on to the next decision, through the next deal if need be.

    Returns NOTHING, SCORED when it ended a deal with a score, THROWN_IN when everybody had passed.
    """
    outcome = NOTHING
    if g.phase == PLAY:
        outcome = apply_play(g, t, action)
    elif g.phase == BID:
        outcome = apply_bid(g, t, action)
    elif g.phase == TRUMP:
        apply_trump(g, t, action)
    elif g.phase == EXCHANGE:
        apply_exchange(g, t, action)
    elif g.phase == KEEP:
        apply_keep(g, t, action)
    if outcome == NOTHING:
        find_legal(g, t)
    else:
        end_deal(g, t, outcome)
    return outcome


@kernel
def end_deal(g: Game, t: Tables, outcome: int) -> None:
    """Ends the game, or deals again: the deal passes to the left unless the cards were thrown in (S-12, S-32)."""
    if g.one_deal or g.winners:
        g.terminated = 1
    elif g.deals >= g.max_deals:
        g.truncated = 1
    if g.terminated or g.truncated:
        g.phase = OVER
        g.actor = NOBODY
        find_legal(g, t)
        return
    if outcome == SCORED or t.all_pass == REDEAL_NEXT:
        g.dealer = (g.dealer + 1) % t.players
    shuffle(g, t)
    deal(g, t)


@kernel
def random_action(g: Game, state: np.uint64) -> int:
    """A legal action of the actor, all equally likely, from a generator's state."""
    cards = g.legal_cards
    calls = g.legal_calls
    num_cards = count(cards)
    choice = below(state, num_cards + count(calls))
    if choice >= num_cards:
        choice -= num_cards
        for _ in range(choice):
            calls &= calls - 1
        return PASS + lowest(calls)
    for _ in range(choice):
        cards &= cards - 1
    return lowest(cards)
