"""One run of a plan: what was asked, how it goes, and what it left.

The main thread starts a run, and a thread of its own follows it: `start`, then `follow`. The thread that follows sends
what the run left as one value, so it changes nothing that the main thread changes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from backwater import _core
from backwater.compute import running
from backwater.execute import memory
from backwater.execute.control import Bound, RateControl
from backwater.runs import capture, events
from backwater.runs.manifest import Entry, RunTiming
from backwater.runs.run import Run
from backwater.runs.summary import IterationSummary, Summary
from backwater.runs.writer import Shipped
from backwater.scenario.plan import Forecast, Params, Plan, Scenario, forecasts

if TYPE_CHECKING:
    from backwater.execute.cluster import Remote
    from backwater.lab.machine import LabRun

T = TypeVar("T")


class SimulatorError(Exception):
    """The simulator failed where only a bug of ours can make it fail."""


@dataclass(frozen=True)
class Written:
    """What a run left: its files and digests, its summary, and how long it took."""

    summary: Summary
    digest: str
    digests: dict[str, str]
    files: dict[str, str]
    wall_s: float
    calls: tuple[int, float] = (0, 0.0)
    """Calls of its congestion control in Python, and the seconds that they took."""
    told: str = ""
    """What there is to say of its events and captures."""


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
    run: _core.Run | running.Computing | Remote | LabRun | None = None
    started: float = 0.0
    written: Written | None = None
    """What it left, once it is done."""
    plan: str = ""
    """Whose run it is, where several plans run together."""
    key: str = ""
    """What a store knows it by; equal for runs that are the same under other names."""

    def take(self, run: Run, timing: RunTiming | None) -> None:
        """Marks the run as finished before. Its timing is known if it was written."""
        self.state = "done"
        wall_s = 0.0
        if timing is not None:
            wall_s, self.threads = timing["wall_s"], timing["threads"]
        self.written = Written(run.summary, run.digest, run.digests, run.entry.files, wall_s)

    @property
    def done(self) -> Written:
        """Returns what the run left. It has to be done."""
        assert self.written is not None, "asked for when it is done"
        return self.written

    @property
    def summary(self) -> Summary:
        return self.done.summary

    @property
    def digest(self) -> str:
        return self.done.digest

    @property
    def wall_s(self) -> float:
        return self.done.wall_s

    @property
    def told(self) -> str:
        return self.done.told

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
            digests=self.done.digests,
            dir=self.label,
            complete=bool(self.summary["complete"]),
            ending=self.summary["ending"]["why"],
            cut_short=self.cut_short,
            files=self.done.files,
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
        calls, seconds = self.done.calls
        if calls:
            timing |= {"control_calls": calls, "control_s": round(seconds, 4)}
        return timing


News = Literal["ran"] | Written | BaseException
"""What became of a run. One that ran has freed its processor, and is being written."""
Write = Callable[[str, Scenario, Any], tuple[Summary, dict[str, str]]]
"""Writes a run's outcome under its label. Returns its summary and the hashes of its files."""


def jobs_of(plan: Plan) -> list[Job]:
    """Returns the runs of a plan, each with its estimate."""
    jobs, forecast = [], forecasts()
    for planned in plan.runs:
        computed = running.is_computation(planned.scenario)
        estimate = running.ESTIMATE if computed else forecast(planned.scenario)
        jobs.append(Job(planned.label, planned.scenario, planned.params, estimate))
    return jobs


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


def follow(job: Job, write: Write, tell: Callable[[News], None]) -> None:
    """Waits for a run and writes it. It tells when the run has ended, and what became of it."""
    try:
        run = job.run
        assert run is not None, "started before it is followed"
        while not guarded(job, lambda: run.wait(1.0)):
            pass
        wall_s = time.perf_counter() - job.started
        job.state = "writing"
        tell("ran")
        calls = (0, 0.0)
        if job.control is not None and isinstance(run, _core.Run):
            calls = run.calls()
            outcome: Any = run.outcome()  # Raises what the control raised.
        else:
            outcome = guarded(job, lambda: run.outcome())
        if isinstance(outcome, Shipped):
            wall_s = outcome.wall_s
        job.run = None
        digest, digests = outcome.digest, json.loads(outcome.digests())
        summary, files = write(job.label, job.scenario, outcome)
        told = []
        if isinstance(outcome, _core.Outcome):
            if job.events is not None:
                told.append(events.write(outcome, job.label, summary["sim_time_ps"], job.events))
            if job.captured is not None:
                told.append(capture.write(outcome, job.label, job.captured))
        del outcome
        memory.give_back()
        tell(Written(summary, digest, digests, files, wall_s, calls, "\n".join(told)))
    except (_core.InputError, SimulatorError) as error:
        tell(error)
    except Exception as error:
        ours = SimulatorError(f"run '{job.label}': {type(error).__name__}: {error}")
        tell(ours if job.control is None else error)
    except BaseException as error:  # Whatever it is, the main thread decides.
        tell(SimulatorError(f"run '{job.label}': {type(error).__name__}: {error}"))


def guarded(job: Job, call: Callable[[], T]) -> T:
    """Turns any error of the simulator other than `InputError` into `SimulatorError`, which is our bug."""
    try:
        return call()
    except (_core.InputError, KeyboardInterrupt):
        raise
    except BaseException as error:  # A Rust panic is no Exception.
        raise SimulatorError(f"run '{job.label}': {error}") from error
