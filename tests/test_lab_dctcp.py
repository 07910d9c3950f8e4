"""`backwater lab --dctcp`: TCP on the hosts is a DCTCP that the lab registers in the kernel. Nothing of it stays."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import platform
import random
import shutil
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import backwater
from conftest import Cli, command
from labs import lab, python, start
from test_lab import at_once, inner_killed, killed, terminated

LISTED = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
TYPES = Path("/sys/kernel/btf/vmlinux")
BPF = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
"""Number of the call bpf(2)."""
MAPS = 12, 14, 15
"""Commands of bpf(2): the next map after a number, the descriptor of a map, and facts about it."""

MARKS = """
scheme = "dctcp"
topology = { kind = "single-switch", hosts = 4, rate = "100 Gbps", delay = "1 us" }
workload = [{ kind = "long-lived", count = 1, from = ["host0"], to = ["host1"] }]
run = { duration = "1 ms" }
switch = { ecn = { kmin = "30 KB", kmax = "30 KB" } }
"""
IDLE_S = 0.0216
"""Round trip of a full frame and its acknowledgement in this network at 20 Mb/s, when it is idle."""
MARKED_S = 30e3 * 8 / 20e6
"""Time of a packet in a queue at which the switch marks."""
SENDERS, SENDING_S = 3, 8.0

VARIANTS = """
name = "variants"
topology = { kind = "single-switch", hosts = 4, rate = "100 Gbps", delay = "1 us" }
workload = [{ kind = "long-lived", count = 1, from = ["host0"], to = ["host2"] }]
run = { duration = "600 us", warmup = "400 us" }
seeds = { fixed = "programs have no seed" }

[[variant]]
name = "BFC"
scheme = "bfc"

[[variant]]
name = "DCTCP"
scheme = "dctcp"
"""
PROGRAMS = [
    *("--exec", "host2 python -m backwater.lab.tcp receive"),
    *("--exec", "host0..host1 python -m backwater.lab.tcp send host2"),
]
RECEIVE = """
import json, os, socket, sys, threading
listener = socket.create_server(("", 5001))

def read(connection):
    while connection.recv(1 << 16):
        pass

readers = [threading.Thread(target=read, args=listener.accept()[:1]) for _ in range(int(sys.argv[1]))]
for reader in readers:
    reader.start()
for reader in readers:
    reader.join()
names, counts = (line.split()[1:] for line in open("/proc/thread-self/net/netstat") if line.startswith("IpExt"))
with open(sys.argv[2] + "~", "w") as file:
    json.dump({name: int(count) for name, count in zip(names, counts)}, file)
os.rename(sys.argv[2] + "~", sys.argv[2])
"""
SEND = """
import json, socket, struct, sys, threading, time
until = time.monotonic() + float(sys.argv[1])
sender = socket.socket()
if sys.argv[3:]:
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[3].encode())
sender.connect(("host3", 5001))

def fill():
    while time.monotonic() < until:
        sender.send(bytes(1 << 14))

threading.Thread(target=fill, daemon=True).start()
rows = []
while time.monotonic() < until:
    # struct tcp_info: 8 bytes, 24 words, two rates, bytes acknowledged and received.
    info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    words, [acked] = struct.unpack_from("<24I", info, 8), struct.unpack_from("<Q", info, 120)
    delivered, marked = struct.unpack_from("<2I", info, 192)
    rows.append({"s": time.monotonic(), "rtt_s": 1e-6 * words[15], "threshold": words[17], "window": words[18],
                 "acked": acked, "delivered": delivered, "marked": marked})
    time.sleep(0.01)
name = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(bytes(1))[0].decode()
with open(sys.argv[2], "w") as file:
    json.dump({"control": name, "rows": rows}, file)
