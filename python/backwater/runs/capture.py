"""Captures of ports as pcapng files, which Wireshark reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from backwater import _core
from backwater.common import disk, suggest
from backwater.common.ranges import PACKETS_AT_MOST
from backwater.scenario.network import Network, network

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

END = ".pcapng"


@dataclass(frozen=True)
class Port:
    """A port of a network, by its name in captures."""

    name: str
    node: int
    number: int


@dataclass(frozen=True)
class Wanted:
    """Ports to capture, and their files. A file has an interface for each of its ports."""

    files: tuple[tuple[Path, tuple[Port, ...]], ...]
    at_most: int = PACKETS_AT_MOST

    @property
    def ports(self) -> list[Port]:
        return [port for _, ports in self.files for port in ports]

    @property
    def asked(self) -> tuple[list[tuple[int, int]], int]:
        return [(port.node, port.number) for port in self.ports], self.at_most


@dataclass(frozen=True)
class Word:
    """A port and a file, as `--pcap PORT=FILE` names them."""

    text: str
    port: str
    place: Path


def words(texts: list[str]) -> list[Word]:
    """Reads the options of the command line.

    # Errors
    `InputError` naming the option.
    """
    return [word(text) for text in texts]


def word(text: str) -> Word:
    port, equals, file = text.partition("=")
    if not (port and equals and file):
        raise _core.InputError(f"--pcap {text}: expected PORT=FILE, such as leaf0:spine0=leaf0{END}")
    place = Path(file)
    if not place.name.endswith(END):
        raise _core.InputError(f"--pcap {text}: expected a name of a file that ends in {END}")
    return Word(text, port, place)


def ports_of(of: Network) -> list[Port]:
    """Returns all ports of a network: `host3` or `leaf0:spine1`, or `leaf0:2` where several links go to one node."""
    nodes = of.nodes
    peers: list[list[str]] = [[] for _ in nodes]
    for link in of.links:
        peers[link.a].append(nodes[link.b].name)
        peers[link.b].append(nodes[link.a].name)
    found = []
    for node, names in enumerate(peers):
        own = nodes[node].name
        for number, peer in enumerate(names):
            beyond = peer if names.count(peer) == 1 else str(number)
            found.append(Port(own if nodes[node].host else f"{own}:{beyond}", node, number))
    return found


def port_named(name: str, ports: list[Port]) -> Port | None:
    """Returns the port of this name, or of this node and number."""
    node, _, number = name.rpartition(":")
    for port in ports:
        own = port.name.partition(":")[0]
        if name == port.name or (node == own and number == str(port.number)):
            return port
    return None


def of_run(asked: list[Word], scenario: Scenario, label: str, at_most: int | None) -> Wanted:
    """Finds the ports in the network of a run.

    # Errors
    `InputError` with the nearest names, where there is no such port.
    """
    ports = ports_of(network(scenario))
    files: dict[Path, list[Port]] = {}
    for one in asked:
        port = port_named(one.port, ports)
        if port is None:
            known = [port.name for port in ports]
            near = suggest.expected(one.port, known)
            raise _core.InputError(f"--pcap {one.text}: no port of '{label}' is called {one.port}: {near}")
        if port not in files.setdefault(one.place, []):
            files[one.place].append(port)
    return Wanted(tuple((place, tuple(of)) for place, of in files.items()), at_most or PACKETS_AT_MOST)


def of_runs(
    asked: list[Word], scenarios: dict[str, Scenario], at_most: int | None, *, force: bool
) -> dict[str, Wanted]:
    """Returns the wanted captures of each run by label. Several runs have a file each, `FILE.LABEL.pcapng`.

    # Errors
    `InputError` where a port is unknown, a file stands already, or there is no directory for it.
    """
    wanted = {label: of_run(asked, scenario, label, at_most) for label, scenario in scenarios.items()}
    if len(scenarios) > 1:
        wanted = {label: renamed(one, label) for label, one in wanted.items()}
    for place in (place for one in wanted.values() for place, _ in one.files):
        check(place, force=force)
    return wanted


def renamed(wanted: Wanted, label: str) -> Wanted:
    return replace(wanted, files=tuple((labelled(place, label), ports) for place, ports in wanted.files))


def labelled(place: Path, label: str) -> Path:
    """Returns `FILE.LABEL.pcapng` of `FILE.pcapng`."""
    return place.with_name(f"{place.name.removesuffix(END)}.{label}{END}")


def check(place: Path, *, force: bool) -> None:
    """Raises `InputError` where a capture cannot be written."""
    if not place.absolute().parent.is_dir():
        raise _core.InputError(f"--pcap {place}: no such directory: {place.parent}")
    if place.is_dir():
        raise _core.InputError(f"--pcap {place}: is a directory: expected a file to write")
    if place.exists() and not force:
        raise _core.InputError(f"--pcap {place}: exists; name another file, or replace it with --force")


def write(outcome: _core.Outcome, label: str, wanted: Wanted) -> str:
    """Writes captured packets, each file whole or not at all, and returns a sentence about them.

    # Errors
    `InputError` where one cannot be written.
    """
    told, first = [], 0
    for place, ports in wanted.files:
        rows = [(port.name, first + number, port.node, port.number) for number, port in enumerate(ports)]
        first += len(ports)
        with disk.errors(place), disk.scratch(place) as partial:
            made = partial / place.name
            count = outcome.write_capture(str(made), rows)
            made.replace(place)
        told.append(f"{place}: {count:,} packets of {label}")
    left_out = outcome.captures_left_out
    return "; ".join(told) + (f"; {left_out:,} later ones were left out: --pcap-max takes more" if left_out else "")
