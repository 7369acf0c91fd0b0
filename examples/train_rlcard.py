"""RLCard: deep Monte Carlo (DMC) and neural fictitious self-play (NFSP) on the PettingZoo environment as it is."""

import multiprocessing
from pathlib import Path

import numpy as np
import torch
from rlcard.agents.dmc_agent import DMCTrainer
from rlcard.agents.dmc_agent.pettingzoo_model import DMCAgentPettingZoo
from rlcard.agents.pettingzoo_agents import NFSPAgentPettingZoo
from rlcard.utils import reorganize_pettingzoo, run_game_pettingzoo, set_seed

from recipe import Recipe, main
from smear_env.actions import NUM_ACTIONS
from smear_env.aec import SmearAECEnv
from smear_env.rules import GameRules


class DMCPlayer(Recipe):
    """Values of legal actions, learned from the results of deals; of the networks for each seat it plays seat 0's."""

    library = "rlcard"

    @classmethod
    def train(cls, rules: GameRules, decisions: int, seed: int, folder: Path) -> DMCAgentPettingZoo:
        """As in `Recipe`; one actor: several would get copies of one environment and play the same deals."""
        set_seed(seed)
        env = SmearAECEnv(rules, episode="deal")
        env.reset(seed)
        trainer = DMCTrainer(
            env,
            is_pettingzoo_env=True,
            xpid="dmc",
            savedir=str(folder),
            save_interval=10**6,  # minutes: only at the end
            num_actors=1,
            num_threads=1,
            num_buffers=16,
            batch_size=8,
            unroll_length=50,
            total_frames=decisions,
            exp_epsilon=0.05,
        )
        trainer.start()
        for actor in multiprocessing.active_children():  # RLCard leaves it waiting for ever
            actor.terminate()
            actor.join()
        return cls.load(folder, rules)  # the trainer keeps its networks to itself

    @classmethod
    def save(cls, model: DMCAgentPettingZoo, folder: Path) -> None:
        """As in `Recipe`: the trainer has done it."""

    @classmethod
    def load(cls, folder: Path, rules: GameRules) -> DMCAgentPettingZoo:
        """As in `Recipe`; nothing is unpickled but tensors."""
        space = SmearAECEnv(rules).observation_space("player_0")["observation"]
        agent = DMCAgentPettingZoo(space.shape, (NUM_ACTIONS,), exp_epsilon=0, device="cpu")
        saved = torch.load(folder / "dmc" / "model.tar", map_location="cpu", weights_only=True)
        agent.net.load_state_dict(
            {name.removeprefix("net."): value for name, value in saved["model_state_dict"][0].items()}
        )
        agent.eval()
        return agent

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`."""
        tables, actions = np.nonzero(action_masks)
        features = np.eye(NUM_ACTIONS, dtype=np.float32)[actions]
        values = np.zeros(action_masks.shape, np.float32)
        with torch.no_grad():
            found = self.model.net(torch.from_numpy(observations[tables]).float(), torch.from_numpy(features))
        values[tables, actions] = found.numpy()
        return self.best(values, action_masks)


class NFSPPlayer(Recipe):
    """The average policy of fictitious self-play, one network for all seats."""

    library = "rlcard"

    @classmethod
    def train(cls, rules: GameRules, decisions: int, seed: int, folder: Path) -> NFSPAgentPettingZoo:
        """As in `Recipe`."""
        set_seed(seed)
        env = SmearAECEnv(rules, episode="deal")
        env.reset(seed)
        agent = cls.make(rules)
        seats = dict.fromkeys(env.possible_agents, agent)
        while agent.total_t < decisions:
            agent.sample_episode_policy()
            trajectories = reorganize_pettingzoo(run_game_pettingzoo(env, seats, is_training=True))
            for transition in (each for trajectory in trajectories.values() for each in trajectory):
                agent.feed(transition)
        return agent

    @staticmethod
    def make(rules: GameRules) -> NFSPAgentPettingZoo:
        """An agent that has learned nothing yet."""
        return NFSPAgentPettingZoo(
            num_actions=NUM_ACTIONS,
            state_shape=list(SmearAECEnv(rules).observation_space("player_0")["observation"].shape),
            hidden_layers_sizes=[128, 128],
            q_mlp_layers=[128, 128],
            anticipatory_param=0.2,
            rl_learning_rate=3e-4,
            sl_learning_rate=1e-3,
            q_discount_factor=1.0,
            q_epsilon_start=0.1,
            q_epsilon_decay_steps=100_000,
            train_every=32,
            q_train_every=32,
            q_batch_size=128,
            q_replay_memory_init_size=128,
            device=torch.device("cpu"),
        )

    @classmethod
    def save(cls, model: NFSPAgentPettingZoo, folder: Path) -> None:
        """As in `Recipe`. RLCard's own checkpoint does not bring back the best response, so this keeps what plays."""
        torch.save(model.policy_network.state_dict(), folder / "average_policy.pt")

    @classmethod
    def load(cls, folder: Path, rules: GameRules) -> NFSPAgentPettingZoo:
        """As in `Recipe`; nothing is unpickled but tensors."""
        agent = cls.make(rules)
        agent.policy_network.load_state_dict(torch.load(folder / "average_policy.pt", weights_only=True))
        return agent

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`: the likeliest action, where RLCard would draw one."""
        with torch.no_grad():
            return self.best(self.model.policy_network(torch.from_numpy(observations).float()).numpy(), action_masks)


if __name__ == "__main__":
    main({"dmc": DMCPlayer, "nfsp": NFSPPlayer}, decisions=20_000)
