"""`backwater plan bcc` and `backwater list chips`: the paper's numbers come out, and what cannot work is refused."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backwater import Experiment, InputError, Results
from backwater.plan import bcc, bcc_config, bcc_trial
from backwater.plan.bcc import Plan, Pool
from backwater.plan.bcc_config import Marking
from conftest import Cli

US = 1e-6
MARKING = Marking(k_port=720_000, pool_min=1_802_000, pool_max=2_602_000, pmax=0.1)


def planned(**fields: Any) -> Plan:
    """Of the paper's pool: 8 ports of 100 Gbps, 3 MB, 128 KB a port, alpha 4, 80 us."""
    return bcc.plan(Pool(**{"rtt_s": 80 * US, **fields}))


def test_the_papers_thresholds_come_out() -> None:
    plan = planned()
    assert (plan.k_port, plan.required, plan.kmax, plan.kmin) == (720_000, 1_592_000, 2_602_000, 1_802_000)
    assert plan.thresholds == (1_802_000, 2_602_000)
    assert (plan.pmax, plan.warnings) == (0.1, [])


@pytest.mark.parametrize(
    ("alpha", "kmax", "kmin"), [(8, 2_801_000, 2_001_000), (2, 2_204_000, 1_404_000), (1, 1_408_000, 608_000)]
)
def test_a_smaller_alpha_marks_earlier(alpha: float, kmax: int, kmin: int) -> None:
    plan = planned(alphas=(float(alpha),))
    assert (plan.kmax, plan.kmin) == (kmax, kmin)


@pytest.mark.parametrize(("h_us", "kmin"), [(6, 2_002_000), (7, 1_902_000), (9, 1_702_000), (10, 1_602_000)])
def test_a_larger_h_marks_earlier(h_us: int, kmin: int) -> None:
    assert planned(h_s=h_us * US).kmin == kmin


def test_the_authors_simulations_count_in_binary() -> None:
    plan = planned(**bcc.of_chip("tomahawk", "binary"), units="binary")
    assert (plan.kmax, plan.kmin, plan.k_port) == (2_727_608, 1_908_408, 720_000)
    # As their script has it: B - (1.72 MB - S) / alpha, and 800 KB below.
    assert plan.kmax == int(3 * 1024 * 1024 - (1.72 * 1024 * 1024 - 128 * 1024) / 4)
    assert plan.kmax - plan.kmin == 800 * 1024


def test_the_least_alpha_decides() -> None:
    several = planned(queues=2, alphas=(4.0, 1.0))
    assert (several.kmax, several.kmin) == (1_408_000, 608_000)
    assert len(bcc.shares(several)) > 8  # Both queues of a port may be congested.


def test_ports_of_different_speed_count_together() -> None:
    assert planned(capacity_bps=400e9).kmin == 2_602_000 - 400_000


def test_the_cut_off_is_midway() -> None:
    plan = planned(variant="cut-off")
    assert plan.thresholds == (2_202_000, 2_202_000)
    assert plan.pmax == 1.0
    assert [plan.probability(occupancy) for occupancy in (2_202_000, 2_202_001)] == [0.0, 1.0]


def test_shares_follow_the_dynamic_threshold() -> None:
    rows = {row["queues"]: row for row in bcc.shares(planned())}
    shared = {full: round((row["share"] - 128_000) / 1000) for full, row in rows.items()}
    assert {full: shared[full] for full in (1, 2, 4, 5, 6, 8)} == {1: 2400, 2: 1333, 4: 706, 5: 571, 6: 480, 8: 364}
    assert [rows[full]["held"] for full in (1, 3, 4)] == [592_000, 1_776_000, 2_368_000]
    assert [full for full, row in rows.items() if row["drops"]] == [5, 6, 7, 8]


