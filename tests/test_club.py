"""The scripted player `club`: each of its heuristics in a position or two, and what holds for all its answers."""

import time

import numpy as np
import pytest

from smear_agents import ClubAgent, make_agent
from smear_agents.club_bids import BIDS, worth_of
from smear_env import PRESETS, GameRules, Games, make_rules
from smear_env._jit import JIT
from smear_env.actions import BID_1, DONE, PASS, TRUMP_CLUBS, action_text
from smear_env.cards import set_of
from smear_env.observe import block_slice
from smear_env.resample import resample
from smear_env.rules import make_tables
from smear_env.testing import Table, deal, position
from smear_train.sim import play_out, simulate

SCHMIER, FOUR_POINT = PRESETS["schmier"], PRESETS["four_point"]

VARIANTS = [
    *PRESETS.values(),
    make_rules("four_point", widow=0),
    make_rules("four_point", widow=3, high="in_play", low="in_play"),
    make_rules("four_point", all_pass="stick_dealer", finish="bidder_only", defender_cap="target"),
    make_rules("four_point", discards_score_for="nobody", low_rank=2),
    make_rules("schmier", jokers=0, joker_point=0, joker_card_points=0, max_bid=5),
    make_rules("schmier", all_pass="stick_dealer", min_bid=1),
    make_rules("schmier", left_bower=False, left_point=0, max_bid=5, follow="follow_or_trump"),
    make_rules("schmier", teams=6, exchange_discard="up_to_1"),
    make_rules("schmier", players=2, teams=2, exchange_discard="up_to_6"),
]


def choice(table: Table, **weights: object) -> str:
    """What club does in a position, as text."""
    agent = ClubAgent(table.rules, **weights)  # type: ignore[arg-type]
    return action_text(agent.act(table.games.observations[0], table.games.action_masks[0]))


# --- Bidding -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "hand", "expected"),
    [
        ("schmier", "AH JH JD 2H KH QH", "bid 3"),  # no more than it takes to buy it
        ("schmier", "3C 4D 5H 6S 8C 9D", "pass"),
        ("schmier", "AH KH 2H 4C 5D 9S", "bid 3"),
        ("four_point", "AH JH 7H KH 9C 8S", "bid 2"),
        ("four_point", "8C 9D TH 9S QC JD", "pass"),
    ],
)
def test_bids_what_the_hand_bears_and_no_more_than_needed(game: str, hand: str, expected: str) -> None:
    players = PRESETS[game].players
    assert choice(deal(game, hands={0: hand}, dealer=players - 1)) == expected


def test_outbids_others_only_with_more() -> None:
    strong, fair = "AH KH JH JD 2H TC", "AH 2H 8H 4C 5D 9S"
    for hand, expected in ((strong, "bid 4"), (fair, "pass")):
        assert choice(deal("schmier", hands={0: hand}, dealer=1, actions=["pass", "pass", "pass", "bid 3"])) == expected


def test_leaves_the_bid_to_the_partner() -> None:
    """The hand would outbid another team, seat 2, with the same bid."""
    hands = {5: "AH KH JH 8H 2C 3C"}
    after_other = deal("schmier", hands=hands, dealer=5, actions=["pass", "pass", "bid 3", "pass", "pass"])
    after_partner = deal("schmier", hands=hands, dealer=5, actions=["pass", "pass", "pass", "bid 3", "pass"])
    assert after_partner.view  # a position that exists
    bears = {"bears": (0, 0, 0, 3, 4.0, 5, 6, 9, 9, 9, 9), "over_partner": 5.0, "to_come": 0.0}
    assert choice(after_other, bids=bears) == "bid 4"
    partner_bid = deal("schmier", hands=hands, dealer=5, actions=["pass", "pass", "bid 3", "pass", "pass"])
    assert partner_bid.view.bidder == 2  # seats 2 and 5 are partners
    assert choice(partner_bid, bids=bears) == "pass"
