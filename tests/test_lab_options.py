"""Logs of the lab's own flows, NICs that obey nothing, and real-time priority."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from pathlib import Path

import pytest

import backwater
from backwater import InputError
from backwater.lab import realtime
from backwater.lab.programs import deafen
from conftest import Cli
from labs import SCENARIO, start

OVERLOAD = """
name = "overload"
scheme = "bfc"
topology = { kind = "single-switch", hosts = 3, rate = "100 Gbps", delay = "1 us" }
run = { duration = "300 us", warmup = "0 s" }
seeds = { count = 1 }

[[workload]]
kind = "long-lived"
class = "a"
count = 1
from = ["host0"]
to = ["host2"]

[[workload]]
kind = "long-lived"
class = "b"
count = 1
from = ["host1"]
to = ["host2"]
"""


@pytest.fixture
def overload(tmp_path: Path) -> Path:
    path = tmp_path / "overload.toml"
    path.write_text(OVERLOAD)
    return path


def run(*words: str | Path) -> str:
    """Runs a lab to its end, and returns what it printed."""
    lab = start(*words)
    printed, said = lab.communicate(timeout=120)
    assert lab.returncode == 0, said
    return printed


@pytest.mark.usefixtures("allowed")
def test_the_log_of_own_flows_is_replayed_and_equal(overload: Path, cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "switch0.log"
    run(overload, "--out", tmp_path / "out", "--log", f"switch0={log}")
    replay = json.loads(cli("replay", log, "--json").stdout)
    assert (replay["ending"], replay["switch"], replay["equal"]) == ("complete", "switch0", True)
    assert replay["packets"] > 100
    [made] = backwater.Results(tmp_path / "out").runs
    assert made.complete


@pytest.mark.usefixtures("allowed")
def test_every_datagram_of_many_hosts_arrives_however_late_the_receiver_is(tmp_path: Path) -> None:
    """30 hosts send 3 Gb/s at once. The receiver gets a processor when sender and switches leave one."""
    if os.geteuid() != 0:
        pytest.skip("only root gets larger buffers of sockets than net.core.rmem_max")
    words = ["--set", "variant=dynamic", "--set", "sweep.group 2.count=[20]", "--scale", "smoke", "--seeds", "1"]
    lab = start("bfc-fig8", *words, "--rate", "100", "--realtime", "--out", tmp_path / "out")
    said = lab.communicate(timeout=120)[1]
    if lab.returncode == 2 and "the system allows no real-time priority" in said:
        pytest.skip("the system allows no real-time priority, which takes the processors from the receiver")
    [made] = backwater.Results(tmp_path / "out").runs
    assert made.summary["flows"]["unfinished"] == 0
    assert made.summary["lab"]["datagrams_received"] == made.summary["lab"]["datagrams_sent"] == 45060


@pytest.mark.usefixtures("allowed")
def test_nics_that_obey_nothing_fill_the_switch(overload: Path, tmp_path: Path) -> None:
    run(overload, "--out", tmp_path / "obeys")
    run(overload, "--out", tmp_path / "deaf", "--obey", "none")
    obeys, deaf = (backwater.Results(tmp_path / name).runs[0] for name in ("obeys", "deaf"))
    # Two hosts send 100 Gbps each to a port of 100 Gbps: in 300 us, up to 3.75 MB have to wait.
    assert deaf.summary["buffer"]["max_bytes"] > 2e6 > 10 * obeys.summary["buffer"]["max_bytes"]
    assert deaf.scenario["switch"]["bfc"]["nic_obeys"] is False
    assert backwater.Results(tmp_path / "deaf").manifest.command.count("--obey none") == 1


def test_only_pauses_of_queues_and_flows_can_be_ignored() -> None:
    for pausing, table in (("bfc", "bfc"), ("flowsail", "flowsail"), ("per-flow", "flowsail")):
        scenario = {"switch": {"backpressure": pausing, "bfc": {}, "flowsail": {}}}
        deafen(scenario)
        assert scenario["switch"] == {"backpressure": pausing, "bfc": {}, "flowsail": {}, table: {"nic_obeys": False}}
    with pytest.raises(InputError, match=r'every NIC obeys switch.backpressure = "pfc": expected one of bfc, '):
        deafen({"switch": {"backpressure": "pfc"}})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--obey", "some"], "--obey some: expected none"),
        (["--obey", "none", "--set", "scheme=pfc"], '--obey none: every NIC obeys switch.backpressure = "pfc"'),
        (["--log", "switch0=x", "--seeds", "2"], "--log switch0=x: the scenario has 2 runs: expected one, such as"),
        (["--log", "switch9=x"], "'switch9' is no switch: did you mean switch0?"),
        (["--log", "switch0=none/x"], "no such directory: "),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_starts(
    cli: Cli, overload: Path, words: list[str], said: str
) -> None:
    if sys.platform != "linux":
        pytest.skip("the lab is made of Linux namespaces")
    answer = cli("lab", str(overload), *words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert said in answer.stderr


def policies(process: int) -> dict[str, int]:
    """Scheduling policy of each thread of a process's descendants, by name."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):  # One that has just ended.
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            for task in Path(f"/proc/{child}/task").iterdir():
                found[(task / "comm").read_text().strip()] = os.sched_getscheduler(int(task.name))
            found |= policies(int(child))
    return found


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize(
    ("words", "threads"),
    [
        (["--for", "60"], {"fabric"}),
        (["--set", "run.duration=20 ms"], {"fabric", "send", "receive"}),
    ],
    ids=["programs", "own flows"],
)
def test_the_labs_threads_have_real_time_priority_where_the_system_allows_it(
    tmp_path: Path, words: list[str], threads: set[str]
) -> None:
    path = tmp_path / "four.toml"
    path.write_text(SCENARIO)
    lab = start(path, *words, *(() if "--for" in words else ("--out", tmp_path / "out")), "--realtime")
    found: dict[str, int] = {}
    until = time.monotonic() + 30
    try:
        while lab.poll() is None and time.monotonic() < until:
            found = policies(lab.pid)
            if {name for name, policy in found.items() if policy == os.SCHED_FIFO} >= threads:
                break
            time.sleep(0.05)
    finally:
        ended = lab.poll()
        lab.kill()
        said = lab.communicate()[1]
    if ended is not None:
        assert ended == 2
        assert "--realtime: the system allows no real-time priority: it needs root, or `ulimit -r 10`" in said
        pytest.skip("the system allows no real-time priority")
    assert {name for name, policy in found.items() if policy == os.SCHED_FIFO} == threads
    assert set(found.values()) == {os.SCHED_FIFO, os.SCHED_OTHER}, "programs and Python"


