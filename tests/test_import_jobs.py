"""`backwater import` and `backwater export` of jobs: scenarios that run, files that are the same, and refusals."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from backwater import Experiment
from conftest import ROOT, Cli

JOBS = ROOT / "crates" / "jobs" / "tests" / "data"
CASES: dict[str, tuple[list[str | Path], dict[str, Any]]] = {
    "goal": (["goal", JOBS / "binary_tree_32.goal"], {"ranks": 32, "operations": 62, "messages": 31, "hosts": 32}),
    "csv": (["csv", JOBS / "three.csv", "--ranks-per-host", "2"], {"ranks": 3, "messages": 3, "hosts": 2}),
    "htsim": (
        ["htsim", JOBS / "test_cr_1f1m10p.cm", "--topology", JOBS / "leaf_spine_tiny.topo", "--start-unit", "us"],
        {"messages": 1, "hosts": 32},
    ),
    "simai": (
        ["simai", JOBS / "microAllReduce.txt", "--shrink", "1000", "--iterations", "2"],
        {"ranks": 8, "hosts": 8, "phases": ["start", "forward 1", "backward 1", "gradients"]},
    ),
    "chakra": (["chakra", JOBS / "astra" / "all_reduce"], {"ranks": 4, "messages": 24, "hosts": 4}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_imported_runs_to_its_end(cli: Cli, tmp_path: Path, name: str) -> None:
    words, expected = CASES[name]
    done = cli("import", *words, "-o", tmp_path / "job.toml", "--json", "--scheme", "bfc,dcqcn")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert {key: facts[key] for key in expected} == expected
    runs = Experiment(tmp_path / "job.toml").simulate(tmp_path / "run").runs
    assert [run.params["variant"] for run in runs] == ["bfc", "dcqcn"]
    for run in runs:
        (job,) = run.summary["jobs"]
        assert (job["ended"], job["waiting"]) == (job["iterations"], 0)
        phases = run.table("phases").to_pydict()
        assert sum(phases["sent_bytes"]) == job["sent_bytes"] > 0
        spans = zip(phases["begin_ps"], phases["end_ps"], phases["compute_ps"], strict=True)
        assert all(begin + compute <= end for begin, end, compute in spans)


def test_a_whole_model_is_divided_among_stages(cli: Cli, tmp_path: Path) -> None:
    """Two stages of one rank each pass on 1000 B forward and backward, four times."""
    row = "a -1 1000 NONE 0 1000 NONE 0 1000 NONE 0 0"
    (tmp_path / "m.txt").write_text(f"DATA\n2\n{row}\n{row}\n")
    words = ["--ranks", "2", "--stages", "2", "--microbatches", "4", "--stage-bytes", "1 KB", "--json"]
    done = cli("import", "simai", tmp_path / "m.txt", *words, "-o", tmp_path / "m.toml")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["ranks"], facts["messages"], facts["bytes"]) == (2, 8, 8000)
    model = tomllib.loads((tmp_path / "m.toml").read_text())["workload"][0]["model"]
    assert model == {"ranks": 2, "stages": 2, "microbatches": 4, "stage_bytes": "1000 B"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["goal", "none.goal"], "none.goal: cannot be read: there is no such file"),
        (["goal", JOBS / "three.csv"], "three.csv:1:"),
        (["goal", JOBS / "binary_tree_32.goal", "--scheme", "bfcc"], "--scheme bfcc: unknown scheme"),
        (["htsim", JOBS / "bidir.cm", "--start-unit", "ns"], "--start-unit ns: expected ps or us"),
        (
            [
                "htsim",
                JOBS / "perm_1024n_1024c_0u_2000000b.cm",
                "--topology",
                JOBS / "leaf_spine_tiny.topo",
                "--start-unit",
                "us",
            ],
            "leaf_spine_tiny.topo: has 32 hosts; the job needs 1024",
        ),
        (["simai", JOBS / "all_reduce.txt"], "all_reduce.txt: does not say all_gpus: expected the number of ranks"),
        (
            ["simai", JOBS / "microAllReduce.txt", "--stages", "3"],
            "microAllReduce.txt: 8 ranks are not divided by groups of 8 and 3 stages: expected a multiple of 24",
        ),
        (["simai", JOBS / "microAllReduce.txt", "--stage-bytes", "much"], "--stage-bytes"),
        (["chakra", JOBS / "astra" / "none"], "none: there is no"),
    ],
)
def test_what_cannot_be_imported_is_told_and_nothing_is_written(
    cli: Cli, tmp_path: Path, words: list[str | Path], said: str
) -> None:
    done = cli("import", *words, "-o", tmp_path / "job.toml")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not list(tmp_path.iterdir())


def test_a_standing_file_is_kept(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "job.toml"
    out.write_text("mine")
    done = cli("import", "csv", JOBS / "three.csv", "-o", out)
    assert (done.returncode, out.read_text()) == (2, "mine")
    assert cli("import", "csv", JOBS / "three.csv", "-o", out, "--force").returncode == 0
    assert tomllib.loads(out.read_text())["workload"][0]["kind"] == "job"


def test_a_long_or_binary_file_is_named_with_its_hash(tmp_path: Path) -> None:
    """A resolved scenario runs again as long as the file is what it was."""
    rows = "".join(f"m{i},{i % 2},{1 - i % 2},{1000 + i},\n" for i in range(60_000))
    file = tmp_path / "long.csv"
    file.write_text(f"id,src,dst,bytes,after\n{rows}")
    topology = {"kind": "single-switch", "hosts": 2, "rate": "100 Gbps", "delay": "1 us"}
    scenario: dict[str, Any] = {
        "scheme": "bfc",
        "topology": topology,
        "workload": [{"kind": "job", "file": str(file)}],
        "run": {"duration": "10 us"},
    }
    (resolved,) = Experiment(scenario).scenarios.values()
    assert resolved["workload"][0]["source"]["path"] == str(file)
    assert len(resolved["workload"][0]["source"]["blake3"]) == 64


RING = """
scheme = "bfc"
[topology]
kind = "single-switch"
hosts = 4
rate = "100 Gbps"
delay = "1 us"
[run]
duration = "10 us"
[[workload]]
kind = "collective"
class = "ring"
pattern = "all-reduce"
bytes = "40 KB"
by_steps = true
iterations = 3
[[variant]]
name = "a"
[[variant]]
name = "b"
scheme = "dcqcn"
"""


@pytest.mark.parametrize(
    ("words", "name", "again"),
    [
        (["goal", "--leave-out", "phases"], "ring.goal", ["goal"]),
        (["goal", "--leave-out", "phases"], "ring.bin", ["goal"]),
        (["csv"], "ring.csv", ["csv"]),
        (["htsim", "--start-unit", "ps", "--leave-out", "phases"], "ring.cm", ["htsim", "--start-unit", "ps"]),
    ],
)
def test_what_is_exported_takes_the_same_time_when_it_is_imported(
    cli: Cli, tmp_path: Path, words: list[str], name: str, again: list[str]
) -> None:
    ring = tmp_path / "ring.toml"
    ring.write_text(RING)
    done = cli("export", words[0], ring, tmp_path / name, *words[1:], "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    size = (tmp_path / name).stat().st_size
    assert (facts["ranks"], facts["iterations"], facts["bytes"]) == (4, 3, size)
    assert "one of 3 iterations" in cli("export", words[0], ring, tmp_path / name, *words[1:], "--force").stdout
    there = tmp_path / "again.toml"
    assert cli("import", again[0], tmp_path / name, *again[1:], "-o", there, "--scheme", "bfc").returncode == 0
    texts = (RING.replace("iterations = 3", "").partition("[[variant]]")[0], there.read_text())
    jobs = []
    for number, text in enumerate(texts):
        (tmp_path / "one.toml").write_text(text)
        (run,) = Experiment(tmp_path / "one.toml").simulate(tmp_path / f"run{number}").runs
        jobs.append(run.summary["jobs"][0])
    assert [job["iteration_ps"] for job in jobs] == [jobs[0]["iteration_ps"]] * 2
    assert jobs[0]["sent_bytes"] == jobs[1]["sent_bytes"] == 6 * 40_000


def test_the_file_of_a_job_is_exported_as_it_is(cli: Cli, tmp_path: Path) -> None:
    tree = JOBS / "binary_tree_32.goal"
    assert cli("export", "goal", tree, tmp_path / "tree.bin").returncode == 0
    assert cli("export", "goal", tmp_path / "tree.bin", tmp_path / "tree.goal").returncode == 0
    assert cli("export", "goal", tree, tmp_path / "plain.goal").returncode == 0
    assert (tmp_path / "tree.goal").read_text() == (tmp_path / "plain.goal").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["goal", "{ring}", "{out}"], 'ring: phase "step 1": GOAL cannot say that'),
        (["goal", "{ring}", "{out}", "--leave-out", "phase"], "--leave-out phase: did you mean"),
        (["htsim", "{ring}", "{out}", "--start-unit", "ns"], "--start-unit ns: expected ps or us"),
        (["csv", "{ring}", "{out}", "--class", "rings"], "workload: class rings: expected one of ring"),
        (["csv", "{ring}", "{out}", "--run", "c"], "--run c: no such run"),
        (["csv", "{ring}", "{ring}"], "ring.toml: exists; name another file, or replace it with --force"),
        (["csv", JOBS / "three.csv", "{out}", "--class", "x"], "three.csv: --class, --run, --set and --scale are for"),
        (["htsim", JOBS / "three.csv", "{out}", "--start-unit", "us"], "the connection matrix cannot say that"),
        (["csv", JOBS / "none.goal", "{out}"], "none.goal: cannot be read"),
    ],
)
def test_what_cannot_be_exported_is_told_and_nothing_is_written(
    cli: Cli, tmp_path: Path, words: list[str | Path], said: str
) -> None:
    ring = tmp_path / "ring.toml"
    ring.write_text(RING)
    done = cli("export", *(str(word).format(ring=ring, out=tmp_path / "out") for word in words))
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == [ring]
    assert ring.read_text() == RING
