"""`backwater open`: a report in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from backwater._core import InputError
from backwater.cli.later import when_used
from backwater.cli.options import Json

with when_used():
    from backwater.cli import lists, printing, terminal
    from backwater.runs import writer


def open_report(
    place: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Name a run directory. Without one, the newest below runs/ is opened."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Open a report in the browser.

    Examples:
        backwater open
        backwater open runs/fig9
    """
    found = lists.newest(Path("runs")) if place is None else place
    page = found if found.is_file() else found / writer.PAGE
    if page.suffix != ".html":
        raise InputError(f"{found}: is not a report: expected a run directory, or its {writer.PAGE}")
    if not page.is_file():
        raise InputError(f"{found}: there is no {writer.PAGE}; `backwater report {found}` writes it")
    if not as_json:
        terminal.say(f"Opens {page}")
    if not webbrowser.open(page.resolve().as_uri()):
        raise InputError(f"{page}: no browser could be started; open this file yourself")
    if as_json:
        printing.print_json({"report": str(page)})
