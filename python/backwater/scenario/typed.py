"""The tables of a scenario as types, for editors and type checkers.

Made by tools/builders.py from the schema.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from backwater.common.values import Table
from backwater.scenario.units import BitsPerSec, Bytes, Duration

LogNormalArrivals = TypedDict(
    "LogNormalArrivals",
    {
        "log-normal": "float",
    },
)
"""Log-normal gaps; the sigma of the underlying normal."""


class BfcParams(TypedDict):
    """BFC's parameters and knobs (spec A and B)."""

    count_last: NotRequired[bool]
    """A flow's last packet counts towards a pause, as in the printed pseudo-code (BFC-A29)."""
    credits: NotRequired[CreditParams]
    """Neighbours send only data that fits the buffer: each ingress link has credits for its share. Beyond the
    paper.
    """
    early_resume: NotRequired[bool]
    """An upstream queue resumes once all queues with its counted packets have dropped to their threshold, not only
    once all of these packets have departed. Beyond the paper.
    """
    elide: NotRequired[Elide]
    """Turns on which no backpressure is sent (spec C.1)."""
    extra_control_queue: NotRequired[bool]
    """Adds the control queue to `queues` instead of taking it from them (BFC-A5)."""
    fixed_threshold: NotRequired[Bytes]
    """A fixed pause threshold instead of HRTT x rate / active queues."""
    hrtt: NotRequired[Duration]
    """Round trip to a neighbour, which sets the pause threshold. Absent: twice the largest propagation delay of
    the
    switch.
    """
    incast_label: NotRequired[bool]
    """Labelled incast flows of an egress share one queue (spec B, incast label)."""
    literal_empty: NotRequired[bool]
    """Looks for an empty queue whether or not it is paused (BFC-A9)."""
    nic_obeys: NotRequired[bool]
    """NICs obey PAUSE. False: BFC - NIC, which needs a window at the host."""
    nic_queues: NotRequired[int]
    """Data queues of a NIC at the switch, 1 to 128. Absent: as many as the switch has."""
    per_ingress_threshold: NotRequired[bool]
    """Use each ingress port's own HRTT instead of the largest (BFC-A12)."""
    pipelines: NotRequired[int]
    """Ingress pipelines that divide the flow table among them, 1 to 16. Ports are mapped to them in blocks (spec
    B.1).
    """
    refresh: NotRequired[Duration]
    """Period of the bitmap that repairs the loss of frames."""
    sampling: NotRequired[float]
    """Share of packets that take part in bookkeeping, 0 to 1 (spec B, sampling)."""
    shared_queues: NotRequired[bool]
    """With priority groups: any empty queue goes to the class that needs one; classes have no fixed share of the
    queues. Beyond the paper.
    """
    similar: NotRequired[bool]
    """A new flow that finds no empty queue shares the queue whose first packet has the most similar remaining flow
    size, in place of a random one: for queues served by remaining size (BFC, appendix A.2).
    """
    sticky: NotRequired[Duration]
    """Time for which an idle flow keeps its queue. Absent: 2 HRTT."""
    sticky_reserve: NotRequired[bool]
    """Does not give an empty queue to another flow within the sticky time of its last flow (BFC-A8)."""
    table_entries_per_queue: NotRequired[int]
    """Flow-table entries per hardware queue."""
    tofino: NotRequired[HardwareParams]
    """Hardware limits of a Tofino2: see `HardwareParams` (spec B.1)."""


class CallbackParams(TypedDict):
    """Control by code outside of the simulator. Python's `Experiment(control=...)` sets these keys."""

    cnp_interval: NotRequired[Duration]
    """Least time between two congestion notifications of a receiver. Absent: there are none."""
    code: NotRequired[str]
    """Digest of its module and parameters."""
    every: NotRequired[int]
    """ACKs from one call to the next, up to 1 000 000. 0: one call per round trip."""
    name: NotRequired[str]
    """Name of the control, in reports."""
    paced: NotRequired[bool]
    """Packets are spaced by the rate (false: only the window limits them)."""
    start_rate: NotRequired[float]
    """Rate at which flows start, as a share of the line rate."""
    telemetry_bytes: NotRequired[Bytes]
    """Wire bytes of telemetry on every data packet."""
    window_follows_rate: NotRequired[bool]
    """The window is in proportion to the rate, unless it is set."""


class Conventions(TypedDict):
    """Choices of the model in which simulators differ. docs/fidelity.md gives the reasons for the defaults."""

    acks: NotRequired[AckClass]
    """Class of ACKs and NACKs at switches."""
    down_queues: NotRequired[DownQueues]
    """Used with `memory = 'hpcc-sim'`: fate of packets that wait at a switch's port when its link goes down."""
    hosts: NotRequired[Hosts]
    """Scheduling of a host's NIC, and loss recovery of its flows."""
    losses: NotRequired[Losses]
    """Used with `ties = 'ns3'`: random numbers that decide which frames a link loses."""
    memory: NotRequired[Memory]
    """Accounting of a switch's memory under PFC."""
    paths: NotRequired[Paths]
    """Choice of a switch among equal-cost next hops."""
    pfc_frame: NotRequired[Bytes]
    """Wire size of a PFC frame."""
    reroutes: NotRequired[Reroutes]
    """Used with `hosts = 'hpcc-sim'`: reaction of hosts to a change of routes, and to packets that it reorders."""
    ties: NotRequired[Ties]
    """Order of simultaneous events at a node."""
    time: NotRequired[Time]
    """Resolution of transmission times."""


class CreditParams(TypedDict):
    """Division of the buffer among links."""

    alpha: NotRequired[float]
    """Share of a link in the shared part: at most `alpha` times the unused rest."""
    reserve: NotRequired[Bytes]
    """Bytes always granted to each link. Absent: as many as keep the link busy."""
    step: NotRequired[Bytes]
    """Growth of a limit that causes a frame."""


class DcqcnParams(TypedDict):
    """DCQCN (baselines 2)."""

    additive_increase: NotRequired[BitsPerSec]
    """Rate added to the target in additive increase (AI)."""
    alpha: NotRequired[float]
    """Estimate alpha at a flow's first cut, 0 to 1."""
    alpha_timer: NotRequired[Duration]
    """Period in which alpha decays, or with `vendor` is updated."""
    byte_counter: NotRequired[Bytes]
    """Wire bytes between steps of the byte counter; `'0 B'`: no counter. Only published."""
    clamp: NotRequired[bool]
    """A cut sets the target to the rate, also if the rate was not increased since the cut before."""
    cnp_interval: NotRequired[Duration]
    """Least time between two notifications of a receiver. Only published."""
    decrease_interval: NotRequired[Duration]
    """Least time between two cuts. Only vendor."""
    fast_recovery: NotRequired[int]
    """Steps of fast recovery (F)."""
    g: NotRequired[float]
    """Weight of the newest observation in the estimate alpha."""
    hyper_increase: NotRequired[BitsPerSec]
    """Rate added to the target in hyper increase (HAI)."""
    increase_timer: NotRequired[Duration]
    """Period of the increase timer."""
    min_rate: NotRequired[BitsPerSec]
    """Lowest rate."""
    paced: NotRequired[bool]
    """Packets are spaced by the rate (false: only the window limits them)."""
    variant: NotRequired[DcqcnVariant]
    """Form of DCQCN."""
    window_follows_rate: NotRequired[bool]
    """The window, where there is one, is in proportion to the rate."""


class DctcpParams(TypedDict):
    """Rate-based DCTCP (baselines 1.1)."""

    additive_increase: NotRequired[BitsPerSec]
    """Rate added once per round trip."""
    g: NotRequired[float]
    """Weight of the newest batch in the estimate of the marked share."""
    min_rate: NotRequired[BitsPerSec]
    """Lowest rate."""
    paced: NotRequired[bool]
    """Packets are spaced by the rate (false: only the window limits them)."""
    slow_start: NotRequired[bool]
    """Flows start at a tenth of the line rate, and until their first mark each ACK adds twice the additive
    increase.
    """
    window_follows_rate: NotRequired[bool]
    """The window is in proportion to the rate (false: it stays at `host.window`)."""


