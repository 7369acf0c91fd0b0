"""Duplicate deals: the same cards, dealers and scores at several tables, with the players' places rotated.

What is played is a `Plan`; what happened is a `Tally`. Deals are played in chunks, each by itself, so the result is the
same however many processes or machines share them.
"""

import hashlib
import multiprocessing
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from smear_env import GameRules, Games
from smear_env.actions import MAX_BID
from smear_env.games import Episode
from smear_env.rules import KINDS, MAX_SEATS, NOBODY
from smear_train.asking import FORFEIT, Player, live_as_child
from smear_train.sim import over_others

EVALUATION, ROTATION = 1, 2
"""Streams of the seed: of the deals played here, which no training ever sees, and of which rotation is played."""


def chunk_size(deals: int) -> int:
    """Deals played side by side: more are quicker, up to some hundreds; fewer keep more processes at work to the end.

    >>> chunk_size(20), chunk_size(5_000), chunk_size(200_000)
    (4, 40, 512)
    """
    return min(512, max(4, -(-deals // 128)))


@dataclass(frozen=True)
class Plan:
    """What is played.

    Attributes:
        rules: the game.
        players: names of agents.
        line_ups: (L, teams) the player, by number, of each team at a table. A deal is played once with each.
        choices: line-ups by number, of each of which one, drawn for the deal, is played instead; () for all.
        deals: how many.
        seed: of the deals and of the players' own chance.
        episode: "deal" or "game" (each deal then is the first of a game to the target).
        time_limit: as for `Player`.
        allow_cheaters: let players in that see what is hidden.
        chunk: deals played side by side; it changes nothing but speed, and what a player who hangs forfeits.
    """

    rules: GameRules
    players: tuple[str, ...]
    line_ups: tuple[tuple[int, ...], ...]
    deals: int
    seed: int = 0
    episode: Episode = "deal"
    choices: tuple[tuple[int, ...], ...] = ()
    time_limit: float | None = None
    allow_cheaters: bool = True
    chunk: int = 256

    def deal_seeds(self) -> np.ndarray:
        """The seed of each deal, (deals,) uint64; the first ones are the same for any number of deals."""
        return _stream(self.seed, EVALUATION, self.deals)

    def tables(self) -> np.ndarray:
        """The line-ups that each deal is played with, by number, (deals, K)."""
        if not self.choices:
            return np.tile(np.arange(len(self.line_ups)), (self.deals, 1))
        draws = _stream(self.seed, ROTATION, self.deals)
        return np.stack([np.array(choice)[draws % np.uint64(len(choice))] for choice in self.choices], axis=1)


def _stream(seed: int, stream: int, n: int) -> np.ndarray:
    return np.random.SeedSequence(seed, spawn_key=(stream,)).generate_state(n, np.uint64)


@dataclass
class Tally:
    """What happened in D deals at K tables each, and what the P players did.

    Attributes:
        line_ups: (D, K) the line-up at each table, by number.
        scores: (D, K, teams) change of score by team, in all deals of the table.
        dealings: (D, K) dealings-out.
        scored: (D, K) deals played to a score.
        winners: (D, K) bit TEAM set for each team that won the game; 0 in deals and when nobody did.
        truncated: (D, K) games cut off after too many deals.
        forfeited: (D, K) a player failed, which ended the deal or the game.
        digests: (D,) of the cards and the dealer, to count what is distinct.
        bids: (P, 11) deals in which a player's team bought the bid, by bid.
        made: (P, 11) those of them that it made.
        kinds: (P, 6) points won, by kind.
        seat_deals: (P, 6) deals scored, by how many places the player sat left of the dealer, less one.
        seat_points: (P, 6) the team's change of score less the mean of the others', summed over those.
        decisions: (P,) decisions.
        seconds: (P,) time that they took.
        faults: for each player, why it forfeited, with its number.
    """

    line_ups: np.ndarray
    scores: np.ndarray
    dealings: np.ndarray
    scored: np.ndarray
    winners: np.ndarray
    truncated: np.ndarray
    forfeited: np.ndarray
    digests: np.ndarray
    bids: np.ndarray
    made: np.ndarray
    kinds: np.ndarray
    seat_deals: np.ndarray
    seat_points: np.ndarray
    decisions: np.ndarray
    seconds: np.ndarray
    faults: list[Counter[str]] = field(default_factory=list)

    @property
    def thrown_in(self) -> np.ndarray:
        """(D, K) dealings-out in which everybody passed."""
        thrown_in: np.ndarray = self.dealings - self.scored - self.forfeited
        return thrown_in


_BY_DEAL = ("line_ups", "scores", "dealings", "scored", "winners", "truncated", "forfeited", "digests")


def merge(tallies: list[Tally]) -> Tally:
    """One tally of several chunks, in their order."""
    merged: dict[str, Any] = {}
    for part in fields(Tally):
        values = [getattr(tally, part.name) for tally in tallies]
        if part.name in _BY_DEAL:
            merged[part.name] = np.concatenate(values)
        elif part.name == "faults":
            merged[part.name] = [sum(counters, Counter()) for counters in zip(*values, strict=True)]
        else:
            merged[part.name] = np.sum(values, axis=0)
    return Tally(**merged)


def first_tables(tally: Tally, num_tables: int) -> Tally:
    """A tally with only the first tables of each deal; what the players did stays counted for all."""
    names = [name for name in _BY_DEAL if name != "digests"]
    return replace(tally, **{name: getattr(tally, name)[:, :num_tables] for name in names})


# --- One chunk ---------------------------------------------------------------------------------------------------


class Tables:
    """The players of a plan, at the tables of any of its chunks."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._players: list[Player] = []
        try:
            for name in plan.players:
                self._players.append(Player(name, plan.rules, plan.seed, plan.time_limit))
                if self._players[-1].sees_all and not plan.allow_cheaters:
                    raise ValueError(
                        f"{name!r} sees what is hidden; --allow-cheaters lets it in, as a bound for the others"
                    )
        except BaseException:
            self.close()
            raise
        self._seeds, self._line_ups = plan.deal_seeds(), plan.tables()
        self._is_warm = False

    def close(self) -> None:
        """Ends the players' processes."""
        for player in self._players:
            player.close()

    def play(self, begin: int, end: int) -> Tally:
        """Plays the deals begin..end-1 at all their tables."""
        if not self._is_warm:
            # One deal that does not count, so that compiling is not taken for thinking.
            self._is_warm = True
            self._play(0, 1)
        return self._play(begin, end)

    def _play(self, begin: int, end: int) -> Tally:
        plan, rules = self.plan, self.plan.rules
        line_ups = self._line_ups[begin:end]
        shape = line_ups.shape
        seeds = np.repeat(self._seeds[begin:end], shape[1])
        games = Games(rules, len(seeds), seeds, plan.episode, autoreset=False)
        games.reset()
        g = games.records
        digests = np.array([digest_of_deal(g) for g in g[:: shape[1]]], np.uint64)
        for player in self._players:
            player.new_deals()
        teams = np.arange(rules.players) % rules.teams
        sitting = np.array(plan.line_ups)[line_ups.ravel()][:, teams]  # (N, P), the player at each seat
        counts = _Counts(len(self._players), rules)
        forfeited = np.zeros(len(seeds), np.bool_)
        actions = np.zeros(len(seeds), np.int64)
        while True:
            seats = games.seats.copy()
            playing = np.flatnonzero(seats != NOBODY)
            if not playing.size:
                break
            asked = sitting[playing, seats[playing]] * rules.players + seats[playing]
            for who in np.unique(asked):
                rows = playing[asked == who]
                actions[rows] = self._players[who // rules.players].ask(int(who % rules.players), games, rows)
            failed = playing[actions[playing] == FORFEIT]
            if failed.size:
                games.forfeit(failed)
                forfeited[failed] = True
            dealers, scored = g["dealer"].copy(), g["deals_scored"].copy()
            games.step(np.where(games.seats == NOBODY, 0, actions))
            done = np.flatnonzero(g["deals_scored"] != scored)
            if done.size:
                counts.add(g[done], dealers[done], sitting[done])
        return Tally(
            line_ups=line_ups,
            scores=g["scores"][:, : rules.teams].astype(np.int64).reshape(*shape, rules.teams),
            dealings=g["deals"].astype(np.int64).reshape(shape),
            scored=g["deals_scored"].astype(np.int64).reshape(shape),
            winners=g["winners"].astype(np.int64).reshape(shape),
            truncated=g["truncated"].astype(np.bool_).reshape(shape),
            forfeited=forfeited.reshape(shape),
            digests=digests,
            bids=counts.bids,
            made=counts.made,
            kinds=counts.kinds,
            seat_deals=counts.seat_deals,
            seat_points=counts.seat_points,
            decisions=np.array([player.decisions for player in self._players]),
            seconds=np.array([player.seconds for player in self._players]),
            faults=[player.faults for player in self._players],
        )


def digest_of_deal(g: np.record) -> int:
    """64 bits for the cards and the dealer of a deal."""
    return int.from_bytes(hashlib.blake2b(g.deck.tobytes() + bytes([g.dealer]), digest_size=8).digest(), "little")


class _Counts:
    """Counts deals as they are scored, for each player."""

    def __init__(self, num_players: int, rules: GameRules) -> None:
        self._rules = rules
        self.bids = np.zeros((num_players, MAX_BID + 1), np.int64)
        self.made = np.zeros((num_players, MAX_BID + 1), np.int64)
        self.kinds = np.zeros((num_players, len(KINDS)), np.int64)
        self.seat_deals = np.zeros((num_players, MAX_SEATS), np.int64)
        self.seat_points = np.zeros((num_players, MAX_SEATS))

    def add(self, g: np.ndarray, dealers: np.ndarray, sitting: np.ndarray) -> None:
        """Adds deals just scored: records, the dealer of each, (M, P) the player at each seat."""
        teams = self._rules.teams
        bidders, bids = g["last_bidder"].astype(np.int64), g["last_bid"].astype(np.int64)
        buyers = sitting[np.arange(len(g)), bidders]
        np.add.at(self.bids, (buyers, bids), 1)
        is_made = g["last_points"][np.arange(len(g)), bidders % teams] >= bids
        np.add.at(self.made, (buyers[is_made], bids[is_made]), 1)
        for kind in range(len(KINDS)):
            taker = g["last_kinds"][:, kind]
            rows = np.flatnonzero(taker != NOBODY)
            np.add.at(self.kinds, (sitting[rows, taker[rows]], kind), 1)
        margin = over_others(g["last_delta"][:, :teams].astype(np.float64))
        for seat in range(self._rules.players):
            place = (seat - dealers - 1) % self._rules.players
            np.add.at(self.seat_deals, (sitting[:, seat], place), 1)
            np.add.at(self.seat_points, (sitting[:, seat], place), margin[:, seat % teams])


# --- All chunks --------------------------------------------------------------------------------------------------

Range: TypeAlias = tuple[int, int]
"""The deals of a chunk: the first, and the one after the last."""


@dataclass(frozen=True)
class Crew:
    """Who plays the chunks of a plan, and where they are kept. No result depends on it.

    Attributes:
        workers: processes of this machine.
        start_method: of those, as in `multiprocessing`.
        keep: a folder that chunks are written to as soon as they are played. Those that are there already are read.
        ray: the address of a Ray cluster that plays instead of this machine; see `smear_train.cluster.play_chunks`.
    """

    workers: int = 1
    start_method: str = "spawn"
    keep: Path | None = None
    ray: str | None = None

    def gathered(self) -> AbstractContextManager[None]:
        """One connection to the cluster, if there is one, for several plans, so that its processes serve them all."""
        if self.ray is None:
            return nullcontext()
        from smear_train.cluster import connected

        return connected(self.ray)


ALONE = Crew()
"""This process."""

_tables: Tables


def _begin_worker(plan: Plan) -> None:
    global _tables
    live_as_child()
    _tables = Tables(plan)


def _play_chunk(begin: int, end: int) -> Tally:
    return _tables.play(begin, end)


def play(plan: Plan, crew: Crew = ALONE, progress: Callable[[int], None] = lambda done: None) -> Iterator[Tally]:
    """Plays a plan chunk by chunk and yields their tallies in order. Whoever has seen enough may stop.

    Args:
        plan: what is played.
        crew: who plays it.
        progress: called with the number of deals done.

    Raises:
        ValueError: a player that does not exist, or that cheats and is not allowed to.
        RuntimeError: a worker process was killed; or what the cluster cannot do.
    """
    ranges = [(begin, min(begin + plan.chunk, plan.deals)) for begin in range(0, plan.deals, plan.chunk)]
    tables = Tables(plan)  # in this process even if others play: what is wrong with the players shows here
    try:
        kept, played = None, dict[Range, Tally]()
        if crew.keep is not None:
            from smear_train.kept import Kept

            kept = Kept(crew.keep, plan)
            played = kept.read(ranges)
        missing = [deals for deals in ranges if deals not in played]
        chunks: Generator[tuple[Range, Tally], None, None]
        if crew.ray is None and (crew.workers == 1 or len(missing) <= 1):
            chunks = ((deals, tables.play(*deals)) for deals in missing)
        else:
            tables.close()
            chunks = _elsewhere(plan, missing, crew)
        done = sum(end - begin for begin, end in played)
        with closing(chunks):
            for wanted in ranges:
                while wanted not in played:
                    deals, tally = next(chunks)
                    if kept is not None:
                        kept.write(deals, tally)
                    played[deals] = tally
                    done += deals[1] - deals[0]
                    progress(done)
                yield played.pop(wanted)
        if not missing:
            progress(done)
    finally:
        tables.close()


def _elsewhere(plan: Plan, ranges: list[Range], crew: Crew) -> Generator[tuple[Range, Tally], None, None]:
    """Plays chunks in other processes, of this machine or of a cluster, and yields them as they are done."""
    if crew.ray is None:
        return _in_processes(plan, ranges, crew)
    from smear_train.cluster import play_chunks

    return play_chunks(plan, ranges, crew.ray)


def _in_processes(plan: Plan, ranges: list[Range], crew: Crew) -> Generator[tuple[Range, Tally], None, None]:
    pool = ProcessPoolExecutor(
        min(crew.workers, len(ranges)), multiprocessing.get_context(crew.start_method), _begin_worker, (plan,)
    )
    try:
        waiting: dict[Future[Tally], Range] = {}
        upcoming = iter(ranges)
        while True:
            # A few chunks ahead and no more, so that stopping early wastes little.
            for deals in islice(upcoming, 2 * crew.workers - len(waiting)):
                waiting[pool.submit(_play_chunk, *deals)] = deals
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()
    except BrokenProcessPool:
        raise RuntimeError("a worker process ended before its work was done; is there enough memory?") from None
    finally:
        # A chunk under way may take minutes, and there is no public way to end it before Python 3.14.
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(cancel_futures=True)