def test_bcc_marks_before_drops_begin() -> None:
    plan = planned()
    assert (plan.marks_from, plan.drops_from) == (4, 5)
    assert plan.probability(3 * 592_000) == 0
    assert plan.probability(4 * 592_000) == pytest.approx(0.1 * (2_368_000 - 1_802_000) / 800_000)
    assert plan.probability(5 * 592_000) == 1


def test_red_ends_where_it_should() -> None:
    plan = planned()
    assert [plan.probability(x) for x in (0, plan.kmin, plan.kmax, plan.kmax + 1)] == [0, 0, pytest.approx(0.1), 1]


def plan_or_reason(pool: Pool) -> Plan | str:
    try:
        return bcc.plan(pool)
    except InputError as error:
        return str(error)


@given(
    rtt_us=st.integers(1, 500),
    lambda_=st.floats(0.1, 2),
    h_us=st.floats(0.1, 50),
    alpha=st.sampled_from([2.0**n for n in range(-7, 4)]),
    ports=st.integers(1, 64),
    buffer=st.integers(100_000, 64_000_000),
    private=st.integers(0, 1_000_000),
)
@settings(max_examples=300, deadline=None)
def test_a_plan_is_in_order_or_refused(
    rtt_us: int, lambda_: float, h_us: float, alpha: float, ports: int, buffer: int, private: int
) -> None:
    pool = Pool(
        rtt_s=rtt_us * US,
        lambda_=lambda_,
        h_s=h_us * US,
        alphas=(alpha,),
        ports=ports,
        buffer=buffer,
        private=private,
    )
    plan = plan_or_reason(pool)
    if isinstance(plan, str):
        assert plan.startswith(("--alpha", "--h", "--lambda", "--private"))
        assert "expected" in plan
        return
    assert 0 < plan.kmin <= plan.kmax < buffer
    assert plan.k_port <= pool.share(1)
    # Where the pool holds Kmax, a queue may still have B_R: what the formula is for.
    assert alpha * (buffer - plan.kmax) >= plan.required - 1 - alpha
    assert all(row["share"] <= pool.share(1) for row in bcc.shares(plan))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"alphas": (0.5,)}, r"--alpha 0.5: expected more than 0.531, which is B_R / B = 1,592,000 B / 3,000,000 B"),
        ({"alphas": (4.0, 0.5), "queues": 2}, "--alphas 4,0.5: expected more than 0.531"),
        ({"alphas": (4.0, 2.0)}, "--alphas 4,2: expected one, or one for each of 1 queues"),
        ({"h_s": 27 * US}, "--h 27 us: expected less than 26 us"),
        ({"private": 2e6}, "--private 2,000,000 B: expected less than 1,720,000 B"),
        ({"lambda_": 1.4, "buffer": 1.2e6, "alphas": (8.0,), "h_s": US}, "--lambda 1.4: expected up to 1.19"),
        ({"rtt_s": 0.0}, "--rtt 0 ns: expected 1 ns to 1 s"),
        ({"rtt_s": float("nan")}, "--rtt"),
        ({"h_s": 0.0}, "--h 0 ns: expected 1 ns"),
        ({"lambda_": -1.0}, "--lambda -1: expected 0.01 to 10"),
        ({"pmax": 1.5}, "--pmax 1.5: expected 0.001 to 1"),
        ({"ports": 0}, "--ports 0: expected 1 to 1024"),
        ({"queues": 0}, "--queues 0"),
        ({"buffer": 0.0}, "--buffer"),
        ({"alphas": (0.0,)}, "--alpha 0"),
        ({"rate_bps": 0.0}, "--rate"),
        ({"capacity_bps": 1e12}, "--capacity 1000 Gbps: expected 100 Gbps to 800 Gbps"),
    ],
)
def test_what_cannot_be_configured_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        planned(**fields)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"h_s": 22 * US}, "holds a lone port below full rate"),
        ({"h_s": 6 * US, "pmax": 0.05}, "over 0.1 %"),
        ({"alphas": (3.0,)}, "no power of two"),
        ({"chip": "tomahawk", "mmu_bytes": 4e6}, "more than the 4,000,000 B of an MMU of tomahawk"),
    ],
)
def test_what_works_badly_is_warned_of(fields: dict[str, Any], says: str) -> None:
    (warning,) = planned(**fields).warnings
    assert says in warning


