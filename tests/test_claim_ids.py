"""Every claim of an experiment is one of its paper's, with the paper's numbers, or is called ours."""

from __future__ import annotations

import csv
import json
import re
from typing import Any

import pytest

from backwater.common import quantities
from backwater.scenario import experiments
from conftest import ROOT, known

with (ROOT / "experiments" / "claims.csv").open() as file:
    CLAIMS = {row["id"]: row for row in csv.DictReader(file)}

EXPECTATIONS = [(name, expectation) for name in experiments.known() for expectation in known(name).plan.expect]
IDS = [f"{name}:{expectation['claim']}" for name, expectation in EXPECTATIONS]

DIFFERENT = {
    "fs-fig6.1": "flow by flow: each of the two is paused",
    "fs-fig6.2": "flow by flow: each of the five is paused",
    "fs-fig6.3": "flow by flow: each of the two is paused",
    "fs-testbed-eff.1": "the simulator charges no preambles and gaps, which is what 98 stands for",
    "fs-fig10.2": "half of 20 Gbps, in Gbps",
    "bfc-fig30.7": "the model's value for the round trip here, and 5 %",
    "bfc-fig4.1": "a knee between two loads in place of one number",
    "bfc-fig9.10": "100 KB is the order of the bandwidth-delay product, compared within 10 %",
    "bcc-fig5.1": "1.5 MB, beside a threshold in KB",
    "bcc-fig9.4": "below 0.08 % is the text of the figure, 0.1 % what the system is built for",
    "bcc-fig9.1": "no loss is read as less than a tenth of what is tolerated",
    "bcc-fig3.3": "no loss is read as less than a tenth of what is tolerated",
    "bcc-params.6": "4 ports and not yet 5",
    "bcc-fig13.3": "above 0.1 %, and at most what the figure shows",
    "bcc-fig13.1": "the span that the figure shows, with 25 % on both sides",
    "bcc-fig13.2": "the span that the figure shows, with 25 % on both sides",
    "bcc-tab4.5": "the loss of throughput, in Gbps",
    "bcc-tab4.6": "the loss of throughput, in Gbps",
}
"""Claims whose expectation has other numbers than the paper, and why."""

ROUNDED = 0.005
"""Numbers are the same to half a percent: quotients in our files are rounded."""


@pytest.mark.parametrize(("name", "expectation"), EXPECTATIONS, ids=IDS)
def test_a_claim_is_the_papers_or_called_ours(name: str, expectation: dict[str, Any]) -> None:
    claim = expectation["claim"]
    if claim.startswith("own-"):
        return
    talk = name.startswith("bfc-talk-")
    prefix = "talk" if talk else experiments.PREFIXES.get(experiments.paper_of(name))
    assert prefix, f"{name} is of no paper: its claims are ours, own-..."
    assert claim.startswith(f"{prefix}-"), f"{claim} is not of the paper of {name}"
    assert claim in CLAIMS, f"{claim} is none of the paper's; claims of ours are own-..."


def test_every_claim_of_the_papers_stands_in_an_experiment() -> None:
    """Judged, or with the reason that it cannot be."""
    assert set(CLAIMS) - {expectation["claim"] for _, expectation in EXPECTATIONS} == set()


def test_no_claim_stands_in_two_experiments() -> None:
    ids = [expectation["claim"] for _, expectation in EXPECTATIONS]
    assert {claim for claim in ids if ids.count(claim) > 1} == set()


@pytest.mark.parametrize(("name", "expectation"), EXPECTATIONS, ids=IDS)
def test_numbers_are_the_papers(name: str, expectation: dict[str, Any]) -> None:
    row = CLAIMS.get(expectation["claim"])
    if row is None or expectation["claim"] in DIFFERENT:
        return
    assert agree(row, expectation), f"{row} is not what {expectation} compares with"


@pytest.mark.parametrize(
    ("row", "expectation", "agrees"),
    [
        ("approx,37.3,37.3,% of link", {"kind": "approx", "expected": 37.3, "tolerance": 0.1}, True),
        ("approx,37.3,37.3,% of link", {"kind": "approx", "expected": 0.373, "tolerance": 0.1}, True),
        ("approx,37.3,37.3,% of link", {"kind": "approx", "expected": 33.7, "tolerance": 0.1}, False),
        ("approx,1.6,1.6,ms", {"kind": "equals", "expected": 0.0016}, True),
        ("approx,1.5,1.5,MB", {"kind": "approx", "expected": 1500, "tolerance": 0.1}, True),
        ("approx,325,325,KB", {"kind": "knee", "expected": "325 KB"}, True),
        ("approx,12.8,12.8,x", {"kind": "ratio", "low": 8.53, "high": 19.2}, True),
        ("approx,12.8,12.8,x", {"kind": "ratio", "low": 13, "high": 19.2}, False),
        ("ratio_between,5,30,x", {"kind": "ratio", "low": 5, "high": 30}, True),
        ("ratio_between,5,30,x", {"kind": "ratio", "low": 5, "high": 60}, False),
        ("ratio_between,99,100,% of time", {"kind": "between", "low": 0.99, "high": 1}, True),
        ("ratio_between,0.3,,%", {"kind": "between", "low": 0.003}, True),
        ("ratio_between,0.3,,%", {"kind": "between", "low": 0.001}, False),
        ("ratio_between,1,4.3,x", {"kind": "up-to", "times": 4.3}, True),
        ("ratio_between,1,4.3,x", {"kind": "up-to", "times": 3.2}, False),
        ("approx,94.4,94.4,% lower", {"kind": "up-to", "times": 17.8}, True),
        ("approx,13.5,13.5,% lower", {"kind": "ratio", "low": 0.8, "high": 0.93}, True),
        ("ratio_between,0.4,2.8,% higher", {"kind": "ratio", "low": 1.004, "high": 1.028}, True),
        ("less_than,,3,us", {"kind": "between", "low": -3e-6, "high": 3e-6}, True),
        ("less_than,,1,x", {"kind": "ratio", "high": 1.2}, False),
        ("ordering,,,", {"kind": "ordering", "chains": [["A", "B"]]}, True),
    ],
)
def test_numbers_are_compared_in_their_units(row: str, expectation: dict[str, Any], agrees: bool) -> None:
    stated = dict(zip(("relation", "low", "high", "unit"), row.split(","), strict=True))
    assert agree(stated, expectation) == agrees, json.dumps(expectation)


