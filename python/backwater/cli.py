"""The `backwater` command.

Exit codes: 0 success, 1 a claim failed or flows did not finish, 2 bad input, 70 a bug of ours; 130, 143, 129 after
SIGINT, SIGTERM, SIGHUP.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.table import Table
from rich.text import Text

from backwater import (
    _core,
    check,
    deadlock,
    disk,
    entry,
    events,
    experiments,
    explain,
    kept,
    ledger,
    results,
    signals,
    tables,
)
from backwater.api import Experiment, Results
from backwater.compute import registry, running
from backwater.deadlock import words
from backwater.hpcc import comparison, exporter, fct, importer
from backwater.judge.claims import number
from backwater.judge.measured import as_number
from backwater.judge.measured import quantity as measured_quantity
from backwater.plan import bcc, bcc_config, bcc_trial, bfc, flowsail
from backwater.results import Run
from backwater.show import compare, compare_fct, endings, report
from backwater.show import explained as explained_page
from backwater.show.failures import Undrawn
from backwater.sweep import THREADS_MAX, SimulatorError, Watch, threads_of
from backwater.terminal import count, out, progress_of, progress_watch, say, size, some, span, verdict_text
from backwater.writer import Writer, goes_on, is_finished, left_at, left_of

FAILED, BAD_INPUT, BUG = 1, 2, 70

app = typer.Typer(
    help="Packet-level simulator of flow control in datacenter networks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

import_app = typer.Typer(help="Make a scenario from files of another simulator.", no_args_is_help=True)
export_app = typer.Typer(help="Write files of another simulator.", no_args_is_help=True)
plan_app = typer.Typer(help="Compute what a scheme asks of a switch, without a simulation.", no_args_is_help=True)
app.add_typer(import_app, name="import")
app.add_typer(export_app, name="export")
app.add_typer(plan_app, name="plan")

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a value of the scenario, such as switch.queues=128. Repeatable."
    ),
]
Scale = Annotated[str | None, typer.Option(metavar="SCALE", help="One of the scenario's scales: smoke, quick, paper.")]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=THREADS_MAX,
        help="Threads to use. Results do not depend on it. [default: one for each processor that may be used]",
    ),
]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Directory to write. [default: a fresh one under runs/]")]
Force = Annotated[bool, typer.Option("--force", help="Replace a run that stands in DIR.")]
Scenarios = Annotated[list[Path], typer.Argument(metavar="SCENARIO", help="Scenario files (TOML).")]
RunDirs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Run directories.")]


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"backwater {_core.version}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def run(
    scenario: Scenarios,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory to write. [default: a fresh one under runs/]")
    ] = None,
    sets: Sets = None,
    scale: Scale = None,
    threads: Threads = None,
    force: Force = False,
    fct_file: Annotated[
        Path | None, typer.Option("--fct", metavar="FILE", help="Write completion times as HPCC's simulator does.")
    ] = None,
    events_file: Annotated[
        Path | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Write pauses, drops, marks, link changes: .parquet, .arrow, or .json(.gz) for ui.perfetto.dev.",
        ),
    ] = None,
    events_span: Annotated[
        str | None, typer.Option("--events-span", metavar="FROM..TO", help="Only those from then to then: 1ms..2ms.")
    ] = None,
    events_max: Annotated[
        int | None,
        typer.Option("--events-max", metavar="N", help=f"The first so many of a run. [default: {events.AT_MOST}]"),
    ] = None,
) -> None:
    """Run scenarios and write tables, figures and a report."""
    opened = [Experiment.from_arguments(path, sets or [], scale) for path in scenario]
    if fct_file is not None and len(opened) > 1:
        raise _core.InputError(
            f"--fct {fct_file}: expected one scenario; `backwater export fct` writes it for each run"
        )
    recorded = events_of(opened, events_file, events_span, events_max, force)
    places = destinations(opened, out_dir)
    fct_files = [] if fct_file is None else fct.destinations(fct_file, opened[0].labels, force=force)
    code = 0
    for experiment, place, todo in planned(opened, places, threads, force):
        if todo:
            code = max(code, run_one(experiment, place, threads, force, recorded))
        if signals.heard:
            raise typer.Exit(signals.code())
    if fct_files:
        write_fct(Results(places[0]).runs, dict(zip(opened[0].labels, fct_files, strict=True)))
    raise typer.Exit(code)


def events_of(
    opened: list[Experiment], file: Path | None, span: str | None, at_most: int | None, force: bool
) -> dict[str, events.Wanted]:
    """Which events to record, by run.

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