class Ecn(TypedDict):
    """RED on the instantaneous length of the egress queue, at dequeue, after removing the packet."""

    by_rate: NotRequired[list[EcnAt]]
    """Different thresholds for ports of these rates."""
    kmax: Bytes
    """Queue length above which every packet is marked."""
    kmin: Bytes
    """Queue length up to which no packet is marked."""
    of: NotRequired[EcnOf]
    """Length that is compared with the thresholds."""
    pmax: float
    """Marking probability just below `kmax`, 0 to 1."""
    queues: NotRequired[list[int]]
    """Numbers of the queues that mark. Empty: all."""
    spacing: NotRequired[Spacing]
    """Spacing of marks between the thresholds."""


class EcnAt(TypedDict):
    """Thresholds of `Ecn` for ports of one rate."""

    kmax: Bytes
    """Queue length above which every packet is marked."""
    kmin: Bytes
    """Queue length up to which no packet is marked."""
    pmax: float
    """Marking probability just below `kmax`, 0 to 1."""
    rate: BitsPerSec
    """Rate of the ports."""


SlowdownExpected = TypedDict(
    "SlowdownExpected",
    {
        "at": "NotRequired[Table]",
        "class": "NotRequired[str]",
        "sizes": "NotRequired[SizeRange]",
        "slowdown": "Statistic",
        "spread": "NotRequired[Spread]",
        "variant": "NotRequired[str]",
    },
)


WaitExpected = TypedDict(
    "WaitExpected",
    {
        "at": "NotRequired[Table]",
        "class": "NotRequired[str]",
        "sizes": "NotRequired[SizeRange]",
        "spread": "NotRequired[Spread]",
        "variant": "NotRequired[str]",
        "wait": "Statistic",
    },
)


FctExpected = TypedDict(
    "FctExpected",
    {
        "at": "NotRequired[Table]",
        "class": "NotRequired[str]",
        "fct": "Statistic",
        "sizes": "NotRequired[SizeRange]",
        "spread": "NotRequired[Spread]",
        "variant": "NotRequired[str]",
    },
)


FctAckExpected = TypedDict(
    "FctAckExpected",
    {
        "at": "NotRequired[Table]",
        "class": "NotRequired[str]",
        "fct_ack": "Statistic",
        "sizes": "NotRequired[SizeRange]",
        "spread": "NotRequired[Spread]",
        "timed_out": "NotRequired[bool]",
        "variant": "NotRequired[str]",
    },
)


WithTimeoutExpected = TypedDict(
    "WithTimeoutExpected",
    {
        "at": "NotRequired[Table]",
        "class": "NotRequired[str]",
        "sizes": "NotRequired[SizeRange]",
        "spread": "NotRequired[Spread]",
        "variant": "NotRequired[str]",
        "with_timeout": 'Literal["share"]',
    },
)


InjectedWithinExpected = TypedDict(
    "InjectedWithinExpected",
    {
        "at": "NotRequired[Table]",
        "class": "NotRequired[str]",
        "injected_within": "Duration",
        "spread": "NotRequired[Spread]",
        "variant": "NotRequired[str]",
    },
)


class PortsExpected(TypedDict):
    at: NotRequired[Table]
    node: NotRequired[str]
    peer: NotRequired[str]
    ports: (
        Literal["port"]
        | Literal["rate_bps"]
        | Literal["data_packets"]
        | Literal["data_bytes"]
        | Literal["ack_packets"]
        | Literal["control_frames"]
        | Literal["dropped_packets"]
        | Literal["utilisation"]
        | Literal["pfc_paused_ps"]
        | Literal["pfc_pauses"]
        | Literal["bfc_paused_queue_ps"]
        | Literal["bfc_pauses"]
        | Literal["bfc_resumes"]
        | Literal["bfc_bitmaps"]
        | Literal["flow_pauses"]
        | Literal["flow_resumes"]
        | Literal["assignments"]
        | Literal["collisions"]
    )
    spread: NotRequired[Spread]
    variant: NotRequired[str]


class MmusExpected(TypedDict):
    at: NotRequired[Table]
    mmu: NotRequired[int]
    mmus: (
        Literal["ports"]
        | Literal["capacity_bytes"]
        | Literal["peak_bytes"]
        | Literal["dropped_full"]
        | Literal["dropped_threshold"]
        | Literal["marked_queue"]
        | Literal["marked_pool"]
    )
    node: NotRequired[str]
    spread: NotRequired[Spread]
    variant: NotRequired[str]


class PausesExpected(TypedDict):
    at: NotRequired[Table]
    node: NotRequired[str]
    pauses: Literal["held"] | Literal["incast"] | Literal["other"] | Literal["orphans"] | Literal["all"]
    peer: NotRequired[str]
    spread: NotRequired[Spread]
    variant: NotRequired[str]


class QueueExpected(TypedDict):
    after: NotRequired[Duration]
    at: NotRequired[Table]
    node: NotRequired[str]
    peer: NotRequired[str]
    queue: SampleStatistic
    spread: NotRequired[Spread]
    variant: NotRequired[str]


class DataQueueExpected(TypedDict):
    after: NotRequired[Duration]
    at: NotRequired[Table]
    data_queue: SampleStatistic
    node: NotRequired[str]
    peer: NotRequired[str]
    spread: NotRequired[Spread]
    variant: NotRequired[str]


class PoolExpected(TypedDict):
    after: NotRequired[Duration]
    at: NotRequired[Table]
    mmu: NotRequired[int]
    node: NotRequired[str]
    pool: SampleStatistic
    spread: NotRequired[Spread]
    variant: NotRequired[str]


class ActiveFlowsExpected(TypedDict):
    active_flows: FlowsStatistic
    at: NotRequired[Table]
    node: NotRequired[str]
    port: NotRequired[int]
    spread: NotRequired[Spread]
    variant: NotRequired[str]


class ActiveFlowsDistanceExpected(TypedDict):
    active_flows_distance: str
    at: NotRequired[Table]
    node: NotRequired[str]
    port: NotRequired[int]
    spread: NotRequired[Spread]
    variant: NotRequired[str]


class SharingExpected(TypedDict):
    at: NotRequired[Table]
    node: NotRequired[str]
    peer: NotRequired[str]
    sharing: SharingStatistic
    spread: NotRequired[Spread]
    variant: NotRequired[str]


SummaryExpected = TypedDict(
    "SummaryExpected",
    {
        "at": "NotRequired[Table]",
        "class": "NotRequired[str]",
        "spread": "NotRequired[Spread]",
        "summary": "SummaryPath",
        "variant": "NotRequired[str]",
    },
)


ScenarioExpected = TypedDict(
    "ScenarioExpected",
    {
        "at": "NotRequired[Table]",
        "class": "NotRequired[str]",
        "scenario": "str",
        "spread": "NotRequired[Spread]",
        "variant": "NotRequired[str]",
    },
)


class ResultExpected(TypedDict):
    at: NotRequired[Table]
    result: str
    spread: NotRequired[Spread]
    variant: NotRequired[str]


class ProductExpected(TypedDict):
    product: list[Expected]


class QuotientExpected(TypedDict):
    quotient: list[Expected]


class SumExpected(TypedDict):
    sum: list[Expected]


class DifferenceExpected(TypedDict):
    difference: list[Expected]


AfterExpected = TypedDict(
    "AfterExpected",
    {
        "after": "NotRequired[Duration]",
        "at": "NotRequired[Table]",
        "class": "NotRequired[str]",
        "mmu": "NotRequired[int]",
        "node": "NotRequired[str]",
        "peer": "NotRequired[str]",
        "port": "NotRequired[int]",
        "sizes": "NotRequired[SizeRange]",
        "spread": "NotRequired[Spread]",
        "timed_out": "NotRequired[bool]",
        "variant": "NotRequired[str]",
    },
)


