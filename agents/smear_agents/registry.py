"""Agents by name, as on the command line: `random`, `greedy`, `club`, or `package.module:Class` for anybody else's."""

import difflib
import importlib
import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from smear_agents.agent import Agent
from smear_agents.club import ClubAgent
from smear_agents.scripted import GreedyAgent, RandomAgent
from smear_env import GameRules


class Entry(NamedTuple):
    """A name in the registry: what makes the agent from (rules, seed), and what it does."""

    make: Callable[[GameRules, int], Agent]
    meaning: str


AGENTS = {
    "random": Entry(RandomAgent, "any legal action, all equally likely"),
    "greedy": Entry(GreedyAgent, "bids on trumps and honours, takes tricks that hold points cheaply, else throws low"),
    "club": Entry(ClubAgent, "counts cards, knows who is void, weighs what each card is likely to bring"),
}


def make_agent(name: str, rules: GameRules, seed: int = 0) -> Agent:
    """The agent of that name for some rules.

    Args:
        name: a name in `AGENTS`, or `package.module:Class`, called as `Class(rules, seed)`.
        rules: the rules it will play.
        seed: of its own chance.

    Raises:
        ValueError: no such agent.
    """
    if name in AGENTS:
        return AGENTS[name].make(rules, seed)
    module, colon, attribute = name.partition(":")
    if module in AGENTS:
        raise ValueError(f"agent {module!r} takes no argument; given: {name!r}")
    if not colon or not attribute:
        near = difflib.get_close_matches(name, AGENTS)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(AGENTS)}"
        raise ValueError(f"unknown agent {name!r}; {hint} Anybody else's: package.module:Class.")
    try:
        make = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"cannot load agent {name!r}: {error}") from error
    return make(rules, seed)


def make_agents(names: Sequence[str], rules: GameRules, seed: int = 0) -> list[Agent]:
    """An agent for each seat from one name, one a team, or one a seat. Each seat has its own chance.

    Raises:
        ValueError: another number of names, or an unknown one.
    """
    if len(names) == 1:
        names = list(names) * rules.players
    elif len(names) == rules.teams:
        names = [names[seat % rules.teams] for seat in range(rules.players)]
    elif len(names) != rules.players:
        raise ValueError(
            f"{len(names)} players were named; name 1, one for each of the {rules.teams} teams, "
            f"or one for each of the {rules.players} seats"
        )
    return [make_agent(name, rules, zlib.crc32(f"{seed}/{seat}".encode())) for seat, name in enumerate(names)]
