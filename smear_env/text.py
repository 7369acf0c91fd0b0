"""The table in words and as JSON, for language models and people, and their answers read back.

`observe_json` collects what one seat knows, and `observe_text` says the same in sentences, all of it in plain ASCII.
`parse_action` reads an answer, by the table `smear_env.answers.GRAMMAR`.
"""

import functools
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np

from smear_env.actions import BID_1, DONE, PASS, TRUMP_CLUBS, action_from_text, action_text, legal_actions
from smear_env.aec import SmearAECEnv
from smear_env.answers import mentions
from smear_env.cards import NUM_CARDS, SUIT_NAMES, SUITS, card_text, set_text
from smear_env.illegal import IllegalActionError, illegal_action
from smear_env.observe import knows_trump
from smear_env.rules import (
    GAME,
    KINDS,
    NOBODY,
    OVER,
    PHASES,
    PRESETS,
    GameRules,
    differences,
    make_tables,
    rules_table,
)  # fmt: skip

Env: TypeAlias = Any
"""A PettingZoo environment of ours, raw or in any of PettingZoo's wrappers."""

Facts: TypeAlias = dict[str, Any]
"""What `observe_json` returns, or a part of it."""


class UnreadableActionError(ValueError):
    """An answer that names no action, or several; the message says how to write one."""


# --- What a seat knows -------------------------------------------------------------------------------------------


def observe_json(env: Env, agent: str | int) -> Facts:
    """What a seat knows, as plain data: the same keys in every game, at any moment after the first reset.

    Seats and teams are numbers, cards and calls texts as `action_text` writes them; nobody and nothing are None.

    * `game`: the preset and the options that differ from it; `target`: the points that end it.
    * `agent`, `seat`, `team`: who looks; `teams`: the seats of each team; `scores`: one a team.
    * `deal`: dealings-out so far, this one included; `dealer`; `phase`: one of "bid", "trump", "exchange", "keep",
      "play", "over"; `to_move`: the seat to decide.
    * `auction`: the calls in their order, `{"seat", "call"}`; `bidder`, `bid`: the highest bid so far.
    * `trump`: the letter of the suit, if this seat knows it; `trump_public`: whether all do.
    * `exchange`: how many cards each seat has exchanged, in their order, `{"seat", "cards"}`; `stock_taken`: who took
      how many cards from the stock besides, `{"seat", "cards"}`: the dealer (S-17) or the bidder (F-7).
    * `tricks`: in their order, `{"leader", "plays", "winner", "complete"}`, `plays` being `{"seat", "card"}` in the
      order played and `winner` whoever is winning so far.
    * `points`: the team that holds each kind of point so far, those that are played for; `card_points`: in the tricks
      that each team has won.
    * `hand`; `discards`: what the seat has thrown or discarded in this deal; `kept`: what stays with it for certain,
      while it picks the cards to keep.
    * `legal`: the legal actions as texts and `legal_actions` as numbers, if the seat is to move, else empty.
    * `last_deal`: the result of the deal that was scored last, `{"bidder", "bid", "trump", "made", "points",
      "card_points", "score_changes"}`; None before the first and after an illegal action has ended the game.
    * `result`: None before the end, then `{"terminated", "truncated", "winners", "forfeited_by"}`: the teams that
      have won the game, and the team that ended it by an illegal action.

    Args:
        env: a PettingZoo environment of ours, raw or wrapped.
        agent: any agent or seat.

    Raises:
        RuntimeError: `env` has not been reset.
        TypeError, ValueError: not our environment, or no agent of it.
    """
    table = _begun(env)
    g, rules, seat = table.records[0], table.rules, _seat(table, agent)
    return {
        "game": rules.name,
        "target": rules.target,
        "agent": table.possible_agents[seat],
        "seat": seat,
        "team": seat % rules.teams,
        "teams": [list(range(team, rules.players, rules.teams)) for team in range(rules.teams)],
        "scores": _by_team(g.scores, rules),
        "deal": int(g.deals),
        "dealer": int(g.dealer),
        "phase": PHASES[g.phase],
        "to_move": _or_none(g.actor),
        **_bidding_facts(g, rules, seat),
        "tricks": _tricks(g, rules),
        "points": {kind: _or_none(g.kinds[KINDS.index(kind)]) for kind in _kinds(rules) if kind != KINDS[GAME]},
        "card_points": _by_team(g.card_points, rules),
        "hand": set_text(g.hand[seat]).split(),
        "discards": set_text(g.discards[seat]).split(),
        "kept": set_text(g.kept).split() if seat == g.actor else [],
        "legal": legal_strings(table, seat),
        "legal_actions": legal_actions(g) if seat == g.actor else [],
        "last_deal": _last_deal(g, rules),
        "result": _result(g, rules),
    }


