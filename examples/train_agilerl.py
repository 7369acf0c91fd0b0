"""AgileRL: PPO learns a team of a game on many tables at once, against the scripted player `greedy`."""

from pathlib import Path

import numpy as np
import torch
from agilerl.algorithms.ppo import PPO
from agilerl.rollouts.on_policy import collect_rollouts

from recipe import Recipe, main
from smear_agents import make_agent
from smear_env import SmearVectorEnv
from smear_env.rules import GameRules

TABLES, BATCH = 32, 2048
"""Tables side by side, and decisions for an update."""


class PPOPlayer(Recipe):
    """PPO at both seats of a team, on SmearVectorEnv: its infos have the masks that AgileRL asks for.

    Its IPPO is not for games with masks: it plays with them but forgets them when it learns.
    """

    library = "agilerl"

    @classmethod
    def train(cls, rules: GameRules, decisions: int, seed: int, folder: Path) -> PPO:
        """As in `Recipe`."""
        torch.manual_seed(seed)
        opponents = make_agent("greedy", rules)
        envs = SmearVectorEnv(rules, TABLES, None, opponents, "learner", flat=True, illegal="raise")
        model = PPO(
            envs.single_observation_space,
            envs.single_action_space,
            num_envs=TABLES,
            learn_step=BATCH,
            batch_size=512,
            lr=3e-4,
            gamma=1.0,
            ent_coef=0.01,
        )
        seen, infos = envs.reset(seed=seed)
        done, scores = np.zeros(TABLES), np.zeros(TABLES)
        for _ in range(-(-decisions // BATCH)):
            _, seen, done, scores, infos = collect_rollouts(
                model, envs, last_obs=seen, last_done=done, last_scores=scores, last_info=infos
            )
            model.learn()
        return model

    @classmethod
    def save(cls, model: PPO, folder: Path) -> None:
        """As in `Recipe`."""
        model.save_checkpoint(str(folder / "model.pt"))

    @classmethod
    def load(cls, folder: Path, rules: GameRules) -> PPO:
        """As in `Recipe`; AgileRL unpickles the file."""
        return PPO.load(str(folder / "model.pt"), device="cpu")

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`: the likeliest action, where AgileRL would draw one."""
        actor = self.model.actor
        with torch.no_grad():
            actor(torch.from_numpy(observations).float())
        return self.best(actor.head_net.dist.logits.numpy(), action_masks)


if __name__ == "__main__":
    main({"ppo": PPOPlayer}, decisions=20_480)
