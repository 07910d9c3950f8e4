"""`backwater new` writes a first scenario that is short, explained, valid, and ends in a result."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from backwater import Experiment, InputError, _core
from backwater.scenario import starter
from conftest import Cli

SCHEMES = [scheme["name"] for scheme in json.loads(_core.schemes())]
SIZES = "size_bytes,cdf\n100,0\n1000,0.5\n20000,1\n"
FLOWS = "start_ns,src,dst,bytes\n0,host0,host5,1000\n2500,host1,host5,30000\n90000,host4,host0,2000\n"
TINY = ("--set", 'run.duration="20 us"', "--set", "seeds.count=2")


def written(place: Path) -> str:
    return (place / "scenario.toml").read_text()


@pytest.mark.parametrize("topology", starter.TOPOLOGIES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_starts_on_every_topology(topology: str, scheme: str, tmp_path: Path) -> None:
    started = starter.start(tmp_path, topology, [scheme], "google_rpc")
    experiment = Experiment(started.path)
    assert (len(experiment.labels), started.runs) == (3, 3)
    (variant,) = {run.params["variant"] for run in experiment.plan.runs}
    assert variant in written(tmp_path)


@pytest.mark.parametrize("topology", starter.TOPOLOGIES)
def test_it_is_short_and_explained(topology: str, tmp_path: Path) -> None:
    starter.start(tmp_path, topology, ["bfc", "dcqcn"], "google_rpc")
    lines = [line for line in written(tmp_path).splitlines() if line and not line.startswith("    { ends")]
    assert len(lines) < 30
    keys = [line for line in lines if re.match(r"[a-z_.]+ = ", line)]
    bare = [line.partition(" ")[0] for line in keys if "#" not in line]
    assert set(bare) <= {"name", "leaves", "pods", "switches"}, "their names say what they are"
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("workload", ["google_rpc", "fb_hadoop", "web_server", "homa_w1_fb_keyvalue", "web_search"])
def test_its_length_is_that_of_many_flows_in_a_few_seconds(workload: str, tmp_path: Path) -> None:
    started = starter.start(tmp_path, "leaf-spine", ["bfc", "dcqcn"], workload)
    assert started.flows >= 500
    runs = Experiment(started.path).scenarios.values()
    assert max(json.loads(_core.estimate(json.dumps(run)))["packet_hops"] for run in runs) <= 2 * starter.HOPS
    assert tomllib.loads(written(tmp_path))["run"]["duration"].endswith((" ms", " us"))


def test_durations_are_round_numbers() -> None:
    assert [starter.below(x) for x in (100, 199, 300, 999, 1000, 4200)] == [100, 100, 300, 800, 1000, 4000]
    assert [starter.above(x) for x in (100, 199, 300, 999, 1000, 4200)] == [200, 200, 400, 1000, 2000, 5000]


def test_sizes_of_ones_own_are_copied_beside_it(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(SIZES)
    started = starter.start(tmp_path / "lab", "fat-tree", ["bfc", "hpcc"], str(tmp_path / "mine.csv"))
    assert (tmp_path / "lab" / "mine.csv").read_text() == SIZES
    assert 'sizes = { file = "mine.csv" }' in written(tmp_path / "lab")
    assert started.flows > 1000


def test_flows_of_ones_own_all_arrive_and_count(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(FLOWS)
    started = starter.start(tmp_path / "lab", "leaf-spine", ["bfc", "dcqcn"], str(tmp_path / "flows.csv"))
    assert started.flows == 3
    run = tomllib.loads(written(tmp_path / "lab"))["run"]
    assert (run["duration"], run["warmup"]) == ("200 us", "0 s")
    done = Experiment(started.path, seeds=1).simulate()
    assert [one.table("flows").num_rows for one in done.runs] == [3, 3]


def test_a_file_in_the_directory_itself_is_used_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(SIZES)
    starter.start(tmp_path, "graph", ["bfc"], str(tmp_path / "mine.csv"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv", "scenario.toml"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--topology", "leafspine"), "--topology leafspine: did you mean leaf-spine? expected one of leaf-spine, fat"),
        (("--scheme", "bfc,dcqn"), "--scheme dcqn: did you mean dcqcn, "),
        (("--scheme", "bfc,bfc"), "--scheme bfc,bfc: bfc is named twice"),
        (("--scheme", ","), "--scheme: expected one scheme or several, such as bfc,dcqcn"),
        (("--workload", "google"), "--workload google: did you mean google_rpc"),
        (("--workload", "none.csv"), "--workload none.csv: there is no such file"),
        (("--workload", "sizes.csv"), "sizes.csv:3: "),
        (("--workload", "flows.csv"), "flows.csv:2: "),
        (("--workload", "bytes.csv"), "--workload bytes.csv: is not UTF-8 text: expected a CSV file"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_written(
    arguments: tuple[str, ...], said: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sizes.csv").write_text("size_bytes,cdf\n100,0\n50,0.5\n20000,1\n")
    Path("flows.csv").write_text("start_ns,src,dst,bytes\n0,host0,elsewhere,1000\n")
    Path("bytes.csv").write_bytes(b"\xff\xfe\x00")
    before = sorted(tmp_path.iterdir())
    done = cli("new", "lab", *arguments)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_scenario_that_is_there_is_kept_unless_force_says_otherwise(cli: Cli, tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    assert cli("new", str(lab)).returncode == 0
    (lab / "scenario.toml").write_text("# changed\n")
    refused = cli("new", str(lab))
    assert refused.returncode == 2
    assert f"{lab / 'scenario.toml'}: is there already: expected another directory, or --force" in refused.stderr
    assert written(lab) == "# changed\n"
    assert cli("new", str(lab), "--force", "--topology", "graph").returncode == 0
    assert 'kind = "graph"' in written(lab)


def test_another_file_of_the_same_name_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(SIZES)
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "mine.csv").write_text("other")
    with pytest.raises(InputError, match=r"mine\.csv: is there already"):
        starter.start(tmp_path / "lab", "graph", ["bfc"], str(tmp_path / "mine.csv"))
    assert [path.name for path in (tmp_path / "lab").iterdir()] == ["mine.csv"]


def test_a_file_in_the_way_is_bad_input(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "lab").write_text("a file")
    done = cli("new", str(tmp_path / "lab"))
    assert done.returncode == 2
    assert f"{tmp_path / 'lab'}: cannot be written: " in done.stderr


@pytest.mark.parametrize("topology", starter.TOPOLOGIES)
def test_what_it_says_to_type_next_runs(
    topology: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("new", "my lab", "--topology", topology)
    last = done.stdout.splitlines()[-1]
    assert last == "Next: backwater run 'my lab/scenario.toml'"
    ran = cli("run", "my lab/scenario.toml", *TINY, "--out", "out")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out" / "report.html").is_file()