def legal_strings(env: Env, agent: str | int | None = None) -> list[str]:
    """The legal actions of the seat to move as texts, in the order of their numbers; none for another agent.

    >>> from smear_env import four_point_v0
    >>> env = four_point_v0.env()
    >>> env.reset(seed=1)
    >>> legal_strings(env), legal_strings(env, env.agent_selection) == legal_strings(env)
    (['pass', 'bid 2', 'bid 3', 'bid 4'], True)

    Raises:
        As `observe_json`.
    """
    table = _begun(env)
    g = table.records[0]
    if agent is not None and _seat(table, agent) != g.actor:
        return []
    return [action_text(action) for action in legal_actions(g)]


def _begun(env: Env) -> SmearAECEnv:
    """The environment itself, without its wrappers, if a game has been dealt."""
    table = getattr(env, "unwrapped", None)
    if not isinstance(table, SmearAECEnv):
        raise TypeError(f"this needs a PettingZoo environment of smear_env, raw or wrapped, not {type(env).__name__}")
    if table.records[0].deals == 0:
        raise RuntimeError("no game has begun: call env.reset() first")
    return table


def _seat(table: SmearAECEnv, agent: str | int) -> int:
    agents: list[str] = table.possible_agents
    if isinstance(agent, str) and agent in agents:
        return agents.index(agent)
    if isinstance(agent, int | np.integer) and not isinstance(agent, bool) and 0 <= agent < len(agents):
        return int(agent)
    raise ValueError(f"agent={agent!r} is not allowed; allowed: {', '.join(agents)}, or a seat 0..{len(agents) - 1}")


def _or_none(number: Any) -> int | None:
    return None if number == NOBODY else int(number)


def _by_team(numbers: np.ndarray, rules: GameRules) -> list[int]:
    return [int(number) for number in numbers[: rules.teams]]


def _kinds(rules: GameRules) -> list[str]:
    """The kinds of points that are played for."""
    return [kind for kind, points in zip(KINDS, make_tables(rules)["kind_points"][0], strict=True) if points]


def _bidding_facts(g: np.record, rules: GameRules, seat: int) -> Facts:
    """From the first call to the first lead."""
    in_turn = [(int(g.dealer) + k) % rules.players for k in range(1, rules.players + 1)]
    exchange = [{"seat": other, "cards": int(g.draws[other])} for other in in_turn if g.draws[other] != NOBODY]
    taken = int(g.next_card) - rules.players * rules.deal_cards - sum(int(one["cards"]) for one in exchange)
    taker = g.dealer if rules.max_discard else g.bidder
    return {
        "auction": [
            {"seat": other, "call": action_text(BID_1 + int(g.bids[other]) - 1 if g.bids[other] else PASS)}
            for other in in_turn
            if g.bids[other] != NOBODY
        ],
        "bidder": _or_none(g.bidder),
        "bid": int(g.bid) or None,
        "trump": SUITS[g.trump] if knows_trump(g, seat) else None,
        "trump_public": bool(g.trump_public),
        "exchange": exchange,
        "stock_taken": {"seat": int(taker), "cards": taken} if taken else None,
    }


def _tricks(g: np.record, rules: GameRules) -> list[Facts]:
    """Every trick of the deal; who won it is who leads to the next."""
    tricks = []
    for number in range(int(g.tricks) + (g.trick_size > 0)):
        leader, begin = int(g.trick_leaders[number]), number * rules.players
        complete = bool(number < g.tricks)
        winner = g.winning
        if complete:
            winner = g.trick_leaders[number + 1] if number + 1 < rules.hand_cards else g.last_trick_winner
        cards = g.plays[begin : begin + (rules.players if complete else g.trick_size)]
        plays = [{"seat": (leader + k) % rules.players, "card": card_text(int(card))} for k, card in enumerate(cards)]
        tricks.append({"leader": leader, "plays": plays, "winner": int(winner), "complete": complete})
    return tricks


def _forfeited_by(g: np.record, rules: GameRules) -> int | None:
    """The team whose illegal action ended the game, which is the only way to end within a deal."""
    all_passed = g.bidder == NOBODY and NOBODY not in g.bids[: rules.players]
    if g.phase != OVER or g.tricks == rules.hand_cards or all_passed:
        return None
    return int(np.argmin(g.last_delta[: rules.teams]))