def destinations(opened: list[Experiment], out_dir: Path | None) -> list[Path]:
    """Where each experiment goes: DIR itself for one, a directory in DIR for each of several.

    Without DIR names under `runs/` that are free, or that hold what an interrupted command had done of the same.
    """
    if out_dir is not None:
        return [out_dir] if len(opened) == 1 else named(opened, out_dir, lambda *_: True)
    several = len(opened) > 1
    places = named(opened, Path("runs"), lambda place, one: goes_on(place, one.scenarios, finished=several))
    if any(not place.exists() or Results(place).interrupted for place in places):
        return places
    return named(opened, Path("runs"), lambda place, one: goes_on(place, one.scenarios, finished=False))


def named(opened: list[Experiment], into: Path, takes: Callable[[Path, Experiment], bool]) -> list[Path]:
    """A directory for each experiment: the first by its name that it may take and no other has."""
    places: list[Path] = []
    for experiment in opened:
        place = into / Path(experiment.invocation[-1]).stem
        while place in places or not takes(place, experiment):
            place = results.next_name(place)
        places.append(place)
    return places


def planned(
    opened: list[Experiment], places: list[Path], threads: int | None, force: bool
) -> list[tuple[Experiment, Path, bool]]:
    """Experiments with their places, and whether they have to run: of several, those that are finished do not.

    # Errors
    `InputError` where one cannot be written, before the first runs.
    """
    used = threads_of(threads)
    if threads is not None and used < threads:
        print(
            f"Note: --threads {threads}: {used} are used, as many as serve this process's processors", file=sys.stderr
        )
    finished = [
        len(opened) > 1 and not force and is_finished(place, experiment.scenarios)
        for experiment, place in zip(opened, places, strict=True)
    ]
    todo = [not done or all(finished) for done in finished]
    for experiment, place, runs in zip(opened, places, todo, strict=True):
        if runs:
            Writer(place, experiment.scenarios, force=force).close()
        else:
            say(f"{place}: finished before; not run again")
    return list(zip(opened, places, todo, strict=True))


def run_one(
    experiment: Experiment,
    place: Path,
    threads: int | None,
    force: bool,
    recorded: dict[str, events.Wanted] | None = None,
) -> int:
    """Runs, tells, and says how to exit."""
    with stoppable(lambda: left_of(place)) as stop, progress_watch() as watch:
        done = experiment.simulate(place, threads=threads, force=force, watch=watch, stop=stop, events=recorded)
    if done.interrupted:
        print_runs(done)
        if done.path != place:
            say(f"{signals.name()}: {place} stays as it was")
        say(f"{signals.name()}: {left_at(done.path)}")
        return signals.code()
    with signals.during(None, lambda: f"the runs are in {place}; `backwater report {place}` writes what is missing"):
        return publish(done)


@contextlib.contextmanager
def stoppable(left: Callable[[], str]) -> Iterator[signals.Stop]:
    """A part of the work that a signal winds down; `left` is what there is of it if it does not end in time."""
    stop = signals.Stop()
    try:
        with signals.during(stop, left):
            yield stop
    except KeyboardInterrupt:
        fail(f"{signals.name()}: nothing was finished", signals.code())


def publish(done: Results) -> int:
    """Judges and draws what is safe on the disk, tells, and says how to exit."""
    print_runs(done)
    code = 0
    try:
        done.report()
    except (_core.InputError, Undrawn) as failure:
        code = BUG if isinstance(failure, Undrawn) else BAD_INPUT
        print(
            f"error: {failure}\nThe runs are complete in {done.path}; `backwater report {done.path}` tries this again",
            file=sys.stderr,
        )
    print_claims(done.claims)
    if not done.complete:
        print("\n".join(["Not complete:", *filter(None, map(endings.told, done.runs))]), file=sys.stderr)
    if code == 0:
        say(f"Report: {done.path / report.PAGE}")
    return code or (FAILED if not done.complete or any(row["verdict"] == "fail" for row in done.claims) else 0)


