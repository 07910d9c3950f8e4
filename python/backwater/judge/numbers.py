"""How numbers are written."""

from __future__ import annotations

from backwater.judge.estimate import Estimate


def number(x: float | None) -> str:
    """Writes a number: thousands in full, millions to three digits."""
    if x is None:
        return "-"
    if not 1000 <= abs(x) < 1e12:
        return f"{x:.3g}"
    return f"{x:,.0f}" if abs(x) < 1e6 else f"{float(f'{x:.3g}'):,.0f}"


def told_estimate(measured: Estimate) -> str:
    """Writes `3.1 (2.8 to 3.4)`, or the number alone if it has no interval."""
    rare = "" if measured.above_zero is None else ", above 0 in {} of {} seeds".format(*measured.above_zero)
    return number(measured.value) + between_words(measured) + rare


def between_words(measured: Estimate) -> str:
    if measured.is_exact or not measured.is_bounded:
        return ""
    low, high = number(measured.low), number(measured.high)
    return "" if low == high == number(measured.value) else f" ({low} to {high})"
