"""The page "Write your own agent": its code runs, keeps to the rules of the page, and is found by the command line."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from smear_agents import decide, make_agent
from smear_env import PRESETS, Games
from smear_env.resample import hide_each, resample
from smear_train.sim import play_out

PAGE = Path(__file__).parents[1] / "docs" / "agents.md"
CAREFUL, ONE_GUESS, ASKED = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)

pytestmark = pytest.mark.slow


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The two classes of the page as the module `my_player`."""
    module = ModuleType("my_player")
    for block in (CAREFUL, ONE_GUESS):
        exec(compile(block, "docs/agents.md", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "my_player", module)
    return module


@pytest.mark.parametrize("name", ["Careful", "OneGuess"])
@pytest.mark.parametrize("game", PRESETS)
def test_players_of_the_page_are_legal_and_no_more_than_view_and_seed(module: Any, game: str, name: str) -> None:
    games = Games(game, 20, seed=1, episode="deal", autoreset=False)
    games.reset()
    agents = [make_agent(f"my_player:{name}", games.rules, seat) for seat in range(games.rules.players)]
    play_out(games, agents)
    assert games.terminated.all()
    games = Games(game, 20, seed=1)
    games.reset()
    for _ in range(50):
        games.step(games.sample())
    together = decide(agents[0], games, np.arange(20))
    assert list(together) == [decide(agents[0], games, np.array([row]))[0] for row in reversed(range(20))][::-1]
    if name == "OneGuess":
        seats = games.seats.astype(np.int64)
        hidden = hide_each(games.records, games.rules, seats)
        anew = [resample(hidden[i : i + 1], games.rules, int(seat), seed=i) for i, seat in enumerate(seats)]
        assert np.array_equal(agents[0].choose(hide_each(np.concatenate(anew), games.rules, seats), seats), together)


@pytest.mark.jit
def test_the_command_line_finds_them(tmp_path: Path) -> None:
    (tmp_path / "my_player.py").write_text(CAREFUL + ONE_GUESS, encoding="utf-8")
    part = "bid=club+exchange=club+play=my_player:OneGuess"
    done = subprocess.run(
        [str(Path(sys.executable).with_name("smear")), "eval", "my_player:Careful", part]
        + ["--game", "four_point", "--deals", "8", "--json", "--quiet", "--workers", "2"],
        capture_output=True, text=True, cwd=tmp_path, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    players = json.loads(done.stdout)["players"]
    assert not players["a"]["faults"] and not players["b"]["faults"]


@pytest.mark.jit
def test_asking_as_on_the_page_runs() -> None:
    exec(compile(ASKED, "docs/agents.md", "exec"), {})


def test_the_first_example_is_short() -> None:
    code = CAREFUL[CAREFUL.index("class ") :]
    assert len([line for line in code.splitlines() if line.strip()]) <= 16
