"""`backwater plan bfc`: BFC's switch, and with a workload the queues its ports need."""

from __future__ import annotations

from typing import Annotated

import typer

from backwater import _core
from backwater.cli.options import Json, quantity, real, whole
from backwater.cli.printing import print_json
from backwater.plan import bcc, bfc, flowsail
from backwater.terminal import out

SWITCH, TRAFFIC = "The switch", "The traffic"


def plan_bfc(
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip",
            metavar="CHIP",
            help="Take ports, rate, queues and buffer of a chip that `backwater list chips` names.",
            rich_help_panel=SWITCH,
        ),
    ] = None,
    ports: Annotated[
        int | None,
        typer.Option(
            "--ports",
            metavar="N",
            parser=whole(),
            help="Set the number of ports. [default: 128]",
            rich_help_panel=SWITCH,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate", metavar="RATE", help="Set the rate of a port. [default: 100 Gbps]", rich_help_panel=SWITCH
        ),
    ] = None,
    queues: Annotated[
        int | None,
        typer.Option(
            "--queues",
            metavar="N",
            parser=whole(),
            help="Set the number of hardware queues of a port; one is for control. [default: 32]",
            rich_help_panel=SWITCH,
        ),
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option(
            "--cell",
            metavar="SIZE",
            help="Set the size of a cell of the buffer. [default: 176 B]",
            rich_help_panel=SWITCH,
        ),
    ] = None,
    pipelines: Annotated[
        int | None,
        typer.Option(
            "--pipelines",
            metavar="N",
            parser=whole(),
            help="Set the number of ingress pipelines. [default: 4]",
            rich_help_panel=SWITCH,
        ),
    ] = None,
    hrtt: Annotated[
        str | None,
        typer.Option(
            "--hrtt", metavar="TIME", help="Set the round-trip time of one hop. [default: 2 us]", rich_help_panel=SWITCH
        ),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            "--buffer", metavar="SIZE", help="Set the buffer of the switch. [default: 12 MB]", rich_help_panel=SWITCH
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="TABLE",
            help="Compute the queues for these flow sizes: a table of `backwater list workloads`, or a CSV file.",
            rich_help_panel=TRAFFIC,
        ),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(
            "--load",
            metavar="X",
            parser=real,
            help="Set the load of a port, headers included, such as 0.8 or 80%. [default: 0.8]",
            rich_help_panel=TRAFFIC,
        ),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            "--target",
            metavar="X",
            parser=real,
            help="Set the share of time, or flows, that may lack a queue, such as 1%. [default: 0.01]",
            rich_help_panel=TRAFFIC,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute BFC's tables, thresholds and queues.

    With --workload it also computes how many queues a port needs.

    Examples:
        backwater plan bfc --ports 64 --rate "400 Gbps"
        backwater plan bfc --workload google_rpc --load 60%
    """
    asked = {
        "ports": ports,
        "rate": quantity("--rate", rate, flowsail.RATES),
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
    if as_json:
        print_json(bfc.as_json(switch, demand))
        return
    for table in bfc.tables(switch, demand):
        out.print(table)
