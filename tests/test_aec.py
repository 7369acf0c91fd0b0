"""The PettingZoo environments: its own tests, the order of agents, spaces, rewards, ends and illegal actions."""

import itertools

import gymnasium
import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, render_test, seed_test
from play import JIT, MODULES, RULES, is_near, is_over, make_env, observed, play, points, random_actions, scale, seen

from smear_env import IllegalActionError, make_rules
from smear_env.actions import PASS
from smear_env.rules import PHASES
from smear_env.state import view

pytestmark = pytest.mark.environment

both_games = pytest.mark.parametrize("game", MODULES)
all_rules = pytest.mark.parametrize("game", RULES)
wrapped_and_raw = pytest.mark.parametrize("wrapped", [True, False], ids=["wrapped", "raw"])


def view_of(env):
    return view(env.unwrapped.records, 0, env.unwrapped.rules)


def record_of(env):
    return env.unwrapped.records[0]


def phase_of(env):
    return PHASES[record_of(env).phase]


def play_one_deal(env, seed):
    """Plays until a deal has been scored and returns the record."""
    for action in random_actions(env, seed):
        env.step(action)
        if record_of(env).deals_scored:
            break
    return record_of(env)


# --- PettingZoo's own tests --------------------------------------------------------------------------------------


@wrapped_and_raw
@both_games
@pytest.mark.parametrize(
    "kwargs", [{}, {"episode": "deal", "illegal": "terminate"}, {"reward": "win", "target": 2}], ids=str
)
def test_api_test_passes_and_warns_of_nothing_but_the_option_it_makes_up(game, wrapped, kwargs):
    with pytest.warns(UserWarning, match="'options' is ignored"):
        api_test(make_env(game, wrapped, **kwargs), num_cycles=scale(1000))


@wrapped_and_raw
@both_games
def test_seed_test_passes(game, wrapped):
    seed_test(lambda: make_env(game, wrapped), num_cycles=scale(500))


@wrapped_and_raw
@both_games
def test_render_test_passes(game, wrapped, capsys):
    render_test(lambda render_mode: make_env(game, wrapped, render_mode=render_mode))
    assert "dealer" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="this PettingZoo has no registry")
@both_games
def test_pettingzoo_make_gives_the_wrapped_environment(game):
    env = pettingzoo.make("aec", f"smear/{game}-v0", max_deals=2, target=11)
    assert type(env) is type(make_env(game, wrapped=True))
    assert env.unwrapped.rules == make_rules(game, target=11)
    env.reset(seed=1)
    assert is_over(play(env, seed=1))


@both_games
def test_wrapper_asks_for_a_reset_first_and_passes_on_what_it_wraps(game):
    env = make_env(game, wrapped=True, render_mode="ansi")
    for call in (lambda: env.step(PASS), lambda: env.observe("player_0"), env.render, env.state, env.agent_iter):
        with pytest.raises(AssertionError, match=r"reset\(\) needs to be called"):
            call()
    with pytest.raises(AttributeError, match="reset"):
        _ = env.agents
    env.reset(seed=1)
    assert env.render(perspective=2) == env.unwrapped.render(perspective=2) != env.render(perspective=1)
    assert env.get_state() == env.unwrapped.get_state()
    assert type(env.clone()) is type(env)


@both_games
def test_wrapper_asks_for_a_reset_after_one_that_failed(game):
    env = make_env(game, wrapped=True)
    with pytest.raises(ValueError, match="dealer"):
        env.reset(options={"dealer": 17})
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called"):
        env.step(PASS)


# --- Spaces, masks, infos ----------------------------------------------------------------------------------------


