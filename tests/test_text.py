"""The table in words and as JSON, and the answers of people and language models."""

import contextlib
import io
import itertools
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from play import JIT, MODULES, RULES, is_over, make_env, play, random_actions, scale
from test_hidden import redraw_hidden

from smear_env import (
    IllegalActionError,
    SingleSeatEnv,
    UnreadableActionError,
    four_point_v0,
    legal_strings,
    make_rules,
    observe_json,
    observe_text,
    parse_action,
)
from smear_env.actions import NUM_ACTIONS, action_text, legal_actions
from smear_env.answers import GRAMMAR, mentions
from smear_env.cards import RANKS, SUIT_NAMES, card_text
from smear_env.state import view
from smear_env.testing import deal, position
from smear_env.text import rules_text

pytestmark = pytest.mark.environment

PAGE = Path(__file__).parents[1] / "docs" / "text.md"

all_rules = pytest.mark.parametrize("game", RULES)
both_games = pytest.mark.parametrize("game", MODULES)
raw_and_wrapped = pytest.mark.parametrize("wrapped", [False, True], ids=["raw", "wrapped"])


def is_plain(text):
    return all(letter == "\n" or " " <= letter <= "~" for letter in text)


# --- What a seat is told -----------------------------------------------------------------------------------------


def winner_of(cards, trump, rules):
    """Who is winning a trick, by place: S-5 to S-8, S-23, F-17, from the texts of the cards."""
    order = ["A", "K", "Q", "J", *"T98765432"]
    twin = dict(zip("CSDH", "SCHD", strict=True))[trump]

    def rank(card):
        if card == "XX":
            return 100
        if rules.left_bower and card == "J" + twin:
            return 200 - order.index("J") - 0.5
        return (200 if card[1] == trump else 0) - order.index(card[0])

    fitting = [place for place, card in enumerate(cards) if rank(card) > 0 or card[1] == cards[0][1]]
    return max(fitting, key=lambda place: rank(cards[place]))


class Log:
    """The public history of each deal, kept beside the environment from the actions alone."""

    def __init__(self, env):
        self.env, self.rules = env.unwrapped, env.unwrapped.rules
        self.deals = 0

    def before(self, action):
        """Takes note of what is about to be done."""
        table = view(self.env.records, 0, self.rules)
        if table.deals != self.deals:
            self.deals = table.deals
            self.calls, self.throws, self.plays = [], {}, []
            self.turns = [(table.dealer + k) % self.rules.players for k in range(1, self.rules.players + 1)]
        seat, text = table.actor, action_text(action)
        if table.phase == "bid":
            self.calls.append({"seat": seat, "call": text})
        elif table.phase == "exchange" and text != "done":
            self.throws[seat] = self.throws.get(seat, 0) + 1
        elif table.phase == "play":
            self.plays.append((seat, text))

    def check(self, facts):
        """Compares the log with what is told, if the deal is still the same."""
        players = self.rules.players
        if facts["deal"] != self.deals:
            assert (facts["auction"], facts["exchange"], facts["tricks"]) == ([], [], [])
            return
        assert facts["auction"] == self.calls
        bids = [call for call in self.calls if call["call"] != "pass"]
        assert (facts["bidder"], facts["bid"]) == (
            (bids[-1]["seat"], int(bids[-1]["call"][4:])) if bids else (None, None)
        )
        done = []
        if self.rules.max_discard and facts["phase"] in ("exchange", "keep", "play", "over") and bids:
            done = self.turns[:-1]
            if facts["phase"] == "exchange":
                done = done[: done.index(facts["to_move"])]
        assert facts["exchange"] == [{"seat": seat, "cards": self.throws.get(seat, 0)} for seat in done]
        tricks = [self.plays[begin : begin + players] for begin in range(0, len(self.plays), players)]
        assert len(facts["tricks"]) == len(tricks)
        for told, trick in zip(facts["tricks"], tricks, strict=True):
            winner = trick[winner_of([card for _, card in trick], facts["trump"], self.rules)][0]
            plays = [{"seat": seat, "card": card} for seat, card in trick]
            complete = len(trick) == players
            assert told == {"leader": trick[0][0], "plays": plays, "winner": winner, "complete": complete}


