"""`backwater schema`: the columns of tables, and the JSON schemas of scenarios and claims files."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import Json
from backwater.common import suggest

with when_used():
    from backwater.cli import lists, printing
    from backwater.compute import registry
    from backwater.runs import summaries, tables


SCENARIO, CLAIMS = "scenario", "claims"
"""Names of the JSON schemas beside those of tables."""


def schema(
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="Name a table, or one of the JSON schemas scenario and claims."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the columns of a table with their units.

    Without a name it prints the names of all tables.
    Editors complete and check files that begin with `#:schema scenario.json` or `#:schema claims.json`.
    The file that this names has the JSON schema of scenario files, or of claims files (NAME.claims.toml).

    Examples:
        backwater schema flows
        backwater schema scenario > scenario.json
        backwater schema claims > claims.json
    """
    known = {**tables.schemas(), summaries.TABLE: list(summaries.COLUMNS)}
    if table is None:
        names = [*known, SCENARIO, CLAIMS]
        printing.print_json(names) if as_json else print("\n".join(names))
    elif table == SCENARIO:
        printing.print_json(json.loads(_core.scenario_schema(registry.SCHEMAS)))
    elif table == CLAIMS:
        printing.print_json(json.loads(_core.claims_schema()))
    elif table in known:
        columns: list[dict[str, str]] = [
            {"column": one["name"], "type": shown(one["type"]), "unit": one["unit"] or ""}
            | {"description": one["description"]}
            for one in known[table]
        ]
        lists.print_rows(columns, ["column", "type", "unit", "description"], as_json)
    else:
        raise _core.InputError(
            f"schema {table}: no such table; {suggest.expected(table, [*known, SCENARIO, CLAIMS], 'backwater schema')}"
        )


def shown(kind: str) -> str:
    """Returns a column's type as in Arrow. `cat` is text with few values."""
    return {"cat": "string", **tables.ARROW, **summaries.ARROW}.get(kind, kind)
