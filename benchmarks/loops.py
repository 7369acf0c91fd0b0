"""Random legal play through the interface that each project's users use.

A case makes a loop: an iterator that makes one decision, or one for each game of a batch, at every `next`; dealing and
resets happen on the way. Nothing is imported before a case is made, so that a library that is not there, or fails,
costs its own rows only. Python loops choose among legal actions in the same way in every project: `pick`.
"""

import importlib
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SEED = 1
BATCHES = (1, 64, 1024, 8192)
PGX_BATCHES = (1, 1024, 8192)
TAPE = 512
"""Steps whose actions are drawn beforehand, where the choice is not measured."""


class Loop(NamedTuple):
    """What is measured: an iterator, and what it gives a player to see at each decision."""

    steps: Iterator[None]
    obs_numbers: int = 0
    obs_bytes: int = 0
    decisions: int = 1
    """Decisions counted for each game at each step of the iterator."""


class Case(NamedTuple):
    """A row to be: the game, the calls it goes through, the games at once, and the loop to make."""

    game: str
    interface: str
    batch: int
    make: Callable[[], Loop]


class Peer(NamedTuple):
    """A project: its name, its package, and its cases."""

    name: str
    package: str
    cases: Callable[[], list[Case]]


def pick(legal: Sequence[Any] | np.ndarray, rng: random.Random) -> Any:
    """One of the legal actions, all equally likely."""
    return legal[int(rng.random() * len(legal))]


# --- OpenSpiel ---------------------------------------------------------------------------------------------------

SPIEL_GAMES = ("euchre", "spades", "hearts", "bridge(use_double_dummy_result=false)")
SPIEL_CORE = "legal_actions, apply_action; nothing observed"
SPIEL_PLAIN = "the same, and *_tensor() and legal_actions_mask(): new lists"
SPIEL_BUFFER = "the same, and make_observation(): one buffer, and a mask"


def openspiel_cases() -> list[Case]:
    """Four trick-taking games, in three ways."""
    ways = ((SPIEL_CORE, spiel_core), (SPIEL_PLAIN, spiel_plain), (SPIEL_BUFFER, spiel_buffer))
    return [
        Case(game.partition("(")[0], interface, 1, partial(way, game))
        for game in SPIEL_GAMES
        for interface, way in ways
    ]


def spiel_steps(game: Any, observe: Callable[[Any, list[int]], Any]) -> Iterator[None]:
    """Games by random legal actions, one a step; chance is drawn in Python, as OpenSpiel leaves to its users."""
    rng = random.Random(SEED)
    while True:
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                actions, chances = zip(*state.chance_outcomes())
                state.apply_action(rng.choices(actions, chances)[0])
                continue
            legal = state.legal_actions()
            observe(state, legal)
            state.apply_action(pick(legal, rng))
            yield
        state.returns()


def spiel_core(name: str) -> Loop:
    """Nothing observed."""
    import pyspiel

    return Loop(spiel_steps(pyspiel.load_game(name), lambda state, legal: None))


def spiel_plain(name: str) -> Loop:
    """The tensor, of the information state where the game has no other, and the mask."""
    import pyspiel

    game = pyspiel.load_game(name)
    if game.get_type().provides_observation_tensor:
        size = game.observation_tensor_size()
        steps = spiel_steps(game, lambda state, legal: (state.observation_tensor(), state.legal_actions_mask()))
    else:
        size = game.information_state_tensor_size()
        steps = spiel_steps(game, lambda state, legal: (state.information_state_tensor(), state.legal_actions_mask()))
    return Loop(steps, size, 4 * size)


def spiel_buffer(name: str) -> Loop:
    """The same tensor written into one buffer, and the mask into another."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    game = pyspiel.load_game(name)
    recall = not game.get_type().provides_observation_tensor
    observation = make_observation(game, pyspiel.IIGObservationType(perfect_recall=recall))
    mask = np.zeros(game.num_distinct_actions(), np.int8)

    def observe(state: Any, legal: list[int]) -> None:
        observation.set_from(state, state.current_player())
        mask.fill(0)
        mask[legal] = 1

    return Loop(spiel_steps(game, observe), observation.tensor.size, observation.tensor.nbytes)


# --- RLCard ------------------------------------------------------------------------------------------------------


def rlcard_cases() -> list[Case]:
    """Card games short and long; a state always holds the observation and the legal actions."""
    games = ("bridge", "doudizhu", "gin-rummy", "leduc-holdem")
    return [Case(game, "reset, step", 1, partial(rlcard_loop, game)) for game in games]


def rlcard_loop(name: str) -> Loop:
    """Games by random legal actions."""
    import rlcard

    env = rlcard.make(name, config={"seed": SEED})
    first, _ = env.reset()

    def steps() -> Iterator[None]:
        rng = random.Random(SEED)
        while True:
            state, _ = env.reset()
            while not env.is_over():
                state, _ = env.step(pick(list(state["legal_actions"]), rng))
                yield
            env.get_payoffs()

    return Loop(steps(), first["obs"].size, first["obs"].nbytes)


# --- PettingZoo, and smear-env through it --------------------------------------------------------------------------

PETTINGZOO_GAMES = ("leduc_holdem_v4", "texas_holdem_v4", "hanabi_v5")
Choose = Callable[[Any, np.ndarray], Any]
"""(environment, action mask) -> a legal action."""


def pettingzoo_cases() -> list[Case]:
    """The card games of PettingZoo's classic environments, with and without its wrappers, in two ways to choose."""
    ways = (("pick", mask_pick), ("action_space.sample(mask)", space_sample))
    return [
        Case(game, f"{kind}: last, step; {how}", 1, partial(classic_loop, game, kind, choose))
        for game in PETTINGZOO_GAMES
        for kind in ("raw_env", "env")
        for how, choose in ways
    ] + [
        Case(
            "gin_rummy_v4", "raw_env: last, step; pick", 1, partial(classic_loop, "gin_rummy_v4", "raw_env", mask_pick)
        )
    ]


