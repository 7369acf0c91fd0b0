"""Rule options, clause by clause of RULES.md: what each value does, what is refused and how, and rules files."""

from itertools import combinations
from pathlib import Path

import pytest
from scenes import (
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
    throw,
    throw_some,
    trick_winner,
)

from smear_env import PRESETS, GameRules, Games, make_rules
from smear_env.cards import SUITS
from smear_env.rules import OPTIONS, load_rules
from smear_env.testing import deal, pack, position

CONFIGS = Path(__file__).parents[1] / "configs" / "rules"

NO_JOKER = {"jokers": 0, "joker_point": 0, "joker_card_points": 0, "max_bid": 5}
NO_LEFT = {"left_bower": False, "left_point": 0, "max_bid": 5}
NO_EXCHANGE = {"exchange_who": "none", "exchange_draw": "none", "stock_to": "none"}

FIVE = {"high": 0, "low": 0, "jack": 0, "left": 0, "joker": 1}


# --- Seats, target, auction --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", range(6))
def test_o01_two_teams_of_three_sit_alternately(seat):
    assert make_rules("schmier", teams=2) == make_rules("schmier_2x3")
    view = play_last_trick("schmier", "H", "AH 3C 4C 5C 6C 7C", leader=seat, teams=2).view
    assert view.last_kinds["high"] == seat % 2 and len(view.scores) == 2


@pytest.mark.parametrize(
    ("players", "teams", "low_rank"), [(2, 2, 2), (4, 2, 2), (4, 4, 2), (5, 5, 4), (6, 6, 2), (3, 3, 5)]
)
def test_o01_other_numbers_of_players_and_teams(players, teams, low_rank):
    rules = {"players": players, "teams": teams, "low_rank": low_rank}
    view = deal("schmier", dealer=0, **rules).view
    assert len(view.hands) == players and len(view.scores) == teams and view.actor == 1
    trick = in_order("AS 9S 8S 7S 6S 5S")[:players]
    for seat in range(players):
        hands = {(seat + k) % players: card for k, card in enumerate(trick)}
        view = position("schmier", trump="S", leader=seat, hands=hands, **rules).play(*trick).view
        assert view.last_kinds["high"] == seat % teams


@pytest.mark.parametrize("target", [1, 11, 15, 52, 500])
def test_o02_the_target_ends_the_game(target):
    for game, after in [("schmier", (0, 0)), ("four_point", (0,))]:
        one_point = {"points": {"high": 0}, "card_points": (0, 0), "bid": 1, "min_bid": 1, "target": target}
        for score in (target - 1, target - 2):
            view = end_of_deal(game, **one_point, scores=(score, *after)).view
            assert view.terminated == (score == target - 1)


def test_o03_lowest_and_highest_bid():
    assert auction(min_bid=1, max_bid=2).legal() == calls("pass 1 2")
    assert auction("4", min_bid=4, max_bid=5).legal() == calls("pass 5")
    assert auction(game="four_point", min_bid=3).legal() == calls("pass 3 4")
    view = auction("3", "5", max_bid=5).view
    assert (view.phase, view.actor, view.bids) == ("trump", 1, (3, 5, None, None, None, None))
    assert auction("3", min_bid=3, max_bid=3).view.phase == "trump"


def test_o03_if_the_highest_bid_does_not_end_the_auction_the_others_can_only_pass():
    table = auction("pass", "6", max_bid_ends=False)
    for seat in (2, 3, 4, 5):
        assert table.view.actor == seat and table.view.phase == "bid" and table.legal() == {"pass"}
        table.play("pass")
    assert (table.view.phase, table.view.actor, table.view.bid) == ("trump", 1, 6)
    assert auction("2", "4", game="four_point", max_bid_ends=False).legal() == {"pass"}


def test_o04_redeal_same_is_thrown_in_and_dealt_by_the_same_dealer():
    view = auction(*["pass"] * 6, all_pass="redeal_same").view
    assert (view.dealer, view.actor, view.deals, view.deals_scored) == (5, 0, 2, 0)


@pytest.mark.parametrize(("game", "players"), [("schmier", 6), ("four_point", 4)])
def test_o04_redeal_next_passes_the_deal_to_the_left(game, players):
    table = auction(*["pass"] * players, game=game, all_pass="redeal_next")
    assert (table.view.dealer, table.view.actor, table.view.deals, table.view.deals_scored) == (0, 1, 2, 0)
    assert table.view.phase == "bid" and not any(table.view.scores)
    assert table.play(*["pass"] * players).view.dealer == 1


@pytest.mark.parametrize(("game", "players", "bids"), [("schmier", 6, "3 4 5 6"), ("four_point", 4, "2 3 4")])
def test_o04_a_dealer_who_is_stuck_may_not_pass_when_all_others_have(game, players, bids):
    table = auction(*["pass"] * (players - 1), game=game, all_pass="stick_dealer")
    assert table.view.actor == players - 1 and table.legal() == calls(bids)
    table = auction("3", *["pass"] * (players - 2), game=game, all_pass="stick_dealer")
    assert table.view.actor == players - 1 and "pass" in table.legal()
    assert "pass" in auction(game=game, all_pass="stick_dealer").legal()


