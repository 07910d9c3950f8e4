"""Two sets of completion times, flow by flow: runs of ours, or fct.txt files of HPCC's simulator and its relatives.

Slowdown is completion time over standalone time, 1 at least, as that simulator's analysis has it. The standard error of
a percentile is the bootstrap's: the scatter of 1000 resamples, each as large as the sample.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.table import Table

from backwater._core import InputError
from backwater.compare import bin_name
from backwater.hpcc.fct import Finished, write_whole
from backwater.hpcc.flows import BACKGROUND_PORT, INCAST_PORT
from backwater.measured import FEWEST, rank_of
from backwater.results import disk_errors
from backwater.terminal import count, some

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SIZE_ENDS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
"""Upper ends of the size bins of slowdown, the default of scenarios; a last bin takes the rest."""
RESAMPLES = 1000
SEED = 1
WORST = 5
PERCENTILES = {"p50": 50, "p99": 99}
PORT_OF_CLASS = {"background": BACKGROUND_PORT, "incast": INCAST_PORT}
PICTURES = (".svg", ".png", ".pdf")


@dataclass(frozen=True)
class Estimate:
    """A percentile and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class Bin:
    """Slowdown of the flows of one size on both sides; no estimate of too few flows."""

    low: int
    high: int | None
    flows: tuple[int, int]
    estimates: dict[str, tuple[Estimate | None, Estimate | None]]

    def difference(self, statistic: str) -> tuple[float, float] | None:
        """B over A less one, and in standard errors; the latter is infinite where there is no scatter."""
        a, b = self.estimates[statistic]
        if a is None or b is None:
            return None
        apart, error = b.value - a.value, float(np.hypot(a.error, b.error))
        return apart / a.value, 0.0 if apart == 0 else apart / error if error > 0 else float(np.copysign(np.inf, apart))


@dataclass(frozen=True)
class Comparison:
    """Flows of B against the same flows of A."""

    a: Finished
    b: Finished
    matched_by: str
    pairs: tuple[Integers, Integers]
    """Places of the matched flows in A and in B, in A's order."""
    only: tuple[Integers, Integers]
    """Places of the others."""
    difference: Floats
    """Of each pair, completion time in B over that in A less one."""
    bins: list[Bin]
    """The last is of all sizes."""

    @property
    def worst(self) -> Integers:
        """The pairs that differ most; none that do not."""
        order = np.argsort(-np.abs(self.difference), kind="stable")[:WORST]
        return order[self.difference[order] != 0]

    def statistics(self) -> dict[str, float]:
        """Of the relative differences."""
        if not len(self.difference):
            return {}
        size = np.sort(np.abs(self.difference))
        return {
            "median_abs": float(np.median(size)),
            "mean": float(self.difference.mean()),
            "mean_abs": float(size.mean()),
            "p95_abs": float(size[rank_of(95, len(size))]),
            "max_abs": float(size[-1]),
        }


def compare(a: Finished, b: Finished, flow_class: str | None = None) -> Comparison:
    """Matches the flows and sets them against each other, all or those of a class.

    # Errors
    `InputError` on a class of no known port, and where there is nothing to compare.
    """
    if flow_class is not None:
        port = port_of(flow_class)
        a, b = (side.where(side.dport == port) for side in (a, b))
    for side in (a, b):
        if not len(side):
            raise InputError(f"{side.name}: no finished flow" + (f" of class {flow_class}" if flow_class else ""))
    matched_by, pairs = match(a, b)
    only = (others(len(a), pairs[0]), others(len(b), pairs[1]))
    fct_a, fct_b = a.fct_ns[pairs[0]], b.fct_ns[pairs[1]]
    difference = (fct_b - fct_a) / np.maximum(fct_a, 1)
    return Comparison(a, b, matched_by, pairs, only, difference, by_size(a, b))


def port_of(flow_class: str) -> int:
    port = PORT_OF_CLASS.get(flow_class, flow_class.removeprefix("port-"))
    if not str(port).isdigit():
        raise InputError(f"--class {flow_class}: expected background (port 100), incast (port 200) or port-N")
    return int(port)


def match(a: Finished, b: Finished) -> tuple[str, tuple[Integers, Integers]]:
    """By source, destination and ports; by bytes and start instead of ports where that finds more flows of one size."""
    by_ports = same(*([side.src, side.dst, side.sport, side.dport] for side in (a, b)))
    alike = a.bytes[by_ports[0]] == b.bytes[by_ports[1]]
    by_ports = (by_ports[0][alike], by_ports[1][alike])
    if len(by_ports[0]) == min(len(a), len(b)):
        return "source, destination and ports", by_ports
    by_start = same(*([side.src, side.dst, side.bytes, side.start_ns] for side in (a, b)))
    if len(by_start[0]) > len(by_ports[0]):
        return "source, destination, bytes and start, as their ports do not agree", by_start
    return "source, destination and ports", by_ports


