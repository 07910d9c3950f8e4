"""`backwater new`: a first scenario to run and to change."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from backwater.cli.later import when_used
from backwater.cli.options import Force, Json
from backwater.scenario import starter

with when_used():
    from backwater.cli import printing, terminal
    from backwater.common import quantities


def new(
    place: Annotated[Path, typer.Argument(metavar="DIR", help="Name the directory to write scenario.toml into.")],
    topology: Annotated[
        str, typer.Option("--topology", metavar="KIND", help=f"Use this network: {', '.join(starter.TOPOLOGIES)}.")
    ] = "leaf-spine",
    scheme: Annotated[
        str, typer.Option("--scheme", metavar="NAMES", help="Compare these schemes, with commas between them.")
    ] = "bfc,dcqcn",
    workload: Annotated[
        str,
        typer.Option(
            "--workload",
            metavar="NAME",
            help="Use a table of `backwater list workloads`, or a CSV file of sizes or of flows.",
        ),
    ] = "google_rpc",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a first scenario with a comment at each key.

    The scenario runs in less than a minute. The last line is the command that runs it.

    Examples:
        backwater new lab
        backwater new lab --topology fat-tree --scheme bfc,hpcc --workload sizes.csv
    """
    schemes = [name.strip() for name in scheme.split(",") if name.strip()]
    started = starter.start(place, topology, schemes, workload, force=force)
    command = f"backwater run {shlex.quote(str(started.path))}"
    if as_json:
        facts = {"scenario": str(started.path), "runs": started.runs, "flows_each": started.flows, "next": command}
        printing.print_json(facts)
        return
    each = f"about {quantities.some(started.flows, 'flow')} each"
    terminal.say(f"{started.path}: {starter.TITLES[topology]}; {quantities.some(started.runs, 'run')}, {each}.")
    if started.flows < starter.FLOWS_FEW:
        terminal.say("These are few flows for a result, since they are long: a longer run.duration gives more.")
    terminal.say(f"Next: {command}")
