"""Every run of an experiment as one row: its coordinates, and every number of its summary.

This is `summary.parquet` in the experiment's directory, `Results.table("summary")`, and the view `summary` of
`Results.sql`. Numbers for each class, size bin or hop have separate columns: `slowdown.background.all.p99`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from backwater.common.arrays import pa
from backwater.runs.coordinates import HEAD, Coordinates
from backwater.runs.run import Run
from backwater.runs.tables import Column, column

TABLE = "summary"


NAMED_BY = {
    "slowdown": ("class", "bin"),
    "load": ("class",),
    "throughput": ("class",),
    "collectives": ("class",),
    "jobs": ("class",),
    "scheduled_delay": ("hop",),
}
"""What tells the rows of a list from one another, and stands in the name of their columns."""
LISTED = ("ending.held", "ending.cycle", "facts", "iterations", "waits")
"""Not numbers of a run but lists of some length: they stay in `summary.json`."""
ARROW = {"string": "string", "bool": "bool", "i64": "int64", "f64": "double"}
"""Arrow's name of each documented type."""


COLUMNS = (
    *HEAD,
    column("AXIS", "any", None, "each swept key by its short name: numbers, or text as written"),
    column("complete", "bool", None, "the run ended normally and every counted flow that has to finish did"),
    column("ending.why", "string", None, "finished, time, standstill or interrupted"),
    column("ending.held_queues", "i64", None, "queues that may not send at the end"),
    column("deadlock.ports", "i64", None, "egress ports that may wait for one another; 0: no cycle is possible"),
    column("deadlock.components", "i64", None, "groups of such ports"),
    column("flows.total", "i64", None, "flows that arrived"),
    column("flows.counted", "i64", None, "flows that arrived after the warm-up"),
    column("flows.finished", "i64", None, "counted flows that finished"),
    column("flows.unfinished", "i64", None, "counted flows that did not finish"),
    column("flows.retransmitted_packets", "i64", "packets", "data packets sent again"),
    column("load.CLASS.asked", "f64", None, "requested load; null for traffic without one"),
    column("load.CLASS.realised", "f64", None, "offered load, relative to the same capacity"),
    column("load.CLASS.sampling_error", "f64", None, "relative standard error of the realised load"),
    column("load.CLASS.as_asked", "bool", None, "whether chance explains the difference"),
    column("load.CLASS.flows", "i64", None, "flows of the counted window"),
    column("load.CLASS.offered_bps", "f64", "bit/s", "payload that arrived in the counted window"),
    column("throughput.CLASS.goodput_bps", "f64", "bit/s", "payload delivered in the counted window"),
    column("throughput.CLASS.early_goodput_bps", "f64", "bit/s", "the same in the earlier half of the window"),
    column("core_utilisation", "f64", None, "mean utilisation of the links between switches, both directions"),
    column("slowdown.CLASS.BIN.size_low_bytes", "i64", "B", "sizes above this"),
    column("slowdown.CLASS.BIN.size_high_bytes", "i64", "B", "sizes up to this; null: no upper end"),
    column("slowdown.CLASS.BIN.flows", "i64", None, "counted flows that finished"),
    column("slowdown.CLASS.BIN.unfinished", "i64", None, "counted flows that did not finish"),
    column("slowdown.CLASS.BIN.mean", "f64", None, "mean slowdown of the finished flows"),
    column("slowdown.CLASS.BIN.p50", "f64", None, "median, by nearest rank"),
    column("slowdown.CLASS.BIN.p95", "f64", None, "95th percentile"),
    column("slowdown.CLASS.BIN.p99", "f64", None, "99th percentile"),
    column("slowdown.CLASS.BIN.mean_excess_ns", "f64", "ns", "mean completion time beyond the ideal"),
    column("slowdown.CLASS.BIN.p99_excess_ns", "f64", "ns", "99th percentile of the same"),
    column("buffer.mean_bytes", "f64", "B", "bytes buffered in a switch, mean over switches and samples"),
    column("buffer.p50_bytes", "i64", "B", "median of the same"),
    column("buffer.p95_bytes", "i64", "B", "95th percentile"),
    column("buffer.p99_bytes", "i64", "B", "99th percentile"),
    column("buffer.max_bytes", "i64", "B", "most"),
    column("active_flows.mean", "f64", None, "flows with data in a port, mean over ports and samples"),
    column("active_flows.p50", "i64", None, "median of the same"),
    column("active_flows.p99", "i64", None, "99th percentile"),
    column("active_flows.max", "i64", None, "most"),
    column("active_flows.share_below_queues", "f64", None, "share of samples with fewer active flows than queues"),
    column("pause.pfc_pauses", "i64", "frames", "PFC pauses"),
    column("pause.pfc_paused_fraction", "f64", None, "share of time that PFC paused a port, mean over ports"),
    column("pause.bfc_pauses", "i64", None, "queues paused by BFC"),
    column("pause.bfc_resumes", "i64", None, "queues resumed by BFC"),
    column("pause.bfc_bitmaps", "i64", "frames", "frames that carried these pauses and resumes"),
    column("pause.flow_pauses", "i64", None, "flows paused"),
    column("pause.flow_resumes", "i64", None, "flows resumed"),
    column("collisions.assignments", "i64", None, "assignments of a queue to a flow"),
    column("collisions.collisions", "i64", None, "assignments of a queue that another flow used"),
    column("valleys.packets", "i64", "packets", "packets that went down and up again; null if none can"),
    column("drops.REASON", "i64", "packets", "packets dropped for this reason"),
    column(
        "loss.data_packets", "i64", "packets", "data packets that hosts sent, including those that their NICs dropped"
    ),
    column("loss.dropped", "i64", "packets", "data packets that switches and NICs dropped"),
    column("loss.share", "f64", None, "dropped over sent data packets"),
    column("loss.share_per_port", "f64", None, "share of packets dropped at an egress port, mean over ports"),
    column("timeouts.total", "i64", None, "timeouts of TCP"),
    column("timeouts.flows", "i64", None, "flows that had a timeout"),
    column("timeouts.REASON", "i64", None, "timeouts: silent, tail, retransmission, held, handshake"),
    column("credits.received", "i64", None, "credits that reached senders"),
    column("credits.wasted", "i64", None, "credits of these for which nothing was left to send"),
    column("credits.waste", "f64", None, "share of wasted credits"),
    column("credits.dropped", "i64", None, "credits that ports dropped"),
    column("recirculated.headers", "i64", None, "headers that were recirculated"),
    column("recirculated.waited", "i64", None, "recirculated headers that had to wait"),
    column("recirculated.waited_share", "f64", None, "share of headers that had to wait"),
    column("recirculated.longest_ns", "f64", "ns", "the longest wait"),
    column("collectives.CLASS.flows", "i64", None, "flows of a collective"),
    column("collectives.CLASS.started", "i64", None, "of those, that started"),
    column("collectives.CLASS.received", "i64", None, "of those, that were received"),
    column("collectives.CLASS.completion_ps", "i64", "ps", "from its start to its last byte"),
    column("jobs.CLASS.ranks", "i64", None, "ranks of a job; a collective is a job"),
    column("jobs.CLASS.operations", "i64", None, "their operations, over all iterations"),
    column("jobs.CLASS.iterations", "i64", None, "iterations that it has"),
    column("jobs.CLASS.ended", "i64", None, "of these, that ended at every rank"),
    column("jobs.CLASS.iteration_ps", "i64", "ps", "mean time of an ended iteration, from the first rank to the last"),
    column("jobs.CLASS.slowest_ps", "i64", "ps", "time of the longest of these"),
    column("jobs.CLASS.sent_bytes", "i64", "B", "payload that its ranks sent, also within a host"),
    column("jobs.CLASS.waiting", "i64", None, "receives that wait for a message at the end"),
    column("queueing_delay.mean_ns", "f64", "ns", "time that packets waited at switches, mean"),
    column("queueing_delay.p50_ns", "f64", "ns", "median of the same"),
    column("queueing_delay.p99_ns", "f64", "ns", "99th percentile"),
    column("queueing_delay.packets", "i64", "packets", "packets measured"),
    column("scheduled_delay.HOP.p50_ns", "f64", "ns", "wait of Homa's scheduled packets from layer to layer, median"),
    column("scheduled_delay.HOP.p95_ns", "f64", "ns", "95th percentile"),
    column("scheduled_delay.HOP.p99_ns", "f64", "ns", "99th percentile"),
    column("scheduled_delay.HOP.packets", "i64", "packets", "packets measured"),
    column("packet_hops", "i64", None, "packets that crossed a link"),
    column("sim_time_ps", "i64", "ps", "simulated time at the end"),
    column("results.NAME", "f64", None, "what was computed, where nothing is simulated"),
    column("exact", "bool", None, "nothing was drawn; null where something is simulated"),
)
"""As `backwater schema summary` prints them; capitals stand for a name."""


