"""The critical path of an iteration, as text: what its time was spent on, its longest steps, and runs compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.table import Table

from backwater.common import quantities
from backwater.common.quantities import some, tenths
from backwater.runs.critical import CROSSES, FOLLOWED, CriticalPath, PathCause, Step
from backwater.runs.run import Run
from backwater.show import answer, explained
from backwater.show.explained import PLACES, ROWS, us

OWN = {
    "compute": "computations",
    "message": "messages that were not followed",
    "request": "requests that were not followed",
    "clear": "answers that were not followed",
    "queue-pair": "earlier messages of the queue pair",
    "acknowledgement": "acknowledgements",
    "local": "messages within a host",
    "overhead": "time of hosts for messages",
    "gap": "gaps between messages at NICs",
    "latency": "latency of hosts",
}
"""Steps that have no parts, in words."""
ONE = {
    "message": "unfollowed",
    "request": "unfollowed",
    "clear": "unfollowed",
    "queue-pair": "queue-pair",
    "own-packets": "own",
    "transmission": "own",
    "propagation": "own",
    "link": "own",
    **dict.fromkeys(("acknowledgement", "local", "overhead", "gap", "latency", "host-delay"), "hosts"),
}
"""Causes that count as one, in few words."""
FEW = {
    "compute": "computations",
    "own": "own packets and links",
    "queue": "behind {whose} in queues",
    "other-queues": "other queues' turns, {whose}",
    "other-flows": "the NIC sent other flows, {whose}",
    "paused": "paused for {whose}",
    "transport": "the sender may not send",
    "recovery": "retransmission",
    "acks-and-frames": "ACKs and control frames",
    "idle": "the port sent nothing",
    "hosts": "hosts and acknowledgements",
    "queue-pair": "earlier messages of the queue pair",
    "unfollowed": "messages that were not followed",
}
"""Causes of a part of the time of an iteration in few words."""
DIFFERENCES = 4
"""Causes that a comparison names."""

Causes = Mapping[str, float]
"""Time of an iteration in seconds, by cause in few words."""


def told(path: CriticalPath) -> str:
    """Returns a sentence on how long the iteration took, and on what."""
    crosses = sum(step.span_ps for step in path.steps if step.kind in CROSSES)
    computes = sum(step.span_ps for step in path.steps if step.kind == "compute")
    messages = sum(step.kind == "message" for step in path.steps)
    turns = sum(step.span_ps for step in path.steps if step.kind == "queue-pair")
    rest = path.span_ps - crosses - computes - turns
    others = {"computations": computes, "earlier messages of queue pairs": turns, "hosts and acknowledgements": rest}
    parts = {some(messages, "message"): crosses, **{what: ps for what, ps in others.items() if ps}}
    shares = ", ".join(f"{what} ({tenths(ps / (path.span_ps or 1))})" for what, ps in parts.items())
    return f"Iteration {path.iteration} of {path.job} took {us(path.span_ps)}. Its critical path: {shares}."


def lines(path: CriticalPath, worst: int) -> list[str | Table]:
    """Returns how long an iteration took and on what, a table of the causes, and its longest steps."""
    table = cause_table(path, f"{path.label}: where iteration {path.iteration} of {path.job} spent its time")
    steps = [line for step in longest(path, worst) for line in step_lines(path, step)]
    return [told(path), table, *steps]


def cause_table(path: CriticalPath, title: str) -> Table:
    """Returns a table of the causes, the largest first. Causes beyond a few share one row."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in ("where", "what"):
        table.add_column(heading)
    for heading in ("share", "time"):
        table.add_column(heading, justify="right")
    for where, what, share, span_ps in cause_rows(path):
        table.add_row(where, what, tenths(share), us(span_ps))
    return table


def cause_rows(path: CriticalPath) -> list[tuple[str, str, float, int]]:
    """Returns place, cause, share and picoseconds, the largest first. Causes beyond a few share one row."""
    causes = path.causes()
    rows = [(*cause_words(row), row["share"], row["span_ps"]) for row in causes[:ROWS]]
    if rest := causes[ROWS:]:
        share, span_ps = sum(row["share"] for row in rest), sum(row["span_ps"] for row in rest)
        rows.append(("", some(len(rest), "other cause"), share, span_ps))
    return rows


def cause_words(row: PathCause) -> tuple[str, str]:
    if row["why"] in OWN:
        return ("at ranks" if row["place"] == "ranks" else PLACES[row["place"]]), OWN[row["why"]]
    return PLACES[row["place"]], explained.cause_of(row["why"], row["whose"], row["elsewhere"])


def step_lines(path: CriticalPath, number: int) -> list[str]:
    """Returns a tree: a step, and for a message the ports on its way and the causes of waiting at each."""
    step = path.steps[number]
    head = f"step {number + 1} of {len(path.steps)}, {step_words(step)}: {us(step.span_ps)}"
    if path.explained is None or step.kind not in FOLLOWED or step.flow is None:
        return [head]
    if step.flow not in path.explained.flows["flow"].to_pylist():
        return [head]
    return [head, *explained.flow_lines(path.explained, step.flow)]


