"""Trees of pauses side by side: how many there are, and how far the largest reaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from backwater.common.quantities import size, span
from backwater.runs import pause_trees
from backwater.runs.pause_trees import TreeRow
from backwater.runs.run import Run
from backwater.show.compare_jobs import Row

TITLE = "Trees of pauses (the largest is the one that held ports longest, all ports together)"


class Trees(TypedDict):
    """Trees of pauses of a run, or of several that differ in their seed."""

    trees: int
    """How many there are."""
    held_ps: int
    """Time that they held ports, all together."""
    largest: TreeRow | None


def of_seeds(runs: Sequence[Run]) -> Trees | None:
    """Returns the trees of these runs together, or None if their links were not recorded."""
    found = [one for run in runs if (one := pause_trees.of_run(run)) is not None]
    if not found:
        return None
    rows = [row for one in found for row in one.rows()]
    largest = max(rows, key=lambda row: row["held_ps"], default=None)
    return {"trees": len(rows), "held_ps": sum(row["held_ps"] for row in rows), "largest": largest}


def rows(columns: Sequence[Trees | None]) -> list[Row]:
    """Returns rows with a cell of each column; none if nothing was held anywhere."""
    if not any(one and one["largest"] for one in columns):
        return []
    of_largest: dict[str, Callable[[TreeRow], str]] = {
        "  root port": lambda row: f"{row['node']} to {row['towards']}" + (", in a cycle" if row["cycle"] else ""),
        "  from": lambda row: us(row["begin_ps"]),
        "  duration": lambda row: us(row["end_ps"] - row["begin_ps"]),
        "  depth": lambda row: str(row["depth"]),
        "  fan-out": lambda row: str(row["fan_out"]),
        "  hosts held": lambda row: f"{row['hosts']:,}",
        "  switch ports held": lambda row: f"{row['switch_ports']:,}",
        "  longest queue at the root": lambda row: size(row["queue_bytes"]),
    }
    return [
        ("trees", ["-" if one is None else f"{one['trees']:,}" for one in columns]),
        ("the largest", [""] * len(columns)),
        *(
            (name, ["-" if one is None or one["largest"] is None else read(one["largest"]) for one in columns])
            for name, read in of_largest.items()
        ),
    ]


def us(ps: int) -> str:
    return span(ps * 1e-12) if ps else "0"
