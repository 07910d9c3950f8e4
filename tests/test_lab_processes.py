"""`backwater lab --processes`: switches as processes that talk by frames, are killed, and start again."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import backwater
from backwater.lab.apart import Apart
from backwater.lab.machine import WRONG, Machine
from backwater.lab.outside import Options
from conftest import Cli
from labs import OVERLOAD, lab, node, pauses, python, start, traces, until

SEND = """
import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
until, number = time.monotonic() + float(os.environ.get("FOR", "8")), 0
while time.monotonic() < until:
    number += 1
    if number == 1500 and "SENT" in os.environ:
        open(os.environ["SENT"], "w")
    s.sendto(number.to_bytes(4, "big") + bytes(800), ("r", 7000))
    time.sleep(0.0006)
"""
"""More than half of a port of 20 Mb/s. The file SENT, if one is named, says that it flows."""
FLOOD = SEND.replace('"8"', '"2"').replace("0.0006", "0.0002")
"""More than a port, for a shorter time."""
RECEIVE = """
import json, os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7000))
s.settimeout(0.2)
last, got, reordered, until = {}, [], 0, time.monotonic() + 10
while time.monotonic() < until:
    try:
        data, source = s.recvfrom(65535)
    except TimeoutError:
        continue
    number = int.from_bytes(data[:4], "big")
    reordered += number <= last.get(source, 0)
    last[source] = number
    got.append((time.monotonic(), source[0]))
open(FILE, "w").write(json.dumps({"got": got, "reordered": reordered}))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "overload.toml"
    path.write_text(OVERLOAD)
    return path


@pytest.mark.usefixtures("allowed")
def test_programs_talk_across_processes(path: Path) -> None:
    answer = "import socket; s = socket.create_server(('', 7000)); c = s.accept()[0]; c.sendall(c.recv(9) * 40000)"
    ask = (
        "import socket; c = socket.create_connection(('r', 7000)); c.sendall(b'backwater'); n = 0\n"
        "while part := c.recv(65536): n += len(part)\n"
        "assert n == 360000, n"
    )
    code, found = lab(path, "--processes", "--serve", python("r", answer), "--exec", python("a", ask))
    assert code == 0, found
    assert [one["name"] for one in found["processes"]] == ["hosts", "sw1", "sw2"]
    assert all(one["restarts"] == 0 for one in found["processes"])
    # Four links, with two ends each.
    assert len(found["links"]) == 8
    assert all(not one["refused"] and one["restarts"] == 0 for one in found["links"])
    # A hop of each frame over four links, both ways.
    assert found["packet_hops"] > 1000


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("scheme", ["flowsail", *(pytest.param(one, marks=pytest.mark.long) for one in ("bfc", "pfc"))])
def test_traffic_recovers_when_a_switch_is_killed_and_starts_again(
    path: Path, tmp_path: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = tmp_path / "sent"
    monkeypatch.setenv("SENT", str(sent))
    mark, file = secrets.token_hex(8), tmp_path / "got.json"
    receiver = RECEIVE.replace("FILE", repr(str(file)))
    words = ["--set", f"scheme={scheme}", "--exec", python("r", receiver)]
    senders = [word for host in ("a", "b") for word in ("--exec", python(host, SEND))]
    run = start(path, "--processes", *words, *senders, "--json", mark=mark)
    until(sent.exists)
    [victim] = node(mark, "sw2")
    killed = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    out, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    found = json.loads(out)
    restarts = {one["name"]: one["restarts"] for one in found["processes"]}
    assert restarts == {"hosts": 0, "sw1": 0, "sw2": 1}
    heard = [one for one in found["links"] if one["peer"] == "sw2"]
    assert [one["restarts"] for one in heard] == [1, 1], heard
    result = json.loads(file.read_text())
    assert result["reordered"] == 0
    before = [at for at, _ in result["got"] if at < killed]
    # A Python starts within two seconds.
    after = [(at, source) for at, source in result["got"] if at > killed + 2]
    assert len(before) > 500
    assert len({source for _, source in after}) == 2
    assert len(after) > 500, "both flows go on"


@pytest.mark.usefixtures("allowed")
def test_watchdogs_of_processes_are_silent_under_load(path: Path) -> None:
    senders = [word for host in ("a", "b") for word in ("--exec", python(host, FLOOD))]
    code, found = lab(path, "--processes", "--watchdog", "1ms:drop", *senders)
    assert code == 0, found
    assert len(found["links"]) == 8
    assert all(one["watchdog"] == {"alarms": 0, "restored": 0, "dropped": 0} for one in found["links"])
    # Every pause of BFC is too long for this one.
    code, found = lab(path, "--processes", "--watchdog", "1us", *senders)
    assert code == 0, found
    assert sum(one["watchdog"]["alarms"] for one in found["links"]) > 0


@pytest.mark.usefixtures("allowed")
def test_flows_across_processes_have_the_simulators_throughput(path: Path, tmp_path: Path) -> None:
    simulated = backwater.Experiment(path).run(tmp_path / "simulated").runs[0]
    for attempt in ("first", "second"):
        on = Machine(20e6, None, Options(apart=Apart()))
        real = backwater.Experiment(path).run(tmp_path / attempt, on=on).runs[0]
        if real.summary["lab"]["faithful"]:
            break
    assert [real.summary["lab"][f"datagrams_{name}"] for name in WRONG] == [0, 0, 0]
    assert set(real.tables) == {*simulated.tables, "lateness"}
    # Three hosts and eight ends of links, in and out, and the sender.
    late = real.table("lateness").to_pylist()
    assert len(late) == 2 * 3 + 2 * 8 + 1
    rows = {(row["host"], row["direction"]): row for row in late}
    assert rows["sw1", "out, link with sw2"]["frames"] > 500
    assert rows["sw1", "out, link with sw2"]["max_s"] > 0, "a frame is never sent at the instant at which it is due"
    assert rows["sw2", "in, link with sw1"]["frames"] > 500
    close = 0.1 if real.summary["lab"]["faithful"] else 0.2
    for one, other in zip(real.summary["throughput"], simulated.summary["throughput"], strict=True):
        assert one["goodput_bps"] == pytest.approx(other["goodput_bps"], rel=close)

    assert pauses(real) == pytest.approx(pauses(simulated), rel=0.3)


def policies(mark: str) -> dict[str, dict[str, int]]:
    """Scheduling policies of the threads of each process, by the names of both."""
    found: dict[str, dict[str, int]] = {}
    for name in ("hosts", "sw1", "sw2"):
        for number in node(mark, name):
            for task in Path(f"/proc/{number}/task").iterdir():
                with contextlib.suppress(OSError):  # One that has just ended.
                    found.setdefault(name, {})[(task / "comm").read_text().strip()] = os.sched_getscheduler(
                        int(task.name)
                    )
    return found


@pytest.mark.usefixtures("allowed")
def test_a_thread_of_each_process_has_real_time_priority_also_after_a_restart(path: Path) -> None:
    mark = secrets.token_hex(8)
    run = start(path, "--processes", "--realtime", "--for", "60", mark=mark)

    def hurries() -> bool:
        threads = {name: threads.get("fabric") for name, threads in policies(mark).items()}
        return run.poll() is not None or threads == dict.fromkeys(("hosts", "sw1", "sw2"), os.SCHED_FIFO)

    try:
        until(hurries)
        if run.poll() is None:
            threads = [one for of_process in policies(mark).values() for one in of_process.items()]
            others = {policy for name, policy in threads if name != "fabric"}
            assert others == {os.SCHED_OTHER}
            [victim] = node(mark, "sw2")
            os.kill(victim, signal.SIGKILL)
            until(lambda: victim not in node(mark, "sw2") and hurries())
        ended = run.poll()
    finally:
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=40)[1]
    if ended is not None:
        assert ended == 2
        assert "--realtime: the system allows no real-time priority: it needs root, or `ulimit -r 10`" in said
        pytest.skip("the system allows no real-time priority")


