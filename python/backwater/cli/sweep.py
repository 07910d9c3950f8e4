"""`backwater sweep`: a scenario at every point of what is varied, each with several seeds, and one table of all."""

from __future__ import annotations

from typing import Annotated

import typer

from backwater import signals, vary
from backwater._core import InputError
from backwater.api import Experiment, Results
from backwater.cli.experiment import Chosen, Told, run_all
from backwater.cli.options import (
    WHAT,
    Claims,
    Force,
    Json,
    On,
    OneScenario,
    OutDir,
    Scale,
    Seeds,
    Sets,
    StoreDir,
    Threads,
    all_sets,
    unpercented,
)
from backwater.cli.places import destinations
from backwater.cli.printing import print_results_json, quietly
from backwater.results import SUMMARY
from backwater.store import NAME
from backwater.terminal import say


def sweep(
    scenario: OneScenario,
    varied: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=VALUES",
            help="Take these values in turn: load=0.5:0.95:0.05, load=50%,80% or scheme=bfc,dctcp. "
            "Repeat it for all combinations.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    seeds: Seeds = None,
    sets: Sets = None,
    scale: Scale = None,
    out_dir: OutDir = None,
    force: Force = False,
    store: StoreDir = None,
    threads: Threads = None,
    on: On = None,
    claims: Claims = False,
    as_json: Json = False,
) -> None:
    """Run a scenario at every point of a sweep and write one table.

    Finished runs are cached in a store, which is `.store` beside the output directory if --store names no other.
    Every command with the same store reuses them.

    Examples:
        backwater sweep mine.toml --vary scheme=bfc,dctcp --vary load=20%:80%:20%
    """
    asked = [*all_sets(sets, seeds), *(vary.as_set(unpercented(one)) for one in varied or [])]
    try:
        experiment = Experiment.from_arguments(scenario, asked, scale)
    except InputError as error:
        raise InputError(vary.as_asked(str(error))) from error
    experiment.invocation = ["sweep", str(scenario)]
    (place,) = destinations([experiment], out_dir)

    def tell(done: Results) -> None:
        say(f"Table: {done.path / SUMMARY}, a row for each run; `backwater schema summary` says what is in it")

    told = Told.TABLE if claims else Told.FAILED
    with quietly(as_json):
        code = run_all(
            [Chosen(experiment, place, tell, told)], threads, force, store=store or place.parent / NAME, on=on
        )
    if as_json and not signals.heard:
        print_results_json([place])
    raise typer.Exit(signals.code() if signals.heard else code)
