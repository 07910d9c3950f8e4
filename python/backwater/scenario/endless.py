"""Flows without end: how many a scenario has, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from backwater.common.quantities import some

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario


def count(scenario: Scenario) -> int:
    """Returns the number of flows without end of a resolved scenario."""
    return sum(
        workload["count"]
        for workload in scenario.get("workload", [])
        if workload["kind"] == "long-lived" and "size" not in workload
    )


def told(scenarios: Iterable[Scenario]) -> list[str]:
    """Says that scenarios have flows without end; nothing if none has."""
    counts = {count(scenario) for scenario in scenarios}
    most = max(counts, default=0)
    if not most:
        return []
    has, end = ("has", "it ends") if most == 1 else ("have", "they end")
    upto = "Up to " if len(counts) > 1 else ""
    return [f"{upto}{some(most, 'flow')} {has} no end: {end} with the run, neither finished nor unfinished."]
