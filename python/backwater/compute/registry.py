"""All computations, by their names in files. A new one needs a file beside this one and a line here."""

from __future__ import annotations

import json

from backwater.compute import (
    bfc_switch,
    chip,
    fair_share,
    flow_sizes,
    hashed_queues,
    processor_sharing,
    starvation,
)

COMPUTATIONS = {
    one.kind: one
    for one in (
        bfc_switch.COMPUTATION,
        chip.COMPUTATION,
        fair_share.COMPUTATION,
        flow_sizes.COMPUTATION,
        hashed_queues.COMPUTATION,
        processor_sharing.COMPUTATION,
        starvation.COMPUTATION,
    )
}

SCHEMAS = json.dumps(
    {
        kind: {"description": one.description, "parameters": one.parameters, "results": list(one.results)}
        for kind, one in COMPUTATIONS.items()
    }
)
"""What the reader of scenarios checks files by."""