@all_rules
def test_spaces_are_the_same_objects_each_time_and_hold_what_is_observed(game):
    env = make_env(game, max_deals=2)
    env.reset(seed=4)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.action_space(agent) == gymnasium.spaces.Discrete(70)
    for action in itertools.chain(random_actions(env, seed=4), [None]):
        assert env.state_space.contains(env.state())
        for agent in env.possible_agents:
            observation = env.observe(agent)
            assert set(observation) == {"observation", "action_mask"}
            assert observation["observation"].dtype == observation["action_mask"].dtype == np.int8
            assert env.observation_space(agent).contains(observation)
        env.step(action)


@wrapped_and_raw
@both_games
def test_mask_is_the_legal_set_for_the_mover_and_zero_for_others_and_stands_in_infos(game, wrapped):
    """A5: no mask is stale; each is compared with that of an environment brought to the same state afresh."""
    env, fresh = make_env(game, wrapped, max_deals=2), make_env(game, wrapped, max_deals=2)
    env.reset(seed=9)
    for action in itertools.chain(random_actions(env, seed=9), [None]):
        fresh.set_state(env.get_state())
        for agent in env.possible_agents:
            mask = env.observe(agent)["action_mask"]
            assert mask.any() == (agent == env.agent_selection and action is not None)
            assert list(env.infos[agent]) == ["action_mask"]
            assert (mask == env.infos[agent]["action_mask"]).all()
            assert (mask == fresh.observe(agent)["action_mask"]).all()
        if action is not None:
            env.step(action)
    assert is_over(env)


def test_metadata_belongs_to_the_instance():
    one, other = make_env("schmier"), make_env("schmier")
    one.metadata["render_modes"].append("svg")
    assert (
        other.metadata["render_modes"] == make_env("schmier").metadata["render_modes"] == ["ansi", "human", "rgb_array"]
    )


@both_games
def test_what_was_returned_never_changes_and_writing_to_it_changes_nothing(game):
    """O6."""
    env, untouched = make_env(game, max_deals=3), make_env(game, max_deals=3)
    env.reset(seed=6)
    untouched.reset(seed=6)
    kept = []
    for action in random_actions(env, seed=6, count=scale(3000)):
        returned = [env.state(), *env.last()[0].values()]
        returned += [array for agent in env.possible_agents for array in env.observe(agent).values()]
        infos = [info["action_mask"] for info in env.infos.values()]
        kept.append((returned, infos, [array.tobytes() for array in returned + infos]))
        if len(kept) > 10:
            returned, infos, before = kept.pop(0)
            assert [array.tobytes() for array in returned + infos] == before
            for array in returned:
                array[:] = 99
        env.step(action)
        untouched.step(action)
        env.records["scores"] = 99
        env.deck.clear()
        env.scores.clear()
        assert seen(env) == seen(untouched)


@both_games
def test_writing_to_infos_reaches_neither_the_rules_nor_observations(game):
    """O6; `env.infos` itself is the environment's, as everywhere in PettingZoo."""
    env, untouched = make_env(game, max_deals=2), make_env(game, max_deals=2)
    env.reset(seed=6)
    untouched.reset(seed=6)
    for action in random_actions(untouched, seed=6):
        for info in env.infos.values():
            info["action_mask"][:] = 1
        assert [observed(env, agent) for agent in env.agents] == [observed(untouched, agent) for agent in env.agents]
        with pytest.raises(IllegalActionError):
            env.step(70)
        env.step(action)
        untouched.step(action)
        assert env.get_state() == untouched.get_state()


# --- Conventions that outside scripts rely on (design 6.1) ---------------------------------------------------------


