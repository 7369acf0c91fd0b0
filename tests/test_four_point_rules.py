"""Four Point, clause by clause of RULES.md, with the worked scenarios. Expectations come from there, not from the code.

Unless something else is said trump is hearts, the dealer seat 3 and the bidder seat 0.
"""

from collections import Counter
from functools import partial
from itertools import combinations, pairwise

import pytest
import scenes
from scenes import calls, card_points, cards, end_of_deal, in_order, outcomes, play_last_trick, texts, trick_winner

from smear_env import Games, make_rules
from smear_env.cards import SUITS, set_of
from smear_env.testing import deal, pack, position

auction = partial(scenes.auction, game="four_point")
playing = partial(scenes.playing, game="four_point")


def bidder_takes(holding: str, commit: str = "H", widow: int = 2, **more):
    """The bidder holds these cards, the last of them from the widow, and has committed himself to a suit."""
    own = holding.split()
    table = deal("four_point", dealer=3, widow=widow, hands={0: own[:6]}, stock=own[6:], actions=["bid 4"], **more)
    assert table.view.hands[0] == set(own)
    return table.play(f"trump {commit}") if table.view.phase == "trump" else table


# --- Table and cards ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", range(4))
def test_f01_partners_sit_opposite(seat):
    table = play_last_trick("four_point", "H", "AH 7C 8C 9C", leader=seat)
    assert table.view.last_kinds["high"] == seat % 2 and len(table.view.scores) == 2


def test_f02_32_cards_without_a_joker_to_15():
    assert sorted(pack("four_point")) == sorted(rank + suit for rank in "AKQJT987" for suit in SUITS)
    one_point = {"points": {"high": 0}, "card_points": (9, 9), "bid": 1, "min_bid": 1}
    assert not end_of_deal("four_point", **one_point, scores=(13, 0)).view.terminated
    assert end_of_deal("four_point", **one_point, scores=(14, 0)).view.terminated


@pytest.mark.parametrize("suit", ["H", "D"])
def test_f02_every_suit_ranks_ace_to_seven_trumps_too(suit):
    """With hearts as trump; diamonds, the other red suit, keep their jack in its place."""
    for higher, lower in pairwise(rank + suit for rank in "AKQJT987"):
        assert trick_winner("four_point", "H", f"{lower} {higher} 7C 8C") == 1
        assert trick_winner("four_point", "H", f"{higher} {lower} 7C 8C") == 0


def test_f02_there_are_no_bauers():
    """Scenario 14, and R1: JD is a plain diamond and has to follow as one."""
    assert playing("KS", "JD QD") == cards("JD QD")
    assert playing("KD", "JD 8S 9C") == {"JD"}
    assert playing("AH", "JD 8S 7H") == {"7H"}
    assert trick_winner("four_point", "H", "QD JD 7H 8D") == 2
    assert play_last_trick("four_point", "H", "QD JD 7C 8D").view.last_kinds["jack"] is None


def test_f03_the_widow_is_agreed_before_the_game_and_is_2_unless_something_else_is_said():
    assert make_rules("four_point").widow == 2
    for widow in range(4):
        taken = auction("4", widow=widow).view
        assert len(taken.hands[0]) == 6 + widow and len(taken.stock) == 8 - widow
    with pytest.raises(ValueError, match="widow=4"):
        make_rules("four_point", widow=4)


def test_f04_the_first_dealer_is_drawn_at_random():
    games = Games("four_point", 400, seed=1)
    games.reset()
    counts = Counter(games.records["dealer"].tolist())
    assert sorted(counts) == list(range(4)) and min(counts.values()) > 70


@pytest.mark.parametrize("dealer", range(4))
def test_f04_six_cards_to_each_from_the_dealers_left_and_eight_are_the_stock(dealer):
    deck = pack("four_point")
    view = deal("four_point", deck=deck, dealer=dealer).view
    for k in range(4):
        assert view.hands[(dealer + 1 + k) % 4] == set(deck[6 * k : 6 * k + 6])
    assert view.stock == tuple(deck[24:]) and len(view.stock) == 8


