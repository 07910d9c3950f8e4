"""How runs ended that are not complete, in words."""

from __future__ import annotations

from typing import Any

from backwater.results import Run
from backwater.terminal import some, span

SHOWN = 8
"""Of a cycle, waits that are told."""
MARKS = {"interrupted": "partial", "standstill": "stands still", "time": "unfinished"}


def mark(run: Run) -> str:
    """What is put behind the name of a run; nothing where it is complete."""
    return "" if run.complete else f" ({MARKS.get(run.ending, run.ending)})"


def told(run: Run) -> str | None:
    """Why a run that ended of itself is not complete; None where it is, or was interrupted."""
    if run.complete or run.ending == "interrupted":
        return None
    summary = run.summary
    after = span(summary["sim_time_ps"] * 1e-12)
    flows = f"{some(summary['flows']['unfinished'], 'counted flow')} left"
    if run.ending == "standstill":
        return f"{run.label}: nothing can move any more after {after}, {flows}: {circle(summary['ending'])}"
    return f"{run.label}: {flows} after {after}, where `run.drain` ends it, and `run.all_finish` expects none"


def circle(ending: dict[str, Any]) -> str:
    """Who waits for whom."""
    cycle = ending["cycle"]
    if not cycle:
        return f"{some(ending['held_queues'], 'queue')} may not send"
    waits = [
        f"{wait['node']} (queue {wait['queue']}, flow {wait['first']} first) waits for {wait['for']}"
        for wait in cycle[:SHOWN]
    ]
    more = len(cycle) - len(waits)
    return ", ".join(waits) + (f", and so on, {more} more, back to {cycle[0]['node']}" if more else "")
