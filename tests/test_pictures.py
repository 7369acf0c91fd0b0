"""The table as a picture: SVG, pixels and the window show each seat what it may see, and show it right (design 6.1)."""

import copy
import gc
import pickle
import re
import sys
import tracemalloc
import types
import xml.etree.ElementTree as ElementTree

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import render_test
from play import COPIES, JIT, MODULES, RULES, is_over, make_env, play, random_actions, scale
from test_hidden import redraw_hidden

from smear_env import SingleSeatEnv, SmearVectorEnv, pictures
from smear_env.cards import NUM_CARDS, SUITS, card_text
from smear_env.pictures import HEIGHT, PAINTS, WIDTH, Box, Disc, Group, Polygon, Text, rgb_array, svg, table
from smear_env.render import ALL, ansi
from smear_env.rules import MAX_SEATS, NOBODY, PHASES, make_tables
from smear_env.state import view

both_games = pytest.mark.parametrize("game", MODULES)
all_rules = pytest.mark.parametrize("game", RULES)
every_seat = pytest.mark.parametrize(
    ("game", "seat"), [(name, seat) for name in RULES for seat in range(RULES[name].players)]
)
CARD = re.compile(r"\b(?:[2-9TJQKA][CDHS]|XX2?)\b")
MARKS = ("dealer", "bidder", "leader", "last-trick-winner", "to-move")


has_display = pictures.has_display  # the real one: see conftest.py


def situations(game, seed=1, count=100):
    """An environment at moments of some play, the last of them the end of the game."""
    env = make_env(game, max_deals=3 if JIT else 1)
    env.reset(seed=seed)
    for action in random_actions(env, seed, scale(count, 10)):
        yield env
        env.step(action)
    play(env, seed)
    yield env


def view_of(env):
    return view(env.unwrapped.records, 0, env.unwrapped.rules)


# --- Reading pictures back ---------------------------------------------------------------------------------------


def tree_of_svg(env, perspective):
    """The groups of the SVG: (class, data, title, groups inside), and the texts in it."""

    def read(element):
        data = {name.removeprefix("data-"): text for name, text in element.attrib.items() if name.startswith("data-")}
        title = element.findtext("{*}title") or ""
        inner = [read(one) for one in element.findall("{*}g")]
        return element.get("class"), data, title, inner, [one.text for one in element.findall("{*}text")]

    (root,) = ElementTree.fromstring(env.render_svg(perspective)).findall("{*}g")
    return read(root)


def tree_of_pixels(env, perspective):
    """The same of what Pillow is given to draw: the groups around the shapes that its back end is called with."""

    def read(group):
        data = {name: str(value) for name, value in group.data.items() if value is not None}
        inner = [read(part) for part in group.parts if isinstance(part, Group)]
        return group.name, data, group.title, inner, [part.text for part in group.parts if isinstance(part, Text)]

    drawn = []
    original = pictures._paint
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "_paint", lambda draw, part, *rest: (drawn.append(part), original(draw, part, *rest)))
        rgb_array(env.unwrapped.records, 0, env.unwrapped.rules, env.unwrapped._perspective(perspective), width=100)
    return read(drawn[0])


RENDERERS = {"svg": tree_of_svg, "rgb_array": tree_of_pixels}
each_renderer = pytest.mark.parametrize("tree_of", RENDERERS.values(), ids=RENDERERS)


def groups(tree, name):
    """All groups of a class in a tree."""
    found = [tree] if tree[0] == name else []
    for inner in tree[3]:
        found += groups(inner, name)
    return found


def texts(tree):
    """All texts in a tree."""
    return [*tree[4], *(text for inner in tree[3] for text in texts(inner))]


def marked(tree, mark):
    """The seats whose panels bear a mark. Each mark has its word."""
    seats = []
    for panel in groups(tree, "seat"):
        for found in groups(panel, mark):
            assert {"last-trick-winner": "won trick", "to-move": "to move"}.get(mark, mark) in texts(found)
            seats.append(int(panel[1]["seat"]))
    return seats


def cards_of(tree):
    return [card[1]["card"] for card in groups(tree, "card")]


# --- What is shown -----------------------------------------------------------------------------------------------