def check_sentences(text, facts):
    """The sentences say the same as the data."""
    assert is_plain(text)
    for call in facts["auction"]:
        assert f"seat {call['seat']}: {call['call']}" in text
    for number, trick in enumerate(facts["tricks"], start=1):
        plays = ", ".join(f"seat {one['seat']}: {one['card']}" for one in trick["plays"])
        words = "won by" if trick["complete"] else "so far winning:"
        assert f"Trick {number}, led by seat {trick['leader']}: {plays}; {words} seat {trick['winner']}." in text
    assert f"Trick {len(facts['tricks']) + 1}" not in text
    for one in facts["exchange"]:
        assert re.search(rf"Exchanged: .*seat {one['seat']}: {one['cards']} card", text)
    trump = "not known yet" if facts["trump"] is None else SUIT_NAMES["CDHS".index(facts["trump"])]
    assert re.search(rf"^Trump: {trump}[.:]", text, re.MULTILINE)
    assert f"dealt by seat {facts['dealer']}." in text
    for team, score in enumerate(facts["scores"]):
        assert re.search(rf"^Scores: .*team {team}: {score}\b", text, re.MULTILINE)
    assert f"Your hand: {' '.join(facts['hand']) or 'no cards'}." in text
    assert ("Your discards" in text) == bool(facts["discards"])
    assert ("You are to move" in text) == (facts["to_move"] == facts["seat"])
    if facts["legal"]:
        assert text.endswith(f"Legal answers: {', '.join(facts['legal'])}.\n")


@all_rules
def test_history_is_that_of_a_log_kept_independently(game):
    env = make_env(game, max_deals=3, target=500)
    rng = np.random.default_rng(4)
    for seed in range(scale(8)):
        env.reset(seed=seed)
        log = Log(env)
        for action in random_actions(env, seed):
            log.before(action)
            env.step(action)
            agent = env.possible_agents[rng.integers(env.rules.players)]
            facts = observe_json(env, agent)
            log.check(facts)
            check_sentences(observe_text(env, agent), facts)
        assert facts["result"] is not None and is_over(env)


@all_rules
def test_json_is_the_whole_view_of_a_seat_and_serialisable(game):
    env = make_env(game, max_deals=2)
    env.reset(seed=9, options={"scores": [-70, 14, 3, 150, 0][: env.rules.teams]})
    keys = list(observe_json(env, 0))
    assert all(f"`{key}`" in observe_json.__doc__ for key in keys)
    for action in itertools.chain(random_actions(env, seed=9, count=scale(150)), [None]):
        table = view(env.records, 0, env.rules)
        for seat, agent in enumerate(env.possible_agents):
            facts = observe_json(env, agent)
            assert list(facts) == keys and json.loads(json.dumps(facts)) == facts
            assert is_plain(json.dumps(facts, ensure_ascii=False))
            for name in ("dealer", "phase", "bidder"):
                assert facts[name] == getattr(table, name)
            assert (facts["seat"], facts["team"], facts["agent"]) == (seat, seat % env.rules.teams, agent)
            assert (facts["deal"], facts["to_move"]) == (table.deals, table.actor)
            assert set(facts["hand"]) == table.hands[seat] and set(facts["discards"]) == table.discards[seat]
            assert set(facts["kept"]) == (table.kept if seat == table.actor else set())
            assert (facts["scores"], facts["card_points"]) == (list(table.scores), list(table.card_points))
            assert facts["trump"] == (table.trump if table.trump_public or seat == table.bidder else None)
            assert all(table.kinds[kind] == team for kind, team in facts["points"].items())
            mask = env.observe(agent)["action_mask"]
            assert facts["legal_actions"] == mask.nonzero()[0].tolist()
            assert facts["legal"] == legal_strings(env, agent) == [action_text(a) for a in facts["legal_actions"]]
        if action is not None:
            env.step(action)


