"""Computes BCC's thresholds of a switch, of a port and of the shared pool, and their effects.

Source: Bai et al., "One More Config Is Enough", IEEE/ACM ToN 2021, sections II-B (shares), IV-B to IV-D (parameters).

    K_port = C RTT lambda                      bytes; what one port needs for full rate
    B_R    = C RTT (1 + lambda) - S_min        and one round trip of slow start, less what is reserved for a queue
    Kmax   = B - B_R / alpha_min               occupancy of the pool at which a queue may no longer have B_R
    Kmin   = Kmax - C N h                      C N: all ports of the pool together
    Pmax   = 10 %

C is the rate of a port, B the pool of one MMU. A queue may take alpha times what is free of the pool, so M full queues
have alpha B / (1 + M alpha) each, and S besides. Everything is rounded to whole bytes in the safe direction: thresholds
down, needs up.

The paper's prose is decimal: 1 MB of bandwidth-delay product, Kmax of about 2.6 MB. Its authors' public simulations
count in binary, `units = "binary"` here: pool, reservation and C RTT in MB of 2^20, C N h in KB of 2^10, and K_port in
bytes (80 packets of 9000 B). That gives 2,727,608 and 1,908,408 B where decimal gives 2,602,000 and 1,802,000.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypedDict

from rich.table import Table

from backwater._core import InputError
from backwater.common.quantities import percent, size, some, span
from backwater.common.ranges import plain, within
from backwater.plan.bcc_defaults import LAMBDA, PMAX
from backwater.plan.shown import titled
from backwater.scenario.chips import chip_of, chips

NUMBER = re.compile(
    r"-?[0-9]{1,18}/[1-9][0-9]{0,17}|-?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][+-]?[0-9]{1,2})?"
)
NUMBERS_MAX = 128
H_S = 8e-6
DUST = 1e-6
"""Bytes that floating point may leave beside a whole number."""
TOO_SMALL_H_S, TOO_SMALL_PMAX = 8e-6, 0.05
"""Section V-C: h below 8 us with 5 % lost more than 0.1 % of packets."""


@dataclass(frozen=True)
class Pool:
    """A shared pool and the ports at it. The defaults are the paper's Tomahawk: one of four MMUs."""

    rtt_s: float
    """Base round trip, hosts included."""
    rate_bps: float = 100e9
    """Of a port; of the fastest, where they differ."""
    ports: int = 8
    queues: int = 1
    """Of a port."""
    buffer: float = 3e6
    """Shared by all of them, bytes."""
    private: float = 128e3
    """Least reserved for a queue, bytes."""
    alphas: tuple[float, ...] = (4.0,)
    """Of the queues of a port; one for all, or one each."""
    lambda_: float = LAMBDA
    h_s: float = H_S
    pmax: float = PMAX
    capacity_bps: float | None = None
    """Of all ports together, where they differ."""
    variant: Literal["red", "cut-off"] = "red"
    units: Literal["decimal", "binary"] = "decimal"
    chip: str | None = None
    mmu_bytes: float | None = None
    """Memory of one MMU, reservations included."""

    def __post_init__(self) -> None:
        """Refuses values that no pool can have.

        # Errors
        `InputError` naming the option, the value and what is allowed.
        """
        for option, value, low, high, show in (
            ("--rtt", self.rtt_s, 1e-9, 1.0, span),
            ("--rate", self.rate_bps, 1e6, 8e12, rate),
            ("--ports", self.ports, 1, 1024, plain),
            ("--queues", self.queues, 1, 128, plain),
            ("--buffer", self.buffer, 1e3, 4e9, size),
            ("--private", self.private, 0, 4e9, size),
            ("--lambda", self.lambda_, 0.01, 10.0, plain),
            ("--h", self.h_s, 1e-9, 1e-2, span),
            ("--pmax", self.pmax, 0.001, 1.0, plain),
            *(("--alpha", alpha, 2.0**-10, 2.0**10, plain) for alpha in self.alphas),
        ):
            within(option, value, low, high, show)
        if len(self.alphas) not in (1, self.queues):
            raise InputError(f"--alphas {self.alphas_text}: expected one, or one for each of {self.queues} queues")
        if self.capacity_bps is not None and not self.rate_bps <= self.capacity_bps <= self.rate_bps * self.ports:
            raise InputError(
                f"--capacity {rate(self.capacity_bps)}: expected {rate(self.rate_bps)} to "
                f"{rate(self.rate_bps * self.ports)}, which is {some(self.ports, 'port')} at --rate"
            )

    @property
    def alphas_text(self) -> str:
        return ",".join(f"{alpha:g}" for alpha in self.alphas)

    @property
    def alpha(self) -> float:
        """Returns the smallest alpha, since the queue with it runs short first."""
        return min(self.alphas)

    @property
    def capacity(self) -> float:
        """C N, bit/s."""
        return self.capacity_bps or self.rate_bps * self.ports

    @property
    def kilo(self) -> int:
        return 1024 if self.units == "binary" else 1000

    @property
    def bdp(self) -> float:
        """C RTT, bytes."""
        scale = 1.024**2 if self.units == "binary" else 1.0
        return self.rate_bps * self.rtt_s / 8 * scale

    @property
    def marking_range(self) -> float:
        """C N h, bytes."""
        return self.capacity * self.h_s / 8 * self.kilo / 1000

    def share(self, full: int) -> float:
        """Returns the bytes that each of so many full queues can hold, if all have the smallest alpha."""
        return self.alpha * self.buffer / (1 + full * self.alpha) + self.private


