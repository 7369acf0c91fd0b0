"""Schmier for PettingZoo: six seats, three teams, a 52-card pack and the joker. Rules: RULES.md, clauses S-1 to S-37.

>>> from smear_env import schmier_v0
>>> env = schmier_v0.env()
>>> env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.last()
>>> env.step(54)  # pass
"""

from typing import Any

from smear_env.aec import OrderEnforcing, SmearAECEnv

__all__ = ["env", "raw_env"]


class raw_env(SmearAECEnv):  # noqa: N801  # PettingZoo's name for it
    """The environment itself: the fast path. See `SmearAECEnv` for the arguments."""

    metadata = SmearAECEnv.metadata | {"name": "schmier_v0"}
    default_rules = "schmier"
    presets = ("schmier", "schmier_2x3")


def env(**kwargs: Any) -> OrderEnforcing:
    """The environment with a check on the order of calls; arguments as for `raw_env`."""
    return OrderEnforcing(raw_env(**kwargs))
