"""Runs a plan: several runs at a time, one thread each, while processors and memory allow.

Neither the order of completion nor the number of threads changes a byte of the results. Each run is written and
recorded as soon as it ends, so a plan holds no more than the runs in progress, and nothing that ended is lost.
"""

from __future__ import annotations

import json
import operator
import queue
import resource
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from backwater import _core, events
from backwater.compute import running
from backwater.results import Run
from backwater.signals import Stop
from backwater.writer import Writer

MEMORY_TOGETHER_MB = 900
"""Runs go side by side while their estimates add up to no more than this."""
POLL_S = 0.1
THREADS_MAX = 1024
THREADS_PER_PROCESSOR = 4
"""More than this only wait for each other."""

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
    events: events.Wanted | None = None
    run: _core.Run | running.Computing | None = None
    started: float = 0.0
    wall_s: float = 0.0
    summary: dict[str, Any] = field(default_factory=dict)
    digest: str = ""
    digests: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    told: str = ""
    """What there is to say of its events."""

    def take(self, run: Run, timing: dict[str, Any]) -> None:
        """This run was finished before; its timing is known if it was written."""
        self.state = "done"
        self.summary, self.files = run.summary, run.entry["files"]
        self.digest, self.digests = run.digest, run.digests
        self.wall_s, self.threads = timing.get("wall_s", 0.0), timing.get("threads", 1)

    @property
    def cut_short(self) -> bool:
        """It was stopped before its end."""
        return self.summary["ending"]["why"] == "interrupted"

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
            "scheme": self.scenario.get("scheme") or running.kind_of(self.scenario),
            "params": self.params,
            "digest": self.digest,
            "digests": self.digests,
            "dir": self.label,
            "complete": bool(self.summary["complete"]),
            "ending": self.summary["ending"]["why"],
            "cut_short": self.cut_short,
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

    def on_found(self, job: Job) -> None: ...
    def on_start(self, job: Job) -> None: ...
    def on_tick(self, jobs: list[Job]) -> None: ...
    def on_done(self, job: Job) -> None: ...


def jobs_of(plan: dict[str, Any]) -> list[Job]:
    """The runs of a plan, each with its estimate."""
    jobs = []
    for planned in plan["runs"]:
        scenario = planned["scenario"]
        computed = running.is_computation(scenario)
        estimate = running.ESTIMATE if computed else json.loads(_core.estimate(json.dumps(scenario)))
        jobs.append(Job(planned["label"], scenario, planned.get("params", {}), estimate))
    return jobs


def execute(
    jobs: list[Job], writer: Writer, threads: int, watch: Watch, stop: Stop, record: Callable[[], None]
) -> bool:
    """Runs all jobs that wait, and records each that ends; True if every one ran to its end.

    False after Ctrl-C or where `stop` wants it: what was done by then is written.

    # Errors
    `InputError` when the disk refuses, `SimulatorError` when the simulator fails. Runs written before that stay.
    """
    waiting = [job for job in jobs if job.state == "waiting"]
    together = max(1, min(threads, len(waiting)))
    for job in waiting:
        job.threads = max(1, threads // together)

    ends: queue.SimpleQueue[tuple[Job, BaseException | None]] = queue.SimpleQueue()
    active: list[Job] = []
    stopped: BaseException | None = None

    def wind_down(reason: BaseException) -> None:
        nonlocal stopped
        stopped = stopped or reason
        for job in waiting:
            job.state = "skipped"
        waiting.clear()
        for job in active:
            if (run := job.run) is not None:
                run.cancel()

    while waiting or active:
        try:
            if stop.is_wanted() and stopped is None:
                wind_down(KeyboardInterrupt())
            if stop.is_due():
                for job in active:
                    job.state = "skipped"
                break
            while waiting and len(active) < together and fits(waiting[0], active):
                job = waiting.pop(0)
                job.state, job.started = "skipped", time.perf_counter()
                job.run = start(job)
                job.state = "running"
                active.append(job)
                threading.Thread(target=follow, args=(job, writer, ends), daemon=True).start()
                watch.on_start(job)
            try:
                job, error = ends.get(timeout=POLL_S if stopped is None else POLL_S / 10)
            except queue.Empty:
                if stopped is None:
                    watch.on_tick(jobs)
                continue
            active.remove(job)
            try:
                if error is not None:
                    raise error
                job.state = "done"
                record()
            except BaseException:
                job.state = "skipped"
                raise
            watch.on_done(job)
        except KeyboardInterrupt as interrupt:
            if isinstance(stopped, KeyboardInterrupt):
                raise  # Asked twice: do not even write.
            wind_down(interrupt)
        except (_core.InputError, SimulatorError) as error:
            wind_down(error)

    if stopped is None:
        return True
    if isinstance(stopped, KeyboardInterrupt):
        return False
    raise stopped


def threads_of(asked: object) -> int:
    """How many to use of what was asked for, by default one for each processor that this process may use.

    # Errors
    `InputError` where it is no number of threads.
    """
    if asked is None:
        return _core.processors()
    try:
        number = -1 if isinstance(asked, bool) else operator.index(asked)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 1 <= number <= THREADS_MAX:
        shown = repr(asked) if not isinstance(asked, int) or abs(asked) < 10**40 else "a number of many digits"
        raise _core.InputError(f"threads = {shown}: expected a whole number from 1 to {THREADS_MAX}")
    return min(number, THREADS_PER_PROCESSOR * _core.processors())


def fits(job: Job, active: list[Job]) -> bool:
    """Whether there is memory for one more run; one may always run."""
    return not active or sum(j.estimate["memory_mb"] for j in [job, *active]) <= MEMORY_TOGETHER_MB


def start(job: Job) -> _core.Run | running.Computing:
    if running.is_computation(job.scenario):
        return running.Computing(job.scenario)
    if (wanted := job.events) is None:
        return guarded(job, lambda: _core.start(job.scenario_json, job.threads))
    return guarded(job, lambda: _core.start(job.scenario_json, job.threads, events=wanted.asked))


def follow(job: Job, writer: Writer, ends: queue.SimpleQueue[tuple[Job, BaseException | None]]) -> None:
    """Waits for a run and writes it."""
    try:
        run = job.run
        assert run is not None, "started before it is followed"
        while not guarded(job, lambda: run.wait(1.0)):
            pass
        job.wall_s = time.perf_counter() - job.started
        job.state = "writing"
        outcome = guarded(job, lambda: run.outcome())
        job.run = None
        job.digest, job.digests = outcome.digest, json.loads(outcome.digests())
        job.summary, job.files = writer.write_run(job.label, job.scenario, outcome)
        if job.events is not None and isinstance(outcome, _core.Outcome):
            job.told = events.write(outcome, job.label, job.summary["sim_time_ps"], job.events)
        del outcome
        ends.put((job, None))
    except (_core.InputError, SimulatorError) as error:
        ends.put((job, error))
    except BaseException as error:  # Whatever it is, the main thread decides.
        ends.put((job, SimulatorError(f"run '{job.label}': {type(error).__name__}: {error}")))


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
