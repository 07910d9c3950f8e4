"""`backwater list`: experiments, schemes, workloads, chips and runs."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater._core import InputError
from backwater.cli.later import when_used
from backwater.cli.options import Json
from backwater.scenario import experiments as published

with when_used():
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.plan import bcc
    from backwater.runs import manifest
    from backwater.scenario import chips as chipset
    from backwater.show import results


RUNS = Path("runs")

Row = Mapping[str, object]
"""A row to print, of which a table shows some columns."""


def experiments(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="List those of one paper, such as bfc or flowsail.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the published experiments.

    `backwater show NAME` prints the scenario of one, `backwater reproduce NAME` runs it.

    Examples:
        backwater list experiments
        backwater list experiments bfc --json
    """
    names = published.known() if paper is None else published.find(paper)
    rows = [dataclasses.asdict(published.about(name)) for name in names]
    print_rows([{**row, "path": str(row["path"])} for row in rows], ["name", "title", "section"], as_json)


def schemes(as_json: Json = False) -> None:
    """List the schemes with their sources.

    Examples:
        backwater list schemes
    """
    print_rows(known_schemes(), ["name", "what it is", "source"], as_json)


def known_schemes() -> list[dict[str, str]]:
    return [
        scheme | {"what it is": f"{scheme['title']}. {scheme['summary']}".strip()}
        for scheme in json.loads(_core.schemes())
    ]


def workloads(as_json: Json = False) -> None:
    """List the tables of flow sizes.

    A scenario uses one with `sizes = { table = "google_rpc" }`. `backwater show NAME` prints its points.

    Examples:
        backwater list workloads
    """
    print_rows([workload(name) for name in _core.size_tables()], ["name", "mean size", "smallest", "largest"], as_json)


def workload(name: str) -> Row:
    """Returns a table of flow sizes: its points in bytes and shares, and the mean of the drawn sizes."""
    table, (mean, _) = json.loads(_core.size_table(name))
    points = table["points"]
    return {
        "name": name,
        "mean size": quantities.size(mean),
        "smallest": quantities.size(next(at for at, share in points if share > 0)),
        "largest": quantities.size(points[-1][0]),
        "mean_bytes": mean,
        "points": points,
    }


def chips(as_json: Json = False) -> None:
    """List switching chips and their packet memory.

    Examples:
        backwater list chips
    """
    if as_json:
        printing.print_json(list(chipset.chips().values()))
    else:
        terminal.out.print(bcc.chip_table())


def runs(
    place: Annotated[
        Path, typer.Argument(metavar="DIR", help="Look below this directory. [default: runs]", show_default=False)
    ] = RUNS,
    as_json: Json = False,
) -> None:
    """List the run directories below a directory.

    The newest one is last.

    Examples:
        backwater list runs
        backwater list runs /scratch/results --json
    """
    rows: list[Row] = []
    for directory in run_directories(place):
        try:
            done = results.Results(directory)
        except InputError as error:
            rows.append({"path": str(directory), "experiment": "", "runs": "-", "state": str(error.problem or error)})
            continue
        state = "interrupted" if done.interrupted else "complete" if done.complete else "flows unfinished"
        rows.append(
            {"path": str(directory), "experiment": done.name, "runs": len(done.runs), "state": state}
            | {"digest": done.digest, "command": done.manifest.command}
        )
    if not rows and not as_json:
        terminal.say(f"{place}: no run directories")
        return
    print_rows(rows, ["path", "experiment", "runs", "state"], as_json)


def run_directories(place: Path) -> list[Path]:
    """Returns directories with a manifest, at most three levels down, the newest last.

    # Errors
    `InputError` if there is no such directory.
    """
    if not place.is_dir():
        raise InputError(f"{place}: no such directory")
    found = {}
    for at, inner, files in os.walk(place):
        depth = len(Path(at).relative_to(place).parts)
        if manifest.MANIFEST in files:
            found[Path(at)] = (Path(at) / manifest.MANIFEST).stat().st_mtime
            inner.clear()
        inner[:] = [] if depth >= 3 else [name for name in inner if not name.startswith(".")]
    return sorted(found, key=lambda directory: (found[directory], directory))


def newest(place: Path) -> Path:
    """Returns the run directory that was written last.

    # Errors
    `InputError` if there is none.
    """
    if not place.is_dir() or not (found := run_directories(place)):
        raise InputError(f"{place}: no run directories; name one")
    return found[-1]


def print_rows(rows: Sequence[Row], headings: list[str], as_json: bool) -> None:
    """Prints some columns as a table, or everything as JSON."""
    if as_json:
        printing.print_json(rows)
        return
    table = terminal.Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(str(row.get(heading, "")) for heading in headings))
    terminal.out.print(table)
