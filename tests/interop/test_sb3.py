from pathlib import Path

import pytest
from recipes import evaluate, run_recipe

pytest.importorskip("sb3_contrib")
pytestmark = [pytest.mark.slow, pytest.mark.jit]


def test_recipe_trains_saves_restores_and_its_player_sits_at_our_tables(tmp_path: Path) -> None:
    run_recipe("train_sb3", tmp_path, "--player", "maskable_ppo", "--decisions", "4096")
    evaluate("train_sb3:MaskablePPOPlayer", tmp_path)
