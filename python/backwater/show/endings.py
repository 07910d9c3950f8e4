"""How incomplete runs ended, as text."""

from __future__ import annotations

from typing import Any

from backwater.results import Run
from backwater.terminal import some, span

SHOWN = 8
"""Most waits of a cycle that are listed."""
MARKS = {"interrupted": "partial", "standstill": "stands still", "time": "unfinished"}


def mark(run: Run) -> str:
    """Returns a mark to put after the name of a run; empty if the run is complete."""
    return "" if run.complete else f" ({MARKS.get(run.ending, run.ending)})"


def told(run: Run) -> str | None:
    """Returns why a run that ended normally is not complete; None if it is complete or was interrupted."""
    if run.complete or run.ending == "interrupted":
        return None
    summary = run.summary
    after = span(summary["sim_time_ps"] * 1e-12)
    flows = f"{some(summary['flows']['unfinished'], 'counted flow')} left"
    if run.ending == "standstill":
        return f"{run.label}: nothing can move any more after {after}, with {flows}: {circle(summary['ending'])}"
    return f"{run.label}: {flows} after {after}, when `run.drain` ended the run; `run.all_finish` expects none"


def in_lab(run: Run) -> str | None:
    """Says that a run was made with real packets, and whether they were on time; None if it was simulated."""
    if (found := run.summary.get("lab")) is None:
        return None
    late = "frames were on time" if found["faithful"] else f"not faithful: {found['unfaithful_because']}"
    return f"{run.label}: real packets, with {found['divisor']:,} s for one of the scenario; {late}"


def circle(ending: dict[str, Any]) -> str:
    """Returns which queue waits for which."""
    cycle = ending["cycle"]
    if not cycle:
        return f"{some(ending['held_queues'], 'queue')} may not send"
    waits = [
        f"{wait['node']} (queue {wait['queue']}, flow {wait['first']} first) waits for {wait['for']}"
        for wait in cycle[:SHOWN]
    ]
    more = len(cycle) - len(waits)
    return ", ".join(waits) + (f", and so on, {more} more, back to {cycle[0]['node']}" if more else "")
