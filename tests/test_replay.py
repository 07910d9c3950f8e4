"""`backwater replay`: equal logs, logs that differ, and files that are none.

The logs here are written by the description in docs/replay.md, not by the code that usually writes them.
"""

from __future__ import annotations

import json
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from backwater import _core
from conftest import Cli

SCENARIO = """
scheme = "bfc"
topology = { kind = "single-switch", hosts = 3, rate = "100 Gbps", delay = "1 us" }
workload = [{ kind = "long-lived", count = 1, from = ["host0"], to = ["host1"] }]
run = { duration = "1 ms" }
"""
RECEIVE, PASS, TRANSMIT, SENDABLE, QUEUES_AS_DATA, END = 1, 2, 3, 8, 10, 0
NOTHING = struct.pack("<II", 0, 0)
"""No packet dropped, and no port opened."""


class Writer:
    """A log of a switch, written byte by byte."""

    def __init__(self, tmp_path: Path, switch: str = "switch0", **changes: Any) -> None:
        (tmp_path / "three.toml").write_text(SCENARIO)
        scenario = json.loads(_core.load(str(tmp_path / "three.toml"), []))["runs"][0]["scenario"]
        head = json.dumps({"backwater": "0.0.9", "switch": switch, "scenario": scenario} | changes).encode()
        self.bytes, self.sum, self.records = b"", 0, 0
        self.part(b"BWREPLAY" + struct.pack("<II", 1, len(head)) + head)

    def part(self, data: bytes) -> None:
        self.sum = zlib.crc32(data, self.sum)
        self.bytes += data + struct.pack("<I", self.sum)

    def record(self, kind: int, data: bytes) -> Writer:
        self.part(bytes([kind]) + data + NOTHING)
        self.records += 1
        return self

    def end(self) -> bytes:
        self.part(bytes([END]) + struct.pack("<Q", self.records))
        return self.bytes


def packet(upstream_queue: int = 0, wire: int = 1000) -> bytes:
    return struct.pack("<5I4H3B", 7, 5, 1234, 0, 0, 1, 0, wire, upstream_queue, 1, 0, 0)


def crossing(log: Writer, *, queue: int = 0, wire: int = 1000) -> Writer:
    """A packet comes by port 0, waits at port 1, and leaves. BFC puts the first flow into a queue of its own."""
    log.record(QUEUES_AS_DATA, struct.pack("<BB", 0, 1))
    log.record(RECEIVE, struct.pack("<Q", 1_000) + packet(wire=wire) + struct.pack("<HH", 0, 1) + received(queue))
    log.record(SENDABLE, struct.pack("<HB", 1, 1))
    sent = packet(queue) + struct.pack("<BHBBQ", 1, queue, 0, 0, 0)
    log.record(TRANSMIT, struct.pack("<QH", 2_000, 1) + b"\1" + sent)
    return log.record(TRANSMIT, struct.pack("<QH", 90_000, 1) + b"\0")


def received(queue: int) -> bytes:
    """Not dropped, in `queue`, no control frame, the timer as before."""
    return struct.pack("<BHBB", 0, queue, 0, 0)


def replayed(cli: Cli, path: Path, data: bytes) -> subprocess.CompletedProcess[str]:
    path.write_bytes(data)
    return cli("replay", str(path), "--json")


@pytest.fixture
def queue(cli: Cli, tmp_path: Path) -> int:
    """The queue that the switch chooses."""
    done = replayed(cli, tmp_path / "probe.log", crossing(Writer(tmp_path), queue=999).end())
    (fact,) = json.loads(done.stdout)["difference"]["facts"]
    assert (done.returncode, fact["what"], fact["expected"]) == (1, "queue", "999")
    return int(fact["found"])


def test_a_log_by_the_book_is_equal(cli: Cli, tmp_path: Path, queue: int) -> None:
    done = replayed(cli, tmp_path / "a.log", crossing(Writer(tmp_path), queue=queue).end())
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "log": str(tmp_path / "a.log"),
        "written_by": "0.0.9",
        "switch": "switch0",
        "scheme": "bfc",
        "equal": True,
        "records": 5,
        "packets": 1,
        "until_ps": 90_000,
        "ending": "complete",
        "torn": None,
        "difference": None,
    }
    told = cli("replay", str(tmp_path / "a.log"))
    assert (told.returncode, told.stderr) == (0, "")
    assert "a.log: every decision is equal: 5 records, 1 packet, switch0 under bfc." in told.stdout
    assert "0.090000 us" in told.stdout


