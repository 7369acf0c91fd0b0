"""The probe suite: complaints of card players about bots, as positions with the actions that are acceptable.

`load_suite` reads the positions, `run_suite` asks a player about each. Players are scored by the suite, never written
to it: what is accepted in a position is what every strong player would do, given what the seat knows.
"""

import operator
import tomllib
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any

import msgspec
import numpy as np

from smear_agents import Agent, decide, make_agent
from smear_env import GameRules
from smear_env.actions import action_from_text, action_text, is_legal
from smear_env.rules import NOBODY, PRESETS, make_rules
from smear_env.testing import Table, deal, midplay
from smear_env.text import observe_text

FOLDER = files("smear_train") / "probes"

Text = Annotated[str, msgspec.Meta(min_length=1)]


class Position(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A position and what is accepted in it.

    With `trump` it is one of the play, set up by `smear_env.testing.midplay`; without, one of the auction, the exchange
    or the keeping, set up by `smear_env.testing.deal`. The fields from `options` on are their arguments.

    Attributes:
        game: a preset.
        why: the reason, in a line.
        accept: texts of the accepted actions.
    """

    game: str
    why: Text
    accept: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    options: dict[str, Any] = {}
    hands: dict[int, str] = {}
    dealer: int | None = None
    scores: tuple[int, ...] | None = None
    seed: int = 0
    trump: str | None = None
    tricks: tuple[str, ...] = ()
    led: str = ""
    discards: dict[int, str] = {}
    bidder: int | None = None
    bid: int | None = None
    stock: str = ""
    actions: tuple[str, ...] = ()

    @property
    def rules(self) -> GameRules:
        """The rules of its game."""
        return make_rules(self.game, **self.options)

    def table(self) -> Table:
        """The position, set up.

        Raises:
            ValueError: it cannot come about.
        """
        chosen = {"hands": self.hands, "dealer": self.dealer, "scores": self.scores, "seed": self.seed}
        in_play = {"tricks": self.tricks, "led": self.led, "discards": self.discards, "bid": self.bid}
        before = {"stock": self.stock, "actions": self.actions}
        foreign = before if self.trump else {**in_play, "bidder": self.bidder}
        if given := [name for name, value in foreign.items() if value not in (None, "", (), {})]:
            asks = "without `trump`" if self.trump else "with `trump`"
            raise ValueError(f"{', '.join(given)}: only for positions {asks}")
        if self.trump:
            return midplay(self.rules, trump=self.trump, bidder=self.bidder or 0, **chosen, **in_play)
        return deal(self.rules, **{**chosen, "dealer": self.dealer or 0}, **before)


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of the maximum bids that a player makes against itself.

    Attributes:
        games: presets.
        made: the least share of them that has to be made.
        enough: with fewer of them the share tells nothing, and they pass.
    """

    games: tuple[str, ...]
    made: Annotated[float, msgspec.Meta(ge=0, le=1)]
    enough: Annotated[int, msgspec.Meta(ge=1)]


class Probe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One complaint: its name, what it is, where it was made, and positions that show it."""

    id: Text
    title: Text
    complaint: Text
    source: Text
    positions: Annotated[tuple[Position, ...], msgspec.Meta(min_length=1)]
    calibration: Calibration | None = None


def load_suite(folder: Traversable = FOLDER) -> list[Probe]:
    """The probes of a folder, in the order of their numbers; by default those of this package.

    Raises:
        ValueError: a file that is not right; the message names the file and the place in it.
    """
    probes: dict[str, Probe] = {}
    for file in sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name):
        try:
            probe = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Probe, str_keys=True)
            for game in {one.game for one in probe.positions} | set(probe.calibration.games if probe.calibration else ()):
                if game not in PRESETS:
                    raise ValueError(f"unknown game {game!r}; known: {', '.join(PRESETS)}")
            if probe.id in probes:
                raise ValueError(f"there is a probe {probe.id} already")
        except ValueError as error:  # msgspec's and tomllib's are ValueErrors too
            raise ValueError(f"{file.name}: {error}") from error
        probes[probe.id] = probe
    return sorted(probes.values(), key=lambda probe: (len(probe.id), probe.id))
