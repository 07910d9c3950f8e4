"""Claims are judged as `experiments/README.md` says. Every case was worked out by hand."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

from backwater import Experiment, Results, _core
from backwater.common.disk import sha256
from backwater.common.percentiles import rank_of
from backwater.execute import making, store
from backwater.judge import claims, numbers, panels
from backwater.judge.context import MeasuredRuns, Point
from backwater.judge.settled import Course
from backwater.runs.manifest import FORMAT, sealed
from backwater.scenario import experiments
from conftest import Cli, written


def write_run(
    place: Path, label: str, flows: list[tuple[str, int, float]], active: dict[int, int], **summary: Any
) -> None:
    """A run whose tables hold just what an expectation reads. Flows: class, size, slowdown; ideal time 1 us."""
    (place / label).mkdir(parents=True)
    n = len(flows)
    table = {
        "class": pa.array([name for name, _, _ in flows], pa.string()).dictionary_encode(),
        "size_bytes": pa.array([size for _, size, _ in flows], pa.uint64()),
        "arrival_ps": pa.array([0] * n, pa.uint64()),
        "finish_rx_ps": pa.array([round(slowdown * 1e6) for _, _, slowdown in flows], pa.uint64()),
        # Acknowledged 1 us later, all but the last flow; slowdowns above 90 timed out.
        "finish_tx_ps": pa.array([round((slowdown + 1) * 1e6) for _, _, slowdown in flows[:-1]] + [None], pa.uint64()),
        "timeouts": pa.array([int(slowdown > 90) for _, _, slowdown in flows], pa.uint16()),
        "ideal_ps": pa.array([1_000_000] * n, pa.uint64()),
        "slowdown": pa.array([slowdown for _, _, slowdown in flows], pa.float64()),
        "counted": pa.array([1] * n, pa.uint8()),
    }
    pq.write_table(pa.table(table), place / label / "flows.parquet")
    histogram = {
        "node": pa.array(["switch0"] * len(active)).dictionary_encode(),
        "port": pa.array([0] * len(active), pa.uint16()),
        "flows": pa.array(list(active), pa.uint32()),
        "samples": pa.array(list(active.values()), pa.uint64()),
    }
    pq.write_table(pa.table(histogram), place / label / "active_flows.parquet")
    ports = {
        "node": pa.array(["host0", "switch0", "switch0"]).dictionary_encode(),
        "peer": pa.array(["switch0", "host0", "host1"]).dictionary_encode(),
        "control_frames": pa.array([0, 3, 4], pa.uint64()),
    }
    pq.write_table(pa.table(ports), place / label / "ports.parquet")
    mmus = {
        "node": pa.array(["leaf0", "leaf0", "leaf1"]).dictionary_encode(),
        "mmu": pa.array([0, 1, 0], pa.uint16()),
        "peak_bytes": pa.array([500, 2000, 900], pa.uint64()),
        "dropped_full": pa.array([1, 2, 4], pa.uint64()),
    }
    pq.write_table(pa.table(mmus), place / label / "mmus.parquet")
    # A queue to host0 that grows by 10 B a microsecond; one to host1 that stays empty.
    microseconds = [*range(1, 101)] * 2
    queues = {
        "time_ps": pa.array([t * 1_000_000 for t in microseconds], pa.uint64()),
        "node": pa.array(["leaf0"] * 200).dictionary_encode(),
        "peer": pa.array(["host0"] * 100 + ["host1"] * 100).dictionary_encode(),
        "queued_bytes": pa.array([10 * t for t in microseconds[:100]] + [0] * 100, pa.uint64()),
    }
    pq.write_table(pa.table(queues), place / label / "queues.parquet")
    # Two queues of one port: one that holds 100 to 400 B, one that comes later and runs empty.
    data_queues = {
        "time_ps": pa.array([t * 1_000_000 for t in (1, 2, 3, 3, 4, 4)], pa.uint64()),
        "node": pa.array(["leaf0"] * 6).dictionary_encode(),
        "peer": pa.array(["host0"] * 6).dictionary_encode(),
        "queue": pa.array([0, 0, 0, 5, 0, 5], pa.uint16()),
        "queued_bytes": pa.array([100, 200, 300, 50, 400, 0], pa.uint64()),
    }
    pq.write_table(pa.table(data_queues), place / label / "data_queues.parquet")
    # At leaves half of the flows share a queue in one of four samples, at the spine all do.
    sharing = {
        "node": pa.array(["leaf0", "leaf0", "spine0"]).dictionary_encode(),
        "port": pa.array([0, 0, 3], pa.uint16()),
        "peer": pa.array(["host0", "host0", "leaf0"]).dictionary_encode(),
        "percent": pa.array([0, 50, 100], pa.uint16()),
        "samples": pa.array([3, 1, 4], pa.uint64()),
    }
    pq.write_table(pa.table(sharing), place / label / "sharing.parquet")
    pools = {
        "time_ps": pa.array([1_000_000, 1_000_000, 2_000_000, 2_000_000], pa.uint64()),
        "node": pa.array(["leaf0"] * 4).dictionary_encode(),
        "mmu": pa.array([0, 1, 0, 1], pa.uint16()),
        "used_bytes": pa.array([100, 7, 300, 9], pa.uint64()),
    }
    pq.write_table(pa.table(pools), place / label / "pools.parquet")
    pauses = {
        "node": pa.array(["spine0", "spine1", "leaf0"]).dictionary_encode(),
        "peer": pa.array(["leaf0", "leaf0", "host0"]).dictionary_encode(),
        "samples": pa.array([10, 10, 10], pa.uint64()),
        "held": pa.array([50, 30, 7], pa.uint64()),
        "incast": pa.array([20, 0, 7], pa.uint64()),
        "other": pa.array([10, 0, 0], pa.uint64()),
        "orphans": pa.array([20, 30, 0], pa.uint64()),
        "all": pa.array([1, 0, 0], pa.uint64()),
    }
    pq.write_table(pa.table(pauses), place / label / "pauses.parquet")
    (place / label / "summary.json").write_text(json.dumps(summary))
    scenario = {"host": {"window": "100 KB"}, "topology": {"host_rate": "100 Gbps"}, "workload": [{"delay": "2.5 us"}]}
    (place / label / "scenario.json").write_text(json.dumps(scenario))


def write_manifest(
    place: Path, runs: list[tuple[str, dict[str, Any]]], scale: str = "quick", *, fixed: str = "by hand"
) -> Results:
    entries = [
        {
            **{"label": label, "scheme": "bfc", "params": params, "digest": "00", "dir": label, "complete": True},
            "files": {file.name: sha256(file) for file in (place / label).iterdir()},
        }
        for label, params in runs
    ]
    head = {"format": FORMAT, "name": "x", "version": "0", "digest": "00", "command": "", "complete": True}
    (place / "manifest.json").write_text(sealed({**head, "scale": scale, "seeds": {"fixed": fixed}, "runs": entries}))
    return Results(place)


@pytest.fixture
def two(tmp_path: Path) -> Results:
    """A: background slowdowns 1 to 100, twice, for small flows, 3 for large. B: 5 times the small, 2 for large."""
    small = [("background", 1000, float(i)) for i in range(1, 101)] * 2
    large = [("background", 2_000_000, 3.0)] * 4
    write_run(
        tmp_path,
        "A",
        small + large + [("incast", 200_000, 9.0)],
        {0: 50, 10: 40, 40: 10},
        buffer={"p99_bytes": 1000},
        load=[{"class": "background", "offered_bps": 4e9}, {"class": "incast", "offered_bps": 5e9}],
        queueing_delay=None,
    )
    write_run(
        tmp_path,
        "B",
        [(name, size, 5 * slowdown) for name, size, slowdown in small] + [("background", 2_000_000, 2.0)] * 4,
        {0: 20, 20: 80},
        buffer={"p99_bytes": 4000},
        load=[],
    )
    return write_manifest(tmp_path, [("A", {"variant": "A"}), ("B", {"variant": "B"})])


def judge(results: Results, **expectation: Any) -> dict[str, Any]:
    (row,) = claims.evaluate([{"claim": "x.1", "metric": "m", "says": "s", **expectation}], results)
    assert row["verdict"] in claims.VERDICTS
    return row


def value(results: Results, expression: Any) -> float:
    """A value, heard from a check that compares nothing."""
    row = judge(results, kind="between", value=expression, variant="A")
    return row["checks"][0]["measured"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ({"slowdown": "p99", "sizes": "<=1000"}, 99.0),
        ({"slowdown": "p50", "sizes": "<=1000"}, 50.0),
        ({"slowdown": "p95", "sizes": "<=1000"}, 95.0),
        ({"slowdown": "mean", "sizes": "<=1000"}, 50.5),
        ({"slowdown": "mean", "sizes": ">1000"}, 3.0),
        ({"slowdown": "mean", "sizes": "(1000,2000000]"}, 3.0),
        ({"slowdown": "mean"}, (2 * 5050 + 12) / 204),
        ({"slowdown": "mean", "class": "incast"}, 9.0),
        ({"wait": "max", "sizes": "<=1000"}, 99e-6),
        ({"wait": "mean", "class": "incast"}, 8e-6),
        ({"fct": "max", "sizes": "<=1000"}, 100e-6),
        ({"fct": "mean", "class": "incast"}, 9e-6),
        ({"fct": "max", "class": "*", "sizes": "(100000,200000]"}, 9e-6),
        ({"slowdown": "mean", "class": "*"}, (2 * 5050 + 12 + 9) / 205),
        ({"fct_ack": "min", "sizes": "<=1000"}, 2e-6),
        ({"fct_ack": "p99", "sizes": "<=1000"}, 100e-6),
        ({"fct_ack": "min", "timed_out": True}, 92e-6),
        ({"fct_ack": "max", "timed_out": False}, 91e-6),
        ({"fct_ack": "max", "class": "*", "sizes": ">1000"}, 4e-6),  # the incast flow was never acknowledged
        ({"with_timeout": "share", "sizes": "<=1000"}, 0.1),
        ({"with_timeout": "share"}, 20 / 204),
        ({"with_timeout": "share", "sizes": ">1000"}, 0.0),
        # At 100 Gbps 16 us are 200 KB, 160 us the 2 MB of the largest.
        ({"injected_within": "16 us"}, 200 / 204),
        ({"injected_within": "160 us"}, 1.0),
        ({"injected_within": "16 us", "class": "incast"}, 1.0),
        ({"ports": "control_frames"}, 7.0),
        ({"ports": "control_frames", "node": "switch0", "peer": "host1"}, 4.0),
        ({"ports": "control_frames", "peer": "host*"}, 7.0),
        ({"mmus": "dropped_full"}, 7.0),
        ({"mmus": "dropped_full", "node": "leaf0"}, 3.0),
        ({"mmus": "dropped_full", "node": "leaf0", "mmu": 1}, 2.0),
        ({"mmus": "peak_bytes"}, 2000.0),
        ({"mmus": "peak_bytes", "mmu": 0}, 900.0),
        ({"queue": "max", "node": "leaf0", "peer": "host0"}, 1000.0),
        ({"queue": "mean", "node": "leaf0", "peer": "host0"}, 505.0),
        ({"queue": "p95", "node": "leaf0", "peer": "host0"}, 950.0),
        ({"queue": "p99.5", "node": "leaf0", "peer": "host0"}, 1000.0),
        ({"queue": "share>720", "node": "leaf0", "peer": "host0"}, 0.28),
        ({"queue": "share<=720", "peer": "host0"}, 0.72),
        ({"queue": "mean", "peer": "host0", "after": "51 us"}, 755.0),
        ({"queue": "max", "peer": "host1"}, 0.0),
        ({"queue": "mean", "node": "leaf*", "peer": "host*"}, 252.5),
        ({"queue": "mean"}, 252.5),
        ({"data_queue": "mean", "peer": "host0"}, 175.0),
        ({"data_queue": "mean", "node": "leaf0", "after": "3 us"}, 187.5),
        ({"data_queue": "min"}, 0.0),
        ({"data_queue": "share<=0"}, 1 / 6),
        ({"sharing": "mean"}, 56.25),
        ({"sharing": "share>0"}, 5 / 8),
        ({"sharing": "share>0", "node": "leaf*"}, 1 / 4),
        ({"sharing": "p50", "node": "leaf*", "peer": "host*"}, 0.0),
        ({"sharing": "max", "peer": "leaf0"}, 100.0),
        ({"pool": "max"}, 300.0),
        ({"pool": "mean", "node": "leaf0", "mmu": 1}, 8.0),
        ({"pool": "mean", "mmu": 0, "after": "2 us"}, 300.0),
        ({"pauses": "held", "node": "spine*"}, 4.0),
        ({"pauses": "orphans", "node": "spine*", "peer": "leaf*"}, 2.5),
        ({"pauses": "all", "node": "spine0"}, 0.1),
        ({"pauses": "incast"}, 0.9),
        ({"active_flows": "mean"}, 8.0),
        ({"active_flows": "p50"}, 0.0),
        ({"active_flows": "p99"}, 40.0),
        ({"active_flows": "max", "node": "switch0", "port": 0}, 40.0),
        ({"active_flows": "share<=32"}, 0.9),
        ({"active_flows": "share>32"}, 0.1),
        ({"active_flows_distance": "B"}, 0.7),  # at 10: 0.9 against 0.2
        ({"summary": "buffer.p99_bytes"}, 1000.0),
        ({"summary": "load[class=incast].offered_bps"}, 5e9),
        ({"summary": "load[class].offered_bps", "class": "background"}, 4e9),
        ({"scenario": "host.window"}, 100e3),
        ({"scenario": "topology.host_rate"}, 100e9),
        ({"scenario": "workload.0.delay"}, 2.5e-6),
        ({"product": [2, 3, {"summary": "buffer.p99_bytes"}]}, 6000.0),
        ({"quotient": [{"summary": "buffer.p99_bytes", "variant": "B"}, {"summary": "buffer.p99_bytes"}]}, 4.0),
        ({"difference": [1, 0.6]}, 0.4),
        ({"sum": [1, {"product": [2, 2]}]}, 5.0),
    ],
)
def test_values(two: Results, expression: Any, expected: float) -> None:
    assert value(two, expression) == pytest.approx(expected)


def test_flows_that_have_not_finished_count_by_their_age(tmp_path: Path) -> None:
    """Of 200 flows in a run of 40 us five never end; four came at 0, one at 10 us: slowdowns of at least 40 and 30."""
    write_run(tmp_path, "A", [("background", 10, 2.0)] * 200, {0: 1}, sim_time_ps=40_000_000)
    path = tmp_path / "A" / "flows.parquet"
    table = pq.read_table(path, partitioning=None)
    ended = pa.array([True] * 195 + [False] * 5)
    for name in ("slowdown", "finish_rx_ps"):
        column = pc.if_else(ended, table[name], pa.scalar(None, table[name].type))
        table = table.set_column(table.column_names.index(name), name, column)
    arrivals = pa.array([0] * 199 + [10_000_000], pa.uint64())
    pq.write_table(table.set_column(table.column_names.index("arrival_ps"), "arrival_ps", arrivals), path)
    results = write_manifest(tmp_path, [("A", {"variant": "A"})])
    assert value(results, {"slowdown": "p95"}) == 2
    assert value(results, {"slowdown": "p99"}) == 40
    assert value(results, {"slowdown": "mean"}) == pytest.approx((195 * 2 + 4 * 40 + 30) / 200)
    assert value(results, {"fct": "max"}) == pytest.approx(40e-6)
    assert value(results, {"wait": "p99"}) == pytest.approx(39e-6)


SMALL_P99 = {"slowdown": "p99", "sizes": "<=1000"}


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (4, 6, "pass"),
        (None, 5, "pass"),
        (5, None, "pass"),
        (6, 30, "direction"),
        (1.5, 3, "direction"),
        (0.9, 1.3, "fail"),
        (None, 1, "fail"),
        (0.1, 0.5, "fail"),
    ],
)
def test_a_ratio_outside_its_band_may_still_point_the_right_way(
    two: Results, low: float | None, high: float | None, verdict: str
) -> None:
    bounds = {key: bound for key, bound in (("low", low), ("high", high)) if bound is not None}
    sides = {"numerator": {"variant": "B", **SMALL_P99}, "denominator": {"variant": "A", **SMALL_P99}}
    row = judge(two, kind="ratio", **sides, **bounds)
    assert row["verdict"] == verdict
    assert row["measured"] == "5"


def test_each_fills_in_what_a_leaf_lacks(two: Results) -> None:
    row = judge(
        two,
        kind="ratio",
        each={"slowdown": ["mean", "p99"], "sizes": ["<=1000"], "variant": ["B", "HPCC"]},
        numerator={},
        denominator={"variant": "A"},
        low=4,
        high=6,
    )
    assert [check["measured"] for check in row["checks"]] == [pytest.approx(5), None, pytest.approx(5), None]
    assert (row["verdict"], row["coverage"]) == ("part", "2 of 4")
    assert "HPCC" in row["measured"], "what was not run is said"


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        (5, "pass"),
        (7.5, "pass"),
        (7.6, "direction"),
        (3.4, "pass"),
        (3.3, "direction"),
        (24, "direction"),
        (26, "fail"),
    ],
)
def test_up_to_is_the_largest_of_all_within_a_factor_of_one_and_a_half(
    two: Results, times: float, verdict: str
) -> None:
    row = judge(
        two,
        kind="up-to",
        times=times,
        each={"sizes": ["<=1000", ">1000"]},
        numerator={"variant": "B", "slowdown": "mean"},
        denominator={"variant": "A", "slowdown": "mean"},
    )
    assert row["verdict"] == verdict
    assert row["expected"] == f"up to {times:g} times"


def test_up_to_fails_where_nothing_is_larger(two: Results) -> None:
    sides = {"numerator": {"variant": "A", **SMALL_P99}, "denominator": {"variant": "B", **SMALL_P99}}
    assert judge(two, kind="up-to", times=5, **sides)["verdict"] == "fail"


@pytest.mark.parametrize(
    ("expectation", "verdict"),
    [
        ({"kind": "between", "low": 999, "high": 1001}, "pass"),
        ({"kind": "between", "high": 999}, "fail"),
        ({"kind": "approx", "expected": 1100, "tolerance": 0.1}, "pass"),
        ({"kind": "approx", "expected": 1200, "tolerance": 0.1}, "fail"),
        ({"kind": "equals", "expected": 1000.9}, "pass"),
        ({"kind": "equals", "expected": 1002}, "fail"),
    ],
)
def test_numbers_are_compared(two: Results, expectation: dict[str, Any], verdict: str) -> None:
    assert judge(two, variant="A", value={"summary": "buffer.p99_bytes"}, **expectation)["verdict"] == verdict


def test_an_expected_zero_has_to_be_zero(two: Results) -> None:
    assert judge(two, kind="equals", expected=0, value={"difference": [3, 3]})["verdict"] != "fail"
    assert judge(two, kind="equals", expected=0, variant="A", value={"slowdown": "mean"})["verdict"] == "fail"


@pytest.mark.parametrize(
    ("chains", "more", "verdict"),
    [
        ([["A", "B"]], {}, "pass"),
        ([["B", "A"]], {}, "fail"),
        ([["A", "HPCC", "B"]], {}, "part"),
        ([["A", "HPCC"]], {}, "not-run"),
        ([["A", "B"], ["B", "A"]], {}, "fail"),
        ([["A", "B"]], {"high": 400}, "direction"),
        ([["A", "B"]], {"high": 500}, "pass"),
        ([["A", "A"]], {}, "fail"),
        ([["A", "A"]], {"slack": 0.01}, "pass"),
    ],
)
def test_orderings(two: Results, chains: list[list[str]], more: dict[str, Any], verdict: str) -> None:
    assert judge(two, kind="ordering", value=SMALL_P99, chains=chains, **more)["verdict"] == verdict


def test_many_orders_are_told_by_the_first_and_the_last(two: Results) -> None:
    holds, fails = [["A", "B"]], [["B", "A"]]
    row = judge(two, kind="ordering", value=SMALL_P99, chains=8 * holds)
    assert row["measured"].count("A ") == 8
    row = judge(two, kind="ordering", value=SMALL_P99, chains=9 * holds)
    assert row["measured"].count("A ") == 2
    assert row["measured"].endswith("; all 9 hold")
    assert len(row["checks"]) == 9
    row = judge(two, kind="ordering", value=SMALL_P99, chains=9 * holds + fails)
    assert row["verdict"] == "fail"
    assert row["measured"].count("A ") == 10, "one that fails is told"


def test_what_only_the_scenario_says_is_a_fact(two: Results) -> None:
    window = {"scenario": "host.window"}
    assert judge(two, kind="equals", variant="A", value=window, expected=100e3)["verdict"] == "fact"
    assert judge(two, kind="equals", variant="A", value=window, expected=99e3)["verdict"] == "fail"
    mixed = {"product": [window, {"summary": "buffer.p99_bytes"}]}
    assert judge(two, kind="equals", variant="A", value=mixed, expected=1e8)["verdict"] == "pass"
    assert judge(two, kind="fact")["verdict"] == "fact"


def test_too_few_flows_are_no_measurement(two: Results) -> None:
    for leaf in (
        {"slowdown": "p99", "sizes": ">1000"},
        {"slowdown": "p95", "sizes": ">1000"},
        {"slowdown": "mean", "class": "elephants"},
        {"summary": "queueing_delay.p99_ns"},
        {"queue": "p99.99", "peer": "host0"},
        {"queue": "share>1", "peer": "host0", "after": "1 s"},
        {"pool": "p99"},
    ):
        row = judge(two, kind="between", variant="A", value=leaf, high=1)
        assert row["verdict"] == "not-run"
        assert "too little data" in row["measured"]


def test_claims_are_judged_at_their_scales(two: Results) -> None:
    two.manifest.scale = "smoke"
    check = {"kind": "between", "variant": "A", "value": {"slowdown": "mean"}}
    assert judge(two, **check)["verdict"] == "not-run"
    assert judge(two, **check, scales=["smoke"])["verdict"] == "pass"
    assert judge(two, kind="not-run", reason="needs a testbed") | {"checks": []} == {
        "claim": "x.1",
        "metric": "m",
        "says": "s",
        "expected": "s",
        "measured": "needs a testbed",
        "verdict": "not-run",
        "coverage": "",
        "without": "",
        "settling": "",
        "seeds_to_decide": None,
        "configured": "",
        "needs": "",
        "amended": [],
        "note": "",
        "checks": [],
    }


@pytest.fixture
def sweep(tmp_path: Path) -> Results:
    """Median slowdown at N = 8, 16, 32, 64, 128: 2, 2, 3, 4, 9."""
    runs = []
    for n, slowdown in zip((8, 16, 32, 64, 128), (2.0, 2.0, 3.0, 4.0, 9.0), strict=True):
        write_run(tmp_path, f"A-{n}", [("mice", 1000, slowdown)] * 3, {n: 1})
        runs.append((f"A-{n}", {"variant": "A", "workload.0.count": n}))
    return write_manifest(tmp_path, runs)


@pytest.mark.parametrize(
    ("more", "verdict", "at"),
    [
        ({"threshold": 3.5, "low": 32, "high": 64}, "pass", 64),
        ({"threshold": 3.5, "low": 16, "high": 128}, "pass", 64),
        ({"threshold": 3.5, "low": 8, "high": 32}, "direction", 64),
        ({"threshold": 3.5, "low": 64, "high": 128}, "direction", 64),
        ({"threshold": 10, "low": 8, "high": 128}, "fail", None),
        ({"threshold": 3.5, "low": 32, "high": 256}, "direction", 64),
        ({"relative_to": 8, "factor": 2, "low": 32, "high": 64}, "pass", 64),
        ({"relative_to": 8, "factor": 1.5, "low": 32, "high": 64}, "direction", 32),
        ({"relative_to": 4, "factor": 2, "low": 32, "high": 64}, "not-run", None),
    ],
)
def test_knees(sweep: Results, more: dict[str, Any], verdict: str, at: float | None) -> None:
    leaf = {"slowdown": "p50", "class": "mice", "variant": "A"}
    row = judge(sweep, kind="knee", along="workload.0.count", value=leaf, **more)
    assert row["verdict"] == verdict
    assert row["checks"][0]["measured"] == at


@pytest.mark.parametrize(
    ("more", "verdict", "at"),
    [
        ({"threshold": 4, "expected": "100 KB"}, "pass", 100e3),
        ({"threshold": 4, "low": "80 KB", "high": "100 KB"}, "pass", 100e3),
        ({"factor": 4, "relative_to": "80 KB", "low": "100 KB", "high": "1 MB"}, "pass", 1e6),
    ],
)
def test_a_sweep_of_quantities_goes_by_what_they_amount_to(
    tmp_path: Path, more: dict[str, Any], verdict: str, at: float
) -> None:
    """Median slowdown at 80 KB, 100 KB, 1 MB: 2, 4, 9. As text their order is another."""
    runs = []
    for i, (step, slowdown) in enumerate((("1 MB", 9.0), ("100 KB", 4.0), ("80 KB", 2.0))):
        write_run(tmp_path, str(i), [("mice", 1000, slowdown)] * 3, {1: 1})
        runs.append((str(i), {"variant": "A", "switch.ecn.kmax": step}))
    swept = write_manifest(tmp_path, runs)
    leaf = {"slowdown": "p50", "class": "mice", "variant": "A"}
    row = judge(swept, kind="knee", along="switch.ecn.kmax", value=leaf, **more)
    assert (row["verdict"], row["checks"][0]["measured"]) == (verdict, at)
    bounded = judge(swept, kind="between", value=leaf, where={"switch.ecn.kmax": {"min": "90 KB", "max": "100 KB"}})
    assert [check["measured"] for check in bounded["checks"]] == [4]


@pytest.mark.parametrize(
    ("more", "verdict", "at"),
    [
        ({"factor": 2, "expected": 64}, "pass", 64),
        ({"factor": 2, "expected": 90}, "pass", 64),
        ({"factor": 2, "expected": 100}, "fail", 64),
        ({"factor": 2, "expected": 40}, "fail", 64),
        ({"factor": 2, "expected": 40, "order": ["A", "B"]}, "direction", 64),
        ({"factor": 2, "expected": 40, "order": ["B", "A"]}, "fail", 64),
        ({"factor": 5, "expected": 128}, "not-run", None),
        ({"factor": 5, "expected": 64}, "fail", None),
        ({"factor": 1, "expected": 8}, "fail", 8),
    ],
)
def test_a_knee_is_where_the_value_first_rises_so_far(
    tmp_path: Path, more: dict[str, Any], verdict: str, at: float | None
) -> None:
    """Median slowdown at N = 8, 16, 32, 64, 128: A 2, 2, 3, 4, 9; B 2, 2, 2, 3, 4."""
    runs = []
    for n, a, b in zip((8, 16, 32, 64, 128), (2.0, 2.0, 3.0, 4.0, 9.0), (2.0, 2.0, 2.0, 3.0, 4.0), strict=True):
        for variant, slowdown in (("A", a), ("B", b)):
            write_run(tmp_path, f"{variant}-{n}", [("mice", 1000, slowdown)] * 3, {n: 1})
            runs.append((f"{variant}-{n}", {"variant": variant, "workload.0.count": n}))
    leaf = {"slowdown": "p50", "class": "mice"}
    knee = {"kind": "knee", "variant": "A", "along": "workload.0.count", "relative_to": 8}
    row = judge(write_manifest(tmp_path, runs), **knee, value=leaf, **more)
    assert row["verdict"] == verdict
    assert row["checks"][0]["measured"] == at


def test_many_numbers_are_told_by_the_least_and_the_most(two: Results) -> None:
    each = {"sizes": ["<=1000", ">1000", ""], "slowdown": ["mean", "p50", "max"]}
    row = judge(two, kind="between", variant="A", value={}, each=each, high=50.2)
    assert row["measured"] == "from 3 (A, >1000, mean) to 100 (A, <=1000, max); 6 of 9 hold"


def test_checks_are_made_at_every_point_that_where_lets_through(sweep: Results) -> None:
    check = {"kind": "between", "variant": "A", "value": {"slowdown": "p50", "class": "mice"}}
    assert judge(sweep, **check, high=4)["verdict"] == "fail"
    bounded = judge(sweep, **check, high=4, where={"workload.0.count": {"min": 16, "max": 64}})
    assert bounded["verdict"] == "pass"
    assert [item["measured"] for item in bounded["checks"]] == [2, 3, 4]
    assert judge(sweep, **check, high=2, where={"workload.0.count": 16})["verdict"] == "pass"


@pytest.fixture
def seeds(tmp_path: Path) -> Results:
    """Loads 0.5 and 0.9, seeds 1 to 3. A: mean slowdown 2, 3, 4 and 4, 6, 11; B: twice that of A at the seed before."""
    values = {"A": {0.5: (2.0, 3.0, 4.0), 0.9: (4.0, 6.0, 11.0)}, "B": {0.5: (8.0, 4.0, 6.0), 0.9: (22.0, 8.0, 12.0)}}
    runs: list[tuple[str, dict[str, Any]]] = []
    for variant, load, seed in itertools.product(values, (0.5, 0.9), (1, 2, 3)):
        label = f"{variant}-{load}-{seed}"
        # 200 flows, but for one run that has 50.
        flows = 50 if label == "B-0.9-2" else 200
        write_run(tmp_path, label, [("background", 10, values[variant][load][seed - 1])] * flows, {seed: 1})
        runs.append((label, {"variant": variant, "seed": seed, "workload.0.load": load}))
    return write_manifest(tmp_path, runs, fixed="")


MEAN = {"slowdown": "mean"}


def test_seeds_are_judged_together(seeds: Results) -> None:
    """B over A: 18 / 9 and 42 / 21 by the means; without a seed 10 / 7, 14 / 6, 12 / 5 and 20 / 17, 34 / 15, 30 / 10.

    Their logarithms stray by 0.3369 and 0.5548; of 3 values Student's t is 4.303.
    """
    ratio = {"kind": "ratio", "numerator": {"variant": "B", **MEAN}, "denominator": {"variant": "A", **MEAN}}
    row = judge(seeds, **ratio, low=1.9, high=2.1)
    assert row["measured"] == "load 0.5: 2 (0.469 to 8.52); load 0.9: 2 (0.184 to 21.8)"
    assert row["verdict"] == "undecided"
    (light, _) = row["checks"]
    assert (light["measured"], light["low"], light["high"]) == pytest.approx((2, 0.46937, 8.5220), rel=1e-4)
    assert judge(seeds, **ratio, low=0.1, high=30)["verdict"] == "pass"
    assert judge(seeds, **ratio, low=30)["verdict"] == "fail", "no effect is not excluded"
    everything = judge(seeds, **ratio, over=["workload.0.load"])
    assert [check["measured"] for check in everything["checks"]] == [pytest.approx(2)]
    two = judge(seeds, **ratio, where={"seed": {"min": 2}, "workload.0.load": 0.5})
    assert [check["measured"] for check in two["checks"]] == [pytest.approx(10 / 7)]
    alone = judge(seeds, **ratio, where={"seed": 1, "workload.0.load": 0.5}, low=3)
    assert (alone["measured"], alone["verdict"]) == ("load 0.5: 4", "undecided"), "one seed has no interval"
    seeds.manifest.seeds = {"fixed": "for this test"}
    assert judge(seeds, **ratio, low=1.9, high=2.1)["verdict"] == "pass"


def test_all_kinds_have_intervals(seeds: Results) -> None:
    light = {"where": {"workload.0.load": 0.5}}
    order = judge(seeds, kind="ordering", value=MEAN, chains=[["A", "B"]], **light)
    assert (order["measured"], order["verdict"]) == ("load 0.5: A 3 (1.3 to 6.93), B 6 (2.6 to 13.9)", "undecided")
    wide = judge(seeds, kind="ordering", value=MEAN, chains=[["A", "B"]], slack=9, **light)
    assert wide["verdict"] == "pass"
    assert judge(seeds, kind="ordering", value=MEAN, chains=[["B", "A"]], slack=-0.95, **light)["verdict"] == "fail"
    lighter = {"workload.0.load": 0.5}
    most = {"numerator": {"variant": "A", **MEAN}, "denominator": {"variant": "A", "at": lighter, **MEAN}}
    row = judge(seeds, kind="up-to", times=2, **most)
    assert row["measured"].startswith("load 0.9: at most 2.33 (")
    close = {"kind": "approx", "variant": "A", "value": MEAN, "expected": 3, **light}
    assert judge(seeds, **close, tolerance=0.01)["verdict"] == "undecided"
    assert judge(seeds, **close, tolerance=2)["verdict"] == "pass"
    knee = {"kind": "knee", "variant": "A", "value": MEAN, "along": "workload.0.load", "low": 0.5, "high": 0.9}
    # 3, which is 1.3 to 6.93, and 7, which is 2.27 to 21.6.
    for threshold, verdict in ((2, "undecided"), (6, "undecided"), (30, "fail"), (1, "direction")):
        row = judge(seeds, **knee, threshold=threshold)
        assert (row["verdict"], threshold) == (verdict, threshold)
    assert judge(seeds, **knee, threshold=6)["measured"].startswith("reaches 6 at 0.9 (0.5 to inf), 0.5 is still below")


def test_a_spread_is_the_deviation_over_seeds(seeds: Results) -> None:
    """Of A 2, 3 and 4 stray by 1, 4, 6 and 11 by the root of 13; of B, twice A, by twice as much."""
    stray = {"slowdown": "mean", "spread": "deviation"}
    (light, heavy) = judge(seeds, kind="between", variant="A", value=stray, high=1.5)["checks"]
    assert (light["measured"], heavy["measured"]) == (pytest.approx(1), pytest.approx(13**0.5))
    relative = {"numerator": {"variant": "A", **stray}, "denominator": {"variant": "A", **MEAN}}
    (light, heavy) = judge(seeds, kind="ratio", **relative, high=0.4)["checks"]
    assert (light["measured"], heavy["measured"]) == (pytest.approx(1 / 3), pytest.approx(13**0.5 / 7))
    alone = judge(seeds, kind="between", variant="A", value=stray, where={"seed": 1}, high=1)
    assert alone["verdict"] == "not-run"
    assert "too little data: one point has no deviation" in alone["measured"]


def test_a_share_of_runs_is_counted(seeds: Results) -> None:
    """A's means are 2, 3 and 4 at a load of 0.5, and 4, 6 and 11 at 0.9."""
    most = {"kind": "runs", "variant": "A", "value": MEAN, "high": 5, "where": {"workload.0.load": 0.9}}
    row = judge(seeds, **most, at_least=0.9)
    assert (row["expected"], row["measured"]) == (
        "at most 5, in at least 0.9 of runs",
        "load 0.9: in 1 of 3 runs (0.0084 to 0.906)",
    )
    assert row["verdict"] == "undecided"
    assert judge(seeds, **most, at_least=0.95)["verdict"] == "fail"
    assert judge(seeds, **most, at_most=0.95)["verdict"] == "pass"
    both = {"kind": "runs", "variant": "A", "value": MEAN, "over": ["workload.0.load"], "low": 3, "high": 6}
    assert judge(seeds, **both, at_least=0.1)["measured"] == "in 4 of 6 runs (0.223 to 0.957)"
    next(run for run in seeds.runs if run.label == "A-0.9-3").entry.complete = False
    assert judge(seeds, **most, at_most=1)["measured"] == "not run: A"
    seeds.manifest.seeds = {"fixed": "for this test"}
    assert judge(seeds, **both | {"where": {"workload.0.load": 0.5}}, at_least=0.6)["verdict"] == "pass"


