"""Files of HPCC's simulator become a scenario, or a message that names the place."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from backwater import Experiment, InputError
from backwater.hpcc import flows, importer, topology, units
from conftest import HPCC, Cli

TOPOLOGY, FLOWS, CONFIG = HPCC / "topology.txt", HPCC / "flow.txt", HPCC / "config.txt"


def listed(workload: dict[str, Any]) -> list[dict[str, str]]:
    """The rows of a list of flows."""
    return list(csv.DictReader(line for line in workload["rows"].splitlines() if not line.startswith("#")))


def run_import(
    place: Path,
    topology: Path = TOPOLOGY,
    flows: Path = FLOWS,
    config: Path | None = CONFIG,
    transport: str = "dctcp",
) -> tuple[dict[str, Any], list[str]]:
    """The resolved scenario, and the summary."""
    imported = importer.read(topology, flows, config, transport, "out")
    paths = importer.write(imported, place / "out.toml", force=False)
    runs = Experiment(paths[0]).plan.runs
    assert len(runs) == 1
    return runs[0].scenario, importer.summary(imported, paths)


def edited(path: Path, place: Path, old: str, new: str) -> Path:
    """A copy with something changed."""
    text = path.read_text()
    assert old in text
    copy = place / path.name
    copy.write_text(text.replace(old, new, 1))
    return copy


def test_topology_flows_and_configuration_become_a_scenario(tmp_path: Path) -> None:
    scenario, summary = run_import(tmp_path)
    assert scenario["name"] == "out"
    assert (scenario["scheme"], scenario["compat"]) == ("dctcp", "hpcc-sim")
    assert scenario["topology"]["hosts"] == ["host0", "host1", "host2", "host3"]
    assert scenario["topology"]["switches"] == ["switch4", "switch5", "switch6", "switch7"]
    assert scenario["topology"]["ids"] == list(range(8))
    assert scenario["topology"]["links"][4] == {"ends": ["switch4", "switch6"], "rate": "400 Gbps", "delay": "1 us"}
    assert scenario["switch"]["buffer"] == f"{16 << 20} B"
    ecn = scenario["switch"]["ecn"]
    assert (ecn["kmin"], ecn["kmax"], ecn["pmax"]) == ("1200 KB", "1200 KB", 1.0)
    assert ecn["by_rate"] == [{"rate": "100 Gbps", "kmin": "300 KB", "kmax": "300 KB", "pmax": 1.0}]
    host = scenario["host"]
    assert (host["transport"], host["window"], host["payload"], host["ack_class"]) == (
        *("dctcp", "base-bdp", "1 KB", "data"),
    )
    assert host["dctcp"] == {
        **{"g": 0.0625, "additive_increase": "615 Mbps", "min_rate": "100 Mbps", "window_follows_rate": True},
        **{"paced": True, "slow_start": False},
    }
    background, incast = scenario["workload"]
    assert (background["class"], incast["class"]) == ("background", "incast")
    assert listed(background)[0] == {
        "start_ns": "100000",
        "src": "host0",
        "dst": "host2",
        "bytes": "10000",
        "port": "100",
    }
    # The nearest double to 2.0002 is a little less.
    assert listed(background)[2]["start_ns"] == "199999"
    assert [flow["port"] for flow in listed(incast)] == ["200", "200"]
    assert scenario["run"]["origin"] == "2 s"
    assert scenario["run"]["warmup"] == "0 ps"
    assert scenario["run"]["duration"] == "501 us"
    assert scenario["run"]["drain"] * 501e-6 == pytest.approx(2.0)
    assert scenario["fault"] == []
    assert summary[0].endswith("out.toml: 4 hosts, 4 switches, 8 links (HPCC dialect); dctcp")
    assert "6 flows (4 background, 2 incast)" in summary[1]
    assert "PAUSE_TIME" not in summary[2]
    assert summary[2].startswith("Without effect here: USE_DYNAMIC_PFC_THRESHOLD, TOPOLOGY_FILE")
    assert len(summary) == 3


def test_comments_say_where_a_value_came_from(tmp_path: Path) -> None:
    run_import(tmp_path)
    lines = (tmp_path / "out.toml").read_text().splitlines()
    assert 'buffer = "16 MiB"                  # BUFFER_SIZE, config.txt:52' in lines
    assert "links = [  # topology.txt, lines 3 to 10" in lines
    assert max(map(len, lines)) <= 120


def test_without_a_configuration_there_are_defaults(tmp_path: Path) -> None:
    scenario, summary = run_import(tmp_path, config=None)
    assert scenario["switch"]["buffer"] == f"{12 << 20} B"
    assert scenario["switch"]["ecn"]["kmax"] == "1200 KB"
    assert scenario["host"]["dctcp"]["additive_increase"] == "961 Mbps"
    assert scenario["host"]["dctcp"]["min_rate"] == "1 Gbps"
    assert scenario["run"]["drain"] * 501e-6 == pytest.approx(69)
    assert "BUFFER_SIZE 12" in summary[2]
    assert "KMAX_MAP 30 KB per 10 Gb/s" in summary[2]


def test_what_the_configuration_lacks_is_said(tmp_path: Path) -> None:
    short = edited(CONFIG, tmp_path, "DCTCP_RATE_AI 615Mb/s\n", "")
    scenario, summary = run_import(tmp_path, config=short)
    assert scenario["host"]["dctcp"]["additive_increase"] == "961 Mbps"
    assert "Not in config.txt: DCTCP_RATE_AI 961Mbps" in summary


def test_unknown_keys_are_named_and_those_after_them_read(tmp_path: Path) -> None:
    odd = edited(CONFIG, tmp_path, "CC_MODE 8", "MY_KEY 7 8\nCC_MODE 8\nOTHER\nLAST 1 BUFFER_SIZE 16")
    _, summary = run_import(tmp_path, config=odd)
    assert summary[-1] == "Unknown, ignored: MY_KEY (line 15), OTHER (line 17), LAST (line 18)"


def test_line_rate_has_a_window_only_where_the_file_says_so(tmp_path: Path) -> None:
    scenario, summary = run_import(tmp_path, config=None, transport="line-rate")
    assert scenario["scheme"] == "pfc"
    assert (scenario["host"]["transport"], scenario["host"]["window"]) == ("line-rate", "none")
    assert "ecn" not in scenario["switch"]
    assert not any("DCTCP" in line for line in summary)
    mode_0 = edited(CONFIG, tmp_path, "CC_MODE 8", "CC_MODE 0")
    scenario, _ = run_import(tmp_path / "bound", config=mode_0, transport="line-rate")
    assert (scenario["host"]["transport"], scenario["host"]["window"]) == ("window", "base-bdp")
    unbound = edited(mode_0, tmp_path, "HAS_WIN 1\nGLOBAL_T 1", "HAS_WIN 0\nGLOBAL_T 0")
    scenario, summary = run_import(tmp_path / "unbound", config=unbound, transport="line-rate")
    assert (scenario["host"]["transport"], scenario["host"]["window"]) == ("line-rate", "none")
    assert "DCTCP_RATE_AI" in summary[2]


def test_flags_of_the_configuration_are_obeyed(tmp_path: Path) -> None:
    config = edited(CONFIG, tmp_path, "ACK_HIGH_PRIO 0", "ACK_HIGH_PRIO 1")
    config = edited(config, tmp_path, "VAR_WIN 1", "VAR_WIN 0")
    config = edited(config, tmp_path, "ENABLE_QCN 1", "ENABLE_QCN 0")
    config = edited(config, tmp_path, "PACKET_PAYLOAD_SIZE 1000", "PACKET_PAYLOAD_SIZE 4096")
    scenario, _ = run_import(tmp_path, config=config)
    assert (scenario["conventions"]["acks"], scenario["host"]["ack_class"]) == ("data", "high")
    assert scenario["host"]["dctcp"]["window_follows_rate"] is False
    assert (scenario["switch"]["ecn"]["kmin"], scenario["switch"]["ecn"]["pmax"]) == ("1 TB", 0.0)
    assert (scenario["host"]["payload"], scenario["switch"]["quantum"]) == ("4096 B", "4144 B")


def test_pauses_of_another_group_do_not_hold_the_acks_of_a_nic(tmp_path: Path) -> None:
    other = tmp_path / "flow.txt"
    other.write_text("1\n0 2 4 100 10000 2.0001\n")
    scenario, _ = run_import(tmp_path, flows=other)
    assert (scenario["conventions"]["acks"], scenario["host"]["ack_class"]) == ("data", "high")


def test_priority_groups_are_classes_with_queues_and_pauses_of_their_own(tmp_path: Path) -> None:
    several = edited(FLOWS, tmp_path, "1 3 3 200 2000", "1 3 5 200 2000")
    scenario, summary = run_import(tmp_path, flows=several)
    assert (scenario["switch"]["assignment"], scenario["switch"]["queues"]) == ("class", 8)
    assert (scenario["host"]["ack_class"], scenario["host"]["ack_priority"]) == ("data", 3)
    rows = [row for file in sorted(tmp_path.glob("*.csv")) for row in file.read_text().splitlines()]
    assert "start_ns,src,dst,bytes,port,priority" in rows
    assert sorted(row.split(",")[5] for row in rows if row[0].isdigit()) == ["3"] * 5 + ["5"]
    assert "; priority groups 3, 5" in summary[1]
    # Where no flow is of group 3, nothing pauses it.
    others = tmp_path / "others.txt"
    others.write_text("2\n0 2 4 100 10000 2.0001\n1 3 6 100 10000 2.0001\n")
    scenario, _ = run_import(tmp_path / "others", flows=others)
    assert scenario["host"]["ack_class"] == "high"


def test_links_lose_and_go_down(tmp_path: Path) -> None:
    lossy = edited(TOPOLOGY, tmp_path, "4 6 400Gbps 1000ns 0.000000", "4 6 400Gbps 1000ns 0.01")
    down = edited(CONFIG, tmp_path, "LINK_DOWN 0 0 0", "LINK_DOWN 300 4 6")
    scenario, _ = run_import(tmp_path, topology=lossy, config=down)
    assert scenario["fault"] == [
        {
            **{"link": ["switch4", "switch6"], "loss": 0.01, "common": False, "control_loss": 0.0},
            "down": [["300 us", "69 s"]],
        }
    ]
    assert scenario["conventions"]["down_queues"] == "leak"
    every = edited(CONFIG, tmp_path, "ERROR_RATE_PER_LINK 0.0000", "ERROR_RATE_PER_LINK 0.0001")
    scenario, _ = run_import(tmp_path / "every", topology=lossy, config=every)
    assert [fault["loss"] for fault in scenario["fault"]] == [0.0001] * 4 + [0.01] + [0.0001] * 3
    assert [fault["common"] for fault in scenario["fault"]] == [True] * 4 + [False] + [True] * 3
    assert scenario["conventions"]["down_queues"] == "drop"


def test_acks_and_gaps_may_be_left_out(tmp_path: Path) -> None:
    sparse = edited(CONFIG, tmp_path, "L2_ACK_INTERVAL 1", "L2_ACK_INTERVAL 9000")
    sparse = edited(sparse, tmp_path, "RATE_BOUND 1", "RATE_BOUND 0")
    host = run_import(tmp_path, config=sparse)[0]["host"]
    assert (host["ack_from"], host["ack_chunk"], host["dctcp"]["paced"]) == ("9 KB", "4 KB", False)


@pytest.mark.parametrize(
    ("file", "dialect", "hosts", "link"),
    [
        ("topology.txt", "HPCC", 4, (5, 7, 400 * 10**9, 1000, 0.0)),
        ("topology-powertcp.txt", "PowerTCP", 4, (4, 5, 100 * 10**9, 3330, 0.0)),
        ("topology-reverie.txt", "Reverie", 4, (4, 5, 100 * 10**9, 2999, 0.001)),
        ("topology-simai.txt", "SimAI", 4, (3, 4, 400 * 10**9, 500, 0.0)),
    ],
)
def test_every_dialect_of_topologies_is_read(
    tmp_path: Path, file: str, dialect: str, hosts: int, link: tuple[float, ...]
) -> None:
    network = topology.read(HPCC / file)
    last = network.links[-1]
    assert (network.dialect, len(network.hosts)) == (dialect, hosts)
    assert (last.a, last.b, last.rate, last.delay_ns, last.error_rate) == link
    scenario, _ = run_import(tmp_path, topology=HPCC / file, flows=HPCC / "flow-conweave.txt", config=None)
    assert len(scenario["topology"]["links"]) == len(network.links)


def test_a_delay_that_loses_a_nanosecond_is_said(tmp_path: Path) -> None:
    _, summary = run_import(tmp_path, topology=HPCC / "topology-reverie.txt", config=None)
    note = "Note: delays are cut off to whole nanoseconds, as there: 0.000003s is 2999 ns (topology-reverie.txt:7)"
    assert note in summary


def test_nvswitches_come_first_among_the_switches(tmp_path: Path) -> None:
    file = tmp_path / "topology.txt"
    file.write_text(
        "5 1 1 1 4 H100\n3 4\n0 3 2880Gbps 0.000025ms 0\n1 3 2880Gbps 0.000025ms 0\n2 4 1Gbps 1us 0\n3 4 1Gbps 1us 0\n"
    )
    network = topology.read(file)
    assert (network.hosts, network.switches) == ([0, 1, 2], [3, 4])
    assert network.links[0].delay_ns == 24


def test_a_flow_file_without_ports_is_read(tmp_path: Path) -> None:
    scenario, summary = run_import(tmp_path, flows=HPCC / "flow-conweave.txt")
    assert [flow["port"] for flow in listed(scenario["workload"][0])] == ["100", "100"]
    assert any("ConWeave" in line for line in summary)


def test_line_breaks_and_comments_do_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "flow.txt"
    file.write_text("# two\n2 0 2 3 100\n10000 2.0001\n\n1 3 3 200 1 # short\n 2.0002")
    read = flows.read(file, topology.read(TOPOLOGY))
    assert [tuple(flow) for flow in read.flows] == [
        (0, 2, 100, 10000, 2000100000, 3),
        (1, 3, 200, 1, 2000199999, 3),
    ]


def test_many_ports_are_one_class(tmp_path: Path) -> None:
    file = tmp_path / "flow.txt"
    file.write_text("9\n" + "".join(f"0 2 3 {port} 1000 2.0\n" for port in range(300, 309)))
    scenario, summary = run_import(tmp_path, flows=file)
    assert [workload["class"] for workload in scenario["workload"]] == ["flows"]
    assert [int(flow["port"]) for flow in listed(scenario["workload"][0])] == list(range(300, 309))
    assert (tmp_path / "out.flows.csv").exists()
    assert "Note: 9 destination ports: all flows are in one class, flows" in summary


def test_the_order_of_flows_that_start_together_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "flow.txt"
    file.write_text("3\n0 2 3 200 1000 2.0\n0 2 3 100 2000 2.0\n0 2 3 200 3000 2.0\n")
    scenario, _ = run_import(tmp_path, flows=file)
    assert [flow["bytes"] for flow in listed(scenario["workload"][0])] == ["1000", "2000", "3000"]


def test_notes_behind_the_links_are_left_out(tmp_path: Path) -> None:
    """The simulators stop reading after the links, and many of their files end in prose."""
    said = "\nFirst line: nodes, switches, links\n4 switches of 400G are the core\n"
    noted = edited(TOPOLOGY, tmp_path, "5 7 400Gbps 1000ns 0.000000\n", f"5 7 400Gbps 1000ns 0.000000 x{said}")
    plain, _ = run_import(tmp_path / "plain")
    scenario, summary = run_import(tmp_path / "noted", topology=noted)
    assert scenario["topology"] == plain["topology"]
    assert "Note: text behind the last link is left out, as there (topology.txt:10)" in summary


def test_flows_without_end_end_with_the_run(tmp_path: Path) -> None:
    """PowerTCP writes 10^12 bytes for them. They count as neither finished nor unfinished."""
    file = tmp_path / "flow.txt"
    lines = ["0 2 3 100 1000000000000 2.0", "1 3 3 100 1000000000000 2.0", "1 2 3 100 5000000000 2.0001"]
    file.write_text("\n".join(["3", *lines]) + "\n")
    early = edited(CONFIG, tmp_path, "SIMULATOR_STOP_TIME 4.00", "SIMULATOR_STOP_TIME 2.0002")
    scenario, summary = run_import(tmp_path, flows=file, config=early)
    (listed_flows, endless) = scenario["workload"]
    assert [flow["bytes"] for flow in listed(listed_flows)] == ["5000000000"]
    assert (endless["kind"], endless["count"], endless["from"]) == ("long-lived", 2, ["host0", "host1"])
    assert "Note: 2 flows of more than 137 GB have no end: they end with the run" in summary
    run = Experiment(scenario | {"workload": [endless]}).simulate(tmp_path / "run").runs[0]
    assert (run.summary["flows"]["counted"], run.summary["flows"]["unfinished"], run.complete) == (0, 0, True)
    assert run.summary["throughput"][0]["goodput_bps"] > 1e9


def test_the_stop_time_leaves_flows_out(tmp_path: Path) -> None:
    early = edited(CONFIG, tmp_path, "SIMULATOR_STOP_TIME 4.00", "SIMULATOR_STOP_TIME 2.00025")
    scenario, summary = run_import(tmp_path, config=early)
    assert sum(len(listed(workload)) for workload in scenario["workload"]) == 3
    assert "Note: 3 flows start when the simulation has stopped: they are left out" in summary
    assert scenario["run"]["duration"] == "201 us"


TOPOLOGY_FAULTS = [
    ("8 4 8\n", "8 4\n", 'topology.txt:1: "8 4": expected a first line of 3 numbers'),
    ("8 4 8\n", "8 9 8\n", 'topology.txt:1: number of switches "9": expected a whole number from 1 to 8'),
    ("8 4 8\n", "x 4 8\n", 'topology.txt:1: number of nodes "x": expected a whole number from 3'),
    ("8 4 8\n", "8 4 9\n", "topology.txt:10: the file ends here: expected link 9 of 9, one end"),
    ("8 4 8\n", "8 4 9\n", "topology.txt:10: the file ends here: expected link 9 of 9, one end"),
    ("4 5 6 7\n", "4 5 6 8\n", 'topology.txt:2: switch 4 of 4 "8": expected a whole number from 0 to 7'),
    ("4 5 6 7\n", "4 5 6 4\n", 'topology.txt:2: switch 4 of 4 "4": listed in line 2 already'),
    ("0 4 100", "0 8 100", 'topology.txt:3: link 1 of 8, other end "8": expected a whole number from 0 to 7'),
    ("0 4 100", "-1 4 100", 'topology.txt:3: link 1 of 8, one end "-1": expected a whole number'),
    ("4 6 400", "4 4 400", 'topology.txt:7: link 5 of 8, other end "4": the link leads to itself'),
    ("0 4 100", "0 1 100", 'topology.txt:3: link 1 of 8, other end "1": nodes 0 and 1 are hosts: expected a switch'),
    ("5 7 400", "7 4 400", 'topology.txt:10: link 8 of 8, other end "4": nodes 7 and 4 are joined in line 8 already'),
    ("0 4 100Gbps", "0 4 100Gb", 'topology.txt:3: link 1 of 8, rate "100Gb": expected a rate such as 100Gbps'),
    ("0 4 100Gbps", "0 4 10Kbps", 'topology.txt:3: link 1 of 8, rate "10Kbps": expected 1 Mbps to 8 Tbps'),
    ("1000ns", "1000", 'topology.txt:3: link 1 of 8, delay "1000": is 1000 s: expected 1 ns to 100 ms'),
    ("1000ns", "0.5ns", 'topology.txt:3: link 1 of 8, delay "0.5ns": is 0 ns: expected 1 ns to 100 ms'),
    ("1000ns", "1e3ns", 'topology.txt:3: link 1 of 8, delay "1e3ns": expected a delay such as 1000ns'),
    ("0.000000", "1", 'topology.txt:3: link 1 of 8, error rate "1": expected a share from 0 to below 1'),
    ("0.000000", "no", 'topology.txt:3: link 1 of 8, error rate "no": expected a share from 0 to below 1'),
    ("3 5 100Gbps", "3 7 100Gbps", None),
    ("5 6 400Gbps 1000ns 0.000000", "3 6 400Gbps 1000ns 0.000000", "topology.txt:9: host 3 has 2 links: several NICs"),
    ("8 4 8\n4 5 6 7", "9 4 8\n4 5 6 7", "topology.txt:10: no link leads to host 8: expected one"),
]


@pytest.mark.parametrize(("old", "new", "says"), TOPOLOGY_FAULTS)
def test_a_topology_that_cannot_be_is_refused_at_its_place(
    tmp_path: Path, old: str, new: str, says: str | None
) -> None:
    file = edited(TOPOLOGY, tmp_path, old, new)
    if says is None:
        topology.read(file)
        return
    with pytest.raises(InputError) as refused:
        topology.read(file)
    assert str(refused.value).startswith(f"{tmp_path}/{says}"), refused.value


def test_networks_apart_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "topology.txt"
    file.write_text("6 2 4\n4 5\n0 4 1Gbps 1us 0\n1 4 1Gbps 1us 0\n2 5 1Gbps 1us 0\n3 5 1Gbps 1us 0\n")
    with pytest.raises(InputError, match=r"topology.txt:6: no path joins nodes 0 and 2"):
        topology.read(file)
    file.write_text("2 1 1\n1\n0 1 1Gbps 1us 0\n")
    with pytest.raises(InputError, match='number of nodes "2": expected a whole number from 3'):
        topology.read(file)
    file.write_text("3 2 2\n1 2\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n")
    with pytest.raises(InputError, match=r"topology.txt:1: 3 nodes, 2 switches: 1 host: expected at least 2"):
        topology.read(file)


def test_gpus_with_two_links_are_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "topology.txt"
    file.write_text("4 2 1 1 4 A100\n2 3\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n")
    with pytest.raises(
        InputError, match=r"topology.txt:5: host 0 has 2 links: GPUs with a link to an NVSwitch.*exactly one"
    ):
        topology.read(file)


FLOW_FAULTS = [
    ("6\n", "7\n", "flow.txt:7: the file ends here: expected flow 7 of 7, source"),
    ("6\n", "7\n", "flow.txt:7: the file ends here: expected flow 7 of 7, source"),
    ("6\n", "0\n", 'flow.txt:1: number of flows "0": expected a whole number from 1'),
    ("0 2 3 100 10000 2.0001", "0 2 3 100 10000", None),
    ("0 2 3 100 10000 2.0001", "0 2 3 10000", "flow.txt:2: 4 words: expected 6 for a flow"),
    ("0 2 3 100 10000", "4 2 3 100 10000", 'flow.txt:2: flow 1 of 6, source "4": is a switch: expected a host'),
    ("0 2 3 100 10000", "0 7 3 100 10000", 'flow.txt:2: flow 1 of 6, destination "7": is a switch'),
    ("0 2 3 100 10000", "0 8 3 100 10000", 'flow.txt:2: flow 1 of 6, destination "8": expected a whole number'),
    ("0 2 3 100 10000", "0 0 3 100 10000", 'flow.txt:2: flow 1 of 6, destination "0": the source itself'),
    (
        "0 2 3 100 10000",
        "0 2 0 100 10000",
        'flow.txt:2: flow 1 of 6, priority group "0": expected a whole number from 1',
    ),
    (
        "0 2 3 100 10000",
        "0 2 8 100 10000",
        'flow.txt:2: flow 1 of 6, priority group "8": expected a whole number from 1',
    ),
    ("0 2 3 100 10000", "0 2 3 65536 10000", 'flow.txt:2: flow 1 of 6, destination port "65536"'),
    (
        "0 2 3 100 10000",
        "0 2 3 100 0",
        'flow.txt:2: flow 1 of 6, bytes "0": expected a whole number from 1 to 1000000000000000000',
    ),
    ("0 2 3 100 10000", "0 2 3 100 1000000000000000001", 'flow.txt:2: flow 1 of 6, bytes "1000000000000000001"'),
    ("0 2 3 100 10000", "0 2 3 100 1.5", 'flow.txt:2: flow 1 of 6, bytes "1.5"'),
    ("10000 2.0001", "10000 -1", 'flow.txt:2: flow 1 of 6, start "-1": expected seconds'),
    ("10000 2.0001", "10000 soon", 'flow.txt:2: flow 1 of 6, start "soon": expected seconds'),
    ("10000 2.0001", "10000 nan", 'flow.txt:2: flow 1 of 6, start "nan": expected seconds'),
    ("1 2.0002", "1 2.00005", 'flow.txt:4: flow 3 of 6, start "2.00005": earlier than the flow before'),
    (
        "1000000 2.0005",
        "1000000 62.1",
        'flow.txt:7: flow 6 of 6, start "62.1": expected less than 60 s after the first',
    ),
]


@pytest.mark.parametrize(("old", "new", "says"), FLOW_FAULTS)
def test_flows_that_cannot_be_are_refused_at_their_place(tmp_path: Path, old: str, new: str, says: str | None) -> None:
    file = edited(FLOWS, tmp_path, old, new)
    with pytest.raises(InputError) as refused:
        flows.read(file, topology.read(TOPOLOGY))
    assert str(refused.value).startswith(f"{tmp_path}/{says or 'flow.txt:3'}"), refused.value


def test_windows_may_be_those_of_their_pair(tmp_path: Path) -> None:
    own = edited(CONFIG, tmp_path, "GLOBAL_T 1", "GLOBAL_T 0")
    scenario, _ = run_import(tmp_path / "own", config=own)
    assert scenario["host"]["window"] == "pair-bdp"


def test_hpcc_becomes_a_scenario(tmp_path: Path) -> None:
    mode_3 = edited(CONFIG, tmp_path, "CC_MODE 8", "CC_MODE 3")
    scenario, summary = run_import(tmp_path, config=mode_3, transport="hpcc")
    assert (scenario["scheme"], scenario["host"]["transport"]) == ("hpcc", "hpcc")
    host = scenario["host"]
    assert (host["header"], host["ack"], "ecn" in scenario["switch"]) == ("48 B", "88 B", False)
    hpcc = host["hpcc"]
    assert (hpcc["utilization"], hpcc["min_rate"], hpcc["reacts"], hpcc["int_bytes"]) == (
        *(0.95, "100 Mbps", "per-rtt", "42 B"),
    )
    silent = next(line for line in summary if line.startswith("Without effect here"))
    assert "KMAX_MAP" in silent
    assert "U_TARGET" not in silent


def test_hpcc_may_add_nothing_to_its_rates(tmp_path: Path) -> None:
    mode_3 = edited(CONFIG, tmp_path, "CC_MODE 8", "CC_MODE 3")
    still = edited(mode_3, tmp_path, "\nRATE_AI 50Mb/s", "\nRATE_AI 0b/s")
    scenario, _ = run_import(tmp_path, config=still, transport="hpcc")
    assert scenario["host"]["hpcc"]["additive_increase"] == "0 bps"


def test_hpcc_without_a_window_is_refused(tmp_path: Path) -> None:
    mode_3 = edited(CONFIG, tmp_path, "CC_MODE 8", "CC_MODE 3")
    bare = edited(mode_3, tmp_path, "HAS_WIN 1", "HAS_WIN 0")
    with pytest.raises(InputError) as refused:
        run_import(tmp_path, config=bare, transport="hpcc")
    says = f'{bare}:32: HAS_WIN "0": HPCC divides by its window there: expected 1'
    assert str(refused.value) == says
    silent = edited(bare, tmp_path, "HAS_WIN 0\n", "")
    scenario, _ = run_import(tmp_path, config=silent, transport="hpcc")
    assert scenario["host"]["window"] == "base-bdp", "without the key it has one"


def test_dcqcn_becomes_a_scenario(tmp_path: Path) -> None:
    config = edited(CONFIG, tmp_path, "CC_MODE 8", "CC_MODE 1")
    for key, value in (("RP_TIMER", "300.9"), ("CLAMP_TARGET_RATE", "1"), ("FAST_RECOVERY_TIMES", "5")):
        old = next(line for line in CONFIG.read_text().splitlines() if line.split()[:1] == [key])
        config = edited(config, tmp_path, f"\n{old}", f"\n{key} {value}")
    scenario, summary = run_import(tmp_path, config=config, transport="dcqcn")
    assert (scenario["scheme"], scenario["host"]["transport"]) == ("dcqcn-vendor", "dcqcn")
    assert scenario["switch"]["ecn"]["kmin"] == "1200 KB"
    dcqcn = scenario["host"]["dcqcn"]
    clocks = [dcqcn[key] for key in ("alpha_timer", "decrease_interval", "increase_timer")]
    assert clocks == ["1 us", "4 us", "300 us"], "fractions of a microsecond are cut off there"
    keys = ("variant", "fast_recovery", "clamp", "additive_increase", "hyper_increase", "min_rate", "g")
    assert [dcqcn[key] for key in keys] == ["vendor", 5, True, "50 Mbps", "100 Mbps", "100 Mbps", 0.0625]
    silent = next(line for line in summary if line.startswith("Without effect here"))
    assert "DCTCP_RATE_AI" in silent
    assert "RP_TIMER" not in silent
    endless = edited(config, tmp_path, "RP_TIMER 300.9", "RP_TIMER 0.9")
    with pytest.raises(InputError, match=r'RP_TIMER "0.9": expected 1 to 1000000 microseconds'):
        run_import(tmp_path / "endless", config=endless, transport="dcqcn")


def test_timely_becomes_a_scenario(tmp_path: Path) -> None:
    mode_7 = edited(CONFIG, tmp_path, "CC_MODE 8", "CC_MODE 7")
    scenario, summary = run_import(tmp_path, config=mode_7, transport="timely")
    assert (scenario["scheme"], scenario["host"]["transport"]) == ("timely", "timely")
    timely = scenario["host"]["timely"]
    keys = ("additive_increase", "hyper_increase", "min_rate", "window_follows_rate", "stamp_bytes")
    assert [timely[key] for key in keys] == ["50 Mbps", "100 Mbps", "100 Mbps", True, "8 B"]
    silent = next(line for line in summary if line.startswith("Without effect here"))
    assert "KMAX_MAP" in silent
    assert "RATE_HAI" not in silent
    bare = edited(mode_7, tmp_path, "HAS_WIN 1\n", "")
    scenario, _ = run_import(tmp_path / "bare", config=bare, transport="timely")
    assert scenario["host"]["window"] == "none", "without the key it has none"


def test_pint_becomes_a_scenario(tmp_path: Path) -> None:
    mode_10 = edited(CONFIG, tmp_path, "CC_MODE 8", "CC_MODE 10")
    scenario, summary = run_import(tmp_path, config=mode_10, transport="pint")
    assert (scenario["scheme"], scenario["host"]["transport"]) == ("hpcc-pint", "pint")
    pint = scenario["host"]["pint"]
    keys = ("utilization", "max_stage", "additive_increase", "min_rate", "log_base", "sampled", "pint_bytes")
    assert [pint[key] for key in keys] == [0.95, 0, "50 Mbps", "100 Mbps", 1.05, 1.0, "2 B"]
    assert (scenario["host"]["window"], scenario["host"]["ack"]) == ("base-bdp", "60 B")
    silent = next(line for line in summary if line.startswith("Without effect here"))
    assert "INT_MULTI" in silent
    assert "PINT_PROB" not in silent
    flat = edited(mode_10, tmp_path, "PINT_LOG_BASE 1.05", "PINT_LOG_BASE 1")
    with pytest.raises(InputError, match=r'PINT_LOG_BASE "1": expected a base from 1.01 to 2'):
        run_import(tmp_path / "flat", config=flat, transport="pint")


CONFIG_FAULTS = [
    (
        "CC_MODE 8",
        "CC_MODE 4",
        'config.txt:15: CC_MODE "4": expected one of 8 (dctcp), 1 (dcqcn), 3 (hpcc), 10 (pint), 7 (timely), '
        "0 (line-rate)",
    ),
    ("CC_MODE 8", "CC_MODE 0", 'config.txt:15: CC_MODE "0": --transport dctcp is 8: expected --transport line-rate'),
    ("CC_MODE 8", "CC_MODE dctcp", 'config.txt:15: CC_MODE "dctcp": expected a whole number from 0'),
    (
        "L2_ACK_INTERVAL 1",
        "L2_ACK_INTERVAL 0",
        'config.txt:29: L2_ACK_INTERVAL "0": expected a whole number from 1',
    ),
    ("L2_BACK_TO_ZERO 0", "L2_BACK_TO_ZERO 1", 'config.txt:30: L2_BACK_TO_ZERO "1"'),
    (
        "L2_CHUNK_SIZE 4000\nL2_ACK_INTERVAL 1",
        "L2_CHUNK_SIZE 0\nL2_ACK_INTERVAL 2",
        'config.txt:29: L2_ACK_INTERVAL "2": needs L2_CHUNK_SIZE',
    ),
    ("MIN_RATE 100Mb/s", "MIN_RATE fast", 'config.txt:24: MIN_RATE "fast": expected a rate such as 100Gbps'),
    (
        "MIN_RATE 100Mb/s",
        "MIN_RATE 200Gbps",
        'config.txt:24: MIN_RATE "200Gbps": expected at most the slowest host link, 100 Gbps',
    ),
    ("EWMA_GAIN 0.0625", "EWMA_GAIN 0", 'config.txt:20: EWMA_GAIN "0": expected more than 0 and at most 1'),
    ("EWMA_GAIN 0.0625", "EWMA_GAIN 1/16", 'config.txt:20: EWMA_GAIN "1/16": expected more than 0 and at most 1'),
    ("SIZE 1000", "SIZE 10", 'config.txt:4: PACKET_PAYLOAD_SIZE "10": expected a whole number from 64 to 9000'),
    ("BUFFER_SIZE 16", "BUFFER_SIZE 0", 'config.txt:52: BUFFER_SIZE "0": expected a whole number from 1 to 4095'),
    (
        "BUFFER_SIZE 16",
        "BUFFER_SIZE 16\nBUFFER_SIZE 12",
        'config.txt:53: BUFFER_SIZE "12": line 52 has "16": expected one',
    ),
    (
        "STOP_TIME 4.00",
        "STOP_TIME 1",
        'config.txt:13: SIMULATOR_STOP_TIME "1": expected a time after the first flow, 2.0001',
    ),
    ("STOP_TIME 4.00", "STOP_TIME late", 'config.txt:13: SIMULATOR_STOP_TIME "late": expected seconds'),
    ("LINK 0.0000", "LINK 1.5", 'config.txt:27: ERROR_RATE_PER_LINK "1.5": expected a share from 0 to below 1'),
    ("LINK_DOWN 0 0 0", "LINK_DOWN 10 4 5", 'config.txt:46: LINK_DOWN "4": no link joins 4 and 5'),
    (
        "LINK_DOWN 0 0 0",
        "LINK_DOWN 10 4 x",
        'config.txt:46: LINK_DOWN "x": expected microseconds after 2 s and two nodes',
    ),
    (
        "KMAX_MAP 2 100000000000 300",
        "KMAX_MAP 2 40000000000 300",
        'config.txt:49: KMAX_MAP "2": expected an entry for 100000000000',
    ),
    (
        "KMIN_MAP 2 100000000000 300",
        "KMIN_MAP 2 100000000000 301",
        'config.txt:49: KMAX_MAP "300": is the maximum at 100000000000',
    ),
    (
        "KMAX_MAP 2 100000000000 300",
        "KMAX_MAP 2 100000000000 30K",
        'config.txt:49: KMAX_MAP "30K": expected a whole number of KB',
    ),
    ("KMAX_MAP 2 1", "KMAX_MAP 2 x1", 'config.txt:49: KMAX_MAP "x100000000000": expected a link rate in bit/s'),
    ("KMAX_MAP 2", "KMAX_MAP two", 'config.txt:49: KMAX_MAP "two": expected the number of link rates that follow'),
    (
        "PMAX_MAP 2 100000000000 1.0",
        "PMAX_MAP 2 100000000000 1.1",
        'config.txt:51: PMAX_MAP "1.1": expected a probability',
    ),
    ("PMAX_MAP 2 100000000000 1.0 400000000000 1.0\n", "", 'config.txt:50: KMIN_MAP "2": PMAX_MAP is missing'),
    (
        "QLEN_MON_END 3000000000",
        "QLEN_MON_END",
        "config.txt:55: the file ends here: expected the value of QLEN_MON_END",
    ),
]


@pytest.mark.parametrize(("old", "new", "says"), CONFIG_FAULTS)
def test_a_configuration_that_cannot_be_is_refused_at_its_place(tmp_path: Path, old: str, new: str, says: str) -> None:
    wrong_config = edited(CONFIG, tmp_path, old, new)
    with pytest.raises(InputError) as refused:
        run_import(tmp_path, config=wrong_config)
    assert str(refused.value).startswith(f"{tmp_path}/{says}"), refused.value
    assert not (tmp_path / "out.toml").exists()


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"8 4 8\n4 5 6 7\n\0\1")
    with pytest.raises(InputError, match="binary:3: byte 0x00: not a text file"):
        topology.read(tmp_path / "binary")
    (tmp_path / "latin").write_bytes("8 4 8\n4 5 6 7 # \xe9t\xe9\n".encode("latin-1"))
    with pytest.raises(InputError, match="latin:2: byte 0xe9: not a text file"):
        topology.read(tmp_path / "latin")
    with pytest.raises(InputError, match="absent: cannot be read: No such file or directory"):
        topology.read(tmp_path / "absent")
    (tmp_path / "empty").write_text("\n# nothing\n")
    with pytest.raises(InputError, match="empty:1: nothing: expected a first line"):
        topology.read(tmp_path / "empty")


@pytest.mark.parametrize(
    ("seconds", "ns"),
    [(2.0, 2 * 10**9), (2.0001, 2000100000), (2.0002, 2000199999), (2.000003, 2000002999), (0.001, 1000000)],
)
def test_times_are_cut_off_as_ns3_does(seconds: float, ns: int) -> None:
    assert units.nanoseconds(seconds) == ns


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("100Gbps", 100 * 10**9),
        ("25000000000.0", 25 * 10**9),
        ("40Gb/s", 40 * 10**9),
        ("2.5Mbps", 2_500_000),
        ("7Kbps", 7000),
        ("7kbps", 7000),
        ("12bps", 12),
        ("0.0000000015Gbps", 1),
        ("1e9", None),
        ("100gbps", None),
        ("-1Gbps", None),
        ("Gbps", None),
    ],
)
def test_rates_are_exact(word: str, value: int | None) -> None:
    assert units.rate(word) == value


@pytest.mark.parametrize(
    ("word", "ns"),
    [
        ("1000ns", 1000),
        ("0.001ms", 1000),
        ("3.33us", 3330),
        ("1s", 10**9),
        ("1.9ns", 1),
        ("2500ps", 2),
        ("0.000025ms", 24),
        ("1m", None),
    ],
)
def test_delays_are_whole_nanoseconds(word: str, ns: int | None) -> None:
    assert units.delay(word) == ns


def test_the_command_imports_and_its_scenario_runs(cli: Cli, tmp_path: Path) -> None:
    files = ["--topology", TOPOLOGY, "--flows", FLOWS, "--config", CONFIG]
    done = cli("import", "hpcc", *files, "--transport", "dctcp", "-o", "here.toml")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "here.toml: 4 hosts, 4 switches, 8 links (HPCC dialect); dctcp"
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["here.background.csv", "here.incast.csv", "here.toml"]
    again = cli("import", "hpcc", *files, "--transport", "dctcp", "-o", "here.toml")
    assert again.returncode == 2
    assert "here.toml: exists" in again.stderr
    assert cli("import", "hpcc", *files, "--transport", "dctcp", "-o", "here.toml", "--force").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == written
    assert cli("run", "here.toml", "--out", "run").returncode == 0
    summary = json.loads((tmp_path / "run" / "dctcp" / "summary.json").read_text())
    assert summary["flows"]["finished"] == 6


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--transport", "swift", "-o", "x.toml"],
            "--transport swift: expected one of dctcp, dcqcn, hpcc, pint, timely, line-rate",
        ),
        (["--transport", "dctcp", "-o", "x.txt"], "--out x.txt: expected a name that ends in .toml"),
        (["--transport", "line-rate", "-o", "x.toml"], 'CC_MODE "8": --transport line-rate is 0'),
        (["--transport", "dctcp", "-o", "/proc/none/x.toml"], "/proc/none/x.toml: cannot be written"),
        (["--transport", "dctcp"], "-o"),
    ],
)
def test_a_wrong_command_writes_nothing(cli: Cli, tmp_path: Path, arguments: list[str], says: str) -> None:
    done = cli("import", "hpcc", "--topology", TOPOLOGY, "--flows", FLOWS, "--config", CONFIG, *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_only_the_core_refuses_names_the_files(cli: Cli, tmp_path: Path) -> None:
    far = edited(TOPOLOGY, tmp_path, "0 4 100Gbps 1000ns", "0 4 100Gbps 1ms")
    done = cli("import", "hpcc", "--topology", far, "--flows", FLOWS, "--transport", "dctcp", "-o", "x.toml")
    assert done.returncode == 2
    assert "topology.txt and " in done.stderr
    assert "headroom" in done.stderr
    assert ".partial" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["topology.txt"]
