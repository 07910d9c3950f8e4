"""Runs that differ only in their seed, shown as one.

Numbers are means over the seeds, slowdowns with their intervals; flows, drops and packet-hops are added up.
Distributions, curves over time and the network are those of the first seed. Explained flows and critical paths stand
with their own seed.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any, Literal, cast

from backwater.judge.context import SEED
from backwater.judge.estimate import Estimate, jackknife
from backwater.judge.kinds import bounds
from backwater.runs.manifest import without_seed
from backwater.runs.summary import Summary
from backwater.show.page import BOUNDS, Binned, RunData, Statistic

STATISTICS: tuple[Statistic, ...] = ("mean", "p50", "p95", "p99")
COUNTED = {"flows", "drops"}
NUMBERS: tuple[Literal["flows", "unfinished"], ...] = ("flows", "unfinished")


def together(runs: list[RunData]) -> list[RunData]:
    """One for all seeds of a run, with `members` to tell them apart."""
    groups: dict[object, list[RunData]] = {}
    for n, run in enumerate(runs):
        name = without_seed(run["name"], run["point"])
        groups.setdefault(name if SEED in run["point"] else n, []).append(run)
    return [one(members) if len(members) > 1 else members[0] for members in groups.values()]


def one(members: list[RunData]) -> RunData:
    first = members[0]
    summaries: list[Any] = [run["summary"] for run in members]
    summary: dict[str, Any] = average(summaries)
    for key in COUNTED & summary.keys():
        summary[key] = {name: sum(one[key][name] for one in summaries) for name in summaries[0][key]}
    summary["packet_hops"] = sum(one["packet_hops"] for one in summaries)
    summed = [key for key in (*sorted(COUNTED), "packet_hops", "sim_time_ps") if key in summary]
    return {
        **first,
        "name": without_seed(first["name"], first["point"]),
        "shown": without_seed(first["shown"], first["point"]) if first["shown"] == first["name"] else first["shown"],
        "point": {key: value for key, value in first["point"].items() if key != SEED},
        "seeds": [run["point"][SEED] for run in members],
        "mark": next((run["mark"] for run in members if run["mark"]), ""),
        "summary": cast(Summary, summary),
        "slowdown_all": {
            name: over_seeds([run["slowdown_all"][name] for run in members if name in run["slowdown_all"]])
            for name in first["slowdown_all"]
        },
        "slowdown": {
            name: [
                over_seeds(
                    [row for run in members for row in run["slowdown"].get(name, []) if row["bin"] == here["bin"]]
                )
                for here in rows
            ]
            for name, rows in first["slowdown"].items()
        },
        "network": None,
        "explained": None,
        "path": None,
        "members": [
            {
                "name": run["name"],
                "mark": run["mark"],
                "digest": run["digest"],
                "packet_hops_per_s": run["packet_hops_per_s"],
                "summary": cast(Summary, {key: one[key] for key in summed}),
                "network": run.get("network"),
                "explained": run.get("explained"),
                "path": run.get("path"),
            }
            for run, one in zip(members, summaries, strict=True)
        ],
    }


def over_seeds(rows: list[Binned]) -> Binned:
    """A size bin: means of its statistics, each with its bounds; None where a seed has too few flows."""
    merged = rows[0].copy()
    for key in NUMBERS:
        if key in merged:  # Older versions did not count all of them.
            merged[key] = sum(row[key] for row in rows)
    for statistic in STATISTICS:
        values = [value for row in rows if (value := row[statistic]) is not None]
        if len(values) < len(rows):
            merged[statistic] = None
            continue
        known = estimate(values)
        merged[statistic] = known.value
        merged[BOUNDS[statistic]] = bounds(known)
    return merged


def average(values: list[Any]) -> Any:
    """Of equal structures: means of their numbers, None where one has none, and what holds of all; else the first's."""
    first = values[0]
    if any(value is None for value in values):
        return None
    if all(isinstance(value, bool) for value in values):
        return all(values)
    if all(isinstance(value, int | float) for value in values):
        return fmean(values)
    if all(isinstance(value, dict) and value.keys() == first.keys() for value in values):
        return {key: average([value[key] for value in values]) for key in first}
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        return [average(list(one)) for one in zip(*values, strict=True)]
    return first


def estimate(values: list[float]) -> Estimate:
    """The mean over seeds."""
    if len(values) < 2:
        return Estimate(fmean(values))
    return jackknife(fmean(values), [fmean(values[:i] + values[i + 1 :]) for i in range(len(values))])
