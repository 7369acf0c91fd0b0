"""What a seat knows, and full deals that agree with it."""

import itertools
from collections import Counter

import numpy as np
import pytest

from smear_env import PRESETS, GameRules, Games, make_rules
from smear_env._jit import JIT
from smear_env.cards import SUITS, cards_in, set_of, set_text
from smear_env.observe import knows_trump
from smear_env.resample import choose_commitment, hide, hide_each, resample
from smear_env.rules import NOBODY
from smear_env.state import FIELDS, view
from smear_env.testing import deal, midplay, position

VARIANTS = [*PRESETS.values(), make_rules("four_point", widow=0), make_rules("four_point", widow=3)]


def played_on(rules: GameRules, steps: int, seed: int, n: int = 12) -> Games:
    games = Games(rules, n, seed=seed)
    games.reset()
    for _ in range(steps):
        games.step(games.sample())
    return games


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_a_resampled_deal_looks_the_same_to_its_seat_and_can_be_played(rules: GameRules) -> None:
    other = Games(rules, 1, seed=0, autoreset=False)
    for steps in range(0, 66, 2 if JIT else 22):
        games = played_on(rules, steps, seed=steps, n=6 if JIT else 2)
        for i in range(games.num_games):
            seat = (steps + i) % rules.players
            full = resample(hide(games.records, i, rules, seat), rules, seat, seed=steps)
            other.records[:] = full
            other.refresh()
            seats = np.full(games.num_games, seat)
            views, masks = games.observe(seats)
            resampled_view, resampled_mask = other.observe(seats[:1])
            assert (views[i] == resampled_view[0]).all() and (masks[i] == resampled_mask[0]).all()
            found = view(full, 0, rules)
            cards = [card for pile in (*found.hands, *found.discards, found.plays, found.stock) for card in pile]
            assert sorted(cards) == sorted(found.deck) and len(set(cards)) == rules.deck_size
            for _ in range(80):
                if other.seats[0] == NOBODY or other.records["deals"][0] > found.deals:
                    break
                other.step(other.sample())


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_a_resampled_deck_could_have_been_dealt(rules: GameRules) -> None:
    """The same cards come out when the deck is dealt and the same things are done."""
    games = played_on(rules, 40, seed=3, n=8 if JIT else 2)
    for i in range(games.num_games):
        full = resample(hide(games.records, i, rules, 1), rules, 1, seed=i)
        found = view(full, 0, rules)
        dealt = deal(rules, deck=found.deck, dealer=found.dealer).view.hands
        for seat in range(rules.players):
            ever = found.hands[seat] | found.discards[seat] | set(found.plays)
            assert dealt[seat] <= ever


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_hiding_leaves_nothing_that_the_seat_has_not_seen(rules: GameRules) -> None:
    """Each field says who may see it; two games that differ in what is hidden alone are hidden alike."""
    for steps in range(0, 60, 5 if JIT else 20):
        games = played_on(rules, steps, seed=steps)
        g = games.records[0]
        for seat in range(rules.players):
            hidden = hide(games.records, 0, rules, seat)[0]
            for field in FIELDS:
                if field.sight == "public":
                    assert (hidden[field.name] == g[field.name]).all(), field.name
                elif field.sight == "owner":
                    assert hidden[field.name][seat] == g[field.name][seat]
                    assert not np.delete(hidden[field.name], seat).any()
            assert hidden.rng == 0
            assert hidden.trump == (g.trump if knows_trump(g, seat) else NOBODY)
            seen = set(cards_in(int(g.hand[seat]) | int(g.played[seat]) | int(g.discards[seat])))
            assert {int(card) for card in hidden.deck if card != NOBODY} <= seen
            again = hide(resample(hidden.reshape(1), rules, seat, seed=7), 0, rules, seat)[0]
            for name in ("hand", "discards", "deck", "legal_cards", "legal_calls", "trump", "widow"):
                assert (again[name] == hidden[name]).all(), name


SCHMIER_TO_KEEP = ["bid 6", "trump H", "done", "done", "done", "done", "done"]
MIDDLES = [
    ("schmier", []),
    ("schmier", ["bid 6"]),
    ("schmier", ["bid 6", "trump H", "3C"]),
    ("schmier", ["bid 6", "trump H", "3C", "done"]),
    ("schmier", SCHMIER_TO_KEEP),
    ("four_point", ["bid 4"]),
    ("four_point", ["bid 4", "trump H"]),
    ("four_point", ["bid 4", "trump H", "KC"]),
]


@pytest.mark.parametrize("to_the_lead", [False, True], ids=["middle", "lead"])
@pytest.mark.parametrize(("game", "actions"), MIDDLES)
def test_every_phase_is_filled_in_for_every_seat(game: str, actions: list[str], to_the_lead: bool) -> None:
    """Also with the commitment, the throw or the keeping of another seat under way."""
    rules = PRESETS[game]
    hands = {0: "AH KH 7H 9C KC TD", 1: "8S 7S 9S TS JS AC"} if game == "four_point" else {0: "AH KH 3C 9C TD 9D"}
    table = deal(rules, hands=hands, dealer=rules.players - 1, actions=actions)
    while to_the_lead and table.view.phase != "play":
        table.play(sorted(table.legal())[0])
    for seat in range(rules.players):
        before = table.observation(seat)
        hidden = hide(table.games.records, 0, rules, seat)
        for seed in range(12 if JIT else 3):
            other = Games(rules, 1, seed=0, autoreset=False)
            other.records[:] = resample(hidden, rules, seat, seed)
            other.refresh()
            assert (other.observe(np.array([seat]))[0][0] == before).all()
            g = other.records[0]
            if rules.widow and table.view.phase == "play":
                trumps = other.tables[0].suit_cards[g.trump, g.trump]
                assert g.hand[0] & trumps
                assert not g.discards[0] & trumps or not g.hand[0] & ~trumps
            while other.records["deals"][0] == 1:
                other.step(other.sample())


