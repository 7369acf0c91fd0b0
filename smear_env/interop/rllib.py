"""RLlib: the games as a `PettingZooEnv` whose observations RLlib's module for masked actions understands.

>>> env = MaskedAECEnv("four_point", episode="deal")
>>> env.reset(seed=1)
>>> sorted(env.observe(env.agent_selection))
['action_mask', 'observations']
"""

import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from smear_env.actions import NUM_ACTIONS
from smear_env.aec import Observation, SmearAECEnv
from smear_env.rules import GameRules


class MaskedAECEnv(SmearAECEnv):
    """The PettingZoo environment with the keys, the types and the seeds that suit RLlib.

    Observations are `{"observations": (D,) float32, "action_mask": (70,) float32}`.

    A seed is mixed with the number of the worker and with how often it has come before, so that no deals repeat: with
    a seed and `batch_mode="complete_episodes"` RLlib resets with the same seed again and again, and without this would
    learn a single deal by heart; and neighbouring workers share seeds. It warns, once, that a seed came again.

    Args:
        rules: as for `SmearAECEnv`.
        worker: RLlib's number for the process, or any other that tells processes apart.
        options: as for `SmearAECEnv`.
    """

    def __init__(self, rules: GameRules | str | Path | None = None, worker: int = 0, **options: Any) -> None:
        super().__init__(rules, **options)
        self._worker = worker
        self._times: Counter[int] = Counter()
        for agent, both in self.observation_spaces.items():
            seen = both["observation"]
            self.observation_spaces[agent] = spaces.Dict(
                {
                    "observations": spaces.Box(seen.low, seen.high, dtype=np.float32),  # type: ignore[attr-defined]  # a Box
                    "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.float32),
                }
            )

    def observe(self, agent: str) -> Observation:
        """What an agent sees now, as RLlib wants it."""
        seen = super().observe(agent)
        return {
            "observations": seen["observation"].astype(np.float32),
            "action_mask": seen["action_mask"].astype(np.float32),
        }

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a new game; a seed that has come before stands for another one each time."""
        if seed is not None:
            times = self._times[seed]
            if times == 1:
                warnings.warn(
                    "a seed came again: each time it stands for another one, or the same deals would be played for "
                    "ever",
                    UserWarning,
                    stacklevel=1,  # here, so that it is said once and not for every environment
                )
            self._times[seed] += 1
            seed = int(np.random.SeedSequence([seed, self._worker, times]).generate_state(1, np.uint64)[0])
        super().reset(seed, options)


def rllib_env(config: dict[str, Any]) -> Any:
    """What RLlib's `register_env` wants: an environment for each of its processes.

    >>> from ray.tune.registry import register_env  # doctest: +SKIP
    >>> register_env("smear", rllib_env)  # doctest: +SKIP
    >>> PPOConfig().environment("smear", env_config={"rules": "schmier", "episode": "deal"})  # doctest: +SKIP

    Args:
        config: the arguments of `SmearAECEnv`.

    Returns:
        RLlib's `PettingZooEnv` around a `MaskedAECEnv`.
    """
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv

    worker = getattr(config, "worker_index", 0)
    if getattr(config, "recreated_worker", False):
        worker = time.time_ns()  # or it would begin again with the deals that were played before it was lost
    return PettingZooEnv(MaskedAECEnv(worker=worker, **config))
