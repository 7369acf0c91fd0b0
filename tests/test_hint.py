"""`smear hint`: position files, what the players say, and what is refused."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from smear_agents import Agent, GameAgent, PimcAgent, solve
from smear_env.actions import action_text
from smear_env.resample import hide
from smear_env.testing import deal, make_deck
from smear_train.cli import main
from smear_train.hint import Position, hint, load_position

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "configs" / "hint").iterdir())
PLAY = ROOT / "configs" / "hint" / "last_trumps.json"

pytestmark = pytest.mark.slow


class Silly(Agent):
    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        return np.array([69])


class Broken(GameAgent):
    def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        raise RuntimeError("two\nlines")


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["hint", *words]) == code
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line on stderr of a command that is refused."""
    assert main(["hint", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("smear: ") and "Traceback" not in captured.err
    return captured.err


def written(tmp_path: Path, text: str, name: str = "position.toml") -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


# --- What is said ------------------------------------------------------------------------------------------------


@pytest.mark.jit
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_answered_the_same_way_every_time(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = printed(capsys, str(path))
    assert first == printed(capsys, str(path))
    assert all(name in first for name in ("greedy", "club", "pimc:30", "Your hand:"))
    document = json.loads(printed(capsys, str(path), "--json"))
    assert document["command"] in first and document["exact"] is None
    assert [one["agent"] for one in document["answers"]] == ["greedy", "club", "pimc:30"]
    legal = document["sees"]["legal"]
    assert all(one["action"] in legal for one in document["answers"])
    assert document["answers"][2]["values"].keys() == set(legal) and document["answers"][0]["values"] is None


@pytest.mark.jit
@pytest.mark.parametrize("number", [0, 1])
def test_positions_of_the_page_come_about(number: int) -> None:
    page = (ROOT / "docs" / "hint.md").read_text(encoding="utf-8")
    language, text = re.findall(r"```(toml|json)\n(.*?)```", page, flags=re.DOTALL)[number]
    data = tomllib.loads(text) if language == "toml" else msgspec.json.decode(text)
    table = msgspec.convert(data, Position, str_keys=True).table()
    assert hint(table, ["greedy"])["answers"][0]["action"] in table.legal()


def test_keys_of_the_page_are_those_of_the_file() -> None:
    page = (ROOT / "docs" / "hint.md").read_text(encoding="utf-8")
    rows = [row for row in page.splitlines() if row.startswith("| `")]
    named = {key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == set(Position.__struct_fields__)


@pytest.mark.jit
@pytest.mark.parametrize("objective", ["score", "points", "margin", "made"])
def test_exact_values_are_the_solvers_and_say_what_they_are(objective: Any, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(PLAY), "--agents", "greedy", "--exact", "--objective", objective]
    found = json.loads(printed(capsys, *words, "--json"))["exact"]
    table = load_position(PLAY).table()
    solution = solve(table.games.records, 0, table.rules, objective)
    assert found["values"] == {action_text(action): value for action, value in solution.values.items()}
    assert found["best"] == [action_text(action) for action in solution.best]
    text = printed(capsys, *words)
    assert "all cards known, as no player may" in text and found["meaning"] in text and objective in text


@pytest.mark.jit
def test_values_of_pimc_are_those_that_it_weighs_with_the_cards_hidden() -> None:
    table = load_position(PLAY).table()
    (answer,) = hint(table, ["pimc:5"], seed=4)["answers"]
    seat = int(table.games.records[0].actor)
    (weighed,) = PimcAgent(table.rules, 4, 5).weigh(hide(table.games.records, 0, table.rules, seat), np.array([seat]))
    assert answer["values"] == {action_text(action): round(value, 4) for action, value in weighed.items()}


@pytest.mark.jit
def test_a_cheater_is_called_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cheater: sees all cards" in printed(capsys, str(PLAY), "--agents", "cheater")


def test_players_that_fail_are_named_and_the_others_answer(capsys: pytest.CaptureFixture[str]) -> None:
    names = f"{__name__}:Silly,{__name__}:Broken,greedy"
    text = printed(capsys, str(PLAY), "--agents", names, code=1)
    assert (
        "Silly failed: chose action 69, which is not legal" in text and "Broken failed: RuntimeError: two lines" in text
    )
    answers = json.loads(printed(capsys, str(PLAY), "--agents", names, "--json", code=1))["answers"]
    assert [one["action"] is None for one in answers] == [True, True, False]


# --- Position files ----------------------------------------------------------------------------------------------


def test_options_of_reset_can_be_written_down_as_they_are(tmp_path: Path) -> None:
    """Texts or numbers; the same position as reset makes of them."""
    deck = make_deck("schmier", hands={0: "AH KH"}, dealer=2, seed=5)
    reset = {"deck": deck, "dealer": 2, "scores": [5, -3, 20], "first_actions": [54, "bid 4"]}
    path = written(tmp_path, json.dumps({"game": "schmier", "options": {"target": 31}, **reset}), "position.json")
    table = load_position(Path(path)).table()
    expected = deal("schmier", deck=deck, dealer=2, scores=[5, -3, 20], actions=["pass", "bid 4"], target=31)
    assert table.view == expected.view and table.rules == expected.rules


def test_first_actions_go_on_from_the_middle_of_the_play(tmp_path: Path) -> None:
    lines = ['game = "four_point"', 'trump = "H"', 'hands = {0 = "AH", 1 = "9H"}', 'first_actions = ["AH", "9H"]']
    table = load_position(Path(written(tmp_path, "\n".join(lines)))).table()
    assert table.view.plays == ("AH", "9H") and table.view.actor == 2


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('game = "schmeer"', "did you mean schmier"),
        ("dealer = 1", "missing required field `game`"),
        ('game = "schmier"\nhand = {}', "unknown key `hand`; did you mean `hands`?"),
        ('game = "schmier"\nzzz = 1', "unknown key `zzz`; known:"),
        ('game = "schmier"\noptions = {targt = 3}', "target"),
        ('game = "schmier"\nscores = "many"', "scores"),
        ('game = "schmier"\nscores = [1, 2]', "3 whole numbers"),
        ('game = "schmier"\ndealer = 6', "dealer = 6 is not allowed; allowed: a seat 0..5"),
        ('game = "schmier"\ntrump = "H"\nbidder = 9', "bidder = 9"),
        ('game = "schmier"\nhands = {7 = "AH"}', "there is no seat 7"),
        ('game = "schmier"\nhands = {0 = "AH", 1 = "AH"}', "named twice: ['AH']"),
        ('game = "schmier"\nhands = {0 = "1H"}', "1H"),
        ('game = "schmier"\ndeck = ["AH"]', "deck"),
        ('game = "schmier"\ndeck = ["AH"]\nhands = {0 = "AH"}', "not both"),
        ('game = "schmier"\nled = "AH"', "led: only with `trump`"),
        ('game = "schmier"\ntrump = "H"\nstock = "AH"', "stock: only without `trump`"),
        ('game = "schmier"\ntrump = "X"', "allowed: C, D, H, S"),
        ('game = "schmier"\ndealer = 3\nfirst_actions = ["pass", "bid 2"]', "bid 2"),
        ('game = "schmier"\nfirst_actions = ["bid nothing"]', "bid nothing"),
        ('game = "schmier"\nfirst_actions = [99]', "99"),
        ('game = "schmier"\nseed = -1', "seed"),
        ('game = "four_point"\nepisode = "deal"\nfirst_actions = ["pass", "pass", "pass", "pass"]', "the game is over"),
        ("game = ", "position.toml"),
    ],
)
def test_a_file_that_is_not_right_is_refused(
    lines: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, lines)
    message = refused(capsys, path)
    assert says in message and path in message and message.count("\n") == 1


def test_a_file_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot be read: No such file" in refused(capsys, str(tmp_path / "none.toml"))
    assert ".toml or .json" in refused(capsys, written(tmp_path, "", "position.yaml"))
    refused(capsys, written(tmp_path, "{", "position.json"))
    refused(capsys, written(tmp_path, "[1]", "position.json"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    refused(capsys, str(tmp_path / "bytes.toml"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--agents", "gredy"], "did you mean greedy"),
        (["--agents", "pimc"], "pimc:N"),
        (["--agents", ""], "unknown agent"),
        (["--seed", "-1"], "--seed -1"),
        (["--objective", "points"], "give both"),
        (["--exact", "--objective", "glory"], "glory"),
    ],
)
def test_wrong_usage_is_named(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert says in refused(capsys, str(PLAY), *words)


def test_only_the_play_can_be_solved(capsys: pytest.CaptureFixture[str]) -> None:
    assert "in the phase 'bid'" in refused(capsys, str(ROOT / "configs" / "hint" / "bid.toml"), "--exact")
