"""`backwater compare`: variants side by side, seeds joined, in tables that fit the terminal.

A variant is one column: its slowdowns are means over its seeds with intervals. Where a key was swept, each point has
its own columns. Columns that do not fit beside each other continue in a further table with the same rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from rich.table import Table
from rich.text import Text

from backwater._core import InputError
from backwater.common.quantities import count, percent, size, span
from backwater.judge.estimate import Estimate
from backwater.judge.numbers import between_words, number
from backwater.runs.directory import RunDirectory, digest_of
from backwater.runs.manifest import Params, without_seed
from backwater.runs.run import Run
from backwater.runs.summary import CREDIT, Summary, lost
from backwater.show import answer, collectives, compare_jobs, compare_pauses, report, seeds
from backwater.show.compare_jobs import Row, estimated
from backwater.show.names import named
from backwater.show.page import BOUNDS, Binned, Collective, RunData, Statistic

STATISTICS = seeds.STATISTICS
WIDTH = 100
"""Characters of a line where no terminal says how many it has."""
WIDEST = 30
"""A column with longer text folds it."""
FRAME = 3
"""Characters that a column takes besides its text."""

Ends = tuple[int, int | None]
"""Of a size bin."""


@dataclass(frozen=True)
class Column:
    """A variant at one point of the sweep, with the runs that differ only in their seed."""

    name: str
    point: Params
    runs: list[Run]
    data: RunData
    """The runs joined, as the page shows them."""

    @property
    def header(self) -> str:
        """Its name, and beneath it the point of the sweep."""
        return "\n".join(filter(None, [self.name, answer.point_name(self.point)]))

    @cached_property
    def digest(self) -> str:
        return digest_of([run.digest for run in self.runs])

    @cached_property
    def jobs(self) -> list[Collective]:
        """Its collectives and jobs, as the page shows them."""
        return collectives.of_seeds(self.runs)

    @cached_property
    def pauses(self) -> compare_pauses.Trees | None:
        """Its trees of pauses; None if its links were not recorded."""
        return compare_pauses.of_seeds(self.runs)

    def bins(self, flow_class: str) -> dict[Ends, Binned]:
        """The size bins of a class of flows by their ends, and all sizes together."""
        rows = [*self.data["slowdown"].get(flow_class, [])]
        rows += [row for name, row in self.data["slowdown_all"].items() if name == flow_class]
        return {(row["size_low_bytes"], row["size_high_bytes"]): row for row in rows}


@dataclass(frozen=True)
class Fact:
    """One number of a whole run, added up over the seeds or their mean."""

    what: str
    read: Callable[[Summary], float | None]
    tell: Callable[[float], str]
    adds_up: bool = False
    only_if_any: bool = False
    """The row is left out where it is 0 in every run."""

    def cell(self, column: Column) -> str:
        values = [self.read(run.summary) for run in column.runs]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return "-"
        return self.tell(sum(known) if self.adds_up else fmean(known))

    def row(self, columns: Sequence[Column]) -> Row | None:
        if self.only_if_any and not any(self.read(run.summary) for column in columns for run in column.runs):
            return None
        return self.what, [self.cell(column) for column in columns]


FACTS = [
    Fact("flows finished", lambda s: s["flows"]["finished"], count, adds_up=True),
    Fact("flows unfinished", lambda s: s["flows"]["unfinished"], count, adds_up=True),
    Fact("packets retransmitted", lambda s: s["flows"]["retransmitted_packets"], count, adds_up=True),
    Fact("packets dropped", lost, count, adds_up=True),
    Fact("credits dropped", lambda s: s["drops"].get(CREDIT, 0), count, adds_up=True, only_if_any=True),
    Fact("core utilisation", lambda s: s["core_utilisation"], lambda share: percent(share, 1)),
    Fact("buffer p50", lambda s: s["buffer"]["p50_bytes"], size),
    Fact("buffer p99", lambda s: s["buffer"]["p99_bytes"], size),
    Fact("buffer max", lambda s: s["buffer"]["max_bytes"], size),
    Fact("PFC: time paused", lambda s: s["pause"]["pfc_paused_fraction"], lambda share: percent(share, 2)),
    Fact("PFC: pauses", lambda s: s["pause"]["pfc_pauses"], count, adds_up=True),
    Fact("BFC: pauses", lambda s: s["pause"]["bfc_pauses"], count, adds_up=True),
    Fact("packet-hops", lambda s: s["packet_hops"], count, adds_up=True),
]


def columns(opened: Sequence[RunDirectory]) -> list[Column]:
    """The variants of one directory or several, in the order of their runs."""
    names = [name for name, _ in named(opened)]
    found = []
    for one in opened:
        groups: dict[str, list[tuple[str, Run]]] = {}
        for run in one.runs:
            groups.setdefault(without_seed(run.label, run.params), []).append((names.pop(0), run))
        prefix = f"{one.path.name}/" if len(opened) > 1 else ""
        found += [column(prefix, members) for members in groups.values()]
    return found


def column(prefix: str, members: list[tuple[str, Run]]) -> Column:
    (data,) = seeds.together([{**report.numbers(name, run, {})} for name, run in members])
    point = data["point"]
    return Column(f"{prefix}{data['named']}" if point else data["name"], point, [run for _, run in members], data)


def tables(
    opened: Sequence[RunDirectory], statistic: str = "p99", flow_class: str | None = None, width: int = WIDTH
) -> Iterator[Table | Text]:
    """Slowdown by size, jobs, trees of pauses, then what is one number a run; each part with its title.

    No line is wider than `width`, unless one column alone is.

    # Errors
    `InputError` on an unknown statistic or class.
    """
    chosen = next((one for one in STATISTICS if one == statistic), None)
    if chosen is None:
        raise InputError(f"--percentile {statistic}: expected one of {', '.join(STATISTICS)}")
    shown = columns(opened)
    if any("results" in run.summary for one in shown for run in one.runs):
        return side_by_side("Results", "", shown, results(shown), width)
    classes = list(dict.fromkeys(row["class"] for one in shown for run in one.runs for row in run.summary["slowdown"]))
    flow_class = flow_class or next(iter(classes), "")
    if classes and flow_class not in classes:
        raise InputError(f"--class {flow_class}: expected one of {', '.join(classes)}")
    return simulated(shown, f"FCT slowdown, {statistic}, {flow_class} flows", chosen, flow_class, width)


def simulated(
    shown: list[Column], what: str, statistic: Statistic, flow_class: str, width: int
) -> Iterator[Table | Text]:
    numbers = sorted({len(one.runs) for one in shown})
    if numbers[-1] > 1:
        yield Text(
            f"Slowdowns and times are means of {' or '.join(map(str, numbers))} seeds, with intervals of 95 %; "
            "counts are added up."
        )
    if len({answer.point_name(one.point) for one in shown}) > 1:
        yield from by_point(f"{what} of all sizes (lower is better)", shown, statistic, flow_class, width)
    yield from side_by_side(f"{what} (lower is better)", "size", shown, slowdowns(shown, statistic, flow_class), width)
    if completions := of_collectives(shown):
        title = "Completion time of collectives (lower is better)"
        yield from side_by_side(title, "class", shown, completions, width)
    for title, rows in compare_jobs.tables([one.jobs for one in shown]):
        yield from side_by_side(title, "", shown, rows, width)
    if held := compare_pauses.rows([one.pauses for one in shown]):
        yield from side_by_side(compare_pauses.TITLE, "", shown, held, width)
    yield from side_by_side("Whole runs", "", shown, facts(shown), width)


def by_point(
    title: str, shown: list[Column], statistic: Statistic, flow_class: str, width: int
) -> Iterator[Table | Text]:
    """A row for each point of the sweep, a column for each variant, all sizes together."""
    cells = {
        (answer.point_name(one.point) or "not swept", one.name): slowdown(
            one.bins(flow_class).get((0, None)), statistic
        )
        for one in shown
    }
    points, names = (list(dict.fromkeys(key[i] for key in cells)) for i in (0, 1))
    rows = [(point, [cells.get((point, name), "-") for name in names]) for point in points]
    yield from fitting(title, "", names, [""] * len(names), rows, width)


def slowdowns(shown: list[Column], statistic: Statistic, flow_class: str) -> list[Row]:
    """A row for each size bin, small sizes first, all sizes last."""
    found = [one.bins(flow_class) for one in shown]
    bins = sorted({ends for one in found for ends in one}, key=lambda ends: (ends == (0, None), ends[0]))
    return [(bin_name(*ends), [slowdown(one.get(ends), statistic) for one in found]) for ends in bins]


def slowdown(row: Binned | None, statistic: Statistic) -> str:
    """One seed's number to two places, as always; several seeds' mean with its interval."""
    if row is None or (value := row[statistic]) is None:
        return "-"
    low, high = row.get(BOUNDS[statistic], (None, None))
    if low is None or high is None:
        return f"{value:.2f}"
    return estimated(Estimate(value, low, high), lambda value: f"{value:.2f}" if value < 100 else number(value))


def of_collectives(shown: list[Column]) -> list[Row]:
    """Time from a collective's start to its last byte, by class; `-` where one did not finish."""
    names = dict.fromkeys(
        row["class"] for one in shown for run in one.runs for row in run.summary.get("collectives") or []
    )

    def cell(one: Column, flow_class: str) -> str:
        rows = [row for run in one.runs for row in run.summary.get("collectives") or [] if row["class"] == flow_class]
        times = [time for row in rows if (time := row["completion_ps"]) is not None]
        if len(times) < max(len(one.runs), len(rows)):
            return "-"
        return estimated(seeds.estimate([time * 1e-12 for time in times]), span)

    return [(name, [cell(one, name) for one in shown]) for name in names]


