"""Ranges of keys that are tuned: numbers, whole numbers, quantities with a unit, and choices."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from backwater._core import InputError
from backwater.common.quantities import BINARY_SIZES, UNITS, quantity
from backwater.common.values import Table
from backwater.scenario import units
from backwater.tuning import declared

BASES = {unit: base for base, scales in units.SCALES.items() for unit in scales} | dict.fromkeys(BINARY_SIZES, "B")
"""The base unit of each unit."""
EXPECTED = "a range such as 0.01..1, 8..128 or 50KB..400KB, perhaps with :log, or choices such as bfc|dctcp"
LOG = ":log"
"""Behind a range: values are drawn evenly on a logarithmic scale."""


class Trial(Protocol):
    """The methods of a trial of Optuna that ranges use."""

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float: ...
    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int: ...
    def suggest_categorical(self, name: str, choices: list[Any]) -> Any: ...


@dataclass(frozen=True)
class Range:
    """Values of one key, from `low` to `high`, in units of `base` if it has a unit."""

    low: float
    high: float
    is_log: bool = False
    is_whole: bool = False
    base: str = ""

    @property
    def ends(self) -> tuple[Any, ...]:
        """The smallest and the largest value, as a scenario takes them."""
        return self._value(self.low), self._value(self.high)

    def draw(self, trial: Trial, key: str) -> Any:
        """Asks a trial for a value, as a scenario takes it."""
        if self.is_whole:
            return trial.suggest_int(key, int(self.low), int(self.high), log=self.is_log)
        return self._value(trial.suggest_float(key, self.low, self.high, log=self.is_log))

    def _value(self, number: float) -> Any:
        if self.is_whole:
            return int(number)
        rounded = float(f"{number:.6g}")
        return units.text(rounded, self.base) if self.base else rounded


@dataclass(frozen=True)
class Choice:
    """Some values of one key."""

    values: tuple[Any, ...]

    @property
    def ends(self) -> tuple[Any, ...]:
        """All values."""
        return self.values

    def draw(self, trial: Trial, key: str) -> Any:
        """Asks a trial for one of the values."""
        return trial.suggest_categorical(key, list(self.values))


def parsed(key: str, text: str) -> Range | Choice:
    """Reads a range or choices as the command line has them: `0.01..1:log`, `50KB..400KB`, `bfc|dctcp`.

    # Errors
    `InputError` if it is neither.
    """
    if "|" in text:
        return Choice(tuple(plain(word.strip()) for word in text.split("|")))
    body, colon, mode = text.partition(":")
    low, dots, high = body.partition("..")
    if not dots or (colon and mode != "log"):
        raise InputError(f"{key}={text}: expected {EXPECTED}")
    return between(key, (plain(low.strip()), plain(high.strip())), is_log=mode == "log", shown=text)


def plain(word: str) -> Any:
    """Returns a whole number, a number, or text."""
    if re.fullmatch(r"-?[0-9]{1,15}", word):
        return int(word)
    return float(word) if re.fullmatch(r"-?[0-9]*\.?[0-9]+([eE]-?[0-9]{1,2})?", word) else word


def between(key: str, ends: tuple[Any, Any], *, is_log: bool = False, shown: str | None = None) -> Range:
    """Returns the range between two numbers, two whole numbers or two quantities of a kind.

    # Errors
    `InputError` if they are not of one kind, or not in order.
    """
    told = shown or f"({ends[0]!r}, {ends[1]!r})"
    bases, numbers = [], []
    for end in ends:
        parts = quantity(str(end)) if isinstance(end, str | units.Quantity) else None
        if isinstance(end, units.Quantity):
            bases.append(end.base)
            numbers.append(float(end))
        elif parts is not None:
            bases.append(BASES[parts[1]])
            numbers.append(parts[0] * UNITS[parts[1]])
        elif isinstance(end, int | float) and not isinstance(end, bool) and math.isfinite(end):
            bases.append("")
            numbers.append(float(end))
        else:
            raise InputError(f"{key}={told}: expected {EXPECTED}")
    if bases[0] != bases[1] or numbers[0] >= numbers[1] or (is_log and numbers[0] <= 0):
        raise InputError(
            f"{key}={told}: expected two values of a kind, the first below the second{' and above 0' * is_log}"
        )
    whole = all(isinstance(end, int) for end in ends)
    return Range(numbers[0], numbers[1], is_log, whole, bases[0])


def from_schema(key: str, scenario: Table, *, is_log: bool = False) -> Range:
    """Returns the range of a key that the schema of scenarios declares.

    # Errors
    `InputError` if it declares none, or one that a logarithmic scale cannot have.
    """
    found = declared.bounds(key, scenario)
    if found is None:
        raise InputError(f"{key}: no range is declared for this key; write {key}=RANGE, with {EXPECTED}")
    if is_log and found.low <= 0:
        raise InputError(f"{key}{LOG}: the declared range begins at {found.low:g}; expected {key}=LOW..HIGH{LOG}")
    return Range(found.low, found.high, is_log, found.is_whole, found.base)


def of(over: Mapping[str, Any], scenario: Table) -> dict[str, Range | Choice]:
    """Reads what each key is tuned over: text as on the command line, a pair of ends, or a list of choices.

    None, or `":log"` alone, takes the range that the schema declares for the key.

    # Errors
    `InputError` for anything else, and if there is nothing.
    """
    if not over:
        raise InputError("over: expected a key at least, such as {'host.dctcp.g': (0.01, 1)}")
    found: dict[str, Range | Choice] = {}
    for key, given in over.items():
        if isinstance(given, Range | Choice):
            found[key] = given
        elif given is None or given == LOG:
            found[key] = from_schema(key, scenario, is_log=given == LOG)
        elif isinstance(given, str):
            found[key] = parsed(key, given)
        elif isinstance(given, tuple) and len(given) == 2:
            found[key] = between(key, (given[0], given[1]))
        elif isinstance(given, Iterable):
            found[key] = Choice(tuple(given))
        else:
            raise InputError(f"{key}={given!r}: expected a pair of ends, a list of choices, or {EXPECTED}")
    return found
