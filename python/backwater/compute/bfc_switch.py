"""Resources that BFC needs on a switch: tables and their memory, thresholds, and recirculated headers.

Source: Goyal et al., NSDI 2022, sections 3.3.1 (flow table), 3.3.2 (pause counters, threshold, sticky time) and 4
(Tofino2: pipelines, recirculation).

    flow table        100 entries per queue of the switch; split over the ingress pipelines, 25 each with four
    pause counters    one for each queue of each neighbour
    Th                HRTT mu / active queues, bytes
    sticky time       2 HRTT
    recirculation     a header for each packet: header / mean packet of the capacity, and the same number of packets

The paper gives no widths. Its simulated table of 76,800 entries takes 400 KB, 42 bits each. Ours has 40 bits. A header
has 60 B, the smallest Ethernet frame without its check sequence. This gives 12 % of the capacity at 500 B, which are
the paper's two numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from backwater.common.ranges import within
from backwater.compute.computation import Computation, Values, duration, number, rate, size, whole
from backwater.compute.hashed_queues import flow_collides

PACKET_LEAST = 64
"""The smallest packet, bytes: as many of it as the buffer holds may a flow have."""
STAMP_BITS = 16
TICKS = 64
"""Ticks of the timestamp in a sticky time: 62.5 ns at HRTT = 2 us, so the timestamp wraps around after 4 ms."""
REGISTERS = (1, 8, 16, 32)
"""Widths that a register array may have, bits."""
PORTS_MAX, QUEUES_MAX = 1024, 4096


@dataclass(frozen=True)
class Field:
    """A field of an entry. Those of a flow's entry are one register array each."""

    name: str
    bits: int
    holds: str


@dataclass(frozen=True)
class Switch:
    """A switch, and BFC's constants. The defaults are a Tofino2 of 100 Gbps ports in the paper's simulated network."""

    ports: int = 128
    rate: float = 100e9
    """Of a port, bits a second."""
    queues: int = 32
    """Of a port, in hardware."""
    control_queues: int = 1
    """Of those, kept for control frames and acknowledgements."""
    entries_per_queue: int = 100
    pipelines: int = 4
    hrtt: float = 2e-6
    """Round trip of one hop, seconds."""
    sticky: float = 2.0
    """In HRTT."""
    buffer: float = 12e6
    """Bytes."""
    cell: float = 176
    """What the buffer is made of, bytes."""
    recirculation: float = 0.12
    """Largest recirculated share of the capacity."""
    header: float = 60
    """Bytes that are recirculated per packet."""

    def __post_init__(self) -> None:
        """Refuses values that no switch can have.

        # Errors
        `InputError` naming the option, the value and what is allowed.
        """
        for option, value, low, high in (
            ("--ports", self.ports, 1, PORTS_MAX),
            ("--rate", self.rate, 1e6, 8e12),
            ("--queues", self.queues, 2, QUEUES_MAX),
            ("--pipelines", self.pipelines, 1, 64),
            ("--hrtt", self.hrtt, 1e-9, 0.2),
            ("--buffer", self.buffer, 1e3, 1e12),
            ("--cell", self.cell, 1, 9216),
        ):
            within(option, value, low, high)

    @property
    def capacity(self) -> float:
        return self.ports * self.rate

    @property
    def data_queues(self) -> int:
        return self.queues - self.control_queues

    @property
    def hop_bdp(self) -> float:
        """Returns the bytes in flight to a neighbour and back."""
        return self.hrtt * self.rate / 8

    @property
    def flow_entries(self) -> int:
        return self.entries_per_queue * self.ports * self.queues

    @property
    def fields(self) -> list[Field]:
        packets = math.ceil(self.buffer / PACKET_LEAST)
        return [
            Field("queue", bits_for(self.queues), "queue of the flow, or none yet"),
            Field(
                "size", bits_for(packets), f"packets in the switch: at most the buffer in packets of {PACKET_LEAST} B"
            ),
            Field("timestamp", STAMP_BITS, f"time of the last packet in or out, in 1/{TICKS} of the sticky time"),
        ]

    @property
    def entry_bits(self) -> int:
        return sum(field.bits for field in self.fields)

    @property
    def register_bits(self) -> int:
        """Returns the bits of an entry in register arrays of available widths."""
        return sum(next((width for width in REGISTERS if width >= field.bits), field.bits) for field in self.fields)

    @property
    def index_collision(self) -> float:
        """Returns the probability that a flow shares its entry with another, if a port has as many flows as queues."""
        return flow_collides(self.queues, self.entries_per_queue * self.queues)

    @property
    def packet_least(self) -> float:
        """Returns the smallest mean packet in bytes with which every header can be recirculated."""
        return self.header / self.recirculation

    def threshold(self, active: int) -> float:
        """Returns the bytes of a queue above which its flows are paused, with so many active queues."""
        return self.hop_bdp / max(1, active)

    def packets_per_second(self, packet: float) -> float:
        """Returns the packets per second if all ports are busy."""
        return self.capacity / 8 / packet

    def recirculated(self, packet: float) -> float:
        """Returns the share of the capacity that recirculated headers take."""
        return self.header / packet


