"""The engine and the referee side by side: the same decks, the same actions, and every answer the same.

The referee (referee.py) was written from RULES.md by somebody who has not seen the engine. Compared are the actor,
the phase and the legal actions at every decision; at the end of a deal who got each kind of point, the card points,
the points made, the changes of score, the scores, whether the bid was made, the winners and the next dealer.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import pytest
import referee

from smear_env import GameRules, Games, make_rules
from smear_env._jit import JIT
from smear_env.actions import BID_1, DONE, NUM_ACTIONS, PASS, action_text
from smear_env.cards import NUM_CARDS, card_from_text, card_text
from smear_env.engine import start_game
from smear_env.games import redeal
from smear_env.rules import NOBODY, PHASES, parse_options

pytestmark = pytest.mark.no_cover

TEXTS = [action_text(action) for action in range(NUM_ACTIONS)]
NUMBERS = {text: action for action, text in enumerate(TEXTS)}
BITS = {text: 1 << action for action, text in enumerate(TEXTS)}


def scaled(num_deals: int) -> int:
    """So many deals; far fewer un-jitted, where all the tests here together are to take as long as a few hundred."""
    return num_deals if JIT else max(2, num_deals // 400)


def rules_of(case: str) -> GameRules:
    """The rules that a case names: `schmier teams=2 | high=in_play`; the bar is for `base_of`."""
    game, *options = case.replace("|", " ").split()
    return make_rules(game, **parse_options(dict(option.split("=") for option in options)))


def base_of(case: str) -> GameRules:
    """The game in which a case changes something: what stands before the bar."""
    return rules_of(case.partition("|")[0])


def referee_options(rules: GameRules) -> referee.Options:
    """The same rules for the referee, who knows `exchange_discard` only as the number that may be thrown."""
    options = {field.name: getattr(rules, field.name) for field in fields(referee.Options)}
    if not options["exchange_discard"].startswith("up_to_"):
        del options["exchange_discard"]
    return referee.Options(**options)


# --- How a deal is begun and played ------------------------------------------------------------------------------


@dataclass
class Plan:
    """How to begin a game, and how to play a deal. What is None is left to chance.

    Deck, dealer and scores are for the first deal of a game. `low_bids`: nothing but passes and lowest bids;
    `bidder`: the one seat that bids; `trump`: the suit that he names; `done`: how likely a player ends his throw.
    """

    deck: list[str] | None = None
    dealer: int | None = None
    scores: list[int] | None = None
    low_bids: bool = False
    bidder: int | None = None
    trump: str | None = None
    done: float | None = None

    def choose(self, deal: "RefereesDeal", sampled: int, rng: random.Random) -> int:
        """The actor's action outside the play, the one sampled at random if there is no plan for it."""
        lowest_bid = BID_1 - 1 + max(deal.options.min_bid, deal.bid + 1)
        if deal.phase == "bid" and self.bidder is not None:
            if deal.actor != self.bidder:
                return PASS
            return lowest_bid if sampled == PASS or self.low_bids else sampled
        if deal.phase == "bid" and self.low_bids:
            can_bid = deal.bid < deal.options.max_bid
            can_pass = "pass" in deal.legal()
            return PASS if not can_bid or (can_pass and rng.random() < 0.6) else lowest_bid
        if deal.phase == "trump" and self.trump is not None:
            return NUMBERS[f"trump {self.trump}"]
        if deal.phase == "exchange" and self.done is not None:
            if rng.random() < self.done:
                return DONE
            return sampled if sampled != DONE else NUMBERS[min(deal.legal() - {"done"})]
        return sampled


def random_plan(rules: GameRules, rng: random.Random) -> Plan:
    """Half of the games begin with scores near the target, half of the deals have low bids, so that bids are made."""
    scores = [0] * rules.teams
    if rng.random() < 0.5:
        scores = [rules.target + rng.randint(-6, 2) for _ in scores]
    return Plan(scores=scores, low_bids=rng.random() < 0.5)


