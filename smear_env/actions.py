"""Actions: the same integers in every game of the family.

0..53 are the cards (in exchange: throw it; in keep: keep it; in play: play it), 54 pass, 55..64 bids 1..10,
65..68 naming clubs, diamonds, hearts, spades as trump (or committing to it), 69 done.
"""

import numpy as np

from smear_env._jit import int64, kernel
from smear_env.cards import NUM_CARDS, SUIT_NAMES, SUITS, card_from_text, card_text, cards_in
from smear_env.state import Game

PASS = 54
BID_1 = 55
MAX_BID = 10
TRUMP_CLUBS = 65
DONE = 69
NUM_ACTIONS = 70


@kernel
def call_bit(action: int) -> int:
    """The bit of an action that is no card, in a word of calls: bit 0 is the pass."""
    return int64(1) << (action - PASS)


@kernel
def is_legal(g: Game, action: int) -> bool:
    """Whether an action, any whole number, is among the legal ones of the actor."""
    if 0 <= action < NUM_CARDS:
        return (g.legal_cards >> action) & 1 != 0
    if PASS <= action < NUM_ACTIONS:
        return (g.legal_calls >> (action - PASS)) & 1 != 0
    return False


def action_text(action: int) -> str:
    """The text of an action: `TH`, `XX`, `pass`, `bid 4`, `trump H`, `done`.

    >>> [action_text(action) for action in (34, 54, 58, 67, 69)]
    ['TH', 'pass', 'bid 4', 'trump H', 'done']

    Raises:
        ValueError: the number is no action.
    """
    if 0 <= action < NUM_CARDS:
        return card_text(action)
    if action == PASS:
        return "pass"
    if BID_1 <= action < BID_1 + MAX_BID:
        return f"bid {action - BID_1 + 1}"
    if TRUMP_CLUBS <= action < TRUMP_CLUBS + 4:
        return f"trump {SUITS[action - TRUMP_CLUBS]}"
    if action == DONE:
        return "done"
    raise ValueError(f"no action has the number {action}; actions are 0..{NUM_ACTIONS - 1}")


def action_from_text(text: str) -> int:
    """The action that `action_text` writes so; small letters and suit names are understood too.

    >>> action_from_text("Trump hearts")
    67

    Raises:
        ValueError: no action is written like this.
    """
    words = text.strip().lower().split()
    if words == ["pass"]:
        return PASS
    if words == ["done"]:
        return DONE
    if len(words) == 2 and words[0] == "bid" and words[1].isdecimal() and 1 <= int(words[1]) <= MAX_BID:
        return BID_1 + int(words[1]) - 1
    if len(words) == 2 and words[0] == "trump":
        for suit, name in enumerate(SUIT_NAMES):
            if words[1] in (name, SUITS[suit].lower()):
                return TRUMP_CLUBS + suit
    try:
        return card_from_text(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no action; write a card ('TH', 'XX'), 'pass', 'bid 4', 'trump H' or 'done'"
        ) from None


def legal_actions(g: np.record) -> list[int]:
    """The legal actions of the actor, in increasing order; none when the game is over."""
    return list(cards_in(g.legal_cards)) + [PASS + call for call in cards_in(g.legal_calls)]


def actions_table() -> list[tuple[str, str, str]]:
    """The table of the documentation: (numbers, text, meaning)."""
    return [
        ("0..51", "`2C` .. `AS`", "the card 13 x suit + rank: throw it (exchange), keep it (keep), play it (play)"),
        ("52, 53", "`XX`, `XX2`", "the joker, the second joker"),
        (str(PASS), "`pass`", "no bid"),
        (f"{BID_1}..{BID_1 + MAX_BID - 1}", f"`bid 1` .. `bid {MAX_BID}`", "the bid"),
        (f"{TRUMP_CLUBS}..{TRUMP_CLUBS + 3}", "`trump C` .. `trump S`", "name trump, or commit to it (F-8)"),
        (str(DONE), "`done`", "throw no more cards"),
    ]
