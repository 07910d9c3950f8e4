"""What charts draw, against first principles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from backwater.runs.run import Run
from backwater.show import series
from conftest import bare_run

counts = st.lists(st.integers(0, 1000), min_size=1, max_size=400)


@given(counts)
def test_a_cdf_never_says_more_than_the_samples(values: list[int]) -> None:
    drawn = series.cdf(np.array(values))
    assert drawn["value"] == sorted(set(drawn["value"]))
    assert drawn["share"] == sorted(drawn["share"])
    assert drawn["value"][0] == min(values)
    assert drawn["value"][-1] == max(values)
    assert drawn["share"][-1] == 1
    for value, share in zip(drawn["value"], drawn["share"], strict=True):
        assert sum(v < value for v in values) / len(values) < share + 1e-9
        assert share <= sum(v <= value for v in values) / len(values) + 1e-9


@given(counts)
def test_a_histogram_and_its_samples_have_one_distribution(values: list[int]) -> None:
    distinct, times = np.unique(values, return_counts=True)
    drawn = series.counted_cdf(distinct, times)
    assert drawn["value"] == sorted(set(values))
    for value, share in zip(drawn["value"], drawn["share"], strict=True):
        assert abs(share - sum(v <= value for v in values) / len(values)) < 1e-12


def test_nothing_measured_is_nothing_drawn() -> None:
    assert series.cdf(np.array([])) == {"value": [], "share": []}
    assert series.counted_cdf(np.array([1, 2]), np.array([0, 0])) == {"value": [], "share": []}


def sampled(place: Path, **columns: list[int]) -> Run:
    """A run of which only the samples are there."""
    pq.write_table(
        pa.table({name: pa.array(values, pa.uint64()) for name, values in columns.items()}), place / "buffers.parquet"
    )
    return bare_run(place)


def test_isolated_flows_are_summed_over_switches(tmp_path: Path) -> None:
    run = sampled(tmp_path, time_ps=[1_000_000, 1_000_000, 2_000_000, 2_000_000], isolated=[1, 2, 0, 4])
    assert series.isolated(run) == {"time": [1e-6, 2e-6], "flows": [3, 4]}


def test_nothing_isolated_is_nothing_drawn(tmp_path: Path) -> None:
    assert series.isolated(sampled(tmp_path, time_ps=[1, 2], isolated=[0, 0])) is None
    assert series.isolated(sampled(tmp_path, time_ps=[1, 2], buffered_bytes=[3, 3])) is None
    assert series.isolated(sampled(tmp_path, time_ps=[], isolated=[])) is None


def test_a_long_run_is_drawn_by_means(tmp_path: Path) -> None:
    times = list(range(0, 25_000_000, 10_000))
    drawn = series.isolated(sampled(tmp_path, time_ps=times, isolated=[i % 2 for i in range(len(times))]))
    assert drawn is not None
    assert len(drawn["time"]) == series.TIMES
    assert drawn["time"] == sorted(drawn["time"])
    assert abs(np.mean(drawn["flows"]) - 0.5) < 0.01


def test_points_stand_inside_their_bins() -> None:
    for low, high in ((0, 1000), (1000, 3000), (3_000_000, None)):
        at = series.middle(low, high)
        assert low < at
        assert high is None or at < high


def table_of(place: Path, name: str, **columns: list[int] | list[int | None] | list[str]) -> Run:
    """A run of which only one table is there."""
    arrays = {
        key: pa.array(values).dictionary_encode() if isinstance(values[0], str) else pa.array(values, pa.uint64())
        for key, values in columns.items()
    }
    pq.write_table(pa.table(arrays), place / f"{name}.parquet")
    return bare_run(place)


def test_queues_are_drawn_one_by_one(tmp_path: Path) -> None:
    n = 2 * series.TIMES + 1
    run = table_of(
        tmp_path,
        "queues",
        time_ps=[i * 1_000_000 for i in range(n)] * 2,
        node=["switch0"] * 2 * n,
        peer=["s5"] * n + ["s6"] * n,
        queued_bytes=[0] * n + list(range(n)),
    )
    low, high = series.queues([run])
    assert (low["port"], high["port"]) == ("switch0 to s5", "switch0 to s6")
    assert low["cdf"] == {"value": [0.0], "share": [1.0]}
    assert high["bytes"][:2] == [0, 3], "every third sample"
    assert high["time"][1] == 3e-6
    assert len(high["time"]) <= series.TIMES
    assert high["cdf"]["value"][-1] == n - 1, "of all samples"


def test_of_many_queues_the_longest_is_drawn_and_the_distribution_of_all(tmp_path: Path) -> None:
    ports = [f"host{i}" for i in range(series.PORTS + 1)]
    times = [1_000_000] * len(ports) + [2_000_000] * len(ports)
    lengths = [*range(len(ports)), *([0] * len(ports))]
    run = table_of(tmp_path, "queues", time_ps=times, node=["tor0"] * len(times), peer=ports * 2, queued_bytes=lengths)
    (all_of_them,) = series.queues([run])
    assert all_of_them["port"] == f"longest of {len(ports)} ports"
    assert (all_of_them["time"], all_of_them["bytes"]) == ([1e-6, 2e-6], [len(ports) - 1, 0])
    assert all_of_them["cdf"]["value"] == [float(i) for i in range(len(ports))]


def test_a_pool_that_is_never_used_is_in_no_distribution(tmp_path: Path) -> None:
    run = table_of(
        tmp_path, "pools", time_ps=[1, 1, 2, 2], node=["a", "a", "a", "a"], mmu=[0, 1, 0, 1], used_bytes=[0, 0, 8, 0]
    )
    assert series.pool_cdf([run]) == {"value": [0.0, 8.0], "share": [0.5, 1.0]}


def test_mmus_are_summed_by_kind_of_switch(tmp_path: Path) -> None:
    run = table_of(
        tmp_path,
        "mmus",
        node=["leaf0", "leaf0", "spine0"],
        mmu=[0, 1, 0],
        capacity_bytes=[3000, 3000, None],
        peak_bytes=[10, 2900, 400],
        dropped_full=[0, 1, 0],
        dropped_threshold=[2, 4, 0],
        marked_queue=[5, 5, 5],
        marked_pool=[0, 7, 0],
    )
    leaf, spine = series.mmus(run)
    assert leaf == {
        "switch": "leaf",
        "number": 2,
        "capacity_bytes": 3000,
        "peak_bytes": 2900,
        "dropped_full": 1,
        "dropped_threshold": 6,
        "marked_queue": 10,
        "marked_pool": 7,
    }
    assert (spine["switch"], spine["dropped_threshold"], spine["capacity_bytes"]) == ("spine", 0, None)


def test_ports_are_grouped_by_kind() -> None:
    assert [series.kind(name) for name in ("leaf12", "host0", "spine_3", "gateway", "42")] == [
        "leaf",
        "host",
        "spine",
        "gateway",
        "42",
    ]


def test_a_scenario_is_shown_as_dotted_keys() -> None:
    scenario = {
        "a": {"b": "1 us", "c": []},
        "w": [{"load": 0.5}, {"load": True}],
        "long": list(range(60)),
        "none": None,
    }
    shown = series.flat(scenario)
    assert shown["a.b"] == "1 us"
    assert shown["w[0].load"] == "0.5"
    assert shown["w[1].load"] == "true"
    assert shown["long"].endswith("10 more; scenario.json has them")
    assert list(shown)[:2] == ["a.b", "a.c"]
