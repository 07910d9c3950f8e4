"""The summary of a run, `summary.json`: single numbers of it. Rust makes it, or a computation, or the lab.

`backwater schema summary` says what each number means. A part is None where the run has none of it.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

Load = TypedDict(
    "Load",
    {
        "class": str,
        "asked": float | None,
        "realised": float | None,
        "sampling_error": float | None,
        "as_asked": bool | None,
        "flows": int,
        "offered_bps": float,
    },
)
"""What a workload offered, beside what was asked."""
Throughput = TypedDict(
    "Throughput", {"class": str, "goodput_bps": float, "early_goodput_bps": NotRequired[float]}
)  # Runs of before have no `early_goodput_bps`.
"""Payload of a class that arrived in the counted window, and in its earlier half."""
Bin = TypedDict(
    "Bin",
    {
        "class": str,
        "bin": str,
        "size_low_bytes": int,
        "size_high_bytes": int | None,
        "flows": int,
        "unfinished": int,
        "mean": float | None,
        "p50": float | None,
        "p95": float | None,
        "p99": float | None,
        "mean_excess_ns": float | None,
        "p99_excess_ns": float | None,
    },
)
"""Slowdown of the flows of a class and a range of sizes; of all sizes if `bin` is `all`."""
Collective = TypedDict(
    "Collective", {"class": str, "flows": int, "started": int, "received": int, "completion_ps": int | None}
)
"""A collective operation: its flows, and the time to its last byte."""
Wait = TypedDict("Wait", {"node": str, "for": str, "queue": int, "bytes": int, "first": int, "flows": int})
"""A queue that may not send, and the node that it waits for."""


IterationSummary = TypedDict(
    "IterationSummary",
    {
        "class": str,
        "iteration": int,
        "begin_ps": int,
        "end_ps": int,
        "time_ps": int,
        "rank_ps": int,
        "compute_ps": int,
        "exposed_ps": int,
        "slowest_rank": int | None,
    },
)
"""An iteration of a job that ended at every rank. `compute_ps` and `exposed_ps` are means over ranks, and sum to
`rank_ps`."""

JobSummary = TypedDict(
    "JobSummary",
    {
        "class": str,
        "ranks": int,
        "operations": int,
        "iterations": int,
        "ended": int,
        "iteration_ps": int | None,
        "slowest_ps": int | None,
        "sent_bytes": int,
        "waiting": int,
    },
)
"""A job: its operations, and the time of its iterations."""


class Ending(TypedDict, total=False):
    """How a run ended."""

    why: str
    held_queues: int
    held: list[Wait]
    cycle: list[Wait]


class Cycles(TypedDict):
    """Egress ports that may wait for one another."""

    ports: int
    components: int


class Flows(TypedDict):
    """Numbers of flows."""

    total: int
    counted: int
    finished: int
    unfinished: int
    retransmitted_packets: int


class Buffer(TypedDict):
    """Bytes in the buffers of switches."""

    mean_bytes: float | None
    p50_bytes: int | None
    p95_bytes: int | None
    p99_bytes: int | None
    max_bytes: int | None


class ActiveFlows(TypedDict):
    """Active flows of a port."""

    mean: float
    p50: int
    p99: int
    max: int
    share_below_queues: float


class Pause(TypedDict):
    """Pauses, and how long ports were held."""

    pfc_pauses: int
    pfc_paused_fraction: float
    bfc_pauses: int
    bfc_resumes: int
    bfc_bitmaps: int
    flow_pauses: int
    flow_resumes: int


class Collisions(TypedDict):
    """Flows that got a queue that was not empty."""

    assignments: int
    collisions: int


class Valleys(TypedDict):
    """Packets in valleys."""

    packets: int


class Loss(TypedDict):
    """Data packets that were lost."""

    data_packets: int
    dropped: int
    share: float | None
    share_per_port: float | None


class Timeouts(TypedDict):
    """Timeouts of TCP, by reason."""

    total: int
    flows: int
    silent: int
    tail: int
    retransmission: int
    held: int
    handshake: int


class Credits(TypedDict):
    """Credits that senders got."""

    received: int
    wasted: int
    waste: float | None
    dropped: int


class Recirculated(TypedDict):
    """Headers that recirculated through switches."""

    headers: int
    waited: int
    waited_share: float
    longest_ns: float


class QueueingDelay(TypedDict):
    """Queueing delay of packets."""

    mean_ns: float | None
    p50_ns: float | None
    p99_ns: float | None
    packets: int


class ScheduledDelay(TypedDict):
    """Queueing delay of Homa's scheduled packets at a hop."""

    hop: str
    p50_ns: float | None
    p95_ns: float | None
    p99_ns: float | None
    packets: int


class Lab(TypedDict, total=False):
    """What is known only of runs with real packets."""

    faithful: bool
    unfaithful_because: str
    divisor: int
    hop_s: float
    late_p99_s: float
    late_max_s: float
    datagrams_sent: int
    datagrams_received: int
    datagrams_altered: int
    datagrams_reordered: int
    datagrams_duplicated: int


class Summary(TypedDict, total=False):
    """Single numbers of a run. A computation has `results` in place of what is measured in a network."""

    complete: bool
    ending: Ending
    deadlock: Cycles
    flows: Flows
    load: list[Load]
    core_utilisation: float | None
    slowdown: list[Bin]
    buffer: Buffer
    active_flows: ActiveFlows | None
    pause: Pause
    collisions: Collisions
    valleys: Valleys | None
    drops: dict[str, int]
    loss: Loss
    timeouts: Timeouts | None
    credits: Credits | None
    recirculated: Recirculated | None
    collectives: list[Collective] | None
    jobs: list[JobSummary] | None
    iterations: list[IterationSummary] | None
    queueing_delay: QueueingDelay | None
    scheduled_delay: list[ScheduledDelay] | None
    throughput: list[Throughput]
    packet_hops: int
    sim_time_ps: int
    results: dict[str, float | None]
    facts: list[str]
    exact: bool
    lab: Lab


CREDIT = "credit"
"""The reason with which ExpressPass drops surplus credits, by design."""


def lost(summary: Summary) -> int:
    """Returns the number of packets that were dropped, without credits of ExpressPass."""
    return sum(packets for reason, packets in summary["drops"].items() if reason != CREDIT)
