"""What a network sees: nothing hidden, the same whatever the suits are called, and true."""

import zlib
from collections import Counter
from typing import Any

import numpy as np
import pytest
from looks import ALL, PLAIN, Eye, Position, positions
from play import RULES, make_env, random_actions, scale
from test_symmetry import ANY, PAIRED, renamed

from smear_agents import make_agent
from smear_agents.learner_view import (
    BEATS,
    BEHIND,
    BIDDING,
    BLOCKS,
    CARD_POINT_STEPS,
    FOLLOWS,
    IS_HIGHEST,
    IS_JOKER,
    IS_LEFT,
    IS_LOWEST,
    LATER,
    LENGTH,
    MISSING_STEPS,
    MOST_CARD_FEATURES,
    MOST_TRUMPS,
    NUM_CARD_FEATURES,
    PLAIN_RANK,
    SHARE_STEPS,
    STRONGER,
    TABLE_STEPS,
    TAKES,
    TRUMP_RANK,
    WEAKER,
    ViewOptions,
    group_of,
    hidden_features,
    make_view_layout,
    most_features,
    num_features,
    order_worths,
    see_hidden,
    slot_action,
)
from smear_agents.network import Network, policy_shape
from smear_agents.neural import SCHEMA
from smear_env import PRESETS, GameRules, make_rules
from smear_env.actions import NUM_ACTIONS, PASS
from smear_env.cards import SUITS, cards_in, set_of
from smear_env.games import observe_records
from smear_env.observe import Facts, decode, make_layout
from smear_env.resample import hide, resample
from smear_env.rules import CARD_POINTS, NOBODY, RANKS, make_tables, trump_order

pytestmark = pytest.mark.jit

GAMES = {name: RULES[name] for name in ("schmier", "four_point", "four_point widow=0")}
both_games = pytest.mark.parametrize("game", GAMES)


# --- Nothing hidden ----------------------------------------------------------------------------------------------


@both_games
def test_what_a_seat_cannot_know_changes_nothing(game: str) -> None:
    """The cards that are hidden from the seat are dealt anew; it sees the same, and a critic of all hands does not."""
    rules = GAMES[game]
    eye, tables = Eye(rules), make_tables(rules)
    hidden = np.zeros(hidden_features(rules), np.int32)
    others = 0
    for number, position in enumerate(positions(rules, 150, seed=2, every=3)):
        full = resample(hide(position.record, 0, rules, position.seat), rules, position.seat, number)
        observations, masks = observe_records(full, rules, np.array([position.seat]))
        seen = eye(position.observation, position.mask)
        assert eye(observations[0], masks[0]) == seen
        critics = []
        for record in (position.record, full):
            used = see_hidden(record[0], tables[0], position.seat, 0, eye.desk.slots, hidden, 0)
            critics.append(sorted(hidden[:used].tolist()))
        others += critics[0] != critics[1]
    assert others > 100, "nothing was dealt anew"


