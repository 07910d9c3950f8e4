"""What ranks do in iterations and phases: parts that sum to the time of an iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backwater import Experiment, InputError, Results
from backwater.runs import jobs
from conftest import ROOT

JOBS = ROOT / "crates" / "jobs" / "tests" / "data"
FOUR = ("compute", "exposed", "other", "bubble")


def work_of(rows: list[tuple[int, int, int, int | None, int]], planned: int = 2) -> jobs.Work:
    """A job of rows: rank, iteration, begin, end, compute. Each row has a phase of its own."""
    rank, iteration, begin, end, compute = (
        np.array([-1 if one is None else one for one in column]) for column in zip(*rows, strict=True)
    )
    workload: Any = {"class": "w", "kind": "job", "start": "0 s"}
    phases = [f"phase {i}" for i in range(len(rows))]
    ranks = sorted(set(rank.tolist()))
    columns = [np.searchsorted(ranks, rank), iteration, np.arange(len(rows)), begin, end, compute, 10 + 0 * rank]
    return jobs.Work(workload, planned, ranks, [f"host{one}" for one in ranks], phases, jobs.in_order(columns))


def parts_of(work: jobs.Work) -> dict[str, list[list[int]]]:
    return {name: getattr(work.parts, name).tolist() for name in FOUR}


def test_a_rank_computes_waits_is_elsewhere_or_has_nothing_to_do() -> None:
    work = work_of(
        [
            (0, 0, 0, 40, 30),
            (0, 0, 60, 100, 10),  # Nothing of its is under way from 40 to 60,
            (1, 0, 20, 50, 30),  # nor of rank 1 until 20.
            (0, 1, 100, 150, 50),
            (1, 1, 70, 180, 5),  # In iteration 1 while iteration 0 goes on.
        ]
    )
    assert parts_of(work) == {
        "compute": [[40, 30], [50, 5]],
        "exposed": [[40, 0], [0, 105]],
        "other": [[0, 30], [30, 0]],
        "bubble": [[20, 40], [30, 0]],
    }
    assert work.parts.time.tolist() == [100, 110]
    assert work.times.tolist() == [100, 80]


def test_time_of_two_phases_at_once_counts_once() -> None:
    """The first computes from 0 to 100, the second from 50 to 60: the table gives 60 to the second."""
    work = work_of([(0, 0, 0, 100, 40), (0, 0, 50, 60, 60), (0, 0, 90, 130, 0)], planned=1)
    assert work.parts.own.tolist() == [100, 0, 30]
    assert work.parts.computing.tolist() == [100, 0, 0]
    assert parts_of(work) == {"compute": [[100]], "exposed": [[30]], "other": [[0]], "bubble": [[0]]}


def test_iterations_count_before_the_first_that_did_not_end_at_every_rank() -> None:
    rows = [(0, 0, 0, 10, 0), (1, 0, 0, 10, 0), (0, 1, 10, 30, 0), (1, 1, 10, None, 0), (0, 2, 30, 40, 0)]
    work = work_of([*rows, (1, 2, 30, 40, 0)], planned=3)
    assert work.numbers == [0]
    assert work.parts.time.tolist() == [10]
    assert work_of([(0, 0, 0, None, 0)]).parts.time.tolist() == []
    assert work_of([(0, 4, 0, 10, 0), (0, 9, 10, 30, 0)]).numbers == [4, 9]


def test_parts_of_random_jobs_are_what_a_count_instant_by_instant_gives() -> None:
    random = np.random.default_rng(7)
    for _ in range(200):
        ranks, iterations = random.integers(1, 5, 2)
        rows: list[tuple[int, int, int, int | None, int]] = []
        for rank in range(ranks):
            for iteration in range(iterations):
                for _ in range(random.integers(1, 5)):
                    begin = int(random.integers(0, 60))
                    end = begin + int(random.integers(0, 40))
                    rows.append((rank, iteration, begin, end, int(random.integers(0, end - begin + 1))))
        work = work_of(rows, planned=int(iterations))
        parts = work.parts
        first, last = parts.begin.min(axis=1), parts.end.max(axis=1)
        for i in range(iterations):
            for rank in range(ranks):
                mine = {t for r, n, b, e, _ in rows if (r, n) == (rank, i) for t in range(b, e or 0)}
                any_ = {t for r, _, b, e, _ in rows if r == rank for t in range(b, e or 0)}
                there = any_ & set(range(first[i], last[i]))
                computed = sum(compute for r, n, *_, compute in rows if (r, n) == (rank, i))
                assert parts.compute[i, rank] == min(computed, len(mine))
                assert parts.compute[i, rank] + parts.exposed[i, rank] == len(mine)
                assert parts.other[i, rank] == len(there - mine)
                assert sum(getattr(parts, name)[i, rank] for name in FOUR) == last[i] - first[i]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Jobs of two files and two collectives, which share a network."""
    place = tmp_path_factory.mktemp("runs")
    ring = ["id,src,dst,bytes,after,compute_ns", "a,0,1,65536,,1500", "b,1,2,65536,a,1500", "c,2,3,65536,b,1500"]
    (place / "ring.csv").write_text("\n".join([*ring, "d,3,0,65536,c,1500", ""]))
    scenario = {
        "topology": {
            "kind": "leaf-spine",
            **{"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate": "100 Gbps", "core_rate": "100 Gbps"},
            **{"host_delay": "1 us", "core_delay": "1 us"},
        },
        "workload": [
            {"kind": "job", "class": "csv", "file": str(place / "ring.csv"), "iterations": 5},
            {"kind": "job", "class": "simai", "file": str(JOBS / "microAllReduce.txt"), "iterations": 2}
            | {"format": "simai", "model": {"shrink": 10_000}},
            {"kind": "collective", "class": "pipe", "pattern": "pipeline", "bytes": "64 KB", "iterations": 6},
            {"kind": "collective", "class": "reduce", "pattern": "all-reduce", "bytes": "256 KB", "iterations": 3}
            | {"compute": "2 us"},
        ],
        "run": {"duration": "100 us", "warmup": "0 s", "drain": 1000.0},
        "variant": [{"name": "BFC", "scheme": "bfc"}, {"name": "DCQCN", "scheme": "dcqcn"}],
    }
    return Experiment(scenario).simulate(place / "run")


