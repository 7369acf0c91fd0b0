"""A player for the tests of clusters, where it is found by name: `cluster_players:HangsOnce`."""

import os
import time
from pathlib import Path

import numpy as np

from smear_agents import Agent


class HangsOnce(Agent):
    """The first legal action; but on the first node of a cluster, the head apart, that asks it, it never answers.

    The folder SMEAR_TEST_FOLDER says who the head is (`head`), and is told which node hangs (`hanging`).
    """

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        folder, raylet = Path(os.environ["SMEAR_TEST_FOLDER"]), os.environ.get("RAY_RAYLET_PID")
        if raylet is not None and raylet != (folder / "head").read_text():
            try:
                (folder / "first").touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                (folder / "new").write_text(raylet)
                (folder / "new").replace(folder / "hanging")
                time.sleep(1000)
        return action_masks.argmax(1)
