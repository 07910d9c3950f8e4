"""`backwater check`: are scenarios valid, and what does running them take."""

from __future__ import annotations

import dataclasses

from backwater.cli.later import when_used
from backwater.cli.options import Json, Scale, Scenarios, Seeds, Sets, Threads, all_sets

with when_used():
    from backwater import experiment as api
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.compute import running
    from backwater.execute import estimate as estimates
    from backwater.scenario import endless


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
    found: list[dict[str, object]] = []
    for path in scenario:
        experiment = api.Experiment.from_arguments(path, all_sets(sets, seeds), scale)
        if any(map(running.is_computation, experiment.scenarios.values())):
            kinds = list(dict.fromkeys(map(running.kind_of, experiment.scenarios.values())))
            found.append({"scenario": str(path), "computations": len(experiment.labels), "kinds": kinds})
            if not as_json:
                terminal.answer(
                    f"{path}: valid. {quantities.some(len(experiment.labels), 'computation')} of {', '.join(kinds)}."
                )
            continue
        estimate = estimates.estimate(experiment.plan, threads)
        scenarios = list(experiment.scenarios.values())
        without_end = max(map(endless.count, scenarios), default=0)
        found.append({"scenario": str(path), **dataclasses.asdict(estimate), "endless_flows": without_end})
        if not as_json:
            tell(f"{path}: valid.", experiment.name, estimate)
            for line in endless.told(scenarios):
                terminal.answer(line)
    if as_json:
        printing.print_json(found)


def tell(first: str, name: str, estimate: estimates.Estimate) -> None:
    """Prints a table with a row for each run, and a sentence on all runs."""
    table = terminal.Table(title=name, title_justify="left", title_style="bold")
    for heading in ("run", "scheme", "seeds", "flows", "packet-hops", "simulated", "time", "memory"):
        table.add_column(heading, justify="left" if heading in ("run", "scheme") else "right")
    for row in estimate.rows:
        table.add_row(
            row.label,
            row.scheme,
            str(row.seeds),
            quantities.count(row.flows),
            quantities.count(row.packet_hops),
            quantities.span(row.sim_time_ps * 1e-12),
            quantities.span(row.wall_s),
            quantities.size(row.memory_mb * 1e6),
        )
    terminal.out.print(table)
    terminal.answer(
        f"{first} All runs: about {quantities.span(estimate.wall_s)} on "
        f"{quantities.some(estimate.threads, 'thread')} at "
        f"{quantities.count(estimate.hops_per_s)} packet-hops/s each (measured now), "
        f"{quantities.size(estimate.memory_mb * 1e6)} of memory."
    )
