"""Four Point Northeastern Wisconsin Smear for PettingZoo: four seats, two teams, 32 cards.

Rules: RULES.md, F-1 to F-23.

>>> from smear_env import four_point_v0
>>> env = four_point_v0.env()
>>> env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.last()
>>> env.step(54)  # pass
"""

from typing import Any

from smear_env.aec import OrderEnforcing, SmearAECEnv

__all__ = ["env", "raw_env"]


class raw_env(SmearAECEnv):  # noqa: N801  # PettingZoo's name for it
    """The environment itself: the fast path. See `SmearAECEnv` for the arguments."""

    metadata = SmearAECEnv.metadata | {"name": "four_point_v0"}
    default_rules = "four_point"
    presets = ("four_point",)


def env(**kwargs: Any) -> OrderEnforcing:
    """The environment with a check on the order of calls; arguments as for `raw_env`."""
    return OrderEnforcing(raw_env(**kwargs))
