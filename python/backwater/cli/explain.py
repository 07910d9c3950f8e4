"""`backwater explain`: where slow flows spent their time."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from backwater import _core, disk, events, explain, kept, signals
from backwater.api import Results
from backwater.cli.options import check_file
from backwater.results import Run
from backwater.show import explained as explained_page
from backwater.terminal import out, progress_of, say, some


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
