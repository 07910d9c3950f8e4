"""Single numbers from a run, as expectations name them. `experiments/README.md` lists the kinds and their selectors."""

from __future__ import annotations

import contextlib
import fnmatch
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any, Literal, cast

from backwater._core import InputError
from backwater.common.arrays import Array, np, pa, pc
from backwater.common.percentiles import FEWEST, rank_of
from backwater.common.quantities import as_number
from backwater.runs.run import Run
from backwater.scenario.claims import Kind, Leaf, Selectors

# Kind of measurement to the selectors it takes.
LEAVES: dict[Kind, tuple[str, ...]] = {
    "slowdown": ("class", "sizes"),
    "wait": ("class", "sizes"),
    "fct": ("class", "sizes"),
    "fct_ack": ("class", "sizes", "timed_out"),
    "with_timeout": ("class", "sizes"),
    "injected_within": ("class",),
    "ports": ("node", "peer"),
    "mmus": ("node", "mmu"),
    "pauses": ("node", "peer"),
    "queue": ("node", "peer", "after"),
    "data_queue": ("node", "peer", "after"),
    "pool": ("node", "mmu", "after"),
    "active_flows": ("node", "port"),
    "active_flows_distance": ("node", "port"),
    "sharing": ("node", "peer"),
    "summary": ("class",),
    "scenario": ("class",),
    "result": (),
}
AT_ONCE = 4
"""Runs that are read at once. The columns of each may take hundreds of megabytes."""
SAMPLED: dict[Kind, tuple[str, Literal["peer", "mmu"], str]] = {
    "queue": ("queues", "peer", "queued_bytes"),
    "data_queue": ("data_queues", "peer", "queued_bytes"),
    "pool": ("pools", "mmu", "used_bytes"),
}
"""Measurements of bytes over time: their table, the column that tells those of a node apart, and that of the bytes."""
LARGEST = ("ports", "capacity_bytes", "peak_bytes")
"""Columns of the table of MMUs whose largest value is taken; the others are added up."""

PERCENTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]{1,6})?)")
SHARE = re.compile(r"share(<=|>)([0-9]{1,18})")
ANYWHERE = ("variant", "at", "spread")
"""What every leaf takes: whose run, at which other point of the sweep, and what of several points."""


class NoData(Exception):
    """The run has too few flows or samples for a measurement. The text names it."""


Question = Callable[["Columns", list[Run], Leaf], Any]
"""What can be asked of a run's tables."""
Asked = tuple[list[Run], Leaf, Question]
"""A question, about which runs, and of which measurement."""


def fill(leaf: Leaf, selectors: Selectors) -> Leaf:
    """Completes a measurement with selectors of `each` that its kind takes, and with the kind if it names none."""
    kinds = [kind for kind in LEAVES if kind in leaf] or [kind for kind in LEAVES if kind in selectors]
    if len(kinds) != 1:
        raise InputError(f"value {leaf}: expected exactly one of {', '.join(LEAVES)}")
    kind = kinds[0]
    unknown = [key for key in leaf if key not in (kind, *ANYWHERE, *LEAVES[kind])]
    if unknown:
        raise InputError(f"value {leaf}: {kind} takes no {unknown[0]!r}")
    taken = {key: value for key, value in selectors.items() if key in (kind, *ANYWHERE, *LEAVES[kind])}
    return cast(Leaf, taken | leaf)


