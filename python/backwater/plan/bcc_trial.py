"""Tries a BCC plan in simulations: loss, timeouts and completion times by load, with the pool's marking and without.

Without it a port marks at K_port, or at its share of the memory where that is less, so that all ports have room for
their thresholds. Where a queue has memory to itself the same is run without, because that decides between the rules.

The pool's ports are receivers and three times as many hosts send to them, as in section III-C of Bai et al., "One More
Config Is Enough", IEEE/ACM ToN 2021 (32 hosts, 24 senders), as far as one switch has ports: web search sizes, Poisson
arrivals, DCTCP as in the presets `bcc` and `dctcp-tcp`. Load is that of the receivers' links, headers included. A round
trip is four link delays. A flow is complete when its sender has the last acknowledgement.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, TypedDict

from rich.table import Table

from backwater._core import InputError
from backwater.common import disk
from backwater.common.quantities import as_number, count, percent, size, span
from backwater.common.signals import Stop
from backwater.execute.sweep import Watch
from backwater.experiment import Experiment
from backwater.judge import leaves
from backwater.judge.columns import Columns
from backwater.judge.statistics import NoData
from backwater.plan.bcc import Plan, whole
from backwater.plan.shown import titled
from backwater.runs.run import Run
from backwater.runs.writer import opened
from backwater.show.results import Results

LOADS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MEAN_FLOW = 1.7e6
"""Of web search sizes, bytes."""
PAPERS_WINDOW, PAPERS_BDP = 125, 1e6
"""The presets' largest window, segments, and the bytes of a round trip that it is for."""
WITH, WITHOUT, SHARE = "BCC", "K_port alone", "its share alone"
SLA = 0.001
"""Share of packets lost that the paper takes from operators as the most they allow."""
MOST_HOSTS = 255
"""Ports that a simulated switch may have."""


