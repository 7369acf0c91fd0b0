"""Scripted players: `random` and `greedy`. Kernels read the observation; nothing else is there to read."""

from typing import Any

import numpy as np

from smear_agents._jit import kernel
from smear_agents.agent import Agent
from smear_env import GameRules
from smear_env._jit import int64
from smear_env.actions import BID_1, DONE, PASS, TRUMP_CLUBS
from smear_env.cards import NUM_CARDS, NUM_SUITS
from smear_env.engine import mix
from smear_env.games import choose
from smear_env.observe import Layout
from smear_env.rules import NOBODY, Tables

# --- Random ------------------------------------------------------------------------------------------------------


class RandomAgent(Agent):
    """Any legal action, all equally likely: its choice is drawn from its seed and a digest of what it sees."""

    def __init__(self, rules: GameRules, seed: int = 0) -> None:
        super().__init__(rules, seed)
        words = np.random.SeedSequence(seed).generate_state(1 + int(self.layout["length"][0]), np.uint64)
        self._key, self._weights = words[:1], words[1:]

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`."""
        actions = np.empty(len(observations), np.int64)
        random_actions(observations, action_masks, self._key, self._weights, actions)
        return actions

    def probabilities(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`: the same for every legal action."""
        shares: np.ndarray = action_masks / action_masks.sum(1, keepdims=True, dtype=np.float64)
        return shares


@kernel
def random_actions(
    observations: np.ndarray, action_masks: np.ndarray, key: np.ndarray, weights: np.ndarray, actions: np.ndarray
) -> None:
    """Writes a legal action for each row, drawn from the key and the digest of the observation."""
    for i in range(actions.size):
        actions[i] = choose(action_masks[i], mix(digest(observations, i, key[0], weights)))


@kernel.wrapping
def digest(observations: np.ndarray, i: int, key: np.uint64, weights: np.ndarray) -> np.uint64:
    """A multilinear digest of row i, 64 bits."""
    total = key
    for at in range(weights.size):
        total += weights[at] * np.uint64(int64(observations[i, at]) + 128)
    return total


# --- Greedy ------------------------------------------------------------------------------------------------------

# What a hand is worth to the team that names the trump, in tenths of a point: a count of trumps and honours, with
# bauers (Schmier) and without (Four Point). `start` was set by duplicate matches of greedy against itself with other
# starts: one tenth more in Schmier, or three in Four Point, loses 0.2 points a deal.
_WORTH_FIELDS = ("start", "trump", "ace", "king", "queen", "right", "left", "low")
WORTH = np.dtype((np.record, [(name, "i8") for name in _WORTH_FIELDS]))
WORTH_WITH_BAUERS = np.array([(8, 2, 17, 5, 3, 6, 5, 8)], WORTH)
WORTH_WITHOUT_BAUERS = np.array([(12, 2, 9, 3, 1, 5, 0, 6)], WORTH)

SPECIAL = 12  # what right, left, jack or joker in a trick is worth, in card points


class GreedyAgent(Agent):
    """Bids the least it can if its trumps and honours bear it, takes tricks that hold points cheaply, else throws low.

    It smears a ten or an honour on a trick that its partner is winning when it plays last. It remembers nothing.
    """

    def __init__(self, rules: GameRules, seed: int = 0) -> None:
        super().__init__(rules, seed)
        self._worth = WORTH_WITH_BAUERS if rules.left_bower else WORTH_WITHOUT_BAUERS

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`."""
        actions = np.empty(len(observations), np.int64)
        greedy_actions(observations, action_masks, self.tables, self.layout, self._worth, actions)
        return actions


@kernel
def greedy_actions(
    observations: np.ndarray,
    action_masks: np.ndarray,
    tables: np.ndarray,
    layout: np.ndarray,
    worth: np.ndarray,
    actions: np.ndarray,
) -> None:
    """Writes greedy's action for each row."""
    t, o, w = tables[0], layout[0], worth[0]
    for i in range(actions.size):
        view, mask = observations[i], action_masks[i]
        if has_call(mask, PASS, BID_1 + 10):
            actions[i] = greedy_bid(view, mask, t, o, w)
        elif has_call(mask, TRUMP_CLUBS, TRUMP_CLUBS + NUM_SUITS):
            actions[i] = greedy_trump(view, mask, t, o, w)
        elif mask[DONE]:
            actions[i] = greedy_throw(mask, t)
        elif view[o.leader[0] : o.leader[1]].any():
            actions[i] = greedy_play(view, mask, t, o)
        else:
            actions[i] = strongest(mask, t, trump_of(view, o))  # what to keep


@kernel
def has_call(mask: np.ndarray, begin: int, end: int) -> bool:
    """Whether an action begin..end-1 is legal."""
    return bool(mask[begin:end].any())


@kernel
def trump_of(view: np.ndarray, o: Layout) -> int:
    """The trump suit, or NOBODY."""
    for suit in range(NUM_SUITS):
        if view[o.trump[0] + suit]:
            return suit
    return NOBODY


