"""Ranks of jobs over time, as the page draws them: a row for each rank, with what it does in each iteration.

Of many ranks, the page has the slowest, the median and the fastest of each iteration, and others between them. Of many
iterations it has the longest, the shortest, the median and others. Phases that follow one another are joined where
there are more than the page can show.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from backwater.common.arrays import Integers, np
from backwater.runs import jobs
from backwater.runs.jobs import Work
from backwater.runs.run import Run
from backwater.show.network import packed
from backwater.show.page import Timeline

ROWS = 24
ITERATIONS = 12
SPANS = 24_000
"""Spans of all runs of a page."""
SPANS_OF_RUN = 6_000
STEPS = 2**32 - 1
"""Times are whole numbers up to this."""


def of_run(run: Run, runs: int = 1) -> list[Timeline]:
    """The jobs of one of so many runs of a page that have jobs; those of which an iteration ended."""
    works = [work for work in jobs.of_run(run) if work.numbers]
    most = min(SPANS_OF_RUN, SPANS // max(runs, 1)) // max(len(works), 1)
    return [of_work(run, work, most) for work in works]


def of_work(run: Run, work: Work, most: int) -> Timeline:
    iterations = chosen_iterations(work)
    ranks = chosen_ranks(work, iterations)
    each = max(1, most // (len(ranks) * len(iterations)))
    spans = np.concatenate([spans_of(work, i, ranks, each) for i in iterations])
    begins, ends = work.parts.begin.min(axis=1)[iterations], work.parts.end.max(axis=1)[iterations]
    unit = -(-int(ends.max()) // STEPS)
    used, phases = np.unique(spans[:, 5:7], return_inverse=True)
    cells = np.stack([spans[:, 3], spans[:, 4], *phases.reshape(-1, 2).T], axis=1)
    cells[:, 1] = np.searchsorted(iterations, cells[:, 1])
    shown = Shown(ranks, begins, ends, int((ends - begins).sum()) // (each * len(iterations)))
    under_way = messages(run, work, shown)
    return {
        "class": work.name,
        "pattern": work.kind,
        "ranks": len(work.ranks),
        "ended": len(work.numbers),
        "rows": [{"rank": work.ranks[place], "host": work.hosts[place]} for place in ranks],
        "iterations": [
            {"number": work.numbers[i], "begin": begin * 1e-12, "end": end * 1e-12}
            for i, begin, end in zip(iterations, begins.tolist(), ends.tolist(), strict=True)
        ],
        "phases": [work.phases[i] for i in used.tolist()],
        "unit": unit * 1e-12,
        "times": packed((spans[:, :3] // unit).astype("<u4")),
        "cells": packed(cells.astype("<u2")),
        "bubbles": in_units(bubbles(work, shown), unit),
        "messages": None if under_way is None else in_units(under_way, unit),
    }


def in_units(spans: Integers, unit: int) -> str:
    return packed((spans // [1, unit, unit]).astype("<u4"))


@dataclass(frozen=True)
class Shown:
    """What the page has of a job."""

    ranks: list[int]
    begins: Integers
    """Of its iterations."""
    ends: Integers
    gap: int
    """What is shorter than this, in picoseconds, the page cannot show."""

    def within(self, row: int, begin: Integers, end: Integers) -> Integers:
        """Returns those of the spans of a row that meet one of the iterations: row, begin and end."""
        order = np.argsort(self.begins)
        latest = np.maximum.accumulate(self.ends[order])
        before = np.searchsorted(self.begins[order], end) - 1
        kept = (before >= 0) & (latest[np.maximum(before, 0)] > begin)
        return np.stack([np.full(int(kept.sum()), row), begin[kept], end[kept]], axis=1)


def chosen_iterations(work: Work) -> list[int]:
    """Places of the iterations that the page has: the longest three, the shortest, the median, and others evenly."""
    time = work.parts.time
    order = np.argsort(time, kind="stable")
    chosen = dict.fromkeys([*order[::-1][:3].tolist(), int(order[0]), int(order[len(order) // 2])])
    evenly = np.linspace(0, len(time) - 1, ITERATIONS).round().astype(int).tolist()
    return sorted(list(dict.fromkeys([*chosen, *evenly, *range(len(time))]))[:ITERATIONS])


def chosen_ranks(work: Work, iterations: list[int]) -> list[int]:
    """Places of the ranks that the page has: of many, the slowest, median and fastest of each iteration, and others."""
    many = len(work.ranks)
    if many <= ROWS:
        return list(range(many))
    counted: Counter[int] = Counter()
    for i in iterations:
        order = np.argsort(work.parts.end[i], kind="stable")
        counted.update({int(order[-1]): 1, int(order[many // 2]): 1, int(order[0]): 1})
    ends = [place for place, _ in counted.most_common(ROWS * 3 // 4)]
    evenly = np.linspace(0, many - 1, ROWS).round().astype(int).tolist()
    return sorted(list(dict.fromkeys([*ends, *evenly]))[:ROWS])


def spans_of(work: Work, iteration: int, ranks: list[int], most: int) -> Integers:
    """Spans of an iteration: begin, length and computation in picoseconds, row, iteration, first and last phase.

    They do not overlap: time in two phases counts for the one that began first.
    """
    rows, parts, place = work.rows, work.parts, work.ended[1]
    found = []
    for row, rank in enumerate(ranks):
        first, last = np.searchsorted(rows.rank, [rank, rank + 1])
        mine = first + np.flatnonzero((place[first:last] == iteration) & (parts.own[first:last] > 0))
        if len(mine) == 0:
            continue
        begin, end = jobs.own_spans(work, mine)
        group = np.arange(0, len(mine), -(-len(mine) // most))
        lasts = np.append(group[1:], len(mine)) - 1
        same = np.full(len(group), 1)
        found.append(
            np.stack(
                [
                    begin[group],
                    end[lasts] - begin[group],
                    np.add.reduceat(parts.computing[mine], group),
                    row * same,
                    iteration * same,
                    rows.phase[mine][group],
                    rows.phase[mine][lasts],
                ],
                axis=1,
            )
        )
    return np.concatenate(found) if found else np.zeros((0, 7), np.int64)


def bubbles(work: Work, shown: Shown) -> Integers:
    """When each rank is in no iteration: row, begin and end."""
    rows, found = work.rows, []
    first, last = int(shown.begins.min()), int(shown.ends.max())
    for row, rank in enumerate(shown.ranks):
        mine = slice(*np.searchsorted(rows.rank, [rank, rank + 1]))
        until = np.where(rows.end[mine] < 0, jobs.NEVER, rows.end[mine])
        begin, end = jobs.merged(rows.begin[mine], until)
        begin, end = np.append(first, end), np.append(begin, last)
        kept = end - begin > shown.gap // 4
        found.append(shown.within(row, begin[kept], end[kept]))
    return np.concatenate(found)


def messages(run: Run, work: Work, shown: Shown) -> Integers | None:
    """When a message of each rank is under way: row, begin and end. Gaps that the page cannot show are closed."""
    if (spans := jobs.messages(run, work, shown.ranks)) is None:
        return None
    found = []
    for row, (begin, end) in enumerate(spans):
        begin, end = jobs.merged(begin, end + shown.gap)
        found.append(shown.within(row, begin, end - shown.gap))
    return np.concatenate(found)