@app.command("check")
def check_command(
    scenario: Scenarios,
    sets: Sets = None,
    scale: Scale = None,
    threads: Threads = None,
    for_deadlock: Annotated[
        bool, typer.Option("--deadlock", help="Look for circles of pauses instead; exit code 1 if there are any.")
    ] = False,
    failures: Annotated[
        str | None,
        typer.Option(
            metavar="0|1|2|all",
            help="With --deadlock: any one, or two, links between switches fail; all: any turn. [default: 0]",
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="With --deadlock: write what was found here as well.")
    ] = None,
    write_file: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="With --deadlock: write a scenario that elides what it takes."),
    ] = None,
) -> None:
    """Validate scenarios and estimate what running them takes."""
    if for_deadlock:
        check_deadlock(scenario, sets or [], scale, failures or "0", json_file, write_file)
        return
    for option, given in (("--failures", failures), ("--json", json_file), ("--write", write_file)):
        if given is not None:
            raise _core.InputError(f"{option} {given}: expected --deadlock with it")
    for path in scenario:
        experiment = Experiment.from_arguments(path, sets or [], scale)
        if any(map(running.is_computation, experiment.scenarios.values())):
            kinds = ", ".join(dict.fromkeys(map(running.kind_of, experiment.scenarios.values())))
            say(f"{path}: valid. {some(len(experiment.labels), 'computation')} of {kinds}.")
            continue
        estimate = check.estimate(experiment, threads)
        table = Table(title=experiment.name, title_justify="left", title_style="bold")
        for heading in ("run", "scheme", "flows", "packet-hops", "simulated", "time", "memory"):
            table.add_column(heading, justify="left" if heading in ("run", "scheme") else "right")
        for row in estimate.rows:
            table.add_row(
                row.label,
                row.scheme,
                count(row.flows),
                count(row.packet_hops),
                span(row.sim_time_ps * 1e-12),
                span(row.wall_s),
                size(row.memory_mb * 1e6),
            )
        out.print(table)
        say(
            f"{path}: valid. All runs: about {span(estimate.wall_s)} on {estimate.threads} threads at "
            f"{count(estimate.hops_per_s)} packet-hops/s each (measured now), "
            f"{size(estimate.memory_mb * 1e6)} of memory."
        )


def check_deadlock(
    paths: list[Path],
    sets: list[str],
    scale: str | None,
    failures: str,
    json_file: Path | None,
    write_file: Path | None,
) -> None:
    """Tells what goes round in each run, runs of which the same is to be said together."""
    if failures not in deadlock.FAILURES:
        raise _core.InputError(f"--failures {failures}: expected one of {', '.join(deadlock.FAILURES)}")
    for option, file in (("--json", json_file), ("--write", write_file)):
        if file is not None:
            check_file(option, file)
            if len(paths) > 1:
                raise _core.InputError(f"{option} {file}: with one scenario only, and {len(paths)} are given")
    if write_file is not None and write_file.absolute() == paths[0].absolute():
        raise _core.InputError(f"--write {write_file}: is the scenario itself: expected another file, which extends it")
    acyclic = True
    for path in paths:
        experiment = Experiment.from_arguments(path, sets, scale)
        found: dict[str, deadlock.Deadlock] = {}
        for label, scenario in experiment.scenarios.items():
            with progress_of(label) as progress:
                found[label] = deadlock.search(scenario, failures, progress=progress)
        for labels, one in together(found):
            say(f"{path}: {', '.join(labels)}")
            for line in words.told(one):
                out.print(line) if isinstance(line, Table) else say(line)
        acyclic = acyclic and all(one.is_acyclic for one in found.values())
        if json_file is not None:
            runs = {label: one.to_json() for label, one in found.items()}
            with disk.errors(json_file):
                disk.write_whole(json_file, json.dumps({"scenario": str(path), "runs": runs}, indent=2) + "\n")
        if write_file is not None:
            changes = "".join(f" --set {shlex.quote(change)}" for change in sets)
            command = f"backwater check {path} --deadlock --failures {failures}{changes}"
            scenarios, all_found = list(experiment.scenarios.values()), list(found.values())
            text_at = functools.partial(words.scenario_text, path, command, scenarios, all_found)
            write_scenario(write_file, text_at, sets, scale)
            say(f"Written: {write_file}")
    raise typer.Exit(0 if acyclic else FAILED)