# --- Points ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "trick", "ace", "in_play"),
    [
        ("four_point", "KH 8C 9C TC", None, 0),  # scenario 29: the ace is undealt
        ("four_point", "8C KH 9H TC", None, 1),
        ("four_point", "AH KH 9H TC", 0, 0),
        ("schmier", "3C 4C XX 2H 5C 6C", None, 0),  # the two, not the joker
        ("schmier", "3C 4C XX 5C 6C 7C", None, None),  # a joker never counts as highest
        ("schmier", "3C JD XX QH 5C 6C", None, 0),
    ],
)
def test_o05_high_is_the_ace_or_the_highest_trump_played(game, trick, ace, in_play):
    assert play_last_trick(game, "H", trick).view.last_kinds["high"] == ace
    assert play_last_trick(game, "H", trick, high="in_play").view.last_kinds["high"] == in_play


@pytest.mark.parametrize(
    ("game", "trick", "fixed", "in_play"),
    [
        ("four_point", "KH 8H 9C TC", None, 1),  # whoever won the trick
        ("four_point", "KH 7H 8H TC", 1, 1),
        ("schmier", "3C 4C XX 9H 5C 6C", None, 0),  # the nine, not the joker
        ("schmier", "3C 4C XX 5C 6C 7C", None, None),  # a joker never counts as lowest
        ("schmier", "JD 4C 2H AH TH 6C", 2, 2),
        ("schmier", "KH JD 3C 4C 5C 6C", None, 1),  # a left bauer is a trump
    ],
)
def test_o06_low_is_the_two_or_the_lowest_trump_played(game, trick, fixed, in_play):
    assert play_last_trick(game, "H", trick).view.last_kinds["low"] == fixed
    assert play_last_trick(game, "H", trick, low="in_play").view.last_kinds["low"] == in_play


def test_o05_o06_the_whole_deal_counts():
    """Seat 1 plays 9H, seat 2 JD in the first trick; seat 1 KH, seat 0 TH in the second."""
    hands = ["TH 4C", "9H KH", "JD 5C", "6C 7C", "8C 9C", "3D 4D"]
    table = position("schmier", trump="H", leader=1, hands=hands, high="in_play", low="in_play")
    table.play("9H", "JD", "6C", "8C", "3D", "TH")
    assert table.view.kinds["high"] == 2 and table.view.kinds["low"] == 1
    kinds = table.play("5C", "7C", "9C", "4D", "4C", "KH").view.last_kinds
    assert kinds["high"] == 1 and kinds["low"] == 1


@pytest.mark.parametrize(("game", "trick"), [("schmier", "JD 4C 2H AH TH 6C"), ("four_point", "8C KH 7H 9H")])
def test_o05_o06_a_position_with_cards_on_the_table_is_the_one_that_playing_them_leads_to(game, trick):
    """What `position` makes of cards that have been led, in public fields."""
    *led, last = in_order(trick)
    one = position(game, trump="H", led=led, hands={len(led): last}, high="in_play", low="in_play").view
    other = position(game, trump="H", hands=in_order(trick), high="in_play", low="in_play").play(*led).view
    assert (one.kinds, one.trick, one.actor, one.tricks) == (other.kinds, other.trick, other.actor, other.tricks)


def test_o12_the_lowest_rank_of_the_pack_scores_low():
    for low_rank, low in zip(range(2, 8), "234567", strict=True):
        rules = {"low_rank": low_rank}
        assert len(pack("four_point", **rules)) == 4 * (15 - low_rank) and f"{low}C" in pack("four_point", **rules)
        table = play_last_trick("four_point", "H", f"9H {low}H 8H TC", **rules)
        assert table.view.last_kinds["low"] == 1
        if low != "2":
            assert f"{int(low) - 1}C" not in pack("four_point", **rules)
    rules = {"low_rank": 3, "exchange_discard": "up_to_2"}
    assert len(pack("schmier", **rules)) == 49
    assert play_last_trick("schmier", "H", "4H 3H 3C 4C 5C 6C", **rules).view.last_kinds["low"] == 1


def test_o13_without_a_joker():
    assert len(pack("schmier", **NO_JOKER)) == 52 and "XX" not in pack("schmier", **NO_JOKER)
    points = {kind: team for kind, team in FIVE.items() if kind != "joker"}
    assert end_of_deal(points=points, card_points=(40, 20, 20), bid=5, **NO_JOKER).view.scores == (5, 0, 0)


@pytest.mark.parametrize(
    ("options", "kind", "trick"),
    [
        ({"joker_point": 0, "max_bid": 5}, "joker", "QH XX 3C 4C 5C 6C"),
        ({"left_point": 0, "max_bid": 5}, "left", "QH JD 3C 4C 5C 6C"),
        ({"jack_point": 0, "max_bid": 5}, "jack", "QH JH 3C 4C 5C 6C"),
    ],
)
def test_o13_a_point_that_is_not_played_for(options, kind, trick):
    """Game is the one point of this trick; the card still is the trump it is, and has its card points."""
    view = play_last_trick("schmier", "H", trick, **options).view
    assert view.last_kinds[kind] is None and view.last_points == (1, 0, 0) and view.last_card_points == (3, 0, 0)
    view = play_last_trick("schmier", "H", trick).view
    assert view.last_kinds[kind] == 0 and view.last_points == (2, 0, 0)


