"""PNG figures in the papers' form: one file a row of panels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from backwater.terminal import size

COLOURS = ("#1f5fbf", "#d1571c", "#1c8a5a", "#9b3fb5", "#a97a00", "#0f8fa3", "#c2327d", "#5d6b2e")
MARKERS = "osD^vP*X"
DPI = 160
NAMES = {"mean": "average", "p50": "median", "p95": "95th percentile", "p99": "99th percentile"}


def write(data: dict[str, Any], place: Path) -> list[Path]:
    """Draws what there is to draw."""
    place.mkdir(exist_ok=True)
    runs = data["runs"]
    drawn = []

    def save(figure: Figure, name: str) -> None:
        FigureCanvasAgg(figure)
        path = place / f"{name}.png"
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
        drawn.append(path)

    for flow_class in dict.fromkeys(name for run in runs for name in run["slowdown"]):
        save(slowdown(runs, flow_class), f"slowdown-{flow_class}")
    if any((run["buffer"] or {}).get("value") for run in runs):
        save(distribution(runs, "buffer", 1e-6, "buffer occupancy of a switch (MB)"), "buffer")
    if any((run["active_flows"] or {}).get("value") for run in runs):
        save(distribution(runs, "active_flows", 1, "active flows at a port"), "active-flows")
    if any((run["queueing_delay"] or {}).get("value") for run in runs):
        save(distribution(runs, "queueing_delay", 1e-3, "queueing delay (us)"), "queueing-delay")
    if any(run["summary"]["pause"]["pfc_pauses"] for run in runs):
        save(pause_time(runs), "pause-time")
    return drawn


def slowdown(runs: list[dict[str, Any]], flow_class: str) -> Figure:
    """Average, p95 and p99 against flow size."""
    figure = Figure(figsize=(13, 3.9), layout="constrained")
    for axes, statistic in zip(figure.subplots(1, 3), ("mean", "p95", "p99"), strict=True):
        for i, run in enumerate(runs):
            rows = [row for row in run["slowdown"].get(flow_class, []) if row[statistic] is not None]
            line(axes, i, [row["at"] for row in rows], [row[statistic] for row in rows], run["name"], marker=True)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(bottom=1)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size(x)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        finish(axes, f"{flow_class} flow size", f"FCT slowdown, {NAMES[statistic]}")
    legend(figure, len(runs))
    return figure


def distribution(runs: list[dict[str, Any]], key: str, scale: float, label: str) -> Figure:
    """A CDF."""
    figure = Figure(figsize=(5.2, 3.9), layout="constrained")
    axes = figure.subplots()
    for i, run in enumerate(runs):
        points = run[key] or {"value": [], "share": []}
        line(axes, i, [v * scale for v in points["value"]], points["share"], run["name"], drawstyle="steps-post")
    axes.set_ylim(0, 1.01)
    axes.set_xlim(left=0)
    finish(axes, label, "CDF")
    legend(figure, len(runs))
    return figure


def pause_time(runs: list[dict[str, Any]]) -> Figure:
    """Share of time that ports were held by PFC, by kind of link."""
    figure = Figure(figsize=(5.2, 3.9), layout="constrained")
    axes = figure.subplots()
    kinds = list(dict.fromkeys(row["ports"] for run in runs for row in run["ports"]))
    width = 0.8 / max(1, len(runs))
    for i, run in enumerate(runs):
        share = {row["ports"]: 100 * row["pfc_paused_mean"] for row in run["ports"]}
        at = [k + (i - (len(runs) - 1) / 2) * width for k in range(len(kinds))]
        axes.bar(at, [share.get(name, 0) for name in kinds], width, label=run["name"], color=COLOURS[i % len(COLOURS)])
    axes.set_xticks(range(len(kinds)), kinds)
    finish(axes, "", "time paused by PFC (%)")
    legend(figure, len(runs))
    return figure


def line(axes: Axes, i: int, x: list[float], y: list[float], label: str, *, marker: bool = False, **style: Any) -> None:
    axes.plot(
        x,
        y,
        label=label,
        color=COLOURS[i % len(COLOURS)],
        linestyle=("-", "--", ":", "-.")[i // len(COLOURS) % 4],
        marker=MARKERS[i % len(MARKERS)] if marker else None,
        markersize=4.5,
        linewidth=1.6,
        **style,
    )


def finish(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(visible=True, which="major", color="#dde2e8", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend(figure: Figure, runs: int) -> None:
    """One for all panels, above them."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(runs, 6), frameon=False)
