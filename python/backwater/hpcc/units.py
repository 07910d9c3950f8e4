"""Rates, delays and times, as ns-3.17 converts them and as scenario files write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from backwater.common.quantities import RATES, SIZES, TIMES, in_largest, whole
from backwater.hpcc.words import number

RATE_FORMS = "a rate such as 100Gbps, 40Mb/s or 25000000000 (bit/s)"
DELAY_FORMS = "a delay such as 1000ns, 3.33us or 0.001ms"

PREFIX = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
SECONDS_MAX = 2**31
NANOSECONDS = {unit: scale // TIMES["ns"] for unit, scale in TIMES.items() if unit != "ps"}
"""Units of time that ns-3 counts in nanoseconds."""

DECIMAL = r"([0-9]{1,19}\.?[0-9]{0,19}|\.[0-9]{1,19})"
RATE = re.compile(DECIMAL + r"(?:([kKMG]?)b(?:ps|/s))?")
DELAY = re.compile(DECIMAL + r"(s|ms|us|ns|ps)?")


def rate(word: str) -> int | None:
    """Returns a rate in whole bit/s, or None for anything else."""
    match = RATE.fullmatch(word)
    return int(Fraction(match[1]) * PREFIX[match[2] or ""]) if match else None


def delay(word: str) -> int | None:
    """Returns a delay in nanoseconds. Without a unit it is in seconds."""
    match = DELAY.fullmatch(word)
    if match is None:
        return None
    if match[2] == "ps":
        return int(Fraction(match[1]) / 1000)
    return nanoseconds(float(match[1]), NANOSECONDS[match[2] or "s"])


def is_exact(word: str) -> bool:
    """Returns whether `delay` converts the text without rounding."""
    match = DELAY.fullmatch(word)
    assert match is not None, "a delay"
    ps = Fraction(match[1]) * (1 if match[2] == "ps" else 1000 * NANOSECONDS[match[2] or "s"])
    return ps == 1000 * (delay(word) or 0)


def nanoseconds(value: float, unit: int = 10**9) -> int:
    """Converts `value` of units of so many nanoseconds, as ns-3 does: with 64 bits of fraction, and truncated twice.

    2.0002 s is 2000199999 ns, as the nearest double is a little less.
    """
    whole = int(value)
    fraction = int((value - whole) * 2.0**64)
    return whole * unit + (fraction * unit >> 64)


def seconds(ns: int) -> str:
    """Returns seconds as a decimal that `nanoseconds` converts back to `ns`.

    It adds 0.1 ns if the double is too small.
    """
    plain = f"{ns // 10**9}.{ns % 10**9:09d}"
    return plain if nanoseconds(float(plain)) == ns else plain + "1"


def seconds_ns(word: str) -> int | None:
    """Converts seconds as text to nanoseconds, or returns None: for no number, a negative one, or above 68 years."""
    value = number(word)
    return nanoseconds(value) if value is not None and 0 <= value <= SECONDS_MAX else None


def shown(value: int, units: Mapping[str, int]) -> str:
    """Writes a quantity with the largest unit that keeps it a whole number. ns-3 has no prefix above giga."""
    number, unit = in_largest(value, {unit: scale for unit, scale in units.items() if not unit.startswith("T")})
    return f"{number} {unit}"


def toml_time(ns: int) -> str:
    return shown(ns, NANOSECONDS)


def toml_rate(bps: int) -> str:
    return shown(bps, RATES)


def toml_size(size: int) -> str:
    return shown(size, SIZES)


def ns3_rate(bps: int) -> str:
    """Writes a rate as ns-3 does: `100Gbps`."""
    return toml_rate(bps).replace(" ", "")


def resolved(text: str | float) -> int:
    """Returns a quantity of a resolved scenario, in picoseconds, bytes or bit/s."""
    value = whole(str(text), TIMES | SIZES | RATES)
    assert value is not None, "a resolved scenario has units"
    return value
