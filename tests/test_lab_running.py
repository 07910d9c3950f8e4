"""`backwater lab shell` and `backwater lab top`: they find a running lab of their user, and nothing is left of it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backwater import InputError
from backwater.lab import control, watching
from conftest import Cli
from labs import SCENARIO, python, start

FLOOD = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
until = time.monotonic() + 300
while time.monotonic() < until:
    for _ in range(100):
        s.sendto(bytes(900), ("host3", 7000))
    time.sleep(0.02)
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "four.toml"
    path.write_text('name = "four"\n' + SCENARIO)
    return path


@contextlib.contextmanager
def running(scenario: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A lab with two hosts that overload the port of a third, ended at the end."""
    senders = [word for host in ("host0", "host1") for word in ("--exec", python(host, FLOOD))]
    lab = start(scenario, *(words or senders))
    until = time.monotonic() + 30
    while lab.pid not in [one.process for one in control.labs()] and time.monotonic() < until:
        time.sleep(0.05)
    try:
        yield lab
    finally:
        lab.kill()
        lab.communicate(timeout=30)


@pytest.fixture
def lab(scenario: Path, allowed: None) -> Iterator[subprocess.Popen[str]]:
    with running(scenario) as found:
        yield found


def ask(lab: subprocess.Popen[str], *words: str) -> subprocess.CompletedProcess[str]:
    """Calls a command for this lab, in a process of its own."""
    name, *rest = words
    command = [sys.executable, "-m", "backwater", "lab", name, "--lab", str(lab.pid), *rest]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_command_runs_in_the_network_of_its_host(lab: subprocess.Popen[str]) -> None:
    code = "import os, socket; print(socket.gethostbyname('host2'), sorted(os.listdir('/sys/class/net')), os.getcwd())"
    code += "; s = socket.socket(); s.bind(('10.77.0.3', 0)); raise SystemExit(7)"
    done = ask(lab, "shell", "host2", "--", sys.executable, "-c", code)
    assert done.returncode == 7, done.stderr
    assert done.stdout.startswith("10.77.0.3 ")
    assert done.stdout.endswith(f"{os.getcwd()}\n")  # noqa: PTH109
    where = json.loads(ask(lab, "shell", "host2", "--json").stdout)
    assert where == {"lab": lab.pid, "host": "host2", "address": "10.77.0.3"}
    elsewhere = ask(lab, "shell", "host1", "--", sys.executable, "-c", code)
    assert elsewhere.returncode == 1, "an address of another host"
    assert (
        ask(lab, "shell", "host1", "--", sys.executable, "-c", "import os; os.kill(os.getpid(), 15)").returncode == 143
    )
    missing = ask(lab, "shell", "host1", "there-is-no-such-program")
    assert missing.returncode == 2
    assert "error: [Errno 2] No such file or directory: 'there-is-no-such-program'" in missing.stderr


def test_a_shell_has_a_terminal_and_job_control(lab: subprocess.Popen[str]) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"SHELL": "/bin/sh"}
        words = [sys.executable, "-m", "backwater", "lab", "shell", "host1", "--lab", str(lab.pid)]
        os.execv(sys.executable, words)
    os.write(terminal, b"set -m; sleep 600 & kill -9 %1 && echo sum $((40 + 2)); exit 5\n")
    said = b""
    with contextlib.suppress(OSError):  # A terminal whose other end is closed.
        while part := os.read(terminal, 4096):
            said += part
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5, said
    assert b"host1 is 10.77.0.2. `exit` leaves it." in said
    assert b"sum 42" in said
    assert b"job control" not in said, "a shell says so if it has none"


@pytest.mark.parametrize(
    ("ends", "said", "code"),
    [("lab", b"The lab has ended.", 0), ("top", b"Interrupted: the lab goes on", 130)],
)
def test_top_draws_until_the_lab_ends_or_a_key_is_pressed(
    lab: subprocess.Popen[str], ends: str, said: bytes, code: int
) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "backwater", "lab", "top", "--lab", str(lab.pid)])
    shown, until = b"", time.monotonic() + 60
    with contextlib.suppress(OSError):  # A terminal whose other end is closed.
        while select.select([terminal], [], [], until - time.monotonic())[0] and (part := os.read(terminal, 65536)):
            before, shown = shown, shown + part
            if shown.count(b"switch0 to host3") >= 2 > before.count(b"switch0 to host3"):
                if ends == "lab":
                    lab.kill()
                else:
                    os.write(terminal, b"\x03")
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code, shown
    assert said in shown
    assert b"\x1b[?1049h" not in shown, "a screen that somebody has to leave"
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l"), "the cursor is there again"


