"""What a text names: the ways to write an action, and where in a text they count.

`GRAMMAR` is the whole of it. Nothing here knows a game: `smear_env.text.parse_action` chooses among what is legal.
"""

import functools
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from smear_env.actions import BID_1, DONE, MAX_BID, PASS, TRUMP_CLUBS
from smear_env.cards import JOKERS, RANKS, SUIT_NAMES, SUITS

Found: TypeAlias = dict[str, str]
"""The parts of an action that a pattern has found, in small letters: its rank, suit or number."""

# Clubs, diamonds, hearts, spades, each filled and in outline, and the heart that telephones write.
_GLYPHS = ("\u2663\u2667", "\u2666\u2662", "\u2665\u2661\u2764", "\u2660\u2664")
_WORDS = "one two three four five six seven eight nine ten".split()
_NUMBERS = {str(n): n for n in range(1, MAX_BID + 1)} | {word: n for n, word in enumerate(_WORDS, start=1)}
_NAMED_RANKS = {"jack": 9, "queen": 10, "king": 11, "ace": 12, "deuce": 0}
_PIPS = {text: n - 2 for text, n in _NUMBERS.items() if n >= 2}
_RANK_BY_TEXT = {letter.lower(): rank for rank, letter in enumerate(RANKS)} | _PIPS | _NAMED_RANKS
_SUIT_NAMES = {name[:size]: suit for suit, name in enumerate(SUIT_NAMES) for size in (len(name), len(name) - 1)}
_SUIT_GLYPHS = {glyph: suit for suit, glyphs in enumerate(_GLYPHS) for glyph in glyphs}
_SUIT_LETTERS = {letter.lower(): suit for suit, letter in enumerate(SUITS)}
_SUIT_BY_TEXT = _SUIT_NAMES | _SUIT_GLYPHS | _SUIT_LETTERS


def _one_of(name: str, *texts: Iterable[str]) -> str:
    """A pattern for one of some texts, kept under a name."""
    return f"(?P<{name}>{'|'.join(re.escape(text) for group in texts for text in group)})"


def _cards(found: Found) -> set[int]:
    """The cards of a rank, or the one of a rank and a suit."""
    suits = [_SUIT_BY_TEXT[found["suit"]]] if "suit" in found else range(len(SUITS))
    return {len(RANKS) * suit + _RANK_BY_TEXT[found["rank"]] for suit in suits}


def _bid(found: Found) -> set[int]:
    return {BID_1 + _NUMBERS[found["number"]] - 1}


def _bid_or_cards(found: Found) -> set[int]:
    return _bid(found) | (_cards({"rank": found["number"]}) if found["number"] in _PIPS else set())


def _trump(found: Found) -> set[int]:
    return {TRUMP_CLUBS + _SUIT_BY_TEXT[found["suit"]]}


ANYWHERE, FIRST, ALONE = "anywhere", "first in its clause", "alone in its sentence"


class Form(NamedTuple):
    """One way to write an action: where it counts, its pattern, an example, and the actions that it can mean."""

    where: str
    pattern: str
    example: str
    actions: Callable[[Found], set[int]]


_RANK = _one_of("rank", _RANK_BY_TEXT)
_RANK_SIGN = _one_of("rank", ["10"], (letter.lower() for letter in RANKS))
_SUIT_NAME = _one_of("suit", _SUIT_NAMES)
_SUIT_NAME_OR_GLYPH = _one_of("suit", _SUIT_NAMES, _SUIT_GLYPHS)
_SUIT = _one_of("suit", _SUIT_BY_TEXT)
_IS = "(?:suit )?(?:(?:as|for|is|are|be|to be|will be|should be) )?"
_IS_AS = "(?-i:as|ah|ad)"  # in small letters these are words before they are aces

