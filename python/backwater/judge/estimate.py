"""A number over several seeds: its value, and the interval that contains the true value.

Intervals are of 95 %, by the jackknife. The measurement is repeated without each seed in turn, and the change gives its
uncertainty (Tukey 1958). This works for any arithmetic on means and deviations. For a mean alone it is Student's t
interval. Positive quantities are judged by their logarithm, so intervals of a ratio and of its inverse agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

CONFIDENCE = 0.95
ROUNDING = 1e-12
"""Relative deviations below this are of the arithmetic."""


@dataclass(frozen=True)
class Estimate:
    """A number and its interval over seeds. With one seed the bounds are unknown."""

    value: float
    low: float = -math.inf
    high: float = math.inf
    reads: tuple[Any, ...] = ()
    """The measurements that it comes from."""

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    @property
    def is_bounded(self) -> bool:
        return self.low > -math.inf or self.high < math.inf

    def excludes(self, number: float) -> bool:
        return not self.low <= number <= self.high

    def within(self, low: float | None, high: float | None) -> str:
        """Returns `pass` if all of the interval is from `low` to `high`, `fail` if none of it is, else `undecided`."""
        least, most = -math.inf if low is None else low, math.inf if high is None else high
        if not self.is_bounded:
            return "undecided"
        if least <= self.low and self.high <= most:
            return "pass"
        return "fail" if self.high < least or self.low > most else "undecided"


def exact(value: float) -> Estimate:
    return Estimate(value, value, value)


def of_mean(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Estimates a mean that may be negative, by Student's t."""
    whole, n = math.fsum(values), len(values)
    without = [(whole - one) / (n - 1) for one in values]
    return jackknife(whole / n, without, signed=True, confidence=confidence)


def jackknife(
    whole: float, without: Sequence[float], *, signed: bool = False, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimates a value and its interval by the jackknife, from all seeds and from all seeds but one."""
    n = len(without)
    positive = not signed and whole > 0 and min(without) > 0
    centre, rest = (math.log(whole), [math.log(one) for one in without]) if positive else (whole, list(without))
    mean = fmean(rest)
    deviation = math.sqrt((n - 1) / n * math.fsum((one - mean) ** 2 for one in rest))
    if deviation <= ROUNDING * (1.0 if positive else max(abs(one) for one in [whole, *without])):
        return exact(whole)
    from scipy.special import stdtrit  # A fifth of a second to import: only where there are seeds to compare.

    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * deviation
    if positive:
        return Estimate(whole, math.exp(max(centre - reach, -700.0)), math.exp(min(centre + reach, 700.0)))
    return Estimate(whole, centre - reach, centre + reach)
