"""The Gymnasium environment: one seat, or one team, learns; given policies play the others.

`LearnerGames` does this for N games at once. `SingleSeatEnv` is one of them, `SmearVectorEnv` all N, so that the two
agree by construction.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces

from smear_env.actions import NUM_ACTIONS
from smear_env.aec import observation_space
from smear_env.engine import seed_state
from smear_env.games import (
    FORFEIT,
    HOLD,
    LEARNER,
    OPPONENT,
    PARTNER,
    UNIFORM,
    Episode,
    Games,
    Reward,
    draw_seats,
    find_illegal,
    play_turns,
    start_chosen,
)
from smear_env.illegal import IllegalActionError
from smear_env.pictures import Renderer, svg
from smear_env.resample import hide_each
from smear_env.rules import NOBODY, GameRules


class GamePlayer(Protocol):
    """A player that needs the game itself, to search or to deal hidden cards anew.

    It gets what `smear_env.resample.hide` leaves of it; all of it only if it has an attribute `sees_all` that is true.
    """

    def choose(self, games: np.ndarray, seats: np.ndarray) -> Any:
        """Legal actions (N,) for games (N,), records, each as seats[i], which is to move, knows it."""


Policy: TypeAlias = Callable[[np.ndarray, np.ndarray], Any] | GamePlayer
"""(observations (N, D), action_masks (N, 70)) -> actions (N,), or a `GamePlayer`. Agents of smear_agents are such."""

LEARN = "learner"
"""In place of the partner's policy: the learner plays its whole team."""


def decide(policy: Any, games: Games, rows: np.ndarray) -> Any:
    """What a policy does in some games of a batch, given by their numbers (M,), in each for the seat to move: (M,).

    Every player is asked through this, so that each sees what it may and no more.
    """
    if not hasattr(policy, "choose"):
        return policy(games.observations[rows], games.action_masks[rows])
    return policy.choose(*game_sight(games, rows, getattr(policy, "sees_all", False)))


