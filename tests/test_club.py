"""The scripted player `club`: each of its heuristics in a position or two, and what holds for all its answers."""

import time

import numpy as np
import pytest

from smear_agents import ClubAgent, make_agent
from smear_agents.club_bids import BIDS, worth_of
from smear_agents.sight import SIGHT, guess_hands, see_bids, see_hand, see_table
from smear_env import PRESETS, GameRules, Games, make_rules
from smear_env._jit import JIT
from smear_env.actions import BID_1, PASS, TRUMP_CLUBS, action_text
from smear_env.cards import set_of
from smear_env.observe import block_slice
from smear_env.resample import hide_each
from smear_env.rules import make_tables
from smear_env.testing import Table, deal, position
from smear_train.sim import play_out, simulate

pytestmark = pytest.mark.no_cover

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


def see(agent: ClubAgent, table: Table, sight: np.ndarray) -> None:
    """Reads the view of the seat to move into `sight`."""
    view, mask = table.games.observations[0], table.games.action_masks[0]
    t, o, s = agent.tables[0], agent.layout[0], sight[0]
    see_hand(view, mask, t, o, s)
    see_bids(view, t, o, s)
    see_table(view, t, o, s)
    guess_hands(view, t, o, s)


# --- Bidding -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "hand", "expected"),
    [
        ("schmier", "AH JH JD 2H KH QH", "bid 3"),  # no more than it takes to buy it
        ("schmier", "3C 4D 5H 6S 8C 9D", "pass"),
        ("schmier", "AH KH 2H 4C 5D 9S", "bid 3"),
        ("four_point", "8C 9D TH 9S QC JD", "pass"),
    ],
)
def test_bids_what_the_hand_bears_and_no_more_than_needed(game: str, hand: str, expected: str) -> None:
    players = PRESETS[game].players
    assert choice(deal(game, hands={0: hand}, dealer=players - 1)) == expected


def test_outbids_others_only_with_more() -> None:
    strong, fair = "AH KH JH JD 2H TC", "AH KH 8H 4C 5D 9S"
    for hand, expected in ((strong, "bid 4"), (fair, "pass")):
        assert choice(deal("schmier", hands={0: hand}, dealer=1, actions=["pass", "pass", "pass", "bid 3"])) == expected


def test_leaves_the_bid_to_the_partner() -> None:
    """The hand buys the deal from another team, with the same bid on the table; seats 2 and 5 are partners."""
    hands = {5: "AH KH TH 8H 2C 3C"}
    others, partner = (
        deal("schmier", hands=hands, dealer=5, actions=["pass"] * seat + ["bid 3"] + ["pass"] * (4 - seat))
        for seat in (1, 2)
    )
    assert choice(others) == "bid 4" and choice(partner) == "pass"


def test_opens_high_to_leave_others_less_room() -> None:
    """In Four Point a bid of 2 is bought over too cheaply; the dealer, last, need not fear that."""
    hand = "AH JH 7H KH 9C 8S"
    assert choice(deal("four_point", hands={0: hand}, dealer=3)) == "bid 3"
    assert choice(deal("four_point", hands={0: hand}, dealer=0, actions=["pass"] * 3)) == "bid 2"


def test_the_last_seat_bids_on_less_when_all_others_have_passed() -> None:
    hand = "KH 9H 8C TC 9D JS"
    assert choice(deal("four_point", hands={0: hand}, dealer=0, actions=["pass"] * 3)) == "bid 2"
    assert choice(deal("four_point", hands={0: hand}, dealer=3)) == "pass"


def test_a_dealer_who_must_bid_bids_least() -> None:
    table = deal("schmier", hands={0: "3C 4D 5H 6S 8C 9D"}, dealer=0, actions=["pass"] * 5, all_pass="stick_dealer")
    assert choice(table) == "bid 3"


def test_bids_more_against_a_team_that_would_win_the_game() -> None:
    hands = {3: "AH KH 8H JH 3C 4D"}
    bids = ["pass", "pass", "bid 3"]
    calm = deal("schmier", hands=hands, dealer=5, actions=bids)
    urgent = deal("schmier", hands=hands, dealer=5, actions=bids, scores=[0, 0, 18])
    bears = {"bears": (0, 0, 0, 3, 4.2, 5, 6, 9, 9, 9, 9), "stop_winner": 1.0}
    assert choice(calm, bids=bears) == "pass" and choice(urgent, bids=bears) == "bid 4"


def test_names_the_suit_that_is_worth_most() -> None:
    table = deal("schmier", hands={0: "AH 2H 8S 7S 6S 5C"}, dealer=5, actions=["bid 6"])
    assert choice(table) == "trump H"