@each_renderer
@every_seat
def test_a_seat_is_shown_dealer_bidder_leader_trump_winner_and_who_is_to_move(game, seat, tree_of):
    for env in situations(game, seed=seat, count=70):
        facts, record, tree = view_of(env), env.records[0], tree_of(env, seat)
        winner = record.last_trick_winner if facts.tricks else None  # nothing of the deal before
        holders = (facts.dealer, facts.bidder, facts.leader, winner, facts.actor)
        for mark, holder in zip(MARKS, holders, strict=True):
            assert marked(tree, mark) == ([] if holder in (None, NOBODY) else [holder]), mark
        knows_trump = facts.trump and (facts.trump_public or seat == facts.bidder)
        assert [trump[1]["trump"] for trump in groups(tree, "trump")] == ([facts.trump] if knows_trump else [])
        won = " ".join(map(str, sorted(facts.winners)))
        assert [winner[1]["teams"] for winner in groups(tree, "game-winner")] == ([won] if won else [])


@each_renderer
@every_seat
def test_a_seat_is_shown_its_cards_the_trick_and_of_the_others_their_number(game, seat, tree_of):
    for env in situations(game, seed=seat + 10, count=70):
        facts, tree, ansi = view_of(env), tree_of(env, seat), rows_of_text(env, seat)
        assert [panel[1]["seat"] for panel in groups(tree, "seat")] == [str(place) for place in range(len(ansi))]
        for place, panel in enumerate(groups(tree, "seat")):
            _, _, _, _, drew, _, number = ansi[place][:7]
            assert (panel[1]["cards"], panel[1].get("drew", "-")) == (number, drew)
            assert panel[1].get("bid") == (None if facts.bids[place] is None else str(facts.bids[place]))
            if place == seat:
                assert sorted(cards_of(panel)) == sorted(facts.hands[seat])
                assert not groups(panel, "hidden-card")
            else:
                assert len(groups(panel, "hidden-card")) == int(number)
                assert not cards_of(panel)
        (trick,) = groups(tree, "trick")
        shown = {int(played[1]["seat"]): cards_of(played) for played in groups(trick, "played")}
        assert shown == {place: [card] for place, card in enumerate(facts.trick) if card}


def rows_of_text(env, seat):
    """The rows of the table of text, one a seat: seat, team, score, bid, drew, table, cards, hand."""
    text = pictures.ansi(env.records, 0, env.rules, seat)
    return [line.split() for line in text.splitlines() if re.match(r"\d\s", line)]


@each_renderer
@all_rules
def test_scores_card_points_special_points_and_results_are_shown(game, tree_of):
    results = 0
    for env in situations(game, seed=3):
        facts, tree = view_of(env), tree_of(env, 0)
        teams = [(team[1]["score"], team[1]["card-points"], *texts(team)[1:]) for team in groups(tree, "team")]
        assert teams == [
            (str(score), str(points)) * 2 for score, points in zip(facts.scores, facts.card_points, strict=True)
        ]
        for point in groups(tree, "point"):
            holder = facts.kinds[point[1]["kind"]]
            assert point[1].get("team") == (None if holder is None else str(holder))
            assert texts(point) == [point[1]["kind"], "-" if holder is None else f"team {holder}"]
        assert bool(groups(tree, "result")) == bool(facts.deals_scored)
        for result in groups(tree, "result"):
            assert " ".join(f"{change:+d}" for change in facts.last_delta) in result[2]
            assert "; ".join(texts(result)) == result[2]
            results += 1
        assert bool(groups(tree, "cut-off")) == (facts.truncated and not facts.winners)
    assert results
    assert is_over(env)


@each_renderer
@both_games
def test_all_shows_every_hand(game, tree_of):
    for env in situations(game, seed=4, count=60):
        facts, tree = view_of(env), tree_of(env, ALL)
        for seat, panel in enumerate(groups(tree, "seat")):
            assert sorted(cards_of(panel)) == sorted(facts.hands[seat])
        assert [trump[1]["trump"] for trump in groups(tree, "trump")] == ([facts.trump] if facts.trump else [])
        assert not groups(tree, "hidden-card")


