"""Flows that were explained, as the page shows them: all as dots; of each its parts in words, its way and its rate."""

from __future__ import annotations

import json
from typing import Any

from backwater.common.arrays import np
from backwater.runs import kept
from backwater.runs.explain import Explained
from backwater.runs.run import Run
from backwater.show import explained as words
from backwater.show.network import packed
from backwater.show.page import ExplainedFlows

FLOWS = 5_000
"""Of all runs of a page that were explained, the slowest: of each some hundred bytes, compressed."""

BLOCK = 32
"""Flows that are unpacked together, when the reader picks one of them."""


def explained(run: Run, runs: int = 1) -> ExplainedFlows | None:
    """One of so many explained runs of a page; None where nothing was explained and kept. Times are seconds."""
    found = kept.of(run)
    if found is None:
        return None
    slowest = found.flows.sort_by([("slowdown", "descending"), ("flow", "ascending")])
    rows = slowest.slice(0, max(1, FLOWS // runs)).to_pylist()
    numbers = [row["flow"] for row in rows]
    blocks = [numbers[at : at + BLOCK] for at in range(0, len(numbers), BLOCK)]
    return {
        "told": f"{words.chosen(found)}: {words.told(found)}",
        "left_out": found.flows.num_rows - len(rows),
        "causes": [[where, what, share, mean * 1e-12] for where, what, share, mean in words.cause_rows(found)],
        "kinds": words.KINDS,
        "flow": numbers,
        "class": [row["class"] for row in rows],
        "size": [row["size_bytes"] for row in rows],
        "slowdown": [row["slowdown"] for row in rows],
        "block": BLOCK,
        "details": [pack([detail(found, number) for number in block]) for block in blocks],
    }


def pack(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return packed(np.frombuffer(text.encode(), np.uint8))


def detail(found: Explained, number: int) -> dict[str, object]:
    """Of a flow: itself, its parts port by port, the links that its completing packet took, and its rate."""
    flow = found.flow(number)
    hops = words.hops(flow)
    rate = found.rate(number)
    return {
        "flow": flow["flow"],
        "class": flow["class"],
        "src": flow["src"],
        "dst": flow["dst"],
        "size": flow["size_bytes"],
        "slowdown": flow["slowdown"],
        "ideal": flow["ideal_ps"] * 1e-12,
        "from": flow["arrival_ps"] * 1e-12,
        "to": flow["finish_rx_ps"] * 1e-12,
        "hops": [
            {
                "where": hop.where,
                "span": hop.span_ps * 1e-12,
                "parts": [[part.span_ps * 1e-12, part.what, part.why] for part in hop.parts],
            }
            for hop in hops
        ],
        "way": [f"{hop.node} to {hop.peer}" for hop in hops if not hop.receives],
        "rate": {
            "span": (rate["span_ps"][0].as_py() if rate.num_rows else 0) * 1e-12,
            "end": (rate["time_ps"].to_numpy() * 1e-12).tolist(),
            "bytes": rate["received_bytes"].to_pylist(),
        },
    }
