"""The result of an import, and the form of lines of a scenario."""

from __future__ import annotations

from dataclasses import dataclass, field

from backwater.hpcc.config import Config
from backwater.hpcc.flows import Flow, Flows
from backwater.hpcc.topology import Network

HEADER_BYTES = 48
INT_BYTES = 42
PINT_BYTES = 2
STAMP_BYTES = 8
CARRIED_BYTES = {"hpcc": INT_BYTES, "pint": PINT_BYTES, "timely": STAMP_BYTES}
"""Beside the headers of a data packet; others carry nothing."""


@dataclass
class Imported:
    """The result of an import, from which its summary is made."""

    network: Network
    flows: Flows
    config: Config
    transport: str
    name: str
    """Of the scenario, and in the names of the lists."""
    text: str = ""
    lists: dict[str, list[Flow]] = field(default_factory=dict)
    """By class, in the order of the scenario."""
    origin_ns: int = 0
    notes: list[str] = field(default_factory=list)
    """What is not quite as it was in the files."""


def aligned(text: str, comment: str) -> str:
    return f"{text:<34} # {comment}"


def listing(key: str, items: list[str]) -> str:
    """Writes a list on one line, or on lines of at most 100 columns."""
    whole = f"{key} = [{', '.join(items)}]"
    if len(whole) <= 100:
        return whole
    lines, row = [f"{key} = ["], ""
    for item in items:
        if len(row) + len(item) > 98:
            lines.append(row.rstrip())
            row = ""
        row += f"{item}, " if row else f"  {item}, "
    return "\n".join([*lines, row.rstrip(), "]"])
