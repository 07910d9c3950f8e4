"""Stored critical paths, as the page shows them: time by cause, a drawing of the steps, and runs compared."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from backwater.common.quantities import size
from backwater.runs import kept
from backwater.runs.critical import CriticalPath
from backwater.runs.explain import ExplainedFlow
from backwater.runs.run import Run
from backwater.show import answer, critical, explained
from backwater.show.explained import Hop, Part
from backwater.show.flows import pack
from backwater.show.iterations import name_of
from backwater.show.page import IterationPath, PathCause, PathCommand, PathHop, PathPiece, RunData

STEPS = 6_000
"""Steps that are drawn, of all runs of a page that have a path."""
STEPS_OF_RUN = 2_000


def of_run(run: Run, runs: int = 1) -> IterationPath | None:
    """The stored path of one of so many runs of a page that have one; None where none is stored."""
    path = kept.path_of(run)
    if path is None:
        return None
    times = [row["time_ps"] * 1e-12 for row in run.summary.get("iterations") or [] if row["class"] == path.job]
    return {**of_path(path, min(STEPS_OF_RUN, STEPS // max(runs, 1))), "mean": fmean(times) if times else None}


def is_stored(run: Run) -> bool:
    return "path_waits" in run.tables


def of_path(path: CriticalPath, most: int) -> IterationPath:
    """What the page has of a path. Of more steps than `most`, the longest are drawn, and the others merged."""
    by = causes(path)
    ranks = sorted({rank for step in path.steps for rank in (step.rank, step.sender) if rank is not None})
    return {
        "class": path.job,
        "iteration": path.iteration,
        "begin": path.begin_ps * 1e-12,
        "time": path.span_ps * 1e-12,
        "mean": None,
        "told": critical.told(path),
        "steps": len(path.steps),
        "places": [[where, what, share, span * 1e-12] for where, what, share, span in critical.cause_rows(path)],
        "causes": by,
        "ranks": ranks,
        "pieces": pack(list(pieces(path, most, ranks, [one["words"] for one in by]))),
        "compared": [],
    }


def causes(path: CriticalPath) -> list[PathCause]:
    """Its time by cause in few words, the longest first."""
    keys = {words: key for row in path.causes() for key, words in [critical.few(row["why"], row["whose"])]}
    return [{"why": keys[words], "words": words, "span": span} for words, span in critical.causes_of(path).items()]


def pieces(path: CriticalPath, most: int, ranks: Sequence[int], by: Sequence[str]) -> Iterator[PathPiece]:
    """Steps in order. Those that are not among the longest are merged with their neighbours."""
    many = len(path.steps)
    alone = set(critical.longest(path, many if many <= most else max(1, most // 2)))
    row = {rank: place for place, rank in enumerate(ranks)}
    cause = {words: place for place, words in enumerate(by)}
    spans: list[dict[int, int]] = [{} for _ in path.steps]
    for part in path.parts:
        at = cause[critical.few(part["why"], part["whose"])[1]]
        spans[part["step"]][at] = spans[part["step"]].get(at, 0) + part["span_ps"]
    first = 0
    while first < many:
        last = first
        while first not in alone and last + 1 < many and last + 1 not in alone:
            last += 1
        sums: dict[int, int] = {}
        for of in spans[first : last + 1]:
            for at, span in of.items():
                sums[at] = sums.get(at, 0) + span
        begins, ends = path.steps[first], path.steps[last]
        yield {
            "step": first,
            "many": last - first + 1,
            "end": ends.end_ps - path.begin_ps,
            "from": row[begins.rank if begins.sender is None else begins.sender],
            "to": row[ends.rank],
            "causes": sorted(([at, span] for at, span in sums.items()), key=lambda one: -one[1]),
            "words": critical.step_words(begins) if first == last else f"{last - first + 1:,} short steps",
            **(of_message(path, first, cause) if first == last else {}),
        }
        first = last + 1


def of_message(path: CriticalPath, number: int, cause: Mapping[str, int]) -> PathPiece:
    """Of a message: its flow in words, the ports on its way, and the parts of its time there, which sum to the step."""
    waits, flow = path.waits_of(number), path.steps[number].flow
    if not waits or flow is None or path.explained is None:
        return {}
    whole = path.explained.flow(flow)
    here: ExplainedFlow = {**whole, "waits": waits}
    hops: list[PathHop] = [
        {
            "where": hop.where,
            "span": hop.span_ps,
            "parts": [[part.span_ps, part.what, cause[cause_of(hop, part)]] for part in hop.parts if part.span_ps],
        }
        for hop in explained.hops(here)
    ]
    words = f"flow {flow} ({whole['class']}, {size(whole['size_bytes'])}), {whole['src']} to {whole['dst']}"
    links = [f"{hop.node} to {hop.peer}" for hop in explained.hops(whole) if not hop.receives]
    return {"flow": words, "number": flow, "hops": hops, "way": links}


def cause_of(hop: Hop, part: Part) -> str:
    """The cause of a part in few words."""
    return critical.few("host-delay" if hop.receives else part.why, part.whose)[1]


# Runs side by side.


def compare(runs: Sequence[RunData]) -> None:
    """Sets what is said of runs at the same point whose paths are of the same iteration."""
    alike: dict[tuple[str, str, int], list[tuple[str, bool, IterationPath]]] = {}
    for run in runs:
        if run["left_out"]:
            continue
        for name, path in paths_of(run):
            key = (answer.point_name(run["point"]), path["class"], path["iteration"])
            alike.setdefault(key, []).append((name, run["ideal"], path))
    for (_, job, iteration), found in alike.items():
        times = {name: {one["words"]: one["span"] for one in path["causes"]} for name, _, path in found}
        ideal = frozenset(name for name, ideal, _ in found if ideal)
        for _, _, path in found:
            path["compared"] = critical.compared(f"Iteration {iteration} of {job}", times, ideal)


def paths_of(run: RunData) -> Iterator[tuple[str, IterationPath]]:
    """The stored paths of a run, or of its seeds, each with the name that the page has for it."""
    known = [(name_of(run), run.get("path"))]
    if "members" in run:
        known = [(one["name"], one.get("path")) for one in run["members"]]
    yield from ((name, path) for name, path in known if path is not None)


def commands(runs: Sequence[RunData]) -> None:
    """Sets for runs without a path what adds one: of one iteration, to all runs of a directory at the same point."""
    points: dict[str, list[RunData]] = {}
    for run in runs:
        if not run["left_out"] and run.get("collectives"):
            points.setdefault(answer.point_name(run["point"]), []).append(run)
    for here in points.values():
        lacking = [run for run in here if not any(True for _ in paths_of(run))]
        stored = [path for run in here for _, path in paths_of(run)]
        if not lacking or (asked := iteration_of(here, stored)) is None:
            continue
        for place in dict.fromkeys(run["place"] for run in lacking):
            mine = [run for run in lacking if run["place"] == place]
            labels = [answer.label_of(run).removeprefix(f"{Path(place).name}/") for run in mine]
            named = [word for label in labels for word in ("--run", label)]
            words = [
                "backwater",
                "explain",
                place,
                *named,
                "--class",
                asked.job,
                "--iteration",
                asked.iteration,
                "--page",
            ]
            made: PathCommand = {
                "labels": [answer.label_of(run) for run in mine],
                "iteration": asked.iteration,
                "usual": asked.usual,
                "command": shlex.join(words),
            }
            for run in mine:
                run["path_command"] = made


class Asked(NamedTuple):
    """The iteration that a command explains."""

    job: str
    iteration: str
    usual: bool = False


def iteration_of(runs: Sequence[RunData], stored: Sequence[IterationPath]) -> Asked | None:
    """The iteration of stored paths; without any, the slowest of one run, and of several a usual one."""
    if stored:
        return Asked(stored[0]["class"], str(stored[0]["iteration"]))
    job = runs[0]["collectives"][0]["class"]
    times = [
        {
            row["iteration"]: float(row["time_ps"])
            for row in run["summary"].get("iterations") or []
            if row["class"] == job
        }
        for run in runs
    ]
    if not (common := set.intersection(*(set(one) for one in times))):
        return None
    if len(runs) == 1:
        return Asked(job, "slowest")
    return Asked(job, str(usual(times, sorted(common))), usual=len(common) > 1)


def usual(times: Sequence[dict[int, float]], among: Sequence[int]) -> int:
    """The iteration whose times come nearest to the mean under each run."""
    means = [sum(one.values()) / len(one) for one in times]
    return min(
        among, key=lambda n: max(abs(one[n] - mean) / (mean or 1) for one, mean in zip(times, means, strict=True))
    )
