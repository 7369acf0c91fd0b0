"""Players for the games of smear_env: the interface of an agent, names for them, scripted ones; exact play."""

from smear_agents.agent import Agent, GameAgent, decide
from smear_agents.double_dummy import Solution, solve
from smear_agents.registry import AGENTS, make_agent, make_agents
from smear_agents.scripted import GreedyAgent, RandomAgent

__all__ = [
    "AGENTS", "Agent", "GameAgent", "GreedyAgent", "RandomAgent", "Solution", "decide", "make_agent", "make_agents",
    "solve",
]  # fmt: skip
