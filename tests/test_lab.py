"""`backwater lab`: programs talk across switches, nothing else gets in, and nothing is left behind."""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import backwater
from backwater.lab.machine import WRONG
from conftest import Cli
from labs import OVERLOAD, SCENARIO, lab, pauses, python, start, traces

LARGE = (
    "topology={kind='leaf-spine', leaves=4, spines=1, hosts_per_leaf=150, "
    "host_rate='1 Gbps', host_delay='1 us', core_rate='1 Gbps', core_delay='1 us'}"
)
ALL_REDUCE = "workload=[{kind='collective', pattern='ring', hosts=['host0..host3'], bytes='1 MB'}]"
ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7000))
while True:
    data, to = s.recvfrom(65535)
    s.sendto(data, to)
"""
PING = """
import os, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
for size in (1, 100, 900, 3000, 900):
    sent = os.urandom(size)
    s.sendto(sent, ("host1", 7000))
    assert s.recv(65535) == sent
print("all came back")
"""
FORGE = """
import socket, struct
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
to, own = bytes([2, 0xb7, 0, 0, 0, 1]), bytes([2, 0xb7, 0, 0, 0, 0])
for kind in (0x88b5, 0x8808):
    for body in (b"", bytes(46), bytes([255]) * 46):
        s.send(to + own + struct.pack("!H", kind) + body)
s.send(to + own + struct.pack("!HH", 0x8100, 5) + struct.pack("!H", 0x0800) + bytes(46))
s.send(to + own + struct.pack("!H", 0x86dd) + bytes(46))
s.send(to + own + struct.pack("!H", 0x0800) + bytes(46))
s.send(to + own + struct.pack("!H", 0x0800) + bytes(6))
"""


@pytest.fixture(scope="session")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab") / "four.toml"
    path.write_text(SCENARIO)
    return path


@pytest.mark.usefixtures("allowed")
def test_programs_find_hosts_by_name_and_what_they_send_arrives_as_it_was(scenario: Path) -> None:
    code, found = lab(scenario, "--serve", python("host1", ECHO), "--exec", python("host0", PING))
    assert code == 0, found
    [client, server] = found["programs"]
    assert (client["exit_code"], server["exit_code"]) == (0, -signal.SIGTERM)
    hosts = {one["host"]: one for one in found["hosts"]}
    # The datagram of 3,000 B goes in three fragments.
    frames = 4 + 3
    assert [hosts["host0"][way] for way in ("frames_in", "frames_out")] == [frames, frames]
    assert [hosts["host2"][way] for way in ("frames_in", "frames_out")] == [0, 0]
    assert all(not one["refused"] and not one["overflowed"] and not one["unsent"] for one in found["hosts"])
    assert (found["frames_inside"], found["frames_dropped"], found["divisor"]) == (0, 0, 5000)


@pytest.mark.usefixtures("allowed")
def test_frames_that_the_lab_does_not_carry_are_counted_by_reason_and_have_no_effect(scenario: Path) -> None:
    code, found = lab(scenario, "--exec", python("host0", FORGE))
    assert code == 0, found
    [first, *others] = found["hosts"]
    assert first["refused"] == {"control": 6, "vlan": 1, "ipv6": 1, "malformed": 1, "runt": 1}
    assert all(one["frames_out"] == 0 for one in others)
    assert found["packet_hops"] == 0


@pytest.mark.usefixtures("allowed")
def test_the_exit_code_says_whether_a_program_failed(scenario: Path) -> None:
    for code, said in (
        ("raise SystemExit(3)", "exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "ended by SIGKILL"),
    ):
        run = start(scenario, "--exec", python("host0", code))
        assert said in run.communicate(timeout=60)[0]
        assert run.returncode == 1
    code, found = lab(scenario, "--exec", "host0 there-is-no-such-program -x")
    assert (code, found["programs"][0]["exit_code"]) == (1, None)
    assert "there-is-no-such-program: No such file" in found["programs"][0]["failed"]


@pytest.mark.usefixtures("allowed")
def test_a_lab_ends_in_time_and_takes_its_programs_with_it(scenario: Path) -> None:
    began = time.monotonic()
    code, found = lab(scenario, "--exec", python("host0", "import time; time.sleep(600)"), "--for", "0.5")
    assert time.monotonic() - began < 20
    assert (code, found["programs"][0]["exit_code"], found["stopped"]) == (1, -signal.SIGTERM, False)


@pytest.mark.usefixtures("allowed")
def test_the_flows_of_a_scenario_have_the_simulators_throughput_and_pauses(tmp_path: Path) -> None:
    path = tmp_path / "overload.toml"
    path.write_text(OVERLOAD)
    simulated = backwater.Experiment(path).run(tmp_path / "simulated").runs[0]
    for attempt in ("first", "second"):
        real = backwater.Experiment(path).run(tmp_path / attempt, on="lab:20").runs[0]
        if real.summary["lab"]["faithful"]:
            break
    found = real.summary["lab"]
    assert [found[f"datagrams_{name}"] for name in WRONG] == [0, 0, 0]
    assert simulated.entry.label == real.entry.label
    assert set(real.tables) == {*simulated.tables, "lateness"}
    assert real.table("lateness").num_rows == 2 * 3 + 1
    page = (tmp_path / attempt / "report.html").read_text()
    assert "1 run with real packets: 5,000 s are one of the scenario." in page
    # Inside the fabric every event has its time, so even a busy machine is not far off.
    close, far = (0.05, 0.2) if real.summary["lab"]["faithful"] else (0.15, 0.3)
    for one, other in zip(real.summary["throughput"], simulated.summary["throughput"], strict=True):
        assert one["goodput_bps"] == pytest.approx(other["goodput_bps"], rel=close)

    assert pauses(real) == pytest.approx(pauses(simulated), rel=far)


FLOOD = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(1500):
    s.sendto(bytes(900), ("host1", 7000))
time.sleep(2)
"""


