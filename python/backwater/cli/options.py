"""Options that several commands have, and the values that options take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from backwater import _core
from backwater.cli.later import when_used
from backwater.common import disk
from backwater.common.ranges import THREADS_MAX

with when_used():
    from backwater.common import quantities


WHAT, WHERE, HOW = "What to run", "Where files go", "How to run"
"""Panels of the commands that run experiments."""
PERCENT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,12})?) ?%")


def whole(least: int = -(10**18), most: int = 10**18) -> Callable[[str | int], int]:
    """Reads a whole number in ASCII digits from `least` to `most`."""
    wanted = "a whole number" if most == 10**18 else f"a whole number from {least} to {most}"

    def read(text: str | int) -> int:
        number = int(text) if re.fullmatch(r"-?[0-9]{1,18}", str(text)) else None
        if number is None or not least <= number <= most:
            raise typer.BadParameter(f"{short(text)}: expected {wanted}")
        return number

    return read


def real(text: str | float) -> float:
    """Reads a finite number in ASCII digits; 60% is 0.6."""
    if percent := PERCENT.fullmatch(str(text)):
        return float(Decimal(percent[1]) / 100)
    if not re.fullmatch(r"-?([0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})([eE][+-]?[0-9]{1,2})?", str(text)):
        raise typer.BadParameter(f"{short(text)}: expected a number")
    return float(text)


def percentile(text: str | float) -> float:
    """Reads 99, 99.9, p99 or 99%."""
    match = re.fullmatch(r"p?([0-9]{1,2}(?:\.[0-9]{1,6})?|100(?:\.0{1,6})?)%?", str(text))
    if match is None:
        raise typer.BadParameter(f"{short(text)}: expected a percentile from 0 to 100, such as 99 or p99.9")
    return float(match[1])


def short(text: object) -> str:
    shown = str(text)
    return repr(shown if len(shown) <= 60 else f"{shown[:60]}...")


def unpercented(change: str) -> str:
    """Turns `load=60%` into `load=0.6`. Text in quotes stays as it is."""
    key, equals, value = change.partition("=")
    if not equals or '"' in value or "'" in value:
        return change
    shares = re.sub(r"(?<![\w.])" + PERCENT.pattern + r"(?!\w)", lambda one: format(Decimal(one[1]) / 100, "f"), value)
    return f"{key}={shares}"


PARSERS: dict[str, Callable[[str], Any]] = {"N": whole(), "X": real}
"""How a value with this metavar is read; any other is text."""


def valued(name: str, metavar: str, told: str, panel: str) -> Any:
    """Declares an option with a value, for `Annotated`."""
    return typer.Option(name, metavar=metavar, parser=PARSERS.get(metavar), help=told, rich_help_panel=panel)


Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value of the scenario, such as switch.queues=128 or load=60%. Repeatable.",
        rich_help_panel=WHAT,
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        "--scale", metavar="SCALE", help="Use a scale of the scenario: smoke, quick or paper.", rich_help_panel=WHAT
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        metavar="N",
        parser=whole(1, 1000),
        help="Run each variant with N seeds, 1 to 1000; the same as --set seeds.count=N.",
        rich_help_panel=WHAT,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        parser=whole(1, THREADS_MAX),
        help="Use N threads. Results do not depend on it. [default: one for each usable processor]",
        rich_help_panel=HOW,
    ),
]
OutDir = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="DIR",
        help="Write into this directory. [default: a new one under runs/]",
        rich_help_panel=WHERE,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files or runs that exist.", rich_help_panel=WHERE)]
StoreDir = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Reuse finished runs from this store, and add new ones to it.",
        rich_help_panel=WHERE,
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="CLUSTER",
        help="Run on a cluster: dask://HOST:PORT, slurm:JOBS or pbs:JOBS. [default: this machine]",
        rich_help_panel=HOW,
    ),
]
Claims = Annotated[
    bool,
    typer.Option("--claims", help="Print the table of claims with their verdicts.", rich_help_panel="What to print"),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print JSON to standard output, for other programs.", rich_help_panel="What to print"),
]
Scenarios = Annotated[
    list[Path], typer.Argument(metavar="SCENARIO", help="Name scenario files, or experiments such as bfc-fig9.")
]
OneScenario = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="Name a scenario file, or an experiment such as bfc-fig9.")
]
RunDirs = Annotated[list[Path], typer.Argument(metavar="DIR", help="Name run directories.")]


def all_sets(sets: list[str] | None, seeds: int | None) -> list[str]:
    """Returns the changes that `--set` and `--seeds` ask for."""
    return [*map(unpercented, sets or []), *([] if seeds is None else [f"seeds.count={seeds}"])]


def quantity(option: str, text: str | None, units: Iterable[str]) -> float | None:
    """Reads an option with a unit, and returns it in the base unit."""
    if text is None:
        return None
    parts = quantities.quantity(text)
    if parts is None or parts[1] not in units:
        raise _core.InputError(f"{option} {text}: expected a number and one of {', '.join(units)}")
    return float(f"{quantities.as_number(text, option):.12g}")  # 80 us is 8e-5, and not its neighbour.


def check_file(option: str, file: Path, *, force: bool) -> None:
    """Refuses a file that cannot be written, or is there and is not to be replaced, before the work."""
    if not file.absolute().parent.is_dir():
        raise _core.InputError(f"{option} {file}: no such directory: {file.parent}")
    if file.is_dir():
        raise _core.InputError(f"{option} {file}: is a directory: expected a file to write")
    if file.exists() and not force:
        raise _core.InputError(f"{option} {file}: exists; name another file, or replace it with --force")
    with disk.errors(file), disk.scratch(file):
        pass