def bits_for(most: int) -> int:
    """Returns the bits of a number from 0 to this one."""
    return max(1, most).bit_length()


def compute(*, packet: float, seed: int, **switch: float) -> Values:
    this = Switch(**switch)  # type: ignore[arg-type]
    return {
        "queues_in_all": this.ports * this.queues,
        "data_queues": this.data_queues,
        "flow_entries": this.flow_entries,
        "flow_bytes": this.flow_entries * this.entry_bits / 8,
        "pipeline_entries": this.flow_entries / this.pipelines,
        "pipeline_entries_a_queue": this.flow_entries / this.pipelines / (this.ports * this.queues),
        "pause_counters": this.ports * this.queues,
        "empty_bits": this.ports * this.queues,
        "index_collision": this.index_collision,
        "threshold_alone": this.threshold(1),
        "threshold_all": this.threshold(this.data_queues),
        "sticky_time": this.sticky * this.hrtt,
        "recirculated": this.recirculated(packet),
        "packet_least": this.packet_least,
    }


DEFAULT = Switch()
COMPUTATION = Computation(
    "bfc-switch",
    "Resources that BFC needs on a switch: BFC, sections 3.3 and 4.",
    parameters={
        "ports": whole("Ports of the switch.", DEFAULT.ports, least=1, most=PORTS_MAX),
        "rate": rate("Rate of a port.", "100 Gbps", least=1e6, most=8e12),
        "queues": whole("Hardware queues of a port.", DEFAULT.queues, least=2, most=QUEUES_MAX),
        "control_queues": whole("Queues of a port for control frames.", DEFAULT.control_queues, least=0, most=1),
        "entries_per_queue": whole("Flow-table entries per queue.", DEFAULT.entries_per_queue, least=1, most=100_000),
        "pipelines": whole("Ingress pipelines.", DEFAULT.pipelines, least=1, most=64),
        "hrtt": duration("One-hop round trip.", "2 us", least=1e-9, most=0.2),
        "sticky": number("Time for which a flow keeps its queue, in HRTT.", DEFAULT.sticky, least=0, most=1000),
        "buffer": size("Buffer of the switch.", "12 MB", least=1e3, most=1e12),
        "cell": size("Cell of the buffer.", "176 B", least=1, most=9216),
        "recirculation": number("Largest recirculated share of the capacity.", DEFAULT.recirculation, above=0, most=1),
        "header": size("Header that is recirculated per packet.", "60 B", least=1, most=9216),
        "packet": size("Mean packet on the wire.", "1000 B", least=64, most=9216),
    },
    results={
        "queues_in_all": "hardware queues of the switch",
        "data_queues": "of a port",
        "flow_entries": "entries of the flow table",
        "flow_bytes": "memory of the flow table, fields packed, bytes",
        "pipeline_entries": "entries of the flow table in one pipeline",
        "pipeline_entries_a_queue": "the same over the queues of the switch",
        "pause_counters": "entries, for neighbours with as many queues",
        "empty_bits": "bits of the map of empty queues",
        "index_collision": "probability that a flow shares its entry, with as many flows at a port as queues",
        "threshold_alone": "Th with one active queue, bytes",
        "threshold_all": "Th with all data queues active, bytes",
        "sticky_time": "seconds",
        "recirculated": "share of the capacity that headers take",
        "packet_least": "smallest mean packet for which every header may be recirculated, bytes",
    },
    compute=compute,
    facts=(
        "queues_in_all",
        "data_queues",
        "flow_entries",
        "pipeline_entries",
        "pipeline_entries_a_queue",
        "pause_counters",
        "empty_bits",
        "sticky_time",
    ),
)
