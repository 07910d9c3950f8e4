"""A finished experiment to look at, and the command line to call."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import backwater
import chromium
from backwater.cli import main
from backwater.common.disk import sha256
from backwater.hpcc import importer
from backwater.runs.manifest import Entry
from backwater.runs.run import Run
from backwater.scenario import experiments

pytest_plugins = ["labs"]

ROOT = Path(__file__).parents[1]
SMOKE = ROOT / "experiments" / "smoke"
HPCC = ROOT / "tests" / "data" / "hpcc"

PROCESSORS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
"""Those that the tests may use."""
WIDE = ("test_lab", "test_guides", "test_cluster", "test_mine", "test_slurm")
"""Modules whose tests take all of them: labs keep to real time, clusters have processes, compilers have threads."""

THREE_SCHEMES = """
extends = "{base}"
name = "three"
description = "Three schemes <under> the same \\"traffic\\"."

[[variant]]
name = "BFC"
scheme = "bfc"

[[variant]]
name = "DCTCP"
scheme = "dctcp"

[[variant]]
name = "Ideal-FQ"
scheme = "ideal-fq"
"""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keeps each worker on a processor of its own. Threads of one simulation wait for each other at each window, and
    those of several workers would wait for processors as well.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and PROCESSORS:
        own = PROCESSORS[int(worker.removeprefix("gw")) % len(PROCESSORS)]
        os.sched_setaffinity(0, PROCESSORS if item.path.name.startswith(WIDE) else [own])


@cache
def known(name: str) -> backwater.Experiment:
    """An experiment that comes with Backwater, at its own scale. All tests of a process share it."""
    return backwater.Experiment(experiments.known()[name])


@cache
def written(name: str) -> dict[str, Any]:
    """The file of an experiment that comes with Backwater, with the tables of the one that it extends.

    It is read in no time, unlike the experiment.
    """
    file = experiments.known()[name]
    tables = tomllib.loads(file.read_text())
    while "extends" in tables:
        file = file.parent / tables.pop("extends")
        tables = tomllib.loads(file.read_text()) | tables
    return tables


Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def smoke() -> Path:
    """A scenario that takes a fraction of a second."""
    return SMOKE / "bfc.toml"


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of this run of the tests. Its processes share it."""
    own = tmp_path_factory.getbasetemp()
    place = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    place.mkdir(exist_ok=True)
    return place


@contextlib.contextmanager
def alone(place: Path) -> Iterator[None]:
    """Lets one process at a time work in a directory."""
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with three schemes."""
    path = tmp_path_factory.mktemp("scenario") / "three.toml"
    path.write_text(THREE_SCHEMES.format(base=SMOKE / "bfc.toml"))
    return path


@pytest.fixture(scope="session")
def results(three: Path, tmp_path_factory: pytest.TempPathFactory) -> backwater.Results:
    """What three schemes did, with its report and figures; no flow is explained."""
    sets = {"measure.queueing_delay": True, "measure.active_flows": True}
    done = backwater.Experiment(three, seed=7, sets=sets).simulate(tmp_path_factory.mktemp("runs") / "three")
    done.report()
    return done


@pytest.fixture(scope="session")
def hpcc_run(tmp_path_factory: pytest.TempPathFactory) -> backwater.Results:
    """A run of the sample files of HPCC's simulator."""
    place = tmp_path_factory.mktemp("hpcc")
    files = [HPCC / name for name in ("topology.txt", "flow.txt", "config.txt")]
    imported = importer.read(files[0], files[1], files[2], "dctcp", "sample")
    return backwater.Experiment(importer.write(imported, place / "sample.toml", force=False)[0]).run(place / "run")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Calls `backwater` in an empty directory; in this process, as starting one takes longer than most calls."""

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        output, errors = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "argv", ["backwater", *map(str, arguments)])
        with (
            contextlib.chdir(tmp_path),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
            pytest.raises(SystemExit) as leave,
        ):
            main()
        return subprocess.CompletedProcess(sys.argv, leave.value.code, output.getvalue(), errors.getvalue())

    return call


@pytest.fixture
def process(tmp_path: Path) -> Cli:
    """The same as a process of its own, and with options of `subprocess.run`."""

    def call(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command(*arguments), cwd=tmp_path, capture_output=True, text=True, timeout=120, **options)

    return call


def bare_run(place: Path) -> Run:
    """A run of which only some files are there."""
    files = {file.name: sha256(file) for file in place.iterdir()}
    return Run("x", place, Entry(label="x", scheme="", params={}, digest="", dir="x", complete=True, files=files))


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "backwater", *map(str, arguments)]


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Page]:
    """A page of a real browser, where there is one."""
    if (program := chromium.find()) is None:
        pytest.skip(chromium.NONE)
    with chromium.browser(program) as page:
        yield page