def same(a: list[Integers], b: list[Integers]) -> tuple[Integers, Integers]:
    """Places in A and B of rows with the same values; of several such rows the first goes with the first, and so on."""
    columns = [np.concatenate(pair) for pair in zip(a, b, strict=True)]
    order = np.lexsort(columns[::-1])  # Stable: A's rows before B's equal ones, each in their order.
    new = np.zeros(len(order), bool)
    new[:1] = True
    for column in columns:
        new[1:] |= column[order][1:] != column[order][:-1]
    group = np.cumsum(new) - 1
    from_b = order >= len(a[0])
    # Number of each row among the rows of its side in its group.
    seen_a, seen_b = np.cumsum(~from_b), np.cumsum(from_b)
    start = np.flatnonzero(new)
    nth = np.where(from_b, seen_b - (seen_b - from_b)[start][group], seen_a - (seen_a - ~from_b)[start][group])
    key = group * (len(order) + 1) + nth
    _, in_a, in_b = np.intersect1d(key[~from_b], key[from_b], assume_unique=True, return_indices=True)
    place_a, place_b = order[~from_b][in_a], order[from_b][in_b] - len(a[0])
    sort = np.argsort(place_a)
    return place_a[sort], place_b[sort]


def others(n: int, places: Integers) -> Integers:
    left = np.ones(n, bool)
    left[places] = False
    return np.flatnonzero(left)


def by_size(a: Finished, b: Finished) -> list[Bin]:
    """Slowdown of all finished flows of each side."""
    rng = np.random.default_rng(SEED)
    lows, highs = (0, *SIZE_ENDS, 0), (*SIZE_ENDS, None, None)
    bins = []
    for low, high in zip(lows, highs, strict=True):
        chosen = [slowdown(side.where((side.bytes > low) & (side.bytes <= (high or np.inf)))) for side in (a, b)]
        if not any(len(values) for values in chosen):
            continue
        estimates = {
            name: (percentile(chosen[0], percent, rng), percentile(chosen[1], percent, rng))
            for name, percent in PERCENTILES.items()
        }
        bins.append(Bin(low, high, (len(chosen[0]), len(chosen[1])), estimates))
    return bins


def slowdown(side: Finished) -> Floats:
    """Sorted."""
    return np.sort(np.maximum(1.0, side.fct_ns / np.maximum(side.standalone_ns, 1)))


def percentile(values: Floats, percent: int, rng: np.random.Generator) -> Estimate | None:
    """By nearest rank, of sorted values.

    The k-th smallest of n draws with replacement is the value at rank ceil(n U), with U the k-th smallest of n uniform
    draws, which is Beta(k, n + 1 - k). So a resample costs one draw.
    """
    n = len(values)
    if n < FEWEST.get(f"p{percent}", 1):
        return None
    rank = rank_of(percent, n)
    drawn = values[np.minimum((rng.beta(rank + 1, n - rank, RESAMPLES) * n).astype(np.int64), n - 1)]
    return Estimate(float(values[rank]), float((drawn - values[rank]).std(ddof=1)))


def tables(done: Comparison) -> list[Table]:
    """What the terminal shows."""
    return [facts(done), *([worst_flows(done)] if len(done.worst) else []), slowdowns(done)]


def facts(done: Comparison) -> Table:
    table = Table(title="Flow by flow", title_justify="left", title_style="bold", show_header=False)
    table.add_column("")
    table.add_column("", overflow="fold")
    for letter, side, only in zip("AB", (done.a, done.b), done.only, strict=True):
        left = f"; {some(side.unfinished, 'other')} did not finish" if side.unfinished else ""
        table.add_row(letter, f"{side.name}: {some(len(side), 'finished flow')}{left}")
        table.add_row(f"only in {letter}", f"{len(only):,}{examples(side, only)}")
    table.add_row("in both", f"{len(done.difference):,}, matched by {done.matched_by}")
    if statistics := done.statistics():
        table.add_row("equal to the nanosecond", f"{int((done.difference == 0).sum()):,}")
        table.add_row("difference of completion time", f"{percent(statistics['mean'], sign=True)} in the mean, B to A")
        table.add_row(
            "its size",
            f"median {percent(statistics['median_abs'])}, mean {percent(statistics['mean_abs'])}, "
            f"95th percentile {percent(statistics['p95_abs'])}, largest {percent(statistics['max_abs'])}",
        )
    return table


def examples(side: Finished, places: Integers) -> str:
    """The first few, by their ends and bytes."""
    if not len(places):
        return ""
    shown = [
        f"{side.src[i]}:{side.sport[i]} to {side.dst[i]}:{side.dport[i]}, {side.bytes[i]} B at {side.start_ns[i]} ns"
        for i in places[:3]
    ]
    return ": " + "; ".join(shown) + ("; ..." if len(places) > 3 else "")


