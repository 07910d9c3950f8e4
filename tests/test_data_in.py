"""What an experiment is made of in Python: units, graphs, data frames, samples, and builders for the rest."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import backwater
from backwater import Experiment, InputError, sizes, topology, units, workload
from backwater.execute.progress import Shares
from backwater.scenario import experiments
from conftest import ROOT

RUN = {"duration": 100 * units.us}
NET = topology.single_switch(hosts=4, rate=100 * units.Gbps, delay=1 * units.us)
TRAFFIC = workload.background(sizes=sizes.fixed(10 * units.KB), load=0.5, load_of="receivers")
FLOWS = [(0.0, "host0", "host1", 1000), (2e-6, "host1", "host0", 500), ("7 us", 2, 3, 4000.0)]
LISTED = "start_ns,src,dst,bytes\n0,host0,host1,1000\n2000,host1,host0,500\n7000,host2,host3,4000\n"


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (100 * units.Gbps, "100 Gbps"),
        (2.5 * units.Mbps, "2.5 Mbps"),
        (80 * units.us, "80 us"),
        (units.us * 0.5, "500 ns"),
        (1e-12 * units.s, "1 ps"),
        (0 * units.s, "0 ps"),
        (64 * units.KB, "64 KB"),
        (1 * units.MiB, "1.048576 MB"),
        (units.GB / 4, "250 MB"),
        (1.6 * units.Tbps, "1.6 Tbps"),
        (units.us / 3, "333.333 ns"),
        (100 * units.Gbps / 3, "33.333333333 Gbps"),
        (1.5 * units.B, "2 B"),
        (0.4 * units.ps, "0 ps"),
        (12 * units.us + 500 * units.ns, "12.5 us"),
        (sum([1 * units.KB, 24 * units.B]), "1.024 KB"),
        (1 * units.ms - 1 * units.us, "999 us"),
        (1e9 + 2 * units.Gbps, "3 Gbps"),
    ],
)
def test_a_quantity_is_written_with_a_unit(quantity: units.Quantity, text: str) -> None:
    assert str(quantity) == repr(quantity) == text
    assert pickle.loads(pickle.dumps(quantity)) == copy.deepcopy(quantity) == quantity
    assert str(pickle.loads(pickle.dumps(quantity))) == text


@pytest.mark.parametrize("seconds", [1e-4 / 3, 0.1 + 0.2, 1.23456789012345e-6, 1 / 3])
def test_any_number_is_written_so_that_a_scenario_reads_it(seconds: float) -> None:
    """To the picosecond."""
    link = topology.single_switch(hosts=4, rate=1e11 / 3, delay=1e-6 / 3)
    (scenario,) = Experiment.of(link, TRAFFIC, duration=seconds).scenarios.values()
    assert backwater.common.quantities.as_number(scenario["run"]["duration"], "") == pytest.approx(seconds, abs=5e-13)


def test_quantities_of_two_kinds_do_not_mix() -> None:
    for mixed in (
        lambda: units.us + units.KB,
        lambda: units.KB - units.us,
        lambda: units.KB / units.Gbps,
        lambda: units.s * units.s,
    ):
        with pytest.raises(TypeError):
            mixed()
    for wrong in (-1 * units.us, float("nan"), float("inf")):
        with pytest.raises(InputError, match="expected a time, 0 or more"):
            Experiment.of(NET, TRAFFIC, duration=wrong)


def test_an_array_of_quantities_varies_a_key() -> None:
    lengths = np.array([50.0, 100.0]) * units.us
    assert [str(one) for one in lengths] == ["50 us", "100 us"]
    assert units.Gbps / units.Mbps == 1000
    varied = Experiment.of(NET, TRAFFIC, duration=1 * units.us, vary={"run.duration": lengths})
    assert varied.labels == ["bfc.duration=50us", "bfc.duration=100us"]
    with pytest.raises(InputError, match=r"5 us: expected a rate, such as '1 bps'"):
        topology.single_switch(hosts=4, rate=5 * units.us, delay=1e-6)
    with pytest.raises(InputError, match=r"workload.0.sizes: \"5 us\": expected a size|fixed = \"5 us\""):
        Experiment(
            {"scheme": "bfc", "topology": NET, "workload": [{**TRAFFIC, "sizes": {"fixed": 5 * units.us}}], "run": RUN}
        )


MESSAGES = [
    {"id": "a", "src": 0, "dst": 1, "bytes": 65536, "compute": 1.5 * units.us, "phase": "forward"},
    {"id": "layer", "src": 1, "after": "a", "compute": "20 ns", "start": 1e-6},
    {"id": 7, "src": 1, "dst": 2, "bytes": 4096.0, "after": ["layer"], "iteration": 1},
    {"id": "c", "src": 2, "dst": 0, "bytes": np.int64(10), "after": 7},
    {"id": "d", "src": 0, "dst": 1, "bytes": 1, "after": "c a"},
]
TABLE = (
    "id,src,dst,bytes,after,compute_ns,start_ns,phase,iteration\na,0,1,65536,,1500,,forward,\nlayer,1,,,a,20,1000,,\n"
    "7,1,2,4096,layer,,,,1\nc,2,0,10,7,,,,\nd,0,1,1,c a,,,,\n"
)


def test_messages_are_a_job_without_a_file() -> None:
    made = workload.messages(MESSAGES, iterations=2, class_="mine")
    assert made == {"kind": "job", "class": "mine", "format": "csv", "iterations": 2, "rows": TABLE}
    run = Experiment.of(NET, made, duration=100 * units.us).simulate().runs[0]
    (job,) = run.summary["jobs"]
    assert (job["ended"], job["sent_bytes"]) == (2, 2 * (65536 + 4096 + 10 + 1))


def test_messages_of_every_kind_of_frame_are_the_same() -> None:
    pa = pytest.importorskip("pyarrow")
    columns = ["id", "src", "dst", "bytes", "after", "compute_ns", "phase"]
    values = [
        ["a", "layer", "7", "c"],
        [0, 1, 1, 2],
        [1, None, 2, 0],
        [65536, None, 4096, 10],
        [None, "a", "layer", "7 layer"],
        [1500.0, 20.5, None, None],
        ["forward", None, None, None],
    ]
    frame = dict(zip(columns, values, strict=True))
    table = pa.table(frame)
    tuples = list(zip(*values, strict=True))
    made = workload.messages(table)
    assert made["rows"].splitlines()[1:3] == ["a,0,1,65536,,1500,forward", "layer,1,,,a,20.5,"]
    assert workload.messages([dict(zip(columns, row, strict=True)) for row in tuples]) == made
    # A tuple has the columns in their order: a start, a stream and a phase follow the computation.
    assert workload.messages(row[:6] for row in tuples)["rows"].splitlines()[4] == "c,2,0,10,7 layer,"
    pandas = pytest.importorskip("pandas")
    assert workload.messages(pandas.DataFrame(frame)) == made
    polars = pytest.importorskip("polars")
    assert workload.messages(polars.DataFrame(frame)) == made
    listed = polars.DataFrame({**frame, "after": [None, ["a"], ["layer"], ["7", "layer"]]})
    assert workload.messages(listed) == made


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ([], "messages: expected at least one"),
        ("a.csv", r"messages: str: expected a data frame, or an iterator of \(id, src, dst, bytes\)"),
        ([("a", 0, 1)], r"messages\[0\] = \('a', 0, 1\): expected \(id, src, dst, bytes\), perhaps with the others"),
        ([{"id": "a", "src": 0}], "messages: no column 'dst'; there are id, src"),
        ([{**MESSAGES[0], "size": 1}], "messages: column 'size': expected one of id, src"),
        ([{**MESSAGES[0], "compute_ns": 1}], "messages: columns 'compute' and 'compute_ns': expected one of them"),
        ([("a b", 0, 1, 1)], r"messages\[0\].id = 'a b': expected a name without blanks and commas"),
        ([("a", 0, -1, 1)], r"messages\[0\].dst = -1: expected 0 or more"),
        ([("a", 0, 1, 1.5)], r"messages\[0\].bytes = 1.5: expected a whole number"),
        ([("a", 0, 1, 1, "b", -1.0)], r"messages\[0\].compute_ns = -1.0: expected nanoseconds, 0 or more"),
        ([{**MESSAGES[0], "phase": "a,b"}], r"messages\[0\].phase = 'a,b': expected text without commas and line ends"),
    ],
)
def test_messages_are_refused_by_name(source: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        workload.messages(source)


def test_what_messages_wait_for_is_looked_up() -> None:
    with pytest.raises(InputError, match='after "z": expected ids of this file'):
        Experiment.of(NET, workload.messages([("a", 0, 1, 8, "z")]), duration=1e-4)
    with pytest.raises(InputError, match="messages: file: expected none: the messages are given here"):
        workload.messages([("a", 0, 1, 8)], file="a.csv")


def test_builders_are_what_the_schema_says() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools/builders.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}`python tools/builders.py` writes them again"


def test_every_builder_makes_a_table_that_a_scenario_takes() -> None:
    rates: dict[str, Any] = {"host_rate": 1e11, "core_rate": "100 Gbps", "host_delay": 1e-6, "core_delay": "1 us"}
    link: dict[str, Any] = {"rate": 1e11, "delay": 1e-6}
    made = [
        topology.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, **rates),
        topology.fat_tree(pods=2, tors_per_pod=1, aggs_per_pod=1, cores=1, hosts_per_tor=2, **rates),
        topology.two_clos(leaves=1, spines=1, hosts_per_leaf=2, wan_rate=1e11, wan_delay=1e-5, **rates),
        topology.dumbbell(left=2, right=2, bottleneck_rate=1e10, bottleneck_delay=1e-6, **link),
        topology.chain(switches=2, hosts_per_switch=2, **link),
        NET,
    ]
    for one in made:
        assert Experiment.of(one, workload.long_lived(count=1, from_=["host0"], to=["host1"], size=1000), duration=1e-4)
    for traffic in (
        workload.incast(degree=2, sizes=sizes.uniform([1000, 2 * units.KB]), period=5e-5, class_="burst"),
        workload.collective(pattern="ring", bytes=1e5, iterations=2),
        workload.background(
            sizes=sizes.table("google_rpc"), load=0.1, load_of="senders", arrivals="poisson", class_="rpc"
        ),
        workload.background(sizes=sizes.exponential(1e4), load=0.1, load_of="receivers", priority=1, class_="low"),
        workload.background(sizes=sizes.cdf([(100, 0), (1000, 1)]), load=0.1, load_of="receivers", class_="own"),
    ):
        assert Experiment.of(NET, [TRAFFIC, traffic], duration=100 * units.us, **{"switch.priority_groups": 2}).labels


def test_a_graph_is_the_network_it_was_made_from() -> None:
    networkx = pytest.importorskip("networkx")
    clos = topology.leaf_spine(
        leaves=2, spines=2, hosts_per_leaf=3, host_rate=1e11, core_rate=4e11, host_delay=1e-6, core_delay=5e-7
    )
    traffic = workload.background(sizes=sizes.fixed(1000), load=0.3, load_of="receivers")
    first = Experiment.of(clos, traffic, duration=50 * units.us)
    graph = topology.to_networkx(first.scenarios["bfc"])
    assert networkx.is_connected(graph)
    assert graph.edges["host0", "leaf0"] == {"rate": 1e11, "delay": 1e-6}
    assert graph.edges["leaf0", "spine1"] == {"rate": 4e11, "delay": 5e-7}
    again = Experiment.of(topology.from_networkx(graph), traffic, duration=50 * units.us)
    assert networkx.utils.graphs_equal(topology.to_networkx(again.scenarios["bfc"]), graph)


def test_hosts_of_a_graph_are_marked_or_named_or_ends() -> None:
    networkx = pytest.importorskip("networkx")
    star = networkx.star_graph(3)
    made = topology.from_networkx(star, rate="10 Gbps", delay=1e-6)
    assert (made["hosts"], made["switches"]) == (["1", "2", "3"], ["0"])
    assert made["links"][0] == {"ends": ["0", "1"], "rate": "10 Gbps", "delay": "1 us"}
    assert topology.from_networkx(star, rate=1e10, delay=1e-6, hosts=[1])["hosts"] == ["1"]
    star.nodes[2]["host"] = True
    star.edges[0, 3]["rate"] = 5e9
    marked = topology.from_networkx(star, rate=1e10, delay=1e-6)
    assert marked["hosts"] == ["2"]
    assert [link["rate"] for link in marked["links"]] == ["10 Gbps", "10 Gbps", "5 Gbps"]
    directed = star.to_directed()
    assert topology.from_networkx(directed, rate=1e10, delay=1e-6)["links"][0]["ends"] == ["0", "1"]
    directed.remove_edge(0, 1)
    with pytest.raises(InputError, match=r"1 -> 0: expected links in both directions"):
        topology.from_networkx(directed, rate=1e10, delay=1e-6)


def test_a_topology_becomes_a_graph_without_a_scenario() -> None:
    networkx = pytest.importorskip("networkx")
    resolved = Experiment.of(NET, TRAFFIC, duration=units.us).scenarios["bfc"]
    assert networkx.utils.graphs_equal(topology.to_networkx(NET), topology.to_networkx(resolved))
    edges = topology.from_edges([("a", "s"), ("b", "s")], rate=units.Gbps, delay=units.us)
    assert topology.from_networkx(topology.to_networkx(edges)) == edges
    with pytest.raises(InputError, match=r"to_networkx: Experiment: expected a topology, or a scenario such as"):
        topology.to_networkx(Experiment.of(NET, TRAFFIC, duration=units.us))
    with pytest.raises(InputError, match=r"^the topology: topology\.kind = \"ring\": expected one of"):
        topology.to_networkx({"kind": "ring"})


def test_what_is_no_graph_is_refused() -> None:
    networkx = pytest.importorskip("networkx")
    with pytest.raises(InputError, match="from_networkx: dict: expected a graph of networkx"):
        topology.from_networkx({"a": ["b"]}, rate=units.Gbps, delay=units.us)
    with pytest.raises(InputError, match=r"edges\[0\] = \('a', 'b'\) has no delay: expected delay= or an attr"):
        topology.from_networkx(networkx.Graph([("a", "b")]), rate=units.Gbps)


def test_a_ratio_of_quantities_is_exact() -> None:
    assert int(10 * units.us / units.ns) == 10_000
    assert int(3 * units.ms / units.us) == 3_000
    assert units.GiB / units.KiB == 2**20
    assert 0.5 * units.ps / units.ps == 0.5
    with pytest.raises(TypeError):
        units.us / units.KB


def test_edges_may_be_an_array() -> None:
    edges = np.array([[0, 9], [1, 9], [2, 9]])
    assert topology.from_edges(edges, rate=np.int64(10**9), delay=1e-6)["links"][0]["rate"] == "1 Gbps"
    made = topology.from_edges(edges, rate=np.array([1e9, 2e9, 3e9]), delay="1 us")
    assert (made["hosts"], made["switches"]) == (["0", "1", "2"], ["9"])
    assert [link["rate"] for link in made["links"]] == ["1 Gbps", "2 Gbps", "3 Gbps"]
    for wrong, told in (
        ({"edges": [(0, 1, 2)]}, r"edges\[0\] = \(0, 1, 2\): expected two nodes"),
        ({"edges": [(0, 1), ("0", 1)]}, "two nodes are called '0'"),
        ({"rate": [1e9]}, "rate has 1 values: expected one, or one for each of 3 edges"),
        ({"rate": [1e9, None, 1e9]}, r"edges\[1\] = \(1, 9\) has no rate"),
        ({"hosts": [7]}, "hosts: 7 is in no edge"),
    ):
        with pytest.raises(InputError, match=told):
            topology.from_edges(**{"edges": edges, "rate": 1e9, "delay": 1e-6, **wrong})


def test_flows_of_a_frame_an_iterator_and_a_file_are_the_same(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {
        "start_ns": [0.0, 2000.0, 7000.0],
        "src": ["host0", "host1", "host2"],
        "dst": ["host1", "host0", "host3"],
        "bytes": [1000, 500, 4000],
    }
    (tmp_path / "flows.csv").write_text(LISTED)
    mappings = [dict(zip(("start", "src", "dst", "bytes"), one, strict=True)) for one in FLOWS]
    for source in (FLOWS, iter(FLOWS), mappings, pandas.DataFrame(columns), polars.DataFrame(columns)):
        assert workload.flows(source) == {"kind": "flow-list", "rows": LISTED}
    ours = Experiment.of(NET, workload.flows(FLOWS), duration=20 * units.us).simulate(tmp_path / "ours")
    file = workload.flow_list(file=str(tmp_path / "flows.csv"))
    assert Experiment.of(NET, file, duration=20 * units.us).simulate(tmp_path / "file").digest == ours.digest
    assert ours.flows()["size_bytes"].to_pylist() == [1000, 500, 4000]


@pytest.mark.parametrize(
    ("flow", "told"),
    [
        ((-1, 0, 1, 1), r"flows\[1\]\.start = -1: expected seconds, or a time with a unit such as '2 us', 0 or more"),
        (("2 KB", 0, 1, 1), r"flows\[1\]\.start = '2 KB'"),
        ((units.KB, 0, 1, 1), r"flows\[1\]\.start = 1 KB"),
        ((float("nan"), 0, 1, 1), r"flows\[1\]\.start = nan"),
        ((None, 0, 1, 1), r"flows\[1\]\.start = None"),
        ((0, 1.5, 1, 1), r"flows\[1\]\.src = 1\.5: expected the name of a host, or its number"),
        ((0, -1, 1, 1), r"flows\[1\]\.src = -1: expected a number of a host, from 0"),
        ((0, "a,b", 1, 1), r"flows\[1\]\.src = 'a,b': expected the name of a host, without commas"),
        ((0, 0, 1, 1.5), r"flows\[1\]\.bytes = 1\.5: expected a whole number"),
        ((0, 0, 1, "1 KB"), r"flows\[1\]\.bytes = '1 KB': expected a whole number"),
        ((0, 0, 1), r"flows\[1\] = \(0, 0, 1\): expected 4 values: start, src, dst, bytes"),
    ],
)
def test_a_wrong_flow_is_refused(flow: tuple[Any, ...], told: str) -> None:
    with pytest.raises(InputError, match=told):
        workload.flows([(0, 0, 1, 1000), flow])


def test_times_may_be_of_pandas_and_numbers_of_numpy() -> None:
    pandas = pytest.importorskip("pandas")
    starts = pandas.to_timedelta([0, 2, 7], "us")
    columns = {"src": [0, 1, 2], "dst": [1, 0, 3], "bytes": [1000, 500, 4000]}
    assert workload.flows(pandas.DataFrame({"start": starts, **columns})) == {"kind": "flow-list", "rows": LISTED}
    assert workload.flows(pandas.DataFrame({"start_ns": starts, **columns}))["rows"] == LISTED
    sets = {
        "load": np.float32(0.3),
        "measure.queueing_delay": np.True_,
        "measure.size_bins": np.array(["1 KB", "1 MB"]),
    }
    one = Experiment.of(NET, TRAFFIC, duration=pandas.Timedelta("100us"), sets=sets)
    (found,) = one.scenarios.values()
    assert found["run"]["duration"] == "100 us"
    assert found["workload"][0]["load"] == 0.3
    assert found["measure"]["size_bins"] == ["1 KB", "1 MB"]
    mixed = pandas.DataFrame({"start": [0.0, 1.0], "src": ["host0", 1], "dst": [2, 3], "bytes": [1, 2]})
    with pytest.raises(InputError, match=r"flows: .*column src.*: expected values of one type in each column$"):
        workload.flows(mixed)


def test_no_flows_are_refused() -> None:
    with pytest.raises(InputError, match="flows: there are none: expected at least one"):
        workload.flows([])


def test_numbers_of_hosts_may_stand_for_names() -> None:
    assert workload.flows([(0, 1, 0, 5)], hosts=["a", "b"])["rows"].splitlines()[1] == "0,b,a,5"
    with pytest.raises(InputError, match=r"flows\[0\]\.dst = 2: expected a number of a host, from 0 to 1"):
        workload.flows([(0, 1, 2, 5)], hosts=["a", "b"])


def test_sizes_of_samples_have_their_distribution() -> None:
    rng = np.random.default_rng(7)
    samples = np.ceil(rng.lognormal(8, 2, 50_000))
    made = sizes.from_samples(samples)["points"]
    points = np.array(made["points"])
    assert not made["linear"]
    assert len(points) <= 2001
    assert points[-1].tolist() == [samples.max(), 1.0]
    exact = np.searchsorted(np.sort(samples), points[:, 0], side="right") / len(samples)
    assert np.abs(exact - points[:, 1]).max() < 1e-12
    assert (
        np.diff(points[:, 1], prepend=0).max()
        < 1 / 2000 + 1 / 50_000 + np.unique(samples, return_counts=True)[1].max() / 50_000
    )
    assert Experiment.of(
        NET, workload.background(sizes=sizes.from_samples(samples), load=0.2, load_of="receivers"), duration=1e-4
    )
    for wrong, told in (
        ([], "no samples"),
        ("abc", "from_samples: 'abc': expected sizes in bytes"),
        ([{"size": 3}], "expected sizes in bytes"),
        ([0.5], "0.5: expected sizes of one byte and more"),
        ([np.inf], "inf: expected"),
    ):
        with pytest.raises(InputError, match=told):
            sizes.from_samples(wrong)


@pytest.mark.parametrize("paper", sorted({path.parent.name for path in experiments.known().values()}))
def test_every_published_experiment_has_the_same_runs_when_it_is_saved(paper: str) -> None:
    for name, path in experiments.known().items():
        if path.parent.name == paper:
            first = Experiment(name, scale=None if paper in experiments.UNCLAIMED else "smoke")
            again = Experiment(first.to_dict())
            assert list(again.scenarios.values()) == list(first.scenarios.values()), name


def test_a_changed_experiment_is_saved_to_a_file(tmp_path: Path) -> None:
    first = Experiment("smoke-bfc", vary={"load": [0.2, 0.4]}, seeds=2)
    first.save(tmp_path / "saved.toml")
    with pytest.raises(InputError, match=r"saved\.toml: exists: expected another name, or force=True"):
        first.save(tmp_path / "saved.toml")
    again = Experiment(tmp_path / "saved.toml")
    assert list(again.scenarios.values()) == list(first.scenarios.values())


def test_an_experiment_says_what_it_takes_and_whether_it_may_run(tmp_path: Path) -> None:
    one = Experiment.of(NET, TRAFFIC, schemes=["bfc", "dctcp"], duration=100 * units.us)
    told = one.estimate()
    assert isinstance(told, backwater.Estimate)
    assert [row.label for row in told.rows] == ["bfc", "dctcp"]
    assert told.rows[0].packet_hops > 0
    assert re.fullmatch(r"Estimate\(2 runs: \S+ m?s, \S+ MB, \d threads?\)", repr(told))
    for place in ("new", "several/new/ones"):
        one.check(tmp_path / place)
        assert not list(tmp_path.iterdir()), "nothing is made"
    (tmp_path / "old").mkdir()
    one.check(tmp_path / "old")
    (tmp_path / "old/notes.txt").touch()
    with pytest.raises(InputError, match=r"old: holds files that are no run of ours; name another directory$"):
        one.check(tmp_path / "old", force=True)
    with pytest.raises(InputError, match=r"notes\.txt: exists and is not a directory; name another$"):
        one.check(tmp_path / "old/notes.txt")
    one.run(tmp_path / "run")
    again = "run: holds a run already; name another directory, or replace it with force=True$"
    for refused in (one.check, one.run, one.simulate):
        with pytest.raises(InputError, match=again):
            refused(tmp_path / "run")
    one.check(tmp_path / "run", force=True)
    with pytest.raises(InputError, match=r"^on = 'nowhere': expected dask://HOST:PORT, or one of slurm, "):
        one.run(on="nowhere")


def test_progress_is_told_to_a_function_and_to_a_watch(tmp_path: Path) -> None:
    shares: list[float] = []
    started: list[str] = []

    class Starts(backwater.Watch):
        def on_start(self, job: Any) -> None:
            started.append(job.label)

    one = Experiment.of(NET, TRAFFIC, duration=2 * units.ms)
    one.run(tmp_path / "run", progress=shares.append, watch=Starts())
    assert started == ["bfc"]
    assert shares[-1] == 1.0
    assert all(0 <= share <= 1 for share in shares)
    one.run(tmp_path / "bar", progress=True)


def test_a_watch_beside_a_function_hears_everything() -> None:
    heard: list[str] = []
    hooks = [name for name in vars(backwater.Watch) if name.startswith("on_")]
    other = SimpleNamespace(**{name: lambda *_, name=name: heard.append(name) for name in hooks})
    shares: list[float] = []
    both = Shares(shares.append, other)
    job = SimpleNamespace(expected_hops=2.0, share_done=0.25)
    for name in hooks:
        getattr(both, name)(*[[job]] * (2 if name == "on_iterations" else 1))
    assert heard == hooks
    assert shares == [0.25]


def test_coroutines_go_on_while_an_experiment_runs(tmp_path: Path) -> None:
    one = Experiment.of(NET, TRAFFIC, duration=5 * units.ms)

    async def both() -> tuple[Any, int]:
        work = asyncio.create_task(one.run_async(tmp_path / "run"))
        ticks = 0
        while not work.done():
            await asyncio.sleep(0.001)
            ticks += 1
        return await work, ticks

    results, ticks = asyncio.run(both())
    assert results.complete
    assert ticks > 1

    async def cancelled() -> None:
        work = asyncio.create_task(one.with_({"run.duration": 10 * units.s}).run_async(tmp_path / "long"))
        await asyncio.sleep(0.3)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cancelled())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"load": 2}, r"^load = 2: workload\.0\.load = 2: expected more than 0 and at most 1$"),
        ({"vary": {"load": [0.5, 3]}}, r"^vary: load = \[0\.5, 3\]: workload\.0\.load = 3: .* \(run bfc\.load=3\)$"),
        ({"vary": {"scheme": "bfc"}}, r"^vary: scheme = 'bfc': expected a list of values, such as \['bfc'\]$"),
        ({"vary": {"scheme": ["nope"]}}, r"^vary: scheme = \[\"nope\"\]: .*`backwater\.schemes\(\)` lists"),
        ({"seeds": 0}, r"^seeds = 0: expected a whole number from 1 to 1000$"),
        ({"seed": 1, "seeds": 3}, r"^seed=1, seeds=3: expected one of them$"),
        ({"sets": {"switch.qeues": 3}}, r"^switch\.qeues = 3: unknown key; did you mean \"queues\"\?"),
        ({"sets": ["switch.queues=3"]}, r"^\['switch\.queues=3'\]: expected keys and their values, such as"),
        ({"variant": "A"}, r"^variant = \"A\": unknown variant; the file has no \[\[variant\]\]$"),
    ],
)
def test_errors_speak_of_what_was_given_in_python(changes: dict[str, Any], told: str) -> None:
    base = {"scheme": "bfc", "topology": NET, "workload": [TRAFFIC], "run": RUN}
    with pytest.raises(InputError, match=told) as caught:
        Experiment(base, **changes)
    assert "--set" not in str(caught.value)
    with pytest.raises(InputError) as again:
        Experiment(base).with_(**changes)
    assert "--set" not in str(again.value)


def test_schemes_are_listed() -> None:
    known = {scheme.name: scheme for scheme in backwater.schemes()}
    assert (known["bfc"].title, known["bfc"].source[:12]) == ("BFC", "Goyal et al.")
    assert json.dumps(sorted(known))


def test_published_experiments_are_listed() -> None:
    found = {one.name: one for one in backwater.experiments()}
    assert found.keys() == experiments.known().keys()
    assert "Backpressure Flow Control" in found["bfc-fig9"].paper
    assert Experiment("bfc-fig9").path == found["bfc-fig9"].path
    with pytest.raises(InputError, match=r"did you mean bfc-fig9.*`backwater\.experiments\(\)` lists them$"):
        Experiment("bfc-fig99")
    unknown = {"scheme": "bcf", "topology": NET, "workload": [TRAFFIC], "run": RUN}
    with pytest.raises(InputError, match=r"names that `backwater\.schemes\(\)` lists$") as caught:
        Experiment(unknown)
    assert caught.value.place == "the dictionary"
    assert str(caught.value).startswith("the dictionary: scheme = "), "it has no lines"
