"""The Gymnasium environment: one seat, or one team, learns; given policies play the others.

`LearnerGames` does this for N games at once. `SingleSeatEnv` is one of them, `SmearVectorEnv` all N, so that the two
agree by construction.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from smear_env.actions import NUM_ACTIONS
from smear_env.aec import observation_space
from smear_env.engine import seed_state
from smear_env.games import (
    HOLD,
    LEARNER,
    OPPONENT,
    PARTNER,
    UNIFORM,
    Episode,
    Games,
    Reward,
    draw_seats,
    play_turns,
    start_chosen,
)
from smear_env.render import ansi
from smear_env.rules import NOBODY, GameRules

Policy = Callable[[np.ndarray, np.ndarray], Any]
"""(observations (N, D), action_masks (N, 70)) -> actions (N,). The agents of smear_agents are such callables."""

LEARN = "learner"
"""In place of the partner's policy: the learner plays its whole team."""


class LearnerGames:
    """N games in which a learner decides for its seat; the others' turns are played in between.

    Args:
        rules, episode, reward, max_deals, options: as for `Games`.
        num_games: N.
        seat: the learner's; None: drawn for each episode.
        opponents: the policy of the other teams; None: random legal actions.
        partner: the policy of the rest of the learner's team; None: random legal actions; "learner": the learner.
        illegal: "terminate" or "raise".

    Attributes:
        games: the `Games`, at the learner's turn or over.
        learner_seats: (N,) the learner's seat in this episode.
        seats: (N,) the seat to decide for, the learner's own one when the episode is over.
        rewards: (N,) what the learner's team got in the last step.
        forfeited: (N,) the games that an illegal action of the learner has just ended.

    Raises:
        ValueError, TypeError: an argument that is not right.
    """

    def __init__(
        self,
        rules: GameRules | str | Path | None,
        num_games: int,
        seat: int | None,
        opponents: Policy | None,
        partner: Policy | str | None,
        episode: Episode,
        reward: Reward,
        illegal: str,
        max_deals: int,
        **options: Any,
    ) -> None:
        if illegal not in ("raise", "terminate"):
            raise ValueError(f"illegal={illegal!r} is not allowed; allowed: 'raise', 'terminate'")
        self.games = Games(rules, num_games, None, episode, reward, autoreset=False, max_deals=max_deals, **options)
        self.rules = self.games.rules
        if seat is not None and seat not in range(self.rules.players):
            raise ValueError(f"seat={seat!r} is not allowed; allowed: 0..{self.rules.players - 1}, or None to draw it")
        for name, policy in (("opponents", opponents), ("partner", partner)):
            if policy is not None and not callable(policy) and not (name == "partner" and policy == LEARN):
                also = ", 'learner'" if name == "partner" else ""
                raise TypeError(f"{name} must be a callable (observations, action_masks) -> actions, None{also}")
        self.seat, self.illegal = seat, illegal
        self._policies = {OPPONENT: opponents, PARTNER: partner}
        n, players = self.games.num_games, self.rules.players
        self.learner_seats = np.zeros(n, np.int64)
        self.rewards = np.zeros(n)
        self.forfeited = np.zeros(n, np.bool_)
        self._roles = np.zeros((n, players), np.int8)
        self._rewards = np.zeros((n, players), np.float32)
        self._held = np.full(n, HOLD, np.int64)
        self._seat_states = np.random.SeedSequence().generate_state(n, np.uint64)

    @property
    def over(self) -> np.ndarray:
        """(N,) the games whose episode is over."""
        over: np.ndarray = self.games.seats == NOBODY
        return over

    @property
    def seats(self) -> np.ndarray:
        """(N,) the seat that the learner has to decide for; its own one when the episode is over."""
        return np.where(self.over, self.learner_seats, self.games.seats)

    def reset(self, chosen: np.ndarray, seeds: Sequence[int] | None = None) -> None:
        """Starts the chosen games (N,) anew, up to the learner's first turn; with seeds, all of them."""
        games = self.games
        if seeds is not None:
            games._seed(seeds)
            # A third stream of the game's seed, beside those of the cards and of the random actions.
            self._seat_states = np.array([seed_state(np.uint64(seed), 2) for seed in seeds], np.uint64)
        if self.seat is None:
            draw_seats(self.rules.players, self._seat_states, chosen, self.learner_seats)
        else:
            self.learner_seats[chosen] = self.seat
        self._roles[chosen] = self._roles_of(self.learner_seats[chosen])
        start_chosen(games.records, games.tables, chosen)
        self._play(self._held)

    def _roles_of(self, learner_seats: np.ndarray) -> np.ndarray:
        """Who plays each seat, (N, P), for learners at these seats."""
        partner, opponents = self._policies[PARTNER], self._policies[OPPONENT]
        seats = np.arange(self.rules.players)
        is_own = seats == learner_seats[:, None]
        is_partner = (seats % self.rules.teams == learner_seats[:, None] % self.rules.teams) & ~is_own
        partner_role = LEARNER if partner == LEARN else UNIFORM if partner is None else PARTNER
        roles = np.where(is_partner, partner_role, UNIFORM if opponents is None else OPPONENT)
        return np.where(is_own, LEARNER, roles)

    def step(self, actions: np.ndarray) -> None:
        """Does the learner's actions (N,) int64, then plays on to its next turn or to the end.

        Raises:
            IllegalActionError: if `illegal` is "raise"; nothing has changed.
        """
        if self.illegal == "raise":
            wrong = self.illegal_rows(actions)
            if wrong.size:
                raise self.games.illegal_action(int(wrong[0]), int(actions[wrong[0]]))
        self.forfeited[:] = False
        self._play(np.where((actions < 0) | (actions >= NUM_ACTIONS), NOBODY, actions))
        self.rewards = self._rewards[np.arange(len(actions)), self.learner_seats].astype(np.float64)

    def illegal_rows(self, actions: np.ndarray) -> np.ndarray:
        """The games, by number, that are not over and whose action is not legal."""
        inside = (actions >= 0) & (actions < NUM_ACTIONS)
        legal = inside & (self.games.action_masks[np.arange(len(actions)), np.where(inside, actions, 0)] > 0)
        return np.flatnonzero(~legal & ~self.over)

    def _play(self, actions: np.ndarray) -> None:
        """Does some actions, then everybody else's until each game waits for the learner or is over."""
        games = self.games
        self._rewards[:] = 0
        while True:
            play_turns(
                games.records, games.tables, actions, self._roles, games._sample_states, games._flags, self._rewards,
                self.forfeited,
            )  # fmt: skip
            games.refresh()
            actions = self._held.copy()
            roles = np.where(self.over, LEARNER, self._roles[np.arange(len(actions)), games.seats])
            for role, policy in self._policies.items():
                rows = np.flatnonzero(roles == role)
                if rows.size:
                    actions[rows] = self._ask(policy, rows)
            if np.all(roles == LEARNER):
                return

    def _ask(self, policy: Any, rows: np.ndarray) -> np.ndarray:
        """The actions of a policy for some games, which have to be legal."""
        games = self.games
        answers = np.asarray(policy(games.observations[rows], games.action_masks[rows]))
        if answers.shape != rows.shape or answers.dtype.kind not in "iu":
            raise ValueError(
                f"a policy must return {rows.size} whole numbers, one a row; it returned shape {answers.shape}, "
                f"type {answers.dtype}"
            )
        for row, action in zip(rows, answers, strict=True):
            if not (0 <= action < NUM_ACTIONS and games.action_masks[row, action]):
                raise games.illegal_action(int(row), int(action))
        return answers

    def observe(self) -> tuple[np.ndarray, np.ndarray]:
        """What the learner sees, (N, D), and its masks, (N, 70): new arrays."""
        if self.over.any():
            return self.games.observe(self.seats)
        return self.games.observations.copy(), self.games.action_masks.copy()


