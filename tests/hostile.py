"""Hostile inputs, made from the grammar that scenario files have, and a place where they do no harm.

A case is a scenario file and settings: a valid one of which one value, or a few, are of a wrong type, an extreme,
another unit, text of all the world, deep or large. Each runs in a process of its own with limits. As a program this
prints a line of JSON for each case that did not end well:

    python tests/hostile.py SEED FIRST COUNT
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SECONDS = 10
"""A case takes less: it is refused, ends, or is stopped when it is asked to."""
RUNNING_S = 0.5
"""How long a run is let go on before it is asked to stop."""
MEMORY = 2**30
"""A case takes less than this beyond what its parent has, bytes."""
PYTHON = Path(__file__).resolve().parent.parent / "python" / "backwater"

TAIL = """
[run]
duration = "20 us"
"""
BASES = (
    """scheme = "bfc"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"
[[workload]]
kind = "background"
sizes = { table = "google_rpc" }
load = 0.5
[[workload]]
kind = "incast"
degree = 4
aggregate = "40 KB"
period = "10 us"
[[fault]]
link = ["leaf0", "spine0"]
loss = 0.001
down = [["1 us", "2 us"]]
""",
    """scheme = "flowsail"
switch.queues = 8
switch.flowsail.sketch = { rows = 2, columns = 64 }
measure.queues = [["switch*", "*"]]
[topology]
kind = "dumbbell"
left = 2
right = 2
rate = "10 Gbps"
delay = "1 us"
bottleneck_rate = "10 Gbps"
bottleneck_delay = "1 us"
[[workload]]
kind = "long-lived"
count = 2
to = ["host2", "host3"]
stagger = "1 us"
[[workload]]
kind = "collective"
pattern = "ring"
bytes = "10 KB"
compute = "1 us"
""",
    """scheme = "dctcp"
compat = "hpcc-sim"
[topology]
kind = "fat-tree"
pods = 2
tors_per_pod = 1
aggs_per_pod = 1
cores = 1
hosts_per_tor = 2
host_rate = "10 Gbps"
core_rate = "40 Gbps"
host_delay = "1 us"
core_delay = "1 us"
[[workload]]
kind = "flow-list"
flows = [{ start = "0 s", src = "host0", dst = "host3", bytes = "10 KB" }]
""",
    """scheme = "bcc"
measure.pools = true
[topology]
kind = "single-switch"
hosts = 4
rate = "100 Gbps"
delay = "1 us"
[[workload]]
kind = "background"
sizes = { uniform = ["1 KB", "10 KB"] }
arrivals = { log-normal = 1.0 }
load = 0.5
load_of = "receivers"
""",
    """scheme = "homa"
[topology]
kind = "chain"
switches = 3
hosts_per_switch = 1
rate = "100 Gbps"
delay = "1 us"
[[workload]]
kind = "incast"
degree = 2
sizes = { exponential = "10 KB" }
load = 0.2
to = ["host0"]
""",
    """scheme = "dcqcn"
