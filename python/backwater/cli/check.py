"""`backwater check`: are scenarios valid, and what does running them take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from backwater import _core, check
from backwater.api import Experiment
from backwater.cli.check_deadlock import check_deadlock
from backwater.cli.options import Scale, Scenarios, Seeds, Sets, Threads, all_sets
from backwater.compute import running
from backwater.terminal import count, out, say, size, some, span


def check_command(
    scenario: Scenarios,
    sets: Sets = None,
    seeds: Seeds = None,
    scale: Scale = None,
    threads: Threads = None,
    for_deadlock: Annotated[
        bool, typer.Option("--deadlock", help="Look for cycles of pauses instead; exit code 1 if there are any.")
    ] = False,
    failures: Annotated[
        str | None,
        typer.Option(
            metavar="0|1|2|all",
            help="With --deadlock: any one, or two, links between switches fail; all: any turn. [default: 0]",
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="With --deadlock: write what was found here as well.")
    ] = None,
    write_file: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="With --deadlock: write a scenario that elides what it takes."),
    ] = None,
) -> None:
    """Validate scenarios and estimate what running them takes."""
    if for_deadlock:
        check_deadlock(scenario, all_sets(sets, seeds), scale, failures or "0", json_file, write_file)
        return
    for option, given in (("--failures", failures), ("--json", json_file), ("--write", write_file)):
        if given is not None:
            raise _core.InputError(f"{option} {given}: expected --deadlock with it")
    for path in scenario:
        experiment = Experiment.from_arguments(path, all_sets(sets, seeds), scale)
        if any(map(running.is_computation, experiment.scenarios.values())):
            kinds = ", ".join(dict.fromkeys(map(running.kind_of, experiment.scenarios.values())))
            say(f"{path}: valid. {some(len(experiment.labels), 'computation')} of {kinds}.")
            continue
        estimate = check.estimate(experiment, threads)
        table = Table(title=experiment.name, title_justify="left", title_style="bold")
        for heading in ("run", "scheme", "seeds", "flows", "packet-hops", "simulated", "time", "memory"):
            table.add_column(heading, justify="left" if heading in ("run", "scheme") else "right")
        for row in estimate.rows:
            table.add_row(
                row.label,
                row.scheme,
                str(row.seeds),
                count(row.flows),
                count(row.packet_hops),
                span(row.sim_time_ps * 1e-12),
                span(row.wall_s),
                size(row.memory_mb * 1e6),
            )
        out.print(table)
        say(
            f"{path}: valid. All runs: about {span(estimate.wall_s)} on {estimate.threads} threads at "
            f"{count(estimate.hops_per_s)} packet-hops/s each (measured now), "
            f"{size(estimate.memory_mb * 1e6)} of memory."
        )
