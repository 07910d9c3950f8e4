"""Topology, flows and configuration to a scenario file, with a list of flows beside it for each kind of flow."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from backwater import _core
from backwater._core import InputError
from backwater.hpcc import config, flows, topology, units
from backwater.hpcc.config import Config
from backwater.hpcc.flows import Flow, Flows
from backwater.hpcc.topology import Network
from backwater.hpcc.words import number
from backwater.results import disk_errors
from backwater.terminal import size, some

MODE_OF = {"dctcp": 8, "dcqcn": 1, "hpcc": 3, "pint": 10, "timely": 7, "line-rate": 0}
SCHEME_OF = {
    **{"dctcp": "dctcp", "dcqcn": "dcqcn-vendor", "hpcc": "hpcc", "pint": "hpcc-pint", "timely": "timely"},
    "line-rate": "pfc",
}
TRANSPORTS = tuple(MODE_OF)
CLASSES_MAX = 8
CLASS_OF_PORT = {flows.BACKGROUND_PORT: "background", flows.INCAST_PORT: "incast"}

HEADER_BYTES = 48
INT_BYTES = 42
PINT_BYTES = 2
STAMP_BYTES = 8
CARRIED_BYTES = {"hpcc": INT_BYTES, "pint": PINT_BYTES, "timely": STAMP_BYTES}
"""Beside the headers of a data packet; others carry nothing."""
SCHEME_PAYLOAD_BYTES = 1000
"""What the quanta of the schemes are for."""
ACK_CLASS_GROUP = (
    3  # Without ACK_HIGH_PRIO a NIC holds its ACKs while this priority group is paused, whatever the data's is.
)
LINK_DOWN_EPOCH_NS = 2 * 10**9
K_MAX_KB = (2**32 - 1) // 1000  # Thresholds are 32 bits of bytes there.
MILLISECOND_NS = 10**6
CLOCK_NS = 69 * 10**9
"""A run may last 70 s; the rest is room for rounding."""


@dataclass
class Imported:
    """What an import made, for its summary."""

    network: Network
    flows: Flows
    config: Config
    transport: str
    name: str
    """Of the scenario, and in the names of the lists."""
    text: str = ""
    lists: dict[str, list[Flow]] = field(default_factory=dict)
    """By class, in the order of the scenario."""
    origin_ns: int = 0
    notes: list[str] = field(default_factory=list)
    """What is not quite as it was in the files."""


def read(topology_path: Path, flows_path: Path, config_path: Path | None, transport: str, name: str) -> Imported:
    """Reads the files and writes the scenario's text.

    # Errors
    `InputError` naming file, line, word and what was expected.
    """
    if transport not in TRANSPORTS:
        raise InputError(f"--transport {transport}: expected one of {', '.join(TRANSPORTS)}")
    network = topology.read(topology_path)
    imported = Imported(network, flows.read(flows_path, network), config.read(config_path), transport, name)
    imported.notes += [network.note] if network.note else []
    imported.origin_ns = imported.flows.flows[0].start_ns // MILLISECOND_NS * MILLISECOND_NS
    check_modes(imported)
    run = run_section(imported)  # Leaves out the flows that the stop time leaves out.
    imported.lists = split(imported)
    sections = [
        head(imported),
        topology_section(network),
        switch_section(imported),
        host_section(imported),
        workload_sections(imported),
        run,
        fault_sections(imported),
    ]
    imported.text = "\n\n".join(section for section in sections if section) + "\n"
    return imported


def write(imported: Imported, out: Path, *, force: bool) -> list[Path]:
    """Writes the scenario and its lists, all or none, once the core has accepted them; returns the paths.

    # Errors
    `InputError` where one of them stands already, or cannot be written, or would be refused by a run.
    """
    files = {out.name: imported.text}
    files |= {list_name(imported.name, name): list_text(imported, name) for name in imported.lists}
    standing = [out.with_name(name) for name in files if out.with_name(name).exists()]
    if standing and not force:
        raise InputError(f"{standing[0]}: exists; name another file with -o, or replace it with --force")
    with disk_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".partial", dir=out.parent))
    try:
        with disk_errors(out):
            for name, text in files.items():
                (partial / name).write_text(text, encoding="utf-8")
        try:
            _core.load(str(partial / out.name), [], None)
        except InputError as error:
            problem = str(error).replace(f"{partial}/", "")
            raise InputError(
                f"{imported.network.path} and {imported.flows.path}: no network to run: {problem}"
            ) from error
        with disk_errors(out):
            for name in reversed(files):  # The scenario last, when its lists are there.
                (partial / name).replace(out.with_name(name))
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(partial)
    return [out.with_name(name) for name in files]


def check_modes(imported: Imported) -> None:
    """Refuses what is not simulated."""
    given, wanted = imported.config, MODE_OF[imported.transport]
    mode = given.whole("CC_MODE", wanted)
    if mode != wanted:
        if mode in MODE_OF.values():
            other = next(transport for transport, m in MODE_OF.items() if m == mode)
            raise given.wrong("CC_MODE", f"--transport {imported.transport} is {wanted}: expected --transport {other}")
        known = ", ".join(f"{m} ({transport})" for transport, m in MODE_OF.items())
        raise given.wrong("CC_MODE", f"expected one of {known}")
    given.must_be("L2_BACK_TO_ZERO", 0, "a host resends from the byte that was lost, not from the start of its chunk")


def head(imported: Imported) -> str:
    network, given = imported.network, imported.config
    scheme = SCHEME_OF[imported.transport]
    origin = given.where("CC_MODE") if "CC_MODE" in given.entries else f"--transport {imported.transport}"
    sources = [f"topology  {network.path.name} ({network.dialect})", f"flows     {imported.flows.path.name}"]
    sources.append(f"config    {given.path.name}" if given.path else "config    none given: defaults")
    lines = [
        "# Imported from files of HPCC's simulator; docs/hpcc.md says how.",
        *(f"#   {source}" for source in sources),
        "",
        f"name = {json.dumps(imported.name)}",
        aligned(f'scheme = "{scheme}"', origin),
        'compat = "hpcc-sim"',
    ]
    if read_link_down(imported) is not None:
        why = f"{given.where('LINK_DOWN')}: what waited for the link stays charged there, and pauses may never end"
        lines.append(aligned('conventions.down_queues = "leak"', why))
    return "\n".join(lines)


def topology_section(network: Network) -> str:
    switches = set(network.switches)
    hosts = network.hosts

    def node(number: int) -> str:
        return f'"switch{number}"' if number in switches else f'"host{number}"'

    def link(one: topology.Link) -> str:
        rate, delay = units.toml_rate(one.rate), units.toml_time(one.delay_ns)
        return f'  {{ ends = [{node(one.a)}, {node(one.b)}], rate = "{rate}", delay = "{delay}" }},'

    lines = f"lines {network.links[0].line} to {network.links[-1].line}"
    return "\n".join(
        [
            "[topology]",
            'kind = "graph"',
            listing("hosts", [node(host) for host in hosts]),
            listing("switches", [node(switch) for switch in network.switches]),
            listing("ids", [str(number) for number in (*hosts, *network.switches)]),
            f"links = [  # {network.path.name}, {lines}",
            *(link(one) for one in network.links),
            "]",
        ]
    )


def switch_section(imported: Imported) -> str:
    given = imported.config
    buffer = given.whole("BUFFER_SIZE", 12, 1, 4095)
    lines = ["[switch]", aligned(f'buffer = "{buffer} MiB"', given.where("BUFFER_SIZE"))]
    payload = read_payload(given)
    if payload > SCHEME_PAYLOAD_BYTES:
        full = payload + HEADER_BYTES + CARRIED_BYTES.get(imported.transport, 0)
        lines.append(aligned(f'quantum = "{full} B"', "a full packet"))
    section = "\n".join(lines)
    return section + (f"\n\n{ecn_section(imported)}" if imported.transport in ("dctcp", "dcqcn") else "")


def ecn_section(imported: Imported) -> str:
    """Marking, for the rate that most ports of switches have, and for each of the others."""
    given = imported.config
    if not given.flag("ENABLE_QCN", True):
        never = aligned('kmin = "1 TB"', f"{given.where('ENABLE_QCN')}: nothing is marked")
        return f'[switch.ecn]\n{never}\nkmax = "1 TB"\npmax = 0.0'
    thresholds, origin = read_thresholds(imported)
    usual, *others = thresholds
    lines = ["[switch.ecn]"]
    for key, value, name in zip(("kmin", "kmax", "pmax"), thresholds[usual], origin, strict=True):
        lines.append(aligned(f"{key} = {threshold(value)}", f"{name}, at {units.toml_rate(usual)}"))
    if others:
        lines.append("by_rate = [")
        for rate in others:
            kmin, kmax, pmax = (threshold(value) for value in thresholds[rate])
            lines.append(f'  {{ rate = "{units.toml_rate(rate)}", kmin = {kmin}, kmax = {kmax}, pmax = {pmax} }},')
        lines.append("]")
    return "\n".join(lines)


def threshold(value: int | float) -> str:
    return f'"{units.toml_size(value)}"' if isinstance(value, int) else repr(value)


def read_thresholds(imported: Imported) -> tuple[dict[int, tuple[int, int, float]], list[str]]:
    """Bytes, bytes and probability by port rate, the most frequent first; where each of the three is from."""
    given, ports = imported.config, port_rates(imported.network)
    keys = ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP")
    present = [key for key in keys if key in given.entries]
    if not present:
        for key in keys:
            given.defaulted[key] = "1" if key == "PMAX_MAP" else "30 KB per 10 Gb/s"
        return {rate: (default_k(rate), default_k(rate), 1.0) for rate in ports}, [given.where(key) for key in keys]
    if len(present) < len(keys):
        missing = next(key for key in keys if key not in present)
        raise given.wrong(present[0], f"{missing} is missing: expected all of {', '.join(keys)}, or none")
    kilobytes = f"a whole number of KB from 0 to {K_MAX_KB}"
    kmin, kmax = (given.by_rate(key, config.whole(0, K_MAX_KB), kilobytes) for key in keys[:2])
    pmax = given.by_rate("PMAX_MAP", probability, "a probability from 0 to 1")
    for key, known in zip(keys, (set(kmin), set(kmax), set(pmax)), strict=True):
        for rate, line in ports.items():
            if rate not in known:
                link = f"{imported.network.path.name}:{line}"
                raise given.wrong(key, f"expected an entry for {rate}, the rate of a switch's port ({link})")
    for rate in ports:
        if kmax[rate] == 0 or kmin[rate] > kmax[rate]:
            problem = f"is the maximum at {rate}: expected more than 0, and at least the {kmin[rate]} of KMIN_MAP"
            raise given.wrong("KMAX_MAP", problem, str(kmax[rate]))
    return {rate: (1000 * kmin[rate], 1000 * kmax[rate], pmax[rate]) for rate in ports}, [given.where(k) for k in keys]


def port_rates(network: Network) -> dict[int, int]:
    """Rates of ports of switches, the most frequent first, each with the line of a link."""
    switches, count, line = set(network.switches), dict[int, int](), dict[int, int]()
    for link in network.links:
        count[link.rate] = count.get(link.rate, 0) + len({link.a, link.b} & switches)
        line.setdefault(link.rate, link.line)
    return {rate: line[rate] for rate in sorted(count, key=lambda rate: (-count[rate], rate))}


def default_k(rate: int) -> int:
    """30 KB per 10 Gb/s, bytes."""
    return max(1, rate * 30_000 // 10**10)


def probability(word: str) -> float | None:
    value = number(word)
    return value if value is not None and 0 <= value <= 1 else None


def read_payload(given: Config) -> int:
    return given.whole("PACKET_PAYLOAD_SIZE", 1000, 64, 9000)


def has_window(imported: Imported) -> bool:
    """DCTCP and HPCC have one unless the file says otherwise, others only if it does; HPCC cannot do without."""
    windowed = imported.config.flag("HAS_WIN", imported.transport in ("dctcp", "hpcc", "pint"))
    if imported.transport == "hpcc" and not windowed:
        raise imported.config.wrong("HAS_WIN", "HPCC divides by its window there: expected 1")
    return windowed


def host_section(imported: Imported) -> str:
    given, windowed = imported.config, has_window(imported)
    lines = ["[host]"]
    if imported.transport == "line-rate":
        transport = "window" if windowed else "line-rate"
        lines.append(aligned(f'transport = "{transport}"', "at line rate, whatever happens"))
    window, key = "none", "HAS_WIN"
    if windowed:
        window, key = ("base-bdp", "HAS_WIN") if given.flag("GLOBAL_T", True) else ("pair-bdp", "GLOBAL_T")
    lines.append(aligned(f'window = "{window}"', given.where(key)))
    lines.append(aligned(f'payload = "{read_payload(given)} B"', given.where("PACKET_PAYLOAD_SIZE")))
    high = given.flag("ACK_HIGH_PRIO", False)
    group = imported.flows.group
    other = (
        "" if high or group == ACK_CLASS_GROUP else f"; its pauses are for group {ACK_CLASS_GROUP}, flows in {group}"
    )
    ack_class = "high" if high or other else "data"
    lines.append(aligned(f'ack_class = "{ack_class}"', given.where("ACK_HIGH_PRIO") + other))
    lines += ack_lines(given)
    table = TABLES.get(imported.transport)
    return "\n".join(lines + (["", *table(imported)] if table else []))


def ack_lines(given: Config) -> list[str]:
    """Which packets are acknowledged, where that is not all of them."""
    interval = given.whole("L2_ACK_INTERVAL", 1, 1)
    if interval == 1:
        return []
    chunk = given.whole("L2_CHUNK_SIZE", 0, 0)
    if chunk == 0:
        problem = "needs L2_CHUNK_SIZE, by which that simulator divides: expected one of more than 0, or 1"
        raise given.wrong("L2_ACK_INTERVAL", problem)
    return [
        aligned(f'ack_from = "{interval} B"', given.where("L2_ACK_INTERVAL")),
        aligned(f'ack_chunk = "{chunk} B"', given.where("L2_CHUNK_SIZE")),
    ]


def dctcp_table(imported: Imported) -> list[str]:
    given = imported.config
    gain = given.share("EWMA_GAIN", 0.0625, "more than 0 and at most 1", lambda g: 0 < g <= 1)
    increase = given.rate("DCTCP_RATE_AI", 961 * 10**6)
    return [
        "[host.dctcp]",
        aligned(f"g = {gain!r}", given.where("EWMA_GAIN")),
        aligned(f'additive_increase = "{units.toml_rate(increase)}"', given.where("DCTCP_RATE_AI")),
        *rate_lines(imported),
    ]


def dcqcn_table(imported: Imported) -> list[str]:
    given = imported.config
    gain = given.share("EWMA_GAIN", 0.00390625, "more than 0 and at most 1", lambda g: 0 < g <= 1)
    increase, hyper = given.rate("RATE_AI", 20 * 10**6, low=0), given.rate("RATE_HAI", 200 * 10**6, low=0)
    times = {"alpha_timer": ("ALPHA_RESUME_INTERVAL", 1), "decrease_interval": ("RATE_DECREASE_INTERVAL", 4)}
    times["increase_timer"] = ("RP_TIMER", 300)
    steps = given.whole("FAST_RECOVERY_TIMES", 1, 0, 1000)
    return [
        "[host.dcqcn]",
        aligned(f"g = {gain!r}", given.where("EWMA_GAIN")),
        *(aligned(f'{own} = "{given.microseconds(key, us)} us"', given.where(key)) for own, (key, us) in times.items()),
        aligned(f"fast_recovery = {steps}", given.where("FAST_RECOVERY_TIMES")),
        aligned(f"clamp = {json.dumps(given.flag('CLAMP_TARGET_RATE', False))}", given.where("CLAMP_TARGET_RATE")),
        aligned(f'additive_increase = "{units.toml_rate(increase)}"', given.where("RATE_AI")),
        aligned(f'hyper_increase = "{units.toml_rate(hyper)}"', given.where("RATE_HAI")),
        *rate_lines(imported),
    ]


def hpcc_table(imported: Imported) -> list[str]:
    given = imported.config
    target = given.share("U_TARGET", 0.95, "more than 0 and at most 1", lambda u: 0 < u <= 1)
    stages = given.whole("MI_THRESH", 0, 0, 1000)
    increase = given.rate("RATE_AI", 40 * 10**6, low=0)
    reacts = "fast" if given.flag("FAST_REACT", True) else "per-rtt"
    multi_rate, sampled = (json.dumps(given.flag(key, False)) for key in ("MULTI_RATE", "SAMPLE_FEEDBACK"))
    unit = given.whole("INT_MULTI", default_int_unit(imported.network), 1, 1024)
    return [
        "[host.hpcc]",
        aligned(f"utilization = {target!r}", given.where("U_TARGET")),
        aligned(f"max_stage = {stages}", given.where("MI_THRESH")),
        aligned(f'additive_increase = "{units.toml_rate(increase)}"', given.where("RATE_AI")),
        aligned(f'reacts = "{reacts}"', given.where("FAST_REACT")),
        aligned(f"multi_rate = {multi_rate}", given.where("MULTI_RATE")),
        aligned(f"sample_feedback = {sampled}", given.where("SAMPLE_FEEDBACK")),
        aligned(f"int_unit = {unit}", given.where("INT_MULTI")),
        *rate_lines(imported),
    ]


def pint_table(imported: Imported) -> list[str]:
    given = imported.config
    target = given.share("U_TARGET", 0.95, "more than 0 and at most 1", lambda u: 0 < u <= 1)
    stages = given.whole("MI_THRESH", 0, 0, 1000)
    increase = given.rate("RATE_AI", 40 * 10**6, low=0)
    base = given.share("PINT_LOG_BASE", 1.01, "a base from 1.01 to 2", lambda base: 1.01 <= base <= 2)
    sampled = given.share("PINT_PROB", 1.0, "more than 0 and at most 1", lambda share: 0 < share <= 1)
    return [
        "[host.pint]",
        aligned(f"utilization = {target!r}", given.where("U_TARGET")),
        aligned(f"max_stage = {stages}", given.where("MI_THRESH")),
        aligned(f'additive_increase = "{units.toml_rate(increase)}"', given.where("RATE_AI")),
        aligned(f"log_base = {base!r}", given.where("PINT_LOG_BASE")),
        aligned(f"sampled = {sampled!r}", given.where("PINT_PROB")),
        *rate_lines(imported),
    ]


def timely_table(imported: Imported) -> list[str]:
    given = imported.config
    increase, hyper = given.rate("RATE_AI", 100 * 10**6, low=0), given.rate("RATE_HAI", 500 * 10**6, low=0)
    return [
        "[host.timely]",
        aligned(f'additive_increase = "{units.toml_rate(increase)}"', given.where("RATE_AI")),
        aligned(f'hyper_increase = "{units.toml_rate(hyper)}"', given.where("RATE_HAI")),
        *rate_lines(imported),
    ]


TABLES: dict[str, Callable[[Imported], list[str]]] = {
    **{"dctcp": dctcp_table, "dcqcn": dcqcn_table, "hpcc": hpcc_table, "pint": pint_table, "timely": timely_table},
}
"""By transport, of those that have one."""


def default_int_unit(network: Network) -> int:
    """One for each 25 Gb/s of the fastest NIC."""
    return max(1, max(network.host_rates) // (25 * 10**9))


def rate_lines(imported: Imported) -> list[str]:
    """What the tables of rates have in common."""
    given = imported.config
    least, slowest = given.rate("MIN_RATE", 1000 * 10**6), min(imported.network.host_rates)
    if least > slowest:
        problem = f"expected at most the slowest host link, {units.toml_rate(slowest)}"
        if "MIN_RATE" in given.entries:
            raise given.wrong("MIN_RATE", problem)
        raise InputError(
            f"{imported.network.path}: MIN_RATE is {units.toml_rate(least)} by default: {problem}; give it in --config"
        )
    follows, paced = json.dumps(given.flag("VAR_WIN", True)), json.dumps(given.flag("RATE_BOUND", True))
    return [
        aligned(f'min_rate = "{units.toml_rate(least)}"', given.where("MIN_RATE")),
        aligned(f"window_follows_rate = {follows}", given.where("VAR_WIN")),
        aligned(f"paced = {paced}", given.where("RATE_BOUND")),
    ]


def split(imported: Imported) -> dict[str, list[Flow]]:
    """Flows by class: one for each destination port, in order of appearance; one for all where that would not do."""
    lists: dict[str, list[Flow]] = {}
    all_flows = imported.flows.flows
    for flow in all_flows:
        lists.setdefault(CLASS_OF_PORT.get(flow.port, f"port-{flow.port}"), []).append(flow)
    if len(lists) > CLASSES_MAX:
        imported.notes.append(f"{len(lists)} destination ports: all flows are in one class, flows")
        return {"flows": all_flows}
    if len(lists) > 1 and not keeps_order(all_flows):
        imported.notes.append(
            "a host starts flows to several destination ports at one time: all flows are in one class, flows, in order"
        )
        return {"flows": all_flows}
    return lists


def keeps_order(all_flows: list[Flow]) -> bool:
    """Whether a host's flows that start together still do so in this order once they are taken class by class."""
    rank: dict[int, int] = {}
    last: dict[int, int] = {}
    start_ns = -1
    for flow in all_flows:
        if flow.start_ns != start_ns:
            start_ns, last = flow.start_ns, {}
        now = rank.setdefault(flow.port, len(rank))
        if last.get(flow.src, 0) > now:
            return False
        last[flow.src] = now
    return True


