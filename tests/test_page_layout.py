"""The page answers first: its order, its height, and what it offers besides charts."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import chromium
from backwater import Experiment, Results
from backwater.judge import panels
from backwater.show import report
from test_report import embedded, series

WIDE, PHONE = (1280, 900), (390, 844)
"""Windows at which the page is looked at, in pixels."""

LIKE_FIGURE_9 = """
extends = "{base}"
name = "like-fig9"
description = "Eight variants and five seeds, as in BFC's figure 9, on a small network."

[measure]
active_flows = true
size_bins = ["1 KB", "3 KB", "10 KB", "30 KB", "100 KB", "200 KB", "1 MB", "3 MB"]

[without]
"BFC" = "BFC-no-pausing"

[figure]
paper = "bfc"
number = "9"
title = "Made up"
missing = []
panels = [
    {{ label = "p99 slowdown, flows up to 3 KB", value = {tail} }},
    {{ label = "relative to BFC", value = {{ quotient = [{tail}, {tail_of_bfc}] }} }},
    {{ label = "average slowdown, flows above 3 KB", value = {{ slowdown = "mean", sizes = ">3000" }} }},
]
published = [
    {{ panel = "relative to BFC", variant = "DCTCP", value = 5 }},
    {{ panel = "relative to BFC", variant = "DCTCP", value = 30 }},
    {{ panel = "relative to BFC", variant = "HPCC", value = 2 }},
]
"""
TAIL = '{ slowdown = "p99", sizes = "<=3000" }'
VARIANTS = {
    "BFC": "bfc",
    "BFC-no-pausing": "bfc",
    "Ideal-FQ": "ideal-fq",
    "DCTCP": "dctcp",
    "DCQCN": "dcqcn",
    "HPCC": "hpcc",
    "Timely (paced)": "timely",
    "ExpressPass": "expresspass",
}


@pytest.fixture(scope="module")
def like_figure_9(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    text = LIKE_FIGURE_9.format(base=smoke, tail=TAIL, tail_of_bfc=TAIL.replace("{", '{ variant = "BFC",'))
    for name, scheme in VARIANTS.items():
        text += f'\n[[variant]]\nname = "{name}"\nscheme = "{scheme}"\n'
        text += '"switch.backpressure" = "none"\n' if name == "BFC-no-pausing" else ""
    scenario = tmp_path_factory.mktemp("scenario") / "like-fig9.toml"
    scenario.write_text(text)
    done = Experiment(scenario, seeds=5).simulate(tmp_path_factory.mktemp("runs") / "like-fig9")
    data = page_data(done)
    data["claims"] = [
        {"claim": f"x.{i}", "metric": "m", "says": "It is so. " * 12, "expected": "1", "measured": "2 " * 99}
        | {"verdict": verdict}
        for i in range(7)
        for verdict in ("pass", "fail", "not-run")
    ]
    (done.path / "report.html").write_text(report.render(data))
    return done


def page_data(results: Results) -> dict[str, Any]:
    return report.page_data([results], panels.read(results))


def look(browser: chromium.Page, page: Path, window: tuple[int, int] = WIDE, at: str = "") -> None:
    width, height = window
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": window == PHONE}
    browser.call("Emulation.setDeviceMetricsOverride", **metrics)
    browser.open("about:blank")
    browser.open(page.as_uri() + at)
    assert browser.console == []


def top_of(browser: chromium.Page, selector: str) -> float:
    return browser.evaluate(f"document.querySelector({selector!r}).getBoundingClientRect().top + scrollY")


def test_the_first_chart_is_on_the_first_screen_and_the_page_is_short(
    browser: chromium.Page, like_figure_9: Results
) -> None:
    for window, most in ((WIDE, 5000), (PHONE, 9000)):
        look(browser, like_figure_9.path / "report.html", window)
        assert browser.evaluate("document.documentElement.scrollHeight") < most
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing hangs over the side"
        assert top_of(browser, "#panels svg") < 900
        folded = browser.evaluate("[...document.querySelectorAll('.body details')].some((one) => one.open)")
        assert not folded, "details wait to be asked for"


def test_the_answer_comes_first_and_claims_and_configuration_last(
    browser: chromium.Page, like_figure_9: Results
) -> None:
    look(browser, like_figure_9.path / "report.html")
    order = ["#answer", "#panels", "#links", "#slowdown", "#buffer", "#drops", "#runs", "#claims", "#configuration"]
    tops = [top_of(browser, selector) for selector in order]
    assert tops == sorted(tops)
    listed = browser.evaluate("[...document.querySelectorAll('nav a')].map((one) => one.getAttribute('href'))")
    assert [f"#{name.lstrip('#')}" for name in listed] == listed
    assert set(order) - {"#answer"} <= set(listed)
    assert all(browser.evaluate(f"document.querySelector({name!r}) !== null") for name in listed)
    browser.evaluate("scrollTo(0, 2000)")
    assert browser.evaluate("document.querySelector('nav').getBoundingClientRect().top") >= 0, "contents stay in sight"
    browser.click("nav a[href='#claims']")
    assert browser.evaluate("document.querySelector('#claims details').open"), "what is linked to is unfolded"
    look(browser, like_figure_9.path / "report.html", PHONE)
    assert not browser.evaluate("document.querySelector('nav details').open"), "contents are folded on a phone"


def test_dots_bands_and_the_line_at_the_reference_stand_where_values_are(
    browser: chromium.Page, like_figure_9: Results
) -> None:
    page = like_figure_9.path / "report.html"
    look(browser, page)
    data = embedded(page)
    drawn = browser.evaluate("[...document.querySelectorAll('#panels .dot')].map((dot) => dot.textContent)")
    assert len(drawn) == sum(run["value"] is not None for panel in data["panels"] for run in panel["runs"])
    assert not any("BFC-no-pausing" in words for words in drawn)
    published = [words for words in drawn if "published" in words]
    assert [words.split("published ")[1] for words in published] in (["5 to 30", "2"], ["2", "5 to 30"])
    assert browser.evaluate("document.querySelectorAll('#panels rect.published').length") == 1
    assert browser.evaluate("document.querySelectorAll('#panels path.published').length") == 1
    first, relative, _ = data["panels"]
    assert [panel["better"] for panel in data["panels"]] == ["lower"] * 3
    bfc = next(run["value"] for run in first["runs"] if run["variant"] == "BFC")
    assert first["reference"] == {"name": "BFC", "value": bfc}
    assert relative["reference"] == {"name": "BFC", "value": pytest.approx(1)}
    order = [words.split(", ")[-1].split(":")[0] for words in drawn[: len(first["runs"])]]
    by_value = sorted(first["runs"], key=lambda run: run["value"])
    assert order == [run["variant"] for run in by_value], "the best comes first"


def test_an_experiment_without_panels_begins_with_what_its_first_sentence_compares(
    browser: chromium.Page, results: Results, tmp_path: Path
) -> None:
    data = page_data(results)
    (shown,) = data["headline"]
    assert shown["label"] in data["answer"][0]
    page = tmp_path / "report.html"
    page.write_text(report.render(data))
    look(browser, page)
    drawn = browser.evaluate("[...document.querySelectorAll('#panels .dot')].map((dot) => dot.textContent)")
    assert len(drawn) == 3
    best = data["answer"][0].split(" has the lowest ")[0]
    assert shown["reference"]["name"] == best


@pytest.fixture(scope="module")
def swept(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Three loads, three schemes and three seeds."""
    sets = {"sweep.load": [0.2, 0.5, 0.8], "sweep.scheme": ["bfc", "dctcp", "ideal-fq"]}
    done = Experiment(smoke, seeds=3, sets=sets).simulate(tmp_path_factory.mktemp("runs") / "swept")
    (done.path / "report.html").write_text(report.render(page_data(done)))
    return done


