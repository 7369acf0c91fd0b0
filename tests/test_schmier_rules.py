"""Schmier, clause by clause of RULES.md, with the worked scenarios. Expectations come from there, not from the code.

Unless something else is said trump is hearts (right bauer JH, left bauer JD), the dealer seat 5 and the bidder seat 0.
"""

from collections import Counter
from itertools import combinations, pairwise

import pytest
from scenes import (
    LEFT,
    auction,
    calls,
    card_points,
    cards,
    dealer_takes,
    end_of_deal,
    in_order,
    named,
    outcomes,
    play_last_trick,
    playing,
    texts,
    throw,
    throw_some,
    trick_winner,
    trump_order,
)

from smear_env import Games
from smear_env.cards import RANKS, SUITS
from smear_env.testing import deal, pack, position

every_trump = pytest.mark.parametrize("trump", SUITS)


# --- Table and cards ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", range(6))
def test_s01_partners_sit_three_seats_apart(seat):
    table = play_last_trick("schmier", "H", "AH 3C 4C 5C 6C 7C", leader=seat)
    assert table.view.last_kinds["high"] == seat % 3 and len(table.view.scores) == 3


def test_s02_fifty_two_cards_and_one_joker_to_21():
    assert sorted(pack("schmier")) == sorted([rank + suit for rank in RANKS for suit in SUITS] + ["XX"])
    one_point = {"points": {"high": 0}, "card_points": (9, 9, 0), "bid": 1, "min_bid": 1}
    assert not end_of_deal(**one_point, scores=(19, 0, 0)).view.terminated
    assert end_of_deal(**one_point, scores=(20, 0, 0)).view.terminated


def test_s03_the_first_dealer_is_drawn_at_random():
    games = Games("schmier", 600, seed=1)
    games.reset()
    counts = Counter(games.records["dealer"].tolist())
    assert sorted(counts) == list(range(6)) and min(counts.values()) > 70


@pytest.mark.parametrize("dealer", range(6))
def test_s04_six_cards_to_each_from_the_dealers_left_and_17_are_the_stock(dealer):
    deck = pack("schmier")
    view = deal("schmier", deck=deck, dealer=dealer).view
    for k in range(6):
        assert view.hands[(dealer + 1 + k) % 6] == set(deck[6 * k : 6 * k + 6])
    assert view.stock == tuple(deck[36:]) and len(view.stock) == 17


# --- Suits and trumps --------------------------------------------------------------------------------------------


@every_trump
def test_s05_trumps_rank_from_the_ace_over_both_bauers_down_to_the_joker(trump):
    order = trump_order(trump)
    assert len(order) == 15
    plain = " 3C 4C 5C 6C" if trump in "DH" else " 3D 4D 5D 6D"
    for higher, lower in pairwise(order):
        assert trick_winner("schmier", trump, f"{higher} {lower}{plain}") == 0
        assert trick_winner("schmier", trump, f"{lower} {higher}{plain}") == 1


@pytest.mark.parametrize(
    ("trick", "best"),
    [("TH JD JH QH 9H 2H", "QH"), ("TH JD 9H JH 2H AS", "JH"), ("TH JD 9H 8H 2H AS", "JD")],
)
def test_s05_queen_right_left_ten(trick, best):
    """Scenario 9."""
    assert trick.split()[trick_winner("schmier", "H", trick)] == best


@every_trump
def test_s06_the_left_bauer_follows_and_is_followed_as_a_trump(trump):
    """Scenarios 1 to 3, and R1 (play_smear bdc8449: a left bauer counted in its printed suit), in every suit."""
    left = LEFT[trump]
    sister, (x, y) = left[1], [suit for suit in SUITS if suit not in (trump, left[1])]
    assert playing(left, f"2{trump} A{sister} K{sister} 9{x}", trump) == {f"2{trump}"}
    assert playing(f"A{sister}", f"{left} 3{x} 9{y}", trump) == {left, f"3{x}", f"9{y}"}
    assert playing(f"A{sister}", f"{left} 4{sister} 9{y}", trump) == {f"4{sister}"}
    assert playing(f"2{sister}", f"{left} 2{x} 3{x}", trump) == {left, f"2{x}", f"3{x}"}
    assert playing(f"2{sister}", f"{left} 2{x} 3{x} 5{sister}", trump) == {f"5{sister}"}
    assert playing(f"A{trump}", f"{left} 2{x} 3{sister}", trump) == {left}


def test_s06_before_trump_is_named_the_left_bauer_is_a_plain_jack():
    """What JD is comes with the naming alone: right bauer, left bauer, or a diamond that may be thrown."""
    jack_may_be_thrown = {trump: "JD" in named(trump, hands={0: "JD 2C 3C 4S 5S 6H"}).legal() for trump in SUITS}
    assert jack_may_be_thrown == {"C": True, "D": False, "H": False, "S": True}


