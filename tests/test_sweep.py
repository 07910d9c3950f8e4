"""`backwater sweep`: what is varied, one table of all runs, and the same bytes on any number of workers."""

from __future__ import annotations

import itertools
import re
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from backwater import Experiment, InputError, Results
from backwater.execute import sweep
from backwater.execute.job import jobs_of, start
from backwater.execute.making import RECORDED_TOGETHER, Making, make
from backwater.runs import coordinates, summaries
from backwater.runs.manifest import Manifest, Timing
from backwater.runs.writer import Writer
from backwater.scenario.vary import as_set
from conftest import SMOKE, Cli

SMALL = """
extends = "{base}"
name = "small"
[run]
duration = "100 us"
"""


@pytest.mark.parametrize(
    ("asked", "means"),
    [
        ("load=0.5:0.65:0.05", "sweep.load=[0.5, 0.55, 0.6, 0.65]"),
        ("load=0.1:0.3:0.1", "sweep.load=[0.1, 0.2, 0.3]"),
        ("load=0.5:0.64:0.05", "sweep.load=[0.5, 0.55, 0.6]"),
        ("incast.degree = 10, 100,1000", "sweep.incast.degree=[10, 100, 1000]"),
        ("incast.degree=8:2:-3,1", "sweep.incast.degree=[8, 5, 2, 1]"),
        ("scheme=bfc,dctcp", 'sweep.scheme=["bfc", "dctcp"]'),
        ("run.duration=1 ms:2 ms:500e-3 ms", 'sweep.run.duration=["1 ms", "1.5 ms", "2 ms"]'),
        ("switch.buffer=12 MB,4MB", 'sweep.switch.buffer=["12 MB", "4MB"]'),
        ("measure.active_flows=true,false", "sweep.measure.active_flows=[true, false]"),
        ("background.sizes=[{fixed='1 KB'}]", "sweep.background.sizes=[{fixed='1 KB'}]"),
    ],
)
def test_values_are_listed_or_stepped_through(asked: str, means: str) -> None:
    assert as_set(asked) == means


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("load", "expected KEY=VALUES"),
        ("load=", "expected KEY=VALUES"),
        ("load=0.5:0.9", "0.5:0.9: expected FROM:TO:STEP"),
        ("load=0.5:0.9:0", "steps of 0 do not lead from 0.5 to 0.9"),
        ("load=0.5:0.9:-0.1", "steps of -0.1 do not lead from 0.5 to 0.9"),
        ("load=0:1:0.00001", "100001 values; expected at most 10000"),
        ("load=0.5:0.9:0.1 ms", "expected one unit"),
        ("run.duration=1 ms:2 us:1 us", "expected one unit, not ms and us"),
        ("load=0.5,,0.6", "an empty value"),
        ("load=0.5:0.7:0.1,0.6", "0.6 twice"),
    ],
)
def test_what_is_no_list_and_no_range_is_refused(asked: str, says: str, cli: Cli) -> None:
    with pytest.raises(InputError, match="--vary"):
        as_set(asked)
    done = cli("sweep", SMOKE / "bfc.toml", "--vary", asked)
    assert done.returncode == 2
    assert f"--vary {asked}: " in done.stderr
    assert says in done.stderr


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("incst.degree=3,4", '--vary incst.degree=[3, 4]: incst.degree = [3, 4]: unknown key; did you mean "incast"?'),
        ("incast.degree=0,4", "--vary incast.degree=[0, 4]: workload.1.degree = 0: expected 1 to 1000000"),
        ("scheme=bfc,dtcp", '--vary scheme=["bfc", "dtcp"]: scheme = "dtcp": unknown scheme; did you mean "dctcp"?'),
    ],
)
def test_what_no_run_can_have_is_refused_as_it_was_asked(asked: str, says: str, cli: Cli) -> None:
    done = cli("sweep", SMOKE / "bfc.toml", "--vary", asked)
    assert (done.returncode, done.stderr.startswith(f"error: {says}")) == (2, True), done.stderr


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL.format(base=SMOKE / "bfc.toml"))
    return path


