"""Players that are networks: reading them from checkpoints, those shipped with the package, and asking them."""

import json
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from smear_agents.agent import Agent
from smear_agents.learner_view import ViewOptions, make_view_layout
from smear_agents.network import Network, policy_shape
from smear_env import GameRules, __version__
from smear_env.rules import differences, make_rules

SCHEMA = 2
"""Of checkpoints: goes up when older ones can no longer be read, or would be seen with other eyes."""

PLAYERS = Path(str(files("smear_agents"))) / "players"
"""Where the shipped players are: a `.safetensors` for each game that there is one for."""


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged or made for something else; the message says what was found and is needed."""


class NeuralAgent(Agent):
    """Does what a network thinks best.

    Args:
        rules: the rules of the game it will play.
        seed: without effect, it leaves nothing to chance.
        network: the network.

    Raises:
        ValueError: the network was made for a game that looks different.
    """

    def __init__(self, rules: GameRules, seed: int, network: Network) -> None:
        super().__init__(rules, seed)
        self.network = network_for(network, rules)

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`."""
        return self.network.actions(observations, action_masks)

    def shares(self, observation: np.ndarray, action_mask: np.ndarray) -> dict[int, float]:
        """The probability of each legal action in its policy, for one view (D,) with its mask (70,).

        Raises:
            ValueError: it was trained to value actions, and has no policy.
        """
        (shares,) = self.network.probabilities(observation[None], action_mask[None])
        return {int(action): float(shares[action]) for action in np.flatnonzero(action_mask)}


def network_for(network: Network, rules: GameRules) -> Network:
    """A network made to play some rules that look the same to it as its own: the target may be another.

    Raises:
        ValueError: they do not.
    """
    if make_view_layout(rules, network.options) != make_view_layout(network.rules, network.options):
        raise ValueError(f"the network was trained for {network.rules.name} and cannot play {rules.name}")
    return Network(rules, network.options, network.hidden, network.weights, network.is_policy)


def shipped_games() -> list[str]:
    """The games that a player is shipped for."""
    return sorted(path.stem for path in PLAYERS.glob("*.safetensors"))


def shipped_network(rules: GameRules, game: str = "") -> Network:
    """The network of a shipped player, to play some rules.

    Args:
        rules: what it is to play.
        game: its name after `nn:`; "" for the one of the preset nearest to the rules.

    Raises:
        ValueError: none such is shipped, or it was trained for another game; the message says which there are.
    """
    name = game or differences(rules)[0]
    there = f"shipped: {', '.join(f'nn:{other}' for other in shipped_games())}"
    if name not in shipped_games():
        raise ValueError(f"no network is shipped for {name}; {there}")
    try:
        return network_for(read_network(PLAYERS / f"{name}.safetensors"), rules)
    except CheckpointError:
        raise
    except ValueError as error:
        raise ValueError(f"nn:{name}: {error}; {there}") from error


def is_checkpoint(name: str) -> bool:
    """Whether the name of an agent is the path of a checkpoint or of a training run."""
    return name.endswith(".safetensors") or (Path(name) / "ckpt").is_dir()


def load(path: str | Path, rules: GameRules | None = None, seed: int = 0) -> NeuralAgent:
    """The player of a checkpoint, or of a training run: its best checkpoint, or the last if none was judged.

    Args:
        path: a `.safetensors` file, or the folder of a run.
        rules: the rules it is to play; None: those it was trained for.
        seed: as for every agent.

    Raises:
        CheckpointError: there is no policy in it, or it is damaged.
        ValueError: no such file, or it cannot play such rules.
    """
    network = read_network(path)
    return NeuralAgent(rules or network.rules, seed, network)


def read_network(path: str | Path) -> Network:
    """The policy network of a checkpoint or of a training run.

    Raises:
        CheckpointError: no policy in it, or one of another schema or version.
        ValueError: no such file.
    """
    from safetensors import SafetensorError, safe_open

    file = checkpoint_file(path)
    try:
        with safe_open(file, framework="np") as tensors:
            data = json.loads((tensors.metadata() or {})["smear"])
            check_version(file, data)
            return make_network(data, [tensors.get_tensor(name) for name in policy_names(data)])
    except (SafetensorError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{file} is not a checkpoint of smear-env, or it is damaged: {error}") from error


def checkpoint_file(path: str | Path) -> Path:
    """The file of a checkpoint: of a run the best one, or the last if none was judged.

    Raises:
        ValueError: there is none.
    """
    file = Path(path)
    if file.is_dir():
        names = [name for name in ("best", "last") if (file / "ckpt" / f"{name}.safetensors").is_file()]
        if not names:
            raise ValueError(f"{path} has no checkpoint yet: there is no ckpt/last.safetensors in it")
        file = file / "ckpt" / f"{names[0]}.safetensors"
    if not file.is_file():
        raise ValueError(f"there is no checkpoint {path}")
    return file


def check_version(file: Path, data: dict[str, Any]) -> None:
    """Makes sure that a checkpoint can be read by this version.

    A player that was exported names no version: for one that is only to play, the schema says enough.

    Raises:
        CheckpointError: it is of another schema or version of smear_env.
    """
    for name, given, needed in (
        ("schema", data["schema"], SCHEMA),
        ("smear-env", data.get("environment", __version__), __version__),
    ):
        if given != needed:
            raise CheckpointError(f"checkpoint {file} is of {name} {given}; needed: {needed}")


def policy_names(data: dict[str, Any]) -> list[str]:
    """The names of the policy's tensors in a checkpoint, in the order of the vector of weights."""
    layers = range(len(data["hidden"]) + 1)
    return [f"policy.{part}.{layer}" for layer in layers for part in ("weight", "bias")]


def make_network(data: dict[str, Any], tensors: list[np.ndarray]) -> Network:
    """A network from the plain data of a checkpoint and its policy's tensors.

    Raises:
        CheckpointError: tensors of another shape.
    """
    rules, options, hidden = make_rules(**data["rules"]), ViewOptions(**data["view"]), tuple(data["hidden"])
    sizes = policy_shape(rules, options, hidden).sizes
    shapes = [shape for pair in pairwise(sizes) for shape in (pair, pair[1:])]
    given = [tensor.shape for tensor in tensors]
    if given != shapes:
        raise CheckpointError(f"the policy has tensors of shapes {given}; {rules.name} with this view needs {shapes}")
    weights = np.concatenate([tensor.ravel() for tensor in tensors]).astype(np.float32)
    algorithm = data["algorithm"] if "algorithm" in data else data["config"]["algorithm"]  # exported; of a run
    return Network(rules, options, hidden, weights, is_policy=algorithm == "ppo")
