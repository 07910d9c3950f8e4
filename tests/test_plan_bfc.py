"""What BFC asks of a switch, by the paper's numbers; and how flows meet in queues, by assigning them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from backwater import InputError, _core
from backwater.compute import processor_sharing as sharing
from backwater.compute.bfc_switch import Switch
from backwater.plan import bfc
from conftest import Cli


def rows(switch: Switch) -> dict[str, dict[str, float]]:
    return {row["table"]: row for row in bfc.state(switch)}


def test_tables_are_the_papers() -> None:
    tofino2 = Switch(**bfc.of_chip("tofino2"))
    assert (tofino2.ports, tofino2.rate, tofino2.queues, tofino2.buffer) == (32, 400e9, 128, 64e6)
    assert tofino2.capacity == 12.8e12
    tables = rows(tofino2)
    assert tables["flow table"]["entries"] == 409_600
    assert tables["flow table"]["pipeline_entries"] == 102_400 == 25 * 4096
    assert tables["pause counters"]["entries"] == 4096
    assert tables["pause counters"]["pipeline_entries"] == 1024
    assert tables["empty queues"]["entries"] * tables["empty queues"]["bits"] == 4096
    # A copy in each pipeline.
    assert tables["empty queues"]["bytes"] == 4 * tables["empty queues"]["pipeline_bytes"] == 4 * 512
    simulated = rows(Switch(ports=24))["flow table"]
    assert simulated["entries"] == 76_800
    assert simulated["bytes"] == 76_800 * (6 + 18 + 16) / 8
    assert rows(Switch(pipelines=3))["flow table"]["pipeline_entries"] == -(-409_600 // 3)


def test_thresholds_are_hrtt_over_active_queues() -> None:
    thresholds = bfc.thresholds(Switch())
    assert [row["active"] for row in thresholds] == list(range(1, 32))
    assert {n: round(thresholds[n - 1]["bytes"]) for n in (1, 2, 4, 8, 16, 24, 25, 31)} == {
        **{1: 25_000, 2: 12_500, 4: 6250, 8: 3125, 16: 1562, 24: 1042, 25: 1000, 31: 806}
    }
    assert thresholds[0]["cells"] == 142
    assert 142 * 176 <= 25_000 < 143 * 176
    assert bfc.thresholds(Switch(hrtt=4e-6, rate=400e9))[0]["bytes"] == pytest.approx(200_000)


def test_headers_fit_from_500_bytes_on() -> None:
    for row in bfc.recirculation(Switch(), None):
        assert row["fits"] == (row["packet"] >= 500)
        assert row["sampled"] * row["share"] <= 0.12 + 1e-12
        assert row["sampled"] == pytest.approx(min(1, row["packet"] / 500))
        assert row["packets_per_second"] * row["packet"] * 8 == pytest.approx(12.8e12)
        assert row["pipeline_packets_per_second"] == pytest.approx(row["packets_per_second"] / 2)


@pytest.mark.parametrize("load", [0.8, *(pytest.param(load, marks=pytest.mark.long) for load in (0.3, 0.95))])
@pytest.mark.parametrize("queues", [1, 2, 7, 31])
def test_flows_share_queues_as_when_they_are_assigned(load: float, queues: int) -> None:
    """Numbers of flows are drawn, and each is given a queue: an empty one if there is any, or one by hash."""
    random = np.random.default_rng(7)
    n_draws = 30_000
    numbers = random.geometric(1 - load, n_draws) - 1
    flows = 0
    share = {True: 0, False: 0}
    came = {True: 0, False: 0}
    for n in numbers.tolist():
        flows += n
        hashed = random.integers(queues, size=n + 1)
        dynamic = np.concatenate([np.arange(min(n, queues)), random.integers(queues, size=max(0, n - queues))])
        for kind, chosen in ((True, hashed[:n]), (False, dynamic)):
            counts = np.bincount(chosen, minlength=queues)
            share[kind] += int(counts[counts > 1].sum())
        came[True] += hashed[n] in hashed[:n]
        came[False] += n >= queues
    for kind in (True, False):
        assert share[kind] / flows == pytest.approx(bfc.shared(load, queues, hashed=kind), rel=0.06, abs=0.004)
        assert came[kind] / n_draws == pytest.approx(bfc.comes_to_share(load, queues, hashed=kind), abs=0.012)
    assert (numbers > queues).mean() == pytest.approx(sharing.exceeds(load, queues), abs=0.012)


@pytest.mark.parametrize("load", [0.1, 0.6, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("target", [0.5, 0.05, 0.01, 1e-6])
def test_one_queue_fewer_is_too_few(load: float, target: float) -> None:
    enough = sharing.queues_for(load, target)
    assert sharing.exceeds(load, enough) <= target
    assert enough == 0 or sharing.exceeds(load, enough - 1) > target
    for hashed in (True, False):
        enough = bfc.fewest(load, target, hashed=hashed)
        assert bfc.shared(load, enough, hashed=hashed) <= target
        assert enough == 1 or bfc.shared(load, enough - 1, hashed=hashed) > target


def test_active_flows_are_the_papers() -> None:
    demand = bfc.Demand.of("fb_hadoop_bfc_authors", 0.9, 0.01)
    assert sharing.mean(demand.load) == pytest.approx(9)
    # rho^32: 0.034 at 0.9, 0.0008 at 0.8, 0.194 at 0.95.
    assert sharing.exceeds(0.9, 31) == pytest.approx(0.034, abs=5e-4)
    assert sharing.exceeds(0.8, 31) == pytest.approx(0.0008, abs=5e-5)
    assert sharing.exceeds(0.95, 31) == pytest.approx(0.194, abs=5e-4)
    law = np.cumsum(0.1 * 0.9 ** np.arange(1000))
    for percent in bfc.PERCENTILES:
        assert demand.percentile(percent) == np.searchsorted(law, percent / 100 - 1e-12)


def test_mean_packets_are_those_of_flows_cut_into_packets(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("# interpolation=step\nsize_bytes,cdf\n100,0.5\n2500,1\n")
    demand = bfc.Demand.of(str(table), 0.5, 0.1)
    # Two flows have 2600 B in 1 + 3 packets.
    assert demand.mean_size == 1300
    assert demand.mean_packet == pytest.approx(2600 / 4 + 48)
    # A table counts as large where its packets are full.
    assert bfc.Demand.of("web_search", 0.5, 0.1).mean_packet == pytest.approx(1047, abs=1)


def test_the_command_prints_and_writes_the_same(cli: Cli) -> None:
    words = "plan bfc --chip tofino2 --workload google_rpc_bfc_authors --load 0.9 --target 0.001"
    done = cli(*words.split())
    assert done.returncode == 0, done.stderr
    for text in (
        "409,600",
        "102,400",
        "4,096",
        "100,000 B",
        "12.0 %",
        "500 B",
        "google_rpc_bfc_authors",
        "p99.9",
        "9.00",
    ):
        assert text in done.stdout, text
    shown = json.loads(cli(*words.split(), "--json").stdout)
    assert shown["tables"][0]["entries"] == 409_600
    assert shown["packet_least"] == pytest.approx(500)
    assert shown["sticky_s"] == pytest.approx(4e-6)
    assert shown["active_flows"]["mean"] == pytest.approx(9)
    assert [row["queues"] for row in shown["queues"]] == [8, 16, 32, 64, 128]
    assert shown["queues"][2]["exceeded"] == pytest.approx(0.9**32)
    assert shown["needed"]["exceeded"] == 1 + sharing.queues_for(0.9, 0.001)
    assert str(shown["needed"]["hashed_shared"]) in done.stdout.replace(",", "")
    described = ["plan", "bfc", "--ports", 24, "--rate", "25 Gbps", "--hrtt", "4us", "--queues", 8]
    alone = cli(*described)
    assert alone.returncode == 0, alone.stderr
    assert "Active flows" not in alone.stdout
    shown = json.loads(cli(*described, "--json").stdout)
    assert "demand" not in shown
    assert shown["thresholds"][0]["bytes"] == pytest.approx(12_500)
    assert len(shown["thresholds"]) == 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--ports 0", "--ports 0: expected 1 to 1024"),
        ("--queues 1", "--queues 1: expected 2 to 4096"),
        ("--rate 100", "--rate 100: expected a number and one of"),
        ("--hrtt 2GB", "--hrtt 2GB: expected a number and one of"),
        ("--cell 0B", "--cell 0: expected 1 to 9216"),
        ("--pipelines 100", "--pipelines 100: expected 1 to 64"),
        ("--buffer 1B", "--buffer 1: expected 1000 to 1e+12"),
        ("--chip tofino3", "--chip tofino3: did you mean tofino or tofino2? expected one of broadcom-56538,"),
        ("--load 0.5", "--load 0.5: expected --workload with it"),
        ("--workload cache --load 1", "--load 1: expected above 0, and at most 0.99"),
        ("--workload cache --target 0", "--target 0: expected 1e-12 to below 1"),
        ("--workload cash", "cash: no such table of sizes or file; did you mean cache"),
    ],
)
def test_what_no_switch_can_be_is_refused(cli: Cli, words: str, message: str) -> None:
    done = cli("plan", "bfc", *words.split())
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_wrong_table_is_refused_by_its_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("size_bytes,cdf\n100,0.5\n200,0.9\n")
    done = cli("plan", "bfc", "--workload", "sizes.csv")
    assert done.returncode == 2
    assert "sizes.csv:3: the last cumulative probability is 0.9: expected 1" in done.stderr
    with pytest.raises(InputError):
        _core.size_table("sizes.csv")
