"""`backwater check`: are scenarios valid, and what does running them take."""

from __future__ import annotations

import dataclasses
from typing import Any

from rich.table import Table

from backwater import check as estimates
from backwater.api import Experiment
from backwater.cli.options import Json, Scale, Scenarios, Seeds, Sets, Threads, all_sets
from backwater.cli.printing import print_json
from backwater.compute import running
from backwater.terminal import answer, count, out, size, some, span


def check(
    scenario: Scenarios,
    sets: Sets = None,
    seeds: Seeds = None,
    scale: Scale = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Validate scenarios and estimate the cost of running them.

    It measures this machine for a moment and predicts time and memory of each run. Nothing is written.

    Examples:
        backwater check mine.toml
        backwater check bfc-fig9 --scale paper --threads 8
    """
    found: list[dict[str, Any]] = []
    for path in scenario:
        experiment = Experiment.from_arguments(path, all_sets(sets, seeds), scale)
        if any(map(running.is_computation, experiment.scenarios.values())):
            kinds = list(dict.fromkeys(map(running.kind_of, experiment.scenarios.values())))
            found.append({"scenario": str(path), "computations": len(experiment.labels), "kinds": kinds})
            if not as_json:
                answer(f"{path}: valid. {some(len(experiment.labels), 'computation')} of {', '.join(kinds)}.")
            continue
        estimate = estimates.estimate(experiment, threads)
        found.append({"scenario": str(path), **dataclasses.asdict(estimate)})
        if not as_json:
            tell(f"{path}: valid.", experiment.name, estimate)
    if as_json:
        print_json(found)


def tell(first: str, name: str, estimate: estimates.Estimate) -> None:
    """A table with a row for each run, and the whole in a sentence."""
    table = Table(title=name, title_justify="left", title_style="bold")
    for heading in ("run", "scheme", "seeds", "flows", "packet-hops", "simulated", "time", "memory"):
        table.add_column(heading, justify="left" if heading in ("run", "scheme") else "right")
    for row in estimate.rows:
        table.add_row(
            row.label,
            row.scheme,
            str(row.seeds),
            count(row.flows),
            count(row.packet_hops),
            span(row.sim_time_ps * 1e-12),
            span(row.wall_s),
            size(row.memory_mb * 1e6),
        )
    out.print(table)
    answer(
        f"{first} All runs: about {span(estimate.wall_s)} on {estimate.threads} threads at "
        f"{count(estimate.hops_per_s)} packet-hops/s each (measured now), "
        f"{size(estimate.memory_mb * 1e6)} of memory."
    )