def test_a_sweep_begins_with_who_wins_at_each_point(browser: chromium.Page, swept: Results) -> None:
    page = swept.path / "report.html"
    for window, most in ((WIDE, 5000), (PHONE, 9000)):
        look(browser, page, window)
        assert browser.evaluate("document.documentElement.scrollHeight") < most
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert top_of(browser, "#winners svg") < 900
        assert top_of(browser, "#answer") < top_of(browser, "#winners svg") < top_of(browser, "#panels")
    data = embedded(page)
    shown = data["winners"]
    assert f" {shown['label']} at {shown['rows'][-1]['point']}" in data["answer"][0]
    assert [row["point"] for row in shown["rows"]] == ["load 0.2", "load 0.5", "load 0.8"]
    for row in shown["rows"]:
        at_point = {
            run["variant"]: run for run in data["runs"] if run["point"]["load"] == float(row["point"].split()[1])
        }
        (first, *_) = [bins[0] for bins in (at_point["bfc"]["slowdown"]["background"],)]
        values = {run["variant"]: run["value"] for run in row["runs"]}
        assert values["bfc"] == first["p99"]
        able = {name: value for name, value in values.items() if name != "ideal-fq"}
        assert row["best"] == {"variant": min(able, key=able.__getitem__), "value": min(able.values())}
    words = browser.evaluate("[...document.querySelectorAll('#winners text')].map((one) => one.textContent)")
    for row in shown["rows"]:
        assert any(word.removeprefix("tie: ").startswith(f"{row['best']['variant']} ") for word in words)
    dots = browser.evaluate(
        "[...document.querySelectorAll('#winners .dot')]"
        ".map((dot) => [dot.textContent, dot.getAttribute('fill') === dot.getAttribute('stroke')])"
    )
    assert len(dots) == 9
    assert all(filled == ("ideal-fq" not in words) for words, filled in dots), "what cannot be built is hollow"


