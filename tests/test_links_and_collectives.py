"""Hot links, collectives and pooled distributions of the page are what the tables say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chromium
from backwater import Experiment, Results
from backwater.judge import panels
from backwater.runs import jobs
from backwater.show import collectives, iterations, links, report, series
from conftest import ROOT
from test_report import embedded
from test_report import series as drawn_series


@pytest.fixture(scope="module")
def seeded(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two schemes and two seeds."""
    sets = {"measure.queueing_delay": True, "measure.active_flows": True, "sweep.scheme": ["bfc", "dctcp"]}
    return Experiment(smoke, seeds=2, sets=sets).simulate(tmp_path_factory.mktemp("runs") / "seeded")


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Collectives on an idle network, whose times are known by hand."""
    place = tmp_path_factory.mktemp("runs") / "idle"
    return Experiment(ROOT / "experiments" / "collectives" / "idle.toml", seeds=2).simulate(place)


def test_hot_links_are_the_first_of_the_table(seeded: Results) -> None:
    members = [run for run in seeded.runs if run.scheme == "bfc"]
    rows = [
        (f"{row['node']} to {row['peer']}", run.params["seed"], row, run.summary["sim_time_ps"])
        for run in members
        for row in run.table("ports").to_pylist()
    ]
    shown = links.hot(members)
    for key, column in (("use", "utilisation"), ("pfc", "pfc_paused_ps"), ("bfc", "bfc_paused_queue_ps")):
        values = [row[column] / (1 if key == "use" else span) for _, _, row, span in rows]
        expected = sorted((value for value in values if value > 0), reverse=True)[: links.SHOWN]
        assert sorted((one[key] for one in shown), reverse=True)[: len(expected)] == pytest.approx(expected)
    by_name = {(link, seed): (row, span) for link, seed, row, span in rows}
    assert any(one["bfc"] > 0 for one in shown), "BFC pauses queues here"
    for one in shown:
        row, span = by_name[one["link"], one["seed"]]
        assert one["use"] == row["utilisation"]
        assert one["bfc"] == pytest.approx(row["bfc_paused_queue_ps"] / span)
        assert one["by"] == row["peer"]
        onward = [other for _, seed, other, _ in rows if (other["node"], seed) == (row["peer"], one["seed"])]
        busiest = max(onward, key=lambda other: other["utilisation"])
        if busiest["peer"] != row["node"]:
            assert (one["next"], one["next_use"]) == (busiest["peer"], busiest["utilisation"])


def test_browser_lists_hot_links_by_utilisation_or_pause_time(
    browser: chromium.Page, seeded: Results, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    page.write_text(report.render(report.page_data([seeded], panels.read(seeded))))
    browser.open(page.as_uri())
    hot = {run["variant"]: run["hot"] for run in embedded(page)["runs"]}
    cells = "[...document.querySelectorAll('#links tbody tr')].map((row) => row.children[0].textContent)"
    by_use = sorted(hot["bfc"], key=lambda row: -row["use"])[: links.SHOWN]
    assert browser.evaluate(cells) == [row["link"] for row in by_use]
    browser.click("#links input[value=pause]")
    by_pause = sorted((row for row in hot["bfc"] if row["bfc"] > 0), key=lambda row: -row["bfc"])[: links.SHOWN]
    assert browser.evaluate(cells) == [row["link"] for row in by_pause]
    assert by_pause[0]["by"] in browser.evaluate("document.querySelector('#links tbody tr').textContent")
    assert browser.console == []


def test_distributions_are_of_all_seeds(seeded: Results) -> None:
    members = [run for run in seeded.runs if run.scheme == "bfc"]
    assert len(members) == 2
    everything = np.sort(np.concatenate([run.table("buffers")["buffered_bytes"].to_numpy() for run in members]))
    (page,) = (run for run in report.page_data([seeded])["runs"] if run["scheme"] == "bfc")
    assert page["buffer"]["value"][-1] == everything[-1]
    for value, share in zip(page["buffer"]["value"], page["buffer"]["share"], strict=True):
        assert share <= np.mean(everything <= value) + 1e-9
        assert share > np.mean(everything < value) - 1e-9
    alone = [series.queueing_delay_cdf([run]) for run in members]
    packets = [sum(run.table("queueing_delay")["packets"].to_pylist()) for run in members]
    both = series.queueing_delay_cdf(members)
    assert both == page["queueing_delay"]
    longest = max(one["value"][-1] for one in alone)
    assert both["value"][-1] == longest
    at = alone[0]["value"][0]
    share = [
        next((s for v, s in reversed(list(zip(one["value"], one["share"], strict=True))) if v <= at), 0.0)
        for one in alone
    ]
    assert dict(zip(both["value"], both["share"], strict=True))[at] == pytest.approx(np.average(share, weights=packets))


def test_iterations_of_collectives_take_what_they_take_by_hand(idle: Results) -> None:
    found = {run.params["variant"]: collectives.of_seeds([run])[0] for run in idle.runs if run.params["seed"] == 1}
    ring = found["ring"]
    # 30 steps of 1 us of work and T(1 KB) = 2.16768 us, which all ranks take at the same time.
    assert ring["times"] == pytest.approx([95.0304e-6] * 10)
    assert ring["completion"]["value"] == pytest.approx(950.304e-6)
    assert [ring["mean"]["value"], ring["slowest"]] == pytest.approx([95.0304e-6] * 2)
    assert ring["last"] is None, "no rank is later than the others"
    assert ring["bus"] == pytest.approx(8 * 16_000 * 2 * 15 / 16 / 95.0304e-6)
    assert (ring["ranks"], ring["iterations"], ring["pattern"]) == (16, 10, "ring")
    pipeline = found["pipeline"]
    assert pipeline["completion"]["value"] == pytest.approx(1473.275e-6, rel=1e-3)
    assert sum(pipeline["times"]) == pytest.approx(pipeline["completion"]["value"])
    assert (pipeline["ranks"], pipeline["iterations"], pipeline["last"]) == (8, 64, None)
    for run in idle.runs:
        (known,) = run.summary["collectives"]
        (shown,) = collectives.of_seeds([run])
        assert shown["completion"]["value"] == pytest.approx(known["completion_ps"] * 1e-12)


def test_the_slowest_rank_is_the_one_that_is_last_alone_most_often() -> None:
    end = np.array([10, 10, 30, 40, 40, 70, 80, 90, 80, 110, 110, 110])
    workload = {"class": "w", "kind": "collective", "pattern": "ring", "bytes": "3 KB", "start": "0 s"}

    def work(end: np.ndarray) -> jobs.Work:
        zeros = np.zeros(12, int)
        columns = [np.tile(np.arange(3), 4), np.repeat(np.arange(4), 3), zeros, end - 10, end, zeros, zeros]
        return jobs.Work(workload, 4, [0, 1, 2], ["a", "b", "c"], ["w"], jobs.in_order(columns))

    one = work(end)
    assert one.lasts[0] == [2, 2, 1, None]
    assert one.times.tolist() == [30, 40, 20, 20]
    assert jobs.last([one]) == jobs.Last("c", 2, 4, pytest.approx(25))
    assert collectives.last([one]) == {"host": "c", "times": 2, "of": 4, "behind": pytest.approx(25e-12)}
    end[7] = -1
    assert work(end).times.tolist() == [30, 40], "what did not end everywhere counts for nothing"


def test_browser_shows_collectives(browser: chromium.Page, idle: Results, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(report.render(report.page_data([idle], panels.read(idle))))
    browser.open(page.as_uri())
    text = browser.evaluate("document.getElementById('collectives').innerText")
    assert "95 us" in text
    assert "2.53 Gb/s" in text
    assert {len(points) for points in drawn_series(browser, "collectives").values()} == {10, 64}
    number = "[...document.querySelectorAll('#collectives table.data')].map((one) => one.tBodies[0].rows.length)"
    points = len({run.label_without_seed for run in idle.runs})
    assert browser.evaluate(number)[:2] == [points, points]
    headings = browser.evaluate("[...document.querySelectorAll('#collectives thead th')].map((one) => one.innerText)")
    assert {"p50", "p95", "algbw", "busbw", "exposed communication", "bubble"} <= set(headings)
    assert "p99" not in headings, "no collective has a hundred iterations"
    shares = "[...bar.children].reduce((sum, part) => sum + Number(part.style.flexGrow), 0)"
    bars = browser.evaluate(f"[...document.querySelectorAll('#collectives .timebar')].map((bar) => {shares})")
    assert bars == pytest.approx([1.0] * points)
    assert browser.console == []


def run_of(name: str, mean: float | None, scheme: str = "bfc", **more: Any) -> dict[str, Any]:
    """A run as a page has it, with a ring of 16 ranks; its time per iteration in seconds."""
    known = None if mean is None else {"value": mean, "bounds": more.pop("bounds", [None, None])}
    row = {"class": "w", "pattern": "ring", "ranks": 16, "mean": known, "bus": 30.4e9, "last": None, "times": []} | more
    return {"shown": name, "variant": name, "point": {}, "scheme": scheme, "left_out": False, "collectives": [row]}


def test_the_answer_says_how_long_an_iteration_takes_and_which_rank_is_slowest() -> None:
    last = {"host": "host3", "times": 7, "of": 10, "behind": 12e-6}
    runs = [
        run_of("BFC", 2e-3, bounds=[1.9e-3, 2.1e-3], last=last),
        run_of("DCTCP", 3e-3, "dctcp", bounds=[2.8e-3, 3.2e-3]),
        run_of("DCQCN", 2.05e-3, "dcqcn", bounds=[1.95e-3, 2.2e-3]),
        run_of("Ideal-FQ", 1.5e-3, "ideal-fq", bounds=[1.4e-3, 1.6e-3]),
        run_of("HPCC", None, "hpcc"),
    ]
    assert iterations.sentences({"runs": runs}) == [
        "An iteration of the ring of 16 ranks takes least time under BFC: 2 ms (1.9 to 2.1), a bus bandwidth of "
        "30.4 Gb/s.",
        "DCTCP takes 1.5 times as long.",
        "DCQCN equals BFC within the intervals.",
        "The ideal (Ideal-FQ) is 1.5 ms (1.4 to 1.6).",
        "The slowest rank under BFC is host3, which is last in 7 of 10 iterations: 12 us after the median rank.",
        "HPCC completed no iteration of the ring of 16 ranks.",
    ]
    assert iterations.sentences({"runs": runs[-1:]}) == ["HPCC completed no iteration of the ring of 16 ranks."]
    other = run_of("Pipeline", 5e-5, pattern="pipeline", ranks=8)
    assert iterations.sentences({"runs": [runs[1], other]}) == [
        "An iteration of the ring of 16 ranks takes 3 ms (2.8 to 3.2), a bus bandwidth of 30.4 Gb/s.",
        "An iteration of the pipeline of 8 ranks takes 50 us, a bus bandwidth of 30.4 Gb/s.",
    ]


def test_the_answer_warns_of_means_of_unequal_iterations() -> None:
    """As where others share the fabric during the first iteration only."""
    runs = [
        run_of("BFC", 6e-3, times=[5e-3, 7e-3]),
        run_of("HPCC", 7.6e-3, "hpcc", times=[12.9e-3, 2.4e-3]),
        run_of("DCQCN", 7e-3, "dcqcn", times=[12e-3, 2e-3]),
    ]
    told = [line for line in iterations.sentences({"runs": runs}) if "means" in line]
    assert told == ["These are means. Iterations take 2.4 ms to 12.9 ms under HPCC and 2 ms to 12 ms under DCQCN."]


def test_a_page_with_collectives_begins_with_them(browser: chromium.Page, tmp_path: Path) -> None:
    """Beside storage traffic, whose slowdown follows; its own flows are not compared by slowdown."""
    sets = {"workload.0.bytes": "160 KB", "run.duration": "300 us"}
    done = Experiment(ROOT / "examples" / "all-reduce.toml", sets=sets).simulate(tmp_path / "run")
    assert done.answer[0].startswith("An iteration of the ring of 16 ranks takes least time under ")
    assert " bus bandwidth of " in done.answer[0]
    assert any(" p99 slowdown of storage flows " in line for line in done.answer)
    assert not any(" of collective flows " in line for line in done.answer)
    data = report.page_data([done])
    iteration, slowdown = data["headline"]
    assert iteration["label"].startswith("time per iteration of the ring of 16 ranks (")
    assert " of storage flows " in slowdown["label"]
    for run, shown in zip(done.runs, iteration["runs"], strict=True):
        (known,) = collectives.of_seeds([run])
        assert shown["value"] in (
            pytest.approx(known["mean"]["value"] * 1e6),
            pytest.approx(known["mean"]["value"] * 1e3),
        )
    page = tmp_path / "report.html"
    page.write_text(report.render(data))
    browser.open(page.as_uri())
    assert browser.evaluate("document.querySelectorAll('#panels .dot').length") == 4
    assert browser.evaluate("document.getElementById('answer').innerText").startswith(done.answer[0])
    assert browser.console == []


@pytest.mark.parametrize(
    ("expression", "better"),
    [
        ({"slowdown": "p99", "sizes": "<=3000"}, "lower"),
        ({"quotient": [{"slowdown": "p99"}, {"variant": "BFC", "slowdown": "p99"}]}, "lower"),
        ({"product": [1e-9, {"summary": "throughput[class=a].goodput_bps"}]}, "higher"),
        ({"summary": "buffer.p99_bytes"}, "lower"),
        ({"summary": "drops.credit"}, None),
        ({"summary": "pause.bfc_pauses"}, None),
        ({"quotient": [1, {"slowdown": "p99"}]}, None),
        ({"fct": "mean", "spread": "deviation"}, None),
        ({"result": "queues"}, None),
        (3, None),
    ],
)
def test_it_is_known_which_end_of_a_panel_to_prefer(expression: object, better: str | None) -> None:
    assert panels.better(expression) == better
