"""The table of docs/fidelity.md: the effect of each convention of HPCC's simulator, for each of its schemes.

`python -m backwater.hpcc.conventions FIDELITY PARAMETERS` prints it, from run directories of
experiments/fidelity/conventions.toml and parameters.toml.
"""

from __future__ import annotations

import sys
from pathlib import Path

from backwater._core import InputError
from backwater.hpcc import comparison, fct
from backwater.runs.directory import RunDirectory

SCHEMES = {"dctcp": "DCTCP", "dcqcn-vendor": "DCQCN", "timely": "TIMELY", "hpcc": "HPCC", "hpcc-pint": "HPCC-PINT"}
PROFILE = "hpcc-sim"
ROWS = (
    ("ties", "ties", PROFILE),
    ("time (with random ties in both)", "time", "ties"),
    ("hosts (with random ties in both)", "hosts", "ties"),
    ("memory (with random ties in both)", "memory", "ties"),
    ("paths", "paths", PROFILE),
    ("acks and ack_class", "acks", PROFILE),
    ("pfc_frame", "frames", PROFILE),
    ("buffer", "buffer", PROFILE),
    ("window", "{scheme} window", PROFILE),
    ("parameters and host.ack", "{scheme}", PROFILE),
    ("**all of them: the default**", "backwater", PROFILE),
)
"""What is as in the default, the variant that has it so, and the one it is held against."""


def table(conventions: Path, parameters: Path) -> list[str]:
    """Returns the lines of the Markdown table."""
    places = {}
    for results in (RunDirectory(conventions), RunDirectory(parameters)):
        results.verify()
        for run in results.runs:
            swept = run.params["variant"], run.params.get("scheme", run.scheme)
            places[swept] = run.path
    lines = [f"| as in the default | {' | '.join(SCHEMES.values())} |", "|---" * (1 + len(SCHEMES)) + "|"]
    for name, variant, base in ROWS:
        cells = [
            cell(places.get((base, scheme)), places.get((variant.format(scheme=scheme), scheme))) for scheme in SCHEMES
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def cell(profile: Path | None, changed: Path | None) -> str:
    """Writes a cell, in percent: the median change of a flow, of the median slowdown up to 1 KB, and of its p99."""
    if profile is None or changed is None:
        return "the same"
    done = comparison.compare(fct.open_any(profile), fct.open_any(changed))
    smallest = done.bins[0]
    apart = [smallest.difference(statistic) for statistic in ("p50", "p99")]
    slowdowns = ["-" if difference is None else percent(difference[0], signed=True) for difference in apart]
    return ", ".join([percent(done.statistics()["median_abs"]), *slowdowns])


def percent(share: float, *, signed: bool = False) -> str:
    """Writes a percentage with two digits, or with one decimal place."""
    value = 100 * share
    shown = f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.1f}"
    if float(shown) == 0:
        return "0.0"
    return f"+{shown}" if signed and value > 0 else shown


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: python -m backwater.hpcc.conventions FIDELITY PARAMETERS")
    try:
        print("\n".join(table(Path(sys.argv[1]), Path(sys.argv[2]))))
    except InputError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
