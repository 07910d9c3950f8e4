"""The release build has the digests of the checked build, with engines that only it has.

`crates/sim/tests/engine/determinism.rs` compares the same file with a build that checks every overflow. There all
scenarios run on engines over tables of functions.
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict

import pytest

from backwater import Experiment, InputError, _core
from conftest import ROOT, SMOKE

GOLDEN: dict[str, dict[str, str]] = defaultdict(dict)
"""Digests by scenario, which is a file and the label of a run where it has several, and by table."""
for line in (ROOT / "crates/sim/tests/engine/golden_digests.txt").read_text().splitlines():
    scenario, table, digest = line.split()
    GOLDEN[scenario][table] = digest


@pytest.mark.parametrize("file", sorted({name.partition("#")[0] for name in GOLDEN}))
def test_the_release_build_has_the_digests_of_the_checked_build(file: str) -> None:
    runs = Experiment(ROOT / file).run().runs
    names = [file] if len(runs) == 1 else [f"{file}#{run.label}" for run in runs]
    assert names == [name for name in GOLDEN if name.partition("#")[0] == file]
    for name, run in zip(names, runs, strict=True):
        digests = {"whole": run.digest, **run.digests}
        assert {table: digests[table] for table in GOLDEN[name]} == GOLDEN[name], name


def engines(experiment: Experiment) -> set[str]:
    return {_core.engine(json.dumps(scenario)) for scenario in experiment.scenarios.values()}


def test_every_engine_of_a_scheme_has_a_golden_digest() -> None:
    """In the default order of events, and in that of the HPCC simulator."""
    tested = engines(Experiment(SMOKE / "schemes.toml"))
    assert len([name for name in tested if "dyn " not in name]) > 20, "so many are compiled for one combination"
    layers = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}
    links = {"host_rate": "100 Gbps", "core_rate": "100 Gbps", "host_delay": "1 us", "core_delay": "1 us"}
    traffic = [{"kind": "background", "sizes": {"fixed": "1 KB"}, "load": 0.5}]
    network = {"topology": {**layers, **links}, "workload": traffic, "run": {"duration": "1 us"}}
    in_profile = 0
    for scheme in json.loads(_core.schemes()):
        assert engines(Experiment({"scheme": scheme["name"], **network})) <= tested, scheme["name"]
        with contextlib.suppress(InputError):  # The profile refuses schemes that its simulator has not.
            used = engines(Experiment({"scheme": scheme["name"], "compat": "hpcc-sim", **network}))
            assert used <= tested, scheme["name"]
            in_profile += 1
    assert in_profile >= 8
