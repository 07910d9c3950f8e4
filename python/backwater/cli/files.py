"""`backwater import` and `backwater export`: files of another simulator, in and out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import Force, Json, OneScenario, Scale, Sets, all_sets
from backwater.common import suggest

if TYPE_CHECKING:
    from backwater.scenario.plan import Planned

with when_used():
    from backwater import experiment as api
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.compute import running
    from backwater.hpcc import exporter, fct, importer
    from backwater.runs import manifest, run


def import_hpcc(
    topology: Annotated[Path, typer.Option("--topology", metavar="FILE", help="Read the network from topology.txt.")],
    flows: Annotated[Path, typer.Option("--flows", metavar="FILE", help="Read the flows from flow.txt.")],
    transport: Annotated[
        str,
        typer.Option(
            "--transport", metavar="NAME", help="Use this transport: dctcp, dcqcn, hpcc, pint, timely or line-rate."
        ),
    ],
    out_file: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE.toml", help="Write the scenario to this file.")
    ],
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Read settings from config.txt. [default: its defaults]"),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Import files of HPCC's simulator as a scenario.

    The flows are written beside the scenario.

    Examples:
        backwater import hpcc --topology t --flows f --transport hpcc -o a.toml
    """
    if out_file.suffix != ".toml":
        raise _core.InputError(f"--out {out_file}: expected a name that ends in .toml")
    imported = importer.read(topology, flows, config, transport, out_file.stem)
    written = importer.write(imported, out_file, force=force)
    if as_json:
        facts = {"scenario": str(written[0]), "flow_files": list(map(str, written[1:])), "notes": imported.notes}
        printing.print_json(facts)
        return
    for line in importer.summary(imported, written):
        terminal.say(line)


def export_hpcc(
    scenario: OneScenario,
    place: Annotated[Path, typer.Argument(metavar="DIR", help="Name the directory to write into.")],
    name: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="Write this run, or all seeds of a variant. [default: the only run]"),
    ] = None,
    sets: Sets = None,
    scale: Scale = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a scenario as files of HPCC's simulator.

    The files are topology.txt, flow.txt and config.txt. Several runs have a directory each in DIR.

    Examples:
        backwater export hpcc mine.toml theirs
        backwater export hpcc bfc-fig9 theirs --scale smoke --run BFC
    """
    runs = api.Experiment.from_arguments(scenario, all_sets(sets, None), scale).plan.runs
    running.networks(scenario, [run.scenario for run in runs])
    chosen = runs if name is None else named(runs, name)
    if not chosen or (name is None and len(runs) > 1):
        given = f"--run {name}: no such run" if name else f"{scenario}: {len(runs)} runs: choose some with --run"
        raise _core.InputError(f"{given}; {suggest.expected(name or '', [run.label for run in runs])}")
    told = []
    for run in chosen:
        exported = exporter.read(run.scenario)
        into = place if len(chosen) == 1 else place / run.label
        exporter.write(exported, into, force=force)
        told.append({"run": run.label, "path": str(into), "files": list(exported.files), "notes": exported.notes})
        if as_json:
            continue
        terminal.say(f"{into}: {', '.join(exported.files)}: {exported.summary}")
        for note in exported.notes:
            terminal.say(f"Not the same there: {note}")
    if as_json:
        printing.print_json(told)


def named(runs: list[Planned], name: str) -> list[Planned]:
    """Returns the run of a plan with this label, or all seeds of a variant."""
    exact = [run for run in runs if run.label == name]
    seeds = [run for run in runs if manifest.without_seed(run.label, run.params) == name]
    return exact or seeds or [run for run in runs if run.params.get("variant") == name]


def export_fct(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Name a run directory, or a run in one.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Name the file to write. Several runs are written to FILE.RUN.txt.")
    ],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write completion times as HPCC's simulator does.

    Examples:
        backwater export fct runs/mine fct.txt
    """
    runs = fct.runs(run)
    labels = [one.label for one in runs]
    files = dict(zip(labels, fct.destinations(file, labels, force=force), strict=True))
    with printing.quietly(as_json):
        written = write_fct(runs, files)
    if as_json:
        printing.print_json(written)


def write_fct(runs: Iterable[run.Run], files: dict[str, Path]) -> list[dict[str, object]]:
    """Writes the files of runs by their labels, says so, and returns what each has."""
    written: list[dict[str, object]] = []
    for run in runs:
        finished = fct.write(run, files[run.label])
        counts = {"flows": len(finished), "unfinished": finished.unfinished, "endless": finished.endless}
        written.append({"run": run.label, "path": str(files[run.label]), **counts})
        left = f", {quantities.some(finished.unfinished, 'flow')} did not finish" if finished.unfinished else ""
        left += f", {quantities.some(finished.endless, 'flow')} without end left out" if finished.endless else ""
        terminal.say(f"{files[run.label]}: {quantities.some(len(finished), 'flow')} of {run.label}{left}")
        if run.scenario["measure"]["slowdown"] != "hpcc-sim":
            terminal.say(
                "Note: its last column is this run's own idle time, to the last byte at the receiver; "
                'that simulator\'s needs measure.slowdown = "hpcc-sim"'
            )
    return written
