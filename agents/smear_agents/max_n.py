"""Exact play of several teams, each for itself, when all cards are known: kernels under `smear_agents.double_dummy`.

The max-n search of Luckhardt and Irani (1986): each team takes the action that is best for itself, knowing that all
others will do the same. Which of several equally good ones it takes matters to the others, so ties are broken by a
rule: more points for itself; then fewer points for the team with the next number, then for the one after it, and so
on around. This orders all outcomes for every team, so the outcome of a position does not depend on the order in which
actions are tried. Memory, places and tricks are those of `smear_agents.two_sides`.
"""

from typing import NamedTuple

import numpy as np

from smear_agents._jit import kernel
from smear_agents.two_sides import (
    CARD,
    FRAME,
    GENERATION,
    HAND,
    MADE,
    MARGIN,
    MAY_TRUMP,
    MOVES,
    NODES,
    POINTS,
    PRIZES,
    ROOT,
    SEATS,
    SHIFT,
    SIDE,
    STACK,
    TABLE,
    VALUE,
    Trick,
    distinct,
    forget,
    holder_of,
    lay,
    new_trick,
    place_hands,
    place_trick,
    places_of,
    playable,
    push_trick,
    pushed_trick,
    trumps_to_try,
)
from smear_env._jit import Buffer, buffer_of, int64, set_word, word_at
from smear_env.cards import NUM_SUITS, bit, holds, lowest, without
from smear_env.rules import JOKER, LOW, NOBODY, Tables
from smear_env.scoring import card_points_of
from smear_env.state import Game

TEAMS = 13  # words of memory that only this search uses
BID = 14
OBJECTIVE = 15
BEST = 14  # word of a frame: the outcome that is best so far, or -1

ENTRY = 4  # words of a table entry: cards and generation and seat, points made, card points, outcome


class Standing(NamedTuple):
    """What the teams have so far, counted from the bidding team on.

    cards: in all hands; made: points other than game, 4 bits a team; taken: card points, 8 bits a team; left: card
    points in the hands. An *outcome* is like `made`, game included.
    """

    cards: int
    made: int
    taken: int
    left: int


# --- What teams want ---------------------------------------------------------------------------------------------


@kernel
def points_in(outcome: int, team: int) -> int:
    """A team's points in an outcome."""
    return (outcome >> (4 * team)) & 15


@kernel
def change_of_score(m: Buffer, outcome: int, team: int) -> int:
    """How a team's score changes, before any cap (S-29 to S-31)."""
    points = points_in(outcome, team)
    return -word_at(m, BID) if team == 0 and points < word_at(m, BID) else points


@kernel
def utility(m: Buffer, outcome: int, team: int) -> int:
    """The objective of a team, as in `two_sides.write_payoffs`, with the sign changed of MADE for the others."""
    objective, teams = word_at(m, OBJECTIVE), word_at(m, TEAMS)
    own = points_in(outcome, team)
    if objective == POINTS:
        return own
    if objective == MADE:
        made = int64(points_in(outcome, 0) >= word_at(m, BID))
        return made if team == 0 else -made
    others, change = int64(0), int64(0)
    for other in range(teams):
        if other != team:
            others += points_in(outcome, other)
            change += change_of_score(m, outcome, other)
    if objective == MARGIN:
        return own - others
    return (teams - 1) * change_of_score(m, outcome, team) - change


@kernel
def rank(m: Buffer, outcome: int, team: int) -> int:
    """How much a team likes an outcome: never the same for two of them."""
    word = (utility(m, outcome, team) + 128) << 4 | points_in(outcome, team)
    other = int64(team)
    for _ in range(word_at(m, TEAMS) - 1):
        other = other + 1 if other + 1 < word_at(m, TEAMS) else int64(0)
        word = word << 4 | (15 - points_in(outcome, other))
    return word


@kernel
def outcome_of(m: Buffer, s: Standing) -> int:
    """The outcome of a position between tricks in which nothing is open any more, else -1 (S-28)."""
    if s.cards & word_at(m, PRIZES):
        return int64(-1)
    first, most, second = int64(0), int64(-1), int64(-1)
    for team in range(word_at(m, TEAMS)):
        points = (s.taken >> (8 * team)) & 255
        if points > most:
            first, most, second = int64(team), points, most
        else:
            second = max(second, points)
    if most > second + s.left:
        return s.made + (int64(1) << (4 * first))
    return s.made if s.left == 0 else int64(-1)


