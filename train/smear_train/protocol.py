"""The public benchmark: fixed deals, opponents and forms, so that rows of the results table can be compared."""

import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from smear_agents.phased import parse_parts
from smear_agents.registry import PARTNER, is_made_of_parts
from smear_env import make_rules
from smear_train.console import games_won, percent, points
from smear_train.evaluate import Form, Setup, document, evaluate
from smear_train.match import ALONE, Crew

FOLDERS = (Path(__file__).parent / "protocols", Path(__file__).parents[2] / "configs" / "eval")
"""Where protocols lie: in an installed package, or in a checkout."""


class Protocol(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A benchmark.

    Attributes:
        game: a preset.
        seed: of the deals and of all chance.
        deals: against each reference.
        form: with three teams.
        references: agents, from the weakest to the strongest.
        games: whole games against the strongest.
        common_bidder: bids for both sides in one more match against the strongest.
        seconds_per_decision: that the agent may take on average.
    """

    game: str
    seed: int
    deals: int
    references: tuple[str, ...]
    games: int
    common_bidder: str
    seconds_per_decision: float
    form: Form | None = None


def names() -> list[str]:
    """The protocols there are."""
    return sorted({path.stem for folder in FOLDERS for path in folder.glob("*.toml")})


def load_protocol(name: str) -> Protocol:
    """A protocol by its name, or by the path of its TOML file.

    Raises:
        ValueError: there is none, or it is not right.
    """
    paths = [Path(name)] if name.endswith(".toml") else [folder / f"{name}.toml" for folder in FOLDERS]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise ValueError(f"unknown protocol {name!r}; known: {', '.join(names())}, or the path of a .toml file")
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Protocol, strict=True)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"{path}: {error}") from None


def run(
    protocol: Protocol,
    agent: str,
    deals: int | None = None,
    crew: Crew = ALONE,
    progress: Callable[[str], Callable[[int], None]] = lambda what: lambda done: None,
) -> dict[str, Any]:
    """Plays an agent through a protocol.

    Args:
        protocol: what to play.
        agent: its name.
        deals: fewer than the protocol wants, for a try; whole games are then fewer in proportion.
        crew: who plays it.
        progress: given what is played, the function that is told how many deals are done.

    Returns:
        The results as `smear eval` gives them, and the row of the results table as Markdown.

    Raises:
        ValueError: an agent that does not exist.
        RuntimeError: as for `smear_train.match.play`.
    """
    rules = make_rules(protocol.game)
    share = 1.0 if deals is None else deals / protocol.deals
    strongest = protocol.references[-1]
    base = Setup(
        rules, agent, "", max(1, round(share * protocol.deals)), protocol.seed, protocol.form, game=protocol.game
    )
    setups = {f"against {reference}": replace(base, b=reference) for reference in protocol.references}
    setups[f"against {strongest}, {protocol.common_bidder} bids"] = replace(
        base, a=with_bidder(agent, protocol.common_bidder), b=with_bidder(strongest, protocol.common_bidder)
    )
    setups["games"] = replace(base, b=strongest, deals=max(1, round(share * protocol.games)), episode="game")
    with crew.gathered():
        results = {what: document(evaluate(setup, crew, progress(what))) for what, setup in setups.items()}
    main = results[f"against {strongest}"]
    spent = main["ms_per_decision_a"]
    return {
        "kind": "protocol",
        "protocol": protocol.game,
        "agent": agent,
        "complete": share >= 1,
        "in_time": spent is None or spent <= 1000 * protocol.seconds_per_decision,
        "results": results,
        "head": _row("agent", [*list(setups)[:-1], f"games won against {strongest}", "bids made", "all passed"]),
        "row": _row(
            agent,
            [points(result) for what, result in results.items() if what != "games"]
            + [games_won(results["games"]), percent(main["bid_made"]), percent(main["all_pass"])],
        ),
    }


def with_bidder(agent: str, bidder: str) -> str:
    """The agent with another one's bids and trumps; an agent made of parts keeps its other parts."""
    if PARTNER in agent:
        return PARTNER.join(with_bidder(one, bidder) for one in agent.split(PARTNER))
    if not is_made_of_parts(agent):
        return f"bid={bidder}+exchange={agent}+play={agent}"
    parts = parse_parts(agent)
    return f"bid={bidder}+exchange={parts['exchange']}+play={parts['play']}"


def _row(first: str, cells: list[str]) -> str:
    return "| " + " | ".join([first, *cells]) + " |"
