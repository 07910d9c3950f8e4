"""Labs for tests: a small network, and commands that start one."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
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


def traces(mark: str) -> tuple[set[str], set[str]]:
    """Interfaces of this namespace, and processes with `mark` in their environment."""
    marked = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"LAB_MARK={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                marked.add(process.name)
    return {link.name for link in Path("/sys/class/net").iterdir()}, marked
