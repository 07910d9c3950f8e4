"""The kinds of measurement: the selectors that each takes, and how it is read from a run's tables.

`experiments/README.md` lists them. A new kind is a function and a line of `LEAVES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

from backwater._core import InputError
from backwater.common.arrays import np, pa, pc
from backwater.common.quantities import as_number
from backwater.judge.columns import Columns, selected
from backwater.judge.statistics import (
    Histogram,
    NoData,
    distance,
    histogram_statistic,
    sample_statistic,
    share_with_timeout,
    statistic,
)
from backwater.runs.run import Run
from backwater.scenario.claims import Kind, Leaf, Selectors

Reader = Callable[[Columns, list[Run], Leaf], float]
"""Measures the first run. A distance is that to the second run."""

SAMPLED: dict[Kind, tuple[str, Literal["peer", "mmu"], str]] = {
    "queue": ("queues", "peer", "queued_bytes"),
    "data_queue": ("data_queues", "peer", "queued_bytes"),
    "pool": ("pools", "mmu", "used_bytes"),
}
"""Measurements of bytes over time: their table, the column that tells those of a node apart, and that of the bytes."""
LARGEST = ("ports", "capacity_bytes", "peak_bytes")
"""Columns of the table of MMUs whose largest value is taken; the others are added up."""

ANYWHERE = ("variant", "at", "spread")
"""What every leaf takes: whose run, at which other point of the sweep, and what of several points."""


@dataclass(frozen=True)
class Measurement:
    """A kind of measurement: the selectors that it takes beside those of every kind, and its reader."""

    selectors: tuple[str, ...]
    read: Reader


def read(columns: Columns, runs: list[Run], leaf: Leaf) -> float:
    """Measures the first run, as the kind of the measurement says.

    # Errors
    `NoData` if it has too little, `InputError` if it has nothing of that name.
    """
    return LEAVES[next(kind for kind in LEAVES if kind in leaf)].read(columns, runs, leaf)


def fill(leaf: Leaf, selectors: Selectors) -> Leaf:
    """Completes a measurement with selectors of `each` that its kind takes, and with the kind if it names none."""
    kinds = [kind for kind in LEAVES if kind in leaf] or [kind for kind in LEAVES if kind in selectors]
    if len(kinds) != 1:
        raise InputError(f"value {leaf}: expected exactly one of {', '.join(LEAVES)}")
    kind = kinds[0]
    unknown = [key for key in leaf if key not in (kind, *ANYWHERE, *LEAVES[kind].selectors)]
    if unknown:
        raise InputError(f"value {leaf}: {kind} takes no {unknown[0]!r}")
    taken = {key: value for key, value in selectors.items() if key in (kind, *ANYWHERE, *LEAVES[kind].selectors)}
    return cast(Leaf, taken | leaf)


def of_flows(kind: Kind, column: str) -> Reader:
    """Returns the reader of a statistic over flows of a class and a range of sizes."""
    return lambda columns, runs, leaf: statistic(columns.chosen(runs[0], leaf, column), leaf[kind])


def with_timeout(columns: Columns, runs: list[Run], leaf: Leaf) -> float:
    """Returns the share of flows that had a timeout."""
    return share_with_timeout(columns.chosen(runs[0], leaf, "timeouts"), leaf["with_timeout"])


def injected_within(columns: Columns, runs: list[Run], leaf: Leaf) -> float:
    """Returns the share of flows whose payload a host's link can send in this time."""
    sizes, topology = columns.chosen(runs[0], leaf, "size"), runs[0].scenario["topology"]
    if len(sizes) == 0:
        raise NoData("no flows")
    rate = as_number(topology.get("host_rate", topology.get("rate")), "the rate of host links")
    return float((sizes <= round(as_number(leaf["injected_within"], "injected_within") * rate / 8)).mean())


def sum_over_ports(_: Columns, runs: list[Run], leaf: Leaf) -> float:
    """Returns the sum of a column of the table of egress ports."""
    return float(pc.sum(numbers(runs[0], leaf, "ports", ("node", "peer"), "a port")).as_py())


def over_mmus(_: Columns, runs: list[Run], leaf: Leaf) -> float:
    """Returns a column of the table of MMUs, added up, or its largest value for the columns in `LARGEST`."""
    values = numbers(runs[0], leaf, "mmus", ("node", "mmu"), "an MMU")
    value = (pc.max(values) if leaf["mmus"] in LARGEST else pc.sum(values)).as_py()
    return known(value, f"{leaf['mmus']} of MMUs")


def numbers(run: Run, leaf: Leaf, kind: Literal["ports", "mmus"], keys: tuple[str, str], one: str) -> pa.ChunkedArray:
    """Returns the column that a measurement names of the table of its kind, in the rows that it selects."""
    table, name = selected(run.table(kind), leaf, *keys), leaf[kind]
    if name not in table.column_names or name in keys:
        raise InputError(f"{kind} = {name!r}: no such number of {one}; `backwater schema {kind}` lists them")
    if table.num_rows == 0:
        raise InputError(f"value {leaf}: there is no such {one.split()[1]}")
    return table[name]


