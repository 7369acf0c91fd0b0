"""The loop of training: play, learn, write down; now and then judge.

Everything that an update draws depends on the seed and the number of the update alone, so a run that was stopped goes
on exactly as if it had not been.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor

from smear_agents import Agent, make_agent
from smear_agents.equity import shipped_equity
from smear_agents.learner_view import make_view_layout
from smear_agents.network import EPSILON, SAMPLE, policy_shape
from smear_agents.neural import CheckpointError
from smear_train.evaluate import Setup, evaluate
from smear_train.learning import cloning, dmc, ppo
from smear_train.learning.config import TrainConfig
from smear_train.learning.distributed import World
from smear_train.learning.learner import Learner
from smear_train.learning.model import ActorCritic
from smear_train.learning.rollout import Decisions, Rollout, deal_counts
from smear_train.learning.run_folder import Checkpoint, RunFolder
from smear_train.learning.tables import (
    ORDER,
    Pool,
    deal_seeds,
    equity_payoffs,
    generator,
    part_of,
    points_payoffs,
    seat_clones,
    seat_learner,
)

EVALUATION_SEED = 20_000_000
"""Of the deals that the policy is judged on. Training draws its deals from other streams of chance."""

STAGE = ("config", "update", "decisions", "seconds")
"""What a run that begins with the weights of another remembers of it."""

ALL_PASS_ALARM = 0.2
"""The share of deals thrown in from which the policy may be learning to pass always, which its score does not show."""

MADE_ALARM = 0.65
"""The share of high bids made below which bidding is punished; `club` makes three quarters of its bids."""


class Trainer:
    """A training in progress.

    Args:
        config: what to do.
        world: the processes.
        best_response_to: an agent that the policy learns to beat, and that never changes; "" for self-play.

    Attributes:
        update: how many updates are done, those of cloning included.
        decisions: decisions learned from so far, by all processes.
        earlier: the runs that the first weights are from, the oldest first: of each what `data` tells in `STAGE`.

    Raises:
        ValueError: agents that do not exist, or a reward that is not known for the game.
    """

    def __init__(self, config: TrainConfig, world: World, best_response_to: str = "") -> None:
        self.config, self.world, self.best_response_to = config, world, best_response_to
        self.rules, self.options = config.game_rules(), config.view_options()
        sizes = policy_shape(self.rules, self.options, config.network.hidden).sizes
        sees_hidden = config.network.critic == "all_hands" and config.algorithm == "ppo"
        self.rollout = Rollout(self.rules, self.options, sizes, sees_hidden)
        critic_sizes = (self.rollout.input_width, *config.network.critic_hidden)
        model = ActorCritic(sizes, config.network.critic, critic_sizes, self.rules.teams, config.seed)
        self.learner = Learner(model, world)
        names = list(dict.fromkeys([*config.opponents.agents, *filter(None, (config.clone.teacher, best_response_to))]))
        self.agents: list[Agent] = [make_agent(name, self.rules, config.seed) for name in names]
        for name in config.evaluation.against:  # better now than after many updates
            make_agent(name, self.rules, config.seed)
        if config.reward == "equity":
            shipped_equity(self.rules)
        self._number = {name: number for number, name in enumerate(names)}
        self.past: list[np.ndarray] = []
        self.update = 0
        self.decisions = 0
        self.seconds = 0.0
        self.earlier: list[dict[str, Any]] = []

    # --- One update ----------------------------------------------------------------------------------------------

    @property
    def is_cloning(self) -> bool:
        """Whether the next update is one of cloning."""
        return self.update < self.config.clone_updates

    def step(self) -> dict[str, Any]:
        """One update; returns the row for the log."""
        began = time.perf_counter()
        row: dict[str, Any] = {
            "update": self.update + 1,
            "phase": "clone" if self.is_cloning else self.config.algorithm,
        }
        decisions, counts = self._play()
        acted = time.perf_counter()
        rng = generator(self.config.seed, ORDER, self.update, self.world.rank)
        row |= self._learn(decisions, rng)
        self._keep_self()
        ended = time.perf_counter()
        self.update += 1
        (new,) = self.world.sums([len(decisions)])
        self.decisions += int(new)
        self.seconds += ended - began
        row |= {
            "decisions": self.decisions,
            "decisions_per_s": round(new / (ended - began)),
            "minutes": self.seconds / 60,
        }
        # Shares of the update's time; `smear bench train` looks closer.
        row |= {"time_acting": (acted - began) / (ended - began), "time_learning": (ended - acted) / (ended - began)}
        return row | self._rates(counts)

    def _play(self) -> tuple[Decisions, dict[str, float]]:
        """This process's share of the deals of an update: what was decided, and how the deals went."""
        config, rules = self.config, self.rules
        progress = self._progress()
        if self.is_cloning:
            seating = seat_clones(rules, config, self._number[config.clone.teacher], self.update)
        else:
            pool = Pool(len(set(config.opponents.agents)), len(self.past))
            frozen = self._number[self.best_response_to] if self.best_response_to else None
            seating = seat_learner(rules, config, pool, self.update, progress, frozen)
        own = self.world.share(config.deals)
        seating = part_of(seating, own)
        policies = np.stack([self.learner.model.policy_weights(), *self.past])
        is_dmc = config.algorithm == "dmc"
        decisions, records = self.rollout.play(
            deal_seeds(config.seed, self.update, config.deals)[own],
            seating,
            policies,
            self.agents,
            EPSILON if is_dmc else SAMPLE,
            dmc.exploration(config.dmc, progress) if is_dmc else 0.0,
        )
        payoffs = (
            points_payoffs(records, rules)
            if config.reward == "points"
            else equity_payoffs(records, seating.scores, rules)
        )
        alone = (seating.roles == seating.roles[:, :1]).all(1)
        counted = alone & ~seating.must_bid if alone.any() else ~seating.must_bid
        counts = deal_counts(records[counted], rules.teams)
        illegal = decisions.masks[np.arange(len(decisions)), decisions.actions] == 0
        counts["illegal"] = float(illegal.sum())
        return replace(decisions, payoffs=payoffs * np.float32(config.reward_scale)), counts

    def _learn(self, decisions: Decisions, rng: np.random.Generator) -> dict[str, float]:
        config = self.config
        if self.is_cloning:
            return cloning.learn(self.learner, decisions, config.clone, self.update / config.clone_updates, rng)
        if config.algorithm == "dmc":
            return dmc.learn(self.learner, decisions, config.dmc, self._progress(), rng)
        return ppo.learn(self.learner, decisions, config.ppo, self._progress(), rng)

    def _progress(self) -> float:
        """How much of the run proper is over, 0 to 1."""
        return max(self.update - self.config.clone_updates, 0) / self.config.updates

    def _keep_self(self) -> None:
        """Takes the policy into the pool every so many updates."""
        opponents, done = self.config.opponents, self.update + 1 - self.config.clone_updates
        if opponents.past and opponents.share > 0 and done >= 0 and done % opponents.every == 0:
            self.past = [*self.past, self.learner.model.policy_weights()][-opponents.past :]

    def _rates(self, counts: dict[str, float]) -> dict[str, float]:
        names = sorted(counts)
        total = dict(zip(names, self.world.sums([counts[name] for name in names])))
        scored = max(total["scored"], 1.0)
        return {
            "all_pass": 1 - total["scored"] / total["deals"] if total["deals"] else math.nan,
            "bid_made": total["made"] / scored,
            "mean_bid": total["bids"] / scored,
            "illegal": int(total["illegal"]),
        }

    def alarm(self, row: dict[str, Any]) -> str | None:
        """What is wrong with the bidding, which the score alone would not show; None if nothing is."""
        if row["all_pass"] > ALL_PASS_ALARM:
            return (
                f"update {row['update']}: {row['all_pass']:.0%} of the deals of self-play are thrown in; the policy "
                "may be learning to pass always. Cures: clone a teacher, or must_bid=0.3"
            )
        if row["mean_bid"] > self.rules.min_bid + 1 and row["bid_made"] < MADE_ALARM:
            return (
                f"update {row['update']}: the mean bid is {row['mean_bid']:.1f} and {row['bid_made']:.0%} are made; a "
                "policy that is punished for its bids learns to pass always"
            )
        return None

    # --- Checkpoints ---------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """All that a checkpoint holds as tensors: weights, the optimizer's memory, earlier selves."""
        tensors = {name: tensor.detach().cpu() for name, tensor in self.learner.model.state_dict().items()}
        names = [name for name, _ in self.learner.model.named_parameters()]
        for number, state in self.learner.optimizer.state_dict()["state"].items():
            for key, value in state.items():
                tensors[f"optimizer.{names[number]}.{key}"] = torch.as_tensor(value).detach().cpu()
        for number, weights in enumerate(self.past):
            tensors[f"pool.{number}"] = torch.from_numpy(weights)
        return tensors

    def data(self) -> dict[str, Any]:
        """All that a checkpoint holds as plain data."""
        return {
            "game": self.config.game,
            "rules": msgspec.to_builtins(self.rules),
            "view": msgspec.to_builtins(self.config.view),
            "hidden": list(self.config.network.hidden),
            "config": msgspec.to_builtins(self.config),
            "best_response_to": self.best_response_to,
            "update": self.update,
            "decisions": self.decisions,
            "seconds": self.seconds,
            "past": len(self.past),
            "earlier": self.earlier,
        }

    def restore(self, checkpoint: Checkpoint) -> None:
        """Goes on where a checkpoint of the same configuration was written."""
        self._take_weights(checkpoint)
        names = [name for name, _ in self.learner.model.named_parameters()]
        state: dict[int, dict[str, Tensor]] = {}
        for number, name in enumerate(names):
            prefix = f"optimizer.{name}."
            state[number] = {
                key.removeprefix(prefix): tensor for key, tensor in checkpoint.tensors.items() if key.startswith(prefix)
            }
        groups = self.learner.optimizer.state_dict()["param_groups"]
        self.learner.optimizer.load_state_dict({"state": state if any(state.values()) else {}, "param_groups": groups})
        data = checkpoint.data
        self.past = [checkpoint.tensors[f"pool.{number}"].numpy().copy() for number in range(data["past"])]
        self.update, self.decisions, self.seconds = data["update"], data["decisions"], data["seconds"]
        self.earlier = data.get("earlier", [])

    def load_weights(self, checkpoint: Checkpoint) -> None:
        """Begins with the networks of another run; nothing else of it is taken over.

        Networks that were trained without the scores can go on with them, where weights of zero make no difference.

        Raises:
            CheckpointError: they have other layers, or other inputs.
        """
        self._take_weights(checkpoint)
        self.earlier = [*checkpoint.data.get("earlier", []), {key: checkpoint.data[key] for key in STAGE}]

    def _take_weights(self, checkpoint: Checkpoint) -> None:
        given_tensors = dict(checkpoint.tensors)
        if self._lacks_scores(checkpoint):
            for name in given_tensors.keys() & {"policy.weight.0", "critic.weight.0"}:
                given_tensors[name] = self._with_scores(given_tensors[name])
        names = self.learner.model.state_dict()
        for name, tensor in names.items():
            given = given_tensors.get(name)
            if given is None or given.shape != tensor.shape:
                raise CheckpointError(
                    f"checkpoint {checkpoint.path} has other networks: {name} is "
                    f"{'missing' if given is None else tuple(given.shape)}; needed: {tuple(tensor.shape)}. Network and "
                    "view have to be configured as there; only view.scores may be true where it was not"
                )
        self.learner.model.load_state_dict({name: given_tensors[name] for name in names})

    def _lacks_scores(self, checkpoint: Checkpoint) -> bool:
        return self.config.view.scores and checkpoint.data["view"] == msgspec.to_builtins(
            msgspec.structs.replace(self.config.view, scores=False)
        )

    def _with_scores(self, weight: Tensor) -> Tensor:
        """A first layer, (F, H), with inputs for the scores."""
        begin, end = make_view_layout(self.rules, self.options)["missing"][0]
        return torch.cat([weight[:begin], weight.new_zeros(end - begin, weight.shape[1]), weight[begin:]])


