"""Runs side by side: one column a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.table import Table

from backwater._core import InputError
from backwater.judge.numbers import number
from backwater.results import Results, Run
from backwater.terminal import count, size

STATISTICS = ("mean", "p50", "p95", "p99")

FACTS: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
    ("flows finished", lambda s: count(s["flows"]["finished"])),
    ("flows unfinished", lambda s: count(s["flows"]["unfinished"])),
    ("packets retransmitted", lambda s: count(s["flows"]["retransmitted_packets"])),
    ("packets dropped", lambda s: count(sum(s["drops"].values()))),
    ("core utilisation", lambda s: "-" if s["core_utilisation"] is None else f"{s['core_utilisation']:.1%}"),
    ("buffer p50", lambda s: size(s["buffer"]["p50_bytes"])),
    ("buffer p99", lambda s: size(s["buffer"]["p99_bytes"])),
    ("buffer max", lambda s: size(s["buffer"]["max_bytes"])),
    ("PFC: time paused", lambda s: f"{s['pause']['pfc_paused_fraction']:.2%}"),
    ("PFC: pauses", lambda s: count(s["pause"]["pfc_pauses"])),
    ("BFC: pauses", lambda s: count(s["pause"]["bfc_pauses"])),
    ("packet-hops", lambda s: count(s["packet_hops"])),
]


def tables(opened: list[Results], statistic: str = "p99", flow_class: str | None = None) -> list[Table]:
    """Slowdown by size bin, then everything that is one number a run.

    # Errors
    `InputError` on an unknown statistic or class.
    """
    if statistic not in STATISTICS:
        raise InputError(f"--percentile {statistic}: expected one of {', '.join(STATISTICS)}")
    runs = named(opened)
    if any("results" in run.summary for _, run in runs):
        return [results(runs)]
    classes = list(dict.fromkeys(row["class"] for _, run in runs for row in run.summary["slowdown"]))
    flow_class = flow_class or next(iter(classes), "")
    if classes and flow_class not in classes:
        raise InputError(f"--class {flow_class}: expected one of {', '.join(classes)}")

    by_size = Table(title=f"FCT slowdown, {statistic}, {flow_class} flows", title_justify="left", title_style="bold")
    facts = Table(title="Whole runs", title_justify="left", title_style="bold")
    by_size.add_column("size")
    facts.add_column("")
    for name, _ in runs:
        by_size.add_column(name, justify="right", overflow="fold")
        facts.add_column(name, justify="right", overflow="fold")

    bins: dict[tuple[int, int | None], dict[str, str]] = {}
    for name, run in runs:
        for row in run.summary["slowdown"]:
            if row["class"] == flow_class:
                value = row[statistic]
                cell = bins.setdefault((row["size_low_bytes"], row["size_high_bytes"]), {})
                cell[name] = "-" if value is None else f"{value:.2f}"
    for (low, high), cells in sorted(bins.items(), key=lambda bin: (bin[0] == (0, None), bin[0][0])):
        by_size.add_row(bin_name(low, high), *(cells.get(name, "-") for name, _ in runs))
    for what, read in FACTS:
        facts.add_row(what, *(read(run.summary) for _, run in runs))
    facts.add_row("digest", *(run.digest[:12] for _, run in runs))
    unlike = [unlike_first(runs[0][1], run) for _, run in runs]
    if any(unlike):
        facts.add_row("tables unlike the first's", *(text or "-" for text in unlike))
    return [by_size, facts]


def results(runs: list[tuple[str, Run]]) -> Table:
    """What computations came to.

    # Errors
    `InputError` where one of the runs is none.
    """
    table = Table(title="Results", title_justify="left", title_style="bold")
    table.add_column("")
    for name, run in runs:
        if "results" not in run.summary:
            raise InputError(f"{run.path}: a simulation beside computations: expected runs of one kind")
        table.add_column(name, justify="right", overflow="fold")
    for what in dict.fromkeys(what for _, run in runs for what in run.summary["results"]):
        table.add_row(what, *(number(run.summary["results"].get(what)) for _, run in runs))
    table.add_row("digest", *(run.digest[:12] for _, run in runs))
    return table


def unlike_first(first: Run, run: Run) -> str:
    """The tables in which two runs of one scenario differ."""
    if run.scenario != first.scenario or run.digest == first.digest:
        return ""
    return ", ".join(table for table, digest in run.digests.items() if first.digests.get(table) != digest)


def named(opened: list[Results]) -> list[tuple[str, Run]]:
    """Every run, by its label; with its directory before it where several are open."""
    several = len(opened) > 1
    return [(f"{one.path.name}/{run.label}" if several else run.label, run) for one in opened for run in one.runs]


def bin_name(low: int, high: int | None) -> str:
    if high is None:
        return "all" if low == 0 else f"> {size(low)}"
    return f"<= {size(high)}" if low == 0 else f"{size(low)} - {size(high)}"
