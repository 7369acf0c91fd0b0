"""The public helpers that set the table: what they refuse, and that others can go on from what they give."""

from typing import Any

import numpy as np
import pytest

from smear_env import Games
from smear_env.games import play_random
from smear_env.testing import deal, make_deck, pack, position


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