def write_scenario(file: Path, text_at: Callable[[Path], str], sets: list[str], scale: str | None) -> None:
    """Only what can be loaded: some schemes refuse an `elide` that another needs. `text_at` says what stands there."""
    text = text_at(file)
    with disk.errors(file), disk.scratch(file) as place:
        trial = place / file.name
        trial.write_text(text_at(trial), encoding="utf-8")
        try:
            _core.load(str(trial), sets, scale)
        except _core.InputError as error:
            problem = f"--write {file}: a table for all runs is refused ({error}): expected --set variant=NAME"
            raise _core.InputError(problem) from error
    with disk.errors(file):
        disk.write_whole(file, text)


def together(found: dict[str, deadlock.Deadlock]) -> list[tuple[list[str], deadlock.Deadlock]]:
    """Runs of which the same is told, in the order of the first of each."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for label, one in found.items():
        groups.setdefault(words.key(one), []).append(label)
    return [(labels, found[labels[0]]) for labels in groups.values()]


@app.command("compare")
def compare_command(
    run: RunDirs,
    percentile: Annotated[str | None, typer.Option(help="mean, p50, p95 or p99. [default: p99]")] = None,
    flow_class: Annotated[
        str | None, typer.Option("--class", help="Class of flows. [default: the first; with --fct all]")
    ] = None,
    flow_by_flow: Annotated[
        bool, typer.Option("--fct", help="Flow by flow: two runs, or files fct.txt of HPCC's simulator.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="With --fct: write the comparison here as well.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--out", metavar="PICTURE", help="With --fct: draw it, as .svg, .png or .pdf.")
    ] = None,
) -> None:
    """Put runs side by side."""
    if flow_by_flow:
        if len(run) != 2:
            raise _core.InputError(f"--fct: {len(run)} given: expected two runs or files")
        if percentile is not None:
            raise _core.InputError(f"--percentile {percentile}: not with --fct, which has the median and p99")
        compare_fct.check_places(json_file, picture)
        done = comparison.compare(fct.open_any(run[0]), fct.open_any(run[1]), flow_class)
        for table in compare_fct.tables(done):
            out.print(table)
        compare_fct.write(done, json_file, picture)
        return
    for option, given in (("--json", json_file), ("--out", picture)):
        if given is not None:
            raise _core.InputError(f"{option} {given}: expected --fct with it")
    for table in compare.tables([Results(path) for path in run], percentile or "p99", flow_class):
        out.print(table)


@app.command("explain")
def explain_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.")],
    label: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN", help="Of several runs, which. Repeatable. [default: the only one]"),
    ] = None,
    flow: Annotated[list[int] | None, typer.Option("--flow", metavar="N", help="This flow. Repeatable.")] = None,
    worst: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tell of the N slowest one by one. [default: 3]")
    ] = None,
    flow_class: Annotated[str | None, typer.Option("--class", help="Of this class of flows. [default: any]")] = None,
    below: Annotated[str | None, typer.Option(metavar="SIZE", help="Of sizes up to this, such as 3KB.")] = None,
    above: Annotated[str | None, typer.Option(metavar="SIZE", help="Of sizes above this.")] = None,
    percentile: Annotated[
        float, typer.Option(min=0, max=100, metavar="P", help="The tail: flows as slow as this percentile, or slower.")
    ] = 99.0,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all of it as JSON; - for the terminal.")
    ] = None,
    out_file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the table `waits`: .parquet or .arrow.")
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Keep it in RUN, and make RUN's page anew: there flows can be picked.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that stand there.")] = False,
) -> None:
    """Say where slow flows spent their time: queue by queue, behind whom, paused by whom and for whom.

    Runs the run again with its tail followed, or the flows named, and checks that it is the same run.
    """
    opened = Results(run)
    runs = [opened[one] for one in label] if label else opened.runs
    if len(runs) != 1 and not label:
        raise _core.InputError(f"{run}: {len(runs)} runs: name some with --run; there is {', '.join(opened.summary)}")
    if flow and (worst or flow_class or below or above):
        raise _core.InputError("--flow: names flows; --worst, --class, --below and --above choose them: not both")
    if out_file is not None and (len(runs) > 1 or out_file.suffix not in events.TABLES):
        raise _core.InputError(f"--out {out_file}: expected one run, and a name that ends in .parquet or .arrow")
    for option, file in (("--json", json_file), ("--out", out_file)):
        if file is not None and str(file) != "-":
            check_file(option, file)
            if file.exists() and not force:
                raise _core.InputError(f"{option} {file}: exists; name another file, or replace it with --force")
    least = 0 if above is None else explain.size_of(above, "--above")
    most = None if below is None else explain.size_of(below, "--below")
    if page:
        opened.verify()
        kept.check(run)
    quiet = str(json_file) == "-"
    done = []
    for one in runs:
        table = one.table("flows")
        tail = None
        if flow:
            chosen = explain.numbered(table, flow)
        else:
            slow = explain.slowest(table, flow_class=flow_class, above=least, below=most, percentile=percentile)
            slowdown = slow["slowdown"][slow.num_rows - 1].as_py()
            tail = explain.Tail(percentile, flow_class, least, most, slow.num_rows, slowdown)
            chosen = slow.slice(0, explain.FLOWS_MAX)
        what = f"{one.label}: again, with {some(chosen.num_rows, 'flow')} followed"
        with contextlib.nullcontext() if quiet else progress_of(what) as progress:
            explained = dataclasses.replace(one.explain_flows(chosen, progress=progress), tail=tail)
        done.append(explained)
        if not quiet:
            tell(explained, one, worst or 3)
    if json_file is not None:
        text = json.dumps(explained_page.as_json(done, summary=not flow), indent=2) + "\n"
        if quiet:
            print(text, end="")
        else:
            with disk.errors(json_file):
                disk.write_whole(json_file, text)
    if out_file is not None:
        explain.write(done[0], out_file)
    if page:
        kept.keep(run, done)
        left = f"what was found is kept in {run}; `backwater report {run}` makes the page"
        with signals.during(None, lambda: left):
            made = Results(run).report()
        if not quiet:
            say(f"Report: {made}")


def tell(explained: explain.Explained, run: Run, worst: int) -> None:
    """What there is to say of flows of a run: one by one, and of a tail as a whole."""
    say(f"{run.label}: the same run (digest {run.digest[:16]})")
    if explained.tail is not None:
        say(explained_page.told(explained))
        out.print(explained_page.cause_table(explained, f"{run.label}: where these flows spent their time"))
    numbers = explained.flows["flow"].to_pylist()
    for one in numbers if explained.tail is None else numbers[:worst]:
        for line in explained_page.flow_lines(explained, one):
            say(line)


@app.command("report")
def report_command(
    run: RunDirs,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory for the page. [default: RUN]")
    ] = None,
) -> None:
    """Write the page and the figures again, of one experiment or of several together."""
    opened = [Results(path) for path in run]
    if out_dir is None and len(opened) > 1:
        raise _core.InputError("report of several runs: name a directory for it with --out")
    for one in opened:
        one.verify()
    say(f"Report: {report.write(list(opened), out_dir or run[0])}")


@app.command()
def reproduce(
    experiment: Annotated[str, typer.Argument(metavar="ID", help="Such as fig9, bfc-fig9, or bfc for all of a paper.")],
    scale: Scale = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the claims here as well.")
    ] = None,
    ledger_file: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="Put the claims into this ledger, others stay.")
    ] = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory to write. [default: a fresh one under runs/]")
    ] = None,
    sets: Sets = None,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Run a published experiment and judge each of its claims."""
    paths = experiments.find(experiment)
    opened = [Experiment.from_arguments(path, sets or [], scale) for path in paths.values()]
    for identifier, one in zip(paths, opened, strict=True):
        one.invocation = ["reproduce", identifier]
    for option, file in (("--json", json_file), ("--ledger", ledger_file)):
        if file is not None:
            check_file(option, file)
    if ledger_file is not None:
        ledger.read(ledger_file)
    identifiers = {one.path: identifier for identifier, one in zip(paths, opened, strict=True)}
    rows: list[dict[str, Any]] = []
    code = 0
    for one, place, todo in planned(opened, destinations(opened, out_dir), threads, force):
        if todo:
            code = max(code, run_one(one, place, threads, force))
        if signals.heard and not (place / results.CLAIMS).exists():
            raise typer.Exit(signals.code())
        done = Results(place)
        rows += done.claims
        if json_file is not None:  # After each, for what is there if this ends before the last.
            with disk.errors(json_file):
                disk.write_whole(json_file, json.dumps(rows, indent=2) + "\n")
        if ledger_file is not None:
            ledger.merge(ledger_file, ledger.rows(identifiers[one.path], done, one.command(None)))
        if signals.heard:
            raise typer.Exit(signals.code())
        if not todo and any(row["verdict"] == "fail" for row in done.claims):
            code = max(code, FAILED)
    raise typer.Exit(code)