def test_a_count_that_is_above_zero_once_is_not_zero(seeds: Results) -> None:
    """No interval over seeds is needed for that: one seed with a drop contradicts "drops nothing"."""
    for run in seeds.runs:
        run.summary["drops"] = {"buffer": 7 if run.label == "A-0.5-2" else 0}
    never = {"kind": "equals", "value": {"summary": "drops.buffer"}, "expected": 0}
    row = judge(seeds, **never, each={"variant": ["A", "B"]})
    assert [check["verdict"] for check in row["checks"]] == ["fail", "pass", "pass", "pass"]
    assert row["measured"].startswith("load 0.5, A: 2.33 (0 to 12.4), above 0 in 1 of 3 seeds; load 0.5, B: 0")
    assert judge(seeds, **never, variant="B")["verdict"] == "pass"
    at_most = {"kind": "between", "variant": "A", "value": {"summary": "drops.buffer"}}
    light = {"workload.0.load": 0.5}
    assert judge(seeds, **at_most, high=0, where=light)["verdict"] == "fail"
    assert judge(seeds, **at_most, high=5, where=light)["verdict"] == "undecided"


def test_what_has_happened_is_settled(seeds: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even in a network that drains: a longer run has no fewer drops."""
    draining = [Course({}, 0.5, 0.0, np.ones(2))] * 3
    monkeypatch.setattr(MeasuredRuns, "courses", lambda *_: draining)
    for run in seeds.runs:
        run.summary["drops"] = {"buffer": 7 if run.label == "A-0.5-2" else 0}
    drops = {"value": {"summary": "drops.buffer"}}
    never = {"kind": "equals", **drops, "expected": 0}
    assert judge(seeds, **never, variant="A")["verdict"] == "fail"
    assert judge(seeds, **never, variant="B")["verdict"] == "unsettled"
    dropped = {"kind": "between", **drops, "variant": "A"}
    assert judge(seeds, **dropped, low=100)["verdict"] == "unsettled"
    for run in seeds.runs:
        run.summary["drops"] = {"buffer": 700}
    assert judge(seeds, **dropped, low=100)["verdict"] == "pass"
    assert judge(seeds, **dropped, low=100, high=1000)["verdict"] == "unsettled", "a longer run has more"
    assert judge(seeds, **dropped, low=1000)["verdict"] == "unsettled"
    for run in seeds.runs:
        run.summary["loss"] = {"share": 0.5}
    share = {"kind": "between", "value": {"summary": "loss.share"}, "variant": "A"}
    assert judge(seeds, **share, low=0.1)["verdict"] == "unsettled", "a share may fall again"


def test_a_knee_is_where_it_is_first(seeds: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the value has settled at 0.9 does not matter, if it is surely there at 0.5."""
    drained = {0.5: 0.0, 0.9: 0.5}

    def courses(_: MeasuredRuns, leaf: Any, points: Sequence[Point]) -> list[Course]:
        return [Course({}, drained[dict(points[0])["workload.0.load"]], 0.0, np.ones(2))] * 3

    monkeypatch.setattr(MeasuredRuns, "courses", courses)
    knee = {"kind": "knee", "variant": "A", "value": MEAN, "along": "workload.0.load"}
    assert judge(seeds, **knee, threshold=1, expected=0.5)["verdict"] == "fail", "the sweep begins there"
    assert judge(seeds, **knee, threshold=6, expected=0.5)["verdict"] == "unsettled"
    assert judge(seeds, **knee, threshold=1, low=0.4, high=0.9)["verdict"] == "unsettled", "it has to stay there"


def test_what_holds_without_what_is_credited_is_vacuous(two: Results) -> None:
    """A's buffer is 1000 B, B's 4000 B."""
    claim = {"kind": "between", "variant": "A", "value": {"summary": "buffer.p99_bytes"}}
    credited = {"without": {"A": "B"}}
    assert judge(two, **claim, high=9000)["verdict"] == "pass"
    row = judge(two, **claim, **credited, high=9000)
    assert (row["verdict"], row["without"]) == ("vacuous", "with B for A: pass, 4,000")
    row = judge(two, **claim, **credited, high=2000)
    assert (row["verdict"], row["without"]) == ("pass", "with B for A: fail, 4,000")
    two.manifest.without = {"A": "B"}
    assert judge(two, **claim, high=9000)["verdict"] == "vacuous", "as the file says of all"
    assert judge(two, **claim, high=9000, without={})["verdict"] == "pass"
    assert judge(two, **{**claim, "variant": "B"}, high=9000)["verdict"] == "pass", "not about A"
    row = judge(two, **claim, without={"A": "C"}, high=2000)
    assert (row["verdict"], row["without"]) == ("part", "with C for A: not-run, not run: C")
    order = judge(two, kind="ordering", value={"summary": "buffer.p99_bytes"}, chains=[["A", "B"]])
    assert order["verdict"] == "pass"


def test_a_claim_is_judged_as_written_and_as_configured(two: Results) -> None:
    two.manifest.configured = {"A": "B"}
    check = {"kind": "between", "variant": "A", "value": {"slowdown": "mean", "sizes": "<=1000"}, "low": 100}
    row = judge(two, **check)
    assert (row["verdict"], row["configured"]) == ("fail", "with B for A: pass, 252")
    assert judge(two, **check | {"variant": "B"})["configured"] == "", "it is B already"
    assert judge(two, kind="fact")["configured"] == ""


def test_a_claim_that_holds_is_judged_without_each_component(two: Results) -> None:
    """B's mean is 252.5, five times A's. So a claim about less than 100 needs what A has and B lacks."""
    two.manifest.without = {"A": "B"}
    two.manifest.components = {"A": {"one": "B", "another": "A", "a third": "C"}}
    check = {"kind": "between", "variant": "A", "value": {"slowdown": "mean", "sizes": "<=1000"}, "high": 100}
    row = judge(two, **check)
    assert (row["verdict"], row["needs"]) == ("pass", "needs one; holds without another"), "C was not run"
    assert judge(two, **check | {"high": 1})["needs"] == "", "it does not hold"
    two.manifest.components = {"A": {"one": "B"}}
    assert judge(two, **check | {"high": 100, "low": 40})["needs"] == "needs one", "1 would not hold"
    assert judge(two, **check | {"without": {}})["needs"] == "", "it credits nothing"


def test_a_claim_of_which_a_part_could_be_judged_is_no_pass(two: Results) -> None:
    row = judge(
        two, kind="between", value={"summary": "buffer.p99_bytes"}, each={"variant": ["A", "B", "C"]}, high=5000
    )
    assert (row["verdict"], row["coverage"]) == ("part", "2 of 3")
    chains = [["A", "B"], ["A", "C"]]
    row = judge(two, kind="ordering", value={"summary": "buffer.p99_bytes"}, chains=chains)
    assert (row["verdict"], row["coverage"]) == ("part", "1 of 2")


def test_claims_that_restate_the_set_up_or_another_are_told_apart(two: Results) -> None:
    claim = {"kind": "between", "variant": "A", "value": {"summary": "buffer.p99_bytes"}, "high": 2000}
    assert judge(two, **claim, fact="as asked")["verdict"] == "fact"
    assert judge(two, **{**claim, "high": 10}, fact="as asked")["verdict"] == "fail"
    row = judge(two, kind="refers", to="bfc-fig9.1")
    assert (row["verdict"], row["measured"]) == ("refers", "see bfc-fig9.1")
    assert judge(two, **claim, amended=["it was 1000"])["amended"] == ["it was 1000"]


def test_what_is_missing_at_one_seed_is_not_judged(seeds: Results) -> None:
    heavy = {"where": {"workload.0.load": 0.9}}
    row = judge(seeds, kind="between", variant="B", value={"slowdown": "p99"}, **heavy)
    assert row["verdict"] == "not-run"
    assert row["measured"] == "too little data: p99 of 50 flows, seed 2"
    next(run for run in seeds.runs if run.label == "A-0.9-3").entry.complete = False
    row = judge(seeds, kind="between", variant="A", value=MEAN)
    assert [(check["at"], check["measured"]) for check in row["checks"]] == [("load 0.5", 3), ("load 0.9", None)]
    assert row["measured"] == "load 0.5: 3 (1.3 to 6.93); not run: A"


def test_panels_draw_means_over_seeds(seeds: Results) -> None:
    seeds.manifest.figure = {"panels": [{"label": "all", "value": {"slowdown": "mean"}}]}
    (panel,) = panels.read(seeds)
    drawn = [(run["variant"], run["point"], run["value"]) for run in panel["runs"]]
    points = {load: {"workload.0.load": load} for load in (0.5, 0.9)}
    assert drawn == [("A", points[0.5], 3), ("A", points[0.9], 7), ("B", points[0.5], 6), ("B", points[0.9], 14)]


def test_seeds_are_swept(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    """Each seed is a run with a directory and traffic of its own; fixing the seed leaves one that is judged alone."""
    scenario = tmp_path / "seeds.toml"
    scenario.write_text(
        f'extends = "{smoke}"\n[seeds]\ncount = 3\n[[expect]]\nclaim = "mine.1"\nkind = "between"\n'
        'variant = "bfc"\nscales = ["", "quick", "smoke"]\nvalue = { summary = "flows.counted" }\n'
        "low = 1\n"
    )
    done = cli("run", scenario, "--out", "here")
    assert done.returncode == 0, done.stderr
    place = tmp_path / "here"
    digests = {run["digest"] for run in json.loads((place / "manifest.json").read_text())["runs"]}
    assert len(digests) == 3
    assert {path.parent.name for path in place.glob("*/flows.parquet")} == {f"bfc.seed={seed}" for seed in (1, 2, 3)}
    (row,) = json.loads((place / "claims.json").read_text())
    (check,) = row["checks"]
    assert check["low"] < check["measured"] < check["high"]
    assert row["verdict"] == "pass"
    done = cli("run", scenario, "--out", "one", "--set", "seed=2")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "one" / "claims.json").read_text())
    assert (row["checks"][0]["low"], row["verdict"]) == (None, "undecided")


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "guess"},
        {"kind": "between", "value": {"slowdowns": "p99"}},
        {"kind": "between", "value": {"slowdown": "p99", "size": "<=3000"}},
        {"kind": "between", "value": {"slowdown": "p99", "sizes": "3000"}},
        {"kind": "between", "value": {"slowdown": "worst"}},
        {"kind": "between", "value": {"active_flows": "share=32"}},
        {"kind": "between", "value": {"scenario": "topology"}},
        {"kind": "between", "value": {"slowdown": "mean", "wait": "mean"}},
        {"kind": "between", "value": {"ports": "peer"}},
        {"kind": "between", "value": {"mmus": "node"}},
        {"kind": "between", "value": {"mmus": "dropped_full", "node": "leaf7"}},
        {"kind": "between", "value": {"queue": "mean", "peer": "host9"}},
        {"kind": "between", "value": {"queue": "mean", "after": 3, "mmu": 1}},
        {"kind": "between", "value": {"pool": "share=3"}},
        {"kind": "between", "value": {"ports": "control_frames", "node": "host7"}},
    ],
)
def test_what_a_run_cannot_answer_is_not_judged(two: Results, broken: dict[str, Any]) -> None:
    """The reader of scenarios refuses most of these; whatever comes through ends no finished run."""
    row = judge(two, variant="A", **broken)
    assert row["verdict"] == "not-run", row
    assert row["measured"].startswith("nothing such: "), row


