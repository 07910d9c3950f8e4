"""The notebook in `examples/` runs from top to bottom, and what it shows is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

from conftest import ROOT

NOTEBOOK = ROOT / "examples/first_look.ipynb"


def test_the_notebook_runs(tmp_path: Path) -> None:
    """By `jupyter execute`, in a process of its own."""
    copy = shutil.copy(NOTEBOOK, tmp_path / "run.ipynb")
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
    assert sum("text/html" in found for found in kinds) == 2
    assert sum("image/png" in found for found in kinds) == 2


def test_the_notebook_holds_no_results() -> None:
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        assert cell.get("outputs", []) == []
