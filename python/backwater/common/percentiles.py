"""Percentiles by nearest rank."""

from __future__ import annotations

from fractions import Fraction

FEWEST = {"p99.99": 10_000, "p99.9": 1000, "p99": 200, "p95": 20}
"""Flows or samples below which a percentile is no measurement; any other statistic needs one."""


def rank_of(percent: int | Fraction, n: int) -> int:
    """Returns the index of the smallest value that at least this share of values do not exceed, in exact integers."""
    return max(0, -(-percent * n // 100) - 1)
