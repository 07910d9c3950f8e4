"""What came out of an experiment, as tables on the terminal: its runs, and its claims."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from backwater.api import Results
from backwater.judge.numbers import number
from backwater.results import Run
from backwater.show import endings
from backwater.terminal import count, out, verdict_text


def print_runs(done: Results) -> None:
    """One line a run: what came out of it."""
    scale = f", scale {done.manifest['scale']}" if done.manifest["scale"] else ""
    table = Table(
        title=f"{done.name}{scale}, {seeds_of(done)}",
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
        amended = [f"amended: {why}" for why in row.get("amended", [])]  # Rows of older versions have none.
        plain = row["verdict"] == "pass" and not amended
        table.add_row(
            row["claim"],
            with_more(row["metric"], [] if plain else [row["says"]]),
            with_more(row["expected"], amended),
            with_more(row["measured"], [] if plain else [row.get("without", ""), row["note"]]),
            with_more(verdict_text(row["verdict"], starred=bool(amended)), [row.get("coverage", "")]),
        )
    out.print(table)


def seeds_of(done: Results) -> str:
    seeds = sorted({run.scenario["seed"] for run in done.runs}) or [done.manifest["seed"]]
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"


def with_more(first: str | Text, more: list[str]) -> Text:
    """What a cell has, and beneath it what there is to say of that."""
    head = Text(first) if isinstance(first, str) else first
    return Text("\n").join([head, *(Text(line, "dim") for line in more if line)])