# --- A whole run -------------------------------------------------------------------------------------------------


@dataclass
class Watch:
    """How a run is followed, and ended early; every function may be called after any update.

    Attributes:
        update: gets the row of every update.
        evaluation: gets the row of every evaluation.
        alarm: gets a warning.
        stop: whether to end after this update.
    """

    update: Callable[[dict[str, Any]], None] = lambda row: None
    evaluation: Callable[[dict[str, Any]], None] = lambda row: None
    alarm: Callable[[str], None] = lambda text: None
    stop: Callable[[], bool] = lambda: False


def run(trainer: Trainer, folder: RunFolder | None, watch: Watch) -> bool:
    """Trains to the end of the configuration, or until it is to stop.

    After every update the row is logged and the last checkpoint replaced, so that not more than one update can be lost.

    Args:
        trainer: new or restored.
        folder: of the run; None in processes that do not write.
        watch: who follows.

    Returns:
        Whether it came to its end.
    """
    config = trainer.config
    if trainer.update and _is_to_judge(trainer):  # it may have been stopped in the middle of that
        if folder is not None:
            judge(trainer, folder, watch)
        trainer.world.wait()
    while trainer.update < config.total_updates:
        row = trainer.step()
        if folder is not None:
            folder.log(row)
            keep = config.keep and trainer.update % config.keep == 0
            names = ("last", "step") if keep else ("last",)
            folder.save(trainer.update, trainer.tensors(), trainer.data(), names=names)
        watch.update(row)
        if not trainer.update <= config.clone_updates and (text := trainer.alarm(row)):
            watch.alarm(text)
        if _is_to_judge(trainer):
            if folder is not None:
                judge(trainer, folder, watch)
            trainer.world.wait()
        if trainer.world.agree(watch.stop()):
            return trainer.update == config.total_updates
    return True


