"""What the lab measures over time is what the simulator measures: links, queueing delay and active flows."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

import backwater
from backwater.lab.apart import Apart
from backwater.lab.machine import Machine
from backwater.lab.outside import Options
from backwater.show import network
from labs import OVERLOAD, python, start

MEASURE = """
[measure]
links = "20 us"
queueing_delay = true
active_flows = true
"""
SEND = """
import socket, time
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(FLOWS)]
until = time.monotonic() + 600
while time.monotonic() < until:
    for s in sockets:
        s.sendto(bytes(900), ("r", 7000))
    time.sleep(0.0003 * FLOWS)
"""
"""More than a port of 20 Mb/s, by so many flows."""
COUNTED = [("a", "sw1"), ("b", "sw1"), ("sw1", "sw2"), ("sw2", "r")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "overload.toml"
    path.write_text(OVERLOAD + MEASURE)
    return path


def of_links(run: backwater.Run, column: str) -> dict[tuple[str, str], int]:
    """Sums of a column by node and peer."""
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for row in run.table("links").to_pylist():
        sums[row["node"], row["peer"]] += row[column]
    return sums


def mean_delay_ns(run: backwater.Run) -> float:
    rows = run.table("queueing_delay").to_pylist()
    assert {row["layer"] for row in rows} == {"layer1"}
    total = sum((row["delay_low_ns"] + row["delay_high_ns"]) / 2 * row["packets"] for row in rows)
    return total / sum(row["packets"] for row in rows)


def mean_flows(run: backwater.Run, node: str, peer: str) -> float:
    [port] = [row["port"] for row in run.table("ports").to_pylist() if (row["node"], row["peer"]) == (node, peer)]
    rows = [row for row in run.table("active_flows").to_pylist() if (row["node"], row["port"]) == (node, port)]
    return sum(row["flows"] * row["samples"] for row in rows) / sum(row["samples"] for row in rows)


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize(
    "apart", [pytest.param(None, marks=pytest.mark.long, id="one process"), pytest.param(Apart(), id="processes")]
)
def test_links_delays_and_active_flows_are_the_simulators(path: Path, tmp_path: Path, apart: Apart | None) -> None:
    simulated = backwater.Experiment(path).run(tmp_path / "simulated").runs[0]
    for attempt in ("first", "second"):
        on = Machine(20e6, None, Options(apart=apart))
        real = backwater.Experiment(path).run(tmp_path / attempt, on=on).runs[0]
        if real.summary["lab"]["faithful"]:
            break
    check(real)
    shown = network.over_time(real)
    assert shown is not None
    assert len(shown["ends"]) == 30
    if apart and not real.summary["lab"]["faithful"]:
        return  # A busy machine delays packets between processes, but not inside one.
    sent, expected = of_links(real, "sent_bytes"), of_links(simulated, "sent_bytes")
    for link in COUNTED:
        assert sent[link] == pytest.approx(expected[link], rel=0.1), link
    waited, expected = of_links(real, "queued_bytes"), of_links(simulated, "queued_bytes")
    assert waited["sw1", "sw2"] == pytest.approx(expected["sw1", "sw2"], rel=0.2)
    held, expected = of_links(real, "paused_ps"), of_links(simulated, "paused_ps")
    for link in COUNTED[:2]:
        assert held[link] == pytest.approx(expected[link], rel=0.2), link
    assert mean_delay_ns(real) == pytest.approx(mean_delay_ns(simulated), rel=0.2)
    overloaded = mean_flows(real, "sw1", "sw2")
    assert overloaded == pytest.approx(mean_flows(simulated, "sw1", "sw2"), rel=0.1)
    assert overloaded > 2 * mean_flows(real, "sw2", "r"), "the other port has room"


def check(run: backwater.Run) -> None:
    """What holds however late packets are: the tables agree with the counters of ports, and hosts are held."""
    sent, held = of_links(run, "sent_bytes"), of_links(run, "paused_ps")
    ports = {(row["node"], row["peer"]): row for row in run.table("ports").to_pylist()}
    for link, row in ports.items():
        assert sent[link] == pytest.approx(row["utilisation"] * 600e-6 * row["rate_bps"] / 8), link
        # The run ends shortly after the last period.
        assert held[link] <= row["bfc_paused_queue_ps"], link
    for link in COUNTED[:2]:
        assert sent[link] > 1e6, link
        assert held[link] > 1e8, link
    times = set(run.table("links")["time_ps"].to_pylist())
    assert times <= {20_000_000 * n for n in range(1, 31)}
    packets = sum(row["packets"] for row in run.table("queueing_delay").to_pylist())
    assert packets == sum(row["data_packets"] for (node, _), row in ports.items() if node in ("sw1", "sw2"))
    assert mean_delay_ns(run) > 100
    assert mean_flows(run, "sw1", "sw2") > 0.5


@pytest.mark.usefixtures("allowed")
def test_flows_of_programs_are_told_by_their_sockets(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    senders = [python(host, SEND.replace("FLOWS", flows)) for host, flows in (("a", "1"), ("b", "3"))]
    words = [word for sender in senders for word in ("--exec", sender)]
    run = start(path, "--set", "scheme=pfc", "--set", "run.warmup=300 us", "--out", out, *words)
    said = run.communicate(timeout=120)[1]
    assert run.returncode == 0, said
    [made] = backwater.Results(out).runs
    assert 2.5 < mean_flows(made, "sw1", "sw2") <= 4, "four sockets send"
    assert mean_delay_ns(made) > 1000
    sent = of_links(made, "sent_bytes")
    assert sent["a", "sw1"] + sent["b", "sw1"] >= sent["sw1", "sw2"] > 1e6
