from pathlib import Path

import pytest
from recipes import evaluate, run_recipe

pytest.importorskip("ray.rllib")
pytestmark = [pytest.mark.slow, pytest.mark.jit]


@pytest.mark.parametrize(("player", "name"), [("shared", "SharedPlayer"), ("separate", "SeparatePlayer")])
def test_recipe_trains_saves_restores_and_its_player_sits_at_our_tables(player: str, name: str, tmp_path: Path) -> None:
    run_recipe("train_rllib", tmp_path, "--player", player, "--decisions", "4000")
    evaluate(f"train_rllib:{name}", tmp_path)


def test_complete_episodes_with_a_seed_never_play_a_deal_twice() -> None:
    """RLlib itself resets with the same seed for every sample: without the adapter there would be one deal."""
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv

    from smear_env.interop.rllib import rllib_env

    env = rllib_env({"rules": "four_point", "episode": "deal"})
    assert isinstance(env, PettingZooEnv)
    env.reset(seed=5)
    first = env.env.deck
    with pytest.warns(UserWarning, match="a seed came again"):
        env.reset(seed=5)
    assert env.env.deck != first
