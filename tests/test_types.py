"""The types that a user's type checker sees of the public modules, as `tests/data/typing/used.py` states them.

Tables of Arrow are not among them: PyArrow has no types.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

pytest.importorskip("mypy")
USED = ROOT / "tests" / "data" / "typing" / "used.py"


def checked(file: Path) -> subprocess.CompletedProcess[str]:
    """Checks a file strictly, with nothing of this project's settings."""
    options = [
        "--config-file=",
        "--strict",
        f"--cache-dir={ROOT / 'target' / 'mypy-users'}",
        "--follow-untyped-imports",
    ]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "python")}
    command = [sys.executable, "-m", "mypy", *options, str(file)]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)


def test_a_type_checker_finds_the_types_that_users_expect() -> None:
    done = checked(USED)
    lines = [line for line in done.stdout.splitlines() if "typing/used.py" in line]
    assert not lines, "\n".join(lines)


def test_a_wrong_expectation_is_found(tmp_path: Path) -> None:
    text = USED.read_text()
    wrong = tmp_path / "used.py"
    wrong.write_text(text.replace("assert_type(results[0], Run)", "assert_type(results[0], Runs)"))
    done = checked(wrong)
    assert done.returncode == 1
    assert 'Expression is of type "Run", not "Runs"' in done.stdout
