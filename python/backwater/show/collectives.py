"""Collectives and jobs of runs: time per iteration, the rank that is last, exposed communication, and bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, harmonic_mean

from backwater.common.arrays import Array, np
from backwater.judge.estimate import Estimate
from backwater.judge.kinds import bounds
from backwater.runs import jobs
from backwater.runs.jobs import Work
from backwater.runs.run import Run
from backwater.show import page
from backwater.show.seeds import estimate

TIMES = 1000
"""Iterations whose time is drawn; of more every n-th."""
MANY = {50: 20, 95: 20, 99: 100}
"""Iterations that a percentile of their times needs."""


def of_seeds(runs: Sequence[Run]) -> list[page.Collective]:
    """What the page shows of each collective and job: means over these runs, which differ only in their seed."""
    return [of_works(works) for works in zip(*(jobs.of_run(run) for run in runs), strict=True)]


def of_works(works: Sequence[Work]) -> page.Collective:
    """The same of one collective or job in these runs."""
    first = works[0]
    complete = all(len(work.numbers) == work.planned for work in works)
    known = all(work.numbers for work in works)
    iterations = min(len(work.numbers) for work in works)
    times = [work.times * 1e-12 for work in works]
    return {
        "class": first.name,
        "pattern": first.kind,
        "ranks": len(first.ranks),
        "iterations": first.planned,
        "ended": iterations,
        "completion": told(estimate([float(one.sum()) for one in times])) if complete else None,
        "mean": told(estimate([float(one.mean()) for one in times])) if known else None,
        "p50": percentile(50, times),
        "p95": percentile(95, times),
        "p99": percentile(99, times),
        "slowest": max(float(one.max()) for one in times) if known else None,
        "last": last(works) if first.kind != "pipeline" and known else None,
        "alg": mean_of([work.bandwidth for work in works]),
        "bus": mean_of([work.bus_bandwidth for work in works]),
        "compute": fmean(float(work.parts.compute.mean()) for work in works) * 1e-12 if known else None,
        "exposed": fmean(float(work.parts.exposed.mean()) for work in works) * 1e-12 if known else None,
        "other": fmean(float(work.parts.other.mean()) for work in works) * 1e-12 if known else None,
        "bubble": fmean(float(work.parts.bubble.mean()) for work in works) * 1e-12 if known else None,
        "times": np.mean([one[:iterations] for one in times], axis=0)[:: -(-iterations // TIMES) or 1].tolist(),
    }


def percentile(p: int, times: Sequence[Array]) -> page.Measured | None:
    """A percentile of the time per iteration; None where fewer iterations ended than it needs."""
    if min(map(len, times)) < MANY[p]:
        return None
    return told(estimate([float(np.percentile(one, p)) for one in times]))


def mean_of(bandwidths: Sequence[float | None]) -> float | None:
    """That of the mean time."""
    known = [one for one in bandwidths if one]
    return harmonic_mean(known) if len(known) == len(bandwidths) else None


def last(works: Sequence[Work]) -> page.Last | None:
    """The rank that is last alone most often, and how far behind the median rank it is then; None where none is."""
    if (found := jobs.last(works)) is None:
        return None
    return {"host": found.host, "times": found.times, "of": found.of, "behind": found.behind_ps * 1e-12}


def told(measured: Estimate) -> page.Measured:
    return {"value": measured.value, "bounds": bounds(measured)}
