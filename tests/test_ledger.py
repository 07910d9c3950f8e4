"""The ledger of claims keeps what other experiments have, and the page is what the ledger says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ledger_pages
from backwater import InputError, _core
from backwater.common import versions
from backwater.judge import claims
from backwater.ledger import book as ledger
from backwater.ledger.simulator import Simulator
from backwater.scenario import experiments
from conftest import ROOT, Cli

RESULTS = ROOT / "docs" / "results"


def row(claim: str, verdict: str, experiment: str = "bfc-fig9", **more: Any) -> dict[str, Any]:
    said = {"metric": "m", "says": "It is so.", "expected": "1 to 2", "measured": "1.5", "note": ""}
    run = {"seeds": [1], "scale": "quick", "command": "backwater reproduce x", "version": "1.2.3", "commit": "abc+"}
    run["simulation"] = ledger.this().identity
    return {"claim": claim, "verdict": verdict, "experiment": experiment, **said, **run, **more}


def test_the_pages_are_what_the_ledger_says() -> None:
    """`make results` after a change of the ledger or of any prose."""
    pages = {path.name: path.read_text() for path in RESULTS.glob("*.md") if path.name != ledger_pages.PREFACE}
    assert pages == ledger_pages.render(RESULTS)


def test_every_verdict_in_the_ledger_is_one_and_every_claim_is_there_once() -> None:
    rows = ledger.read(RESULTS / ledger.LEDGER)
    assert rows
    assert {row["verdict"] for row in rows} <= set(claims.VERDICTS)
    listed = [(row["claim"], row["scale"]) for row in rows]
    assert len(set(listed)) == len(listed)


def test_experiments_run_again_replace_their_rows_and_no_others(tmp_path: Path) -> None:
    file = tmp_path / "ledger.json"
    ledger.merge(file, [row("bcc-fig9.1", "pass", "bcc-fig9"), row("fs-fig3.1", "pass", "flowsail-fig3")])
    ledger.merge(file, [row("bfc-fig10.1", "fail", "bfc-fig10"), row("bfc-fig10.2", "pass", "bfc-fig10")])
    ledger.merge(file, [row("bfc-fig9.1", "fail")])
    ledger.merge(file, [row("bfc-fig10.2", "fact", "bfc-fig10")])
    kept = [(row["claim"], row["verdict"]) for row in ledger.read(file)]
    assert kept == [("bfc-fig9.1", "fail"), ("bfc-fig10.2", "fact"), ("fs-fig3.1", "pass"), ("bcc-fig9.1", "pass")]


def test_a_claim_has_a_row_for_each_scale_and_counts_at_the_largest(tmp_path: Path) -> None:
    file = tmp_path / "ledger.json"
    first, second = "bfc-fig9.1", "bfc-fig9.2"
    run = "backwater reproduce bfc-fig9 --scale paper"
    ledger.merge(file, [row(first, "pass", scale="paper", measured="1.7", command=run)])
    ledger.merge(file, [row(first, "undecided"), row(second, "fail")])
    unjudged = row(second, "not-run", scale="paper", measured="only quick", command=run)
    ledger.merge(file, [row(first, "fail", scale="paper", measured="2.2", command=run), unjudged])
    kept = [(one["claim"], one["scale"], one["verdict"]) for one in ledger.read(file)]
    assert kept == [
        (first, "quick", "undecided"),
        (second, "quick", "fail"),
        (first, "paper", "fail"),
        (second, "paper", "not-run"),
    ]
    assert [one["verdict"] for one in ledger.read(file)[2]["history"]] == ["pass"], "what was at this scale before"
    pages = ledger_pages.render(tmp_path)
    assert "| [BFC](bfc.md) | 0 | 0 | 0 | 2 | 0 | 0 | 0 | 0 | 0 | 0 |" in pages["index.md"].splitlines()
    page = pages["bfc.md"].splitlines()
    assert "| bfc-fig9.1 | It is so. | 1 to 2 | 2.2<br>scale quick: undecided, 1.5 | fail; before: pass |" in page
    assert "| bfc-fig9.2 | It is so. | 1 to 2 | 1.5 | fail |" in page
    assert [one.partition(", seed")[0] for one in page if one.startswith("`backwater reproduce")] == [
        "`backwater reproduce x` (scale quick",
        f"`{run}` (scale paper",
    ]


def test_a_row_remembers_the_verdicts_before_it(tmp_path: Path) -> None:
    file = tmp_path / "ledger.json"
    for verdict, measured in (("fail", "3"), ("fail", "3.1"), ("undecided", "2.1"), ("pass", "1.5")):
        ledger.merge(file, [row("bfc-fig9.1", verdict, measured=measured), row("bfc-fig9.2", "pass")])
    first, second = ledger.read(file)
    assert [(one["verdict"], one["measured"]) for one in first["history"]] == [("fail", "3.1"), ("undecided", "2.1")]
    assert second["history"] == []
    assert ledger_pages.verdict(first) == "pass; before: undecided"
    assert "| undecided | pass | 1 |" in ledger_pages.render(tmp_path)["index.md"].splitlines()


@pytest.mark.parametrize(
    ("verdict", "seeds", "told"),
    [
        ("unsettled", None, "1.5<br>next: runs twice as long, 25 min"),
        ("undecided", 12, "1.5<br>next: about 12 seeds, 18 min"),
        ("undecided", None, "1.5"),
        ("undecided", 1000, "1.5<br>next: nothing; its value is so near a bound that 1,000 seeds would not decide it"),
        ("pass", None, "1.5"),
    ],
)
def test_what_is_not_decided_says_what_would_decide_it(verdict: str, seeds: int | None, told: str) -> None:
    """Five seeds of 1.2 G packet-hops each. Two cores simulate 8 M in a second."""
    more = {"seeds": [1, 2, 3, 4, 5], "hops_per_seed": 1_200_000_000, "seeds_to_decide": seeds}
    assert ledger_pages.measured(row("bfc-fig9.1", verdict, **more)) == told
    assert ledger_pages.measured(row("bfc-fig9.1", verdict)) == "1.5", "a row of an older version"
    if verdict == "unsettled":
        growing = row("bfc-fig9.1", verdict, **more, settling=f"not settled: x; {ledger_pages.OVERLOADED}")
        assert ledger_pages.measured(growing).endswith(
            "next: runs four times as long, 50 min, or none if it is overloaded"
        )


def test_headlines_come_first(tmp_path: Path) -> None:
    configured = "with HPCC, as configured for HPCC: pass, 1.7"
    rows = [
        row("bfc-headline.3", "fact"),
        row("bfc-headline.2", "fail", configured=configured),
        row("bfc-headline.1", "refers", measured="see bfc-fig9.1", says="It is fast."),
        row("bfc-fig9.1", "pass", measured="1.8"),
    ]
    ledger.merge(tmp_path / "ledger.json", rows)
    page = ledger_pages.render(tmp_path)["bfc.md"]
    told = page[page.index("## Headlines") :].splitlines()[4:7]
    assert told == [
        "| It is fast. | 1 to 2 | 1.8 | - | pass |",
        "| It is so. | 1 to 2 | 1.5 | pass, 1.7 | fail |",
        "",
    ]


def test_an_index_and_a_page_for_each_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "results"
    place.mkdir()
    (place / "preface.md").write_text("# Results\n\nBy hand.\n")
    paper = tmp_path / "experiments/bfc"
    paper.mkdir(parents=True)
    (paper / "findings.md").write_text("What came out.\n")
    known = experiments.known()
    monkeypatch.setattr(experiments, "root", lambda: tmp_path / "experiments")
    monkeypatch.setattr(experiments, "known", lambda: known)
    rows = [
        row("bfc-fig10.1", "not-run", "bfc-fig10", measured="not run: HPCC"),
        row("bfc-fig10.2", "pass", "bfc-fig10", says="a | b", note="Read it well.", amended=["It was 2."]),
        row("own-bfc-fig10.1", "fail", "bfc-fig10", seeds=[1, 2, 3]),
        row("bfc-fig17.1", "undecided", "bfc-fig17"),
        row("fs-fig3.1", "direction", "flowsail-fig3", commit=None),
    ]
    ledger.merge(place / "ledger.json", rows)
    pages = ledger_pages.render(place)
    assert list(pages) == ["index.md", "bfc.md", "flowsail.md"]
    index = pages["index.md"].splitlines()
    assert index[:3] == ["# Results", "", "By hand."]
    assert "| [BFC](bfc.md) | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 1 |" in index
    assert "| [FlowSail](flowsail.md) | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in index
    assert "| [BFC](bfc.md), our own | 0 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 0 |" in index
    lines = pages["bfc.md"].splitlines()
    assert lines[:3] == ["# Results: BFC", "", "What came out."]
    assert "fs-fig3.1" in pages["flowsail.md"]
    assert "fs-fig3.1" not in pages["bfc.md"]
    assert "## Figure 10: Google sizes, 60 % load" in lines
    assert f"`backwater reproduce x` (scale quick, seed 1, version 1.2.3 at abc+). {ledger_pages.UNTESTED}" in lines
    assert "| bfc-fig10.2 | a \\| b<br>*Read it well.* | 1 to 2 | 1.5 | pass* |" in lines
    assert "* bfc-fig10.2: It was 2." in lines
    assert "Not judged (not run: HPCC): bfc-fig10.1." in lines
    assert any(line.startswith("Long flows are slower with BFC-SRF") for line in lines), "what the experiment tells"
    ledger_pages.main(place)
    assert {name: (place / name).read_text() for name in pages} == pages


def test_a_note_is_that_of_the_file_of_the_claim() -> None:
    expected = experiments.own_keys(experiments.known()["bfc-fig14"])["expect"]
    claim = next(one for one in expected if one["claim"] == "bfc-fig14.4")
    older = row("bfc-fig14.4", "unsettled", "bfc-fig14", metric=claim["metric"], note="Two of four.")
    assert ledger_pages.note_of(older) == claim["note"]
    other = row("bfc-fig14.4", "unsettled", "bfc-fig14", metric="something else", note="Two of four.")
    assert ledger_pages.note_of(other) == "Two of four."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 1, "rows": []}',
        '{"format": 2, "rows": []}',
        '{"format": 2, "simulations": {}, "rows": [3]}',
    ],
)
def test_what_is_no_ledger_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(InputError, match="ledger"):
        ledger.read(tmp_path / "ledger.json")


def test_reproduce_puts_its_claims_into_the_ledger(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "ledger.json"
    before = row("fs-fig1.99", "pass", "flowsail-fig1", scale="smoke")
    ledger.merge(file, [row("bcc-fig9.1", "pass", "bcc-fig9"), before])
    done = cli("reproduce", "fs-fig1", "--scale", "smoke", "--ledger", "ledger.json")
    assert done.returncode in (0, 1), done.stderr
    rows = ledger.read(file)
    mine = [row for row in rows if row["experiment"] == "flowsail-fig1"]
    assert len(mine) > 5
    assert all(row["claim"] != "fs-fig1.99" for row in mine), "what was there of the experiment is gone"
    assert rows[-1]["claim"] == "bcc-fig9.1"
    told = mine[0]
    assert (told["scale"], told["seeds"]) == ("smoke", [1, 2])
    assert told["command"] == "backwater reproduce flowsail-fig1 --scale smoke"
    assert json.loads(file.read_text())["format"] == ledger.FORMAT
    done = cli("reproduce", "fs-fig1", "--ledger", "nowhere/ledger.json")
    assert done.returncode == 2
    assert "--ledger nowhere/ledger.json: no such directory" in done.stderr


def test_a_commit_is_dirty_by_what_runs_and_not_by_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    for name in ("docs/ledger.json", "python/versions.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("before\n")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "x")
    monkeypatch.setattr(versions, "__file__", str(tmp_path / "python" / "versions.py"))
    commit = versions.commit.__wrapped__  # As a new process would ask.
    (tmp_path / "docs" / "ledger.json").write_text("after\n")
    clean = commit()
    assert clean is not None
    assert len(clean) == 12
    (tmp_path / "python" / "versions.py").write_text("after\n")
    assert commit() == clean + "+"
    git("rm", "--quiet", "--cached", "python/versions.py")
    assert commit() == (_core.commit[:12] or None), "what another's checkout does not know is installed there"


def test_the_ledger_is_of_this_simulator() -> None:
    """What changes a result of the smoke experiments changes those that the ledger has: they are run again."""
    others = ledger.outdated(RESULTS / ledger.LEDGER)
    assert not others, "`backwater reproduce ID --scale quick --ledger docs/results/ledger.json`, then `make results`"


def test_a_result_that_changed_makes_rows_outdated_and_a_run_that_was_added_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ledger.json"
    monkeypatch.setattr(ledger, "this", lambda: Simulator("first", {"smoke-bfc: bfc": "1"}))
    ledger.merge(file, [row("bfc-fig9.1", "pass", simulation="first")])
    assert ledger.outdated(file) == set()
    monkeypatch.setattr(ledger, "this", lambda: Simulator("second", {"smoke-bfc: bfc": "1", "smoke-new: new": "2"}))
    assert ledger.outdated(file) == set()
    monkeypatch.setattr(ledger, "this", lambda: Simulator("third", {"smoke-bfc: bfc": "3", "smoke-new: new": "2"}))
    assert ledger.outdated(file) == {"bfc-fig9"}
    ledger.merge(file, [row("fs-fig3.1", "pass", "flowsail-fig3", simulation="third")])
    assert ledger.outdated(file) == {"bfc-fig9"}
    ledger.merge(file, [row("bfc-fig9.1", "pass", simulation="third")])
    assert ledger.outdated(file) == set()
    assert list(json.loads(file.read_text())["simulations"]) == ["third"], "no row is of the first any more"
