"""Processor sharing at one link, as a fluid: at every instant, each active flow gets an equal share of the rate.

All flows get the same service. So they leave in the order of their size plus the service that each flow had received
when they arrived. A heap of these sums has the next departure on top, and an arrival or a departure costs one heap
operation.
"""

from __future__ import annotations

import heapq
from array import array

from backwater.arrays import Floats, Integers, np

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
    times, numbers = array("d", [0.0]), array("q", [0])
    there: list[float] = []
    now = arrival = served = 0.0
    for gap, size in zip(gaps.tolist(), sizes.tolist(), strict=True):
        arrival += gap
        while there:
            left = now + (there[0] - served) * (len(there) + permanent)
            if left > arrival:
                served += (arrival - now) / (len(there) + permanent)
                break
            now, served = left, heapq.heappop(there)
            times.append(now)
            numbers.append(len(there))
        else:
            served = 0.0  # Nobody is there to remember it, and small numbers are exact.
        now = arrival
        heapq.heappush(there, served + size)
        times.append(now)
        numbers.append(len(there))
    return np.frombuffer(times, np.float64), np.frombuffer(numbers, np.int64)
