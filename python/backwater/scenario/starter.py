"""Writes a first scenario: a small network, schemes to compare, and traffic, with a comment at each key.

The file is short, so that it can be read and changed. It is checked before it is written, and its length is set by the
estimate of what a run takes.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from backwater import _core
from backwater._core import InputError
from backwater.common import disk, suggest
from backwater.scenario.toml_text import toml_value

FILE = "scenario.toml"
FLOWS = 200_000
"""Flows of a run, if they are short. The realised load then differs from `load` by about 5 % with Google's sizes."""
FLOWS_FEW = 300
"""With fewer flows a tail means little."""
HOPS = 30e6
"""Packets times links of a run, at most: a few seconds."""
SHORTEST_US = 100
"""Many round trips."""
SEEDS = 3
"""As few as have an interval."""
COLUMN = 34
"""Comments begin here."""

Keys = list[tuple[str, str | int | list[str], str]]
"""Key, value and comment."""
TIERS: Keys = [
    ("host_rate", "100 Gbps", "of each link of a host"),
    ("core_rate", "100 Gbps", "of each link between switches"),
    ("host_delay", "1 us", "propagation delay of each link of a host"),
    ("core_delay", "1 us", "propagation delay of each link between switches"),
]


def leaf_spine() -> list[str]:
    keys: Keys = [
        ("kind", "leaf-spine", "every leaf switch has a link to every spine switch"),
        ("leaves", 4, ""),
        ("spines", 2, "fewer links up than down: the core is oversubscribed 2:1"),
        ("hosts_per_leaf", 4, "host0 to host3 are below leaf0, and so on"),
    ]
    return lines([*keys, *TIERS])


def fat_tree() -> list[str]:
    keys: Keys = [
        ("kind", "fat-tree", "three tiers of switches in pods"),
        ("pods", 4, ""),
        ("tors_per_pod", 2, "switches that hosts are linked to"),
        ("aggs_per_pod", 2, "each is linked to every ToR switch of its pod"),
        ("cores", 4, "a multiple of aggs_per_pod"),
        ("hosts_per_tor", 2, "host0 and host1 are below the first ToR, and so on"),
    ]
    return lines([*keys, *TIERS])


def graph() -> list[str]:
    """Returns the keys of a graph: two racks of four hosts, and two paths between them."""
    hosts = [f"h{i}" for i in range(8)]
    pairs = [(host, "left" if i < 4 else "right") for i, host in enumerate(hosts)]
    pairs += [(rack, core) for rack in ("left", "right") for core in ("top", "bottom")]
    link = 'rate = "100 Gbps", delay = "1 us"'
    return [
        *lines([("kind", "graph", "any network: name its nodes, and list its links")]),
        "hosts = " + toml_value(hosts) + " # each has one link",
        *lines([("switches", ["left", "right", "top", "bottom"], "")]),
        "links = [ # each carries its rate in both directions",
        *(f"    {{ ends = {toml_value(pair)}, {link} }}," for pair in pairs),
        "]",
    ]


TOPOLOGIES: dict[str, Callable[[], list[str]]] = {"leaf-spine": leaf_spine, "fat-tree": fat_tree, "graph": graph}
TITLES = {"leaf-spine": "a leaf-spine of 16 hosts", "fat-tree": "a fat tree of 16 hosts", "graph": "a graph of 8 hosts"}


@dataclass(frozen=True)
class Traffic:
    """The `[[workload]]` of a scenario, and the file that it names."""

    keys: Keys
    file: Path | None = None
    """A CSV file to be copied beside the scenario."""
    last_us: float | None = None
    """Arrival of the last flow; `None` if flows arrive as long as the run lasts."""


@dataclass(frozen=True)
class Started:
    """A scenario that was written."""

    path: Path
    runs: int
    flows: int
    """Estimate of the flows of one run."""


