"""Every whole number of a scenario, at both ends of its range and beyond: refused as bad input, or run to its page."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backwater import Experiment, InputError, _core
from backwater.compute.registry import COMPUTATIONS, SCHEMAS
from backwater.scenario.toml_text import toml_key, toml_value

SCHEMA = json.loads(_core.scenario_schema(SCHEMAS))
WIDEST = {"uint8": 2**8 - 1, "uint16": 2**16 - 1, "uint32": 2**32 - 1}
"""Largest integers of the formats that state no maximum."""
RUNS_MAX, HOPS_MAX, MEMORY_MAX_MB = 20, 200_000, 500
COMPUTED_MAX = 10_000
"""Larger runs and computations are checked and not run."""

LINK = {"rate": "100 Gbps", "delay": "1 us"}
TIERS = {"host_rate": "100 Gbps", "core_rate": "100 Gbps", "host_delay": "1 us", "core_delay": "1 us"}
CLOS = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, **TIERS}
TOPOLOGIES: dict[str, dict[str, Any]] = {
    "leaf-spine": CLOS,
    "fat-tree": {"pods": 2, "tors_per_pod": 1, "aggs_per_pod": 1, "cores": 1, "hosts_per_tor": 2, **TIERS},
    "two-clos": {**CLOS, "wan_rate": "100 Gbps", "wan_delay": "10 us"},
    "single-switch": {"hosts": 4, **LINK},
    "dumbbell": {"left": 2, "right": 2, **LINK, "bottleneck_rate": "100 Gbps", "bottleneck_delay": "1 us"},
    "chain": {"switches": 2, "hosts_per_switch": 2, **LINK},
    "graph": {
        "hosts": ["host0", "host1"],
        "switches": ["s"],
        "links": [{"ends": [host, "s"], **LINK} for host in ("host0", "host1")],
    },
}
WORKLOADS: dict[str, dict[str, Any]] = {
    "background": {"sizes": {"fixed": "1 KB"}, "load": 0.5, "load_of": "receivers"},
    "incast": {"degree": 2, "aggregate": "2 KB", "period": "2 us"},
    "long-lived": {"count": 1, "to": ["host0"]},
    "flow-list": {"flows": [{"start": "0 s", "src": "host0", "dst": "host1", "bytes": "1 KB"}]},
    "collective": {"pattern": "all-to-all", "bytes": "2 KB"},
    "job": {
        "format": "simai",
        "rows": "MICRO\n1\nlayer -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n",
        "model": {"ranks": 2},
    },
}
SCHEMES = {
    "dcqcn": "dcqcn",
    "expresspass": "expresspass",
    "homa": "homa",
    "hpcc": "hpcc",
    "pint": "hpcc-pint",
    "selective": "irn",
    "swift": "swift",
    "tcp": "dctcp-tcp",
    "timely": "timely",
    "ecn": "dctcp",
    "flowsail": "flowsail",
    "mmu": "bcc",
}
"""Schemes that use a table of switches or hosts; "bfc" uses the others."""
COMPUTED: dict[str, dict[str, Any]] = {
    "fair-share": {"sizes": {"fixed": "1 KB"}, "interval": "10 us"},
    "flow-sizes": {"sizes": {"fixed": "1 KB"}},
    "processor-sharing": {"sizes": {"fixed": "1 KB"}, "load": 0.5},
    "hashed-queues": {"flows": 10},
    "starvation": {"threshold": 1},
    "chip": {"chip": "tomahawk"},
}
SLOW = {"compute": {"flows": 1000, "trials": 2, "slots": 10}}
VALUE = "the value"
"""Stands for the integer in a scenario."""
EXPECT = {"claim": "own", "kind": "between", "variant": "A", "value": {}, "low": 0}

Where = tuple[str | int, ...]


def integers(schema: dict[str, Any], where: Where = ()) -> Iterator[tuple[Where, str, int, int]]:
    """Path, kind of the table that has it, and range of every integer; `0` is any entry of a list."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        if name != "Expected":  # A measurement contains measurements; `each` has the same selectors.
            yield from integers(SCHEMA["$defs"][name], where)
        return
    if "integer" in (schema.get("type") or []):
        low = schema["minimum"]
        yield where, "", low, schema.get("maximum") or WIDEST[schema["format"]]
    kind = schema.get("properties", {}).get("kind", {}).get("const", "")
    inside = [((*where, key), inner) for key, inner in schema.get("properties", {}).items()]
    inside += [((*where, 0), inner) for inner in (schema.get("items"), *schema.get("prefixItems", [])) if inner]
    inside += [(where, branch) for branch in [*schema.get("oneOf", []), *schema.get("anyOf", [])]]
    for place, inner in inside:
        for path, of, low, high in integers(inner, place):
            yield path, of or kind, low, high


