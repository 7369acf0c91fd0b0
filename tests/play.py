"""What the tests of the environments share: the games to try, ways to play them, and how often."""

import copy
import hashlib
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from smear_env import GameRules, four_point_v0, make_rules, schmier_v0
from smear_env._jit import JIT
from smear_env.aec import SmearAECEnv
from smear_env.rules import PRESETS

MODULES = {"schmier": schmier_v0, "four_point": four_point_v0}

RULES = PRESETS | {
    "four_point widow=0": make_rules("four_point", widow=0),
    "solo": make_rules("schmier", players=4, teams=4),
    "five": make_rules("schmier", players=5, teams=5, low_rank=4),
}
"""All that has a shape of its own: seats, teams, packs, phases."""


def scale(count: int, unjitted: int | None = None) -> int:
    """A number of trials: fewer when un-jitted, where each takes a hundred times as long."""
    if JIT:
        return count
    return max(1, count // 50) if unjitted is None else unjitted


def make_env(game: str, wrapped: bool = False, **kwargs: Any) -> Any:
    """An environment of one of MODULES, wrapped or raw, or a raw one with the rules of that name."""
    if game in MODULES:
        return (MODULES[game].env if wrapped else MODULES[game].raw_env)(**kwargs)
    return SmearAECEnv(RULES[game], **kwargs)


def is_over(env: Any) -> bool:
    return any(env.terminations.values()) or any(env.truncations.values())


def random_actions(env: Any, seed: int, count: int = 10**9) -> Iterator[int]:
    """Random legal actions, for as long as somebody is to move; the caller does them."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        if not env.agents or is_over(env):
            return
        legal = env.infos[env.agent_selection]["action_mask"].nonzero()[0]
        yield int(legal[rng.integers(legal.size)])


def play(env: Any, seed: int, count: int = 10**9) -> Any:
    """Does random legal actions, at most so many, and returns the environment."""
    for action in random_actions(env, seed, count):
        env.step(action)
    return env


def seen(env: Any) -> tuple[Any, ...]:
    """All that an environment shows to the outside at one moment, to compare."""
    return (
        env.agent_selection,
        list(env.agents),
        dict(env.rewards),
        env.last(observe=False)[1],
        dict(env.terminations),
        dict(env.truncations),
        {agent: (list(info), info["action_mask"].tobytes()) for agent, info in env.infos.items()},
        [observed(env, agent) for agent in env.possible_agents],
        env.state().tobytes(),
    )


def observed(env: Any, agent: str) -> tuple[bytes, bytes]:
    """An agent's observation and mask, to compare."""
    observation = env.observe(agent)
    return observation["observation"].tobytes(), observation["action_mask"].tobytes()


def points(rules: GameRules, before: list[int], after: list[int]) -> list[float]:
    """What each seat gets for a deal: its team's change of score less the mean of the others' (design 6)."""
    change = [new - old for old, new in zip(before, after, strict=True)]
    others = [(sum(change) - own) / (rules.teams - 1) for own in change]
    return [change[seat % rules.teams] - others[seat % rules.teams] for seat in range(rules.players)]


def is_near(given: Any, expected: Any) -> bool:
    """Whether rewards are equal but for the rounding of 32 bits."""
    return len(given) == len(expected) and all(abs(a - b) < 1e-5 for a, b in zip(given, expected, strict=True))


def other_env_with_its_state(env: Any) -> Any:
    """Another environment, made with the same arguments and long in use, that `set_state` has brought to this point."""
    other = make_env(env.metadata["name"].removesuffix("_v0"), wrapped=env is not env.unwrapped, max_deals=3)
    other.reset(seed=77)
    play(other, seed=8, count=scale(40, 4))
    other.set_state(env.get_state())
    return other


COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "clone": lambda env: env.clone(),
    "set_state": other_env_with_its_state,
}


def trajectory_digest() -> str:
    """A digest of all that is seen in some play of both games: the same in every process."""
    digest = hashlib.sha256()
    for game in MODULES:
        env = make_env(game)
        env.reset(seed=2024)
        for action in random_actions(env, seed=5, count=150):
            digest.update(repr((env.agent_selection, action, env.scores, env.deck)).encode())
            digest.update(b"".join(observed(env, env.agent_selection)))
            env.step(action)
    return digest.hexdigest()
