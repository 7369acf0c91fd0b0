"""Every deal that agrees with what a seat knows late in the play, one by one: the rules read anew, for tests."""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from smear_env import GameRules
from smear_env.cards import NUM_CARDS, cards_in, set_of
from smear_env.rules import NOBODY, make_tables

World = tuple[tuple[int, ...], ...]
"""The unseen cards at each place, sorted: hand and discards of every seat in turn, then the stock."""


def shown_voids(g: np.record, rules: GameRules) -> list[set[int]]:
    """By seat the cards that it has shown not to hold, from the cards played (S-21, F-14 to F-16)."""
    suit_of = make_tables(rules)[0]["suit_of"][g.trump]
    shown: list[set[int]] = [set() for _ in range(rules.players)]
    for trick in range(g.tricks + 1):
        places = slice(trick * rules.players, (trick + 1) * rules.players)
        plays = [int(card) for card in g.plays[places] if card != NOBODY]
        for k, card in enumerate(plays):
            led, suit = suit_of[plays[0]], suit_of[card]
            if suit != led and not (rules.follow == "follow_or_trump" and suit == g.trump):
                seat = (g.trick_leaders[trick] + k) % rules.players
                shown[seat] |= {other for other in range(NUM_CARDS) if suit_of[other] == led}
    return shown


def sizes(g: np.record, rules: GameRules, seat: int) -> list[int]:
    """How many cards that a seat has not seen lie in each hand and among its discards."""
    exchanged = [max(int(draws), 0) for draws in g.draws[: rules.players]]
    found = []
    for other in range(rules.players):
        discards = exchanged[other]
        if rules.max_discard and other == g.dealer:
            discards = rules.deck_size - rules.players * rules.hand_cards - sum(exchanged)
        elif rules.widow and other == g.bidder:
            discards = rules.widow
        held = rules.hand_cards - int(g.tricks) - int(g.trick[other] != NOBODY)
        found += [0, 0] if other == seat else [held, discards]
    return found


def goes_back_to_six(g: np.record, rules: GameRules) -> int:
    """The seat that discarded down to six cards, or NOBODY."""
    if rules.max_discard:
        return int(g.dealer)
    return int(g.bidder) if rules.widow else NOBODY


def worlds(hidden: np.ndarray, rules: GameRules, seat: int, limit: int = 5000) -> list[World]:
    """All deals that agree with a hidden record of the play whose trump is known; none if they are more."""
    g, t = hidden[0], make_tables(rules)[0]
    pack = {int(card) for card in t["deck"][: rules.deck_size]}
    unseen = pack - set(cards_in(int(np.bitwise_or.reduce([*g.played, *g.hand, *g.discards]))))
    trumps = set(cards_in(int(t["suit_cards"][g.trump, g.trump])))
    rooms = sizes(g, rules, seat)
    rooms.append(len(unseen) - sum(rooms))
    never: list[set[int]] = []
    for shown in shown_voids(g, rules):
        never += [shown, trumps]
    found = list(itertools.islice(lay(unseen, rooms, [*never, set()]), limit + 1))
    if len(found) > limit:
        return []
    owner = goes_back_to_six(g, rules)
    if owner not in (NOBODY, seat) and trumps.issuperset(cards_in(int(g.played[owner]))):
        never[2 * owner] = never[2 * owner] | (pack - trumps)
        never[2 * owner + 1] = set(cards_in(int(t["protected"][g.trump])))
        more = lay(unseen, rooms, [*never, set()])
        more = (world for world in more if not trumps.isdisjoint(world[2 * owner + 1]))
        found += itertools.islice(more, limit + 1)
    return found if len(found) <= limit else []


def lay(cards: Iterable[int], rooms: list[int], never: list[set[int]]) -> Iterator[World]:
    """All ways to lay cards at places with room for so many, none where it may never lie."""
    # Those that may lie at the fewest places come first, so that few ways have to be given up.
    in_order = sorted(cards, key=lambda card: (-sum(card in banned for banned in never), card))
    piles: list[list[int]] = [[] for _ in rooms]
    fitting = [[sum(card not in banned for card in in_order[k:]) for banned in never] for k in range(len(in_order) + 1)]

    def lay_from(k: int) -> Iterator[World]:
        if k == len(in_order):
            yield tuple(tuple(sorted(pile)) for pile in piles)
            return
        if any(room - len(pile) > fit for room, pile, fit in zip(rooms, piles, fitting[k], strict=True)):
            return
        for place, room in enumerate(rooms):
            if len(piles[place]) < room and in_order[k] not in never[place]:
                piles[place].append(in_order[k])
                yield from lay_from(k + 1)
                piles[place].pop()

    return lay_from(0)


def world_of(full: np.ndarray, rules: GameRules, seat: int) -> World:
    """The places of the cards that a seat has not seen in a whole game, as `worlds` lists them."""
    g = full[0]
    places: list[tuple[int, ...]] = []
    stock = set(map(int, make_tables(rules)[0]["deck"][: rules.deck_size]))
    for other in range(rules.players):
        stock -= set(cards_in(int(g.hand[other] | g.discards[other] | g.played[other])))
        for pile in (g.hand[other], g.discards[other]):
            places.append(() if other == seat else tuple(sorted(map(int, cards_in(int(pile))))))
    return (*places, tuple(sorted(stock)))


def filled(hidden: np.ndarray, rules: GameRules, seat: int, world: World) -> np.ndarray:
    """A hidden record with the hands and discards of a world."""
    full = hidden.copy()
    for other in range(rules.players):
        if other != seat:
            full[0].hand[other] = set_of(world[2 * other])
            full[0].discards[other] = set_of(world[2 * other + 1])
    return full
