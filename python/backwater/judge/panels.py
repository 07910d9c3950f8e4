"""The panels of an experiment's `[figure]`: values of runs, selected as in expectations, and published values.

Runs that differ only in their seed are one, with the mean of each measurement and its interval. Ablations, which only
show a claim without the mechanism that it credits, are left out, because they would determine the scale.
"""

from __future__ import annotations

from typing import TypedDict, cast

from backwater._core import InputError
from backwater.common.quantities import quantity
from backwater.common.values import Table, Value
from backwater.judge import claims
from backwater.judge.context import SEED, Context, MeasuredRuns, NotRun, Point, is_signed, point_of
from backwater.judge.kinds import bounds
from backwater.judge.statistics import NoData
from backwater.runs.directory import RunDirectory
from backwater.runs.manifest import Params
from backwater.scenario.claims import Expression, Figure, Published, Wanted


class PanelRun(TypedDict, total=False):
    """A run on a panel: its value with an interval."""

    variant: str
    point: Params
    slot: int
    ideal: bool
    value: float | None
    low: float | None
    high: float | None


class Shown(TypedDict):
    """A published value on a panel."""

    variant: str
    at: Value
    value: float
    where: Table


class Reference(TypedDict):
    """A run that the others of a panel are compared with."""

    name: str
    value: float


class Panel(TypedDict, total=False):
    """A panel: a value of each run, and what was published."""

    label: str
    better: str | None
    marks: dict[str, Value]
    runs: list[PanelRun]
    published: list[Shown]
    reference: Reference | None


def read(results: RunDirectory) -> list[Panel]:
    """Reads the panels: for each its label, the value of each run with its bounds, and the published values."""
    figure: Figure = results.manifest.figure or {}
    published = figure.get("published", [])
    wanted = figure.get("panels") or usual(results)
    if not wanted:
        return []
    judged = MeasuredRuns(results, any_load=True)
    points = judged.together([], lambda _: True)
    shared_by = {point: shared for shared, members in points.items() for point in members}
    undrawn = claims.only_lacking(results)
    known = dict.fromkeys((variant, shared_by[point]) for variant, point in judged.runs)
    places = [place for place in known if place[0] not in undrawn]

    def values(expression: Expression) -> list[PanelRun]:
        return [value(judged, expression, variant, points[shared]) for variant, shared in places]

    with judged.measured.listening():
        for panel in wanted:
            values(panel["value"])
    runs: list[PanelRun] = [{"variant": variant, "point": aside(variant, dict(shared))} for variant, shared in places]
    drawn: list[Panel] = [
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


def better(expression: Expression) -> str | None:
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


def relative_to(expression: Expression) -> str | None:
    """Returns the variant that a quotient divides by."""
    match expression:
        case {"quotient": [_, {"variant": str(variant)}]}:
            return variant
    return None


def reference(runs: list[PanelRun], variant: str | None) -> Reference | None:
    """Returns the value of this variant, if it has one value on the panel."""
    values = [run["value"] for run in runs if run["variant"] == variant]
    if variant is None or len(values) != 1 or values[0] is None:
        return None
    return {"name": variant, "value": values[0]}


def aside(variant: str, params: Params) -> Params:
    """Returns the point of a run in the sweep without its variant. A swept scheme is a variant."""
    return {key: value for key, value in params.items() if key != "variant" and (key, value) != ("scheme", variant)}


def usual(results: RunDirectory) -> list[Wanted]:
    """Returns the panels of a sweep without `[figure]`: slowdowns, goodput, buffers and losses of its first class."""
    swept = {key for run in results.runs for key in run.params} - {"variant", SEED}
    networks = [run for run in results.runs if "results" not in run.summary]
    if not swept or not networks or len({point_of(run) for run in results.runs}) == 1:
        return []
    first = networks[0].summary["throughput"][0]["class"]
    goodput = f"throughput[class={first}].goodput_bps"
    lost = any(run.summary["loss"]["dropped"] for run in networks)
    loss: list[Wanted] = [
        {"label": "share of data packets lost (%)", "value": {"product": [100, {"summary": "loss.share"}]}}
    ]
    return [
        {"label": "average slowdown", "value": {"slowdown": "mean", "class": first}},
        {"label": "p99 slowdown", "value": {"slowdown": "p99", "class": first}},
        {
            "label": "goodput (Gbps)",
            "value": {"product": [1e-9, {"summary": goodput}]},
        },
        {"label": "p99 of a switch's buffer (MB)", "value": {"product": [1e-6, {"summary": "buffer.p99_bytes"}]}},
        *(loss if lost else []),
    ]


def multiples(panel: Panel) -> list[Panel]:
    """Splits a panel with too many lines: one panel for each value of the swept keys that are not on the axis."""
    runs = panel["runs"]
    varied = [key for key in runs[0]["point"] if len({str(run["point"].get(key)) for run in runs}) > 1]
    axis = next((key for key in varied if all(is_place(run["point"].get(key)) for run in runs)), None)
    rest = [key for key in varied if key != axis]
    if axis is None or not rest:
        return [panel]
    parts: dict[str, list[PanelRun]] = {}
    for run in runs:
        name = ", ".join(f"{key.rpartition('.')[2]} {run['point'].get(key)}" for key in rest)
        point = {key: value for key, value in run["point"].items() if key not in rest}
        parts.setdefault(name, []).append({**run, "point": point})
    return [{**panel, "label": f"{panel['label']}, {name}", "runs": some} for name, some in parts.items()]


def is_place(value: Value) -> bool:
    """Returns whether a swept value is a number or a quantity, so that it has a place on an axis."""
    return isinstance(value, int | float) or quantity(value) is not None


def spread(point: Published) -> list[Shown]:
    """Yields published points one by one. Several may be written as lists."""
    y, at = point["value"], point.get("at")
    pairs = zip(cast(list[Value], at or []), y, strict=True) if isinstance(y, list) else [(at, y)]
    return [
        {"variant": point["variant"], "at": one, "value": value, "where": point.get("where", {})}
        for one, value in pairs
    ]


def value(judged: MeasuredRuns, expression: Expression, variant: str, points: tuple[Point, ...]) -> PanelRun:
    try:
        context = Context(judged, points, {}, {})
        measured = context.estimate(lambda at: at.value(expression, variant=variant), signed=is_signed(expression))
    except (NotRun, NoData, InputError):
        return {"value": None, "low": None, "high": None}
    low, high = bounds(measured)
    return {"value": measured.value, "low": low, "high": high}