def test_words_beside_the_first_chart_of_a_sweep_are_whole(
    browser: chromium.Page, swept: Results, tmp_path: Path
) -> None:
    """However wide the letters of a name are."""
    data = page_data(swept)
    for row, name in zip(data["winners"]["rows"], ("bfc", "head-resume", "MMWWMMWWMMWW"), strict=True):
        row["best"]["variant"], row["tie"] = name, True
    page = tmp_path / "report.html"
    page.write_text(report.render(data))
    look(browser, page)
    beyond = """(() => { const chart = document.querySelector('#winners svg'), width = chart.width.baseVal.value;
        return [...chart.querySelectorAll('text')].filter((one) => { const box = one.getBBox();
            return box.x < -1 || box.x + box.width > width + 1 }).map((one) => one.textContent) })()"""
    assert browser.evaluate(beyond) == []


def test_of_many_points_some_are_drawn_and_the_last(swept: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "POINTS", 2)
    shown = page_data(swept)["winners"]
    assert [row["point"] for row in shown["rows"]] == ["load 0.2", "load 0.8"]
    assert shown["left_out"] == 1


def test_other_numbers_along_a_sweep_are_drawn_when_they_are_unfolded(browser: chromium.Page, swept: Results) -> None:
    look(browser, swept.path / "report.html")
    assert not browser.evaluate("document.querySelector('#sweep details').open")
    browser.evaluate("document.querySelector('#sweep details').open = true")
    browser.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert browser.evaluate("document.querySelector('#sweep canvas').getBoundingClientRect().width") > 600
    look(browser, swept.path / "report.html", at="#sweep.statistic=p99")
    assert browser.evaluate("document.querySelector('#sweep details').open"), "an address with a setting unfolds it"


def test_a_page_of_one_run_begins_with_its_slowdown(browser: chromium.Page, smoke: Path, tmp_path: Path) -> None:
    done = Experiment(smoke).simulate(tmp_path / "one")
    page = done.path / "report.html"
    page.write_text(report.render(page_data(done)))
    for window in (WIDE, PHONE):
        look(browser, page, window)
        assert top_of(browser, "#answer") < top_of(browser, "#slowdown .chart") < 900
        assert top_of(browser, "#slowdown .chart") < top_of(browser, "#links")


def test_what_only_some_runs_record_is_folded_and_drawn_when_it_is_unfolded(
    browser: chromium.Page, smoke: Path, tmp_path: Path
) -> None:
    sets = {"measure.queueing_delay": True, "measure.queues": [["leaf*", "host*"]]}
    done = Experiment(smoke, sets=sets).simulate(tmp_path / "queues")
    page = done.path / "report.html"
    page.write_text(report.render(page_data(done)))
    look(browser, page)
    inside = "[...document.querySelectorAll('#more-queues section')].map((one) => one.id)"
    assert browser.evaluate(inside) == ["queues", "queue", "queueing_delay"]
    assert not browser.evaluate("document.querySelector('#more-queues details').open")
    assert not browser.evaluate("document.querySelector('nav a[href=\"#queue\"]')"), "the fold is listed, not its parts"
    browser.click("nav a[href='#more-queues']")
    browser.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert browser.evaluate("document.querySelector('#queues canvas').getBoundingClientRect().width") > 400
    look(browser, page, at="#queue.scale=log")
    assert browser.evaluate("document.querySelector('#more-queues details').open"), (
        "an address with a setting unfolds it"
    )