def test_arista_is_told_as_the_papers_figure_6_has_it() -> None:
    same = Marking(k_port=325_000, pool_min=500_000, pool_max=500_000, pmax=1.0)
    figure_6 = (
        "qos random-detect ecn global-buffer minimum-threshold 500 kbytes maximum-threshold 500 kbytes"  # One command.
    )
    assert bcc_config.arista(same).text.splitlines()[0] == figure_6
    assert not any("Pmax" in line for line in bcc_config.arista(same).sure)
    assert any(line.startswith("Unconfirmed: Pmax of 10 %") for line in bcc_config.arista(MARKING).sure)


def test_sai_marks_on_the_pool_and_needs_the_queues_profile() -> None:
    configuration = bcc_config.sai(MARKING)
    objects = json.loads(configuration.text)
    made = {one["name"]: one["attributes"] for one in objects if one["operation"] == "create"}
    bound = {one["type"]: one["attributes"] for one in objects if one["operation"] == "set"}
    pool = made[bound["SAI_OBJECT_TYPE_BUFFER_POOL"]["SAI_BUFFER_POOL_ATTR_WRED_PROFILE_ID"]]
    queue = made[bound["SAI_OBJECT_TYPE_QUEUE"]["SAI_QUEUE_ATTR_WRED_PROFILE_ID"]]
    for colour in ("GREEN", "YELLOW", "RED"):
        attributes = [
            f"SAI_WRED_ATTR_ECN_{colour}_{what}" for what in ("MIN_THRESHOLD", "MAX_THRESHOLD", "MARK_PROBABILITY")
        ]
        assert [pool[attribute] for attribute in attributes] == [1_802_000, 2_602_000, 10]
        assert [queue[attribute] for attribute in attributes] == [720_000, 720_000, 100]
    assert any("other than the default" in line for line in configuration.sure)


def test_dell_has_a_profile_for_pool_and_queue() -> None:
    lines = [line.strip() for line in bcc_config.dell_os9(MARKING).text.splitlines()]
    assert "threshold min 1802 max 2602 max-drop-rate 10" in lines
    assert "threshold min 720 max 720 max-drop-rate 100" in lines
    assert "service-pool wred green pool0 BCC-pool pool1 BCC-pool" in lines
    assert "service-class wred ecn 0 backplane" in lines


def test_systems_without_pool_marking_say_that_it_is_not_bcc() -> None:
    systems = bcc_config.configurations("all", MARKING)
    assert [one.system for one in systems if one.marks_on_pool] == ["sai", "dell-os9", "arista"]
    for one in systems:
        assert any(line.startswith(("Confirmed", "Unconfirmed")) for line in one.sure)
        if not one.marks_on_pool:
            assert "standard ECN" in one.sure[0]
            assert "not BCC" in one.sure[0]
            assert "1802" not in one.text
    sonic = json.loads(next(one for one in systems if one.system == "sonic").text)
    assert sonic["QUEUE"]["Ethernet0|0"] == {"wred_profile": "BCC"}
    assert sonic["WRED_PROFILE"]["BCC"]["green_min_threshold"] == "720000"


