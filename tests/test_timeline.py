"""Ranks over time on the page: what is drawn is what the tables say, and it stays small."""

from __future__ import annotations

import base64
import json
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chromium
from backwater import Experiment, Results
from backwater.runs import jobs
from backwater.show import report, timeline
from test_report import embedded

NETWORK = {
    "kind": "leaf-spine",
    **{"leaves": 4, "spines": 2, "hosts_per_leaf": 8, "host_rate": "100 Gbps", "core_rate": "200 Gbps"},
    **{"host_delay": "1 us", "core_delay": "1 us"},
}
RUN = {"duration": "100 us", "warmup": "0 s", "drain": 1000.0}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """An all-reduce by steps and a pipeline, each of few ranks, under two schemes with two seeds."""
    workload = [
        {"kind": "collective", "class": "reduce", "pattern": "all-reduce", "bytes": "64 KB", "iterations": 3}
        | {"compute": "1 us", "by_steps": True, "hosts": ["host0", "host9", "host18", "host27"]},
        {"kind": "collective", "class": "pipe", "pattern": "pipeline", "bytes": "64 KB", "iterations": 2}
        | {"compute": "5 us", "hosts": ["host1..host5"]},
    ]
    scenario = {"topology": NETWORK, "workload": workload, "run": RUN, "seeds": {"count": 2}}
    variants = {"variant": [{"name": "BFC", "scheme": "bfc"}, {"name": "DCQCN", "scheme": "dcqcn"}]}
    return Experiment(scenario | variants).simulate(tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """32 ranks, 40 iterations of 62 steps each."""
    reduce = {"kind": "collective", "pattern": "all-reduce", "bytes": "32 KB", "iterations": 40, "by_steps": True}
    reduce |= {"algorithm": "ring", "compute": "500 ns"}
    scenario = {"topology": NETWORK, "workload": [reduce], "run": RUN, "scheme": "bfc"}
    return Experiment(scenario).simulate(tmp_path_factory.mktemp("runs") / "large")


def unpacked(text: str, kind: str, columns: int) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), kind).astype(np.int64).reshape(-1, columns)


def spans(line: dict[str, Any]) -> np.ndarray:
    """Begin, length, computation, row, iteration, first and last phase."""
    return np.hstack([unpacked(line["times"], "<u4", 3), unpacked(line["cells"], "<u2", 4)])


def test_spans_of_a_row_sum_to_what_the_rank_does_in_the_iteration(small: Results) -> None:
    run = small.runs[0]
    ranks = {(row["class"], row["iteration"], row["rank"]): row for row in small[run.label].ranks().to_pylist()}
    steps = len({row["phase"] for row in small[run.label].steps().to_pylist() if row["class"] == "reduce"})
    lines = timeline.of_run(run)
    assert [line["class"] for line in lines] == ["reduce", "pipe"]
    for line in lines:
        assert line["unit"] == 1e-12, "times are exact"
        found = spans(line)
        for row, rank in enumerate(line["rows"]):
            for i, iteration in enumerate(line["iterations"]):
                known = ranks[line["class"], iteration["number"], rank["rank"]]
                mine = found[(found[:, 3] == row) & (found[:, 4] == i)]
                assert rank["host"] == known["host"]
                assert mine[:, 2].sum() == known["compute_ps"]
                assert mine[:, 1].sum() == known["compute_ps"] + known["exposed_ps"]
                assert (mine[1:, 0] >= mine[:-1, 0] + mine[:-1, 1]).all(), "spans of a row are apart"
                window = (round(iteration["begin"] * 1e12), round(iteration["end"] * 1e12))
                assert window[1] - window[0] == known["time_ps"]
                bubbles = unpacked(line["bubbles"], "<u4", 3)
                here = bubbles[bubbles[:, 0] == row][:, 1:].clip(*window)
                assert (here[:, 1] - here[:, 0]).sum() == pytest.approx(known["bubble_ps"], abs=0.02 * known["time_ps"])
    assert len(lines[0]["phases"]) == steps > 1


def test_messages_are_those_of_the_flows(small: Results) -> None:
    run = small.runs[0]
    for work in jobs.of_run(run):
        found = jobs.messages(run, work, range(len(work.ranks)))
        assert found is not None
        flows = [row for row in run.table("flows").to_pylist() if row["class"] == work.name]
        under_way = jobs.under_way(work, found)
        for i, host in enumerate(work.hosts):
            begin, end = found[i]
            assert (begin[1:] > end[:-1]).all()
            ours = [(f["arrival_ps"], f["finish_tx_ps"]) for f in flows if f["src"] == host]
            ours += [(f["arrival_ps"], f["finish_rx_ps"]) for f in flows if f["dst"] == host]
            edges = sorted({edge for one in ours for edge in one})
            times = list(pairwise(edges))
            covered = [(a, b) for a, b in times if any(first <= a and b <= last for first, last in ours)]
            assert (end - begin).sum() == sum(b - a for a, b in covered)
            phases = [
                row for row in run.table("phases").to_pylist() if row["host"] == host and row["class"] == work.name
            ]
            for n, number in enumerate(work.numbers):
                ins = [(row["begin_ps"], row["end_ps"]) for row in phases if row["iteration"] == number]
                cuts = sorted({*edges, *(edge for one in ins for edge in one)})
                inside = sum(
                    b - a
                    for a, b in pairwise(cuts)
                    if any(x <= a and b <= y for x, y in ins) and any(x <= a and b <= y for x, y in covered)
                )
                assert under_way[n, i] == inside
    ranks = small.ranks().to_pylist()
    assert all(0 <= row["under_way_ps"] <= row["compute_ps"] + row["exposed_ps"] for row in ranks)


