"""Measuring what the players of smear_agents are built on: how deals end, and what hands are worth."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smear_agents import Agent, ClubAgent, make_agents
from smear_agents.expert import BUCKETS
from smear_env import GameRules, Games
from smear_env.actions import BID_1, PASS
from smear_env.rules import BID, NOBODY
from smear_train.sim import ask_all, simulate

BIDS = 3
"""The stream of the seed from which `measure_bids` draws."""
BID_CHUNK = 2048


def measure_outcomes(
    rules: GameRules, agent: str, deals: int, seed: int, progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """How deals end with one agent at every seat: what `smear fit-equity` writes; see `smear_agents.equity.Outcomes`.

    Deals are played at scores of 0, so what a player does near the end of a game is not in it.
    """
    sim = simulate(rules, [agent], deals, seed, progress)
    order = (sim.dealer[:, None] + np.arange(rules.teams)) % rules.teams  # the dealer's team first
    delta = np.take_along_axis(sim.delta, order, axis=1)
    bidder = np.where(sim.scored, (sim.bidding_team - sim.dealer) % rules.teams, NOBODY)
    rows, counts = np.unique(np.column_stack([delta, bidder]), axis=0, return_counts=True)
    return {
        "game": rules.name,
        "players": agent,
        "deals": int(sim.scored.sum()),
        "thrown_in": int((~sim.scored).sum()),
        "seed": seed,
        "outcomes": np.column_stack([rows, counts]).tolist(),
    }


BUCKET = 0.5
"""Width of the classes of hands, in what club takes them to be worth."""


def measure_bids(
    rules: GameRules, agent: str, deals: int, seed: int, progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """What bids come to: in each deal one seat, drawn, does any of its calls, and the agent does all the rest.

    What `smear fit-bids` writes; see `smear_agents.expert`. Deals are played at scores of 0.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(BIDS,)))
    counts: Counter[tuple[int, ...]] = Counter()
    for begin in range(0, deals, BID_CHUNK):
        n = min(BID_CHUNK, deals - begin)
        games = Games(rules, n, rng.integers(2**63, size=n), "deal", autoreset=False)
        games.reset()
        worth = ClubAgent(rules).hand_worths(games.records["hand"][:, : rules.players])
        bucket = np.clip((worth / BUCKET).astype(np.int64), 0, BUCKETS - 1)
        chosen = rng.integers(rules.players, size=n)
        call, standing = _play_with_one_call(games, make_agents([agent], rules, seed), chosen, rng)
        g = games.records
        teams = rules.teams
        order = (chosen[:, None] + np.arange(teams)) % teams  # the chosen seat's team first
        delta = np.take_along_axis(g["last_delta"][:, :teams].astype(np.int64), order, axis=1)
        scored = g["deals_scored"] > 0
        delta[~scored] = 0
        bidder = np.where(scored, (g["last_bidder"] - chosen) % teams, NOBODY)
        rows = np.column_stack([call, standing, bucket[np.arange(n), chosen], delta, bidder])[call != NOBODY]
        for row in rows.tolist():
            counts[tuple(row)] += 1
        progress(begin + n)
    return {
        "game": rules.name,
        "players": agent,
        "deals": sum(counts.values()),
        "bucket": BUCKET,
        "outcomes": [[*row, count] for row, count in sorted(counts.items())],
    }


def _play_with_one_call(
    games: Games, agents: Sequence[Agent], chosen: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Plays out deals in which the chosen seats make any call, drawn; returns the calls and who held the bid before.

    A call is 0 for a pass, else the bid; -1 where the seat had no turn. The holder is 0 nobody, 1 its own team, 2
    another one.
    """
    n, teams = games.num_games, games.rules.teams
    call, standing = np.full(n, NOBODY), np.zeros(n, np.int64)
    actions = np.zeros(n, np.int64)
    while True:
        playing = np.flatnonzero(games.seats != NOBODY)
        if not playing.size:
            return call, standing
        ask_all(games, agents, actions)
        g = games.records
        theirs = playing[(g["phase"][playing] == BID) & (games.seats[playing] == chosen[playing])]
        for row in theirs:
            actions[row] = rng.choice(np.flatnonzero(games.action_masks[row]))
        call[theirs] = np.where(actions[theirs] == PASS, 0, actions[theirs] - BID_1 + 1)
        bidder = g["bidder"][theirs].astype(np.int64)
        holds = np.where(bidder % teams == chosen[theirs] % teams, 1, 2)
        standing[theirs] = np.where(bidder == NOBODY, 0, holds)
        games.step(actions)
