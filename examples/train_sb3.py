"""Stable-Baselines3: sb3-contrib's MaskablePPO learns a team of a game, against the scripted player `greedy`."""

from pathlib import Path

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv

from recipe import Recipe, main
from smear_agents import make_agent
from smear_env import SingleSeatEnv
from smear_env.rules import GameRules

TABLES, STEPS = 32, 64
"""Tables side by side, and decisions of each between two updates."""


class MaskablePPOPlayer(Recipe):
    """MaskablePPO at both seats of a team; SingleSeatEnv has the method `action_masks` that it asks for."""

    library = "sb3-contrib"

    @classmethod
    def train(cls, rules: GameRules, decisions: int, seed: int, folder: Path) -> MaskablePPO:
        """As in `Recipe`."""
        opponents = make_agent("greedy", rules)
        envs = DummyVecEnv(
            [lambda: SingleSeatEnv(rules, None, opponents, "learner", flat=True, illegal="raise")] * TABLES
        )
        model = MaskablePPO(
            "MlpPolicy", envs, n_steps=STEPS, batch_size=512, n_epochs=4, gamma=1.0, ent_coef=0.01, seed=seed
        )
        return model.learn(decisions)

    @classmethod
    def save(cls, model: MaskablePPO, folder: Path) -> None:
        """As in `Recipe`."""
        model.save(folder / "model.zip")

    @classmethod
    def load(cls, folder: Path, rules: GameRules) -> MaskablePPO:
        """As in `Recipe`; SB3 unpickles part of the file."""
        return MaskablePPO.load(folder / "model.zip", device="cpu")

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`."""
        actions, _ = self.model.predict(observations, action_masks=action_masks > 0, deterministic=True)
        return actions


if __name__ == "__main__":
    main({"maskable_ppo": MaskablePPOPlayer}, decisions=40_000)