def test_o13_four_point_without_the_jacks_point():
    assert play_last_trick("four_point", "H", "QH JH 8C 9C", jack_point=0, max_bid=3).view.last_points == (1, 0)


@pytest.mark.parametrize(("value", "shares"), [(1, (3, 0, 0)), (0, (2, 0, 0))])
def test_o13_what_the_joker_counts_for_game(value, shares):
    view = play_last_trick("schmier", "H", "QH XX 3C 4C 5C 6C", joker_card_points=value).view
    assert view.last_card_points == shares and view.last_kinds["joker"] == 0


# --- End of the game ---------------------------------------------------------------------------------------------


def four_point_deal(**more):
    """Team 0 has high and low, team 1 jack and game."""
    points = {"high": 0, "low": 0, "jack": 1}
    return end_of_deal("four_point", points=points, card_points=(20, 21), **({"bid": 2} | more)).view


@pytest.mark.parametrize(
    ("scores", "bidder", "bid", "after", "winners"),
    [
        ((10, 14), 0, 2, (12, 16), set()),  # scenario 32: the other team is at 16, and the game goes on
        ((13, 20), 0, 2, (15, 22), {0}),  # the bidder wins whatever the others have
        ((20, 13), 1, 2, (22, 15), {1}),
        ((18, 14), 0, 3, (15, 16), set()),  # at the target, but set
        ((12, 20), 0, 2, (14, 22), set()),
    ],
)
def test_o07_bidder_only_a_team_wins_only_with_a_bid_that_it_made(scores, bidder, bid, after, winners):
    view = four_point_deal(scores=scores, bidder=bidder, bid=bid, finish="bidder_only")
    assert view.scores == after and view.winners == winners and view.terminated == bool(winners)


def test_o07_bidder_only_decides_where_others_would_play_on():
    """Three teams: two level above a bidder who has just made it."""
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 2}
    rules = {"bid": 3, "scores": (18, 29, 29), "finish": "bidder_only"}
    assert end_of_deal(points=points, card_points=(20, 20, 20), **rules).view.winners == {0}


def test_o07_any_team():
    view = four_point_deal(scores=(10, 14), finish="any_team")
    assert view.scores == (12, 16) and view.winners == {1}


@pytest.mark.parametrize(
    ("cap", "scores", "after", "winners"),
    [
        ("none", (14, 14), (16, 16), {0}),
        ("none", (13, 14), (15, 16), {1}),
        ("target", (13, 14), (15, 15), {0}),  # scenario 32: held at 15
        ("target", (14, 14), (16, 15), {0}),  # the bidder's team is not held
        ("target", (10, 14), (12, 15), {1}),
        ("target", (10, 13), (12, 15), {1}),
        ("target_minus_1", (10, 14), (12, 14), set()),  # scenario 32: held at 14
        ("target_minus_1", (10, 13), (12, 14), set()),
        ("target_minus_1", (13, 13), (15, 14), {0}),
        ("target_minus_1", (10, 11), (12, 13), set()),
    ],
)
def test_o08_other_teams_than_the_bidders_rise_at_most_to_the_cap(cap, scores, after, winners):
    view = four_point_deal(scores=scores, defender_cap=cap)
    assert view.scores == after and view.winners == winners
    assert view.last_delta == tuple(new - old for new, old in zip(after, scores, strict=True))


@pytest.mark.parametrize("cap", ["target", "target_minus_1"])
def test_o08_the_cap_never_lowers_a_score(cap):
    view = four_point_deal(scores=(5, 18), defender_cap=cap, finish="bidder_only")
    assert view.scores == (7, 18) and view.last_delta == (2, 0)


@pytest.mark.parametrize(("tie", "winner"), [("higher_then_bidder", 1), ("bidder_first", 0)])
def test_o09_bidder_first_wins_at_the_target_whatever_the_others_have(tie, winner):
    """Scenario 27 b: 21 against 23."""
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 1}
    view = end_of_deal(points=points, card_points=(20, 41, 20), bid=3, scores=(18, 20, 5), tie=tie).view
    assert view.scores == (21, 23, 5) and view.winners == {winner}


@pytest.mark.parametrize("tie", ["higher_then_bidder", "bidder_first"])
def test_o09_a_bidder_below_the_target_leaves_it_to_the_highest(tie):
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 1}
    view = end_of_deal(points=points, card_points=(20, 20, 41), bid=3, scores=(3, 20, 20), tie=tie).view
    assert view.scores == (6, 22, 21) and view.winners == {1}


