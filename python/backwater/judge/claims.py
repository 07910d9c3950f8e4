"""Judges what an experiment expects (`[[expect]]`) by what its runs measured. `experiments/README.md` is the language.

An expectation makes checks: one for each combination of its `each` lists, at each point of the sweep that `where` lets
through. Each check has a verdict, and they add up to the claim's:

    fail        a check contradicts the claim
    direction   the ordering holds, the size does not
    pass        all that could be judged hold
    fact        they hold, but follow from the set-up: no measurement could contradict them
    not-run     a scheme is missing, the scale is too small, or too few flows were measured

A run whose load is not what was asked, beyond what chance explains, fails every check that reads a measurement of it.

Points that differ only in the keys of `over`, several seeds say, are judged together: each measurement is its mean, or
its deviation (`spread`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev
from typing import Any

from backwater._core import InputError
from backwater.judge.measured import LEAVES, Measured, NoData, as_number, fill, quantity
from backwater.results import Results, Run

Point = tuple[tuple[str, Any], ...]
Expectation = dict[str, Any]

DEFAULT_SCALES = ("quick", "paper")
UP_TO = 1.5
"""An "up to X times" claim holds from X / 1.5 to 1.5 X."""
EQUAL = 0.001
"""Relative tolerance of `equals`: the statistics are rounded, the arithmetic is not."""
LISTED = 8
"""More numbers than this are told by the least and the most, more orders that all hold by the first and the last."""
ARITHMETIC = ("product", "quotient", "sum", "difference")


class NotRun(Exception):
    """What a check needs was not run. The text says what."""


class NeedsSeveral(NoData):
    """One point has no spread."""


class NotAsAsked(Exception):
    """A run had another load than its scenario asks for. The text says which."""


UNJUDGED = (NotRun, NoData, NotAsAsked, InputError)
"""Why a number is not there to be compared; an `InputError` says that a run has nothing of the name asked for."""


@dataclass(frozen=True)
class Check:
    """One comparison."""

    at: str
    measured: float | None
    text: str
    verdict: str


@dataclass(frozen=True)
class Context:
    """Where a check is made: points of the sweep that are judged together, and the selectors that `each` supplies."""

    judge: Judge
    points: tuple[Point, ...]
    selectors: dict[str, Any]

    def value(self, expression: Any, **selectors: Any) -> float:
        """A number, a measurement, or arithmetic on such."""
        if isinstance(expression, int | float):
            return float(expression)
        for name in ARITHMETIC:
            if name in expression:
                return arithmetic(name, [self.value(inner, **selectors) for inner in expression[name]])
        leaf = fill(expression, {**self.selectors, **selectors})
        if "variant" not in leaf:
            raise InputError(f"value {expression}: names no variant")
        return self.judge.measure(leaf, self.points)

    def between(self, measure: Callable[[Context], float]) -> str:
        """What a measurement is at the least and at the most of the points; nothing if that is one or takes several."""
        try:
            alone = [measure(Context(self.judge, (point,), self.selectors)) for point in self.points]
        except NeedsSeveral:
            return ""
        least, most = number(min(alone)), number(max(alone))
        return f"{least} to {most}" if least != most else ""

    def over(self) -> str:
        """How many points are judged together; nothing where it is one."""
        n = len(self.points)
        differing = {key for point in self.points for key, value in point if (key, value) not in self.points[0]}
        return "" if n == 1 else f"over {n} {'seeds' if differing == {'seed'} else 'points'}"


class Judge:
    """All claims of one experiment; with `any_load` also by runs whose load is not what was asked."""

    def __init__(self, results: Results, *, any_load: bool = False) -> None:
        self.results = results
        self.any_load = any_load
        self.scale: str = results.manifest["scale"]
        self.runs: dict[tuple[str, Point], Run] = {}
        for run in results.runs:
            if run.ending != "interrupted":
                self.runs[run.params.get("variant", run.label), point_of(run)] = run
        self.points = list(dict.fromkeys(point_of(run) for run in results.runs))
        self.variants = list(dict.fromkeys(variant for variant, _ in self.runs))
        self.measured = Measured()

    def measure(self, leaf: dict[str, Any], points: tuple[Point, ...]) -> float:
        """Mean over the points, or what it strays by."""
        leaf = dict(leaf)
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

    def measure_at(self, leaf: dict[str, Any], point: Point) -> float:
        if "at" in leaf:
            leaf = dict(leaf)
            point = tuple(sorted({**dict(point), **leaf.pop("at")}.items()))
        variants = [leaf["variant"], *([leaf["active_flows_distance"]] if "active_flows_distance" in leaf else [])]
        missing = [variant for variant in variants if (variant, point) not in self.runs]
        if missing:
            raise NotRun(", ".join(missing))
        runs = [self.runs[variant, point] for variant in variants]
        if "scenario" not in leaf and not self.any_load:
            for run in runs:
                check_load(run)
        return self.measured.of(runs, leaf)

    def row(self, expectation: Expectation) -> dict[str, Any]:
        """The claim beside what was measured."""
        checks = self.checks(expectation)
        return {
            "claim": expectation["claim"],
            "metric": expectation.get("metric", ""),
            "says": expectation.get("says", ""),
            "expected": expected(expectation),
            "measured": "; ".join(tell(checks)) or "-",
            "verdict": add_up(checks, fact=self.is_fact(expectation)),
            "note": expectation.get("note", ""),
            "checks": [vars(check) for check in checks],
        }

    def is_fact(self, expectation: Expectation) -> bool:
        """Whether no measurement could contradict it: it is of the scenario and of results that say so."""
        asked = asked_of(expectation)
        if expectation["kind"] == "fact" or asked.keys() == {"scenario"}:
            return True
        if not asked or asked.keys() - {"scenario", "result"}:
            return False
        return all(asked["result"] <= set(run.summary.get("facts", [])) for run in self.runs.values())

    def checks(self, expectation: Expectation) -> list[Check]:
        kind = expectation["kind"]
        if kind == "not-run":
            return [Check("", None, expectation["reason"], "not-run")]
        if kind == "fact":
            return [Check("", None, "follows from the set-up", "pass")]
        if kind not in KINDS:
            return [nothing("", InputError(f"kind = {kind!r}: expected one of {', '.join(KINDS)}"))]
        scales = expectation.get("scales", DEFAULT_SCALES)
        if self.scale not in scales:
            return [Check("", None, f"judged at scale {' or '.join(scales)}", "not-run")]
        return list(KINDS[kind](self, expectation)) or [Check("", None, "no complete run", "not-run")]

    def contexts(self, expectation: Expectation, *, along: str | None = None) -> Iterator[tuple[str, Context]]:
        """Each place where a check is made, with its name; all of the swept key that the check itself goes `along`."""
        several = len(self.points) > 1
        for place, points in self.together([*expectation.get("over", []), along], expectation.get("where", {})).items():
            for selectors in combinations(expectation):
                names = [f"{key.split('.')[-1]} {value}" for key, value in place] if several else []
                names += [str(value) for key, value in selectors.items() if tells_apart(key, expectation)]
                yield ", ".join(names), Context(self, points, selectors)

    def together(self, over: list[str | None], where: dict[str, Any]) -> dict[Point, tuple[Point, ...]]:
        """Points that differ in nothing but the keys of `over`, by what they share; those at which anything was run."""
        groups: dict[Point, tuple[Point, ...]] = {}
        for point in self.points:
            if lets_through(where, dict(point)):
                shared = tuple(item for item in point if item[0] not in over)
                groups[shared] = (*groups.get(shared, ()), point)
        ran = {point for _, point in self.runs}
        return {shared: points for shared, points in groups.items() if not ran.isdisjoint(points)}


def tells_apart(key: str, expectation: Expectation) -> bool:
    """Whether a selector belongs into a check's name; a path that all checks share does not."""
    each = expectation.get("each", {})
    return bool(each) if key == "variant" else key not in ("summary", "scenario") or len(each[key]) > 1


