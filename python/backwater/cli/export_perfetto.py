"""`backwater export perfetto`: jobs as a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater.cli.later import when_used
from backwater.cli.options import Force, Json

with when_used():
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.hpcc import fct
    from backwater.runs import perfetto


def export_perfetto(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Name a run directory, or a run in one.")],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Name the file to write, .json or .json.gz. Several runs are written to FILE.RUN.json."
        ),
    ],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write iterations of jobs as a trace for Perfetto.

    A browser shows it at ui.perfetto.dev. Each job is a process, and each rank a thread with its iterations and phases.

    Examples:
        backwater export perfetto runs/job job.json.gz
        backwater export perfetto runs/job/BFC bfc.json
    """
    runs = fct.runs(run)
    places = perfetto.places(file, [one.label for one in runs], force=force)
    for one in runs:
        perfetto.works(one)
    written: list[dict[str, object]] = []
    with printing.quietly(as_json):
        for one in runs:
            slices = perfetto.write(one, places[one.label])
            written.append({"run": one.label, "path": str(places[one.label]), "slices": slices})
            terminal.say(f"{places[one.label]}: {quantities.some(slices, 'slice')} of {one.label}")
    if as_json:
        printing.print_json(written)