def _last_deal(g: np.record, rules: GameRules) -> Facts | None:
    if g.last_bidder == NOBODY:
        return None
    return {
        "bidder": int(g.last_bidder),
        "bid": int(g.last_bid),
        "trump": SUITS[g.last_trump],
        "made": bool(g.last_points[g.last_bidder % rules.teams] >= g.last_bid),
        "points": {kind: _or_none(g.last_kinds[KINDS.index(kind)]) for kind in _kinds(rules)},
        "card_points": _by_team(g.last_card_points, rules),
        "score_changes": _by_team(g.last_delta, rules),
    }


def _result(g: np.record, rules: GameRules) -> Facts | None:
    if g.phase != OVER:
        return None
    return {
        "terminated": bool(g.terminated),
        "truncated": bool(g.truncated),
        "winners": [team for team in range(rules.teams) if g.winners >> team & 1],
        "forfeited_by": _forfeited_by(g, rules),
    }


# --- In sentences ------------------------------------------------------------------------------------------------


def observe_text(env: Env, agent: str | int, rules: bool = False) -> str:
    """What a seat knows, in sentences: the facts of `observe_json`, and what is asked if the seat is to move.

    Args:
        env: a PettingZoo environment of ours, raw or wrapped.
        agent: any agent or seat.
        rules: put the rules in front: those clauses of RULES.md that apply, the options that differ from them, and
            how to answer.

    Raises:
        As `observe_json`.
    """
    table = _begun(env)
    facts = observe_json(table, agent)
    parts = [rules_text(table.rules)] if rules else []
    parts += [_standing(facts), _history(facts, table.rules), _cards_held(facts), _question(facts, table.rules)]
    return "\n\n".join(parts) + "\n"


def _teams_text(numbers: Iterable[Any]) -> str:
    return ", ".join(f"team {team}: {number}" for team, number in enumerate(numbers))


def _points_text(points: dict[str, int | None], rules: GameRules) -> str:
    names = {"jack": "right bauer", "left": "left bauer"} if rules.left_bower else {}
    return ", ".join(
        f"{names.get(kind, kind)}: {'nobody' if team is None else f'team {team}'}" for kind, team in points.items()
    )


def _cards_text(number: int) -> str:
    return f"{number} card{'' if number == 1 else 's'}"


def _suit_name(letter: str) -> str:
    return SUIT_NAMES[SUITS.index(letter)]


def _standing(facts: Facts) -> str:
    """Who looks, and how the game stands."""
    teams = [f"seats {' '.join(map(str, seats))}" for seats in facts["teams"]]
    return (
        f"Game: {facts['game']}, to {facts['target']} points. You are seat {facts['seat']} ({facts['agent']}), "
        f"in team {facts['team']}.\nTeams: {_teams_text(teams)}.\n"
        f"Scores: {_teams_text(facts['scores'])}."
    )


def _last_deal_text(last: Facts, rules: GameRules) -> str:
    return (
        f"Deal scored last: seat {last['bidder']} bid {last['bid']} in {_suit_name(last['trump'])} and "
        f"{'made it' if last['made'] else 'was set'}; {_points_text(last['points'], rules)}; "
        f"card points, {_teams_text(last['card_points'])}; "
        f"scores, {_teams_text(f'{change:+d}' for change in last['score_changes'])}."
    )


def _history(facts: Facts, rules: GameRules) -> str:
    """The public history of the deal, line by line, and the points it has brought so far."""
    lines = [] if facts["last_deal"] is None else [_last_deal_text(facts["last_deal"], rules)]
    lines.append(f"Deal {facts['deal']}, dealt by seat {facts['dealer']}.")
    calls = ", ".join(f"seat {one['seat']}: {one['call']}" for one in facts["auction"])
    lines.append(f"Auction: {calls or 'no call yet'}.")
    if facts["bidder"] is not None:
        lines.append(f"Highest bid: {facts['bid']}, by seat {facts['bidder']}.")
    if facts["trump"] is not None:
        secret = "" if facts["trump_public"] else ": your commitment, nobody else knows it yet"
        lines.append(f"Trump: {_suit_name(facts['trump'])}{secret}.")
    else:
        lines.append("Trump: not known yet.")
    if facts["exchange"]:
        exchange = ", ".join(f"seat {one['seat']}: {_cards_text(one['cards'])}" for one in facts["exchange"])
        lines.append(f"Exchanged: {exchange}.")
    if taken := facts["stock_taken"]:
        lines.append(f"Taken from the stock: seat {taken['seat']}, {_cards_text(taken['cards'])}.")
    for number, trick in enumerate(facts["tricks"], start=1):
        plays = ", ".join(f"seat {one['seat']}: {one['card']}" for one in trick["plays"])
        outcome = "won by" if trick["complete"] else "so far winning:"
        lines.append(f"Trick {number}, led by seat {trick['leader']}: {plays}; {outcome} seat {trick['winner']}.")
    lines.append(f"Points so far: {_points_text(facts['points'], rules)}.")
    lines.append(f"Card points so far: {_teams_text(facts['card_points'])}.")
    return "\n".join(lines)


