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
def add_pairs(outputs: np.ndarray, pairs: np.ndarray, starts: np.ndarray, sums: np.ndarray) -> None:
    """Writes the output of each action, to that of a card added the weights of what is true of it, row by row."""
    for i in range(sums.shape[0]):
        sums[i] = outputs[i, :NUM_ACTIONS]
        for k in range(starts[i], starts[i + 1]):
            sums[i, pairs[k] // NUM_CARD_FEATURES] += outputs[i, NUM_ACTIONS + pairs[k] % NUM_CARD_FEATURES]


@kernel
def add_pair_gradients(pairs: np.ndarray, starts: np.ndarray, gradient: np.ndarray, out: np.ndarray) -> None:
    """The way back of `add_pairs`: a weight's gradient is the sum of those of the outputs that it was added to."""
    for i in range(gradient.shape[0]):
        out[i, :NUM_ACTIONS] = gradient[i]
        out[i, NUM_ACTIONS:] = 0
        for k in range(starts[i], starts[i + 1]):
            out[i, NUM_ACTIONS + pairs[k] % NUM_CARD_FEATURES] += gradient[i, pairs[k] // NUM_CARD_FEATURES]


class _AddPairs(torch.autograd.Function):
    """`add_card_features` on a CPU."""

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, pairs: Tensor, starts: Tensor) -> Tensor:
        ctx.save_for_backward(pairs, starts)
        sums = outputs.new_empty(len(outputs), NUM_ACTIONS)
        add_pairs(outputs.numpy(), pairs.numpy(), starts.numpy(), sums.numpy())
        return sums

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        pairs, starts = ctx.saved_tensors
        out = torch.empty(len(gradients[0]), NUM_ACTIONS + NUM_CARD_FEATURES)
        add_pair_gradients(pairs.numpy(), starts.numpy(), gradients[0].contiguous().numpy(), out.numpy())
        return out, None, None


def add_card_features(outputs: Tensor, pairs: Tensor, starts: Tensor) -> Tensor:
    """The outputs by action, (B, 70), with the weights added of what is true of each card.

    Args:
        outputs: (B, 70 + NUM_CARD_FEATURES) of the network: by action, then the weights by card feature.
        pairs: card x NUM_CARD_FEATURES + feature, those of each row one after the other.
        starts: (B + 1,) where those of each row begin.
    """
    if not outputs.is_cuda:
        sums: Tensor = _AddPairs.apply(outputs, pairs, starts)
        return sums
    rows = torch.repeat_interleave(torch.arange(len(outputs), device=outputs.device), starts.diff().long())
    cards, kinds = pairs.long() // NUM_CARD_FEATURES, pairs.long() % NUM_CARD_FEATURES
    weights = outputs[:, NUM_ACTIONS:]
    return outputs[:, :NUM_ACTIONS].index_put((rows, cards), weights[rows, kinds], accumulate=True)


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
        x = (sum_rows(features, starts, self.weight[0]) + self.bias[0]).relu_()
        for weight, bias in zip(list(self.weight)[1:-1], list(self.bias)[1:-1]):
            x = torch.addmm(bias, x, weight).relu_()
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
            nn.init.zeros_(self.critic.weight)
            nn.init.zeros_(self.critic.bias)
        else:
            self.critic = Perceptron([*critic_sizes, self.num_values], generator, last_scale=0.01)

    def forward(self, views: Views) -> tuple[Tensor, Tensor]:
        """Outputs of the policy (B, 70) and values (B, V), the own team's first and then to the left."""
        outputs, hidden = self.policy(views.features, views.starts)
        if outputs.shape[1] > NUM_ACTIONS:
            outputs = add_card_features(outputs, views.pairs, views.pair_starts)
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


# --- How likely the actions taken were ---------------------------------------------------------------------------


@kernel
def find_likelihoods(
    outputs: np.ndarray,
    masks: np.ndarray,
    actions: np.ndarray,
    scales: np.ndarray,
    chosen: np.ndarray,
    entropies: np.ndarray,
) -> None:
    """For each row the logarithm of the sum of exponentials, that of the chosen action's probability, the entropy."""
    for i in range(actions.size):
        highest = -np.inf
        for j in range(NUM_ACTIONS):
            if masks[i, j]:
                highest = max(highest, outputs[i, j])
        total, weighted = 0.0, 0.0
        for j in range(NUM_ACTIONS):
            if masks[i, j]:
                above = outputs[i, j] - highest
                total += np.exp(above)
                weighted += np.exp(above) * above
        scales[i] = highest + np.log(total)
        chosen[i] = outputs[i, actions[i]] - scales[i]  # scales have 64 bits: both may be large
        entropies[i] = np.log(total) - weighted / total


@kernel
def find_likelihood_gradients(
    outputs: np.ndarray,
    masks: np.ndarray,
    actions: np.ndarray,
    scales: np.ndarray,
    entropies: np.ndarray,
    chosen_gradient: np.ndarray,
    entropy_gradient: np.ndarray,
    out: np.ndarray,
) -> None:
    """The way back of `find_likelihoods`: with p = softmax(x), dlog p_a / dx = 1_a - p and dH / dx = -p (log p + H)."""
    out[:] = 0
    for i in range(actions.size):
        for j in range(NUM_ACTIONS):
            if masks[i, j]:
                log_p = outputs[i, j] - scales[i]
                p = np.exp(log_p)
                out[i, j] = -p * (chosen_gradient[i] + entropy_gradient[i] * (log_p + entropies[i]))
        out[i, actions[i]] += chosen_gradient[i]


class _Likelihoods(torch.autograd.Function):
    """`likelihoods` on a CPU: of 70 actions a few are legal, and only those cost time."""

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, masks: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        scales = outputs.new_empty(len(outputs), dtype=torch.float64)
        chosen, entropies = outputs.new_empty(2, len(outputs))
        arrays = [tensor.numpy() for tensor in (outputs, masks, actions, scales, chosen, entropies)]
        find_likelihoods(*arrays)
        ctx.save_for_backward(outputs, masks, actions, scales, entropies)
        return chosen, entropies

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        out = torch.empty_like(ctx.saved_tensors[0])
        tensors = (*ctx.saved_tensors, *(gradient.contiguous() for gradient in gradients), out)
        find_likelihood_gradients(*[tensor.numpy() for tensor in tensors])
        return out, None, None


def likelihoods(outputs: Tensor, masks: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """Logarithms of the probabilities of the actions taken, and the entropies of the choices, (B,) both.

    Args:
        outputs: (B, 70) of the policy.
        masks: (B, 70) bool.
        actions: (B,) legal ones.
    """
    if not outputs.is_cuda:
        chosen, entropies = _Likelihoods.apply(outputs.float(), masks, actions)
        return chosen, entropies
    log_probs, probs = log_probabilities(outputs, masks)
    return log_probs.gather(1, actions[:, None]).squeeze(1), -(probs * log_probs).sum(1)