# --- Auction -----------------------------------------------------------------------------------------------------


def test_f05_one_turn_each_from_the_dealers_left_and_each_bid_higher():
    """R8 (CruceGame 243: the standing bid was accepted again)."""
    legal = [auction(*bids).legal() for bids in ((), ("2",), ("2", "pass"), ("2", "3"), ("pass", "pass", "3"))]
    assert legal == [calls(text) for text in ("pass 2 3 4", "pass 3 4", "pass 3 4", "pass 4", "pass 4")]
    assert [auction(*["pass"] * k).view.actor for k in range(4)] == [0, 1, 2, 3]


def test_f05_a_bid_of_4_ends_the_auction_at_once():
    view = auction("2", "4").view
    assert view.bids == (2, 4, None, None) and (view.phase, view.actor, view.bidder) == ("trump", 1, 1)


def test_f05_the_auction_ends_after_the_dealers_turn_and_partners_may_outbid_each_other():
    view = auction("2", "pass", "3", "pass").view
    assert (view.bidder, view.bid, view.actor, view.phase) == (2, 3, 2, "trump")


def test_f05_the_dealer_may_bid_or_pass_when_everybody_has_passed():
    table = auction(*["pass"] * 3)
    assert table.view.actor == 3 and table.legal() == calls("pass 2 3 4")
    assert table.play("bid 2").view.bidder == 3


def test_f06_if_everybody_passes_the_same_dealer_shuffles_and_deals_again():
    before = auction(*["pass"] * 3, scores=[4, -2])
    deck = before.view.deck
    view = before.play("pass").view
    assert (view.dealer, view.actor, view.phase, view.scores) == (3, 0, "bid", (4, -2))
    assert view.bids == (None,) * 4 and view.deals == 2 and view.deals_scored == 0
    assert view.deck != deck and sorted(view.deck) == sorted(deck)


# --- Widow -------------------------------------------------------------------------------------------------------

HANDS = {0: "AH KH 9H 7S 8S TC", 1: "QH JH TH 8H 7H 9S", 2: "AC KC QC JC 9C 8C", 3: "AD KD TD 9D 8D 7D"}
"""Seat 0 has no diamond. Stock: 7C QD JD TS JS QS KS AS, in any order."""


@pytest.mark.parametrize("widow", range(4))
def test_f07_the_bidder_takes_the_top_cards_of_the_stock_as_many_as_agreed(widow):
    table = deal("four_point", widow=widow, dealer=3, hands=HANDS, stock="QD JD 7C TS", actions=["bid 4"])
    assert table.view.hands[0] == cards(HANDS[0]) | set(in_order("QD JD 7C")[:widow])
    assert table.view.stock[0] == in_order("QD JD 7C TS")[widow]


def test_f07_nobody_else_sees_them_nor_the_cards_still_undealt():
    stocks = "QD JD 7C TS JS QS KS AS", "AS KS QS JS TS 7C JD QD"
    tables = [deal("four_point", dealer=3, hands=HANDS, stock=stock, actions=["bid 4", "trump H"]) for stock in stocks]
    for seat in (1, 2, 3):
        assert tables[0].observation(seat).tobytes() == tables[1].observation(seat).tobytes()
    assert texts(tables[0].facts(0).hand) >= cards("QD JD") and texts(tables[1].facts(0).hand) >= cards("AS KS")


def test_f07_the_cards_still_undealt_count_for_nobody():
    table = deal("four_point", dealer=3, hands=HANDS, stock="QD JD", actions=["bid 4", "trump H"], episode="deal")
    view = table.play_at_random().view
    unseen = cards("7C TS JS QS KS AS")
    assert not unseen & (set(view.plays) | view.discards[0])
    assert sum(view.last_card_points) == 80 - card_points(unseen) == 80 - 20


