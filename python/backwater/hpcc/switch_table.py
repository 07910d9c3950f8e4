"""The `[switch]` table of an imported scenario: buffer, quantum and marking."""

from __future__ import annotations

from backwater.hpcc import config, units
from backwater.hpcc.flows import GROUP_MAX
from backwater.hpcc.host_table import read_payload
from backwater.hpcc.imported import CARRIED_BYTES, HEADER_BYTES, Imported, aligned
from backwater.hpcc.topology import Network
from backwater.hpcc.words import number

SCHEME_PAYLOAD_BYTES = 1000
"""What the quanta of the schemes are for."""
BUFFER_MAX_MIB = 4095
K_MAX_KB = (2**32 - 1) // 1000  # Thresholds are 32 bits of bytes there.


def switch_section(imported: Imported) -> str:
    given = imported.config
    mebibytes = config.whole(1, BUFFER_MAX_MIB)
    buffer = given.get("BUFFER_SIZE", 12, "12", mebibytes, f"a whole number from 1 to {BUFFER_MAX_MIB}, in MiB")
    lines = ["[switch]", aligned(f'buffer = "{buffer} MiB"', given.where("BUFFER_SIZE"))]
    if len(imported.flows.groups) > 1:
        lines.append(aligned('assignment = "class"', f"{imported.flows.path.name}: flows of several priority groups"))
        lines.append(aligned(f"queues = {GROUP_MAX + 1}", "class 0 has no flows"))
    payload = read_payload(given)
    if payload > SCHEME_PAYLOAD_BYTES:
        full = payload + HEADER_BYTES + CARRIED_BYTES.get(imported.transport, 0)
        lines.append(aligned(f'quantum = "{full} B"', "a full packet"))
    section = "\n".join(lines)
    return section + (f"\n\n{ecn_section(imported)}" if imported.transport in ("dctcp", "dcqcn") else "")


def ecn_section(imported: Imported) -> str:
    """Returns the marking: for the most frequent port rate, and for each of the other rates."""
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
    """Reads Kmin, Kmax (bytes) and Pmax by port rate, the most frequent rate first, and where each comes from."""
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
    """Returns the port rates of switches, the most frequent first, each with the line of one of its links."""
    switches, count, line = set(network.switches), dict[int, int](), dict[int, int]()
    for link in network.links:
        count[link.rate] = count.get(link.rate, 0) + len({link.a, link.b} & switches)
        line.setdefault(link.rate, link.line)
    return {rate: line[rate] for rate in sorted(count, key=lambda rate: (-count[rate], rate))}


def default_k(rate: int) -> int:
    """Returns the default threshold in bytes: 30 KB per 10 Gbit/s."""
    return max(1, rate * 30_000 // 10**10)


def probability(word: str) -> float | None:
    value = number(word)
    return value if value is not None and 0 <= value <= 1 else None
