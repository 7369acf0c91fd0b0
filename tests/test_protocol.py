"""The public benchmark: fixed protocols, the row that they print, and the page about them."""

import json
import re
from pathlib import Path

import pytest

from smear_env import PRESETS
from smear_train.cli import main
from smear_train.protocol import load_protocol, names, run, with_bidder

pytestmark = pytest.mark.jit

PAGE = Path(__file__).parents[1] / "docs" / "evaluation.md"


def test_every_game_has_a_protocol_of_deals_of_its_own() -> None:
    assert set(names()) == {"schmier", "four_point"}
    protocols = [load_protocol(name) for name in names()]
    assert len({protocol.seed for protocol in protocols}) == len(protocols)
    for name, protocol in zip(names(), protocols, strict=True):
        assert protocol.game == name and name in PRESETS
        assert protocol.deals >= 10_000


@pytest.mark.parametrize("name", ["schmier", "four_point"])
def test_a_row_holds_the_figures_of_its_evaluations(name: str) -> None:
    protocol = load_protocol(name)
    result = run(protocol, "greedy", deals=40)
    assert not result["complete"] and result["in_time"]
    cells = [cell.strip() for cell in result["row"].strip("|").split("|")]
    assert len(cells) == result["head"].count("|") - 1
    strongest = result["results"][f"against {protocol.references[-1]}"]
    against = cells[len(protocol.references)]
    assert against.startswith(f"{strongest['mean']:+.3f} ({strongest['ci_low']:+.3f} to")
    for evaluation in result["results"].values():
        assert evaluation["seed"] == protocol.seed and evaluation["form"] == protocol.form
        assert evaluation["command"].startswith("smear eval ")
    common = [evaluation for what, evaluation in result["results"].items() if what.endswith("bids")]
    assert all(f"bid={protocol.common_bidder}" in evaluation[side] for evaluation in common for side in "ab")


def test_a_common_bidder_bids_for_any_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_bidder("club", "greedy") == "bid=greedy+exchange=club+play=club"
    parts = "bid=a+trump=b+exchange=c+play=d"
    assert with_bidder(parts, "greedy") == "bid=greedy+exchange=c+play=d"
    assert with_bidder("nn+search:9", "greedy") == "bid=greedy+exchange=nn+search:9+play=nn+search:9"
    parts = "bid=nn+search:9+exchange=c+play=nn+search:8"
    assert with_bidder(parts, "greedy") == "bid=greedy+exchange=c+play=nn+search:8"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lr=0.1").mkdir()  # the folder of a run may be named so
    for name in ("lr=0.1", "lr=0.1+search:8"):
        assert with_bidder(name, "greedy") == f"bid=greedy+exchange={name}+play={name}"


def test_the_command_line_prints_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", "--protocol", "four_point", "random", "--deals", "20", "--quiet"]
    assert main(words) == 3  # fewer deals than the protocol wants
    text = capsys.readouterr().out
    assert "not a row to publish" in text and "smear eval --protocol four_point random --deals 20" in text
    assert main([*words, "--json"]) == 3
    result = json.loads(capsys.readouterr().out)
    assert result["row"] in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--protocol", "bridge", "greedy"], "known: four_point, schmier"),
        (["--protocol", "schmier", "greedy", "random"], "takes one agent"),
        (["--protocol", "schmier", "gredy"], "did you mean greedy"),
        (["greedy", "--game", "schmier"], "two agents"),
        (["greedy", "random"], "--game"),
    ],
)
def test_wrong_use_is_explained(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", *words]) == 2
    assert says in capsys.readouterr().err


def test_a_protocol_that_is_not_right_names_the_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    good = (Path(__file__).parents[1] / "configs" / "eval" / "schmier.toml").read_text()
    path.write_text(good)
    assert load_protocol(str(path)) == load_protocol("schmier")
    for wrong, says in (
        (good.replace("10_000", '"many"'), "deals"),
        (good + "extra = 1\n", "extra"),
        (good.replace("seed =", "seed ="[::-1]), "valid|Expected|expected"),
    ):
        path.write_text(wrong)
        with pytest.raises(ValueError, match=re.compile(f"mine.toml.*({says})", re.S)):
            load_protocol(str(path))


def test_the_page_names_every_protocol_and_verb() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for words in (*(f"--protocol {name}" for name in names()), "smear tournament", "--gate", "--sprt", "--control"):
        assert words in page
