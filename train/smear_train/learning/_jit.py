"""The decorator `kernel` for this package: it goes stale with a change here, in the agents or in smear_env."""

from pathlib import Path

import smear_agents
import smear_env
from smear_env._jit import Compiler

kernel = Compiler(Path(__file__).parent, Path(smear_agents.__file__).parent, Path(smear_env.__file__).parent)
