"""The probe suite: its positions, how players are asked, and what the command prints."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from smear_agents import Agent
from smear_env.actions import action_from_text
from smear_env.testing import Table
from smear_train import probe
from smear_train.cli import main
from smear_train.probe import Calibration, Position, Probe, load_suite, probes_table, run_suite, totals

pytestmark = pytest.mark.no_cover

ROOT = Path(__file__).parents[1]
SUITE = load_suite()
TABLES = {f"{one.id}.{k}": (each, each.table()) for one in SUITE for k, each in enumerate(one.positions, 1)}

GOOD = """
id = "P99"
title = "T"
complaint = "C"
source = "S"
[[positions]]
game = "four_point"
why = "W"
trump = "H"
led = "AH"
hands = { 1 = "TH 8H" }
accept = ["8H"]
"""


class Knowing(Agent):
    """Plays what is accepted, or if `avoid` what is not: it recognises a position by what it sees of it."""

    avoid = False

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        for position, table in TABLES.values():
            actor = int(table.games.records[0].actor)
            if position.rules == self.rules and np.array_equal(table.observation(actor), observations[0]):
                accepted = {action_from_text(text) for text in position.accept}
                return np.array([min(accepted ^ (set(np.flatnonzero(action_masks[0])) if self.avoid else set()))])
        return action_masks.argmax(1)


class Avoiding(Knowing):
    avoid = True


class Raising(Agent):
    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        raise RuntimeError("two\nlines")


class Nothing(Agent):
    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> Any:
        return None


class Illegal(Agent):
    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        return np.array([99 if len(observations[0]) % 2 else action_masks[0].argmin()])


class NotANumber(Agent):
    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> Any:
        return [float(action_masks[0].argmax())]


class Unmade(Raising):
    def __init__(self, rules: Any, seed: int = 0) -> None:
        raise RuntimeError("no weights")


def small(*positions: Position, calibration: Calibration | None = None) -> list[Probe]:
    return [Probe(id="P1", title="T", complaint="C", source="S", positions=positions, calibration=calibration)]


ONE = Position(game="four_point", why="W", trump="H", led="AH", hands={1: "TH 8H 7S 9S TS KC"}, accept=("8H",))


# --- The positions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_position_can_come_about_and_asks_a_question(name: str) -> None:
    position, table = TABLES[name]
    view, legal = table.view, table.legal()
    assert set(position.accept) < legal and position.accept
    cards = [card for pile in (*view.hands, *view.discards, view.plays) for card in pile]
    if view.phase in ("bid", "play"):
        assert len(cards) == len(set(cards)) and sorted([*cards, *view.stock]) == sorted(view.deck)
    # The seat to move is the one that the position is written for: all that it can do is named.
    named = {*position.hands[view.actor].split(), *position.stock.split()}
    assert (view.hands[view.actor] if view.phase != "keep" else legal) <= named
    assert position.rules.name.startswith(position.game) or position.options


def test_probes_have_five_to_twenty_positions_in_both_games() -> None:
    assert [one.id for one in SUITE] == ["P1", "P2", "P3", "P5", "P7", "P8", "P10"]
    for one in SUITE:
        assert 5 <= len(one.positions) <= 20, one.id
        assert {each.game for each in one.positions} == {"schmier", "four_point"}, one.id
        assert len({(each.trump, str(each.hands), each.led) for each in one.positions}) == len(one.positions), one.id
        assert all(each.why.endswith(".") for each in one.positions)


@pytest.mark.parametrize("name", [name for name in TABLES if TABLES[name][0].trump][::3])
def test_what_is_hidden_does_not_matter(name: str) -> None:
    """Other fillings of the same position ask the same seat the same question, and it sees no difference."""
    position, table = TABLES[name]
    other = msgspec.structs.replace(position, seed=position.seed + 1).table()
    assert other.view.actor == table.view.actor and other.legal() == table.legal()
    assert other.view.hands[table.view.actor] == table.view.hands[table.view.actor]
    assert other.view.plays == table.view.plays


def test_the_table_of_the_page_is_that_of_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import generate

    assert generate.PROBES.read_text(encoding="utf-8") == generate.probes_page(), "run `make docs`"
    assert sum(row[4] + row[5] for row in probes_table()) == len(TABLES)


# --- Files -------------------------------------------------------------------------------------------------------


def write(folder: Path, text: str, name: str = "p.toml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("why =", "wy =", r"p.toml: .*`wy`.*positions\[0\]"),
        ('title = "T"\n', "", r"p.toml: .*title"),
        ('title = "T"', "title = 3", r"p.toml: .*\$.title"),
        ('title = "T"', "title = ", r"p.toml: Invalid value .*line 3"),
        ('["8H"]', "[]", r"p.toml: .*positions\[0\].accept"),
        ('"four_point"', '"bridge"', "p.toml: unknown game 'bridge'"),
        ("1 =", "one =", r"p.toml: .*positions\[0\].hands"),
    ],
)
def test_a_file_that_is_not_right_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        load_suite(write(tmp_path, GOOD.replace(old, new, 1)))


def test_two_probes_of_one_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "a.toml")
    with pytest.raises(ValueError, match=r"b\.toml: there is a probe P99 already"):
        load_suite(write(tmp_path, GOOD, "b.toml"))


@pytest.mark.parametrize(
    ("position", "said"),
    [
        ({"trump": "H", "stock": "AH"}, "stock: only for positions without `trump`"),
        ({"bidder": 1, "led": "AH"}, "led, bidder: only for positions with `trump`"),
        ({"trump": "X"}, "allowed: C, D, H, S"),
        ({"trump": "H", "led": "AH AH"}, "named twice"),
    ],
)
def test_a_position_that_cannot_be_is_refused(position: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Position(game="schmier", why="W", accept=("AH",), **position).table()


# --- Players -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_player_that_knows_passes_everything_and_one_that_avoids_nothing() -> None:
    for name, rate in (("Knowing", 1.0), ("Avoiding", 0.0)):
        counts = totals(run_suite(f"{__name__}:{name}"))
        assert counts["rate"] == rate and counts["positions"] == len(TABLES)
        assert {one["rate"] for one in counts["probes"]} == {rate}
    print(f"random: {totals(run_suite('random'))['rate']:.0%}, greedy: {totals(run_suite('greedy'))['rate']:.0%}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Raising", "RuntimeError: two lines"),
        ("Nothing", "TypeError: "),
        ("NotANumber", "TypeError: "),
        ("Illegal", "is not legal; legal: 8H, TH"),
        ("Unmade", "RuntimeError: no weights"),
    ],
)
def test_a_player_that_breaks_fails_with_the_reason(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    results = run_suite(f"{__name__}:{name}", deals=3, suite=small(ONE, calibration=CALIBRATION))
    (failure,) = results[0].failures
    assert failure.played is None and said in failure.reason and "Your hand: " in failure.shown
    assert not results[0].calibrations[0].passed or name == "NotANumber"  # a whole number for the games
    assert "Traceback" not in capsys.readouterr().err


def test_only_the_positions_of_a_game_are_asked() -> None:
    done: list[int] = []
    schmier = run_suite("random", "schmier", progress=done.append)
    assert done == list(range(1, sum(one.positions for one in schmier) + 1)) and 0 < len(done) < len(TABLES)
    assert totals(run_suite("random", "schmier", suite=small(ONE)))["rate"] is None


# --- Calibration -------------------------------------------------------------------------------------------------

CALIBRATION = Calibration(games=("four_point",), made=0.5, enough=20)


@pytest.mark.slow
def test_maximum_bids_have_to_be_made() -> None:
    (random,) = run_suite("random", deals=60, suite=small(ONE, calibration=CALIBRATION))[0].calibrations
    assert random.max_bids >= 20 and not random.passed and "50%" in random.reason
    few = Calibration(games=("four_point",), made=0.5, enough=100)
    (random,) = run_suite("random", deals=60, suite=small(ONE, calibration=few))[0].calibrations
    assert random.passed and "too few to tell" in random.reason
    easy = Calibration(games=("four_point",), made=0.0, enough=1)
    (random,) = run_suite("random", deals=60, suite=small(ONE, calibration=easy))[0].calibrations
    assert random.passed and random.made < random.max_bids


# --- The command -------------------------------------------------------------------------------------------------


@pytest.fixture
def one_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "load_suite", lambda: small(ONE, calibration=CALIBRATION))
    assert sys.modules["smear_train.probe"] is probe


@pytest.mark.usefixtures("one_probe")
def test_command_prints_the_rates_and_how_to_get_them_again(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["probe", "random", "--seed", "3", "-n", "5", "--quiet"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "of 1" in text and "maximum bids made in 5 deals" in text
    assert text.endswith("smear probe random -n 5 --seed 3\n")
    assert main(text.splitlines()[-1].split()[1:]) == 0
    assert capsys.readouterr().out == text
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["command"] in text and document["positions"] == 1 and document["agent"] == "random"
    assert document["probes"][0]["calibrations"][0]["deals"] == 5


@pytest.mark.usefixtures("one_probe")
def test_command_shows_what_failed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", f"{__name__}:Nothing", "--show", "-n", "1", "--game", "four_point"]) == 0
    captured = capsys.readouterr()
    assert "=== P1.1" in captured.out and "Played: nothing legal. Accepted: 8H. TypeError" in captured.out
    assert "Legal answers: 8H, TH." in captured.out and "--game four_point" in captured.out
    assert "Traceback" not in captured.err
    assert main(["probe", f"{__name__}:Unmade", "-n", "1"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gredy"], "did you mean greedy"),
        (["no.such:Agent"], "cannot load"),
        (["greedy", "--game", "bridge"], "allowed: four_point, schmier"),
        (["greedy", "-n", "0"], "-n 0"),
    ],
)
def test_wrong_usage_is_said(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", *words]) == 2
    captured = capsys.readouterr()
    assert said in captured.err and captured.out == ""


def test_tables_are_told_apart_by_what_is_seen() -> None:
    """Else the player that knows could not tell them apart, and the suite would ask the same twice."""
    seen = set()
    for _, table in TABLES.values():
        assert isinstance(table, Table)
        seen.add((table.rules, table.observation(int(table.games.records[0].actor)).tobytes()))
    assert len(seen) == len(TABLES)