def test_a_sweep_is_one_table_and_the_same_on_any_number_of_workers(small: Path, tmp_path: Path, cli: Cli) -> None:
    arguments = ("--vary", "background.load=0.2:0.6:0.2", "--vary", "scheme=bfc,dctcp", "--seeds", 2)
    tables = []
    for threads in (1, 2, 8):
        out = f"sweep{threads}"
        done = cli("sweep", small, *arguments, "--threads", threads, "--out", out, "--store", f"store{threads}")
        assert done.returncode == 0, done.stderr
        assert f"Table: {out}/summary.parquet" in done.stdout
        tables.append((tmp_path / out / "summary.parquet").read_bytes())
    assert tables[0] == tables[1] == tables[2]
    table = pq.read_table(tmp_path / "sweep1/summary.parquet")
    assert table.num_rows == 12
    rows = table.select(["scheme", "load", "seed"]).to_pylist()
    assert {(row["scheme"], row["load"]) for row in rows} == {
        (scheme, load) for scheme in ("bfc", "dctcp") for load in (0.2, 0.4, 0.6)
    }
    assert sorted({row["seed"] for row in rows}) == [1, 2]
    grouped = Results(tmp_path / "sweep1").sql(
        'select load, avg("load.background.flows") as flows from summary group by 1 order by 1'
    )
    flows = grouped["flows"].to_pylist()
    assert flows == sorted(flows)
    assert flows[2] > 2 * flows[0]


def test_a_run_that_was_made_is_not_made_again(small: Path, tmp_path: Path, cli: Cli) -> None:
    """By a wider sweep, with more seeds, beside the same directory."""
    assert cli("sweep", small, "--vary", "load=0.2,0.4", "--out", "runs/one").returncode == 0
    done = cli("sweep", small, "--vary", "load=0.2,0.4,0.6", "--seeds", 2, "--out", "runs/two")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": started") == 4
    whole = Experiment(small, sets={"sweep.load": [0.2, 0.4, 0.6]}, seeds=2).simulate(tmp_path / "fresh")
    assert Results(tmp_path / "runs/two").table("summary").equals(whole.table("summary"))


def test_the_progress_of_a_run_is_told_while_another_thread_waits_for_its_end(small: Path) -> None:
    """If it waited too, it would hold Python's lock: no other run could be written, and no signal heard."""
    (job,) = jobs_of(Experiment(small, sets={"run.duration": "100 ms"}).plan)
    run = start(job)
    waiting = threading.Thread(target=run.wait, args=(1e6,))
    waiting.start()
    told = []
    while not told or (told[-1] == "running" and len(told) < 100):
        told.append(run.progress()["state"])
        time.sleep(0.001)
    run.cancel()
    waiting.join()
    assert set(told) == {"running"}, told[-1]


def test_every_number_of_a_summary_has_a_column(results: Results, tmp_path: Path) -> None:
    """Of every scheme, and of computations; and what `backwater schema summary` lists is there in one of them."""
    made = [results]
    for name, sets in (("schemes", {}), ("bcc", {}), ("flowsail", {})):
        made.append(Experiment(SMOKE / f"{name}.toml", sets=sets).simulate(tmp_path / name))
    runs = [run for one in made for run in one.runs]
    found: dict[str, int] = {}
    for run in runs:
        names = dict(summaries.leaves(run.summary))
        assert [name for name in names if summaries.place(name) is None] == []
        found |= {name: at for name in names if (at := summaries.place(name)) is not None}
    used = {summaries.PATTERNS[at][1]["name"] for at in found.values()}
    missing = {one["name"] for _, one in summaries.PATTERNS} - used
    assert missing <= {
        name
        for name in missing
        if name.startswith(("collectives.", "jobs.", "recirculated.", "results.", "exact", "valleys."))
    }
    table = summaries.of(runs)
    for name, at in found.items():
        kind = summaries.PATTERNS[at][1]["type"]
        assert table.schema.field(name).type == summaries.ARROW[kind], name
        assert table.schema.field(name).metadata[b"description"]


