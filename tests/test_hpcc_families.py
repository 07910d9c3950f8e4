"""Files of HPCC's simulator and its forks are read as they are found, or refused with what is missing.

The files here are small ones of the shape of the public ones. Each test names a repository that has such files.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from backwater import Experiment, InputError
from backwater.hpcc import importer
from backwater.runs.directory import RunDirectory
from backwater.scenario import endless
from conftest import Cli

TOPOLOGY = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1000ns 0.000000\n" for host in range(4))
FLOWS = "2\n0 1 3 100 20000 2\n2 1 3 100 20000 2.00001\n"
CONFIG = "CC_MODE 1\nBUFFER_SIZE 32\nMIN_RATE 100Mb/s\nHAS_WIN 1\nGLOBAL_T 1\n"
MAPS = "KMAX_MAP 1 100000000000 1600\nKMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\n"
LINK_NOTES = "\nFirst line: total node #, switch node #, link #\nsrc0 dst0 rate delay error_rate\n...\n"
FLOW_NOTES = "\nFirst line: # of flows\nsrc0 dst0 3 dst_port0 size0 start_time0\n...\n\nPlease order the flows!\n"


def run_import(
    place: Path, topology: str = TOPOLOGY, flows: str = FLOWS, config: str = CONFIG, transport: str = "dcqcn"
) -> tuple[Any, list[str]]:
    """Imports these texts. Returns the resolved scenario, and the summary."""
    place.mkdir(exist_ok=True)
    for name, text in (("topology.txt", topology), ("flow.txt", flows), ("config.txt", config)):
        (place / name).write_bytes(text.encode())
    names = (place / "topology.txt", place / "flow.txt", place / "config.txt")
    imported = importer.read(*names, transport, "out")
    paths = importer.write(imported, place / "out.toml", force=False)
    (run,) = Experiment(paths[0]).plan.runs
    return run.scenario, importer.summary(imported, paths)


def listed(scenario: dict[str, Any]) -> list[dict[str, str]]:
    (workload,) = scenario["workload"]
    return list(csv.DictReader(line for line in workload["rows"].splitlines() if not line.startswith("#")))


def test_flows_behind_the_counted_ones_are_left_out(tmp_path: Path) -> None:
    """alibaba-edu/High-Precision-Congestion-Control counts 2 flows, lists 256, and ends in prose."""
    more = "".join(f"{source} 1 3 100 5000000 2\n" for source in (3, 0, 2))
    scenario, summary = run_import(tmp_path, flows=FLOWS + more + FLOW_NOTES)
    assert len(listed(scenario)) == 2
    assert "Note: 3 flows behind the 2 of the first line are left out, as there (flow.txt:4)" in summary


@pytest.mark.parametrize("behind", ["9  3 100 5000000 2\n", FLOW_NOTES, "\n\n\nFirst line: flow #\r\n"])
def test_text_behind_the_flows_is_left_out(tmp_path: Path, behind: str) -> None:
    """Prose (Clark5/Poseidon), and a flow with a word too few (wslwy/BICC)."""
    scenario, summary = run_import(tmp_path, flows=FLOWS + behind)
    assert len(listed(scenario)) == 2
    assert any(line.startswith("Note: text behind the last flow is left out, as there (flow.txt:") for line in summary)


def test_links_behind_the_counted_ones_are_left_out(tmp_path: Path) -> None:
    """HPCC's own topology.txt counts 65 links and lists 256, to nodes that it does not have."""
    more = "4 4 100Gbps 1us 0\n4 257 25Gbps 0.001ms 0\n"
    scenario, summary = run_import(tmp_path, topology=TOPOLOGY + more + LINK_NOTES)
    assert len(scenario["topology"]["links"]) == 4
    assert "Note: 2 links behind the 4 of the first line are left out, as there (topology.txt:7)" in summary
    _, summary = run_import(tmp_path / "one", topology=TOPOLOGY + more.splitlines()[0])
    assert "Note: 1 link behind the 4 of the first line is left out, as there (topology.txt:7)" in summary


def test_too_few_flows_or_links_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'flow.txt:4: flow 3 of 4, source "First": expected a whole number'):
        run_import(tmp_path, flows=FLOWS.replace("2\n", "4\n", 1).rstrip("\n") + FLOW_NOTES)
    with pytest.raises(InputError, match=r"topology.txt:6: the file ends here: expected link 5 of 5, one end"):
        run_import(tmp_path, topology=TOPOLOGY.replace("5 1 4", "5 1 5"))


