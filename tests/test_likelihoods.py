"""The policy's head as kernels: the same numbers and gradients as torch finds with its own operations."""

import torch

from smear_agents.learner_view import NUM_CARD_FEATURES
from smear_env.actions import NUM_ACTIONS
from smear_train.learning.model import add_card_features, likelihoods, log_probabilities


def test_likelihoods_and_their_gradients_are_those_of_torch() -> None:
    torch.manual_seed(0)
    outputs = (torch.randn(50, NUM_ACTIONS) * 3).requires_grad_()
    masks = torch.rand(50, NUM_ACTIONS) < 0.1
    actions = torch.randint(NUM_ACTIONS, (50,))
    masks[torch.arange(50), actions] = True
    masks[0] = torch.arange(NUM_ACTIONS) == actions[0]  # a forced move
    log_probs, probs = log_probabilities(outputs, masks)
    expected = log_probs.gather(1, actions[:, None]).squeeze(1), -(probs * log_probs).sum(1)
    found = likelihoods(outputs, masks, actions)
    weights = torch.randn(2, 50)
    gradients = []
    for pair in (expected, found):
        (gradient,) = torch.autograd.grad((weights[0] * pair[0] + weights[1] * pair[1]).sum(), outputs)
        gradients.append(gradient)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients[1], gradients[0], atol=1e-6, rtol=1e-4)
    assert not gradients[1][0].any()


def test_large_outputs_have_finite_likelihoods_and_gradients() -> None:
    outputs = torch.tensor([[1e5, -1e5, 0.0] + [0.0] * (NUM_ACTIONS - 3)], requires_grad=True)
    masks = torch.arange(NUM_ACTIONS)[None] < 2
    log_probs, entropies = likelihoods(outputs, masks, torch.tensor([1]))
    (log_probs + entropies).sum().backward()
    assert log_probs.item() == -2e5 and entropies.item() == 0
    assert torch.isfinite(outputs.grad).all()


def test_card_features_are_added_and_their_gradients_come_back() -> None:
    torch.manual_seed(0)
    outputs = torch.randn(3, NUM_ACTIONS + NUM_CARD_FEATURES, requires_grad=True)
    true_of = ((0, 5, 7), (0, 9, 7), (2, 5, 0), (2, 5, 41))  # row, card, feature
    pairs = torch.tensor([card * NUM_CARD_FEATURES + feature for _, card, feature in true_of], dtype=torch.int32)
    found = add_card_features(outputs, pairs, torch.tensor([0, 2, 2, 4], dtype=torch.int32))
    expected = outputs[:, :NUM_ACTIONS].clone()
    for row, card, feature in true_of:
        expected[row, card] = expected[row, card] + outputs[row, NUM_ACTIONS + feature]
    weights = torch.randn(found.shape)
    gradients = [torch.autograd.grad((weights * sums).sum(), outputs)[0] for sums in (found, expected)]
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*gradients)