def test_s07_the_joker_is_a_trump_when_led_and_when_following():
    """Scenarios 4 and 5."""
    assert playing("XX", "JS AD TD", trump="C") == {"JS"}
    assert playing("QH", "XX AS TS") == {"XX"}


@pytest.mark.parametrize(
    ("trick", "winner"),
    [("AS TS 3S XX KS 2S", 3), ("XX 2H AS KD AC 3S", 1), ("XX AS KS AD AC 3S", 0)],
)
def test_s07_the_joker_is_the_lowest_trump_and_beats_every_other_card(trick, winner):
    """Scenarios 6 to 8: the joker ruffs, falls under the two, and wins when led among plain cards."""
    table = play_last_trick("schmier", "H", trick)
    assert table.games.records[0].last_trick_winner == winner
    assert table.view.last_kinds["joker"] == winner % 3


@pytest.mark.parametrize(("suit", "order"), [("S", "AKQJT98765432"), ("D", "AKQT98765432")])
def test_s08_plain_suits_rank_from_the_ace_down_and_the_trumps_colour_lacks_its_jack(suit, order):
    """With hearts as trump JD is no diamond: it beats the ace of diamonds, being a trump."""
    for higher, lower in pairwise(rank + suit for rank in order):
        assert trick_winner("schmier", "H", f"{lower} {higher} 3C 4C 5C 6C") == 1
        assert trick_winner("schmier", "H", f"{higher} {lower} 3C 4C 5C 6C") == 0
    assert trick_winner("schmier", "H", "AD JD 3C 4C 5C 6C") == 1


# --- Auction -----------------------------------------------------------------------------------------------------


def test_s09_one_turn_each_from_the_dealers_left_and_each_bid_higher():
    """R8 (CruceGame 243: the standing bid was accepted again)."""
    legal = [
        auction(*bids).legal() for bids in ((), ("3",), ("3", "pass"), ("3", "pass", "4"), ("3", "pass", "4", "5"))
    ]
    assert legal == [calls(text) for text in ("pass 3 4 5 6", "pass 4 5 6", "pass 4 5 6", "pass 5 6", "pass 6")]
    actors = [auction(*["pass"] * k).view.actor for k in range(6)]
    assert actors == [0, 1, 2, 3, 4, 5]


def test_s09_the_dealer_has_to_bid_higher_too():
    """Scenario 19, the part of Schmier."""
    table = auction("pass", "4", "pass", "pass", "pass")
    assert table.view.actor == 5 and table.legal() == calls("pass 5 6")


def test_s09_a_player_may_outbid_his_partner():
    table = auction("3", "pass", "pass", "4", "pass", "pass")
    assert table.view.bidder == 3 and table.view.bid == 4


def test_s10_a_bid_of_6_ends_the_auction_at_once():
    """Scenario 17."""
    table = auction("pass", "3")
    assert table.view.actor == 2 and table.legal() == calls("pass 4 5 6")
    view = table.play("bid 6").view
    assert (view.phase, view.actor, view.bidder) == ("trump", 2, 2)
    assert view.bids == (0, 3, 6, None, None, None)


def test_s10_the_auction_ends_after_the_dealers_turn_and_the_highest_bidder_is_the_bidder():
    table = auction("3", "pass", "4", "pass", "5", "pass")
    assert (table.view.phase, table.view.actor, table.view.bidder, table.view.bid) == ("trump", 4, 4, 5)
    assert auction("pass", "pass", "pass", "pass", "pass", "6").view.bidder == 5


def test_s11_the_dealer_may_bid_or_pass_when_everybody_has_passed():
    """Scenario 18, before the dealer's turn."""
    table = auction(*["pass"] * 5)
    assert table.view.actor == 5 and table.legal() == calls("pass 3 4 5 6")
    assert table.play("bid 3").view.bidder == 5


def test_s12_if_everybody_passes_the_same_dealer_shuffles_and_deals_again():
    """Scenario 18."""
    before = auction(*["pass"] * 5, scores=[4, -2, 7])
    deck = before.view.deck
    view = before.play("pass").view
    assert (view.dealer, view.actor, view.phase, view.scores) == (5, 0, "bid", (4, -2, 7))
    assert view.bids == (None,) * 6 and view.deals == 2 and view.deals_scored == 0
    assert view.deck != deck and sorted(view.deck) == sorted(deck)


