"""Runs simulations on other machines: on an existing Dask cluster, or on one that a batch system starts
(`docs/cluster.md`).

Each run goes to a worker as its resolved scenario, and comes back as the files of its directory. A worker simulates
only with the version that asks. If a worker dies during a run, another worker makes that run again.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater._core import InputError
from backwater.common import disk
from backwater.compute import running
from backwater.execute import memory
from backwater.runs import writer
from backwater.runs.writer import Shipped

if TYPE_CHECKING:
    from backwater.lab.machine import Machine

EXTRA = "pip install backwater[cluster]"
BATCH = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
    "oar": "OARCluster",
    "htcondor": "HTCondorCluster",
}
"""Batch systems and what dask-jobqueue has for them; its settings are those of `jobqueue.yaml`."""
JOBS = 4
PATIENCE_S = 60.0
"""For a scheduler that does not answer."""


def simulate(scenario_json: str, threads: int, wanted: tuple[str, str]) -> Shipped | str:
    """Simulates a run on a worker. A text as result is the reason of a failure."""
    have = (_core.version, writer.build(own=True))
    if have != wanted:
        return f"runs version {have[0]} (build {have[1]}) and not {wanted[0]} ({wanted[1]})"
    memory.give_back()  # What the run before took here.
    began = time.perf_counter()
    scenario = json.loads(scenario_json)
    run = running.Computing(scenario) if running.is_computation(scenario) else _core.start(scenario_json, threads)
    while not run.wait(1.0):
        pass
    outcome = run.outcome()
    wall_s = time.perf_counter() - began
    with tempfile.TemporaryDirectory(prefix="backwater-") as place:
        writer.write_tables(Path(place), scenario, outcome)
        files = {path.name: path.read_bytes() for path in sorted(Path(place).iterdir())}
    return Shipped(outcome.digest, outcome.digests(), outcome.summary(), files, wall_s)


class Remote:
    """A run on a worker, with the interface of a local run."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def wait(self, seconds: float) -> bool:
        from distributed import TimeoutError as TimedOut
        from distributed import wait

        try:
            wait(self._future, timeout=seconds)
        except TimedOut:
            return False
        return True

    def progress(self) -> _core.Progress:
        return running.unheard("running")

    def cancel(self) -> None:
        self._future.cancel(force=True)

    def outcome(self) -> Shipped:
        """Returns the result that the worker sent back.

        # Errors
        `InputError` where the worker runs another version, or workers died of it.
        """
        from distributed import CancelledError, KilledWorker

        try:
            made = self._future.result()
        except CancelledError:
            raise KeyboardInterrupt from None
        except KilledWorker as error:
            died, last = error.allowed_failures + 1, error.last_worker.address
            raise InputError(f"{died} workers died of a run, the last {last}: too little memory?") from error
        if isinstance(made, str):
            raise InputError(f"a worker {made}; install the same on all machines")
        self._future.release()
        return made


class Cluster:
    """A cluster of workers. Each of their threads simulates one run.

    `ask` asks for the workers. It is called with the first run, so that none is asked for if all runs are found in a
    store.
    """

    def __init__(self, client: Any, ask: Callable[[], None] | None = None) -> None:
        self._client, self._ask = client, ask

    @property
    def slots(self) -> int:
        """Returns how many runs can go side by side now. Workers may come and go."""
        if self._ask is not None:
            return 1
        return sum(worker["nthreads"] for worker in self._client.scheduler_info(n_workers=-1)["workers"].values())

    def start(self, scenario_json: str) -> Remote:
        if self._ask is not None:
            self._ask()
            self._ask = None
        wanted = (_core.version, writer.build(own=True))
        return Remote(self._client.submit(simulate, scenario_json, 1, wanted, pure=False, retries=0))


@contextlib.contextmanager
def connected(where: str | Machine | None) -> Iterator[Cluster | Machine | None]:
    """Connects to the cluster that `--on` names, or to a lab. Without one it is None, and everything runs here.

    # Errors
    `InputError` where it has another form, nobody answers, or the extra is not installed.
    """
    if not isinstance(where, str):
        yield where
        return
    if (lab := lab_of(where)) is not None:
        yield lab
        return
    address = address_of(where)
    try:
        from distributed import Client
    except ImportError:
        raise InputError(f"--on {where}: needs what `{EXTRA}` installs") from None
    with contextlib.ExitStack() as stack:
        target, ask = (f"tcp://{address}", None) if address else stack.enter_context(batch(where))
        try:
            client = stack.enter_context(Client(target, timeout=PATIENCE_S))
        except (OSError, ValueError) as error:
            raise InputError(f"--on {where}: no scheduler answers there: {error}") from error
        cluster = Cluster(client, ask)
        if not cluster.slots:
            print(f"--on {where}: no workers yet; runs wait for them", file=sys.stderr)
        yield cluster


def lab_of(where: str) -> Machine | None:
    """Returns the lab that `lab:MBPS` names; None for any other place."""
    from backwater.lab.machine import machine_of  # Much to import for a run of the simulator.

    return machine_of(where)


def address_of(where: str) -> str | None:
    """Returns host and port of `dask://HOST:PORT`, or None for a batch system.

    # Errors
    `InputError` for any other form.
    """
    if lab_of(where) is not None:
        return None
    address = re.fullmatch(r"dask://([^/\s]+:[0-9]{1,5})/?", where)
    system = re.fullmatch(r"([a-z]+)(?::([1-9][0-9]{0,3}))?", where)
    if not address and not (system and system[1] in BATCH):
        systems = ", ".join(BATCH)
        raise InputError(f"--on {where}: expected dask://HOST:PORT, or one of {systems}, with :JOBS behind it")
    return address[1] if address else None


@contextlib.contextmanager
def batch(where: str) -> Iterator[tuple[Any, Callable[[], None]]]:
    """Starts a scheduler for jobs of a batch system, such as `slurm:8`, with the settings of `jobqueue.yaml`.

    Yields it with a function that submits the jobs. They print to files in a directory below the present one, which is
    removed at the end: each node writes there.
    """
    system, _, jobs = where.partition(":")
    with contextlib.ExitStack() as stack:
        output = stack.enter_context(disk.scratch(Path.cwd() / "jobs"))
        try:
            import dask
            import dask_jobqueue

            named = dask.config.get(f"jobqueue.{system}.log-directory", None)
            made = getattr(dask_jobqueue, BATCH[system])(log_directory=named or str(output))
        except ImportError:
            raise InputError(f"--on {where}: needs what `{EXTRA}` installs") from None
        except (OSError, RuntimeError, TypeError, ValueError) as error:
            raise InputError(f"--on {where}: {error}; docs/cluster.md has a jobqueue.yaml") from error
        cluster = stack.enter_context(made)

        def submit() -> None:
            cluster.scale(jobs=int(jobs or JOBS))
            print(f"--on {where}: runs wait for its jobs, which print to {named or output}", file=sys.stderr)

        yield cluster, submit
