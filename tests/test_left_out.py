"""A variant that only shows what a claim comes to without what it credits: tables have it, charts and sums do not."""

from __future__ import annotations

from pathlib import Path

import pytest

import chromium
from backwater import Experiment, Results
from backwater.show import figures, report
from test_report import series

ABLATION = """
extends = "{base}"
name = "ablation"

[[variant]]
name = "BFC"
scheme = "bfc"

[[variant]]
name = "BFC-no-pausing"
scheme = "bfc"
"switch.backpressure" = "none"
"switch.buffer" = "50 KB"

[[variant]]
name = "ExpressPass"
scheme = "expresspass"

[without]
"BFC" = "BFC-no-pausing"
"""


@pytest.fixture(scope="module")
def ablation(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    scenario = tmp_path_factory.mktemp("scenario") / "ablation.toml"
    scenario.write_text(ABLATION.format(base=smoke))
    return Experiment(scenario).simulate(tmp_path_factory.mktemp("runs") / "ablation")


def test_packets_dropped_are_those_of_the_runs_drawn_and_no_credits(ablation: Results) -> None:
    drops = {run.label: run.summary["drops"] for run in ablation.runs}
    assert sum(drops["BFC-no-pausing"].values()) > 0, "the ablation loses packets"
    assert drops["ExpressPass"]["credit"] > 0, "and surplus credits are dropped"
    drawn = [drops["BFC"], drops["ExpressPass"]]
    dropped = report.page_data([ablation])["dropped"]
    assert dropped["credits"] == drops["ExpressPass"]["credit"]
    assert dropped["packets"] == sum(sum(one.values()) for one in drawn) - dropped["credits"]


def test_browser_leaves_it_out_of_charts_and_sums(browser: chromium.Page, ablation: Results, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    data = report.page_data([ablation])
    page.write_text(report.render(data))
    browser.open(page.as_uri())
    for chart in ("slowdown", "buffer"):
        assert set(series(browser, chart)) == {"BFC", "ExpressPass"}
    strip = browser.evaluate("document.getElementById('verdict').innerText")
    assert f"packets, 2 runs; {data['dropped']['credits']:,} credits by design" in strip
    assert "BFC-no-pausing" in browser.evaluate("document.querySelector('table[aria-label=Drops]').textContent")
    assert "Charts leave out BFC-no-pausing" in browser.evaluate("document.querySelector('main').textContent")
    assert browser.console == []


def test_figures_leave_it_out(ablation: Results) -> None:
    drawings = dict(figures.drawings(report.page_data([ablation])))
    for name in ("slowdown-background", "buffer"):
        legend = [text.get_text() for text in drawings[name]().legends[0].get_texts()]
        assert legend == ["BFC", "ExpressPass"]
