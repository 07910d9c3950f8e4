"""Collectives and jobs of runs: time per iteration, the rank that is last, exposed communication, and bandwidth.

The table `phases` says when each rank began and ended a phase of an iteration, and how long it computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from backwater.common.arrays import Floats, Integers, np, pc
from backwater.common.quantities import as_number
from backwater.judge.estimate import Estimate
from backwater.judge.kinds import bounds
from backwater.runs.run import Run
from backwater.show import page
from backwater.show.seeds import estimate

if TYPE_CHECKING:
    from backwater.scenario.typed import Collective, Job

TIMES = 1000
"""Iterations whose time is drawn; of more every n-th."""


BUS = {
    "ring": lambda ranks: 2 * (ranks - 1) / ranks,
    "all-reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "reduce-scatter": lambda ranks: (ranks - 1) / ranks,
    "all-gather": lambda ranks: (ranks - 1) / ranks,
    "all-to-all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,
    "reduce": lambda ranks: 1.0,
    "pipeline": lambda ranks: 1.0,
}
"""Bus bandwidth over the bytes of a collective in its time, as nccl-tests defines it."""


@dataclass(frozen=True)
class Iterations:
    """One collective or job of one run. Times are seconds from its start."""

    workload: Collective | Job
    ranks: int
    planned: int
    """Iterations that it has."""
    last_byte: list[str | None]
    """The rank that each iteration ended at: the name of its host; None where several ended at once."""
    behind: Floats
    """How much later each iteration ended at its last rank than at the median rank."""
    ends: Floats
    """When each iteration ended at its last rank."""
    compute: float
    """How long a rank computes in an iteration: mean."""
    exposed: float
    """How long a rank is in an iteration and does not compute: mean."""

    @property
    def times(self) -> Floats:
        return np.diff(self.ends, prepend=0.0)


def of_seeds(runs: Sequence[Run]) -> list[page.Collective]:
    """What the page shows of each collective and job: means over these runs, which differ only in their seed."""
    rows: list[page.Collective] = []
    for members in zip(*(of_run(run) for run in runs), strict=True):
        done = [one for one in members if len(one.ends) == one.planned]
        complete = len(done) == len(members)
        iterations = min(len(one.ends) for one in members)
        workload, ranks = members[0].workload, members[0].ranks
        pattern = "job" if workload["kind"] == "job" else workload["pattern"]
        mean = [float(one.ends[-1] / len(one.ends)) for one in members if len(one.ends)]
        known = len(mean) == len(members)
        rows.append(
            {
                "class": workload["class"],
                "pattern": pattern,
                "ranks": ranks,
                "iterations": members[0].planned,
                "completion": told(estimate([float(one.ends[-1]) for one in members])) if complete else None,
                "mean": told(estimate(mean)) if known else None,
                "slowest": max(float(one.times.max()) for one in members) if known else None,
                "last": last(members) if pattern != "pipeline" and known else None,
                "bus": bus_bandwidth(workload, ranks, fmean(mean)) if known else None,
                "compute": fmean(one.compute for one in members) if known else None,
                "exposed": fmean(one.exposed for one in members) if known else None,
                "times": np.mean([one.times[:iterations] for one in members], axis=0)[
                    :: -(-iterations // TIMES) or 1
                ].tolist(),
            }
        )
    return rows


def of_run(run: Run) -> list[Iterations]:
    workloads = [one for one in run.scenario["workload"] if one["kind"] == "collective" or one["kind"] == "job"]
    if not workloads:
        return []
    table = run.table("phases")
    found = []
    for workload, summary in zip(workloads, run.summary["jobs"] or [], strict=True):
        mine = table.filter(pc.equal(table["class"], workload["class"]))
        hosts = dict(zip(mine["rank"].to_pylist(), mine["host"].to_pylist(), strict=True))
        start = as_number(workload["start"], "workload.start")
        at = {name: mine[name].to_numpy().astype(float) * 1e-12 for name in ("begin_ps", "end_ps", "compute_ps")}
        iteration, rank = mine["iteration"].to_numpy(), mine["rank"].to_numpy()
        spans = Spans(iteration, rank, at["begin_ps"] - start, at["end_ps"] - start, at["compute_ps"])
        found.append(iterations_of(workload, hosts, summary["iterations"], spans))
    return found


@dataclass(frozen=True)
class Spans:
    """Rows of the table `phases`, in seconds from the start of the job; the end is NaN where a phase has none."""

    iteration: Integers
    rank: Integers
    begin: Floats
    end: Floats
    compute: Floats


def iterations_of(workload: Collective | Job, hosts: dict[int, str], planned: int, spans: Spans) -> Iterations:
    """Those before the first that did not end at every rank with operations, which `hosts` names."""
    names = list(hosts)
    place = np.searchsorted(names := sorted(names), spans.rank)
    shape = (int(spans.iteration.max(initial=-1)) + 1, len(names))
    begin, end, compute = np.full(shape, np.inf), np.full(shape, -np.inf), np.zeros(shape)
    np.minimum.at(begin, (spans.iteration, place), spans.begin)
    np.maximum.at(end, (spans.iteration, place), spans.end)
    np.add.at(compute, (spans.iteration, place), spans.compute)
    ended = np.isfinite(end).all(axis=1)
    n = len(ended) if ended.all() else int(ended.argmin())
    begin, end, compute = begin[:n], end[:n], compute[:n]
    latest = end.max(axis=1, initial=-np.inf)
    alone = np.count_nonzero(end == latest[:, None], axis=1) == 1
    at = end.argmax(axis=1) if n else np.zeros(0, int)
    return Iterations(
        workload,
        len(names),
        planned,
        [hosts[names[i]] if one else None for i, one in zip(at.tolist(), alone.tolist(), strict=True)],
        latest - np.median(end, axis=1) if n else np.zeros(0),
        # Microbatches of a pipeline may overtake one another: an iteration counts once all before it have ended.
        np.maximum.accumulate(latest),
        float(compute.mean()) if n else 0.0,
        float((end - begin - compute).mean()) if n else 0.0,
    )


def last(members: Sequence[Iterations]) -> page.Last | None:
    """The rank that is last alone most often, and how far behind the median rank it is then; None where none is."""
    counted = Counter(host for one in members for host in one.last_byte if host is not None)
    if not counted:
        return None
    (host, times), *_ = counted.most_common(1)
    behind = [
        float(late) for one in members for late, name in zip(one.behind, one.last_byte, strict=True) if name == host
    ]
    return {"host": host, "times": times, "of": sum(len(one.last_byte) for one in members), "behind": fmean(behind)}


def bus_bandwidth(workload: Collective | Job, ranks: int, seconds: float) -> float | None:
    """Bits a second, as nccl-tests defines it; of a pipeline what goes over each of its links. A job has none."""
    if workload["kind"] == "job" or (share := BUS.get(workload["pattern"])) is None:
        return None
    return 8 * as_number(workload["bytes"], "workload.bytes") * share(ranks) / seconds


def told(measured: Estimate) -> page.Measured:
    return {"value": measured.value, "bounds": bounds(measured)}