def agree(row: dict[str, str], expectation: dict[str, Any]) -> bool:
    """Whether an expectation compares with the number that a paper states, or a band around it, in whatever unit.

    One that refers to another claim has no numbers of its own.
    """
    if row["relation"] == "ordering" or expectation["kind"] in ("fact", "not-run", "ordering", "refers"):
        return True
    stated = [float(row[key]) if row[key] else None for key in ("low", "high")]
    return any(agree_as([x if x is None else as_unit(x) for x in stated], row, expectation) for as_unit in units(row))


def agree_as(stated: list[float | None], row: dict[str, str], e: dict[str, Any]) -> bool:
    low, high = sorted(stated) if None not in stated else stated  # type: ignore[type-var]
    if "expected" in e:
        expected = quantities.as_number(e["expected"], "expected")
        return any(same(expected, x) for x in (low, high))
    if "times" in e:
        return any(same(e["times"], x) or same(1 / e["times"], x) for x in (low, high))
    if row["relation"] == "approx":
        # One number, or a narrow span of them: within the band.
        return all(
            e.get("low", float("-inf")) <= x <= e.get("high", float("inf")) for x in (low, high) if x is not None
        )
    if row["unit"] == "% lower":
        # Anything up to the number: the band is around that.
        return e.get("low", float("-inf")) <= (low or 0) <= e.get("high", float("inf"))
    bounds = [(low, e.get("low")), (high, e.get("high"))]
    return all(same(ours, x) for x, ours in bounds if x is not None and ours is not None) and any(
        ours is not None for x, ours in bounds if x is not None
    )


def same(ours: float | None, stated: float | None) -> bool:
    if ours is None or stated is None:
        return ours is stated
    return abs(ours - stated) <= ROUNDED * max(abs(ours), abs(stated))


def units(row: dict[str, str]) -> list[Any]:
    """What the number may be in our files: as stated, a share, a ratio to what it is lower or higher than, and with
    another prefix of its unit.
    """
    unit, word = row["unit"], row["unit"].split(" ")[0]
    if unit == "% lower":
        return [lambda x: 1 - x / 100]
    if unit == "% higher":
        return [lambda x: 1 + x / 100]
    if word == "%":
        return [lambda x: x, lambda x: x / 100, lambda x: 1 + x / 100, lambda x: 1 - x / 100]
    scale = quantities.UNITS.get(word)
    if scale is None or not re.fullmatch(r"[a-zA-Z]+", word):
        return [lambda x: x]
    return [lambda x, k=k: x * scale * 1000.0**k for k in range(-4, 5)] + [lambda x: x]


CREDITED = re.compile(r"(bfc|flowsail|bcc)\b")
UNCOMPARED = ("fact", "refers", "not-run", "equals")


def variants_in(value: Any) -> set[str]:
    """Every variant that an expectation names."""
    if isinstance(value, list):
        return set().union(*map(variants_in, value))
    if not isinstance(value, dict):
        return set()
    found = set()
    for key, inner in value.items():
        if key in ("variant", "chains", "order"):
            found |= {name for group in (inner if isinstance(inner, list) else [inner]) for name in flat(group)}
        elif key != "without":
            found |= variants_in(inner)
    return found


def flat(group: Any) -> list[str]:
    return group if isinstance(group, list) else [group]


@pytest.mark.parametrize("name", experiments.known())
def test_a_comparison_names_what_lacks_the_mechanism(name: str) -> None:
    """Of BFC, FlowSail or BCC with something else, in a paper's claim: or it says that it credits none of them."""
    plan = known(name).plan
    schemes = {run.params["variant"]: run.scenario.get("scheme", "") for run in plan.runs}
    for expectation in plan.expect:
        if expectation["claim"].startswith("own-") or expectation["kind"] in UNCOMPARED:
            continue
        named = variants_in(expectation) & schemes.keys()
        credited = {variant for variant in named if CREDITED.match(schemes[variant])}
        if credited and named - credited:
            told = "without" in expectation or named & plan.without.keys()
            assert told, f"{expectation['claim']}: [without] names none of {', '.join(sorted(credited))}"


@pytest.mark.parametrize("name", experiments.known())
def test_a_number_of_a_mechanism_names_what_lacks_it(name: str) -> None:
    """A paper's number of BFC, FlowSail or BCC, where others run too: a bound may be so wide that they meet it."""
    plan = known(name).plan
    schemes = {run.params["variant"]: run.scenario.get("scheme", "") for run in plan.runs}
    for expectation in plan.expect:
        if expectation["claim"].startswith("own-") or expectation["kind"] not in ("approx", "between", "knee"):
            continue
        named = variants_in(expectation) & schemes.keys() or schemes.keys()
        credited = {variant for variant in named if CREDITED.match(schemes[variant])}
        if credited and len(schemes) > 1:
            told = "without" in expectation or credited & plan.without.keys()
            assert told, f"{expectation['claim']}: [without] names none of {', '.join(sorted(credited))}"
