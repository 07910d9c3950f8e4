"""Runs that differ only in their seed are one on the page and in figures."""

from __future__ import annotations

import copy
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from backwater import Experiment, Results
from backwater.show import report, seeds


@pytest.fixture(scope="module")
def three_seeds(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    experiment = Experiment(smoke, seeds=3, sets={"sweep.switch.queues": [8, 16]})
    return experiment.simulate(tmp_path_factory.mktemp("seeds") / "three")


def of(run: dict[str, Any], size: int) -> dict[str, Any]:
    (row,) = [row for row in run["slowdown"]["background"] if row["size_low_bytes"] == size]
    return row


def test_the_page_has_one_for_all_seeds(three_seeds: Results) -> None:
    runs = report.page_data([three_seeds])["runs"]
    assert [run["name"] for run in runs] == ["bfc.queues=8", "bfc.queues=16"]
    assert [run["point"] for run in runs] == [{"switch.queues": 8}, {"switch.queues": 16}]
    first, alone = runs[0], [three_seeds.run(f"bfc.queues=8.seed={seed}") for seed in (1, 2, 3)]
    assert [member["digest"] for member in first["members"]] == [run.digest for run in alone]
    assert first["summary"]["flows"]["finished"] == sum(run.summary["flows"]["finished"] for run in alone)
    assert first["summary"]["packet_hops"] == sum(run.summary["packet_hops"] for run in alone)
    buffers = fmean(run.summary["buffer"]["p99_bytes"] for run in alone)
    assert first["summary"]["buffer"]["p99_bytes"] == pytest.approx(buffers)
    row = of(first, 0)
    low, high = row["p50_bounds"]
    assert low < row["p50"] < high
    assert row["p50"] == pytest.approx(fmean(of(report.numbers("", run, {}), 0)["p50"] for run in alone))


def test_a_bin_that_a_seed_has_too_few_flows_in_has_no_value(three_seeds: Results) -> None:
    runs = [report.numbers(run.label, run, {}) for run in three_seeds.runs[:3]]
    runs = copy.deepcopy(runs)
    of(runs[1], 0)["p99"] = None
    (merged,) = seeds.together(runs)
    assert of(merged, 0)["p99"] is None
    assert "p99_bounds" not in of(merged, 0)
    assert of(merged, 0)["flows"] == sum(of(run, 0)["flows"] for run in runs)


def test_what_one_seed_lacks_or_breaks_is_said_of_all(three_seeds: Results) -> None:
    runs = copy.deepcopy([report.numbers(run.label, run, {}) for run in three_seeds.runs[:3]])
    runs[2]["mark"] = " (cut short)"
    runs[1]["summary"]["core_utilisation"] = None
    runs[1]["summary"]["complete"] = False
    (merged,) = seeds.together(runs)
    assert merged["mark"] == " (cut short)"
    assert (merged["summary"]["core_utilisation"], merged["summary"]["complete"]) == (None, False)


def test_runs_of_one_seed_stay_as_they_are(three_seeds: Results) -> None:
    one = report.numbers("a", three_seeds.runs[0], {})
    assert seeds.together([one]) == [one]
    other = {**one, "point": {}, "name": "b"}
    assert seeds.together([other, other]) == [other, other], "the same directory twice is no second seed"
