"""Several runs: their selection, their joined tables, and the data frames made of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from backwater import Experiment, InputError, Results
from backwater.common import disk
from backwater.runs import frames, tables

HEAD = ["label", "variant", "scheme", "seed", "load"]
NETWORK = {
    "topology": {"kind": "single-switch", "hosts": 4, "rate": "100 Gbps", "delay": "1 us"},
    "workload": [
        {"kind": "background", "sizes": {"fixed": "10 KB"}, "load": 0.5, "load_of": "receivers"},
        {"kind": "incast", "degree": 2, "aggregate": "100 KB", "period": "40 us"},
    ],
    "run": {"duration": "100 us"},
    "measure": {"size_bins": ["20 KB"]},
    "variant": [{"name": "BFC", "scheme": "bfc"}, {"name": "DCTCP", "scheme": "dctcp"}],
    "sweep": {"background.load": [0.3, 0.5]},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two variants at two loads with two seeds each."""
    return Experiment(NETWORK, seeds=2).simulate(tmp_path_factory.mktemp("runs") / "done")


def test_runs_are_a_sequence_and_say_shortly_what_they_are(results: Results) -> None:
    assert len(results) == 8
    assert [run.label for run in results] == [run.label for run in results.runs]
    assert results[0] is results.runs[0]
    assert [run.label for run in results[2:4]] == [run.label for run in results.runs[2:4]]
    assert repr(results) == f"Results({str(results.path)!r}: 8 runs, 2 variants, 2 seeds, 2 of load)"
    assert repr(results["BFC"][:1]) == f"Runs({str(results.path)!r}: BFC.load=0.3.seed=1)"
    assert repr(results[0]) == "Run('BFC.load=0.3.seed=1', finished)"
    assert "BFC" in results
    assert results[0] in results
    assert "HPCC" not in results
    assert results[0] not in results["DCTCP"]


def test_runs_are_selected_by_name_and_by_coordinate(results: Results) -> None:
    assert [(run.variant, run.seed) for run in results["BFC"]] == [("BFC", 1), ("BFC", 2)] * 2
    assert [run.label for run in results.select("BFC", load=0.5)] == ["BFC.load=0.5.seed=1", "BFC.load=0.5.seed=2"]
    at = {"background.load": 0.3}
    assert [run.label for run in results.select(seed=2, **at)] == ["BFC.load=0.3.seed=2", "DCTCP.load=0.3.seed=2"]
    assert len(results.select(variant=["BFC", "DCTCP"], seed=range(1, 3))) == 8
    assert results.run("BFC.load=0.5.seed=2").seed == 2
    with pytest.raises(InputError, match=r"BFC: these are 4 runs, such as 'BFC.load=0.3.seed=1': expected one"):
        results.run("BFC")
    with pytest.raises(InputError, match=r"no coordinate 'laod'; did you mean load\? expected one of label, variant"):
        results.select(laod=0.5)
    assert results.select(load=np.array([0.1 + 0.2, 0.5])).runs == results.runs, "0.30000000000000004 is meant as 0.3"
    with pytest.raises(InputError, match=r"no run with load = 0.4; there are 0.3, 0.5"):
        results.select(load=0.4)


@pytest.mark.parametrize("table", ["flows", "slowdown", "buffers", "ports", "summary"])
def test_every_table_says_of_which_run_a_row_is(results: Results, table: str) -> None:
    rows = results.table(table)
    assert rows.column_names[:5] == HEAD
    known = {run.label: (run.variant, run.scheme, run.seed, run.params["background.load"]) for run in results}
    found = {row["label"]: tuple(row[name] for name in HEAD[1:]) for row in rows.select(HEAD).to_pylist()}
    assert found == known
    if table != "summary":
        parts = pa.concat_tables(run.table(table) for run in results).unify_dictionaries()
        assert rows.select(parts.column_names).equals(parts), "and the rows are those of the runs, in their order"


def test_slowdown_is_grouped_by_scheme_and_load_without_a_join(results: Results) -> None:
    means = results.slowdown().group_by(["scheme", "load"]).aggregate([("mean", "mean")])
    assert {(row["scheme"], row["load"]) for row in means.to_pylist()} == {
        (scheme, load) for scheme in ("bfc", "dctcp") for load in (0.3, 0.5)
    }
    again = results.sql("select scheme, load, avg(mean) as mean from slowdown group by all order by all")
    by_hand = sorted((row["scheme"], row["load"], row["mean_mean"]) for row in means.to_pylist())
    assert [tuple(row.values()) for row in again.to_pylist()] == [pytest.approx(row) for row in by_hand]