class ExpressPassParams(TypedDict):
    """ExpressPass. The defaults are those of its public code."""

    credit_max: NotRequired[Bytes]
    """Largest size of a credit."""
    credit_min: NotRequired[Bytes]
    """Least size of a credit; sizes are drawn at random."""
    credit_queue: NotRequired[int]
    """Credits that may wait at a port."""
    early_stop: NotRequired[bool]
    """A sender asks for no more credits once as many came within a round trip as it has packets left."""
    initial_rate: NotRequired[float]
    """Rate of a flow's first credits, as a share of the highest rate (*alpha*)."""
    initial_weight: NotRequired[float]
    """Weight of the highest rate in a flow's first increase (*w_init*)."""
    jitter: NotRequired[float]
    """Largest variation of the gap between two credits, up or down, as a share of it."""
    min_weight: NotRequired[float]
    """Least weight (*w_min*)."""
    retry: NotRequired[Duration]
    """Time after which a request without a credit is repeated."""
    small_flow: NotRequired[int]
    """Packets below which a flow starts at a rate in proportion to its size; 0: none does."""
    target_loss: NotRequired[float]
    """Target of the share of lost credits, for a rate of zero; it falls to zero at the highest rate."""


class Fault(TypedDict):
    """A link that loses frames or goes down."""

    common: NotRequired[bool]
    """With `conventions.losses = 'ns3'`: one stream of random numbers decides for all links that set this. Else
    each
    link has its own stream.
    """
    control_loss: NotRequired[float]
    """Share of control frames (not ACKs) lost in addition."""
    down: NotRequired[list[list[Duration]]]
    """Intervals `[down, up]` in which the link carries nothing and routes avoid it."""
    link: list[str]
    """The two nodes of the link."""
    loss: NotRequired[float]
    """Share of frames lost, each direction, 0 to below 1."""


class FlowSailParams(TypedDict):
    """FlowSail's parameters and knobs (spec F)."""

    as_printed: NotRequired[bool]
    """Runs the published pseudo-code to the letter, which stops queues for ever and sends packets of paused flows
    (spec F.9). The only other keys that it reads are `ql`, `qh` and `hrtt`.
    """
    count_last: NotRequired[bool]
    """A flow's last packet counts towards a pause like the others."""
    elide: NotRequired[Elide]
    """Turns on which no backpressure is sent (spec C.1)."""
    fingerprint_bits: NotRequired[int]
    """Bits by which records of a bucket tell flows apart, 8 to 32. 32: exact; with fewer, flows with equal bits
    are
    treated as one flow.
    """
    hold: NotRequired[Hold]
    """Condition under which an isolation queue waits."""
    hrtt: NotRequired[Duration]
    """Round trip to a neighbour, which sets the thresholds. Absent: twice the largest propagation delay of the
    switch.
    """
    isolation_queues: NotRequired[int]
    """Isolation queues of each group of queues, fewer than its queues; the paper has one."""
    nactive_literal: NotRequired[bool]
    """Counts all queues that are not paused as active, with data or not (FS-A11)."""
    nic_obeys: NotRequired[bool]
    """NICs obey PAUSE for the flow that it names."""
    qh: NotRequired[float]
    """Queue length above which every flow with an arriving packet is paused, in the same unit. `ql` or more."""
    ql: NotRequired[float]
    """Queue length above which a flow with more than its fair share is paused, in multiples of HRTT x rate over
    active
    queues. Above 0.
    """
    refresh: NotRequired[Duration]
    """Period in which pauses in force are repeated; a pause not repeated for three periods lapses. `'0 us'`:
    pauses
    are neither repeated nor do they lapse, as in the paper.
    """
    release: NotRequired[Duration]
    """Time after which a flow that is not paused and has nothing isolated is released (FS-A1). Absent: 2 HRTT. `'0
    s'`: at once, as in the pseudo-code.
    """
    release_from: NotRequired[ReleaseFrom]
    """Start of the `release` time."""
    residue: NotRequired[Residue]
    """Treatment of the packets that a flow has in its normal queue when it is paused."""
    sketch: NotRequired[SketchParams]
    """Flow sizes from a count-min sketch of each port. Absent: exact counters."""
    strict_fair: NotRequired[bool]
    """A flow exceeds its fair share only with strictly more than it, not with exactly as much (FS-A10)."""
    table_entries: NotRequired[int]
    """Flow records of a switch, 16 to 1 000 000; the default is 100 KB of 50-bit entries."""
    weights: NotRequired[list[int]]
    """`[priority]`: weight of its flows in the fair share, 1 to 255. Empty: all equal."""


class GraphLink(TypedDict):
    """A link of a `Topology::Graph`."""

    delay: Duration
    """Propagation delay."""
    ends: list[str]
    """The two nodes of the link."""
    rate: BitsPerSec
    """Rate of each direction."""


class HardwareParams(TypedDict):
    """Limits of a chip. Zero in a field: no limit."""

    bitmap_period: NotRequired[Duration]
    """Period in which each ingress pipeline renews its copy of the map of empty queues. 0: no copies. Not in the
    paper.
    """
    cycle: NotRequired[Duration]
    """Pipeline time for each packet, arriving or recirculating. 0: no limit. 0.8 ns is 1.25 GHz; not in the paper."""
    depth_delay: NotRequired[Duration]
    """Delay of the depths. Not in the paper."""
    depth_period: NotRequired[Duration]
    """Period in which queue depths are pushed to the ingress pipelines. 0: at every change. Not in the paper."""
    recirc_delay: NotRequired[Duration]
    """Time from the start of a transmission to its booking, on an idle recirculation port. Not in the paper."""
    recirc_frame: NotRequired[Bytes]
    """Bytes of a packet that recirculate."""
    recirc_share: NotRequired[float]
    """Bandwidth of a pipeline's recirculation port, as a share of the bandwidth of its ports; 0: no limit. `12 %
    of
    the switch's bandwidth`.
    """
    tail_fifo: NotRequired[Bytes]
    """Bytes of a port's FIFO behind the scheduler, which depart even from a paused queue."""


class HomaParams(TypedDict):
    """Homa. `host.window` is RTTbytes: the unscheduled bytes of a message, and the bytes granted ahead. `host.rto`
    is the
    time without a packet after which missing packets are asked for again.
    """

    cutoffs: NotRequired[list[Bytes]]
    """Largest message of each unscheduled level but the last, ascending. Absent: chosen so that levels have equal
    shares of the unscheduled bytes of the workloads.
    """
    levels: NotRequired[int]
    """Priority levels of packets, 2 to 64. Switches with fewer queues serve the lowest together."""
    overcommitment: NotRequired[int]
    """Messages that a host grants to at once, each of another sender. Absent: as many as there are scheduled
    levels.
    """
    unscheduled_levels: NotRequired[int]
    """Levels of unscheduled packets, the highest of all. Absent: in proportion to the unscheduled bytes of the
    workloads.
    """


class Host(TypedDict):
    """Hosts: their transport, and the parameters of each transport."""

    ack: NotRequired[Bytes]
    """Wire size of an ACK or NACK."""
    ack_chunk: NotRequired[Bytes]
    """Used with `conventions.hosts = 'hpcc-sim'`: before `ack_from`, the receiver acknowledges packets that
    end at a multiple of this.
    """
    ack_class: NotRequired[AckClass]
    """Used with `conventions.hosts = 'hpcc-sim'`: class of a NIC's ACKs. A pause of the data class stops ACKs
    of that class. The NIC always sends ACKs before data.
    """
    ack_from: NotRequired[Bytes]
    """Used with `conventions.hosts = 'hpcc-sim'`: the receiver acknowledges each packet that ends at or beyond
    this byte of its flow.
    """
    ack_priority: NotRequired[int]
    """With `ack_class = 'data'` and `assignment = 'class'`: class whose pause stops ACKs."""
    callback: NotRequired[CallbackParams]
    """Used when `transport = 'callback'`."""
    dcqcn: NotRequired[DcqcnParams]
    """Used when `transport = 'dcqcn'`."""
    dctcp: NotRequired[DctcpParams]
    """Used when `transport = 'dctcp'`."""
    delay: NotRequired[Duration]
    """Processing time of a received packet before it counts and is acknowledged."""
    expresspass: NotRequired[ExpressPassParams]
    """Used when `transport = 'expresspass'`."""
    header: NotRequired[Bytes]
    """Bytes of headers on every data packet."""
    homa: NotRequired[HomaParams]
    """Used when `transport = 'homa'`."""
    hpcc: NotRequired[HpccParams]
    """Used when `transport = 'hpcc'`."""
    nack_guard: NotRequired[Duration]
    """Least time between two NACKs for the same packet."""
    nic_buffer: NotRequired[Bytes]
    """With `transport = 'tcp'`: size of the NIC's FIFO. Packets beyond it are dropped."""
    nic_marks: NotRequired[bool]
    """With `transport = 'tcp'`: whether the NIC marks by the length of its queue, with the thresholds of
    `switch.ecn`.
    """
    payload: NotRequired[Bytes]
    """Bytes of payload in a full packet."""
    pint: NotRequired[PintParams]
    """Used when `transport = 'pint'`."""
    recovery: NotRequired[LossRecovery]
    """Loss recovery of transports with a window or a rate. Other transports have their own."""
    rto: NotRequired[Duration]
    """Retransmission timeout: without progress for this long the sender goes back to the last byte
    acknowledged.
    """
    rtt: NotRequired[RttParams]
    """Used when `transport = 'rtt'`."""
    selective: NotRequired[SelectiveParams]
    """Used when `recovery = 'selective'`."""
    srf: NotRequired[SrfParams]
    """Used when `transport = 'srf'`."""
    swift: NotRequired[SwiftParams]
    """Used when `transport = 'swift'`."""
    tcp: NotRequired[TcpParams]
    """Used when `transport = 'tcp'`."""
    timely: NotRequired[TimelyParams]
    """Used when `transport = 'timely'`."""
    transport: NotRequired[Transport]
    """Transport: congestion control end to end."""
    window: NotRequired[Window]
    """Cap on a flow's payload bytes in flight. Absent: `'bdp'`; no cap for `line-rate`, which takes only a
    size.
    """


