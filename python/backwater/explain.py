"""Why flows were slow: runs a run again and follows the packets that completed the flows asked for.

A run is the same to the bit each time, so nothing need have been recorded: any flow of any run can be explained, as
long as the version at hand makes that run. Its digest says whether it does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from backwater import _core, tables

FLOWS_MAX = 20_000
"""Followed at most: of more the slowest, and how many were left out is said."""
UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

Progress = Callable[[int, int], None]
"""Is told how much is done, of how much."""


@dataclass(frozen=True)
class Tail:
    """How flows were chosen: as slow as a percentile of a class and a range of sizes, or slower."""

    percentile: float
    flow_class: str | None
    above: int
    below: int | None
    flows: int
    """So many there are; where more than were explained, those are the slowest."""
    slowdown: float
    """Of the least slow."""


@dataclass(frozen=True)
class Explained:
    """Flows of a run with what they waited for."""

    label: str
    digest: str
    """Of the run."""
    flows: pa.Table
    """Their rows of the table `flows`, the slowest first."""
    waits: pa.Table
    """See `backwater schema waits`; of each flow all spans sum to its completion time."""
    rates: pa.Table
    """See `backwater schema rates`: what their receivers got, over time."""
    receivers: dict[int, str]
    """Of the flows for whose sake they were paused."""
    tail: Tail | None = None
    """None where they were named."""

    def flow(self, number: int) -> dict[str, Any]:
        """One of them: its row, with `fct_ps` and `waits`, its parts in order.

        # Errors
        `InputError` where it is not one of them.
        """
        at = pc.index(self.flows["flow"].cast(pa.int64()), pa.scalar(number, pa.int64())).as_py()
        if at < 0:
            raise _core.InputError(f"flow {number}: is not among those explained")
        row = self.flows.slice(at, 1).to_pylist()[0]
        parts = rows_of(self.waits, self._waits_at, number).drop_columns("flow").to_pylist()
        return {**row, "fct_ps": row["finish_rx_ps"] - row["arrival_ps"], "waits": parts}

    def rate(self, number: int) -> pa.Table:
        """Its rows of `rates`, by time."""
        return rows_of(self.rates, self._rates_at, number)

    @cached_property
    def _waits_at(self) -> dict[int, tuple[int, int]]:
        return places(self.waits)

    @cached_property
    def _rates_at(self) -> dict[int, tuple[int, int]]:
        return places(self.rates)

    def causes(self) -> list[dict[str, Any]]:
        """Time of all of them by place (`source`, `way`, `last port`, `links`), cause and class, the most first.

        `share` is of the sum of their completion times. The last port is that to the receiver. Of pauses `elsewhere`
        says whether they were for a flow to another receiver; None where that is not known.
        """
        waits = self.waits
        to = dict(zip(self.flows["flow"].to_pylist(), self.flows["dst"].to_pylist(), strict=True))
        columns = [waits[name].to_pylist() for name in ("flow", "hop", "why", "whose", "sake", "span_ps")]
        sums: dict[tuple[str, str, str | None, bool | None], int] = {}
        for ends, flow, hop, why, whose, sake, span in zip(last_hops(waits), *columns, strict=True):
            elsewhere = None if sake is None else self.receivers[sake] != to[flow]
            key = (place(hop, bool(ends), why), why, whose, elsewhere)
            sums[key] = sums.get(key, 0) + span
        whole = sum(sums.values())
        rows = [
            {"place": at, "why": why, "whose": whose, "elsewhere": elsewhere, "span_ps": span, "share": span / whole}
            for (at, why, whose, elsewhere), span in sums.items()
        ]
        return sorted(
            rows,
            key=lambda row: (-row["span_ps"], row["place"], row["why"], row["whose"] or "", bool(row["elsewhere"])),
        )


def places(table: pa.Table) -> dict[int, tuple[int, int]]:
    """Where the rows of each flow begin, and how many there are; they stand together."""
    flows, at, number = np.unique(table["flow"].to_numpy(), return_index=True, return_counts=True)
    return dict(zip(flows.tolist(), zip(at.tolist(), number.tolist(), strict=True), strict=True))


def rows_of(table: pa.Table, at: dict[int, tuple[int, int]], number: int) -> pa.Table:
    return table.slice(*at.get(number, (0, 0)))


def place(hop: int, ends: bool, why: str) -> str:
    if why in ("transmission", "propagation", "host-delay"):
        return "links"
    if hop == 0:
        return "source"
    return "last port" if ends else "way"


def last_hops(waits: pa.Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each part is at the port that leads to its flow's receiver: that of the last transmission."""
    flow, hop = waits["flow"].to_numpy(), waits["hop"].to_numpy()
    sends = pc.equal(waits["why"].cast(pa.string()), "transmission").to_numpy(zero_copy_only=False)
    most: dict[int, int] = {}
    for number, at in zip(flow[sends].tolist(), hop[sends].tolist(), strict=True):
        most[number] = max(at, most.get(number, 0))
    ends = np.array([most.get(number, -1) for number in flow.tolist()], np.int64)
    return hop.astype(np.int64) == ends


