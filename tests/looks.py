"""What the tests of learning share: positions of random play, and what a network sees of them."""

from typing import Any, NamedTuple

import numpy as np

from smear_agents import GreedyAgent
from smear_agents.learner_view import ViewOptions, make_view_layout
from smear_agents.network import look, make_desk, policy_shape
from smear_env import GameRules, Games

ALL = ViewOptions(scores=True)
PLAIN = ViewOptions(canonical_suits=False, helpers=False)


class Position(NamedTuple):
    """One position of a game, as it stands and as the seat to move sees it."""

    record: np.ndarray  # (1,)
    seat: int
    observation: np.ndarray  # (D,)
    mask: np.ndarray  # (70,)


def positions(rules: GameRules, number: int, seed: int = 1, every: int = 1, wit: float = 0.0) -> list[Position]:
    """Positions of whole games, from scores at random, with more than one legal action.

    They are played at random but for a share `wit` of actions that `greedy` takes.
    """
    games = Games(rules, 64, seed=seed, skip_forced=True)
    games.reset()
    rng, greedy = np.random.default_rng(seed), GreedyAgent(rules)
    games.records["scores"][:, : rules.teams] = rng.integers(-rules.target, rules.target, (64, rules.teams))
    games.refresh()
    found: list[Position] = []
    step = 0
    while len(found) < number:
        if step % every == 0:
            for i in range(games.num_games):
                record, view = games.records[i : i + 1].copy(), games.observations[i].copy()
                found.append(Position(record, int(games.seats[i]), view, games.action_masks[i].copy()))
        clever = rng.random(games.num_games) < wit
        games.step(np.where(clever, greedy(games.observations, games.action_masks), games.sample()))
        step += 1
    return found[:number]


class Eye:
    """Looks at positions as a network does."""

    def __init__(self, rules: GameRules, options: ViewOptions = ALL) -> None:
        self.rules = rules
        self.desk: Any = make_desk(rules, options, policy_shape(rules, options, (16,)).sizes)
        self.layout = make_view_layout(rules, options)[0]

    def __call__(self, observation: np.ndarray, mask: np.ndarray) -> tuple[list[int], list[int], list[int]]:
        """Features and pairs, sorted, and the slots of the suits."""
        num_features, num_pairs = look(observation, mask, self.desk)
        return (
            sorted(self.desk.features[:num_features].tolist()),
            sorted(self.desk.pairs[:num_pairs].tolist()),
            self.desk.slots.tolist(),
        )

    def block(self, features: list[int], name: str) -> list[int]:
        """The features of a block, counted from its begin."""
        begin, end = (int(place) for place in self.layout[name])
        return [feature - begin for feature in features if begin <= feature < end]
