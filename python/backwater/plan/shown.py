"""Tables in which plans are printed."""

from __future__ import annotations

from rich.table import Table


def titled(title: str, *headings: str) -> Table:
    """Makes a table. Its first column is text, and the others are numbers unless their heading says otherwise."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i == 0 or heading in ("holds", "") else "right")
    return table