def facts(shown: list[Column]) -> list[Row]:
    rows = [row for fact in FACTS if (row := fact.row(shown)) is not None]
    rows.append(("digest", [one.digest[:12] for one in shown]))
    unlike = [unlike_first(shown[0], one) for one in shown]
    if any(unlike):
        rows.append(("tables unlike the first's", [text or "-" for text in unlike]))
    return rows


def results(shown: list[Column]) -> list[Row]:
    """The numbers that computations gave.

    # Errors
    `InputError` where one of the runs is a simulation.
    """
    for run in (run for one in shown for run in one.runs):
        if "results" not in run.summary:
            raise InputError(f"{run.path}: a simulation beside computations: expected runs of one kind")

    def cell(one: Column, what: str) -> str:
        values = [value for run in one.runs if (value := run.summary["results"].get(what)) is not None]
        if len(values) < len(one.runs):
            return "-"
        measured = seeds.estimate(values)
        return number(measured.value) + between_words(measured)

    names = dict.fromkeys(what for one in shown for run in one.runs for what in run.summary["results"])
    rows = [(what, [cell(one, what) for one in shown]) for what in names]
    return [*rows, ("digest", [one.digest[:12] for one in shown])]


def unlike_first(first: Column, other: Column) -> str:
    """The tables in which runs of one scenario differ, seed by seed."""
    differ: dict[str, None] = {}
    for one in other.runs:
        for like in first.runs:
            if one.scenario == like.scenario and one.digest != like.digest:
                differ |= {table: None for table, digest in one.digests.items() if like.digests.get(table) != digest}
    return ", ".join(differ)