def _cards_held(facts: Facts) -> str:
    lines = [f"Your hand: {' '.join(facts['hand']) or 'no cards'}."]
    if facts["discards"]:
        lines.append(f"Your discards: {' '.join(facts['discards'])}.")
    if facts["kept"]:
        lines.append(f"Kept for certain: {' '.join(facts['kept'])}.")
    return "\n".join(lines)


def _question(facts: Facts, rules: GameRules) -> str:
    """What is asked, or why nothing is."""
    if facts["result"] is not None:
        return _end_text(facts["result"], facts["deal"])
    if facts["to_move"] != facts["seat"]:
        return f"Seat {facts['to_move']} is to move (phase {facts['phase']}); nothing is asked of you."
    pitched = rules.trump_choice == "pitched"
    to_pick = rules.hand_cards - len(facts["kept"])
    asked = {
        "bid": "It is your one turn in the auction.",
        "trump": "Commit yourself to the suit that you will lead, which will be trump; nobody else is told."
        if pitched
        else "Name the trump suit.",
        "exchange": "Throw a card, or say done; the new cards come after your last throw.",
        "keep": f"Pick a card to keep; {to_pick} to pick, one at a time, and the rest goes.",
        "play": "Lead a card." if not facts["tricks"] or facts["tricks"][-1]["complete"] else "Play a card.",
    }[facts["phase"]]
    return f"You are to move. {asked}\nLegal answers: {', '.join(facts['legal'])}."


def _end_text(result: Facts, deals: int) -> str:
    if result["forfeited_by"] is not None:
        return f"The game is over, ended by an illegal action of team {result['forfeited_by']}."
    if result["winners"]:
        return f"The game is over, won by {' and '.join(f'team {team}' for team in result['winners'])}."
    return f"The game is over, cut off after {deals} deals." if result["truncated"] else "The deal is over."


# --- The rules in words ------------------------------------------------------------------------------------------

HOW_TO_ANSWER = (
    "How to answer\n"
    "Name one action, as it stands among the legal answers: a card (TH, or ten of hearts; XX, or joker), pass, bid 4, "
    "trump H (or trump hearts), done. You may write more, but the last action that you name is your answer, even if "
    'you write "not" before it. A part of an action, such as 4, ace or hearts, counts only where it stands alone in '
    "its sentence and means exactly one legal action."
)

_CLAUSE = re.compile(r"^\* \*\*([SFO]-\d+)\*\* (.*(?:\n  .*)*)", re.MULTILINE)
_CITATION = re.compile(r"\b([SFO])-(\d+)(?: to \1-(\d+))?")


@functools.lru_cache(maxsize=256)
def rules_text(rules: GameRules) -> str:
    """The rules of a game in words: the part of RULES.md for it, the options that differ, and how to answer."""
    page = files("smear_env").joinpath("RULES.md").read_text(encoding="utf-8")
    preamble, schmier, four_point, _ = page.split("\n## ")
    clauses = dict(_CLAUSE.findall(page))
    base, section = ("four_point", four_point) if differences(rules)[0] == "four_point" else ("schmier", schmier)
    words = preamble[preamble.index("**Words.**") :].strip()
    usual = {name: value for name, value, *_ in rules_table(PRESETS[base])}
    options = [f"{name} = {value}: {means}" for name, value, means, _ in rules_table(rules) if value != usual[name]]
    parts = [f"Rules of the game\n{words}", section.strip()]
    if options:
        parts.append("Options that differ from these rules, and take precedence\n" + "\n".join(options))
    if cited := _cited(section + parts[-1], clauses):
        others = [f"{number} {clauses[number]}" for number in cited]
        parts.append("Clauses cited above, for what is cited of them\n" + "\n".join(others))
    parts.append(HOW_TO_ANSWER)
    return re.sub(r"#+ |^\* |[*`]", "", "\n\n".join(parts), flags=re.MULTILINE)