class HpccParams(TypedDict):
    """HPCC (baselines 4)."""

    additive_increase: NotRequired[BitsPerSec]
    """Rate added at every update (W_AI / T)."""
    hops: NotRequired[int]
    """Hops that packets have room for; a packet that passes more is no sample."""
    int_bytes: NotRequired[Bytes]
    """Bytes of telemetry on every data packet, whatever the number of hops."""
    int_unit: NotRequired[int]
    """Factor of the units of telemetry, 128 B (sent) and 80 B (queued). Absent: one for each 25 Gb/s of the
    fastest
    NIC.
    """
    max_stage: NotRequired[int]
    """Steps of additive increase before a multiplicative one (maxStage)."""
    min_rate: NotRequired[BitsPerSec]
    """Lowest rate."""
    multi_rate: NotRequired[bool]
    """Each hop has a rate of its own, the least of which holds."""
    paced: NotRequired[bool]
    """Packets are spaced by the rate (false: only the window limits them)."""
    reacts: NotRequired[HpccReaction]
    """ACKs at which the rate changes."""
    sample_feedback: NotRequired[bool]
    """Hops with empty queues are ignored between updates."""
    utilization: NotRequired[float]
    """Target utilisation (eta)."""
    window_follows_rate: NotRequired[bool]
    """The window is in proportion to the rate (false: it stays at `host.window`)."""


class JobLocal(TypedDict):
    """Messages between ranks of one host, which cross no network."""

    latency: NotRequired[Duration]
    """Time that any message takes."""
    rate: NotRequired[BitsPerSec]
    """Rate at which a message crosses. Absent: at once."""


class JobModel(TypedDict):
    """What traces and text workloads leave open."""

    all_reduce: NotRequired[CollectiveAlgorithm]
    """Algorithm of all-reduces."""
    channels: NotRequired[int]
    """Channels of collectives, each with its share of the data."""
    control_dependencies: NotRequired[bool]
    """Nodes of a Chakra trace wait by their dependencies of control. PyTorch's name the caller of a node: leave
    them out.
    """
    first_dimension: NotRequired[int]
    """Ranks of the first dimension of ASTRA-sim's network, if a text workload has groups by it: neighbours, which
    are a
    tensor group, or under `HYBRID_MODEL_DATA` a data group.
    """
    groups: NotRequired[dict[str, list[int]]]
    """Groups of ranks of a Chakra trace, by name."""
    microbatches: NotRequired[int]
    """Microbatches that run all rows of a text workload, if it does not list the rows of each."""
    ranks: NotRequired[int]
    """Number of ranks, if a text workload does not say it."""
    shrink: NotRequired[int]
    """Divides the sizes and times of a text workload, for a smaller run with the same proportions."""
    stage_bytes: NotRequired[Bytes]
    """Size of what stages of a pipeline pass on, if a text workload does not say it."""
    stages: NotRequired[int]
    """Divides the rows of a text workload among this many stages of a pipeline. Without it, rows are those of one
    stage.
    """
    virtual_stages: NotRequired[int]
    """Parts of the model at each stage of an interleaved pipeline."""


class JobOverheads(TypedDict):
    """Time that messages cost at hosts, by the LogGOPS model. All are zero unless given."""

    gap: NotRequired[Duration]
    """Time of a NIC for each message that it sends: *g*."""
    gap_at_receiver: NotRequired[bool]
    """The NIC of the receiver is occupied for the gap too, before its stream is. It is in ATLAHS, but not in
    LogGOPSim.
    """
    gap_byte: NotRequired[Duration]
    """Time of a NIC for each byte after the first that it sends, besides the time on its link: *G*."""
    latency: NotRequired[Duration]
    """Time from the end of a send to the first packet: the part of *L* that is not the network's."""
    message: NotRequired[Duration]
    """Time of a stream for each message, at both ends: *o*."""
    message_byte: NotRequired[Duration]
    """Time of a stream for each byte after the first, at both ends: *O*."""


class JobSource(TypedDict):
    """A file that a scenario names, and what it held when the run was planned."""

    blake3: str
    """BLAKE3 hash of its contents."""
    path: str
    """Absolute path."""


class ListedFlow(TypedDict):
    """One flow of a list."""

    bytes: Bytes
    """Payload bytes."""
    dst: str
    """Destination host."""
    port: NotRequired[int]
    """Destination port, in files and hashes of other simulators."""
    priority: NotRequired[int]
    """Priority of its packets. Absent: that of the workload."""
    src: str
    """Source host."""
    start: Duration
    """Arrival time."""


class FlowletLoadBalancing(TypedDict):
    """A flowlet: packets of a flow less than this apart at the switch. Each flowlet takes a random path."""

    flowlet: Duration


class Measure(TypedDict):
    """Recordings beyond flows and counters."""

    active_flows: NotRequired[bool]
    """Count the flows with data in each egress port exactly (costs a look at a table per packet)."""
    data_queues: NotRequired[bool]
    """Sample each data queue of the ports in `queues` too, as far as it has held packets (costs a look at them at
    every sample).
    """
    links: NotRequired[Duration]
    """Period in which bytes carried and time paused are recorded for every link, over the whole run; zero: no
    recording.
    """
    pauses: NotRequired[bool]
    """Sample the packets that pauses are in force for (costs a look at all packets held at every sample)."""
    pools: NotRequired[bool]
    """Sample the occupancy of every shared pool too."""
    queueing_delay: NotRequired[bool]
    """Histogram of each data packet's time in egress queues (costs a time stamp per packet)."""
    queues: NotRequired[list[list[str]]]
    """Egress ports whose data is sampled too, `[switch, neighbour]` each; a name that ends in `*` stands for all
    names
    with that beginning.
    """
    sample: NotRequired[Duration]
    """Period of the samples of buffer occupancy and active flows; zero: no samples."""
    sharing: NotRequired[bool]
    """Sample the share of the flows with data in an egress port that share a queue (costs a look at all packets
    held
    at every sample).
    """
    size_bins: NotRequired[list[Bytes]]
    """Upper ends of the size bins of the slowdown tables, payload; a last bin takes the rest."""
    slowdown: NotRequired[Slowdown]
    """Computation of an unhindered flow's completion time."""
    valleys: NotRequired[bool]
    """Count the data packets that switches send back up to a higher layer than their own, from which they came
    (costs
    a look per packet).
    """


class Mmu(TypedDict):
    """Memory of a switch: private to queues, and shared by the ports of an MMU (spec G.1)."""

    neighbours: NotRequired[list[list[str]]]
    """Neighbours at the ports of each MMU, by name, in place of `ports`. Neighbours not named belong to the first
    MMU.
    """
    ports: NotRequired[int]
    """Ports of an MMU, taken in the order of a switch's links: hosts first. Absent: one MMU for all."""
    private: NotRequired[Bytes]
    """Private bytes of each queue, used before the pool."""
    queue: NotRequired[list[QueueMemory]]
    """Settings of single queues that differ from `private` and `switch.alpha`."""
    returns: NotRequired[Returns]
    """Bytes that a departing packet gives back first (BCC-A4)."""


