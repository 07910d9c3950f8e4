"""The tables of a claims file as types: measurements, expectations and figures. `experiments/README.md` explains them.

The reader of scenarios has checked them, so nothing is checked again here.
"""

from __future__ import annotations

from typing import Any, Literal, Required, TypeAlias, TypedDict

from backwater.common.values import Table, Value

Kind = Literal[
    "slowdown",
    "wait",
    "fct",
    "fct_ack",
    "with_timeout",
    "injected_within",
    "ports",
    "mmus",
    "pauses",
    "queue",
    "data_queue",
    "pool",
    "active_flows",
    "active_flows_distance",
    "sharing",
    "summary",
    "scenario",
    "result",
]
"""Kinds of measurement."""
Arithmetic = Literal["product", "quotient", "sum", "difference"]
Selectors = dict[str, str | int]
"""What a measurement is of, such as a variant or a class; also a kind with its statistic."""

Leaf = TypedDict(
    "Leaf",
    {
        "slowdown": str,
        "wait": str,
        "fct": str,
        "fct_ack": str,
        "with_timeout": str,
        "injected_within": str,
        "ports": str,
        "mmus": str,
        "pauses": str,
        "queue": str,
        "data_queue": str,
        "pool": str,
        "active_flows": str,
        "active_flows_distance": str,
        "sharing": str,
        "summary": str,
        "scenario": str,
        "result": str,
        "variant": str,
        "class": str,
        "sizes": str,
        "timed_out": bool,
        "node": str,
        "peer": str,
        "port": int,
        "mmu": int,
        "after": str,
        "at": Table,
        "spread": str,
        "product": "list[Expression]",
        "quotient": "list[Expression]",
        "sum": "list[Expression]",
        "difference": "list[Expression]",
    },
    total=False,
)
"""A measurement: one kind with its statistic, and selectors. Or arithmetic on several, under its name."""
Expression: TypeAlias = "float | Leaf"


class Expectation(TypedDict, total=False):
    """What the results should show. Which keys there are depends on its kind."""

    claim: Required[str]
    kind: Required[str]
    metric: str
    says: str
    band: str
    note: str
    amended: list[str]
    fact: str
    transient: str
    scales: list[str]
    variant: str
    each: dict[str, list[str | int]]
    over: list[str]
    where: Table
    without: dict[str, str]
    value: Leaf
    numerator: Leaf
    denominator: Leaf
    low: Any
    """A number; of a knee the value of a swept key."""
    high: Any
    at_least: float
    at_most: float
    expected: Any
    tolerance: float
    times: float
    chains: list[list[str]]
    slack: float
    along: str
    threshold: float
    factor: float
    relative_to: Value
    order: list[str]
    reason: str
    to: str


class Published(TypedDict, total=False):
    """A value that was published, or a list of them along the swept key."""

    panel: Required[str]
    variant: Required[str]
    value: Required[float | list[float]]
    at: Value
    where: Table


class Wanted(TypedDict, total=False):
    """A panel as the scenario asks for it."""

    label: Required[str]
    value: Required[Expression]
    marks: dict[str, Value]


class Figure(TypedDict, total=False):
    """How to draw the figure of an experiment."""

    number: str
    paper: str
    title: str
    finding: str
    missing: list[str]
    panels: list[Wanted]
    published: list[Published]