[[region]]
at = ["s"]
scheme = "pfc"
[topology]
kind = "graph"
hosts = ["x", "y"]
switches = ["s"]
links = [
  { ends = ["x", "s"], rate = "1 Gbps", delay = "1 us" },
  { ends = ["y", "s"], rate = "1 Gbps", delay = "1 us" },
]
[[workload]]
kind = "long-lived"
count = 1
to = ["x"]
""",
)
SHOWN = """
[sweep]
seed = [1, 2]
[[variant]]
name = "A"
[[variant]]
name = "B"
[figure]
panels = [{ label = "loss", value = { summary = "loss.share" } }]
[[expect]]
claim = "a"
kind = "ratio"
over = ["seed"]
each = { slowdown = ["p99", "mean"] }
numerator = { variant = "A" }
denominator = { variant = "B" }
low = 1
[[expect]]
claim = "b"
kind = "ordering"
value = { quotient = [{ ports = "control_frames", node = "*" }, { scenario = "run.duration" }] }
chains = [["A", "B"]]
[[expect]]
claim = "c"
kind = "knee"
variant = "A"
value = { fct = "p50", sizes = "<=3000" }
along = "seed"
threshold = 1
expected = 2
"""

WHOLE = [
    *(2**n + d for n in (0, 1, 7, 8, 15, 16, 31, 32, 53, 63, 64, 126) for d in (-1, 0, 1)),
    -(2**63),
    -(2**64),
    60_000,
]
REAL = [
    "0.0",
    "-0.0",
    "5e-324",
    "1e-300",
    "0.9999999999999999",
    "1.0000000000000002",
    "1e308",
    "1e309",
    "-1e308",
    "nan",
    "inf",
]
TIMES = [
    "0 s",
    "1 ps",
    "999 ps",
    "1 ns",
    "100 ns",
    "1 us",
    "1 ms",
    "1 s",
    "10 s",
    "60 s",
    "70 s",
    "18446744073709551615 ps",
]
SIZES = [
    "0 B",
    "1 B",
    "63 B",
    "1048 B",
    "9 KB",
    "64 KB",
    "1 MB",
    "1 GB",
    "100 GB",
    "1 TiB",
    "1.5 B",
    "18446744073709551615 B",
]
RATES = ["0 bps", "1 bps", "1 Mbps", "10 Mbps", "1 Gbps", "333333333 bps", "8 Tbps", "8001 Gbps", "18446744 Tbps"]
TEXTS = [
    *(
        "",
        " ",
        "x",
        "host0",
        "host0..host3",
        "host0..host99999999",
        "*",
        "all",
        "infinite",
        "..",
        "../../etc/passwd",
        "/dev/zero",
    ),
    *(
        "\u0661 ms",
        "\U0001f30a",
        "e\u0301",
        "\u202eabc",
        "a\\u0000b",
        "a\\nb",
        "$x^{2}$",
        "[bold]x[/bold]",
        "x" * 10_000,
    ),
    *(
        "1ms",
        "1  ms",
        "+1 ms",
        "-1 us",
        "1e3 us",
        "1_000 us",
        "0x10 B",
        "1 Ms",
        "1 kb",
        "1 KiBps",
        "9" * 5000 + " B",
        "1." + "0" * 5000 + " s",
    ),
]
OTHER = [
    "true",
    "false",
    "[]",
    "{}",
    "[[]]",
    "[1, 'a']",
    "{ a = 1 }",
    "{ kind = 'x' }",
    "1979-05-27T07:32:00Z",
    "0x_1",
    "1__0",
    "''",
    "{ a.b.c = 1 }",
]


SPLICES = [
    *'\n=["#,;. -+_e',
    "nan",
    "inf",
    "1e999",
    "-1",
    "0x1f",
    "\u0663",
    "\x00",
    "\ufeff",
    "9" * 30,
    " " * 50,
    "0." + "0" * 400 + "1",
]
FILES = {
    '[[workload]]\nkind = "background"\nclass = "mine"\nload = 0.1\nsizes = { file = "beside.csv" }\n': [
        "# interpolation=linear whole_packets=true\nsize_bytes,cdf\n0,0\n3,0.06\n1000,0.5\n100000,1\n",
        "0 0\n1000 50\n2000 99.5\n30000 100\n",
    ],
    '[[workload]]\nkind = "flow-list"\nfile = "beside.csv"\n': [
        "start_ns,src,dst,bytes,port,priority\n0,host0,host1,1000,100,0\n10.5,host2,host3,1,200,0\n",
        "# two\nstart_ns,src,dst,bytes\n0,host0,host1,1000\n1500.25,host1,host0,100000\n",
    ],
}
"""Workloads that name a file, and valid ones for it."""


@dataclass
class Case:
    """A file's text and the settings beside it."""

    text: str
    sets: list[str] = field(default_factory=list)
    beside: str = ""
    """What stands in `beside.csv`."""


@dataclass
class End:
    """How a case ended: `refused`, `finished` or `stopped`; anything else is a fault."""

    how: str
    said: str = ""
    seconds: float = 0.0
    bytes: int = 0


