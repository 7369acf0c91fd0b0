"""Positions set up through `reset(options=...)`: deck, dealer, scores, first actions."""

import numpy as np
import pytest
from play import MODULES, RULES, is_over, make_env, play, random_actions, seen

from smear_env import IllegalActionError, make_rules
from smear_env.actions import PASS
from smear_env.cards import card_text
from smear_env.state import view
from smear_env.testing import pack

pytestmark = pytest.mark.environment

both_games = pytest.mark.parametrize("game", MODULES)
all_rules = pytest.mark.parametrize("game", RULES)
wrapped_and_raw = pytest.mark.parametrize("wrapped", [True, False], ids=["wrapped", "raw"])


def view_of(env):
    return view(env.unwrapped.records, 0, env.unwrapped.rules)


def some_deck(rules, seed=0):
    deck = pack(rules)
    np.random.default_rng(seed).shuffle(deck)
    return deck


@all_rules
def test_deck_is_dealt_from_the_dealers_left_a_hand_each_then_the_stock(game):
    env = make_env(game)
    players, size = env.rules.players, env.rules.hand_cards
    for dealer in range(players):
        deck = some_deck(env.rules, dealer)
        env.reset(seed=1, options={"deck": deck, "dealer": dealer})
        table = view_of(env)
        for k in range(players):
            assert table.hands[(dealer + 1 + k) % players] == set(deck[size * k : size * k + size])
        assert table.stock == tuple(deck[size * players :])
        assert [card_text(card) for card in env.deck] == deck
        assert env.dealer == dealer and env.agent_selection == f"player_{(dealer + 1) % players}"


@both_games
def test_deck_may_be_numbers_texts_or_an_array(game):
    env = make_env(game)
    deck = some_deck(env.rules)
    env.reset(options={"deck": deck})
    numbers = env.deck
    mixed = [text.replace("T", "10").lower() if i % 2 else numbers[i] for i, text in enumerate(deck)]
    for given in (numbers, np.array(numbers), np.array(numbers, np.int8), tuple(deck), mixed):
        env.reset(options={"deck": given})
        assert env.deck == numbers


@both_games
def test_options_are_for_the_first_deal_only_and_the_rules_stay(game):
    env = make_env(game, max_deals=3, target=17)
    deck = some_deck(env.rules)
    env.reset(seed=1, options={"deck": deck, "dealer": 2, "scores": [-5] * env.rules.teams})
    first = env.deck
    play(env, seed=1)
    assert env.deck != first
    env.reset()
    assert env.deck != first and env.scores == [0] * env.rules.teams and env.rules == make_rules(game, target=17)
    env.reset(seed=1, options={"deck": deck})
    one = play(env, seed=1).deck
    env.reset(seed=1, options={"deck": deck})
    assert play(env, seed=1).deck == one


@all_rules
def test_scores_are_those_given_and_count_on(game):
    env = make_env(game, target=500)
    for score in (0, -1, 7, -64, -63, 63, 64, 1000, -1000):
        scores = [score] + list(range(1, env.rules.teams))
        env.reset(seed=1, options={"scores": np.array(scores) if score == 7 else scores})
        assert env.scores == scores
        assert view_of(env).scores == tuple(scores)


@both_games
def test_first_actions_are_done_at_once_as_numbers_or_texts(game):
    env, by_hand = make_env(game), make_env(game)
    deck = some_deck(env.rules)
    by_hand.reset(seed=3, options={"deck": deck, "dealer": 1})
    actions = []
    for action in random_actions(by_hand, seed=5, count=20):
        actions.append(action)
        by_hand.step(action)
    env.reset(seed=3, options={"deck": deck, "dealer": 1, "first_actions": actions})
    assert seen(env) == seen(by_hand)
    env.reset(seed=3, options={"dealer": 1, "first_actions": ["pass", "Bid 3", np.int8(PASS)]})
    bids = view_of(env).bids
    assert [bids[seat % len(bids)] for seat in (2, 3, 4)] == [0, 3, 0]


@wrapped_and_raw
@both_games
def test_first_actions_may_end_the_episode(game, wrapped):
    env = make_env(game, wrapped, episode="deal")
    env.reset(options={"first_actions": ["pass"] * len(env.possible_agents)})
    assert all(env.terminations.values())
    told = []
    for agent in env.agent_iter():
        assert env.last()[1:4] == (0, True, False)
        told.append(agent)
        env.step(None)
    assert sorted(told) == env.possible_agents