@pytest.mark.parametrize("rules", [r for r in VARIANTS[:8] if r.hand_cards == 6], ids=lambda rules: rules.name)
def test_an_honour_more_never_lowers_the_bid(rules: GameRules) -> None:
    """In the suit that it would name, for a card that is no trump; in every seat of the auction that is tried."""
    agent = ClubAgent(rules)
    games = Games(rules, 3000 if JIT else 30, seed=3)
    games.reset()
    t = make_tables(rules)[0]
    pack = t["deck"][: rules.deck_size]
    calls = np.zeros_like(games.action_masks)
    calls[:, TRUMP_CLUBS : TRUMP_CLUBS + 4] = 1
    for _ in range(3):
        views, masks = games.observations.copy(), games.action_masks.copy()
        before = agent(views, masks)
        suits = agent(views, calls) - TRUMP_CLUBS
        hand = block_slice(rules, "hand")
        raised = 0
        for place, card in enumerate(pack):
            more = views.copy()
            bits = more[:, hand]
            plain = (bits == 1) & (t["suit_of"][suits][:, pack] != suits[:, None])
            is_honour = (
                (t["strength"][suits, card] > 64 + 8)
                | (t["kind_of"][suits, card] >= 0)
                | (card % 13 == rules.low_rank - 2)
            )
            joins = (t["suit_of"][suits, card] == suits) & is_honour & (bits[:, place] == 0) & plain.any(1)
            out = plain.argmax(1)
            bits[np.flatnonzero(joins), out[joins]] = 0
            bits[joins, place] = 1
            after = agent(more, masks)
            assert (after[joins] >= before[joins]).all(), card
            raised += (after[joins] > before[joins]).sum()
        assert raised > 0 or not JIT
        games.step(np.where(masks[:, PASS] == 1, PASS, masks[:, BID_1:].argmax(1) + BID_1))


def test_worth_is_the_sum_of_its_table() -> None:
    agent = ClubAgent(SCHMIER)
    w = agent.bids[0]
    hand = set_of([38, 37, 26, 22, 12, 52])  # AH KH 2H JD AC XX
    expected = w.start + 5 * w.trump + w.ace + w.king + w.low + w.left + w.joker + w.side_ace
    assert worth_of(np.int64(hand), 2, agent.tables[0], w) == pytest.approx(expected)
    assert BIDS.names == agent.bids.dtype.names


# --- Exchange and keep -------------------------------------------------------------------------------------------


def test_throws_to_get_void_and_the_ace_last() -> None:
    table = deal("schmier", hands={0: "AH JH 9C 5C AC TS"}, dealer=5, actions=["bid 6", "trump H"])
    thrown = [choice(table)]
    thrown.append(choice(table.play(thrown[-1])))
    assert thrown[0] == "TS" and "AC" not in thrown  # the lone spade, then the low clubs


def test_throws_nothing_of_worth_when_told_to_keep_aces() -> None:
    table = deal("schmier", hands={0: "AH JH KH QH TH AC"}, dealer=5, actions=["bid 6", "trump H"])
    assert choice(table, habits={"throw_below": 1.0}) == "done"


def test_the_bidder_buries_tens_where_they_count() -> None:
    """F-11: what he discards counts for his team's game."""
    table = deal("four_point", hands={0: "AH JH KH TC 8D 9S"}, stock="8H 7C", dealer=3, actions=["bid 4", "trump H"])
    kept = []
    while table.view.phase == "keep":
        kept.append(choice(table))
        table.play(kept[-1])
    assert "TC" not in kept


def test_of_too_many_trumps_those_that_make_points_are_kept() -> None:
    table = deal("four_point", hands={0: "AH KH QH JH TH 9H"}, stock="7H 8H", dealer=3, actions=["bid 4"])
    if table.view.phase == "trump":
        table.play("trump H")
    kept = set()
    while table.view.phase == "keep":
        kept.add(choice(table))
        table.play(choice(table))
    assert kept >= {"AH", "JH", "7H"} or not kept - {"AH", "KH", "QH", "JH", "7H"}


