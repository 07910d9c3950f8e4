"""How a measurement of one run goes over its counted window."""

from __future__ import annotations

from dataclasses import dataclass

from backwater.common.arrays import Array, np, pa, pc
from backwater.common.quantities import as_number
from backwater.judge import settled
from backwater.judge.columns import Columns
from backwater.judge.leaves import SAMPLED, read
from backwater.judge.settled import Course
from backwater.judge.statistics import NoData, sample_statistic, statistic
from backwater.runs.run import Run
from backwater.scenario.claims import Kind, Leaf

RANDOM = ("background", "incast")
"""Workloads whose flows arrive again and again, as long as the run lasts."""
COLUMNS: dict[Kind, str] = {
    "slowdown": "slowdown",
    "wait": "wait",
    "fct": "fct",
    "fct_ack": "fct_ack",
    "with_timeout": "timeouts",
}
"""Measurements of flows, each with its column."""
UNTESTED: tuple[Kind, ...] = ("scenario", "result", "injected_within")
"""Measurements that do not depend on how long a network runs."""
OF_ARRIVALS = ("load[", "flows.counted")
"""Numbers of `summary.json` that the arrivals alone decide."""
GOODPUT, EARLY_GOODPUT = ".goodput_bps", ".early_goodput_bps"
"""Ends of the paths in `summary.json` of a goodput, and of its part in the earlier half of the window."""
BUFFERS = ("buffers", "buffered_bytes")
"""Table of the bytes in each switch over time, and its column."""
OF_BUFFERS = {f"buffer.{name}_bytes": name for name in ("mean", "p50", "p95", "p99")}
"""Statistics of that column, by their name in `summary.json`."""
DROPS = ("drops.", "loss.")
"""Numbers of `summary.json` that count packets lost in switches."""
FEWEST = 20
"""Flows or samples of a part below which its mean is not taken; percentiles need as many as everywhere."""
PARTS_OF_SAMPLES = 4
"""So many at most: samples of one queue stay alike for long."""


@dataclass(frozen=True)
class Times:
    """When the flows of a run arrived and finished, in ps."""

    arrival: Array
    """Of counted flows."""
    finish: Array
    """Of counted flows; the end of the run for those that have not finished."""
    unfinished: Array
    repeats: Array
    """Whether a counted flow is of a workload whose flows arrive as long as the run lasts."""
    window: tuple[int, int]
    """First and last arrival of such a flow."""
    last_arrival: int
    """When arrivals end."""
    backlog: Array
    """Mean bytes in progress in the two halves of the window."""
    linear: float
    """The later over the earlier half, if bytes in progress were proportional to time since the first arrival."""


def course(columns: Columns, runs: list[Run], leaf: Leaf) -> Course | None:
    """Returns the course of a measurement of the first run; None if it cannot depend on the length of the run.

    # Errors
    `InputError` as the measurement itself.
    """
    run = runs[0]
    if any(kind in leaf for kind in UNTESTED) or str(leaf.get("summary", "")).startswith(OF_ARRIVALS):
        return None
    if not (arriving := arriving_classes(run)):
        return None
    if columns.times is None:
        columns.times = times(run, arriving)
    at: Times | None = columns.times
    if at is None:
        return None
    for kind, column in COLUMNS.items():
        if kind in leaf:
            return of_flows(at, columns.keep(run, leaf, column) & at.repeats, columns.flows[column], leaf[kind])
    for kind, (table, key, column) in SAMPLED.items():
        if kind in leaf:
            return of_samples(at, columns.samples(run, table, key, leaf), column, leaf[kind])
    table, column = BUFFERS
    if (name := OF_BUFFERS.get(str(leaf.get("summary")))) is not None and table in run.tables:
        return of_samples(at, run.table(table), column, name)
    if table in run.tables and drops_none(columns, runs, leaf):
        return of_samples(at, fullest(run.table(table)), column, "p99")
    return Course(halves_of_goodput(columns, runs, leaf), 0.0, 0.0, at.backlog, at.linear)


def drops_none(columns: Columns, runs: list[Run], leaf: Leaf) -> bool:
    """Returns whether a measurement counts lost packets, and no packet is lost.

    Then the course of the fullest switch tells whether a longer run would lose some. Bytes in progress do not: flow
    control keeps them in hosts.
    """
    return str(leaf.get("summary")).startswith(DROPS) and read(columns, runs, leaf) == 0


def fullest(buffers: pa.Table) -> pa.Table:
    """Returns the bytes in the fullest switch at each time."""
    _, column = BUFFERS
    return buffers.group_by("time_ps").aggregate([(column, "max")]).rename_columns(["time_ps", column])


def halves_of_goodput(columns: Columns, runs: list[Run], leaf: Leaf) -> dict[int, Array]:
    """Returns a goodput in the two halves of the window; empty for other measurements, and for runs of before."""
    path = str(leaf.get("summary"))
    if not path.endswith(GOODPUT):
        return {}
    early_leaf: Leaf = {**leaf, "summary": path.removesuffix(GOODPUT) + EARLY_GOODPUT}
    try:
        whole, early = (read(columns, runs, one) for one in (leaf, early_leaf))
    except NoData:
        return {}
    return {2: np.array([early, 2 * whole - early])}


