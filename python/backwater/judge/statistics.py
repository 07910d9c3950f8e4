"""Statistics of what a run measured: of values, of samples over time, and of histograms."""

from __future__ import annotations

import re
from fractions import Fraction

from backwater._core import InputError
from backwater.common.arrays import Array, np
from backwater.common.percentiles import FEWEST, rank_of

PERCENTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]{1,6})?)")
SHARE = re.compile(r"share(<=|>)([0-9]{1,18})")

Histogram = tuple[Array, Array]
"""Values in rising order, and how many samples have each."""


class NoData(Exception):
    """The run has too few flows or samples for a measurement. The text names it."""


def statistic(values: Array, name: str, of: str = "flows") -> float:
    """Returns a mean, minimum, maximum or percentile. Percentiles are by nearest rank."""
    need = FEWEST.get(name, 1)
    if len(values) < need:
        raise NoData(f"{name} of {len(values)} {of}")
    if name == "mean":
        return float(values.mean())
    if name == "min":
        return float(values.min())
    if name == "max":
        return float(values.max())
    if match := PERCENTILE.fullmatch(name):
        rank = rank_of(Fraction(match[1]), len(values))
        return float(np.partition(values, rank)[rank])
    raise InputError(f"statistic {name!r}: expected mean, min, p50, p95, p99, p99.99 or max")


def share_with_timeout(timeouts: Array, name: str) -> float:
    """Returns the share of flows that had a timeout."""
    if name != "share":
        raise InputError(f'with_timeout = {name!r}: expected "share"')
    if len(timeouts) == 0:
        raise NoData("no flows")
    return float((timeouts > 0).mean())


def sample_statistic(values: Array, name: str) -> float:
    """Returns a statistic of samples over time, or the share of samples above or below a number of bytes."""
    if match := SHARE.fullmatch(name):
        if len(values) == 0:
            raise NoData("no samples")
        below = float((values <= int(match[2])).mean())
        return below if match[1] == "<=" else 1 - below
    return statistic(values, name, "samples")


def histogram_statistic(of: Histogram, name: str) -> float:
    """Returns a statistic of a histogram, or the share of samples above or below a value."""
    values, samples = of
    total = samples.sum()
    if name == "mean":
        return float((values * samples).sum() / total)
    if name == "max":
        return float(values[samples > 0].max())
    if match := re.fullmatch(r"p([0-9]{1,2})", name):
        return float(values[np.searchsorted(np.cumsum(samples), int(match[1]) * total / 100)])
    if match := SHARE.fullmatch(name):
        below = samples[values <= int(match[2])].sum() / total
        return float(below if match[1] == "<=" else 1 - below)
    raise InputError(f'statistic {name!r}: expected mean, p50, p99, max, "share<=32" or "share>32"')


def distance(one: Histogram, other: Histogram) -> float:
    """Returns the largest difference of two cumulative distributions (Kolmogorov-Smirnov)."""
    at = np.union1d(one[0], other[0])
    shares = []
    for flows, samples in (one, other):
        cumulative = np.concatenate([[0.0], np.cumsum(samples) / samples.sum()])
        shares.append(cumulative[np.searchsorted(flows, at, side="right")])
    return float(np.abs(shares[0] - shares[1]).max())
