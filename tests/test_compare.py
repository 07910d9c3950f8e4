"""`backwater compare`: a column for each variant, whatever the number of its seeds, in lines that fit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean

import pytest

from backwater import Experiment, Results, _core
from backwater.show import compare
from conftest import Cli

SCHEMES = ["bfc", "dctcp", "hpcc", "dcqcn", "ideal-fq", "ideal-fc", "expresspass", "timely"]
RING = {
    "topology": {"kind": "single-switch", "hosts": 4, "rate": "100 Gbps", "delay": "1 us"},
    "workload": [{"kind": "collective", "pattern": "ring", "bytes": "16 KB", "iterations": 3, "compute": "1 us"}],
    "run": {"duration": "1 ms", "warmup": "0 s"},
}
NUMBERS = {"per_iteration_ps", "p95_ps", "time_ps", "exposed_ps", "algbw_bps", "busbw_bps"}


@pytest.fixture(scope="module")
def forty(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Eight schemes with five seeds each."""
    assert set(SCHEMES) <= {scheme["name"] for scheme in json.loads(_core.schemes())}
    experiment = Experiment(smoke, seeds=5, vary={"scheme": SCHEMES}, sets={"run.duration": "50 us"})
    return experiment.simulate(tmp_path_factory.mktemp("forty") / "forty")