def test_line_ends_of_windows_and_a_missing_last_one_do_not_matter(tmp_path: Path) -> None:
    """mostafaei/PrioMeter and Cherries-Man/NS3-MP-RDMA have the first, Eternal579/Themis the second."""
    plain, _ = run_import(tmp_path / "plain")
    dos = [text.replace("\n", "\r\n") for text in (TOPOLOGY + LINK_NOTES, FLOWS, CONFIG)]
    assert run_import(tmp_path / "dos", *dos)[0] == plain
    bare = [text.rstrip("\n") for text in (TOPOLOGY, FLOWS, CONFIG)]
    assert run_import(tmp_path / "bare", *bare)[0] == plain
    wide = [text.replace(" ", "  \t") for text in (TOPOLOGY, FLOWS, CONFIG)]
    assert run_import(tmp_path / "wide", *wide)[0] == plain


def test_flows_may_be_numbered(tmp_path: Path) -> None:
    """netiken/m4 and kwzhao/High-Precision-Congestion-Control begin each flow with its number."""
    plain, _ = run_import(tmp_path / "plain")
    scenario, summary = run_import(tmp_path / "m4", flows="2\n0 0 1 3 100 20000 2\n1 2 1 3 100 20000 2.00001\n")
    assert scenario == plain
    assert not any("ConWeave" in line for line in summary)


def test_links_of_ns3_rdma_have_no_error_rate(tmp_path: Path) -> None:
    """bobzhuyb/ns3-rdma, the simulator of DCQCN's authors."""
    plain, _ = run_import(tmp_path / "plain")
    bare = TOPOLOGY.replace(" 0.000000", "").replace("1000ns", "0.001ms")
    scenario, summary = run_import(tmp_path / "bare", topology=bare + LINK_NOTES)
    assert scenario["topology"] == plain["topology"]
    assert "(ns3-rdma dialect)" in summary[0]


@pytest.mark.parametrize("rate", ["100000000000bps", "100000000000", "100000000000.0", "100Gb/s", "100000Mbps"])
@pytest.mark.parametrize("delay", ["1us", "0.001ms", "1000ns", "1000000ps"])
def test_rates_and_delays_have_many_forms(tmp_path: Path, rate: str, delay: str) -> None:
    """inet-tub/ns3-datacenter writes bits per second with a fraction, netiken/m4 with `bps`."""
    scenario, _ = run_import(tmp_path, topology=TOPOLOGY.replace("100Gbps", rate).replace("1000ns", delay))
    assert scenario["topology"]["links"][0] == {"ends": ["host0", "switch4"], "rate": "100 Gbps", "delay": "1 us"}


TOPOLOGY_FAULTS = [
    (
        "8 0 8\n\n0 1 25Gbps 0.005ms 0\n",
        'topology.txt:1: number of switches "0": hosts that are joined without a switch are not simulated: expected at '
        "least 1",
    ),
    (
        "4 2 5\n2 3\n0 2 25Gbps 1us 0\n0 3 25Gbps 1us 0\n1 2 25Gbps 1us 0\n1 3 25Gbps 1us 0\n2 3 25Gbps 1us 0\n",
        "topology.txt:4: host 0 has 2 links: several NICs are not simulated: expected a host to have exactly one",
    ),
    (
        "4 2 1 1 4 H100\n2 3\n0 2 2000Gbps 25ns 0\n0 3 1Gbps 1us 0\n1 2 2000Gbps 25ns 0\n1 3 1Gbps 1us 0\n",
        "topology.txt:4: host 0 has 2 links: GPUs with a link to an NVSwitch and one to the network are not simulated",
    ),
]
"""astra-sim/astra-sim's ring, HPCC's racks with two switches each, and aliyun/SimAI."""