@both_games
def test_winner_of_the_game_is_shown(game):
    env = make_env(game, target=1)
    for seed in range(100):
        env.reset(seed=seed)
        play(env, seed)
        if view_of(env).winners:
            break
    (winner,) = view_of(env).winners
    for tree_of in RENDERERS.values():
        (shown,) = groups(tree_of(env, 0), "game-winner")
        assert texts(shown) == [f"game won by team {winner}"]


@pytest.mark.skipif(not JIT, reason="few positions are seen un-jitted")
@all_rules
def test_every_phase_of_the_game_was_among_those_positions(game):
    present = {name for phase, name in enumerate(PHASES) if make_tables(RULES[game])[0]["phases"] >> phase & 1}
    seen = {view_of(env).phase for seed in range(30) for env in situations(game, seed)}
    assert seen == present | {"over"}


# --- Cards and suits ---------------------------------------------------------------------------------------------


def test_labels_of_cards_are_those_of_the_texts_and_each_is_its_own():
    """O4: a bijection over all cards."""
    labels = set()
    for card in range(NUM_CARDS):
        face = pictures._face(card, 0, 0, 50)
        element = ElementTree.fromstring("".join(pictures._svg_lines(face)))
        (label,) = (one.text for one in element.findall("text"))
        assert label == element.get("data-card") == element.findtext("title") == card_text(card)
        labels.add(label)
    assert len(labels) == NUM_CARDS


def symbol_pixels(name):
    """A suit's symbol as Pillow draws it, in black and grey."""
    from PIL import Image, ImageDraw

    canvas = Image.new("RGB", (64, 64), "#808080")
    shapes = [part._replace(role="suit-S") for part in pictures._symbol(name, 32, 32, 28, "ink")]
    pictures._paint(ImageDraw.Draw(canvas), Group("", shapes), 1, 0)
    return np.array(canvas.convert("L"), np.int64)


def test_suits_differ_without_colour():
    """U6: by their shapes, each in one grey."""
    symbols = [symbol_pixels(suit) for suit in SUITS]
    for k, one in enumerate(symbols):
        assert 300 < (one < 100).sum() < 2500
        for other in symbols[:k]:
            assert (abs(one - other) > 50).sum() > 150


def test_marks_differ_without_colour():
    symbols = [symbol_pixels(name) for name in ("disc", "square", "arrow", "star")]
    for k, one in enumerate(symbols):
        assert all((abs(one - other) > 50).sum() > 150 for other in symbols[:k])


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
def test_texts_stand_out_from_what_they_stand_on(which):
    """4.5 to 1 is what the Web Content Accessibility Guidelines ask for (1.4.3)."""
    grounds = {"ink": "page felt panel panel-active", "faint": "page felt panel panel-active", "chip-ink": "chip"}
    grounds |= dict.fromkeys([*(f"suit-{suit}" for suit in SUITS), "joker"], "paper")
    for role, names in grounds.items():
        for ground in names.split():
            dark, light = sorted(luminance(PAINTS[name].fill[which]) for name in (role, ground))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (role, ground)


# --- Nothing hidden ----------------------------------------------------------------------------------------------


@all_rules
def test_whatever_a_seat_cannot_know_changes_nothing_in_its_picture(game):
    """O1: the SVG byte for byte, the pixels too."""
    rng = np.random.default_rng(23)
    env = make_env(game, max_deals=100, target=500)
    env.reset(seed=23)
    checked, changed = 0, 0
    for ply, action in enumerate(random_actions(env, 23, scale(120, 40))):
        mover = int(env.agent_selection[-1])
        for seat in {mover, (mover + 1 + ply) % env.rules.players}:
            other = env.records
            redraw_hidden(other, env.rules, seat, rng)
            assert svg(env.records, 0, env.rules, seat) == svg(other, 0, env.rules, seat)
            if ply % 4 == 0:
                checked += 1
                changed += svg(env.records, 0, env.rules, ALL) != svg(other, 0, env.rules, ALL)
            if ply % 20 == 0:
                pair = (rgb_array(records, 0, env.rules, seat, width=300) for records in (env.records, other))
                assert next(pair).tobytes() == next(pair).tobytes()
        env.step(action)
    assert changed > (0.8 if env.rules.hand_cards == 6 else 0.6) * checked  # a hand of one may be dealt the same again


