"""`backwater run --pcap`: what crossed a port, as a file that tshark reads with the dissector beside `crates/wire`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import faults
from backwater.runs import capture
from backwater.scenario.network import Link, Network, Node

ROOT = Path(__file__).parent.parent
NOBODY = 65534
SCENARIO = """
name = "two-leaves"
scheme = "bfc"
run = { duration = "50 us" }

[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
host_rate = "100 Gbps"
core_rate = "50 Gbps"
host_delay = "1 us"
core_delay = "1 us"

[[workload]]
kind = "long-lived"
count = 2
from = ["host0", "host1"]
to = ["host2"]
"""


def run(
    where: Path, *arguments: str, text: str = SCENARIO, limit: int | None = None
) -> subprocess.CompletedProcess[str]:
    (where / "two-leaves.toml").write_text(text)
    command = [sys.executable, "-m", "backwater", "run", "two-leaves.toml", "--threads", "1", *arguments]

    def few_bytes() -> None:
        if limit is not None:
            faults.limit_files(limit)

    return subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=120, preexec_fn=few_bytes)


def shown(file: Path, *fields: str) -> list[list[str]]:
    """Returns fields of each frame, as tshark shows them. It loads no scripts for root."""
    tshark = os.environ.get("TSHARK") or shutil.which("tshark")
    if tshark is None:
        pytest.skip("no tshark in PATH")
    place = Path("/tmp") / f"backwater-capture-{os.getpid()}"
    place.mkdir()
    try:
        shutil.copy(ROOT / "crates/wire/backwater.lua", place)
        shutil.copy(file, place / "frames.pcapng")
        for path in (place, *place.iterdir()):
            path.chmod(0o755)
        command = [tshark, "-X", "lua_script:backwater.lua", "-n", "-r", "frames.pcapng", "-T", "fields"]
        command += [word for field in fields for word in ("-e", field)]
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        environment = {**os.environ, "HOME": str(place)}
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True, **user)
        assert "lua" not in done.stderr.lower(), done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]
    finally:
        shutil.rmtree(place)


def test_tshark_reads_both_directions_of_several_ports(tmp_path: Path) -> None:
    done = run(tmp_path, "--pcap", "leaf0:spine0=core.pcapng", "--pcap", "host0=core.pcapng")
    assert done.returncode == 0, done.stderr
    count = len(shown(tmp_path / "core.pcapng", "frame.number"))
    assert f"core.pcapng: {count:,} packets of bfc" in done.stdout
    fields = ("frame.time_epoch", "frame.interface_name", "frame.packet_flags_direction", "frame.len")
    rows = shown(
        tmp_path / "core.pcapng",
        *fields,
        "backwater.type",
        "backwater.flow",
        "backwater.operation",
        "ip.dst",
        "_ws.malformed",
    )
    assert not any(row[-1] for row in rows), "nothing is malformed"
    kinds = Counter((row[1], row[2][-1], row[4]) for row in rows)
    # Data and ACKs go both ways on both links, and the switch pauses host 0.
    for name in ("leaf0:spine0", "host0"):
        assert min(kinds[name, "1", "1"], kinds[name, "2", "1"]) > 20, kinds
    assert kinds["host0", "1", "2"] > 0, kinds
    assert kinds["host0", "2", "2"] == 0, kinds
    times = [float(row[0]) for row in rows]
    assert times == sorted(times)
    assert times[-1] < 1e-3
    data = [row for row in rows if row[7] == "10.77.0.3" and row[4] == "1"]
    assert {row[5] for row in data} == {"0", "1"}
    assert max(int(row[3]) for row in data) == 48 + 1048
    # A packet of host 0 crosses its own port first, and that of the leaf 1.084 us later at the earliest.
    first = {name: next(float(row[0]) for row in data if row[1] == name) for name in ("host0", "leaf0:spine0")}
    assert first["leaf0:spine0"] - first["host0"] == pytest.approx(1.084e-6, abs=2e-9)


def test_each_run_has_a_file_and_captures_change_nothing(tmp_path: Path) -> None:
    text = SCENARIO + '[[variant]]\nname = "PFC"\nscheme = "pfc"\n[[variant]]\nname = "BFC"\n'
    arguments = ("--seeds", "1", "--pcap-max", "10", "--pcap", "leaf1:0=port.pcapng")
    done = run(tmp_path, "--out", "with", *arguments, text=text)
    assert done.returncode == 0, done.stderr
    assert "later ones were left out: --pcap-max takes more" in done.stdout
    for label in ("PFC", "BFC"):
        assert len(shown(tmp_path / f"port.{label}.pcapng", "frame.number")) == 10
    assert run(tmp_path, "--out", "without", "--seeds", "1", text=text).returncode == 0
    for label in ("PFC", "BFC"):
        with_capture, without = (tmp_path / name / label / "flows.parquet" for name in ("with", "without"))
        assert with_capture.read_bytes() == without.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--pcap", "leaf0"], "expected PORT=FILE, such as leaf0:spine0=leaf0.pcapng"),
        (["--pcap", "host0=x.cap"], "expected a name of a file that ends in .pcapng"),
        (["--pcap", "host9=x.pcapng"], "no port of 'bfc' is called host9: did you mean host3, host2 or host1?"),
        (["--pcap", "leaf0:spine1=x.pcapng"], "did you mean leaf0:spine0"),
        (["--pcap", "leaf0:7=x.pcapng"], "expected one of host0, host1, host2, host3, leaf0:host0"),
        (["--pcap", "host0=nowhere/x.pcapng"], "no such directory: nowhere"),
        (["--pcap", "host0=there.pcapng"], "exists; name another file, or replace it with --force"),
        (["--pcap-max", "5"], "--pcap-max 5: expected --pcap with it"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "there.pcapng").write_bytes(b"kept")
    done = run(tmp_path, "--out", "never", *arguments)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert (tmp_path / "there.pcapng").read_bytes() == b"kept"
    assert not (tmp_path / "never").exists()


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    twice = Link(0, 1, rate_bps=1, delay_ps=1)
    port = capture.ports_of(Network([Node("a", 0, host=True), Node("sw", 1, host=False)], [twice, twice], 0))
    assert [one.name for one in port] == ["a", "a", "sw:0", "sw:1"], "parallel links have numbers"
    text = SCENARIO.replace("50 us", "2 ms")
    done = run(tmp_path, "--out", "out", "--pcap", "leaf0:spine0=big.pcapng", text=text, limit=500_000)
    assert done.returncode == 2, done.stderr
    assert "big.pcapng: cannot be written: the disk is full" in done.stderr
    assert not [path for path in tmp_path.iterdir() if "pcapng" in path.name]