@kernel
def worth_of(view: np.ndarray, suit: int, t: Tables, o: Layout, w: Any) -> int:
    """What the hand is worth with a suit as trump, in tenths of a point."""
    total = w.start
    for place in range(t.deck_size):
        card = t.deck[place]
        if not view[o.hand[0] + place] or t.suit_of[suit, card] != suit:
            continue
        total += w.trump
        if card >= NUM_CARDS - 2:
            continue
        rank = card % 13
        if card // 13 != suit:
            total += w.left
        elif rank == t.low_rank:
            total += w.low
        elif rank == 12:
            total += w.ace
        elif rank == 11:
            total += w.king
        elif rank == 10:
            total += w.queen
        elif rank == 9:
            total += w.right
    return total


@kernel
def best_suit(view: np.ndarray, mask: np.ndarray, t: Tables, o: Layout, w: Any) -> tuple[int, int]:
    """The suit that the hand is worth most in, among those that may be named now; any suit during the auction."""
    naming = has_call(mask, TRUMP_CLUBS, TRUMP_CLUBS + NUM_SUITS)
    best = NOBODY
    best_worth = int64(0)
    for suit in range(NUM_SUITS):
        if naming and not mask[TRUMP_CLUBS + suit]:
            continue
        worth = worth_of(view, suit, t, o, w)
        if best == NOBODY or worth > best_worth:
            best, best_worth = suit, worth
    return best, best_worth


@kernel
def greedy_bid(view: np.ndarray, mask: np.ndarray, t: Tables, o: Layout, w: Any) -> int:
    """The lowest legal bid if the hand bears it, else a pass; a dealer who must bid bids the lowest."""
    _, worth = best_suit(view, mask, t, o, w)
    for action in range(BID_1, BID_1 + 10):
        if mask[action]:
            bid = action - BID_1 + 1
            if worth >= 10 * bid or not mask[PASS]:
                return action
            break
    return PASS


@kernel
def greedy_trump(view: np.ndarray, mask: np.ndarray, t: Tables, o: Layout, w: Any) -> int:
    """The suit the hand is worth most in."""
    suit, _ = best_suit(view, mask, t, o, w)
    return TRUMP_CLUBS + suit


@kernel
def greedy_throw(mask: np.ndarray, t: Tables) -> int:
    """Throws the weakest card that is no ace."""
    weakest = DONE
    for card in range(NUM_CARDS):
        if mask[card] and card % 13 != 12 and (weakest == DONE or card % 13 < weakest % 13):
            weakest = card
    return weakest


@kernel
def strongest(mask: np.ndarray, t: Tables, trump: int) -> int:
    """The strongest of the legal cards."""
    best = NOBODY
    for card in range(NUM_CARDS):
        if mask[card] and (best == NOBODY or t.strength[trump, card] > t.strength[trump, best]):
            best = card
    return best


@kernel
def value_of(card: int, t: Tables, trump: int) -> int:
    """What a card in a trick is worth, in card points."""
    return int64(t.card_points[card]) + (SPECIAL if t.kind_of[trump, card] != NOBODY else 0)


@kernel
def greedy_play(view: np.ndarray, mask: np.ndarray, t: Tables, o: Layout) -> int:
    """Leads the strongest card; takes a trick with points as cheaply as possible, else throws the least."""
    trump = trump_of(view, o)
    leader = int64(0)
    while not view[o.leader[0] + leader]:
        leader += 1
    on_table = (t.players - leader) % t.players
    if on_table == 0:
        return strongest(mask, t, trump)
    best, winner, stake = table_of(view, t, o, trump, leader)
    is_last = on_table == t.players - 1
    partner_wins = winner % t.teams == 0
    cheapest, least, fattest = NOBODY, NOBODY, NOBODY
    for card in range(NUM_CARDS):
        if not mask[card]:
            continue
        cost = 64 * value_of(card, t, trump) + t.strength[trump, card]
        if least == NOBODY or cost < 64 * value_of(least, t, trump) + t.strength[trump, least]:
            least = card
        if fattest == NOBODY or cost > 64 * value_of(fattest, t, trump) + t.strength[trump, fattest]:
            fattest = card
        if beats(card, best, t, trump) and (
            cheapest == NOBODY or t.strength[trump, card] < t.strength[trump, cheapest]
        ):
            cheapest = card
    if partner_wins:
        return fattest if is_last else least
    if cheapest != NOBODY and stake > 0:
        return cheapest
    return least


@kernel
def table_of(view: np.ndarray, t: Tables, o: Layout, trump: int, leader: int) -> tuple[int, int, int]:
    """The best card on the table, the relative seat that played it, and what the cards on the table are worth."""
    best, winner = NOBODY, NOBODY
    stake = int64(0)
    for k in range(leader, t.players):
        for place in range(t.deck_size):
            if view[o.table[0] + place] and view[o.played[0] + k * t.deck_size + place]:
                card = t.deck[place]
                stake += value_of(card, t, trump)
                if best == NOBODY or beats(card, best, t, trump):
                    best, winner = int64(card), k
    return best, winner, stake


@kernel
def beats(card: int, best: int, t: Tables, trump: int) -> bool:
    """Whether a card would take the trick from the card that is winning it: of its suit or a trump, and stronger."""
    suit = t.suit_of[trump, card]
    follows = suit == t.suit_of[trump, best] or suit == trump
    return follows and t.strength[trump, card] > t.strength[trump, best]
