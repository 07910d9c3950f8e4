"""Circles of pauses: what is found, what is elided, what is said of it and how it is written."""

from __future__ import annotations

import itertools
import json
import random
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from backwater import Experiment, InputError
from backwater.deadlock import search as deadlock
from conftest import ROOT, Cli

RING = ROOT / "experiments" / "deadlock" / "five.toml"
RUN = """
[run]
duration = "100 us"
warmup = "0 s"
drain = 1000.0
[measure]
sample = "0 s"
[[workload]]
kind = "long-lived"
"""
LEAF_SPINE = """
[topology]
kind = "leaf-spine"
leaves = {leaves}
spines = {spines}
hosts_per_leaf = 2
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"
"""


def scenario(place: Path, topology: str, keys: str = "", count: int = 1) -> Path:
    path = place / "scenario.toml"
    name = "h" if 'kind = "graph"' in topology else "host"
    flows = f'count = {count}\nsize = "1 KB"\nfrom = ["{name}0"]\nto = ["{name}1"]\n'
    path.write_text(f"{keys}\n{topology}{RUN}{flows}")
    return path


def graph(links: list[tuple[int, int]]) -> str:
    """Switches joined so, a host on each."""
    count = 1 + max(itertools.chain(*links))
    ends = [(f"h{i}", f"s{i}") for i in range(count)] + [(f"s{a}", f"s{b}") for a, b in links]
    rows = "".join(f'  {{ ends = ["{a}", "{b}"], rate = "100 Gbps", delay = "1 us" }},\n' for a, b in ends)
    names = {letter: json.dumps([f"{letter}{i}" for i in range(count)]) for letter in "hs"}
    return f'[topology]\nkind = "graph"\nhosts = {names["h"]}\nswitches = {names["s"]}\nlinks = [\n{rows}]\n'


def search(path: Path, failures: str = "0", **sets: Any) -> deadlock.Deadlock:
    (found,) = Experiment(path, sets=sets).deadlock(failures).values()
    return found


def test_a_ring_is_told_with_what_opens_it(cli: Cli) -> None:
    done = cli("deadlock", RING, "--set", "variant=bfc")
    assert done.returncode == 1, done.stderr
    assert "CYCLIC" in done.stdout
    assert "s0 -> s1 waits for s1 -> s2 (BFC, packets to s2)" in done.stdout
    assert "without backpressure on 2 turns there is no cycle; fewer are not enough" in done.stdout
    turns = tomllib.loads("\n".join(line.strip() for line in done.stdout.splitlines()[-2:]))["switch"]["bfc"]["elide"]
    opened = search(RING, **{"variant": "bfc", "switch.bfc.elide": turns})
    assert opened.is_acyclic
    assert opened.elided == 2
    (of_one,) = json.loads(cli("deadlock", RING, "--set", "variant=bfc", "--json").stdout)
    (found,) = of_one["runs"].values()
    assert found["elision"]["elide"] == [{"region": None, "table": "bfc", "elide": turns}]
    assert (found["acyclic"], found["components"], found["elision"]["bound"]) == (False, [5, 5], 2)
    assert [turn["share"] for turn in found["elision"]["turns"]] == [0.05, 0.05]


def test_runs_of_which_the_same_is_told_are_told_together(cli: Cli) -> None:
    done = cli("deadlock", RING)
    assert done.returncode == 1
    heads = [line for line in done.stdout.splitlines() if line.startswith(str(RING))]
    assert [line.removeprefix(f"{RING}: ") for line in heads] == [
        "pfc, dctcp, hpcc",
        "bfc-1, bfc-2, bfc",
        "flowsail-2, flowsail",
        "ideal-fc",
    ]
    assert "no elision breaks it: PFC stops a port for every egress" in done.stdout
    assert done.stdout.count("ACYCLIC: ") == 1, "ideal flow control"


