"""The project as a whole: layers, imports, wheel, documents, and both gears of the kernels."""

import ast
import hashlib
import os
import re
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

import smear_agents
import smear_env
import smear_train
from smear_agents import AGENTS
from smear_agents.club import HABITS
from smear_agents.club_bids import BIDS
from smear_agents.scripted import WORTH
from smear_agents.sight import SIGHT
from smear_env import PRESETS, Games, _jit
from smear_env.observe import LAYOUT
from smear_env.rules import TABLES
from smear_env.state import FIELDS, GAME

ROOT = Path(__file__).parents[1]
PACKAGES = {"smear_env": "smear_env", "smear_agents": "agents/smear_agents", "smear_train": "train/smear_train"}

# Each module of smear_env may import those before it, and no other.
LAYERS = (
    "_jit", "cards", "rules", "state", "actions", "scoring", "engine", "observe", "resample", "illegal", "games",
    "render", "pictures", "aec", "answers", "text", "gym_env", "vector_env", "schmier_v0", "four_point_v0", "testing",
)  # fmt: skip


def imported(path: Path) -> set[str]:
    """The modules that a file imports, wherever it does."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"} | variables
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=environment, cwd=ROOT, check=False, timeout=300
    )


def test_modules_import_only_what_stands_before_them() -> None:
    modules = {path.stem: imported(path) for path in (ROOT / "smear_env").glob("*.py") if path.stem != "__init__"}
    assert set(modules) == set(LAYERS)
    for name, names in modules.items():
        ours = {part.split(".")[1] for part in names if part.startswith("smear_env.")} & set(LAYERS)
        assert ours <= set(LAYERS[: LAYERS.index(name)]), name
        assert not any(part.startswith(("smear_agents", "smear_train")) for part in names), name


def test_left_of_games_there_is_only_numpy_numba_and_msgspec_in_rules() -> None:
    for name in LAYERS[: LAYERS.index("games")]:
        foreign = {part.split(".")[0] for part in imported(ROOT / "smear_env" / f"{name}.py")}
        foreign -= set(sys.stdlib_module_names) | {"smear_env", "numpy"}
        allowed = {"_jit": {"numba", "llvmlite"}, "rules": {"msgspec"}}.get(name, set())
        assert foreign <= allowed, name


def test_agents_do_not_import_the_trainer() -> None:
    for path in (ROOT / "agents").rglob("*.py"):
        assert not any(name.startswith("smear_train") for name in imported(path)), path


@pytest.mark.jit
def test_import_brings_in_nothing_that_it_does_not_need() -> None:
    result = run("-c", "import sys, smear_env; print(*sys.modules)")
    loaded = set(result.stdout.split())
    assert "smear_env.games" in loaded
    assert not loaded & {"torch", "matplotlib", "rich", "pygame", "PIL", "tkinter", "smear_agents", "smear_train"}, (
        result.stderr
    )


@pytest.mark.jit
@pytest.mark.slow
def test_wheel_holds_exactly_the_three_packages(tmp_path: Path) -> None:
    built = run("-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT))
    assert built.returncode == 0, built.stderr
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert top == set(PACKAGES)
    data = {"RULES.md": "smear_env", "probes/p1.toml": "smear_train", "report.html.j2": "smear_train"}
    data |= {"protocols/schmier.toml": "smear_train", "data/outcomes-schmier.json": "smear_agents"}
    data |= {f"players/{game}.safetensors": "smear_agents" for game in ("schmier", "four_point")}
    assert {f"{package}/{name}" for name, package in data.items()} <= set(names)
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == smear_env.__version__
    assert f"version: {smear_env.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert smear_env.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert smear_agents.__doc__ and smear_train.__doc__


def test_no_field_of_a_record_hides_behind_an_attribute_of_numpys() -> None:
    """Un-jitted, `g.size` would be NumPy's size and not the field."""
    for dtype in (GAME, TABLES, LAYOUT, WORTH, SIGHT, BIDS, HABITS):
        assert not set(dtype.names) & set(dir(np.zeros(1, dtype.fields[dtype.names[0]][0])[0])), dtype.names
        assert not set(dtype.names) & set(dir(np.void(b""))), dtype.names


