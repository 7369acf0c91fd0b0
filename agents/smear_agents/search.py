"""Players that search: they deal the hidden cards anew, again and again, and see what each action comes to.

`pimc` (determinized search; Levy 1989, Ginsberg 2001) takes the mean over such deals of what an action comes to: by
exact play once few enough tricks are left, before that by playing on as `club` does. A network that searches takes it
by playing on as itself, at all seats, which is one step of improving its policy (Tesauro and Galperin 1996). `ismcts`
(Cowling, Powley and Whitehouse 2012) grows one tree over all of them. `cheater` looks at the cards: no player, but a
bound for them.
"""

import numpy as np

from smear_agents._jit import kernel
from smear_agents.agent import GameAgent
from smear_agents.network import Network
from smear_agents.scripted import digest
from smear_agents.two_sides import SCORE, evaluate
from smear_agents.worlds import (
    Kit,
    begin_world,
    choice,
    club_kit,
    consider,
    find_world,
    network_kit,
    only_action,
    play_on,
    score_of,
)
from smear_env import GameRules
from smear_env._jit import int64
from smear_env.actions import NUM_ACTIONS, is_legal, legal_actions
from smear_env.engine import advance, below, mix, step
from smear_env.rules import BID, NOBODY, OVER, PLAY, TRUMP, Tables
from smear_env.state import GAME, Game

EXACT_TRICKS = {2: 4, 3: 2}
"""Tricks left from which pimc plays exactly, by the number of teams. With more it is slower and no better.

Of three teams exact play takes two for one side, so playing on as `club` does is the better guess, and the faster.
"""

SUM, GAIN, SPREAD, SQUARE, WEIGHT, WEIGHTS_SQUARED = range(6)
"""Rows of what is summed up for each action: see `weigh_actions`."""

ROWS = 6

DOUBT = 0.7
"""Standard errors by which an action has to be ahead of the usual one: what the player that plays on would do itself.

Without it the luckiest action is taken.
"""

SECOND_LOOK = 3
"""An action that looks better than the usual one is compared with that in so many times as many deals more."""


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
        self._kit: Kit = club_kit(rules)
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
        self._totals = np.zeros((ROWS, NUM_ACTIONS))

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
            legal = legal_actions(games[i])
            self._kit.tried[:] = False
            self._kit.tried[legal] = True
            self._totals[:] = 0
            one, exact_tricks = games[i : i + 1], self._exact_tricks
            weigh_actions(self._kit, one, seats[i], state, legal[0], self.num_worlds, exact_tricks, self._totals)
            scale = (self._totals[WEIGHT, legal[0]] or 1.0) * (self.rules.teams - 1)
            weighed.append({action: float(self._totals[SUM, action] / scale) for action in legal})
        return weighed


class NetworkSearchAgent(PimcAgent):
    """Deals the hidden cards anew N times, as a network explains what the others did, and lets it play them on.

    All seats then play by what they would see, so that what an action comes to holds for a player who knows no more
    than this one. It leaves what the network does only for an action that is ahead beyond doubt, as `PimcAgent` does.

    Args:
        rules: the rules of the game.
        seed: a whole number.
        network: for these rules.
        worlds: N.

    Raises:
        ValueError: the network has no policy, which it needs to explain what others did.
    """

    def __init__(self, rules: GameRules, seed: int, network: Network, worlds: int) -> None:
        if not network.is_policy:
            raise ValueError("a network that was trained by DMC to value actions cannot search; one of PPO can")
        super().__init__(rules, seed, worlds)
        self._kit = network_kit(network)
        self._exact_tricks = 0


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


# --- Determinized search -----------------------------------------------------------------------------------------


