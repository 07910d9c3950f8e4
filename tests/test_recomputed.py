"""Values that claims read, computed again from the tables by code that shares nothing with the judge."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from backwater import Experiment, Results
from backwater.judge import claims
from backwater.scenario import experiments

Rows = list[dict[str, Any]]


def rows(place: Path, table: str) -> Rows:
    return pq.read_table(place / f"{table}.parquet").to_pylist()


def slowdowns(place: Path, least: int, most: float, of: str = "background") -> list[float]:
    """Slowdowns of flows that count, larger than `least` bytes and at most `most`, the smallest first.

    Flows that have not finished have their age at the end of the run.
    """
    end = json.loads((place / "summary.json").read_text())["sim_time_ps"]
    return sorted(
        ((end if one["finish_rx_ps"] is None else one["finish_rx_ps"]) - one["arrival_ps"]) / one["ideal_ps"]
        for one in rows(place, "flows")
        if one["counted"] == 1 and one["class"] == of and least < one["size_bytes"] <= most
    )


def p99(place: Path) -> float:
    """Nearest rank: the smallest value that 99 % do not exceed."""
    values = slowdowns(place, 0, 3000)
    return next(value for i, value in enumerate(values, 1) if 100 * i >= 99 * len(values))


def mean_of_large(place: Path) -> float:
    values = slowdowns(place, 100_000, math.inf)
    return sum(values) / len(values)


def median_of_mice(place: Path) -> float:
    values = slowdowns(place, 0, math.inf, of="direct")
    return values[(len(values) + 1) // 2 - 1]


def mean_until_acknowledged(place: Path) -> float:
    took = [
        (one["finish_tx_ps"] - one["arrival_ps"]) * 1e-12
        for one in rows(place, "flows")
        if one["counted"] == 1 and one["finish_tx_ps"] is not None and 102_400 < one["size_bytes"] <= 10_485_760
    ]
    return sum(took) / len(took)


def mean_active_flows(place: Path) -> float:
    counts = rows(place, "active_flows")
    return sum(one["flows"] * one["samples"] for one in counts) / sum(one["samples"] for one in counts)


CASES: dict[str, tuple[str, str, dict[str, Any], Callable[[Path], float]]] = {
    "p99 slowdown": ("bfc-fig11", "BFC", {"slowdown": "p99", "sizes": "<=3000"}, p99),
    "mean slowdown": ("flowsail-fig13", "FlowSail-8Q", {"slowdown": "mean", "sizes": ">100000"}, mean_of_large),
    "median slowdown": ("bfc-fig15", "BFC-32", {"slowdown": "p50", "class": "direct"}, median_of_mice),
    "until acknowledged": (
        "bcc-fig10",
        "BCC",
        {"fct_ack": "mean", "sizes": "(102400,10485760]"},
        mean_until_acknowledged,
    ),
    "active flows": ("bfc-fig10", "BFC", {"active_flows": "mean"}, mean_active_flows),
}


@pytest.mark.parametrize("name", CASES)
def test_a_value_is_what_the_tables_say(name: str, tmp_path: Path) -> None:
    experiment, variant, value, recompute = CASES[name]
    asked = Experiment(experiments.known()[experiment], scale="smoke").with_(variant=variant, seeds=2)
    done: Results = asked.simulate(tmp_path / "out")
    expectation = {
        "claim": "own-recomputed.1",
        "kind": "between",
        "variant": variant,
        "value": value,
        "low": 0,
        "scales": ["smoke"],
    }
    (row,) = claims.evaluate([expectation], done)
    by_point: dict[tuple[Any, ...], list[float]] = {}
    for run in done.runs:
        point = tuple((key, swept) for key, swept in run.params.items() if key != "seed")
        by_point.setdefault(point, []).append(recompute(run.path))
    means = [sum(values) / len(values) for values in by_point.values()]
    assert [check["measured"] for check in row["checks"]] == [pytest.approx(mean, rel=1e-12) for mean in means]
    assert len(means) == len(row["checks"]) >= 1
