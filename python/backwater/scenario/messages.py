"""Messages that depend on messages, from a data frame or an iterator: a job without a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from backwater._core import InputError
from backwater.scenario import typed
from backwater.scenario.builders import job
from backwater.scenario.rows import Columns, listed, nanoseconds, whole

NAMES = ("id", "src", "dst", "bytes", "after", "compute_ns", "start_ns", "stream", "phase", "iteration")
"""Columns of the CSV of messages."""
NEEDED = 4
"""Columns that are required: the first."""
SECONDS = {"compute": "compute_ns", "start": "start_ns"}
"""Columns of times in seconds or with a unit, in place of those in nanoseconds."""


def messages(source: Any, **keys: Any) -> typed.Job:
    """Returns the workload of messages that wait for one another, in a data frame or an iterator.

    A data frame of pandas or Polars, or an Arrow table, has the columns of a CSV of messages: `id`, `src`, `dst` and
    `bytes`, and perhaps `after`, `compute_ns`, `start_ns`, `stream`, `phase` and `iteration`. An iterator yields a
    tuple of these for each message, in this order, or a mapping, which may leave out what is empty. It is read once.

    `src` and `dst` are ranks, from 0. `after` has the ids of messages that come first: text with blanks between, a
    list, or one id. `compute` and `start` may stand in place of `compute_ns` and `start_ns`: a number of seconds, or
    text or a quantity with a unit. None and NaN are empty. A row without `dst` and `bytes` is a computation of `src`.

    `keys` are those of `workload.job`, such as `class_`, `hosts`, `placement`, `ranks_per_host` and `iterations`.

    >>> from backwater import units, workload
    >>> there = {"id": "there", "src": 0, "dst": 1, "bytes": 1000}
    >>> back = {"id": "back", "src": 1, "dst": 0, "bytes": 10, "after": ["there"], "compute": 2 * units.us}
    >>> workload.messages([there, back], iterations=5)["rows"].splitlines()
    ['id,src,dst,bytes,after,compute_ns', 'there,0,1,1000,,', 'back,1,0,10,there,2000']

    # Errors
    `InputError` that names the message, the value and what was expected. What `after` names is looked up when the
    scenario is read.
    """
    names, rows = listed(source, COLUMNS)
    lines = [",".join(SECONDS.get(name, name) for name in names)]
    for i, row in enumerate(rows):
        if len(row) != len(names):
            raise InputError(f"messages[{i}] = {row!r}: expected {len(names)} values: {', '.join(names)}")
        values = zip(names, row, strict=True)
        lines.append(",".join(field(name, value, f"messages[{i}].{name}") for name, value in values))
    if len(lines) == 1:
        raise InputError("messages: expected at least one")
    for key in ("file", "format", "model", "signal", "source", "start_unit"):
        if key in keys:
            raise InputError(f"messages: {key}: expected none: the messages are given here")
    made: dict[str, Any] = {**job(format="csv", **keys), "rows": "\n".join(lines) + "\n"}
    return made  # type: ignore[return-value]


def field(name: str, value: Any, where: str) -> str:
    """Returns a value as a field of a line."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if name == "after":
        several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
        ids = list(value) if several else value.split() if isinstance(value, str) else [value]
        return " ".join(word(one, where) for one in ids)
    if name == "id":
        return word(value, where)
    if name == "phase":
        return text(value, where)
    if name in SECONDS or name in SECONDS.values():
        return nanoseconds(value, name not in SECONDS, where)
    return whole(value, where)


def word(value: Any, where: str) -> str:
    """Returns an id: text without blanks, or a whole number."""
    if not isinstance(value, str):
        return whole(value, where)
    if not value or any(char.isspace() or char == "," for char in value):
        raise InputError(f"{where} = {value!r}: expected a name without blanks and commas")
    return value


def text(value: Any, where: str) -> str:
    if not isinstance(value, str) or any(char in value for char in ",\n\r"):
        raise InputError(f"{where} = {value!r}: expected text without commas and line ends")
    return value


def named(there: Sequence[str]) -> list[str]:
    """Returns the columns of messages, in their order.

    # Errors
    `InputError` for the first that is missing, and for one that is not known.
    """
    for name in NAMES[:NEEDED]:
        if name not in there:
            raise InputError(f"messages: no column '{name}'; there are {', '.join(map(str, there))}")
    for name in there:
        if name not in NAMES and name not in SECONDS:
            raise InputError(f"messages: column '{name}': expected one of {', '.join([*NAMES, *SECONDS])}")
        if SECONDS.get(name) in there:
            raise InputError(f"messages: columns '{name}' and '{SECONDS[name]}': expected one of them")
    stand = {of: name for name, of in SECONDS.items() if name in there}
    chosen = [stand.get(name, name) for name in NAMES]
    return [name for name in chosen if name in there]


COLUMNS = Columns("messages", NAMES, NEEDED, "the others", named, sparse=True)
