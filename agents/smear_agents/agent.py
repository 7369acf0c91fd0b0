"""What an agent is."""

from abc import ABC, abstractmethod

import numpy as np

from smear_env import GameRules
from smear_env.observe import make_layout
from smear_env.rules import make_tables


class Agent(ABC):
    """A player: a function from what seats see to actions, for many tables at once.

    An agent gets nothing but observations and masks, so it cannot see what is hidden. Its own chance comes from its
    seed and from what it sees, never from the order of calls: the same view gets the same answer, whatever else is in
    the batch.

    Args:
        rules: the rules of the game it will play.
        seed: a whole number.

    Attributes:
        tables, layout: the rules and the places of the observation's blocks, as the kernels of smear_env read them.
    """

    def __init__(self, rules: GameRules, seed: int = 0) -> None:
        self.rules = rules
        self.seed = seed
        self.tables = make_tables(rules)
        self.layout = make_layout(rules)

    @abstractmethod
    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """An action for each table.

        Args:
            observations: (N, D) int8.
            action_masks: (N, 70) int8, at least one 1 in each row.

        Returns:
            (N,) int64, legal actions.
        """

    def probabilities(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """How likely each action is at each table, (N, 70) float64; arguments as for a call.

        Here what it does, for certain. An agent that draws its actions says how, over all seeds.
        """
        certain = np.zeros(action_masks.shape)
        certain[np.arange(len(certain)), self(observations, action_masks)] = 1
        return certain

    def act(self, observation: np.ndarray, action_mask: np.ndarray) -> int:
        """The action for one table: observation (D,), mask (70,)."""
        return int(self(observation[None], action_mask[None])[0])


class GameAgent(Agent):
    """A player that needs the game itself, to deal hidden cards anew or to search.

    It gets what `smear_env.resample.hide` leaves of it, so it cannot see what is hidden either.

    Attributes:
        sees_all: it gets the game with nothing hidden. Only for players that cheat, as a measure of the others.
    """

    sees_all = False

    @abstractmethod
    def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """An action for each game.

        Args:
            games: (N,) records, each as its seat knows it.
            seats: (N,) the seat to move.

        Returns:
            (N,) int64, legal actions.
        """

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """Not to be called: observations are not enough.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"{type(self).__name__} needs the game, not observations: ask it with smear_agents.decide")