def holds(process: int, file: Path) -> bool:
    """Whether a descendant of a process has the file open."""
    with contextlib.suppress(OSError):  # One that has just ended.
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            if any(opened.samefile(file) for opened in Path(f"/proc/{child}/fd").iterdir() if opened.exists()):
                return True
            if holds(int(child), file):
                return True
    return False


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("asked", [True, False], ids=["realtime", "otherwise"])
def test_idle_processors_stay_awake_while_a_realtime_lab_runs(tmp_path: Path, asked: bool) -> None:
    if not os.access(realtime.WAKING, os.W_OK):
        pytest.skip("only root may keep processors awake, where the kernel has a file for it")
    path = tmp_path / "four.toml"
    path.write_text(SCENARIO)
    lab = start(path, "--for", "60", *(["--realtime"] if asked else []))
    until = time.monotonic() + 30
    try:
        while "fabric" not in policies(lab.pid) and lab.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        held = holds(lab.pid, realtime.WAKING)
    finally:
        ended = lab.poll()
        lab.kill()
        said = lab.communicate()[1]
    if ended is not None:
        assert "--realtime: the system allows no real-time priority" in said
        pytest.skip("the system allows no real-time priority")
    assert held == asked


def test_a_priority_that_is_refused_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("the lab is made of Linux namespaces")

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    name = {number: name for name, number in realtime.threads()}[os.getpid()]
    with pytest.raises(InputError, match=re.escape("it needs root, or `ulimit -r 10` where an administrator")):
        realtime.use((name,))


def test_the_kernels_throttle_is_told_in_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runtime, period = tmp_path / "runtime", tmp_path / "period"
    monkeypatch.setattr(realtime, "RUNTIME", runtime)
    monkeypatch.setattr(realtime, "PERIOD", period)
    monkeypatch.setattr("backwater._core.processors", lambda: 2)
    assert realtime.throttle(1) is None, "a kernel without it"
    runtime.write_text("950000\n")
    period.write_text("1000000\n")
    assert "for 50 ms of each 1 s; `sysctl kernel.sched_rt_runtime_us=-1` lifts that" in str(realtime.throttle(1))
    assert realtime.throttle(2) is None, "with as many processes as processors none waits awake"
    for text in ("-1", "1000000"):
        runtime.write_text(text)
        assert realtime.throttle(1) is None
    runtime.write_text("950000")
    monkeypatch.setattr("backwater._core.processors", lambda: 1)
    assert realtime.throttle(1) is None, "with one processor the lab does not wait awake"


COOLDOWN = """
name = "cooldown"
scheme = "bfc"
topology = { kind = "single-switch", hosts = 4, rate = "100 Gbps", delay = "1 us" }
run = { duration = "100 ms", cooldown = "99500 us", warmup = "0 s" }
workload = [{ kind = "background", sizes = { fixed = "200 KB" }, load = 0.3, load_of = "senders" }]
seeds = { count = 1 }
"""


@pytest.mark.usefixtures("allowed")
def test_a_lab_ends_when_the_counted_flows_have_arrived(tmp_path: Path) -> None:
    """At 20 Mb/s the counted window takes 2.5 s, and all of the cooldown would take more than eight minutes."""
    path = tmp_path / "cooldown.toml"
    path.write_text(COOLDOWN)
    run(path, "--rate", "20", "--out", tmp_path / "out")
    (done,) = backwater.Results(tmp_path / "out").runs
    flows = done.table("flows").to_pylist()
    counted = [flow for flow in flows if flow["counted"]]
    assert counted
    assert all(flow["arrival_ps"] < 500e6 and flow["finish_rx_ps"] for flow in counted)
    last = max(flow["finish_rx_ps"] for flow in counted)
    assert last <= done.summary["sim_time_ps"] < 20e9
    assert any(not flow["counted"] for flow in flows)
