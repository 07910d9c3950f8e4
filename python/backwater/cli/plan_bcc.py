"""`backwater plan bcc`: BCC's thresholds, the configurations that set them, and a simulation that tries them."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from backwater import _core, disk, signals
from backwater.cli.exits import stoppable
from backwater.cli.options import Json, quantity, real, unpercented, whole
from backwater.cli.printing import print_json
from backwater.plan import bcc, bcc_config, bcc_trial, flowsail
from backwater.sweep import Watch
from backwater.terminal import out, progress_watch, say
from backwater.writer import left_at, left_of

SWITCH, MARKING, CONFIGURATION, TRIAL = "The switch", "The marking", "A configuration", "A trial"
LOADS = "0.4,0.5,0.6,0.7,0.8,0.9"


def plan_bcc(
    rtt: Annotated[str, typer.Option("--rtt", metavar="TIME", help="Set the base round-trip time, hosts included.")],
    chip: Annotated[
        str,
        typer.Option(
            "--chip",
            metavar="CHIP",
            help="Take ports, rate and memory of a chip that `backwater list chips` names.",
            rich_help_panel=SWITCH,
        ),
    ] = "tomahawk",
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate", metavar="RATE", help="Set the rate of a port. [default: the chip's]", rich_help_panel=SWITCH
        ),
    ] = None,
    ports: Annotated[
        int | None,
        typer.Option(
            "--ports",
            metavar="N",
            parser=whole(),
            help="Set the number of ports of one pool. [default: the chip's]",
            rich_help_panel=SWITCH,
        ),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            "--capacity",
            metavar="RATE",
            help="Set the sum of the rates of all ports of the pool, if they differ. [default: all at --rate]",
            rich_help_panel=SWITCH,
        ),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            "--buffer", metavar="SIZE", help="Set the size of one pool. [default: the chip's]", rich_help_panel=SWITCH
        ),
    ] = None,
    private: Annotated[
        str | None,
        typer.Option(
            "--private",
            metavar="SIZE",
            help="Set the least memory that is reserved for a queue. [default: the chip's]",
            rich_help_panel=SWITCH,
        ),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            "--alpha",
            metavar="X",
            help="Set the alpha of every queue, such as 4 or 1/2. [default: the chip's]",
            rich_help_panel=SWITCH,
        ),
    ] = None,
    alphas: Annotated[
        str | None,
        typer.Option(
            "--alphas",
            metavar="LIST",
            help="Set the alpha of each queue of a port, such as 4,1. The smallest decides.",
            rich_help_panel=SWITCH,
        ),
    ] = None,
    queues: Annotated[
        int,
        typer.Option(
            "--queues", metavar="N", parser=whole(), help="Set the number of queues of a port.", rich_help_panel=SWITCH
        ),
    ] = 1,
    units: Annotated[
        str,
        typer.Option(
            "--units",
            metavar="UNITS",
            help="Read sizes as decimal, or binary as the authors' simulations do.",
            rich_help_panel=SWITCH,
        ),
    ] = "decimal",
    lambda_: Annotated[
        float,
        typer.Option(
            "--lambda",
            metavar="X",
            parser=real,
            help="Set the share of C RTT that the congested queue needs for full rate: 0.72 for DCTCP, 1 for ECN*.",
            rich_help_panel=MARKING,
        ),
    ] = bcc.LAMBDA,
    h: Annotated[
        str,
        typer.Option(
            "--h",
            metavar="TIME",
            help="Set the width of the marking range, Kmax - Kmin, as the time that the whole pool takes to drain it.",
            rich_help_panel=MARKING,
        ),
    ] = "8 us",
    pmax: Annotated[
        float,
        typer.Option(
            "--pmax",
            metavar="X",
            parser=real,
            help="Set the share of packets that are marked just below Kmax, such as 0.1 or 10%.",
            rich_help_panel=MARKING,
        ),
    ] = bcc.PMAX,
    variant: Annotated[
        str,
        typer.Option(
            "--variant",
            metavar="VARIANT",
            help="Compute red, or cut-off with one threshold midway.",
            rich_help_panel=MARKING,
        ),
    ] = "red",
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="SYSTEM",
            help=f"Print the configuration of a system: {', '.join(bcc_config.SYSTEMS)} or all.",
            rich_help_panel=CONFIGURATION,
        ),
    ] = None,
    name: Annotated[
        str,
        typer.Option(
            "--name", metavar="NAME", help="Call the profile in the configuration NAME.", rich_help_panel=CONFIGURATION
        ),
    ] = "BCC",
    queue: Annotated[
        int,
        typer.Option(
            "--queue",
            metavar="N",
            parser=whole(),
            help="Configure the queue with this number.",
            rich_help_panel=CONFIGURATION,
        ),
    ] = 0,
    interface: Annotated[
        str | None,
        typer.Option(
            "--interface",
            metavar="PORT",
            help="Configure this port. The others are alike.",
            rich_help_panel=CONFIGURATION,
        ),
    ] = None,
    kilo: Annotated[
        int,
        typer.Option(
            "--kilo",
            metavar="N",
            parser=whole(),
            help="Count N bytes as a KB of the system; 1024 is safe in either case.",
            rich_help_panel=CONFIGURATION,
        ),
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
        int | None,
        typer.Option(
            "--flows",
            metavar="N",
            parser=whole(),
            help=f"Simulate N flows in each run. [default: {bcc_trial.FLOWS}]",
            rich_help_panel=TRIAL,
        ),
    ] = None,
    loads: Annotated[
        str | None,
        typer.Option(
            "--loads",
            metavar="LIST",
            help=f"Simulate the links at these loads. [default: {LOADS}]",
            rich_help_panel=TRIAL,
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Keep the simulation and its report in DIR.", rich_help_panel=TRIAL),
    ] = None,
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
    if (bare or out_file) and config in (None, "all"):
        option = "--bare" if bare else f"--out {out_file}"
        raise _core.InputError(f"{option}: expected --config with one of {', '.join(bcc_config.SYSTEMS)}")
    for option, asked_for in (("--keep", keep), ("--flows", flows), ("--loads", loads)):
        if asked_for is not None and not simulate:
            raise _core.InputError(f"{option} {asked_for}: expected --simulate with it")
    if bare and simulate:
        raise _core.InputError("--bare: not with --simulate")
    if bare and as_json:
        raise _core.InputError("--bare: not with --json, which has everything")
    asked = {
        "rate_bps": quantity("--rate", rate, flowsail.RATES),
        "ports": ports,
        "capacity_bps": quantity("--capacity", capacity, flowsail.RATES),
        "buffer": quantity("--buffer", bcc.counted(buffer, units), bcc.SIZES),
        "private": quantity("--private", bcc.counted(private, units), bcc.SIZES),
        "alphas": bcc.numbers("--alpha", alpha) or bcc.numbers("--alphas", alphas) or None,
        "rtt_s": quantity("--rtt", rtt, flowsail.TIMES),
        "h_s": quantity("--h", h, flowsail.TIMES),
        "lambda_": lambda_,
        "pmax": pmax,
        "queues": queues,
        "variant": variant,
        "units": units,
    }
    given = bcc.of_chip(chip, units) | {key: value for key, value in asked.items() if value is not None}
    made = bcc.plan(bcc.Pool(**given))
    low, high = made.thresholds
    systems = []
    if config is not None:
        marking = bcc_config.Marking(made.k_port, low, high, made.pmax, name, queue, interface, kilo)
        systems = bcc_config.configurations(config, marking)
    if out_file is not None:
        with disk.errors(out_file):
            disk.write_whole(out_file, systems[0].text + "\n")
    tried = []
    shares = bcc.numbers("--loads", unpercented(f"={loads or LOADS}")[1:])
    if simulate:
        with (
            stoppable(lambda: left_of(keep) if keep is not None else "nothing was kept") as stop,
            progress_watch() if not as_json else contextlib.nullcontext(Watch()) as watch,
        ):
            done = bcc_trial.run(made, flows if flows is not None else bcc_trial.FLOWS, shares, keep, watch, stop)
        if done.interrupted:
            say(f"{signals.name()}: {left_at(done.path) if keep is not None else 'nothing was kept'}")
            raise typer.Exit(signals.code())
        tried = bcc_trial.outcome(done)
    if as_json:
        shown = {"configurations": [vars(system) for system in systems], "simulated": tried}
        print_json(bcc.as_json(made) | shown)
        return
    for warning in made.warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    if bare:
        print(systems[0].text)
        return
    for table in bcc.tables(made):
        out.print(table)
    if tried:
        out.print(bcc_trial.table(tried))
    if keep is not None and simulate:
        say(f"Report: {keep / 'report.html'}")
    for system in systems:
        print("\n".join(["", *bcc_config.section(system)]).rstrip())