def _cited(text: str, clauses: dict[str, str]) -> list[str]:
    """The clauses that a text cites and does not hold, and those cited by them in turn, in the order of the page."""
    held = {number for number, _ in _CLAUSE.findall(text)}
    cited: set[str] = set()
    while text:
        numbers = {
            f"{letter}-{number}"
            for letter, first, last in _CITATION.findall(text)
            for number in range(int(first), int(last or first) + 1)
        }
        new = numbers - held - cited
        cited |= new
        text = "\n".join(clauses[number] for number in new)
    return [number for number in clauses if number in cited]


# --- Answers -----------------------------------------------------------------------------------------------------

HOW_TO_WRITE = "write one, such as 'TH' or 'ten of hearts', 'XX', 'pass', 'bid 4', 'trump H', 'done'"


def parse_action(text: str, legal: Env | Iterable[int | str]) -> int:
    """The action that a language model or a person has written, as a number.

    `smear_env.answers.GRAMMAR` says what is understood; case does not matter. The last action named is the answer.
    Negations are not understood ("not TH" names TH). What is not asked for at all, such as cards in the auction, is
    passed over if there is anything that is. A text with several meanings ("4", "the ace") is understood if exactly
    one of them is legal; `this or that` never is.

    >>> parse_action("I could play the ace of hearts, but I play 2S", ["AH", "2S"])
    39
    >>> parse_action("**Answer:** bid four", ["pass", "bid 4"])
    58

    Args:
        text: the answer.
        legal: the environment, whose messages also say why an action is not legal; or the legal actions of the seat
            to move, as numbers or as texts.

    Raises:
        UnreadableActionError: the text names no action, or its last answer can mean several; it says how to write one.
        IllegalActionError: the action is not legal; it says what is.
    """
    if not isinstance(text, str):
        raise TypeError(f"the answer must be a text, not {text!r}")
    actions = _legal_actions(legal)
    asked = {_sort_of(action) for action in actions}
    named = mentions(text)
    if not named:
        raise UnreadableActionError(f"no action in {_shown(text)}: {HOW_TO_WRITE}")
    fitting = [one for one in named if any(_sort_of(action) in asked for action in one.actions)]
    last = (fitting or named)[-1]
    meant = {action for action in last.actions if _sort_of(action) in asked or not fitting}
    allowed = meant.intersection(actions)
    several = meant if last.choices > 1 else allowed
    if len(several) > 1:
        readings = " or ".join(action_text(action) for action in sorted(several))
        raise UnreadableActionError(f"{_shown(text)} can mean {readings}: name one of them in full")
    if not allowed:
        raise _not_legal(text, sorted(meant), actions, legal)
    return allowed.pop()


def _legal_actions(legal: Env | Iterable[int | str]) -> list[int]:
    if hasattr(legal, "unwrapped"):
        return legal_actions(_begun(legal).records[0])
    actions = [action_from_text(one) if isinstance(one, str) else int(one) for one in legal]
    if len(set(actions)) < len(actions):
        raise ValueError("the legal actions are given as numbers or texts, each once; for a mask: mask.nonzero()[0]")
    for action in actions:
        action_text(action)
    return actions


def _sort_of(action: int) -> str:
    """What an action answers: which card, how much to bid, which trump, or whether that was all."""
    if action < NUM_CARDS:
        return "card"
    return "bid" if action < TRUMP_CLUBS else "trump" if action < DONE else "done"


def _shown(text: str) -> str:
    """The end of a text, where the answer should be, as it may stand in a message."""
    text = " ".join(text.split())
    return ascii(text if len(text) <= 60 else "..." + text[-57:])


def _not_legal(text: str, meant: list[int], actions: list[int], legal: Any) -> IllegalActionError:
    table = _begun(legal) if hasattr(legal, "unwrapped") else None
    if table is not None:
        pack = set(make_tables(table.rules)["deck"][0].tolist())
        meant = [action for action in meant if action in pack or action >= NUM_CARDS] or meant
        if len(meant) == 1:
            return illegal_action(table.records, 0, table.rules, meant[0])
    readings = " or ".join(action_text(action) for action in meant)
    choice = ", ".join(action_text(action) for action in actions) or "nothing, for nobody is to move"
    seat = NOBODY if table is None else int(table.records[0].actor)
    message = f"{_shown(text)} reads as {readings}, which is not legal; legal: {choice}"
    return IllegalActionError(message, seat, meant[0] if len(meant) == 1 else text, actions)