"""
WAIT = """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.1)
"""
STATE = """
import json, os, socket, sys, time
server = socket.create_server(("", 5001))
client = socket.create_connection(("127.0.0.1", 5001))
client.send(bytes(1000))
read = lambda name: open(f"/proc/sys/net/ipv4/{name}").read().split()
said = {"control": read("tcp_congestion_control"), "ecn": read("tcp_ecn"),
        "listed": read("tcp_available_congestion_control"),
        "used": client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(bytes(1))[0].decode()}
with open(sys.argv[1] + "~", "w") as file:
    json.dump(said, file)
os.rename(sys.argv[1] + "~", sys.argv[1])
time.sleep(float(sys.argv[2]))
"""


@pytest.fixture(scope="session")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dctcp") / "marks.toml"
    path.write_text(MARKS)
    return path


@pytest.fixture(scope="session")
def taken(marks: Path) -> None:
    """Skips where the kernel takes no congestion control from this user."""
    if sys.platform != "linux":
        pytest.skip("the lab is made of Linux namespaces")
    if os.geteuid() != 0:
        pytest.skip("--dctcp needs root")
    if not TYPES.exists():
        pytest.skip(f"this kernel has no {TYPES}")
    tried = start(marks, "--dctcp", "--for", "0.1")
    said = tried.communicate()[1]
    if tried.returncode == 2 and any(reason in said for reason in ("CONFIG_BPF", "CAP_BPF", "the lab needs")):
        pytest.skip(f"--dctcp cannot run here: {said.strip()}")
    assert tried.returncode == 0, said


def labs() -> set[str]:
    """Congestion controls of labs that the kernel lists."""
    return {name for name in LISTED.read_text().split() if name.startswith("bw_dctcp_")}


def maps() -> list[str]:
    """Names of the kernel's maps, such as those of congestion controls. These go after their last connection."""
    assert BPF is not None
    libc = ctypes.CDLL(None, use_errno=True)
    following, open_by_number, facts = MAPS
    names, number = [], 0
    while True:
        asked = ctypes.create_string_buffer(struct.pack("<3I", number, 0, 0), 12)
        if libc.syscall(BPF, following, asked, 12) != 0:
            return names
        [_, number, _] = struct.unpack("<3I", asked.raw)
        opened = libc.syscall(
            BPF, open_by_number, ctypes.create_string_buffer(struct.pack("<3I", number, 0, 0), 12), 12
        )
        if opened < 0:
            continue  # It went in between.
        told = ctypes.create_string_buffer(40)
        asked = ctypes.create_string_buffer(struct.pack("<2IQ", opened, 40, ctypes.addressof(told)), 16)
        if libc.syscall(BPF, facts, asked, 16) == 0:
            names.append(told.raw[24:40].split(b"\0")[0].decode())
        os.close(opened)


