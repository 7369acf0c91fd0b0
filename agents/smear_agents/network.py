"""The forward pass of a policy network as a kernel: from the features of a view to an action.

A network of a few hundred units is small beside the cost of calling a library for one row. Here each row is computed
by itself, so that an answer does not depend on what else is in a batch, and acting needs no more than numpy and numba.
Training and playing use this same code.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from smear_agents._jit import kernel
from smear_agents.club_bids import Bids
from smear_agents.learner_view import ViewLayout, ViewOptions, most_features, num_features, order_worths, see, slot_action
from smear_agents.learner_view import make_view_layout
from smear_agents.sight import SIGHT, Sight
from smear_env import GameRules
from smear_env._jit import int64
from smear_env.actions import NUM_ACTIONS
from smear_env.engine import advance, below, mix
from smear_env.observe import Layout, make_layout
from smear_env.rules import Tables, make_tables

ARGMAX, SAMPLE, EPSILON = 0, 1, 2
"""How an action is chosen from the outputs: the highest; by their softmax; the highest but for a share at random."""

_11 = np.uint64(11)
uint = np.uint64


@dataclass(frozen=True)
class Shape:
    """The shape of a policy network: a perceptron with ReLU units.

    Its weights lie in one vector, layer by layer, the matrix (inputs, outputs) and then the bias.

    Attributes:
        sizes: F features, units of each hidden layer, 70 actions.
    """

    sizes: tuple[int, ...]

    @property
    def num_weights(self) -> int:
        """The length of the vector."""
        return sum((inputs + 1) * outputs for inputs, outputs in zip(self.sizes, self.sizes[1:]))


def policy_shape(rules: GameRules, options: ViewOptions, hidden: tuple[int, ...]) -> Shape:
    """The shape of a policy with these hidden layers."""
    return Shape((num_features(rules, options), *hidden, NUM_ACTIONS))


@kernel
def forward(
    features: np.ndarray,
    begin: int,
    end: int,
    weights: np.ndarray,
    sizes: np.ndarray,
    units: np.ndarray,
    active: np.ndarray,
    outputs: np.ndarray,
) -> None:
    """Writes the outputs (70,) for the view whose features are features[begin:end].

    Args:
        features: numbers of features that are true.
        begin, end: which of them.
        weights: the vector of all weights; see `Shape`.
        sizes: (L + 1,) of the layers.
        units, active: (2, widest) and (widest + 1,) scratch.
        outputs: (70,) written.
    """
    # Places are unsigned numbers: of others it would have to be asked each time whether they count from the end.
    width = uint(sizes[1])
    at = uint(sizes[0]) * width
    x = units[0]
    for j in range(width):
        x[j] = weights[at + uint(j)]
    for k in range(begin, end):
        row = uint(features[k]) * width
        for j in range(width):
            x[j] += weights[row + uint(j)]
    at += width
    for layer in range(1, len(sizes) - 1):
        num_inputs, num_outputs = uint(sizes[layer]), uint(sizes[layer + 1])
        x = units[(layer - 1) % 2]
        num_active = 0  # the units that are not cut off, found without a branch to guess wrong
        for i in range(num_inputs):
            active[num_active] = i
            num_active += int64(x[i] > 0)
        y = outputs if layer == len(sizes) - 2 else units[layer % 2]
        bias = at + num_inputs * num_outputs
        for j in range(num_outputs):
            y[j] = weights[bias + uint(j)]
        for k in range(num_active):
            i = uint(active[k])
            a = x[i]
            row = at + i * num_outputs
            for j in range(num_outputs):
                y[j] += a * weights[row + uint(j)]
        at = bias + num_outputs


@kernel
def uniform(state: np.uint64) -> float:
    """A number 0 <= u < 1 from a generator's state."""
    return float(mix(state) >> _11) / 9007199254740992.0  # 2^53


