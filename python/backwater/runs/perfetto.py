"""Jobs of a run as a trace in Chrome's format, for ui.perfetto.dev.

It has a process for each collective or job, and a thread for each rank. Slices are iterations, and in them the phases.
Where slices of a rank overlap and none holds the other, the rank has further threads. A counter says how many ranks are
under way, another how many bytes wait in switches. Times are microseconds with six decimals, so they are exact.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from backwater import _core
from backwater._core import InputError
from backwater.common import disk
from backwater.common.arrays import np
from backwater.runs import jobs
from backwater.runs.events import TRACES, metadata, us
from backwater.runs.jobs import Work
from backwater.runs.run import Run


@dataclass(frozen=True)
class Slice:
    """An iteration or a phase of a rank. Times are picoseconds."""

    begin: int
    end: int
    """The end of the run where it did not end."""
    name: str
    kind: str
    args: dict[str, int | float | bool]


def places(file: Path, labels: Sequence[str], *, force: bool) -> dict[str, Path]:
    """Returns the file of each run by label: `file` for one run, `job.LABEL.json` for each of several.

    # Errors
    `InputError` if its name has another end, if one stands already, or if there is no directory for it.
    """
    end = next((end for end in TRACES if file.name.endswith(end)), None)
    if end is None:
        raise InputError(f"{file}: expected a name that ends in {', '.join(TRACES)}")
    if not file.absolute().parent.is_dir():
        raise InputError(f"{file}: no such directory: {file.parent}")
    stem = file.name.removesuffix(end)
    found = {label: file if len(labels) == 1 else file.with_name(f"{stem}.{label}{end}") for label in labels}
    for place in found.values():
        if place.is_dir():
            raise InputError(f"{place}: is a directory: expected a file to write")
        if place.exists() and not force:
            raise InputError(f"{place}: exists; name another file, or replace it with --force")
    return found


def works(run: Run) -> list[Work]:
    """Returns the jobs of a run.

    # Errors
    `InputError` if it has none.
    """
    if found := jobs.of_run(run):
        return found
    raise InputError(f"{run.path}: has no job: expected a run with a workload of kind 'job' or 'collective'")


def write(run: Run, place: Path) -> int:
    """Writes the trace of a run, whole or not at all, and returns its number of slices."""
    found = works(run)
    lines = Counted(trace(run, found))
    with disk.errors(place), disk.scratch(place) as partial:
        made = partial / place.name
        if place.name.endswith(".gz"):
            # Neither name nor time of writing: the same run is the same bytes.
            with made.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:
                file.writelines(line.encode() for line in lines)
        else:
            with made.open("w", encoding="utf-8") as file:
                file.writelines(lines)
        made.replace(place)
    return lines.slices


class Counted:
    """Counts slices among the lines that it passes on."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines = lines
        self.slices = 0

    def __iter__(self) -> Iterator[str]:
        for line in self.lines:
            self.slices += line.startswith(SLICE)
            yield line


SLICE = '{"ph":"X"'


def trace(run: Run, found: Sequence[Work]) -> Iterator[str]:
    """Yields the lines of a trace, rank by rank."""
    about = {"backwater.run": run.label, "backwater.digest": run.digest, "backwater.version": _core.version}
    yield f'{{"displayTimeUnit":"ns","otherData":{json.dumps(about)},"traceEvents":[\n'
    end_ps = run.summary["sim_time_ps"]
    for pid, work in enumerate(found, 1):
        name = work.name if work.kind in ("job", work.name) else f"{work.name}, {work.kind}"
        yield from process(pid, name)
        tid = 0
        for place in range(len(work.ranks)):
            for lane, slices in enumerate(lanes(slices_of(work, place, end_ps))):
                tid += 1
                also = f", at once {lane + 1}" if lane else ""
                yield metadata("thread_name", pid, tid, f"rank {work.ranks[place]} ({work.hosts[place]}){also}")
                yield metadata("thread_sort_index", pid, tid, tid)
                yield from (slice_line(one, pid, tid) for one in slices)
        yield from counter("ranks under way", "ranks", pid, under_way(work, end_ps))
    yield from process(len(found) + 1, "switches")
    yield from counter("bytes that wait", "bytes", len(found) + 1, buffered(run))
    yield '{"name":"end","ph":"M","pid":0,"tid":0,"args":{}}\n]}\n'


def process(pid: int, name: str) -> Iterator[str]:
    yield metadata("process_name", pid, 0, name)
    yield metadata("process_sort_index", pid, 0, pid)


