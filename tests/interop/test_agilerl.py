from pathlib import Path

import pytest
from recipes import evaluate, run_recipe

pytest.importorskip("agilerl")
pytestmark = [pytest.mark.slow, pytest.mark.jit]


def test_recipe_trains_saves_restores_and_its_player_sits_at_our_tables(tmp_path: Path) -> None:
    run_recipe("train_agilerl", tmp_path, "--player", "ppo", "--decisions", "4096")
    evaluate("train_agilerl:PPOPlayer", tmp_path)
