"""The networks in training: the policy that `smear_agents.network` plays, and its critic, in torch."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from smear_agents.learner_view import NUM_CARD_FEATURES
from smear_env.actions import NUM_ACTIONS
from smear_train.learning._jit import kernel


@kernel
def add_up_gradients(
    features: np.ndarray, starts: np.ndarray, gradient: np.ndarray, weight_gradient: np.ndarray
) -> None:
    """Adds the gradient of each row's sum to the rows of the matrix that it was the sum of."""
    for i in range(gradient.shape[0]):
        row = gradient[i]
        for k in range(starts[i], starts[i + 1]):
            to = weight_gradient[np.uint64(features[k])]
            for j in range(row.size):
                to[j] += row[j]


class _SumRows(torch.autograd.Function):
    """Sums of rows of a matrix. Torch's own backward pass for this takes four times as long on a CPU."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, starts: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(features, starts)
        ctx.shape = weight.shape
        return functional.embedding_bag(features, weight, starts, mode="sum", include_last_offset=True)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, Tensor]:
        features, starts = ctx.saved_tensors
        weight_gradient = torch.zeros(ctx.shape)
        add_up_gradients(features.numpy(), starts.numpy(), gradients[0].contiguous().numpy(), weight_gradient.numpy())
        return None, None, weight_gradient


def sum_rows(features: Tensor, starts: Tensor, weight: Tensor) -> Tensor:
    """For each of B lists of numbers, the sum of those rows of a matrix (F, H): (B, H).

    Args:
        features: int32, the lists one after the other.
        starts: (B + 1,) int32, where each begins.
        weight: (F, H).
    """
    if weight.is_cuda:
        return functional.embedding_bag(features, weight, starts, mode="sum", include_last_offset=True)
    out: Tensor = _SumRows.apply(features, starts, weight)
    return out


@kernel
def add_pairs(pairs: np.ndarray, starts: np.ndarray, weights: np.ndarray, outputs: np.ndarray) -> None:
    """Adds to the output of each card the weights of what is true of it, row by row."""
    for i in range(outputs.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            outputs[i, pairs[k] // NUM_CARD_FEATURES] += weights[i, pairs[k] % NUM_CARD_FEATURES]


@kernel
def add_pair_gradients(
    pairs: np.ndarray, starts: np.ndarray, gradient: np.ndarray, weight_gradient: np.ndarray
) -> None:
    """The way back of `add_pairs`: adds to the gradient of each weight those of the outputs that it was added to."""
    for i in range(gradient.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            weight_gradient[i, pairs[k] % NUM_CARD_FEATURES] += gradient[i, pairs[k] // NUM_CARD_FEATURES]


class _AddPairs(torch.autograd.Function):
    """`add_card_features` on a CPU."""

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, weights: Tensor, pairs: Tensor, starts: Tensor) -> Tensor:
        ctx.save_for_backward(pairs, starts)
        ctx.width = weights.shape[1]
        sums = outputs.contiguous().clone()
        add_pairs(pairs.numpy(), starts.numpy(), weights.contiguous().numpy(), sums.numpy())
        return sums

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        pairs, starts = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        weight_gradient = torch.zeros(len(gradient), ctx.width)
        add_pair_gradients(pairs.numpy(), starts.numpy(), gradient.numpy(), weight_gradient.numpy())
        return gradient, weight_gradient, None, None


def add_card_features(outputs: Tensor, weights: Tensor, pairs: Tensor, starts: Tensor) -> Tensor:
    """Outputs (B, 70) with the weights (B, NUM_CARD_FEATURES) added of what is true of each card.

    Args:
        outputs: of the network, by action.
        weights: of the network, by card feature.
        pairs: card x NUM_CARD_FEATURES + feature, those of each row one after the other.
        starts: (B + 1,) where those of each row begin.
    """
    if not outputs.is_cuda:
        sums: Tensor = _AddPairs.apply(outputs, weights, pairs, starts)
        return sums
    rows = torch.repeat_interleave(torch.arange(len(outputs), device=outputs.device), starts.diff().long())
    cards, kinds = pairs.long() // NUM_CARD_FEATURES, pairs.long() % NUM_CARD_FEATURES
    return outputs.index_put((rows, cards), weights[rows, kinds], accumulate=True)


class Views(NamedTuple):
    """What B players see, as lists of numbers one after the other, and where each list begins, (B + 1,); all int32."""

    features: Tensor
    starts: Tensor
    pairs: Tensor
    pair_starts: Tensor
    critic_features: Tensor | None = None
    critic_starts: Tensor | None = None


class Perceptron(nn.Module):
    """A perceptron with ReLU units whose input is a list of features; matrices are (inputs, outputs).

    Args:
        sizes: features, hidden layers, outputs.
        generator: of the first weights.
        last_scale: deviation of the first weights of the last layer: small, so that it begins without an opinion.
    """

    def __init__(self, sizes: Sequence[int], generator: torch.Generator, last_scale: float) -> None:
        super().__init__()
        self.weight, self.bias = nn.ParameterList(), nn.ParameterList()
        for layer, (inputs, outputs) in enumerate(pairwise(sizes)):
            # Some 50 features are true at a time, each 1: He's rule for so many inputs.
            scale = (2 / 50) ** 0.5 if layer == 0 else (2 / inputs) ** 0.5
            if layer == len(sizes) - 2:
                scale = last_scale
            self.weight.append(nn.Parameter(torch.randn(inputs, outputs, generator=generator) * scale))
            self.bias.append(nn.Parameter(torch.zeros(outputs)))

    def forward(self, features: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """The outputs (B, outputs) and the last hidden layer (B, H)."""
        x = torch.relu(sum_rows(features, starts, self.weight[0]) + self.bias[0])
        for weight, bias in zip(list(self.weight)[1:-1], list(self.bias)[1:-1]):
            x = torch.relu(torch.addmm(bias, x, weight))
        return torch.addmm(self.bias[-1], x, self.weight[-1]), x


class ActorCritic(nn.Module):
    """A policy and its critic.

    Args:
        sizes: the layers of the policy, as in `smear_agents.network.Shape`.
        critic: "shared", "separate" or "all_hands"; see `config.NetworkConfig`.
        critic_sizes: features and hidden layers of a critic of its own.
        teams: of the game.
        seed: of the first weights.

    Attributes:
        num_values: V, how many values the critic gives: one for each team if it sees all hands, else the player's own.
    """

    def __init__(self, sizes: Sequence[int], critic: str, critic_sizes: Sequence[int], teams: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.policy = Perceptron(sizes, generator, last_scale=0.01)
        self.shares = critic == "shared"
        self.sees_hidden = critic == "all_hands"
        self.num_values = teams if self.sees_hidden else 1
        if self.shares:
            self.critic: nn.Module = nn.Linear(sizes[-2], 1)
            nn.init.zeros_(self.critic.weight)  # type: ignore[arg-type]
            nn.init.zeros_(self.critic.bias)  # type: ignore[arg-type]
        else:
            self.critic = Perceptron([*critic_sizes, self.num_values], generator, last_scale=0.01)

    def forward(self, views: Views) -> tuple[Tensor, Tensor]:
        """Outputs of the policy (B, 70) and values (B, V), the own team's first and then to the left."""
        outputs, hidden = self.policy(views.features, views.starts)
        if outputs.shape[1] > NUM_ACTIONS:
            weights = outputs[:, NUM_ACTIONS:]
            outputs = add_card_features(outputs[:, :NUM_ACTIONS], weights, views.pairs, views.pair_starts)
        if self.shares:
            return outputs, self.critic(hidden)
        if self.sees_hidden:
            return outputs, self.critic(views.critic_features, views.critic_starts)[0]
        return outputs, self.critic(views.features, views.starts)[0]

    def policy_weights(self) -> np.ndarray:
        """The policy's weights as `smear_agents.network` wants them: one vector, float32."""
        parts = [p.detach().cpu().ravel() for pair in zip(self.policy.weight, self.policy.bias) for p in pair]
        return torch.cat(parts).float().numpy()


def log_probabilities(outputs: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
    """Logarithms of the probabilities of actions, and the probabilities, (B, 70) both; illegal ones have none.

    Their logarithm is a large number below 0, yet finite, so that its product with the probability 0 is 0 and not NaN.
    The probabilities are computed anew, as the exponential of such numbers is slow.
    """
    masked = outputs.float().masked_fill(~masks, -1e9)
    return torch.log_softmax(masked, 1), torch.softmax(masked, 1)
