"""Distributions, queues, isolated flows and pauses, at each point of a sweep."""

from __future__ import annotations

from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from backwater.show.figures.sheets import finish, legend, line, sheet
from backwater.show.figures.style import colour
from backwater.show.page import RunData

LOG_FLOWS = 100
"""Above this many active flows their axis is logarithmic."""
Points = dict[str, list[RunData]]
"""Runs by the name of their point in the sweep."""
Distributed = Literal["buffer", "active_flows", "pool", "queueing_delay"]
DISTRIBUTED: dict[Distributed, tuple[float, str]] = {
    "buffer": (1e-6, "buffer occupancy of a switch (MB)"),
    "active_flows": (1, "active flows at a port"),
    "pool": (1e-6, "bytes in a shared pool (MB)"),
    "queueing_delay": (1e-3, "queueing delay (us)"),
}
"""What is drawn as a distribution: its scale, and what its axis is called."""


def distribution(points: Points, key: Distributed, scale: float, label: str, size: str = "page") -> Figure:
    """A CDF at each point of the sweep."""
    figure, grid = one_each(points, size)
    for axes, (name, runs) in zip(grid, points.items(), strict=False):
        for run in runs:
            drawn = run[key] or {"value": [], "share": []}
            x, y = [v * scale for v in drawn["value"]], drawn["share"]
            line(axes, run["slot"], x, y, run["variant"], drawstyle="steps-post")
        axes.set_ylim(0, 1.01)
        drawn_values = [one["value"] for run in runs if (one := run[key]) is not None]
        most = max((values[-1] for values in drawn_values if values), default=0)
        if key == "active_flows" and most > LOG_FLOWS:
            axes.set_xscale("log")
            axes.set_xlim(left=1)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        else:
            axes.set_xlim(left=0)
        axes.set_title(name, fontsize="medium")
        finish(axes, label, "CDF")
    legend(figure, max(len(runs) for runs in points.values()))
    return figure


def one_each(points: Points, size: str) -> tuple[Figure, list[Axes]]:
    """A figure with axes for each point of the sweep; of one point it fits a column."""
    return sheet(len(points), "column" if len(points) == 1 else size)


def over_time(points: Points, size: str = "page") -> Figure:
    """Flows isolated over time at each point of the sweep."""
    figure, grid = one_each(points, size)
    for axes, (name, runs) in zip(grid, points.items(), strict=False):
        for run in runs:
            if drawn := run["isolated"]:
                line(axes, run["slot"], [t * 1e3 for t in drawn["time"]], drawn["flows"], run["variant"])
        axes.set_ylim(bottom=0)
        axes.set_title(name, fontsize="medium")
        finish(axes, "time (ms)", "isolated flows, all switches")
    legend(figure, max(len(runs) for runs in points.values()))
    return figure


def queues(points: Points, size: str = "page", *, over_time: bool) -> Figure:
    """Lengths of the sampled queues at each point of the sweep, a line per variant and port; or their CDFs."""
    figure, grid = one_each(points, size)
    ports = list(dict.fromkeys(queue["port"] for runs in points.values() for run in runs for queue in run["queues"]))
    several = len(ports) > 1
    for axes, (name, runs) in zip(grid, points.items(), strict=False):
        lines = [(run["variant"], queue) for run in runs for queue in run["queues"]]
        for i, (variant, queue) in enumerate(lines):
            label = f"{variant}, {queue['port']}" if several else variant
            if over_time:
                line(axes, i, [t * 1e3 for t in queue["time"]], [b * 1e-3 for b in queue["bytes"]], label, thin=True)
            else:
                drawn = queue["cdf"]
                line(axes, i, [b * 1e-3 for b in drawn["value"]], drawn["share"], label, drawstyle="steps-post")
        if over_time:
            axes.set_ylim(bottom=0)
        else:
            axes.set_xlim(left=0)
            axes.set_ylim(0, 1.01)
        axes.set_title(name or ("" if several else ports[0]), fontsize="medium")
        finish(axes, *(("time (ms)", "queue length (KB)") if over_time else ("queue length (KB)", "CDF")))
    legend(figure, len(ports) * max(len(runs) for runs in points.values()))
    return figure


def pause_time(runs: list[RunData], size: str = "page") -> Figure:
    """Share of time that PFC paused ports, and BFC single queues, by kind of link; they are not comparable."""
    shown: list[tuple[Literal["pfc_paused_mean", "bfc_paused_share"], str]] = [
        ("pfc_paused_mean", "time that PFC paused a port (%)"),
        ("bfc_paused_share", "time that BFC paused a queue (%)"),
    ]
    shown = [(key, label) for key, label in shown if any(row[key] for run in runs for row in run["ports"])]
    figure, grid = sheet(len(shown), "column" if len(shown) == 1 else size)
    kinds = list(dict.fromkeys(row["ports"] for run in runs for row in run["ports"]))
    width = 0.8 / max(1, len(runs))
    for axes, (key, label) in zip(grid, shown, strict=True):
        for i, run in enumerate(runs):
            share = {row["ports"]: 100 * row[key] for row in run["ports"]}
            at = [k + (i - (len(runs) - 1) / 2) * width for k in range(len(kinds))]
            heights = [share.get(name, 0) for name in kinds]
            axes.bar(at, heights, width, label=run["shown"], color=colour(run["slot"]))
        axes.set_xticks(range(len(kinds)), [kind.replace(" to ", "\nto ") for kind in kinds])
        finish(axes, "", label)
    legend(figure, len(runs))
    return figure
