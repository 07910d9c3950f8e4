"""Rows of tables that somebody has in Python: data frames, Arrow tables, and iterators of tuples or mappings."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any

from backwater._core import InputError
from backwater.common.arrays import pa
from backwater.common.quantities import UNITS, quantity
from backwater.scenario.units import SCALES, Quantity

BATCH = 1 << 16


@dataclass(frozen=True)
class Columns:
    """Columns of a table."""

    what: str
    """Name of the table in messages, such as `flows`."""
    names: tuple[str, ...]
    """Columns in the order of a tuple."""
    needed: int
    """Columns that a tuple has at least."""
    rest: str
    """Which columns a tuple may have besides, in messages."""
    choose: Callable[[Sequence[str]], list[str]]
    """Picks those of a table by their names, or refuses it."""
    sparse: bool = False
    """Whether each mapping may leave out some: what the first one has does not bind the others."""


def listed(source: Any, columns: Columns) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Returns the names of the columns, and the rows."""
    try:
        if hasattr(source, "__arrow_c_stream__") or isinstance(source, pa.Table):
            return of_frame(pa.table(source), columns)
        if hasattr(source, "itertuples"):  # A data frame of a pandas without Arrow's protocol.
            return of_frame(pa.table({str(name): source[name].to_numpy() for name in source.columns}), columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        told = ": ".join(map(str, reversed(error.args)))
        raise InputError(f"{columns.what}: {told}: expected values of one type in each column") from None
    tuples = ", ".join(columns.names[: columns.needed])
    if isinstance(source, str | bytes | Mapping) or not isinstance(source, Iterable):
        raise InputError(
            f"{columns.what}: {type(source).__name__}: expected a data frame, or an iterator of ({tuples})"
        )
    rows = iter(source)
    first = next(rows, None)
    if first is None:
        return list(columns.names[: columns.needed]), iter(())
    if isinstance(first, Mapping) and columns.sparse:
        every = [first, *rows]
        names = columns.choose(list(dict.fromkeys(name for row in every for name in row)))
        return names, ([row.get(name) for name in names] for row in every)
    if isinstance(first, Mapping):
        names = columns.choose(list(first))

        def values() -> Iterator[Sequence[Any]]:
            for i, row in enumerate(chain([first], rows)):
                if missing := [name for name in names if name not in row]:
                    raise InputError(f"{columns.what}[{i}] has no '{missing[0]}': expected {', '.join(names)}")
                yield [row[name] for name in names]

        return names, values()
    if not columns.needed <= len(first) <= len(columns.names):
        raise InputError(f"{columns.what}[0] = {first!r}: expected ({tuples}), perhaps with {columns.rest}")
    return list(columns.names[: len(first)]), chain([first], rows)


def of_frame(table: pa.Table, columns: Columns) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Returns the columns of a table, and its rows."""
    names = columns.choose(table.column_names)

    def rows() -> Iterator[Sequence[Any]]:
        for batch in table.select(names).to_batches(BATCH):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    return names, rows()


def nanoseconds(value: Any, in_ns: bool, where: str) -> str:
    """Returns a start in nanoseconds with up to three decimals: it is rounded to picoseconds."""
    if isinstance(value, timedelta):
        value = Quantity(value.total_seconds(), "s")
    try:
        parts = quantity(value)
        if parts is not None and parts[1] in SCALES["s"]:
            exact = Decimal(str(parts[0])) * Decimal(str(UNITS[parts[1]])) * 10**9
        elif (
            isinstance(value, str | bytes | bool)
            or value is None
            or (isinstance(value, Quantity) and value.base != "s")
        ):
            raise InvalidOperation
        else:
            exact = Decimal(str(float(value))) * (1 if in_ns and not isinstance(value, Quantity) else 10**9)
        if not exact.is_finite() or exact < 0:
            raise InvalidOperation
    except (InvalidOperation, TypeError, ValueError):
        allowed = "nanoseconds" if in_ns else "seconds, or a time with a unit such as '2 us'"
        raise InputError(f"{where} = {value!r}: expected {allowed}, 0 or more") from None
    return f"{exact.quantize(Decimal('0.001')):f}".rstrip("0").rstrip(".")


def whole(value: Any, where: str) -> str:
    """Returns a whole number as text. A float that is whole is one."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    try:
        number = operator.index(number)
    except TypeError:
        raise InputError(f"{where} = {value!r}: expected a whole number") from None
    if number < 0:
        raise InputError(f"{where} = {number}: expected 0 or more")
    return str(number)