def classic_loop(name: str, kind: str, choose: Callable[[Any], Choose]) -> Loop:
    """A loop over an environment of PettingZoo's."""
    env = getattr(importlib.import_module(f"pettingzoo.classic.{name}"), kind)()
    return aec_loop(env, choose(env))


def mask_pick(env: Any) -> Choose:
    """The cheap choice that all Python loops here make."""
    rng = random.Random(SEED)
    return lambda env, mask: pick(np.flatnonzero(mask), rng)


def space_sample(env: Any) -> Choose:
    """The choice that PettingZoo's documentation makes."""
    for agent in env.possible_agents:
        env.action_space(agent).seed(SEED)
    return lambda env, mask: env.action_space(env.agent_selection).sample(mask)


def smear_sampler(env: Any) -> Choose:
    """The choice that smear-env's documentation makes."""
    from smear_env import Sampler

    sample = Sampler(SEED)
    return lambda env, mask: sample(mask)


def aec_loop(env: Any, choose: Choose) -> Loop:
    """The loop of PettingZoo's documentation."""
    env.reset(seed=SEED)
    view = env.last()[0]["observation"]

    def steps() -> Iterator[None]:
        while True:
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                    continue
                env.step(choose(env, observation["action_mask"]))
                yield
            env.reset()

    return Loop(steps(), view.size, view.nbytes)


# --- pgx ---------------------------------------------------------------------------------------------------------


def pgx_cases() -> list[Case]:
    """Two card games at batches from one game to their best."""
    interface = "jitted: random legal actions, vmap(auto_reset(step))"
    return [
        Case(name, interface, batch, partial(pgx_loop, make, batch))
        for name, make in (("leduc_holdem", leduc_holdem), ("bridge_bidding", bridge_bidding))
        for batch in PGX_BATCHES
    ]


def leduc_holdem() -> Any:
    """Leduc hold'em."""
    import pgx

    return pgx.make("leduc_holdem")


def bridge_bidding() -> Any:
    """Bridge bidding on the 100 deals that pgx has with it: the tables of 0.5 to 10 million deals are downloads.

    Which deal it is does not change what has to be computed.
    """
    from pgx import bridge_bidding as module

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "deals.npy"
        np.save(table, np.stack([np.asarray(part) for part in module._load_sample_hash()]))
        return module.BridgeBidding(str(table))


def pgx_loop(make: Callable[[], Any], batch: int) -> Loop:
    """One compiled call a step: the choice among the legal actions, the step and the reset of games that are over."""
    import jax
    import jax.numpy as jnp
    from pgx.experimental import auto_reset

    env = make()
    step_all = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit
    def play(key: Any, state: Any) -> Any:
        key, choice, chance = jax.random.split(key, 3)
        logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
        actions = jax.random.categorical(choice, logits, axis=-1)
        return key, step_all(state, actions, jax.random.split(chance, batch))

    def steps() -> Iterator[None]:
        key, start = jax.random.split(jax.random.PRNGKey(SEED))
        state = jax.jit(jax.vmap(env.init))(jax.random.split(start, batch))
        while True:
            key, state = play(key, state)
            state.observation.block_until_ready()
            yield

    view = env.init(jax.random.PRNGKey(SEED)).observation
    return Loop(steps(), view.size, view.nbytes)


# --- PufferLib ---------------------------------------------------------------------------------------------------


def pufferlib_cases() -> list[Case]:
    """Its one card game in C."""
    interface = "step, actions given; any of the 15, no mask"
    return [Case("tripletriad", interface, batch, partial(puffer_loop, batch)) for batch in (1024, 8192)]


