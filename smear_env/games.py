"""`Games`: many games side by side, stepped together.

The only place with loops over games, and the only one where actions are checked. A game gives the same result
alone and among thousands of others: it has its own generator, seeded by the seed of the batch and its place in it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from smear_env._jit import Buffer, announce_compilation, buffer_of, kernel, write_number
from smear_env.actions import NUM_ACTIONS, is_legal
from smear_env.cards import count
from smear_env.engine import advance, below, deal, find_legal, random_action, seed_state, start_game, step
from smear_env.illegal import IllegalActionError, illegal_action
from smear_env.observe import MAX_SCORE, Layout, encode, encode_mask, encode_state, make_layout
from smear_env.rules import NOBODY, OVER, GameRules, Tables, make_rules, make_tables
from smear_env.scoring import forfeit
from smear_env.state import Game, new_games

Episode = Literal["game", "deal"]
Reward = Literal["points", "win"]

MAX_START_SCORE = 1000

SKIP_FORCED, WIN_REWARD, AUTORESET = 1, 2, 4
"""What `step_games` is to do besides stepping, as bits."""


# --- Kernels: loops over games -----------------------------------------------------------------------------------


@kernel
def seed_games(games: np.ndarray, seeds: np.ndarray, streams: np.ndarray, policy_states: np.ndarray) -> None:
    """Gives each game the generator of its seed, and the sampler of random actions a generator for each game."""
    for i in range(games.size):
        games[i].rng = seed_state(seeds[i], 2 * streams[i])
        policy_states[i] = seed_state(seeds[i], 2 * streams[i] + 1)


@kernel
def start_games(games: np.ndarray, tables: np.ndarray, flags: int, rewards: np.ndarray) -> None:
    """Starts every game anew."""
    rewards[:] = 0
    for i in range(games.size):
        start_game(games[i], tables[0])
        if flags & SKIP_FORCED:
            skip_forced_moves(games[i], tables[0], flags, rewards, i)


@kernel
def step_and_pay(g: Game, t: Tables, action: int, flags: int, rewards: np.ndarray, i: int) -> int:
    """Steps game i and adds what it brings to its rewards. Returns 1 if a deal was scored, else 0."""
    deals_scored = g.deals_scored
    step(g, t, action)
    if g.deals_scored == deals_scored:
        return 0
    write_rewards(g, t, flags, rewards, i)
    return 1


@kernel
def skip_forced_moves(g: Game, t: Tables, flags: int, rewards: np.ndarray, i: int) -> int:
    """Plays on while there is but one legal action. Returns how many deals were scored on the way."""
    scored = 0
    while g.phase != OVER and count(g.legal_cards) + count(g.legal_calls) == 1:
        scored += step_and_pay(g, t, random_action(g, g.rng), flags, rewards, i)
    return scored


@kernel
def find_all_legal(games: np.ndarray, tables: np.ndarray) -> None:
    """Writes the legal actions of every game."""
    for i in range(games.size):
        find_legal(games[i], tables[0])


@kernel
def observe_games(
    games: np.ndarray,
    tables: np.ndarray,
    layout: np.ndarray,
    seats: np.ndarray,
    observations: np.ndarray,
    action_masks: np.ndarray,
) -> None:
    """Writes what seats[i] sees of game i; zeros for NOBODY."""
    t, o = tables[0], layout[0]
    views, masks = buffer_of(observations), buffer_of(action_masks)
    for i in range(games.size):
        observe_game(games[i], t, o, seats[i], i, views, masks)


@kernel
def observe_game(g: Game, t: Tables, o: Layout, seat: int, i: int, views: Buffer, masks: Buffer) -> None:
    """Writes row i of the buffers for a seat; zeros for NOBODY."""
    if seat == NOBODY:
        for at in range(i * o.length, (i + 1) * o.length):
            write_number(views, at, 0)
    else:
        encode(g, t, o, seat, views, i * o.length)
    encode_mask(g, seat, masks, i * NUM_ACTIONS)


@kernel
def first_illegal(games: np.ndarray, actions: np.ndarray) -> int:
    """The first game whose action is not legal, or -1. Actions for games that are over are not looked at."""
    for i in range(games.size):
        if games[i].phase != OVER and not is_legal(games[i], actions[i]):
            return i
    return -1


@kernel
def step_games(
    games: np.ndarray,
    tables: np.ndarray,
    layout: np.ndarray,
    actions: np.ndarray,
    flags: int,
    observations: np.ndarray,
    action_masks: np.ndarray,
    seats: np.ndarray,
    rewards: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
) -> int:
    """Steps every game that is not over and writes the buffers, unless an action is not legal.

    Returns how many deals were scored; or -1 - i if the action of game i is not legal: then nothing has changed.
    """
    illegal = first_illegal(games, actions)
    if illegal >= 0:
        return -1 - illegal
    scored = 0
    t, o = tables[0], layout[0]
    views, masks = buffer_of(observations), buffer_of(action_masks)
    rewards[:] = 0
    for i in range(games.size):
        g = games[i]
        if g.phase != OVER:
            scored += step_and_pay(g, t, actions[i], flags, rewards, i)
            if flags & SKIP_FORCED:
                scored += skip_forced_moves(g, t, flags, rewards, i)
        terminated[i] = g.terminated
        truncated[i] = g.truncated
        if flags & AUTORESET and g.phase == OVER:
            start_game(g, t)
            if flags & SKIP_FORCED:
                skip_forced_moves(g, t, flags, rewards, i)
        seats[i] = g.actor
        observe_game(g, t, o, g.actor, i, views, masks)
    return scored


@kernel
def write_rewards(g: Game, t: Tables, flags: int, rewards: np.ndarray, i: int) -> None:
    """Adds what each seat gets for the deal just scored, or for the game just won (design: zero-sum at the table).

    Points: the team's change of score less the mean of the others'. Win: 1 for the winners, -1 / (teams - 1) for
    the others, once the game is won.
    """
    total = 0
    for team in range(t.teams):
        total += g.last_delta[team]
    for seat in range(t.players):
        team = t.team_of[seat]
        if not flags & WIN_REWARD:
            own = g.last_delta[team]
            rewards[i, seat] += own - (total - own) / (t.teams - 1)
        elif g.winners:
            rewards[i, seat] += 1.0 if (g.winners >> team) & 1 else -1.0 / (t.teams - 1)


@kernel
def forfeit_and_pay(g: Game, t: Tables, flags: int, rewards: np.ndarray, i: int) -> None:
    """Ends game i as if the actor's team had been set at the highest bid, and adds that to its rewards."""
    offender = t.team_of[g.actor]
    forfeit(g, t, g.actor)
    if not flags & WIN_REWARD:
        write_rewards(g, t, flags, rewards, i)
        return
    for seat in range(t.players):
        rewards[i, seat] += -1.0 if t.team_of[seat] == offender else 1.0 / (t.teams - 1)


