"""Quantities for scenarios: `100 * units.Gbps` is a rate, `2 * units.us` a time, and `50 * units.KB` a size.

A quantity is a number of bits per second, seconds or bytes that knows its unit. Where a scenario wants text with a
unit, it is written as such. An array times a unit is a list of quantities, for `vary`.

>>> from backwater import units
>>> 100 * units.Gbps
100 Gbps
>>> float(2 * units.us)
2e-06
>>> 2 * units.us + 500 * units.ns
2.5 us
>>> [str(one) for one in units.KB * [1, 2.5]]
['1 KB', '2.5 KB']
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any, overload

from backwater._core import InputError
from backwater.common.quantities import RATES, SIZES, TIMES, UNITS

SCALES = {base: {unit: UNITS[unit] for unit in units} for base, units in (("bps", RATES), ("B", SIZES), ("s", TIMES))}
"""The units in which a quantity of each base unit is written, smallest first."""
WORDS = {"bps": "a rate", "B": "a size", "s": "a time"}


class Quantity(float):
    """A number with a base unit: `bps`, `B` or `s`."""

    base: str
    __array_ufunc__ = None  # NumPy leaves products to this class.

    def __new__(cls, value: float, base: str) -> Quantity:
        made = super().__new__(cls, value)
        made.base = base
        return made

    @overload  # type: ignore[override]
    def __mul__(self, other: float) -> Quantity: ...
    @overload
    def __mul__(self, other: Iterable[float]) -> list[Quantity]: ...
    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Quantity):
            return NotImplemented
        if isinstance(other, Iterable):
            return [self * float(one) for one in other]
        return Quantity(float(self) * float(other), self.base)

    @overload
    def __rmul__(self, other: float) -> Quantity: ...
    @overload
    def __rmul__(self, other: Iterable[float]) -> list[Quantity]: ...
    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Quantity):
            return self._ratio(other) if other.base == self.base else NotImplemented
        return Quantity(float(self) / other, self.base)

    def _ratio(self, other: Quantity) -> float:
        """Returns how many times another it is. It is exact for whole picoseconds, bytes or bits per second."""
        least = next(iter(SCALES[self.base].values()))
        counts = [float(one) / least for one in (self, other)]
        wholes = [round(count) if math.isfinite(count) else 0 for count in counts]
        near = all(whole and abs(count - whole) <= 1e-12 * whole for count, whole in zip(counts, wholes, strict=True))
        return wholes[0] / wholes[1] if near else float(self) / float(other)

    def __add__(self, other: Any) -> Any:
        return self._with(other, float(self) + float(other))

    def __radd__(self, other: Any) -> Any:
        return self._with(other, float(other) + float(self))

    def __sub__(self, other: Any) -> Any:
        return self._with(other, float(self) - float(other))

    def _with(self, other: Any, value: float) -> Quantity:
        """Returns a sum or difference. A plain number is in the base unit."""
        if isinstance(other, Quantity) and other.base != self.base:
            raise TypeError(f"{self} and {other}: expected two quantities of a kind")
        return Quantity(value, self.base)

    def __str__(self) -> str:
        return text(float(self), self.base)

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        return Quantity, (float(self), self.base)


BitsPerSec = str | Quantity | float
"""Text such as `100 Gbps`, a quantity, or bits per second."""
Bytes = str | Quantity | float
"""Text such as `50 KB`, a quantity, or bytes."""
Duration = str | Quantity | float
"""Text such as `2 us`, a quantity, or seconds."""


def text(value: float, base: str) -> str:
    """Writes a number of a base unit as a scenario reads it: rounded to whole bits per second, bytes or picoseconds.

    The unit is the largest that leaves a number of 1 and more.

    # Errors
    `InputError` for a negative number, and for one that is not finite.
    """
    if not 0 <= value < math.inf:
        raise InputError(f"{value!r}: expected {WORDS[base]}, 0 or more")
    scales = SCALES[base]
    least = next(iter(scales.values()))
    count = round(value / least)
    unit = next((unit for unit, scale in reversed(scales.items()) if count >= round(scale / least)), next(iter(scales)))
    return f"{Decimal(count) / round(scales[unit] / least):f} {unit}"


def spelled(value: str | float | timedelta | None, base: str) -> str | None:
    """Returns a rate, size or time as text with a unit. A plain number is in the base unit.

    # Errors
    `InputError` for a quantity of another kind, such as a time in place of a rate.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, timedelta):
        value = Quantity(value.total_seconds(), "s")
    if isinstance(value, Quantity) and value.base != base:
        raise InputError(f"{value}: expected {WORDS[base]}, such as '{text(1.0, base)}'")
    return text(float(value), base)


bps, Kbps, Mbps, Gbps, Tbps = (Quantity(scale, "bps") for scale in SCALES["bps"].values())
B, KB, MB, GB, TB = (Quantity(scale, "B") for scale in SCALES["B"].values())
KiB, MiB, GiB, TiB = (Quantity(1024.0**power, "B") for power in (1, 2, 3, 4))
ps, ns, us, ms, s = (Quantity(scale, "s") for scale in SCALES["s"].values())