def step_words(step: Step) -> str:
    match step.kind:
        case "compute":
            return f"rank {step.rank} computes ({step.phase})"
        case "message" | "local":
            return f"a message of rank {step.sender} to rank {step.rank} ({step.phase})"
        case "request":
            return f"rank {step.sender} asks rank {step.rank} for a receive ({step.phase})"
        case "clear":
            return f"the answer to rank {step.rank} ({step.phase})"
        case "queue-pair":
            return f"a queue pair sends a message of rank {step.sender} to rank {step.rank} first ({step.phase})"
        case "acknowledgement":
            return f"an acknowledgement for rank {step.rank} ({step.phase})"
    return f"{OWN[step.kind]}, rank {step.rank} ({step.phase})"


def longest(path: CriticalPath, most: int) -> list[int]:
    """Returns the numbers of the longest steps, the longest first."""
    return sorted(range(len(path.steps)), key=lambda number: (-path.steps[number].span_ps, number))[:most]


def few(why: str, whose: str | None) -> tuple[str, str]:
    """Returns the key of a cause, and the cause in few words."""
    key = ONE.get(why, why)
    if "{whose}" not in FEW[key]:
        return key, FEW[key]
    return key, FEW[key].format(whose=whose) if whose else FEW[key].partition(" for ")[0]


def compared(what: str, runs: Mapping[str, Causes], ideal: frozenset[str] = frozenset()) -> list[str]:
    """Returns under which run an iteration took least time, and on what the others spent more or less.

    The differences by cause sum to that of the times. `ideal` are runs of schemes that cannot be built.

    >>> fast, slow = {"computations": 2e-6, "own packets and links": 1e-6}, {"computations": 2e-6, "paused": 2e-6}
    >>> compared("Iteration 0 of ring", {"BFC": fast, "DCQCN": slow})[1]
    'DCQCN takes 4 us, 1 us longer: +2 us paused; -1 us own packets and links.'
    """
    times = {name: sum(causes.values()) for name, causes in runs.items()}
    able = [name for name in runs if name not in ideal]
    if len(runs) < 2 or not able:
        return []
    best = min(able, key=lambda name: times[name])
    others = sorted((name for name in runs if name != best), key=lambda name: times[name])
    return [
        f"{what} takes least time under {best}: {quantities.span(times[best])}.",
        *(difference(name, runs[best], runs[name]) for name in others),
    ]


def compared_runs(paths: Sequence[CriticalPath], runs: Sequence[Run]) -> list[str]:
    """Returns how the same iteration differs between runs; nothing if these are different iterations."""
    iterations = {(path.job, path.iteration) for path in paths}
    if len(iterations) != 1:
        return []
    job, number = iterations.pop()
    times = {path.label: causes_of(path) for path in paths}
    ideal = frozenset(run.label for run in runs if answer.is_ideal(run.scheme))
    return compared(f"Iteration {number} of {job}", times, ideal)


def difference(name: str, best: Causes, other: Causes) -> str:
    """Returns how much longer an iteration takes under a run than under the best, by cause."""
    more = {cause: other.get(cause, 0.0) - best.get(cause, 0.0) for cause in {**best, **other}}
    whole, time = sum(more.values()), sum(other.values())
    named = sorted(more, key=lambda cause: -abs(more[cause]))[:DIFFERENCES]
    # What reads as nothing beside the times is not named.
    named = [cause for cause in named if abs(more[cause]) >= 0.0005 * time]
    rest = sum(change for cause, change in more.items() if cause not in named)
    parts = [f"{signed(more[cause])} {cause}" for cause in named]
    parts += [f"{signed(rest)} other causes"] if abs(rest) >= 0.0005 * time else []
    than = f"{quantities.span(abs(whole))} {'longer' if whole > 0 else 'less'}" if whole else "as long"
    return f"{name} takes {quantities.span(time)}, {than}{': ' if parts else ''}{'; '.join(parts)}."


def signed(seconds: float) -> str:
    return f"{'+' if seconds >= 0 else '-'}{quantities.span(abs(seconds))}"


def causes_of(path: CriticalPath) -> dict[str, float]:
    """Returns the time by cause in few words, the longest first."""
    sums: dict[str, int] = {}
    for row in path.causes():
        _, words = few(row["why"], row["whose"])
        sums[words] = sums.get(words, 0) + row["span_ps"]
    return {words: span_ps * 1e-12 for words, span_ps in sorted(sums.items(), key=lambda item: -item[1])}


def as_json(path: CriticalPath) -> dict[str, Any]:
    """Returns the path with its steps, their parts, and the causes."""
    parts: list[list[Any]] = [[] for _ in path.steps]
    for part in path.parts:
        parts[part["step"]].append({key: value for key, value in part.items() if key not in ("step", "kind")})
    return {
        "run": path.label,
        "class": path.job,
        "iteration": path.iteration,
        "begin_ps": path.begin_ps,
        "end_ps": path.end_ps,
        "causes": path.causes(),
        "steps": [{**msgspec.to_builtins(step), "parts": of} for step, of in zip(path.steps, parts, strict=True)],
    }
