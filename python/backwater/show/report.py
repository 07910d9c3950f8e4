"""`report.html`: one page that needs nothing but itself. Data, styles and scripts are inlined; nothing is fetched."""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from backwater.common.quantities import SIZES, in_largest
from backwater.judge import claims, panels
from backwater.judge.context import SEED
from backwater.judge.panels import Panel, PanelRun, Reference
from backwater.runs.directory import RunDirectory
from backwater.runs.manifest import variant_of, without_seed
from backwater.runs.pause_trees import is_recorded
from backwater.runs.run import Run
from backwater.runs.summary import CREDIT, Summary, lost
from backwater.runs.verdicts import Claim
from backwater.scenario import endless
from backwater.show import (
    answer,
    collectives,
    colours,
    endings,
    flows,
    iterations,
    links,
    network,
    paths,
    pause_trees,
    programs,
    seeds,
    series,
    timeline,
)
from backwater.show.names import named
from backwater.show.page import (
    Curves,
    Drawn,
    Dropped,
    ExperimentData,
    Explain,
    Numbers,
    PageData,
    RunData,
    Winners,
    WinnersRow,
)

SCRIPTS = (
    *(
        "pieces",
        "settings",
        "files",
        "lines",
        "dots",
        "runs",
        "head",
        "panels",
        "winners",
        "links",
        "collectives",
        "timeline",
        "slowdown",
    ),
    "programs",
    *("flows", "network", "paths", "pause-trees", "curves", "ports", "details", "report"),
)
"""The page's own scripts in order; each sees the names of those before it, and the last one puts the page together."""
STATIC = Path(__file__).parent / "static"
POINTS = 16
"""Most points of a sweep that its first chart has a row for."""
FORMATS = ("png", "svg", "pdf")
"""Of figures."""


def page_data(
    opened: Sequence[RunDirectory],
    shown: list[Panel] | None = None,
    known: list[RunData] | None = None,
    judged: Sequence[Claim] = (),
) -> PageData:
    """Everything the page shows; `shown` are the panels and `known` the runs, if they have been read.

    `judged` are the claims of all directories.
    """
    first = opened[0]
    several = len(opened) > 1
    runs = seeds.together(known if known is not None else list(runs_data(opened)))
    drawn = shown if shown is not None else [] if several else panels.read(first)
    slots = colours.slots((run["variant"], run["scheme"]) for run in runs)
    for run in runs:
        run["slot"] = slots[run["variant"]]
    by_name = {run["named"]: run["slot"] for run in runs}
    for point in (point for panel in drawn for point in panel["runs"]):
        point["slot"] = by_name[point["variant"]]
    data: PageData = {
        "name": " · ".join(dict.fromkeys(one.name for one in opened)),
        "description": "" if several else first.manifest.description,
        "left": left(opened),
        "experiments": [experiment_data(one) for one in opened],
        "runs": runs,
        "figure": first.manifest.figure,
        "panels": drawn,
        "undrawn": sorted({run["variant"] for run in runs if run["left_out"]}),
        "dropped": dropped(runs),
        "claims": list(judged),
    }
    found = answer.compared(data)
    for run in runs:
        run["explain"] = explain_command(run, found)
    paths.compare(runs)
    paths.commands(runs)
    told = [*iterations.sentences(data), *answer.sentences(data)]
    told += endless.told(run.scenario for one in opened for run in one.runs if "flows" in run.summary)
    shown_first: PageData = {"answer": told, "headline": headline(data, found), "winners": winners(data, found)}
    return {**data, **shown_first, **of_programs(opened, slots)}


def of_programs(opened: Sequence[RunDirectory], slots: dict[str, int]) -> PageData:
    """What the page shows first of runs of programs on the hosts of a lab; nothing if there are none."""
    runs = [run for one in opened for run in one.runs if programs.has_programs(run)]
    if not runs:
        return {}
    rows = [[row.what, *row.values] for row in programs.table(runs)]
    names = [run.label for run in runs]
    return {
        "programs": {"runs": names, "rows": rows},
        "answer": programs.sentences(runs),
        "headline": programs.panels(runs, slots),
    }


def measured(one: RunDirectory) -> answer.Measurement | None:
    """What the first sentence of an experiment's page compares, without anything else of the page."""
    undrawn = left_out([one])
    runs: list[RunData] = [{**numbers(run.label, run, {}), "left_out": run.path in undrawn} for run in one.runs]
    return answer.compared({"runs": seeds.together(runs), "figure": one.manifest.figure, "panels": panels.read(one)})