@given(
    k_port=st.integers(1024, 2**32 - 1),
    low=st.integers(1024, 2**32 - 1),
    kilo=st.sampled_from([1000, 1024]),
    pmax=st.floats(0.001, 1),
)
def test_a_configuration_is_never_above_the_plan(k_port: int, low: int, kilo: int, pmax: float) -> None:
    marking = Marking(k_port, low, low, pmax, kilo=kilo)
    assert marking.kb(low) * kilo <= low < (marking.kb(low) + 1) * kilo
    assert pmax * 100 - 1e-6 <= marking.percent < pmax * 100 + 1
    for configuration in bcc_config.configurations("all", marking):
        numbers = [int(word.strip('",')) for word in configuration.text.split() if word.strip('",').isdigit()]
        assert max(numbers) <= max(k_port, low)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": "a b"}, "--name a b"),
        ({"name": ""}, "--name"),
        ({"queue": 8}, "--queue 8: expected 0 to 7"),
        ({"kilo": 1}, "--kilo 1: expected 1000 or 1024"),
        ({"k_port": 10}, "K_port of 10 B"),
        ({"pool_max": 2**32}, "Kmax of 4,294,967,296 B"),
    ],
)
def test_what_no_switch_takes_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Marking(**{**vars(MARKING), **fields})


def test_the_command_prints_tables_json_or_the_configuration_alone(cli: Cli, tmp_path: Path) -> None:
    shown = cli("plan", "bcc", "--chip", "tomahawk", "--rtt", "80us", "--config", "all")
    assert shown.returncode == 0, shown.stderr
    for text in ("720,000", "1,592,000", "2,602,000", "1,802,000", "from 5 congested queues", "standard ECN, not BCC"):
        assert text in shown.stdout
    read = json.loads(cli("plan", "bcc", "--rtt", "80 us", "--units", "binary", "--config", "sai", "--json").stdout)
    assert (read["kmax"], read["kmin"], read["pool"]["rtt_s"]) == (2_727_608, 1_908_408, 8e-5)
    assert read["configurations"][0]["system"] == "sai"
    written = ("plan", "bcc", "--rtt", "80 us", "--buffer", "3 MB", "--private", "128 KB", "--units", "binary")
    assert json.loads(cli(*written, "--json").stdout)["kmax"] == 2_727_608
    bare = cli("plan", "bcc", "--rtt", "80 us", "--h", "22 us", "--config", "sonic", "--bare", "--out", "sonic.json")
    assert json.loads(bare.stdout) == json.loads((tmp_path / "sonic.json").read_text())
    assert "Warning: one queue at K_port" in bare.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--rtt"),
        (["--rtt", "80"], "--rtt 80: expected a number and one of ps"),
        (["--rtt", "1.2.3 us"], "--rtt 1.2.3 us"),
        (["--rtt", "us"], "--rtt us"),
        (["--rtt", "0 us"], "--rtt 0 ns"),
        (["--chip", "tomahawk9"], "--chip tomahawk9: did you mean tomahawk"),
        (["--alpha", "1/0"], "--alpha 1/0"),
        (["--alpha", "x"], "--alpha x: expected numbers"),
        (["--alpha", "1/4"], "--alpha 0.25: expected more than"),
        (["--alpha", "4", "--alphas", "4"], "--alphas"),
        (["--variant", "step"], "--variant step: expected red or cut-off"),
        (["--units", "octal"], "--units octal"),
        (["--config", "ios"], "--config ios: expected one of sai"),
        (["--bare"], "--bare: expected --config"),
        (["--bare", "--config", "all"], "--bare: expected --config"),
        (["--bare", "--json", "--config", "sai"], "not with --json"),
        (["--config", "sai", "--out", "no/such/dir"], "no/such/dir"),
        (["--buffer", "3 Mb"], "--buffer 3 Mb"),
        (["--simulate", "--loads", "high"], "--loads high: expected numbers"),
        (["--simulate", "--bare", "--config", "sai"], "--bare: not with --simulate"),
        (["--keep", "kept"], "--keep kept: expected --simulate"),
    ],
)
def test_wrong_options_are_one_message_and_exit_code_2(cli: Cli, arguments: list[str], says: str) -> None:
    rtt = [] if "--rtt" in arguments or not arguments else ["--rtt", "80 us"]
    done = cli("plan", "bcc", *rtt, *arguments)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_trial_puts_the_plan_into_a_scenario() -> None:
    written = tomllib.loads(bcc_trial.scenario(planned(chip="tomahawk"), 1000, (0.4, 0.9)))
    assert (written["topology"]["hosts"], written["topology"]["delay"]) == (32, "20000000 ps")
    switch = written["switch"]
    assert (switch["buffer"], switch["alpha"], switch["mmu"]) == ("3000000 B", 4, {"ports": 8, "private": "128000 B"})
    assert switch["ecn"] == {"kmin": "720000 B", "kmax": "720000 B", "pmax": 1.0}
    with_bcc, without, share = written["variant"]
    marking = {"kmin": "1802000 B", "kmax": "2602000 B", "pmax": 0.1, "spacing": "plain"}
    assert {key: with_bcc[f"switch.pool_ecn.{key}"] for key in marking} == marking
    assert without.keys() == {"name", "scheme"}
    # 3 MB / 8 + 128 KB.
    assert share["switch.ecn.kmin"] == share["switch.ecn.kmax"] == "503000 B"
    assert written["workload"][0]["to"] == ["host0..host7"]
    assert written["sweep"] == {"switch.mmu.private": ["128000 B", "0 B"], "workload.0.load": [0.4, 0.9]}
    bare = tomllib.loads(bcc_trial.scenario(planned(private=0.0, buffer=6e6), 1000, (0.4,)))
    assert [one["name"] for one in bare["variant"]] == ["BCC", "K_port alone"], "a share of 750 KB is more than K_port"
    assert bare["sweep"]["switch.mmu.private"] == ["0 B"]


