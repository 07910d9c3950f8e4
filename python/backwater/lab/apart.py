"""Switches as processes of their own, with watchdogs over the pauses between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backwater._core import InputError
from backwater.lab.orders import Watched
from backwater.runs import capture
from backwater.runs.capture import Port
from backwater.runs.events import time_ps

ACTIONS = ("forward", "drop")
"""Actions of a watchdog on packets that a neighbour holds too long."""
HOSTS = "hosts"
"""Name of the process that runs the NICs."""
LOOKS = 4
"""Looks of a watchdog in the time that it allows a pause."""


@dataclass(frozen=True)
class Watchdog:
    """Watchdogs that end a pause of more than `span_ps` of the network's time."""

    span_ps: int
    action: str


@dataclass(frozen=True)
class Apart:
    """A lab whose switches are processes."""

    watchdog: Watchdog | None = None

    def to_json(self) -> Watched:
        if self.watchdog is None:
            return {"watchdog": None}
        span_s = self.watchdog.span_ps / 1e12
        return {"watchdog": (span_s, span_s / LOOKS, self.watchdog.action == "drop")}

    def words(self) -> list[str]:
        """Returns the options of the command that asked for it."""
        words = ["--processes"]
        if self.watchdog is not None:
            words += ["--watchdog", f"{self.watchdog.span_ps / 1e6:g}us:{self.watchdog.action}"]
        return words


def files_of(captures: Sequence[tuple[Path, Sequence[Port]]]) -> list[tuple[Path, list[Port]]]:
    """Returns captures of which each is written by one process. A file whose ports belong to several processes becomes
    several, with the name of the process: `x.pcapng` becomes `x.hosts.pcapng` and `x.leaf0.pcapng`.
    """
    found = []
    for place, ports in captures:
        by_process: dict[str, list[Port]] = {}
        for port in ports:
            by_process.setdefault(process_of(port), []).append(port)
        of_several = len(by_process) > 1
        found += [(capture.labelled(place, name) if of_several else place, of) for name, of in by_process.items()]
    return found


def process_of(port: Port) -> str:
    """Returns the name of the process that a port belongs to. The name of a host's port has no colon."""
    switch, colon, _ = port.name.partition(":")
    return switch if colon else HOSTS


def log_after(path: Path, start: int) -> Path:
    """Returns the file for the log of a switch's process when it starts for the second time, or a later one."""
    return path.with_name(f"{path.name}.{start}")


def read(text: str) -> Watchdog:
    """Reads `TIME` or `TIME:ACTION`, such as `200us:drop`.

    # Errors
    `InputError` where it is neither.
    """
    time, colon, action = text.partition(":")
    expected = f"expected a time of the network and {' or '.join(ACTIONS)}, such as 200us:drop"
    try:
        span_ps = time_ps(time)
    except ValueError:
        raise InputError(f"--watchdog {text}: {time!r} is no time: {expected}") from None
    if colon and action not in ACTIONS:
        raise InputError(f"--watchdog {text}: {action!r} is no action: {expected}")
    # A look takes time, so that looks every few nanoseconds would take all of it.
    if not 10**6 <= span_ps <= 10**15:
        raise InputError(f"--watchdog {text}: expected a time from 1us to 1000s")
    return Watchdog(span_ps, action or ACTIONS[0])
