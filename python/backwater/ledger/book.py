"""The ledger of claims: the verdict on each, stored as data.

`backwater reproduce ID --ledger FILE` replaces the rows of the experiments it ran, at the scale it ran them, and leaves
the others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Required, TypedDict, cast

from backwater._core import InputError
from backwater.common import disk
from backwater.ledger.simulator import this
from backwater.runs.verdicts import Claim
from backwater.scenario import experiments
from backwater.show.results import Results

FORMAT = 2
LEDGER = "ledger.json"
OWN = "own-"
"""Claims of ours, not of a paper, begin so."""
SCALES = ("smoke", "quick", "paper")
"""Smallest first."""


class Verdict(TypedDict):
    """An earlier verdict of a claim, which was followed by another."""

    verdict: str
    measured: str
    scale: str
    version: str
    commit: str | None


class Row(Claim, total=False):
    """A judged claim with its experiment, and what made the runs."""

    experiment: Required[str]
    seeds: list[int]
    hops_per_seed: int
    scale: str
    command: str
    version: str
    commit: str | None
    simulation: Required[str]
    history: list[Verdict]


class Ledger(TypedDict):
    """The rows of a ledger, and the runs of each simulator that made one."""

    simulations: dict[str, dict[str, str]]
    rows: list[Row]


def rows(experiment: str, results: Results, command: str) -> list[Row]:
    """Returns a row for each claim of an experiment that this command ran."""
    seeds = sorted({run.scenario["seed"] for run in results.runs})
    hops = sum(run.summary.get("packet_hops", 0) for run in results.runs) // max(len(seeds), 1)
    made = results.manifest
    return [
        {
            **row,
            "experiment": experiment,
            "seeds": seeds,
            "hops_per_seed": hops,
            "scale": made.scale,
            "command": command,
            "version": made.version,
            "commit": made.commit,
            "simulation": this().identity,
        }
        for row in results.claims
    ]


def outdated(path: Path) -> set[str]:
    """Returns the experiments of a ledger whose rows a simulator with other results made.

    A run that was added to the smoke experiments later changes no result.
    """
    ledger, now = parsed(path), this().runs
    same = {name for name, runs in ledger["simulations"].items() if runs.items() <= now.items()}
    return {row["experiment"] for row in ledger["rows"] if row["simulation"] not in same}


def read(path: Path) -> list[Row]:
    """Reads the rows of a ledger. There are none if the file does not exist.

    # Errors
    `InputError` where the file is not a ledger.
    """
    return parsed(path)["rows"]


def parsed(path: Path) -> Ledger:
    """Reads a ledger: its `rows`, and under `simulations`, by identity, the runs of each simulator that made a row."""
    if not path.exists():
        return {"simulations": {}, "rows": []}
    try:
        ledger = json.loads(path.read_text(encoding="utf-8"))
        if ledger["format"] != FORMAT:
            raise InputError(f"{path}: format {ledger['format']}: expected {FORMAT}")
        rows = cast(list[Row], [dict(row) for row in ledger["rows"]])
        return {"simulations": dict(ledger["simulations"]), "rows": rows}
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as a ledger: {error}: expected a file that --ledger wrote") from error
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: not a ledger: expected a file that --ledger wrote") from error


def at_largest(listed: list[Row]) -> list[Row]:
    """Returns one row for each claim, the one that counts: of the largest scale at which it was judged."""
    largest: dict[str, Row] = {}
    for row in sorted(listed, key=lambda row: (row["verdict"] != "not-run", size(row))):
        largest[row["claim"]] = row
    return [row for row in listed if row is largest[row["claim"]]]


def size(row: Row) -> int:
    """Returns the place of a row's scale among all scales."""
    return SCALES.index(row["scale"]) if row["scale"] in SCALES else 0


def merge(path: Path, new: list[Row]) -> None:
    """Replaces the rows of these experiments at these scales, in the order of papers, figures and scales."""
    old = parsed(path)
    again = {(row["experiment"], row["scale"]) for row in new}
    kept = [row for row in old["rows"] if (row["experiment"], row["scale"]) not in again]
    before = {(row["claim"], row["scale"]): row for row in old["rows"]}
    new = [{**row, "history": history(before.get((row["claim"], row["scale"])), row)} for row in new]
    order = {name: i for i, name in enumerate(in_order())}
    merged = sorted(kept + new, key=lambda row: (order.get(row["experiment"], len(order)), size(row)))
    used = {row["simulation"] for row in merged}
    simulations = {name: runs for name, runs in old["simulations"].items() if name in used}
    if new:
        simulations[this().identity] = this().runs
    text = json.dumps({"format": FORMAT, "simulations": simulations, "rows": merged}, indent=1, ensure_ascii=False)
    with disk.errors(path):
        disk.write_whole(path, text + "\n")


def history(before: Row | None, now: Row) -> list[Verdict]:
    """Returns the earlier verdicts of a claim at a scale, oldest first: those that were followed by another one."""
    if before is None:
        return []
    earlier = before.get("history", [])
    if before["verdict"] == now["verdict"]:
        return earlier
    last: Verdict = {
        "verdict": before["verdict"],
        "measured": before["measured"],
        "scale": before["scale"],
        "version": before["version"],
        "commit": before["commit"],
    }
    return [*earlier, last]


def in_order() -> list[str]:
    """Returns the experiments by paper, then by figure."""
    papers = {paper: i for i, paper in enumerate(experiments.PAPERS)}
    known = experiments.known()
    return sorted(known, key=lambda name: papers.get(known[name].parent.name, len(papers)))
