"""`backwater explain`: where slow flows spent their time, or an iteration of a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import Force, Json, check_file, percentile, whole
from backwater.common import signals, suggest

with when_used():
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.runs import critical, events, kept, run
    from backwater.runs import explain as explaining
    from backwater.show import answer, results
    from backwater.show import critical as critical_text
    from backwater.show import explained as explained_page


WHICH, KEPT = "Which flows", "Where files go"
FLOWS = 2**32 - 1
"""Largest number of a flow."""
SLOWEST = "slowest"


@dataclass(frozen=True)
class Asked:
    """Which flows of each run to explain: some by number, or the tail of a class and a range of sizes."""

    flows: list[int]
    flow_class: str | None
    above: int
    below: int | None
    percentile: float

    def explained(self, run: run.Run) -> explaining.Explained:
        """Runs `run` again and follows these flows."""
        table, tail = run.table("flows"), None
        if self.flows:
            chosen = explaining.numbered(table, self.flows)
        else:
            tail, chosen = explaining.tail_of(
                table, flow_class=self.flow_class, above=self.above, below=self.below, percentile=self.percentile
            )
        with terminal.progress_of(
            f"{run.label}: again, with {quantities.some(chosen.num_rows, 'flow')} followed"
        ) as progress:
            return run.explain_flows(chosen, tail=tail, progress=progress)


def iteration_number(text: str) -> str:
    """Checks the number of an iteration, or `slowest`."""
    if text == SLOWEST:
        return text
    return str(whole(0, FLOWS)(text))


def explain(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="Name a run directory.")],
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="Explain this run, such as BFC.seed=1, or all seeds of BFC. Repeatable. [default: the only run]",
            rich_help_panel=WHICH,
        ),
    ] = None,
    flow: Annotated[
        list[int] | None,
        typer.Option(
            "--flow",
            metavar="N",
            parser=whole(0, FLOWS),
            help="Explain the flow with this number. Repeatable.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    worst: Annotated[
        int | None,
        typer.Option(
            "--worst",
            metavar="N",
            parser=whole(1, FLOWS),
            help="Print the N slowest flows one by one. [default: 3]",
            rich_help_panel=WHICH,
        ),
    ] = None,
    iteration: Annotated[
        str | None,
        typer.Option(
            "--iteration",
            metavar="N",
            parser=iteration_number,
            help="Explain iteration N of a job, or the slowest: the chain of messages it waited for.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    flow_class: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="CLASS",
            help="Explain flows of this class, or an iteration of this job. [default: any]",
            rich_help_panel=WHICH,
        ),
    ] = None,
    below: Annotated[
        str | None,
        typer.Option(
            "--below", metavar="SIZE", help="Explain flows up to this size, such as 3KB.", rich_help_panel=WHICH
        ),
    ] = None,
    above: Annotated[
        str | None,
        typer.Option("--above", metavar="SIZE", help="Explain flows above this size.", rich_help_panel=WHICH),
    ] = None,
    tail: Annotated[
        float,
        typer.Option(
            "--percentile",
            metavar="P",
            parser=percentile,
            help="Explain flows at least as slow as this percentile, such as 99 or p99.9. [default: 99]",
            rich_help_panel=WHICH,
            show_default=False,
        ),
    ] = 99.0,
    out_file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Write the waits of one run to FILE: .parquet or .arrow.",
            rich_help_panel=KEPT,
        ),
    ] = None,
    page: Annotated[
        bool,
        typer.Option(
            "--page",
            help="Store the explanation in DIR and write its report again, which shows it.",
            rich_help_panel=KEPT,
        ),
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Say where slow flows, or an iteration, spent their time.

    It runs the run again with its slowest flows followed, and checks that it is the same run.
    For each flow it prints the queues it waited in, the flows before it, and who paused it for whom.
    Of an iteration it follows the messages on the critical path: the chain that its end waited for.

    Examples:
        backwater explain runs/fig9 --run BFC.seed=1
        backwater explain runs/fig9 --run BFC --below 3KB --page
        backwater explain runs/mine --flow 17
        backwater explain runs/job --run BFC --iteration slowest --page
    """
    opened = results.Results(run)
    runs = [one for name in names for one in opened.select(name)] if names else opened.runs
    if len(runs) != 1 and not names:
        there = suggest.expected("", [one.label for one in runs])
        raise _core.InputError(f"{run}: {len(runs)} runs: name some with --run; {there}")
    if flow and (worst or flow_class or below or above):
        raise _core.InputError("--flow: names flows; --worst, --class, --below and --above choose them: not both")
    if out_file is not None:
        if len(runs) > 1 or out_file.suffix not in events.TABLES:
            raise _core.InputError(f"--out {out_file}: expected one run, and a name that ends in .parquet or .arrow")
        check_file("--out", out_file, force=force)
    if iteration is not None and (flow or below or above):
        raise _core.InputError("--iteration: not together with --flow, --below or --above, for flows")
    least = 0 if above is None else explaining.size_of(above, "--above")
    most = None if below is None else explaining.size_of(below, "--below")
    asked = Asked(flow or [], flow_class, least, most, tail)
    if page:
        opened.verify()
        kept.check(run)
    if iteration is not None:
        explain_iterations(runs, iteration, flow_class, worst or 3, out_file, run if page else None, as_json)
        return
    done = []
    with printing.quietly(as_json):
        for one in runs:
            explained = asked.explained(one)
            done.append(explained)
            if not as_json:
                tell(explained, one, worst or 3)
        if out_file is not None:
            explaining.write(done[0], out_file)
        if page:
            store(run, done)
    if as_json:
        printing.print_json(explained_page.as_json(done, summary=not flow))


