"""What programs on the hosts of a lab have told, and how their packets went: the runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from backwater.common.quantities import count, rate, span
from backwater.judge.panels import Panel, PanelRun, Reference
from backwater.runs.manifest import variant_of
from backwater.runs.run import Run

TABLE = "programs"
METRICS = {
    "goodput_bps": "goodput",
    "fairness": "fairness (Jain)",
    "rtt_p50_s": "round trip, median",
    "rtt_p99_s": "round trip, p99",
    "rtt_max_s": "longest round trip",
    "lost": "requests without an answer",
    "retransmitted": "packets sent again",
    "congestion_control": "congestion control",
}
"""Results of our own programs in words. Any other is called by its name."""
DRAWN = {
    "goodput_bps": ("goodput (Mb/s)", 1e6, "higher"),
    "rtt_p99_s": ("p99 of round trips (ms)", 1e-3, "lower"),
}
"""Results that are drawn: what the panel is called, its unit, and which end is better."""
PAUSES: dict[Literal["pfc_pauses", "bfc_pauses", "flow_pauses"], str] = {
    "pfc_pauses": "PFC",
    "bfc_pauses": "BFC",
    "flow_pauses": "flow",
}
MISSING = "-"


class Result(TypedDict):
    """A row of the table of what programs told."""

    host: str
    about: str
    text: str | None
    value: float | None


@dataclass(frozen=True)
class Row:
    """One quantity in every run."""

    what: str
    values: list[str]


def has_programs(run: Run) -> bool:
    """Whether it is a run of programs on the hosts of a lab."""
    return TABLE in run.tables


def table(runs: Sequence[Run]) -> list[Row]:
    """Returns a row for each result, then drops, pauses and lateness. Results of a group of hosts share a row."""
    told = [results(run) for run in runs]
    names = list(dict.fromkeys(name for one in told for name in one))
    rows = [Row(name, [between(*one[name]) if name in one else MISSING for one in told]) for name in names]
    return [*rows, *(Row(what, [value(run) for run in runs]) for what, value in CARRIED.items())]


def results(run: Run) -> dict[str, tuple[str, list[float | str]]]:
    """Returns each metric with its values, by what and whom it is about. Programs of the same command are a group."""
    groups: dict[tuple[str, str, bool], list[Result]] = {}
    for row in run.table(TABLE).to_pylist():
        if row["metric"] is not None:
            groups.setdefault((row["command"], row["metric"], bool(row["about"])), []).append(row)
    named: dict[str, tuple[str, list[float | str]]] = {}
    for (_, metric, is_about), rows in groups.items():
        hosts = [row["host"] for row in rows]
        whom = [row["about"] if is_about and len(set(hosts)) == 1 and len(rows) > 1 else row["host"] for row in rows]
        ends = whom[0] if len(whom) == 1 else f"{whom[0]} to {whom[-1]}"
        values = [row["text"] or "" if row["value"] is None else row["value"] for row in rows]
        named[f"{METRICS.get(metric, metric)}: {ends}"] = (metric, values)
    return named


def sentences(runs: Sequence[Run]) -> list[str]:
    """Says the goodput of each run and the p99 of its round trips, if programs have told both."""
    told = []
    for run in runs:
        found = {metric: between(metric, values) for metric, values in results(run).values() if len(values) == 1}
        if {"goodput_bps", "rtt_p99_s"} <= found.keys():
            told.append(
                f"{run.label}: {found['goodput_bps']} arrive, and the p99 of round trips is {found['rtt_p99_s']}."
            )
    return told


def panels(runs: Sequence[Run], slots: dict[str, int]) -> list[Panel]:
    """Returns panels of the goodput and of the round trips that single programs have told, as the page draws them."""
    shown: list[Panel] = []
    for metric, (label, scale, better) in DRAWN.items():
        points: list[PanelRun] = []
        drawn: list[float] = []
        for run in runs:
            known = [values[0] for name, values in results(run).values() if name == metric and len(values) == 1]
            variant = variant_of(run.params, run.label)
            if known and isinstance(known[0], float):
                drawn.append(known[0] / scale)
                point: PanelRun = {"variant": run.label, "point": {}, "slot": slots.get(variant, 0)}
                points.append({**point, "value": drawn[-1], "low": None, "high": None})
        if points:
            # Each panel has its own, so that the words below all panels can name none.
            best = (max if better == "higher" else min)(drawn)
            reference: Reference = {"name": "the best run", "value": best}
            shown.append({"label": label, "better": better, "runs": points, "reference": reference})
    return shown


def between(metric: str, values: list[float | str]) -> str:
    """Writes one value, or the least and the most of several."""
    numbers = [value for value in values if isinstance(value, float)]
    if len(numbers) < len(values):
        return ", ".join(sorted({str(value) for value in values}))
    least, most = (written(metric, end(numbers)) for end in (min, max))
    return least if least == most else f"{least} to {most}"


def written(metric: str, value: float) -> str:
    """Writes a number with the unit that its metric's name ends in."""
    if metric.endswith("_bps"):
        return rate(value)
    if metric.endswith("_s"):
        return span(value)
    return count(value) if value == int(value) and metric != "fairness" else f"{value:.4g}"


def dropped(run: Run) -> str:
    return count(sum(run.summary["drops"].values()))


def pauses(run: Run) -> str:
    kinds = [f"{count(run.summary['pause'][key])} {kind}" for key, kind in PAUSES.items() if run.summary["pause"][key]]
    return ", ".join(kinds) or "none"


def late(which: Literal["late_p99_s", "late_max_s"]) -> Callable[[Run], str]:
    return lambda run: span(run.summary["lab"][which])


CARRIED: dict[str, Callable[[Run], str]] = {
    "packets dropped by switches and NICs": dropped,
    "pauses": pauses,
    "lateness of frames, worst p99 of a host": late("late_p99_s"),
    "latest frame": late("late_max_s"),
    "faithful": lambda run: "yes" if run.summary["lab"]["faithful"] else "no",
}
"""Rows about packets: what they say, and how."""
