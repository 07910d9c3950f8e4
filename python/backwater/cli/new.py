"""`backwater new`: a first scenario to run and to change."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from backwater import starter
from backwater.terminal import say, some


def new(
    place: Annotated[Path, typer.Argument(metavar="DIR", help="Directory to write scenario.toml into.")],
    topology: Annotated[
        str, typer.Option(metavar="KIND", help=f"Network: {', '.join(starter.TOPOLOGIES)}.")
    ] = "leaf-spine",
    scheme: Annotated[
        str, typer.Option(metavar="NAMES", help="Schemes to compare, with commas between them.")
    ] = "bfc,dcqcn",
    workload: Annotated[
        str, typer.Option(metavar="NAME", help="Published table of flow sizes, or a CSV file of sizes or of flows.")
    ] = "google_rpc",
    force: Annotated[bool, typer.Option("--force", help="Replace a scenario that is there.")] = False,
) -> None:
    """Write a first scenario, with a comment at each key: `backwater new lab --scheme bfc,hpcc`."""
    schemes = [name.strip() for name in scheme.split(",") if name.strip()]
    started = starter.start(place, topology, schemes, workload, force=force)
    each = f"about {some(started.flows, 'flow')} each"
    say(f"{started.path}: {starter.TITLES[topology]}; {some(started.runs, 'run')}, {each}.")
    if started.flows < starter.FLOWS_FEW:
        say("These are few flows for a result, since they are long: a longer run.duration gives more.")
    say(f"Next: backwater run {shlex.quote(str(started.path))}")
