"""Judges the claims of an experiment (`[[expect]]`) by the measurements of its runs.

An expectation makes checks: one for each combination of its `each` lists, at each point of the sweep that `where` lets
through. Points that differ only in their seed, or in the keys of `over`, are judged together: each measurement is its
mean, or its deviation (`spread`), with an interval over the seeds. Each check has a verdict, and they add up to the
claim's:

    unsettled   a measurement would be another number in a longer run (`settled.py`)
    fail        a check contradicts the claim
    undecided   an interval allows it and allows it not
    direction   the ordering holds, the size does not
    part        all that could be judged hold, and not all could
    vacuous     all hold, and so they do without what is credited
    pass        all hold
    fact        they hold, but follow from the set-up: no measurement could contradict them
    refers      another claim says the same
    not-run     nothing could be judged: a scheme is missing, the scale is too small, or too few flows were measured

A run whose load is not what was asked, beyond what chance explains, fails every check that reads a measurement of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from backwater._core import InputError
from backwater.common.values import Table
from backwater.judge import settled, words
from backwater.judge.context import NAMING, Context, MeasuredRuns, leaves_of
from backwater.judge.kinds import KINDS, Check, Expectation, has_happened, most_of, nothing, parts_of, position
from backwater.judge.leaves import LEAVES
from backwater.runs.directory import RunDirectory
from backwater.runs.manifest import Params
from backwater.runs.verdicts import Claim
from backwater.scenario.claims import Figure, Selectors

VERDICTS = ("pass", "part", "direction", "fail", "undecided", "unsettled", "vacuous", "fact", "refers", "not-run")
DEFAULT_SCALES = ("quick", "paper")


class Judgement(NamedTuple):
    """What came of judging a claim. Texts are empty where they do not apply."""

    verdict: str
    measured: str
    coverage: str
    """How many of its checks could be made, unless all could."""
    without: str
    """The same without what the claim credits."""
    settling: str
    """Whether its measurements have settled."""
    checks: list[Check]


class Judge:
    """All claims of one experiment."""

    def __init__(self, results: RunDirectory) -> None:
        self.runs = MeasuredRuns(results)
        self.scale: str = results.manifest.scale
        self.lacking: dict[str, str] = results.manifest.without or {}
        """Variants, and those that lack what they are credited for."""
        self.configured: dict[str, str] = results.manifest.configured or {}
        """Variants with the parameters of a paper's text, and those with its authors' public configuration."""
        self.components: dict[str, dict[str, str]] = results.manifest.components or {}
        """Variants, and for each component of theirs the variant that lacks it alone."""

    def row(self, expectation: Expectation) -> Claim:
        """Returns the row of a claim: its text, its measurements and its verdict."""
        written = self.judged(expectation, {})
        configured = self.replaced(expectation, self.configured)
        needed = self.needed(expectation)  # Also of a claim that does not hold: what is read has to be heard first.
        return {
            "claim": expectation["claim"],
            "metric": expectation.get("metric", ""),
            "says": expectation.get("says", ""),
            "expected": words.expected(expectation),
            "measured": written.measured,
            "verdict": written.verdict,
            "coverage": written.coverage,
            "without": written.without,
            "settling": written.settling,
            "seeds_to_decide": seeds_to_decide(written),
            "needs": words.needs(needed) if written.verdict in ("pass", "part") else "",
            "configured": words.instead(configured, *self.judged(expectation, configured)[:2]) if configured else "",
            "amended": expectation.get("amended", []),
            "note": expectation.get("note", ""),
            "checks": [
                {
                    "at": check.at,
                    "measured": check.measured,
                    "text": check.text,
                    "verdict": check.verdict,
                    "low": check.low,
                    "high": check.high,
                }
                for check in written.checks
            ],
        }

    def judged(self, expectation: Expectation, instead: dict[str, str]) -> Judgement:
        """Judges a claim. `instead` replaces some variants by others."""
        checks, settling = self.settled(expectation, self.checks(expectation, instead=instead))
        made = [check for check in checks if check.verdict != "not-run"]
        verdict = add_up(checks, fact=self.is_fact(expectation))
        lacking = self.replaced(expectation, expectation.get("without", self.lacking)) if made else {}
        without = self.checks(expectation, instead=instead | lacking) if lacking else []
        if verdict in ("pass", "part") and without:
            verdict = beside(verdict, add_up(without, fact=False))
        late = self.late_run() if verdict not in ("fact", "refers", "not-run") else None
        if late is not None:
            verdict = "undecided"
        return Judgement(
            verdict,
            ("; ".join(words.tell(checks)) or "-") + (f"; {late}" if late else ""),
            f"{len(made)} of {len(checks)}" if made and len(made) < len(checks) else "",
            words.instead(lacking, add_up(without, fact=False), "; ".join(words.tell(without))) if lacking else "",
            settling,
            checks,
        )

    def settled(self, expectation: Expectation, checks: list[Check]) -> tuple[list[Check], str]:
        """Tests whether the measurements of a claim have settled.

        Returns the checks, `unsettled` where one has not, and the tests in words.
        """
        if "transient" in expectation or self.is_fact(expectation):
            return checks, ""
        if has_happened(expectation, checks) and not self.runs.measured.hears:
            return checks, ""  # No longer run undoes it.
        reads = {repr(read): read for check in checks for read in check.reads}
        courses = {key: found for key, read in reads.items() if (found := self.runs.courses(*read))}
        tests = {key: settled.test(found, len(courses)) for key, found in courses.items()}
        moved = {key for key, one in tests.items() if one.moved}
        marked = [
            replace(check, verdict="unsettled") if moved.intersection(map(repr, check.reads)) else check
            for check in checks
        ]
        return marked, words.settling([(words.measurement(*reads[key]), one) for key, one in tests.items()])

    def late_run(self) -> str | None:
        """Says which run in the lab was not faithful to virtual time; None if all were, or none was in the lab."""
        for run in self.runs.runs.values():
            if (found := run.summary.get("lab")) and not found["faithful"]:
                return f"{run.label} is not faithful"
        return None

    def is_fact(self, expectation: Expectation) -> bool:
        """Returns whether no run could contradict the claim: it says so, or it reads only the scenario and facts."""
        if expectation["kind"] == "fact" or "fact" in expectation:
            return True
        asked = asked_of(expectation)
        if asked.keys() == {"scenario"}:
            return True
        if not asked or asked.keys() - {"scenario", "result"}:
            return False
        return all(asked["result"] <= set(run.summary.get("facts", [])) for run in self.runs.runs.values())

    def needed(self, expectation: Expectation) -> dict[str, str]:
        """Returns the components of what a claim credits, each with what the claim comes to without it alone."""
        credited = self.replaced(expectation, expectation.get("without", self.lacking))
        return {
            part: add_up(self.checks(expectation, instead={variant: other}), fact=False)
            for variant in credited
            for part, other in self.components.get(variant, {}).items()
        }

    def replaced(self, expectation: Expectation, others: dict[str, str]) -> dict[str, str]:
        """Returns those of the variants that the claim names, each with the one that it is judged with instead."""
        if expectation["kind"] not in KINDS:
            return {}
        named = variants_of(expectation)
        return {variant: other for variant, other in others.items() if variant in named}

    def checks(self, expectation: Expectation, *, instead: dict[str, str]) -> list[Check]:
        """Makes the comparisons of a claim. `instead` replaces some variants by others."""
        kind = expectation["kind"]
        if kind == "not-run":
            return [Check("", None, expectation["reason"], "not-run")]
        if kind == "refers":
            return [Check("", None, f"see {expectation['to']}", "refers")]
        if kind == "fact":
            return [Check("", None, "follows from the set-up", "pass")]
        if kind not in KINDS:
            return [nothing("", InputError(f"kind = {kind!r}: expected one of {', '.join(KINDS)}"))]
        scales = expectation.get("scales", DEFAULT_SCALES)
        if self.scale and self.scale not in scales:  # A file without scales is judged as it is.
            return [Check("", None, f"judged at scale {' or '.join(scales)}", "not-run")]
        places = Places(self.runs, instead)
        return list(KINDS[kind](places, expectation)) or [Check("", None, "no complete run", "not-run")]


@dataclass(frozen=True)
class Places:
    """The points of the sweep at which a claim is checked."""

    runs: MeasuredRuns
    instead: dict[str, str]

    def contexts(self, expectation: Expectation, *, along: str | None = None) -> Iterator[tuple[str, Context]]:
        """Yields each point with its name. Points that differ only in the key `along` are one."""
        several = len(self.runs.points) > 1
        over, where = [*expectation.get("over", []), *([along] if along else [])], expectation.get("where", {})
        for place, points in self.runs.together(over, lambda point: lets_through(where, point)).items():
            for selectors in combinations(expectation):
                names = [f"{key.split('.')[-1]} {value}" for key, value in place] if several else []
                names += [str(value) for key, value in selectors.items() if tells_apart(key, expectation)]
                yield ", ".join(names), Context(self.runs, points, selectors, self.instead)


def of(results: RunDirectory) -> list[Claim]:
    """Returns the judged claims of a run directory. For an older format it returns the stored verdicts."""
    expected = results.manifest.expect
    if expected is None:
        return results.judged
    return evaluate(expected, results) if expected else []


def evaluate(expect: list[Expectation], results: RunDirectory) -> list[Claim]:
    """Judges each claim and returns a row for it.

    The reader of scenarios has checked what is asked; what a run cannot answer is `not-run`, with the reason.
    """
    judge = Judge(results)
    # Once to hear which measurements are wanted, so that each run's tables are read once; then for good.
    with judge.runs.measured.listening():
        for expectation in expect:
            judge.row(expectation)
    return [judge.row(expectation) for expectation in expect]


def add_up(checks: Iterable[Check], *, fact: bool) -> str:
    """Returns the worst verdict of the checks that have a measurement, or `not-run` if none has."""
    verdicts = {check.verdict for check in checks}
    for verdict in ("unsettled", "fail", "undecided", "direction", "refers"):
        if verdict in verdicts:
            return verdict
    if "pass" not in verdicts:
        return "not-run"
    return "fact" if fact else "part" if "not-run" in verdicts else "pass"


def seeds_to_decide(judged: Judgement) -> int | None:
    """Returns with about how many seeds an undecided claim would be decided; None for others, or if nobody knows."""
    if judged.verdict != "undecided":
        return None
    return most_of([check.seeds for check in judged.checks if check.verdict == "undecided"])


def beside(verdict: str, without: str) -> str:
    """Returns the verdict of a claim that holds, after the same checks without the credited mechanism."""
    if without in ("pass", "part"):
        return "vacuous"
    return "part" if without == "not-run" else verdict


def variants_of(expectation: Expectation) -> set[str]:
    """Returns the variants that an expectation names."""
    leaves = [leaf for part in parts_of(expectation) for leaf in leaves_of(part)]
    named = {leaf[key] for leaf in leaves for key in NAMING if key in leaf}
    named.update([expectation["variant"]] if "variant" in expectation else [])
    named.update(expectation.get("order", []), map(str, expectation.get("each", {}).get("variant", [])))
    return named.union(*expectation.get("chains", []))


def only_lacking(results: RunDirectory) -> set[str]:
    """Returns variants that only serve as a comparison: no claim names them, and they have no published values."""
    manifest = results.manifest
    figure: Figure = manifest.figure or {}
    expected = manifest.expect or []
    lacking = set((manifest.without or {}).values()).union(
        *(one.get("without", {}).values() for one in expected),
        *(parts.values() for parts in (manifest.components or {}).values()),
    )
    named = set().union(*map(variants_of, expected))
    return lacking - named - {point["variant"] for point in figure.get("published", [])}


def asked_of(expectation: Expectation) -> dict[str, set[str]]:
    """Returns the kinds of measurement that an expectation reads, each with the columns or keys it takes."""
    each = expectation.get("each", {})
    asked: dict[str, set[str]] = {}
    for leaf in (leaf for part in parts_of(expectation) for leaf in leaves_of(part)):
        for kind in LEAVES:
            if kind in leaf or kind in each:
                asked.setdefault(kind, set()).update([leaf[kind]] if kind in leaf else map(str, each[kind]))
    return asked


# Points of the sweep and selectors.


def tells_apart(key: str, expectation: Expectation) -> bool:
    """Returns whether a selector belongs in the name of a check. A value that all checks share does not."""
    each = expectation.get("each", {})
    return bool(each) if key == "variant" else key not in ("summary", "scenario") or len(each[key]) > 1


def lets_through(where: Table, point: Params) -> bool:
    for key, wanted in where.items():
        if key not in point:
            continue
        value = point[key]
        if isinstance(wanted, Mapping):
            low, high = wanted.get("min", value), wanted.get("max", value)
            if not position(low) <= position(value) <= position(high):
                return False
        elif value != wanted:
            return False
    return True


def combinations(e: Expectation) -> list[Selectors]:
    """Returns every combination of the `each` lists, together with the expectation's own variant."""
    each = e.get("each", {})
    own: Selectors = {"variant": e["variant"]} if "variant" in e else {}
    return [own | dict(zip(each, values, strict=True)) for values in itertools.product(*each.values())]
