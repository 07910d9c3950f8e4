"""Who wins, in sentences: one measurement of every variant, the lowest first, and what is no better or worse.

The measurement is the experiment's own panel of the p99 slowdown of small flows. Without such a panel it is the p99
slowdown in the smallest size bin that every variant has a number for. A scheme called `ideal-` cannot be built, so it
cannot win. Two variants are equal where their intervals over the seeds overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from backwater.common.quantities import percent, size, some
from backwater.judge.columns import size_range
from backwater.judge.estimate import Estimate
from backwater.judge.numbers import between_words, number
from backwater.runs.manifest import Params
from backwater.runs.summary import lost
from backwater.scenario.claims import Figure, Leaf
from backwater.show.page import BOUNDS, Binned, PageData, RunData

STATISTIC: Final = "p99"
PLURAL = {"is": "are", "takes": "take"}
NAMED = 4
"""Variants that are named one by one; others are counted."""
UNFINISHED = 0.01
"""From this share of flows on, those that did not finish are mentioned."""


@dataclass(frozen=True)
class Entry:
    """One variant at one point of the sweep; without a value where it has too few flows."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    scheme: str = ""
    left_out: bool = False
    point: Params = field(default_factory=dict)
    unfinished: float = 0.0
    """Share of the measured flows."""
    aged: bool = False
    """Whether the value counts these with their age at the end; else it leaves them out."""
    label: str = ""
    """The run, if there are several seeds the first."""
    unit: str = ""

    @property
    def is_ideal(self) -> bool:
        return is_ideal(self.scheme)

    @property
    def can_win(self) -> bool:
        return not self.is_ideal and not self.left_out and self.value is not None

    @property
    def known(self) -> float:
        assert self.value is not None, "asked of entries with a value"
        return self.value

    def told(self) -> str:
        value = f"{number(self.known)} {self.unit}".rstrip()
        if self.low is None or self.high is None:
            return value
        return value + between_words(Estimate(self.known, self.low, self.high))

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None

    def equals(self, other: Entry) -> bool:
        """Whether the intervals overlap. Without intervals the values have to be the same."""
        if not (self.has_interval and other.has_interval):
            return self.known == other.known
        return max(self.low or 0.0, other.low or 0.0) <= min(self.high or 0.0, other.high or 0.0)