@pytest.mark.parametrize(("residual_tie", "winners"), [("play_on", set()), ("shared", {1, 2})])
def test_o10_teams_that_tie_without_the_bidders_play_on_or_win_together(residual_tie, winners):
    """Scenario 27 c."""
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 2}
    view = end_of_deal(
        points=points, card_points=(20, 20, 20), bid=4, scores=(19, 20, 20), residual_tie=residual_tie
    ).view
    assert view.scores == (15, 21, 21) and view.winners == winners and view.terminated == bool(winners)
    assert view.phase == ("over" if winners else "bid")


def test_o10_shared_leaves_a_tie_with_the_bidder_to_the_bidder():
    points = {"high": 0, "low": 0, "jack": 0, "left": 1, "joker": 2}
    view = end_of_deal(points=points, card_points=(20, 20, 20), bid=3, scores=(18, 20, 20), residual_tie="shared").view
    assert view.scores == (21, 21, 21) and view.winners == {0}


# --- Widow, bauer, following, exchange ---------------------------------------------------------------------------


@pytest.mark.parametrize("widow", range(4))
def test_o11_the_widow_is_0_to_3_cards(widow):
    view = auction("4", game="four_point", widow=widow).view
    assert view.hands[0] >= set(view.deck[24 : 24 + widow]) and len(view.hands[0]) == 6 + widow
    assert view.phase == ("trump" if widow else "play")


def test_o14_without_a_left_bauer_the_jack_is_a_plain_card():
    def playing(led, hand):
        return position("schmier", trump="H", led=led, hands={1: hand}, **NO_LEFT).legal()

    assert playing("AD", "JD 3S 9C") == {"JD"}
    assert playing("JD", "2H AD KD 9S") == {"AD", "KD"}
    assert trick_winner("schmier", "H", "AD JD 3C 4C 5C 6C", **NO_LEFT) == 0
    assert trick_winner("schmier", "H", "TD JD 3C 4C 5C 6C", **NO_LEFT) == 1
    assert trick_winner("schmier", "H", "JH TH JD 4C 5C 6C", **NO_LEFT) == 0
    table = deal("schmier", dealer=5, hands={0: "AH JD XX 9S 4C 4D"}, actions=["bid 5", "trump H"], **NO_LEFT)
    assert table.legal() == cards("JD 9S 4C 4D done")


def test_o15_follow_or_trump_in_schmier():
    def playing(led, hand):
        return position("schmier", trump="H", led=led, hands={1: hand}, follow="follow_or_trump").legal()

    assert playing("KS", "3S AH XX JD 2C") == {"3S", "AH", "XX", "JD"}
    assert playing("AD", "JD 4D 9C") == {"JD", "4D"}
    assert playing("JD", "2H AD KD 9S") == {"2H"}
    assert playing("KS", "3D AH 2C") == {"3D", "AH", "2C"}


def test_o15_strict_in_four_point():
    def playing(led, hand):
        return position("four_point", trump="H", led=led, hands={1: hand}, follow="strict").legal()

    assert playing("KS", "8S AH QD") == {"8S"}
    assert playing("TH", "7H AS") == {"7H"}
    assert playing("KS", "AH QD 7C") == {"AH", "QD", "7C"}


def test_o16_no_exchange():
    """Trump is named, and everybody plays the cards he was dealt."""
    table = deal("schmier", dealer=5, actions=["bid 6", "trump H"], episode="deal", **NO_EXCHANGE)
    hands = table.view.hands
    assert table.view.phase == "play" and table.view.actor == 0 and table.legal() == hands[0]
    view = table.play_at_random().view
    played = [{card for k, card in enumerate(view.plays) if card in hand} for hand in hands]
    assert tuple(played) == hands and sum(view.last_card_points) == 81 - card_points(view.stock)


@pytest.mark.parametrize("number", [1, 2])
def test_o16_the_most_cards_that_a_player_may_throw(number):
    table = deal(
        "schmier",
        dealer=5,
        actions=["bid 6", "trump H"],
        hands={0: "2C 3C 4C 5C 6C 7C"},
        exchange_discard=f"up_to_{number}",
    )
    table.play(*in_order("2C 3C 4C")[:number])
    assert table.view.actor == 1 and table.view.draws[0] == number and len(table.view.stock) == 17 - number


def test_o16_a_smaller_table_may_throw_six():
    options = {"players": 4, "teams": 2, "exchange_discard": "up_to_6"}
    hands = {0: "2C 3C 4C 5C 6C 7C"}
    table = deal("schmier", dealer=3, actions=["bid 6", "trump H"], hands=hands, stock="2D 3D 4D 5D 6D 7D", **options)
    table.play("2C", "3C", "4C", "5C", "6C")
    assert table.view.actor == 0
    table.play("7C")
    assert table.view.actor == 1 and table.view.hands[0] == cards("2D 3D 4D 5D 6D 7D")