def test_f08_the_bidder_commits_himself_to_a_suit_that_he_holds():
    """A suit that came with the widow alone will do; one that he does not hold will not."""
    hands = HANDS | {0: "AH KH 9H 7S 8S TS", 2: "AC KC QC JC 9C TC"}
    table = deal("four_point", dealer=3, hands=hands, stock="8C JS", actions=["bid 4"])
    assert table.view.phase == "trump" and table.legal() == {"trump C", "trump H", "trump S"}
    table = deal("four_point", dealer=3, hands=hands, stock="QD JD", actions=["bid 4"])
    assert table.legal() == {"trump D", "trump H", "trump S"}


def test_f08_he_tells_nobody():
    tables = [
        deal("four_point", dealer=3, hands=HANDS, stock="QD JD", actions=["bid 4", f"trump {suit}"]) for suit in "HSCD"
    ]
    for table in tables:
        assert not table.view.trump_public
        for seat in (1, 2, 3):
            assert table.facts(seat).trump is None
            assert table.observation(seat).tobytes() == tables[0].observation(seat).tobytes()
    assert [table.facts(0).trump for table in tables] == list("HSCD")


def test_f08_with_no_widow_there_is_no_commitment():
    table = deal("four_point", widow=0, dealer=3, hands=HANDS, actions=["bid 4"])
    assert table.view.phase == "play" and table.view.trump is None and table.legal() == cards(HANDS[0])


def test_f09_with_six_trumps_or_fewer_he_keeps_them_all_and_chooses_what_fills_his_hand():
    """Scenario 28: of eight cards the five that are no hearts may go, and two of them do."""
    table = bidder_takes("AH KH 9H 7S 8S TC QD JD")
    assert table.view.phase == "keep" and table.view.actor == 0 and table.legal() == cards("7S 8S TC QD JD")
    pairs = {frozenset(pair) for pair in combinations(in_order("7S 8S TC QD JD"), 2)}
    assert outcomes(table, 0, "discards") == pairs and len(pairs) == 10


def test_f09_the_only_card_of_the_suit_cannot_be_discarded():
    """Scenario 28, committed to clubs: TC stays."""
    table = bidder_takes("AH KH 9H 7S 8S TC QD JD", commit="C")
    assert "TC" not in table.legal()
    hands = outcomes(table, 0, "hands")
    assert len(hands) == 21 and all("TC" in hand for hand in hands)


def test_f10_with_more_he_discards_all_other_cards_and_any_of_the_trumps_beyond_six():
    """Scenario 30: both sevens go, and one heart, any of seven. R17: here no trump is protected."""
    hearts = "AH KH QH JH TH 9H 8H"
    table = bidder_takes(f"{hearts} 7S 7D", widow=3)
    assert table.legal() == cards(hearts)
    assert outcomes(table, 0, "discards") == {frozenset(("7S", "7D", heart)) for heart in hearts.split()}


def test_f10_eight_trumps_lose_two():
    hearts = "AH KH QH JH TH 9H 8H 7H"
    pairs = {frozenset(pair) for pair in combinations(hearts.split(), 2)}
    assert outcomes(bidder_takes(hearts), 0, "discards") == pairs and len(pairs) == 28


def discarding(*away: str, episode="deal"):
    """Scenario 30 with these discards, played out; the others can win no trick, the bidder leading trumps."""
    holding = "AH KH QH JH TH 9H 8H 7S 7D"
    table = bidder_takes(holding, widow=3, episode=episode)
    table.play(*(card for card in holding.split() if card not in away))
    assert table.view.discards[0] == set(away) and table.view.phase == "play"
    return table.play_at_random().view


def test_f11_a_discarded_jack_earns_nobody_its_point_but_counts_for_game():
    """Scenario 30."""
    view = discarding("7S", "7D", "JH")
    assert view.last_kinds["jack"] is None and view.last_kinds["high"] == 0
    assert view.last_card_points[0] >= card_points(in_order("AH KH QH JH TH")) == 20
    assert discarding("7S", "7D", "8H").last_kinds["jack"] == 0