@dataclass(frozen=True)
class Measurement:
    """What was measured, such as `p99 slowdown of flows up to 3 KB`, of every variant at every point of the sweep."""

    what: str
    entries: list[Entry]
    flow_class: str | None = None
    """Class of the measured flows; None for all."""
    above: int = 0
    below: int | None = None
    """Their sizes in bytes: larger than `above`, and at most `below`."""

    @property
    def points(self) -> dict[str, list[Entry]]:
        """Entries by the name of their point."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(point_name(entry.point), []).append(entry)
        return found


def is_ideal(scheme: str) -> bool:
    """Whether a scheme is a bound that cannot be built."""
    return scheme.startswith("ideal")


def best(entries: Sequence[Entry]) -> Entry | None:
    """The lowest of those that can win."""
    return min((entry for entry in entries if entry.can_win), key=lambda entry: entry.known, default=None)


def compared(data: PageData) -> Measurement | None:
    """What the sentences compare; None where nothing was simulated."""
    return measurement(data) if any("flows" in run["summary"] for run in data["runs"]) else None


def sentences(data: PageData) -> list[str]:
    """What the page's data say; nothing where nothing was simulated.

    >>> sentences({"runs": []})
    []
    """
    runs: list[RunData] = data["runs"]
    simulated = [run for run in runs if "flows" in run["summary"]]
    found = compared(data)
    if len(simulated) == 1:
        slow = one_run(found) if found and found.flow_class not in collective_classes(simulated) else []
        return [*slow, facts(simulated[0])]
    if found is None or found.flow_class in collective_classes(simulated):
        return facts_of_each(simulated)
    points = found.points
    if len(points) == 1:
        return verdict(found.what, found.entries)
    return over_points(found.what, points)


def one_run(found: Measurement) -> list[str]:
    (entry, *_) = found.entries
    return [] if entry.value is None else [f"The {found.what} is {entry.told()}."]


def facts_of_each(runs: Sequence[RunData]) -> list[str]:
    """As `facts`, with the names of the runs, or how many they are. Runs of which the same is true share a sentence."""
    named: dict[str, list[str]] = {}
    for run in runs:
        named.setdefault(facts(run), []).append(run["shown"])
    told = [(both(shown) if len(shown) <= NAMED else f"{len(shown)} runs", said) for said, shown in named.items()]
    return [f"{who}: {said}" for who, said in told[:NAMED]]


def facts(run: RunData) -> str:
    """How many flows finished and how many packets were lost."""
    flows, packets = run["summary"]["flows"], lost(run["summary"])
    dropped = "no packet was" if packets == 0 else f"{some(packets, 'packet')} {'was' if packets == 1 else 'were'}"
    return f"{flows['finished']:,} of {some(flows['counted'], 'counted flow')} finished, and {dropped} dropped."


def verdict(what: str, entries: Sequence[Entry], at: str = "") -> list[str]:
    """Who has the lowest, who is worse by how much, who is equal, and where the ideal is."""
    contenders = sorted((entry for entry in entries if entry.can_win), key=lambda entry: entry.known)
    if not contenders:
        return [*ideals(entries, None), f"No scheme that can be built has a number for the {what}{at}."]
    best, *others = contenders
    equal = [entry for entry in others if entry.equals(best)]
    worse = [entry for entry in others if entry not in equal]
    if not others:
        first = f"{best.name} has a {what}{at} of {best.told()}; no other scheme that can be built was run."
    elif worse or not equal:
        first = f"{best.name} has the lowest {what}{at}: {best.told()}."
    else:
        lowest = f"the lowest is {best.name}'s, {best.told()}"
        within = ", within the intervals" if best.has_interval else ""
        first = f"No scheme has a lower {what}{at} than another{within}; {lowest}."
    seedless = [entry for entry in contenders if not entry.has_interval]
    return [
        first,
        *multiples(best, worse),
        *equals(best, equal),
        *ideals(entries, best),
        *lacking(entries),
        *(["With one seed there is no interval, so small differences may be chance."] if others and seedless else []),
    ]


def equals(best: Entry, equal: Sequence[Entry]) -> list[str]:
    if not equal:
        return []
    within = " within the intervals" if best.has_interval else ""
    return [f"{both(names(equal))} {'equals' if len(equal) == 1 else 'equal'} {best.name}{within}."]


def multiples(best: Entry, worse: Sequence[Entry], verb: str = "is", how: str = "high") -> list[str]:
    """`HPCC is 6.9 times as high, DCTCP 8.1 times.`"""
    if best.known <= 0:
        return []
    near = [entry for entry in worse if times(entry, best) == "1"]
    told = [f"{both(names(near))} {verb if len(near) == 1 else PLURAL[verb]} less than 0.1 % {how}er."] if near else []
    worse = [entry for entry in worse if entry not in near]
    if not worse:
        return told
    shown, rest = (list(worse), []) if len(worse) <= NAMED + 1 else (list(worse[:NAMED]), list(worse[NAMED:]))
    first, *others = [f"{times(entry, best)} times" for entry in shown]
    parts = [f"{shown[0].name} {verb} {first} as {how}"]
    parts += [f"{entry.name} {much}" for entry, much in zip(shown[1:], others, strict=True)]
    if rest:
        parts.append(f"{len(rest)} others {times(rest[0], best)} to {times(rest[-1], best)} times")
    return [*told, f"{both(parts)}."]


def times(entry: Entry, best: Entry) -> str:
    """The multiple in two digits, or in as many as it takes to differ from 1."""
    multiple = entry.known / best.known
    shown = (float(f"{multiple:.{digits}g}") for digits in (2, 3, 4))
    return number(next((one for one in shown if one != 1), 1.0))


def ideals(entries: Sequence[Entry], best: Entry | None) -> list[str]:
    """Where schemes are that cannot be built."""
    told = []
    for entry in entries:
        if entry.is_ideal and not entry.left_out and entry.value is not None:
            equal = best is not None and entry.equals(best)
            same = f", which equals {best.name} within the intervals" if best is not None and equal else ""
            told.append(f"The ideal ({entry.name}) is {entry.told()}{same}.")
    return told


def lacking(entries: Sequence[Entry]) -> list[str]:
    """Who has no number, and who left flows unfinished, which numbers leave out or count with their age."""
    without = [entry for entry in entries if entry.value is None and not entry.left_out]
    told = [f"{both(names(without))} finished too few such flows for a number."] if without else []
    known = [entry for entry in entries if entry.value is not None and not entry.left_out]
    late = [entry for entry in known if entry.unfinished >= UNFINISHED]
    for aged in (False, True):
        if alike := [entry for entry in late if entry.aged == aged]:
            told.append(f"{left_by(alike)}; {how_counted(len(alike), aged=aged)}.")
    return told


def left_by(entries: Sequence[Entry]) -> str:
    """`HPCC left 10.0 % of these flows unfinished and DCTCP 12.0 %`."""
    shares = sorted(entry.unfinished for entry in entries)
    if len(entries) > NAMED + 1:
        least, most = (percent(share, 1) for share in (shares[0], shares[-1]))
        return f"{len(entries)} schemes left {least} to {most} of these flows unfinished"
    first, *others = entries
    parts = [f"{first.name} left {percent(first.unfinished, 1)} of these flows unfinished"]
    return both([*parts, *(f"{entry.name} {percent(entry.unfinished, 1)}" for entry in others)])


def how_counted(n: int, *, aged: bool) -> str:
    """What unfinished flows are in the numbers of so many variants."""
    whose, ending = ("its number", "s") if n == 1 else ("their numbers", "")
    return f"{whose} count{ending} them with their age at the end" if aged else f"{whose} leave{ending} them out"


def over_points(what: str, points: dict[str, list[Entry]]) -> list[str]:
    """At the last point who wins, and at how many of all; of one variant from where to where it goes."""
    names_of = list(points)
    contenders = {entry.name for entries in points.values() for entry in entries if entry.can_win}
    last = names_of[-1]
    if len(contenders) < 2:
        known = [(at, entry) for at, entries in points.items() for entry in entries if entry.can_win]
        if not known:
            return verdict(what, points[last], f" at {last}")
        (first_at, first), (last_at, end) = known[0], known[-1]
        return [f"{end.name} has a {what} of {first.told()} at {first_at}, and of {end.told()} at {last_at}."]
    lowest: dict[str, int] = {}
    for entries in points.values():
        able = [entry for entry in entries if entry.can_win]
        if able:
            best = min(able, key=lambda entry: entry.known).name
            lowest[best] = lowest.get(best, 0) + 1
    (first_name, first_n), *rest = sorted(lowest.items(), key=lambda item: -item[1])
    how_many = f"all {first_n}" if first_n == len(points) else f"{first_n} of the {len(points)}"
    counted = [f"{first_name} is lowest at {how_many} points"]
    counted += [f"{name} at {n}" for name, n in rest]
    return [*verdict(what, points[last], f" at {last}"), f"{both(counted)}."]


def names(entries: Sequence[Entry]) -> list[str]:
    return [entry.name for entry in entries]


def both(parts: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def point_name(point: Params) -> str:
    return ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in point.items())


# Which measurement, and its values.


def measurement(data: PageData) -> Measurement | None:
    """From the experiment's own panel if it has one of short flows, else from a size bin."""
    return of_panel(data) or of_bin(data["runs"])


