"""Slowdown of flows: by flow size, and along a swept key."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from backwater.common.quantities import size as bytes_words
from backwater.judge.panels import PanelRun
from backwater.show.figures.lines import draw_along, draw_intervals, labelled, on_line, swept
from backwater.show.figures.sheets import finish, intervals, legend, line, logarithmic, sheet
from backwater.show.figures.style import colour
from backwater.show.page import BOUNDS, Binned, RunData, Statistic

NAMES = {"mean": "average", "p50": "median", "p95": "95th percentile", "p99": "99th percentile"}
SIZED: tuple[Statistic, ...] = ("mean", "p95", "p99")
ALONG: tuple[Statistic, ...] = ("mean", "p50", "p99")
"""Statistics that are drawn by size, and along a swept key."""


def slowdown(runs: list[RunData], flow_class: str, size: str = "page") -> Figure:
    """Average, p95 and p99 against flow size."""
    figure, grid = sheet(3, size)
    for axes, statistic in zip(grid, SIZED, strict=True):
        for run in runs:
            known = [(row, y) for row in run["slowdown"].get(flow_class, []) if (y := row[statistic]) is not None]
            at, values = [row["at"] for row, _ in known], [y for _, y in known]
            line(axes, run["slot"], at, values, run["shown"], marker=True)
            intervals(axes, [(row["at"], with_bounds(row, statistic)) for row, _ in known], colour(run["slot"]))
        axes.set_xscale("log")
        logarithmic(axes)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: bytes_words(x)))
        finish(axes, f"{flow_class} flow size", f"FCT slowdown, {NAMES[statistic]}")
    legend(figure, len(runs))
    return figure


def along_sweep(runs: list[RunData], flow_class: str, size: str = "page") -> Figure:
    """Average, median and p99 of all sizes along the swept key, a line per variant."""
    figure, grid = sheet(3, size)
    key = swept(runs)
    count = 0
    for axes, statistic in zip(grid, ALONG, strict=True):
        rows = [(run, run["slowdown_all"].get(flow_class)) for run in runs]
        count = draw_along(axes, key, [(run, row[statistic] if row else None) for run, row in rows])
        draw_intervals(axes, key, [{**on_line(run), **with_bounds(row, statistic)} for run, row in rows])
        logarithmic(axes)
        finish(axes, labelled(key, runs), f"{flow_class} FCT slowdown, {NAMES[statistic]}")
    legend(figure, count)
    return figure


def with_bounds(row: Binned | None, statistic: Statistic) -> PanelRun:
    """A statistic of a size bin, and its bounds if it is a mean over seeds."""
    if row is None:
        return {"value": None, "low": None, "high": None}
    low, high = row.get(BOUNDS[statistic], (None, None))
    return {"value": row[statistic], "low": low, "high": high}
