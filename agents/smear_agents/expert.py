"""The scripted player `expert`: club that bids by the chance to win the game and plays the last tricks exactly."""

import functools
import json
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from smear_agents._jit import kernel
from smear_agents.club import write_worths
from smear_agents.equity import chance_after, shipped_equity
from smear_agents.search import ROWS, SearchAgent, best_of, searched_action
from smear_agents.worlds import Kit, club_choice, only_action
from smear_env import GameRules
from smear_env._jit import int64
from smear_env.actions import BID_1, MAX_BID, NUM_ACTIONS, PASS
from smear_env.rules import BID, NOBODY, PLAY, differences
from smear_env.scoring import defender_points
from smear_env.state import Game

LAST_TRICKS = 3
"""Tricks left from which it plays exactly, on deals of the hidden cards."""
WORLDS = 12
"""Such deals, as for `pimc`."""

CLEARLY = 0.03
"""Chance of winning the game by which a call has to be ahead of club's."""

ENOUGH = 50
"""Deals that a call has to have been tried in, with hands of that class, to be considered."""

CALLS = MAX_BID + 1  # a pass, and the bids
STANDINGS = 3  # nobody has bid, the own team holds the bid, another team does
BUCKETS = 24  # classes of hands, by what club takes them to be worth


class BidTable(NamedTuple):
    """What calls come to, as measured (`smear fit-bids`).

    rows (K, teams + 2): the change of score of each team from the own one to the left, the bidding team likewise, how
    often; begins (calls, standings, buckets, 2): the rows of a call, from and to; bucket: the width of a class.
    """

    rows: np.ndarray
    begins: np.ndarray
    bucket: float


@functools.lru_cache(maxsize=16)
def load_bid_table(rules: GameRules) -> BidTable:
    """The table shipped for the preset nearest to some rules.

    Raises:
        ValueError: none is shipped for such rules.
    """
    preset, _ = differences(rules)
    source = files("smear_agents").joinpath("data", f"bids-{preset}.json")
    if not source.is_file():
        raise ValueError(f"no table of bids is shipped for {preset}; measure one with smear fit-bids")
    data = json.loads(source.read_text(encoding="utf-8"))
    return make_bid_table(np.array(data["outcomes"], np.int64), data["bucket"])


def make_bid_table(outcomes: np.ndarray, bucket: float) -> BidTable:
    """The table for rows of (call, standing, bucket of the hand, changes of score, bidding team, how often)."""
    begins = np.zeros((CALLS, STANDINGS, BUCKETS, 2), np.int64)
    outcomes = outcomes[np.lexsort((outcomes[:, 2], outcomes[:, 1], outcomes[:, 0]))]
    kinds, firsts, counts = np.unique(outcomes[:, :3], axis=0, return_index=True, return_counts=True)
    begins[tuple(kinds.T)] = np.column_stack([firsts, firsts + counts])
    return BidTable(np.ascontiguousarray(outcomes[:, 3:]), begins, bucket)


class ExpertAgent(SearchAgent):
    """Club's play and throws; calls by the chance to win the game; the last tricks exactly.

    Args:
        rules: the rules of the game, of two or three teams.
        seed: of the deals of the hidden cards that it tries.
    """

    def __init__(self, rules: GameRules, seed: int = 0) -> None:
        super().__init__(rules, seed)
        self.equity = shipped_equity(rules)
        self._flat = self.equity.table.reshape(-1, rules.teams)
        self._bids = load_bid_table(rules)
        self._totals = np.zeros((ROWS, NUM_ACTIONS))

    def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """As in `GameAgent`."""
        actions, gains = np.empty(len(games), np.int64), np.zeros(NUM_ACTIONS)
        size = len(self.equity.table)
        expert_actions(
            self._kit, games, seats, self._states(games), self._totals, gains, self._bids, self._flat, size, actions
        )
        return actions

    def chances(self, games: np.ndarray, seat: int) -> dict[int, float]:
        """The chance to win the game after each legal call in games[0], hidden for the seat that is to bid."""
        gains = np.zeros(NUM_ACTIONS)
        call_chances(self._kit, games[0], seat, self._bids, self._flat, len(self.equity.table), gains)
        return {int(action): float(gains[action]) for action in np.flatnonzero(gains)}


