"""Options that every command has: `--quiet` and `--color`."""

from __future__ import annotations

import sys
from functools import cache
from typing import Annotated, Any, TypedDict

import typer

WHEN = ("auto", "always", "never")


class Chosen(TypedDict):
    """The options of every command."""

    quiet: bool
    color: str


chosen: Chosen = {"quiet": False, "color": "auto"}
"""What this process was asked for, here or before the command's name."""


def set_quiet(ctx: typer.Context, value: bool) -> None:
    chosen["quiet"] = value or (ctx.parent is not None and chosen["quiet"])
    apply()


def set_color(ctx: typer.Context, value: str | None) -> None:
    if value is not None and value not in WHEN:
        raise typer.BadParameter(f"{value!r}: expected {', '.join(WHEN)}")
    if value is not None or ctx.parent is None:
        chosen["color"] = value or "auto"
    apply()


def apply() -> None:
    """Applies the options to the terminal, if its module is imported. To import it would make `--version` slow."""
    if "backwater.cli.terminal" in sys.modules or chosen["quiet"] or chosen["color"] != "auto":
        from backwater.cli import terminal

        terminal.choose(**chosen)


def declared(
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", callback=set_quiet, help="Print only errors and the output you ask for.")
    ] = False,
    color: Annotated[
        str | None,
        typer.Option(
            "--color", metavar="WHEN", callback=set_color, help="Use colors: auto, always or never. [default: auto]"
        ),
    ] = None,
) -> None:
    """Declares the options that every command has."""


@cache
def options(panel: str) -> list[Any]:
    """Returns the options of every command, for this panel of the help."""
    app = typer.Typer(add_completion=False)
    app.command()(declared)
    params: list[Any] = typer.main.get_command(app).params
    for param in params:
        param.expose_value = False  # Their callbacks do all there is to do.
        param.rich_help_panel = panel
    return params