def check_file(option: str, file: Path) -> None:
    """Refuses a file that cannot be written, before the work."""
    if not file.absolute().parent.is_dir():
        raise _core.InputError(f"{option} {file}: no such directory: {file.parent}")
    if file.is_dir():
        raise _core.InputError(f"{option} {file}: is a directory: expected a file to write")
    with disk.errors(file), disk.scratch(file):
        pass


@app.command()
def schemes() -> None:
    """List the schemes, with their sources."""
    table = Table(box=None, pad_edge=False)
    for heading in ("scheme", "what it is", "source"):
        table.add_column(heading)
    for scheme in json.loads(_core.schemes()):
        table.add_row(scheme["name"], f"{scheme['title']}. {scheme['summary']}".strip(), scheme["source"])
    out.print(table)


@app.command("chips")
def chips_command(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False) -> None:
    """List the switching chips and their packet memory, with their sources."""
    if as_json:
        print(json.dumps(list(bcc.chips().values()), indent=2))
    else:
        out.print(bcc.chip_table())


@app.command()
def schema(
    table: Annotated[str | None, typer.Argument(help="A table, or `scenario` for its JSON schema.")] = None,
) -> None:
    """Print a table's columns with units, or the names of the tables."""
    known = tables.schemas()
    if table is None:
        print("\n".join([*known, "scenario"]))
    elif table == "scenario":
        print(json.dumps(json.loads(_core.scenario_schema(registry.SCHEMAS)), indent=2))
    elif table in known:
        columns = Table(box=None, pad_edge=False)
        for heading in ("column", "type", "unit", "description"):
            columns.add_column(heading)
        for column in known[table]:
            columns.add_row(column["name"], column["type"], column["unit"] or "", column["description"])
        out.print(columns)
    else:
        raise _core.InputError(f"schema {table}: no such table; there is {', '.join(known)}, and scenario")