def slowest(
    flows: pa.Table,
    *,
    flow_class: str | None = None,
    above: int = 0,
    below: int | None = None,
    percentile: float | None = None,
    worst: int | None = None,
) -> pa.Table:
    """Counted flows of a class and of sizes above `above` and up to `below`, the slowest first, then by number.

    With `percentile` those that are as slow as that or slower, with `worst` so many.

    # Errors
    `InputError` where there are none.
    """
    classes = flows["class"].unique().to_pylist()
    if flow_class is not None and flow_class not in classes:
        raise _core.InputError(f"--class {flow_class}: expected one of {', '.join(classes)}")
    chosen = pc.and_(pc.equal(flows["counted"], 1), pc.is_valid(flows["slowdown"]))
    chosen = pc.and_(chosen, pc.greater(flows["size_bytes"], above))
    if flow_class is not None:
        chosen = pc.and_(chosen, pc.equal(flows["class"].cast(pa.string()), flow_class))
    if below is not None:
        chosen = pc.and_(chosen, pc.less_equal(flows["size_bytes"], below))
    found = flows.filter(chosen).sort_by([("slowdown", "descending"), ("flow", "ascending")])
    if found.num_rows == 0:
        raise _core.InputError("no counted flow of that class and those sizes finished")
    if percentile is not None:
        # The smallest value that so many do not exceed, as in the table `slowdown`.
        rank = max(1, int(np.ceil(found.num_rows * percentile / 100 - 1e-9)))
        least = found["slowdown"][found.num_rows - rank]
        found = found.filter(pc.greater_equal(found["slowdown"], least))
    return found if worst is None else found.slice(0, worst)


def numbered(flows: pa.Table, numbers: Sequence[int]) -> pa.Table:
    """Flows of these numbers, in this order.

    # Errors
    `InputError` naming the first that there is not, or that did not finish.
    """
    rows = []
    for number in numbers:
        at = (
            pc.index(flows["flow"].cast(pa.int64()), pa.scalar(number, pa.int64())).as_py()
            if 0 <= number < 2**32
            else -1
        )
        if at < 0:
            last = pc.max(flows["flow"]).as_py()
            raise _core.InputError(
                f"flow {number}: no such flow; there is " + ("none" if last is None else f"0 to {last}")
            )
        if flows["finish_rx_ps"][at].as_py() is None:
            raise _core.InputError(f"flow {number}: did not finish, so no packet completed it")
        rows.append(at)
    return flows.take(pa.array(rows, pa.int64()))


def again(
    label: str,
    scenario: dict[str, Any],
    digest: str,
    everything: pa.Table,
    flows: pa.Table,
    progress: Progress | None = None,
) -> Explained:
    """Runs `scenario` again and follows some of its flows, given as rows of its table `flows`, which is `everything`.

    # Errors
    `InputError` where what ran now is not the run of this digest.
    """
    times = zip(flows["flow"].to_pylist(), flows["finish_rx_ps"].to_pylist(), strict=True)
    run = _core.start(json.dumps(scenario), 1, list(times))
    try:
        while not run.wait(0.1):
            if progress is not None:
                at = run.progress()
                progress(min(at["now_ps"], at["end_ps"]), at["end_ps"])
    except BaseException:
        run.cancel()
        raise
    outcome = run.outcome()
    if outcome.digest != digest:
        raise _core.InputError(
            f"{label}: this version, {_core.version}, makes another run of it, of digest {outcome.digest[:16]} and not "
            f"{digest[:16]}; `backwater run` makes one that it can explain"
        )
    waits, rates = whole(outcome, "waits"), whole(outcome, "rates")
    return Explained(label, digest, flows, waits, rates, receivers_of(waits, everything))


def whole(outcome: _core.Outcome, table: str) -> pa.Table:
    batches = list(tables.batches(outcome, table))
    return pa.Table.from_batches(batches) if batches else tables.empty(table)


def receivers_of(waits: pa.Table, everything: pa.Table) -> dict[int, str]:
    """Of the flows for whose sake these waited, from the table `flows`."""
    sakes = everything.filter(
        pc.is_in(everything["flow"], waits["sake"].drop_null().cast(everything["flow"].type).unique())
    )
    return dict(zip(sakes["flow"].to_pylist(), sakes["dst"].to_pylist(), strict=True))


def size_of(text: str, option: str) -> int:
    """Bytes of `3KB` or `2 MiB`.

    # Errors
    `InputError` where it is no size.
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) *([A-Za-z]+)", text)
    if match is None or match[2] not in UNITS:
        raise _core.InputError(f"{option} {text}: expected a size such as 3KB or 1 MiB")
    return int(float(match[1]) * UNITS[match[2]])


def write(explained: Explained, place: Path) -> None:
    """The table `waits`, as Parquet or Arrow by the name's end."""
    tables.write_table(explained.waits, place)
