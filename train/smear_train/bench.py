"""How fast the environments are, on one core: medians of several runs, all in one process."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from smear_env import Games, Sampler, four_point_v0, make_rules, schmier_v0
from smear_env.games import play_random
from smear_env.observe import observation_size

GAMES = {"schmier": schmier_v0, "four_point": four_point_v0}
BATCHES = (1, 64, 1024, 8192, 65536)


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


def format_rows(rows: list[dict[str, Any]]) -> str:
    """The rows as a table of text."""
    head = ("what", "game", "batch", "decisions/s", "lowest", "highest", "bytes")
    keys = ("name", "game", "batch", "decisions_per_s", "lowest_per_s", "highest_per_s", "obs_bytes")
    table = [head, *(tuple(f"{row[key]:,}" if isinstance(row[key], int) else row[key] for key in keys) for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    lines = (
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))
        )
        for line in table
    )
    return "\n".join(lines)
