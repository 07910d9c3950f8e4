"""What the processes of a lab say to each other, as lines of JSON: orders, events, counts and readings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, NotRequired, TextIO, TypedDict

from backwater import _core

Files = list[tuple[str, list[tuple[str, int, int]]]]
"""Captures: files, each with its ports by name, node and port."""


def heard(pipe: TextIO) -> Iterator[Any]:
    """Reads lines until the process at the other end ends. A line that it did not end is left out."""
    for line in pipe:
        if line.endswith("\n"):
            yield json.loads(line)


class Watched(TypedDict):
    """Switches as processes. The watchdog has the longest time of a pause, the time between looks, whether it drops."""

    watchdog: tuple[float, float, bool] | None


class ProgramOrder(TypedDict):
    """A program to start on a host."""

    host: str
    argv: list[str]


class Order(TypedDict, total=False):
    """What the lab's own process is to do. `does` says which of the other keys there are."""

    does: Literal["flows", "measured", "programs"]
    scenario: str
    divisor: int
    place: str
    results: str
    servers: list[ProgramOrder]
    programs: list[ProgramOrder]
    for_s: float | None
    warm_s: float
    run_s: float
    stdout: int | None
    logs: dict[str, str]
    captures: Files
    dctcp: bool
    realtime: bool
    processes: Watched | None
    parent: int
    own_users: bool
    control: int


class Told(TypedDict):
    """A result that a program told: a number or a text."""

    about: str
    metric: str | None
    value: float | None
    text: str | None


class Ended(TypedDict):
    """How a program ended. In a run directory it has results, too."""

    host: str
    command: list[str]
    serves: bool
    exit_code: int | None
    failed: str | None
    failure: str | None
    results: NotRequired[list[Told]]


class Lateness(TypedDict):
    """How late frames were."""

    p99_s: float
    max_s: float


class Ways(TypedDict):
    """Frames of a host or an end of a link, in both directions."""

    frames_in: int
    frames_out: int
    late_in: Lateness
    late_out: Lateness


class HostCounts(Ways):
    """Frames of a host, and those that were not carried, by reason."""

    host: str
    refused: dict[str, int]
    overflowed: int
    unsent: int


class LinkCounts(Ways):
    """Frames of a link between two processes."""

    node: str
    peer: str


class Datagrams(TypedDict):
    """Datagrams of the lab's own sender."""

    sent: int
    received: int
    altered: int
    reordered: int
    duplicated: int
    late: Lateness


class Process(TypedDict):
    """A process that runs a part of the network, and the logs of each of its starts."""

    name: str
    logs: list[str]


class Counts(TypedDict):
    """What a lab has counted."""

    hosts: list[HostCounts]
    links: list[LinkCounts]
    processes: list[Process]
    datagrams: NotRequired[Datagrams]
    packet_hops: int
    frames_dropped: int
    unlogged: str | None
    congestion_control: NotRequired[str | None]


class Made(TypedDict):
    """What a run came to. Its tables are in files."""

    digest: str
    digests: str
    summary: str
    counts: Counts
    seconds: float
    programs: NotRequired[list[Ended]]


class Reached(TypedDict):
    """How far a run with programs is."""

    now_ps: int
    end_ps: int
    packet_hops: int


class Event(TypedDict, total=False):
    """What the lab's own process says: one key, or what programs came to."""

    ready: list[tuple[str, str]]
    refused: str
    progress: _core.Progress | Reached
    made: Made
    counts: Counts
    programs: list[Ended]
    stopped: bool
    seconds: float


class About(TypedDict):
    """What a reading says of a lab beside its ports."""

    name: str
    divisor: int
    own_users: bool


class PortReading(TypedDict):
    """Counters of a port."""

    node: str
    peer: str
    rate_bps: float
    sent_bytes: int
    queued_bytes: int | None
    active_flows: int | None
    queues_paused_s: float
    port_paused_s: float
    pauses: int
    dropped: int


class Reading(About):
    """State of every port a moment ago."""

    network_s: float
    frames_inside: int
    frames_dropped: int
    ports: list[PortReading]


class Question(TypedDict, total=False):
    """What another command asks: a `reading`, or to `enter` a host."""

    ask: str
    host: str


class Refused(TypedDict):
    """Why there is no other answer."""

    refused: str


class Entered(TypedDict):
    """A host of a lab, which the descriptors of an answer lead to."""

    host: str
    address: str


Answer = Reading | Entered | Refused
