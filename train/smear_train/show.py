"""A whole game told trick by trick."""

from collections.abc import Callable, Sequence

import numpy as np

from smear_agents import decide, make_agents
from smear_env import GameRules, Games
from smear_env.actions import action_text
from smear_env.cards import SUITS, card_text, set_text
from smear_env.render import result_line
from smear_env.rules import BID, EXCHANGE, KEEP, OVER, PLAY, TRUMP


def show_game(rules: GameRules, players: Sequence[str], seed: int, write: Callable[[str], None]) -> None:
    """Plays one game to its end and tells it line by line.

    Args:
        rules: the game.
        players: names of agents, one for all, one a team or one a seat.
        seed: of the cards and of the players' own chance.
        write: is given each line.
    """
    agents = make_agents(players, rules, seed)
    games = Games(rules, 1, seed, autoreset=False)
    games.reset()
    told = 0
    line: list[str] = []
    while True:
        g = games.records[0].copy()
        if g.deals > told:
            told = int(g.deals)
            _tell_deal(g, rules, write)
        if g.phase == OVER:
            break
        action = int(decide(agents[g.actor], games, np.zeros(1, np.int64))[0])
        games.step([action])
        _tell_action(g, action, games.records[0], rules, line, write)
    winners = [f"team {team}" for team in range(rules.teams) if g.winners >> team & 1]
    scores = " ".join(str(score) for score in g.scores[: rules.teams])
    write(f"game over after {g.deals} deals, scores {scores}: {' and '.join(winners) or 'nobody'} won")


def _tell_deal(g: np.record, rules: GameRules, write: Callable[[str], None]) -> None:
    scores = " ".join(str(score) for score in g.scores[: rules.teams])
    write(f"--- deal {g.deals}: dealer {g.dealer}, scores {scores}")
    for seat in range(rules.players):
        write(f"  seat {seat} (team {seat % rules.teams}): {set_text(int(g.hand[seat]))}")


def _tell_action(
    g: np.record, action: int, after: np.record, rules: GameRules, line: list[str], write: Callable[[str], None]
) -> None:
    """Adds an action, done in state g, to the line that is being told; writes the line when it is complete."""
    title = {BID: "auction", EXCHANGE: "exchange", KEEP: "keeps", PLAY: f"trick {g.tricks + 1}"}
    deal_goes_on = after.deals == g.deals and after.phase != OVER
    if g.phase == TRUMP:
        secretly = " (in private)" if rules.trump_choice == "pitched" else ""
        write(f"  trump: seat {g.actor} chooses {SUITS[action - 65]}{secretly}")
        return
    if g.phase == PLAY:
        line.append(f"{g.actor} {card_text(action)}")
        if deal_goes_on and after.tricks == g.tricks:
            return
        write(f"  {title[PLAY]}: {'  '.join(line)}  won by {after.last_trick_winner}")
    else:
        line.append(f"{g.actor} {action_text(action)}")
        if deal_goes_on and after.phase == g.phase:
            return
        write(f"  {title[int(g.phase)]}: {', '.join(line)}")
        if deal_goes_on and g.phase in (EXCHANGE, KEEP) and after.phase == PLAY:
            for seat in range(rules.players):
                write(f"    seat {seat} plays with {set_text(int(after.hand[seat]))}")
    line.clear()
    if after.deals_scored > g.deals_scored:
        write("  " + result_line(after, rules))
    elif not deal_goes_on:
        write("  everybody passed: thrown in")
