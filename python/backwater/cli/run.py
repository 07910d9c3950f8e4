"""`backwater run`: scenarios to tables and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import (
    Claims,
    Force,
    Json,
    On,
    OutDir,
    Scale,
    Scenarios,
    Seeds,
    Sets,
    StoreDir,
    Threads,
    all_sets,
    whole,
)
from backwater.common import signals
from backwater.common.ranges import EVENTS_AT_MOST, PACKETS_AT_MOST

with when_used():
    from backwater import experiment as api
    from backwater.cli import experiment as runner
    from backwater.cli import places as placing
    from backwater.cli import printing
    from backwater.compute import running
    from backwater.execute import store as stores
    from backwater.runs import capture, events
    from backwater.show import results


RECORD = "What to record besides"


def run(
    scenario: Scenarios,
    sets: Sets = None,
    seeds: Seeds = None,
    scale: Scale = None,
    out_dir: OutDir = None,
    force: Force = False,
    store: StoreDir = None,
    threads: Threads = None,
    on: On = None,
    claims: Claims = False,
    as_json: Json = False,
    fct_file: Annotated[
        Path | None,
        typer.Option(
            "--fct",
            metavar="FILE",
            help="Write completion times to FILE as HPCC's simulator does.",
            rich_help_panel=RECORD,
        ),
    ] = None,
    events_file: Annotated[
        Path | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Write pauses, drops, marks and link changes to FILE: .parquet, .arrow, or .json(.gz) for "
            "ui.perfetto.dev.",
            rich_help_panel=RECORD,
        ),
    ] = None,
    events_span: Annotated[
        str | None,
        typer.Option(
            "--events-span",
            metavar="FROM..TO",
            help="Record events of this span only, such as 1ms..2ms.",
            rich_help_panel=RECORD,
        ),
    ] = None,
    events_max: Annotated[
        int | None,
        typer.Option(
            "--events-max",
            metavar="N",
            parser=whole(1, 10**8),
            help=f"Record at most the first N events of each run. [default: {EVENTS_AT_MOST}]",
            rich_help_panel=RECORD,
        ),
    ] = None,
    pcap: Annotated[
        list[str] | None,
        typer.Option(
            "--pcap",
            metavar="PORT=FILE",
            help="Write the packets that cross PORT, such as leaf0:spine0 or host3, to FILE.pcapng for Wireshark.",
            rich_help_panel=RECORD,
        ),
    ] = None,
    pcap_max: Annotated[
        int | None,
        typer.Option(
            "--pcap-max",
            metavar="N",
            parser=whole(1, 10**8),
            help=f"Write at most the first N packets of each run. [default: {PACKETS_AT_MOST}]",
            rich_help_panel=RECORD,
        ),
    ] = None,
) -> None:
    """Run scenarios and write tables and a report.

    The last lines say which variant wins by how much, where the report is, and what to try next.
    The exit code is 1 if a claim failed or flows did not finish.

    Examples:
        backwater run bfc-fig9 --scale smoke
        backwater run mine.toml --seeds 5 --out runs/mine
        backwater run mine.toml --set load=60% --events events.json
        backwater run mine.toml --seeds 1 --pcap leaf0:spine0=leaf0.pcapng
    """
    opened = [api.Experiment.from_arguments(path, all_sets(sets, seeds), scale) for path in scenario]
    if fct_file is not None and len(opened) > 1:
        raise _core.InputError(
            f"--fct {fct_file}: expected one scenario; `backwater export fct` writes it for each run"
        )
    recorded = events_of(opened, events_file, events_span, events_max, force)
    captured = captures_of(opened, pcap or [], pcap_max, force)
    if store is not None:
        stores.Store(store).check()
    places = placing.destinations(opened, out_dir)
    fct_files = []
    if fct_file is not None:
        from backwater.hpcc import fct  # Few runs need it.

        fct_files = fct.destinations(fct_file, opened[0].labels, force=force)
    told = runner.Told.TABLE if claims else runner.Told.FAILED
    chosen = [runner.Chosen(one, place, told=told) for one, place in zip(opened, places, strict=True)]
    with printing.quietly(as_json):
        code = runner.run_all(chosen, threads, force, recorded, captured, store, on)
    if signals.heard:
        raise typer.Exit(signals.code())
    if fct_files:
        from backwater.cli import files

        files.write_fct(results.Results(places[0]).runs, dict(zip(opened[0].labels, fct_files, strict=True)))
    if as_json:
        printing.print_results_json(places)
    raise typer.Exit(code)


def events_of(
    opened: list[api.Experiment], file: Path | None, span: str | None, at_most: int | None, force: bool
) -> dict[str, events.Wanted]:
    """Returns which events to record, by run.

    # Errors
    `InputError` where they cannot be written, or are not asked for alike.
    """
    if file is None:
        for option, given in (("--events-span", span), ("--events-max", at_most)):
            if given is not None:
                raise _core.InputError(f"{option} {given}: expected --events with it")
        return {}
    wanted = events.wanted(file, span, at_most)
    if len(opened) > 1:
        raise _core.InputError(f"--events {file}: expected one scenario, not {len(opened)}")
    if any(map(running.is_computation, opened[0].scenarios.values())):
        raise _core.InputError(f"--events {file}: expected a scenario of a network; a computation has no events")
    return events.of_runs(wanted, opened[0].labels, force=force)


def captures_of(
    opened: list[api.Experiment], texts: list[str], at_most: int | None, force: bool
) -> dict[str, capture.Wanted]:
    """Returns which ports to capture, by run.

    # Errors
    `InputError` where there is no such port, or its file cannot be written.
    """
    if not texts:
        if at_most is not None:
            raise _core.InputError(f"--pcap-max {at_most}: expected --pcap with it")
        return {}
    asked = capture.words(texts)
    if len(opened) > 1:
        raise _core.InputError(f"--pcap {texts[0]}: expected one scenario, not {len(opened)}")
    if any(map(running.is_computation, opened[0].scenarios.values())):
        raise _core.InputError(f"--pcap {texts[0]}: expected a scenario of a network; a computation has no ports")
    return capture.of_runs(asked, opened[0].scenarios, at_most, force=force)