@kernel
def choose(mask: np.ndarray, slots: np.ndarray, outputs: np.ndarray, how: int, epsilon: float, state: np.uint64) -> int:
    """An action: one of those that the mask allows, whatever the outputs are.

    Args:
        mask: (70,) the action mask.
        slots: (4,) of the suits.
        outputs: (70,) of the network, with the suits in their slots.
        how: ARGMAX, SAMPLE or EPSILON.
        epsilon: with EPSILON the share of actions at random.
        state: of a generator, for one choice.
    """
    best, legal = int64(-1), int64(0)
    highest = 0.0
    for action in range(NUM_ACTIONS):
        if mask[action]:
            legal += 1
            output = float(outputs[slot_action(action, slots)])
            if best < 0 or output > highest:
                best, highest = int64(action), output
    if how == ARGMAX or legal == 1:
        return best
    u = uniform(state)
    if how == EPSILON:
        if u >= epsilon:
            return best
        nth = below(advance(state), legal)
        for action in range(NUM_ACTIONS):
            nth -= mask[action]
            if nth < 0:
                return action
    total = 0.0
    for action in range(NUM_ACTIONS):
        if mask[action]:
            total += np.exp(float(outputs[slot_action(action, slots)]) - highest)
    left = u * total
    for action in range(NUM_ACTIONS):
        if mask[action]:
            left -= np.exp(float(outputs[slot_action(action, slots)]) - highest)
            if left < 0.0:
                return action
    return best


@kernel
def network_actions(
    observations: np.ndarray,
    action_masks: np.ndarray,
    tables: np.ndarray,
    layout: np.ndarray,
    view_layout: np.ndarray,
    worths: np.ndarray,
    weights: np.ndarray,
    sizes: np.ndarray,
    sight: np.ndarray,
    features: np.ndarray,
    slots: np.ndarray,
    units: np.ndarray,
    active: np.ndarray,
    outputs: np.ndarray,
    actions: np.ndarray,
) -> None:
    """Writes the action with the highest output for each row, and the outputs of the last one."""
    t, o, v, w, s = tables[0], layout[0], view_layout[0], worths[0], sight[0]
    for i in range(actions.size):
        end = see(observations[i], action_masks[i], t, o, v, w, s, slots, features, 0)
        forward(features, 0, end, weights, sizes, units, active, outputs)
        actions[i] = choose(action_masks[i], slots, outputs, ARGMAX, 0.0, np.uint64(0))


class Network:
    """A policy network with its weights, ready to act.

    Args:
        rules: the rules of the game it plays.
        options: what it is shown.
        hidden: units of each hidden layer.
        weights: (num_weights,) float32.

    Raises:
        ValueError: another number of weights than the shape has.
    """

    def __init__(self, rules: GameRules, options: ViewOptions, hidden: tuple[int, ...], weights: np.ndarray) -> None:
        self.rules, self.options, self.hidden = rules, options, hidden
        self.shape = policy_shape(rules, options, hidden)
        if weights.shape != (self.shape.num_weights,):
            raise ValueError(
                f"a network of layers {'x'.join(map(str, self.shape.sizes))} has {self.shape.num_weights} weights; "
                f"given: {weights.shape}"
            )
        self.weights = np.ascontiguousarray(weights, np.float32)
        self.sizes = np.array(self.shape.sizes, np.int64)
        self.tables, self.layout = make_tables(rules), make_layout(rules)
        self.view_layout = make_view_layout(rules, options)

    def actions(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """The action that it thinks best for each row, (N,) int64; observations (N, D), masks (N, 70)."""
        actions = np.empty(len(observations), np.int64)
        self._run(observations, action_masks, actions)
        return actions

    def outputs(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """Its outputs (70,) for one view, by action: logits, or values if it was trained to value actions."""
        outputs, slots = self._run(observation[None], action_mask[None], np.empty(1, np.int64))
        return outputs[[slot_action(action, slots) for action in range(NUM_ACTIONS)]]

    def _run(self, observations: np.ndarray, action_masks: np.ndarray, actions: np.ndarray) -> tuple[Any, Any]:
        outputs, slots = np.zeros(NUM_ACTIONS, np.float32), np.zeros(4, np.int64)
        network_actions(
            observations, action_masks, self.tables, self.layout, self.view_layout, order_worths(), self.weights,
            self.sizes, np.zeros(1, SIGHT), np.empty(most_features(self.rules), np.int32), slots,
            np.zeros((2, max(self.shape.sizes[1:])), np.float32), np.zeros(max(self.shape.sizes) + 1, np.int64), outputs,
            actions,
        )  # fmt: skip
        return outputs, slots
