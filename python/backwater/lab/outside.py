"""Orders of a command to the lab, and the lab's answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from backwater import _core
from backwater._core import InputError
from backwater.common import signals
from backwater.lab import control
from backwater.lab.apart import Apart
from backwater.lab.orders import Counts, Ended, Event, Order, heard
from backwater.lab.programs import Programs
from backwater.runs.capture import Port

LATE_SHARE = 0.05
"""Lateness of the 99th percentile of frames, as a share of the shortest hop, up to which a run is faithful."""
FASTEST_BPS = 200e6
"""Rate of the fastest link above which a run is not expected to be faithful."""


@dataclass(frozen=True)
class Pace:
    """How much slower the lab's network is than the scenario's: `divisor` seconds are one of its own.

    `hop_s` is the time of a full frame on the shortest hop. The counted window of a run is from `warm_s` to `run_s`.
    All are in seconds of the machine.
    """

    divisor: int
    hop_s: float
    warm_s: float
    run_s: float


def pace(scenario: str, rate_bps: float, *, own_flows: bool) -> Pace:
    """Slows the scenario's network down so that its fastest link has this rate.

    # Errors
    `InputError` if the lab cannot carry the scenario, or cannot send its own flows if `own_flows`.
    """
    if not hasattr(_core, "Lab"):
        raise InputError("the lab needs Linux: it is made of network namespaces")
    if (why := _core.lab_check(scenario, own_flows)) is not None:
        raise InputError(f"the lab cannot carry this scenario: {why}")
    return Pace(*_core.lab_pace(scenario, round(rate_bps)))


def start(order: Order) -> tuple[subprocess.Popen[bytes], TextIO]:
    """Starts the lab's own process with an order. Returns it, and its events: a line of JSON each."""
    order_read, order_write = os.pipe()
    report_read, report_write = os.pipe()
    arguments = [sys.executable, "-m", "backwater.lab.inside", str(order_read), str(report_write)]
    # A signal that comes while Python starts waits until the lab can answer it.
    with control.listen() as listener, signals.held_back():
        inside = subprocess.Popen(arguments, pass_fds=(order_read, report_write, listener.fileno()))
        about: Order = {"parent": os.getpid(), "own_users": os.getuid() != 0, "control": listener.fileno()}
    os.close(order_read)
    os.close(report_write)
    with contextlib.suppress(BrokenPipeError), os.fdopen(order_write, "w") as orders:
        orders.write(json.dumps({**order, **about}) + "\n")
    return inside, os.fdopen(report_read)


@dataclass(frozen=True)
class Options:
    """Options of a lab."""

    logs: Mapping[str, Path] = field(default_factory=dict)
    """A file for the log of each switch that it names."""
    captures: Sequence[tuple[Path, Sequence[Port]]] = ()
    """Files, each with the ports whose packets it gets."""
    dctcp: bool = False
    """Whether hosts have the kernel's DCTCP."""
    realtime: bool = False
    """Whether the lab's own threads have real-time priority."""
    apart: Apart | None = None
    """How switches run as processes, if they are to."""

    def to_json(self) -> Order:
        files = {switch: str(path) for switch, path in self.logs.items()}
        processes = None if self.apart is None else self.apart.to_json()
        captures = [
            (str(path), [(port.name, port.node, port.number) for port in ports]) for path, ports in self.captures
        ]
        return {
            "logs": files,
            "captures": captures,
            "dctcp": self.dctcp,
            "realtime": self.realtime,
            "processes": processes,
        }


@dataclass(frozen=True)
class Result:
    """Counters of a lab, and the ends of its programs."""

    counts: Counts
    programs: list[Ended]
    seconds: float
    stopped: bool
    pace: Pace

    @property
    def unfaithful(self) -> str | None:
        """Why the run is not faithful to virtual time; None if it is."""
        return unfaithful(self.counts, self.pace)

    def to_json(self) -> dict[str, object]:
        return {
            "faithful": self.unfaithful is None,
            "unfaithful_because": self.unfaithful,
            "divisor": self.pace.divisor,
            "hop_s": self.pace.hop_s,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "programs": self.programs,
            **self.counts,
        }


def unfaithful(counts: Counts, slower: Pace) -> str | None:
    """Says why a run is not faithful to virtual time: frames or own datagrams were late. None if it is faithful."""
    hop = slower.hop_s
    ways = [(one["late_in"], f"from {one['host']}") for one in counts["hosts"]]
    ways += [(one["late_out"], f"to {one['host']}") for one in counts["hosts"]]
    for link in counts["links"]:
        ends = f"{link['node']} and {link['peer']}"
        ways += [(late, f"between {ends}") for late in (link["late_in"], link["late_out"])]
    if "datagrams" in counts:
        ways.append((counts["datagrams"]["late"], "of the sender"))
    for late, whose in ways:
        if late["p99_s"] > LATE_SHARE * hop:
            return f"1 % of the frames {whose} were late by {100 * late['p99_s'] / hop:.0f} % of a hop or more"
        if late["max_s"] > hop:
            return f"a frame {whose} was late by {late['max_s'] / hop:.1f} hops"
    return None


def run(
    scenario: str,
    slower: Pace,
    programs: Programs,
    for_s: float | None,
    ready: Callable[[list[tuple[str, str]]], None],
    stdout: int | None,
    options: Options,
) -> Result:
    """Runs programs in a lab until they have ended, or for `for_s` seconds. Calls `ready` with the names and addresses
    of the hosts. `stdout` is the descriptor that programs print to, in place of standard output.

    # Errors
    `InputError` if this machine refuses a part of the lab.
    """
    order: Order = {
        "does": "programs",
        "scenario": scenario,
        "divisor": slower.divisor,
        **programs.to_json(),
        "for_s": for_s,
        "stdout": stdout,
        **options.to_json(),
    }
    inside, reports = start(order)
    last: Event = {}
    try:
        with reports:
            for last in heard(reports):
                if "ready" in last:
                    ready([(name, address) for name, address in last["ready"]])
        inside.wait()
    finally:
        if inside.poll() is None:
            inside.send_signal(signal.SIGKILL)
            inside.wait()
    if "refused" in last:
        raise InputError(f"the lab did not start: {last['refused']}")
    if "counts" not in last:
        raise RuntimeError(f"the lab's process ended with code {inside.returncode} and no result")
    return Result(last["counts"], last["programs"], last["seconds"], last["stopped"], slower)
