"""Slow flows are explained to the picosecond, by a run that is the same run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import backwater
from backwater import InputError
from backwater.runs import explain, tables
from backwater.runs.run import Run
from backwater.scenario import experiments
from backwater.show import explained as page
from conftest import Cli


def finished(run: Run) -> explain.Explained:
    """All flows of a run that finished."""
    flows = run.table("flows")
    return run.explain_flows(flows.filter(pc.is_valid(flows["finish_rx_ps"])))


def sums_are_exact(explained: explain.Explained) -> None:
    flows, waits = explained.flows.sort_by("flow"), explained.waits
    sums = waits.group_by("flow").aggregate([("span_ps", "sum")]).sort_by("flow")
    assert sums["flow"].equals(flows["flow"])
    fct = flows["finish_rx_ps"].to_numpy() - flows["arrival_ps"].to_numpy()
    assert np.array_equal(sums["span_ps_sum"].to_numpy(), fct)


@pytest.mark.parametrize("label", ["BFC", "DCTCP", "Ideal-FQ"])
def test_parts_of_every_flow_sum_to_its_completion_time(results: backwater.Results, label: str) -> None:
    explained = finished(results.run(label))
    assert explained.flows.num_rows > 100
    sums_are_exact(explained)
    assert abs(sum(row["share"] for row in explained.causes()) - 1) < 1e-9


@pytest.mark.parametrize("time", ["20 us", pytest.param("600 us", marks=pytest.mark.long)])
def test_so_they_do_of_every_flow_of_fig9(time: str, tmp_path: Path) -> None:
    fig9 = backwater.Experiment(experiments.known()["bfc-fig9"], scale="smoke", sets={"run.duration": time})
    for run in fig9.simulate(tmp_path / "fig9").runs:
        sums_are_exact(finished(run))


@pytest.mark.parametrize(
    "scheme", ["bfc", pytest.param("dctcp", marks=pytest.mark.long), pytest.param("flowsail", marks=pytest.mark.long)]
)
def test_a_switch_may_have_more_ports_than_a_word_has_bits(tmp_path: Path, scheme: str) -> None:
    wide = backwater.Experiment(
        {
            "scheme": scheme,
            "topology": {"kind": "single-switch", "hosts": 140, "rate": "100 Gbps", "delay": "1 us"},
            "workload": [
                {"kind": "background", "sizes": {"table": "google_rpc"}, "load": 0.6, "load_of": "receivers"},
                {"kind": "incast", "degree": 100, "aggregate": "2 MB", "period": "60 us"},
            ],
            "run": {"duration": "100 us"},
        }
    )
    explained = finished(wide.simulate(tmp_path / scheme).runs[0])
    sums_are_exact(explained)
    waits = [wait for wait in explained.waits.to_pylist() if wait["hop"] == 1 and wait["peer"].startswith("host")]
    behind = {int(wait["peer"].removeprefix("host")) for wait in waits if wait["why"] in ("queue", "other-queues")}
    assert len([host for host in behind if host >= 64]) > 20
    # A port where something waits sends, so what was not counted would be idle.
    assert not [wait for wait in waits if wait["why"] == "idle"]


def test_columns_are_the_documented_ones(results: backwater.Results) -> None:
    schema = results.run("BFC").explain(0).waits.schema
    assert [(field.name, field.type) for field in schema] == [
        (column["name"], tables.arrow_type(column["type"])) for column in tables.schemas()["waits"]
    ]


def test_a_flow_alone_waits_for_nothing_but_itself(tmp_path: Path) -> None:
    scenario = tmp_path / "alone.toml"
    scenario.write_text(
        'scheme = "bfc"\n[topology]\nkind = "single-switch"\nhosts = 2\nrate = "100 Gbps"\ndelay = "1 us"\n'
        '[run]\nduration = "5 us"\nwarmup = "0 s"\n[[workload]]\nkind = "flow-list"\nclass = "web"\n'
        'flows = [{ start = "1 us", src = "host0", dst = "host1", bytes = "3000 B" }]\n'
    )
    run = backwater.Experiment(scenario).run(tmp_path / "run").runs[0]
    explained = run.explain(0)
    flow = explained.flow(0)
    parts = [(wait["hop"], wait["why"], wait["span_ps"]) for wait in flow["waits"]]
    link = [("transmission", 83_840), ("propagation", 1_000_000)]
    assert parts == [(0, "own-packets", 2 * 83_840), *((0, *part) for part in link), *((1, *part) for part in link)]
    assert flow["fct_ps"] == flow["ideal_ps"] == sum(span for _, _, span in parts)
    assert page.flow_lines(explained, 0) == [
        "flow 0 (web, 3 KB), host0 to host1: 2.34 us, 1.0 times the ideal 2.34 us",
        "|- host0 to switch0: 1.25 us (53.6 %)",
        "|  |- 168 ns packets of the flow itself",
        "|  `- 1.08 us on the link",
        "`- switch0 to host1: 1.08 us (46.4 %)",
        "   `- 1.08 us on the link",
    ]
    assert page.sentence(explained) == "100 % own packets and links"


def test_the_tail_is_what_the_table_of_slowdowns_says(results: backwater.Results) -> None:
    run = results.run("DCTCP")
    for row in run.table("slowdown").to_pylist():
        if not row["flows"]:
            continue
        sizes = {"above": row["size_low_bytes"], "below": row["size_high_bytes"]}
        for percentile in (50, 95, 99):
            tail = explain.slowest(run.table("flows"), flow_class=row["class"], percentile=percentile, **sizes)
            assert tail["slowdown"][-1].as_py() == row[f"p{percentile}"]
            assert tail["slowdown"].to_pylist() == sorted(tail["slowdown"].to_pylist(), reverse=True)


def test_flows_are_named_by_number(results: backwater.Results) -> None:
    run = results.run("BFC")
    assert repr(run.explain(np.int64(3), 4)) == "Explained('BFC': 2 flows)"
    with pytest.raises(InputError, match=r"^flow 'a': no such flow; there is 0 to "):
        run.explain("a")
    with pytest.raises(InputError, match=r"^no flow is named: expected the number of one at least$"):
        run.explain()


def test_another_run_is_not_explained(results: backwater.Results) -> None:
    run = results.run("BFC")
    flows = explain.numbered(run.table("flows"), [0])
    with pytest.raises(InputError, match="makes another run of it"):
        explain.again("BFC", run.scenario, "0" * 64, flows, flows, run.summary["sim_time_ps"])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "3 runs: name some with --run; expected one of BFC, DCTCP, Ideal-FQ"),
        (["--run", "PFC"], "no run 'PFC'; did you mean BFC? expected one of BFC, DCTCP, Ideal-FQ"),
        (["--run", "BFC", "--flow", "99999999"], "flow 99999999: no such flow; there is 0 to "),
        (["--run", "BFC", "--class", "mail"], "--class mail: expected one of "),
        (["--run", "BFC", "--below", "3"], "--below 3: expected a size such as 3KB"),
        (
            ["--run", "BFC", "--above", "10 GB"],
            "no counted flow of any class and above 10000000000 B finished: expected at least one",
        ),
        (["--run", "BFC", "--flow", "1", "--below", "3KB"], "--flow: names flows"),
        (["--run", "BFC", "--flow", "1", "--out", "waits.csv"], "--out waits.csv: expected one run, and a name"),
        (["--run", "BFC", "--flow", "1", "--out", "no/such.arrow"], "--out no/such.arrow: no such directory: no"),
    ],
)
def test_what_cannot_be_explained_is_said(
    cli: Cli, results: backwater.Results, arguments: list[str], problem: str
) -> None:
    done = cli("explain", results.path, *arguments)
    assert done.returncode == 2
    assert problem in done.stderr


def test_the_command_tells_of_the_tail_and_the_worst(cli: Cli, results: backwater.Results, tmp_path: Path) -> None:
    done = cli("explain", results.path, "--run", "DCTCP", "--worst", 2, "--percentile", 90, "--out", "waits.parquet")
    assert done.returncode == 0, done.stderr
    assert f"the same run (digest {results.run('DCTCP').digest[:16]})" in done.stdout
    assert "p90 slowdown is " in done.stdout
    assert done.stdout.count("\nflow ") == 2
    waits = pq.read_table(tmp_path / "waits.parquet")
    tail = explain.slowest(results.run("DCTCP").table("flows"), percentile=90)
    assert set(waits["flow"].to_pylist()) == set(tail["flow"].to_pylist())


def test_json_holds_the_same(cli: Cli, results: backwater.Results) -> None:
    done = cli("explain", results.path, "--run", "BFC", "--run", "DCTCP", "--percentile", "p99", "--json")
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)
    assert len(runs) == 2
    for run in runs:
        for flow in run["flows"]:
            assert flow["fct_ps"] == sum(wait["span_ps"] for wait in flow["waits"])
        whole = sum(flow["fct_ps"] for flow in run["flows"])
        assert sum(cause["span_ps"] for cause in run["causes"]) == whole
