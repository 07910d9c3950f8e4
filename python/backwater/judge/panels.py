"""The panels of an experiment's `[figure]`: values of runs, selected as in expectations, and published values.

Runs that differ only in their seed are one, with the mean of each measurement and its interval. Ablations, which only
show a claim without the mechanism that it credits, are left out, because they would determine the scale.
"""

from __future__ import annotations

from typing import Any

from backwater._core import InputError
from backwater.common.quantities import quantity
from backwater.judge import claims
from backwater.judge.context import SEED, Context, NotRun, Point, Runs, is_signed, point_of
from backwater.judge.kinds import bounds
from backwater.judge.measured import NoData
from backwater.runs.results import Results


def read(results: Results) -> list[dict[str, Any]]:
    """Reads the panels: for each its label, the value of each run with its bounds, and the published values."""
    figure = results.manifest.get("figure") or {}
    published = figure.get("published", [])
    wanted = figure.get("panels") or usual(results)
    if not wanted:
        return []
    judged = Runs(results, any_load=True)
    points = judged.together([], lambda _: True)
    shared_by = {point: shared for shared, members in points.items() for point in members}
    undrawn = claims.only_lacking(results)
    known = dict.fromkeys((variant, shared_by[point]) for variant, point in judged.runs)
    places = [place for place in known if place[0] not in undrawn]

    def values(expression: Any) -> list[dict[str, float | None]]:
        return [value(judged, expression, variant, points[shared]) for variant, shared in places]

    with judged.measured.listening():
        for panel in wanted:
            values(panel["value"])
    runs = [{"variant": variant, "point": aside(variant, dict(shared))} for variant, shared in places]
    drawn = [
        {
            "label": panel["label"],
            "better": better(panel["value"]),
            "marks": panel.get("marks", {}),
            "runs": [{**run, **y} for run, y in zip(runs, values(panel["value"]), strict=True)],
            "published": [one for point in published if point["panel"] == panel["label"] for one in spread(point)],
        }
        for panel in wanted
    ]
    subject = next((one for panel in wanted if (one := relative_to(panel["value"]))), None)
    for panel, told in zip(wanted, drawn, strict=True):
        told["reference"] = reference(told["runs"], relative_to(panel["value"]) or subject)
    return drawn if figure.get("panels") else [part for panel in drawn for part in multiples(panel)]


LOWER = {"slowdown", "wait", "fct", "fct_ack", "with_timeout", "queue", "data_queue", "pauses"}
"""Measurements of which less is better."""
SUMMARY_LOWER = (
    *(
        "buffer",
        "drops",
        "loss",
        "pfc_paused",
        "pfc_pauses",
        "timeouts",
        "queueing_delay",
        "completion",
        "retransmitted",
        "unfinished",
    ),
)
SUMMARY_HIGHER = ("goodput", "utilisation")
"""Parts of paths into summaries, of numbers of which less or more is better."""


def better(expression: Any) -> str | None:
    """`lower` or `higher`; None where neither is better, or nobody says which.

    >>> better({"slowdown": "p99"}), better({"product": [1e-9, {"summary": "throughput[class=a].goodput_bps"}]})
    ('lower', 'higher')
    """
    if not isinstance(expression, dict):
        return None
    if expression.get("spread"):
        return None
    match expression:
        case {"quotient": [first, *_]} | {"difference": [first, *_]}:
            return better(first)
        case {"product": [*parts]} | {"sum": [*parts]}:
            told = {one for part in parts if (one := better(part))}
            return told.pop() if len(told) == 1 else None
        case {"summary": "drops.credit"}:
            return None  # Dropped by design.
        case {"summary": str(path)}:
            lower, higher = (any(word in path for word in words) for words in (SUMMARY_LOWER, SUMMARY_HIGHER))
            return "lower" if lower and not higher else "higher" if higher and not lower else None
        case {"ports": str(column)} | {"mmus": str(column)}:
            return "lower" if column.startswith("dropped") or "paused" in column else None
    return "lower" if LOWER & expression.keys() else None