def puffer_loop(batch: int) -> Loop:
    """Steps with actions drawn beforehand, as in PufferLib's own test of speed; most of them are not legal."""
    from pufferlib.ocean.tripletriad.tripletriad import TripleTriad

    env = TripleTriad(num_envs=batch, report_interval=TAPE)
    rng = np.random.default_rng(SEED)
    tape = rng.integers(0, env.single_action_space.n, (TAPE, batch), dtype=np.int32)
    env.reset(SEED)
    ended = sum(env.step(actions)[2].sum() for actions in tape)
    if not ended:
        raise RuntimeError("its games do not move: built without LDFLAGS=-Wl,-Bsymbolic its `step` may be libc's")

    def steps() -> Iterator[None]:
        while True:
            for actions in tape:
                env.step(actions)
                yield

    return Loop(steps(), env.observations[0].size, env.observations[0].nbytes)


# --- smear-env ---------------------------------------------------------------------------------------------------

GAMES_PLAY = "Games: sample, step"
GAMES_STEP = "Games: step, actions given"


def smear_cases() -> list[Case]:
    """Every interface of both games."""
    return [case for game in ("schmier", "four_point") for case in smear_cases_of(game)]


def smear_cases_of(game: str) -> list[Case]:
    """Every interface of a game, from one table to 8,192."""
    aec = [
        Case(game, f"{kind}: last, step; {how}", 1, partial(smear_aec_loop, game, kind, choose))
        for kind in ("raw_env", "env")
        for how, choose in (("pick", mask_pick), ("Sampler", smear_sampler))
    ]
    learners = [
        Case(game, f"{name}: {whose} decisions", batch, partial(loop, game, batch, all_seats))
        for name, loop, batch in (("SingleSeatEnv", single_seat_loop, 1), ("SmearVectorEnv", vector_loop, 1024))
        for whose, all_seats in (("learner's", False), ("all seats'", True))
    ]
    batches = [Case(game, GAMES_PLAY, batch, partial(games_loop, game, batch)) for batch in BATCHES]
    return [*aec, *learners, *batches, Case(game, GAMES_STEP, 1024, partial(games_tape_loop, game, 1024))]


def smear_aec_loop(game: str, kind: str, choose: Callable[[Any], Choose]) -> Loop:
    """The same loop as PettingZoo's."""
    env = getattr(importlib.import_module(f"smear_env.{game}_v0"), kind)()
    return aec_loop(env, choose(env))


def single_seat_loop(game: str, batch: int, all_seats: bool) -> Loop:
    """One seat, drawn for each episode, by random legal actions; the environment plays the others'.

    Since the seat is drawn, the decisions of all seats are as many times the learner's as there are seats.
    """
    from smear_env import SingleSeatEnv

    env = SingleSeatEnv(game)
    view = env.reset(seed=SEED)[0]["observation"]

    def steps() -> Iterator[None]:
        rng = random.Random(SEED)
        while True:
            observation, _ = env.reset()
            over = False
            while not over:
                action = pick(np.flatnonzero(observation["action_mask"]), rng)
                observation, _, terminated, truncated, _ = env.step(action)
                over = terminated or truncated
                yield

    return Loop(steps(), view.size, view.nbytes, env.rules.players if all_seats else 1)


def vector_loop(game: str, batch: int, all_seats: bool) -> Loop:
    """The same with many games at once, for which the environment has the other seats play at random."""
    from smear_env import Games, SmearVectorEnv

    envs = SmearVectorEnv(game, num_envs=batch)
    sampler = Games(game, batch, seed=SEED)
    views = envs.reset(seed=SEED)[0]["observation"]

    def steps() -> Iterator[None]:
        observations, _ = envs.reset(seed=SEED)
        while True:
            observations, *_ = envs.step(sampler.sample(observations["action_mask"]))
            yield

    return Loop(steps(), views[0].size, views[0].nbytes, envs.rules.players if all_seats else 1)


def games_loop(game: str, batch: int) -> Loop:
    """The batch by random legal actions, the choice included."""
    from smear_env import Games

    games = Games(game, batch, seed=SEED)
    views, _ = games.reset()

    def steps() -> Iterator[None]:
        while True:
            games.step(games.sample())
            yield

    return Loop(steps(), views[0].size, views[0].nbytes)


def games_tape_loop(game: str, batch: int) -> Loop:
    """The batch by actions drawn beforehand, over and over from the same seed: the choice is not measured."""
    from smear_env import Games

    games = Games(game, batch, seed=SEED)
    views, _ = games.reset()
    tape = np.zeros((TAPE, batch), np.int64)
    for actions in tape:
        actions[:] = games.sample()
        games.step(actions)

    def steps() -> Iterator[None]:
        while True:
            games.reset(SEED)
            for actions in tape:
                games.step(actions)
                yield

    return Loop(steps(), views[0].size, views[0].nbytes)


PEERS = {
    "smear": Peer("smear-env", "smear-env", smear_cases),
    "openspiel": Peer("OpenSpiel", "open_spiel", openspiel_cases),
    "rlcard": Peer("RLCard", "rlcard", rlcard_cases),
    "pettingzoo": Peer("PettingZoo", "pettingzoo", pettingzoo_cases),
    "pgx": Peer("pgx", "pgx", pgx_cases),
    "pufferlib": Peer("PufferLib", "pufferlib", pufferlib_cases),
}
