"""Players that search: they deal the hidden cards anew, again and again, and see what each action comes to.

`pimc` (determinized search; Levy 1989, Ginsberg 2001) takes the mean over such deals of what an action comes to: by
exact play once few enough tricks are left, before that by playing on as `club` does. `ismcts` (Cowling, Powley and
Whitehouse 2012) grows one tree over all of them. `cheater` looks at the cards: no player, but a bound for them.
"""

from typing import NamedTuple

import numpy as np

from smear_agents._jit import kernel
from smear_agents.agent import GameAgent
from smear_agents.club import SIGHT, ClubAgent, club_action
from smear_agents.scripted import digest
from smear_agents.two_sides import SCORE, evaluate, new_memory
from smear_env import GameRules
from smear_env._jit import buffer_of, int64
from smear_env.actions import BID_1, DONE, NUM_ACTIONS, PASS, TRUMP_CLUBS, is_legal, legal_actions
from smear_env.cards import count, lowest
from smear_env.engine import advance, below, deal, mix, step
from smear_env.games import observe_game
from smear_env.resample import resample_game
from smear_env.rules import BID, EXCHANGE, NOBODY, OVER, PLAY, TRUMP, Tables
from smear_env.state import GAME, Game, new_games

EXACT_TRICKS = {2: 4, 3: 2}
"""Tricks left from which pimc plays exactly, by the number of teams. With more it is slower and no better.

Of three teams exact play takes two for one side, so playing on as `club` does is the better guess, and the faster.
"""

CANDIDATES = 5
"""Deals of the hidden cards of which the one is taken that explains the bids, the trump and the exchange best."""

MOST_SURPRISES = 1_000
"""More than there can be."""

SUM, GAIN, SQUARE = range(3)
"""Rows of what is summed up for each action."""

DOUBT = 0.7
"""Standard errors by which an action has to be ahead of what club does. Without it the luckiest action is taken."""

SECOND_LOOK = 3
"""An action that looks better than club's is compared with that in so many times as many deals more."""


class Kit(NamedTuple):
    """What the kernels here work with.

    tables, layout: of the rules; bids, habits, sight: club's; memory: of the exact solver; worlds: four records to
    play with; views (1, D), masks (1, 70): what club sees there; values (70,): of actions in one world.
    """

    tables: np.ndarray
    layout: np.ndarray
    bids: np.ndarray
    habits: np.ndarray
    sight: np.ndarray
    memory: np.ndarray
    worlds: np.ndarray
    views: np.ndarray
    masks: np.ndarray
    values: np.ndarray


class SearchAgent(GameAgent):
    """What the searching players share. Their chance comes from the seed and from what they know of the game.

    Args:
        rules: the rules of the game, of two or three teams.
        seed: a whole number.

    Raises:
        ValueError: more teams.
    """

    def __init__(self, rules: GameRules, seed: int = 0) -> None:
        super().__init__(rules, seed)
        if rules.teams > 3:
            raise ValueError(f"searching players are for two or three teams; {rules.name} has {rules.teams}")
        club = ClubAgent(rules)
        self._kit = Kit(
            tables=self.tables,
            layout=self.layout,
            bids=club.bids,
            habits=club.habits,
            sight=np.zeros(1, SIGHT),
            memory=new_memory(),
            worlds=new_games(4),
            views=np.zeros((1, int(self.layout["length"][0])), np.int8),
            masks=np.zeros((1, NUM_ACTIONS), np.int8),
            values=np.zeros(NUM_ACTIONS, np.int64),
        )
        words = np.random.SeedSequence(seed).generate_state(1 + GAME.itemsize, np.uint64)
        self._key, self._weights = words[:1], words[1:]

    def _states(self, games: np.ndarray) -> np.ndarray:
        """A state of chance for each game, (N,) uint64, from what is known of it."""
        states = np.empty(len(games), np.uint64)
        digests(games.view(np.int8).reshape(len(games), -1), self._key, self._weights, states)
        return states


