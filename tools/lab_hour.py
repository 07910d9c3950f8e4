"""Ordinary load across processes for a long time, with watchdogs that must stay silent: `lab_hour.py SECONDS`.

Nine TCP senders share one port, under BFC, FlowSail and PFC in turn, each for a third of the time. Prints the alarms of
all watchdogs. The exit code is 1 if there was one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCENARIO = Path(__file__).parents[1] / "experiments" / "lab" / "incast.toml"
WATCHDOG = "2ms:drop"
"""Twenty times the time in which a full buffer of the scenario drains. At 100 Mb/s it is two seconds."""


def alarms(scheme: str, seconds: float) -> int:
    """Runs the load under a scheme, and returns the number of alarms."""
    command = [sys.executable, "-m", "backwater", "lab", str(SCENARIO), "--run", scheme, "--rate", "100"]
    tcp = f"python -m backwater.lab.tcp --seconds {seconds:g}"
    command += ["--exec", f"host9 {tcp} receive", "--exec", f"host0..host8 {tcp} send host9"]
    command += ["--processes", "--watchdog", WATCHDOG, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    found = json.loads(done.stdout)
    count = sum(one["watchdog"]["alarms"] for one in found["links"])
    print(f"{scheme}: {found['packet_hops']:,} packet-hops in {found['seconds']:.0f} s, {count} alarms")
    return count


def main() -> int:
    schemes = ("BFC", "FlowSail", "PFC")
    return 1 if sum(alarms(scheme, float(sys.argv[1]) / len(schemes)) for scheme in schemes) else 0


if __name__ == "__main__":
    sys.exit(main())