class RefereesDeal(referee.Deal):
    """The referee's deal, which remembers how it came about, and what is legal until the next action."""

    def __init__(
        self, options: referee.Options, deck: list[str], dealer: int, scores: list[int], plan: Plan | None = None
    ) -> None:
        super().__init__(options, deck, dealer, scores)
        self.deck, self.first_scores, self.plan = deck, list(scores), plan or Plan()
        self.actions: list[str] = []
        self.turns: list[tuple[str, int]] = []  # phase and actor, by action
        self._legal: set[str] | None = None

    def legal(self) -> set[str]:
        if self._legal is None:
            self._legal = super().legal()
        return self._legal

    def play(self, action: str) -> None:
        turn = (self.phase, self.actor)
        super().play(action)
        self.turns.append(turn)
        self.actions.append(action)
        self._legal = None

    def played_by(self, seat: int) -> set[str]:
        """The cards that a seat has played in complete tricks."""
        return {cards[(seat - leader) % self.options.players] for leader, cards, _ in self.tricks}

    def is_trump(self, card: str) -> bool:
        return self._is_trump(card)

    def story(self) -> str:
        """All that it takes to get here again."""
        return (
            f"{self.options}\ndealer={self.dealer} scores={self.first_scores}\n"
            f"deck={' '.join(self.deck)}\nactions={self.actions}"
        )


# --- Side by side ------------------------------------------------------------------------------------------------

END_FIELDS = (
    "last_kinds", "last_card_points", "last_points", "last_delta", "last_bidder", "last_bid", "last_trump", "scores",
    "winners", "dealer", "phase", "deals_scored", "terminated", "truncated",
)  # fmt: skip


def referees_end(deal: RefereesDeal, episode: str) -> dict[str, Any]:
    """The end of a deal as the referee has it, in the engine's numbers."""
    over = episode == "deal" or bool(deal.winners)
    end = {
        "scored": deal.result == "scored",
        "scores": deal.scores,
        "winners": sum(1 << team for team in deal.winners),
        "over": over,
        "dealer": deal.dealer if over else deal.next_dealer,
    }
    if deal.result == "scored":
        kinds = [deal.points_by_kind[kind] for kind in referee.KINDS]
        end |= {
            "kinds": [NOBODY if team is None else team for team in kinds],
            "card points": deal.card_points,
            "points": deal.points,
            "change": deal.delta,
            "bidder": deal.bidder,
            "bid": deal.bid,
            "trump": referee.SUITS.index(deal.trump),
            "made": deal.made,
        }
    return end


def engines_end(row: dict[str, Any], rules: GameRules, deals_scored: int) -> dict[str, Any]:
    """The end of a deal as the engine has it, from its record after the last action."""
    teams, over = rules.teams, PHASES[row["phase"]] == "over"
    assert row["terminated"] == over
    assert not row["truncated"]
    end = {
        "scored": row["deals_scored"] == deals_scored + 1,
        "scores": row["scores"][:teams],
        "winners": row["winners"],
        "over": over,
        "dealer": row["dealer"],
    }
    if row["deals_scored"] != deals_scored:
        end |= {
            "kinds": row["last_kinds"],
            "card points": row["last_card_points"][:teams],
            "points": row["last_points"][:teams],
            "change": row["last_delta"][:teams],
            "bidder": row["last_bidder"],
            "bid": row["last_bid"],
            "trump": row["last_trump"],
            "made": row["last_delta"][row["last_bidder"] % teams] > 0,
        }
    return end


def begin_game(games: Games, i: int, plan: Plan) -> None:
    """Starts game i anew, as planned."""
    g = games.records[i]
    start_game(g, games.tables[0])
    if plan.scores is not None:
        g.scores[: games.rules.teams] = plan.scores
    if plan.dealer is not None:
        g.dealer = plan.dealer
    if plan.deck is not None:
        g.deck[: games.rules.deck_size] = [card_from_text(card) for card in plan.deck]
    redeal(games.records, games.tables, i)


def begin_deal(games: Games, i: int, options: referee.Options, plan: Plan) -> RefereesDeal:
    """The deal that game i has just begun, for the referee."""
    g = games.records[i]
    deck = [card_text(card) for card in g.deck[: games.rules.deck_size].tolist()]
    return RefereesDeal(options, deck, int(g.dealer), g.scores[: games.rules.teams].tolist(), plan)