def test_ranks_that_share_a_host_have_no_messages_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "job.csv").write_text("id,src,dst,bytes\na,0,1,1000\nb,1,2,1000\n")
    job = {"kind": "job", "file": str(tmp_path / "job.csv"), "ranks_per_host": 2}
    done = Experiment({"topology": NETWORK, "workload": [job], "run": RUN, "scheme": "bfc"}).simulate(tmp_path / "run")
    (line,) = timeline.of_run(done.runs[0])
    assert line["messages"] is None
    assert done.ranks()["under_way_ps"].null_count == 3


def test_of_many_ranks_and_iterations_the_page_has_some(large: Results) -> None:
    run = large.runs[0]
    (line,) = timeline.of_run(run)
    (work,) = jobs.of_run(run)
    assert (len(work.ranks), len(work.numbers)) == (32, 40)
    assert (line["ranks"], line["ended"]) == (32, 40)
    assert len(line["rows"]) == timeline.ROWS
    assert len(line["iterations"]) == timeline.ITERATIONS
    numbers = {one["number"] for one in line["iterations"]}
    time = work.parts.time
    assert {int(time.argmax()), int(np.argsort(time, kind="stable")[0])} <= numbers
    found = spans(line)
    assert timeline.SPANS_OF_RUN / 2 < len(found) <= timeline.SPANS_OF_RUN
    assert len(json.dumps(line)) < 150_000
    several = timeline.of_run(run, 100)
    assert len(spans(several[0])) <= 24 * 12, "of many runs each has fewer"
    ranks = {(row["iteration"], row["rank"]): row for row in large.ranks().to_pylist()}
    for i, iteration in enumerate(line["iterations"]):
        mine = found[(found[:, 3] == 0) & (found[:, 4] == i)]
        known = ranks[iteration["number"], line["rows"][0]["rank"]]
        step = round(line["unit"] * 1e12)
        ends = (mine[0, 0] * step, mine[-1, :2].sum() * step)
        assert ends == pytest.approx((known["begin_ps"], known["end_ps"]), abs=2 * step)
        computed = mine[:, 2].sum() * step
        assert computed == pytest.approx(known["compute_ps"], abs=len(mine) * step), "joined phases keep computation"


def test_a_run_in_which_no_iteration_ended_has_no_timeline(tmp_path: Path) -> None:
    reduce = {"kind": "collective", "pattern": "all-reduce", "bytes": "400 MB"}
    run = {"duration": "20 us", "warmup": "0 s", "drain": 1.0, "all_finish": False}
    done = Experiment({"topology": NETWORK, "workload": [reduce], "run": run, "scheme": "bfc"}).simulate(
        tmp_path / "run"
    )
    assert timeline.of_run(done.runs[0]) == []
    assert report.page_data([done])["runs"][0]["timelines"] == []


CHOOSE = """(async (n, value) => {
    const one = document.querySelectorAll('#timeline select')[n];
    one.value = value;
    one.dispatchEvent(new Event('change'));
    await new Promise((done) => setTimeout(done, 300));
})"""


def drawn(browser: chromium.Page, kind: str) -> int:
    return browser.evaluate(f"document.querySelectorAll('#timeline svg .{kind}').length")


def test_browser_draws_a_row_for_each_rank(browser: chromium.Page, small: Results, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(report.render(report.page_data([small])))
    browser.open(page.as_uri())
    browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    lines = {(run["shown"], line["class"]): line for run in embedded(page)["runs"] for line in run["timelines"]}
    options = "[...document.querySelectorAll('#timeline select')].map((one) => [...one.options].map((o) => o.value))"
    runs, iterations = browser.evaluate(options)
    assert runs == [f"{shown}, {name}" for shown, name in lines]
    assert iterations == ["longest", "all", "0", "1", "2"]
    assert "of 4 ranks under BFC, seed 1." in browser.evaluate("document.querySelector('#timeline').innerText")
    browser.evaluate(f"{CHOOSE}(1, 'all')")
    line = lines["BFC", "reduce"]
    assert drawn(browser, "phase") == len(spans(line))
    assert drawn(browser, "message") > 0
    assert drawn(browser, "compute") > 0
    labels = browser.evaluate("[...document.querySelectorAll('#timeline svg text')].map((one) => one.textContent)")
    assert [f"{row['rank']} ({row['host']})" for row in line["rows"]] == labels[:4]
    browser.evaluate(f"{CHOOSE}(1, '1')")
    assert 0 < drawn(browser, "phase") < len(spans(line))
    assert browser.evaluate("location.hash") == "#timeline.iteration=1"
    browser.evaluate(f"{CHOOSE}(0, 'DCQCN, pipe')")
    assert drawn(browser, "bubble") > 0
    title = browser.evaluate("document.querySelector('#timeline svg .phase title').textContent")
    assert title.startswith("rank 0, iteration ")
    assert browser.console == []
