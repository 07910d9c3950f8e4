"""What running an experiment is said to take, and takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import faults
from backwater import Experiment, _core
from backwater.execute import estimate as check
from backwater.execute import job

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


JOBS = """
extends = "{base}"
[[workload]]
kind = "job"
file = "job.csv"
placement = "{placement}"
{more}
[seeds]
count = 6
"""
ARRIVALS = '[[workload]]\nkind = "background"\nsizes = { table = "fb_hadoop" }\nload = 0.3'


@pytest.mark.parametrize(
    ("placement", "more", "times"), [("packed", "", 1), ("random", "", 6), ("packed", ARRIVALS, 6)]
)
def test_seeds_share_an_estimate_unless_they_draw_something(
    placement: str, more: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "job.toml"
    (tmp_path / "job.csv").write_text("id,src,dst,bytes,after\n0,0,1,64000,\n")
    file.write_text(JOBS.format(base=EXPERIMENTS / "smoke" / "dctcp.toml", placement=placement, more=more))
    plan = Experiment(file).plan
    each = [json.loads(_core.estimate(json.dumps(run.scenario)))["packet_hops"] for run in plan.runs]
    asked: list[str] = []
    estimate = _core.estimate
    monkeypatch.setattr(_core, "estimate", lambda scenario: asked.append(scenario) or estimate(scenario))
    assert [one.estimate.packet_hops for one in job.jobs_of(plan)] == each
    assert len(asked) == times
    assert (len(set(each)) == 1) == (times == 1)
