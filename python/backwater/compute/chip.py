"""Capacity of a switching chip, and its packet memory relative to capacity.

Source: the chips' own (`backwater list chips`). Some count a megabyte of packet memory as 1000 KB, others as 1024 KiB.
You can choose either.
"""

from __future__ import annotations

from backwater.compute.computation import Computation, Values, choice
from backwater.scenario.chips import chips

MB, MIB = 1e6, 2.0**20


def compute(*, chip: str, megabyte: str, seed: int) -> Values:
    one = chips()[chip]
    ports, rate, memory = one["ports"], one["rate_bps"], one["memory_bytes"]
    # Published in whole megabytes of either kind.
    published = memory / MIB if memory % MIB == 0 else memory / MB
    counted = published * {"decimal": MB, "binary": MIB}[megabyte]
    return {
        "capacity": ports * rate,
        "memory": counted,
        "time": 8 * counted / (ports * rate),
    }


COMPUTATION = Computation(
    "chip",
    "Capacity of a switching chip, and the time that its packet memory covers: BFC, figure 1.",
    parameters={
        "chip": choice("A chip of `backwater list chips`.", list(chips())),
        "megabyte": choice(
            "Unit of memory: a megabyte is 10^6 bytes (decimal) or 2^20 (binary).", ["decimal", "binary"], "decimal"
        ),
    },
    results={
        "capacity": "of all ports, bits a second",
        "memory": "for packets, bytes",
        "time": "memory over capacity, seconds",
    },
    compute=compute,
    facts=("capacity", "memory", "time"),
)