@all_rules
def test_scores_dealer_and_deck_can_be_read_during_the_whole_deal(game):
    """Design 6.1, 1; the deck after redeals too: seats pass as often as they can in half of the deals."""
    env = make_env(game, max_deals=6)
    rules = env.rules
    env.reset(seed=12)
    pack = sorted(env.deck)
    assert len(set(pack)) == len(pack) == rules.deck_size
    deal, deck, dealer = 0, None, None
    for action in random_actions(env, seed=12):
        table = view_of(env)
        if table.deals > deal:
            deal, deck, dealer = table.deals, env.deck, env.dealer
            for k in range(rules.players):
                hand = env.clone()._games.records[0].hand[(dealer + 1 + k) % rules.players]
                begin = rules.hand_cards * k
                assert sum(1 << card for card in deck[begin : begin + rules.hand_cards]) == hand
        assert env.deck == deck and sorted(deck) == pack
        assert env.dealer == dealer == table.dealer
        assert env.scores == list(table.scores) and len(env.scores) == rules.teams
        env.step(PASS if deal % 2 and env.last()[0]["action_mask"][PASS] else action)


OPTION_VALUES = {
    "target": (11,), "teams": (2,), "widow": (3,), "min_bid": (1, 4), "max_bid": (5,), "high": ("ace", "in_play"),
    "low": ("fixed", "in_play"), "finish": ("any_team", "bidder_only"),
    "defender_cap": ("none", "target_minus_1", "target"), "tie": ("higher_then_bidder", "bidder_first"),
    "residual_tie": ("play_on", "shared"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in OPTION_VALUES.items() for value in values]
)
def test_rule_options_are_keyword_arguments_and_survive_every_reset(name, value):
    """Design 6.1, 2."""
    env = make_env("four_point" if name == "widow" else "schmier", **{name: value})
    for seed in (1, None):
        env.reset(seed=seed)
        assert getattr(env.rules, name) == value


def test_rule_options_combine_with_a_preset():
    """Design 6.1, 2."""
    env = MODULES["schmier"].raw_env(rules="schmier_2x3", target=11)
    assert (env.rules.teams, env.rules.target) == (2, 11)


@both_games
def test_cards_go_in_any_order_in_exchange_and_keep(game):
    """Design 6.1, 3: whatever the order, the same deal follows."""
    env = make_env(game)
    done = set()
    for seed in range(scale(2000) + 60):
        env.reset(seed=seed)
        for action in random_actions(env, seed):
            phase = phase_of(env)
            others = env.last()[0]["action_mask"].nonzero()[0]
            others = others[(others != action) & (others < 54)]
            if phase in ("exchange", "keep") and action < 54 and others.size:
                one, other = env.clone(), env.clone()
                for twin, order in ((one, (action, others[0])), (other, (others[0], action))):
                    seat = twin.agent_selection
                    for card in order:
                        if twin.agent_selection == seat and twin.last()[0]["action_mask"][card]:
                            twin.step(card)
                if view_of(one).discards == view_of(other).discards and view_of(one).kept == view_of(other).kept:
                    assert seen(one) == seen(other) and one.get_state()["record"] == other.get_state()["record"]
                    done.add(phase)
            if phase == "play":
                break
            env.step(action)
        if done >= ({"exchange", "keep"} if game == "schmier" else {"keep"}):
            return
    raise AssertionError(f"only met {done}")


@all_rules
def test_only_card_plays_are_asked_where_there_is_no_choice(game):
    """Design 6.1, 3."""
    env = make_env(game, max_deals=scale(500), target=500) if game in MODULES else make_env(game, max_deals=scale(99))
    env.reset(seed=21)
    forced = set()
    for action in random_actions(env, seed=21, count=scale(20000)):
        if env.last()[0]["action_mask"].sum() == 1:
            forced.add(phase_of(env))
        env.step(action)
    assert forced == {"play"}


@all_rules
def test_points_are_paid_when_a_deal_is_scored_and_sum_to_zero(game):
    """Design 6 and 6.1, 4: zero at every other step."""
    env = make_env(game, max_deals=scale(100) if game in MODULES else 5)
    env.reset(seed=1)
    num_scored = 0
    for action in random_actions(env, seed=1):
        before, scored = env.scores, record_of(env).deals_scored
        env.step(action)
        rewards = list(env.rewards.values())
        if record_of(env).deals_scored > scored:
            num_scored += 1
            assert is_near(rewards, points(env.rules, before, env.scores))
            assert abs(sum(rewards)) < 1e-4
        else:
            assert not any(rewards)
    assert num_scored


