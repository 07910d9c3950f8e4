"""Options that several commands have, and the values that options take."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from backwater import _core, disk
from backwater.judge.measured import as_number
from backwater.judge.measured import quantity as measured_quantity
from backwater.sweep import THREADS_MAX

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a value of the scenario, such as switch.queues=128. Repeatable."
    ),
]
Scale = Annotated[str | None, typer.Option(metavar="SCALE", help="One of the scenario's scales: smoke, quick, paper.")]
Seeds = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=1000, help="Seeds that each run is made with, as --set seeds.count=N."),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=THREADS_MAX,
        help="Threads to use. Results do not depend on it. [default: one for each processor that may be used]",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a run that stands in DIR.")]
StoreDir = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", help="Take runs from here that were made before, and keep new ones."),
]
On = Annotated[
    str | None,
    typer.Option(metavar="CLUSTER", help="Run there: dask://HOST:PORT, slurm:JOBS, pbs:JOBS. [default: here]"),
]
Scenarios = Annotated[list[Path], typer.Argument(metavar="SCENARIO", help="Scenario files (TOML).")]
RunDirs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Run directories.")]


def all_sets(sets: list[str] | None, seeds: int | None) -> list[str]:
    """What `--set` and `--seeds` ask for."""
    return [*(sets or []), *([] if seeds is None else [f"seeds.count={seeds}"])]


def whole(text: str | int) -> int:
    """A whole number in ASCII digits, and in no more than fit into a machine's."""
    if not re.fullmatch(r"-?[0-9]{1,18}", str(text)):
        raise typer.BadParameter(f"{str(text)[:60]!r}: expected a whole number")
    return int(text)


def real(text: str | float) -> float:
    """A finite number in ASCII digits."""
    if not re.fullmatch(r"-?([0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})([eE][+-]?[0-9]{1,2})?", str(text)):
        raise typer.BadParameter(f"{str(text)[:60]!r}: expected a number")
    return float(text)


def quantity(option: str, text: str | None, units: tuple[str, ...]) -> float | None:
    """An option with a unit, in its base unit."""
    if text is None:
        return None
    parts = measured_quantity(text)
    if parts is None or parts[1] not in units:
        raise _core.InputError(f"{option} {text}: expected a number and one of {', '.join(units)}")
    return float(f"{as_number(text, option):.12g}")  # 80 us is 8e-5, and not its neighbour.


def check_file(option: str, file: Path) -> None:
    """Refuses a file that cannot be written, before the work."""
    if not file.absolute().parent.is_dir():
        raise _core.InputError(f"{option} {file}: no such directory: {file.parent}")
    if file.is_dir():
        raise _core.InputError(f"{option} {file}: is a directory: expected a file to write")
    with disk.errors(file), disk.scratch(file):
        pass
