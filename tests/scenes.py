"""What the tests of the rules share: calls, tricks, exchanges and ends of deals, set up by card names."""

import copy

from smear_env import make_rules
from smear_env.cards import card_text
from smear_env.testing import Table, deal, pack, position

LEFT = {"C": "JS", "S": "JC", "D": "JH", "H": "JD"}
VALUES = {"T": 10, "A": 4, "K": 3, "Q": 2, "J": 1, "X": 1}
PLAYERS = {"schmier": 6, "four_point": 4}
WITHOUT_DISCARDS = {"four_point": {"widow": 0}}
"""Options for positions in which the bidder has discarded no cards that nobody has named: they would count for game."""


def in_order(text: str) -> list[str]:
    return text.split()


def cards(text: str) -> set[str]:
    return set(text.split())


def texts(numbers) -> set[str]:
    return {card_text(card) for card in numbers}


def calls(text: str) -> set[str]:
    """Legal calls from their short form: "pass 5 6"."""
    return {call if call == "pass" else f"bid {call}" for call in text.split()}


def trump_order(trump: str) -> list[str]:
    """Schmier's trumps from the highest down, as S-5 has them."""
    return [*(rank + trump for rank in "AKQJ"), LEFT[trump], *(rank + trump for rank in "T98765432"), "XX"]


def card_points(texts) -> int:
    """The card points in some cards, as S-28 has them."""
    return sum(VALUES.get(card[0], 0) for card in texts)


# --- Auction and single plays ------------------------------------------------------------------------------------


def auction(*bids: str, game: str = "schmier", **more) -> Table:
    """A table after these turns in the auction, the last seat being the dealer."""
    dealer = more.get("players", make_rules(game).players) - 1
    return deal(game, dealer=dealer, actions=[bid if bid == "pass" else f"bid {bid}" for bid in bids], **more)


def playing(led: str, hand: str, trump: str = "H", game: str = "schmier") -> set[str]:
    """What seat 1 may play from a hand to a card led by seat 0."""
    return position(game, trump=trump, led=led, hands={1: hand}).legal()


# --- Tricks and ends of deals ------------------------------------------------------------------------------------


def play_last_trick(game: str, trump: str, trick: str, leader: int = 0, **more) -> Table:
    """A table after the last trick of a deal, whose cards are given from the leader clockwise."""
    hands = {(leader + k) % PLAYERS[game]: card for k, card in enumerate(trick.split())}
    more = WITHOUT_DISCARDS.get(game, {}) | more
    return position(game, trump=trump, leader=leader, hands=hands, **more).play(*trick.split())


def trick_winner(game: str, trump: str, trick: str, leader: int = 0, **more) -> int:
    """The seat that wins that trick."""
    return int(play_last_trick(game, trump, trick, leader, **more).games.records[0].last_trick_winner)


def end_of_deal(game: str = "schmier", *, points: dict[str, int], card_points: tuple[int, ...], **more) -> Table:
    """A table after a deal in which the teams had these points and card points before a worthless last trick."""
    trick = in_order("7C 8C 9C 7D 8D 9D")[: PLAYERS[game]]
    more = WITHOUT_DISCARDS.get(game, {}) | more
    table = position(game, trump="H", hands=trick, tricks=5, points=points, card_points=card_points, **more)
    return table.play(*trick)


# --- Exchange ----------------------------------------------------------------------------------------------------


def named(trump: str = "H", *, hands=(), stock=(), bidder: int = 0, dealer: int = 5, **more) -> Table:
    """Schmier after a bid of 6 and the naming of trump."""
    passes = ["pass"] * ((bidder - dealer - 1) % 6)
    return deal(
        "schmier", hands=hands, stock=stock, dealer=dealer, actions=[*passes, "bid 6", f"trump {trump}"], **more
    )


def throw(table: Table, *texts: str) -> Table:
    """The actor throws these cards and no more."""
    seat = table.view.actor
    table.play(*texts)
    if table.view.phase == "exchange" and table.view.actor == seat:
        table.play("done")
    return table


def throw_some(table: Table, number: int) -> Table:
    """The actor throws so many of the cards that he may throw."""
    return throw(table, *sorted(table.legal() - {"done"})[:number])


def dealer_takes(holding: str, trump: str = "H", **more) -> Table:
    """The dealer, seat 5, holds these 8 to 23 cards after the others have thrown as many as it takes for that.

    The others hold plain cards as far as they last: what they throw is none of the dealer's business.
    """
    own = holding.split()
    rest = [card for card in pack("schmier") if card not in own]
    rest.sort(key=lambda card: card in trump_order(trump))
    stock = rest[30:] + own[6:]
    hands = {seat: rest[6 * seat : 6 * seat + 6] for seat in range(5)} | {5: own[:6]}
    table = named(trump, hands=hands, stock=stock, **more)
    to_throw = 17 - len(own[6:])
    for _ in range(5):
        throw_some(table, min(3, to_throw))
        to_throw -= min(3, to_throw)
    return table


def outcomes(table: Table, seat: int, field: str) -> set[frozenset[str]]:
    """All sets of cards that a field of the view may hold for a seat once its turn to throw or to keep is over."""
    phase, found, todo, seen = table.view.phase, set(), [table], set()
    while todo:
        one = todo.pop()
        if one.view.phase != phase or one.view.actor != seat:
            found.add(getattr(one.view, field)[seat])
            continue
        for action in one.legal():
            after = copy.deepcopy(one).play(action)
            place = after.view.actor, after.view.hands[seat], after.view.kept
            if place not in seen:
                seen.add(place)
                todo.append(after)
    return found
