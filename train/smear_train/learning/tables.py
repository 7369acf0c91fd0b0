"""Who sits where in the deals of an update, where the game stands, and what the players get for the deal."""

import functools
from dataclasses import dataclass

import numpy as np

from smear_agents.equity import chance_after, chance_at, scores_in_games, shipped_equity
from smear_env import GameRules
from smear_env._jit import int64
from smear_env.rules import NOBODY, make_tables
from smear_train.learning._jit import kernel
from smear_train.learning.config import TrainConfig, scheduled
from smear_train.learning.rollout import Seating

CARDS, SEATING, ORDER, WEIGHTS = range(4)
"""What chance is used for, so that each use has a stream of its own."""

GAMES = 4096
"""Of so many games the scores are drawn at which deals begin, if the reward depends on them."""


def stream(seed: int, use: int, update: int, rank: int = 0) -> np.random.SeedSequence:
    """The chance of one use in one update. It depends on nothing that was drawn before, so a run can be resumed."""
    return np.random.SeedSequence([seed, use, update, rank])


def generator(seed: int, use: int, update: int, rank: int = 0) -> np.random.Generator:
    """What draws from `stream`."""
    return np.random.Generator(np.random.PCG64(stream(seed, use, update, rank)))


def deal_seeds(seed: int, update: int, deals: int) -> np.ndarray:
    """A seed for each deal of an update, (N,) uint64."""
    return stream(seed, CARDS, update).generate_state(deals, np.uint64)


@dataclass(frozen=True)
class Pool:
    """Who may sit at the tables besides the learner.

    Attributes:
        agents: how many agents outside there are to draw from, numbered from 0.
        past: how many earlier selves, networks 1, 2, ...
    """

    agents: int
    past: int


def seat_clones(rules: GameRules, config: TrainConfig, teacher: int, update: int) -> Seating:
    """Everybody is the teacher, an agent outside, and is learned from."""
    shape = (config.deals, rules.players)
    rng = generator(config.seed, SEATING, update)
    return Seating(
        roles=np.full(shape, -1 - teacher),
        recorded=np.ones(shape, np.bool_),
        must_bid=np.zeros(config.deals, np.bool_),
        scores=_draw_scores(rules, config, rng),
    )


def seat_learner(
    rules: GameRules, config: TrainConfig, pool: Pool, update: int, progress: float, frozen: int | None = None
) -> Seating:
    """The learner at most tables alone, at a share of them as one team against somebody of the pool.

    Args:
        rules: the game.
        config: of the run.
        pool: whom to draw from.
        update: its number, of which the draws depend.
        progress: how much of the run is over.
        frozen: an agent outside that is to be beaten: it plays all teams but one at every table.
    """
    deals = config.deals
    rng = generator(config.seed, SEATING, update)
    team_of = np.arange(rules.players) % rules.teams
    own_team = rng.integers(rules.teams, size=deals)
    is_own = team_of == own_team[:, None]
    roles = np.zeros((deals, rules.players), np.int64)
    shared, kind = rng.random(deals), rng.random(deals)
    past = 1 + rng.integers(max(pool.past, 1), size=deals)
    agent = -1 - rng.integers(max(pool.agents, 1), size=deals)
    forced = rng.random(deals)
    if frozen is not None:
        other, has_other = np.full(deals, -1 - frozen), np.ones(deals, np.bool_)
    else:
        is_agent = (kind < config.opponents.weight_of_agents) if pool.agents and pool.past else pool.agents > 0
        other = np.where(is_agent, agent, past)
        has_other = (shared < config.opponents.share) & (pool.agents + pool.past > 0)
    roles = np.where(has_other[:, None] & ~is_own, other[:, None], roles)
    share = scheduled(config.must_bid, config.final_must_bid, progress)
    return Seating(
        roles=roles,
        recorded=roles == 0,
        must_bid=(forced < share) & (roles >= 0).all(1),
        scores=_draw_scores(rules, config, rng),
    )


def _draw_scores(rules: GameRules, config: TrainConfig, rng: np.random.Generator) -> np.ndarray:
    """Scores as they come about in games, (N, teams), each team in each place alike; zeros where they do not matter."""
    if config.reward != "equity":
        return np.zeros((config.deals, rules.teams), np.int64)
    begun = _begun_scores(rules)
    return rng.permuted(begun[rng.integers(len(begun), size=config.deals)], axis=1)


@functools.lru_cache(maxsize=2)
def _begun_scores(rules: GameRules) -> np.ndarray:
    return scores_in_games(rules, GAMES, seed=0)


def part_of(seating: Seating, part: slice) -> Seating:
    """Some of the deals."""
    return Seating(seating.roles[part], seating.recorded[part], seating.must_bid[part], seating.scores[part])


# --- What the players get ----------------------------------------------------------------------------------------


def points_payoffs(records: np.ndarray, rules: GameRules) -> np.ndarray:
    """Each seat's change of score less the mean of the other teams', (N, P); 0 for a deal thrown in."""
    delta = np.where((records["deals_scored"] > 0)[:, None], records["last_delta"][:, : rules.teams], 0)
    more = delta - (delta.sum(1, keepdims=True) - delta) / (rules.teams - 1)
    return np.asarray(more[:, np.arange(rules.players) % rules.teams], np.float32)


def equity_payoffs(records: np.ndarray, scores: np.ndarray, rules: GameRules) -> np.ndarray:
    """By how much each seat's chance to win the game has changed, (N, P); `scores` (N, teams) are those before."""
    equity = shipped_equity(rules)
    table = equity.table.reshape(-1, rules.teams)
    out = np.zeros((len(records), rules.players), np.float32)
    _write_equities(records, make_tables(rules), scores, table, equity.table.shape[0], out)
    return out


@kernel
def _write_equities(
    records: np.ndarray, tables: np.ndarray, scores: np.ndarray, table: np.ndarray, size: int, out: np.ndarray
) -> None:
    t = tables[0]
    for i in range(len(records)):
        g = records[i]
        dealer, bidder, made = g.dealer % t.teams, int64(NOBODY), False
        if g.deals_scored > 0:
            bidder = g.last_bidder % t.teams
            made = g.last_points[bidder] >= g.last_bid
        for seat in range(t.players):
            team = t.team_of[seat]
            before = chance_at(scores[i], t, table, size, dealer, team)
            out[i, seat] = chance_after(g, t, table, size, dealer, bidder, made, team) - before