@import_app.command("hpcc")
def import_hpcc(
    topology: Annotated[Path, typer.Option("--topology", metavar="FILE", help="Its topology.txt.")],
    flows: Annotated[Path, typer.Option("--flows", metavar="FILE", help="Its flow.txt.")],
    transport: Annotated[
        str, typer.Option(metavar="NAME", help="dctcp, dcqcn, hpcc, pint, timely or line-rate: what its hosts do.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT.toml", help="Scenario to write.")],
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Its config.txt. [default: defaults]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that stand there.")] = False,
) -> None:
    """Import files of HPCC's simulator: a scenario, and its flows beside it."""
    if out.suffix != ".toml":
        raise _core.InputError(f"-o {out}: expected a name that ends in .toml")
    imported = importer.read(topology, flows, config, transport, out.stem)
    for line in importer.summary(imported, importer.write(imported, out, force=force)):
        say(line)


@export_app.command("hpcc")
def export_hpcc(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (TOML).")],
    place: Annotated[Path, typer.Argument(metavar="DIR", help="Directory to write into.")],
    label: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Of several runs, which. [default: the only one]")
    ] = None,
    sets: Sets = None,
    scale: Scale = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that stand in DIR.")] = False,
) -> None:
    """Write a scenario, its traffic drawn, as files of HPCC's simulator: topology, flows, configuration."""
    runs = Experiment.from_arguments(scenario, sets or [], scale).plan["runs"]
    running.networks(scenario, [run["scenario"] for run in runs])
    chosen = [run for run in runs if label in (None, run["label"])]
    if len(chosen) != 1:
        labels = ", ".join(run["label"] for run in runs)
        given = f"--run {label}: no such run" if label else f"{scenario}: {len(runs)} runs: choose one with --run"
        raise _core.InputError(f"{given}; there is {labels}")
    exported = exporter.read(chosen[0]["scenario"])
    exporter.write(exported, place, force=force)
    say(f"{place}: {', '.join(exported.files)}: {exported.summary}")
    for note in exported.notes:
        say(f"Not the same there: {note}")


