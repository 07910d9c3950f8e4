"""A computation in progress, with the same calls as a simulation's run, so that sweeps treat both alike."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from backwater import _core
from backwater._core import InputError
from backwater.compute.registry import COMPUTATIONS
from backwater.scenario.plan import Forecast

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

KEY: Final = "compute"
"""What makes a resolved scenario a computation."""
ONE_AT_A_TIME = threading.Lock()
"""Python runs one at a time anyway, and runs of a sweep may share what the first of them works out."""
ESTIMATE = Forecast(flows=0.0, packet_hops=0.0, sim_time_ps=0.0, memory_mb=300.0)
"""What one takes, in terms of simulations."""


def is_computation(scenario: Scenario) -> bool:
    return KEY in scenario


def kind_of(scenario: Scenario) -> str:
    return str(scenario[KEY]["kind"])


def networks(place: object, scenarios: list[Scenario]) -> None:
    """Refuses computations, with `InputError`."""
    if any(is_computation(scenario) for scenario in scenarios):
        raise InputError(f"{place}: a computation: expected a scenario of a network")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a computation. It has no results if it was stopped before it began."""

    kind: str
    results: dict[str, float | None] | None

    @cached_property
    def digest(self) -> str:
        """Returns a digest over the results: 256 bits in hex."""
        return hashlib.sha256(json.dumps(self.results).encode()).hexdigest()

    def digests(self) -> str:
        return json.dumps({"results": self.digest})

    def summary(self) -> str:
        return json.dumps(
            {
                "complete": self.results is not None,
                "ending": {"why": "interrupted" if self.results is None else "finished"},
                "packet_hops": 0,
                "results": self.results or {},
                "facts": list(COMPUTATIONS[self.kind].facts),
                "exact": not COMPUTATIONS[self.kind].draws,
            }
        )

    def tables(self) -> list[str]:
        """Returns no tables: the results are numbers of the summary."""
        return []

    def batches(self, table: str, rows: int) -> _core.Batches:
        raise KeyError(table)

    def categories(self, table: str, column: str) -> list[str] | None:
        raise KeyError(table)


def unheard(state: Literal["running", "done"]) -> _core.Progress:
    """Returns the progress of a run that is unknown until it ends."""
    return {
        "now_ps": 0,
        "end_ps": 1,
        "packet_hops": 0,
        "flows_started": 0,
        "flows_finished": 0,
        "counted_left": 0,
        "state": state,
    }


class Computing:
    """A computation in its own thread."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.cancelled = False
        self.found: dict[str, float | None] | None = None
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        given = self.scenario[KEY]
        try:
            with ONE_AT_A_TIME:
                if not self.cancelled:
                    self.found = COMPUTATIONS[kind_of(self.scenario)].run(given, self.scenario["seed"])
        except BaseException as failure:  # Whatever it is, whoever waits decides.
            self.failure = failure

    def progress(self) -> _core.Progress:
        return unheard("running" if self.thread.is_alive() else "done")

    def cancel(self) -> None:
        """Cancels a computation that has not begun. One that has begun goes on to its end."""
        self.cancelled = True

    def wait(self, seconds: float) -> bool:
        self.thread.join(seconds)
        return not self.thread.is_alive()

    def outcome(self) -> Outcome:
        if self.failure is not None:
            raise self.failure
        return Outcome(kind_of(self.scenario), self.found)
