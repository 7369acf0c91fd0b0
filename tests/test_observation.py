"""What a seat sees: nothing public is missing, no number is dead, nothing is outside the space declared."""

import itertools

import numpy as np
import pytest
from play import JIT, RULES, make_env, scale

from smear_env import Games
from smear_env.actions import NUM_ACTIONS, action_from_text, action_text, legal_actions
from smear_env.cards import NUM_CARDS, card_from_text, card_text
from smear_env.observe import BLOCKS, block_slice, decode, observation_size, observation_table
from smear_env.rules import NOBODY, PHASES, make_tables
from smear_env.state import view
from smear_env.testing import deal, pack

all_rules = pytest.mark.parametrize("game", RULES)

PARTNER = {"C": "S", "S": "C", "D": "H", "H": "D"}


def suit_of(card, trump, rules):
    """The suit that a card belongs to, by its text."""
    if card == "XX" or (rules.left_bower and card == "J" + PARTNER[trump]):
        return trump
    return card[1]


def cards_and_voids(record, rules):
    """Who has played what, and what it has shown of his hand, from the cards in the order played."""
    played = [set() for _ in range(rules.players)]
    voids = [set() for _ in range(rules.players)]
    table = view(np.array([record]), 0, rules)
    for place, card in enumerate(table.plays):
        trick, k = divmod(place, rules.players)
        seat = (int(record.trick_leaders[trick]) + k) % rules.players
        played[seat].add(card)
        suit, led = (suit_of(one, table.trump, rules) for one in (card, table.plays[place - k]))
        if suit != led and not (rules.follow == "follow_or_trump" and suit == table.trump):
            voids[seat].add(led)
    return played, voids


def texts(cards):
    return {card_text(card) for card in cards}


def check_facts(facts, table, played, voids, rules, seat):
    """Compares what an observation says with the game as it is."""
    assert texts(facts.hand) == table.hands[seat]
    assert texts(facts.discards) == (table.discards[seat] if rules.max_discard or rules.widow else set())
    assert texts(facts.kept) == (table.kept if seat == table.actor else set())
    assert [texts(cards) for cards in facts.played] == played
    assert facts.trick == tuple(None if card is None else card_from_text(card) for card in table.trick)
    assert list(facts.voids) == [set() if other == seat else shown for other, shown in enumerate(voids)]
    for name in ("draws", "bids", "dealer", "bidder", "leader", "phase", "card_points", "scores", "deals"):
        assert getattr(facts, name) == getattr(table, name), name
    assert facts.trump == (table.trump if table.trump_public or seat == table.bidder else None)
    # Game is decided when the deal is scored, by the card points; the other kinds while it is played.
    won = {kind: team for kind, team in table.kinds.items() if kind in facts.points}
    assert facts.points == won
    missing = table.kinds.keys() - won.keys()
    points = {"jack": rules.jack_point, "left": rules.left_point, "joker": rules.joker_point}
    assert missing == {"game"} | {kind for kind, number in points.items() if not number}


@all_rules
@pytest.mark.boundscheck
def test_decode_gives_back_every_public_fact_to_every_seat_at_every_ply(game):
    """O3; of the last deal too, when the game is over, and with scores of any size."""
    rules = RULES[game]
    games = Games(rules, 1, autoreset=False, max_deals=2)
    phases = set()
    for seed in range(scale(12) + 1):
        games.reset(seed)
        games.records["scores"][:, : rules.teams] = np.random.default_rng(seed).integers(-900, 900, rules.teams)
        games.records["deals"] = games.records["max_deals"][0] - 1
        while True:
            table = view(games.records, 0, rules)
            played, voids = cards_and_voids(games.records[0], rules)
            legal = legal_actions(games.records[0])
            for seat in range(rules.players):
                (observation,), (mask,) = games.observe(np.array([seat]))
                assert len(observation) == observation_size(rules)
                check_facts(decode(observation, rules, seat), table, played, voids, rules, seat)
                assert mask.nonzero()[0].tolist() == (legal if seat == table.actor else [])
                assert mask.max(initial=0) <= 1
                assert observation[block_slice(rules, "phase")].sum() == 1
            phases.add(table.phase)
            if table.actor is None:
                break
            games.step(games.sample())
    if JIT:
        assert phases == {name for phase, name in enumerate(PHASES) if make_tables(rules)[0]["phases"] >> phase & 1}


@all_rules
def test_every_phase_of_the_game_has_its_bit_and_each_observation_exactly_one(game):
    """O3."""
    rules = RULES[game]
    games = Games(rules, scale(64, 3), seed=3, autoreset=False, max_deals=1)
    games.reset()
    bit_of = {}
    for _ in range(80):
        for seat in range(rules.players):
            bits = games.observe(np.full(games.num_games, seat))[0][:, block_slice(rules, "phase")]
            assert (bits.sum(1) == 1).all() and bits.min() == 0
            for phase, bit in set(zip(games.records["phase"].tolist(), bits.argmax(1).tolist(), strict=True)):
                assert bit_of.setdefault(phase, bit) == bit
        games.step(games.sample())
    present = [phase for phase in range(len(PHASES)) if make_tables(rules)[0]["phases"] >> phase & 1]
    assert [bit_of[phase] for phase in present] == list(range(len(present))) and len(bit_of) == len(present)