@pytest.mark.parametrize(("card", "kind"), [("AH", "high"), ("7H", "low"), ("JH", "jack")])
def test_f11_a_discarded_ace_seven_or_jack_of_trumps_earns_nobody_a_point(card, kind):
    hearts = "AH KH QH JH TH 9H 8H 7H"
    table = bidder_takes(hearts, episode="deal")
    table.play(*(heart for heart in hearts.split() if heart not in (card, "9H")))
    view = table.play_at_random().view
    assert view.last_kinds[kind] is None and sum(view.last_points) == 3
    assert all(view.last_kinds[other] == 0 for other in ("high", "low", "jack", "game") if other != kind)


@pytest.mark.parametrize(("away", "value"), [("TC QD", 12), ("7S 8S", 0), ("TC 7S", 10)])
def test_f11_his_discards_count_for_his_teams_game_point(away, value):
    """Scenario 28: TC and QD away are 12 card points for the bidder's team."""
    holding = "AH KH 9H 7S 8S TC QD JD"
    table = bidder_takes(holding, episode="deal")
    table.play(*(card for card in in_order("7S 8S TC QD JD") if card not in away.split()))
    assert table.view.phase == "play" and table.legal() == cards("AH KH 9H")
    view = table.play_at_random().view
    assert view.discards[0] == cards(away)
    assert view.last_card_points == (view.card_points[0] + value, view.card_points[1])


def test_f11_they_count_also_if_he_is_set():
    """Two discards of 10 and 4 card points; every trick after that goes to the others."""
    hands = {0: "7H 8S 9S 8D 9D TC", 1: "AH KH QH JH TH 9H", 2: "7S TS QS KS 7D QD", 3: "KD TD 7C 8C 9C QC"}
    table = deal("four_point", dealer=3, hands=hands, stock="AC 8H", actions=["bid 2", *["pass"] * 3, "trump H"])
    table.play("8S", "9S", "8D", "9D")
    assert table.view.discards[0] == cards("TC AC")
    table.play("7H", "AH", "7S", "7C")  # seat 1 has six trumps and wins all tricks
    table.play("KH", "7D", "8C", "8H", "QH", "QD", "9C", "8S", "JH", "QS", "QC", "9S")
    table.play("TH", "TS", "KD", "8D", "9H", "KS", "TD", "9D")
    view = table.view
    others = card_points(in_order("AH KH QH JH TH QD QS QC TS KD KS TD"))
    assert view.last_card_points == (14, others) and view.last_kinds["game"] == 1
    assert view.scores == (-2, view.last_points[1])
    assert view.last_points == (1, 3)  # low was played by seat 0


def test_f11_his_discards_are_known_to_him_alone():
    tables = []
    for keep in ("7S 8S TC", "TC QD JD"):
        tables.append(bidder_takes("AH KH 9H 7S 8S TC QD JD").play(*keep.split()))
    for seat in (1, 2, 3):
        assert tables[0].observation(seat).tobytes() == tables[1].observation(seat).tobytes()
    assert texts(tables[0].facts(0).discards) == cards("QD JD")


def test_f11_what_leaves_only_one_possibility_is_not_asked_for():
    """Six hearts and two others; a single suit to commit to."""
    table = bidder_takes("AH KH QH JH TH 9H 7S 7D")
    assert table.view.phase == "play" and table.view.discards[0] == cards("7S 7D")
    view = deal("four_point", dealer=3, hands={0: "AH KH QH JH TH 9H"}, stock="8H 7H", actions=["bid 4"]).view
    assert view.phase == "keep" and view.trump == "H"


# --- Play --------------------------------------------------------------------------------------------------------


def test_f12_the_card_led_is_of_the_suit_he_committed_himself_to_and_makes_trump_known():
    """Scenario 28."""
    table = bidder_takes("AH KH 9H 7S 8S TC QD JD").play("7S", "8S", "JD")
    assert table.view.actor == 0 and table.legal() == cards("AH KH 9H")
    assert [table.facts(seat).trump for seat in range(4)] == ["H", None, None, None]
    table.play("9H")
    assert table.view.trump_public and [table.facts(seat).trump for seat in range(4)] == ["H"] * 4


