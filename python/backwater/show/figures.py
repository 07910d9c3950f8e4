"""Figures in the papers' form: one file a row of panels, as PNG, SVG or PDF."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import matplotlib
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from backwater._core import InputError
from backwater.common import disk
from backwater.common.arrays import np
from backwater.common.quantities import quantity
from backwater.common.quantities import size as bytes_words
from backwater.common.values import Value
from backwater.hpcc.comparison import Comparison
from backwater.judge.panels import Panel, PanelRun, Shown
from backwater.show import series
from backwater.show.failures import Failures
from backwater.show.page import BOUNDS, Binned, PageData, RunData, Statistic


@dataclass(frozen=True)
class Size:
    """What a figure has to fit, in a paper of two columns."""

    width: float
    """Inches."""
    columns: int
    """Panels side by side, at most."""


SIZES = {
    "page": Size(7.0, 3),
    "column": Size(3.35, 1),
    "acm-column": Size(3.33, 1),
    "acm-page": Size(7.0, 3),
    "ieee-column": Size(3.5, 1),
    "ieee-page": Size(7.16, 3),
}
"""Across both columns, which is the default, or in one of them: ours, and those of two publishers' templates."""
PANEL_HEIGHT = 2.05
"""Inches; a legend has its own room above the panels."""
TITLE = 30
"""Characters of a line of a panel's title, as wide as the narrowest panel beside names of runs."""
ROW_HEIGHT = 0.2
"""Inches of a row of a dot plot."""
LEGEND_ROW = 0.17
"""Inches."""
FONT = matplotlib.RcParams(
    {
        "font.size": 8,
        "axes.labelsize": 7.5,
        "legend.fontsize": 7.5,
        "xtick.labelsize": 7.5,
        "ytick.labelsize": 7.5,
    }
)
"""Sizes that can be read where a figure is printed at the size it is drawn."""
TIMES = matplotlib.RcParams({"font.family": "STIXGeneral", "mathtext.fontset": "stix"})
"""The font of both publishers' templates, or one like it that Matplotlib brings along."""
STYLES = ("acm-column", "acm-page", "ieee-column", "ieee-page")
"""Styles that are also sizes."""
COLOURS = ("#1f5fbf", "#d1571c", "#1c8a5a", "#9b3fb5", "#a97a00", "#0f8fa3", "#c2327d", "#5d6b2e")
MARKERS = "osD^vP*X"
DPI = 300
SHOWN_DPI = 130
"""Dots per inch of a figure in a notebook."""
LOG_FLOWS = 100
"""Above this many active flows their axis is logarithmic."""
CDF_POINTS = 2000
LONGEST = 300
"""Signs of a name that are drawn."""
CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of signs that are no letters: controls, formats, surrogates, ends of lines and paragraphs."""
NAMES = {"mean": "average", "p50": "median", "p95": "95th percentile", "p99": "99th percentile"}


TRUETYPE = 42
"""The kind of fonts inside PDF and PostScript files. Publishers refuse Type 3 fonts, which are Matplotlib's default."""

STAMPS = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""What would make files of the same figure differ."""


def check_size(size: str, named: str = "size") -> None:
    """Refuses a size that figures do not have.

    # Errors
    `InputError`, which calls the size `named`.
    """
    if size not in SIZES:
        raise InputError(f"{named} {size!r}: expected one of {', '.join(SIZES)}")


def write(data: PageData, place: Path, formats: Sequence[str] = ("png",), size: str = "page") -> list[Path]:
    """Draws what there is to draw, at a `size` of `SIZES`.

    # Errors
    `InputError` and `Undrawn` naming the figures that failed, when the others are drawn.
    """
    place.mkdir(exist_ok=True)
    drawn: list[Path] = []
    failures = Failures()
    for name, make in drawings(data):
        stem = fresh(name, {path.stem.lower() for path in drawn})
        with failures.of(Path(place.name) / f"{stem}.{formats[0]}"), plain():
            figure = make(size=size)
            for form in formats:
                save(figure, place / f"{stem}.{form}")
                drawn.append(place / f"{stem}.{form}")
    failures.tell()
    return drawn


class Drawing(Figure):
    """A Matplotlib figure whose files have fonts that publishers accept, whatever Matplotlib is set to."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        with rc_context({"pdf.fonttype": TRUETYPE, "ps.fonttype": TRUETYPE}):
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        """Shows the figure in a notebook, whether or not Matplotlib is set up for one."""
        FigureCanvasAgg(self)
        written = io.BytesIO()
        self.savefig(written, format="png", dpi=SHOWN_DPI)
        return written.getvalue()


