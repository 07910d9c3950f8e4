"""The page holds what the tables say, and a browser draws it without asking anyone for anything."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chromium
from backwater import Experiment, InputError, Results
from backwater.show import colours, figures, network, report


def embedded(page: Path) -> dict[str, Any]:
    """The data inside a page."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert match
    return json.loads(match[1])


@pytest.fixture(scope="module")
def swept(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A sweep of two variants over three loads."""
    scenario = tmp_path_factory.mktemp("scenario") / "swept.toml"
    scenario.write_text(
        f'extends = "{smoke}"\nname = "swept"\n[sweep]\n"workload.0.load" = [0.2, 0.4, 0.6]\n'
        '[[variant]]\nname = "BFC"\nscheme = "bfc"\n[[variant]]\nname = "DCTCP"\nscheme = "dctcp"\n'
    )
    return Experiment(scenario).run(tmp_path_factory.mktemp("runs") / "swept")


def test_the_pages_slowdowns_are_the_tables(results: Results) -> None:
    page = {run["name"]: run for run in embedded(results.path / "report.html")["runs"]}
    assert list(page) == ["BFC", "DCTCP", "Ideal-FQ"]
    for run in results.runs:
        shown = [row for rows in page[run.label]["slowdown"].values() for row in rows]
        table = run.table("slowdown").to_pylist()
        assert len(shown) == len(table) > 0
        key = ("class", "size_low_bytes")
        for mine, theirs in zip(
            sorted(shown, key=lambda row: [row[k] for k in key]),
            sorted(table, key=lambda row: [row[k] for k in key]),
            strict=True,
        ):
            for column, value in theirs.items():
                assert mine[column] == value


def test_the_pages_distributions_are_the_tables(results: Results) -> None:
    page = {run["name"]: run for run in embedded(results.path / "report.html")["runs"]}
    for run in results.runs:
        drawn = page[run.label]["buffer"]
        occupancy = sorted(run.table("buffers")["buffered_bytes"].to_pylist())
        assert drawn["value"][-1] == occupancy[-1]
        for value, share in zip(drawn["value"], drawn["share"], strict=True):
            exact = sum(sample <= value for sample in occupancy) / len(occupancy)
            assert share <= exact + 1e-9
            below = sum(sample < value for sample in occupancy) / len(occupancy)
            assert share > below - 1e-9
        drawn = page[run.label]["active_flows"]
        rows = run.table("active_flows").to_pylist()
        used = {(row["node"], row["port"]) for row in rows if row["flows"] > 0}
        rows = [row for row in rows if (row["node"], row["port"]) in used]
        total = sum(row["samples"] for row in rows)
        for flows, share in zip(drawn["value"], drawn["share"], strict=True):
            within = sum(row["samples"] for row in rows if row["flows"] <= flows)
            assert share == pytest.approx(within / total)


def test_the_page_names_what_ran(results: Results) -> None:
    text = (results.path / "report.html").read_text()
    data = embedded(results.path / "report.html")
    shown = data["experiments"][0]
    assert shown["digest"] == results.digest
    assert shown["seed"] == 7
    assert shown["command"] == results.manifest.command
    assert shown["packet_hops_per_s"] == results.timing["packet_hops_per_s"]
    for run, row in zip(results.runs, data["runs"], strict=True):
        assert row["config"]["scheme"] == run.scheme
        assert row["config"]["seed"] == "7"
        assert row["summary"]["drops"] == run.summary["drops"]
    assert "<under>" not in text, "a description is text, not markup"


def test_the_page_refers_to_nothing_outside(results: Results) -> None:
    text = (results.path / "report.html").read_text()
    assert not re.search(r'(?:src|href)\s*=\s*["\'](?!data:)', text)
    assert not re.search(r"@import|url\(\s*[\"']?http", text)
    assert "default-src 'none'" in text


def test_figures_are_drawn_in_the_papers_form(results: Results) -> None:
    names = {path.stem for path in (results.path / "figures").glob("*.png")}
    assert {"slowdown-background", "slowdown-incast", "buffer", "active-flows"} <= names
    for path in (results.path / "figures").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 5000


def test_pdf_files_embed_fonts_that_publishers_accept(results: Results, tmp_path: Path) -> None:
    data = report.page_data([results])
    written = figures.write(data, tmp_path / "figures", ("pdf",))
    axes, *_ = results.plot.slowdown()
    axes.figure.savefig(tmp_path / "own.pdf")
    axes.figure.savefig(tmp_path / "own.eps")
    for path in (*written, tmp_path / "own.pdf"):
        kinds = set(re.findall(rb"/Subtype /(Type3|Type0|CIDFontType2|Type1|TrueType)", uncompressed(path)))
        assert kinds == {b"Type0", b"CIDFontType2"}, path
    assert b"/FontType 42 def" in (tmp_path / "own.eps").read_bytes()


def uncompressed(path: Path) -> bytes:
    """A PDF file with its streams unpacked, in some of which objects may be."""
    text = path.read_bytes()
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", text, re.DOTALL)
    parts = [text]
    for stream in streams:
        with contextlib.suppress(zlib.error):
            parts.append(zlib.decompress(stream))
    return b"\n".join(parts)


def test_a_run_without_samples_still_gives_a_page(smoke: Path) -> None:
    done = Experiment(smoke, **{"measure.sample": "0 us"}).run()
    assert embedded(done.path / "report.html")["runs"][0]["buffer"] == {"value": [], "share": []}


def series(browser: chromium.Page, chart: str) -> dict[str, list[tuple[float, float]]]:
    """What a chart has drawn: label to points."""
    drawn = browser.evaluate(
        f"(() => {{ const c = backwater.charts[{chart!r}]; "
        "return c.series.slice(1).map((s, i) => [s.label, c.data[0].map((x, j) => [x, c.data[i + 1][j]])]); })()"
    )
    return {label: [(x, y) for x, y in points if y is not None] for label, points in drawn}


def inked(browser: chromium.Page, chart: str) -> int:
    """Pixels on a chart's canvas."""
    return browser.evaluate(
        f"(() => {{ const k = backwater.charts[{chart!r}].ctx.canvas; "
        "const d = k.getContext('2d').getImageData(0, 0, k.width, k.height).data; "
        "let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"
    )


def test_browser_draws_what_the_tables_say(browser: chromium.Page, results: Results) -> None:
    browser.open((results.path / "report.html").as_uri())
    assert browser.console == []
    assert browser.requests == []

    for statistic in ("p99", "mean", "p50", "p95"):
        for flow_class in ("incast", "background"):
            browser.click(f"#slowdown-controls input[value={statistic}]")
            browser.click(f"#slowdown-controls input[value={flow_class}]")
            drawn = series(browser, "slowdown")
            for run in results.runs:
                expected = [
                    row[statistic]
                    for row in sorted(run.table("slowdown").to_pylist(), key=lambda row: row["size_low_bytes"])
                    if row["class"] == flow_class and row[statistic] is not None
                ]
                assert [y for _, y in drawn[run.label]] == expected, (run.label, statistic)
    assert inked(browser, "slowdown") > 2000

    scales = []
    for scale in ("log", "linear"):
        browser.click(f"#slowdown-controls input[value={scale}]")
        scales.append(browser.evaluate("backwater.charts.slowdown.scales.y.distr"))
        assert inked(browser, "slowdown") > 2000
    assert scales == [3, 1]

    occupancy = series(browser, "buffer")
    for run in results.runs:
        assert max(x for x, _ in occupancy[run.label]) == max(run.table("buffers")["buffered_bytes"].to_pylist())
    assert inked(browser, "buffer") > 1000
    assert inked(browser, "active_flows") > 1000
    assert inked(browser, "queueing_delay") > 1000

    strip = browser.evaluate("document.getElementById('verdict').innerText")
    assert results.digest[:12] in strip
    for run in results.runs:
        finished = f"{run.summary['flows']['finished']:,}"
        assert finished in browser.evaluate("document.querySelector('table[aria-label=Runs]').textContent")
    shown = browser.evaluate("document.getElementById('pauses').innerText")
    assert all(run.label in shown for run in results.runs)
    browser.click("#configuration input[value=all]")
    configuration = browser.evaluate("document.querySelector('table[aria-label=Configuration]').textContent")
    assert "switch.queues" in configuration
    assert "ideal-fq" in configuration
    assert results.manifest.command in browser.evaluate("document.body.innerText")
    assert "<under>" in browser.evaluate("document.body.innerText")
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing hangs over the side"
    assert browser.console == []
    assert browser.requests == []


def test_browser_draws_a_sweep(browser: chromium.Page, swept: Results) -> None:
    browser.open((swept.path / "report.html").as_uri())
    browser.click("#sweep-controls input[value=mean]")
    drawn = series(browser, "sweep")
    for variant in ("BFC", "DCTCP"):
        expected = [
            (
                run.params["workload.0.load"],
                next(r["mean"] for r in run.summary["slowdown"] if r["class"] == "background" and r["bin"] == "all"),
            )
            for run in swept.runs
            if run.params["variant"] == variant
        ]
        assert drawn[variant] == sorted(expected)
    assert set(series(browser, "slowdown")) == {"BFC", "DCTCP"}
    browser.evaluate(
        "(() => { const s = document.getElementById('point'); s.value = 'load 0.6'; "
        "s.dispatchEvent(new Event('change')); })()"
    )
    at_point = series(browser, "slowdown")
    for run in swept.runs:
        if run.params["workload.0.load"] == 0.6:
            p99 = [
                row["p99"] for row in run.summary["slowdown"] if row["class"] == "background" and row["bin"] != "all"
            ]
            assert [y for _, y in at_point[run.params["variant"]]] == [value for value in p99 if value is not None]
    assert browser.console == []
    assert browser.requests == []


def test_browser_draws_panels_and_isolated_flows(browser: chromium.Page, swept: Results, tmp_path: Path) -> None:
    swept.manifest.figure = {"panels": [{"label": "mean slowdown", "value": {"slowdown": "mean"}}]}
    data = report.page_data([swept])
    data["runs"][-1]["isolated"] = {"time": [1e-6, 2e-6, 3e-6], "flows": [0, 5, 2]}
    page = tmp_path / "report.html"
    page.write_text(report.render(data))
    browser.open(page.as_uri())
    panel = {(run["variant"], run["point"]["workload.0.load"]): run["value"] for run in data["panels"][0]["runs"]}
    drawn = series(browser, "panel0")
    assert {(name, x): y for name, points in drawn.items() for x, y in points} == panel
    assert [y for _, y in series(browser, "isolated")[data["runs"][-1]["variant"]]] == [0, 5, 2]
    assert inked(browser, "isolated") > 500
    assert browser.console == []

    runs = [{**run, "point": {}, "variant": f"{run['variant']}*"} for run in data["panels"][0]["runs"]]
    data["panels"] = [{"label": "one value each", "runs": runs}]
    for run in data["runs"]:
        run["point"], run["isolated"] = {}, None
    page.write_text(report.render(data))
    browser.open(page.as_uri())
    assert "one value each" in browser.evaluate("document.getElementById('panels').innerText")
    filled = browser.evaluate("[...document.querySelectorAll('#panels .dot')].map((dot) => dot.getAttribute('fill'))")
    assert len(set(filled)) > 1, "dots have the colours of their variants"
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in filled)
    assert browser.evaluate("'isolated' in backwater.charts") is False
    assert browser.console == []


