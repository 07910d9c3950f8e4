"""`backwater schemes`, `chips` and `schema`: what there is to name in a scenario, and what a table holds."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from backwater import _core, summaries, tables
from backwater.compute import registry
from backwater.plan import bcc
from backwater.terminal import out


def schemes() -> None:
    """List the schemes, with their sources."""
    table = Table(box=None, pad_edge=False)
    for heading in ("scheme", "what it is", "source"):
        table.add_column(heading)
    for scheme in json.loads(_core.schemes()):
        table.add_row(scheme["name"], f"{scheme['title']}. {scheme['summary']}".strip(), scheme["source"])
    out.print(table)


def chips_command(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False) -> None:
    """List the switching chips and their packet memory, with their sources."""
    if as_json:
        print(json.dumps(list(bcc.chips().values()), indent=2))
    else:
        out.print(bcc.chip_table())


def schema(
    table: Annotated[str | None, typer.Argument(help="A table, or `scenario` for its JSON schema.")] = None,
) -> None:
    """Print a table's columns with units, or the names of the tables."""
    known = {**tables.schemas(), summaries.TABLE: list(summaries.COLUMNS)}
    if table is None:
        print("\n".join([*known, "scenario"]))
    elif table == "scenario":
        print(json.dumps(json.loads(_core.scenario_schema(registry.SCHEMAS)), indent=2))
    elif table in known:
        columns = Table(box=None, pad_edge=False)
        for heading in ("column", "type", "unit", "description"):
            columns.add_column(heading)
        for column in known[table]:
            columns.add_row(column["name"], shown(column["type"]), column["unit"] or "", column["description"])
        out.print(columns)
    else:
        raise _core.InputError(f"schema {table}: no such table; there is {', '.join(known)}, and scenario")


def shown(kind: str) -> str:
    """A column's type as Arrow has it; `cat` is text out of few."""
    return str(tables.ARROW[kind]) if kind in tables.ARROW else {"cat": "string", **summaries.NAMES}.get(kind, kind)
