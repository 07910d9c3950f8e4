"""Converts topology, flows and configuration to a scenario file, with a flow list for each kind of flow."""

from __future__ import annotations

import json
from pathlib import Path

from backwater import _core
from backwater._core import InputError
from backwater.common import disk
from backwater.common.quantities import size, some
from backwater.hpcc import config, flows, topology, units
from backwater.hpcc.flows import Flow
from backwater.hpcc.host_table import host_section, some_of
from backwater.hpcc.imported import Imported, aligned, listing
from backwater.hpcc.switch_table import switch_section
from backwater.hpcc.topology import Network

MODE_OF = {"dctcp": 8, "dcqcn": 1, "hpcc": 3, "pint": 10, "timely": 7, "line-rate": 0}
SCHEME_OF = {
    **{"dctcp": "dctcp", "dcqcn": "dcqcn-vendor", "hpcc": "hpcc", "pint": "hpcc-pint", "timely": "timely"},
    "line-rate": "pfc",
}
TRANSPORTS = tuple(MODE_OF)
CLASSES_MAX = 8
ENDLESS_MAX = 200
"""Most times at which flows without end start: each is a workload."""
CLASS_OF_PORT = {flows.BACKGROUND_PORT: "background", flows.INCAST_PORT: "incast"}

LINK_DOWN_EPOCH_NS = 2 * 10**9
MILLISECOND_NS = 10**6
CLOCK_NS = 69 * 10**9
"""A run may last 70 s; the rest is room for rounding."""


def read(topology_path: Path, flows_path: Path, config_path: Path | None, transport: str, name: str) -> Imported:
    """Reads the files and writes the scenario's text.

    # Errors
    `InputError` naming file, line, word and what was expected.
    """
    if transport not in TRANSPORTS:
        raise InputError(f"--transport {transport}: expected one of {', '.join(TRANSPORTS)}")
    network = topology.read(topology_path)
    imported = Imported(network, flows.read(flows_path, network), config.read(config_path, transport), transport, name)
    imported.notes += [note for note in (network.note, imported.flows.note, *imported.config.notes) if note]
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
    with disk.errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    with disk.errors(out), disk.scratch(out) as partial:
        for name, text in files.items():
            (partial / name).write_text(text, encoding="utf-8")
        try:
            _core.load(str(partial / out.name), [], None)
        except InputError as error:
            problem = str(error).replace(f"{partial}/", "")
            raise InputError(
                f"{imported.network.path} and {imported.flows.path}: no network to run: {problem}"
            ) from error
        for name in reversed(files):  # The scenario last, when its lists are there.
            (partial / name).replace(out.with_name(name))
    return [out.with_name(name) for name in files]


def check_modes(imported: Imported) -> None:
    """Refuses settings that Backwater does not simulate."""
    given, wanted = imported.config, MODE_OF[imported.transport]
    mode = given.whole("CC_MODE", wanted)
    if mode != wanted:
        if mode in MODE_OF.values():
            other = next(transport for transport, m in MODE_OF.items() if m == mode)
            raise given.wrong("CC_MODE", f"--transport {imported.transport} is {wanted}: expected --transport {other}")
        known = ", ".join(f"{m} ({transport})" for transport, m in MODE_OF.items())
        raise given.wrong(
            "CC_MODE", f"expected one of {known}; other numbers are controls of single forks, which are not simulated"
        )
    for key, (value, why) in config.MUST_BE.items():
        given.must_be(key, value, why)
    for key, why in config.NOT_READ.items():
        if key in given.entries:
            raise given.wrong(key, why)


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


def split(imported: Imported) -> dict[str, list[Flow]]:
    """Groups flows into classes by destination port, or into one class if these are too many or change the order."""
    lists: dict[str, list[Flow]] = {}
    all_flows = [flow for flow in imported.flows.flows if flow.bytes <= flows.ENDLESS_ABOVE]
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
    """Returns whether flows that one host starts at the same time keep their order when they are grouped by class."""
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
    header, listed = "start_ns,src,dst,bytes,port", imported.lists[name]
    rows = [f"{f.start_ns - imported.origin_ns},host{f.src},host{f.dst},{f.bytes},{f.port}" for f in listed]
    if len(imported.flows.groups) > 1:
        header += ",priority"
        rows = [f"{row},{f.group}" for row, f in zip(rows, listed, strict=True)]
    return "\n".join([f"# {imported.flows.path.name}", header, *rows]) + "\n"