QUEUES = [
    {
        "port": "switch0 to s5",
        "time": [0.0, 1e-6],
        "bytes": [10, 20],
        "cdf": {"value": [10.0, 20.0], "share": [0.5, 1]},
    },
    {"port": "switch0 to s6", "time": [0.0, 1e-6], "bytes": [0, 90], "cdf": {"value": [0.0, 90.0], "share": [0.5, 1]}},
]
MMUS = [
    {
        "switch": "leaf",
        "number": 3,
        "capacity_bytes": 3_000_000,
        "peak_bytes": 2_900_000,
        "dropped_full": 1234,
        "dropped_threshold": 5678,
        "marked_queue": 9,
        "marked_pool": 8,
    }
]


def test_browser_draws_queues_and_pools(browser: chromium.Page, results: Results, tmp_path: Path) -> None:
    data = report.page_data([results])
    first, second = data["runs"][:2]
    first["queues"], first["mmus"] = QUEUES, MMUS
    first["pool"] = {"value": [0.0, 5.0], "share": [0.5, 1.0]}
    first["summary"]["loss"] = {"data_packets": 1000, "dropped": 34, "share": 0.034}
    first["summary"]["timeouts"] = {"total": 4321, "flows": 4000}
    second["summary"].pop("loss", None)
    page = tmp_path / "report.html"
    page.write_text(report.render(data))
    browser.open(page.as_uri())
    assert browser.console == []
    name = first["name"]
    assert [y for _, y in series(browser, "queues")[f"{name}, switch0 to s6"]] == [0, 90]
    assert series(browser, "queue")[f"{name}, switch0 to s5"] == [(10, 0.5), (20, 1)]
    assert series(browser, "pool")[name] == [(0, 0.5), (5, 1)]
    shown = browser.evaluate("document.querySelector('main').textContent")
    assert all(text in shown for text in ("3.4 %", "4,321", "4,000", "1,234", "5,678"))
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing hangs over the side"


