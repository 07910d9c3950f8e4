"""Collectives in sentences: under which variant an iteration takes least time, and which rank it waits for."""

from __future__ import annotations

from collections.abc import Iterator

from backwater.common.quantities import rate, some, span
from backwater.show import answer
from backwater.show.answer import Entry
from backwater.show.page import Collective, Last, PageData, RunData

UNITS = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")]
DIFFERENT = 1.5
"""The longest iteration over the shortest, from which on their mean depends on which iterations ran."""


def sentences(data: PageData) -> list[str]:
    """Of each collective at the last point of a sweep: the time per iteration, the bus bandwidth, the slowest rank.

    >>> sentences({"runs": []})
    []
    """
    return [line for what, entries, known in measured(data["runs"]) for line in of_one(what, entries, known)]


def panels(data: PageData) -> list[tuple[str, list[Entry]]]:
    """The same numbers for a chart: the title with its unit, and the entries."""
    return [
        (f"time per iteration of {what} ({entries[0].unit})", entries)
        for what, entries, _ in measured(data["runs"])
        if len(entries) > 1 and any(entry.value is not None for entry in entries)
    ]


def measured(runs: list[RunData]) -> Iterator[tuple[str, list[Entry], dict[str, Collective]]]:
    """What each collective is, its time per iteration under each variant, and its row of the page by variant."""
    last = next((run["point"] for run in reversed(runs) if run.get("collectives")), None)
    here = [run for run in runs if run.get("collectives") and run["point"] == last and not run["left_out"]]
    alike: dict[tuple[str, str, int], list[tuple[RunData, Collective]]] = {}
    for run in here:
        for row in run["collectives"]:
            alike.setdefault((row["class"], row["pattern"], row["ranks"]), []).append((run, row))
    at = f" at {answer.point_name(last)}" if last else ""
    for (name, pattern, ranks), known in alike.items():
        means = [row["mean"]["value"] for _, row in known if row["mean"]]
        scale, unit = next((one for one in UNITS if means and min(means) >= one[0]), UNITS[-1])
        entries = [entry_of(run, row, scale, unit) for run, row in known]
        named = f" ({name})" if len({row["class"] for run in here for row in run["collectives"]}) > 1 else ""
        yield f"the {pattern} of {ranks} ranks{named}{at}", entries, {name_of(run): row for run, row in known}


def name_of(run: RunData) -> str:
    return run["variant"] if run["point"] else run["shown"]


def entry_of(run: RunData, row: Collective, scale: float, unit: str) -> Entry:
    if row["mean"] is None:
        return Entry(name_of(run), None, scheme=run["scheme"], unit=unit)
    low, high = (None if end is None else end / scale for end in row["mean"]["bounds"])
    return Entry(name_of(run), row["mean"]["value"] / scale, low, high, run["scheme"], unit=unit)


def of_one(what: str, entries: list[Entry], known: dict[str, Collective]) -> list[str]:
    none = [entry for entry in entries if entry.value is None]
    lacking = [f"{answer.both(answer.names(none))} completed no iteration of {what}."] if none else []
    if (best := answer.best(entries)) is None:
        return [*answer.ideals(entries, None), *lacking]
    others = sorted((one for one in entries if one.can_win and one is not best), key=lambda one: one.known)
    equal = [one for one in others if one.equals(best)]
    row = known[best.name]
    bus = "" if row["bus"] is None else f", a bus bandwidth of {rate(row['bus'])}"
    if others:
        first = f"An iteration of {what} takes least time under {best.name}: {best.told()}{bus}."
    else:
        first = f"An iteration of {what} takes {best.told()}{'' if len(entries) == 1 else f' under {best.name}'}{bus}."
    return [
        first,
        *answer.multiples(best, [one for one in others if one not in equal], "takes", "long"),
        *answer.equals(best, equal),
        *answer.ideals(entries, best),
        *differing(known),
        *slowest(best.name if others else "", row["last"]),
        *exposed(best.name if others else "", row),
        *lacking,
    ]


def differing(known: dict[str, Collective]) -> list[str]:
    """The shortest and the longest iteration of each variant where these differ much: its mean hides that."""
    spans = {name: (min(row["times"]), max(row["times"])) for name, row in known.items() if row["times"]}
    told = [
        f"{span(low)} to {span(high)} under {name}" for name, (low, high) in spans.items() if high >= DIFFERENT * low
    ]
    return [f"These are means. Iterations take {answer.both(told)}."] if told else []


def exposed(name: str, row: Collective) -> list[str]:
    """The share of an iteration in which a rank does not compute; nothing where none computes."""
    compute, waits = row.get("compute"), row.get("exposed")
    if not compute or waits is None:
        return []
    under = f" under {name}" if name else ""
    share = waits / (waits + compute)
    return [f"Exposed communication is {share:.0%} of an iteration{under}: a rank waits {span(waits)}."]


def slowest(name: str, last: Last | None) -> list[str]:
    """The rank that others wait for; nothing where all ranks end at once."""
    if last is None:
        return []
    under = f" under {name}" if name else ""
    often = "is last" if last["of"] == 1 else f"is last in {last['times']} of {some(last['of'], 'iteration')}"
    return [f"The slowest rank{under} is {last['host']}, which {often}: {span(last['behind'])} after the median rank."]
