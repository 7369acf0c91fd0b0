"""Perft: all action sequences from a position, counted by the engine and by the referee.

As for chess programs: a position, a place to stop, and the number of ways from here to there. Both have to find the
number that is written here, and the same ends of the ways, each as often. Where they differ, the test shows the split
by the first action, with which the place can be found by hand.
"""

import copy
from collections import Counter
from math import comb, perm
from typing import Any

import numpy as np
import pytest
import referee
from test_referee import BITS, TEXTS, RefereesDeal, referee_options, rules_of

from smear_env import GameRules
from smear_env.actions import legal_actions
from smear_env.engine import step
from smear_env.rules import KINDS, NOBODY, PHASES, make_tables
from smear_env.testing import deal as deal_cards

pytestmark = pytest.mark.no_cover

# Scenario 24 of the rules, in which every card can be shown to have been dealt; trump D, so JH is the left bauer.
SCHMIER = {
    0: "2D 3S 5S 7H AH TS", 1: "5C 5D 6C 7D AD XX", 2: "6S 8C 8H 9H AC KD",
    3: "6H 9S JC JH JS QH", 4: "2H 4C 7S 8D KS TD", 5: "3D 3H 4D 4H 7C TC",
}  # fmt: skip
FOUR_POINT = {0: "AH QH 8S 9H TS JH", 1: "KH QC AS 9S 8C JD", 2: "7H TH 9C JS QS 8D", 3: "8H KC AC 7S KS AD"}


class Both:
    """The same deal for the engine and for the referee; the dealer is the last seat."""

    def __init__(self, case: str, hands: dict[int, str], stock: str = "", actions: str = "") -> None:
        self.rules = rules_of(case)
        dealer = self.rules.players - 1
        table = deal_cards(self.rules, hands=hands, stock=stock, dealer=dealer, episode="deal")
        self.games = table.games.records
        scores = [0] * self.rules.teams
        self.deal = RefereesDeal(referee_options(self.rules), list(table.view.deck), dealer, scores)
        for action in filter(None, actions.split(", ")):
            self.play(action)

    def play(self, action: str) -> None:
        step(self.games[0], make_tables(self.rules)[0], TEXTS.index(action))
        self.deal.play(action)

    def play_tricks(self, num_tricks: int, seed: int = 0) -> "Both":
        """Plays on, at random from a seed, until so many tricks are complete."""
        rng = np.random.default_rng(seed)
        while len(self.deal.tricks) < num_tricks:
            self.play(rng.choice(sorted(self.deal.legal())))
        return self

    def count(self, phases: str, seat: int | None = None) -> int:
        """The ways to the first moment in none of the phases, or in which it is not the seat's turn."""
        engine = leaves_of_engine(self.games, self.rules, phases.split(), seat)
        ours = leaves_of_referee(self.deal, phases.split(), seat)
        assert engine == ours, (
            f"by the first action: engine {split(engine)}, referee {split(ours)}\n{self.deal.story()}"
        )
        return engine.total()


def split(leaves: Counter) -> dict[str, int]:
    counts = Counter()
    for (first, *_), count in leaves.items():
        counts[first] += count
    return dict(sorted(counts.items()))


def leaves_of_engine(games: np.ndarray, rules: GameRules, phases: list[str], seat: int | None) -> Counter:
    """How often each end is reached, by the first action, the number of actions and what has come of them."""
    t, leaves = make_tables(rules)[0], Counter()

    def walk(games: np.ndarray, first: str, depth: int) -> None:
        if PHASES[games[0].phase] not in phases or (seat is not None and games[0].actor != seat):
            leaves[first, depth, engines_end(games[0], rules)] += 1
            return
        for action in legal_actions(games[0]):
            after = games.copy()
            step(after[0], t, action)
            walk(after, first or TEXTS[action], depth + 1)

    walk(games, "", 0)
    return leaves


def engines_end(g: np.record, rules: GameRules) -> tuple[Any, ...]:
    """The hands and whose turn it is, or the result."""
    phase = PHASES[g.phase]
    if phase != "over":
        return phase, int(g.actor), int(g.bidder), int(g.bid), tuple(g.hand[: rules.players].tolist())
    if not g.deals_scored:
        return (phase,)
    teams = slice(rules.teams)
    return phase, tuple(g.last_kinds[: len(KINDS)].tolist()), tuple(g.last_card_points[teams]), tuple(g.scores[teams])


