"""Quantities for scenarios: `100 * units.Gbps` is a rate, `2 * units.us` a time, and `50 * units.KB` a size.

A quantity is a number of bits per second, seconds or bytes that knows its unit. Where a scenario wants text with a
unit, it is written as such. An array times a unit is a list of quantities, for `vary`.

>>> from backwater import units
>>> 100 * units.Gbps
100 Gbps
>>> float(2 * units.us)
2e-06
>>> [str(one) for one in units.KB * [1, 2.5]]
['1 KB', '2.5 KB']
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from backwater._core import InputError

SCALES = {
    "bps": {"bps": 1.0, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12},
    "B": {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    "s": {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0},
}
"""The units in which a quantity of each base unit is written, smallest first."""
WORDS = {"bps": "a rate", "B": "a size", "s": "a time"}
DIGITS = 12
"""Digits behind the point that a scenario reads."""


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
            return float(self) / float(other)
        return Quantity(float(self) / other, self.base)

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
    """Writes a number of a base unit with the largest unit that leaves a whole number or 1 and more.

    # Errors
    `InputError` if the value has no exact short form: below a picosecond or a byte, or not a number.
    """
    scales = SCALES[base]
    for unit, scale in reversed(scales.items()):
        number = f"{value / scale:.15g}"
        if (value / scale >= 1 or unit == next(iter(scales))) and "e" not in number:
            return f"{number} {unit}"
    raise InputError(f"{value!r} {base}: expected {WORDS[base]} that can be written with a unit")


def spelled(value: str | float | None, base: str) -> str | None:
    """Returns a rate, size or time as text with a unit. A plain number is in the base unit.

    # Errors
    `InputError` for a quantity of another kind, such as a time in place of a rate.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Quantity) and value.base != base:
        raise InputError(f"{value}: expected {WORDS[base]}, such as '{text(1.0, base)}'")
    return text(float(value), base)


bps, Kbps, Mbps, Gbps, Tbps = (Quantity(scale, "bps") for scale in SCALES["bps"].values())
B, KB, MB, GB, TB = (Quantity(scale, "B") for scale in SCALES["B"].values())
KiB, MiB, GiB, TiB = (Quantity(1024.0**power, "B") for power in (1, 2, 3, 4))
ps, ns, us, ms, s = (Quantity(scale, "s") for scale in SCALES["s"].values())
