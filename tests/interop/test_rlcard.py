from pathlib import Path

import pytest
from recipes import evaluate, run_recipe

pytest.importorskip("rlcard")
pytestmark = [pytest.mark.slow, pytest.mark.jit]


@pytest.mark.parametrize(("player", "name", "decisions"), [("dmc", "DMCPlayer", 1600), ("nfsp", "NFSPPlayer", 4000)])
def test_recipe_trains_saves_restores_and_its_player_sits_at_our_tables(
    player: str, name: str, decisions: int, tmp_path: Path
) -> None:
    run_recipe("train_rlcard", tmp_path, "--player", player, "--decisions", str(decisions))
    evaluate(f"train_rlcard:{name}", tmp_path)