def headline(data: PageData, found: answer.Measurement | None) -> list[Panel]:
    """Panels of what the first sentences compare, for an experiment without panels and without a sweep."""
    if data["panels"] or found is None or len(found.points) > 1:
        return []
    slots = {run["shown"]: run["slot"] for run in data["runs"]}
    both = [*iterations.panels(data), (found.what, found.entries)]
    if len(found.entries) < 2 or found.flow_class in answer.collective_classes(data["runs"]):
        both.pop()
    return [headline_panel(what, entries, slots) for what, entries in both]


def headline_panel(what: str, entries: list[answer.Entry], slots: dict[str, int]) -> Panel:
    runs: list[PanelRun] = [
        {
            "variant": entry.name,
            "point": {},
            "slot": slots[entry.name],
            "value": entry.value,
            "low": entry.low,
            "high": entry.high,
        }
        for entry in entries
        if not entry.left_out
    ]
    best = answer.best(entries)
    reference: Reference | None = {"name": best.name, "value": best.known} if best else None
    return {"label": what, "better": "lower", "runs": runs, "reference": reference}


def winners(data: PageData, found: answer.Measurement | None) -> Winners | None:
    """What the first sentence compares at each point of a sweep, and who is best there; None without a sweep.

    Of many points some are left out, evenly.
    """
    if found is None or len(found.points) < 2:
        return None
    slots = {run["named"]: run["slot"] for run in data["runs"]} | {run["variant"]: run["slot"] for run in data["runs"]}
    step = -(-len(found.points) // POINTS)
    # The last point stays, about which the first sentence is.
    kept = list(found.points.items())[::-1][::step][::-1]
    rows: list[WinnersRow] = []
    for point, entries in kept:
        best = answer.best(entries)
        others = [entry for entry in entries if entry.can_win and entry is not best]
        runs: list[PanelRun] = [
            {
                "variant": entry.name,
                "slot": slots[entry.name],
                "ideal": entry.is_ideal,
                "value": entry.value,
                "low": entry.low,
                "high": entry.high,
            }
            for entry in entries
            if not entry.left_out
        ]
        rows.append(
            {
                "point": point,
                "runs": runs,
                "best": {"variant": best.name, "value": best.known} if best else None,
                "tie": best is not None and any(entry.equals(best) for entry in others),
            }
        )
    return {"label": found.what, "better": "lower", "rows": rows, "left_out": len(found.points) - len(rows)}


def dropped(runs: list[RunData]) -> Dropped:
    """Packets lost in the runs that are drawn. ExpressPass drops surplus credits by design, so they count apart."""
    summaries = [run["summary"] for run in runs if not run["left_out"] and "drops" in run["summary"]]
    return {"packets": sum(map(lost, summaries)), "credits": sum(one["drops"].get(CREDIT, 0) for one in summaries)}


def left(opened: Sequence[RunDirectory]) -> list[str]:
    """What keeps it from being complete, and which runs were made with real packets, line by line."""
    interrupted = "Interrupted: some runs are partial or missing."
    lines = [interrupted] if any(one.interrupted for one in opened) else []
    runs = [run for one in opened for run in one.runs]
    python = [line for one in opened for line in endings.in_python(one.timing, one.runs)]
    return lines + endings.in_lab(runs) + python + [line for run in runs if (line := endings.told(run))]


def experiment_data(one: RunDirectory) -> ExperimentData:
    """What stands in the strip at the top."""
    made, timing = one.manifest, one.timing
    return {
        "name": made.name,
        "version": made.version,
        "seed": made.seed,
        "scale": made.scale,
        "digest": made.digest,
        "command": made.command,
        "wall_s": timing.get("wall_s"),
        "packet_hops": timing.get("packet_hops"),
        "packet_hops_per_s": timing.get("packet_hops_per_s"),
        "threads": timing.get("threads"),
        "peak_rss_mb": timing.get("peak_rss_mb"),
    }


def runs_data(opened: Sequence[RunDirectory]) -> Iterator[RunData]:
    """Each run's numbers. Of runs that differ only in their seed, the first has the distributions of all of them."""
    speed, undrawn = speeds(opened), left_out(opened)
    labelled = named(opened)
    places = {run.path: one.path for one in opened for run in one.runs}
    groups: dict[str, list[Run]] = {}
    for name, run in labelled:
        groups.setdefault(without_seed(name, run.params), []).append(run)
    firsts = {members[0].path: members for members in groups.values()}
    recorded = sum(is_recorded(members[0]) for members in groups.values())
    working = sum(bool(members[0].summary.get("jobs")) for members in groups.values())
    explained = sum("waits" in run.tables for _, run in labelled)
    stored = sum(paths.is_stored(run) for _, run in labelled)
    for name, run in labelled:
        drawn: Drawn = {}
        if members := firsts.get(run.path):
            of_first: Drawn = {
                "network": network.over_time(run, recorded),
                "timelines": timeline.of_run(run, working),
                "pause_trees": pause_trees.of_run(run),
            }
            drawn = {**curves(members), **of_first}
        yield {
            **numbers(name, run, speed),
            "left_out": run.path in undrawn,
            "explained": flows.explained(run, explained),
            "path": paths.of_run(run, stored),
            "place": str(places[run.path]),
            **drawn,
        }


def explain_command(run: RunData, found: answer.Measurement | None) -> Explain | None:
    """What says why this run's tail is slow, as a user types it, and how long the tail is; None without flows.

    The tail is the one that the page's first sentence compares, if there is one.
    """
    if "flows" not in run["summary"]:
        return None
    label = answer.label_of(run)
    words = ["backwater", "explain", run["place"], "--run", label.removeprefix(f"{Path(run['place']).name}/")]
    if found is not None:
        words += ["--class", found.flow_class] if found.flow_class else []
        words += ["--above", size_option(found.above)] if found.above else []
        words += ["--below", size_option(found.below)] if found.below is not None else []
    value = next((entry.value for entry in found.entries if entry.label == label), None) if found else None
    return {"label": label, "command": shlex.join([*words, "--page"]), "value": value}


def size_option(n: int) -> str:
    """3000 as `3KB`."""
    number, unit = in_largest(n, SIZES)
    return f"{number}{unit}"


def left_out(opened: Sequence[RunDirectory]) -> set[Path]:
    """Directories of runs that no chart draws: ablations, which only test the claims."""
    lacking = [(run, claims.only_lacking(one)) for one in opened for run in one.runs]
    return {run.path for run, variants in lacking if variant_of(run.params, run.label) in variants}


def numbers(name: str, run: Run, speed: dict[Path, float | None]) -> Numbers:
    """One run: a line in every chart, a row in every table."""
    summary, variant = run.summary, variant_of(run.params, name)
    return {
        "name": name,
        "variant": variant if run.params.keys() - {"variant"} else name,
        "named": variant,
        "shown": shown_name(name, run),
        "scheme": run.scheme,
        "ideal": answer.is_ideal(run.scheme),
        "mark": endings.mark(run),
        "digest": run.digest,
        "point": panels.aside(variant, run.params),
        "packet_hops_per_s": speed.get(run.path),
        "summary": without_slowdown(summary),
        "slowdown_all": {row["class"]: {**row} for row in summary.get("slowdown", []) if row["bin"] == "all"},
        "slowdown": series.slowdown(run),
    }


def without_slowdown(summary: Summary) -> Summary:
    rest = summary.copy()
    rest.pop("slowdown", None)
    return rest


def shown_name(name: str, run: Run) -> str:
    """The variant as the scenario calls it, if that alone tells a run from others but for its seed; else `name`."""
    alone = not run.params.keys() - {"variant", SEED} and name == run.label
    return variant_of(run.params, name) if alone else name


def curves(members: list[Run]) -> Curves:
    """Distributions over runs that differ only in their seed; what is over time, and tables by kind, of the first."""
    run = members[0]
    names = set(run.tables)
    return {
        "buffer": series.buffer_cdf(members) if "buffers" in names else None,
        "active_flows": series.active_flows_cdf(members) if "active_flows" in names else None,
        "isolated": series.isolated(run) if "buffers" in names else None,
        "queueing_delay": series.queueing_delay_cdf(members) if "queueing_delay" in names else None,
        "queues": series.queues(members) if "queues" in names else [],
        "pool": series.pool_cdf(members) if "pools" in names else None,
        "mmus": series.mmus(run) if "mmus" in names else [],
        "ports": series.ports(run) if "ports" in names else [],
        "hot": links.hot(members) if "ports" in names else [],
        "collectives": collectives.of_seeds(members) if "phases" in names else [],
        **series.configuration(run.scenario),
    }


def speeds(opened: Sequence[RunDirectory]) -> dict[Path, float | None]:
    """Packet-hops a second of each run's directory."""
    found: dict[Path, float | None] = {}
    for one in opened:
        by_label = {row["label"]: row["packet_hops_per_s"] for row in one.timing["runs"]}
        found |= {run.path: by_label.get(run.label) for run in one.runs}
    return found


def render(data: PageData) -> str:
    """The page as text."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    parts = {
        "title": html.escape(data["name"]),
        "styles": static("uPlot.min.css") + static("report.css"),
        # Inside a script element only "<" could end it.
        "data": text.replace("<", "\\u003c"),
        "uplot": static("uPlot.iife.min.js"),
        "scripts": "\n".join(['"use strict";', "(() => {", *(static(f"{name}.js") for name in SCRIPTS), "})();"]),
    }
    page = static("report.html")
    for name, value in parts.items():
        page = page.replace("{{" + name + "}}", value, 1)
    return page


def static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