@pytest.mark.parametrize(
    ("protected", "free"),
    [
        ((), "AH JH JD 2H XX KH 9H 5H"),
        (("ace",), "JH JD 2H XX KH 9H 5H"),
        (("right", "left"), "AH 2H XX KH 9H 5H"),
        (("low", "joker"), "AH JH JD KH 9H 5H"),
        (("ace", "right", "left", "low", "joker"), "KH 9H 5H"),
    ],
)
def test_o16_the_trumps_that_the_dealer_may_not_discard(protected, free):
    """Scenario 23 with other trumps protected: eight trumps, two go."""
    trumps = "AH JH JD 2H XX KH 9H 5H"
    table = dealer_takes(f"{trumps} 3S 4S 8C 9D", protected=protected)
    assert table.legal() == cards(free)
    pairs = {frozenset(cards(trumps) - set(pair)) for pair in combinations(free.split(), 2)}
    assert outcomes(table, 5, "hands") == pairs


@pytest.mark.parametrize(
    ("game", "options", "fragments"),
    [
        ("schmier", {"exchange_discard": "up_to_4"}, ("stock of 17", "exchange 4")),
        ("schmier", {"low_rank": 3}, ("stock of 13", "exchange 3")),
        ("schmier", {"low_rank": 7, "exchange_discard": "up_to_1"}, ("33 in the pack",)),
        ("four_point", {"players": 5, "teams": 5, "widow": 3}, ("widow=3", "32 in the pack")),
        ("four_point", {"players": 6, "teams": 2, "widow": 0}, ("players=6", "32 in the pack")),
    ],
)
def test_o16_a_pack_that_could_run_out_is_refused(game, options, fragments):
    with pytest.raises(ValueError, match="do not go together") as caught:
        make_rules(game, **options)
    assert all(fragment in str(caught.value) for fragment in fragments)
    assert make_rules("four_point", players=5, teams=5, widow=2).widow == 2


@pytest.mark.parametrize(("whose", "value"), [("owner", 12), ("nobody", 0)])
def test_o17_whose_game_point_the_bidders_discards_count_for(whose, value):
    """Scenario 28: TC and QD are away."""
    table = deal(
        "four_point", dealer=3, hands={0: "AH KH 9H 7S 8S TC"}, stock="QD JD", episode="deal",
        actions=["bid 4", "trump H", "7S", "8S", "JD"], discards_score_for=whose,
    )  # fmt: skip
    view = table.play_at_random().view
    assert view.last_card_points == (view.card_points[0] + value, view.card_points[1])


def test_o17_what_is_thrown_in_the_exchange_never_counts():
    with pytest.raises(ValueError, match="discards_score_for=nobody"):
        make_rules("schmier", discards_score_for="owner")
    table = named(hands={seat: f"T{suit} A{suit}" for seat, suit in enumerate("CDS")}, episode="deal")
    throw(table, "TC", "AC")
    throw(table, "TD", "AD")
    throw(table, "TS", "AS")
    view = throw_some(throw_some(table, 0), 0).play_at_random().view
    assert view.last_card_points == view.card_points and sum(view.card_points) <= 81 - 42


PITCHED = NO_EXCHANGE | NO_JOKER | NO_LEFT | {"trump_choice": "pitched", "max_bid": 4}


@pytest.mark.parametrize("trump", SUITS)
def test_o18_the_suit_of_the_first_card_led_is_trump(trump):
    hands = {0: "2C 3D 4H 5S 6C 7D"}
    table = deal("schmier", dealer=5, actions=["bid 4"], hands=hands, **PITCHED)
    assert table.view.phase == "play" and table.view.trump is None and table.legal() == cards(hands[0])
    table.play(next(card for card in hands[0].split() if card[1] == trump))
    assert table.view.trump == trump and table.facts(3).trump == trump


def test_o18_named_trump_in_four_point():
    options = NO_EXCHANGE | {"trump_choice": "named", "widow": 0, "discards_score_for": "nobody"}
    table = deal("four_point", dealer=3, hands={0: "7C 8C 9C 7D 8D 9D"}, actions=["bid 4"], **options)
    assert table.legal() == {"trump C", "trump D", "trump H", "trump S"}
    assert table.play("trump S").facts(2).trump == "S" and table.legal() == cards("7C 8C 9C 7D 8D 9D")


@pytest.mark.parametrize(
    ("game", "options", "fragment"),
    [
        ("schmier", {"trump_choice": "pitched"}, "exchange_who=non_dealers needs trump_choice=named"),
        ("schmier", PITCHED | {"jokers": 1}, "jokers"),
        ("schmier", PITCHED | {"left_bower": True}, "left_bower=true"),
        ("four_point", {"trump_choice": "named"}, "exchange_who=bidder needs trump_choice=pitched"),
    ],
)
def test_o18_pitched_trump_goes_with_a_widow_or_nothing_and_without_joker_and_left_bauer(game, options, fragment):
    with pytest.raises(ValueError, match="do not go together") as caught:
        make_rules(game, **options)
    assert fragment in str(caught.value)


@pytest.mark.parametrize("suits", [1, 2, 3])
def test_o19_a_pack_of_fewer_suits(suits):
    rules = make_rules("mini_2p", suits=suits)
    assert {card[1] for card in pack(rules) if card != "XX"} == set("CDHS"[:suits]) and len(
        pack(rules)
    ) == 3 * suits + 1
    table = deal(rules, dealer=0, actions=["bid 2"])
    assert table.view.phase == "trump" and table.legal() == {f"trump {suit}" for suit in "CDHS"[:suits]}


