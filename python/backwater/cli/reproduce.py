"""`backwater reproduce`: published experiments, and each of their claims judged."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backwater.cli.later import when_used
from backwater.cli.options import (
    WHERE,
    Claims,
    Force,
    Json,
    On,
    OutDir,
    Scale,
    Seeds,
    Sets,
    StoreDir,
    Threads,
    all_sets,
    check_file,
)
from backwater.cli.until import Budget, Round, Until, goal
from backwater.common import signals
from backwater.scenario import experiments

if TYPE_CHECKING:
    from backwater.runs.verdicts import Claim

with when_used():
    from backwater import experiment as api
    from backwater.cli import experiment as runner
    from backwater.cli import places as placing
    from backwater.cli import printing
    from backwater.execute import store as stores
    from backwater.ledger import book as ledger
    from backwater.show import results


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name an experiment (bfc-fig9, or fig9 for short), a paper (bfc), or all."),
    ],
    sets: Sets = None,
    seeds: Seeds = None,
    scale: Scale = None,
    until: Until = None,
    budget: Budget = None,
    out_dir: OutDir = None,
    ledger_file: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="Write the claims into this ledger. Claims of other experiments and scales in it stay.",
            rich_help_panel=WHERE,
        ),
    ] = None,
    force: Force = False,
    store: StoreDir = None,
    threads: Threads = None,
    on: On = None,
    claims: Claims = False,
    as_json: Json = False,
) -> None:
    """Run a published experiment and judge its claims.

    Experiments that are already finished are skipped if you name several.
    The exit code is 1 if a claim failed or flows did not finish. With --json the claims are printed as JSON.

    Examples:
        backwater reproduce fig9 --scale smoke --claims
        backwater reproduce bfc --out runs/bfc
        backwater reproduce fig9 --until undecided=0 --budget "30 min"
    """
    wanted = goal(until, budget)
    paths = experiments.find(experiment)
    opened = runner.open_all(list(paths.values()), all_sets(sets, None), seeds, scale)
    for identifier, one in zip(paths, opened, strict=True):
        one.invocation = ["reproduce", identifier]
    identifiers = {one.path: identifier for identifier, one in zip(paths, opened, strict=True)}
    if ledger_file is not None:
        check_file("--ledger", ledger_file, force=True)  # It is read, and its other rows stay.
        ledger.read(ledger_file)
    rows: dict[Path, list[Claim]] = {one.path: [] for one in opened}

    def publish(one: api.Experiment, done: results.Results) -> None:
        """Writes the ledger after each experiment, so that an early end loses nothing."""
        rows[one.path] = done.claims
        if ledger_file is not None:
            ledger.merge(ledger_file, ledger.rows(identifiers[one.path], done, one.command(None)))

    if store is not None:
        stores.Store(store).check()
    places = placing.destinations(opened, out_dir)
    told = runner.Told.TABLE if claims else runner.Told.COUNTS
    chosen = [runner.Chosen(one, place, partial(publish, one), told) for one, place in zip(opened, places, strict=True)]
    if store is None and (len(opened) > 1 or wanted):
        store = places[0].parent / stores.NAME

    def run(some: list[runner.Chosen], anew: bool) -> int:
        return runner.run_all(some, threads, force or anew, store=store, on=on)

    def again(one: runner.Chosen, asked: Round) -> runner.Chosen:
        longer = all_sets([*(sets or []), *asked.sets()], asked.seeds)
        more = api.Experiment.from_arguments(one.experiment.path, longer, scale)
        more.invocation = one.experiment.invocation
        return runner.Chosen(more, one.place, partial(publish, more), told)

    with printing.quietly(as_json):
        code = wanted.settle(chosen, again, run) if wanted else run(chosen, False)
    if as_json and not signals.heard:
        printing.print_json([row for listed in rows.values() for row in listed])
    raise typer.Exit(signals.code() if signals.heard else code)