class SingleSeatEnv(gymnasium.Env[Any, Any]):
    """One seat of a game for Gymnasium; the others are played by given policies.

    The return of an episode is the result of the learner's team, also when others play on after its last card.

    >>> env = SingleSeatEnv("four_point", seat=0)
    >>> observation, info = env.reset(seed=1)
    >>> observation["action_mask"].shape, env.action_masks().dtype
    ((70,), dtype('bool'))

    Args:
        rules: a `GameRules`, the name of a preset or the path of a TOML file; single options follow as keywords.
        seat: the learner's; None: drawn for each episode. Its team is seat mod teams.
        opponents: the other teams' policy, `(observations, action_masks) -> actions`; None: random legal actions.
        partner: likewise for the rest of the learner's team; "learner": the learner plays the whole team.
        episode: "deal" (one dealing-out) or "game".
        reward: "points" or "win", see `SmearAECEnv`.
        flat: observations are the vector alone, a `Box`, instead of a dict with the mask.
        illegal: "terminate": an illegal action ends the episode as if the team had been set at the highest bid, and
            `info["illegal_action"]` says why; "raise": it is an `IllegalActionError` and nothing has changed.
        max_deals: dealings-out after which a game is truncated.
        render_mode: "ansi" or None.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        rules: GameRules | str | Path | None = "schmier",
        seat: int | None = None,
        opponents: Policy | None = None,
        partner: Policy | str | None = None,
        episode: Episode = "deal",
        reward: Reward = "points",
        flat: bool = False,
        *,
        illegal: str = "terminate",
        max_deals: int = 100,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode={render_mode!r} is not allowed; allowed: 'ansi', None")
        self._learner = LearnerGames(rules, 1, seat, opponents, partner, episode, reward, illegal, max_deals, **options)
        self.rules = self._learner.rules
        self.flat = flat
        self.render_mode = render_mode
        self.observation_space = learner_space(self.rules, flat)
        self.action_space: spaces.Space[Any] = spaces.Discrete(NUM_ACTIONS)
        self._one = np.ones(1, np.bool_)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode, up to the learner's first turn. Without a seed the generators run on."""
        super().reset(seed=seed)
        self._learner.reset(self._one, None if seed is None else [seed])
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Does the learner's action and plays on to its next turn, or to the end of the episode."""
        learner = self._learner
        if not isinstance(action, int | np.integer | np.ndarray) or np.asarray(action).dtype.kind not in "iu":
            raise learner.games.illegal_action(0, action)
        if learner.over[0]:
            raise learner.games.illegal_action(0, int(action))
        why = None
        if not (0 <= int(action) < NUM_ACTIONS and learner.games.action_masks[0, int(action)]):
            why = learner.games.illegal_action(0, int(action))
        learner.step(np.array([int(action)]))
        info = self._info()
        if why is not None:
            info["illegal_action"] = str(why)
        games = learner.games
        return (
            self._observation(),
            float(learner.rewards[0]),
            bool(games.terminated[0]),
            bool(games.truncated[0]),
            info,
        )

    def action_masks(self) -> np.ndarray:
        """The legal actions, (70,) bool, as sb3-contrib's MaskablePPO asks for them."""
        masks: np.ndarray = self._learner.games.action_masks[0] > 0
        return masks

    def render(self) -> str | None:
        """The table as the learner sees it, or None without a render mode."""
        if self.render_mode is None:
            return None
        return ansi(self._learner.games.records, 0, self.rules, int(self._learner.seats[0]))

    def _observation(self) -> Any:
        observations, action_masks = self._learner.observe()
        if self.flat:
            return observations[0]
        return {"observation": observations[0], "action_mask": action_masks[0]}

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._learner.games.action_masks[0].copy(), "seat": int(self._learner.seats[0])}


def learner_space(rules: GameRules, flat: bool) -> spaces.Space[Any]:
    """The space of a learner's observations."""
    space = observation_space(rules)
    return space["observation"] if flat else space


def register_environments() -> None:
    """Makes `gymnasium.make("smear_env/Schmier-v0")` and `make_vec` of it work."""
    for name, rules in (("Schmier", "schmier"), ("FourPoint", "four_point")):
        environment = f"smear_env/{name}-v0"
        if environment not in gymnasium.registry:
            gymnasium.register(
                environment,
                entry_point="smear_env.gym_env:SingleSeatEnv",
                vector_entry_point="smear_env.vector_env:SmearVectorEnv",
                kwargs={"rules": rules},
            )
