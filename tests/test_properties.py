"""What must hold in any play, whatever the cards: over many random deals, looked at all at once."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from play import RULES

from smear_env import GameRules, Games, IllegalActionError, make_rules
from smear_env._jit import JIT
from smear_env.actions import BID_1, NUM_ACTIONS, PASS, TRUMP_CLUBS, legal_actions
from smear_env.cards import NUM_CARDS
from smear_env.rules import BID, EXCHANGE, GAME, HIGH, JACK, KEEP, LOW, NOBODY, OVER, PLAY, TRUMP, make_tables

pytestmark = pytest.mark.no_cover

CARDS = np.arange(NUM_CARDS)
POINTS = np.array([{8: 10, 9: 1, 10: 2, 11: 3, 12: 4}.get(card % 13, 0) for card in range(52)] + [1, 0])  # S-28
JOKER = 52

Policy = Callable[[Games, np.ndarray, np.random.Generator], np.ndarray]


def scaled(num_deals: int) -> int:
    """So many deals; a few when un-jitted."""
    return num_deals if JIT else max(20, num_deals // 200)


def low_bids(games: Games, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each seat that could opens the auction half of the time, with the lowest bid; then everybody passes."""
    opens = (games.records["bid"] == 0) & (rng.random(actions.size) < 0.5)
    calls = np.where(opens, BID_1 - 1 + games.rules.min_bid, PASS)
    return np.where(games.records["phase"] == BID, calls, actions)


