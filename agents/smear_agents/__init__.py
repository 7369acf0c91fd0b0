"""Players for the games of smear_env: the interface of an agent, a registry of names, and scripted players."""

from smear_agents.agent import Agent, GameAgent
from smear_agents.club import ClubAgent
from smear_agents.registry import AGENTS, make_agent, make_agents, seat_seed
from smear_agents.scripted import GreedyAgent, RandomAgent
from smear_env.gym_env import decide, game_sight

__all__ = [
    "AGENTS",
    "Agent",
    "ClubAgent",
    "GameAgent",
    "GreedyAgent",
    "RandomAgent",
    "decide",
    "game_sight",
    "make_agent",
    "make_agents",
    "seat_seed",
]