def pattern(name: str) -> re.Pattern[str]:
    """Makes a pattern for column names, in which words in capitals stand for any text."""
    parts = re.split(r"([A-Z]+)", name)
    return re.compile("".join(".+" if part.isupper() else re.escape(part) for part in parts))


PATTERNS = [(pattern(one["name"]), one) for one in COLUMNS[len(HEAD) + 1 :]]


def of(runs: Sequence[Run]) -> pa.Table:
    """Returns one row for each run, in their order."""
    rows = [dict(leaves(run.summary)) for run in runs]
    found = columns(rows)
    at = Coordinates(runs)
    values = {
        name: pa.array([row.get(name) for row in rows], pa.type_for_alias(ARROW[one["type"]]))
        for name, one in found.items()
        if name not in at.arrays
    }
    notes = {name: {"unit": one["unit"] or "", "description": one["description"]} for name, one in found.items()}
    fields = [*at.fields, *(pa.field(name, array.type, metadata=notes[name]) for name, array in values.items())]
    schema = pa.schema(fields, metadata={"backwater.table": TABLE})
    return pa.Table.from_arrays([*at.arrays.values(), *values.values()], schema=schema)


def tidy(runs: Sequence[Run]) -> pa.Table:
    """Returns every number of the summaries as a row, but for slowdown by size bin."""
    at = Coordinates(runs)
    which: list[int] = []
    rows: list[tuple[str, str | None, float, str | None]] = []
    for i, run in enumerate(runs):
        for name, value in leaves(run.summary):
            where = place(name)
            if where is None or isinstance(value, str) or name.startswith("slowdown."):
                continue
            plain, of_class = without_class(name, PATTERNS[where][1]["name"])
            which.append(i)
            rows.append((plain, of_class, float(value), PATTERNS[where][1]["unit"]))
    heads = {name: array.take(pa.array(which, pa.int64())) for name, array in at.arrays.items()}
    names, classes, numbers, units = zip(*rows, strict=True) if rows else ((), (), (), ())
    body = {
        "name": pa.array(names, pa.string()).dictionary_encode(),
        "class": pa.array(classes, pa.string()).dictionary_encode(),
        "value": pa.array(numbers, pa.float64()),
        "unit": pa.array(units, pa.string()).dictionary_encode(),
    }
    fields = [*at.fields, *(pa.field(name, array.type) for name, array in body.items())]
    return pa.Table.from_arrays([*heads.values(), *body.values()], schema=pa.schema(fields))


