"""Writes a BCC plan as configurations of real switches, and states how certain each one is.

Of the systems here SAI and Dell OS9 have a documented marking rule on the pool, and Arista EOS the command that the
paper prints. The others mark on queues only: what they get is standard ECN at K_port, and not BCC.

Thresholds are rounded down to the unit that a system takes, whole bytes or KB: a lower threshold marks earlier and
loses fewer packets. Whether a system's KB are 1000 or 1024 B is not documented; `kilo` is 1000, and 1024 is safe in
either case. None of these systems takes cells: the chip rounds to them itself.

Sources: SAI headers (saibuffer.h, saiqueue.h, saiswitch.h, saiwred.h); Dell Networking OS9 command line references; the
BCC paper's Figure 6 for EOS; the configuration database of SONiC; the NVUE reference of Cumulus Linux 5; published
configurations of Nexus 9000.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass

from backwater._core import InputError

COLOURS = ("GREEN", "YELLOW", "RED")
U32 = 2**32 - 1


@dataclass(frozen=True)
class Marking:
    """The marking to configure, in bytes and shares of 1."""

    k_port: int
    pool_min: int
    pool_max: int
    pmax: float
    name: str = "BCC"
    """Of the profile."""
    queue: int = 0
    interface: str | None = None
    """One port of the pool; each system has a first one."""
    kilo: int = 1000
    """Bytes of a KB."""

    def __post_init__(self) -> None:
        """# Errors
        `InputError` naming the option, the value and what is allowed.
        """
        if not self.name or not all(letter.isalnum() or letter in "-_" for letter in self.name) or len(self.name) > 24:
            raise InputError(f"--name {self.name}: expected 1 to 24 letters, digits, - and _")
        if not 0 <= self.queue <= 7:
            raise InputError(f"--queue {self.queue}: expected 0 to 7")
        if self.kilo not in (1000, 1024):
            raise InputError(f"--kilo {self.kilo}: expected 1000 or 1024")
        for name, value in (("K_port", self.k_port), ("Kmin", self.pool_min), ("Kmax", self.pool_max)):
            if not self.kilo <= value <= U32:
                raise InputError(f"{name} of {value:,} B: a switch takes {self.kilo} to {U32:,} B")

    def kb(self, value: int) -> int:
        """Returns KB, rounded down."""
        return value // self.kilo

    @property
    def percent(self) -> int:
        """Returns Pmax in percent, rounded up, since more marks are safer."""
        return math.ceil(self.pmax * 100 - 1e-9)


@dataclass(frozen=True)
class Configuration:
    """The configuration of a switch."""

    system: str
    title: str
    marks_on_pool: bool
    text: str
    """All of it, in the system's own form; parses alone."""
    sure: list[str]
    """What is confirmed, and where; what is not."""


def sai(marking: Marking) -> Configuration:
    """Makes the attributes of SAI objects. A name stands for the identifier that the creation of the object returns."""
    pool, queue = f"{marking.name}-pool", f"{marking.name}-queue"
    objects = [
        {
            "type": "SAI_OBJECT_TYPE_SWITCH",
            "operation": "set",
            "attributes": {"SAI_SWITCH_ATTR_ECN_ECT_THRESHOLD_ENABLE": True},
        },
        wred(pool, marking.pool_min, marking.pool_max, marking.percent),
        wred(queue, marking.k_port, marking.k_port, 100),
        {
            "type": "SAI_OBJECT_TYPE_BUFFER_POOL",
            "operation": "set",
            "which": "the egress pool of each MMU",
            "attributes": {"SAI_BUFFER_POOL_ATTR_WRED_PROFILE_ID": pool},
        },
        {
            "type": "SAI_OBJECT_TYPE_QUEUE",
            "operation": "set",
            "which": f"queue {marking.queue} of each port of the pool",
            "attributes": {"SAI_QUEUE_ATTR_WRED_PROFILE_ID": queue},
        },
    ]
    return Configuration(
        "sai",
        "SAI attributes",
        True,
        json.dumps(objects, indent=2),
        [
            "Confirmed in the header: a buffer pool has SAI_BUFFER_POOL_ATTR_WRED_PROFILE_ID, exactly BCC's knob.",
            "Confirmed in the header: the pool's thresholds mark only where a queue that refers to the pool has a "
            "SAI_QUEUE_ATTR_WRED_PROFILE_ID other than the default. Here that is K_port's.",
            "Confirmed in the header: the ECN thresholds hold while SAI_SWITCH_ATTR_ECN_ECT_THRESHOLD_ENABLE is true. "
            "Where a vendor lacks it, those without ECN in their name count for all packets; they are the same here.",
            "Unconfirmed: that a vendor's SAI implements all three. sai_query_attribute_capability says so.",
            "Weight 0 is SAI's default, and meant as no averaging; its scale is the vendor's.",
        ],
    )