def test_a_value_may_be_one_at_another_point(tmp_path: Path) -> None:
    runs: list[tuple[str, dict[str, Any]]] = []
    for i, (variant, load) in enumerate(itertools.product("AB", (0.4, 0.8))):
        write_run(tmp_path, str(i), [("background", 10, float(i + 1))], {}, buffer={"p99_bytes": i})
        runs.append((str(i), {"variant": variant, "workload.0.load": load}))
    # A: 1 and 2, B: 3 and 4: B's advantage goes from 3 at 40 % to 2 at 80 %.
    swept = write_manifest(tmp_path, runs)
    at = {"at": {"workload.0.load": 0.4}}
    sides = {
        "numerator": {"quotient": [{"variant": "B", **at}, {"variant": "A", **at}]},
        "denominator": {"quotient": [{"variant": "B"}, {"variant": "A"}]},
    }
    advantage = {"kind": "ratio", "each": {"slowdown": ["mean"]}, "where": {"workload.0.load": 0.8}, **sides}
    assert [check["measured"] for check in judge(swept, **advantage)["checks"]] == [1.5]
    sides["numerator"] = {"variant": "B", "at": {"workload.0.load": 0.6}}
    assert judge(swept, **{**advantage, **sides})["verdict"] == "not-run"


def test_a_run_with_another_load_than_asked_fails_its_claims(two: Results) -> None:
    load = {"class": "background", "asked": 0.85, "realised": 0.872, "sampling_error": 0.001, "as_asked": True}
    check = {"kind": "between", "value": {"slowdown": "mean"}}
    two.runs[0].summary["load"] = [load]
    assert judge(two, **check, variant="A")["verdict"] == "pass"
    two.runs[0].summary["load"] = [load | {"as_asked": False}]
    row = judge(two, **check, variant="A")
    assert row["verdict"] == "fail"
    assert row["measured"] == "A: the load of background is 0.872 where 0.85 was asked, which is not chance"
    assert judge(two, **check, variant="B")["verdict"] == "pass", "other runs are judged"
    sides = {"numerator": {"variant": "B", **SMALL_P99}, "denominator": {"variant": "A", **SMALL_P99}}
    assert judge(two, kind="ratio", **sides, low=1)["verdict"] == "fail"
    assert judge(two, kind="ordering", value=SMALL_P99, chains=[["A", "B"]])["verdict"] == "fail"
    window = {"scenario": "host.window"}
    assert judge(two, kind="equals", variant="A", value=window, expected=100e3)["verdict"] == "fact"
    two.manifest.figure = {"panels": [{"label": "small", "value": SMALL_P99}]}
    assert [run["value"] for run in panels.read(two)[0]["runs"]] == [99.0, 495.0], "it is drawn all the same"


