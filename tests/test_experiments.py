"""Published experiments: found by name from any directory, and said where they come from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from backwater import Experiment, InputError
from backwater.scenario import experiments
from conftest import Cli

NAMES = list(experiments.known())
OF_PAPERS = [name for name in NAMES if experiments.paper_of(name) in experiments.PAPERS]


def test_claims_files_are_no_experiments() -> None:
    assert "bfc-fig9" in NAMES
    assert not [name for name in NAMES if "claims" in name]
    beside = [path for path in experiments.root().glob("*/*") if path.name.endswith(experiments.CLAIMS)]
    assert len(beside) > 90, "but there are such files"


@pytest.mark.parametrize("name", OF_PAPERS)
def test_an_experiment_of_a_paper_names_it(name: str) -> None:
    about = experiments.about(name)
    assert about.path.is_file()
    assert about.title
    assert about.figure
    talk = "talk" in name
    year = "2022" if name.startswith("bfc") else "20"
    assert about.paper.endswith("a talk of two pages") if talk else year in about.paper
    assert talk or re.fullmatch(r"https://(doi\.org/10\.\d{4}/\S+|www\.usenix\.org/\S+)", about.url)
    assert bool(about.doi) == about.url.startswith("https://doi.org/")


def test_a_figure_stands_in_a_section() -> None:
    assert experiments.about("bfc-fig9").section == "6.2.2"
    assert experiments.about("bfc-fig29").section == "A.12", "its own, and not that of the file it extends"
    assert experiments.about("flowsail-fig11").section == "VI-B"
    of_figures = [name for name in OF_PAPERS if re.search("-(fig|tab)[0-9]", name)]
    assert [name for name in of_figures if not experiments.about(name).section] == []


def test_an_experiment_of_no_paper_names_none() -> None:
    about = experiments.about("smoke-bfc")
    assert (about.paper, about.doi, about.url, about.section) == ("", "", "", "")
    assert about.title


def test_a_scenario_is_short_enough_to_read() -> None:
    lines = {name: experiments.text(name).count("\n") for name in OF_PAPERS}
    assert lines["bfc-fig9"] < 100
    assert sorted(lines.values())[len(lines) // 2] < 70


def test_own_keys_are_of_both_files_and_not_of_those_they_extend() -> None:
    keys = experiments.own_keys(experiments.known()["bfc-fig29"])
    assert "topology" not in keys
    assert [claim["claim"] for claim in keys["expect"]] == ["bfc-fig29.1", "bfc-fig29.2"]
    assert (keys["figure"]["number"], keys["figure"]["missing"]) == ("29", [])


@pytest.mark.parametrize("name", ["bfc-fig9", "bfc-fig29", "flowsail-fig14"])
def test_a_copied_scenario_runs_the_same(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text(experiments.text(name))
    assert tomllib.loads(copy.read_text()).get("extends", "/").startswith("/")
    original, copied = Experiment(experiments.known()[name], scale="smoke"), Experiment(copy, scale="smoke")
    assert copied.scenarios == original.scenarios


def test_names_lead_to_experiments_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fig9 = experiments.known()["bfc-fig9"]
    assert experiments.locate("bfc-fig9") == experiments.locate("fig9") == fig9
    assert experiments.locate("fs-fig11") == experiments.known()["flowsail-fig11"]
    by_name = Experiment("bfc-fig9", scale="smoke")
    assert by_name.scenarios == Experiment(fig9, scale="smoke").scenarios
    assert by_name.command(None) == "backwater run bfc-fig9 --scale smoke"
    assert by_name.with_(seed=7).command(None).startswith("backwater run bfc-fig9 ")


def test_a_file_comes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fig9").mkdir()
    assert experiments.locate("fig9") == experiments.known()["bfc-fig9"], "a directory is no scenario"
    (tmp_path / "fig10").write_text("")
    assert experiments.locate("fig10") == Path("fig10")
    assert experiments.locate("other/fig9") == Path("other/fig9")
    assert experiments.locate("fig9.toml") == Path("fig9.toml")


def test_an_unknown_name_is_refused_with_the_closest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^bfc-fgi9: no such file or published experiment; did you mean bfc-fig9, "):
        Experiment("bfc-fgi9")
    with pytest.raises(InputError, match=r"^bfc: these are \d+ experiments: expected one, such as bfc-"):
        Experiment("bfc")


def test_the_command_line_runs_an_experiment_by_name(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("run", "smoke-bfc", "--out", "there")
    assert (tmp_path / "there" / "report.html").is_file(), done.stderr
    refused = cli("run", str(experiments.known()["bfc-fig9"].with_suffix(experiments.CLAIMS)))
    assert refused.returncode == 2
    assert "fig9.claims.toml: is a claims file, which cannot be run: expected its scenario, " in refused.stderr


@pytest.mark.parametrize(("former", "name"), [("hpcc-pfc", "hpcc-nopfc"), ("hpcc-pfc+dqa", "hpcc-nopfc+dqa")])
def test_former_names_of_schemes_mean_the_present_ones(former: str, name: str) -> None:
    base = {
        "scheme": "pfc",
        "topology": {"kind": "single-switch", "hosts": 4, "rate": "100 Gbps", "delay": "1 us"},
        "workload": [{"kind": "long-lived", "count": 1, "to": ["host0"]}],
        "run": {"duration": "10 us"},
    }

    def same(one: Experiment, other: Experiment) -> bool:
        return (one.labels, one.scenarios, one.plan.runs) == (other.labels, other.scenarios, other.plan.runs)

    assert same(Experiment(base | {"scheme": former}), Experiment(base | {"scheme": name}))
    assert same(Experiment(base, scheme=former), Experiment(base, scheme=name))
    assert same(Experiment(base, vary={"scheme": [former, "pfc"]}), Experiment(base, vary={"scheme": [name, "pfc"]}))
    assert same(
        Experiment(base | {"variant": [{"name": "A", "scheme": former}]}),
        Experiment(base | {"variant": [{"name": "A", "scheme": name}]}),
    )
    assert Experiment(base, scheme=former).labels == [name]


def test_brackets_of_a_name_are_not_in_its_label() -> None:
    labels = Experiment("bfc-fig14", scale="smoke").networks
    assert {"HPCC-noPFC", "HPCC-noPFC+SFQ", "HPCC-noPFC+DQA"} <= set(labels)
