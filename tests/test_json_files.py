"""Files of JSON that are whole but are not what they should be: file, place, value and what was expected are named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backwater import InputError, Results
from backwater.common.json_files import indented, told
from backwater.runs.manifest import read_manifest, sealed
from conftest import Cli

Damage = Callable[[dict[str, Any]], object]


@pytest.fixture
def copied(results: Results, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results.path, tmp_path / "copied"))


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"none": [], "of": {}, "these": [[]]},
        [1, -0.0, 1e-05, 1e22, 10**30, True, None, float("inf"), float("nan")],
        {"text": 'é \n " \\ \u2028 \U0001f30a, [1], {"a": 1}', "é": [[1, [2]], {"a": {"b": 2.5}}]},
    ],
)
def test_text_is_that_of_the_standard_library(value: object) -> None:
    assert indented(value) == json.dumps(value, indent=2) + "\n"


def rewritten(file: Path, damage: Damage) -> None:
    """Changes a sealed file and seals it again, as only a program would."""
    value = json.loads(file.read_bytes())
    del value["sha256"]
    damage(value)
    file.write_text(sealed(value))


DAMAGES: list[tuple[Damage, str]] = [
    (lambda one: one.pop("digest"), "it has no 'digest'"),
    (lambda one: one["runs"][1].pop("label"), "runs[1] has no 'label'"),
    (lambda one: one.update(runs=5), "runs = 5: expected a list"),
    (lambda one: one.update(complete="yes"), 'complete = "yes": expected true or false'),
    (lambda one: one["runs"].__setitem__(0, []), "runs[0] = []: expected a table"),
    (lambda one: one["runs"][0].update(digest=None), "runs[0].digest = null: expected text"),
    (lambda one: one["runs"][0].update(dir="../x"), "runs[0].dir = '../x': expected a plain name"),
    (lambda one: one["runs"][0]["files"].update(x=1), "runs[0].files[...]: expected text"),
    (lambda one: one.update(commit=7), "commit = 7: expected text or null"),
    (lambda one: one.update(scale=["long " * 40]), f"scale = {json.dumps(['long ' * 40])[:60]}...: expected text"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGES)
def test_a_manifest_of_another_shape_is_refused(cli: Cli, copied: Path, damage: Damage, says: str) -> None:
    file = copied / "manifest.json"
    rewritten(file, damage)
    with pytest.raises(InputError) as refused:
        read_manifest(file)
    assert str(refused.value) == f"{file}: not a manifest of ours: {says}"
    assert refused.value.file == str(file)
    done = cli("compare", copied)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}: not a manifest of ours: {says}" in done.stderr


def test_a_timing_of_another_shape_is_refused(cli: Cli, copied: Path) -> None:
    file = copied / "timing.json"
    rewritten(file, lambda one: one["runs"][0].update(wall_s="long"))
    says = f'{file}: not a timing of ours: runs[0].wall_s = "long": expected a number'
    with pytest.raises(InputError) as refused:
        Results(copied).report()
    assert says in str(refused.value)
    done = cli("report", copied)
    assert done.returncode == 2
    assert says in done.stderr


def test_claims_of_another_shape_are_refused(copied: Path) -> None:
    (copied / "claims.json").write_text('[{"claim": "x", "verdict": 1}]')
    with pytest.raises(InputError, match=r"not claims of ours: \[0\].verdict = 1: expected text"):
        _ = Results(copied).judged


def test_what_older_versions_did_not_write_is_not_needed(copied: Path) -> None:
    """The first format: no seal, and fewer keys."""
    file = copied / "manifest.json"
    value = json.loads(file.read_bytes())
    head = {key: value[key] for key in ("name", "version", "scale", "digest", "command", "complete")}
    keys = ("label", "dir", "scheme", "digest", "complete", "params", "files")
    runs = [{key: run[key] for key in keys} for run in value["runs"]]
    file.write_text(json.dumps({"format": 1, **head, "runs": runs}))
    old = Results(copied)
    old.verify()
    assert (old.interrupted, old.manifest.expect, old.runs[0].ending) == (False, None, "finished")
    assert old.judged == []


def test_numbers_keep_their_kind(copied: Path) -> None:
    """What is read and written again has the same bytes."""
    for name in ("manifest.json", "timing.json"):
        value = json.loads((copied / name).read_bytes())
        del value["sha256"]
        assert (copied / name).read_text() == sealed(value)
    timing = Results(copied).timing
    assert type(timing["packet_hops_per_s"]) is int
    assert type(timing["runs"][0]["packet_hops_per_s"]) is int


def test_a_reason_that_nobody_foresaw_is_passed_on() -> None:
    assert told("Something else - at `$.a`", {"a": 1}) == "a = 1: expected Something else"
