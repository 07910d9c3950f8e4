"""Compares two sets of completion times flow by flow: our runs, or fct.txt files of HPCC's simulator and its relatives.

Slowdown is completion time over standalone time, at least 1, as in that simulator's analysis. The standard error of a
percentile comes from the bootstrap: 1000 resamples, each as large as the sample.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from backwater._core import InputError
from backwater.common.arrays import Floats, Integers, np
from backwater.common.percentiles import FEWEST, rank_of
from backwater.hpcc.fct import Finished
from backwater.hpcc.flows import BACKGROUND_PORT, INCAST_PORT

SIZE_ENDS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
"""Upper ends of the size bins of slowdown, the default of scenarios; a last bin takes the rest."""
RESAMPLES = 1000
SEED = 1
WORST = 5
PERCENTILES = {"p50": 50, "p99": 99}
PORT_OF_CLASS = {"background": BACKGROUND_PORT, "incast": INCAST_PORT}
PORT_MAX = 65_535


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
        """Returns B / A - 1, and the same in standard errors, which is infinite if there is no scatter."""
        a, b = self.estimates[statistic]
        if a is None or b is None:
            return None
        apart, error = b.value - a.value, float(np.hypot(a.error, b.error))
        return apart / a.value, 0.0 if apart == 0 else apart / error if error > 0 else float(np.copysign(np.inf, apart))


@dataclass(frozen=True)
class Comparison:
    """A comparison of the flows of B with the same flows of A."""

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
        """Returns the pairs that differ most, without pairs that are equal."""
        order = np.argsort(-np.abs(self.difference), kind="stable")[:WORST]
        return order[self.difference[order] != 0]

    def statistics(self) -> dict[str, float]:
        """Returns statistics of the relative differences."""
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
    """Matches the flows of both sides and compares them: all flows, or those of a class.

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
    known = PORT_OF_CLASS.get(flow_class)
    if known is not None:
        return known
    match = re.fullmatch(r"port-([0-9]{1,5})", flow_class)
    if match is not None and int(match[1]) <= PORT_MAX:
        return int(match[1])
    shown = flow_class if len(flow_class) <= 60 else f"{flow_class[:60]}..."
    raise InputError(
        f"--class {shown}: expected background (port 100), incast (port 200) or port-N, with N from 0 to {PORT_MAX}"
    )


def match(a: Finished, b: Finished) -> tuple[str, tuple[Integers, Integers]]:
    """Matches flows by source, destination and ports, or by bytes and start instead of ports if that matches more."""
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
    """Returns the rows of A and B with equal values. If several rows are equal, they are paired in order."""
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
    """Returns the slowdowns of the finished flows of each side, by flow size."""
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
    """Returns the slowdowns in rising order."""
    return np.sort(np.maximum(1.0, side.fct_ns / np.maximum(side.standalone_ns, 1)))


def percentile(values: Floats, percent: int, rng: np.random.Generator) -> Estimate | None:
    """Returns a percentile of sorted values by nearest rank, with its standard error.

    The k-th smallest of n draws with replacement is the value at rank ceil(n U), with U the k-th smallest of n uniform
    draws, which is Beta(k, n + 1 - k). So a resample costs one draw.
    """
    n = len(values)
    if n < FEWEST.get(f"p{percent}", 1):
        return None
    rank = rank_of(percent, n)
    drawn = values[np.minimum((rng.beta(rank + 1, n - rank, RESAMPLES) * n).astype(np.int64), n - 1)]
    return Estimate(float(values[rank]), float((drawn - values[rank]).std(ddof=1)))
