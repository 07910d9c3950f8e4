"""A scenario's backpressure graph, its cycles, and the smallest set of turns to elide."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from backwater import _core
from backwater.compute.running import is_computation, kind_of

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

FAILURES = ("0", "1", "2", "all")
SECONDS = 60.0
"""After which the best set found so far will do."""
EVERY_S = 0.1


class Edge(msgspec.Struct, kw_only=True):
    """A turn in the simulator's report; of a cycle or of the graph of waits."""

    start: str = msgspec.field(name="from")
    switch: str
    end: str = msgspec.field(name="to")
    by: str
    table: str | None
    region: int | None = None
    share: float = 0.0
    component: int = 0


class Wait(Edge, kw_only=True):
    """An edge of a cycle, and under which failures it is there."""

    towards: str | None
    failed: list[tuple[str, str]]
    change: bool


class Report(msgspec.Struct):
    """What the simulator found."""

    ports: int
    turns: int
    pausing: int
    elided: int
    elided_turns: list[Edge]
    components: list[int]
    circle: list[Wait]
    alone: bool
    edges: list[Edge]


Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Turn:
    """A turn: packets reach `switch` from one neighbour and go on to another, or back."""

    start: str
    switch: str
    end: str
    by: str
    """The backpressure whose pauses hold the neighbour there, as scenarios name it."""
    table: str | None = None
    """The table of `switch` whose `elide` may have it; None: what holds the neighbour names no egress."""
    region: int | None = None
    """The `[[region]]` that the switch is in."""
    share: float = 0.0
    """Of the pairs of hosts, those whose packets take it while no link has failed, dealt out evenly over paths."""

    @property
    def names(self) -> list[str]:
        """Returns the names of the turn, as the key `elide` lists them."""
        return [self.start, self.switch, self.end]


@dataclass(frozen=True)
class Waits:
    """The port from `turn.start` to `turn.switch` waits for the one from there to `turn.end`."""

    turn: Turn
    towards: str | None
    """Of packets to the hosts of this switch; None: of any."""
    failed: list[tuple[str, str]]
    """Links without which the routes are so."""
    changing: bool
    """Packets under way come to it while routes change."""


@dataclass(frozen=True)
class Elision:
    """Turns to elide. Without backpressure on them there is no cycle."""

    turns: list[Turn]
    bound: int
    """No set has fewer."""
    before: list[Turn] = field(default_factory=list)
    """Turns that the scenario elides already."""

    @property
    def is_smallest(self) -> bool:
        return len(self.turns) == self.bound

    @property
    def share(self) -> float:
        """Returns the share of pairs of hosts whose packets take these turns. A pair counts once for each turn."""
        return sum(turn.share for turn in self.turns)

    def tables(self) -> dict[tuple[int | None, str], list[list[str]]]:
        """Returns the values of `elide` by region (None for the scenario's own switch) and by table, such as `bfc`."""
        tables: dict[tuple[int | None, str], list[list[str]]] = {}
        for turn in self.turns:
            if turn.table is not None:
                tables.setdefault((turn.region, turn.table), [])
        for turn in [*self.before, *self.turns]:
            if turn.table is not None and (turn.region, turn.table) in tables:
                tables[turn.region, turn.table].append(turn.names)
        return tables


@dataclass(frozen=True)
class Deadlock:
    """The result of a search: which ports of a network can wait for each other."""

    failures: str
    ports: int
    """Egress ports, those of NICs among them."""
    turns: int
    """Turns that packets may take at switches."""
    pausing: int
    """Those of them by which a switch pauses its neighbour."""
    elided: int
    """Those by which it does not, because the scenario elides them."""
    components: list[int]
    """Ports of each strong component; none if nothing goes round."""
    circle: list[Waits]
    """A shortest one of the smallest component, or of one state of the links; each waits for the next, and the last for
    the first."""
    alone: bool
    """It is there in one state of the links, and not only in several one after another."""
    elision: Elision | None
    """None where nothing goes round, or something does by pauses alone that name no egress, such as PFC's."""

    @property
    def is_acyclic(self) -> bool:
        return not self.components

    def to_json(self) -> dict[str, object]:
        """Returns what `backwater deadlock --json` prints."""

        def turn(turn: Turn) -> dict[str, object]:
            return {"turn": turn.names, "by": turn.by, "share": turn.share}

        return {
            "acyclic": self.is_acyclic,
            "failures": self.failures,
            "ports": self.ports,
            "turns": self.turns,
            "pausing": self.pausing,
            "elided": self.elided,
            "components": self.components,
            "alone": self.alone,
            "circle": [
                turn(wait.turn)
                | {"towards": wait.towards, "failed": [list(link) for link in wait.failed], "changing": wait.changing}
                for wait in self.circle
            ],
            "elision": self.elision
            and {
                "turns": [turn(one) for one in self.elision.turns],
                "bound": self.elision.bound,
                "smallest": self.elision.is_smallest,
                "share": self.elision.share,
                "elide": [
                    {"region": region, "table": table, "elide": turns}
                    for (region, table), turns in self.elision.tables().items()
                ],
            },
        }


def search(
    scenario: Scenario, failures: str = "0", *, seconds: float = SECONDS, progress: Progress | None = None
) -> Deadlock:
    """Looks for cycles in a resolved scenario.

    `failures` of links between switches, beyond those of the scenario: "0", any "1" or "2" of them, or "all": packets
    may take every turn but back to where they came from. `progress` is told of failures looked at, of so many.

    # Errors
    `InputError` for other `failures`, for a computation, and if cycles can be broken but the solver is not installed.
    """
    if failures not in FAILURES:
        raise _core.InputError(f"failures = {failures}: expected one of {', '.join(FAILURES)}")
    if is_computation(scenario):
        raise _core.InputError(f"{scenario['name']}: computes {kind_of(scenario)}: expected a scenario of a network")
    running = _core.deadlock(json.dumps(scenario), failures)
    try:
        while (found := running.wait(EVERY_S)) is None:
            if progress is not None:
                progress(*running.progress())
    finally:
        running.cancel()
    report = msgspec.json.decode(found.report(), type=Report)
    edges = [turn_of(edge) for edge in report.edges]
    free = [edge.table is not None for edge in edges]
    parts = [edge.component for edge in report.edges]
    from backwater.deadlock.smallest import smallest  # It imports NumPy: only where something is searched.

    least = smallest(found, free, [edge.share for edge in edges], parts, seconds) if edges else None
    before = [turn_of(turn) for turn in report.elided_turns]
    elision = None if least is None else Elision([edges[i] for i in least.edges], least.bound, before)
    return Deadlock(
        failures=failures,
        ports=report.ports,
        turns=report.turns,
        pausing=report.pausing,
        elided=report.elided,
        components=report.components,
        circle=[Waits(turn_of(wait), wait.towards, wait.failed, wait.change) for wait in report.circle],
        alone=report.alone,
        elision=elision,
    )


def turn_of(edge: Edge) -> Turn:
    return Turn(edge.start, edge.switch, edge.end, edge.by, edge.table, edge.region, edge.share)
