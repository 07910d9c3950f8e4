"""Results of an experiment on the terminal: its runs, its claims, its last lines; or as JSON for other programs."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.table import Table
from rich.text import Text

from backwater.cli.terminal import out, say, verdict_text
from backwater.common.quantities import count, percent, some
from backwater.judge.claims import VERDICTS
from backwater.judge.numbers import number
from backwater.runs.manifest import without_seed
from backwater.runs.run import Run
from backwater.runs.summary import Load, lost
from backwater.runs.verdicts import Claim
from backwater.runs.writer import PAGE
from backwater.show import endings, programs
from backwater.show.answer import both
from backwater.show.results import Results

FAR = 0.25
"""Relative difference from the asked load from which a run's table explains it."""


def of_programs(table: Table, runs: Sequence[Run]) -> Table:
    """Fills a table with what programs on hosts have told, a column for each run."""
    table.add_column("programs on the hosts")
    for run in runs:
        table.add_column(run.label + endings.mark(run), justify="right")
    for row in programs.table(runs):
        table.add_row(row.what, *row.values)
    return table


def print_runs(done: Results) -> None:
    """Prints a table with a row for each run, and sentences on loads that are far from the ones asked."""
    if out.quiet_notes:
        return
    scale = f", scale {done.manifest.scale}" if done.manifest.scale else ""
    table = Table(
        title=f"{done.name}{scale}, {seeds_of(done)}",
        title_justify="left",
        title_style="bold",
    )
    if done.runs and all(map(programs.has_programs, done.runs)):
        out.print(of_programs(table, done.runs))
        return
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
            count(lost(one.summary)),
            count(one.summary["packet_hops"]),
            count(speeds.get(one.label)),
            one.digest[:12],
        )
    out.print(table)
    for line in far_loads(done.runs):
        say(line)


def far_loads(runs: Sequence[Run]) -> list[str]:
    """Explains why classes of flows have another load than asked: at most two sentences for each class."""
    by_class: dict[str, list[tuple[Run, Load]]] = {}
    for run in runs:
        for load in run.summary["load"]:
            if apart(load) is not None:
                by_class.setdefault(load["class"], []).append((run, load))
    told = []
    for name, loads in by_class.items():
        wrong = [run.label for run, load in loads if load["as_asked"] is False]
        if wrong:
            told.append(
                f"{name} flows: chance does not explain the load of {some(len(wrong), 'run')} ({', '.join(wrong[:3])}"
                f"{', ...' if len(wrong) > 3 else ''}). Claims about {'it' if len(wrong) == 1 else 'them'} fail."
            )
        far = [(run, load) for run, load in loads if load["as_asked"] is not False and (apart(load) or 0.0) > FAR]
        if far:
            run, load = max(far, key=lambda item: apart(item[1]) or 0.0)
            error = load["sampling_error"]
            chance = f", so one standard error of the load is {percent(error)} of it" if error else ""
            told.append(
                f"{name} flows: in {len(far)} of {some(len(loads), 'run')} the load is far from what was asked; "
                f"{run.label} has {percent(load['realised'] or 0.0, 1)} instead of "
                f"{percent(load['asked'] or 0.0, 1)}. This is "
                f"chance: it measured only {some(load['flows'], 'flow')}, and a few large ones carry most "
                f"bytes{chance}. Longer runs (--set run.duration=...) or more --seeds come closer."
            )
    return told


def apart(load: Load) -> float | None:
    """Returns the relative difference of a load from the one asked; None where none was asked or realised."""
    asked, realised = load["asked"], load["realised"]
    return None if not asked or realised is None else abs(realised / asked - 1)


def computed(table: Table, runs: list[Run]) -> Table:
    """Fills a table of computations: a column for each result."""
    names = list(dict.fromkeys(name for one in runs for name in one.summary.get("results", {})))
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for one in runs:
        found = one.summary.get("results", {})
        table.add_row(one.label + endings.mark(one), *(number(found.get(name)) for name in names))
    return table


def loads(rows: list[Load]) -> tuple[str, Text]:
    """Returns each class's load as asked and as realised. It is red if chance does not explain the difference."""
    shares = [(row, row["asked"]) for row in rows if row["asked"] is not None]
    names = [f"{row['class']} " if len(shares) > 1 else "" for row, _ in shares]
    realised = [
        Text(
            "-" if row["realised"] is None else percent(row["realised"], 2),
            "bold red" if row["as_asked"] is False else "",
        )
        for row, _ in shares
    ]
    asked = [f"{name}{percent(share, 2)}" for name, (_, share) in zip(names, shares, strict=True)]
    return "\n".join(asked), Text("\n").join(realised)


