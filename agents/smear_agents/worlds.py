"""Deals of the hidden cards: which of them explains best what the others did, and how they are played on.

Who plays on, and in whose eyes a deed is a surprise, is `club` or a network: the kit says which.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba.extending import overload

from smear_agents._jit import kernel
from smear_agents.club import ClubAgent, club_action
from smear_agents.learner_view import slot_action
from smear_agents.network import ARGMAX, Network, choose, look, think
from smear_agents.sight import SIGHT
from smear_agents.two_sides import new_memory
from smear_env import GameRules
from smear_env._jit import JIT, buffer_of, int64
from smear_env.actions import BID_1, DONE, NUM_ACTIONS, PASS, TRUMP_CLUBS, is_legal
from smear_env.cards import count, holds, lowest
from smear_env.engine import advance, deal, mix, step
from smear_env.games import observe_game
from smear_env.observe import make_layout
from smear_env.resample import resample_game
from smear_env.rules import BID, EXCHANGE, KEEP, NOBODY, OVER, PLAY, TRUMP, Tables, make_tables
from smear_env.state import Game, new_games

CANDIDATES = {2: 10, 3: 5}
"""Deals of the hidden cards of which club takes the one that explains best what the others did, by number of teams."""

ODD_PLAY = {2: 0.5, 3: 0.0}
"""What a card counts that club would not have played, beside 1 for a call or a number of cards thrown, likewise.

Of six hands so few deals explain no more of what was played, at twice the time; so there it is not asked.
"""

ERRORS = 0.05
"""Share of the others' actions that a network takes to be anything at all, so that no deal is ruled out by one deed."""

TRUST = {2: 0.25, 3: 0.1}
"""Power of those probabilities by which deals count for a network, by the number of teams.

With all of it (1) one deal in a hundred would count for all others in Schmier, where throws say much about hands.
Chosen by how well 400 deals tell who holds which card (Brier score).
"""

UNLIKELY = 0.01
"""Probability below which an action of a network is not looked into."""

MOST_SURPRISES = 1_000.0
"""More than there can be."""


class ClubKit(NamedTuple):
    """What the kernels here work with, if club plays on.

    tables, layout: of the rules; memory: of the exact solver; worlds: four records to play with; views (1, D), masks
    (1, 70): what the player sees there; tried (70,): actions that are looked into; values (70,): of those in one world;
    candidates: deals of which one is taken; odd_play: see `ODD_PLAY`; bids, habits, sight: club's.
    """

    tables: np.ndarray
    layout: np.ndarray
    memory: np.ndarray
    worlds: np.ndarray
    views: np.ndarray
    masks: np.ndarray
    tried: np.ndarray
    values: np.ndarray
    candidates: int
    odd_play: float
    bids: np.ndarray
    habits: np.ndarray
    sight: np.ndarray


class NetworkKit(NamedTuple):
    """As `ClubKit`, if a network plays on.

    desk, weights: as in `smear_agents.network`; shares (70,): the probabilities of its policy; trust: see `TRUST`.
    """

    tables: np.ndarray
    layout: np.ndarray
    memory: np.ndarray
    worlds: np.ndarray
    views: np.ndarray
    masks: np.ndarray
    tried: np.ndarray
    values: np.ndarray
    candidates: int
    desk: Any
    weights: np.ndarray
    shares: np.ndarray
    trust: float
    unlikely: float


Kit: TypeAlias = Any
"""One of the two. The kernels are compiled for each."""


def _common(rules: GameRules) -> dict[str, np.ndarray]:
    layout = make_layout(rules)
    return {
        "tables": make_tables(rules),
        "layout": layout,
        "memory": new_memory(),
        "worlds": new_games(4),
        "views": np.zeros((1, int(layout["length"][0])), np.int8),
        "masks": np.zeros((1, NUM_ACTIONS), np.int8),
        "tried": np.zeros(NUM_ACTIONS, np.bool_),
        "values": np.zeros(NUM_ACTIONS, np.int64),
    }


def club_kit(rules: GameRules) -> ClubKit:
    """A kit with which club plays on."""
    club = ClubAgent(rules)
    return ClubKit(
        **_common(rules),
        candidates=CANDIDATES[rules.teams],
        odd_play=ODD_PLAY[rules.teams],
        bids=club.bids,
        habits=club.habits,
        sight=np.zeros(1, SIGHT),
    )


def network_kit(network: Network) -> NetworkKit:
    """A kit with which a network plays on, by the rules that it plays."""
    return NetworkKit(
        **_common(network.rules),
        candidates=1,
        desk=network.desk,
        weights=network.weights,
        shares=np.zeros(NUM_ACTIONS),
        trust=TRUST[network.rules.teams],
        unlikely=UNLIKELY,
    )


# --- Who plays on ------------------------------------------------------------------------------------------------


