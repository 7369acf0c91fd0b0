"""Tianshou: DQN learns a team of a game, against the scripted player `greedy`."""

from pathlib import Path

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from recipe import Recipe, main
from smear_agents import make_agent
from smear_env import SingleSeatEnv
from smear_env.actions import NUM_ACTIONS
from smear_env.aec import observation_space
from smear_env.rules import GameRules

TABLES = 16


def network(rules: GameRules) -> Net:
    """The values of all actions."""
    size = observation_space(rules)["observation"].shape
    return Net(state_shape=size, action_shape=NUM_ACTIONS, hidden_sizes=[128, 128])


class DQNPlayer(Recipe):
    """DQN at both seats of a team; it honours masks that it finds under the keys `obs` and `mask`."""

    library = "tianshou"

    @classmethod
    def train(cls, rules: GameRules, decisions: int, seed: int, folder: Path) -> Net:
        """As in `Recipe`."""
        torch.manual_seed(seed)
        opponents = make_agent("greedy", rules)
        both = observation_space(rules)
        space = spaces.Dict({"obs": both["observation"], "mask": spaces.MultiBinary(NUM_ACTIONS)})

        def table() -> gymnasium.Env:
            env = SingleSeatEnv(rules, None, opponents, "learner", illegal="raise")
            return TransformObservation(
                env, lambda seen: {"obs": seen["observation"], "mask": seen["action_mask"] > 0}, space
            )

        tables = DummyVectorEnv([table] * TABLES)
        tables.seed(seed)
        policy = DiscreteQLearningPolicy(
            model=network(rules), action_space=spaces.Discrete(NUM_ACTIONS), observation_space=space, eps_training=0.1
        )
        algorithm = DQN(
            policy=policy,
            optim=AdamOptimizerFactory(lr=3e-4),
            gamma=1.0,
            n_step_return_horizon=32,  # to the end of the deal
            target_update_freq=100,
        )
        collector = Collector(algorithm, tables, VectorReplayBuffer(40_000, TABLES), exploration_noise=True)
        collector.reset()
        algorithm.run_training(
            OffPolicyTrainerParams(
                training_collector=collector,
                max_epochs=1,
                epoch_num_steps=decisions,
                collection_step_num_env_steps=512,
                batch_size=256,
                update_step_num_gradient_steps_per_sample=1 / 32,
                show_progress=False,
                verbose=False,
            )
        )
        return policy.model

    @classmethod
    def save(cls, model: Net, folder: Path) -> None:
        """As in `Recipe`."""
        torch.save(model.state_dict(), folder / "network.pt")

    @classmethod
    def load(cls, folder: Path, rules: GameRules) -> Net:
        """As in `Recipe`; nothing is unpickled but tensors."""
        model = network(rules)
        model.load_state_dict(torch.load(folder / "network.pt", weights_only=True))
        return model

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`."""
        with torch.no_grad():
            return self.best(self.model(observations)[0].numpy(), action_masks)


if __name__ == "__main__":
    main({"dqn": DQNPlayer}, decisions=20_480)