def test_axes_have_the_type_of_their_values() -> None:
    kinds = [
        str(coordinates.typed(values).type) for values in ([1, 2], [1, 2.5], [True, None], ["1 KB"], [1, "a"], [[1]])
    ]
    assert kinds == ["int64", "double", "bool", *["dictionary<values=string, indices=int32, ordered=0>"] * 3]


@pytest.mark.parametrize("scheme", ["bfc", "dctcp", "hpcc", "ideal-fq"])
@pytest.mark.parametrize("receivers", [["host0"], ["host0", "host1", "host2", "host3"]])
def test_endless_flows_are_estimated_by_what_they_share(scheme: str, receivers: list[str]) -> None:
    """Sixteen from another rack, to one host and to four: the packet-hops that a run is said to take, and takes."""
    elephants = {"kind": "long-lived", "count": 16, "from": ["host4..host7"], "to": receivers}
    changes = {"workload": [elephants], "run.duration": "1 ms", "run.all_finish": False, "scheme": scheme}
    experiment = Experiment(SMOKE / "bfc.toml", sets=changes)
    (job,) = jobs_of(experiment.plan)
    hops = experiment.simulate().runs[0].summary["packet_hops"]
    assert 0.7 * hops < job.expected_hops < 1.5 * hops


MANY = """
[compute]
kind = "starvation"
threshold = 1
slots = 20

[sweep]
"compute.ratio" = [{ratios}]
"""


def many(place: Path, runs: int) -> Experiment:
    """Runs that take next to no time."""
    file = place / "many.toml"
    file.write_text(MANY.format(ratios=", ".join(str(1.5 + i / 100) for i in range(runs))))
    return Experiment(file)


def test_manifests_of_a_large_sweep_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each names all runs that are there, so one for every run would take time as the square of their number."""
    record, named = Writer.record, []

    def recorded(self: Writer, manifest: Manifest, timing: Timing) -> None:
        named.append(len(manifest.runs))
        record(self, manifest, timing)

    monkeypatch.setattr(Writer, "record", recorded)
    done = many(tmp_path, 200).simulate(tmp_path / "out", threads=1)
    assert done.complete
    assert len(done.runs) == 200
    assert named[:33] == list(range(33)), "of a few, each is named at once"
    assert all(b - a <= 1 + b / RECORDED_TOGETHER for a, b in itertools.pairwise(named))
    assert len(named) < 120


def test_a_last_manifest_that_is_refused_leaves_what_the_one_before_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Writer.record

    class Stopping(sweep.Watch):
        """Ctrl-C where a run has ended that no manifest names, and no room is left for one that does."""

        def on_done(self, job: sweep.Job) -> None:
            if made._unrecorded:
                monkeypatch.setattr(Writer, "record", refuse)
                raise KeyboardInterrupt

    def refuse(self: Writer, *_: dict[str, Any]) -> None:
        raise InputError(f"{self.out}: cannot be written: the disk is full")

    experiment = many(tmp_path, 100)
    made = Making(experiment.plan, "many", "a test", tmp_path / "out")
    with pytest.raises(
        InputError, match=r"the disk is full\n(\d+) of 100 runs were finished and are kept in"
    ) as failure:
        make([made], 1, Stopping(), sweep.Stop())
    kept = re.search(r"(\d+) of 100", str(failure.value))
    assert kept
    monkeypatch.setattr(Writer, "record", record)
    fragment = Results(tmp_path / "out")
    assert fragment.interrupted
    assert len(fragment.runs) == int(kept[1]) >= RECORDED_TOGETHER
    assert experiment.simulate(tmp_path / "out").digest == many(tmp_path, 100).simulate(tmp_path / "other").digest