def store(place: Path, found: Sequence[explaining.Explained | critical.CriticalPath]) -> None:
    """Stores explanations in a run directory, and writes its report again."""
    kept.keep(place, found)
    left = f"the explanation is stored in {place}; `backwater report {place}` writes the report"
    with signals.during(None, lambda: left):
        made = results.Results(place).report(formats=())
    terminal.say(f"Report: {made}")


def tell(explained: explaining.Explained, run: run.Run, worst: int) -> None:
    """Prints flows of a run one by one, and a tail as a whole."""
    terminal.say(f"{run.label}: the same run (digest {run.digest[:16]})")
    if explained.tail is not None:
        terminal.answer(explained_page.told(explained))
        terminal.out.print(explained_page.cause_table(explained, f"{run.label}: where these flows spent their time"))
    numbers = explained.flows["flow"].to_pylist()
    for one in numbers if explained.tail is None else numbers[:worst]:
        for line in explained_page.flow_lines(explained, one):
            terminal.answer(line)


def explain_iterations(
    runs: list[run.Run],
    which: str,
    job: str | None,
    worst: int,
    out_file: Path | None,
    page_of: Path | None,
    as_json: bool,
) -> None:
    """Prints the critical path of an iteration of each run: its causes, and its longest steps.

    The paths are stored in the run directory `page_of`, if one is named.
    """
    done = []
    with printing.quietly(as_json):
        for one in runs:
            number = one.slowest_iteration(job) if which == SLOWEST else int(which)
            with terminal.progress_of(f"{one.label}: again, with the critical path followed") as progress:
                path = one.critical_path(number, job, progress=progress)
            done.append(path)
            if not as_json:
                tell_path(path)
                for step in critical_text.longest(path, worst):
                    for line in critical_text.step_lines(path, step):
                        terminal.answer(line)
        if not as_json:
            for line in compared(done, runs):
                terminal.answer(line)
        if out_file is not None:
            critical.write(done[0], out_file)
        if page_of is not None:
            store(page_of, done)
    if as_json:
        printing.print_json([critical_text.as_json(path) for path in done])


def compared(paths: list[critical.CriticalPath], runs: list[run.Run]) -> list[str]:
    """Returns how the same iteration differs between runs; nothing if these are different iterations."""
    iterations = {(path.job, path.iteration) for path in paths}
    if len(iterations) > 1:
        return []
    job, number = iterations.pop()
    times = {path.label: critical_text.causes_of(path) for path in paths}
    ideal = frozenset(one.label for one in runs if answer.is_ideal(one.scheme))
    return critical_text.compared(f"Iteration {number} of {job}", times, ideal)


def tell_path(path: critical.CriticalPath) -> None:
    """Prints how long an iteration took, and on what."""
    terminal.say(f"{path.label}: the same run (digest {path.digest[:16]})")
    terminal.answer(critical_text.told(path))
    title = f"{path.label}: where iteration {path.iteration} of {path.job} spent its time"
    terminal.out.print(critical_text.cause_table(path, title))
