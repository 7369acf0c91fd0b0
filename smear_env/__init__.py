"""Rules and reinforcement-learning environments for the Smear / Schmier card-game family.

`Games` plays many games at once, `schmier_v0` and `four_point_v0` are the environments for PettingZoo, `GameRules` and
`make_rules` make the rules, `Sampler` draws random legal actions, `smear_env.testing` sets up positions by card names.
`observe_text`, `observe_json`, `legal_strings` and `parse_action` put language models and people at the table.
"""

from smear_env import aec, gym_env
from smear_env.games import Games, Sampler
from smear_env.gym_env import SingleSeatEnv
from smear_env.illegal import IllegalActionError
from smear_env.rules import PRESETS, GameRules, make_rules
from smear_env.text import UnreadableActionError, legal_strings, observe_json, observe_text, parse_action
from smear_env.vector_env import SmearVectorEnv

__version__ = "0.1.0"

__all__ = [
    "PRESETS",
    "GameRules",
    "Games",
    "IllegalActionError",
    "Sampler",
    "SingleSeatEnv",
    "SmearVectorEnv",
    "UnreadableActionError",
    "__version__",
    "legal_strings",
    "make_rules",
    "observe_json",
    "observe_text",
    "parse_action",
]

aec.register_environments()
gym_env.register_environments()
