"""Trees of pauses: at which port they begin, how far they reach, and how long they last.

They come from the table `links`, which says for each period what each port sent, what waits there, and how long the
node at its other end held it. A held port is followed to the node that holds it, and there to the port with the longest
queue among those to which its packets may go on. If this port is held too, it is followed in turn. If not, it is the
root. So each held port belongs to one tree in a period. Periods that follow one another with the same root are one
tree. Packets go on by shortest paths of the whole network, whatever links failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypedDict

from backwater.common.arrays import Array, Integers, np, pa
from backwater.common.quantities import as_number
from backwater.runs.derived import Columns
from backwater.runs.run import Run
from backwater.runs.tables import Column, codes, column

FAR = 64
"""Ports that are followed. Beyond it pauses wait for one another in a cycle."""
CELLS = 4_000_000
"""Ports and periods that are held in memory at once."""
COLUMNS: list[Column] = [
    column("node", "cat", None, "node of the root port, where the pauses begin; of a cycle, of one of its ports"),
    column("towards", "cat", None, "node that the root port leads to"),
    column("cycle", "u8", None, "1 if pauses wait for one another in a cycle, so no port is the root; else 0"),
    column("begin_ps", "u64", "ps", "start of the first period in which it held a port"),
    column("end_ps", "u64", "ps", "end of the last such period"),
    column("depth", "u64", None, "links from the root to the farthest held port: at most"),
    column("fan_out", "u64", None, "ports that the root's node holds at once: at most"),
    column("hosts", "u64", None, "hosts that it holds at once: at most"),
    column("switch_ports", "u64", None, "ports of switches that it holds at once: at most"),
    column("queue_bytes", "u64", "B", "bytes that wait at the root: at most"),
    column("held_ps", "u64", "ps", "time that ports were held, all together; under BFC queues, under FlowSail flows"),
    column("period_ps", "u64", "ps", "period of `measure.links`: what is shorter cannot be told apart"),
]


class TreeRow(TypedDict):
    """A tree, with the columns above."""

    node: str
    towards: str
    cycle: bool
    begin_ps: int
    end_ps: int
    depth: int
    fan_out: int
    hosts: int
    switch_ports: int
    queue_bytes: int
    held_ps: int
    period_ps: int


@dataclass(frozen=True)
class Links:
    """Rows of the table `links` by period, and the network. A port is a number, and so is a node."""

    nodes: list[str]
    is_host: Array
    node: Integers
    """Of each port."""
    peer: Integers
    """At its other end."""
    turns: list[Integers]
    """`[port]`: ports of the node at its other end to which its packets may go on."""
    length_ps: int
    """Of a period."""
    period: Integers
    """`[row]`, like all below."""
    port: Integers
    sent: Integers
    queued: Integers
    paused: Integers


@dataclass(frozen=True)
class Followed:
    """Held ports, and where their pauses began."""

    rows: Integers
    """Their rows in `Links`."""
    root: Integers
    """Port at which it began; of a cycle its first."""
    depth: Integers
    """Held ports on the way, itself among them."""
    queue: Integers
    """Bytes that wait at the root."""
    onward: Integers
    """The row of the port that it waits for; -1 if that is the root."""
    cycle: Array
    """Whether it leads into a cycle of pauses."""


@dataclass
class Growing:
    """A tree over the periods so far."""

    root: int
    """Port."""
    first: int
    last: int
    held_ps: int
    depth: int
    fan_out: int
    hosts: int
    switches: int
    queue: int
    cycle: bool
    at: int
    """The period in which it holds most ports."""
    ports: int


@dataclass(frozen=True)
class Found:
    """The trees of a run, those first that held ports longest, all ports together."""

    links: Links
    followed: Followed
    trees: list[Growing]

    def row(self, tree: Growing) -> TreeRow:
        """Returns a tree with names and times."""
        links = self.links
        return {
            "node": links.nodes[links.node[tree.root]],
            "towards": links.nodes[links.peer[tree.root]],
            "cycle": tree.cycle,
            "begin_ps": tree.first * links.length_ps,
            "end_ps": (tree.last + 1) * links.length_ps,
            "depth": tree.depth,
            "fan_out": tree.fan_out,
            "hosts": tree.hosts,
            "switch_ports": tree.switches,
            "queue_bytes": tree.queue,
            "held_ps": tree.held_ps,
            "period_ps": links.length_ps,
        }

    def rows(self) -> list[TreeRow]:
        """Returns all trees."""
        return [self.row(tree) for tree in self.trees]


def of_run(run: Run) -> Found | None:
    """Returns the trees of a run, or None if its links were not recorded."""
    if not is_recorded(run):
        return None
    links = links_of(run)
    followed = follow(links)
    return Found(links, followed, sorted(trees(links, followed), key=lambda one: (-one.held_ps, one.first)))


def of_trees(run: Run) -> Iterator[Columns]:
    """Yields the trees of a run as columns; nothing if its links were not recorded."""
    if (found := of_run(run)) is not None:
        yield columns_of(found.rows())


def columns_of(rows: list[TreeRow]) -> Columns:
    """Returns these trees as columns."""
    whole: list[Columns] = [{**row, "cycle": int(row["cycle"])} for row in rows]
    return {one["name"]: [row[one["name"]] for row in whole] for one in COLUMNS}


def is_recorded(run: Run) -> bool:
    """Returns whether the scenario asked for its links over time."""
    return "links" in run.tables and as_number(run.scenario["measure"]["links"], "measure.links") > 0


def hosts_of(run: Run) -> set[str]:
    """Returns the names of the hosts."""
    topology = run.scenario["topology"]
    nodes = run.table("ports")["node"].to_pylist()
    return (
        set(topology["hosts"]) if topology["kind"] == "graph" else {node for node in nodes if node.startswith("host")}
    )


def links_of(run: Run) -> Links:
    table, ports = run.table("links"), run.table("ports")
    ends = list(zip(ports["node"].to_pylist(), ports["peer"].to_pylist(), strict=True))
    names = list(dict.fromkeys(node for node, _ in ends))
    number = {name: i for i, name in enumerate(names)}
    hosts = hosts_of(run)
    is_host = np.array([name in hosts for name in names], bool)
    node, peer = (np.array([number[both[i]] for both in ends], np.int64) for i in (0, 1))
    key = node * len(names) + peer
    by_key = np.argsort(key)
    wanted = numbers(table["node"], number) * len(names) + numbers(table["peer"], number)
    port = by_key[np.searchsorted(key[by_key], wanted)]
    length = round(1e12 * as_number(run.scenario["measure"]["links"], "measure.links"))
    period = -(-table["time_ps"].to_numpy() // length) - 1
    order = np.argsort(period, kind="stable")
    columns = (period, port, *(table[name].to_numpy() for name in MEASURED))
    rows = [column[order].astype(np.int64) for column in columns]
    return Links(names, is_host, node, peer, turns(node, peer, is_host), length, *rows)


def numbers(column: pa.ChunkedArray, number: dict[str, int]) -> Integers:
    """Returns the number of each row's name."""
    names, code = codes(column)
    return np.array([number.get(name, -1) for name in names], np.int64)[code]


