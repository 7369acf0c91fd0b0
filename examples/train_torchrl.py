"""TorchRL: PPO by self-play on the PettingZoo environment, one policy for all seats."""

from pathlib import Path

import numpy as np
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from recipe import Recipe, main
from smear_env.actions import NUM_ACTIONS
from smear_env.aec import SmearAECEnv
from smear_env.observe import observation_size
from smear_env.rules import GameRules

BATCH, EPOCHS, MINIBATCH = 2048, 4, 512
"""Decisions for an update, how often they are learned from, and how many at once."""


class Floats(nn.Module):
    """Observations are small integers."""

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """The same numbers as floats."""
        return observations.float()


def network(rules: GameRules, outputs: int) -> nn.Sequential:
    """From observations (..., D) to (..., outputs)."""
    return nn.Sequential(
        Floats(),
        nn.Linear(observation_size(rules), 128),
        nn.Tanh(),
        nn.Linear(128, 128),
        nn.Tanh(),
        nn.Linear(128, outputs),
    )


class PPOPlayer(Recipe):
    """Every seat has a value at every moment, so advantages run along the turns of the table, each seat for itself."""

    library = "torchrl"

    @classmethod
    def train(cls, rules: GameRules, decisions: int, seed: int, folder: Path) -> nn.Module:
        """As in `Recipe`."""
        torch.manual_seed(seed)
        env = SmearAECEnv(rules, episode="deal")
        table = PettingZooWrapper(env, use_mask=True, group_map={"seats": env.possible_agents})
        table.set_seed(seed)
        seen, logits = ("seats", "observation", "observation"), ("seats", "logits")
        policy, values = network(rules, NUM_ACTIONS), network(rules, 1)
        actor = ProbabilisticActor(
            TensorDictModule(policy, in_keys=[seen], out_keys=[logits]),
            in_keys={"logits": logits, "mask": ("seats", "action_mask")},
            out_keys=[("seats", "action")],
            distribution_class=MaskedCategorical,
            return_log_prob=True,
            log_prob_key=("seats", "log_prob"),
        )
        critic = ValueOperator(values, in_keys=[seen], out_keys=[("seats", "state_value")])
        named = {name: ("seats", name) for name in ("reward", "done", "terminated", "advantage", "value_target")}
        advantages = GAE(gamma=1.0, lmbda=0.95, value_network=critic, average_gae=False)
        advantages.set_keys(value=("seats", "state_value"), **named)
        loss = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, normalize_advantage=True)
        loss.set_keys(
            value=("seats", "state_value"), action=("seats", "action"), sample_log_prob=("seats", "log_prob"), **named
        )
        optimizer = torch.optim.Adam(loss.parameters(), lr=3e-4)
        for batch in Collector(table, actor, frames_per_batch=BATCH, total_frames=decisions):
            with torch.no_grad():
                advantages(batch)
            seats = batch.exclude("next")["seats"]
            decided = seats[seats["mask"]]  # only the seat to move has decided anything
            for _ in range(EPOCHS):
                for part in torch.randperm(len(decided)).split(MINIBATCH):
                    losses = loss(TensorDict({"seats": decided[part]}, [len(part)]))
                    optimizer.zero_grad()
                    (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                    nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                    optimizer.step()
        return policy

    @classmethod
    def save(cls, model: nn.Module, folder: Path) -> None:
        """As in `Recipe`."""
        torch.save(model.state_dict(), folder / "policy.pt")

    @classmethod
    def load(cls, folder: Path, rules: GameRules) -> nn.Module:
        """As in `Recipe`; nothing is unpickled but tensors."""
        policy = network(rules, NUM_ACTIONS)
        policy.load_state_dict(torch.load(folder / "policy.pt", weights_only=True))
        return policy

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`."""
        with torch.no_grad():
            return self.best(self.model(torch.from_numpy(observations)).numpy(), action_masks)


if __name__ == "__main__":
    main({"ppo": PPOPlayer}, decisions=20_480)
