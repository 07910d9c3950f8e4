"""The page of the Python API is what the docstrings say, and their examples run."""

from __future__ import annotations

import doctest
from pathlib import Path

import matplotlib as mpl
import pyarrow.compute as pc
import pytest

import apipage
import backwater
from backwater import experiment as api
from backwater.execute import control, sweep
from backwater.runs import joined
from backwater.runs import run as one_run
from backwater.scenario import experiments, schemes, sizes, topology, units, workload
from backwater.show import plots
from backwater.show import results as shown
from conftest import ROOT

EXAMPLES = 5
"""Docstrings with examples, at least."""
SMOKE = ('"run.duration" = "600 us"', '"run.duration" = "100 us"')
"""Examples of the smallest scale run for a part of its time."""


def test_the_page_is_what_the_docstrings_say() -> None:
    assert (ROOT / "docs/api.md").read_text() == apipage.page() + "\n", "`make api` writes it again"


def test_the_page_has_types_and_public_methods_only() -> None:
    page = apipage.page()
    assert "with_(\n    sets: Mapping[str, Any] | None = None,\n    /,\n    *,\n    seed: int | None = None," in page
    assert "explain(*numbers: int, progress: Progress | None = None) -> Explained" in page
    assert "### `Results.judged`\n\nType: `list[Claim]`" in page
    assert "keep(" not in page


def test_the_page_has_the_attributes_that_classes_declare() -> None:
    page = apipage.page()
    assert "## Signals\n\nSignals that" in page
    assert "* `now: float`. Time, seconds.\n* `acks: int`. ACKs since" in page
    assert "* `wall_s: float`. Time of all runs" in page
    assert "`_hops" not in page
    assert {"on_tick", "on_done"} <= {
        line.partition("(")[0].partition(".")[2] for line in page.splitlines() if "`Watch." in line
    }


def test_examples_in_docstrings_run(
    results: backwater.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fig9 = (ROOT / "experiments/bfc/fig9.toml").read_text()
    assert fig9.count(SMOKE[0]) == 1
    (tmp_path / "fig9.toml").write_text(fig9.replace(*SMOKE))
    monkeypatch.chdir(tmp_path)
    mpl.rcParams.update(mpl.rcParamsDefault)
    names = {"backwater": backwater, "Experiment": backwater.Experiment, "results": results, "pc": pc}
    found = [
        test
        for module in (
            backwater,
            api,
            control,
            experiments,
            joined,
            one_run,
            plots,
            schemes,
            shown,
            sizes,
            sweep,
            topology,
            units,
            workload,
        )
        for test in doctest.DocTestFinder().find(module, extraglobs=names)
        if test.examples
    ]
    assert len(found) >= EXAMPLES
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in found:
        runner.run(test)
    assert runner.summarize().failed == 0
    assert (tmp_path / "slowdown.pdf").stat().st_size > 1000