def test_record_is_a_few_hundred_bytes_and_every_field_says_who_sees_it() -> None:
    assert GAME.itemsize < 512  # 512 itself makes the rows of a batch fight for the same places of the cache
    assert {field.sight for field in FIELDS} <= {"public", "owner", "hidden", "trump", "setting"}


def trajectory() -> str:
    """A digest of records and buffers along some play of every preset by every scripted agent."""
    digest = hashlib.sha256()
    for rules in PRESETS.values():
        games = Games(rules, 4, seed=11)
        games.reset()
        agents = smear_agents.make_agents((["club", "greedy", "random"] * 2)[: rules.players], rules, seed=5)
        for _ in range(80):
            pairs = zip(games.seats, games.observations, games.action_masks, strict=True)
            games.step([agents[seat].act(view, mask) for seat, view, mask in pairs])
            digest.update(games.records.tobytes() + games.observations.tobytes() + games.action_masks.tobytes())
            digest.update(games.sample().tobytes())
    return digest.hexdigest()


@pytest.mark.jit
def test_both_gears_give_the_same_bytes_in_any_process() -> None:
    """S1, too: another process, another hash seed, another order of everything."""
    command = "import sys; sys.path.insert(0, 'tests'); import test_project; print(test_project.trajectory())"
    here = trajectory()
    for variables in ({"NUMBA_DISABLE_JIT": "1"}, {"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2"}):
        result = run("-W", "error", "-c", command, **variables)
        assert result.stdout.strip() == here, result.stderr


def test_cache_folder_goes_with_the_sources_and_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "one.py").write_text("x = 1")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    first = _jit.cache_folder(package)
    assert first is not None and first == _jit.cache_folder(package)
    (package / "one.py").write_text("x = 2")
    assert _jit.cache_folder(package) != first
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    fallback = _jit.cache_folder(package)
    assert fallback is not None and tmp_path / "file" not in fallback.parents


def test_a_new_version_removes_compiled_code_that_was_not_used_for_30_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, cache = tmp_path / "package", tmp_path / "cache"
    package.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))

    def folder_of(version: int, days: float = 0) -> Path:
        (package / "one.py").write_text(f"x = {version}")
        folder = _jit.cache_folder(package)
        assert folder is not None and folder.parent == cache
        (folder / "code").mkdir(exist_ok=True)
        (folder / "code" / "one.nbi").write_text("")
        os.utime(folder, (time.time() - days * 86400,) * 2)
        return folder

    recent, old = folder_of(2, days=29), folder_of(1, days=31)
    others = [cache / name for name in ("smear-env", "smear-env-notes", f"numba-{'0' * 16}", f"smear-env-{'0' * 17}")]
    for folder in others:
        folder.mkdir()
        os.utime(folder, (0, 0))
    linked = cache / f"smear-env-{'0' * 16}"
    linked.symlink_to(others[0])
    (cache / f"smear-env-{'1' * 16}").symlink_to(cache / "nowhere")
    folder_of(2, days=29)  # no new version: nothing is looked at
    assert old.exists()
    assert folder_of(3).exists() and recent.exists() and all(folder.exists() for folder in (*others, linked))
    assert not old.exists()
    os.utime(recent, (0, 0))
    folder_of(2)  # in use again
    folder_of(4)
    assert recent.exists()


def test_compiled_code_that_cannot_be_removed_or_is_just_being_removed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / f"smear-env-{'0' * 16}"
    old.mkdir()
    os.utime(old, (0, 0))
    monkeypatch.setattr(os, "rmdir", lambda *_, **__: (_ for _ in ()).throw(PermissionError()))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = _jit.cache_folder(ROOT / "docs")
    assert folder is not None and folder.parent == tmp_path and old.exists()