@contextlib.contextmanager
def plain() -> Iterator[None]:
    """Figures look alike, whatever Matplotlib is set to."""
    with warnings.catch_warnings(), rc_context():
        warnings.simplefilter("ignore")  # Of signs that the font lacks: it draws boxes.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(FONT)
        yield


@contextlib.contextmanager
def styled(style: str | os.PathLike[str] | None) -> Iterator[None]:
    """Figures have this style: one of `STYLES`, or a style sheet of Matplotlib by name or file.

    Without one, parameters of Matplotlib that you have changed win over ours.

    # Errors
    `InputError` if there is no such style.
    """
    changed = {key: value for key, value in matplotlib.rcParams.items() if value != matplotlib.rcParamsDefault[key]}
    with plain():
        if style is None:
            matplotlib.rcParams.update({key: value for key, value in changed.items() if key != "backend"})
        elif style in STYLES:
            matplotlib.rcParams.update(TIMES)
        else:
            from matplotlib import style as sheets

            try:
                sheets.use(str(style))
            except OSError:
                known = ", ".join([*STYLES, *sheets.available])
                raise InputError(f"style = {str(style)!r}: expected a file, or one of {known}") from None
        yield


Points = dict[str, list[RunData]]
"""Runs by the name of their point in the sweep."""
Line = RunData | PanelRun
"""A run as a point of a line."""
Distributed = Literal["buffer", "active_flows", "pool", "queueing_delay"]
DISTRIBUTED: dict[Distributed, tuple[float, str]] = {
    "buffer": (1e-6, "buffer occupancy of a switch (MB)"),
    "active_flows": (1, "active flows at a port"),
    "pool": (1e-6, "bytes in a shared pool (MB)"),
    "queueing_delay": (1e-3, "queueing delay (us)"),
}
"""What is drawn as a distribution: its scale, and what its axis is called."""
SIZED: tuple[Statistic, ...] = ("mean", "p95", "p99")
ALONG: tuple[Statistic, ...] = ("mean", "p50", "p99")
"""Statistics that are drawn by size, and along a swept key."""

given: ContextVar[Sequence[Axes]] = ContextVar("given", default=())
"""Axes to draw into, in place of a new figure's."""


@contextlib.contextmanager
def into(axes: Sequence[Axes]) -> Iterator[None]:
    """Draws figures into these axes, if there are any."""
    token = given.set(axes)
    try:
        yield
    finally:
        given.reset(token)


def save(figure: Figure, path: Path) -> None:
    """In the format of its name; the same figure gives the same bytes."""
    FigureCanvasAgg(figure)
    with rc_context({"svg.hashsalt": path.name}):  # Without one, names in an SVG file are drawn at random.
        figure.savefig(path, dpi=DPI, metadata=STAMPS[path.suffix[1:]])


