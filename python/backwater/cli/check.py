"""`backwater check`: are scenarios valid, and what does running them take."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from backwater.cli.later import when_used
from backwater.cli.options import Json, Scale, Scenarios, Seeds, Sets, Threads, all_sets

if TYPE_CHECKING:
    from backwater.execute.estimate import Estimate
    from backwater.experiment import Experiment

with when_used():
    from backwater.cli import experiment as opening
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.compute import running
    from backwater.execute import estimate as estimates
    from backwater.scenario import endless, experiments


@dataclasses.dataclass(frozen=True)
class Checked:
    """A valid scenario under the name it was asked for by."""

    name: str
    experiment: Experiment
    kinds: list[str]
    """Kinds of its computations; empty if it is simulated."""
    estimate: Estimate | None
    """What its runs take; none of computations."""

    @property
    def runs(self) -> int:
        return len(self.experiment.plan.runs)


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
    The name of a paper, such as bcc, stands for its experiments, and all for those of every paper.
    Of several scenarios, each has a line.

    Examples:
        backwater check mine.toml
        backwater check bfc-fig9 --scale paper --threads 8
        backwater check bcc --scale paper
    """
    paths = {name: path for given in scenario for name, path in experiments.locate_all(given).items()}
    checked: list[Checked] = []
    with printing.quietly(as_json or len(paths) == 1), terminal.progress_of("Measuring") as progress:
        opened = opening.open_all(list(paths.values()), all_sets(sets, None), seeds, scale)
        for name, experiment in zip(paths, opened, strict=True):
            progress(len(checked), len(opened))
            checked.append(checked_of(name, experiment, threads))
    if as_json:
        printing.print_json(list(map(facts, checked)))
    elif len(checked) == 1:
        tell(checked[0])
    else:
        tell_all(checked)


def checked_of(name: str, experiment: Experiment, threads: int | None) -> Checked:
    """Estimates what an experiment takes, unless it is computed."""
    scenarios = experiment.scenarios.values()
    if any(map(running.is_computation, scenarios)):
        return Checked(name, experiment, list(dict.fromkeys(map(running.kind_of, scenarios))), None)
    return Checked(name, experiment, [], estimates.estimate(experiment.plan, threads))


def facts(one: Checked) -> dict[str, object]:
    """Returns what `--json` prints of a scenario."""
    if one.estimate is None:
        return {"scenario": one.name, "computations": one.runs, "kinds": one.kinds}
    without_end = max(map(endless.count, one.experiment.scenarios.values()), default=0)
    return {"scenario": one.name, **dataclasses.asdict(one.estimate), "endless_flows": without_end}


def tell(one: Checked) -> None:
    """Prints a table with a row for each run, and a sentence on all runs."""
    if one.estimate is None:
        terminal.answer(f"{one.name}: valid. {quantities.some(one.runs, 'computation')} of {', '.join(one.kinds)}.")
        return
    tell_estimate(f"{one.name}: valid.", one.experiment.name, one.estimate)
    for line in endless.told(list(one.experiment.scenarios.values())):
        terminal.answer(line)


def tell_estimate(first: str, name: str, estimate: Estimate) -> None:
    """Prints the estimate of each run, and behind `first` that of all."""
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


def tell_all(checked: list[Checked]) -> None:
    """Prints a table with a row for each scenario, and a sentence on all of them."""
    table = terminal.Table()
    for heading in ("scenario", "runs", "flows", "packet-hops", "time", "memory"):
        table.add_column(heading, justify="left" if heading == "scenario" else "right")
    for one in checked:
        took = one.estimate
        if took is None:
            table.add_row(one.name, str(one.runs), "", "", "computed", "")
            continue
        table.add_row(
            one.name,
            str(one.runs),
            quantities.count(sum(row.flows for row in took.rows)),
            quantities.count(sum(row.packet_hops for row in took.rows)),
            quantities.span(took.wall_s),
            quantities.size(took.memory_mb * 1e6),
        )
    terminal.out.print(table)
    simulated = [one.estimate for one in checked if one.estimate is not None]
    first = f"{quantities.some(len(checked), 'scenario')}, all valid."
    if not simulated:
        terminal.answer(first)
        return
    terminal.answer(
        f"{first} One after the other: about {quantities.span(sum(one.wall_s for one in simulated))} on "
        f"{quantities.some(max(one.threads for one in simulated), 'thread')} (measured now), "
        f"{quantities.size(max(one.memory_mb for one in simulated) * 1e6)} of memory at most."
    )