class Measured:
    """Measures runs and remembers the answers. While it listens it only notes the requests, to read each table once."""

    def __init__(self) -> None:
        self.known: dict[str, object] = {}
        """Answers, and the errors instead of one."""
        self.wanted: dict[str, Asked] | None = None

    @property
    def hears(self) -> bool:
        """Whether it only notes what is asked."""
        return self.wanted is not None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Within, `of` returns 1 and notes the request. At the end it measures everything that was requested."""
        self.wanted = {}
        yield
        wanted, self.wanted = self.wanted, None
        by_run: dict[str, dict[str, Asked]] = {}
        for key, asked in wanted.items():
            by_run.setdefault(asked[0][0].label, {})[key] = asked
        # Arrow and NumPy let other threads run while they work on a column.
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            for answers in pool.map(answered, by_run.values()):
                self.known |= answers

    def of(self, runs: list[Run], leaf: Leaf) -> float:
        """Measures the first run. A distance is that to the second run.

        # Errors
        `NoData` where it has too little, `InputError` where it has nothing of that name.
        """
        value: float = self.ask(runs, leaf, Columns.read, 1.0)
        return value

    def ask(self, runs: list[Run], leaf: Leaf, question: Question, unheard: Any) -> Any:
        """Answers a question about the runs; `unheard` while it listens."""
        key = repr((question.__name__, [run.label for run in runs], sorted(leaf.items(), key=str)))
        if self.wanted is not None:
            self.wanted[key] = (runs, leaf, question)
            return unheard
        if key not in self.known:  # What is asked can depend on values, which are not there while it listens.
            self.known |= answered({key: (runs, leaf, question)})
        answer = self.known[key]
        if isinstance(answer, Exception):
            raise answer
        return answer


def answered(questions: dict[str, Asked]) -> dict[str, object]:
    """Answers all questions about one run, and reads its tables once. An answer may be the error instead."""
    columns = Columns()
    answers: dict[str, object] = {}
    for key, (runs, leaf, question) in questions.items():
        try:
            answers[key] = question(columns, runs, leaf)
        except (NoData, InputError) as nothing:
            answers[key] = nothing
    return answers


class Columns:
    """The columns of one run, read when they are first needed."""

    def __init__(self) -> None:
        self.flows: dict[str, Array] = {}
        self.kept: dict[tuple[str, str], Array] = {}
        """Which flows are of a class and a range of sizes."""
        self.sampled: dict[str, pa.Table] = {}
        self.times: Any = None
        """When its flows arrived and finished; see `courses.Times`."""

    def read(self, runs: list[Run], leaf: Leaf) -> float:
        run = runs[0]
        if "slowdown" in leaf:
            return statistic(self.chosen(run, leaf, "slowdown"), leaf["slowdown"])
        if "wait" in leaf:
            return statistic(self.chosen(run, leaf, "wait"), leaf["wait"])
        if "fct" in leaf:
            return statistic(self.chosen(run, leaf, "fct"), leaf["fct"])
        if "fct_ack" in leaf:
            return statistic(self.chosen(run, leaf, "fct_ack"), leaf["fct_ack"])
        if "with_timeout" in leaf:
            return share_with_timeout(self.chosen(run, leaf, "timeouts"), leaf["with_timeout"])
        if "injected_within" in leaf:
            return injected_within(self.chosen(run, leaf, "size"), leaf["injected_within"], run)
        if "ports" in leaf:
            return sum_over_ports(run, leaf)
        if "mmus" in leaf:
            return over_mmus(run, leaf)
        if "pauses" in leaf:
            return mean_pauses(run, leaf)
        for kind, (table, key, column) in SAMPLED.items():
            if kind in leaf:
                return sample_statistic(self.samples(run, table, key, leaf)[column].to_numpy(), leaf[kind])
        if "active_flows" in leaf:
            return histogram_statistic(*histogram(run, leaf), leaf["active_flows"])
        if "sharing" in leaf:
            return histogram_statistic(*shares_of_flows(run, leaf), leaf["sharing"])
        if "active_flows_distance" in leaf:
            return distance(histogram(run, leaf), histogram(runs[1], leaf))
        if "result" in leaf:
            return known(run.summary["results"].get(leaf["result"]), f"{leaf['result']} of {run.label}")
        kind = "summary" if "summary" in leaf else "scenario"
        path = leaf[kind].replace("[class]", f"[class={leaf.get('class')}]")
        return known(follow(run.summary if kind == "summary" else run.scenario, path), f"{path} in {kind}.json")

    def chosen(self, run: Run, leaf: Leaf, column: str) -> Array:
        """Returns the times of counted flows of a class and a range of sizes.

        An unfinished flow counts with its age.
        """
        keep = self.keep(run, leaf, column)
        return self.flows[column][keep]

    def keep(self, run: Run, leaf: Leaf, column: str) -> Array:
        """Returns which counted flows a measurement is of, and reads its column."""
        if not self.flows:
            self.flows = counted_flows(run)
        keep = self.of_class_and_sizes(leaf.get("class", "background"), leaf.get("sizes", ""))
        if column in ("wait", "fct") and column not in self.flows:
            self.flows |= times(run)
        if column in ("fct_ack", "timeouts") and column not in self.flows:
            self.flows |= acknowledged(run)
        if column in ("fct_ack", "timeouts"):
            keep = keep & ~np.isnan(self.flows["fct_ack"])
        if "timed_out" in leaf:
            keep = keep & ((self.flows["timeouts"] > 0) == bool(leaf["timed_out"]))
        return keep

    def of_class_and_sizes(self, flow_class: str, sizes: str) -> Array:
        if (flow_class, sizes) not in self.kept:
            low, high, low_in = size_range(sizes)
            size = self.flows["size"]
            keep = (size >= low if low_in else size > low) & (size <= high)
            if flow_class != "*":
                keep &= np.isin(self.flows["class"], np.flatnonzero(self.flows["classes"] == flow_class))
            self.kept[flow_class, sizes] = keep
        return self.kept[flow_class, sizes]

    def samples(self, run: Run, name: str, key: str, leaf: Leaf) -> pa.Table:
        """Returns samples of queues or pools of a node, after a time, and if asked of one `peer` or `mmu`."""
        if name not in self.sampled:
            self.sampled[name] = run.table(name)
        table = selected(self.sampled[name], leaf, "node", key)
        if table.num_rows == 0:
            raise InputError(f"value {leaf}: nothing such was sampled; `measure.{name}` says what is")
        if "after" in leaf:
            table = table.filter(pc.greater_equal(table["time_ps"], round(as_number(leaf["after"], "after") * 1e12)))
        return table


def selected(table: pa.Table, leaf: Leaf, *keys: str) -> pa.Table:
    """Selects rows by the columns that a measurement names: by a number, a name, or a pattern such as `"tor*"`."""
    for key in keys:
        if (wanted := leaf.get(key)) is None:
            continue
        if isinstance(wanted, str):
            column = pc.cast(table[key], pa.string())
            names = [name for name in pc.unique(column).to_pylist() if fnmatch.fnmatchcase(name, wanted)]
            table = table.filter(pc.is_in(column, value_set=pa.array(names, pa.string())))
        else:
            table = table.filter(pc.equal(table[key], wanted))
    return table


def counted_flows(run: Run) -> dict[str, Array]:
    table = counted(run, ["class", "size_bytes", "slowdown"])
    names, slowdown = table["class"].combine_chunks(), table["slowdown"]
    if slowdown.null_count:
        aged = counted(run, ["arrival_ps", "finish_rx_ps", "ideal_ps"])
        slowdown = pc.fill_null(slowdown, pa.array(taken(run, aged) / aged["ideal_ps"].to_numpy()))
    return {
        "class": names.indices.to_numpy(),
        "classes": np.array(names.dictionary.to_pylist(), object),
        "size": table["size_bytes"].to_numpy(),
        "slowdown": slowdown.to_numpy(),
    }


def times(run: Run) -> dict[str, Array]:
    """Returns completion times, and the part of each beyond the ideal, in seconds."""
    table = counted(run, ["arrival_ps", "finish_rx_ps", "ideal_ps"])
    took = taken(run, table)
    return {"fct": took * 1e-12, "wait": (took - table["ideal_ps"].to_numpy().astype(np.int64)) * 1e-12}


def taken(run: Run, table: pa.Table) -> Array:
    """Returns the time of each flow from arrival to completion, or to the end of the run, in ps."""
    ends = table["finish_rx_ps"]
    if ends.null_count:
        ends = pc.fill_null(ends, run.summary["sim_time_ps"])
    return ends.to_numpy().astype(np.int64) - table["arrival_ps"].to_numpy().astype(np.int64)


def acknowledged(run: Run) -> dict[str, Array]:
    """Returns the time until the sender has the last ACK (seconds, NaN if it never came), and each flow's timeouts."""
    table = counted(run, ["arrival_ps", "finish_tx_ps", "timeouts"])
    ends = table["finish_tx_ps"]
    taken = pc.fill_null(ends, 0).to_numpy().astype(np.int64) - table["arrival_ps"].to_numpy().astype(np.int64)
    known = pc.is_valid(ends).to_numpy()
    return {"fct_ack": np.where(known, taken * 1e-12, np.nan), "timeouts": table["timeouts"].to_numpy()}


