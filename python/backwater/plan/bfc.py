"""Computes the resources that BFC needs on a switch, and the queues that a port needs for a workload and a load.

Tables, thresholds and recirculation are those of `compute/bfc_switch.py`. Queues are counted against the flows that
are active at a port which shares its rate among them (`compute/processor_sharing.py`): with Poisson arrivals at load
rho their number N is geometric, whatever the sizes. With m data queues, q = 1 - 1/m, and an empty queue taken while
there is one, any other by chance (dynamic), or one by hash:

    more flows than queues      P(N > m) = rho^(m + 1)
    a flow that comes shares    dynamic rho^m;  hashed 1 - (1 - rho) / (1 - rho q)
    flows that share, of all    dynamic rho^m (1 + (1 - rho) / (1 - rho q));  hashed 1 - ((1 - rho) / (1 - rho q))^2

as if the flows that are there had been assigned at this instant, one after another. Arrivals in bursts have more flows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypedDict

from rich.table import Table

from backwater._core import InputError
from backwater.common.quantities import count, percent, size, span
from backwater.compute.bfc_switch import Switch, bits_for
from backwater.compute.processor_sharing import exceeds, mean, queues_for
from backwater.compute.sizes import Sizes
from backwater.plan.shown import titled
from backwater.scenario.chips import chip_of

QUEUES = (8, 16, 32, 64, 128)
"""Hardware queues of a port that are compared."""
PACKETS = (64, 100, 200, 300, 500, 750, 1000, 1500)
"""Mean packets that recirculation is told for, bytes."""
SHOWN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
"""Active queues whose threshold is printed, and the most there are; JSON has all."""
QUEUES_A_100_GBPS = 32
"""Of a Tofino2: 128 at a port of 400 Gbps (section 3.1)."""
PAYLOAD, HEADER = 1000.0, 48.0
"""Of a full packet, bytes, as in all simulations of BFC here."""
PERCENTILES = (50, 90, 99, 99.9)


@dataclass(frozen=True)
class Demand:
    """A workload at a load of the link, and how often the active flows may outnumber the queues."""

    workload: str
    load: float
    target: float
    mean_size: float
    """Bytes."""
    mean_packet: float
    """Of data on the wire, bytes."""

    @classmethod
    def of(cls, workload: str, load: float, target: float) -> Demand:
        """Makes the demand of a published table of flow sizes, or of a file.

        # Errors
        `InputError` where load or target make no sense, or the table cannot be read.
        """
        if not 0 < load <= 0.99:
            raise InputError(f"--load {load:g}: expected above 0, and at most 0.99")
        if not 1e-12 <= target < 1:
            raise InputError(f"--target {target:g}: expected 1e-12 to below 1")
        sizes = Sizes.read(workload)
        packets = sizes.packets(PAYLOAD)
        return cls(workload, load, target, sizes.mean, sizes.mean / packets + HEADER)

    def percentile(self, percent: float) -> int:
        """Returns the number of active flows that is not exceeded for this share of time."""
        return queues_for(self.load, 1 - percent / 100)


def of_chip(name: str) -> dict[str, Any]:
    """Returns the values of a chip, as fields of `Switch`.

    # Errors
    `InputError` with the chips there are.
    """
    chip = chip_of(name)
    queues = max(2, round(QUEUES_A_100_GBPS * chip["rate_bps"] / 100e9))
    return {"ports": chip["ports"], "rate": chip["rate_bps"], "buffer": chip["memory_bytes"], "queues": queues}


# Tables.


class State(TypedDict):
    """A table of a switch: its entries, their bits, and its purpose."""

    table: str
    entries: int
    bits: int
    bytes: int
    pipeline_entries: int
    pipeline_bytes: int
    holds: str


class Recirculated(TypedDict):
    """The load of recirculated headers for packets of a size, which fit if none has to be left out."""

    packet: float
    share: float
    fits: bool
    sampled: float
    packets_per_second: float
    pipeline_packets_per_second: float


def state(switch: Switch) -> list[State]:
    """Returns every table: its entries, their bits, how many pipelines have a copy, and its purpose."""
    packets = bits_for(math.ceil(switch.buffer / 64))
    lengths = bits_for(math.ceil(switch.buffer / switch.cell))
    port_queues = switch.ports * switch.queues
    rows = [
        ("flow table", switch.flow_entries, switch.entry_bits, False, f"{switch.entries_per_queue} per queue"),
        ("pause counters", port_queues, packets, False, "packets counted, for each queue of each neighbour"),
        ("empty queues", switch.ports, switch.queues, True, "one bit per queue; each pipeline has a copy"),
        ("active queues", switch.ports, bits_for(switch.queues), True, "queues with data that are not paused"),
        ("thresholds", switch.data_queues + 1, lengths, True, "by active queues; one table for each speed of ports"),
    ]
    return [
        {
            "table": name,
            "entries": number,
            "bits": bits,
            "bytes": math.ceil(number * bits / 8) * (switch.pipelines if copied else 1),
            "pipeline_entries": number if copied else math.ceil(number / switch.pipelines),
            "pipeline_bytes": math.ceil((number if copied else math.ceil(number / switch.pipelines)) * bits / 8),
            "holds": holds,
        }
        for name, number, bits, copied, holds in rows
    ]


def thresholds(switch: Switch) -> list[dict[str, float]]:
    """Returns the pause threshold Th for each number of active queues."""
    bytes_by_active = ((n, switch.threshold(n)) for n in range(1, switch.data_queues + 1))
    return [{"active": n, "bytes": th, "cells": math.floor(th / switch.cell)} for n, th in bytes_by_active]


def recirculation(switch: Switch, demand: Demand | None) -> list[Recirculated]:
    """Returns the load of recirculated headers if all ports are busy, by the mean packet."""
    packets = sorted({*map(float, PACKETS), switch.packet_least, *([demand.mean_packet] if demand else [])})
    return [
        {
            "packet": packet,
            "share": switch.recirculated(packet),
            "fits": packet >= switch.packet_least,
            "sampled": min(1.0, packet / switch.packet_least),
            "packets_per_second": switch.packets_per_second(packet),
            "pipeline_packets_per_second": 2 * switch.packets_per_second(packet) / switch.pipelines,
        }
        for packet in packets
    ]


# Queues.


def comes_to_share(load: float, queues: int, *, hashed: bool) -> float:
    """Returns the probability that a new flow shares its queue with another."""
    return 1 - alone(load, queues) if hashed else load**queues


def shared(load: float, queues: int, *, hashed: bool) -> float:
    """Returns the share of active flows that share a queue."""
    return 1 - alone(load, queues) ** 2 if hashed else load**queues * (1 + alone(load, queues))


def alone(load: float, queues: int) -> float:
    """Returns the mean of (1 - 1 / queues)^N, the probability that a hashed flow is alone in its queue."""
    return (1 - load) / (1 - load * (1 - 1 / queues))


def fewest(load: float, target: float, *, hashed: bool) -> int:
    """Returns the fewest data queues with which at most this share of flows share a queue."""
    low, high = 0, 1
    while shared(load, high, hashed=hashed) > target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if shared(load, middle, hashed=hashed) > target else (low, middle)
    return high


def queue_rows(switch: Switch, demand: Demand) -> list[dict[str, float]]:
    """Returns a row for each number of queues of a port, with its control queue: how often flows share a queue."""
    rows = []
    for queues in sorted({*QUEUES, switch.queues}):
        data = queues - switch.control_queues
        row: dict[str, float] = {"queues": queues, "data": data, "exceeded": exceeds(demand.load, data)}
        for name, hashed in (("dynamic", False), ("hashed", True)):
            row[f"{name}_comes"] = comes_to_share(demand.load, data, hashed=hashed)
            row[f"{name}_shared"] = shared(demand.load, data, hashed=hashed)
        rows.append(row)
    return rows


def needed(switch: Switch, demand: Demand) -> dict[str, int]:
    """Returns the fewest queues of a port that meet the target, with its control queue."""
    return {
        "exceeded": queues_for(demand.load, demand.target) + switch.control_queues,
        "dynamic_shared": fewest(demand.load, demand.target, hashed=False) + switch.control_queues,
        "hashed_shared": fewest(demand.load, demand.target, hashed=True) + switch.control_queues,
    }


# What is shown.


def as_json(switch: Switch, demand: Demand | None) -> dict[str, object]:
    """Returns the plan for other programs, in bytes, seconds, bit/s and shares of 1."""
    shown: dict[str, object] = {
        "switch": vars(switch),
        "entry": {
            "bits": switch.entry_bits,
            "register_bits": switch.register_bits,
            "fields": [vars(field) for field in switch.fields],
        },
        "tables": state(switch),
        "index_collision": switch.index_collision,
        "thresholds": thresholds(switch),
        "sticky_s": switch.sticky * switch.hrtt,
        "recirculation": recirculation(switch, demand),
        "packet_least": switch.packet_least,
    }
    if demand is not None:
        shown["demand"] = vars(demand)
        shown["active_flows"] = {
            "mean": mean(demand.load),
            **{f"p{percent:g}": demand.percentile(percent) for percent in PERCENTILES},
        }
        shown["queues"] = queue_rows(switch, demand)
        shown["needed"] = needed(switch, demand)
    return shown


def tables(switch: Switch, demand: Demand | None) -> list[Table]:
    """Returns the plan as tables for the terminal."""
    shown = [entry_table(switch), state_table(switch), threshold_table(switch), recirculation_table(switch, demand)]
    return (
        shown
        if demand is None
        else [*shown, active_table(demand), queue_table(switch, demand), needed_table(switch, demand)]
    )


def entry_table(switch: Switch) -> Table:
    title = f"Entry of the flow table: {switch.entry_bits} bits, {switch.register_bits} in register arrays"
    table = titled(title, "field", "bits", "holds")
    for field in switch.fields:
        table.add_row(field.name, str(field.bits), field.holds)
    return table


def state_table(switch: Switch) -> Table:
    title = (
        f"Tables of {switch.ports} ports with {switch.queues} queues; of {switch.queues} flows at a port "
        f"{percent(switch.index_collision, 2)} share an entry"
    )
    table = titled(title, "table", "entries", "bits", "memory", "in a pipeline", "its memory", "holds")
    for row in state(switch):
        table.add_row(
            row["table"],
            f"{row['entries']:,}",
            str(row["bits"]),
            size(row["bytes"]),
            f"{row['pipeline_entries']:,}",
            size(row["pipeline_bytes"]),
            row["holds"],
        )
    return table


def threshold_table(switch: Switch) -> Table:
    title = (
        f"Thresholds at {switch.rate / 1e9:g} Gbps, HRTT {span(switch.hrtt)}; "
        f"sticky time {span(switch.sticky * switch.hrtt)}"
    )
    table = titled(title, "active queues", "Th", f"cells of {switch.cell:g} B", "full packets")
    rows = thresholds(switch)
    for row in rows:
        if row["active"] in (*SHOWN, len(rows)):
            packets = row["bytes"] / (PAYLOAD + HEADER)
            table.add_row(f"{row['active']}", f"{row['bytes']:,.0f} B", f"{row['cells']:,}", f"{packets:.1f}")
    return table


def recirculation_table(switch: Switch, demand: Demand | None) -> Table:
    title = (
        f"Recirculated headers, {switch.header:g} B per packet, all ports busy: at most "
        f"{percent(switch.recirculation)} of the capacity, so mean packets of {switch.packet_least:,.0f} B or more"
    )
    headings = (
        "mean packet",
        "of the capacity",
        "recirculated packets",
        "packets/s",
        "packets/s of a pipeline, with headers",
        "",
    )
    table = titled(title, *headings)
    for row in recirculation(switch, demand):
        own = demand is not None and row["packet"] == demand.mean_packet
        table.add_row(
            f"{row['packet']:,.0f} B",
            percent(row["share"], 1),
            percent(row["sampled"]),
            count(row["packets_per_second"]),
            count(row["pipeline_packets_per_second"]),
            f"of {demand.workload}" if own and demand is not None else "" if row["fits"] else "too small: sample",
        )
    return table


def active_table(demand: Demand) -> Table:
    headings = [f"p{percent:g}" for percent in PERCENTILES]
    table = titled(f"Active flows at load {demand.load:g}", "", *headings, "mean")
    table.add_row("flows", *(f"{demand.percentile(p):,}" for p in PERCENTILES), f"{mean(demand.load):.2f}")
    return table


def queue_table(switch: Switch, demand: Demand) -> Table:
    headings = (
        "data queues",
        "P(flows > queues)",
        "a flow comes to share",
        "flows that share",
        "hashed: comes to",
        "hashed: share",
    )
    title = (
        f"Queues of a port at load {demand.load:g} of {demand.workload}: flows of {size(demand.mean_size)}, "
        f"packets of {demand.mean_packet:,.0f} B"
    )
    table = titled(title, "queues", *headings)
    for row in queue_rows(switch, demand):
        values = [row[key] for key in ("exceeded", "dynamic_comes", "dynamic_shared", "hashed_comes", "hashed_shared")]
        table.add_row(f"{row['queues']:g}", f"{row['data']:g}", *(f"{value:.2g}" for value in values))
    return table


def needed_table(switch: Switch, demand: Demand) -> Table:
    found = needed(switch, demand)
    table = titled(
        f"Fewest queues of a port for {demand.target:g}, {switch.control_queues} of them for control", "", "queues"
    )
    for what, key in (
        ("active flows exceed data queues for at most this share of time", "exceeded"),
        ("at most this share of flows has its queue with another", "dynamic_shared"),
        ("the same where queues are hashed", "hashed_shared"),
    ):
        table.add_row(what, f"{found[key]:,}")
    return table