def test_s13_the_bidder_names_any_suit_for_all_to_hear_even_one_that_he_does_not_hold():
    table = deal("schmier", dealer=5, hands={0: "2C 3C 4C 5C 6C 7C"}, actions=["bid 6"])
    assert table.legal() == {"trump C", "trump D", "trump H", "trump S"}
    table.play("trump S")
    assert table.view.trump == "S" and [table.facts(seat).trump for seat in range(6)] == ["S"] * 6


# --- Exchange ----------------------------------------------------------------------------------------------------

PLAIN_HANDS = {
    0: "2C 3C 4C 5C 6C 7C",
    1: "2S 3S 4S 5S 6S 7S",
    2: "2D 3D 4D 5D 6D 7D",
    3: "8C 9C TC 8S 9S TS",
    4: "8D 9D TD JC QC KC",
}


@pytest.mark.parametrize("bidder", range(6))
def test_s14_each_in_turn_from_the_dealers_left_the_bidder_in_his_place_and_the_dealer_not(bidder):
    table = named(hands=PLAIN_HANDS, bidder=bidder)
    actors = []
    while table.view.phase == "exchange":
        actors.append(table.view.actor)
        throw(table)
    assert actors == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("number", range(4))
def test_s14_up_to_three_cards_once_and_as_many_from_the_top_of_the_stock(number):
    table = named(hands=PLAIN_HANDS, stock="AS KS QS JS AD")
    throw(table, *in_order("2C 3C 4C")[:number])
    stock = in_order("AS KS QS")[:number]
    assert table.view.hands[0] == {*in_order("2C 3C 4C 5C 6C 7C")[number:], *stock}
    assert table.view.stock[0] == in_order("AS KS QS JS")[number]
    assert table.view.actor == 1
    throw(table, "2S")
    assert in_order("AS KS QS JS")[number] in table.view.hands[1]


def test_s14_he_sees_the_new_cards_only_after_his_last_throw():
    table = named(hands=PLAIN_HANDS, stock="AS KS QS")
    table.play("2C", "3C")
    assert texts(table.facts(0).hand) == cards("4C 5C 6C 7C") == table.view.hands[0]
    assert table.legal() == cards("4C 5C 6C 7C done")
    table.play("4C")
    assert texts(table.facts(0).hand) == cards("5C 6C 7C AS KS QS")


def test_s14_cards_just_dealt_may_not_be_thrown():
    table = named(hands=PLAIN_HANDS, stock="2H 3H 4H")
    throw(table, "2C", "3C", "4C")
    assert table.view.actor == 1 and table.view.hands[0] == cards("5C 6C 7C 2H 3H 4H")


def test_s15_trumps_may_not_be_thrown_and_left_bauer_and_joker_are_trumps():
    """Scenario 20: three cards may go, in 8 sets. R17 (TricksterBots 1: a lone jack of trump was thrown)."""
    table = named(hands={0: "AH JD XX 9S 4C 4D"})
    assert table.legal() == cards("9S 4C 4D done")
    sets = {frozenset(some) for number in range(4) for some in combinations(("9S", "4C", "4D"), number)}
    assert outcomes(table, 0, "discards") == sets and len(sets) == 8


@every_trump
def test_s15_no_trump_of_any_suit_may_be_thrown(trump):
    order = trump_order(trump)
    plain = [card for card in pack("schmier") if card not in order]
    for at in range(0, 15, 5):
        assert named(trump, hands={0: [*order[at : at + 5], plain[at]]}).legal() == {plain[at], "done"}


ALL_TRUMPS = "AH KH QH JH JD TH", "9H 8H 7H 6H 5H 4H"


@pytest.mark.parametrize("seats", [(), (0,), (1,), (4,), (5,), (0, 1), (1, 3), (3, 4), (4, 5)])
def test_s15_a_player_with_nothing_but_trumps_is_passed_over(seats):
    """Scenario 21, and R10 (rlcard 331: the turn jumped when nobody could act). At most two hands can be all trumps."""
    hands = dict(zip(seats, ALL_TRUMPS, strict=False))
    plain = iter(
        in_order("2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC AC 2S 3S 4S 5S 6S 7S 8S 9S TS JS QS KS AS 2D 3D 4D 5D 6D")
    )
    hands |= {seat: [next(plain) for _ in range(6)] for seat in range(5) if seat not in hands}
    table = named(hands=hands)
    actors = []
    while table.view.phase == "exchange":
        actors.append(table.view.actor)
        throw_some(table, 1)
    assert actors == [seat for seat in range(5) if seat not in seats]
    assert table.view.draws == tuple(None if seat == 5 else int(seat not in seats) for seat in range(6))
    for seat in {*seats} - {5}:
        assert table.view.hands[seat] == cards(hands[seat])