def test_columns_and_conditions_select_what_a_filter_of_everything_does(results: Results) -> None:
    everything = results.flows()
    condition = pc.and_(pc.greater(everything["size_bytes"], 10_000), pc.equal(everything["scheme"], "bfc"))
    some = results.flows(columns=["flow", "slowdown"], where="size_bytes > 10000 and scheme = 'bfc'")
    expected = everything.filter(condition).select([*HEAD, "flow", "slowdown"]).unify_dictionaries()
    assert some.to_pylist() == expected.to_pylist()
    assert 0 < some.num_rows < everything.num_rows
    assert some.schema.equals(expected.schema, check_metadata=True), "types and units are the same, too"
    assert results.flows(columns=["scheme", "slowdown"]).column_names == ["scheme", "slowdown"]
    assert results.flows(where="false").num_rows == 0
    assert results["BFC"].flows(where="load = 0.5").num_rows == len(results.select("BFC", load=0.5).flows())
    assert results.table("summary", ["packet_hops"], where="seed = 2").num_rows == 4


def test_a_wrong_column_or_condition_is_refused(results: Results) -> None:
    with pytest.raises(InputError, match=r"flows: no column 'slowdwn'; did you mean slowdown\?"):
        results.flows(columns=["slowdwn"])
    with pytest.raises(InputError, match=r"columns = 'slowdown': expected a list of names, such as \['slowdown'\]"):
        results.flows(columns="slowdown")
    with pytest.raises(InputError, match=r"where = 'sizes > 3': .*sizes"):
        results.flows(where="sizes > 3")
    with pytest.raises(InputError, match=r"where = '1; drop table flows'"):
        results.flows(where="1; drop table flows")
    with pytest.raises(InputError, match=r"where = 'class::int < 3': .*Could not convert"):
        results.flows(where="class::int < 3")
    with pytest.raises(InputError, match=r"Could not convert"):
        results.sql("select class::int from flows")
    for empty in ("", " ", 3):
        with pytest.raises(InputError, match=rf"where = {empty!r}: expected a condition in SQL, such as"):
            results.flows(where=empty)
    with pytest.raises(InputError, match=r"Table with name flow does not exist(.|\n)*The tables are .*flows"):
        results.sql("select * from flow")
    with pytest.raises(InputError, match="no table 'flow'"):
        results.table("flow")


def test_runs_may_be_named_where_a_table_is_read(results: Results) -> None:
    assert results.flows(runs="BFC").equals(results["BFC"].flows())
    assert results.slowdown(runs=["BFC"], where="seed = 1").num_rows == results["BFC"].slowdown("seed = 1").num_rows
    both = results.flows(["slowdown"], runs=["DCTCP", "BFC"])
    assert both["variant"].unique().to_pylist() == ["BFC", "DCTCP"], "runs stay in their order"
    assert results.to_pandas("slowdown", runs="BFC").shape[0] == results["BFC"].slowdown().num_rows
    with pytest.raises(InputError, match=r"no run 'HPCC'; expected one of BFC, DCTCP, BFC\.load=0\.3, "):
        results.flows(runs="HPCC")
    assert [run.label for run in results[["BFC"]]] == [run.label for run in results["BFC"]]
    assert results[np.int64(1)] is results[1]
    with pytest.raises(TypeError, match=r"1\.5: expected the name of runs, a list of names, a number or a slice"):
        results[1.5]


def test_a_query_reads_the_files_of_its_tables_only(results: Results, tmp_path: Path) -> None:
    copied = Experiment(NETWORK).simulate(tmp_path / "copied")
    (copied[0].path / "buffers.parquet").write_bytes(b"damaged")
    assert copied.sql("select count(*) as n from flows")["n"][0].as_py() == copied.flows().num_rows
    for read in (lambda: copied.sql("select * from buffers"), lambda: copied.table("buffers", where="true")):
        with pytest.raises(InputError, match=r"buffers\.parquet: damaged"):
            read()


def test_the_tidy_summary_has_every_number_of_the_summary(results: Results) -> None:
    tidy = results.summary()
    assert tidy.column_names == [*HEAD, "name", "class", "value", "unit"]
    rows = {(row["label"], row["name"], row["class"]): row for row in tidy.to_pylist()}
    assert len(rows) == tidy.num_rows
    for run in results:
        assert rows[run.label, "buffer.p99_bytes", None]["value"] == run.summary["buffer"]["p99_bytes"]
        assert rows[run.label, "buffer.p99_bytes", None]["unit"] == "B"
        for load in run.summary["load"]:
            assert rows[run.label, "load.offered_bps", load["class"]]["value"] == load["offered_bps"]
    wide = results.table("summary")
    numbers = [
        name
        for name in wide.column_names[5:]
        if not name.startswith("slowdown.") and not pa.types.is_string(wide[name].type)
    ]
    assert tidy.num_rows == sum(wide.num_rows - wide[name].null_count for name in numbers)