def wanted_panel(figure: Figure) -> tuple[str, Leaf] | None:
    """The first panel that shows the p99 slowdown of flows up to a size."""
    for panel in figure.get("panels", []):
        value = panel["value"]
        if isinstance(value, dict) and value.get("slowdown") == STATISTIC and value.get("sizes", "").startswith("<="):
            return panel["label"], value
    return None


def of_panel(data: PageData) -> Measurement | None:
    if (wanted := wanted_panel(data.get("figure") or {})) is None:
        return None
    label, value = wanted
    if (drawn := next((panel for panel in data.get("panels", []) if panel["label"] == label), None)) is None:
        return None
    runs = {(run["named"], point_name(run["point"])): run for run in data["runs"]}
    _, most, _ = size_range(value["sizes"])
    entries = []
    for one in drawn["runs"]:
        run = runs.get((one["variant"], point_name(one["point"])))
        entries.append(
            Entry(
                one["variant"],
                one["value"],
                one.get("low"),
                one.get("high"),
                run["scheme"] if run else "",
                run is not None and run.get("left_out", False),
                one["point"],
                unfinished(run, value.get("class", "background"), most) if run else 0.0,
                aged=True,
                label=label_of(run) if run else "",
            )
        )
    which = f"{value['class']} flows" if "class" in value else "flows"
    what = f"{STATISTIC} slowdown of {which} up to {size(most)}"
    return Measurement(what, entries, value.get("class"), below=int(most))


