"""Nothing hidden leaks: what a seat sees is the same whatever the cards that it cannot know (O1)."""

import numpy as np
import pytest
from play import JIT, MODULES, RULES, make_env, observed, random_actions, scale

from smear_env import IllegalActionError
from smear_env.cards import cards_in, set_of
from smear_env.engine import find_legal
from smear_env.rules import NOBODY, PHASES, make_tables

pytestmark = pytest.mark.environment


def draw(cards, count):
    """The next cards, taken off the list, as a set."""
    return np.int64(set_of([cards.pop() for _ in range(count)]))


def some_of(cards, rng, most):
    """Some of the cards of a set, at most so many."""
    return np.int64(set_of(rng.permutation(list(cards_in(cards)))[: rng.integers(most + 1)]))


def redraw_hidden(games, rules, seat, rng):
    """Draws anew all that a seat cannot know, in the record itself.

    The cards of the other hands, of their discards and of the stock and its order; how many of its throws a seat has
    made in its turn, and which cards it keeps so far; the widow; the suit to which the bidder has committed himself
    and nobody else knows; the generator. Every public number stays: hands have the sizes that all know. What the
    cards on the table show of a hand is not respected, so more is permuted than could be, never less.
    """
    g, phase = games[0], PHASES[games[0].phase]
    others = [other for other in range(rules.players) if other != seat]
    stock = [int(card) for card in g.deck[g.next_card : rules.deck_size]]
    pool = stock + [card for other in others for card in cards_in(int(g.hand[other]) | int(g.discards[other]))]
    rng.shuffle(pool)
    for other in others:
        held, thrown = (int(word).bit_count() for word in (g.hand[other], g.discards[other]))
        if phase == "exchange" and other == g.actor:
            held += thrown
            thrown = int(rng.integers(rules.max_discard))
            held -= thrown
        g.hand[other], g.discards[other] = draw(pool, held), draw(pool, thrown)
        if other == g.bidder and g.widow:
            g.widow = draw(
                list(rng.permutation(list(cards_in(int(g.hand[other]) | int(g.discards[other]))))), rules.widow
            )
    if phase == "keep" and g.actor != seat:
        g.kept = some_of(g.hand[g.actor], rng, rules.hand_cards - 1)
    if g.trump != NOBODY and not g.trump_public and g.bidder != seat:
        g.trump = rng.choice([card // 13 for card in cards_in(g.hand[g.bidder])])
    stock = pool
    dealt = [card for card in g.deck[: rules.deck_size] if card not in stock]
    g.deck[: rules.deck_size] = [*rng.permutation(dealt), *stock]
    g.rng = rng.integers(2**63)
    find_legal(g, make_tables(rules)[0])


def seen_by(env, agent):
    """All that one agent is shown."""
    return (
        env.agent_selection,
        observed(env, agent),
        {name: value.tobytes() for name, value in env.infos[agent].items()},
        env.render(perspective=agent),
        (env.rewards, env.terminations, env.truncations, env.scores, env.dealer),
    )


def refusals(env):
    """What the mover is told of some actions that are not legal."""
    texts = []
    for action in (0, 20, 33, 51, 54, 65, 69):
        if not env.last()[0]["action_mask"][action]:
            with pytest.raises(IllegalActionError) as caught:
                env.step(action)
            texts.append(str(caught.value))
    return texts


@pytest.mark.parametrize("game", RULES)
def test_whatever_a_seat_cannot_know_changes_nothing_that_it_sees(game):
    """O1: observation, mask, infos, text and error messages, byte for byte, in states of every phase."""
    rng = np.random.default_rng(17)
    env, other = (make_env(game, render_mode="ansi", max_deals=100, target=500) for _ in range(2))
    env.reset(seed=17)
    phases, changed = set(), 0
    for ply, action in enumerate(random_actions(env, seed=17, count=scale(1000 if game in MODULES else 400, 60))):
        mover = int(env.agent_selection[-1])
        for seat in {mover, (mover + 1 + ply) % env.rules.players}:
            agent = f"player_{seat}"
            record = env.records
            redraw_hidden(record, env.rules, seat, rng)
            assert sorted(record[0].deck[: env.rules.deck_size]) == sorted(env.deck)
            other.set_state(env.get_state() | {"record": record.tobytes()})
            assert seen_by(env, agent) == seen_by(other, agent)
            if seat == mover and ply % 5 == 0:
                assert refusals(env) == refusals(other)
            changed += env.render(perspective="all") != other.render(perspective="all")
            phases.add((PHASES[record[0].phase], seat == mover))
        env.step(action)
    assert changed > 0.8 * ply
    if JIT:
        present = {name for phase, name in enumerate(PHASES[:-1]) if make_tables(env.rules)[0]["phases"] >> phase & 1}
        assert phases == {(name, moves) for name in present for moves in (True, False)}


def test_the_bidders_private_suit_is_seen_by_him_alone_until_he_leads():
    """F-8: the check above would mean little if the suit were shown to nobody."""
    env = make_env("four_point", render_mode="ansi")
    told = 0
    for seed in range(scale(150) + 3):
        env.reset(seed=seed)
        for action in random_actions(env, seed, count=40):
            g = env.records[0]
            if g.trump != NOBODY and not g.trump_public:
                texts = [f"trump {'CDHS'[g.trump]}" in env.render(perspective=seat) for seat in range(4)]
                assert texts == [seat == g.bidder for seat in range(4)]
                told += 1
            env.step(action)
    assert told


@pytest.mark.parametrize("game", MODULES)
def test_state_for_a_critic_holds_every_hand(game):
    env = make_env(game)
    env.reset(seed=2)
    pack = [int(card) for card in make_tables(env.rules)["deck"][0][: env.rules.deck_size]]
    for action in random_actions(env, seed=2, count=scale(1000)):
        state, size = env.state(), len(pack)
        for seat in range(env.rules.players):
            bits = state[seat * size : (seat + 1) * size]
            assert {card for card, is_in in zip(pack, bits, strict=True) if is_in} == set(
                cards_in(env.records[0].hand[seat])
            )
        env.step(action)
