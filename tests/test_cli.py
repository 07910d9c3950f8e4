"""The command line: what it writes, what it says, how it exits."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import faults
from backwater import Experiment, InputError, Results, _core, cli
from backwater.execute import sweep
from backwater.scenario import experiments
from backwater.show import report
from conftest import Cli, command


def manifest(place: Path) -> dict[str, object]:
    return json.loads((place / "manifest.json").read_text())


def test_run_writes_a_whole_directory(process: Cli, three: Path, tmp_path: Path) -> None:
    done = process("run", three, "--out", "here", "--set", "seed=7")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Report: here/report.html" in done.stdout
    written = manifest(tmp_path / "here")
    assert written["complete"] is True
    assert written["seed"] == 7
    assert written["command"] == f"backwater run {three} --set seed=7 --out here"
    assert [run["label"] for run in written["runs"]] == ["BFC", "DCTCP", "Ideal-FQ"]
    for run in written["runs"]:
        assert json.loads((tmp_path / "here" / run["dir"] / "scenario.json").read_text())["seed"] == 7
        assert (tmp_path / "here" / run["dir"] / "flows.parquet").is_file()
    assert not (tmp_path / "here" / "figures").exists(), "they are drawn when they are asked for"
    assert [path.name for path in tmp_path.iterdir()] == ["here"], "nothing is left beside it"


def test_a_single_runs_digest_is_the_experiments(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    assert cli("run", smoke, "--out", "here").returncode == 0
    written = manifest(tmp_path / "here")
    assert written["digest"] == written["runs"][0]["digest"]
    assert len(bytes.fromhex(written["digest"])) >= 16


def test_the_digest_depends_on_the_seed_and_not_on_threads(cli: Cli, three: Path, tmp_path: Path) -> None:
    digests = []
    for i, arguments in enumerate([["--threads", 1], ["--threads", 2], ["--threads", 4], ["--set", "seed=2"]]):
        assert cli("run", three, "--out", f"out{i}", *arguments).returncode == 0
        digests.append(manifest(tmp_path / f"out{i}")["digest"])
    assert digests[0] == digests[1] == digests[2]
    assert digests[3] != digests[0]


def test_set_changes_what_runs(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    assert cli("run", smoke, "--out", "here", "--set", "switch.queues=16", "--set", "name=renamed").returncode == 0
    written = manifest(tmp_path / "here")
    assert written["name"] == "renamed"
    scenario = json.loads((tmp_path / "here" / written["runs"][0]["dir"] / "scenario.json").read_text())
    assert scenario["switch"]["queues"] == 16


def test_several_scenarios_stand_side_by_side(cli: Cli, smoke: Path, three: Path, tmp_path: Path) -> None:
    done = cli("run", smoke, three, "--out", "both")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == ["bfc", "three"]


def test_without_out_a_fresh_directory_is_taken(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    for _ in range(3):
        assert cli("run", smoke).returncode == 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["bfc", "bfc.2", "bfc.3"]


def test_an_existing_run_is_refused_and_left_alone(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    assert cli("run", smoke, "--out", "here").returncode == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "here").rglob("*")}
    again = cli("run", smoke, "--out", "here", "--set", "seed=2")
    assert again.returncode == 2
    assert "here" in again.stderr
    assert "--force" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "here").rglob("*")} == before
    assert cli("run", smoke, "--out", "here", "--set", "seed=2", "--force").returncode == 0
    assert manifest(tmp_path / "here")["seed"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_foreign_files_are_not_replaced_even_by_force(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("years of work")
    assert cli("run", smoke, "--out", "thesis", "--force").returncode == 2
    (tmp_path / "note").write_text("a file")
    assert cli("run", smoke, "--out", "note", "--force").returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["note", "thesis"]
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "years of work"


def test_an_empty_directory_may_be_filled(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert cli("run", smoke, "--out", "empty").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "SCENARIO"),
        (["rnu", "x.toml"], "rnu"),
        (["run", "absent.toml"], "absent.toml"),
        (["run", "{smoke}", "--speed", "9"], "--speed"),
        (["run", "{smoke}", "--threads", "0"], "--threads"),
        (["run", "{smoke}", "--threads", "two"], "whole number"),
        (["run", "{smoke}", "--set", "seed"], "KEY=VALUE"),
        (["run", "{smoke}", "--set", "sede=7"], "sede"),
        (["run", "{smoke}", "--set", "switch.queues=-1"], "queues"),
        (["run", "{smoke}", "--scale", "huge"], "huge"),
        (["run", "{smoke}", "--out", "/proc/none/here"], "/proc/none"),
        (["check", "absent.toml"], "absent.toml"),
        (["compare", "absent"], "absent"),
        (["compare", "."], "manifest.json"),
        (["report", "absent"], "absent"),
        (["reproduce", "fig99"], "fig99"),
        (["reproduce", "smoke-bfc", "--ledger", "none/here.json"], "none"),
        (["schema", "flow"], "flows"),
    ],
)
def test_what_a_user_gets_wrong_is_one_message_and_exit_code_2(
    cli: Cli, smoke: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    done = cli(*[argument.format(smoke=smoke) for argument in arguments])
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [], "nothing was written"


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX limits")
def test_a_full_disk_leaves_nothing_half_written(process: Cli, smoke: Path, tmp_path: Path) -> None:
    # The flows do not fit into 3000 bytes.
    done = process("run", smoke, "--out", "here", preexec_fn=lambda: faults.limit_files(3000))
    assert done.returncode == 2, done.stderr
    assert "the disk is full" in done.stderr
    assert "here" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_later_keeps_the_runs(
    smoke: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(report, "render", full)
    with pytest.raises(InputError, match="the disk is full\n1 of 1 runs were finished and are kept"):
        Experiment(smoke).run(tmp_path / "here")
    kept = Results(tmp_path / "here")
    kept.verify()
    assert sorted(path.name for path in kept.path.iterdir()) == [
        *("bfc", "manifest.json", "summary.parquet", "timing.json")
    ]
    monkeypatch.undo()
    kept.report()
    assert (kept.path / "report.html").is_file()


def test_a_failure_of_ours_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], smoke: Path, tmp_path: Path
) -> None:
    def broken(scenario: str, threads: int) -> _core.Run:
        raise RuntimeError("buffer below zero at switch leaf3")

    monkeypatch.setattr(sweep._core, "start", broken)
    monkeypatch.setattr(sys, "argv", ["backwater", "run", str(smoke), "--out", str(tmp_path / "here")])
    with pytest.raises(SystemExit) as leave:
        cli.main()
    assert leave.value.code == cli.BUG
    told = capsys.readouterr().err
    assert "bug in Backwater" in told
    assert "buffer below zero at switch leaf3" in told
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []


def test_check_validates_and_estimates(cli: Cli, three: Path, tmp_path: Path) -> None:
    done = cli("check", three)
    assert done.returncode == 0, done.stderr
    assert "valid" in done.stdout
    for word in ("BFC", "DCTCP", "Ideal-FQ", "packet-hops", "memory"):
        assert word in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_check_has_a_line_for_each_of_several(cli: Cli, three: Path) -> None:
    done = cli("check", three, "smoke-bcc", "bcc-tab1", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    rows = [line.split("│") for line in done.stdout.splitlines() if line.startswith("│")]
    assert [[row[1].strip(), row[2].strip()] for row in rows] == [
        [str(three), "6"],
        ["smoke-bcc", "2"],
        ["bcc-tab1", "5"],
    ]
    assert "3 scenarios, all valid. One after the other: about" in done.stdout


def test_check_takes_the_name_of_a_paper(cli: Cli) -> None:
    done = cli("check", "deadlock", "--scale", "smoke", "--json")
    assert done.returncode == 0, done.stderr
    names = [name for name in experiments.known() if name.startswith("deadlock-")]
    assert [row["scenario"] for row in json.loads(done.stdout)] == names
    assert cli("check", "deadlok").stderr.startswith(
        "error: deadlok: no such file or published experiment; did you mean"
    )


def test_compare_puts_runs_side_by_side(cli: Cli, results: object) -> None:
    done = cli("compare", results.path)
    assert done.returncode == 0, done.stderr
    expected = results.run("DCTCP").summary
    cell = next(row for row in expected["slowdown"] if row["class"] == "background" and row["bin"] == "all")
    assert f"{cell['p99']:.2f}" in done.stdout
    assert all(run.digest[:12] in done.stdout for run in results.runs)
    assert cli("compare", results.path, results.path, "--percentile", "p50").returncode == 0
    assert cli("compare", results.path, "--percentile", "p42").returncode == 2
    assert cli("compare", results.path, "--class", "elephants").returncode == 2


def test_credits_are_not_among_dropped_packets(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    """ExpressPass drops surplus credits by design."""
    done = cli("run", smoke, "--set", "scheme=expresspass", "--out", "here")
    assert done.returncode == 0, done.stderr
    drops = Results(tmp_path / "here").run("expresspass").summary["drops"]
    assert drops["credit"] > 100
    assert sum(drops.values()) == drops["credit"]
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("│ expresspass")]
    assert row.split("│")[6].strip() == "0"
    assert "no packet was dropped" in done.stdout


def test_report_writes_the_page_again(cli: Cli, process: Cli, results: object, tmp_path: Path) -> None:
    assert cli("report", results.path, "--out", "page").returncode == 0
    assert (tmp_path / "page" / "report.html").read_text() == (results.path / "report.html").read_text()
    assert cli("report", results.path, results.path).returncode == 2
    assert process("report", results.path, results.path, "--out", "both").returncode == 0
    assert "three/DCTCP" in (tmp_path / "both" / "report.html").read_text()


def test_schemes_and_schemas_are_listed(cli: Cli) -> None:
    listed = cli("list", "schemes").stdout
    for scheme in json.loads(_core.schemes()):
        assert scheme["name"] in listed
    assert "flows" in cli("schema").stdout.split()
    flows = cli("schema", "flows").stdout
    assert "slowdown" in flows
    assert "retransmitted_packets" in flows
    json.loads(cli("schema", "scenario").stdout)


def test_version_and_help(cli: Cli) -> None:
    assert cli("--version").stdout.startswith(f"backwater {_core.version}")
    shown = cli("--help")
    assert shown.returncode == 0
    for word in ("run", "check", "compare", "report", "list", "schema", "reproduce"):
        assert word in shown.stdout


def test_a_closed_pipe_is_no_error(smoke: Path, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command("schema"), cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert "Traceback" not in done.stderr