def test_what_runs_in_a_shell_ends_with_the_lab(lab: subprocess.Popen[str]) -> None:
    command = [sys.executable, "-m", "backwater", "lab", "shell", "--lab", str(lab.pid), "host1", "--"]
    code = "import time; print('here', flush=True); time.sleep(600)"
    with subprocess.Popen([*command, sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == "here\n"
        lab.send_signal(signal.SIGTERM)
        assert shell.wait(30) == 128 + signal.SIGKILL


def test_a_mistyped_host_is_answered_with_the_nearest_names(lab: subprocess.Popen[str]) -> None:
    done = ask(lab, "shell", "hsot1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "hsot1: no host of the lab; did you mean host1" in done.stderr
    assert "expected one of host0, host1, host2, host3" in done.stderr


def test_top_shows_what_waits_and_who_is_paused(lab: subprocess.Popen[str]) -> None:
    def told() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(ask(lab, "top", "--json").stdout)
        return found

    until = time.monotonic() + 30
    while not (found := told())["ports"][:1] or not found["ports"][0]["queued_bytes"]:
        assert time.monotonic() < until, found
    assert (found["name"], found["divisor"]) == ("four", 5000)
    [first, *others] = found["ports"]
    assert (first["node"], first["peer"]) == ("switch0", "host3")
    assert 0.5 < first["use"] <= 1.01
    assert first["rate_bps"] == pytest.approx(20e6 * first["use"])
    by_name = {(one["node"], one["peer"]): one for one in others}
    assert sum(by_name[host, "switch0"]["queues_paused"] for host in ("host0", "host1")) > 0
    assert by_name["host2", "switch0"]["queued_bytes"] is None
    printed = ask(lab, "top", "--once").stdout
    assert re.search(r"switch0 to host3 +[0-9]+ % +[0-9.]+ Mb/s +[0-9.]+ [KM]?B ", printed), printed
    assert "four: " in printed


def test_the_flows_of_a_scenario_can_be_watched_and_visited(scenario: Path, tmp_path: Path, allowed: None) -> None:
    with running(scenario, "--set", "run.duration=20 ms", "--out", str(tmp_path / "out")) as lab:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            seen = json.loads(ask(lab, "top", "--json").stdout)
            if any(port["use"] > 0.5 for port in seen["ports"]):
                break
        assert any(port["use"] > 0.5 for port in seen["ports"])
        code = "import socket; print(socket.socket().bind(('10.77.0.4', 0)))"
        assert ask(lab, "shell", "host3", "--", sys.executable, "-c", code).stdout == "None\n"


def test_one_of_several_labs_is_chosen(scenario: Path, lab: subprocess.Popen[str], cli: Cli) -> None:
    with running(scenario, "--for", "300") as other:
        known = sorted([lab.pid, other.pid])
        done = cli("lab", "top", "--once")
        assert done.returncode == 2
        assert re.search(r"[2-9] labs run: choose one with .*--lab [0-9]+ or --lab [0-9]+", done.stderr)
        assert {str(one) for one in known} <= set(re.findall(r"--lab ([0-9]+)", done.stderr))
        assert json.loads(ask(other, "top", "--json").stdout)["frames_inside"] == 0
    until = time.monotonic() + 10
    while other.pid in [one.process for one in control.labs()] and time.monotonic() < until:
        time.sleep(0.05)
    done = cli("lab", "top", "--once", "--lab", str(other.pid))
    assert done.returncode == 2
    assert "no lab of yours" in done.stderr


def test_nothing_is_left_of_the_socket_of_a_lab_that_is_killed(lab: subprocess.Popen[str]) -> None:
    lab.kill()
    lab.communicate(timeout=30)
    until = time.monotonic() + 10
    while lab.pid in [one.process for one in control.labs()] and time.monotonic() < until:
        time.sleep(0.05)
    assert lab.pid not in [one.process for one in control.labs()]


def test_without_a_lab_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "labs", list)
    with pytest.raises(InputError, match="no lab of yours runs: start one with `backwater lab SCENARIO"):
        control.choose(None)


def test_a_socket_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("the lab is made of Linux namespaces")
    with control.listen():
        [found] = [one for one in control.labs() if one.process == os.getpid()]
        monkeypatch.setattr(control, "is_ours", lambda _: False)
        with pytest.raises(InputError, match=f"the socket of lab {os.getpid()} belongs to another user"):
            control.Lab(found)
    with pytest.raises(control.Ended, match="the lab has ended"):
        control.Lab(found)


def test_rates_and_pauses_are_those_between_two_readings() -> None:
    port = {"node": "a", "peer": "b", "rate_bps": 100e9, "sent_bytes": 0, "queued_bytes": 7, "active_flows": None}
    port |= {"queues_paused_s": 1e-6, "port_paused_s": 0.0, "pauses": 3, "dropped": 1}
    head = {"name": "x", "divisor": 1000, "frames_inside": 0, "frames_dropped": 1}
    # 1.25 KB in 1 us are a tenth of 100 Gbps.
    later = {**port, "sent_bytes": 1250, "queues_paused_s": 3e-6, "port_paused_s": 0.5e-6, "pauses": 5}
    found = watching.between(
        {**head, "network_s": 1e-6, "ports": [port]}, {**head, "network_s": 2e-6, "ports": [later]}
    )
    [one] = found.ports
    assert (one.use, one.rate_bps) == (pytest.approx(0.1), pytest.approx(10e6))
    assert (one.queues_paused, one.paused, one.pauses) == (pytest.approx(2), pytest.approx(0.5), 2)
    same = {**head, "network_s": 1e-6, "ports": [port]}
    assert watching.between(same, same).ports[0].use == 0, "no time has passed"
    assert watching.between({**same, "ports": []}, same).ports == []
