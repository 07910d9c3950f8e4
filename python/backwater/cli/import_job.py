"""`backwater import goal|csv|htsim|simai|chakra`: files of training jobs as scenarios."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import Force, Json, whole

with when_used():
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.scenario import jobs

Out = Annotated[Path, typer.Option("-o", "--out", metavar="FILE.toml", help="Write the scenario to this file.")]
Schemes = Annotated[str, typer.Option("--scheme", metavar="NAMES", help="Compare these schemes, with commas between.")]
Iterations = Annotated[
    int, typer.Option("--iterations", metavar="N", parser=whole(1, 1_000_000), help="Run the job N times.")
]
PerHost = Annotated[
    int, typer.Option("--ranks-per-host", metavar="N", parser=whole(1, 2**20), help="Put N ranks on each host.")
]
Channels = Annotated[
    int, typer.Option("--channels", metavar="N", parser=whole(1, 64), help="Use N channels in collectives.")
]
AllReduce = Annotated[str, typer.Option("--all-reduce", metavar="NAME", help="Use this algorithm of all-reduces.")]
DEFAULT = "bfc,dcqcn,hpcc"


def import_goal(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Name the trace, in text or binary.")],
    out_file: Out,
    schemes: Schemes = DEFAULT,
    iterations: Iterations = 1,
    per_host: PerHost = 1,
    binary: Annotated[bool, typer.Option("--binary", help="Read the binary form.")] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Import a GOAL trace of LogGOPSim or ATLAHS as a scenario.

    Examples:
        backwater import goal trace.goal -o trace.toml
    """
    form = "goal-binary" if binary or file.suffix == ".bin" else "goal"
    make(jobs.Job(file, form, listed(schemes), iterations, per_host), out_file, force, as_json)