class PimcAgent(SearchAgent):
    """Deals the hidden cards anew N times and takes the action that comes to most, on average.

    It leaves what club does only for an action that is ahead beyond doubt, in `SECOND_LOOK` x N deals more.

    Args:
        rules: the rules of the game.
        seed: a whole number.
        worlds: N.
    """

    def __init__(self, rules: GameRules, seed: int = 0, worlds: int = 30) -> None:
        super().__init__(rules, seed)
        self.num_worlds = worlds
        self._exact_tricks = EXACT_TRICKS[rules.teams]
        self._totals = np.zeros((3, NUM_ACTIONS))

    def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """As in `GameAgent`."""
        actions = np.empty(len(games), np.int64)
        pimc_actions(
            self._kit, games, seats, self._states(games), self.num_worlds, self._exact_tricks, self._totals, actions
        )
        return actions

    def weigh(self, games: np.ndarray, seats: np.ndarray) -> list[dict[int, float]]:
        """For each game what each legal action comes to: the change of the own team's score less the others' mean."""
        weighed = []
        for i, state in enumerate(self._states(games)):
            usual = club_choice(self._kit, games[i])
            found = weigh_actions(
                self._kit, games[i : i + 1], seats[i], state, usual, self.num_worlds, self._exact_tricks, self._totals
            )
            scale = max(found, 1) * (self.rules.teams - 1)
            weighed.append({action: float(self._totals[SUM, action]) / scale for action in legal_actions(games[i])})
        return weighed


class CheaterAgent(SearchAgent):
    """Sees all cards: plays exactly, and before that takes what comes to most if all play on as club does.

    It says how much there is to gain by knowing; it is no player.
    """

    sees_all = True

    def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """As in `GameAgent`."""
        actions = np.empty(len(games), np.int64)
        totals = np.zeros(NUM_ACTIONS)
        cheater_actions(self._kit, games, seats, totals, actions)
        return actions


