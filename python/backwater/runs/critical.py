"""The critical path of an iteration of a job: the chain of computations and messages that its end waited for.

The path follows from the times of the job's messages. To say what held them up, the run is run again, and the messages
on the path are followed (`backwater.runs.explain`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import msgspec

from backwater import _core
from backwater.common import disk
from backwater.common.arrays import np, pa, pc
from backwater.common.quantities import some
from backwater.runs import tables
from backwater.runs.explain import FLOWS_MAX, Explained, Progress, Wait, again, last_hops, place, places

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

CROSSES = ("message", "request", "clear")
"""Kinds of steps that cross the network, and end when the last byte is at its receiver."""
FOLLOWED = (*CROSSES, "queue-pair")
"""Kinds of steps whose time is that of a message, which is followed."""
KINDS = ("compute", *FOLLOWED, "acknowledgement", "local", "overhead", "gap", "latency")
"""All kinds of steps."""
TIMES = ("arrival_ps", "finish_rx_ps", "finish_tx_ps")


class Step(msgspec.Struct, frozen=True):
    """A step of a critical path. The next step begins when it ends."""

    kind: str
    """`compute`; or of a message: `message`, `request`, `clear`, `acknowledgement`, `local`; or the time for which its
    queue pair sends it and the next one waits: `queue-pair`; or what it costs a host: `overhead`, `gap`, `latency`."""
    rank: int
    """Rank that did it; of a message, the rank that waited for it."""
    sender: int | None
    """Rank that sent the message."""
    phase: str
    begin_ps: int
    end_ps: int
    flow: int | None
    """Flow of the message; of several, the one that ended last."""

    @property
    def span_ps(self) -> int:
        return self.end_ps - self.begin_ps


class Found(msgspec.Struct):
    """What the simulator says of an iteration."""

    begin_ps: int
    end_ps: int
    steps: list[Step]


class Part(TypedDict):
    """A part of an iteration's time: a step, or a part of the time of a message."""

    step: int
    kind: str
    place: str
    why: str
    whose: str | None
    elsewhere: bool | None
    span_ps: int


class PathCause(TypedDict):
    """Time of a critical path by place and cause."""

    place: str
    why: str
    whose: str | None
    elsewhere: bool | None
    span_ps: int
    share: float