@pytest.mark.usefixtures("allowed")
def test_processes_that_may_not_hurry_are_no_lab(path: Path) -> None:
    command = [sys.executable, "-m", "backwater", "lab", str(path), "--processes", "--realtime", "--for", "60"]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("no setpriv in PATH, which takes the right from root")
        command = ["setpriv", "--inh-caps=-sys_nice", "--bounding-set=-sys_nice", *command]

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, preexec_fn=lower)
    assert done.returncode == 2, done.stderr
    assert "--realtime: the system allows no real-time priority: it needs root, or `ulimit -r 10`" in done.stderr


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_processes(path: Path, ending: signal.Signals) -> None:
    mark = secrets.token_hex(8)
    before = traces(mark)
    for wait in (0.5, 2.5):
        run = start(path, "--processes", "--exec", python("a", "import time; time.sleep(600)"), mark=mark)
        time.sleep(wait)
        assert traces(mark)[1]
        run.send_signal(ending)
        run.communicate(timeout=40)
        until(lambda: traces(mark) == before, 10)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--watchdog", "1ms"], "--watchdog 1ms: looks at pauses between processes; expected --processes with it"),
        (
            ["--processes", "--watchdog", "soon"],
            "'soon' is no time: expected a time of the network and forward or drop",
        ),
        (["--processes", "--watchdog", "1ms:wait"], "'wait' is no action: expected a time"),
        (["--processes", "--watchdog", "1ns"], "expected a time from 1us to 1000s"),
    ],
)
def test_options_that_make_no_sense_are_refused(cli: Cli, path: Path, words: list[str], said: str) -> None:
    answer = cli("lab", str(path), *words, "--for", "1")
    assert answer.returncode == 2, answer.stdout
    assert said in answer.stderr