def of_bin(runs: Sequence[RunData]) -> Measurement | None:
    """The smallest size bin that most variants have a number in; of the first class of flows.

    Flows of collectives come last: the time per iteration says more of them (`iterations`).
    """
    classes = dict.fromkeys(name for run in runs for name in run["slowdown"])
    if not classes:
        return None
    flow_class = min(classes, key=lambda name: name in collective_classes(runs))
    known: dict[tuple[int, int | None], list[Binned | None]] = {}
    for i, run in enumerate(runs):
        for row in run["slowdown"].get(flow_class, []):
            ends = (row["size_low_bytes"], row["size_high_bytes"])
            known.setdefault(ends, [None] * len(runs))[i] = row
    if not known:
        return None

    def numbers_in(ends: tuple[int, int | None]) -> int:
        return sum(row is not None and row[STATISTIC] is not None for row in known[ends])

    low, high = min(known, key=lambda ends: (-numbers_in(ends), ends[0]))
    if numbers_in((low, high)) == 0:
        return None
    entries = [entry_of(run, row) for run, row in zip(runs, known[low, high], strict=True)]
    above = f"above {size(low)}" if high is None else f"from {size(low)} to {size(high)}"
    sizes = above if low else f"up to {size(high or 0)}"
    return Measurement(f"{STATISTIC} slowdown of {flow_class} flows {sizes}", entries, flow_class, low, high)


def collective_classes(runs: Sequence[RunData]) -> set[str]:
    return {one["class"] for run in runs for one in run["summary"].get("collectives") or []}


def entry_of(run: RunData, row: Binned | None) -> Entry:
    low, high = (row.get(BOUNDS[STATISTIC]) if row else None) or (None, None)
    left, finished = (row.get("unfinished", 0), row["flows"]) if row else (0, 0)
    return Entry(
        run["variant"] if run["point"] else run["shown"],
        row[STATISTIC] if row else None,
        low,
        high,
        run["scheme"],
        run.get("left_out", False),
        run["point"],
        left / max(1, left + finished),
        label=label_of(run),
    )


def label_of(run: RunData) -> str:
    """The label of a run, or of its first seed."""
    return run["members"][0]["name"] if "members" in run else run["name"]


def unfinished(run: RunData, flow_class: str, most: float) -> float:
    """Share of a run's flows of a class, or of all (`*`), up to this size that did not finish."""
    rows = [
        row
        for name, bins in run["slowdown"].items()
        for row in bins
        if flow_class in ("*", name) and row["size_high_bytes"] is not None and row["size_high_bytes"] <= most
    ]
    left = sum(row.get("unfinished", 0) for row in rows)
    return left / max(1, left + sum(row["flows"] for row in rows))