def side_by_side(
    rules: GameRules, num_deals: int, seed: int, episode: str = "game", make_plan: Any = random_plan
) -> Iterator[RefereesDeal]:
    """Plays so many deals with the engine and the referee; yields each one in which they have agreed to its end."""
    rng, options = random.Random(seed), referee_options(rules)
    num_games = max(1, min(250, num_deals // 4))
    games = Games(rules, num_games, seed, episode, autoreset=False)
    games.reset()
    deals = []
    for i in range(num_games):
        plan = make_plan(rules, rng)
        begin_game(games, i, plan)
        deals.append(begin_deal(games, i, options, plan))
    games.refresh()
    left = [num_deals // num_games + (i < num_deals % num_games) for i in range(num_games)]
    while any(left):
        records = games.records
        scored_before = records["deals_scored"].tolist()
        turns = zip(*(records[name].tolist() for name in ("phase", "actor", "legal_cards", "legal_calls")))
        actions, ended = games.sample().tolist(), []
        for i, (phase, actor, cards, calls) in enumerate(turns):
            if not left[i]:
                continue
            deal = deals[i]
            ours = (deal.phase, deal.actor, sum(map(BITS.__getitem__, deal.legal())))
            theirs = (PHASES[phase], actor, cards | calls << NUM_CARDS)
            assert ours == theirs, difference(deal, theirs)
            if deal.phase != "play":
                actions[i] = deal.plan.choose(deal, actions[i], rng)
            deal.play(TEXTS[actions[i]])
            if deal.phase == "over":
                ended.append(i)
        games.step(actions)
        if not ended:
            continue
        rows = records[ended]
        columns = [rows[name].tolist() for name in END_FIELDS]
        for i, *values in zip(ended, *columns):
            row = dict(zip(END_FIELDS, values))
            assert referees_end(deals[i], episode) == engines_end(row, rules, scored_before[i]), deals[i].story()
            yield deals[i]
            left[i] -= 1
            plan = make_plan(rules, rng)
            if PHASES[row["phase"]] == "over":
                begin_game(games, i, plan)
            deals[i] = begin_deal(games, i, options, plan)
        games.refresh()


def difference(deal: RefereesDeal, theirs: tuple[str, int, int]) -> str:
    """What the two say of a decision, for people."""
    engine = {text for text, bit in BITS.items() if theirs[2] & bit}
    return (
        f"referee: {deal.phase}, actor {deal.actor}, only here legal: {sorted(deal.legal() - engine)}\n"
        f"engine: {theirs[0]}, actor {theirs[1]}, only here legal: {sorted(engine - deal.legal())}\n{deal.story()}"
    )


# --- Random deals ------------------------------------------------------------------------------------------------

CASES = [
    "schmier teams=2",
    "schmier | high=in_play",
    "schmier | low=in_play",
    "schmier | high=in_play low=in_play follow=follow_or_trump",
    "schmier | finish=bidder_only",
    "schmier | defender_cap=target",
    "schmier | defender_cap=target_minus_1",
    "schmier | tie=bidder_first",
    "schmier | residual_tie=shared",
    "schmier | target=11",
    "schmier | min_bid=1 max_bid=4",
    "schmier | min_bid=5",
    "schmier | max_bid_ends=false",
    "schmier | all_pass=redeal_next",
    "schmier | all_pass=stick_dealer",
    "schmier | jokers=0 joker_point=0 joker_card_points=0 max_bid=5",
    "schmier | left_bower=false left_point=0 max_bid=5",
    "schmier | follow=follow_or_trump",
    "schmier | exchange_who=none exchange_draw=none stock_to=none",
    "schmier exchange_who=none exchange_draw=none stock_to=none | high=in_play",
    "schmier exchange_who=none exchange_draw=none stock_to=none | low=in_play",
    "schmier players=4 teams=4",
    "schmier players=5 teams=5 low_rank=4",
    "four_point | widow=0",
    "four_point | widow=1",
    "four_point | widow=3",
    "four_point | high=in_play",
    "four_point | low=in_play",
    "four_point | finish=bidder_only",
    "four_point | defender_cap=target",
    "four_point | defender_cap=target_minus_1",
    "four_point | tie=bidder_first",
    "four_point teams=4 | residual_tie=shared",
    "four_point | target=7",
    "four_point | min_bid=1 max_bid=3",
    "four_point | max_bid_ends=false",
    "four_point | all_pass=redeal_next",
    "four_point | all_pass=stick_dealer",
    "four_point | follow=strict",
    "four_point | widow=0 exchange_who=none",
]
MORE_CASES = [
    "mini_2p",
    "mini_2p | suits=3",
    "mini_2p | suits=1",
    "mini_2p | high=in_play low=in_play",
    "mini_2p | trump_choice=pitched jokers=0 joker_point=0 joker_card_points=0 suits=3",
    "mini_4p",
    "mini_4p | jokers=1 deal_cards=1 hand_cards=1",
    "schmier players=2 teams=2 | low_rank=11 deal_cards=3 hand_cards=3 exchange_discard=up_to_2 protected=ace,left",
    "schmier | deal_cards=4 hand_cards=4 protected=low",
    "four_point | suits=3 deal_cards=4 hand_cards=4",
    "four_point players=2 | suits=1 deal_cards=2 hand_cards=2 widow=3",
    "schmier players=4 teams=2 | exchange_discard=up_to_6",
    "schmier players=2 teams=2",
    "schmier players=3 teams=3 | exchange_discard=up_to_5",
    "schmier | exchange_discard=up_to_1",
    "schmier | protected=",
    "schmier | protected=ace,joker",
    "schmier | joker_point=0 max_bid=5",
    "schmier | joker_card_points=0",
    "schmier | jack_point=0 left_point=0 max_bid=4",
    "schmier | left_point=0 max_bid=5",
    "schmier exchange_discard=up_to_2 | low_rank=3",
    "schmier teams=2 | finish=bidder_only defender_cap=target",
    "schmier players=5 teams=5 low_rank=4 | residual_tie=shared",
    "four_point | discards_score_for=nobody",
    "four_point | low_rank=2",
    "four_point | jack_point=0 max_bid=3",
    "four_point players=5 teams=5",
    "four_point players=6 teams=2 low_rank=6 widow=0",
    "four_point | high=in_play low=in_play finish=bidder_only tie=bidder_first",
]

THE_SAME_GAME = ["schmier | high=in_play", "schmier | low=in_play"]
"""The ace and the two are always played (S-36)."""


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_random_deals(game, seed):
    """S-1 to S-37 and F-1 to F-23, R14: 20,000 deals of each game, two of the ten parts as episodes of one deal."""
    ends = Counter()
    episode = "deal" if seed % 5 == 4 else "game"
    for deal in side_by_side(make_rules(game), scaled(2000), seed, episode):
        ends[deal.result, deal.made] += 1
        ends["won"] += bool(deal.winners)
    if JIT:
        assert min(ends["scored", True], ends["scored", False], ends["thrown_in", None], ends["won"]) > 20, ends


@pytest.mark.parametrize("case", CASES + MORE_CASES)
def test_random_deals_with_options(case):
    """O-1 to O-18: 3,000 deals each (500 of MORE_CASES), some of which would have gone differently without it."""
    rules, base = rules_of(case), base_of(case)
    is_other = rules == base
    for deal in side_by_side(rules, scaled(3000 if case in CASES else 500), seed=len(case)):
        is_other = is_other or is_different(deal, referee_options(base))
    assert is_other == (case not in THE_SAME_GAME) or not JIT


def is_different(deal: RefereesDeal, base: referee.Options) -> bool:
    """Whether the same deal, played by the base rules, would have been another in any way."""
    if sorted(deal.deck) != sorted(referee.pack(base)):
        return True
    start = (list(deal.deck), deal.dealer, deal.first_scores)
    one, other = RefereesDeal(deal.options, *start), RefereesDeal(base, *start)
    for action in deal.actions:
        if (one.phase, one.actor, one.legal()) != (other.phase, other.actor, other.legal()):
            return True
        one.play(action)
        other.play(action)
    ends = [(end.points_by_kind, end.scores, end.winners, end.next_dealer) for end in (one, other)]
    return ends[0] != ends[1]


@pytest.mark.parametrize("seed", range(4))
def test_random_deals_with_random_options(seed):
    """O-1 to O-18 in any combination: twenty sets of rules in each part, 60 deals of each."""
    rng = random.Random(seed)
    for _ in range(20 if JIT else 2):
        rules = random_rules(rng)
        for _ in side_by_side(rules, 60 if JIT else 2, rng.randrange(1000)):
            pass


def random_rules(rng: random.Random) -> GameRules:
    """Any rules that are allowed."""
    choices = {
        "suits": (1, 2, 3),
        "low_rank": (*range(2, 8), 11, 12, 13),
        "min_bid": range(1, 5),
        "max_bid": range(2, 7),
        "all_pass": ("redeal_same", "redeal_next", "stick_dealer"),
        "max_bid_ends": (True, False),
        "widow": range(4),
        "exchange_discard": [f"up_to_{n}" for n in range(1, 7)],
        "discards_score_for": ("owner", "nobody"),
        "follow": ("strict", "follow_or_trump"),
        "high": ("ace", "in_play"),
        "low": ("fixed", "in_play"),
        "jack_point": (0, 1),
        "left_point": (0, 1),
        "joker_point": (0, 1),
        "joker_card_points": (0, 1),
        "left_bower": (True, False),
        "jokers": (0, 1),
        "target": (5, 9, 15, 21),
        "finish": ("any_team", "bidder_only"),
        "defender_cap": ("none", "target", "target_minus_1"),
        "tie": ("higher_then_bidder", "bidder_first"),
        "residual_tie": ("play_on", "shared"),
        "protected": ((), ("ace", "low"), ("right", "left", "joker"), ("ace", "right", "left", "low", "joker")),
    }
    while True:
        players = rng.randint(2, 6)
        options = {"players": players, "teams": rng.choice([n for n in range(2, 7) if players % n == 0])}
        options |= {name: rng.choice(list(values)) for name, values in choices.items() if rng.random() < 0.4}
        if rng.random() < 0.4:
            options["deal_cards"] = options["hand_cards"] = rng.randint(1, 6)
        try:
            return make_rules(rng.choice(["schmier", "four_point"]), **options)
        except ValueError:
            continue


@pytest.mark.boundscheck
@pytest.mark.parametrize("game", ["schmier", "four_point"])
def test_a_few_deals_of_everything(game):
    """S-1 to S-37, F-1 to F-23, O-1 to O-18: some deals of each game and option, for runs that check every index."""
    for case in [game] * 10 + [case for case in CASES + MORE_CASES if case.split()[0] == game]:
        for _ in side_by_side(rules_of(case), 8 if JIT else 1, seed=99):
            pass


# --- Decks built for the rare cases ------------------------------------------------------------------------------


def trumps_of(rules: GameRules, trump: str) -> list[str]:
    """All trumps (S-5, F-2)."""
    cards = [card for card in referee.pack(referee_options(rules)) if card[1] == trump]
    if rules.left_bower:
        cards.append("J" + referee.OTHER_SUIT_OF_THE_COLOUR[trump])
    return cards + ["XX"] * rules.jokers


def deck_of(
    rules: GameRules, rng: random.Random, dealer: int, hands: dict[int, list[str]], stock: list[str]
) -> list[str]:
    """A deck that gives some seats some cards and leaves others in the stock, in random order; the rest at random."""
    named = [card for cards in hands.values() for card in cards] + stock
    rest = [card for card in referee.pack(referee_options(rules)) if card not in named]
    rng.shuffle(rest)
    deck = []
    for k in range(1, rules.players + 1):
        hand = list(hands.get((dealer + k) % rules.players, []))
        while len(hand) < 6:
            hand.append(rest.pop())
        deck += hand
    stock = stock + rest
    rng.shuffle(stock)
    return deck + stock


def dealers_trumps(deal: RefereesDeal) -> int:
    """The trumps that the dealer had with the whole stock in his hand."""
    return sum(map(deal.is_trump, deal.played_by(deal.dealer) | deal.discards[deal.dealer]))


@pytest.mark.boundscheck
@pytest.mark.parametrize("case", ["schmier", "schmier protected=ace,left", "schmier players=4 teams=4"])
def test_dealer_with_six_and_more_trumps(case):
    """S-17 to S-19, S-37, O-16: the dealer with 6 to 15 trumps, whom nobody or somebody takes cards from."""
    rules = rules_of(case)

    def plan(rules, rng):
        trump, dealer, num_trumps = rng.choice("CDHS"), rng.randrange(rules.players), rng.randint(6, 15)
        trumps = trumps_of(rules, trump)
        rng.shuffle(trumps)
        held = rng.randint(0, 6)
        hands: dict[int, list[str]] = {seat: [] for seat in range(rules.players)}
        hands[dealer] = trumps[:held]
        for card in trumps[num_trumps:]:
            hands[rng.choice([s for s in hands if s != dealer and len(hands[s]) < 6])].append(card)
        plain = [card for card in referee.pack(referee_options(rules)) if card not in trumps]
        hands[dealer] = hands[dealer] + rng.sample(plain, 6 - held)
        deck = deck_of(rules, rng, dealer, hands, trumps[held:num_trumps])
        return Plan(deck, dealer, low_bids=True, trump=trump, done=rng.choice([1, 1, 0.6]))

    seen = Counter()
    for deal in side_by_side(rules, scaled(1200), seed=5, episode="deal", make_plan=plan):
        if deal.result == "scored":
            num_trumps, num_picks = dealers_trumps(deal), deal.turns.count(("keep", deal.dealer))
            seen[num_trumps] += 1
            seen["23 cards"] += len(deal.discards[deal.dealer]) == rules.deck_size - 6 * rules.players
            assert sum(map(deal.is_trump, deal.played_by(deal.dealer))) == min(num_trumps, 6)
            if num_trumps == 6:
                assert num_picks == 0
            elif num_trumps > 6:
                assert 1 <= num_picks <= 6
    if JIT:
        assert all(seen[num_trumps] > 15 for num_trumps in range(6, 16)), seen
        assert seen["23 cards"] > 200, seen


@pytest.mark.boundscheck
@pytest.mark.parametrize("case", ["schmier", "schmier players=4 teams=4 exchange_discard=up_to_6"])
def test_seats_that_hold_nothing_but_trumps(case):
    """S-14 to S-17, R10: none, one and two seats that are passed over (fifteen trumps fill no more), the dealer too.

    And, of those that are asked, any number from nobody to everybody that throws nothing.
    """
    rules = rules_of(case)

    def plan(rules, rng):
        trump, dealer = rng.choice("CDHS"), rng.randrange(rules.players)
        trumps = trumps_of(rules, trump)
        rng.shuffle(trumps)
        seats = rng.sample(range(rules.players), rng.randint(0, 2))
        hands = {seat: trumps[6 * k : 6 * k + 6] for k, seat in enumerate(seats)}
        return Plan(
            deck_of(rules, rng, dealer, hands, []), dealer, low_bids=True, trump=trump, done=rng.choice([0, 0.5, 1])
        )

    seen = Counter()
    for deal in side_by_side(rules, scaled(1000), seed=6, episode="deal", make_plan=plan):
        if deal.result == "scored":
            order = [(deal.dealer + k) % rules.players for k in range(1, rules.players + 1)]
            hands = {seat: deal.deck[6 * k : 6 * k + 6] for k, seat in enumerate(order)}
            full = [seat for seat in order if all(map(deal.is_trump, hands[seat]))]
            asked = dict.fromkeys(seat for phase, seat in deal.turns if phase == "exchange")
            assert list(asked) == [seat for seat in order[:-1] if seat not in full]
            seen["passed over", len(set(full) - {deal.dealer})] += 1
            seen["the dealer", deal.dealer in full] += 1
            seen["the bidder", deal.bidder in full] += 1
            seen["threw nothing", sum(not deal.discards[seat] for seat in order[:-1])] += 1
            seen["dealer took", len(deal.discards[deal.dealer])] += 1
    if JIT:
        assert all(seen["passed over", n] > 50 for n in (0, 1, 2)), seen
        assert all(seen["threw nothing", n] > 20 for n in range(rules.players)), seen
        assert min(seen["the dealer", True], seen["the bidder", True]) > 50, seen
        if rules.players == 6:  # 2 cards and all 17
            assert min(seen["dealer took", 2], seen["dealer took", 17]) > 50, seen


@pytest.mark.boundscheck
@pytest.mark.parametrize(
    ("case", "most"),
    [("four_point widow=1", 7), ("four_point", 8), ("four_point widow=3", 8), ("four_point widow=3 low_rank=6", 9)],
)
def test_bidder_with_six_and_more_trumps(case, most):
    """F-7 to F-11: 6, 7, 8 trumps with the widow; nine need a pack in which a suit has as many (O-12)."""
    rules = rules_of(case)

    def plan(rules, rng):
        trump, dealer, bidder = rng.choice("CDHS"), rng.randrange(4), rng.randrange(4)
        num_trumps = rng.randint(6, most)
        in_widow = rng.randint(max(0, num_trumps - 6), min(rules.widow, num_trumps))
        trumps = trumps_of(rules, trump)
        rng.shuffle(trumps)
        mine, widow = trumps[in_widow:num_trumps], trumps[:in_widow]
        plain = [card for card in referee.pack(referee_options(rules)) if card not in trumps]
        rng.shuffle(plain)
        while len(mine) < 6:
            mine.append(plain.pop())
        while len(widow) < rules.widow:
            widow.append(plain.pop())
        deck = deck_of(rules, rng, dealer, {bidder: mine}, widow)
        widow_first = sorted(deck[24:], key=lambda card: card not in widow)
        return Plan(deck[:24] + widow_first, dealer, bidder=bidder, trump=trump, low_bids=rng.random() < 0.5)

    seen = Counter()
    for deal in side_by_side(rules, scaled(1000), seed=7, episode="deal", make_plan=plan):
        cards = deal.played_by(deal.bidder) | deal.discards[deal.bidder]
        num_trumps = sum(map(deal.is_trump, cards))
        assert len(cards) == 6 + rules.widow
        seen[num_trumps] += 1
        seen["widow"] += all(map(deal.is_trump, deal.deck[24 : 24 + rules.widow]))
        seen["nothing but trumps"] += num_trumps == len(cards)
        seen["trump points thrown"] += bool(
            {card[0] for card in deal.discards[deal.bidder] if card[1] == deal.trump} & set("A7J")
        )
        assert (num_trumps == len(cards)) == (("trump", deal.bidder) not in deal.turns)
        if num_trumps == 6:
            assert ("keep", deal.bidder) not in deal.turns
    if JIT:
        assert all(seen[num_trumps] > 50 for num_trumps in range(6, most + 1)), seen
        assert seen["widow"] > 20, seen
        assert seen["trump points thrown"] > 20, seen
        assert (seen["nothing but trumps"] > 20) == (most == 6 + rules.widow), seen


@pytest.mark.boundscheck
@pytest.mark.parametrize("cap", ["none", "target", "target_minus_1"])
@pytest.mark.parametrize("game", ["schmier", "four_point", "schmier players=5 teams=5 low_rank=4"])
def test_ends_of_games(game, cap):
    """S-29 to S-35, F-22, F-23, O-7 to O-10, R12: several teams at the target, ties with and without the bidder."""

    def plan(rules, rng):
        scores = [rules.target - rng.randint(-1, 4) for _ in range(rules.teams)]
        bidder = rng.choice([None, *range(rules.players)])
        return Plan(scores=scores, bidder=bidder, low_bids=rng.random() < 0.8)

    seen = Counter()
    for finish in ("any_team", "bidder_only"):
        for tie in ("higher_then_bidder", "bidder_first"):
            for residual_tie in ("play_on", "shared"):
                options = f"defender_cap={cap} finish={finish} tie={tie} residual_tie={residual_tie}"
                for deal in side_by_side(rules_of(f"{game} {options}"), scaled(120), len(options), make_plan=plan):
                    if deal.result == "scored":
                        note_end(deal, seen)
    wanted = ["set", "set, others win", "bidder there", "several there", "tie with the bidder", "won by one"]
    if game != "four_point":
        wanted += ["tie without the bidder", "won by several", "bidder there, others higher"]
    if "teams=5" not in game:
        wanted.append("all there")
    if cap != "none":
        wanted += ["capped", "left above the cap"]
    if JIT:
        assert all(seen[what] >= 3 for what in wanted), seen


def note_end(deal: RefereesDeal, seen: Counter) -> None:
    """Counts what the end of a deal is an example of."""
    options, team = deal.options, deal.bidder % deal.options.teams
    top = max(deal.scores)
    there = [other for other in range(options.teams) if deal.scores[other] >= options.target]
    best = [other for other in there if deal.scores[other] == top]
    seen["set"] += not deal.made
    seen["set, others win"] += bool(not deal.made and deal.winners and team not in deal.winners)
    seen["bidder there"] += team in there
    seen["bidder there, others higher"] += team in there and team not in best
    seen["several there"] += len(there) > 1
    seen["all there"] += len(there) == options.teams
    seen["tie with the bidder"] += len(best) > 1 and team in best
    seen["tie without the bidder"] += len(best) > 1 and team not in best
    seen["won by one"] += len(deal.winners) == 1
    seen["won by several"] += len(deal.winners) > 1
    for other in set(range(options.teams)) - {team}:
        seen["capped"] += deal.delta[other] < deal.points[other]
        seen["left above the cap"] += (
            deal.delta[other] == 0 and deal.points[other] > 0 and deal.scores[other] > options.target
        )
