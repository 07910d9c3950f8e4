"""`backwater plan bfc`: BFC's switch, and with a workload the queues its ports need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from backwater import _core, disk
from backwater.cli.options import check_file, quantity, real, whole
from backwater.plan import bcc, bfc, flowsail
from backwater.terminal import out


def plan_bfc(
    chip: Annotated[
        str | None, typer.Option(metavar="CHIP", help="Ports, speed, queues and buffer of one of `backwater chips`.")
    ] = None,
    ports: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="Ports of the switch. [default: 128]")
    ] = None,
    speed: Annotated[
        str | None, typer.Option(metavar="RATE", help="Of a port. [default: 100 Gbps]", show_default=False)
    ] = None,
    queues: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="N", help="Hardware queues of a port, one for control. [default: 32]"),
    ] = None,
    cell: Annotated[str | None, typer.Option(metavar="SIZE", help="Of the buffer. [default: 176 B]")] = None,
    pipelines: Annotated[int | None, typer.Option(parser=whole, metavar="N", help="At ingress. [default: 4]")] = None,
    hrtt: Annotated[str | None, typer.Option(metavar="TIME", help="Round trip of one hop. [default: 2 us]")] = None,
    buffer: Annotated[str | None, typer.Option(metavar="SIZE", help="Of the switch. [default: 12 MB]")] = None,
    workload: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Flow sizes: a table that ships, or a CSV file.")
    ] = None,
    load: Annotated[
        float | None, typer.Option(parser=real, metavar="X", help="Of a port, headers included. [default: 0.8]")
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(parser=real, metavar="X", help="Share of time or flows left over. [default: 0.01]"),
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write it here as well.")] = None,
) -> None:
    """BFC's tables, thresholds and recirculation, and how many queues a port needs."""
    asked = {
        "ports": ports,
        "rate": quantity("--speed", speed, flowsail.RATES),
        "queues": queues,
        "cell": quantity("--cell", cell, bcc.SIZES),
        "pipelines": pipelines,
        "hrtt": quantity("--hrtt", hrtt, flowsail.TIMES),
        "buffer": quantity("--buffer", buffer, bcc.SIZES),
    }
    given = {} if chip is None else bfc.of_chip(chip)
    switch = bfc.Switch(**given | {key: value for key, value in asked.items() if value is not None})
    demand = None
    if workload is not None:
        demand = bfc.Demand.of(workload, 0.8 if load is None else load, 0.01 if target is None else target)
    else:
        for option, value in (("--load", load), ("--target", target)):
            if value is not None:
                raise _core.InputError(f"{option} {value:g}: expected --workload with it")
    if json_file is not None:
        check_file("--json", json_file)
    for table in bfc.tables(switch, demand):
        out.print(table)
    if json_file is not None:
        with disk.errors(json_file):
            disk.write_whole(json_file, json.dumps(bfc.as_json(switch, demand), indent=2) + "\n")