MEASURED = ("sent_bytes", "queued_bytes", "paused_ps")


def turns(node: Integers, peer: Integers, is_host: Array) -> list[Integers]:
    """Returns for each port to which ports of the next node its packets may go on, by shortest paths."""
    number = np.cumsum(~is_host) - 1  # Of switches.
    inner = ~is_host[node] & ~is_host[peer]
    joined = np.zeros((int(number[-1]) + 1,) * 2, np.float32)
    joined[number[node[inner]], number[peer[inner]]] = 1
    edges = np.unique(number[peer[is_host[node] & ~is_host[peer]]])  # Switches with hosts.
    far = np.full((len(joined), len(edges)), -1)
    front = np.zeros(far.shape, bool)
    front[edges, np.arange(len(edges))] = True
    for distance in range(len(joined)):
        far[front] = distance
        front = (joined @ front.astype(np.float32) > 0) & (far < 0)
        if not front.any():
            break
    out = np.argsort(node, kind="stable")
    begins = np.searchsorted(node[out], np.arange(len(is_host) + 1))
    onward: list[Integers] = []
    for source, at in zip(node.tolist(), peer.tolist(), strict=True):
        ports = out[begins[at] : begins[at + 1]]
        ports = ports[peer[ports] != source]
        to_switch = ~is_host[peer[ports]]
        here = far[number[at]] if not is_host[at] else far[0] - far[0]
        towards = np.ones(far.shape[1], bool) if is_host[source] else far[number[source]] == here + 1
        nearer = far[number[peer[ports]]] == here - 1
        onward.append(ports[~to_switch | (nearer & towards).any(axis=1)])
    return onward


