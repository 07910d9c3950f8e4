"""`backwater plan bcc`: BCC's thresholds, the configurations that set them, and a simulation that tries them."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from backwater import _core, disk, signals
from backwater.cli.exits import stoppable
from backwater.cli.options import quantity, real, whole
from backwater.plan import bcc, bcc_config, bcc_trial, flowsail
from backwater.sweep import Watch
from backwater.terminal import out, progress_watch, say
from backwater.writer import left_at, left_of


def plan_bcc(
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Base round trip, hosts included.")],
    chip: Annotated[str, typer.Option(metavar="CHIP", help="One of `backwater chips`.")] = "tomahawk",
    lambda_: Annotated[
        float,
        typer.Option(
            "--lambda",
            parser=real,
            metavar="X",
            help="Of the congested queue for full rate, in C RTT: 0.72 for DCTCP, 1 for ECN*.",
        ),
    ] = bcc.LAMBDA,
    h: Annotated[str, typer.Option(metavar="TIME", help="Kmax - Kmin, in time at C N.")] = "8 us",
    pmax: Annotated[
        float, typer.Option(parser=real, metavar="X", help="Share of packets marked just below Kmax.")
    ] = bcc.PMAX,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Of a port. [default: of the chip]")] = None,
    ports: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="Ports of one pool. [default: of the chip]")
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Of all ports of the pool, where they differ. [default: all at --rate]"),
    ] = None,
    buffer: Annotated[str | None, typer.Option(metavar="SIZE", help="Of one pool. [default: of the chip]")] = None,
    private: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Least reserved for a queue. [default: of the chip]")
    ] = None,
    alpha: Annotated[str | None, typer.Option(help="Of every queue, such as 4 or 1/2. [default: of the chip]")] = None,
    alphas: Annotated[
        str | None, typer.Option(metavar="LIST", help="Of each queue of a port, such as 4,1; the least decides.")
    ] = None,
    queues: Annotated[int, typer.Option(parser=whole, metavar="N", help="Of a port.")] = 1,
    variant: Annotated[str, typer.Option(help="red, or cut-off: one threshold midway.")] = "red",
    units: Annotated[
        str, typer.Option(help="decimal, or binary: sizes as the authors' simulations count them.")
    ] = "decimal",
    config: Annotated[
        str | None,
        typer.Option(metavar="SYSTEM", help=f"Print its configuration: {', '.join(bcc_config.SYSTEMS)}, all."),
    ] = None,
    name: Annotated[str, typer.Option(help="Of the profile in a configuration.")] = "BCC",
    queue: Annotated[int, typer.Option(parser=whole, metavar="N", help="Which queue to configure.")] = 0,
    interface: Annotated[str | None, typer.Option(help="Which port to configure; the others are alike.")] = None,
    kilo: Annotated[
        int, typer.Option(parser=whole, metavar="N", help="Bytes of a KB of the system; 1024 is safe in either case.")
    ] = 1000,
    bare: Annotated[bool, typer.Option("--bare", help="Print the configuration alone.")] = False,
    out_file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the configuration alone to FILE.")
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Try it: loss, timeouts and completion times with BCC and without.")
    ] = False,
    flows: Annotated[int, typer.Option(parser=whole, metavar="N", help="Of each simulated run.")] = bcc_trial.FLOWS,
    loads: Annotated[str, typer.Option(metavar="LIST", help="Of the simulated links.")] = "0.4,0.5,0.6,0.7,0.8,0.9",
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Keep the simulation, with its report. [default: not]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """BCC's thresholds for a switch, what they will do, and how real switches are given them."""
    for option, value, known in (("--variant", variant, ("red", "cut-off")), ("--units", units, ("decimal", "binary"))):
        if value not in known:
            raise _core.InputError(f"{option} {value}: expected {' or '.join(known)}")
    if alpha is not None and alphas is not None:
        raise _core.InputError(f"--alpha {alpha}: not with --alphas, which has each queue's")
    if (bare or out_file) and config in (None, "all"):
        option = "--bare" if bare else f"--out {out_file}"
        raise _core.InputError(f"{option}: expected --config with one of {', '.join(bcc_config.SYSTEMS)}")
    if keep is not None and not simulate:
        raise _core.InputError(f"--keep {keep}: expected --simulate, which makes what is kept")
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
    if simulate:
        with (
            stoppable(lambda: left_of(keep) if keep is not None else "nothing was kept") as stop,
            progress_watch() if not as_json else contextlib.nullcontext(Watch()) as watch,
        ):
            done = bcc_trial.run(made, flows, bcc.numbers("--loads", loads), keep, watch, stop)
        if done.interrupted:
            say(f"{signals.name()}: {left_at(done.path) if keep is not None else 'nothing was kept'}")
            raise typer.Exit(signals.code())
        tried = bcc_trial.outcome(done)
    if as_json:
        shown = {"configurations": [vars(system) for system in systems], "simulated": tried}
        print(json.dumps(bcc.as_json(made) | shown, indent=2))
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
