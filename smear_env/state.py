"""The record: one game is one row of a NumPy record array, N games are N rows.

A copy of the row is a snapshot of the whole game, its generator included. Kernels read and write it as
`g.hand[seat]`; people read it through `view`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from smear_env.cards import NUM_CARDS, SUITS, card_text, cards_in
from smear_env.rules import KINDS, MAX_SEATS, MAX_TRICKS, NOBODY, PHASES, GameRules

Game: TypeAlias = Any
"""One row of a `GAME` array: what the kernels call `g`."""

PUBLIC, OWNER, HIDDEN, TRUMP_VIEW, SETTING = "public", "owner", "hidden", "trump", "setting"


class Field(NamedTuple):
    """One field of the record: its NumPy type, its shape, who may see it, and what it means.

    `public`: everybody; `owner`: entry [seat] is for that seat alone; `hidden`: nobody, derived or drawn by chance;
    `trump`: everybody once `trump_public`, before that the bidder; `setting`: no part of the table.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    sight: str
    meaning: str


_S = (MAX_SEATS,)  # an entry for each seat
_T = (MAX_SEATS,)  # an entry for each team

# Widths are chosen so that no byte of a row is left over: rows can be compared and kept as bytes.
FIELDS = (
    Field("rng", "u8", (), HIDDEN, "state of the game's own generator"),
    Field("legal_cards", "i8", (), HIDDEN, "legal actions that are cards, for the actor"),
    Field("legal_calls", "i8", (), HIDDEN, "legal actions that are calls, bit 0 the pass, for the actor"),
    Field("hand", "i8", _S, OWNER, "cards held, by seat"),
    Field("discards", "i8", _S, OWNER, "cards thrown or discarded in this deal, by seat"),
    Field("kept", "i8", (), HIDDEN, "cards that the actor keeps for certain, in the keep phase"),
    Field("widow", "i8", (), HIDDEN, "cards that the bidder took from the stock as the widow"),
    Field("played", "i8", _S, PUBLIC, "cards played in this deal, by seat"),
    Field("max_deals", "i8", (), SETTING, "dealings-out after which the game is truncated"),
    Field("deals", "i4", (), PUBLIC, "dealings-out so far, this one included"),
    Field("deals_scored", "i4", (), PUBLIC, "deals that were played to a score"),
    Field("scores", "i2", _T, PUBLIC, "score, by team"),
    Field("card_points", "i2", _T, PUBLIC, "card points in the tricks won in this deal, by team"),
    Field("last_delta", "i2", _T, PUBLIC, "change of score in the deal scored last, by team"),
    Field("last_card_points", "i2", _T, PUBLIC, "card points that decided game in that deal, by team"),
    Field("last_points", "i1", _T, PUBLIC, "points made in that deal, by team"),
    Field("last_kinds", "i1", (len(KINDS),), PUBLIC, "team that got each kind of point in that deal"),
    Field("last_bidder", "i1", (), PUBLIC, "bidder of that deal"),
    Field("last_bid", "i1", (), PUBLIC, "bid of that deal"),
    Field("last_trump", "i1", (), PUBLIC, "trump of that deal"),
    Field("last_trick_winner", "i1", (), PUBLIC, "seat that won the trick completed last, maybe in the deal before"),
    Field("one_deal", "i1", (), SETTING, "1 if the game ends with its first dealing-out"),
    Field("phase", "i1", (), PUBLIC, "what the game is waiting for, index into PHASES"),
    Field("actor", "i1", (), PUBLIC, "seat to decide; NOBODY when over"),
    Field("dealer", "i1", (), PUBLIC, "seat of the dealer"),
    Field("bidder", "i1", (), PUBLIC, "seat of the highest bidder so far"),
    Field("bid", "i1", (), PUBLIC, "bid that stands; 0 before the first"),
    Field("bids", "i1", _S, PUBLIC, "bid of each seat; 0 a pass, NOBODY no turn yet"),
    Field("trump", "i1", (), TRUMP_VIEW, "trump suit; NOBODY before it is fixed"),
    Field("trump_public", "i1", (), PUBLIC, "1 once everybody knows the trump"),
    Field("draws", "i1", _S, PUBLIC, "cards exchanged by each seat; NOBODY not yet, or the dealer"),
    Field("next_card", "i1", (), PUBLIC, "cards of the deck dealt so far"),
    Field("leader", "i1", (), PUBLIC, "seat that leads or led to the trick on the table; NOBODY before play"),
    Field("winning", "i1", (), PUBLIC, "seat whose card is winning the trick on the table"),
    Field("tricks", "i1", (), PUBLIC, "tricks completed in this deal"),
    Field("trick_size", "i1", (), PUBLIC, "cards on the table"),
    Field("trick", "i1", _S, PUBLIC, "card on the table, by seat; NOBODY none"),
    Field("voids", "i1", _S, PUBLIC, "bit SUIT set for each suit a seat has shown to be void in"),
    Field("kinds", "i1", (len(KINDS),), PUBLIC, "team that holds each kind of point so far"),
    Field("high_card", "i1", (), PUBLIC, "card that scores high so far"),
    Field("low_card", "i1", (), PUBLIC, "card that scores low so far"),
    Field("trick_leaders", "i1", (MAX_TRICKS,), PUBLIC, "seat that led to each trick of this deal"),
    Field("plays", "i1", (MAX_SEATS * MAX_TRICKS,), PUBLIC, "cards played in this deal, in order"),
    Field("deck", "i1", (NUM_CARDS,), HIDDEN, "the pack in the order dealt: hands from the dealer's left, stock"),
    Field("terminated", "i1", (), PUBLIC, "1 when the game, or its only deal, has come to its end"),
    Field("truncated", "i1", (), PUBLIC, "1 when the game was cut off by max_deals"),
    Field("winners", "i1", (), PUBLIC, "bit TEAM set for each team that has won the game"),
)

