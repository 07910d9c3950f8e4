"""`backwater report`: the page again, and figures, from what runs left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import Claims, Json, RunDirs

with when_used():
    from backwater.cli import printing, terminal
    from backwater.show import figures, results
    from backwater.show import report as page


def report(
    run: RunDirs,
    out_dir: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="Write into this directory. [default: DIR]")
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="FORMAT", help="Draw figures as png, svg or pdf. Repeatable. [default: png]"),
    ] = None,
    size: Annotated[
        str,
        typer.Option(
            "--size",
            metavar="SIZE",
            help="Draw figures 7 inches wide (page), or 3.35 inches for one column of a paper (column).",
        ),
    ] = "page",
    claims: Claims = False,
    as_json: Json = False,
) -> None:
    """Write a report again, and draw its figures.

    Several directories become one report, which needs --out.
    With --json it prints the report's path, the answer and the claims.

    Examples:
        backwater report runs/fig9 --format pdf --size column
        backwater report runs/fig9 runs/mine --out both
    """
    for name in formats or ():
        if name not in page.FORMATS:
            raise _core.InputError(f"--format {name}: expected one of {', '.join(page.FORMATS)}")
    figures.check_size(size, "--size")
    opened = [results.Results(path) for path in run]
    if out_dir is None and len(opened) > 1:
        raise _core.InputError(f"{len(opened)} run directories: expected --out DIR with them, for the report of all")
    for one in opened:
        one.verify()
    written = results.write(opened, out_dir or run[0], formats or page.FORMATS[:1], size)
    judged = [row for one in opened for row in one.claims]
    if claims and not as_json:
        printing.print_claims(judged)
    if as_json:
        printing.print_json(
            {"report": str(written), "answer": [line for one in opened for line in one.answer], "claims": judged}
        )
    else:
        terminal.say(f"Report: {written}")
