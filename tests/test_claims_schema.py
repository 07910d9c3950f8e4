"""The JSON schema of claims files, as editors read it: it takes what is there, and refuses what a run refuses."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from backwater import Experiment, InputError, _core
from conftest import ROOT, Cli

SCHEMA = json.loads(_core.claims_schema())
CHECK = jsonschema.Draft202012Validator(SCHEMA)
FILES = sorted((ROOT / "experiments").rglob("*.claims.toml"))
FREE = ("where", "at", "marks", "without", "configured", "components")
"""Tables whose keys are those of the user."""


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_it_is_a_schema_and_stands_alone(cli: Cli) -> None:
    CHECK.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == {"expect", "figure", "without", "configured", "components"}
    named = json.dumps(SCHEMA)
    assert {name for name in SCHEMA["$defs"] if f'"#/$defs/{name}"' in named} == set(SCHEMA["$defs"])
    assert json.loads(cli("schema", "claims").stdout) == SCHEMA
    assert "claims" in cli("schema").stdout.split()


def test_every_claims_file_passes() -> None:
    assert len(FILES) > 90
    wrong = {str(path): error.message for path in FILES for error in CHECK.iter_errors(read(path))}
    assert wrong == {}


def renamed(node: Any) -> Iterator[None]:
    """The same document over and over, each time with another key renamed."""
    if isinstance(node, list):
        for item in node:
            yield from renamed(item)
    elif isinstance(node, dict):
        for key in list(node):
            if key not in FREE:
                yield from renamed(node[key])
            before = dict(node)
            node["colour"] = node.pop(key)
            yield
            node.clear()
            node.update(before)


@pytest.mark.parametrize("name", ["bfc/fig9", "bfc/fig12", "bcc/fig2", "flowsail/fig11"])
def test_a_renamed_key_is_refused_wherever_it_stands(name: str) -> None:
    whole = read(ROOT / "experiments" / f"{name}.claims.toml")
    count = 0
    for claim in whole["expect"]:  # One at a time: a file of all would be read anew for each of its keys.
        one = {**whole, "expect": [claim]}
        assert CHECK.is_valid(one)
        damaged = copy.deepcopy(one)
        for _ in renamed(damaged if claim is whole["expect"][0] else damaged["expect"]):
            assert not CHECK.is_valid(damaged)
            count += 1
        assert damaged == one
    assert count > 30


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[without]", "[switch]\nqueues = 3\n[without]"),
        ("missing = []", 'missing = []\ntitle = "X"'),
        ("missing = []", 'missing = "DCTCP"'),
        ('kind = "ratio"', 'kind = "rate"'),
        ('kind = "ratio"\n', ""),
        ("low = 5", 'low = "5"'),
        ("low = 5", "low = 5\ntolerance = 1"),
        ('numerator = { variant = "HPCC" }', "numerator = { variant = 1 }"),
        ('numerator = { variant = "HPCC" }', 'numerator = "HPCC"'),
        ('numerator = { variant = "HPCC" }', 'numerator = { slowdown = "p99", fct = "p99" }'),
        ('numerator = { variant = "HPCC" }', "numerator = { sum = [] }"),
        ('each = { slowdown = ["p99"], ', 'each = { slowdown = "p99", '),
        ('claim = "bfc-fig9.1"', "claim = 9.1"),
        ('variant = "DCTCP", value = 5 }', 'variant = "DCTCP" }'),
    ],
)
def test_what_a_run_refuses_is_refused(tmp_path: Path, old: str, new: str) -> None:
    place = ROOT / "experiments" / "bfc" / "fig9.toml"
    (tmp_path / "fig9.toml").write_text(place.read_text())
    text = place.with_suffix(".claims.toml").read_text()
    assert old in text
    (tmp_path / "fig9.claims.toml").write_text(text.replace(old, new, 1))
    assert not CHECK.is_valid(tomllib.loads(text.replace(old, new, 1)))
    with pytest.raises(InputError, match=r"fig9\.claims\.toml:\d+: "):
        Experiment(tmp_path / "fig9.toml")