@pytest.mark.parametrize(
    ("fields", "flows", "loads", "says"),
    [
        ({}, 99, (0.5,), "--flows 99: expected 100"),
        ({}, 1000, (), "--loads"),
        ({}, 1000, (1.0,), "--loads 1: expected different shares from 0.01 to 0.99"),
        ({}, 1000, (0.5, 0.5), "--loads 0.5,0.5"),
        ({"queues": 2}, 1000, (0.5,), "--queues 2: expected at most 1 with --simulate"),
        ({"ports": 128, "buffer": 64e6}, 1000, (0.5,), "--ports 128: expected at most 127"),
        ({"capacity_bps": 400e9}, 1000, (0.5,), "--capacity"),
    ],
)
def test_what_a_trial_cannot_be_is_refused(
    fields: dict[str, Any], flows: int, loads: tuple[float, ...], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        bcc_trial.refuse(planned(**fields), flows, loads)


def test_a_trial_loses_less_with_bcc(cli: Cli, process: Cli, tmp_path: Path) -> None:
    trial = ("plan", "bcc", "--rtt", "80 us", "--simulate", "--flows", 3000, "--loads", "0.4,0.9", "--keep", "kept")
    done = process(*trial, "--json")
    assert done.returncode == 0, done.stderr
    tried = json.loads(done.stdout)["simulated"]
    assert {row["reserved_bytes"] for row in tried} == {128_000, 0}
    rows = {(row["load"], row["variant"]): row for row in tried if row["reserved_bytes"] == 128_000}
    calm, busy = rows[0.4, "BCC"], rows[0.9, "BCC"]
    assert calm["loss"] == rows[0.4, "K_port alone"]["loss"] == 0
    assert calm["mean_s"] == pytest.approx(rows[0.4, "K_port alone"]["mean_s"], rel=0.02)
    assert busy["loss"] < 0.5 * rows[0.9, "K_port alone"]["loss"]
    # Ports that have memory of their own and mark at their share of all lose less than BCC; without it all lose more.
    assert rows[0.9, "its share alone"]["loss"] < busy["loss"]
    bare = {(row["load"], row["variant"]): row for row in tried if row["reserved_bytes"] == 0}
    assert all(
        bare[0.9, name]["loss"] >= rows[0.9, name]["loss"] for name in ("BCC", "K_port alone", "its share alone")
    )
    # Of so few flows hardly one in a hundred times out with either, which p99 would show.
    assert busy["small_p99_s"] < 1e-3
    assert (tmp_path / "kept" / "report.html").exists()
    kept = Experiment(tmp_path / "kept" / "bcc.toml")
    assert kept.labels == [one.label for one in Results(tmp_path / "kept").runs]
    switch = kept.plan.runs[0].scenario["switch"]
    assert (switch["pool_ecn"]["kmin"], switch["pool_ecn"]["kmax"], switch["mmu"]["ports"]) == ("1802 KB", "2602 KB", 8)
    again = cli(*trial)
    assert again.returncode == 2
    assert "kept" in again.stderr


@pytest.mark.parametrize("name", list(bcc.chips()))
def test_every_chip_can_be_tried(name: str, tmp_path: Path) -> None:
    plan = bcc.plan(Pool(rtt_s=20 * US, h_s=US, **bcc.of_chip(name, "decimal")))
    bcc_trial.refuse(plan, 100, (0.5,))
    file = tmp_path / "trial.toml"
    file.write_text(bcc_trial.scenario(plan, 100, (0.5,)))
    halves = 2 if plan.pool.private else 1
    assert len(Experiment(file).labels) == halves * (2 if bcc_trial.share_of(plan) is None else 3)


def test_the_table_says_what_loses_least_with_and_without_reservation() -> None:
    lost = {
        (128e3, "BCC"): 0.002,
        (128e3, "K_port alone"): 0.02,
        (128e3, "its share alone"): 0.0004,
        (0.0, "BCC"): 0.003,
        (0.0, "K_port alone"): 0.03,
        (0.0, "its share alone"): 0.004,
    }
    times = dict.fromkeys(("small_p99_s", "small_mean_s", "large_mean_s", "mean_s"), 1e-3)
    rows = [
        {"load": load, "reserved_bytes": reserved, "variant": variant, "loss": loss * load, "timeouts": 1, **times}
        for (reserved, variant), loss in lost.items()
        for load in (0.1, 1.0)
    ]
    shown = bcc_trial.table(rows)
    assert [len(list(column.cells)) for column in shown.columns] == [12] * 9
    assert list(shown.columns[1].cells)[:6] == ["128 KB"] * 3 + ["0 B"] * 3
    assert str(shown.caption).splitlines() == [
        "128 KB reserved for a port: over 0.1 % lost from 100 % load on with BCC; from 10 % load on with K_port alone; "
        "at no load with its share alone. At 100 % its share alone loses least.",
        "0 B reserved for a port: over 0.1 % lost from 100 % load on with BCC; from 10 % load on with K_port alone; "
        "from 100 % load on with its share alone. At 100 % BCC loses least.",
    ]


def test_every_chip_is_listed_with_table_is_figures(cli: Cli) -> None:
    shown = cli("list", "chips")
    assert shown.returncode == 0, shown.stderr
    for name, port, gbps in (
        ("broadcom-56538", "85.3", "85.3"),
        ("trident-plus", "192", "19.2"),
        ("trident2", "384", "9.6"),
        ("tomahawk", "512", "5.12"),
        ("tofino", "344", "3.44"),
    ):
        line = next(line.split() for line in shown.stdout.splitlines() if line.split()[:1] == [name])
        assert port in line, name
        assert gbps in line, name
    listed = json.loads(cli("list", "chips", "--json").stdout)
    assert [chip["name"] for chip in listed] == list(bcc.chips())
    assert all(chip["source"] for chip in listed)


@pytest.mark.parametrize("name", list(bcc.chips()))
def test_every_chip_can_be_planned_for(name: str) -> None:
    for units in ("decimal", "binary"):
        pool = Pool(rtt_s=20 * US, h_s=US, **bcc.of_chip(name, units))
        plan = bcc.plan(pool)
        assert plan.kmin > 0, name
        assert not plan.warnings, plan.warnings
