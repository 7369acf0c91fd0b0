"""The probe suite: complaints of card players about bots, as positions with the actions that are acceptable.

`load_suite` reads the positions, `run_suite` asks a player about each. Players are scored by the suite, never written
to it: what is accepted in a position is what every strong player would do, given what the seat knows.
"""

import tomllib
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any

import msgspec

from smear_agents import Agent, make_agent
from smear_env import GameRules
from smear_env.actions import action_text, is_legal
from smear_env.rules import PRESETS, make_rules
from smear_env.testing import Table, deal, midplay
from smear_env.text import observe_text
from smear_train.asking import single_decision
from smear_train.console import error_line

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
        chosen: dict[str, Any] = {"hands": self.hands, "dealer": self.dealer, "scores": self.scores, "seed": self.seed}
        in_play: dict[str, Any] = {"tricks": self.tricks, "led": self.led, "discards": self.discards, "bid": self.bid}
        before: dict[str, Any] = {"stock": self.stock, "actions": self.actions}
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
            for game in {one.game for one in probe.positions} | set(
                probe.calibration.games if probe.calibration else ()
            ):
                if game not in PRESETS:
                    raise ValueError(f"unknown game {game!r}; known: {', '.join(PRESETS)}")
            if probe.id in probes:
                raise ValueError(f"there is a probe {probe.id} already")
        except ValueError as error:  # msgspec's and tomllib's are ValueErrors too
            raise ValueError(f"{file.name}: {error}") from error
        probes[probe.id] = probe
    return sorted(probes.values(), key=lambda probe: (len(probe.id), probe.id))


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A position that a player did not pass.

    Attributes:
        position: `P1.3` is the third position of probe P1.
        played: the text of what it played; None if that was no legal action.
        reason: what went wrong then, else why the accepted actions are better.
        shown: the position in words, as the player knows it.
    """

    position: str
    game: str
    played: str | None
    accepted: tuple[str, ...]
    reason: str
    shown: str


class Calibrated(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum bids that a player made against itself: how many, how many of them were made.

    Attributes:
        passed: enough were made, or there were too few to tell, which `reason` says.
    """

    game: str
    deals: int
    max_bids: int
    made: int
    passed: bool
    reason: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How a player did in one probe."""

    id: str
    title: str
    positions: int
    failures: tuple[Failure, ...]
    calibrations: tuple[Calibrated, ...]

    @property
    def passed(self) -> int:
        """How many of the positions it passed."""
        return self.positions - len(self.failures)


MakeAgent = Callable[[GameRules], Agent]


def run_suite(
    agent: str,
    game: str | None = None,
    seed: int = 0,
    deals: int = 0,
    suite: Sequence[Probe] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Result]:
    """How a player does in each probe.

    A player that cannot be made for the rules of a position, raises an exception or gives no legal action fails it.

    Args:
        agent: its name, as for `smear_agents.make_agent`.
        game: the only preset whose positions are asked; None is all.
        seed: of its own chance, and of the deals.
        deals: that it plays against itself for the calibration, in each game; 0 leaves it out.
        suite: other probes than those of this package.
        progress: called with the number of positions done.
    """
    made: dict[GameRules, Agent] = {}

    def make(rules: GameRules) -> Agent:
        if rules not in made:
            made[rules] = make_agent(agent, rules, seed)
        return made[rules]

    results = []
    done = 0
    for probe in load_suite() if suite is None else suite:
        failures = []
        asked = [(number, one) for number, one in enumerate(probe.positions, 1) if game in (None, one.game)]
        for number, one in asked:
            failures += _failures(make, f"{probe.id}.{number}", one)
            done += 1
            progress(done)
        calibrations = []
        if probe.calibration and deals:
            games = [name for name in probe.calibration.games if game in (None, name)]
            calibrations = [_calibrate(agent, name, probe.calibration, deals, seed) for name in games]
        results.append(
            Result(
                id=probe.id,
                title=probe.title,
                positions=len(asked),
                failures=tuple(failures),
                calibrations=tuple(calibrations),
            )
        )
    return results


def _failures(make: MakeAgent, name: str, position: Position) -> list[Failure]:
    """The failure of a player in a position, or nothing."""
    table = position.table()
    played, wrong = _ask(make, table)
    if played in position.accept:
        return []
    seat = int(table.games.records[0].actor)
    return [
        Failure(
            position=name,
            game=position.game,
            played=played,
            accepted=position.accept,
            reason=wrong or position.why,
            shown=observe_text(table.env(), seat).strip(),
        )
    ]


def _ask(make: MakeAgent, table: Table) -> tuple[str | None, str]:
    """The text of what a player does; None and what is wrong if it does nothing legal."""
    try:
        action = single_decision(make(table.rules), table.games)
    except Exception as error:  # anybody's code may raise anything
        return None, error_line(error)
    if not is_legal(table.games.records[0], action):
        return None, f"{_named(action)} is not legal; legal: {', '.join(sorted(table.legal()))}"
    return action_text(action), ""


def _named(action: int) -> str:
    try:
        return f"{action_text(action)} (action {action})"
    except ValueError:
        return f"action {action}"


def _calibrate(agent: str, game: str, wanted: Calibration, deals: int, seed: int) -> Calibrated:
    """Counts the maximum bids of a player in deals that it plays against itself."""
    from smear_train.sim import simulate

    rules = PRESETS[game]
    max_bids = made = 0
    try:
        played = simulate(rules, [agent], deals, seed)
    except Exception as error:  # anybody's code may raise anything
        passed, reason = False, error_line(error)
    else:
        maximum = played.scored & (played.bid == rules.max_bid)
        max_bids, made = int(maximum.sum()), int((maximum & played.made).sum())
        passed = max_bids < wanted.enough or made >= wanted.made * max_bids
        reason = f"at least {wanted.made:.0%} are to be made"
        if max_bids < wanted.enough:
            reason = f"fewer than {wanted.enough} maximum bids are too few to tell"
    return Calibrated(game=game, deals=deals, max_bids=max_bids, made=made, passed=passed, reason=reason)


def totals(results: Iterable[Result]) -> dict[str, Any]:
    """The results as plain data: what `smear probe --json` prints of them."""
    results = list(results)
    passed, positions = (sum(getattr(one, name) for one in results) for name in ("passed", "positions"))
    probes = [
        {
            "id": one.id,
            "title": one.title,
            "passed": one.passed,
            "positions": one.positions,
            "rate": _rate(one.passed, one.positions),
            "calibrations": [msgspec.structs.asdict(each) for each in one.calibrations],
            "failures": [msgspec.to_builtins(each) for each in one.failures],
        }
        for one in results
    ]
    return {"passed": passed, "positions": positions, "rate": _rate(passed, positions), "probes": probes}


def _rate(passed: int, positions: int) -> float | None:
    return round(passed / positions, 4) if positions else None


def probes_table() -> list[tuple[str, str, str, str, int, int]]:
    """The table of the documentation: (probe, title, complaint, source, positions in Schmier, in Four Point)."""
    return [
        (
            probe.id,
            probe.title,
            probe.complaint,
            probe.source,
            sum(one.game == "schmier" for one in probe.positions),
            sum(one.game == "four_point" for one in probe.positions),
        )
        for probe in load_suite()
    ]