@pytest.mark.parametrize(("card", "trump"), [("9H", "H"), ("8S", "S"), ("TC", "C")])
def test_f12_with_no_widow_any_card_may_be_led_and_its_suit_is_trump(card, trump):
    table = deal("four_point", widow=0, dealer=3, hands=HANDS, actions=["bid 4"])
    assert card in table.legal()
    table.play(card)
    assert table.view.trump == trump and [table.facts(seat).trump for seat in range(4)] == [trump] * 4
    suit = {held for held in HANDS[1].split() if held[1] == trump}
    assert table.legal() == (suit or cards(HANDS[1]))


def test_f12_the_bidder_leads_wherever_he_sits():
    table = deal("four_point", dealer=3, actions=["pass", "pass", "bid 4"])
    while table.view.phase != "play":
        assert table.view.actor == 2
        table.play(min(table.legal()))
    assert table.view.actor == 2 and table.view.leader == 2


@pytest.mark.parametrize(("trick", "winner"), [("KS AS 9S 8S", 3), ("KS QS 7H 8S", 0), ("KS QS 8S AS", 1)])
def test_f13_the_winner_of_a_trick_leads_to_the_next(trick, winner):
    """R5 (coinche 33: the first player of the room led instead). Seat 2 leads to this trick."""
    *led, last = trick.split()
    table = position("four_point", trump="H", led=led, leader=2, hands={1: [last, "7C"]}).play(last)
    assert table.view.actor == table.view.leader == winner and table.view.tricks == 5


def test_f13_six_tricks_are_played():
    view = deal("four_point", dealer=3, actions=["bid 4"], episode="deal").play_at_random().view
    assert view.tricks == 6 and len(view.plays) == 24 and view.terminated


def test_f14_to_a_plain_lead_one_follows_or_trumps_but_plays_no_third_suit():
    """Scenario 11."""
    assert playing("KS", "8S AH QD") == {"8S", "AH"}
    assert playing("KS", "8S 9S 7H AH 7C QD") == {"8S", "9S", "7H", "AH"}
    assert playing("KS", "8S QD AC") == {"8S"}


def test_f15_a_trump_lead_has_to_be_followed_with_a_trump():
    """Scenario 12."""
    assert playing("TH", "7H AS") == {"7H"}
    assert playing("7H", "AH JH AS KD") == {"AH", "JH"}


def test_f16_who_has_no_card_of_the_suit_led_plays_any_card():
    """Scenario 13."""
    assert playing("KS", "AH QD 7C") == cards("AH QD 7C")
    assert playing("AH", "QD 7C AS") == cards("QD 7C AS")


@pytest.mark.parametrize(
    ("trick", "winner"),
    [
        ("KS 8S 7H AS", 2),  # scenario 15: the seven of trumps, not the ace of the suit led
        ("9S AD TS AC", 2),  # scenario 16: aces of other suits cannot win
        ("KS 7H AS 9H", 3),
        ("7H AS AC 8H", 3),
        ("7H AS AC AD", 0),
    ],
)
def test_f17_the_highest_trump_wins_else_the_highest_of_the_suit_led(trick, winner):
    assert trick_winner("four_point", "H", trick) == winner


# --- Points of a deal --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", range(4))
def test_f18_high_to_the_team_that_plays_the_ace(seat):
    trick = in_order("7C 8C 9C TC")
    trick[seat] = "AH"
    assert play_last_trick("four_point", "H", " ".join(trick)).view.last_kinds["high"] == seat % 2


def test_f18_if_the_ace_is_not_played_nobody_gets_high():
    """Scenario 29: AH is undealt; the king does not do instead."""
    assert play_last_trick("four_point", "H", "KH 8C 9C TC").view.last_kinds["high"] is None