def test_parts_of_each_rank_sum_to_the_time_of_the_iteration(done: Results) -> None:
    ranks = done.ranks().to_pandas()
    assert set(ranks["class"]) == {"csv", "simai", "pipe", "reduce"}
    four = ranks[[f"{name}_ps" for name in FOUR]]
    assert (four >= 0).all().all()
    assert (four.sum(axis=1) == ranks["time_ps"]).all()
    groups = ranks.groupby(["label", "class", "iteration"], observed=True)
    ends = groups.agg(begin=("begin_ps", "min"), end=("end_ps", "max"), time=("time_ps", "first"))
    assert (ends["end"] - ends["begin"] == ends["time"]).all()
    assert (ranks["bubble_ps"] > 0).any()
    assert (ranks["other_ps"] > 0).any()


def test_parts_of_steps_sum_to_those_of_the_rank(done: Results) -> None:
    key = ["label", "class", "iteration", "rank"]
    steps, ranks = done.steps().to_pandas(), done.ranks().to_pandas()
    assert (steps["own_ps"] == steps["compute_ps"] + steps["exposed_ps"]).all()
    assert (steps[["compute_ps", "exposed_ps"]] >= 0).all().all()
    of_steps = steps.groupby(key, observed=True)[["compute_ps", "exposed_ps", "sent_bytes"]].sum()
    of_ranks = ranks.set_index(key)[["compute_ps", "exposed_ps", "sent_bytes"]]
    assert of_steps.sort_index().equals(of_ranks.sort_index())
    assert len(set(steps[steps["class"] == "simai"]["phase"])) > 1


def test_jobs_have_their_times_and_bandwidths(done: Results) -> None:
    rows = {row["class"]: row for row in done["BFC"].jobs().to_pylist()}
    for known in done.run("BFC").summary["jobs"] or []:
        row = rows[known["class"]]
        assert [row[name] for name in ("ranks", "iterations", "ended")] == [
            known[name] for name in ("ranks", "iterations", "ended")
        ]
        assert row["time_ps"] == pytest.approx(known["iteration_ps"], abs=1)
        assert sum(row[f"{name}_ps"] for name in FOUR) == pytest.approx(row["time_ps"])
        assert row["sent_bytes"] == known["sent_bytes"]
        assert row["p50_ps"] <= row["p95_ps"] <= row["p99_ps"] <= row["max_ps"]
    reduce = rows["reduce"]
    assert reduce["algbw_bps"] == pytest.approx(8e12 * 256_000 / reduce["per_iteration_ps"])
    assert reduce["busbw_bps"] == pytest.approx(reduce["algbw_bps"] * 2 * 7 / 8)
    assert (rows["csv"]["algbw_bps"], rows["csv"]["busbw_bps"], rows["csv"]["slowest"]) == (None, None, "host0")
    assert rows["csv"]["kind"] == "job"


def test_runs_without_a_job_have_no_such_tables(results: Results) -> None:
    for table in (results.jobs, results.ranks, results.steps):
        with pytest.raises(InputError, match="no run has a job: expected a workload of kind 'job' or 'collective'"):
            table()


def test_columns_of_the_tables_say_what_they_mean(done: Results) -> None:
    for table in (done.jobs(), done.ranks(), done.steps()):
        assert table.column_names[:4] == ["label", "variant", "scheme", "seed"]
        assert all(field.metadata[b"description"] for field in table.schema)
