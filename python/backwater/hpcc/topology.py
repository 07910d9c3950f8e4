"""topology.txt: its first line, the numbers of the switches, the links.

Dialects, told apart by the words of the first line:
HPCC, ConWeave, ns3-rdma   nodes switches links
PowerTCP                   nodes switches tors links
Reverie                    nodes switches tors links leaf_capacity spine_capacity
SimAI                      nodes gpus_per_server nvswitches switches links GPU_TYPE
Then the switches, in SimAI NVSwitches first; every other number is a host. A link is `a b rate delay error_rate`,
without the last in ns3-rdma. The simulators stop reading behind the links.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from backwater._core import InputError
from backwater.common.quantities import some
from backwater.hpcc import units
from backwater.hpcc.words import INTEGER, Words, number, shown

NODES_MAX = 65_535  # Addresses carry 16 bits of a node's number.
HOSTS_MAX = 60_000
PORTS_MAX = 255
RATE_MIN, RATE_MAX = 10**6, 8 * 10**12
DELAY_MAX_NS = 100 * 10**6


@dataclass(frozen=True)
class Link:
    """A link in both directions: its rate (bit/s), delay (nanoseconds), share of packets lost each way, and line."""

    a: int
    b: int
    rate: int
    delay_ns: int
    error_rate: float = 0.0
    line: int = 0


@dataclass(frozen=True)
class Network:
    """A network whose nodes are numbered from 0. Nodes that are not switches are hosts."""

    path: Path
    dialect: str
    nodes: int
    switches: list[int]
    links: list[Link]
    note: str = ""
    """What was lost in reading."""

    @property
    def hosts(self) -> list[int]:
        switches = set(self.switches)
        return [node for node in range(self.nodes) if node not in switches]

    @property
    def host_rates(self) -> list[int]:
        """Returns the rate of each host's link."""
        switches = set(self.switches)
        return [link.rate for link in self.links if not {link.a, link.b} <= switches]


def read(path: Path) -> Network:
    """Reads a network, and refuses one that cannot be simulated.

    # Errors
    `InputError` naming line, word and what was expected.
    """
    words = Words(path)
    dialect, nodes, switch_count, link_count = first_line(words)
    switches = read_switches(words, nodes, switch_count)
    cut: list[str] = []
    bare = is_bare(words.row())
    links = read_links(words, nodes, set(switches), link_count, cut, bare=bare)
    notes = [f"delays are cut off to whole nanoseconds, as there: {cut[0]}"] if cut else []
    left = words.left("link", link_count, is_link)
    note = "; ".join([*notes, left] if left else notes)
    dialect = "ns3-rdma" if bare else dialect
    network = Network(path, dialect, nodes, switches, links, note)
    check_shape(network, words)
    return network


def first_line(words: Words) -> tuple[str, int, int, int]:
    """Reads the first line: the dialect, and the numbers of nodes, switches and links."""
    row = words.row()
    simai = len(row) == 6 and number(row[5]) is None
    dialects = {3: "HPCC", 4: "PowerTCP", 6: "SimAI" if simai else "Reverie"}
    if len(row) not in dialects:
        line = f'"{shown(" ".join(row[:8]))}"' if row else "nothing"
        raise InputError(
            f"{words.path}:{max(1, words.line)}: {line}: expected a first line of 3 numbers (nodes switches links), 4 "
            "(nodes switches tors links) or 6 words (nodes switches tors links leaf_capacity spine_capacity, or nodes "
            "gpus_per_server nvswitches switches links GPU_TYPE)"
        )
    nodes = words.integer("number of nodes", 3, NODES_MAX)
    if simai:
        words.integer("GPUs per server")
        nvswitches = words.integer("number of NVSwitches", 0, nodes)
        switches = nvswitches + words.integer("number of switches", 0, nodes - nvswitches)
    else:
        if row[1] == "0":
            problem = "hosts that are joined without a switch are not simulated: expected at least 1"
            raise words.wrong("number of switches", words.next("number of switches"), problem)
        switches = words.integer("number of switches", 1, nodes)
        if len(row) > 3:
            words.integer("number of ToR switches", 0, switches)
    links = words.integer("number of links", 1)
    for what in {"SimAI": ["GPU type"], "Reverie": ["leaf capacity", "spine capacity"]}.get(dialects[len(row)], []):
        words.next(what)
    if nodes - switches > HOSTS_MAX:
        raise InputError(f"{words.path}:{words.line}: {nodes - switches} hosts: expected at most {HOSTS_MAX}")
    return dialects[len(row)], nodes, switches, links


def read_switches(words: Words, nodes: int, count: int) -> list[int]:
    switches: dict[int, int] = {}
    for i in range(count):
        what = f"switch {i + 1} of {count}"
        switch = words.integer(what, 0, nodes - 1)
        if switch in switches:
            raise words.wrong(
                what, str(switch), f"listed in line {switches[switch]} already: expected each switch once"
            )
        switches[switch] = words.line
    return list(switches)


