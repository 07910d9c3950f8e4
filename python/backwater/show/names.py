"""Names of runs that are shown together."""

from __future__ import annotations

from collections.abc import Sequence

from backwater.runs.directory import RunDirectory
from backwater.runs.run import Run


def named(opened: Sequence[RunDirectory]) -> list[tuple[str, Run]]:
    """Every run with its label; the label begins with the run's directory where several are open."""
    several = len(opened) > 1
    return [(f"{one.path.name}/{run.label}" if several else run.label, run) for one in opened for run in one.runs]
