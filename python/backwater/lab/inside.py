"""The lab's own process: `python -m backwater.lab.inside ORDER REPORT`, where both are numbers of open pipes.

It reads one line of JSON from ORDER, and writes one line of JSON for each event to REPORT. It has one thread until it
has moved into namespaces of its own, because only such a process can. Its child is the first process in there. When
that one ends, all programs end too, whatever ended it.

`does` in the order says what it does: `flows` runs the scenario's own flows, `measured` programs for the time of the
scenario, and `programs` programs until they end. The first two write the tables of a run into the directory `place`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from backwater.common import signals
from backwater.lab import answers, realtime, told

if TYPE_CHECKING:
    from types import FrameType

    from backwater import _core
    from backwater.lab.orders import About, Counts, Ended, Event, Files, Made, Order, ProgramOrder

POLL_S = 0.02
PROGRESS_S = 0.2
SERVING_S = 3.0
"""Time that a server has to open a socket, before the programs start."""
SOCKETS = ("tcp", "tcp6", "udp", "udp6")
ENDING_S = 2.0
"""Time that programs have to end after SIGTERM."""
PYTHON = "python"
"""As a command it is the Python that runs the lab, which has the programs of `backwater.lab`."""
NODE = [sys.executable, "-m", "backwater.lab.node"]
"""Starts a process of the lab that runs a part of the network."""
PATIENCE_S = 3.0
"""Time that they have to tell results after the counted window."""


def main() -> int:
    """Enters the namespaces, and lets a child work in them. Returns the exit code."""
    order, report = (int(number) for number in sys.argv[1:3])
    from backwater import _core
    from backwater.lab.orders import heard

    asked: Order | None = next(heard(os.fdopen(order)), None)
    if asked is None:
        return 1  # The parent ended before it gave the order.
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
        answer_signals(lambda number, _: os.kill(child, number))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(life)
    _core.lab_follow_parent()
    if select.select([alive], [], [], 0)[0]:
        return 1  # Only the end of the parent closes the other end of the pipe. It was too early for a signal.
    if asked.get("realtime"):
        realtime.keep_processors_awake()
    try:
        return {"flows": flows, "measured": measured, "programs": programs}[asked["does"]](asked, events)
    except _core.InputError as error:
        tell(events, {"refused": str(error)})
        return 2


def answer_signals(answer: Callable[[int, FrameType | None], None]) -> None:
    """Answers the signals that end a process, also those that came since it was started."""
    for number in signals.EXIT_CODES:
        signal.signal(number, answer)
    signals.let_through()


def captures_of(asked: Order) -> Files:
    """Returns the files of captures, each with its ports, as tuples again."""
    return [(file, [(name, node, port) for name, node, port in ports]) for file, ports in asked["captures"]]


def flows(asked: Order, events: TextIO) -> int:
    """Runs the scenario's own flows, and writes the tables of the run into the directory `place`."""
    from backwater import _core
    from backwater.runs import writer

    run, report = _core.lab_start(asked["scenario"], asked["divisor"], asked["logs"], apart(asked), captures_of(asked))
    answer_signals(lambda *_: run.cancel())
    answer(asked, report)
    if asked["realtime"]:
        # Processes of switches and NICs see to their own threads.
        own = realtime.THREADS if asked["processes"] is None else realtime.THREADS[1:]
        realtime.use(own, ended=lambda: run.wait(0))
    began = time.monotonic()
    while not run.wait(PROGRESS_S):
        tell(events, {"progress": run.progress()})
    seconds = time.monotonic() - began
    counts = report.counts()  # Raises what the system refused.
    outcome = run.outcome()  # Raises if we have a bug. Only then there are no counts.
    assert counts is not None
    writer.write_tables(Path(asked["place"]), json.loads(asked["scenario"]), outcome)
    tell(events, {"made": made_of(outcome, json.loads(counts), seconds)})
    return 0


