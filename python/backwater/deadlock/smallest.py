"""The smallest set of edges without which a graph has no cycle.

This is a minimum feedback arc set: each cycle has to lose an edge. There are too many cycles to list. So a linear
program starts with few cycles and adds those that its solution leaves, until a solution leaves none. Then a
mixed-integer program does the same (HiGHS). Among equally small sets it selects the one that the smallest share of
pairs of hosts uses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from backwater._core import Cycles, InputError
from backwater.common.arrays import np
from backwater.common.extras import library

TIE = 0.5
"""What all shares together weigh, in edges: less than one, so that they only decide between sets of one size."""
DRAWS = 4
"""Searches for cycles before the first solution."""
MANY = 5000
"""Edges above which an interior-point method is faster."""
NEAR = 1e-6
"""Closer than this is equal; HiGHS's own tolerance."""


@dataclass(frozen=True)
class Found:
    """A set of edges without which there is no cycle."""

    edges: list[int]
    bound: int
    """No set has fewer."""

    @property
    def is_smallest(self) -> bool:
        return len(self.edges) == self.bound


def smallest(cycles: Cycles, free: list[bool], shares: list[float], parts: list[int], seconds: float) -> Found | None:
    """Returns the smallest set of `free` edges, or None if the other edges alone make a cycle.

    Each of the `parts`, strong components by edge, is solved for itself. Where `seconds` are not enough the set is the
    best that was found, and not proven to be the smallest.

    # Errors
    `InputError` if the solver is not installed.
    """
    if cycles.complete([], [1.0 if is_free else math.inf for is_free in free]) is None:
        return None
    highspy = solver()
    until = time.monotonic() + seconds
    edges, bound = [], 0
    for part in sorted(set(parts)):
        of_part = [i for i, other in enumerate(parts) if other == part]
        found = Part(highspy, cycles, of_part, free, shares).solve(until)
        edges += found.edges
        bound += found.bound
    return Found(sorted(edges), bound)