class IsmctsAgent(SearchAgent):
    """Grows one tree of what the players could do, over N deals of the hidden cards, each played on as club does.

    Args:
        rules: the rules of the game.
        seed: a whole number.
        iterations: N.
    """

    def __init__(self, rules: GameRules, seed: int = 0, iterations: int = 500) -> None:
        super().__init__(rules, seed)
        self.iterations = iterations
        self._tree = np.zeros(iterations + 1, NODE)

    def choose(self, games: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """As in `GameAgent`."""
        actions = np.empty(len(games), np.int64)
        ismcts_actions(self._kit, games, seats, self._states(games), self._tree, actions)
        return actions


@kernel
def digests(rows: np.ndarray, key: np.ndarray, weights: np.ndarray, states: np.ndarray) -> None:
    """Writes 64 bits for each row of bytes."""
    for i in range(states.size):
        states[i] = mix(digest(rows, i, key[0], weights))


# --- Worlds ------------------------------------------------------------------------------------------------------


@kernel
def club_choice(k: Kit, g: Game) -> int:
    """What club does in a game, for the seat to move."""
    t, o = k.tables[0], k.layout[0]
    observe_game(g, t, o, g.actor, 0, buffer_of(k.views), buffer_of(k.masks))
    return club_action(k.views[0], k.masks[0], t, o, k.bids[0], k.habits[0], k.sight[0])


@kernel
def play_on(k: Kit, g: Game) -> None:
    """Plays a game to the end of its deal as club does; g.one_deal has to be set."""
    while g.phase != OVER:
        step(g, k.tables[0], club_choice(k, g))


@kernel
def score_of(g: Game, t: Tables, team: int) -> int:
    """What a deal that has just ended brought a team, (teams - 1) times: its change of score less the others' mean."""
    if g.deals_scored == 0:
        return 0  # thrown in
    total = int64(0)
    for other in range(t.teams):
        total += g.last_delta[other]
    return t.teams * int64(g.last_delta[team]) - total


@kernel
def begin_world(k: Kit, into: int, world: int) -> None:
    """Copies a world to another record, to be played to the end of its deal and no further."""
    k.worlds[into] = k.worlds[world]
    k.worlds[into].one_deal = 1
    k.worlds[into].deals_scored = 0


@kernel
def weigh_world(k: Kit, exact_tricks: int, one: int, other: int) -> None:
    """Writes what each legal action comes to in worlds[0], (teams - 1) times, to k.values.

    If `one` is an action, only of it and the other one.
    """
    g, t = k.worlds[0], k.tables[0]
    if g.phase == PLAY and t.hand_cards - g.tricks <= exact_tricks:
        evaluate(k.worlds, 0, k.tables, SCORE, k.memory, k.values)
        return
    team = t.team_of[g.actor]
    for action in range(NUM_ACTIONS):
        if is_legal(g, action) and (one == NOBODY or action in (one, other)):
            begin_world(k, 1, 0)
            step(k.worlds[1], t, action)
            play_on(k, k.worlds[1])
            k.values[action] = score_of(k.worlds[1], t, team)


@kernel
def actual_bid(w: Game, seat: int) -> int:
    """The action by which a seat has bid or passed in a world."""
    return PASS if w.bids[seat] == 0 else BID_1 + int64(w.bids[seat]) - 1


@kernel
def surprises(k: Kit, seat: int, most: int) -> int:
    """How often somebody else has done in worlds[0] what club would not have done with those cards.

    The deal is played again from its beginning through auction, trump and exchange, as far as it has come, or until
    there were `most` of them.
    """
    k.worlds[2] = k.worlds[0]
    w, g, t = k.worlds[0], k.worlds[2], k.tables[0]
    g.one_deal, g.deals = 1, 0
    deal(g, t)
    found = 0
    while g.phase == BID and w.bids[g.actor] != NOBODY and found < most:
        action = actual_bid(w, g.actor)
        if g.actor != seat:
            found += int64(club_choice(k, g) != action)
        step(g, t, action)
    if g.phase != TRUMP or w.phase in (BID, TRUMP):
        return found
    if g.actor != seat:
        found += int64(club_choice(k, g) != TRUMP_CLUBS + w.trump)
    step(g, t, TRUMP_CLUBS + int64(w.trump))
    while g.phase == EXCHANGE and w.draws[g.actor] != NOBODY and found < most:
        found += surprise_of_throw(k, g.actor, seat)
    return found


@kernel
def surprise_of_throw(k: Kit, thrower: int, seat: int) -> int:
    """Whether club would have thrown another number of cards in worlds[2]; the seat throws what it has in worlds[0]."""
    w, g, t = k.worlds[0], k.worlds[2], k.tables[0]
    found = 0
    if thrower != seat:
        k.worlds[1] = k.worlds[2]
        while k.worlds[1].phase == EXCHANGE and k.worlds[1].actor == thrower:
            step(k.worlds[1], t, club_choice(k, k.worlds[1]))
        found = int64(k.worlds[1].draws[thrower] != w.draws[thrower])
    thrown = w.discards[thrower]
    while g.phase == EXCHANGE and g.actor == thrower:
        step(g, t, lowest(thrown) if thrown != 0 else DONE)
        thrown &= thrown - 1
    return found


@kernel
def find_world(k: Kit, hidden: np.ndarray, seat: int, state: np.uint64) -> bool:
    """Deals the hidden cards anew into worlds[0]: of a few such deals the one that explains best what others did."""
    fewest = int64(MOST_SURPRISES)
    for _ in range(CANDIDATES):
        state = advance(state)
        if not resample_game(hidden, k.tables, seat, mix(state), k.worlds[:1]):
            continue
        found = surprises(k, seat, fewest)
        if found < fewest:
            fewest = found
            k.worlds[3] = k.worlds[0]
            if fewest == 0:
                break
    k.worlds[0] = k.worlds[3]
    return fewest < MOST_SURPRISES


# --- Determinized search -----------------------------------------------------------------------------------------


@kernel
def weigh_actions(
    k: Kit,
    hidden: np.ndarray,
    seat: int,
    state: np.uint64,
    usual: int,
    num_worlds: int,
    exact_tricks: int,
    totals: np.ndarray,
) -> int:
    """Writes what each legal action comes to, summed over worlds; returns how many worlds there were.

    totals[SUM] is that, totals[GAIN] what it gains over the usual action, totals[SQUARE] the squares of those gains.
    """
    totals[:] = 0
    found = 0
    for _ in range(num_worlds):
        state = advance(state)
        if not find_world(k, hidden, seat, mix(state)):
            continue
        found += 1
        weigh_world(k, exact_tricks, NOBODY, NOBODY)
        for action in range(NUM_ACTIONS):
            if is_legal(hidden[0], action):
                gain = k.values[action] - k.values[usual]
                totals[SUM, action] += k.values[action]
                totals[GAIN, action] += gain
                totals[SQUARE, action] += gain * gain
    return found


@kernel
def look_again(
    k: Kit,
    hidden: np.ndarray,
    seat: int,
    state: np.uint64,
    usual: int,
    rival: int,
    num_worlds: int,
    exact_tricks: int,
    totals: np.ndarray,
) -> int:
    """Adds more worlds to what a rival gains over the usual action; returns how many."""
    found = 0
    for _ in range(num_worlds):
        state = advance(state)
        if find_world(k, hidden, seat, mix(state)):
            found += 1
            weigh_world(k, exact_tricks, usual, rival)
            gain = k.values[rival] - k.values[usual]
            totals[GAIN, rival] += gain
            totals[SQUARE, rival] += gain * gain
    return found


@kernel
def searched_action(
    k: Kit,
    hidden: np.ndarray,
    seat: int,
    state: np.uint64,
    usual: int,
    num_worlds: int,
    exact_tricks: int,
    totals: np.ndarray,
) -> int:
    """The action that gains most over the usual one, if it still does after a second look; else the usual one."""
    found = weigh_actions(k, hidden, seat, state, usual, num_worlds, exact_tricks, totals)
    rival = best_of(hidden[0], totals[GAIN], usual)
    if rival == usual:
        return usual
    state = mix(state + np.uint64(1))
    found += look_again(k, hidden, seat, state, usual, rival, SECOND_LOOK * num_worlds, exact_tricks, totals)
    mean = totals[GAIN, rival] / found
    spread = max(totals[SQUARE, rival] / found - mean * mean, 0.0)
    return rival if mean > DOUBT * np.sqrt(spread / found) else usual


@kernel
def best_of(g: Game, totals: np.ndarray, usual: int) -> int:
    """The legal action that comes to most; the usual one if it is among several."""
    best = usual
    for action in range(NUM_ACTIONS):
        if is_legal(g, action) and totals[action] > totals[best]:
            best = action
    return best


@kernel
def only_action(g: Game) -> int:
    """The legal action if there is but one, else NOBODY."""
    if count(g.legal_cards) + count(g.legal_calls) > 1:
        return NOBODY
    return lowest(g.legal_cards) if g.legal_cards != 0 else PASS + lowest(g.legal_calls)


@kernel
def pimc_actions(
    k: Kit,
    games: np.ndarray,
    seats: np.ndarray,
    states: np.ndarray,
    num_worlds: int,
    exact_tricks: int,
    totals: np.ndarray,
    actions: np.ndarray,
) -> None:
    """Writes pimc's action for each game, hidden for its seat."""
    for i in range(actions.size):
        actions[i] = only_action(games[i])
        if actions[i] == NOBODY:
            usual = club_choice(k, games[i])
            actions[i] = searched_action(
                k, games[i : i + 1], seats[i], states[i], usual, num_worlds, exact_tricks, totals
            )


@kernel
def cheater_actions(k: Kit, games: np.ndarray, seats: np.ndarray, totals: np.ndarray, actions: np.ndarray) -> None:
    """Writes the cheater's action for each game."""
    for i in range(actions.size):
        actions[i] = only_action(games[i])
        if actions[i] == NOBODY:
            usual = club_choice(k, games[i])
            k.worlds[0] = games[i]
            weigh_world(k, k.tables[0].hand_cards, NOBODY, NOBODY)
            for action in range(NUM_ACTIONS):
                totals[action] = k.values[action]
            actions[i] = best_of(games[i], totals, usual)


# --- Information set Monte-Carlo tree search ---------------------------------------------------------------------

NODE = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("parent", "i8"),
                ("child", "i8"),  # the first one, 0 none
                ("sibling", "i8"),  # the next child of the parent, 0 none
                ("action", "i8"),  # that leads here
                ("team", "i8"),  # that does it
                ("visits", "i8"),
                ("offers", "i8"),  # times it was legal when its parent was visited
                ("total", "f8"),  # what came of it for that team
            ],
            align=True,
        ),
    )
)