@export_app.command("fct")
def export_fct(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, or a run in one.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write; of several runs, one each: fct.RUN.txt.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace files that stand there.")] = False,
) -> None:
    """Write completion times of a run's flows as HPCC's simulator does: fct.txt."""
    runs = fct.runs(run)
    labels = [one.label for one in runs]
    write_fct(runs, dict(zip(labels, fct.destinations(file, labels, force=force), strict=True)))


def write_fct(runs: list[Run], files: dict[str, Path]) -> None:
    """Writes the files of runs by their labels, and says so."""
    for run in runs:
        finished = fct.write(run, files[run.label])
        left = f", {some(finished.unfinished, 'flow')} did not finish" if finished.unfinished else ""
        say(f"{files[run.label]}: {some(len(finished), 'flow')} of {run.label}{left}")
        if run.scenario["measure"]["slowdown"] != "hpcc-sim":
            say(
                "Note: its last column is this run's own idle time, to the last byte at the receiver; "
                'that simulator\'s needs measure.slowdown = "hpcc-sim"'
            )


@plan_app.command("flowsail")
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


@plan_app.command("bfc")
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


@plan_app.command("bcc")
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


def whole(text: str | int) -> int:
    """A whole number in ASCII digits, and in no more than fit into a machine's."""
    if not re.fullmatch(r"-?[0-9]{1,18}", str(text)):
        raise typer.BadParameter(f"{str(text)[:60]!r}: expected a whole number")
    return int(text)


def real(text: str | float) -> float:
    """A finite number in ASCII digits."""
    if not re.fullmatch(r"-?([0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})([eE][+-]?[0-9]{1,2})?", str(text)):
        raise typer.BadParameter(f"{str(text)[:60]!r}: expected a number")
    return float(text)


def quantity(option: str, text: str | None, units: tuple[str, ...]) -> float | None:
    """An option with a unit, in its base unit."""
    if text is None:
        return None
    parts = measured_quantity(text)
    if parts is None or parts[1] not in units:
        raise _core.InputError(f"{option} {text}: expected a number and one of {', '.join(units)}")
    return float(f"{as_number(text, option):.12g}")  # 80 us is 8e-5, and not its neighbour.