def test_s15_a_throw_ends_with_the_third_card_or_when_only_trumps_are_left():
    table = named(hands={0: "2C 3C 4C 5C AH KH", 1: "9S 8S QH JH JD XX", 2: "2D 3D 4D 5D 6D 7D"})
    assert table.play("2C", "3C", "4C").view.actor == 1
    assert table.play("9S").view.actor == 1
    assert table.play("8S").view.actor == 2


def test_s16_how_many_cards_are_thrown_is_known_to_all_and_which_only_to_him():
    one, other = (named(hands=PLAIN_HANDS, stock="AS KS QS") for _ in range(2))
    throw(one, "2C", "3C")
    throw(other, "6C", "7C")
    for seat in range(1, 6):
        assert one.facts(seat).draws == (2, None, None, None, None, None)
        assert one.observation(seat).tobytes() == other.observation(seat).tobytes()
        assert not one.facts(seat).discards
    assert texts(one.facts(0).discards) == cards("2C 3C") and texts(other.facts(0).discards) == cards("6C 7C")


def test_s16_thrown_cards_are_out_of_the_deal():
    """JC, a card point, is thrown: 80 of 81 are played for, less what the dealer discards."""
    table = named(hands=PLAIN_HANDS, episode="deal")
    for number in range(5):
        throw(table, *({4: ["JC"]}.get(number, [])))
    table.play_at_random()
    assert table.view.discards[4] == {"JC"} and "JC" not in table.view.plays
    assert sum(table.view.last_card_points) == 80 - card_points(table.view.discards[5])


@pytest.mark.parametrize(("number", "left"), [(3, 2), (2, 7), (1, 12), (0, 17)])
def test_s17_the_dealer_takes_all_that_is_left_of_the_stock(number, left):
    """Scenario 21: he takes 2 cards and drops 2 when all have thrown three, and 17 when nobody has thrown."""
    hands = PLAIN_HANDS | {5: "JS QS KS AS QD KD"}
    stock = in_order("AC AD XX AH KH QH JH JD TH 9H 8H 7H 6H 5H 4H 3H 2H")
    table = named(hands=hands, stock=stock[::-1])
    for _ in range(5):
        throw_some(table, number)
    taken = set(stock[:left])
    assert table.view.stock == ()
    assert table.view.hands[5] | table.view.discards[5] == cards(hands[5]) | taken
    if table.view.phase == "keep":
        assert table.view.actor == 5
        while table.view.phase == "keep":
            table.play(min(table.legal()))
    assert len(table.view.hands[5]) == 6 and len(table.view.discards[5]) == left
    assert table.view.phase == "play"


def test_s17_with_six_trumps_or_fewer_he_keeps_them_all_and_chooses_what_fills_his_hand():
    """Scenario 22: 4 trumps stay, 2 of 7 other cards: 21 hands."""
    table = dealer_takes("AH 9H 5H XX TS AS 4C 4D 9D QC 2C")
    assert table.view.phase == "keep" and table.legal() == cards("TS AS 4C 4D 9D QC 2C")
    two = combinations(in_order("TS AS 4C 4D 9D QC 2C"), 2)
    assert outcomes(table, 5, "hands") == {frozenset(cards("AH 9H 5H XX")) | set(pair) for pair in two}


def test_s17_s19_with_six_trumps_there_is_one_hand_and_nothing_is_asked():
    """Scenario 22."""
    table = dealer_takes("AH 9H 5H XX TS AS JD 4D 2H QC 2C")
    assert table.view.phase == "play" and table.view.actor == 0
    assert table.view.hands[5] == cards("AH 9H 5H XX JD 2H") and table.view.discards[5] == cards("TS AS 4D QC 2C")


def test_s17_without_a_trump_he_keeps_any_six():
    table = dealer_takes("2S 3S 4S 5S 6S 7S 8S 9S")
    assert table.legal() == cards("2S 3S 4S 5S 6S 7S 8S 9S")
    assert len(outcomes(table, 5, "hands")) == 28


@pytest.mark.parametrize(
    ("holding", "free", "hands"),
    [
        ("AH JH JD 2H XX KH 9H 5H 3S 4S 8C 9D", "KH 9H 5H", 3),
        ("AH JH JD 2H XX KH QH TH 9H 8H 7H 6H 3S 4S", "KH QH TH 9H 8H 7H 6H", 7),
    ],
)
def test_s18_with_more_he_discards_all_plain_cards_and_trumps_beyond_six_but_none_of_five(holding, free, hands):
    """Scenario 23, and R17: ace, right, left, two and joker stay."""
    table = dealer_takes(holding)
    assert table.legal() == cards(free)
    five = frozenset(cards("AH JH JD 2H XX"))
    assert outcomes(table, 5, "hands") == {five | {card} for card in free.split()}
    assert len(free.split()) == hands