def test_f19_low_to_the_team_that_plays_the_seven_whoever_wins_the_trick():
    view = play_last_trick("four_point", "H", "8H 7H 9C 8C").view
    assert view.last_kinds["low"] == 1 and view.last_points == (0, 1)


def test_f19_if_the_seven_is_not_played_nobody_gets_low():
    assert play_last_trick("four_point", "H", "8H 7D 9C 8C").view.last_kinds["low"] is None


@pytest.mark.parametrize(
    ("trick", "team"), [("JH QH 8C 9C", 1), ("AS JH 8S 9S", 1), ("QH JH 8C 9C", 0), ("QH TH JS JD", None)]
)
def test_f20_jack_to_the_team_that_wins_the_trick(trick, team):
    assert play_last_trick("four_point", "H", trick).view.last_kinds["jack"] == team


def test_f20_without_the_jack_a_bid_of_4_cannot_be_made():
    """Scenario 29."""
    view = end_of_deal("four_point", points={"high": 0, "low": 0}, card_points=(60, 0), bid=4).view
    assert view.last_points == (3, 0) and view.scores == (-4, 0)


def test_f21_game_to_the_team_with_the_most_card_points_discards_added():
    for card, value in [("TC", 10), ("AC", 4), ("KC", 3), ("QC", 2), ("JC", 1), ("9C", 0), ("7H", 0)]:
        assert play_last_trick("four_point", "H", f"8H {card} 7D 8D").view.last_card_points == (value, 0)
    for shares, team in [((31, 25), 0), ((25, 31), 1), ((28, 28), None)]:
        view = end_of_deal("four_point", points={}, card_points=shares).view
        assert view.last_kinds["game"] == team and sum(view.last_points) == (team is not None)


@pytest.mark.parametrize(("away", "team"), [("7S 8S", 1), ("JS 8S", None), ("QS 8S", 0)])
def test_f21_the_discards_can_decide_it(away, team):
    """In tricks the bidder's team has 22 card points, the others have 23."""
    trick = in_order("7C 8C 9C 7D")
    table = position("four_point", trump="H", hands=trick, tricks=5, card_points=(22, 23))
    table.games.records[0].discards[0] = set_of(away.split())
    assert table.play(*trick).view.last_kinds["game"] == team


# --- Score and end -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "bid", "bidder", "scores"),
    [
        ({"high": 0, "low": 0, "jack": 1}, 2, 0, (3, 1)),
        ({"high": 0, "low": 0, "jack": 1}, 3, 0, (3, 1)),
        ({"high": 0, "low": 0, "jack": 1}, 4, 0, (-4, 1)),
        ({"high": 0, "low": 0, "jack": 1}, 2, 1, (3, -2)),
        ({"high": 0, "low": 0, "jack": 0}, 4, 2, (4, 0)),
    ],
)
def test_f22_a_bid_that_is_made_scores_all_points_one_that_is_not_costs_itself(points, bid, bidder, scores):
    view = end_of_deal("four_point", points=points, card_points=(40, 20), bid=bid, bidder=bidder).view
    assert view.scores == view.last_delta == scores
    assert view.dealer == 0 and view.actor == 1 and view.phase == "bid"


@pytest.mark.parametrize(
    ("low_and_game", "scores", "bidder", "after", "winners"),
    [
        ((0, 1), (14, 13), 0, (16, 15), {0}),  # scenario 32
        ((1, None), (13, 13), 1, (14, 15), {1}),
        ((0, 1), (13, 14), 0, (15, 16), {1}),
        ((0, None), (13, 14), 1, (15, 12), {0}),
        ((0, None), (12, 13), 0, (14, 14), set()),
    ],
)
def test_f23_the_game_ends_after_a_deal_with_a_team_at_15_and_the_most_points_win(
    low_and_game, scores, bidder, after, winners
):
    """Team 0 has high, team 1 jack."""
    low, game = low_and_game
    points, shares = {"high": 0, "low": low, "jack": 1}, (20, 20 if game is None else 21)
    view = end_of_deal("four_point", points=points, card_points=shares, bid=2, bidder=bidder, scores=scores).view
    assert view.scores == after and view.winners == winners and view.terminated == bool(winners)