def longest_suit(games: Games, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The bidder commits himself to his longest suit or, without a widow, leads from it."""
    g, n = games.records, actions.size
    cards = cards_of(g["hand"][np.arange(n), g["bidder"]])[:, :52].reshape(n, 4, 13)
    suit = (cards.sum(axis=2) + rng.random((n, 4)) / 2).argmax(axis=1)
    card = 13 * suit + cards[np.arange(n), suit].argmax(axis=1)
    leads = (g["phase"] == PLAY) & (g["trump"] == NOBODY)
    return np.where(g["phase"] == TRUMP, TRUMP_CLUBS + suit, np.where(leads, card, actions))


def decisions(games: Games, policy: Policy | None = None, num_steps: int = 10**6) -> Iterator[np.ndarray]:
    """Steps the games by random actions, a policy's where there is one, until all are over.

    Yields which games are at a decision, before each step; all else is to be read in `games`.
    """
    rng = np.random.default_rng(0)
    for _ in range(num_steps):
        at_decision = games.records["phase"] != OVER
        if not at_decision.any():
            return
        yield at_decision
        actions = games.sample()
        games.step(actions if policy is None else policy(games, actions, rng))


def play_deals(rules: GameRules, num_deals: int, seed: int, policy: Policy | None = None) -> np.ndarray:
    """The records of so many deals at their end, of those that were scored."""
    games = Games(rules, scaled(num_deals), seed, episode="deal", autoreset=False)
    games.reset()
    for _ in decisions(games, policy):
        pass
    return games.records[games.records["deals_scored"] == 1]


def cards_of(words: np.ndarray) -> np.ndarray:
    """The sets as rows of 54 booleans, shape (..., 54)."""
    return (words[..., None] >> CARDS & 1).astype(bool)


def trumps_of(trump: np.ndarray, rules: GameRules) -> np.ndarray:
    """Which cards are trumps (S-5 to S-7, F-2), (N, 54); without the trump suit's number in the tables."""
    trumps = trump[:, None] == CARDS // 13
    trumps[:, JOKER:] = False
    if rules.jokers:
        trumps[:, JOKER] = True
    if rules.left_bower:
        trumps[np.arange(trump.size), 13 * (3 - trump) + 9] = True  # the jack of the other suit of the colour
    return trumps


def of_seat(words: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """The cards of one seat of each game, (N, 54)."""
    return cards_of(words[np.arange(seats.size), seats])


# --- What a deal is worth -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [None, low_bids])
def test_schmier_deals(policy):
    """S-14 to S-19, S-24 to S-37: what every deal of Schmier has in common."""
    rules = make_rules("schmier")
    g = play_deals(rules, 10_000, 1, policy)
    rows, dealer = np.arange(g.size), g["dealer"].astype(int)
    trump = g["last_trump"].astype(int)
    trumps = trumps_of(trump, rules)
    played, thrown = cards_of(g["played"]), cards_of(g["discards"])

    # Five points always, the sixth unless game is tied (S-36).
    worth = g["last_points"].sum(axis=1)
    is_tied = g["last_kinds"][:, GAME] == NOBODY
    assert (g["last_kinds"][:, :GAME] != NOBODY).all()
    assert (worth == np.where(is_tied, 5, 6)).all()
    best, second = np.sort(g["last_card_points"][:, :3], axis=1).T[:0:-1]
    assert (is_tied == (best == second)).all()
    assert not JIT or 0.01 < is_tied.mean() < 0.03
    team = g["last_bidder"].astype(int) % 3
    tied_at_six = is_tied & (g["last_bid"] == 6)
    assert (g["last_delta"][tied_at_six, team[tied_at_six]] == -6).all()
    assert not JIT or policy or tied_at_six.sum() > 10
    for cards in (13 * trump + 12, 13 * trump + 9, 13 * (3 - trump) + 9, 13 * trump, np.full(g.size, JOKER)):
        assert played.any(axis=1)[rows, cards].all()

    # 81 card points in the tricks and in what was thrown or discarded (S-37).
    assert (g["last_card_points"].sum(axis=1) + thrown.any(axis=1) @ POINTS == 81).all()
    assert (played.any(axis=1) @ POINTS == g["last_card_points"].sum(axis=1)).all()

    # The exchange: no trump goes (S-15), at most three cards, and as many come (S-14).
    is_dealer = np.arange(6) == dealer[:, None]
    assert not (thrown & trumps[:, None])[~is_dealer].any()
    assert (thrown.sum(axis=2)[~is_dealer] == g["draws"][~is_dealer]).all()
    assert g["draws"][~is_dealer].max() <= 3
    assert (g["draws"][is_dealer] == NOBODY).all()

    # The dealer takes 2 to 17 cards, discards as many, and plays with min(T, 6) trumps (S-17, S-18, S-37).
    assert (thrown.sum(axis=2)[is_dealer] == 17 - np.where(is_dealer, 0, g["draws"]).sum(axis=1)).all()
    kept, gone = played[is_dealer] & trumps, thrown[is_dealer] & trumps
    num_trumps = kept.sum(axis=1) + gone.sum(axis=1)
    assert (kept.sum(axis=1) == np.minimum(num_trumps, 6)).all()
    assert not JIT or 0.03 < (num_trumps > 6).mean() < 0.07  # C-4: about 5% when each step is uniform


@pytest.mark.parametrize("widow", range(4))
def test_four_point_deals(widow):
    """F-7 to F-11, F-18 to F-22: what every deal of Four Point has in common."""
    rules = make_rules("four_point", widow=widow)
    g = play_deals(rules, 10_000, 2)
    trump, rows, bidder = g["last_trump"].astype(int), np.arange(g.size), g["last_bidder"].astype(int)
    played, thrown = cards_of(g["played"]).any(axis=1), cards_of(g["discards"]).any(axis=1)
    worth = g["last_points"].sum(axis=1)
    assert worth.max() <= 4
    assert not JIT or set(worth) >= {1, 2, 3, 4}
    for kind, rank in ((HIGH, 12), (LOW, 5), (JACK, 9)):
        assert ((g["last_kinds"][:, kind] != NOBODY) == played[rows, 13 * trump + rank]).all()

    # Tricks, the bidder's discards and the cards not seen: 80 card points; the last count for nobody (F-7, F-11).
    unseen = (g["deck"][:, 24 + widow : 32].astype(int)[:, :, None] == CARDS).any(axis=1)
    assert (played.astype(int) + thrown + unseen).sum() == 32 * g.size
    assert ((g["last_card_points"].sum(axis=1) + unseen @ POINTS) == 80).all()
    assert (g["card_points"].sum(axis=1) == played @ POINTS).all()
    assert (g["last_card_points"] - g["card_points"]).sum() == (thrown @ POINTS).sum()
    assert (thrown == of_seat(g["discards"], bidder)).all()
    assert (thrown.sum(axis=1) == widow).all()

    # Trumps are discarded only beyond six (F-9, F-10).
    trumps = trumps_of(trump, rules)
    gone, kept = (thrown & trumps).sum(axis=1), (of_seat(g["played"], bidder) & trumps).sum(axis=1)
    assert (kept == np.minimum(gone + kept, 6)).all()


@pytest.mark.parametrize(
    ("widow", "policy", "percent"),
    [
        (0, longest_suit, 20.4), (1, longest_suit, 17.5), (2, longest_suit, 14.6), (3, longest_suit, 12.0),
        (0, None, 22.5), (1, None, 20.8), (2, None, 18.2), (3, None, 15.2),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_how_often_a_point_is_missing(widow, policy, percent):
    """F-18 to F-20: the share of deals without ace, seven, jack of trumps, computed beforehand; to 4.5 deviations."""
    g = play_deals(make_rules("four_point", widow=widow), 20_000, 3, policy)
    expected = percent / 100
    tolerance = 4.5 * np.sqrt(expected * (1 - expected) / g.size) + 0.0005
    for kind in (HIGH, LOW, JACK):
        assert abs((g["last_kinds"][:, kind] == NOBODY).mean() - expected) < tolerance, kind


@pytest.mark.parametrize(
    ("game", "policy", "mean", "least", "most"),
    [
        ("schmier", None, 54, 38, 64), ("schmier", low_bids, 57, 43, 64), ("four_point widow=0", None, 26.5, 25, 28),
        ("four_point", None, 31.5, 26, 35), ("four_point", low_bids, 32.5, 26, 35),
    ],
)  # fmt: skip
def test_decisions_per_deal(game, policy, mean, least, most):
    """C-1, C-2: how long a deal can take, and takes on the average."""
    games = Games(RULES[game], scaled(4000), seed=4, episode="deal", autoreset=False)
    games.reset()
    num_decisions = sum(at_decision.astype(int) for at_decision in decisions(games, policy))
    num_decisions = num_decisions[games.records["deals_scored"] == 1]
    assert num_decisions.min() >= least
    assert num_decisions.max() <= most
    assert abs(num_decisions.mean() - mean) < (0.5 if JIT else 2)


@pytest.mark.slow
@pytest.mark.parametrize(("game", "least", "most"), [("schmier", 11, 12), ("four_point", 8, 10)])
def test_deals_per_game(game, least, most):
    """S-33, F-23: the mean number of deals in a game, with the lowest bid half the time."""
    games = Games(game, 2000, seed=5, autoreset=False, max_deals=1000)
    games.reset()
    for _ in decisions(games, low_bids):
        pass
    assert games.terminated.all()
    assert least < games.records["deals_scored"].mean() < most


# --- At every step ------------------------------------------------------------------------------------------------


def check_cards(g: np.ndarray, rules: GameRules) -> None:
    """Each card of the pack is in one place, and every hand has the size that the phase asks for (R6)."""
    players, phase, actor = rules.players, g["phase"], g["actor"].astype(int)
    hand, thrown, played = (cards_of(g[name][:, :players]) for name in ("hand", "discards", "played"))
    place = np.arange(NUM_CARDS)
    is_stock = (place >= g["next_card"][:, None]) & (place < rules.deck_size)
    stock = ((g["deck"][:, :, None] == CARDS) & is_stock[:, :, None]).any(axis=1)
    pack = np.isin(CARDS, make_tables(rules)["deck"][0][: rules.deck_size])
    places = hand.sum(axis=1) + thrown.sum(axis=1) + played.sum(axis=1) + stock
    assert (places == pack).all()
    laid = np.arange(g["plays"].shape[1]) < (g["tricks"] * players + g["trick_size"])[:, None]
    assert (((g["plays"][:, :, None] == CARDS) & laid[:, :, None]).sum(axis=1) == played.any(axis=1)).all()

    size = rules.hand_cards - played.sum(axis=2)
    drawn = np.maximum(g["draws"][:, :players], 0).sum(axis=1)
    at_widow = np.isin(phase, (TRUMP, KEEP)) * rules.widow
    dealers_stock = (phase == KEEP) * (rules.max_discard > 0) * (rules.deck_size - rules.hand_cards * players - drawn)
    more = at_widow + dealers_stock - (phase == EXCHANGE) * thrown[np.arange(g.size), actor].sum(axis=1)
    size[np.arange(g.size), actor] += more  # nothing where there is no actor
    assert (hand.sum(axis=2) == size).all()
    assert (g["next_card"] == rules.deck_size - stock.sum(axis=1)).all()


@pytest.mark.boundscheck
@pytest.mark.parametrize("episode", ["game", "deal"])
@pytest.mark.parametrize("game", RULES)
def test_cards_masks_and_dealers(game, episode):
    """R6, S-12, S-32, F-6: after every step no card is lost, the actor has something to do, the right seat deals."""
    rules = RULES[game]
    games = Games(rules, 60 if JIT else 4, seed=6, episode=episode, autoreset=False)
    games.reset()
    masks, num_redeals, before = games.action_masks, 0, games.records.copy()
    for at_decision in decisions(games, low_bids, num_steps=200 if JIT else 70):
        g = games.records
        check_cards(g, rules)
        assert (masks.any(axis=1) == at_decision).all()
        assert ((games.seats != NOBODY) == at_decision).all()
        assert (games.seats < rules.players).all()
        dealt, scored = g["deals"] - before["deals"], g["deals_scored"] - before["deals_scored"]
        assert (g["dealer"] == (before["dealer"] + scored * dealt) % rules.players).all()
        assert (g["actor"] == (g["dealer"] + 1) % rules.players)[dealt == 1].all()
        num_redeals += (dealt > scored).sum()
        before = g.copy()
    check_cards(games.records, rules)
    assert episode == "deal" or num_redeals or not JIT


@pytest.mark.parametrize("widow", [1, 2, 3])
def test_the_first_lead_is_of_the_suit_committed_to(widow):
    """F-8, F-12: and nobody is told before."""
    games = Games("four_point", scaled(3000), seed=7, episode="deal", autoreset=False, widow=widow)
    games.reset()
    committed = np.full(games.num_games, NOBODY)
    for _ in decisions(games):
        g = games.records
        is_secret = (g["trump"] != NOBODY) & (g["trump_public"] == 0)
        assert (np.isin(g["phase"], (KEEP, PLAY)) & (g["tricks"] == 0) & (g["trick_size"] == 0))[is_secret].all()
        committed = np.where(is_secret, g["trump"], committed)
    is_scored = games.records["deals_scored"] == 1
    assert is_scored.sum() > games.num_games / 2
    for suit in (games.records["plays"][:, 0] // 13, games.records["last_trump"]):
        assert (committed == suit)[is_scored].all()


def may_play(hand: np.ndarray, led: np.ndarray, trump: np.ndarray, rules: GameRules) -> np.ndarray:
    """The cards of each hand that go on the card led (S-21, S-22; F-14 to F-16), all of it where none is: (N, 54)."""
    trumps = trumps_of(trump, rules)
    suit = np.where(trumps, trump[:, None], CARDS // 13)
    led_suit = np.take_along_axis(suit, np.maximum(led, 0)[:, None], axis=1)
    follows = hand & (suit == led_suit)
    fits = follows | (hand & trumps) if rules.follow == "follow_or_trump" else follows
    is_free = (led == NOBODY) | ~follows.any(axis=1)
    return np.where(is_free[:, None], hand, fits)


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("schmier", {}), ("four_point", {}), ("four_point", {"widow": 0}), ("schmier", {"follow": "follow_or_trump"}),
        ("four_point", {"follow": "strict"}), ("schmier", {"left_bower": False, "left_point": 0, "max_bid": 5}),
    ],
)  # fmt: skip
def test_legal_plays_by_another_predicate(game, options):
    """R3, S-20 to S-22, F-12 to F-16, O-15: in every play of 5,000 deals, all trumps alike."""
    rules = make_rules(game, **options)
    games = Games(rules, scaled(5000), seed=8, episode="deal", autoreset=False)
    games.reset()
    by_trump = np.zeros(4, int)
    for _ in decisions(games):
        g = games.records[(games.records["phase"] == PLAY) & (games.records["trump_public"] == 1)]
        hand = of_seat(g["hand"], g["actor"].astype(int))
        led = g["trick"][np.arange(g.size), g["leader"].astype(int)].astype(int)
        trump = g["trump"].astype(int)
        assert (may_play(hand, led, trump, rules) == cards_of(g["legal_cards"])).all()
        assert (g["legal_calls"] == 0).all()
        by_trump += np.bincount(trump[led != NOBODY], minlength=4)
    assert not JIT or (abs(by_trump / by_trump.sum() - 0.25) < 0.02).all()


@pytest.mark.parametrize("game", ["schmier", "four_point", "solo", "schmier_2x3"])
def test_the_ledger(game):
    """R14, R15, S-29 to S-31, F-22: the changes of score add up to the scoreboard, and so do the rewards."""
    rules = RULES[game]
    games = Games(rules, 400 if JIT else 4, seed=9, autoreset=False)
    games.reset()
    rows, teams = np.arange(games.num_games), rules.teams
    ledger, rewards = np.zeros((games.num_games, teams), int), np.zeros_like(games.rewards)
    was_negative, scored_before = False, games.records["deals_scored"].copy()
    for _ in decisions(games, low_bids, num_steps=1000 if JIT else 200):
        g = games.records
        is_scored = g["deals_scored"] > scored_before
        change, points = g["last_delta"][:, :teams], g["last_points"][:, :teams]
        team, bid = g["last_bidder"].astype(int) % teams, g["last_bid"]
        expected = points.copy()
        expected[rows, team] = np.where(points[rows, team] >= bid, points[rows, team], -bid)
        assert (change == expected)[is_scored].all()
        assert points.sum(axis=1).max() <= rules.max_points
        ledger[is_scored] += change[is_scored]
        rewards += games.rewards
        assert (g["scores"][:, :teams] == ledger).all()
        assert not games.rewards[~is_scored].any()
        was_negative |= bool((ledger < 0).any())
        scored_before = g["deals_scored"].copy()
    own = ledger[:, [seat % teams for seat in range(rules.players)]]
    others = (ledger.sum(axis=1)[:, None] - own) / (teams - 1)
    is_running = games.records["phase"] != OVER
    assert np.allclose((own - others)[is_running], rewards[is_running], atol=1e-3)
    assert was_negative or not JIT
    assert games.terminated.any() or not JIT


# --- Chance -------------------------------------------------------------------------------------------------------


def deviations(observed: np.ndarray, expected: float, degrees: int) -> float:
    """How far chi-square is from its mean, in standard deviations."""
    return float((((observed - expected) ** 2 / expected).sum() - degrees) / np.sqrt(2 * degrees))


@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_no_deck_comes_twice(game):
    """Seeds: in four batches of fifty games, over all their deals, no two decks are equal."""
    decks, num_decks = set(), 0
    for seed in range(4):
        games = Games(game, 50, seed)
        games.reset()
        deals = np.zeros(50, int)
        for _ in range(200 if JIT else 1):
            for i in np.flatnonzero(games.records["deals"] != deals):
                decks.add(games.records["deck"][i].tobytes())
                num_decks += 1
            deals = games.records["deals"].copy()
            games.step(games.sample())
    assert len(decks) == num_decks >= 200


@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_the_first_dealer_is_drawn(game):
    """S-3, F-4: every seat as often; in the batch of one seed and over many seeds."""
    num_games = 12_000 if JIT else 200
    players = RULES[game].players
    for seed in (1, list(range(num_games))):
        games = Games(game, num_games, seed)
        games.reset()
        counts = np.bincount(games.records["dealer"], minlength=players)
        assert counts.size == players
        assert abs(deviations(counts, num_games / players, players - 1)) < 4


@pytest.mark.slow
@pytest.mark.parametrize("game", ["schmier", "four_point"])
@pytest.mark.parametrize("deal_number", [1, 2])
def test_the_shuffle(game, deal_number):
    """S-4, F-4: every card in every place as often, and no deck tells of the next, in the first and second deals."""
    num_games, rules = 20_000, make_rules(game, all_pass="redeal_same")
    games = Games(rules, num_games, seed=11)
    games.reset()
    first_decks = games.records["deck"][:, : rules.deck_size].copy()
    if deal_number == 2:
        for _ in range(rules.players):  # everybody passes
            games.step(np.full(num_games, PASS))
        assert (games.records["deals"] == 2).all()
    decks = games.records["deck"][:, : rules.deck_size].astype(int)
    size = rules.deck_size
    _, numbers = np.unique(decks, return_inverse=True)
    numbers = numbers.reshape(decks.shape)
    counts = np.bincount((np.arange(size) * size + numbers).ravel(), minlength=size * size)
    assert abs(deviations(counts, num_games / size, (size - 1) ** 2)) < 4
    # Two random decks have one card in the same place, on the average, with a variance of one.
    pairs = [(decks[1:], decks[:-1])] + ([(decks, first_decks)] if deal_number == 2 else [])
    for one, other in pairs:
        assert abs((one == other).sum(axis=1).mean() - 1) < 4 / np.sqrt(num_games)


# --- Any sequence of actions --------------------------------------------------------------------------------------


class AnyGame(RuleBasedStateMachine):
    """R6: legal actions that Hypothesis chooses, and others in between, which change nothing."""

    @initialize(game=st.sampled_from(list(RULES)), seed=st.integers(0, 2**64 - 1), one_deal=st.booleans())
    def begin(self, game: str, seed: int, one_deal: bool) -> None:
        self.games = Games(RULES[game], 1, seed, "deal" if one_deal else "game", autoreset=False)
        self.games.reset()

    @rule(choices=st.lists(st.integers(0, NUM_ACTIONS - 1), min_size=1, max_size=12))
    def act(self, choices: list[int]) -> None:
        for choice in choices:
            legal = legal_actions(self.games.records[0])
            assert legal == list(np.flatnonzero(self.games.action_masks[0]))
            if legal:
                self.games.step([legal[choice % len(legal)]])
                check_cards(self.games.records, self.games.rules)
            else:
                self.games.reset()

    @rule(action=st.integers(-3, NUM_ACTIONS + 3))
    def try_anything(self, action: int) -> None:
        before, legal = self.games.records.tobytes(), legal_actions(self.games.records[0])
        if not legal:  # over: whatever is given as the action is passed over
            self.games.step([action])
        elif action not in legal:
            with pytest.raises(IllegalActionError):
                self.games.step([action])
        assert self.games.records.tobytes() == before

    @invariant()
    def nothing_is_lost(self) -> None:
        check_cards(self.games.records, self.games.rules)
        is_over = self.games.records["phase"][0] == OVER
        assert self.games.action_masks[0].any() != is_over
        assert (self.games.seats[0] == NOBODY) == is_over


TestAnyGame = AnyGame.TestCase
TestAnyGame.settings = settings(
    derandomize=True, database=None, deadline=None, max_examples=30 if JIT else 5, stateful_step_count=20
)