def leaves_of_referee(deal: RefereesDeal, phases: list[str], seat: int | None) -> Counter:
    """As `leaves_of_engine`."""
    leaves = Counter()

    def walk(deal: RefereesDeal, first: str, depth: int) -> None:
        if deal.phase not in phases or (seat is not None and deal.actor != seat):
            leaves[first, depth, referees_end(deal)] += 1
            return
        for action in deal.legal():
            after = twin(deal)
            after.play(action)
            walk(after, first or action, depth + 1)

    walk(deal, "", 0)
    return leaves


def referees_end(deal: RefereesDeal) -> tuple[Any, ...]:
    """As `engines_end`."""
    if deal.phase != "over":
        hands = tuple(sum(BITS[card] for card in hand) for hand in deal.hands)
        return deal.phase, deal.actor, NOBODY if deal.bidder is None else deal.bidder, deal.bid, hands
    if deal.result == "thrown_in":
        return (deal.phase,)
    teams = [deal.points_by_kind[kind] for kind in referee.KINDS]
    kinds = tuple(NOBODY if team is None else team for team in teams)
    return deal.phase, kinds, tuple(deal.card_points), tuple(deal.scores)


def twin(deal: RefereesDeal) -> RefereesDeal:
    """A copy that can be played on by itself; much faster than a deep copy."""
    other = copy.copy(deal)
    for name, value in vars(deal).items():
        if isinstance(value, list):
            setattr(other, name, [set(item) if isinstance(item, set) else item for item in value])
        elif isinstance(value, set | dict):
            setattr(other, name, value.copy())
    return other


@pytest.mark.parametrize(
    ("case", "hands", "expected"),
    [
        ("schmier", SCHMIER, 210),
        ("schmier max_bid_ends=false", SCHMIER, 210),
        ("schmier all_pass=stick_dealer", SCHMIER, 209),
        ("schmier min_bid=5", SCHMIER, 28),
        ("schmier players=5 teams=5 low_rank=4", {}, 126),
        ("four_point", FOUR_POINT, 35),
        ("four_point max_bid_ends=false", FOUR_POINT, 35),
        ("four_point all_pass=stick_dealer", FOUR_POINT, 34),
        ("four_point widow=0 min_bid=1", FOUR_POINT, 70),
    ],
)
def test_auctions(case, hands, expected):
    """S-9 to S-12, F-5, F-6, O-3, O-4, R8: an auction is a choice of bids and as many seats, both rising.

    After the highest bid there is nothing left but to pass, so that `max_bid_ends` makes no difference to the number.
    """
    both = Both(case, hands)
    num_bids = both.rules.max_bid - both.rules.min_bid + 1
    assert expected == comb(both.rules.players + num_bids, num_bids) - (both.rules.all_pass == "stick_dealer")
    assert both.count("bid") == expected


@pytest.mark.parametrize(
    ("case", "hand", "num_throwable", "expected"),
    [
        ("schmier", "3C 3S 4C 4S 7C TC", 6, 157),
        ("schmier", "3D 3S 4C 4S 7C TC", 5, 86),
        ("schmier", "3D JH XX 4S 7C TC", 3, 16),
        ("schmier", "3D JH XX 4D 7C TC", 2, 5),
        ("schmier", "3D JH XX 4D 7D TC", 1, 2),
        ("schmier exchange_discard=up_to_1", "3C 3S 4C 4S 7C TC", 6, 7),
        ("schmier players=4 teams=4 exchange_discard=up_to_6", "3C 3S 4C 4S 7C TC", 6, 1957),
    ],
)
def test_exchange_of_a_seat(case, hand, num_throwable, expected):
    """S-14, S-15, O-16: throws in any order, ended by `done`, by the most that may go or by the last that can."""
    both = Both(case, {0: hand}, actions="bid 6, trump D")
    most = min(both.rules.max_discard, num_throwable)
    assert expected == sum(perm(num_throwable, thrown) for thrown in range(most + 1))
    assert both.count("exchange", seat=0) == expected


def test_exchange_of_all_seats():
    """S-14 to S-17: one card, two and none that may be thrown."""
    hands = {
        0: "AD KD QD JD JH TC", 1: "TD 9D 8D 7D 2C 3C", 3: "AC KC QC JC TS 9S", 2: "6D 5D 4D 3D 2D XX",
    }  # fmt: skip
    both = Both("schmier players=4 teams=4", hands, actions="bid 6, trump D")
    assert both.count("exchange") == 2 * 5 == 10


