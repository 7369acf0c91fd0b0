"""Games of the family for OpenSpiel (extra `openspiel`): one dealing-out as a `pyspiel.Game`.

All chance is in explicit chance nodes at the beginning: who deals, then one card after the other. The cards of a hand
come in increasing order, with the probabilities that go with that, so every hand is dealt in one way only. What may be
drawn or taken from the stock later is dealt then too, unseen. So small games can be enumerated, and big ones sampled.

A seat's information state is what it has been dealt and all that it has seen since, its own actions included (perfect
recall). The observation is the vector of `smear_env.observe`. Decisions with one legal action are not asked.

>>> game = load_game("mini_2p")
>>> game.new_initial_state().chance_outcomes()
[(0, 0.5), (1, 0.5)]
"""

from collections.abc import Callable
from functools import lru_cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy

from smear_env.actions import NUM_ACTIONS, action_text, legal_actions
from smear_env.cards import NUM_CARDS, card_text, set_text
from smear_env.engine import step
from smear_env.games import Games, observe_records, redeal
from smear_env.observe import observation_size
from smear_env.rules import EXCHANGE, KEEP, NOBODY, OVER, PLAY, TRUMP, GameRules, make_rules, make_tables, parse_options

NAME = "python_smear"
"""The game's name in OpenSpiel's registry."""

_TYPE = pyspiel.GameType(
    short_name=NAME,
    long_name="Schmier, Four Point and their family (smear-env)",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    min_num_players=2,
    max_num_players=6,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={"rules": "mini_2p", "options": ""},
)


def load_game(rules: GameRules | str | Path = "mini_2p", **options: Any) -> "SmearGame":
    """The game for some rules: the same as `pyspiel.load_game(NAME, {"rules": ..., "options": "suits:3 target:9"})`.

    Args:
        rules: a preset, the path of a TOML file, or a `GameRules`.
        options: single rule options by keyword.

    Raises:
        TypeError, ValueError: rules that are not right, as for `smear_env.make_rules`.
    """
    name, changed = _named(make_rules(rules, **options))
    game: SmearGame = pyspiel.load_game(NAME, {"rules": name, "options": changed})
    return game


def _named(rules: GameRules) -> tuple[str, str]:
    """Rules as the two parameters of the game: a preset, and what differs from it, without OpenSpiel's = and commas."""
    name, *changed = rules.name.split()
    return name, " ".join(option.replace("=", ":").replace(",", "+") for option in changed)


def _options(text: str) -> dict[str, Any]:
    """The rule options of the second parameter."""
    texts = {}
    for word in text.split():
        name, colon, value = word.partition(":")
        if not colon:
            raise ValueError(f"the option {word!r} of {NAME} is not NAME:VALUE, as in 'suits:3 target:9'")
        texts[name] = value.replace("+", ",")
    return parse_options(texts)