@kernel
def forfeit_game(g: Game, t: Tables, flags: int, rewards: np.ndarray, i: int) -> None:
    """`forfeit_and_pay` as a step of its own: it pays nothing else, and with AUTORESET the next game begins."""
    rewards[i] = 0
    forfeit_and_pay(g, t, flags, rewards, i)
    if flags & AUTORESET:
        start_game(g, t)
        if flags & SKIP_FORCED:
            skip_forced_moves(g, t, flags, rewards, i)


@kernel
def forfeit_games(
    games: np.ndarray,
    tables: np.ndarray,
    layout: np.ndarray,
    rows: np.ndarray,
    flags: int,
    observations: np.ndarray,
    action_masks: np.ndarray,
    seats: np.ndarray,
    rewards: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
) -> None:
    """Forfeits the games of these numbers that are not over, and writes their buffers."""
    t, o = tables[0], layout[0]
    views, masks = buffer_of(observations), buffer_of(action_masks)
    for i in rows:
        g = games[i]
        if g.phase != OVER:
            forfeit_game(g, t, flags, rewards, i)
            terminated[i] = True
            truncated[i] = False
            seats[i] = g.actor
            observe_game(g, t, o, g.actor, i, views, masks)


LEARNER, UNIFORM, OPPONENT, PARTNER = 0, 1, 2, 3
"""Who plays a seat: the learner, random legal actions, or one of two policies that are called from outside."""

