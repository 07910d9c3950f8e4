"""`backwater explain`: where slow flows spent their time."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from backwater import _core, disk, events, explain
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
    quiet = str(json_file) == "-"
    done = []
    for one in runs:
        table = one.table("flows")
        if flow:
            chosen, tail = explain.numbered(table, flow), None
        else:
            tail = explain.slowest(table, flow_class=flow_class, above=least, below=most, percentile=percentile)
            chosen = tail.slice(0, explain.FLOWS_MAX)
        what = f"{one.label}: again, with {some(chosen.num_rows, 'flow')} followed"
        with contextlib.nullcontext() if quiet else progress_of(what) as progress:
            explained = one.explain_flows(chosen, progress=progress)
        done.append(explained)
        if not quiet:
            tell(explained, one, tail, percentile, worst or 3)
    if json_file is not None:
        text = json.dumps(explained_page.as_json(done, summary=not flow), indent=2) + "\n"
        if quiet:
            print(text, end="")
        else:
            with disk.errors(json_file):
                disk.write_whole(json_file, text)
    if out_file is not None:
        explain.write(done[0], out_file)


def tell(explained: explain.Explained, run: Run, tail: Any, percentile: float, worst: int) -> None:
    """What there is to say of flows of a run: one by one, and of a tail as a whole."""
    say(f"{run.label}: the same run (digest {run.digest[:16]})")
    if tail is not None:
        n, least = tail.num_rows, tail["slowdown"][tail.num_rows - 1].as_py()
        left = f" ({n - explained.flows.num_rows:,} of them left out)" if n > explained.flows.num_rows else ""
        tail_words = f"the {some(n, 'flow')} as slow or slower{left}"
        why = explained_page.sentence(explained)
        say(f"p{percentile:g} of slowdown is {least:.2f}. Of the time of {tail_words}: {why}.")
        out.print(explained_page.cause_table(explained, f"{run.label}: where these flows spent their time"))
    numbers = explained.flows["flow"].to_pylist()
    for one in numbers if tail is None else numbers[:worst]:
        for line in explained_page.flow_lines(explained, one):
            say(line)