def test_queues_and_pools_are_drawn_to_files(results: Results, tmp_path: Path) -> None:
    data = report.page_data([results])
    data["runs"][0] |= {"queues": QUEUES, "pool": {"value": [0.0, 5.0], "share": [0.5, 1.0]}}
    names = {path.stem for path in figures.write(data, tmp_path / "queues")}
    assert {"queues", "queues-cdf", "pool"} <= names


def test_panels_and_isolated_flows_are_drawn_to_files(swept: Results, tmp_path: Path) -> None:
    swept.manifest.figure = {"panels": [{"label": "mean slowdown", "value": {"slowdown": "mean"}}] * 2}
    data = report.page_data([swept])
    data["runs"][0]["isolated"] = {"time": [1e-6, 2e-6], "flows": [0, 5]}
    names = {path.stem for path in figures.write(data, tmp_path / "lines")}
    assert {"panels", "isolated"} <= names
    swept.manifest.figure = None


def test_browser_shows_claims(browser: chromium.Page, results: Results, tmp_path: Path) -> None:
    data = report.page_data([results])
    data["claims"] = [
        {"claim": f"x.{verdict}", "metric": "m", "says": "", "expected": "1", "measured": "2", "verdict": verdict}
        for verdict in ("pass", "fail", "direction", "fact", "not-run")
    ]
    page = tmp_path / "report.html"
    page.write_text(report.render(data))
    browser.open(page.as_uri())
    shown = browser.evaluate("document.getElementById('claims').textContent")
    assert all(f"x.{row['verdict']}" in shown for row in data["claims"])
    assert "1 failed" in browser.evaluate("document.getElementById('verdict').innerText")
    assert browser.console == []
    assert browser.requests == []