@all_rules
def test_a_win_is_paid_at_the_end_of_the_game_only(game):
    """Design 6 and 6.1, 4: 1 for the winners, -1 / (teams - 1) for the others, 0 before."""
    env = make_env(game, reward="win", max_deals=99)
    teams, target = env.rules.teams, env.rules.target
    for seed in range(scale(150, 2)):
        env.reset(seed=seed, options={"scores": [target - 2] * teams})
        for action in random_actions(env, seed):
            assert not any(env.rewards.values())
            env.step(action)
        table, rewards = view_of(env), list(env.rewards.values())
        if all(env.truncations.values()):
            assert not any(rewards)
            continue
        best = [team for team in range(teams) if env.scores[team] == max(env.scores)]
        (winner,) = best if len(best) == 1 else [int(env.records["last_bidder"][0]) % teams]
        assert env.scores[winner] >= target and table.winners == {winner}
        assert is_near(rewards, [1 if seat % teams == winner else -1 / (teams - 1) for seat in range(len(rewards))])


def play_until_two_teams_tie(**kwargs):
    """Deals at 20 : 20 with the bidder far behind, until one ends with the two level at 21 or more."""
    env = make_env("schmier", reward="win", **kwargs)
    for seed in range(2000):
        env.reset(seed=seed, options={"scores": [-100, 20, 20]})
        bidder = play_one_deal(env, seed).last_bidder
        if env.scores[1] == env.scores[2] >= 21 and bidder % 3 == 0:
            return env
    raise AssertionError("no tie in 2,000 deals")


def test_shared_winners_get_one_each():
    """Design 6.1, 4."""
    env = play_until_two_teams_tie(residual_tie="shared")
    assert all(env.terminations.values())
    assert is_near(list(env.rewards.values()), [-0.5, 1, 1, -0.5, 1, 1])


def test_a_residual_tie_is_played_on_by_the_ordinary_rules():
    """Design 6.1, 5."""
    env = play_until_two_teams_tie(residual_tie="play_on")
    assert not is_over(env) and not any(env.rewards.values())
    assert record_of(env).deals == 2 and phase_of(env) == "bid"


def test_only_a_bidder_that_has_just_made_it_finishes_and_then_wins_whatever_the_others_have():
    """Design 6.1, 5: `finish="bidder_only"`."""
    env = make_env("schmier", finish="bidder_only", reward="win")
    ends = set()
    for seed in range(200):
        if len(ends) == 2 and not JIT:
            break
        env.reset(seed=seed, options={"scores": [22, 60, 100]})
        record = play_one_deal(env, seed)
        team = record.last_bidder % 3
        made = record.last_points[team] >= record.last_bid
        assert is_over(env) == (made and env.scores[team] >= 21)
        if made:
            assert [reward > 0 for reward in env.rewards.values()] == [seat % 3 == team for seat in range(6)]
        ends.add(bool(made))
    assert ends == {True, False}


@pytest.mark.parametrize(("cap", "most"), [("target", 21), ("target_minus_1", 20)])
def test_other_teams_rise_at_most_to_the_cap_and_never_fall_by_it_and_the_reward_says_so(cap, most):
    """Design 6.1, 5: `defender_cap`."""
    env = make_env("schmier", defender_cap=cap, episode="deal")
    capped = 0
    for seed in range(scale(200) + 10):
        before = [19, 19, 30]
        env.reset(seed=seed, options={"scores": before})
        play(env, seed)
        record = env.records[0]
        if not record.deals_scored:
            continue
        for team in {0, 1, 2} - {record.last_bidder % 3}:
            room = max(most - before[team], 0)
            assert env.scores[team] == before[team] + min(int(record.last_points[team]), room)
            capped += record.last_points[team] > room
        assert is_near(list(env.rewards.values()), points(env.rules, before, env.scores))
    assert capped


