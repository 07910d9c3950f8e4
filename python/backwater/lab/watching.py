"""Changes at the ports of a lab between two readings of their counters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from backwater.lab import orders


@dataclass(frozen=True)
class Port:
    """A port between two readings."""

    node: str
    peer: str
    """The node at the far end of the link."""
    use: float
    """Share of the time in which it sent."""
    rate_bps: float
    """Bits that it sent, per second of the machine."""
    queued_bytes: int | None
    """Data that waits in a switch at the second reading; None at a host."""
    active_flows: int | None
    """Flows with data there, if the switch tells flows."""
    queues_paused: float
    """Mean number of queues that the far end paused."""
    paused: float
    """Share of the time in which the far end paused the whole port, or a class."""
    pauses: int
    """Pauses that came."""
    dropped: int
    """Packets that were to leave by this port and were dropped, since the start."""

    @property
    def is_busy(self) -> bool:
        return bool(self.use or self.queued_bytes or self.queues_paused or self.paused or self.pauses)


@dataclass(frozen=True)
class Reading:
    """All ports, those with the longest queues first."""

    name: str
    divisor: int
    network_s: float
    """Time of the network at the second reading."""
    span_s: float
    """Time of the network between both."""
    frames_inside: int
    frames_dropped: int
    ports: list[Port]

    def to_json(self) -> object:
        return asdict(self)


def between(before: orders.Reading, now: orders.Reading) -> Reading:
    """Compares two readings, as the lab's socket has them."""
    span = now["network_s"] - before["network_s"]
    divisor = now["divisor"]
    # A lab that has just started has not read its ports yet.
    pairs = zip(before["ports"], now["ports"], strict=True) if before["ports"] else ()
    ports = [port(old, new, span, divisor) for old, new in pairs]
    ports.sort(key=lambda one: (one.queued_bytes or 0, one.queues_paused + one.paused, one.use), reverse=True)
    inside, lost = now["frames_inside"], now["frames_dropped"]
    return Reading(now["name"], divisor, now["network_s"], span, inside, lost, ports)


def port(old: orders.PortReading, new: orders.PortReading, span: float, divisor: int) -> Port:
    """Compares two readings of a port, `span` seconds of the network apart."""

    def per_second(counter: Literal["sent_bytes", "queues_paused_s", "port_paused_s"]) -> float:
        return float(new[counter] - old[counter]) / span if span > 0 else 0.0

    bits = 8 * per_second("sent_bytes")
    return Port(
        new["node"],
        new["peer"],
        bits / new["rate_bps"],
        bits / divisor,
        new["queued_bytes"],
        new["active_flows"],
        per_second("queues_paused_s"),
        per_second("port_paused_s"),
        new["pauses"] - old["pauses"],
        new["dropped"],
    )
