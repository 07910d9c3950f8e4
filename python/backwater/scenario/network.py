"""The network of a scenario: its nodes and links, in the order of the simulator."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from backwater import _core

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario


class Node(msgspec.Struct):
    """A host or a switch."""

    name: str
    id: int
    """Its number in files of HPCC's simulator."""
    host: bool


class Link(msgspec.Struct):
    """A link between two nodes, by their places among all nodes."""

    a: int
    b: int
    rate_bps: int
    delay_ps: int


class Network(msgspec.Struct):
    """Nodes and links."""

    nodes: list[Node]
    links: list[Link]
    base_bdp_bytes: int
    """Rate times round trip of the longest path."""


def network(scenario: Scenario) -> Network:
    """Returns the network of a resolved scenario."""
    return read(json.dumps(scenario))


def read(scenario_json: str) -> Network:
    """Returns the network of a resolved scenario that is JSON."""
    return msgspec.json.decode(_core.network(scenario_json), type=Network)
