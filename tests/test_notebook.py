"""The notebooks in `examples/` run from top to bottom, and what they show is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from conftest import ROOT

SHOWN = {"first_look.ipynb": (2, 2), "own_inputs.ipynb": (3, 1)}
"""How many cells of each notebook show a table, and how many a picture."""


@pytest.mark.parametrize("name", SHOWN)
def test_the_notebook_runs(tmp_path: Path, name: str) -> None:
    """By `jupyter execute`, in a process of its own."""
    copy = shutil.copy(ROOT / "examples" / name, tmp_path / "run.ipynb")
    done = subprocess.run(
        [Path(sys.executable).with_name("jupyter-execute"), "--inplace", copy],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path), "PYDEVD_DISABLE_FILE_VALIDATION": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    run = nbformat.read(copy, as_version=4)
    code = [cell for cell in run.cells if cell.cell_type == "code"]
    kinds = [{kind for output in cell.outputs for kind in output.get("data", {})} for cell in code]
    assert all(kinds), "every cell shows something"
    assert tuple(sum(kind in found for found in kinds) for kind in ("text/html", "image/png")) == SHOWN[name]


@pytest.mark.parametrize("name", SHOWN)
def test_the_notebook_holds_no_results(name: str) -> None:
    for cell in nbformat.read(ROOT / "examples" / name, as_version=4).cells:
        assert cell.get("outputs", []) == []


def test_every_notebook_is_tried() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.ipynb")} == set(SHOWN)