@pytest.mark.slow
@pytest.mark.parametrize("game", [game for game in RULES if not game.startswith("mini")])
def test_no_number_of_the_observation_is_dead(game):
    """O3: each takes at least two values over random play of games with at most 100 deals, as any seat sees them.

    But for the small games, which end before a score has a second digit and have two of the four suits.
    """
    rules = RULES[game]
    games = Games(rules, 256, seed=1, autoreset=False)
    games.reset()
    size = observation_size(rules)
    least, most = np.full(size, 127, np.int8), np.full(size, -128, np.int8)
    while (games.seats != NOBODY).any():
        others = (games.seats + 1 + games.records["deals"] % (rules.players - 1)) % rules.players
        observations, _ = games.observe(others)
        for views in (games.observations[games.seats != NOBODY], observations):
            if len(views):
                np.minimum(least, views.min(0), out=least)
                np.maximum(most, views.max(0), out=most)
        for _ in range(5):
            games.step(games.sample())
    for seat in range(rules.players):
        np.maximum(most, games.observe(np.full(256, seat))[0].max(0), out=most)
    dead = {
        block.name: (np.arange(size)[place][least[place] == most[place]] - place.start).tolist()
        for block in BLOCKS
        for place in [block_slice(rules, block.name)]
    }
    assert {name: places for name, places in dead.items() if places} == {}


@all_rules
def test_blocks_cover_the_observation_without_gaps_and_the_table_says_where(game):
    rules = RULES[game]
    ends = [0]
    for block in BLOCKS:
        place = block_slice(rules, block.name)
        assert place.start == ends[-1] and place.stop - place.start == block.width(rules)
        ends.append(place.stop)
    assert ends[-1] == observation_size(rules)
    covered = []
    for name, numbers, width, meaning in observation_table(rules):
        first, last = map(int, numbers.split(".."))
        assert last - first + 1 == width > 0 and meaning
        assert block_slice(rules, name) == slice(first, last + 1)
        covered += range(first, last + 1)
    assert covered == list(range(observation_size(rules)))
    with pytest.raises(KeyError, match="hand, discards"):
        block_slice(rules, "hands")


@all_rules
def test_values_lie_inside_the_space_declared(game):
    """Also at the scores farthest from zero; every number is a bit but those of the three blocks at the end."""
    env = make_env(game)
    rules = env.rules
    space = env.observation_space("player_0")["observation"]
    assert space.shape == (observation_size(rules),) and space.dtype == np.int8
    games = Games(rules, scale(64, 8), seed=1, max_deals=100, autoreset=False)
    games.reset()
    ends = np.array([-1000 - 4 * 100, 1000 + 4 * 100, 0, 63, -64, 128, -127])
    for step in range(scale(300) + 20):
        half = games.records["scores"][::2, : rules.teams]
        half[:] = np.resize(np.roll(ends, step), half.shape)
        of_others, masks = games.observe((games.seats.astype(int) + step) % rules.players)
        for views in (of_others, games.observations[games.seats != NOBODY]):
            assert (views >= space.low).all() and (views <= space.high).all()
        assert masks.min() >= 0 and masks.max() <= 1
        games.step(games.sample())
    bits = np.ones(observation_size(rules), bool)
    for name in ("card_points", "scores", "deals"):
        bits[block_slice(rules, name)] = False
    assert (space.low[bits] == 0).all() and (space.high[bits] == 1).all()


# --- Numbers and names (O4) --------------------------------------------------------------------------------------


def test_cards_and_actions_have_one_text_each_and_the_text_one_number():
    """O4: over all cards and all actions."""
    cards = [card_text(card) for card in range(NUM_CARDS)]
    assert len(set(cards)) == NUM_CARDS and [card_from_text(text) for text in cards] == list(range(NUM_CARDS))
    assert cards == [rank + suit for suit in "CDHS" for rank in "23456789TJQKA"] + ["XX", "XX2"]
    actions = [action_text(action) for action in range(NUM_ACTIONS)]
    assert len(set(actions)) == NUM_ACTIONS and [action_from_text(text) for text in actions] == list(range(NUM_ACTIONS))
    calls = ["pass", *(f"bid {bid}" for bid in range(1, 11)), *(f"trump {suit}" for suit in "CDHS"), "done"]
    assert actions == cards + calls


@all_rules
def test_a_card_has_one_place_in_the_hand_and_its_own_action(game):
    """O4: the place among the cards of the pack, lowest number first; the action is the card's number."""
    rules = RULES[game]
    cards = pack(rules)
    assert len(set(cards)) == rules.deck_size
    for begin in range(0, len(cards), rules.hand_cards):
        hand = [*cards, *cards][begin : begin + rules.hand_cards]
        table = deal(rules, hands={1: hand})
        (bits,) = table.observation(1)[block_slice(rules, "hand")].nonzero()
        assert [cards[place] for place in bits] == sorted(hand, key=cards.index)
        assert table.facts(1).hand == {card_from_text(card) for card in hand}
    leader = deal(rules, hands={1: cards[-rules.hand_cards :]}, dealer=0, actions=[f"bid {rules.max_bid}"])
    for action in itertools.count():
        if PHASES[leader.games.records[0].phase] == "play":
            break
        leader.games.step([legal_actions(leader.games.records[0])[-1]])
        assert action < 50
    (legal,) = leader.games.action_masks[0].nonzero()
    (bits,) = leader.observation(1)[block_slice(rules, "hand")].nonzero()
    assert {card_text(card) for card in legal} <= {cards[place] for place in bits} == leader.view.hands[1]
