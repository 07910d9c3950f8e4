"""The panels of an experiment's `[figure]`: lines along what was swept by numbers, and dot plots."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from backwater.common.values import Value
from backwater.judge.panels import Panel, PanelRun
from backwater.show.figures.lines import (
    belongs,
    draw_along,
    draw_intervals,
    draw_published,
    labelled,
    on_axis,
    places_of,
    swept,
)
from backwater.show.figures.sheets import PANEL_HEIGHT, finish, legend, sheet, wide
from backwater.show.figures.style import SIZES, colour

TITLE = 30
"""Characters of a line of a panel's title, as wide as the narrowest panel beside names of runs."""
ROW_HEIGHT = 0.2
"""Inches of a row of a dot plot."""


def panels(wanted: list[Panel], size: str = "page") -> Figure:
    """The figure's own panels: lines along what was swept by numbers, a dot plot of the runs where nothing was.

    Beside them stands what was published.
    """
    longest = max(len(panel["runs"]) for panel in wanted)
    lines = [bool(axis_of(panel["runs"])) for panel in wanted]
    height = PANEL_HEIGHT if any(lines) else 0.65 + ROW_HEIGHT * longest
    figure, grid = sheet(len(wanted), size, height)
    count, beside = 0, False
    for i, (axes, panel) in enumerate(zip(grid, wanted, strict=True)):
        names_at_left = i % SIZES[size].columns == 0
        if lines[i]:
            count, here = draw_lines(axes, panel)
        else:
            here = draw_dots(axes, panel, names=names_at_left or any(lines) or not same_rows(wanted))
        beside |= here
        axes.set_title(title_lines(panel["label"]), fontsize="medium")
    if beside and any(lines):
        figure.axes[0].plot([], [], "o", label="published", color="#5a6675", fillstyle="none", markersize=6)
    elif beside:
        figure.axes[0].fill_between([], [], label="published", color="#5a6675", alpha=0.4)
    if count or beside:
        legend(figure, count + beside)
    return figure


def title_lines(label: str) -> str:
    """A panel's title in lines that fit; a number stays with its unit."""
    whole = re.sub(r"(?<=\d) (?=(?:[KMG]?B|[num]?s|[KMG]bps)\b)", "\N{NO-BREAK SPACE}", label)
    return "\n".join(textwrap.wrap(whole, TITLE))


def axis_of(runs: list[PanelRun]) -> str:
    """The swept key that has places on an axis; nothing where there is none."""
    key = swept(runs)
    return key if key and places_of([run["point"][key] for run in runs]) is not None else ""


def same_rows(wanted: list[Panel]) -> bool:
    return len({tuple(row_names(panel["runs"])) for panel in wanted}) == 1


def row_names(runs: list[PanelRun]) -> list[str]:
    return [", ".join([run["variant"], *map(str, run["point"].values())]) for run in runs]


def draw_lines(axes: Axes, panel: Panel) -> tuple[int, bool]:
    """Lines along the swept key; returns how many, and whether published points stand beside them."""
    runs = panel["runs"]
    key = swept(runs)
    count = draw_along(axes, key, [(run, run["value"]) for run in runs])
    draw_intervals(axes, key, runs)
    draw_marks(axes, panel.get("marks", {}), [run["point"][key] for run in runs])
    beside = draw_published(axes, key, panel)
    known = [one["value"] for one in (*runs, *panel.get("published", [])) if one["value"] is not None]
    if known and min(known) > 0 and max(known) >= 10 * min(known):
        axes.set_yscale("log")
        # Below two decades, powers of ten alone would be one or two.
        axes.yaxis.set_major_locator(LogLocator(subs=(1,) if max(known) >= 100 * min(known) else (1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif not close(known):
        axes.set_ylim(bottom=0)
    finish(axes, labelled(key, runs), "")
    return count, beside


def draw_dots(axes: Axes, panel: Panel, *, names: bool) -> bool:
    """A row for each run; returns whether anything that was published stands in them, as bands and diamonds."""
    runs, beside = panel["runs"], False
    for y, run in enumerate(runs):
        tint = colour(run["slot"])
        published = [
            point["value"]
            for point in panel.get("published", [])
            if point["variant"] == run["variant"]
            and belongs(point, run)
            and (point["at"] is None or point["at"] in run["point"].values())
        ]
        if len(published) > 1:
            axes.broken_barh(
                [(min(published), max(published) - min(published))], (y - 0.34, 0.68), color=tint, alpha=0.22
            )
        elif published:
            axes.plot(published, [y], "D", color=tint, fillstyle="none", markersize=6)
        beside |= bool(published)
        if run["value"] is None:
            continue
        if (ends := wide(run)) is not None:
            spread = [[run["value"] - ends[0]], [ends[1] - run["value"]]]
            axes.errorbar([run["value"]], [y], xerr=spread, color=tint, capsize=2.5, elinewidth=1.2)
        axes.plot([run["value"]], [y], "o", color=tint, markersize=5)
    values = [one["value"] for one in (*runs, *panel.get("published", [])) if one["value"] is not None]
    if values and min(values) > 0 and max(values) >= 2 * min(values):
        axes.set_xscale("log")
        bounds = [end for run in runs for end in wide(run) or ()]
        least, most = min([*values, *(end for end in bounds if end > 0)]), max([*values, *bounds])
        # An interval that is far longer than values differ is cut off.
        axes.set_xlim(max(least, min(values) / 2.5) / 1.2, min(most, max(values) * 2.5) * 1.2)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3) if max(values) >= 10 * min(values) else (1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    reference = panel.get("reference")
    if reference:
        axes.axvline(reference["value"], color="#5a6675", linestyle="--", linewidth=0.9, zorder=0)
    axes.set_yticks(range(len(runs)), row_names(runs) if names else [])
    axes.set_ylim(len(runs) - 0.5, -0.5)
    finish(axes, f"{panel['better']} is better" if panel.get("better") else "", "")
    axes.grid(visible=False, axis="y")
    return beside


def draw_marks(axes: Axes, marks: dict[str, Value], steps: Sequence[Value]) -> None:
    """Places of the swept axis that have a name."""
    for name, at in marks.items():
        if (x := on_axis(at, steps)) is not None:
            axes.axvline(x, color="#5a6675", linestyle="--", linewidth=0.9)
            axes.annotate(
                name, (x, 0.98), xycoords=("data", "axes fraction"), rotation=90, ha="right", va="top", fontsize="small"
            )


def close(values: list[float]) -> bool:
    """Whether lines through these would be one line on an axis that begins at zero."""
    return bool(values) and min(values) > 0.5 * max(values)
