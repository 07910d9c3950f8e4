"""Tails that are explained without being asked for: those whose second run costs little beside the first runs.

The cost is counted in packet-hops, not measured in seconds. So the same scenario leads to the same files everywhere.
"""

from __future__ import annotations

import contextlib

from backwater._core import InputError
from backwater.runs import explain
from backwater.runs.directory import RunDirectory
from backwater.runs.explain import Explained
from backwater.runs.run import Run
from backwater.runs.summary import lost
from backwater.show import report
from backwater.show.answer import Entry, Measurement

SHARE = 0.1
"""Most that it may cost, as a share of the runs and of their report."""
FOLLOWED = 1.2
"""Cost of a run whose slow flows are followed, as a multiple of the run (`docs/explain.md`)."""
DROP_HOPS = 20
"""Packet-hops that take as long as a dropped packet. Where a network does not keep up, thousands of flows wait at a
host, and their memory is in no cache. Measured at 15 to 45."""
REPORT_HOPS = 3_000_000
"""Cost of judging and writing a report: 0.3 s, in which a processor simulates about as many packet-hops."""
HOPS_MAX = 300_000_000
"""Most that it may cost in all: half a minute of one processor. Many processors may have made the runs in less."""
FLOWS = 1_000
"""Most flows of a tail that are followed, the slowest ones: each takes some hundred bytes of the page."""


def explained(done: RunDirectory) -> list[Explained]:
    """Explains the tail that the report's first sentence compares: of the variant with the longest, and of the best.

    A run is left out if it would cost too much. It is left out too if this version does not make the same run again.
    Nothing is explained if an explanation is stored already.
    """
    if any("waits" in run.tables for run in done.runs):
        return []
    left = budget(done)
    if not any(cost(run) <= left for run in done.runs if can_explain(run)):
        return []
    if (found := report.measured(done)) is None:
        return []
    told = []
    for entry in ends(found):
        run = done.run(entry.label)
        if not can_explain(run) or cost(run) > left:
            continue
        left -= cost(run)
        with contextlib.suppress(InputError):
            told.append(explained_tail(run, found))
    return told


def budget(done: RunDirectory) -> float:
    """Packet-hops that it may cost."""
    simulated = sum(run.summary.get("packet_hops", 0) for run in done.runs)
    return min(HOPS_MAX, SHARE * (simulated + REPORT_HOPS))


def cost(run: Run) -> float:
    """Packet-hops that explaining a run costs."""
    return FOLLOWED * (run.summary["packet_hops"] + DROP_HOPS * lost(run.summary))


def can_explain(run: Run) -> bool:
    return "flows" in run.tables and not run.entry.cut_short


def ends(found: Measurement) -> list[Entry]:
    """The schemes with the highest and the lowest value, of those that can be built; at the last point of a sweep."""
    *_, last = found.points.values()
    able = sorted((entry for entry in last if entry.can_win), key=lambda entry: -entry.known)
    return [*able[:1], *able[1:][-1:]]


def explained_tail(run: Run, found: Measurement) -> Explained:
    tail, flows = explain.tail_of(
        run.table("flows"), flow_class=found.flow_class, above=found.above, below=found.below, most=FLOWS
    )
    return run.explain_flows(flows, tail=tail)
