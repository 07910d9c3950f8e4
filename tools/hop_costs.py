"""What a packet-hop costs, counted and not timed: `hop_costs.py BENCH FILE`.

Runs rows of the program `bench` under Valgrind's Cachegrind, each for two simulated times, and divides the difference
by the packet-hops between them. So the start of a run and its summary do not count. The same build gives the same
counts on any machine, but for the last digit. Writes the tables of docs/performance.md into FILE, between their marks.
BENCH needs line tables, as `make bench-costs` builds it.

The caches are those of one core: 32 KiB of first level and 1 MiB of second level, with lines of 64 B. Branches are
predicted by Cachegrind's own simple predictor, and a processor's is better.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROWS = {
    "128 hosts, Facebook, BFC": (0, "facebook/bfc", 0.4, 1.2),
    "128 hosts, Facebook, DCTCP": (1, "facebook/dctcp", 0.4, 1.2),
    "128 hosts, Facebook, FlowSail": (3, "facebook/flowsail", 0.4, 1.2),
    "128 hosts, Google and incast, BFC": (4, "google-incast/bfc", 0.4, 1.2),
    "1,024 hosts, Web Server and incast, BFC": (10, "web-server-1024/bfc", 0.1, 0.2),
}
"""Rows of the table: number and name of the row in `bench`, and two simulated times, ms."""
CACHES = ["--D1=32768,8,64", "--LL=1048576,16,64"]
EVENTS = {
    "instructions": ["Ir"],
    "reads and writes": ["Dr", "Dw"],
    "misses of the first cache": ["D1mr", "D1mw"],
    "of the second": ["DLmr", "DLmw"],
    "mispredicted branches": ["Bcm", "Bim"],
}
PARTS = {
    "event queues of nodes": r"engine/src/(tree|schedule|windows/)",
    "frames in flight": r"(engine/src/(node_by_node|link)|buffer/ring)\.rs",
    "routes": r"fabric/src/",
    "data plane": r"(dataplane|schemes)/src/",
    "switches and links around it": r"engine/src/(switch_node|partition|typed_partition|observe)|counters/src/",
    "hosts: NIC and transport": r"engine/src/host/|(nic|transport)/src/",
    "library: checks of indices, minima, copies": r"library/|/rustc/|^\?\?\?|glibc|malloc|sysdeps|string/",
}
"""Parts of the simulator by source files; the first that fits counts. What fits none is `the rest`."""
REST = "the rest"


@dataclass
class Counts:
    """Counts of one run, in all and by part."""

    hops: int
    all: Counter[str] = field(default_factory=Counter)
    parts: dict[str, Counter[str]] = field(default_factory=dict)

    def since(self, earlier: Counts) -> Counts:
        """Returns the counts per packet-hop beyond those of a shorter run."""
        hops = self.hops - earlier.hops

        def per_hop(now: Counter[str], before: Counter[str]) -> Counter[str]:
            return Counter({name: (now[name] - before[name]) / hops for name in EVENTS})  # type: ignore[dict-item]

        none: Counter[str] = Counter()
        parts = {part: per_hop(counts, earlier.parts.get(part, none)) for part, counts in self.parts.items()}
        return Counts(hops, per_hop(self.all, earlier.all), parts)


def main(bench: str, file: Path) -> None:
    if shutil.which("valgrind") is None:
        raise SystemExit("hop_costs: needs `valgrind`, which is not in PATH")
    found = {}
    for name, (number, row, short, long) in ROWS.items():
        print(f"{name}: {long:g} ms", flush=True)
        found[name] = counted(bench, number, row, long).since(counted(bench, number, row, short))
    text = file.read_text(encoding="utf-8")
    for mark, made in {"costs": whole(found), "parts": by_part(found)}.items():
        text = between(text, mark, made)
    file.write_text(text, encoding="utf-8")


def counted(bench: str, number: int, row: str, ms: float) -> Counts:
    """Counts one run of a row, which must have this name."""
    with tempfile.NamedTemporaryFile() as out:
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes", *CACHES]
        command += [f"--cachegrind-out-file={out.name}", bench, "--one", str(number), "--ms", str(ms)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        ran = json.loads(done.stdout)
        if (found := f"{ran['scenario']}/{ran['scheme']}") != row:
            raise SystemExit(f"hop_costs: row {number} of {bench} is {found}: expected {row}")
        return read(Path(out.name).read_text(encoding="utf-8"), ran["packet_hops"])


def read(text: str, hops: int) -> Counts:
    """Reads Cachegrind's file."""
    counts, part = Counts(hops), REST
    columns: dict[str, list[int]] = {}
    for line in text.splitlines():
        if line.startswith("events:"):
            names = line.split()[1:]
            columns = {event: [names.index(one) + 1 for one in ones] for event, ones in EVENTS.items()}
        elif line.startswith("fl="):
            part = part_of(line[3:])
        elif line[:1].isdigit():
            words = line.split()
            of_part = counts.parts.setdefault(part, Counter())
            for event, places in columns.items():
                n = sum(int(words[place]) for place in places)
                counts.all[event] += n
                of_part[event] += n
    return counts


def part_of(source: str) -> str:
    return next((part for part, pattern in PARTS.items() if re.search(pattern, source)), REST)


def whole(found: dict[str, Counts]) -> str:
    rows = [[name, *(shown(one.all[event]) for event in EVENTS)] for name, one in found.items()]
    return table(["per packet-hop", *EVENTS], rows)


def by_part(found: dict[str, Counts]) -> str:
    """Writes instructions and misses of the first cache for each part."""

    def cell(counts: Counter[str]) -> str:
        return f"{counts['instructions']:.0f}, {counts['misses of the first cache']:.2f}"

    rows = [[part, *(cell(one.parts.get(part, Counter())) for one in found.values())] for part in [*PARTS, REST]]
    return table(["instructions, misses", *found], rows)


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def shown(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2f}"


def between(text: str, mark: str, made: str) -> str:
    """Replaces what stands between the marks of a table."""
    pattern = rf"(<!-- {mark}: [^\n]*-->\n).*?(<!-- end -->)"
    replaced, n = re.subn(pattern, lambda found: f"{found[1]}{made}\n{found[2]}", text, flags=re.DOTALL)
    if n != 1:
        raise SystemExit(f"no mark '{mark}'")
    return replaced


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
