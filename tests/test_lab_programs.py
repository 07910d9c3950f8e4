"""Programs on the hosts of a lab: what they tell becomes a run directory with a page."""

from __future__ import annotations

import json
import re
import secrets
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import backwater
from backwater import Experiment, InputError
from backwater.lab import ping, programs, tcp, told
from backwater.scenario import experiments
from backwater.show import programs as shown
from conftest import Cli
from labs import python, start, traces

HOSTS = ["host0", "host1", "host2", "host3"]
TWO = """
name = "two"
topology = { kind = "single-switch", hosts = 4, rate = "100 Gbps", delay = "1 us" }
workload = [{ kind = "long-lived", count = 1, from = ["host0"], to = ["host2"] }]
run = { duration = "900 us", warmup = "400 us" }
seeds = { fixed = "programs have no seed" }

[switch]
buffer = "1250 KB"

[[variant]]
name = "BFC"
scheme = "bfc"

[[variant]]
name = "DCTCP"
scheme = "dctcp"
"""
PROGRAMS = """
exec = [
    "host2 python -m backwater.lab.tcp receive",
    "host0..host1 python -m backwater.lab.tcp send host2",
    "host3 python -m backwater.lab.ping host2",
]
"""


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(TWO)
    return path


def test_hosts_of_a_program_are_one_or_a_range() -> None:
    found = programs.read("--", ["host1 iperf3 -s"], ["host0..host2 ls 'a b'"], HOSTS)
    assert [(one.host, one.argv) for one in found.servers] == [("host1", ["iperf3", "-s"])]
    assert [(one.host, one.argv) for one in found.others] == [(host, ["ls", "a b"]) for host in HOSTS[:3]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("host9 ls", "--exec 'host9 ls': 'host9' is no host: did you mean host"),
        ("host0.. ls", "--exec 'host0.. ls': '' is no host: expected one of host0, "),
        ("host2..host1 ls", "--exec 'host2..host1 ls': host2..host1: expected FIRST..LAST, such as host0..host3"),
        ("host0..host1..host2 ls", "host0..host1..host2: expected FIRST..LAST"),
        ("host0", "--exec 'host0': a command is missing after the host"),
        ("host0 'ls", "no closing quotation"),
    ],
)
def test_a_wrong_program_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        programs.read("--", [], [text], HOSTS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exec = [", "two.programs.toml: "),
        ("exce = []", "two.programs.toml: exce: did you mean exec? expected one of serve, exec"),
        ("exec = 'host0 ls'", "two.programs.toml: exec = 'host0 ls': expected a list of texts"),
        ("exec = [1]", "two.programs.toml: exec = [1]: expected a list of texts"),
        ("serve = ['host0 ls']", "two.programs.toml: expected exec = "),
        ("exec = ['host7 ls']", "two.programs.toml: exec 'host7 ls': 'host7' is no host"),
    ],
)
def test_a_wrong_file_of_programs_is_refused_before_anything_starts(two: Path, cli: Cli, text: str, said: str) -> None:
    if sys.platform != "linux":
        pytest.skip("the lab is made of Linux namespaces")
    two.with_suffix(".programs.toml").write_text(text)
    answer = cli("lab", str(two), "--out", str(two.parent / "out"))
    assert (answer.returncode, answer.stdout) == (2, "")
    assert said in answer.stderr
    assert not (two.parent / "out").exists()


def test_the_published_incast_has_programs_for_its_hosts() -> None:
    experiment = Experiment("lab-incast")
    file = programs.beside(experiment.path)
    assert file is not None
    found = programs.from_file(file, [f"host{number}" for number in range(11)])
    senders = [one.host for one in found.others if "send" in one.argv]
    assert senders == [f"host{number}" for number in range(9)]
    assert experiment.labels == ["BFC", "FlowSail", "PFC", "Tail-drop", "DCTCP"]
    tail_drop = experiment.scenarios["Tail-drop"]["switch"]
    assert (tail_drop["backpressure"], "ecn" in tail_drop, tail_drop["buffer"]) == ("none", False, "1250 KB")
    assert "lab-incast" in experiments.known()
    assert "lab-incast.programs" not in experiments.known()


