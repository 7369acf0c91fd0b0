"""The lines of a run as TensorBoard draws them. The files of the run are the truth; this is a copy that can be lost."""

import math
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any


class TensorBoardMirror:
    """Writes rows of metrics and of evaluations into `tensorboard/` in the folder of a run.

    Everything is drawn over the decisions learned from, as in a report.
    """

    def __init__(self, folder: Path, decisions: int = 0) -> None:
        """Begins to write.

        Args:
            folder: of the run.
            decisions: of a run that goes on, how many there were; what was drawn beyond them is taken back.

        Raises:
            ModuleNotFoundError: tensorboard is not installed.
        """
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(folder / "tensorboard", purge_step=decisions + 1 if decisions else None)

    def write(self, row: Mapping[str, Any]) -> None:
        """Draws every finite number of a row at its `decisions`; a row without those is left out."""
        if "decisions" not in row:
            return
        opponent = row.get("opponent", row.get("against"))
        group = "training" if opponent is None else f"against {opponent}"
        for key, value in row.items():
            if isinstance(value, Real) and math.isfinite(value) and key != "decisions":
                self._writer.add_scalar(f"{group}/{key}", value, row["decisions"])
        self._writer.flush()

    def close(self) -> None:
        """Ends writing."""
        self._writer.close()