def without_class(name: str, documented: str) -> tuple[str, str | None]:
    """Splits `load.incast.offered_bps` into `load.offered_bps` and `incast`."""
    before, found, after = documented.partition("CLASS.")
    if not found:
        return name, None
    return before + name[len(before) :][-len(after) :], name[len(before) : -len(after) - 1]


def columns(rows: Iterable[Iterable[str]]) -> dict[str, Column]:
    """Returns the columns of rows with these names, in the order of `COLUMNS` and then of the runs."""
    names = dict.fromkeys(name for row in rows for name in row)
    found = {name: place(name) for name in names}
    order = sorted((at, i, name) for i, (name, at) in enumerate(found.items()) if at is not None)
    return {name: PATTERNS[at][1] for at, _, name in order}


def place(name: str) -> int | None:
    """Returns the index of the column in `COLUMNS`, or None if it is not listed."""
    return next((i for i, (pattern, _) in enumerate(PATTERNS) if pattern.fullmatch(name)), None)


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the names and values of a summary. Entries of lists are named by the keys that tell them apart."""
    if name in LISTED:
        return
    if isinstance(value, list):
        keys = NAMED_BY[name]
        for row in value:
            rest = {key: inner for key, inner in row.items() if key not in keys}
            yield from leaves(rest, ".".join([name, *(str(row[key]) for key in keys)]))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}" if name else key)
    elif value is not None:
        yield name, value