def test_panels_leave_out_what_is_there_for_what_it_lacks(two: Results) -> None:
    """Unless a claim is about it, or something was published of it."""

    def drawn() -> list[str]:
        return [run["variant"] for run in panels.read(two)[0]["runs"]]

    two.manifest.figure = {"panels": [{"label": "small", "value": SMALL_P99}]}
    one = {"claim": "x", "kind": "equals", "variant": "A", "value": SMALL_P99, "expected": 99}
    two.manifest.expect = [{**one, "without": {"A": "B"}}]
    assert drawn() == ["A"]
    two.manifest.figure["published"] = [{"panel": "small", "variant": "B", "value": 400}]
    assert drawn() == ["A", "B"]
    del two.manifest.figure["published"]
    two.manifest.expect.append({**one, "variant": "B"})
    assert drawn() == ["A", "B"]
    two.manifest.expect = [one]
    two.manifest.without = {"A": "B"}
    assert drawn() == ["A"]


def test_panels_have_a_value_for_each_run(two: Results) -> None:
    assert panels.read(two) == []
    two.manifest.figure = {
        "panels": [
            {"label": "small", "value": {"slowdown": "p99", "sizes": "<=1000"}},
            {"label": "incast", "value": {"slowdown": "mean", "class": "incast"}},
            {"label": "KB", "value": {"product": [1e-3, {"summary": "buffer.p99_bytes"}]}},
        ]
    }
    drawn = {panel["label"]: [run["value"] for run in panel["runs"]] for panel in panels.read(two)}
    assert drawn == {"small": [99.0, 495.0], "incast": [9.0, None], "KB": [1.0, 4.0]}
    assert panels.read(two)[0]["runs"][1] == {
        "variant": "B",
        "point": {},
        **dict.fromkeys(("value", "low", "high"), 495.0),
    }


