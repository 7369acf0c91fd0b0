"""Why an action is not legal, in the words of a player."""

import numpy as np

from smear_env.actions import BID_1, DONE, MAX_BID, NUM_ACTIONS, PASS, TRUMP_CLUBS, action_text, legal_actions
from smear_env.cards import NUM_CARDS, SUIT_NAMES, card_text, cards_in, holds
from smear_env.rules import BID, EXCHANGE, KEEP, NOBODY, OVER, PHASES, PLAY, TRUMP, GameRules, make_tables


class IllegalActionError(ValueError):
    """An action that is not legal was given; the state is what it was before.

    Attributes:
        seat: the seat that had to decide; -1 when the game was over.
        action: what was given.
        legal: the legal actions.
    """

    def __init__(self, message: str, seat: int, action: object, legal: list[int]) -> None:
        super().__init__(message)
        self.seat = seat
        self.action = action
        self.legal = legal

    def __reduce__(self) -> tuple[object, ...]:
        return IllegalActionError, (self.args[0], self.seat, self.action, self.legal)


def illegal_action(games: np.ndarray, index: int, rules: GameRules, action: object) -> IllegalActionError:
    """The error for an action that game `index` does not allow: who, what, why, and what is legal."""
    g = games[index]
    legal = legal_actions(g)
    if g.phase == OVER:
        return IllegalActionError(
            f"action {action!r} after the end: no action is legal, reset first", NOBODY, action, []
        )
    is_action = isinstance(action, int | np.integer) and 0 <= action < NUM_ACTIONS
    shown = f"{action_text(int(action))} (action {action})" if is_action else f"{action!r}"  # type: ignore[call-overload]
    reason = _reason(g, rules, int(action)) if is_action else f"actions are the whole numbers 0..{NUM_ACTIONS - 1}"  # type: ignore[call-overload]
    where = f"game {index}, " if games.size > 1 else ""
    return IllegalActionError(
        f"{where}seat {g.actor} cannot do {shown} in phase {PHASES[g.phase]!r}: {reason}; "
        f"legal: {', '.join(action_text(a) for a in legal)} (actions {' '.join(map(str, legal))})",
        int(g.actor),
        action,
        legal,
    )


def _reason(g: np.record, rules: GameRules, action: int) -> str:
    if action < NUM_CARDS:
        if g.phase in (BID, TRUMP):
            return "a card is no " + ("bid" if g.phase == BID else "trump suit")
        if not holds(g.hand[g.actor], action):
            return f"{card_text(action)} is not in the hand"
        return {EXCHANGE: _not_throwable, KEEP: _not_keepable, PLAY: _not_playable}[int(g.phase)](g, rules, action)
    fitting = {
        BID: range(PASS, BID_1 + MAX_BID),
        TRUMP: range(TRUMP_CLUBS, TRUMP_CLUBS + 4),
        EXCHANGE: range(DONE, DONE + 1),
    }.get(int(g.phase), range(0))
    if action not in fitting:
        wanted = {BID: "a bid or a pass", TRUMP: "a trump suit", EXCHANGE: "a card to throw, or done"}
        return f"{wanted.get(int(g.phase), 'a card')} is asked for"
    if g.phase == TRUMP:
        return f"the bidder holds no card of {SUIT_NAMES[action - TRUMP_CLUBS]} to lead"
    if action == PASS:
        return "everybody before the dealer has passed, so the dealer has to bid"
    if not rules.min_bid <= action - BID_1 + 1 <= rules.max_bid:
        return f"bids are {rules.min_bid}..{rules.max_bid}"
    return f"the bid stands at {g.bid} and has to be raised"


def _belonging(card: int, trump: int, suit: int) -> str:
    """How a card that belongs to another suit than the one printed on it comes to do so; else nothing."""
    if card >= 52:
        return f"the joker {card_text(card)} counts as a {SUIT_NAMES[suit][:-1]}"
    if card // 13 != suit and suit == trump:
        return f"the left bauer {card_text(card)} counts as a {SUIT_NAMES[suit][:-1]}"
    return ""


def _because(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _not_throwable(g: np.record, rules: GameRules, card: int) -> str:
    return _because("trumps may not be thrown", _belonging(card, g.trump, g.trump))


def _not_keepable(g: np.record, rules: GameRules, card: int) -> str:
    if holds(g.kept, card):
        return f"{card_text(card)} is kept already"
    return f"with more than {rules.hand_cards} trumps every other card goes"


def _not_playable(g: np.record, rules: GameRules, card: int) -> str:
    if g.trick_size == 0:
        return f"the bidder has committed himself to lead {SUIT_NAMES[g.trump]}"
    t = make_tables(rules)[0]
    led_card = int(g.trick[g.leader])
    led = int(t["suit_of"][g.trump, led_card])
    may = SUIT_NAMES[led]
    if rules.follow == "follow_or_trump" and led != g.trump:
        may += " or play a trump"
    following = int(g.hand[g.actor]) & int(t["suit_cards"][g.trump, led])
    return _because(
        f"must follow {may}",
        _belonging(led_card, g.trump, led),
        *(_belonging(other, g.trump, led) for other in cards_in(following)),
        _belonging(card, g.trump, int(t["suit_of"][g.trump, card])),
    )
