"""The tables of docs/lab.md that compare real packets with the simulator: `make lab-tables`.

python tools/lab_tables.py run DIR        makes the runs into DIR: real at 20 and 100 Mb/s, and simulated
python tools/lab_tables.py write DIR FILE writes the tables of these runs into FILE, between their marks

Runs that are there are not made again. Where a run was not faithful, its experiment is made once more, and the run that
is faithful stands for it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from backwater import Results, Run
from backwater.cli.exits import FAILED
from backwater.common import disk
from backwater.common.quantities import count, percent, span
from backwater.show import programs

FIGURES = {
    "bfc-fig7": ["--scale", "smoke", "--seeds", "1"],
    "bfc-fig8": ["--scale", "smoke", "--seeds", "1"],
    "flowsail-fig9": ["--scale", "smoke"],
    "flowsail-fig10": ["--scale", "smoke"],
}
"""The papers' testbed figures, and how they are run."""
INCAST = "lab-incast"
RATES = (20, 100)
"""Rates of the fastest link, Mb/s."""
AGAIN = ".again"
LATE = "*"
"""Stands after a value of a run that was not faithful."""
CLOSE = 0.05
"""Difference of throughput that counts as none."""
PAUSES = ("bfc_pauses", "flow_pauses", "pfc_pauses")


def run(place: Path) -> None:
    """Makes every run that is not there."""
    place.mkdir(parents=True, exist_ok=True)
    priority = ["--realtime"] if os.geteuid() == 0 else []
    for name, words in FIGURES.items():
        make("run", name, words, place / "simulated" / name)
    dctcp = ["--dctcp"] if priority else []
    for name, words in {**FIGURES, INCAST: dctcp}.items():
        for rate in RATES:
            out = place / str(rate) / name
            options = [*words, *priority, "--rate", str(rate)]
            make("lab", name, options, out)
            if not all(is_faithful(one) for one in Results(out).runs):
                make("lab", name, options, out.with_name(name + AGAIN))


def make(command: str, name: str, words: list[str], out: Path) -> None:
    """Makes a run directory, or what is missing of it."""
    if out.exists() and not Results(out).interrupted:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    called = [sys.executable, "-m", "backwater", command, name, *words, "--out", str(out)]
    print(" ".join(called[2:]), flush=True)
    if subprocess.run(called, check=False).returncode not in (0, FAILED):  # A claim may fail at this scale.
        raise SystemExit(1)


def is_faithful(one: Run) -> bool:
    return bool(one.summary.get("lab", {"faithful": True})["faithful"])


def runs(place: Path, name: str) -> dict[str, Run]:
    """Returns the runs of an experiment by label: of two, the faithful one."""
    found = {one.label: one for one in Results(place / name).runs}
    if (again := place / (name + AGAIN)).exists():
        found |= {one.label: one for one in Results(again).runs if not is_faithful(found[one.label])}
    return found


def throughput(one: Run) -> dict[str, float]:
    """Returns the mean throughput of the flows of each class, bits per second."""
    rates = {row["class"]: row["goodput_bps"] for row in one.summary["throughput"]}
    finite: dict[str, list[float]] = {}
    for flow in one.table("flows", ["class", "size_bytes", "arrival_ps", "finish_rx_ps"]).to_pylist():
        if flow["size_bytes"] is not None and flow["finish_rx_ps"] is not None:
            seconds = (flow["finish_rx_ps"] - flow["arrival_ps"]) * 1e-12
            finite.setdefault(flow["class"], []).append(8 * flow["size_bytes"] / seconds)
    return rates | {name: fmean(values) for name, values in finite.items()}


def difference(real: Run, simulated: Run) -> float:
    """Returns the largest difference of a class's throughput from the simulated one, as a share of that."""
    expected = throughput(simulated)
    off = [value / expected[name] - 1 for name, value in throughput(real).items() if expected[name] > 0]
    return max(off, key=abs)


def told(real: Run, simulated: Run) -> str:
    """Writes the difference of throughput, or how many flows lost datagrams for ever."""
    flows = real.summary["flows"]
    mark = "" if is_faithful(real) else LATE
    if flows["unfinished"]:
        return f"{flows['unfinished']} of {flows['counted']} flows cut{mark}"
    return f"{100 * difference(real, simulated):+.1f} %{mark}"


def pauses(one: Run) -> int:
    return sum(one.summary["pause"][key] for key in PAUSES)


def kilobytes(one: Run) -> str:
    """Writes the mean queue of a flow, if the run measures that, else the mean of what a switch holds."""
    queues = one.table("data_queues", ["queued_bytes"])["queued_bytes"].to_pylist()
    mean = (fmean(queues) if queues else one.summary["buffer"]["mean_bytes"]) / 1e3
    return f"{mean:,.0f}" if mean >= 1000 else f"{mean:.3g}"