def programs(asked: Order, events: TextIO) -> int:
    """Runs programs until they have ended, or for `for_s` seconds, and reports what the lab has counted."""
    lab = Lab(asked)
    tell(events, {"ready": lab.hosts})
    began = time.monotonic()
    until = math.inf if asked["for_s"] is None else began + asked["for_s"]
    with lab.running():
        while not lab.stopped and time.monotonic() < until:
            if (until == math.inf or lab.programs) and all(one.has_ended() for one in lab.programs):
                break
            time.sleep(POLL_S)
    seconds = time.monotonic() - began
    tell(events, {"counts": lab.counts, "programs": lab.ended(), "stopped": lab.stopped, "seconds": seconds})
    return 0


def measured(asked: Order, events: TextIO) -> int:
    """Runs programs for the time of the scenario, and writes the tables of the run into the directory `place`."""
    from backwater.runs import writer

    place, results = Path(asked["place"]), Path(asked["results"])
    lab = Lab(asked, measured=True)
    began = time.monotonic() - lab.lab.age()
    window = [began + asked[span] for span in ("warm_s", "run_s")]
    environment = {told.FROM: str(window[0]), told.UNTIL: str(window[1])}

    def of_program(number: int) -> dict[str, str]:
        return {**environment, told.RESULT: str(results / str(number))}

    said, counts = began, False
    with lab.running(of_program):
        while not lab.stopped and (now := time.monotonic()) < window[1] + PATIENCE_S:
            if now >= window[1] and all(one.has_ended() for one in lab.programs):
                break
            if any(one.failure() for one in lab.programs):
                break
            if not counts and now >= window[0]:
                counts = True
                lab.lab.count_lateness_anew()  # While programs start, they take the processors from the lab.
            if now - said >= PROGRESS_S:
                said, reached, end = now, now - began, asked["run_s"]
                network = [int(1e12 * span / asked["divisor"]) for span in (reached, end)]
                hops = json.loads(lab.lab.counts())["packet_hops"]
                tell(events, {"progress": {"now_ps": network[0], "end_ps": network[1], "packet_hops": hops}})
            time.sleep(POLL_S)
        # Those that run on are ended with the lab, which is no fault of theirs.
        failures = [one.failure() for one in lab.programs + lab.servers]
        complete = time.monotonic() >= window[1] and not lab.stopped
    rows: list[Ended] = []
    for number, (one, failure) in enumerate(zip(lab.ended(), failures, strict=True)):
        try:
            found = told.read(results / str(number))
        except (OSError, ValueError) as error:
            found, failure = [], failure or str(error)
        rows.append({**one, "failure": failure, "results": found})
    outcome = lab.lab.outcome(complete)
    writer.write_tables(place, json.loads(asked["scenario"]), outcome)
    made = made_of(outcome, lab.counts, time.monotonic() - began)
    tell(events, {"made": {**made, "programs": rows}})
    return 0


def made_of(outcome: _core.Outcome, counts: Counts, seconds: float) -> Made:
    """Returns what a run came to."""
    return {
        "digest": outcome.digest,
        "digests": outcome.digests(),
        "summary": outcome.summary(),
        "counts": counts,
        "seconds": seconds,
    }


def answer(asked: Order, lab: answers.Hosts) -> None:
    """Answers other commands at the lab's socket from now on."""
    about: About = {
        "name": json.loads(asked["scenario"])["name"],
        "divisor": asked["divisor"],
        "own_users": asked["own_users"],
    }
    answers.serve(asked["control"], lab, about)


def apart(asked: Order) -> _core.Apart | None:
    """Returns how switches run as processes, if they are to."""
    wanted = asked["processes"]
    if wanted is None:
        return None
    watchdog = wanted["watchdog"]
    return {
        "command": NODE,
        "realtime": asked["realtime"],
        "watchdog": None if watchdog is None else (watchdog[0], watchdog[1], watchdog[2]),
    }


