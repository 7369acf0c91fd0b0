"""How fast the environments and the exact solver are, on one core, all in one process."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from smear_agents import decide, make_agents
from smear_agents.double_dummy import POINTS, best_action, new_memory
from smear_agents.two_sides import NODES
from smear_env import GameRules, Games, Sampler, four_point_v0, make_rules, schmier_v0
from smear_env.games import play_random
from smear_env.observe import observation_size
from smear_env.rules import NOBODY, PLAY, make_tables

GAMES = {"schmier": schmier_v0, "four_point": four_point_v0}
BATCHES = (1, 64, 1024, 8192, 65536)
TABLE_BITS = 18  # of the solver: 4 MB


def bench(seconds: float, runs: int) -> Iterator[dict[str, Any]]:
    """A row for each thing measured: name, game, batch, decisions_per_s (median), spread, obs_bytes.

    `rules`: stepping with random legal actions, nothing observed. `games`: `Games.step` with actions from outside,
    observation and mask included. `raw_env` and `env`: a PettingZoo loop of `last`, `Sampler` and `step`.

    Args:
        seconds: length of one run.
        runs: of each.
    """
    for game, module in GAMES.items():
        size = observation_size(make_rules(game))
        for batch in BATCHES:
            yield _row("rules", game, batch, 0, seconds, runs, _rules_loop(game, batch))
        for batch in BATCHES:
            yield _row("games", game, batch, size, seconds, runs, _games_loop(game, batch))
        yield _row("raw_env", game, 1, size, seconds, runs, _aec_loop(module.raw_env()))
        yield _row("env", game, 1, size, seconds, runs, _aec_loop(module.env()))


def _row(
    name: str, game: str, batch: int, obs_bytes: int, seconds: float, runs: int, loop: Callable[[int], float]
) -> dict[str, Any]:
    """Runs a loop, which takes a number of rounds and returns the seconds that count, and makes its row."""
    loop(1)  # compiles
    rounds = 1
    while loop(rounds) < seconds / 4:
        rounds *= 2
    rounds *= 4
    speeds = [rounds * batch / loop(rounds) for _ in range(runs)]
    return {
        "name": name,
        "game": game,
        "batch": batch,
        "decisions_per_s": round(statistics.median(speeds)),
        "lowest_per_s": round(min(speeds)),
        "highest_per_s": round(max(speeds)),
        "obs_bytes": obs_bytes,
    }


def _rules_loop(game: str, batch: int) -> Callable[[int], float]:
    games = Games(game, batch, seed=1)
    games.reset()
    states = np.arange(1, dtype=np.uint64)

    def loop(rounds: int) -> float:
        began = time.perf_counter()
        play_random(games.records, games.tables, states, rounds)
        return time.perf_counter() - began

    return loop


def _games_loop(game: str, batch: int) -> Callable[[int], float]:
    games = Games(game, batch, seed=1)
    games.reset()

    def loop(rounds: int) -> float:
        total = 0.0
        for _ in range(rounds):
            actions = games.sample()  # comes from outside: not counted
            began = time.perf_counter()
            games.step(actions)
            total += time.perf_counter() - began
        return total

    return loop


def _aec_loop(env: Any) -> Callable[[int], float]:
    sample = Sampler(1)
    env.reset(seed=1)

    def loop(rounds: int) -> float:
        done = 0
        began = time.perf_counter()
        while done < rounds:
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                    continue
                env.step(sample(observation["action_mask"]))
                done += 1
                if done == rounds:
                    break
            env.reset()
        return time.perf_counter() - began

    return loop


def bench_solver(num_positions: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """A row for each game and number of tricks left: how long it takes to find a best action and its value.

    A row has name, game, tricks_left, positions, nodes (mean) and the milliseconds ms_mean, ms_median, ms_p95,
    ms_max. Positions come before the lead to a trick, out of deals that `greedy` plays from the auction on. The value
    is the points of the actor's side, with the others all together against the bidder's team.

    Args:
        num_positions: of each kind.
        seed: of the deals.
    """
    for game in GAMES:
        rules = make_rules(game)
        tables, memory = make_tables(rules), new_memory(TABLE_BITS)
        leads = _leads(rules, num_positions, seed)
        best_action(leads[0], 0, tables, POINTS, memory)  # compiles
        for tricks, games in enumerate(leads):
            times, nodes = np.zeros(len(games)), np.zeros(len(games))
            for i in range(len(games)):
                memory[NODES] = 0
                began = time.perf_counter()
                best_action(games, i, tables, POINTS, memory)
                times[i] = 1000 * (time.perf_counter() - began)
                nodes[i] = memory[NODES]
            yield {
                "name": "solver",
                "game": game,
                "tricks_left": rules.hand_cards - tricks,
                "positions": len(games),
                "nodes": round(nodes.mean()),
                "ms_mean": round(float(times.mean()), 3),
                "ms_median": round(float(np.median(times)), 3),
                "ms_p95": round(float(np.percentile(times, 95)), 3),
                "ms_max": round(float(times.max()), 3),
            }


def _leads(rules: GameRules, num_deals: int, seed: int) -> list[np.ndarray]:
    """The positions before each lead of some deals that `greedy` plays, by the number of the trick."""
    games = Games(rules, num_deals, seed, autoreset=False)
    games.reset()
    agents = make_agents(["greedy"], rules, seed)
    found: list[list[np.ndarray]] = [[] for _ in range(rules.hand_cards)]
    while any(len(leads) < num_deals for leads in found):
        for i in np.flatnonzero((games.records["phase"] == PLAY) & (games.records["trick_size"] == 0)):
            leads = found[games.records["tricks"][i]]
            if len(leads) < num_deals:
                leads.append(games.records[i : i + 1].copy())
        actions = np.zeros(num_deals, np.int64)
        for seat, agent in enumerate(agents):
            rows = np.flatnonzero(games.seats == seat)
            if rows.size:
                actions[rows] = decide(agent, games, rows)
        games.step(actions)
        if (games.seats == NOBODY).any():
            games.reset()
    return [np.concatenate(leads) for leads in found]


def format_rows(rows: list[dict[str, Any]]) -> str:
    """The rows of `bench`, `bench_solver` or `bench_training` as a table of text."""
    head: tuple[str, ...] = ("what", "game", "batch", "decisions/s", "lowest", "highest", "bytes")
    keys: tuple[str, ...] = ("name", "game", "batch", "decisions_per_s", "lowest_per_s", "highest_per_s", "obs_bytes")
    if "nodes" in rows[0]:
        head = ("what", "game", "tricks left", "positions", "nodes", "ms mean", "median", "p95", "highest")
        keys = tuple(rows[0])
    elif "share" in rows[0]:
        head = ("what", "game", "share", "us/decision", "decisions/s")
        keys = tuple(rows[0])
    table = [head, *(tuple(row[key] if isinstance(row[key], str) else f"{row[key]:,}" for key in keys) for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    lines = (
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))
        )
        for line in table
    )
    return "\n".join(lines)
