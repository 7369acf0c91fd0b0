"""The Gymnasium environments: one seat, and N of them at once."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from smear_agents import make_agent
from smear_env import PRESETS, IllegalActionError, SingleSeatEnv, SmearVectorEnv, schmier_v0
from smear_env._jit import JIT
from smear_env.actions import NUM_ACTIONS, legal_actions
from smear_env.resample import hide_each

pytestmark = pytest.mark.environment

VARIANTS: list[dict[str, Any]] = [
    {"rules": "schmier"},
    {"rules": "four_point", "seat": 2, "widow": 3},
    {"rules": "schmier", "partner": "learner"},
    {"rules": "four_point", "episode": "game", "max_deals": 4},
    {"rules": "schmier", "flat": True},
    {"rules": "four_point", "episode": "game", "reward": "win", "target": 4, "max_deals": 3},
]


def first_legal(observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
    """A policy: the first legal action."""
    return action_masks.argmax(1)


def legal(rng: np.random.Generator, mask: np.ndarray) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(np.array_equal(one, other))


@pytest.mark.filterwarnings("ignore:.*not within the observation space:UserWarning")
@pytest.mark.parametrize("kwargs", VARIANTS, ids=str)
def test_gymnasium_finds_nothing_wrong(kwargs: dict[str, Any]) -> None:
    check_env(SingleSeatEnv(**kwargs), skip_render_check=True)


@pytest.mark.parametrize("kwargs", [VARIANTS[0], VARIANTS[4]], ids=str)
def test_stable_baselines_finds_nothing_wrong(kwargs: dict[str, Any]) -> None:
    """Where Stable-Baselines3 happens to be installed."""
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(SingleSeatEnv(**kwargs))


def test_gymnasium_makes_them_by_name() -> None:
    for name, game in (("smear_env/Schmier-v0", "schmier"), ("smear_env/FourPoint-v0", "four_point")):
        env = gymnasium.make(name, seat=1)
        observation, info = env.reset(seed=3)
        assert observation in env.observation_space and info["seat"] == 1
        assert env.unwrapped.rules == PRESETS[game]
        assert env.get_wrapper_attr("action_masks")().dtype == bool
        envs = gymnasium.make_vec(name, num_envs=3)
        assert isinstance(envs.unwrapped, SmearVectorEnv) and envs.num_envs == 3


@pytest.mark.parametrize("kwargs", VARIANTS[:4], ids=str)
def test_masks_agree_everywhere(kwargs: dict[str, Any]) -> None:
    env = SingleSeatEnv(**kwargs)
    rng = np.random.default_rng(1)
    observation, info = env.reset(seed=2)
    for _ in range(60 if JIT else 15):
        assert observation in env.observation_space
        assert (observation["action_mask"] == env.action_masks()).all()
        assert (observation["action_mask"] == info["action_mask"]).all() and env.action_masks().any()
        observation, _, terminated, truncated, info = env.step(legal(rng, observation["action_mask"]))
        if terminated or truncated:
            assert not observation["action_mask"].any() and not env.action_masks().any()
            observation, info = env.reset()


@pytest.mark.parametrize("partner", [None, "learner", first_legal], ids=["random", "learner", "given"])
@pytest.mark.parametrize("opponents", [None, first_legal], ids=["random", "given"])
@pytest.mark.parametrize("game", PRESETS)
def test_return_is_the_teams_result(game: str, opponents: Any, partner: Any) -> None:
    """Also when others play on after the learner's last card: the score of the team less the mean of the others'."""
    rules = PRESETS[game]
    env = SingleSeatEnv(game, opponents=opponents, partner=partner)
    rng = np.random.default_rng(0)
    for episode in range(12 if JIT else 2):
        observation, info = env.reset(seed=episode)
        seats, total, done = {info["seat"]}, 0.0, False
        while not done:
            observation, reward, done, truncated, info = env.step(legal(rng, observation["action_mask"]))
            seats.add(info["seat"])
            total += reward
            assert not truncated
        g = env._learner.games.records[0]
        delta = [int(g.last_delta[team]) if g.deals_scored else 0 for team in range(rules.teams)]
        team = info["seat"] % rules.teams
        assert {seat % rules.teams for seat in seats} == {team}
        assert len(seats) == (rules.players // rules.teams if partner == "learner" else 1)
        assert total == pytest.approx(delta[team] - (sum(delta) - delta[team]) / (rules.teams - 1))


def test_seat_is_drawn_for_each_episode_or_fixed() -> None:
    envs = SmearVectorEnv("schmier", 600 if JIT else 60)
    seats = envs.reset(seed=0)[1]["seat"]
    assert np.bincount(seats, minlength=6).min() > len(seats) / 12
    assert (SmearVectorEnv("schmier", 20, seat=4).reset(seed=0)[1]["seat"] == 4).all()


def test_cards_are_those_of_the_pettingzoo_environment_with_the_same_seed() -> None:
    env, table = SingleSeatEnv("schmier"), schmier_v0.raw_env()
    env.reset(seed=17)
    table.reset(seed=17)
    assert table.deck == [int(card) for card in env._learner.games.records["deck"][0][:53]]


@pytest.mark.parametrize("opponents", [None, "greedy"])
@pytest.mark.parametrize("kwargs", VARIANTS, ids=str)
def test_n_at_once_are_n_alone(kwargs: dict[str, Any], opponents: str | None) -> None:
    """A9: each ends and begins for itself; final observations, infos, rewards and flags are the single ones'."""
    n = 5
    policy = None if opponents is None else make_agent(opponents, SingleSeatEnv(**kwargs).rules)
    envs = SmearVectorEnv(num_envs=n, opponents=policy, **kwargs)
    singles = [SingleSeatEnv(opponents=policy, **kwargs) for _ in range(n)]
    observations, infos = envs.reset(seed=30)
    for i, env in enumerate(singles):
        assert same(env.reset(seed=30 + i)[1]["action_mask"], infos["action_mask"][i])
    rng, ends = np.random.default_rng(0), 0
    for _ in range(100 if JIT else 14):
        # Now and then an action that is not legal, which ends the episode.
        actions = np.array([legal(rng, mask) if rng.random() < 0.98 else 60 for mask in envs.action_masks()])
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        for i, env in enumerate(singles):
            observation, *rest, info = env.step(actions[i])
            assert rest == [rewards[i], terminated[i], truncated[i]]
            if terminated[i] or truncated[i]:
                ends += 1
                assert infos["_final_obs"][i] and same(infos["final_obs"][i], observation)
                assert same(infos["final_info"]["action_mask"][i], info["action_mask"])
                assert ("illegal_action" in info) == bool(infos["final_info"].get("_illegal_action", np.zeros(n))[i])
                observation, info = env.reset()
            else:
                assert not infos.get("_final_obs", np.zeros(n))[i]
            batched = observations[i] if envs.flat else {key: value[i] for key, value in observations.items()}
            assert same(observation, batched)
            assert same(info["action_mask"], infos["action_mask"][i]) and info["seat"] == infos["seat"][i]
    assert ends > 0 or not JIT


