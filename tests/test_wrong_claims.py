"""Claims that are wrong on purpose, judged by real runs: bounds off, schemes swapped, mechanisms that are not needed.

Each is `fail` or `vacuous`, and those beside them that are right are `pass`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from backwater import Experiment, Results
from conftest import SMOKE

NETWORK = """
extends = "{base}"
name = "wrong"
description = "Eight hosts with incast, and claims about them."
[[workload]]
kind = "background"
sizes = {{ table = "google_rpc" }}
load = 0.6
[[workload]]
kind = "incast"
degree = 7
aggregate = "2 MB"
period = "250 us"
[run]
duration = "4 ms"
warmup = "500 us"
cooldown = "2 ms"
[seeds]
count = 5
[[variant]]
name = "BFC"
scheme = "bfc"
[[variant]]
name = "BFC-no-pausing"
scheme = "bfc"
"switch.backpressure" = "none"
[[variant]]
name = "DCTCP"
scheme = "dctcp"
[[variant]]
name = "HPCC"
scheme = "hpcc"
[[variant]]
name = "Ideal-FQ"
scheme = "ideal-fq"
[without]
BFC = "BFC-no-pausing"
"""

P99 = 'slowdown = ["p99"], sizes = [">0"]'
TAIL = '{ slowdown = "p99", sizes = ">0" }'
MEAN = '{ slowdown = "mean", sizes = ">0" }'
BUFFER = '{ summary = "buffer.max_bytes" }'
GOODPUT = '{ summary = "throughput[class=background].goodput_bps" }'


def ratio(each: str, numerator: str, denominator: str, bounds: str) -> str:
    sides = f'numerator = {{ variant = "{numerator}" }}\ndenominator = {{ variant = "{denominator}" }}'
    return f'kind = "ratio"\neach = {{ {each} }}\n{sides}\n{bounds}'


def ordering(value: str, *chain: str) -> str:
    names = ", ".join(f'"{name}"' for name in chain)
    return f'kind = "ordering"\nvalue = {value}\nchains = [[{names}]]'


def between(value: str, variant: str, bounds: str) -> str:
    return f'kind = "between"\nvariant = "{variant}"\nvalue = {value}\n{bounds}'


def up_to(times: int) -> str:
    schemes = f'each = {{ {P99}, variant = ["DCTCP", "HPCC"] }}\nnumerator = {{}}\ndenominator = {{ variant = "BFC" }}'
    return f'kind = "up-to"\n{schemes}\ntimes = {times}'


WRONG = {
    # Bounds that are off: DCTCP's tail is six times as long as BFC's.
    "a hundred times": ratio(P99, "DCTCP", "BFC", "low = 100"),
    "no worse": ratio(P99, "DCTCP", "BFC", "low = 0.5\nhigh = 1.1"),
    "up to two hundred times": up_to(200),
    "a megabyte": 'kind = "approx"\nvariant = "BFC"\nvalue = ' + BUFFER + "\nexpected = 1_000_000\ntolerance = 0.25",
    "ten drops": 'kind = "equals"\nvariant = "BFC"\nvalue = { summary = "drops.buffer" }\nexpected = 10',
    "more than is offered": between(GOODPUT, "BFC", "low = 3.6e11"),
    "half a buffer": between(BUFFER, "Ideal-FQ", "high = 4e5"),
    # Schemes that are swapped.
    "DCTCP before BFC": ordering(TAIL, "DCTCP", "BFC"),
    "HPCC before the ideal": ordering(TAIL, "HPCC", "Ideal-FQ"),
    "the ideal holds less": ordering(BUFFER, "Ideal-FQ", "BFC"),
    "one link of a chain": ordering(TAIL, "BFC", "DCTCP", "HPCC"),
    "the other way round": ratio(P99, "BFC", "DCTCP", "low = 2"),
    "HPCC's incast": ratio('slowdown = ["mean"], class = ["incast"]', "HPCC", "DCTCP", "high = 0.8"),
    # Mechanisms that are not needed: all of these hold without pausing.
    "twice as good": ratio(P99, "DCTCP", "BFC", "low = 2"),
    "BFC before DCTCP": ordering(TAIL, "BFC", "DCTCP"),
    "a chain": ordering(MEAN, "BFC", "HPCC", "DCTCP"),
    "a small tail": between(TAIL, "BFC", "high = 10"),
    "no drops": 'kind = "equals"\nvariant = "BFC"\nvalue = { summary = "drops.buffer" }\nexpected = 0',
    "goodput": ratio(
        'summary = ["throughput[class=background].goodput_bps"]', "BFC", "Ideal-FQ", "low = 0.8\nhigh = 1.2"
    ),
    "up to six times": up_to(6),
}
RIGHT = {
    "pauses": between('{ summary = "pause.bfc_pauses" }', "BFC", "low = 1"),
    "buffers": ordering(BUFFER, "BFC", "HPCC"),
    "without a mechanism": "without = {}\n" + ordering(TAIL, "Ideal-FQ", "DCTCP"),
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("wrong")
    path = place / "wrong.toml"
    claims = "".join(
        f'[[expect]]\nclaim = "own-wrong.{i}"\nmetric = "it"\nsays = "{name}"\n{text}\n'
        for i, (name, text) in enumerate({**WRONG, **RIGHT}.items(), 1)
    )
    path.write_text(NETWORK.format(base=SMOKE / "bfc.toml") + claims)
    done: Results = Experiment(path).simulate(Path(place / "out"))
    return {row["says"]: row["verdict"] for row in done.claims}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_claim_does_not_hold(name: str, verdicts: dict[str, str]) -> None:
    assert verdicts[name] == ("fail" if list(WRONG).index(name) < 13 else "vacuous")


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_does(name: str, verdicts: dict[str, str]) -> None:
    assert verdicts[name] == "pass"


def test_there_are_twenty() -> None:
    assert len(WRONG) == 20