@wrapped_and_raw
@both_games
def test_unknown_options_are_ignored_with_a_warning(game, wrapped):
    env, plain = make_env(game, wrapped), make_env(game, wrapped)
    with pytest.warns(UserWarning, match=r"'decks'.*known.*deck, dealer, scores, first_actions"):
        env.reset(seed=1, options={"decks": 1})
    plain.reset(seed=1)
    assert seen(env) == seen(plain)


def bad(name, value, *fragments):
    return pytest.param({name: value}, fragments, id=f"{name}={value!r}"[:60])


PACK = pack("schmier")
BAD_OPTIONS = [
    bad("deck", PACK[:-1], "deck", "53", "52 cards", "missing: XX"),
    bad("deck", [*PACK[:-1], "2C"], "deck", "53", "missing: XX", "twice: 2C"),
    bad("deck", [*PACK[:-1], "XX2"], "deck", "53", "missing: XX", "not in the pack: XX2"),
    bad("deck", [*range(52), 99], "deck", "53", "missing: XX", "not in the pack: 99"),
    bad("deck", [*range(52), -3], "deck", "53", "missing: XX", "not in the pack: -3"),
    bad("deck", [*PACK[:-1], "1H"], "'1H'", "rank then suit"),
    bad("deck", [*PACK[:-1], 5.5], "deck", "5.5", "numbers or texts"),
    bad("deck", [*PACK[:-1], None], "deck", "None", "numbers or texts"),
    bad("deck", [], "deck", "53", "0 cards"),
    bad("deck", "2C 3C", "deck", "2C 3C", "list"),
    bad("deck", 7, "deck", "7", "list"),
    bad("dealer", -1, "dealer=-1", "0..5"),
    bad("dealer", 6, "dealer=6", "0..5"),
    bad("dealer", "player_0", "dealer='player_0'", "0..5"),
    bad("dealer", 1.0, "dealer=1.0", "0..5"),
    bad("dealer", True, "dealer=True", "0..5"),
    bad("dealer", None, "dealer=None", "0..5"),
    bad("scores", [1, 2], "[1, 2]", "3 whole numbers"),
    bad("scores", [1, 2, 3, 4], "[1, 2, 3, 4]", "3 whole numbers"),
    bad("scores", [1, 2, 3.5], "3.5", "3 whole numbers"),
    bad("scores", [1, 2, 40000], "40000", "3 whole numbers", "1000"),
    bad("scores", 7, "scores", "7", "list"),
    bad("first_actions", "pass", "first_actions", "'pass'", "list"),
    bad("first_actions", ["bid 99"], "'bid 99'", "'bid 4'"),
    bad("first_actions", [70], "first_actions", "70", "0..69"),
    bad("first_actions", [-1], "first_actions", "-1", "0..69"),
    bad("first_actions", [None], "first_actions", "None", "0..69"),
    bad("first_actions", ["pass", "pass", "TH"], "TH", "legal: pass, bid 3"),
    bad("first_actions", ["bid 4", "bid 4"], "bid 4", "legal: pass, bid 5", "raised"),
]


@pytest.mark.parametrize(("options", "fragments"), BAD_OPTIONS)
@wrapped_and_raw
def test_a_bad_option_is_told_what_is_allowed_and_changes_nothing(options, fragments, wrapped):
    """Also not the generator, nor by the good options beside it; before any reset, in mid-game and after the end."""
    env = make_env("schmier", wrapped, max_deals=2)
    good = {"dealer": 3, "scores": [9, 9, 9], "deck": some_deck(make_rules("schmier")), "first_actions": ["pass"]}
    for stage in ("new", "running", "over"):
        if stage == "running":
            env.reset(seed=1)
        play(env, seed=1, count={"new": 0, "running": 40, "over": 10**6}[stage])
        before, state = stage != "new" and seen(env), env.get_state()
        with pytest.raises(ValueError, match=r".") as caught:
            env.reset(seed=2, options=good | options)
        for fragment in fragments:
            assert fragment in str(caught.value)
        assert isinstance(caught.value, IllegalActionError) == ("legal: pass" in fragments[1])
        assert env.get_state() == state
        if stage != "new":
            assert seen(env) == before
    assert is_over(env)


@both_games
def test_first_actions_after_the_end_are_refused(game):
    env = make_env(game, episode="deal")
    with pytest.raises(IllegalActionError, match="legal"):
        env.reset(options={"first_actions": ["pass"] * (len(env.possible_agents) + 1)})


def test_a_deck_of_another_game_is_refused():
    env = make_env("four_point")
    with pytest.raises(ValueError, match=r"all 32 cards.*53 cards were given.*not in the pack: .*2C"):
        env.reset(options={"deck": PACK})
