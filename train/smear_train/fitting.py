"""Measuring what the players of smear_agents are built on: how deals end, and what hands are worth."""

from collections.abc import Callable
from typing import Any

import numpy as np

from smear_env import GameRules
from smear_env.rules import NOBODY
from smear_train.sim import simulate


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
