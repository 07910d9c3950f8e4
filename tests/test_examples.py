"""The examples are short, run as they stand, and offer the load that they ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

import backwater
from conftest import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
LINES = (15, 25)
"""Lines that say something, at least and at most."""
FLOWS = 300
"""Counted flows of a run, at least: enough for a 99th percentile that means something."""
OFF = 0.1
"""How far the mean realised load may be from the load asked, as a share of it."""


def test_there_are_three() -> None:
    assert [path.stem for path in EXAMPLES] == ["all-reduce", "own-network", "two-schemes"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_long_enough_to_be_believed(path: Path, tmp_path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if line]
    assert LINES[0] <= len(lines) <= LINES[1]
    results = backwater.Experiment(path).run(tmp_path / "run")
    assert {run.scenario["scheme"] for run in results.runs} == {"bfc", "dcqcn+win"}
    for run in results.runs:
        assert run.summary["complete"]
        assert run.summary["flows"]["finished"] >= FLOWS
    loads = [load for run in results.runs for load in run.summary["load"] if load["asked"]]
    assert loads
    assert all(load["as_asked"] for load in loads), "chance explains each difference"
    realised = sum(load["realised"] for load in loads) / len(loads)
    assert realised == pytest.approx(loads[0]["asked"], rel=OFF)