def test_results_are_told():
    """Of the deal scored last, of a game won, cut off, and ended by an illegal action; cards thrown in are none."""
    env = make_env("four_point", target=1)
    env.reset(seed=1)
    while not is_over(env):
        play(env, seed=1)
        table = view(env.records, 0, env.rules)
        if table.truncated:
            env.reset()
    facts = observe_json(env, 3)
    last = facts["last_deal"]
    assert last["score_changes"] == list(table.last_delta) and last["card_points"] == list(table.last_card_points)
    assert last["points"] == {kind: table.last_kinds[kind] for kind in ("high", "low", "jack", "game")}
    assert last["made"] == (last["score_changes"][last["bidder"] % 2] > 0)
    (winner,) = table.winners
    assert facts["result"] == {"terminated": True, "truncated": False, "winners": [winner], "forfeited_by": None}
    assert observe_text(env, 3).endswith(f"The game is over, won by team {winner}.\n")
    assert f"Deal scored last: seat {last['bidder']} bid {last['bid']} in " in observe_text(env, 3)

    env = make_env("schmier", max_deals=1)
    env.reset(seed=1, options={"first_actions": ["pass"] * 6})
    assert observe_json(env, 0)["last_deal"] is None
    assert observe_text(env, 0).endswith("The game is over, cut off after 1 deals.\n")
    env = make_env("schmier", episode="deal")
    env.reset(seed=1, options={"first_actions": ["pass"] * 6})
    assert observe_text(env, 0).endswith("The deal is over.\n") and not observe_json(env, 0)["result"]["truncated"]


@both_games
def test_an_illegal_action_that_ended_the_game_is_told(game):
    env = make_env(game, illegal="terminate")
    for count in (0, 3, 9, 25, 90):
        env.reset(seed=5)
        play(env, seed=5, count=count)
        team = int(env.agent_selection[-1]) % env.rules.teams
        env.step(NUM_ACTIONS)
        facts = observe_json(env, 0)
        assert facts["result"]["forfeited_by"] == team and facts["last_deal"] is None
        assert observe_text(env, 0).endswith(f"The game is over, ended by an illegal action of team {team}.\n")
        assert legal_strings(env) == []


def test_what_is_asked_is_said_in_every_phase():
    named = deal("schmier", dealer=5, actions=["bid 6"], seed=1).env()
    assert "Name the trump suit." in observe_text(named, "player_0")
    pitched = deal("four_point", dealer=3, actions=["bid 4"], seed=1).env()
    assert "nobody else is told" in observe_text(pitched, "player_0")
    assert observe_text(pitched, 1).endswith("Seat 0 is to move (phase trump); nothing is asked of you.\n")
    pitched.step(int(pitched.last()[0]["action_mask"].argmax()))
    kept = observe_json(pitched, 0)
    assert f"{6 - len(kept['kept'])} to pick" in observe_text(pitched, 0)
    assert "your commitment, nobody else knows it yet" in observe_text(pitched, 0)
    assert "Trump: not known yet." in observe_text(pitched, 2) and observe_json(pitched, 2)["kept"] == []
    assert "Taken from the stock: seat 0, 2 cards." in observe_text(pitched, 2)
    throwing = deal("schmier", dealer=5, actions=["bid 6", "trump H"], seed=1).env()
    assert "Throw a card, or say done" in observe_text(throwing, throwing.agent_selection)
    led = position("schmier", trump="H", led="JD", hands={1: "2H AD KD 9S"}).env()
    assert "Play a card.\nLegal answers: 2H." in observe_text(led, "player_1")
    leading = position("schmier", trump="H", hands={0: "2H AD"}).env()
    assert "Lead a card." in observe_text(leading, "player_0")
    assert "right bauer: nobody, left bauer: nobody" in observe_text(leading, 0)


