"""Players that fail: each class in its own way, at its first bid or at its last card; otherwise the first legal action.

They are found by name, as in `faulty:RaisesAtFirstBid`, because evaluation makes them in other processes.
"""

import os
import time
from typing import Any

import numpy as np

from smear_agents import Agent
from smear_env.actions import PASS
from smear_env.observe import block_slice


def _raise() -> Any:
    raise RuntimeError("no idea\nwhat to do")


def _die() -> Any:
    os._exit(7)


WAYS = {
    "Raises": _raise,
    "Hangs": lambda: time.sleep(1000),
    "Dies": _die,
    "ReturnsNone": lambda: None,
    "ReturnsFloat": lambda: 3.0,
    "ReturnsText": lambda: "pass",
    "ReturnsTooFew": lambda: np.zeros(0, np.int64),
    "PlaysIllegal": lambda: 69,
    "PlaysOutOfRange": lambda: -1,
    "PlaysFarOutOfRange": lambda: 10**15,
}
SPOTS = ("AtFirstBid", "AtLastCard")


class Faulty(Agent):
    """The first legal action, but for the spot at which it fails."""

    way = "Raises"
    spot = "AtFirstBid"

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> Any:
        print("a player may print what it likes")
        if self.spot == "AtFirstBid":
            fails = action_masks[:, PASS] > 0
        else:
            hand = observations[:, block_slice(self.rules, "hand")]
            fails = (hand.sum(1) == 1) & (action_masks[:, :PASS].sum(1) == 1)
        actions = action_masks.argmax(1)
        if not fails.any():
            return actions
        answer = WAYS[self.way]()
        if not isinstance(answer, int):
            return answer
        return np.where(fails, answer, actions)


for _way in WAYS:
    for _spot in SPOTS:
        globals()[_way + _spot] = type(_way + _spot, (Faulty,), {"way": _way, "spot": _spot, "__module__": __name__})


class CannotBeMade(Agent):
    def __init__(self, *arguments: object) -> None:
        raise OSError("no weights here")

    def __call__(self, observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        raise AssertionError
