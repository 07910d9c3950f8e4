"""Processor sharing at one link, as a fluid: at every instant, each active flow gets an equal share of the rate.

All flows get the same service. So they leave in the order of their size plus the service that each flow had received
when they arrived. A heap of these sums has the next departure on top (`crates/bindings/src/fluid.rs`).
"""

from __future__ import annotations

from backwater import _core
from backwater.common.arrays import Floats, Integers, np

ARRIVALS = ["poisson", "log-normal"]


def gaps(arrivals: str, sigma: float, n: int, random: np.random.Generator) -> Floats:
    """Draws times between arrivals with mean 1: exponential, or log-normal with this sigma."""
    if arrivals == "poisson":
        return random.standard_exponential(n)
    return np.exp(sigma * random.standard_normal(n) - sigma * sigma / 2)


def trajectory(gaps: Floats, sizes: Floats, permanent: int = 0) -> tuple[Floats, Integers]:
    """Returns when flows arrive or leave, and the number of flows from then on, without permanent ones.

    `sizes` are the times that the link takes for each flow alone, in the unit of `gaps`. It begins empty at time 0 and
    ends with the last arrival.
    """
    times, numbers = _core.fluid_trajectory(gaps.astype("<f8").tobytes(), sizes.astype("<f8").tobytes(), permanent)
    return np.frombuffer(times, "<f8"), np.frombuffer(numbers, "<i8")
