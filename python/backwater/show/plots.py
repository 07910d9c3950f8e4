"""`results.plot`: each figure of the report as Matplotlib axes, which you can change and save."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from backwater._core import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from backwater.runs.results import Results


class Plots:
    """Figures of an experiment's runs.

    Each method draws a new figure and returns the list of its axes. `axes[0].figure.savefig("x.pdf")` saves it.
    With `size="page"` a figure is 7 inches wide and fits across both columns of a paper. With `size="column"` it is
    3.35 inches wide, fits one column, and has its panels one below another.

    >>> average, p95, p99 = results.plot.slowdown()
    >>> p99.get_ylabel()
    'FCT slowdown, 99th percentile'
    >>> p99.figure.savefig("slowdown.pdf")
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names]

    @property
    def names(self) -> list[str]:
        """Names of the figures that these runs have data for, such as `slowdown-background` and `buffer`."""
        return [name for name, _ in self._drawings]

    def slowdown(self, flow_class: str = "background", *, size: str = "page") -> list[Axes]:
        """Draws slowdown by flow size, or along the swept key: the average and percentiles."""
        swept = f"sweep-{flow_class}" in self.names
        return self.draw(f"{'sweep' if swept else 'slowdown'}-{flow_class}", size=size)

    def panels(self, *, size: str = "page") -> list[Axes]:
        """Draws the panels of the experiment's `[figure]`. A sweep without `[figure]` gets the usual measurements."""
        return self.draw("panels", size=size)

    def buffer(self, *, size: str = "page") -> list[Axes]:
        """Draws buffer occupancy of switches, as a CDF at each point of the sweep."""
        return self.draw("buffer", size=size)

    def active_flows(self, *, size: str = "page") -> list[Axes]:
        """Draws active flows per port, as a CDF at each point of the sweep."""
        return self.draw("active-flows", size=size)

    def queueing_delay(self, *, size: str = "page") -> list[Axes]:
        """Draws queueing delay of packets, as a CDF at each point of the sweep."""
        return self.draw("queueing-delay", size=size)

    def queues(self, *, size: str = "page") -> list[Axes]:
        """Draws lengths of sampled queues over time."""
        return self.draw("queues", size=size)

    def pause_time(self, *, size: str = "page") -> list[Axes]:
        """Draws the share of time that PFC paused ports, by kind of link."""
        return self.draw("pause-time", size=size)

    def draw(self, name: str, *, size: str = "page") -> list[Axes]:
        """Draws a figure by its name, one of `names`.

        # Errors
        `InputError` if the runs have no data for it, or the size is not `page` or `column`.
        """
        from backwater.show import figures

        figures.check_size(size)
        make = dict(self._drawings).get(name)
        if make is None:
            raise InputError(f"{self._results.path}: no figure '{name}'; there is {', '.join(self.names) or 'none'}")
        with figures.plain():
            return [axes for axes in make(size=size).axes if axes.get_visible()]

    @cached_property
    def _drawings(self) -> list[tuple[str, Any]]:
        from backwater.show import figures, report

        return list(figures.drawings(report.page_data([self._results])))