def wred(name: str, low: int, high: int, percent: int) -> dict[str, object]:
    """A SAI profile that marks packets of all colours and drops none."""
    attributes: dict[str, str | int] = {
        "SAI_WRED_ATTR_ECN_MARK_MODE": "SAI_ECN_MARK_MODE_ALL",
        "SAI_WRED_ATTR_WEIGHT": 0,
    }
    for colour in COLOURS:
        attributes |= {
            f"SAI_WRED_ATTR_{colour}_ENABLE": False,
            f"SAI_WRED_ATTR_{colour}_MIN_THRESHOLD": low,
            f"SAI_WRED_ATTR_{colour}_MAX_THRESHOLD": high,
            f"SAI_WRED_ATTR_{colour}_DROP_PROBABILITY": percent,
            f"SAI_WRED_ATTR_ECN_{colour}_MIN_THRESHOLD": low,
            f"SAI_WRED_ATTR_ECN_{colour}_MAX_THRESHOLD": high,
            f"SAI_WRED_ATTR_ECN_{colour}_MARK_PROBABILITY": percent,
        }
    return {"type": "SAI_OBJECT_TYPE_WRED", "operation": "create", "name": name, "attributes": attributes}


def dell_os9(marking: Marking) -> Configuration:
    name, port = marking.name, marking.interface or "fortyGigE 1/1"
    low, high, queue = marking.kb(marking.pool_min), marking.kb(marking.pool_max), marking.kb(marking.k_port)
    text = f"""\
wred-profile {name}-pool
 threshold min {low} max {high} max-drop-rate {marking.percent}
wred-profile {name}-queue
 threshold min {queue} max {queue} max-drop-rate 100
service-pool wred green pool0 {name}-pool pool1 {name}-pool
qos-policy-output {name}
 wred green {name}-queue
 wred ecn
policy-map-output {name}-map
 service-queue {marking.queue} qos-policy {name}
interface {port}
 service-policy output {name}-map
! queues of the backplane, in a chassis
service-class wred green queue{marking.queue} {name}-queue backplane
service-class wred ecn {marking.queue} backplane"""
    return Configuration(
        "dell-os9",
        "Dell Networking OS9",
        True,
        text,
        [
            "Confirmed in the manual: wred-profile, threshold, service-pool wred, service-class wred ecn, wred ecn. "
            "Weights stay at their default of 0.",
            "Confirmed in the manual: with the pool's threshold below the queue's, marking starts at the pool's.",
            "Unconfirmed: the pool's rule where the queue's threshold is the lower, as here. The manual names only "
            "marking above the queue's. Before relying on it, fill the pool through one port and look for marks at "
            "another.",
            "Unconfirmed: above the maximum. The manual of wred ecn says that packets are then dropped, ECN or not; "
            "the paper's rule marks them. Look at the drop counters at K_port.",
            "Unconfirmed: that thresholds count KB, as they are written here.",
            "Unconfirmed: which of pool0 and pool1 carries lossy traffic; the manual contradicts itself. Both are set.",
        ],
    )


def sonic(marking: Marking) -> Configuration:
    port = marking.interface or "Ethernet0"
    profile = {"ecn": "ecn_all"}
    for colour in COLOURS:
        low = colour.lower()
        profile |= {
            f"wred_{low}_enable": "true",
            f"{low}_min_threshold": str(marking.k_port),
            f"{low}_max_threshold": str(marking.k_port),
            f"{low}_drop_probability": "100",
        }
    tables = {
        "WRED_PROFILE": {marking.name: profile},
        "QUEUE": {f"{port}|{marking.queue}": {"wred_profile": marking.name}},
    }
    return Configuration(
        "sonic",
        "SONiC, CONFIG_DB",
        False,
        json.dumps(tables, indent=2),
        [
            cannot("SONiC"),
            "Confirmed in the documentation: WRED_PROFILE and QUEUE. One QUEUE entry for each port; older releases "
            f'write "[WRED_PROFILE|{marking.name}]".',
            "Confirmed: packets that are not ECN-capable are dropped above the threshold, as wred_green_enable says.",
        ],
    )


