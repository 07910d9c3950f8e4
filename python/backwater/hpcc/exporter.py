"""Writes a scenario as topology.txt, flow.txt, config.txt and trace.txt of HPCC's simulator, with its traffic flow by
flow.

Settings that the simulator cannot express are written as closely as possible, and reported. Settings that would give
wrong results are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from backwater import _core
from backwater._core import InputError
from backwater.common import disk
from backwater.common.arrays import np
from backwater.common.quantities import size, some
from backwater.hpcc import control, flows, topology, units
from backwater.hpcc.flows import Flow
from backwater.hpcc.host_table import ACK_CLASS_GROUP
from backwater.hpcc.imported import HEADER_BYTES
from backwater.hpcc.importer import LINK_DOWN_EPOCH_NS
from backwater.hpcc.switch_table import K_MAX_KB, default_k, port_rates
from backwater.hpcc.topology import Link, Network
from backwater.hpcc.units import resolved
from backwater.runs.tables import NULL_U64, NUMPY
from backwater.scenario.network import Network as Graph
from backwater.scenario.network import network as graph_of

if TYPE_CHECKING:
    from backwater.scenario.typed import Fault, Scenario

ORIGIN_NS = 2 * 10**9
"""Where time starts there, if the scenario does not say."""
ROWS = 1 << 16
MIB = 1 << 20
BUFFER_MIB_MAX = 4095

CONVENTIONS = {
    **{"time": "whole-ns", "ties": "ns3", "paths": "hpcc-sim", "hosts": "hpcc-sim", "memory": "hpcc-sim"},
    "pfc_frame": "43 B",
}
"""What `compat = "hpcc-sim"` sets, but for ACKs."""
BACKPRESSURES = {
    "none": "no backpressure",
    "bfc": "BFC's backpressure",
    "flowsail": "FlowSail's backpressure",
    "per-flow": "backpressure by flow",
}
"""That the simulator does not have."""
ALWAYS = {
    "USE_DYNAMIC_PFC_THRESHOLD": "1",
    "PAUSE_TIME": "5",
    "TOPOLOGY_FILE": "topology.txt",
    "FLOW_FILE": "flow.txt",
    "TRACE_FILE": "trace.txt",
    "TRACE_OUTPUT_FILE": "mix.tr",
    "FCT_OUTPUT_FILE": "fct.txt",
    "PFC_OUTPUT_FILE": "pfc.txt",
    "ENABLE_TRACE": "0",
    "QLEN_MON_FILE": "qlen.txt",
    "L2_BACK_TO_ZERO": "0",
    "RATE_BOUND": "1",
    # Of congestion controls, for those that are not the scenario's: the simulator reads the rates all the same.
    **{"ALPHA_RESUME_INTERVAL": "1", "RATE_DECREASE_INTERVAL": "4", "CLAMP_TARGET_RATE": "0", "RP_TIMER": "900"},
    **{"FAST_RECOVERY_TIMES": "1", "RATE_AI": "50Mb/s", "RATE_HAI": "100Mb/s", "FAST_REACT": "0", "U_TARGET": "0.95"},
    **{"MI_THRESH": "0", "INT_MULTI": "1", "MULTI_RATE": "0", "SAMPLE_FEEDBACK": "0"},
    **{"EWMA_GAIN": "0.0625", "DCTCP_RATE_AI": "961Mbps", "MIN_RATE": "100Mbps", "VAR_WIN": "1"},
    **{"PINT_LOG_BASE": "1.05", "PINT_PROB": "1.0"},
}


@dataclass
class Exported:
    """The texts of the files, and notes on what differs from the scenario."""

    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    summary: str = ""


def read(scenario: Scenario) -> Exported:
    """Makes the files of a resolved scenario.

    # Errors
    `InputError` where a file would not mean what the scenario means.
    """
    exported = Exported()
    notes = exported.notes
    control.check(scenario["host"])
    core = graph_of(scenario)
    network = as_network(scenario, core, notes)
    origin_ns = resolved(scenario["run"].get("origin", "0 s")) // 1000 or ORIGIN_NS
    listed = read_flows(scenario, core, origin_ns, notes)
    exported.files = {
        "topology.txt": topology.text(network.nodes, network.switches, network.links),
        "flow.txt": flows.text(listed),
        "config.txt": config_text(scenario, core, network, origin_ns, notes),
        "trace.txt": "0\n",
    }
    notes += differences(scenario, network)
    exported.summary = (
        f"{some(len(network.hosts), 'host')}, {some(len(network.switches), 'switch', 'es')}, "
        f"{some(len(network.links), 'link')}; {some(len(listed), 'flow')}, {size(sum(flow.bytes for flow in listed))}"
    )
    return exported


def write(exported: Exported, place: Path, *, force: bool) -> None:
    """Writes the files, all or none.

    # Errors
    `InputError` where one stands already or cannot be written.
    """
    if place.exists() and not place.is_dir():
        raise InputError(f"{place}: exists and is not a directory; name another")
    standing = [place / name for name in exported.files if (place / name).exists()]
    if standing and not force:
        raise InputError(f"{standing[0]}: exists; name another directory, or replace it with --force")
    with disk.errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with disk.scratch(place) as partial:
            for name, text in exported.files.items():
                (partial / name).write_text(text, encoding="utf-8")
            place.mkdir(exist_ok=True)
            for name in exported.files:
                (partial / name).replace(place / name)


def as_network(scenario: Scenario, core: Graph, notes: list[str]) -> Network:
    """Returns the network with the node numbers of that simulator.

    Links keep the declared order, or that of the graph.
    """
    nodes = core.nodes
    ids = [node.id for node in nodes]
    if sorted(ids) != list(range(len(ids))):
        raise InputError(
            f"topology.ids: {ids[0]}, {ids[1]}, ...: expected each number from 0 to {len(ids) - 1} once, as that "
            "simulator numbers nodes; leave ids out for that"
        )
    if scenario["topology"]["kind"] == "graph":
        number = {node.name: node.id for node in nodes}
        declared = scenario["topology"]["links"]
        ends = [(number[link["ends"][0]], number[link["ends"][1]]) for link in declared]
        rates, delays = [resolved(link["rate"]) for link in declared], [resolved(link["delay"]) for link in declared]
    else:
        ends = [(ids[link.a], ids[link.b]) for link in core.links]
        rates, delays = [link.rate_bps for link in core.links], [link.delay_ps for link in core.links]
    named = {node.name: node.id for node in nodes}
    own, _ = losses(scenario, len(ends))
    loss = {frozenset(named[end] for end in fault["link"]): fault["loss"] for fault in own}
    if any(fault["common"] for fault in own):
        notes.append(
            "fault.common: there all links without a loss of their own share one; here each is written with its own"
        )
    links = []
    for (a, b), rate, delay_ps in zip(ends, rates, delays, strict=True):
        if delay_ps < 1000:
            raise InputError(f"topology: a link of {delay_ps} ps: expected at least 1 ns, the simulator's clock")
        links.append(Link(a, b, rate, delay_ps // 1000, loss.get(frozenset((a, b)), 0.0)))
    if any(delay_ps % 1000 for delay_ps in delays):
        notes.append("link delays are cut off to whole nanoseconds")
    switches = [node.id for node in nodes if not node.host]
    return Network(Path("topology.txt"), "HPCC", len(nodes), switches, links)


def losses(scenario: Scenario, links: int) -> tuple[list[Fault], float]:
    """Returns the links with an error rate of their own, and the common rate of all others, which may be 0."""
    lossy = [fault for fault in scenario["fault"] if fault["loss"] > 0]
    common = [fault for fault in lossy if fault["common"]]
    if not common or len(lossy) < links:
        return lossy, 0.0
    return [fault for fault in lossy if not fault["common"]], common[0]["loss"]


def read_flows(scenario: Scenario, core: Graph, origin_ns: int, notes: list[str]) -> list[Flow]:
    """Returns every flow that a run would start, with start times in whole nanoseconds."""
    ids = [node.id for node in core.nodes]
    several = by_group(scenario)
    listed: list[Flow] = []
    endless, rounded = 0, False
    for arrival_ps, src, dst, bytes_, port, priority in drawn(scenario):
        if arrival_ps == NULL_U64:
            raise InputError(
                "flows of a collective wait for one another, which a list of flows cannot say: expected none"
            )
        if bytes_ == NULL_U64:
            endless += 1
            bytes_ = flows.BYTES_MAX
        elif bytes_ > flows.BYTES_MAX:
            raise InputError(
                f"flow {len(listed)}, host {ids[src]} to {ids[dst]}: {bytes_} bytes: expected at most "
                f"{flows.BYTES_MAX}, as sequence numbers of the simulator are 32 bits"
            )
        rounded |= arrival_ps % 1000 != 0
        start_ns = origin_ns + (arrival_ps + 500) // 1000
        listed.append(Flow(ids[src], ids[dst], port, bytes_, start_ns, priority if several else ACK_CLASS_GROUP))
    if not listed:
        raise InputError("the scenario starts no flow: expected at least one")
    if several and any(flow.group == 0 for flow in listed):
        listed = shifted(listed)
        notes.append("priorities are groups one higher: group 0 there is that of pauses")
    if endless:
        notes.append(f"{some(endless, 'endless flow')}: {flows.BYTES_MAX} bytes each, the largest there is")
    if rounded:
        notes.append("flows start at whole nanoseconds")
    return listed


def by_group(scenario: Scenario) -> bool:
    """Returns whether each priority has its own queue, like the priority groups of that simulator."""
    return bool(scenario["switch"]["assignment"] == "class")


def shifted(listed: list[Flow]) -> list[Flow]:
    """Returns the flows, each one priority group higher."""
    last = max(flow.group for flow in listed)
    if last == flows.GROUP_MAX:
        raise InputError(
            f"priorities 0 to {last}: expected {flows.GROUP_MAX} of them at most, as group 0 there is that of pauses"
        )
    return [flow._replace(group=flow.group + 1) for flow in listed]


def drawn(scenario: Scenario) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Yields arrival, source, destination, bytes, port and priority of each flow."""
    for columns in _core.flows(json.dumps(scenario), ROWS):
        arrays = {name: np.frombuffer(data, NUMPY[kind]).tolist() for name, (kind, data) in columns.items()}
        keys = ("arrival_ps", "src", "dst", "size_bytes", "port", "priority")
        yield from zip(*(arrays[key] for key in keys), strict=True)


