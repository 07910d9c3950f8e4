"""Single events of a run: pauses, drops, marks and changes of links, as a table or as a trace.

A trace is JSON in Chrome's format, for ui.perfetto.dev. It has a process for each node, and tracks for each of its
ports. Pauses are slices, and a port has as many tracks as pauses overlap. All other events are instants.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from backwater import _core
from backwater.common import disk
from backwater.common.arrays import pa
from backwater.common.quantities import TIMES, whole
from backwater.common.ranges import EVENTS_AT_MOST
from backwater.runs import tables

TABLES = (".parquet", ".arrow")
TRACES = (".json", ".json.gz")
END = 2**63
TRACKS = 1_000_000
"""Tracks of pauses are numbered from here on; below are those of ports."""


@dataclass(frozen=True)
class Wanted:
    """Which events to record, and into which file."""

    place: Path
    from_ps: int = 0
    until_ps: int = END
    at_most: int = EVENTS_AT_MOST

    @property
    def asked(self) -> tuple[int, int, int]:
        return self.from_ps, self.until_ps, self.at_most


def wanted(place: Path, span: str | None, at_most: int | None) -> Wanted:
    """Reads the options of the command line.

    # Errors
    `InputError` naming the option.
    """
    if not place.name.endswith(TABLES + TRACES):
        raise _core.InputError(f"--events {place}: expected a name that ends in {', '.join(TABLES + TRACES)}")
    from_ps, until_ps = (0, END) if span is None else span_of(span)
    if at_most is not None and not 1 <= at_most <= 10**8:
        raise _core.InputError(f"--events-max {at_most}: expected 1 to 100000000")
    return Wanted(place, from_ps, until_ps, at_most or EVENTS_AT_MOST)


def of_runs(wanted: Wanted, labels: list[str], *, force: bool) -> dict[str, Wanted]:
    """Returns the wanted events of each run by label. Several runs have a file each, `events.LABEL.json`.

    # Errors
    `InputError` where one stands already, or there is no directory for it.
    """
    place = wanted.place
    if not place.absolute().parent.is_dir():
        raise _core.InputError(f"--events {place}: no such directory: {place.parent}")
    end = next(end for end in (*TABLES, *TRACES) if place.name.endswith(end))
    stem = place.name.removesuffix(end)
    places = {label: place if len(labels) == 1 else place.with_name(f"{stem}.{label}{end}") for label in labels}
    for one in places.values():
        if one.is_dir():
            raise _core.InputError(f"--events {one}: is a directory: expected a file to write")
        if one.exists() and not force:
            raise _core.InputError(f"--events {one}: exists; name another file, or replace it with --force")
    return {label: replace(wanted, place=one) for label, one in places.items()}


def span_of(text: str) -> tuple[int, int]:
    """Parses `1ms..2ms` to picoseconds. Either end may be missing.

    # Errors
    `InputError` where it is no span.
    """
    first, dots, last = text.partition("..")
    try:
        if not dots:
            raise ValueError
        ends = (time_ps(first) if first else 0, time_ps(last) if last else END)
        if ends[0] >= ends[1]:
            raise ValueError
    except ValueError:
        raise _core.InputError(f"--events-span {text}: expected a span such as 1ms..2ms, or ..50us") from None
    return ends


def time_ps(text: str) -> int:
    time = whole(text, TIMES)
    if time is None or time >= END:
        raise ValueError
    return time


def write(outcome: _core.Outcome, label: str, until_ps: int, wanted: Wanted) -> str:
    """Writes recorded events, whole or not at all, and returns a sentence about them.

    # Errors
    `InputError` where it cannot be written.
    """
    batches = list(tables.batches(outcome, "events"))
    events = pa.Table.from_batches(batches) if batches else tables.empty("events")
    left_out = outcome.events_left_out
    about = {"backwater.run": label, "backwater.events_left_out": str(left_out), "backwater.version": _core.version}
    with disk.errors(wanted.place), disk.scratch(wanted.place) as partial:
        made = partial / wanted.place.name
        if wanted.place.name.endswith(TABLES):
            tables.write_table(events.replace_schema_metadata(about), made)
        elif wanted.place.name.endswith(".gz"):
            # Neither name nor time of writing: the same events are the same bytes.
            with made.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:
                file.writelines(line.encode() for line in trace(events, about, min(until_ps, wanted.until_ps), wanted))
        else:
            with made.open("w", encoding="utf-8") as file:
                file.writelines(trace(events, about, min(until_ps, wanted.until_ps), wanted))
        made.replace(wanted.place)
    beyond = f"; {left_out:,} later ones were left out: --events-max takes more" if left_out else ""
    return f"{wanted.place}: {events.num_rows:,} events of {label}{beyond}"


def trace(events: pa.Table, about: dict[str, str], until_ps: int, wanted: Wanted) -> Iterator[str]:
    """Yields the lines of a trace."""
    yield f'{{"displayTimeUnit":"ns","otherData":{json.dumps(about)},"traceEvents":[\n'
    names: dict[tuple[int, int], str] = {}
    lines: list[str] = []
    nodes = events["node"].combine_chunks().dictionary.to_pylist() if events.num_rows else []
    numbers = {name: number + 1 for number, name in enumerate(nodes)}
    open_slices: dict[tuple[int, int | None, int | None, int | None], int] = {}
    slices: list[tuple[int, int, int, int, str, bool]] = []
    last_ps = 0
    for event in events.to_pylist():
        pid, port, at = numbers[event["node"]], event["port"], event["time_ps"]
        last_ps = at
        track = -1 if port is None else port
        names[pid, track] = "on arrival" if port is None else f"port {port} to {event['peer']}"
        key = (pid, port, event["queue"], event["flow"])
        what = event["what"]
        if what == "paused":
            open_slices[key] = at
        elif what == "resumed":
            slices.append(
                (open_slices.pop(key, wanted.from_ps), at, pid, track, subject(event["queue"], event["flow"]), False)
            )
        else:
            args = {name: event[name] for name in ("queue", "flow") if event[name] is not None}
            lines.append(instant(what, at, pid, track + 2, args))
    end = max(until_ps, last_ps) if until_ps < END else last_ps
    for (pid, port, queue, flow), at in open_slices.items():
        slices.append((at, end, pid, port or 0, subject(queue, flow), True))
    paused, tracks = laid_out(sorted(slices), names)
    lines += paused
    names |= tracks
    for node, pid in numbers.items():
        if any(at == pid for at, _ in names):
            yield metadata("process_name", pid, 0, node)
            yield metadata("process_sort_index", pid, 0, pid)
    for (pid, track), name in sorted(names.items()):
        yield metadata("thread_name", pid, track + 2, name)
        yield metadata("thread_sort_index", pid, track + 2, track)
    yield from lines
    yield '{"name":"end","ph":"M","pid":0,"tid":0,"args":{}}\n]}\n'


def laid_out(
    slices: list[tuple[int, int, int, int, str, bool]], names: dict[tuple[int, int], str]
) -> tuple[list[str], dict[tuple[int, int], str]]:
    """Returns the lines of pauses, each on the first free track of its port, and the names of the tracks."""
    free: dict[tuple[int, int], list[int]] = {}
    lines: list[str] = []
    tracks: dict[tuple[int, int], str] = {}
    for begin, end, pid, port, name, is_open in slices:
        lanes = free.setdefault((pid, port), [])
        lane = next((i for i, until in enumerate(lanes) if until <= begin), len(lanes))
        lanes[lane : lane + 1] = [end]
        track = TRACKS * (lane + 1) + port
        args = {"still": True} if is_open else {}
        lines.append(
            f'{{"name":{json.dumps(name)},"cat":"pause","ph":"X","ts":{us(begin)},"dur":{us(end - begin)},'
            f'"pid":{pid},"tid":{track + 2},"args":{json.dumps(args)}}},\n'
        )
        tracks[pid, track] = f"{names.get((pid, port), f'port {port}')}, paused"
    return lines, tracks


def subject(queue: int | None, flow: int | None) -> str:
    if queue is not None:
        return f"queue {queue}"
    return "port" if flow is None else f"flow {flow}"


def instant(name: str, at: int, pid: int, tid: int, args: dict[str, int]) -> str:
    return (
        f'{{"name":{json.dumps(name)},"cat":{json.dumps(name.partition("-")[0])},"ph":"i","s":"t","ts":{us(at)},'
        f'"pid":{pid},"tid":{tid},"args":{json.dumps(args)}}},\n'
    )


def metadata(kind: str, pid: int, tid: int, value: str | int) -> str:
    key = "sort_index" if isinstance(value, int) else "name"
    return f'{{"name":"{kind}","ph":"M","pid":{pid},"tid":{tid},"args":{{"{key}":{json.dumps(value)}}}}},\n'


def us(ps: int) -> str:
    """Writes picoseconds as microseconds, exactly."""
    return f"{ps // 10**6}.{ps % 10**6:06d}"