def test_o20_a_hand_of_other_size_and_as_many_tricks():
    options = {"deal_cards": 3, "hand_cards": 3, "protected": ("ace",), "exchange_discard": "up_to_2"}
    table = deal("schmier", dealer=5, **options)
    assert [len(hand) for hand in table.view.hands] == [3] * 6 and len(table.view.stock) == 53 - 18
    played = play_last_trick("schmier", "H", "AH 3C 4C 5C 6C 7C", **options)
    assert played.view.last_kinds["high"] == 0  # the third trick was the last


def test_o21_the_small_games():
    two, four = PRESETS["mini_2p"], PRESETS["mini_4p"]
    assert set(pack(two)) == cards("AC KC QC AD KD QD XX") and set(pack(four)) == cards("AC KC QC JC AD KD QD JD")
    assert len(deal(two).view.stock) == 3 and not deal(four).view.stock
    assert two.max_points == four.max_points == 4 and (four.players, four.teams) == (4, 2)
    # The queen is low, the joker a trump that every other trump beats; game is 5 to 4.
    table = position(two, trump="C", bid=2, leader=0, hands={0: "AC QD", 1: "QC XX"}).play("AC", "XX", "QD", "QC")
    assert table.view.last_points == (3, 1) and table.view.last_kinds["low"] == 1


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        ({"deal_cards": 3}, "deal_cards=3 and hand_cards=6"),
        ({"suits": 3}, "left_bower=true needs suits=4"),
        ({"low_rank": 12, "players": 2, "teams": 2}, "needs a jack in the pack"),
        ({"deal_cards": 4, "hand_cards": 4}, "no room for all protected trumps: ace,right,left,low,joker"),
    ],
)
def test_o12_o16_o19_o20_what_does_not_go_together(options, fragment):
    with pytest.raises(ValueError, match="do not go together") as caught:
        make_rules("schmier", **options)
    assert fragment in str(caught.value)


# --- What is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "implemented"),
    [
        ("jokers", 2, "0, 1"),
        ("jokers_rank", "above_ten", "below_all"),
        ("joker_tie", "second_higher", "first_higher"),
        ("joker_tie", "marked", "first_higher"),
        ("joker_open", False, "true"),
        ("first_lead", "trump", "any"),
        ("deal_cards", 10, "1, 2, 3, 4, 5, 6"),
        ("hand_cards", 7, "1, 2, 3, 4, 5, 6"),
        ("dealer_privilege", "match_any", "none"),
        ("dealer_privilege", "match_max", "none"),
        ("all_pass", "dealer_set", "redeal_same, redeal_next, stick_dealer"),
        ("all_pass", "free_pitch", "redeal_same, redeal_next, stick_dealer"),
        ("widow", 4, "0, 1, 2, 3"),
        ("exchange_who", "all", "none, bidder, non_dealers"),
        ("exchange_discard", "all_nontrump", "up_to_1, up_to_2, up_to_3, up_to_4, up_to_5, up_to_6, down_to_hand"),
        ("exchange_draw", "refill", "none, replace"),
        ("stock_to", "bidder", "none, dealer"),
        ("exchange_show", "excess_trumps", "none, count"),
        ("protected", ("ace", "three"), "any of ace, right, left, low, joker"),
        ("follow", "trump_only", "strict, follow_or_trump"),
        ("low_to", "taker", "player"),
        ("three_points", 3, "0"),
    ],
)
def test_a_value_that_is_not_implemented_is_refused_by_name(name, value, implemented):
    with pytest.raises(ValueError, match="not implemented") as caught:
        make_rules("schmier", **{name: value})
    text = {True: "true", False: "false", ("ace", "three"): "ace,three"}.get(value, str(value))
    assert f"{name}={text} " in str(caught.value) and f"implemented: {implemented}" in str(caught.value)