@kernel
def club_choice(k: ClubKit, g: Game) -> int:
    """What club does in a game, for the seat to move."""
    t, o = k.tables[0], k.layout[0]
    observe_game(g, t, o, g.actor, 0, buffer_of(k.views), buffer_of(k.masks))
    return club_action(k.views[0], k.masks[0], t, o, k.bids[0], k.habits[0], k.sight[0])


@kernel
def only_action(g: Game) -> int:
    """The legal action if there is but one, else NOBODY."""
    if count(g.legal_cards) + count(g.legal_calls) > 1:
        return NOBODY
    return lowest(g.legal_cards) if g.legal_cards != 0 else PASS + lowest(g.legal_calls)


@kernel
def ask_network(k: NetworkKit, g: Game) -> None:
    """Puts the network's outputs for the seat to move on its desk."""
    observe_game(g, k.tables[0], k.layout[0], g.actor, 0, buffer_of(k.views), buffer_of(k.masks))
    num_features, num_pairs = look(k.views[0], k.masks[0], k.desk)
    think(k.desk, num_features, num_pairs, k.weights)


@kernel
def network_choice(k: NetworkKit, g: Game) -> int:
    """What the network does in a game, for the seat to move."""
    action = only_action(g)
    if action != NOBODY:
        return action
    ask_network(k, g)
    return choose(k.masks[0], k.desk.slots, k.desk.outputs, ARGMAX, 0.0, np.uint64(0))


@kernel
def write_shares(k: NetworkKit, g: Game) -> None:
    """Writes the probabilities of the network's policy for the seat to move; 0 for what is not legal."""
    ask_network(k, g)
    highest, total = -np.inf, 0.0
    for action in range(NUM_ACTIONS):
        k.shares[action] = 0.0
        if is_legal(g, action):
            highest = max(highest, float(k.desk.outputs[slot_action(action, k.desk.slots)]))
    for action in range(NUM_ACTIONS):
        if is_legal(g, action):
            k.shares[action] = np.exp(float(k.desk.outputs[slot_action(action, k.desk.slots)]) - highest)
            total += k.shares[action]
    for action in range(NUM_ACTIONS):
        k.shares[action] /= total


# --- What it makes of the others ---------------------------------------------------------------------------------


@kernel
def club_surprise(k: ClubKit, w: Game, g: Game, action: int) -> float:
    """1 if club would not have done in g what was done there, in w, later in the same deal; a card played counts less.

    Of a throw its size counts. What is kept is no measure.
    """
    if g.phase == KEEP:
        return 0.0
    if g.phase != EXCHANGE:
        odd = k.odd_play if g.phase == PLAY else 1.0
        if odd == 0.0 or only_action(g) != NOBODY or club_choice(k, g) == action:
            return 0.0
        return odd
    thrower = g.actor
    if g.discards[thrower] != 0:
        return 0.0  # was looked at when it began
    k.worlds[1] = g
    while k.worlds[1].phase == EXCHANGE and k.worlds[1].actor == thrower:
        step(k.worlds[1], k.tables[0], club_choice(k, k.worlds[1]))
    return 0.0 if k.worlds[1].draws[thrower] == w.draws[thrower] else 1.0


@kernel
def network_surprise(k: NetworkKit, w: Game, g: Game, action: int) -> float:
    """How improbable for the network was what was done in g, in w, later in the same deal: minus its logarithm.

    Of cards thrown or kept nobody else saw in which order: any of those that are left would have done.
    """
    if only_action(g) != NOBODY:
        return 0.0
    write_shares(k, g)
    share, legal = 0.0, 0
    cards = cards_to_come(w, g)
    for other in range(NUM_ACTIONS):
        if is_legal(g, other):
            legal += 1
            if other == action or (other < PASS and holds(cards, other)):
                share += k.shares[other]
    return -np.log((1.0 - ERRORS) * share + ERRORS / legal)


@kernel
def club_weight(k: ClubKit, surprises: float) -> float:
    """To club, which takes the deal with the fewest surprises of a few, all of those count alike."""
    return 1.0


@kernel
def network_weight(k: NetworkKit, surprises: float) -> float:
    """To a network, a deal counts by how probable in it was what the others did (importance sampling, flattened)."""
    return np.exp(-k.trust * surprises)


@kernel
def club_tries(k: ClubKit, g: Game) -> None:
    """Every legal action is looked into."""
    for action in range(NUM_ACTIONS):
        k.tried[action] = is_legal(g, action)


@kernel
def network_tries(k: NetworkKit, g: Game) -> None:
    """What the network itself might do is looked into."""
    write_shares(k, g)
    for action in range(NUM_ACTIONS):
        k.tried[action] = k.shares[action] >= k.unlikely