def workload_sections(imported: Imported) -> str:
    lists = [
        f'[[workload]]\nkind = "flow-list"\nclass = "{one}"\nfile = {json.dumps(list_name(imported.name, one))}'
        for one in imported.lists
    ]
    return "\n\n".join([*lists, *endless_sections(imported)])


def endless_sections(imported: Imported) -> list[str]:
    """Flows that stand for flows without end: a workload for each time at which some start.

    # Errors
    `InputError` where these are too many.
    """
    by_start: dict[tuple[int, int], list[Flow]] = {}
    for flow in imported.flows.endless:
        by_start.setdefault((flow.start_ns, flow.group), []).append(flow)
    if not by_start:
        return []
    if len(by_start) > ENDLESS_MAX:
        raise InputError(
            f"{imported.flows.path}: flows of more than {flows.ENDLESS_ABOVE} bytes start at {len(by_start)} times: "
            f"expected at most {ENDLESS_MAX}"
        )
    known = some(len(imported.flows.endless), "flow")
    imported.notes.append(f"{known} of more than {size(flows.ENDLESS_ABOVE)} have no end: they end with the run")
    many = len(imported.flows.groups) > 1
    sections = []
    for number, ((start_ns, group), members) in enumerate(by_start.items(), start=1):
        lines = ["[[workload]]", 'kind = "long-lived"', f'class = "endless-{number}"', f"count = {len(members)}"]
        lines += [listing("from", [f'"host{flow.src}"' for flow in members])]
        lines += [listing("to", [f'"host{flow.dst}"' for flow in members])]
        lines += (
            [f'start = "{units.toml_time(start_ns - imported.origin_ns)}"'] if start_ns > imported.origin_ns else []
        )
        lines += [f"priority = {group}"] if many else []
        sections.append("\n".join(lines))
    return sections


def run_section(imported: Imported) -> str:
    """Returns `[run]`: every flow counts, and the run ends when the last has finished, or at the stop time."""
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
    lasts = "the last flow has started"
    if imported.flows.endless and stop_ns is not None:
        duration_ns, lasts = end_ns, "as long as flows without end are to run"
    return "\n".join(
        [
            "[run]",
            aligned(f'duration = "{units.toml_time(duration_ns)}"', lasts),
            'warmup = "0 s"',
            aligned(f"drain = {end_ns / duration_ns!r}", f"to {units.toml_time(end_ns)}: {comment}"),
            aligned(f'origin = "{units.toml_time(origin_ns)}"', "what is time zero here, in those files"),
        ]
    )


def fault_sections(imported: Imported) -> str:
    """Returns `[[fault]]` for links that lose packets, and for the link that fails."""
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
    """Returns when a link fails, in nanoseconds after the origin, and its two ends."""
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


def summary(imported: Imported, paths: list[Path]) -> list[str]:
    """Returns the summary of an import, line by line."""
    network, given, listed = imported.network, imported.config, imported.flows.flows
    numbers = [f"{len(members):,} {name}" for name, members in imported.lists.items() if members]
    endless = len(imported.flows.endless)
    classes = ", ".join([*numbers, f"{endless:,} without end"] if endless else numbers)
    listed_bytes = sum(flow.bytes for members in imported.lists.values() for flow in members)
    amount = f", {size(listed_bytes)}" if listed_bytes else ""
    groups = imported.flows.groups
    of_groups = f"; priority groups {some_of(groups)}" if len(groups) > 1 else ""
    switches = some(len(network.switches), "switch", "es")
    lines = [
        f"{paths[0]}: {some(len(network.hosts), 'host')}, {switches}, {some(len(network.links), 'link')} "
        f"({network.dialect} dialect); {imported.transport}",
        f"{', '.join(path.name for path in paths[1:]) or imported.flows.path.name}: {some(len(listed), 'flow')} "
        f"({classes}){amount}, from {listed[0].start_ns / 1e9:.9g} to "
        f"{listed[-1].start_ns / 1e9:.9g} s{of_groups}",
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
    """Returns the keys that this transport reads."""
    return config.USED | config.USED_BY.get(imported.transport, set())
