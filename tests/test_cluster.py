"""Runs on a Dask cluster of worker processes: the bytes of a run here, also where a worker dies in the middle."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from backwater import Experiment, InputError, Results
from backwater.execute import cluster, sweep
from conftest import SMOKE, Cli

pytest.importorskip("distributed")

SWEEP = """
extends = "{base}"
name = "swept"
[run]
duration = "300 us"
[sweep]
load = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
[seeds]
count = 2
"""


@dataclass
class Standing:
    """A scheduler and its workers, each a process."""

    address: str
    workers: list[subprocess.Popen[bytes]]
    begin_worker: Callable[[], subprocess.Popen[bytes]]


@pytest.fixture
def standing(tmp_path: Path) -> Iterator[Standing]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    dask = [sys.executable, "-m", "dask"]
    with contextlib.ExitStack() as stack, (tmp_path / "dask.log").open("wb") as log:

        def begin(*words: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen([*dask, *words], cwd=tmp_path, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        begin("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        where = f"tcp://127.0.0.1:{port}"
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path))

        def begin_worker() -> subprocess.Popen[bytes]:
            return begin("worker", where, *options)

        yield Standing(f"dask://127.0.0.1:{port}", [begin_worker() for _ in range(3)], begin_worker)


@pytest.fixture
def swept(tmp_path: Path) -> Experiment:
    path = tmp_path / "swept.toml"
    path.write_text(SWEEP.format(base=SMOKE / "bfc.toml"))
    return Experiment(path)


def wait_for_workers(standing: Standing, n: int) -> None:
    with cluster.connected(standing.address) as found:
        deadline = time.monotonic() + 60
        while found.slots < n:
            assert time.monotonic() < deadline, "workers did not come"
            time.sleep(0.1)


def bytes_of(results: Results) -> dict[str, dict[str, str]]:
    return {run.label: run.entry.files for run in results.runs}


def test_a_cluster_makes_the_runs_of_this_machine(standing: Standing, swept: Experiment, tmp_path: Path) -> None:
    wait_for_workers(standing, 3)
    there = swept.simulate(tmp_path / "there", on=standing.address)
    here = swept.simulate(tmp_path / "here")
    assert bytes_of(there) == bytes_of(here)
    assert there.digest == here.digest
    there.verify()
    assert all(row["wall_s"] > 0 for row in there.timing["runs"])


def test_a_worker_that_dies_loses_its_run_and_no_more(standing: Standing, swept: Experiment, tmp_path: Path) -> None:
    wait_for_workers(standing, 3)
    base = swept.with_({"run.duration": "3 ms"})
    ended = 0

    class Killer(sweep.Watch):
        def on_done(self, job: sweep.Job) -> None:
            nonlocal ended
            ended += 1
            if ended == 2:
                standing.workers[0].kill()

    there = base.simulate(tmp_path / "there", on=standing.address, watch=Killer())
    assert standing.workers[0].poll() is not None
    assert bytes_of(there) == bytes_of(base.simulate(tmp_path / "here"))


def test_a_worker_of_another_version_is_refused(
    standing: Standing, swept: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for_workers(standing, 1)
    monkeypatch.setattr(cluster.writer, "build", lambda *, own: "another")
    with pytest.raises(InputError, match=r"a worker runs version .* and not .* \(another\); install the same"):
        swept.simulate(tmp_path / "there", on=standing.address)


def test_runs_wait_for_workers(standing: Standing, swept: Experiment, tmp_path: Path, capsys) -> None:
    wait_for_workers(standing, 3)
    for worker in standing.workers:
        worker.kill()
        worker.wait()
    time.sleep(1)
    late = threading.Timer(1, standing.begin_worker)
    late.start()
    there = swept.simulate(tmp_path / "there", on=standing.address)
    late.join()
    assert not there.interrupted
    assert len(there.runs) == 12
    assert "no workers yet; runs wait for them" in capsys.readouterr().err


def test_the_command_line_names_its_option(cli: Cli, smoke: Path) -> None:
    refused = cli("run", smoke, "--out", "here", "--on", "here")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: --on here: expected dask://HOST:PORT, or one of slurm, pbs")


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("here", r"^on = 'here': expected dask://HOST:PORT, or one of slurm, pbs"),
        ("dask://host", r"^on = 'dask://host': expected"),
        ("slurm:0", r"^on = 'slurm:0': expected"),
        ("dask://127.0.0.1:1", r"^on = 'dask://127.0.0.1:1': no scheduler answers there"),
    ],
)
def test_other_clusters_are_refused(
    where: str, says: str, swept: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_S", 0.5)
    with pytest.raises(InputError, match=says):
        swept.simulate(tmp_path / "there", on=where)
