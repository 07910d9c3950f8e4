"""`backwater explain`: where slow flows spent their time, or an iteration of a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, TypeVar

import typer

from backwater import _core
from backwater.cli.later import when_used
from backwater.cli.options import Force, Json, check_file, percentile, whole
from backwater.common import signals, suggest

if TYPE_CHECKING:
    from rich.table import Table

    from backwater.runs.critical import CriticalPath
    from backwater.runs.explain import Explained
    from backwater.runs.run import Run

with when_used():
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.runs import critical, events, kept
    from backwater.runs import explain as explaining
    from backwater.show import critical as critical_text
    from backwater.show import explained as explained_text
    from backwater.show import results


WHICH, KEPT = "Which flows", "Where files go"
FLOWS = 2**32 - 1
"""Largest number of a flow."""
SLOWEST = "slowest"
WORST = 3
"""Flows or steps that are printed one by one."""


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
    runs = chosen(opened, names)
    if flow and (worst or flow_class or below or above):
        raise _core.InputError("--flow: names flows; --worst, --class, --below and --above choose them: not both")
    if out_file is not None:
        if len(runs) > 1 or out_file.suffix not in events.TABLES:
            raise _core.InputError(f"--out {out_file}: expected one run, and a name that ends in .parquet or .arrow")
        check_file("--out", out_file, force=force)
    if iteration is not None and (flow or below or above):
        raise _core.InputError("--iteration: not together with --flow, --below or --above, for flows")
    least = 0 if above is None else size_of(above, "--above")
    most = None if below is None else size_of(below, "--below")
    if page:
        opened.verify()
        kept.check(run)
    give = Given(opened, runs, out_file, page, as_json)
    if iteration is None:
        give.answer(Flows(explaining.Asked(flow or [], flow_class, least, most, tail), worst or WORST))
    else:
        give.answer(Iteration(iteration, flow_class, worst or WORST))


def chosen(opened: results.Results, names: Sequence[str] | None) -> Sequence[Run]:
    """Returns the runs with these names, or else the only run."""
    if names:
        return [one for name in names for one in opened.select(name)]
    if len(opened) != 1:
        there = suggest.expected("", [one.label for one in opened])
        raise _core.InputError(f"{opened.path}: {len(opened)} runs: name some with --run; {there}")
    return opened.runs


def size_of(text: str, option: str) -> int:
    """Reads `3KB` or `2 MiB` as bytes."""
    size = quantities.whole(text, quantities.SIZES | quantities.BINARY_SIZES)
    if size is None or size >= 2**63:
        raise _core.InputError(f"{option} {text}: expected a size such as 3KB or 1 MiB")
    return size


@dataclass(frozen=True)
class Flows:
    """Asks where flows spent their time."""

    asked: explaining.Asked
    worst: int
    """Flows of a tail that are printed one by one."""

    def of(self, run: Run) -> Explained:
        """Runs a run again and follows the flows."""
        table, wanted = run.table("flows"), self.asked.flow_class
        if wanted is not None and wanted not in (there := explaining.classes(table)):
            raise _core.InputError(f"--class {wanted}: expected one of {', '.join(there)}")
        tail, flows = self.asked.of(table)
        what = f"{run.label}: again, with {quantities.some(flows.num_rows, 'flow')} followed"
        with terminal.progress_of(what) as progress:
            return run.explain_flows(flows, tail=tail, progress=progress)

    def lines(self, found: Explained) -> list[str | Table]:
        return explained_text.lines(found, self.worst)

    def together(self, found: Sequence[Explained], runs: Sequence[Run]) -> list[str]:
        return []

    def write(self, found: Explained, file: Path) -> None:
        explaining.write(found, file)

    def as_json(self, found: Sequence[Explained]) -> object:
        return explained_text.as_json(found, summary=not self.asked.numbers)


@dataclass(frozen=True)
class Iteration:
    """Asks for the critical path of an iteration."""

    which: str
    """A number, or `slowest`."""
    job: str | None
    worst: int
    """Steps that are printed one by one, the longest."""

    def of(self, run: Run) -> CriticalPath:
        """Runs a run again and follows the messages on the path."""
        jobs = list(critical.jobs_of(run.scenario))
        if not jobs:
            raise _core.InputError("--iteration: the run has no job: expected a workload of kind job or collective")
        if self.job is None and len(jobs) > 1:
            raise _core.InputError(f"--iteration: {len(jobs)} jobs: name one of {', '.join(jobs)} with --class")
        if self.job is not None and self.job not in jobs:
            raise _core.InputError(f"--class {self.job}: expected a job: {', '.join(jobs)}")
        number = run.slowest_iteration(self.job) if self.which == SLOWEST else int(self.which)
        with terminal.progress_of(f"{run.label}: again, with the critical path followed") as progress:
            return run.critical_path(number, self.job, progress=progress)

    def lines(self, found: CriticalPath) -> list[str | Table]:
        return critical_text.lines(found, self.worst)

    def together(self, found: Sequence[CriticalPath], runs: Sequence[Run]) -> list[str]:
        return critical_text.compared_runs(found, runs)

    def write(self, found: CriticalPath, file: Path) -> None:
        critical.write(found, file)

    def as_json(self, found: Sequence[CriticalPath]) -> object:
        return [critical_text.as_json(path) for path in found]


Found = TypeVar("Found", "Explained", "CriticalPath")


class Question(Protocol[Found]):
    """What is asked of each run, and how its answer is told."""

    def of(self, run: Run) -> Found: ...
    def lines(self, found: Found) -> list[str | Table]: ...
    def together(self, found: Sequence[Found], runs: Sequence[Run]) -> list[str]: ...
    def write(self, found: Found, file: Path) -> None: ...
    def as_json(self, found: Sequence[Found]) -> object: ...


@dataclass(frozen=True)
class Given:
    """The runs that are asked, and where the answers go."""

    opened: results.Results
    runs: Sequence[Run]
    out_file: Path | None
    page: bool
    as_json: bool

    def answer(self, question: Question[Found]) -> None:
        """Asks each run, and prints, writes and stores what it answers."""
        found = []
        with printing.quietly(self.as_json):
            for run in self.runs:
                found.append(question.of(run))
                terminal.say(f"{run.label}: the same run (digest {run.digest[:16]})")
                self._print(question.lines(found[-1]))
            self._print(question.together(found, self.runs))
            if self.out_file is not None:
                question.write(found[0], self.out_file)
            if self.page:
                self._store(found)
        if self.as_json:
            printing.print_json(question.as_json(found))

    def _print(self, lines: Sequence[str | Table]) -> None:
        for line in () if self.as_json else lines:
            terminal.answer(line) if isinstance(line, str) else terminal.out.print(line)

    def _store(self, found: Sequence[Explained | CriticalPath]) -> None:
        """Stores the answers in the run directory, and writes its report again."""
        place = self.opened.path
        self.opened.store(found)
        left = f"the explanation is stored in {place}; `backwater report {place}` writes the report"
        with signals.during(None, lambda: left):
            made = self.opened.report(formats=())
        terminal.say(f"Report: {made}")
