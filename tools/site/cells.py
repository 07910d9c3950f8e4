"""Cells of Markdown tables."""


def cell(text: str) -> str:
    """The text on one line, with bars that do not end the cell."""
    return " ".join(text.split()).replace("|", "\\|")