def test_incomplete_runs_judge_nothing(two: Results) -> None:
    for run in two.runs:
        run.entry.complete = False
    assert judge(two, kind="between", variant="A", value={"slowdown": "mean"})["verdict"] == "not-run"


def test_percentiles_are_nearest_ranks() -> None:
    assert [rank_of(50, n) for n in (1, 2, 3, 4)] == [0, 0, 1, 1]
    assert rank_of(99, 100) == 98
    assert rank_of(99, 101) == 99
    assert rank_of(95, 20) == 18
    assert rank_of(Fraction("99.99"), 10_000) == 9998
    assert rank_of(Fraction("99.99"), 10_001) == 9999


def test_experiments_are_found_by_figure_and_by_paper() -> None:
    everything = experiments.known()
    assert "bfc-fig9" in everything
    assert experiments.find("fig9") == experiments.find("bfc-fig9") == {"bfc-fig9": everything["bfc-fig9"]}
    assert set(experiments.find("all")) == {name for name in everything if not is_unclaimed(name)}
    assert list(experiments.find("all"))[: len(experiments.find("bfc"))] == list(experiments.find("bfc"))
    names = list(experiments.find("bfc"))
    assert names.index("bfc-fig9") < names.index("bfc-fig10"), "in order of number"
    for figure in ("fig10", "fig15"):
        assert list(experiments.find(figure)) == [f"bfc-{figure}"], "short names stay what they were"
    assert list(experiments.find("fig6")) == ["flowsail-fig6"]
    assert list(experiments.find("fig5")) == ["bcc-fig5"]
    stems = ["as-printed", "fig2a", "fig2b", "fig3", "fig10", "sketch"]
    assert sorted(map(Path, reversed(stems)), key=experiments.in_order) == list(map(Path, stems))


