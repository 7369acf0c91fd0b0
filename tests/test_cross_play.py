"""Cross-play: teams of two different players, by name, and what they come to beside each other."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smear_agents import ClubAgent, GreedyAgent, make_agent, make_agents
from smear_agents.registry import rename, single_players
from smear_env import PRESETS
from smear_train.asking import has_own_process
from smear_train.cli import main
from smear_train.cross_play import CrossPlay, cross, document
from smear_train.evaluate import Setup, evaluate
from smear_train.match import Crew
from smear_train.protocol import with_bidder

pytestmark = pytest.mark.jit

ROOT = Path(__file__).parents[1]
SCHMIER, FOUR_POINT = PRESETS["schmier"], PRESETS["four_point"]
both_games = pytest.mark.parametrize("rules", [SCHMIER, FOUR_POINT])


@both_games
def test_partners_sit_across_from_each_other(rules: Any) -> None:
    agents = make_agents(["club+partner=greedy"], rules)
    assert [type(agent) for agent in agents] == [ClubAgent] * rules.teams + [GreedyAgent] * rules.teams
    agents = make_agents(["club+partner=greedy", *["club"] * (rules.teams - 1)], rules)
    assert [seat for seat, agent in enumerate(agents) if isinstance(agent, GreedyAgent)] == [rules.teams]


def test_a_team_is_no_player_and_has_no_more_than_its_seats() -> None:
    with pytest.raises(ValueError, match="where one player is asked for"):
        make_agent("club+partner=greedy", SCHMIER)
    with pytest.raises(ValueError, match="where one player is asked for"):
        make_agents(["club+partner=greedy", *["club"] * 5], SCHMIER)
    with pytest.raises(ValueError, match="names 3 players; a team of schmier has 2"):
        make_agents(["club+partner=greedy+partner=club"], SCHMIER)
    with pytest.raises(ValueError, match="a team of mini_2p has 1"):
        make_agents(["club+partner=greedy"], PRESETS["mini_2p"])


@both_games
def test_two_of_a_kind_are_that_player(rules: Any) -> None:
    form: Any = "one-vs-two" if rules.teams == 3 else None
    usual = evaluate(Setup(rules, "club", "greedy", 40, seed=2, form=form))
    named = evaluate(Setup(rules, "club+partner=club", "greedy", 40, seed=2, form=form))
    assert (usual.values == named.values).all() and usual.values.any()


def test_partners_in_processes_of_their_own_play_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them searches, so he gets the game and the other what he sees."""
    name = "pimc:2+partner=club"
    assert not has_own_process(name, None) and has_own_process(name, 60.0)
    here = evaluate(Setup(FOUR_POINT, name, "club", 8, seed=3))
    there = evaluate(Setup(FOUR_POINT, name, "club", 8, seed=3, time_limit=60.0))
    assert (here.values == there.values).all() and not there.tally.forfeited.any()
    assert has_own_process("club+partner=tests.faulty:Raises", None)


def test_names_are_taken_apart_and_put_together() -> None:
    name = "bid=club+exchange=a.safetensors+search:3+play=greedy+partner=random"
    assert single_players(name) == ["club", "a.safetensors+search:3", "greedy", "random"]
    assert rename(name, lambda one: one) == name.replace("+partner", "+trump=club+partner")
    assert with_bidder("a+partner=b", "c") == "bid=c+exchange=a+play=a+partner=bid=c+exchange=b+play=b"


@both_games
def test_every_team_is_measured_as_in_an_evaluation(rules: Any, tmp_path: Path) -> None:
    contest = CrossPlay(rules, ("club", "greedy"), "random", 24, partners=("random",), seed=5)
    crossing = cross(contest, Crew(keep=tmp_path))
    assert list(crossing.values) == contest.teams() and len(crossing.values) == 5
    form: Any = "one-vs-two" if rules.teams == 3 else None
    for team, values in crossing.values.items():
        alone = evaluate(Setup(rules, "+partner=".join(team), "random", 24, seed=5, form=form))
        assert (values == alone.values).all()
    own, mixed = crossing.values, crossing.values["club", "greedy"]
    assert (crossing.crossed() == mixed).all() and (crossing.crossed("club") == mixed).all()
    assert np.allclose(crossing.alone(), (own["club", "club"] + own["greedy", "greedy"]) / 2)
    assert np.allclose(crossing.beside("random"), (own["club", "random"] + own["greedy", "random"]) / 2)
    result = document(crossing)
    assert result["lost"]["mean"] == pytest.approx(result["self_play"]["mean"] - result["cross_play"]["mean"], abs=1e-5)
    assert result["kept"] == pytest.approx(result["cross_play"]["mean"] / result["self_play"]["mean"], abs=1e-5)
    assert result["beside_partners"][0]["mean"] < result["self_play"]["mean"], "random is a poor partner"
    assert document(cross(contest, Crew(workers=2)))["teams"] == result["teams"]


def test_the_command_line_says_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    words = "cross-play club greedy --against random --partner random --game four_point --deals 20 --seed 3".split()
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["command"].split() == ["smear", *words]
    assert len(result["teams"]) == 5 and result["kind"] == "cross-play"
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "beside each other" in text and text.rstrip().endswith(result["command"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("club --game schmier", "two players or more"),
        ("club club --game schmier", "each named once"),
        ("club greedy --partner club --game schmier", "each named once"),
        ("club greedy --game mini_2p", "for teams of two"),
        ("club greedy --partner gredy --game schmier", "did you mean greedy"),
        ("club greedy+partner=random --game schmier", "'greedy+partner=random' is a team"),
        ("club greedy --partner greedy+partner=random --game schmier", "'greedy+partner=random' is a team"),
        ("club greedy --game schmier --deals 0", "--deals 0"),
    ],
)
def test_what_cannot_be_crossed_is_said(words: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cross-play", *words.split()]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("words", ["probe NAME", f"hint {ROOT}/configs/hint/bid.toml --agents club,NAME"])
def test_a_team_is_not_asked_for_what_one_player_would_do(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.replace("NAME", "club+partner=greedy").split()) == 2
    assert "where one player is asked for" in capsys.readouterr().err
