"""The figures of the documents, and the data that they are drawn from: `make figures`.

python tools/figures.py run DIR        runs the experiments into DIR: data of a chart, pictures of the gallery
python tools/figures.py speed FILE...  takes the data of the speed chart from what `make bench` wrote
python tools/figures.py draw           draws all charts from their data, and writes speeds into the documents

Data and charts are in `docs/assets/figures` and are committed. The same data give the same bytes.
"""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from backwater import Experiment, Results
from backwater.scenario import experiments
from backwater.show import report
from backwater.show.figures import COLOURS, MARKERS

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "assets" / "figures"
GALLERY = ("bfc-fig2", "bfc-fig9", "bfc-fig30", "flowsail-fig6", "bcc-fig2")
"""Experiments whose panels the gallery shows, one of each kind; each runs in a minute or two at quick scale."""
SCHEMES = ("BFC", "Ideal-FQ", "HPCC", "DCTCP", "DCQCN")
"""Variants of figure 9 that the chart shows."""
APART = 1.25
"""Names beside curves are at least this factor apart, so that they can be read."""
SCENARIOS = {"facebook": "Facebook sizes, 60 %", "google-incast": "Google sizes, 55 % and 5 % incast"}
NAMES = {"bfc": "BFC", "dctcp": "DCTCP", "ideal-fq": "Ideal-FQ", "dctcp@hpcc-sim": "DCTCP, hpcc-sim order"}
STYLE = {
    "svg.hashsalt": "backwater",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "figure.facecolor": "white",
}


def run(place: Path) -> None:
    """Runs the experiments, and takes from them what the documents show. Finished runs are not run again."""
    for name in GALLERY:
        experiment = Experiment(experiments.known()[name], scale="quick")
        results = experiment.run(place / name, store=place / ".store", force=True)
        results.report(formats=("svg",))
        shutil.copyfile(results.path / "figures" / "panels.svg", PLACE / "gallery" / f"{name}.svg")
        if name == "bfc-fig9":
            write("slowdown", slowdown_data(results))


def slowdown_data(results: Results) -> dict[str, Any]:
    """The p99 of slowdown by flow size, with its interval over the seeds, and what was run."""
    page = report.page_data([results])
    rows = [
        {
            "variant": shown["name"],
            "size_bytes": row["size_high_bytes"],
            "p99": row["p99"],
            "bounds": row.get("p99_bounds"),
        }
        for shown in page["runs"]
        if shown["name"] in SCHEMES
        for row in shown["slowdown"]["background"]
        if row["size_high_bytes"] is not None
    ]
    told = ("version", "commit", "scale")
    seeds = sorted({one.scenario["seed"] for one in results.runs})
    return {**{key: results.manifest.get(key) for key in told}, "seeds": seeds, "rows": rows}


def speed_data(files: list[Path]) -> dict[str, Any]:
    """Packet-hops a second and peak memory of each row of the benchmark that the chart shows: medians of all files."""
    measured: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in (row for file in files for row in json.loads(file.read_text(encoding="utf-8"))["rows"]):
        if row["scenario"] in SCENARIOS and row["scheme"] in NAMES:
            measured.setdefault((row["scenario"], row["scheme"], row["threads"]), []).append(row)
    rows = [
        {
            "scenario": scenario,
            "scheme": scheme,
            "threads": threads,
            "packet_hops_per_s": round(median(row["packet_hops_per_s"] for row in rounds), -5),
            "peak_rss_mb": round(median(row["peak_rss_mb"] for row in rounds)),
            "rounds": len(rounds),
        }
        for (scenario, scheme, threads), rounds in sorted(measured.items())
    ]
    return {"rows": rows}


def speed_texts(data: dict[str, Any]) -> dict[Path, str]:
    """What the documents say of speed, by document: it stands there between two marks."""
    rows = {(row["scenario"], row["scheme"], row["threads"]): row for row in data["rows"]}
    lines = ["| traffic | scheme | one thread | two threads | peak memory |", "|---|---|---|---|---|"]
    for scenario, traffic in SCENARIOS.items():
        for scheme, name in NAMES.items():
            one, two = rows[scenario, scheme, 1], rows[scenario, scheme, 2]
            speeds = " | ".join(f"{row['packet_hops_per_s'] / 1e6:.1f}" for row in (one, two))
            lines.append(f"| {traffic} | {name} | {speeds} | {two['peak_rss_mb']} MB |")
    least, most = ({n: rows[scenario, "bfc", n] for n in (1, 2)} for scenario in ("google-incast", "facebook"))
    spans = [f"{least[n]['packet_hops_per_s'] / 1e6:.0f} to {most[n]['packet_hops_per_s'] / 1e6:.0f}" for n in (1, 2)]
    sentence = (
        f"On two cores of an AMD EPYC and under BFC, Backwater simulates {spans[0]} million packet-hops a second with "
        f"one thread and {spans[1]} million with two, in {most[2]['peak_rss_mb']} to {least[2]['peak_rss_mb']} MB."
    )
    return {ROOT / "docs/performance.md": "\n".join(lines), ROOT / "README.md": textwrap.fill(sentence, 120)}


