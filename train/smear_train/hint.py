"""What players would do in a position that a file describes, and what each action comes to: `smear hint`."""

import difflib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from smear_agents import NeuralAgent, PimcAgent, game_sight, make_agent, solve
from smear_env import GameRules
from smear_env.actions import action_text, is_legal
from smear_env.rules import NOBODY, PHASES, PLAY, make_rules
from smear_env.testing import Table, deal, midplay
from smear_env.text import observe_json, observe_text
from smear_train.asking import single_decision
from smear_train.console import error_line, format_table

Objective = Literal["points", "margin", "made", "score"]

SCORE_CHANGE = "change of score of the own team less the mean of the others'"
"""The unit of what pimc and the solver say: points of the score at the end of the deal."""

MEAN = f"{SCORE_CHANGE}, mean over its deals of the hidden cards"
SHARE = "how probable each action is in its policy"
"""What the values of a player mean."""

Cards = Annotated[str, msgspec.Meta(description="card texts with blanks between them")]


class Position(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A position file. What it does not name is filled in at random from `seed`.

    Without `trump` it is set up from the deal on, with the options of `reset`: `deck`, `dealer`, `scores` and
    `first_actions`; in place of a whole deck `hands` and `stock` name the cards that matter. With `trump` it is one of
    the play: `tricks`, `led`, `hands` (still held), `discards`, `bidder`, `bid` are those of
    `smear_env.testing.midplay`, and `first_actions` go on from there.

    Attributes:
        game: a preset or the path of a rules file.
        options: single rule options.
        episode: "game", or "deal" where the deal is all there is.
    """

    game: str
    options: dict[str, Any] = {}
    episode: Literal["game", "deal"] = "game"
    dealer: int | None = None
    scores: tuple[int, ...] | None = None
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    hands: dict[int, Cards] = {}
    first_actions: tuple[str | int, ...] = ()
    deck: tuple[str | int, ...] | None = None
    stock: Cards | None = None
    trump: str | None = None
    tricks: tuple[Cards, ...] | None = None
    led: Cards | None = None
    discards: dict[int, Cards] | None = None
    bidder: int | None = None
    bid: int | None = None

    @property
    def rules(self) -> GameRules:
        """The rules of its game."""
        return make_rules(self.game, **self.options)

    def table(self) -> Table:
        """The position, set up.

        Raises:
            ValueError, TypeError: it cannot come about; the message names what is wrong.
        """
        rules = self.rules
        for name, seat in (("dealer", self.dealer), ("bidder", self.bidder)):
            if seat is not None and seat not in range(rules.players):
                raise ValueError(f"{name} = {seat} is not allowed; allowed: a seat 0..{rules.players - 1}")
        in_play: dict[str, Any] = {
            "tricks": self.tricks,
            "led": self.led,
            "discards": self.discards,
            "bidder": self.bidder,
            "bid": self.bid,
        }
        from_deal: dict[str, Any] = {"deck": self.deck, "stock": self.stock}
        foreign = in_play if self.trump is None else from_deal
        if given := [name for name, value in foreign.items() if value is not None]:
            raise ValueError(f"{', '.join(given)}: only {'with' if self.trump is None else 'without'} `trump`")
        if self.deck is not None and (self.hands or self.stock):
            raise ValueError("name a whole `deck`, or `hands` and `stock`, not both")
        both: dict[str, Any] = {"scores": self.scores, "seed": self.seed, "episode": self.episode}
        if self.trump is None:
            chosen = {name: value for name, value in from_deal.items() if value is not None}
            actions: Any = self.first_actions
            return deal(rules, hands=self.hands, dealer=self.dealer or 0, actions=actions, **chosen, **both)
        chosen = {name: value for name, value in in_play.items() if value is not None}
        table = midplay(rules, trump=self.trump, hands=self.hands, dealer=self.dealer, **chosen, **both)
        return table.play(*(action_text(one) if isinstance(one, int) else one for one in self.first_actions))


def load_position(path: Path) -> Position:
    """The position in a TOML or JSON file.

    Raises:
        ValueError: the file is not right; the message says where.
        OSError: it cannot be read.
    """
    decode: Any = {".toml": tomllib.loads, ".json": msgspec.json.decode}.get(path.suffix)
    if decode is None:
        raise ValueError("a position is a file whose name ends in .toml or .json")
    data = decode(path.read_text(encoding="utf-8"))
    known = Position.__struct_fields__
    for key in data if isinstance(data, dict) else ():
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            raise ValueError(f"unknown key `{key}`; " + (f"did you mean `{near[0]}`?" if near else f"known: {known}"))
    return msgspec.convert(data, Position, str_keys=True)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a player does in a position.

    Attributes:
        action: its text; None if it gave nothing legal, then `fault` says what it did.
        values: by action, where the player has them.
        meaning: what those are.
        sees_all: it looks at the cards.
    """

    agent: str
    action: str | None
    fault: str | None = None
    values: dict[str, float] | None = None
    meaning: str | None = None
    sees_all: bool = False


def answer(name: str, seed: int, table: Table) -> Answer:
    """What a player does at a table."""
    row = np.zeros(1, np.int64)
    try:
        agent = make_agent(name, table.rules, seed)
        sees_all = bool(getattr(agent, "sees_all", False))
        action = single_decision(agent, table.games)
    except Exception as error:  # anybody's code may raise anything
        return Answer(agent=name, action=None, fault=error_line(error))
    if not is_legal(table.games.records[0], action):
        return Answer(agent=name, action=None, fault=f"chose action {action}, which is not legal", sees_all=sees_all)
    weighed: dict[int, float] = {}
    meaning = None
    if isinstance(agent, PimcAgent):
        (weighed,), meaning = agent.weigh(*game_sight(table.games, row)), MEAN
    elif isinstance(agent, NeuralAgent) and agent.network.is_policy:
        weighed, meaning = agent.shares(table.games.observations[0], table.games.action_masks[0]), SHARE
    values = {action_text(one): round(value, 4) for one, value in weighed.items()}
    return Answer(agent=name, action=action_text(action), values=values or None, meaning=meaning, sees_all=sees_all)


def hint(table: Table, names: Sequence[str], seed: int = 0, objective: Objective | None = None) -> dict[str, Any]:
    """What players would do in a position, as plain data: what `smear hint --json` prints.

    Args:
        table: the position.
        names: of the players, for `smear_agents.make_agent`.
        seed: of their chance.
        objective: also solve the position with all cards known; only in the play.

    Raises:
        ValueError: nobody is to move, there is no such player, or nothing to solve.
    """
    g = table.games.records[0]
    if g.actor == NOBODY:
        raise ValueError("the game is over: nobody is to move")
    if objective is not None and g.phase != PLAY:
        raise ValueError(f"--exact is for the play; this position is in the phase {PHASES[g.phase]!r}")
    env, seat = table.env(), int(g.actor)
    exact = None
    if objective is not None:
        solution = solve(table.games.records, 0, table.rules, objective)
        exact = {
            "objective": objective,
            "meaning": _meaning(objective, table.rules, g),
            "values": {action_text(action): round(value, 4) for action, value in solution.values.items()},
            "best": [action_text(action) for action in solution.best],
        }
    return {
        "game": table.rules.name,
        "seat": seat,
        "phase": PHASES[g.phase],
        "sees": observe_json(env, seat),
        "text": observe_text(env, seat).strip(),
        "answers": [msgspec.to_builtins(answer(name, seed, table)) for name in names],
        "exact": exact,
    }


def _meaning(objective: Objective, rules: GameRules, g: np.record) -> str:
    """What the solver's values say, as `smear_agents.solve` defines them."""
    against_bidder = rules.teams > 2 and (g.actor - g.bidder) % rules.teams != 0
    side = "all teams but the bidder's, which play together" if against_bidder else "the own team"
    if objective == "score" and against_bidder:
        return "the bidding team's change of score less the mean of the others', with the sign changed"
    return {
        "points": f"points of {side}",
        "margin": f"points of {side}, less all others'",
        "made": "1 if the bidding team makes its bid, else 0",
        "score": SCORE_CHANGE,
    }[objective]


def as_text(found: dict[str, Any]) -> str:
    """What `hint` returns, for people: what the seat sees, then a table of its legal actions."""
    answers, exact = found["answers"], found["exact"]
    rows = [["", *(one["agent"] for one in answers), *(["all cards known"] if exact else [])]]
    for action in found["sees"]["legal"]:
        cells = []
        for one in answers:
            sign = "" if one["meaning"] == SHARE else "+"
            value = f"{one['values'][action]:{sign}.2f}" if one["values"] else ""
            cells.append(f"{'*' if one['action'] == action else ' '} {value}".rstrip())
        if exact:
            cells.append(f"{'*' if action in exact['best'] else ' '} {exact['values'][action]:g}")
        rows.append([action, *cells])
    notes = ["* what the player does"]
    for one in answers:
        if one["fault"]:
            notes.append(f"{one['agent']} failed: {one['fault']}")
        elif one["sees_all"]:
            notes.append(f"{one['agent']}: sees all cards, as no player may")
        elif one["values"]:
            notes.append(f"{one['agent']}: {one['meaning']}")
    if exact:
        notes.append(f"all cards known, as no player may: {exact['objective']}, {exact['meaning']}; * the best")
    return "\n".join([found["text"], "", format_table(rows), "", *notes])