@dataclass(frozen=True, repr=False)
class CriticalPath:
    """The critical path of an iteration, and what its messages waited for."""

    label: str
    digest: str
    """Digest of the run."""
    job: str
    """Class of the job."""
    iteration: int
    begin_ps: int
    end_ps: int
    steps: list[Step]
    """They follow one another from `begin_ps` to `end_ps`."""
    explained: Explained | None
    """The messages on the path. None if there are none."""

    def __repr__(self) -> str:
        steps = some(len(self.steps), "step")
        return f"CriticalPath({self.label!r}, iteration {self.iteration} of {self.job}: {steps}, {self.span_ps} ps)"

    @property
    def span_ps(self) -> int:
        """Time of the iteration."""
        return self.end_ps - self.begin_ps

    @cached_property
    def parts(self) -> list[Part]:
        """Parts of all steps, in order. Their spans sum to the time of the iteration."""
        return [part for number, step in enumerate(self.steps) for part in self._parts_of(number, step)]

    def causes(self) -> list[PathCause]:
        """Returns the time of the path by place and cause, the largest first.

        Places are `ranks`, `source`, `way`, `last port` and `links`. `share` is a share of the time of the iteration.
        """
        sums: dict[tuple[str, str, str | None, bool | None], int] = {}
        for part in self.parts:
            key = (part["place"], part["why"], part["whose"], part["elsewhere"])
            sums[key] = sums.get(key, 0) + part["span_ps"]
        rows: list[PathCause] = [
            {"place": at, "why": why, "whose": whose, "elsewhere": elsewhere, "span_ps": span, "share": span / whole}
            for whole in [self.span_ps or 1]
            for (at, why, whose, elsewhere), span in sums.items()
        ]
        return sorted(
            rows,
            key=lambda row: (-row["span_ps"], row["place"], row["why"], row["whose"] or "", bool(row["elsewhere"])),
        )

    def table(self) -> pa.Table:
        """Returns the parts as a table: a row for each, with its step. The column `span_ps` sums to the iteration's
        time.
        """
        rows = [{**msgspec.to_builtins(self.steps[part["step"]]), **part} for part in self.parts]
        schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])
        return pa.Table.from_pylist(rows, schema)

    def waits_of(self, number: int) -> list[Wait]:
        """Returns where the message of a step spent its time, in order. The spans sum to that of the step.

        The list is empty if the step is no message, or its message was not followed.
        """
        return [wait for wait, _ in self._within(self.steps[number])]

    def _parts_of(self, number: int, step: Step) -> Iterator[Part]:
        own: Part = {
            "step": number,
            "kind": step.kind,
            "place": "source" if step.kind == "queue-pair" else "ranks" if step.flow is None else "links",
            "why": step.kind,
            "whose": None,
            "elsewhere": None,
            "span_ps": step.span_ps,
        }
        waits = self._within(step)
        if not waits:
            yield own
        for wait, ends in waits:
            yield {
                **own,
                "place": place(wait["hop"], ends, wait["why"]),
                "why": wait["why"],
                "whose": wait["whose"],
                "elsewhere": self._elsewhere(wait, step),
                "span_ps": wait["span_ps"],
            }

    def _within(self, step: Step) -> list[tuple[Wait, bool]]:
        """Waits of a message in the time of its step, each with whether it is at the last port."""
        if step.kind not in FOLLOWED or step.flow is None:
            return []
        found: list[tuple[Wait, bool]] = []
        # A message may have been under way when the iteration began, and a queue pair goes on when the last packet of a
        # message leaves.
        before, left = step.begin_ps - self._starts.get(step.flow, 0), step.span_ps
        for wait, ends in self._waits.get(step.flow, []):
            skipped = min(before, wait["span_ps"])
            span = min(left, wait["span_ps"] - skipped)
            before, left = before - skipped, left - span
            if span:
                found.append(({**wait, "span_ps": span}, ends))
        return found

    def _elsewhere(self, wait: Wait, step: Step) -> bool | None:
        """Whether a pause was for a flow to another receiver."""
        if self.explained is None or wait["sake"] is None:
            return None
        return self.explained.receivers[wait["sake"]] != self._receivers[step.flow or 0]

    @cached_property
    def _receivers(self) -> dict[int, str]:
        flows = self.explained.flows if self.explained else tables.empty("flows")
        return dict(zip(flows["flow"].to_pylist(), flows["dst"].to_pylist(), strict=True))

    @cached_property
    def _starts(self) -> dict[int, int]:
        flows = self.explained.flows if self.explained else tables.empty("flows")
        return dict(zip(flows["flow"].to_pylist(), flows["arrival_ps"].to_pylist(), strict=True))

    @cached_property
    def _waits(self) -> dict[int, list[tuple[Wait, bool]]]:
        """Waits of each flow in order, each with whether it is at the last port."""
        if self.explained is None:
            return {}
        waits = self.explained.waits
        rows: list[Wait] = waits.to_pylist()
        marked = list(zip(rows, last_hops(waits).tolist(), strict=True))
        return {flow: marked[at : at + number] for flow, (at, number) in places(waits).items()}


COLUMNS = {
    "step": "int64",
    "kind": "string",
    "rank": "int64",
    "sender": "int64",
    "phase": "string",
    "begin_ps": "int64",
    "end_ps": "int64",
    "flow": "int64",
    "place": "string",
    "why": "string",
    "whose": "string",
    "elsewhere": "bool",
    "span_ps": "int64",
}
"""Of the table of parts, each with its type."""


