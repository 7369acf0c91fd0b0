"""The games in OpenSpiel: its own checks, what seats may know, and the same exploitability as ours."""

import copy
import importlib.util
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python import policy as spiel_policy
from open_spiel.python.algorithms import exploitability as spiel_exploitability
from open_spiel.python.algorithms import external_sampling_mccfr
from small_games import EXCHANGE, ONE_SUIT, WIDOW

from smear_agents import make_agent
from smear_agents.learner_view import ViewOptions
from smear_agents.network import Network, policy_shape
from smear_env import GameRules, make_rules
from smear_env.actions import NUM_ACTIONS
from smear_env.games import observe_records
from smear_env.interop.openspiel import NAME, PlayerPolicy, load_game
from smear_env.resample import hide_each, resample
from smear_env.rules import PRESETS
from smear_train.exploit import Behaviour, Tree, behaviour, count_deals, exploitability

ROOT = Path(__file__).parents[2]

THREE = make_rules("mini_2p", players=3, teams=3, suits=1, deal_cards=1, hand_cards=1, low_rank=11)
SMALL = [ONE_SUIT, EXCHANGE, WIDOW, THREE]


def by_name(rules: GameRules) -> str:
    return rules.name


def states(state: Any, chance: float = 1.0) -> Iterator[tuple[Any, float]]:
    """Every state of a game, with how likely chance makes it."""
    yield state, chance
    if state.is_chance_node():
        for action, share in state.chance_outcomes():
            yield from states(state.child(action), chance * share)
    elif not state.is_terminal():
        for action in state.legal_actions():
            yield from states(state.child(action), chance)


@pytest.mark.parametrize("rules", [*PRESETS.values(), make_rules("four_point", widow=0), *SMALL], ids=by_name)
def test_openspiels_own_checks(rules: GameRules) -> None:
    """Random play with everything asked and compared, states written and read back among it."""
    game = load_game(rules)
    assert game.rules == rules
    pyspiel.random_sim_test(game, num_sims=3, serialize=True, verbose=False)
    assert pyspiel.load_game(str(game)).rules == rules


@pytest.mark.parametrize("rules", [*SMALL], ids=by_name)
def test_every_deal_is_equally_likely_and_the_tree_is_the_trainers(rules: GameRules) -> None:
    """Deals, decisions and results against the tree that `smear exploit` grows without OpenSpiel."""
    deals: dict[Any, float] = defaultdict(float)
    infos: list[set[str]] = [set() for _ in range(rules.players)]
    ends: list[tuple[float, ...]] = []
    for state, chance in states(load_game(rules).new_initial_state()):
        if state.is_chance_node():
            shares = [Fraction(share).limit_denominator(10_000) for _, share in state.chance_outcomes()]
            assert sum(shares) == 1
        elif state.is_terminal():
            ends.append(tuple(state.returns()))
        else:
            infos[state.current_player()].add(state.information_state_string())
            if not state.record[0].bids[(state.record[0].dealer + 1) % rules.players] + 1:
                deals[tuple(state.history())] += chance
    assert len(deals) == rules.players * count_deals(rules)
    assert list(deals.values()) == pytest.approx([1 / len(deals)] * len(deals))
    trees = [Tree(rules, dealer) for dealer in range(rules.players)]
    for seat in range(rules.players):
        assert len(infos[seat]) == sum((tree.owners == seat).sum() for tree in trees)
    theirs = [level.rewards[level.seats < 0] for tree in trees for level in tree.levels]
    assert np.allclose(sorted(ends), sorted(np.concatenate(theirs).tolist()))


