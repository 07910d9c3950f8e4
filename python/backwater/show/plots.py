"""`results.plot`: each figure of the report as Matplotlib axes, which you can change and save."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from backwater._core import InputError
from backwater.common import suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from backwater.judge.panels import Panel
    from backwater.runs.directory import RunDirectory
    from backwater.show.page import PageData


class Options(TypedDict, total=False):
    """Options that every figure takes."""

    size: str
    """`page`, `column`, or a style of a publisher. Default: that of the style, or `page`."""
    style: str | os.PathLike[str]
    """`acm-column`, `acm-page`, `ieee-column` or `ieee-page`, or a style sheet of Matplotlib by name or file."""
    variants: Sequence[str]
    """Variants to draw, in place of all."""
    log: bool
    """Whether values are on a logarithmic axis. Default: as in the report."""
    ax: Axes | Sequence[Axes]
    """Axes to draw into, one for each panel, in place of a new figure."""


class Plots:
    """Figures of an experiment's runs.

    Each method draws a new figure and returns the list of its axes. `axes[0].figure.savefig("x.pdf")` saves it. Every
    method takes these options:

    * `size="page"`: 7 inches wide, for both columns of a paper. `size="column"`: 3.35 inches, one panel below another.
    * `style="acm-column"`, `"acm-page"`, `"ieee-column"` or `"ieee-page"`: width and font of a publisher's template.
      Another text is a style sheet of Matplotlib. Without `style`, parameters of Matplotlib that you changed apply.
    * `variants=["BFC", "DCTCP"]`: draws these variants only.
    * `log=True` or `False`: values on a logarithmic or a linear axis.
    * `ax`: draws into these axes, one for each panel, in place of a new figure.

    >>> average, p95, p99 = results.plot.slowdown()
    >>> p99.get_ylabel()
    'FCT slowdown, 99th percentile'
    >>> p99.figure.savefig("slowdown.pdf")
    >>> len(results.plot.slowdown(style="acm-column", variants=["BFC"], log=True)[0].get_lines())
    1
    """

    def __init__(self, results: RunDirectory) -> None:
        self._results = results

    def __repr__(self) -> str:
        return f"Plots({str(self._results.path)!r}: {', '.join(self.names) or 'nothing to draw'})"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names]

    @property
    def names(self) -> list[str]:
        """Names of the figures that these runs have data for, such as `slowdown-background` and `buffer`."""
        from backwater.show import figures

        return [name for name, _ in figures.drawings(self._data)]

    def slowdown(self, flow_class: str | None = None, **options: Unpack[Options]) -> list[Axes]:
        """Draws slowdown by flow size, or along the swept key: the average and percentiles.

        Without `flow_class` it takes the flows of the class `background`, or of the first class if there is none.

        # Errors
        `InputError` if there are no flows of this class, or if an option is wrong.
        """
        names = self.names
        there = {
            name.removeprefix(kind): name for kind in ("slowdown-", "sweep-") for name in names if name.startswith(kind)
        }
        if flow_class is None:
            flow_class = "background" if "background" in there else next(iter(there), "background")
        if there and flow_class not in there:
            raise InputError(f"flow_class = {flow_class!r}: {suggest.expected(flow_class, list(there))}")
        return self.draw(there.get(flow_class, f"slowdown-{flow_class}"), **options)

    def panels(self, **options: Unpack[Options]) -> list[Axes]:
        """Draws the panels of the experiment's `[figure]`. A sweep without `[figure]` gets the usual measurements."""
        return self.draw("panels", **options)

    def buffer(self, **options: Unpack[Options]) -> list[Axes]:
        """Draws buffer occupancy of switches, as a CDF at each point of the sweep."""
        return self.draw("buffer", **options)

    def active_flows(self, **options: Unpack[Options]) -> list[Axes]:
        """Draws active flows per port, as a CDF at each point of the sweep."""
        return self.draw("active-flows", **options)

    def queueing_delay(self, **options: Unpack[Options]) -> list[Axes]:
        """Draws queueing delay of packets, as a CDF at each point of the sweep."""
        return self.draw("queueing-delay", **options)

    def queues(self, **options: Unpack[Options]) -> list[Axes]:
        """Draws lengths of sampled queues over time."""
        return self.draw("queues", **options)

    def pause_time(self, **options: Unpack[Options]) -> list[Axes]:
        """Draws the share of time that PFC paused ports, by kind of link."""
        return self.draw("pause-time", **options)

    def draw(self, name: str, **options: Unpack[Options]) -> list[Axes]:
        """Draws a figure by its name, one of `names`.

        # Errors
        `InputError` if the runs have no data for it, or if an option is wrong.
        """
        from backwater.show import figures

        for option in options:
            if option not in Options.__annotations__:
                raise InputError(f"{option}: no such option; {suggest.expected(option, list(Options.__annotations__))}")
        style, ax = options.get("style"), options.get("ax")
        size = options.get("size", str(style) if style in figures.STYLES else "page")
        figures.check_size(size)
        make = dict(figures.drawings(self._chosen(options.get("variants")))).get(name)
        if make is None:
            raise InputError(f"{self._results.path}: no figure '{name}'; there is {', '.join(self.names) or 'none'}")
        onto = [] if ax is None else axes_of(ax)
        with figures.styled(style), figures.into(onto):
            figure = make(size=size)
        axes = onto or [one for one in figure.axes if one.get_visible()]
        if (log := options.get("log")) is not None:
            for one in axes:
                one.set_yscale("log" if log else "linear")
        return axes

    def _chosen(self, variants: Sequence[str] | None) -> PageData:
        """Returns the page's data with these variants only."""
        if variants is None:
            return self._data
        wanted = [variants] if isinstance(variants, str) else list(variants)
        if not wanted:
            raise InputError(f"variants = {variants!r}: expected one variant or more, or None for all")
        there = list(dict.fromkeys(run["variant"] for run in self._data["runs"]))
        if unknown := [name for name in wanted if name not in there]:
            raise InputError(f"variants: no variant '{unknown[0]}'; there are {', '.join(there)}")
        runs = [run for run in self._data["runs"] if run["variant"] in wanted]
        panels: list[Panel] = [
            {**panel, "runs": [run for run in panel["runs"] if run["variant"] in wanted]}
            for panel in self._data["panels"]
        ]
        return {**self._data, "runs": [{**run, "left_out": False} for run in runs], "panels": panels}

    @cached_property
    def _data(self) -> PageData:
        from backwater.show import report

        return report.page_data([self._results])


def axes_of(ax: Any) -> list[Axes]:
    """Returns axes as a list: those of a list or an array, or the only ones.

    # Errors
    `InputError` if anything else is among them, or nothing.
    """
    from matplotlib.axes import Axes

    several = list(getattr(ax, "flat", ax)) if isinstance(ax, Iterable) else [ax]
    if not several or not all(isinstance(one, Axes) for one in several):
        raise InputError(f"ax = {ax!r}: expected axes of Matplotlib, one for each panel of this figure")
    return several
