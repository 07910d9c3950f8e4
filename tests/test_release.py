"""What a release is made of: the changelog's headings, the source distribution, and the workflow that publishes it."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import ROOT

VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    return loaded


def script(workflow: dict[str, Any], job: str) -> str:
    """The last script of a job."""
    (*_, last) = [step["run"] for step in workflow["jobs"][job]["steps"] if "run" in step]
    return str(last)


def test_versions_of_the_changelog_have_dates() -> None:
    headings = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert headings[-len(released) :] == released, "what is not released comes first"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", heading) for heading in released)
    assert released[0].split()[0] == VERSION


def test_the_tag_has_to_be_the_version(workflow: dict[str, Any]) -> None:
    def agrees(tag: str) -> bool:
        check = ["bash", "-euo", "pipefail", "-c", script(workflow, "version")]
        return subprocess.run(check, cwd=ROOT, env={"GITHUB_REF_NAME": tag, "PATH": "/usr/bin:/bin"}).returncode == 0

    assert agrees(f"v{VERSION}")
    assert not agrees("v99.0.0")
    assert not agrees(f"v{VERSION.replace('.', 'x')}"), "a dot is a dot"


def test_the_notes_of_a_release_are_its_part_of_the_changelog(workflow: dict[str, Any], tmp_path: Path) -> None:
    parts = ["# Changelog", "## Unreleased", "* New.", "## 0.2.0 (2026-12-01)", "### Part", "* Two."]
    (tmp_path / "CHANGELOG.md").write_text("\n\n".join([*parts, "## 0.1.0 (2026-11-25)", "* One.", ""]))
    commands = script(workflow, "publish").splitlines()
    notes = "\n".join(line for line in commands if line.startswith(("version=", "awk ")))
    done = ["bash", "-euo", "pipefail", "-c", notes]
    subprocess.run(done, cwd=tmp_path, env={"GITHUB_REF_NAME": "v0.2.0", "PATH": "/usr/bin:/bin"}, check=True)
    assert (tmp_path / "notes.md").read_text().split() == ["###", "Part", "*", "Two."]


def test_what_is_published_was_tried(workflow: dict[str, Any]) -> None:
    jobs = workflow["jobs"]
    assert set(jobs["publish"]["needs"]) == {"linux", "macos", "source"}
    for job in ("linux", "macos"):
        assert script(workflow, job) == "tests/try-wheel dist/*.whl"
    assert all(jobs[job]["needs"] == "version" for job in jobs["publish"]["needs"])


def test_the_source_distribution_has_experiments_and_size_tables(tmp_path: Path) -> None:
    """Both are outside the Python package and the crates, and an earlier one lacked them."""
    maturin = Path(sys.executable).with_name("maturin")
    subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True)
    (made,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(made) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    experiments = {f"python/backwater/{path.relative_to(ROOT)}" for path in ROOT.glob("experiments/*/*.toml")}
    tables = {str(path.relative_to(ROOT)) for path in ROOT.glob("data/workloads/**/*.csv")}
    assert len(experiments) > 190
    assert len(tables) > 20
    assert sorted((experiments | tables) - names) == []