def as_json(opened: Sequence[RunDirectory]) -> list[dict[str, object]]:
    """Each column with its runs and seeds joined: slowdowns with `_bounds` of their intervals, means and totals."""
    return [
        {
            "name": one.name,
            "point": one.point,
            "runs": [str(run.path) for run in one.runs],
            "digest": one.digest,
            "summary": one.data["summary"],
            "slowdown": one.data["slowdown"],
            "slowdown_all": one.data["slowdown_all"],
            "jobs": one.jobs,
            "pause_trees": one.pauses,
        }
        for one in columns(opened)
    ]


def bin_name(low: int, high: int | None) -> str:
    if high is None:
        return "all" if low == 0 else f"> {size(low)}"
    return f"<= {size(high)}" if low == 0 else f"{size(low)} - {size(high)}"


# Tables that fit.


def side_by_side(title: str, corner: str, shown: list[Column], rows: list[Row], width: int) -> Iterator[Table | Text]:
    points = [answer.point_name(one.point) for one in shown]
    return fitting(title, corner, [one.header for one in shown], points, rows, width)


def fitting(
    title: str, corner: str, headers: list[str], groups: list[str], rows: list[Row], width: int
) -> Iterator[Table | Text]:
    """The same rows in as many tables as the width asks for; columns of a group stay in one table where they fit."""
    left = longest([corner, *(what for what, _ in rows)]) + FRAME + 1
    widths = [
        min(WIDEST, longest([header, *(cells[i] for _, cells in rows)])) + FRAME for i, header in enumerate(headers)
    ]
    yield Text(title, "bold")
    for part in packed(groups, widths, width - left):
        table = Table()
        table.add_column(corner)
        for i in part:
            table.add_column(headers[i], justify="right", overflow="fold", max_width=WIDEST)
        for what, cells in rows:
            table.add_row(what, *(cells[i] for i in part))
        yield table


def packed(groups: list[str], widths: list[int], room: int) -> Iterator[list[int]]:
    """Columns by their place, as many together as have room."""
    together = [[i for i, _ in members] for _, members in itertools.groupby(enumerate(groups), lambda item: item[1])]
    part: list[int] = []
    for group in together:
        if part and sum(widths[i] for i in [*part, *group]) > room:
            yield part
            part = []
        for i in group:
            if part and sum(widths[j] for j in [*part, i]) > room:
                yield part
                part = []
            part.append(i)
    if part:
        yield part


def longest(texts: Sequence[str]) -> int:
    return max((len(line) for text in texts for line in text.splitlines()), default=0)
