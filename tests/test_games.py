"""The batch: N games side by side are N games alone; buffers, seeds, resting games, forced moves, bad input."""

import numpy as np
import pytest
from play import MODULES, RULES, is_near, make_env, points, random_actions, scale

from smear_env import Games, IllegalActionError, make_rules
from smear_env.actions import PASS
from smear_env.games import play_random
from smear_env.observe import observation_size

both_games = pytest.mark.parametrize("game", MODULES)
all_rules = pytest.mark.parametrize("game", RULES)

BUFFERS = ("observations", "action_masks", "seats", "rewards", "terminated", "truncated")


def play(games, num_steps):
    for _ in range(num_steps):
        games.step(games.sample())
    return games


def contents(games, i=slice(None)):
    """All that can be read of some games, to compare."""
    return [getattr(games, name)[i].tobytes() for name in (*BUFFERS, "records")]


# --- Alone and among others --------------------------------------------------------------------------------------


@both_games
def test_a_game_gives_the_same_result_alone_and_among_8192_others(game):
    n, num_steps = scale(8192, 20), scale(100, 40)
    crowd = Games(game, n, seed=5, max_deals=2)
    crowd.reset()
    play(crowd, num_steps)
    for i in (0, 1, 17):
        few = Games(game, i + 1, seed=5, max_deals=2)
        few.reset()
        assert contents(play(few, num_steps), i) == contents(crowd, i)


