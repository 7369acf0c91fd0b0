"""Proximal policy optimisation (Schulman and others, 2017) on recorded decisions. Names in formulas as in the paper."""

import numpy as np
import torch
from torch import Tensor

from smear_train.learning.config import PpoConfig, scheduled
from smear_train.learning.learner import GROUPS, Learner, Means
from smear_train.learning.model import likelihoods
from smear_train.learning.rollout import Decisions, estimate_advantages, estimate_table_advantages


def learn(
    learner: Learner, decisions: Decisions, config: PpoConfig, progress: float, rng: np.random.Generator
) -> dict[str, float]:
    """One update.

    Args:
        learner: whose policy took the decisions.
        decisions: with payoffs.
        config: how.
        progress: how much of the run is over, 0 to 1.
        rng: of the order of minibatches.

    Returns:
        What is logged: means over the decisions, of all processes.
    """
    learning_rate = scheduled(config.learning_rate, config.final_learning_rate, progress)
    entropy_weight = scheduled(config.entropy, config.final_entropy, progress)
    old_log_probs, values = evaluate(learner, decisions)
    advantages, returns = np.zeros(len(decisions), np.float32), np.zeros_like(values)
    estimate = estimate_table_advantages if learner.model.sees_hidden else estimate_advantages
    estimate(decisions.games, decisions.seats, values, decisions.payoffs, config.trace, advantages, returns)
    normalised = normalise(advantages, decisions.groups, config.normalise)
    device = learner.world.device
    old_log_probs_t, advantages_t, returns_t = (
        torch.from_numpy(array).to(device) for array in (old_log_probs, normalised, returns)
    )
    groups_t = torch.from_numpy(decisions.groups).to(device)
    means = Means()
    for batch in learner.minibatches(decisions, config.epochs, config.minibatches, rng):
        outputs, value = learner.model(batch.views)
        log_probs, entropies = likelihoods(outputs, batch.masks, batch.actions)
        log_ratio = log_probs - old_log_probs_t[batch.rows]
        ratio = log_ratio.exp()
        advantage = advantages_t[batch.rows]
        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        value_loss = 0.5 * (value - returns_t[batch.rows]).square().mean()
        loss = policy_loss + config.value_weight * value_loss - entropy_weight * entropies.mean()
        learner.step(loss, config.max_gradient, learning_rate)
        with torch.no_grad():
            n = len(batch.actions)
            means.add(
                n,
                policy_loss=policy_loss.item(),
                value_loss=value_loss.item(),
                kl=((ratio - 1) - log_ratio).mean().item(),  # Schulman's estimate: never below 0
                clip_fraction=((ratio - 1).abs() > config.clip).float().mean().item(),
            )
            _add_entropies(means, entropies, groups_t[batch.rows])
    means.add(1, explained_variance=explained_variance(values, returns), learning_rate=learning_rate)
    return means.over(learner.world)


@torch.no_grad()
def evaluate(learner: Learner, decisions: Decisions) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of the actions taken, (T,), and values, (T, V), float32."""
    log_probs, values = [], []
    for batch in learner.in_order(decisions):
        outputs, value = learner.model(batch.views)
        log_probs.append(likelihoods(outputs, batch.masks, batch.actions)[0].cpu())
        values.append(value.float().cpu())
    return torch.cat(log_probs).numpy(), torch.cat(values).numpy()


def normalise(advantages: np.ndarray, groups: np.ndarray, how: str) -> np.ndarray:
    """Advantages with mean 0 and deviation 1: of each group of phases by itself, of all, or as they are."""
    if how == "none":
        return advantages
    out = np.empty_like(advantages)
    parts = [groups == group for group in range(len(GROUPS))] if how == "phase" else [np.ones(len(groups), np.bool_)]
    for part in parts:
        some = advantages[part]
        if some.size:
            out[part] = (some - some.mean()) / (some.std() + 1e-6)
    return out


def explained_variance(values: np.ndarray, returns: np.ndarray) -> float:
    """How much of the returns the critic foresaw: 1 all, 0 nothing."""
    variance = float(returns.var())
    return 1 - float((returns - values).var()) / variance if variance > 0 else 0.0


def _add_entropies(means: Means, entropies: Tensor, groups: Tensor) -> None:
    for group, name in enumerate(GROUPS):
        part = entropies[groups == group]
        if len(part):
            means.add(len(part), **{f"entropy_{name}": part.mean().item()})
