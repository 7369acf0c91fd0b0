"""N games for Gymnasium in one process: `SmearVectorEnv` does what N `SingleSeatEnv` would do, much faster."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from smear_env.actions import NUM_ACTIONS
from smear_env.games import Episode, Reward
from smear_env.gym_env import LearnerGames, Policy
from smear_env.rules import GameRules

# Gymnasium 1.0 has no such mode to declare yet.
_SAME_STEP = getattr(getattr(gymnasium.vector, "AutoresetMode", None), "SAME_STEP", "SameStep")


class SmearVectorEnv(gymnasium.vector.VectorEnv[Any, Any, np.ndarray]):
    """N games, each with a learner at one seat, stepped together; opponents and partner are batched policies.

    Autoreset mode SAME_STEP: when an episode ends, the observation returned is already the next one's; the last one
    stands in `infos["final_obs"][i]` and its info in `infos["final_info"]`, as in Gymnasium's own vector environments.
    Sub-environment i with seed s does what a `SingleSeatEnv` with seed s + i does.

    >>> envs = SmearVectorEnv("four_point", num_envs=8)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations["observation"].shape, observations["action_mask"].shape
    ((8, 319), (8, 70))

    Args:
        num_envs: N; all others as for `SingleSeatEnv`.
        render_mode: None. A batch is not drawn: play one of its games in a `SingleSeatEnv` to look at it.

    Raises:
        ValueError, TypeError: an argument that is not right; the message says what is allowed.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": _SAME_STEP}

    def __init__(
        self,
        rules: GameRules | str | Path | None = "schmier",
        num_envs: int = 1,
        seat: int | None = None,
        opponents: Policy | None = None,
        partner: Policy | str | None = None,
        episode: Episode = "deal",
        reward: Reward = "points",
        flat: bool = False,
        *,
        illegal: str = "terminate",
        max_deals: int = 100,
        render_mode: None = None,
        **options: Any,
    ) -> None:
        if render_mode is not None:
            raise ValueError(f"render_mode={render_mode!r} is not allowed; allowed: None; SingleSeatEnv draws one game")
        self._learner = LearnerGames(
            rules, num_envs, seat, opponents, partner, episode, reward, flat, illegal, max_deals, **options
        )
        self.rules, self.flat = self._learner.rules, flat
        self.num_envs = self._learner.games.num_games
        self.single_observation_space = self._learner.space
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._all = np.ones(self.num_envs, np.bool_)

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins N episodes.

        Args:
            seed: game i is seeded with seed + i; or a list of N seeds; None: the generators run on.
            options: not used.
        """
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            seed = [int(seed) + i for i in range(self.num_envs)]
        self._learner.reset(self._all, seed)
        return self._learner.packed(*self._learner.observe()), self._infos(self._all)

    def step(self, actions: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Does the learners' actions, (N,) whole numbers; plays on to their next turns or the ends of the episodes.

        Raises:
            ValueError: not N whole numbers; or an illegal action (`IllegalActionError`), with illegal="raise".
        """
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be {self.num_envs} whole numbers; given: shape {actions.shape}, type {actions.dtype}"
            )
        learner = self._learner
        learner.step(actions)
        rewards = learner.rewards.copy()
        terminated, truncated = learner.games.terminated.copy(), learner.games.truncated.copy()
        over = learner.over
        final_infos: dict[str, Any] = {}
        if over.any():
            final_infos = self._final_infos(over)
            learner.reset(over)
        infos = self._infos(self._all) | final_infos
        return learner.packed(*learner.observe()), rewards, terminated, truncated, infos

    def action_masks(self) -> np.ndarray:
        """The legal actions, (N, 70) bool."""
        masks: np.ndarray = self._learner.games.action_masks > 0
        return masks

    def _infos(self, chosen: np.ndarray) -> dict[str, Any]:
        """The infos of the chosen games, as Gymnasium lays them out: a key and a mask of who has it."""
        learner = self._learner
        masks = np.where(chosen[:, None], learner.games.action_masks, 0).astype(np.int8)
        seats = np.where(chosen, learner.seats, 0)
        return {"action_mask": masks, "_action_mask": chosen.copy(), "seat": seats, "_seat": chosen.copy()}

    def _final_infos(self, over: np.ndarray) -> dict[str, Any]:
        observations, action_masks = self._learner.observe()
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(over):
            final_obs[i] = self._learner.packed(observations[i], action_masks[i])
        final_info = self._infos(over)
        errors = self._learner.errors
        if errors:
            texts = np.full(self.num_envs, None, dtype=object)
            texts[list(errors)] = [str(error) for error in errors.values()]
            final_info |= {"illegal_action": texts, "_illegal_action": texts != None}  # noqa: E711  # elementwise
        return {
            "final_obs": final_obs,
            "_final_obs": over.copy(),
            "final_info": final_info,
            "_final_info": over.copy(),
        }
