"""The networks in training: the policy that `smear_agents.network` plays, and its critic, in torch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

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
        add_up_gradients(
            features.numpy(), starts.numpy(), gradients[0].contiguous().numpy(), weight_gradient.numpy()
        )
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
        for layer, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
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

    def __init__(
        self, sizes: Sequence[int], critic: str, critic_sizes: Sequence[int], teams: int, seed: int
    ) -> None:
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

    def forward(self, views: tuple[Tensor, Tensor], critic_views: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Outputs of the policy (B, 70) and values (B, V), the own team's first and then to the left.

        Args:
            views: features of what the players see, and where each begins.
            critic_views: the same of what the critic sees; not looked at if it shares the policy's layers.
        """
        outputs, hidden = self.policy(*views)
        if self.shares:
            return outputs, self.critic(hidden)
        return outputs, self.critic(*critic_views)[0]

    def policy_weights(self) -> np.ndarray:
        """The policy's weights as `smear_agents.network` wants them: one vector, float32."""
        parts = [p.detach().cpu().ravel() for pair in zip(self.policy.weight, self.policy.bias) for p in pair]
        return torch.cat(parts).float().numpy()


def log_probabilities(outputs: Tensor, masks: Tensor) -> Tensor:
    """Logarithms of the probabilities of actions (B, 70); of those not allowed a large negative number.

    It is finite, so that its product with the probability 0 is 0 and not NaN.
    """
    return torch.log_softmax(outputs.float().masked_fill(~masks, -1e9), 1)