def nx_os(marking: Marking) -> Configuration:
    queue = "-default" if marking.queue == 0 else str(marking.queue)
    kb = marking.kb(marking.k_port)
    text = f"""\
policy-map type queuing {marking.name}
  class type queuing c-out-8q-q{queue}
    random-detect minimum-threshold {kb} kbytes maximum-threshold {kb} kbytes drop-probability 100 weight 0 ecn
system qos
  service-policy type queuing output {marking.name}"""
    return Configuration(
        "nx-os",
        "Cisco NX-OS",
        False,
        text,
        [
            cannot("NX-OS"),
            "Confirmed in published configurations of Nexus 9000: the random-detect line, inside a queuing policy.",
            "Not here: the bandwidth of the other classes, which the policy in use already has.",
        ],
    )


def cumulus(marking: Marking) -> Configuration:
    where = f"nv set qos congestion-control default-global traffic-class {marking.queue}"
    text = f"""\
{where} min-threshold {marking.k_port}
{where} max-threshold {marking.k_port}
{where} probability 100
{where} ecn enable
nv config apply"""
    return Configuration(
        "cumulus",
        "NVIDIA Cumulus Linux",
        False,
        text,
        [
            cannot("Cumulus Linux"),
            "Confirmed in the NVUE reference: all five commands. Thresholds are in bytes, for all ports.",
            "Unconfirmed: that equal thresholds are taken; if not, make max-threshold one larger.",
        ],
    )


def arista(marking: Marking) -> Configuration:
    port, kb = marking.interface or "Ethernet1/1", marking.kb(marking.k_port)
    text = f"""\
{arista_pool(marking)}
interface {port}
   uc-tx-queue {marking.queue}
      random-detect ecn minimum-threshold {kb} kbytes maximum-threshold {kb} kbytes max-mark-probability 100 weight 0"""
    sure = [
        "Confirmed in the paper: the global-buffer line, as its Figure 6 prints it for a 7060CX-32S. It holds for each "
        "MMU by itself.",
        "Confirmed in published configurations: the line of a queue. Platforms differ in tx-queue and uc-tx-queue.",
    ]
    if marking.pool_min < marking.pool_max:
        sure.append(
            f"Unconfirmed: Pmax of {marking.percent} %. Figure 6 has no such option, and equal thresholds, which need "
            "none. If there is none, --variant cut-off is what the paper's testbed ran."
        )
    return Configuration("arista", "Arista EOS", True, text, sure)


def arista_pool(marking: Marking) -> str:
    """The command of the paper's Figure 6."""
    return (
        f"qos random-detect ecn global-buffer minimum-threshold {marking.kb(marking.pool_min)} kbytes "
        f"maximum-threshold {marking.kb(marking.pool_max)} kbytes"
    )


def cannot(system: str) -> str:
    return f"{system} has no marking on the pool that we could find: this is standard ECN at K_port, and not BCC."


SYSTEMS: dict[str, Callable[[Marking], Configuration]] = {
    "sai": sai,
    "dell-os9": dell_os9,
    "arista": arista,
    "sonic": sonic,
    "nx-os": nx_os,
    "cumulus": cumulus,
}
"""Those that can mark on the pool come first."""


def configurations(system: str, marking: Marking) -> list[Configuration]:
    """Makes the configurations of one system, or of `all`.

    # Errors
    `InputError` for a system not known here.
    """
    if system == "all":
        return [make(marking) for make in SYSTEMS.values()]
    if system not in SYSTEMS:
        raise InputError(f"--config {system}: expected one of {', '.join(SYSTEMS)}, all")
    return [SYSTEMS[system](marking)]


def section(configuration: Configuration) -> list[str]:
    """Returns lines for the terminal: the system, how certain the configuration is, and the configuration."""
    kind = "BCC" if configuration.marks_on_pool else "standard ECN, not BCC"
    sure = [f"  {line}" for line in configuration.sure]
    return [f"{configuration.title}: {kind}", *sure, "", *configuration.text.splitlines(), ""]
