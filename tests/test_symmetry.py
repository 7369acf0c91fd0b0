"""The names of suits and the numbers of seats mean nothing: the same game relabelled gives the same results."""

import itertools

import numpy as np
import pytest
from play import RULES, is_near, make_env, random_actions, scale

pytestmark = [pytest.mark.environment, pytest.mark.no_cover]

TRUMP_CLUBS = 65
# Clubs and spades, diamonds and hearts stay pairs; where there are no bauers any order will do.
PAIRED = [order for order in itertools.permutations(range(4)) if all(order[3 - s] == 3 - order[s] for s in range(4))]
ANY = list(itertools.permutations(range(4)))


def renamed(action, order):
    """A card or an action when suit s is called order[s]."""
    if action < 52:
        return 13 * order[action // 13] + action % 13
    if TRUMP_CLUBS <= action < TRUMP_CLUBS + 4:
        return TRUMP_CLUBS + order[action - TRUMP_CLUBS]
    return action


@pytest.mark.parametrize("game", RULES)
def test_renaming_suits_and_turning_the_table_changes_nothing_but_names(game):
    rng = np.random.default_rng(3)
    one, other = make_env(game, episode="deal"), make_env(game, episode="deal")
    players, teams = one.rules.players, one.rules.teams
    suits = one.rules.suits
    orders = PAIRED if one.rules.left_bower else [order for order in ANY if max(order[:suits]) < suits]
    assert len(orders) == (8 if one.rules.left_bower else 24 if suits == 4 else 4)
    num_scored = 0
    for seed in range(scale(400)):
        order, turn = orders[seed % len(orders)], int(rng.integers(players))
        one.reset(seed=seed)
        scores = [int(score) for score in rng.integers(-20, 20, teams)]
        one.reset(options={"scores": scores})
        deck = [renamed(card, order) for card in one.deck]
        turned = [scores[(team - turn) % teams] for team in range(teams)]
        other.reset(options={"deck": deck, "dealer": (one.dealer + turn) % players, "scores": turned})
        for action in random_actions(one, seed):
            seat = int(one.agent_selection[-1])
            assert other.agent_selection == f"player_{(seat + turn) % players}"
            seen, seen_renamed = one.last()[0], other.last()[0]
            legal = {renamed(a, order) for a in seen["action_mask"].nonzero()[0]}
            assert legal == set(seen_renamed["action_mask"].nonzero()[0])
            if order == (0, 1, 2, 3):
                for place in range(players):
                    view = one.observe(f"player_{place}")["observation"]
                    assert (view == other.observe(f"player_{(place + turn) % players}")["observation"]).all()
            one.step(action)
            other.step(renamed(action, order))
        assert one.terminations == other.terminations
        assert [other.scores[(team + turn) % teams] for team in range(teams)] == one.scores
        assert is_near(
            [other.rewards[f"player_{(s + turn) % players}"] for s in range(players)], [*one.rewards.values()]
        )
        num_scored += one.scores != scores
    assert num_scored