def of(results: Results) -> list[dict[str, Any]]:
    """What an experiment expects, judged by its tables; of an older version's, what was judged then."""
    expected = results.manifest.get("expect")
    if expected is None:
        return results.judged
    return evaluate(expected, results) if expected else []


def evaluate(expect: list[Expectation], results: Results) -> list[dict[str, Any]]:
    """A row for each claim.

    The reader of scenarios has checked what is asked; what a run cannot answer is `not-run`, with the reason.
    """
    judge = Judge(results)
    # Once to hear which measurements are wanted, so that each run's tables are read once; then for good.
    with judge.measured.listening():
        for expectation in expect:
            judge.row(expectation)
    return [judge.row(expectation) for expectation in expect]


# Kinds of expectation: what is compared, and what that makes of the claim.


def ratio(judge: Judge, e: Expectation) -> Iterator[Check]:
    """low <= numerator / denominator <= high; on the right side of 1 but outside, the direction holds."""
    for at, context in judge.contexts(e):
        yield guarded(at, context, partial(quotient_of, e), lambda x: ratio_verdict(x, e.get("low"), e.get("high")))


def ratio_verdict(measured: float, low: float | None, high: float | None) -> str:
    if (low is None or measured >= low) and (high is None or measured <= high):
        return "pass"
    larger = low is not None and low >= 1 and measured > 1
    smaller = high is not None and high <= 1 and measured < 1
    return "direction" if larger or smaller else "fail"


