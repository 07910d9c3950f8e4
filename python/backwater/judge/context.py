"""The point at which a check is made, and its measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any, Literal

from backwater._core import InputError
from backwater.judge import courses, estimate
from backwater.judge.estimate import Estimate
from backwater.judge.leaves import fill
from backwater.judge.measured import Measured
from backwater.judge.settled import Course
from backwater.judge.statistics import NoData
from backwater.runs.directory import RunDirectory
from backwater.runs.manifest import Params, variant_of
from backwater.runs.run import Run
from backwater.scenario.claims import Arithmetic, Expression, Leaf, Selectors

Point = tuple[tuple[str, Any], ...]
Read = tuple[Leaf, tuple[Point, ...]]
"""A measurement, and the points over which its mean is taken."""

ARITHMETIC: tuple[Arithmetic, ...] = ("product", "quotient", "sum", "difference")
NAMING: tuple[Literal["variant", "active_flows_distance"], ...] = ("variant", "active_flows_distance")
"""Keys of a measurement that name a variant."""
SEED = "seed"
"""Runs that differ in nothing else are one measurement."""


class NotRun(Exception):
    """A run that a check needs is missing. The text names it."""


class NeedsSeveral(NoData):
    """A spread was asked of a single point."""


class NotAsAsked(Exception):
    """A run had another load than its scenario asks for. The text names the run."""


UNJUDGED = (NotRun, NoData, NotAsAsked, InputError)
"""Why a number is not there to be compared; an `InputError` says that a run has nothing of the name asked for."""


@dataclass(frozen=True)
class Context:
    """Points of the sweep that are judged together, with the selectors that `each` supplies."""

    runs: MeasuredRuns
    points: tuple[Point, ...]
    selectors: Selectors
    instead: dict[str, str]
    """Variants whose place others take: what is credited, and what lacks it."""
    reads: list[Read] | None = None
    """If given, every measurement is noted here."""

    def value(self, expression: Expression, **selectors: Any) -> float:
        """Evaluates an expression: a number, a measurement, or arithmetic on expressions."""
        if isinstance(expression, int | float):
            return float(expression)
        for name in ARITHMETIC:
            if name in expression:
                values = [self.value(inner, **selectors) for inner in expression[name]]
                # What is only heard has no values yet, and their differences would all be 0.
                return 1.0 if self.runs.measured.hears else arithmetic(name, values)
        leaf = fill(expression, {**self.selectors, **selectors})
        if "variant" not in leaf:
            raise InputError(f"value {expression}: names no variant")
        for key in NAMING:
            if key in leaf:
                leaf[key] = self.instead.get(leaf[key], leaf[key])
        if self.reads is not None:
            self.reads.append((leaf, self.points))
        return self.runs.measure(leaf, self.points)

    def estimate(self, measure: Callable[[Context], float], *, signed: bool = False) -> Estimate:
        """Returns a measurement with its interval over seeds. Set `signed` if the value can be negative."""
        reads: list[Read] = []
        whole = measure(replace(self, reads=reads))
        return replace(self.bounded(whole, measure, signed=signed), reads=tuple(reads))

    def bounded(self, whole: float, measure: Callable[[Context], float], *, signed: bool) -> Estimate:
        if self.runs.exact:
            return estimate.exact(whole)
        seeds = self.seeds()
        if len(seeds) < 2:
            return Estimate(whole)
        try:
            found = estimate.jackknife(whole, [measure(self.without(seed)) for seed in seeds], signed=signed)
        except NeedsSeveral:
            return Estimate(whole)
        return found if signed or not whole > 0 else replace(found, above_zero=self.above_zero(measure, seeds))

    def above_zero(self, measure: Callable[[Context], float], seeds: list[Any]) -> tuple[int, int] | None:
        """Returns in how many seeds of how many a measurement is above 0; None if in all.

        Also None if a single seed has too little data for it.
        """
        try:
            above = sum(measure(self.only(seed)) > 0 for seed in seeds)
        except NoData:
            return None
        return (above, len(seeds)) if above < len(seeds) else None

    def seeds(self) -> list[Any]:
        return list(dict.fromkeys(value for point in self.points for key, value in point if key == SEED))

    def without(self, seed: Any) -> Context:
        return replace(self, points=tuple(point for point in self.points if (SEED, seed) not in point))

    def only(self, seed: Any) -> Context:
        return replace(self, points=tuple(point for point in self.points if (SEED, seed) in point))


class MeasuredRuns:
    """The runs of one experiment, by variant and point. `any_load` admits runs whose load differs from the one asked.

    # Errors
    `InputError` if a file of a run is missing or damaged.
    """

    def __init__(self, results: RunDirectory, *, any_load: bool = False) -> None:
        results.verify()  # Later an `InputError` says that a run has nothing of a name, which is no error.
        self.any_load = any_load
        fixed = (results.manifest.seeds or {}).get("fixed")
        self.exact = bool(fixed) or all(run.summary.get("exact") for run in results.runs)
        """One seed is part of the set-up, or nothing is drawn."""
        self.runs: dict[tuple[str, Point], Run] = {}
        for run in results.runs:
            if run.ending != "interrupted":
                self.runs[variant_of(run.params, run.label), point_of(run)] = run
        self.points = list(dict.fromkeys(point_of(run) for run in results.runs))
        self.measured = Measured()

    def measure(self, leaf: Leaf, points: tuple[Point, ...]) -> float:
        """Returns the mean of a measurement over the points, or its standard deviation if `spread` is set."""
        leaf = leaf.copy()
        spread = leaf.pop("spread", None)
        values = []
        for point in points:
            try:
                values.append(self.measure_at(leaf, point))
            except NoData as reason:
                differing = [item for item in point if any(item not in other for other in points)]
                raise NoData(", ".join([str(reason), *(f"{key} {value}" for key, value in differing)])) from None
        if spread and len(values) < 2:
            raise NeedsSeveral("one point has no deviation")
        return stdev(values) if spread else fmean(values)

    def measure_at(self, leaf: Leaf, point: Point) -> float:
        leaf, runs = self.runs_of(leaf, point)
        if "scenario" not in leaf and not self.any_load:
            for run in runs:
                check_load(run)
        return self.measured.of(runs, leaf)

    def courses(self, leaf: Leaf, points: tuple[Point, ...]) -> list[Course]:
        """Returns how a measurement goes over time in each of its runs; empty if it does not depend on their length."""
        leaf = leaf.copy()
        leaf.pop("spread", None)
        found = []
        for point in points:
            at, runs = self.runs_of(leaf, point)
            found += [self.measured.ask([run], at, courses.course, None) for run in runs]
        return [course for course in found if course is not None]

    def runs_of(self, leaf: Leaf, point: Point) -> tuple[Leaf, list[Run]]:
        """Returns a measurement without the other point that it may name, and the runs that it is of."""
        if "at" in leaf:
            leaf = leaf.copy()
            point = tuple(sorted({**dict(point), **leaf.pop("at")}.items()))
        variants = [leaf["variant"], *([leaf["active_flows_distance"]] if "active_flows_distance" in leaf else [])]
        missing = [variant for variant in variants if (variant, point) not in self.runs]
        if missing:
            raise NotRun(", ".join(missing))
        return leaf, [self.runs[variant, point] for variant in variants]

    def together(self, over: list[str], wanted: Callable[[Params], bool]) -> dict[Point, tuple[Point, ...]]:
        """Groups points that differ only in their seed and in the keys `over`. Points without any run are left out."""
        groups: dict[Point, tuple[Point, ...]] = {}
        for point in self.points:
            if wanted(dict(point)):
                shared = tuple(item for item in point if item[0] not in (SEED, *over))
                groups[shared] = (*groups.get(shared, ()), point)
        ran = {point for _, point in self.runs}
        return {shared: points for shared, points in groups.items() if not ran.isdisjoint(points)}


def point_of(run: Run) -> Point:
    return tuple(sorted((key, value) for key, value in run.params.items() if key != "variant"))


def check_load(run: Run) -> None:
    """Refuses a run in which chance does not explain how far a load is off (`as_asked` in `summary.json`)."""
    for load in run.summary.get("load", []):
        if load.get("as_asked") is False:
            share = f"{load['realised']:.4g} where {load['asked']:.4g} was asked"
            raise NotAsAsked(f"{run.label}: the load of {load['class']} is {share}, which is not chance")


def arithmetic(name: str, values: list[float]) -> float:
    result = values[0]
    for value in values[1:]:
        if name == "product":
            result *= value
        elif name == "sum":
            result += value
        elif name == "difference":
            result -= value
        elif value == 0:
            raise NoData("a quotient's divisor is 0")
        else:
            result /= value
    return result


def is_signed(*expressions: Expression) -> bool:
    """Returns whether the value can be negative: it has a difference in it, or a result of a computation."""
    tables = [expression for expression in expressions if isinstance(expression, dict)]
    inner = [one for table in tables for name in ARITHMETIC for one in table.get(name, [])]
    return any("difference" in table or "result" in table for table in tables) or (bool(inner) and is_signed(*inner))


def leaves_of(expression: Expression) -> Iterator[Leaf]:
    """Yields the measurements of an expression."""
    if isinstance(expression, dict):
        inner = next((expression[name] for name in ARITHMETIC if name in expression), None)
        if inner is None:
            yield expression
        else:
            for part in inner:
                yield from leaves_of(part)
