"""`backwater run`: scenarios to tables, figures and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import _core, events, signals
from backwater.api import Experiment, Results
from backwater.cli.experiment import Chosen, run_all
from backwater.cli.files import write_fct
from backwater.cli.options import Force, On, Scale, Scenarios, Seeds, Sets, StoreDir, Threads, all_sets
from backwater.cli.places import destinations
from backwater.compute import running
from backwater.hpcc import fct


def run(
    scenario: Scenarios,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory to write. [default: a fresh one under runs/]")
    ] = None,
    sets: Sets = None,
    seeds: Seeds = None,
    scale: Scale = None,
    threads: Threads = None,
    force: Force = False,
    store: StoreDir = None,
    on: On = None,
    fct_file: Annotated[
        Path | None, typer.Option("--fct", metavar="FILE", help="Write completion times as HPCC's simulator does.")
    ] = None,
    events_file: Annotated[
        Path | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Write pauses, drops, marks, link changes: .parquet, .arrow, or .json(.gz) for ui.perfetto.dev.",
        ),
    ] = None,
    events_span: Annotated[
        str | None, typer.Option("--events-span", metavar="FROM..TO", help="Only those from then to then: 1ms..2ms.")
    ] = None,
    events_max: Annotated[
        int | None,
        typer.Option("--events-max", metavar="N", help=f"The first so many of a run. [default: {events.AT_MOST}]"),
    ] = None,
) -> None:
    """Run scenarios and write tables, figures and a report."""
    opened = [Experiment.from_arguments(path, all_sets(sets, seeds), scale) for path in scenario]
    if fct_file is not None and len(opened) > 1:
        raise _core.InputError(
            f"--fct {fct_file}: expected one scenario; `backwater export fct` writes it for each run"
        )
    recorded = events_of(opened, events_file, events_span, events_max, force)
    places = destinations(opened, out_dir)
    fct_files = [] if fct_file is None else fct.destinations(fct_file, opened[0].labels, force=force)
    chosen = [Chosen(one, place) for one, place in zip(opened, places, strict=True)]
    code = run_all(chosen, threads, force, recorded, store, on)
    if signals.heard:
        raise typer.Exit(signals.code())
    if fct_files:
        write_fct(Results(places[0]).runs, dict(zip(opened[0].labels, fct_files, strict=True)))
    raise typer.Exit(code)


def events_of(
    opened: list[Experiment], file: Path | None, span: str | None, at_most: int | None, force: bool
) -> dict[str, events.Wanted]:
    """Which events to record, by run.

    # Errors
    `InputError` where they cannot be written, or are not asked for alike.
    """
    if file is None:
        for option, given in (("--events-span", span), ("--events-max", at_most)):
            if given is not None:
                raise _core.InputError(f"{option} {given}: expected --events with it")
        return {}
    wanted = events.wanted(file, span, at_most)
    if len(opened) > 1:
        raise _core.InputError(f"--events {file}: expected one scenario, not {len(opened)}")
    if any(map(running.is_computation, opened[0].scenarios.values())):
        raise _core.InputError(f"--events {file}: expected a scenario of a network; a computation has no events")
    return events.of_runs(wanted, opened[0].labels, force=force)