def up_to(judge: Judge, e: Expectation) -> Iterator[Check]:
    """The largest numerator / denominator anywhere is `times`, within a factor of 1.5."""
    judged = [
        (at, guarded(at, context, partial(quotient_of, e), lambda _: "pass")) for at, context in judge.contexts(e)
    ]
    known = [(at, check) for at, check in judged if check.measured is not None]
    if not known:
        yield from (check for _, check in judged)
        return
    at, most = max(known, key=lambda pair: pair[1].measured or 0.0)
    yield Check(at, most.measured, f"at most {most.text}", up_to_verdict(most.measured or 0.0, e["times"]))


def up_to_verdict(measured: float, times: float) -> str:
    if times / UP_TO <= measured <= times * UP_TO:
        return "pass"
    return "direction" if measured > 1 else "fail"


def quotient_of(e: Expectation, context: Context) -> float:
    return arithmetic("quotient", [context.value(e["numerator"]), context.value(e["denominator"])])


def between(judge: Judge, e: Expectation) -> Iterator[Check]:
    """low <= value <= high."""
    low, high = e.get("low", float("-inf")), e.get("high", float("inf"))
    for at, context in judge.contexts(e):
        yield guarded(at, context, partial(value_of, e), lambda x: "pass" if low <= x <= high else "fail")


def approx(judge: Judge, e: Expectation) -> Iterator[Check]:
    """Within a relative tolerance."""
    room = e.get("tolerance", EQUAL) * abs(e["expected"])
    for at, context in judge.contexts(e):
        yield guarded(at, context, partial(value_of, e), lambda x: "pass" if abs(x - e["expected"]) <= room else "fail")


def value_of(e: Expectation, context: Context, **selectors: Any) -> float:
    return context.value(e["value"], **selectors)


def ordering(judge: Judge, e: Expectation) -> Iterator[Check]:
    """Along each chain of variants values rise; what was not run is left out of its chain."""
    slack, high = 1 + e.get("slack", 0.0), e.get("high")
    for at, context in judge.contexts(e):
        for chain in e["chains"]:
            values: list[tuple[str, float]] = []
            told: list[str] = []
            without: list[Check] = []
            for variant in chain:
                try:
                    values.append((variant, context.value(e["value"], variant=variant)))
                    between = context.between(partial(value_of, e, variant=variant))
                    told.append(f"{variant} {number(values[-1][1])}" + (f" ({between})" if between else ""))
                except UNJUDGED as reason:
                    without.append(nothing(at, reason))
            if len(values) < 2:
                yield from without
                continue
            rising = all(a < b * slack for (_, a), (_, b) in itertools.pairwise(values))
            below = high is None or values[-1][1] <= high
            text = ", ".join([*told, *([context.over()] if context.over() else [])])
            yield Check(at, None, text, "fail" if not rising else "pass" if below else "direction")
            yield from without


def knee(judge: Judge, e: Expectation) -> Iterator[Check]:
    """Where along a swept key the value first reaches a number, or `factor` times what it is at `relative_to`.

    Either at `expected`, within a factor of 1.5; or after `low` and by `high`, to stay.
    """
    for at, context in judge.contexts(e, along=e["along"]):
        curve, without = values_along(context, e)
        rises = knees_rise(context, e)
        threshold = threshold_of(e, curve)
        if threshold is None:
            yield from without or [Check(at, None, f"no run at {e.get('relative_to')}", "not-run")]
            continue
        if "expected" in e:
            yield knee_at(at, curve, threshold, position(e["expected"]), rises)
        else:
            yield knee_between(at, curve, threshold, position(e["low"]), position(e["high"]))
        yield from without


def values_along(context: Context, e: Expectation, **selectors: Any) -> tuple[dict[Any, float], list[Check]]:
    """The value at each step of the swept key, rising, and what could not be had."""
    steps: dict[Any, tuple[Point, ...]] = {}
    for point in context.points:
        if e["along"] in dict(point):
            step = position(dict(point)[e["along"]])
            steps[step] = (*steps.get(step, ()), point)
    curve: dict[Any, float] = {}
    without: list[Check] = []
    for step, points in sorted(steps.items()):
        try:
            curve[step] = Context(context.judge, points, context.selectors).value(e["value"], **selectors)
        except UNJUDGED as reason:
            without.append(nothing(f"{e['along'].split('.')[-1]} {step}", reason))
    return curve, without


