"""Agents by name, as on the command line.

`random` or `greedy`, `nn:schmier` for a shipped network, the path of a checkpoint or of a training run, either of these
with `+search:N`, `package.module:Class` for anybody else's, `bid=greedy+exchange=greedy+play=random` for one made of
parts. `club+partner=greedy` names the two players of a team.
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
from smear_agents.network import Network
from smear_agents.neural import NeuralAgent, is_checkpoint, network_for, read_network, shipped_network
from smear_agents.phased import make_phased, parse_parts
from smear_agents.scripted import GreedyAgent, RandomAgent
from smear_agents.search import CheaterAgent, IsmctsAgent, NetworkSearchAgent, PimcAgent
from smear_env import GameRules


class Entry(NamedTuple):
    """A name in the registry: what makes the agent, and what it does.

    `make` is called with (rules, seed), and with what follows the colon, if anything does. `argument` says what that
    is: None for nothing, N for a whole number, which the name has to have, anything else for a text.
    """

    make: Callable[..., Agent]
    meaning: str
    argument: str | None = None


def _shipped(rules: GameRules, seed: int, game: str = "") -> Agent:
    return NeuralAgent(rules, seed, shipped_network(rules, game))


def _shipped_search(rules: GameRules, seed: int, worlds: int) -> Agent:
    return NetworkSearchAgent(rules, seed, shipped_network(rules), worlds)


AGENTS = {
    "random": Entry(RandomAgent, "any legal action, all equally likely"),
    "greedy": Entry(GreedyAgent, "bids on trumps and honours, takes tricks that hold points cheaply, else throws low"),
    "club": Entry(ClubAgent, "counts cards, knows who is void, weighs what each card is likely to bring"),
    "expert": Entry(ExpertAgent, "club, that bids by the chance to win the game and plays the last tricks exactly"),
    "pimc": Entry(PimcAgent, "deals the hidden cards anew N times, searches each deal, takes the mean", "N"),
    "ismcts": Entry(IsmctsAgent, "grows one tree over N deals of the hidden cards", "N"),
    "nn": Entry(_shipped, "the network shipped for the game, trained by self-play", "GAME"),
    "nn+search": Entry(
        _shipped_search, "that network, which first plays its options to the end in N deals of the hidden cards", "N"
    ),
    "cheater": Entry(CheaterAgent, "sees all cards: no player, but a bound for the others"),
}

MOST = 1_000_000
"""The highest number after the colon of a name."""

SEARCH = "+search"
"""What follows the name of a network that is to search."""

PARTNER = "+partner="
"""What stands between the names of the players of a team."""


def make_agent(name: str, rules: GameRules, seed: int = 0) -> Agent:
    """The agent of that name for some rules.

    Args:
        name: a name in `AGENTS`, some with a number or a game, as in `pimc:30`, `nn:schmier`; or the path of a
            checkpoint (.safetensors) or of a training run; or one of these networks with `+search:N`; or
            `package.module:Class`, called as `Class(rules, seed)`; or parts joined by `+`, as in
            `bid=greedy+exchange=greedy+play=random`.
        rules: the rules it will play.
        seed: of its own chance.

    Raises:
        ValueError: no such agent.
    """
    if PARTNER in name:
        raise ValueError(f"{name!r} names the players of a team, where one player is asked for")
    if name in AGENTS and AGENTS[name].argument != "N":
        return AGENTS[name].make(rules, seed)
    if is_made_of_parts(name):
        return make_phased(
            {part: make_agent(agent, rules, seed) for part, agent in parse_parts(name).items()}, rules, seed
        )
    if is_checkpoint(name):
        return NeuralAgent(rules, seed, read_network(name))
    module, colon, attribute = name.rpartition(":") if ":" in name else (name, "", "")
    if module in AGENTS:
        entry = AGENTS[module]
        if entry.argument is None:
            raise ValueError(f"agent {module!r} takes no argument; given: {name!r}")
        if entry.argument != "N":
            return entry.make(rules, seed, attribute)
        return entry.make(rules, seed, _number(module, attribute))
    if module.endswith(SEARCH):
        network = _network(module.removesuffix(SEARCH), rules)
        return NetworkSearchAgent(rules, seed, network, _number(module, attribute))
    if not colon or not attribute:
        near = difflib.get_close_matches(name, AGENTS)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(AGENTS)}"
        raise ValueError(f"unknown agent {name!r}; {hint} Anybody else's: package.module:Class.")
    try:
        make = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"cannot load agent {name!r}: {error}") from error
    return make(rules, seed)


def _number(name: str, text: str) -> int:
    """The whole number after the colon of a name."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise ValueError(f"'{name}:{text}' is not {name}:N, a whole number 1..{MOST}, as in {name}:30")
    return int(text)