def config_text(scenario: Scenario, core: Graph, network: Network, origin_ns: int, notes: list[str]) -> str:
    host, run = scenario["host"], scenario["run"]
    duration_ns = resolved(run["duration"]) // 1000
    stop_ns = origin_ns + int(resolved(run["duration"]) * run["drain"]) // 1000
    marks, maps = thresholds(scenario, network, notes)
    entries = {
        **control.entries(host, network),
        **control.window(host, core.base_bdp_bytes, notes),
        "PACKET_PAYLOAD_SIZE": str(resolved(host["payload"])),
        "L2_ACK_INTERVAL": str(resolved(host["ack_from"])),
        "L2_CHUNK_SIZE": str(resolved(host["ack_chunk"])),
        "ACK_HIGH_PRIO": str(int(host["ack_class"] == "high")),
        "ENABLE_QCN": str(int(marks)),
        **maps,
        "BUFFER_SIZE": str(buffer_mib(scenario["switch"]["buffer"], notes)),
        "ERROR_RATE_PER_LINK": f"{losses(scenario, len(network.links))[1]!r}",
        "LINK_DOWN": link_down(scenario, core, origin_ns, stop_ns, notes),
        "SIMULATOR_STOP_TIME": units.seconds(stop_ns),
        "QLEN_MON_START": str(origin_ns),
        "QLEN_MON_END": str(origin_ns + duration_ns),
    }
    return "".join(f"{key} {value}\n" for key, value in (ALWAYS | entries).items())


