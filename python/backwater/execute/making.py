"""A directory of one experiment while it is made: its runs, its claims and report, and its final place."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from backwater import _core
from backwater.common import disk
from backwater.common.signals import Stop, while_naming
from backwater.common.versions import commit
from backwater.execute import memory, sweep
from backwater.execute.control import RateControl
from backwater.execute.growing import Growing, Page
from backwater.execute.job import Job, SimulatorError, jobs_of
from backwater.execute.store import Store, is_kept, key_of
from backwater.runs.capture import Wanted as Captured
from backwater.runs.directory import digest_of
from backwater.runs.events import Wanted
from backwater.runs.manifest import FORMAT, Manifest, Timing
from backwater.runs.writer import Writer, build, is_own
from backwater.scenario.plan import Plan

if TYPE_CHECKING:
    from backwater.execute.cluster import Cluster
    from backwater.lab.machine import Machine
    from backwater.scenario.typed import Scenario

RECORDED_TOGETHER = 32
"""Of this many finished runs at most one waits for the next manifest. A manifest names every finished run, so the runs
of a large sweep would write millions of entries if each wrote a manifest."""
RECORDING_SHARE = 0.1
"""Most of the time that goes into manifests of fewer new runs, while no run ends."""


class Making:
    """The runs of one plan while they are made in `out`. `made` is called when all are there.

    `page` makes the page that the directory has meanwhile.
    """

    def __init__(
        self,
        plan: Plan,
        name: str,
        command: str,
        out: Path,
        *,
        force: bool = False,
        events: dict[str, Wanted] | None = None,
        captured: dict[str, Captured] | None = None,
        controls: Mapping[str, RateControl] | None = None,
        store: Store | None = None,
        made: Callable[[Path], None] = lambda _: None,
        page: Page | None = None,
    ) -> None:
        self.plan, self.name, self.command, self.out, self.force = plan, name, command, out, force
        self.store, self.made, self.page = store, made, page
        self.jobs = jobs_of(plan)
        for job in self.jobs:
            job.events = (events or {}).get(job.label)
            job.captured = (captured or {}).get(job.label)
            job.control = control_of(job.scenario, controls or {}, job.label)
            if store is not None and job.events is job.captured is job.control is None and is_kept(job.scenario):
                job.key = key_of(job.scenario)
        self.place: Path | None = None
        """Where it is, finished or not; None until it is there."""
        self._writer: Writer | None = None
        self._growing: Growing | None = None
        self._began = 0.0
        self._unrecorded: list[Job] = []
        """Finished runs that the manifest does not name yet."""
        self._next_record = 0.0

    @property
    def writer(self) -> Writer:
        assert self._writer is not None, "opened before a run starts"
        return self._writer

    @property
    def done(self) -> list[Job]:
        return [job for job in self.jobs if job.state == "done"]

    def open(self, watch: sweep.Watch) -> None:
        """Opens the directory and takes over runs that were finished before."""
        self._began = time.perf_counter()
        scenarios = {job.label: job.scenario for job in self.jobs}
        self._writer = Writer(self.out, scenarios, force=self.force)
        self._growing = Growing(self._writer, self.page, len(self.jobs)) if self.page is not None else None
        for job in self.jobs:
            if job.label in self.writer.finished:
                job.take(self.writer.finished[job.label], self.writer.timings.get(job.label))
                watch.on_found(job)
        self._record()
        self._grow()

    def stored(self, job: Job) -> bool:
        """Takes a run from the store. A run whose events or packets are wanted has to be simulated."""
        if self.store is None or not job.key:
            return False
        with disk.errors(self.out):
            taken = self.store.take(job.key, job.scenario, self.writer.path / job.label)
        if taken is None:
            return False
        job.take(*taken)
        return True

    def record(self, job: Job) -> None:
        """Records a finished run, and adds it to the store."""
        self._unrecorded.append(job)
        if RECORDED_TOGETHER * len(self._unrecorded) >= len(self.done):
            self._record()
        self._grow()
        if self.store is not None and job.key and not job.cut_short:
            self.store.put(job.key, self.writer.path / job.label, job.entry(), job.timing())

    def catch_up(self) -> None:
        """Writes the manifest with all finished runs, unless that took too much time recently."""
        if self._unrecorded and time.perf_counter() >= self._next_record:
            self._record()
        self._grow()

    def finish(self) -> None:
        """Ends the directory after its last run: it gets its name."""
        self._record(complete=all(job.summary["complete"] for job in self.jobs), interrupted=False)
        self.place = self._commit(interrupted=False)
        self.made(self.place)

    def leave(self) -> bool:
        """Ends the directory early. Returns whether finished runs are kept, in `place`.

        # Errors
        `InputError` where the disk refuses the last manifest. What an earlier one names is kept.
        """
        if self._writer is None:
            return False
        if not self.done:
            self.close()
            return False
        failure = None
        with while_naming():
            try:
                if self._unrecorded:
                    self._record()
            except _core.InputError as error:
                failure = error
            self.place = self._commit(interrupted=True)
        if failure is not None:
            raise _core.InputError(f"{failure}\n{kept(self)}") from failure
        return True

    def close(self) -> None:
        """Releases the directory as it is."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _commit(self, *, interrupted: bool) -> Path:
        """Gives the directory its name, or leaves it for the next process, and releases it."""
        writer, self._writer = self.writer, None
        return writer.commit(interrupted=interrupted)

    def _record(self, *, complete: bool = False, interrupted: bool = True) -> None:
        began = time.perf_counter()
        try:
            self.writer.record(self._manifest(complete=complete, interrupted=interrupted), self._timing())
        except _core.InputError:
            for job in self._unrecorded:
                job.state = "skipped"
            self._unrecorded.clear()
            raise
        self._unrecorded.clear()
        ended = time.perf_counter()
        self._next_record = ended + (ended - began) / RECORDING_SHARE

    def _grow(self) -> None:
        if self._growing is not None:
            self._growing.look(len(self.done) - len(self._unrecorded))

    def _timing(self) -> Timing:
        """Writes wall-clock time and memory, which the digest does not cover."""
        done, wall_s = self.done, time.perf_counter() - self._began
        hops = sum(job.summary["packet_hops"] for job in done)
        return {
            "wall_s": round(wall_s, 4),
            "packet_hops": hops,
            "packet_hops_per_s": round(hops / wall_s) if wall_s > 0 else None,
            "threads": max((job.threads for job in done), default=0),
            "processors": _core.processors(),
            "peak_rss_mb": memory.peak_rss_mb(),
            "runs": [job.timing() for job in done],
        }

    def _manifest(self, *, complete: bool, interrupted: bool) -> Manifest:
        done, plan = self.done, self.plan
        return Manifest(
            format=FORMAT,
            name=self.name,
            description=plan.description,
            version=_core.version,
            commit=commit(),
            build=build(own=any(is_own(run.scenario) for run in plan.runs)),
            seed=plan.runs[0].scenario["seed"],
            scale=plan.scale,
            seeds=plan.seeds,
            without=plan.without,
            configured=plan.configured,
            components=plan.components,
            digest=digest_of([job.digest for job in done]),
            command=self.command,
            complete=complete,
            interrupted=interrupted,
            figure=plan.figure,
            expect=plan.expect,
            runs=[job.entry() for job in done],
        )


