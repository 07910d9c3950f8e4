"""`backwater reproduce`: published experiments, and each of their claims judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from backwater import disk, experiments, ledger, results, signals
from backwater.api import Experiment, Results
from backwater.cli.exits import FAILED
from backwater.cli.experiment import run_one
from backwater.cli.options import Force, Scale, Sets, Threads, check_file
from backwater.cli.places import destinations, planned


def reproduce(
    experiment: Annotated[str, typer.Argument(metavar="ID", help="Such as fig9, bfc-fig9, or bfc for all of a paper.")],
    scale: Scale = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the claims here as well.")
    ] = None,
    ledger_file: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="Put the claims into this ledger, others stay.")
    ] = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory to write. [default: a fresh one under runs/]")
    ] = None,
    sets: Sets = None,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Run a published experiment and judge each of its claims."""
    paths = experiments.find(experiment)
    opened = [Experiment.from_arguments(path, sets or [], scale) for path in paths.values()]
    for identifier, one in zip(paths, opened, strict=True):
        one.invocation = ["reproduce", identifier]
    for option, file in (("--json", json_file), ("--ledger", ledger_file)):
        if file is not None:
            check_file(option, file)
    if ledger_file is not None:
        ledger.read(ledger_file)
    identifiers = {one.path: identifier for identifier, one in zip(paths, opened, strict=True)}
    rows: list[dict[str, Any]] = []
    code = 0
    for one, place, todo in planned(opened, destinations(opened, out_dir), threads, force):
        if todo:
            code = max(code, run_one(one, place, threads, force))
        if signals.heard and not (place / results.CLAIMS).exists():
            raise typer.Exit(signals.code())
        done = Results(place)
        rows += done.claims
        if json_file is not None:  # After each, for what is there if this ends before the last.
            with disk.errors(json_file):
                disk.write_whole(json_file, json.dumps(rows, indent=2) + "\n")
        if ledger_file is not None:
            ledger.merge(ledger_file, ledger.rows(identifiers[one.path], done, one.command(None)))
        if signals.heard:
            raise typer.Exit(signals.code())
        if not todo and any(row["verdict"] == "fail" for row in done.claims):
            code = max(code, FAILED)
    raise typer.Exit(code)
