"""Runs plans: several runs at a time, one thread each, while processors and memory allow.

Neither the order of completion nor the number of threads changes a byte of the results. Each run is written and
recorded when it ends. So a plan holds only the runs in progress, and no finished run is lost. The first runs of a plan
start while the last runs of the previous plan still run. Runs that exist under another name are not repeated.
"""

from __future__ import annotations

import json
import operator
import queue
import resource
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from backwater import _core
from backwater.common import arrays
from backwater.common.ranges import THREADS_MAX
from backwater.common.signals import Stop
from backwater.compute import running
from backwater.execute import memory
from backwater.execute.control import Bound, RateControl
from backwater.runs import capture, events
from backwater.runs.manifest import Entry, RunTiming
from backwater.runs.run import Run
from backwater.runs.summary import IterationSummary, Summary
from backwater.runs.writer import Shipped, Writer
from backwater.scenario.plan import Forecast, Params, Plan, Scenario, forecast

if TYPE_CHECKING:
    from backwater.execute.cluster import Cluster, Remote
    from backwater.lab.machine import LabRun, Machine

MEMORY_SHARE = 0.8
"""Of the memory that is free at first, runs that go side by side may take this."""
MEMORY_UNKNOWN_MB = 900
"""Where the system does not say how much there is."""
POLL_S = 0.1
THREADS_PER_PROCESSOR = 4
"""More than this only wait for each other."""

T = TypeVar("T")


class SimulatorError(Exception):
    """The simulator failed where only a bug of ours can make it fail."""


@dataclass(eq=False)
class Job:
    """One run of a plan, from waiting until it is written."""

    label: str
    scenario: Scenario
    params: Params
    estimate: Forecast
    state: Literal["waiting", "running", "writing", "done", "skipped"] = "waiting"
    threads: int = 1
    events: events.Wanted | None = None
    captured: capture.Wanted | None = None
    control: RateControl | None = None
    """Its congestion control, if that is code in Python."""
    calls: tuple[int, float] = (0, 0.0)
    """Calls of that control, and the seconds that they took."""
    run: _core.Run | running.Computing | Remote | LabRun | None = None
    started: float = 0.0
    wall_s: float = 0.0
    summary: Summary = field(default_factory=Summary)
    digest: str = ""
    digests: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    told: str = ""
    """What there is to say of its events and captures."""
    plan: str = ""
    """Whose run it is, where several plans run together."""
    key: str = ""
    """What a store knows it by; equal for runs that are the same under other names."""

    def take(self, run: Run, timing: RunTiming | None) -> None:
        """Marks the run as finished before. Its timing is known if it was written."""
        self.state = "done"
        self.summary, self.files = run.summary, run.entry.files
        self.digest, self.digests = run.digest, run.digests
        if timing is not None:
            self.wall_s, self.threads = timing["wall_s"], timing["threads"]

    @property
    def cut_short(self) -> bool:
        """Returns whether the run was stopped before its end."""
        return self.summary["ending"]["why"] == "interrupted"

    @property
    def expected_hops(self) -> float:
        return max(1.0, float(self.estimate.packet_hops))

    @property
    def shown(self) -> str:
        """Returns the name of the run among all plans."""
        return f"{self.plan}: {self.label}" if self.plan else self.label

    @property
    def scenario_json(self) -> str:
        return json.dumps(self.scenario)

    @property
    def share_done(self) -> float:
        """Returns the simulated share of the run, 0 to 1."""
        if self.state not in ("waiting", "running"):
            return 1.0
        if self.run is None:
            return 0.0
        progress = self.run.progress()
        # Jobs run to their end, after the counted window.
        return min(0.99, progress["now_ps"] / max(1, progress["end_ps"], self.estimate.sim_time_ps))

    def ended_iterations(self) -> list[IterationSummary]:
        """Returns the iterations of training jobs that have ended since the last call."""
        if self.state != "running" or not isinstance(self.run, _core.Run):
            return []
        rows: list[IterationSummary] = json.loads(self.run.iterations())
        return rows

    def entry(self) -> Entry:
        """Returns the entry of this run in the manifest."""
        return Entry(
            label=self.label,
            scheme=self.scenario.get("scheme") or running.kind_of(self.scenario),
            params=self.params,
            digest=self.digest,
            digests=self.digests,
            dir=self.label,
            complete=bool(self.summary["complete"]),
            ending=self.summary["ending"]["why"],
            cut_short=self.cut_short,
            files=self.files,
        )

    def timing(self) -> RunTiming:
        hops = self.summary["packet_hops"]
        timing: RunTiming = {
            "label": self.label,
            "wall_s": round(self.wall_s, 4),
            "threads": self.threads,
            "packet_hops": hops,
            "packet_hops_per_s": round(hops / self.wall_s) if self.wall_s > 0 else None,
        }
        if self.calls[0]:
            timing |= {"control_calls": self.calls[0], "control_s": round(self.calls[1], 4)}
        return timing