@dataclass(frozen=True)
class Plan:
    """The thresholds of a pool, in bytes."""

    pool: Pool
    k_port: int
    required: int
    """B_R."""
    kmax: int
    kmin: int
    warnings: list[str] = field(default_factory=list)

    @property
    def thresholds(self) -> tuple[int, int]:
        """Returns the pool's thresholds. The cut-off variant has one at the midpoint, such as the paper's 2.2 MB."""
        middle = (self.kmin + self.kmax) // 2
        return (middle, middle) if self.pool.variant == "cut-off" else (self.kmin, self.kmax)

    @property
    def pmax(self) -> float:
        return 1.0 if self.pool.variant == "cut-off" else self.pool.pmax

    @property
    def held(self) -> float:
        """Returns the bytes of the pool that a queue at K_port occupies."""
        return max(0.0, self.k_port - self.pool.private)

    @property
    def drops_from(self) -> int | None:
        """Returns the number of congested queues from which each gets less than K_port.

        Without BCC they drop before they mark.
        """
        return first_above(self.queues, lambda full: self.k_port - self.pool.share(full))

    @property
    def marks_from(self) -> int | None:
        """Returns the number of queues at K_port from which the pool marks."""
        return first_above(self.queues, lambda full: full * self.held - self.thresholds[0])

    @property
    def queues(self) -> int:
        return self.pool.ports * self.pool.queues

    def probability(self, occupancy: float) -> float:
        """Returns the probability that the pool marks a packet."""
        low, high = self.thresholds
        if occupancy <= low:
            return 0.0
        return 1.0 if occupancy > high else self.pmax * (occupancy - low) / (high - low)


def first_above(most: int, excess: Callable[[int], float]) -> int | None:
    """Returns the smallest number, up to `most`, at which the excess is positive."""
    return next((number for number in range(1, most + 1) if excess(number) > 0), None)


def plan(pool: Pool) -> Plan:
    """Computes the thresholds of a pool.

    # Errors
    `InputError` where BCC cannot be configured: the option, its value, and what would do.
    """
    required = pool.bdp * (1 + pool.lambda_) - pool.private
    if required <= 0:
        raise InputError(
            f"--private {exact(pool.private)}: expected less than {exact(required + pool.private)}, all that a queue "
            f"needs. So no queue needs the pool, and Kmax = B - B_R / alpha is above the pool's {exact(pool.buffer)}"
        )
    if pool.alpha * pool.buffer <= required:
        least = required / pool.buffer
        power = 2.0 ** (math.floor(math.log2(least)) + 1)
        raise InputError(
            f"--alpha{'s' if len(pool.alphas) > 1 else ''} {pool.alphas_text}: expected more than "
            f"{cut(least, math.ceil):g}, which is B_R / B = {exact(required)} / {exact(pool.buffer)}. Up to it "
            "Kmax = B - B_R / alpha is not above 0: a queue cannot get B_R even from an empty pool. The next power of "
            f"two is {power:g}"
        )
    kmax = pool.buffer - required / pool.alpha
    k_port = pool.rate_bps * pool.rtt_s / 8 * pool.lambda_
    if k_port > pool.share(1):
        raise InputError(
            f"--lambda {pool.lambda_:g}: expected up to {cut(pool.lambda_ * pool.share(1) / k_port):g}. K_port is "
            f"{exact(k_port)}, and a lone queue ends at private + alpha B / (1 + alpha) = {exact(pool.share(1))}: it "
            "would never mark. Or a larger --buffer or --alpha"
        )
    kmin = kmax - pool.marking_range
    if whole(kmin) <= 0:
        most = cut(kmax / pool.marking_range * pool.h_s)
        raise InputError(
            f"--h {span(pool.h_s)}: expected less than {span(most)}, which is Kmax / (C N) = {exact(kmax)} / "
            f"{rate(pool.capacity)}. From there Kmin = Kmax - C N h is not above 0, and the pool marks when it is empty"
        )
    made = Plan(pool, whole(k_port), -whole(-required), whole(kmax), whole(kmin))
    made.warnings.extend(warnings(made))
    return made


