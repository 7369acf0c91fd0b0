"""Setting the table by card names, for anybody's tests.

`deal` begins a deal that can really come about: hands and stock by name, then actions by text. `position` sets up
the middle of the play from the cards that matter and fills in the rest; what was played before is anybody's guess.
`midplay` gives the middle of the play a history: it names the tricks so far and plays them. All give a `Table`.

>>> table = position("schmier", trump="H", led="JD", hands={1: "2H AD KD 9S"})
>>> sorted(table.legal())
['2H']
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from smear_env.actions import action_from_text, action_text, legal_actions
from smear_env.aec import SmearAECEnv
from smear_env.cards import SUITS, bit, card_from_text, card_text, cards_in, set_of, set_text
from smear_env.games import Episode, Games
from smear_env.observe import Facts, decode
from smear_env.rules import KINDS, NOBODY, PHASES, GameRules, make_rules, make_tables
from smear_env.scoring import award_played_card
from smear_env.state import View, view

Cards = str | Iterable[str]
"""Some cards: `"TH 2C XX"`, or a list of such texts."""

Rules = GameRules | str | Path | None


class Table:
    """One game, to look at and to play on by text.

    Attributes:
        games: the `Games` of one that it is played on.
        rules: its rules.
    """

    def __init__(self, games: Games) -> None:
        self.games = games
        self.rules = games.rules

    @property
    def view(self) -> View:
        """All there is to know about the game as it stands."""
        return view(self.games.records, 0, self.rules)

    def legal(self) -> set[str]:
        """The texts of the legal actions."""
        return {action_text(action) for action in legal_actions(self.games.records[0])}

    def play(self, *actions: str) -> "Table":
        """Does some actions, given by their texts, and returns the table.

        Raises:
            IllegalActionError: one is not legal; those before it have been done.
        """
        for text in actions:
            self.games.step([action_from_text(text)])
        return self

    def play_at_random(self, num_actions: int = 10_000) -> "Table":
        """Does random legal actions until the game is over, at most so many."""
        for _ in range(num_actions):
            if self.games.seats[0] == NOBODY:
                break
            self.games.step(self.games.sample())
        return self

    def observation(self, seat: int) -> np.ndarray:
        """What a seat sees, (D,) int8."""
        observation: np.ndarray = self.games.observe(np.array([seat]))[0][0]
        return observation

    def facts(self, seat: int) -> Facts:
        """What a seat sees, in words."""
        return decode(self.observation(seat), self.rules, seat)

    def env(self, **kwargs: Any) -> SmearAECEnv:
        """A PettingZoo environment (a raw one) in this position; arguments as for `raw_env`."""
        env = SmearAECEnv(self.rules, episode=self.games.episode, **kwargs)
        env.reset()
        state = env.get_state()
        actor = int(self.games.records[0].actor)
        if actor == NOBODY:
            raise ValueError("the game is over: there is nobody to move")
        state["record"] = self.games.records.tobytes()
        state["agent_selection"] = f"player_{actor}"
        env.set_state(state)
        return env


def _cards(cards: Cards) -> list[int]:
    return [card_from_text(text) for text in (cards.split() if isinstance(cards, str) else cards)]


def pack(rules: Rules = None, **options: Any) -> list[str]:
    """The texts of all cards of a game, lowest number first."""
    return [card_text(card) for card in _pack(make_rules(rules, **options))]


def _pack(rules: GameRules) -> list[int]:
    return [int(card) for card in make_tables(rules)["deck"][0][: rules.deck_size]]


def _hands(rules: GameRules, hands: Mapping[int, Cards] | Iterable[Cards]) -> dict[int, list[int]]:
    by_seat = hands if isinstance(hands, Mapping) else dict(enumerate(hands))
    numbers = {seat: _cards(cards) for seat, cards in by_seat.items()}
    named = [card for cards in numbers.values() for card in cards]
    for seat in numbers:
        if seat not in range(rules.players):
            raise ValueError(f"there is no seat {seat}; seats are 0..{rules.players - 1}")
    _check_cards(rules, named)
    return numbers


def _check_cards(rules: GameRules, named: list[int]) -> None:
    twice = {card_text(card) for card in named if named.count(card) > 1}
    foreign = {card_text(card) for card in named if card not in _pack(rules)}
    if twice or foreign:
        raise ValueError(f"cards named twice: {sorted(twice)}; not in the pack: {sorted(foreign)}")


def make_deck(
    rules: Rules = None,
    *,
    hands: Mapping[int, Cards] | Iterable[Cards] = (),
    stock: Cards = (),
    dealer: int = 0,
    seed: int = 0,
    **options: Any,
) -> list[str]:
    """A deck that gives the seats these cards: for the `deck` option of `reset`.

    Hands may name fewer cards than are dealt, or no seat at all; `stock` names its first cards in drawing order.
    What is not named is filled in at random, from the seed.

    Raises:
        ValueError: a card named twice or not in the pack, or too many cards for a hand.
    """
    rules = make_rules(rules, **options)
    named_hands, named_stock = _hands(rules, hands), _cards(stock)
    _check_cards(rules, [*(card for cards in named_hands.values() for card in cards), *named_stock])
    taken = {card for cards in named_hands.values() for card in cards} | set(named_stock)
    rest = [card for card in _pack(rules) if card not in taken]
    np.random.default_rng(seed).shuffle(rest)
    deck: list[int] = []
    for k in range(1, rules.players + 1):
        hand = named_hands.get((dealer + k) % rules.players, [])
        if len(hand) > rules.deal_cards:
            raise ValueError(f"seat {(dealer + k) % rules.players} is dealt {rules.deal_cards} cards, not {len(hand)}")
        missing = rules.deal_cards - len(hand)
        if missing > len(rest):
            raise ValueError("the stock names so many cards that too few are left for the hands")
        deck += hand + rest[:missing]
        rest = rest[missing:]
    return [card_text(card) for card in [*deck, *named_stock, *rest]]


def deal(
    rules: Rules = None,
    *,
    hands: Mapping[int, Cards] | Iterable[Cards] = (),
    stock: Cards = (),
    deck: Iterable[str] | None = None,
    dealer: int = 0,
    scores: Iterable[int] | None = None,
    actions: Iterable[str] = (),
    episode: Episode = "game",
    seed: int = 0,
    **options: Any,
) -> Table:
    """A game whose first deal has these hands and this stock (see `make_deck`) or this deck, then these actions.

    >>> deal("four_point", dealer=3, actions=["pass", "bid 3"]).legal() == {"pass", "bid 4"}
    True

    Args:
        rules: as for `Games`; single options follow as keywords.
        hands: cards by seat.
        stock: the first cards of the stock.
        deck: the whole deck instead.
        dealer: a seat.
        scores: one a team; all 0 if None.
        actions: done at once.
        episode: "game" or "deal".
        seed: for whatever is left to chance.
        options: single rule options.
    """
    rules = make_rules(rules, **options)
    if deck is None:
        deck = make_deck(rules, hands=hands, stock=stock, dealer=dealer, seed=seed)
    env = SmearAECEnv(rules, episode=episode)
    reset_options = {"deck": list(deck), "dealer": dealer, "first_actions": list(actions)}
    if scores is not None:
        reset_options["scores"] = list(scores)
    env.reset(seed=seed, options=reset_options)
    games = Games(rules, 1, seed, episode, autoreset=False)
    games.records[:] = env.records
    games.refresh()
    return Table(games)


def position(
    rules: Rules = None,
    *,
    trump: str | None = None,
    hands: Mapping[int, Cards] | Iterable[Cards] = (),
    led: Cards = (),
    leader: int = 0,
    bidder: int = 0,
    bid: int | None = None,
    dealer: int | None = None,
    tricks: int | None = None,
    scores: Iterable[int] | None = None,
    card_points: Iterable[int] | None = None,
    points: Mapping[str, int] | None = None,
    episode: Episode = "game",
    seed: int = 0,
    **options: Any,
) -> Table:
    """The middle of the play, from the cards that matter; what is not named is filled in at random from the seed.

    Hands may be shorter than six: as many tricks as they lack have been played, with cards that are not named.
    Fillings respect what the cards on the table show: who did not follow gets no card of the suit. With a widow the
    bidder's discards are filled in too, and their card points count for game.

    >>> table = position("four_point", trump="H", led="KS", hands={1: "8S AH QD"})
    >>> sorted(table.legal())
    ['8S', 'AH']

    Args:
        rules: as for `Games`; single options follow as keywords.
        trump: the letter of the trump suit. None only before the first lead of a game without a widow.
        hands: the cards still held, by seat.
        led: the cards on the table in the order played, by the leader and the seats to his left.
        leader: who leads or led to this trick.
        bidder: who made the highest bid.
        bid: that bid; the lowest one if None.
        dealer: a seat; the one to the right of seat 0 if None.
        tricks: tricks played before this one; None: as many as the longest hand named tells, else 0.
        scores: one a team.
        card_points: in the tricks played before, one a team.
        points: the team that has high, low, jack, left or joker already.
        episode: "game" or "deal".
        seed: for whatever is left to chance.
        options: single rule options.

    Raises:
        ValueError: cards named twice, too many, or impossible to fill up.
    """
    rules = make_rules(rules, **options)
    table_cards, named = _cards(led), _hands(rules, hands)
    _check_cards(rules, [*(card for cards in named.values() for card in cards), *table_cards])
    if len(table_cards) >= rules.players:
        raise ValueError(f"{len(table_cards)} cards on the table are a whole trick; play the last card as an action")
    has_played = [(leader + k) % rules.players for k in range(len(table_cards))]
    if tricks is None:
        sizes = [len(cards) + (seat in has_played) for seat, cards in named.items()]
        tricks = rules.hand_cards - max(sizes, default=rules.hand_cards)
    if trump is None and (rules.trump_choice == "named" or tricks or table_cards):
        raise ValueError("name the trump suit: trump='H'")
    if trump is not None and trump not in SUITS:
        raise ValueError(f"trump={trump!r} is not allowed; allowed: {', '.join(SUITS)}")
    trump_suit = NOBODY if trump is None else SUITS.index(trump)
    filled, rest = _fill(rules, trump_suit, named, table_cards, has_played, tricks, seed)

    games = Games(rules, 1, seed, episode, autoreset=False)
    games.reset()
    g = games.records[0]
    g.dealer = rules.players - 1 if dealer is None else dealer
    g.bidder, g.bid = bidder, rules.min_bid if bid is None else bid
    g.bids[: rules.players] = 0
    g.bids[bidder] = g.bid
    g.trump, g.trump_public = (
        trump_suit,
        bool(trump is not None and (rules.trump_choice == "named" or tricks or table_cards)),
    )
    g.phase, g.leader, g.tricks = PHASES.index("play"), leader, tricks
    g.actor = (leader + len(table_cards)) % rules.players
    g.trick_leaders[: tricks + 1] = leader
    for seat in range(rules.players):
        g.hand[seat] = set_of(filled[seat])
        g.draws[seat] = 0 if rules.max_discard and seat != g.dealer else NOBODY
    for trick in range(tricks):
        for k in range(rules.players):
            _lay(g, rules, trick * rules.players + k, (leader + k) % rules.players, rest.pop())
    for k, (seat, card) in enumerate(zip(has_played, table_cards, strict=True)):
        _lay(g, rules, tricks * rules.players + k, seat, card)
        g.trick[seat] = card
    g.trick_size = len(table_cards)
    _set_trick(g, games.tables[0], has_played)
    _set_stock(g, rules, rest)
    for team, score in enumerate(scores or ()):
        g.scores[team] = score
    for team, value in enumerate(card_points or ()):
        g.card_points[team] = value
    for kind, team in (points or {}).items():
        g.kinds[KINDS.index(kind)] = team
    games.refresh()
    return Table(games)


def midplay(
    rules: Rules = None,
    *,
    trump: str,
    hands: Mapping[int, Cards] | Iterable[Cards] = (),
    tricks: Iterable[Cards] = (),
    led: Cards = (),
    discards: Mapping[int, Cards] | Iterable[Cards] = (),
    bidder: int = 0,
    bid: int | None = None,
    dealer: int | None = None,
    scores: Iterable[int] | None = None,
    episode: Episode = "game",
    seed: int = 0,
    **options: Any,
) -> Table:
    """The middle of a deal that can really come about, from the tricks so far and the cards that matter.

    The deal is played from the auction on, so all that follows from its history holds: card points, points, who is
    void in what. Only the bidder bids. In the exchange everybody throws as many cards as he may, none of them a trump.
    What is not named is filled in at random from the seed: who showed that he is void in a suit holds none of it, and
    with Schmier's exchange all trumps are in somebody's hand.

    >>> table = midplay("schmier", trump="H", tricks=["AH 3H 5H 2H 6H 9H"], hands={0: "KH 4H"})
    >>> table.view.card_points, table.view.kinds["low"], table.view.actor
    ((4, 0, 0), 0, 0)

    Args:
        rules: as for `Games`; single options follow as keywords.
        trump: the letter of the trump suit.
        hands: cards still held, by seat.
        tricks: the tricks so far, each its cards from the leader to his right.
        led: the cards on the table in the order played.
        discards: cards thrown or discarded, by seat.
        bidder: who made the highest bid, and leads to the first trick.
        bid: that bid; the lowest one if None.
        dealer: a seat; the one to the right of seat 0 if None.
        scores: one a team.
        episode: "game" or "deal".
        seed: for whatever is left to chance.
        options: single rule options.

    Raises:
        ValueError: cards named twice, too many, or impossible to fill up.
        IllegalActionError: a card that the rules do not let its seat play.
    """
    rules = make_rules(rules, **options)
    if trump not in SUITS:
        raise ValueError(f"trump={trump!r} is not allowed; allowed: {', '.join(SUITS)}")
    dealer = rules.players - 1 if dealer is None else dealer
    plays, voids = _who_played(rules, SUITS.index(trump), [*map(_cards, tricks), _cards(led)], bidder)
    held, thrown = _hands(rules, hands), _hands(rules, discards)
    for seat, card in plays:
        held.setdefault(seat, []).append(card)
    _fill_up(rules, SUITS.index(trump), held, thrown, voids, bidder, dealer, seed)

    dealt, stock = {}, []
    for k in range(1, rules.players + 1):
        seat = (dealer + k) % rules.players
        number = len(thrown.get(seat, ()))
        dealt[seat] = [card_text(card) for card in held[seat][number:] + thrown.get(seat, [])]
        stock += [card_text(card) for card in held[seat][:number]]
    table = deal(rules, hands=dealt, stock=stock, dealer=dealer, scores=scores, episode=episode, seed=seed)
    g = table.games.records[0]
    while PHASES[g.phase] == "bid":
        table.play(f"bid {bid or rules.min_bid}" if g.actor == bidder else "pass")
    while PHASES[g.phase] != "play":
        seat = int(g.actor)
        wanted = {"trump": [f"trump {trump}"], "exchange": map(card_text, thrown.get(seat, ()))}
        legal = table.legal().intersection(wanted.get(PHASES[g.phase], map(card_text, held[seat])))
        table.play(min(legal, default="done"))
    return table.play(*(card_text(card) for _, card in plays))


def _who_played(
    rules: GameRules, trump: int, tricks: list[list[int]], leader: int
) -> tuple[list[tuple[int, int]], dict[int, int]]:
    """Seat and card of each play, and by seat the cards that it has shown not to hold, from the tricks in order."""
    t = make_tables(rules)[0]
    plays, voids = [], dict.fromkeys(range(rules.players), 0)
    for number, trick in enumerate(tricks):
        if len(trick) != rules.players and not (number == len(tricks) - 1 and len(trick) < rules.players):
            raise ValueError(f"trick {number + 1} has {len(trick)} cards; a trick has {rules.players}")
        best = 0
        for k, card in enumerate(trick):
            seat = (leader + k) % rules.players
            plays.append((seat, card))
            led, suit = int(t["suit_of"][trump, trick[0]]), int(t["suit_of"][trump, card])
            if suit != led and not (rules.follow == "follow_or_trump" and suit == trump):
                voids[seat] |= int(t["suit_cards"][trump, led])
            if suit in (led, trump) and t["strength"][trump, card] > t["strength"][trump, trick[best]]:
                best = k
        leader = (leader + best) % rules.players
    return plays, voids


def _fill_up(
    rules: GameRules,
    trump: int,
    held: dict[int, list[int]],
    thrown: dict[int, list[int]],
    voids: Mapping[int, int],
    bidder: int,
    dealer: int,
    seed: int,
) -> None:
    """Adds cards to what each seat played or holds and to what it threw, until both are as many as they should be."""
    _check_cards(rules, [card for cards in (*held.values(), *thrown.values()) for card in cards])
    t = make_tables(rules)[0]
    trumps = int(t["suit_cards"][trump, trump])
    taken = {card for cards in (*held.values(), *thrown.values()) for card in cards}
    rest = [card for card in _pack(rules) if card not in taken]
    places = []  # whose hand or discards, whose they are, which cards may not lie there
    for seat in range(rules.players):
        to_throw = rules.widow if seat == bidder else 0
        if rules.max_discard:
            left = rules.deck_size - rules.players * rules.deal_cards - (rules.players - 1) * rules.max_discard
            to_throw = left if seat == dealer else rules.max_discard
        for pile, size, never in ((held, rules.hand_cards, voids[seat]), (thrown, to_throw, trumps)):
            cards = pile.setdefault(seat, [])
            if len(cards) > size:
                raise ValueError(f"seat {seat} has {size} cards there, not {len(cards)}: {set_text(set_of(cards))}")
            places += [(pile, seat, never)] * (size - len(cards))
    rng = np.random.default_rng(seed)
    for _ in range(1000):
        rng.shuffle(rest)
        # Schmier's trumps cannot be thrown: they are laid first, so that each gets a place.
        cards = sorted(rest, key=lambda card: not (rules.max_discard and trumps >> card & 1))
        laid = []
        for at in rng.permutation(len(places)):
            pile, seat, never = places[at]
            card = next((card for card in cards if not never >> card & 1), None)
            if card is not None:
                cards.remove(card)
                laid.append((pile, seat, card))
        if len(laid) == len(places):
            for pile, seat, card in laid:
                pile[seat].append(card)
            return
    raise ValueError("the other cards could not be laid so that they agree with what was played")


def _fill(
    rules: GameRules,
    trump: int,
    named: Mapping[int, list[int]],
    table_cards: list[int],
    has_played: list[int],
    tricks: int,
    seed: int,
) -> tuple[dict[int, list[int]], list[int]]:
    """Hands of the right size for every seat, and the cards left over, in random order."""
    t = make_tables(rules)[0]
    taken = {card for cards in named.values() for card in cards} | set(table_cards)
    rest = [card for card in _pack(rules) if card not in taken]
    np.random.default_rng(seed).shuffle(rest)
    forbidden = dict.fromkeys(range(rules.players), 0)
    for seat, card in zip(has_played[1:], table_cards[1:], strict=True):
        led, suit = (int(t["suit_of"][trump, one]) for one in (table_cards[0], card))
        if suit != led and not (rules.follow == "follow_or_trump" and suit == trump):
            forbidden[seat] = int(t["suit_cards"][trump, led])
    filled = {}
    for seat in sorted(range(rules.players), key=lambda seat: -forbidden[seat]):
        size = rules.hand_cards - tricks - (seat in has_played)
        hand = list(named.get(seat, []))
        fitting = [card for card in rest if not forbidden[seat] >> card & 1]
        missing = size - len(hand)
        if missing < 0 or missing > len(fitting):
            raise ValueError(
                f"seat {seat} should hold {size} cards; {len(hand)} are named, {len(fitting)} could be added"
            )
        filled[seat] = hand + fitting[:missing]
        rest = [card for card in rest if card not in filled[seat]]
    return filled, rest


def _lay(g: np.record, rules: GameRules, place: int, seat: int, card: int) -> None:
    g.plays[place] = card
    g.played[seat] |= bit(card)


def _set_trick(g: np.record, t: np.record, has_played: list[int]) -> None:
    """Who is winning the trick on the table, and what the cards on it show."""
    if not has_played:
        g.winning = NOBODY
        return
    led = t.suit_of[g.trump, g.trick[g.leader]]
    g.winning = g.leader
    for seat in has_played:
        card = g.trick[seat]
        suit = t.suit_of[g.trump, card]
        if suit in (led, g.trump) and t.strength[g.trump, card] > t.strength[g.trump, g.trick[g.winning]]:
            g.winning = seat
        if suit != led and not (t.follow_or_trump and suit == g.trump):
            g.voids[seat] |= 1 << led
        award_played_card(g, t, seat, card)


def _set_stock(g: np.record, rules: GameRules, rest: list[int]) -> None:
    """Puts the cards that nobody holds or has played where such cards are, and the deck into an order to match."""
    deck: list[int] = []
    for k in range(1, rules.players + 1):
        seat = (int(g.dealer) + k) % rules.players
        deck += list(cards_in(int(g.hand[seat]) | int(g.played[seat])))
    g.next_card = len(deck)
    if rules.max_discard:
        g.discards[g.dealer] = set_of(rest)
        g.next_card = rules.deck_size
    elif rules.widow:
        g.widow = set_of(rest[: rules.widow])
        g.discards[g.bidder] = g.widow
        g.next_card += rules.widow
    g.deck[: rules.deck_size] = deck + rest
