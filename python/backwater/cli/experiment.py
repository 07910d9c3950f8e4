"""One experiment from its runs to its report, as `run` and `reproduce` have it."""

from __future__ import annotations

import sys
from pathlib import Path

from backwater import _core, events, signals
from backwater.api import Experiment, Results
from backwater.cli.exits import BAD_INPUT, BUG, FAILED, stoppable
from backwater.cli.printing import print_claims, print_runs
from backwater.show import endings, report
from backwater.show.failures import Undrawn
from backwater.terminal import progress_watch, say
from backwater.writer import left_at, left_of


def run_one(
    experiment: Experiment,
    place: Path,
    threads: int | None,
    force: bool,
    recorded: dict[str, events.Wanted] | None = None,
) -> int:
    """Runs, tells, and says how to exit."""
    with stoppable(lambda: left_of(place)) as stop, progress_watch() as watch:
        done = experiment.simulate(place, threads=threads, force=force, watch=watch, stop=stop, events=recorded)
    if done.interrupted:
        print_runs(done)
        if done.path != place:
            say(f"{signals.name()}: {place} stays as it was")
        say(f"{signals.name()}: {left_at(done.path)}")
        return signals.code()
    with signals.during(None, lambda: f"the runs are in {place}; `backwater report {place}` writes what is missing"):
        return publish(done)


def publish(done: Results) -> int:
    """Judges and draws what is safe on the disk, tells, and says how to exit."""
    print_runs(done)
    code = 0
    try:
        done.report()
    except (_core.InputError, Undrawn) as failure:
        code = BUG if isinstance(failure, Undrawn) else BAD_INPUT
        print(
            f"error: {failure}\nThe runs are complete in {done.path}; `backwater report {done.path}` tries this again",
            file=sys.stderr,
        )
    print_claims(done.claims)
    if not done.complete:
        print("\n".join(["Not complete:", *filter(None, map(endings.told, done.runs))]), file=sys.stderr)
    if code == 0:
        say(f"Report: {done.path / report.PAGE}")
    return code or (FAILED if not done.complete or any(row["verdict"] == "fail" for row in done.claims) else 0)