def worst_flows(done: Comparison) -> Table:
    table = Table(title="Flows that differ most", title_justify="left", title_style="bold")
    for heading in ("source", "destination", "ports", "bytes", "start", "A", "B", "difference"):
        table.add_column(heading, justify="right")
    for i in done.worst:
        a, at, b, to = done.a, done.pairs[0][i], done.b, done.pairs[1][i]
        table.add_row(
            *(str(a.src[at]), str(a.dst[at]), f"{a.sport[at]} {a.dport[at]}", f"{a.bytes[at]:,}"),
            *(f"{a.start_ns[at]:,} ns", f"{a.fct_ns[at]:,} ns", f"{b.fct_ns[to]:,} ns"),
            percent(done.difference[i], sign=True),
        )
    return table


def slowdowns(done: Comparison) -> Table:
    table = Table(title="FCT slowdown, 1 at least, with standard errors", title_justify="left", title_style="bold")
    table.add_column("size")
    for letter in "AB":
        table.add_column(f"flows {letter}", justify="right")
    for name in PERCENTILES:
        for heading in (f"{name} A", f"{name} B", "difference", "in s.e."):
            table.add_column(heading, justify="right")
    for bin in done.bins:
        cells = []
        for name in PERCENTILES:
            cells += [f"{one.value:.3f} ± {one.error:.3f}" if one else "-" for one in bin.estimates[name]]
            apart = bin.difference(name)
            cells += ["-", "-"] if apart is None else [percent(apart[0], sign=True), f"{apart[1]:+.1f}"]
        table.add_row(bin_name(bin.low, bin.high), *(count(n) for n in bin.flows), *cells)
    return table


def percent(value: float, *, sign: bool = False) -> str:
    """With as many digits as it takes to see it."""
    digits = 3 if abs(value) < 0.001 else 2 if abs(value) < 0.1 else 1
    return f"{100 * value:{'+' if sign and value else ''}.{digits}f} %"


def as_json(done: Comparison) -> dict[str, Any]:
    """Everything, for other programs."""

    def flow(side: Finished, place: int) -> dict[str, int]:
        keys = ("src", "dst", "sport", "dport", "bytes", "start_ns", "fct_ns")
        return {key: int(getattr(side, key)[place]) for key in keys}

    def estimate(one: Estimate | None) -> dict[str, float] | None:
        return None if one is None else {"value": one.value, "standard_error": one.error}

    sides = zip(("a", "b"), (done.a, done.b), done.only, strict=True)
    return {
        **{
            letter: {
                "name": side.name,
                "finished": len(side),
                "unfinished": side.unfinished,
                "unmatched": len(only),
                "first_unmatched": [flow(side, int(place)) for place in only[:10]],
            }
            for letter, side, only in sides
        },
        "matched": len(done.difference),
        "matched_by": done.matched_by,
        "equal": int((done.difference == 0).sum()),
        "difference": done.statistics(),
        "worst": [
            {
                **flow(done.a, int(done.pairs[0][i])),
                "fct_b_ns": int(done.b.fct_ns[done.pairs[1][i]]),
                "difference": float(done.difference[i]),
            }
            for i in done.worst
        ],
        "slowdown": [
            {
                "size_low_bytes": bin.low,
                "size_high_bytes": bin.high,
                "flows": {"a": bin.flows[0], "b": bin.flows[1]},
                **{
                    name: {
                        "a": estimate(bin.estimates[name][0]),
                        "b": estimate(bin.estimates[name][1]),
                        **difference_json(bin.difference(name)),
                    }
                    for name in PERCENTILES
                },
            }
            for bin in done.bins
        ],
    }


def difference_json(apart: tuple[float, float] | None) -> dict[str, float | None]:
    """JSON has no infinity: none there."""
    if apart is None:
        return {"difference": None, "standard_errors": None}
    return {"difference": apart[0], "standard_errors": apart[1] if np.isfinite(apart[1]) else None}


def check_places(json_file: Path | None, picture: Path | None) -> None:
    """Refuses files that cannot be written, before the work."""
    for option, place in (("--json", json_file), ("--out", picture)):
        if place is not None and not place.absolute().parent.is_dir():
            raise InputError(f"{option} {place}: no such directory: {place.parent}")
    if picture is not None and picture.suffix not in PICTURES:
        raise InputError(f"--out {picture}: expected a name that ends in {', '.join(PICTURES)}")


def write(done: Comparison, json_file: Path | None, picture: Path | None) -> None:
    if json_file is not None:
        with disk_errors(json_file):
            write_whole(json_file, json.dumps(as_json(done), indent=2) + "\n")
    if picture is not None:
        from backwater import figures  # Matplotlib takes a third of a second to import: only where it draws.

        with disk_errors(picture):
            figures.save_comparison(done, picture)
