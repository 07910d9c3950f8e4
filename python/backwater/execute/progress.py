"""Tells how much of an experiment is done: to a function, or as a bar."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from backwater.execute.job import Job
from backwater.execute.sweep import Watch
from backwater.runs.summary import IterationSummary


class Shares(Watch):
    """Tells a function the share of all runs that is done."""

    def __init__(self, tell: Callable[[float], None], other: Watch) -> None:
        self.tell, self.other = tell, other

    def on_begin(self, jobs: list[Job]) -> None:
        self.other.on_begin(jobs)

    def on_found(self, job: Job) -> None:
        self.other.on_found(job)

    def on_start(self, job: Job) -> None:
        self.other.on_start(job)

    def on_tick(self, jobs: list[Job]) -> None:
        self.other.on_tick(jobs)
        self.tell(sum(job.expected_hops * job.share_done for job in jobs) / sum(job.expected_hops for job in jobs))

    def on_iterations(self, job: Job, ended: list[IterationSummary]) -> None:
        self.other.on_iterations(job, ended)

    def on_done(self, job: Job) -> None:
        self.other.on_done(job)


@contextlib.contextmanager
def watching(progress: bool | Callable[[float], None], watch: Watch | None) -> Iterator[Watch]:
    """Yields who is told of progress: `watch`, and a function or a bar."""
    other = watch or Watch()
    if callable(progress):
        yield Shares(progress, other)
        progress(1.0)
    elif progress:
        from rich.progress import Progress

        with Progress() as bars:
            task = bars.add_task("runs", total=1.0)
            yield Shares(lambda share: bars.update(task, completed=share), other)
            bars.update(task, completed=1.0)
    else:
        yield other