def test_the_refusal_of_protected_three_does_not_offer_the_three():
    with pytest.raises(ValueError, match="not implemented") as caught:
        GameRules(protected=("three",))
    assert "three" not in str(caught.value).partition("implemented:")[2]


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("target", 0, "1..500"), ("target", 501, "1..500"), ("target", "11", "1..500"), ("target", 11.5, "1..500"),
        ("target", True, "1..500"), ("target", None, "1..500"), ("target", [21], "1..500"), ("teams", 1, "2..6"),
        ("players", 7, "2..6"), ("low_rank", 14, "2..13"), ("low_rank", 1, "2..13"), ("min_bid", 0, "1..10"),
        ("max_bid", -1, "1..10"), ("max_bid_ends", 1, "true, false"), ("left_bower", "no", "true, false"),
        ("all_pass", "redeal", "redeal_same, redeal_next, stick_dealer"), ("high", "king", "ace, in_play"),
        ("low", "two", "fixed, in_play"), ("finish", "bidder", "any_team, bidder_only"), ("widow", -1, "0, 1, 2, 3"),
        ("defender_cap", 15, "none, target_minus_1, target"), ("tie", "bidder", "higher_then_bidder, bidder_first"),
        ("residual_tie", "split", "play_on, shared"), ("follow", "", "strict, follow_or_trump"),
        ("jack_point", 2, "0..1"), ("joker_point", -1, "0..1"), ("joker_card_points", 2, "0..1"),
        ("trump_choice", "bid", "named, pitched"), ("exchange_who", "dealer", "none, bidder, non_dealers"),
        ("exchange_discard", "up_to_7", "up_to_1"), ("discards_score_for", "bidder", "nobody, owner"),
        ("protected", "ace", "ace, right, left, low, joker"), ("protected", ("king",), "ace, right, left, low, joker"),
        ("game_tie", "all", "nobody"), ("suits", 5, "1..4"), ("suits", 0, "1..4"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_allowed_is_refused_by_name(name, value, allowed):
    for refuse in (lambda: make_rules("schmier", **{name: value}), lambda: GameRules(**{name: value})):
        with pytest.raises(ValueError, match="not allowed") as caught:
            refuse()
        assert f"{name}={value!r}" in str(caught.value) and allowed in str(caught.value)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("targt", "target"),
        ("min_bids", "min_bid"),
        ("left_bauer", "left_bower"),
        ("widows", "widow"),
        ("all_passes", "all_pass"),
    ],
)
def test_an_unknown_option_is_a_type_error_that_suggests_a_near_name(name, near):
    for refuse in (make_rules, Games, deal, pack):
        with pytest.raises(TypeError, match=f"unknown rule option '{name}'; did you mean .*{near}"):
            refuse("schmier", **{name: 1})


def test_an_unknown_option_like_no_other_is_told_all_names():
    with pytest.raises(TypeError, match="unknown rule option 'zzz'") as caught:
        make_rules("schmier", zzz=1)
    assert all(name in str(caught.value) for name in OPTIONS)


def test_an_unknown_game_is_refused_with_a_near_name():
    with pytest.raises(ValueError, match="unknown game 'schmeir'; did you mean schmier"):
        make_rules("schmeir")
    with pytest.raises(TypeError, match="rules must be"):
        make_rules(3)


@pytest.mark.parametrize(
    ("game", "options", "fragments"),
    [
        ("schmier", {"teams": 4}, ("players=6", "teams=4")),
        ("schmier", {"players": 5}, ("players=5", "teams=3")),
        ("schmier", {"min_bid": 5, "max_bid": 4}, ("min_bid=5", "max_bid=4")),
        ("schmier", {"max_bid": 7}, ("max_bid=7", "6 points")),
        ("four_point", {"max_bid": 5}, ("max_bid=5", "4 points")),
        ("schmier", {"left_point": 0}, ("max_bid=6", "5 points")),
        ("schmier", {"left_bower": False}, ("left_point=1", "left_bower=true")),
        ("schmier", NO_JOKER | {"joker_point": 1}, ("joker_point=1", "jokers=1")),
        ("schmier", NO_JOKER | {"joker_card_points": 1}, ("joker_card_points=1", "jokers=1")),
        ("schmier", {"widow": 2}, ("widow=2", "exchange_who=bidder")),
        ("schmier", {"exchange_discard": "down_to_hand"}, ("exchange_who=non_dealers", "up_to_N")),
        ("schmier", {"exchange_draw": "none"}, ("exchange_draw=replace",)),
        ("schmier", {"stock_to": "none"}, ("stock_to=dealer",)),
        ("schmier", {"exchange_show": "none"}, ("exchange_show=count",)),
        ("schmier", {"exchange_who": "none"}, ("exchange_who=none", "exchange_draw=none")),
        ("four_point", {"exchange_who": "none"}, ("widow=2", "exchange_who=bidder")),
        ("four_point", {"exchange_discard": "up_to_3"}, ("exchange_who=bidder", "down_to_hand")),
        ("four_point", {"stock_to": "dealer"}, ("exchange_who=bidder", "stock_to=none")),
    ],
)
def test_options_that_contradict_each_other_are_refused_by_name(game, options, fragments):
    with pytest.raises(ValueError, match="do not go together") as caught:
        make_rules(game, **options)
    assert all(fragment in str(caught.value) for fragment in fragments)


# --- Rules files -------------------------------------------------------------------------------------------------


