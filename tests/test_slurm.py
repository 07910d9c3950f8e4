"""Sweeps on a real Slurm of one machine: the bytes of this machine, whatever happens to jobs, node and controller."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import slurm
from backwater import Results
from conftest import SMOKE
from test_cluster import SWEEP, bytes_of

pytest.importorskip("dask_jobqueue")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(slurm.missing() is not None, reason=str(slurm.missing())),
]


@dataclass
class Submitted:
    """A sweep that runs as a command, and the directory in which it was typed."""

    place: Path
    process: subprocess.Popen[str]

    def ended(self) -> Results:
        """Waits for the command."""
        said, _ = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, said
        return Results(self.place / "there")


LONGER = ["--set", 'run.duration="8 ms"']
"""So long that jobs come while runs are left."""
Submit = Callable[..., Submitted]


@pytest.fixture(scope="module")
def cluster() -> Iterator[slurm.Slurm]:
    with slurm.running() as started:
        yield started


@pytest.fixture
def submit(cluster: slurm.Slurm, tmp_path: Path) -> Iterator[Submit]:
    """Returns a function that types the command."""
    (tmp_path / "swept.toml").write_text(SWEEP.format(base=SMOKE / "bfc.toml"))
    typed = []

    def type_it(*words: str) -> Submitted:
        command = [
            sys.executable,
            "-m",
            "backwater",
            "run",
            "swept.toml",
            "--out",
            "there",
            "--on",
            "slurm:2",
            *LONGER,
            *words,
        ]
        typed.append(
            subprocess.Popen(
                command,
                cwd=tmp_path,
                env=cluster.environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        )
        return Submitted(tmp_path, typed[-1])

    yield type_it
    for process in typed:
        process.kill()
        process.wait()
    slurm.until(lambda: not cluster.jobs("pending,running"), "the end of its jobs")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What the same command makes on this machine: hashes of files by run."""
    place = tmp_path_factory.mktemp("here")
    (place / "swept.toml").write_text(SWEEP.format(base=SMOKE / "bfc.toml"))
    command = [sys.executable, "-m", "backwater", "run", "swept.toml", "--out", "here", "-q", *LONGER]
    subprocess.run(command, cwd=place, check=True)
    return bytes_of(Results(place / "here"))


def two_run(cluster: slurm.Slurm) -> list[str]:
    slurm.until(lambda: len(cluster.jobs()) == 2, "two jobs")
    return cluster.jobs()


def test_jobs_make_the_runs_of_this_machine_and_leave_nothing(submit: Submit, here: dict[str, dict[str, str]]) -> None:
    submitted = submit()
    assert bytes_of(submitted.ended()) == here
    left = sorted(path.name for path in submitted.place.iterdir())
    assert left == ["swept.toml", "there"], "what jobs print is gone with them"


def test_a_job_that_is_cancelled_loses_its_run_and_no_more(
    cluster: slurm.Slurm, submit: Submit, here: dict[str, dict[str, str]]
) -> None:
    submitted = submit()
    first, _ = two_run(cluster)
    cluster.cancel(first)
    assert bytes_of(submitted.ended()) == here


def test_a_node_that_is_drained_finishes_its_jobs(
    cluster: slurm.Slurm, submit: Submit, here: dict[str, dict[str, str]]
) -> None:
    submitted = submit()
    first, second = two_run(cluster)
    cluster.drain()
    try:
        cluster.cancel(first)
        slurm.until(lambda: cluster.jobs() == [second], "the end of a job")
        assert bytes_of(submitted.ended()) == here
    finally:
        cluster.resume()


def test_a_controller_that_restarts_is_not_missed(
    cluster: slurm.Slurm, submit: Submit, here: dict[str, dict[str, str]]
) -> None:
    submitted = submit()
    two_run(cluster)
    cluster.stop_controller()
    cluster.start_controller()
    assert bytes_of(submitted.ended()) == here


def test_no_job_is_submitted_if_every_run_is_stored(
    cluster: slurm.Slurm, submit: Submit, here: dict[str, dict[str, str]]
) -> None:
    submit("--store", "store").ended()
    before = cluster.tell("scontrol", "show", "jobs", "-o").count("JobId=")
    assert before >= 2
    again = submit("--store", "store", "--force").ended()
    assert bytes_of(again) == here
    assert cluster.tell("scontrol", "show", "jobs", "-o").count("JobId=") == before
