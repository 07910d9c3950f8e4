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


def test_frames_of_programs_cross_the_ports_in_time_of_the_network(scenario: Path, tmp_path: Path) -> None:
    file = tmp_path / "ports.pcapng"
    ports = [word for port in ("host0", "switch0:host1") for word in ("--pcap", f"{port}={file}")]
    run = start(scenario, "--exec", python("host0", SEND), *ports)
    said = run.communicate(timeout=60)[1]
    assert run.returncode == 0, said
    fields = ("frame.interface_name", "frame.packet_flags_direction", "frame.time_epoch", "backwater.length", "ip.dst")
    rows = shown(file, *fields, "udp.dstport", "udp.payload", "_ws.malformed")
    sent = {
        name: [row for row in rows if (row[0], row[1][-1], row[5]) == (name, "2", "40404")]
        for name in ("host0", "switch0:host1")
    }
    payloads = [f"{number:02x}" * 400 for number in range(50)]
    for name, found in sent.items():
        assert [row[6] for row in found] == payloads, name
        assert all((row[3], row[4], row[7]) == ("442", "10.77.0.2", "") for row in found)
    # Each link has a delay of 1 us and takes 35 ns to send 442 B, however slow time is.
    for first, second in zip(sent["host0"], sent["switch0:host1"], strict=True):
        assert float(second[2]) - float(first[2]) == pytest.approx(1.035e-6, abs=3e-9)


def test_wrong_ports_are_refused_before_the_lab_starts(scenario: Path, tmp_path: Path) -> None:
    for word, said in (
        ("host9=x.pcapng", "did you mean host3, host2 or host1?"),
        ("host0=/nowhere/x.pcapng", "no such directory: /nowhere"),
        ("host0=x.log", "expected a name of a file that ends in .pcapng"),
    ):
        run = start(scenario, "--for", "1", "--pcap", word)
        assert said in run.communicate(timeout=60)[1]
        assert run.returncode == 2
    run = start(scenario, "--for", "1", "--processes", "--pcap", f"host0={tmp_path / 'x.pcapng'}")
    assert "for switches in one process; expected no --processes with it" in run.communicate(timeout=60)[1]
    assert not list(tmp_path.glob("*.pcapng"))