def mean_pauses(_: Columns, runs: list[Run], leaf: Leaf) -> float:
    """Returns the mean of a column of the table of pauses, over samples and ports."""
    column, table = leaf["pauses"], selected(runs[0].table("pauses"), leaf, "node", "peer")
    if column not in ("held", "incast", "other", "orphans", "all"):
        raise InputError(f"pauses = {column!r}: expected held, incast, other, orphans or all")
    samples = pc.sum(table["samples"]).as_py()
    if not samples:
        raise InputError(f"value {leaf}: nothing such was sampled; `measure.pauses` says whether pauses are")
    return float(pc.sum(table[column]).as_py() / samples)


def of_samples(kind: Kind) -> Reader:
    """Returns the reader of a statistic over samples of bytes."""
    table, key, column = SAMPLED[kind]

    def read_samples(columns: Columns, runs: list[Run], leaf: Leaf) -> float:
        return sample_statistic(columns.samples(runs[0], table, key, leaf)[column].to_numpy(), leaf[kind])

    return read_samples


def active_flows(_: Columns, runs: list[Run], leaf: Leaf) -> float:
    """Returns a statistic of the number of active flows at ports."""
    return histogram_statistic(flows_at_ports(runs[0], leaf), leaf["active_flows"])


def active_flows_distance(_: Columns, runs: list[Run], leaf: Leaf) -> float:
    """Returns how far the numbers of active flows of two runs are apart."""
    return distance(flows_at_ports(runs[0], leaf), flows_at_ports(runs[1], leaf))


def sharing(_: Columns, runs: list[Run], leaf: Leaf) -> float:
    """Returns a statistic of the percentage of a port's flows that share a queue."""
    table = selected(runs[0].table("sharing"), leaf, "node", "peer")
    return histogram_statistic(added_up(table, "percent", "samples of flows that share queues"), leaf["sharing"])


def flows_at_ports(run: Run, leaf: Leaf) -> Histogram:
    """Returns the numbers of active flows, and how many samples have each."""
    return added_up(selected(run.table("active_flows"), leaf, "node", "port"), "flows", "samples of active flows")


def added_up(table: pa.Table, column: str, of: str) -> Histogram:
    """Returns the values of a column in rising order, and the samples of each over all rows."""
    values, place = np.unique(table[column].to_numpy(), return_inverse=True)
    samples = np.bincount(place, weights=table["samples"].to_numpy()) if len(values) else np.array([])
    if samples.sum() == 0:
        raise NoData(f"no {of}")
    return values, samples


def of_file(kind: Literal["summary", "scenario"]) -> Reader:
    """Returns the reader of a number in `summary.json` or `scenario.json`."""

    def read_file(_: Columns, runs: list[Run], leaf: Leaf) -> float:
        path = leaf[kind].replace("[class]", f"[class={leaf.get('class')}]")
        return known(follow(runs[0].summary if kind == "summary" else runs[0].scenario, path), f"{path} in {kind}.json")

    return read_file


def result(_: Columns, runs: list[Run], leaf: Leaf) -> float:
    """Returns a result of a computation."""
    return known(runs[0].summary["results"].get(leaf["result"]), f"{leaf['result']} of {runs[0].label}")


def known(value: Any, what: str) -> float:
    """Returns a value as a number. Raises `NoData` if there is none."""
    if value is None:
        raise NoData(what)
    return as_number(value, what)


def follow(value: Any, path: str) -> Any:
    """Follows a path such as `load[class=incast].offered_bps` or `workload.0.count`.

    Returns None if it leads nowhere.
    """
    for step in re.findall(r"[^.\[\]]+|\[[^\]]*\]", path):
        if isinstance(value, list) and (match := re.fullmatch(r"\[(\w+)=(.*)\]", step)):
            value = next((entry for entry in value if str(entry.get(match[1])) == match[2]), None)
        elif isinstance(value, list) and re.fullmatch(r"[0-9]{1,9}", step):
            value = value[int(step)] if int(step) < len(value) else None
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            return None
    return value


LEAVES: dict[Kind, Measurement] = {
    "slowdown": Measurement(("class", "sizes"), of_flows("slowdown", "slowdown")),
    "wait": Measurement(("class", "sizes"), of_flows("wait", "wait")),
    "fct": Measurement(("class", "sizes"), of_flows("fct", "fct")),
    "fct_ack": Measurement(("class", "sizes", "timed_out"), of_flows("fct_ack", "fct_ack")),
    "with_timeout": Measurement(("class", "sizes"), with_timeout),
    "injected_within": Measurement(("class",), injected_within),
    "ports": Measurement(("node", "peer"), sum_over_ports),
    "mmus": Measurement(("node", "mmu"), over_mmus),
    "pauses": Measurement(("node", "peer"), mean_pauses),
    "queue": Measurement(("node", "peer", "after"), of_samples("queue")),
    "data_queue": Measurement(("node", "peer", "after"), of_samples("data_queue")),
    "pool": Measurement(("node", "mmu", "after"), of_samples("pool")),
    "active_flows": Measurement(("node", "port"), active_flows),
    "active_flows_distance": Measurement(("node", "port"), active_flows_distance),
    "sharing": Measurement(("node", "peer"), sharing),
    "summary": Measurement(("class",), of_file("summary")),
    "scenario": Measurement(("class",), of_file("scenario")),
    "result": Measurement((), result),
}