HOLD, FORFEIT = -2, -3
"""In place of an action: leave this game as it is; end it as set."""


@kernel
def find_illegal(games: np.ndarray, rows: np.ndarray, actions: np.ndarray, illegal: np.ndarray) -> bool:
    """Marks the actions that the games of these numbers do not allow. Returns whether there are any.

    Those for games that are over are not looked at.
    """
    found = False
    for k in range(rows.size):
        g = games[rows[k]]
        illegal[k] = g.phase != OVER and not is_legal(g, actions[k])
        found = found or illegal[k]
    return found


@kernel
def draw_seats(players: int, states: np.ndarray, chosen: np.ndarray, seats: np.ndarray) -> None:
    """Draws the learner's seat for each game that is chosen."""
    for i in range(seats.size):
        if chosen[i]:
            states[i] = advance(states[i])
            seats[i] = below(states[i], players)


@kernel
def start_chosen(games: np.ndarray, tables: np.ndarray, chosen: np.ndarray) -> None:
    """Starts the chosen games anew."""
    for i in range(games.size):
        if chosen[i]:
            start_game(games[i], tables[0])


@kernel
def play_turns(
    games: np.ndarray,
    tables: np.ndarray,
    actions: np.ndarray,
    roles: np.ndarray,
    states: np.ndarray,
    flags: int,
    rewards: np.ndarray,
) -> None:
    """Does actions[i], a legal one, HOLD or FORFEIT, in game i, then plays random ones for the seats that get them.

    It adds to the rewards (N, P).
    """
    t = tables[0]
    for i in range(games.size):
        g = games[i]
        if actions[i] != HOLD and g.phase != OVER:
            if actions[i] == FORFEIT:
                forfeit_and_pay(g, t, flags, rewards, i)
            else:
                step_and_pay(g, t, actions[i], flags, rewards, i)
        while g.phase != OVER and roles[i, g.actor] == UNIFORM:
            states[i] = advance(states[i])
            step_and_pay(g, t, random_action(g, states[i]), flags, rewards, i)


@kernel
def redeal(games: np.ndarray, tables: np.ndarray, i: int) -> None:
    """Deals the first deal of game i again, with dealer, deck and scores as they are."""
    games[i].deals = 0
    deal(games[i], tables[0])


@kernel
def play_random(games: np.ndarray, tables: np.ndarray, states: np.ndarray, rounds: int) -> None:
    """Plays every game on by so many random legal actions, starting anew where one ends, and observes nothing."""
    t = tables[0]
    state = states[0]
    for _ in range(rounds):
        for i in range(games.size):
            g = games[i]
            state = advance(state)
            step(g, t, random_action(g, state))
            if g.phase == OVER:
                start_game(g, t)
    states[0] = state


@kernel
def sample_games(games: np.ndarray, states: np.ndarray, actions: np.ndarray) -> None:
    """Writes a legal action for each game, all equally likely; -1 for a game that is over."""
    for i in range(games.size):
        states[i] = advance(states[i])
        actions[i] = NOBODY if games[i].phase == OVER else random_action(games[i], states[i])


@kernel
def sample_actions(action_masks: np.ndarray, states: np.ndarray, actions: np.ndarray) -> None:
    """Writes a legal action for each row of the masks, all equally likely; -1 for a row of zeros."""
    for i in range(actions.size):
        states[i] = advance(states[i])
        actions[i] = choose(action_masks[i], states[i])


@kernel
def choose(action_mask: np.ndarray, state: np.uint64) -> int:
    """A legal action of a mask, all equally likely, from a generator's state; -1 if there is none."""
    legal = 0
    for action in range(NUM_ACTIONS):
        legal += action_mask[action]
    if legal == 0:
        return -1
    left = below(state, legal)
    for action in range(NUM_ACTIONS):
        left -= action_mask[action]
        if left < 0:
            return action
    return -1


@kernel
def sample_action(action_mask: np.ndarray, states: np.ndarray) -> int:
    """A legal action of one mask, from the generator whose state is states[0]."""
    states[0] = advance(states[0])
    return choose(action_mask, states[0])


