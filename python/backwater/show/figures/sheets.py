"""The pieces of every figure: panels side by side, lines, intervals, axes and the legend."""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from backwater._core import InputError
from backwater.common.arrays import np
from backwater.judge.panels import PanelRun
from backwater.show.figures.style import COLOURS, MARKERS, SIZES, Drawing, colour

PANEL_HEIGHT = 2.05
"""Inches; a legend has its own room above the panels."""
LEGEND_ROW = 0.17
"""Inches."""
LONGEST = 300
"""Signs of a name that are drawn."""
CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of signs that are no letters: controls, formats, surrogates, ends of lines and paragraphs."""
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
