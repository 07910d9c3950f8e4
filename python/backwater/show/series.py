"""What the page and the figures draw, read from a run's tables. Plain lists and dictionaries, ready for JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from backwater.common.arrays import Array, Floats, np, pa, pc
from backwater.runs.run import Run
from backwater.show.page import Binned, Curves, Distribution, Isolated, Mmu, Ports, Queue

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

STATISTICS = ("mean", "p50", "p95", "p99")
LIST_SHOWN = 50
"""Elements of a list that the configuration shows."""

TIMES = 1000
"""Points of a line over time."""

PORTS = 8
"""Ports whose queues are drawn one by one."""


def slowdown(run: Run) -> dict[str, list[Binned]]:
    """Class to its size bins in order, each with the size `at` which its point stands."""
    classes: dict[str, list[Binned]] = {}
    for row in run.summary.get("slowdown", []):
        if row["bin"] != "all":
            classes.setdefault(row["class"], []).append(
                {**row, "at": middle(row["size_low_bytes"], row["size_high_bytes"])}
            )
    for rows in classes.values():
        rows.sort(key=lambda row: row["size_low_bytes"])
    return classes


def middle(low: int, high: int | None) -> float:
    """Geometric middle of a bin; an open end is taken a factor of three away."""
    top = high if high is not None else 3 * max(low, 1)
    return float(np.sqrt(max(low, top / 3) * top))


def pooled(runs: Sequence[Run], name: str) -> pa.Table:
    """A table of several runs that differ only in their seed, with the `run` of each row."""
    parts = [run.table(name) for run in runs]
    return pa.concat_tables(
        part.append_column("run", pa.array(np.full(part.num_rows, i), pa.int64())) for i, part in enumerate(parts)
    ).unify_dictionaries()


def buffer_cdf(runs: Sequence[Run]) -> Distribution:
    """Occupancy of every switch at every sample, bytes."""
    return cdf(pooled(runs, "buffers")["buffered_bytes"].to_numpy())


def shares() -> Floats:
    """Shares of samples at which a distribution is drawn: every half percent, and the tail by decades."""
    return np.unique(np.concatenate([np.linspace(0, 1, 201), 1 - np.logspace(-2, -5, 31)]))


def cdf(values: Array) -> Distribution:
    """The smallest value that a share of the samples does not exceed, at each of `shares`."""
    if len(values) == 0:
        return {"value": [], "share": []}
    ordered, drawn = np.sort(values), shares()
    rank = np.clip(np.ceil(drawn * len(ordered) - 1e-9).astype(np.int64) - 1, 0, None)
    at = ordered[rank].astype(float)
    last = np.append(at[1:] != at[:-1], True)  # One point a value: its largest share.
    return {"value": at[last].tolist(), "share": drawn[last].tolist()}


def active_flows_cdf(runs: Sequence[Run]) -> Distribution:
    """Flows with data in an egress port, over all samples of the ports that ever held data in their run."""
    table = pooled(runs, "active_flows")
    used = ever_above_zero(table, ["run", "node", "port"], "flows")
    return counted_cdf(table["flows"].to_numpy()[used], table["samples"].to_numpy()[used])


def isolated(run: Run) -> Isolated | None:
    """Flows isolated in all switches together, over time in seconds; None where no flow ever is.

    Long runs are drawn by the mean of each of `TIMES` spans.
    """
    table = run.table("buffers")
    if "isolated" not in table.column_names:
        return None
    times, place = np.unique(table["time_ps"].to_numpy(), return_inverse=True)
    flows = np.bincount(place, weights=table["isolated"].to_numpy())
    if not flows.any():
        return None
    ends = np.unique(np.linspace(0, len(times), min(TIMES, len(times)) + 1).astype(np.int64))
    number = np.diff(ends)
    return {
        "time": (np.add.reduceat(times * 1e-12, ends[:-1]) / number).tolist(),
        "flows": (np.add.reduceat(flows, ends[:-1]) / number).tolist(),
    }


def queues(runs: Sequence[Run]) -> list[Queue]:
    """Each egress port that was sampled: its name, bytes queued over time in seconds, and their distribution.

    Of more than `PORTS` ports the longest queue over time, and the distribution of all. Over time it is the first
    run's; distributions are of all runs, which differ only in their seed.
    """
    table, everything = runs[0].table("queues"), pooled(runs, "queues")
    if table.num_rows == 0:
        return []
    rows = table.group_by(["node", "peer"], use_threads=False).aggregate([]).to_pylist()
    if len(rows) > PORTS:
        longest = table.group_by("time_ps").aggregate([("queued_bytes", "max")]).sort_by("time_ps")
        name = f"longest of {len(rows)} ports"
        return [queue(name, longest["time_ps"], longest["queued_bytes_max"], everything["queued_bytes"])]
    drawn = []
    for row in rows:
        here = (pc.field("node") == row["node"]) & (pc.field("peer") == row["peer"])
        mine, samples = table.filter(here), everything.filter(here)["queued_bytes"]
        drawn.append(queue(f"{row['node']} to {row['peer']}", mine["time_ps"], mine["queued_bytes"], samples))
    return drawn


def queue(name: str, time_ps: pa.ChunkedArray, over_time: pa.ChunkedArray, samples: pa.ChunkedArray) -> Queue:
    """Over time at most `TIMES` samples are drawn, evenly chosen: a mean would hide what oscillates."""
    step = -(-len(time_ps) // TIMES)
    return {
        "port": name,
        "time": (time_ps.to_numpy() * 1e-12)[::step].tolist(),
        "bytes": over_time.to_numpy()[::step].tolist(),
        "cdf": cdf(samples.to_numpy()),
    }


def pool_cdf(runs: Sequence[Run]) -> Distribution:
    """Bytes in a shared pool, over all samples of the pools that ever held any in their run."""
    table = pooled(runs, "pools")
    used = ever_above_zero(table, ["run", "node", "mmu"], "used_bytes")
    return cdf(table["used_bytes"].to_numpy()[used])


def ever_above_zero(table: pa.Table, keys: list[str], column: str) -> Array:
    """Which rows are of groups in which the column is above zero anywhere."""
    group = np.zeros(table.num_rows, np.int64)
    for key in keys:
        values = table[key].combine_chunks()
        codes = (values.indices if pa.types.is_dictionary(values.type) else values).to_numpy().astype(np.int64)
        group = group * (codes.max(initial=0) + 1) + codes
    numbers = np.unique(group, return_inverse=True)[1]
    above = np.zeros(table.num_rows, bool)
    above[numbers[table[column].to_numpy() > 0]] = True
    return above[numbers]


def mmus(run: Run) -> list[Mmu]:
    """Memory management units by kind of switch: the fullest, packets refused and packets marked, by rule."""
    table = run.table("mmus").to_pydict()
    groups: dict[str, list[int]] = {}
    for i, node in enumerate(table["node"]):
        groups.setdefault(kind(node), []).append(i)

    def most(column: str, members: list[int]) -> int | None:
        """An infinite pool has no capacity."""
        return max((value for i in members if (value := table[column][i]) is not None), default=None)

    def total(column: str, members: list[int]) -> int:
        return sum(table[column][i] for i in members)

    return [
        {
            "switch": name,
            "number": len(members),
            "capacity_bytes": most("capacity_bytes", members),
            "peak_bytes": most("peak_bytes", members),
            "dropped_full": total("dropped_full", members),
            "dropped_threshold": total("dropped_threshold", members),
            "marked_queue": total("marked_queue", members),
            "marked_pool": total("marked_pool", members),
        }
        for name, members in groups.items()
    ]


def queueing_delay_cdf(runs: Sequence[Run]) -> Distribution:
    """Time of data packets in egress queues, all layers; a bin stands at its upper end."""
    table = pooled(runs, "queueing_delay")
    low, high = (table[name].to_numpy().astype(float) for name in ("delay_low_ns", "delay_high_ns"))
    ends = np.where(np.isnan(high), low, high).astype(np.int64)
    return counted_cdf(ends, table["packets"].to_numpy())


def counted_cdf(values: Array, counts: Array) -> Distribution:
    """Of a histogram."""
    if counts.sum() == 0:
        return {"value": [], "share": []}
    distinct, place = np.unique(values, return_inverse=True)
    totals = np.bincount(place, weights=counts)
    share = np.cumsum(totals) / totals.sum()
    return {"value": distinct.astype(float).tolist(), "share": np.minimum(share, 1.0).tolist()}


def ports(run: Run) -> list[Ports]:
    """Egress ports by kind of node and neighbour (`leaf to spine`): their use, and how long their peer held them.

    BFC holds single queues: their mean number, and which share that is of those that a port has.
    """
    table = run.table("ports").to_pydict()
    queues = run.scenario.get("switch", {}).get("queues") or 1
    span_ps = run.summary["sim_time_ps"]
    groups: dict[str, list[int]] = {}
    for i, (node, peer) in enumerate(zip(table["node"], table["peer"], strict=True)):
        groups.setdefault(f"{kind(node)} to {kind(peer)}", []).append(i)
    rows: list[Ports] = []
    for name, members in groups.items():
        use = [table["utilisation"][i] for i in members]
        held = [table["pfc_paused_ps"][i] / span_ps if span_ps else 0.0 for i in members]
        single = float(np.mean([table["bfc_paused_queue_ps"][i] / span_ps if span_ps else 0.0 for i in members]))
        rows.append(
            {
                "ports": name,
                "number": len(members),
                "utilisation_mean": float(np.mean(use)),
                "utilisation_max": float(np.max(use)),
                "pfc_paused_mean": float(np.mean(held)),
                "pfc_paused_max": float(np.max(held)),
                "pfc_pauses": sum(table["pfc_pauses"][i] for i in members),
                "bfc_paused_queues_mean": single,
                "bfc_paused_share": single / queues,
                "bfc_pauses": sum(table["bfc_pauses"][i] for i in members),
                "bfc_resumes": sum(table["bfc_resumes"][i] for i in members),
                "bfc_bitmaps": sum(table["bfc_bitmaps"][i] for i in members),
            }
        )
    return rows


def kind(node: str) -> str:
    """`leaf12` to `leaf`."""
    return re.sub(r"[\d_.\-]+$", "", node) or node


SWITCH_TABLES = {
    "pfc": {("backpressure", "pfc")},
    "bfc": {("backpressure", "bfc"), ("assignment", "dynamic"), ("assignment", "homa-dynamic")},
    "flowsail": {("backpressure", "flowsail"), ("backpressure", "per-flow"), ("assignment", "flowsail")},
}
"""Tables of a switch, and which values of which keys use them."""


def configuration(scenario: Scenario) -> Curves:
    """A scenario as dotted keys under `config`, without the tables that its scheme does not use, which are `unused`."""
    switches = [one["switch"] for one in (scenario, *scenario.get("region", [])) if isinstance(one.get("switch"), dict)]
    settings = {(key, one.get(key)) for one in switches for key in ("backpressure", "assignment")}
    unused = [f"switch.{table}" for table, users in SWITCH_TABLES.items() if not users & settings]
    host = scenario.get("host", {})
    used = (host.get("transport"), host.get("recovery"))
    unused += [f"host.{name}" for name, value in host.items() if isinstance(value, dict) and name not in used]
    config = {key: value for key, value in flat(scenario).items() if ".".join(key.split(".")[:2]) not in unused}
    return {"config": config, "unused": unused}


def flat(value: Any, prefix: str = "") -> dict[str, str]:
    """A scenario as dotted keys, in its own order."""
    if isinstance(value, dict) and value:
        rows: dict[str, str] = {}
        for key, inner in value.items():
            rows |= flat(inner, f"{prefix}.{key}" if prefix else key)
        return rows
    if isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        rows = {}
        for i, inner in enumerate(value[:LIST_SHOWN]):
            rows |= flat(inner, f"{prefix}[{i}]")
        if len(value) > LIST_SHOWN:
            rows[f"{prefix}[...]"] = f"{len(value)} in all; scenario.json has them"
        return rows
    if isinstance(value, list) and len(value) > LIST_SHOWN:
        return {prefix: f"{value[:LIST_SHOWN]} and {len(value) - LIST_SHOWN} more; scenario.json has them"}
    return {prefix: value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)}