def core() -> Any:
    """The compiled module alone: the package brings libraries that would take part in the limits."""
    (file,) = PYTHON.glob("_core*.so")
    spec = importlib.util.spec_from_file_location("_core", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The grammar: every key of every table, with what its schema says of its value.


def keys(schema: dict[str, Any], node: dict[str, Any], path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Dotted keys and the names of their types; an entry of a list is its first."""
    if depth > 9:
        return
    name = node.get("$ref", "").removeprefix("#/$defs/")
    if name:
        target = schema["$defs"][name]
        if name in ("Duration", "Bytes", "BitsPerSec", "Buffer"):
            yield path, name
        else:
            yield from keys(schema, target, path, depth + 1)
        return
    kind = node.get("type")
    yield path, "/".join(kind) if isinstance(kind, list) else str(kind or "choice")
    for branch in (*node.get("oneOf", ()), *node.get("anyOf", ())):
        yield from keys(schema, branch, path, depth + 1)
    for key, below in node.get("properties", {}).items():
        yield from keys(schema, below, f"{path}.{key}" if path else key, depth + 1)
    if "items" in node and path:
        yield from keys(schema, node["items"], f"{path}.0", depth + 1)


def value(draw: random.Random, kind: str) -> str:
    """As TOML: mostly of the type at its extremes, else of any other."""
    own = {"Duration": TIMES, "BitsPerSec": RATES, "Bytes": SIZES, "Buffer": SIZES}.get(kind)
    choice = draw.random()
    if own is not None and choice < 0.6:
        return json.dumps(draw.choice(own))
    if kind.startswith("integer") and choice < 0.6:
        return str(draw.choice(WHOLE))
    if kind.startswith("number") and choice < 0.6:
        return draw.choice(REAL)
    if choice < 0.75:
        return f'"{draw.choice(TEXTS)}"'
    if choice < 0.80:
        return large(draw)
    return str(draw.choice([*OTHER, *map(str, WHOLE), *REAL, *(json.dumps(one) for one in (*TIMES, *SIZES, *RATES))]))


def large(draw: random.Random) -> str:
    """Deep or long."""
    n = draw.choice([50, 100, 1000, 20_000])
    return draw.choice(
        [
            "[" * n + "]" * n,
            "{ a = " * n + "1" + " }" * n,
            "[" + "1, " * n + "]",
            '["host0", ' + '"host1", ' * n + "]",
            "9" * n,
            "0." + "9" * n,
            '"' + "y" * n + '"',
            "[" + '["1 us", "2 us"], ' * n + "]",
        ]
    )


@dataclass(frozen=True)
class Base:
    """A valid file, and the keys of what it resolves to with the kinds of their values."""

    text: str
    keys: list[tuple[str, str]]


def bases(module: Any, place: Path) -> list[Base]:
    """Every scheme with one network, and every network with its own scheme."""
    schemes = [re.sub(r'^scheme = ".*"', f'scheme = "{one["name"]}"', BASES[3]) for one in json.loads(module.schemes())]
    made = []
    for text in [one + TAIL for one in (*BASES, *schemes)]:
        (place / "base.toml").write_text(text)
        try:
            scenario = json.loads(module.load(str(place / "base.toml"), [], None))["runs"][0]["scenario"]
        except module.InputError:
            continue  # A scheme that needs more than one switch.
        made.append(Base(text, list(flat(scenario))))
    return made


def flat(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted keys of values, and their kinds."""
    if isinstance(node, dict | list):
        for key, below in node.items() if isinstance(node, dict) else enumerate(node[:2]):
            yield from flat(below, f"{path}.{key}" if path else key)
    elif isinstance(node, str):
        unit = re.fullmatch(r"\d+ (?:([pnum]?s)|([KMGT]?i?B)|([KMGT]?bps))", node)
        yield path, ["Duration", "Bytes", "BitsPerSec"][unit.lastindex - 1] if unit and unit.lastindex else "string"
    elif node is not None:
        yield path, {bool: "boolean", int: "integer", float: "number"}[type(node)]


def extreme(draw: random.Random, kind: str) -> str:
    """Of the type, at the edges of what may be allowed and between."""
    lists = {"Duration": TIMES, "Bytes": SIZES, "BitsPerSec": RATES}
    if kind in lists and draw.random() < 0.9:
        unit = draw.choice(
            {"Duration": ["ps", "ns", "us", "ms"], "Bytes": ["B", "KB", "MB", "GB"]}.get(kind, ["Mbps", "Gbps"])
        )
        return json.dumps(draw.choice([*lists[kind], f"{draw.choice([1, 3, 10, 77, 500, 4096])} {unit}"]))
    if kind == "integer" and draw.random() < 0.9:
        return str(draw.choice([*WHOLE, *range(10), 50, 100, 250, 1000, 10_000]))
    if kind == "number" and draw.random() < 0.9:
        return str(draw.choice([*REAL, "1e-6", "0.01", "0.5", "0.99", "1.0", "1.5", "4.0", "100.0", "1e6", "1e12"]))
    if kind == "boolean":
        return draw.choice(["true", "false"])
    return value(draw, kind)


def cases(schema: dict[str, Any], bases: list[Base], seed: int, first: int, count: int) -> Iterator[tuple[int, Case]]:
    """Number `first` and those after it; each hangs on `seed` and its number alone."""
    known = sorted(set(keys(schema, schema)))
    known = [(path, kind) for path, kind in known if path]
    shown = [
        (path, kind) for path, kind in known if path.split(".")[0] in ("expect", "figure", "variant", "sweep", "scale")
    ]
    plain = [pair for pair in known if pair not in shown]
    for number in range(first, first + count):
        draw = random.Random(f"{seed} {number}")
        how = draw.random()
        if how < 0.1:
            text = damaged(draw, draw.choice(BASES) + draw.choice(["", SHOWN]) + TAIL)
            yield number, Case(text)
        elif how < 0.15:
            kind = draw.choice(sorted(FILES))
            yield number, Case(f"{BASES[0]}{kind}{TAIL}", [], damaged(draw, draw.choice(FILES[kind])))
        elif how < 0.35:
            path, kind = draw.choice(shown)
            yield number, Case(rewritten(draw, draw.choice(BASES) + SHOWN, path, kind))
        elif how < 0.7:
            base = draw.choice(bases)
            pairs = [draw.choice(base.keys) for _ in range(draw.choice([1, 1, 2]))]
            yield number, Case(base.text, [f"{path}={extreme(draw, kind)}" for path, kind in pairs])
        else:
            sets = []
            for _ in range(draw.choice([1, 1, 1, 2, 3])):
                path, kind = draw.choice(plain)
                if path.startswith("workload.0.") and draw.random() < 0.5:
                    path = path.replace(".0.", ".1.", 1)
                if draw.random() < 0.05:
                    path = path.replace(".", draw.choice(["..", ".\u0661.", ". ", '."', ".a." * 40, ".0."]), 1)
                sets.append(f"{path}={value(draw, kind)}")
            text = draw.choice(BASES) + TAIL
            if draw.random() < 0.2:
                text = "".join(f"{one.replace('=', ' = ', 1)}\n" for one in sets) + text
                sets = []
            if draw.random() < 0.1:
                sets.append(f"sweep.{draw.choice(plain)[0]}={large(draw)}")
            yield number, Case(text, [one[:100_000] for one in sets])


def rewritten(draw: random.Random, text: str, path: str, kind: str) -> str:
    """One of the lines that set the last part of a path gets another value, or such a line is put in or left out."""
    text += TAIL
    last = path.rpartition(".")[2]
    places = list(re.finditer(rf"\b{re.escape(last)} = ([^\n,{{}}]+)", text))
    if not places or draw.random() < 0.3:
        lines = text.split("\n")
        lines.insert(draw.randrange(len(lines)), f"{last} = {value(draw, kind)}")
        return "\n".join(lines)
    match = draw.choice(places)
    if draw.random() < 0.15:
        return text[: match.start()] + text[match.end() :]
    return text[: match.start(1)] + value(draw, kind) + text[match.end(1) :]


def damaged(draw: random.Random, text: str) -> str:
    """Pieces of a valid file doubled, left out, turned round or overwritten."""
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(text) + 1)
        end = min(len(text), at + draw.choice([1, 3, 10, 40]))
        piece = text[at:end]
        instead = draw.choice(["", piece * 2, piece[::-1], draw.choice(SPLICES), value(draw, "choice")])
        text = text[:at] + instead + text[end:]
    return text


# The place.


def end_of(module: Any, case: Case, place: Path) -> End:
    """What becomes of a case, in a process of its own."""
    file = place / "hostile.toml"
    file.write_text(case.text)
    (place / "beside.csv").write_text(case.beside)
    reading, writing = os.pipe()
    began, there = time.perf_counter(), held()[1]
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as told:
            limit()
            try:
                told.write(json.dumps(tried(module, file, case.sets)))
                told.flush()
            finally:
                os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as telling:
        said = telling.read()
    _, status, usage = os.wait4(child, 0)
    seconds, peak = time.perf_counter() - began, usage.ru_maxrss * 1024 - there
    if os.WIFSIGNALED(status):
        return End(f"signal {signal.Signals(os.WTERMSIG(status)).name}", "", seconds, peak)
    how, text = json.loads(said) if said else ("nothing said", "")
    if how in ("refused", "finished", "stopped") and seconds > SECONDS:
        how = f"took {seconds:.1f} s"
    if peak > MEMORY:
        how = f"took {peak / 1e6:.0f} MB"
    return End(how, text, seconds, peak)


def held() -> tuple[int, int]:
    """What this process, and a child of it from its birth, has of addresses and of memory that no file backs, bytes."""
    size, resident, of_files = map(int, Path("/proc/self/statm").read_text().split()[:3])
    return size * resource.getpagesize(), (resident - of_files) * resource.getpagesize()


def limit() -> None:
    """Memory beyond what is there already, time of the processor, and time."""
    most = held()[0] + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.alarm(SECONDS + 2)


def tried(module: Any, file: Path, sets: list[str]) -> tuple[str, str]:
    """Loaded, estimated and, of each kind of run the first, run for a while."""
    try:
        plan = json.loads(module.load(str(file), sets, None))
        scenario = json.dumps(plan["runs"][0]["scenario"])
        module.estimate(scenario)
        run = module.start(scenario, 1)
        done = run.wait(RUNNING_S)
        if not done:
            run.cancel()
            done = run.wait(SECONDS)
        if not done:
            return "deaf", ""
        stopped = run.progress()["state"] == "cancelled"
        run.outcome().summary()
        return "stopped" if stopped else "finished", ""
    except module.InputError as error:
        message = str(error)
        return ("refused" if is_told(message) else "mumbled"), message
    except BaseException as error:
        return "fell over", f"{type(error).__name__}: {error}"[:500]


SAYS = re.compile(
    r"expected|allowed|not TOML|cannot be read|entries are|it is empty|has no keys|joined by dots|: choose|: write"
)
PLACE = re.compile(r"^(--set |\S*(hostile\.toml|beside\.csv)|preset |chip |resolved scenario|/dev)")


def is_told(message: str) -> bool:
    """Whether it is one line with a place and what is allowed."""
    return len(message) < 4000 and message.isprintable() and bool(PLACE.match(message)) and bool(SAYS.search(message))


def main() -> None:
    seed, first, count = map(int, sys.argv[1:4])
    module = core()
    schema = json.loads(module.scenario_schema())
    ends: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as place:
        for number, case in cases(schema, bases(module, Path(place)), seed, first, count):
            end = end_of(module, case, Path(place))
            ends[end.how] = ends.get(end.how, 0) + 1
            if end.how not in ("refused", "finished", "stopped"):
                short = Case(
                    case.text if len(case.text) < 5000 else case.text[:5000] + "...", [one[:300] for one in case.sets]
                )
                print(json.dumps({"number": number, "end": asdict(end), "case": asdict(short)}), flush=True)
    print(json.dumps({"ends": ends}))


if __name__ == "__main__":
    main()