def test_kernels_are_compiled_with_a_cache_and_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jit, "JIT", True)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    compiler = _jit.Compiler(ROOT / "docs")
    assert compiler.is_cold()
    assert compiler(is_small)(3)
    monkeypatch.setattr(_jit, "cache_folder", lambda *_: None)
    uncached = _jit.Compiler(ROOT / "docs")
    assert uncached.is_cold() and not uncached(is_small)(30)


def is_small(number: int) -> bool:
    return number < 10


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_every_system_has_a_place_for_compiled_code(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    assert _jit._cache_home().is_absolute()


def test_without_a_folder_that_can_be_written_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(_jit.tempfile, "gettempdir", lambda: str(tmp_path / "file"))
    assert _jit.cache_folder(ROOT / "docs") is None


def test_compilation_is_announced_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(type(_jit.kernel), "is_cold", lambda self: True)
    _jit.announce_compilation.cache_clear()
    _jit.announce_compilation()
    _jit.announce_compilation()
    assert capsys.readouterr().err.count("compiling the rules") == 1


# --- Documents ---------------------------------------------------------------------------------------------------


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(blocks(ROOT / "README.md", "python"))))
@pytest.mark.slow
def test_python_in_the_readme_runs(number: int) -> None:
    exec(compile(blocks(ROOT / "README.md", "python")[number], f"README block {number}", "exec"), {})


def test_first_example_is_short() -> None:
    assert len(blocks(ROOT / "README.md", "python")[0].splitlines()) <= 16


def test_targets_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z-]+)", " ".join(blocks(ROOT / "README.md", "sh"))):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_links_of_the_documents_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page, target)


def test_tables_of_the_documentation_are_those_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import generate

    assert generate.PAGE.read_text(encoding="utf-8") == generate.page(), "run `make docs`"
    assert generate.README.read_text(encoding="utf-8") == generate.readme(), "run `make docs`"
    assert generate.TRAINING.read_text(encoding="utf-8") == generate.training_page(), "run `make docs`"
    assert generate.INTEROP.read_text(encoding="utf-8") == generate.interop_page(), "run `make docs`"
    assert generate.RECIPE.read_text(encoding="utf-8") == generate.recipe_page(), "run `make docs`"


def test_the_readme_lists_the_agents() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, entry in AGENTS.items():
        shown = f"{name}:{entry.argument}" if entry.argument else name
        assert f"| `{shown}` | {entry.meaning} |\n" in readme


def test_documents_name_no_path_of_a_machine_and_stand_alone() -> None:
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("configs/**/*.toml"), ROOT / "Makefile"]:
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert str(Path.home()) + "/" not in text, path
            for place in re.findall(r"(?:\.\./)+[\w./-]*", text):
                target = (path.parent / place.rstrip(".")).resolve()
                assert target.is_relative_to(ROOT) and target.exists(), (path, place)


@pytest.mark.slow
def test_loop_of_the_self_play_page_runs_and_keeps_the_books() -> None:
    """With lambda 1 and values of 0 an advantage is what the seat still got in its deal."""
    (loop,) = blocks(ROOT / "docs" / "self_play.md", "python")
    assert loop.count("\n") <= 60
    names: dict[str, object] = {}
    exec(compile(loop.replace("LAMBDA = 256, 200, 1.0, 0.95", "LAMBDA = 8, 150, 1.0, 1.0"), "self_play", "exec"), names)
    seats, rewards, ended = (np.asarray(names[name]) for name in ("seats", "rewards", "ended"))
    advantages, valid = np.asarray(names["advantages"]), np.asarray(names["valid"])
    checked = 0
    for game in range(8):
        ends = np.flatnonzero(ended[:, game])
        for t in range(ends[-1] + 1):
            end = ends[ends >= t][0]
            assert valid[t, game]
            assert advantages[t, game] == pytest.approx(rewards[t : end + 1, game, seats[t, game]].sum(), abs=1e-5)
            checked += 1
    assert checked > 100