def test_the_first_difference_is_told(cli: Cli, tmp_path: Path, queue: int) -> None:
    wrong = crossing(Writer(tmp_path), queue=queue + 1).end()
    found = json.loads(replayed(cli, tmp_path / "a.log", wrong).stdout)
    assert not found["equal"]
    assert found["ending"] is None
    assert found["difference"] == {
        "record": 2,
        "time_ps": 1_000,
        "call": "receive Data 5 of flow 7 from port 0 for port 1",
        "facts": [{"what": "queue", "expected": str(queue + 1), "found": str(queue)}],
    }
    told = cli("replay", str(tmp_path / "a.log"))
    assert told.returncode == 1
    assert "switch0 under bfc decides differently in record 2, at 0.001000 us: receive Data 5 of flow 7" in told.stdout
    assert "Version 0.0.9 wrote the log." in told.stdout


def test_a_log_that_was_interrupted_is_replayed_up_to_there(cli: Cli, tmp_path: Path, queue: int) -> None:
    log = crossing(Writer(tmp_path), queue=queue)
    whole = log.bytes
    done = replayed(cli, tmp_path / "a.log", whole)
    assert (done.returncode, json.loads(done.stdout)["ending"]) == (0, "interrupted")
    assert "The log has no end" in cli("replay", str(tmp_path / "a.log")).stdout
    done = replayed(cli, tmp_path / "a.log", whole[:-1])
    torn = {"record": 5, "byte": len(whole) - 24, "call": "transmit by port 1"}
    assert (done.returncode, json.loads(done.stdout)["torn"]) == (0, torn)
    assert "The log stops inside record 5 (byte " in cli("replay", str(tmp_path / "a.log")).stdout


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_files_that_are_no_logs_are_refused(cli: Cli, tmp_path: Path) -> None:
    good = crossing(Writer(tmp_path)).end()
    outside = Writer(tmp_path).record(TRANSMIT, struct.pack("<QH", 0, 3) + b"\0").end()
    for data, says in [
        (b"", "byte 0: not a log of a switch, which begins with BWREPLAY"),
        (b"PK\3\4 something else", "not a log of a switch"),
        (good[:30], "byte 30: the file ends inside the head of the log"),
        (flipped(good, 8), "byte 12: version of the log = 0: expected 1"),
        (flipped(good, 200), "damaged: its check is "),
        (flipped(good, len(good) - 40), "damaged: its check is "),
        (good + b"x", "there are bytes behind the end of the log"),
        (outside, "record 1: port = 3: expected 0 to 2"),
        (crossing(Writer(tmp_path), wire=0).end(), "record 2: wire = 0: a packet has bytes"),
        (Writer(tmp_path, "leaf0").end(), 'switch = "leaf0": expected one of switch0'),
        (Writer(tmp_path, scenario={"scheme": "bfc"}).end(), "scenario of the log, written by 0.0.9: "),
    ]:
        done = replayed(cli, tmp_path / "a.log", data)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.startswith(f"error: {tmp_path / 'a.log'}: ")
        assert done.stderr.count("\n") == 1, done.stderr
        assert says in done.stderr


def test_errors_have_their_place_and_file(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(flipped(crossing(Writer(tmp_path)).end(), 8))
    with pytest.raises(_core.InputError) as refused:
        _core.replay(str(path))
    assert (refused.value.place, refused.value.file) == (f"{path}: byte 12", str(path))
    assert refused.value.problem == "version of the log = 0: expected 1"


def test_a_file_that_cannot_be_read_is_named(cli: Cli, tmp_path: Path) -> None:
    for path, says in [
        (tmp_path / "none.log", "no such file"),
        (tmp_path, "is a directory: expected the log of a switch"),
    ]:
        done = cli("replay", str(path))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {path}: {says}"), done.stderr
