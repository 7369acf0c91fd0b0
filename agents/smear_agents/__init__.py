"""Players for the games of smear_env: the interface of an agent, a registry of names, and scripted players."""

from smear_agents.agent import Agent, GameAgent, decide
from smear_agents.club import ClubAgent
from smear_agents.registry import AGENTS, make_agent, make_agents
from smear_agents.scripted import GreedyAgent, RandomAgent

__all__ = [
    "AGENTS",
    "Agent",
    "ClubAgent",
    "GameAgent",
    "GreedyAgent",
    "RandomAgent",
    "decide",
    "make_agent",
    "make_agents",
]