def test_panels_are_drawn_along_quantities() -> None:
    runs = [
        {"variant": "A", "slot": 0, "point": {"switch.ecn.kmax": step}, "value": value}
        for step, value in (("500 KB", 8.0), ("1750 KB", 90.0), ("1500 KB", 20.0))
    ]
    (axes,) = figures.panels([{"label": "goodput", "runs": runs}]).axes
    assert axes.get_xlabel() == "switch.ecn.kmax (KB)"
    assert axes.lines[0].get_xydata().tolist() == [[500, 8], [1500, 20], [1750, 90]]
    low, high = axes.get_ylim()
    labelled = [tick for tick in axes.get_yticks() if low <= tick <= high]
    assert labelled == [10, 20, 50, 100], "powers of ten alone would be two"
    (axes,) = figures.panels([{"label": "goodput", "runs": [*runs[1:2], {**runs[2], "value": 85.0}]}]).axes
    assert axes.get_ylim()[0] > 80, "close lines fill the panel"
    assert figures.places_of(["500 KB", "1 MB"]) is None, "no common unit"
    assert figures.places_of(["hold", "discard"]) is None
    assert figures.places_of([0.5, 1]) == [0.5, 1.0]


def test_browser_draws_panels_along_quantities(browser: chromium.Page, swept: Results, tmp_path: Path) -> None:
    data = report.page_data([swept])
    for run in data["runs"]:
        run["point"] = {"switch.ecn.kmax": f"{run['point']['workload.0.load'] * 1000:g} KB"}
    shown = [{**{key: run[key] for key in ("variant", "point", "slot")}, "value": 1.0} for run in data["runs"]]
    data["panels"] = [{"label": "goodput", "runs": shown}]
    page = tmp_path / "report.html"
    page.write_text(report.render(data))
    browser.open(page.as_uri())
    assert series(browser, "panel0")["BFC"] == [(200, 1), (400, 1), (600, 1)]
    assert [x for x, _ in series(browser, "sweep")["DCTCP"]] == [200, 400, 600]
    assert browser.console == []


