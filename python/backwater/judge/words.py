"""Expectations and measured values as text."""

from __future__ import annotations

from collections.abc import Sequence

from backwater.judge.context import SEED, Point
from backwater.judge.kinds import UP_TO, Check, position
from backwater.judge.leaves import ANYWHERE, LEAVES
from backwater.judge.numbers import number
from backwater.judge.settled import Test, told
from backwater.scenario.claims import Expectation, Leaf

NAMED = 3
"""So many measurements that have not settled are named; the rest are counted."""
LISTED = 8
"""If there are more numbers than this, only the least and the most are shown; of orders that hold, first and last."""


def expected(e: Expectation) -> str:
    """Returns the condition of an expectation in a few words."""
    kind, band = e["kind"], " (our reading)" if e.get("band") == "ours" else ""
    if kind in ("ratio", "between"):
        return bounds(e.get("low"), e.get("high")) + band
    if kind == "runs":
        return f"{bounds(e.get('low'), e.get('high'))}, in {bounds(e.get('at_least'), e.get('at_most'))} of runs{band}"
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
    return str(e.get("says", ""))


def bounds(low: float | None, high: float | None) -> str:
    """Says from where to where a number has to be; one of them may be missing."""
    if low is None or high is None:
        return f"at least {number(low)}" if high is None else f"at most {number(high)}"
    return f"{number(low)} to {number(high)}"


def tell(checks: Sequence[Check]) -> list[str]:
    """Returns the measured values, and the reasons of checks without any, each only once."""
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


def instead(others: dict[str, str], verdict: str, measured: str) -> str:
    """Says what came of judging a claim with other variants instead of those that it names."""
    names = ", ".join(f"{other} for {variant}" for variant, other in others.items())
    return f"with {names}: {verdict}, {measured}"


def needs(parts: dict[str, str]) -> str:
    """Says which components a claim needs and which it does not, from its verdicts without each that was run."""
    needed = [part for part, verdict in parts.items() if verdict in ("fail", "direction")]
    holds = [part for part, verdict in parts.items() if verdict in ("pass", "part")]
    unknown = [part for part, verdict in parts.items() if verdict in ("undecided", "unsettled")]
    told = [("needs", needed), ("holds without", holds), ("may need", unknown)]
    return "; ".join(f"{words} {', '.join(names)}" for words, names in told if names)


def measurement(leaf: Leaf, points: Sequence[Point]) -> str:
    """Names a measurement: its variant, what it is, and where in the sweep."""
    kind = next(kind for kind in LEAVES if kind in leaf)
    shared = set(points[0]).intersection(*points[1:])
    swept = [f"{key.split('.')[-1]} {value}" for key, value in points[0] if (key, value) in shared and key != SEED]
    selectors = [f"{key} {value}" for key, value in leaf.items() if key not in (kind, *ANYWHERE)]
    return ", ".join([f"{leaf['variant']}'s {leaf[kind]} {kind}", *selectors, *swept])


def settling(tests: Sequence[tuple[str, Test]]) -> str:
    """Says which measurements have not settled and why, or which one drifts most.

    `tests` has the name of each measurement, and its test.
    """
    if moved := [f"{name}: {one.moved}" for name, one in tests if one.moved]:
        more = [f"and {len(moved) - NAMED} more"] if len(moved) > NAMED else []
        return "not settled: " + "; ".join([*moved[:NAMED], *more])
    steps = [(name, one.step) for name, one in tests if one.step is not None]
    if not steps:
        networks = [one.network for _, one in tests if one.network is not None]
        if not networks:
            return ""
        return f"settled; of the bytes in progress {told(max(networks, key=lambda step: abs(step.value - 1)))}"
    name, step = max(steps, key=lambda pair: abs(pair[1].value - 1))
    return f"settled; largest drift, {name}: {told(step)}"
