"""The lab in the place of a simulator: it makes a run with real packets, and returns the tables of a run."""

from __future__ import annotations

import json
import re
import signal
import tempfile
import threading
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from backwater import _core, disk
from backwater._core import InputError
from backwater.lab.outside import pace, start, unfaithful
from backwater.writer import Shipped

WHERE = re.compile(r"lab:([0-9]{1,6}(?:\.[0-9]{1,6})?)")
"""Form of `on` for the lab, with the rate of the fastest link in Mb/s."""


WRONG = ("altered", "reordered", "duplicated")
"""What may go wrong with a datagram that arrives, as the lab counts it."""


class LabRun:
    """A run in the lab, with the interface of a simulated one."""

    def __init__(self, scenario_json: str, rate_bps: float) -> None:
        self.pace = pace(scenario_json, rate_bps, own_flows=True)
        self.place = Path(tempfile.mkdtemp(prefix="backwater-"))
        disk.scratches.add(self.place)
        order = {"scenario": scenario_json, "divisor": self.pace.divisor, "place": str(self.place)}
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
        self.said: dict[str, Any] = {}
        self.thread = threading.Thread(target=self.hear, args=(reports,), daemon=True)
        self.thread.start()

    def hear(self, reports: TextIO) -> None:
        """Reads what the lab's process says, until it ends."""
        with reports:
            for line in reports:
                event = json.loads(line)
                if "progress" in event:
                    self.at = event["progress"]
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
        `InputError` if this machine refuses a part of the lab.
        """
        try:
            if "refused" in self.said:
                raise InputError(f"the lab did not start: {self.said['refused']}")
            if "made" not in self.said:
                raise RuntimeError(f"the lab's process ended with code {self.process.returncode} and no result")
            made = self.said["made"]
            counts = made["counts"]
            pq.write_table(lateness(counts), self.place / "lateness.parquet")
            files = {path.name: path.read_bytes() for path in sorted(self.place.iterdir())}
        finally:
            disk.forget(self.place)
        why = unfaithful(counts, self.pace)
        summary = json.loads(made["summary"])
        sent = counts["datagrams"]
        summary["lab"] = {
            "faithful": why is None,
            "unfaithful_because": why or "",
            "divisor": self.pace.divisor,
            "hop_s": self.pace.hop_s,
            **{f"datagrams_{name}": sent[name] for name in ("sent", "received", *WRONG)},
        }
        return Shipped(made["digest"], made["digests"], json.dumps(summary), files, made["seconds"])


def lateness(counts: dict[str, Any]) -> pa.Table:
    """Returns how late frames were, in seconds: a row for each host and direction, and one for the sender."""
    rows = [
        {"host": one["host"], "direction": way, "frames": one[f"frames_{way}"], **one[f"late_{way}"]}
        for one in counts["hosts"]
        for way in ("in", "out")
    ]
    sent = counts["datagrams"]
    rows.append({"host": "", "direction": "sender", "frames": sent["sent"], **sent["late"]})
    return pa.Table.from_pylist(rows)


class Machine:
    """The lab as the place where runs are made, one at a time."""

    slots = 1

    def __init__(self, rate_bps: float) -> None:
        self.rate_bps = rate_bps

    def start(self, scenario_json: str) -> LabRun:
        return LabRun(scenario_json, self.rate_bps)


def machine_of(where: str) -> Machine | None:
    """Returns the lab that `lab:MBPS` names; None for any other place."""
    found = WHERE.fullmatch(where)
    return Machine(float(found[1]) * 1e6) if found else None