def test_no_seat_gets_a_card_of_a_suit_it_is_void_in() -> None:
    rules = PRESETS["schmier"]
    games = played_on(rules, 52, seed=8, n=40 if JIT else 3)
    tables = games.tables[0]
    shown = 0
    for i in range(games.num_games):
        full = resample(hide(games.records, i, rules, 0), rules, 0, seed=i)[0]
        for seat in range(1, rules.players):
            for suit in range(4):
                if full.voids[seat] >> suit & 1:
                    shown += 1
                    assert not full.hand[seat] & tables.suit_cards[full.trump, suit]
    assert shown > 0


@pytest.mark.slow
def test_unseen_cards_are_equally_likely_everywhere() -> None:
    """Before the first bid nothing is known but one's own hand: every other place is as likely as its size."""
    rules = PRESETS["four_point"]
    games = Games(rules, 1, seed=5)
    games.reset()
    hidden = hide(games.records, 0, rules, 0)
    n = 4000
    unseen = [int(card) for card in games.tables[0].deck[:32] if not games.records[0].hand[0] >> card & 1]
    counts = np.zeros((len(unseen), 3))
    for seed in range(n):
        full = resample(hidden, rules, 0, seed)[0]
        for seat in range(1, 4):
            counts[:, seat - 1] += [int(full.hand[seat]) >> card & 1 for card in unseen]
    expected = n * 6 / len(unseen)
    deviations = (counts - expected) / np.sqrt(expected * (1 - 6 / len(unseen)))
    assert np.abs(deviations).max() < 4.5


@pytest.mark.jit
def test_deals_are_equally_likely_where_voids_let_cards_change_places_only_in_a_ring() -> None:
    """Dealer 5 has seen all cards but the last of each other seat, and knows two suits or more that each lacks."""
    hands = {0: "4C", 1: "KS", 2: "5S", 3: "AD", 4: "TS", 5: "5H"}
    table = position("schmier", trump="H", hands=hands, dealer=5, leader=5)
    hidden = hide(table.games.records, 0, table.rules, 5)
    lacks = ["D", "DH", "DH", "HS", "CH"]
    hidden[0].voids[:5] = [sum(1 << SUITS.index(suit) for suit in suits) for suits in lacks]
    possible = [
        cards
        for cards in itertools.permutations(hands[seat] for seat in range(5))
        if all(card[1] not in suits for card, suits in zip(cards, lacks, strict=True))
    ]
    n = 4000
    found = Counter(
        tuple(set_text(int(hand)) for hand in resample(hidden, table.rules, 5, seed)[0].hand[:5]) for seed in range(n)
    )
    assert len(possible) == 24 and found.keys() <= set(possible)
    expected = n / len(possible)
    chi_square = sum((found[cards] - expected) ** 2 / expected for cards in possible)
    assert chi_square < 55  # 23 degrees of freedom: by chance once in 5,000 times


def test_a_commitment_that_is_guessed_leaves_no_protected_trump_discarded() -> None:
    """F-9, O-16: whoever holds nothing but trumps has discarded others first, never the ace or the low."""
    rules = make_rules("four_point", widow=3, protected=("ace", "low"))
    games = position(rules, hands={0: "KH QH JH TH 9H 8H"}).games
    g = games.records[0]
    g.discards[0] = set_of("AH 7C 7D".split())
    choose_commitment(g, games.tables[0], 2)
    assert g.trump == SUITS.index("H")
    assert g.hand[0] | g.discards[0] == set_of("AH KH QH JH TH 9H 8H 7C 7D".split())
    assert g.hand[0] & set_of("AH".split())


def test_protected_trumps_are_not_among_the_discards_of_a_widow() -> None:
    """F-10 with O-16: a bidder who has shown trumps only may have discarded trumps, but never the ace."""
    rules = make_rules("four_point", widow=3, protected=("ace", "low"))
    tricks = ["KH 9C 9D 9S", "QH TC TD TS", "JH QC QD QS", "TH KC KD KS", "9H AC AD AS"]
    table = midplay(rules, trump="H", tricks=tricks, hands={0: "8H"}, discards={0: "7C 8C 7D"}, dealer=3)
    hidden = hide(table.games.records, 0, rules, 2)
    ace, seven = 38, 31
    found = [int(resample(hidden, rules, 2, seed)[0].discards[0]) for seed in range(60)]
    assert not any(discards >> ace & 1 or discards >> seven & 1 for discards in found)


def test_a_record_that_does_not_come_from_hiding_is_refused() -> None:
    rules = PRESETS["schmier"]
    games = played_on(rules, 54, seed=8)
    hidden = hide(games.records, 0, rules, 0)
    hidden[0].voids[:] = 15
    with pytest.raises(ValueError, match="must come from hide"):
        resample(hidden, rules, 0, seed=1)


def test_hiding_many_games_is_hiding_each() -> None:
    games = Games("schmier", 64, seed=3)
    games.reset()
    for _ in range(90):
        games.step(games.sample())
    seats = np.arange(64) % 6
    together = hide_each(games.records, games.rules, seats)
    for i, seat in enumerate(seats):
        assert together[i] == hide(games.records, i, games.rules, int(seat))[0]
