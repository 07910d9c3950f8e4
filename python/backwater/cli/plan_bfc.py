"""`backwater plan bfc`: BFC's switch, and with a workload the queues its ports need."""

from __future__ import annotations

from typing import Annotated

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import Json, quantity, valued
from backwater.common.quantities import BINARY_SIZES, RATES, SIZES, TIMES

with when_used():
    from backwater.cli import printing, terminal
    from backwater.plan import bfc


SWITCH, TRAFFIC = "The switch", "The traffic"


def plan_bfc(
    chip: Annotated[
        str | None,
        valued(
            "--chip", "CHIP", "Take ports, rate, queues and buffer of a chip that `backwater list chips` names.", SWITCH
        ),
    ] = None,
    ports: Annotated[int | None, valued("--ports", "N", "Set the number of ports. [default: 128]", SWITCH)] = None,
    rate: Annotated[str | None, valued("--rate", "RATE", "Set the rate of a port. [default: 100 Gbps]", SWITCH)] = None,
    queues: Annotated[
        int | None,
        valued(
            "--queues", "N", "Set the number of hardware queues of a port; one is for control. [default: 32]", SWITCH
        ),
    ] = None,
    cell: Annotated[
        str | None, valued("--cell", "SIZE", "Set the size of a cell of the buffer. [default: 176 B]", SWITCH)
    ] = None,
    pipelines: Annotated[
        int | None, valued("--pipelines", "N", "Set the number of ingress pipelines. [default: 4]", SWITCH)
    ] = None,
    hrtt: Annotated[
        str | None, valued("--hrtt", "TIME", "Set the round-trip time of one hop. [default: 2 us]", SWITCH)
    ] = None,
    buffer: Annotated[
        str | None, valued("--buffer", "SIZE", "Set the buffer of the switch. [default: 12 MB]", SWITCH)
    ] = None,
    workload: Annotated[
        str | None,
        valued(
            "--workload",
            "TABLE",
            "Compute the queues for these flow sizes: a table of `backwater list workloads`, or a CSV file.",
            TRAFFIC,
        ),
    ] = None,
    load: Annotated[
        float | None,
        valued("--load", "X", "Set the load of a port, headers included, such as 0.8 or 80%. [default: 0.8]", TRAFFIC),
    ] = None,
    target: Annotated[
        float | None,
        valued(
            "--target",
            "X",
            "Set the share of time, or flows, that may lack a queue, such as 1%. [default: 0.01]",
            TRAFFIC,
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
        "rate": quantity("--rate", rate, RATES),
        "queues": queues,
        "cell": quantity("--cell", cell, SIZES | BINARY_SIZES),
        "pipelines": pipelines,
        "hrtt": quantity("--hrtt", hrtt, TIMES),
        "buffer": quantity("--buffer", buffer, SIZES | BINARY_SIZES),
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
        printing.print_json(bfc.as_json(switch, demand))
        return
    for table in bfc.tables(switch, demand):
        terminal.out.print(table)
