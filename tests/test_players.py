"""The shipped networks, players exported from a run, and networks that search."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.torch
import torch
from looks import positions

from smear_agents import NeuralAgent, load, make_agent
from smear_agents.neural import PLAYERS, SCHEMA, CheckpointError, shipped_games
from smear_agents.search import (
    DOUBT,
    GAIN,
    ROWS,
    SPREAD,
    SQUARE,
    WEIGHT,
    WEIGHTS_SQUARED,
    NetworkSearchAgent,
    gains_beyond_doubt,
)
from smear_agents.worlds import ERRORS, ODD_PLAY, UNLIKELY, club_kit, network_kit, surprises
from smear_env import PRESETS, GameRules, Games, make_rules
from smear_env.actions import NUM_ACTIONS, action_from_text
from smear_env.games import observe_records
from smear_env.resample import hide_each, resample
from smear_env.rules import NOBODY, OVER, PHASES, PLAY
from smear_env.testing import deal
from smear_train.cli import main
from smear_train.evaluate import Setup, evaluate
from smear_train.exploit import behaviour
from smear_train.learning.config import as_toml, parse_config
from smear_train.learning.distributed import World
from smear_train.learning.export import config_digest
from smear_train.learning.run_folder import DATA, RunFolder, read_checkpoint
from smear_train.learning.trainer import Trainer
from smear_train.sim import play_out

pytestmark = [pytest.mark.jit, pytest.mark.slow]

HINT = Path(__file__).parents[1] / "configs" / "hint" / "bid.toml"
GAMES = {"schmier": PRESETS["schmier"], "four_point": PRESETS["four_point"]}
both_games = pytest.mark.parametrize("game", GAMES)
TINY = """
game = "four_point"
updates = 1
deals = 16
[network]
hidden = [16, 8]
critic = "separate"
[ppo]
minibatches = 2
"""


def looks(rules: GameRules, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    found = positions(rules, number, seed=seed, every=4, wit=0.5)
    return np.stack([one.observation for one in found]), np.stack([one.mask for one in found])


def decisions(rules: GameRules, name: str, n: int, every: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Records in which somebody is to decide, from deals that a player plays against itself, and whose turn it is."""
    games = Games(rules, n, seed, "deal", autoreset=False)
    games.reset()
    agent, found, turn = make_agent(name, rules), [], 0
    while np.any(games.seats != NOBODY):
        rows = np.flatnonzero(games.seats != NOBODY)
        if turn % every == 0:
            found.append(games.records[rows].copy())
        actions = np.zeros(n, np.int64)
        actions[rows] = agent(games.observations[rows], games.action_masks[rows])
        games.step(actions)
        turn += 1
    records = np.concatenate(found)
    return records, records["actor"].astype(np.int64)


# --- What is shipped ---------------------------------------------------------------------------------------------


@both_games
def test_a_shipped_player_is_a_small_file_with_the_policy_alone(game: str) -> None:
    path = PLAYERS / f"{game}.safetensors"
    assert path.stat().st_size <= 2_000_000
    with safetensors.safe_open(path, framework="np") as content:
        data = json.loads(content.metadata()[DATA])
        assert all(name.startswith("policy.") for name in content.keys())  # noqa: SIM118  # it is no dict
    assert data["game"] == game and make_rules(**data["rules"]) == GAMES[game]
    assert data["update"] > 0 and data["decisions"] > 0 and len(data["config"]) == 16 and data["run"]["command"]


def test_there_is_one_for_each_of_the_two_games() -> None:
    assert shipped_games() == sorted(GAMES)


@both_games
def test_its_names_and_its_file_are_the_same_player(game: str) -> None:
    observations, masks = looks(GAMES[game], 300, seed=4)
    answers = make_agent(f"nn:{game}", GAMES[game])(observations, masks)
    assert masks[np.arange(300), answers].all() and len(set(answers.tolist())) > 20
    for same in (make_agent("nn", GAMES[game]), load(PLAYERS / f"{game}.safetensors")):
        assert np.array_equal(same(observations, masks), answers)


@both_games
def test_it_is_far_ahead_of_greedy(game: str) -> None:
    """It would not be if what networks see had changed since it was trained."""
    form: Any = "one-vs-two" if GAMES[game].teams == 3 else None
    found = evaluate(Setup(GAMES[game], f"nn:{game}", "greedy", 300, seed=31, form=form))
    assert found.difference.low > 0.3, found.difference