EXPLORATION = 1.0
"""Of UCB, in points per deal; about the spread of what a good action comes to."""


@kernel
def is_secret(g: Game, t: Tables, seat: int) -> bool:
    """Whether what the actor does now is not seen by a seat: throws, keeps, and private commitments of others."""
    if g.actor == seat or g.phase in (BID, PLAY):
        return False
    return g.phase != TRUMP or t.pitched == 1


@kernel
def child_for(tree: np.ndarray, node: int, action: int) -> int:
    """The child of a node for an action, or 0."""
    child = tree[node].child
    while child != 0 and tree[child].action != action:
        child = tree[child].sibling
    return child


@kernel
def untried(tree: np.ndarray, node: int, g: Game, state: np.uint64) -> int:
    """A legal action without a child, all equally likely, or NOBODY. Counts the children that were on offer."""
    chosen = int64(NOBODY)
    seen = 0
    for action in range(NUM_ACTIONS):
        if not is_legal(g, action):
            continue
        child = child_for(tree, node, action)
        if child != 0:
            tree[child].offers += 1
            continue
        seen += 1
        state = advance(state)
        if below(state, seen) == 0:
            chosen = int64(action)
    return chosen


@kernel
def most_promising(tree: np.ndarray, node: int, g: Game) -> int:
    """The legal child with the highest upper confidence bound."""
    best, best_bound = 0, -np.inf
    child = tree[node].child
    while child != 0:
        c = tree[child]
        if is_legal(g, c.action):
            bound = c.total / c.visits + EXPLORATION * np.sqrt(np.log(c.offers) / c.visits)
            if bound > best_bound:
                best, best_bound = child, bound
        child = c.sibling
    return best