def test_truncation_is_no_termination() -> None:
    env = SingleSeatEnv("four_point", episode="game", max_deals=2, target=500)
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=1)
    terminated = truncated = False
    while not (terminated or truncated):
        observation, _, terminated, truncated, _ = env.step(legal(rng, observation["action_mask"]))
    assert truncated and not terminated


def test_illegal_actions_end_the_episode_or_are_refused() -> None:
    env = SingleSeatEnv("schmier", seat=0)
    env.reset(seed=1)
    _, reward, terminated, _, info = env.step(69)
    assert reward == -6 and terminated and "legal" in info["illegal_action"]
    with pytest.raises(IllegalActionError, match="after the end"):
        env.step(54)
    strict = SingleSeatEnv("schmier", seat=0, illegal="raise")
    before, _ = strict.reset(seed=1)
    for action in (69, 70, -1, -2, 2**40):
        with pytest.raises(IllegalActionError, match="seat 0"):
            strict.step(action)
    for action in (1.5, None, "pass"):
        with pytest.raises(IllegalActionError):
            strict.step(action)
    assert (strict.action_masks() == before["action_mask"]).all()
    envs = SmearVectorEnv("schmier", 2, illegal="raise")
    envs.reset(seed=1)
    with pytest.raises(IllegalActionError):
        envs.step(np.array([69, 69]))
    for actions in ([54], [54.0, 54.0], [[54], [54]]):
        with pytest.raises(ValueError, match="2 whole numbers"):
            envs.step(np.array(actions))


def test_whole_numbers_of_any_type_are_one_action_and_none_wraps_around_to_a_legal_one() -> None:
    for action in (54, np.int8(54), np.uint64(54), np.array(54), np.array([54])):
        env = SingleSeatEnv("schmier", seat=0)
        env.reset(seed=1)
        assert "illegal_action" not in env.step(action)[4]
    for action in (-(2**63), 2**63 + 54, np.uint64(2**64 - 1), 2**32 + 54):
        env = SingleSeatEnv("schmier", seat=0)
        env.reset(seed=1)
        assert f"cannot do {int(action)} " in env.step(action)[4]["illegal_action"]
    envs = SmearVectorEnv("schmier", 2)
    masks = envs.reset(seed=1)[1]["action_mask"]
    infos = envs.step(np.array([masks[0].argmax(), 2**63 + 54], np.uint64))[4]
    assert infos["final_info"]["_illegal_action"].tolist() == [False, True]
    assert f"cannot do {2**63 + 54} " in infos["final_info"]["illegal_action"][1]


