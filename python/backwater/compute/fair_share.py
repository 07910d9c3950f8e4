"""How fast the fair share of a long flow changes while other flows come and go.

Source: Goyal et al., NSDI 2022, section 2.1, figure 3 and its footnote. N(t) flows, the long one included, share a link
of capacity C. The fair share is f(t) = C / N(t). Over an interval I it changes by

    |f(t + I) - f(t)| / f(t) = |N(t) / N(t + I) - 1|

The result is the mean of this over t. Flows share the link as a fluid. Arrivals are those of section 6: log-normal,
sigma 2.
"""

from __future__ import annotations

from functools import lru_cache

from backwater.common.arrays import Floats, Integers, np
from backwater.compute.computation import Computation, Values, choice, duration, number, rate, sizes, whole
from backwater.compute.fluid import ARRIVALS, gaps, trajectory
from backwater.compute.sizes import Sizes

WARMUP = 0.1
"""Of the time, that is not counted: the link begins empty."""
KEPT = 2
"""Runs that differ in their interval alone take the same trajectory, and follow one another in a sweep."""


@lru_cache(maxsize=KEPT)
def crossing(
    sizes: Sizes, rate: float, load: float, flows: int, arrivals: str, sigma: float, seed: int
) -> tuple[Floats, Integers]:
    """Returns times in seconds, and the number of other flows from each time on."""
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = sizes.draw(random.random(flows)) * (8 / rate)
    gap = 8 * sizes.mean / (rate * load)
    return trajectory(gaps(arrivals, sigma, flows, random) * gap, drawn, permanent=1)


def change(times: Floats, numbers: Integers, interval: float) -> float | None:
    """Returns the mean of |N(t) / N(t + I) - 1| over time, or None if the time is too short.

    Exact: between two changes of either it is constant.
    """
    begin, end = WARMUP * times[-1], times[-1] - interval
    if end - begin < 10 * interval:
        return None
    inside = np.concatenate([times, times - interval])
    cuts = np.concatenate([[begin], np.sort(inside[(inside > begin) & (inside < end)]), [end]])
    middles = (cuts[:-1] + cuts[1:]) / 2
    now, then = (numbers[np.searchsorted(times, at, side="right") - 1] + 1 for at in (middles, middles + interval))
    return float(np.sum(np.abs(now / then - 1) * np.diff(cuts)) / (end - begin))


def compute(
    *,
    sizes: Sizes,
    rate: float,
    interval: float,
    load: float,
    flows: int,
    arrivals: str,
    sigma: float,
    seed: int,
) -> Values:
    times, numbers = crossing(sizes, rate, load, flows, arrivals, sigma, seed)
    return {"change": change(times, numbers, interval), "simulated_time": float(times[-1])}


COMPUTATION = Computation(
    "fair-share",
    "How much the fair share of a long flow changes over an interval: BFC, figure 3.",
    parameters={
        "sizes": sizes("Sizes of the other flows."),
        "rate": rate("Rate of the link.", "100 Gbps"),
        "interval": duration("Interval over which the change is measured."),
        "load": number("Load of the other flows.", 0.6, above=0, most=0.95),
        "flows": whole("Simulated.", 300_000, least=1000, most=5_000_000),
        "arrivals": choice("Distribution of the times between flows.", ARRIVALS, "log-normal"),
        "sigma": number("Sigma of log-normal times between flows.", 2, least=0, most=5),
    },
    results={
        "change": "mean relative change of the fair share",
        "simulated_time": "seconds",
    },
    compute=compute,
    draws=True,
)