@pytest.mark.parametrize(("topology", "says"), TOPOLOGY_FAULTS)
def test_networks_that_are_not_simulated_are_refused_for_a_reason(tmp_path: Path, topology: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        run_import(tmp_path, topology=topology)
    assert str(refused.value).startswith(f"{tmp_path}/{says}"), refused.value


FLOW_FAULTS = [
    ("1\n2 1 3 10000000 2.0 9.5\n", 'flow.txt:2: flow 1 of 1, bytes "2.0": a time: flows that stop, or have a class'),
    ("1\n0 1 3 8192 2.006000000 2\n", 'flow.txt:2: flow 1 of 1, bytes "2.006000000": a time: flows that stop'),
    ("1\n0 0 0 1 0 1 0 3 8192 2000000000 2\n", "flow.txt:2: 11 words: expected 6 for a flow"),
    ("1\nUD 0 1 3 100 8192 2\n", 'flow.txt:2: flow 1 of 1, number "UD": expected a whole number'),
    ("1\n0 1 0 100 8192 2\n", 'flow.txt:2: flow 1 of 1, priority group "0": expected a whole number from 1 to 7'),
]
"""bobzhuyb/ns3-rdma, LarryBUPT/conweave-ns3 (two forms), Eren121/ns3-roce, and a group of control packets."""


@pytest.mark.parametrize(("flows", "says"), FLOW_FAULTS)
def test_flows_that_are_not_simulated_are_refused_for_a_reason(tmp_path: Path, flows: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        run_import(tmp_path, flows=flows)
    assert str(refused.value).startswith(f"{tmp_path}/{says}"), refused.value


CONFIG_FAULTS = [
    ("CC_MODE 11\n", 'config.txt:6: CC_MODE "11": expected one of 8 (dctcp), 1 (dcqcn)'),
    ("ENABLE_PFC 0\n", 'config.txt:6: ENABLE_PFC "0": that simulator\'s switches are not simulated without PFC'),
    ("ENABLE_IRN 1\n", 'config.txt:6: ENABLE_IRN "1": IRN is not simulated with that simulator\'s hosts: expected 0'),
    ("LB_MODE 9\n", 'config.txt:6: LB_MODE "9": a flow keeps the path that ECMP gives it: expected 0'),
    ("NO_CC_NODE 2 0 1\n", 'config.txt:6: NO_CC_NODE "2": all hosts have the same congestion control: expected 0'),
    ("BUFFER_SIZE 0\n", 'config.txt:6: BUFFER_SIZE "0": expected a whole number from 1 to 4095, in MiB'),
    ("KMAX 1000\n", 'config.txt:6: KMAX "1000": the settings of ns3-rdma are not read: expected those of HPCC'),
    ("ns3::RdmaHw::CcMode 13\n", 'config.txt:6: ns3::RdmaHw::CcMode "13": expected one of 8 (dctcp)'),
    ("ns3::SwitchNode::PfcEnabled false\n", 'config.txt:6: ns3::SwitchNode::PfcEnabled "false": that simulator'),
    ("ns3::RdmaHw::L2BackToZero true\n", 'config.txt:6: ns3::RdmaHw::L2BackToZero "true": a host resends'),
]
"""Forks such as hrQAQ/intcc, wangxinshuo0421/LIBRA, conweave-project/conweave-ns3, wangshicheng1225/Hawkeye, ns3-rdma,
and aliyun/ns-3-alibabacloud."""


@pytest.mark.parametrize(("line", "says"), CONFIG_FAULTS)
def test_settings_that_are_not_simulated_are_refused_for_a_reason(tmp_path: Path, line: str, says: str) -> None:
    key = "CC_MODE" if "CcMode" in line else line.split()[0]
    rest = "".join(f"{other}\n" for other in CONFIG.splitlines() if other.split()[0] != key)
    padded = "#\n" * (5 - rest.count("\n")) + rest
    with pytest.raises(InputError) as refused:
        run_import(tmp_path, config=padded + line)
    assert str(refused.value).startswith(f"{tmp_path}/{says}"), refused.value


@pytest.mark.parametrize(
    "line", ["ENABLE_PFC 1", "ENABLE_IRN 0", "LB_MODE 0", "NO_CC_NODE 0", "ENABLE_QBB 1", "PACKET_LEVEL_ECMP 0"]
)
def test_settings_of_forks_that_change_nothing_are_read(tmp_path: Path, line: str) -> None:
    """conweave-project/conweave-ns3 without IRN and with ECMP, and saberfeng/HPCC."""
    plain, _ = run_import(tmp_path / "plain")
    scenario, summary = run_import(tmp_path / "fork", config=f"{line}\n{CONFIG}")
    assert scenario == plain
    assert not any(told.startswith("Unknown") for told in summary)


def test_a_stop_time_may_be_longer_than_any_simulation(tmp_path: Path) -> None:
    """aliyun/SimAI and astra-sim/astra-network-ns3 stop after 40000000000000.00 s."""
    never = run_import(tmp_path, config=CONFIG + "SIMULATOR_STOP_TIME 40000000000000.00\n")[0]["run"]
    assert never["drain"] * 11e-6 == pytest.approx(69)
    assert "longer than a run may last" in (tmp_path / "out.toml").read_text()


def test_a_list_may_be_longer_than_its_count(tmp_path: Path) -> None:
    """inet-tub/ns3-datacenter counts 3 rates and lists 4: that simulator takes the rest for unknown keys."""
    longer = MAPS.replace("1 100000000000 1600", "1 100000000000 1600 400000000000 6400")
    scenario, summary = run_import(tmp_path, config=CONFIG + longer)
    assert scenario["switch"]["ecn"]["kmax"] == "1600 KB"
    assert "Note: KMAX_MAP counts 1: 2 words behind are left out, as there (config.txt:6)" in summary
    assert not any(told.startswith("Unknown") for told in summary)


def test_slashes_begin_a_comment(tmp_path: Path) -> None:
    """wangshicheng1225/Hawkeye switches a line off by slashes. Paths may have some inside."""
    noted = "//BUFFER_SIZE 768\nTOPOLOGY_FILE mix//topology.txt // CC_MODE 3\n"
    scenario, summary = run_import(tmp_path, config=noted + CONFIG)
    assert scenario["switch"]["buffer"] == f"{32 << 20} B"
    assert not any(told.startswith("Unknown") for told in summary)


ATTRIBUTES = """# NS3 SETTINGS
ns3::QbbNetDevice::QcnEnabled true
ns3::SwitchNode::PfcEnabled true
ns3::RdmaHw::Mtu 9000
ns3::RdmaHw::CcMode {mode}
ns3::RdmaHw::RateAI 5Mb/s
ns3::RdmaHw::MinRate 100Mb/s
ns3::RdmaHw::L2BackToZero false
ns3::RdmaHw::VarWin false
ns3::RdmaHw::NicCoalesceMethod PER_QP
ns3::MellanoxDcqcn::RPTimer 900.0
ns3::MellanoxDcqcn::EwmaGain 0.5
ns3::Dctcp::DctcpRateAI 1000Mb/s
BUFFER_SIZE 32
"""


def test_attributes_of_ns3_are_settings(tmp_path: Path) -> None:
    """aliyun/ns-3-alibabacloud has most settings as attributes. Those of another control have no effect."""
    scenario, summary = run_import(tmp_path / "dcqcn", config=ATTRIBUTES.format(mode=1))
    host = scenario["host"]
    assert (host["payload"], host["dcqcn"]["increase_timer"], host["dcqcn"]["g"]) == ("9 KB", "900 us", 0.5)
    assert (host["dcqcn"]["additive_increase"], host["dcqcn"]["window_follows_rate"]) == ("5 Mbps", False)
    assert "ns3::MellanoxDcqcn::RPTimer, config.txt:11" in (tmp_path / "dcqcn" / "out.toml").read_text()
    assert any(line.startswith("Unknown") and "ns3::RdmaHw::NicCoalesceMethod (line 10)" in line for line in summary)
    host = run_import(tmp_path / "dctcp", config=ATTRIBUTES.format(mode=8), transport="dctcp")[0]["host"]
    assert (host["dctcp"]["g"], host["dctcp"]["additive_increase"]) == (0.0625, "1 Gbps")


def test_a_window_may_be_fixed(tmp_path: Path) -> None:
    """kwzhao/High-Precision-Congestion-Control (m3) gives all flows one window, unless each pair has its own."""
    assert run_import(tmp_path / "all", config=CONFIG + "FIXED_WIN 18000\n")[0]["host"]["window"] == "18 KB"
    own = CONFIG.replace("GLOBAL_T 1", "GLOBAL_T 0") + "FIXED_WIN 18000\n"
    assert run_import(tmp_path / "own", config=own)[0]["host"]["window"] == "pair-bdp"


ENDLESS = "3\n0 1 3 100 1000000000000 2\n2 1 3 100 1000000000000 2.00001\n3 1 3 100 20000 2.00002\n"
"""The shape of inet-tub/ns3-datacenter's PowerTCP/flow-burstExp-256.txt."""
TOLD = "2 flows have no end: they end with the run, neither finished nor unfinished."


def test_flows_without_end_are_in_no_completion_times(cli: Cli, tmp_path: Path) -> None:
    """Commands, page and fct.txt say so, and none counts them as unfinished."""
    _, summary = run_import(tmp_path / "in", flows=ENDLESS, config=CONFIG + "SIMULATOR_STOP_TIME 2.0002\n")
    assert summary[1].startswith("out.background.csv: 3 flows (1 background, 2 without end), 20 KB, from 2 to ")
    checked = cli("check", "in/out.toml")
    assert checked.stdout.splitlines()[-1] == TOLD
    (facts,) = json.loads(cli("check", "in/out.toml", "--json").stdout)
    assert facts["endless_flows"] == 2
    ran = cli("run", "in/out.toml", "--out", "run", "--fct", "fct.txt")
    assert ran.returncode == 0, ran.stderr
    assert f"1 of 1 counted flow finished, and no packet was dropped. {TOLD}" in " ".join(ran.stdout.split())
    assert "fct.txt: 1 flow of dcqcn-vendor, 2 flows without end left out" in ran.stdout
    assert len((tmp_path / "fct.txt").read_text().splitlines()) == 1
    assert TOLD in (tmp_path / "run" / "report.html").read_text()
    results = RunDirectory(tmp_path / "run")
    flows = results.runs[0].summary["flows"]
    assert (flows["total"], flows["counted"], flows["finished"], flows["unfinished"]) == (3, 1, 1, 0)
    assert results.runs[0].complete
    assert sum(row["flows"] + row["unfinished"] for row in results.runs[0].table("slowdown").to_pylist()) == 1
    (written,) = json.loads(cli("export", "fct", "run", "again.txt", "--json").stdout)
    assert (written["flows"], written["unfinished"], written["endless"]) == (1, 0, 2)
    compared = json.loads(cli("compare-fct", "fct.txt", "run", "--json").stdout)
    assert [compared[side][key] for side in "ab" for key in ("finished", "unfinished", "endless")] == [1, 0, 0, 1, 0, 2]
    assert "1 finished flow; 2 others without end" in " ".join(cli("compare-fct", "fct.txt", "run").stdout.split())


def test_endless_flows_alone_have_no_list(tmp_path: Path) -> None:
    """inet-tub/ns3-datacenter's flow-fairnessExp.txt has no other flows."""
    alone = "1\n0 1 3 100 1000000000000 2\n"
    scenario, summary = run_import(tmp_path, flows=alone, config=CONFIG + "SIMULATOR_STOP_TIME 2.0002\n")
    assert summary[1] == "flow.txt: 1 flow (1 without end), from 2 to 2 s"
    assert [workload["kind"] for workload in scenario["workload"]] == ["long-lived"]
    assert endless.told([scenario]) == ["1 flow has no end: it ends with the run, neither finished nor unfinished."]
    listed_only, _ = run_import(tmp_path / "listed")
    assert endless.told([listed_only]) == []
    assert endless.told([scenario, listed_only])[0].startswith("Up to 1 flow has no end")


def test_flows_above_4_gib_go_all_the_way(cli: Cli, tmp_path: Path) -> None:
    """Bytes above 32 bits are the same in the file, the list of flows, the tables and fct.txt."""
    size = 2**32 + 1000
    fast = TOPOLOGY.replace("100Gbps", "8000Gbps")
    jumbo = CONFIG.replace("CC_MODE 1", "CC_MODE 0").replace("HAS_WIN 1", "HAS_WIN 0") + "PACKET_PAYLOAD_SIZE 9000\n"
    scenario, _ = run_import(tmp_path, fast, f"1\n0 1 3 100 {size} 2\n", jumbo, "line-rate")
    assert [flow["bytes"] for flow in listed(scenario)] == [str(size)]
    ran = cli("run", "out.toml", "--out", "run", "--fct", "fct.txt")
    assert ran.returncode == 0, ran.stderr
    (run,) = RunDirectory(tmp_path / "run").runs
    (flow,) = run.table("flows").to_pylist()
    assert flow["size_bytes"] == size
    packets = -(-size // 9000)
    ns = 9048 * 8 // 8000  # That simulator counts whole nanoseconds.
    assert packets * ns < flow["finish_rx_ps"] // 1000 < packets * (ns + 1) + 3000
    (_, _, _, _, written, _, fct_ns, standalone_ns) = (tmp_path / "fct.txt").read_text().split()
    assert (int(written), int(fct_ns)) == (size, flow["finish_tx_ps"] // 1000)
    assert int(standalone_ns) > packets * ns
