"""The panels that an experiment's `[figure]` asks for: values of runs, as in expectations, and published ones.

Runs that differ only in their seed are one, with the mean of each measurement.
"""

from __future__ import annotations

from typing import Any

from backwater._core import InputError
from backwater.judge.claims import Context, Judge, NotRun, Point
from backwater.judge.measured import NoData
from backwater.results import Results


def read(results: Results) -> list[dict[str, Any]]:
    """Each panel's label, for each run its value there, None where it has none, and the points that were published."""
    figure = results.manifest.get("figure") or {}
    wanted, published = figure.get("panels", []), figure.get("published", [])
    if not wanted:
        return []
    judge = Judge(results, any_load=True)
    points = judge.together(["seed"], {})
    shared_by = {point: shared for shared, members in points.items() for point in members}
    places = list(dict.fromkeys((variant, shared_by[point]) for variant, point in judge.runs))

    def values(expression: Any) -> list[float | None]:
        return [value(judge, expression, variant, points[shared]) for variant, shared in places]

    with judge.measured.listening():
        for panel in wanted:
            values(panel["value"])
    runs = [{"variant": variant, "point": dict(shared)} for variant, shared in places]
    return [
        {
            "label": panel["label"],
            "marks": panel.get("marks", {}),
            "runs": [{**run, "value": y} for run, y in zip(runs, values(panel["value"]), strict=True)],
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


def value(judge: Judge, expression: Any, variant: str, points: tuple[Point, ...]) -> float | None:
    try:
        return Context(judge, points, {}).value(expression, variant=variant)
    except (NotRun, NoData, InputError):
        return None
