"""How long a queue is empty because a resume takes a one-hop round trip, by the pause threshold.

Source: Goyal et al., "Backpressure Flow Control", NSDI 2022, appendix C, equations 4 and 5. One flow f is alone in its
queues. It arrives x times as fast as it drains, mu_f, and is paused above a threshold Th. Pauses and resumes take HRTT
to act.

    a = Th / (HRTT mu_f); in units of HRTT the queue fills for a / (x - 1) + 1, drains for a + x - 1 and is empty for 1
    E(x, a) = (x - 1) / (a x + x^2 - 1); most at x = 1 + sqrt(a), where it is 1 / ((1 + sqrt(a))^2 + 1)

A simulated queue in small slots checks the formula. Its source gets all feedback HRTT later.
"""

from __future__ import annotations

import math

from backwater.compute.computation import Computation, Values, number, whole

CYCLES = 20
"""Of pause and resume that are simulated, after one that is not counted."""


def starved(x: float, a: float) -> float:
    """Computes E(x, a)."""
    return (x - 1) / (a * x + x * x - 1)


def worst_ratio(a: float) -> float:
    """Returns the x at which E is largest."""
    return 1 + math.sqrt(a)


def worst(a: float) -> float:
    """Returns the largest E."""
    return 1 / (worst_ratio(a) ** 2 + 1)


def slotted(x: float, a: float, slots: int) -> tuple[float, float]:
    """Simulates a queue in slots of HRTT / `slots`: the share of time that it is empty, and its longest, in HRTT mu_f.

    A slot brings x and takes 1, in units of what is drained in a slot. The source is told to stop above the threshold
    and to go on when nothing is left; it heeds what was said `slots` slots before.
    """
    threshold = a * slots
    queue, longest, pausing = 0.0, 0.0, False
    said = [False] * slots
    empty = counted = cycles = at = 0
    while cycles <= CYCLES:
        heard, said[at] = said[at], pausing
        at = (at + 1) % slots
        queue += 0.0 if heard else x
        if queue <= 0.0:
            empty += cycles > 0
        queue = max(0.0, queue - 1.0)
        counted += cycles > 0
        longest = max(longest, queue)
        if not pausing and queue > threshold:
            pausing = True
            cycles += 1
        elif pausing and queue <= 0.0:
            pausing = False
    return empty / counted, longest / slots


def compute(*, threshold: float, ratio: float | None, slots: int, seed: int) -> Values:
    x = worst_ratio(threshold) if ratio is None else ratio
    simulated, longest = slotted(x, threshold, slots)
    return {
        "starved": starved(x, threshold),
        "worst": worst(threshold),
        "worst_ratio": worst_ratio(threshold),
        "worst_doubled": worst(2 * threshold),
        "longest": threshold + x - 1,
        "simulated": simulated,
        "simulated_longest": longest,
    }


COMPUTATION = Computation(
    "starvation",
    "Share of time in which a paused flow has an empty queue: BFC, appendix C.",
    parameters={
        "threshold": number("Pause threshold over HRTT mu_f, Th in 1-hop BDPs of the flow: a.", above=0, most=10),
        "ratio": number("Arrival over departure rate, x. Absent: the worst ratio.", None, least=1.01, most=100),
        "slots": whole("Slots of the simulated queue per HRTT.", 1000, least=10, most=10_000),
    },
    results={
        "starved": "E(x, a), share of time",
        "worst": "the largest E of any x, share of time",
        "worst_ratio": "the x where E is largest",
        "worst_doubled": "the largest E with twice the threshold, share of time",
        "longest": "queue at its longest, HRTT mu_f",
        "simulated": "starved, of a queue in slots, share of time",
        "simulated_longest": "longest, of a queue in slots, HRTT mu_f",
    },
    compute=compute,
)
