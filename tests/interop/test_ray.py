"""Evaluations and tournaments on a Ray cluster: three nodes that are imitated on this machine."""

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ray = pytest.importorskip("ray")

from ray.cluster_utils import Cluster
from safetensors.numpy import save_file

from smear_agents.learner_view import ViewOptions
from smear_agents.network import policy_shape
from smear_agents.neural import SCHEMA, policy_names
from smear_env import PRESETS, __version__
from smear_train import cluster as smear_cluster
from smear_train.cli import main
from smear_train.evaluate import Setup, document, evaluate
from smear_train.match import Crew, chunk_size

pytestmark = [pytest.mark.jit, pytest.mark.filterwarnings("default")]

HERE = Path(__file__).parent
STORE = 80 * 2**20  # bytes, about the least that Ray takes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        # A token that some Ray has left in the home directory would be asked for by one half of this cluster only.
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("SMEAR_TEST_FOLDER", str(folder))
        patch.syspath_prepend(str(HERE))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))
        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": STORE})
        try:
            for _ in range(2):
                nodes.add_node(num_cpus=1, object_store_memory=STORE)
            (folder / "head").write_text(str(raylet_of(nodes.head_node)))
            yield nodes
        finally:
            nodes.shutdown()


def raylet_of(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def without_times(result: Any) -> Any:
    if isinstance(result, dict):
        return {key: without_times(value) for key, value in result.items() if not key.startswith("ms_")}
    return [without_times(value) for value in result] if isinstance(result, list) else result


def printed(capsys: pytest.CaptureFixture[str], words: list[str], code: int) -> Any:
    assert main([*words, "--json", "--quiet"]) == code
    return without_times(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("eval club greedy --game schmier --deals 300 --seed 4", 0),
        ("eval club random --game four_point --deals 100 --seed 4 --episode game --rotations one", 0),
        ("eval --protocol four_point random --deals 20", 3),  # fewer than the protocol wants
        ("tournament --agents club,greedy,random --game schmier --deals 100 --seed 4", 0),
    ],
)
def test_a_cluster_prints_what_one_process_prints(
    command: str, code: int, cluster: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = printed(capsys, command.split(), code)
    assert printed(capsys, [*command.split(), "--ray", cluster.address], code) == alone


def test_a_sequential_test_stops_where_it_would(cluster: Any) -> None:
    setup = Setup(PRESETS["four_point"], "club", "random", 2000, sprt=(0.0, 0.5))
    alone = document(evaluate(setup))
    assert alone["deals"] < 2000
    assert without_times(document(evaluate(setup, Crew(ray=cluster.address)))) == without_times(alone)
    assert not ray.is_initialized()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """An untrained network for Four Point."""
    rules, options, hidden = PRESETS["four_point"], ViewOptions(), (8,)
    rng = np.random.default_rng(1)
    sizes = policy_shape(rules, options, hidden).sizes
    shapes = [shape for pair in pairwise(sizes) for shape in (pair, pair[1:])]
    data = {"schema": SCHEMA, "environment": __version__, "rules": {"rules": "four_point"}}
    data |= {"view": asdict(options), "hidden": hidden, "algorithm": "ppo"}
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in zip(policy_names(data), shapes)}
    path = tmp_path / "four_point.safetensors"
    save_file(tensors, path, {"smear": json.dumps(data)})
    return path


def test_checkpoints_are_taken_to_the_nodes(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: Path
) -> None:
    """By their content: the path may be another on the nodes, or lead to another file."""
    monkeypatch.chdir(tmp_path)
    setup = Setup(PRESETS["four_point"], f"bid=club+exchange=club+play={checkpoint.name}", checkpoint.name, 40)
    alone = without_times(document(evaluate(setup)))
    assert without_times(document(evaluate(setup, Crew(ray=cluster.address)))) == alone


def test_a_node_of_another_version_is_named(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smear_cluster, "versions", lambda: {"smear-env": "9.9.9"})
    with pytest.raises(RuntimeError, match=r"has smear-env \d.*, but 9\.9\.9 is needed"):
        evaluate(Setup(PRESETS["four_point"], "greedy", "random", 40), Crew(ray=cluster.address))


def test_what_a_stopped_run_has_played_is_not_played_again(cluster: Any, tmp_path: Path) -> None:
    setup = Setup(PRESETS["four_point"], "club", "greedy", 400, seed=6)

    def stop(done: int) -> None:
        if done >= 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(setup, Crew(keep=tmp_path, ray=cluster.address), stop)
    assert not ray.is_initialized()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    told: list[int] = []
    again = evaluate(setup, Crew(keep=tmp_path, ray=cluster.address), told.append)
    assert told[0] > 200 and told[-1] == 400
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())
    assert without_times(document(again)) == without_times(document(evaluate(setup)))


def test_the_work_of_a_lost_node_is_done_again(
    cluster: Any, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node that hangs in the middle of a chunk is taken away; without its chunk there would be no result."""
    words = (
        "tournament --agents cluster_players:HangsOnce,greedy --game four_point --deals 320 --time-limit 900".split()
    )
    alone = printed(capsys, words, 0)
    removed = []

    def remove() -> None:
        while not (folder / "hanging").exists():
            time.sleep(0.1)
        raylet = int((folder / "hanging").read_text())
        (node,) = (node for node in cluster.worker_nodes if raylet_of(node) == raylet)
        cluster.remove_node(node, allow_graceful=False)
        removed.append(raylet)

    remover = threading.Thread(target=remove, daemon=True)
    remover.start()
    assert printed(capsys, [*words, "--ray", cluster.address, "--keep", str(tmp_path)], 0) == alone
    remover.join(30)
    assert len(removed) == 1
    assert len(list(tmp_path.rglob("*.npz"))) == 320 / chunk_size(320)  # each chunk once


@pytest.mark.parametrize(
    ("address", "code", "said"),
    [
        ("127.0.0.1:1", 1, "no Ray cluster answers at 127.0.0.1:1"),
        ("nowhere", 2, "allowed: auto"),
        ("ray://head:10001", 2, "allowed: auto"),
    ],
)
def test_an_address_that_leads_nowhere(address: str, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "club", "greedy", "--game", "schmier", "--deals", "4", "--ray", address]) == code
    assert said in capsys.readouterr().err


def test_workers_are_of_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    words = "tournament --agents club,greedy --game schmier --deals 4 --ray auto --workers 2"
    assert main(words.split()) == 2
    assert "--workers is of this machine" in capsys.readouterr().err
