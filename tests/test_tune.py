"""Tuning: what a range is, that a search finds the best value, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backwater import Experiment, InputError, sizes, topology, units, workload
from backwater.tuning import declared, ranges, search
from backwater.tuning.declared import Bounds
from backwater.tuning.ranges import Choice, Range
from conftest import Cli

optuna = pytest.importorskip("optuna")

NET = topology.single_switch(hosts=4, rate=100 * units.Gbps, delay=1 * units.us)
TRAFFIC = workload.background(sizes=sizes.fixed(50 * units.KB), load=0.7, load_of="receivers")


@pytest.fixture(scope="module")
def dctcp() -> Experiment:
    return Experiment.of(NET, TRAFFIC, schemes="dctcp", duration=200 * units.us, name="mine")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0.01..1:log", Range(0.01, 1, is_log=True)),
        ("8..128", Range(8, 128, is_whole=True)),
        ("50KB..400 KB", Range(50e3, 400e3, base="B")),
        ("1us..1ms:log", Range(1e-6, 1e-3, is_log=True, base="s")),
        ("100 Mbps..1 Gbps", Range(1e8, 1e9, base="bps")),
        ("bfc|flowsail", Choice(("bfc", "flowsail"))),
        ("8|32|128", Choice((8, 32, 128))),
    ],
)
def test_a_range_is_read(text: str, found: Range | Choice) -> None:
    assert ranges.parsed("key", text) == found


@pytest.mark.parametrize("text", ["", "3", "1..", "2..1", "0..1:log", "1KB..1us", "1..2:lin", "a..b"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=f"^key={text}"):
        ranges.parsed("key", text)


SCHEMA: declared.Schema = {
    "$defs": {
        "Duration": {"type": "string"},
        "Rates": {
            "properties": {
                "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                "between": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 2},
                "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 64},
                "width": {"type": "integer", "minimum": 0, "maximum": 65535},
                "seed": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
                "open": {"type": "number", "minimum": 0},
                "time": {"$ref": "#/$defs/Duration", "minimum": 1e-9, "maximum": 0.2},
                "name": {"type": "string"},
            }
        },
        "Traffic": {
            "oneOf": [
                {"properties": {"kind": {"const": "a"}, "n": {"type": "integer", "minimum": 1, "maximum": 3}}},
                {"properties": {"kind": {"const": "b"}, "n": {"type": "integer", "minimum": 1, "maximum": 9}}},
            ]
        },
    },
    "properties": {
        "host": {"$ref": "#/$defs/Rates"},
        "maybe": {"anyOf": [{"$ref": "#/$defs/Rates"}, {"type": "null"}]},
        "workload": {"type": "array", "items": {"$ref": "#/$defs/Traffic"}},
    },
}


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("host.share", Bounds(0.001, 1, False, "")),
        ("maybe.between", Bounds(0.002, 1.998, False, "")),
        ("host.count", Bounds(1, 64, True, "")),
        ("host.time", Bounds(1e-9, 0.2, False, "s")),
        ("workload.0.n", Bounds(1, 9, True, "")),
        ("workload.1.n", Bounds(1, 3, True, "")),
        ("workload.2.n", None),
        ("host.width", None),
        ("host.seed", None),
        ("host.open", None),
        ("host.name", None),
        ("host", None),
        ("host.nothing", None),
        ("host.share.more", None),
    ],
)
def test_a_declared_range_is_found(key: str, found: Bounds | None) -> None:
    assert declared.bounds(key, {"workload": [{"kind": "b"}, {"kind": "a"}]}, SCHEMA) == found


def test_a_key_without_a_range_takes_the_declared_one(dctcp: Experiment) -> None:
    scenario = search.first_scenario(dctcp)
    found = ranges.of({"host.dctcp.g": None, "host.hpcc.utilization": ":log", "switch.bfc.pipelines": None}, scenario)
    assert found == {
        "host.dctcp.g": Range(0.001, 1),
        "host.hpcc.utilization": Range(0.001, 1, is_log=True),
        "switch.bfc.pipelines": Range(1, 16, is_whole=True),
    }
    for key, told, said in (
        (
            "host.dctcp.min_rate",
            None,
            r"^host\.dctcp\.min_rate: no range is declared .* write host\.dctcp\.min_rate=RANGE",
        ),
        ("host.dctcp.gg", ":log", r"^host\.dctcp\.gg: no range is declared"),
        ("switch.ecn.pmax", ":log", r"^switch\.ecn\.pmax:log: the declared range begins at 0; expected"),
    ):
        with pytest.raises(InputError, match=said):
            ranges.of({key: told}, scenario)


def test_ranges_may_be_python_values() -> None:
    assert ranges.of(
        {"a": (0.1, 1.0), "b": (8, 64), "c": ("1 KB", "2 KB"), "d": [1, 2], "e": (1 * units.us, 2 * units.us)},
        {},
    ) == {
        "a": Range(0.1, 1),
        "b": Range(8, 64, is_whole=True),
        "c": Range(1e3, 2e3, base="B"),
        "d": Choice((1, 2)),
        "e": Range(1e-6, 2e-6, base="s"),
    }
    for wrong in ({}, {"a": 3}, {"a": (1, "1 KB")}):
        with pytest.raises(InputError, match=r"over: expected a key|^a="):
            ranges.of(wrong, {})


def test_a_search_finds_the_best_value_and_is_the_same_again(dctcp: Experiment, tmp_path: Path) -> None:
    """The more often flows pause for the additive increase, the longer they take: the largest step is best."""
    told: list[int] = []
    over = {"host.dctcp.additive_increase": ("10 Mbps", "20 Gbps"), "host.dctcp.g": "0.01..1:log"}
    first = search.tune(
        dctcp,
        over,
        "slowdown.background.all.mean",
        trials=12,
        store=tmp_path / "store",
        tell=lambda trial, tuned: told.append(trial.number),
    )
    assert told == list(range(1, 13))
    best = first.best
    assert best is not None
    assert best.objective == min(one.objective for one in first.trials if one.objective is not None)
    assert best.objective <= first.trials[0].objective, (
        "as good as the scenario's own values, which are the first trial"
    )
    assert first.trials[0].values == {"host.dctcp.additive_increase": "961 Mbps", "host.dctcp.g": 0.0625}
    assert dctcp.with_(best.values).simulate()[0].digest == best.digest
    again = search.tune(dctcp, over, "slowdown.background.all.mean", trials=12, store=tmp_path / "store")
    assert [(one.values, one.digest) for one in again.trials] == [(one.values, one.digest) for one in first.trials]
    table = first.table()
    assert table.column_names == ["trial", *over, "objective", "digest", "seconds", "refused"]


def test_a_search_can_maximize_and_choose(dctcp: Experiment) -> None:
    tuned = search.tune(
        dctcp, {"scheme": ["bfc", "dctcp"]}, "throughput.background.goodput_bps", maximize=True, trials=4
    )
    assert tuned.best is not None
    assert tuned.best.objective == max(one.objective or 0 for one in tuned.trials)
    with pytest.raises(InputError, match=r"objective 'slowdown\.p99': did you mean"):
        search.tune(dctcp, {"host.dctcp.g": (0.1, 1)}, "slowdown.p99", trials=1)
    with pytest.raises(InputError, match=r"host\.dctcp\.gg = "):
        search.tune(dctcp, {"host.dctcp.gg": (0.1, 1)}, "packet_hops", trials=2)


def test_a_key_that_nothing_takes_ends_a_search_before_its_first_trial(dctcp: Experiment) -> None:
    told: list[int] = []
    for over, said in (
        ({"host.dctcp.gg": (0.1, 1)}, r"host\.dctcp\.gg = 0\.1: unknown key; allowed"),
        ({"host.dctcp.g": (0.1, 1), "switch.queues": (0.5, 0.75)}, r"switch\.queues = 0\.5"),
        ({"switch.assignment": ["dinamic"]}, r"switch\.assignment = "),
    ):
        with pytest.raises(InputError, match=said):
            search.tune(dctcp, over, "packet_hops", tell=lambda trial, tuned: told.append(trial.number))
    assert told == []


def test_values_that_are_refused_together_cost_a_trial(dctcp: Experiment) -> None:
    """Half of all pairs of thresholds are in the wrong order."""
    over = {"switch.ecn.kmin": ("10 KB", "400 KB"), "switch.ecn.kmax": ("10 KB", "400 KB")}
    tuned = search.tune(dctcp.with_(scheme="dcqcn"), over, "packet_hops", trials=12)
    assert [one.number for one in tuned.trials] == list(range(1, 13))
    refused = [one for one in tuned.trials if one.refused]
    assert refused
    assert all((one.objective, one.digest) == (None, "") and "switch.ecn.k" in one.refused for one in refused)
    assert all(one.objective is not None for one in tuned.trials if not one.refused)
    assert tuned.best is not None
    assert not tuned.best.refused


def test_the_command_tunes_over_a_declared_range(dctcp: Experiment, cli: Cli, tmp_path: Path) -> None:
    dctcp.save(tmp_path / "mine.toml")
    words: list[Any] = ["tune", tmp_path / "mine.toml", "--over", "host.dctcp.g:log", "--trials", 3, "--out", "here"]
    done = cli(*words, "--minimize", "slowdown.background.all.p99", "--json").stdout
    drawn = [one["values"]["host.dctcp.g"] for one in json.loads(done)["trials"]]
    assert drawn[0] == 0.0625
    assert all(0.001 <= g <= 1 for g in drawn)


def test_the_command_leaves_trials_and_the_best_scenario(dctcp: Experiment, cli: Cli, tmp_path: Path) -> None:
    dctcp.save(tmp_path / "mine.toml")
    words: list[Any] = [
        "tune",
        tmp_path / "mine.toml",
        "--over",
        "host.dctcp.g=0.01..1:log",
        "--trials",
        3,
        "--out",
        "here",
    ]
    done = cli(*words, "--minimize", "slowdown.background.all.p99")
    assert "Trial 1 of 3: slowdown.background.all.p99 " in done.stdout
    assert "Best: trial " in done.stdout
    best = Experiment(tmp_path / "here/best.toml")
    assert best.scenarios
    unknown = cli(*words[:-1], "there", "--minimize", "slowdown.p9")
    assert (unknown.returncode, (tmp_path / "there").exists()) == (2, False)
    refused = cli(*words, "--minimize", "packet_hops")
    assert refused.returncode == 2
    assert "--out here: exists; name another directory, or replace it with --force" in refused.stderr
    found = cli(*words, "--force", "--maximize", "packet_hops", "--json").stdout
    assert [one["trial"] for one in json.loads(found)["trials"]] == [1, 2, 3]
    for wrong, said in (
        (["--minimize", "packet_hops", "--maximize", "packet_hops"], "expected one of them"),
        ([], "expected one of them"),
        (
            ["--minimize", "packet_hops", "--over", "scheme"],
            "scheme: no range is declared for this key; write scheme=RANGE",
        ),
        (["--minimize", "packet_hops", "--over", "host.dctcp.g:lin"], "host.dctcp.g=:lin: expected a range"),
    ):
        refused = cli(*words[:2], "--over", "host.dctcp.g=0.1..1", *wrong, "--out", "x")
        assert (refused.returncode, said in refused.stderr) == (2, True)