def is_unclaimed(name: str) -> bool:
    return experiments.paper_of(name) in experiments.UNCLAIMED


# Those that only compute are run and judged at quick scale in `test_compute.py`.
PUBLISHED = [name for name in experiments.known() if not is_unclaimed(name) and "compute" not in written(name)]

LARGE = {
    *(
        f"bfc-{name}"
        for name in (
            "ablation",
            "fig9",
            "fig10",
            "fig11",
            "fig12",
            "fig13",
            "fig14",
            "fig16",
            "fig17",
            "fig19",
            "fig20",
            "fig22",
            "fig23",
            "fig24",
            "fig26",
            "fig28",
            "fig29",
            "flow-id",
            "lossless",
            "partial",
            "single-packets",
            "talk-fig2",
            "talk-fig3",
            "talk-fig5",
            "tofino2",
        )
    ),
    *("ai-htsim", "ai-moe", "ai-shared"),
    *("deadlock-clos", "deadlock-elided", "deadlock-five", "deadlock-nine", "fidelity-conventions"),
    *(f"flowsail-{name}" for name in ("family", "fig11", "fig12", "fig13", "fig18", "losses", "members")),
}
"""Those that simulate more than 7 million packet-hops with one seed at smoke scale."""

JOBS = {"ai-placement"}
"""Those whose jobs have so many operations that one takes as long as ten others. `make test-long` has them."""