def _is_to_judge(trainer: Trainer) -> bool:
    every, done = trainer.config.evaluation.every, trainer.update - trainer.config.clone_updates
    return trainer.update == trainer.config.total_updates or bool(every and done >= 0 and done % every == 0)


def judge(trainer: Trainer, folder: RunFolder, watch: Watch) -> None:
    """Plays duplicate deals against every baseline, logs the results, and keeps the best checkpoint.

    Whole games if it is games that the policy learns to win. What has been logged for this update is left out.
    """
    config, rules = trainer.config, trainer.rules
    measure = "win_rate" if config.episode == "game" else "mean"
    judged = {one["opponent"] for one in folder.evaluations() if one["update"] == trainer.update}
    against = [trainer.best_response_to] if trainer.best_response_to else list(config.evaluation.against)
    for number, opponent in enumerate(against):
        if opponent in judged:
            continue
        setup = Setup(
            rules=rules,
            a=str(folder.checkpoint("last")),
            b=opponent,
            deals=config.evaluation.deals,
            seed=EVALUATION_SEED,
            form="one-vs-two" if rules.teams == 3 else None,
            episode=config.episode,
        )
        result = evaluate(setup)
        difference, won = result.difference, result.won
        row: dict[str, Any] = {
            "update": trainer.update,
            "decisions": trainer.decisions,
            "minutes": trainer.seconds / 60,
            "opponent": opponent,
            "deals": config.evaluation.deals,
            "mean": difference.mean,
            "ci_low": difference.low,
            "ci_high": difference.high,
        }
        if won is not None:
            row |= {"win_rate": won.mean, "win_low": won.low, "win_high": won.high}
        earlier = [one[measure] for one in folder.evaluations() if one["opponent"] == opponent]
        if number == 0 and row[measure] > max(earlier, default=-np.inf):
            folder.save(trainer.update, trainer.tensors(), trainer.data(), names=("best",))
            folder.record_best(row)
        folder.log_evaluation(row)  # the last, as what is logged is not done again
        watch.evaluation(row)