def refuse(made: Plan, flows: int, loads: tuple[float, ...]) -> None:
    """Refuses a plan that cannot be simulated.

    # Errors
    `InputError` naming the option, the value and what is allowed.
    """
    if not 100 <= flows <= 10_000_000:
        raise InputError(f"--flows {flows}: expected 100 to 10000000")
    if not loads or not all(0.01 <= load <= 0.99 for load in loads) or len(set(loads)) < len(loads):
        text = ",".join(f"{load:g}" for load in loads)
        raise InputError(f"--loads {text}: expected different shares from 0.01 to 0.99, such as 0.4,0.9")
    for option, value, most in (("--ports", made.pool.ports, MOST_HOSTS // 2), ("--queues", made.pool.queues, 1)):
        if value > most:
            raise InputError(f"{option} {value}: expected at most {most} with --simulate")
    if made.pool.capacity_bps is not None:
        raise InputError("--capacity: not with --simulate, whose ports are alike")


def share_of(made: Plan) -> int | None:
    """Returns the bytes of memory for each port, if these are less than K_port."""
    share = whole(made.pool.buffer / made.pool.ports + made.pool.private)
    return share if share < made.k_port else None


def scenario(made: Plan, flows: int, loads: tuple[float, ...]) -> str:
    """Returns the scenario file of the trial."""
    pool = made.pool
    low, high = made.thresholds
    hosts = min(4 * pool.ports, MOST_HOSTS)
    reserved = [whole(pool.private), *([0] if pool.private else [])]
    share = share_of(made)
    longest = 4 * flows * MEAN_FLOW / (min(loads) * pool.rate_bps / 8 * pool.ports)
    switch: dict[str, str | float] = {
        "buffer": f"{whole(pool.buffer)} B",
        "alpha": pool.alpha,
        "mmu.ports": pool.ports,
        "mmu.private": f"{reserved[0]} B",
        "ecn.kmin": f"{made.k_port} B",
        "ecn.kmax": f"{made.k_port} B",
        "ecn.pmax": 1.0,
    }
    marking = {"kmin": f"{low} B", "kmax": f"{high} B", "pmax": made.pmax, "spacing": "plain"}
    lines = [
        f"# BCC, planned for {pool.ports} ports of {pool.rate_bps / 1e9:g} Gbps at a pool of {whole(pool.buffer)} B.",
        "",
        f"name = {toml(f'bcc-{pool.chip}' if pool.chip else 'bcc-plan')}",
        f"description = {toml(f'{hosts - pool.ports} hosts send to {pool.ports} at one pool, web search sizes.')}",
        "",
        "[topology]",
        'kind = "single-switch"',
        f"hosts = {hosts}",
        f"rate = {toml(f'{pool.rate_bps:.0f} bps')}",
        f"delay = {toml(f'{round(pool.rtt_s / 4 * 1e12)} ps')}",
        "",
        "[switch]",
        *(f"{key} = {toml(value)}" for key, value in switch.items()),
        "",
        "[host.tcp]",
        f"max_window = {max(PAPERS_WINDOW, math.ceil(PAPERS_WINDOW * pool.bdp / PAPERS_BDP))}",
        "",
        "[[workload]]",
        'kind = "background"',
        'sizes = { table = "web_search" }',
        'arrivals = "poisson"',
        f"load = {loads[0]:g}",
        'load_of = "receivers"',
        "load_with_headers = true",
        f'from = ["host{pool.ports}..host{hosts - 1}"]',
        f'to = ["host0..host{pool.ports - 1}"]',
        "",
        "[run]",
        f"flows = {flows}",
        f"duration = {toml(f'{math.ceil(longest * 1e6)} us')}",
        'warmup = "0 us"',
        "",
        "[[variant]]",
        f"name = {toml(WITH)}",
        'scheme = "bcc"',
        *(f'"switch.pool_ecn.{key}" = {toml(value)}' for key, value in marking.items()),
        "",
        "[[variant]]",
        f"name = {toml(WITHOUT)}",
        'scheme = "dctcp-tcp"',
        "",
        *([] if share is None else of_its_share(share)),
        "[sweep]",
        f'"switch.mmu.private" = {json.dumps([f"{amount} B" for amount in reserved])}',
        f'"workload.0.load" = {json.dumps(list(loads))}',
    ]
    return "\n".join(lines) + "\n"


def of_its_share(share: int) -> list[str]:
    return [
        "[[variant]]",
        f"name = {toml(SHARE)}",
        'scheme = "dctcp-tcp"',
        *(f'"switch.ecn.{key}" = "{share} B"' for key in ("kmin", "kmax")),
        "",
    ]


def toml(value: Any) -> str:
    """Writes TOML. Texts and numbers are as in JSON."""
    return json.dumps(value)


def run(
    made: Plan, flows: int, loads: tuple[float, ...], keep: Path | None, watch: Watch, stop: Stop | None = None
) -> Results:
    """Runs the trial until `stop` is set. Scenario and results are stored in `keep`, if it is given.

    # Errors
    `InputError` where the plan cannot be simulated, or the directory exists or cannot be written.
    """
    refuse(made, flows, loads)
    if keep is not None and (standing := opened(keep)) is not None and not standing.interrupted:
        raise InputError(f"--keep {keep}: holds a run already; name another directory")
    with disk.scratch() as place:
        file = place / "bcc.toml"
        file.write_text(scenario(made, flows, loads), encoding="utf-8")
        done = Experiment(file).simulate(keep, watch=watch, stop=stop)
        if not done.interrupted:
            done.report(formats=())
    if keep is not None:
        with disk.errors(keep):
            disk.write_whole(keep / file.name, scenario(made, flows, loads))
    return done


class Row(TypedDict):
    """Results of a run, in shares of 1, bytes and seconds. A value is None if too few flows finished."""

    load: float
    reserved_bytes: float
    variant: str
    loss: float
    timeouts: int
    unfinished: int
    small_p99_s: float | None
    small_mean_s: float | None
    large_mean_s: float | None
    mean_s: float | None


def outcome(done: Results) -> list[Row]:
    """Returns the results of each run, in shares of 1, bytes and seconds. A value is None if too few flows finished."""
    return [row(one) for one in done.runs]


def row(one: Run) -> Row:
    columns = Columns()

    def fct(statistic: str, sizes: str) -> float | None:
        try:
            return leaves.read(columns, [one], {"fct_ack": statistic, "sizes": sizes})
        except NoData:
            return None

    timeouts = one.summary["timeouts"]
    return {
        "load": as_number(one.params["workload.0.load"], "a load"),
        "reserved_bytes": as_number(one.scenario["switch"]["mmu"]["private"], "a reservation"),
        "variant": one.variant,
        "loss": one.summary["loss"]["share"] or 0.0,
        "timeouts": timeouts["total"] if timeouts else 0,
        "unfinished": one.summary["flows"]["unfinished"],
        "small_p99_s": fct("p99", "<=100000"),
        "small_mean_s": fct("mean", "<=100000"),
        "large_mean_s": fct("mean", ">10000000"),
        "mean_s": fct("mean", ""),
    }


def table(rows: list[Row]) -> Table:
    shown = titled("Simulated: completion times of flows by size")
    shown.add_column("load", justify="right")
    shown.add_column("reserved", justify="right")
    shown.add_column("")
    for heading in ("packets lost", "timeouts", "p99, up to 100 KB", "mean, up to 100 KB", "mean, above 10 MB", "mean"):
        shown.add_column(heading, justify="right")
    order = (WITH, WITHOUT, SHARE)
    for one in sorted(rows, key=lambda row: (row["load"], -row["reserved_bytes"], order.index(row["variant"]))):
        times = (one["small_p99_s"], one["small_mean_s"], one["large_mean_s"], one["mean_s"])
        shown.add_row(
            percent(one["load"]),
            size(one["reserved_bytes"]),
            one["variant"],
            percent(one["loss"], 3),
            count(one["timeouts"]),
            *("-" if time is None else span(time) for time in times),
        )
    amounts = sorted({one["reserved_bytes"] for one in rows}, reverse=True)
    shown.caption = "\n".join(told(rows, amount) for amount in amounts)
    shown.caption_justify = "left"
    return shown


def told(rows: list[Row], reserved: float) -> str:
    """Says in words from which load on each variant loses too much, and which one loses least."""
    mine = [one for one in rows if one["reserved_bytes"] == reserved]
    variants = list(dict.fromkeys(one["variant"] for one in mine))
    busiest = max(one["load"] for one in mine)
    lost = {one["variant"]: one["loss"] for one in mine if one["load"] == busiest}
    least = min(lost, key=lambda variant: lost[variant])
    over = "; ".join(f"{too_much(mine, name)} with {name}" for name in variants)
    at_most = f"At {percent(busiest)} {least} loses least."
    return f"{size(reserved)} reserved for a port: over {percent(SLA, 1)} lost {over}. {at_most}"


def too_much(rows: list[Row], variant: str) -> str:
    """Returns the load from which on more packets are lost than operators accept."""
    over = [one["load"] for one in rows if one["variant"] == variant and one["loss"] > SLA]
    return f"from {percent(min(over))} load on" if over else "at no load"
