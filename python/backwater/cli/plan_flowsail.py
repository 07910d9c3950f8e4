"""`backwater plan flowsail`: FlowSail's switch, as described, as in a scenario, or as measured in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import Json, Scale, Sets, all_sets, quantity, valued
from backwater.common.quantities import RATES, TIMES

with when_used():
    from backwater import experiment as api
    from backwater.cli import printing, terminal
    from backwater.compute import running
    from backwater.hpcc import fct
    from backwater.plan import flowsail


SWITCH, CONTROL = "The switch", "The control frames"


def plan_flowsail(
    scenario: Annotated[
        Path | None, typer.Argument(metavar="SCENARIO", help="Take the largest FlowSail switch of this scenario.")
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(
            "--measured", metavar="DIR", help="Take the switch and its measured control frames from a run directory."
        ),
    ] = None,
    sets: Sets = None,
    scale: Scale = None,
    ports: Annotated[int | None, valued("--ports", "N", "Set the number of ports. [default: 32]", SWITCH)] = None,
    rate: Annotated[str | None, valued("--rate", "RATE", "Set the rate of a port. [default: 100 Gbps]", SWITCH)] = None,
    delay: Annotated[
        str | None,
        valued(
            "--delay", "TIME", "Set the propagation delay of a link, half of the round-trip time of one hop.", SWITCH
        ),
    ] = None,
    hrtt: Annotated[
        str | None, valued("--hrtt", "TIME", "Set the round-trip time of one hop. [default: 2 us]", SWITCH)
    ] = None,
    queues: Annotated[
        int | None,
        valued("--queues", "N", "Set the number of data queues of a port, all groups together. [default: 8]", SWITCH),
    ] = None,
    isolation_queues: Annotated[
        int | None,
        valued("--isolation-queues", "N", "Set the number of isolation queues of each group. [default: 1]", SWITCH),
    ] = None,
    groups: Annotated[
        int | None, valued("--groups", "N", "Set the number of priority groups. [default: 1]", SWITCH)
    ] = None,
    flows: Annotated[
        int | None, valued("--flows", "N", "Set the number of active flows in the switch. [default: 10000]", SWITCH)
    ] = None,
    fingerprint: Annotated[
        int | None, valued("--fingerprint", "N", "Set the number of bits of a fingerprint. [default: 24]", SWITCH)
    ] = None,
    load_factor: Annotated[
        float | None, valued("--load-factor", "X", "Set the load factor of the hash table. [default: 0.7]", SWITCH)
    ] = None,
    packet: Annotated[
        int | None, valued("--packet", "N", "Set the bytes of a full packet on the wire. [default: 1048]", SWITCH)
    ] = None,
    pauses_per_second: Annotated[
        float | None,
        valued(
            "--pauses-per-second",
            "X",
            "Set the number of PAUSE frames that the switch sends and receives in a second.",
            CONTROL,
        ),
    ] = None,
    paused_flows: Annotated[
        float | None,
        valued("--paused-flows", "X", "Set the mean number of paused flows, which a refresh repeats.", CONTROL),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute FlowSail's tables and thresholds.

    It prints memory, thresholds, mistaken identities and the load of mirrored packets: for a switch that you describe,
    for the largest one of a scenario, or for one that was measured in a run.

    Examples:
        backwater plan flowsail --ports 64 --rate "400 Gbps"
        backwater plan flowsail flowsail-fig11
        backwater plan flowsail --measured runs/flowsail
    """
    asked = {
        "ports": ports,
        "rate_bps": quantity("--rate", rate, RATES),
        "hrtt_s": quantity("--hrtt", hrtt, TIMES),
        "queues": queues,
        "groups": groups,
        "isolation_queues": isolation_queues,
        "flows": flows,
        "fingerprint_bits": fingerprint,
        "load_factor": load_factor,
        "packet_bytes": packet,
    }
    if (one_way := quantity("--delay", delay, TIMES)) is not None:
        if hrtt is not None:
            raise _core.InputError(f"--hrtt {hrtt}: not with --delay, which is half of it")
        asked["hrtt_s"] = 2 * one_way
    given, done = {}, None
    if run_dir is not None:
        for option, value in (("SCENARIO", scenario), ("--set", sets), ("--scale", scale)):
            if value:
                raise _core.InputError(f"--measured {run_dir}: not with {option}")
        if pauses_per_second is not None or paused_flows is not None:
            raise _core.InputError(
                f"--measured {run_dir}: not with --pauses-per-second and --paused-flows: it measured them"
            )
        done = flowsail.first_of([(one, one.scenario) for one in fct.runs(run_dir)], run_dir)
        given = flowsail.described(done.scenario)
    elif scenario is not None:
        runs = api.Experiment.from_arguments(scenario, all_sets(sets, None), scale).plan.runs
        running.networks(scenario, [run.scenario for run in runs])
        given = flowsail.described(flowsail.first_of([(one.scenario, one.scenario) for one in runs], scenario))
    elif sets or scale:
        raise _core.InputError("--set and --scale: expected a scenario to change")
    switch = flowsail.Switch(**given | {key: value for key, value in asked.items() if value is not None})
    load = flowsail.stated(switch, pauses_per_second, paused_flows) if done is None else flowsail.measured(done)
    if as_json:
        printing.print_json(flowsail.as_json(switch, load))
        return
    for table in flowsail.tables(switch, load):
        terminal.out.print(table)
