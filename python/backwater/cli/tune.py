"""`backwater tune`: the values of keys with which a scheme does best."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from backwater._core import InputError
from backwater.cli.exits import stoppable
from backwater.cli.later import when_used
from backwater.cli.options import (
    HOW,
    WHAT,
    WHERE,
    Force,
    Json,
    OneScenario,
    Scale,
    Seeds,
    Sets,
    StoreDir,
    Threads,
    all_sets,
    valued,
    whole,
)
from backwater.cli.until import seconds
from backwater.common import signals

with when_used():
    from backwater import experiment as api
    from backwater.cli import printing, terminal
    from backwater.common import disk
    from backwater.execute import store as stores
    from backwater.judge import numbers
    from backwater.runs import tables
    from backwater.tuning import ranges, search

TRIALS = "trials.parquet"
BEST = "best.toml"


def keyed(text: str) -> tuple[str, Any]:
    """Divides KEY=RANGE. KEY and KEY:log have the declared range."""
    key, equals, told = text.partition("=")
    if equals:
        return key, ranges.parsed(key, told)
    key, colon, told = text.partition(":")
    return key, colon + told if colon else None


def tune(
    scenario: OneScenario,
    over: Annotated[
        list[str],
        typer.Option(
            "--over",
            metavar="KEY[=RANGE]",
            help="Take values of this key from a range: host.dctcp.g=0.01..1:log, switch.ecn.kmin=50KB..400KB, "
            "switch.queues=8..128 or scheme=bfc|flowsail. host.dctcp.g alone takes the range that the schema "
            "declares, and host.dctcp.g:log the same on a logarithmic scale. Repeat it for several keys.",
            rich_help_panel=WHAT,
        ),
    ],
    minimize: Annotated[
        str | None,
        valued("--minimize", "COLUMN", "Look for the least value of this column of summary.", WHAT),
    ] = None,
    maximize: Annotated[
        str | None,
        valued("--maximize", "COLUMN", "Look for the largest value of this column of summary.", WHAT),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(
            "--trials", metavar="N", parser=whole(1, 10_000), help="Run this many sets of values.", rich_help_panel=HOW
        ),
    ] = 30,
    budget: Annotated[str | None, valued("--budget", "TIME", "Use at most this time: 10 min, 2 h.", HOW)] = None,
    seeds: Seeds = None,
    sets: Sets = None,
    scale: Scale = None,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="DIR",
            help="Write the trials and the best scenario into this directory. [default: tuned/NAME]",
            rich_help_panel=WHERE,
        ),
    ] = None,
    force: Force = False,
    store: StoreDir = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Search for the values of keys with which a scheme does best.

    The first trial has the values of the scenario. Optuna chooses the others (`pip install 'backwater[optuna]'`). Each
    trial is a run in the store, so the same command does not run it again. `trials.parquet` has a row for each trial,
    and `best.toml` is the scenario with the best values.

    Examples:
        backwater tune a.toml --over host.dctcp.g=0.01..1 --minimize buffer.p99_bytes
        backwater tune a.toml --over switch.queues=8..128 --minimize buffer.p99_bytes
        backwater tune a.toml --over host.dctcp.g:log --minimize buffer.p99_bytes
    """
    if (minimize is None) == (maximize is None):
        raise InputError("--minimize, --maximize: expected one of them, such as --minimize slowdown.background.all.p99")
    objective = str(minimize or maximize)
    experiment = api.Experiment.from_arguments(scenario, all_sets(sets, seeds), scale)
    spaces = ranges.of(dict(map(keyed, over)), search.first_scenario(experiment))
    place = out_dir or Path("tuned") / experiment.name
    if place.exists() and not force:
        raise InputError(f"--out {place}: exists; name another directory, or replace it with --force")

    def tell(trial: Any, tuned: Any) -> None:
        best = tuned.best
        values = ", ".join(f"{key} = {value}" for key, value in trial.values.items())
        found = "none" if trial.objective is None else numbers.number(trial.objective)
        shown = f" (best {numbers.number(best.objective)}, trial {best.number})" if best is not None else ""
        said = f"refused: {trial.refused}" if trial.refused else f"{objective} {found}{shown}; {values}"
        terminal.say(f"Trial {trial.number} of {trials}: {said}")
        with disk.errors(place):
            place.mkdir(parents=True, exist_ok=True)
            tables.write_table(tuned.table(), place / TRIALS)

    with printing.quietly(as_json), stoppable(lambda: f"{place / TRIALS} has the trials so far") as stop:
        tuned = search.tune(
            experiment,
            spaces,
            objective,
            maximize=maximize is not None,
            trials=trials,
            seconds=float("inf") if budget is None else seconds(budget),
            store=store or place.parent / stores.NAME,
            threads=threads,
            tell=tell,
            stop=stop,
        )
    best = tuned.best
    if best is not None:
        chosen = experiment if best.number == 1 else experiment.with_(best.values)
        chosen.save(place / BEST, force=True)
    if as_json and not signals.heard:
        rows = [{"trial": one.number, "values": one.values, "objective": one.objective} for one in tuned.trials]
        printing.print_json({"objective": objective, "best": best and best.number, "trials": rows})
    elif best is not None:
        terminal.answer(f"Best: trial {best.number}, {objective} {numbers.number(best.objective)}: {place / BEST}")
    raise typer.Exit(signals.code() if signals.heard else 0)
