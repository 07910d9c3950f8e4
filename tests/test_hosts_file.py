"""Ranks of jobs and collectives on hosts from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from backwater import Experiment, InputError, topology, units, workload
from backwater.runs.run import Run
from conftest import Cli

RING = "id,src,dst,bytes,after\na,0,1,65536,\nb,1,2,65536,a\nc,2,3,65536,b\nd,3,0,65536,c\n"
HOSTS = ["host3", "host3", "host0", "host2"]
"""The hosts of `placement.txt`."""
NET = topology.leaf_spine(
    leaves=2,
    spines=2,
    hosts_per_leaf=2,
    host_rate=100 * units.Gbps,
    core_rate=100 * units.Gbps,
    host_delay=1 * units.us,
    core_delay=1 * units.us,
)
SCENARIO = """
scheme = "bfc"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"
[run]
duration = "100 us"
warmup = "0 s"
[[workload]]
kind = "job"
file = "job.csv"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a job of four ranks, its scenario, and a list of hosts."""
    (tmp_path / "job.csv").write_text(RING)
    (tmp_path / "job.toml").write_text(SCENARIO)
    (tmp_path / "placement.txt").write_text("# two ranks share a host\nhost3 slots=2\n\n0\nhost2\n")
    return tmp_path


def test_a_job_placed_by_a_file_is_the_job_placed_by_a_list(place: Path) -> None:
    """The file is needed no more once it was read: the run can be made again without it."""

    def placed(name: str, **keys: object) -> Run:
        job = workload.job(file=str(place / "job.csv"), iterations=2, **keys)  # type: ignore[arg-type]
        return Experiment.of(NET, job, duration=100 * units.us, warmup="0 s").simulate(place / name).runs[0]

    listed, file = placed("list", hosts=HOSTS), placed("file", hosts_file=str(place / "placement.txt"))
    assert file.digest == listed.digest != placed("packed").digest
    assert file.file("scenario.json").read_text() == listed.file("scenario.json").read_text()
    (place / "placement.txt").unlink()
    assert file.scenario["workload"][0]["hosts"] == HOSTS
    assert file.critical_path(iteration=0).span_ps == listed.critical_path(iteration=0).span_ps


def test_a_collective_may_be_placed_by_a_file(place: Path) -> None:
    (place / "placement.txt").write_text("2-3\nhost0..host1\n")

    def digest(name: str, **keys: object) -> str:
        ring = workload.collective(pattern="ring", bytes=64 * units.KB, **keys)  # type: ignore[arg-type]
        return Experiment.of(NET, ring, duration=100 * units.us, warmup="0 s").simulate(place / name).digest

    listed = digest("list", hosts=["host2", "host3", "host0", "host1"])
    assert digest("file", hosts_file=str(place / "placement.txt")) == listed


def test_a_setting_names_a_file_beside_the_scenario(place: Path) -> None:
    (resolved,) = Experiment(place / "job.toml", sets={"job.hosts_file": "placement.txt"}).scenarios.values()
    assert resolved["workload"][0]["hosts"] == HOSTS
    (place / "spread.txt").write_text("host0\nhost2\nhost1\nhost3\n")
    vary = {"job.hosts_file": ["placement.txt", "spread.txt"]}
    swept = Experiment(place / "job.toml", vary=vary).scenarios.values()
    assert [one["workload"][0]["hosts"][0] for one in swept] == ["host3", "host0"]


def test_what_is_wrong_with_a_list_is_told_with_its_line(place: Path, cli: Cli) -> None:
    (place / "placement.txt").write_text("host0 slots=3\n\nhost9\n")
    done = cli("check", place / "job.toml", "--set", "job.hosts_file=placement.txt")
    assert done.returncode == 2
    assert 'placement.txt:3: host "host9": unknown host "host9"; expected one of host0, host1' in done.stderr
    (place / "placement.txt").write_text("host0 slots=3\n")
    with pytest.raises(InputError, match="the job has 4 ranks, and its hosts take 3: expected hosts that take 4"):
        Experiment(place / "job.toml", sets={"job.hosts_file": "placement.txt"})