def test_drops_are_told_by_reason_in_words(browser: chromium.Page, smoke: Path, tmp_path: Path) -> None:
    """Frames that links lose are no drops of switches: beside them stood "share of data lost: 0 %"."""
    fault = [{"link": ["leaf0", "spine1"], "loss": 0.05, "down": [["10 us", "30 us"]]}]
    done = Experiment(smoke, fault=fault).simulate(tmp_path / "faulty")
    drops = {reason: n for reason, n in done.runs[0].summary["drops"].items() if n}
    assert set(drops) == {"link-loss", "link-down"}
    page = done.path / "report.html"
    page.write_text(report.render(page_data(done)))
    look(browser, page)
    cells = dict(
        browser.evaluate(
            "[...document.querySelectorAll('#drops td')].map((one) => [one.dataset.name, one.textContent])"
        )
    )
    assert cells["lost on a link"] == str(drops["link-loss"])
    assert cells["link down"] == str(drops["link-down"])
    assert cells["dropped in all"] == str(sum(drops.values()))
    assert cells["share of data dropped by switches"] == "0 %"


def test_legends_and_tables_show_the_dashes_of_lines(browser: chromium.Page, like_figure_9: Results) -> None:
    """Of more than eight variants two have one colour."""
    data = page_data(like_figure_9)
    for slot, run in enumerate(data["runs"]):
        run["slot"] = slot + 4
    page = like_figure_9.path / "dashes.html"
    page.write_text(report.render(data))
    look(browser, page)
    for selector in ("#slowdown .u-legend .u-marker", "#drops .swatch"):
        shown = browser.evaluate(
            f"[...document.querySelectorAll({selector!r})].map((one) => getComputedStyle(one).background)"
        )
        striped = ["repeating-linear-gradient" in one for one in shown if one]
        assert any(striped)
        assert not all(striped)


def test_links_to_a_state_restore_it(browser: chromium.Page, like_figure_9: Results) -> None:
    page = like_figure_9.path / "report.html"
    look(browser, page)
    assert browser.evaluate("location.hash") == ""
    browser.click("#slowdown-controls input[value=p95]")
    browser.click("#buffer-controls input[value=tail]")
    address = browser.evaluate("location.hash")
    drawn = series(browser, "slowdown")
    look(browser, page, at=address)
    assert browser.evaluate("document.querySelector('#slowdown-controls input:checked').value") == "p95"
    assert series(browser, "slowdown") == drawn
    assert browser.evaluate("backwater.charts.buffer.scales.y.min") == 0.9
    browser.click("#slowdown-controls input[value=p99]")
    browser.click("#buffer-controls input[value=all]")
    assert browser.evaluate("location.hash") == "", "defaults are not in the address"
    look(browser, page, at="#slowdown.statistic=nonsense")
    assert browser.evaluate("document.querySelector('#slowdown-controls input:checked').value") == "p99"


SAVED = """
(async (button) => {
  let blob = null;
  const make = URL.createObjectURL;
  URL.createObjectURL = (given) => { blob = given; return make(given); };
  HTMLAnchorElement.prototype.click = function () { window.saved = this.download; };
  document.querySelector(button).click();
  URL.createObjectURL = make;
  return [window.saved, await blob.text()];
})
"""


def test_charts_are_saved_as_svg_and_csv(browser: chromium.Page, like_figure_9: Results) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    browser.call("Emulation.setEmulatedMedia", features=[scheme])
    look(browser, like_figure_9.path / "report.html")
    for chart in ("panels", "slowdown", "buffer"):
        name, text = browser.evaluate(f"{SAVED}('#{chart} .files button:first-child')")
        assert name == f"like-fig9-{chart}.svg"
        root = ET.fromstring(text)
        assert root[0].get("fill") == "#ffffff", "light, on paper"
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(--" not in text
        assert "NaN" not in text
        words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert {"BFC", "DCTCP"} <= set(words)
        name, text = browser.evaluate(f"{SAVED}('#{chart} .files button:last-child')")
        assert name == f"like-fig9-{chart}.csv"
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) > 10
        if chart == "slowdown":
            saved = [float(row["FCT slowdown, p99"]) for row in rows if row["line"] == "BFC"]
            assert saved == [y for _, y in series(browser, "slowdown")["BFC"]]
    browser.call("Emulation.setEmulatedMedia", features=[{**scheme, "value": "light"}])