def game_sight(games: Games, rows: np.ndarray, sees_all: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """What a `GamePlayer` gets of some games: records, hidden unless it sees all, and the seats to move."""
    records, seats = games.records[rows], games.seats[rows].astype(np.int64)
    return records if sees_all else hide_each(records, games.rules, seats), seats


class LearnerGames:
    """N games in which a learner decides for its seat; the others' turns are played in between.

    Args:
        num_games: N; all others as for `SingleSeatEnv`.

    Attributes:
        games: the `Games`, at the learner's turn or over.
        space: of one learner's observations.
        learner_seats: (N,) the learner's seat in this episode.
        rewards: (N,) what the learner's team got in the last step.
        errors: by game, why the learner's action in the last step, which has ended it, was not legal.

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
        flat: bool,
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
            is_player = policy is None or callable(policy) or hasattr(policy, "choose")
            if not is_player and not (name == "partner" and isinstance(policy, str) and policy == LEARN):
                also = ", 'learner'" if name == "partner" else ""
                raise TypeError(
                    f"{name} must be a callable (observations, action_masks) -> actions, a player with a method "
                    f"choose(games, seats) -> actions, None{also}"
                )
        self.seat, self.flat, self.illegal = seat, flat, illegal
        both = observation_space(self.rules)
        self.space: spaces.Space[Any] = both["observation"] if flat else both
        self._policies = {OPPONENT: opponents, PARTNER: partner}
        n, players = self.games.num_games, self.rules.players
        self.learner_seats = np.zeros(n, np.int64)
        self.rewards = np.zeros(n)
        self.errors: dict[int, IllegalActionError] = {}
        self._roles = np.zeros((n, players), np.int8)
        self._rewards = np.zeros((n, players), np.float32)
        self._held = np.full(n, HOLD, np.int64)
        self._all = np.arange(n)
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
        """Does the learner's actions (N,), whole numbers, then plays on to its next turn or to the end.

        Raises:
            IllegalActionError: if `illegal` is "raise"; nothing has changed.
        """
        illegal = self._illegal(self._all, actions)
        errors = {row: self.games.illegal_action(row, int(actions[row])) for row in illegal}
        if errors and self.illegal == "raise":
            raise errors[illegal[0]]
        self.errors = errors
        actions = actions.astype(np.int64)
        if errors:
            actions[illegal] = FORFEIT
        self._play(actions)
        self.rewards = self._rewards[self._all, self.learner_seats].astype(np.float64)

    def _illegal(self, rows: np.ndarray, actions: np.ndarray) -> list[int]:
        """Those of some games that are not over and do not allow the action given for them."""
        illegal = np.zeros(rows.size, np.bool_)
        checked = np.minimum(actions, NUM_ACTIONS).astype(np.int64)  # a larger one could wrap around to a legal one
        if not find_illegal(self.games.records, rows, checked, illegal):
            return []
        return [int(row) for row in rows[illegal]]

    def _play(self, actions: np.ndarray) -> None:
        """Does some actions, then everybody else's until each game waits for the learner or is over."""
        games = self.games
        self._rewards[:] = 0
        while True:
            play_turns(
                games.records, games.tables, actions, self._roles, games._sample_states, games._flags, self._rewards
            )
            games.refresh()
            actions = self._held.copy()
            roles = np.where(self.over, LEARNER, self._roles[self._all, games.seats])
            for role, policy in self._policies.items():
                rows = np.flatnonzero(roles == role)
                if rows.size:
                    actions[rows] = self._ask(policy, rows)
            if np.all(roles == LEARNER):
                return

    def _ask(self, policy: Any, rows: np.ndarray) -> np.ndarray:
        """The actions of a policy for some games, which have to be legal."""
        answers = np.asarray(decide(policy, self.games, rows))
        if answers.shape != rows.shape or answers.dtype.kind not in "iu":
            raise ValueError(
                f"a policy must return {rows.size} whole numbers, one a row; it returned shape {answers.shape}, "
                f"type {answers.dtype}"
            )
        for row in self._illegal(rows, answers):
            raise self.games.illegal_action(row, int(answers[rows == row][0]))
        return answers

    def observe(self) -> tuple[np.ndarray, np.ndarray]:
        """What the learner sees, (N, D), and its masks, (N, 70): new arrays."""
        if self.over.any():
            return self.games.observe(self.seats)
        return self.games.observations.copy(), self.games.action_masks.copy()

    def packed(self, observation: np.ndarray, action_mask: np.ndarray) -> Any:
        """An observation, or all of them, as the environment hands it out."""
        return observation if self.flat else {"observation": observation, "action_mask": action_mask}


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
        opponents: the other teams' policy, `(observations (N, D), action_masks (N, 70)) -> actions (N,)`, or a player
            that needs the game, see `GamePlayer`; None: random legal actions.
        partner: likewise for the rest of the learner's team; "learner": the learner plays the whole team.
        episode: "deal" (one dealing-out) or "game".
        reward: "points" or "win", see `SmearAECEnv`.
        flat: observations are the vector alone, a `Box`, instead of a dict with the mask.
        illegal: "terminate": an illegal action ends the episode as if the team had been set at the highest bid, and
            `info["illegal_action"]` says why; "raise": it is an `IllegalActionError` and nothing has changed.
        max_deals: dealings-out after which a game is truncated.
        render_mode: "ansi", "rgb_array", "human" or None, as for `SmearAECEnv`. The one who looks is the learner.

    Raises:
        ValueError, TypeError: an argument that is not right; the message says what is allowed.
    """

    metadata: dict[str, Any] = {"render_modes": list(Renderer.MODES), "render_fps": 1}

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
        self._renderer = Renderer(render_mode)
        self._learner = LearnerGames(
            rules, 1, seat, opponents, partner, episode, reward, flat, illegal, max_deals, **options
        )
        self.rules, self.flat = self._learner.rules, flat
        self.render_mode = render_mode
        self.observation_space = self._learner.space
        self.action_space: spaces.Space[Any] = spaces.Discrete(NUM_ACTIONS)
        self._one = np.ones(1, np.bool_)
        self._has_begun = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode, up to the learner's first turn. Without a seed the generators run on."""
        super().reset(seed=seed)
        self._learner.reset(self._one, None if seed is None else [seed])
        self._has_begun = True
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Does the learner's action and plays on to its next turn, or to the end of the episode."""
        learner, games = self._learner, self._learner.games
        actions = np.asarray(action).reshape(-1)
        if actions.size != 1 or actions.dtype.kind not in "iu" or learner.over[0]:
            raise games.illegal_action(0, action)
        learner.step(actions)
        info = self._info()
        if learner.errors:
            info["illegal_action"] = str(learner.errors[0])
        reward, terminated, truncated = learner.rewards[0], games.terminated[0], games.truncated[0]
        return self._observation(), float(reward), bool(terminated), bool(truncated), info

    def action_masks(self) -> np.ndarray:
        """The legal actions, (70,) bool, as sb3-contrib's MaskablePPO asks for them."""
        masks: np.ndarray = self._learner.games.action_masks[0] > 0
        return masks

    def render(self) -> str | np.ndarray | None:
        """The table as the learner sees it: text in mode "ansi", pixels (H, W, 3) in "rgb_array"; shown in "human".

        Raises:
            ImportError: the mode is "rgb_array" and Pillow is missing.
        """
        return self._renderer.render(self._learner.games.records, 0, self.rules, int(self._learner.seats[0]))

    def render_svg(self, theme: str = "auto") -> str:
        """The table as the learner sees it, as an SVG image, in any render mode; see `pictures.svg`.

        Args:
            theme: "light", "dark", or "auto": as the reader's system is set.
        """
        return svg(self._learner.games.records, 0, self.rules, int(self._learner.seats[0]), theme)

    def _repr_svg_(self) -> str | None:
        """What a notebook shows: nothing before the first reset."""
        return self.render_svg() if self._has_begun else None

    def close(self) -> None:
        """Closes the window of mode "human", if there is one."""
        self._renderer.close()

    def _observation(self) -> Any:
        observations, action_masks = self._learner.observe()
        return self._learner.packed(observations[0], action_masks[0])

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._learner.games.action_masks[0].copy(), "seat": int(self._learner.seats[0])}


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