def test_bidder_first_wins_with_fewer_points():
    """Design 6.1, 5: `tie="bidder_first"`."""
    outcomes = set()
    for tie in ("bidder_first", "higher_then_bidder"):
        env = make_env("schmier", tie=tie, reward="win")
        for seed in range(scale(50, 12)):
            env.reset(seed=seed, options={"scores": [40, 60, 100]})
            bidder = play_one_deal(env, seed).last_bidder
            winner = bidder % 3 if tie == "bidder_first" else 2
            assert view_of(env).winners == {winner}
            outcomes.add(int(winner))
    assert outcomes == {0, 1, 2}


BAD_ACTIONS = (0, 69, -1, 70, 1000, 2**40, -(2**40), None, "pass", 54.0, True, np.array([54]), np.float32(54), [54])


@pytest.mark.parametrize("action", BAD_ACTIONS, ids=repr)
@both_games
def test_illegal_action_is_named_and_changes_nothing(game, action):
    """Design 6 and 6.1, 6: the seat's number and the word "legal"; whatever was given."""
    env = make_env(game)
    env.reset(seed=3, options={"dealer": 1})
    before, state = seen(env), env.get_state()
    with pytest.raises(IllegalActionError) as caught:
        env.step(action)
    text = str(caught.value)
    assert "seat 2" in text and "legal: pass, bid " in text and "'bid'" in text
    assert caught.value.seat == 2 and caught.value.legal == env.last()[0]["action_mask"].nonzero()[0].tolist()
    if isinstance(action, int) and not isinstance(action, bool):
        assert str(action) in text
    assert seen(env) == before and env.get_state() == state
    env.step(np.int64(PASS))
    env.step(np.array(PASS))
    assert env.agent_selection == f"player_{4 % len(env.possible_agents)}"


@both_games
def test_illegal_actions_change_nothing_at_any_ply(game):
    env = make_env(game, max_deals=3)
    env.reset(seed=31)
    met = set()
    for action in random_actions(env, seed=31):
        before, state = seen(env), env.get_state()
        mask = env.last()[0]["action_mask"]
        for illegal in (~mask.astype(bool)).nonzero()[0][:: 1 if env.rules.players == 4 else 3]:
            with pytest.raises(IllegalActionError, match=f"seat {env.agent_selection[-1]} cannot.*legal"):
                env.step(illegal)
        assert seen(env) == before and env.get_state() == state
        met.add(phase_of(env))
        env.step(action)
    assert met >= set(PHASES) - {"over"} - ({"exchange"} if game == "four_point" else set())


@pytest.mark.parametrize("reward", ["points", "win"])
@all_rules
def test_terminate_ends_the_game_as_if_the_offender_had_been_set_at_the_highest_bid(game, reward):
    """Design 6 and 6.1, 6; at plies of every phase, each kind of illegal action."""
    env = make_env(game, reward=reward, illegal="terminate")
    teams, players, bid = env.rules.teams, env.rules.players, env.rules.max_bid
    bad_actions = itertools.cycle(BAD_ACTIONS[2:])
    met = set()
    for plies in range(0, 100, 1 if JIT else 19):
        env.reset(seed=plies)
        play(env, plies, count=plies)
        if is_over(env):  # as the small games soon are
            continue
        met.add(phase_of(env))
        team, before = int(env.agent_selection[-1]) % teams, env.scores
        env.step(next(bad_actions))
        after = [score - bid * (place == team) for place, score in enumerate(before)]
        share = 1 / (teams - 1)
        expected = (
            points(env.rules, before, after)
            if reward == "points"
            else [-1 if seat % teams == team else share for seat in range(players)]
        )
        assert env.scores == after
        assert is_near(list(env.rewards.values()), expected) and expected[team] < 0
        assert all(env.terminations.values()) and not any(env.truncations.values())
        assert not any(env.observe(agent)["action_mask"].any() for agent in env.possible_agents)
    assert "play" in met and "bid" in met


