"""Runs a plan: several runs at a time, one thread each, while processors and memory allow.

Neither the order of completion nor the number of threads changes a byte of the results. Each run is written as soon as
it ends, so a plan holds no more than the runs in progress.
"""

from __future__ import annotations

import json
import os
import queue
import resource
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from backwater import _core
from backwater.results import Writer

MEMORY_TOGETHER_MB = 900
"""Runs go side by side while their estimates add up to no more than this."""
POLL_S = 0.1

T = TypeVar("T")


class SimulatorError(Exception):
    """The simulator failed where only a bug of ours can make it fail."""


@dataclass
class Job:
    """One run of a plan, from waiting to written."""

    label: str
    scenario: dict[str, Any]
    params: dict[str, Any]
    estimate: dict[str, Any]
    state: Literal["waiting", "running", "writing", "done", "skipped"] = "waiting"
    threads: int = 1
    run: _core.Run | None = None
    started: float = 0.0
    wall_s: float = 0.0
    summary: dict[str, Any] = field(default_factory=dict)
    digest: str = ""
    digests: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    @property
    def expected_hops(self) -> float:
        return max(1.0, float(self.estimate["packet_hops"]))

    @property
    def scenario_json(self) -> str:
        return json.dumps(self.scenario)

    @property
    def share_done(self) -> float:
        """0 to 1, by simulated time."""
        if self.state in ("done", "skipped", "writing"):
            return 1.0
        if self.run is None:
            return 0.0
        progress = self.run.progress()
        return min(0.99, progress["now_ps"] / max(1, progress["end_ps"]))

    def entry(self) -> dict[str, Any]:
        """This run in the manifest."""
        return {
            "label": self.label,
            "scheme": self.scenario["scheme"],
            "params": self.params,
            "digest": self.digest,
            "digests": self.digests,
            "dir": self.label,
            "complete": bool(self.summary["complete"]),
            "files": self.files,
        }

    def timing(self) -> dict[str, Any]:
        hops = self.summary["packet_hops"]
        return {
            "label": self.label,
            "wall_s": round(self.wall_s, 4),
            "threads": self.threads,
            "packet_hops": hops,
            "packet_hops_per_s": round(hops / self.wall_s) if self.wall_s > 0 else None,
        }


class Watch:
    """Hears of a sweep's progress; this one keeps silent."""

    def on_start(self, job: Job) -> None: ...
    def on_tick(self, jobs: list[Job]) -> None: ...
    def on_done(self, job: Job) -> None: ...


def jobs_of(plan: dict[str, Any]) -> list[Job]:
    """The runs of a plan, each with its estimate."""
    jobs = []
    for planned in plan["runs"]:
        estimate = json.loads(_core.estimate(json.dumps(planned["scenario"])))
        jobs.append(Job(planned["label"], planned["scenario"], planned.get("params", {}), estimate))
    return jobs


def execute(jobs: list[Job], writer: Writer, threads: int | None, watch: Watch) -> bool:
    """Runs all jobs; True if every one ran to its end. False after Ctrl-C: what was done by then is written.

    # Errors
    `InputError` when the disk refuses, `SimulatorError` when the simulator fails. Runs written before that stay.
    """
    threads = threads or os.cpu_count() or 1
    together = min(threads, len(jobs))
    for job in jobs:
        job.threads = max(1, threads // together)

    events: queue.SimpleQueue[tuple[Job, BaseException | None]] = queue.SimpleQueue()
    waiting = list(jobs)
    active: list[Job] = []
    stopped: BaseException | None = None

    def stop(reason: BaseException) -> None:
        nonlocal stopped
        stopped = stopped or reason
        for job in waiting:
            job.state = "skipped"
        waiting.clear()
        for job in active:
            if job.run is not None:
                job.run.cancel()

    while waiting or active:
        try:
            while waiting and len(active) < together and fits(waiting[0], active):
                job = waiting.pop(0)
                active.append(job)
                job.state, job.started = "running", time.perf_counter()
                job.run = start(job)
                threading.Thread(target=follow, args=(job, writer, events), daemon=True).start()
                watch.on_start(job)
            try:
                job, error = events.get(timeout=POLL_S)
            except queue.Empty:
                watch.on_tick(jobs)
                continue
            active.remove(job)
            if error is None:
                job.state = "done"
                watch.on_done(job)
            else:
                job.state = "skipped"
                stop(error)
        except KeyboardInterrupt as interrupt:
            if isinstance(stopped, KeyboardInterrupt):
                raise  # Asked twice: do not even write.
            stop(interrupt)

    if stopped is None:
        return True
    if isinstance(stopped, KeyboardInterrupt):
        return False
    raise stopped


def fits(job: Job, active: list[Job]) -> bool:
    """Whether there is memory for one more run; one may always run."""
    return not active or sum(j.estimate["memory_mb"] for j in [job, *active]) <= MEMORY_TOGETHER_MB


def start(job: Job) -> _core.Run:
    return guarded(job, lambda: _core.start(job.scenario_json, job.threads))


def follow(job: Job, writer: Writer, events: queue.SimpleQueue[tuple[Job, BaseException | None]]) -> None:
    """Waits for a run and writes it."""
    try:
        run = job.run
        assert run is not None, "started before it is followed"
        while not guarded(job, lambda: run.wait(1.0)):
            pass
        job.wall_s = time.perf_counter() - job.started
        job.state = "writing"
        outcome = guarded(job, run.outcome)
        job.run = None
        job.digest, job.digests = outcome.digest, json.loads(outcome.digests())
        job.summary, job.files = writer.write_run(job.label, job.scenario, outcome)
        del outcome
        events.put((job, None))
    except BaseException as error:  # Whatever it is, the main thread decides.
        events.put((job, error))


def guarded(job: Job, call: Callable[[], T]) -> T:
    """What the simulator raises, other than `InputError`, is our bug."""
    try:
        return call()
    except (_core.InputError, KeyboardInterrupt):
        raise
    except BaseException as error:  # A Rust panic is no Exception.
        raise SimulatorError(f"run '{job.label}': {error}") from error


def peak_rss_mb() -> float:
    """Most memory this process ever held."""
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(rss / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
