"""Runs in the profile finish flows when the public simulator of HPCC does, line by line of its output."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli

NS3 = Path(__file__).parent / "data" / "ns3"
CASES = ("dumbbell2to1", "incast16x200KB", "single10MB")
TRANSPORTS = {
    **{"dctcp": "dctcp", "dcqcn": "dcqcn", "dcqcn+win": "dcqcn", "hpcc": "hpcc", "timely": "timely"},
    "none": "line-rate",
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scheme", TRANSPORTS)
def test_every_line_is_equal(scheme: str, case: str, tmp_path: Path, cli: Cli) -> None:
    there = NS3 / scheme / case
    words = (there / "config.txt").read_text().split()
    topology, flows = (
        NS3 / "inputs" / Path(words[words.index(key) + 1]).name for key in ("TOPOLOGY_FILE", "FLOW_FILE")
    )
    expected = (there / "fct.txt").read_text()
    assert completions(topology, flows, there / "config.txt", scheme, tmp_path / "here", cli) == expected
    done = cli("export", "hpcc", tmp_path / "here" / "case.toml", tmp_path / "files")
    assert done.returncode == 0, done.stderr
    files = (tmp_path / "files" / name for name in ("topology.txt", "flow.txt", "config.txt"))
    assert completions(*files, scheme, tmp_path / "again", cli) == expected, "after an export and an import"


def completions(topology: Path, flows: Path, config: Path, scheme: str, place: Path, cli: Cli) -> str:
    """The lines that a run of these files writes."""
    files = ("--topology", topology, "--flows", flows, "--config", config)
    done = cli("import", "hpcc", *files, "--transport", TRANSPORTS[scheme], "-o", place / "case.toml")
    assert done.returncode == 0, done.stderr
    done = cli("run", place / "case.toml", "--out", place / "run", "--fct", place / "fct.txt")
    assert done.returncode == 0, done.stderr
    return (place / "fct.txt").read_text()