def warnings(made: Plan) -> list[str]:
    """Returns warnings about thresholds that work, but not as intended."""
    pool, found = made.pool, []
    if made.held > made.thresholds[0]:
        found.append(
            f"one queue at K_port has {exact(made.held)} of the pool, more than the {exact(made.thresholds[0])} above "
            "which it marks: the pool's rule holds a lone port below full rate"
        )
    if pool.h_s < TOO_SMALL_H_S and pool.pmax <= TOO_SMALL_PMAX and pool.variant == "red":
        found.append(
            f"h = {span(pool.h_s)} with Pmax = {percent(pool.pmax)}: the paper lost over 0.1 % of packets with such"
        )
    for alpha in pool.alphas:
        if not math.log2(alpha).is_integer():
            found.append(f"alpha = {alpha:g} is no power of two; chips have those from 1/128 to 8")
    if pool.mmu_bytes is not None:
        needed = pool.buffer + pool.private * made.queues
        if needed > pool.mmu_bytes:
            found.append(
                f"pool and reservations are {exact(needed)}, more than the {exact(pool.mmu_bytes)} of an MMU of "
                f"{pool.chip}"
            )
    return found


def whole(value: float) -> int:
    """Rounds down to whole bytes. A rounding error just below a whole number is ignored."""
    return math.floor(value + DUST)