def test_s18_exactly_the_trumps_beyond_six():
    """Seven trumps, two of them protected: one of the five others goes."""
    table = dealer_takes("AH 2H KH 9H 8H 7H 6H 3S")
    assert table.legal() == cards("KH 9H 8H 7H 6H")
    six = {frozenset(cards("AH 2H KH 9H 8H 7H 6H")) - {card} for card in ("KH", "9H", "8H", "7H", "6H")}
    assert outcomes(table, 5, "hands") == six


def test_s19_the_dealers_discards_are_seen_by_him_alone_and_count_for_nobody():
    tables = [
        dealer_takes("AH 9H 5H XX TS AS 4C 4D 9D QC 2C", episode="deal").play(*keep)
        for keep in (("TS", "AS"), ("4C", "2C"))
    ]
    for seat in range(5):
        first, second = (table.observation(seat).tobytes() for table in tables)
        assert first == second
    assert texts(tables[1].facts(5).discards) == cards("TS AS 4D 9D QC") == tables[1].view.discards[5]
    view = tables[1].play_at_random().view
    thrown = card_points(card for discards in view.discards for card in discards)
    assert thrown >= 16 and sum(view.last_card_points) == 81 - thrown


# --- Play --------------------------------------------------------------------------------------------------------


def test_s20_the_bidder_leads_any_card_to_the_first_trick():
    table = named(hands=PLAIN_HANDS, bidder=3)
    for _ in range(5):
        throw(table)
    while table.view.phase == "keep":
        table.play(min(table.legal()))
    assert table.view.actor == 3 and table.legal() == cards(PLAIN_HANDS[3])
    hand = "AH JD XX 2C 3D 4S"
    assert position("schmier", trump="H", leader=0, hands={0: hand}).legal() == cards(hand)


@pytest.mark.parametrize(
    ("trick", "winner"), [("KS AS 3S 4S 5S 6S", 4), ("KS QS 3S XX 5S 6S", 0), ("KS QS 3S 4S 5S AS", 2)]
)
def test_s20_the_winner_of_a_trick_leads_to_the_next(trick, winner):
    """R5 (coinche 33: the first player of the room led instead). Seat 3 leads to this trick."""
    *led, last = trick.split()
    table = position("schmier", trump="H", led=led, leader=3, hands={2: [last, "2C"]}).play(last)
    assert table.view.actor == table.view.leader == winner and table.view.tricks == 5


def test_s20_six_tricks_are_played():
    table = deal("schmier", dealer=5, actions=["bid 6", "trump H"], episode="deal").play_at_random()
    assert table.view.tricks == 6 and len(table.view.plays) == 36 and table.view.terminated


def test_s21_who_can_follow_has_to():
    """Scenario 10: no ruff; likewise a trump lead, whatever trump it is."""
    assert playing("KS", "3S AH XX") == {"3S"}
    assert playing("KS", "3S 9S AH AC") == {"3S", "9S"}
    assert playing("2H", "AS KH JD XX 4D") == {"KH", "JD", "XX"}
    assert playing("JD", "AS KH 4D 5D") == {"KH"}
    assert playing("XX", "AS JD 4D 5D") == {"JD"}


def test_s22_who_cannot_follow_plays_any_card():
    assert playing("KS", "3D AH XX JD 2C") == cards("3D AH XX JD 2C")
    assert playing("2H", "3D AS 4C") == cards("3D AS 4C")


@pytest.mark.parametrize(
    ("trick", "winner"),
    [
        ("2S 5H AS 3H AC AD", 1),  # the higher of two trumps
        ("2S 3H AS JD XX AD", 3),  # overtrumped by the left bauer
        ("9S AD TS AC KH 2H", 4),
        ("9S AD TS AC QC KS", 5),  # no trump: the highest of the suit led
        ("9S AD 2S AC QC KC", 0),  # only the two followed
    ],
)
def test_s23_the_highest_trump_wins_else_the_highest_of_the_suit_led(trick, winner):
    assert trick_winner("schmier", "H", trick) == winner


# --- Points of a deal --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", range(6))
def test_s24_high_to_the_team_that_plays_the_ace(seat):
    trick = in_order("3C 4C 5C 6C 7C 8C")
    trick[seat] = "AH"
    assert play_last_trick("schmier", "H", " ".join(trick)).view.last_kinds["high"] == seat % 3


def test_s25_low_to_the_team_that_plays_the_two_whoever_wins_the_trick():
    view = play_last_trick("schmier", "H", "3H 2H 4C 5C 6C 7C").view
    assert view.last_kinds["low"] == 1 and view.last_points == (0, 1, 0)