@pytest.mark.parametrize(
    ("name", "rules", "says"),
    [
        ("nn:schmier", "four_point", "nn:schmier: the network was trained for schmier and cannot play four_point"),
        ("nn:four_point", "schmier", "trained for four_point and cannot play schmier; shipped: nn:four_point"),
        ("nn:euchre", "schmier", "no network is shipped for euchre; shipped: nn:four_point, nn:schmier"),
        ("nn", "schmier_2x3", "no network is shipped for schmier_2x3"),
        ("nn:schmier+search:3", "four_point", "cannot play four_point"),
        ("nn+search:0", "schmier", "a whole number 1"),
    ],
)
def test_what_it_cannot_play_is_said(name: str, rules: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make_agent(name, PRESETS[rules])


def test_it_plays_rules_that_look_the_same() -> None:
    rules = make_rules("schmier", target=11)
    agent = make_agent("nn:schmier", rules)
    games = Games(rules, 50, 3, "deal", autoreset=False)
    games.reset()
    play_out(games, [agent] * rules.players)
    assert games.terminated.all()


@both_games
def test_shares_are_probabilities_of_which_the_choice_has_the_highest(game: str) -> None:
    agent = make_agent(f"nn:{game}", GAMES[game])
    assert isinstance(agent, NeuralAgent)
    for observation, mask in zip(*looks(GAMES[game], 50, seed=6), strict=True):
        shares = agent.shares(observation, mask)
        assert list(shares) == np.flatnonzero(mask).tolist() and sum(shares.values()) == pytest.approx(1)
        assert max(shares, key=lambda action: shares[action]) == agent.act(observation, mask)


def test_cards_say_what_the_files_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "docs"))
    import generate

    assert {path.stem for path in generate.cards()} == set(GAMES)
    for path, text in generate.cards().items():
        assert path.read_text(encoding="utf-8") == text, "run `make docs`"


# --- Export ------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run of one update."""
    config = parse_config(TINY)
    trainer = Trainer(config, World("cpu"))
    trainer.step()
    env = {"command": "smear train tiny.toml", "host": "mine", "seed": 0, "cores": 2}
    run = RunFolder.create(tmp_path / "run", as_toml(config), env)
    run.save(trainer.update, trainer.tensors(), trainer.data(), names=("best", "last"))
    return run


def export(*words: str, code: int = 0) -> None:
    assert main(["export", *words]) == code


def test_an_exported_player_plays_as_its_run_and_holds_no_more_than_it_needs(run: RunFolder, tmp_path: Path) -> None:
    file = tmp_path / "players" / "mine.safetensors"
    export(str(run.path), str(file))
    observations, masks = looks(GAMES["four_point"], 200, seed=5)
    answers = load(run.path)(observations, masks)
    assert np.array_equal(load(file)(observations, masks), answers)
    assert np.array_equal(make_agent(str(file), GAMES["four_point"])(observations, masks), answers)
    with safetensors.safe_open(file, framework="np") as content:
        data, names = json.loads(content.metadata()[DATA]), set(content.keys())
    assert names == {f"policy.{part}.{layer}" for part in ("weight", "bias") for layer in range(3)}
    assert data["config"] == config_digest(run.load().data["config"])
    assert data["run"] == {"command": "smear train tiny.toml", "seed": 0, "cores": 2}
    assert (data["game"], data["update"], "environment" in data) == ("four_point", 1, False)
    other = tmp_path / "same.safetensors"
    export(str(run.checkpoint("best")), str(other), "--quiet")
    assert other.read_bytes() == file.read_bytes()


def test_half_the_bits_change_next_to_nothing(tmp_path: Path) -> None:
    """Of the shipped player, which stands for a checkpoint here: 16 bits are for one that would be too large."""
    tensors = {}
    with safetensors.safe_open(PLAYERS / "schmier.safetensors", framework="pt") as content:
        metadata = content.metadata()
        for name in content.keys():  # noqa: SIM118  # it is no dict
            tensors[name] = content.get_tensor(name).to(torch.float16)
    safetensors.torch.save_file(tensors, tmp_path / "half.safetensors", metadata)
    observations, masks = looks(GAMES["schmier"], 3000, seed=7)
    whole = load(PLAYERS / "schmier.safetensors")(observations, masks)
    assert (load(tmp_path / "half.safetensors")(observations, masks) != whole).mean() < 0.005