def slices_of(work: Work, place: int, end_ps: int) -> list[Slice]:
    """Returns the iterations and phases of a rank in order of begins, and what holds another before it."""
    rows, parts = work.rows, work.parts
    first, last = np.searchsorted(rows.rank, [place, place + 1])
    mine = slice(first, last)
    at_all = work.ended[1][mine]
    compute = np.where(at_all >= 0, parts.computing[mine], rows.compute[mine])
    stored = (column[mine] for column in (rows.iteration, rows.phase, rows.begin, rows.end, rows.sent))
    found: list[Slice] = []
    iterations: dict[int, tuple[int, int, int, bool]] = {}
    for iteration, phase, begin, end, sent, at, computed in zip(
        *(column.tolist() for column in (*stored, at_all, compute)), strict=True
    ):
        until = end if end >= 0 else end_ps
        known = iterations.get(iteration, (begin, until, at, False))
        iterations[iteration] = (min(known[0], begin), max(known[1], until), at, known[3] or end < 0)
        if len(work.phases) > 1:
            told = {"iteration": iteration, "compute_us": computed / 1e6, "sent_bytes": sent}
            found.append(Slice(begin, until, work.phases[phase], "phase", told | ({"still": True} if end < 0 else {})))
    for iteration, (begin, until, at, still) in iterations.items():
        args: dict[str, int | float | bool] = {"iteration": iteration}
        if at >= 0:
            args |= {
                "compute_us": int(parts.compute[at, place]) / 1e6,
                "exposed_us": int(parts.exposed[at, place]) / 1e6,
                "other_us": int(parts.other[at, place]) / 1e6,
                "bubble_us": int(parts.bubble[at, place]) / 1e6,
                "sent_bytes": int(parts.sent[at, place]),
            }
        args |= {"still": True} if still else {}
        found.append(Slice(begin, until, f"iteration {iteration}", "iteration", args))
    return sorted(found, key=lambda one: (one.begin, -one.end, one.kind != "iteration"))


def lanes(slices: Sequence[Slice]) -> list[list[Slice]]:
    """Divides slices among lanes, in each of which any two are apart or one holds the other."""
    found: list[list[Slice]] = []
    open_: list[list[int]] = []
    for one in slices:
        for ends in open_:
            while ends and ends[-1] <= one.begin:
                ends.pop()
        lane = next((i for i, ends in enumerate(open_) if not ends or one.end <= ends[-1]), len(open_))
        if lane == len(open_):
            found.append([])
            open_.append([])
        found[lane].append(one)
        open_[lane].append(one.end)
    return found


def slice_line(one: Slice, pid: int, tid: int) -> str:
    named = f'{SLICE},"name":{json.dumps(one.name)},"cat":"{one.kind}"'
    when = f'"ts":{us(one.begin)},"dur":{us(one.end - one.begin)}'
    return f'{named},{when},"pid":{pid},"tid":{tid},"args":{json.dumps(one.args)}}},\n'


def counter(name: str, unit: str, pid: int, values: Iterator[tuple[int, int]]) -> Iterator[str]:
    for at, value in values:
        yield f'{{"ph":"C","name":"{name}","ts":{us(at)},"pid":{pid},"args":{{"{unit}":{value}}}}},\n'


def under_way(work: Work, end_ps: int) -> Iterator[tuple[int, int]]:
    """Yields when the number of ranks changes that have an operation under way, and the number from then on."""
    rows = work.rows
    ends = np.searchsorted(rows.rank, np.arange(len(work.ranks) + 1))
    until = np.where(rows.end < 0, end_ps, rows.end)
    spans = [
        jobs.merged(rows.begin[ends[i] : ends[i + 1]], until[ends[i] : ends[i + 1]]) for i in range(len(work.ranks))
    ]
    if not spans:
        return
    begins, stops = (np.concatenate([one[i] for one in spans]) for i in (0, 1))
    times, number = np.unique(np.concatenate([begins, stops]), return_inverse=True)
    change = np.zeros(len(times), np.int64)
    np.add.at(change, number, np.concatenate([np.ones(len(begins), np.int64), -np.ones(len(stops), np.int64)]))
    kept = np.flatnonzero(change)
    yield from zip(times[kept].tolist(), np.cumsum(change)[kept].tolist(), strict=True)


def buffered(run: Run) -> Iterator[tuple[int, int]]:
    """Yields the bytes that wait in all switches at each sample where their number is new."""
    if "buffers" not in run.tables:
        return
    sums: dict[int, int] = {}
    for batch in run.batches("buffers", ["time_ps", "buffered_bytes"]):
        for at, size in zip(batch["time_ps"].to_pylist(), batch["buffered_bytes"].to_pylist(), strict=True):
            sums[at] = sums.get(at, 0) + size
    last = None
    for at, size in sorted(sums.items()):
        if size != last:
            yield at, size
        last = size
