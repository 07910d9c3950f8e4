"""`backwater compare`: variants side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from backwater.cli.later import when_used
from backwater.cli.options import Json, RunDirs, short

with when_used():
    from backwater.cli import printing, terminal
    from backwater.show import compare as side_by_side
    from backwater.show import results


def statistic(text: str) -> str:
    """Reads mean, p99 or 99."""
    name = text if text in side_by_side.STATISTICS else f"p{text.removeprefix('p').removesuffix('%')}"
    if name not in side_by_side.STATISTICS:
        raise typer.BadParameter(f"{short(text)}: expected one of {', '.join(side_by_side.STATISTICS)}")
    return name


def compare(
    run: RunDirs,
    percentile: Annotated[
        str, typer.Option("--percentile", metavar="P", parser=statistic, help="Compare mean, p50, p95 or p99.")
    ] = "p99",
    flow_class: Annotated[
        str | None,
        typer.Option("--class", metavar="CLASS", help="Compare this class of flows. [default: the first]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print variants side by side.

    Each variant is one column. Seeds are joined: slowdowns are means with intervals of 95 %, counts are added up.

    Examples:
        backwater compare runs/fig9
        backwater compare runs/fig9 runs/mine --percentile mean
    """
    opened = [results.Results(path) for path in run]
    if as_json:
        printing.print_json(side_by_side.as_json(opened))
        return
    width = terminal.out.width if terminal.out.is_terminal else side_by_side.WIDTH
    for part in side_by_side.tables(opened, percentile, flow_class, width):
        terminal.out.print(part)