@all_rules
def test_whatever_a_seat_cannot_know_changes_nothing_that_it_is_told(game):
    """O1, for text and JSON: as for observations in test_hidden.py."""
    rng = np.random.default_rng(23)
    env, other = (make_env(game, max_deals=100, target=500) for _ in range(2))
    env.reset(seed=23)
    for ply, action in enumerate(random_actions(env, seed=23, count=scale(400, 20))):
        mover = int(env.agent_selection[-1])
        for seat in {mover, (mover + 1 + ply) % env.rules.players}:
            record = env.records
            redraw_hidden(record, env.rules, seat, rng)
            other.set_state(env.get_state() | {"record": record.tobytes()})
            assert observe_json(env, seat) == observe_json(other, seat)
            assert observe_text(env, seat, rules=True) == observe_text(other, seat, rules=True)
            if seat == mover:
                told = []
                for table in (env, other):
                    with pytest.raises((UnreadableActionError, IllegalActionError)) as caught:
                        parse_action("bid 10, TH or 9S, or the ace", table)
                    told.append(str(caught.value))
                assert told[0] == told[1]
        env.step(action)


@raw_and_wrapped
@both_games
def test_works_raw_and_wrapped_for_agents_and_seats_and_asks_for_a_reset(game, wrapped):
    env = make_env(game, wrapped)
    for call in (lambda: observe_text(env, "player_0"), lambda: observe_json(env, 0), lambda: legal_strings(env)):
        with pytest.raises(RuntimeError, match=r"call env\.reset\(\) first"):
            call()
    with pytest.raises(RuntimeError, match="reset"):
        parse_action("pass", env)
    env.reset(seed=1)
    assert observe_text(env, "player_1") == observe_text(env, 1) == observe_text(env.unwrapped, np.int64(1))
    before = env.get_state()
    observe_text(env, 1, rules=True)
    assert env.get_state() == before
    assert parse_action(legal_strings(env)[-1], env) == legal_actions(env.unwrapped.records[0])[-1]
    assert legal_strings(env, env.agent_selection) == legal_strings(env) != []
    for agent in set(env.agents) - {env.agent_selection}:
        assert legal_strings(env, agent) == []
    play(env, seed=1, count=50)
    assert observe_json(env, "player_1") == observe_json(env.unwrapped, 1)


@pytest.mark.parametrize("agent", ["player_9", -1, 6, True, 1.0, None, "all"], ids=repr)
def test_a_wrong_agent_is_told_what_is_allowed(agent):
    env = make_env("schmier")
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"player_0, .*player_5, or a seat 0\.\.5") as caught:
        observe_text(env, agent)
    assert repr(agent) in str(caught.value)


def test_another_environment_is_refused_by_name():
    for env in (SingleSeatEnv("four_point"), object(), None):
        with pytest.raises(TypeError, match=f"PettingZoo environment of smear_env.* not {type(env).__name__}"):
            observe_text(env, 0)


# --- The rules in words ------------------------------------------------------------------------------------------


@all_rules
def test_rules_in_words_hold_every_clause_that_they_cite(game):
    text = rules_text(RULES[game])
    assert is_plain(text) and not re.search(r"[*`#]", text)
    given = set(re.findall(r"^([SFO]-\d+) ", text, re.MULTILINE))
    assert set(re.findall(r"\b[SFO]-\d+", text)) <= given
    for letter, first, last in re.findall(r"\b([SFO])-(\d+) to [SFO]-(\d+)", text):
        assert {f"{letter}-{number}" for number in range(int(first), int(last) + 1)} <= given
    own, count = ("F", 23) if "four_point" in game else ("S", 37)
    assert {f"{own}-{number}" for number in range(1, count + 1)} <= given
    assert text.endswith("means exactly one legal action.")


