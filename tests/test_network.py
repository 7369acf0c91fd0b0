"""The forward pass: the same as torch's, and legal whatever the weights are."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from looks import ALL, PLAIN, Eye, positions
from scipy.stats import chi2

from smear_agents.learner_view import NUM_CARD_FEATURES, ViewOptions, num_features, slot_action
from smear_agents.network import ARGMAX, EPSILON, SAMPLE, Network, choose, policy_shape, think
from smear_env import PRESETS, GameRules
from smear_env.actions import NUM_ACTIONS
from smear_train.learning.distributed import World
from smear_train.learning.learner import Learner
from smear_train.learning.model import ActorCritic, add_card_features, log_probabilities, sum_rows
from smear_train.learning.rollout import Decisions, Rollout, Seating

pytestmark = pytest.mark.jit

GAMES = {"schmier": PRESETS["schmier"], "four_point": PRESETS["four_point"]}
OPTIONS = {"all": ALL, "default": ViewOptions(), "no helpers": ViewOptions(helpers=False), "plain": PLAIN}
both_games = pytest.mark.parametrize("game", GAMES)


def alone(rules: GameRules, deals: int) -> Seating:
    """The learner at all seats."""
    shape = (deals, rules.players)
    return Seating(
        roles=np.zeros(shape, np.int64), recorded=np.ones(shape, np.bool_), must_bid=np.zeros(deals, np.bool_),
        scores=np.zeros((deals, rules.teams), np.int64),
    )  # fmt: skip


def weights_at_random(rules: GameRules, options: ViewOptions, hidden: tuple[int, ...], seed: int = 1) -> np.ndarray:
    number = policy_shape(rules, options, hidden).num_weights
    return np.random.default_rng(seed).normal(0, 0.3, number).astype(np.float32)


def played(rules: GameRules, options: ViewOptions, weights: Any, hidden: Any, deals: int, **how: Any) -> Decisions:
    rollout = Rollout(rules, options, policy_shape(rules, options, hidden).sizes)
    seeds = np.arange(1, deals + 1).astype(np.uint64)
    return rollout.play(seeds, alone(rules, deals), weights[None], **how)[0]


# --- The same as torch's -----------------------------------------------------------------------------------------


@both_games
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("hidden", [(16,), (24, 16, 8)])
def test_outputs_are_those_of_torch(game: str, options: ViewOptions, hidden: tuple[int, ...]) -> None:
    rules = GAMES[game]
    shape = policy_shape(rules, options, hidden)
    model = ActorCritic(shape.sizes, "shared", (), rules.teams, seed=1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.2, generator=torch.Generator().manual_seed(2))
    weights = model.policy_weights()
    assert weights.shape == (shape.num_weights,) and weights.dtype == np.float32
    decisions = played(rules, options, weights, hidden, 8)
    assert len(decisions) >= 100
    with torch.no_grad():
        (batch, *_) = Learner(model, World("cpu")).in_order(decisions)
        expected = model(batch.views)[0].numpy()
    desk = Rollout(rules, options, shape.sizes).desk
    helped = 0
    for k in range(len(decisions)):
        features = decisions.features[decisions.offsets[k] : decisions.seen[k]]
        pairs = decisions.pairs[decisions.pair_offsets[k] : decisions.pair_offsets[k + 1]]
        desk.features[: len(features)], desk.pairs[: len(pairs)] = features, pairs
        think(desk, len(features), len(pairs), weights)
        assert np.abs(desk.outputs[:NUM_ACTIONS] - expected[k]).max() < 1e-4
        helped += len(pairs)
    assert (helped > 0) == options.helpers


@both_games
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_outputs_for_a_view_are_those_of_dense_matrices(game: str, options: ViewOptions) -> None:
    """From the observation to the action, with the names of suits put back."""
    rules, hidden = GAMES[game], (12, 9)
    weights = weights_at_random(rules, options, hidden)
    network, eye = Network(rules, options, hidden, weights), Eye(rules, options)
    for position in positions(rules, 100, seed=8, every=6, wit=0.5):
        features, pairs, slots = eye(position.observation, position.mask)
        x, rest = np.zeros(num_features(rules, options)), weights.astype(np.float64)
        x[features] = 1
        sizes = network.shape.sizes
        for layer, (inputs, outputs) in enumerate(pairwise(sizes)):
            matrix, bias, rest = np.split(rest, [inputs * outputs, (inputs + 1) * outputs])
            x = (np.maximum(x, 0) if layer else x) @ matrix.reshape(inputs, outputs) + bias
        assert not rest.size
        for pair in pairs:
            x[pair // NUM_CARD_FEATURES] += x[NUM_ACTIONS + pair % NUM_CARD_FEATURES]
        expected = x[[slot_action(action, np.array(slots)) for action in range(NUM_ACTIONS)]]
        assert np.abs(network.outputs(position.observation, position.mask) - expected).max() < 1e-3
        (action,) = network.actions(position.observation[None], position.mask[None])
        assert action == np.where(position.mask == 1, expected, -np.inf).argmax()


def lists(rng: np.random.Generator, rows: int, width: int) -> tuple[Any, Any]:
    """Lists of different numbers below a width, some empty, as a flat array and where each begins."""
    parts = [rng.choice(width, size=rng.integers(0, 9), replace=False) for _ in range(rows)]
    starts = np.cumsum([0, *(len(part) for part in parts)])
    return torch.tensor(np.concatenate(parts), dtype=torch.int32), torch.tensor(starts, dtype=torch.int32)


def test_gradient_of_sums_of_rows_is_that_of_a_dense_matrix() -> None:
    features, starts = lists(np.random.default_rng(3), rows=40, width=30)
    one_hot = torch.zeros(40, 30)
    for row in range(40):
        one_hot[row, features[starts[row] : starts[row + 1]].long()] = 1
    gradients, factors = [], torch.randn(40, 7)
    for dense in (False, True):
        weight = torch.randn(30, 7, generator=torch.Generator().manual_seed(4)).requires_grad_()
        sums = one_hot @ weight if dense else sum_rows(features, starts, weight)
        ((sums * factors).sum() + sums.square().sum()).backward()
        gradients.append((sums.detach(), weight.grad))
    for ours, theirs in zip(*gradients):
        assert torch.allclose(ours, theirs, atol=1e-4) and ours.abs().sum() > 0


def test_gradients_of_card_features_are_those_of_dense_matrices() -> None:
    rows, width = 40, NUM_ACTIONS * NUM_CARD_FEATURES
    pairs, starts = lists(np.random.default_rng(5), rows, width)
    dense = torch.zeros(rows, width)
    for row in range(rows):
        dense[row, pairs[starts[row] : starts[row + 1]].long()] = 1
    dense = dense.view(rows, NUM_ACTIONS, NUM_CARD_FEATURES)
    found, factors = [], torch.randn(rows, NUM_ACTIONS)
    for is_dense in (False, True):
        generator = torch.Generator().manual_seed(6)
        # Both are parts of one matrix, as in the model, so that they are not contiguous.
        both = torch.randn(rows, NUM_ACTIONS + NUM_CARD_FEATURES, generator=generator).requires_grad_()
        outputs, weights = both[:, :NUM_ACTIONS], both[:, NUM_ACTIONS:]
        if is_dense:
            sums = outputs + torch.einsum("bac,bc->ba", dense, weights)
        else:
            sums = add_card_features(both, pairs, starts)
        ((sums * factors).sum() + sums.square().sum()).backward()
        found.append((sums.detach(), both.grad))
    for ours, theirs in zip(*found):
        assert torch.allclose(ours, theirs, atol=1e-4)
    assert found[0][1][:, NUM_ACTIONS:].abs().sum() > 0


@both_games
def test_an_action_does_not_depend_on_what_else_is_in_the_batch(game: str) -> None:
    rules, hidden = GAMES[game], (16,)
    network = Network(rules, ALL, hidden, weights_at_random(rules, ALL, hidden))
    looks = positions(rules, 200, seed=9, every=5, wit=0.5)
    observations = np.stack([position.observation for position in looks])
    masks = np.stack([position.mask for position in looks])
    actions = network.actions(observations, masks)
    order = np.random.default_rng(1).permutation(len(looks))
    assert (network.actions(observations[order], masks[order]) == actions[order]).all()
    assert [int(network.actions(observations[k, None], masks[k, None])[0]) for k in range(200)] == actions.tolist()
    assert len(set(actions.tolist())) > 20


# --- Legal -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["scaled by 10,000", "bfloat16"])
def test_no_action_is_illegal_in_100_000_decisions(kind: str) -> None:
    number, actions = 0, set()
    for game, deals in (("schmier", 500), ("four_point", 500)):
        rules, hidden = GAMES[game], (16,)
        weights = weights_at_random(rules, ALL, hidden, seed=11)
        if kind == "bfloat16":
            weights = torch.from_numpy(weights).bfloat16().float().numpy()
        else:
            last = 17 * policy_shape(rules, ALL, hidden).sizes[-1]
            weights[-last:] *= 10_000
        for how in (SAMPLE, ARGMAX, EPSILON, SAMPLE):
            decisions = played(rules, ALL, weights, hidden, deals, how=how, epsilon=0.1)
            taken = decisions.masks[np.arange(len(decisions)), decisions.actions]
            assert taken.all() and (decisions.masks.sum(1) > 1).all()
            number += len(decisions)
            actions |= set(decisions.actions.tolist())
    assert number >= 100_000 and len(actions) > 60


@pytest.mark.parametrize("how", [ARGMAX, SAMPLE, EPSILON])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_outputs_that_are_no_numbers_still_give_a_legal_action(how: int, value: float) -> None:
    rng = np.random.default_rng(12)
    slots = np.array([2, 0, 3, 1])
    for state in range(300):
        mask = (rng.random(NUM_ACTIONS) < 0.1).astype(np.int8)
        mask[rng.integers(NUM_ACTIONS)] = 1
        outputs = rng.normal(size=NUM_ACTIONS).astype(np.float32)
        outputs[rng.random(NUM_ACTIONS) < (1 if state % 2 else 0.5)] = value
        assert mask[choose(mask, slots, outputs, how, 0.3, np.uint64(rng.integers(2**63)))]


# --- Chance ------------------------------------------------------------------------------------------------------


def drawn(mask: np.ndarray, outputs: np.ndarray, how: int, epsilon: float, number: int) -> np.ndarray:
    """How often each action is chosen."""
    slots = np.array([1, 3, 0, 2])
    states = np.random.default_rng(13).integers(2**63, size=number).astype(np.uint64)
    actions = [choose(mask, slots, outputs, how, epsilon, state) for state in states]
    return np.bincount(actions, minlength=NUM_ACTIONS)


def is_likely(counts: np.ndarray, shares: np.ndarray) -> bool:
    expected = shares * counts.sum()
    legal = expected > 0
    assert not counts[~legal].any()
    statistic = float(((counts - expected)[legal] ** 2 / expected[legal]).sum())
    return bool(chi2.sf(statistic, legal.sum() - 1) > 1e-4)


def test_actions_are_sampled_as_often_as_the_softmax_says() -> None:
    rng = np.random.default_rng(14)
    mask, outputs = np.zeros(NUM_ACTIONS, np.int8), rng.normal(0, 1, NUM_ACTIONS).astype(np.float32)
    mask[[3, 17, 29, 51, 53, 54, 57, 66, 69]] = 1
    by_action = np.array([outputs[slot_action(action, np.array([1, 3, 0, 2]))] for action in range(NUM_ACTIONS)])
    shares = np.where(mask == 1, np.exp(by_action), 0)
    shares /= shares.sum()
    counts = drawn(mask, outputs, SAMPLE, 0, 20_000)
    assert is_likely(counts, shares)
    assert not is_likely(counts, np.where(mask == 1, 1 / 9, 0)), "the bound would let anything pass"
    best = np.zeros(NUM_ACTIONS)
    best[shares.argmax()] = 0.8
    assert is_likely(drawn(mask, outputs, EPSILON, 0.2, 20_000), best + 0.2 * mask / 9)
    assert drawn(mask, outputs, ARGMAX, 0, 10)[shares.argmax()] == 10


def test_actions_in_play_are_sampled_as_the_model_says() -> None:
    """The probability that torch gives to the actions of a rollout is, on average, that of actions drawn from it."""
    rules, options, hidden = GAMES["schmier"], ViewOptions(), (16,)
    model = ActorCritic(policy_shape(rules, options, hidden).sizes, "shared", (), rules.teams, seed=1)
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.normal_(0, 0.15, generator=torch.Generator().manual_seed(3))
        decisions = played(rules, options, model.policy_weights(), hidden, 300)
        surprise, entropy, variance = 0.0, 0.0, 0.0
        for batch in Learner(model, World("cpu")).in_order(decisions):
            logs, _ = log_probabilities(model(batch.views)[0], batch.masks)
            each = -(logs.exp() * logs).sum(1)
            surprise -= float(logs.gather(1, batch.actions[:, None]).sum())
            entropy += float(each.sum())
            variance += float(((logs.exp() * logs.square()).sum(1) - each.square()).sum())
    assert abs(surprise - entropy) < 4 * variance**0.5