class PfcParams(TypedDict):
    """Ingress accounting of priority flow control (baselines 0.4)."""

    alpha: NotRequired[float]
    """An ingress may hold `alpha` times the free shared buffer before it pauses."""
    headroom: NotRequired[Bytes]
    """Room for data that arrives after XOFF. Absent: the exact worst case of each link."""
    hysteresis: NotRequired[Bytes]
    """XON only when the ingress is this far below its threshold."""
    reserve: NotRequired[Bytes]
    """Bytes guaranteed to each ingress port."""


class PintParams(TypedDict):
    """HPCC with PINT."""

    additive_increase: NotRequired[BitsPerSec]
    """Rate added at every update (W_AI / T)."""
    log_base: NotRequired[float]
    """Base of the logarithm in which utilisation is written."""
    max_stage: NotRequired[int]
    """Steps of additive increase before a multiplicative one (maxStage)."""
    min_rate: NotRequired[BitsPerSec]
    """Lowest rate."""
    paced: NotRequired[bool]
    """Packets are spaced by the rate (false: only the window limits them)."""
    pint_bytes: NotRequired[Bytes]
    """Bytes of telemetry on every data packet."""
    sampled: NotRequired[float]
    """Share of the ACKs that control reacts to."""
    utilization: NotRequired[float]
    """Target utilisation (eta)."""
    window_follows_rate: NotRequired[bool]
    """The window is in proportion to the rate (false: it stays at `host.window`)."""


class PoolEcn(TypedDict):
    """RED on the instantaneous occupancy of a shared pool, at dequeue: one more configuration of BCC (spec G.2).
    Any
    ECN-capable packet that leaves a port of the pool's MMU may be marked (BCC-A2).
    """

    kmax: Bytes
    """Occupancy above which every packet is marked. `kmin = kmax`: the cut-off variant."""
    kmin: Bytes
    """Occupancy up to which no packet is marked."""
    only_ecn_queues: NotRequired[bool]
    """Marks only packets of queues that `ecn` covers, as in the Switch Abstraction Interface."""
    pmax: float
    """Marking probability just below `kmax`, 0 to 1."""
    spaced_over: NotRequired[SpacedOver]
    """Bytes that uniform spacing counts since the last mark."""
    spacing: NotRequired[Spacing]
    """Spacing of marks between the thresholds."""


class QueueMemory(TypedDict):
    """Memory of one queue of each port."""

    alpha: NotRequired[float]
    """Dynamic threshold of the queue. Absent: `switch.alpha`."""
    private: NotRequired[Bytes]
    """Private bytes of the queue. Absent: `switch.mmu.private`."""


class Region(TypedDict):
    """A group of switches that differ from the others."""

    at: list[str]
    """Names of the switches; `'core0..core7'` stands for eight of them, and `'core*'` for all names with that
    beginning.
    """
    scheme: NotRequired[str]
    """Preset of these switches, of which only the switch's keys count. Absent: the scenario's scheme, with the
    keys of
    its `switch`.
    """
    switch: NotRequired[Switch]
    """Keys of these switches, over the preset's."""


class RttParams(TypedDict):
    """Window that keeps round trips at a target (BFC, algorithm 1). It starts at `host.window`."""

    stamp_bytes: NotRequired[Bytes]
    """Bytes of the time stamp on every data packet; `'0 B'`: NICs keep send times themselves."""
    target: NotRequired[float]
    """The target, in base round trips."""


class Run(TypedDict):
    """Duration of a run, and the flows that count."""

    all_finish: NotRequired[bool]
    """Every counted flow and every collective has to finish: if one does not, the run is not complete."""
    cooldown: NotRequired[Duration]
    """Time at the end of `duration` whose arrivals do not count, so that counted flows finish under load. The run
    ends
    once they have finished. Absent: all arrivals from `warmup` on count, and the last of them finish in a
    network
    that drains.
    """
    drain: NotRequired[float]
    """Limit of the run as a multiple of `duration`, until which it goes on for counted flows and collectives that
    have
    not finished.
    """
    duration: Duration
    """Time in which flows arrive."""
    flows: NotRequired[int]
    """Flows after which arrivals end, if that is sooner than `duration`; those of collectives do not count."""
    origin: NotRequired[Duration]
    """Time zero of the run in files of other simulators."""
    warmup: NotRequired[Duration]
    """Time of the first arrival that counts. Absent: a tenth of the time until the end of the counted window."""
    window: NotRequired[Duration]
    """Look-ahead window of the engine; absent: the largest that the topology allows. Results do not depend on it."""


class SelectiveParams(TypedDict):
    """Signs by which a sender detects losses (baselines 4.1 and 8)."""

    few: NotRequired[int]
    """Most packets in flight for which the timeout is `rto_low`."""
    gaps: NotRequired[bool]
    """Packets missing below one that came out of order are lost (IRN); false: only notices and timeouts declare
    losses.
    """
    notice_slows: NotRequired[bool]
    """A drop notice sets the rate to its minimum, where control has one."""
    reach: NotRequired[int]
    """Windows of packets that may be sent beyond the first missing packet, 1 to 64."""
    rto_high: NotRequired[Duration]
    """Timeout with more than `few` packets in flight."""
    rto_low: NotRequired[Duration]
    """Timeout with at most `few` packets in flight."""


class SizeTable(TypedDict):
    """A cumulative distribution of flow sizes."""

    linear: bool
    """Linear interpolation between points (false: the smallest listed size whose probability suffices)."""
    points: list[list[float]]
    """`[size in bytes, cumulative probability]`, both non-decreasing, the last probability 1."""
    whole_packets: NotRequired[bool]
    """Sizes above one packet are rounded up to whole packets, as BFC's authors do (traffic 1)."""


class TableSizes(TypedDict):
    """A table shipped with Backwater, such as `google_rpc`."""

    table: str


class FileSizes(TypedDict):
    """A CSV file `size_bytes,cdf`, beside the scenario; read into `points`."""

    file: str


class PointsSizes(TypedDict):
    """A table given point by point."""

    points: SizeTable


class FixedSizes(TypedDict):
    """A fixed size."""

    fixed: Bytes


class ExponentialSizes(TypedDict):
    """Exponential with this mean, at least one byte."""

    exponential: Bytes


class UniformSizes(TypedDict):
    """Uniform over the whole numbers of bytes from the first to the second."""

    uniform: list[Bytes]


class SketchParams(TypedDict):
    """A count-min sketch (Cormode and Muthukrishnan 2005)."""

    columns: int
    """Counters of a row: a power of two, 16 to 65 536."""
    rows: int
    """Rows, each with a hash of its own. 1 to 8."""


class SrfParams(TypedDict):
    """Shortest remaining flow first at the host: its NIC, and the field that packets carry."""

    field_bytes: NotRequired[Bytes]
    """Bytes of the field on every data packet."""


class SwiftParams(TypedDict):
    """Swift (baselines 5)."""

    additive_increase: NotRequired[float]
    """Packets that a window grows by in a round trip below the target (ai)."""
    base_target: NotRequired[Duration]
    """Base of the target. Absent: 20 us, or 1.5 base round trips of the network if those are more."""
    beta: NotRequired[float]
    """Factor of a cut: the share of the excess that it takes away."""
    hop: NotRequired[Duration]
    """Addition to the target for each hop. Absent: the base divided by 6.55."""
    max_cut: NotRequired[float]
    """Largest share of the window that a cut takes away (max_mdf)."""
    max_window: NotRequired[float]
    """Largest window, packets; or `host.window`, if that is larger."""
    min_window: NotRequired[float]
    """Smallest window, packets."""
    reset_after: NotRequired[int]
    """Timeouts in a row that reset the window to the smallest."""
    scaling_max: NotRequired[float]
    """Window at which nothing is added, packets."""
    scaling_min: NotRequired[float]
    """Window at which `scaling_range` is added in full, packets."""
    scaling_range: NotRequired[Duration]
    """Largest addition to the target for a small window (fs_range). Absent: five times the base."""
    stamp_bytes: NotRequired[Bytes]
    """Bytes of the time stamp on every data packet."""


