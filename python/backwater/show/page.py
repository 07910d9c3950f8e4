"""The data of the report's page, which figures and notebooks draw as well. `report.js` reads it as JSON."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from backwater.common.values import Swept
from backwater.judge.panels import Panel, PanelRun
from backwater.runs.manifest import Params
from backwater.runs.summary import Bin, Summary
from backwater.runs.verdicts import Claim
from backwater.scenario.claims import Figure

Statistic = Literal["mean", "p50", "p95", "p99"]
Bounds = tuple[float | None, float | None]
"""Of an interval; None where there is none."""
BOUNDS: dict[Statistic, Literal["mean_bounds", "p50_bounds", "p95_bounds", "p99_bounds"]] = {
    "mean": "mean_bounds",
    "p50": "p50_bounds",
    "p95": "p95_bounds",
    "p99": "p99_bounds",
}
"""Where the interval of a statistic stands in a size bin."""


class Binned(Bin, total=False):
    """A size bin: the place at which its point stands, and intervals if it is a mean over seeds."""

    at: float
    mean_bounds: Bounds
    p50_bounds: Bounds
    p95_bounds: Bounds
    p99_bounds: Bounds


class Distribution(TypedDict):
    """A cumulative distribution: rising values, and the share of samples up to each."""

    value: list[float]
    share: list[float]


class Isolated(TypedDict):
    """Isolated flows over time in seconds."""

    time: list[float]
    flows: list[float]


class Queue(TypedDict):
    """Bytes that wait at a port: over time in seconds, and their distribution."""

    port: str
    time: list[float]
    bytes: list[float]
    cdf: Distribution


class Mmu(TypedDict):
    """Memory management units of a kind of switch."""

    switch: str
    number: int
    capacity_bytes: int | None
    peak_bytes: int | None
    dropped_full: int
    dropped_threshold: int
    marked_queue: int
    marked_pool: int


class Ports(TypedDict):
    """Egress ports by kind of node and neighbour."""

    ports: str
    number: int
    utilisation_mean: float
    utilisation_max: float
    pfc_paused_mean: float
    pfc_paused_max: float
    pfc_pauses: int
    bfc_paused_queues_mean: float
    bfc_paused_share: float
    bfc_pauses: int
    bfc_resumes: int
    bfc_bitmaps: int


class Hot(TypedDict):
    """A link that was busy or paused, one direction."""

    link: str
    seed: Swept | None
    use: float
    pfc: float
    bfc: float
    by: str
    next: str | None
    next_use: float | None


class Held(TypedDict):
    """A port that is held, or those of all hosts that one switch holds."""

    node: str
    by: str
    number: int
    held: float
    """How much is held at a time: ports (PFC), queues (BFC) or flows (FlowSail)."""
    host: bool
    parent: int | None
    """Place of the port that it waits for; None if that is the root, or not known in a cycle."""


class PauseTree(TypedDict):
    """Pauses with one root over some time. Times are seconds."""

    node: str
    towards: str
    """The node that the root port leads to."""
    cycle: bool
    """Whether pauses wait for one another. Then a port of the cycle stands for the root."""
    begin: float
    end: float
    depth: int
    """Links from the root to the farthest held port: at most."""
    fan_out: int
    """Ports that the root node holds at once: at most."""
    hosts: int
    switches: int
    queue: int
    held: float
    """Time that ports were held, all together."""
    at: float
    """Begin of the period in which it has most ports."""
    ports: list[Held]
    """Those that were held then; none of a tree that has no picture."""


class PauseTrees(TypedDict):
    """Trees of pauses of a run, the largest first."""

    number: int
    period: float
    trees: list[PauseTree]


class Measured(TypedDict):
    """A value with its interval."""

    value: float
    bounds: Bounds


class Last(TypedDict):
    """The rank that is last alone most often."""

    host: str
    times: int
    of: int
    behind: float


Collective = TypedDict(
    "Collective",
    {
        "class": str,
        "pattern": str,
        "ranks": int,
        "iterations": int,
        "ended": int,
        "completion": Measured | None,
        "mean": Measured | None,
        "p50": Measured | None,
        "p95": Measured | None,
        "p99": Measured | None,
        "slowest": float | None,
        "last": Last | None,
        "alg": float | None,
        "bus": float | None,
        "compute": NotRequired[float | None],
        "exposed": NotRequired[float | None],
        "other": NotRequired[float | None],
        "bubble": NotRequired[float | None],
        "times": list[float],
    },
)
"""A collective or a job: its iterations, what a rank does in them on average, and the bandwidth that they come to.

Percentiles of the time per iteration are None where there are too few. `compute`, `exposed`, `other` and `bubble` sum
to the mean time from the first rank's begin to the last rank's end (`runs/jobs.py`).
"""


class ShownRank(TypedDict):
    """A row of a timeline."""

    rank: int
    host: str


class ShownIteration(TypedDict):
    """An iteration of a timeline: seconds from the start of its first rank to the end of its last."""

    number: int
    begin: float
    end: float


Timeline = TypedDict(
    "Timeline",
    {
        "class": str,
        "pattern": str,
        "ranks": int,
        "ended": int,
        "rows": list[ShownRank],
        "iterations": list[ShownIteration],
        "phases": list[str],
        "unit": float,
        "times": str,
        "cells": str,
        "bubbles": str,
        "messages": str | None,
    },
)
"""Ranks of a job over time. Arrays are packed, times in steps of `unit` seconds.

