"""The critical path of an iteration: its parts sum to the iteration's time, and name what held the messages up."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import backwater
from backwater import InputError
from backwater.runs import explain
from backwater.runs.critical import CriticalPath
from backwater.runs.run import Run
from conftest import Cli

LEAF_SPINE = {
    "kind": "leaf-spine",
    "leaves": 4,
    "spines": 2,
    "hosts_per_leaf": 4,
    "host_rate": "100 Gbps",
    "core_rate": "100 Gbps",
    "host_delay": "1 us",
    "core_delay": "1 us",
}
RING = {"kind": "collective", "class": "ring", "pattern": "ring", "bytes": "200 KB", "iterations": 3, "compute": "2 us"}
STORAGE = {"kind": "background", "class": "storage", "sizes": {"fixed": "100 KB"}, "load": 0.8, "load_of": "receivers"}
SCHEMES = {"BFC": "bfc", "DCQCN": "dcqcn", "HPCC": "hpcc"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> backwater.Results:
    """A ring beside storage traffic, under three schemes."""
    experiment = backwater.Experiment(
        {
            "topology": LEAF_SPINE,
            "workload": [RING, STORAGE],
            "run": {"duration": "300 us", "warmup": "0 s", "drain": 1000.0},
            "variant": [{"name": name, "scheme": scheme} for name, scheme in SCHEMES.items()],
        }
    )
    return experiment.simulate(tmp_path_factory.mktemp("shared") / "runs")


def fills(run: Run, path: CriticalPath) -> None:
    """Checks that the parts of a path sum to its iteration, and that each message crosses in the time of its flow."""
    row = next(row for row in run.summary["iterations"] or [] if row["iteration"] == path.iteration)
    assert (path.begin_ps, path.end_ps, path.span_ps) == (row["begin_ps"], row["end_ps"], row["time_ps"])
    assert [step.end_ps for step in path.steps[:-1]] == [step.begin_ps for step in path.steps[1:]]
    assert (path.steps[0].begin_ps, path.steps[-1].end_ps) == (path.begin_ps, path.end_ps)
    assert sum(part["span_ps"] for part in path.parts) == path.span_ps
    assert sum(row["span_ps"] for row in path.causes()) == path.span_ps
    assert all(part["span_ps"] > 0 for part in path.parts)
    sums = [0] * len(path.steps)
    for part in path.parts:
        sums[part["step"]] += part["span_ps"]
    assert sums == [step.span_ps for step in path.steps]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_parts_sum_to_the_iteration_and_name_who_was_before(shared: backwater.Results, scheme: str) -> None:
    run, whose = shared.run(scheme), set()
    for iteration in range(3):
        path = run.critical_path(iteration, "ring")
        fills(run, path)
        kinds = {step.kind for step in path.steps}
        assert kinds == {"compute", "message"}
        assert not any(part["why"] == "message" for part in path.parts)
        whose |= {part["whose"] for part in path.parts}
    assert "storage" in whose


def test_a_path_says_shortly_what_it_is(shared: backwater.Results) -> None:
    path = shared.run("BFC").critical_path(1, "ring")
    told = f"{len(path.steps)} steps, {path.span_ps} ps"
    assert repr(path) == f"CriticalPath('BFC', iteration 1 of ring: {told})"


def test_the_slowest_iteration_is_found(shared: backwater.Results) -> None:
    run = shared.run("HPCC")
    times = {row["iteration"]: row["time_ps"] for row in run.summary["iterations"] or []}
    assert times[run.slowest_iteration()] == max(times.values())


def test_on_an_idle_network_nothing_is_waited_for(tmp_path: Path) -> None:
    run = {"duration": "10 us", "warmup": "0 s", "drain": 1000.0}
    alone = backwater.Experiment({"scheme": "bfc", "topology": LEAF_SPINE, "workload": [RING], "run": run})
    (one,) = alone.simulate(tmp_path / "runs").runs
    path = one.critical_path(0)
    fills(one, path)
    assert len([step for step in path.steps if step.kind == "message"]) == 2 * 15
    # 30 steps of 2 us, and of a part of 12,500 B each.
    assert sum(step.span_ps for step in path.steps if step.kind == "compute") == 30 * 2_000_000
    waits = {part["why"] for part in path.parts} - {
        "compute",
        "own-packets",
        "transmission",
        "propagation",
        "host-delay",
    }
    assert not waits


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_message_that_waits_for_its_queue_pair_waits_for_what_holds_up_the_one_before(
    scheme: str, tmp_path: Path
) -> None:
    """All ranks of two hosts send at once. With queue pairs, a message waits until those before it have left."""
    job = {
        "kind": "job",
        "class": "all",
        "format": "csv",
        "rows": "id,src,dst,bytes\n" + "".join(f"m{n},{n % 4},{4 + n % 12},30000\n" for n in range(48)),
        "iterations": 2,
        "ranks_per_host": 4,
        "queue_pairs": 2,
    }
    run = {"duration": "200 us", "warmup": "0 s", "drain": 1000.0}
    scenario = {"scheme": SCHEMES[scheme], "topology": LEAF_SPINE, "workload": [job, STORAGE], "run": run}
    (one,) = backwater.Experiment(scenario).simulate(tmp_path / "runs").runs
    turns = []
    for iteration in range(2):
        path = one.critical_path(iteration, "all")
        fills(one, path)
        turns += [part for part in path.parts if part["kind"] == "queue-pair"]
    assert turns
    assert {part["place"] for part in turns} == {"source"}
    assert not any(part["why"] == "queue-pair" for part in turns)
    assert "own-packets" in {part["why"] for part in turns}


def test_it_is_printed_written_and_given_as_json(shared: backwater.Results, cli: Cli, tmp_path: Path) -> None:
    place = shared.path
    said = cli("explain", place, "--run", "BFC", "--iteration", "slowest", "--class", "ring", "--worst", "2")
    assert "critical path" in said.stdout
    assert said.stdout.count("a message of rank") >= 1
    file = tmp_path / "path.parquet"
    asked = ["explain", place, "--run", "BFC", "--iteration", "1", "--class", "ring"]
    said = cli(*asked, "--out", file, "--json")
    (path,) = json.loads(said.stdout)
    assert path["iteration"] == 1
    sums = [sum(part["span_ps"] for part in step["parts"]) for step in path["steps"]]
    assert sums == [step["end_ps"] - step["begin_ps"] for step in path["steps"]]
    assert sum(pq.read_table(file)["span_ps"].to_pylist()) == path["end_ps"] - path["begin_ps"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--iteration", "9", "--class", "ring"], "iteration 9 of job 'ring' has not ended"),
        (["--iteration", "0", "--class", "storage"], "--class storage: expected a job: ring"),
        (["--iteration", "last"], "last"),
        (["--iteration", "0", "--flow", "1"], "--iteration"),
    ],
)
def test_what_there_is_not_is_refused(shared: backwater.Results, cli: Cli, options: list[str], says: str) -> None:
    said = cli("explain", shared.path, "--run", "BFC", *options)
    assert said.returncode == 2
    assert says in said.stderr


def test_errors_from_python_speak_of_arguments(shared: backwater.Results, results: backwater.Results) -> None:
    with pytest.raises(InputError, match=r"^job = 'storage': expected one of ring"):
        shared.run("BFC").critical_path(0, "storage")
    with pytest.raises(InputError, match=r"^job = '': expected one of ring"):
        shared.run("BFC").slowest_iteration("")
    with pytest.raises(InputError, match=r"^flow_class = 'mail': expected one of "):
        explain.slowest(results.run("BFC").table("flows"), flow_class="mail")


def test_a_run_without_jobs_has_no_iterations(results: backwater.Results) -> None:
    with pytest.raises(InputError, match="the run has no job"):
        results.run("BFC").critical_path(0)
