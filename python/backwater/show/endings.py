"""How incomplete runs ended, as text."""

from __future__ import annotations

from backwater.common.quantities import some, span
from backwater.runs.manifest import RunTiming, Timing
from backwater.runs.run import Run
from backwater.runs.summary import Ending

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


def in_lab(runs: list[Run]) -> list[str]:
    """Says that runs were made with real packets, and how many were not on time; nothing if all were simulated."""
    real = [run for run in runs if "lab" in run.summary]
    if not real:
        return []
    late = [run for run in real if not run.summary["lab"]["faithful"]]
    lines = [
        f"{some(len(real), 'run')} with real packets: {real[0].summary['lab']['divisor']:,} s are one of the scenario."
    ]
    if late:
        why = late[0].summary["lab"]["unfaithful_because"]
        lines.append(
            f"{len(late)} of {len(real)} are not faithful, and their claims are undecided. {late[0].label}: {why}."
        )
    return [" ".join(lines)]


def in_python(timing: Timing, runs: list[Run]) -> list[str]:
    """Says which congestion controls were code in Python, and how much longer their runs took; nothing if none was."""
    rows = {row["label"]: row for row in timing["runs"] if row.get("control_calls")}
    by_name: dict[str, list[RunTiming]] = {}
    for run in runs:
        if run.label in rows:
            by_name.setdefault(run.scenario["host"]["callback"]["name"], []).append(rows[run.label])
    lines = []
    for name, of_name in by_name.items():
        wall, inside = sum(row["wall_s"] for row in of_name), sum(row["control_s"] for row in of_name)
        longer = f", which made it {wall / (wall - inside):.2g} times as long" if wall > inside else ""
        calls = some(sum(row["control_calls"] for row in of_name), "time")
        lines.append(f"Control in Python: {name} was called {calls} in {some(len(of_name), 'run')}{longer}.")
    return lines


def circle(ending: Ending) -> str:
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
