"""What holds for every test: none opens a window, whatever display the machine has."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from smear_env import pictures

# They import what the extra `train` brings, which `make test-oldest` does without.
NEED_TORCH = [
    "test_learner_view.py", "test_learning.py", "test_likelihoods.py", "test_network.py", "test_run_folder.py",
    "test_players.py", "test_train.py", "test_training_progress.py",
]  # fmt: skip
collect_ignore = [] if find_spec("torch") else NEED_TORCH


@pytest.fixture(autouse=True, scope="session")
def no_window() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "has_display", lambda: False)
        yield
