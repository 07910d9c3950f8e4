"""`results.plot`: each figure of the page as Matplotlib's axes, to be changed and saved as one likes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from backwater._core import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from backwater.results import Results


class Plots:
    """Figures of an experiment's runs.

    Each method returns the axes of a figure of its own, one or a list; `axes.figure.savefig("x.pdf")` saves it.

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
        """What there is something for, such as `slowdown-background` and `buffer`."""
        return [name for name, _ in self._drawings]

    def slowdown(self, flow_class: str = "background") -> list[Axes]:
        """Slowdown by flow size, or along what was swept, at the average and at percentiles."""
        swept = f"sweep-{flow_class}" in self.names
        return self.draw(f"{'sweep' if swept else 'slowdown'}-{flow_class}")

    def panels(self) -> list[Axes]:
        """The panels that the experiment's `[figure]` asks for; of a sweep without one, its usual measurements."""
        return self.draw("panels")

    def buffer(self) -> list[Axes]:
        """How much switches hold, as a CDF at each point of the sweep."""
        return self.draw("buffer")

    def active_flows(self) -> list[Axes]:
        """Flows with data in a port, as a CDF at each point of the sweep."""
        return self.draw("active-flows")

    def queueing_delay(self) -> list[Axes]:
        """Time that packets wait, as a CDF at each point of the sweep."""
        return self.draw("queueing-delay")

    def queues(self) -> list[Axes]:
        """Lengths of sampled queues over time."""
        return self.draw("queues")

    def pause_time(self) -> list[Axes]:
        """Share of time that PFC held ports, by kind of link."""
        return self.draw("pause-time")

    def draw(self, name: str) -> list[Axes]:
        """Any figure, by its name.

        # Errors
        `InputError` where there is nothing for it.
        """
        from backwater.show import figures

        make = dict(self._drawings).get(name)
        if make is None:
            raise InputError(f"{self._results.path}: no figure '{name}'; there is {', '.join(self.names) or 'none'}")
        with figures.plain():
            return [axes for axes in make().axes if axes.get_visible()]

    @cached_property
    def _drawings(self) -> list[tuple[str, Any]]:
        from backwater.show import figures, report

        return list(figures.drawings(report.page_data([self._results])))
