"""The environment for RLlib, as far as it can be tried without RLlib."""

import warnings

import numpy as np
import pytest

from smear_env.interop.rllib import MaskedAECEnv
from smear_env.schmier_v0 import raw_env


def deals(env: MaskedAECEnv, seeds: list[int]) -> list[tuple[int, ...]]:
    decks = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for seed in seeds:
            env.reset(seed=seed)
            decks.append(tuple(env.deck))
    return decks


def test_observations_are_those_of_the_environment_as_floats() -> None:
    env = MaskedAECEnv("schmier", episode="deal")
    env.reset(seed=3)
    other = raw_env(episode="deal")
    other.reset(options={"deck": env.deck, "dealer": env.dealer})
    for agent in env.possible_agents:
        seen, expected = env.observe(agent), other.observe(agent)
        assert env.observation_space(agent).contains(seen)
        assert env.observation_space(agent) is env.observation_space(agent)
        assert np.array_equal(seen["observations"], expected["observation"])
        assert np.array_equal(seen["action_mask"], expected["action_mask"])


def test_a_seed_that_comes_again_deals_anew_and_the_same_way_in_every_process() -> None:
    decks = deals(MaskedAECEnv("schmier"), [7, 7, 7, 8])
    assert len(set(decks)) == 4
    assert deals(MaskedAECEnv("schmier"), [7, 7, 7, 8]) == decks


def test_neighbouring_workers_with_overlapping_seeds_deal_different_cards() -> None:
    """RLlib gives environment i of worker w the seed s + w + i."""
    one = deals(MaskedAECEnv("schmier", worker=1), [4, 5])
    two = deals(MaskedAECEnv("schmier", worker=2), [5, 6])
    assert len(set(one + two)) == 4


def test_it_says_so_when_a_seed_comes_again() -> None:
    env = MaskedAECEnv("four_point")
    env.reset(seed=1)
    env.reset(seed=2)
    env.reset()
    with pytest.warns(UserWarning, match="a seed came again"):
        env.reset(seed=1)