def counted(run: Run, columns: list[str]) -> Any:
    """Returns columns of the flows that count and have begun."""
    table = run.table("flows", list(dict.fromkeys([*columns, "arrival_ps", "counted"])))
    return table.filter(pc.and_(pc.equal(table["counted"], 1), pc.is_valid(table["arrival_ps"]))).select(columns)


def size_range(text: str) -> tuple[float, float, bool]:
    """Parses `<=3000`, `>1000000` or `(200000,1000000]`: both ends, and whether the low end is inside."""
    if not text:
        return 0.0, float("inf"), True
    if match := re.fullmatch(r"<=([0-9]{1,18})", text):
        return 0.0, float(match[1]), True
    if match := re.fullmatch(r">([0-9]{1,18})", text):
        return float(match[1]), float("inf"), False
    if match := re.fullmatch(r"\(([0-9]{1,18}),([0-9]{1,18})\]", text):
        return float(match[1]), float(match[2]), False
    raise InputError(f'sizes = {text!r}: expected "<=3000", ">1000000" or "(200000,1000000]"')


def statistic(values: Array, name: str, of: str = "flows") -> float:
    """Returns a mean, minimum, maximum or percentile. Percentiles are by nearest rank."""
    need = FEWEST.get(name, 1)
    if len(values) < need:
        raise NoData(f"{name} of {len(values)} {of}")
    if name == "mean":
        return float(values.mean())
    if name == "min":
        return float(values.min())
    if name == "max":
        return float(values.max())
    if match := PERCENTILE.fullmatch(name):
        rank = rank_of(Fraction(match[1]), len(values))
        return float(np.partition(values, rank)[rank])
    raise InputError(f"statistic {name!r}: expected mean, min, p50, p95, p99, p99.99 or max")


