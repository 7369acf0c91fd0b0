"""Both games: each clause of RULES.md has a test, each pair of cards a winner, each illegal action a reason."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from scenes import LEFT, dealer_takes, named, trump_order

import smear_env
from smear_env import Games, IllegalActionError, make_rules
from smear_env._jit import JIT
from smear_env.actions import action_from_text
from smear_env.cards import SUITS, card_from_text
from smear_env.testing import deal, pack, position

# --- Clauses -----------------------------------------------------------------------------------------------------


def clauses() -> set[str]:
    """The numbers of RULES.md as names of tests write them: `S-7` is `s07`."""
    text = (Path(smear_env.__file__).parent / "RULES.md").read_text(encoding="utf-8")
    return {f"{letter.lower()}{int(number):02}" for letter, number in re.findall(r"\*\*([SFO])-(\d+)\*\*", text)}


def clauses_of_tests() -> dict[str, str]:
    """The clauses that names of tests begin with, as in `test_s09_s10_...`, and one test for each."""
    found = {}
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                begin = re.match(r"test((?:_[sfo]\d\d)+)_", node.name)
                for clause in begin[1].split("_")[1:] if begin else []:
                    found[clause] = f"{path.name}::{node.name}"
    return found


def test_every_clause_has_a_test():
    assert len(clauses()) >= 78
    assert sorted(clauses() - set(clauses_of_tests())) == []


def test_every_clause_that_a_test_names_is_there():
    tested = clauses_of_tests()
    assert [tested[clause] for clause in sorted(set(tested) - clauses())] == []


# --- Every trick of two cards ------------------------------------------------------------------------------------


def second_wins(game: str, trump: str, led: str, second: str) -> bool:
    """Whether the second of two cards takes the trick: the reference, from S-5 to S-8, S-23, F-2 and F-17."""
    trumps = trump_order(trump) if game == "schmier" else [rank + trump for rank in "AKQJT987"]
    if led in trumps and second in trumps:
        return trumps.index(second) < trumps.index(led)
    if led in trumps or second in trumps:
        return second in trumps
    return led[1] == second[1] and "AKQJT98765432".index(second[0]) < "AKQJT98765432".index(led[0])


@pytest.mark.parametrize("trump", SUITS)
@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_every_card_on_every_card(game, trump):
    """R5 (shengji 264: wrong winner after an overtrump): each second card on each card led.

    Two players sit at the table, so that a trick is a pair, and hold one card each, so that any card may be played.
    Un-jitted each card is led in one suit of trumps only.
    """
    rules = make_rules(game, players=2, teams=2)
    for led in pack(game) if JIT else pack(game)[SUITS.index(trump) :: 4]:
        seconds = [card for card in pack(game) if card != led]
        numbers = [card_from_text(card) for card in seconds]
        table = position(rules, trump=trump, led=led, hands={1: seconds[0]})
        games = Games(rules, len(seconds), seed=1, episode="deal", autoreset=False)
        games.records[:] = table.games.records
        games.records["hand"][:, 1] = games.records["legal_cards"] = 1 << np.array(numbers)
        games.step(numbers)
        winners = games.records["last_trick_winner"].tolist()
        assert winners == [int(second_wins(game, trump, led, second)) for second in seconds], led


# --- Ledger ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_the_changes_of_score_sum_to_the_scores_and_the_rewards_follow_them(game):
    """R15 (play_smear b7f7354: a set was not in the list of changes): the ledger and the scoreboard agree."""
    table = deal(game, seed=5, target=500)
    teams = table.rules.teams
    ledger, paid = np.zeros(teams, int), np.zeros(table.rules.players)
    while table.view.deals_scored < 12:
        before = table.view
        rewards, _, _ = table.games.step(table.games.sample())
        paid += rewards[0]
        after = table.view
        if after.deals_scored > before.deals_scored:
            ledger += after.last_delta
            assert after.scores == tuple(ledger)
        else:
            assert after.scores == before.scores and not rewards.any()
    assert min(ledger) < 0
    for seat in range(table.rules.players):
        own = ledger[seat % teams]
        assert paid[seat] == pytest.approx(own - (sum(ledger) - own) / (teams - 1), abs=1e-4)
        assert table.facts(seat).scores == tuple(ledger)


@pytest.mark.parametrize("score", [-30, -6, -1, 0, 20, 30, -200])
def test_negative_scores_are_seen_as_they_are(score):
    """R15: the observation neither clips nor wraps a score."""
    table = deal("schmier", scores=[score, 0, score])
    assert [table.facts(seat).scores for seat in range(6)] == [(score, 0, score)] * 6


# --- The last card -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "scores", "winner", "points"),
    [
        ("2C", (21, 5, 20), 0, (3, -1.5, -1.5)),  # high, low and game: the bid of 3 is made
        ("TH", (15, 5, 21), 2, (-3.5, 1, 2.5)),  # game goes to team 2: the bid is not made
    ],
)
def test_the_last_card_decides_the_bid_and_the_game(last, scores, winner, points):
    """A4 (muzero-general 37: a win on the last move scored as a draw, "no legal action" being looked for first)."""
    for reward in ("points", "win"):
        table = position(
            "schmier", trump="H", led="9H 3C 4C 5C 6C", hands={5: last}, bid=3, scores=(18, 5, 20),
            points={"high": 0, "low": 0}, card_points=(1, 0, 0),
        )  # fmt: skip
        games = Games("schmier", 1, seed=1, reward=reward, autoreset=False)
        games.records[:] = table.games.records
        rewards, terminated, truncated = games.step([card_from_text(last)])
        view = table.play(last).view
        assert view.scores == scores and view.winners == {winner}
        assert terminated[0] and not truncated[0] and not games.action_masks.any()
        by_team = points if reward == "points" else [1 if team == winner else -0.5 for team in range(3)]
        assert rewards[0] == pytest.approx([by_team[seat % 3] for seat in range(6)])


# --- Illegal actions ---------------------------------------------------------------------------------------------


def playing(game="schmier", **more):
    return lambda: position(game, trump="H", **more)


def bidding(*actions, game="schmier", **more):
    return lambda: deal(game, dealer=5 if game == "schmier" else 3, actions=actions, **more)


STUCK = "everybody before the dealer has passed, so the dealer has to bid"
NINE = "AH KH QH JH TH 9H 8H 7S 7D"
EIGHT = {"hands": {0: "AH KH 9H 7S 8S TC"}, "stock": "QD JD", "game": "four_point"}
SEVEN_TRUMPS = {"hands": {0: NINE.split()[:6]}, "stock": NINE.split()[6:], "game": "four_point", "widow": 3}
ILLEGAL = [
    # what may not be bid
    (bidding("bid 4"), "bid 4", 1, "the bid stands at 4 and has to be raised"),
    (bidding("bid 4"), "bid 3", 1, "the bid stands at 4 and has to be raised"),
    (bidding(), "bid 7", 0, "bids are 3..6"),
    (bidding(), "bid 2", 0, "bids are 3..6"),
    (bidding(game="four_point"), "bid 5", 0, "bids are 2..4"),
    (bidding(*["pass"] * 5, all_pass="stick_dealer"), "pass", 5, STUCK),
    (bidding(), "trump H", 0, "a bid or a pass is asked for"),
    (bidding(), "done", 0, "a bid or a pass is asked for"),
    (bidding(), "AS", 0, "a card is no bid"),
    # nor named
    (bidding("bid 6"), "pass", 0, "a trump suit is asked for"),
    (bidding("bid 6"), "AS", 0, "a card is no trump suit"),
    (bidding("bid 4", **SEVEN_TRUMPS), "trump C", 0, "the bidder holds no card of clubs to lead"),
    # nor thrown
    (lambda: named(hands={0: "AH JD XX 9S 4C 4D"}), "AH", 0, "trumps may not be thrown"),
    (
        lambda: named(hands={0: "AH JD XX 9S 4C 4D"}), "JD", 0,
        "trumps may not be thrown; the left bauer JD counts as a heart",
    ),
    (
        lambda: named("C", hands={0: "AH JS XX 9S 4C 4D"}), "XX", 0,
        "trumps may not be thrown; the joker XX counts as a club",
    ),
    (lambda: named(hands={0: "AH JD XX 9S 4C 4D"}), "AC", 0, "AC is not in the hand"),
    (lambda: named(hands={0: "AH JD XX 9S 4C 4D"}), "pass", 0, "a card to throw, or done is asked for"),
    # nor kept
    (lambda: dealer_takes("AH 9H 5H XX TS AS 4C 4D 9D QC 2C"), "AH", 5, "AH is kept already"),
    (lambda: dealer_takes("AH 9H 5H XX TS AS 4C 4D 9D QC 2C").play("TS"), "TS", 5, "TS is kept already"),
    (lambda: dealer_takes("AH 9H 5H XX TS AS 4C 4D 9D QC 2C"), "done", 5, "a card is asked for"),
    (lambda: dealer_takes("AH JH JD 2H XX KH 9H 5H 3S 4S"), "3S", 5, "with more than 6 trumps every other card goes"),
    (bidding("bid 4", "trump H", **SEVEN_TRUMPS), "7S", 0, "with more than 6 trumps every other card goes"),
    # nor played
    (playing(led="JD", hands={1: "2H AD KD 9S"}), "AD", 1, "must follow hearts; the left bauer JD counts as a heart"),
    (playing(led="2H", hands={1: "JD AD KD 9S"}), "9S", 1, "must follow hearts; the left bauer JD counts as a heart"),
    (playing(led="AD", hands={1: "JD 4D 9C"}), "JD", 1, "must follow diamonds; the left bauer JD counts as a heart"),
    (playing(led="XX", hands={1: "KH 4D 9C"}), "4D", 1, "must follow hearts; the joker XX counts as a heart"),
    (playing(led="QH", hands={1: "XX AS TS"}), "AS", 1, "must follow hearts; the joker XX counts as a heart"),
    (playing(led="KS", hands={1: "3S AH XX"}), "XX", 1, "must follow spades; the joker XX counts as a heart"),
    (playing(led="KS", hands={1: "3S AH XX"}), "AH", 1, "must follow spades"),
    (playing(led="KS", hands={1: "3S AH XX"}), "2C", 1, "2C is not in the hand"),
    (playing(led="KS", hands={1: "3S AH XX"}), "pass", 1, "a card is asked for"),
    (playing("four_point", led="KS", hands={1: "8S AH QD"}), "QD", 1, "must follow spades or play a trump"),
    (playing("four_point", led="TH", hands={1: "7H AS"}), "AS", 1, "must follow hearts"),
    (
        bidding("bid 4", "trump H", "7S", "8S", "TC", **EIGHT), "7S", 0,
        "the bidder has committed himself to lead hearts",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("set_up", "action", "seat", "reason"), ILLEGAL, ids=[f"{row[1]}: {row[3]}" for row in ILLEGAL]
)
def test_an_illegal_action_is_told_why_and_changes_nothing(set_up, action, seat, reason):
    table = set_up()
    games, legal = table.games, table.legal()
    before = [part.tobytes() for part in (games.records, games.observations, games.action_masks, games.seats)]
    with pytest.raises(IllegalActionError) as caught:
        table.play(action)
    error, text = caught.value, str(caught.value)
    assert text.startswith(f"seat {seat} cannot do {action} ") and f": {reason}; legal: " in text
    assert {told.strip() for told in text.split("legal: ")[1].split(" (actions")[0].split(",")} == legal
    assert (error.seat, error.action) == (seat, action_from_text(action))
    assert error.legal == sorted(map(action_from_text, legal))
    assert before == [part.tobytes() for part in (games.records, games.observations, games.action_masks, games.seats)]
    table.play(min(legal))


@pytest.mark.parametrize("trump", SUITS)
def test_the_left_bauer_is_explained_in_every_suit(trump):
    left, name = LEFT[trump], {"C": "club", "D": "diamond", "H": "heart", "S": "spade"}[trump]
    plain = next(suit for suit in SUITS if suit not in (trump, left[1]))
    table = position("schmier", trump=trump, led=left, hands={1: f"2{trump} 3{plain}"})
    with pytest.raises(IllegalActionError, match=f"must follow {name}s; the left bauer {left} counts as a {name}"):
        table.play(f"3{plain}")


def test_the_actions_before_an_illegal_one_have_been_done():
    table = deal("schmier", dealer=5)
    with pytest.raises(IllegalActionError, match="seat 2 cannot do bid 3"):
        table.play("pass", "bid 3", "bid 3")
    assert table.view.bids == (0, 3, None, None, None, None) and table.view.actor == 2