GAME = np.dtype((np.record, np.dtype([(field.name, field.type, field.shape) for field in FIELDS], align=True)))


def new_games(num_games: int, one_deal: bool = False, max_deals: int = 100) -> np.ndarray:
    """Rows for games that have yet to be dealt, shape (N,)."""
    games = np.zeros(num_games, GAME)
    games["one_deal"] = one_deal
    games["max_deals"] = max_deals
    games["phase"] = PHASES.index("over")
    for name in ("actor", "dealer", "bidder", "trump", "leader", "winning", "trick", "last_kinds", "deck", "plays"):
        games[name] = NOBODY
    return games


@dataclass(frozen=True)
class View:
    """A game as a person reads it: names instead of numbers, nothing missing. `view` makes it."""

    phase: str
    actor: int | None
    dealer: int
    bidder: int | None
    bid: int
    bids: tuple[int | None, ...]
    trump: str | None
    trump_public: bool
    hands: tuple[frozenset[str], ...]
    discards: tuple[frozenset[str], ...]
    kept: frozenset[str]
    draws: tuple[int | None, ...]
    deck: tuple[str, ...]
    stock: tuple[str, ...]
    leader: int | None
    trick: tuple[str | None, ...]
    tricks: int
    plays: tuple[str, ...]
    scores: tuple[int, ...]
    card_points: tuple[int, ...]
    kinds: dict[str, int | None]
    deals: int
    deals_scored: int
    last_kinds: dict[str, int | None]
    last_card_points: tuple[int, ...]
    last_points: tuple[int, ...]
    last_delta: tuple[int, ...]
    winners: frozenset[int]
    terminated: bool
    truncated: bool


def view(games: np.ndarray, index: int, rules: GameRules) -> View:
    """All there is to know about one game, the hidden cards included."""
    g = games[index]
    seats, teams = range(rules.players), range(rules.teams)

    def or_none(value: int) -> int | None:
        return None if value == NOBODY else int(value)

    def names(word: int) -> frozenset[str]:
        return frozenset(card_text(card) for card in cards_in(word))

    deck = tuple(card_text(int(card)) for card in g.deck[: rules.deck_size] if card != NOBODY)
    return View(
        phase=PHASES[g.phase],
        actor=or_none(g.actor),
        dealer=int(g.dealer),
        bidder=or_none(g.bidder),
        bid=int(g.bid),
        bids=tuple(or_none(g.bids[seat]) for seat in seats),
        trump=None if g.trump == NOBODY else SUITS[g.trump],
        trump_public=bool(g.trump_public),
        hands=tuple(names(g.hand[seat]) for seat in seats),
        discards=tuple(names(g.discards[seat]) for seat in seats),
        kept=names(g.kept),
        draws=tuple(or_none(g.draws[seat]) for seat in seats),
        deck=deck,
        stock=deck[g.next_card :],
        leader=or_none(g.leader),
        trick=tuple(None if g.trick[seat] == NOBODY else card_text(int(g.trick[seat])) for seat in seats),
        tricks=int(g.tricks),
        plays=tuple(card_text(int(card)) for card in g.plays[: g.tricks * rules.players + g.trick_size]),
        scores=tuple(int(g.scores[team]) for team in teams),
        card_points=tuple(int(g.card_points[team]) for team in teams),
        kinds={kind: or_none(g.kinds[i]) for i, kind in enumerate(KINDS)},
        deals=int(g.deals),
        deals_scored=int(g.deals_scored),
        last_kinds={kind: or_none(g.last_kinds[i]) for i, kind in enumerate(KINDS)},
        last_card_points=tuple(int(g.last_card_points[team]) for team in teams),
        last_points=tuple(int(g.last_points[team]) for team in teams),
        last_delta=tuple(int(g.last_delta[team]) for team in teams),
        winners=frozenset(team for team in teams if g.winners >> team & 1),
        terminated=bool(g.terminated),
        truncated=bool(g.truncated),
    )
