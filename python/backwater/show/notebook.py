"""Experiments and results as a notebook shows them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from backwater.judge.numbers import number

if TYPE_CHECKING:
    from backwater.runs.directory import RunDirectory
    from backwater.runs.verdicts import Claim
    from backwater.scenario.plan import Plan

RUNS_MAX = 30
"""Rows that are shown of more."""


def experiment(name: str, plan: Plan) -> str:
    """What it will run."""
    runs = plan.runs
    axes = [key for key in dict.fromkeys(key for run in runs for key in run.params) if key != "variant"]
    rows = [[run.params.get("variant"), *(run.params.get(key) for key in axes)] for run in runs]
    head = f"<b>{html.escape(name)}</b>: {len(runs)} run{'s' * (len(runs) != 1)}"
    return f"<p>{head}. {html.escape(plan.description)}</p>{table(['variant', *axes], rows)}"


def results(done: RunDirectory, judged: Sequence[Claim]) -> str:
    """What came out: a row for each run, and the claims."""
    rows = []
    for run in done.runs:
        summary = run.summary
        if "results" in summary:
            found = ", ".join(f"{name} {number(value)}" for name, value in summary["results"].items())
            rows.append([run.label, run.ending, found])
            continue
        slowdown = [row for row in summary["slowdown"] if row["bin"] == "all"]
        shown = [f"{row['class']} {number(row['mean'])}, {number(row['p99'])}" for row in slowdown]
        flows = summary["flows"]
        rows.append([run.label, f"{flows['finished']} of {flows['counted']}", "; ".join(shown)])
    computed = any("results" in run.summary for run in done.runs)
    headings = ["run", "ended", "results"] if computed else ["run", "flows finished", "slowdown: mean, p99"]
    claims = [[row["claim"], row["verdict"], row["says"], row["measured"]] for row in judged]
    verdicts = table(["claim", "verdict", "", "measured"], claims) if claims else ""
    return f"<p><b>{html.escape(done.name)}</b> in {html.escape(str(done.path))}</p>{table(headings, rows)}{verdicts}"


def table(headings: Sequence[str], rows: Sequence[Iterable[Any]]) -> str:
    """The first rows, and how many more there are."""

    def row(tag: str, cells: Iterable[Any]) -> str:
        inside = "".join(f"<{tag} style='text-align:left'>{html.escape(text(cell))}</{tag}>" for cell in cells)
        return f"<tr>{inside}</tr>"

    body = "".join(row("td", cells) for cells in rows[:RUNS_MAX])
    more = f"<p>and {len(rows) - RUNS_MAX} more</p>" if len(rows) > RUNS_MAX else ""
    return f"<table><thead>{row('th', headings)}</thead><tbody>{body}</tbody></table>{more}"


def text(cell: Any) -> str:
    return "" if cell is None else number(cell) if isinstance(cell, float) else str(cell)
