"""A number over several seeds: its value, and the interval that contains the true value.

Intervals are of 95 %, by the jackknife. The measurement is repeated without each seed in turn, and the change gives its
uncertainty (Tukey 1958). This works for any arithmetic on means and deviations. For a mean alone it is Student's t
interval. Positive quantities are judged by their logarithm, so intervals of a ratio and of its inverse agree.

Two laws are counted instead. A quantity that is 0 in most seeds, such as drops, has no useful interval: it is not 0 as
soon as one seed has some. The share of seeds with an event has the exact interval of Clopper and Pearson (1934).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from backwater.judge import laws

CONFIDENCE = 0.95
MOST_SEEDS = 1000
"""A measurement that needs this many to be decided, or more, is practically at its bound."""
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
    above_zero: tuple[int, int] | None = None
    """In how many seeds of how many it is above 0, if it is 0 in some and never below."""

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    @property
    def is_bounded(self) -> bool:
        return self.low > -math.inf or self.high < math.inf

    def narrowed(self, by: float) -> Estimate:
        """Returns the same value with an interval that is so many times as wide."""
        if self.low > 0:
            low, high = (self.value * (end / self.value) ** by for end in (self.low, self.high))
        else:
            low, high = (self.value + (end - self.value) * by for end in (self.low, self.high))
        return replace(self, low=low, high=high)

    def excludes(self, number: float) -> bool:
        return not self.low <= number <= self.high

    def within(self, low: float | None, high: float | None) -> str:
        """Returns `pass` if all of the interval is from `low` to `high`, `fail` if none of it is, else `undecided`."""
        least, most = -math.inf if low is None else low, math.inf if high is None else high
        if not self.is_bounded:
            return "undecided"
        if self.above_zero is not None and most == 0:
            return "fail"
        if least <= self.low and self.high <= most:
            return "pass"
        return "fail" if self.high < least or self.low > most else "undecided"


def seeds_to_decide(measured: Estimate, seeds: int, verdict: Callable[[Estimate], str]) -> int | None:
    """Returns with about how many seeds an undecided measurement would have a verdict, if its value stayed.

    At most `MOST_SEEDS`. None if nothing is known of its interval.
    """
    if seeds < 2 or not (math.isfinite(measured.low) and math.isfinite(measured.high)):
        return None

    def reach(n: int) -> float:
        return laws.students_t(n - 1, (1 + CONFIDENCE) / 2) / math.sqrt(n)

    return first_decided(seeds, lambda n: verdict(measured.narrowed(reach(n) / reach(seeds))))


def first_decided(seeds: int, verdict: Callable[[int], str]) -> int:
    """Returns the first larger number of seeds, in steps of a tenth, with another verdict than `undecided`.

    At most `MOST_SEEDS`.
    """
    while seeds < MOST_SEEDS:
        seeds += max(1, seeds // 10)
        if verdict(seeds) != "undecided":
            break
    return min(seeds, MOST_SEEDS)


def exact(value: float) -> Estimate:
    return Estimate(value, value, value)


def of_share(count: int, of: int) -> Estimate:
    """Estimates how often an event happens, from the runs in which it did: the interval of Clopper and Pearson."""
    rest = (1 - CONFIDENCE) / 2
    low = laws.beta(count, of - count + 1, rest) if count else 0.0
    high = laws.beta(count + 1, of - count, 1 - rest) if count < of else 1.0
    return Estimate(count / of, low, high)


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
    reach = laws.students_t(n - 1, (1 + confidence) / 2) * deviation
    if positive:
        return Estimate(whole, math.exp(max(centre - reach, -700.0)), math.exp(min(centre + reach, 700.0)))
    return Estimate(whole, centre - reach if signed else max(centre - reach, 0.0), centre + reach)