def cut(value: float, direction: Callable[[float], int] = math.floor) -> float:
    """Rounds down to three digits, so that a stated limit is really allowed."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return direction(value / unit) * unit


# Chips.


def of_chip(name: str, units: str) -> dict[str, Any]:
    """Returns the values of one MMU of a chip, as fields of `Pool`.

    # Errors
    `InputError` for an unknown chip.
    """
    chip = chip_of(name)
    count = binary if units == "binary" else float
    return {
        "rate_bps": float(chip["rate_bps"]),
        "ports": chip["mmu_ports"],
        "buffer": count(chip["pool_bytes"]),
        "private": count(chip["private_bytes"]),
        "alphas": (chip["alpha"],),
        "chip": name,
        "mmu_bytes": count(chip["memory_bytes"] / chip["mmus"]),
    }


def counted(text: str | None, units: str) -> str | None:
    """Returns a size as text. With binary units, its KB and MB are read as KiB and MiB."""
    return re.sub(r"([KMGT])B$", r"\1iB", text) if text is not None and units == "binary" else text


def numbers(option: str, text: str | None) -> tuple[float, ...]:
    """Reads numbers or fractions that are separated by commas.

    # Errors
    `InputError` for anything else.
    """
    parts = [] if text is None else [part.strip(" ") for part in text.split(",")]
    if len(parts) > NUMBERS_MAX:
        raise InputError(f"{option}: {len(parts)} numbers: expected at most {NUMBERS_MAX}")
    wrong = next((part for part in parts if not NUMBER.fullmatch(part)), None)
    if wrong is not None:
        raise InputError(f"{option} {wrong[:60]}: expected numbers, such as 4 or 1/2, separated by commas")
    return tuple(float(Fraction(part)) for part in parts)


def binary(decimal: float) -> float:
    """Reads MB and KB of a size as MiB and KiB. Other units stay."""
    for power in (3, 2, 1):
        if decimal % 1000**power == 0:
            return decimal / 1000**power * 1024**power
    return decimal


# What is shown.


class Share(TypedDict):
    """Some number of congested queues: what each can hold, their sum at K_port, and the marking there."""

    queues: int
    share: int
    held: int
    drops: bool
    probability: float


def as_json(made: Plan) -> dict[str, object]:
    """Returns the plan for other programs, in bytes, seconds, bit/s and shares of 1."""
    low, high = made.thresholds
    return {
        "pool": vars(made.pool),
        "k_port": made.k_port,
        "required": made.required,
        "kmax": made.kmax,
        "kmin": made.kmin,
        "marking": {"min": low, "max": high, "pmax": made.pmax},
        "shares": shares(made),
        "drops_from": made.drops_from,
        "marks_from": made.marks_from,
        "warnings": made.warnings,
    }


def shares(made: Plan) -> list[Share]:
    """Returns rows for some numbers of congested queues: the bytes each can hold, their sum at K_port, and the marking
    there.
    """
    turns = [turn for turn in (made.drops_from, made.marks_from) if turn is not None]
    worth = {*range(1, 9), made.queues, *turns, *(turn - 1 for turn in turns)}
    return [
        {
            "queues": full,
            "share": whole(made.pool.share(full)),
            "held": whole(full * made.held),
            "drops": made.pool.share(full) < made.k_port,
            "probability": made.probability(full * made.held),
        }
        for full in sorted(worth)
        if 1 <= full <= made.queues
    ]


def tables(made: Plan) -> list[Table]:
    """Returns the plan as tables for the terminal."""
    return [parameters(made), predictions(made)]


def parameters(made: Plan) -> Table:
    pool = made.pool
    kb = "KiB" if pool.units == "binary" else "KB"
    where = f"{pool.chip}: " if pool.chip else ""
    title = f"BCC, {where}{some(pool.ports, 'port')} of {rate(pool.rate_bps)} at a pool of {exact(pool.buffer)}"
    table = titled(title)
    for heading in ("", "formula", "with numbers"):
        table.add_column(heading)
    table.add_column("bytes", justify="right")
    table.add_column(kb, justify="right")

    def row(name: str, formula: str, numbers: str, value: int, in_kb: int) -> None:
        table.add_row(name, formula, numbers, f"{value:,}", f"{in_kb:,}")

    c, rtt = rate(pool.rate_bps), span(pool.rtt_s)
    need = f"{pool.bdp:,.0f} B x {1 + pool.lambda_:g} - {exact(pool.private)}"
    kmax = f"{exact(pool.buffer)} - {exact(made.required)} / {pool.alpha:g}"
    kmin = f"{exact(made.kmax)} - {exact(pool.marking_range)} ({rate(pool.capacity)} x {span(pool.h_s)})"
    row("K_port", "C RTT lambda", f"{c} x {rtt} x {pool.lambda_:g}", made.k_port, made.k_port // pool.kilo)
    row("B_R", "C RTT (1 + lambda) - S_min", need, made.required, -(-made.required // pool.kilo))
    row("Kmax", "B - B_R / alpha_min", kmax, made.kmax, made.kmax // pool.kilo)
    row("Kmin", "Kmax - C N h", kmin, made.kmin, made.kmin // pool.kilo)
    if pool.variant == "cut-off":
        low = made.thresholds[0]
        row("cut-off", "(Kmin + Kmax) / 2", "in place of Kmin and Kmax", low, low // pool.kilo)
    table.add_row("Pmax", "", "all above the cut-off" if pool.variant == "cut-off" else "", f"{made.pmax:.3g}", "")
    table.caption = "Rounded in the safe direction: thresholds down, B_R up."
    if pool.units == "binary":
        table.caption += " C RTT in MB of 2^20, C N h in KB of 2^10, as the authors' simulations; K_port in bytes."
    table.caption_justify = "left"
    return table


def predictions(made: Plan) -> Table:
    title = f"Congested queues of {made.queues}, and what K_port = {exact(made.k_port)} makes of them"
    table = titled(title)
    for heading in ("congested", "each can have", "at K_port they take of the pool", "without BCC", "the pool marks"):
        table.add_column(heading, justify="right")
    for row in shares(made):
        marks = f"{row['probability']:.2g} of packets" if 0 < row["probability"] < 1 else "all packets"
        table.add_row(
            f"{row['queues']}",
            exact(row["share"]),
            exact(row["held"]),
            "drops" if row["drops"] else "room",
            marks if row["probability"] else "nothing",
        )
    table.caption = f"{turn(made.drops_from, 'Without BCC drops begin')} {turn(made.marks_from, 'The pool marks')}"
    table.caption_justify = "left"
    return table


def turn(number: int | None, what: str) -> str:
    """Writes from how many queues on something happens."""
    if number is None:
        return f"{what} at no number of them."
    return f"{what} from {some(number, 'congested queue')} on."


def chip_table() -> Table:
    """Returns a table of every chip with the figures of Table I. KB has 1024 B if the memory is given in MiB."""
    table = Table(box=None, pad_edge=False)
    table.add_column("chip")
    for heading in ("ports", "rate", "memory", "MMUs", "KB a port", "KB a port and Gbps", "pool", "alpha"):
        table.add_column(heading, justify="right")
    table.add_column("source")
    for chip in chips().values():
        kilo = 1024 if chip["memory"].endswith("MiB") else 1000
        port = chip["memory_bytes"] / chip["ports"] / kilo
        table.add_row(
            chip["name"],
            f"{chip['ports']}",
            rate(chip["rate_bps"]),
            chip["memory"],
            f"{chip['mmus']}",
            f"{port:,.0f}" if port >= 100 else f"{port:.3g}",
            f"{port * 1e9 / chip['rate_bps']:.3g}",
            exact(chip["pool_bytes"]),
            f"{chip['alpha']:g}",
            chip["source"],
        )
    return table


def exact(value: float) -> str:
    """Writes a number of bytes with all digits."""
    return f"{value:,.0f} B"


def rate(value: float) -> str:
    scale, unit = next((one for one in ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "Kbps")) if value >= one[0]), (1.0, "bps"))
    return f"{value / scale:g} {unit}"