@pytest.mark.parametrize(
    ("hand", "picks", "eligible", "expected"),
    [
        ("3D 4D 5D AC KC QC + JC TC", 3, 5, 60),  # three trumps, and three of the other cards
        ("3D 4D AS AC KC QC + JC TC", 4, 6, 360),
        ("3D 4D 5D 6D 7D AC + JC TC", 1, 3, 3),
        ("3D 4D 5D 6D 7D 8D + JC TC", 0, 2, 1),  # six trumps: nothing to choose
        ("3D 4D 5D 6D 7D 8D + 9D AC", 6, 7, 5040),  # seven, none of them protected
        ("AD JD JH 3D 4D 5D + 6D 7D", 3, 5, 60),  # three protected, and three of the other five
        ("AD JD JH 2D XX KD + 9D 5D", 1, 3, 3),  # scenario 23: all five protected
    ],
)
def test_keep_of_the_dealer(hand, picks, eligible, expected):
    """S-17 to S-19, A-17, A-18: the dealer's hand and the two cards that are left when everybody throws three."""
    assert expected == perm(eligible, picks)
    hand, last = hand.split(" + ")
    rest = [card for card in referee.pack(referee.SCHMIER) if card not in f"{hand} {last}".split()]
    rest.sort(key=lambda card: card[1] == "D" or card in ("JH", "XX"))
    hands = {seat: " ".join(rest[seat:30:5]) for seat in range(5)} | {5: hand}
    both = Both("schmier", hands, " ".join(rest[30:]) + " " + last, actions="bid 6, trump D")
    for _ in range(15):
        both.play(min(both.deal.legal() - {"done"}))
    assert both.deal.phase == ("keep" if picks else "play")
    assert both.count("keep") == expected


@pytest.mark.parametrize(
    ("case", "hand", "widow", "by_suit"),
    [
        # Four hearts, so two of four other cards; two spades, so four of six; one club, five of seven.
        ("four_point", "AH QH 8S 9H TS JH", "TC 7D", {"H": (4, 2), "S": (6, 4), "C": (7, 5), "D": (7, 5)}),
        ("four_point widow=1", "AH QH 8S 9H TS JH", "TC", {"H": (3, 2), "S": (5, 4), "C": (6, 5)}),
        pytest.param(  # seven hearts: six of them
            *("four_point", "AH QH 8H 9H TH JH", "7H 7D", {"H": (7, 6), "D": (7, 5)}), marks=pytest.mark.slow
        ),
        ("four_point", "AH QH 8H 9H TH JH", "7C 7D", {"H": (2, 0), "C": (7, 5), "D": (7, 5)}),  # six: no choice
        ("four_point widow=1", "AH QH 8H 9H TH JH", "7H", {"H": (7, 6)}),  # one suit: no commitment to ask for
    ],
)
def test_commitment_and_keep(case, hand, widow, by_suit):
    """F-7 to F-11, B-3, B-8: the ways from the widow to the first lead."""
    both = Both(case, {0: hand}, widow, actions="bid 4")
    expected = {f"trump {suit}": perm(eligible, picks) for suit, (eligible, picks) in by_suit.items()}
    assert both.count("trump keep") == sum(expected.values())
    if len(by_suit) > 1:
        leaves = leaves_of_engine(both.games, both.rules, ["trump", "keep"], None)
        assert split(leaves) == dict(sorted(expected.items()))
    else:
        assert both.deal.phase == "keep"


SCHMIER_TO_THE_LEAD = (
    "pass, bid 4, pass, pass, pass, pass, trump D, 3S, 5S, 7H, 5C, 6C, 6S, 8C, 8H, 6H, 9S, JC, 2H, 4C, 7S"
)
SCHMIER_STOCK = "KH TH QS 8S 9D 2S JD QD AS KC 6D 4S 2C 9C QC 3C 5H"


@pytest.mark.parametrize(
    ("case", "num_tricks", "seed", "expected"),
    [
        ("schmier", 3, 5, 3360),
        ("schmier", 4, 0, 48),
        ("schmier", 4, 4, 34),
        ("schmier", 5, 0, 1),
        ("schmier follow=follow_or_trump", 4, 1, 36),
        ("schmier high=in_play low=in_play teams=2", 3, 2, 816),
        ("four_point widow=0", 3, 1, 196),
        ("four_point widow=0", 2, 0, 3712),
        ("four_point", 3, 0, 552),
        ("four_point", 2, 6, 2568),
        ("four_point follow=strict", 2, 5, 3104),
        ("four_point low=in_play high=in_play", 3, 3, 76),
    ],
)
@pytest.mark.slow
def test_last_tricks(case, num_tricks, seed, expected):
    """S-20 to S-31, F-12 to F-22: every way to play the last tricks of two full hands, to the score of the deal."""
    if case.startswith("schmier"):
        both = Both(case, SCHMIER, SCHMIER_STOCK, SCHMIER_TO_THE_LEAD)
    else:
        both = Both(case, FOUR_POINT, "TC 7D 7C", "bid 4")
    assert both.play_tricks(num_tricks, seed).count("play") == expected