def ending(done: Results) -> list[str]:
    """Returns the last lines: who wins by how much, where the report is, and what to try next."""
    place = done.path
    return [
        *([" ".join(done.answer)] if done.answer else []),
        f"Report: {place / PAGE}",
        f"Next: {tried_next(done)}",
    ]


def tried_next(done: Results) -> str:
    """Returns the command that is most useful next."""
    place = done.path
    simulated = [run for run in done.runs if "flows" in run.summary and "lab" not in run.summary]
    if not simulated:
        return f"`backwater open {place}` shows the report; `backwater compare {place}` prints the results."
    variants = list(dict.fromkeys(without_seed(run.label, run.params) for run in simulated))
    which = "" if len(done.runs) == 1 else f" --run {variants[0]}"
    explained = f"`backwater explain {place}{which}` says where slow flows spent their time."
    if known := [run.label for run in simulated if "waits" in run.tables]:
        explained = f"the report says where slow flows of {both(known)} spent their time."
    if len(variants) == 1:
        return f"`backwater open {place}` shows it; {explained}" if known else explained
    return f"`backwater compare {place}` prints all variants side by side; {explained}"


def told_claims(done: Results) -> list[str]:
    """Returns how many claims have each verdict, and how to see them."""
    verdicts = Counter(row["verdict"] for row in done.claims)
    if not verdicts:
        return []
    words = {
        "pass": "passed",
        "fail": "failed",
        "part": "passed in part",
        "direction": "in direction only",
        "fact": "true by set-up",
        "refers": "the same as others",
        "not-run": "not run",
    }
    counted = ", ".join(f"{verdicts[one]} {words.get(one, one)}" for one in VERDICTS if verdicts[one])
    return [f"Claims: {counted}. `backwater report {done.path} --claims` prints them."]


@contextlib.contextmanager
def quietly(wanted: bool) -> Iterator[None]:
    """Within, notes and progress are left out if `wanted`, so that only JSON is printed."""
    before = out.quiet_notes
    out.quiet_notes = before or wanted
    try:
        yield
    finally:
        out.quiet_notes = before


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def print_results_json(places: Sequence[Path]) -> None:
    """Prints each directory as JSON: its runs, their summaries, the answer and the claims."""
    print_json([results_json(Results(place)) for place in places])


def results_json(done: Results) -> dict[str, object]:
    return {
        "name": done.name,
        "path": str(done.path),
        "report": str(done.path / PAGE),
        "digest": done.digest,
        "complete": done.complete,
        "answer": done.answer,
        "claims": [{key: value for key, value in row.items() if key != "checks"} for row in done.claims],
        "runs": [
            {"label": run.label, "scheme": run.scheme, "params": run.params, "digest": run.digest}
            | {"summary": run.summary}
            | ({"programs": run.table(programs.TABLE).to_pylist()} if programs.has_programs(run) else {})
            for run in done.runs
        ],
    }


More = Literal["settling", "configured", "needs", "without", "note"]
BESIDE: tuple[More, ...] = ("settling", "configured", "needs")
"""What is printed beside the measurements of any claim."""
BESIDE_OTHERS: tuple[More, ...] = (*BESIDE, "without", "note")
"""What is printed beside those of a claim that does not hold, or was amended."""


def print_claims(rows: list[Claim]) -> None:
    """Prints the table of claims: the expectation, the measurement and the verdict of each."""
    if not rows:
        return
    table = Table(title="Claims", title_justify="left", title_style="bold")
    for heading in ("claim", "what", "expected", "measured", "verdict"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        amended = [f"amended: {why}" for why in row.get("amended", [])]  # Rows of older versions have none.
        plain = row["verdict"] == "pass" and not amended
        table.add_row(
            row["claim"],
            with_more(row["metric"], [] if plain else [row["says"]]),
            with_more(row["expected"], amended),
            with_more(row["measured"], [row.get(key, "") for key in (BESIDE if plain else BESIDE_OTHERS)]),
            with_more(verdict_text(row["verdict"], starred=bool(amended)), [row.get("coverage", "")]),
        )
    out.print(table)


def seeds_of(done: Results) -> str:
    seeds: list[int | None] = [*sorted({run.scenario["seed"] for run in done.runs})] or [done.manifest.seed]
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"


def with_more(first: str | Text, more: list[str]) -> Text:
    """Returns the text of a cell with notes below it."""
    head = Text(first) if isinstance(first, str) else first
    return Text("\n").join([head, *(Text(line, "dim") for line in more if line)])
