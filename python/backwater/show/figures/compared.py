"""The picture of two sets of completion times."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from backwater.common import disk
from backwater.common.arrays import np
from backwater.common.quantities import size as bytes_words
from backwater.hpcc.comparison import Comparison
from backwater.show import series
from backwater.show.figures.sheets import finish, legend, line, logarithmic, printable, sheet
from backwater.show.figures.slowdowns import NAMES
from backwater.show.figures.style import COLOURS, plain, save

CDF_POINTS = 2000


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
