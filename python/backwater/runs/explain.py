"""Explains why flows were slow: it runs a run again and follows the packets that completed these flows.

A run is the same to the bit each time, so nothing has to be recorded in advance. You can explain any flow of any run,
as long as the present version makes the same run. The digest shows whether it does.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from backwater import _core
from backwater.common import disk
from backwater.common.arrays import np, pa, pc
from backwater.common.quantities import some
from backwater.runs import tables

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

FLOWS_MAX = 20_000
"""Most flows that are followed. If there are more, the slowest are followed, and their number is reported."""

Progress = Callable[[int, int], None]
"""Is called with the done and the total amount of work."""


class Wait(TypedDict):
    """A part of a flow's time: a row of the table `waits` (`backwater schema waits`)."""

    hop: int
    node: str
    peer: str
    queue: int | None
    why: str
    whose: str | None
    by: str | None
    towards: str | None
    sake: int | None
    span_ps: int


ExplainedFlow = TypedDict(
    "ExplainedFlow",
    {
        "flow": int,
        "class": str,
        "src": str,
        "dst": str,
        "size_bytes": int,
        "arrival_ps": int,
        "finish_rx_ps": int,
        "ideal_ps": int,
        "slowdown": float,
        "fct_ps": int,
        "waits": list[Wait],
    },
)
"""A row of the table `flows` (`backwater schema flows` has all columns), its completion time, and its waits."""


class Cause(TypedDict):
    """Time of all flows by place, cause and class."""

    place: str
    why: str
    whose: str | None
    elsewhere: bool | None
    span_ps: int
    share: float


@dataclass(frozen=True)
class Tail:
    """How flows were selected: those of a class and a range of sizes that are at least as slow as a percentile."""

    percentile: float
    flow_class: str | None
    above: int
    below: int | None
    flows: int
    """Number of such flows. If it is larger than the number of explained flows, those are the slowest."""
    slowdown: float
    """Slowdown of the fastest of them."""


@dataclass(frozen=True)
class Asked:
    """Which flows of a run to explain: those with these numbers, or the tail of a class and a range of sizes."""

    numbers: Sequence[int] = ()
    flow_class: str | None = None
    above: int = 0
    below: int | None = None
    percentile: float = 99.0

    def of(self, flows: pa.Table) -> tuple[Tail | None, pa.Table]:
        """Returns the tail, and the rows of the table `flows`. There is no tail of flows that are named by number.

        # Errors
        `InputError` if there is no such flow.
        """
        if self.numbers:
            return None, numbered(flows, self.numbers)
        return tail_of(
            flows, flow_class=self.flow_class, above=self.above, below=self.below, percentile=self.percentile
        )


@dataclass(frozen=True, repr=False)
class Explained:
    """Explained flows of a run, and the causes that they waited for."""

    label: str
    digest: str
    """Digest of the run."""
    flows: pa.Table
    """Their rows of the table `flows`, the slowest first."""
    waits: pa.Table
    """Table `waits` (`backwater schema waits`). The spans of a flow sum to its completion time."""
    rates: pa.Table
    """Table `rates` (`backwater schema rates`): bytes that their receivers got, over time."""
    receivers: dict[int, str]
    """Receiver of each flow that they were paused for."""
    tail: Tail | None = None
    """None if the flows were named one by one."""

    def __repr__(self) -> str:
        return f"Explained({self.label!r}: {some(self.flows.num_rows, 'flow')})"

    def flow(self, number: int) -> ExplainedFlow:
        """Returns one flow as a dictionary: its row of `flows`, its completion time `fct_ps`, and its `waits` in order.

        # Errors
        `InputError` if the flow is not among the explained ones.
        """
        at = pc.index(self.flows["flow"].cast(pa.int64()), pa.scalar(number, pa.int64())).as_py()
        if at < 0:
            raise _core.InputError(f"flow {number}: is not among those explained")
        parts = rows_of(self.waits, self._waits_at, number).drop_columns("flow").to_pylist()
        row: ExplainedFlow = self.flows.slice(at, 1).to_pylist()[0]
        return {**row, "fct_ps": row["finish_rx_ps"] - row["arrival_ps"], "waits": parts}

    def rate(self, number: int) -> pa.Table:
        """Returns the rows of `rates` of one flow, by time."""
        return rows_of(self.rates, self._rates_at, number)

    @cached_property
    def _waits_at(self) -> dict[int, tuple[int, int]]:
        return places(self.waits)

    @cached_property
    def _rates_at(self) -> dict[int, tuple[int, int]]:
        return places(self.rates)

    def causes(self) -> list[Cause]:
        """Returns the time of all flows by place, cause and class, the largest first.

        Places are `source`, `way`, `last port` (the port to the receiver) and `links`. `share` is a share of the sum of
        completion times. For a pause, `elsewhere` says whether it was for a flow to another receiver. It is None if
        that is not known.
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
        rows: list[Cause] = [
            {"place": at, "why": why, "whose": whose, "elsewhere": elsewhere, "span_ps": span, "share": span / whole}
            for (at, why, whose, elsewhere), span in sums.items()
        ]
        return sorted(
            rows,
            key=lambda row: (-row["span_ps"], row["place"], row["why"], row["whose"] or "", bool(row["elsewhere"])),
        )


def places(table: pa.Table) -> dict[int, tuple[int, int]]:
    """Returns the first row and the number of rows of each flow, whose rows are adjacent."""
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
    """Returns for each part whether it is at the port to its flow's receiver: that of the last transmission."""
    flow, hop = waits["flow"].to_numpy(), waits["hop"].to_numpy()
    sends = pc.equal(waits["why"].cast(pa.string()), "transmission").to_numpy(zero_copy_only=False)
    most: dict[int, int] = {}
    for number, at in zip(flow[sends].tolist(), hop[sends].tolist(), strict=True):
        most[number] = max(at, most.get(number, 0))
    ends = np.array([most.get(number, -1) for number in flow.tolist()], np.int64)
    return hop.astype(np.int64) == ends


