"""Computes the resources that FlowSail needs on a switch: tables, memory, thresholds, mistaken identities, mirror load.

Source: Li et al., "FlowSail", IEEE/ACM ToN 2024, sections IV-B (thresholds, fair share) and V (tables, order marks).

    Ql = HRTT x rate / (8 x active queues), Qh = 3 Ql                               bytes
    Sfair = queue >> ceil(log2(flows in it))
    memory = flows x widest entry / load factor, in entries rounded up to a power of two

A flow leaves at most Qh in a queue, and one HRTT at the port's rate while its PAUSE is on the way: 4 HRTT x rate / 8.
That bounds its counters. Sizes count cells of 64 B, and packets can be as small. 10K flows of 1024 give the paper's
64 KB and, at 70 % load, 91 KB; a power of two of slots its 100 KB.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.table import Table

from backwater._core import InputError
from backwater.common.quantities import as_number, count, percent, size, span
from backwater.common.ranges import within
from backwater.compute.bfc_switch import Field
from backwater.plan.shown import titled
from backwater.runs.run import Run
from backwater.scenario.network import Link, network

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

ENTRY_BITS = 50
"""Most that the paper gives an entry, its fingerprint included."""
FINGERPRINT_BITS = 24
"""Fewest that keep flows apart; the 104 bits of a 5-tuple fit no entry."""
EXACT_BITS = 32
"""What a scenario calls exact, and is no width of a switch."""
CELL = 64
"""Bytes that a size counts in; no packet is shorter."""
FRAME_WIRE = 84
"""A frame of 64 B with preamble and gap: an order mark, a PAUSE, a RESUME."""
QH = 3
STAMP_BITS = 3
"""Of a time in HRTT, which tells ages above 2 HRTT; it wraps at 8, and then holds an idle flow 2 HRTT longer."""


@dataclass(frozen=True)
class Switch:
    """The switch to plan for. The defaults are the paper's: 32 ports of 100 Gbps, 8 queues and 10K flows."""

    ports: int = 32
    rate_bps: float = 100e9
    hrtt_s: float = 2e-6
    queues: int = 8
    """Data queues of a port, those of all groups."""
    groups: int = 1
    isolation_queues: int = 1
    """In each group."""
    flows: int = 10_000
    """Active at once, in the whole switch."""
    fingerprint_bits: int = FINGERPRINT_BITS
    load_factor: float = 0.7
    packet_bytes: int = 1048
    """A full packet on the wire."""
    buffer_bytes: float = 12e6
    refresh_s: float = 10e-6

    def __post_init__(self) -> None:
        """Refuses values that no switch can have.

        # Errors
        `InputError` naming the option, the value and what is allowed.
        """
        for option, value, low, high in (
            ("--ports", self.ports, 1, 255),
            ("--rate", self.rate_bps, 1e6, 8e12),
            ("--hrtt", self.hrtt_s, 1e-9, 0.2),
            ("--groups", self.groups, 1, 64),
            ("--isolation-queues", self.isolation_queues, 1, 64),
            ("--queues", self.queues, 2, 128),
            ("--flows", self.flows, 1, 100_000_000),
            ("--fingerprint", self.fingerprint_bits, 8, 64),
            ("--load-factor", self.load_factor, 0.01, 1.0),
            ("--packet", self.packet_bytes, CELL, 9216),
        ):
            within(option, value, low, high)
        if self.queues % self.groups:
            raise InputError(f"--groups {self.groups}: expected a divisor of the {self.queues} queues")
        if self.normal_queues < 1:
            raise InputError(
                f"--isolation-queues {self.isolation_queues}: a group has {self.queues // self.groups} queues, "
                "and at least one of them has to be a normal queue"
            )

    @property
    def normal_queues(self) -> int:
        """In each group."""
        return self.queues // self.groups - self.isolation_queues

    @property
    def hop_bdp(self) -> float:
        """Returns the bytes in flight to a neighbour and back."""
        return self.hrtt_s * self.rate_bps / 8


@dataclass(frozen=True)
class Entries:
    """A table of the switch."""

    name: str
    number: int
    fields: list[Field]

    @property
    def bits(self) -> int:
        return sum(field.bits for field in self.fields)

    @property
    def bytes(self) -> int:
        return math.ceil(self.number * self.bits / 8)


@dataclass(frozen=True)
class Mirrored:
    """The load of frames that FlowSail makes a switch mirror."""

    what: str
    per_second: float
    port_share: float
    """Of one port's wire, if all of them took it."""


def bits_for(most: float) -> int:
    """Returns the bits of a counter from 0 to `most`."""
    return math.ceil(most).bit_length()


# Tables.