class Switch(TypedDict):
    """Switches: the five choices that make a switch, and their parameters."""

    alpha: NotRequired[float]
    """Dynamic threshold of a queue: it may hold at most `alpha` times the free buffer. Absent: no threshold."""
    assignment: NotRequired[Assignment]
    """Queue assignment: which queue a packet joins."""
    backpressure: NotRequired[Backpressure]
    """Backpressure: how a switch slows its neighbours."""
    bfc: NotRequired[BfcParams]
    """Used when `assignment = 'dynamic'` or `'homa-dynamic'`, or `backpressure = 'bfc'`."""
    buffer: NotRequired[Buffer]
    """Shared buffer of a switch; with several MMUs, that of each MMU."""
    chip: NotRequired[str]
    """Chip (`backwater list chips`). It gives `buffer`, `alpha` and `mmu` where these are absent."""
    drop_notice: NotRequired[bool]
    """Whether the switch sends a notice to the sender of a data packet that finds no room. The notice goes
    before data and has the size of an ACK. Needs `host.recovery = 'selective'`.
    """
    ecn: NotRequired[Ecn]
    """Marking of ECN-capable packets. Absent: none."""
    flowsail: NotRequired[FlowSailParams]
    """Used when `assignment = 'flowsail'`; `ql`, `hrtt`, `refresh` and `nic_obeys` also when `backpressure =
    'per-flow'`.
    """
    load_balancing: NotRequired[LoadBalancing]
    """Unit that keeps to one of several equal-cost paths: a flow, a flowlet or a packet."""
    mmu: NotRequired[Mmu]
    """Memory reserved to queues, and division of ports among memory management units (spec G.1)."""
    not_ect: NotRequired[NotEct]
    """Fate of a packet that is not ECN-capable where a rule would mark it."""
    pfc: NotRequired[PfcParams]
    """Used when `backpressure = 'pfc'`."""
    pool_ecn: NotRequired[PoolEcn]
    """Marking by the occupancy of the shared buffer, beside `ecn`: a packet is marked if either rule marks it
    (spec G.2). Absent: none.
    """
    priority_groups: NotRequired[int]
    """Number of groups of a port's data queues, with strict priority between groups. A workload's `priority`
    picks the group (spec B.2 and F.11). With assignment `single` each group is one FIFO.
    """
    quantum: NotRequired[Bytes]
    """Deficit round robin quantum; at least one full packet on the wire."""
    queues: NotRequired[int]
    """Queues per port as hardware counts them; one of them is the control queue unless
    `bfc.extra_control_queue`. 2 to 129. With FlowSail, data queues: the control queue comes on top
    (FS-A12). 2 to 128.
    """
    scheduler: NotRequired[Scheduler]
    """Scheduler: which queue of a port is served."""
    symmetric_ecmp: NotRequired[bool]
    """Whether the hash over equal-cost paths gives the same path in both directions."""
    when_paused: NotRequired[WhenPaused]
    """Fate of a packet whose queue is paused."""


class TcpParams(TypedDict):
    """TCP. Windows count full segments of `host.payload`; `host.rto` is the shortest timeout and the first."""

    ack_delay: NotRequired[Duration]
    """Longest time that an acknowledgement waits for more segments."""
    ack_every: NotRequired[int]
    """Most segments per acknowledgement. Segments out of order, and the one that opens a connection, are each
    acknowledged.
    """
    alpha: NotRequired[float]
    """DCTCP: estimate of a new connection, 0 to 1."""
    connections: NotRequired[Connections]
    """Connections that flows use."""
    dup_acks: NotRequired[int]
    """Duplicate acknowledgements, or segments above a hole, that mean loss."""
    g: NotRequired[float]
    """DCTCP: weight of the newest window in the estimate of the marked share."""
    handshake: NotRequired[bool]
    """A new connection starts with a segment without payload, and waits for its acknowledgement."""
    idle_raises: NotRequired[bool]
    """An idle connection also starts again, as in ns-2, if its window was smaller than the initial one (RFC 5681:
    only
    if larger). It also does so after an idle time of srtt + 4 var, whatever `rto` is.
    """
    idle_restart: NotRequired[bool]
    """A connection idle for longer than its timeout starts again with the initial window."""
    initial_window: NotRequired[int]
    """Initial window, segments."""
    marks: NotRequired[Marks]
    """Reaction of a sender to marks."""
    max_window: NotRequired[int]
    """Largest window, segments: the receiver's window. 0: no limit."""
    min_window: NotRequired[int]
    """Smallest window after a mark, segments."""
    open: NotRequired[int]
    """Connections that two hosts have open from the start, with persistent connections."""
    recovery: NotRequired[Recovery]
    """Segments counted as in flight during loss recovery."""
    rto_max: NotRequired[Duration]
    """Longest timeout after backing off."""


class TimelyParams(TypedDict):
    """TIMELY (baselines 3)."""

    additive_increase: NotRequired[BitsPerSec]
    """Rate added by an increase (AI; delta in the paper)."""
    beta: NotRequired[float]
    """Factor of a cut (b; beta in the paper): the share of the excess that it takes away."""
    hyper_after: NotRequired[int]
    """Increases in a row before hyper increase."""
    hyper_increase: NotRequired[BitsPerSec]
    """Rate added by an increase after several in a row (HAI)."""
    min_rate: NotRequired[BitsPerSec]
    """Lowest rate."""
    min_rtt: NotRequired[Duration]
    """Round trip of an idle network, by which differences are divided."""
    paced: NotRequired[bool]
    """Packets are spaced by the rate (false: only the window limits them)."""
    stamp_bytes: NotRequired[Bytes]
    """Bytes of the time stamp on every data packet."""
    t_high: NotRequired[Duration]
    """Round trips above this cut the rate, whatever the gradient."""
    t_low: NotRequired[Duration]
    """Round trips below this let the rate grow, whatever the gradient."""
    weight: NotRequired[float]
    """Weight of the newest difference of round trips (a; alpha in the paper)."""
    window_follows_rate: NotRequired[bool]
    """The window, where there is one, is in proportion to the rate."""


class LeafSpine(TypedDict):
    """Two tiers, every leaf linked once to every spine."""

    core_delay: Duration
    """Propagation delay of leaf-spine links."""
    core_rate: BitsPerSec
    """Rate of leaf-spine links."""
    host_delay: Duration
    """Propagation delay of host links."""
    host_rate: BitsPerSec
    """Rate of host links."""
    hosts_per_leaf: int
    """Hosts under each leaf."""
    kind: Literal["leaf-spine"]
    leaves: int
    """Top-of-rack switches."""
    spines: int
    """Spine switches."""


class FatTree(TypedDict):
    """Three tiers in pods. Every ToR is linked once to every aggregation switch of its pod. There are as many
    groups of
    cores as a pod has aggregation switches. Aggregation switch `j` of each pod is linked once to every core of
    group
    `j`.
    """

    aggs_per_pod: int
    """Aggregation switches of a pod."""
    core_delay: Duration
    """Propagation delay of links between switches."""
    core_rate: BitsPerSec
    """Rate of links between switches."""
    cores: int
    """Core switches; a multiple of `aggs_per_pod`."""
    host_delay: Duration
    """Propagation delay of host links."""
    host_rate: BitsPerSec
    """Rate of host links."""
    hosts_per_tor: int
    """Hosts under each ToR."""
    kind: Literal["fat-tree"]
    pods: int
    """Pods."""
    tors_per_pod: int
    """Top-of-rack switches of a pod."""


class TwoClos(TypedDict):
    """Two data centers, each two tiers with every leaf linked once to every spine, and a gateway linked once to
    every
    spine; the gateways are joined. The nodes of the first come before those of the second, kind by kind.
    """

    core_delay: Duration
    """Propagation delay of leaf-spine and of spine-gateway links."""
    core_rate: BitsPerSec
    """Rate of leaf-spine and of spine-gateway links."""
    host_delay: Duration
    """Propagation delay of host links."""
    host_rate: BitsPerSec
    """Rate of host links."""
    hosts_per_leaf: int
    """Hosts under each leaf."""
    kind: Literal["two-clos"]
    leaves: int
    """Top-of-rack switches of a data center."""
    spines: int
    """Spine switches of a data center."""
    wan_delay: Duration
    """Propagation delay of the link between the gateways."""
    wan_rate: BitsPerSec
    """Rate of the link between the gateways."""


