"""Experiments from Python."""

from __future__ import annotations

import ast
from pathlib import Path

import pyarrow as pa
import pytest

import backwater
from backwater import Experiment, InputError, Results, _core
from backwater.execute import sweep
from backwater.runs import directory
from backwater.scenario.plan import Forecast


def test_ten_lines_are_enough(smoke: Path) -> None:
    done = Experiment(smoke, seed=7, **{"switch.queues": 16}).run(threads=1)
    assert done.complete
    flows = done.table("flows")
    assert isinstance(flows, pa.Table)
    assert flows.column_names[0] == "label"
    assert flows.num_rows == done.runs[0].summary["flows"]["total"]
    assert done.runs[0].scenario["switch"]["queues"] == 16
    assert done.report().read_text().startswith("<!doctype html>")


def test_a_temporary_directory_lives_as_long_as_its_results(smoke: Path) -> None:
    done = Experiment(smoke).run()
    path = done.path
    assert path.is_dir()
    (run,) = done.runs
    del done
    assert run.summary["complete"] is not None
    assert run.table("flows").num_rows
    del run
    assert not path.exists()


def test_sql_sees_every_run(results: Results) -> None:
    answer = results.sql("select label, count(*) as n from flows group by label order by label").to_pydict()
    assert answer["label"] == ["BFC", "DCTCP", "Ideal-FQ"]
    assert answer["n"] == [results.run(label).summary["flows"]["total"] for label in answer["label"]]
    with pytest.raises(InputError, match="no_such_table"):
        results.sql("select * from no_such_table")


def test_all_schemes_see_the_same_traffic(results: Results) -> None:
    answer = results.sql(
        "select label, sum(hash(class, src, dst, size_bytes, arrival_ps)) as traffic from flows group by label"
    )
    assert len(set(answer["traffic"].to_pylist())) == 1


def test_the_same_experiment_gives_the_same_digest(three: Path) -> None:
    first, second = Experiment(three).run(threads=1), Experiment(three).run(threads=2)
    assert [run.digest for run in first.runs] == [run.digest for run in second.runs]
    assert first.digest == second.digest


def test_what_is_not_there_is_said(results: Results, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run 'HPCC'; expected one of BFC, DCTCP, Ideal-FQ"):
        results["HPCC"]
    with pytest.raises(InputError, match="no table 'flow'"):
        results.table("flow")
    with pytest.raises(InputError, match=r"flows\.parquet: no column 'slowdwn'; did you mean slowdown\?"):
        results.run("BFC").table("flows", ["flow", "slowdwn"])
    with pytest.raises(InputError, match="no such run directory"):
        Results(tmp_path / "absent")
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"manifest\.json: damaged"):
        Results(tmp_path)


def test_an_experiments_digest_is_its_only_runs() -> None:
    assert directory.digest_of(["ab"]) == "ab"
    assert directory.digest_of(["ab", "cd"]) != directory.digest_of(["cd", "ab"])


def test_runs_go_together_only_while_memory_lasts() -> None:
    def job(megabytes: float) -> sweep.Job:
        return sweep.Job("", {}, {}, Forecast(0, 0, 0, megabytes))

    memory = sweep.Memory(900)
    assert memory.has_room(job(5000), [])
    assert memory.has_room(job(400), [job(400)])
    assert not memory.has_room(job(600), [job(400)])
    taken = bytearray(b"x" * 200_000_000)
    memory.look([job(50)])
    del taken
    assert not memory.has_room(job(400), [job(400)]), "the run took 200 MB and not 50"
    assert sweep.Memory().most_mb > 0


@pytest.mark.parametrize(("threads", "first"), [(1, "100us"), (2, "300us")])
def test_the_longest_runs_go_first_where_several_go_together(
    smoke: Path, tmp_path: Path, threads: int, first: str
) -> None:
    started: list[str] = []

    class Starts(sweep.Watch):
        def on_start(self, job: sweep.Job) -> None:
            started.append(job.label)

    lengths = ["100 us", "300 us", "200 us"]
    results = Experiment(smoke, sets={"sweep.run.duration": lengths}).run(
        tmp_path / "there", threads=threads, watch=Starts()
    )
    assert started[0] == f"bfc.duration={first}"
    labels = [f"bfc.duration={length.replace(' ', '')}" for length in lengths]
    assert [run.label for run in results.runs] == labels, "whatever ends first"


def test_progress_is_heard(three: Path) -> None:
    heard: list[str] = []

    class Ear(sweep.Watch):
        def on_start(self, job: sweep.Job) -> None:
            heard.append(f"start {job.label}")

        def on_done(self, job: sweep.Job) -> None:
            heard.append(f"done {job.label}")

    Experiment(three).run(threads=1, watch=Ear())
    labels = ("BFC", "DCTCP", "Ideal-FQ")
    assert heard == [f"{what} {label}" for label in labels for what in ("start", "done")]


def test_the_stub_describes_the_module() -> None:
    stub = ast.parse((Path(backwater.__file__).parent / "_core.pyi").read_text())
    named = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for shape in ("Progress", "Apart"):  # For type checkers alone.
        named.pop(shape)
    assert {name for name in dir(_core) if not name.startswith("_")} == {*named, "version", "commit"}
    for name, node in named.items():
        if isinstance(node, ast.ClassDef):
            methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            assert methods <= set(dir(getattr(_core, name)))


def test_names_are_exported() -> None:
    assert all(hasattr(backwater, name) for name in backwater.__all__)
    assert backwater.version == backwater.__version__
