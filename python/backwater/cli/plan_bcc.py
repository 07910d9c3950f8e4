"""`backwater plan bcc`: BCC's thresholds, the configurations that set them, and a simulation that tries them."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater.cli.exits import stoppable
from backwater.cli.later import when_used
from backwater.cli.options import Force, Json, check_file, quantity, unpercented, valued
from backwater.common import disk, signals
from backwater.common.quantities import BINARY_SIZES, RATES, SIZES, TIMES
from backwater.plan import bcc_config
from backwater.plan.bcc_defaults import LAMBDA, PMAX, TRIAL_FLOWS

with when_used():
    from backwater.cli import printing, terminal
    from backwater.execute import sweep as sweeping
    from backwater.plan import bcc, bcc_trial
    from backwater.runs import writer


SWITCH, MARKING, CONFIGURATION, TRIAL = "The switch", "The marking", "A configuration", "A trial"
LOADS = "0.4,0.5,0.6,0.7,0.8,0.9"


def plan_bcc(
    rtt: Annotated[str, typer.Option("--rtt", metavar="TIME", help="Set the base round-trip time, hosts included.")],
    chip: Annotated[
        str,
        valued("--chip", "CHIP", "Take ports, rate and memory of a chip that `backwater list chips` names.", SWITCH),
    ] = "tomahawk",
    rate: Annotated[
        str | None, valued("--rate", "RATE", "Set the rate of a port. [default: the chip's]", SWITCH)
    ] = None,
    ports: Annotated[
        int | None, valued("--ports", "N", "Set the number of ports of one pool. [default: the chip's]", SWITCH)
    ] = None,
    capacity: Annotated[
        str | None,
        valued(
            "--capacity",
            "RATE",
            "Set the sum of the rates of all ports of the pool, if they differ. [default: all at --rate]",
            SWITCH,
        ),
    ] = None,
    buffer: Annotated[
        str | None, valued("--buffer", "SIZE", "Set the size of one pool. [default: the chip's]", SWITCH)
    ] = None,
    private: Annotated[
        str | None,
        valued("--private", "SIZE", "Set the least memory that is reserved for a queue. [default: the chip's]", SWITCH),
    ] = None,
    alpha: Annotated[
        str | None,
        valued("--alpha", "RATIO", "Set the alpha of every queue, such as 4 or 1/2. [default: the chip's]", SWITCH),
    ] = None,
    alphas: Annotated[
        str | None,
        valued("--alphas", "LIST", "Set the alpha of each queue of a port, such as 4,1. The smallest decides.", SWITCH),
    ] = None,
    queues: Annotated[int, valued("--queues", "N", "Set the number of queues of a port.", SWITCH)] = 1,
    units: Annotated[
        str, valued("--units", "UNITS", "Read sizes as decimal, or binary as the authors' simulations do.", SWITCH)
    ] = "decimal",
    lambda_: Annotated[
        float,
        valued(
            "--lambda",
            "X",
            "Set the share of C RTT that the congested queue needs for full rate: 0.72 for DCTCP, 1 for ECN*.",
            MARKING,
        ),
    ] = LAMBDA,
    h: Annotated[
        str,
        valued(
            "--h",
            "TIME",
            "Set the width of the marking range, Kmax - Kmin, as the time that the whole pool takes to drain it.",
            MARKING,
        ),
    ] = "8 us",
    pmax: Annotated[
        float,
        valued("--pmax", "X", "Set the share of packets that are marked just below Kmax, such as 0.1 or 10%.", MARKING),
    ] = PMAX,
    variant: Annotated[
        str, valued("--variant", "VARIANT", "Compute red, or cut-off with one threshold midway.", MARKING)
    ] = "red",
    config: Annotated[
        str | None,
        valued(
            "--config",
            "SYSTEM",
            f"Print the configuration of a system: {', '.join(bcc_config.SYSTEMS)} or all.",
            CONFIGURATION,
        ),
    ] = None,
    name: Annotated[
        str, valued("--name", "NAME", "Call the profile in the configuration NAME.", CONFIGURATION)
    ] = "BCC",
    queue: Annotated[int, valued("--queue", "N", "Configure the queue with this number.", CONFIGURATION)] = 0,
    interface: Annotated[
        str | None, valued("--interface", "PORT", "Configure this port. The others are alike.", CONFIGURATION)
    ] = None,
    kilo: Annotated[
        int, valued("--kilo", "N", "Count N bytes as a KB of the system; 1024 is safe in either case.", CONFIGURATION)
    ] = 1000,
    bare: Annotated[
        bool, typer.Option("--bare", help="Print the configuration alone.", rich_help_panel=CONFIGURATION)
    ] = False,
    out_file: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="Write the configuration alone to FILE.", rich_help_panel=CONFIGURATION
        ),
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate",
            help="Simulate the switch with BCC and without: loss, timeouts and completion times.",
            rich_help_panel=TRIAL,
        ),
    ] = False,
    flows: Annotated[
        int | None, valued("--flows", "N", f"Simulate N flows in each run. [default: {TRIAL_FLOWS}]", TRIAL)
    ] = None,
    loads: Annotated[
        str | None, valued("--loads", "LIST", f"Simulate the links at these loads. [default: {LOADS}]", TRIAL)
    ] = None,
    keep: Annotated[Path | None, valued("--keep", "DIR", "Keep the simulation and its report in DIR.", TRIAL)] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compute BCC's thresholds for a switch.

    It prints the thresholds, their effects, and configurations that set them on real switches.

    Examples:
        backwater plan bcc --rtt "80 us" --chip tomahawk
        backwater plan bcc --rtt "80 us" --config sonic --out bcc.json
        backwater plan bcc --rtt "80 us" --simulate
    """
    for option, value, known in (("--variant", variant, ("red", "cut-off")), ("--units", units, ("decimal", "binary"))):
        if value not in known:
            raise _core.InputError(f"{option} {value}: expected {' or '.join(known)}")
    if alpha is not None and alphas is not None:
        raise _core.InputError(f"--alpha {alpha}: not with --alphas, which has each queue's")
    check_configuration(config, out_file, bare=bare, simulate=simulate, as_json=as_json)
    for option, asked_for in (("--keep", keep), ("--flows", flows), ("--loads", loads)):
        if asked_for is not None and not simulate:
            raise _core.InputError(f"{option} {asked_for}: expected --simulate with it")
    if out_file is not None:
        check_file("--out", out_file, force=force)
    asked = {
        "rate_bps": quantity("--rate", rate, RATES),
        "ports": ports,
        "capacity_bps": quantity("--capacity", capacity, RATES),
        "buffer": quantity("--buffer", bcc.counted(buffer, units), SIZES | BINARY_SIZES),
        "private": quantity("--private", bcc.counted(private, units), SIZES | BINARY_SIZES),
        "alphas": bcc.numbers("--alpha", alpha) or bcc.numbers("--alphas", alphas) or None,
        "rtt_s": quantity("--rtt", rtt, TIMES),
        "h_s": quantity("--h", h, TIMES),
        "lambda_": lambda_,
        "pmax": pmax,
        "queues": queues,
        "variant": variant,
        "units": units,
    }
    given = bcc.of_chip(chip, units) | {key: value for key, value in asked.items() if value is not None}
    made = bcc.plan(bcc.Pool(**given))
    systems = []
    if config is not None:
        marking = bcc_config.Marking(made.k_port, *made.thresholds, made.pmax, name, queue, interface, kilo)
        systems = bcc_config.configurations(config, marking)
    if out_file is not None:
        with disk.errors(out_file):
            disk.write_whole(out_file, systems[0].text + "\n")
    shares = bcc.numbers("--loads", unpercented(f"={loads or LOADS}")[1:])
    tried = simulated(made, TRIAL_FLOWS if flows is None else flows, shares, keep, as_json=as_json) if simulate else []
    if as_json:
        shown = {"configurations": [vars(system) for system in systems], "simulated": tried}
        printing.print_json(bcc.as_json(made) | shown)
        return
    for warning in made.warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    if bare:
        print(systems[0].text)
        return
    for table in bcc.tables(made):
        terminal.out.print(table)
    if tried:
        terminal.out.print(bcc_trial.table(tried))
    if keep is not None:
        terminal.say(f"Report: {keep / 'report.html'}")
    for system in systems:
        print("\n".join(["", *bcc_config.section(system)]).rstrip())


