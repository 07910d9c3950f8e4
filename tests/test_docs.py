"""What the documents say can be done, can be done."""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from backwater import Experiment, _core, cli
from backwater.cli.command import refuse_moved
from backwater.runs import tables
from backwater.scenario import experiments
from conftest import ROOT

SCENARIOS = (ROOT / "docs" / "scenarios.md").read_text()
EXPERIMENTS = (ROOT / "experiments" / "README.md").read_text()
SHELL = {"", "sh", "console", "text"}
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


def test_commands_in_the_documents_exist() -> None:
    texts = [path.read_text() for path in DOCUMENTS]
    make = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for text in texts for name in re.findall(r"(?:`|\$ )make ([a-z-]+)", text)}
    assert {"run", "test", "docs"} <= named <= make
    known = experiments.known()
    figures = {name for text in texts for name in re.findall(r"`backwater reproduce ([\w-]+)", text)} - {"ID", "NAME"}
    assert figures
    names = {"all", *known, *experiments.PREFIXES.values()} | {name.split("-")[0] for name in known}
    assert {
        name for name in figures if not {name, *(f"{paper}-{name}" for paper in experiments.PAPERS)} & names
    } == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / link).exists(), link


def files_of(path: Path) -> list[Path]:
    """The file of an experiment, and those that it extends."""
    base = tomllib.loads(path.read_text()).get("extends")
    return [path, *(files_of((path.parent / base).resolve()) if base else [])]


def test_loads_of_experiments_are_what_they_say() -> None:
    """Only a file that names the rule of BFC's authors may load a network by it."""
    for name, path in experiments.known().items():
        by_rule = ["load_by" in file.read_text() for file in files_of(path)]
        assert by_rule[0] or not any(by_rule), name


@pytest.mark.parametrize("name", experiments.find("all"))
def test_every_experiment_has_every_scale(name: str) -> None:
    """So that `reproduce all` takes each of them."""
    files = map(tomllib.loads, (file.read_text() for file in files_of(experiments.known()[name])))
    assert set().union(*(file.get("scale", {}) for file in files)) >= {"smoke", "quick", "paper"}


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == importlib.metadata.version("backwater")
    assert citation["license"] == ["Apache-2.0", "MIT"]
    assert citation["authors"]


def commands_of(text: str) -> list[list[str]]:
    """Words after `backwater` of every command in the code blocks of a document."""
    found = []
    for language, block in re.findall(r"^ *```(\w*)[^\n]*\n(.*?)^ *```$", text, flags=re.MULTILINE | re.DOTALL):
        if language not in SHELL:
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if command := re.match(r"\s*(?:\$ )?(?:\S+/)?backwater (?=[a-z-])(.*)", line):
                words = shlex.split(command[1], comments=True)
                found.append(list(itertools.takewhile(lambda word: word not in (">", "|", "&&", "2>&1"), words)))
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_of_documents_are_understood(document: Path) -> None:
    commands = dict(cli.tree())
    for words in commands_of(document.read_text()):
        refuse_moved(words)
        name = next((name for name in (" ".join(words[:2]), words[0]) if name in commands), None)
        assert name is not None or words == ["--version"], words
        if name is not None:
            commands[name].make_context(name, words[len(name.split()) :])  # Raises on what it does not take.


def test_a_command_that_moved_is_found_in_a_document() -> None:
    (words,) = commands_of("```sh\nbackwater explain runs/a --flow 3 --json - # one\n```\n")
    with pytest.raises(_core.InputError, match="--json prints to standard output"):
        refuse_moved(words)