# --- Search ------------------------------------------------------------------------------------------------------


@kernel
def search(m: Buffer, s: Standing, k: Trick) -> int:
    """The outcome of a position when every team plays for itself."""
    depth = int64(0)
    found = begin_node(m, depth, s, k)
    while True:
        if found < 0:
            s, k = play_next(m, depth)
            depth += 1
            found = begin_node(m, depth, s, k)
        elif depth == 0:
            return found
        else:
            depth -= 1
            found = end_move(m, depth, found)


@kernel
def begin_node(m: Buffer, depth: int, s: Standing, k: Trick) -> int:
    """The outcome of a position if it is known; else -1, with the moves to try on the stack."""
    if k.size == 0:
        found = outcome_of(m, s)
        if found < 0:
            found = recall(m, s, k.seat)
        if found >= 0:
            return found
    set_word(m, NODES, word_at(m, NODES) + 1)
    hand = word_at(m, HAND + k.seat) & s.cards
    push(m, depth, s, k)
    frame = STACK + FRAME * depth
    set_word(m, frame + MOVES, distinct(m, playable(m, hand, k), s.cards | bit(k.best)))
    set_word(m, frame + BEST, -1)  # no outcome yet
    return int64(-1)


@kernel
def push(m: Buffer, depth: int, s: Standing, k: Trick) -> None:
    """Puts a position on the stack."""
    at = STACK + FRAME * depth
    set_word(m, at, s.cards)
    set_word(m, at + 1, s.made)
    set_word(m, at + 2, s.taken)
    set_word(m, at + 3, s.left)
    push_trick(m, depth, k)


@kernel
def pushed_standing(m: Buffer, depth: int) -> Standing:
    """The position at some depth of the stack."""
    at = STACK + FRAME * depth
    return Standing(word_at(m, at), word_at(m, at + 1), word_at(m, at + 2), word_at(m, at + 3))


@kernel
def play_next(m: Buffer, depth: int) -> tuple[Standing, Trick]:
    """Plays the next of the moves left to try; returns the position after it."""
    frame = STACK + FRAME * depth
    moves = word_at(m, frame + MOVES)
    card = lowest(moves)
    set_word(m, frame + MOVES, without(moves, card))
    return play(m, pushed_standing(m, depth), pushed_trick(m, depth), card)


@kernel
def play(m: Buffer, s: Standing, k: Trick, card: int) -> tuple[Standing, Trick]:
    """The position after a card."""
    after = lay(m, k, card)
    cards, left = without(s.cards, card), s.left - word_at(m, VALUE + card)
    if after.size < word_at(m, SEATS):
        return Standing(cards, s.made, s.taken, left), after
    team = word_at(m, SIDE + after.winner)
    made, taken = s.made + (after.prizes << (4 * team)), s.taken + (after.stake << (8 * team))
    return Standing(cards, made, taken, left), new_trick(after.winner)


@kernel
def end_move(m: Buffer, depth: int, found: int) -> int:
    """The outcome of the position at some depth when the last move has been tried; -1 before."""
    frame = STACK + FRAME * depth
    k = pushed_trick(m, depth)
    best = word_at(m, frame + BEST)
    team = word_at(m, SIDE + k.seat)
    if best < 0 or rank(m, found, team) > rank(m, best, team):
        best = found
        set_word(m, frame + BEST, best)
    if word_at(m, frame + MOVES):
        return int64(-1)
    if k.size == 0:
        remember(m, pushed_standing(m, depth), k.seat, best)
    return best


# --- Table -------------------------------------------------------------------------------------------------------


@kernel.wrapping
def entry_of(m: Buffer, s: Standing, seat: int) -> int:
    """Where in memory the entry of a position between tricks stands."""
    mixed = np.uint64(s.cards ^ seat << 29) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(s.taken) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= np.uint64(s.made) * np.uint64(0x94D049BB133111EB)
    return TABLE + ENTRY * int64(mixed >> np.uint64(word_at(m, SHIFT) + 1))


