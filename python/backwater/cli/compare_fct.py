"""`backwater compare-fct`: two sets of completion times, flow by flow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater.cli.later import when_used
from backwater.cli.options import Force, Json, check_file

with when_used():
    from backwater.cli import printing, terminal
    from backwater.hpcc import comparison, fct
    from backwater.show import compare_fct as flow_by_flow


def compare_fct(
    a: Annotated[Path, typer.Argument(metavar="A", help="Name a run, or a file fct.txt of HPCC's simulator.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Name another one, which is compared with A.")],
    flow_class: Annotated[
        str | None,
        typer.Option(
            "--class", metavar="CLASS", help="Compare only background, incast or port-N flows. [default: all]"
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Draw the comparison into FILE: .svg, .png or .pdf."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare completion times flow by flow.

    A and B are run directories with one run, a run in one, or files that HPCC's simulator wrote.

    Examples:
        backwater compare-fct theirs/fct.txt runs/mine --out compared.svg
        backwater compare-fct runs/mine/BFC runs/mine/HPCC --class background
    """
    if picture is not None:
        flow_by_flow.check_format(picture)
        check_file("--out", picture, force=force)
    done = comparison.compare(fct.open_any(a), fct.open_any(b), flow_class)
    if as_json:
        printing.print_json(flow_by_flow.as_json(done))
    else:
        for table in flow_by_flow.tables(done):
            terminal.out.print(table)
    if picture is not None:
        flow_by_flow.draw(done, picture)