def that_show_something_new() -> Iterator[str]:
    """Experiments whose figures have a value of a kind that none before has, in the order of their names."""
    shown: set[str] = set()
    for name in sorted({*PUBLISHED} - LARGE - JOBS):
        kinds = {key for panel in written(name).get("figure", {}).get("panels", []) for key in panel["value"]}
        if not kinds <= shown:
            shown |= kinds
            yield name


SHOWN = set(that_show_something_new())


@pytest.fixture
def first_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a page's figures, all of which are made, the first is painted: its panels, where it has any.

    The kinds of the others are painted from `results` and from a sweep.
    """
    paint, painted = Figure.savefig, []

    def once(figure: Figure, place: Path, **style: Any) -> None:
        if not painted:
            painted.append(place)
            paint(figure, place, **style)

    monkeypatch.setattr(Figure, "savefig", once)


@pytest.fixture(scope="module")
def made(shared: Path) -> Path:
    """Runs of all published experiments, several of which share some."""
    return shared / "published"


@pytest.fixture
def alike_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run found in a store stands for that of any seed."""
    monkeypatch.setattr(making, "key_of", lambda scenario: store.key_of({**scenario, "seed": 1}))


def test_those_that_are_large_are_named() -> None:
    def packet_hops(name: str) -> float:
        once = Experiment(experiments.known()[name], scale="smoke").with_(seeds=1)
        return sum(json.loads(_core.estimate(json.dumps(one)))["packet_hops"] for one in once.scenarios.values())

    assert {name for name in PUBLISHED if packet_hops(name) > 7e6} == LARGE