@kernel
def recall(m: Buffer, s: Standing, seat: int) -> int:
    """The outcome of a position in the table, or -1."""
    entry = entry_of(m, s, seat)
    if word_at(m, entry) != s.cards | seat << 29 or word_at(m, entry + 2) != s.taken:
        return int64(-1)
    if word_at(m, entry + 1) != s.made | word_at(m, GENERATION) << 24:
        return int64(-1)
    return word_at(m, entry + 3)


@kernel
def remember(m: Buffer, s: Standing, seat: int, outcome: int) -> None:
    """Writes the outcome of a position to the table, in place of what stood there."""
    entry = entry_of(m, s, seat)
    set_word(m, entry, s.cards | seat << 29)
    set_word(m, entry + 1, s.made | word_at(m, GENERATION) << 24)
    set_word(m, entry + 2, s.taken)
    set_word(m, entry + 3, outcome)


# --- The position to solve ---------------------------------------------------------------------------------------


@kernel
def prepare(m: Buffer, g: Game, t: Tables, trump: int) -> None:
    """Writes a position of the play to memory, with a trump suit."""
    p = place_hands(m, g, t, trump)
    bidding_team = t.team_of[g.bidder]
    made, taken = int64(0), int64(0)
    for kind in range(JOKER + 1):
        team = holder_of(g, t, trump, kind) if kind <= LOW else g.kinds[kind]
        if team != NOBODY and t.kind_points[kind]:
            made += int64(1) << (4 * ((team - bidding_team + t.teams) % t.teams))
    for team in range(t.teams):
        points = int64(g.card_points[(bidding_team + team) % t.teams])
        if team == 0 and t.count_discards:
            points += card_points_of(g.discards[g.bidder], t)
        taken += points << (8 * team)
    set_word(m, SEATS, t.players)
    set_word(m, MAY_TRUMP, t.follow_or_trump)
    set_word(m, TEAMS, t.teams)
    set_word(m, BID, g.bid)
    push(m, ROOT, Standing(p.cards, made, taken, p.left), place_trick(m, g, t, trump))


@kernel
def evaluate(
    games: np.ndarray, i: int, tables: np.ndarray, objective: int, memory: np.ndarray, outcomes: np.ndarray
) -> None:
    """Writes what each legal action of game i comes to when every team then plays for itself.

    Args:
        games: (N,) records with nothing hidden; game i in the phase of play.
        i: which one.
        tables: of the rules.
        objective: of every team: POINTS, MARGIN, MADE or SCORE.
        memory: from `new_memory`; anything that it held is forgotten.
        outcomes: (54, 2 + 6) int64, by card: rank for the actor's team (the more the better), its utility, and the
            points of each team. Rows of other cards stay as they are.
    """
    g, t, m = games[i], tables[0], buffer_of(memory)
    set_word(m, OBJECTIVE, objective)
    for trump in range(NUM_SUITS):
        if not holds(trumps_to_try(g), trump):
            continue
        moves = g.legal_cards
        if g.trump == NOBODY:
            moves &= t.suit_cards[NOBODY, trump]
        prepare(m, g, t, trump)
        forget(m)
        s, k = pushed_standing(m, ROOT), pushed_trick(m, ROOT)
        places = places_of(moves, trump, t)
        while places:
            place = lowest(places)
            places &= places - 1
            s_after, k_after = play(m, s, k, place)
            outcome = search(m, s_after, k_after)
            write_outcome(m, g, t, outcome, outcomes, word_at(m, CARD + place))


@kernel
def write_outcome(m: Buffer, g: Game, t: Tables, outcome: int, outcomes: np.ndarray, card: int) -> None:
    """Writes the row of a card."""
    bidding_team = t.team_of[g.bidder]
    own = (t.team_of[g.actor] - bidding_team + t.teams) % t.teams
    outcomes[card, 0] = rank(m, outcome, own)
    outcomes[card, 1] = utility(m, outcome, own)
    for team in range(t.teams):
        outcomes[card, 2 + (bidding_team + team) % t.teams] = points_in(outcome, team)
