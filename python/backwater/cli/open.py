"""`backwater open`: a report in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from backwater._core import InputError
from backwater.cli.lists import newest
from backwater.show.report import PAGE
from backwater.terminal import say


def open_report(
    place: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Name a run directory. Without one, the newest below runs/ is opened."),
    ] = None,
) -> None:
    """Open a report in the browser.

    Examples:
        backwater open
        backwater open runs/fig9
    """
    found = newest(Path("runs")) if place is None else place
    page = found if found.is_file() else found / PAGE
    if not page.is_file():
        raise InputError(f"{found}: there is no {PAGE}; `backwater report {found}` writes it")
    say(f"Opens {page}")
    if not webbrowser.open(page.resolve().as_uri()):
        raise InputError(f"{page}: no browser could be started; open this file yourself")
