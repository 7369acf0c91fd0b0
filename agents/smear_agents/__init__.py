"""Players for the games of smear_env: what an agent is, names for them, scripted ones, search, networks; exact play."""

from smear_agents.agent import Agent, GameAgent
from smear_agents.club import ClubAgent
from smear_agents.double_dummy import Solution, solve
from smear_agents.equity import MatchEquity
from smear_agents.expert import ExpertAgent
from smear_agents.neural import NeuralAgent, load
from smear_agents.registry import AGENTS, is_foreign, make_agent, make_agents, seat_seed
from smear_agents.scripted import GreedyAgent, RandomAgent
from smear_agents.search import CheaterAgent, IsmctsAgent, NetworkSearchAgent, PimcAgent
from smear_env.gym_env import decide, game_sight

__all__ = [
    "AGENTS",
    "Agent",
    "CheaterAgent",
    "ClubAgent",
    "ExpertAgent",
    "GameAgent",
    "GreedyAgent",
    "IsmctsAgent",
    "MatchEquity",
    "NetworkSearchAgent",
    "NeuralAgent",
    "PimcAgent",
    "RandomAgent",
    "Solution",
    "decide",
    "game_sight",
    "is_foreign",
    "load",
    "make_agent",
    "make_agents",
    "seat_seed",
    "solve",
]
