"""The lab in the place of a simulator: it makes a run with real packets, and returns the tables of a run."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backwater import _core
from backwater._core import InputError
from backwater.lab.outside import pace, unfaithful
from backwater.writer import Shipped

WHERE = re.compile(r"lab:([0-9]{1,6}(?:\.[0-9]{1,6})?)")
"""Form of `on` for the lab, with the rate of the fastest link in Mb/s."""


class LabRun:
    """A run in the lab, with the interface of a simulated one."""

    def __init__(self, scenario_json: str, rate_bps: float) -> None:
        self.pace = pace(scenario_json, rate_bps)
        self.place = Path(tempfile.mkdtemp(prefix="backwater-"))
        order_read, order_write = os.pipe()
        report_read, report_write = os.pipe()
        arguments = [sys.executable, "-m", "backwater.lab.inside", str(order_read), str(report_write)]
        self.process = subprocess.Popen(arguments, pass_fds=(order_read, report_write))
        os.close(order_read)
        os.close(report_write)
        with os.fdopen(order_write, "w") as order:
            asked = {"scenario": scenario_json, "divisor": self.pace.divisor, "place": str(self.place)}
            order.write(json.dumps(asked) + "\n")
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
        self.thread = threading.Thread(target=self.hear, args=(report_read,), daemon=True)
        self.thread.start()

    def hear(self, reports: int) -> None:
        with os.fdopen(reports) as lines:
            for line in lines:
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
            shutil.rmtree(self.place, ignore_errors=True)
        why = unfaithful(counts, self.pace)
        summary = json.loads(made["summary"])
        sent = counts["datagrams"]
        summary["lab"] = {
            "faithful": why is None,
            "unfaithful_because": why or "",
            "divisor": self.pace.divisor,
            "hop_s": self.pace.hop_s,
            **{f"datagrams_{name}": sent[name] for name in ("sent", "received", "altered", "reordered")},
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