EVERY = sorted(
    {
        (path, kind if path[0] in ("topology", "workload", "compute") else "", low, high)
        for path, kind, low, high in integers(SCHEMA)
    },
    key=str,
)
IDS = [".".join(map(str, path)) + (f"-{kind}" if kind else "") for path, kind, *_ in EVERY]


def scenario(path: Where, kind: str, value: int) -> str:
    """A small scenario with this value at this path, as TOML."""
    keys: dict[str, Any]
    if path[0] == "compute":
        keys = {"compute": {"kind": kind, **COMPUTED.get(kind, {})}}
        known = COMPUTATIONS[kind].parameters
        keys["compute"] |= {key: few for key, few in SLOW["compute"].items() if key in known and key != path[1]}
    else:
        topology, workload = kind if path[0] == "topology" else "leaf-spine", kind if path[0] == "workload" else ""
        workload = workload or "long-lived"
        keys = {
            "scheme": next((SCHEMES[str(part)] for part in path if part in SCHEMES), "bfc"),
            "topology": {"kind": topology, **TOPOLOGIES[topology]},
            "workload": [{"kind": workload, **WORKLOADS[workload]}],
            "run": {"duration": "2 us", "all_finish": False},
        }
    keys = copy.deepcopy(keys)
    if path[0] == "region":
        keys["region"] = [{"at": ["leaf0"], "switch": {}}]
    if path[0] == "expect":
        keys |= {"variant": [{"name": "A"}], "expect": [copy.deepcopy(EXPECT)], "switch": {}}
    at: Any = keys
    for part, following in zip(path, [*path[1:], None], strict=True):
        if following is None:
            if isinstance(at, list):
                at[:] = [VALUE]
            else:
                at[part] = VALUE
        elif isinstance(at, list):
            at = at[0]
        else:
            at = at.setdefault(part, {"rows": 1, "columns": 64} if part == "sketch" else [] if following == 0 else {})
    text = "".join(f"{toml_key(key)} = {toml_value(inner)}\n" for key, inner in keys.items())
    return text.replace(f'"{VALUE}"', str(value))


def opened(file: Path) -> Experiment | InputError:
    """The experiment, or why it is refused."""
    try:
        return Experiment(file)
    except InputError as error:
        return error


def is_small(experiment: Experiment) -> bool:
    """Whether it takes well under a second."""
    if len(experiment.labels) > RUNS_MAX:
        return False
    runs = [run for run in experiment.scenarios.values() if "compute" not in run]
    takes = [json.loads(_core.estimate(json.dumps(run))) for run in runs]
    return all(one["packet_hops"] <= HOPS_MAX and one["memory_mb"] <= MEMORY_MAX_MB for one in takes)


def test_the_schema_has_integers_of_every_kind() -> None:
    tops = {path[0] for path, *_ in EVERY}
    assert tops == {"compute", "expect", "host", "region", "run", "seed", "seeds", "switch", "topology", "workload"}
    assert len(EVERY) > 90
    assert (("seed",), "", 0, 2**63 - 1) in EVERY


@pytest.mark.parametrize(("path", "kind", "low", "high"), EVERY, ids=IDS)
def test_an_integer_beyond_its_range_is_refused(path: Where, kind: str, low: int, high: int, tmp_path: Path) -> None:
    key, file = ".".join(map(str, path)), tmp_path / "s.toml"
    for value in (low - 1, high + 1):
        file.write_text(scenario(path, kind, value))
        with pytest.raises(InputError, match=rf"^{re.escape(str(file))}:\d+: ") as refused:
            Experiment(file)
        assert (refused.value.key, refused.value.value) == (key, str(value))
        assert "expected " in str(refused.value.problem)


@pytest.mark.parametrize(("path", "kind", "low", "high"), EVERY, ids=IDS)
def test_an_integer_at_an_end_of_its_range_is_refused_or_runs(
    path: Where, kind: str, low: int, high: int, tmp_path: Path
) -> None:
    file = tmp_path / "s.toml"
    for value in (low, high):
        file.write_text(scenario(path, kind, value))
        experiment = opened(file)
        if isinstance(experiment, InputError):
            assert str(experiment.place).startswith(f"{file}:"), experiment
            assert experiment.problem, experiment
        elif is_small(experiment) and (path[0] != "compute" or value <= COMPUTED_MAX):
            done = experiment.run(tmp_path / str(value))
            assert done.table("summary").num_rows == len(experiment.labels)
            assert (done.path / "report.html").is_file()