def critical_path(
    label: str,
    scenario: Scenario,
    digest: str,
    flows: pa.Table,
    phases: pa.Table,
    end_ps: int,
    *,
    job: str | None = None,
    iteration: int,
    progress: Progress | None = None,
) -> CriticalPath:
    """Returns the critical path of an iteration, with the run run again.

    `flows` and `phases` are tables of the run, which ended at `end_ps`. `job` is needed if there are several.

    # Errors
    `InputError` where there is no such job, its iteration has not ended, or what ran now is not the run of this digest.
    """
    number, name = job_of(scenario, job)
    own = flows.filter(pc.equal(flows["class"].cast(pa.string()), name)).sort_by("flow")
    times = [instants(own[column]) for column in TIMES]
    ran_ps = span_of(phases.filter(pc.equal(phases["class"].cast(pa.string()), name)), iteration)
    if ran_ps is None:
        raise _core.InputError(
            f"{label}: iteration {iteration} of job '{name}' has not ended: expected one of table `phases`"
        )
    text = _core.critical_path(json.dumps(scenario), number, iteration, times, ran_ps, end_ps)
    found = msgspec.json.decode(text, type=Found)
    wanted = {step.flow: step.span_ps for step in found.steps if step.kind in FOLLOWED and step.flow is not None}
    # If there are too many, those that took longest.
    chosen = sorted(wanted, key=lambda flow: -wanted[flow])[:FLOWS_MAX]
    explained = None
    if chosen:
        rows = own.take(pc.index_in(pa.array(chosen, own["flow"].type), value_set=own["flow"].combine_chunks()))
        explained = again(label, scenario, digest, flows, rows, end_ps, progress)
    return CriticalPath(label, digest, name, iteration, found.begin_ps, found.end_ps, found.steps, explained)


def span_of(phases: pa.Table, iteration: int) -> tuple[int, int] | None:
    """Returns when an iteration of a job began and ended, from its rows of `phases`; None if it has not ended."""
    own = phases.filter(pc.equal(phases["iteration"], iteration))
    ranks = pc.count_distinct(phases["rank"]).as_py()
    if own.num_rows == 0 or own["end_ps"].null_count or pc.count_distinct(own["rank"]).as_py() < ranks:
        return None
    return pc.min(own["begin_ps"]).as_py(), pc.max(own["end_ps"]).as_py()


def instants(times: pa.ChunkedArray) -> bytes:
    """Returns times as 64-bit integers; those that there are not are the largest."""
    return pc.fill_null(times, -1).to_numpy().astype(np.int64).tobytes()


def job_of(scenario: Scenario, name: str | None) -> tuple[int, str]:
    """Returns the number of a job among the workloads, and its class.

    # Errors
    `InputError` where it is not known which.
    """
    jobs = jobs_of(scenario)
    if not jobs:
        raise _core.InputError("the run has no job: expected a workload of kind job or collective")
    if name is None and len(jobs) > 1:
        raise _core.InputError(f"job = None: the run has {len(jobs)} jobs: expected one of {', '.join(jobs)}")
    name = next(iter(jobs)) if name is None else name
    if name not in jobs:
        raise _core.InputError(f"job = {name!r}: expected one of {', '.join(jobs)}")
    return jobs[name], name


def jobs_of(scenario: Scenario) -> dict[str, int]:
    """Returns the classes of jobs, each with its number among the workloads."""
    return {
        str(workload["class"]): number
        for number, workload in enumerate(scenario["workload"])
        if workload["kind"] in ("collective", "job")
    }


def write(path: CriticalPath, file: Path) -> None:
    """Writes the parts, as Parquet or Arrow by the name's end, whole or not at all.

    # Errors
    `InputError` if the file cannot be written.
    """
    with disk.errors(file), disk.scratch(file) as made:
        tables.write_table(path.table(), made / file.name)
        (made / file.name).replace(file)
