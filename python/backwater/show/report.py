"""`report.html`: one page that needs nothing but itself. Data, styles and scripts are inlined; nothing is fetched."""

from __future__ import annotations

import html
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from backwater.judge import panels
from backwater.results import Results, Run
from backwater.show import compare, series

STATIC = Path(__file__).parent / "static"
PAGE = "report.html"


def write(opened: list[Results], place: Path) -> Path:
    """Writes the page and the figures into `place`; returns the page."""
    from backwater.show import figures  # Matplotlib takes a third of a second to import: only where it draws.

    data = page_data(opened)
    # Drawn whole beside their names first: a full disk leaves what was there.
    with tempfile.TemporaryDirectory(dir=place, prefix=".report.") as partial:
        drawn = Path(partial)
        figures.write(data, drawn / "figures")
        (drawn / PAGE).write_text(render(data), encoding="utf-8")
        shutil.rmtree(place / "figures", ignore_errors=True)
        (drawn / "figures").rename(place / "figures")
        (drawn / PAGE).replace(place / PAGE)
    return place / PAGE


def page_data(opened: list[Results]) -> dict[str, Any]:
    """Everything the page shows."""
    first = opened[0]
    several = len(opened) > 1
    return {
        "name": " · ".join(dict.fromkeys(one.name for one in opened)),
        "description": "" if several else first.manifest["description"],
        "complete": all(one.complete for one in opened),
        "experiments": [experiment_data(one) for one in opened],
        "runs": [run_data(name, run, speeds(opened)) for name, run in compare.named(opened)],
        "figure": first.manifest.get("figure", {}),
        "panels": [] if several else panels.read(first),
        "claims": [row for one in opened for row in one.claims],
    }


def experiment_data(one: Results) -> dict[str, Any]:
    """What stands in the strip at the top."""
    fields = ("name", "version", "seed", "scale", "digest", "command")
    times = {
        key: one.timing.get(key) for key in ("wall_s", "packet_hops", "packet_hops_per_s", "threads", "peak_rss_mb")
    }
    return {**{key: one.manifest[key] for key in fields}, **times}


def run_data(name: str, run: Run, speed: dict[Path, float | None]) -> dict[str, Any]:
    """One run: a line in every chart, a row in every table."""
    summary = run.summary
    names = set(run.tables)
    return {
        "name": name,
        "variant": run.params.get("variant", name) if run.params.keys() - {"variant"} else name,
        "scheme": run.scheme,
        "complete": run.complete,
        "digest": run.digest,
        "point": {key: value for key, value in run.params.items() if key != "variant"},
        "packet_hops_per_s": speed.get(run.path),
        "summary": {key: value for key, value in summary.items() if key != "slowdown"},
        "slowdown_all": {row["class"]: row for row in summary["slowdown"] if row["bin"] == "all"},
        "slowdown": series.slowdown(run),
        "buffer": series.buffer_cdf(run) if "buffers" in names else None,
        "active_flows": series.active_flows_cdf(run) if "active_flows" in names else None,
        "isolated": series.isolated(run) if "buffers" in names else None,
        "queueing_delay": series.queueing_delay_cdf(run) if "queueing_delay" in names else None,
        "queues": series.queues(run) if "queues" in names else [],
        "pool": series.pool_cdf(run) if "pools" in names else None,
        "mmus": series.mmus(run) if "mmus" in names else [],
        "ports": series.ports(run) if "ports" in names else [],
        "config": series.flat(run.scenario),
    }


def speeds(opened: list[Results]) -> dict[Path, float | None]:
    """Packet-hops a second of each run's directory."""
    found: dict[Path, float | None] = {}
    for one in opened:
        by_label = {row["label"]: row["packet_hops_per_s"] for row in one.timing.get("runs", [])}
        found |= {run.path: by_label.get(run.label) for run in one.runs}
    return found


def render(data: dict[str, Any]) -> str:
    """The page as text."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    parts = {
        "title": html.escape(data["name"]),
        "styles": static("uPlot.min.css") + static("report.css"),
        # Inside a script element only "<" could end it.
        "data": text.replace("<", "\\u003c"),
        "uplot": static("uPlot.iife.min.js"),
        "script": static("report.js"),
    }
    page = static("report.html")
    for name, value in parts.items():
        page = page.replace("{{" + name + "}}", value, 1)
    return page


def static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
