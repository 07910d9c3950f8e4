"""The `[host]` table of an imported scenario: window, acknowledgements, and the table of its control."""

from __future__ import annotations

import json
from collections.abc import Callable

from backwater._core import InputError
from backwater.hpcc import units
from backwater.hpcc.config import Config
from backwater.hpcc.imported import Imported, aligned
from backwater.hpcc.topology import Network

ACK_CLASS_GROUP = 3
"""Without ACK_HIGH_PRIO a NIC holds its ACKs while this priority group is paused, whatever the data's is."""


def read_payload(given: Config) -> int:
    return given.whole("PACKET_PAYLOAD_SIZE", 1000, 64, 9000)


def has_window(imported: Imported) -> bool:
    """Returns whether hosts have a window. DCTCP and HPCC have one by default, the others not, and HPCC needs one."""
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
        if "FIXED_WIN" in given.entries and key == "HAS_WIN":
            window, key = units.toml_size(given.whole("FIXED_WIN", 0, read_payload(given))), "FIXED_WIN"
    lines.append(aligned(f'window = "{window}"', given.where(key)))
    lines.append(aligned(f'payload = "{read_payload(given)} B"', given.where("PACKET_PAYLOAD_SIZE")))
    high = given.flag("ACK_HIGH_PRIO", False)
    groups = imported.flows.groups
    other = ""
    if not high and ACK_CLASS_GROUP not in groups:
        other = f"; its pauses are for group {ACK_CLASS_GROUP}, flows in {some_of(groups)}"
    ack_class = "high" if high or other else "data"
    lines.append(aligned(f'ack_class = "{ack_class}"', given.where("ACK_HIGH_PRIO") + other))
    if ack_class == "data" and len(groups) > 1:
        lines.append(aligned(f"ack_priority = {ACK_CLASS_GROUP}", "as there, whatever the group of their flow"))
    lines += ack_lines(given)
    table = TABLES.get(imported.transport)
    return "\n".join(lines + (["", *table(imported)] if table else []))


def some_of(groups: set[int]) -> str:
    return ", ".join(map(str, sorted(groups)))


def ack_lines(given: Config) -> list[str]:
    """Returns the lines that say which packets are acknowledged, if not all are."""
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


def target_lines(given: Config) -> list[str]:
    """Returns the lines of target utilisation, which HPCC and PINT share."""
    target = given.share("U_TARGET", 0.95, "more than 0 and at most 1", lambda u: 0 < u <= 1)
    stages = given.whole("MI_THRESH", 0, 0, 1000)
    increase = given.rate("RATE_AI", 40 * 10**6, low=0)
    return [
        aligned(f"utilization = {target!r}", given.where("U_TARGET")),
        aligned(f"max_stage = {stages}", given.where("MI_THRESH")),
        aligned(f'additive_increase = "{units.toml_rate(increase)}"', given.where("RATE_AI")),
    ]


def hpcc_table(imported: Imported) -> list[str]:
    given = imported.config
    target = target_lines(given)
    reacts = "fast" if given.flag("FAST_REACT", True) else "per-rtt"
    multi_rate, sampled = (json.dumps(given.flag(key, False)) for key in ("MULTI_RATE", "SAMPLE_FEEDBACK"))
    unit = given.whole("INT_MULTI", default_int_unit(imported.network), 1, 1024)
    return [
        "[host.hpcc]",
        *target,
        aligned(f'reacts = "{reacts}"', given.where("FAST_REACT")),
        aligned(f"multi_rate = {multi_rate}", given.where("MULTI_RATE")),
        aligned(f"sample_feedback = {sampled}", given.where("SAMPLE_FEEDBACK")),
        aligned(f"int_unit = {unit}", given.where("INT_MULTI")),
        *rate_lines(imported),
    ]


def pint_table(imported: Imported) -> list[str]:
    given = imported.config
    target = target_lines(given)
    base = given.share("PINT_LOG_BASE", 1.01, "a base from 1.01 to 2", lambda base: 1.01 <= base <= 2)
    sampled = given.share("PINT_PROB", 1.0, "more than 0 and at most 1", lambda share: 0 < share <= 1)
    return [
        "[host.pint]",
        *target,
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
    """Returns the default unit of telemetry: one per 25 Gbit/s of the fastest NIC."""
    return max(1, max(network.host_rates) // (25 * 10**9))


def rate_lines(imported: Imported) -> list[str]:
    """Returns the lines that rate-based controls share."""
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
