"""Reference page of the tables that a run writes: every column with its type, unit and meaning."""

from __future__ import annotations

from backwater.cli.schema import shown
from backwater.runs import summaries, tables
from cells import cell

HEAD = """# Tables and columns

A run writes each table as `RUN/TABLE.parquet`. Python reads it with `results.table("flows")` and queries it with
`results.sql`. Then it begins with the coordinates of its runs: `label`, `variant`, `scheme`, `seed`, and each swept key
by its shortest name, such as `load` for `background.load`. Times are picoseconds.

This page is generated. `backwater schema TABLE` prints the same. [Scenario files](../scenarios.md#measure) says which
tables are off by default.
"""


def pages() -> dict[str, str]:
    known = {summaries.TABLE: list(summaries.COLUMNS), **tables.schemas()}
    parts = [HEAD]
    for name, columns in known.items():
        rows = [
            f"| `{one['name']}` | {cell(shown(one['type']))} | {one['unit'] or ''} | {cell(one['description'])} |"
            for one in columns
        ]
        parts += [f"## `{name}`\n", "| column | type | unit | meaning |", "|---|---|---|---|", *rows, ""]
    return {"reference/tables.md": "\n".join(parts)}