def wait(done: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        time.sleep(0.05)
    return done()


@pytest.mark.usefixtures("taken")
def test_hosts_use_it_and_the_kernel_forgets_it(marks: Path, tmp_path: Path) -> None:
    said = tmp_path / "said.json"
    code, found = lab(marks, "--dctcp", "--exec", f"{python('host1', STATE)} {said} 0")
    state, name = json.loads(said.read_text()), found["congestion_control"]
    assert (code, state["control"], state["used"], state["ecn"]) == (0, [name], name, ["1"])
    assert name in state["listed"]
    assert name.startswith("bw_dctcp_")
    assert name not in labs()
    assert wait(lambda: name not in maps(), 10)
    code, found = lab(marks, "--exec", f"{python('host1', STATE)} {said} 0")
    state = json.loads(said.read_text())
    assert (code, found["congestion_control"]) == (0, None)
    assert not state["control"][0].startswith("bw_dctcp_")


@pytest.mark.usefixtures("taken")
def test_two_labs_have_one_each(marks: Path, tmp_path: Path) -> None:
    said = [tmp_path / "first.json", tmp_path / "second.json"]
    runs = [start(marks, "--dctcp", "--exec", f"{python('host1', STATE)} {path} 60") for path in said]
    try:
        assert wait(lambda: all(path.exists() for path in said), 30)
        names = {json.loads(path.read_text())["used"] for path in said}
        assert len(names) == 2
        assert names <= labs()
    finally:
        for run in runs:
            terminated(run)
            run.communicate(timeout=30)
    assert not names & labs()


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize("ends", [at_once, terminated, killed, inner_killed])
def test_nothing_of_it_stays_however_a_lab_ends(
    marks: Path, tmp_path: Path, ends: Callable[[subprocess.Popen[str]], None]
) -> None:
    said = tmp_path / "said.json"
    run = start(marks, "--dctcp", "--exec", f"{python('host1', STATE)} {said} 600")
    assert wait(said.exists, 30), run.communicate()
    name = json.loads(said.read_text())["used"]
    assert name in labs()
    assert maps().count(name) == 1
    ends(run)
    run.communicate(timeout=30)
    assert wait(lambda: name not in labs(), 10)
    assert wait(lambda: name not in maps(), 10)


def ours() -> set[str]:
    """Congestion controls of labs that are listed, or of which the kernel keeps a part."""
    return labs() | {name for name in maps() if name.startswith("bw_dctcp_")}


@pytest.mark.usefixtures("taken")
def test_nothing_of_it_stays_whenever_a_lab_is_killed(marks: Path) -> None:
    draws = random.Random("killed")
    for ends in (killed, inner_killed) * 3:
        run = start(marks, "--dctcp", "--exec", python("host0", "import time; time.sleep(600)"))
        time.sleep(draws.uniform(0.3, 1.5))
        ends(run)
        run.communicate(timeout=30)
    # Labs of other tests end soon.
    assert wait(lambda: not ours(), 60), ours()


def flows(
    marks: Path, place: Path, options: list[str], control: list[str]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Lets three hosts send to a fourth as fast as they can. Returns what each sender saw, and what the receiver's IP
    counted."""
    received, sent = place / "received.json", [place / f"{number}.json" for number in range(SENDERS)]
    words = [*options, "--serve", f"{python('host3', RECEIVE)} {SENDERS} {received}"]
    for number, path in enumerate(sent):
        words += ["--exec", " ".join([python(f"host{number}", SEND), str(SENDING_S), str(path), *control])]
    words += ["--exec", f"{python('host3', WAIT)} {received}"]
    code, found = lab(marks, *words)
    assert code == 0, found
    return [json.loads(path.read_text()) for path in sent], json.loads(received.read_text())


def cuts(senders: list[dict[str, Any]]) -> list[float]:
    """Windows after a reduction, as shares of those before."""
    return [
        after["threshold"] / before["window"]
        for sender in senders
        for before, after in itertools.pairwise(settled(sender))
        if after["threshold"] != before["threshold"]
    ]


def settled(sender: dict[str, Any]) -> list[dict[str, float]]:
    """The second half of what a sender saw."""
    rows: list[dict[str, float]] = sender["rows"]
    return rows[len(rows) // 2 :]


@pytest.mark.usefixtures("taken")
def test_queues_stay_at_the_threshold_and_windows_follow_the_share_of_marks(marks: Path, tmp_path: Path) -> None:
    senders, counted = flows(marks, tmp_path, ["--dctcp"], [])
    halves = [settled(sender) for sender in senders]
    assert all(sender["control"].startswith("bw_dctcp_") for sender in senders)
    # Every packet is ECN-capable, and so are those that open connections.
    assert counted["InNoECTPkts"] == 0
    assert counted["InCEPkts"] > 100
    # The receiver says of each packet whether it was marked: TCP's own ECN says so until the sender has reacted.
    told = sum(sender["rows"][-1]["marked"] for sender in senders)
    assert told == pytest.approx(counted["InCEPkts"], rel=0.1)
    # Windows are reduced by half of alpha. It would be a half if alpha stayed 1, and nothing if it stayed 0.
    found = cuts(senders)
    assert len(found) > 10
    assert 0.8 < statistics.median(found) < 0.99
    # The link is used, and the queue is at the threshold.
    rate = sum(8 * (half[-1]["acked"] - half[0]["acked"]) / (half[-1]["s"] - half[0]["s"]) for half in halves)
    assert rate > 0.85 * 20e6
    delay = statistics.median(row["rtt_s"] for half in halves for row in half) - IDLE_S
    assert 0.5 * MARKED_S < delay < 2 * MARKED_S


@pytest.mark.long
@pytest.mark.usefixtures("taken")
def test_losses_halve_the_window(tmp_path: Path) -> None:
    drops = tmp_path / "drops.toml"
    drops.write_text(
        MARKS.replace('"dctcp"', '"fifo"').replace('ecn = { kmin = "30 KB", kmax = "30 KB" }', 'buffer = "60 KB"')
    )
    senders, counted = flows(drops, tmp_path, ["--dctcp"], [])
    assert (counted["InNoECTPkts"], counted["InCEPkts"]) == (0, 0)
    found = cuts(senders)
    assert len(found) > 5
    assert statistics.median(found) == pytest.approx(0.5, abs=0.05)


@pytest.mark.usefixtures("taken")
def test_without_it_tcp_fills_the_buffer(marks: Path, tmp_path: Path) -> None:
    senders, counted = flows(marks, tmp_path, [], ["reno"])
    assert {sender["control"] for sender in senders} == {"reno"}
    assert counted["InCEPkts"] == 0
    delay = statistics.median(row["rtt_s"] for sender in senders for row in settled(sender)) - IDLE_S
    assert delay > 4 * MARKED_S


@pytest.fixture
def variants(tmp_path: Path) -> Path:
    path = tmp_path / "variants.toml"
    path.write_text(VARIANTS)
    return path


@pytest.mark.long
@pytest.mark.usefixtures("taken")
def test_of_several_runs_those_with_dctcp_use_it(variants: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = start(variants, "--dctcp", "--out", out, *PROGRAMS)
    said = run.communicate(timeout=120)
    assert run.returncode == 0, said
    used = {
        made.label: {
            row["text"].startswith("bw_dctcp_")
            for row in made.table("programs").to_pylist()
            if row["metric"] == "congestion_control"
        }
        for made in backwater.Results(out).runs
    }
    assert used == {"BFC": {False}, "DCTCP": {True}}


def test_it_is_for_root_and_for_programs(
    cli: Cli, marks: Path, variants: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform != "linux":
        pytest.skip("the lab is made of Linux namespaces")
    out = str(tmp_path / "out")
    root = "--dctcp: the kernel takes a congestion control from root alone; run the lab by"
    for user, words, said in (
        (65534, [marks, "--for", "1"], root),
        (65534, [variants, "--out", out, *PROGRAMS], root),
        (0, [marks], "--dctcp: for programs on hosts; expected --exec or --serve with it"),
        (
            0,
            [variants, "--set", "variant=BFC", "--out", out, *PROGRAMS],
            '--dctcp: no run has host.transport = "dctcp"; leave it out',
        ),
    ):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        answer = cli("lab", "--dctcp", *words)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert said in " ".join(answer.stderr.split())
        assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("taken")
def test_what_the_kernel_lacks_is_named_and_nothing_stays(marks: Path) -> None:
    if (unshare := shutil.which("unshare")) is None:
        pytest.skip("`unshare` of util-linux is missing")
    hide = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
    for wrapped, said in (
        (["--mount", "sh", "-c", hide, "sh"], f"cannot read the kernel's types from {TYPES}: No such file"),
        (["--user", "--map-root-user"], "--dctcp needs the machine's own root, with CAP_BPF"),
    ):
        words = [unshare, *wrapped, *command("lab", marks, "--dctcp", "--for", "1")]
        answer = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert (answer.returncode, answer.stdout) == (2, ""), answer.stderr
        assert said in " ".join(answer.stderr.split())
