"""`backwater replay`: the log of a switch against the simulator's switch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from backwater import _core
from backwater.cli.exits import FAILED
from backwater.cli.later import when_used
from backwater.cli.options import Json

with when_used():
    from backwater.cli import printing, terminal
    from backwater.common import quantities


class Fact(TypedDict):
    """A fact about a call that differs."""

    what: str
    expected: str
    found: str


class Difference(TypedDict):
    """The first decision that is another."""

    record: int
    time_ps: int
    call: str
    facts: list[Fact]


class Torn(TypedDict):
    """Where a log stops inside a record."""

    record: int
    byte: int
    call: str | None


class Replayed(TypedDict):
    """What a replay found."""

    equal: bool
    difference: Difference | None
    records: int
    packets: int
    switch: str
    scheme: str
    until_ps: int
    written_by: str
    ending: str | None
    torn: Torn | None


def replay(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Name the log of a switch.")],
    as_json: Json = False,
) -> None:
    """Compare a switch's log with the simulator's switch.

    The log has every call of one switch, and what the switch did. The simulator's switch gets the same calls.
    The exit code is 1 if any decision differs, else 0. The first difference is printed.

    Examples:
        backwater replay switch0.log
        backwater replay switch0.log --json
    """
    found: Replayed = json.loads(_core.replay(str(log)))
    if as_json:
        printing.print_json({"log": str(log), **found})
    else:
        tell(log, found)
    raise typer.Exit(0 if found["equal"] else FAILED)


def tell(log: Path, found: Replayed) -> None:
    """Prints whether all decisions are equal; the first that is not; and where a log stops that has no end."""
    whose = f"{found['switch']} under {found['scheme']}"
    records, packets = quantities.some(found["records"], "record"), quantities.some(found["packets"], "packet")
    if (difference := found["difference"]) is None:
        terminal.answer(f"{log}: every decision is equal: {records}, {packets}, {whose}.")
        terminal.say(f"The last call is at {microseconds(found['until_ps'])} of the scenario.")
    else:
        place = f"record {difference['record']:,}, at {microseconds(difference['time_ps'])}"
        terminal.answer(f"{log}: {whose} decides differently in {place}: {difference['call']}")
        table = terminal.Table()
        for heading in ("what", "in the log", "in the replay"):
            table.add_column(heading, overflow="fold")
        for fact in difference["facts"]:
            table.add_row(fact["what"], fact["expected"], fact["found"])
        terminal.out.print(table)
        if found["written_by"] != _core.version:
            terminal.answer(f"Version {found['written_by']} wrote the log. This is version {_core.version}.")
    if found["ending"] == "interrupted":
        terminal.answer("The log has no end: its writer was interrupted.")
    elif (torn := found["torn"]) is not None:
        call = f", {torn['call']}" if torn["call"] else ""
        terminal.answer(f"The log stops inside record {torn['record']:,} (byte {torn['byte']:,}{call}).")


def microseconds(ps: int) -> str:
    """Writes a time exactly: 1,234.000500 us."""
    return f"{ps // 10**6:,}.{ps % 10**6:06d} us"