def print_runs(done: Results) -> None:
    """One line a run: what came out of it."""
    scale = f", scale {done.manifest['scale']}" if done.manifest["scale"] else ""
    table = Table(
        title=f"{done.name}{scale}, seed {done.manifest['seed']}",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("run")
    if any("results" in one.summary for one in done.runs):
        out.print(computed(table, done.runs))
        return
    loaded = any(load["asked"] is not None for one in done.runs for load in one.summary["load"])
    for heading in ("load asked", "realised") if loaded else ():
        table.add_column(heading, justify="right")
    for heading in ("finished", "unfinished", "dropped", "packet-hops", "packet-hops/s"):
        table.add_column(heading, justify="right")
    table.add_column("digest")
    speeds = {row["label"]: row["packet_hops_per_s"] for row in done.timing["runs"]}
    for one in done.runs:
        flows = one.summary["flows"]
        table.add_row(
            one.label + endings.mark(one),
            *(loads(one.summary["load"]) if loaded else ()),
            count(flows["finished"]),
            count(flows["unfinished"]),
            count(sum(one.summary["drops"].values())),
            count(one.summary["packet_hops"]),
            count(speeds.get(one.label)),
            one.digest[:12],
        )
    out.print(table)


def computed(table: Table, runs: list[Run]) -> Table:
    """What each of these came to: a column for each result."""
    names = list(dict.fromkeys(name for one in runs for name in one.summary.get("results", {})))
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for one in runs:
        found = one.summary.get("results", {})
        table.add_row(one.label + endings.mark(one), *(number(found.get(name)) for name in names))
    return table


def loads(rows: list[dict[str, Any]]) -> tuple[str, Text]:
    """Each class's load as asked and as realised, which is red where chance does not explain the difference."""
    asked = [row for row in rows if row["asked"] is not None]
    names = [f"{row['class']} " if len(asked) > 1 else "" for row in asked]
    realised = [
        Text(
            "-" if row["realised"] is None else f"{row['realised']:.2%}", "bold red" if row["as_asked"] is False else ""
        )
        for row in asked
    ]
    return "\n".join(f"{name}{row['asked']:.2%}" for name, row in zip(names, asked, strict=True)), Text("\n").join(
        realised
    )


def print_claims(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    table = Table(title="Claims", title_justify="left", title_style="bold")
    for heading in ("claim", "what", "expected", "measured", "verdict"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(row["claim"], row["metric"], row["expected"], row["measured"], verdict_text(row["verdict"]))
    out.print(table)


def main() -> None:
    """Whatever goes wrong is one message on stderr, and an exit code."""
    try:
        sys.argv[1:] = texts(sys.argv[1:])
        sys.exit(app(standalone_mode=False) or 0)
    except _core.InputError as error:
        fail(f"error: {error}", BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        fail(f"{signals.name()}: nothing was finished", signals.code())
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except UnicodeEncodeError as error:  # A path in letters that the locale's encoding lacks.
        fail(f"error: {error.object!a}: no name in the locale's {error.encoding}; LC_ALL=C.UTF-8 has all", BAD_INPUT)
    except OSError as error:  # A path that no file system takes, such as one of 300 characters.
        fail(f"error: {error.filename}: {error.strerror or error}", BAD_INPUT)
    except Exception as error:
        show = getattr(error, "show", None)  # What Typer says of wrong options, with usage.
        if show is not None:
            show()
            sys.exit(BAD_INPUT)
        bug(error)


def texts(words: list[str]) -> list[str]:
    """Arguments as text, whatever the locale; names of files and scenarios end up in documents that are.

    # Errors
    `InputError` on what is not UTF-8.
    """
    try:
        return [os.fsencode(word).decode() for word in words]
    except UnicodeDecodeError as error:
        shown = error.object.decode(errors="backslashreplace")
        raise _core.InputError(f"argument {shown}: expected UTF-8; a file may need another name") from None


def bug(error: Exception) -> None:
    """A failure that no input should cause."""
    if os.environ.get("BACKWATER_TRACEBACK"):
        traceback.print_exc()
    told = isinstance(error, SimulatorError | Undrawn)
    cause = str(error) if told else f"{type(error).__name__}: {error}"
    fail(
        f"bug in Backwater {_core.version}: {cause}\n"
        "This is our mistake, not yours. Please report it with the scenario and the command; "
        "BACKWATER_TRACEBACK=1 adds detail.",
        BUG,
    )


def fail(message: str, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    entry.enter(main)