def by_kit(of_network: Callable[..., Any], of_club: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is one of two kernels, by the kind of kit that it is called with; compiled, that is settled."""

    def function(k: Kit, *rest: Any) -> Any:
        return of_network(k, *rest) if isinstance(k, NetworkKit) else of_club(k, *rest)

    if JIT:

        def chosen(k: Any, *rest: Any) -> Any:  # called with the types
            return (of_network if k.instance_class is NetworkKit else of_club).py_func  # type: ignore[attr-defined]  # a dispatcher has it

        overload(function, strict=False)(chosen)
    return function


choice = by_kit(network_choice, club_choice)
"""(k, g): what the player of the kit does in a game, for the seat to move."""
surprise = by_kit(network_surprise, club_surprise)
"""(k, w, g, action): how much it is surprised by what was done in g, in w, later in the same deal."""
weight = by_kit(network_weight, club_weight)
"""(k, surprises): how much a deal of the hidden cards counts, after such surprises."""
consider = by_kit(network_tries, club_tries)
"""(k, g): marks in k.tried which legal actions are looked into."""


# --- Deals of the hidden cards -----------------------------------------------------------------------------------


@kernel
def cards_to_come(w: Game, g: Game) -> int:
    """The cards that the actor of g will still throw or keep, as seen from w, later in the same deal."""
    if g.phase == EXCHANGE:
        return w.discards[g.actor] & ~g.discards[g.actor]
    if g.phase == KEEP:
        return (w.hand[g.actor] | w.played[g.actor]) & ~g.kept & g.legal_cards
    return 0


@kernel
def what_was_done(w: Game, g: Game, t: Tables) -> int:
    """The action that came next in g, as seen from w, the same deal as far as it has come; NOBODY if g is as far.

    Nobody has seen in which order cards were thrown or kept; it goes by their numbers.
    """
    seat = g.actor
    if g.phase == BID:
        if w.bids[seat] == NOBODY:
            return NOBODY
        return PASS if w.bids[seat] == 0 else BID_1 + int64(w.bids[seat]) - 1
    if w.phase == BID or w.phase == TRUMP:
        return NOBODY
    if g.phase == TRUMP:
        return TRUMP_CLUBS + int64(w.trump)
    cards = cards_to_come(w, g)
    if g.phase == EXCHANGE:
        if w.draws[seat] == NOBODY:
            return NOBODY
        return lowest(cards) if cards != 0 else DONE
    if w.phase != PLAY:
        return NOBODY
    if g.phase == KEEP:
        return lowest(cards)
    return int64(w.plays[g.tricks * t.players + g.trick_size])


@kernel
def surprises(k: Kit, seat: int, most: float) -> float:
    """How much all that others have done in worlds[0] surprises the player of the kit.

    The deal is played again from its beginning, as far as it has come, or until there is more than `most`. A position
    that was set up may have no history that could be: then as far as that goes.
    """
    k.worlds[2] = k.worlds[0]
    w, g, t = k.worlds[0], k.worlds[2], k.tables[0]
    g.one_deal, g.deals = 1, 0
    deal(g, t)
    found = 0.0
    action = what_was_done(w, g, t)
    while action != NOBODY and is_legal(g, action) and found < most:
        if g.actor != seat:
            found += surprise(k, w, g, action)
        step(g, t, action)
        action = what_was_done(w, g, t)
    return found


@kernel
def find_world(k: Kit, hidden: np.ndarray, seat: int, state: np.uint64) -> float:
    """Deals the hidden cards anew into worlds[0], and returns how much that counts; 0 if it could not be done.

    Of as many such deals as there are candidates it is the one that explains best what the others did.
    """
    fewest = MOST_SURPRISES
    for _ in range(k.candidates):
        state = advance(state)
        if not resample_game(hidden, k.tables, seat, mix(state), k.worlds[:1]):
            continue
        found = surprises(k, seat, fewest)
        if found < fewest:
            fewest = found
            k.worlds[3] = k.worlds[0]
            if fewest == 0.0:
                break
    k.worlds[0] = k.worlds[3]
    return weight(k, fewest) if fewest < MOST_SURPRISES else 0.0


@kernel
def begin_world(k: Kit, into: int, world: int) -> None:
    """Copies a world to another record, to be played to the end of its deal and no further."""
    k.worlds[into] = k.worlds[world]
    k.worlds[into].one_deal = 1
    k.worlds[into].deals_scored = 0


@kernel
def play_on(k: Kit, g: Game) -> None:
    """Plays a game to the end of its deal; g.one_deal has to be set."""
    while g.phase != OVER:
        step(g, k.tables[0], choice(k, g))


@kernel
def score_of(g: Game, t: Tables, team: int) -> int:
    """What a deal that has just ended brought a team, (teams - 1) times: its change of score less the others' mean."""
    if g.deals_scored == 0:
        return 0  # thrown in
    total = int64(0)
    for other in range(t.teams):
        total += g.last_delta[other]
    return t.teams * int64(g.last_delta[team]) - total
