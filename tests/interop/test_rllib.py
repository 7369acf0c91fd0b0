import os
from pathlib import Path
from typing import Any

import pytest
from recipes import ROOT, evaluate, run_recipe

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


def test_a_runner_that_is_begun_again_plays_other_deals() -> None:
    from ray.rllib.env.env_context import EnvContext

    from smear_env.interop.rllib import rllib_env

    decks = []
    for again in (False, False, True, True):
        config = EnvContext({"rules": "four_point", "episode": "deal"}, worker_index=2, recreated_worker=again)
        env = rllib_env(config)
        env.reset(seed=5)
        decks.append(tuple(env.env.deck))
    assert decks[0] == decks[1] and len(set(decks)) == 3


def test_training_on_a_cluster_survives_the_loss_of_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three imitated nodes, two of which sample; one of those is taken away after the first update."""
    import ray
    from ray.cluster_utils import Cluster
    from ray.rllib.algorithms.ppo import PPO

    from smear_env import PRESETS

    examples = str(ROOT / "examples")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([examples, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))
    monkeypatch.syspath_prepend(examples)
    store = 80 * 2**20
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": store})
    try:
        for _ in range(2):
            nodes.add_node(num_cpus=1, object_store_memory=store)
        monkeypatch.setenv("RAY_ADDRESS", nodes.address)
        from train_rllib import SharedPlayer

        train, homes = PPO.train, []

        def train_and_lose(algorithm: PPO) -> Any:
            result = train(algorithm)
            homes.append(
                algorithm.env_runner_group.foreach_env_runner(
                    lambda runner: ray.get_runtime_context().get_node_id(), local_env_runner=False
                )
            )
            if len(homes) == 1:
                (lost, *_) = (node for node in nodes.worker_nodes if node.node_id in homes[0])
                nodes.remove_node(lost, allow_graceful=False)
            return result

        monkeypatch.setattr(PPO, "train", train_and_lose)
        rules = PRESETS["four_point"]
        model = SharedPlayer.train(rules, 16_000, 0, tmp_path)
        assert len(homes) > 2 and len(homes[0]) == 2
        assert homes[-1] and set(homes[-1]) < {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        assert set(homes[0]) - set(homes[-1])
        SharedPlayer.save(model, tmp_path)
        model.stop()
        assert SharedPlayer(rules, 0, SharedPlayer.load(tmp_path, rules)).scores(20)["random"] > 0
    finally:
        ray.shutdown()
        nodes.shutdown()
