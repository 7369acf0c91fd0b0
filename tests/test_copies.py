"""Copies, states and seeds: the same game wherever it goes on, and no game disturbs another."""

import concurrent.futures
import itertools
import multiprocessing
import os
import subprocess
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from play import (
    COPIES,
    JIT,
    MODULES,
    is_over,
    make_env,
    play,
    random_actions,
    scale,
    seen,
    trajectory_digest,
)  # fmt: skip

from smear_env import make_rules
from smear_env.state import GAME

pytestmark = pytest.mark.environment

both_games = pytest.mark.parametrize("game", MODULES)
wrapped_and_raw = pytest.mark.parametrize("wrapped", [True, False], ids=["wrapped", "raw"])
each_way = pytest.mark.parametrize("way", COPIES)


@each_way
@wrapped_and_raw
@both_games
def test_a_copy_made_at_any_ply_goes_on_alike(game, wrapped, way):
    """S6b: through the end of deals and of the game, the dead steps included."""
    env = make_env(game, wrapped, max_deals=3 if JIT else 1)
    env.reset(seed=14)
    followers = deque()
    rng = np.random.default_rng(14)
    for ply in itertools.count():
        if JIT or ply % 4 == 0 or is_over(env):
            twin = COPIES[way](env)
            assert type(twin) is type(env) and twin is not env
            assert seen(twin) == seen(env) and twin.get_state() == env.get_state()
            followers.append(twin)
        action = None if is_over(env) else rng.choice(env.last()[0]["action_mask"].nonzero()[0])
        for table in (env, *followers):
            table.step(action)
        if not env.agents:
            break
        if len(followers) > scale(6, 2):
            assert seen(followers.popleft()) == seen(env)
    for twin in followers:
        assert twin.agents == [] and twin.get_state() == env.get_state()


@each_way
@wrapped_and_raw
@both_games
def test_a_copys_later_deals_are_the_originals_and_neither_disturbs_the_other(game, wrapped, way):
    """S6b and design 6.1, 7."""
    env = make_env(game, wrapped, max_deals=3)
    for plies in range(0 if JIT else 45, 160, 11 if JIT else 200):
        env.reset(seed=plies)
        play(env, seed=plies, count=plies)
        before, state = seen(env), env.get_state()
        one, other = COPIES[way](env), COPIES[way](env)
        play(one, seed=1)
        assert seen(env) == before and env.get_state() == state
        play(env, seed=1)
        assert seen(one) == seen(env) and one.unwrapped.deck == env.unwrapped.deck
        env.reset(seed=5)
        assert seen(other) == before and other.get_state() == state


@both_games
def test_a_copy_of_a_finished_game_starts_the_same_next_game(game):
    """S6b: the generator is in the copy."""
    env = make_env(game, max_deals=2)
    env.reset(seed=3)
    play(env, seed=3)
    for way, make in COPIES.items():
        twin, original = make(env), make(env)
        twin.reset()
        original.reset()
        assert seen(twin) == seen(original), way
        assert seen(play(twin, seed=4)) == seen(play(original, seed=4)), way


@wrapped_and_raw
@both_games
def test_an_environment_can_be_copied_before_its_first_reset(game, wrapped):
    env = make_env(game, wrapped)
    for make in COPIES.values():
        twin = make(env)
        twin.reset(seed=2)
        assert twin.agents == env.possible_agents
    twin = env.clone()
    twin.set_state(env.get_state())
    assert twin.get_state() == env.get_state()


def test_every_byte_of_the_record_belongs_to_a_field():
    """A gap that nobody writes holds what memory held before: two equal states would compare as different."""
    assert sum(GAME.fields[name][0].itemsize for name in GAME.names) == GAME.itemsize


@both_games
def test_get_state_is_data_that_compares_and_stays(game):
    env = make_env(game, max_deals=2)
    env.reset(seed=1)
    states = [env.get_state()]
    kept = repr(states[0])
    for action in random_actions(env, seed=1):
        env.step(action)
        states.append(env.get_state())
        assert states[-1] == env.get_state() != states[-2]
    assert repr(states[0]) == kept
    env.set_state(states[0])
    for action, state in zip(random_actions(env, seed=1), states[1:], strict=True):
        env.step(action)
        assert env.get_state() == state


