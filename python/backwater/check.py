"""What a plan will take, before it is run."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from backwater import sweep
from backwater.api import Experiment

TRIAL_S = 0.5


@dataclass(frozen=True)
class Row:
    """The estimate of one run, with all its seeds."""

    label: str
    scheme: str
    seeds: int
    flows: float
    packet_hops: float
    sim_time_ps: float
    memory_mb: float
    wall_s: float


@dataclass(frozen=True)
class Estimate:
    """A plan's: runs that go side by side share the time, and add their memory."""

    rows: list[Row]
    threads: int
    hops_per_s: float
    wall_s: float
    memory_mb: float


def estimate(experiment: Experiment, threads: int | None = None) -> Estimate:
    """Estimates every run, with the speed of this machine measured on the first for half a second."""
    jobs = sweep.jobs_of(experiment.plan)
    threads = min(sweep.threads_of(threads), max(1, len(jobs)))
    hops_per_s = trial(jobs[0])
    groups: dict[str, list[sweep.Job]] = {}
    for job in jobs:
        groups.setdefault(sweep.without_seed(job.label, job.params), []).append(job)
    rows = [row(label, runs, hops_per_s) for label, runs in groups.items()]
    most = sorted((job.estimate["memory_mb"] for job in jobs), reverse=True)
    most_mb, together = sweep.memory_together_mb(), 1
    while together < threads and sum(most[: together + 1]) <= most_mb:
        together += 1
    longest = max(job.estimate["packet_hops"] for job in jobs) / hops_per_s
    wall_s = max(sum(row.wall_s for row in rows) / together, longest)
    return Estimate(rows, threads, hops_per_s, wall_s, sum(most[:together]))


def row(label: str, jobs: list[sweep.Job], hops_per_s: float) -> Row:
    """Of all seeds of a run: what they take one after the other, and the memory of one."""

    def total(key: str) -> float:
        return sum(float(job.estimate[key]) for job in jobs)

    memory = max(job.estimate["memory_mb"] for job in jobs)
    scheme, hops = jobs[0].scenario["scheme"], total("packet_hops")
    return Row(label, scheme, len(jobs), total("flows"), hops, total("sim_time_ps"), memory, hops / hops_per_s)


def trial(job: sweep.Job) -> float:
    """Packet-hops a second, from a run that is cut short."""
    began = perf_counter()
    run = sweep.start(job)
    while not run.wait(0.005) and not run.progress()["packet_hops"]:
        began = perf_counter()  # A long list of flows takes a while to set up.
    finished = run.wait(TRIAL_S)
    hops, elapsed = run.progress()["packet_hops"], perf_counter() - began
    if not finished:
        run.cancel()
        run.wait(60.0)
    return max(1.0, hops / elapsed)
