"""Behaviour cloning: the policy learns to do what a teacher does, the critic what came of it."""

import numpy as np
import torch

from smear_train.learning.config import CloneConfig
from smear_train.learning.learner import Learner, Means
from smear_train.learning.model import log_probabilities
from smear_train.learning.rollout import Decisions, payoffs_by_team


def learn(
    learner: Learner, decisions: Decisions, config: CloneConfig, progress: float, rng: np.random.Generator
) -> dict[str, float]:
    """One update from decisions of the teacher.

    Args:
        learner: who learns.
        decisions: of the teacher, with payoffs.
        config: how.
        progress: how much of the cloning is over, 0 to 1.
        rng: of the order of minibatches.

    Returns:
        What is logged; `agreement` is the share of decisions, before they were learned from, that the policy thinks
        best too.
    """
    learning_rate = config.learning_rate * (1 - 0.9 * progress)
    payoffs = torch.from_numpy(payoffs_by_team(decisions, learner.model.num_values)).to(learner.world.device)
    means = Means()
    for number, batch in enumerate(learner.minibatches(decisions, config.epochs, config.minibatches, rng)):
        outputs, value = learner.model(batch.views)
        log_probs, _ = log_probabilities(outputs, batch.masks)
        clone_loss = -log_probs.gather(1, batch.actions[:, None]).mean()
        value_loss = 0.5 * (value - payoffs[batch.rows]).square().mean()
        learner.step(clone_loss + 0.5 * value_loss, 1.0, learning_rate)
        if number < config.minibatches:
            agreement = (log_probs.argmax(1) == batch.actions).float().mean().item()
            means.add(
                len(batch.actions), agreement=agreement, clone_loss=clone_loss.item(), value_loss=value_loss.item()
            )
    means.add(1, learning_rate=learning_rate)
    return means.over(learner.world)
