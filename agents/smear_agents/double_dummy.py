"""Exact play from any position of the play when all cards are known ("double dummy").

`solve` answers for one position. Players that search call the kernels: `evaluate` (the value of every legal action),
`best_action` (faster), with memory from `new_memory` that they keep. Both are deterministic, and what was solved
before with the same memory makes no difference.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from smear_agents import max_n
from smear_agents.two_sides import (
    HIGHEST_LEVEL,
    LOWEST_LEVEL,
    MADE,
    MARGIN,
    NODES,
    PAYOFF,
    POINTS,
    SCORE,
    SURE,
    best_action,
    evaluate,
    new_memory,
)
from smear_env import GameRules
from smear_env.cards import NUM_CARDS, cards_in
from smear_env.rules import MAX_SEATS, NOBODY, PHASES, make_tables

__all__ = [
    "MADE", "MARGIN", "POINTS", "SCORE", "Model", "Objective", "Solution", "best_action", "evaluate", "new_memory",
    "solve",
]  # fmt: skip

Objective: TypeAlias = Literal["points", "margin", "made", "score"]
Model: TypeAlias = Literal["paranoid", "max_n"]

_OBJECTIVES = get_args(Objective)  # in the order of their numbers
_MODELS = get_args(Model)


@dataclass(frozen=True)
class Solution:
    """What a position of the play comes to.

    Attributes:
        value: of the position for the actor, in the unit of the objective.
        best: the actions that bring it, lowest first.
        values: the value of every legal action.
        points: points of the deal by team, where the value settles them; None where it does not.
        nodes: positions searched.
    """

    value: float
    best: tuple[int, ...]
    values: dict[int, float]
    points: tuple[int, ...] | None
    nodes: int


def solve(
    games: np.ndarray,
    index: int,
    rules: GameRules,
    objective: Objective = "points",
    model: Model = "paranoid",
    memory: np.ndarray | None = None,
) -> Solution:
    """What a position of the play comes to when all cards are known, and which actions lead there.

    Models. `paranoid`: the bidder's team against all others together; with two teams that is the game itself. The
    *side* of a seat is its team, or all teams but the bidder's. `max_n`: each team for itself; among actions of the
    same utility for it a team takes one with more points for itself, then one with fewer points for the next team,
    then for the one after that, and so on around. `best` are those that are as good in all of these.

    Objectives, always of the whole deal. `points`: points of the actor's side. `margin`: these less all others'.
    `made`: 1 if the bidding team makes its bid, else 0, whoever is asking: the others want it low. `score`: the
    change of score of the actor's team less the mean of the other teams', before any cap (O-8); with `paranoid` and
    three teams, to the others it is the bidding team's with the sign changed. In `max_n` a side is a team.

    >>> from smear_env import PRESETS
    >>> from smear_env.testing import position
    >>> hands = {0: "AH 9H", 1: "JH 8C", 2: "KH 9C", 3: "8H TC"}
    >>> table = position("four_point", trump="H", hands=hands, card_points=[30, 30])
    >>> solution = solve(table.games.records, 0, PRESETS["four_point"])
    >>> solution.value, solution.best, solution.points
    (3, (33, 38), (3, 0))

    Args:
        games: (N,) records with nothing hidden.
        index: of the game, which is in the phase of play: between tricks or in the middle of one.
        rules: its rules.
        objective: what the teams want.
        model: how more than two teams go about it.
        memory: from `new_memory`, to reuse; None makes one.

    Raises:
        ValueError: a game that is not in the play, an objective or model that does not exist, or `paranoid` with more
            than three teams.
    """
    _check(games, index, rules, objective, model)
    memory = new_memory() if memory is None else memory
    memory[NODES] = 0
    number = _OBJECTIVES.index(objective)
    if model == "max_n" and rules.teams > 2:
        return _solve_max_n(games, index, rules, number, memory)
    payoffs = np.zeros(NUM_CARDS, np.int64)
    evaluate(games, index, make_tables(rules), number, memory, payoffs)
    actions = list(cards_in(games[index].legal_cards))
    top = max(payoffs[actions])
    bidding = (games[index].actor - games[index].bidder) % rules.teams == 0
    return Solution(
        value=_value(top, number, rules, bidding),
        best=tuple(action for action in actions if payoffs[action] == top),
        values={action: _value(payoffs[action], number, rules, bidding) for action in actions},
        points=_points(games[index], rules, memory, top if bidding else -top),
        nodes=int(memory[NODES]),
    )


def _check(games: np.ndarray, index: int, rules: GameRules, objective: str, model: str) -> None:
    """Raises ValueError if a position cannot be solved like this."""
    if objective not in _OBJECTIVES:
        raise ValueError(f"objective={objective!r} is not allowed; allowed: {', '.join(_OBJECTIVES)}")
    if model not in _MODELS:
        raise ValueError(f"model={model!r} is not allowed; allowed: {', '.join(_MODELS)}")
    phase = PHASES[games[index].phase]
    if phase != "play":
        raise ValueError(f"game {index} is in the phase {phase!r}; only positions of the phase 'play' can be solved")
    if model == "paranoid" and rules.teams > 3:
        raise ValueError(f"model='paranoid' is for two or three teams, not teams={rules.teams}; use model='max_n'")


def _value(payoff: int, objective: int, rules: GameRules, bidding: bool) -> float:
    """What a payoff is in the unit of the objective, and from the view that it is documented with."""
    if objective == SCORE and rules.teams > 2:
        return int(payoff) / (rules.teams - 1)
    if objective == MADE and not bidding:
        return -int(payoff)
    return int(payoff)


def _points(g: np.record, rules: GameRules, memory: np.ndarray, payoff: int) -> tuple[int, ...] | None:
    """The points by team, where there are two, trump is fixed, and one level alone is worth this much."""
    levels = range(memory[LOWEST_LEVEL], memory[HIGHEST_LEVEL] + 1)
    worth_it = [level for level in levels if memory[PAYOFF + level] == payoff]
    if rules.teams > 2 or g.trump == NOBODY or len(worth_it) > 1:
        return None
    made = (worth_it[0] - 1) // 2
    others = int(memory[SURE]) + worth_it[0] % 2 - made
    return (made, others) if g.bidder % 2 == 0 else (others, made)


def _solve_max_n(games: np.ndarray, index: int, rules: GameRules, objective: int, memory: np.ndarray) -> Solution:
    """The same for `max_n`."""
    outcomes = np.zeros((NUM_CARDS, 2 + MAX_SEATS), np.int64)
    max_n.evaluate(games, index, make_tables(rules), objective, memory, outcomes)
    actions = list(cards_in(games[index].legal_cards))
    bidding = (games[index].actor - games[index].bidder) % rules.teams == 0
    ranks, utilities = outcomes[:, 0], outcomes[:, 1]
    top = max(ranks[actions])
    best = tuple(action for action in actions if ranks[action] == top)
    return Solution(
        value=_value(utilities[best[0]], objective, rules, bidding),
        best=best,
        values={action: _value(utilities[action], objective, rules, bidding) for action in actions},
        points=tuple(int(points) for points in outcomes[best[0], 2 : 2 + rules.teams]),
        nodes=int(memory[NODES]),
    )