@both_games
def test_a_state_is_not_shared_with_the_environment_that_took_it(game):
    env, other = make_env(game, max_deals=2), make_env(game, max_deals=2)
    env.reset(seed=1)
    state = env.get_state()
    other.set_state(state)
    play(other, seed=1)
    assert state == env.get_state()


@pytest.mark.parametrize(
    "state", [None, {}, 7, {"rules": make_rules("schmier")}, make_env("four_point").get_state()], ids=type
)
@wrapped_and_raw
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(state, wrapped):
    env = make_env("schmier", wrapped)
    env.reset(seed=1)
    before, own = seen(env), env.get_state()
    with pytest.raises(ValueError, match="state"):
        env.set_state(state)
    assert seen(env) == before and env.get_state() == own


@wrapped_and_raw
def test_a_damaged_state_is_refused_and_changes_nothing(wrapped):
    env = make_env("schmier", wrapped)
    env.reset(seed=1)
    before, own = seen(env), env.get_state()
    for damage in ({"record": b""}, {"record": own["record"][:-1]}, {"sampler": b"12"}, {"agent_selection": None}):
        state = env.get_state() | damage
        if damage == {"agent_selection": None}:
            del state["agent_selection"]
        with pytest.raises(ValueError, match="state"):
            env.set_state(state)
        assert seen(env) == before and env.get_state() == own


@wrapped_and_raw
def test_two_environments_played_in_turn_equal_two_alone(wrapped):
    names = list(MODULES)
    alone = [make_env(game, wrapped, max_deals=4) for game in names]
    together = [make_env(game, wrapped, max_deals=4) for game in names]
    for seed, env in enumerate(alone):
        env.reset(seed=seed)
        play(env, seed)
    for seed, env in enumerate(together):
        env.reset(seed=seed)
    players = [(env, random_actions(env, seed)) for seed, env in enumerate(together)]
    while players:
        for env, actions in players[:]:
            action = next(actions, None)
            if action is None:
                players.remove((env, actions))
            else:
                env.step(action)
    assert [seen(env) for env in together] == [seen(env) for env in alone]


# --- Seeds -------------------------------------------------------------------------------------------------------


@wrapped_and_raw
@both_games
def test_a_seed_fixes_the_game_and_no_seed_goes_on(game, wrapped):
    """`reset(seed=None)` continues the generator: other cards, the same ones for the same history."""
    one, other = make_env(game, wrapped), make_env(game, wrapped)
    decks = []
    for env in (one, other):
        env.reset(seed=5)
        first = seen(env)
        env.reset()
        second = seen(env)
        env.reset(seed=5)
        assert first == seen(env) != second
        env.reset()
        assert second == seen(env)
        decks.append(env.unwrapped.deck)
    assert decks[0] == decks[1]


@both_games
def test_without_a_seed_every_environment_plays_another_game(game):
    decks = set()
    for _ in range(20):
        env = make_env(game)
        env.reset()
        decks.add(tuple(env.deck))
    assert len(decks) == 20


@both_games
def test_seeds_give_different_games_and_do_not_touch_numpys_generator(game):
    env = make_env(game)
    before = np.random.get_state()[1].tolist()  # noqa: NPY002  # the global state is what is looked at
    decks = set()
    for seed in [*range(scale(2000)), 2**32, 2**64 - 1]:
        env.reset(seed=seed)
        decks.add(tuple(env.deck))
    assert len(decks) == scale(2000) + 2
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_seeds_give_the_same_games_in_every_process():
    """S1: whatever the order of hashes; here, in fresh processes and in one that is spawned."""
    digest = trajectory_digest()
    folder = Path(__file__).parent
    path = os.pathsep.join([str(folder), str(folder.parent), os.environ.get("PYTHONPATH", "")])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", "import play; print(play.trajectory_digest())"],
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        )
        for hash_seed in "012"
    ]
    assert [process.communicate()[0].strip() for process in processes] == [digest] * 3
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(trajectory_digest).result() == digest
