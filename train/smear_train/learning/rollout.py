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
    ViewOptions,
    group_of,
    hidden_features,
    make_view_layout,
    most_features,
    num_features,
    order_worths,
    see,
    see_hidden,
    slot_action,
)
from smear_agents.network import choose, forward
from smear_agents.sight import SIGHT
from smear_env import GameRules, Games
from smear_env._jit import buffer_of, int64
from smear_env.actions import NUM_ACTIONS
from smear_env.cards import count
from smear_env.engine import advance, random_action, seed_state, step
from smear_env.observe import encode, encode_mask, make_layout
from smear_env.rules import BID, OVER, make_tables
from smear_env.state import Game
from smear_train.learning._jit import kernel


class Desk(NamedTuple):
    """What the kernels need to turn a game into features and features into an action: tables, and room to work."""

    tables: np.ndarray
    layout: np.ndarray
    view_layout: np.ndarray
    worths: np.ndarray
    num_features: int
    sees_hidden: bool  # also record what only a critic may see
    sight: np.ndarray
    observation: np.ndarray  # (1, D)
    mask: np.ndarray  # (1, 70)
    slots: np.ndarray
    features: np.ndarray
    units: np.ndarray
    active: np.ndarray
    outputs: np.ndarray


class Notes(NamedTuple):
    """Decisions as they are written down, T of them so far; all with the suits in their slots."""

    used: np.ndarray  # (2,): T, and the features of all of them
    features: np.ndarray  # those of every view one after the other, then what is hidden from it
    offsets: np.ndarray  # (T + 1,) where the features of each begin
    seen: np.ndarray  # (T,) where those end that the player himself sees
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
        masks: (T, 70) int8, legal actions, suits in slots.
        actions: (T,) int64, likewise.
        games, seats: (T,) int64, whose decision.
        groups: (T,) int64, BIDDING, EXCHANGING or PLAYING.
        payoffs: (N, P) float32, what each seat got for the deal.
    """

    features: np.ndarray
    offsets: np.ndarray
    seen: np.ndarray
    masks: np.ndarray
    actions: np.ndarray
    games: np.ndarray
    seats: np.ndarray
    groups: np.ndarray
    payoffs: np.ndarray

    def __len__(self) -> int:
        return len(self.actions)


@kernel
def look(g: Game, desk: Any) -> int:
    """Writes what the actor sees to the desk; returns how many features that is."""
    t, o = desk.tables[0], desk.layout[0]
    encode(g, t, o, g.actor, buffer_of(desk.observation), 0)
    encode_mask(g, g.actor, buffer_of(desk.mask), 0)
    return see(
        desk.observation[0], desk.mask[0], t, o, desk.view_layout[0], desk.worths[0], desk.sight[0], desk.slots,
        desk.features, 0,
    )  # fmt: skip


@kernel
def note(g: Game, desk: Any, notes: Any, length: int, action: int, i: int) -> None:
    """Writes down a decision of the actor, who has just looked."""
    k, at = notes.used[0], notes.used[1]
    for j in range(length):
        notes.features[at + j] = desk.features[j]
    notes.seen[k] = at + length
    at += length
    if desk.sees_hidden:
        at = see_hidden(g, desk.tables[0], g.actor, desk.num_features, desk.slots, notes.features, at)
    for j in range(NUM_ACTIONS):
        notes.masks[k, slot_action(j, desk.slots)] = desk.mask[0, j]
    notes.actions[k] = slot_action(action, desk.slots)
    notes.games[k], notes.seats[k] = i, g.actor
    notes.groups[k] = group_of(desk.observation[0], desk.mask[0], desk.layout[0])
    notes.offsets[k + 1] = at
    notes.used[0], notes.used[1] = k + 1, at


@kernel
def play_on(
    games: np.ndarray,
    desk: Any,
    notes: Any,
    roles: np.ndarray,
    recorded: np.ndarray,
    must_bid: np.ndarray,
    policies: np.ndarray,
    sizes: np.ndarray,
    how: int,
    epsilon: float,
    states: np.ndarray,
    most: int,
) -> bool:
    """Plays every game on until it is over or somebody who is no network is to decide.

    Args:
        games: (N,) records, of one deal each.
        desk, notes: see there.
        roles: (N, P) the number of the network that plays a seat; below 0: nobody's here.
        recorded: (N, P) whose decisions are written down.
        must_bid: (N,) deals in which a dealer's network may not pass when all have passed.
        policies: (K, num_weights) the networks.
        sizes: of their layers.
        how, epsilon: how network 0 chooses; the others choose by their softmax.
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
            states[i] = advance(states[i])
            if count(g.legal_cards) + count(g.legal_calls) == 1:
                step(g, t, random_action(g, states[i]))
                continue
            role = roles[i, g.actor]
            if role < 0:
                break
            is_recorded = recorded[i, g.actor]
            if is_recorded and (
                notes.used[0] == notes.actions.size or notes.used[1] + most > notes.features.size
            ):
                return False
            length = look(g, desk)
            forward(desk.features, 0, length, policies[role], sizes, desk.units, desk.active, desk.outputs)
            chance = SAMPLE_OF_OTHERS if role > 0 else how
            action = choose(desk.mask[0], desk.slots, desk.outputs, chance, epsilon, states[i])
            if is_recorded:
                note(g, desk, notes, length, action, i)
            step(g, t, action)
    return True


SAMPLE_OF_OTHERS = 1  # SAMPLE of smear_agents.network


