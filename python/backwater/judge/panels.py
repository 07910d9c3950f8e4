"""The panels that an experiment's `[figure]` asks for: values of runs, as in expectations, and published ones.

Runs that differ only in their seed are one, with the mean of each measurement and its interval.
"""

from __future__ import annotations

from typing import Any

from backwater._core import InputError
from backwater.judge.context import Context, NotRun, Point, Runs, is_signed
from backwater.judge.kinds import bounds
from backwater.judge.measured import NoData
from backwater.results import Results


def read(results: Results) -> list[dict[str, Any]]:
    """Each panel's label, each run's value there with its bounds, None where it has none, and what was published."""
    figure = results.manifest.get("figure") or {}
    wanted, published = figure.get("panels", []), figure.get("published", [])
    if not wanted:
        return []
    judged = Runs(results, any_load=True)
    points = judged.together([], lambda _: True)
    shared_by = {point: shared for shared, members in points.items() for point in members}
    places = list(dict.fromkeys((variant, shared_by[point]) for variant, point in judged.runs))

    def values(expression: Any) -> list[dict[str, float | None]]:
        return [value(judged, expression, variant, points[shared]) for variant, shared in places]

    with judged.measured.listening():
        for panel in wanted:
            values(panel["value"])
    runs = [{"variant": variant, "point": dict(shared)} for variant, shared in places]
    return [
        {
            "label": panel["label"],
            "marks": panel.get("marks", {}),
            "runs": [{**run, **y} for run, y in zip(runs, values(panel["value"]), strict=True)],
            "published": [one for point in published if point["panel"] == panel["label"] for one in spread(point)],
        }
        for panel in wanted
    ]


def spread(point: dict[str, Any]) -> list[dict[str, Any]]:
    """A published point, or several that are written as lists, one by one."""
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
