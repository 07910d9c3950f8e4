"""Runs in the profile finish flows when the public simulator of HPCC does, line by line of its output."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli

NS3 = Path(__file__).parent / "data" / "ns3"
CASES = ("dumbbell2to1", "incast16x200KB", "single10MB")
TRANSPORTS = {"dctcp": "dctcp", "hpcc": "hpcc", "none": "line-rate"}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scheme", TRANSPORTS)
def test_every_line_is_equal(scheme: str, case: str, tmp_path: Path, cli: Cli) -> None:
    there = NS3 / scheme / case
    words = (there / "config.txt").read_text().split()
    topology, flows = (
        NS3 / "inputs" / Path(words[words.index(key) + 1]).name for key in ("TOPOLOGY_FILE", "FLOW_FILE")
    )
    files = ("--topology", topology, "--flows", flows, "--config", there / "config.txt")
    done = cli("import", "hpcc", *files, "--transport", TRANSPORTS[scheme], "-o", tmp_path / "case.toml")
    assert done.returncode == 0, done.stderr
    done = cli("run", tmp_path / "case.toml", "--out", tmp_path / "run", "--fct", tmp_path / "fct.txt")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "fct.txt").read_text() == (there / "fct.txt").read_text()
