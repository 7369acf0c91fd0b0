"""The public helpers that set the table: what they refuse, and that others can go on from what they give."""

from typing import Any

import numpy as np
import pytest

from smear_env import Games, IllegalActionError
from smear_env.games import play_random
from smear_env.testing import deal, make_deck, midplay, pack, position


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"hands": {6: "AH"}, "trump": "H"}, "no seat 6"),
        ({"hands": {0: "AH AH"}, "trump": "H"}, "named twice: .'AH'."),
        ({"hands": {0: "XX2"}, "trump": "H"}, "not in the pack: .'XX2'."),
        ({"hands": {0: "1H"}, "trump": "H"}, "no card"),
        ({"led": "2H 3H 4H 5H 6H 7H", "trump": "H"}, "whole trick"),
        ({"hands": {0: "AH"}}, "name the trump suit"),
        ({"hands": {0: "AH"}, "trump": "X"}, "allowed: C, D, H, S"),
        ({"hands": {0: "2H 3H", 1: "4H"}, "trump": "H", "tricks": 5}, "seat 0 should hold 1"),
    ],
)
def test_a_position_that_cannot_be_is_refused(kwargs: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        position("schmier", **kwargs)


def test_a_deck_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="is dealt 6 cards, not 7"):
        make_deck("schmier", hands={0: "AH KH QH JH TH 9H 8H"})
    with pytest.raises(ValueError, match="too few are left"):
        make_deck("four_point", stock=pack("four_point")[:30])


def test_an_environment_goes_on_from_a_table() -> None:
    table = position("schmier", trump="H", led="JD", hands={1: "2H AD KD 9S"}, scores=[3, 4, 5])
    env = table.env(render_mode="ansi")
    assert env.agent_selection == "player_1" and env.scores == [3, 4, 5]
    assert env.last()[0]["action_mask"].sum() == 1
    assert (env.observe("player_3")["observation"] == table.observation(3)).all()
    over = deal("four_point", episode="deal").play_at_random()
    with pytest.raises(ValueError, match="nobody to move"):
        over.env()


def test_games_can_be_played_on_without_being_observed() -> None:
    games = Games("four_point", 3, seed=1, max_deals=2)
    games.reset()
    states = np.array([7], np.uint64)
    play_random(games.records, games.tables, states, 90)
    assert states[0] != 7 and (games.records["deals"] >= 1).all()
    games.refresh()
    games.step(games.sample(games.action_masks))
    with pytest.raises(ValueError, match="action_masks must have shape"):
        games.sample(games.action_masks[:1])


MIDDLES = [
    ("schmier", {"tricks": ["AH 3H 5H 2H 6H 9H", "KH 7D 8H TH 4H QD"], "led": "AS KS"}),
    ("schmier", {"led": "JD 3H 5H 4C XX", "bidder": 2, "bid": 6, "dealer": 4}),
    ("schmier_2x3", {"tricks": ["AH 3H 5H 2H 6H 9H"], "bidder": 5, "dealer": 5, "scores": [3, -4]}),
    ("four_point", {"tricks": ["AH TH 8H 9C"], "led": "KS 7H", "discards": {0: "TC"}}),
    ("four_point", {"tricks": ["AH TH 8H 9C"], "widow": 0, "bidder": 1, "bid": 3}),
    ("four_point", {"led": "9H", "widow": 3, "bidder": 3, "dealer": 1}),
]


@pytest.mark.parametrize(("rules", "kwargs"), MIDDLES)
def test_the_middle_of_the_play_comes_from_a_deal(rules: str, kwargs: dict[str, Any]) -> None:
    table = midplay(rules, trump="H", seed=4, **kwargs)
    view, num_cards = (
        table.view,
        sum(len(trick.split()) for trick in [*kwargs.get("tricks", ()), kwargs.get("led", "")]),
    )
    assert view.phase == "play" and view.trump == "H" and len(view.plays) == num_cards
    assert view.bidder == kwargs.get("bidder", 0) and view.bid == kwargs.get("bid", table.rules.min_bid)
    assert view.scores == tuple(kwargs.get("scores", [0] * table.rules.teams))
    cards = [card for pile in (*view.hands, *view.discards, view.plays, view.stock) for card in pile]
    assert sorted(cards) == sorted(view.deck) and len(set(cards)) == table.rules.deck_size
    assert not any(card in ("XX", "JD") or card[1] == "H" for card in view.discards[view.dealer])
    assert all(set(cards.split()) <= view.discards[seat] for seat, cards in kwargs.get("discards", {}).items())
    assert midplay(rules, trump="H", seed=4, **kwargs).view == view
    table.play_at_random()


def test_who_showed_to_be_void_is_given_no_card_of_the_suit() -> None:
    for seed in range(5):
        hands = midplay("schmier", trump="H", tricks=["AH 3C 5H 2C 6H 9H"], seed=seed).view.hands
        assert not any(card in ("XX", "JD") or card[1] == "H" for seat in (1, 3) for card in hands[seat])


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"trump": "X"}, "allowed: C, D, H, S"),
        ({"tricks": ["AH 3H"], "led": "5H"}, "trick 1 has 2 cards; a trick has 6"),
        ({"led": "AH 3H 4H 5H 6H 7H 8H"}, "trick 1 has 7 cards"),
        ({"led": "AH", "hands": {1: "AH"}}, "named twice"),
        ({"led": "AH", "hands": {0: "2S 3S 4S 5S 6S 7S"}}, "seat 0 has 6 cards there, not 7"),
        ({"discards": {0: "2S 3S 4S 5S"}}, "seat 0 has 3 cards there, not 4"),
        ({"tricks": ["AH 2C 3C 4C 5C 6C"]}, "could not be laid"),
    ],
)
def test_a_middle_that_cannot_come_about_is_refused(kwargs: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        midplay("schmier", **{"trump": "H"} | kwargs)


def test_a_revoke_is_refused() -> None:
    with pytest.raises(IllegalActionError, match="must follow hearts"):
        midplay("schmier", trump="H", led="AH 2C", hands={1: "3H"})