@kernel
def call_chances(k: Kit, g: Game, seat: int, bids: BidTable, table: np.ndarray, size: int, chances: np.ndarray) -> None:
    """Writes the chance to win the game after each legal call; 0 where none is known."""
    t = k.tables[0]
    chances[:] = 0.0
    hands, worth = np.array([g.hand[seat]]), np.zeros(1)
    write_worths(hands, k.tables, k.bids, worth)
    bucket = min(max(int64(worth[0] / bids.bucket), 0), BUCKETS - 1)
    standing = 0
    if g.bidder != NOBODY:
        standing = 1 if t.team_of[g.bidder] == t.team_of[seat] else 2
    for call in range(CALLS):
        action = PASS if call == 0 else BID_1 + call - 1
        if (g.legal_calls >> (action - PASS)) & 1:
            chances[action] = chance_of_call(k, g, seat, bids, bids.begins[call, standing, bucket], table, size)


@kernel
def chance_of_call(k: Kit, g: Game, seat: int, bids: BidTable, rows: np.ndarray, table: np.ndarray, size: int) -> float:
    """The mean chance to win the game over the ways in which the deal has ended after such a call; 0 if too few."""
    t, after = k.tables[0], k.worlds[1]
    own = int64(t.team_of[seat])
    total, weight = 0.0, int64(0)
    for i in range(rows[0], rows[1]):
        bidder = bids.rows[i, t.teams]
        for other in range(t.teams):
            team = (own + other) % t.teams
            delta = bids.rows[i, other]
            if other != bidder:
                delta = defender_points(delta, g.scores[team], t)
            after.scores[team] = g.scores[team] + delta
        made_bid = bidder != NOBODY and bids.rows[i, bidder] > 0
        team_of_bidder = (own + bidder) % t.teams if bidder != NOBODY else int64(NOBODY)
        count = bids.rows[i, t.teams + 1]
        total += count * chance_after(after, t, table, size, t.team_of[g.dealer], team_of_bidder, made_bid, own)
        weight += count
    return total / weight if weight >= ENOUGH else 0.0


@kernel
def expert_call(
    k: Kit, g: Game, seat: int, usual: int, bids: BidTable, table: np.ndarray, size: int, chances: np.ndarray
) -> int:
    """The call with the best chance to win the game, if it is clearly ahead of club's; else club's."""
    call_chances(k, g, seat, bids, table, size, chances)
    if chances[usual] == 0.0:
        return usual
    best = best_of(g, chances, usual)
    return best if chances[best] > chances[usual] + CLEARLY else usual


@kernel
def expert_actions(
    k: Kit,
    games: np.ndarray,
    seats: np.ndarray,
    states: np.ndarray,
    totals: np.ndarray,
    gains: np.ndarray,
    bids: BidTable,
    table: np.ndarray,
    size: int,
    actions: np.ndarray,
) -> None:
    """Writes expert's action for each game, hidden for its seat."""
    for i in range(actions.size):
        g, seat = games[i], seats[i]
        actions[i] = only_action(g)
        if actions[i] != NOBODY:
            continue
        actions[i] = club_choice(k, g)
        if g.phase == BID:
            actions[i] = expert_call(k, g, seat, actions[i], bids, table, size, gains)
        elif g.phase == PLAY and k.tables[0].hand_cards - g.tricks <= LAST_TRICKS:
            actions[i] = searched_action(k, games[i : i + 1], seat, states[i], actions[i], WORLDS, LAST_TRICKS, totals)
