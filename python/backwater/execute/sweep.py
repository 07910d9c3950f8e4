"""Runs plans: several runs at a time, one thread each, while processors and memory allow.

Neither the order of completion nor the number of threads changes a byte of the results. Each run is written and
recorded when it ends. So a plan holds only the runs in progress, and no finished run is lost. The first runs of a plan
start while the last runs of the previous plan still run. Runs that exist under another name are not repeated.
"""

from __future__ import annotations

import functools
import operator
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from backwater import _core
from backwater.common import arrays
from backwater.common.ranges import THREADS_MAX
from backwater.common.signals import Stop
from backwater.execute import memory
from backwater.execute.job import Job, News, SimulatorError, follow, start
from backwater.runs.summary import IterationSummary
from backwater.runs.writer import Writer

if TYPE_CHECKING:
    from backwater.execute.cluster import Cluster
    from backwater.lab.machine import Machine

POLL_S = 0.1
THREADS_PER_PROCESSOR = 4
"""More than this only wait for each other."""


class Watch:
    """Is told how an experiment goes on. Derive a class with the methods that you need, and pass an object of it.

    A job is one run, with its `label`, `scenario`, `params`, `share_done` (0 to 1) and, when it is done, `summary`,
    `digest` and `wall_s`. All methods are called in the thread that called `run`, which waits for them.

    >>> class Lines(backwater.Watch):
    ...     def on_done(self, job):
    ...         print(job.label, job.summary["flows"]["finished"] > 0)
    >>> done = Experiment("fig9.toml", scale="smoke", seed=7, variant="BFC").run(watch=Lines())
    BFC True
    """

    def on_begin(self, jobs: list[Job]) -> None:
        """Is called once, with all runs."""

    def on_found(self, job: Job) -> None:
        """Is called for a run that was finished before or is in the store."""

    def on_start(self, job: Job) -> None:
        """Is called when a run starts."""

    def on_tick(self, jobs: list[Job]) -> None:
        """Is called several times a second, with all runs."""

    def on_iterations(self, job: Job, ended: list[IterationSummary]) -> None:
        """Is called when iterations of a training job have ended in a run."""

    def on_done(self, job: Job) -> None:
        """Is called when a run is written."""


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


Ends = queue.SimpleQueue[tuple[Batch, Job, News]]
"""What became of runs."""


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
            tell = functools.partial(self.take_news, batch, job)
            threading.Thread(target=follow, args=(job, batch.writer.write_run, tell), daemon=True).start()
            self.watch.on_start(job)

    def take_news(self, batch: Batch, job: Job, news: News) -> None:
        """Takes what became of a run from the thread that follows it."""
        self.ends.put((batch, job, news))

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
        job.written = news
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
        self.most_mb = most_mb or memory.together_mb()
        self.before_mb = memory.resident_mb()
        self.beyond_mb = 0.0
        """What was taken beyond the estimates, at most so far."""

    def has_room(self, job: Job, active: list[Job]) -> bool:
        """Returns whether there is memory for one more run. One run is always allowed."""
        return not active or self.beyond_mb + estimated_mb([job, *active]) <= self.most_mb

    def look(self, active: list[Job]) -> None:
        """Compares the memory of the process with the estimates of these runs, and with earlier use."""
        self.beyond_mb = max(self.beyond_mb, memory.resident_mb() - self.before_mb - estimated_mb(active))


def estimated_mb(jobs: list[Job]) -> float:
    return sum(float(job.estimate.memory_mb) for job in jobs)
