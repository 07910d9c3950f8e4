"""PNG figures in the papers' form: one file a row of panels."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from backwater import series
from backwater.terminal import size

if TYPE_CHECKING:
    from backwater.compare_fct import Comparison

COLOURS = ("#1f5fbf", "#d1571c", "#1c8a5a", "#9b3fb5", "#a97a00", "#0f8fa3", "#c2327d", "#5d6b2e")
MARKERS = "osD^vP*X"
DPI = 160
LOG_FLOWS = 100
"""Above this many active flows their axis is logarithmic."""
CDF_POINTS = 2000
NAMES = {"mean": "average", "p50": "median", "p95": "95th percentile", "p99": "99th percentile"}


def write(data: dict[str, Any], place: Path) -> list[Path]:
    """Draws what there is to draw."""
    place.mkdir(exist_ok=True)
    runs = data["runs"]
    points = by_point(runs)
    drawn = []

    def save(figure: Figure, name: str) -> None:
        FigureCanvasAgg(figure)
        path = place / f"{name}.png"
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
        drawn.append(path)

    for flow_class in dict.fromkeys(name for run in runs for name in run["slowdown"]):
        if len(points) == 1:
            save(slowdown(runs, flow_class), f"slowdown-{flow_class}")
        else:
            save(along_sweep(runs, flow_class), f"sweep-{flow_class}")
    for key, scale, label in (
        ("buffer", 1e-6, "buffer occupancy of a switch (MB)"),
        ("active_flows", 1, "active flows at a port"),
        ("queueing_delay", 1e-3, "queueing delay (us)"),
    ):
        if any((run[key] or {}).get("value") for run in runs):
            save(distribution(points, key, scale, label), key.replace("_", "-"))
    if len(points) == 1 and any(run["summary"]["pause"]["pfc_pauses"] for run in runs):
        save(pause_time(runs), "pause-time")
    return drawn


def by_point(runs: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Runs by their point of the sweep, with its name; one without a name if nothing was swept."""
    points: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        name = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in run["point"].items())
        points.setdefault(name, []).append(run)
    return points


def slowdown(runs: list[dict[str, Any]], flow_class: str) -> Figure:
    """Average, p95 and p99 against flow size."""
    figure = Figure(figsize=(13, 3.9), layout="constrained")
    for axes, statistic in zip(figure.subplots(1, 3), ("mean", "p95", "p99"), strict=True):
        for i, run in enumerate(runs):
            rows = [row for row in run["slowdown"].get(flow_class, []) if row[statistic] is not None]
            line(axes, i, [row["at"] for row in rows], [row[statistic] for row in rows], run["name"], marker=True)
        axes.set_xscale("log")
        logarithmic(axes)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size(x)))
        finish(axes, f"{flow_class} flow size", f"FCT slowdown, {NAMES[statistic]}")
    legend(figure, len(runs))
    return figure


def along_sweep(runs: list[dict[str, Any]], flow_class: str) -> Figure:
    """Average, median and p99 of all sizes along the swept key, a line per variant."""
    figure = Figure(figsize=(13, 3.9), layout="constrained")
    key = next(key for key in runs[0]["point"] if len({str(run["point"].get(key)) for run in runs}) > 1)
    values = list(dict.fromkeys(run["point"][key] for run in runs))
    numeric = all(isinstance(value, int | float) for value in values)
    lines: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        rest = [f"{name.rpartition('.')[2]} {value}" for name, value in run["point"].items() if name != key]
        lines.setdefault(", ".join([run["variant"], *rest]), []).append(run)
    for axes, statistic in zip(figure.subplots(1, 3), ("mean", "p50", "p99"), strict=True):
        for i, (name, members) in enumerate(lines.items()):
            known = [
                (run["point"][key] if numeric else values.index(run["point"][key]), row[statistic])
                for run in members
                if (row := run["slowdown_all"].get(flow_class)) and row[statistic] is not None
            ]
            line(axes, i, [x for x, _ in sorted(known)], [y for _, y in sorted(known)], name, marker=True)
        if not numeric:
            axes.set_xticks(range(len(values)), [str(value) for value in values])
        elif min(values) > 0 and max(values) / min(values) >= 16:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        logarithmic(axes)
        finish(axes, key, f"{flow_class} FCT slowdown, {NAMES[statistic]}")
    legend(figure, len(lines))
    return figure