class Searcher:
    """A player that needs the game: it does the first legal action, read from the record, and keeps what it got."""

    def __init__(self) -> None:
        self.given: list[tuple[np.ndarray, np.ndarray]] = []

    def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        self.given.append((games.copy(), seats.copy()))
        return np.array([legal_actions(g)[0] for g in games])


class Cheat(Searcher):
    sees_all = True


@pytest.mark.parametrize("partner", ["learner", None, "searcher"])
@pytest.mark.parametrize("game", PRESETS)
def test_players_that_need_the_game_get_what_their_seat_knows_of_it(game: str, partner: str | None) -> None:
    """And play what a policy that does the same by its mask plays."""
    honest, cheat = Searcher(), Cheat()
    partners: list[Any] = [Searcher(), Cheat(), first_legal] if partner == "searcher" else [partner] * 3
    players = zip((honest, cheat, first_legal), partners, strict=True)
    batches = [SmearVectorEnv(game, 8, 0, opponents, partner) for opponents, partner in players]
    for envs in batches:
        envs.reset(seed=2)
    for _ in range(20 if JIT else 3):
        masks = [envs.action_masks() for envs in batches]
        assert (masks[0] == masks[2]).all() and (masks[1] == masks[2]).all()
        for envs in batches:
            envs.step(masks[2].argmax(1))
    rules = PRESETS[game]
    assert honest.given
    for (known, seats), (full, same_seats) in zip(honest.given, cheat.given, strict=True):
        assert (seats == same_seats).all() and (known["actor"] == seats).all()
        assert (seats % rules.teams != 0).all()
        assert known.tobytes() == hide_each(full, rules, seats).tobytes() != full.tobytes()
        for g, seat in zip(known, seats, strict=True):
            assert not any(g.hand[other] for other in range(rules.players) if other != seat)


def test_a_player_that_needs_the_game_is_checked_as_a_policy_is() -> None:
    class Careless(Searcher):
        def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
            return np.full(len(games), 69)

    with pytest.raises(IllegalActionError, match="cannot do done"):
        SingleSeatEnv("schmier", seat=0, opponents=Careless()).reset(seed=1)


def test_a_policy_that_breaks_the_rules_is_an_error() -> None:
    for answer, said in ((69, "cannot do done"), (-2, "cannot do -2")):
        with pytest.raises(IllegalActionError, match=said):
            SingleSeatEnv("schmier", seat=0, opponents=lambda o, m, a=answer: np.full(len(m), a)).reset(seed=1)
    with pytest.raises(ValueError, match="a policy must return"):
        SingleSeatEnv("schmier", seat=0, opponents=lambda o, m: np.zeros(len(m))).reset(seed=1)


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"seat": 6}, "allowed: 0..5"),
        ({"seat": "first"}, "allowed: 0..5"),
        ({"opponents": "greedy"}, "opponents must be a callable"),
        ({"opponents": "learner"}, "choose"),
        ({"partner": "greedy"}, "'learner'"),
        ({"illegal": "ignore"}, "'raise', 'terminate'"),
        ({"reward": "win"}, "episode='game'"),
        ({"rules": "euchre"}, "unknown game"),
        ({"target": 0}, "1..500"),
        ({"max_deals": 0}, "max_deals"),
        ({"render_mode": "hologram"}, "render_mode"),
    ],
)
def test_wrong_arguments_are_refused(kwargs: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        SingleSeatEnv(**kwargs)


def test_learner_sees_only_its_own_hand_in_text() -> None:
    env = SingleSeatEnv("schmier", seat=3, render_mode="ansi")
    env.reset(seed=5)
    text = env.render()
    assert text is not None
    assert [line[0] for line in text.splitlines()[2:-1] if len(line.split()) > 7] == ["3"]


def test_mode_of_autoreset_is_declared() -> None:
    declared = SmearVectorEnv.metadata["autoreset_mode"]
    assert getattr(declared, "value", declared) == "SameStep"
    envs = SmearVectorEnv("schmier", 3)
    assert envs.single_action_space.n == NUM_ACTIONS and envs.reset(seed=[4, 5, 6])[0] in envs.observation_space