def relative_to(expression: Any) -> str | None:
    """Returns the variant that a quotient divides by."""
    match expression:
        case {"quotient": [_, {"variant": str(variant)}]}:
            return variant
    return None


def reference(runs: list[dict[str, Any]], variant: str | None) -> dict[str, Any] | None:
    """Returns the value of this variant, if it has one value on the panel."""
    values = [run["value"] for run in runs if run["variant"] == variant]
    return {"name": variant, "value": values[0]} if len(values) == 1 and values[0] is not None else None


def aside(variant: str, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the point of a run in the sweep without its variant. A swept scheme is a variant."""
    return {key: value for key, value in params.items() if key != "variant" and (key, value) != ("scheme", variant)}


def usual(results: Results) -> list[dict[str, Any]]:
    """Returns the panels of a sweep without `[figure]`: slowdowns, goodput, buffers and losses of its first class."""
    swept = {key for run in results.runs for key in run.params} - {"variant", SEED}
    networks = [run for run in results.runs if "results" not in run.summary]
    if not swept or not networks or len({point_of(run) for run in results.runs}) == 1:
        return []
    first = networks[0].summary["throughput"][0]["class"]
    goodput = f"throughput[class={first}].goodput_bps"
    lost = any(run.summary["loss"]["dropped"] for run in networks)
    return [
        {"label": "average slowdown", "value": {"slowdown": "mean", "class": first}},
        {"label": "p99 slowdown", "value": {"slowdown": "p99", "class": first}},
        {
            "label": "goodput (Gbps)",
            "value": {"product": [1e-9, {"summary": goodput}]},
        },
        {"label": "p99 of a switch's buffer (MB)", "value": {"product": [1e-6, {"summary": "buffer.p99_bytes"}]}},
        *([{"label": "share of data packets lost (%)", "value": {"product": [100, {"summary": "loss.share"}]}}] * lost),
    ]


def multiples(panel: dict[str, Any]) -> list[dict[str, Any]]:
    """Splits a panel with too many lines: one panel for each value of the swept keys that are not on the axis."""
    runs = panel["runs"]
    varied = [key for key in runs[0]["point"] if len({str(run["point"].get(key)) for run in runs}) > 1]
    axis = next((key for key in varied if all(is_place(run["point"].get(key)) for run in runs)), None)
    rest = [key for key in varied if key != axis]
    if axis is None or not rest:
        return [panel]
    parts: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        name = ", ".join(f"{key.rpartition('.')[2]} {run['point'].get(key)}" for key in rest)
        point = {key: value for key, value in run["point"].items() if key not in rest}
        parts.setdefault(name, []).append({**run, "point": point})
    return [{**panel, "label": f"{panel['label']}, {name}", "runs": some} for name, some in parts.items()]


def is_place(value: Any) -> bool:
    """Returns whether a swept value is a number or a quantity, so that it has a place on an axis."""
    return isinstance(value, int | float) or quantity(value) is not None


def spread(point: dict[str, Any]) -> list[dict[str, Any]]:
    """Yields published points one by one. Several may be written as lists."""
    y, at = point["value"], point.get("at")
    pairs = zip(at or [], y, strict=True) if isinstance(y, list) else [(at, y)]
    return [
        {"variant": point["variant"], "at": one, "value": value, "where": point.get("where", {})}
        for one, value in pairs
    ]


def value(judged: Runs, expression: Any, variant: str, points: tuple[Point, ...]) -> dict[str, float | None]:
    try:
        context = Context(judged, points, {}, {})
        measured = context.estimate(lambda at: at.value(expression, variant=variant), signed=is_signed(expression))
    except (NotRun, NoData, InputError):
        return {"value": None, "low": None, "high": None}
    low, high = bounds(measured)
    return {"value": measured.value, "low": low, "high": high}
