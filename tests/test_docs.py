"""What the documents say can be done, can be done."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from backwater import Experiment, _core, experiments, tables
from conftest import ROOT

SCENARIOS = (ROOT / "docs" / "scenarios.md").read_text()
EXPERIMENTS = (ROOT / "experiments" / "README.md").read_text()
README = (ROOT / "README.md").read_text()
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "experiments" / "README.md"])


def test_every_key_and_choice_of_a_scenario_is_documented() -> None:
    schema = json.loads(_core.scenario_schema())
    words = set(re.findall(r"[\w-]+", SCENARIOS + EXPERIMENTS))
    columns = {column["name"] for name in ("ports", "mmus") for column in tables.schemas()[name]}
    nameless = {""}  # The scale of a file without any.
    assert names_in(schema) - words - columns - nameless == set()


def names_in(schema: object) -> set[str]:
    """Keys of all tables, and the words that a value may be."""
    if isinstance(schema, list):
        return set().union(*map(names_in, schema))
    if not isinstance(schema, dict):
        return set()
    own = {*schema.get("properties", {}), *(x for x in schema.get("enum", []) if isinstance(x, str))}
    own |= {schema["const"]} if isinstance(schema.get("const"), str) else set()
    return own.union(*(names_in(value) for value in schema.values()))


def test_the_example_scenario_is_valid(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", SCENARIOS, re.DOTALL)
    assert example
    (tmp_path / "example.toml").write_text(example[1])
    assert Experiment(tmp_path / "example.toml").labels


def test_commands_in_the_readme_exist() -> None:
    make = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {
        name for text in (README, *map(Path.read_text, DOCUMENTS)) for name in re.findall(r"`make ([a-z-]+)", text)
    } <= make
    known = experiments.known()
    figures = re.findall(r"`backwater reproduce ([\w-]+)`", README)
    assert figures
    names = {"all", *known} | {name.split("-")[0] for name in known}
    assert all({figure, f"bfc-{figure}"} & names for figure in figures)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / link).exists(), link


def test_the_example_in_the_readme_runs(tmp_path: Path) -> None:
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    done = subprocess.run([sys.executable, "-c", example[1]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_commands_in_the_readme_run_one_after_another(tmp_path: Path) -> None:
    """In one directory, in the order in which they stand, smoke in place of quick; 1 says that a claim failed."""
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    (tmp_path / "theirs").mkdir()
    for name in ("topology.txt", "flow.txt", "config.txt"):
        shutil.copy(ROOT / "tests/data/hpcc" / name, tmp_path)
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    commands = ["backwater run experiments/bfc/fig9.toml --scale smoke --out runs/fig9"]  # What `make run` does.
    commands += [line for block in blocks for line in block.splitlines() if line.startswith("backwater ")]
    assert len(commands) > 15
    for command in commands:
        words = shlex.split(command.replace("--scale quick", "--scale smoke"), comments=True)
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode in ((0, 1) if words[1] in ("run", "reproduce") else (0,)), f"{command}\n{done.stderr}"
        if "--fct" in words and words[1] == "run":
            shutil.copy(tmp_path / "fct.txt", tmp_path / "theirs/fct.txt")


def test_loads_of_experiments_are_what_they_say() -> None:
    """Only a file that names the rule of BFC's authors may load a network by it."""
    for name, path in experiments.known().items():
        runs = Experiment(path).plan["runs"]
        rules = {workload.get("load_by", "drawn") for run in runs for workload in run["scenario"].get("workload", [])}
        assert rules <= {"drawn"} or "load_by" in path.read_text(), name


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == importlib.metadata.version("backwater")
    assert citation["license"] == ["Apache-2.0", "MIT"]
    assert citation["authors"]