@both_games
def test_first_dealer_is_drawn_from_the_seed(game):
    """Design 6.1, 9."""
    env = make_env(game)

    def first_dealer(seed):
        env.reset(seed=seed)
        return env.dealer

    dealers = [first_dealer(seed) for seed in range(200)]
    assert dealers[:50] == [first_dealer(seed) for seed in range(50)]
    counts = np.bincount(dealers, minlength=env.rules.players)
    assert counts.min() > 100 / env.rules.players


# --- Episodes ----------------------------------------------------------------------------------------------------


@all_rules
def test_episode_deal_ends_when_the_deal_is_scored(game):
    env = make_env(game, episode="deal")
    for seed in range(scale(100)):
        env.reset(seed=seed)
        before = env.scores
        play(env, seed)
        table = view_of(env)
        assert table.deals == 1 and table.deals_scored <= 1
        assert all(env.terminations.values()) and not any(env.truncations.values())
        assert is_near(list(env.rewards.values()), points(env.rules, before, env.scores))


@wrapped_and_raw
@all_rules
def test_episode_deal_ends_with_nothing_for_all_when_everybody_passes(game, wrapped):
    env = make_env(game, wrapped, episode="deal")
    env.reset(seed=1)
    for _ in env.possible_agents:
        env.step(PASS)
    assert all(env.terminations.values()) and not any(env.truncations.values())
    assert not any(env.rewards.values())
    for _ in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        assert (reward, terminated, truncated) == (0, True, False)
        env.step(None)
    assert not env.agents


@pytest.mark.parametrize("reward", ["points", "win"])
@all_rules
def test_max_deals_truncates_and_counts_thrown_in_cards(game, reward):
    """A game: truncations True, terminations False for all; 0 for a win; the same dealer deals again."""
    env = make_env(game, reward=reward, max_deals=3)
    env.reset(seed=1)
    dealer, decks = env.dealer, []
    while not is_over(env):
        decks.append(env.deck)
        for _ in env.possible_agents:
            assert env.dealer == dealer and record_of(env).deals == len(decks)
            env.step(PASS)
    assert len(decks) == 3 and decks[0] != decks[1] != decks[2]
    assert not any(env.terminations.values()) and all(env.truncations.values())
    assert not any(env.rewards.values())
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.possible_agents)


@all_rules
def test_the_deal_that_truncates_is_still_paid(game):
    env = make_env(game, max_deals=1)
    for seed in range(20):
        env.reset(seed=seed)
        play(env, seed)
        assert is_near(list(env.rewards.values()), points(env.rules, [0] * env.rules.teams, env.scores))
        assert all(env.truncations.values()) and not any(env.terminations.values())
        if any(env.rewards.values()):
            return
    raise AssertionError("nobody scored in 20 deals")


def test_a_game_won_in_its_last_deal_is_terminated_not_truncated():
    """A4: the end does not follow from an empty mask or from the count of deals."""
    env = make_env("schmier", max_deals=1, reward="win")
    env.reset(seed=1, options={"scores": [100, 200, 300]})
    env.step(env.last()[0]["action_mask"].nonzero()[0][-1])
    play(env, seed=1)
    assert all(env.terminations.values()) and not any(env.truncations.values())
    assert is_near(list(env.rewards.values()), [-0.5, -0.5, 1] * 2)


