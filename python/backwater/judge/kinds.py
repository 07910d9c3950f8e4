"""Kinds of expectation: the values that are compared, and the verdict on the claim.

Each check has a verdict. `pass` and `fail` need the whole interval to agree. `undecided` means that it does not.
`direction` means that the size is not as claimed, but at least half of the effect is present on a logarithmic scale,
and the interval excludes no effect.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from backwater._core import InputError
from backwater.common.quantities import as_number, quantity
from backwater.judge.context import SEED, UNJUDGED, Context, NotAsAsked, NotRun, Point, Read, arithmetic, is_signed
from backwater.judge.estimate import Estimate, exact, first_decided, of_share, seeds_to_decide
from backwater.judge.numbers import between_words, number, told_estimate
from backwater.scenario.claims import Expectation

UP_TO = 1.5
"""An "up to X times" claim holds from X / 1.5 to 1.5 X."""
EQUAL = 0.001
"""Relative tolerance of `equals`: the statistics are rounded, the arithmetic is not."""


@dataclass(frozen=True)
class Check:
    """One comparison: its point, the measured value with its interval, the same in words, and the verdict."""

    at: str
    measured: float | None
    text: str
    verdict: str
    low: float | None = None
    high: float | None = None
    reads: tuple[Read, ...] = ()
    """The measurements that it compares."""
    seeds: int | None = None
    """With about how many seeds it would be decided, if its value stayed. None if it is decided, or nobody knows."""


class Places(Protocol):
    """The points of the sweep at which an expectation is checked."""

    def contexts(self, expectation: Expectation, *, along: str | None = None) -> Iterator[tuple[str, Context]]:
        """Yields each point with its name. Points that differ only in the key `along` are one."""


def ratio(places: Places, e: Expectation) -> Iterator[Check]:
    """Checks low <= numerator / denominator <= high."""
    for at, context in places.contexts(e):
        yield guarded(at, context, partial(quotient_of, e), partial(ratio_verdict, e), signed=is_signed(*parts_of(e)))


def ratio_verdict(e: Expectation, measured: Estimate) -> str:
    low, high = e.get("low"), e.get("high")
    larger, smaller = low if low is not None and low >= 1 else None, high if high is not None and high <= 1 else None
    return or_half(measured.within(low, high), measured, larger, smaller)


def or_half(verdict: str, measured: Estimate, *claimed: float | None) -> str:
    """Returns `direction` instead of `fail` if at least half of an expected effect was measured."""
    half = any(effect is not None and has_half(measured, effect) for effect in claimed)
    return "direction" if verdict == "fail" and half else verdict


def has_half(measured: Estimate, claimed: float) -> bool:
    """Returns whether at least half of an effect was measured on a logarithmic scale, and the interval excludes 1."""
    if not measured.excludes(1) or measured.value <= 0 or claimed <= 0:
        return False
    effect, wanted = math.log(measured.value), math.log(claimed)
    return effect >= wanted / 2 > 0 or effect <= wanted / 2 < 0


def up_to(places: Places, e: Expectation) -> Iterator[Check]:
    """Checks that the largest numerator / denominator of all points is `times`, within a factor of 1.5."""
    times = e["times"]

    def verdict(x: Estimate) -> str:
        return or_half(x.within(times / UP_TO, times * UP_TO), x, times)

    judged = [guarded(at, context, partial(quotient_of, e), verdict) for at, context in places.contexts(e)]
    known = [check for check in judged if check.measured is not None]
    if not known:
        yield from judged
        return
    most = max(known, key=lambda check: check.measured or 0.0)
    reads = tuple(read for check in known for read in check.reads)
    yield replace(most, text=f"at most {most.text}", reads=reads)
    yield from (check for check in judged if check.measured is None)


def parts_of(e: Expectation) -> tuple[Any, ...]:
    """Returns the expressions of an expectation."""
    return tuple(e[key] for key in ("value", "numerator", "denominator") if key in e)


def quotient_of(e: Expectation, context: Context) -> float:
    return arithmetic("quotient", [context.value(e["numerator"]), context.value(e["denominator"])])


def between(places: Places, e: Expectation) -> Iterator[Check]:
    """Checks low <= value <= high."""
    for at, context in places.contexts(e):
        yield within(at, context, e, e.get("low"), e.get("high"))


def runs(places: Places, e: Expectation) -> Iterator[Check]:
    """Checks the share of runs, over seeds and points, with low <= value <= high: `at_least` or `at_most` so many."""
    for at, context in places.contexts(e):
        try:
            yield share_of_runs(at, context, e)
        except UNJUDGED as reason:
            yield nothing(at, reason)


def share_of_runs(at: str, context: Context, e: Expectation) -> Check:
    low, high = e.get("low", -math.inf), e.get("high", math.inf)
    reads = context.estimate(partial(value_of, e)).reads
    each = [value_of(e, replace(context, points=(point,))) for point in context.points]
    held, of, seeds = sum(low <= value <= high for value in each), len(each), len(context.seeds())

    def verdict(share: Estimate) -> str:
        return share.within(e.get("at_least"), e.get("at_most"))

    def with_seeds(n: int) -> str:
        return verdict(of_share(round(held * n / seeds), round(of * n / seeds)))

    share = exact(held / of) if context.runs.exact else of_share(held, of)
    found, text = verdict(share), f"in {held} of {of} runs{between_words(share)}"
    more = first_decided(seeds, with_seeds) if found == "undecided" else None
    return Check(at, share.value, text, found, *bounds(share), reads, more)


def approx(places: Places, e: Expectation) -> Iterator[Check]:
    """Checks that a value is the expected one, within a relative tolerance."""
    room = e.get("tolerance", EQUAL) * abs(e["expected"])
    for at, context in places.contexts(e):
        yield within(at, context, e, e["expected"] - room, e["expected"] + room)


def within(at: str, context: Context, e: Expectation, low: float | None, high: float | None) -> Check:
    return guarded(at, context, partial(value_of, e), lambda x: x.within(low, high), signed=is_signed(e["value"]))


def has_happened(e: Expectation, checks: list[Check]) -> bool:
    """Returns whether what a claim counts has happened, so that a longer run gives the same verdict.

    A claim that it never happens then fails. A claim that so many packets are dropped then holds.
    """
    verdicts = {check.verdict for check in checks}
    return "fail" in verdicts if is_never(e) else is_many_drops(e) and verdicts == {"pass"}


def is_never(e: Expectation) -> bool:
    """Returns whether a claim says that something that is counted does not happen."""
    most = e.get("expected") if e["kind"] in ("approx", "equals") else e.get("high")
    return e["kind"] in ("approx", "equals", "between") and most == 0 and not is_signed(e["value"])


def is_many_drops(e: Expectation) -> bool:
    """Returns whether a claim says that at least so many packets are dropped."""
    value = e.get("value")
    parts = value.get("sum", [value]) if isinstance(value, dict) else [value]
    counts = all(isinstance(part, dict) and str(part.get("summary")).startswith("drops.") for part in parts)
    return counts and e["kind"] == "between" and "low" in e and "high" not in e


def value_of(e: Expectation, context: Context, **selectors: Any) -> float:
    return context.value(e["value"], **selectors)


def ordering(places: Places, e: Expectation) -> Iterator[Check]:
    """Checks that values rise along each chain of variants. Variants that were not run are left out."""
    slack, high = 1 + e.get("slack", 0.0), e.get("high")
    for at, context in places.contexts(e):
        for chain in e["chains"]:
            known: list[tuple[str, Estimate]] = []
            without: list[Check] = []
            for variant in chain:
                try:
                    known.append((variant, context.estimate(partial(value_of, e, variant=variant))))
                except UNJUDGED as reason:
                    without.append(nothing(at, reason))
            if len(known) > 1:
                steps = [rises(context, e, a, b, slack) for (a, _), (b, _) in itertools.pairwise(known)]
                verdict = worst([verdict for verdict, _ in steps])
                if verdict == "pass" and high is not None:
                    steps = [decided(context, known[-1][1], lambda last: last.within(None, high))]
                    verdict = "direction" if steps[0][0] == "fail" else steps[0][0]
                text = ", ".join(f"{variant} {told_estimate(value)}" for variant, value in known)
                reads = tuple(read for _, value in known for read in value.reads)
                yield Check(at, None, text, verdict, reads=reads, seeds=all_decided(steps))
            yield from without


def all_decided(steps: list[tuple[str, int | None]]) -> int | None:
    """Returns with how many seeds all undecided steps would be decided; None if there is none, or one is not known."""
    return most_of([seeds for verdict, seeds in steps if verdict == "undecided"])


def most_of(numbers: list[int | None]) -> int | None:
    """Returns the largest number; None if there is none, or one is not known."""
    known = [one for one in numbers if one is not None]
    return max(known, default=None) if len(known) == len(numbers) else None


def rises(context: Context, e: Expectation, lower: str, upper: str, slack: float) -> tuple[str, int | None]:
    """Checks that one variant's value is below another's: by their ratio, or by their difference if one is 0.

    Returns the verdict, and for an undecided one the number of seeds that would decide it.
    """

    def pair(context: Context) -> tuple[float, float]:
        return value_of(e, context, variant=lower), value_of(e, context, variant=upper) * slack

    def quotient(context: Context) -> float:
        below, above = pair(context)
        return below / above if below > 0 and above > 0 else math.nan

    def difference(context: Context) -> float:
        below, above = pair(context)
        return below - above

    step, none = context.estimate(quotient), 1.0
    if math.isnan(step.value) or math.isnan(step.low):
        step, none = context.estimate(difference, signed=True), 0.0

    def verdict(step: Estimate) -> str:
        if not step.is_bounded:
            return "undecided"
        return "pass" if step.high < none else "fail" if step.low >= none else "undecided"

    return decided(context, step, verdict)


def worst(verdicts: list[str]) -> str:
    return next((verdict for verdict in ("fail", "undecided") if verdict in verdicts), "pass")


# Where a curve reaches a number.


@dataclass(frozen=True)
class Knee:
    """The first step of a swept key at which a value reaches a threshold, by its estimate and by its interval."""

    threshold: float
    curve: dict[float, Estimate]
    height: str
    """What the threshold is called."""

    def first(self, reaches: Callable[[Estimate], bool]) -> float:
        return min((step for step, value in self.curve.items() if reaches(value)), default=math.inf)

    @property
    def at(self) -> float:
        return self.first(lambda value: value.value >= self.threshold)

    @property
    def earliest(self) -> float:
        return self.first(lambda value: value.high >= self.threshold)

    @property
    def latest(self) -> float:
        return self.first(lambda value: value.low >= self.threshold)

    @property
    def begins(self) -> float:
        return min(self.curve)

    @property
    def ends(self) -> float:
        return max(self.curve)

    @property
    def estimate(self) -> Estimate:
        unknown = not all(value.is_bounded for value in self.curve.values())
        return Estimate(self.at) if unknown else Estimate(self.at, self.earliest, self.latest)

    def told(self) -> str:
        if self.at == math.inf:
            return f"below {self.height} up to {number(self.ends)}"
        before = max((step for step in self.curve if step < self.at), default=None)
        where = f"reaches {self.height} at {number(self.at)}{between_words(self.estimate)}"
        if before is None:
            return f"{where}, where the sweep begins"
        return f"{where}, {number(before)} is still below"


def knee(places: Places, e: Expectation) -> Iterator[Check]:
    """Checks where along a swept key a value first reaches a number, or `factor` times its value at `relative_to`.

    Either at `expected`, within a factor of 1.5; or after `low` and by `high`, to stay.
    """
    for at, context in places.contexts(e, along=e["along"]):
        found, without = knee_along(context, e)
        if found is None:
            yield from without or [Check(at, None, f"no run at {e.get('relative_to')}", "not-run")]
            continue
        if "expected" in e:
            verdict = knee_at(found, position(e["expected"]), knees_rise(context, e))
        else:
            verdict = knee_between(found, position(e["low"]), position(e["high"]))
        known = math.isfinite(found.at)
        text = found.told()
        if verdict == "not-run":
            text += ", where the sweep ends"
        measured = (found.at, *bounds(found.estimate)) if known else (None, None, None)
        # What comes after the first step that is surely there changes nothing about which is the first.
        decides = found.latest if "expected" in e and not context.runs.measured.hears else math.inf
        reads = tuple(read for step, value in found.curve.items() if step <= decides for read in value.reads)
        yield Check(at, measured[0], text, verdict, measured[1], measured[2], reads)
        yield from without


def knee_along(context: Context, e: Expectation, **selectors: Any) -> tuple[Knee | None, list[Check]]:
    """Finds the knee from the value at each step of the swept key. Steps without a run are named.

    A threshold that is relative is of the same seeds, so values are taken relative to it.
    """
    steps: dict[float, tuple[Point, ...]] = {}
    for point in context.points:
        if e["along"] in dict(point):
            step = position(dict(point)[e["along"]])
            steps[step] = (*steps.get(step, ()), point)
    start = steps.get(position(e["relative_to"])) if "relative_to" in e else None
    curve: dict[float, Estimate] = {}
    without: list[Check] = []

    def measured(here: Context) -> float:
        value = value_of(e, here, **selectors)
        if start is None:
            return value
        seeds = set(here.seeds())
        same = tuple(point for point in start if dict(point).get(SEED) in seeds or not seeds)
        return arithmetic("quotient", [value, value_of(e, replace(here, points=same), **selectors)])

    if "relative_to" in e and start is None:
        return None, []
    for step, points in sorted(steps.items()):
        try:
            curve[step] = replace(context, points=points).estimate(measured)
        except UNJUDGED as reason:
            without.append(nothing(f"{e['along'].split('.')[-1]} {number(step)}", reason))
    if not curve:
        return None, without
    if start is None:
        return Knee(float(e["threshold"]), curve, number(float(e["threshold"]))), without
    return Knee(float(e["factor"]), curve, f"{number(e['factor'])} x that at {e['relative_to']}"), without


def knees_rise(context: Context, e: Expectation) -> bool:
    """Returns whether the knees of the variants in `order` come one after the other."""
    knees = []
    for variant in e.get("order", []):
        found, _ = knee_along(context, e, variant=variant)
        if found is None:
            return False
        knees.append(found.estimate)
    return len(knees) > 1 and all(a.high < b.low for a, b in itertools.pairwise(knees))


def knee_at(found: Knee, wanted: float, rise: bool) -> str:
    """Checks that the knee is at `wanted`, within a factor of 1.5.

    If not, `direction` holds if the knees are in order.
    """
    if found.earliest == math.inf and found.ends < wanted * UP_TO:
        return "not-run"
    if found.at == found.begins and found.latest == found.begins:
        return "fail"
    verdict = found.estimate.within(wanted / UP_TO, wanted * UP_TO)
    return "direction" if verdict == "fail" and rise else verdict


def knee_between(found: Knee, low: float, high: float) -> str:
    """Checks that the knee comes after `low`, and that the value stays above the threshold from `high` on."""

    def verdict(reaches: Callable[[Estimate], bool]) -> str:
        reached = [step for step, value in found.curve.items() if reaches(value)]
        if not reached:
            return "fail"
        stays = all(reaches(value) for step, value in found.curve.items() if step >= high)
        covered = found.begins <= low and found.ends >= high
        if stays and covered and all(step > low for step in reached):
            return "pass"
        return "direction" if reaches(found.curve[found.ends]) else "fail"

    if not found.estimate.is_bounded:
        return "undecided"
    said = {verdict(lambda value: value.low >= found.threshold), verdict(lambda value: value.high >= found.threshold)}
    return said.pop() if len(said) == 1 else "undecided"


KINDS: dict[str, Callable[[Places, Expectation], Iterator[Check]]] = {
    "ratio": ratio,
    "up-to": up_to,
    "between": between,
    "runs": runs,
    "approx": approx,
    "equals": approx,
    "ordering": ordering,
    "knee": knee,
}


Verdict = Callable[[Estimate], str]


def guarded(
    at: str, context: Context, measure: Callable[[Context], float], verdict: Verdict, *, signed: bool = False
) -> Check:
    """Makes the check of one number. A missing run becomes `not-run`, with its reason."""
    try:
        measured = context.estimate(measure, signed=signed)
    except UNJUDGED as reason:
        return nothing(at, reason)
    found, seeds = decided(context, measured, verdict)
    return Check(at, measured.value, told_estimate(measured), found, *bounds(measured), measured.reads, seeds)


def decided(context: Context, measured: Estimate, verdict: Verdict) -> tuple[str, int | None]:
    """Returns the verdict on a number, and for an undecided one the number of seeds that would decide it."""
    found = verdict(measured)
    return found, seeds_to_decide(measured, len(context.seeds()), verdict) if found == "undecided" else None


def bounds(measured: Estimate) -> tuple[float | None, float | None]:
    """Returns the bounds for JSON, which has no infinity: None if there is no bound."""
    low, high = ((end if math.isfinite(end) else None) for end in (measured.low, measured.high))
    return low, high


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


def position(step: Any) -> Any:
    """Returns a swept value as a number for sorting: a quantity in its base unit."""
    return step if quantity(step) is None else as_number(step, "a swept value")
