"""Lines along a swept key, and published points beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from backwater.common.quantities import quantity
from backwater.common.values import Value
from backwater.judge.panels import Panel, PanelRun, Shown
from backwater.show.figures.sheets import intervals, line
from backwater.show.figures.style import colour
from backwater.show.page import RunData

Line = RunData | PanelRun
"""A run as a point of a line."""


def swept(runs: Sequence[Line]) -> str:
    """The first key of the sweep that takes several values, the seed only if no other does; nothing if none does."""
    keys = sorted(runs[0]["point"] if runs else {}, key=lambda key: key == "seed")
    return next((key for key in keys if len({str(run["point"].get(key)) for run in runs}) > 1), "")


def draw_along(axes: Axes, key: str, values: list[tuple[Line, float | None]]) -> int:
    """A line for each variant, and for each value of the other swept keys; returns how many."""
    steps = list(dict.fromkeys(run["point"][key] for run, _ in values))
    places = places_of(steps)
    at = dict(zip(steps, places or range(len(steps)), strict=True))
    lines: dict[str, list[tuple[Any, float]]] = {}
    for run, y in values:
        known = lines.setdefault(line_name(run, key), [])
        if y is not None:
            known.append((at[run["point"][key]], y))
    slots = line_slots([run for run, _ in values], key)
    for name, known in lines.items():
        line(axes, slots[name], [x for x, _ in sorted(known)], [y for _, y in sorted(known)], name, marker=True)
    if places is None:
        axes.set_xticks(range(len(steps)), [str(step) for step in steps])
    elif min(places) > 0 and max(places) / min(places) >= 16:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    return len(lines)


def on_line(run: RunData) -> PanelRun:
    """A run as a point of a line, yet without a value."""
    return {"variant": run["variant"], "point": run["point"], "slot": run["slot"]}


def draw_intervals(axes: Axes, key: str, runs: Sequence[PanelRun]) -> None:
    """The interval of each point of lines along a swept key."""
    steps = list(dict.fromkeys(run["point"][key] for run in runs))
    at = dict(zip(steps, places_of(steps) or range(len(steps)), strict=True))
    for name, slot in line_slots(runs, key).items():
        mine = [(at[run["point"][key]], run) for run in runs if line_name(run, key) == name]
        intervals(axes, mine, colour(slot))


def line_slots(runs: Sequence[Line], key: str) -> dict[str, int]:
    """The colour of each line along `key`: its variant's, if each variant has one line."""
    names = {line_name(run, key): run for run in runs}
    if len(names) == len({run["variant"] for run in runs}):
        return {name: run["slot"] for name, run in names.items()}
    return {name: i for i, name in enumerate(names)}


def line_name(run: Line, key: str) -> str:
    """A run's variant, and its place in the sweep aside from `key`."""
    rest = [f"{name.rpartition('.')[2]} {value}" for name, value in run["point"].items() if name != key]
    return ", ".join([run["variant"], *rest])


def draw_published(axes: Axes, key: str, panel: Panel) -> bool:
    """Hollow markers at published points, each like the line it belongs to; returns whether there were any."""
    runs, drawn = panel["runs"], False
    steps = list(dict.fromkeys(run["point"].get(key) for run in runs))
    slots = line_slots(runs, key)
    for point in panel.get("published", []):
        mine = [run for run in runs if run["variant"] == point["variant"] and belongs(point, run)]
        x = on_axis(point["at"], steps) if mine else None
        if x is not None:
            slot = slots[line_name(mine[0], key)]
            line(axes, slot, [x], [point["value"]], "", marker=True, linestyle="none", markersize=6, fillstyle="none")
            drawn = True
    return drawn


def belongs(point: Shown, run: PanelRun) -> bool:
    """Whether a run stands at the other swept values that a published point names."""
    return all(run["point"].get(key) == value for key, value in point["where"].items())


def on_axis(at: Value, steps: Sequence[Value]) -> float | None:
    """Where a value stands on the axis of these; None if it is written in another way than they are."""
    places = places_of([*steps, at])
    return places[-1] if places else None


def places_of(steps: Sequence[Value]) -> list[float] | None:
    """Places on an axis: of numbers, or of quantities that share a unit. None where there is no such axis."""
    numbers = [float(step) for step in steps if isinstance(step, int | float)]
    if len(numbers) == len(steps):
        return numbers
    parts = [part for step in steps if (part := quantity(step)) is not None]
    return [value for value, _ in parts] if len(parts) == len(steps) and unit_of(steps) else None


def unit_of(steps: Sequence[Value]) -> str:
    """The one unit of quantities; nothing for numbers, or where they have several."""
    units = {part[1] for step in steps if (part := quantity(step)) is not None}
    return units.pop() if len(units) == 1 else ""


def labelled(key: str, runs: Sequence[Line]) -> str:
    """A swept key with the unit of its values."""
    unit = unit_of([run["point"][key] for run in runs]) if key else ""
    return f"{key} ({unit})" if unit else key