@both_games
def test_the_last_of_8192_games_follows_from_the_actions_given_to_it_alone(game):
    """No game reads or writes another's record: the actions of the others are changed from one run to the next."""
    n = scale(8192, 20)
    runs = []
    for others in (0, -1):
        games = Games(game, n, seed=6, max_deals=2)
        games.reset()
        for _ in range(scale(60) + 20):
            masks = games.action_masks
            actions = masks.argmax(1) if others == 0 else 69 - masks[:, ::-1].argmax(1)
            actions[[0, n // 2, n - 1]] = games.sample()[[0, n // 2, n - 1]]
            games.step(actions)
        runs.append([contents(games, i) for i in (0, n // 2, n - 1)])
    assert runs[0] == runs[1]


@both_games
def test_a_list_of_seeds_makes_games_that_batches_of_one_make_and_environments(game):
    seeds = [7, 0, 123456, 2**64 - 1, 7]
    games = Games(game, len(seeds), seed=seeds, max_deals=3)
    games.reset()
    for i, seed in enumerate(seeds):
        env = make_env(game, max_deals=3)
        env.reset(seed=seed)
        alone = Games(game, 1, seed=[seed], max_deals=3)
        alone.reset()
        by_number = Games(game, 1, max_deals=3)
        by_number.reset(seed=seed)
        assert (
            env.deck == games.records[i].deck[: env.rules.deck_size].tolist() and env.dealer == games.records[i].dealer
        )
        assert contents(alone, 0) == contents(by_number, 0) == contents(games, i)
        actor = f"player_{games.seats[i]}"
        assert (env.observe(actor)["observation"] == games.observations[i]).all()
    play(games, scale(150) + 20)
    for i, seed in enumerate(seeds):
        alone = Games(game, 1, seed=[seed], max_deals=3)
        alone.reset()
        assert contents(play(alone, scale(150) + 20), 0) == contents(games, i)


@both_games
def test_games_of_a_batch_differ_and_those_without_a_seed_differ_every_time(game):
    decks = set()
    for seed in (1, 2, None, None):
        games = Games(game, scale(50, 10), seed)
        games.reset()
        decks |= {row.tobytes() for row in games.records["deck"]}
        games.reset()
        decks |= {row.tobytes() for row in games.records["deck"]}
    assert len(decks) == 8 * scale(50, 10)


@both_games
def test_a_seed_repeats_the_games_and_no_seed_goes_on(game):
    one, other = Games(game, 5, seed=3), Games(game, 5)
    first = one.reset()[0].copy()
    second = one.reset()[0].copy()
    assert (other.reset(seed=3)[0] == first).all()
    assert (other.reset()[0] == second).all() and (second != first).any()
    assert (one.reset(3)[0] == first).all()
    for seed in range(3, 6):
        assert (one.reset(np.arange(seed, seed + 5))[0] != first).any()


@all_rules
@pytest.mark.boundscheck
def test_a_batch_agrees_with_the_environment_step_by_step(game):
    """Rewards, ends, seats, masks and observations are those of the AEC environment given the same actions."""
    env = make_env(game, max_deals=2)
    games = Games(RULES[game], 1, max_deals=2, autoreset=False)
    for seed in range(scale(20)):
        env.reset(seed=seed)
        games.reset(seed=seed)
        for action in random_actions(env, seed):
            assert env.agent_selection == f"player_{games.seats[0]}"
            observation = env.last()[0]
            assert (observation["observation"] == games.observations[0]).all()
            assert (observation["action_mask"] == games.action_masks[0]).all()
            env.step(action)
            rewards, terminated, truncated = games.step([action])
            assert is_near(rewards[0], list(env.rewards.values()))
            assert {bool(terminated[0])} == set(env.terminations.values())
            assert {bool(truncated[0])} == set(env.truncations.values())


# --- Rewards, ends, resting games --------------------------------------------------------------------------------


@all_rules
def test_rewards_are_the_change_of_score_and_sum_to_zero(game):
    rules = RULES[game]
    games = Games(rules, scale(32, 6), seed=2, autoreset=False, max_deals=4)
    games.reset()
    assert games.rewards.shape == (games.num_games, rules.players) and games.rewards.dtype == np.float32
    paid = 0
    for _ in range(scale(250) + 60):
        before = games.records["scores"][:, : rules.teams].tolist()
        rewards, _, _ = games.step(games.sample())
        after = games.records["scores"][:, : rules.teams].tolist()
        for row, old, new in zip(rewards.tolist(), before, after, strict=True):
            paid += old != new
            if any(row) or old != new:
                assert is_near(row, points(rules, old, new))
    assert paid
    assert abs(games.rewards.sum(1)).max() < 1e-4


@all_rules
def test_a_won_game_pays_one_to_the_winners_and_nothing_before(game):
    rules = RULES[game]
    games = Games(rules, scale(64, 8), seed=2, reward="win", autoreset=False, max_deals=30, target=3)
    games.reset()
    won = 0
    for _ in range(scale(1500) + 100):
        rewards, terminated, truncated = games.step(games.sample())
        for i in rewards.any(1).nonzero()[0]:
            winners = [team for team in range(rules.teams) if games.records[i].winners >> team & 1]
            assert len(winners) == 1 and terminated[i] and not truncated[i]
            pay = [1 if seat % rules.teams == winners[0] else -1 / (rules.teams - 1) for seat in range(rules.players)]
            assert is_near(rewards[i].tolist(), pay)
            won += 1
    assert won == np.count_nonzero(games.records["winners"]) > 0


@both_games
def test_without_autoreset_a_game_that_is_over_rests_and_passes_its_action_over(game):
    games = Games(game, 8, seed=4, episode="deal", autoreset=False)
    games.reset()
    while not games.terminated.any():
        games.step(games.sample())
    while not games.terminated.all():
        over = games.terminated.copy()
        records = games.records[over].tobytes()
        actions = games.sample().copy()
        assert (actions[over] == -1).all()
        actions[over] = np.resize([-5, 999, PASS, 70], over.sum())
        rewards, terminated, _ = games.step(actions)
        assert terminated[over].all() and not rewards[over].any()
        assert games.records[over].tobytes() == records
        assert (games.seats[over] == -1).all()
        assert not games.observations[over].any() and not games.action_masks[over].any()
    before = contents(games)
    games.step(games.sample())
    assert contents(games)[:3] == before[:3] and contents(games)[4:] == before[4:] and not games.rewards.any()
    observations, _ = games.reset()
    assert observations.any(1).all() and not games.terminated.any() and (games.seats >= 0).all()


@pytest.mark.parametrize("episode", ["game", "deal"])
@both_games
def test_with_autoreset_the_next_game_begins_in_the_step_that_ends_one(game, episode):
    """What the last step paid and how it ended stands in the buffers; all the rest is the new game's."""
    kwargs = {"episode": episode, "max_deals": 2, "seed": 9}
    resting, games = Games(game, 16, autoreset=False, **kwargs), Games(game, 16, **kwargs)
    resting.reset()
    games.reset()
    seen = np.zeros(16, bool)
    while not seen.all():
        actions = games.sample().copy()
        games.step(actions)
        resting.step(actions)
        new = (resting.seats == -1) & ~seen
        for name in ("rewards", "terminated", "truncated"):
            assert (getattr(games, name)[~seen] == getattr(resting, name)[~seen]).all()
        assert (games.observations[~seen & ~new] == resting.observations[~seen & ~new]).all()
        assert (games.records["deals"][new] == 1).all() and not games.records["scores"][new].any()
        assert (games.seats[new] == (games.records["dealer"][new] + 1) % games.rules.players).all()
        assert games.action_masks[new].any(1).all()
        seen |= new
        done = games.terminated | games.truncated
        assert (done == new)[~seen | new].all()


@both_games
@pytest.mark.parametrize("episode", ["game", "deal"])
def test_passing_over_forced_moves_gives_what_playing_them_gives(game, episode):
    """The same decisions are asked in the same games, and the rewards between two of them sum to the same."""
    short = Games(game, 1, skip_forced=True, autoreset=False, max_deals=3, episode=episode)
    full = Games(game, 1, autoreset=False, max_deals=3, episode=episode)
    skipped = 0
    for seed in range(scale(200) + 2):
        short.reset(seed)
        full.reset(seed)
        rng = np.random.default_rng(seed)
        while short.seats[0] >= 0:
            assert short.action_masks.sum() > 1
            assert contents(short)[:3] == contents(full)[:3]
            action = rng.choice(short.action_masks[0].nonzero()[0])
            paid = full.step([action])[0].copy()
            while full.action_masks.sum() == 1:
                paid += full.step([full.action_masks[0].argmax()])[0]
                skipped += 1
            rewards, terminated, truncated = short.step([action])
            assert is_near(rewards[0], paid[0])
            assert (terminated[0], truncated[0]) == (full.terminated[0], full.truncated[0])
        assert full.seats[0] == -1
        assert short.records.tobytes() == full.records.tobytes()
    assert skipped


# --- Forfeits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", ["points", "win"])
@all_rules
def test_a_forfeit_sets_the_team_to_move_at_the_highest_bid_and_touches_no_other_game(game, reward):
    rules = RULES[game]
    games = Games(rules, 6, seed=3, reward=reward, autoreset=False, max_deals=50)
    games.reset()
    play(games, scale(70) + 15 if rules.hand_cards == 6 else 3)  # small games are soon over
    rows, rest = np.array([4, 1]), [0, 2, 3, 5]
    teams, others = games.seats[rows] % rules.teams, contents(games, rest)
    before = games.records["scores"][rows, : rules.teams].tolist()
    games.forfeit(rows)
    assert contents(games, rest) == others
    assert (games.seats[rows] == -1).all() and games.terminated[rows].all() and not games.truncated[rows].any()
    assert not games.action_masks[rows].any() and not games.observations[rows].any()
    for i, team, old in zip(rows, teams, before, strict=True):
        delta = [-rules.max_bid if other == team else 0 for other in range(rules.teams)]
        assert games.records["last_delta"][i, : rules.teams].tolist() == delta
        new = [score + change for score, change in zip(old, delta, strict=True)]
        assert games.records["scores"][i, : rules.teams].tolist() == new
        share = 1 / (rules.teams - 1)
        won = [-1 if seat % rules.teams == team else share for seat in range(rules.players)]
        assert is_near(games.rewards[i].tolist(), points(rules, old, new) if reward == "points" else won)
    resting = contents(games, rows)
    play(games, 5)
    assert [resting[k] for k in (0, 1, 2, 4, 5, 6)] == [contents(games, rows)[k] for k in (0, 1, 2, 4, 5, 6)]


@both_games
@pytest.mark.boundscheck
def test_a_forfeit_with_autoreset_begins_the_next_game_as_a_step_does(game):
    games = Games(game, 3, seed=3, skip_forced=True)
    games.reset()
    play(games, 20)
    team = games.seats[2] % games.rules.teams
    games.forfeit([2])
    assert games.terminated.tolist() == [False, False, True] and games.rewards[2, team] < 0
    assert games.records["deals"][2] == 1 and not games.records["scores"][2].any()
    assert games.action_masks[2].sum() > 1 and games.seats[2] >= 0
    games.step(games.sample())
    assert not games.terminated.any()


def test_forfeits_of_games_that_are_not_there_are_refused_and_nothing_changes():
    games = Games("four_point", 3, seed=1, autoreset=False)
    games.reset()
    games.forfeit([])
    games.forfeit([1])
    before = contents(games)
    for rows, said in (
        ([3], r"no game 3; allowed: 0\.\.2"),
        ([0, -1], "no game -1"),
        ([0, 1], "game 1 is over"),
        ([2, 2], "once"),
        ([2.0], "whole numbers"),
        ([True, False, True], "whole numbers"),
        ([[0]], "whole numbers"),
        (0, "whole numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            games.forfeit(rows)
        assert contents(games) == before


# --- Sampling, observing -----------------------------------------------------------------------------------------


@both_games
def test_samples_are_legal_and_all_legal_actions_equally_likely(game):
    games = Games(game, scale(4000) + 100, seed=1)
    games.reset()
    masks = np.zeros_like(games.action_masks)
    masks[:, [0, 33, 53, PASS, 69]] = 1
    actions = games.sample(masks)
    assert actions.dtype == np.int64
    counts = np.bincount(actions, minlength=70)
    share = len(actions) / 5
    assert counts.nonzero()[0].tolist() == [0, 33, 53, PASS, 69]
    assert abs(counts[counts > 0] - share).max() < 5 * share**0.5
    assert (games.sample(np.zeros_like(masks)) == -1).all()
    for _ in range(scale(100)):
        actions = games.sample()
        assert games.action_masks[np.arange(actions.size), actions].all()
        games.step(actions)


@both_games
def test_samples_do_not_disturb_the_cards(game):
    sampled, quiet = Games(game, 3, seed=1), Games(game, 3, seed=1)
    sampled.reset()
    quiet.reset()
    for _ in range(scale(150) + 30):
        action = quiet.action_masks.argmax(1)
        sampled.sample()
        sampled.step(action)
        quiet.step(action)
    assert contents(sampled) == contents(quiet)


@all_rules
@pytest.mark.boundscheck
def test_observe_writes_any_seats_view_into_new_or_given_arrays(game):
    games = Games(RULES[game], 6, seed=1)
    games.reset()
    play(games, scale(60) + 10)
    before = contents(games)
    views, masks = games.observe(games.seats)
    assert (views == games.observations).all() and (masks == games.action_masks).all()
    views, masks = games.observe(np.full(6, -1))
    assert not views.any() and not masks.any()
    given = np.full_like(views, 9), np.full_like(masks, 9)
    others = (games.seats + 1) % games.rules.players
    views, masks = games.observe(others, *given)
    assert views is given[0] and masks is given[1]
    assert not masks.any() and (views[:, 0] != 9).all()
    assert contents(games) == before


# --- Buffers and bad input ---------------------------------------------------------------------------------------


def own_buffers(rules, n):
    shapes = {
        "observations": ((n, observation_size(rules)), np.int8),
        "action_masks": ((n, 70), np.int8),
        "seats": ((n,), np.int8),
        "rewards": ((n, rules.players), np.float32),
        "terminated": ((n,), np.bool_),
        "truncated": ((n,), np.bool_),
    }
    return {name: np.ones(shape, dtype) for name, (shape, dtype) in shapes.items()}


@both_games
def test_the_callers_buffers_are_written_and_stay_the_same_arrays(game):
    given, plain = own_buffers(make_rules(game), 4), Games(game, 4, seed=2, max_deals=2)
    games = Games(game, 4, seed=2, max_deals=2, **given)
    returned, _ = games.reset(), plain.reset()
    assert returned[0] is given["observations"] and returned[1] is given["action_masks"]
    for _ in range(scale(200) + 20):
        actions = plain.sample()
        returned = games.step(actions)
        plain.step(actions)
    assert returned[0] is given["rewards"] and returned[1] is given["terminated"] and returned[2] is given["truncated"]
    for name in BUFFERS:
        assert getattr(games, name) is given[name]
        assert (given[name] == getattr(plain, name)).all()


@pytest.mark.parametrize("name", BUFFERS)
def test_a_buffer_that_does_not_fit_is_refused_and_told_what_would(name):
    good = own_buffers(make_rules("four_point"), 4)[name]
    shape = good.shape
    wrong = [
        np.zeros((5, *shape[1:]), good.dtype),
        np.zeros((*shape, 1), good.dtype),
        good.astype(np.float64),
        good.astype(np.int16 if good.dtype != bool else np.int8),
        np.zeros((4 * 2, *shape[1:]), good.dtype)[::2],
        good.tolist(),
        7,
    ]
    if good.ndim == 2:
        wrong.append(np.asfortranarray(good))
    for array in wrong:
        with pytest.raises(ValueError, match=name) as caught:
            Games("four_point", 4, **{name: array})
        assert str(shape) in str(caught.value) and str(good.dtype) in str(caught.value)
    if name in ("observations", "action_masks"):
        games = Games("four_point", 4, seed=1)
        games.reset()
        for array in wrong:
            with pytest.raises(ValueError, match=name):
                games.observe(games.seats, **{name: array})


def test_a_buffer_that_cannot_be_written_is_refused():
    for name, array in own_buffers(make_rules("four_point"), 4).items():
        array.setflags(write=False)
        with pytest.raises(ValueError, match=name):
            Games("four_point", 4, **{name: array})


@pytest.mark.parametrize("autoreset", [True, False])
@both_games
def test_bad_actions_leave_every_game_and_buffer_as_it_was(game, autoreset):
    games = Games(game, 5, seed=3, autoreset=autoreset)
    games.reset()
    play(games, 4)
    before = contents(games)
    good = games.sample().copy()

    def one_wrong(value):
        return [*good[:3].tolist(), value, int(good[4])]

    wrong = [good[:4], [*good, 0], good.reshape(5, 1), good.astype(float), int(good[0]), None, [None] * 5, ["pass"] * 5,
             good.astype(bool), []]  # fmt: skip
    for actions in wrong:
        with pytest.raises(ValueError, match="actions must be 5 whole numbers, one a game"):
            games.step(actions)
        assert contents(games) == before
    for value in (-1, 0 if not games.action_masks[3][0] else 1, 54 + 13, 70, 2**40, -(2**40)):
        with pytest.raises(IllegalActionError, match=rf"game 3, seat {games.seats[3]} cannot do .*legal: "):
            games.step(one_wrong(value))
        assert contents(games) == before
    with pytest.raises((IllegalActionError, ValueError)):
        games.step(np.array(one_wrong(2**63 + 60), np.uint64))
    assert contents(games) == before
    games.step(good.astype(np.int8))
    assert contents(games) != before


@pytest.mark.parametrize(
    ("kwargs", "error", "fragments"),
    [
        ({"num_games": 0}, ValueError, ["num_games=0", "1 or more"]),
        ({"num_games": -3}, ValueError, ["num_games=-3", "1 or more"]),
        ({"num_games": 2.0}, TypeError, ["num_games", "2.0", "whole number"]),
        ({"num_games": "8"}, TypeError, ["num_games", "'8'", "whole number"]),
        ({"num_games": True}, TypeError, ["num_games", "True", "whole number"]),
        ({"num_games": 3, "seed": [1, 2]}, ValueError, ["seed", "2 numbers", "3 games"]),
        ({"seed": -1}, ValueError, ["seed", "-1", "0..2^64"]),
        ({"seed": 2**64}, ValueError, ["seed", "0..2^64"]),
        ({"seed": 1.5}, TypeError, ["seed", "1.5", "whole number"]),
        ({"seed": True}, TypeError, ["seed", "True", "whole number"]),
        ({"seed": [1.5]}, TypeError, ["seed", "1.5", "whole number"]),
        ({"seed": "1"}, TypeError, ["seed", "'1'", "whole number"]),
        ({"episode": "hand"}, ValueError, ["episode='hand'", "'game'", "'deal'"]),
        ({"reward": "score"}, ValueError, ["reward='score'", "'points'", "'win'"]),
        ({"reward": "win", "episode": "deal"}, ValueError, ["reward='win'", "episode='game'"]),
        ({"max_deals": 0}, ValueError, ["max_deals=0", "1.."]),
        ({"max_deals": 10**6}, ValueError, ["max_deals=1000000", "1.."]),
        ({"max_deals": None}, TypeError, ["max_deals", "None", "whole number"]),
        ({"rules": "schmir"}, ValueError, ["'schmir'", "schmier"]),
        ({"rules": ["schmier"]}, TypeError, ["rules", "preset"]),
        ({"widdow": 3}, TypeError, ["'widdow'", "widow"]),
        ({"target": -1}, ValueError, ["target=-1", "1..500"]),
    ],
    ids=str,
)
def test_a_bad_argument_is_refused_and_told_what_is_allowed(kwargs, error, fragments):
    with pytest.raises(error) as caught:
        Games(**kwargs)
    assert type(caught.value) is error
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_a_bad_seed_for_reset_changes_nothing():
    games = Games("four_point", 3, seed=1)
    games.reset()
    play(games, 3)
    before = contents(games)
    for seed in (-1, [1, 2], [1, 2, -3], [1, 2, "x"], "abc"):
        with pytest.raises((ValueError, TypeError), match="seed"):
            games.reset(seed)
        assert contents(games) == before


@pytest.mark.parametrize("seats", [[0, 1], [0, 1, 4], [0, -2, 1], [0.0, 1.0, 2.0], 0, None, [[0, 1, 2]]], ids=str)
def test_observe_refuses_seats_that_are_not_there(seats):
    games = Games("four_point", 3, seed=1)
    games.reset()
    with pytest.raises(ValueError, match=r"seats must be 3 whole numbers -1\.\.3"):
        games.observe(seats)


@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_sampling_from_the_games_and_from_their_masks_is_the_same(game):
    one, other = (Games(game, 16, seed=5, episode="deal", autoreset=False) for _ in range(2))
    one.reset()
    other.reset()
    for _ in range(scale(120)):
        actions = one.sample().copy()
        assert (actions == other.sample(other.action_masks)).all()
        one.step(actions)
        other.step(actions)


@pytest.mark.slow
@pytest.mark.jit
def test_memory_is_flat_over_a_million_deals():
    """Neither playing nor observing leaves anything behind."""
    resource = pytest.importorskip("resource")
    games = Games("schmier", 1024, seed=1, episode="deal")
    games.reset()
    states = np.array([1], np.uint64)

    def play_deals(rounds):
        for _ in range(rounds // 100):
            games.step(games.sample())
            play_random(games.records, games.tables, states, 99)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = play_deals(500)
    after = play_deals(56_000)  # at 55 decisions a deal
    assert after - before < 2048  # kB
    per_game = sum(
        array.nbytes for array in (games.records, games.observations, games.action_masks, games.seats, games.rewards)
    )
    assert per_game / 1024 < 1200