@pytest.mark.parametrize("rules", [*SMALL, PRESETS["mini_2p"]], ids=by_name)
def test_a_seat_is_told_what_it_has_seen_no_less_and_no_more(rules: GameRules) -> None:
    """Text and tensor of the information state tell apart what the sequence of the seat's views does, and only that.

    A view is what `hide` leaves of the record, at each decision of the seat.
    """
    views: dict[str, set[bytes]] = defaultdict(set)
    texts: dict[tuple[bytes, int], set[str]] = defaultdict(set)
    tensors: dict[str, set[bytes]] = defaultdict(set)

    def walk(state: Any, before: dict[int, bytes]) -> None:
        if state.is_terminal():
            return
        if not state.is_chance_node():
            seat = state.current_player()
            hidden = hide_each(state.record, rules, np.array([seat]))
            stock = rules.players * rules.deal_cards  # from here on cards come all at once, in no order
            hidden["deck"][0, stock:] = np.sort(hidden["deck"][0, stock:])
            seen = before.get(seat, b"") + hidden.tobytes()
            text = state.information_state_string()
            views[text].add(seen)
            texts[seen, seat].add(text)
            tensors[text].add(np.array(state.information_state_tensor()).tobytes())
        for action in state.legal_actions():
            if state.is_chance_node():
                walk(state.child(action), before)
            else:
                walk(state.child(action), before | {seat: seen + bytes([action])})

    walk(load_game(rules).new_initial_state(), {})
    assert all(len(same) == 1 for same in (*views.values(), *texts.values(), *tensors.values()))
    for seat in range(rules.players):
        own = [next(iter(tensor)) for text, tensor in tensors.items() if text.startswith(f"seat {seat},")]
        assert len(set(own)) == len(own)
    assert len(texts) == len(tensors) > 20


def test_cards_that_others_hold_never_show() -> None:
    """In a game too big to go through: with all that a seat has not seen dealt anew nothing that it is told changes."""
    rng = random.Random(1)
    game = load_game("four_point", widow=0)
    for number in range(30):
        state = game.new_initial_state()
        while not state.is_terminal() and (state.is_chance_node() or rng.random() < 0.95):
            state.apply_action(rng.choice(state.legal_actions()))
        if state.is_terminal():
            continue
        seat = state.current_player()
        other = resample(hide_each(state.record, game.rules, np.array([seat])), game.rules, seat, number)
        assert (other[0].deck != state.record[0].deck).any()
        again, size = game.new_initial_state(), game.rules.deal_cards
        again.apply_action(int(other[0].dealer))
        for begin in range(0, game.rules.players * size, size):
            for card in sorted(other[0].deck[begin : begin + size].tolist()):
                again.apply_action(card)
        actions = state._at.actions[seat]  # forced ones, which are others with other cards, among them
        while len(again._at.actions[seat]) < len(actions):
            again.apply_action(actions[len(again._at.actions[seat])])
        assert again.information_state_string(seat) == state.information_state_string(seat)
        assert again.information_state_tensor(seat) == state.information_state_tensor(seat)


def test_observations_are_the_environments() -> None:
    game = load_game("four_point", widow=3)
    state = game.new_initial_state()
    assert state.observe(0)[0].sum() == 0 == sum(state.information_state_tensor(0))
    rng = random.Random(5)
    while not state.is_terminal():
        if not state.is_chance_node():
            seat = state.current_player()
            views, masks = observe_records(state.record, game.rules, np.array([seat]))
            assert np.array_equal(state.observe(seat)[0], views[0])
            assert state.legal_actions() == masks[0].nonzero()[0].tolist() == sorted(state.legal_actions())
            assert len(state.legal_actions()) > 1 and state.legal_actions_mask(seat) == masks[0].tolist()
            assert len(state.information_state_tensor()) == np.prod(game.information_state_tensor_shape())
            copied = copy.deepcopy(state)
            assert copied.information_state_string() == state.information_state_string()
        state.apply_action(rng.choice(state.legal_actions()))
    assert sum(state.returns()) == 0 and state.rewards() == state.returns()


class SameAs(spiel_policy.Policy):
    """A tabular policy of OpenSpiel's from a policy of ours over all decisions: an export, number by number."""

    def __init__(self, game: Any, play: Behaviour) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._play = play

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        seat = state.current_player()
        row = self._play(state.record, np.array([seat]))[0]
        return {action: float(row[action]) for action in state.legal_actions()}


def mixed(rules: GameRules) -> Behaviour:
    """Somebody who mixes: a network with random weights, by the probabilities of its outputs."""
    shape = policy_shape(rules, ViewOptions(), (16,))
    weights = np.random.default_rng(3).normal(size=shape.num_weights) / 3
    net = Network(rules, ViewOptions(), (16,), weights)
    return lambda records, seats: net.probabilities(*observe_records(records, rules, seats))