def sheet(panels: int, size: str, panel_height: float = PANEL_HEIGHT) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels that fits this size, row by row."""
    if axes := list(given.get()):
        if len(axes) != panels:
            raise InputError(f"ax: {len(axes)} axes: expected {panels}, one for each panel of this figure")
        return cast(Figure, axes[0].figure), axes
    fit = SIZES[size]
    columns = max(1, min(fit.columns, panels))
    rows = -(-panels // columns)
    figure = Drawing(figsize=(fit.width, panel_height * rows), layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False).flatten())
    for axes in grid[panels:]:
        axes.set_visible(False)
    return figure, grid[:panels]


def drawings(data: PageData) -> Iterator[tuple[str, Callable[..., Figure]]]:
    """Each figure that there is something for: its name, and what draws it, at a `size` of `SIZES`."""
    runs, wanted = printable([run for run in data["runs"] if not run["left_out"]]), printable(data["panels"])
    points = by_point(runs)
    if wanted:
        yield "panels", partial(panels, wanted)
    for name in dict.fromkeys(name for run in runs for name in run["slowdown"]):
        if len(points) == 1:
            yield f"slowdown-{name}", partial(slowdown, runs, name)
        else:
            yield f"sweep-{name}", partial(along_sweep, runs, name)
    for key, (scale, label) in DISTRIBUTED.items():
        if any((run[key] or {}).get("value") for run in runs):
            yield key.replace("_", "-"), partial(distribution, points, key, scale, label)
    if any(run["isolated"] for run in runs):
        yield "isolated", partial(over_time, points)
    if any(run["queues"] for run in runs):
        yield "queues", partial(queues, points, over_time=True)
        yield "queues-cdf", partial(queues, points, over_time=False)
    pauses = [run["summary"].get("pause", {}) for run in runs]
    if len(points) == 1 and any(one.get("pfc_pauses") or one.get("bfc_pauses") for one in pauses):
        yield "pause-time", partial(pause_time, runs)


def printable(value: Any) -> Any:
    """The same with every text as it can be drawn: no formulas between dollars, no signs that steer a terminal."""
    if isinstance(value, str):
        text = "".join("\ufffd" if unicodedata.category(sign) in CONTROLS else sign for sign in value[:LONGEST])
        text = text.replace("$", r"\$")
        return f" {text}" if text.startswith("_") else text  # Matplotlib leaves such out of legends.
    if isinstance(value, dict):
        return {printable(key): printable(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], str | dict | list):
        return [printable(inner) for inner in value]
    return value


def fresh(name: str, taken: set[str]) -> str:
    """A name of a file that every file system can hold, and that no figure is in yet."""
    stem = re.sub(r"[^A-Za-z0-9._+=-]+", "-", name)[:100].strip("-.") or "figure"
    numbered = itertools.chain([stem], (f"{stem}-{n}" for n in itertools.count(2)))
    return next(one for one in numbered if one.lower() not in taken)


def by_point(runs: list[RunData]) -> Points:
    """Runs by their point of the sweep, with its name; one without a name if nothing was swept."""
    points: Points = {}
    for run in runs:
        name = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in run["point"].items())
        points.setdefault(name, []).append(run)
    return points


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


def with_bounds(row: Binned | None, statistic: Statistic) -> PanelRun:
    """A statistic of a size bin, and its bounds if it is a mean over seeds."""
    if row is None:
        return {"value": None, "low": None, "high": None}
    low, high = row.get(BOUNDS[statistic], (None, None))
    return {"value": row[statistic], "low": low, "high": high}


def intervals(axes: Axes, points: list[tuple[float, PanelRun]], colour: str) -> None:
    """Between what values lie, where there is more to say than the value."""
    known = [(x, one["value"], *ends) for x, one in points if (ends := wide(one)) is not None]
    if known:
        x, y, low, high = (np.array(values, float) for values in zip(*known, strict=True))
        axes.errorbar(x, y, [y - low, high - y], color=colour, linestyle="none", capsize=2.5, elinewidth=1)


def wide(one: PanelRun) -> tuple[float, float] | None:
    """The ends of an interval; None where there is no more to say than the value."""
    low, high = one.get("low"), one.get("high")
    return (low, high) if low is not None and high is not None and low < high else None


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


def save_comparison(done: Comparison, place: Path) -> None:
    """Writes the picture of two sets of completion times; its format is that of the name."""
    with disk.scratch(place) as scratch, plain():
        save(comparison(done), scratch / place.name)
        (scratch / place.name).replace(place)


def comparison(done: Comparison) -> Figure:
    """Median and p99 slowdown against flow size on both sides, with standard errors; how much the same flows differ."""
    figure, (*panels, differences) = sheet(3, "page")
    for axes, statistic in zip(panels, ("p50", "p99"), strict=True):
        for i, side in enumerate((done.a, done.b)):
            known = [(bin, bin.estimates[statistic][i]) for bin in done.bins if (bin.low, bin.high) != (0, None)]
            rows = [(series.middle(bin.low, bin.high), one) for bin, one in known if one is not None]
            # A little aside, so that one side's error bars do not hide the other's.
            x = [at * (0.96, 1.04)[i] for at, _ in rows]
            y, error = [one.value for _, one in rows], [one.error for _, one in rows]
            line(axes, i, x, y, f"{'AB'[i]}: {printable(side.name)}", marker=True)
            axes.errorbar(x, y, error, fmt="none", ecolor=COLOURS[i], capsize=3, linewidth=1.2)
        axes.set_xscale("log")
        logarithmic(axes)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: bytes_words(x)))
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


def line(
    axes: Axes,
    i: int,
    x: list[float],
    y: list[float],
    label: str,
    *,
    marker: bool = False,
    thin: bool = False,
    **style: Any,
) -> None:
    axes.plot(
        x,
        y,
        label=label,
        color=colour(i),
        marker=MARKERS[i % len(MARKERS)] if marker else None,
        **{
            "linestyle": ("-", "--", ":", "-.")[i // len(COLOURS) % 4],
            "markersize": 3.5,
            "linewidth": 0.7 if thin else 1.3,
            **style,
        },
    )


def colour(slot: int) -> str:
    return COLOURS[slot % len(COLOURS)]


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
    """One for all panels, above them, in as many columns as there is room for."""
    if axes := given.get():
        axes[-1].legend()
        return
    handles, labels = figure.axes[0].get_legend_handles_labels()
    widest = max((len(label) for label in labels), default=0)
    columns = max(1, int(figure.get_figwidth() / (0.45 + 0.062 * widest)))
    columns = max(1, min(runs, columns))
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + LEGEND_ROW * -(-len(labels) // columns) + 0.1)  # Panels keep their height.
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)
