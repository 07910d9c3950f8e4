"""What the command line prints, and progress."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

from rich.console import Console
from rich.live import Live as Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table as Table  # For commands, which get it from here.
from rich.text import Text

from backwater.common.quantities import count, percent, some, span
from backwater.execute.job import Job
from backwater.execute.sweep import Watch
from backwater.runs.summary import IterationSummary

PLAIN: Any = {"highlight": False, "markup": False, "emoji": False}
"""Names are shown as they are: brackets and colons in them mean nothing."""
WIDTH = 160
"""Of output that is no terminal."""


class Output(Console):
    """Standard output. `quiet_notes` leaves out notes and progress, but not the output that was asked for."""

    quiet_notes = False

    def __init__(self, color: str = "auto") -> None:
        systems: dict[str, Literal["auto", "standard"] | None] = {"auto": "auto", "always": "standard", "never": None}
        super().__init__(**PLAIN, color_system=systems[color])
        if not self.is_terminal:
            self.width = WIDTH


out = Output()


def choose(*, quiet: bool = False, color: str = "auto") -> None:
    """Applies `--quiet` and `--color`."""
    out.__init__(color)  # type: ignore[misc]  # The same object, which other modules have by its name.
    out.quiet_notes = quiet


PLAIN_EVERY_S = 10.0
ITERATIONS = 5
"""So many iterations of a job have a line each."""
MANY = 40
"""Runs beyond which each has no lines of its own."""
VERDICT_STYLE = {
    "pass": "green",
    "fail": "bold red",
    **dict.fromkeys(("part", "direction", "undecided", "unsettled", "vacuous"), "yellow"),
    **dict.fromkeys(("fact", "refers", "not-run"), "dim"),
}


def say(line: str) -> None:
    """Prints a note, unless `--quiet` is given. It is neither wrapped nor interpreted."""
    if not out.quiet_notes:
        out.print(line, soft_wrap=True)


def note(line: str) -> None:
    """Prints a note on standard error, unless `--quiet` is given."""
    if not out.quiet_notes:
        print(f"Note: {line}", file=sys.stderr)


def answer(line: str) -> None:
    """Prints a line that was asked for. It is neither wrapped nor interpreted."""
    out.print(line, soft_wrap=True)


def verdict_text(verdict: str, *, starred: bool = False) -> Text:
    """Returns a verdict in its colour, with a star if the claim was changed after a result was seen."""
    return Text(verdict + "*" * starred, VERDICT_STYLE.get(verdict, ""))


@contextlib.contextmanager
def progress_watch() -> Iterator[Watch]:
    """Shows progress: bars on a terminal, lines elsewhere, nothing with `--quiet`."""
    if out.quiet_notes:
        yield Watch()
        return
    if not out.is_terminal:
        yield Lines()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=out, transient=True) as progress:
        yield Bars(progress)


@contextlib.contextmanager
def progress_of(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yields a function that shows progress: as a bar on a terminal, else as a line now and then."""
    if out.quiet_notes:
        yield lambda done, of: None
        return
    if not out.is_terminal:
        said = began = time.monotonic()

        def line(done: int, of: int) -> None:
            nonlocal said
            if of and time.monotonic() - said >= PLAIN_EVERY_S:
                said = time.monotonic()
                left = (said - began) * (of - done) / max(1, done)
                print(f"{what}: {percent(done / of)}, about {span(left)} left", flush=True)

        yield line
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of or None)


