"""Jobs as a trace: slices nest, times are those of the tables, and the same run gives the same bytes."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from backwater import Experiment, Results
from backwater.runs import jobs, perfetto
from backwater.runs.run import Run
from conftest import ROOT, Cli

STREAMS = """id,src,dst,bytes,after,compute_ns,stream,phase,iteration
a,0,1,1000,,100000,0,long,0
b,0,1,1000,,10000,1,short,0
c,0,1,1000,b,95000,1,late,0
d,1,0,4000,a,,0,back,1
"""
"""The computations of rank 0 overlap, and neither holds the other."""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A job and a collective, under two schemes."""
    place = tmp_path_factory.mktemp("runs")
    (place / "streams.csv").write_text(STREAMS)
    scenario = {
        "topology": {"kind": "single-switch", "hosts": 4, "rate": "100 Gbps", "delay": "1 us"},
        "workload": [
            {"kind": "job", "file": str(place / "streams.csv"), "iterations": 3},
            {"kind": "collective", "pattern": "all-reduce", "bytes": "64 KB", "iterations": 2, "by_steps": True},
        ],
        "run": {"duration": "100 us", "warmup": "0 s", "drain": 1000.0},
        "variant": [{"name": "BFC", "scheme": "bfc"}, {"name": "DCQCN", "scheme": "dcqcn"}],
    }
    return Experiment(scenario).simulate(place / "run")


def events(run: Run) -> list[dict[str, Any]]:
    return json.loads("".join(perfetto.trace(run, jobs.of_run(run))))["traceEvents"]


def test_slices_are_the_rows_of_the_tables(done: Results) -> None:
    run = done.run("BFC")
    slices = [one for one in events(run) if one["ph"] == "X"]
    processes = {one["pid"]: one["args"]["name"] for one in events(run) if one["name"] == "process_name"}
    assert list(processes.values()) == ["job", "collective, all-reduce", "switches"]
    threads = {(one["pid"], one["tid"]): one["args"]["name"] for one in events(run) if one["name"] == "thread_name"}
    steps, ranks = done["BFC"].steps().to_pylist(), done["BFC"].ranks().to_pylist()
    places = {(row["class"], row["iteration"], row["rank"], row["phase"]): row for row in steps}
    found = Counter(one["cat"] for one in slices)
    assert found["iteration"] == len(ranks)
    assert found["phase"] == len(steps) > len(ranks)
    for one in slices:
        name = processes[one["pid"]].partition(",")[0]
        rank = int(threads[one["pid"], one["tid"]].split()[1])
        if one["cat"] == "phase":
            row = places[name, one["args"]["iteration"], rank, one["name"]]
        else:
            (row,) = (
                r for r in ranks if (r["class"], r["iteration"], r["rank"]) == (name, one["args"]["iteration"], rank)
            )
            parts = [one["args"][f"{part}_us"] for part in ("compute", "exposed", "other", "bubble")]
            assert sum(parts) == pytest.approx(row["time_ps"] / 1e6)
        assert round(one["ts"] * 1e6) == row["begin_ps"]
        assert round((one["ts"] + one["dur"]) * 1e6) == row["end_ps"]
        assert one["args"]["sent_bytes"] == row["sent_bytes"]


def test_slices_of_a_thread_hold_one_another_or_are_apart(done: Results) -> None:
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for one in events(done.run("BFC")):
        if one["ph"] == "X":
            tracks.setdefault((one["pid"], one["tid"]), []).append(one)
    for slices in tracks.values():
        open_: list[int] = []
        for one in slices:  # In order of begins, as they are written.
            begin, end = round(one["ts"] * 1e6), round((one["ts"] + one["dur"]) * 1e6)
            while open_ and open_[-1] <= begin:
                open_.pop()
            assert not open_ or end <= open_[-1], one
            open_.append(end)
    names = [one["args"]["name"] for one in events(done.run("BFC")) if one["name"] == "thread_name"]
    assert "rank 0 (host0), at once 2" in names, "long and late overlap"


def test_counters_begin_with_all_ranks_and_end_with_none(done: Results) -> None:
    counts = [one for one in events(done.run("BFC")) if one["ph"] == "C"]
    ranks = [one["args"]["ranks"] for one in counts if one["pid"] == 2]
    assert (max(ranks), ranks[-1]) == (4, 0)
    last = max(row["end_ps"] for row in done["BFC"].ranks().to_pylist() if row["class"] == "collective")
    assert round([one["ts"] for one in counts if one["pid"] == 2][-1] * 1e6) == last
    assert [one for one in counts if one["pid"] == 3], "bytes in switches"


def test_each_run_has_a_file_and_the_same_run_the_same_bytes(cli: Cli, done: Results, tmp_path: Path) -> None:
    told = cli("export", "perfetto", done.path, "job.json.gz")
    assert (told.returncode, told.stderr) == (0, "")
    first = (tmp_path / "job.BFC.json.gz").read_bytes()
    assert (
        f"job.BFC.json.gz: {len([1 for one in events(done.run('BFC')) if one['ph'] == 'X'])} slices of BFC"
        in told.stdout
    )
    assert cli("export", "perfetto", done.path / "BFC", "one.json", "-q").returncode == 0
    assert (tmp_path / "one.json").read_text() == gzip.decompress(first).decode()
    again = cli("export", "perfetto", done.path, "job.json.gz")
    assert again.returncode == 2
    assert "job.BFC.json.gz: exists; name another file, or replace it with --force" in again.stderr
    (bfc, _) = json.loads(cli("export", "perfetto", done.path, "job.json.gz", "--force", "--json").stdout)
    assert (bfc["run"], bfc["path"]) == ("BFC", "job.BFC.json.gz")
    assert (tmp_path / "job.BFC.json.gz").read_bytes() == first


def test_a_job_that_did_not_end_has_open_slices(tmp_path: Path) -> None:
    """An all-reduce that `run.drain` ends long before its last iteration."""
    scenario = {
        "topology": {"kind": "single-switch", "hosts": 4, "rate": "100 Gbps", "delay": "1 us"},
        "workload": [{"kind": "collective", "pattern": "all-reduce", "bytes": "4 MB", "iterations": 50}],
        "run": {"duration": "1 ms", "warmup": "0 s", "drain": 1.0, "all_finish": False},
        "scheme": "bfc",
    }
    run = Experiment(scenario).simulate(tmp_path / "run").runs[0]
    still = [one for one in events(run) if one["ph"] == "X" and one["args"].get("still")]
    assert len(still) == 4
    assert {round((one["ts"] + one["dur"]) * 1e6) for one in still} == {run.summary["sim_time_ps"]}


def test_what_it_cannot_write_is_refused(cli: Cli, results: Results, done: Results, tmp_path: Path) -> None:
    for words, says in [
        ([results.path, "job.json"], ": has no job: expected a run with a workload of kind 'job' or 'collective'"),
        ([done.path, "job.txt"], "job.txt: expected a name that ends in .json, .json.gz"),
        ([done.path, "absent/job.json"], "absent/job.json: no such directory: absent"),
        ([ROOT, "job.json"], "not a run directory"),
    ]:
        refused = cli("export", "perfetto", *words)
        assert refused.returncode == 2
        assert says in refused.stderr
    assert list(tmp_path.iterdir()) == []
