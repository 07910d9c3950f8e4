"""The lab in the place of a simulator: it makes a run with real packets, and returns the tables of a run.

The table `lateness` says how late frames were, and `programs` what programs have told.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import signal
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from backwater import _core
from backwater._core import InputError
from backwater.common import disk
from backwater.common.arrays import pa, pq
from backwater.lab.orders import Counts, Ended, Event, Lateness, Made, Order, Told, Ways, heard
from backwater.lab.outside import Options, pace, start, unfaithful
from backwater.lab.programs import Programs, needs_dctcp
from backwater.runs.summary import Lab, Summary
from backwater.runs.writer import Shipped

WHERE = re.compile(r"lab:([0-9]{1,6}(?:\.[0-9]{1,6})?)")
"""Form of `on` for the lab, with the rate of the fastest link in Mb/s."""
WRONG = ("altered", "reordered", "duplicated")
"""Faults of datagrams that arrive, as the lab counts them."""
PROGRAMS = pa.schema(
    [
        ("program", pa.uint32()),
        *((name, pa.string()) for name in ("host", "command", "about", "metric")),
        ("value", pa.float64()),
        ("text", pa.string()),
    ]
)
"""Columns of the table `programs`: a result is a number or a text."""
PLACES = "backwater-lab-"
"""How the directories begin in which runs are made."""
STDERR = 2
"""Where programs of a run print to."""


class LabRun:
    """A run in the lab, with the interface of a simulated one: of programs, or of the scenario's own flows.

    Hosts have the kernel's DCTCP only if the run's transport is DCTCP.
    """

    def __init__(self, scenario_json: str, rate_bps: float, programs: Programs | None, options: Options) -> None:
        self.pace = pace(scenario_json, rate_bps, own_flows=programs is None)
        remove_left()
        self.place, self.lock = locked_place()
        disk.scratches.add(self.place)
        self.tables = self.place / "tables"
        (self.place / "results").mkdir()
        self.tables.mkdir()
        order: Order = {
            "does": "flows",
            "scenario": scenario_json,
            "divisor": self.pace.divisor,
            "place": str(self.tables),
            **replace(options, dctcp=options.dctcp and needs_dctcp(json.loads(scenario_json))).to_json(),
        }
        if programs is not None:
            spans: Order = {"warm_s": self.pace.warm_s, "run_s": self.pace.run_s}
            results = str(self.place / "results")
            order |= {"does": "measured", "results": results, "stdout": STDERR, **spans, **programs.to_json()}
        self.process, reports = start(order)
        self.at: _core.Progress = {
            "now_ps": 0,
            "end_ps": 1,
            "packet_hops": 0,
            "flows_started": 0,
            "flows_finished": 0,
            "counted_left": 0,
            "state": "running",
        }
        self.said: Event = {}
        self.thread = threading.Thread(target=self.hear, args=(reports,), daemon=True)
        self.thread.start()

    def hear(self, reports: TextIO) -> None:
        """Reads what the lab's process says, until it ends."""
        with reports:
            for event in heard(reports):
                if "progress" in event:
                    self.at = {**self.at, **event["progress"]}
                else:
                    self.said = event
        self.process.wait()

    def wait(self, seconds: float) -> bool:
        self.thread.join(seconds)
        return not self.thread.is_alive()

    def progress(self) -> _core.Progress:
        return self.at

    def cancel(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def outcome(self) -> Shipped:
        """Returns the tables that the lab has written.

        # Errors
        `InputError` if this machine refuses a part of the lab, or a program failed.
        """
        try:
            if "refused" in self.said:
                raise InputError(f"the lab did not start: {self.said['refused']}")
            if "made" not in self.said:
                raise RuntimeError(f"the lab's process ended with code {self.process.returncode} and no result")
            made = self.said["made"]
            counts = made["counts"]
            if counts["unlogged"] is not None:
                raise InputError(counts["unlogged"])
            pq.write_table(lateness(counts), self.tables / "lateness.parquet")
            if "programs" in made:
                refuse_failed(made["programs"])
                pq.write_table(results(made["programs"]), self.tables / "programs.parquet")
            files = {path.name: path.read_bytes() for path in sorted(self.tables.iterdir())}
        finally:
            disk.forget(self.place)
            os.close(self.lock)
        return Shipped(made["digest"], made["digests"], json.dumps(self.summary(made)), files, made["seconds"])

    def summary(self, made: Made) -> Summary:
        """Returns the summary of the simulator's kind, with the part `lab`."""
        counts = made["counts"]
        why = unfaithful(counts, self.pace)
        late = [late for one in counts["hosts"] for late in (one["late_in"], one["late_out"])]
        part: Lab = {
            "faithful": why is None,
            "unfaithful_because": why or "",
            "divisor": self.pace.divisor,
            "hop_s": self.pace.hop_s,
            "late_p99_s": max(one["p99_s"] for one in late),
            "late_max_s": max(one["max_s"] for one in late),
        }
        summary: Summary = json.loads(made["summary"])
        if "programs" in made:
            summary["throughput"] = []  # The scenario's own flows were not sent.
        else:
            sent = counts["datagrams"]
            part |= {
                "datagrams_sent": sent["sent"],
                "datagrams_received": sent["received"],
                "datagrams_altered": sent["altered"],
                "datagrams_reordered": sent["reordered"],
                "datagrams_duplicated": sent["duplicated"],
            }
        return {**summary, "lab": part}


def locked_place() -> tuple[Path, int]:
    """Makes a directory for a run, with a lock on it. It has the name that others look for once it is locked."""
    made = Path(tempfile.mkdtemp(prefix=".backwater-"))
    lock = os.open(made, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return made.rename(made.with_name(made.name.replace(".backwater-", PLACES))), lock


def remove_left() -> None:
    """Removes directories of runs whose process was killed. That of a run that goes on is locked."""
    for path in Path(tempfile.gettempdir()).glob(f"{PLACES}*"):
        with contextlib.suppress(OSError):  # It belongs to another user, goes on, or is gone.
            left = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(left).st_uid == os.getuid():
                    disk.forget(path)
            finally:
                os.close(left)


def refuse_failed(programs: list[Ended]) -> None:
    """Refuses a run in which a program failed, with `InputError`."""
    for one in programs:
        if one["failure"] is not None:
            raise InputError(f"{one['host']}: {shlex.join(one['command'])}: {one['failure']}")


def results(programs: list[Ended]) -> pa.Table:
    """Returns what programs have told: a row for each result, and one for each program that told nothing."""
    nothing: Told = {"about": "", "metric": None, "value": None, "text": None}
    rows = [
        {"program": number, "host": one["host"], "command": shlex.join(one["command"]), **found}
        for number, one in enumerate(programs)
        for found in one["results"] or [nothing]
    ]
    return pa.Table.from_pylist(rows, PROGRAMS)


def lateness(counts: Counts) -> pa.Table:
    """Returns how late frames were, in seconds: a row for each host and direction, and one for our own sender.

    Where switches are processes, both ends of each link between them have rows too.
    """
    rows = [
        {"host": one["host"], "direction": way, "frames": frames, **late}
        for one in counts["hosts"]
        for way, frames, late in ways(one)
    ]
    rows += [
        {"host": one["node"], "direction": f"{way}, link with {one['peer']}", "frames": frames, **late}
        for one in counts["links"]
        for way, frames, late in ways(one)
    ]
    if sent := counts.get("datagrams"):
        rows.append({"host": "", "direction": "sender", "frames": sent["sent"], **sent["late"]})
    return pa.Table.from_pylist(rows)


def ways(one: Ways) -> list[tuple[str, int, Lateness]]:
    """Returns both directions: their names, frames and lateness."""
    return [("in", one["frames_in"], one["late_in"]), ("out", one["frames_out"], one["late_out"])]


class Machine:
    """The lab as the place where runs are made, one at a time."""

    slots = 1

    def __init__(self, rate_bps: float, programs: Programs | None = None, options: Options | None = None) -> None:
        self.rate_bps, self.programs, self.options = rate_bps, programs, options or Options()

    def start(self, scenario_json: str) -> LabRun:
        return LabRun(scenario_json, self.rate_bps, self.programs, self.options)


def machine_of(where: str) -> Machine | None:
    """Returns the lab that `lab:MBPS` names; None for any other place."""
    found = WHERE.fullmatch(where)
    return Machine(float(found[1]) * 1e6) if found else None
