"""Who gets which point, whether the bid was made, and who has won the game.

Kernels over `g`, a row of the record, and `t`, the row of the tables. Clause numbers are those of RULES.md.
"""

import numpy as np

from smear_env._jit import int64, kernel
from smear_env.cards import holds
from smear_env.rules import GAME, HIGH, LOW, NOBODY, OVER, Tables
from smear_env.state import Game


@kernel
def award_played_card(g: Game, t: Tables, seat: int, card: int) -> None:
    """High and low go to the team of whoever plays the card (S-24, S-25; O-5, O-6)."""
    strength = t.strength[g.trump, card]
    if holds(t.high_cards[g.trump], card) and (g.high_card == NOBODY or strength > t.strength[g.trump, g.high_card]):
        g.high_card = card
        g.kinds[HIGH] = t.team_of[seat]
    if holds(t.low_cards[g.trump], card) and (g.low_card == NOBODY or strength < t.strength[g.trump, g.low_card]):
        g.low_card = card
        g.kinds[LOW] = t.team_of[seat]


@kernel
def award_trick(g: Game, t: Tables, winner: int) -> None:
    """The card points on the table, and right, left and joker among them, go to the winner's team (S-26 to S-28)."""
    team = t.team_of[winner]
    for seat in range(t.players):
        card = g.trick[seat]
        g.card_points[team] += t.card_points[card]
        kind = t.kind_of[g.trump, card]
        if kind != NOBODY:
            g.kinds[kind] = team


@kernel
def card_points_of(cards: int, t: Tables) -> int:
    """The card points of a set of cards."""
    points = 0
    for card in t.deck[: t.deck_size]:
        if holds(cards, card):
            points += t.card_points[card]
    return points


@kernel
def score_deal(g: Game, t: Tables) -> None:
    """Writes the result of a deal whose last trick is taken: points, change of score, winners (S-28 to S-35)."""
    bidding_team = t.team_of[g.bidder]
    g.last_bidder, g.last_bid, g.last_trump = g.bidder, g.bid, g.trump
    for team in range(t.teams):
        g.last_card_points[team] = g.card_points[team]
    if t.count_discards:
        g.last_card_points[bidding_team] += card_points_of(g.discards[g.bidder], t)
    g.kinds[GAME] = team_with_most(g.last_card_points, t.teams)

    for team in range(t.teams):
        g.last_points[team] = 0
    for kind in range(g.kinds.size):
        g.last_kinds[kind] = g.kinds[kind] if t.kind_points[kind] else NOBODY
        if g.last_kinds[kind] != NOBODY:
            g.last_points[g.kinds[kind]] += t.kind_points[kind]

    made_bid = g.last_points[bidding_team] >= g.bid
    for team in range(t.teams):
        if team == bidding_team:
            delta = g.last_points[team] if made_bid else -g.bid
        else:
            delta = defender_points(g.last_points[team], g.scores[team], t)
        g.last_delta[team] = delta
        g.scores[team] += delta
    g.deals_scored += 1
    g.winners = winning_teams(g, t, bidding_team, made_bid)


@kernel
def defender_points(points: int, score: int, t: Tables) -> int:
    """Of the points that a team makes in another's bid, those that it may score (O-8)."""
    return min(int64(points), max(int64(t.defender_cap - score), int64(0)))


@kernel
def team_with_most(points: np.ndarray, teams: int) -> int:
    """The one team that has the most, or NOBODY when several share it (S-28)."""
    best = 0
    for team in range(1, teams):
        if points[team] > points[best]:
            best = team
    for team in range(teams):
        if team != best and points[team] == points[best]:
            return NOBODY
    return best


@kernel
def winning_teams(g: Game, t: Tables, bidding_team: int, made_bid: bool) -> int:
    """The teams that win with the scores as they are, as bits; 0 when the game goes on (S-33 to S-35)."""
    bidder_is_there = g.scores[bidding_team] >= t.target
    if t.bidder_only:  # O-7
        return 1 << bidding_team if bidder_is_there and made_bid else 0
    if t.bidder_first and bidder_is_there:  # O-9
        return 1 << bidding_team
    top = g.scores[0]
    for team in range(1, t.teams):
        top = max(top, g.scores[team])
    if top < t.target:
        return 0
    leaders = 0
    for team in range(t.teams):
        if g.scores[team] == top:
            leaders |= 1 << team
    if leaders & (leaders - 1) == 0:
        return leaders
    if g.scores[bidding_team] == top:  # S-34
        return 1 << bidding_team
    return leaders if t.shared else 0  # S-35, O-10


@kernel
def forfeit(g: Game, t: Tables, seat: int) -> None:
    """Ends the game as if the seat's team had been set at the highest bid, nothing for the others."""
    for team in range(t.teams):
        g.last_delta[team] = -t.max_bid if team == t.team_of[seat] else 0
        g.scores[team] += g.last_delta[team]
        g.last_points[team] = 0
        g.last_card_points[team] = 0
    for kind in range(g.last_kinds.size):
        g.last_kinds[kind] = NOBODY
    g.last_bidder, g.last_bid, g.last_trump = NOBODY, 0, NOBODY  # the deal was not played to a result
    g.phase = OVER
    g.actor = NOBODY
    g.legal_cards = 0
    g.legal_calls = 0
    g.terminated = 1
