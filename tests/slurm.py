"""A Slurm of one machine: munged, slurmctld and slurmd of the distribution, in a directory of their own.

`python tests/slurm.py` starts one, prints what to export, and stops it at Ctrl-C. It needs root, because slurmd starts
jobs for users, and the packages slurmctld, slurmd, slurm-client and munge.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
PATIENCE_S = 60.0
NODE_MB = 2000

CONF = """\
ClusterName=tests
SlurmctldHost={host}
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName={host} CPUs={processors} RealMemory={memory} State=UNKNOWN
PartitionName=standard Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""

JOBQUEUE = """\
jobqueue:
  slurm:
    queue: standard
    cores: 1
    processes: 1
    memory: 500MB
    walltime: "00:30:00"
    interface: lo
    local-directory: {place}/scratch
"""


def missing() -> str | None:
    """Returns why there can be no Slurm here, or None."""
    if os.geteuid() != 0:
        return "Slurm starts jobs for users, so it needs root"
    absent = [name for name in PROGRAMS if found(name) is None]
    return f"no {', '.join(absent)}" if absent else None


def found(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class Slurm:
    """A running Slurm."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.host = socket.gethostname().partition(".")[0]
        self.environment = {**os.environ, "SLURM_CONF": str(place / "slurm.conf"), "DASK_CONFIG": str(place / "dask")}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        for name in ("state", "spool", "scratch", "dask"):
            (self.place / name).mkdir(parents=True)
        ports = free_ports(2)
        conf = CONF.format(
            host=self.host,
            place=self.place,
            controller=ports[0],
            daemon=ports[1],
            processors=os.cpu_count(),
            memory=NODE_MB,
        )
        (self.place / "slurm.conf").write_text(conf)
        (self.place / "dask" / "jobqueue.yaml").write_text(JOBQUEUE.format(place=self.place))
        key = self.place / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        words = [f"--{name}={self.place}/munge.{ending}" for name, ending in MUNGE]
        self._run("munged", "--foreground", "--force", *words)
        until(lambda: (self.place / "munge.socket").exists(), "munged")
        self.start_controller()
        self._run("slurmd", "-D")
        until(lambda: "idle" in self.tell("sinfo", "-h", "-o", "%t"), "slurmd")

    def start_controller(self) -> None:
        self._run("slurmctld", "-D")
        until(lambda: "UP" in self.tell("scontrol", "ping", check=False), "slurmctld")

    def stop_controller(self) -> None:
        self._end("slurmctld")

    def drain(self) -> None:
        """Takes no more jobs; those that run go on."""
        self.tell("scontrol", "update", f"nodename={self.host}", "state=drain", "reason=test")

    def resume(self) -> None:
        self.tell("scontrol", "update", f"nodename={self.host}", "state=resume")

    def jobs(self, state: str = "running") -> list[str]:
        """Returns the numbers of jobs in this state, the oldest first."""
        return sorted(self.tell("squeue", "-h", "-t", state, "-o", "%A").split(), key=int)

    def cancel(self, job: str) -> None:
        self.tell("scancel", "--signal=KILL", "--full", job)
        self.tell("scancel", job)

    def tell(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
        return done.stdout

    def stop(self) -> None:
        with contextlib.suppress(RuntimeError):
            for job in self.jobs():
                self.tell("scancel", job)
            until(lambda: not self.jobs(), "the end of all jobs", patience=10)
        for name in ("slurmd", "slurmctld", "munged"):
            self._end(name)

    def _run(self, program: str, *words: str) -> None:
        path = found(program)
        assert path is not None
        log = (self.place / f"{program}.out").open("ab")
        self._daemons[program] = subprocess.Popen(
            [path, *words],
            env=self.environment,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        log.close()

    def _end(self, program: str) -> None:
        daemon = self._daemons.pop(program, None)
        if daemon is not None:
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


MUNGE = (
    ("key-file", "key"),
    ("socket", "socket"),
    ("pid-file", "pid"),
    ("log-file", "log"),
    ("seed-file", "seed"),
)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("", 0))
        return [one.getsockname()[1] for one in sockets]


def until(holds: Callable[[], bool], what: str, patience: float = PATIENCE_S) -> None:
    """Waits until something holds.

    # Errors
    `RuntimeError` if it does not within `patience` seconds.
    """
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {patience:.0f} s for {what}")
        time.sleep(0.2)


@contextlib.contextmanager
def running() -> Iterator[Slurm]:
    """Starts a Slurm and stops it at the end."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as place:
        slurm = Slurm(Path(place))
        try:
            slurm.start()
            yield slurm
        finally:
            slurm.stop()


if __name__ == "__main__":
    if reason := missing():
        sys.exit(reason)
    with running() as started:
        for variable in ("SLURM_CONF", "DASK_CONFIG"):
            print(f"export {variable}={started.environment[variable]}", flush=True)
        print("# Ctrl-C stops it.", file=sys.stderr)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)