GRAMMAR = (
    Form(ANYWHERE, rf"(?!{_IS_AS}\b)(?:(?<=[a-z] )|(?!(?-i:A[shd])\b)){_RANK_SIGN}{_one_of('suit', _SUIT_LETTERS)}",
         "10h", _cards),
    Form(ALONE, r"(?P<rank>a)(?P<suit>[shd])", "as", _cards),
    Form(ANYWHERE, rf"(?!(?-i:a) ){_RANK} ?{_one_of('suit', _SUIT_GLYPHS)}", "queen\N{BLACK HEART SUIT}", _cards),
    Form(ANYWHERE, rf"{_one_of('suit', _SUIT_GLYPHS)} ?{_RANK}", "\N{BLACK HEART SUIT}Q", _cards),
    Form(ANYWHERE, rf"{_RANK} of {_SUIT_NAME_OR_GLYPH}", "ten of hearts", _cards),
    Form(ALONE, rf"(?!a ){_RANK} {_SUIT_NAME}", "jack spades", _cards),
    Form(ALONE, rf"{_SUIT_NAME} (?!a\b){_RANK}", "spades 10", _cards),
    Form(ALONE, _one_of("rank", _NAMED_RANKS, "tjqk") + "|a(?! [a-z0-9])", "ace",
         lambda found: _cards({"rank": found.get("rank", "a")})),
    Form(ANYWHERE, "joker", "the joker", lambda found: set(JOKERS)),
    Form(ANYWHERE, "xx1?|first joker", "XX", lambda found: {JOKERS[0]}),
    Form(ANYWHERE, "xx2|second joker", "XX2", lambda found: {JOKERS[1]}),
    Form(FIRST, r"pass(?! or\b)", "pass", lambda found: {PASS}),
    Form(FIRST, f"bid (?:of )?{_one_of('number', _NUMBERS)}", "bid four", _bid),
    Form(ALONE, _one_of("number", _PIPS, "1"), "4", _bid_or_cards),
    Form(FIRST, f"trumps? {_IS}{_SUIT}", "trump hearts", _trump),
    Form(FIRST, f"{_SUIT_NAME_OR_GLYPH} {_IS}(?:the )?trumps?", "hearts as trump", _trump),
    Form(ALONE, rf"(?<!\ba ){_SUIT}", "hearts", _trump),
    Form(FIRST, "done|(?:no|nothing) more", "no more", lambda found: {DONE}),
)  # fmt: skip
"""What `parse_action` reads. Where several match at a place the longest counts.

`anywhere`: it counts wherever it stands. `first in its clause`: with nothing before it in its clause but words such as
"I", "will", "play". `alone in its sentence`: with nothing but such words before it and after it in its sentence.
A clause ends also at a comma; a sentence at other punctuation, at the end of a line, and around "but", "so", "then".
"""

# Words that may stand before an action, or around a part of one, without changing what it says.
_FILLERS = """a action am an and answer believe best bid call card choice choose decide decision declare discard final
finally go going guess here i i'd i'll i'm i've instead is it it's just keep lay lead let let's like make me move must
my name now of okay ok pick play please rather say select shall should suit sure take that the then therefore think this
throw to us want we we'd we'll will with would yes""".split()
_FILLED = re.compile(rf"(?:\b(?:{'|'.join(_FILLERS)})\b|[ ,])*", re.IGNORECASE)
_OR = re.compile(rf"{_FILLED.pattern}(?:\bor\b|/){_FILLED.pattern}", re.IGNORECASE)
_MOST_FILLING = 80  # letters; more than that is no short answer, and is not looked through

_ENDS = r'[;!?\n"(){}\[\]<>|=]|(?<!\d)[.:]|[.:](?!\d)| -+ |\b(?:but|so|then|therefore|thus|hence)\b'
_SUBORDINATE = "".join(rf"(?<!\b{word} )" for word in "if when can could should may might until before".split())
_I = rf"(?:(?<=, )|(?<=\band )|{_SUBORDINATE}(?<= ))(?=(?:i|we)(?:'ll|'d|'m)?\b)"
_SENTENCE_BEGINS = re.compile(f"{_ENDS}|{_I}", re.IGNORECASE)
_CLAUSE_BEGINS = re.compile(f"{_ENDS}|{_I}|,", re.IGNORECASE)
_SENTENCE_ENDS = re.compile(rf"{_ENDS}|{_I}|\b(?:because|since|as)\b", re.IGNORECASE)