# --- Delivery: agents, last, dead steps ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kwargs", [{}, {"reward": "win", "target": 3}, {"episode": "deal"}, {"illegal": "terminate"}], ids=str
)
@wrapped_and_raw
@both_games
def test_every_agent_is_told_of_the_end_once_and_is_paid_in_all_what_the_engine_paid(game, wrapped, kwargs):
    """A1, A2 and A8: one terminal `last()` each, and the rewards of `last()` sum to those of the changes of score.

    The same agent may move several times running (exchange, keep); its rewards are not counted twice.
    """
    env = make_env(game, wrapped, **{"max_deals": 4} | kwargs)
    raw = env.unwrapped
    several_running = 0
    for seed in range(scale(150)):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        told, paid = dict.fromkeys(env.possible_agents, 0), dict.fromkeys(env.possible_agents, 0.0)
        engine = np.zeros(len(env.possible_agents))
        previous = None
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            paid[agent] += reward
            if terminated or truncated:
                told[agent] += 1
                env.step(None)
                assert agent not in env.agents
                continue
            assert not told[agent]
            several_running += agent == previous
            previous, scores = agent, raw.scores
            legal = observation["action_mask"].nonzero()[0]
            is_slip = kwargs.get("illegal") and rng.random() < 0.01
            env.step(70 if is_slip else rng.choice(legal))
            if kwargs.get("reward") == "win":
                engine += list(env.rewards.values())
            else:
                engine += points(raw.rules, scores, raw.scores)
        assert not env.agents
        assert set(told.values()) == {1}
        assert is_near(list(paid.values()), engine)
    assert several_running


@both_games
def test_an_agent_that_moves_again_is_not_paid_again(game):
    """A8: the bidder of a new deal has its reward of the last one before its bid, and nothing at the moves after."""
    env = make_env(game, max_deals=scale(300), target=500)
    env.reset(seed=2)
    mover, paid_since, several = None, 0.0, 0
    for action in random_actions(env, seed=2):
        reward = env.last(observe=False)[1]
        if env.agent_selection == mover:
            several += 1
            assert reward == paid_since
        mover = env.agent_selection
        env.step(action)
        paid_since = env.rewards[mover]
    assert several


@both_games
def test_dead_agents_may_only_step_none(game):
    env = make_env(game, episode="deal")
    env.reset(seed=2)
    play(env, seed=2)
    assert set(env.agents) == set(env.possible_agents)
    with pytest.raises(ValueError, match="None"):
        env.step(PASS)
    for left in range(len(env.possible_agents), 0, -1):
        assert len(env.agents) == left
        env.step(None)
    assert env.agents == []


@wrapped_and_raw
@both_games
def test_partial_dead_steps_leave_no_trace_after_reset(game, wrapped):
    """A7: agents' lists are not shared, so removals change no order of play."""
    env, fresh = make_env(game, wrapped, episode="deal"), make_env(game, wrapped, episode="deal")
    names = [f"player_{seat}" for seat in range(len(env.possible_agents))]
    for dead in range(len(names) + 1):
        env.reset(seed=dead)
        assert env.agents is not env.possible_agents
        play(env, seed=dead)
        for _ in range(dead):
            env.step(None)
        assert env.possible_agents == names
        env.reset(seed=50 + dead)
        fresh.reset(seed=50 + dead)
        assert env.agents == names
        assert seen(env) == seen(fresh)
        assert seen(play(env, seed=1)) == seen(play(fresh, seed=1))


def break_inside_a_step(env):
    """Makes the next step fail half way, as a full memory or an interrupt could."""
    pay, env.unwrapped._select = env.unwrapped._select, None
    with pytest.raises(TypeError):
        env.step(env.last()[0]["action_mask"].nonzero()[0][0])
    env.unwrapped._select = pay