def import_csv(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Name the table of messages.")],
    out_file: Out,
    schemes: Schemes = DEFAULT,
    iterations: Iterations = 1,
    per_host: PerHost = 1,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Import a CSV of dependent messages as a scenario.

    Examples:
        backwater import csv job.csv -o job.toml
    """
    make(jobs.Job(file, "csv", listed(schemes), iterations, per_host), out_file, force, as_json)


def import_htsim(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Name the connection matrix.")],
    out_file: Out,
    start_unit: Annotated[
        str, typer.Option("--start-unit", metavar="UNIT", help="Read starts in ps, or in us as htsim_uec does.")
    ],
    tree: Annotated[
        Path | None, typer.Option("--topology", metavar="FILE", help="Read the network from a .topo file.")
    ] = None,
    signal: Annotated[
        str | None, typer.Option("--signal", metavar="SIZE", help="Use a message of SIZE to trigger other hosts.")
    ] = None,
    schemes: Schemes = DEFAULT,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Import a connection matrix of htsim as a scenario.

    Examples:
        backwater import htsim a.cm --topology b.topo --start-unit us -o c.toml
    """
    if start_unit not in ("ps", "us"):
        raise _core.InputError(f"--start-unit {start_unit}: expected ps or us")
    size = None if signal is None else round(quantities.as_number(signal, "--signal"))
    job = jobs.Job(file, "htsim", listed(schemes), tree=tree, start_unit=start_unit, signal=size)
    make(job, out_file, force, as_json)


def import_simai(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Name the text workload.")],
    out_file: Out,
    schemes: Schemes = DEFAULT,
    iterations: Iterations = 1,
    per_host: PerHost = 1,
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", metavar="N", parser=whole(1, 2**20), help="Run N ranks, if the file does not say it."),
    ] = None,
    shrink: Annotated[
        int, typer.Option("--shrink", metavar="N", parser=whole(1, 2**20), help="Take an Nth of sizes and times.")
    ] = 1,
    parts: Annotated[
        int,
        typer.Option(
            "--virtual-stages", metavar="N", parser=whole(1, 1024), help="Put N parts at each stage, interleaved."
        ),
    ] = 1,
    first: Annotated[
        int | None,
        typer.Option(
            "--first-dimension",
            metavar="N",
            parser=whole(1, 2**20),
            help="Put N neighbours into a group, as ASTRA-sim does.",
        ),
    ] = None,
    stages: Annotated[
        int | None,
        typer.Option("--stages", metavar="N", parser=whole(1, 2**20), help="Put the rows on N pipeline stages."),
    ] = None,
    microbatches: Annotated[
        int | None,
        typer.Option("--microbatches", metavar="N", parser=whole(1, 2**16), help="Run all rows for N microbatches."),
    ] = None,
    stage_bytes: Annotated[
        str | None, typer.Option("--stage-bytes", metavar="SIZE", help="Let each stage send SIZE to the next.")
    ] = None,
    channels: Channels = 1,
    all_reduce: AllReduce = "ring",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Import a text workload of SimAI or ASTRA-sim as a scenario.

    Examples:
        backwater import simai gpt.txt --ranks-per-host 8 --shrink 100 -o gpt.toml
    """
    size = None if stage_bytes is None else f"{round(quantities.as_number(stage_bytes, '--stage-bytes'))} B"
    model: dict[str, Any] = {"ranks": ranks, "first_dimension": first, "stages": stages, "microbatches": microbatches}
    model |= {"stage_bytes": size, "shrink": shrink, "virtual_stages": parts}
    model |= {"channels": channels, "all_reduce": all_reduce}
    plain = {"shrink": 1, "virtual_stages": 1, "channels": 1, "all_reduce": "ring"}
    asked = {key: value for key, value in model.items() if value != plain.get(key)}
    make(jobs.Job(file, "simai", listed(schemes), iterations, per_host, model=asked), out_file, force, as_json)


def import_chakra(
    prefix: Annotated[Path, typer.Argument(metavar="PREFIX", help="Name the traces, without .RANK.et.")],
    out_file: Out,
    schemes: Schemes = DEFAULT,
    iterations: Iterations = 1,
    per_host: PerHost = 1,
    groups: Annotated[
        Path | None, typer.Option("--groups", metavar="FILE", help="Read groups of ranks from this JSON file.")
    ] = None,
    data_only: Annotated[
        bool, typer.Option("--data-only", help="Let nodes wait for data alone, as in traces of PyTorch.")
    ] = False,
    channels: Channels = 1,
    all_reduce: AllReduce = "ring",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Import execution traces of Chakra as a scenario.

    Examples:
        backwater import chakra traces/gpt --groups traces/groups.json -o gpt.toml
    """
    model: dict[str, Any] = {"groups": groups_of(groups)} if groups else {}
    model |= {"control_dependencies": False} if data_only else {}
    model |= {"channels": channels} if channels != 1 else {}
    model |= {"all_reduce": all_reduce} if all_reduce != "ring" else {}
    make(jobs.Job(prefix, "chakra", listed(schemes), iterations, per_host, model=model), out_file, force, as_json)


def groups_of(file: Path) -> dict[str, list[int]]:
    """Reads groups: an object of lists of ranks."""
    try:
        groups = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _core.InputError(f"{file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _core.InputError(f"{file}: is not JSON: {error}") from error
    fit = isinstance(groups, dict) and all(
        isinstance(ranks, list) and all(isinstance(rank, int) and 0 <= rank < 2**20 for rank in ranks)
        for ranks in groups.values()
    )
    if not fit:
        raise _core.InputError(f'{file}: expected an object of lists of ranks, such as {{"1": [0, 2, 4]}}')
    return groups


def listed(schemes: str) -> list[str]:
    return [scheme.strip() for scheme in schemes.split(",") if scheme.strip()] or [""]


def make(job: jobs.Job, out: Path, force: bool, as_json: bool) -> None:
    if out.suffix != ".toml":
        raise _core.InputError(f"--out {out}: expected a name that ends in .toml")
    imported = jobs.read(job, out)
    jobs.write(imported, out, force=force)
    if as_json:
        printing.print_json({"scenario": str(out), **imported.facts, "hosts": imported.hosts, "notes": imported.notes})
        return
    for line in jobs.summary(imported, out):
        terminal.say(line)