def test_columns_have_units_and_descriptions(results: Results) -> None:
    columns = {one["name"]: one for one in results.columns("flows")}
    assert list(columns)[:5] == HEAD
    assert columns["size_bytes"]["unit"] == "B"
    fields = results.flows().schema
    types = {one.name: "cat" if pa.types.is_dictionary(one.type) else str(one.type) for one in fields}
    assert {name: one["type"] for name, one in columns.items()} == types
    assert columns["load"]["description"] == "the swept key background.load"
    assert all(one["description"] for one in columns.values())
    assert {one["name"] for one in results.columns("summary")} == set(results.table("summary").column_names)


@pytest.mark.parametrize("where", [None, "size_bytes > 0"])
def test_a_large_table_is_scanned_in_bounded_memory(tmp_path: Path, where: str | None) -> None:
    """Ten times the rows, 32 MB of numbers that cannot be compressed, take as much memory."""

    def peak(rows: int) -> int:
        copied = Experiment(NETWORK, variant="BFC", seed=1, load=0.5).simulate(tmp_path / str(rows))
        flows = copied[0].table("flows")
        many = flows.take(np.arange(rows) % flows.num_rows)
        at = many.column_names.index("slowdown")
        many = many.set_column(at, many.schema.field(at), pa.array(np.random.default_rng(7).random(rows)))
        file = copied[0].path / "flows.parquet"
        pq.write_table(many, file, row_group_size=1 << 18, **tables.stored(many.schema))
        copied[0].entry.files["flows.parquet"] = disk.sha256(file)
        del many
        before = pa.total_allocated_bytes()
        most = counted = 0
        for batch in copied.scan("flows", ["slowdown"], where):
            most, counted = max(most, pa.total_allocated_bytes() - before), counted + batch.num_rows
        assert counted == rows
        return most

    assert peak(4_000_000) < peak(400_000) + 8e6


def test_data_frames_have_the_same_values(results: Results) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table = results.table("slowdown")
    frame = results.to_pandas("slowdown")
    assert list(frame.columns) == table.column_names
    assert frame.groupby(["scheme", "load"], observed=True)["mean"].mean().shape == (4,)
    assert isinstance(frame["scheme"].dtype, pandas.CategoricalDtype)
    other = results.to_polars("slowdown", where="seed = 1")
    assert other.height == results.table("slowdown", where="seed = 1").num_rows
    assert other["p99"].to_list() == results.table("slowdown", ["p99"], where="seed = 1")["p99"].to_pylist()
    assert polars.DataFrame(results).height == 8


def test_an_xarray_dataset_has_a_dimension_for_each_coordinate(results: Results) -> None:
    pytest.importorskip("xarray")
    data = results.to_xarray()
    assert data["slowdown_p99"].dims == ("variant", "load", "seed", "class", "size")
    assert dict(data.sizes) == {"variant": 2, "load": 2, "seed": 2, "class": 2, "size": 2}
    assert data["buffer.p99_bytes"].dims == ("variant", "load", "seed")
    assert data["scheme"].sel(variant="DCTCP").item() == "dctcp"
    sizes = {(0, 20_000): "<=20000", (20_000, None): ">20000"}
    for row in results.slowdown().to_pylist():
        at = {name: row[name] for name in ("variant", "load", "seed", "class")}
        size = sizes[row["size_low_bytes"], row["size_high_bytes"]]
        found = data["slowdown_p99"].sel(size=size, **at).item()
        assert found == (pytest.approx(row["p99"]) if row["p99"] is not None else pytest.approx(np.nan, nan_ok=True))
    run = results.select("DCTCP", load=0.5, seed=2).run()
    value = data["packet_hops"].sel(variant="DCTCP", load=0.5, seed=2).item()
    assert value == run.summary["packet_hops"]
    assert np.isfinite(data["slowdown_mean"].sel({"class": "background", "size": "<=20000"})).all()


def test_sizes_of_a_dataset_are_in_their_order(results: Results) -> None:
    pytest.importorskip("xarray")
    slowdown = results.slowdown()
    backwards = slowdown.take(list(range(slowdown.num_rows))[::-1])
    data = frames.xarray_of(results.coordinates, backwards, results.summary())
    assert data["size"].values.tolist() == ["<=20000", ">20000"]
    assert data["size_low_bytes"].values.tolist() == [0, 20_000]
    assert data["slowdown_p99"].equals(results.to_xarray()["slowdown_p99"])


def test_a_missing_extra_is_named(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(InputError, match=r"xarray is not installed: pip install 'backwater\[xarray\]'"):
        results.to_xarray()