def arriving_classes(run: Run) -> set[str]:
    """Returns the classes of flows that arrive as long as the run lasts."""
    return {one["class"] for one in run.scenario.get("workload", []) if one.get("kind") in RANDOM}


def times(run: Run, arriving: set[str]) -> Times | None:
    """Reads when flows arrived and finished; None if none counts of those that arrive again and again."""
    table = run.table("flows", ["class", "size_bytes", "arrival_ps", "finish_rx_ps", "counted"])
    table = table.filter(pc.is_valid(table["arrival_ps"]))
    ended = run.summary["sim_time_ps"]
    unfinished = pc.is_null(table["finish_rx_ps"]).to_numpy()
    arrival = table["arrival_ps"].to_numpy().astype(np.int64)
    finish = pc.fill_null(table["finish_rx_ps"], ended).to_numpy().astype(np.int64)
    counted = table["counted"].to_numpy() == 1
    classes = table["class"].combine_chunks()
    codes = [i for i, name in enumerate(classes.dictionary.to_pylist()) if name in arriving]
    repeats = np.isin(classes.indices.to_numpy(), codes)
    if not (counted & repeats).any():
        return None
    among = arrival[counted & repeats]
    window = int(among.min()), int(among.max())
    asked = run.scenario.get("run", {}).get("duration")
    last = int(arrival[repeats].max()) if asked is None else round(as_number(asked, "run.duration") * 1e12)
    middle = sum(window) // 2
    sizes = pc.fill_null(table["size_bytes"], 0).to_numpy().astype(float)
    halves = ((window[0], middle), (middle, window[1]))
    backlog = np.array([mean_backlog(sizes, arrival, finish, *half) for half in halves])
    grown = in_proportion(window, int(arrival[repeats].min()))
    return Times(arrival[counted], finish[counted], unfinished[counted], repeats[counted], window, last, backlog, grown)


def in_proportion(window: tuple[int, int], first: int) -> float:
    """Returns the later half of a window over its earlier half, of what grows in proportion to time since `first`."""
    span = window[1] - window[0]
    earlier, later = (window[0] + span * quarter / 4 - first for quarter in (1, 3))
    return later / max(earlier, 1.0)


def mean_backlog(sizes: Array, arrival: Array, finish: Array, begin: int, end: int) -> float:
    """Returns the mean over a time of the sizes of all flows in progress, in bytes."""
    within = np.clip(np.minimum(finish, end) - np.maximum(arrival, begin), 0, None)
    return float((sizes * within).sum() / max(end - begin, 1))


def of_flows(at: Times, keep: Array, column: Array, name: str) -> Course | None:
    """Returns the course of a statistic of the flows that `keep` selects."""
    chosen = np.flatnonzero(keep)
    arrival, finish, values = at.arrival[chosen], at.finish[chosen], column[chosen].astype(float)
    if name == "share":  # of flows with a timeout
        name, values = "mean", (values > 0).astype(float)
    if len(values) == 0:
        return None
    took = np.maximum(finish - arrival, 1)
    after = np.clip(finish - np.maximum(arrival, at.last_arrival), 0, None) / took
    weights = values if name == "mean" else (values >= statistic(values, name)).astype(float)
    whole = max(weights.sum(), np.finfo(float).tiny)
    return Course(
        cut(at.window, arrival, values, name, life=float(np.quantile(took, 0.9))),
        drained=float((weights * after).sum() / whole),
        unfinished=float(weights[at.unfinished[chosen]].sum() / whole) if name == "mean" else 0.0,
        backlog=at.backlog,
        linear=at.linear,
    )


def of_samples(at: Times, table: pa.Table, column: str, name: str) -> Course | None:
    """Returns the course of a statistic of samples of queues, pools or switches."""
    when, values = table["time_ps"].to_numpy().astype(np.int64), table[column].to_numpy()
    if len(values) == 0:
        return None
    window = int(when.min()), int(when.max())
    parts = cut(window, when, values, name, life=(window[1] - window[0]) / PARTS_OF_SAMPLES)
    return Course(parts, 0.0, 0.0, at.backlog, at.linear)


def cut(window: tuple[int, int], when: Array, values: Array, name: str, *, life: float) -> dict[int, Array]:
    """Returns a statistic in each of equal parts of the window, by the number of parts.

    Parts are left out that are shorter than `life`, or have too few values. Two halves may be shorter: of several seeds
    they are independent pairs.
    """
    if name in ("min", "max"):
        return {}  # The largest of more flows is larger.
    if not (np.diff(when) >= 0).all():
        order = np.argsort(when, kind="stable")
        when, values = when[order], values[order]
    begin, span = window[0], window[1] - window[0]
    found: dict[int, Array] = {}
    for n in settled.PARTS:
        if n > 2 and span / n < life:
            continue
        parts = np.split(values, np.searchsorted(when, [begin + span * i // n for i in range(1, n)]))
        if min(map(len, parts)) < FEWEST:
            continue
        try:
            found[n] = np.array([sample_statistic(part, name) for part in parts], float)
        except NoData:
            continue
    return found