def flow_tables(switch: Switch) -> list[Entries]:
    """Returns the two published flow tables, and the record that the resolved rules need instead."""
    slots = provisioned(switch)
    cells = bits_for((QH + 1) * switch.hop_bdp / CELL)
    normal = max(1, bits_for(switch.normal_queues - 1))
    tag = Field("fingerprint", switch.fingerprint_bits, "hash of the 5-tuple, other than the index")
    size_, paused = Field("size", cells, f"in the queue, cells of {CELL} B"), Field("pauseNum", cells, "marked packets")
    stamp = Field("timestamp", STAMP_BITS, "last packet in or out, HRTT")
    isolation = [Field("isolation queue", bits_for(switch.isolation_queues - 1), "of several")]
    status = Field("status", 1, "paused by the neighbour, or resumed")
    return [
        Entries("normal flow table", slots, [tag, Field("qIdx", normal, "normal queue"), size_, paused]),
        Entries("congested flow table", slots, [tag, status, size_, paused, stamp]),
        Entries(
            "record, as resolved",
            slots,
            [
                replace(tag, holds="of flow and egress port"),
                Field("queue", normal, "normal queue"),
                *(isolation if switch.isolation_queues > 1 else []),
                Field("size", cells, f"in the normal queue, cells of {CELL} B"),
                Field("isolated size", cells, "in the isolation queue"),
                Field("pauseNum", cells, "marked packets, one count for both queues"),
                Field("ingress", bits_for(switch.ports - 1), "port that PAUSE was sent to"),
                Field("congested", 1, "new packets go to the isolation queue"),
                status,
                Field("hold", 1, "the normal queue is held for this flow"),
                Field("marks", 2, "order marks still in the normal and in the isolation queue"),
                Field("heard", 2, "refreshes since the last PAUSE, up to 3"),
                stamp,
            ],
        ),
    ]


def port_tables(switch: Switch) -> list[Entries]:
    """Returns the tables with the state of queues and ports."""
    flows, cells = bits_for(switch.flows), bits_for(switch.buffer_bytes / CELL)
    return [
        Entries(
            "queue table",
            switch.ports * switch.queues,
            [
                Field("flowNum", flows, "flows with packets in the queue"),
                Field("cfNum", bits_for(switch.flows + 1), "holds: flows paused, and a mark waited for"),
                Field("length", cells, f"cells of {CELL} B; the traffic manager has it"),
            ],
        ),
        Entries(
            "OM_waiting",
            switch.ports * switch.groups * switch.isolation_queues,
            [
                Field("valid", 1, "an order mark is waited for"),
                Field("fingerprint", switch.fingerprint_bits, "whose"),
            ],
        ),
        Entries("empty queues", switch.ports, [Field("bitmap", switch.queues, "one bit per queue")]),
        Entries("active queues", switch.ports, [Field("count", bits_for(switch.queues), "hold data, not paused")]),
        Entries("thresholds", switch.queues, [Field("Ql", cells, "cells"), Field("Qh", cells, "cells")]),
    ]


def provisioned(switch: Switch) -> int:
    """Returns the slots of the flow table: a power of two, since a hash gives bits."""
    return 1 << math.ceil(math.log2(switch.flows / switch.load_factor))


def memory(switch: Switch, bits: int) -> dict[str, float]:
    """Returns the bytes of a flow table with entries of this width."""
    exact = switch.flows * bits / 8
    return {"exact": exact, "at_load": exact / switch.load_factor, "provisioned": provisioned(switch) * bits / 8}


# Thresholds.


def thresholds(switch: Switch) -> list[dict[str, float]]:
    """Returns Ql and Qh in bytes, for each number of active queues."""
    return [{"active": n, "ql": switch.hop_bdp / n, "qh": QH * switch.hop_bdp / n} for n in range(1, switch.queues + 1)]


def shifts(flows: int) -> list[dict[str, int]]:
    """Returns by how many bits a queue's length is shifted to get its fair share, by the number of flows in it."""
    last = (flows - 1).bit_length()
    return [
        {"from": (1 << shift - 1) + 1 if shift else 1, "to": 1 << shift, "shift": shift} for shift in range(last + 1)
    ]


# Mistaken identity.


def collisions(switch: Switch, bits: int) -> dict[str, float]:
    """Returns how often a flow is mistaken for another, with fingerprints of this many bits.

    With the 5-tuple in the frame, a look-up compares with two slots that are full to the load factor. With nothing but
    the fingerprint there, any two flows with the same one are one.
    """
    values = 2.0**bits
    looked_up = 2 * switch.load_factor / values
    others = switch.flows - 1
    pairs = switch.flows * others / 2 / values
    return {
        "bits": bits,
        "flow_by_tuple": looked_up,
        "any_by_tuple": -math.expm1(-switch.flows * looked_up),
        "flow_by_fingerprint": -math.expm1(-others / values),
        "any_by_fingerprint": -math.expm1(-pairs),
    }


# Mirror load.


