"""A player made of parts: one bids, one exchanges, one plays, so that the phases can be compared apart."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from smear_agents.agent import Agent, GameAgent
from smear_env import GameRules
from smear_env.games import observe_records
from smear_env.observe import block_slice
from smear_env.resample import hide_each
from smear_env.rules import BID, EXCHANGE, KEEP, PHASES, PLAY, TRUMP

PARTS = {"bid": (BID,), "trump": (TRUMP,), "exchange": (EXCHANGE, KEEP), "play": (PLAY,)}
"""The parts and the phases of the game that each decides in. Where `trump` is not named it belongs to `bid`."""

PART_OF_PHASE = np.zeros(len(PHASES), np.int64)
"""The index of the part that decides in a phase."""
for _index, _phases in enumerate(PARTS.values()):
    PART_OF_PHASE[list(_phases)] = _index


def parse_parts(name: str) -> dict[str, str]:
    """The agent of each part in a name such as `bid=greedy+exchange=greedy+play=random`.

    >>> parse_parts("bid=greedy+exchange=random+play=random")
    {'bid': 'greedy', 'exchange': 'random', 'play': 'random', 'trump': 'greedy'}

    What follows a `+` and is no `PART=` belongs to the agent before it, as in `play=nn+search:20`.

    Raises:
        ValueError: a part that does not exist, is named twice, or is missing.
    """
    parts: dict[str, str] = {}
    for text in re.split(r"\+(?=\w+=)", name):
        part, equals, agent = text.partition("=")
        if not equals or not agent or part not in PARTS:
            raise ValueError(f"{text!r} in {name!r} is not PART=AGENT; parts: {', '.join(PARTS)}")
        if part in parts:
            raise ValueError(f"the part {part!r} is named twice in {name!r}")
        parts[part] = agent
    missing = [part for part in ("bid", "exchange", "play") if part not in parts]
    if missing:
        raise ValueError(f"{name!r} has no {' and no '.join(missing)}; write bid=AGENT+exchange=AGENT+play=AGENT")
    parts.setdefault("trump", parts["bid"])
    return parts


class PhasedAgent(Agent):
    """Asks another agent in each phase of the game; all of them read observations.

    Args:
        agents: an agent for each part in `PARTS`, in that order.
        rules: the rules of the game.
        seed: a whole number; the parts have their own.
    """

    def __init__(self, agents: Sequence[Agent], rules: GameRules, seed: int = 0) -> None:
        super().__init__(rules, seed)
        self._agents = agents
        self._phases = block_slice(rules, "phase")
        phases = [phase for phase in range(len(PHASES)) if self.tables["phases"][0] >> phase & 1]
        self._part_of = PART_OF_PHASE[phases]

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """As in `Agent`."""
        actions = np.empty(len(observations), np.int64)
        part_of = self._part_of[observations[:, self._phases].argmax(1)]
        for part, agent in enumerate(self._agents):
            rows = np.flatnonzero(part_of == part)
            if rows.size:
                actions[rows] = agent(observations[rows], action_masks[rows])
        return actions


class PhasedGameAgent(GameAgent):
    """As `PhasedAgent`, where some parts need the game itself. Each part sees what it would see alone."""

    def __init__(self, agents: Sequence[Agent], rules: GameRules, seed: int = 0) -> None:
        super().__init__(rules, seed)
        self._agents = agents
        self.sees_all = any(isinstance(agent, GameAgent) and agent.sees_all for agent in agents)

    def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """As in `GameAgent`."""
        actions = np.empty(len(games), np.int64)
        part_of = PART_OF_PHASE[games["phase"]]
        for part, agent in enumerate(self._agents):
            rows = np.flatnonzero(part_of == part)
            if rows.size:
                actions[rows] = self._ask(agent, games[rows], seats[rows])
        return actions

    def _ask(self, agent: Agent, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        if not isinstance(agent, GameAgent):
            return agent(*observe_records(games, self.rules, seats))
        return agent.choose(games if agent.sees_all else hide_each(games, self.rules, seats), seats)


def make_phased(agents: Mapping[str, Agent], rules: GameRules, seed: int = 0) -> Agent:
    """The player made of an agent for each part in `PARTS`."""
    in_order = [agents[part] for part in PARTS]
    needs_game = any(isinstance(agent, GameAgent) for agent in in_order)
    return (PhasedGameAgent if needs_game else PhasedAgent)(in_order, rules, seed)
