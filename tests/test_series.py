"""What charts draw, against first principles."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backwater import series

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


def test_points_stand_inside_their_bins() -> None:
    for low, high in ((0, 1000), (1000, 3000), (3_000_000, None)):
        at = series.middle(low, high)
        assert low < at
        assert high is None or at < high


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
