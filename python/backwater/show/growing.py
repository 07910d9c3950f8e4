"""`report.html` while an experiment runs: what the summaries of finished runs say. A browser reloads it by itself."""

from __future__ import annotations

from pathlib import Path

from backwater.common import signals
from backwater.common.quantities import some
from backwater.runs.directory import RunDirectory
from backwater.runs.run import Run
from backwater.show import report, series
from backwater.show.page import RunData

EVERY_S = 5
"""How often a browser reloads the page."""
RELOADS = f'<meta http-equiv="refresh" content="{EVERY_S}">'


class Interrupted(Exception):
    """A signal came, and the page is no longer wanted."""


def page(place: Path, runs: int) -> str:
    """Returns the page of a directory that is to have so many runs.

    It reads no table, so it takes little time. Claims, panels and curves are on the page at the end.

    # Errors
    `Interrupted` after a signal.
    """
    done = RunDirectory(place)
    undrawn, speed = report.left_out([done]), report.speeds([done])
    known: list[RunData] = []
    for run in done.runs:
        if signals.heard:  # What is left of the time is for the runs.
            raise Interrupted
        known.append(numbers(run, place, run.path in undrawn, speed))
    data = report.page_data([done], [], known)
    ended = f"{len(done.runs):,} of {some(runs, 'run')} are done. This page reloads itself."
    data["left"] = [ended, *data["left"][1:]]  # In place of that it was interrupted.
    return report.render(data).replace("<head>", f"<head>\n{RELOADS}", 1)


def numbers(run: Run, place: Path, undrawn: bool, speed: dict[Path, float | None]) -> RunData:
    """Returns the numbers of a run without its curves."""
    return {
        **report.numbers(run.label, run, speed),
        "left_out": undrawn,
        "explained": None,
        "place": str(place),
        "buffer": None,
        "active_flows": None,
        "isolated": None,
        "queueing_delay": None,
        "queues": [],
        "pool": None,
        "mmus": [],
        "ports": [],
        "hot": [],
        "collectives": [],
        **series.configuration(run.scenario),
        "network": None,
    }