def test_half_a_player_has_half_the_size(run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = []
    for number, words in enumerate(((), ("--half",))):
        export(str(run.path), str(tmp_path / f"{number}.safetensors"), *words, "--json")
        sizes.append(json.loads(capsys.readouterr().out)["bytes"])
    assert sizes[1] < 0.55 * sizes[0]


def test_what_cannot_be_exported_is_said(run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "mine.safetensors")
    export(str(run.path), str(tmp_path / "mine.pt"), code=2)
    assert "its name has to end in .safetensors" in capsys.readouterr().err
    export(str(tmp_path / "nowhere"), file, code=2)
    assert "there is no checkpoint" in capsys.readouterr().err
    run.save(2, {"policy.weight.0": torch.zeros(2)}, run.load().data, names=("best",))
    export(str(run.path), file, code=3)
    assert "has no policy: it lacks policy.bias.0" in capsys.readouterr().err
    data = json.dumps(run.load().data | {"schema": 99})
    safetensors.torch.save_file(run.load("last").tensors, tmp_path / "new.safetensors", {DATA: data})
    export(str(tmp_path / "new.safetensors"), file, code=3)
    assert f"schema 99; needed: {SCHEMA}" in capsys.readouterr().err
    assert not Path(file).exists()
    content = run.checkpoint("last").read_bytes()
    export(str(run.checkpoint("last")), str(run.checkpoint("last")), code=2)
    assert "is the checkpoint itself" in capsys.readouterr().err
    assert run.checkpoint("last").read_bytes() == content
    (run.path / "env.json").write_text("{", encoding="utf-8")
    export(str(run.checkpoint("last")), file, code=3)
    assert "env.json is damaged" in capsys.readouterr().err


def test_a_run_is_known_by_its_checkpoint_from_wherever_one_stands(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.checkpoint("last").parent)
    export("last.safetensors", str(tmp_path / "mine.safetensors"))
    with safetensors.safe_open(tmp_path / "mine.safetensors", framework="np") as content:
        assert json.loads(content.metadata()[DATA])["run"]["command"] == "smear train tiny.toml"


def test_there_is_nothing_to_go_on_from_in_an_exported_player() -> None:
    with pytest.raises(CheckpointError, match="a player that `smear export` has written"):
        read_checkpoint(PLAYERS / "schmier.safetensors")


def test_a_network_that_values_actions_is_no_policy(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its outputs are an order: nothing may take their softmax for probabilities."""
    last = run.load("last")
    run.save(1, last.tensors, last.data | {"config": last.data["config"] | {"algorithm": "dmc"}}, names=("best",))
    file = tmp_path / "dmc.safetensors"
    export(str(run.path), str(file))
    rules = GAMES["four_point"]
    for name in (str(run.path), str(file)):
        agent = make_agent(name, rules)
        assert isinstance(agent, NeuralAgent) and not agent.network.is_policy
        observations, masks = looks(rules, 1, seed=5)
        with pytest.raises(ValueError, match="has no probabilities"):
            agent.shares(observations[0], masks[0])
        with pytest.raises(ValueError, match="cannot search"):
            make_agent(f"{name}+search:3", rules)
        with pytest.raises(ValueError, match="--sample is for policies"):
            behaviour(name, rules, sample=True)
        capsys.readouterr()
        assert main(["hint", str(HINT), "--agents", name, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["answers"][0]["values"] is None


def test_an_exported_player_of_another_schema_is_refused(tmp_path: Path) -> None:
    with safetensors.safe_open(PLAYERS / "schmier.safetensors", framework="np") as content:
        data = json.loads(content.metadata()[DATA]) | {"schema": 99}
    safetensors.torch.save_file({"policy.bias.0": torch.zeros(2)}, tmp_path / "x.safetensors", {DATA: json.dumps(data)})
    with pytest.raises(CheckpointError, match=f"schema 99; needed: {SCHEMA}"):
        load(tmp_path / "x.safetensors")


# --- What a network makes of the others --------------------------------------------------------------------------


@both_games
@pytest.mark.parametrize("who", ["club", "nn"])
def test_a_deal_of_the_hidden_cards_is_played_again_as_far_as_it_has_come(game: str, who: str) -> None:
    """What others threw, kept and played is found again, so that all of it is what is judged."""
    rules = GAMES[game]
    network = make_agent("nn", rules)
    assert isinstance(network, NeuralAgent)
    kit = club_kit(rules) if who == "club" else network_kit(network.network)
    records, seats = decisions(rules, "club", 8, 2, seed=2)
    hidden = hide_each(records, rules, seats)
    phases, doubtful = set(), 0
    for i, seat in enumerate(seats):
        kit.worlds[:1] = resample(hidden[i : i + 1], rules, int(seat), seed=i)
        found = surprises(kit, seat, 1e9)
        w, g = kit.worlds[0], kit.worlds[2]
        others = [other for other in range(rules.players) if other != seat]
        assert (g.hand[others] == w.hand[others]).all() and (g.played == w.played).all()
        assert (g.phase, g.actor) == (w.phase, w.actor) and (g.bids == w.bids).all()
        assert found >= 0
        phases.add(PHASES[w.phase])
        doubtful += found > 0
    assert phases >= {"bid", "trump", "keep", "play"} and doubtful > len(seats) / 3


def test_surprise_at_bids_is_what_the_policy_says() -> None:
    rules = GAMES["four_point"]
    network = make_agent("nn", rules)
    assert isinstance(network, NeuralAgent)
    bids = ["bid 2", "pass", "bid 3"]
    table = deal(rules, dealer=3, seed=8, actions=bids)
    kit = network_kit(network.network)
    kit.worlds[:1] = table.games.records
    expected = 0.0
    for turn, bid in enumerate(bids):
        before = deal(rules, dealer=3, seed=8, actions=bids[:turn]).games
        shares = network.shares(before.observations[0], before.action_masks[0])
        expected -= np.log((1 - ERRORS) * shares[action_from_text(bid)] + ERRORS / len(shares))
    assert surprises(kit, 3, 1e9) == pytest.approx(expected, rel=1e-4)
    assert surprises(kit, 2, 1e9) < expected  # its own bid surprises nobody


@both_games
def test_club_is_surprised_by_cards_that_it_would_not_have_played(game: str) -> None:
    """But for its own, and not at a table of six, where too few deals could be looked at for that."""
    rules = GAMES[game]
    games = Games(rules, 1, 5, "deal", autoreset=False)
    games.reset()
    club, kit, odd = make_agent("club", rules), club_kit(rules), 0
    while games.records[0].phase != OVER:
        seat, action = int(games.seats[0]), club(games.observations, games.action_masks)
        kit.worlds[:1] = games.records
        assert surprises(kit, seat, 1e9) == 0, "all has been done as club does it"
        others = set(np.flatnonzero(games.action_masks[0])) - set(action)
        if games.records[0].phase == PLAY and others:
            strange = copy.deepcopy(games)
            strange.step(np.array([min(others)]))
            kit.worlds[:1] = strange.records
            if strange.records[0].phase == PLAY:
                assert surprises(kit, seat, 1e9) == 0
                assert surprises(kit, (seat + 1) % rules.players, 1e9) == ODD_PLAY[rules.teams]
                odd += 1
        games.step(action)
    assert odd > 5 and (ODD_PLAY[rules.teams] > 0) == (game == "four_point")


def test_doubt_is_the_standard_error_of_a_weighted_mean() -> None:
    rng = np.random.default_rng(5)
    answers = set()
    for _ in range(200):
        weights, gains = rng.exponential(size=30), rng.normal(0.1, 1, size=30)
        totals = np.zeros((ROWS, NUM_ACTIONS))
        for row, terms in (
            (GAIN, weights * gains), (SPREAD, weights**2 * gains), (SQUARE, (weights * gains) ** 2),
            (WEIGHT, weights), (WEIGHTS_SQUARED, weights**2),
        ):  # fmt: skip
            totals[row, 7] = terms.sum()
        mean = np.average(gains, weights=weights)
        error = np.sqrt((weights**2 * (gains - mean) ** 2).sum()) / weights.sum()
        answers.add(gains_beyond_doubt(totals, 7))
        assert gains_beyond_doubt(totals, 7) == (mean > DOUBT * error)
    assert answers == {True, False}


# --- Search ------------------------------------------------------------------------------------------------------


@both_games
def test_a_network_that_searches_does_what_it_might_have_done_anyway(game: str) -> None:
    """It looks into nothing that the policy all but excludes, and where that leaves nothing else it does not search."""
    rules = GAMES[game]
    plain, searching = make_agent("nn", rules), make_agent("nn+search:3", rules, seed=1)
    assert isinstance(plain, NeuralAgent) and isinstance(searching, NetworkSearchAgent)
    records, seats = decisions(rules, "nn", 12, 2, seed=6)
    views, masks = observe_records(records, rules, seats)
    usual, answers = plain(views, masks), searching.choose(hide_each(records, rules, seats), seats)
    for view, mask, action in zip(views, masks, answers, strict=True):
        assert plain.shares(view, mask)[int(action)] >= 0.999 * UNLIKELY
    assert 0 < (answers != usual).mean() < 0.3


def test_the_network_of_a_file_searches_too(run: RunFolder) -> None:
    rules = GAMES["four_point"]
    records, seats = decisions(rules, "nn", 2, 5, seed=1)
    hidden = hide_each(records, rules, seats)
    agent = make_agent(f"{run.path}+search:2", rules, seed=2)
    parts = make_agent(f"bid=nn+exchange=nn+play={run.path}+search:2", rules, seed=2)
    assert isinstance(agent, NetworkSearchAgent) and agent.num_worlds == 2
    in_play = hidden["phase"] == PHASES.index("play")
    answers = agent.choose(hidden, seats)
    assert np.array_equal(parts.choose(hidden, seats)[in_play], answers[in_play])  # type: ignore[attr-defined]  # a GameAgent
