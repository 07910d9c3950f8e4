"""Round trips to a host: `python -m backwater.lab.ping HOST`.

It sends an ICMP echo request every 20 ms until the end of the counted window, and says how long the answers to those of
the window took. The kernel of the other host answers, so no program there adds to the time, and the kernel here says
when an answer came. It needs the right to open a raw socket, which every program in a lab has.
"""

from __future__ import annotations

import argparse
import math
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Sequence

from backwater.lab import told

EVERY_S = 0.02
PATIENCE_S = 1.0
"""Time to wait for the last answers."""
REQUEST, REPLY = 8, 0
ECHO = struct.Struct("!BBHHHQ")
"""Type, code, checksum, identifier, number, and the time of sending in nanoseconds since the epoch."""
STAMP = struct.Struct("@qq")
SO_TIMESTAMPNS = 35
"""Not in Python's `socket`: the kernel tells when it received a datagram."""


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback.
    parser = argparse.ArgumentParser(prog="python -m backwater.lab.ping", description="Round trips to a host.")
    parser.add_argument("host")
    parser.add_argument("--every", type=float, default=EVERY_S, help="seconds between two requests")
    parser.add_argument("--seconds", type=float, default=10.0, help="time to count, outside of a run")
    asked = parser.parse_args()
    begin, end = told.window(asked.seconds)
    sent, trips = ping(socket.gethostbyname(asked.host), asked.every, begin, end)
    told.tell(asked.host, pings=sent, lost=sent - len(trips))
    if trips:
        trips.sort()
        told.tell(asked.host, rtt_p50_s=rank(trips, 0.5), rtt_p99_s=rank(trips, 0.99), rtt_max_s=trips[-1])
    return 0


def rank(ascending: Sequence[float], share: float) -> float:
    """Percentile by nearest rank, as in the summaries of runs."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]


def ping(address: str, every: float, begin: float, end: float) -> tuple[int, list[float]]:
    """Returns the number of requests sent from `begin` to `end`, and the round trips of those that were answered."""
    identifier, number, sent, trips = os.getpid() & 0xFFFF, 0, 0, []
    waiting: set[int] = set()
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as there:
        there.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        next_at = time.monotonic()
        while (now := time.monotonic()) < end or (waiting and now < end + PATIENCE_S):
            if now >= next_at and now < end:
                counts = now >= begin
                number = (number + 1) & 0xFFFF
                there.sendto(request(identifier, number, counts), (address, 0))
                if counts:
                    sent += 1
                    waiting.add(number)
                next_at += every
            until = next_at if now < end else end + PATIENCE_S
            if select.select([there], [], [], max(0.0, until - time.monotonic()))[0] and (
                answer := receive(there, identifier)
            ):
                of, trip = answer
                if of in waiting:
                    waiting.discard(of)
                    trips.append(trip)
    return sent, trips


def request(identifier: int, number: int, counts: bool) -> bytes:
    """An echo request. One that does not count carries no time."""
    at = time.time_ns() if counts else 0
    return ECHO.pack(REQUEST, 0, checksum(ECHO.pack(REQUEST, 0, 0, identifier, number, at)), identifier, number, at)


def checksum(packet: bytes) -> int:
    """Checksum of the internet: the complement of the sum of 16-bit words, carries added in (RFC 1071)."""
    total = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def receive(there: socket.socket, identifier: int) -> tuple[int, float] | None:
    """Returns number and round trip of an answer to a request of ours."""
    packet, ancillary, _, _ = there.recvmsg(2048, socket.CMSG_SPACE(STAMP.size))
    body = packet[4 * (packet[0] & 15) :]
    if len(body) < ECHO.size:
        return None
    kind, _, _, whose, number, sent_ns = ECHO.unpack_from(body)
    if kind != REPLY or whose != identifier:
        return None
    came_ns = time.time_ns()
    for _, what, data in ancillary:
        if what == SO_TIMESTAMPNS and len(data) == STAMP.size:
            seconds, nanoseconds = STAMP.unpack(data)
            came_ns = 1_000_000_000 * seconds + nanoseconds
    return number, (came_ns - sent_ns) / 1e9


if __name__ == "__main__":
    raise SystemExit(main())