def threshold_of(e: Expectation, curve: dict[Any, float]) -> float | None:
    """None where there is nothing to compare."""
    if "relative_to" not in e:
        return float(e["threshold"]) if curve else None
    start = position(e["relative_to"])
    return e["factor"] * curve[start] if start in curve else None


def first_reached(curve: dict[Any, float], threshold: float) -> float:
    """The smallest step at which the value reaches the threshold, infinity if none does."""
    return min((float(step) for step, value in curve.items() if value >= threshold), default=float("inf"))


def knees_rise(context: Context, e: Expectation) -> bool:
    """Whether the knees of the variants of `order` come one after the other."""
    knees = []
    for variant in e.get("order", []):
        curve, _ = values_along(context, e, variant=variant)
        threshold = threshold_of(e, curve)
        if threshold is None:
            return False
        knees.append(first_reached(curve, threshold))
    return len(knees) > 1 and all(a < b for a, b in itertools.pairwise(knees))


def knee_at(at: str, curve: dict[Any, float], threshold: float, wanted: float, rises: bool) -> Check:
    """At `wanted` within a factor of 1.5; elsewhere the direction holds if the knees of the variants are in order."""
    first = first_reached(curve, threshold)
    if first == float("inf"):
        text = f"below {number(threshold)} up to {number(max(curve))}"
        if max(curve) < wanted * UP_TO:
            return Check(at, None, f"{text}, where the sweep ends", "not-run")
        return Check(at, None, text, "direction" if rises else "fail")
    before = max((float(step) for step in curve if step < first), default=None)
    text = f"reaches {number(threshold)} at {number(first)}, {number(before)} is still below"
    if before is None:
        return Check(at, first, f"reaches {number(threshold)} at {number(first)}, where the sweep begins", "fail")
    if wanted / UP_TO <= first <= wanted * UP_TO:
        return Check(at, first, text, "pass")
    return Check(at, first, text, "direction" if rises else "fail")


def knee_between(at: str, curve: dict[Any, float], threshold: float, low: float, high: float) -> Check:
    """After `low`, and by `high` for good."""
    reached = [step for step, value in curve.items() if value >= threshold]
    if not reached:
        return Check(at, None, f"below {number(threshold)} up to {number(max(curve))}", "fail")
    holds = all(step > low for step in reached) and all(value >= threshold for s, value in curve.items() if s >= high)
    covered = min(curve) <= low and max(curve) >= high
    first = min(reached)
    verdict = "pass" if holds and covered else "direction" if curve[max(curve)] >= threshold else "fail"
    return Check(at, float(first), f"reaches {number(threshold)} at {number(first)}", verdict)


KINDS: dict[str, Callable[[Judge, Expectation], Iterator[Check]]] = {
    "ratio": ratio,
    "up-to": up_to,
    "between": between,
    "approx": approx,
    "equals": approx,
    "ordering": ordering,
    "knee": knee,
}


def guarded(at: str, context: Context, measure: Callable[[Context], float], verdict: Callable[[float], str]) -> Check:
    """A check of one number."""
    try:
        measured = measure(context)
        between = context.between(measure)
    except UNJUDGED as reason:
        return nothing(at, reason)
    together = " ".join(part for part in (between, context.over()) if part)
    return Check(at, measured, number(measured) + (f" ({together})" if together else ""), verdict(measured))


def nothing(at: str, reason: Exception) -> Check:
    if isinstance(reason, NotAsAsked):
        return Check(at, None, str(reason), "fail")
    what = (
        "not run"
        if isinstance(reason, NotRun)
        else "nothing such"
        if isinstance(reason, InputError)
        else "too little data"
    )
    return Check(at, None, f"{what}: {reason}", "not-run")


def check_load(run: Run) -> None:
    """The simulator says of each class whether chance explains the difference (`as_asked` in `summary.json`)."""
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


# From checks to a claim.


def add_up(checks: Iterable[Check], *, fact: bool) -> str:
    """The worst verdict that anything measured; `not-run` only if nothing was."""
    verdicts = {check.verdict for check in checks}
    for verdict in ("fail", "direction", "pass"):
        if verdict in verdicts:
            return "fact" if fact and verdict == "pass" else verdict
    return "not-run"