class Bars(Watch):
    """A bar for the whole and one for each run in progress."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.whole = progress.add_task("all runs", total=1.0, rate="", visible=False)
        self.tasks: dict[Job, TaskID] = {}
        self.iterations = Iterations()

    def on_found(self, job: Job) -> None:
        self.progress.console.print(found(job), markup=False)

    def on_start(self, job: Job) -> None:
        self.tasks[job] = self.progress.add_task(job.shown, total=1.0, rate="")

    def on_tick(self, jobs: list[Job]) -> None:
        total = sum(job.expected_hops for job in jobs)
        done = sum(job.expected_hops * job.share_done for job in jobs)
        self.progress.update(self.whole, completed=done / total, visible=len(jobs) > 1)
        for job in jobs:
            if job.state == "running":
                self.progress.update(self.tasks[job], completed=job.share_done, rate=rate(job))
            elif job.state == "writing":
                self.progress.update(self.tasks[job], completed=1.0, rate="writing tables")

    def on_iterations(self, job: Job, ended: list[IterationSummary]) -> None:
        for line in self.iterations.lines(job, ended):
            self.progress.console.print(line, markup=False)

    def on_done(self, job: Job) -> None:
        self.progress.remove_task(self.tasks.pop(job))
        if job.told:
            self.progress.console.print(job.told, markup=False)


class Iterations:
    """Iterations of jobs as they end, in lines: each of the first ones, then one now and then."""

    def __init__(self) -> None:
        self.told: dict[tuple[Job, str], int] = {}
        self.last = 0.0

    def lines(self, job: Job, ended: list[IterationSummary]) -> Iterator[str]:
        for row in ended:
            key = (job, row["class"])
            now = time.monotonic()
            if self.told.get(key, 0) >= ITERATIONS and now - self.last < PLAIN_EVERY_S:
                continue
            self.told[key], self.last = self.told.get(key, 0) + 1, now
            slowest = "" if row["slowest_rank"] is None else f", slowest rank {row['slowest_rank']}"
            took = span(row["time_ps"] * 1e-12)
            yield f"{job.shown}: iteration {row['iteration']} of {row['class']} took {took}{slowest}"


class Lines(Watch):
    """A line when a run starts and ends, and one now and then. Of many runs, only the latter."""

    def __init__(self) -> None:
        self.began = self.last = time.monotonic()
        self.found = self.done_before = 0.0
        self.jobs: list[Job] = []
        self.are_many = False
        self.iterations = Iterations()

    def on_begin(self, jobs: list[Job]) -> None:
        self.jobs, self.are_many = jobs, len(jobs) > MANY

    def on_found(self, job: Job) -> None:
        self.found += 1
        self.done_before += job.expected_hops
        if not self.are_many:
            self.say(found(job))

    def on_start(self, job: Job) -> None:
        work = f", about {count(job.expected_hops)} packet-hops" if job.estimate.packet_hops else ""
        if not self.are_many:
            self.say(f"{job.shown}: started{work}")

    def on_tick(self, jobs: list[Job]) -> None:
        if time.monotonic() - self.last < PLAIN_EVERY_S:
            return
        if self.are_many:
            self.say(self.all_together(jobs))
            return
        for job in jobs:
            if job.state == "running":
                self.say(f"{job.shown}: {percent(job.share_done)}, {rate(job)}")

    def on_iterations(self, job: Job, ended: list[IterationSummary]) -> None:
        if not self.are_many:
            for line in self.iterations.lines(job, ended):
                print(line, flush=True)

    def on_done(self, job: Job) -> None:
        how = "stopped after" if job.cut_short else "done in"
        if not self.are_many:
            self.say(f"{job.shown}: {how} {span(job.wall_s)}")
        if job.told:
            self.say(job.told)
        if self.are_many:
            self.on_tick(self.jobs)

    def all_together(self, jobs: list[Job]) -> str:
        """Returns how many runs are done, and when the others will be."""
        total = sum(job.expected_hops for job in jobs)
        done = sum(job.expected_hops * job.share_done for job in jobs)
        ended = sum(job.state == "done" for job in jobs)
        now = done - self.done_before
        left = "" if now <= 0 else f", about {span((time.monotonic() - self.began) * (total - done) / now)} left"
        before = f" ({self.found:,.0f} finished before)" if self.found else ""
        return f"{ended:,} of {some(len(jobs), 'run')} done{before}: {percent(done / total)}{left}"

    def say(self, line: str) -> None:
        self.last = time.monotonic()
        print(line, flush=True)


def found(job: Job) -> str:
    without = "" if job.events is None else f"; no events in {job.events.place}"
    return f"{job.shown}: finished before; not simulated again{without}"


def rate(job: Job) -> str:
    """Returns the packet-hops per second so far."""
    run, elapsed = job.run, time.perf_counter() - job.started
    if run is None or elapsed <= 0 or not job.estimate.packet_hops:
        return ""
    return f"{count(run.progress()['packet_hops'] / elapsed)} packet-hops/s"
