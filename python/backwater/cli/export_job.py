"""`backwater export goal|csv|htsim`: jobs as files of other simulators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import Force, Json, Scale, Sets, all_sets

with when_used():
    from backwater import experiment as api
    from backwater.cli import files, printing, terminal
    from backwater.common import suggest
    from backwater.compute import running
    from backwater.scenario import exported

Source = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="Name a scenario, or the file of a job: .goal, .bin, .csv, .cm.")
]
Out = Annotated[Path, typer.Argument(metavar="FILE", help="Name the file to write.")]
Class = Annotated[
    str | None,
    typer.Option("--class", metavar="NAME", help="Write the workload of this class. [default: the only job]"),
]
Run = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Take the job of this run of the scenario.")]
LeaveOut = Annotated[
    str,
    typer.Option("--leave-out", metavar="WORDS", help="Write without phases, acknowledgements or fractions of a ns."),
]


def export_goal(
    source: Source,
    out_file: Out,
    class_: Class = None,
    name: Run = None,
    binary: Annotated[bool, typer.Option("--binary", help="Write the binary form, as for FILE.bin.")] = False,
    leave_out: LeaveOut = "",
    sets: Sets = None,
    scale: Scale = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a job as a GOAL trace of LogGOPSim and ATLAHS.

    GOAL has no phases, no sends that wait for acknowledgements, and whole ns. A job
    with these is refused, unless they are left out.

    Examples:
        backwater export goal gpt.toml gpt.goal --leave-out phases,fractions
    """
    form = "goal-binary" if binary or out_file.suffix == ".bin" else "goal"
    export = exported.Export(form, None, exported.parts(leave_out))
    write(source, export, out_file, class_, name, all_sets(sets, None), scale, force, as_json)


def export_csv(
    source: Source,
    out_file: Out,
    class_: Class = None,
    name: Run = None,
    sets: Sets = None,
    scale: Scale = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a job as a CSV of dependent messages.

    Examples:
        backwater export csv ring.toml ring.csv
    """
    write(source, exported.Export("csv"), out_file, class_, name, all_sets(sets, None), scale, force, as_json)


def export_htsim(
    source: Source,
    out_file: Out,
    start_unit: Annotated[
        str, typer.Option("--start-unit", metavar="UNIT", help="Write starts in ps, or in us for htsim_uec.")
    ],
    class_: Class = None,
    name: Run = None,
    leave_out: LeaveOut = "",
    sets: Sets = None,
    scale: Scale = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a job as a connection matrix of htsim.

    Messages that wait become flows with triggers. htsim does not compute, and has
    no phases.

    Examples:
        backwater export htsim ring.toml ring.cm --start-unit us
    """
    if start_unit not in ("ps", "us"):
        raise _core.InputError(f"--start-unit {start_unit}: expected ps or us")
    export = exported.Export("htsim", start_unit, exported.parts(leave_out))
    write(source, export, out_file, class_, name, all_sets(sets, None), scale, force, as_json)


def write(
    source: Path,
    export: exported.Export,
    out: Path,
    class_: str | None,
    name: str | None,
    sets: list[str],
    scale: str | None,
    force: bool,
    as_json: bool,
) -> None:
    if source.suffix in exported.READ:
        if class_ or name or sets or scale:
            raise _core.InputError(f"{source}: --class, --run, --set and --scale are for scenarios")
        facts = exported.of_file(source, export, out, force=force)
    else:
        runs = api.Experiment.from_arguments(source, sets, scale).plan.runs
        running.networks(source, [run.scenario for run in runs])
        chosen = runs if name is None else files.named(runs, name)
        jobs = [run.scenario["workload"] for run in chosen]
        if not chosen or any(job != jobs[0] for job in jobs):
            given = (
                f"--run {name}: no such run" if name else f"{source}: runs have several workloads: choose with --run"
            )
            raise _core.InputError(f"{given}; {suggest.expected(name or '', [run.label for run in runs])}")
        facts = exported.of_scenario(chosen[0].scenario, export, out, class_, force=force)
    if as_json:
        printing.print_json({"file": str(out), **facts})
        return
    for line in exported.summary(facts, out):
        terminal.say(line)
