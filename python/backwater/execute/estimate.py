"""Predicts the resources that a plan will take, before it runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import median
from time import perf_counter, sleep

from backwater.common.quantities import size, some, span
from backwater.execute import memory, sweep
from backwater.execute.job import Job, jobs_of, start
from backwater.runs.manifest import without_seed
from backwater.scenario.plan import Plan

TRIAL_S = 0.4
TRIALS_MAX = 16
"""Schemes and networks that are tried; others are taken for as fast as these."""
PER_RUN_S, PER_FLOW_S = 0.1, 2e-6
"""What it takes to write a run, where these were measured."""
PAGE_S, PAGE_PER_RUN_S, PAGE_PER_FLOW_S = 1.3, 0.05, 0.2e-6
PROCESS_MB, PROCESS_PER_RUN_MB = 100.0, 0.3
"""What it takes to judge and report an experiment, and what the program itself takes."""


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


@dataclass(frozen=True, repr=False)
class Estimate:
    """The estimate of a plan. Runs side by side share the time, and their memory adds up, with that of the program."""

    rows: list[Row]
    """One for each run, with all its seeds."""
    threads: int
    """Runs at a time."""
    hops_per_s: float
    """Packet-hops per second of one run."""
    wall_s: float
    """Time of all runs and of the report, seconds."""
    memory_mb: float
    """Memory in all, MB."""

    def __repr__(self) -> str:
        runs = some(sum(row.seeds for row in self.rows), "run")
        return f"Estimate({runs}: {span(self.wall_s)}, {size(self.memory_mb * 1e6)}, {some(self.threads, 'thread')})"


def estimate(plan: Plan, threads: int | None = None) -> Estimate:
    """Estimates every run of a plan.

    It measures this machine's speed on one run of each scheme, with as many at once as later.
    """
    jobs = jobs_of(plan)
    threads = min(sweep.threads_of(threads), max(1, len(jobs)))
    most = sorted((job.estimate.memory_mb for job in jobs), reverse=True)
    most_mb, together = memory.together_mb(), 1
    while together < threads and sum(most[: together + 1]) <= most_mb:
        together += 1
    speeds = measured(jobs, together)
    times = {
        id(job): job.estimate.packet_hops / speeds[scheme_of(job)] + PER_RUN_S + PER_FLOW_S * job.estimate.flows
        for job in jobs
    }
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(without_seed(job.label, job.params), []).append(job)
    rows = [row(label, runs, sum(times[id(job)] for job in runs)) for label, runs in groups.items()]
    reported_s = PAGE_S + PAGE_PER_RUN_S * len(jobs) + PAGE_PER_FLOW_S * sum(row.flows for row in rows)
    wall_s = max(sum(times.values()) / together, max(times.values())) + reported_s
    written_mb = most[0] / 3  # One that is still written while others begin: not all of it, and not always.
    memory_mb = sum(most[:together]) + written_mb + PROCESS_MB + PROCESS_PER_RUN_MB * len(jobs)
    hops_per_s = sum(row.packet_hops for row in rows) / max(sum(times.values()), 1e-9)
    return Estimate(rows, threads, hops_per_s, wall_s, memory_mb)


def row(label: str, jobs: list[Job], wall_s: float) -> Row:
    """Returns the estimate of all seeds of a run: their time one after the other, and the memory of one."""
    flows = sum(float(job.estimate.flows) for job in jobs)
    hops = sum(float(job.estimate.packet_hops) for job in jobs)
    simulated = sum(float(job.estimate.sim_time_ps) for job in jobs)
    memory = max(job.estimate.memory_mb for job in jobs)
    scheme = jobs[0].scenario["scheme"]
    return Row(label, scheme, len(jobs), flows, hops, simulated, memory, wall_s)


def scheme_of(job: Job) -> tuple[str, str]:
    """Returns the key that runs of the same speed share."""
    return job.scenario["scheme"], json.dumps(job.scenario["topology"])


def measured(jobs: list[Job], together: int) -> dict[tuple[str, str], float]:
    """Measures packet-hops per second for each scheme and network, with as many runs at once as later."""
    longest: dict[tuple[str, str], Job] = {}
    for job in jobs:
        known = longest.get(scheme_of(job))
        if known is None or job.expected_hops > known.expected_hops:
            longest[scheme_of(job)] = job
    chosen = list(longest.values())
    speeds: dict[tuple[str, str], float] = {}
    for i in range(0, min(len(chosen), TRIALS_MAX), together):
        some = chosen[i : i + together]
        several = [some[k % len(some)] for k in range(together)]
        for job, speed in zip(several, trial(several), strict=True):
            speeds.setdefault(scheme_of(job), speed)
    usual = median(speeds.values())
    return {key: speeds.get(key, usual) for key in longest}


def trial(jobs: list[Job]) -> list[float]:
    """Runs these side by side for a short time, and returns the packet-hops per second of each."""
    runs = [start(job) for job in jobs]
    began = [perf_counter()] * len(runs)
    while any(not run.wait(0.0) and not run.progress()["packet_hops"] for run in runs):
        sleep(0.002)  # A long list of flows takes a while to set up.
        began = [
            perf_counter() if not run.progress()["packet_hops"] else at for run, at in zip(runs, began, strict=True)
        ]
    until = perf_counter() + TRIAL_S
    ends: list[float | None] = [None] * len(runs)
    while perf_counter() < until and None in ends:
        ends = [end or (perf_counter() if run.wait(0.0) else None) for run, end in zip(runs, ends, strict=True)]
        sleep(0.002)
    hops = [run.progress()["packet_hops"] for run in runs]
    now = perf_counter()
    for run in runs:
        run.cancel()
    for run in runs:
        run.wait(60.0)
    return [max(1.0, n / max(1e-6, (end or now) - at)) for n, end, at in zip(hops, ends, began, strict=True)]
