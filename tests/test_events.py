"""Single events go to tables and traces, the same bytes each time."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backwater.runs import events, tables
from conftest import Cli


@pytest.mark.parametrize("scheme", ["bfc", "dctcp"])
def test_threads_do_not_matter(cli: Cli, smoke: Path, tmp_path: Path, scheme: str) -> None:
    for threads in (1, 2):
        for end in ("json.gz", "parquet"):
            file = f"{threads}.{end}"
            done = cli(
                "run",
                smoke,
                "--set",
                f"scheme={scheme}",
                "--threads",
                threads,
                "--events",
                file,
                "--out",
                f"{file}.run",
            )
            assert done.returncode == 0, done.stderr
            assert f"{file}: " in done.stdout
    for end in ("json.gz", "parquet"):
        assert (tmp_path / f"1.{end}").read_bytes() == (tmp_path / f"2.{end}").read_bytes()


def test_a_trace_and_a_table_hold_the_same(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    for end in ("json", "json.gz", "arrow", "parquet"):
        assert cli("run", smoke, "--events", f"e.{end}", "--out", f"{end}.run").returncode == 0
    text = (tmp_path / "e.json").read_text()
    assert gzip.decompress((tmp_path / "e.json.gz").read_bytes()).decode() == text
    table = pq.read_table(tmp_path / "e.parquet")
    assert pa.ipc.open_file(tmp_path / "e.arrow").read_all().to_pylist() == table.to_pylist()
    assert table.schema.names == [column["name"] for column in tables.schemas()["events"]]
    trace = json.loads(text)
    assert trace["otherData"]["backwater.events_left_out"] == "0"
    counts = Counter(table["what"].to_pylist())
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert counts["paused"] > 0
    assert len(slices) == counts["paused"]
    instants = [event for event in trace["traceEvents"] if event["ph"] == "i"]
    assert Counter(event["name"] for event in instants) == {
        what: n for what, n in counts.items() if what not in ("paused", "resumed")
    }
    tracks: dict[tuple[int, int], float] = {}
    for event in slices:
        track = (event["pid"], event["tid"])
        assert event["ts"] >= tracks.get(track, 0.0), "slices of a track do not overlap"
        tracks[track] = event["ts"] + event["dur"]
    names = {(event["pid"], event["tid"]) for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert names >= {(event["pid"], event["tid"]) for event in slices + instants}


def test_what_there_is_no_room_for_is_counted(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    assert cli("run", smoke, "--events", "all.parquet", "--out", "all").returncode == 0
    done = cli("run", smoke, "--events", "some.parquet", "--events-max", 50, "--out", "some")
    whole, some = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("all", "some"))
    assert some.to_pylist() == whole.slice(0, 50).to_pylist()
    assert f"{whole.num_rows - 50:,} later ones were left out" in done.stdout
    assert cli("run", smoke, "--events", "span.parquet", "--events-span", "20us..40us", "--out", "span").returncode == 0
    inside = [event for event in whole.to_pylist() if 20_000_000 <= event["time_ps"] < 40_000_000]
    assert inside
    assert pq.read_table(tmp_path / "span.parquet").to_pylist() == inside


def test_each_of_several_runs_has_a_file(cli: Cli, three: Path, tmp_path: Path) -> None:
    assert cli("run", three, "--events", "e.json.gz", "--out", "run").returncode == 0
    assert sorted(path.name for path in tmp_path.glob("e.*")) == [
        f"e.{label}.json.gz" for label in ("BFC", "DCTCP", "Ideal-FQ")
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--events", "e.csv"], "--events e.csv: expected a name that ends in .parquet, .arrow, .json, .json.gz"),
        (["--events", "no/e.json"], "--events no/e.json: no such directory: no"),
        (["--events", "e.json", "--events-span", "2us"], "--events-span 2us: expected a span such as 1ms..2ms"),
        (["--events", "e.json", "--events-span", "2us..1us"], "--events-span 2us..1us: expected a span"),
        (
            ["--events", "e.json", "--events-max", "0"],
            "'--events-max': '0': expected a whole number from 1 to 10",
        ),
        (["--events-max", "5"], "--events-max 5: expected --events with it"),
    ],
)
def test_what_cannot_be_recorded_is_refused_before_the_run(
    cli: Cli, smoke: Path, tmp_path: Path, arguments: list[str], problem: str
) -> None:
    done = cli("run", smoke, "--out", "run", *arguments)
    assert done.returncode == 2
    assert problem in done.stderr
    assert not (tmp_path / "run").exists()


def test_spans_of_time() -> None:
    assert events.span_of("1ms..2.5ms") == (10**9, 25 * 10**8)
    assert events.span_of("..50us") == (0, 50 * 10**6)
    assert events.span_of("1 us..") == (10**6, events.END)