@pytest.mark.parametrize(("trick", "jack", "left"), [
    ("JH KH JD 3C 4C 5C", 1, 1), ("JD 3C JH 4C 5C 6C", 2, 2), ("AS 3S JD 4S 5S 6S", None, 2),
])  # fmt: skip
def test_s26_right_and_left_to_the_team_that_wins_the_trick(trick, jack, left):
    kinds = play_last_trick("schmier", "H", trick).view.last_kinds
    assert (kinds["jack"], kinds["left"]) == (jack, left)


def test_s27_joker_to_the_team_that_wins_the_trick():
    """Scenario 5: the joker is forced out under the queen."""
    assert play_last_trick("schmier", "H", "QH XX 3C 4C 5C 6C").view.last_kinds["joker"] == 0
    assert play_last_trick("schmier", "H", "AS 3S XX 4C 5C 6C").view.last_kinds["joker"] == 2


def test_s28_ten_ace_king_queen_jack_and_joker_count_and_no_other_card():
    for card, value in [("TC", 10), ("AC", 4), ("KC", 3), ("QC", 2), ("JC", 1), ("XX", 1), ("9C", 0), ("2H", 0)]:
        table = play_last_trick("schmier", "H", f"3H {card} 3D 4D 5D 6D" if card != "2H" else "4H 2H 3D 4D 5D 6D")
        assert table.view.last_card_points == (value, 0, 0)
    assert play_last_trick("schmier", "H", "TH JD 3D JC AS KS").view.last_card_points == (0, 10 + 1 + 1 + 4 + 3, 0)


@pytest.mark.parametrize(
    ("shares", "team"),
    [
        ((31, 25, 25), 0), ((25, 25, 31), 2), ((27, 28, 26), 1),
        ((28, 28, 25), None), ((28, 25, 28), None), ((27, 27, 27), None),
    ],
)  # fmt: skip
def test_s28_game_to_the_team_with_the_most_card_points_and_to_nobody_if_several_have(shares, team):
    """Scenario 25."""
    view = end_of_deal(points={"high": 0}, card_points=shares).view
    assert view.last_kinds["game"] == team and view.last_card_points == shares
    assert sum(view.last_points) == (1 if team is None else 2)


# --- Score -------------------------------------------------------------------------------------------------------

FIVE = {"high": 0, "low": 0, "jack": 0, "left": 0, "joker": 1}


def test_s29_a_bidder_who_makes_his_bid_scores_all_his_points():
    """Scenario 26: bid 3, made 5."""
    view = end_of_deal(points=FIVE, card_points=(40, 20, 20), bid=3).view
    assert view.last_points == (5, 1, 0) and view.scores == view.last_delta == (5, 1, 0)
    assert end_of_deal(points=FIVE, card_points=(40, 20, 20), bid=5).view.scores == (5, 1, 0)


def test_s30_a_bidder_who_makes_fewer_loses_his_bid_and_his_points_do_not_count():
    """Scenario 26: bid 4, made 3."""
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 2}
    view = end_of_deal(points=points, card_points=(20, 40, 20), bid=4).view
    assert view.last_points == (3, 2, 1) and view.scores == view.last_delta == (-4, 2, 1)
    assert end_of_deal(points=points, card_points=(20, 40, 20), bid=4, scores=(-3, 0, 0)).view.scores == (-7, 2, 1)


def test_s31_every_other_team_scores_what_it_made():
    view = end_of_deal(points=FIVE, card_points=(20, 20, 41), bid=3, bidder=2, scores=(1, 2, 3)).view
    assert view.last_points == (4, 1, 1) and view.scores == (5, 3, 0)


@pytest.mark.parametrize("dealer", range(6))
def test_s32_the_deal_passes_to_the_left_after_every_deal_that_is_scored(dealer):
    view = end_of_deal(points=FIVE, card_points=(40, 20, 20), dealer=dealer).view
    assert view.dealer == (dealer + 1) % 6 and view.actor == (dealer + 2) % 6
    assert view.phase == "bid" and view.deals_scored == 1 and all(len(hand) == 6 for hand in view.hands)


# --- End of the game ---------------------------------------------------------------------------------------------


def test_s33_the_game_ends_after_a_deal_in_which_a_team_reaches_21():
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 2}
    view = end_of_deal(points=points, card_points=(20, 20, 41), bid=3, scores=(18, 19, 3)).view
    assert view.scores == (21, 20, 5) and view.terminated and view.winners == {0}
    assert view.phase == "over" and view.actor is None


def test_s33_if_several_reach_it_the_most_points_win():
    """Scenario 27 b: the bidder stands at 21, another team at 23."""
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 1}
    view = end_of_deal(points=points, card_points=(20, 41, 20), bid=3, scores=(18, 20, 5)).view
    assert view.scores == (21, 23, 5) and view.winners == {1}


