"""Completion times against completion times: numbers worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from backwater import Experiment, InputError, Results
from backwater.hpcc import comparison, conventions, fct
from backwater.hpcc.fct import Finished
from backwater.show import compare_fct, figures
from conftest import Cli

# source, destination, source port, destination port, bytes, start, completion, standalone
A = [
    (0, 1, 10000, 100, 1000, 2_000_000_000, 1000, 1000),
    (0, 1, 10001, 100, 1000, 2_000_000_500, 2000, 1000),
    (0, 2, 10000, 100, 5000, 2_000_001_000, 4000, 2000),
    (1, 2, 10000, 200, 20_000, 2_000_002_000, 9000, 10_000),
    (3, 2, 10000, 100, 1000, 2_000_003_000, 1500, 1000),
]
B = [
    (0, 1, 10000, 100, 1000, 2_000_000_000, 1000, 1000),
    (0, 1, 10001, 100, 1000, 2_000_000_500, 2200, 1000),
    (0, 2, 10000, 100, 5000, 2_000_001_000, 3000, 2000),
    (1, 2, 10000, 200, 20_000, 2_000_002_000, 18_000, 10_000),
    (2, 3, 10000, 100, 7000, 2_000_004_000, 1500, 1000),
]


def finished(rows: list[tuple[int, ...]], name: str = "x") -> Finished:
    return fct.of_columns(name, list(np.array(rows, np.int64).reshape(-1, 8).T))


def test_flows_are_matched_by_ports_and_differences_are_relative_to_a() -> None:
    done = comparison.compare(finished(A), finished(B))
    assert done.matched_by == "source, destination and ports"
    assert done.pairs[0].tolist() == [0, 1, 2, 3]
    assert done.pairs[1].tolist() == [0, 1, 2, 3]
    assert [places.tolist() for places in done.only] == [[4], [4]]
    assert done.difference.tolist() == pytest.approx([0, 0.1, -0.25, 1.0])
    assert done.worst.tolist() == [3, 2, 1]
    assert done.statistics() == pytest.approx(
        {"median_abs": 0.175, "mean": 0.2125, "mean_abs": 0.3375, "p95_abs": 1.0, "max_abs": 1.0}
    )


def test_slowdown_is_one_at_least_and_by_size() -> None:
    done = comparison.compare(finished(A), finished(B))
    assert [(bin.low, bin.high, bin.flows) for bin in done.bins] == [
        (0, 1000, (3, 2)),
        (3000, 10_000, (1, 2)),
        (10_000, 30_000, (1, 1)),
        (0, None, (5, 5)),
    ]
    small, _, large, whole = done.bins
    assert [one.value for one in small.estimates["p50"] if one] == [1.5, 1.0]
    assert [one.value for one in large.estimates["p50"] if one] == [1.0, 1.8], "9000 of 10 000 ns counts as 1"
    assert large.difference("p50") == (pytest.approx(0.8), np.inf)
    assert whole.estimates["p99"] == (None, None), "of five flows there is no p99"
    assert small.difference("p99") is None


def test_order_in_the_files_does_not_matter() -> None:
    done = comparison.compare(finished(A[::-1]), finished(B))
    assert done.pairs[0].tolist() == [1, 2, 3, 4]
    assert done.pairs[1].tolist() == [3, 2, 1, 0]
    assert done.difference.tolist() == pytest.approx([1.0, -0.25, 0.1, 0])


def test_bytes_and_start_stand_in_for_ports_that_do_not_agree() -> None:
    other = [(src, dst, 20_000 + i, 7 * i, *rest) for i, (src, dst, _, _, *rest) in enumerate(B)]
    done = comparison.compare(finished(A), finished(other))
    assert done.matched_by.startswith("source, destination, bytes and start")
    assert done.pairs[1].tolist() == [0, 1, 2, 3]
    # Ports that agree, but for other flows: sizes give them away.
    swapped = [list(row) for row in B]
    swapped[0][2], swapped[1][2] = 10001, 10000
    swapped[0][4] = swapped[1][4] = 999
    ours = [list(row) for row in A]
    ours[0][4], ours[1][4] = 999, 999
    swapped[2][2] = 10007
    done = comparison.compare(finished(ours), finished(swapped))
    assert done.matched_by.startswith("source, destination, bytes and start")
    assert done.pairs[1].tolist() == [0, 1, 2, 3]


def test_rows_that_occur_more_than_once_are_matched_in_order() -> None:
    a = [np.array([5, 5, 3, 5])]
    b = [np.array([3, 5, 5, 4])]
    assert [places.tolist() for places in comparison.same(a, b)] == [[0, 1, 2], [1, 2, 0]]
    none = [np.array([], np.int64)]
    assert [places.tolist() for places in comparison.same(a, none)] == [[], []]


def test_nothing_in_common_is_no_failure() -> None:
    done = comparison.compare(finished(A[:1]), finished([(7, 8, 1, 1, 9, 9, 9, 9)]))
    assert len(done.difference) == 0
    assert done.statistics() == {}
    assert len(compare_fct.tables(done)) == 2
    figures.comparison(done)


def test_a_class_is_a_port() -> None:
    done = comparison.compare(finished(A), finished(B), "incast")
    assert done.difference.tolist() == [1.0]
    assert len(comparison.compare(finished(A), finished(B), "port-100").difference) == 3
    with pytest.raises(InputError, match="--class mice: expected background"):
        comparison.compare(finished(A), finished(B), "mice")
    with pytest.raises(InputError, match="x: no finished flow of class port-7"):
        comparison.compare(finished(A), finished(B), "port-7")


def test_the_short_way_to_resample_is_the_long_one() -> None:
    rng = np.random.default_rng(3)
    values = np.sort(rng.exponential(size=400)) + 1
    for percent, rank in ((50, 199), (99, 395)):
        estimate = comparison.percentile(values, percent, np.random.default_rng(1))
        assert estimate is not None
        assert estimate.value == values[rank]
        resamples = np.sort(rng.choice(values, (20_000, len(values))), axis=1)[:, rank]
        assert estimate.error == pytest.approx(resamples.std(), rel=0.1)
    # Of a normal sample, the median's error is sqrt(pi / 2) sigma / sqrt(n).
    normal = np.sort(rng.normal(100, 5, 100_000))
    median = comparison.percentile(normal, 50, rng)
    assert median is not None
    assert median.error == pytest.approx(np.sqrt(np.pi / 2) * 5 / np.sqrt(100_000), rel=0.15)


def test_runs_and_files_are_opened_alike(hpcc_run: Results, tmp_path: Path) -> None:
    fct.write(hpcc_run.runs[0], tmp_path / "fct.txt")
    sides = [fct.open_any(path) for path in (hpcc_run.path, hpcc_run.runs[0].path, tmp_path / "fct.txt")]
    for side in sides[1:]:
        done = comparison.compare(sides[0], side)
        assert (len(done.difference), np.abs(done.difference).max()) == (6, 0)


def test_the_command_prints_writes_and_draws(cli: Cli, tmp_path: Path) -> None:
    for name, rows in (("a.txt", A), ("b.txt", B)):
        (tmp_path / name).write_text(fct.text(finished(rows)))
    done = cli("compare-fct", "a.txt", "b.txt", "--out", "c.svg")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for what in (
        "a.txt: 5 finished flows",
        "4, matched by source, destination and ports",
        "1: 3:10000 to 2:100, 1000 B at 2000003000 ns",
        "median 17.5 %, mean 33.8 %, 95th percentile 100.0 %, largest 100.0 %",
        "+21.2 % in the mean, B to A",
        "2,000,002,000 ns",
    ):
        assert what in done.stdout, done.stdout
    written = json.loads(cli("compare-fct", "a.txt", "b.txt", "--json").stdout)
    assert written["matched"] == 4
    assert written["a"]["first_unmatched"][0]["src"] == 3
    assert written["difference"]["mean"] == pytest.approx(0.2125)
    assert [row["flows"] for row in written["slowdown"]] == [
        *({"a": 3, "b": 2}, {"a": 1, "b": 2}, {"a": 1, "b": 1}, {"a": 5, "b": 5}),
    ]
    assert written["worst"][0]["fct_b_ns"] == 18_000
    picture = (tmp_path / "c.svg").read_text()
    assert picture.startswith("<?xml")
    assert cli("compare-fct", "a.txt", "b.txt", "--out", "again.svg").returncode == 0
    assert cli("compare-fct", "a.txt", "b.txt", "--out", "c.png").returncode == 0
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("a.txt", "again.svg", "b.txt", "c.png", "c.svg"),
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["a.txt"], "Missing argument 'B'"),
        (["a.txt", "absent.txt"], "absent.txt: cannot be read"),
        (["a.txt", "empty.txt"], "empty.txt: no finished flow"),
        (["a.txt", "a.txt", "--out", "c.gif"], "--out c.gif: expected a name that ends in .svg"),
        (["a.txt", "a.txt", "--out", "none/c.svg"], "--out none/c.svg: no such directory"),
        (["a.txt", "a.txt", "--json", "c.json"], "`--json > c.json`"),
        (["a.txt", "."], ".: not a run directory"),
        (["a.txt", "{three}"], "holds 3 runs: expected one of"),
    ],
)
def test_what_cannot_be_compared_is_said(
    cli: Cli, results: Results, tmp_path: Path, arguments: list[str], says: str
) -> None:
    (tmp_path / "a.txt").write_text(fct.text(finished(A)))
    (tmp_path / "empty.txt").write_text("")
    done = cli("compare-fct", *[argument.format(three=results.path) for argument in arguments])
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "empty.txt"]


def test_one_run_of_several_can_be_named(cli: Cli, results: Results) -> None:
    done = cli("compare-fct", results.path / "BFC", results.path / "DCTCP")
    assert done.returncode == 0, done.stderr
    assert "matched by source, destination and ports" in done.stdout


def test_the_table_of_conventions_is_made_of_runs_that_are_there() -> None:
    experiments = Path(__file__).parents[1] / "experiments" / "fidelity"
    opened = [Experiment(experiments / f"{name}.toml", scale="smoke") for name in ("conventions", "parameters")]
    runs = {(run.params["variant"], run.scenario["scheme"]) for one in opened for run in one.plan.runs}
    named = {
        (variant.format(scheme=scheme), scheme)
        for _, changed, base in conventions.ROWS
        for variant in (changed, base)
        for scheme in conventions.SCHEMES
    }
    windows = {("timely window", "timely"), ("hpcc window", "hpcc"), ("hpcc-pint window", "hpcc-pint")}
    assert named - runs == windows, "which have none by default either, or the same"


def test_a_change_is_told_with_two_digits() -> None:
    shares = {0.33: "33", -0.0015: "-0.1", 0.0004: "0.0", 0.0996: "10", 12.4: "1240", -0.0996: "-10", 0.0949: "9.5"}
    assert {share: conventions.percent(share) for share in shares} == shares
    assert [conventions.percent(share, signed=True) for share in (0.02, -0.02, 0.0)] == ["+2.0", "-2.0", "0.0"]