def test_legends_are_names_until_the_pointer_comes(browser: chromium.Page, like_figure_9: Results) -> None:
    look(browser, like_figure_9.path / "report.html")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    shown = "document.querySelector('#slowdown .u-legend').innerText"
    assert not {"\N{EN DASH}", ":"} & set(browser.evaluate(shown))
    assert set(series(browser, "slowdown")) == set(VARIANTS) - {"BFC-no-pausing"}, "names are those of the scenario"
    box = "((box) => [box.left, box.top])(document.querySelector('#slowdown .u-over').getBoundingClientRect())"
    browser.evaluate("document.querySelector('#slowdown').scrollIntoView()")
    x, y = browser.evaluate(box)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 40, y=y + 40)
    assert (
        browser.evaluate("getComputedStyle(document.querySelector('#slowdown .u-legend .u-value')).visibility")
        == "visible"
    )


def test_the_configuration_lists_what_differs_and_no_table_of_another_scheme(
    browser: chromium.Page, like_figure_9: Results
) -> None:
    page = like_figure_9.path / "report.html"
    look(browser, page)
    configs = {run["variant"]: run["config"] for run in embedded(page)["runs"]}
    assert any(key.startswith("host.dctcp.") for key in configs["DCTCP"])
    assert not any(key.startswith(("host.hpcc.", "switch.bfc.", "switch.flowsail.")) for key in configs["DCTCP"])
    assert any(key.startswith("switch.bfc.") for key in configs["BFC"])
    assert any(key.startswith("switch.bfc.") for key in configs["BFC-no-pausing"]), "it still assigns queues"
    keys = "[...document.querySelectorAll('#configuration tbody th')].map((one) => one.textContent)"
    differing = browser.evaluate(keys)
    assert {"scheme", "switch.backpressure", "host.transport"} <= set(differing)
    assert not {"topology.kind", "host.hpcc.utilization"} & set(differing)
    browser.click("#configuration input[value=all]")
    everything = browser.evaluate(keys)
    assert set(differing) < set(everything)
    assert {"topology.kind", "host.hpcc.utilization"} <= set(everything)


def test_the_best_scheme_that_can_be_built_is_marked_and_what_equals_it(
    browser: chromium.Page, like_figure_9: Results
) -> None:
    page = like_figure_9.path / "report.html"
    look(browser, page)
    runs = embedded(page)["runs"]
    (all_sizes,) = browser.evaluate(
        "[[...document.querySelectorAll('#slowdown table.data tbody tr:last-child td')].slice(1)"
        ".map((cell) => [cell.textContent, cell.classList.contains('best')])]"
    )
    rows = [run["slowdown_all"]["background"] for run in runs]
    contenders = [
        row for run, row in zip(runs, rows, strict=True) if run["scheme"] != "ideal-fq" and not run["left_out"]
    ]
    best = min(contenders, key=lambda row: row["p99"])
    for row, (text, marked) in zip(rows, all_sizes, strict=True):
        (low, high), (least, most) = row["p99_bounds"], best["p99_bounds"]
        equal = row in contenders and row is not best and max(low, least) <= min(high, most)
        assert marked == (row is best)
        assert text.startswith("= ") == equal


def test_a_tail_that_was_not_explained_comes_with_the_command(browser: chromium.Page, like_figure_9: Results) -> None:
    look(browser, like_figure_9.path / "report.html")
    command = browser.evaluate("document.querySelector('#why pre').textContent")
    (first, *_) = embedded(like_figure_9.path / "report.html")["panels"]
    longest = max(
        (run for run in first["runs"] if run["variant"] != "Ideal-FQ" and run["value"] is not None),
        key=lambda run: run["value"],
    )["variant"]
    assert command == f"backwater explain {like_figure_9.path} --run {longest}.seed=1 --below 3KB --page"
    assert top_of(browser, "#slowdown .chart") < top_of(browser, "#why") < top_of(browser, "#buffer")


def test_pauses_of_ports_and_of_queues_have_their_own_scales(browser: chromium.Page, like_figure_9: Results) -> None:
    look(browser, like_figure_9.path / "report.html")
    charts = browser.evaluate(
        "[...document.querySelectorAll('#pauses .bars')]"
        ".map((one) => [...one.querySelectorAll('i')].map((bar) => bar.style.width))"
    )
    assert charts
    assert all("100%" in widths for widths in charts), "the longest bar of each fills it"
    text = browser.evaluate("document.querySelector('#pauses').innerText")
    assert all(name in text for name in VARIANTS if name != "BFC-no-pausing")
