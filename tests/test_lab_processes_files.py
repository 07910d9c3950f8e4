"""`--log` and `--pcap` of `backwater lab --processes`: files of processes that run on, and of those that are killed."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import backwater
from conftest import Cli
from labs import OVERLOAD, captured, lab, node, python, start, until

pytestmark = pytest.mark.usefixtures("allowed")

FLOOD = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(1500):
    s.sendto(bytes(900), ("r", 7000))
time.sleep(2)
"""
BURSTS = """
import socket, time
from pathlib import Path
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def burst(first):
    for number in range(first, first + 20):
        s.sendto(bytes([number]) * 400, ("r", 40404))
        time.sleep(0.01)
    time.sleep(0.6)
burst(100)
Path(SENT).touch()
while not Path(GO).exists():
    time.sleep(0.05)
burst(200)
"""
"""Numbered datagrams. Those of a burst have crossed the network when it ends, and a process has written its files."""
HELD = """
import sys, time
from pathlib import Path
while sys.orig_argv[2:4] == ["backwater.lab.node", "sw2"] and Path(HOLD).exists():
    time.sleep(0.01)
"""
"""Holds a process of the second switch before it is a switch, for as long as a file is there."""
HELLO = bytes([1, 3])
"""Version and type of a frame that says hello."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "overload.toml"
    path.write_text(OVERLOAD)
    return path


@pytest.fixture
def replayed(cli: Cli) -> Callable[[Path], dict[str, Any]]:
    """Replays a log, whose decisions all have to be equal."""

    def replay(log: Path) -> dict[str, Any]:
        done = cli("replay", log, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        found: dict[str, Any] = json.loads(done.stdout)
        assert found["equal"]
        return found

    return replay


def numbers(file: Path, port: str, way: str) -> list[int]:
    """Numbers of the datagrams that crossed a port."""
    # The wrapped frame begins after 48 bytes: headers of 14, 20 and 8, and the datagram.
    wrapped = [frame[48:] for name, direction, _, frame in captured(file) if (name, direction) == (port, way)]
    return [frame[-1] for frame in wrapped if len(frame) == 442 and frame[36:38] == (40404).to_bytes(2, "big")]


def test_logs_of_processes_are_replayed_and_equal(
    path: Path, tmp_path: Path, replayed: Callable[[Path], dict[str, Any]]
) -> None:
    logs = {name: tmp_path / f"{name}.log" for name in ("sw1", "sw2")}
    words = [word for name, log in logs.items() for word in ("--log", f"{name}={log}")]
    senders = [word for host in ("a", "b") for word in ("--exec", python(host, FLOOD))]
    code, found = lab(path, "--processes", *words, *senders)
    assert (code, found["unlogged"]) == (0, None)
    assert {one["name"]: one["logs"] for one in found["processes"]} == {
        "hosts": [],
        **{name: [str(log)] for name, log in logs.items()},
    }
    for name, log in logs.items():
        replay = replayed(log)
        assert (replay["ending"], replay["switch"], replay["scheme"]) == ("complete", name, "bfc")
        assert replay["packets"] > 500
        # The senders overload one port of the first switch, so there packets wait and pauses go back.
        assert replay["records"] > (2.5 if name == "sw1" else 1) * replay["packets"]


def test_own_flows_across_processes_have_logs_and_captures(
    path: Path, tmp_path: Path, replayed: Callable[[Path], dict[str, Any]]
) -> None:
    log, pcap = tmp_path / "sw1.log", tmp_path / "sw1.pcapng"
    files = ["--log", f"sw1={log}", "--pcap", f"sw1:sw2={pcap}"]
    run = start(path, "--processes", *files, "--out", tmp_path / "out")
    said = run.communicate(timeout=120)[1]
    assert run.returncode == 0, said
    [made] = backwater.Results(tmp_path / "out").runs
    assert made.complete
    assert replayed(log)["ending"] == "complete"
    frames = captured(pcap)
    # The receiver got what left the first switch, but for what was on its way at the end.
    left = sum(way == "out" and len(frame) > 500 for _, way, _, frame in frames)
    assert left >= made.summary["lab"]["datagrams_received"] > 500
    assert [at for _, _, at, _ in frames] == sorted(at for _, _, at, _ in frames)


@pytest.mark.parametrize("victim", ["sw2", "hosts"])
def test_files_of_a_process_that_is_killed_and_starts_again(
    path: Path, tmp_path: Path, replayed: Callable[[Path], dict[str, Any]], victim: str
) -> None:
    sent, go = tmp_path / "sent", tmp_path / "go"
    log, second = tmp_path / "sw2.log", tmp_path / "sw2.log.2"
    ports = {"sw2:r": tmp_path / "sw2.pcapng", "r": tmp_path / "r.pcapng", "sw1:sw2": tmp_path / "sw1.pcapng"}
    words = [word for port, file in ports.items() for word in ("--pcap", f"{port}={file}")]
    mark, bursts = secrets.token_hex(8), BURSTS.replace("SENT", repr(str(sent))).replace("GO", repr(str(go)))
    run = start(path, "--processes", "--log", f"sw2={log}", *words, "--exec", python("a", bursts), "--json", mark=mark)
    try:
        until(sent.exists)
        [first] = node(mark, victim)
        os.kill(first, signal.SIGKILL)
        # The neighbours hear a new number when it has started.
        far, port = (ports["sw1:sw2"], "sw1:sw2") if victim == "sw2" else (ports["sw2:r"], "sw2:r")
        until(lambda: len(hellos(far, port)) == 2)
        go.touch()
        out, said = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 0, said
    found = json.loads(out)
    assert found["unlogged"] is None
    assert {one["name"]: one["restarts"] for one in found["processes"]}[victim] == 1
    logs = [log, second] if victim == "sw2" else [log]
    assert {one["name"]: one["logs"] for one in found["processes"]}["sw2"] == [str(one) for one in logs]
    for number, one in enumerate(logs):
        replay = replayed(one)
        assert replay["ending"] == "complete" if one == logs[-1] else replay["ending"] in ("interrupted", "torn")
        # The first log has the first burst, though it fits into the memory of the process that was killed.
        assert replay["packets"] >= 20 * (3 - len(logs)), number
    both = [*range(100, 120), *range(200, 220)]
    for port, way in (("sw2:r", "out"), ("r", "in"), ("sw1:sw2", "out")):
        assert numbers(ports[port], port, way) == both
        times = [at for _, _, at, _ in captured(ports[port])]
        assert times == sorted(times)
    assert not list(tmp_path.glob("*.3"))


def test_a_start_that_is_killed_before_its_first_call_has_a_log_too(
    path: Path, tmp_path: Path, replayed: Callable[[Path], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = tmp_path / "hold"
    (tmp_path / "sitecustomize.py").write_text(HELD.replace("HOLD", repr(str(hold))))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    mark, logs = secrets.token_hex(8), [tmp_path / f"sw2.log{end}" for end in ("", ".2", ".3")]
    send = python("a", FLOOD.replace("sleep(2)", "sleep(12)"))
    run = start(path, "--processes", "--log", f"sw2={logs[0]}", "--exec", send, "--json", mark=mark)
    try:
        until(lambda: logs[0].exists() and logs[0].stat().st_size > 20_000)
        hold.touch()
        for next_log in logs[1:]:
            until(lambda: bool(node(mark, "sw2")))
            os.kill(node(mark, "sw2")[0], signal.SIGKILL)
            until(next_log.exists)
        hold.unlink()
        out, said = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 0, said
    assert {one["name"]: one["logs"] for one in json.loads(out)["processes"]}["sw2"] == [str(log) for log in logs]
    first, second, third = (replayed(log) for log in logs)
    assert first["packets"] > 0
    assert (second["ending"], second["records"]) == ("interrupted", 0)
    assert third["ending"] == "complete"


def hellos(file: Path, port: str) -> set[bytes]:
    """Numbers of the hellos that came by a port."""
    came = [frame for name, way, _, frame in captured(file) if (name, way) == (port, "in")]
    return {frame[16:24] for frame in came if frame[14:16] == HELLO}


def test_a_file_with_ports_of_several_processes_becomes_several(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "ports.pcapng"
    words = [word for port in ("a", "r", "sw2:r") for word in ("--pcap", f"{port}={file}")]
    send = "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    send += "[s.sendto(bytes([7]) * 400, ('r', 40404)) for _ in range(9)]; time.sleep(1)"
    run = start(path, "--processes", *words, "--exec", python("a", send))
    said = run.communicate(timeout=60)[1]
    assert run.returncode == 0, said
    hosts, switch = tmp_path / "ports.hosts.pcapng", tmp_path / "ports.sw2.pcapng"
    assert sorted(tmp_path.glob("*.pcapng")) == [hosts, switch]
    assert "--pcap: each process writes a file: " in said
    assert numbers(hosts, "a", "out") == numbers(hosts, "r", "in") == numbers(switch, "sw2:r", "out") == [7] * 9


def test_a_full_disk_ends_the_files_and_not_the_switches(
    path: Path, tmp_path: Path, replayed: Callable[[Path], dict[str, Any]]
) -> None:
    log, pcap = tmp_path / "sw1.log", tmp_path / "r.pcapng"
    words = ["--log", f"sw1={log}", "--pcap", f"r={pcap}", "--exec", python("a", FLOOD), "--json"]
    command = [sys.executable, "-m", "backwater", "lab", str(path), "--processes", *words]
    # Every file is full after 100 KB.
    limited = ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh", *command]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    found = json.loads(done.stdout)
    assert found["unlogged"] in (f"{file}: cannot be written: File too large (os error 27)" for file in (log, pcap))
    assert f"error: {found['unlogged']}" in done.stderr
    # The network carried all frames all the same.
    assert [one["exit_code"] for one in found["programs"]] == [0]
    assert {one["host"]: one["frames_out"] for one in found["hosts"]}["r"] >= 1000
    replay = replayed(log)
    assert replay["ending"] in ("interrupted", "torn")
    assert replay["packets"] > 100
    assert 50 < len(captured(pcap)) < 1000
    assert pcap.stat().st_size <= 102_400


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--log", "sw1=taken"], "--log sw1=taken: taken exists: expected a new file"),
        (["--log", "sw1=x"], "x.2, for the log after a restart, exists: expected another name"),
        (["--log", "sw1=/nowhere/x"], "no such directory: /nowhere"),
        (["--log", "sw3=y"], "'sw3' is no switch"),
        (["--pcap", "a=/nowhere/x.pcapng"], "no such directory: /nowhere"),
        (["--pcap", "a=p.pcapng", "--pcap", "sw1:a=p.pcapng"], "p.sw1.pcapng: exists; name another file"),
        (
            ["--pcap", "a=q.pcapng", "--pcap", "sw1:a=q.pcapng", "--pcap", "r=q.hosts.pcapng"],
            "--pcap q.hosts.pcapng: two captures have this file: expected another name for one",
        ),
    ],
)
def test_files_that_cannot_be_written_are_refused_before_the_lab_starts(
    cli: Cli, path: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    there = {tmp_path / name for name in ("taken", "x.2", "p.sw1.pcapng")}
    for file in there:
        file.touch()
    answer = cli("lab", str(path), "--processes", *words, "--for", "1")
    assert answer.returncode == 2, answer.stdout
    assert said in answer.stderr
    assert set(tmp_path.iterdir()) == {*there, path}


@pytest.mark.parametrize(("option", "name"), [("--log", "x.log"), ("--pcap", "x.pcapng")], ids=["log", "capture"])
def test_a_file_that_the_system_refuses_is_told_as_in_one_process(
    path: Path, tmp_path: Path, option: str, name: str
) -> None:
    file, told = tmp_path / name, []
    # Nothing is there yet, and nothing can be.
    file.symlink_to(tmp_path / "nowhere" / name)
    for words in ([], ["--processes"]):
        run = start(path, *words, "--for", "1", option, f"{'sw1' if option == '--log' else 'sw1:sw2'}={file}")
        told.append(run.communicate(timeout=60)[1].splitlines()[-1])
        assert run.returncode == 2
    assert told[0] == told[1]
    assert f"the lab did not start: {file}: cannot be written: No such file or directory" in told[0]
