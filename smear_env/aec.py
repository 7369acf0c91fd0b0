"""The PettingZoo environment: one game as an `AECEnv`, over a `Games` of one."""

import copy
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from smear_env.actions import NUM_ACTIONS, action_from_text, action_text
from smear_env.cards import card_from_text, card_text
from smear_env.games import MAX_START_SCORE, Episode, Games, Reward, redeal, write_state
from smear_env.observe import block_slice, observation_size, state_size
from smear_env.pictures import Renderer, svg
from smear_env.render import ALL
from smear_env.rules import NOBODY, PRESETS, GameRules, differences, make_rules, make_tables

Observation = dict[str, np.ndarray]

RESET_OPTIONS = ("deck", "dealer", "scores", "first_actions")


class SmearAECEnv(AECEnv):  # type: ignore[misc]  # PettingZoo has no types
    """One game of the family for PettingZoo: every seat an agent `player_0`, `player_1`, ..., clockwise.

    An observation is `{"observation": (D,) int8, "action_mask": (70,) int8}`, for every seat at any time; the mask
    is zero for a seat that is not to move, and stands in `infos[agent]["action_mask"]` too. Arrays that have been
    returned never change later.

    Args:
        rules: a `GameRules`, the name of a preset or the path of a TOML file; single options follow as keywords.
        render_mode: "ansi" (`render` returns text), "rgb_array" (a picture), "human" (shows the picture in a window, or
            prints the text where there is no display) or None. Pictures need `smear-env[render]`.
        episode: "game" (to the target) or "deal" (one dealing-out; 0 for all if the cards are thrown in).
        reward: "points": at the end of each deal the team's change of score less the mean of the other teams'; "win":
            at the end of the game 1 for the winners and -1 / (teams - 1) for the others.
        max_deals: dealings-out after which a game is truncated.
        illegal: "raise" an `IllegalActionError` and leave everything as it was, or "terminate": the game ends as if
            the offender's team had been set at the highest bid.

    Raises:
        ValueError, TypeError: an argument that is not right; the message says what is allowed.
    """

    metadata: dict[str, Any] = {
        "name": "smear",
        "render_modes": list(Renderer.MODES),
        "is_parallelizable": False,
        "render_fps": 1,
    }
    default_rules = "schmier"
    presets: tuple[str, ...] = tuple(PRESETS)  # the presets that are this game, or nearest to a variant of it

    def __init__(
        self,
        rules: GameRules | str | Path | None = None,
        render_mode: str | None = None,
        episode: Episode = "game",
        reward: Reward = "points",
        max_deals: int = 100,
        illegal: str = "raise",
        **options: Any,
    ) -> None:
        super().__init__()
        self.metadata = copy.deepcopy(self.metadata)
        self._renderer = Renderer(render_mode)
        if illegal not in ("raise", "terminate"):
            raise ValueError(f"illegal={illegal!r} is not allowed; allowed: 'raise', 'terminate'")
        self.rules = make_rules(self.default_rules if rules is None else rules, **options)
        nearest, _ = differences(self.rules)
        if nearest not in self.presets:
            raise ValueError(
                f"{self.metadata['name']} plays {' or '.join(self.presets)}; the rules given are nearest to {nearest}"
            )
        self.render_mode = render_mode
        self.illegal = illegal
        self._games = Games(self.rules, 1, None, episode, reward, autoreset=False, max_deals=max_deals)
        self._one_action = np.zeros(1, np.int64)
        self._no_mask = np.zeros(NUM_ACTIONS, np.int8)
        self._nothing_to_pay = True
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.players)]
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {agent: observation_space(self.rules) for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in self.possible_agents}
        self.state_space = spaces.Box(-128, 127, (state_size(self.rules),), np.int8)
        self.agents: list[str] = []
        self._has_begun = False

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's actions, always the same object."""
        return self.action_spaces[agent]

    # --- The game as others read it ---

    @property
    def scores(self) -> list[int]:
        """The score of each team."""
        return [int(score) for score in self._games.records["scores"][0][: self.rules.teams]]

    @property
    def dealer(self) -> int:
        """The seat of the dealer."""
        return int(self._games.records["dealer"][0])

    @property
    def deck(self) -> list[int]:
        """The cards of the deal in progress in the order dealt: hands from the dealer's left, then the stock."""
        return [int(card) for card in self._games.records["deck"][0][: self.rules.deck_size]]

    @property
    def records(self) -> np.ndarray:
        """A copy of the record, shape (1,): see `smear_env.state`."""
        return self._games.records.copy()

    # --- Reset and step ---

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a new game.

        Args:
            seed: without one the generator runs on.
            options: for the first deal of this reset. `deck`: every card of the game in the order dealt, as numbers
                or texts; `dealer`: a seat; `scores`: one a team; `first_actions`: actions, as numbers or texts, done
                at once. Others are ignored with a warning.

        Raises:
            ValueError: an option that is not right, or (`IllegalActionError`) a first action that is not legal; the
                environment is as it was before.
        """
        position = _checked_options(self.rules, options or {})
        before = self._games.records.copy(), self._games._sample_states.copy()
        try:
            self._games.reset(seed)
            self._set_position(position)
        except Exception:
            self._games.records[:], self._games._sample_states[:] = before
            if self._has_begun:
                self._games.refresh()
            raise
        self._has_begun = True
        self.agents = self.possible_agents[:]
        self._skip_agent_selection = None
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: self._info_of_waiting() for agent in self.agents}
        self._nothing_to_pay = True
        if self._games.terminated[0] or self._games.truncated[0]:
            self._pay()
        self._select()

    def _set_position(self, position: dict[str, Any]) -> None:
        games = self._games
        record = games.records[0]
        if "dealer" in position:
            record.dealer = position["dealer"]
        if "deck" in position:
            record.deck[: self.rules.deck_size] = position["deck"]
        if position:
            redeal(games.records, games.tables, 0)
        if "scores" in position:
            record.scores[: self.rules.teams] = position["scores"]
        games.refresh()
        for action in position.get("first_actions", ()):
            self._one_action[0] = action
            if games.seats[0] == NOBODY or games.step_unchecked(self._one_action) < 0:
                raise games.illegal_action(0, action)

    def step(self, action: int | None) -> None:
        """Does an action for the agent in `agent_selection`.

        Raises:
            IllegalActionError: the action is not legal and `illegal` is "raise"; nothing has changed.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        games = self._games
        # 0-d arrays and numbers of NumPy's are welcome; True, 3.0 and None are not.
        is_number = type(action) is int or isinstance(action, np.integer) or _is_whole_array(action)
        if is_number and -(2**31) < action < 2**31:  # type: ignore[operator]  # it is a number here
            self._one_action[0] = int(action)  # type: ignore[arg-type]  # it is a number here
            scored = games.step_unchecked(self._one_action)
        else:
            scored = -1
        if scored < 0:
            if self.illegal == "raise":
                raise games.illegal_action(0, action)
            games.forfeit([0])
        self._cumulative_rewards[agent] = 0.0
        if not self._nothing_to_pay:
            self._clear_rewards()
            self._nothing_to_pay = True
        self.infos[agent] = self._info_of_waiting()
        if scored or games.seats[0] == NOBODY:
            self._pay()
        self._select()

    def _pay(self) -> None:
        """Hands out the rewards of the step just made, and ends the episode if the game is over."""
        games = self._games
        for seat, agent in enumerate(self.agents):
            self.rewards[agent] = float(games.rewards[0, seat])
        self._accumulate_rewards()
        self._nothing_to_pay = False
        if games.seats[0] == NOBODY:
            for agent in self.agents:
                self.terminations[agent] = bool(games.terminated[0])
                self.truncations[agent] = bool(games.truncated[0])

    def _select(self) -> None:
        seat = int(self._games.seats[0])
        if seat == NOBODY:
            self.agent_selection = self.agents[0]
            return
        self.agent_selection = agent = self.possible_agents[seat]
        self.infos[agent] = {"action_mask": self._games.action_masks[0].copy()}

    def _info_of_waiting(self) -> dict[str, Any]:
        return {"action_mask": self._no_mask.copy()}

    # --- Observation ---

    def observe(self, agent: str) -> Observation:
        """What an agent sees now, whether it is to move or not."""
        games = self._games
        seat = self._seat_of[agent]
        if seat == games.seats[0]:
            return {"observation": games.observations[0].copy(), "action_mask": games.action_masks[0].copy()}
        observations, action_masks = games.observe(np.array([seat]))
        return {"observation": observations[0], "action_mask": action_masks[0]}

    def state(self) -> np.ndarray:
        """Everything but the order of the stock, (S,) int8, for a centralised critic; see `encode_state`."""
        state = np.zeros(state_size(self.rules), np.int8)
        write_state(self._games.records, self._games.tables, self._games.layout, 0, state)
        return state

    # --- Copies ---

    def clone(self) -> "SmearAECEnv":
        """A new environment in the same state. Its later deals are the same, and neither disturbs the other."""
        return copy.deepcopy(self)

    def get_state(self) -> dict[str, Any]:
        """All that `set_state` needs to continue from here, the generator included: plain data to compare or keep."""
        state: dict[str, Any] = {
            "rules": self.rules,
            "record": self._games.records.tobytes(),
            "sampler": self._games._sample_states.tobytes(),
            "has_begun": self._has_begun,
            "agents": list(self.agents),
        }
        if self._has_begun:
            state |= {
                "agent_selection": self.agent_selection,
                "rewards": dict(self.rewards),
                "cumulative_rewards": dict(self._cumulative_rewards),
                "terminations": dict(self.terminations),
                "truncations": dict(self.truncations),
                "skip_agent_selection": getattr(self, "_skip_agent_selection", None),
            }
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes over a state that `get_state` of an environment with the same rules has given.

        Raises:
            ValueError: it is from other rules, or no such state.
        """
        games = self._games
        if not _is_state(state, games.records.nbytes):
            raise ValueError("this is no state that get_state has given, or a damaged one; nothing has changed")
        if state["rules"] != self.rules:
            raise ValueError(f"the state is of {state['rules'].name!r}, this environment plays {self.rules.name!r}")
        games.records[:] = np.frombuffer(state["record"], games.records.dtype)
        games._sample_states[:] = np.frombuffer(state["sampler"], np.uint64)
        self._has_begun = state["has_begun"]
        self.agents = list(state["agents"])
        if not self._has_begun:
            return
        games.refresh()
        self._skip_agent_selection = state["skip_agent_selection"]
        self.agent_selection = state["agent_selection"]
        self.rewards = dict(state["rewards"])
        self._cumulative_rewards = dict(state["cumulative_rewards"])
        self.terminations = dict(state["terminations"])
        self.truncations = dict(state["truncations"])
        self._nothing_to_pay = False
        self.infos = {agent: self._info_of_waiting() for agent in self.agents}
        if games.seats[0] != NOBODY:
            self._select()

    # --- Rendering ---

    def render(self, perspective: int | str | None = None) -> str | np.ndarray | None:
        """The table: text in mode "ansi", pixels (H, W, 3) in mode "rgb_array"; shown in mode "human".

        Args:
            perspective: the seat, or the agent, that looks; "all" to see every hand. None: the seat to move.

        Raises:
            ImportError: the mode is "rgb_array" and Pillow is missing.
        """
        return self._renderer.render(self._games.records, 0, self.rules, self._perspective(perspective))

    def render_svg(self, perspective: int | str | None = None, theme: str = "auto") -> str:
        """The table as an SVG image, in any render mode; see `pictures.svg`.

        Args:
            perspective: as for `render`.
            theme: "light", "dark", or "auto": as the reader's system is set.
        """
        return svg(self._games.records, 0, self.rules, self._perspective(perspective), theme)

    def _repr_svg_(self) -> str | None:
        """What a notebook shows: the table as the seat to move sees it, nothing before the first reset."""
        return self.render_svg() if self._has_begun else None

    def _perspective(self, perspective: int | str | None) -> int | str:
        if perspective is None:
            return max(int(self._games.records["actor"][0]), 0)
        if perspective == ALL:
            return ALL
        if isinstance(perspective, str) and perspective in self._seat_of:
            return self._seat_of[perspective]
        if _is_whole(perspective) and 0 <= int(perspective) < self.rules.players:
            return int(perspective)
        raise ValueError(
            f"perspective={perspective!r} is not allowed; allowed: a seat 0..{self.rules.players - 1}, an agent, 'all'"
        )

    def close(self) -> None:
        """Closes the window of mode "human", if there is one."""
        self._renderer.close()


_STATE_KEYS = {"rules", "record", "sampler", "has_begun", "agents"}
_BEGUN_KEYS = _STATE_KEYS | {
    "agent_selection",
    "rewards",
    "cumulative_rewards",
    "terminations",
    "truncations",
    "skip_agent_selection",
}


def _is_state(state: Any, record_bytes: int) -> bool:
    """Whether this is what `get_state` gives: its keys, and a record and a sampler of the right length."""
    return (
        isinstance(state, dict)
        and state.keys() == (_BEGUN_KEYS if state.get("has_begun") else _STATE_KEYS)
        and isinstance(state["record"], bytes)
        and len(state["record"]) == record_bytes
        and isinstance(state["sampler"], bytes)
        and len(state["sampler"]) == 8
    )


def _is_whole_array(action: object) -> bool:
    return isinstance(action, np.ndarray) and action.ndim == 0 and action.dtype.kind in "iu"


def observation_space(rules: GameRules) -> spaces.Dict:
    """The space of what one seat sees: the vector and its mask."""
    size = observation_size(rules)
    low, high = np.zeros(size, np.int8), np.ones(size, np.int8)
    high[block_slice(rules, "card_points")] = 127
    low[block_slice(rules, "scores")], high[block_slice(rules, "scores")] = -127, 127
    high[block_slice(rules, "deals")] = 127
    return spaces.Dict(
        {
            "observation": spaces.Box(low, high, dtype=np.int8),
            "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
        }
    )


def _checked_options(rules: GameRules, options: dict[str, Any]) -> dict[str, Any]:
    """The options of `reset` in numbers; unknown ones are dropped with a warning.

    Raises:
        ValueError: one that is not right.
    """
    position: dict[str, Any] = {}
    for name, value in options.items():
        if name == "deck":
            position[name] = checked_deck(rules, value)
        elif name == "dealer":
            position[name] = _checked_seat(rules, value)
        elif name == "scores":
            position[name] = _checked_scores(rules, value)
        elif name == "first_actions":
            position[name] = [_checked_action(action) for action in _listed(name, value)]
        else:
            warnings.warn(
                f"reset option {name!r} is ignored; known options: {', '.join(RESET_OPTIONS)}",
                UserWarning,
                stacklevel=3,
            )
    return position


def _listed(name: str, value: Any) -> list[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError(f"reset option {name} must be a list, not {value!r}")
    return list(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def checked_deck(rules: GameRules, deck: Iterable[int | str]) -> list[int]:
    """A deck in numbers.

    Raises:
        ValueError: it is not a permutation of the game's cards.
    """
    cards = []
    for card in _listed("deck", deck):
        if not isinstance(card, str) and not _is_whole(card):
            raise ValueError(f"reset option deck: {card!r} is no card; give numbers or texts like 'TH'")
        cards.append(card_from_text(card) if isinstance(card, str) else int(card))
    pack = {int(card) for card in make_tables(rules)["deck"][0][: rules.deck_size]}
    problems = []
    if len(cards) != rules.deck_size:
        problems.append(f"{len(cards)} cards were given")
    for what, wrong in (
        ("missing", pack - set(cards)),
        ("twice", {card for card in cards if cards.count(card) > 1}),
        ("not in the pack", set(cards) - pack),
    ):
        if wrong:
            shown = [card_text(card) if 0 <= card < 54 else str(card) for card in sorted(wrong)]
            problems.append(f"{what}: {' '.join(shown)}")
    if problems:
        raise ValueError(f"reset option deck must be all {rules.deck_size} cards, each once; " + "; ".join(problems))
    return cards


def _checked_seat(rules: GameRules, seat: Any) -> int:
    if not _is_whole(seat) or not 0 <= seat < rules.players:
        raise ValueError(f"reset option dealer={seat!r} is not allowed; allowed: a seat 0..{rules.players - 1}")
    return int(seat)


def _checked_scores(rules: GameRules, scores: Any) -> list[int]:
    scores = _listed("scores", scores)
    if len(scores) != rules.teams or not all(_is_whole(s) and abs(s) <= MAX_START_SCORE for s in scores):
        raise ValueError(
            f"reset option scores={scores} is not allowed; allowed: {rules.teams} whole numbers, one a team, "
            f"-{MAX_START_SCORE}..{MAX_START_SCORE}"
        )
    return [int(score) for score in scores]


def _checked_action(action: Any) -> int:
    if isinstance(action, str):
        return action_from_text(action)
    if not _is_whole(action) or not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"reset option first_actions: {action!r} is no action; give 0..{NUM_ACTIONS - 1} or texts")
    action_text(int(action))
    return int(action)


class OrderEnforcing(OrderEnforcingWrapper):  # type: ignore[misc]  # PettingZoo has no types
    """PettingZoo's check on the order of calls, passing on what this environment has besides."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """As in the environment; one that fails is no reset."""
        self.env.reset(seed=seed, options=options)
        self._has_reset = True
        self._has_updated = True

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """As in PettingZoo, asking the environment itself instead of one attribute after another."""
        if not self._has_reset:
            return super().last(observe)  # type: ignore[no-any-return]  # PettingZoo has no types
        return self.env.last(observe)  # type: ignore[no-any-return]  # PettingZoo has no types

    def render(self, perspective: int | str | None = None) -> Any:
        """As in the environment."""
        if not self._has_reset:
            return super().render()
        return self.env.render(perspective)

    def render_svg(self, perspective: int | str | None = None, theme: str = "auto") -> str:
        """As in the environment."""
        if not self._has_reset:
            super().render()  # which says what is wrong
        return self.env.render_svg(perspective, theme)  # type: ignore[no-any-return]  # PettingZoo has no types

    def _repr_svg_(self) -> str | None:
        return self.env._repr_svg_()  # type: ignore[no-any-return]  # PettingZoo has no types

    def clone(self) -> "OrderEnforcing":
        """A new wrapped environment in the same state."""
        return copy.deepcopy(self)

    def get_state(self) -> dict[str, Any]:
        """As in the environment."""
        return self.env.get_state()  # type: ignore[no-any-return]  # PettingZoo has no types

    def set_state(self, state: dict[str, Any]) -> None:
        """As in the environment; counts as a reset."""
        self.env.set_state(state)
        self._has_reset = state["has_begun"]
        self._has_updated = True


def register_environments() -> None:
    """Makes `pettingzoo.make("aec", "smear/schmier-v0")` work, where the installed PettingZoo has a registry."""
    registry = getattr(pettingzoo, "aec_registry", None)
    if registry is None:
        return
    for name in ("schmier", "four_point"):
        environment = f"smear/{name}-v0"
        if environment not in registry:
            pettingzoo.register("aec", environment, f"smear_env.{name}_v0:env")
