"""Shares of flows and of bytes by flow size, and the flows that a link sends within a round trip.

Source: Goyal et al., NSDI 2022, figure 2, and figure 4 of its two-page version. Exact for the table, not drawn.
"""

from __future__ import annotations

from backwater.compute.computation import Computation, Values, duration, rate, size, sizes
from backwater.compute.sizes import Sizes


def compute(*, sizes: Sizes, size: float, rate: float, rtt: float, seed: int) -> Values:
    bdp = rate * rtt / 8
    return {
        "bytes_up_to": sizes.bytes_up_to(size),
        "flows_up_to": sizes.flows_up_to(size),
        "bdp": bdp,
        "bytes_within_bdp": sizes.bytes_up_to(bdp),
        "flows_within_bdp": sizes.flows_up_to(bdp),
        "mean": sizes.mean,
    }


COMPUTATION = Computation(
    "flow-sizes",
    "Shares of flows and of bytes by flow size: BFC, figure 2.",
    parameters={
        "sizes": sizes("Flow sizes."),
        "size": size("Largest size of the counted flows.", "100 KB"),
        "rate": rate("Rate of the link.", "100 Gbps"),
        "rtt": duration("Round trip.", "12 us"),
    },
    results={
        "bytes_up_to": "share of bytes in flows of at most `size`",
        "flows_up_to": "share of flows of at most `size`",
        "bdp": "bandwidth-delay product, bytes",
        "bytes_within_bdp": "share of bytes in flows of at most one bandwidth-delay product",
        "flows_within_bdp": "share of flows of at most one bandwidth-delay product",
        "mean": "flow size, bytes",
    },
    compute=compute,
    facts=("bdp",),
)