# --- Play --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("why", "led", "hand", "expected"),
    [
        # The seat that decides is the one after those that have played; partners sit three apart.
        ("last, takes the ten in the suit led", "TS 3S 4S 5S 6S", "KS 2S 9H", "KS"),
        ("last, gives the partner the ten", "3S 4S AS 5S 6S", "TS KS 2S", "TS"),
        ("last, gives another team nothing", "3S AS 4S 5S 6S", "TS KS 2S", "2S"),
        ("last, gives the partner the right bauer that would fall", "3H 4H AH 5H 6H", "JH 9H 2C", "JH"),
        ("last, gives the partner the left bauer that would fall", "3H 4H AH 5H 6H", "JD 9H 2C", "JD"),
        ("last, gives the partner the joker", "3H 4H AH 5H 6H", "XX 9H 2C", "XX"),
        ("last, does not give the right bauer away", "3H AH 4H 5H 6H", "JH 9H 2C", "9H"),
        ("last, takes the right bauer home", "3H 4H 5H 6H 7H", "JH 9H 2C", "JH"),
        ("last, takes the joker with the lowest trump that does", "XX 3H 4H 5H 6H", "AH 9H 8H", "8H"),
        ("catches the right bauer with the ace", "JH", "2H 5H AH", "AH"),
        ("second hand low", "5S", "3S QS 9C", "3S"),
        ("third hand high, as a ten is on the table", "TS 3S", "AS 4S 2C", "AS"),
        ("leaves an empty trick alone", "3S 4S 5S 6S 7S", "2C 9H", "2C"),
        ("trumps a ten in", "TS 3S 4S AS 5S", "2C 9H 4D", "9H"),
        ("does not trump its partner's trick", "TS 3S AS 4S 5S", "2C 9H 4D", "2C"),
        ("takes the left bauer with the boss", "JD 3H", "AH 4H 9C", "AH"),
    ],
)
def test_follows_in_schmier(why: str, led: str, hand: str, expected: str) -> None:
    seat = len(led.split())
    above = [card for card in ("KH", "QH", "TH") if card not in f"{led} {hand}"]  # still against him
    table = position("schmier", trump="H", led=led, hands={seat: hand, seat - 1: above[:2]}, bidder=0)
    assert choice(table) == expected, why


@pytest.mark.parametrize(
    ("why", "led", "hand", "expected"),
    [
        ("last, takes the jack home", "8H 9H TH", "JH AH 8C", "JH"),
        ("last, gives the partner the ten", "8S AS 9S", "TS KS 9C", "TS"),
        ("last, gives an opponent nothing", "AS 8S 9S", "TS KS 7S", "7S"),
        ("trumps a ten in though it could follow", "TS 8S KS", "7S 9H JD", "9H"),
        ("gives the partner's ace the jack", "8H AH 9H", "JH 7H 8C", "JH"),
    ],
)
def test_follows_in_four_point(why: str, led: str, hand: str, expected: str) -> None:
    seat = len(led.split())
    table = position("four_point", trump="H", led=led, hands={seat: hand}, bidder=0)
    assert choice(table) == expected, why


def test_the_bidder_leads_his_ace_from_length() -> None:
    assert choice(position("schmier", trump="H", hands={0: "AH JH JD 8H 2H 9C"})) == "AH"
    assert choice(position("four_point", trump="H", hands={0: "AH JH 9H 8H KC 8C"})) == "AH"


def test_does_not_lead_low_from_the_king_when_the_ace_is_gone() -> None:
    """P2: from K 3 it leads the king, if trump at all."""
    table = position("schmier", trump="H", led="AH 4H 5H 6H 7H", hands={5: "3H KH 9H", 0: "2C 3C"}, leader=0)
    before = table.play("3H").facts(5)
    assert 51 - 13 in before.played[0]  # the ace of hearts
    alone = position("schmier", trump="H", hands={0: "KH 3H"}, bidder=0, tricks=4, seed=1)
    assert 51 - 13 not in alone.facts(0).hand
    assert choice(alone) == "KH"


def test_counts_an_opponent_who_is_void() -> None:
    """Seat 1 has shown void in trumps: nothing is above the king any more, so it holds the trick as the ace would."""
    agent = ClubAgent(FOUR_POINT)
    table = position("four_point", trump="H", led="8H 9C", hands={2: "TH 7H", 3: "9H 9S", 0: "8C"}, bidder=0)
    assert table.facts(2).voids[1] == {"H"}
    sight = np.zeros(1, SIGHT)
    see(agent, table, sight)
    assert sight[0].trump_share[3] == 0.0  # relative: seat 1 sits three to the left of seat 2
    assert sight[0].trump_share[1] > 0.0 and sight[0].voids[3] == 1 << 2


