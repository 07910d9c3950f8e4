"""DCTCP over TCP in ns-3 and here, on the same flows: `ns3_peer.py WORK`.

Compiles `tools/ns3/dctcp.cc` against ns-3 3.37 (Debian's package libns3-dev) into WORK. For each seed it exports the
flows of `tools/ns3/dctcp.toml`, then runs both simulators in turn, each on one thread. Speed is packet-hops over the
seconds of simulating; set-up and writing do not count on either side. Then ns-3 runs once more with packets that are
marked as they leave, as they are here. Writes docs/assets/figures/ns3.json, which `make figures` draws, and the tables
of docs/ns3.md.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from backwater import Experiment
from figures import ROOT, write
from hop_costs import between, table

SCENARIO = ROOT / "tools" / "ns3" / "dctcp.toml"
PROGRAM = ROOT / "tools" / "ns3" / "dctcp.cc"
PAGE = ROOT / "docs" / "ns3.md"
MODULES = ("core", "network", "internet", "point-to-point", "traffic-control")
SIMULATORS = ("ns-3", "ns-3, marks at departure", "Backwater")
SEEDS = (1, 2, 3)
ROUNDS = 5
"""Runs here for one of ns-3, which takes longer than all of them."""
BINS = {"up to 1 KB": 1e3, "1 to 10 KB": 1e4, "10 to 100 KB": 1e5, "100 KB to 1 MB": 1e6, "above 1 MB": np.inf}
"""Names of the classes of flow sizes, and their largest sizes, B."""


def main(work: Path) -> None:
    work.mkdir(parents=True, exist_ok=True)
    program = compiled(work)
    rounds = []
    times: dict[str, list[np.ndarray]] = {name: [] for name in SIMULATORS}
    for seed in SEEDS:
        print(f"seed {seed}", flush=True)
        arrival, there = run_there(program, work, seed, "arrival")
        ours, here = run_here(work, seed)
        departure, _ = run_there(program, work, seed, "departure")
        for name, flows in zip(SIMULATORS, (arrival, departure, ours), strict=True):
            times[name].append(flows)
        rounds.append({"seed": seed, "flows": len(ours), "ns-3": there, "Backwater": here})
        print(json.dumps(rounds[-1]), flush=True)
    rows = rows_of({name: np.concatenate(flows) for name, flows in times.items()})
    write("ns3", {"rounds": rounds, "rows": list(rows)})
    PAGE.write_text(page_of(PAGE.read_text(encoding="utf-8"), rounds, rows), encoding="utf-8")


def compiled(work: Path) -> Path:
    """Compiles the program for ns-3."""
    if shutil.which("g++") is None or not Path("/usr/include/ns3/core-module.h").exists():
        raise SystemExit("ns3_peer: needs g++ and ns-3 3.37: `apt-get install g++ libns3-dev` on Debian 12")
    program = work / "dctcp"
    libraries = [f"-lns3-{module}" for module in MODULES]
    subprocess.run(["g++", "-std=c++17", "-O3", str(PROGRAM), "-o", str(program), *libraries], check=True)
    return program


def run_there(program: Path, work: Path, seed: int, marks: str) -> tuple[np.ndarray, dict[str, float]]:
    """Runs a seed in ns-3, with packets that are marked at `arrival` at a queue, or at `departure` from it.

    Returns `[flow]` (bytes, completion time in us), and what the speed follows from.
    """
    files, times = work / f"seed-{seed}", work / f"times-{seed}-{marks}.csv"
    command = [sys.executable, "-P", "-m", "backwater", "export", "hpcc", str(SCENARIO), str(files), "--force", "-q"]
    # The export knows no TCP. The flows do not depend on the scheme.
    subprocess.run([*command, "--set", f"seed={seed}", "--set", "scheme=dctcp"], check=True, stdout=subprocess.DEVNULL)
    threshold = tomllib.loads(SCENARIO.read_text(encoding="utf-8"))["switch"]["ecn"]["kmin"].removesuffix(" B")
    command = [str(program), str(files / "topology.txt"), str(files / "flow.txt"), threshold, marks, str(times)]
    done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    with times.open(encoding="utf-8") as file:
        rows = [
            (int(row["bytes"]), 1e6 * (float(row["end_s"]) - float(row["start_s"]))) for row in csv.DictReader(file)
        ]
    if done["finished"] != len(rows):
        raise SystemExit(f"ns3_peer: {done['finished']} of {len(rows)} flows finished in ns-3")
    return np.array(rows), {"packet_hops": done["packet_hops"], "seconds": done["seconds"]}


def run_here(work: Path, seed: int) -> tuple[np.ndarray, dict[str, float]]:
    """Runs the same seed here, [`ROUNDS`] times. Returns the same; seconds are the median."""
    seconds = []
    for _ in range(ROUNDS):
        results = Experiment(SCENARIO, seed=seed).run(work / f"run-{seed}", threads=1, force=True)
        (run,) = results.timing["runs"]
        seconds.append(run["wall_s"])
    flows = results.flows(columns=["size_bytes", "arrival_ps", "finish_rx_ps"])
    taken = (flows["finish_rx_ps"].to_numpy() - flows["arrival_ps"].to_numpy()) / 1e6
    measured = {"packet_hops": run["packet_hops"], "seconds": median(seconds)}
    return np.column_stack([flows["size_bytes"].to_numpy(), taken]), measured


def rows_of(times: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Mean, median and p99 of completion times, by simulator and class of sizes."""
    rows = []
    for simulator, flows in times.items():
        lowest = 0.0
        for name, highest in BINS.items():
            taken = flows[(flows[:, 0] > lowest) & (flows[:, 0] <= highest), 1]
            lowest = highest
            values = {"mean": taken.mean(), "p50": np.median(taken), "p99": np.percentile(taken, 99)}
            told = {key: round(float(value), 1) for key, value in values.items()}
            rows.append({"simulator": simulator, "sizes": name, "flows": len(taken), **told})
    return rows


def page_of(text: str, rounds: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    """Returns the page with these tables."""
    return between(between(text, "times", times_table(rows)), "speed", speed_table(rounds))


def times_table(rows: list[dict[str, Any]]) -> str:
    """Writes a row for each class of sizes. A cell has the values of [`SIMULATORS`], in this order."""
    lines = []
    for name in BINS:
        every = [next(row for row in rows if (row["simulator"], row["sizes"]) == (one, name)) for one in SIMULATORS]
        cells = [", ".join(f"{row[key]:.1f}" for row in every) for key in ("mean", "p50", "p99")]
        lines.append([name, f"{every[0]['flows']:,}", *cells])
    return table(["flows", "number", "mean, us", "median, us", "p99, us"], lines)


def speed_table(rounds: list[dict[str, Any]]) -> str:
    lines = []
    for one in rounds:
        there, here = (one[name]["packet_hops"] / one[name]["seconds"] / 1e6 for name in ("ns-3", "Backwater"))
        hops = f"{one['ns-3']['packet_hops'] / 1e6:.2f}, {one['Backwater']['packet_hops'] / 1e6:.2f} M"
        lines.append([str(one["seed"]), hops, f"{there:.3f} M", f"{here:.2f} M", f"{here / there:.0f}"])
    return table(["seed", "packet-hops: ns-3, Backwater", "per second, ns-3", "Backwater", "ratio"], lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