@pytest.mark.parametrize("rules", SMALL, ids=by_name)
@pytest.mark.parametrize("who", ["random", "club", "mixed"])
def test_exploitability_is_openspiels(rules: GameRules, who: str) -> None:
    game = load_game(rules)
    play = mixed(rules) if who == "mixed" else behaviour(who, rules)
    theirs = spiel_exploitability.nash_conv(game, SameAs(game, play), return_only_nash_conv=False, use_cpp_br=False)
    (ours,) = exploitability(rules, [play])
    assert ours.nash_conv == pytest.approx(theirs.nash_conv, abs=1e-9)
    gains = np.zeros(rules.players)
    for dealer in range(rules.players):
        tree = Tree(rules, dealer)
        policy = tree.ask(play)
        values = tree.values(policy)
        gains += [tree.best_response(policy, seat)[0] - values[seat] for seat in range(rules.players)]
    assert gains / rules.players == pytest.approx(theirs.player_improvements, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["greedy", "expert"])
def test_exploitability_of_mini_2p_is_openspiels(who: str) -> None:
    rules = PRESETS["mini_2p"]
    game, play = load_game(rules), behaviour(who, rules)
    (ours,) = exploitability(rules, [play])
    theirs = spiel_exploitability.nash_conv(game, SameAs(game, play), use_cpp_br=False)
    assert ours.nash_conv == pytest.approx(theirs, abs=1e-9)


def test_an_agent_of_ours_plays_in_openspiel() -> None:
    game, agent = load_game(ONE_SUIT), make_agent("greedy", ONE_SUIT)
    played = PlayerPolicy(game, agent.probabilities)
    tabular = played.to_tabular()
    assert spiel_exploitability.nash_conv(game, tabular) == pytest.approx(
        exploitability(ONE_SUIT, [behaviour("greedy", ONE_SUIT)])[0].nash_conv
    )


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("openspiel_cfr", ROOT / "examples" / "openspiel_cfr.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_solves_a_game_of_one_suit(capsys: pytest.CaptureFixture[str]) -> None:
    found = example().main(["--rule", "suits=1", "--nash-conv", "0.01", "--iterations", "256"])
    assert found <= 0.01 and "NashConv" in capsys.readouterr().out


def test_sampling_works_where_the_tree_is_too_big() -> None:
    """A few iterations of external sampling on a game whose tree has millions of positions, and a deal of Schmier."""
    solver = external_sampling_mccfr.ExternalSamplingSolver(
        load_game("mini_4p"), external_sampling_mccfr.AverageType.SIMPLE
    )
    for _ in range(3):
        solver.iteration()
    state = load_game("schmier").new_initial_state()
    rng = np.random.default_rng(2)
    while not state.is_terminal():
        if state.is_chance_node():
            actions, shares = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(rng.choice(actions, p=shares)))
        else:
            state.apply_action(int(rng.choice(state.legal_actions())))
    assert sum(state.returns()) == pytest.approx(0)


@pytest.mark.parametrize(
    ("parameters", "fragment"),
    [
        ({"rules": "mini_3p"}, "unknown game 'mini_3p'"),
        ({"rules": "mini_2p", "options": "suits=3"}, "NAME:VALUE"),
        ({"rules": "mini_2p", "options": "suits:9"}, "suits='9' is not allowed"),
        ({"rules": "mini_2p", "options": "suit:1"}, "did you mean suits"),
    ],
)
def test_wrong_parameters_are_refused_in_words(parameters: dict[str, str], fragment: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fragment)):
        pyspiel.load_game(NAME, parameters)
    assert load_game().num_distinct_actions() == NUM_ACTIONS


def test_nobody_gets_an_observer_that_sees_more_than_a_seat() -> None:
    everything = pyspiel.IIGObservationType(
        public_info=True, perfect_recall=True, private_info=pyspiel.PrivateInfoType.ALL_PLAYERS
    )
    with pytest.raises(ValueError, match="what one seat sees"):
        load_game().make_py_observer(everything)
