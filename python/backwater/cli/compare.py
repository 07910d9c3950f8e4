"""`backwater compare`: runs side by side, or two sets of completion times flow by flow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater.api import Results
from backwater.cli.options import RunDirs
from backwater.hpcc import comparison, fct
from backwater.show import compare, compare_fct
from backwater.terminal import out


def compare_command(
    run: RunDirs,
    percentile: Annotated[str | None, typer.Option(help="mean, p50, p95 or p99. [default: p99]")] = None,
    flow_class: Annotated[
        str | None, typer.Option("--class", help="Class of flows. [default: the first; with --fct all]")
    ] = None,
    flow_by_flow: Annotated[
        bool, typer.Option("--fct", help="Flow by flow: two runs, or files fct.txt of HPCC's simulator.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="With --fct: write the comparison here as well.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--out", metavar="PICTURE", help="With --fct: draw it, as .svg, .png or .pdf.")
    ] = None,
) -> None:
    """Put runs side by side."""
    if flow_by_flow:
        if len(run) != 2:
            raise _core.InputError(f"--fct: {len(run)} given: expected two runs or files")
        if percentile is not None:
            raise _core.InputError(f"--percentile {percentile}: not with --fct, which has the median and p99")
        compare_fct.check_places(json_file, picture)
        done = comparison.compare(fct.open_any(run[0]), fct.open_any(run[1]), flow_class)
        for table in compare_fct.tables(done):
            out.print(table)
        compare_fct.write(done, json_file, picture)
        return
    for option, given in (("--json", json_file), ("--out", picture)):
        if given is not None:
            raise _core.InputError(f"{option} {given}: expected --fct with it")
    width = out.width if out.is_terminal else compare.WIDTH
    for part in compare.tables([Results(path) for path in run], percentile or "p99", flow_class, width):
        out.print(part)
