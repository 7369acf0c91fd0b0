"""Intervals, a sequential test, and a control variate, for values of which there is one for each deal."""

import math
from typing import NamedTuple

import numpy as np

RESAMPLES = 5000
BCA_MOST = 10_000
"""Above so many values the percentile interval is taken: the corrections of BCa are nothing then, its cost is not."""
BATCH_VALUES = 4_000_000
"""Values that the bootstrap holds in memory at a time."""


class Interval(NamedTuple):
    """A mean with its 95% interval; the interval is None when a single value tells nothing of the spread."""

    mean: float
    low: float | None
    high: float | None


def mean_interval(values: np.ndarray, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """The mean of some values with its 95% bootstrap interval (BCa; Efron 1987).

    Args:
        values: (n,) float, one for each deal: deals are independent, tables of the same deal are not.
        seed: of the bootstrap.
        resamples: of the bootstrap.

    Returns:
        The interval of a constant sample is its value. One value alone has no interval.
    """
    from scipy.stats import bootstrap

    values = np.asarray(values, np.float64)
    mean = float(values.mean())
    if len(values) < 2:
        return Interval(mean, None, None)
    if np.all(values == values[0]):
        return Interval(float(values[0]), float(values[0]), float(values[0]))
    result = bootstrap(
        (values,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, BATCH_VALUES // len(values)),
        method="BCa" if len(values) <= BCA_MOST else "percentile",
        rng=np.random.default_rng(seed),
    )
    low, high = result.confidence_interval
    return Interval(mean, float(low), float(high))


# --- The sequential test -----------------------------------------------------------------------------------------

ERROR_RATE = 0.05
BOUND = math.log((1 - ERROR_RATE) / ERROR_RATE)
"""Where the test stops: 2.944 for error rates of 5% on both sides (Wald 1945)."""


def log_likelihood_ratio(values: np.ndarray, low: float, high: float) -> float:
    """The generalised log-likelihood ratio of "the mean is `high`" against "the mean is `low`" (GSPRT).

    Values count as normal with a variance not known, for which each hypothesis takes its likeliest, as in the testing
    of chess engines on pairs of games: ratio = n/2 log((s^2 + (mean - low)^2) / (s^2 + (mean - high)^2)).

    Args:
        values: (n,) one for each deal.
        low: the mean by the one hypothesis.
        high: the mean by the other.
    """
    n = len(values)
    mean = float(values.mean())
    # One square point more, so that agents that never differ have a spread too.
    variance = (float(np.sum((values - mean) ** 2)) + 1) / n
    return n / 2 * math.log((variance + (mean - low) ** 2) / (variance + (mean - high) ** 2))


def sprt_verdict(ratio: float) -> str | None:
    """What the sequential test says: "high" or "low" is accepted, or None as yet."""
    if ratio >= BOUND:
        return "high"
    return "low" if ratio <= -BOUND else None


# --- The control variate -----------------------------------------------------------------------------------------


def control(values: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, float]:
    """The values less what a control variate explains of them, and the factor by which their variance fell.

    The coefficient for the deals of even number is estimated on those of odd number and the other way round, so the
    mean stays unbiased.

    Args:
        values: (n,) one for each deal.
        controls: (n,) something known of each deal whose expectation is 0.
    """
    adjusted = np.array(values, np.float64)
    for half in (0, 1):
        theirs, ours = slice(1 - half, None, 2), slice(half, None, 2)
        spread = float(np.sum(controls[theirs] ** 2))
        slope = float(np.sum(controls[theirs] * (values[theirs] - values[theirs].mean()))) / spread if spread else 0.0
        adjusted[ours] -= slope * controls[ours]
    before, after = float(np.var(values)), float(np.var(adjusted))
    return adjusted, before / after if after else math.nan