class SingleSwitch(TypedDict):
    """One switch."""

    delay: Duration
    """Propagation delay of each link."""
    hosts: int
    """Hosts of the switch."""
    kind: Literal["single-switch"]
    rate: BitsPerSec
    """Rate of each link."""


class Dumbbell(TypedDict):
    """Two switches joined by one link; hosts `0..left` on the first, the rest on the second."""

    bottleneck_delay: Duration
    """Propagation delay of the joining link."""
    bottleneck_rate: BitsPerSec
    """Rate of the joining link."""
    delay: Duration
    """Propagation delay of host links."""
    kind: Literal["dumbbell"]
    left: int
    """Hosts on the first switch."""
    rate: BitsPerSec
    """Rate of host links."""
    right: int
    """Hosts on the second switch."""


class Chain(TypedDict):
    """Switches in a row, each with its hosts."""

    delay: Duration
    """Propagation delay of every link."""
    hosts_per_switch: int
    """Hosts on each switch."""
    kind: Literal["chain"]
    rate: BitsPerSec
    """Rate of every link."""
    switches: int
    """Switches."""


class Graph(TypedDict):
    """Any graph. Every host has exactly one link."""

    hosts: list[str]
    """Host names."""
    ids: NotRequired[list[int]]
    """Numbers of the hosts, then of the switches, in files of other simulators. Empty: 0, 1, ... in this order."""
    kind: Literal["graph"]
    links: list[GraphLink]
    """Links, each in both directions."""
    switches: list[str]
    """Switch names."""


Background = TypedDict(
    "Background",
    {
        "arrivals": "NotRequired[Arrivals]",
        "class": "NotRequired[str]",
        "from": "NotRequired[list[str]]",
        "kind": 'Literal["background"]',
        "load": "float",
        "load_by": "NotRequired[LoadBy]",
        "load_of": "NotRequired[LoadOf]",
        "load_with_headers": "NotRequired[bool]",
        "local_share": "NotRequired[float]",
        "priority": "NotRequired[int]",
        "sizes": "Sizes",
        "start": "NotRequired[Duration]",
        "to": "NotRequired[list[str]]",
    },
)
"""An open-loop process over pairs of hosts."""


Incast = TypedDict(
    "Incast",
    {
        "aggregate": "NotRequired[Bytes]",
        "class": "NotRequired[str]",
        "degree": "int",
        "from": "NotRequired[list[str]]",
        "kind": 'Literal["incast"]',
        "load": "NotRequired[float]",
        "period": "NotRequired[Duration]",
        "priority": "NotRequired[int]",
        "sizes": "NotRequired[Sizes]",
        "start": "NotRequired[Duration]",
        "to": "NotRequired[list[str]]",
    },
)
"""Many-to-one bursts."""


LongLived = TypedDict(
    "LongLived",
    {
        "class": "NotRequired[str]",
        "count": "int",
        "from": "NotRequired[list[str]]",
        "kind": 'Literal["long-lived"]',
        "priority": "NotRequired[int]",
        "rate": "NotRequired[BitsPerSec]",
        "size": "NotRequired[Bytes]",
        "stagger": "NotRequired[Duration]",
        "start": "NotRequired[Duration]",
        "to": "list[str]",
    },
)
"""Flows without end (or of a given size), from `from[i]` to `to[i mod len]`."""


FlowList = TypedDict(
    "FlowList",
    {
        "class": "NotRequired[str]",
        "file": "NotRequired[str]",
        "flows": "NotRequired[list[ListedFlow]]",
        "kind": 'Literal["flow-list"]',
        "priority": "NotRequired[int]",
        "rows": "NotRequired[str]",
    },
)
"""Flows listed one by one."""


Collective = TypedDict(
    "Collective",
    {
        "algorithm": "NotRequired[CollectiveAlgorithm]",
        "by_steps": "NotRequired[bool]",
        "bytes": "Bytes",
        "channels": "NotRequired[int]",
        "chunks": "NotRequired[int]",
        "class": "NotRequired[str]",
        "compute": "NotRequired[Duration]",
        "hosts": "NotRequired[list[str]]",
        "hosts_file": "NotRequired[str]",
        "iterations": "NotRequired[int]",
        "kind": 'Literal["collective"]',
        "launch": "NotRequired[Duration]",
        "launch_once": "NotRequired[Duration]",
        "nccl": "NotRequired[NcclProtocol]",
        "pattern": "Pattern",
        "priority": "NotRequired[int]",
        "queue_pairs": "NotRequired[int]",
        "reduce_rate": "NotRequired[BitsPerSec]",
        "slots": "NotRequired[int]",
        "start": "NotRequired[Duration]",
    },
)
"""Hosts, called ranks, that send to one another step by step, as in a training job. A collective runs to its
end,
also past `run.duration`.
"""


Job = TypedDict(
    "Job",
    {
        "class": "NotRequired[str]",
        "control": "NotRequired[Bytes]",
        "eager": "NotRequired[Bytes]",
        "file": "NotRequired[str]",
        "format": "NotRequired[JobFormat]",
        "hosts": "NotRequired[list[str]]",
        "hosts_file": "NotRequired[str]",
        "iterations": "NotRequired[int]",
        "kind": 'Literal["job"]',
        "local": "NotRequired[JobLocal]",
        "model": "NotRequired[JobModel]",
        "overheads": "NotRequired[JobOverheads]",
        "placement": "NotRequired[JobPlacement]",
        "priority": "NotRequired[int]",
        "queue_pairs": "NotRequired[int]",
        "ranks_per_host": "NotRequired[int]",
        "rows": "NotRequired[str]",
        "signal": "NotRequired[Bytes]",
        "skip": "NotRequired[int]",
        "source": "NotRequired[JobSource]",
        "start": "NotRequired[Duration]",
        "start_unit": "NotRequired[StartUnit]",
    },
)
"""Messages that depend on messages, from a file: a training job, or any other program of ranks that send,
receive
and compute. A job runs to its end, also past `run.duration`.
"""


class Scenario(TypedDict):
    """One run."""

    compat: NotRequired[Compat]
    """Another simulator whose conventions hold wherever `conventions` and the scheme set none."""
    components: NotRequired[dict[str, dict[str, str]]]
    """Variants that are credited for several mechanisms: each mechanism by its name, and the variant that lacks it
    alone.
    """
    compute: NotRequired[Table]
    """What to work out in place of simulating a network."""
    configured: NotRequired[dict[str, str]]
    """Variants with the parameters that a paper's text gives, and the variant with those of its authors' public
    configuration: each claim is judged for both.
    """
    conventions: NotRequired[Conventions]
    """Choices of the model in which simulators differ; `compat` sets all of these, and each can be set alone."""
    description: NotRequired[str]
    """One sentence on what the scenario shows."""
    expect: NotRequired[list[Table]]
    """What the results should show."""
    extends: NotRequired[str]
    """Another scenario file, relative to this one; this one's keys go on top."""
    fault: NotRequired[list[Fault]]
    """Links that lose frames or go down."""
    figure: NotRequired[Table]
    """How to draw the figure, and what came out."""
    host: NotRequired[Host]
    """Hosts."""
    measure: NotRequired[Measure]
    """Recordings beyond flows and counters."""
    name: NotRequired[str]
    """Name of the scenario, shown in reports."""
    region: NotRequired[list[Region]]
    """Groups of switches that differ from the others."""
    run: NotRequired[Run]
    """Duration, and the flows that count."""
    scale: NotRequired[Table]
    """What changes at each scale: dotted keys and their values, such as `switch.queues` = 128. `quick` is taken
    unless another is asked for.
    """
    scheme: NotRequired[str]
    """Preset of the switch and host defaults (`backwater list schemes` names them)."""
    seed: NotRequired[int]
    """Seed of every random stream. Same scenario, seed and version: same bytes out."""
    seeds: NotRequired[Table]
    """How many seeds each run is made with. What is measured has an interval over them."""
    source: NotRequired[Table]
    """The publication that the scenario is taken from."""
    sweep: NotRequired[Table]
    """Dotted keys and the list of values each takes in turn; the runs are the product of all lists and variants."""
    switch: NotRequired[Switch]
    """Switches."""
    topology: NotRequired[Topology]
    """Hosts, switches and links."""
    variant: NotRequired[list[Table]]
    """Named variants of the scenario: dotted keys and their values, such as `switch.queues` = 128."""
    without: NotRequired[dict[str, str]]
    """Variants that are credited for what they have, and the variant that lacks it: a claim that holds with those
    too is vacuous.
    """
    workload: NotRequired[list[Workload]]
    """Sources of flows; their arrivals are merged in time."""


