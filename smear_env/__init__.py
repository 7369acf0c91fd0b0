"""Rules and reinforcement-learning environments for the Smear / Schmier card-game family.

`Games` plays many games at once, `schmier_v0` and `four_point_v0` are the environments for PettingZoo, `GameRules` and
`make_rules` make the rules, `Sampler` draws random legal actions, `smear_env.testing` sets up positions by card names.
"""

from smear_env.aec import register_environments
from smear_env.games import Games, Sampler
from smear_env.illegal import IllegalActionError
from smear_env.rules import PRESETS, GameRules, make_rules

__version__ = "0.1.0"

__all__ = ["PRESETS", "GameRules", "Games", "IllegalActionError", "Sampler", "__version__", "make_rules"]

register_environments()
