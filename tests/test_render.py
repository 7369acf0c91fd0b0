"""The table as text: what each seat may see of it, in letters and digits (design 6.1, 8)."""

import itertools
import re

import pytest
from play import MODULES, RULES, is_over, make_env, play, random_actions, scale

from smear_env.state import view

pytestmark = pytest.mark.environment

both_games = pytest.mark.parametrize("game", MODULES)
CARD = re.compile(r"\b(?:[2-9TJQKA][CDHS]|XX)\b")


def view_of(env):
    return view(env.unwrapped.records, 0, env.unwrapped.rules)


def shown_on_table(table):
    return [card for card in table.trick if card]


@pytest.mark.parametrize("game", RULES)
def test_a_seat_sees_the_public_table_and_its_own_cards_and_nothing_else(game):
    env = make_env(game, render_mode="ansi", max_deals=2)
    for seed in range(scale(16) if game in MODULES else scale(6)):
        env.reset(seed=seed, options={"scores": [-70, 14, 3, 150, 0][: env.rules.teams]})
        for action in itertools.chain(random_actions(env, seed, count=60), [None]):
            table = view_of(env)
            for seat in range(env.rules.players):
                text = env.render(perspective=seat)
                assert all(letter == "\n" or " " <= letter <= "~" for letter in text)
                assert sorted(CARD.findall(text)) == sorted([*table.hands[seat], *shown_on_table(table)])
                knows_trump = table.trump is not None and (table.trump_public or seat == table.bidder)
                for word in (
                    f"dealer {table.dealer}",
                    f"bidder {'-' if table.bidder is None else table.bidder}",
                    f"trump {table.trump if knows_trump else '-'}",
                    f"phase {table.phase}",
                ):
                    assert re.search(rf"\b{word}(?!\S)", text)
                rows = [line.split() for line in text.splitlines() if re.match(r"\d\s", line)]
                assert [row[0] for row in rows] == [str(place) for place in range(env.rules.players)]
                for place, row in enumerate(rows):
                    assert str(table.scores[place % env.rules.teams]) in row[1:3]
                    assert (table.trick[place] or "-") in row
            if action is not None:
                env.step(action)


@both_games
def test_all_sees_every_hand(game):
    env = make_env(game, render_mode="ansi")
    env.reset(seed=1)
    for action in random_actions(env, seed=1, count=scale(1000)):
        table = view_of(env)
        text = env.render(perspective="all")
        assert sorted(CARD.findall(text)) == sorted([*itertools.chain(*table.hands), *shown_on_table(table)])
        assert f"trump {table.trump or '-'}" in text
        env.step(action)


@both_games
def test_perspective_is_a_seat_or_an_agent_and_by_default_the_mover(game):
    env = make_env(game, render_mode="ansi", episode="deal")
    env.reset(seed=3)
    for action in random_actions(env, seed=3):
        mover = env.agent_selection
        assert env.render() == env.render(mover) == env.render(perspective=int(mover[-1]))
        env.step(action)
    assert isinstance(env.render(), str)


@pytest.mark.parametrize("perspective", [-1, 6, "player_6", "everyone", 1.5, ["all"]], ids=repr)
def test_a_bad_perspective_is_told_what_is_allowed(perspective):
    env = make_env("schmier", render_mode="ansi")
    env.reset(seed=3)
    with pytest.raises(ValueError, match=r"allowed: a seat 0\.\.5.*'all'") as caught:
        env.render(perspective=perspective)
    assert repr(perspective) in str(caught.value)


@pytest.mark.parametrize("wrapped", [True, False], ids=["wrapped", "raw"])
@both_games
def test_human_prints_what_ansi_returns(game, wrapped, capsys):
    text, human = (make_env(game, wrapped, render_mode=mode) for mode in ("ansi", "human"))
    for env in (text, human):
        env.reset(seed=5)
        play(env, seed=5, count=40)
    capsys.readouterr()
    assert human.render(perspective=1) is None
    assert capsys.readouterr().out.rstrip() == text.render(perspective=1).rstrip()


@both_games
def test_without_a_render_mode_render_warns_and_shows_nothing(game):
    env = make_env(game)
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


@both_games
def test_the_winner_of_a_trick_is_told_until_the_next_deal_begins(game):
    env = make_env(game, render_mode="ansi", max_deals=3)
    env.reset(seed=1)
    for action in itertools.chain(random_actions(env, seed=1), [None]):
        winner = env.records[0].last_trick_winner
        told = re.findall("last trick won by seat (.)", env.render())
        assert told == ([str(winner)] if view_of(env).tricks else [])
        if action is not None:
            env.step(action)
    assert winner >= 0


@both_games
def test_the_result_of_a_deal_and_of_the_game_is_told(game):
    env = make_env(game, render_mode="ansi", target=1)
    for seed in range(100):
        env.reset(seed=seed)
        play(env, seed)
        table, text = view_of(env), env.render(perspective=0)
        assert is_over(env)
        if table.winners:
            break
    (winner,) = table.winners
    assert f"game won by team {winner}" in text
    assert " ".join(f"{change:+d}" for change in table.last_delta) in text