def test_forty_runs_are_eight_columns_that_can_be_read(cli: Cli, forty: Results) -> None:
    assert len(forty.runs) == 40
    done = cli("compare", forty.path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert "seed=" not in done.stdout
    assert "means of 5 seeds" in done.stdout
    headings = [name.strip() for line in lines if line.startswith("┃ size") for name in line.split("┃")[2:-1]]
    assert headings == SCHEMES, "each name whole, on one line"


def test_a_cell_is_the_mean_over_the_seeds_with_its_interval(cli: Cli, forty: Results) -> None:
    values = [
        row["p95"]
        for run in forty.runs[:5]
        for row in run.summary["slowdown"]
        if (row["class"], row["bin"]) == ("background", "all")
    ]
    assert len(set(values)) > 1
    shown = cli("compare", forty.path, "--percentile", "p95").stdout
    row = next(line for line in shown.splitlines() if line.startswith("│ all "))
    found = re.match(r"│ all +│ +([0-9.]+) \(([0-9.]+) to ([0-9.]+)\) ", row)
    assert found is not None, row
    value, low, high = map(float, found.groups())
    assert value == pytest.approx(fmean(values), abs=0.005)
    assert low < value < high


def test_counts_are_added_up_and_the_rest_is_averaged(forty: Results) -> None:
    first, *_ = compare.columns([forty])
    rows = dict(compare.facts([first]))
    summaries = [run.summary for run in forty.runs[:5]]
    assert rows["flows finished"] == [f"{sum(one['flows']['finished'] for one in summaries):,}"]
    assert rows["core utilisation"] == [f"{fmean(one['core_utilisation'] for one in summaries):.1%}".replace("%", " %")]
    assert "credits dropped" not in rows


def test_points_of_a_sweep_have_a_row_each_and_then_a_column_each(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    sweep = {"load": [0.2, 0.5], "scheme": ["bfc", "dctcp"]}
    Experiment(smoke, seeds=2, vary=sweep).simulate(tmp_path / "swept")
    lines = cli("compare", "swept").stdout.splitlines()
    rows = [line.split("│")[1].strip() for line in lines if line.startswith("│ load")]
    assert rows == ["load 0.2", "load 0.5"]
    assert any(re.match(r"┃ size +┃ +load 0.2 ┃ +load 0.2 ┃", line) for line in lines), lines
    assert max(map(len, lines)) <= 100


def test_two_directories_stand_beside_each_other_and_name_tables_that_differ(
    cli: Cli, smoke: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        Experiment(smoke, seeds=2).simulate(tmp_path / name)
    done = cli("compare", "a", "b")
    assert "a/bfc" in done.stdout
    assert "b/bfc" in done.stdout
    assert "unlike" not in done.stdout
    opened = [Results(tmp_path / name) for name in ("a", "b")]
    entry = opened[1].runs[1].entry
    entry.digest, entry.digests["ports"] = "0" * 64, "0" * 64
    assert compare.facts(compare.columns(opened))[-1] == ("tables unlike the first's", ["-", "ports"])


def test_collectives_have_their_completion_time(cli: Cli, tmp_path: Path) -> None:
    done = Experiment(RING, vary={"scheme": ["bfc", "dctcp"]}).simulate(tmp_path / "ring")
    shown = cli("compare", "ring").stdout
    assert "Completion time of collectives" in shown
    for run in done.runs:
        (row,) = run.summary["collectives"]
        assert f" {row['completion_ps'] * 1e-6:.3g} us " in shown


def test_iterations_of_jobs_stand_side_by_side(cli: Cli, tmp_path: Path) -> None:
    ring = {**RING, "workload": [{**RING["workload"][0], "iterations": 25}]}
    done = Experiment(ring, seeds=2, vary={"scheme": ["bfc", "dctcp"]}).simulate(tmp_path / "ring")
    other = {**ring, "workload": [{**ring["workload"][0], "pattern": "all-to-all"}], "scheme": "bfc"}
    Experiment(other).simulate(tmp_path / "other")
    shown = cli("compare", "ring", "other").stdout
    assert max(map(len, shown.splitlines())) <= 100
    ours, theirs = (
        shown.split(f"Iterations of the {name} of 4 ranks (collective)")[1] for name in ("ring", "all-to-all")
    )
    cells = {
        row[0].strip(): [cell.strip() for cell in row[1:]]
        for line in ours.partition("Iterations of")[0].splitlines()
        if line.startswith("│") and (row := line.strip("│").split("│"))
    }
    jobs = done.jobs().to_pylist()
    for i, scheme in enumerate(("bfc", "dctcp")):
        here = [row for row in jobs if row["scheme"] == scheme]
        mean = {name: fmean(row[name] for row in here) for name in here[0] if name in NUMBERS}
        assert cells["iterations that ended"][i] == "25 of 25"
        assert cells["time per iteration"][i].startswith(f"{mean['per_iteration_ps'] * 1e-6:.3g} us")
        assert cells["p95"][i].startswith(f"{mean['p95_ps'] * 1e-6:.3g} us")
        assert cells["bus bandwidth"][i] == f"{mean['busbw_bps'] * 1e-9:.3g} Gb/s"
        assert cells["algorithm bandwidth"][i] == f"{mean['algbw_bps'] * 1e-9:.3g} Gb/s"
        exposed = f"{mean['exposed_ps'] * 1e-6:.3g} us ({100 * mean['exposed_ps'] / mean['time_ps']:.0f} %)"
        assert cells["exposed communication"][i] == exposed
    assert "p99" not in cells, "25 iterations have no 99th percentile"
    assert cells["time per iteration"][2] == "-", "the other directory has no ring"
    assert "time per iteration" in theirs
    told = {
        (one["name"], row["pattern"]): row
        for one in json.loads(cli("compare", "ring", "other", "--json").stdout)
        for row in one["jobs"]
    }
    assert set(told) == {("ring/bfc", "ring"), ("ring/dctcp", "ring"), ("other/bfc", "all-to-all")}
    first = told["ring/bfc", "ring"]
    assert first["mean"]["value"] == pytest.approx(1e-12 * fmean(row["per_iteration_ps"] for row in jobs[:2]))
    assert (first["p99"], first["ended"]) == (None, 25)


@pytest.mark.parametrize(
    ("groups", "widths", "room", "parts"),
    [
        ("", [], 10, []),
        ("aaa", [4, 4, 4], 12, [[0, 1, 2]]),
        ("aaa", [4, 4, 4], 11, [[0, 1], [2]]),
        ("aabb", [4, 4, 4, 4], 12, [[0, 1], [2, 3]]),
        ("abc", [4, 4, 4], 8, [[0, 1], [2]]),
        ("a", [40], 8, [[0]]),
    ],
)
def test_columns_are_packed(groups: str, widths: list[int], room: int, parts: list[list[int]]) -> None:
    assert list(compare.packed(list(groups), widths, room)) == parts
