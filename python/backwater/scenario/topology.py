"""Topologies: those that a scenario names, and those of a graph.

>>> import networkx
>>> from backwater import topology, units
>>> graph = networkx.Graph([("a", "tor"), ("b", "tor")])
>>> built = topology.from_networkx(graph, rate=400 * units.Gbps, delay=500 * units.ns)
>>> built["hosts"], built["switches"], built["links"][0]["rate"]
(['a', 'b'], ['tor'], '400 Gbps')
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater._core import InputError
from backwater.common.extras import library
from backwater.scenario import plan, typed
from backwater.scenario.builders import (
    chain,
    dumbbell,
    fat_tree,
    graph,
    leaf_spine,
    single_switch,
    two_clos,
)
from backwater.scenario.changes import python_words
from backwater.scenario.network import read
from backwater.scenario.toml_text import toml_key, toml_value
from backwater.scenario.units import BitsPerSec, Duration, Quantity, spelled

if TYPE_CHECKING:
    import networkx

    from backwater.scenario.typed import Scenario

__all__ = [
    "chain",
    "dumbbell",
    "fat_tree",
    "from_edges",
    "from_networkx",
    "graph",
    "leaf_spine",
    "single_switch",
    "to_networkx",
    "two_clos",
]

IDLE: Mapping[str, Any] = {
    "scheme": "bfc",
    "workload": [{"kind": "background", "sizes": {"fixed": "1 KB"}, "load": 0.1, "load_of": "receivers"}],
    "run": {"duration": "1 us"},
}
"""The rest of a scenario of which only the network matters."""


def from_networkx(
    network: networkx.Graph[Any],
    *,
    rate: BitsPerSec | None = None,
    delay: Duration | None = None,
    hosts: Iterable[Any] | None = None,
) -> typed.Graph:
    """Returns the topology of a networkx graph. Names of nodes are their text.

    A node is a host if its attribute `host` is true, or if it is among `hosts`. If no node has that attribute and there
    are no `hosts`, the nodes with a single link are hosts. An edge's attributes `rate` and `delay` win over `rate` and
    `delay` of this call. Numbers are bit/s and seconds.

    # Errors
    `InputError` if it is no graph of networkx, or an edge has no rate or delay. Also if two nodes have the same name,
    or a link leads one way only.
    """
    if not hasattr(network, "is_directed"):
        raise InputError(f"from_networkx: {type(network).__name__}: expected a graph of networkx")
    if network.is_directed():
        for a, b in network.edges():
            if not network.has_edge(b, a):
                raise InputError(
                    f"from_networkx: {a} -> {b}: expected links in both directions, or an undirected graph"
                )
        network = network.to_undirected()
    edges, rates, delays = [], [], []
    for a, b, told in network.edges(data=True):
        edges.append((a, b))
        rates.append(told.get("rate", rate))
        delays.append(told.get("delay", delay))
    marked = [node for node, told in network.nodes(data=True) if told.get("host")]
    chosen = marked if hosts is None else hosts
    if hosts is None and not any("host" in told for _, told in network.nodes(data=True)):
        chosen = [node for node, degree in network.degree() if degree == 1]
    return from_edges(edges, rate=rates, delay=delays, hosts=chosen, nodes=list(network.nodes()))


def from_edges(
    edges: Iterable[Sequence[Any]],
    *,
    rate: BitsPerSec | Sequence[Any],
    delay: Duration | Sequence[Any],
    hosts: Iterable[Any] | None = None,
    nodes: Iterable[Any] | None = None,
) -> typed.Graph:
    """Returns the topology of a list or array of edges: two nodes each, named or numbered.

    `rate` and `delay` are of every link, or have a value for each edge. Numbers are bit/s and seconds. Without `hosts`,
    the nodes with a single link are hosts. `nodes` gives their order; without it, nodes are in the order of the edges.

    # Errors
    `InputError` if an edge has not two nodes, if a list of rates has another length, or if two nodes have one name.
    """
    pairs = [tuple(getattr(edge, "tolist", lambda edge=edge: edge)()) for edge in edges]
    for i, pair in enumerate(pairs):
        if len(pair) != 2:
            raise InputError(f"from_edges: edges[{i}] = {pair!r}: expected two nodes")
    order = list(dict.fromkeys([*(nodes or ()), *(node for pair in pairs for node in pair)]))
    names = {node: str(node) for node in order}
    if len(set(names.values())) < len(names):
        twice = next(name for name in names.values() if list(names.values()).count(name) > 1)
        raise InputError(f"from_edges: two nodes are called '{twice}': expected different names")
    links: dict[Any, int] = dict.fromkeys(order, 0)
    for pair in pairs:
        for node in pair:
            links[node] += 1
    ends = set(hosts) if hosts is not None else {node for node, count in links.items() if count == 1}
    if unknown := [node for node in ends if node not in names]:
        raise InputError(f"from_edges: hosts: {unknown[0]!r} is in no edge")
    rates, delays = each("rate", rate, pairs, "bps"), each("delay", delay, pairs, "s")
    return graph(
        hosts=[names[node] for node in order if node in ends],
        switches=[names[node] for node in order if node not in ends],
        links=[
            {"ends": [names[a], names[b]], "rate": one, "delay": other}
            for (a, b), one, other in zip(pairs, rates, delays, strict=True)
        ],
    )


def each(key: str, value: Any, edges: Sequence[tuple[Any, ...]], base: str) -> list[str]:
    """Returns a quantity for each edge, as text with a unit."""
    n, one = len(edges), value is None or isinstance(value, str | Real)
    values = [value] * n if one else list(value)
    if len(values) != n:
        raise InputError(f"from_edges: {key} has {len(values)} values: expected one, or one for each of {n} edges")
    if None in values:
        i = values.index(None)
        raise InputError(f"edges[{i}] = {edges[i]!r} has no {key}: expected {key}= or an attribute '{key}' of the edge")
    return [str(spelled(one, base)) for one in values]


def to_networkx(network: Mapping[str, Any]) -> networkx.Graph[str]:
    """Returns a topology, or the network of a resolved scenario such as `run.scenario`, as a networkx graph.

    A node has the attribute `host`. An edge has `rate` and `delay`, as quantities: numbers in bit/s and seconds.

    # Errors
    `InputError` if it is neither, or if the topology is wrong.
    """
    if not hasattr(network, "keys"):
        expected = "expected a topology, or a scenario such as run.scenario or experiment.scenarios[LABEL]"
        raise InputError(f"to_networkx: {type(network).__name__}: {expected}")
    built = read(json.dumps(network if "topology" in network else idle(network)))
    made = library("networkx").Graph()
    names = [node.name for node in built.nodes]
    made.add_nodes_from((node.name, {"host": node.host}) for node in built.nodes)
    for link in built.links:
        rate, delay = Quantity(link.rate_bps, "bps"), Quantity(link.delay_ps * 1e-12, "s")
        made.add_edge(names[link.a], names[link.b], rate=rate, delay=delay)
    return made


def idle(topology: Mapping[str, Any]) -> Scenario:
    """Returns a resolved scenario with this topology."""
    source = {"topology": topology, **IDLE}
    text = "".join(f"{toml_key(key)} = {toml_value(value, key)}\n" for key, value in source.items())
    with python_words():
        loaded = _core.load_text(text, ".", "the topology", [], None)
    return plan.read(loaded).runs[0].scenario