@pytest.mark.parametrize("bidder", range(4))
def test_f23_if_both_are_equal_the_bidders_team_wins(bidder):
    points = {"high": 0, "low": 0, "jack": 1}
    view = end_of_deal("four_point", points=points, card_points=(20, 21), bid=2, bidder=bidder, scores=(14, 14)).view
    assert view.scores == (16, 16) and view.winners == {bidder % 2}


def test_f23_the_game_never_ends_during_a_deal():
    """Team 1 has 14 and plays the ace of trumps in the second-last trick: the last is played all the same."""
    hands = ["7C 8C", "AH 9C", "TC JC", "QC KC"]
    table = position("four_point", trump="H", leader=1, hands=hands, scores=(0, 14)).play("AH", "TC", "QC", "7C")
    assert not table.view.terminated and table.view.actor == 1 and table.view.scores == (0, 14)
    view = table.play("9C", "JC", "KC", "8C").view
    assert view.terminated and view.winners == {1}


# --- What follows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_f07_f11_f21_80_card_points_are_accounted_for(seed):
    """Tricks, the bidder's discards and the cards never seen; and no deal is worth more than 4 points."""
    table = deal("four_point", widow=seed % 4, dealer=seed % 4, seed=seed, episode="deal", actions=["bid 4"])
    view = table.play_at_random().view
    assert sum(view.last_card_points) + card_points(view.stock) == 80 and len(view.stock) == 8 - seed % 4
    assert sum(view.last_points) == sum(team is not None for team in view.last_kinds.values()) <= 4


# --- A whole deal ------------------------------------------------------------------------------------------------

DECK = in_order("""
AH KH QC TS 9H TC   QH TH 9C 7S KS JD   7H 8H AC AS 9S 8D   JH 8C KC JS QS AD
8S 7D   7C JC KD QD TD 9D
""")
TRICKS = [  # leader, cards from the leader clockwise, winner, card points
    (0, "AH QH 7H JH", 0, 7),
    (0, "KH TH 8H 8C", 0, 13),
    (0, "QC 9C AC KC", 2, 9),
    (2, "AS JS TS 7S", 2, 15),
    (2, "9S QS 9H KS", 0, 5),
    (0, "8S JD 8D AD", 0, 5),
]
FREE = {"TS": "TS 9H 8S", "9H": "9H 8S"}
"""What seat 0 may choose from when he smears the ten, and when he ruffs though he could follow."""


def test_a_whole_deal_card_by_card():
    """Scenario 31: seat 0 bids 3, takes 8S 7D, commits himself to hearts, discards TC 7D."""
    table = deal("four_point", deck=DECK, dealer=3, actions=["bid 3", "pass", "pass", "pass"])
    assert table.view.phase == "trump" and table.view.hands[0] == cards("AH KH QC TS 9H TC 8S 7D")
    table.play("trump H")
    assert table.legal() == cards("QC TS TC 8S 7D")
    table.play("QC", "TS", "8S")
    assert table.view.discards[0] == cards("TC 7D") and table.legal() == cards("AH KH 9H")
    won = [0, 0]
    for leader, trick, winner, value in TRICKS:
        assert table.view.actor == leader and table.view.card_points == tuple(won)
        for card in trick.split():
            assert card in table.legal()
            if card in FREE and table.view.tricks >= 3:
                assert table.view.actor == 0 and table.legal() == cards(FREE[card])
            table.play(card)
        assert table.games.records[0].last_trick_winner == winner and card_points(trick.split()) == value
        won[winner % 2] += value
    view = table.view
    assert won == [54, 0] and view.last_card_points == (64, 0) and card_points(DECK[26:]) == 80 - 64 == 16
    assert view.last_kinds == {"high": 0, "low": 0, "jack": 0, "left": None, "joker": None, "game": 0}
    assert view.last_points == (4, 0) and view.scores == (4, 0) and view.dealer == 0
