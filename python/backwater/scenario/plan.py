"""The plan of a scenario file: its runs, and what is asked of their results. Rust makes it, checked and complete."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from backwater import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from backwater.common.values import Swept
    from backwater.scenario.claims import Expectation, Figure
    from backwater.scenario.typed import Scenario

    Params = dict[str, Swept]
else:  # Kept as they are: Rust has checked them.
    Scenario = Params = Expectation = Figure = dict

Components = dict[str, dict[str, str]]
"""Variants, and for each component of theirs the variant that lacks it alone."""


class Planned(msgspec.Struct):
    """One run of a plan."""

    label: str
    params: Params
    """Variant and swept keys, with their values."""
    scenario: Scenario
    """The resolved scenario. Every default is filled in."""


class Plan(msgspec.Struct):
    """The runs of a scenario file, and its claims."""

    name: str
    description: str
    runs: list[Planned]
    figure: Figure | None
    expect: list[Expectation]
    scale: str
    seeds: dict[str, int | str] | None
    without: dict[str, str]
    configured: dict[str, str]
    components: Components


class Forecast(msgspec.Struct):
    """What a run takes, by an estimate. A whole number stays one."""

    flows: int | float
    packet_hops: int | float
    sim_time_ps: int | float
    memory_mb: int | float


def read(text: str) -> Plan:
    """Reads a plan from the JSON of the simulator."""
    return msgspec.json.decode(text, type=Plan)


def forecasts() -> Callable[[Scenario], Forecast]:
    """Returns a function that estimates what a network takes to simulate.

    A large job takes seconds to estimate, so runs of one that differ only in their seeds share an estimate.
    """
    known: dict[str, Forecast] = {}

    def forecast(scenario: Scenario) -> Forecast:
        asked = json.dumps(scenario if draws_traffic(scenario) else {**scenario, "seed": 1})
        if asked not in known:
            known[asked] = msgspec.json.decode(_core.estimate(asked), type=Forecast)
        return known[asked]

    return forecast


def draws_traffic(scenario: Scenario) -> bool:
    """Returns whether a seed draws flows or hosts. In jobs and collectives it draws only a random placement."""
    return any(
        workload["kind"] not in ("job", "collective") or workload.get("placement") == "random"
        for workload in scenario["workload"]
    )
