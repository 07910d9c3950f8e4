"""The lab's own process: `python -m backwater.lab.inside ORDER REPORT`, where both are numbers of open pipes.

It reads one line of JSON from ORDER, and writes one line of JSON for each event to REPORT. It has one thread until it
has moved into namespaces of its own, because only such a process can. Its child is the first process in there. When
that one ends, all programs end too, whatever ended it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

POLL_S = 0.02
PROGRESS_S = 0.2
SERVING_S = 3.0
"""Time that a server has to open a socket, before the programs start."""
SOCKETS = ("tcp", "tcp6", "udp", "udp6")
ENDING_S = 2.0
"""Time that programs have to end after SIGTERM."""


def main() -> int:
    """Enters the namespaces, and lets a child work in them. Returns the exit code."""
    order, report = (int(number) for number in sys.argv[1:3])
    from backwater import _core

    asked = json.loads(os.fdopen(order).readline())
    events = os.fdopen(report, "w")
    try:
        _core.lab_follow_parent()
        if os.getppid() != asked["parent"]:
            return 1  # It ended before this process followed it.
        _core.lab_enter()
    except _core.InputError as error:
        tell(events, {"refused": str(error)})
        return 2
    alive, life = os.pipe()
    child = os.fork()
    if child:
        os.close(alive)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(life)
    _core.lab_follow_parent()
    if select.select([alive], [], [], 0)[0]:
        return 1  # Only the end of the parent closes the other end of the pipe. It was too early for a signal.
    try:
        return flows(asked, events) if "place" in asked else Lab(asked, events).work()
    except _core.InputError as error:
        tell(events, {"refused": str(error)})
        return 2


def flows(asked: dict[str, Any], events: TextIO) -> int:
    """Runs the scenario's own flows, and writes the tables of the run into the directory `place`."""
    from backwater import _core, writer

    run, report = _core.lab_start(asked["scenario"], asked["divisor"])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: run.cancel())
    began = time.monotonic()
    while not run.wait(PROGRESS_S):
        tell(events, {"progress": run.progress()})
    seconds = time.monotonic() - began
    counts = report.counts()  # Raises what the system refused.
    outcome = run.outcome()  # Raises if we have a bug. Only then there are no counts.
    assert counts is not None
    writer.write_tables(Path(asked["place"]), json.loads(asked["scenario"]), outcome)
    made = {"digest": outcome.digest, "digests": outcome.digests(), "summary": outcome.summary()}
    tell(events, {"made": {**made, "counts": json.loads(counts), "seconds": seconds}})
    return 0


def tell(events: TextIO, event: dict[str, Any]) -> None:
    events.write(json.dumps(event) + "\n")
    events.flush()


class Lab:
    """The hosts, the switches, and the programs that run on them."""

    def __init__(self, asked: dict[str, Any], events: TextIO) -> None:
        from backwater import _core

        self.asked, self.events = asked, events
        self.lab = _core.Lab(asked["scenario"], asked["divisor"], asked["logs"])
        self.hosts = self.lab.hosts()
        lines = [f"{address} {name}\n" for name, address in self.hosts]
        _core.lab_name_hosts("".join(["127.0.0.1 localhost\n", *lines]))
        self.servers: list[Program] = []
        self.programs: list[Program] = []
        self.stopped = False

    def work(self) -> int:
        """Runs the programs, and reports what the lab has counted."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.stop)
        tell(self.events, {"ready": self.hosts})
        began = time.monotonic()
        try:
            self.servers = [self.start(one, serves=True) for one in self.asked["servers"]]
            self.programs = [self.start(one, serves=False) for one in self.asked["programs"]]
            until = None if self.asked["for_s"] is None else began + self.asked["for_s"]
            while not self.stopped and (until is None or time.monotonic() < until):
                if (until is None or self.programs) and all(one.has_ended() for one in self.programs):
                    break
                time.sleep(POLL_S)
        finally:
            self.end(self.programs + self.servers)
            counts = json.loads(self.lab.stop())
        ended = [one.to_json() for one in self.programs + self.servers]
        seconds = time.monotonic() - began
        tell(self.events, {"counts": counts, "programs": ended, "stopped": self.stopped, "seconds": seconds})
        return 0

    def stop(self, *_: object) -> None:
        self.stopped = True

    def start(self, one: dict[str, Any], *, serves: bool) -> Program:
        number = [name for name, _ in self.hosts].index(one["host"])
        return Program(
            one["host"], one["argv"], lambda: self.lab.join(number), serves=serves, stdout=self.asked["stdout"]
        )

    def end(self, programs: list[Program]) -> None:
        """Ends the programs that still run: by SIGTERM, then by SIGKILL."""
        for one in programs:
            one.signal(signal.SIGTERM)
        until = time.monotonic() + ENDING_S
        while time.monotonic() < until and not all(one.has_ended() for one in programs):
            time.sleep(POLL_S)
        for one in programs:
            one.signal(signal.SIGKILL)


class Program:
    """A program on a host."""

    def __init__(
        self, host: str, argv: list[str], join: Callable[[], None], *, serves: bool, stdout: int | None
    ) -> None:
        """Starts the program. One that serves is waited for until it has a socket."""
        self.host, self.argv, self.serves = host, argv, serves
        self.process: subprocess.Popen[bytes] | None = None
        self.failed: str | None = None

        def start() -> None:
            # A process belongs to the host that the thread which starts it has joined.
            try:
                join()
                before = sockets()
                self.process = subprocess.Popen(argv, stdout=stdout)
            except OSError as error:
                self.failed = f"{error.filename or argv[0]}: {error.strerror or error}"
                return
            except ValueError as error:  # The system refuses the host; a command has a zero byte.
                self.failed = str(error)
                return
            until = time.monotonic() + SERVING_S
            while serves and sockets() == before and not self.has_ended() and time.monotonic() < until:
                time.sleep(POLL_S)

        thread = threading.Thread(target=start)
        thread.start()
        thread.join()

    def has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def to_json(self) -> dict[str, Any]:
        code = None if self.process is None else self.process.poll()
        told = {"host": self.host, "command": self.argv, "serves": self.serves}
        return {**told, "exit_code": code, "failed": self.failed}


def sockets() -> int:
    """Counts the sockets of the host that the calling thread has joined."""
    count = 0
    for kind in SOCKETS:
        with contextlib.suppress(OSError), Path("/proc/thread-self/net", kind).open() as lines:
            count += sum(1 for _ in lines) - 1
    return count


if __name__ == "__main__":
    # Nothing that this interpreter has open needs a tidy end, and its parent waits.
    code = main()
    sys.stdout.flush()
    os._exit(code)
