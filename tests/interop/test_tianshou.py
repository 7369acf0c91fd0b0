from pathlib import Path

import pytest
from recipes import evaluate, run_recipe

pytest.importorskip("tianshou")
pytestmark = [pytest.mark.slow, pytest.mark.jit]


def test_recipe_trains_saves_restores_and_its_player_sits_at_our_tables(tmp_path: Path) -> None:
    run_recipe("train_tianshou", tmp_path, "--player", "dqn", "--decisions", "4096")
    evaluate("train_tianshou:DQNPlayer", tmp_path)
