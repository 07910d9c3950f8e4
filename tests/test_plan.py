"""`backwater plan`: the papers' own numbers come out, and what no switch can be is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from backwater import Experiment, InputError
from backwater.plan import flowsail
from backwater.plan.flowsail import Switch
from backwater.scenario import experiments
from conftest import Cli


def test_an_entry_has_the_papers_50_bits() -> None:
    normal, congested, _ = flowsail.flow_tables(Switch())
    assert (normal.bits, congested.bits) == (49, 50)
    assert {field.name for field in normal.fields} == {"fingerprint", "qIdx", "size", "pauseNum"}
    assert {field.name for field in congested.fields} == {"fingerprint", "status", "size", "pauseNum", "timestamp"}
    assert normal.fields[0].bits == congested.fields[0].bits == 24


def test_ten_thousand_flows_take_the_papers_memory() -> None:
    assert flowsail.memory(Switch(), 50) == {
        "exact": 62_500,
        "at_load": pytest.approx(62_500 / 0.7),
        "provisioned": 102_400,
    }
    # The paper's 64, 91 and 100 KB are those of K = 1024: 10 240 flows, and 16 384 slots.
    of_k = flowsail.memory(Switch(flows=10 * 1024), 50)
    assert of_k["exact"] == 64_000
    assert round(of_k["at_load"] / 1000) == 91
    assert of_k["provisioned"] == 100 * 1024


def test_the_resolved_record_costs_more_than_one_entry_and_less_than_two() -> None:
    for switch in (Switch(), Switch(queues=128), Switch(queues=2), Switch(hrtt_s=200e-6), Switch(ports=1)):
        normal, congested, record = flowsail.flow_tables(switch)
        assert max(normal.bits, congested.bits) < record.bits < normal.bits + congested.bits


def test_wider_counters_follow_the_hop() -> None:
    widths = [flowsail.flow_tables(Switch(hrtt_s=hrtt))[0].bits for hrtt in (1e-6, 2e-6, 4e-6, 200e-6)]
    assert widths == sorted(set(widths))
    assert flowsail.flow_tables(Switch(queues=2))[0].bits == 24 + 1 + 11 + 11


def test_thresholds_are_one_and_three_hop_bdps() -> None:
    rows = flowsail.thresholds(Switch())
    assert [row["active"] for row in rows] == list(range(1, 9))
    assert rows[0] == {"active": 1, "ql": 25_000, "qh": 75_000}
    assert rows[7] == {"active": 8, "ql": 3_125, "qh": 9_375}
    assert flowsail.thresholds(Switch(rate_bps=40e9))[0]["ql"] == 10_000


def test_the_fair_share_rounds_the_number_of_flows_up() -> None:
    def shift(flows: int) -> int:
        return next(row["shift"] for row in flowsail.shifts(10_000) if row["from"] <= flows <= row["to"])

    assert {n: shift(n) for n in (1, 2, 3, 4, 5, 8, 9, 16)} == {1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 8: 3, 9: 4, 16: 4}
    assert all(shift(n) == math.ceil(math.log2(n)) for n in range(1, 10_001))
    assert flowsail.shifts(1) == [{"from": 1, "to": 1, "shift": 0}]


def test_mistaken_identity_by_hand() -> None:
    row = flowsail.collisions(Switch(), 24)
    assert row["flow_by_tuple"] == pytest.approx(2 * 0.7 / 2**24)
    assert row["flow_by_fingerprint"] == pytest.approx(9_999 / 2**24, rel=1e-3)
    assert row["any_by_fingerprint"] == pytest.approx(1 - math.exp(-10_000 * 9_999 / 2 / 2**24))
    assert flowsail.collisions(Switch(flows=1), 24)["any_by_fingerprint"] == 0


def test_mirror_load_of_stated_pauses() -> None:
    load = {row.what: row for row in flowsail.stated(Switch(), 1e6, 20)}
    assert load["order marks, two per isolation"].per_second == 2e6
    assert load["repeated PAUSE frames"].per_second == 20 / 10e-6
    assert load["marks and control frames of the switch"].per_second == 6e6
    # 84 B with preamble and gap: 148.8 million a second fill 100 Gbps.
    assert load["marks and control frames of the switch"].port_share == pytest.approx(6e6 * 84 * 8 / 100e9)
    departures = flowsail.stated(Switch(ports=1), None, None)
    assert [row.port_share for row in departures] == [pytest.approx(84 / 1068)]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"queues": 1}, "--queues 1"),
        ({"queues": 8, "groups": 3}, "--groups 3"),
        ({"queues": 8, "groups": 4, "isolation_queues": 2}, "--isolation-queues 2"),
        ({"fingerprint_bits": 65}, "--fingerprint 65"),
        ({"load_factor": 0.0}, "--load-factor 0"),
        ({"rate_bps": 0.0}, "--rate 0"),
    ],
)
def test_what_no_switch_can_be_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Switch(**fields)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rate", "100"], "expected a number and one of bps"),
        (["--hrtt", "2 us", "--delay", "1 us"], "--delay"),
        (["--pauses-per-second", "-1"], "--pauses-per-second -1"),
        (["--queues", "eight"], "expected a whole number"),
        (["--measured", "absent"], "absent"),
        (["--scale", "quick"], "--scale"),
        (["absent.toml"], "absent.toml"),
        (["{smoke}"], "flowsail"),
        (["{smoke}", "--measured", "."], "SCENARIO"),
    ],
)
def test_wrong_options_are_one_message_and_exit_code_2(
    cli: Cli, smoke: object, arguments: list[str], says: str
) -> None:
    done = cli("plan", "flowsail", *[argument.format(smoke=smoke) for argument in arguments])
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_prints_tables_or_json(cli: Cli) -> None:
    shown = cli("plan", "flowsail", "--delay", "1 us", "--pauses-per-second", "1e6")
    assert shown.returncode == 0, shown.stderr
    for text in ("fingerprint", "OM_waiting", "62.5 KB", "102,400 B", "25,000 B", "75,000 B", "order marks"):
        assert text in shown.stdout
    read = json.loads(cli("plan", "flowsail", "--json", "--queues", 16, "--groups", 4).stdout)
    assert read["switch"]["hrtt_s"] == 2e-6
    assert len(read["thresholds"]) == 16
    assert read["memory"]["published"]["exact"] == 10_000 * read["memory"]["published"]["bits"] / 8
    marks = next(table for table in read["tables"] if table["table"] == "OM_waiting")
    assert marks["entries"] == 32 * 4


def test_a_scenarios_switch_is_its_largest(cli: Cli) -> None:
    file = experiments.known()["flowsail-fig19"]
    read = json.loads(cli("plan", "flowsail", file, "--scale", "paper", "--json").stdout)["switch"]
    wanted = {"ports": 24, "rate_bps": 100e9, "hrtt_s": 2e-6, "queues": 16, "groups": 4, "isolation_queues": 1}
    assert {key: read[key] for key in wanted} == wanted
    assert (read["packet_bytes"], read["buffer_bytes"], read["fingerprint_bits"]) == (1048, 12e6, 24)
    changed = cli(
        "plan", "flowsail", file, "--set", "switch.flowsail.fingerprint_bits=16", "--queues", 8, "--json"
    ).stdout
    assert json.loads(changed)["switch"]["fingerprint_bits"] == 16
    assert json.loads(changed)["switch"]["queues"] == 8


def test_a_run_gives_its_frames(cli: Cli, tmp_path: Path) -> None:
    file = experiments.known()["flowsail-fig6"]
    done = Experiment(file, scale="smoke").run(tmp_path / "run")
    shown = cli("plan", "flowsail", "--measured", tmp_path / "run", "--json")
    assert shown.returncode == 0, shown.stderr
    rows = {row["what"]: row["per_second"] for row in json.loads(shown.stdout)["mirror"]}
    flowsail_run = done.run("FlowSail")
    seconds = flowsail_run.summary["sim_time_ps"] * 1e-12
    ports = flowsail_run.table("ports").to_pylist()
    sent = sum(row["control_frames"] for row in ports if row["node"] == "congested")
    assert rows["control frames, congested"] == pytest.approx(sent / seconds)
    assert any(what.startswith("order marks") for what in rows)
    assert cli("plan", "flowsail", "--measured", tmp_path / "run", "--paused-flows", 3).returncode == 2