def start(place: Path, topology: str, schemes: Sequence[str], workload: str, *, force: bool = False) -> Started:
    """Writes `place/scenario.toml`, and beside it a copy of a CSV file that `workload` names.

    `topology` is one of `TOPOLOGIES`, `schemes` are names of schemes, and `workload` is a published table of flow sizes
    or a CSV file of sizes or of flows.

    # Errors
    `InputError` for an unknown name, with those that are allowed; for a CSV file that is wrong; and if a file is there
    already, unless `force` says to replace it. Nothing is written then.
    """
    if topology not in TOPOLOGIES:
        raise unknown("--topology", topology, list(TOPOLOGIES))
    titles = titles_of(schemes)
    traffic = traffic_of(workload, place)
    path = place / FILE
    copy = None if traffic.file is None else place / traffic.file.name
    copies = copy is not None and traffic.file is not None and not same(copy, traffic.file)
    for file in (path, copy if copies else None):
        if file is not None and file.exists() and not force:
            raise InputError(f"{file}: is there already: expected another directory, or --force to replace it")
    text, estimate = fitted(place, topology, titles, traffic)
    with disk.errors(place):
        place.mkdir(parents=True, exist_ok=True)
    if copies and copy is not None and traffic.file is not None:
        with disk.errors(copy):
            disk.write_whole(copy, traffic.file.read_text(encoding="utf-8"))
    with disk.errors(path):
        disk.write_whole(path, text)
    return Started(path, SEEDS * len(titles), estimate)


def fitted(place: Path, topology: str, titles: dict[str, str], traffic: Traffic) -> tuple[str, int]:
    """Returns the scenario with a duration that fits, and the number of flows of a run.

    # Errors
    `InputError` if the scenario is wrong, such as hosts in a list of flows that the network does not have.
    """

    def attempt(duration_us: float) -> tuple[str, int, int]:
        text = scenario(place, topology, titles, traffic, duration_us)
        beside = traffic.file.parent if traffic.file is not None else place
        plan = json.loads(_core.load_text(text, str(beside), FILE, ["seeds.count=1"], None))
        runs = [json.loads(_core.estimate(json.dumps(run["scenario"]))) for run in plan["runs"]]
        return text, max(run["flows"] for run in runs), max(run["packet_hops"] for run in runs)

    if traffic.last_us is not None:
        text, flows, _ = attempt(above(max(traffic.last_us, SHORTEST_US)))
        return text, flows
    tried_us = 1000.0
    _, flows, hops = attempt(tried_us)
    text, flows, _ = attempt(below(max(tried_us * min(FLOWS / max(flows, 1), HOPS / max(hops, 1)), SHORTEST_US)))
    return text, flows


def scenario(place: Path, topology: str, titles: dict[str, str], traffic: Traffic, duration_us: float) -> str:
    """Returns the text of a scenario."""
    listed = traffic.last_us is not None
    duration = f"{duration_us / 1000:g} ms" if duration_us >= 1000 else f"{duration_us:g} us"
    run: Keys = [
        ("duration", duration, "flows that arrive by then are simulated" if listed else "flows arrive for so long"),
        *([("warmup", "0 s", "every flow counts")] if listed else []),
        ("all_finish", False, "a run may end before its longest flows do"),
    ]
    variants = [f"    {{ name = {toml_value(title)}, scheme = {toml_value(name)} }}," for name, title in titles.items()]
    text = [
        f"# {' against '.join(titles.values())}. `backwater schema scenario` describes every key.",
        "",
        *lines([("name", place.resolve().name or "first", "")]),
        *lines([("seeds.count", SEEDS, "runs of each scheme, each with other random numbers")]),
        "variant = [ # what is compared; `backwater list schemes` has all schemes",
        *variants,
        "]",
        "",
        "[topology]",
        *TOPOLOGIES[topology](),
        "",
        "[[workload]]",
        *lines(traffic.keys),
        "",
        "[run]",
        *lines(run),
    ]
    return "\n".join(text) + "\n"


