"""What is seen of training while it runs: a table that keeps itself up to date on a terminal, elsewhere plain lines."""

import re
import sys
import time
from collections.abc import Callable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, TextIO

from smear_train.console import shows_live, with_interval

if TYPE_CHECKING:
    from rich.table import Table

LIVE_SECONDS = 0.2
"""Between two states of the table on a terminal."""

LINE_SECONDS = 10
"""Between two lines elsewhere, and between two alarms that differ in their numbers only."""

SHOWN: dict[str, dict[str, str]] = {
    "decisions": {"decisions": "{:,.0f}", "decisions_per_s": "{:,.0f}/s"},
    "time": {},  # whatever there is of time_...
    "entropy": {"entropy_bid": "bid {:.2f}", "entropy_exchange": "exchange {:.2f}", "entropy_play": "play {:.2f}"},
    "policy": {"kl": "KL {:.4f}", "clip_fraction": "clipped {:.1%}", "learning_rate": "learning rate {:.1e}"},
    "loss": {"policy_loss": "policy {:.4f}", "value_loss": "value {:.4f}", "explained_variance": "explained {:.2f}"},
    "bids": {
        "mean_bid": "mean {:.2f}",
        "bid_made": "made {:.1%}",
        "made": "made {:.1%}",
        "all_pass": "all pass {:.1%}",
    },
    "reward": {"reward": "{:.3f}"},
    "illegal": {"illegal": "{:.0f}"},
}
"""Rows of the table: the keys of a metrics row that stand there, and how."""


class TrainingProgress:
    """Progress of training on stderr.

    On a terminal it is one table, made by rich. Where stderr is no terminal, or must not be controlled (`NO_COLOR`,
    `TERM=dumb`), it is at most one line every ten seconds, in printable ASCII.
    """

    def __init__(
        self,
        total_updates: int | None,
        quiet: bool,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begins to show.

        Args:
            total_updates: how many there will be, those before a resume included; None if that is not known.
            quiet: show alarms only.
            stream: stderr if none is given.
            clock: seconds.
        """
        self.total, self.quiet = total_updates, quiet
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._last = clock()
        self._row: Mapping[str, Any] = {}
        self._evaluations: dict[str, Mapping[str, Any]] = {}
        self._alarms: dict[str, float] = {}
        self._first: tuple[float, float] | None = None
        self._live: Any = None
        if not quiet and shows_live(self._stream):
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._stream, force_terminal=True, markup=False, highlight=False, emoji=False)
            # stdout is for results only, wherever it goes. Without a thread that redraws, workers can be forked.
            self._live = Live(console=console, auto_refresh=False, redirect_stdout=False)
            self._live.start()

    def update(self, row: Mapping[str, Any]) -> None:
        """Tells of an update: a row of the metrics, of which any key may be missing."""
        self._row = row
        if self._first is None and _is_number(row.get("update")):
            self._first = row["update"], self._clock()
        self._show()

    def evaluation(self, row: Mapping[str, Any]) -> None:
        """Tells of an evaluation: a row of eval.jsonl, of which any key may be missing.

        Its interval is `ci_low` to `ci_high` against an `opponent`, as in a report, or `low` to `high` `against` one.
        """
        self._evaluations[str(row.get("opponent", row.get("against", "?")))] = row
        self._show()

    def alarm(self, text: str) -> None:
        """Shows that something goes wrong, even if quiet.

        At once, unless the same, but for numbers in it, was shown in the last ten seconds.
        """
        now, kind = self._clock(), re.sub("[0-9]+", "0", text)
        if now - self._alarms.get(kind, now - LINE_SECONDS) < LINE_SECONDS:
            return
        self._alarms[kind] = now
        if self._live is None:
            self._write_line(f"alarm: {text}")
        else:
            self._live.console.print(f"alarm: {text}", style="bold red")

    def close(self) -> None:
        """Shows the last state, where a table is shown or a line may be, and no more after it."""
        if self._live is not None:
            self._live.update(self._table(), refresh=True)
            self._live.stop()
        elif self._row or self._evaluations:
            self._show()
        self._live, self.quiet = None, True

    def _show(self) -> None:
        now = self._clock()
        if self.quiet or now - self._last < (LINE_SECONDS if self._live is None else LIVE_SECONDS):
            return
        self._last = now
        if self._live is None:
            self._write_line(", ".join(f"{name} {text}" for name, text in self._state()))
        else:
            self._live.update(self._table(), refresh=True)

    def _write_line(self, text: str) -> None:
        # Names of agents are anybody's: nothing in them may control a terminal or not fit its encoding.
        self._stream.write(re.sub("[^ -~]", "?", text) + "\n")
        self._stream.flush()

    def _table(self) -> "Table":
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        for name, text in self._state():
            table.add_row(name, text)
        return table

    def _state(self) -> list[tuple[str, str]]:
        """What is known now: names and texts, in the order of the table."""
        row, state = self._row, []
        if _is_number(row.get("update")):
            of = "" if self.total is None else f" of {self.total:,}"
            left = self._seconds_left(row["update"])
            state.append(("update", f"{row['update']:,}{of}" + ("" if left is None else f" ({_duration(left)} left)")))
        for name, forms in SHOWN.items():
            texts = [form.format(row[key]) for key, form in forms.items() if _is_number(row.get(key))]
            if name == "time":
                shares = {key[5:]: row[key] for key in row if key.startswith("time_") and _is_number(row[key])}
                texts = [f"{what} {share:.0%}" for what, share in shares.items()]
            if texts:
                state.append((name, " ".join(texts)))
        state += [(f"against {opponent}", _points(result)) for opponent, result in self._evaluations.items()]
        return state

    def _seconds_left(self, update: float) -> float | None:
        """At the pace since the first update that was seen; the time before it went into starting."""
        if self.total is None or self._first is None or update <= self._first[0]:
            return None
        begun_at, began = self._first
        return (self._clock() - began) / (update - begun_at) * max(0, self.total - update)


def _points(row: Mapping[str, Any]) -> str:
    """Points per deal of an evaluation with the interval."""
    mean, low, high = (
        next((row[key] for key in keys if _is_number(row.get(key))), None)
        for keys in (("mean",), ("ci_low", "low"), ("ci_high", "high"))
    )
    text = "-" if mean is None else with_interval(mean, None if high is None else low, high)
    return f"{text} at update {row['update']:,}" if _is_number(row.get("update")) else text


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
