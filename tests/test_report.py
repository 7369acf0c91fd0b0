"""The report: its numbers are those of the documents, and it stands alone."""

import json
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smear_env import PRESETS
from smear_train import cross_play, tournament
from smear_train.cli import main
from smear_train.evaluate import Setup, document, evaluate
from smear_train.figures import wrapped
from smear_train.protocol import load_protocol, run
from smear_train.results import KINDS, MEASURES, METRICS, Series, curve, groups, read_folders, series
from smear_train.tournament import Contest, hold

pytestmark = pytest.mark.jit

SCHMIER, FOUR_POINT = PRESETS["schmier"], PRESETS["four_point"]
HALF = "bid=greedy+exchange=greedy+play=random"
EVIL = '<script>alert("x")</script>&$a_1$'


@dataclass
class Page(HTMLParser):
    """What is in a page: its elements, its words, and its tables by caption as rows of (text, value)."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    tables: list[tuple[str, list[list[tuple[str, float | None]]]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.caption, self.value = "", None
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)
        if tag == "table":
            self.tables.append(("", []))
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][1][-1].append(("", None))
        elif tag == "data":
            text, _ = self.tables[-1][1][-1][-1]
            self.tables[-1][1][-1][-1] = (text, float(dict(attrs)["value"] or "nan"))

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if "caption" in self.inside:
            self.tables[-1] = (self.tables[-1][0] + data, self.tables[-1][1])
        elif "td" in self.inside or "th" in self.inside:
            text, value = self.tables[-1][1][-1][-1]
            self.tables[-1][1][-1][-1] = (text + data, value)

    def rows(self, caption: str) -> list[list[tuple[str, float | None]]]:
        """The rows below the head of the tables with that caption."""
        return [row for name, rows in self.tables if name == caption for row in rows[1:]]

    def values(self, caption: str) -> list[list[float | None]]:
        """Their numbers."""
        return [[value for _, value in row] for row in self.rows(caption)]


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def write_lines(path: Path, lines: Iterable[dict[str, Any]], end: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + end, encoding="utf-8")


def write_run(folder: Path, decisions: list[int], offset: float) -> None:
    """A run whose reward and strength rise by 1 with each 100 decisions."""
    write_lines(folder / "metrics.jsonl", ({"decisions": x, "reward": offset + x / 100, "kl": None} for x in decisions))
    write_lines(
        folder / "eval.jsonl",
        (
            {"decisions": x, "opponent": "greedy", "mean": offset + x / 100, "ci_low": -1.5, "ci_high": 9.5}
            for x in decisions
        ),
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a document of each kind, and a folder of runs in it."""
    root = tmp_path_factory.mktemp("made")
    documents = root / "documents"
    documents.mkdir()
    standings = hold(Contest(SCHMIER, ("greedy", "random", HALF), 6))
    evil = document(evaluate(Setup(SCHMIER, "greedy", "random", 12, sprt=(0, 0.2))))
    evil["gates"] = {"A>=B": True}
    contents = {
        "cup": tournament.document(standings),
        "deals": document(evaluate(Setup(FOUR_POINT, "greedy", HALF, 12, rotations="one", control="greedy"))),
        "evil": json.loads(json.dumps(evil).replace('"random"', json.dumps(EVIL))),
        "games": document(evaluate(Setup(FOUR_POINT, "random", "greedy", 3, episode="game"))),
        "partners": cross_play.document(
            cross_play.cross(cross_play.CrossPlay(FOUR_POINT, ("greedy", HALF), "random", 6, ("random",)))
        ),
        "row": run(load_protocol("four_point"), "greedy", deals=10) | {"command": "smear eval --protocol four_point"},
        "probes": {
            "kind": "probes", "agent": "greedy", "passed": 3, "positions": 5,
            "probes": [{"id": "p1", "title": "bids four", "passed": 3, "positions": 5, "rate": 0.6}],
        },
        "other": {"kind": "something else"},
    }  # fmt: skip
    for name, content in contents.items():
        (documents / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    write_run(root / "runs" / "net-s0", [100, 200, 300], 0)
    write_run(root / "runs" / "net-s1", [100, 300], 1)
    write_run(root / "runs" / "net-s2", [50, 150, 250, 350], 5)
    write_run(root / "runs" / "alone", [100, 200], 0)
    return root


@pytest.fixture(scope="module")
def page(made: Path) -> Page:
    assert main(["report", str(made / "documents"), str(made / "runs"), "-o", str(made / "page.html"), "--quiet"]) == 0
    return read(made / "page.html")


def load(made: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((made / "documents" / f"{name}.json").read_text())
    return content


def evaluations(made: Path) -> list[dict[str, Any]]:
    return [*(load(made, name) for name in ("deals", "evil", "games")), *load(made, "row")["results"].values()]


def test_evaluations_have_the_numbers_of_their_documents(made: Path, page: Page) -> None:
    keys = (
        "deals", "distinct_deals", "mean", "ci_low", "ci_high", "sd", "win_rate", "win_low", "win_high", "all_pass",
        "rotation_gain", "control_gain", "forfeits",
    )  # fmt: skip
    ours = evaluations(made)
    assert [row[5:] for row in page.values("Results")] == [[one[key] for key in keys] for one in ours]
    assert [[text for text, _ in row[1:5]] for row in page.rows("Results")] == [
        [one[key] for key in ("game", "a", "b", "episode")] for one in ours
    ]
    shown = next(row for row in page.rows("Results"))
    assert shown[7][0] == f"{ours[0]['mean']:+.3f}"
    players = [player for one in ours for player in one["players"].values()]
    keys = ("bids", "made", "bid_made", "mean_bid", "decisions", "ms_per_decision")
    rows = [row for row in page.rows("Players") if len(row) == 10]
    assert [[value for _, value in row[3:9]] for row in rows] == [[player[key] for key in keys] for player in players]
    assert [row[2][0] for row in rows] == [player["name"] for player in players]
    assert [row[1:] for row in page.values("Bids")] == [
        [number for bid in player["by_bid"].values() for number in (bid["bids"], bid["made"])] for player in players
    ]
    assert [row[1:] for row in page.values("Points by kind")] == [
        list(player["points_by_kind"].values()) for player in players
    ]
    assert [row[1:] for row in page.values("Points per deal by seat, seen from the dealer")] == [
        [seat["points_per_deal"] for seat in player["by_seat"]] for player in players
    ]
    words = "".join(page.words)
    assert all(one["command"] in words for one in ours)
    assert "Sequential test of 0 against 0.2" in words and "Gate A>=B: supported" in words


def test_tournaments_have_the_numbers_of_their_documents(made: Path, page: Page) -> None:
    cup = load(made, "cup")
    assert [row[1:] for row in page.values("Ratings")] == [
        [entry[key] for key in ("rating", "low", "high")] for entry in cup["ratings"]
    ]
    interval = ("mean", "ci_low", "ci_high")
    assert [row[2:] for row in page.values("Pairs: A ahead of B")] == [
        [pair[key] for key in interval] for pair in cup["pairs"]
    ]
    assert [row[2:] for row in page.values("Three at a table: ahead of the other two")] == [
        [at[key] for key in interval] for triple in cup["triples"] for at in triple
    ]
    assert cup["command"] in "".join(page.words)
    # The heat map has every lead from both sides.
    for pair in cup["pairs"]:
        for lead in (pair["mean"], -pair["mean"]):
            assert f"{lead:+.2f}" in page.words


def test_whatever_a_folder_holds_is_counted(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        for path in made.rglob("*.json"):
            if json.loads(path.read_text(encoding="utf-8")).get("kind") == kind:
                shutil.copy(path, tmp_path / kind)
        assert main(["report", str(tmp_path / kind), "-o", str(tmp_path / "page.html")]) == 0
        assert (
            sum(int(number) for number in re.findall(r"\b\d+ (?!figures)", capsys.readouterr().out.split("\n")[0])) > 0
        )


def test_cross_play_has_the_numbers_of_its_document(made: Path, page: Page) -> None:
    one, keys = load(made, "partners"), ("mean", "ci_low", "ci_high")
    assert [[row[0][0], row[1][0]] for row in page.rows("Teams")] == [[team["a"], team["b"]] for team in one["teams"]]
    assert [row[2:] for row in page.values("Teams")] == [[team[key] for key in keys] for team in one["teams"]]
    means = [one["self_play"], one["cross_play"], one["lost"], *one["beside_others"], *one["beside_partners"]]
    assert [row[1:] for row in page.values("Partners")] == [[mean[key] for key in keys] for mean in means]
    words = "".join(page.words)
    assert one["command"] in words and f"played by {one['against']}" in words


def test_rows_of_a_protocol_and_probes(made: Path, page: Page) -> None:
    row = load(made, "row")
    (shown,) = page.rows("Protocol four_point")
    assert "| " + " | ".join(text for text, _ in shown[:-2]) + " |" == row["row"]
    assert shown[-2][0] == "fewer deals than the protocol wants"
    assert [[text for text, _ in line] for line in page.rows("Probes")] == [
        ["p1", "bids four", "3", "5"], ["all", "", "3", "5"],
    ]  # fmt: skip


def test_intransitive_triples_are_named(made: Path, tmp_path: Path) -> None:
    cup = load(made, "cup") | {"cycles": [["greedy", "random", HALF]]}
    (tmp_path / "cup.json").write_text(json.dumps(cup))
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.html"), "--json"]) == 0
    assert f"greedy beats random beats {HALF} beats greedy" in "".join(read(tmp_path / "page.html").words)


def test_the_page_stands_alone(made: Path, page: Page) -> None:
    text = (made / "page.html").read_text(encoding="utf-8")
    allowed = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\"'<\s]*", text)) == allowed
    assert "@import" not in text and all(inside.startswith("#") for inside in re.findall(r"url\(([^)]*)", text))
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "image"}
    for _, attributes in page.elements:
        assert not attributes.keys() & {"src", "srcset", "onclick", "onload"}
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)|aria-labelledby="(\S*) (\S*)"', text)
    assert {name for names in named for name in names if name} <= set(ids)


