"""Tables on disk are the documented ones, whole, and safe against damage."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backwater import InputError, Results, _core
from backwater.runs import tables

ALL = sorted({*tables.schemas()} - {"waits", "rates", "events", "phases"})
"""Those of a run without jobs."""


@pytest.mark.parametrize("name", ALL)
def test_columns_are_the_documented_ones(results: Results, name: str) -> None:
    documented = tables.schemas()[name]
    for run in results.runs:
        schema = run.table(name).schema
        assert schema.names == [column["name"] for column in documented]
        for field, column in zip(schema, documented, strict=True):
            assert field.type == tables.arrow_type(column["type"])
            assert field.metadata[b"description"].decode() == column["description"] != ""
            assert field.metadata[b"unit"].decode() == (column["unit"] or "")


def test_every_documented_table_is_written(results: Results) -> None:
    for run in results.runs:
        assert run.tables == ALL


@pytest.mark.parametrize("name", ALL)
def test_files_say_what_they_came_from(results: Results, name: str) -> None:
    run = results.runs[0]
    file = pq.ParquetFile(run.path / f"{name}.parquet")
    metadata = file.schema_arrow.metadata
    assert metadata[b"backwater.table"].decode() == name
    assert metadata[b"backwater.schema_version"].decode() == tables.SCHEMA_VERSION
    assert metadata[b"backwater.version"].decode() == _core.version
    scenario = {key: value for key, value in run.scenario.items() if key not in ("name", "description")}
    assert metadata[b"backwater.scenario_digest"].decode() == hashlib.sha256(json.dumps(scenario).encode()).hexdigest()
    if file.metadata.num_rows:
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_sentinels_become_nulls() -> None:
    top = np.array([1, 2**64 - 1], "<u8")
    assert tables.to_arrow("u64", top.tobytes(), None).to_pylist() == [1, None]
    assert tables.to_arrow("f64", np.array([np.nan, 0.5], "<f8").tobytes(), None).to_pylist() == [None, 0.5]
    assert tables.to_arrow("u32", np.array([2**32 - 1], "<u4").tobytes(), None).to_pylist() == [2**32 - 1]
    codes = np.array([1, 0, 1], "<u2").tobytes()
    assert tables.to_arrow("u16", codes, pa.array(["incast", "background"])).to_pylist() == [
        "background",
        "incast",
        "background",
    ]


def test_a_flipped_byte_is_noticed(results: Results, tmp_path_factory: pytest.TempPathFactory) -> None:
    import shutil

    copy = tmp_path_factory.mktemp("damaged") / "three"
    shutil.copytree(results.path, copy)
    path = copy / "BFC" / "flows.parquet"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"flows\.parquet.*damaged"):
        Results(copy).run("BFC").table("flows")
    with pytest.raises(InputError, match=r"flows\.parquet.*damaged"):
        Results(copy).verify()
    path.unlink()
    with pytest.raises(InputError, match=r"flows\.parquet.*missing"):
        Results(copy).verify()
    results.verify()


def test_the_slowdown_table_is_what_the_flows_say(results: Results) -> None:
    """Nearest rank, over counted flows that finished."""
    for run in results.runs:
        flows = run.table("flows").to_pydict()
        for row in run.table("slowdown").to_pylist():
            low, high = row["size_low_bytes"], row["size_high_bytes"] or float("inf")
            values = sorted(
                value
                for value, size, name, counted in zip(
                    flows["slowdown"], flows["size_bytes"], flows["class"], flows["counted"], strict=True
                )
                if counted and name == row["class"] and low < size <= high and value is not None
            )
            assert row["flows"] == len(values)
            if values:
                assert row["mean"] == pytest.approx(sum(values) / len(values), rel=1e-9)
                assert row["p99"] == pytest.approx(values[-(-99 * len(values) // 100) - 1], rel=1e-6)


def test_the_summary_repeats_the_tables(results: Results) -> None:
    for run in results.runs:
        flows, summary = run.table("flows"), run.summary
        assert summary["flows"]["total"] == flows.num_rows
        assert summary["flows"]["counted"] == sum(flows["counted"].to_pylist())
        drops = run.table("drops").to_pydict()
        for reason, packets in summary["drops"].items():
            at = zip(drops["reason"], drops["packets"], strict=True)
            assert sum(count for name, count in at if name == reason) == packets
        assert summary["buffer"]["max_bytes"] == max(run.table("buffers")["buffered_bytes"].to_pylist())