def titles_of(schemes: Sequence[str]) -> dict[str, str]:
    """Returns the title of each scheme by name.

    # Errors
    `InputError` for an unknown scheme, one that is named twice, or none.
    """
    known = {scheme["name"]: scheme["title"] for scheme in json.loads(_core.schemes())}
    for i, name in enumerate(schemes):
        if name not in known:
            raise unknown("--scheme", name, list(known), "backwater list schemes")
        if name in schemes[:i]:
            raise InputError(f"--scheme {','.join(schemes)}: {name} is named twice")
    if not schemes:
        raise InputError("--scheme: expected one scheme or several, such as bfc,dcqcn")
    return {name: known[name] for name in schemes}


def traffic_of(workload: str, place: Path) -> Traffic:
    """Returns the traffic that `workload` names: a published table of flow sizes, or a CSV file of sizes or flows.

    # Errors
    `InputError` for anything else.
    """
    if workload in _core.size_tables():
        return sized({"table": workload}, 'published sizes; { file = "mine.csv" } reads yours')
    path = Path(workload)
    if not path.is_file():
        if path.suffix == ".csv" or len(path.parts) > 1:
            raise InputError(f"--workload {workload}: there is no such file")
        problem = unknown("--workload", workload, _core.size_tables(), "backwater list workloads")
        raise InputError(f"{problem}, or a CSV file with the header size_bytes,cdf or start_ns,src,dst,bytes")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"--workload {workload}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"--workload {workload}: is not UTF-8 text: expected a CSV file") from error
    rows = list(csv.reader(line for line in text.splitlines() if line.strip() and not line.startswith("#")))
    if not rows or rows[0][0].strip() != "start_ns":
        _core.size_table(workload)  # Refuses what is no table of sizes, with file and line.
        return sized({"file": path.name}, "your sizes: columns size_bytes and cdf", path)
    keys: Keys = [
        ("kind", "flow-list", "your flows, one by one"),
        ("file", path.name, "columns start_ns, src, dst and bytes"),
    ]
    try:
        last_ns = max(float(row[0]) for row in rows[1:])
    except (ValueError, IndexError):
        last_ns = 0.0  # The reader of the scenario refuses the list, with file and line.
    return Traffic(keys, path, last_ns / 1000)


def sized(sizes: dict[str, str], comment: str, file: Path | None = None) -> Traffic:
    ((key, value),) = sizes.items()
    return Traffic(
        [
            ("kind", "background", "flows between random pairs of hosts"),
            ("sizes", f"{{ {key} = {toml_value(value)} }}", comment),
            ("load", "0.6", "share of what the links between switches carry"),
        ],
        file,
    )


def lines(keys: Keys) -> list[str]:
    """Returns lines `key = value  # comment` with aligned comments."""
    written = []
    for key, value, comment in keys:
        bare = key in ("sizes", "load")  # Written as TOML already.
        entry = f"{key} = {value if bare else toml_value(value)}"
        written.append(f"{entry:<{COLUMN}}# {comment}" if comment else entry)
    return written


STEPS = (1, 2, 3, 4, 5, 6, 8, 10)
"""Durations are one of these times a power of ten."""


def below(duration_us: float) -> float:
    """Returns the longest round duration that is not longer."""
    power = 10.0 ** math.floor(math.log10(duration_us))
    return max(step * power for step in STEPS if step * power <= duration_us)


def above(duration_us: float) -> float:
    """Returns the shortest round duration that is longer."""
    power = 10.0 ** math.floor(math.log10(duration_us))
    return min(step * power for step in STEPS if step * power > duration_us)


def same(one: Path, other: Path) -> bool:
    return one.exists() and one.samefile(other)


def unknown(option: str, name: str, known: list[str], command: str = "") -> InputError:
    """Makes the error about an unknown name, with the nearest ones. `command` lists all."""
    return InputError(f"{option} {name}: {suggest.expected(name, known, command)}")
