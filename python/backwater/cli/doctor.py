"""`backwater doctor`: which Backwater this is, on which machine, and where it writes."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path
from typing import TypedDict

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import Json
from backwater.common import versions

with when_used():
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.execute import memory
    from backwater.execute import store as stores
    from backwater.execute import sweep as sweeping


class Facts(TypedDict):
    """Facts by name. A fact is None if the system does not say."""

    version: str
    commit: str | None
    python: str
    package: str
    system: str
    processors: int | None
    threads_by_default: int
    memory_free_bytes: int | None
    memory_used_at_most_bytes: int
    runs: str
    store: str
    disk_free_bytes: int


def doctor(as_json: Json = False) -> None:
    """Print the version, the machine and where files go.

    Add its output to a bug report.

    Examples:
        backwater doctor
    """
    found = facts()
    if as_json:
        printing.print_json(found)
        return
    table = terminal.Table(box=None, pad_edge=False, show_header=False)
    told = {
        **found,
        "memory_free_bytes": told_size(found["memory_free_bytes"]),
        "memory_used_at_most_bytes": told_size(found["memory_used_at_most_bytes"]),
        "disk_free_bytes": told_size(found["disk_free_bytes"]),
    }
    for name, value in told.items():
        table.add_row(name.removesuffix("_bytes").replace("_", " "), "-" if value is None else str(value))
    terminal.out.print(table)


def facts() -> Facts:
    """Returns what is known."""
    runs = Path("runs").absolute()
    standing = next(place for place in (runs, *runs.parents) if place.is_dir())
    return {
        "version": _core.version,
        "commit": versions.commit(),
        "python": f"{platform.python_version()} ({sys.executable})",
        "package": str(Path(__file__).parents[1]),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processors": os.cpu_count(),
        "threads_by_default": sweeping.threads_of(None),
        "memory_free_bytes": _core.free_memory(),
        "memory_used_at_most_bytes": round(memory.together_mb() * 1e6),
        "runs": str(runs),
        "store": str(runs / stores.NAME),
        "disk_free_bytes": shutil.disk_usage(standing).free,
    }


def told_size(number: int | None) -> str | None:
    return None if number is None else quantities.size(number)
