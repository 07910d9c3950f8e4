"""`backwater sweep`: a scenario at every point of what is varied, each with several seeds, and one table of all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import signals, vary
from backwater._core import InputError
from backwater.api import Experiment, Results
from backwater.cli.experiment import Chosen, run_all
from backwater.cli.options import Force, On, Scale, Seeds, Sets, StoreDir, Threads, all_sets
from backwater.cli.places import destinations
from backwater.results import SUMMARY
from backwater.store import NAME
from backwater.terminal import say


def sweep_command(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (TOML).")],
    varied: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=VALUES",
            help="Values that a key takes in turn: load=0.5:0.95:0.05, scheme=bfc,dctcp. Repeatable: all combinations.",
        ),
    ] = None,
    seeds: Seeds = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory to write. [default: a fresh one under runs/]")
    ] = None,
    sets: Sets = None,
    scale: Scale = None,
    threads: Threads = None,
    force: Force = False,
    store: StoreDir = None,
    on: On = None,
) -> None:
    """Run a scenario at every point of a sweep and write one table of all runs.

    Runs that were made before, by any command with the same store, are not made again. [default: .store beside DIR]
    """
    asked = [*all_sets(sets, seeds), *map(vary.as_set, varied or [])]
    try:
        experiment = Experiment.from_arguments(scenario, asked, scale)
    except InputError as error:
        raise InputError(vary.as_asked(str(error))) from error
    experiment.invocation = ["sweep", str(scenario)]
    (place,) = destinations([experiment], out_dir)

    def tell(done: Results) -> None:
        say(f"Table: {done.path / SUMMARY}, a row for each run; `backwater schema summary` says what is in it")

    code = run_all([Chosen(experiment, place, tell)], threads, force, store=store or place.parent / NAME, on=on)
    raise typer.Exit(signals.code() if signals.heard else code)
