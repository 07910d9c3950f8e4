"""Several experiments in one command: side by side, each judged and drawn when it is complete."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import faults
from backwater import Experiment, InputError, Results
from backwater.cli import terminal
from backwater.ledger import book as ledger
from backwater.runs import staging
from conftest import SMOKE, Cli

ENDLESS = """
extends = "{base}"
name = "endless"
[run]
duration = "10 s"
"""


def files(results: Results) -> list[dict[str, str]]:
    """What stands in each run, by hash."""
    return [run.entry.files for run in results.runs]


def test_several_experiments_run_side_by_side(smoke: Path, three: Path, tmp_path: Path, cli: Cli) -> None:
    """The next begins while the last runs of the one before are not done, and each is as it is alone."""
    slow = tmp_path / "slow.toml"
    slow.write_text(f'extends = "{SMOKE / "bfc.toml"}"\nname = "slow"\n[run]\nduration = "4 ms"\n')
    done = cli("run", slow, three, "--out", "both", "--threads", 2)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if ": started" in line or ": done in" in line]
    assert lines.index(next(line for line in lines if line.startswith("three: BFC: started"))) < lines.index(
        next(line for line in lines if line.startswith("slow: ") and ": done" in line)
    )
    alone = Experiment(three).run(tmp_path / "alone")
    assert files(Results(tmp_path / "both/three")) == files(alone)


def test_what_an_interruption_kept_from_being_drawn_is_drawn(
    smoke: Path, three: Path, tmp_path: Path, cli: Cli
) -> None:
    assert cli("run", smoke, "--out", "both/bfc").returncode == 0
    page = tmp_path / "both/bfc/report.html"
    page.unlink()
    done = cli("run", smoke, three, "--out", "both")
    assert "both/bfc: finished before; not run again" in done.stdout
    assert page.exists()
    page.unlink()
    done = cli("run", smoke, three, "--out", "both")
    assert (done.returncode, done.stdout.count("not run again")) == (0, 2), "nothing runs, and the page is drawn"
    assert page.exists()


def test_a_signal_leaves_what_is_complete(smoke: Path, tmp_path: Path) -> None:
    endless = tmp_path / "endless.toml"
    endless.write_text(ENDLESS.format(base=SMOKE / "bfc.toml"))
    process = faults.start(tmp_path, "run", smoke, endless, "--out", "both", "--threads", 1)
    faults.wait_for(tmp_path / "output", "Report: both/bfc/report.html", process)
    ended = faults.stop(process, tmp_path, signal.SIGINT)
    assert ended.code == 130
    assert Results(tmp_path / "both/bfc").complete
    assert not (tmp_path / "both/endless").exists()


def test_a_name_that_cannot_be_taken_is_told_once(smoke: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: staging.Staging) -> None:
        raise InputError(f"{self.place}: cannot be written: because")

    monkeypatch.setattr(staging.Staging, "take_name", refuse)
    with pytest.raises(InputError, match=r"because\nwhat was finished is in .*\.here\.partial") as refused:
        Experiment(smoke).simulate(tmp_path / "here")
    assert str(refused.value).count("because") == 1
    monkeypatch.undo()
    assert Experiment(smoke).simulate(tmp_path / "here").complete, "which takes up what is there"


def test_claims_that_cannot_be_kept_end_the_command(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not only when everything else has run."""
    names = [f"deadlock-{path.stem}" for path in sorted((SMOKE.parent / "deadlock").glob("*.toml"))]

    def refuse(path: Path, rows: list[ledger.Row]) -> None:
        raise InputError(f"{path}: cannot be written")

    monkeypatch.setattr(ledger, "merge", refuse)
    words = ["reproduce", "deadlock", "--scale", "smoke", "--set", "run.duration=10 us", "--seeds", 1]
    done = cli(*words, "--threads", 1, "--ledger", "l.json", "--out", "here")
    assert done.returncode == 2
    assert "l.json: cannot be written" in done.stderr
    there = [name for name in names if (tmp_path / "here" / name).exists()]
    assert 1 <= len(there) < len(names)


def test_many_runs_have_no_lines_of_their_own(smoke: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "PLAIN_EVERY_S", 0.0)
    few = cli("run", smoke, "--seeds", 3, "--set", "run.duration=20 us", "--out", "few").stdout
    assert few.count(": done in") == 3
    many = cli("run", smoke, "--seeds", terminal.MANY + 1, "--set", "run.duration=20 us", "--out", "many").stdout
    assert "done in" not in many
    told = [line for line in many.splitlines() if f" of {terminal.MANY + 1} runs done: " in line]
    assert told
    shares = [int(line.partition("done: ")[2].partition(" %")[0]) for line in told]
    assert shares == sorted(shares)
