"""flow.txt: the number of flows, then each of them, in order of start.

HPCC, PowerTCP   src dst priority_group destination_port bytes start_seconds
ConWeave         src dst priority_group bytes start_seconds
m4               number src dst priority_group destination_port bytes start_seconds

The simulators stop reading behind the counted flows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from backwater._core import InputError
from backwater.hpcc import units
from backwater.hpcc.topology import Network
from backwater.hpcc.words import INTEGER, Words, number, rows, wrong

BACKGROUND_PORT, INCAST_PORT = 100, 200
GROUP_MAX = 7
BYTES_MAX = 2**32 - 1  # Sequence numbers of the simulator are 32 bits.
ENDLESS_ABOVE = 2**37
"""Sizes above this stand for flows without end, such as PowerTCP's 10^12 bytes."""
SPAN_MAX_NS = 60 * 10**9
DIALECTS = {6: "HPCC", 5: "ConWeave", 7: "m4"}
"""By the number of words of a flow."""
FORMS = (
    "6 for a flow (src dst priority_group destination_port bytes start), 5 (src dst priority_group bytes start), or 7 "
    "(number src dst priority_group destination_port bytes start)"
)


class Flow(NamedTuple):
    """One flow: node numbers, destination port, payload in bytes, start in nanoseconds, and priority group."""

    src: int
    dst: int
    port: int
    bytes: int
    start_ns: int
    group: int


@dataclass(frozen=True)
class Flows:
    """The flows of a file."""

    path: Path
    dialect: str
    flows: list[Flow]
    note: str = ""
    """What was left out in reading."""

    @property
    def endless(self) -> list[Flow]:
        """Returns the flows that stand for flows without end."""
        return [flow for flow in self.flows if flow.bytes > ENDLESS_ABOVE]

    @property
    def groups(self) -> set[int]:
        """Returns the priority groups that the flows use."""
        return {flow.group for flow in self.flows}


def read(path: Path, network: Network) -> Flows:
    """Reads the flows between hosts of `network`.

    # Errors
    `InputError` naming line, word and what was expected.
    """
    words = Words(path)
    count = words.integer("number of flows", 1)
    width = columns(path, count)
    switches = set(network.switches)
    flows: list[Flow] = []
    last_ns = 0
    for i in range(count):
        what = f"flow {i + 1} of {count}"

        def host(which: str, what: str = what) -> int:
            node = words.integer(f"{what}, {which}", 0, network.nodes - 1)
            if node in switches:
                raise words.wrong(f"{what}, {which}", str(node), "is a switch: expected a host")
            return node

        if width == 7:
            words.integer(f"{what}, number")
        src, dst = host("source"), host("destination")
        if src == dst:
            raise words.wrong(f"{what}, destination", str(dst), "the source itself: expected another host")
        group = words.integer(f"{what}, priority group", 1, GROUP_MAX)
        port = words.integer(f"{what}, destination port", 0, 65_535) if width > 5 else BACKGROUND_PORT
        size = words.integer(f"{what}, bytes", 1, 10**18)
        word = words.next(f"{what}, start")
        start_ns = units.seconds_ns(word)
        if start_ns is None:
            raise words.wrong(f"{what}, start", word, "expected seconds, such as 2.000001")
        if start_ns < last_ns:
            raise words.wrong(f"{what}, start", word, "earlier than the flow before: expected flows in order of start")
        if flows and start_ns - flows[0].start_ns >= SPAN_MAX_NS:
            raise words.wrong(f"{what}, start", word, "expected less than 60 s after the first flow")
        last_ns = start_ns
        flows.append(Flow(src, dst, port, size, start_ns, group))
    left = words.left("flow", count, lambda row: len(row) == width and all(map(INTEGER.fullmatch, row[:-1])))
    return Flows(path, DIALECTS[width], flows, left)


def columns(path: Path, count: int) -> int:
    """Returns the number of words of a flow: from its first line, or else from the number of words in the file."""
    lines = list(rows(path))
    lengths = [len(words) for _, words in lines]
    line, first = lines[min(1, len(lines) - 1)]
    if len(lengths) > 1 and lengths[0] == 1 and len(first) in DIALECTS:
        if len(first) == 6 and "." in first[4] and number(first[4]) is not None:
            problem = "a time: flows that stop, or have a class behind their start, are not read: expected bytes"
            raise wrong(path, line, f"flow 1 of {count}, bytes", first[4], problem)
        return len(first)
    if sum(lengths) - 1 in (width * count for width in DIALECTS):
        return (sum(lengths) - 1) // count
    raise InputError(f"{path}:{line}: {len(first)} words: expected {FORMS}")


def text(flows: list[Flow]) -> str:
    """Returns the text of the file in HPCC's dialect."""
    lines = [str(len(flows))]
    lines += [f"{f.src} {f.dst} {f.group} {f.port} {f.bytes} {units.seconds(f.start_ns)}" for f in flows]
    return "\n".join(lines) + "\n"