def test_rules_in_words_are_those_of_the_game_in_force():
    schmier, pairs = rules_text(make_rules("schmier")), rules_text(make_rules("schmier_2x3", target=11))
    assert "F-1 " not in schmier and "O-" not in schmier and "Options that differ" not in schmier
    assert "teams = 2: " in pairs and "target = 11: " in pairs and "O-2 target: " in pairs
    assert "widow = 3: " in rules_text(make_rules("four_point", widow=3))
    capped = rules_text(make_rules("schmier", defender_cap="target"))
    assert "defender_cap = target: " in capped and "\nO-8 " in capped and "O-9" not in capped
    env = four_point_v0.env(widow=0)
    env.reset(seed=1)
    with_rules, without = observe_text(env, 0, rules=True), observe_text(env, 0)
    assert with_rules == f"{rules_text(env.unwrapped.rules)}\n\n{without}"


# --- Answers -----------------------------------------------------------------------------------------------------


def test_every_action_is_read_as_it_is_written():
    """O4, for text: whatever else is legal."""
    for action in range(NUM_ACTIONS):
        for text in (action_text(action), action_text(action).lower(), f"Answer: **{action_text(action)}**."):
            assert parse_action(text, range(NUM_ACTIONS)) == parse_action(text, [action]) == action


def test_every_card_is_read_in_words_and_with_glyphs():
    ranks = "two three four five six seven eight nine ten jack queen king ace".split()
    for card in range(52):
        rank, suit = ranks[card % 13], SUIT_NAMES[card // 13]
        sign, glyphs = RANKS[card % 13].replace("T", "10"), "\u2663\u2666\u2665\u2660\u2667\u2662\u2661\u2664"
        for text in (
            f"{rank} of {suit}",
            f"I play the {rank.title()} of {suit.title()}, because it is high.",
            f"{sign} of {suit[:-1]}",
            f"{rank} {suit}".upper(),
            f"{suit} {rank}",
            f"{rank}-of-{suit}",
            f"{rank}_of_{suit}",
            f"{rank}{glyphs[card // 13]}",
            f"{sign}{glyphs[card // 13 + 4]}\ufe0f",
            f"{glyphs[card // 13]}{sign}",
            f'{{"action": "{card_text(card).lower()}"}}',
        ):
            assert parse_action(text, range(NUM_ACTIONS)) == card, text


UNREADABLE, ILLEGAL = UnreadableActionError, IllegalActionError
AUCTION, RAISE, STUCK = "pass, bid 3, bid 4, bid 5, bid 6", "pass, bid 5, bid 6", "bid 2, bid 3, bid 4"
SUITS_ASKED, TWO_SUITS = "trump C, trump D, trump H, trump S", "trump H, trump S"
THROW, HAND = "4C, 5D, 9S, done", "TH, 2S, AH, AS, KD, 5H"

ANSWERS = [
    # The auction.
    (AUCTION, "pass", "pass"),
    (AUCTION, "PASS!", "pass"),
    (AUCTION, "I'll pass on this hand.", "pass"),
    (AUCTION, "I will pass because seat 3 bid 4", "pass"),
    (AUCTION, "I bid 4", "bid 4"),
    (AUCTION, "bid four", "bid 4"),
    (AUCTION, "4", "bid 4"),
    (AUCTION, "Four.", "bid 4"),
    (AUCTION, "**4**", "bid 4"),
    (AUCTION, "My answer: 4", "bid 4"),
    (AUCTION, "bid: 5", "bid 5"),
    (AUCTION, "bid 4 or 5", UNREADABLE),
    (AUCTION, "4/5", UNREADABLE),
    (AUCTION, "pass or bid 4", UNREADABLE),
    (AUCTION, "Should I pass or bid?", UNREADABLE),
    (AUCTION, "Holding AH KH JH I bid 5", "bid 5"),
    (AUCTION, "bid 6 is too risky, so I bid 3.", "bid 3"),
    (AUCTION, "I must pass", "pass"),
    (AUCTION, "Bid\n4", "bid 4"),
    (AUCTION, "I could bid 4 or 5. I bid 5", "bid 5"),
    (AUCTION, "bid 4, no, bid 5", "bid 5"),
    (AUCTION, "I have 4 trumps and 3 aces", UNREADABLE),
    (AUCTION, "I have 4 trumps, so 5", "bid 5"),
    (AUCTION, "bid 4 (I hold AH, KH and the jack of hearts)", "bid 4"),
    (AUCTION, "Seat 3 has bid 4 and the others will pass", UNREADABLE),
    (AUCTION, "1. AH is high\n2. I am short of trumps\n\nPass", "pass"),
    (AUCTION, "My expected value is 2.5", UNREADABLE),
    (AUCTION, "-5", UNREADABLE),
    (AUCTION, "bid 7", ILLEGAL),
    (AUCTION, "2", ILLEGAL),
    (AUCTION, "TH", ILLEGAL),
    (AUCTION, "11", UNREADABLE),
    (RAISE, "bid 4", ILLEGAL),
    (RAISE, "4", ILLEGAL),
    (STUCK, "pass", ILLEGAL),
    # Naming trump.
    (SUITS_ASKED, "trump hearts", "trump H"),
    (SUITS_ASKED, "hearts", "trump H"),
    (SUITS_ASKED, "Trump: H", "trump H"),
    (SUITS_ASKED, "\u2660", "trump S"),
    (SUITS_ASKED, "I name spades, because I have the ace of hearts", "trump S"),
    (SUITS_ASKED, "I name spades with the ace of hearts beside it", ILLEGAL),
    (SUITS_ASKED, "I'd like clubs as trump", "trump C"),
    (SUITS_ASKED, "The trump suit will be diamonds.", "trump D"),
    (SUITS_ASKED, "Let hearts be trump", "trump H"),
    (SUITS_ASKED, "I'd name hearts, spades being weak", UNREADABLE),
    (SUITS_ASKED, "hearts or spades", UNREADABLE),
    (SUITS_ASKED, "I hold many hearts, spades", UNREADABLE),
    (TWO_SUITS, "clubs", ILLEGAL),
    # The exchange.
    (THROW, "done", "done"),
    (THROW, "no more", "done"),
    (THROW, "I am done.", "done"),
    (THROW, "throw the four of clubs", "4C"),
    (THROW, "4", "4C"),
    (THROW, "There are no more good cards: 9S", "9S"),
    (THROW, "discard 4C and 5D", "5D"),
    (THROW, "4C or 5D", UNREADABLE),
    (THROW, "pass", ILLEGAL),
    (THROW, "AS", ILLEGAL),
    # The play.
    (HAND, "TH", "TH"),
    (HAND, "10h", "TH"),
    (HAND, "ten of hearts", "TH"),
    (HAND, "Answer: TH", "TH"),
    (HAND, "I could play the ace of hearts, but I play 2S", "2S"),
    (HAND, "I pass on the king and play the ten of spades", ILLEGAL),
    (HAND, "I pass on the king and play the two of spades", "2S"),
    (HAND, "5", "5H"),
    (HAND, "ace", UNREADABLE),
    (HAND, "A", UNREADABLE),
    ("TH, AH", "ace", "AH"),
    ("TH, AH", "A", "AH"),
    ("TH, AH", "I play the ace.", "AH"),
    ("TH, AH", "the ace, for it is high", UNREADABLE),
    ("TH, AH", "I need a trump", UNREADABLE),
    ("TH, KD", "ace", ILLEGAL),
    ("JH, JD, 2H", "jack", UNREADABLE),
    ("JH, 2H", "jack", "JH"),
    ("JH, JD, 2H", "the left bauer, JD", "JD"),
    ("JH, JD, 2H", "jack of diamonds", "JD"),
    ("JH, JD, 2H", "the left bauer", UNREADABLE),
    (HAND, "As", "AS"),
    (HAND, "as", "AS"),
    (HAND, "I lead the As to draw trumps", "AS"),
    (HAND, "I play TH as it is high", "TH"),
    (HAND, "I PLAY TH AS IT IS HIGH", "TH"),
    (HAND, "Ah, TH", "TH"),
    (HAND, "TH, since there are 5 hearts left", "TH"),
    (HAND, "Hearts are trump. TH", "TH"),
    (HAND, "TH, hearts being trump, and I will pass the lead", "TH"),
    (HAND, "My hand is strong. I keep AS and play TH.", "TH"),
    (HAND, "I don't want to play TH", "TH"),  # negations are not understood
    (HAND, "9S", ILLEGAL),
    (HAND, "I play TH. The others fear 9S", ILLEGAL),
    (HAND, "hearts", ILLEGAL),
    (HAND, "I play a heart", UNREADABLE),
    (HAND, "the ten of hearts or the king", UNREADABLE),
    (HAND, "KD. Ah well", "KD"),
    (HAND, "bid 4", ILLEGAL),
    (HAND, "TH or 9S", UNREADABLE),
    (HAND, "TH, or the ten of hearts", "TH"),
    (HAND, "2S/TH", UNREADABLE),
    (HAND, "<answer>TH</answer>", "TH"),
    (HAND, "$\\boxed{TH}$", "TH"),
    (HAND, "'TH'", "TH"),
    (HAND, "\uff34\uff28", "TH"),
    (HAND, "THE LAST", UNREADABLE),
    (HAND, "10th card", UNREADABLE),
    ("XX, AH", "the joker", "XX"),
    ("XX, AH", "xx", "XX"),
    ("XX, XX2", "joker", UNREADABLE),
    ("XX, XX2", "the second joker", "XX2"),
    (HAND, "joker", ILLEGAL),
    # Nothing at all.
    (HAND, "", UNREADABLE),
    (HAND, " \n\t", UNREADABLE),
    (HAND, "I need to think about it.", UNREADABLE),
    (HAND, "\U0001f0b1 \x00 \x1b[0m", UNREADABLE),
]


@pytest.mark.parametrize(("legal", "text", "expected"), ANSWERS)
def test_an_answer_is_read_as_meant_or_refused(legal, text, expected):
    actions = legal.split(", ")
    if isinstance(expected, str):
        assert action_text(parse_action(text, actions)) == expected
        assert action_text(parse_action(f"Let me think.\n\n{text}\n", actions)) == expected
    else:
        with pytest.raises(expected):
            parse_action(text, actions)


def test_the_answers_above_ask_for_every_kind_of_action():
    legal = {action for actions, _, _ in ANSWERS for action in actions.replace(",", "").split()}
    assert {"pass", "bid", "trump", "done", "XX", "TH"} <= legal


def test_each_form_of_the_grammar_reads_its_example():
    for form in GRAMMAR:
        (mention,) = mentions(form.example)
        assert mention.first is mention.last is form


def test_the_two_errors_say_different_things():
    table = position("schmier", trump="H", led="JD", hands={1: "2H AD KD 9S"}).env()
    with pytest.raises(UnreadableActionError, match=r"no action in 'hm\\xf6 \?': write one, such as 'TH' or") as caught:
        parse_action("hm\u00f6 ?", table)
    assert not isinstance(caught.value, IllegalActionError)
    with pytest.raises(UnreadableActionError, match="can mean AD or 2H: name one of them in full"):
        parse_action("AD or 2H", table)
    with pytest.raises(IllegalActionError, match=r"seat 1 .* 9S .*must follow hearts; the left bauer.*legal: 2H") as no:
        parse_action("Nine of spades!", table)
    assert (no.value.seat, action_text(no.value.action), no.value.legal) == (1, "9S", [26])
    with pytest.raises(IllegalActionError, match="reads as AC or AD or AH or AS, which is not legal; legal: 2H") as no:
        parse_action("ace", table)
    assert (no.value.seat, no.value.action, no.value.legal) == (1, "ace", [26])
    with pytest.raises(IllegalActionError, match="XX is not in the hand"):
        parse_action("the joker", table)
    with pytest.raises(IllegalActionError, match="'9S' reads as 9S, which is not legal; legal: 2H"):
        parse_action("9S", ["2H"])
    with pytest.raises(IllegalActionError, match="legal: nothing"):
        parse_action("9S", [])


def test_after_the_end_nothing_is_legal():
    env = make_env("four_point", episode="deal")
    env.reset(seed=1)
    play(env, seed=1)
    assert legal_strings(env) == []
    with pytest.raises(IllegalActionError, match="after the end"):
        parse_action("TH", env)


def test_legal_actions_are_numbers_or_texts_and_no_mask():
    assert parse_action("4", {54, 58}) == parse_action("4", np.array([54, 58])) == 58
    assert parse_action("4", iter(["pass", "bid 4"])) == 58
    mask = np.zeros(NUM_ACTIONS, np.int8)
    mask[[54, 58]] = 1
    with pytest.raises(ValueError, match=r"mask\.nonzero"):
        parse_action("4", mask)
    for legal in ([70], ["no card"]):
        with pytest.raises(ValueError, match="no action"):
            parse_action("4", legal)
    with pytest.raises(TypeError, match="must be a text, not 34"):
        parse_action(34, [34])


@pytest.mark.jit
def test_noise_is_read_fast_and_never_as_an_action_that_is_not_legal():
    rng = np.random.default_rng(3)
    letters = np.array(list("abcdefgh ijklmnop qrstuvwxyz ,.;:'\"-()\n0123456789\u2665\u2660*_ AKQJTHSDC/"))
    words = "a|i |4 or |th |so |bid |trump is |if i |hearts |\u2665|\u2665 |10|\n|\t |- |'|1. a\n|a, |ace of ".split(
        "|"
    )
    noise = ["".join(rng.choice(letters, 10_000)) for _ in range(5)]
    noise += [(word * 10_000)[:10_000] for word in words]
    for text in noise:
        start = time.perf_counter()
        with contextlib.suppress(UnreadableActionError, IllegalActionError):
            assert parse_action(text, [4, 54, 58]) in (4, 54, 58)
        assert time.perf_counter() - start < 1, text[:20]


@both_games
def test_errors_of_any_answer_are_one_of_the_two_and_the_game_goes_on(game):
    """Random words of the trade: read as something legal, or one of the two errors."""
    words = (*"ace of hearts spades I play bid pass 4 5 or not TH as trump the joker done , . but a".split(), "\n")
    env = make_env(game, max_deals=3)
    env.reset(seed=2)
    rng = np.random.default_rng(2)
    kinds = set()
    for action in random_actions(env, seed=2, count=scale(1000)):
        try:
            read = parse_action(" ".join(rng.choice(words, 5)), env)
            assert env.last()[0]["action_mask"][read]
            kinds.add("read")
        except (UnreadableActionError, IllegalActionError) as error:
            kinds.add(type(error) if is_plain(str(error)) else "not plain")
        env.step(action)
    assert kinds <= {"read", UnreadableActionError, IllegalActionError} and (len(kinds) == 3 or not JIT)


# --- The page ----------------------------------------------------------------------------------------------------


def test_page_shows_what_the_code_does():
    page = PAGE.read_text(encoding="utf-8")
    example, sample = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    printed = []
    for code in (example, sample):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, "docs/text.md", "exec"), {})
        printed.append(out.getvalue())
    assert printed[0].endswith("The deal is over.\n\n")
    assert re.search(r"```text\n(.*?)```", page, re.DOTALL)[1].strip() == printed[1].strip()
    for form in GRAMMAR:
        assert f"| {form.example} | {form.where} |" in page
