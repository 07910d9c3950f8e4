"""Flows that share a queue, if a hash assigns queues, and if each flow takes an empty queue while there is one.

Source: Goyal et al., NSDI 2022, section 3.2: for collisions of fewer than 1 % of n flows a hash needs roughly 100 n
queues. This is the probability for one flow, not that any two flows meet.

    a flow of n shares its queue of m:  1 - (1 - 1/m)^(n - 1)
    any two do:                         1 - (1 - 1/m) (1 - 2/m) ... (1 - (n - 1)/m)
"""

from __future__ import annotations

import math

from backwater.common.arrays import np
from backwater.compute.computation import Computation, Values, number, whole

AT_ONCE = 1 << 22
"""Flows assigned at once: 32 MB."""


def flow_collides(flows: float, queues: float) -> float:
    """Returns the probability that a hashed flow shares its queue."""
    return -math.expm1((flows - 1) * math.log1p(-1 / queues)) if queues > 1 else float(flows > 1)


def any_collide(flows: int, queues: int) -> float:
    """Returns the probability that any two hashed flows share a queue."""
    if flows > queues:
        return 1.0
    return -math.expm1(sum(math.log1p(-i / queues) for i in range(1, flows)))


def queues_for(flows: int, target: float) -> int:
    """Returns the fewest queues with which a flow collides with at most this probability."""
    if flows == 1:
        return 1
    # (1 - 1/m)^(n - 1) >= 1 - target, solved for m; then to the whole number that is the first.
    m = max(1, math.floor(-1 / math.expm1(math.log1p(-target) / (flows - 1))) - 1)
    while flow_collides(flows, m) > target:
        m += 1
    return m


def drawn(flows: int, queues: int, trials: int, seed: int) -> tuple[float, float, float]:
    """Draws random assignments.

    Returns the mean share of flows that collide, its standard error, and how often any do.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    shares = np.empty(trials)
    for begin in range(0, trials, max(1, AT_ONCE // flows)):
        n = min(max(1, AT_ONCE // flows), trials - begin)
        chosen = np.sort(random.integers(queues, size=(n, flows), dtype=np.int64), axis=1)
        same = chosen[:, 1:] == chosen[:, :-1]
        alone = np.ones((n, flows), bool)
        alone[:, 1:] &= ~same
        alone[:, :-1] &= ~same
        shares[begin : begin + n] = 1 - alone.mean(axis=1)
    return float(shares.mean()), float(shares.std(ddof=1) / math.sqrt(trials)), float((shares > 0).mean())


def compute(*, flows: int, queues: int, target: float, trials: int, seed: int) -> Values:
    share, error, any_share = drawn(flows, queues, trials, seed)
    law = flow_collides(flows, queues)
    least = queues_for(flows, target)
    return {
        "flow_collides": law,
        "any_collide": any_collide(flows, queues),
        "simulated": share,
        "deviation": (share - law) / error if error else None,
        "simulated_any": any_share,
        "queues_needed": least,
        "queues_needed_a_flow": least / flows,
    }


COMPUTATION = Computation(
    "hashed-queues",
    "Flows that share a queue if a hash assigns queues: BFC, section 3.2.",
    parameters={
        "flows": whole("Active flows at the port, n.", least=2, most=100_000),
        "queues": whole("Queues of the port, m.", 32, least=1, most=100_000_000),
        "target": number("Allowed probability that a flow shares its queue.", 0.01, above=0, below=1),
        "trials": whole("Number of drawn assignments.", 10_000, least=2, most=10_000_000),
    },
    results={
        "flow_collides": "probability that a flow shares its queue",
        "any_collide": "probability that any two flows share a queue",
        "simulated": "share of flows that shared their queue, of assignments drawn",
        "deviation": "of that share from the probability, in standard errors; none where all draws are alike",
        "simulated_any": "share of assignments drawn in which any did",
        "queues_needed": "fewest queues for the target",
        "queues_needed_a_flow": "the same over the number of flows",
    },
    compute=compute,
    draws=True,
)