@all_rules
def test_no_hidden_card_is_named_anywhere_in_the_svg(game):
    for env in situations(game, seed=6, count=60):
        facts = view_of(env)
        for seat in range(env.rules.players):
            assert set(CARD.findall(env.render_svg(seat))) <= facts.hands[seat] | {card for card in facts.trick if card}


# --- SVG ---------------------------------------------------------------------------------------------------------


@both_games
def test_svg_is_accessible_and_stands_alone(game):
    env = make_env(game, render_mode="ansi")
    env.reset(seed=2)
    play(env, seed=2, count=20)
    for theme in ("auto", "light", "dark"):
        picture = env.render_svg(1, theme=theme)
        root = ElementTree.fromstring(picture)
        assert root.findtext("{*}title") == env.rules.name
        assert root.findtext("{*}desc") == env.render(1)
        assert root.get("class") == f"smear smear-{theme}"
        assert ("prefers-color-scheme" in picture) == (theme == "auto")
        assert all(card.findtext("{*}title") for card in root.iter() if card.get("class") in ("card", "hidden-card"))
        assert "href" not in picture
        assert "url(" not in picture
        assert picture.isascii()
        used = {one.get("class") for one in root.iter() if not one.tag.endswith(("}g", "}svg"))} - {None}
        assert used <= set(PAINTS)
    with pytest.raises(ValueError, match="theme='blue' is not allowed; allowed: 'light', 'dark', 'auto'"):
        env.render_svg(theme="blue")
    with pytest.raises(ValueError, match="allowed: a seat"):
        env.render_svg(perspective=17)


@pytest.mark.parametrize("wrapped", [True, False], ids=["wrapped", "raw"])
@both_games
def test_notebooks_show_the_seat_to_move_and_nothing_before_the_first_reset(game, wrapped):
    env = make_env(game, wrapped)
    assert env._repr_svg_() is None
    env.reset(seed=3)
    assert env._repr_svg_() == env.render_svg() == env.render_svg(env.agent_selection)
    play(env, seed=3)
    assert env._repr_svg_() == env.render_svg(0)


@both_games
def test_wrapper_asks_for_a_reset_before_a_picture(game):
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called"):
        make_env(game, wrapped=True).render_svg()


# --- Layout ------------------------------------------------------------------------------------------------------


def boxes(part):
    """Around every shape, (left, top, right, bottom), texts by Pillow's font."""
    if isinstance(part, Group):
        for inner in part.parts:
            yield from boxes(inner)
    elif isinstance(part, Box):
        yield part, (part.x, part.y, part.x + part.width, part.y + part.height)
    elif isinstance(part, Disc):
        yield part, (part.x - part.radius, part.y - part.radius, part.x + part.radius, part.y + part.radius)
    elif isinstance(part, Polygon):
        xs, ys = zip(*part.corners, strict=True)
        yield part, (min(xs), min(ys), max(xs), max(ys))
    else:
        box = pictures._font(round(part.size)).getbbox(part.text, anchor=pictures._LETTERS[part.anchor])
        yield part, (part.x + box[0], part.y + box[1], part.x + box[2], part.y + box[3])


@all_rules
def test_nothing_leaves_the_picture_and_no_texts_overlap(game):
    for ply, env in enumerate(situations(game, seed=7)):
        for perspective in (ALL, ply % env.rules.players):
            tree = table(env.records, 0, env.rules, perspective)
            assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for _, box in boxes(tree) for x, y in (box[:2], box[2:]))
            lines = [(part, box) for part, box in boxes(tree) if isinstance(part, Text)]
            for k, (part, (left, top, right, bottom)) in enumerate(lines):
                for other, box in lines[:k]:
                    assert right <= box[0] or box[2] <= left or bottom <= box[1] or box[3] <= top, (part, other)


@pytest.mark.parametrize("num_cards", range(1, 41))
@pytest.mark.parametrize(("width", "card_width"), [(226, 43), (908, 56)])
def test_the_index_of_each_card_of_a_hand_is_seen(width, card_width, num_cards):
    """A dealer may hold many cards, more than ever in games of few players."""
    faces = pictures._hand(0, 0, width, card_width, list(range(num_cards))).parts
    outlines = [next(box for part, box in boxes(face) if isinstance(part, Box)) for face in faces]
    assert all(x > -0.01 and right < width + 0.01 and y >= 0 for x, y, right, _ in outlines)
    assert max(bottom for *_, bottom in outlines) <= 1.42 * card_width + 0.01
    for k, face in enumerate(faces):
        (index,) = [box for part, box in boxes(face) if isinstance(part, Text)]
        for left, top, right, bottom in outlines[k + 1 :]:
            assert index[2] <= left + 1 or right <= index[0] or index[3] <= top + 1 or bottom <= index[1]


