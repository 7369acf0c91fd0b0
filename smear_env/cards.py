"""Cards and sets of cards.

A card is a number: 13 x suit + rank for the 52 cards (clubs 0, diamonds 1, hearts 2, spades 3; two 0 ... ace 12),
52 and 53 for the jokers. A set of cards is one 64-bit word, bit `card` set for each card in it. The words for sets
(`holds`, `without`, `count`, `lowest`) are kernels; texts are made and read in Python.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from smear_env._jit import count_bits as count
from smear_env._jit import int64, kernel
from smear_env._jit import lowest_bit as lowest

__all__ = [
    "JOKERS", "NO_CARDS", "NUM_CARDS", "NUM_SUITS", "RANKS", "SUITS", "SUIT_NAMES", "bit", "card_from_text", "cards_in",
    "card_text", "count", "holds", "lowest", "set_of", "set_text", "without",
]  # fmt: skip

NUM_SUITS = 4
NUM_CARDS = 54  # with both jokers
SUITS = "CDHS"
SUIT_NAMES = ("clubs", "diamonds", "hearts", "spades")
RANKS = "23456789TJQKA"
JOKERS = (52, 53)

NO_CARDS: Any = int64(0)
_ONE: Any = int64(1)  # typed, so that shifting it by a small integer stays a 64-bit word when un-jitted


@kernel
def bit(card: int) -> int:
    """The set that holds just this card."""
    return _ONE << card


@kernel
def holds(cards: int, card: int) -> bool:
    """Whether the set has the card in it."""
    return (cards >> card) & _ONE != 0


@kernel
def without(cards: int, card: int) -> int:
    """The set less one card."""
    return cards & ~(_ONE << card)


def card_text(card: int) -> str:
    """The text of a card: rank then suit, `TH` for the ten of hearts; `XX` the joker, `XX2` the second one.

    >>> card_text(34), card_text(52)
    ('TH', 'XX')
    """
    if 0 <= card < 52:
        return RANKS[card % 13] + SUITS[card // 13]
    if card in JOKERS:
        return "XX" if card == JOKERS[0] else "XX2"
    raise ValueError(f"no card has the number {card}; cards are 0..{NUM_CARDS - 1}")


_CARD_BY_TEXT = {card_text(card): card for card in range(NUM_CARDS)} | {"XX1": JOKERS[0]}


def card_from_text(text: str) -> int:
    """The number of the card that `card_text` writes so; small letters and `10` for `T` are understood too.

    >>> card_from_text("10h")
    34

    Raises:
        ValueError: no card is written like this.
    """
    key = text.strip().upper().replace("10", "T")
    if key not in _CARD_BY_TEXT:
        raise ValueError(f"{text!r} is no card; write rank then suit, as in 'TH' or '2C', or 'XX' for the joker")
    return _CARD_BY_TEXT[key]


def set_of(cards: Iterable[int | str]) -> int:
    """The word for some cards, given as numbers or texts."""
    word = 0
    for card in cards:
        word |= 1 << (card_from_text(card) if isinstance(card, str) else int(card))
    return word


def cards_in(word: int) -> Iterator[int]:
    """The cards of a set, lowest number first."""
    word = int(word)
    while word:
        yield lowest(word)
        word &= word - 1


def set_text(word: int) -> str:
    """The cards of a set as text, suit by suit, highest first, jokers last.

    >>> set_text(set_of(["2H", "XX", "AS", "KH"]))
    'KH 2H AS XX'
    """
    ordered = sorted(cards_in(word), key=lambda card: (card // 13, -card))
    return " ".join(card_text(card) for card in ordered)