@both_games
def test_a_critic_is_shown_all_that_is_hidden(game: str) -> None:
    rules = GAMES[game]
    eye, tables = Eye(rules), make_tables(rules)
    hidden = np.zeros(hidden_features(rules), np.int32)
    pack = [int(card) for card in tables[0]["deck"][: rules.deck_size]]
    for position in positions(rules, 100, seed=3, every=2):
        eye(position.observation, position.mask)
        g = position.record[0]
        slots = eye.desk.slots
        used = see_hidden(g, tables[0], position.seat, 0, slots, hidden, 0)

        def place(card: int, slots: Any = slots) -> int:
            ranks = 15 - rules.low_rank
            return 4 * ranks + card - 52 if card >= 52 else slots[card // 13] * ranks + card % 13 - rules.low_rank + 2

        assert sorted(place(card) for card in pack) == list(range(rules.deck_size))
        expected = {
            (k - 1) * rules.deck_size + place(card)
            for k in range(1, rules.players)
            for card in cards_in(int(g.hand[(position.seat + k) % rules.players]))
        }
        stock = g.deck[g.next_card : rules.deck_size]
        expected |= {(rules.players - 1) * rules.deck_size + place(int(card)) for card in stock}
        if g.trump != NOBODY:
            expected.add(rules.players * rules.deck_size + int(slots[g.trump]))
        assert set(hidden[:used].tolist()) == expected and used == len(expected)


# --- Suits -------------------------------------------------------------------------------------------------------


def is_tied(facts: Facts, eye: Eye) -> bool:
    """Whether the order of suits has to go by their names."""
    from smear_agents.club_bids import worth_of

    rules, hand = eye.rules, np.int64(set_of(facts.hand))
    lengths = [sum(card < 52 and card // 13 == suit for card in facts.hand) for suit in range(4)]
    if facts.trump is None:
        worths = sorted(worth_of(hand, suit, make_tables(rules)[0], order_worths()[0]) for suit in range(4))
        if worths[3] - worths[2] < 1e-6:
            return True
    trump = eye.desk.slots.tolist().index(0)
    rest = [suit for suit in range(4) if suit != trump and not (rules.left_bower and suit == 3 - trump)]
    return len({lengths[suit] for suit in rest}) < len(rest)


@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_suits_by_other_names_look_the_same_and_are_played_the_same(game: str) -> None:
    one, other = make_env(game, episode="deal"), make_env(game, episode="deal")
    rules: GameRules = one.rules
    eye = Eye(rules)
    rng = np.random.default_rng(1)
    weights = rng.normal(0, 0.3, policy_shape(rules, ALL, (16,)).num_weights).astype(np.float32)
    network = Network(rules, ALL, (16,), weights)
    orders = PAIRED if rules.left_bower else ANY
    compared, chosen = Counter[str](), 0
    for seed in range(1, scale(60)):
        order = orders[seed % len(orders)]
        one.reset(seed=seed)
        other.reset(options={"deck": [renamed(card, order) for card in one.deck], "dealer": one.dealer})
        for action in random_actions(one, seed):
            views = [(env.last()[0]["observation"], env.last()[0]["action_mask"]) for env in (one, other)]
            features, pairs, slots = eye(*views[0])
            facts = decode(views[0][0], rules, int(one.agent_selection[-1]))
            if not is_tied(facts, eye):
                masks = [np.zeros(NUM_ACTIONS, np.int8) for _ in views]
                for mask, view in zip(masks, views):
                    where = eye(*view)[2]
                    for a in view[1].nonzero()[0]:
                        mask[slot_action(a, np.array(where))] = 1
                features_2, pairs_2, slots_2 = eye(*views[1])
                assert (features, pairs) == (features_2, pairs_2)
                assert [slots_2[order[suit]] for suit in range(4)] == slots
                assert (masks[0] == masks[1]).all()
                compared[facts.phase] += 1
                legal = views[0][1].nonzero()[0]
                outputs = network.outputs(*views[0])
                assert np.allclose(
                    outputs[legal], network.outputs(*views[1])[[renamed(a, order) for a in legal]], atol=1e-4
                )
                best = np.sort(outputs[legal])[::-1]
                if len(legal) > 1 and best[0] - best[1] > 1e-3:
                    first, second = (int(network.actions(view[0][None], view[1][None])[0]) for view in views)
                    assert renamed(first, order) == second
                    chosen += 1
            one.step(action)
            other.step(renamed(action, order))
    assert min(compared.values()) > 5 and len(compared) >= 3 and chosen > 100, (compared, chosen)


@both_games
@pytest.mark.parametrize("options", [ALL, PLAIN], ids=["all", "plain"])
def test_slots_are_an_order_of_the_suits_and_trump_is_the_first(game: str, options: ViewOptions) -> None:
    rules = GAMES[game]
    eye = Eye(rules, options)
    for position in positions(rules, 600, seed=4):
        slots = eye(position.observation, position.mask)[2]
        assert sorted(slots) == [0, 1, 2, 3]
        trump = decode(position.observation, rules, position.seat).trump
        if options is PLAIN:
            assert slots == [0, 1, 2, 3]
        elif trump is not None:
            assert slots[SUITS.index(trump)] == 0
            if rules.left_bower:
                assert slots[3 - SUITS.index(trump)] == 1
        actions = [slot_action(action, np.array(slots)) for action in range(NUM_ACTIONS)]
        assert sorted(actions) == list(range(NUM_ACTIONS))
        assert actions[52:65] == list(range(52, 65)) and actions[69] == 69


# --- Numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", RULES)
@pytest.mark.parametrize(
    "options", [ALL, ViewOptions(), ViewOptions(estimates=False), PLAIN], ids=["all", "default", "counted", "plain"]
)
def test_features_are_in_range_and_never_too_many(game: str, options: ViewOptions) -> None:
    rules = RULES[game]
    eye = Eye(rules, options)
    room = most_features(rules) - hidden_features(rules)
    for position in positions(rules, 1000, seed=5):
        features, pairs, _ = eye(position.observation, position.mask)
        assert features[0] >= 0 and features[-1] < num_features(rules, options)
        assert len(set(features)) == len(features) <= room
        assert len(set(pairs)) == len(pairs)
        of_card = Counter(pair // NUM_CARD_FEATURES for pair in pairs)
        assert max(of_card.values(), default=0) <= MOST_CARD_FEATURES
        is_bidding = group_of(position.observation, position.mask, make_layout(rules)[0]) == BIDDING
        legal = 0 if is_bidding or not options.helpers else int(position.mask[:54].sum())
        assert len(of_card) == legal


@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_every_feature_is_true_of_some_positions_and_not_of_others(game: str) -> None:
    rules = GAMES[game]
    eye = Eye(rules)
    times, number = np.zeros(num_features(rules, ALL), np.int64), 0
    for seed, wit in enumerate((0.0, 0.9, 0.9, 0.5)):
        for position in positions(rules, 8000, seed=seed, every=2, wit=wit):
            times[eye(position.observation, position.mask)[0]] += 1
            number += 1
    never, always = {}, {}
    for block in BLOCKS:
        some = times[slice(*eye.layout[block.name])]
        never[block.name] = set(np.flatnonzero(some == 0).tolist())
        always[block.name] = set(np.flatnonzero(some == number).tolist())
    assert not any(always.values()), always
    ranks, low = 15 - rules.low_rank, rules.low_rank - 2
    for name in ("beating", "bosses"):  # a low plain card beats too few others for chance to show it here
        assert all(place // ranks in (1, 2, 3) and place % ranks + low <= RANKS.index("J") for place in never.pop(name))
    assert {name: places for name, places in never.items() if places} == {
        # Protected trumps are never thrown; without an exchange no trump is, but by who has too many of them.
        "discards": {0, 9, 12, ranks + 9} if rules.max_discard else set(range(ranks)),
        "phase": {max(eye.block(list(range(len(times))), "phase"))},  # nobody is to move when a deal is over
        "winner": {0},  # who is to play has not played to this trick
        # Of all trumps at least the one that was led to the first trick is seen, or it is one's own.
        **({} if rules.max_discard else {"trumps_out": set(range(7, MOST_TRUMPS))}),
        # And eight cards, or five, are out of the game.
        **({} if rules.max_discard else {"shares": {6, 13, 20}}),
    }


# --- Truth -------------------------------------------------------------------------------------------------------


class Slow:
    """What a player can work out from the words of `decode`, in plain Python."""

    def __init__(self, position: Position, rules: GameRules) -> None:
        self.rules, self.seat = rules, position.seat
        self.facts = facts = decode(position.observation, rules, position.seat)
        self.trumps = [] if facts.trump is None else trump_order(rules, SUITS.index(facts.trump))
        self.legal = [action for action in range(54) if position.mask[action]]
        pack = {13 * suit + rank for suit in range(4) for rank in range(rules.low_rank - 2, 13)}
        pack |= {card for card in self.trumps if card >= 52}
        self.unseen = pack - facts.hand - facts.discards - set().union(*facts.played)
        self.best: int | None = None
        self.winner = self.led = None
        for k in range(rules.players if facts.leader is not None else 0):
            seat = (facts.leader + k) % rules.players  # type: ignore[operator]
            card = facts.trick[seat]
            if card is not None and (self.best is None or self.beats(card, self.best)):
                self.led = self.suit(card) if self.best is None else self.led
                self.best, self.winner = card, seat

    def suit(self, card: int) -> str | None:
        if card in self.trumps:
            return self.facts.trump
        return None if card >= 52 else SUITS[card // 13]

    def strength(self, card: int) -> int:
        return 100 - self.trumps.index(card) if card in self.trumps else card % 13

    def beats(self, card: int, other: int) -> bool:
        if card in self.trumps or other in self.trumps:
            return card in self.trumps and self.strength(card) > self.strength(other)
        return self.suit(card) == self.suit(other) and card % 13 > other % 13

    def of_suit(self, cards: Any, card: int) -> list[int]:
        return [other for other in cards if self.suit(other) == self.suit(card)]

    def describe(self, card: int) -> set[int]:
        """The card features that are true of a card."""
        said = set()
        if card >= 52:
            said.add(IS_JOKER)
        elif card in self.trumps and SUITS[card // 13] != self.facts.trump:
            said.add(IS_LEFT)
        else:
            said.add((TRUMP_RANK if card in self.trumps else PLAIN_RANK) + card % 13)
        rivals, own = self.of_suit(self.unseen, card), self.of_suit(self.facts.hand, card)
        stronger = sum(self.strength(other) > self.strength(card) for other in rivals)
        weaker = sum(self.strength(other) < self.strength(card) for other in rivals)
        said |= {STRONGER + min(stronger, 3), WEAKER + {0: 0, 1: 1, 2: 1}.get(weaker, 2)}
        said.add(LENGTH + min(len(own), 3) - 1)
        if card == max(own, key=self.strength):
            said.add(IS_HIGHEST)
        if card == min(own, key=self.strength):
            said.add(IS_LOWEST)
        if self.best is not None and self.beats(card, self.best):
            said.add(BEATS)
        if self.led is not None and self.suit(card) == self.led:
            said.add(FOLLOWS)
        return said

    def points_on_table(self) -> int:
        worth = [
            self.rules.joker_card_points if card >= 52 else CARD_POINTS.get(RANKS[card % 13], 0)
            for card in self.facts.trick
            if card is not None
        ]
        return sum(worth)


def is_auction(position: Position) -> bool:
    return bool(position.mask[PASS:69].any())


@both_games
def test_cards_are_described_as_a_slow_count_finds_them(game: str) -> None:
    rules = GAMES[game]
    eye = Eye(rules)
    said = Counter[int]()
    for wit in (0.0, 0.8):
        for position in positions(rules, 700, seed=6, every=7, wit=wit):
            _, pairs, slots = eye(position.observation, position.mask)
            if is_auction(position):
                assert pairs == []
                continue
            slow = Slow(position, rules)
            expected = {slot_action(card, np.array(slots)): slow.describe(card) for card in slow.legal}
            found: dict[int, set[int]] = {}
            for pair in pairs:
                found.setdefault(pair // NUM_CARD_FEATURES, set()).add(pair % NUM_CARD_FEATURES)
            counted = {card: {feature for feature in features if feature < TAKES} for card, features in found.items()}
            assert counted == expected, slow.facts
            said.update(feature for features in found.values() for feature in features)
    without = set() if rules.left_bower else {IS_LEFT, IS_JOKER}
    without |= {base + rank for base in (PLAIN_RANK, TRUMP_RANK) for rank in range(rules.low_rank - 2)}
    assert said.keys() == set(range(NUM_CARD_FEATURES)) - without


@both_games
def test_estimates_are_those_of_club(game: str) -> None:
    rules = GAMES[game]
    eye, club = Eye(rules), make_agent("club", rules)
    last, bosses = 0, 0
    for position in positions(rules, 3000, seed=8, every=3, wit=0.8):
        slow = Slow(position, rules)
        _, pairs, slots = eye(position.observation, position.mask)
        estimates: dict[int, list[int]] = {}
        for card in slow.legal:
            own = NUM_CARD_FEATURES * slot_action(card, np.array(slots))
            estimates[card] = sorted(pair - own for pair in pairs if own + TAKES <= pair < own + NUM_CARD_FEATURES)
        if slow.facts.leader is None or not slow.trumps:
            assert not any(estimates.values())
            continue
        # One of each kind; and what club plays is behind nothing.
        for steps in estimates.values():
            assert [sum(begin <= step for begin in (TAKES, LATER, BEHIND)) for step in steps] == [1, 2, 3]
        (choice,) = club(position.observation[None], position.mask[None])
        assert estimates[choice][2] == BEHIND
        if all(slow.facts.trick[seat] is not None for seat in range(rules.players) if seat != position.seat):
            last += 1  # who plays last knows who takes the trick
            for card, steps in estimates.items():
                winner = position.seat if slow.beats(card, slow.best) else slow.winner  # type: ignore[arg-type]
                ours = (winner - position.seat) % rules.teams == 0  # type: ignore[operator]
                assert steps[0] == (LATER - 1 if ours else TAKES)
        for card in slow.legal:
            if card in slow.trumps and max(slow.of_suit({card, *slow.unseen}, card), key=slow.strength) == card:
                bosses += 1
                assert (
                    estimates[card][1] == BEHIND - 1
                )  # a trump that nothing beats takes a trick whenever it is played
    assert last > 100 and bosses > 100


@both_games
def test_shares_of_trumps_follow_what_seats_have_shown(game: str) -> None:
    rules = GAMES[game]
    eye, voids = Eye(rules), 0
    for position in positions(rules, 1500, seed=9, every=3, wit=0.8):
        slow = Slow(position, rules)
        features, _, _ = eye(position.observation, position.mask)
        steps = eye.block(features, "shares")
        reached = [[step % len(SHARE_STEPS) for step in steps if step // len(SHARE_STEPS) == k] for k in range(5)]
        assert all(one == list(range(len(one))) for one in reached)
        if slow.facts.leader is None or not slow.trumps:
            assert not steps
            continue
        assert sum(SHARE_STEPS[len(one) - 1] for one in reached if one) <= 1
        for k in range(rules.players - 1):
            if slow.facts.trump in slow.facts.voids[(position.seat + k + 1) % rules.players]:
                voids += 1
                assert not reached[k]
    assert voids > 100


@both_games
def test_helpers_are_as_a_slow_count_finds_them(game: str) -> None:
    rules = GAMES[game]
    eye = Eye(rules)
    ranks, played = 15 - rules.low_rank, 0
    for wit in (0.0, 0.8):
        for position in positions(rules, 700, seed=7, every=7, wit=wit):
            features, _, slots = eye(position.observation, position.mask)
            slow = Slow(position, rules)
            facts, team = slow.facts, position.seat % rules.teams
            scores = [facts.scores[(team + k) % rules.teams] for k in range(rules.teams)]
            assert eye.block(features, "missing") == [
                len(MISSING_STEPS) * k + i
                for k, score in enumerate(scores)
                for i, step in enumerate(MISSING_STEPS)
                if rules.target - score <= step
            ]
            taken = [facts.card_points[(team + k) % rules.teams] for k in range(rules.teams)]
            assert eye.block(features, "card_points") == [
                len(CARD_POINT_STEPS) * k + i
                for k, points in enumerate(taken)
                for i, step in enumerate(CARD_POINT_STEPS)
                if points >= step
            ]
            names = ("winner", "led", "after", "on_table", "trumps_out", "need", "beating", "bosses")
            found = {name: eye.block(features, name) for name in names}
            if facts.leader is None:
                assert not any(found.values())
                continue
            played += 1

            def place(card: int, slots: list[int] = slots) -> int:
                low = rules.low_rank - 2
                return 4 * ranks + card - 52 if card >= 52 else slots[card // 13] * ranks + card % 13 - low

            on_table = sum(card is not None for card in facts.trick)
            expected: dict[str, list[int]] = {
                "winner": [] if slow.winner is None else [(slow.winner - position.seat) % rules.players],
                "led": [] if slow.led is None else [slots[SUITS.index(slow.led)]],
                "after": [rules.players - 1 - on_table],
                "on_table": [i for i, step in enumerate(TABLE_STEPS) if slow.points_on_table() >= step],
                "trumps_out": list(range(min(MOST_TRUMPS, len(slow.unseen & set(slow.trumps))))),
                "need": [], "beating": [], "bosses": [],
            }  # fmt: skip
            if slow.trumps:
                bidder = facts.bidder
                assert bidder is not None
                bid = facts.bids[bidder]
                has = sum(owner == bidder % rules.teams for owner in facts.points.values())
                expected["need"] = [max(bid - has, 0)]  # type: ignore[operator]
                hand = sorted(facts.hand, key=place)
                expected["beating"] = [
                    place(card) for card in hand
                    if card in slow.legal and slow.best is not None and slow.beats(card, slow.best)
                ]  # fmt: skip
                expected["bosses"] = [
                    place(card) for card in hand
                    if all(slow.strength(card) > slow.strength(rival) for rival in slow.of_suit(slow.unseen, card))
                ]  # fmt: skip
            assert found == expected, facts
    assert played > 500


def test_worth_goes_up_with_the_hand() -> None:
    """The ace, the bauers and length are worth more than nothing: more steps are true of a better hand."""
    from smear_env.testing import deal

    rules = PRESETS["schmier"]
    eye = Eye(rules)
    steps = []
    for hand in ("2C 3D 4S 5H 6C 7D", "AH KH 3D 4S 5C 6C", "AH KH JH JD 2H 3H"):
        table = deal("schmier", hands={0: hand}, dealer=5)
        features, _, slots = eye(table.observation(0), table.games.action_masks[0])
        steps.append(len(eye.block(features, "worth")))
        assert eye.block(features, "worth") == list(range(steps[-1]))
    assert steps == sorted(set(steps)) and steps[-1] > 8
    assert slots[SUITS.index("H")] == 0 and slots[SUITS.index("D")] == 1


SEEN = {"schmier": 3297474024, "four_point": 401969371}


@pytest.mark.parametrize("game", SEEN)
def test_what_networks_have_learned_to_read_means_the_same(game: str) -> None:
    """Another meaning under the same number would spoil every network that was trained: it needs another SCHEMA."""
    eye, digest = Eye(GAMES[game]), 0
    for position in positions(GAMES[game], 1000, seed=10, every=3):
        digest = zlib.crc32(repr(eye(position.observation, position.mask)).encode(), digest)
    assert (SCHEMA, digest) == (2, SEEN[game]), "raise SCHEMA, and train the shipped players anew"


def test_rules_that_differ_in_shape_have_other_features() -> None:
    for options in (ALL, ViewOptions(), ViewOptions(estimates=False), PLAIN):
        assert len({make_view_layout(rules, options).tobytes() for rules in RULES.values()}) == len(RULES)
    assert num_features(make_rules("schmier", target=11), ALL) == num_features(PRESETS["schmier"], ALL)