@pytest.mark.usefixtures("first_painted", "alike_seeds")
@pytest.mark.parametrize("name", sorted({*PUBLISHED} - LARGE - JOBS))
def test_every_published_expectation_can_be_judged(name: str, made: Path, tmp_path: Path) -> None:
    """At smoke scale, so what comes out means nothing; but every value has to be there to be read.

    One seed is simulated, and the others have its results. A page is made of those that show something new. `make
    test-long` simulates all seeds of all experiments, and makes all their pages.
    """
    experiment = Experiment(experiments.known()[name], scale="smoke")
    experiment.with_(seeds=1).simulate(tmp_path / "once", store=made)
    can_be_judged(experiment, tmp_path / "all", made, page=name in SHOWN)


@pytest.mark.long
@pytest.mark.usefixtures("first_painted")
@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_expectation_can_be_judged_with_seeds_of_its_own(name: str, made: Path, tmp_path: Path) -> None:
    can_be_judged(Experiment(experiments.known()[name], scale="smoke"), tmp_path / "all", made, page=True)


def can_be_judged(experiment: Experiment, place: Path, made: Path, *, page: bool) -> None:
    done = experiment.simulate(place, store=made)
    assert not done.interrupted
    if page:
        done.report()
    expect = experiment.plan.expect
    done.manifest.scale = "quick"
    rows = claims.evaluate(expect, done)
    assert [row["claim"] for row in rows] == [item["claim"] for item in expect]
    assert len({row["claim"] for row in rows}) == len(rows) > 0
    missing = set(experiment.plan.figure.get("missing", []))
    for row in rows:
        for check in row["checks"]:
            if check["text"].startswith("not run: "):
                assert set(check["text"].removeprefix("not run: ").split(", ")) <= missing, row["claim"]


def test_reproduce_writes_rows(cli: Cli, tmp_path: Path) -> None:
    only = ["--set", "run.duration=100 us", "--set", 'variant=["BFC", "DCTCP", "HPCC", "Ideal-FQ"]']
    words = ["reproduce", "fig9", "--scale", "smoke", "--store", "made", *only]
    done = cli(*words, "--claims")
    assert done.returncode in (0, 1), done.stderr
    rows = json.loads((tmp_path / "runs" / "bfc-fig9" / "claims.json").read_text())
    again = cli(*words, "--json", "--out", "again")
    assert (json.loads(again.stdout), again.returncode) == (rows, done.returncode), "and nothing else is printed"
    untold = cli("report", "again")
    assert rows[0]["claim"] not in untold.stdout
    told = cli("report", "again", "--claims").stdout
    assert all(row["claim"] in told for row in rows)
    assert rows
    for row in rows:
        assert {"claim", "expected", "measured", "verdict"} <= row.keys()
        assert row["verdict"] in claims.VERDICTS
    assert done.returncode == int(any(row["verdict"] == "fail" for row in rows))
    assert "load asked" in done.stdout
    assert "background 55.00 %" in done.stdout
    assert all(row["claim"] in done.stdout for row in rows)
    assert (tmp_path / "runs" / "bfc-fig9" / "report.html").is_file()


def test_run_exits_1_when_an_expectation_fails(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "strict.toml"
    scenario.write_text(
        f'extends = "{smoke}"\n[seeds]\ncount = 3\n[[expect]]\nclaim = "mine.1"\nkind = "between"\nvariant = "bfc"\n'
        'scales = ["", "quick", "smoke"]\nvalue = { summary = "flows.finished" }\nhigh = 0\n'
    )
    done = cli("run", scenario, "--out", "here")
    assert done.returncode == 1, done.stderr
    assert "fail" in done.stdout
    assert (tmp_path / "here" / "claims.json").is_file()


def test_numbers_are_written_as_they_are_read() -> None:
    written = {0.0123456: "0.0123", 12.345: "12.3", 1048.4: "1,048", 27160: "27,160", 5784321.0: "5,780,000"}
    written |= {-2.5e9: "-2,500,000,000", float("inf"): "inf"}
    assert {x: numbers.number(x) for x in written} == written
    assert numbers.number(None) == "-"
