"""Congestion control and windows of a scenario as entries of config.txt, and the settings that these cannot express.

Other transports are refused, because any other mode would be another experiment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from backwater._core import InputError
from backwater.hpcc import units
from backwater.hpcc.host_table import default_int_unit
from backwater.hpcc.imported import INT_BYTES, PINT_BYTES, STAMP_BYTES
from backwater.hpcc.switch_table import port_rates
from backwater.hpcc.topology import Network
from backwater.hpcc.units import resolved

if TYPE_CHECKING:
    from backwater.scenario.typed import DcqcnParams, DctcpParams, Host, HpccParams, PintParams, Scenario, TimelyParams

ACK_BYTES, HPCC_ACK_BYTES = 60, 88
INT_RATES = {gbps * 10**9 for gbps in (25, 50, 100, 200, 400)}
"""Of links: telemetry there takes any other for the first."""
CLOCKS: dict[Literal["alpha_timer", "decrease_interval", "increase_timer"], str] = {
    "alpha_timer": "ALPHA_RESUME_INTERVAL",
    "decrease_interval": "RATE_DECREASE_INTERVAL",
    "increase_timer": "RP_TIMER",
}
"""Periods of DCQCN."""
TIMELY: dict[Literal["weight", "beta", "hyper_after"], float] = {"weight": 0.875, "beta": 0.8, "hyper_after": 5}
TIMELY_NS: dict[Literal["t_low", "t_high", "min_rtt"], int] = {"t_low": 50_000, "t_high": 500_000, "min_rtt": 20_000}
"""What TIMELY has there, whatever its files say."""


def check(host: Host) -> None:
    """Refuses a transport that the files cannot express.

    # Errors
    `InputError` naming it and those they can.
    """
    if host["transport"] not in CONTROLS:
        expected = ", ".join(CONTROLS)
        raise InputError(f'host.transport: "{host["transport"]}": there is no export of it: expected one of {expected}')
    variant = host["dcqcn"]["variant"]
    if host["transport"] == "dcqcn" and variant != "vendor":
        raise InputError(f'host.dcqcn.variant: "{variant}": there is no export of it: expected vendor')
    if host["transport"] == "dctcp" and host["dctcp"]["slow_start"]:
        raise InputError("host.dctcp.slow_start: true: there is no export of it: expected false")


def entries(host: Host, network: Network) -> dict[str, str]:
    """Returns `CC_MODE` and the keys that it reads."""
    return CONTROLS[host["transport"]](host, network)


def line_rate(_host: Host, _network: Network) -> dict[str, str]:
    return {"CC_MODE": "0"}


def dctcp(host: Host, _network: Network) -> dict[str, str]:
    own = host["dctcp"]
    return {
        "CC_MODE": "8",
        "EWMA_GAIN": repr(own["g"]),
        "DCTCP_RATE_AI": units.ns3_rate(resolved(own["additive_increase"])),
        **rates(own),
    }


def dcqcn(host: Host, _network: Network) -> dict[str, str]:
    own = host["dcqcn"]
    return {
        "CC_MODE": "1",
        "EWMA_GAIN": repr(own["g"]),
        **{key: str(max(1, resolved(own[name]) // 10**6)) for name, key in CLOCKS.items()},
        "FAST_RECOVERY_TIMES": str(own["fast_recovery"]),
        "CLAMP_TARGET_RATE": str(int(own["clamp"])),
        "RATE_AI": units.ns3_rate(resolved(own["additive_increase"])),
        "RATE_HAI": units.ns3_rate(resolved(own["hyper_increase"])),
        **rates(own),
    }


def target(own: HpccParams | PintParams) -> dict[str, str]:
    """Returns the keys of target utilisation, which HPCC and PINT share."""
    return {
        "U_TARGET": repr(own["utilization"]),
        "MI_THRESH": str(own["max_stage"]),
        "RATE_AI": units.ns3_rate(resolved(own["additive_increase"])),
    }


def hpcc(host: Host, network: Network) -> dict[str, str]:
    own = host["hpcc"]
    return {
        "CC_MODE": "3",
        **target(own),
        "FAST_REACT": str(int(own["reacts"] != "per-rtt")),
        "MULTI_RATE": str(int(own["multi_rate"])),
        "SAMPLE_FEEDBACK": str(int(own["sample_feedback"])),
        "INT_MULTI": str(own.get("int_unit", default_int_unit(network))),
        **rates(own),
    }


def pint(host: Host, _network: Network) -> dict[str, str]:
    own = host["pint"]
    return {
        "CC_MODE": "10",
        **target(own),
        "PINT_LOG_BASE": repr(own["log_base"]),
        "PINT_PROB": repr(own["sampled"]),
        **rates(own),
    }


def timely(host: Host, _network: Network) -> dict[str, str]:
    own = host["timely"]
    return {
        "CC_MODE": "7",
        "RATE_AI": units.ns3_rate(resolved(own["additive_increase"])),
        "RATE_HAI": units.ns3_rate(resolved(own["hyper_increase"])),
        **rates(own),
    }


def rates(own: DctcpParams | DcqcnParams | HpccParams | PintParams | TimelyParams) -> dict[str, str]:
    """Returns the keys that rate-based controls share."""
    return {
        "MIN_RATE": units.ns3_rate(resolved(own["min_rate"])),
        "VAR_WIN": str(int(own["window_follows_rate"])),
        "RATE_BOUND": str(int(own["paced"])),
    }


CONTROLS: dict[str, Callable[[Host, Network], dict[str, str]]] = {
    "line-rate": line_rate,
    "window": line_rate,
    "dctcp": dctcp,
    "dcqcn": dcqcn,
    "hpcc": hpcc,
    "pint": pint,
    "timely": timely,
}
"""By transport."""


def window(host: Host, base_bdp_bytes: int, notes: list[str]) -> dict[str, str]:
    """Returns the keys of the window: whether flows have one, and which base BDP sets it."""
    transport, asked = host["transport"], host.get("window", "bdp")
    sized = asked not in ("none", "bdp", "base-bdp", "pair-bdp")
    # HPCC divides by its window there.
    windowed = sized if transport == "line-rate" else asked != "none" or transport == "hpcc"
    same = asked in ("base-bdp", "pair-bdp") or (sized and resolved(asked) == base_bdp_bytes)
    if windowed and not same:
        notes.append(f'host.window is "{asked}": there it is {base_bdp_bytes} B, the largest base BDP')
    return {"HAS_WIN": str(int(windowed)), "GLOBAL_T": str(int(asked != "pair-bdp"))}


def ack_bytes(host: Host) -> int:
    """Returns the bytes of an ACK in that simulator, with the telemetry that it returns."""
    return HPCC_ACK_BYTES if host["transport"] == "hpcc" else ACK_BYTES


def differences(scenario: Scenario, network: Network) -> list[str]:
    """Returns notes on settings that the entries cannot express."""
    transport = scenario["host"]["transport"]
    if transport == "dcqcn":
        return dcqcn_differences(scenario["host"]["dcqcn"])
    if transport == "timely":
        return timely_differences(scenario["host"]["timely"])
    if transport == "pint":
        return pint_differences(scenario)
    return hpcc_differences(scenario, network) if transport == "hpcc" else []


def dcqcn_differences(own: DcqcnParams) -> list[str]:
    notes = []
    if own["alpha"] != 1:
        notes.append(f"host.dcqcn.alpha is {own['alpha']}: there 1")
    for name in CLOCKS:
        us, rest = divmod(resolved(own[name]), 10**6)
        if rest or not us:
            notes.append(f"host.dcqcn.{name} is {own[name]}: there whole microseconds, {max(1, us)} us")
    return notes


def timely_differences(own: TimelyParams) -> list[str]:
    notes = [f"host.timely.{key} is {own[key]}: there {TIMELY[key]}" for key in TIMELY if own[key] != TIMELY[key]]
    times = [key for key in TIMELY_NS if resolved(own[key]) != 1000 * TIMELY_NS[key]]
    notes += [f"host.timely.{key} is {own[key]}: there {units.toml_time(TIMELY_NS[key])}" for key in times]
    if resolved(own["stamp_bytes"]) != STAMP_BYTES:
        notes.append(f"host.timely.stamp_bytes is {own['stamp_bytes']}: there {STAMP_BYTES} B")
    return notes


def pint_differences(scenario: Scenario) -> list[str]:
    own = scenario["host"]["pint"]
    notes = unpaced("pint", scenario)
    if resolved(own["pint_bytes"]) != PINT_BYTES:
        notes.append(f"host.pint.pint_bytes is {own['pint_bytes']}: there {PINT_BYTES} B")
    return notes


def unpaced(table: Literal["pint", "hpcc"], scenario: Scenario) -> list[str]:
    """Returns a note if that simulator spaces packets differently after a change of rate."""
    same = scenario["host"][table]["paced"] or scenario["conventions"]["time"] == "whole-ns"
    return [] if same else [f"host.{table}.paced: there a change of rate moves the packet that waits all the same"]


def hpcc_differences(scenario: Scenario, network: Network) -> list[str]:
    own = scenario["host"]["hpcc"]
    notes = []
    if own["reacts"] == "per-ack":
        notes.append(
            'host.hpcc.reacts is "per-ack": there an ACK starts from the rate a round trip ago, as with "fast"'
        )
    notes += unpaced("hpcc", scenario)
    if resolved(own["int_bytes"]) != INT_BYTES:
        notes.append(f"host.hpcc.int_bytes is {own['int_bytes']}: there {INT_BYTES} B")
    others = [units.toml_rate(rate) for rate in sorted(port_rates(network)) if rate not in INT_RATES]
    if others and scenario["conventions"]["time"] != "whole-ns":
        notes.append(f"telemetry: there it takes links of {', '.join(others)} for {units.toml_rate(min(INT_RATES))}")
    return notes