def test_results_are_numbers_and_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "0"
    monkeypatch.setenv(told.RESULT, str(file))
    told.tell(goodput_bps=5e6, congestion_control="reno")
    told.tell("host1", lost=0)
    assert told.read(file) == [
        {"about": "", "metric": "goodput_bps", "value": 5e6, "text": None},
        {"about": "", "metric": "congestion_control", "value": None, "text": "reno"},
        {"about": "host1", "metric": "lost", "value": 0.0, "text": None},
    ]
    assert told.read(tmp_path / "1") == []
    for text, said in (
        ("{}\nx", "line 2 of its results: 'x': expected a JSON object"),
        ("[1]", "expected a JSON object"),
        ('{"a": true}', "a = True: expected a number or a text"),
        ('{"a": [1]}', "expected a number or a text"),
        ('{"a": NaN}', "a = nan: expected a number or a text"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=re.escape(said)):
            told.read(file)


def test_fairness_is_1_if_all_are_equal_and_1_in_n_if_one_has_everything() -> None:
    assert tcp.fairness([3.0, 3.0, 3.0]) == pytest.approx(1)
    assert tcp.fairness([5.0, 0.0, 0.0, 0.0]) == pytest.approx(1 / 4)
    assert tcp.fairness([]) == 0


def test_percentiles_are_by_nearest_rank() -> None:
    assert ping.rank([1.0, 2.0, 3.0, 4.0], 0.5) == 2
    assert ping.rank([1.0], 0.99) == 1
    hundred = [float(number) for number in range(1, 101)]
    assert (ping.rank(hundred, 0.99), ping.rank(hundred, 1.0)) == (99, 100)


def test_the_checksum_of_a_request_is_right() -> None:
    """A packet with its checksum sums up to zero (RFC 1071)."""
    for number in (0, 1, 65535):
        assert ping.checksum(ping.request(0xFFFF, number, True)) == 0


@pytest.mark.usefixtures("allowed")
def test_programs_of_a_scenario_make_a_run_directory(two: Path, tmp_path: Path) -> None:
    two.with_suffix(".programs.toml").write_text(PROGRAMS)
    out = tmp_path / "out"
    run = start(two, "--out", out)
    printed, said = run.communicate(timeout=120)
    assert run.returncode == 0, said
    assert "Note: DCTCP is left out: its hosts need DCTCP" in said
    [made] = backwater.Results(out).runs
    assert (made.label, made.complete) == ("BFC", True)
    rows = made.table("programs").to_pylist()
    of = {(row["host"], row["about"], row["metric"]): row["value"] for row in rows}
    senders = [of["host2", host, "goodput_bps"] for host in ("host0", "host1")]
    assert of["host2", "", "goodput_bps"] == pytest.approx(sum(senders))
    # BFC with two flows uses 0.83 to 1 of the link; TCP has 966 of 1,048 bytes.
    assert 0.7 * 20e6 < sum(senders) < 20e6 * 966 / 1048 * 1.01
    assert of["host2", "", "fairness"] > 0.8
    assert of["host3", "host2", "lost"] < of["host3", "host2", "pings"]
    assert of["host3", "host2", "rtt_max_s"] >= of["host3", "host2", "rtt_p99_s"] >= of["host3", "host2", "rtt_p50_s"]
    # Four links of 1 us, 5,000 times slower. The transmission of a small packet is short.
    assert of["host3", "host2", "rtt_p50_s"] > 0.02
    assert {row["text"] for row in rows if row["metric"] == "congestion_control"} <= {"cubic", "reno"}
    assert made.table("lateness").num_rows == 2 * 4
    use = {(row["node"], row["peer"]): row["utilisation"] for row in made.table("ports").to_pylist()}
    assert use["switch0", "host2"] > 0.7
    assert made.summary["drops"]["buffer"] == 0
    assert "goodput: host0 to host1" in printed
    page = (out / "report.html").read_text()
    assert "Programs on the hosts" in page
    assert re.search(r"BFC: [0-9.]+ Mb/s arrive, and the p99 of round trips is [0-9.]+ ms", page)
    assert [row.what for row in shown.table([made])][-1] == "faithful"


@pytest.mark.usefixtures("allowed")
def test_programs_of_options_make_a_run_directory_and_a_failing_one_ends_it(
    two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    began = time.monotonic()
    run = start(two, "--set", "variant=BFC", "--out", out, "--exec", "host1 sleep 600", "--exec", "host0 false")
    said = run.communicate(timeout=60)[1]
    assert run.returncode == 2
    assert "host0: false: exit code 1" in said
    assert time.monotonic() - began < 40
    assert not out.exists()
    assert not list(scratch.iterdir())
    code = f'{shlex.quote(sys.executable)} -c \'import os; open(os.environ["{told.RESULT}"], "w").write("x")\''
    run = start(
        two,
        "--set",
        "variant=BFC",
        "--set",
        "run.duration=100 us",
        "--set",
        "run.warmup=10 us",
        "--out",
        out,
        "--exec",
        f"host0 {code}",
    )
    said = run.communicate(timeout=60)[1]
    assert run.returncode == 2
    assert "line 1 of its results: 'x': expected a JSON object" in said


@pytest.mark.usefixtures("allowed")
def test_a_run_of_programs_that_is_terminated_leaves_nothing(two: Path, tmp_path: Path) -> None:
    out, mark = tmp_path / "out", secrets.token_hex(8)
    before = traces(mark)
    words = ["--set", "variant=BFC", "--set", "run.duration=10 ms", "--out", out]
    sleeper = python(
        "host0", f"import pathlib, time; pathlib.Path({str(tmp_path / 'runs')!r}).touch(); time.sleep(600)"
    )
    run = start(two, *words, "--exec", sleeper, mark=mark)
    until = time.monotonic() + 30
    while not (tmp_path / "runs").exists() and time.monotonic() < until:
        time.sleep(0.05)
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=30)
    assert run.returncode == 128 + signal.SIGTERM
    until = time.monotonic() + 10
    while traces(mark) != before and time.monotonic() < until:
        time.sleep(0.05)
    assert traces(mark) == before


@pytest.mark.usefixtures("allowed")
def test_what_a_killed_run_leaves_is_removed_by_the_next(
    two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))

    def begin(name: str, host: str) -> subprocess.Popen[str]:
        sleeper = python(host, f"import pathlib, time; pathlib.Path({str(tmp_path / name)!r}).touch(); time.sleep(600)")
        words = ["--set", "variant=BFC", "--set", "run.duration=10 ms", "--out", tmp_path / f"{name}-out"]
        run = start(two, *words, "--exec", sleeper)
        until = time.monotonic() + 30
        while not (tmp_path / name).exists() and time.monotonic() < until:
            time.sleep(0.05)
        return run

    goes_on = begin("goes-on", "host0")
    killed = begin("killed", "host1")
    assert len(list(scratch.iterdir())) == 2
    killed.kill()
    killed.communicate(timeout=30)
    last = begin("last", "host2")
    assert len(list(scratch.iterdir())) == 2, "that of the killed run is gone, and the others are not"
    for run in (goes_on, last):
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=30)
    assert not list(scratch.iterdir())


def test_a_run_whose_hosts_lack_something_is_left_out_and_none_is_refused(two: Path, cli: Cli) -> None:
    if sys.platform != "linux":
        pytest.skip("the lab is made of Linux namespaces")
    answer = cli("lab", str(two), "--set", "variant=DCTCP", "--out", str(two.parent / "out"), "--exec", "host0 true")
    assert answer.returncode == 2
    assert "two.toml: no run is left: its hosts need DCTCP; add --dctcp, as root" in answer.stderr


def test_json_has_the_results_of_programs(two: Path, tmp_path: Path, allowed: None) -> None:
    code = f'{shlex.quote(sys.executable)} -c \'import os; open(os.environ["{told.RESULT}"], "w").write("{{}}")\''
    words = ["--set", "variant=BFC", "--set", "run.duration=100 us", "--set", "run.warmup=10 us", "--json"]
    run = start(two, *words, "--out", tmp_path / "out", "--exec", f"host0 {code}", "--exec", "host1 true")
    printed, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    [made] = json.loads(printed)[0]["runs"]
    assert [(row["host"], row["metric"]) for row in made["programs"]] == [("host0", None), ("host1", None)]
    assert made["programs"][1]["command"] == "true"
