"""What running an experiment is said to take, and takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import faults
from backwater import Experiment
from backwater.execute import estimate as check

EXPERIMENTS = Path(__file__).parent.parent / "experiments"
KILOBYTE = 1 if sys.platform == "darwin" else 1024
"""The unit of a child's peak memory, bytes."""


ALONE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Runs a command as the child of a small process: a child counts what its parent held as it was born."""


def peak_mb(place: Path, *words: object) -> float:
    """Most memory that a command ever held."""
    asked = [sys.executable, "-c", ALONE, *faults.command(*words)]
    done = subprocess.run(asked, cwd=place, capture_output=True, text=True, check=True)
    code, most = map(int, done.stdout.split())
    assert code in (0, 1), done.stderr
    return most * KILOBYTE / 1e6


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        pytest.param("smoke/bfc", None),
        *(
            pytest.param(name, "quick", marks=pytest.mark.long)
            for name in ("bfc/fig9", "bfc/fig11", "bfc/fig15", "bfc/tab1", "bcc/fig10")
        ),
    ],
)
def test_memory_is_what_it_is_said_to_be(name: str, scale: str | None, tmp_path: Path) -> None:
    """Of many small runs too: what they took goes back when they are done."""
    path = EXPERIMENTS / f"{name}.toml"
    said = check.estimate(Experiment(path, scale=scale).plan, 2).memory_mb
    asked = ["--scale", scale] if scale else []
    took = peak_mb(tmp_path, "run", path, *asked, "--threads", 2, "--out", tmp_path / "out")
    assert said == pytest.approx(took, rel=0.2)