def share_with_timeout(timeouts: Array, name: str) -> float:
    """Returns the share of flows that had a timeout."""
    if name != "share":
        raise InputError(f'with_timeout = {name!r}: expected "share"')
    if len(timeouts) == 0:
        raise NoData("no flows")
    return float((timeouts > 0).mean())


def sample_statistic(values: Array, name: str) -> float:
    """Returns a statistic of samples over time, or the share of samples above or below a number of bytes."""
    if match := SHARE.fullmatch(name):
        if len(values) == 0:
            raise NoData("no samples")
        below = float((values <= int(match[2])).mean())
        return below if match[1] == "<=" else 1 - below
    return statistic(values, name, "samples")


def injected_within(sizes: Array, time: str, run: Run) -> float:
    """Returns the share of flows whose payload a host's link can send in this time."""
    if len(sizes) == 0:
        raise NoData("no flows")
    topology = run.scenario["topology"]
    rate = as_number(topology.get("host_rate", topology.get("rate")), "the rate of host links")
    return float((sizes <= round(as_number(time, "injected_within") * rate / 8)).mean())


def sum_over_ports(run: Run, leaf: Leaf) -> float:
    """Returns the sum of a column of the table of egress ports."""
    table = selected(run.table("ports"), leaf, "node", "peer")
    if leaf["ports"] not in table.column_names or leaf["ports"] in ("node", "peer"):
        raise InputError(f"ports = {leaf['ports']!r}: no such number of a port; `backwater schema ports` lists them")
    if table.num_rows == 0:
        raise InputError(f"value {leaf}: there is no such port")
    return float(pc.sum(table[leaf["ports"]]).as_py())


