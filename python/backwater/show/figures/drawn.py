"""All figures of a report: which there are, and their files."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from backwater.show.failures import Failures
from backwater.show.figures.distributions import DISTRIBUTED, Points, distribution, over_time, pause_time, queues
from backwater.show.figures.panel import panels
from backwater.show.figures.sheets import printable
from backwater.show.figures.slowdowns import along_sweep, slowdown
from backwater.show.figures.style import plain, save
from backwater.show.page import PageData, RunData


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
