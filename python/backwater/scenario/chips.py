"""The switching chips that a scenario can name."""

from __future__ import annotations

import json
from functools import cache
from typing import TypedDict

from backwater import _core
from backwater.common import suggest


class Chip(TypedDict):
    """A chip and its packet memory. `pool_bytes`, `private_bytes` of a queue and `alpha` are those of one MMU."""

    name: str
    title: str
    summary: str
    source: str
    ports: int
    rate_bps: int
    memory: str
    memory_bytes: int
    mmus: int
    mmu_ports: int
    pool_bytes: int
    private_bytes: int
    alpha: float


@cache
def chips() -> dict[str, Chip]:
    """Returns every chip by name."""
    listed: list[Chip] = json.loads(_core.chips())
    return {chip["name"]: chip for chip in listed}


def chip_of(name: str) -> Chip:
    """Returns the chip that `--chip` names.

    # Errors
    `InputError` with the chips there are.
    """
    if name not in chips():
        raise _core.InputError(f"--chip {name}: {suggest.expected(name, list(chips()), 'backwater list chips')}")
    return chips()[name]
