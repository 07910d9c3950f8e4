"""The critical path of an iteration, as text: what its time was spent on, and its longest steps."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.table import Table

from backwater.common.quantities import some, tenths
from backwater.runs.critical import CROSSES, CriticalPath, PathCause, Step
from backwater.show import explained
from backwater.show.explained import PLACES, ROWS, us

OWN = {
    "compute": "computations",
    "message": "messages that were not followed",
    "request": "requests that were not followed",
    "clear": "answers that were not followed",
    "acknowledgement": "acknowledgements",
    "local": "messages within a host",
    "overhead": "time of hosts for messages",
    "gap": "gaps between messages at NICs",
    "latency": "latency of hosts",
}
"""Steps that have no parts, in words."""


def told(path: CriticalPath) -> str:
    """Returns a sentence on how long the iteration took, and on what."""
    crosses = sum(step.span_ps for step in path.steps if step.kind in CROSSES)
    computes = sum(step.span_ps for step in path.steps if step.kind == "compute")
    messages = sum(step.kind == "message" for step in path.steps)
    shares = [f"{tenths(crosses / (path.span_ps or 1))} {some(messages, 'message')}"]
    shares += [f"{tenths(computes / (path.span_ps or 1))} computations"] if computes else []
    rest = path.span_ps - crosses - computes
    shares += [f"{tenths(rest / path.span_ps)} hosts and acknowledgements"] if rest else []
    return f"Iteration {path.iteration} of {path.job} took {us(path.span_ps)}. Its critical path: {'; '.join(shares)}."


def cause_table(path: CriticalPath, title: str) -> Table:
    """Returns a table of the causes, the largest first. Causes beyond a few share one row."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in ("where", "what"):
        table.add_column(heading)
    for heading in ("share", "time"):
        table.add_column(heading, justify="right")
    causes = path.causes()
    for row in causes[:ROWS]:
        table.add_row(*cause_words(row), tenths(row["share"]), us(row["span_ps"]))
    if rest := causes[ROWS:]:
        share, time = sum(row["share"] for row in rest), sum(row["span_ps"] for row in rest)
        table.add_row("", some(len(rest), "other cause"), tenths(share), us(time))
    return table


def cause_words(row: PathCause) -> tuple[str, str]:
    if row["why"] in OWN:
        return ("at ranks" if row["place"] == "ranks" else PLACES[row["place"]]), OWN[row["why"]]
    return PLACES[row["place"]], explained.cause_of(row["why"], row["whose"], row["elsewhere"])


def step_lines(path: CriticalPath, number: int) -> list[str]:
    """Returns a tree: a step, and for a message the ports on its way and the causes of waiting at each."""
    step = path.steps[number]
    head = f"step {number + 1} of {len(path.steps)}, {step_words(step)}: {us(step.span_ps)}"
    if path.explained is None or step.kind not in CROSSES or step.flow is None:
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
        case "acknowledgement":
            return f"an acknowledgement for rank {step.rank} ({step.phase})"
    return f"{OWN[step.kind]}, rank {step.rank} ({step.phase})"


def longest(path: CriticalPath, most: int) -> list[int]:
    """Returns the numbers of the longest steps, the longest first."""
    return sorted(range(len(path.steps)), key=lambda number: (-path.steps[number].span_ps, number))[:most]


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
