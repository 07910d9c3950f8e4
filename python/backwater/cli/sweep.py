"""`backwater sweep`: a scenario at every point of what is varied, each with several seeds, and one table of all."""

from __future__ import annotations

from typing import Annotated

import typer

from backwater._core import InputError
from backwater.cli.later import when_used
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
from backwater.common import signals
from backwater.scenario import vary

with when_used():
    from backwater import experiment as api
    from backwater.cli import experiment as runner
    from backwater.cli import places as placing
    from backwater.cli import printing, terminal
    from backwater.execute import store as stores
    from backwater.runs import directory
    from backwater.show import results


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
        experiment = api.Experiment.from_arguments(scenario, asked, scale)
    except InputError as error:
        raise InputError(vary.as_asked(str(error))) from error
    experiment.invocation = ["sweep", str(scenario)]
    if store is not None:
        stores.Store(store).check()
    (place,) = placing.destinations([experiment], out_dir)

    def tell(done: results.Results) -> None:
        terminal.say(
            f"Table: {done.path / directory.SUMMARY}, a row for each run; `backwater schema summary` says what is in it"
        )

    told = runner.Told.TABLE if claims else runner.Told.FAILED
    with printing.quietly(as_json):
        code = runner.run_all(
            [runner.Chosen(experiment, place, tell, told)],
            threads,
            force,
            store=store or place.parent / stores.NAME,
            on=on,
        )
    if as_json and not signals.heard:
        printing.print_results_json([place])
    raise typer.Exit(signals.code() if signals.heard else code)