class SmearGame(pyspiel.Game):
    """One dealing-out under some rules; `returns` are each team's change of score less the mean of the others'.

    Attributes:
        rules: the rules.
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        params = params or {}
        self.rules = make_rules(str(params.get("rules", "mini_2p")), **_options(str(params.get("options", ""))))
        most = self.rules.max_points + self.rules.max_bid
        info = pyspiel.GameInfo(
            num_distinct_actions=NUM_ACTIONS,
            max_chance_outcomes=NUM_CARDS,
            num_players=self.rules.players,
            min_utility=-float(most),
            max_utility=float(most),
            utility_sum=0.0,
            max_game_length=_most_actions(self.rules),
        )
        super().__init__(_TYPE, info, params)

    def new_initial_state(self) -> "SmearState":
        """The state before anything is dealt."""
        return SmearState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "SmearObserver":
        """What writes a seat's observation, or its information state, as a tensor and as text.

        Raises:
            ValueError: parameters, of which there are none, or another point of view than a seat's own.
        """
        if params:
            raise ValueError(f"observers of {NAME} have no parameters; given: {params}")
        wanted = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if not wanted.public_info or wanted.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise ValueError(f"observers of {NAME} see what one seat sees, no less and no more; given: {iig_obs_type}")
        return SmearObserver(self.rules, wanted.perfect_recall)


def _most_actions(rules: GameRules) -> int:
    """No deal has more actions than this."""
    keep = rules.hand_cards if rules.max_discard or rules.widow else 0
    return rules.players * (1 + rules.max_discard + 1 + rules.hand_cards) + 1 + keep


# --- Dealing -----------------------------------------------------------------------------------------------------


def _piles(rules: GameRules) -> list[int]:
    """How many cards go to each pile whose cards have no order: the hands, then what may be taken from the stock."""
    stock = rules.deck_size - rules.players * rules.deal_cards
    taken = [rules.widow] if rules.widow else [1] * stock if rules.max_discard else []
    return [rules.deal_cards] * rules.players + taken


def _next_cards(rules: GameRules, dealt: tuple[int, ...]) -> list[tuple[int, float]]:
    """The cards that may come next, with their probabilities, so that every set for a pile is equally likely."""
    left, begin = len(dealt), 0
    for size in _piles(rules):
        if left < size:
            break
        left, begin = left - size, begin + size
    to_come, last = size - left, dealt[-1] if left else NOBODY
    pack = [int(card) for card in make_tables(rules)[0]["deck"][: rules.deck_size]]
    cards = [card for card in pack if card not in dealt and card > last]
    ways = comb(len(cards), to_come)
    after = [(card, comb(len(cards) - 1 - place, to_come - 1)) for place, card in enumerate(cards)]
    return [(card, number / ways) for card, number in after if number]


# --- The state ---------------------------------------------------------------------------------------------------


class _Position:
    """Where a deal stands. Nobody changes it: copies of a state share it.

    Attributes:
        dealer: NOBODY before he is drawn.
        dealt: the cards dealt so far, in order.
        record: the game (1,); None while cards are dealt.
        player: the seat to move, chance, or that it is over.
        legal: the actions of the player.
        seen: what each seat has seen since the cards were dealt, as text.
        actions: the actions that each seat has seen, in order.
        returns: for each seat.
        next: the positions that have been looked at from here, by action, where the game is small: algorithms that go
            through the whole tree again and again find it there.
    """

    __slots__ = ("actions", "dealer", "dealt", "legal", "next", "player", "record", "returns", "seen")

    def __init__(self, dealer: int, dealt: tuple[int, ...], record: np.ndarray | None, seen: tuple[str, ...]) -> None:
        self.dealer, self.dealt, self.record, self.seen = dealer, dealt, record, seen
        self.player, self.legal = int(pyspiel.PlayerId.CHANCE), list[int]()
        self.actions: tuple[tuple[int, ...], ...] = ((),) * len(seen)
        self.returns = (0.0,) * len(seen)
        self.next: dict[int, _Position] = {}

    def __deepcopy__(self, memo: object) -> "_Position":
        return self


SMALL = 100_000
"""A game with at most so many deals is small: its positions are kept."""


@lru_cache(maxsize=64)
def _is_small(rules: GameRules) -> bool:
    left, deals = rules.deck_size, rules.players
    for size in _piles(rules):
        deals, left = deals * comb(left, size), left - size
    return deals <= SMALL


@lru_cache(maxsize=64)
def _first_record(rules: GameRules) -> np.ndarray:
    """A game of one deal, to be dealt anew."""
    games = Games(rules, 1, 0, "deal", autoreset=False)
    games.reset()
    games.records["rng"] = 0
    return games.records


def _after(rules: GameRules, at: _Position, action: int) -> _Position:
    """The position after a card dealt or an action."""
    if at.record is not None:
        return _after_action(rules, at, action)
    if at.dealer == NOBODY:
        return _Position(action, (), None, at.seen)
    dealt = (*at.dealt, action)
    if len(dealt) < sum(_piles(rules)):
        return _Position(at.dealer, dealt, None, at.seen)
    # The cards of the stock that nobody takes lie in any order.
    record, tables = _first_record(rules).copy(), make_tables(rules)
    rest = [card for card in tables[0]["deck"][: rules.deck_size] if card not in dealt]
    record[0].deck[: rules.deck_size] = [*dealt, *rest]
    record[0].dealer = at.dealer
    redeal(record, tables, 0)
    hands = [set_text(hand) for hand in record["hand"][0, : rules.players]]
    seen = tuple(f"seat {seat}, dealer {at.dealer}, dealt {hand}" for seat, hand in enumerate(hands))
    after = _Position(at.dealer, dealt, record, seen)
    after.player, after.legal = int(record["actor"][0]), legal_actions(record[0])
    return after


def _after_action(rules: GameRules, at: _Position, action: int) -> _Position:
    """The position after an action, and after the forced ones that follow."""
    assert at.record is not None
    record, tables = at.record.copy(), make_tables(rules)
    g, seen, actions = record[0], list(at.seen), list(at.actions)
    legal = [action]
    while len(legal) == 1:
        action = legal[0]
        actor, phase = int(g.actor), int(g.phase)
        is_secret = phase in (EXCHANGE, KEEP) or (phase == TRUMP and rules.trump_choice == "pitched")
        before = record.copy()
        step(g, tables[0], action)
        for seat in range(rules.players):
            if seat == actor or not is_secret:
                seen[seat] += f"; {actor}: {action_text(action)}"
                actions[seat] += (action,)
        if phase != PLAY:
            _tell(before, record, seen)
        legal = legal_actions(g)
    after = _Position(at.dealer, at.dealt, record, tuple(seen))
    after.actions, after.legal = tuple(actions), legal
    after.player = int(g.actor)
    if g.phase == OVER:
        after.player = int(pyspiel.PlayerId.TERMINAL)
    if g.deals_scored:
        delta = record["last_delta"][0, : rules.teams].tolist()
        own = [delta[seat % rules.teams] for seat in range(rules.players)]
        after.returns = tuple(points - (sum(delta) - points) / (rules.teams - 1) for points in own)
    return after


def _tell(before: np.ndarray, after: np.ndarray, seen: list[str]) -> None:
    """Adds what an action has brought about besides: how many cards who has thrown, and what came from the stock."""
    for other in range(len(seen)):
        if after["draws"][0, other] != before["draws"][0, other]:
            for seat in range(len(seen)):
                seen[seat] += f"; {other} draws {after['draws'][0, other]}"
        had, has = (int(games["hand"][0, other] | games["discards"][0, other]) for games in (before, after))
        if has & ~had:
            seen[other] += f"; takes {set_text(has & ~had)}"


class SmearState(pyspiel.State):
    """A state of the game: being dealt, at somebody's decision, or over."""

    def __init__(self, game: SmearGame) -> None:
        super().__init__(game)
        self._at = _Position(NOBODY, (), None, ("",) * game.rules.players)

    @property
    def _rules(self) -> GameRules:
        rules: GameRules = self.get_game().rules
        return rules

    @property
    def record(self) -> np.ndarray | None:
        """A copy of the game's record, (1,), nothing hidden; None while cards are dealt."""
        return None if self._at.record is None else self._at.record.copy()

    def current_player(self) -> int:
        """The seat to move, chance while cards are dealt, or that it is over."""
        return self._at.player

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Who may deal, or which card may come next, with the probabilities."""
        if self._at.dealer == NOBODY:
            return [(seat, 1 / self._rules.players) for seat in range(self._rules.players)]
        return _next_cards(self._rules, self._at.dealt)

    def _legal_actions(self, player: int) -> list[int]:
        return self._at.legal if player == self._at.player else []

    def _apply_action(self, action: int) -> None:
        at = self._at
        if action in at.next:
            self._at = at.next[action]
            return
        self._at = _after(self._rules, at, action)
        if _is_small(self._rules):
            at.next[action] = self._at

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return action_text(action)
        return f"dealer {action}" if self._at.dealer == NOBODY else card_text(action)

    def is_terminal(self) -> bool:
        """Whether the deal has been scored or thrown in."""
        return self._at.player == int(pyspiel.PlayerId.TERMINAL)

    def returns(self) -> list[float]:
        """What the deal brought each seat, in points; zeros before its end."""
        return list(self._at.returns)

    def observe(self, player: int) -> tuple[np.ndarray, np.ndarray]:
        """What a seat sees, (D,) and its action mask (70,), both int8; zeros while cards are dealt."""
        if self._at.record is None:
            return np.zeros(observation_size(self._rules), np.int8), np.zeros(NUM_ACTIONS, np.int8)
        views, masks = observe_records(self._at.record, self._rules, np.array([player]))
        return views[0], masks[0]

    def __str__(self) -> str:
        """Everything, for people: what all seats have seen."""
        return "\n".join(self._at.seen) if self._at.record is not None else f"{self._at.dealer}: {self._at.dealt}"


class SmearObserver:
    """Writes what a seat sees of a state, in the form that OpenSpiel asks for.

    The observation is one vector (D,). The information state is that, the cards that the seat was dealt, one number a
    card of the pack, and the actions that it has seen, each a row of 70 numbers.
    """

    def __init__(self, rules: GameRules, perfect_recall: bool) -> None:
        self._pack = [int(card) for card in make_tables(rules)[0]["deck"][: rules.deck_size]]
        self._hand_cards, self._players, self._perfect_recall = rules.deal_cards, rules.players, perfect_recall
        shapes: dict[str, tuple[int, ...]] = {"observation": (observation_size(rules),)}
        if perfect_recall:
            shapes |= {"dealt": (rules.deck_size,), "actions": (_most_actions(rules), NUM_ACTIONS)}
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {name: part.reshape(shape) for part, (name, shape) in zip(parts, shapes.items(), strict=True)}

    def set_from(self, state: SmearState, player: int) -> None:
        """Writes the tensor of a seat."""
        self.tensor.fill(0)
        at = state._at
        if at.record is None:
            return
        self.dict["observation"][:] = state.observe(player)[0]
        if self._perfect_recall:
            place = (player - at.dealer - 1) % self._players * self._hand_cards
            for card in at.dealt[place : place + self._hand_cards]:
                self.dict["dealt"][self._pack.index(card)] = 1
            for row, action in enumerate(at.actions[player]):
                self.dict["actions"][row, action] = 1

    def string_from(self, state: SmearState, player: int) -> str:
        """The same as text; the observation as the numbers that are not zero."""
        if self._perfect_recall:
            return state._at.seen[player]
        view = state.observe(player)[0]
        return " ".join(f"{place}:{view[place]}" for place in view.nonzero()[0])


# --- Players of ours ---------------------------------------------------------------------------------------------


class PlayerPolicy(policy.Policy):
    """A policy of ours for OpenSpiel's algorithms, the same at every seat.

    Args:
        game: from `load_game`.
        probabilities: as `smear_agents.Agent.probabilities`: (observations (1, D), action masks (1, 70)) to (1, 70).
    """

    def __init__(self, game: SmearGame, probabilities: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._probabilities = probabilities

    def action_probabilities(self, state: SmearState, player_id: int | None = None) -> dict[int, float]:
        """How likely each legal action is."""
        player = state.current_player() if player_id is None else player_id
        view, mask = state.observe(player)
        row = self._probabilities(view[None], mask[None])[0]
        return {action: float(row[action]) for action in state.legal_actions(player)}


pyspiel.register_game(_TYPE, SmearGame)
