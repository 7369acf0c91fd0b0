"""What all algorithms share: decisions as minibatches of tensors, and a step of the optimizer."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from smear_train.learning.distributed import World
from smear_train.learning.model import ActorCritic, Views
from smear_train.learning.rollout import Decisions, pick

ROWS_AT_ONCE = 2048
"""Decisions that are looked at together where nothing is learned."""

GROUPS = ("bid", "exchange", "play")
"""Names of the groups of phases, in the order of their numbers."""


class Batch(NamedTuple):
    """B decisions as tensors."""

    rows: Tensor  # (B,) which of all decisions
    views: Views
    masks: Tensor  # (B, 70) bool
    actions: Tensor  # (B,)


class Learner:
    """A model, its optimizer, and the processes it is learned by.

    Args:
        model: what learns.
        world: the processes.
    """

    def __init__(self, model: ActorCritic, world: World) -> None:
        self.model = model.to(world.device)
        self.world = world
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-5, fused=True)

    def batch(self, decisions: Decisions, rows: np.ndarray) -> Batch:
        """Some decisions, given by their numbers, as tensors."""

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(self.world.device)

        d = decisions
        views = Views(
            *map(tensor, pick(d.features, d.offsets, d.seen, rows)),
            *map(tensor, pick(d.pairs, d.pair_offsets, d.pair_offsets[1:], rows)),
            *map(tensor, pick(d.features, d.offsets, d.offsets[1:], rows) if self.model.sees_hidden else ()),
        )
        return Batch(tensor(rows), views, tensor(d.masks[rows].view(np.bool_)), tensor(d.actions[rows]))

    def in_order(self, decisions: Decisions) -> Iterator[Batch]:
        """All decisions in their order."""
        for begin in range(0, len(decisions), ROWS_AT_ONCE):
            yield self.batch(decisions, np.arange(begin, min(begin + ROWS_AT_ONCE, len(decisions))))

    def minibatches(self, decisions: Decisions, epochs: int, number: int, rng: np.random.Generator) -> Iterator[Batch]:
        """All decisions in random order, split into a number of minibatches, anew for each epoch.

        The number is the same in all processes, as they learn in step; none of the minibatches is empty.
        """
        number = max(min(number, self.world.least(len(decisions))), 1)
        for _ in range(epochs):
            for rows in np.array_split(rng.permutation(len(decisions)), number):
                yield self.batch(decisions, rows)

    def step(self, loss: Tensor, max_gradient: float, learning_rate: float) -> None:
        """One step down the gradient of a loss, its norm cut to `max_gradient`."""
        self.optimizer.zero_grad()
        loss.backward()
        self.world.average_gradients(self.model)
        nn.utils.clip_grad_norm_(self.model.parameters(), max_gradient)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()


class Means:
    """Means of numbers by name, weighted by how many decisions each stands for."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._weights: dict[str, float] = {}

    def add(self, weight: float, **numbers: float) -> None:
        """Adds numbers."""
        for name, number in numbers.items():
            self._sums[name] = self._sums.get(name, 0.0) + weight * number
            self._weights[name] = self._weights.get(name, 0.0) + weight

    def over(self, world: World) -> dict[str, float]:
        """The means over all processes."""
        names = sorted(self._sums)
        sums = world.sums([self._sums[name] for name in names])
        weights = world.sums([self._weights[name] for name in names])
        return {name: total / weight for name, total, weight in zip(names, sums, weights) if weight}
