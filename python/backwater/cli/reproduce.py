"""`backwater reproduce`: published experiments, and each of their claims judged."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from backwater import disk, experiments, ledger, signals
from backwater.api import Experiment, Results
from backwater.cli.experiment import Chosen, run_all
from backwater.cli.options import Force, On, Scale, Seeds, Sets, StoreDir, Threads, all_sets, check_file
from backwater.cli.places import destinations
from backwater.cli.until import Budget, Until, goal
from backwater.store import NAME


def reproduce(
    experiment: Annotated[
        str, typer.Argument(metavar="ID", help="Such as fig9, bfc-fig9, bfc for all of a paper, or all.")
    ],
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
    seeds: Seeds = None,
    threads: Threads = None,
    force: Force = False,
    store: StoreDir = None,
    on: On = None,
    until: Until = None,
    budget: Budget = None,
) -> None:
    """Run a published experiment and judge each of its claims."""
    wanted = goal(until, budget)
    paths = experiments.find(experiment)
    opened = [Experiment.from_arguments(path, sets or [], scale) for path in paths.values()]
    if seeds is not None:
        # Of several experiments those whose seed is part of the set-up keep it; of one that is refused.
        free = [len(opened) == 1 or not (one.plan["seeds"] or {}).get("fixed") for one in opened]
        both = zip(opened, free, strict=True)
        opened = [Experiment.from_arguments(one.path, all_sets(sets, seeds), scale) if f else one for one, f in both]
    for identifier, one in zip(paths, opened, strict=True):
        one.invocation = ["reproduce", identifier]
    identifiers = {one.path: identifier for identifier, one in zip(paths, opened, strict=True)}
    for option, file in (("--json", json_file), ("--ledger", ledger_file)):
        if file is not None:
            check_file(option, file)
    if ledger_file is not None:
        ledger.read(ledger_file)
    rows: dict[Path, list[dict[str, Any]]] = {one.path: [] for one in opened}

    def publish(one: Experiment, done: Results) -> None:
        """After each, for what is there if this ends before the last."""
        rows[one.path] = done.claims
        if json_file is not None:
            with disk.errors(json_file):
                text = json.dumps([row for listed in rows.values() for row in listed], indent=2)
                disk.write_whole(json_file, text + "\n")
        if ledger_file is not None:
            ledger.merge(ledger_file, ledger.rows(identifiers[one.path], done, one.command(None)))

    places = destinations(opened, out_dir)
    chosen = [Chosen(one, place, partial(publish, one)) for one, place in zip(opened, places, strict=True)]
    if store is None and (len(opened) > 1 or wanted):
        store = places[0].parent / NAME

    def run(some: list[Chosen], anew: bool) -> int:
        return run_all(some, threads, force or anew, store=store, on=on)

    def again(one: Chosen, count: int) -> Chosen:
        more = Experiment.from_arguments(one.experiment.path, all_sets(sets, count), scale)
        more.invocation = one.experiment.invocation
        return Chosen(more, one.place, partial(publish, more))

    code = wanted.settle(chosen, again, run) if wanted else run(chosen, False)
    raise typer.Exit(signals.code() if signals.heard else code)
