"""`--until undecided=N`: more seeds, until the intervals are narrow enough to say."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import typer

from backwater import signals
from backwater._core import InputError
from backwater.cli.exits import FAILED
from backwater.cli.later import when_used
from backwater.cli.options import WHAT

with when_used():
    from backwater import api, terminal
    from backwater.cli import experiment as runner


FEWEST = 5
"""Seeds after the first round, of an experiment that has one."""
MOST = 640
TIMES = ("s", "min", "h")

Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="undecided=N",
        help="Add seeds until at most N claims are undecided or the budget is spent.",
        rich_help_panel=WHAT,
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="Start no round of --until that would end later than this. [default: 1 h]",
        rich_help_panel=WHAT,
    ),
]


@dataclass(frozen=True)
class Goal:
    """The goal of `--until`: how many claims may stay undecided, and how long it may take."""

    wanted: int
    budget_s: float

    def settle(
        self,
        chosen: list[runner.Chosen],
        again: Callable[[runner.Chosen, int], runner.Chosen],
        run: Callable[[list[runner.Chosen], bool], int],
    ) -> int:
        """Runs experiments again and again, with twice the seeds each time, until few claims are undecided.

        `again` is one of them with so many seeds. `run` says how to exit after a round; its second argument is whether
        it replaces what is there.
        """
        began = time.monotonic()
        codes = [run(chosen, False)]
        left = chosen
        while not signals.heard:
            took_s = time.monotonic() - began
            counts = {one.place: more for one in left if (more := self.next(api.Results(one.place)))}
            if not counts:
                break
            if 2 * took_s > self.budget_s:  # As many seeds as there are take as long again.
                terminal.say("Another round would go beyond --budget")
                break
            left = [again(one, counts[one.place]) for one in left if one.place in counts]
            codes.append(run(left, True))
        failed = any(is_failed(api.Results(one.place)) for one in chosen)
        return max([FAILED if failed else 0, *(code for code in codes if code > FAILED)])

    def next(self, done: api.Results) -> int | None:
        """Returns the seeds of the next round, or None if nothing is left to decide or nothing can be."""
        left = [row["claim"] for row in done.claims if row["verdict"] == "undecided"]
        if len(left) <= self.wanted or done.interrupted:
            return None
        seeds = done.manifest.get("seeds") or {}
        count = seeds.get("count", 1)
        more = max(FEWEST, 2 * count)
        told = f"{done.name}: undecided with {terminal.plural(count, 'seed')}: {', '.join(left)}"
        if seeds.get("fixed") or more > MOST:
            terminal.say(
                f"{told}; " + ("its seeds are part of the set-up" if seeds.get("fixed") else "and that is enough")
            )
            return None
        terminal.say(f"{told}; next with {more}")
        return more


def is_failed(done: api.Results) -> bool:
    return not done.complete or any(row["verdict"] == "fail" for row in done.claims)


def goal(until: str | None, budget: str | None) -> Goal | None:
    """Returns the goal of both options, or None without them.

    # Errors
    `InputError` where they do not say.
    """
    if until is None:
        if budget is not None:
            raise InputError(f"--budget {budget}: expected --until with it")
        return None
    if not (match := re.fullmatch(r"undecided=([0-9]{1,6})", until.replace(" ", ""))):
        raise InputError(f"--until {until}: expected undecided=N, such as undecided=0")
    return Goal(int(match[1]), seconds(budget))


def seconds(budget: str | None) -> float:
    if budget is None:
        return 3600.0
    if match := re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) *(s|min|h)", budget):
        return float(match[1]) * {"s": 1, "min": 60, "h": 3600}[match[2]]
    raise InputError(f"--budget {budget}: expected a number and one of {', '.join(TIMES)}")
