"""The configuration of a training run: what stands in configs/train/*.toml.

Unknown keys, wrong types and values out of range are errors that name the place. Every trick has its switch here and
its source beside it.
"""

import difflib
import inspect
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from smear_agents.learner_view import ViewOptions
from smear_env import GameRules
from smear_env.rules import make_rules

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Units = Annotated[int, Meta(ge=1, le=4096)]
Share = Annotated[float, Meta(ge=0, le=1)]
Amount = Annotated[float, Meta(ge=0)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file."""


class ViewConfig(_Part, frozen=True):
    """What the network is shown besides the table; see `smear_agents.learner_view.ViewOptions`.

    Attributes:
        canonical_suits: trump and its colour in fixed places: the symmetry of the suits costs nothing to learn.
        helpers: derived facts, such as which cards cannot be beaten. They add no information.
        scores: what each team lacks to the target. Only with reward "equity" is there something to learn from it; a
            policy trained without can go on with it (`--load`).
        estimates: what `club` expects of each card, and who may hold the trumps; with helpers only.
    """

    canonical_suits: bool = True
    helpers: bool = True
    scores: bool = False
    estimates: bool = True


class NetworkConfig(_Part, frozen=True):
    """The networks: perceptrons with ReLU units, one policy for all seats.

    Attributes:
        hidden: units of each hidden layer of the policy.
        critic: "shared": an output of the policy's last layer. "separate": a network of its own. "all_hands": one that
            in training also sees the other hands and the stock, with the observation (an asymmetric critic: without
            the observation it would be biased; Baisero and Amato, AAMAS 2022). It values the table for every team at
            everybody's turn, so that advantages follow the table from turn to turn.
        critic_hidden: units of each hidden layer of a critic of its own.
    """

    hidden: Annotated[tuple[Units, ...], Meta(min_length=1)] = (128, 128)
    critic: Literal["shared", "separate", "all_hands"] = "shared"
    critic_hidden: Annotated[tuple[Units, ...], Meta(min_length=1)] = (128, 128)


class CloneConfig(_Part, frozen=True):
    """Learning to do what a scripted player does, before any learning from results.

    In bridge bidding the start decides the end: +1.24 against -0.64 IMP from scratch (Kita and others, 2024).

    Attributes:
        teacher: an agent; "" for no cloning.
        updates: so many updates, of `deals` deals each.
        epochs, minibatches, learning_rate: as of the algorithm; the rate falls to a tenth.
    """

    teacher: str = ""
    updates: Count = 24
    epochs: Positive = 2
    minibatches: Positive = 40
    learning_rate: Amount = 1e-3


class PpoConfig(_Part, frozen=True):
    """Proximal policy optimisation (Schulman and others, 2017) with generalised advantages (2016).

    Attributes:
        epochs: how often the decisions of an update are learned from.
        minibatches: parts that they are split into, the same number however many there are.
        learning_rate, final_learning_rate: of Adam; from the one to the other in a straight line.
        entropy, final_entropy: weight of the entropy bonus, likewise.
        clip: how far the ratio of probabilities may go before its gradient is cut.
        trace: lambda of the advantages, from one own decision to the next; with critic "all_hands" from one decision
            of the table to the next. Nothing is discounted: a deal is short.
        value_weight: of the critic's loss.
        max_gradient: its norm is cut to this.
        normalise: advantages to mean 0 and deviation 1, "phase": bidding, exchange and play each by themselves, as
            their scales differ; "all": together; "none".
    """

    epochs: Positive = 2
    minibatches: Positive = 12
    learning_rate: Amount = 1e-3
    final_learning_rate: Amount = 1e-4
    entropy: Amount = 0.02
    final_entropy: Amount = 0.005
    clip: Annotated[float, Meta(gt=0)] = 0.2
    trace: Share = 0.95
    value_weight: Amount = 0.5
    max_gradient: Annotated[float, Meta(gt=0)] = 0.5
    normalise: Literal["phase", "all", "none"] = "phase"


class DmcConfig(_Part, frozen=True):
    """Deep Monte Carlo (Zha and others, DouZero, 2021): the network values actions by the results that followed them.

    Attributes:
        epochs, minibatches, learning_rate, final_learning_rate, max_gradient: as of PPO.
        epsilon, final_epsilon: share of decisions taken at random.
    """

    epochs: Positive = 1
    minibatches: Positive = 12
    learning_rate: Amount = 1e-3
    final_learning_rate: Amount = 1e-4
    max_gradient: Annotated[float, Meta(gt=0)] = 40.0
    epsilon: Share = 0.05
    final_epsilon: Share = 0.01


class OpponentsConfig(_Part, frozen=True):
    """Who sits at the tables besides the policy that learns: it plays all seats of most of them.

    Against its present self alone a policy may forget how to beat its earlier ones (fictitious play).

    Attributes:
        share: of tables at which one team learns and the others are played by somebody of the pool.
        agents: scripted players of the pool.
        past: how many earlier selves are in it; the oldest goes.
        every: updates between two that are kept.
        weight_of_agents: how often one of `agents` is drawn rather than an earlier self.
    """

    share: Share = 0.2
    agents: tuple[str, ...] = ("club",)
    past: Count = 6
    every: Positive = 20
    weight_of_agents: Share = 0.5


class EvaluationConfig(_Part, frozen=True):
    """How the policy is judged while it learns: on duplicate deals that are never trained on.

    Attributes:
        every: updates between two evaluations; 0: only at the end.
        against: agents. The first is the one by which the best checkpoint is chosen.
        deals: of each.
    """

    every: Count = 50
    against: Annotated[tuple[str, ...], Meta(min_length=1)] = ("club", "greedy")
    deals: Positive = 1000


class TrainConfig(_Part, frozen=True):
    """A training run.

    Attributes:
        game: a preset or the path of a rules file.
        rules: single rule options, by name.
        algorithm: "ppo" or "dmc".
        seed: of all chance.
        updates: of the algorithm, cloning not counted.
        deals: deals played for an update, by all processes together.
        reward: "points" (own change of score less the mean of the others') or "equity" (change of the chance to win
            the game, from scores as they come about in games; `smear_agents.MatchEquity`).
        reward_scale: what the reward is multiplied by.
        must_bid, final_must_bid: share of self-play deals in which a dealer must bid when all have passed, falling in
            a straight line. A cure for learning to pass always: those deals go on teaching how to play and bid.
        keep: updates between two checkpoints that are kept; 0: only the last and the best.
    """

    game: str
    rules: dict[str, Any] = {}
    algorithm: Literal["ppo", "dmc"] = "ppo"
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    updates: Positive = 400
    deals: Annotated[int, Meta(ge=2)] = 1024
    reward: Literal["points", "equity"] = "points"
    reward_scale: Annotated[float, Meta(gt=0)] = 0.25
    must_bid: Share = 0.0
    final_must_bid: Share = 0.0
    keep: Count = 0
    view: ViewConfig = ViewConfig()
    network: NetworkConfig = NetworkConfig()
    clone: CloneConfig = CloneConfig()
    ppo: PpoConfig = PpoConfig()
    dmc: DmcConfig = DmcConfig()
    opponents: OpponentsConfig = OpponentsConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    def game_rules(self) -> GameRules:
        """The rules of the game.

        Raises:
            ValueError, TypeError: there are none such.
        """
        return make_rules(self.game, **self.rules)

    def view_options(self) -> ViewOptions:
        """What the network is shown."""
        return ViewOptions(**msgspec.structs.asdict(self.view))

    @property
    def episode(self) -> Literal["deal", "game"]:
        """What the policy learns to do well in, and so is judged by."""
        return "game" if self.reward == "equity" else "deal"

    @property
    def total_updates(self) -> int:
        """Updates of the whole run, those of cloning first."""
        return self.clone_updates + self.updates

    @property
    def clone_updates(self) -> int:
        """Updates spent on cloning."""
        return self.clone.updates if self.clone.teacher else 0


def scheduled(begin: float, end: float, progress: float) -> float:
    """A number that goes from `begin` to `end` in a straight line while `progress` goes from 0 to 1."""
    return begin + (end - begin) * progress


def load_config(path: str | Path, changes: tuple[str, ...] = ()) -> TrainConfig:
    """Reads a configuration file.

    Args:
        path: of a TOML file.
        changes: `key=value` each, the key with dots, as in `ppo.epochs=3`.

    Raises:
        ValueError: it cannot be read, or it is not right: which key, what was given, what is allowed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return parse_config(text, str(path), changes)


def parse_config(text: str, source: str = "the configuration", changes: tuple[str, ...] = ()) -> TrainConfig:
    """A configuration from TOML; see `load_config`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{source} is not TOML: {error}") from error
    for change in changes:
        _change(data, change)
    try:
        config = msgspec.convert(data, TrainConfig)
        config.game_rules()
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise ValueError(f"{source}: {_explain(error)}") from error
    if config.view.scores and config.reward != "equity":
        raise ValueError(f'{source}: view.scores=true needs reward="equity": points do not depend on the score')
    if config.clone.teacher and config.algorithm == "dmc":
        raise ValueError(f'{source}: clone.teacher needs algorithm="ppo": what deep Monte Carlo learns is no policy')
    return config


def _change(data: dict[str, Any], change: str) -> None:
    key, equals, value = change.partition("=")
    if not equals or not key:
        raise ValueError(f"--set {change!r} is not KEY=VALUE, as in --set ppo.epochs=3")
    *tables, last = key.strip().split(".")
    for table in tables:
        data = data.setdefault(table, {})
        if not isinstance(data, dict):
            raise ValueError(f"--set {change!r}: {table} is not a table")
    try:
        data[last] = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        data[last] = value.strip()  # a bare word is a string


def _explain(error: Exception) -> str:
    """The message of msgspec, with the nearest right key where one is unknown."""
    text = str(error)
    if "unknown field `" not in text:
        return text.replace("$.", "").replace(" - at `$`", "")
    given = text.split("unknown field `")[1].split("`")[0]
    place = text.split("at `$.")[1].split("`")[0] if "at `$." in text else ""
    struct: Any = TrainConfig
    for name in filter(None, place.split(".")):
        struct = next(field.type for field in msgspec.structs.fields(struct) if field.name == name)
    known = [field.name for field in msgspec.structs.fields(struct)]
    near = difflib.get_close_matches(given, known)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
    return f"unknown key {place + '.' if place else ''}{given}; {hint}"


def as_toml(config: TrainConfig) -> str:
    """The whole configuration as TOML, defaults included."""
    return msgspec.toml.encode(config).decode()


def config_table(struct: Any = TrainConfig, prefix: str = "") -> list[tuple[str, str, str]]:
    """Every key with its default and its meaning, for the documentation."""
    meanings = _attributes(struct)
    rows = []
    for field in msgspec.structs.fields(struct):
        if isinstance(field.default, _Part):
            continue
        default = "" if field.default is msgspec.NODEFAULT else msgspec.json.encode(field.default).decode()
        if field.default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
            default = "{}"
        meaning = "the same at the end of the run" if field.name.startswith("final_") else meanings[field.name]
        rows.append((f"`{prefix}{field.name}`", f"`{default}`" if default else "must be given", meaning))
    for field in msgspec.structs.fields(struct):
        if isinstance(field.default, _Part):
            rows += config_table(type(field.default), f"{prefix}{field.name}.")
    return rows


def _attributes(struct: Any) -> dict[str, str]:
    """What the docstring of a table says of each key."""
    meanings: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(struct.__doc__).partition("Attributes:")[2].splitlines():
        if re.match("    [a-z]", line):
            keys, _, text = line.strip().partition(": ")
            names = keys.split(", ")
            meanings |= dict.fromkeys(names, text)
        elif line.strip():
            meanings |= {name: f"{meanings[name]} {line.strip()}" for name in names}
    return meanings
