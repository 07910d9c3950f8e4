"""Numbers with units: read from text such as `325 KB`, and written for people."""

from __future__ import annotations

import re
from typing import Any

from backwater._core import InputError

UNITS = {
    **{unit: 10.0**power for unit, power in (("ps", -12), ("ns", -9), ("us", -6), ("ms", -3), ("s", 0))},
    **{f"{prefix}B": 1000.0**i for i, prefix in enumerate(("", "K", "M", "G", "T"))},
    **{f"{prefix}iB": 1024.0 ** (i + 1) for i, prefix in enumerate(("K", "M", "G", "T"))},
    **{f"{prefix}bps": 1000.0**i for i, prefix in enumerate(("", "K", "M", "G", "T"))},
}
"""What a unit stands for: seconds, bytes, or bits per second."""


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


def quantity(value: Any) -> tuple[float, str] | None:
    """Returns the number and the unit of `"325 KB"`, or None for anything else."""
    if (
        isinstance(value, str)
        and (match := re.fullmatch(r"([0-9]{1,24}(?:\.[0-9]{1,12})?) *([A-Za-z]+)", value))
        and match[2] in UNITS
    ):
        return float(match[1]), match[2]
    return None


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
    for scale, unit in units:
        if abs(value) >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / units[-1][0]:.3g} {units[-1][1]}"


def size(n: float) -> str:
    """Writes bytes with a decimal unit."""
    return scaled(n, [(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B")])


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