@pytest.mark.parametrize("players", range(2, MAX_SEATS + 1))
def test_panels_stand_clockwise_and_apart(players):
    places = pictures._PLACES[players]
    assert len(set(places)) == players
    assert places[0].y > max(place.y for place in places[1:])  # the seat that looks is at the bottom
    # With y downwards, angles grow clockwise.
    middles = [(place.x + place.width / 2 - 480, place.y + place.height / 2 - 374) for place in places]
    turns = [(np.arctan2(y, x) - np.pi / 2) % (2 * np.pi) for x, y in middles]
    assert turns == sorted(turns)
    for k, one in enumerate(places):
        for other in places[:k]:
            apart = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert apart or one.y + one.height <= other.y or other.y + other.height <= one.y


# --- Pixels ------------------------------------------------------------------------------------------------------


@pytest.mark.environment
@pytest.mark.parametrize("wrapped", [True, False], ids=["wrapped", "raw"])
@both_games
def test_pixels_need_no_display_and_change_with_each_card(game, wrapped, monkeypatch):
    """U5."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("pygame", "cairo", "cairosvg", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)  # to import one is an error
    env = make_env(game, wrapped, render_mode="rgb_array")
    env.reset(seed=4)
    played = 0
    for action in random_actions(env, seed=4, count=scale(40, 30)):
        before, is_play = env.render(perspective=0), view_of(env).phase == "play"
        assert before.dtype == np.uint8
        assert before.shape == (716, 900, 3)
        env.step(action)
        after = env.render(perspective=0)
        assert (after != before).any() or not is_play
        played += is_play
    assert played
    assert len(np.unique(after.reshape(-1, 3), axis=0)) > 8
    after[:] = 0  # it is the caller's
    assert env.render(perspective=0).any()


@both_games
def test_themes_and_widths(game):
    env = make_env(game)
    env.reset(seed=5)
    light, dark = (rgb_array(env.records, 0, env.rules, 0, width=320, theme=theme) for theme in ("light", "dark"))
    assert light.shape == dark.shape == (255, 320, 3)
    assert light.mean() > 150
    assert dark.mean() < 90
    for width in (99, 4001, 300.0, True):
        with pytest.raises(ValueError, match=rf"width={width} is not allowed; allowed: a whole number 100\.\.4000"):
            rgb_array(env.records, 0, env.rules, 0, width=width)
    with pytest.raises(ValueError, match="theme='auto' is not allowed; allowed: 'light', 'dark'"):
        rgb_array(env.records, 0, env.rules, 0, theme="auto")


@pytest.mark.parametrize("width", [100, 101, 333, 900, 1500])
@pytest.mark.parametrize("num_cards", [0, 1, 12, 40])
def test_many_cards_are_drawn_in_any_size(width, num_cards):
    """Whatever is rounded to nothing."""
    env = make_env("schmier")
    env.reset(seed=1)
    records = env.records
    records[0].hand[:] = 2**num_cards - 1
    assert rgb_array(records, 0, env.rules, ALL, width=width).shape[1] == width


@pytest.mark.slow
def test_pictures_do_not_leak():
    env = make_env("four_point")
    env.reset(seed=6)
    play(env, seed=6, count=15)

    def render_often(count):
        for k in range(count):
            rgb_array(env.records, 0, env.rules, k % env.rules.players, width=100)
            if k % 5 == 0:
                env.render_svg(k % env.rules.players)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = render_often(20)
        assert render_often(300) - before < 500_000
    finally:
        tracemalloc.stop()


@both_games
def test_without_pillow_the_message_says_how_to_install_it(game, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr(pictures, "has_display", lambda: True)
    monkeypatch.setitem(sys.modules, "tkinter", FakeTkinter())
    env = make_env(game, render_mode="rgb_array")
    env.reset(seed=1)
    with pytest.raises(ImportError, match=re.escape("pip install 'smear-env[render]'")):
        env.render()
    assert env.render_svg().startswith("<svg")
    human = make_env(game, render_mode="human")
    human.reset(seed=1)
    human.render()
    assert "dealer" in capsys.readouterr().out


# --- The window --------------------------------------------------------------------------------------------------


class FakeTkinter(types.ModuleType):
    """What a `Window` needs of tkinter, noting what is done with it. `refuses`: there is no display after all."""

    class TclError(Exception):
        pass

    def __init__(self, refuses=False):
        super().__init__("tkinter")
        self.refuses, self.opened, self.destroyed, self.shown, self.on_update = refuses, 0, 0, [], None

    def Tk(self):  # noqa: N802  # tkinter's name
        if self.refuses:
            raise self.TclError("couldn't connect to display")
        self.opened += 1
        root = types.SimpleNamespace(title=lambda text: None, update=self._update, destroy=self._destroy)
        root.protocol = lambda name, call: setattr(self, "close", call)
        return root

    def _update(self):
        if self.on_update:
            self.on_update()

    def _destroy(self):
        self.destroyed += 1

    def Label(self, root, **look):  # noqa: N802  # tkinter's name
        return types.SimpleNamespace(pack=lambda: None, configure=lambda image: self.shown.append(image))

    def PhotoImage(self, master, data):  # noqa: N802  # tkinter's name
        return data


def human_env(game, monkeypatch, **how):
    fake = FakeTkinter(**how)
    monkeypatch.setitem(sys.modules, "tkinter", fake)
    monkeypatch.setattr(pictures, "has_display", lambda: True)
    env = make_env(game, render_mode="human")
    env.reset(seed=1)
    return env, fake


@pytest.mark.environment
def test_human_opens_one_window_and_close_closes_it(monkeypatch, capsys):
    env, fake = human_env("schmier", monkeypatch)
    assert env.render() is None
    env.step(54)
    env.render(perspective=2)
    assert (fake.opened, len(fake.shown)) == (1, 2)
    assert fake.shown[0].startswith(b"P6 900 716 255\n")
    assert fake.shown[1].endswith(rgb_array(env.records, 0, env.rules, 2).tobytes())
    assert capsys.readouterr().out == ""
    env.close()
    env.close()
    assert fake.destroyed == 1


def test_window_that_was_closed_opens_anew(monkeypatch):
    env, fake = human_env("four_point", monkeypatch)
    env.render()

    def user_closes():
        fake.on_update = None
        fake.close()

    fake.on_update = user_closes
    env.render()
    assert (fake.opened, fake.destroyed, len(fake.shown)) == (2, 1, 2)


@pytest.mark.environment
@both_games
def test_human_prints_the_text_where_there_is_no_window(game, monkeypatch, capsys):
    env, fake = human_env(game, monkeypatch, refuses=True)
    env.render()
    assert "dealer" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "tkinter", None)
    env.render()
    assert "dealer" in capsys.readouterr().out
    monkeypatch.setattr(pictures, "has_display", lambda: False)
    monkeypatch.setitem(sys.modules, "tkinter", fake)
    env.render()
    assert "dealer" in capsys.readouterr().out
    assert not fake.shown


@pytest.mark.parametrize("how", COPIES)
def test_copies_do_not_share_the_window(how, monkeypatch):
    env, fake = human_env("four_point", monkeypatch)
    env.render()
    other = COPIES[how](env)
    other.close()
    assert (fake.opened, fake.destroyed) == (1, 0)
    assert other.get_state() == env.get_state()
    assert b"tkinter" not in pickle.dumps(copy.deepcopy(env))
    env.close()
    assert fake.destroyed == 1


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_a_display_is_expected_where_there_is_one(platform, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert has_display() == (platform != "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        with monkeypatch.context() as patch:
            patch.setenv(name, ":0")
            assert has_display()


# --- The environment of a single learner -------------------------------------------------------------------------


def learner_env(monkeypatch, mode, **kwargs):
    """One at the learner's second decision, and the tkinter that it would use."""
    fake = FakeTkinter()
    monkeypatch.setitem(sys.modules, "tkinter", fake)
    monkeypatch.setattr(pictures, "has_display", lambda: True)
    env = SingleSeatEnv(render_mode=mode, **kwargs)
    _, info = env.reset(seed=7)
    env.step(info["action_mask"].argmax())
    return env, fake