@kernel
def weigh_world(k: Kit, exact_tricks: int) -> None:
    """Writes what each action that is tried comes to in worlds[0], (teams - 1) times, to k.values."""
    g, t = k.worlds[0], k.tables[0]
    if g.phase == PLAY and t.hand_cards - g.tricks <= exact_tricks:
        evaluate(k.worlds, 0, k.tables, SCORE, k.memory, k.values)
        return
    team = t.team_of[g.actor]
    for action in range(NUM_ACTIONS):
        if k.tried[action]:
            begin_world(k, 1, 0)
            step(k.worlds[1], t, action)
            play_on(k, k.worlds[1])
            k.values[action] = score_of(k.worlds[1], t, team)


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
) -> None:
    """Adds up over worlds what each action v that is tried comes to, each world times its weight w.

    totals[SUM] is w v, with the gain g of v over the usual action totals[GAIN] w g, totals[SPREAD] w w g,
    totals[SQUARE] w w g g; totals[WEIGHT] w, totals[WEIGHTS_SQUARED] w w.
    """
    for _ in range(num_worlds):
        state = advance(state)
        w = find_world(k, hidden, seat, mix(state))
        if w == 0.0:
            continue
        weigh_world(k, exact_tricks)
        for action in range(NUM_ACTIONS):
            if k.tried[action]:
                gain = k.values[action] - k.values[usual]
                totals[SUM, action] += w * k.values[action]
                totals[GAIN, action] += w * gain
                totals[SPREAD, action] += w * w * gain
                totals[SQUARE, action] += w * w * gain * gain
                totals[WEIGHT, action] += w
                totals[WEIGHTS_SQUARED, action] += w * w


@kernel
def gains_beyond_doubt(totals: np.ndarray, action: int) -> bool:
    """Whether an action gains over the usual one by `DOUBT` standard errors of the weighted mean, or more."""
    weight = totals[WEIGHT, action]
    mean = totals[GAIN, action] / weight
    square = (
        totals[SQUARE, action] - 2.0 * mean * totals[SPREAD, action] + mean * mean * totals[WEIGHTS_SQUARED, action]
    )
    return mean > DOUBT * np.sqrt(max(square, 0.0)) / weight


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
    consider(k, hidden[0])
    k.tried[usual] = True
    if k.tried.sum() == 1:
        return usual
    totals[:] = 0
    weigh_actions(k, hidden, seat, state, usual, num_worlds, exact_tricks, totals)
    rival = best_of(hidden[0], totals[GAIN], usual)
    if rival == usual:
        return usual
    k.tried[:] = False
    k.tried[usual], k.tried[rival] = True, True
    state = mix(state + np.uint64(1))
    weigh_actions(k, hidden, seat, state, usual, SECOND_LOOK * num_worlds, exact_tricks, totals)
    return rival if gains_beyond_doubt(totals, rival) else usual


@kernel
def best_of(g: Game, totals: np.ndarray, usual: int) -> int:
    """The legal action that comes to most; the usual one if it is among several."""
    best = usual
    for action in range(NUM_ACTIONS):
        if is_legal(g, action) and totals[action] > totals[best]:
            best = action
    return best


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
            usual = choice(k, games[i])
            actions[i] = searched_action(
                k, games[i : i + 1], seats[i], states[i], usual, num_worlds, exact_tricks, totals
            )


@kernel
def cheater_actions(k: Kit, games: np.ndarray, seats: np.ndarray, totals: np.ndarray, actions: np.ndarray) -> None:
    """Writes the cheater's action for each game."""
    for i in range(actions.size):
        actions[i] = only_action(games[i])
        if actions[i] == NOBODY:
            usual = choice(k, games[i])
            k.worlds[0] = games[i]
            consider(k, games[i])
            weigh_world(k, k.tables[0].hand_cards)
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
            step(g, t, choice(k, g))
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
        actions[i] = choice(k, games[i])
        tree[0].child = 0
        size, state = 1, states[i]
        for _ in range(tree.size - 1):
            state = advance(state)
            if find_world(k, games[i : i + 1], seats[i], mix(state)) > 0.0:
                state = advance(state)
                size = grow(k, tree, size, seats[i], state)
        usual = child_for(tree, 0, actions[i])
        most = tree[usual].visits if usual != 0 else 0
        child = tree[0].child
        while child != 0:
            if tree[child].visits > most:
                most, actions[i] = tree[child].visits, tree[child].action
            child = tree[child].sibling
