"""The columns of a run's tables that measurements need, read when the first one needs them."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

from backwater._core import InputError
from backwater.common.arrays import Array, np, pa, pc
from backwater.common.quantities import as_number
from backwater.runs.run import Run
from backwater.scenario.claims import Leaf


class Columns:
    """The columns of one run, read when they are first needed."""

    def __init__(self) -> None:
        self.flows: dict[str, Array] = {}
        self.kept: dict[tuple[str, str], Array] = {}
        """Which flows are of a class and a range of sizes."""
        self.sampled: dict[str, pa.Table] = {}
        self.times: Any = None
        """When its flows arrived and finished; see `courses.Times`."""

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
