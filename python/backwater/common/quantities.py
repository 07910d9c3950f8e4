"""Numbers with units: read from text such as `325 KB`, and written for people."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from fractions import Fraction
from typing import Any

from backwater._core import InputError

TIMES = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
"""Units of time, in picoseconds."""
SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BINARY_SIZES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
"""Units of size, in bytes."""
RATES = {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
"""Units of a rate, in bits per second."""
LONG_TIMES = {"s": 1, "min": 60, "h": 3600}
"""Units of time that people wait, in seconds."""
UNITS = {
    **{unit: float(Fraction(scale, 10**12)) for unit, scale in TIMES.items()},
    **{unit: float(scale) for unit, scale in (SIZES | BINARY_SIZES | RATES).items()},
}
"""What a unit stands for: seconds, bytes, or bits per second."""
NUMBER = re.compile(r"([0-9]{1,24}(?:\.[0-9]{1,12})?) *([A-Za-z]+)")


def as_number(value: Any, what: str) -> float:
    """Returns a number, or a quantity as bytes, seconds or bits per second.

    # Errors
    `InputError` where it is neither.
    """
    if isinstance(value, int | float):
        return float(value)
    if (parts := quantity(value)) is not None:
        return parts[0] * UNITS[parts[1]]
    raise InputError(f"{what}: {value!r} is no number")


def quantity(value: Any, units: Container[str] = UNITS.keys()) -> tuple[float, str] | None:
    """Returns the number and the unit of `"325 KB"`, one of these units, or None for anything else."""
    if isinstance(value, str) and (match := NUMBER.fullmatch(value)) and match[2] in units:
        return float(match[1]), match[2]
    return None


def whole(text: str, units: Mapping[str, int]) -> int | None:
    """Returns a quantity in whole numbers of the smallest of these units. The rest is cut off, and nothing is rounded.

    None where it is no quantity with one of these units.

    >>> whole("2.5 us", TIMES), whole("3KB", SIZES), whole("3 KB", TIMES)
    (2500000, 3000, None)
    """
    match = NUMBER.fullmatch(text.strip())
    return int(Fraction(match[1]) * units[match[2]]) if match and match[2] in units else None


def in_largest(value: int, units: Mapping[str, int]) -> tuple[int, str]:
    """Returns a whole number in the largest of these units that keeps it whole. 0 is in the smallest.

    >>> in_largest(325_000, SIZES)
    (325, 'KB')
    """
    largest_first = sorted(units.items(), key=lambda unit: -unit[1])
    unit, scale = next((unit, scale) for unit, scale in largest_first if value % scale == 0 and (value or scale == 1))
    return value // scale, unit


def count(n: float | None) -> str:
    """Writes 12345 as 12,345 and 12345678 as 12.3 M."""
    if n is None:
        return "-"
    for scale, unit in ((1e9, " G"), (1e6, " M")):
        if n >= scale:
            return f"{n / scale:.3g}{unit}" if n < 1000 * scale else f"{n / scale:,.0f}{unit}"
    return f"{n:,.0f}"


def some(n: int, thing: str, ending: str = "s") -> str:
    """Writes `1 flow` or `2,000 flows`."""
    return f"{n:,} {thing}{'' if n == 1 else ending}"


def scaled(value: float, units: list[tuple[float, str]]) -> str:
    """Writes a value to three digits, in the first of these units that it reaches, or else in the last.

    >>> scaled(999.7, [(1000.0, "KB"), (1.0, "B")]), scaled(0.25, [(1.0, "B")])
    ('1000 B', '0.25 B')
    """
    scale, unit = next((one for one in units if abs(value) >= one[0]), units[-1])
    digits = f"{value / scale:.3g}"
    return f"{float(digits):.0f} {unit}" if "e+" in digits else f"{digits} {unit}"


def size(n: float) -> str:
    """Writes bytes with a decimal unit."""
    return scaled(n, [(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B")])


def rate(n: float) -> str:
    """Writes bits per second with a decimal unit."""
    return scaled(n, [(1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1, "b/s")])


def percent(share: float, digits: int = 0) -> str:
    """0.123 as 12 %, or with so many digits behind the point."""
    return f"{100 * share:.{digits}f} %"


def tenths(share: float) -> str:
    """To a tenth of a percent, as on the page (`pieces.js`): what is not 0 or 1 does not read so."""
    if share in (0, 1):
        return percent(share)
    if share < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if share > 0.9995 else percent(share, 1)


def span(seconds: float) -> str:
    if seconds >= 120:
        minutes = round(seconds / 60)
        return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
    return scaled(seconds, [(1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")])
