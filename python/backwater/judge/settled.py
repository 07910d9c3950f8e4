"""Whether a measurement has settled, or would be another number in a longer run.

A claim about a network with random arrivals is about its steady state. So each measurement that it reads is tested:

* *Drift*. The counted window is cut into equal parts, and the flows that arrive in each part are measured alone. The
  later half is compared with the earlier one, part by part and seed by seed. A part lasts at least as long as nine of
  ten of its flows, so parts are nearly independent. The measurement has not settled if the halves surely differ by more
  than 5 %.
* *Draining*. It has not settled if its flows spend more than 5 % of their time after the last arrival, where the load
  falls. Nor has a mean of which more than 5 % is the age of flows that have not finished.
* *The network*. Some measurements have one value for the whole run. The drift of others is known only within a factor
  of 1.5 or worse. Both have settled if the bytes in progress have: the sizes of all flows that have arrived and have
  not finished. If these grow nearly in proportion to time, the network may be overloaded, and no run long enough.
* *No drops*. Where nothing is dropped, the drift is that of the p99 of the bytes in the fullest switch.

Networks in which nothing arrives at random have no steady state, and are not tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from backwater.common.arrays import Array, np
from backwater.judge import estimate
from backwater.judge.estimate import Estimate
from backwater.judge.numbers import number

PARTS = (10, 4, 2)
"""Into how many parts a window may be cut. The most that have enough flows each are taken."""
TOLERANCE = 0.05
"""Drift, and share of time after the last arrival, that a measurement may have."""
RESOLVED = 1.5
"""If the interval of the drift goes beyond this factor, the drift is not known."""
PROPORTIONAL = 0.75
"""Bytes in progress that grow by this share of what is proportional to time may grow without a bound."""
OVERLOADED = "bytes in progress grow in proportion to time, as in an overloaded network"
ERROR = 0.05
"""How often a claim whose measurements have all settled may be called unsettled."""


@dataclass(frozen=True)
class Course:
    """A measurement of one run over its counted window."""

    parts: dict[int, Array]
    """The measurement of each part, by the number of parts. Absent where a part has too little."""
    drained: float
    """Share of the measured flows' time that is after the last arrival."""
    unfinished: float
    """Share of a mean that is the age of flows that have not finished."""
    backlog: Array
    """Mean bytes in progress in the earlier and in the later half of the window."""
    linear: float = math.inf
    """The later over the earlier, if bytes in progress had grown in proportion to time since the first arrival."""


@dataclass(frozen=True)
class Test:
    """What came of testing one measurement."""

    moved: str
    """Why it has not settled; empty if it has."""
    step: Estimate | None
    """The later half of its window over the earlier one; None if it has no course over time."""
    network: Estimate | None = None
    """The same of the bytes in progress; None for one run."""


def test(courses: Sequence[Course], of: int) -> Test:
    """Tests a measurement, one of so many that a claim reads. Every course is of one run; runs differ in their seed."""
    own = drift(courses, of)
    network = between_halves([course.backlog[np.newaxis] for course in courses], of)
    return Test(why_not(own, network, courses), own, network)


def why_not(own: Estimate | None, network: Estimate | None, courses: Sequence[Course]) -> str:
    """Says why a measurement has not settled, and whether the network may be overloaded; empty if it has."""
    if (reason := moved(own, network, courses)) and overloaded(network, courses):
        return f"{reason}; {OVERLOADED}"
    return reason


def overloaded(network: Estimate | None, courses: Sequence[Course]) -> bool:
    """Returns whether bytes in progress grow nearly in proportion to time. Then perhaps no run is long enough."""
    linear = max(course.linear for course in courses)
    return network is not None and network.low > 1 + TOLERANCE and network.value > 1 + PROPORTIONAL * (linear - 1)


def moved(own: Estimate | None, network: Estimate | None, courses: Sequence[Course]) -> str:
    if (most := max(course.drained for course in courses)) > TOLERANCE:
        return f"{percent(most)} of its flows' time is after the last arrival"
    if (most := max(course.unfinished for course in courses)) > TOLERANCE:
        return f"{percent(most)} of it is the age of flows that have not finished"
    if own is not None and moves(own):
        return told(own)
    if own is not None and own.low > 1 / RESOLVED and own.high < RESOLVED:
        return ""
    if network is not None and moves(network):
        return f"its own drift is not known, and of the bytes in progress {told(network)}"
    return ""


def drift(courses: Sequence[Course], of: int) -> Estimate | None:
    """Returns the measurement's later half over its earlier half; None if no run has enough flows for it."""
    parts = next((n for n in PARTS if all(n in course.parts for course in courses)), None)
    if parts is None:
        return None
    return between_halves([course.parts[parts].reshape(2, -1).T for course in courses], of)


def between_halves(pairs: Sequence[Array], of: int) -> Estimate | None:
    """Returns later over earlier with its interval, from pairs of an earlier and a later value; None for one pair.

    Values are compared by their logarithm, or relative to their mean if one is not positive.
    """
    values = np.concatenate(pairs)
    if len(values) < 2:
        return None
    positive = values.min() > 0
    if not positive and values.mean() == 0:
        return estimate.exact(1.0)
    scaled = np.log(values) if positive else values / abs(values.mean())
    steps = (scaled[:, 1] - scaled[:, 0]).tolist()
    step = estimate.of_mean(steps, 1 - ERROR / of)
    if not positive:
        return Estimate(1 + step.value, 1 + step.low, 1 + step.high)
    value, low, high = (math.exp(min(max(end, -700.0), 700.0)) for end in (step.value, step.low, step.high))
    return Estimate(value, low, high)


def moves(step: Estimate) -> bool:
    """Returns whether two halves surely differ by more than the tolerance."""
    return step.low > 1 + TOLERANCE or step.high < 1 / (1 + TOLERANCE)


def percent(share: float) -> str:
    """Writes a share to three digits, so that 5.2 % is not the 5 % that are allowed."""
    return f"{number(100 * share)} %"


def told(step: Estimate) -> str:
    """Says how the later half compares with the earlier one."""
    return f"the later half is {number(step.value)} times the earlier ({number(step.low)} to {number(step.high)})"