class Part:
    """An integer program for one strong component.

    Its variables are the free edges, its constraints the known cycles.
    """

    def __init__(self, highspy: Any, cycles: Cycles, edges: list[int], free: list[bool], shares: list[float]) -> None:
        self.highspy = highspy
        self.cycles, self.count = cycles, len(free)
        self.edges = [edge for edge in edges if free[edge]]
        self.fixed = [edge for edge in edges if not free[edge]]
        self.column = {edge: i for i, edge in enumerate(self.edges)}
        total = sum(shares[edge] for edge in self.edges) or 1.0
        self.costs = [1.0 + TIE * shares[edge] / total for edge in self.edges]
        # Edges of other components stay out of it: what weighs 1 is in no light cycle, and they are gone beforehand.
        self.all_costs = [math.inf] * self.count
        for edge, cost in zip(self.edges, self.costs, strict=True):
            self.all_costs[edge] = cost
        self.others = sorted(set(range(self.count)) - set(edges))
        self.highs = program(highspy, self.costs)
        self.best: list[int] = []
        self.least = 0.0
        """No set costs less."""

    def solve(self, until: float) -> Found:
        self.take(self.complete([]))
        known = self.short()
        self.add(known)
        apart = disjoint([[edge for edge in cycle if edge in self.column] for cycle in known])
        if len(self.edges) > MANY:
            self.highs.setOptionValue("solver", "ipm")
        whole = False
        while time.monotonic() < until and self.price(self.best) > self.least + NEAR:
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + max(0.1, until - time.monotonic()))
            self.highs.run()
            info = self.highs.getInfo()
            solved = self.highs.getModelStatus() == self.highspy.HighsModelStatus.kOptimal
            if whole:
                self.least = max(self.least, info.mip_dual_bound)
            elif solved:
                self.least = max(self.least, info.objective_function_value)
            if not solved and not info.primal_solution_status:
                break
            values = self.highs.getSolution().col_value
            self.take(self.complete([edge for edge, x in zip(self.edges, values, strict=True) if x > 0.5]))
            more = self.cycles.light(self.weights(values))
            self.add(more)
            if not more and (whole or not solved):
                break
            if not more:
                whole = True
                columns = np.arange(len(self.edges), dtype=np.int32)
                kinds = np.full(len(self.edges), self.highspy.HighsVarType.kInteger.value, np.uint8)
                self.highs.changeColsIntegrality(len(columns), columns, kinds)
        # Costs exceed the number of edges by TIE at most, and numbers are whole.
        return Found(self.best, min(len(self.best), max(apart, math.ceil(self.least - TIE - NEAR))))

    def short(self) -> list[tuple[int, ...]]:
        """Finds shortest cycles.

        A search finds one cycle through each turn, so repeated searches in random order find more.
        """
        draws = np.random.default_rng(0)
        weights = [list(map(float, draws.uniform(0.0, NEAR, len(self.edges)))) for _ in range(DRAWS)]
        found = {tuple(cycle) for drawn in weights for cycle in self.cycles.light(self.weights(drawn))}
        least = min(map(len, found))
        return sorted(cycle for cycle in found if len(cycle) == least)

    def add(self, cycles: Sequence[Sequence[int]]) -> None:
        """Adds cycles, each of which has to lose an edge."""
        rows = [[self.column[edge] for edge in cycle if edge in self.column] for cycle in cycles]
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        columns = np.array([column for row in rows for column in row], np.int32)
        bounds = np.ones(len(rows)), np.full(len(rows), self.highspy.kHighsInf)
        self.highs.addRows(len(rows), *bounds, len(columns), starts[:-1], columns, np.ones(len(columns)))

    def weights(self, values: list[float]) -> list[float]:
        weights = [2.0] * self.count
        for edge in self.fixed:
            weights[edge] = 0.0
        for edge, value in zip(self.edges, values, strict=True):
            weights[edge] = min(max(value, 0.0), 1.0)
        return weights

    def complete(self, chosen: list[int]) -> list[int]:
        costs = self.all_costs.copy()
        for edge in self.others:
            costs[edge] = 0.0
        enough = self.cycles.complete([*self.others, *chosen], costs)
        assert enough is not None, "the edges that are not free make no cycle"
        return [edge for edge in enough if edge in self.column]

    def price(self, edges: list[int]) -> float:
        return sum(self.all_costs[edge] for edge in edges)

    def take(self, edges: list[int]) -> None:
        if not self.best or self.price(edges) < self.price(self.best) - NEAR:
            self.best = edges


def disjoint(cycles: list[list[int]]) -> int:
    """Counts cycles that share no edge, taken in turn. At least as many edges have to go."""
    taken: set[int] = set()
    count = 0
    for cycle in cycles:
        if taken.isdisjoint(cycle):
            taken.update(cycle)
            count += 1
    return count


def solver() -> Any:
    """Imports HiGHS, which is an extra: only networks whose cycles can be broken need it.

    # Errors
    `InputError` if it is not installed.
    """
    try:
        return library("highspy", "deadlock")
    except InputError as error:
        raise InputError(f"there are cycles of pauses, and a solver has to find what breaks them: {error}") from None


def program(highspy: Any, costs: list[float]) -> Any:
    """Makes a program with a variable for each edge, 1 if the edge goes, and without cycles."""
    highs = highspy.Highs()
    options: dict[str, bool | int | float] = {
        "output_flag": False, "threads": 1, "random_seed": 0, "mip_rel_gap": 0.0, "mip_abs_gap": NEAR,
    }  # fmt: skip
    for option, value in options.items():
        highs.setOptionValue(option, value)
    count = len(costs)
    highs.addVars(count, np.zeros(count), np.ones(count))
    highs.changeColsCost(count, np.arange(count, dtype=np.int32), np.array(costs))
    return highs