def test_knows_what_is_unseen_and_who_wins() -> None:
    table = position("schmier", trump="H", led="5S AS 2C", hands={3: "9S JD XX"}, bidder=1, card_points=[7, 0, 2])
    sight = np.zeros(1, SIGHT)
    see(ClubAgent(SCHMIER), table, sight)
    s, facts = sight[0], table.facts(3)
    seen = set(facts.hand).union(*facts.played)
    assert s.unseen == set_of(set(range(53)) - seen)
    assert (s.led, s.best, s.winner, s.after) == (3, 51, 4, 2)  # spades, the ace of spades, from seat 1
    assert s.trumps_out == sum(card not in seen for card in [*range(26, 39), 22, 52])
    assert list(s.card_points[:3]) == [7, 0, 2]
    assert s.bidder == 4 and s.bid == 3
    assert s.trump_share[1:6].sum() == pytest.approx(1.0)  # every unseen trump is in a hand (S-36)


def test_defenders_take_the_card_that_sets_the_bidder() -> None:
    """P5: the bidder needs one more; the seat behind him takes the joker, not the ten that he could take later."""
    for seat_has in ("AH TS",):
        table = position(
            "schmier", trump="H", led="XX", hands={1: seat_has}, bidder=0, bid=4,
            points={"high": 0, "low": 0, "jack": 0, "left": 1},
        )  # fmt: skip
        assert choice(table) == "AH"


# --- All answers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_plays_only_legal_actions(rules: GameRules) -> None:
    """An illegal action is an error, and so is a warning."""
    simulate(rules, ["club"], 5000 if JIT else 3, seed=2)


@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_survives_hands_that_hardly_occur(game: str) -> None:
    rules = PRESETS[game]
    agents = [ClubAgent(rules)] * rules.players
    all_trumps = "AH KH QH JH TH 9H"
    stocks = ["", "8H 7H", "AC AD AS"]
    for dealer in range(rules.players):
        for stock in stocks:
            table = deal(rules, hands={0: all_trumps}, stock=stock, dealer=dealer, episode="deal")
            play_out(table.games, agents)
            assert table.games.terminated[0] or table.games.records["deals"][0] > 0
    for tricks in range(6):
        for seed in range(20 if JIT else 2):
            last = position(rules, trump="H", hands={0: ["9H"]}, tricks=tricks, seed=seed, episode="deal")
            play_out(last.games, agents)
            assert last.games.terminated[0]


@pytest.mark.parametrize("rules", [SCHMIER, FOUR_POINT], ids=lambda rules: rules.name)
def test_same_view_same_answer_whatever_is_hidden_and_whatever_the_batch(rules: GameRules) -> None:
    games = Games(rules, 200 if JIT else 8, seed=6)
    games.reset()
    agent, other = ClubAgent(rules, seed=1), ClubAgent(rules, seed=2)
    for _ in range(40 if JIT else 10):
        views, masks = games.observations, games.action_masks
        actions = agent(views, masks)
        assert (actions == other(views[::-1], masks[::-1])[::-1]).all()
        assert actions[0] == agent.act(views[0], masks[0])
        hidden = Games(rules, games.num_games, seed=7)
        hidden.records[:] = hide_each(games.records, rules, games.seats.astype(np.int64))
        views = hidden.observe(games.seats)[0]
        assert (agent(views, masks) == actions).all()
        games.step(actions)


@pytest.mark.slow
@pytest.mark.parametrize("opponent", ["greedy", "random"])
@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_beats_the_other_scripted_players(game: str, opponent: str) -> None:
    rules = PRESETS[game]
    least = {"random": {"schmier": 4.0, "four_point": 2.0}[game], "greedy": 0.3}[opponent]
    points = simulate(rules, ["club"] + [opponent] * (rules.teams - 1), 10_000, seed=1).points[:, 0]
    assert points.mean() - 2 * points.std() / len(points) ** 0.5 > least


@pytest.mark.slow
@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_buys_most_deals_and_makes_most_bids(game: str) -> None:
    rules = PRESETS[game]
    sim = simulate(rules, ["club"], 10_000, seed=1)
    assert (~sim.scored).mean() < 0.15
    for bid, least in ((rules.min_bid, 0.65), (3, 0.65), (4, 0.5)):
        assert sim.made[sim.scored & (sim.bid == bid)].mean() >= least


@pytest.mark.jit
@pytest.mark.slow
def test_decides_fast() -> None:
    for rules in (SCHMIER, FOUR_POINT):
        agent, games = make_agent("club", rules), Games(rules, 1024, seed=1)
        games.reset()
        best = 0.0
        for _ in range(60):
            began = time.perf_counter()
            actions = agent(games.observations, games.action_masks)
            best = max(best, 1024 / (time.perf_counter() - began))
            games.step(actions)
        assert best > 300_000