@pytest.mark.environment
@pytest.mark.parametrize("seat", range(4))
def test_learner_sees_in_every_mode_what_its_seat_sees(seat, monkeypatch):
    env, _ = learner_env(monkeypatch, "rgb_array", rules="four_point", seat=seat)
    records = env._learner.games.records
    assert (env.render() == rgb_array(records, 0, env.rules, seat)).all()
    assert env.render_svg() == env._repr_svg_() == svg(records, 0, env.rules, seat)
    assert env.render_svg("dark") == svg(records, 0, env.rules, seat, "dark")
    text, _ = learner_env(monkeypatch, "ansi", rules="four_point", seat=seat)
    assert text.render() == ansi(records, 0, env.rules, seat)
    human, fake = learner_env(monkeypatch, "human", rules="four_point", seat=seat)
    assert human.render() is None
    assert fake.shown[0].endswith(env.render().tobytes())
    human.close()
    human.close()
    assert (fake.opened, fake.destroyed) == (1, 1)


@pytest.mark.environment
def test_learner_of_a_team_looks_from_the_seat_it_decides_for(monkeypatch):
    env, _ = learner_env(monkeypatch, "ansi", rules="four_point", seat=1, partner="learner")
    rng, seats = np.random.default_rng(0), set()
    for _ in range(12):
        seat = int(env._learner.seats[0])
        seats.add(seat)
        assert env.render() == ansi(env._learner.games.records, 0, env.rules, seat)
        if env.step(rng.choice(env.action_masks().nonzero()[0]))[2]:
            env.reset()
    assert seats == {1, 3}