def check_configuration(
    config: str | None, out_file: Path | None, *, bare: bool, simulate: bool, as_json: bool
) -> None:
    """Refuses options of a configuration that do not go together.

    # Errors
    `InputError` that names one of them.
    """
    if (bare or out_file) and config in (None, "all"):
        option = "--bare" if bare else f"--out {out_file}"
        raise _core.InputError(f"{option}: expected --config with one of {', '.join(bcc_config.SYSTEMS)}")
    if bare and simulate:
        raise _core.InputError("--bare: not with --simulate")
    if bare and as_json:
        raise _core.InputError("--bare: not with --json, which has everything")


def simulated(
    made: bcc.Plan, flows: int, loads: tuple[float, ...], keep: Path | None, *, as_json: bool
) -> list[bcc_trial.Row]:
    """Simulates the switch with BCC and without, and returns a row for each run. A signal ends the command."""
    with (
        stoppable(lambda: writer.left_of(keep) if keep is not None else "nothing was kept") as stop,
        terminal.progress_watch() if not as_json else contextlib.nullcontext(sweeping.Watch()) as watch,
    ):
        done = bcc_trial.run(made, flows, loads, keep, watch, stop)
    if done.interrupted:
        terminal.say(f"{signals.name()}: {writer.left_at(done.path) if keep is not None else 'nothing was kept'}")
        raise typer.Exit(signals.code())
    return bcc_trial.outcome(done)