def between_marks(document: str, text: str) -> str:
    """The document with `text` between its two marks."""
    begin, end = "<!-- speed, written by `make figures` -->", "<!-- end -->"
    before, _, rest = document.partition(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"


def slowdown(data: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(7.6, 3.8), layout="constrained")
    axes = figure.subplots()
    beside: dict[str, tuple[float, float, str]] = {}
    for i, scheme in enumerate(SCHEMES):
        rows = [row for row in data["rows"] if row["variant"] == scheme and row["p99"] is not None]
        sizes, values = [row["size_bytes"] for row in rows], [row["p99"] for row in rows]
        look = {"color": "#777777", "linestyle": "--"} if scheme.startswith("Ideal") else {"color": COLOURS[i]}
        axes.plot(sizes, values, marker=MARKERS[i], markersize=4, **look)
        if all(row["bounds"] for row in rows):
            low, high = zip(*(row["bounds"] for row in rows), strict=True)
            axes.fill_between(sizes, low, high, color=look["color"], alpha=0.15, linewidth=0)
        beside[scheme] = (sizes[0], values[0], look["color"])
    above = 0.0
    for scheme, (size, value, colour) in sorted(beside.items(), key=lambda item: item[1][1]):
        value = max(value, APART * above)
        above = value
        axes.annotate(scheme, (size, value), (-8, 0), textcoords="offset points", ha="right", va="center",
                      color=colour, weight="bold")  # fmt: skip
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="flow size",
        ylabel="p99 slowdown (lower is better)",
        xlim=(330, 4e6),
        ylim=(2, None),
    )
    named(axes, "x", {1e3: "1 KB", 1e4: "10 KB", 1e5: "100 KB", 1e6: "1 MB"})
    named(axes, "y", {3: "3", 10: "10", 30: "30", 100: "100", 300: "300"})
    axes.grid(alpha=0.25)
    return figure


def speed(data: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(7.6, 2.6), layout="constrained")
    both = figure.subplots(1, len(SCENARIOS), sharex=True, sharey=True)
    for axes, (scenario, title) in zip(both, SCENARIOS.items(), strict=True):
        rows = {(row["scheme"], row["threads"]): row for row in data["rows"] if row["scenario"] == scenario}
        for y, scheme in enumerate(NAMES):
            for threads, colour in ((2, "#9fc0ea"), (1, COLOURS[0])):
                if row := rows.get((scheme, threads)):
                    millions = row["packet_hops_per_s"] / 1e6
                    axes.barh(y, millions, height=0.6, color=colour, label=f"{threads} thread{'s' * (threads > 1)}")
                    inside = threads == 1
                    axes.annotate(f"{millions:.1f}", (millions, y), (-3 if inside else 3, 0),
                                  textcoords="offset points", ha="right" if inside else "left", va="center",
                                  size=8, color="white" if inside else "black")  # fmt: skip
        axes.set(title=title, xlabel="million packet-hops/s", yticks=range(len(NAMES)), yticklabels=NAMES.values())
        axes.title.set_size(10)
    both[0].invert_yaxis()
    handles, labels = both[0].get_legend_handles_labels()
    legend = dict(zip(labels, handles, strict=True))
    figure.legend(legend.values(), legend.keys(), loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return figure


def named(axes: Axes, axis: str, ticks: dict[float, str]) -> None:
    """Ticks at these values, with these words, and no others."""
    getattr(axes, f"set_{axis}ticks")(list(ticks), list(ticks.values()))
    getattr(axes, f"{axis}axis").set_minor_locator(mpl.ticker.NullLocator())


def ns3(data: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(7.6, 3.4), layout="constrained")
    axes = figure.subplots()
    looks = {
        "ns-3": {"marker": "s", "markersize": 9, "fillstyle": "none"},
        "ns-3, marks at departure": {"marker": "o", "markersize": 6, "fillstyle": "none"},
        "Backwater": {"marker": "x", "markersize": 5},
    }
    for value, colour in (("p99", COLOURS[1]), ("mean", COLOURS[0])):
        for simulator, look in looks.items():
            rows = [row for row in data["rows"] if row["simulator"] == simulator]
            sizes, times = [row["sizes"] for row in rows], [row[value] for row in rows]
            axes.plot(sizes, times, linestyle="", color=colour, label=f"{value}, {simulator}", **look)
    axes.set(yscale="log", xlabel="flow size", ylabel="completion time", ylim=(10, 4000))
    named(axes, "y", {10: "10 us", 100: "100 us", 1000: "1 ms"})
    axes.grid(alpha=0.25)
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return figure


CHARTS = {"slowdown": slowdown, "speed": speed, "ns3": ns3}


def draw(place: Path) -> None:
    """Each chart as SVG, from its data in PLACE."""
    for name, make in CHARTS.items():
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(STYLE)
            figure = make(json.loads((PLACE / f"{name}.json").read_text(encoding="utf-8")))
            FigureCanvasSVG(figure)
            figure.savefig(place / f"{name}.svg", metadata={"Date": None})


def main(what: str, *files: str) -> None:
    match what, list(map(Path, files)):
        case "run", [place]:
            run(place)
        case "speed", [_, *_] as measured:
            write("speed", speed_data(measured))
        case "draw", []:
            draw(PLACE)
            data = json.loads((PLACE / "speed.json").read_text(encoding="utf-8"))
            for document, text in speed_texts(data).items():
                document.write_text(between_marks(document.read_text(encoding="utf-8"), text), encoding="utf-8")
        case _:
            raise SystemExit(__doc__)


def write(name: str, data: dict[str, Any]) -> None:
    rows = ",\n  ".join(json.dumps(row) for row in data.pop("rows"))
    head = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in data.items())
    (PLACE / f"{name}.json").write_text(f'{{\n{head} "rows": [\n  {rows}\n ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(*(sys.argv[1:] or [""]))