def tell(events: TextIO, event: Event) -> None:
    events.write(json.dumps(event) + "\n")
    events.flush()


class Lab:
    """The hosts, the switches, and the programs that run on them."""

    def __init__(self, asked: Order, *, measured: bool = False) -> None:
        from backwater import _core

        self.asked = asked
        logs, dctcp = asked["logs"], asked["dctcp"]
        _core.lab_name_hosts(asked["scenario"])
        self.lab = _core.Lab(
            asked["scenario"], asked["divisor"], logs, measured, dctcp, apart(asked), captures_of(asked)
        )
        self.hosts = self.lab.hosts()
        self.congestion_control = self.lab.congestion_control()
        answer(asked, self.lab)
        if asked["realtime"] and asked["processes"] is None:
            realtime.use(realtime.THREADS[:1])
        self.servers: list[Program] = []
        self.programs: list[Program] = []
        self.counts: Counts
        """What was counted, when the lab has ended."""
        self.stopped = False

    @contextlib.contextmanager
    def running(self, environment: Callable[[int], dict[str, str]] = lambda _: {}) -> Iterator[None]:
        """Starts the programs, those that serve first, and ends them and the lab at the end. A signal sets `stopped`.

        `environment` has more variables for a program, by its number: those that serve come last.
        """
        answer_signals(self.stop)
        asked = self.asked
        try:
            first = len(asked["programs"])
            for number, one in enumerate(asked["servers"], start=first):
                self.servers.append(self.start(one, environment(number), serves=True))
            for number, one in enumerate(asked["programs"]):
                self.programs.append(self.start(one, environment(number), serves=False))
            yield
        finally:
            self.end(self.programs + self.servers)
            self.counts = json.loads(self.lab.stop())
            self.counts["congestion_control"] = self.congestion_control

    def ended(self) -> list[Ended]:
        return [one.to_json() for one in self.programs + self.servers]

    def stop(self, *_: object) -> None:
        self.stopped = True

    def start(self, one: ProgramOrder, environment: dict[str, str], *, serves: bool) -> Program:
        number = [name for name, _ in self.hosts].index(one["host"])
        if self.congestion_control is not None:
            environment = {**environment, told.CONGESTION: self.congestion_control}
        return Program(
            one["host"],
            one["argv"],
            lambda: self.lab.join(number),
            environment,
            serves=serves,
            stdout=self.asked["stdout"],
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
            if one.process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    one.process.wait(ENDING_S)


class Program:
    """A program on a host."""

    def __init__(
        self,
        host: str,
        argv: list[str],
        join: Callable[[], None],
        environment: dict[str, str],
        *,
        serves: bool,
        stdout: int | None,
    ) -> None:
        """Starts the program. One that serves is waited for until it has a socket."""
        self.host, self.argv, self.serves = host, argv, serves
        self.process: subprocess.Popen[bytes] | None = None
        self.failed: str | None = None

        words = [sys.executable, *argv[1:]] if argv[0] == PYTHON else argv

        def start() -> None:
            # A process belongs to the host that the thread which starts it has joined.
            try:
                join()
                before = sockets()
                self.process = subprocess.Popen(words, stdout=stdout, env={**os.environ, **environment})
            except OSError as error:
                self.failed = f"{error.filename or words[0]}: {error.strerror or error}"
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

    def failure(self) -> str | None:
        """Says how the program ended, if not as it should: with code 0 or, if it serves, with the lab.

        None while it runs.
        """
        if self.failed is not None:
            return f"did not start: {self.failed}"
        code = None if self.process is None else self.process.poll()
        if code is None or code == 0 or (self.serves and code in (-signal.SIGTERM, -signal.SIGKILL)):
            return None
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def to_json(self) -> Ended:
        return {
            "host": self.host,
            "command": self.argv,
            "serves": self.serves,
            "exit_code": None if self.process is None else self.process.poll(),
            "failed": self.failed,
            "failure": self.failure(),
        }


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
