"""What a plan will take, before it is run."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from backwater import sweep
from backwater.api import Experiment

TRIAL_S = 0.5


@dataclass(frozen=True)
class Row:
    """One run's estimate."""

    label: str
    scheme: str
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
    rows = [
        Row(
            job.label,
            job.scenario["scheme"],
            job.estimate["flows"],
            job.estimate["packet_hops"],
            job.estimate["sim_time_ps"],
            job.estimate["memory_mb"],
            job.estimate["packet_hops"] / hops_per_s,
        )
        for job in jobs
    ]
    most = sorted((row.memory_mb for row in rows), reverse=True)
    together = 1
    while together < threads and sum(most[: together + 1]) <= sweep.MEMORY_TOGETHER_MB:
        together += 1
    wall_s = max(sum(row.wall_s for row in rows) / together, max(row.wall_s for row in rows))
    return Estimate(rows, threads, hops_per_s, wall_s, sum(most[:together]))


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
