"""Playing deals with given players, and counting what happens."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from smear_agents import Agent, decide, make_agents
from smear_env import GameRules, Games
from smear_env.rules import KINDS, NOBODY

CHUNK = 1024
"""Deals played side by side. The results do not depend on it."""


@dataclass(frozen=True)
class Simulation:
    """What happened in some deals, each dealt once and played to its score or thrown in.

    Attributes:
        delta: (n, teams) change of score; 0 for a deal thrown in.
        points: (n, teams) float, that less the mean of the other teams'.
        dealer: (n,) seat.
        scored: (n,) bool, the deals that were not thrown in.
        bid, made, bidding_team: (n,) the bid, whether it was made, and by which team; meaningless if thrown in.
        kinds: (n, 6) the team that got each kind of point, -1 nobody.
        decisions: decisions taken by all players.
        seconds: wall clock of the whole.
    """

    rules: GameRules
    delta: np.ndarray
    points: np.ndarray
    dealer: np.ndarray
    scored: np.ndarray
    bid: np.ndarray
    made: np.ndarray
    bidding_team: np.ndarray
    kinds: np.ndarray
    decisions: int
    seconds: float


def deal_seeds(seed: int, n: int) -> np.ndarray:
    """A seed for each of n deals, (n,) uint64; the first ones are the same for any n."""
    return np.random.SeedSequence(seed).generate_state(n, np.uint64)


def simulate(
    rules: GameRules, players: Sequence[str], n: int, seed: int, progress: Callable[[int], None] = lambda done: None
) -> Simulation:
    """Plays n deals, the dealer drawn for each.

    Args:
        rules: the game.
        players: names of agents, one for all, one a team or one a seat.
        n: deals.
        seed: of the deals and of the players' own chance.
        progress: called with the number of deals done.

    Raises:
        ValueError: players that do not fit, or that give actions that are not legal.
    """
    agents = make_agents(players, rules, seed)
    seeds = deal_seeds(seed, n)
    # One deal that does not count, so that compiling is not taken for playing.
    warm_up = Games(rules, 1, 0, "deal", autoreset=False)
    warm_up.reset()
    play_out(warm_up, agents)
    records, decisions = [], 0
    began = time.perf_counter()
    for begin in range(0, n, CHUNK):
        games = Games(rules, len(seeds[begin : begin + CHUNK]), seeds[begin : begin + CHUNK], "deal", autoreset=False)
        games.reset()
        decisions += play_out(games, agents)
        records.append(games.records)
        progress(min(begin + CHUNK, n))
    seconds = time.perf_counter() - began

    g = np.concatenate(records)
    teams = rules.teams
    delta = np.where((g["deals_scored"] > 0)[:, None], g["last_delta"][:, :teams], 0).astype(np.int64)
    bidding_team = g["last_bidder"] % teams
    return Simulation(
        rules=rules,
        delta=delta,
        dealer=g["dealer"].astype(np.int64),
        points=over_others(delta),
        scored=g["deals_scored"] > 0,
        bid=g["last_bid"],
        made=g["last_points"][np.arange(n), bidding_team] >= g["last_bid"],
        bidding_team=bidding_team,
        kinds=g["last_kinds"],
        decisions=decisions,
        seconds=seconds,
    )


def play_out(games: Games, agents: Sequence[Agent]) -> int:
    """Lets agents[seat] play every game to its end; returns the number of decisions."""
    decisions = 0
    actions = np.zeros(games.num_games, np.int64)
    while True:
        asked = ask_all(games, agents, actions)
        if not asked:
            return decisions
        decisions += asked
        games.step(actions)


def ask_all(games: Games, agents: Sequence[Agent], actions: np.ndarray) -> int:
    """Writes what agents[seat] does in every game that is not over, (N,) int64; returns the number of decisions."""
    decisions = 0
    for seat, agent in enumerate(agents):
        rows = np.flatnonzero(games.seats == seat)
        if rows.size:
            actions[rows] = decide(agent, games, rows)
            decisions += rows.size
    return decisions


def over_others(points: np.ndarray) -> np.ndarray:
    """What each has more than the mean of the others, (..., teams) float."""
    more: np.ndarray = points - (points.sum(-1, keepdims=True) - points) / (points.shape[-1] - 1)
    return more


def summary(sim: Simulation) -> dict[str, object]:
    """The counts of a simulation as plain data: what `smear sim --json` prints."""
    teams = []
    for team in range(sim.rules.teams):
        own = sim.points[:, team]
        bought = sim.scored & (sim.bidding_team == team)
        teams.append(
            {
                "points_per_deal": _rounded(own.mean()),
                "standard_error": _rounded(own.std(ddof=1) / np.sqrt(len(own))) if len(own) > 1 else None,
                "bids": int(bought.sum()),
                "made": int(sim.made[bought].sum()),
                "set": int((~sim.made[bought]).sum()),
                "mean_bid": _rounded(sim.bid[bought].mean()) if bought.any() else None,
                "points_by_kind": {
                    kind: int((sim.kinds[sim.scored, i] == team).sum())
                    for i, kind in enumerate(KINDS)
                    if np.any(sim.kinds[sim.scored, i] != NOBODY)
                },
            }
        )
    return {
        "deals": len(sim.scored),
        "thrown_in": int((~sim.scored).sum()),
        "teams": teams,
        "decisions": sim.decisions,
        "decisions_per_s": round(sim.decisions / sim.seconds),
    }


def _rounded(value: float) -> float:
    return round(float(value), 4)
