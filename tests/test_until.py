"""`--until undecided=N`: more seeds where intervals say nothing yet, and no more than that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backwater import Results
from backwater.ledger import book as ledger
from backwater.ledger.simulator import Simulator
from backwater.scenario import experiments
from conftest import SMOKE, Cli

CLAIMS = """
extends = "{base}"
name = "claims"
description = "One claim that any seed settles, and one that hangs on chance."
[run]
duration = "200 us"
[seeds]
count = 2

[[expect]]
claim = "own-until.1"
metric = "flows"
says = "There are flows."
kind = "between"
variant = "bfc"
value = {{ summary = "flows.counted" }}
low = 1

[[expect]]
claim = "own-until.2"
metric = "load that was offered"
says = "It is at least {low} of what it is on average."
kind = "between"
variant = "bfc"
value = {{ summary = "load[class=background].realised" }}
low = {low}
"""


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger, "this", lambda: Simulator("0" * 16, {}))  # It would be kept for other tests.

    def make(low: float, more: str = "") -> str:
        path = tmp_path / "claims.toml"
        path.write_text(CLAIMS.format(base=SMOKE / "bfc.toml", low=low) + more)
        monkeypatch.setattr(experiments, "known", lambda: {"claims": path})
        return "claims"

    return make


def claims(place: Path) -> dict[str, str]:
    return {row["claim"]: row["verdict"] for row in Results(place).judged}


def test_seeds_are_added_until_claims_are_settled(experiment, tmp_path: Path, cli: Cli) -> None:
    """Two seeds leave open whether a load above 0.3 is one of 0.5; more do not."""
    name = experiment(0.3)
    done = cli("reproduce", name, "--out", "out/claims", "--ledger", "ledger.json")
    assert claims(tmp_path / "out/claims") == {"own-until.1": "pass", "own-until.2": "undecided"}
    done = cli("reproduce", name, "--out", "out/claims", "--force", "--until", "undecided=0", "--ledger", "ledger.json")
    assert done.returncode == 0, done.stderr
    assert "claims: undecided with 2 seeds: own-until.2; next with 5" in done.stdout
    assert claims(tmp_path / "out/claims") == {"own-until.1": "pass", "own-until.2": "pass"}
    count = Results(tmp_path / "out/claims").manifest.seeds["count"]
    assert count > 2
    assert done.stdout.count(": started") == count, "seeds of a round before are not run again"
    rows = json.loads((tmp_path / "ledger.json").read_text())["rows"]
    assert [len(row["seeds"]) for row in rows] == [count, count]
    assert all(f"seeds.count={count}" in row["command"] for row in rows)


UNSETTLED = """
[[expect]]
claim = "own-until.3"
metric = "average slowdown of large flows"
says = "It is more than 1."
kind = "between"
variant = "bfc"
value = { slowdown = "mean", sizes = ">100000" }
low = 1
"""


def test_runs_become_longer_until_they_have_settled(experiment, tmp_path: Path, cli: Cli) -> None:
    """A network that drains for most of its time has not settled; in a longer run it drains for less."""
    name = experiment(0.01, UNSETTLED)
    done = cli("reproduce", name, "--out", "out", "--until", "undecided=0", "--seeds", "5")
    assert done.returncode == 0, done.stderr
    assert 'claims: unsettled: own-until.3; next with run.duration="400 us" run.warmup="20 us"' in done.stdout
    assert claims(tmp_path / "out")["own-until.3"] == "pass"
    run = Results(tmp_path / "out").runs[0].scenario["run"]
    assert float(run["duration"].split()[0]) == 20 * float(run["warmup"].split()[0]) >= 400


def test_what_may_stay_undecided_stays(experiment, tmp_path: Path, cli: Cli) -> None:
    done = cli("reproduce", experiment(0.3), "--out", "out", "--until", "undecided=1")
    assert "next with" not in done.stdout
    assert claims(tmp_path / "out")["own-until.2"] == "undecided"


def test_no_round_goes_beyond_the_budget(experiment, tmp_path: Path, cli: Cli) -> None:
    done = cli("reproduce", experiment(0.3), "--out", "out", "--until", "undecided=0", "--budget", "0.001 s")
    assert "Another round would go beyond --budget" in done.stdout
    assert claims(tmp_path / "out")["own-until.2"] == "undecided"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--until", "undecided"), "--until undecided: expected undecided=N"),
        (("--until", "fail=0"), "--until fail=0: expected undecided=N"),
        (("--until", "undecided=0", "--budget", "soon"), "--budget soon: expected a number and one of s, min, h"),
        (("--budget", "1 h"), "--budget 1 h: expected --until with it"),
    ],
)
def test_other_goals_are_refused(options: tuple[str, ...], says: str, experiment, cli: Cli) -> None:
    done = cli("reproduce", experiment(0.3), *options)
    assert done.returncode == 2
    assert says in done.stderr