def figures(place: Path) -> Iterator[str]:
    """Yields the lines of the table of figures: a row for each run."""
    both = ", ".join(map(str, RATES))
    heads = ["run", f"throughput at {both} Mb/s", f"pauses: simulated, {both}", f"mean queue in KB: simulated, {both}"]
    yield from head(heads)
    for name in FIGURES:
        simulated = runs(place / "simulated", name)
        real = [runs(place / str(rate), name) for rate in RATES]
        for label, expected in simulated.items():
            found = [one[label] for one in real]
            all_three = [expected, *found]
            yield row(
                [
                    f"{name}, {label}",
                    ", ".join(told(one, expected) for one in found),
                    ", ".join(f"{pauses(one):,}" for one in all_three),
                    ", ".join(kilobytes(one) for one in all_three),
                ]
            )


INCAST_ROWS: dict[str, tuple[str, int]] = {
    "goodput": ("goodput_bps", 1),
    "of each sender": ("goodput_bps", 9),
    "fairness": ("fairness", 1),
    "ping: median": ("rtt_p50_s", 1),
    "p99": ("rtt_p99_s", 1),
    "longest": ("rtt_max_s", 1),
}
"""Columns of the incast: the metric of a program, and how many values it has."""


def incast(place: Path) -> Iterator[str]:
    """Yields the lines of the table of the incast: a row for each run."""
    yield from head(["scheme, Mb/s", *INCAST_ROWS, "dropped", "pauses", "lateness: p99", "longest"])
    for rate in reversed(RATES):
        for label, one in runs(place / str(rate), INCAST).items():
            results = list(programs.results(one).values())
            lab = one.summary["lab"]
            yield row(
                [
                    f"{label}, {rate}" + ("" if is_faithful(one) else LATE),
                    *(
                        next(
                            programs.between(metric, values)
                            for name, values in results
                            if (name, len(values)) == wanted
                        )
                        for metric, wanted in ((wanted[0], wanted) for wanted in INCAST_ROWS.values())
                    ),
                    count(sum(one.summary["drops"].values())),
                    f"{pauses(one):,}",
                    span(lab["late_p99_s"]),
                    span(lab["late_max_s"]),
                ]
            )


def head(names: list[str]) -> Iterator[str]:
    yield row(names)
    yield "|---" * len(names) + "|"


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def faithful(place: Path) -> Iterator[str]:
    """Yields a sentence that counts the faithful runs of each rate."""
    words = []
    for rate in RATES:
        found = [one for name in FIGURES for one in runs(place / str(rate), name).values()]
        on_time = sum(map(is_faithful, found))
        words.append(f"{on_time} of {len(found)} runs at {rate} Mb/s")
    yield f"Faithful were {' and '.join(words)}. A star marks the others. {within(place)}"


def within(place: Path) -> str:
    """Says in how many runs the real throughput was within 5 % of the simulated one."""
    words = []
    for rate in RATES:
        pairs = [
            (one, runs(place / "simulated", name)[label])
            for name in FIGURES
            for label, one in runs(place / str(rate), name).items()
        ]
        whole = [pair for pair in pairs if not pair[0].summary["flows"]["unfinished"]]
        close = sum(abs(difference(*pair)) <= CLOSE for pair in whole)
        words.append(f"{close} of {len(pairs)} runs at {rate} Mb/s")
    return f"Throughput was within {percent(CLOSE)} of the simulated one in {' and '.join(words)}."


TABLES: dict[str, Callable[[Path], Iterator[str]]] = {"figures": figures, "faithful": faithful, "incast": incast}


def write(place: Path, document: Path) -> None:
    """Writes each table into a document, between `<!-- NAME: made by make lab-tables -->` and `<!-- end -->`."""
    text = document.read_text(encoding="utf-8")
    for name, lines in TABLES.items():
        mark = f"<!-- {name}: made by make lab-tables -->"
        if text.count(mark) != 1:
            raise SystemExit(f"{document}: expected {mark} once")
        made = "\n".join([mark, *lines(place), "<!-- end -->"])
        text = re.sub(re.escape(mark) + r".*?<!-- end -->", lambda _, made=made: made, text, flags=re.DOTALL)  # type: ignore[misc]
    disk.write_whole(document, text)


def main() -> None:
    words: list[Any] = sys.argv[1:]
    match words:
        case ["run", place]:
            run(Path(place))
        case ["write", place, document]:
            write(Path(place), Path(document))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
