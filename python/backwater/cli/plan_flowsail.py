"""`backwater plan flowsail`: FlowSail's switch, as described, as in a scenario, or as measured in a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater.api import Experiment
from backwater.cli.options import Scale, Sets, quantity, real, whole
from backwater.compute import running
from backwater.hpcc import fct
from backwater.plan import flowsail
from backwater.terminal import out


def plan_flowsail(
    scenario: Annotated[
        Path | None, typer.Argument(metavar="[SCENARIO]", help="Take the largest FlowSail switch of this scenario.")
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option("--run", metavar="DIR", help="Take the switch and its measured control frames from a run."),
    ] = None,
    ports: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="Ports of the switch. [default: 32]")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Of a port. [default: 100 Gbps]", show_default=False)
    ] = None,
    delay: Annotated[str | None, typer.Option(metavar="TIME", help="Propagation of a link, half of HRTT.")] = None,
    hrtt: Annotated[str | None, typer.Option(metavar="TIME", help="Round trip of one hop. [default: 2 us]")] = None,
    queues: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="Data queues of a port, all groups. [default: 8]")
    ] = None,
    isolation_queues: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="Of each group. [default: 1]")
    ] = None,
    groups: Annotated[int | None, typer.Option(parser=whole, metavar="N", help="Priority groups. [default: 1]")] = None,
    flows: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="Active in the switch. [default: 10000]")
    ] = None,
    fingerprint: Annotated[int | None, typer.Option(parser=whole, metavar="N", help="Bits. [default: 24]")] = None,
    load_factor: Annotated[
        float | None, typer.Option(parser=real, metavar="X", help="Of the hash table. [default: 0.7]")
    ] = None,
    packet: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="Bytes of a full packet on the wire. [default: 1048]")
    ] = None,
    pauses_per_second: Annotated[
        float | None,
        typer.Option(parser=real, metavar="X", help="PAUSE frames the switch sends, and receives, a second."),
    ] = None,
    paused_flows: Annotated[
        float | None,
        typer.Option(parser=real, metavar="X", help="Flows it holds paused on average: what a refresh repeats."),
    ] = None,
    sets: Sets = None,
    scale: Scale = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """FlowSail's tables, memory, thresholds, mistaken identities and mirror load."""
    asked = {
        "ports": ports,
        "rate_bps": quantity("--rate", rate, flowsail.RATES),
        "hrtt_s": quantity("--hrtt", hrtt, flowsail.TIMES),
        "queues": queues,
        "groups": groups,
        "isolation_queues": isolation_queues,
        "flows": flows,
        "fingerprint_bits": fingerprint,
        "load_factor": load_factor,
        "packet_bytes": packet,
    }
    if (one_way := quantity("--delay", delay, flowsail.TIMES)) is not None:
        if hrtt is not None:
            raise _core.InputError(f"--hrtt {hrtt}: not with --delay, which is half of it")
        asked["hrtt_s"] = 2 * one_way
    given, done = {}, None
    if run_dir is not None:
        for option, value in (("SCENARIO", scenario), ("--set", sets), ("--scale", scale)):
            if value:
                raise _core.InputError(f"--run {run_dir}: not with {option}")
        if pauses_per_second is not None or paused_flows is not None:
            raise _core.InputError(
                f"--run {run_dir}: not with --pauses-per-second and --paused-flows: it measured them"
            )
        done = flowsail.first_of([(one, one.scenario) for one in fct.runs(run_dir)], run_dir)
        given = flowsail.described(done.scenario)
    elif scenario is not None:
        runs = Experiment.from_arguments(scenario, sets or [], scale).plan["runs"]
        running.networks(scenario, [run["scenario"] for run in runs])
        given = flowsail.described(flowsail.first_of([(one["scenario"], one["scenario"]) for one in runs], scenario))
    elif sets or scale:
        raise _core.InputError("--set and --scale: expected a scenario to change")
    switch = flowsail.Switch(**given | {key: value for key, value in asked.items() if value is not None})
    load = flowsail.stated(switch, pauses_per_second, paused_flows) if done is None else flowsail.measured(done)
    if as_json:
        print(json.dumps(flowsail.as_json(switch, load), indent=2))
        return
    for table in flowsail.tables(switch, load):
        out.print(table)