@pytest.mark.parametrize("how", ["reset", "terminate", "raise", "exception"])
@wrapped_and_raw
@both_games
def test_nothing_of_the_game_before_survives_a_reset(game, wrapped, how):
    """A11: reset at any ply, also after an illegal action and after an exception inside a step."""
    kwargs = {"max_deals": 2, "illegal": "terminate" if how == "terminate" else "raise"}
    env, fresh = make_env(game, wrapped, **kwargs), make_env(game, wrapped, **kwargs)
    for plies in range(0, 120, 3 if JIT else 63):
        env.reset(seed=3)
        play(env, plies, count=plies)
        if how == "raise" and not is_over(env):
            with pytest.raises(IllegalActionError):
                env.step(70)
        elif how == "terminate" and not is_over(env):
            env.step(70)
        elif how == "exception" and not is_over(env):
            break_inside_a_step(env)
        env.reset(seed=1000 + plies)
        fresh.reset(seed=1000 + plies)
        assert not any(env.rewards.values()) and env.last()[1] == 0 and not is_over(env)
        for action in random_actions(fresh, seed=plies, count=scale(70, 20)):
            assert seen(env) == seen(fresh) and env.get_state() == fresh.get_state()
            env.step(action)
            fresh.step(action)


# --- Arguments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kwargs", "error", "fragments"),
    [
        ({"render_mode": "rgb"}, ValueError, ["render_mode='rgb'", "'ansi'", "'human'", "None"]),
        ({"illegal": "ignore"}, ValueError, ["illegal='ignore'", "'raise'", "'terminate'"]),
        ({"episode": "hand"}, ValueError, ["episode='hand'", "'game'", "'deal'"]),
        ({"reward": "score"}, ValueError, ["reward='score'", "'points'", "'win'"]),
        ({"reward": "win", "episode": "deal"}, ValueError, ["reward='win'", "episode='game'", "'points'"]),
        ({"max_deals": 0}, ValueError, ["max_deals=0", "1.."]),
        ({"max_deals": 10**7}, ValueError, ["max_deals=10000000", "1.."]),
        ({"max_deals": 2.5}, TypeError, ["max_deals", "2.5", "whole number"]),
        ({"max_deals": True}, TypeError, ["max_deals", "True", "whole number"]),
        ({"rules": "poker"}, ValueError, ["'poker'", "schmier", "four_point", ".toml"]),
        ({"rules": 3}, TypeError, ["rules", "3", "GameRules", "preset"]),
        ({"rules": "none/such.toml"}, ValueError, ["none/such.toml"]),
        ({"targt": 11}, TypeError, ["'targt'", "target"]),
        ({"target": 0}, ValueError, ["target=0", "1.."]),
        ({"target": "11"}, ValueError, ["target='11'", "whole number"]),
        ({"high": "king"}, ValueError, ["high='king'", "ace", "in_play"]),
        ({"teams": 4}, ValueError, ["players=6", "teams=4"]),
        ({"follow": "trump_only"}, ValueError, ["follow=trump_only", "not implemented yet", "strict"]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
@wrapped_and_raw
def test_a_bad_argument_is_refused_and_told_what_is_allowed(kwargs, error, fragments, wrapped):
    with pytest.raises(error) as caught:
        make_env("schmier", wrapped, **kwargs)
    assert type(caught.value) is error
    for fragment in fragments:
        assert fragment in str(caught.value)


@pytest.mark.parametrize(("game", "other"), [("schmier", "four_point"), ("four_point", "schmier")])
@wrapped_and_raw
def test_rules_of_another_game_than_the_modules_are_refused(game, other, wrapped):
    """Design 6: a ValueError."""
    for rules in (other, make_rules(other)):
        with pytest.raises(ValueError, match=other):
            make_env(game, wrapped, rules=rules)


@pytest.mark.parametrize(
    ("seed", "error"), [(-1, ValueError), (2**64, ValueError), (1.5, TypeError), ("x", TypeError), (True, TypeError)]
)
@wrapped_and_raw
def test_a_bad_seed_is_refused_and_changes_nothing(seed, error, wrapped):
    env = make_env("schmier", wrapped)
    env.reset(seed=1)
    play(env, seed=1, count=30)
    before, state = seen(env), env.get_state()
    with pytest.raises(error, match="whole number"):
        env.reset(seed=seed)
    assert seen(env) == before and env.get_state() == state
    env.reset(seed=np.uint64(2**64 - 1))
    assert observed(env, "player_0")