@pytest.mark.environment
def test_learner_without_display_or_pillow(monkeypatch, capsys):
    human, _ = learner_env(monkeypatch, "human")
    pixels, _ = learner_env(monkeypatch, "rgb_array")
    monkeypatch.setattr(pictures, "has_display", lambda: False)
    assert pixels.render().shape == (716, 900, 3)
    human.render()
    assert "dealer" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'smear-env[render]'")):
        pixels.render()
    assert pixels.render_svg().startswith("<svg")
    monkeypatch.setattr(pictures, "has_display", lambda: True)
    human.render()
    assert "dealer" in capsys.readouterr().out
    silent = SingleSeatEnv()
    assert silent._repr_svg_() is None
    with pytest.warns(UserWarning, match="render_mode"):
        assert silent.render() is None


@pytest.mark.environment
@pytest.mark.filterwarnings("ignore:.*not within the observation space:UserWarning")
@pytest.mark.parametrize("name", ["smear_env/Schmier-v0", "smear_env/FourPoint-v0"])
def test_gymnasium_finds_nothing_wrong_with_the_pictures(name, capsys):
    env = gymnasium.make(name, render_mode="rgb_array")
    env.reset(seed=1)
    assert env.render().shape == (716, 900, 3)
    assert env.unwrapped._repr_svg_().startswith("<svg")
    check_env(env.unwrapped)  # makes and draws one in each mode
    assert "dealer" in capsys.readouterr().out
    env.close()


@pytest.mark.environment
def test_a_batch_is_not_drawn():
    assert SmearVectorEnv(num_envs=2).render_mode is None
    assert gymnasium.make_vec("smear_env/Schmier-v0", num_envs=2, render_mode=None).unwrapped.render_mode is None
    with pytest.raises(ValueError, match="'ansi' is not allowed; allowed: None; SingleSeatEnv"):
        SmearVectorEnv(num_envs=2, render_mode="ansi")


# --- PettingZoo's own test ---------------------------------------------------------------------------------------


@pytest.mark.environment
@pytest.mark.parametrize("wrapped", [True, False], ids=["wrapped", "raw"])
@both_games
def test_render_test_of_pettingzoo_passes_in_every_mode(game, wrapped, capsys):
    seen = []

    def make(render_mode):
        seen.append(render_mode)
        return make_env(game, wrapped, render_mode=render_mode, max_deals=1)

    render_test(make)
    assert {"ansi", "human", "rgb_array"} <= set(seen)
    assert "dealer" in capsys.readouterr().out
