"""Distributions of flow sizes: shipped tables, tables of users, and the formulas that workloads may use.

Sizes are read and rounded as in the simulator (`crates/scenario/src/sizes.rs`): linear between points or in steps. Some
tables round sizes above one packet up to whole packets. Means and shares ignore the rounding to whole bytes, which is
half a byte per size.
"""

from __future__ import annotations

import json
import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypedDict

from backwater import _core
from backwater.common import suggest
from backwater.common.arrays import Floats, np
from backwater.common.quantities import as_number

if TYPE_CHECKING:
    from backwater.scenario.typed import SizeTable
    from backwater.scenario.units import Bytes

PACKET = 1000.0
"""Payload of the packets that sizes are rounded up to, bytes."""


class Law(TypedDict, total=False):
    """Flow sizes of a resolved scenario: one of these keys."""

    table: str
    points: SizeTable
    fixed: Bytes
    exponential: Bytes
    uniform: list[Bytes]


class Sizes:
    """A distribution of flow sizes in bytes, as in a resolved scenario: `{"table": "google_rpc"}` and so on."""

    def __init__(self, given: Law) -> None:
        self.key = json.dumps(given, sort_keys=True)
        """The same for the same law."""
        self.mean_of_law: float | None = None
        """Of exponential sizes; None where there are points."""
        self.whole_packets, self.linear = False, True
        if "exponential" in given:
            self.mean_of_law = as_number(given["exponential"], "exponential")
            return
        if "table" in given:
            given = {"points": json.loads(_core.size_table(given["table"]))[0]}
        if "points" in given:
            table = given["points"]
            points, self.linear = np.array(table["points"], float), table["linear"]
            self.whole_packets = table.get("whole_packets", False)
            self.size, self.cdf = points[:, 0], points[:, 1]
        else:
            ends = [given["fixed"]] * 2 if "fixed" in given else given["uniform"]
            self.size = np.array([as_number(end, "sizes") for end in ends])
            self.cdf = np.array([0.0, 1.0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sizes) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @classmethod
    def of(cls, given: Law) -> Sizes:
        """Returns the distribution: one object for each law, so that runs of a sweep share its means."""
        return recent(json.dumps(given))

    @classmethod
    def read(cls, table: str) -> Sizes:
        """Reads a published table, or a CSV file.

        # Errors
        `InputError` naming the file and its line; where there is neither, with the tables that ship.
        """
        try:
            points = json.loads(_core.size_table(table))[0]
        except _core.InputError as error:
            if error.problem is not None and "no such file" in error.problem:
                known = suggest.expected(table, _core.size_tables(), "backwater list workloads")
                raise _core.InputError(f"{table}: no such table of sizes or file; {known}, or a file") from None
            raise
        return cls({"points": points})

    def draw(self, u: Floats) -> Floats:
        """Returns the sizes at these cumulative probabilities, in whole bytes."""
        if self.mean_of_law is not None:
            return np.maximum(np.floor(-self.mean_of_law * np.log1p(-u)), 1.0)
        i = np.minimum(np.searchsorted(self.cdf, u), len(self.cdf) - 1)
        found = self.size[i]
        if self.linear:
            below = np.maximum(i - 1, 0)
            step = self.cdf[i] - self.cdf[below]
            share = np.divide(u - self.cdf[below], step, out=np.ones_like(u), where=step > 0)
            found = self.size[below] + (found - self.size[below]) * share
        found = np.maximum(np.floor(found), 1.0)
        if self.whole_packets:
            found = np.where(found > PACKET, (np.floor(found / PACKET) + 1) * PACKET, found)
        return found

    @cached_property
    def pieces(self) -> tuple[Floats, Floats, Floats]:
        """Returns probabilities, and the two sizes between which each is uniform. For a step both sizes are equal."""
        chances = np.diff(self.cdf, prepend=0.0)
        low = np.concatenate([self.size[:1], self.size[:-1]]) if self.linear else self.size
        chance, low, high = (values[chances > 0] for values in (chances, low, self.size))
        if not self.whole_packets:
            return chance, low, high
        # Cut where the rounded size steps: at the first whole byte above a packet, and at every packet from two on.
        parts: list[tuple[Floats, Floats, Floats]] = []
        for p, a, b in zip(chance, low, high, strict=True):
            steps = np.arange(max(2.0, math.floor(a / PACKET) + 1) * PACKET, b, PACKET)
            plain = [PACKET + 1] if a < PACKET + 1 < b else []
            cuts = np.concatenate([[a], plain, steps, [b]])
            share = np.diff(cuts) / (b - a) if b > a else np.ones(1)
            middle = (cuts[:-1] + cuts[1:]) / 2
            up = (np.floor(middle / PACKET) + 1) * PACKET
            small = middle < PACKET + 1
            parts.append((p * share, np.where(small, cuts[:-1], up), np.where(small, cuts[1:], up)))
        p, a, b = (np.concatenate(column) for column in zip(*parts, strict=True))
        return p, a, b

    @cached_property
    def mean(self) -> float:
        """Returns the mean size in bytes."""
        if self.mean_of_law is not None:
            return self.mean_of_law
        chance, low, high = self.pieces
        return float(np.sum(chance * (low + high) / 2))

    @cached_property
    def mean_square(self) -> float:
        """Returns the mean of the squared size."""
        if self.mean_of_law is not None:
            return 2 * self.mean_of_law**2
        chance, low, high = self.pieces
        return float(np.sum(chance * (low * low + low * high + high * high) / 3))

    def flows_up_to(self, size: float) -> float:
        """Returns the share of flows of at most this size."""
        if self.mean_of_law is not None:
            return -math.expm1(-size / self.mean_of_law)
        chance, low, high = self.pieces
        return float(np.sum(chance * self.share_below(size, low, high)))

    def bytes_up_to(self, size: float) -> float:
        """Returns the share of all bytes that flows of at most this size carry."""
        if self.mean_of_law is not None:
            x = size / self.mean_of_law
            return 1 - (1 + x) * math.exp(-x)
        chance, low, high = self.pieces
        top = np.minimum(high, size)
        return float(np.sum(chance * self.share_below(size, low, high) * (low + top) / 2)) / self.mean

    @staticmethod
    def share_below(size: float, low: Floats, high: Floats) -> Floats:
        """Returns for each piece the part of its probability at this size or below."""
        spread = high - low
        inside = np.divide(size - low, spread, out=(low <= size).astype(float), where=spread > 0)
        return np.clip(inside, 0.0, 1.0)

    def packets(self, payload: float) -> float:
        """Returns the mean number of packets of a flow, each with at most this payload in bytes."""
        if self.mean_of_law is not None:
            return 1 / -math.expm1(-payload / self.mean_of_law)
        chance, low, high = self.pieces
        # Of a piece from a to b the mean of ceil(s / payload): an integral of steps.
        total = 0.0
        for p, a, b in zip(chance, low, high, strict=True):
            if a == b:
                total += p * max(1.0, math.ceil(a / payload))
            else:
                total += p * (integral(b / payload) - integral(a / payload)) * payload / (b - a)
        return float(total)


def integral(x: float) -> float:
    """Returns the integral of ceil from 0 to x."""
    k = math.floor(x)
    return k * (k + 1) / 2 + (x - k) * (k + 1)


@lru_cache(maxsize=16)
def recent(given: str) -> Sizes:
    return Sizes(json.loads(given))
