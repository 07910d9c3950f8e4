"""TCP from some hosts to one: `python -m backwater.lab.tcp receive` and `python -m backwater.lab.tcp send HOST`.

A sender sends as fast as its TCP lets it, from its start to the end of the counted window. The receiver counts the
bytes of each sender that arrive in the window. It says the goodput of each, their sum, and Jain's index of fairness: 1
if all are equal, 1/n if one of n has everything.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import selectors
import signal
import socket
import struct
import sys
import time

from backwater.lab import told

PORT = 5201
PREFERRED = ("cubic", "reno")
"""Congestion controls of a sender if the run chooses none: the first that the kernel has. Systems differ in their own
choice."""
BLOCK = bytes(1 << 16)
RETRY_S = 0.1
LOOK_S = 0.05
TOTAL_RETRANS = struct.Struct("=100xI")
"""`tcpi_total_retrans` in what TCP_INFO returns."""


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback.
    parser = argparse.ArgumentParser(prog="python -m backwater.lab.tcp", description="TCP from some hosts to one.")
    parser.add_argument("--seconds", type=float, default=10.0, help="time to count, outside of a run")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("receive", help="count what senders send here")
    actions.add_parser("send", help="send to a host").add_argument("host")
    asked = parser.parse_args()
    begin, end = told.window(asked.seconds)
    return receive(begin, end) if asked.action == "receive" else send(asked.host, end)


def receive(begin: float, end: float) -> int:
    """Counts bytes by sender until `end`."""
    received: dict[str, int] = {}
    buffer = bytearray(1 << 18)
    with socket.create_server(("", PORT), backlog=512) as listener, selectors.DefaultSelector() as ready:
        ready.register(listener, selectors.EVENT_READ)
        while (now := time.monotonic()) < end:
            for key, _ in ready.select(min(LOOK_S, end - now)):
                if key.fileobj is listener:
                    connection, (address, _) = listener.accept()
                    connection.setblocking(False)
                    sender = name_of(address)
                    received.setdefault(sender, 0)
                    ready.register(connection, selectors.EVENT_READ, sender)
                    continue
                assert isinstance(key.fileobj, socket.socket)
                try:
                    count = key.fileobj.recv_into(buffer)
                except OSError:
                    count = 0
                if count == 0:
                    ready.unregister(key.fileobj)
                    key.fileobj.close()
                elif begin <= time.monotonic() < end:
                    received[key.data] += count
    rates = {sender: 8 * count / (end - begin) for sender, count in sorted(received.items())}
    told.tell(goodput_bps=sum(rates.values()), fairness=fairness(list(rates.values())), senders=len(rates))
    for sender, rate in rates.items():
        told.tell(sender, goodput_bps=rate)
    return 0


def fairness(rates: list[float]) -> float:
    """Jain's index of fairness; 0 if nothing came."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 0.0


def name_of(address: str) -> str:
    with contextlib.suppress(OSError):
        return socket.gethostbyaddr(address)[0]
    return address


def send(host: str, end: float) -> int:
    """Sends to `host` until `end`, or until the receiver has enough. Says what the connection was."""
    connection = connect(host, end)
    if connection is None:
        print(f"{host}: nobody receives at port {PORT}", file=sys.stderr)
        return 1
    with connection:
        with contextlib.suppress(OSError):
            while (left := end - time.monotonic()) > 0:
                connection.settimeout(left)
                connection.send(BLOCK)
        congestion = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TOTAL_RETRANS.size)
        told.tell(
            congestion_control=congestion.rstrip(b"\0").decode(), retransmitted=TOTAL_RETRANS.unpack(information)[0]
        )
        # Data in the socket is dropped.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return 0


def connect(host: str, end: float) -> socket.socket | None:
    """Connects as soon as the receiver is there."""
    while (left := end - time.monotonic()) > 0:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        choose_congestion_control(connection)
        connection.settimeout(left)
        try:
            connection.connect((host, PORT))
        except OSError:
            connection.close()
            time.sleep(RETRY_S)
        else:
            return connection
    return None


def choose_congestion_control(connection: socket.socket) -> None:
    """Takes the congestion control of the run, or the first of ours that the kernel has.

    # Errors
    `OSError` if the kernel does not have that of the run.
    """
    if chosen := os.environ.get(told.CONGESTION):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, chosen.encode())
        return
    for name in PREFERRED:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            return


if __name__ == "__main__":
    raise SystemExit(main())
