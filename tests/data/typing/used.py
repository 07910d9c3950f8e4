"""Backwater as its users use it, with the types that a type checker has to find. Nothing here runs."""

from collections.abc import Iterator
from typing import Any, assert_type

import pandas as pd
import polars as pl
import xarray as xr

import backwater
from backwater import (
    Estimate,
    Experiment,
    InputError,
    RateControl,
    Results,
    Run,
    Runs,
    Scheme,
    Signals,
    sizes,
    topology,
    units,
    workload,
)

network = topology.leaf_spine(
    leaves=2,
    spines=2,
    hosts_per_leaf=8,
    host_rate=100 * units.Gbps,
    core_rate=100 * units.Gbps,
    host_delay=1 * units.us,
    core_delay=1 * units.us,
)
traffic = workload.background(sizes=sizes.table("fb_hadoop"), load=0.6, load_of="receivers")
experiment = Experiment.of(network, traffic, schemes=["bfc", "dctcp"], duration=1 * units.ms, seeds=3)
assert_type(experiment, Experiment)
assert_type(experiment.labels, list[str])
assert_type(experiment.estimate(), Estimate)
assert_type(experiment.estimate().wall_s, float)
assert_type(experiment.to_dict(), dict[str, Any])
assert_type(experiment.with_(seeds=2), Experiment)

results = experiment.run()
assert_type(results, Results)
assert_type(results[0], Run)
assert_type(results["BFC"], Runs)
assert_type(results[["BFC", "DCTCP"]], Runs)
assert_type(results[1:], Runs)
assert_type(results.select(seed=1), Runs)
assert_type(results.run("bfc.seed=1"), Run)
assert_type(iter(results), Iterator[Run])
assert_type(results.to_pandas(), pd.DataFrame)
assert_type(results.to_polars("slowdown"), pl.DataFrame)
assert_type(results.to_xarray(), xr.Dataset)
assert_type(results.answer, list[str])
assert_type(results.complete, bool)
assert_type(backwater.schemes(), list[Scheme])
assert_type(backwater.version, str)


async def beside_others() -> None:
    assert_type(await experiment.run_async(), Results)


class Gentle(RateControl):
    """A control with the types that its methods are given."""

    def on_ack(self, flow: int, signals: Signals) -> float:
        assert_type(signals.rate, float)
        assert_type(signals.acks, int)
        return signals.rate


Experiment.of(network, traffic, schemes=["dctcp", Gentle], duration=1 * units.ms)

try:
    results.verify()
except InputError as error:
    assert_type(error.file, str | None)

# What is wrong is seen to be wrong: a comment that is not needed is an error itself.
topology.leaf_spine(leaves="2")  # type: ignore[call-arg, arg-type]
workload.background(sizes=sizes.table("fb_hadoop"), load=0.6, load_of="nobody")  # type: ignore[arg-type]
results[1.5]  # type: ignore[call-overload]
Experiment.of(network, traffic, schemes=3, duration=1.0)  # type: ignore[arg-type]
