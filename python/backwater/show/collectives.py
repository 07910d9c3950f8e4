"""Collectives of runs: time per iteration, the rank that is last, and the bandwidth that this comes to.

Nothing but the table `flows` says when an iteration ends. Flows of collectives have the first numbers, in the order of
the workloads. Within a collective they are numbered by iteration, so equally many in a row belong to each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from backwater.common.arrays import Floats, np
from backwater.common.quantities import as_number
from backwater.judge.estimate import Estimate
from backwater.judge.kinds import bounds
from backwater.runs.run import Run
from backwater.show.seeds import estimate

TIMES = 1000
"""Iterations whose time is drawn; of more every n-th."""


@dataclass(frozen=True)
class Iterations:
    """One collective of one run. Times are seconds from its start."""

    workload: dict[str, Any]
    ranks: int
    last_byte: list[str | None]
    """The rank that each iteration ended at: the name of its host; None where several ended at once."""
    behind: Floats
    """How much later each iteration ended at its last rank than at the median rank."""
    ends: Floats
    """When each iteration ended at its last rank."""

    @property
    def times(self) -> Floats:
        return np.diff(self.ends, prepend=0.0)


def of_seeds(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """What the page shows of each collective: means over these runs, which differ only in their seed."""
    rows = []
    for members in zip(*(of_run(run) for run in runs), strict=True):
        done = [one for one in members if len(one.ends) == one.workload["iterations"]]
        complete = len(done) == len(members)
        iterations = min(len(one.ends) for one in members)
        workload, ranks = members[0].workload, members[0].ranks
        mean = [float(one.ends[-1] / len(one.ends)) for one in members if len(one.ends)]
        known = len(mean) == len(members)
        rows.append(
            {
                "class": workload["class"],
                "pattern": workload["pattern"],
                "ranks": ranks,
                "iterations": workload["iterations"],
                "completion": told(estimate([float(one.ends[-1]) for one in members])) if complete else None,
                "mean": told(estimate(mean)) if known else None,
                "slowest": max(float(one.times.max()) for one in members) if known else None,
                "last": last(members) if workload["pattern"] != "pipeline" and known else None,
                "bus": bus_bandwidth(workload, ranks, fmean(mean)) if known else None,
                "times": np.mean([one.times[:iterations] for one in members], axis=0)[
                    :: -(-iterations // TIMES) or 1
                ].tolist(),
            }
        )
    return rows


def of_run(run: Run) -> list[Iterations]:
    workloads = [one for one in run.scenario["workload"] if one["kind"] == "collective"]
    if not workloads:
        return []
    table = run.table("flows").select(["flow", "src", "dst", "finish_rx_ps"]).sort_by("flow")
    found, first = [], 0
    for workload, summary in zip(workloads, run.summary["collectives"], strict=True):
        flows = summary["flows"]
        mine = table.slice(first, flows)
        first += flows
        hosts = mine["dst"].to_pylist()
        start = as_number(workload["start"], "workload.start")
        finished = mine["finish_rx_ps"].to_numpy().astype(float) * 1e-12 - start  # NaN where it did not.
        found.append(iterations_of(workload, hosts, len({*hosts, *mine["src"].to_pylist()}), finished))
    return found


def iterations_of(workload: dict[str, Any], hosts: list[str], ranks: int, finished: Floats) -> Iterations:
    """Those before the first that did not end everywhere."""
    each = len(hosts) // workload["iterations"]
    names = list(dict.fromkeys(hosts))
    rank = np.array([{name: i for i, name in enumerate(names)}[host] for host in hosts])
    ends, behind, last_byte = [], [], []
    for at in range(0, len(hosts), each):
        here = finished[at : at + each]
        if np.isnan(here).any():
            break
        ended = np.full(len(names), -np.inf)
        np.maximum.at(ended, rank[at : at + each], here)
        ends.append(float(ended.max()))
        behind.append(float(ended.max() - np.median(ended)))
        alone = np.count_nonzero(ended == ended.max()) == 1
        last_byte.append(names[int(ended.argmax())] if alone else None)
    # Microbatches of a pipeline may overtake one another: an iteration counts once all before it have ended.
    return Iterations(workload, ranks, last_byte, np.array(behind), np.maximum.accumulate(np.array(ends)))


def last(members: Sequence[Iterations]) -> dict[str, Any] | None:
    """The rank that is last alone most often, and how far behind the median rank it is then; None where none is."""
    counted = Counter(host for one in members for host in one.last_byte if host is not None)
    if not counted:
        return None
    (host, times), *_ = counted.most_common(1)
    behind = [
        float(late) for one in members for late, name in zip(one.behind, one.last_byte, strict=True) if name == host
    ]
    return {"host": host, "times": times, "of": sum(len(one.last_byte) for one in members), "behind": fmean(behind)}


def bus_bandwidth(workload: dict[str, Any], ranks: int, seconds: float) -> float:
    """Bits a second, as nccl-tests defines it; of a pipeline what goes over each of its links."""
    share = {"ring": 2 * (ranks - 1) / ranks, "all-to-all": (ranks - 1) / ranks, "pipeline": 1.0}[workload["pattern"]]
    return 8 * as_number(workload["bytes"], "workload.bytes") * share / seconds


def told(measured: Estimate) -> dict[str, Any]:
    return {"value": measured.value, "bounds": bounds(measured)}