class Watch:
    """Is told of a sweep's progress. This one prints nothing."""

    def on_begin(self, jobs: list[Job]) -> None: ...
    def on_found(self, job: Job) -> None: ...
    def on_start(self, job: Job) -> None: ...
    def on_tick(self, jobs: list[Job]) -> None: ...
    def on_iterations(self, job: Job, ended: list[IterationSummary]) -> None: ...
    def on_done(self, job: Job) -> None: ...


def jobs_of(plan: Plan) -> list[Job]:
    """Returns the runs of a plan, each with its estimate."""
    jobs = []
    for planned in plan.runs:
        computed = running.is_computation(planned.scenario)
        estimate = running.ESTIMATE if computed else forecast(planned.scenario)
        jobs.append(Job(planned.label, planned.scenario, planned.params, estimate))
    return jobs


class Batch(Protocol):
    """The runs of one plan and their directory."""

    jobs: list[Job]

    @property
    def writer(self) -> Writer: ...

    def open(self, watch: Watch) -> None:
        """Takes over finished runs, before the first run starts."""

    def stored(self, job: Job) -> bool:
        """Takes a run from the store, if it is there."""

    def record(self, job: Job) -> None:
        """Records that a run is written."""

    def catch_up(self) -> None:
        """Records all written runs, if enough time has passed."""

    def finish(self) -> None:
        """Ends the directory after the last run."""


Ends = queue.SimpleQueue[tuple[Batch, Job, Literal["ran", "written"] | BaseException]]
"""What became of runs; one that ran has freed its processor."""