def distribution(points: dict[str, list[dict[str, Any]]], key: str, scale: float, label: str) -> Figure:
    """A CDF at each point of the sweep."""
    columns = min(4, len(points))
    rows = -(-len(points) // columns)
    figure = Figure(figsize=(5.2 if columns == 1 else 3.6 * columns, 3.9 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, (name, runs) in zip(panels, points.items(), strict=False):
        for i, run in enumerate(runs):
            drawn = run[key] or {"value": [], "share": []}
            line(axes, i, [v * scale for v in drawn["value"]], drawn["share"], run["variant"], drawstyle="steps-post")
        axes.set_ylim(0, 1.01)
        most = max((run[key]["value"][-1] for run in runs if (run[key] or {}).get("value")), default=0)
        if key == "active_flows" and most > LOG_FLOWS:
            axes.set_xscale("log")
            axes.set_xlim(left=1)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        else:
            axes.set_xlim(left=0)
        axes.set_title(name, fontsize="medium")
        finish(axes, label, "CDF")
    for axes in panels[len(points) :]:
        axes.set_visible(False)
    legend(figure, max(len(runs) for runs in points.values()))
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


def save_comparison(done: Comparison, place: Path) -> None:
    """Writes the picture of two sets of completion times; its format is that of the name."""
    figure = comparison(done)
    FigureCanvasAgg(figure)
    stamp = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(place.suffix, {"Software": None})
    with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as partial:
        with rc_context({"svg.hashsalt": place.name}):  # Without one, names in an SVG file are drawn at random.
            figure.savefig(Path(partial) / place.name, dpi=DPI, metadata=stamp)
        (Path(partial) / place.name).replace(place)


def comparison(done: Comparison) -> Figure:
    """Median and p99 slowdown against flow size on both sides, with standard errors; how much the same flows differ."""
    figure = Figure(figsize=(13, 3.9), layout="constrained")
    *panels, differences = figure.subplots(1, 3)
    for axes, statistic in zip(panels, ("p50", "p99"), strict=True):
        for i, side in enumerate((done.a, done.b)):
            known = [(bin, bin.estimates[statistic][i]) for bin in done.bins if (bin.low, bin.high) != (0, None)]
            rows = [(series.middle(bin.low, bin.high), one) for bin, one in known if one is not None]
            # A little aside, so that one side's error bars do not hide the other's.
            x = [at * (0.96, 1.04)[i] for at, _ in rows]
            y, error = [one.value for _, one in rows], [one.error for _, one in rows]
            line(axes, i, x, y, f"{'AB'[i]}: {side.name}", marker=True)
            axes.errorbar(x, y, error, fmt="none", ecolor=COLOURS[i], capsize=3, linewidth=1.2)
        axes.set_xscale("log")
        logarithmic(axes)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size(x)))
        finish(axes, "flow size", f"FCT slowdown, {NAMES[statistic]}")
    values = np.sort(100 * done.difference)
    share = np.arange(1, len(values) + 1) / max(1, len(values))
    if len(values) > CDF_POINTS:
        kept = np.unique(np.linspace(0, len(values) - 1, CDF_POINTS).astype(int))
        values, share = values[kept], share[kept]
    differences.plot(values, share, color="#333333", linewidth=1.6, drawstyle="steps-post")
    differences.axvline(0, color="#dde2e8", linewidth=1, zorder=0)
    differences.set_xscale("symlog", linthresh=0.1)
    differences.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    differences.set_ylim(0, 1.01)
    finish(differences, "completion time of a flow, B to A (%)", f"CDF over {len(done.difference):,} flows")
    legend(figure, 2)
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


def logarithmic(axes: Axes) -> None:
    """Slowdowns from 1 up."""
    axes.set_yscale("log")
    axes.set_ylim(bottom=1)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def finish(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(visible=True, which="major", color="#dde2e8", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend(figure: Figure, runs: int) -> None:
    """One for all panels, above them."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    columns = max(1, int(figure.get_figwidth() / 1.6))
    figure.legend(handles, labels, loc="outside upper center", ncols=min(runs, columns), frameon=False)