def make(
    makings: Sequence[Making], threads: int, watch: sweep.Watch, stop: Stop, cluster: Cluster | Machine | None = None
) -> bool:
    """Simulates missing runs, here or on a cluster, in the order of experiments. Returns False if interrupted.

    What was done is kept, and each that was begun knows its place.

    # Errors
    `InputError` when the disk refuses, `SimulatorError` when the simulator fails.
    """
    several = len(makings) > 1
    for making in makings if several else ():
        for job in making.jobs:
            job.plan = making.out.name
    try:
        ended = sweep.Sweep(makings, threads, watch, stop, cluster).execute()
        for making in makings:
            making.leave()
        return ended
    except (_core.InputError, SimulatorError) as failure:
        told = [kept(making) for making in makings if left(making)]
        raise type(failure)("\n".join([str(failure), *told])) from failure
    except BaseException:
        for making in makings:
            making.close()
        raise


def control_of(scenario: Scenario, controls: Mapping[str, RateControl], label: str) -> RateControl | None:
    """Returns the control in Python that a scenario names.

    # Errors
    `InputError` if it is not there: a scenario file cannot bring one.
    """
    host = scenario.get("host", {})
    if host.get("transport") != "callback":
        return None
    name = host.get("callback", {}).get("name", "")
    if name not in controls:
        told = f"host.transport = \"callback\": its control '{name}' is a class in Python"
        raise _core.InputError(f"{told}: expected Experiment(..., control=...) (run {label})")
    return controls[name]


def left(making: Making) -> bool:
    """Returns whether finished runs are kept, after a failure that the user knows of."""
    try:
        return making.leave()
    except _core.InputError:
        return making.place is not None


def kept(making: Making) -> str:
    """Returns the finished runs of a directory that was interrupted."""
    return f"{len(making.done)} of {len(making.jobs)} runs were finished and are kept in {making.place}"
