"""Playing deals to learn from: who sits where, what the learner decided and what came of it.

A deal is one episode, played to its end, so nothing has to be estimated at a cut. Seats of networks are played in one
kernel, from the record to the action; whoever else is at the table is asked when it is his turn. Forced moves are made
without asking anybody and are not recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from smear_agents import Agent, decide
from smear_agents.learner_view import (
    MOST_CARD_FEATURES,
    ViewOptions,
    group_of,
    hidden_features,
    most_features,
    num_features,
    see_hidden,
    slot_action,
)
from smear_agents.network import SAMPLE, choose, look, make_desk, think
from smear_env import GameRules, Games
from smear_env._jit import buffer_of, int64
from smear_env.actions import NUM_ACTIONS, PASS
from smear_env.cards import NUM_CARDS, count, lowest
from smear_env.engine import advance, random_action, seed_state, step
from smear_env.observe import encode, encode_mask
from smear_env.rules import BID, OVER
from smear_env.state import Game
from smear_train.learning._jit import kernel

MOST_PAIRS = NUM_CARDS * MOST_CARD_FEATURES


class Notes(NamedTuple):
    """Decisions as they are written down, T of them so far; all with the suits in their slots."""

    used: np.ndarray  # (3,): T, the features of all of them, and the pairs
    features: np.ndarray  # those of every view one after the other, then what is hidden from it
    offsets: np.ndarray  # (T + 1,) where the features of each begin
    seen: np.ndarray  # (T,) where those end that the player himself sees
    pairs: np.ndarray  # slot of a card x NUM_CARD_FEATURES + what is true of it; see `describe_cards`
    pair_offsets: np.ndarray  # (T + 1,)
    masks: np.ndarray  # (T, 70)
    actions: np.ndarray
    games: np.ndarray
    seats: np.ndarray
    groups: np.ndarray


@dataclass(frozen=True)
class Decisions:
    """T recorded decisions and what came of them. Within a game they stand in the order they were taken.

    Attributes:
        features: int32, numbers of the features that are true, those of all decisions one after the other.
        offsets: (T + 1,) int64, where those of each decision begin.
        seen: (T,) int64, where those end that the player sees; the rest is for a critic.
        pairs: int32, what is true of the cards that may be chosen; see `smear_agents.learner_view.describe_cards`.
        pair_offsets: (T + 1,) int64, where those of each decision begin.
        masks: (T, 70) int8, legal actions, suits in slots.
        actions: (T,) int64, likewise.
        games, seats: (T,) int64, whose decision.
        groups: (T,) int64, BIDDING, EXCHANGING or PLAYING.
        payoffs: (N, P) float32, what each seat got for the deal.
    """

    features: np.ndarray
    offsets: np.ndarray
    seen: np.ndarray
    pairs: np.ndarray
    pair_offsets: np.ndarray
    masks: np.ndarray
    actions: np.ndarray
    games: np.ndarray
    seats: np.ndarray
    groups: np.ndarray
    payoffs: np.ndarray

    def __len__(self) -> int:
        return len(self.actions)


class Place(NamedTuple):
    """Where the view of whoever is to decide is written, and whether what is hidden from him is noted too."""

    view: np.ndarray  # (1, D)
    mask: np.ndarray  # (1, 70)
    hidden_from: int  # the number of the first feature that only a critic sees; 0 if there are none


@kernel
def turn_to(g: Game, desk: Any, place: Any) -> tuple[int, int]:
    """Lets the actor look; returns how many features he sees, and how many pairs."""
    observation, mask = place[0], place[1]
    encode(g, desk.tables[0], desk.layout[0], g.actor, buffer_of(observation), 0)
    encode_mask(g, g.actor, buffer_of(mask), 0)
    return look(observation[0], mask[0], desk)


@kernel
def note(g: Game, desk: Any, place: Any, notes: Any, num_features: int, num_pairs: int, action: int, i: int) -> None:
    """Writes down a decision of the actor, who has just looked."""
    observation, mask = place[0], place[1]
    k, at, pair = notes.used[0], notes.used[1], notes.used[2]
    for j in range(num_features):
        notes.features[at + j] = desk.features[j]
    at += num_features
    notes.seen[k] = at
    if place.hidden_from:
        at = see_hidden(g, desk.tables[0], g.actor, place.hidden_from, desk.slots, notes.features, at)
    for j in range(num_pairs):
        notes.pairs[pair + j] = desk.pairs[j]
    notes.masks[k] = 0
    cards, calls = g.legal_cards, g.legal_calls
    while cards != 0:
        notes.masks[k, slot_action(lowest(cards), desk.slots)] = 1
        cards &= cards - 1
    while calls != 0:
        notes.masks[k, slot_action(PASS + lowest(calls), desk.slots)] = 1
        calls &= calls - 1
    notes.actions[k] = slot_action(action, desk.slots)
    notes.games[k], notes.seats[k] = i, g.actor
    notes.groups[k] = group_of(observation[0], mask[0], desk.layout[0])
    notes.offsets[k + 1], notes.pair_offsets[k + 1] = at, pair + num_pairs
    notes.used[0], notes.used[1], notes.used[2] = k + 1, at, pair + num_pairs


@kernel
def has_room(notes: Any, most: int) -> bool:
    """Whether one more decision can be written down."""
    return (
        notes.used[0] < notes.actions.size
        and notes.used[1] + most <= notes.features.size
        and notes.used[2] + MOST_PAIRS <= notes.pairs.size
    )


@kernel
def play_on(
    games: np.ndarray,
    desk: Any,
    place: Any,
    notes: Any,
    roles: np.ndarray,
    recorded: np.ndarray,
    must_bid: np.ndarray,
    policies: np.ndarray,
    how: int,
    epsilon: float,
    states: np.ndarray,
    most: int,
) -> bool:
    """Plays every game on until it is over or somebody who is no network is to decide.

    Args:
        games: (N,) records, of one deal each.
        desk: see `smear_agents.network.Desk`.
        place: see there.
        notes: see there.
        roles: (N, P) the number of the network that plays a seat; below 0: nobody's here.
        recorded: (N, P) whose decisions are written down.
        must_bid: (N,) deals in which a dealer's network may not pass when all have passed.
        policies: (K, num_weights) the networks.
        how: the networks choose.
        epsilon: see `smear_agents.network.choose`.
        states: (N,) a generator for each game.
        most: no decision takes more features than this.

    Returns:
        Whether there was room for all that had to be written down; if not, call again with more.
    """
    t = desk.tables[0]
    for i in range(games.size):
        g = games[i]
        while g.phase != OVER:
            if must_bid[i] and g.phase == BID and g.actor == g.dealer and g.bid == 0 and roles[i, g.actor] >= 0:
                g.legal_calls &= ~int64(1)
            is_forced = count(g.legal_cards) + count(g.legal_calls) == 1
            role = roles[i, g.actor]
            is_recorded = recorded[i, g.actor]
            if not is_forced and role < 0:
                break
            if not is_forced and is_recorded and not has_room(notes, most):
                return False
            # Not before it is sure that he acts: what is chosen must not depend on how often this was called.
            states[i] = advance(states[i])
            if is_forced:
                step(g, t, random_action(g, states[i]))
                continue
            num_features, num_pairs = turn_to(g, desk, place)
            think(desk, num_features, num_pairs, policies[role])
            action = choose(place.mask[0], desk.slots, desk.outputs, how, epsilon, states[i])
            if is_recorded:
                note(g, desk, place, notes, num_features, num_pairs, action, i)
            step(g, t, action)
    return True


@kernel
def play_answers(
    games: np.ndarray,
    desk: Any,
    place: Any,
    notes: Any,
    rows: np.ndarray,
    actions: np.ndarray,
    recorded: np.ndarray,
    most: int,
) -> int:
    """Does what those who were asked have answered, actions[k] in game rows[k], and writes it down where asked for.

    Returns how many of them there was room for.
    """
    for k in range(rows.size):
        g = games[rows[k]]
        if recorded[rows[k], g.actor]:
            if not has_room(notes, most):
                return k
            num_features, num_pairs = turn_to(g, desk, place)
            note(g, desk, place, notes, num_features, num_pairs, actions[k], rows[k])
        step(g, desk.tables[0], actions[k])
    return rows.size


@kernel
def seed_states(seeds: np.ndarray, states: np.ndarray) -> None:
    """Gives each game a generator for the choices in it, apart from that of its cards."""
    for i in range(seeds.size):
        states[i] = seed_state(seeds[i], 2)


@dataclass(frozen=True)
class Seating:
    """Who plays in N deals.

    Attributes:
        roles: (N, P) int64; k >= 0: network k, of which 0 is the learner; -1 - k: agent k of those outside.
        recorded: (N, P) bool, whose decisions are to be learned from.
        must_bid: (N,) bool, deals in which a network that deals must bid when all others have passed.
        scores: (N, teams) int64, where the game stands.
    """

    roles: np.ndarray
    recorded: np.ndarray
    must_bid: np.ndarray
    scores: np.ndarray


class Rollout:
    """Plays deals and writes down decisions.

    Args:
        rules: the game.
        options: what networks are shown.
        sizes: the layers of the networks.
        sees_hidden: also write down what is hidden, for a critic.
    """

    def __init__(self, rules: GameRules, options: ViewOptions, sizes: Sequence[int], sees_hidden: bool = False) -> None:
        self.rules = rules
        self.most = most_features(rules)
        self.desk = make_desk(rules, options, sizes)
        width = num_features(rules, options)
        self.place = Place(
            view=np.zeros((1, int(self.desk.layout["length"][0])), np.int8),
            mask=np.zeros((1, NUM_ACTIONS), np.int8),
            hidden_from=width if sees_hidden else 0,
        )
        self.input_width = width + (hidden_features(rules) if sees_hidden else 0)
        self._notes = self._room(1024)

    def _room(self, decisions: int) -> Notes:
        return Notes(
            used=np.zeros(3, np.int64),
            features=np.zeros(decisions * 100 + self.most, np.int32),
            offsets=np.zeros(decisions + 1, np.int64),
            seen=np.zeros(decisions, np.int64),
            pairs=np.zeros(decisions * 60 + MOST_PAIRS, np.int32),
            pair_offsets=np.zeros(decisions + 1, np.int64),
            masks=np.zeros((decisions, NUM_ACTIONS), np.int8),
            actions=np.zeros(decisions, np.int64),
            games=np.zeros(decisions, np.int64),
            seats=np.zeros(decisions, np.int64),
            groups=np.zeros(decisions, np.int64),
        )

    def _grow(self) -> None:
        """Twice the room, with what was written down kept."""
        old, new = self._notes, self._room(2 * len(self._notes.actions))
        for name, array in new._asdict().items():
            array[: len(getattr(old, name))] = getattr(old, name)
        self._notes = new

    def play(
        self,
        seeds: np.ndarray,
        seating: Seating,
        policies: np.ndarray,
        agents: Sequence[Agent] = (),
        how: int = SAMPLE,
        epsilon: float = 0.0,
    ) -> tuple[Decisions, np.ndarray]:
        """Plays N deals.

        Args:
            seeds: (N,) uint64, one a deal, for the cards and for all choices.
            seating: who plays.
            policies: (K, num_weights) float32, the networks.
            agents: those outside.
            how: the networks choose; see `smear_agents.network.choose`.
            epsilon: see there.

        Returns:
            What was written down, payoffs still zero, and the records of the deals, (N,).
        """
        games = Games(self.rules, len(seeds), seeds, "deal", autoreset=False)
        games.reset()
        games.records["scores"][:, : self.rules.teams] = seating.scores
        games.refresh()
        states = np.zeros(len(seeds), np.uint64)
        seed_states(seeds, states)
        self._notes.used[:] = 0
        while True:
            self._play_networks(games, seating, policies, how, epsilon, states)
            waiting = np.flatnonzero(games.records["phase"] != OVER)
            if not waiting.size:
                break
            games.refresh()
            asked = -1 - seating.roles[waiting, games.seats[waiting]]
            for who in np.unique(asked):
                rows = waiting[asked == who]
                actions = np.asarray(decide(agents[who], games, rows), np.int64)
                legal = games.action_masks[rows, actions] == 1
                if not legal.all():
                    row = rows[~legal][0]
                    raise games.illegal_action(int(row), int(actions[~legal][0]))
                done = 0
                while done < len(rows):
                    done += play_answers(
                        games.records, self.desk, self.place, self._notes, rows[done:], actions[done:],
                        seating.recorded, self.most,
                    )  # fmt: skip
                    if done < len(rows):
                        self._grow()
        return self._read(len(seeds)), games.records

    def _play_networks(
        self, games: Games, seating: Seating, policies: np.ndarray, how: int, epsilon: float, states: np.ndarray
    ) -> None:
        while not play_on(
            games.records, self.desk, self.place, self._notes, seating.roles, seating.recorded, seating.must_bid,
            policies, how, epsilon, states, self.most,
        ):  # fmt: skip
            self._grow()

    def _read(self, num_games: int) -> Decisions:
        n, k = self._notes, int(self._notes.used[0])
        return Decisions(
            features=n.features[: n.used[1]],
            offsets=n.offsets[: k + 1],
            seen=n.seen[:k],
            pairs=n.pairs[: n.used[2]],
            pair_offsets=n.pair_offsets[: k + 1],
            masks=n.masks[:k],
            actions=n.actions[:k],
            games=n.games[:k],
            seats=n.seats[:k],
            groups=n.groups[:k],
            payoffs=np.zeros((num_games, self.rules.players), np.float32),
        )


@kernel
def estimate_advantages(
    games: np.ndarray,
    seats: np.ndarray,
    values: np.ndarray,
    payoffs: np.ndarray,
    trace: float,
    advantages: np.ndarray,
    returns: np.ndarray,
) -> None:
    """Generalised advantages (Schulman and others, 2016) for each (game, seat) by itself, nothing discounted.

    A player's next decision comes some steps of the table later, so the accumulator is one for each seat of each game.
    The payoff comes after the last decision. One pass from the last decision to the first.

    Args:
        games: (T,) in which game each decision was.
        seats: (T,) whose it was.
        values: (T, 1) what the critic expected for the player.
        payoffs: (N, P).
        trace: lambda; 1 is the payoff itself, 0 one step.
        advantages: (T,) written.
        returns: (T, 1) written: what the critic should have expected, advantage and value.
    """
    next_value = payoffs.copy()
    next_advantage = np.zeros(payoffs.shape)
    for k in range(games.size - 1, -1, -1):
        i, seat = games[k], seats[k]
        delta = next_value[i, seat] - values[k, 0]
        advantages[k] = delta + trace * next_advantage[i, seat]
        returns[k, 0] = advantages[k] + values[k, 0]
        next_value[i, seat] = values[k, 0]
        next_advantage[i, seat] = advantages[k]


@kernel
def estimate_table_advantages(
    games: np.ndarray,
    seats: np.ndarray,
    values: np.ndarray,
    payoffs: np.ndarray,
    trace: float,
    advantages: np.ndarray,
    returns: np.ndarray,
) -> None:
    """Generalised advantages along the decisions of the whole table, for a critic that sees all hands.

    Such a critic knows what each team may expect at anybody's turn, so a player's advantage need not wait for his own
    next turn, and the chance in the others' moves until then does not enter it. (Without the hands this would be wrong:
    what a neighbour expects knows nothing of what the player saw when he chose.)

    Args:
        games: as in `estimate_advantages`.
        seats: likewise.
        values: (T, teams) what the critic expected for each team, the player's first and then to the left.
        payoffs: as in `estimate_advantages`.
        trace: likewise.
        advantages: likewise.
        returns: (T, teams) written.
    """
    teams = values.shape[1]
    next_value = payoffs[:, :teams].copy()  # seats 0, 1, ... are of teams 0, 1, ...
    next_advantage = np.zeros((len(payoffs), teams))
    for k in range(games.size - 1, -1, -1):
        i, own = games[k], seats[k] % teams
        for place in range(teams):
            team = (own + place) % teams
            value = values[k, place]
            advantage = next_value[i, team] - value + trace * next_advantage[i, team]
            returns[k, place] = advantage + value
            next_value[i, team] = value
            next_advantage[i, team] = advantage
        advantages[k] = next_advantage[i, own]


@kernel
def gather(
    numbers: np.ndarray, begins: np.ndarray, ends: np.ndarray, rows: np.ndarray, out: np.ndarray, starts: np.ndarray
) -> None:
    """Copies the lists of some rows, numbers[begins[row] : ends[row]], one after the other, and where they start."""
    at = 0
    for k in range(rows.size):
        starts[k] = at
        for j in range(begins[rows[k]], ends[rows[k]]):
            out[at] = numbers[j]
            at += 1
    starts[rows.size] = at


def pick(numbers: np.ndarray, begins: np.ndarray, ends: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lists of some rows (M,) one after the other, and where each starts and the last ends, (M + 1,); int32."""
    out, starts = np.empty(int((ends[rows] - begins[rows]).sum()), np.int32), np.empty(len(rows) + 1, np.int32)
    gather(numbers, begins, ends, rows, out, starts)
    return out, starts


def payoffs_by_team(decisions: Decisions, teams: int) -> np.ndarray:
    """What came of each decision for the player's team and, if more are asked for, those to its left: (T, teams)."""
    if teams == 1:
        return decisions.payoffs[decisions.games, decisions.seats][:, None]
    places = (decisions.seats[:, None] + np.arange(teams)) % teams
    return np.take_along_axis(decisions.payoffs[decisions.games], places, 1)


def deal_counts(records: np.ndarray, teams: int) -> dict[str, float]:
    """How the deals went: how many were dealt, scored and made, and the sum of the bids."""
    scored = records["deals_scored"] > 0
    g = records[scored]
    made = g["last_points"][np.arange(len(g)), g["last_bidder"] % teams] >= g["last_bid"]
    return {
        "deals": float(len(records)),
        "scored": float(scored.sum()),
        "made": float(made.sum()),
        "bids": float(g["last_bid"].sum()),
    }