def follow(links: Links) -> Followed:
    """Follows each held port to the root of its tree."""
    many = len(links.node)
    counts = np.array([len(one) for one in links.turns], np.int64)
    starts = np.cumsum(counts) - counts
    flat = np.concatenate([*links.turns, np.zeros(0, np.int64)]).astype(np.int64)
    periods, at_once = int(links.period.max(initial=-1)) + 1, max(1, CELLS // max(many, 1))
    empty = np.zeros(0, np.int64)
    parts = [Followed(empty, empty, empty, empty, empty, empty > 0)]
    for first in range(0, periods, at_once):
        begin, end = np.searchsorted(links.period, [first, first + at_once]).tolist()
        cell = (links.period[begin:end] - first) * many + links.port[begin:end]
        queue, busy = (np.zeros(min(at_once, periods - first) * many) for _ in range(2))
        queue[cell] = links.queued[begin:end]
        busy[cell] = links.queued[begin:end] + links.sent[begin:end] / (links.sent.max() + 1.0)
        rows = np.flatnonzero(links.paused[begin:end] > 0)
        rows = rows[counts[links.port[begin:end][rows]] > 0]
        held = np.full(len(queue), -1)
        held[cell[rows]] = np.arange(len(rows))
        port = links.port[begin:end][rows]
        # Every turn of every held port, and of each the one with the longest queue.
        offsets = np.cumsum(counts[port]) - counts[port]
        of = np.repeat(np.arange(len(rows)), counts[port])
        choice = flat[np.arange(len(of)) - offsets[of] + starts[port][of]] + (cell[rows] - port)[of]
        most = np.maximum.reduceat(busy[choice], offsets) if len(rows) else busy[:0]
        best = np.flatnonzero(busy[choice] == most[of])
        ahead = choice[best[np.unique(of[best], return_index=True)[1]]]
        onward = np.where(held[ahead] >= 0, held[ahead], np.arange(len(rows)))
        at, depth = np.arange(len(rows)), np.ones(len(rows), np.int64)
        for _ in range(FAR):
            moving = onward[at] != at
            if not moving.any():
                break
            at, depth = onward[at], depth + moving
        cycle = onward[at] != at
        least, going = at.copy(), at.copy()
        for _ in range(FAR if cycle.any() else 0):  # The first port of a cycle stands for it.
            going = onward[going]
            least = np.where(port[going] < port[least], going, least)
        root = np.where(cycle, cell[rows][least], ahead[at]) if len(rows) else ahead
        next_row = np.where(held[ahead] >= 0, rows[onward] + begin, -1)
        parts.append(Followed(rows + begin, root % many, depth, queue[root].astype(np.int64), next_row, cycle))
    return Followed(*(np.concatenate([getattr(part, name) for part in parts]) for name in FIELDS))


FIELDS = ("rows", "root", "depth", "queue", "onward", "cycle")


def trees(links: Links, followed: Followed) -> Iterator[Growing]:
    """Yields the trees. Those of one root in periods that follow one another are one."""
    rows = followed.rows
    if len(rows) == 0:
        return
    key = (links.period[rows] * len(links.node) + followed.root) * 2 + followed.cycle
    keys, first, number = np.unique(key, return_index=True, return_inverse=True)

    def summed(values: Array) -> list[int]:
        found = np.zeros(len(keys), np.int64)
        np.add.at(found, number, values)
        return found.tolist()

    depth = np.zeros(len(keys), np.int64)
    np.maximum.at(depth, number, followed.depth)
    is_host = links.is_host[links.node[links.port[rows]]]
    columns = (
        links.period[rows][first].tolist(),
        followed.root[first].tolist(),
        followed.cycle[first].tolist(),
        followed.queue[first].tolist(),
        depth.tolist(),
        summed(links.paused[rows]),
        summed(links.peer[links.port[rows]] == links.node[followed.root]),
        summed(is_host),
        summed(~is_host),
    )
    growing: dict[tuple[int, bool], Growing] = {}
    for period, root, cycle, queue, deep, held, fan, hosts, switches in zip(*columns, strict=True):
        known, ports = growing.get((root, cycle)), hosts + switches
        if known is None or known.last < period - 1:
            if known is not None:
                yield known
            growing[root, cycle] = Growing(
                root, period, period, held, deep, fan, hosts, switches, queue, cycle, period, ports
            )
            continue
        if ports > known.ports:
            known.at, known.ports = period, ports
        known.last = period
        known.held_ps += held
        known.depth, known.fan_out = max(known.depth, deep), max(known.fan_out, fan)
        known.hosts, known.switches = max(known.hosts, hosts), max(known.switches, switches)
        known.queue = max(known.queue, queue)
    yield from growing.values()
