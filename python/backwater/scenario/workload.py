"""Workloads: those that a scenario describes, and flows and messages from a data frame or an iterator.

>>> from backwater import sizes, units, workload
>>> workload.incast(degree=16, aggregate=1 * units.MB, period=100 * units.us)["aggregate"]
'1 MB'
>>> workload.flows([(0, "host0", "host1", 1000), (2 * units.us, "host1", "host0", 500)])["rows"].splitlines()
['start_ns,src,dst,bytes', '0,host0,host1,1000', '2000,host1,host0,500']
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from backwater._core import InputError
from backwater.scenario import typed
from backwater.scenario.builders import background, collective, flow_list, incast, job, long_lived
from backwater.scenario.messages import messages
from backwater.scenario.rows import Columns, listed, nanoseconds, whole

__all__ = ["background", "collective", "flow_list", "flows", "incast", "job", "long_lived", "messages"]

NAMES = ("start", "src", "dst", "bytes", "port", "priority")
NEEDED = 4
"""Columns that a flow has at least."""


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

    `start` is a number of seconds, a time difference, or text or a quantity with a unit; `start_ns` is nanoseconds.
    `src` and `dst` are names of hosts. A number n stands for the nth of `hosts`, or for `host<n>` without `hosts`.
    `class_` is the name of the flows in tables, and `priority` that of flows without one.

    # Errors
    `InputError` that names the flow, the value and what was expected.
    """
    names, rows = listed(source, COLUMNS)
    lines = [",".join(("start_ns", *names[1:]))]
    for i, row in enumerate(rows):
        if len(row) != len(names):
            raise InputError(f"flows[{i}] = {row!r}: expected {len(names)} values: {', '.join(names)}")
        start = nanoseconds(row[0], names[0] == "start_ns", f"flows[{i}].{names[0]}")
        ends = [host(row[at], hosts, f"flows[{i}].{names[at]}") for at in (1, 2)]
        rest = [whole(row[at], f"flows[{i}].{names[at]}") for at in range(3, len(names))]
        lines.append(",".join([start, *ends, *rest]))
    if len(lines) == 1:
        raise InputError("flows: there are none: expected at least one")
    made: dict[str, object] = {"kind": "flow-list", "rows": "\n".join(lines) + "\n"}
    made |= {key: value for key, value in (("class", class_), ("priority", priority)) if value is not None}
    return made  # type: ignore[return-value]


def named(there: Sequence[str]) -> list[str]:
    """Returns the columns of flows, in their order.

    # Errors
    `InputError` for the first that is missing.
    """
    start = "start_ns" if "start_ns" in there else "start"
    for name in (start, *NAMES[1:NEEDED]):
        if name not in there:
            raise InputError(f"flows: no column '{name}'; there are {', '.join(map(str, there))}")
    if "priority" in there and "port" not in there:
        raise InputError("flows: a column 'priority' without 'port': expected both, or 'port' alone")
    return [start, *NAMES[1:NEEDED], *(name for name in NAMES[NEEDED:] if name in there)]


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


COLUMNS = Columns("flows", NAMES, NEEDED, "port and priority", named)
