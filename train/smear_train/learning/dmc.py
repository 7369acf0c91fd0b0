"""Deep Monte Carlo (Zha and others, DouZero, 2021): the outputs for actions are the results expected of them.

The policy takes the action valued highest, but for a share at random; each decision is then a sample of the result
that follows its action. There is no critic and no bootstrapping.
"""

import numpy as np
import torch

from smear_train.learning.config import DmcConfig, scheduled
from smear_train.learning.learner import Learner, Means
from smear_train.learning.ppo import explained_variance
from smear_train.learning.rollout import Decisions


def learn(
    learner: Learner, decisions: Decisions, config: DmcConfig, progress: float, rng: np.random.Generator
) -> dict[str, float]:
    """One update: the outputs of the actions taken move towards what came of them.

    Args:
        learner: whose policy took the decisions.
        decisions: with payoffs.
        config: how.
        progress: how much of the run is over, 0 to 1.
        rng: of the order of minibatches.

    Returns:
        What is logged.
    """
    learning_rate = scheduled(config.learning_rate, config.final_learning_rate, progress)
    payoffs = decisions.payoffs[decisions.games, decisions.seats]
    payoffs_t = torch.from_numpy(payoffs).to(learner.world.device)
    expected = np.zeros(len(decisions), np.float32)
    means = Means()
    for batch in learner.minibatches(decisions, config.epochs, config.minibatches, rng):
        outputs, _ = learner.model(batch.views)
        value = outputs.gather(1, batch.actions[:, None]).squeeze(1)
        loss = (value - payoffs_t[batch.rows]).square().mean()
        learner.step(loss, config.max_gradient, learning_rate)
        expected[batch.rows.cpu().numpy()] = value.detach().float().cpu().numpy()
        means.add(len(batch.actions), value_loss=loss.item())
    means.add(1, explained_variance=explained_variance(expected, payoffs), learning_rate=learning_rate)
    return means.over(learner.world)


def exploration(config: DmcConfig, progress: float) -> float:
    """The share of decisions taken at random."""
    return scheduled(config.epsilon, config.final_epsilon, progress)