@kernel
def play_answers(
    games: np.ndarray, desk: Any, notes: Any, rows: np.ndarray, actions: np.ndarray, recorded: np.ndarray
) -> None:
    """Does what those who were asked have answered, actions[k] in game rows[k], and writes it down where asked for."""
    for k in range(rows.size):
        g = games[rows[k]]
        if recorded[rows[k], g.actor]:
            note(g, desk, notes, look(g, desk), actions[k], rows[k])
        step(g, desk.tables[0], actions[k])


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

    def __init__(
        self, rules: GameRules, options: ViewOptions, sizes: Sequence[int], sees_hidden: bool = False
    ) -> None:
        self.rules, self.sizes = rules, np.array(sizes, np.int64)
        self.most = most_features(rules)
        self.width = num_features(rules, options)
        layout = make_layout(rules)
        self.desk = Desk(
            tables=make_tables(rules),
            layout=layout,
            view_layout=make_view_layout(rules, options),
            worths=order_worths(),
            num_features=self.width,
            sees_hidden=sees_hidden,
            sight=np.zeros(1, SIGHT),
            observation=np.zeros((1, int(layout["length"][0])), np.int8),
            mask=np.zeros((1, NUM_ACTIONS), np.int8),
            slots=np.zeros(4, np.int64),
            features=np.zeros(self.most, np.int32),
            units=np.zeros((2, max(sizes[1:])), np.float32),
            active=np.zeros(max(sizes) + 1, np.int64),
            outputs=np.zeros(NUM_ACTIONS, np.float32),
        )
        self.input_width = self.width + (hidden_features(rules) if sees_hidden else 0)
        self._notes = self._room(1024)

    def _room(self, decisions: int) -> Notes:
        return Notes(
            used=np.zeros(2, np.int64),
            features=np.zeros(max(decisions * 100, 2 * self.most), np.int32),
            offsets=np.zeros(decisions + 1, np.int64),
            seen=np.zeros(decisions, np.int64),
            masks=np.zeros((decisions, NUM_ACTIONS), np.int8),
            actions=np.zeros(decisions, np.int64),
            games=np.zeros(decisions, np.int64),
            seats=np.zeros(decisions, np.int64),
            groups=np.zeros(decisions, np.int64),
        )

    def _make_room(self, decisions: int) -> None:
        """Room for so many decisions more, those written down kept."""
        old, (used, num_features) = self._notes, self._notes.used
        features = num_features + decisions * max(100, self.most // 4) + self.most
        if used + decisions <= len(old.actions) and features <= len(old.features):
            return
        new = self._room(max(2 * len(old.actions), used + decisions))
        if len(new.features) < features:
            new = new._replace(features=np.zeros(features, np.int32))
        for name, array in new._asdict().items():
            array[: len(getattr(old, name))] = getattr(old, name)
        self._notes = new

    def play(
        self,
        seeds: np.ndarray,
        seating: Seating,
        policies: np.ndarray,
        agents: Sequence[Agent] = (),
        how: int = SAMPLE_OF_OTHERS,
        epsilon: float = 0.0,
    ) -> tuple[Decisions, np.ndarray]:
        """Plays N deals.

        Args:
            seeds: (N,) uint64, one a deal, for the cards and for all choices.
            seating: who plays.
            policies: (K, num_weights) float32, the networks.
            agents: those outside.
            how, epsilon: how the learner chooses; see `smear_agents.network.choose`.

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
            self._make_room(len(waiting))
            for who in np.unique(asked):
                rows = waiting[asked == who]
                actions = np.asarray(decide(agents[who], games, rows), np.int64)
                legal = games.action_masks[rows, actions] == 1
                if not legal.all():
                    row = rows[~legal][0]
                    raise games.illegal_action(int(row), int(actions[~legal][0]))
                play_answers(games.records, self.desk, self._notes, rows, actions, seating.recorded)
        return self._read(len(seeds)), games.records

    def _play_networks(
        self, games: Games, seating: Seating, policies: np.ndarray, how: int, epsilon: float, states: np.ndarray
    ) -> None:
        while not play_on(
            games.records, self.desk, self._notes, seating.roles, seating.recorded, seating.must_bid, policies,
            self.sizes, how, epsilon, states, self.most,
        ):  # fmt: skip
            self._make_room(len(self._notes.actions))

    def _read(self, num_games: int) -> Decisions:
        n, k = self._notes, int(self._notes.used[0])
        return Decisions(
            features=n.features[: n.used[1]],
            offsets=n.offsets[: k + 1],
            seen=n.seen[:k],
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
        games, seats: (T,) whose decision.
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
        games, seats, payoffs, trace, advantages: as in `estimate_advantages`.
        values: (T, teams) what the critic expected for each team, the player's first and then to the left.
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
def gather(features: np.ndarray, offsets: np.ndarray, ends: np.ndarray, rows: np.ndarray, out: np.ndarray,
           starts: np.ndarray) -> None:
    """Copies the features of some decisions, one after the other; those of row k end at ends[rows[k]]."""
    at = int64(0)
    for k in range(rows.size):
        starts[k] = at
        for j in range(offsets[rows[k]], ends[rows[k]]):
            out[at] = features[j]
            at += 1
    starts[rows.size] = at


def pick_features(decisions: Decisions, rows: np.ndarray, hidden: bool) -> tuple[np.ndarray, np.ndarray]:
    """The features of some decisions (M,) and where each begins and the last ends, (M + 1,); hidden ones if asked for."""
    ends = decisions.offsets[1:] if hidden else decisions.seen
    total = int((ends[rows] - decisions.offsets[rows]).sum())
    out, starts = np.empty(total, np.int32), np.empty(len(rows) + 1, np.int32)
    gather(decisions.features, decisions.offsets, ends, rows, out, starts)
    return out, starts


def payoffs_by_team(decisions: Decisions, teams: int) -> np.ndarray:
    """What came of each decision for the player's team and, if `teams` is more than 1, for those to its left: (T, teams)."""
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


