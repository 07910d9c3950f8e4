"""A critical path is stored in the run directory, whole, beside the explanation of flows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater import InputError, Results
from backwater.common.disk import sha256
from backwater.runs import kept
from backwater.runs.critical import CriticalPath
from backwater.runs.manifest import relisted
from conftest import Cli
from test_critical_path import LEAF_SPINE, RING, STORAGE

ASKED = ("--class", "ring", "--page")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A ring beside storage traffic, under two schemes. Nothing is explained."""
    experiment = backwater.Experiment(
        {
            "topology": LEAF_SPINE,
            "workload": [RING, STORAGE],
            "run": {"duration": "300 us", "warmup": "0 s", "drain": 1000.0},
            "variant": [{"name": "BFC", "scheme": "bfc"}, {"name": "DCQCN", "scheme": "dcqcn"}],
        }
    )
    return experiment.simulate(tmp_path_factory.mktemp("made") / "runs")


@pytest.fixture(scope="module")
def explained(made: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with the path of an iteration of BFC stored, and some flows of it explained."""
    place = Path(shutil.copytree(made.path, tmp_path_factory.mktemp("explained") / "runs"))
    run = made.run("BFC")
    kept.keep(place, [run.explain(1, 2), run.critical_path(1, "ring")])
    return place


@pytest.fixture
def copied(explained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(explained, tmp_path / "copied"))


def same(stored: CriticalPath | None, found: CriticalPath) -> None:
    assert stored is not None
    assert (stored.job, stored.iteration, stored.steps) == (found.job, found.iteration, found.steps)
    assert stored.parts == found.parts
    assert stored.causes() == found.causes()
    assert sum(part["span_ps"] for part in stored.parts) == stored.span_ps == found.span_ps
    assert stored.explained is not None
    assert found.explained is not None
    assert stored.explained.flows.equals(found.explained.flows)
    flow = found.explained.flows["flow"][0].as_py()
    assert stored.explained.flow(flow) == found.explained.flow(flow)
    assert stored.explained.rate(flow).equals(found.explained.rate(flow))


def test_it_is_read_as_it_was_found_and_stands_beside_explained_flows(made: Results, explained: Path) -> None:
    results = Results(explained)
    results.verify()
    run = results.run("BFC")
    files = {name.partition(".")[0]: name for name in run.entry.files if kept.is_part(name)}
    assert files.keys() == kept.PARTS.keys()
    assert all(run.entry.files[name] == sha256(run.path / name) for name in files.values())
    same(kept.path_of(run), made.run("BFC").critical_path(1, "ring"))
    flows = kept.of(run)
    assert flows is not None
    assert flows.flows["flow"].to_pylist() == [1, 2]
    assert kept.path_of(results.run("DCQCN")) is None
    assert results.table("path_waits")["label"].unique().to_pylist() == ["BFC"]


def test_the_waits_of_a_step_sum_to_it(explained: Path) -> None:
    path = kept.path_of(Results(explained).run("BFC"))
    assert path is not None
    messages = [number for number, step in enumerate(path.steps) if step.kind == "message"]
    assert len(messages) > 10
    for number in messages:
        assert sum(wait["span_ps"] for wait in path.waits_of(number)) == path.steps[number].span_ps
    assert not any(path.waits_of(number) for number, step in enumerate(path.steps) if step.kind == "compute")


def test_the_command_stores_those_of_several_runs_and_the_next_replaces_one(
    cli: Cli, made: Results, copied: Path
) -> None:
    done = cli("explain", copied, "--run", "BFC", "--run", "DCQCN", "--iteration", "0", *ASKED)
    assert done.returncode == 0, done.stderr
    assert f"Report: {copied}/report.html" in done.stdout
    assert "\nIteration 0 of ring takes least time under " in done.stdout
    results = Results(copied)
    for run in results.runs:
        same(kept.path_of(run), made.run(run.label).critical_path(0, "ring"))
    assert kept.of(results.run("BFC")) is not None, "explained flows are still there"
    done = cli("explain", copied, "--run", "DCQCN", "--iteration", "2", *ASKED)
    assert done.returncode == 0, done.stderr
    results = Results(copied)
    found = [kept.path_of(run) for run in results.runs]
    assert [path and path.iteration for path in found] == [0, 2]
    stored = [path.name for path in (copied / "DCQCN").iterdir() if kept.is_part(path.name)]
    assert len(stored) == len(kept.PATH), "the files of the path before are removed"
    results.verify()


def test_a_path_without_messages_is_stored_too(made: Results, copied: Path) -> None:
    found = made.run("BFC").critical_path(1, "ring")
    step = next(step for step in found.steps if step.kind == "compute")
    alone = CriticalPath("BFC", found.digest, "ring", 1, step.begin_ps, step.end_ps, [step], None)
    kept.keep(copied, [alone])
    assert kept.path_of(Results(copied).run("BFC")) == alone


@pytest.mark.parametrize("part", kept.PATH)
def test_a_damaged_file_is_refused_by_name(cli: Cli, copied: Path, part: str) -> None:
    (path,) = (copied / "BFC").glob(f"{part}.*")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match=f"{path}: damaged"):
        kept.path_of(Results(copied).run("BFC"))
    for command in (["report", copied], ["explain", copied, "--run", "DCQCN", "--iteration", "0", *ASKED]):
        done = cli(*command)
        assert done.returncode == 2
        assert f"{path}: damaged" in done.stderr
    assert kept.path_of(Results(copied).run("DCQCN")) is None


def put(place: Path, change: tuple[str | int, ...], value: object) -> Path:
    """Changes a value of the stored path, and lists the file with its new hash."""
    (path,) = (place / "BFC").glob("path.*.json")
    read: Any = json.loads(path.read_text())
    at = read
    for key in change[:-1]:
        at = at[key]
    at[change[-1]] = value
    path.write_text(json.dumps(read))
    files = Results(place).run("BFC").entry.files | {path.name: sha256(path)}
    (place / "manifest.json").write_text(relisted(place / "manifest.json", {"BFC": files}))
    return path


@pytest.mark.parametrize(
    ("change", "value", "says"),
    [
        (("iteration",), "1", 'iteration = "1": expected a whole number'),
        (("steps", 3, "rank"), None, "steps[3].rank = null: expected a whole number"),
        (("steps", 2), {"kind": "compute"}, "steps[2] has no 'rank'"),
        (("steps",), [], "steps = []: expected at least one"),
        (("steps", 4, "kind"), "nap", "steps[4].kind = 'nap': expected one of compute, message, "),
        (("steps", 5, "begin_ps"), 7, "steps[5].begin_ps = 7: expected "),
        (("steps", 5, "end_ps"), 7, "steps[5].end_ps = 7: expected at least its start, "),
        (("end_ps",), 7, "end_ps = 7: expected "),
        (("flows", 1), 2**70, f"flows[1] = {2**70}: expected a flow of table `flows`"),
        (("flows", 0), -1, "flows[0] = -1: expected a flow of table `flows`"),
    ],
)
def test_what_is_no_path_is_refused_with_place_and_value(
    copied: Path, change: tuple[str | int, ...], value: object, says: str
) -> None:
    path = put(copied, change, value)
    with pytest.raises(InputError) as error:
        kept.path_of(Results(copied).run("BFC"))
    assert str(error.value).startswith(f"{path}: not a critical path of ours: ") or "flows" in change
    assert says in str(error.value)
