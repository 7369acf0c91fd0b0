"""Asking players whatever they are: one that raises, hangs or answers nonsense costs its own team, and nothing else.

Anybody else's player (`package.module:Class`) lives in a process of its own, which can be ended when it takes too
long. The players of smear_agents are asked where they are, unless a time limit is asked for.
"""

import multiprocessing
import multiprocessing.connection
import operator
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from smear_agents import Agent, GameAgent, decide, game_sight, is_foreign, make_agents
from smear_env import GameRules, Games
from smear_env.actions import NUM_ACTIONS
from smear_train.console import error_line

FORFEIT = int(np.iinfo(np.int64).min)
"""In place of an action: the player has failed here. No player answers with this by accident."""

TIME_LIMIT = 10.0
"""Seconds that a call may take by default, for players that live in a process of their own."""
START_LIMIT = 300.0
"""Seconds that such a player may take to be made: it may import and compile a lot."""
MOST_LOSSES = 3
"""After so many single decisions that cost its process a player is not asked again until `new_deals`."""


class FaultError(Exception):
    """A player did not answer with actions; the message says what it did."""


class LostError(FaultError):
    """A player's process has ended, or had to be ended because it took too long."""


class Player:
    """One player at all the seats it may sit on, each with its own stream of chance.

    Args:
        name: of the agent, see `smear_agents.make_agent`, or of a team, `A+partner=B`.
        rules: the rules of the game.
        seed: of the whole evaluation; a seat's chance is the same whoever sits there.
        time_limit: seconds that a call may take; None: no limit for players of smear_agents, else `TIME_LIMIT`.

    Attributes:
        sees_all: it sees what is hidden.
        decisions, seconds: what it was asked for since `new_deals`, and how long that took.
        faults: why deals were forfeited since then, with their number.

    Raises:
        ValueError: there is no such agent.
    """

    def __init__(self, name: str, rules: GameRules, seed: int, time_limit: float | None = None) -> None:
        self.name = name
        self._caller: _Child | _Local
        if has_own_process(name, time_limit):
            self._caller = _Child(name, rules, seed, time_limit or TIME_LIMIT)
        else:
            self._caller = _Local(name, rules, seed)
        self.sees_all = self._caller.sees_all
        self._most = sys.maxsize  # games to ask for at once; less for a player that was too slow
        self.new_deals()

    def new_deals(self) -> None:
        """Counts anew, for deals that have nothing to do with those before."""
        self.decisions, self.seconds = 0, 0.0
        self.faults: Counter[str] = Counter()
        self._losses = 0

    def ask(self, seat: int, games: Games, rows: np.ndarray) -> np.ndarray:
        """Its actions for a seat in some games of the batch, (M,) int64; FORFEIT where it failed."""
        began = time.perf_counter()
        actions = self._ask(seat, games, rows)
        self.seconds += time.perf_counter() - began
        self.decisions += len(rows)
        masks = games.action_masks[rows]
        inside = (actions >= 0) & (actions < NUM_ACTIONS)
        legal = inside & (masks[np.arange(len(rows)), np.where(inside, actions, 0)] > 0)
        for action in actions[~legal & (actions != FORFEIT)]:
            self.faults[f"chose {action}, which is not legal"] += 1
        return np.where(legal, actions, FORFEIT)

    def _ask(self, seat: int, games: Games, rows: np.ndarray) -> np.ndarray:
        """As `ask`, but legal or not. Where a call for many games fails, fewer are asked for, to find the fault."""
        n = len(rows)
        if n <= self._most:
            try:
                return self._call(seat, games, rows)
            except LostError as error:
                fault = str(error)
                self._most = max(1, n // 2)
                self._losses += n == 1
            except FaultError as error:
                fault = str(error)
            if n == 1:
                self.faults[fault] += 1
                return np.array([FORFEIT])
        half = n // 2
        return np.concatenate([self._ask(seat, games, rows[:half]), self._ask(seat, games, rows[half:])])

    def _call(self, seat: int, games: Games, rows: np.ndarray) -> np.ndarray:
        if self._losses >= MOST_LOSSES:
            raise FaultError(f"not asked again after {MOST_LOSSES} decisions that took too long or ended its process")
        return self._caller.call(seat, games, rows)

    def close(self) -> None:
        """Ends the player's process if it has one."""
        self._caller.close()


def sees_all(agent: Agent) -> bool:
    """Whether an agent sees what is hidden."""
    return isinstance(agent, GameAgent) and agent.sees_all


def single_decision(agent: Agent, games: Games) -> int:
    """What an agent does in a batch of one game, legal or not; whatever it raises, or TypeError for no whole number."""
    return operator.index(np.asarray(decide(agent, games, np.zeros(1, np.int64))).reshape(1)[0])


def has_own_process(name: str, time_limit: float | None) -> bool:
    """Whether a player of that name and limit lives in a process of its own."""
    return is_foreign(name) or time_limit is not None


class _Local:
    """Agents in this process."""

    def __init__(self, name: str, rules: GameRules, seed: int) -> None:
        self._agents = make_agents([name], rules, seed)
        self.sees_all = any(map(sees_all, self._agents))

    def call(self, seat: int, games: Games, rows: np.ndarray) -> np.ndarray:
        """The numbers that the agent answers with, (M,) int64; FaultError if it does not."""
        agent = self._agents[seat]
        return _numbers(lambda: decide(agent, games, rows), len(rows))

    def close(self) -> None:
        """Nothing to end."""


class _Child:
    """Agents in a process of their own, which is started anew after it had to be ended."""

    def __init__(self, name: str, rules: GameRules, seed: int, time_limit: float) -> None:
        self._made_from = name, rules, seed
        self._time_limit = time_limit
        self._process: multiprocessing.process.BaseProcess | None = None
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, *self._made_from), daemon=True)
        self._process.start()
        theirs.close()
        kind, content = self._receive(START_LIMIT)
        if kind != "made":
            self.close()
            raise ValueError(content)
        self._sights = content
        self.sees_all = any(all_cards for _, all_cards in content)

    def call(self, seat: int, games: Games, rows: np.ndarray) -> np.ndarray:
        """As in `_Local`; LostError if it takes too long or its process ends."""
        if self._process is None:
            self._start()
        needs_game, all_cards = self._sights[seat]
        if needs_game:
            sight = game_sight(games, rows, all_cards)
        else:
            sight = games.observations[rows], games.action_masks[rows]
        self._connection.send((seat, sight))
        kind, content = self._receive(self._time_limit)
        if kind != "answered":
            raise FaultError(content)
        return content

    def _receive(self, limit: float) -> Any:
        if not self._connection.poll(limit):
            self.close()
            raise LostError(f"took more than {limit:g} s")
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            self.close()
            raise LostError("its process ended") from None

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _serve(connection: "multiprocessing.connection.Connection", name: str, rules: GameRules, seed: int) -> None:
    """The life of a player's own process: makes its agents, answers calls, ends with its parent."""
    live_as_child()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what it prints is no result of ours
    try:
        agents = make_agents([name], rules, seed)
    except Exception as error:
        connection.send(("failed", str(error) if isinstance(error, ValueError) else f"{name!r} {_raised(error)}"))
        return
    connection.send(("made", [(isinstance(agent, GameAgent), sees_all(agent)) for agent in agents]))
    while True:
        try:
            seat, sight = connection.recv()
        except EOFError:
            return
        agent = agents[seat]
        ask = agent.choose if isinstance(agent, GameAgent) else agent
        try:
            connection.send(("answered", _numbers(partial(ask, *sight), len(sight[1]))))
        except FaultError as fault:
            connection.send(("failed", str(fault)))


def live_as_child() -> None:
    """Leaves Ctrl-C to the parent, and ends this process once the parent has gone, even while a player hangs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _numbers(ask: Callable[[], Any], size: int) -> np.ndarray:
    """What a player answers with as whole numbers, (size,) int64; FaultError if it is anything else, or raises."""
    try:
        answers = np.asarray(ask())
    except Exception as error:
        raise FaultError(_raised(error)) from None
    if answers.shape != (size,) or answers.dtype.kind not in "iu":
        given = repr(answers.item()) if answers.shape == () else f"shape {answers.shape}, type {answers.dtype}"
        raise FaultError(f"answered with {given[:80]} in place of {size} whole numbers")
    return answers.astype(np.int64)


def _raised(error: BaseException) -> str:
    return f"raised {error_line(error)}"[:200]