`times` has begin, length and computation of each span, and `cells` its row, iteration, first and last phase. `bubbles`
and `messages` have row, begin and end: when the rank is in no iteration, and when a message of it is under way.
Messages are None if hosts have several ranks. Ranks and iterations may be some of all.
"""


class Placed(TypedDict):
    """A node of a network, and where it is drawn."""

    name: str
    layer: int
    x: float


class Most(TypedDict):
    """The largest values of arrays that are packed."""

    queue: float
    held: float


class OverTime(TypedDict):
    """A network over time, packed."""

    ends: list[float]
    nodes: list[Placed]
    links: list[list[int]]
    rates: list[float]
    most: Most
    use: str
    queue: str
    held: str


ExplainedFlows = TypedDict(
    "ExplainedFlows",
    {
        "told": str,
        "left_out": int,
        "causes": list[list[str | float]],
        "kinds": dict[str, str],
        "flow": list[int],
        "class": list[str],
        "size": list[int],
        "slowdown": list[float],
        "block": int,
        "details": list[str],
    },
)
"""Explained flows of a run: all as dots, and of each its parts, packed."""


class PathCause(TypedDict):
    """Time of a critical path by cause. `why` says what it is drawn as."""

    why: str
    words: str
    span: float


class PathHop(TypedDict):
    """A port on the way of a message: picoseconds there, and parts of them, each with words and place among causes."""

    where: str
    span: int
    parts: list[list[int | str]]


PathPiece = TypedDict(
    "PathPiece",
    {
        "step": int,
        "many": int,
        "end": int,
        "from": int,
        "to": int,
        "causes": list[list[int]],
        "words": str,
        "flow": str,
        "number": int,
        "hops": list[PathHop],
        "way": list[str],
    },
    total=False,
)
"""A step of a critical path, or `many` short ones. It begins when the piece before it ends, and ends `end` picoseconds
after the start of the iteration. `from` and `to` are places among `ranks`. `causes` has place among `causes` and
picoseconds, the longest first. The last four are of a message.
"""

IterationPath = TypedDict(
    "IterationPath",
    {
        "class": str,
        "iteration": int,
        "begin": float,
        "time": float,
        "mean": float | None,
        "told": str,
        "steps": int,
        "places": list[list[str | float]],
        "causes": list[PathCause],
        "ranks": list[int],
        "pieces": str,
        "compared": list[str],
    },
)
"""The critical path of an iteration. Spans of `causes` sum to `time`, and so do those of `places`. `pieces` are packed.

`mean` is the mean time of those iterations of the job that the summary has. `compared` says how this one differs from
the same iteration of other runs.
"""


class PathCommand(TypedDict):
    """The command that adds the critical path of an iteration, and the runs that it explains."""

    labels: list[str]
    iteration: str
    usual: bool
    """Whether the iteration was chosen because its times come nearest to the mean under each run."""
    command: str


class Explain(TypedDict):
    """The command that says why a run's tail is slow, and how long the tail is."""

    label: str
    command: str
    value: float | None


class Seed(TypedDict, total=False):
    """One of several seeds of a run."""

    name: str
    mark: str
    digest: str
    packet_hops_per_s: float | None
    summary: Summary
    network: OverTime | None
    explained: ExplainedFlows | None
    path: IterationPath | None


class Numbers(TypedDict):
    """A run: a line in every chart, a row in every table."""

    name: str
    variant: str
    named: str
    """Its variant, whatever else was swept."""
    shown: str
    scheme: str
    ideal: bool
    mark: str
    digest: str
    point: Params
    packet_hops_per_s: float | None
    summary: Summary
    slowdown_all: dict[str, Binned]
    slowdown: dict[str, list[Binned]]


class Curves(TypedDict, total=False):
    """Distributions of a run, curves over time, and tables by kind."""

    buffer: Distribution | None
    active_flows: Distribution | None
    isolated: Isolated | None
    queueing_delay: Distribution | None
    queues: list[Queue]
    pool: Distribution | None
    mmus: list[Mmu]
    ports: list[Ports]
    hot: list[Hot]
    collectives: list[Collective]
    config: dict[str, str]
    unused: list[str]


class Drawn(Curves, total=False):
    """What is drawn of a run, or of all its seeds."""

    network: OverTime | None
    timelines: list[Timeline]
    pause_trees: PauseTrees | None


class RunData(Numbers, Drawn, total=False):
    """All that the page shows of a run, or of all seeds of one."""

    left_out: bool
    explained: ExplainedFlows | None
    path: IterationPath | None
    path_command: PathCommand
    place: str
    slot: int
    explain: Explain | None
    seeds: list[Swept]
    members: list[Seed]


class Best(TypedDict):
    """Who is best at a point of the sweep."""

    variant: str
    value: float


class WinnersRow(TypedDict):
    """A point of the sweep: its runs, and who is best."""

    point: str
    runs: list[PanelRun]
    best: Best | None
    tie: bool


class Winners(TypedDict):
    """What the first sentence compares, at each point of the sweep."""

    label: str
    better: str
    rows: list[WinnersRow]
    left_out: int


class ExperimentData(TypedDict):
    """An experiment in the strip at the top."""

    name: str
    version: str
    seed: int | None
    scale: str
    digest: str
    command: str
    wall_s: float | None
    packet_hops: int | None
    packet_hops_per_s: float | None
    threads: int | None
    peak_rss_mb: float | None


class Dropped(TypedDict):
    """Packets that were lost, and credits that were dropped by design."""

    packets: int
    credits: int


class Programs(TypedDict):
    """What programs on hosts told, a column for each run."""

    runs: list[str]
    rows: list[list[str]]


class PageData(TypedDict, total=False):
    """Everything on the page."""

    name: str
    description: str
    left: list[str]
    experiments: list[ExperimentData]
    runs: list[RunData]
    figure: Figure | None
    panels: list[Panel]
    undrawn: list[str]
    dropped: Dropped
    claims: list[Claim]
    answer: list[str]
    headline: list[Panel]
    winners: Winners | None
    programs: Programs
