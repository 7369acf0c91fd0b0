"""The command line: results, exit codes, messages, terminals."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from smear_agents import AGENTS
from smear_train.cli import main

pytestmark = pytest.mark.no_cover

ROOT = Path(__file__).parents[1]
SIM = ["sim", "--game", "four_point", "--players", "greedy,random", "-n", "20", "--seed", "3"]


def smear(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The program as a process, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "smear_train", *words],
        capture_output=True, text=True, env=os.environ | variables, cwd=ROOT, check=False, timeout=300,
    )  # fmt: skip


def out(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command that succeeds prints."""
    assert main(words) == 0
    return capsys.readouterr().out


def failure(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    """What a command that ends with this code says on stderr, nothing being on stdout."""
    assert main(words) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


def test_list_names_games_agents_and_environments(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "list")
    assert all(
        name in text for name in ("schmier", "schmier_2x3", "four_point", "greedy", "random", "smear/schmier-v0")
    )
    assert json.loads(out(capsys, "list", "--json"))["agents"].keys() == AGENTS.keys()


def test_rules_shows_every_option_and_the_words(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "rules", "four_point", "--rule", "widow=3", "--rule", "protected=ace,low")
    assert re.search(r"^widow +3 ", text, re.MULTILINE) and re.search(r"^protected +ace,low ", text, re.MULTILINE)
    assert text.startswith("four_point ")
    assert json.loads(out(capsys, "rules", "schmier", "--json"))["options"]["target"]["value"] == "21"
    assert "**S-21**" in out(capsys, "rules", "schmier", "--text")


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/rules/*.toml")), ids=lambda path: path.stem)
def test_rules_reads_the_files_of_the_project(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    assert out(capsys, "rules", str(path)).startswith(f"{path.stem}: ")


def test_sim_is_the_same_every_time_and_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    first = out(capsys, *SIM)
    assert first == out(capsys, *SIM)
    assert "smear sim --game four_point --players greedy,random -n 20 --seed 3" in first
    document = json.loads(out(capsys, *SIM, "--json"))
    assert document["deals"] == 20
    assert sum(team["points_per_deal"] for team in document["teams"]) == pytest.approx(0, abs=1e-3)
    assert sum(team["bids"] for team in document["teams"]) == 20 - document["thrown_in"]
    assert document["command"] in first


def test_first_deals_of_a_longer_simulation_are_those_of_a_shorter_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from smear_env import PRESETS
    from smear_train import sim

    whole = sim.simulate(PRESETS["four_point"], ["greedy"], 12, seed=1)
    monkeypatch.setattr(sim, "CHUNK", 5)
    part = sim.simulate(PRESETS["four_point"], ["greedy"], 7, seed=1)
    assert (part.points == whole.points[:7]).all()


@pytest.mark.parametrize(("game", "players"), [("schmier", "greedy"), ("four_point", "greedy"), ("schmier", "random")])
@pytest.mark.slow
def test_a_game_is_told_to_its_end(capsys: pytest.CaptureFixture[str], game: str, players: str) -> None:
    text = out(capsys, "sim", "--game", game, "--players", players, "--show", "--seed", "2")
    assert text.count("--- deal ") == int(re.search(r"game over after (\d+) deals", text)[1])  # type: ignore[index]
    assert text.count("trick 6:") == text.count("last deal: ")
    assert text.count("--- deal ") == text.count("last deal: ") + text.count("thrown in")
    assert re.search(r"(team \d|nobody) won$", text.strip())


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "golden").glob("*.txt")), ids=lambda path: path.stem)
@pytest.mark.slow
def test_whole_games_have_not_drifted(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    """Made by this command; a change of it has to be explained where it is made."""
    text = out(capsys, "sim", "--game", path.stem, "--players", "greedy", "--seed", "5", "--show")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_demo_shows_both_games_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "demo", "-n", "30")
    assert text.count("=== A game of ") == 2 and text.count("smear sim --game") == 2
    assert set(json.loads(out(capsys, "demo", "-n", "30", "--json"))) == {"schmier", "four_point"}


@pytest.mark.slow
@pytest.mark.jit
def test_bench_prints_the_rows_agreed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(out(capsys, "bench", "--seconds", "0.01", "--runs", "1", "--json", "--quiet"))["rows"]
    assert {row["name"] for row in rows} == {"rules", "games", "raw_env", "env"}
    assert {"name", "game", "batch", "decisions_per_s", "obs_bytes"} <= rows[0].keys()
    assert all(row["decisions_per_s"] > 0 for row in rows)
    assert {row["batch"] for row in rows if row["name"] == "games"} >= {1024, 8192}


@pytest.mark.slow
@pytest.mark.jit
def test_bench_measures_the_solver_too(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(out(capsys, "bench", "solver", "-n", "2", "--json", "--quiet"))["rows"]
    assert {(row["game"], row["tricks_left"]) for row in rows} == {
        (game, tricks) for game in ("schmier", "four_point") for tricks in range(1, 7)
    }
    assert all(0 <= row["ms_median"] <= row["ms_max"] and row["positions"] == 2 for row in rows)
    assert "tricks left" in out(capsys, "bench", "solver", "-n", "1")


@pytest.mark.long
@pytest.mark.jit
def test_bench_splits_an_update_of_training(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tmp_path / "tiny.toml"
    config.write_text('game = "schmier"\ndeals = 40\nnetwork = {hidden = [16]}\n', encoding="utf-8")
    rows = json.loads(out(capsys, "bench", "train", str(config), "--runs", "1", "--json", "--quiet"))["rows"]
    share = {row["name"]: row["share"] for row in rows}
    assert share["acting"] + share["values"] + share["learning"] + share["rest"] == pytest.approx(1, abs=0.001)
    for phase in ("acting", "values", "learning"):
        parts = [share[name] for name in share if name.startswith(phase + "/")]
        assert len(parts) >= 3
        assert sum(parts) == pytest.approx(share[phase], abs=0.001)
    assert share["bare network"] + share["not the network"] == pytest.approx(1, abs=0.001)


def test_doctor_plays_every_game(capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(out(capsys, "doctor", "--json"))
    assert set(report["games"].values()) == {"ok"}
    assert "numba" in out(capsys, "doctor")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no verb"),
        (("simulate",), "invalid choice"),
        (("sim",), "--game"),
        (("sim", "--game", "schmir", "--players", "greedy"), "did you mean schmier"),
        (("sim", "--game", "schmier", "--players", "gredy"), "did you mean greedy"),
        (("sim", "--game", "schmier", "--players", "greedy,random"), "one for each of the 3 teams"),
        (("sim", "--game", "schmier", "--players", "greedy:3"), "takes no argument"),
        (("sim", "--game", "schmier", "--players", "no_such_module:Agent"), "cannot load"),
        (("sim", "--game", "schmier", "--players", "greedy", "--rule", "targt=11"), "did you mean target"),
        (("sim", "--game", "schmier", "--players", "greedy", "--rule", "target"), "NAME=VALUE"),
        (("sim", "--game", "schmier", "--players", "greedy", "--rule", "target=many"), "1..500"),
        (("sim", "--game", "schmier", "--players", "greedy", "--rule", "all_pass=free_pitch"), "not implemented yet"),
        (("sim", "--game", "schmier", "--players", "greedy", "-n", "0"), "1 or more"),
        (("sim", "--game", "schmier", "--players", "greedy", "--seed", "-1"), "2^64"),
        (("sim", "--game", "schmier", "--players", "greedy", "-n", "many"), "invalid int"),
        (("rules", "no/such/file.toml"), "cannot read"),
        (("bench", "--runs", "0"), "more than 0"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_is_right(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert said in failure(capsys, 2, *words)


def test_failure_is_exit_1_and_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the\nroof is on fire")

    monkeypatch.setattr("smear_train.sim.simulate", broken)
    assert failure(capsys, 1, *SIM).strip() == "smear: RuntimeError: the roof is on fire"
    with pytest.raises(RuntimeError, match="roof"):
        main([*SIM, "--debug"])


def test_interruption_is_exit_130(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("smear_train.sim.simulate", interrupted)
    assert "interrupted" in failure(capsys, 130, *SIM)


@pytest.mark.jit
@pytest.mark.parametrize(
    "variables", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "cp1252"}, {"TERM": "dumb", "COLUMNS": "40"}]
)
def test_any_terminal_gets_plain_letters(variables: dict[str, str]) -> None:
    """Row U2."""
    for words in (["list"], ["rules", "schmier"], SIM, [*SIM, "--show"], ["--help"]):
        result = smear(*words, **variables)
        assert result.returncode == 0, result.stderr
        assert "\x1b" not in result.stdout + result.stderr and "\r" not in result.stderr
        assert result.stdout.isascii()


@pytest.mark.jit
def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m smear_train sim --game schmier --players greedy --show | head -1"
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert result.returncode == 0 and result.stderr == ""


README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```text\n(.*?\n(smear (?:sim|eval) .*?))\n```", README, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(("shown", "command"), SHOWN, ids=[command for _, command in SHOWN])
def test_results_in_the_readme_are_what_their_commands_print(
    capsys: pytest.CaptureFixture[str], shown: str, command: str
) -> None:
    assert out(capsys, *command.split()[1:], "--quiet").rstrip() == shown


@pytest.mark.jit
def test_commands_in_the_readme_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import shlex

    commands = re.findall(r"^\| `smear ([^`]+)` \|", README, flags=re.MULTILINE)
    assert len(commands) >= 5
    for command in commands:
        if command != "bench":
            for shown, used in (("-n 2000", "-n 20"), ("runs/schmier_small-1", str(tmp_path / "run"))):
                command = command.replace(shown, used)
            for file in ("report.html", "mine.safetensors"):
                command = command.replace(file, str(tmp_path / file))
            if command.startswith("train"):
                command += f" --folder {tmp_path / 'run'}"
                for key in ("updates=1", "deals=16", "clone.updates=1", "evaluation.deals=4"):
                    command += f" --set {key}"
            assert main(shlex.split(command)) == 0, command
            capsys.readouterr()
