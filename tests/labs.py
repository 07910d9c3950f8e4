"""Labs for tests: a small network, and commands that start one."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import backwater

SCENARIO = """
scheme = "bfc"
topology = { kind = "single-switch", hosts = 4, rate = "100 Gbps", delay = "1 us" }
workload = [{ kind = "long-lived", count = 1, from = ["host0"], to = ["host1"] }]
run = { duration = "1 ms" }
"""

OVERLOAD = """
name = "overload"
scheme = "bfc"
seeds = { count = 1 }
host = { payload = "958 B", header = "42 B" }
run = { duration = "600 us", warmup = "0 s" }

[topology]
kind = "graph"
hosts = ["a", "b", "r"]
switches = ["sw1", "sw2"]
links = [
    { ends = ["a", "sw1"], rate = "100 Gbps", delay = "1 us" },
    { ends = ["b", "sw1"], rate = "100 Gbps", delay = "1 us" },
    { ends = ["sw1", "sw2"], rate = "100 Gbps", delay = "1 us" },
    { ends = ["sw2", "r"], rate = "100 Gbps", delay = "1 us" },
]

[[workload]]
kind = "long-lived"
class = "a"
count = 1
rate = "100 Gbps"
from = ["a"]
to = ["r"]

[[workload]]
kind = "long-lived"
class = "b"
count = 1
rate = "100 Gbps"
from = ["b"]
to = ["r"]
start = "300 ns"
"""


@pytest.fixture(scope="session")
def allowed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where the system allows no namespaces."""
    path = tmp_path_factory.mktemp("allowed") / "four.toml"
    path.write_text(SCENARIO)
    tried = start(path, "--for", "0.1")
    said = tried.communicate()[1]
    assert tried.returncode in (0, 2), said
    if tried.returncode == 2:
        assert "the lab did not start" in said or "the lab needs Linux" in said
        pytest.skip(f"the lab cannot run here: {said.strip()}")


def start(*words: str | Path, mark: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "backwater", "lab", *map(str, words)]
    environment = {**os.environ, "LAB_MARK": mark}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def python(host: str, code: str) -> str:
    return f"{host} {shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def lab(*words: str | Path) -> tuple[int, dict[str, Any]]:
    """Runs a lab, and returns its exit code and what it counted."""
    run = start(*words, "--json")
    out, said = run.communicate(timeout=60)
    assert out, said
    return run.returncode, json.loads(out)


def pauses(run: backwater.Run) -> int:
    return sum(run.table("ports")["bfc_pauses"].to_pylist())


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.05)


def node(mark: str, name: str) -> list[int]:
    """Processes of a lab that run the part with this name."""
    words = ["-m", "backwater.lab.node", name]
    found = []
    for number in traces(mark)[1]:
        with contextlib.suppress(OSError):  # It has just ended.
            if Path(f"/proc/{number}/cmdline").read_text().split("\0")[1:4] == words:
                found.append(int(number))
    return found


def captured(file: Path) -> list[tuple[str, str, int, bytes]]:
    """Frames of a capture: the name of the port, `in` or `out`, the time in nanoseconds, and the bytes.

    A part of a frame at the end of the file is left out.
    """
    data, at, names, frames = file.read_bytes(), 0, [], []
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if at + length > len(data):
            break
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        if kind == 1:
            names.append(options(data[at + 16 : at + length - 4])[2].decode())
        elif kind == 6:
            port, high, low, kept, _ = struct.unpack_from("<5I", data, at + 8)
            begin = at + 28
            flags = options(data[begin + (kept + 3) // 4 * 4 : at + length - 4])[2]
            way = {1: "in", 2: "out"}[flags[0] & 3]
            frames.append((names[port], way, high << 32 | low, data[begin : begin + kept]))
        at += length
    return frames


def options(data: bytes) -> dict[int, bytes]:
    """Options of a block of a capture, by their codes."""
    at, found = 0, {}
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found


def traces(mark: str) -> tuple[set[str], set[str]]:
    """Interfaces of this namespace, and processes with `mark` in their environment."""
    marked = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"LAB_MARK={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                marked.add(process.name)
    return {link.name for link in Path("/sys/class/net").iterdir()}, marked