def thresholds(scenario: Scenario, network: Network, notes: list[str]) -> tuple[bool, dict[str, str]]:
    """Returns whether switches mark, and the three threshold maps, which the simulator always needs."""
    ecn = scenario["switch"].get("ecn")
    table: dict[int, tuple[int, int, float]] = {}
    marks = False
    for rate in sorted(port_rates(network)):
        if ecn is None:
            table[rate] = (default_k(rate) // 1000, default_k(rate) // 1000, 1.0)
            continue
        at = next((one for one in ecn.get("by_rate", []) if resolved(one["rate"]) == rate), ecn)
        exact = [resolved(at[key]) / 1000 for key in ("kmin", "kmax")]
        kmin, kmax = (min(K_MAX_KB, round(k)) for k in exact)
        marks |= exact[0] <= K_MAX_KB
        table[rate] = (kmin, max(1, kmax), at["pmax"])
        if marks and table[rate][:2] != tuple(exact):
            notes.append(f"thresholds at {units.toml_rate(rate)} are {kmin} and {max(1, kmax)} KB")
    rows = {
        key: " ".join(f"{rate} {row[i]}" for rate, row in table.items())
        for i, key in enumerate(("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"))
    }
    return marks, {key: f"{len(table)} {row}" for key, row in rows.items()}


def buffer_mib(buffer: str, notes: list[str]) -> int:
    if buffer == "infinite":
        notes.append(f"an infinite buffer is {BUFFER_MIB_MAX} MiB")
        return BUFFER_MIB_MAX
    exact = resolved(buffer)
    mib = min(BUFFER_MIB_MAX, max(1, (exact + MIB // 2) // MIB))
    if mib * MIB != exact:
        notes.append(f"a buffer of {buffer} is {mib} MiB, {100 * (mib * MIB / exact - 1):+.1f} %")
    return mib


def link_down(scenario: Scenario, core: Graph, origin_ns: int, stop_ns: int, notes: list[str]) -> str:
    """Returns the link that fails. The simulator allows one, after 2 s, for good."""
    number = {node.name: node.id for node in core.nodes}
    written = "0 0 0"
    limits = "a link there goes down once, for good, whole microseconds after 2 s, and only one"
    for fault in scenario["fault"]:
        a, b = fault["link"]
        for down, up in fault["down"]:
            after_us, rest = divmod(origin_ns + resolved(down) // 1000 - LINK_DOWN_EPOCH_NS, 1000)
            for_good = resolved(up) // 1000 >= stop_ns - origin_ns
            if written != "0 0 0" or not for_good or after_us <= 0 or rest:
                notes.append(f"{a} - {b} stays up: {limits}")
                continue
            written = f"{after_us} {number[a]} {number[b]}"
    return written


def differences(scenario: Scenario, network: Network) -> list[str]:
    """Returns notes on settings that the files cannot express."""
    switch, host, conventions = scenario["switch"], scenario["host"], scenario["conventions"]
    notes = []
    if switch["backpressure"] != "pfc":
        own = BACKPRESSURES.get(switch["backpressure"], f'backpressure = "{switch["backpressure"]}"')
        notes.append(f"{own}: switches there have PFC, always")
    if switch["assignment"] not in ("single", "class"):
        notes.append(f'switch.assignment = "{switch["assignment"]}": a port there has one queue for data')
    if switch.get("alpha") is not None:
        notes.append("switch.alpha: egress queues there have no limit")
    pfc = switch["pfc"]
    usual = (pfc["alpha"], resolved(pfc["reserve"]), resolved(pfc["hysteresis"])) == (0.125, 4096, 3072)
    if switch["backpressure"] == "pfc" and not (usual and pfc.get("headroom") is None):
        notes.append("switch.pfc: there alpha is 1/8, the reserve 4096 B, the hysteresis 3072 B, headroom computed")
    if switch["symmetric_ecmp"]:
        notes.append("switch.symmetric_ecmp: paths there differ by direction")
    if switch["load_balancing"] != "flow":
        notes.append("switch.load_balancing: a flow there has one path")
    for key, value, there in (("header", host["header"], HEADER_BYTES), ("ack", host["ack"], control.ack_bytes(host))):
        if resolved(value) != there:
            notes.append(f"host.{key} is {value}: there {there} B")
    if resolved(host["delay"]):
        notes.append("host.delay: hosts there answer at once")
    if host["recovery"] != "go-back-n":
        notes.append(f'host.recovery = "{host["recovery"]}": senders there go back')
    if switch["drop_notice"]:
        notes.append("switch.drop_notice: switches there tell nobody of drops")
    if resolved(host["nack_guard"]) != 500 * 10**6:
        notes.append("host.nack_guard: 500 us there")
    notes += control.differences(scenario, network)
    if conventions["acks"] == "high":
        notes.append("conventions.acks: at switches there ACKs wait among data")
    if any(fault["control_loss"] > fault["loss"] for fault in scenario["fault"]):
        notes.append("fault.control_loss: pauses there are lost as other packets are")
    downs = any(fault["down"] for fault in scenario["fault"])
    if downs and conventions["down_queues"] != "leak":
        notes.append(
            "conventions.down_queues: there what waited for a link that fails stays charged, and pauses may never end"
        )
    if any(conventions.get(key) != value for key, value in CONVENTIONS.items()):
        notes.append('the simulator\'s own conventions: with compat = "hpcc-sim" a run here has them too')
    return notes
