"""RLlib: PPO by self-play, one policy for all seats or one for each team; on this machine, or on a Ray cluster.

With RAY_ADDRESS (Ray's own variable, HOST:PORT) it samples on the CPUs of that cluster, but for one that learns.
"""

import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from recipe import Recipe, main
from smear_env.interop.rllib import rllib_env
from smear_env.rules import GameRules

BATCH = 4096
"""Decisions of all seats for an update."""


class SharedPlayer(Recipe):
    """One policy plays all seats, and learns from all of them."""

    library = "ray"
    separate: ClassVar[bool] = False

    @classmethod
    def train(cls, rules: GameRules, decisions: int, seed: int, folder: Path) -> PPO:
        """As in `Recipe`."""
        if os.environ.get("RAY_ADDRESS"):
            ray.init(log_to_driver=False, ignore_reinit_error=True)
        else:
            ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
        register_env("smear", rllib_env)
        names = [f"team_{team}" for team in range(rules.teams)] if cls.separate else ["team_0"]

        def policy_of(agent: str, episode: Any, **others: Any) -> str:
            return names[int(agent.removeprefix("player_")) % rules.teams % len(names)]

        module = RLModuleSpec(
            module_class=ActionMaskingTorchRLModule, model_config=DefaultModelConfig(fcnet_hiddens=[128, 128])
        )
        config = (
            PPOConfig()
            .environment("smear", env_config={"rules": rules, "episode": "deal"}, disable_env_checking=True)
            .multi_agent(policies=set(names), policy_mapping_fn=policy_of)
            .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=dict.fromkeys(names, module)))
            .env_runners(
                num_env_runners=int(ray.cluster_resources()["CPU"]) - 1,  # 0: this process itself
                num_envs_per_env_runner=16,
                batch_mode="complete_episodes",
            )
            .training(train_batch_size=BATCH, minibatch_size=512, num_epochs=4, gamma=1.0, lr=3e-4, entropy_coeff=0.01)
            .debugging(seed=seed)
        )
        model = config.build_algo()
        done, updates = 0, 0
        while done < decisions:
            done = int(model.train()["env_runners"]["num_env_steps_sampled_lifetime"])
            updates += 1
            if updates % 10 == 0:  # so that a long run can be lost without much harm
                cls.save(model, folder)
        return model

    @classmethod
    def save(cls, model: PPO, folder: Path) -> None:
        """As in `Recipe`. After `register_env` as above `PPO.from_checkpoint(folder / "algorithm")` trains on."""
        model.save_to_path(str(folder / "algorithm"))

    @classmethod
    def load(cls, folder: Path, rules: GameRules) -> ActionMaskingTorchRLModule:
        """As in `Recipe`; RLlib unpickles part of the folder."""
        return ActionMaskingTorchRLModule.from_checkpoint(
            folder / "algorithm" / "learner_group" / "learner" / "rl_module" / "team_0"
        )

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`."""
        module = self.model.get_module("team_0") if isinstance(self.model, PPO) else self.model
        batch = {
            "observations": torch.from_numpy(observations).float(),
            "action_mask": torch.from_numpy(action_masks).float(),
        }
        with torch.no_grad():
            return self.best(module.forward_inference({"obs": batch})["action_dist_inputs"].numpy(), action_masks)


class SeparatePlayer(SharedPlayer):
    """Each team has a policy of its own; this is the one of team 0."""

    separate = True


if __name__ == "__main__":
    main({"shared": SharedPlayer, "separate": SeparatePlayer}, decisions=20_000)