@kernel
def write_state(games: np.ndarray, tables: np.ndarray, layout: np.ndarray, i: int, out: np.ndarray) -> None:
    """Writes the full information on game i."""
    encode_state(games[i], tables[0], layout[0], buffer_of(out))


# --- The batch ---------------------------------------------------------------------------------------------------


class Games:
    """N games of one kind, stepped together.

    After `reset` and after every `step` the buffers hold what the seat to move sees in each game. They are the same
    arrays all the time, overwritten by every step: copy what you want to keep.

    >>> games = Games("schmier", 4, seed=1)
    >>> observations, action_masks = games.reset()
    >>> rewards, terminated, truncated = games.step(games.sample())
    >>> observations.shape, action_masks.shape, rewards.shape
    ((4, 657), (4, 70), (4, 6))

    Args:
        rules: a `GameRules`, the name of a preset or the path of a TOML file; single options follow as keywords.
        num_games: N.
        seed: a whole number, from which every game gets a seed of its own by its place in the batch; or N numbers,
            one a game: game i is then the game that a batch of one has with that seed. None: different every time.
        episode: "game" (to the target) or "deal" (one dealing-out).
        reward: "points" at the end of each deal, or "win" at the end of the game; per seat, see `rewards`.
        autoreset: start the next game in the same step in which one ends. Otherwise it rests: no seat to move (-1),
            zeros in the buffers, and whatever is given as its action is passed over.
        skip_forced: pass over decisions with a single legal action.
        max_deals: dealings-out after which a game is truncated.

    Attributes:
        observations: (N, D) int8, what the seat to move sees; see the documentation's observation table.
        action_masks: (N, 70) int8, 1 for each legal action.
        seats: (N,) int8, the seat to move.
        rewards: (N, P) float32, what each seat got in the last step.
        terminated: (N,) bool, the game ended in the last step by its rules (with autoreset, or since then).
        truncated: (N,) bool, likewise by `max_deals`.
        records: (N,) the games themselves; see `smear_env.state`.

    Raises:
        ValueError, TypeError: rules, buffers or other arguments that are not right.
    """

    def __init__(
        self,
        rules: GameRules | str | Path | None = None,
        num_games: int = 1,
        seed: int | Sequence[int] | np.ndarray | None = None,
        episode: Episode = "game",
        reward: Reward = "points",
        autoreset: bool = True,
        skip_forced: bool = False,
        *,
        max_deals: int = 100,
        observations: np.ndarray | None = None,
        action_masks: np.ndarray | None = None,
        seats: np.ndarray | None = None,
        rewards: np.ndarray | None = None,
        terminated: np.ndarray | None = None,
        truncated: np.ndarray | None = None,
        **options: Any,
    ) -> None:
        announce_compilation()
        self.rules = make_rules(rules, **options)
        self.num_games = _whole_number("num_games", num_games, 1)
        check_episode(self.rules, episode, reward, max_deals)
        self.episode, self.reward = episode, reward
        self.autoreset, self.skip_forced = autoreset, skip_forced
        self._flags = SKIP_FORCED * skip_forced | WIN_REWARD * (reward == "win") | AUTORESET * autoreset
        self.tables = make_tables(self.rules)
        self.layout = make_layout(self.rules)
        self.records = new_games(self.num_games, one_deal=episode == "deal", max_deals=max_deals)
        n, players = self.num_games, self.rules.players
        self.observations = _buffer("observations", observations, (n, int(self.layout["length"][0])), np.int8)
        self.action_masks = _buffer("action_masks", action_masks, (n, NUM_ACTIONS), np.int8)
        self.seats = _buffer("seats", seats, (n,), np.int8)
        self.rewards = _buffer("rewards", rewards, (n, players), np.float32)
        self.terminated = _buffer("terminated", terminated, (n,), np.bool_)
        self.truncated = _buffer("truncated", truncated, (n,), np.bool_)
        self._sample_states = np.zeros(n, np.uint64)
        self._actions = np.zeros(n, np.int64)
        self._seed(seed if seed is not None else np.random.SeedSequence().generate_state(1, np.uint64)[0])

    def _seed(self, seed: int | np.integer | Sequence[int] | np.ndarray) -> None:
        if not isinstance(seed, Sequence | np.ndarray):
            seeds = np.full(self.num_games, _seed_bits(seed), np.uint64)
            streams = np.arange(self.num_games)
        else:
            if len(seed) != self.num_games:
                raise ValueError(
                    f"seed has {len(seed)} numbers for {self.num_games} games; give one a game, or one for all"
                )
            seeds = np.array([_seed_bits(one) for one in seed], np.uint64)
            streams = np.zeros(self.num_games, np.int64)
        seed_games(self.records, seeds, streams, self._sample_states)

    def reset(self, seed: int | Sequence[int] | np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Starts every game anew and returns `observations` and `action_masks`.

        Without a seed the games' generators run on: other cards each time, the same ones for the same history.
        """
        if seed is not None:
            self._seed(seed)
        start_games(self.records, self.tables, self._flags, self.rewards)
        return self.refresh()

    def refresh(self) -> tuple[np.ndarray, np.ndarray]:
        """Writes legal actions and buffers anew, but for `rewards`, after somebody has written to `records`."""
        find_all_legal(self.records, self.tables)
        np.copyto(self.terminated, self.records["terminated"], casting="unsafe")
        np.copyto(self.truncated, self.records["truncated"], casting="unsafe")
        np.copyto(self.seats, self.records["actor"])
        return self.observe(self.seats, self.observations, self.action_masks)

    def step(self, actions: np.ndarray | Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Does actions[i], a whole number, in game i; returns `rewards`, `terminated` and `truncated`.

        Raises:
            IllegalActionError: naming game, seat, action, the legal actions and the reason; no game has changed.
            ValueError: not one whole number a game.
        """
        actions = np.asarray(actions)
        if actions.shape != (self.num_games,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be {self.num_games} whole numbers, one a game; "
                f"given: shape {actions.shape}, type {actions.dtype}"
            )
        outcome = self.step_unchecked(actions.astype(np.int64))
        if outcome < 0:
            raise self.illegal_action(-1 - outcome, int(actions[-1 - outcome]))
        return self.rewards, self.terminated, self.truncated

    def step_unchecked(self, actions: np.ndarray) -> int:
        """`step` for actions (N,) int64 whose shape and type are known to be right.

        Returns how many deals were scored; or -1 - i if the action of game i is not legal: then nothing has changed.
        """
        return step_games(
            self.records, self.tables, self.layout, actions, self._flags, self.observations, self.action_masks,
            self.seats, self.rewards, self.terminated, self.truncated,
        )  # fmt: skip

    def forfeit(self, rows: np.ndarray | Sequence[int]) -> None:
        """Ends some games, given by their numbers (M,), as if the team of the seat to move had been set.

        That is at the highest bid that there is, and the others score nothing. Rewards and buffers of these games are
        written as by a step (with `autoreset` the next game begins), those of the others are left as they are.

        Raises:
            ValueError: no numbers of games, one of them twice, or a game that is over; nothing has changed.
        """
        rows = np.asarray(rows)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ValueError(f"rows must be whole numbers, one a game; given: shape {rows.shape}, type {rows.dtype}")
        for row in rows:
            if not 0 <= row < self.num_games:
                raise ValueError(f"there is no game {row}; allowed: 0..{self.num_games - 1}")
        over = rows[self.records["phase"][rows.astype(np.int64)] == OVER]
        if over.size:
            raise ValueError(f"game {over[0]} is over: there is nothing to forfeit")
        if np.unique(rows).size < rows.size:
            raise ValueError(f"a game can be forfeited once; given: {rows}")
        forfeit_games(
            self.records, self.tables, self.layout, rows.astype(np.int64), self._flags, self.observations,
            self.action_masks, self.seats, self.rewards, self.terminated, self.truncated,
        )  # fmt: skip

    def observe(
        self, seats: np.ndarray, observations: np.ndarray | None = None, action_masks: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What seats[i] sees of game i, and its action mask (zeros if it is not to move), in the arrays given or new.

        A seat of -1 gets zeros.
        """
        n = self.num_games
        seats = np.asarray(seats)
        if (
            seats.shape != (n,)
            or seats.dtype.kind not in "iu"
            or np.any((seats < NOBODY) | (seats >= self.rules.players))
        ):
            raise ValueError(
                f"seats must be {n} whole numbers -1..{self.rules.players - 1}, one a game; given: {seats}"
            )
        observations = _buffer("observations", observations, self.observations.shape, np.int8)
        action_masks = _buffer("action_masks", action_masks, (n, NUM_ACTIONS), np.int8)
        observe_games(self.records, self.tables, self.layout, seats.astype(np.int8), observations, action_masks)
        return observations, action_masks

    def sample(self, action_masks: np.ndarray | None = None) -> np.ndarray:
        """A legal action for each game, all equally likely, from a generator that each game has for this alone.

        Args:
            action_masks: (N, 70); None: those of the games as they stand, which is faster.

        Returns:
            (N,) int64, an array that the next call overwrites; -1 where nothing is legal.
        """
        if action_masks is None:
            sample_games(self.records, self._sample_states, self._actions)
            return self._actions
        masks = np.array(action_masks, np.int8)
        if masks.shape != self.action_masks.shape:
            raise ValueError(f"action_masks must have shape {self.action_masks.shape}; given: {masks.shape}")
        sample_actions(masks, self._sample_states, self._actions)
        return self._actions

    def illegal_action(self, game: int, action: object) -> IllegalActionError:
        """The error for an action that game does not allow."""
        return illegal_action(self.records, game, self.rules, action)


def observe_records(games: np.ndarray, rules: GameRules, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What seats[i] sees of game i, (N, D), and its action mask, (N, 70), of records such as `hide` leaves too."""
    layout = make_layout(rules)
    observations = np.empty((len(games), int(layout["length"][0])), np.int8)
    action_masks = np.empty((len(games), NUM_ACTIONS), np.int8)
    observe_games(games, make_tables(rules), layout, seats.astype(np.int8), observations, action_masks)
    return observations, action_masks


class Sampler:
    """Draws legal actions, all equally likely: a fast `sample(mask)` for one table at a time.

    >>> sample = Sampler(seed=1)
    >>> sample(np.array([0] * 54 + [1] + [0] * 15, np.int8))
    54

    Args:
        seed: a whole number.
    """

    def __init__(self, seed: int = 0) -> None:
        self._states = np.array([_seed_bits(seed)], np.uint64)

    def __call__(self, action_mask: np.ndarray) -> int:
        """A legal action of a mask (70,); -1 if nothing is legal."""
        return sample_action(action_mask, self._states)


def check_episode(rules: GameRules, episode: str, reward: str, max_deals: int) -> None:
    """Raises ValueError for an episode, reward or max_deals that is not right."""
    if episode not in ("game", "deal"):
        raise ValueError(f"episode={episode!r} is not allowed; allowed: 'game', 'deal'")
    if reward not in ("points", "win"):
        raise ValueError(f"reward={reward!r} is not allowed; allowed: 'points', 'win'")
    if reward == "win" and episode == "deal":
        raise ValueError("reward='win' needs episode='game': a single deal has no winner; use reward='points'")
    most = (MAX_SCORE - MAX_START_SCORE) // max(rules.max_points, rules.max_bid)
    _whole_number("max_deals", max_deals, 1, most)


def _whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if value < least or (most is not None and value > most):
        allowed = f"{least}..{most}" if most is not None else f"{least} or more"
        raise ValueError(f"{name}={value} is not allowed; allowed: {allowed}")
    return int(value)


def _seed_bits(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"a seed must be a whole number, not {seed!r}")
    if not 0 <= seed < 2**64:
        raise ValueError(f"a seed must be a whole number 0..2^64 - 1, not {seed}")
    return int(seed)


def _buffer(name: str, array: np.ndarray | None, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """The caller's array if it fits, or a new one."""
    if array is None:
        return np.zeros(shape, dtype)
    if (
        not isinstance(array, np.ndarray)
        or array.shape != shape
        or array.dtype != dtype
        or not (array.flags.c_contiguous and array.flags.writeable)
    ):
        given = f"{array.shape}, {array.dtype}" if isinstance(array, np.ndarray) else repr(type(array))
        raise ValueError(
            f"{name} must be a contiguous, writable array of shape {shape}, type {np.dtype(dtype)}; given: {given}"
        )
    return array