@pytest.mark.usefixtures("allowed")
def test_the_log_of_a_switch_is_replayed_and_equal(scenario: Path, cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "switch0.log"
    senders = [word for host in ("host0", "host2") for word in ("--exec", python(host, FLOOD))]
    code, found = lab(scenario, *senders, "--log", f"switch0={log}")
    assert (code, found["unlogged"]) == (0, None)
    done = cli("replay", log, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    replay = json.loads(done.stdout)
    assert (replay["ending"], replay["switch"], replay["scheme"]) == ("complete", "switch0", "bfc")
    assert replay["packets"] > 500
    # Two senders overload one port, so packets wait and pauses go back: more than an arrival and its answer each.
    assert replay["records"] > 2.5 * replay["packets"]


@pytest.mark.usefixtures("allowed")
def test_a_lab_that_is_killed_leaves_a_log_that_can_be_replayed(scenario: Path, cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "switch0.log"
    run = start(scenario, "--exec", python("host0", FLOOD), "--log", f"switch0={log}")
    until = time.monotonic() + 30
    while (not log.exists() or log.stat().st_size == 0) and time.monotonic() < until:
        time.sleep(0.05)
    run.kill()
    run.communicate(timeout=30)
    done = cli("replay", log, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ending"] in ("interrupted", "torn")


@pytest.mark.usefixtures("allowed")
def test_names_of_hosts_are_written_to_no_file_outside(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_text("of another")
    # A lab's process has the number 1 in its namespace, as that of any other lab does.
    for number in range(1, 9):
        (tmp_path / f"backwater-hosts-{number}").symlink_to(other)
    before = set(tmp_path.iterdir())
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ask = "import socket; assert socket.gethostbyname('host3') == '10.77.0.4'"
    code, found = lab(scenario, "--exec", python("host0", ask))
    assert code == 0, found
    assert other.read_text() == "of another"
    assert set(tmp_path.iterdir()) == before


def at_once(run: subprocess.Popen[str]) -> None:
    run.send_signal(signal.SIGINT)


def terminated(run: subprocess.Popen[str]) -> None:
    run.send_signal(signal.SIGTERM)


def killed(run: subprocess.Popen[str]) -> None:
    run.kill()


def inner_killed(run: subprocess.Popen[str]) -> None:
    listed = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    while not (children := listed.read_text().split()):
        time.sleep(0.01)
    for child in children:
        os.kill(int(child), signal.SIGKILL)


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("ends", [at_once, terminated, killed, inner_killed])
def test_nothing_is_left_of_a_lab_however_it_ends(
    scenario: Path, ends: Callable[[subprocess.Popen[str]], None]
) -> None:
    mark = secrets.token_hex(8)
    before = traces(mark)
    assert not before[1]
    draws = random.Random(ends.__name__)
    for _ in range(3):
        run = start(scenario, "--exec", python("host0", "import time; time.sleep(600)"), mark=mark)
        time.sleep(draws.uniform(0.1, 2.5))
        assert traces(mark)[1], "the lab runs"
        ends(run)
        run.communicate(timeout=30)
        until = time.monotonic() + 10
        while traces(mark) != before and time.monotonic() < until:
            time.sleep(0.05)
        assert traces(mark) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--exec", "host1 ls", "--seeds", "2"], "--seeds: for the scenario's own flows"),
        (["--set", "scheme=hpcc"], "its packets carry telemetry"),
        (["--run", "BFC"], "--run BFC: for programs on hosts"),
        (["--set", ALL_REDUCE], "its flows start when others end"),
        (["--set", "scheme=flowsail", "--set", "switch.flowsail.as_printed=true"], "holds packets for ever"),
        (["--exec", "host9 ls"], "'host9' is no host: did you mean host"),
        (["--exec", "host1"], "a command is missing after the host"),
        (["--exec", "host1 'ls"], "no closing quotation"),
        (["--for", "0"], "--for 0: expected a time above 0"),
        (["--for", "1", "--rate", "500"], "add --unfaithful"),
        (["--for", "1", "--rate", "0"], "--rate 0: expected 0.001 to 10,000 Mb/s"),
        (["--for", "1", "--run", "DCTPC"], "--run DCTPC: expected one of"),
        (["--for", "1", "--log", "switch0"], "--log switch0: expected SWITCH=FILE, such as switch0=switch0.log"),
        (["--for", "1", "--log", "switch9=x"], "'switch9' is no switch: did you mean switch0?"),
        (["--for", "1", "--log", "switch0=."], "--log switch0=.: . exists: expected a new file"),
        (["--for", "1", "--log", "switch0=none/x"], "no such directory: "),
        (["--for", "1", "--log", "switch0=x", "--log", "switch0=y"], "switch0 has a log already: "),
        (["--for", "1", "--set", "scheme=hpcc"], 'host.transport = "hpcc": its packets carry telemetry'),
        (["--for", "1", "--set", "scheme=expresspass"], "its packets carry credits"),
        (["--for", "1", "--set", "scheme=homa"], "its packets carry grants"),
        (["--for", "1", "--set", "scheme=bfc-srf"], "its packets carry the bytes left of their flow"),
        (
            ["--for", "1", "--set", LARGE],
            "600 hosts; the lab has up to 512",
        ),
        (["--for", "1", "--set", "host.payload=64 B", "--set", "host.header=1 B"], "65 B: too short for IPv4"),
    ],
)
def test_what_the_lab_cannot_do_is_said_before_anything_starts(
    cli: Cli, scenario: Path, words: list[str], said: str
) -> None:
    if sys.platform != "linux":
        pytest.skip("the lab is made of Linux namespaces")
    answer = cli("lab", str(scenario), *words)
    assert answer.returncode == 2, answer.stdout
    assert said in answer.stderr
    assert not answer.stdout