PUBLISHED = [
    {"variant": "B", "at": 0.6, "value": 3.0, "where": {}},
    {"variant": "A", "at": 0.5, "value": 9.0, "where": {}},
    {"variant": "A", "at": "500 KB", "value": 9.0, "where": {}},
    {"variant": "C", "at": 0.5, "value": 9.0, "where": {}},
]


def test_published_points_are_drawn_hollow_in_the_colour_of_their_line() -> None:
    runs = [
        {"variant": variant, "slot": 0, "point": {"seed": seed, "load": load}, "value": value}
        for variant, value in (("A", 1.0), ("B", 2.0))
        for seed in (1, 2)
        for load in (0.5, 0.7)
    ]
    for points, x in ((PUBLISHED, "load"), ([{**PUBLISHED[0], "where": {"seed": 2}}], "load")):
        figure = figures.panels([{"label": "loss", "runs": runs, "published": points}])
        (axes,) = figure.axes
        assert axes.get_xlabel() == x, "the seed is no axis where something else is"
        solid = {one.get_label(): one for one in axes.lines if one.get_fillstyle() == "full"}
        hollow = [one for one in axes.lines if one.get_fillstyle() == "none" and len(one.get_xdata())]
        assert list(solid) == ["A, seed 1", "A, seed 2", "B, seed 1", "B, seed 2"]
        beside = {(one.get_xdata()[0], one.get_ydata()[0]): one.get_color() for one in hollow}
        if len(points) > 1:
            expected = {(0.6, 3.0): solid["B, seed 1"].get_color(), (0.5, 9.0): solid["A, seed 1"].get_color()}
        else:
            expected = {(0.6, 3.0): solid["B, seed 2"].get_color()}
        assert beside == expected
        assert [one.get_text() for one in figure.legends[0].get_texts()] == [*solid, "published"]
    dots = [{"variant": name, "slot": 0, "point": {}, "value": 1.0} for name in ("A", "B")]
    (axes,) = figures.panels([{"label": "loss", "runs": dots, "published": [{**PUBLISHED[0], "at": None}]}]).axes
    assert [tuple(one.get_xydata()[0]) for one in axes.lines if one.get_marker() == "D"] == [(3.0, 1.0)], "in its row"
    several = [{**PUBLISHED[0], "at": None, "value": value} for value in (3.0, 9.0)]
    (axes,) = figures.panels([{"label": "loss", "runs": dots, "published": several}]).axes
    band, *_ = axes.collections
    assert band.get_datalim(axes.transData).intervalx.tolist() == pytest.approx([3.0, 9.0]), "a range is a band"
    assert len(figures.panels([{"label": "loss", "runs": dots, "published": []}]).legends) == 0