def test_s33_the_game_never_ends_during_a_deal():
    """Team 1 has 20 and plays the ace of trumps in the second-last trick: the last is played all the same."""
    hands = ["3C 4C", "AH 5C", "6C 7C", "8C 9C", "3D 4D", "5D 6D"]
    table = position("schmier", trump="H", leader=1, hands=hands, scores=(0, 20, 0))
    table.play("AH", "6C", "8C", "3D", "5D", "3C")
    assert not table.view.terminated and table.view.actor == 1 and table.view.scores == (0, 20, 0)
    view = table.play("5C", "7C", "9C", "4D", "6D", "4C").view
    assert view.terminated and view.winners == {1}


@pytest.mark.parametrize(
    ("points", "shares", "bid", "scores", "after", "winners"),
    [
        # Another team gets there by low alone.
        ({"high": 0, "low": 1, "jack": 0, "left": 0, "joker": 0}, (41, 20, 20), 3, (9, 20, 0), (14, 21, 0), {1}),
        # A bidder at 20 that is set goes down.
        ({"high": 0, "low": 0, "jack": 1, "left": 1, "joker": 2}, (20, 20, 20), 4, (20, 10, 0), (16, 12, 1), set()),
        # A bid of 6 that is made wins from 15.
        (FIVE | {"joker": 0}, (41, 20, 20), 6, (15, 20, 20), (21, 20, 20), {0}),
        # The third team gets there while the bidder fails.
        ({"high": 0, "low": 0, "jack": 1, "left": 2, "joker": 2}, (20, 20, 41), 3, (20, 18, 18), (17, 19, 21), {2}),
    ],
)  # fmt: skip
def test_s33_any_team_can_reach_the_target_by_any_kind_of_point(points, shares, bid, scores, after, winners):
    """R12 (coinche 41: a team that passed the target by a secondary kind of point did not win)."""
    view = end_of_deal(points=points, card_points=shares, bid=bid, scores=scores).view
    assert view.scores == after and view.winners == winners and view.terminated == bool(winners)


def test_s34_if_the_bidders_team_shares_the_most_points_it_wins():
    """Scenario 27 a."""
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 2}
    view = end_of_deal(points=points, card_points=(20, 20, 41), bid=3, scores=(18, 20, 3)).view
    assert view.scores == (21, 21, 5) and view.winners == {0}


@pytest.mark.parametrize("bidder", [0, 1])
def test_s34_whichever_of_the_two_it_is(bidder):
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 1}
    view = end_of_deal(points=points, card_points=(20, 41, 20), bid=3, bidder=bidder, scores=(19, 19, 5)).view
    assert view.scores == (22, 22, 5) and view.winners == {bidder}


def test_s34_the_bidders_team_wins_a_tie_of_three():
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 2}
    view = end_of_deal(points=points, card_points=(20, 20, 20), bid=3, scores=(18, 20, 20)).view
    assert view.scores == (21, 21, 21) and view.winners == {0}


def residual_tie(**more):
    """Team 0 bids 4, makes 3 and is set; the others reach 21 together."""
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 2}
    return end_of_deal(points=points, card_points=(20, 20, 20), bid=4, scores=(19, 20, 20), **more)


def test_s35_if_others_share_the_most_points_another_deal_is_played_until_there_is_a_winner():
    """Scenario 27 c."""
    table = residual_tie()
    view = table.view
    assert view.scores == (15, 21, 21) and not view.terminated and view.winners == set()
    assert view.phase == "bid" and view.dealer == 0 and view.actor == 1
    view = table.play_at_random().view
    assert view.terminated and len(view.winners) == 1
    (winner,) = view.winners
    assert view.scores[winner] == max(view.scores) >= 21


def test_s35_two_others_above_a_bidder_who_has_21_play_on_too():
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 2}
    view = end_of_deal(points=points, card_points=(20, 20, 20), bid=3, scores=(18, 21, 21)).view
    assert view.scores == (21, 22, 22) and not view.terminated and view.phase == "bid"


def test_s35_the_next_deal_may_end_with_the_tied_teams_apart():
    """21 : 21 before the deal; one of the two makes a point."""
    points = {"high": 0, "low": 0, "jack": 0, "left": 0, "joker": 2}
    view = end_of_deal(points=points, card_points=(20, 20, 20), bid=3, scores=(3, 21, 21)).view
    assert view.scores == (7, 21, 22) and view.winners == {2}


# --- What follows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_s36_s37_five_points_are_always_won_and_81_card_points_accounted_for(seed):
    table = deal("schmier", dealer=seed % 6, seed=seed, episode="deal", actions=["bid 6", f"trump {SUITS[seed % 4]}"])
    view = table.play_at_random().view
    kinds = view.last_kinds
    assert None not in [kinds[kind] for kind in ("high", "low", "jack", "left", "joker")]
    assert sum(view.last_points) == (5 if kinds["game"] is None else 6)
    discarded = card_points(card for discards in view.discards for card in discards)
    assert sum(view.last_card_points) + discarded == 81