def test_every_figure_says_what_it_shows_and_takes_the_colours_of_the_page(made: Path, page: Page) -> None:
    text = (made / "page.html").read_text(encoding="utf-8")
    drawn = re.findall(r"<svg .*?</svg>", text, flags=re.S)
    assert len(drawn) == 2 + len(evaluations(made)) + 2
    for svg in drawn:
        title = re.search(r"<title[^>]*>([^<]+)</title><desc[^>]*>([^<]+)</desc>", svg)
        assert title is not None and 'role="img"' in svg
        assert "currentColor" in svg and "<metadata" not in svg and "<style" not in svg
    assert not re.search(r"#0[1-7]0[2-8]0[0-9]\b", text)
    assert "prefers-color-scheme: dark" in text and "@media print" in text


def test_names_are_escaped(made: Path, page: Page) -> None:
    text = (made / "page.html").read_text(encoding="utf-8")
    assert "<script" not in text and "&lt;script&gt;" in text
    assert any(row[2][0] == EVIL for row in page.rows("Players"))


def test_the_same_folders_give_the_same_bytes(
    made: Path, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From another place, too: no path of the machine is in the page."""
    monkeypatch.chdir(made)
    assert main(["report", "documents", "runs", "-o", str(tmp_path / "again.html"), "--json"]) == 0
    assert (tmp_path / "again.html").read_bytes() == (made / "page.html").read_bytes()
    assert str(made) not in (made / "page.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["again.html"]


# --- Learning curves ---------------------------------------------------------------------------------------------


def test_medians_over_seeds(made: Path, page: Page) -> None:
    """On lines of slope 1/100 with offsets 0, 1 and 5 the median is that of offset 1."""
    found = read_folders([made / "runs"])
    (alone, net) = groups(found.runs, [])
    assert alone.name == "runs/alone" and net.name == "runs/net"
    of = curve([series(run.metrics, "reward") for run in net.runs])
    assert of is not None
    assert of.x.tolist() == [100, 150, 200, 250, 300]
    assert of.median == pytest.approx(1 + of.x / 100)
    assert of.low == pytest.approx(of.x / 100) and of.high == pytest.approx(5 + of.x / 100)
    (row, single) = sorted(
        page.rows("Over the seeds, at the last decisions that all runs of a group have reached"), reverse=True
    )
    assert [value for _, value in row[2:]] == [3, 300, 4, 3, 8]
    assert [value for _, value in single[2:]] == [1, 200, 2, 2, 2]
    last = [[value for _, value in line[2:7]] for line in page.rows("The last evaluation of each run")]
    assert [200, None, 2, -1.5, 9.5] in last and [350, None, 8.5, -1.5, 9.5] in last
    assert all(METRICS["kl"] in [text for text, _ in rows[0]] for name, rows in page.tables if name.startswith("Runs"))


def test_long_curves_are_averaged_and_short_overlaps_have_no_median() -> None:
    x = np.arange(1000.0)
    thin = Series(x, 2 * x).thinned()
    assert len(thin.x) == 200 and thin.y == pytest.approx(2 * thin.x) and thin.x[0] == 2
    apart = curve([Series(np.array([0.0, 1]), np.zeros(2)), Series(np.array([2.0, 3]), np.ones(2))])
    assert apart is not None and len(apart.x) == 0 and len(apart.seeds) == 2
    assert curve([None, None]) is None
    lines = [{"decisions": 1, "kl": float("nan")}, {"decisions": 2, "kl": 0.5}, {"decisions": 3}]
    only = series(lines, "kl")
    assert only is not None and only.x.tolist() == [2]


def test_runs_with_the_same_configuration_are_one_group(tmp_path: Path) -> None:
    for name, seed, rate in (("a", 0, 1), ("b", 1, 1), ("c", 2, 3)):
        write_run(tmp_path / name, [100, 200], seed)
        (tmp_path / name / "config.toml").write_text(f'name = "{name}"\n[learning]\nseed = {seed}\nrate = {rate}\n')
        (tmp_path / name / "env.json").write_text(json.dumps({"seed": seed}))
    found = read_folders([tmp_path])
    assert [[run.seed for run in group.runs] for group in groups(found.runs, [])] == [[0, 1], [2]]
    for name, rate in (("x-s0", 1), ("x-s1", 2)):
        write_run(tmp_path / name, [100], 0)
        (tmp_path / name / "config.toml").write_text(f"rate = {rate}\n")
    notes: list[str] = []
    assert len(groups(read_folders([tmp_path]).runs, notes)) == 3
    assert len(notes) == 1 and "x-s1" in notes[0]


def test_a_killed_and_resumed_run_is_told_of(tmp_path: Path) -> None:
    write_lines(tmp_path / "s10" / "metrics.jsonl", [])
    write_lines(tmp_path / "s9" / "metrics.jsonl", [{"decisions": 1, "kl": float("nan")}])
    lines = [{"decisions": x, "reward": float(at)} for at, x in enumerate((10, 20, 30, 20, 30, 40))]
    write_lines(tmp_path / "metrics.jsonl", lines, end='{"decisions": 50, "rew')
    found = read_folders([tmp_path])
    run, *others = found.runs
    assert [Path(other.name).name for other in others] == ["s9", "s10"]
    assert [(line["decisions"], line["reward"]) for line in run.metrics] == [(10, 0), (20, 3), (30, 4), (40, 5)]
    assert len(found.notes) == 3 and any("line 7" in note and "cut off" in note for note in found.notes)
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.html")]) == 0
    page = read(tmp_path / "page.html")
    assert all(note in "".join(page.words) for note in found.notes)
    assert page.rows("Runs, as of their last line")[1][-1] == ("-", None)


# --- What is wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.json", '{"kind": "evaluation",\n "a": }', "x.json, line 2"),
        ("x.json", '{"kind": "evaluation"}', "x.json is no evaluation.*game"),
        ("x.json", '{"kind": "probes", "agent": "a", "passed": NaN}', "x.json: not JSON: NaN"),
        ("metrics.jsonl", '{"decisions": 1}\n{"decisions": \n{"decisions": 3}\n', "metrics.jsonl, line 2: not JSON"),
        ("metrics.jsonl", '{"decisions": 1}\n{"decisions": \n', "metrics.jsonl, line 2: not JSON"),
        ("metrics.jsonl", "[1]\n", "line 1: not an object"),
        ("metrics.jsonl", '{"reward": 1}\n', "line 1: `decisions` must be a number"),
        ("metrics.jsonl", '{"decisions": 1, "reward": "high"}\n', "line 1: `reward` must be a number; given: 'high'"),
        ("eval.jsonl", '{"decisions": 1, "mean": 2}\n', "eval.jsonl, line 1: `opponent`"),
        ("notes.txt", "", "holds nothing to report"),
    ],
)
def test_files_that_are_not_right(
    name: str, content: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content)
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.html")]) == 2
    error = capsys.readouterr().err
    assert re.search(says, error) and error.count("\n") == 1
    assert not (tmp_path / "page.html").exists()


def test_folders_that_are_not_right(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "none")]) == 2
    assert "none is not a folder" in capsys.readouterr().err
    runs = str(made / "runs" / "alone")
    for place in (tmp_path / "none" / "page.html", tmp_path):
        assert main(["report", runs, "-o", str(place)]) == 2
        error = capsys.readouterr().err
        assert str(place) in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())
    twice = read_folders([made / "runs", made / "runs" / "alone"])
    assert len(twice.runs) == 4


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
def test_what_is_missing_is_named(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["report", "."]) == 4
    assert "smear-env[report]" in capsys.readouterr().err


def test_long_names_are_broken_and_nothing_of_them_is_lost() -> None:
    for name in (HALF, "package.module:Class", "x" * 100, "a b", "", "runs/a/b/last.safetensors"):
        assert wrapped(name).replace("\n", "") == name
        assert all(len(line) <= 26 for line in wrapped(name).split("\n"))
    assert wrapped(HALF) == "bid=greedy+\nexchange=greedy+\nplay=random"


def test_the_page_of_the_documentation_names_every_key() -> None:
    text = (Path(__file__).parents[1] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    assert "smear report" in text and all(f"`{key}`" in text for key in (*METRICS, *MEASURES, *KINDS))