_WORD = re.compile(r"[^\W\d]{3}")

# What is made of a text before it is read: (pattern, what takes its place).
_CLEANING = (
    (r"^[ \t]*(?:\d+[.)]|[-+\u2022])[ \t]+(?=\S)", "\n"),  # the numbers and signs of a list
    (r"[*`~\u200b\ufe0e\ufe0f]", ""),  # emphasis, and marks that nobody sees
    ("[\u2018\u2019]", "'"),
    ("[\u201c\u201d]|(?<!\\w)'|'(?!\\w)", '"'),
    ("[\u2013\u2014]", " - "),
    (r"_|(?<=\w)-(?=[^\W\d])", " "),  # ten_of_hearts, ten-of-hearts
    (f"([{''.join(_SUIT_GLYPHS)}])(?=\\w)", r"\1 "),
    (r"[^\S\n]+", " "),
)


class Mention(NamedTuple):
    """A place of a text that names an action: from where to where, in which form, and what it can mean.

    `this or that` is one mention of two choices, from the form of the first to that of the last.
    """

    begin: int
    end: int
    first: Form
    last: Form
    actions: frozenset[int]
    choices: int = 1


def mentions(text: str) -> list[Mention]:
    """The actions that a text names, in their order.

    >>> [sorted(one.actions) for one in mentions("I could play the ace of hearts, but I play 2S")]
    [[38], [39]]
    """
    text = _cleaned(text)
    named = _joined(text, _longest(text))
    sentences, clauses = ([match.end() for match in p.finditer(text)] for p in (_SENTENCE_BEGINS, _CLAUSE_BEGINS))
    ends = [match.start() for match in _SENTENCE_ENDS.finditer(text)]

    def is_answer(one: Mention) -> bool:
        begins = clauses if one.first.where == FIRST else sentences
        before = text[_last_up_to(begins, one.begin) : one.begin]
        after = text[one.end : _next_from(ends, one.end, len(text))]
        return (one.first.where == ANYWHERE or _is(_FILLED, before)) and (
            one.last.where != ALONE or _is(_FILLED, after)
        )

    return [one for one in named if is_answer(one)]


def _cleaned(text: str) -> str:
    lines = unicodedata.normalize("NFKC", text).split("\n")
    # In a sentence all in capitals AS is no more of an ace than `as` elsewhere.
    text = "\n".join(line.lower() if line.isupper() and _WORD.search(line) else line for line in lines)
    for pattern, replacement in _CLEANING:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'$#+-])(?:{pattern})(?![\w'%])", re.IGNORECASE)


def _longest(text: str) -> list[Mention]:
    """Whatever fits a form, wherever it stands; where several begin or overlap, the first and longest."""
    fitting = []
    for form in GRAMMAR:
        for match in _compiled(form.pattern).finditer(text):
            found = {name: part.lower() for name, part in match.groupdict().items() if part is not None}
            fitting.append(Mention(match.start(), match.end(), form, form, frozenset(form.actions(found))))
    longest: list[Mention] = []
    for one in sorted(fitting, key=lambda one: (one.begin, -one.end)):
        if not longest or one.begin >= longest[-1].end:
            longest.append(one)
    return longest


def _joined(text: str, named: list[Mention]) -> list[Mention]:
    """The same with `this or that` as one."""
    joined: list[Mention] = []
    for one in named:
        if joined and _is(_OR, text[joined[-1].end : one.begin]):
            before = joined.pop()
            both = before.actions | one.actions
            one = Mention(before.begin, one.end, before.first, one.last, both, before.choices + 1)
        joined.append(one)
    return joined


def _is(pattern: re.Pattern[str], text: str) -> bool:
    return len(text) <= _MOST_FILLING and pattern.fullmatch(text) is not None


def _last_up_to(places: list[int], place: int) -> int:
    index = bisect_right(places, place)
    return places[index - 1] if index else 0


def _next_from(places: list[int], place: int, otherwise: int) -> int:
    index = bisect_left(places, place)
    return places[index] if index < len(places) else otherwise
