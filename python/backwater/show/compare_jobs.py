"""Collectives and jobs side by side: what an iteration takes, where its time goes, and which rank is last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from backwater.common.quantities import percent, rate, span
from backwater.judge.estimate import Estimate
from backwater.show.page import Collective, Measured

Row = tuple[str, list[str]]
"""What stands at its left, and a cell of each column."""
Key = tuple[str, str, int]
"""Class, pattern and ranks."""
Part = Literal["compute", "exposed", "other", "bubble"]

NOTHING = "0 (0 %)"
PARTS: dict[Part, str] = {
    "compute": "a rank computes",
    "exposed": "exposed communication",
    "other": "in other iterations only",
    "bubble": "bubble",
}


def tables(columns: Sequence[Sequence[Collective]]) -> Iterator[tuple[str, list[Row]]]:
    """Yields a title and rows for each collective or job in any of these columns."""
    by_key = [{key_of(one): one for one in column} for column in columns]
    for key in dict.fromkeys(key for column in by_key for key in column):
        name, pattern, ranks = key
        named = f" ({name})" if name != pattern else ""
        yield f"Iterations of the {pattern} of {ranks} ranks{named}", rows([column.get(key) for column in by_key])


def key_of(one: Collective) -> Key:
    return one["class"], one["pattern"], one["ranks"]


def rows(shown: Sequence[Collective | None]) -> list[Row]:
    """Rows that say something in at least one column."""
    readers: dict[str, Callable[[Collective], str]] = {
        "iterations that ended": lambda one: f"{one['ended']:,} of {one['iterations']:,}",
        "time per iteration": lambda one: measured(one["mean"]),
        "  p50": lambda one: measured(one["p50"]),
        "  p95": lambda one: measured(one["p95"]),
        "  p99": lambda one: measured(one["p99"]),
        "  longest": lambda one: "-" if one["slowest"] is None else span(one["slowest"]),
        "algorithm bandwidth": lambda one: "-" if one["alg"] is None else rate(one["alg"]),
        "bus bandwidth": lambda one: "-" if one["bus"] is None else rate(one["bus"]),
        **{name: part_of(part) for part, name in PARTS.items()},
        "slowest rank": lambda one: one["last"]["host"] if one["last"] else "-",
        "  last in": lambda one: f"{one['last']['times']:,} of {one['last']['of']:,}" if one["last"] else "-",
        "  behind the median": lambda one: span(one["last"]["behind"]) if one["last"] else "-",
    }
    found = [(name, ["-" if one is None else read(one) for one in shown]) for name, read in readers.items()]
    return [(name, cells) for name, cells in found if not set(cells) <= {"-", NOTHING}]


def part_of(part: Part) -> Callable[[Collective], str]:
    """Returns how long a rank is in a part of an iteration, and of how much of the iteration's time this is."""

    def cell(one: Collective) -> str:
        value, whole = one.get(part), sum(one.get(each) or 0.0 for each in PARTS)
        if value is None or not whole:
            return "-"
        return f"{span(value)} ({percent(value / whole)})" if value else NOTHING

    return cell


def measured(known: Measured | None) -> str:
    if known is None:
        return "-"
    low, high = known["bounds"]
    return estimated(Estimate(known["value"], *((low, high) if low is not None and high is not None else ())), span)


def estimated(known: Estimate, tell: Callable[[float], str]) -> str:
    """`3.10 (2.80 to 3.40)`, or the number alone where nothing is known of its interval."""
    if not known.is_bounded:
        return tell(known.value)
    value, low, high = (tell(end) for end in (known.value, known.low, known.high))
    return value if low == high == value else f"{value} ({low} to {high})"
