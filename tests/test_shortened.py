"""Runs that are too short for what their claims say are found out, and the long one beside them is not.

Eight hosts with sizes of Web Search: a flow of average size takes 0.1 ms alone, and the largest take 2.4 ms.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from backwater import Experiment
from conftest import SMOKE

NETWORK = """
extends = "{base}"
name = "shortened"
description = "Eight hosts, and claims that hold for anything."
scheme = "{scheme}"
[[workload]]
kind = "background"
sizes = {{ table = "web_search" }}
load = 0.7
[run]
duration = "{duration}"
warmup = "{warmup}"
cooldown = "{cooldown}"
[seeds]
count = 5
[[variant]]
name = "it"
[[expect]]
claim = "own-shortened.1"
metric = "average slowdown"
says = "It is more than 1."
kind = "between"
variant = "it"
value = {{ slowdown = "mean" }}
low = 1
[[expect]]
claim = "own-shortened.3"
metric = "average slowdown"
says = "It is more than 1 in a network that fills."
kind = "between"
variant = "it"
transient = "The network fills."
value = {{ slowdown = "mean" }}
low = 1
[[expect]]
claim = "own-shortened.2"
metric = "average slowdown of large flows"
says = "It is more than 1."
kind = "between"
variant = "it"
value = {{ slowdown = "mean", sizes = ">100000" }}
low = 1
"""
SCHEMES = ("bfc", "dctcp", "hpcc", "dcqcn", "ideal-fq")
SHORT = {
    "far too short": ("500 us", "50 us", "0 s"),
    "no cooldown": ("4 ms", "2 ms", "0 s"),
    "no warm-up": ("9 ms", "1 us", "6 ms"),
    "short warm-up, no cooldown": ("2 ms", "100 us", "0 s"),
}
CASES = list(itertools.product(SCHEMES, SHORT))


def verdicts(place: Path, scheme: str, duration: str, warmup: str, cooldown: str) -> dict[str, tuple[str, str]]:
    path = place / "shortened.toml"
    run = {"duration": duration, "warmup": warmup, "cooldown": cooldown}
    path.write_text(NETWORK.format(base=SMOKE / "bfc.toml", scheme=scheme, **run))
    done = Experiment(path).simulate(place / "out")
    return {row["claim"]: (row["verdict"], row["settling"]) for row in done.claims}


@pytest.mark.parametrize(("scheme", "how"), CASES)
def test_a_shortened_run_is_found_out(scheme: str, how: str, tmp_path: Path) -> None:
    found = verdicts(tmp_path, scheme, *SHORT[how])
    assert found.pop("own-shortened.3") == ("pass", ""), "a claim about a transient is not tested"
    for claim, (verdict, why) in found.items():
        assert verdict == "unsettled", (claim, why)


@pytest.mark.parametrize("scheme", ["bfc", "ideal-fq", "dctcp"])
def test_a_long_one_is_not(scheme: str, tmp_path: Path) -> None:
    for claim, (verdict, why) in verdicts(tmp_path, scheme, "40 ms", "10 ms", "10 ms").items():
        assert verdict == "pass", (claim, why)


def test_there_are_twenty() -> None:
    assert len(CASES) == 20
