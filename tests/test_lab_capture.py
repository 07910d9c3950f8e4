"""`backwater lab --pcap`: frames that cross ports of the lab, as a file that tshark reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs import SCENARIO, python, start
from test_capture import shown

pytestmark = pytest.mark.usefixtures("allowed")

SEND = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(50):
    s.sendto(bytes([number]) * 400, ("host1", 40404))
    time.sleep(0.005)
time.sleep(0.3)
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "four.toml"
    path.write_text(SCENARIO)
    return path


@pytest.mark.parametrize("processes", [False, True], ids=["one process", "processes"])
def test_frames_of_programs_cross_the_ports_in_time_of_the_network(
    scenario: Path, tmp_path: Path, *, processes: bool
) -> None:
    file = tmp_path / "ports.pcapng"
    names = {"host0": "hosts", "switch0:host1": "switch0"}
    ports = [word for port in names for word in ("--pcap", f"{port}={file}")]
    run = start(scenario, "--exec", python("host0", SEND), *ports, *(["--processes"] if processes else []))
    said = run.communicate(timeout=60)[1]
    assert run.returncode == 0, said
    files = [tmp_path / f"ports.{name}.pcapng" for name in names.values()] if processes else [file]
    fields = ("frame.interface_name", "frame.packet_flags_direction", "frame.time_epoch", "backwater.length", "ip.dst")
    rows = [row for one in files for row in shown(one, *fields, "udp.dstport", "udp.payload", "_ws.malformed")]
    sent = {name: [row for row in rows if (row[0], row[1][-1], row[5]) == (name, "2", "40404")] for name in names}
    payloads = [f"{number:02x}" * 400 for number in range(50)]
    for name, found in sent.items():
        assert [row[6] for row in found] == payloads, name
        assert all((row[3], row[4], row[7]) == ("442", "10.77.0.2", "") for row in found)
    for first, second in zip(sent["host0"], sent["switch0:host1"], strict=True):
        # Each link has a delay of 1 us and takes 35 ns to send 442 B, however slow time is.
        took = float(second[2]) - float(first[2])
        if processes:
            # Each process has a clock of its own. The scheduler makes a hop late, never early.
            assert 1.03e-6 < took < 100e-6
        else:
            assert took == pytest.approx(1.035e-6, abs=3e-9)


def test_wrong_ports_are_refused_before_the_lab_starts(scenario: Path, tmp_path: Path) -> None:
    for word, said in (
        ("host9=x.pcapng", "did you mean host3, host2 or host1?"),
        ("host0=/nowhere/x.pcapng", "no such directory: /nowhere"),
        ("host0=x.log", "expected a name of a file that ends in .pcapng"),
    ):
        run = start(scenario, "--for", "1", "--pcap", word)
        assert said in run.communicate(timeout=60)[1]
        assert run.returncode == 2
    assert not list(tmp_path.glob("*.pcapng"))
