"""Processes that are killed, interrupted and starved, and what has to be left of their work."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from backwater import InputError, Results
from conftest import command

SLOW_FROM_S = 0.2
"""CPU time after a signal, at most."""


@dataclass(frozen=True)
class Ended:
    """A process after its signal."""

    code: int
    cpu_s: float
    """Its own processor time from the signal on."""
    wall_s: float
    answer_s: float | None
    """Until it said something; None if it did not."""
    errors: str


def start(place: Path, *arguments: object) -> subprocess.Popen[bytes]:
    """A process of its own, that hears signals even where the tests ignore them; its errors go into a file."""

    def heed() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with (place / "errors").open("wb") as errors, (place / "output").open("wb") as output:
        return subprocess.Popen(command(*arguments), cwd=place, stdout=output, stderr=errors, preexec_fn=heed)


def wait_for(path: Path, text: str, process: subprocess.Popen[bytes], limit_s: float = 120) -> None:
    """Until a file says it."""
    end = time.monotonic() + limit_s
    while text not in (path.read_text() if path.exists() else ""):
        assert process.poll() is None, path.with_name("errors").read_text()
        assert time.monotonic() < end, f"{path}: never says {text}"
        time.sleep(0.005)


def stop(process: subprocess.Popen[bytes], place: Path, number: signal.Signals) -> Ended:
    """Sends a signal and waits."""
    before = cpu_of(process.pid)
    asked = time.monotonic()
    said = (place / "errors").stat().st_size
    process.send_signal(number)
    answer = None
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if answer is None and (place / "errors").stat().st_size > said:
            answer = time.monotonic() - asked
        if pid:
            break
        assert time.monotonic() - asked < 60, "it does not end"
        time.sleep(0.002)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = used.ru_utime + used.ru_stime - before
    return Ended(process.returncode, cpu, time.monotonic() - asked, answer, (place / "errors").read_text())


def cpu_of(pid: int) -> float:
    """Processor time that a process has used, seconds, from its schedulers' nanoseconds."""
    threads = Path(f"/proc/{pid}/task")
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        fine = sum(int((task / "schedstat").read_text().split()[0]) for task in threads.iterdir()) * 1e-9
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return max(ticks, fine)


def finished_in(place: Path) -> set[str]:
    """Labels of the runs that are there, to their end and as they were written; of a fragment or a whole directory."""
    try:
        found = Results(place)
        found.verify()
    except InputError:
        return set()
    return {run.label for run in found.runs if run.ending != "interrupted"}


def announced(place: Path) -> set[str]:
    """Labels of the runs that the process said were done."""
    return announced_in((place / "output").read_text() if (place / "output").exists() else "")


def announced_in(output: str) -> set[str]:
    """The same from what it printed."""
    said = (": done in", ": finished before")
    return {line.partition(":")[0] for line in output.splitlines() if any(word in line for word in said)}


def any_moment(chance: random.Random, whole_s: float) -> float:
    return chance.uniform(0.02, whole_s)


def limit_files(size: int) -> None:
    """Keeps files of this process, a child that is about to start a program, from growing beyond a size.

    Python does not check how much of its bytecode was written, and later processes fail to read a cut file. So the
    program writes no bytecode.
    """
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
