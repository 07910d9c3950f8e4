"""`backwater report`: the page and the figures again, from what runs left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater.api import Results
from backwater.cli.options import RunDirs
from backwater.show import report
from backwater.show.report import FORMATS
from backwater.terminal import say


def report_command(
    run: RunDirs,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory for the page. [default: RUN]")
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="FORMAT", help="Of figures: png, svg or pdf. Repeatable. [default: png]"),
    ] = None,
) -> None:
    """Write the page and the figures again, of one experiment or of several together."""
    for name in formats or ():
        if name not in FORMATS:
            raise _core.InputError(f"--format {name}: expected one of {', '.join(FORMATS)}")
    opened = [Results(path) for path in run]
    if out_dir is None and len(opened) > 1:
        raise _core.InputError("report of several runs: name a directory for it with --out")
    for one in opened:
        one.verify()
    say(f"Report: {report.write(list(opened), out_dir or run[0], formats or FORMATS[:1])}")
