"""Number of active flows at a link that shares its rate among them: the formula, and a fluid simulation.

Source: Goyal et al., NSDI 2022, section 2.3. With Poisson arrivals at load rho, the number is geometric for all sizes
(M/G/1-PS):

    P(N = n) = (1 - rho) rho^n,  mean rho / (1 - rho),  P(N > k) = rho^(k + 1)

The simulation runs cycles from one arrival at an empty link to the next. Cycles are identically distributed and
independent. So the mean is the mean of areas over the mean of lengths, with its standard error (the regenerative
method). Each n-th of the distribution gives one of n sizes, in random order. With independent draws, 300,000 sizes of
the Google table would be 4 % off in load, and so 40 % in flows at 0.9.
"""

from __future__ import annotations

import math

from backwater.common.arrays import Floats, np
from backwater.compute.computation import Computation, Values, choice, number, sizes, whole
from backwater.compute.fluid import ARRIVALS, gaps, trajectory
from backwater.compute.sizes import Sizes

CYCLES_LEAST = 100
"""Fewer say nothing of their error."""


def mean(load: float) -> float:
    """Returns the mean number of active flows."""
    return load / (1 - load)


def exceeds(load: float, flows: float) -> float:
    """Returns the probability that more than `flows` are active."""
    return load ** (flows + 1)


def queues_for(load: float, target: float) -> int:
    """Returns the fewest queues that the active flows outnumber for at most this share of time."""
    n = max(0, math.ceil(math.log(target) / math.log(load)) - 2)
    while exceeds(load, n) > target:
        n += 1
    return n


def simulated(gaps: Floats, sizes: Floats, queues: int) -> tuple[float, float, float, float] | None:
    """Simulates the mean number of flows and the share of time with more than `queues`, each with its standard error.

    None where too few cycles ended.
    """
    times, numbers = trajectory(gaps, sizes)
    lengths = np.diff(times)
    begins = np.flatnonzero((numbers[:-1] == 0) & (numbers[1:] == 1)) + 1
    if len(begins) <= CYCLES_LEAST:
        return None
    whole = slice(begins[0], begins[-1])
    starts = begins[:-1] - begins[0]
    lengths, numbers = lengths[whole], numbers[whole]
    spans = np.add.reduceat(lengths, starts)
    mean, error = ratio(np.add.reduceat(lengths * numbers, starts), spans)
    share, share_error = ratio(np.add.reduceat(lengths * (numbers > queues), starts), spans)
    return mean, error, share, share_error


def ratio(amounts: Floats, spans: Floats) -> tuple[float, float]:
    """Returns the ratio of two sums over cycles, with its standard error."""
    value = float(amounts.sum() / spans.sum())
    rest = amounts - value * spans
    return value, float(np.sqrt(np.sum(rest**2) / (len(spans) - 1) * len(spans)) / spans.sum())


def parts(n: int, random: np.random.Generator) -> Floats:
    """Draws one probability from each n-th of 0 to 1, in random order."""
    return (random.permutation(n) + random.random(n)) / n


def compute(*, sizes: Sizes, load: float, queues: int, flows: int, arrivals: str, sigma: float, seed: int) -> Values:
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = sizes.draw(parts(flows, random)) * (load / sizes.mean)
    found = simulated(gaps(arrivals, sigma, flows, random), drawn, queues)
    law = {"mean": mean(load), "exceeds": exceeds(load, queues), "offered": float(drawn.mean())}
    if found is None:
        return law | dict.fromkeys(
            ("simulated", "standard_error", "deviation", "simulated_exceeds", "exceeds_standard_error")
        )
    value, error, share, share_error = found
    return law | {
        "simulated": value,
        "standard_error": error,
        "deviation": (value - law["mean"]) / error,
        "simulated_exceeds": share,
        "exceeds_standard_error": share_error,
    }


COMPUTATION = Computation(
    "processor-sharing",
    "Active flows at a link that shares its rate among them: BFC, section 2.3.",
    parameters={
        "sizes": sizes("Flow sizes."),
        "load": number("Load of the link.", above=0, most=0.99),
        "queues": whole("Number of queues, to compare the number of flows with.", 32, least=0, most=100_000),
        "flows": whole("Simulated.", 300_000, least=1000, most=5_000_000),
        "arrivals": choice("Distribution of the times between flows.", ARRIVALS, "poisson"),
        "sigma": number("Sigma of log-normal times between flows.", 2, least=0, most=5),
    },
    results={
        "mean": "rho / (1 - rho), flows",
        "exceeds": "rho^(queues + 1): share of time with more flows than queues",
        "offered": "load of the flows that were drawn",
        "simulated": "mean number of flows, simulated",
        "standard_error": "of the number simulated",
        "deviation": "of the number simulated from the law, in standard errors",
        "simulated_exceeds": "share of time with more flows than queues, simulated",
        "exceeds_standard_error": "of the share simulated",
    },
    compute=compute,
    draws=True,
)
