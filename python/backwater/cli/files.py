"""`backwater import` and `backwater export`: files of another simulator, in and out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater.api import Experiment
from backwater.cli.options import Scale, Sets
from backwater.compute import running
from backwater.hpcc import exporter, fct, importer
from backwater.results import Run
from backwater.terminal import say, some


def import_hpcc(
    topology: Annotated[Path, typer.Option("--topology", metavar="FILE", help="Its topology.txt.")],
    flows: Annotated[Path, typer.Option("--flows", metavar="FILE", help="Its flow.txt.")],
    transport: Annotated[
        str, typer.Option(metavar="NAME", help="dctcp, dcqcn, hpcc, pint, timely or line-rate: what its hosts do.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT.toml", help="Scenario to write.")],
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Its config.txt. [default: defaults]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that stand there.")] = False,
) -> None:
    """Import files of HPCC's simulator: a scenario, and its flows beside it."""
    if out.suffix != ".toml":
        raise _core.InputError(f"-o {out}: expected a name that ends in .toml")
    imported = importer.read(topology, flows, config, transport, out.stem)
    for line in importer.summary(imported, importer.write(imported, out, force=force)):
        say(line)


def export_hpcc(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (TOML).")],
    place: Annotated[Path, typer.Argument(metavar="DIR", help="Directory to write into.")],
    label: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Of several runs, which. [default: the only one]")
    ] = None,
    sets: Sets = None,
    scale: Scale = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that stand in DIR.")] = False,
) -> None:
    """Write a scenario, its traffic drawn, as files of HPCC's simulator: topology, flows, configuration."""
    runs = Experiment.from_arguments(scenario, sets or [], scale).plan["runs"]
    running.networks(scenario, [run["scenario"] for run in runs])
    chosen = [run for run in runs if label in (None, run["label"])]
    if len(chosen) != 1:
        labels = ", ".join(run["label"] for run in runs)
        given = f"--run {label}: no such run" if label else f"{scenario}: {len(runs)} runs: choose one with --run"
        raise _core.InputError(f"{given}; there is {labels}")
    exported = exporter.read(chosen[0]["scenario"])
    exporter.write(exported, place, force=force)
    say(f"{place}: {', '.join(exported.files)}: {exported.summary}")
    for note in exported.notes:
        say(f"Not the same there: {note}")


def export_fct(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, or a run in one.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write; of several runs, one each: fct.RUN.txt.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace files that stand there.")] = False,
) -> None:
    """Write completion times of a run's flows as HPCC's simulator does: fct.txt."""
    runs = fct.runs(run)
    labels = [one.label for one in runs]
    write_fct(runs, dict(zip(labels, fct.destinations(file, labels, force=force), strict=True)))


def write_fct(runs: list[Run], files: dict[str, Path]) -> None:
    """Writes the files of runs by their labels, and says so."""
    for run in runs:
        finished = fct.write(run, files[run.label])
        left = f", {some(finished.unfinished, 'flow')} did not finish" if finished.unfinished else ""
        say(f"{files[run.label]}: {some(len(finished), 'flow')} of {run.label}{left}")
        if run.scenario["measure"]["slowdown"] != "hpcc-sim":
            say(
                "Note: its last column is this run's own idle time, to the last byte at the receiver; "
                'that simulator\'s needs measure.slowdown = "hpcc-sim"'
            )