def stated(switch: Switch, pauses: float | None, paused_flows: float | None) -> list[Mirrored]:
    """Returns the mirror load of a switch that sends and receives this many PAUSE frames per second.

    Each received PAUSE isolates a flow. The switch pauses `paused_flows` of its neighbours' flows on average, and
    repeats the PAUSE of each. Without both numbers there are only departures: the header of every departing packet is
    recirculated, and counted where its arrival was.

    # Errors
    `InputError` if a number is below zero.
    """
    wire = switch.packet_bytes + FRAME_WIRE - CELL
    packets = switch.ports * switch.rate_bps / 8 / wire
    departures = mirrored("departures, one per full packet, all ports busy", packets, switch.rate_bps)
    if pauses is None and paused_flows is None:
        return [departures]
    for option, number in (("--pauses-per-second", pauses), ("--paused-flows", paused_flows)):
        if number is not None and not 0 <= number < 1e15:
            raise InputError(f"{option} {number:g}: expected 0 or more")
    pauses, refreshes = pauses or 0.0, (paused_flows or 0.0) / switch.refresh_s
    frames = {
        "order marks, two per isolation": 2 * pauses,
        "PAUSE frames": pauses,
        "RESUME frames": pauses,
        "repeated PAUSE frames": refreshes,
    }
    rows = [mirrored(what, number, switch.rate_bps) for what, number in frames.items()]
    control = (2 * pauses + refreshes) / switch.ports
    return [
        departures,
        *rows,
        mirrored("marks and control frames of the switch", sum(frames.values()), switch.rate_bps),
        mirrored("control frames of a port, on average", control, switch.rate_bps),
    ]


def measured(run: Run) -> list[Mirrored]:
    """Returns the mirror load of the switch that sends the most control frames in a run, and of such a port."""
    hosts = {node.name for node in network(run.scenario).nodes if node.host}
    ports = [row for row in run.table("ports").to_pylist() if row["node"] not in hosts]
    seconds = run.summary["sim_time_ps"] * 1e-12
    sent: dict[str, int] = {}
    for row in ports:
        sent[row["node"]] = sent.get(row["node"], 0) + row["control_frames"]
    busiest = max(sent, key=lambda node: sent[node])
    port = max(ports, key=lambda row: row["control_frames"] / row["rate_bps"])
    own = [row for row in ports if row["node"] == busiest]
    rate = max(row["rate_bps"] for row in own)
    # Every pause that took effect ended in a RESUME; a PAUSE may be a repetition.
    marks = 2 * sum(row["flow_resumes"] for row in own)
    packets = sum(row["data_packets"] for row in own)
    return [
        mirrored(f"departures, {busiest}", packets / seconds, rate),
        mirrored(f"order marks, at most two per pause, {busiest}", marks / seconds, rate),
        mirrored(f"control frames, {busiest}", sent[busiest] / seconds, rate),
        mirrored(
            f"control frames, {port['node']} to {port['peer']}", port["control_frames"] / seconds, port["rate_bps"]
        ),
    ]


def mirrored(what: str, per_second: float, rate_bps: float) -> Mirrored:
    return Mirrored(what, per_second, per_second * FRAME_WIRE * 8 / rate_bps)


# Where the numbers come from.


T = TypeVar("T")


def first_of(named: list[tuple[T, Scenario]], place: Path) -> T:
    """Returns the first run whose switches run FlowSail.

    # Errors
    `InputError` where none does.
    """
    for thing, scenario in named:
        if scenario["switch"]["backpressure"] == "flowsail":
            return thing
    raise InputError(f'{place}: no run whose switches run FlowSail (switch.backpressure = "flowsail")')


def described(scenario: Scenario) -> dict[str, Any]:
    """Returns the values of a scenario's largest switch, as fields of `Switch`."""
    switch, host, net = scenario["switch"], scenario["host"], network(scenario)
    own = switch["flowsail"]
    links: dict[int, list[Link]] = {i: [] for i, node in enumerate(net.nodes) if not node.host}
    for link in net.links:
        for end in {link.a, link.b} & links.keys():
            links[end].append(link)
    largest = max(links.values(), key=len)
    fields = {
        "ports": len(largest),
        "rate_bps": max(link.rate_bps for link in largest),
        "hrtt_s": 2e-12 * max(link.delay_ps for link in largest),
        "queues": switch["queues"],
        "groups": switch["priority_groups"],
        "isolation_queues": own["isolation_queues"],
        "refresh_s": as_number(own["refresh"], "switch.flowsail.refresh"),
        "packet_bytes": int(as_number(host["payload"], "host.payload") + as_number(host["header"], "host.header")),
    }
    if own.get("hrtt"):
        fields["hrtt_s"] = as_number(own["hrtt"], "switch.flowsail.hrtt")
    if own["fingerprint_bits"] < EXACT_BITS:
        fields["fingerprint_bits"] = own["fingerprint_bits"]
    if switch["buffer"] != "infinite":
        fields["buffer_bytes"] = as_number(switch["buffer"], "switch.buffer")
    return fields


