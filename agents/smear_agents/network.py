"""The forward pass of a policy network as a kernel: from the features of a view to an action.

A network of a few hundred units is small beside the cost of calling a library for one row. Here each row is computed
by itself, so that an answer does not depend on what else is in a batch, and acting needs no more than numpy and numba.
Training and playing use this same code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from smear_agents._jit import kernel
from smear_agents.club import club_habits
from smear_agents.learner_view import (
    MOST_CARD_FEATURES,
    NUM_CARD_FEATURES,
    ViewOptions,
    describe_cards,
    make_view_layout,
    most_features,
    num_features,
    order_worths,
    see,
    slot_action,
)
from smear_agents.sight import SIGHT
from smear_env import GameRules
from smear_env._jit import int64
from smear_env.actions import NUM_ACTIONS
from smear_env.cards import NUM_CARDS
from smear_env.engine import advance, below, mix
from smear_env.observe import make_layout
from smear_env.rules import make_tables

ARGMAX, SAMPLE, EPSILON = 0, 1, 2
"""How an action is chosen from the outputs: the highest; by their softmax; the highest but for a share at random."""

_11 = np.uint64(11)
uint = np.uint64


@dataclass(frozen=True)
class Shape:
    """The shape of a policy network: a perceptron with ReLU units.

    Its weights lie in one vector, layer by layer, the matrix (inputs, outputs) and then the bias.

    Attributes:
        sizes: F features, units of each hidden layer, outputs: 70 actions, and with helpers the card features.
    """

    sizes: tuple[int, ...]

    @property
    def num_weights(self) -> int:
        """The length of the vector."""
        return sum((inputs + 1) * outputs for inputs, outputs in zip(self.sizes, self.sizes[1:]))


def policy_shape(rules: GameRules, options: ViewOptions, hidden: tuple[int, ...]) -> Shape:
    """The shape of a policy with these hidden layers."""
    return Shape((num_features(rules, options), *hidden, NUM_ACTIONS + options.helpers * NUM_CARD_FEATURES))


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
    """Writes the outputs for the view whose features are features[begin:end].

    Args:
        features: numbers of features that are true.
        begin: the first of them.
        end: the one after the last.
        weights: the vector of all weights; see `Shape`.
        sizes: (L + 1,) of the layers.
        units: (2, widest) scratch.
        active: (widest + 1,) scratch.
        outputs: (sizes[-1],) written.
    """
    width = uint(sizes[1])
    at = uint(sizes[0]) * width
    x = units[0]
    for j in range(width):
        x[j] = weights[at + uint(j)]
    add_rows(weights, uint(0), features, begin, end, width, x)
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
        add_weighted_rows(weights, at, active, num_active, x, num_outputs, y)
        at = bias + num_outputs


# The next two take four rows at a time, so that sums are fetched and put back less often; they add in the same order
# as one row after the other. Places are unsigned: of others it would have to be asked whether they count from the end.


@kernel
def add_rows(
    weights: np.ndarray, at: np.uint64, rows: np.ndarray, begin: int, end: int, width: np.uint64, sums: np.ndarray
) -> None:
    """Adds the rows of a matrix with the numbers rows[begin:end] to sums[:width]; the matrix begins at weights[at]."""
    whole = begin + (end - begin) // 4 * 4
    for k in range(begin, whole, 4):
        a, b = at + uint(rows[k]) * width, at + uint(rows[k + 1]) * width
        c, d = at + uint(rows[k + 2]) * width, at + uint(rows[k + 3]) * width
        for i in range(width):
            j = uint(i)
            sums[j] = sums[j] + weights[a + j] + weights[b + j] + weights[c + j] + weights[d + j]
    for k in range(whole, end):
        a = at + uint(rows[k]) * width
        for i in range(width):
            sums[i] += weights[a + uint(i)]


@kernel
def add_weighted_rows(
    weights: np.ndarray,
    at: np.uint64,
    rows: np.ndarray,
    num_rows: int,
    x: np.ndarray,
    width: np.uint64,
    sums: np.ndarray,
) -> None:
    """As `add_rows` with rows[:num_rows], each row times the x of its number."""
    whole = num_rows // 4 * 4
    for k in range(0, whole, 4):
        p, q, r, s = x[rows[k]], x[rows[k + 1]], x[rows[k + 2]], x[rows[k + 3]]
        a, b = at + uint(rows[k]) * width, at + uint(rows[k + 1]) * width
        c, d = at + uint(rows[k + 2]) * width, at + uint(rows[k + 3]) * width
        for i in range(width):
            j = uint(i)
            sums[j] = sums[j] + p * weights[a + j] + q * weights[b + j] + r * weights[c + j] + s * weights[d + j]
    for k in range(whole, num_rows):
        p, a = x[rows[k]], at + uint(rows[k]) * width
        for i in range(width):
            sums[i] += p * weights[a + uint(i)]


@kernel
def add_card_features(outputs: np.ndarray, pairs: np.ndarray, num_pairs: int) -> None:
    """Adds to the output of each card the weights of what is true of it; see `describe_cards`."""
    for k in range(num_pairs):
        outputs[pairs[k] // NUM_CARD_FEATURES] += outputs[NUM_ACTIONS + pairs[k] % NUM_CARD_FEATURES]


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
        outputs: (70 or more,) of the network, with the suits in their slots.
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


class Desk(NamedTuple):
    """What the kernels need to turn a view into features and features into an action: tables, and room to work."""

    tables: np.ndarray
    layout: np.ndarray
    view_layout: np.ndarray
    worths: np.ndarray
    habits: np.ndarray
    sizes: np.ndarray
    sight: np.ndarray
    slots: np.ndarray
    features: np.ndarray
    pairs: np.ndarray
    sums: np.ndarray
    units: np.ndarray
    active: np.ndarray
    outputs: np.ndarray


def make_desk(rules: GameRules, options: ViewOptions, sizes: Sequence[int]) -> Desk:
    """A desk for networks of some layers."""
    return Desk(
        tables=make_tables(rules),
        layout=make_layout(rules),
        view_layout=make_view_layout(rules, options),
        worths=order_worths(),
        habits=club_habits(rules),
        sizes=np.array(sizes, np.int64),
        sight=np.zeros(1, SIGHT),
        slots=np.zeros(4, np.int64),
        features=np.zeros(most_features(rules), np.int32),
        pairs=np.zeros(NUM_CARDS * MOST_CARD_FEATURES, np.int32),
        sums=np.zeros((NUM_CARDS, 2)),
        units=np.zeros((2, max(sizes[1:])), np.float32),
        active=np.zeros(max(sizes) + 1, np.int64),
        outputs=np.zeros(sizes[-1], np.float32),
    )


@kernel
def look(view: np.ndarray, mask: np.ndarray, desk: Any) -> tuple[int, int]:
    """Puts the features of a view (D,) with its mask (70,) and those of its cards on the desk; returns how many."""
    t, o, v, s = desk.tables[0], desk.layout[0], desk.view_layout[0], desk.sight[0]
    num_features = see(view, mask, t, o, v, desk.worths[0], s, desk.slots, desk.features, 0)
    num_pairs = describe_cards(view, mask, t, o, v, desk.habits[0], s, desk.slots, desk.sums, desk.pairs)
    return num_features, num_pairs


@kernel
def think(desk: Any, num_features: int, num_pairs: int, weights: np.ndarray) -> None:
    """Puts the outputs for the view on the desk, with the suits in their slots."""
    forward(desk.features, 0, num_features, weights, desk.sizes, desk.units, desk.active, desk.outputs)
    add_card_features(desk.outputs, desk.pairs, num_pairs)


@kernel
def network_actions(
    observations: np.ndarray, action_masks: np.ndarray, desk: Any, weights: np.ndarray, actions: np.ndarray
) -> None:
    """Writes the action with the highest output for each row; the outputs of the last one stay on the desk."""
    for i in range(actions.size):
        num_features, num_pairs = look(observations[i], action_masks[i], desk)
        think(desk, num_features, num_pairs, weights)
        actions[i] = choose(action_masks[i], desk.slots, desk.outputs, ARGMAX, 0.0, np.uint64(0))


class Network:
    """A policy network with its weights, ready to act.

    Args:
        rules: the rules of the game it plays.
        options: what it is shown.
        hidden: units of each hidden layer.
        weights: (num_weights,) float32.
        is_policy: whether the softmax of its outputs is a policy; outputs that were trained to value actions (DMC) are
            no more than an order.

    Raises:
        ValueError: another number of weights than the shape has.
    """

    def __init__(
        self,
        rules: GameRules,
        options: ViewOptions,
        hidden: tuple[int, ...],
        weights: np.ndarray,
        is_policy: bool = True,
    ) -> None:
        self.rules, self.options, self.hidden, self.is_policy = rules, options, hidden, is_policy
        self.shape = policy_shape(rules, options, hidden)
        if weights.shape != (self.shape.num_weights,):
            raise ValueError(
                f"a network of layers {'x'.join(map(str, self.shape.sizes))} has {self.shape.num_weights} weights; "
                f"given: {weights.shape}"
            )
        self.weights = np.ascontiguousarray(weights, np.float32)
        self.desk = make_desk(rules, options, self.shape.sizes)

    def actions(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """The action that it thinks best for each row, (N,) int64; observations (N, D), masks (N, 70)."""
        actions = np.empty(len(observations), np.int64)
        network_actions(observations, action_masks, self.desk, self.weights, actions)
        return actions

    def probabilities(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """How likely each action is by the softmax of its outputs, as it was trained by PPO: (N, 70) float64.

        Raises:
            ValueError: its outputs are values of actions.
        """
        if not self.is_policy:
            raise ValueError("the network was trained by DMC to value actions, so it has no probabilities of them")
        shares = np.zeros(action_masks.shape)
        for row, view, mask in zip(shares, observations, action_masks):
            outputs = self.outputs(view, mask).astype(np.float64)
            legal = mask == 1
            row[legal] = np.exp(outputs[legal] - outputs[legal].max())
        return shares / shares.sum(1, keepdims=True)

    def outputs(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """Its outputs (70,) for one view, by action: logits, or values if it was trained to value actions."""
        self.actions(observation[None], action_mask[None])
        return self.desk.outputs[[slot_action(action, self.desk.slots) for action in range(NUM_ACTIONS)]]