def is_link(row: list[str]) -> bool:
    return len(row) >= 4 and all(map(INTEGER.fullmatch, row[:2])) and units.rate(row[2]) is not None


def is_bare(row: list[str]) -> bool:
    """Returns whether a link has no error rate, as in ns3-rdma."""
    return len(row) == 4 and is_link(row)


def read_links(words: Words, nodes: int, switches: set[int], count: int, cut: list[str], *, bare: bool) -> list[Link]:
    """Reads the links, which have no error rate if they are `bare`. Delays that lose a fraction are added to `cut`."""
    links: list[Link] = []
    joined: dict[tuple[int, int], int] = {}
    for i in range(count):
        what = f"link {i + 1} of {count}"
        a = words.integer(f"{what}, one end", 0, nodes - 1)
        line = words.line
        b = words.integer(f"{what}, other end", 0, nodes - 1)
        if a == b:
            raise words.wrong(f"{what}, other end", str(b), "the link leads to itself: expected another node")
        if a not in switches and b not in switches:
            problem = f"nodes {a} and {b} are hosts: expected a switch at one end"
            raise words.wrong(f"{what}, other end", str(b), problem)
        pair = (min(a, b), max(a, b))
        if pair in joined:
            problem = f"nodes {a} and {b} are joined in line {joined[pair]} already: expected one link per pair"
            raise words.wrong(f"{what}, other end", str(b), problem)
        joined[pair] = line
        rate = read_rate(words, what)
        delay_ns = read_delay(words, what, cut)
        share = 0.0 if bare else words.number(f"{what}, error rate", "expected a share from 0 to below 1")
        if not 0 <= share < 1:
            raise words.wrong(f"{what}, error rate", f"{share:g}", "expected a share from 0 to below 1")
        links.append(Link(a, b, rate, delay_ns, share, line))
    return links


def read_rate(words: Words, what: str) -> int:
    word = words.next(f"{what}, rate")
    rate = units.rate(word)
    if rate is None:
        raise words.wrong(f"{what}, rate", word, f"expected {units.RATE_FORMS}")
    if not RATE_MIN <= rate <= RATE_MAX:
        raise words.wrong(f"{what}, rate", word, "expected 1 Mbps to 8 Tbps")
    return rate


def read_delay(words: Words, what: str, cut: list[str]) -> int:
    word = words.next(f"{what}, delay")
    delay_ns = units.delay(word)
    if delay_ns is None:
        raise words.wrong(f"{what}, delay", word, f"expected {units.DELAY_FORMS}")
    if not 1 <= delay_ns <= DELAY_MAX_NS:
        raise words.wrong(f"{what}, delay", word, f"is {units.toml_time(delay_ns)}: expected 1 ns to 100 ms")
    if not units.is_exact(word):
        cut.append(f"{word} is {delay_ns} ns ({words.path.name}:{words.line})")
    return delay_ns


def check_shape(network: Network, words: Words) -> None:
    """Checks that every host has one link, every switch has some, and the network is connected."""
    path, switches = network.path, set(network.switches)
    near: list[list[Link]] = [[] for _ in range(network.nodes)]
    for link in network.links:
        near[link.a].append(link)
        near[link.b].append(link)
    if network.nodes - len(switches) < 2:
        count = some(network.nodes - len(switches), "host")
        raise InputError(f"{path}:1: {network.nodes} nodes, {len(switches)} switches: {count}: expected at least 2")
    for node, links in enumerate(near):
        most, kind = (PORTS_MAX, "switch") if node in switches else (1, "host")
        if not links:
            raise InputError(f"{path}:{words.line}: no link leads to {kind} {node}: expected one")
        if len(links) > most:
            what = (
                "GPUs with a link to an NVSwitch and one to the network"
                if network.dialect == "SimAI"
                else "several NICs"
            )
            raise InputError(
                f"{path}:{links[most].line}: {kind} {node} has {len(links)} links: "
                + (
                    f"expected at most {most}"
                    if kind == "switch"
                    else f"{what} are not simulated: expected a host to have exactly one"
                )
            )
    reached, todo = {0}, [0]
    while todo:
        node = todo.pop()
        for link in near[node]:
            other = link.b if link.a == node else link.a
            if other not in reached:
                reached.add(other)
                todo.append(other)
    apart = next((node for node in range(network.nodes) if node not in reached), None)
    if apart is not None:
        raise InputError(f"{path}:{words.line}: no path joins nodes 0 and {apart}: expected one network")


def text(nodes: int, switches: Iterable[int], links: list[Link]) -> str:
    """Returns the text of the file in HPCC's dialect."""
    switches = list(switches)
    lines = [f"{nodes} {len(switches)} {len(links)}", " ".join(map(str, switches))]
    for link in links:
        rate, share = units.ns3_rate(link.rate), f"{Decimal(repr(link.error_rate)):f}".ljust(8, "0")
        lines.append(f"{link.a} {link.b} {rate} {link.delay_ns}ns {share}")
    return "\n".join(lines) + "\n"