def test_browser_draws_published_points(browser: chromium.Page, swept: Results, tmp_path: Path) -> None:
    point = {"panel": "mean slowdown", "variant": "BFC", "at": [0.3, 0.4], "value": [2.5, 2.0]}
    panel = {"label": "mean slowdown", "value": {"slowdown": "mean"}}
    swept.manifest.figure = {"panels": [panel, {**panel, "label": "again"}], "published": [point]}
    data = report.page_data([swept])
    assert [one["published"] for one in data["panels"]] == [
        [{"variant": "BFC", "at": at, "value": y, "where": {}} for at, y in ((0.3, 2.5), (0.4, 2.0))],
        [],
    ]
    page = tmp_path / "report.html"
    page.write_text(report.render(data))
    browser.open(page.as_uri())
    assert series(browser, "panel0")["BFC, published"] == [(0.3, 2.5), (0.4, 2.0)]
    assert "BFC, published" not in series(browser, "panel1")
    assert browser.console == []
    runs = [{"variant": name, "slot": 0, "point": {}, "value": 1.0} for name in ("BFC", "DCTCP")]
    data["panels"] = [{"label": "bars", "runs": runs, "published": [{**PUBLISHED[0], "variant": "BFC", "at": None}]}]
    for run in data["runs"]:
        run["point"] = {}
    page.write_text(report.render(data))
    browser.open(page.as_uri())
    assert "BFC: 1; published 3" in browser.evaluate("document.getElementById('panels').textContent")
    assert browser.evaluate("document.querySelectorAll('#panels .published').length") == 1
    assert browser.console == []
    swept.manifest.figure = None


def test_a_scheme_has_the_same_colour_everywhere() -> None:
    pages = [
        [("BFC", "bfc"), ("DCTCP", "dctcp")],
        [("DCTCP", "dctcp"), ("BFC", "bfc"), ("BFC, no pausing", "bfc"), ("BFC-128", "bfc")],
        [("FlowSail", "flowsail"), ("new", "no-such-scheme"), ("BFC", "bfc-srf"), ("DCTCP+SS", "dctcp+ss")],
    ]
    found = [colours.slots(page) for page in pages]
    assert all(len(set(slots.values())) == len(slots) for slots in found), "no two alike on a page"
    assert {slots["BFC"] for slots in found} == {colours.HOMES["bfc"]}
    assert found[0]["DCTCP"] == found[1]["DCTCP"] == found[2]["DCTCP+SS"]
    assert found[1]["BFC, no pausing"] not in (colours.HOMES["bfc"], colours.HOMES["dctcp"])
    assert len(colours.slots((f"v{i}", "bfc") for i in range(50))) == 50


def test_panels_draw_variants_whatever_their_names() -> None:
    runs = [
        {"variant": name, "slot": 0, "point": {}, "value": value}
        for name, value in (("at once", 2.0), ("2 HRTT", None))
    ]
    figure = figures.panels([{"label": "slowdown", "runs": runs}])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["at once", "2 HRTT"]


@pytest.mark.parametrize("size", ["page", "column"])
def test_titles_of_panels_fit_the_figure(size: str) -> None:
    runs = [
        {"variant": name, "slot": 0, "point": {}, "value": value}
        for name, value in (("HPCC (no PFC)", 3.9), ("BFC", 2.8))
    ]
    labels = ["p99 slowdown", "average slowdown, flows above 3 MB", "p99 slowdown, flows up to 3 KB, relative to BFC"]
    for wanted in (labels, labels[::-1], [labels[1]] * 3):
        with figures.plain():
            figure = figures.panels([{"label": label, "runs": runs} for label in wanted], size)
            figure.draw_without_rendering()
        assert not any(axes.title.get_text().endswith(("\nKB", "\nMB")) for axes in figure.axes)
        boxes = [axes.title.get_window_extent() for axes in figure.axes]
        assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes), wanted
        assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2)), wanted


