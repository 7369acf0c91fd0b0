"""What holds for every test: none opens a window, whatever display the machine has."""

from collections.abc import Iterator

import pytest

from smear_env import pictures


@pytest.fixture(autouse=True, scope="session")
def no_window() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "has_display", lambda: False)
        yield
