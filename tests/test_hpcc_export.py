"""Scenarios and runs become files of HPCC's simulator, and files come back as they went."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backwater import Experiment, InputError, Results, _core
from backwater.hpcc import exporter, fct, flows, importer, topology, units
from backwater.hpcc.imported import Imported
from conftest import HPCC, Cli
from test_hpcc_import import CONFIG, FLOWS, TOPOLOGY, edited

CLOS = """
scheme = "{scheme}"
compat = "hpcc-sim"
seed = {seed}

[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 3
host_rate = "{host_rate} Gbps"
core_rate = "100 Gbps"
host_delay = "{delay} ns"
core_delay = "1 us"

[switch]
buffer = "{buffer} MiB"

[[workload]]
kind = "background"
sizes = {{ table = "google_rpc" }}
load = 0.5

[[workload]]
kind = "incast"
degree = 3
aggregate = "60 KB"
period = "25 us"

[run]
duration = "100 us"
warmup = "0 s"
origin = "{origin} ms"
"""


def scenario_of(text: str, place: Path) -> dict[str, Any]:
    (place / "scenario.toml").write_text(text)
    return Experiment(place / "scenario.toml").plan.runs[0].scenario


def imported_again(exported: exporter.Exported, place: Path, transport: str) -> tuple[dict[str, Any], Imported]:
    exporter.write(exported, place / "files", force=False)
    files = [place / "files" / name for name in ("topology.txt", "flow.txt", "config.txt")]
    imported = importer.read(files[0], files[1], files[2], transport, "again")
    path = importer.write(imported, place / "again" / "again.toml", force=False)[0]
    return Experiment(path).plan.runs[0].scenario, imported


def entry(exported: exporter.Exported, key: str) -> str:
    """The value of a key of config.txt."""
    return dict(line.split(" ", 1) for line in exported.files["config.txt"].splitlines())[key]


def absolute(scenario: dict[str, Any]) -> list[tuple[int, int, int, int, int, int]]:
    """Start in nanoseconds, ends, bytes, port and priority of every flow a run starts, host by host in order."""
    origin = units.resolved(scenario["run"]["origin"])
    ids = [node["id"] for node in json.loads(_core.network(json.dumps(scenario)))["nodes"]]
    listed = [
        ((origin + at + 500) // 1000, ids[src], ids[dst], size, port, priority)
        for at, src, dst, size, port, priority in exporter.drawn(scenario)
    ]
    return sorted(listed, key=lambda flow: flow[:2])


@pytest.mark.parametrize(
    ("transport", "changes"),
    [
        ("dctcp", []),
        ("dctcp", ["GLOBAL_T 0", "VAR_WIN 0"]),
        ("line-rate", ["CC_MODE 0", "HAS_WIN 0"]),
        ("hpcc", ["CC_MODE 3"]),
        ("hpcc", ["CC_MODE 3", "FAST_REACT 1", "INT_MULTI 4", "U_TARGET 0.9", "MI_THRESH 5"]),
        ("hpcc", ["CC_MODE 3", "MULTI_RATE 1", "MIN_RATE 1Gb/s", "RATE_AI 0b/s"]),
        ("dcqcn", ["CC_MODE 1"]),
        ("dcqcn", ["CC_MODE 1", "FAST_RECOVERY_TIMES 0", "RATE_AI 0b/s", "RATE_HAI 0b/s"]),
        ("dcqcn", ["CC_MODE 1", "RP_TIMER 55", "CLAMP_TARGET_RATE 1", "FAST_RECOVERY_TIMES 5", "HAS_WIN 0"]),
        ("timely", ["CC_MODE 7"]),
        ("timely", ["CC_MODE 7", "HAS_WIN 1", "VAR_WIN 0", "RATE_AI 10Mb/s", "RATE_HAI 50Mb/s", "MIN_RATE 50Mb/s"]),
        ("hpcc", ["CC_MODE 3", "SAMPLE_FEEDBACK 1", "GLOBAL_T 0", "VAR_WIN 0"]),
        ("dctcp", ["L2_ACK_INTERVAL 9000", "RATE_BOUND 0", "ERROR_RATE_PER_LINK 0.0005"]),
        ("hpcc", ["CC_MODE 3", "RATE_BOUND 0"]),
        ("pint", ["CC_MODE 10"]),
        ("pint", ["CC_MODE 10", "PINT_LOG_BASE 1.02", "PINT_PROB 0.25", "MI_THRESH 5", "U_TARGET 0.9", "HAS_WIN 0"]),
    ],
)
def test_an_import_comes_back_from_its_export(tmp_path: Path, transport: str, changes: list[str]) -> None:
    lossy = edited(TOPOLOGY, tmp_path, "4 6 400Gbps 1000ns 0.000000", "4 6 400Gbps 1000ns 0.00001")
    config = edited(CONFIG, tmp_path, "LINK_DOWN 0 0 0", "LINK_DOWN 300 5 7")
    before = config.read_text()
    for change in changes:
        key = change.split()[0]
        old = next(line for line in before.splitlines() if line.split()[:1] == [key])
        config = edited(config, tmp_path, f"\n{old}", f"\n{change}")
    first = importer.read(lossy, FLOWS, config, transport, "again")
    scenario = Experiment(importer.write(first, tmp_path / "first.toml", force=False)[0]).plan.runs[0].scenario
    exported = exporter.read(scenario)
    assert exported.notes == []
    assert exported.files["topology.txt"] == lossy.read_text().replace("0.00001\n", "0.000010\n")
    again, imported = imported_again(exported, tmp_path, transport)
    assert imported.flows.flows == first.flows.flows
    assert imported.network.links == first.network.links
    again["run"].pop("drain"), scenario["run"].pop("drain")
    assert again == scenario


def test_priority_groups_come_back_from_an_export(tmp_path: Path) -> None:
    several = edited(FLOWS, tmp_path, "1 3 3 200 2000", "1 3 7 200 2000")
    first = importer.read(TOPOLOGY, several, CONFIG, "dctcp", "again")
    scenario = Experiment(importer.write(first, tmp_path / "first.toml", force=False)[0]).plan.runs[0].scenario
    exported = exporter.read(scenario)
    assert exported.notes == []
    again, imported = imported_again(exported, tmp_path, "dctcp")
    assert imported.flows.flows == first.flows.flows
    assert imported.flows.groups == {3, 7}
    again["run"].pop("drain"), scenario["run"].pop("drain")
    assert again == scenario


def test_priorities_from_0_are_groups_from_1(tmp_path: Path) -> None:
    workloads = CLOS.split("[[workload]]")
    text = "[[workload]]".join([*workloads[:2], "\npriority = 6" + workloads[2]])
    text = text.replace("[switch]\n", '[switch]\nassignment = "class"\nqueues = 8\n')
    drawn = {"scheme": "dctcp", "seed": 1, "host_rate": 100, "delay": 1000, "buffer": 12, "origin": 2000}
    exported = exporter.read(scenario_of(text.format(**drawn), tmp_path))
    assert "priorities are groups one higher: group 0 there is that of pauses" in exported.notes
    assert {line.split()[2] for line in exported.files["flow.txt"].splitlines()[1:]} == {"1", "7"}
    too_many = scenario_of(text.replace("priority = 6", "priority = 7").format(**drawn), tmp_path)
    with pytest.raises(InputError, match="priorities 0 to 7: expected 7 of them at most"):
        exporter.read(too_many)


@settings(max_examples=25, deadline=None)
@given(
    scheme=st.sampled_from(["dctcp", "hpcc", "pfc"]),
    seed=st.integers(1, 10**6),
    host_rate=st.sampled_from([10, 25, 100]),
    delay=st.integers(1, 3000),
    buffer=st.integers(4, 64),
    origin=st.integers(0, 5000),
)
def test_exported_traffic_comes_back(**drawn: Any) -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        scenario = scenario_of(CLOS.format(**drawn), place)
        exported = exporter.read(scenario)
        again, _ = imported_again(exported, place, {"pfc": "line-rate"}.get(drawn["scheme"], drawn["scheme"]))
        expected = absolute(scenario)
        if drawn["origin"] == 0:
            expected = [(at + exporter.ORIGIN_NS, *rest) for at, *rest in expected]
        assert absolute(again) == expected
        core, core_again = (json.loads(_core.network(json.dumps(one))) for one in (scenario, again))
        assert core["links"] == core_again["links"]
        assert [(n["id"], n["host"]) for n in core["nodes"]] == [(n["id"], n["host"]) for n in core_again["nodes"]]
        for section in ("conventions", "switch", "host", "measure", "fault"):
            ours, theirs = scenario[section], again[section]
            if section == "switch" and "ecn" in ours:
                assert marks(ours["ecn"], drawn) == marks(theirs["ecn"], drawn)
                ours["ecn"] = theirs["ecn"] = None
            if section == "host" and drawn["scheme"] == "pfc":  # Without a window, and DCTCP's keys are of no use.
                assert (ours.pop("window"), theirs.pop("window")) == ("base-bdp", "none")
                ours.pop("dctcp"), theirs.pop("dctcp")
            if section == "host" and drawn["scheme"] == "hpcc":
                ours["hpcc"]["int_unit"] = max(1, drawn["host_rate"] // 25)  # What the scenario leaves open is written.
            assert ours == theirs


CROWD = '[[workload]]\nkind = "flow-list"\nclass = "background"\nflows = ['
for i in range(100):
    ends = f'src = "host{1 + i % 5}", dst = "host{0 if i % 2 == 0 else 1 + (i + 2) % 5}"'
    CROWD += f'{{ start = "{137 * i} ns", {ends}, bytes = "{20 + 7 * i % 90} KB" }}, '
CROWD += "]\n\n"
"""Every other flow into one host, all at whole nanoseconds, as they are written."""
MARKS = '[switch.ecn]\nkmin = "20 KB"\nkmax = "80 KB"\npmax = 0.2\n'
CONTROLS = {
    "dctcp": ("dctcp", ""),
    "line rate": ("pfc", ""),
    "dcqcn": ("dcqcn-vendor", MARKS),
    "dcqcn with a window": ("dcqcn-vendor", MARKS + '[host]\nwindow = "base-bdp"\n[host.dcqcn]\nclamp = true\n'),
    "timely": ("timely", ""),
    "timely with a window": ("timely+win", ""),
    "hpcc": ("hpcc", ""),
    "once a round trip": ("hpcc", '[host.hpcc]\nreacts = "per-rtt"\n'),
    "a rate for each hop": ("hpcc", "[host.hpcc]\nmulti_rate = true\n"),
    "sampled": ("hpcc", "[host.hpcc]\nsample_feedback = true\n"),
    "steps": ("hpcc", "[host.hpcc]\nmax_stage = 5\nutilization = 0.9\nint_unit = 1\nwindow_follows_rate = false\n"),
    "no steps": ("hpcc", '[host.hpcc]\nadditive_increase = "0 bps"\nmin_rate = "50 Mbps"\n'),
    "no gaps": ("hpcc", "[host.hpcc]\npaced = false\n"),
    "few ACKs": ("dctcp", '[host]\nack_from = "20 KB"\n'),
    "windows of pairs": ("hpcc", '[host]\nwindow = "pair-bdp"\n'),
    "pint": ("hpcc-pint", ""),
    "pint by other powers": ("hpcc-pint", "[host.pint]\nlog_base = 1.05\n"),
    "pint of every other ACK": ("hpcc-pint", "[host.pint]\nsampled = 0.5\n"),
}
"""Scheme, and what differs from it."""


@pytest.fixture(scope="module")
def completions() -> dict[str, str]:
    """The completion times of each control so far."""
    return {}


@pytest.mark.parametrize("control", CONTROLS)
def test_what_comes_back_runs_as_what_went(tmp_path: Path, control: str, completions: dict[str, str]) -> None:
    scheme, change = CONTROLS[control]
    text = CLOS.format(scheme=scheme, seed=1, host_rate=100, delay=1000, buffer=12, origin=2000)
    head, tail = text[: text.index("[[workload]]")], text[text.index("[run]") :]
    scenario = scenario_of(head + CROWD + tail + change, tmp_path)
    exported = exporter.read(scenario)
    assert exported.notes == []
    imported_again(exported, tmp_path, scenario["host"]["transport"])
    paths = (tmp_path / "scenario.toml", tmp_path / "again" / "again.toml")
    went, back = (Experiment(path).run(tmp_path / f"run {path.stem}").runs[0] for path in paths)
    assert went.digests["flows"] == back.digests["flows"]
    fct.write(went, tmp_path / "went.txt"), fct.write(back, tmp_path / "back.txt")
    times = (tmp_path / "went.txt").read_text()
    assert times == (tmp_path / "back.txt").read_text()
    assert times not in completions.values(), "each control makes a difference"
    completions[control] = times


def marks(ecn: dict[str, Any], drawn: dict[str, Any]) -> list[tuple[str, str, float]]:
    """Thresholds at the rates there are."""
    by_rate = {at["rate"]: at for at in ecn.get("by_rate", [])}
    rows = [by_rate.get(rate, ecn) for rate in (f"{drawn['host_rate']} Gbps", "100 Gbps")]
    return [(row["kmin"], row["kmax"], row["pmax"]) for row in rows]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 65 * 10**9))
def test_a_time_is_printed_so_that_it_is_read_back(ns: int) -> None:
    assert units.nanoseconds(float(units.seconds(ns))) == ns


def test_what_the_simulator_cannot_do_is_said(tmp_path: Path) -> None:
    text = CLOS.format(scheme="bfc", seed=1, host_rate=100, delay=1000, buffer=12, origin=0).replace(
        'compat = "hpcc-sim"\n', ""
    )
    text = text.replace('buffer = "12 MiB"', 'buffer = "infinite"\nsymmetric_ecmp = true\nalpha = 2.0')
    text += '[[workload]]\nkind = "long-lived"\ncount = 2\nto = ["host0"]\n'
    text += '[[fault]]\nlink = ["leaf0", "spine0"]\ncontrol_loss = 0.1\ndown = [["10 us", "20 us"]]\n'
    text += '[host]\ndelay = "1 us"\nheader = "47 B"\nnack_guard = "1 us"\nwindow = "200 KB"\n'
    exported = exporter.read(scenario_of(text, tmp_path))
    told = "\n".join(exported.notes)
    for what in (
        "2 endless flows: 4294967295 bytes each",
        "flows start at whole nanoseconds",
        "an infinite buffer is 4095 MiB",
        'host.window is "200 KB": there it is 104000 B, the largest base BDP',
        "leaf0 - spine0 stays up",
        "BFC's backpressure: switches there have PFC",
        'switch.assignment = "dynamic"',
        "switch.alpha",
        "switch.symmetric_ecmp",
        "host.header is 47 B: there 48 B",
        "host.ack is 64 B: there 60 B",
        "host.delay",
        "host.nack_guard",
        "fault.control_loss",
        'compat = "hpcc-sim"',
    ):
        assert what in told
    assert "CC_MODE 0\n" in exported.files["config.txt"]
    assert "HAS_WIN 1\n" in exported.files["config.txt"]


@pytest.mark.parametrize(
    ("scheme", "what"),
    [
        ("bfc", "BFC's backpressure"),
        ("flowsail", "FlowSail's backpressure"),
        ("ideal-fc", "backpressure by flow"),
        ("fifo", "no backpressure"),
    ],
)
def test_backpressure_that_the_simulator_does_not_have_is_said(tmp_path: Path, scheme: str, what: str) -> None:
    text = CLOS.format(scheme=scheme, seed=1, host_rate=100, delay=1000, buffer=12, origin=2000)
    exported = exporter.read(scenario_of(text.replace('compat = "hpcc-sim"\n', ""), tmp_path))
    assert f"{what}: switches there have PFC, always" in exported.notes


@pytest.mark.parametrize(
    ("scheme", "rate"),
    [("dctcp", 100), ("hpcc", 100), ("hpcc", 10), ("hpcc-pint", 100), ("timely", 100), ("dcqcn-vendor", 100)],
)
def test_a_scenario_in_the_profile_is_exported_without_a_remark(tmp_path: Path, scheme: str, rate: int) -> None:
    text = CLOS.format(scheme=scheme, seed=1, host_rate=rate, delay=1000, buffer=12, origin=2000)
    exported = exporter.read(scenario_of(text, tmp_path))
    assert exported.notes == ["flows start at whole nanoseconds"]
    assert exported.files["topology.txt"].splitlines()[:3] == ["10 4 10", "6 7 8 9", f"0 6 {rate}Gbps 1000ns 0.000000"]
    assert exported.files["trace.txt"] == "0\n"
    ports = {line.split()[3] for line in exported.files["flow.txt"].splitlines()[1:]}
    assert ports == {"100", "200"}


def test_what_is_written_of_hpcc_and_what_is_said(tmp_path: Path) -> None:
    text = CLOS.format(scheme="hpcc", seed=1, host_rate=10, delay=1000, buffer=12, origin=2000)
    text = text.replace('compat = "hpcc-sim"\n', "")
    plain = exporter.read(scenario_of(text, tmp_path))
    keys = ("U_TARGET", "MI_THRESH", "RATE_AI", "MIN_RATE", "FAST_REACT", "MULTI_RATE", "SAMPLE_FEEDBACK", "INT_MULTI")
    written = ["0.95", "5", "50Mbps", "100Mbps", "1", "0", "0", "1"]
    assert [entry(plain, key) for key in keys] == written
    assert (entry(plain, "VAR_WIN"), entry(plain, "RATE_BOUND"), entry(plain, "ENABLE_QCN")) == ("1", "1", "0")
    assert "host.ack is 92 B: there 88 B" in plain.notes
    assert "telemetry: there it takes links of 10 Gbps for 25 Gbps" in plain.notes
    text += '[host.hpcc]\nreacts = "per-ack"\npaced = false\nint_bytes = "20 B"\n'
    changed = exporter.read(scenario_of(text, tmp_path))
    assert (entry(changed, "FAST_REACT"), entry(changed, "RATE_BOUND")) == ("1", "0")
    assert [note.split(":")[0] for note in changed.notes if note not in plain.notes] == [
        'host.hpcc.reacts is "per-ack"',
        "host.hpcc.paced",
        "host.hpcc.int_bytes is 20 B",
    ]


def test_what_is_written_of_dcqcn_and_what_is_said(tmp_path: Path) -> None:
    text = CLOS.format(scheme="dcqcn-vendor", seed=1, host_rate=100, delay=1000, buffer=12, origin=2000)
    text = text.replace('compat = "hpcc-sim"\n', "")
    plain = exporter.read(scenario_of(text, tmp_path))
    keys = ("ALPHA_RESUME_INTERVAL", "RATE_DECREASE_INTERVAL", "RP_TIMER", "FAST_RECOVERY_TIMES", "CLAMP_TARGET_RATE")
    assert [entry(plain, key) for key in keys] == ["1", "4", "300", "1", "0"]
    keys = ("EWMA_GAIN", "RATE_AI", "RATE_HAI", "MIN_RATE", "HAS_WIN", "ENABLE_QCN", "KMIN_MAP", "PMAX_MAP")
    written = ["0.00390625", "20Mbps", "200Mbps", "1Gbps", "0", "1", "1 100000000000 400", "1 100000000000 0.2"]
    assert [entry(plain, key) for key in keys] == written
    text += '[host.dcqcn]\nalpha = 0.5\nalpha_timer = "500 ns"\nincrease_timer = "55500 ns"\n'
    changed = exporter.read(scenario_of(text, tmp_path))
    assert [note for note in changed.notes if note not in plain.notes] == [
        "host.dcqcn.alpha is 0.5: there 1",
        "host.dcqcn.alpha_timer is 500 ns: there whole microseconds, 1 us",
        "host.dcqcn.increase_timer is 55500 ns: there whole microseconds, 55 us",
    ]


def test_what_is_written_of_timely_and_what_is_said(tmp_path: Path) -> None:
    text = CLOS.format(scheme="timely", seed=1, host_rate=100, delay=1000, buffer=12, origin=2000)
    text = text.replace('compat = "hpcc-sim"\n', "")
    plain = exporter.read(scenario_of(text, tmp_path))
    keys = ("RATE_AI", "RATE_HAI", "MIN_RATE", "HAS_WIN", "VAR_WIN", "ENABLE_QCN")
    assert [entry(plain, key) for key in keys] == ["100Mbps", "500Mbps", "100Mbps", "0", "0", "0"]
    text += '[host.timely]\nbeta = 0.5\nhyper_after = 4\nt_low = "10 us"\nstamp_bytes = "0 B"\n'
    changed = exporter.read(scenario_of(text, tmp_path))
    assert [note for note in changed.notes if note not in plain.notes] == [
        "host.timely.beta is 0.5: there 0.8",
        "host.timely.hyper_after is 4: there 5",
        "host.timely.t_low is 10 us: there 50 us",
        "host.timely.stamp_bytes is 0 B: there 8 B",
    ]


def test_what_is_written_of_pint_and_what_is_said(tmp_path: Path) -> None:
    text = CLOS.format(scheme="hpcc-pint", seed=1, host_rate=100, delay=1000, buffer=12, origin=2000)
    text = text.replace('compat = "hpcc-sim"\n', "")
    plain = exporter.read(scenario_of(text, tmp_path))
    keys = ("U_TARGET", "MI_THRESH", "RATE_AI", "MIN_RATE", "PINT_LOG_BASE", "PINT_PROB", "HAS_WIN", "RATE_BOUND")
    written = ["0.95", "0", "50Mbps", "100Mbps", "1.05", "1.0", "1", "1"]
    assert [entry(plain, key) for key in keys] == written
    assert "host.pint.pint_bytes is 1 B: there 2 B" in plain.notes


@pytest.mark.parametrize("scheme", [one["name"] for one in json.loads(_core.schemes())])
def test_every_scheme_is_written_with_its_control_or_refused(tmp_path: Path, scheme: str) -> None:
    text = CLOS.format(scheme=scheme, seed=1, host_rate=100, delay=1000, buffer=12, origin=2000)
    scenario = scenario_of(text.replace('compat = "hpcc-sim"\n', ""), tmp_path)
    transport = scenario["host"]["transport"]
    mode = {"line-rate": "0", "window": "0", "hpcc": "3", "pint": "10", "timely": "7", "dctcp": "8"}.get(transport)
    if scheme == "dcqcn-vendor":
        mode = "1"
    elif scheme == "dctcp+ss":
        mode = None
    if mode is not None:
        assert entry(exporter.read(scenario), "CC_MODE") == mode
        return
    with pytest.raises(InputError) as refused:
        exporter.read(scenario)
    known = "line-rate, window, dctcp, dcqcn, hpcc, pint, timely"
    says = f'host.transport: "{transport}": there is no export of it: expected one of {known}'
    if transport == "dcqcn":
        says = 'host.dcqcn.variant: "published": there is no export of it: expected vendor'
    elif transport == "dctcp":
        says = "host.dctcp.slow_start: true: there is no export of it: expected false"
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("scheme", "window", "written", "note"),
    [
        ("dctcp", "base-bdp", ("1", "1"), None),
        ("dctcp", "pair-bdp", ("1", "0"), None),
        ("dctcp", "104000 B", ("1", "1"), None),
        ("dctcp", "200 KB", ("1", "1"), 'host.window is "200 KB": there it is 104000 B, the largest base BDP'),
        ("dctcp", "bdp", ("1", "1"), 'host.window is "bdp": there it is 104000 B, the largest base BDP'),
        ("dctcp", "none", ("0", "1"), None),
        ("timely", "none", ("0", "1"), None),
        ("hpcc", "pair-bdp", ("1", "0"), None),
        ("hpcc", "none", ("1", "1"), 'host.window is "none": there it is 104000 B, the largest base BDP'),
        ("pfc", "pair-bdp", ("0", "0"), None),  # Line rate has no window but a size.
        ("pfc", "104000 B", ("1", "1"), None),
    ],
)
def test_windows_are_written(
    tmp_path: Path, scheme: str, window: str, written: tuple[str, str], note: str | None
) -> None:
    text = CLOS.format(scheme=scheme, seed=1, host_rate=100, delay=1000, buffer=12, origin=2000)
    exported = exporter.read(scenario_of(f'{text}[host]\nwindow = "{window}"\n', tmp_path))
    assert (entry(exported, "HAS_WIN"), entry(exported, "GLOBAL_T")) == written
    assert [told for told in exported.notes if "window" in told] == ([note] if note else [])


def test_acks_that_no_pause_of_data_holds_come_back(tmp_path: Path) -> None:
    text = CLOS.format(scheme="dctcp", seed=1, host_rate=100, delay=1000, buffer=12, origin=2000)
    scenario = scenario_of(text + '[host]\nack_class = "high"\n', tmp_path)
    again, _ = imported_again(exporter.read(scenario), tmp_path, "dctcp")
    assert (again["conventions"]["acks"], again["host"]["ack_class"]) == ("data", "high")


def test_a_switch_that_never_marks_comes_back(tmp_path: Path) -> None:
    config = edited(CONFIG, tmp_path, "ENABLE_QCN 1", "ENABLE_QCN 0")
    first = importer.read(TOPOLOGY, FLOWS, config, "dctcp", "again")
    scenario = Experiment(importer.write(first, tmp_path / "first.toml", force=False)[0]).plan.runs[0].scenario
    exported = exporter.read(scenario)
    assert exported.notes == []
    again, _ = imported_again(exported, tmp_path, "dctcp")
    assert again["switch"]["ecn"] == scenario["switch"]["ecn"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("ids = [0, 1, 2, 4]", "topology.ids: 0, 1, ...: expected each number from 0 to 3 once"),
        ('bytes = "5 GB"', "flow 0, host 0 to 1: 5000000000 bytes: expected at most 4294967295"),
        ('delay = "999 ps"', "topology: a link of 999 ps: expected at least 1 ns"),
    ],
)
def test_what_would_mean_something_else_is_refused(tmp_path: Path, change: str, says: str) -> None:
    lines = {
        "ids": "ids = [0, 1, 2, 3]",
        "bytes": 'bytes = "1 KB"',
        "delay": 'delay = "1 us"',
        change.split()[0]: change,
    }
    links = ", ".join(f'{{ ends = ["h{i}", "s"], rate = "1 Gbps", {lines["delay"]} }}' for i in range(3))
    text = f"""
        scheme = "pfc"
        topology = {{ kind = "graph", hosts = ["h0", "h1", "h2"], switches = ["s"], {lines["ids"]}, links = [{links}] }}
        workload = [{{ kind = "flow-list", flows = [{{ start = "0 s", src = "h0", dst = "h1", {lines["bytes"]} }}] }}]
        run = {{ duration = "1 ms" }}
    """
    with pytest.raises(InputError) as refused:
        exporter.read(scenario_of(text, tmp_path))
    assert str(refused.value).startswith(says)


def test_flows_that_wait_for_others_are_refused(tmp_path: Path) -> None:
    text = CLOS.format(scheme="dctcp", seed=1, host_rate=100, delay=1000, buffer=12, origin=2)
    job = '[[workload]]\nkind = "collective"\npattern = "ring"\nbytes = "60 KB"\n\n'
    with pytest.raises(InputError, match="flows of a collective wait for one another"):
        exporter.read(scenario_of(text.replace("[run]", f"{job}[run]"), tmp_path))


def test_the_export_command(cli: Cli, smoke: Path, three: Path, tmp_path: Path) -> None:
    done = cli("export", "hpcc", smoke, "out", "--set", "seed=3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("out: topology.txt, flow.txt, config.txt, trace.txt: 8 hosts, 4 switches, 12 links; ")
    assert "Not the same there: BFC's backpressure" in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("config.txt", "flow.txt", "topology.txt", "trace.txt"),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    again = cli("export", "hpcc", smoke, "out")
    assert again.returncode == 2
    assert "out/topology.txt: exists" in again.stderr
    assert cli("export", "hpcc", smoke, "out", "--force").returncode == 0
    several = cli("export", "hpcc", three, "more")
    assert several.returncode == 2
    assert "3 runs: choose some with --run; expected one of BFC, DCTCP, Ideal-FQ" in several.stderr
    assert cli("export", "hpcc", three, "more", "--run", "HPCC").returncode == 2
    assert cli("export", "hpcc", three, "more", "--run", "DCTCP").returncode == 0
    assert "CC_MODE 8\n" in (tmp_path / "more" / "config.txt").read_text()


# Completion times.


def test_a_run_writes_completion_times(hpcc_run: Results, tmp_path: Path) -> None:
    file = tmp_path / "fct.txt"
    fct.write(hpcc_run.runs[0], file)
    lines = [line.split() for line in file.read_text().splitlines()]
    assert len(lines) == 6
    ends = [int(line[5]) + int(line[6]) for line in lines]
    assert ends == sorted(ends), "in order of completion"
    alone = next(line for line in lines if line[4] == "1")
    # Four links of 1 us each way, 1000 B on each: 80 + 20 + 20 + 80 ns; then 49 B at 100 Gb/s, cut off to 3 ns.
    assert alone[:6] == ["0b000301", "0b000001", "10000", "100", "1", "2000199999"]
    assert alone[7] == str(8000 + 200 + 3)
    assert {tuple(line[:5]) for line in lines if line[3] == "200"} == {
        ("0b000101", "0b000301", "10000", "200", "2000"),
        ("0b000201", "0b000301", "10000", "200", "2000"),
    }
    table = hpcc_run.runs[0].table("flows").to_pylist()
    for row in table:
        line = next(
            line for line in lines if line[4] == str(row["size_bytes"]) and line[0] == f"0b000{row['src'][4:]}01"
        )
        assert int(line[6]) == (row["finish_tx_ps"] - row["arrival_ps"]) // 1000
        assert int(line[5]) == 2 * 10**9 + row["arrival_ps"] // 1000


def test_what_is_written_is_read_back(hpcc_run: Results, tmp_path: Path) -> None:
    written = fct.write(hpcc_run.runs[0], tmp_path / "fct.txt")
    back = fct.read(tmp_path / "fct.txt")
    assert all((one == other).all() for one, other in zip(written.columns, back.columns, strict=True))
    assert [path.name for path in tmp_path.iterdir()] == ["fct.txt"]


def test_source_ports_count_the_flows_of_a_pair() -> None:
    src, dst = np.array([0, 1, 0, 0, 1]), np.array([2, 2, 2, 3, 2])
    assert fct.earlier(src, dst).tolist() == [0, 0, 1, 0, 1]
    assert fct.earlier(src[:0], dst[:0]).tolist() == []


@pytest.mark.parametrize(("node", "text"), [(0, "0b000001"), (255, "0b00ff01"), (256, "0b010001"), (320, "0b014001")])
def test_addresses_are_the_simulators(node: int, text: str) -> None:
    assert fct.address(node) == text
    assert fct.node(text) == node


def test_completion_times_of_both_kinds_are_read(tmp_path: Path) -> None:
    file = tmp_path / "fct.txt"
    file.write_text("0b000001 0b014001 10000 100 5000 2000000000 12345 4567\n")
    assert [int(column[0]) for column in fct.read(file).columns] == [0, 320, 10000, 100, 5000, 2 * 10**9, 12345, 4567]
    file.write_text("0 320 10007 10023 5000 2000000000 12345 4567\n")
    assert [int(column[0]) for column in fct.read(file).columns][:4] == [0, 320, 10007, 10023]
    file.write_text("")
    assert len(fct.read(file)) == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("0b000001 0b000101 10000 100 5000 2000000000 12345", "fct.txt:2: 7 words: expected 8, sip dip"),
        ("0c000001 0b000101 10000 100 5000 2000000000 1 1", 'fct.txt:2: source "0c000001": expected an address'),
        ("0b000001 99999 10000 100 5000 2000000000 1 1", 'fct.txt:2: destination "99999": expected an address'),
        (
            "0 1 70000 100 5000 2000000000 1 1",
            'fct.txt:2: source port "70000": expected a whole number from 0 to 65535',
        ),
        ("0 1 10000 100 0 2000000000 1 1", 'fct.txt:2: bytes "0": expected a whole number from 1'),
        ("0 1 10000 100 10 2.0 1 1", 'fct.txt:2: start "2.0": expected a whole number from 0'),
        ("0 1 10000 100 10 2 -1 1", 'fct.txt:2: completion time "-1": expected a whole number from 0'),
    ],
)
def test_completion_times_that_cannot_be_are_refused_at_their_place(tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "fct.txt"
    file.write_text(f"0 1 10000 100 5000 2000000000 1 1\n{line}\n")
    with pytest.raises(InputError) as refused:
        fct.read(file)
    assert str(refused.value).startswith(f"{tmp_path}/{says}"), refused.value


def test_run_and_export_write_the_same_completion_times(cli: Cli, tmp_path: Path) -> None:
    files = ["--topology", TOPOLOGY, "--flows", HPCC / "flow-conweave.txt", "--transport", "line-rate"]
    assert cli("import", "hpcc", *files, "-o", "here.toml").returncode == 0
    done = cli("run", "here.toml", "--out", "run", "--fct", "fct.txt")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "fct.txt: 2 flows of pfc"
    assert cli("export", "fct", "run", "again.txt").returncode == 0
    assert cli("export", "fct", "run/pfc", "inside.txt").returncode == 0
    texts = {(tmp_path / name).read_text() for name in ("fct.txt", "again.txt", "inside.txt")}
    assert len(texts) == 1
    before = cli("run", "here.toml", "--out", "other", "--fct", "fct.txt")
    assert before.returncode == 2
    assert "fct.txt: exists" in before.stderr
    assert not (tmp_path / "other").exists()


def test_several_runs_have_a_file_each(cli: Cli, smoke: Path, three: Path, tmp_path: Path) -> None:
    done = cli("run", three, "--out", "run", "--fct", "fct.txt")
    assert done.returncode == 0, done.stderr
    assert "measure.slowdown" in done.stdout
    names = {"fct.BFC.txt", "fct.DCTCP.txt", "fct.Ideal-FQ.txt"}
    assert {path.name for path in tmp_path.glob("*.txt")} == names
    for name in names:
        assert len(fct.read(tmp_path / name)) > 100
    both = cli("run", smoke, three, "--fct", "other.txt")
    assert both.returncode == 2
    assert "--fct other.txt: expected one scenario" in both.stderr
    assert cli("run", smoke, "--fct", "none/fct.txt").returncode == 2
    assert cli("run", smoke, "--fct", "run").returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["run", *names])


def test_samples_agree_with_their_reader() -> None:
    network = topology.read(TOPOLOGY)
    assert flows.text(flows.read(FLOWS, network).flows).splitlines()[1] == "0 2 3 100 10000 2.000100000"