AckClass = Literal["high", "data"]
"""Class of ACKs and NACKs."""


Arrivals = Literal["poisson"] | LogNormalArrivals
"""Gaps between arrivals."""


Assignment = Literal["single", "stochastic", "dynamic", "per-flow", "flowsail", "class", "priority", "homa-dynamic"]
"""Queue assignment: which queue a packet joins."""


Backpressure = Literal["none", "pfc", "bfc", "flowsail", "per-flow"]
"""Backpressure: how a switch slows its neighbours."""


Buffer = str
"""`infinite` or a size with a unit, such as `12 MB`"""


CollectiveAlgorithm = Literal[
    "ring",
    "bidirectional-ring",
    "recursive-doubling",
    "halving-doubling",
    "double-binary-tree",
    "binomial",
    "direct",
    "pairwise",
]
"""Algorithm of a collective."""


Compat = Literal["hpcc-sim"]
"""A simulator whose conventions can be taken over."""


Connections = Literal["per-flow", "persistent"]
"""Connections that flows use."""


DcqcnVariant = Literal["published", "vendor"]
"""The published forms of DCQCN."""


DownQueues = Literal["drain", "drop", "leak"]
"""Treatment of the packets at a switch's port whose link goes down."""


EcnOf = Literal["queue", "port"]
"""Length that `Ecn` compares with its thresholds."""


ElideRule = Literal["none", "valley"]
"""A rule for `Elide`."""


Expected = (
    float
    | SlowdownExpected
    | WaitExpected
    | FctExpected
    | FctAckExpected
    | WithTimeoutExpected
    | InjectedWithinExpected
    | PortsExpected
    | MmusExpected
    | PausesExpected
    | QueueExpected
    | DataQueueExpected
    | PoolExpected
    | ActiveFlowsExpected
    | ActiveFlowsDistanceExpected
    | SharingExpected
    | SummaryExpected
    | ScenarioExpected
    | ResultExpected
    | ProductExpected
    | QuotientExpected
    | SumExpected
    | DifferenceExpected
    | AfterExpected
)
"""a number, or a table: one kind of measurement and its selectors, or arithmetic on a list of values"""


FlowsStatistic = str
"""a statistic: mean, max, a percentile from p0 to p99, or a share such as `share>32` or `share<=32`"""


Hold = Literal["head", "any"]
"""Condition under which an isolation queue waits for pauses of its flows to end."""


Hosts = Literal["rings", "hpcc-sim"]
"""Scheduling of a host's NIC."""


HpccReaction = Literal["fast", "per-ack", "per-rtt"]
"""ACKs at which HPCC changes its rate."""


JobFormat = Literal["goal", "goal-binary", "csv", "htsim", "simai", "chakra"]
"""Format of a file of a job."""


JobPlacement = Literal["packed", "strided", "random"]
"""Order in which ranks take hosts."""


LoadBalancing = Literal["flow", "packet"] | FlowletLoadBalancing
"""Unit that keeps to one of several equal-cost paths."""


LoadBy = Literal["drawn", "table"]
"""Mean size by which a load is divided to get flows a second."""


LoadOf = Literal["core", "exact-core", "receivers", "senders"]
"""Capacity that a load is a share of."""


LossRecovery = Literal["go-back-n", "selective"]
"""Packets that a sender sends again after a loss."""


Losses = Literal["own", "ns3"]
"""Random numbers that decide which frames a link loses."""


Marks = Literal["none", "dctcp", "ecn-star"]
"""Reaction of a TCP sender to marks."""


Memory = Literal["exact", "hpcc-sim"]
"""Switch memory under PFC."""


NcclProtocol = Literal["ll", "ll128", "simple"]
"""Protocol of NCCL, by which its latencies are chosen."""


NotEct = Literal["pass", "drop"]
"""Treatment of a packet that a rule would mark and that is not ECN-capable."""


Paths = Literal["salted", "hpcc-sim"]
"""Choice among equal-cost next hops."""


Pattern = Literal[
    "ring", "all-to-all", "pipeline", "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "barrier"
]
"""Pattern of communication of a collective."""


Recovery = Literal["rfc6675", "sack1"]
"""Segments that TCP counts as in flight, and so against the window, during loss recovery."""


ReleaseFrom = Literal["resume", "touch"]
"""Event from which FlowSail counts the time until it releases a congested flow."""


Reroutes = Literal["unnoticed", "hpcc-sim"]
"""Reaction of hosts to a change of routes."""


Residue = Literal["hold", "drain"]
"""Treatment of the packets that a flow has in its normal queue when it is paused."""


Returns = Literal["shared", "private"]
"""Bytes that a departing packet gives back first."""


SampleStatistic = str
"""a statistic: mean, min, max, a percentile such as p99, or a share such as `share>720000` or `share<=720000`"""


Scheduler = Literal["drr", "srf"]
"""Scheduler: which queue of a port is served, among those that hold data and are not paused."""


SharingStatistic = str
"""a statistic of per cents: mean, max, a percentile from p0 to p99, or a share such as `share>0` or
`share<=50`
"""


SizeRange = str
"""a range of sizes in bytes: `<=3000`, `>1000000` or `(200000,1000000]`"""


Sizes = TableSizes | FileSizes | PointsSizes | FixedSizes | ExponentialSizes | UniformSizes
"""Flow sizes, payload."""


Slowdown = Literal["exact", "bfc-script", "hpcc-sim"]
"""Denominator and end point of FCT slowdown."""


SpacedOver = Literal["pool", "port"]
"""Bytes that uniform spacing counts for a pool's rule."""


Spacing = Literal["plain", "uniform"]
"""Spacing of marks between two thresholds (Floyd and Jacobson 1993, section 7)."""


Spread = str
"""'deviation': the standard deviation over the points that `over` makes one, in place of their mean"""


StartUnit = Literal["ps", "us"]
"""Unit of the starts of flows in a connection matrix of htsim."""


Statistic = str
"""a statistic: mean, min, max, or a percentile such as p50, p99 or p99.99"""


SummaryPath = str
"""a number of summary.json, such as `buffer.p99_bytes` or `load[class=incast].offered_bps`"""


SweptNumber = float | str
"""a number, or a text with a unit such as `325 KB`, as a swept key takes"""


Ties = Literal["random", "scheduled", "ns3"]
"""Order of simultaneous events of a node."""


Time = Literal["exact", "whole-ns"]
"""Resolution of transmission times."""


Topology = LeafSpine | FatTree | TwoClos | SingleSwitch | Dumbbell | Chain | Graph
"""Hosts, switches and links. Nodes are named `host0`, `leaf0`, `spine0`, `switch0`, ... or as in the graph."""


Transport = Literal[
    "line-rate",
    "window",
    "dctcp",
    "dcqcn",
    "hpcc",
    "timely",
    "rtt",
    "swift",
    "pint",
    "callback",
    "tcp",
    "expresspass",
    "homa",
    "srf",
]
"""Transport: congestion control end to end."""


WhenPaused = Literal["hold", "discard"]
"""Fate of a packet whose queue is paused."""


Window = str
"""`none`, `bdp`, `base-bdp`, `pair-bdp` or a size with a unit, such as `104 KB`"""


Workload = Background | Incast | LongLived | FlowList | Collective | Job
"""A source of flows."""


Elide = ElideRule | list[list[str]]
"""Turns `(ingress, egress)` of a switch without backpressure (spec C.1)."""