class Sweep:
    """Plans in progress: the waiting runs, the running ones, and the reason to stop."""

    def __init__(
        self, batches: Sequence[Batch], threads: int, watch: Watch, stop: Stop, cluster: Cluster | Machine | None = None
    ) -> None:
        self.closed = list(batches)
        """Plans of which nothing has started."""
        self.jobs = [job for batch in batches for job in batch.jobs]
        self.threads, self.watch, self.stop, self.cluster = threads, watch, stop, cluster
        self.waiting: list[tuple[Batch, Job]] = []
        self.active: list[tuple[Batch, Job]] = []
        self.together = 1
        """Runs that go side by side."""
        self.memory = Memory()
        self.ends: Ends = queue.SimpleQueue()
        self.stopped: BaseException | None = None

    def execute(self) -> bool:
        """Runs all waiting jobs and records each that ends. Returns True if every job ran to its end.

        False after Ctrl-C or where `stop` wants it: what was done by then is written.

        # Errors
        `InputError` when the disk refuses, `SimulatorError` when the simulator fails. Runs written before that stay.
        """
        self.watch.on_begin(self.jobs)
        while self.closed or self.waiting or self.active:
            try:
                if self.stop.is_wanted() and self.stopped is None:
                    self.wind_down(KeyboardInterrupt())
                if self.stop.is_due():
                    for _, job in self.active:
                        job.state = "skipped"
                    break
                self.start_more()
                self.hear()
            except KeyboardInterrupt as interrupt:
                if isinstance(self.stopped, KeyboardInterrupt):
                    raise  # Asked twice: do not even write.
                self.wind_down(interrupt)
            except (_core.InputError, SimulatorError) as error:
                self.wind_down(error)
        if self.stopped is None:
            return True
        if isinstance(self.stopped, KeyboardInterrupt):
            return False
        raise self.stopped

    def wind_down(self, reason: BaseException) -> None:
        self.stopped = self.stopped or reason
        for _, job in self.waiting:
            job.state = "skipped"
        self.closed.clear()
        self.waiting.clear()
        for _, job in self.active:
            if (run := job.run) is not None:
                run.cancel()

    def start_more(self) -> None:
        """Starts as many runs as processors and memory allow."""
        while self.stopped is None and self.has_processor() and (chosen := self.next()) is not None:
            batch, job = chosen
            if self.cluster is None and not self.memory.has_room(job, [other for _, other in self.active]):
                return
            self.waiting.remove(chosen)
            job.state, job.started = "skipped", time.perf_counter()
            if batch.stored(job):
                self.done(batch, job, self.watch.on_found)
                continue
            job.run = start(job) if self.cluster is None else self.cluster.start(job.scenario_json)
            job.state = "running"
            self.active.append(chosen)
            arrays.load_meanwhile()
            threading.Thread(target=follow, args=(batch, job, self.ends), daemon=True).start()
            self.watch.on_start(job)

    def has_processor(self) -> bool:
        """Returns whether one more run may start. With several threads one may start while another is written."""
        if self.cluster is not None:
            return len([job for _, job in self.active if job.state == "running"]) < self.cluster.slots
        busy = self.active if self.together == 1 else [job for _, job in self.active if job.state == "running"]
        return len(busy) < self.together

    def next(self) -> tuple[Batch, Job] | None:
        """Returns the next job in the order of plans. A job whose run is in progress under another name waits."""
        while True:
            running = {job.key for _, job in self.active} - {""}
            chosen = next((pair for pair in self.waiting if pair[1].key not in running), None)
            if chosen is not None or not self.closed:
                return chosen
            batch = self.closed.pop(0)
            batch.open(self.watch)
            left = [job for job in batch.jobs if job.state == "waiting"]
            if self.threads > 1:
                # The longest first, so that none is left alone at the end.
                left.sort(key=lambda job: -job.expected_hops)
            self.waiting += [(batch, job) for job in left]
            self.share_threads()
            if not left:
                batch.finish()

    def share_threads(self) -> None:
        """Gives several threads to each run, if there are few runs."""
        left = len(self.waiting) + len(self.active) + sum(len(batch.jobs) for batch in self.closed)
        self.together = max(1, min(self.threads, left))
        for _, job in self.waiting:
            job.threads = 1 if job.control is not None else max(1, self.threads // self.together)

    def hear(self) -> None:
        """Waits a short time for a run to be written."""
        if not self.active:
            if self.cluster is not None and self.stopped is None:
                time.sleep(POLL_S)  # For its workers.
            return
        try:
            batch, job, news = self.ends.get(timeout=POLL_S if self.stopped is None else POLL_S / 10)
        except queue.Empty:
            self.memory.look([job for _, job in self.active])
            for started in {id(batch): batch for batch, _ in self.active}.values():
                started.catch_up()
            for _, job in self.active:
                if ended := job.ended_iterations():
                    self.watch.on_iterations(job, ended)
            if self.stopped is None:
                self.watch.on_tick(self.jobs)
            return
        if news == "ran":
            return
        self.active = [pair for pair in self.active if pair[1] is not job]
        if isinstance(news, BaseException):
            job.state = "skipped"
            raise news
        self.done(batch, job, self.watch.on_done)

    def done(self, batch: Batch, job: Job, tell: Callable[[Job], None]) -> None:
        job.state = "done"
        try:
            batch.record(job)
        except BaseException:
            job.state = "skipped"
            raise
        tell(job)
        if self.stopped is None and all(job.state == "done" for job in batch.jobs):
            batch.finish()


def threads_of(asked: object) -> int:
    """Returns how many threads to use, by default one for each processor that this process may use.

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


class Memory:
    """The memory that runs may use together: their estimates, and what they used beyond these."""

    def __init__(self, most_mb: float | None = None) -> None:
        self.most_mb = most_mb or memory_together_mb()
        self.before_mb = resident_mb()
        self.beyond_mb = 0.0
        """What was taken beyond the estimates, at most so far."""

    def has_room(self, job: Job, active: list[Job]) -> bool:
        """Returns whether there is memory for one more run. One run is always allowed."""
        return not active or self.beyond_mb + estimated_mb([job, *active]) <= self.most_mb

    def look(self, active: list[Job]) -> None:
        """Compares the memory of the process with the estimates of these runs, and with earlier use."""
        self.beyond_mb = max(self.beyond_mb, resident_mb() - self.before_mb - estimated_mb(active))


def estimated_mb(jobs: list[Job]) -> float:
    return sum(float(job.estimate.memory_mb) for job in jobs)


def memory_together_mb() -> float:
    """Returns the memory in MB that runs side by side may use."""
    free = _core.free_memory()
    return MEMORY_UNKNOWN_MB if free is None else MEMORY_SHARE * free / 1e6


def resident_mb() -> float:
    """Returns the memory in MB that this process holds now, as far as the system says."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return 0.0


def start(job: Job) -> _core.Run | running.Computing:
    if running.is_computation(job.scenario):
        return running.Computing(job.scenario)
    asked: dict[str, Any] = {}
    if job.events is not None:
        asked["events"] = job.events.asked
    if job.captured is not None:
        asked["capture"] = job.captured.asked
    if job.control is not None:
        asked["control"] = Bound(job.control)
    return guarded(job, lambda: _core.start(job.scenario_json, job.threads, **asked))


def follow(batch: Batch, job: Job, ends: Ends) -> None:
    """Waits for a run and writes it. It reports both the end of the run and the end of writing."""
    try:
        run = job.run
        assert run is not None, "started before it is followed"
        while not guarded(job, lambda: run.wait(1.0)):
            pass
        job.wall_s = time.perf_counter() - job.started
        job.state = "writing"
        ends.put((batch, job, "ran"))
        if job.control is not None and isinstance(run, _core.Run):
            job.calls = run.calls()
            outcome: Any = run.outcome()  # Raises what the control raised.
        else:
            outcome = guarded(job, lambda: run.outcome())
        if isinstance(outcome, Shipped):
            job.wall_s = outcome.wall_s
        job.run = None
        job.digest, job.digests = outcome.digest, json.loads(outcome.digests())
        job.summary, job.files = batch.writer.write_run(job.label, job.scenario, outcome)
        if isinstance(outcome, _core.Outcome):
            told = []
            if job.events is not None:
                told.append(events.write(outcome, job.label, job.summary["sim_time_ps"], job.events))
            if job.captured is not None:
                told.append(capture.write(outcome, job.label, job.captured))
            job.told = "\n".join(told)
        del outcome
        memory.give_back()
        ends.put((batch, job, "written"))
    except (_core.InputError, SimulatorError) as error:
        ends.put((batch, job, error))
    except Exception as error:
        ours = SimulatorError(f"run '{job.label}': {type(error).__name__}: {error}")
        ends.put((batch, job, ours if job.control is None else error))
    except BaseException as error:  # Whatever it is, the main thread decides.
        ends.put((batch, job, SimulatorError(f"run '{job.label}': {type(error).__name__}: {error}")))


def guarded(job: Job, call: Callable[[], T]) -> T:
    """Turns any error of the simulator other than `InputError` into `SimulatorError`, which is our bug."""
    try:
        return call()
    except (_core.InputError, KeyboardInterrupt):
        raise
    except BaseException as error:  # A Rust panic is no Exception.
        raise SimulatorError(f"run '{job.label}': {error}") from error


def peak_rss_mb() -> float:
    """Returns the most memory in MB that this process ever held."""
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(rss / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