# What is shown.


def as_json(switch: Switch, load: list[Mirrored]) -> dict[str, object]:
    """Returns the plan for other programs, in bytes, seconds, bit/s and shares of 1."""
    flow = flow_tables(switch)
    entry = max(table.bits for table in flow[:2])
    return {
        "switch": vars(switch),
        "tables": [
            {
                "table": table.name,
                "entries": table.number,
                "bits": table.bits,
                "bytes": table.bytes,
                "fields": [vars(field) for field in table.fields],
            }
            for table in [*flow, *port_tables(switch)]
        ],
        "memory": {
            "published": {"bits": entry, **memory(switch, entry)},
            "resolved": {"bits": flow[2].bits, **memory(switch, flow[2].bits)},
        },
        "thresholds": thresholds(switch),
        "shares": shifts(switch.flows),
        "collisions": [collisions(switch, bits) for bits in fingerprints(switch)],
        "mirror": [vars(row) for row in load],
    }


def fingerprints(switch: Switch) -> list[int]:
    """Returns some widths of a fingerprint, and the width that was asked for."""
    return sorted({16, 20, FINGERPRINT_BITS, 32, switch.fingerprint_bits})


def tables(switch: Switch, load: list[Mirrored]) -> list[Table]:
    """Returns the plan as tables for the terminal."""
    return [
        *(layout(table) for table in flow_tables(switch)),
        state(switch),
        flow_memory(switch),
        threshold_table(switch),
        share_table(switch),
        collision_table(switch),
        mirror_table(load),
    ]


def layout(entries: Entries) -> Table:
    table = titled(f"{entries.name[0].upper()}{entries.name[1:]}: {entries.bits} bits", "field", "bits", "holds")
    for field in entries.fields:
        table.add_row(field.name, str(field.bits), field.holds)
    return table


def state(switch: Switch) -> Table:
    table = titled("State of queues and ports", "table", "entries", "bits", "memory", "holds")
    for entries in port_tables(switch):
        holds = ", ".join(f"{field.name} {field.bits}" for field in entries.fields)
        table.add_row(entries.name, count(entries.number), str(entries.bits), size(entries.bytes), holds)
    return table


def flow_memory(switch: Switch) -> Table:
    flow = flow_tables(switch)
    title = f"Flow table for {switch.flows:,} flows, {provisioned(switch):,} slots"
    table = titled(title, "entries", "bits", "exact", f"at {percent(switch.load_factor)} load", "provisioned", "")
    published = max(entries.bits for entries in flow[:2])
    for name, bits in (("as published", published), (flow[2].name, flow[2].bits)):
        needed = memory(switch, bits)
        over = f"{bits - ENTRY_BITS} bits more than the paper's {ENTRY_BITS}" if bits > ENTRY_BITS else ""
        known = (needed[key] for key in ("exact", "at_load", "provisioned"))
        table.add_row(name, str(bits), *(f"{n:,.0f} B, {n / 1000:,.1f} KB" for n in known), over)
    return table


def threshold_table(switch: Switch) -> Table:
    title = f"Thresholds at {switch.rate_bps / 1e9:g} Gbps, HRTT {span(switch.hrtt_s)}"
    table = titled(title, "active queues", "Ql", "Qh", "Ql in full packets")
    for row in thresholds(switch):
        packets = row["ql"] / switch.packet_bytes
        table.add_row(f"{row['active']}", f"{row['ql']:,.0f} B", f"{row['qh']:,.0f} B", f"{packets:.1f}")
    return table


def share_table(switch: Switch) -> Table:
    table = titled("Fair share of a queue: its length, shifted right", "flows in it", "shift")
    for row in shifts(switch.flows):
        flows = f"{row['from']:,}" if row["from"] == row["to"] else f"{row['from']:,} to {row['to']:,}"
        table.add_row(flows, str(row["shift"]))
    return table


def collision_table(switch: Switch) -> Table:
    title = f"Probability of mistaken identity among {switch.flows:,} flows"
    headings = ("a flow, frames with 5-tuple", "any flow", "a flow, frames with fingerprint", "any flow")
    table = titled(title, "fingerprint", *headings)
    for bits in fingerprints(switch):
        row = collisions(switch, bits)
        del row["bits"]
        table.add_row(f"{bits} bits", *(f"{share:.2g}" for share in row.values()))
    return table


def mirror_table(load: list[Mirrored]) -> Table:
    table = titled("Frames mirrored or made", "frames", "a second", "share of a port")
    for row in load:
        table.add_row(row.what, count(row.per_second), percent(row.port_share, 2))
    return table
