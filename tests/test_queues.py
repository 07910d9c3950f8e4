"""What is sampled of single queues and counted of turns is what the rest of a run says."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest

from backwater import Experiment, Results
from backwater.scenario import experiments

CLOS = """
name = "small"
scheme = "{scheme}"

[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"

[[workload]]
kind = "long-lived"
count = 8
from = ["host4..host11"]
to = ["host0..host3"]

[run]
duration = "200 us"

[measure]
sample = "5 us"
sharing = true
valleys = {valleys}
"""
FAILS = '[[fault]]\nlink = ["leaf0", "spine0"]\ndown = [["100 us", "150 us"]]\n'


def run(place: Path, scheme: str, more: str = "", valleys: str = "true") -> Results:
    file = place / "small.toml"
    file.write_text(CLOS.format(scheme=scheme, valleys=valleys) + more)
    return Experiment(file).run(place / "out")


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    path = experiments.known()["bfc-fig7"]
    return Experiment(path, scale="smoke", variant="Th 2 us").run(tmp_path_factory.mktemp("testbed") / "out")


def test_data_queues_add_up_to_their_port(testbed: Results) -> None:
    for one in testbed.runs:
        ports, queues = one.table("queues"), one.table("data_queues")
        whole = dict(zip(ports["time_ps"].to_pylist(), ports["queued_bytes"].to_pylist(), strict=True))
        parts = dict.fromkeys(whole, 0)
        for at, held in zip(queues["time_ps"].to_pylist(), queues["queued_bytes"].to_pylist(), strict=True):
            parts[at] += held
        assert parts == whole
        assert max(whole.values()) > 25_000
        assert len(pc.unique(queues["queue"])) == 2, "two flows, each in a queue of its own"


@pytest.mark.parametrize(("scheme", "percent"), [("bfc-single", [100]), ("bfc", [0])])
def test_flows_of_one_queue_share_it(tmp_path: Path, scheme: str, percent: list[int]) -> None:
    """Four flows meet at each spine's port to leaf0, which brings half of what they could send."""
    (one,) = run(tmp_path, scheme).runs
    table = one.table("sharing")
    down = table.filter(pc.equal(pc.cast(table["peer"], "string"), "leaf0"))
    most = max(down["samples"].to_pylist())
    common = down.filter(pc.greater_equal(down["samples"], most // 2))
    assert sorted(set(common["percent"].to_pylist())) == percent


def test_only_where_a_link_fails_packets_turn_back_up(tmp_path: Path) -> None:
    (whole,) = run(tmp_path, "bfc").runs
    assert whole.summary["valleys"] == {"packets": 0}
    (tmp_path / "failing").mkdir()
    (failing,) = run(tmp_path / "failing", "bfc", FAILS).runs
    assert 0 < failing.summary["valleys"]["packets"] < 0.05 * failing.summary["loss"]["data_packets"]
    (tmp_path / "silent").mkdir()
    (silent,) = run(tmp_path / "silent", "bfc", FAILS, valleys="false").runs
    assert silent.summary["valleys"] is None