@kernel
def grow(k: Kit, tree: np.ndarray, size: int, seat: int, state: np.uint64) -> int:
    """One descent in worlds[0]: down the tree, one new node, played on by club, and back up. Returns the new size."""
    begin_world(k, 1, 0)
    g, t = k.worlds[1], k.tables[0]
    node, is_new = 0, False
    while g.phase != OVER and not is_new:
        if is_secret(g, t, seat):
            step(g, t, club_choice(k, g))
            continue
        state = advance(state)
        action = untried(tree, node, g, mix(state))
        team = t.team_of[g.actor]
        if action == NOBODY:
            node = most_promising(tree, node, g)
            action = tree[node].action
        else:
            tree[size].parent = node
            tree[size].child = 0
            tree[size].sibling = tree[node].child
            tree[size].action = action
            tree[size].team = team
            tree[size].visits = 0
            tree[size].offers = 1
            tree[size].total = 0
            tree[node].child = size
            node, is_new = size, True
            size += 1
        step(g, t, action)
    play_on(k, g)
    while node != 0:
        tree[node].visits += 1
        tree[node].total += score_of(g, t, tree[node].team) / (t.teams - 1)
        node = tree[node].parent
    return size


@kernel
def ismcts_actions(
    k: Kit, games: np.ndarray, seats: np.ndarray, states: np.ndarray, tree: np.ndarray, actions: np.ndarray
) -> None:
    """Writes ismcts's action for each game, hidden for its seat: the one tried most."""
    for i in range(actions.size):
        actions[i] = only_action(games[i])
        if actions[i] != NOBODY:
            continue
        actions[i] = club_choice(k, games[i])
        tree[0].child = 0
        size, state = 1, states[i]
        for _ in range(tree.size - 1):
            state = advance(state)
            if find_world(k, games[i : i + 1], seats[i], mix(state)):
                state = advance(state)
                size = grow(k, tree, size, seats[i], state)
        usual = child_for(tree, 0, actions[i])
        most = tree[usual].visits if usual != 0 else 0
        child = tree[0].child
        while child != 0:
            if tree[child].visits > most:
                most, actions[i] = tree[child].visits, tree[child].action
            child = tree[child].sibling