def _network(name: str, rules: GameRules) -> Network:
    """The network of that name, shipped or in a file, to play some rules."""
    if is_checkpoint(name):
        return network_for(read_network(name), rules)
    if name == "nn" or name.startswith("nn:"):
        return shipped_network(rules, name.removeprefix("nn").removeprefix(":"))
    raise ValueError(f"{name!r} is no network that could search; name nn, nn:GAME, a checkpoint or a training run")


def is_made_of_parts(name: str) -> bool:
    """Whether a name is of an agent made of parts, PART=AGENT each; a path with such a sign is none.

    >>> is_made_of_parts("bid=greedy+exchange=club+play=nn+search:20"), is_made_of_parts("club")
    (True, False)
    """
    return "=" in name and not Path(split_search(name)[0]).exists()


def split_search(name: str) -> tuple[str, str]:
    """The name of a network and what follows it if it is to search.

    >>> split_search("run.safetensors+search:20")
    ('run.safetensors', '+search:20')
    >>> split_search("club")
    ('club', '')
    """
    network, search, number = name.rpartition(SEARCH + ":")
    return (network, search + number) if search else (name, "")


def is_foreign(name: str) -> bool:
    """Whether an agent, or a part of it, is none of this package's but `package.module:Class`."""
    return any(map(_is_foreign, single_players(name)))


def _is_foreign(name: str) -> bool:
    """`is_foreign` of a single player."""
    module, colon, _ = name.rpartition(":")
    return bool(colon) and module not in AGENTS and not module.endswith(SEARCH) and not is_checkpoint(name)


def rename(name: str, change: Callable[[str], str]) -> str:
    """A name in which each single player, of a team or of an agent made of parts, has another name.

    >>> rename("bid=club+exchange=club+play=greedy+partner=club", str.upper)
    'bid=CLUB+exchange=CLUB+play=GREEDY+trump=CLUB+partner=CLUB'
    """
    if PARTNER in name:
        return PARTNER.join(rename(one, change) for one in name.split(PARTNER))
    if is_made_of_parts(name):
        return "+".join(f"{part}={rename(agent, change)}" for part, agent in parse_parts(name).items())
    return change(name)


def single_players(name: str) -> list[str]:
    """The single players of a team or of an agent made of parts, each once.

    >>> single_players("bid=club+exchange=club+play=greedy+partner=random")
    ['club', 'greedy', 'random']
    """
    found: dict[str, str] = {}
    rename(name, lambda one: found.setdefault(one, one))
    return list(found)


def make_agents(names: Sequence[str], rules: GameRules, seed: int = 0) -> list[Agent]:
    """An agent for each seat from one name, one a team, or one a seat. Each seat has its own chance.

    The name of a team, `A+partner=B`, seats A on its first seat and B on the next, and so on.

    Raises:
        ValueError: another number of names, or an unknown one; more or fewer partners than a team has players.
    """
    if len(names) in (1, rules.teams):
        teams = [names[team % len(names)] for team in range(rules.teams)]
        names = [_at_place(teams[seat % rules.teams], seat // rules.teams, rules) for seat in range(rules.players)]
    elif len(names) != rules.players:
        raise ValueError(
            f"{len(names)} players were named; name 1, one for each of the {rules.teams} teams, "
            f"or one for each of the {rules.players} seats"
        )
    return [make_agent(name, rules, seat_seed(seed, seat)) for seat, name in enumerate(names)]


def _at_place(name: str, place: int, rules: GameRules) -> str:
    """Who of a team sits at its first, second, ... seat."""
    names, size = name.split(PARTNER), rules.players // rules.teams
    if len(names) not in (1, size):
        raise ValueError(f"{name!r} names {len(names)} players; a team of {rules.name} has {size}")
    return names[place % len(names)]


def seat_seed(seed: int, seat: int) -> int:
    """The seed of the chance of whoever sits at a seat."""
    return zlib.crc32(f"{seed}/{seat}".encode())