def classes(flows: pa.Table) -> list[str]:
    """Returns the classes of the table `flows`."""
    found: list[str] = flows["class"].unique().to_pylist()
    return found


def slowest(
    flows: pa.Table,
    *,
    flow_class: str | None = None,
    above: int = 0,
    below: int | None = None,
    percentile: float | None = None,
    worst: int | None = None,
) -> pa.Table:
    """Returns counted flows of a class with sizes above `above` and up to `below`, the slowest first, then by number.

    With `percentile`, only flows that are at least as slow as this percentile. With `worst`, only that many flows.

    # Errors
    `InputError` if there is no such flow.
    """
    if flow_class is not None and flow_class not in (there := classes(flows)):
        raise _core.InputError(f"flow_class = {flow_class!r}: expected one of {', '.join(there)}")
    chosen = pc.and_(pc.equal(flows["counted"], 1), pc.is_valid(flows["slowdown"]))
    chosen = pc.and_(chosen, pc.greater(flows["size_bytes"], above))
    if flow_class is not None:
        chosen = pc.and_(chosen, pc.equal(flows["class"].cast(pa.string()), flow_class))
    if below is not None:
        chosen = pc.and_(chosen, pc.less_equal(flows["size_bytes"], below))
    found = flows.filter(chosen).sort_by([("slowdown", "descending"), ("flow", "ascending")])
    if found.num_rows == 0:
        which = f"of class {flow_class}" if flow_class else "of any class"
        sizes = f"above {above} B" + ("" if below is None else f" and up to {below} B")
        raise _core.InputError(f"no counted flow {which} and {sizes} finished: expected at least one to explain")
    if percentile is not None:
        # The smallest value that so many do not exceed, as in the table `slowdown`.
        rank = max(1, int(np.ceil(found.num_rows * percentile / 100 - 1e-9)))
        least = found["slowdown"][found.num_rows - rank]
        found = found.filter(pc.greater_equal(found["slowdown"], least))
    return found if worst is None else found.slice(0, worst)


def tail_of(
    flows: pa.Table,
    *,
    flow_class: str | None = None,
    above: int = 0,
    below: int | None = None,
    percentile: float = 99.0,
    most: int = FLOWS_MAX,
) -> tuple[Tail, pa.Table]:
    """Returns a tail, and its rows of the table `flows`: the `most` slowest of them.

    # Errors
    `InputError` if there is no such flow.
    """
    slow = slowest(flows, flow_class=flow_class, above=above, below=below, percentile=percentile)
    slowdown = slow["slowdown"][slow.num_rows - 1].as_py()
    return Tail(percentile, flow_class, above, below, slow.num_rows, slowdown), slow.slice(0, most)


def numbered(flows: pa.Table, numbers: Sequence[int]) -> pa.Table:
    """Returns the flows with these numbers, in this order.

    # Errors
    `InputError` that names the first flow that does not exist or did not finish, or if there is no number.
    """
    if not numbers:
        raise _core.InputError("no flow is named: expected the number of one at least")
    rows = []
    for given in numbers:
        number = given if isinstance(given, int) else operator.index(given) if hasattr(given, "__index__") else -1
        at = (
            pc.index(flows["flow"].cast(pa.int64()), pa.scalar(number, pa.int64())).as_py()
            if 0 <= number < 2**32
            else -1
        )
        if at < 0:
            last = pc.max(flows["flow"]).as_py()
            raise _core.InputError(
                f"flow {given if number >= 0 else repr(given)}: no such flow; there is "
                + ("none" if last is None else f"0 to {last}")
            )
        if flows["finish_rx_ps"][at].as_py() is None:
            raise _core.InputError(f"flow {number}: did not finish, so no packet completed it")
        rows.append(at)
    return flows.take(pa.array(rows, pa.int64()))


def again(
    label: str,
    scenario: Scenario,
    digest: str,
    everything: pa.Table,
    flows: pa.Table,
    end_ps: int,
    progress: Progress | None = None,
) -> Explained:
    """Runs `scenario` again and follows some of its flows, given as rows of its table `flows`, which is `everything`.

    `end_ps` is the end of the run.

    # Errors
    `InputError` where what ran now is not the run of this digest.
    """
    times = zip(flows["flow"].to_pylist(), flows["finish_rx_ps"].to_pylist(), strict=True)
    run = _core.start(json.dumps(scenario), 1, list(times))
    try:
        while not run.wait(0.1):
            if progress is not None:
                progress(min(run.progress()["now_ps"], end_ps), end_ps)
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
    """Returns the receivers of the flows for which these flows were paused, from the table `flows`."""
    sakes = everything.filter(
        pc.is_in(everything["flow"], waits["sake"].drop_null().cast(everything["flow"].type).unique())
    )
    return dict(zip(sakes["flow"].to_pylist(), sakes["dst"].to_pylist(), strict=True))


def write(explained: Explained, place: Path) -> None:
    """Writes the table `waits`, as Parquet or Arrow by the name's end, whole or not at all.

    # Errors
    `InputError` if the file cannot be written.
    """
    with disk.errors(place), disk.scratch(place) as made:
        tables.write_table(explained.waits, made / place.name)
        (made / place.name).replace(place)