def test_an_acyclic_network_is_code_0(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    done = cli("deadlock", smoke, "--failures", "1")
    assert done.returncode == 0, done.stdout
    assert "ACYCLIC" in done.stdout
    refused = cli("deadlock", smoke, "--out", "x.toml")
    assert refused.returncode == 2
    assert "has no turn to elide" in refused.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["{smoke}", "--failures", "3"], "--failures 3: expected one of 0, 1, 2, all"),
        (["{smoke}", "{smoke}", "--out", "x.toml"], "with one scenario only, and 2 are given"),
        (["{smoke}", "--out", "none/x.toml"], "no such directory"),
        (["{smoke}", "--out", "{smoke}"], "is the scenario itself"),
    ],
)
def test_what_is_asked_wrongly_is_code_2(cli: Cli, smoke: Path, arguments: list[str], says: str) -> None:
    done = cli("deadlock", *[argument.format(smoke=smoke) for argument in arguments])
    assert done.returncode == 2
    assert says in done.stderr


def test_only_cycles_that_can_be_broken_need_the_solver(cli: Cli, smoke: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain installation has no solver."""
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert cli("deadlock", smoke).returncode == 0
    assert "no elision breaks it" in cli("deadlock", RING, "--set", "variant=pfc").stdout
    refused = cli("deadlock", RING, "--set", "variant=bfc")
    assert refused.returncode == 2
    assert "there are cycles of pauses, and a solver has to find what breaks them: highspy is not" in refused.stderr
    assert "pip install 'backwater[deadlock]'" in refused.stderr


def test_failures_are_one_of_four() -> None:
    with pytest.raises(InputError, match="expected one of 0, 1, 2, all"):
        search(RING, "3", variant="bfc")


def test_what_is_written_is_a_scenario_without_a_circle(cli: Cli, tmp_path: Path) -> None:
    done = cli("deadlock", RING, "--set", 'variant=["pfc", "bfc", "dctcp"]', "--out", "opened.toml")
    assert done.returncode == 1, done.stderr
    opened = Experiment(tmp_path / "opened.toml").deadlock()
    pausing = {label for label, one in opened.items() if not one.is_acyclic}
    assert pausing == {"pfc", "dctcp", "hpcc", "flowsail", "flowsail-2"}, "what has another table, or none"
    again = cli("deadlock", "opened.toml", "--set", "variant=bfc")
    assert again.returncode == 0, again.stdout


def test_a_table_that_a_run_refuses_is_not_written(cli: Cli, tmp_path: Path) -> None:
    """Ideal flow control pauses by name on every turn, and takes no table of FlowSail's."""
    done = cli("deadlock", RING, "--out", "opened.toml")
    assert done.returncode == 2
    assert "expected --set variant=NAME" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_regions_and_what_is_elided_already_are_kept(cli: Cli, tmp_path: Path) -> None:
    """Rings of six whose region elides one of the ways round by name, on its own table."""
    ring = graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)])
    region = '[[region]]\nat = ["s0", "s1", "s2"]\nscheme = "bfc"\nswitch.bfc.elide = [["s0", "s1", "s2"]]\n'
    path = scenario(tmp_path, ring + region, 'scheme = "bfc"')
    before = search(path)
    assert before.components == [6]
    done = cli("deadlock", path, "--out", "opened.toml")
    assert done.returncode == 1, done.stderr
    assert search(tmp_path / "opened.toml").is_acyclic
    (run,) = Experiment(tmp_path / "opened.toml").scenarios.values()
    assert ["s0", "s1", "s2"] in run["region"][0]["switch"]["bfc"]["elide"]


def test_runs_that_need_different_turns_are_not_written_as_one(cli: Cli, tmp_path: Path) -> None:
    path = scenario(
        tmp_path, LEAF_SPINE.format(leaves=4, spines=2), 'scheme = "bfc"\nsweep = {"topology.leaves" = [4, 5]}'
    )
    done = cli("deadlock", path, "--failures", "2", "--out", "opened.toml")
    assert done.returncode == 2
    assert "need different turns elided" in done.stderr