def list_name(stem: str, name: str) -> str:
    return f"{stem}.{name}.csv"


def list_text(imported: Imported, name: str) -> str:
    rows = [
        f"{f.start_ns - imported.origin_ns},host{f.src},host{f.dst},{f.bytes},{f.port}" for f in imported.lists[name]
    ]
    return "\n".join([f"# {imported.flows.path.name}", "start_ns,src,dst,bytes,port", *rows]) + "\n"


def workload_sections(imported: Imported) -> str:
    return "\n\n".join(
        f'[[workload]]\nkind = "flow-list"\nclass = "{one}"\nfile = {json.dumps(list_name(imported.name, one))}'
        for one in imported.lists
    )


def run_section(imported: Imported) -> str:
    """Every flow counts; the run ends when the last has finished, or at the stop time."""
    given, origin_ns, listed = imported.config, imported.origin_ns, imported.flows.flows
    stop_ns = given.stop_ns()
    end_ns = CLOCK_NS
    comment = "time to finish"
    if stop_ns is not None:
        late = sum(flow.start_ns >= stop_ns for flow in listed)
        if late == len(listed):
            raise given.wrong(
                "SIMULATOR_STOP_TIME", f"expected a time after the first flow, {units.seconds(listed[0].start_ns)}"
            )
        if late:
            imported.notes.append(f"{late} flows start when the simulation has stopped: they are left out")
            del listed[-late:]
        end_ns = min(end_ns, stop_ns - origin_ns)
        comment = given.where("SIMULATOR_STOP_TIME") + (": longer than a run may last" if end_ns == CLOCK_NS else "")
    duration_ns = min(-(-(listed[-1].start_ns + 1000 - origin_ns) // 1000) * 1000, end_ns)
    return "\n".join(
        [
            "[run]",
            aligned(f'duration = "{units.toml_time(duration_ns)}"', "the last flow has started"),
            'warmup = "0 s"',
            aligned(f"drain = {end_ns / duration_ns!r}", f"to {units.toml_time(end_ns)}: {comment}"),
            aligned(f'origin = "{units.toml_time(origin_ns)}"', "what is time zero here, in those files"),
        ]
    )


def fault_sections(imported: Imported) -> str:
    """Links that lose packets, and the one that goes down."""
    network, given = imported.network, imported.config
    switches = set(network.switches)
    every = given.share("ERROR_RATE_PER_LINK", 0.0, "a share from 0 to below 1", lambda share: 0 <= share < 1)
    down = read_link_down(imported)
    sections = []
    for link in network.links:
        lines = []
        if link.error_rate > 0:
            lines.append(aligned(f"loss = {link.error_rate!r}", f"{network.path.name}:{link.line}"))
        elif every > 0:
            lines.append(aligned(f"loss = {every!r}", given.where("ERROR_RATE_PER_LINK")))
            lines.append(aligned("common = true", "one error model for all such links"))
        if down is not None and down[1] == {link.a, link.b}:
            interval = f'down = [["{units.toml_time(down[0])}", "{units.toml_time(CLOCK_NS)}"]]'
            lines.append(aligned(interval, given.where("LINK_DOWN")))
        if lines:
            ends = ", ".join(f'"{"switch" if end in switches else "host"}{end}"' for end in (link.a, link.b))
            sections.append("\n".join(["[[fault]]", f"link = [{ends}]", *lines]))
    return "\n\n".join(sections)


def read_link_down(imported: Imported) -> tuple[int, set[int]] | None:
    """When a link goes down, nanoseconds after the origin, and its ends."""
    given = imported.config
    entry = given.entries.get("LINK_DOWN")
    if entry is None:
        return None
    after_us, *ends = (config.whole(0, 2**32 - 1)(value) for value in entry.values)
    for i, value in enumerate((after_us, *ends)):
        if value is None:
            raise given.wrong("LINK_DOWN", "expected microseconds after 2 s and two nodes, or 0 0 0", entry.values[i])
    if not after_us:
        return None
    if not any({link.a, link.b} == set(ends) for link in imported.network.links):
        raise given.wrong(
            "LINK_DOWN", f"no link joins {ends[0]} and {ends[1]}: expected the ends of a link", entry.values[1]
        )
    at_ns = LINK_DOWN_EPOCH_NS + after_us * 1000 - imported.origin_ns
    if at_ns >= CLOCK_NS:
        note = "the link of LINK_DOWN stays up: it would go down after the end"
        imported.notes += [note] if note not in imported.notes else []
        return None
    return max(0, at_ns), {end for end in ends if end is not None}


def aligned(text: str, comment: str) -> str:
    return f"{text:<34} # {comment}"


def listing(key: str, items: list[str]) -> str:
    """A list on one line, or on lines of a hundred columns."""
    whole = f"{key} = [{', '.join(items)}]"
    if len(whole) <= 100:
        return whole
    lines, row = [f"{key} = ["], ""
    for item in items:
        if len(row) + len(item) > 98:
            lines.append(row.rstrip())
            row = ""
        row += f"{item}, " if row else f"  {item}, "
    return "\n".join([*lines, row.rstrip(), "]"])


def summary(imported: Imported, paths: list[Path]) -> list[str]:
    """Lines for the terminal."""
    network, given, listed = imported.network, imported.config, imported.flows.flows
    classes = ", ".join(f"{len(members):,} {name}" for name, members in imported.lists.items())
    switches = some(len(network.switches), "switch", "es")
    lines = [
        f"{paths[0]}: {some(len(network.hosts), 'host')}, {switches}, {some(len(network.links), 'link')} "
        f"({network.dialect} dialect); {imported.transport}",
        f"{', '.join(path.name for path in paths[1:])}: {some(len(listed), 'flow')} ({classes}), "
        f"{size(sum(flow.bytes for flow in listed))}, from {listed[0].start_ns / 1e9:.9g} to "
        f"{listed[-1].start_ns / 1e9:.9g} s",
        *(f"Note: {note}" for note in imported.notes),
    ]
    if imported.flows.dialect == "ConWeave":
        lines.append(f"Note: the flow file has no ports (ConWeave dialect): {flows.BACKGROUND_PORT} for all")
    if given.defaulted:
        what = "Not in " + given.path.name if given.path else "Defaults"
        lines.append(f"{what}: {', '.join(f'{key} {value}' for key, value in given.defaulted.items())}")
    silent = [key for key in given.entries if key in config.WITHOUT_EFFECT or key not in used(imported)]
    if silent:
        lines.append(f"Without effect here: {', '.join(silent)}")
    if given.unknown:
        lines.append(f"Unknown, ignored: {', '.join(f'{key} (line {line})' for key, line in given.unknown.items())}")
    return lines


def used(imported: Imported) -> set[str]:
    """Keys that this transport reads."""
    return config.USED | config.USED_BY.get(imported.transport, set())