def over_mmus(run: Run, leaf: Leaf) -> float:
    """Returns a column of the table of MMUs, added up, or its largest value for the columns in `LARGEST`."""
    table = selected(run.table("mmus"), leaf, "node", "mmu")
    if leaf["mmus"] not in table.column_names or leaf["mmus"] in ("node", "mmu"):
        raise InputError(f"mmus = {leaf['mmus']!r}: no such number of an MMU; `backwater schema mmus` lists them")
    if table.num_rows == 0:
        raise InputError(f"value {leaf}: there is no such MMU")
    values = table[leaf["mmus"]]
    value = (pc.max(values) if leaf["mmus"] in LARGEST else pc.sum(values)).as_py()
    return known(value, f"{leaf['mmus']} of MMUs")


def mean_pauses(run: Run, leaf: Leaf) -> float:
    """Returns the mean of a column of the table of pauses, over samples and ports."""
    column, table = leaf["pauses"], selected(run.table("pauses"), leaf, "node", "peer")
    if column not in ("held", "incast", "other", "orphans", "all"):
        raise InputError(f"pauses = {column!r}: expected held, incast, other, orphans or all")
    samples = pc.sum(table["samples"]).as_py()
    if not samples:
        raise InputError(f"value {leaf}: nothing such was sampled; `measure.pauses` says whether pauses are")
    return float(pc.sum(table[column]).as_py() / samples)


def histogram(run: Run, leaf: Leaf) -> tuple[Array, Array]:
    """Returns the numbers of active flows in rising order, and how many samples have each."""
    return added_up(selected(run.table("active_flows"), leaf, "node", "port"), "flows", "samples of active flows")


def shares_of_flows(run: Run, leaf: Leaf) -> tuple[Array, Array]:
    """Returns percentages of a port's flows that share a queue, in rising order, and how many samples have each."""
    return added_up(
        selected(run.table("sharing"), leaf, "node", "peer"), "percent", "samples of flows that share queues"
    )


def added_up(table: pa.Table, column: str, of: str) -> tuple[Array, Array]:
    """Returns the values of a column in rising order, and the samples of each over all rows."""
    values, place = np.unique(table[column].to_numpy(), return_inverse=True)
    samples = np.bincount(place, weights=table["samples"].to_numpy()) if len(values) else np.array([])
    if samples.sum() == 0:
        raise NoData(f"no {of}")
    return values, samples


def histogram_statistic(values: Array, samples: Array, name: str) -> float:
    total = samples.sum()
    if name == "mean":
        return float((values * samples).sum() / total)
    if name == "max":
        return float(values[samples > 0].max())
    if match := re.fullmatch(r"p([0-9]{1,2})", name):
        return float(values[np.searchsorted(np.cumsum(samples), int(match[1]) * total / 100)])
    if match := SHARE.fullmatch(name):
        below = samples[values <= int(match[2])].sum() / total
        return float(below if match[1] == "<=" else 1 - below)
    raise InputError(f'statistic {name!r}: expected mean, p50, p99, max, "share<=32" or "share>32"')


def distance(one: tuple[Array, Array], other: tuple[Array, Array]) -> float:
    """Returns the largest difference of two cumulative distributions (Kolmogorov-Smirnov)."""
    at = np.union1d(one[0], other[0])
    shares = []
    for flows, samples in (one, other):
        cumulative = np.concatenate([[0.0], np.cumsum(samples) / samples.sum()])
        shares.append(cumulative[np.searchsorted(flows, at, side="right")])
    return float(np.abs(shares[0] - shares[1]).max())


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
