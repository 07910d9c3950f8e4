"""`make lab-tables`: real runs beside simulated ones, written into a document between marks."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import backwater
import lab_tables

DOCUMENT = """# Lab

<!-- figures: made by make lab-tables -->
old
<!-- end -->

Words between.

<!-- faithful: made by make lab-tables -->
<!-- end -->
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulated runs of two experiments, in the place of real ones too: one of flows without an end, one of others."""
    monkeypatch.setattr(lab_tables, "FIGURES", {"bfc-fig7": [], "bfc-fig8": []})
    monkeypatch.setattr(lab_tables, "TABLES", {name: lab_tables.TABLES[name] for name in ("figures", "faithful")})
    for name in lab_tables.FIGURES:
        backwater.Experiment(name, scale="smoke", seeds=1).simulate(tmp_path / "simulated" / name)
        for rate in lab_tables.RATES:
            shutil.copytree(tmp_path / "simulated" / name, tmp_path / str(rate) / name)
    return tmp_path


def test_equal_runs_differ_by_nothing_and_the_text_around_stays(place: Path, tmp_path: Path) -> None:
    document = tmp_path / "lab.md"
    document.write_text(DOCUMENT)
    lab_tables.write(place, document)
    lines = document.read_text().splitlines()
    rows = [line for line in lines if line.startswith("| bfc-fig")]
    assert len(rows) == 6 + 8
    assert all("| +0.0 %, +0.0 % |" in line for line in rows)
    assert rows[0].startswith("| bfc-fig7, Th0.5us | ")
    [pauses, buffers] = [cell.strip().split(", ") for cell in rows[0].split("|")[3:5]]
    assert len(set(pauses)) == len(set(buffers)) == 1
    assert buffers[0] == "5.76", "the mean queue of a flow, as in the figure's own panel"
    assert (len(pauses), len(buffers)) == (3, 3)
    assert "old" not in lines
    assert "Words between." in lines
    assert (
        "Faithful were 14 of 14 runs at 20 Mb/s and 14 of 14 runs at 100 Mb/s. A star marks the others. "
        "Throughput was within 5 % of the simulated one in 14 of 14 runs at 20 Mb/s and 14 of 14 runs at 100 Mb/s."
    ) in lines
    again = document.read_text()
    lab_tables.write(place, document)
    assert document.read_text() == again


def test_a_document_without_a_mark_is_refused(place: Path, tmp_path: Path) -> None:
    document = tmp_path / "lab.md"
    document.write_text(DOCUMENT.replace("<!-- figures", "<!-- other"))
    with pytest.raises(SystemExit, match="expected <!-- figures: made by make lab-tables --> once"):
        lab_tables.write(place, document)


class Made:
    """A run with a summary."""

    def __init__(self, label: str, summary: dict[str, Any]) -> None:
        self.label, self.summary = label, summary

    def table(self, *_: object) -> Any:
        return self

    def to_pylist(self) -> list[dict[str, Any]]:
        return []


def made(bps: float, *, on_time: bool, cut: int = 0) -> Any:
    rows = [{"class": "a", "goodput_bps": bps}, {"class": "b", "goodput_bps": 100.0}]
    flows = {"unfinished": cut, "counted": 30}
    return Made("x", {"throughput": rows, "flows": flows, "lab": {"faithful": on_time}})


def test_the_class_that_differs_most_is_shown_and_a_late_run_has_a_star() -> None:
    expected = made(100.0, on_time=True)
    assert lab_tables.told(made(90.0, on_time=True), expected) == "-10.0 %"
    assert lab_tables.told(made(102.0, on_time=False), expected) == "+2.0 %*"
    assert lab_tables.told(made(1.0, on_time=False, cut=28), expected) == "28 of 30 flows cut*"


def test_of_two_runs_the_faithful_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.again").mkdir()
    late, on_time = made(1.0, on_time=False), made(2.0, on_time=True)

    class Found:
        def __init__(self, path: Path) -> None:
            self.runs = [on_time if path.name.endswith(".again") else late]

    monkeypatch.setattr(lab_tables, "Results", Found)
    assert lab_tables.runs(tmp_path, "x") == {"x": on_time}
