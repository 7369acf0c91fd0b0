"""Agents by name, as on the command line.

`random` or `greedy`, the path of a checkpoint or of a training run, `package.module:Class` for anybody else's,
`bid=greedy+exchange=greedy+play=random` for one made of parts.
"""

import difflib
import importlib
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from smear_agents.agent import Agent
from smear_agents.club import ClubAgent
from smear_agents.expert import ExpertAgent
from smear_agents.neural import is_checkpoint, load
from smear_agents.phased import make_phased, parse_parts
from smear_agents.scripted import GreedyAgent, RandomAgent
from smear_agents.search import CheaterAgent, IsmctsAgent, PimcAgent
from smear_env import GameRules


class Entry(NamedTuple):
    """A name in the registry: what makes the agent, and what it does.

    `make` is called with (rules, seed), and with the whole number after the colon where the name has to have one;
    `argument` says what that is, None that there is none.
    """

    make: Callable[..., Agent]
    meaning: str
    argument: str | None = None


AGENTS = {
    "random": Entry(RandomAgent, "any legal action, all equally likely"),
    "greedy": Entry(GreedyAgent, "bids on trumps and honours, takes tricks that hold points cheaply, else throws low"),
    "club": Entry(ClubAgent, "counts cards, knows who is void, weighs what each card is likely to bring"),
    "expert": Entry(ExpertAgent, "club, that bids by the chance to win the game and plays the last tricks exactly"),
    "pimc": Entry(PimcAgent, "deals the hidden cards anew N times, searches each deal, takes the mean", "N"),
    "ismcts": Entry(IsmctsAgent, "grows one tree over N deals of the hidden cards", "N"),
    "cheater": Entry(CheaterAgent, "sees all cards: no player, but a bound for the others"),
}

MOST = 1_000_000
"""The highest number after the colon of a name."""


def make_agent(name: str, rules: GameRules, seed: int = 0) -> Agent:
    """The agent of that name for some rules.

    Args:
        name: a name in `AGENTS`, some with a number, as in `pimc:30`; or the path of a checkpoint (.safetensors) or of
            a training run; or `package.module:Class`, called as `Class(rules, seed)`; or parts joined by `+`, as in
            `bid=greedy+exchange=greedy+play=random`.
        rules: the rules it will play.
        seed: of its own chance.

    Raises:
        ValueError: no such agent.
    """
    if name in AGENTS and AGENTS[name].argument is None:
        return AGENTS[name].make(rules, seed)
    if "=" in name and not Path(name).exists():
        return make_phased(
            {part: make_agent(agent, rules, seed) for part, agent in parse_parts(name).items()}, rules, seed
        )
    if is_checkpoint(name):
        return load(name, rules, seed)
    module, colon, attribute = name.partition(":")
    if module in AGENTS:
        entry = AGENTS[module]
        if entry.argument is None:
            raise ValueError(f"agent {module!r} takes no argument; given: {name!r}")
        if not attribute.isdecimal() or not 1 <= int(attribute) <= MOST:
            raise ValueError(f"{name!r} is not {module}:{entry.argument}, a whole number 1..{MOST}, as in {module}:30")
        return entry.make(rules, seed, int(attribute))
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
    return [make_agent(name, rules, seat_seed(seed, seat)) for seat, name in enumerate(names)]


def seat_seed(seed: int, seat: int) -> int:
    """The seed of the chance of whoever sits at a seat."""
    return zlib.crc32(f"{seed}/{seat}".encode())