@pytest.mark.parametrize("shares", [(28, 28, 25), (27, 27, 27)])
def test_s36_a_bid_of_6_is_set_when_game_is_tied(shares):
    """Scenario 25: all five other points are not enough."""
    view = end_of_deal(points=FIVE | {"joker": 0}, card_points=shares, bid=6).view
    assert view.last_points == (5, 0, 0) and view.scores == (-6, 0, 0)


def test_s37_the_stock_cannot_run_out():
    table = named(hands=PLAIN_HANDS)
    for left in (14, 11, 8, 5):
        throw_some(table, 3)
        assert len(table.view.stock) == left
    throw_some(table, 3)
    assert len(table.view.hands[5] | table.view.discards[5]) == 8 and table.view.stock == ()


@pytest.mark.parametrize("trumps", [0, 1, 5, 6, 7, 10, 15])
def test_s37_the_dealer_plays_with_the_lesser_of_six_and_the_trumps_he_held(trumps):
    holding = trump_order("H")[:trumps] + in_order("2S 3S 4S 5S 6S 7S 8S 9S TS")
    table = dealer_takes(" ".join(holding[: max(8, trumps + 1)]))
    while table.view.phase == "keep":
        table.play(min(table.legal()))
    assert len(table.view.hands[5] & set(trump_order("H"))) == min(trumps, 6) and len(table.view.hands[5]) == 6


# --- A whole deal ------------------------------------------------------------------------------------------------

DECK = in_order("""
2D 3S 5S 7H AH TS   5C 5D 6C 7D AD XX   6S 8C 8H 9H AC KD
6H 9S JC JH JS QH   2H 4C 7S 8D KS TD   3D 3H 4D 4H 7C TC
KH TH QS  8S 9D  2S JD QD  AS KC 6D  4S 2C 9C  QC 3C 5H
""")
THROWS = ["3S 5S 7H", "5C 6C", "6S 8C 8H", "6H 9S JC", "2H 4C 7S"]
TRICKS = [  # leader, cards from the leader clockwise, winner, card points
    (1, "AD JD 6D TD 3D 2D", 1, 15),
    (1, "9D QD JH 8D 4D QS", 2, 5),
    (2, "KD JS 2C TC KH 5D", 2, 17),
    (2, "AC KC 9C QC AH XX", 1, 14),
    (1, "7D 2S QH KS 5H TH", 1, 15),
    (1, "8S 9H AS 4S 7C TS", 3, 14),
]


@pytest.mark.parametrize("bid", [4, 5])
def test_a_whole_deal_card_by_card(bid):
    """Scenario 24: diamonds are trump, the left bauer is JH. Bid 5 instead of 4, the same play is a set."""
    table = deal("schmier", deck=DECK, dealer=5, actions=["pass", f"bid {bid}", *["pass"] * 4, "trump D"])
    for seat, cards_thrown in enumerate(THROWS):
        assert table.view.actor == seat
        if seat == 3:
            assert "JH" not in table.legal() and "QH" in table.legal()
        table.play(*cards_thrown.split())
    assert table.view.draws == (3, 2, 3, 3, 3, None)
    assert table.view.phase == "keep" and table.view.actor == 5
    assert table.view.hands[5] | table.view.kept == cards("3D 3H 4D 4H 7C TC QC 3C 5H")
    table.play("7C", "TC", "QC", "5H")
    assert table.view.discards[5] == cards("3C 3H 4H") and table.view.hands[5] == cards("3D 4D 7C TC QC 5H")
    assert len(set().union(*table.view.hands) & set(trump_order("D"))) == 15
    won = [0, 0, 0]
    for leader, trick, winner, value in TRICKS:
        assert table.view.actor == table.view.leader == leader and table.view.card_points == tuple(won)
        for card in trick.split():
            assert card in table.legal()
            table.play(card)
        assert table.games.records[0].last_trick_winner == winner and card_points(trick.split()) == value
        won[winner % 3] += value
    view = table.view
    assert won == [14, 44, 22] and sum(won) == 81 - card_points(["JC"]) and view.last_card_points == (14, 44, 22)
    assert view.last_kinds == {"high": 1, "low": 0, "jack": 1, "left": 2, "joker": 1, "game": 1}
    assert view.last_points == (1, 4, 1)
    assert view.scores == ((1, 4, 1) if bid == 4 else (1, -5, 1))
    assert view.dealer == 0 and view.phase == "bid"
