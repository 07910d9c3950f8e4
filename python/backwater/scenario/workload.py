"""Workloads: those that a scenario describes, and flows from a data frame or an iterator.

>>> from backwater import sizes, units, workload
>>> workload.incast(degree=16, aggregate=1 * units.MB, period=100 * units.us)["aggregate"]
'1 MB'
>>> workload.flows([(0, "host0", "host1", 1000), (2 * units.us, "host1", "host0", 500)])["rows"].splitlines()
['start_ns,src,dst,bytes', '0,host0,host1,1000', '2000,host1,host0,500']
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any

from backwater._core import InputError
from backwater.common.arrays import pa
from backwater.common.quantities import UNITS, quantity
from backwater.scenario import typed
from backwater.scenario.builders import background, collective, flow_list, incast, long_lived
from backwater.scenario.units import SCALES, Quantity

__all__ = ["background", "collective", "flow_list", "flows", "incast", "long_lived"]

COLUMNS = ("start", "src", "dst", "bytes", "port", "priority")
NEEDED = 4
"""Columns that a flow has at least."""
BATCH = 1 << 16


def flows(
    source: Any,
    *,
    hosts: Sequence[str] | None = None,
    class_: str | None = None,
    priority: int | None = None,
) -> typed.FlowList:
    """Returns the workload of flows listed one by one, in a data frame or an iterator.

    A data frame of pandas or Polars, or an Arrow table, has columns `start` (or `start_ns`), `src`, `dst` and `bytes`,
    and perhaps `port` and `priority`. An iterator yields a tuple of these for each flow, in this order, or a mapping.
    It is read once. A flow takes as much memory as its line in a CSV file.

    `start` is a number of seconds, or text or a quantity with a unit; `start_ns` is nanoseconds. `src` and `dst` are
    names of hosts. A number n stands for the nth of `hosts`, or for `host<n>` without `hosts`. `class_` is the name of
    the flows in tables, and `priority` that of flows without one.

    # Errors
    `InputError` that names the flow, the value and what was expected.
    """
    names, rows = listed(source)
    lines = [",".join(("start_ns", *names[1:]))]
    for i, row in enumerate(rows):
        if len(row) != len(names):
            raise InputError(f"flows[{i}] = {row!r}: expected {len(names)} values: {', '.join(names)}")
        start = nanoseconds(row[0], names[0] == "start_ns", f"flows[{i}].{names[0]}")
        ends = [host(row[at], hosts, f"flows[{i}].{names[at]}") for at in (1, 2)]
        rest = [whole(row[at], f"flows[{i}].{names[at]}") for at in range(3, len(names))]
        lines.append(",".join([start, *ends, *rest]))
    made: dict[str, object] = {"kind": "flow-list", "rows": "\n".join(lines) + "\n"}
    made |= {key: value for key, value in (("class", class_), ("priority", priority)) if value is not None}
    return made  # type: ignore[return-value]


def listed(source: Any) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Returns the names of the columns, and the rows."""
    if hasattr(source, "__arrow_c_stream__") or isinstance(source, pa.Table):
        return of_frame(pa.table(source))
    if hasattr(source, "itertuples"):  # A data frame of a pandas without Arrow's protocol.
        return of_frame(pa.table({str(name): source[name].to_numpy() for name in source.columns}))
    if isinstance(source, str | bytes | Mapping) or not isinstance(source, Iterable):
        raise InputError(
            f"flows: {type(source).__name__}: expected a data frame, or an iterator of (start, src, dst, bytes)"
        )
    rows = iter(source)
    first = next(rows, None)
    if first is None:
        return list(COLUMNS[:NEEDED]), iter(())
    if isinstance(first, Mapping):
        names = named(list(first))

        def values() -> Iterator[Sequence[Any]]:
            for i, row in enumerate(chain([first], rows)):
                if missing := [name for name in names if name not in row]:
                    raise InputError(f"flows[{i}] has no '{missing[0]}': expected {', '.join(names)}")
                yield [row[name] for name in names]

        return names, values()
    if not NEEDED <= len(first) <= len(COLUMNS):
        raise InputError(f"flows[0] = {first!r}: expected (start, src, dst, bytes), perhaps with port and priority")
    return list(COLUMNS[: len(first)]), chain([first], rows)


def of_frame(table: pa.Table) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Returns the columns of a table that describe flows, and its rows."""
    names = named(table.column_names)

    def rows() -> Iterator[Sequence[Any]]:
        for batch in table.select(names).to_batches(BATCH):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    return names, rows()


def named(there: Sequence[str]) -> list[str]:
    """Returns the columns of flows, in their order.

    # Errors
    `InputError` for the first that is missing.
    """
    start = "start_ns" if "start_ns" in there else "start"
    for name in (start, *COLUMNS[1:NEEDED]):
        if name not in there:
            raise InputError(f"flows: no column '{name}'; there are {', '.join(map(str, there))}")
    if "priority" in there and "port" not in there:
        raise InputError("flows: a column 'priority' without 'port': expected both, or 'port' alone")
    return [start, *COLUMNS[1:NEEDED], *(name for name in COLUMNS[NEEDED:] if name in there)]


def nanoseconds(value: Any, in_ns: bool, where: str) -> str:
    """Returns a start in nanoseconds with up to three decimals: it is rounded to picoseconds."""
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
            exact = Decimal(str(float(value))) * (1 if in_ns else 10**9)
        if not exact.is_finite() or exact < 0:
            raise InvalidOperation
    except (InvalidOperation, TypeError, ValueError):
        allowed = "nanoseconds" if in_ns else "seconds, or a time with a unit such as '2 us'"
        raise InputError(f"{where} = {value!r}: expected {allowed}, 0 or more") from None
    return f"{exact.quantize(Decimal('0.001')):f}".rstrip("0").rstrip(".")


def host(value: Any, hosts: Sequence[str] | None, where: str) -> str:
    """Returns the name of a host that is given by name or by number."""
    if isinstance(value, str):
        if not value or any(char in value for char in ",\n\r"):
            raise InputError(f"{where} = {value!r}: expected the name of a host, without commas and line ends")
        return value
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{where} = {value!r}: expected the name of a host, or its number") from None
    if number < 0 or (hosts is not None and number >= len(hosts)):
        known = "" if hosts is None else f" to {len(hosts) - 1}"
        raise InputError(f"{where} = {number}: expected a number of a host, from 0{known}")
    return f"host{number}" if hosts is None else hosts[number]


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
