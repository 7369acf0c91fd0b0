"""What an update of training spends its time on, and how much of that is the network's own passes."""

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch

from smear_agents.network import look, think
from smear_env import Games
from smear_env.rules import OVER
from smear_train.learning import ppo
from smear_train.learning._jit import kernel
from smear_train.learning.config import TrainConfig
from smear_train.learning.distributed import World
from smear_train.learning.learner import Batch
from smear_train.learning.rollout import Decisions
from smear_train.learning.trainer import Trainer

PHASES = ("acting", "values", "learning")


class Stopwatch:
    """Seconds spent in functions, those in others that are watched not counted twice.

    A part is "phase/", or the name of something that is done in one or another phase: `seconds` has them as
    "phase/name", and as "phase/rest" what a phase does besides.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.results: dict[str, Any] = {}
        """What the last call of each part has returned."""
        self._stack = ["rest"]
        self._since = time.perf_counter()

    @contextmanager
    def watching(self, *functions: tuple[Any, str, str]) -> Iterator[None]:
        """Takes the time of some functions meanwhile: for each its owner, its name there, and its part."""
        with ExitStack() as stack:
            for owner, name, part in functions:
                stack.enter_context(mock.patch.object(owner, name, self._timed(getattr(owner, name), part)))
            self._since = time.perf_counter()
            yield
            self._charge()

    def move(self, part: str, other: str, seconds: float) -> None:
        """Takes some seconds of a part for those of another."""
        self.seconds[part] -= seconds
        self.seconds[other] += seconds

    def _charge(self) -> None:
        now = time.perf_counter()
        self.seconds[self._stack[-1]] += now - self._since
        self._since = now

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            self._charge()
            phase = self._stack[-1].partition("/")[0]
            self._stack.append(part + "rest" if part.endswith("/") else f"{phase}/{part}")
            self.results[part] = function(*arguments, **options)
            self._charge()
            self._stack.pop()
            return self.results[part]

        return timed


def bench_training(config: TrainConfig, updates: int) -> Iterator[dict[str, Any]]:
    """A row for each part of an update: name, game, share of the wall clock, us_per_decision, decisions_per_s.

    Learning, and the pass before it for values and old probabilities, are timed as they go. Acting is one kernel, so
    it is split by doing parts of it again: the network's pass with the features that were recorded, and looking at
    many views. `bare network` is the network's pass in acting, and torch's forward and backward passes for
    minibatches of as many rows and features, without a loss; `not the network` is all the rest of the update.

    Args:
        config: of the training, of which cloning is left out.
        updates: so many are measured, after two that compile.
    """
    trainer = Trainer(config, World("cpu"))
    trainer.update = config.clone_updates
    trainer.step()
    views = _some_views(trainer)
    watch = Stopwatch()
    _measure(trainer, watch, views)
    watch.seconds.clear()
    decisions = sum(_measure(trainer, watch, views) for _ in range(updates))
    bare = watch.seconds.pop("bare") + watch.seconds["acting/forward"]
    update = sum(watch.seconds.values())
    rows = {"update": update}
    for phase in PHASES:
        parts = {name: watch.seconds[name] for name in sorted(watch.seconds) if name.startswith(phase + "/")}
        rows |= {phase: sum(parts.values())} | parts
    rows |= {"rest": watch.seconds["rest"], "bare network": bare, "not the network": update - bare}
    for name, seconds in rows.items():
        yield {
            "name": name,
            "game": config.game,
            "share": round(seconds / update, 4),
            "us_per_decision": round(1e6 * seconds / decisions, 3),
            "decisions_per_s": round(decisions / seconds) if seconds > 0 else None,
        }


def _measure(trainer: Trainer, watch: Stopwatch, views: tuple[np.ndarray, np.ndarray]) -> int:
    """Watches one update, then does parts of it again; returns how many decisions there were."""
    learner = trainer.learner
    with watch.watching(
        (trainer.rollout, "play", "acting/"),
        (ppo, "evaluate", "values/"),
        (trainer, "_learn", "learning/"),
        (learner, "batch", "gathering"),
        (learner.model, "forward", "forward"),
        (torch.Tensor, "backward", "backward"),
        (learner.optimizer, "step", "optimizer"),
    ):
        trainer.step()
    decisions: Decisions = watch.results["acting/"][0]
    weights = learner.model.policy_weights()
    watch.move("acting/rest", "acting/forward", _seconds(_think, decisions, trainer.rollout.desk, weights))
    looking = _seconds(_look, *views, trainer.rollout.desk) / len(views[0])
    watch.move("acting/rest", "acting/seeing", looking * len(decisions))
    config = trainer.config.ppo if trainer.config.algorithm == "ppo" else trainer.config.dmc
    if trainer.config.algorithm == "ppo":
        with torch.no_grad():
            for batch in learner.in_order(decisions):
                watch.seconds["bare"] += _seconds(learner.model, batch.views)
    for batch in learner.minibatches(decisions, config.epochs, config.minibatches, np.random.default_rng(0)):
        watch.seconds["bare"] += _seconds(_there_and_back, trainer, batch)
    return len(decisions)


def _seconds(function: Callable[..., Any], *arguments: Any) -> float:
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def _some_views(trainer: Trainer) -> tuple[np.ndarray, np.ndarray]:
    """Views (N, D) and their masks (N, 70) of deals that are played at random, without forced moves."""
    games = Games(trainer.rules, trainer.config.deals, 1, "deal", autoreset=False, skip_forced=True)
    games.reset()
    observations, masks = [], []
    while (waiting := games.records["phase"] != OVER).any():
        observations.append(games.observations[waiting])
        masks.append(games.action_masks[waiting])
        games.step(games.sample())
    return np.concatenate(observations), np.concatenate(masks)


@kernel
def _look(observations: np.ndarray, masks: np.ndarray, desk: Any) -> None:
    for i in range(len(observations)):
        look(observations[i], masks[i], desk)


def _think(decisions: Decisions, desk: Any, weights: np.ndarray) -> None:
    d = decisions
    _think_of_all(d.features, d.offsets, d.seen, d.pairs, d.pair_offsets, desk, weights)


@kernel
def _think_of_all(
    features: np.ndarray,
    offsets: np.ndarray,
    seen: np.ndarray,
    pairs: np.ndarray,
    pair_offsets: np.ndarray,
    desk: Any,
    weights: np.ndarray,
) -> None:
    for k in range(seen.size):
        num_features, num_pairs = seen[k] - offsets[k], pair_offsets[k + 1] - pair_offsets[k]
        desk.features[:num_features] = features[offsets[k] : seen[k]]
        desk.pairs[:num_pairs] = pairs[pair_offsets[k] : pair_offsets[k + 1]]
        think(desk, num_features, num_pairs, weights)


def _there_and_back(trainer: Trainer, batch: Batch) -> None:
    """The passes of a minibatch, forward and backward."""
    trainer.learner.optimizer.zero_grad()
    outputs = trainer.learner.model(batch.views)
    torch.autograd.backward(outputs, [torch.ones_like(output) for output in outputs])