def test_figures_fit_a_paper_and_legends_cover_no_panel(results: Results) -> None:
    for size, width, panels_beside in (("page", 7.0, 3), ("column", 3.35, 1)):
        drawn = results.plot.slowdown(size=size)
        figure = drawn[0].figure
        figure.draw_without_rendering()
        assert figure.get_figwidth() == width
        boxes = [axes.get_tightbbox() for axes in drawn]
        assert len({round(box.y0) for box in boxes}) == 3 // panels_beside
        (legend,) = figure.legends
        frame = legend.get_window_extent()
        assert all(not box.overlaps(frame) for box in boxes)
        assert frame.x0 >= 0
        assert frame.x1 <= figure.bbox.x1
        assert all(box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1 for box in boxes)
        assert {label.get_fontsize() for axes in drawn for label in axes.get_xticklabels()} == {7.5}
    with pytest.raises(InputError, match="size 'poster': expected one of page, column, acm-column"):
        results.plot.slowdown(size="poster")


@pytest.fixture(scope="module")
def recorded(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A run whose links were recorded."""
    sets = {"measure.links": "7 us", "run.all_finish": False}
    return Experiment(smoke, **sets).run(tmp_path_factory.mktemp("runs") / "recorded")


def unpacked(text: str, kind: str, links: int) -> np.ndarray[Any, Any]:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), kind).reshape(links, -1)


def test_the_network_over_time_is_the_table(recorded: Results) -> None:
    run = recorded.runs[0]
    shown = embedded(recorded.path / "report.html")["runs"][0]["network"]
    ports = run.table("ports").to_pylist()
    names = [node["name"] for node in shown["nodes"]]
    assert [(names[a], names[b]) for a, b in shown["links"]] == [(row["node"], row["peer"]) for row in ports]
    use = unpacked(shown["use"], "u1", len(ports)) / 200
    held = unpacked(shown["held"], "<u2", len(ports)) / 65_535 * shown["most"]["held"]
    queue = unpacked(shown["queue"], "<u2", len(ports)) / 65_535 * shown["most"]["queue"]
    ends = np.array(shown["ends"])
    lasts = np.diff(ends, prepend=0)
    assert ends[0] == pytest.approx(7e-6)
    rows = run.table("links").to_pylist()
    for i, row in enumerate(ports):
        mine = [one for one in rows if (one["node"], one["peer"]) == (row["node"], row["peer"])]
        sent = sum(one["sent_bytes"] for one in mine)
        assert use[i] @ lasts * row["rate_bps"] / 8 == pytest.approx(
            sent, abs=0.0026 * lasts.sum() * row["rate_bps"] / 8
        )
        assert held[i] @ lasts == pytest.approx(1e-12 * sum(one["paused_ps"] for one in mine), rel=1e-3, abs=1e-8)
        longest = max((one["queued_bytes"] for one in mine), default=0)
        assert queue[i].max() == pytest.approx(longest, abs=shown["most"]["queue"] / 65_535)
    assert held.max() > 0, "BFC holds queues"


def test_a_large_network_takes_longer_spans(recorded: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded.runs[0]
    fine = network.over_time(run)
    monkeypatch.setattr(network, "CELLS", 3 * len(fine["links"]))
    monkeypatch.setattr(network, "SPANS_MIN", 1)
    coarse = network.over_time(run)
    assert len(coarse["ends"]) == 3
    assert coarse["ends"][-1] == fine["ends"][-1]
    links = len(fine["links"])
    for one in (fine, coarse):
        one["sent"] = unpacked(one["use"], "u1", links) @ np.diff(one["ends"], prepend=0)
    assert coarse["sent"] == pytest.approx(fine["sent"], abs=1.01 * fine["ends"][-1]), "half a step each"
    assert coarse["most"]["queue"] == fine["most"]["queue"]


def test_nodes_stand_in_layers() -> None:
    links = [("h1", "a"), ("h0", "b"), ("a", "s"), ("b", "s")]
    both = links + [(b, a) for a, b in links]
    rows = {row["name"]: row for row in network.placed(["h0", "h1", "a", "b", "s"], {"h0", "h1"}, both)}
    assert [rows[name]["layer"] for name in ("h0", "h1", "a", "b", "s")] == [0, 0, 1, 1, 2]
    assert rows["h1"]["x"] == rows["a"]["x"] < rows["h0"]["x"] == rows["b"]["x"], "hosts below their switch"


def test_browser_draws_the_network_over_time(browser: chromium.Page, recorded: Results) -> None:
    browser.open((recorded.path / "report.html").as_uri())
    ready = (
        "new Promise((done) => { const look = () =>"
        " document.querySelector('#network-links table') ? done(1) : setTimeout(look, 20); look(); })"
    )
    browser.evaluate(ready)
    assert browser.console == []
    state = browser.evaluate("backwater.network()")
    assert state["span"] == [0, state["spans"] - 1]
    assert state["link"] is None
    mean = browser.evaluate("backwater.network().over('use')")
    busiest = max(mean, key=mean.get)
    browser.click("#network-links tbody button")
    assert browser.evaluate("backwater.network().link") == busiest, "the table begins with the busiest"
    assert set(series(browser, "network-link")) == {busiest, " to ".join(reversed(busiest.split(" to ")))}
    browser.evaluate(
        "(() => { const s = document.querySelector('.player input');"
        " s.value = 3; s.dispatchEvent(new Event('input')); })()"
    )
    browser.evaluate("document.querySelectorAll('#network-controls input')[1].click()")
    assert "pauses" in browser.evaluate("document.querySelector('#network-controls').innerText")
    painted = browser.evaluate(
        "(() => { const c = document.querySelector('canvas.network');"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"
    )
    assert painted > 1000, "something is drawn"
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")


COMPUTED = """
[compute]
kind = "flow-sizes"

[sweep]
"compute.size" = ["10 KB", "100 KB", "1000 KB"]

[[variant]]
name = "A"
"compute.sizes" = { exponential = "50 KB" }

[[variant]]
name = "B"
"compute.sizes" = { fixed = "50 KB" }

[figure]
panels = [{ label = "flows", value = { result = "flows_up_to" }, marks = { "BDP" = "150 KB", "else" = "1 us" } }]

[[expect]]
claim = "mine.1"
kind = "equals"
variant = "B"
where = { "compute.size" = "100 KB" }
scales = [""]
value = { result = "flows_up_to" }
expected = 1
"""


def test_browser_draws_what_was_computed(browser: chromium.Page, tmp_path: Path) -> None:
    file = tmp_path / "sizes.toml"
    file.write_text(COMPUTED)
    done = Experiment(file).run(tmp_path / "run")
    browser.open((done.path / "report.html").as_uri())
    drawn = series(browser, "panel0")
    for variant in "AB":
        runs = [run for run in done.runs if run.params["variant"] == variant]
        assert [y for _, y in drawn[variant]] == [run.summary["results"]["flows_up_to"] for run in runs]
    assert inked(browser, "panel0") > 2000
    strip = browser.evaluate("document.getElementById('verdict').innerText")
    assert "6" in strip
    assert "flow-sizes" in strip
    assert "1 hold" in strip
    results = browser.evaluate("document.getElementById('results').innerText")
    assert all(run.label in results for run in done.runs)
    assert "bytes_within_bdp" in results
    browser.click("#configuration input[value=all]")
    page = browser.evaluate("document.querySelector('main').textContent")
    assert "compute.rtt" in page
    assert "Packet-hops" not in page
    assert "Dropped" not in page
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing hangs over the side"
    assert browser.console == []
    assert browser.requests == []


def test_panels_name_places_on_the_swept_axis() -> None:
    runs = [{"variant": "A", "slot": 0, "point": {"compute.size": f"{n} KB"}, "value": float(n)} for n in (1, 10, 100)]
    panel = {"label": "share", "runs": runs, "marks": {"BDP": "15 KB", "of another unit": "15 us"}}
    (axes,) = figures.panels([panel]).axes
    assert [text.get_text() for text in axes.texts] == ["BDP"]
    assert [15.0, 15.0] in [list(one.get_xdata()) for one in axes.lines]