@pytest.fixture
def rules_file(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "table.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_every_preset_has_its_file_and_the_file_is_the_preset():
    assert {path.stem for path in CONFIGS.glob("*.toml")} == set(PRESETS)
    for name, rules in PRESETS.items():
        path = CONFIGS / f"{name}.toml"
        assert load_rules(path) == make_rules(path) == make_rules(str(path)) == rules


def test_schmiers_file_spells_every_option_out():
    text = (CONFIGS / "schmier.toml").read_text(encoding="utf-8")
    lines = [line.split("#")[-1].split() for line in text.splitlines() if "=" in line.split("#")[0]]
    assert {words[-1] for words in lines if words} >= set(OPTIONS)


def test_places_are_nested(rules_file):
    path = rules_file("""
        [seats]
        teams = 2
        [auction]
        all_pass = "stick_dealer"
        [points.game]
        joker_value = 0
        [points]
        high.card = "in_play"
        [match]
        target = 11
        [exchange]
        protected = ["ace", "low"]
    """)
    assert load_rules(path) == make_rules(
        "schmier", teams=2, all_pass="stick_dealer", joker_card_points=0, high="in_play", target=11,
        protected=("ace", "low"),
    )  # fmt: skip


def test_dotted_keys_are_the_same_places_and_an_empty_file_is_schmier(rules_file):
    assert load_rules(rules_file("match.target = 11\nseats.teams = 2\n")) == make_rules("schmier", target=11, teams=2)
    assert load_rules(rules_file("# nothing\n")) == make_rules("schmier")


@pytest.mark.parametrize("preset", PRESETS)
def test_extends_names_the_preset_to_start_from(rules_file, preset):
    path = rules_file(f'extends = "{preset}"\n[match]\ntarget = 33\n')
    assert load_rules(path) == make_rules(preset, target=33)


def test_places_with_a_single_value_may_be_written_out(rules_file):
    path = rules_file("""
        misdeal = "none"
        [exchange]
        excess = "excess_only"
        [points]
        high.to = "player"
        game.by = "card_points"
        [scoring]
        made = "all_points"
        set = "minus_bid"
        defenders = "all_points"
    """)
    assert load_rules(path) == make_rules("schmier")


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("[match]\ntargt = 11", ("unknown rule 'match.targt'", "did you mean match.target")),
        ("target = 11", ("unknown rule 'target'",)),
        ("[matches]\ntarget = 11", ("unknown rule 'matches.target'", "match.target")),
        ("match = 11", ("unknown rule 'match'",)),
        ("[match.target]\nvalue = 11", ("unknown rule 'match.target.value'",)),
        ("[match]\ntarget = '11'", ("target='11'", "not allowed", "1..500")),
        ("[match]\ntarget = 11.0", ("target=11.0", "not allowed", "1..500")),
        ("[match]\ntarget = true", ("target=True", "not allowed")),
        ("[match]\ntarget = [11]", ("target=[11]", "not allowed")),
        ("[auction]\nmax_bid_ends = 1", ("max_bid_ends=1", "true, false")),
        ("[exchange]\nprotected = 'ace'", ("protected='ace'", "not allowed")),
        ("[deck]\njokers = 2", ("jokers=2", "not implemented", "0, 1")),
        ("[auction]\ndealer = 'match_any'", ("dealer_privilege=match_any", "not implemented", "none")),
        ("[scoring]\nset = 'zero'", ("scoring.set", "'zero'", "not implemented", "'minus_bid'")),
        ("[points.game]\nby = 'ten_of_trump'", ("points.game.by", "not implemented", "'card_points'")),
        ("[exchange]\nexcess = 'any'", ("exchange.excess", "'any'", "not implemented", "'excess_only'")),
        ("misdeal = 'junk_hand_redeal'", ("misdeal", "'junk_hand_redeal'", "not implemented", "'none'")),
        ("[seats]\nteams = 4", ("do not go together", "players=6", "teams=4")),
        ("extends = 'four_points'", ("unknown preset to extend 'four_points'", "did you mean four_point")),
        ("extends = 4", ("unknown preset to extend '4'",)),
        ("extends = ['schmier']", ("preset to extend",)),
        ("[match\ntarget = 11", ("not valid TOML", "line 1")),
        ("[match]\ntarget = 11\ntarget = 12", ("not valid TOML",)),
        ("[match]\ntarget =", ("not valid TOML",)),
    ],
)  # fmt: skip
def test_a_file_that_is_not_right_is_refused_with_its_path_and_place(rules_file, text, fragments):
    path = rules_file(text)
    for refuse in (load_rules, make_rules, lambda where: Games(str(where))):
        with pytest.raises(ValueError, match=r"table\.toml") as caught:
            refuse(path)
        assert all(fragment in str(caught.value) for fragment in fragments)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    for path in (tmp_path / "none.toml", str(tmp_path / "none.toml")):
        with pytest.raises(ValueError, match=r"cannot read the rules file .*none.toml"):
            make_rules(path)
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    with pytest.raises(ValueError, match=r"cannot read the rules file .*folder.toml"):
        make_rules(folder)
    latin = tmp_path / "latin.toml"
    latin.write_bytes("# f\xfcnf\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"cannot read the rules file .*latin.toml"):
        make_rules(latin)


def test_single_options_go_on_top_of_a_file(rules_file):
    path = rules_file('extends = "four_point"\n[widow]\nsize = 3\n[match]\ntarget = 33\n')
    for where in (path, str(path)):
        assert make_rules(where, target=11) == make_rules("four_point", widow=3, target=11)
    assert Games(path, widow=1).rules == make_rules("four_point", widow=1, target=33)
    assert deal(path, target=11).rules == make_rules("four_point", widow=3, target=11)
    with pytest.raises(TypeError, match="did you mean target"):
        make_rules(path, targt=11)
    with pytest.raises(ValueError, match="widow=4"):
        make_rules(path, widow=4)