def asked_of(expectation: Expectation) -> dict[str, set[str]]:
    """The kinds of measurement that an expectation reads, and what of each."""
    roots = [expectation[key] for key in ("value", "numerator", "denominator") if key in expectation]
    each = expectation.get("each", {})
    asked: dict[str, set[str]] = {}
    for leaf in (leaf for root in roots for leaf in leaves_of(root)):
        for kind in LEAVES:
            if kind in leaf or kind in each:
                asked.setdefault(kind, set()).update([leaf[kind]] if kind in leaf else each[kind])
    return asked


def leaves_of(expression: Any) -> Iterator[dict[str, Any]]:
    if isinstance(expression, dict):
        inner = next((expression[name] for name in ARITHMETIC if name in expression), None)
        if inner is None:
            yield expression
        else:
            for part in inner:
                yield from leaves_of(part)


def expected(e: Expectation) -> str:
    """The condition in a few words."""
    kind, band = e["kind"], " (our reading)" if e.get("band") == "ours" else ""
    if kind in ("ratio", "between"):
        low, high = e.get("low"), e.get("high")
        if low is None or high is None:
            return (f"at least {number(low)}" if high is None else f"at most {number(high)}") + band
        return f"{number(low)} to {number(high)}{band}"
    if kind == "up-to":
        return f"up to {number(e['times'])} times{band}"
    if kind == "approx":
        return f"{number(e['expected'])} within {100 * e['tolerance']:g} %{band}"
    if kind == "equals":
        return f"{number(e['expected'])}{band}"
    if kind == "ordering":
        most = f", at most {number(e['high'])}" if "high" in e else ""
        return "; ".join(" < ".join(chain) for chain in e["chains"]) + most + band
    if kind == "knee":
        rise = f"{number(e['factor'])} x that at {e['relative_to']}" if "relative_to" in e else number(e["threshold"])
        if "expected" in e:
            return f"reaches {rise} at {number(position(e['expected']))}, within a factor of {UP_TO}{band}"
        return f"reaches {rise} after {number(position(e['low']))} and by {number(position(e['high']))}{band}"
    return e.get("says", "")


def tell(checks: list[Check]) -> list[str]:
    """What was measured, and what was not, without saying anything twice."""
    judged = [check for check in checks if check.verdict != "not-run"]
    told = [f"{check.at}: {check.text}" if check.at else check.text for check in judged]
    if len(judged) > LISTED and all(check.measured is not None for check in judged):
        least, most = (pick(judged, key=lambda check: check.measured or 0.0) for pick in (min, max))
        same = least.text == most.text
        told = [f"{least.text} throughout" if same else f"from {least.text} ({least.at}) to {most.text} ({most.at})"]
        held = sum(check.verdict == "pass" for check in judged)
        told += [f"{held} of {len(judged)} hold"] if held < len(judged) else []
    elif len(judged) > LISTED and all(check.measured is None and check.verdict == "pass" for check in judged):
        told = [told[0], "...", told[-1], f"all {len(judged)} hold"]
    reasons: dict[str, list[str]] = {}
    for check in checks:
        if check.verdict == "not-run":
            what, colon, of = check.text.partition(": ")
            reasons.setdefault(what + colon, []).append(of)
    return told + [what + ", ".join(dict.fromkeys(of)) for what, of in reasons.items()]


def number(x: float | None) -> str:
    """Thousands in full, millions to three digits: of that size are bytes, which nobody reads in powers of ten."""
    if x is None:
        return "-"
    if not 1000 <= abs(x) < 1e12:
        return f"{x:.3g}"
    return f"{x:,.0f}" if abs(x) < 1e6 else f"{float(f'{x:.3g}'):,.0f}"


# Points of the sweep and selectors.


def point_of(run: Run) -> Point:
    return tuple(sorted((key, value) for key, value in run.params.items() if key != "variant"))


def position(step: Any) -> Any:
    """Where a swept value stands among others: quantities by what they amount to."""
    return step if quantity(step) is None else as_number(step, "a swept value")


def lets_through(where: dict[str, Any], point: dict[str, Any]) -> bool:
    for key, wanted in where.items():
        if key not in point:
            continue
        value = point[key]
        if isinstance(wanted, dict):
            low, high = wanted.get("min", value), wanted.get("max", value)
            if not position(low) <= position(value) <= position(high):
                return False
        elif value != wanted:
            return False
    return True


def combinations(e: Expectation) -> list[dict[str, Any]]:
    """Every combination of the `each` lists, with the expectation's own variant."""
    each = e.get("each", {})
    own = {"variant": e["variant"]} if "variant" in e else {}
    return [own | dict(zip(each, values, strict=True)) for values in itertools.product(*each.values())]