def test_a_clos_needs_half_of_its_valleys_elided(tmp_path: Path) -> None:
    """Of each pair of spines the turns one way, at each leaf: n s (s - 1) / 2. The rule `valley` has all of them."""
    for leaves, spines in ((4, 2), (4, 4), (6, 3)):
        path = scenario(tmp_path, LEAF_SPINE.format(leaves=leaves, spines=spines), 'scheme = "bfc"')
        found = search(path, "all")
        assert found.elision is not None
        assert len(found.elision.turns) == found.elision.bound == leaves * spines * (spines - 1) // 2
        assert found.elision.share == 0.0
        assert all(turn.start.startswith("spine") and turn.end.startswith("spine") for turn in found.elision.turns)
        opened = search(path, "all", **{"switch.bfc.elide": [turn.names for turn in found.elision.turns]})
        assert opened.is_acyclic
        valley = search(path, "all", **{"switch.bfc.elide": "valley"})
        assert (valley.is_acyclic, valley.elided) == (True, leaves * spines * (spines - 1))


def drawn(draws: random.Random) -> list[tuple[int, int]]:
    count = draws.randint(3, 5)
    links = {(draws.randrange(node), node) for node in range(1, count)}
    for _ in range(draws.randint(1, count)):
        a, b = sorted(draws.sample(range(count), 2))
        links.add((a, b))
    return sorted(links)


def circles_left(edges: list[tuple[str, str]]) -> bool:
    """By taking ports away that wait for none, until no more go."""
    while edges:
        waiting = {a for a, _ in edges}
        kept = [(a, b) for a, b in edges if b in waiting]
        if len(kept) == len(edges):
            return True
        edges = kept
    return False


def test_sets_are_the_smallest_of_all(tmp_path: Path) -> None:
    """Of the turns of small networks each set is tried, smaller ones first; of one size none has a smaller share."""
    draws, sizes = random.Random(1), []
    while len(sizes) < 40:
        path = scenario(tmp_path, graph(drawn(draws)), 'scheme = "bfc"')
        failures = draws.choice(["0", "1", "all"])
        running = deadlock.search(next(iter(Experiment(path).scenarios.values())), failures)
        if running.elision is None or len(running.elision.turns) > 3:
            continue
        edges = all_edges(path, failures)
        if len(edges) > 60:
            continue
        size, share = least(edges)
        assert (len(running.elision.turns), running.elision.bound) == (size, size), path.read_text()
        assert running.elision.share == pytest.approx(share, abs=1e-9)
        sizes.append(size)
    assert set(sizes) == {2, 3}


def all_edges(path: Path, failures: str) -> list[tuple[str, str, float]]:
    """From port to port, and the share of pairs."""
    from backwater import _core

    (run,) = Experiment(path).scenarios.values()
    running = _core.deadlock(json.dumps(run), failures)
    while (found := running.wait(1.0)) is None:
        pass
    edges = json.loads(found.report())["edges"]
    return [(f"{e['from']}-{e['switch']}", f"{e['switch']}-{e['to']}", e["share"]) for e in edges]


def least(edges: list[tuple[str, str, float]]) -> tuple[int, float]:
    for size in range(1, len(edges)):
        enough = [
            sum(edges[i][2] for i in gone)
            for gone in itertools.combinations(range(len(edges)), size)
            if not circles_left([(a, b) for i, (a, b, _) in enumerate(edges) if i not in gone])
        ]
        if enough:
            return size, min(enough)
    raise AssertionError("all edges are enough")


def test_without_time_the_set_is_enough_and_its_bound_is_told(tmp_path: Path) -> None:
    path = scenario(tmp_path, LEAF_SPINE.format(leaves=5, spines=4), 'scheme = "bfc"')
    (run,) = Experiment(path).scenarios.values()
    found = deadlock.search(run, "all", seconds=0.0)
    assert found.elision is not None
    assert found.elision.bound <= 5 * 6 <= len(found.elision.turns)
    assert search(path, "all", **{"switch.bfc.elide": [turn.names for turn in found.elision.turns]}).is_acyclic


def test_the_same_is_found_again(tmp_path: Path) -> None:
    path = scenario(tmp_path, LEAF_SPINE.format(leaves=4, spines=3), 'scheme = "flowsail"')
    assert search(path, "all").to_json() == search(path, "all").to_json()


def test_a_computation_has_no_network_to_look_at(tmp_path: Path) -> None:
    path = tmp_path / "computes.toml"
    path.write_text('[compute]\nkind = "starvation"\nthreshold = 1\n')
    with pytest.raises(InputError, match="computes starvation: expected a scenario of a network"):
        Experiment(path).deadlock()
