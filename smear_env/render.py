"""The table as text, as one seat sees it or as a whole. Letters and digits only, no control codes."""

from typing import Any

import numpy as np

from smear_env.cards import NO_CARDS, SUITS, card_text, count, set_text
from smear_env.observe import knows_trump
from smear_env.rules import KINDS, NOBODY, PHASES, GameRules

ALL = "all"
"""The perspective that sees every hand."""


def ansi(games: np.ndarray, index: int, rules: GameRules, perspective: int | str) -> str:
    """Game `index` as a table of text.

    Args:
        games: records.
        index: which of them.
        rules: their rules.
        perspective: the seat that looks, which sees its own cards only; or "all".
    """
    g = games[index]
    trump_known = g.trump != NOBODY and (perspective == ALL or knows_trump(g, int(perspective)))
    heading = [
        f"deal {g.deals}",
        f"dealer {g.dealer}",
        f"bidder {_or_dash(g.bidder)}",
        f"bid {g.bid or '-'}",
        f"trump {SUITS[g.trump] if trump_known else '-'}",
        f"phase {PHASES[g.phase]}",
        f"leader {_or_dash(g.leader)}",
        f"to move {_or_dash(g.actor)}",
    ]
    rows: list[tuple[str, ...]] = [("seat", "team", "score", "bid", "drew", "table", "cards", "hand")]
    for seat in range(rules.players):
        rows.append(_seat_row(g, rules, seat, visible=perspective in (ALL, seat)))
    points = [f"{kind} {_holder(g.kinds[i])}" for i, kind in enumerate(KINDS[:-1]) if is_played_for(rules, i)]
    footing = ["card points " + " ".join(str(g.card_points[team]) for team in range(rules.teams)), *points]
    lines = ["  ".join(heading), *_aligned(rows), "  ".join(footing)]
    if winner_of_last_trick(g) != NOBODY:
        lines.append(f"last trick won by seat {winner_of_last_trick(g)}")
    if g.last_bidder != NOBODY:
        lines.append(result_line(g, rules))
    if g.winners:
        lines.append("game won by " + ", ".join(f"team {team}" for team in range(rules.teams) if g.winners >> team & 1))
    elif g.truncated:
        lines.append(f"game cut off after {g.deals} deals")
    return "\n".join(lines) + "\n"


def result_line(g: np.record, rules: GameRules) -> str:
    """The result of the deal scored last: bid made or set, who got what, the change of each score."""
    team = g.last_bidder % rules.teams
    made = g.last_points[team] >= g.last_bid
    kinds = [f"{kind} {_holder(g.last_kinds[i])}" for i, kind in enumerate(KINDS) if is_played_for(rules, i)]
    deltas = " ".join(f"{g.last_delta[t]:+d}" for t in range(rules.teams))
    card_points = " ".join(str(g.last_card_points[t]) for t in range(rules.teams))
    return (
        f"last deal: seat {g.last_bidder} bid {g.last_bid} in {SUITS[g.last_trump]}, {'made' if made else 'set'}; "
        f"{', '.join(kinds)}; card points {card_points}; scores {deltas}"
    )


def _seat_row(g: np.record, rules: GameRules, seat: int, visible: bool) -> tuple[str, ...]:
    bid = g.bids[seat]
    cards = int(g.hand[seat]) if visible else NO_CARDS
    return (
        str(seat),
        str(seat % rules.teams),
        str(g.scores[seat % rules.teams]),
        "-" if bid == NOBODY else "pass" if bid == 0 else str(bid),
        _or_dash(g.draws[seat]),
        "-" if g.trick[seat] == NOBODY else card_text(int(g.trick[seat])),
        str(public_count(g, rules, seat)),
        set_text(cards) if visible else "",
    )


def public_count(g: np.record, rules: GameRules, seat: int) -> int:
    """How many cards everybody knows the seat to hold: throws count only once they are replaced."""
    thrown_so_far = count(g.discards[seat]) if PHASES[g.phase] == "exchange" and seat == g.actor else 0
    return count(g.hand[seat]) + thrown_so_far


def winner_of_last_trick(g: np.record) -> int:
    """The seat that took the last trick of this deal; NOBODY before its first, whatever the deal before has left."""
    return int(g.last_trick_winner) if g.tricks else NOBODY


def is_played_for(rules: GameRules, kind: int) -> bool:
    """Whether there is a point for this kind, an index into KINDS."""
    return (True, True, rules.jack_point, rules.left_point, rules.joker_point, True)[kind] != 0


def _holder(team: Any) -> str:
    return "-" if team == NOBODY else f"T{team}"


def _or_dash(number: Any) -> str:
    return "-" if number == NOBODY else str(number)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
