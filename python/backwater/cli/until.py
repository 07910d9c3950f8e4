"""`--until undecided=N`: longer runs until measurements have settled, then more seeds until intervals say enough."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import typer

from backwater._core import InputError
from backwater.cli.exits import FAILED
from backwater.cli.later import when_used
from backwater.cli.options import WHAT
from backwater.common import signals

with when_used():
    from backwater.cli import experiment as runner
    from backwater.cli import terminal
    from backwater.common import quantities
    from backwater.show import results


FEWEST = 5
"""Seeds after the first round, of an experiment that has one."""
MOST = 640
LENGTHS: tuple[Literal["duration", "warmup", "cooldown", "flows"], ...] = ("duration", "warmup", "cooldown", "flows")
"""Keys of `[run]` that set how long runs are."""
LONGEST = 64
"""How many times as long as in the first round runs become at most."""

Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="undecided=N",
        help="Run longer and with more seeds until at most N claims are unsettled or undecided.",
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
    """The goal of `--until`: how many claims may stay unsettled or undecided, and how long it may take."""

    wanted: int
    budget_s: float

    def settle(
        self,
        chosen: list[runner.Chosen],
        again: Callable[[runner.Chosen, Round], runner.Chosen],
        run: Callable[[list[runner.Chosen], bool], int],
    ) -> int:
        """Runs experiments again and again, longer or with more seeds each time, until few claims are left.

        `again` is one of them as a round asks. `run` says how to exit after a round; its second argument is whether it
        replaces what is there.
        """
        began = time.monotonic()
        codes = [run(chosen, False)]
        left, made = chosen, {one.place: Round.first(results.Results(one.place)) for one in chosen}
        took_s = time.monotonic() - began
        while not signals.heard:
            rounds = {
                one.place: more for one in left if (more := self.next(results.Results(one.place), made[one.place]))
            }
            if not rounds:
                break
            so_far_s = time.monotonic() - began
            longer = any(more.factor != made[place].factor for place, more in rounds.items())
            # As many seeds as there are take as long again; of longer runs nothing is kept.
            if so_far_s + (2 * took_s if longer else so_far_s) > self.budget_s:
                terminal.say("Another round would go beyond --budget")
                break
            made |= rounds
            left = [again(one, rounds[one.place]) for one in left if one.place in rounds]
            round_began = time.monotonic()
            codes.append(run(left, True))
            took_s = time.monotonic() - round_began
        failed = any(is_failed(results.Results(one.place)) for one in chosen)
        return max([FAILED if failed else 0, *(code for code in codes if code > FAILED)])

    def next(self, done: results.Results, now: Round) -> Round | None:
        """Returns the round after `now`, or None if nothing is left to decide or nothing can be."""
        verdicts = [(row["verdict"], row["claim"]) for row in done.claims]
        unsettled, undecided = ([claim for of, claim in verdicts if of == one] for one in ("unsettled", "undecided"))
        if len(unsettled) + len(undecided) <= self.wanted or done.interrupted:
            return None
        if unsettled:
            told = f"{done.name}: unsettled: {', '.join(unsettled)}"
            if now.lengths and now.factor < LONGEST:
                more = replace(now, factor=2 * now.factor)
                terminal.say(f"{told}; next with {' '.join(more.sets())}")
                return more
            terminal.say(f"{told}; " + ("and that is long enough" if now.lengths else "its runs differ in length"))
        if not undecided:
            return None
        count = max(FEWEST, 2 * now.seeds)
        told = f"{done.name}: undecided with {quantities.some(now.seeds, 'seed')}: {', '.join(undecided)}"
        if (fixed := (done.manifest.seeds or {}).get("fixed")) or count > MOST:
            terminal.say(f"{told}; " + ("its seeds are part of the set-up" if fixed else "and that is enough"))
            return None
        terminal.say(f"{told}; next with {count}")
        return replace(now, seeds=count)


@dataclass(frozen=True)
class Round:
    """How many seeds an experiment has, and how long its runs are."""

    seeds: int
    lengths: dict[str, str | float]
    """Keys of `[run]` in the first round; empty if its runs differ in them."""
    factor: int = 1
    """How many times as long the runs are."""

    @staticmethod
    def first(done: results.Results) -> Round:
        runs = [one.scenario.get("run", {}) for one in done.runs]
        lengths: list[dict[str, str | float]] = [
            {key: run[key] for key in LENGTHS if quantities.as_number(run.get(key, 0), key)} for run in runs
        ]
        alike = bool(lengths) and all(one == lengths[0] for one in lengths)
        return Round(int((done.manifest.seeds or {}).get("count", 1)), lengths[0] if alike else {})

    def sets(self) -> list[str]:
        """Returns `KEY=VALUE` of each length, if it is not that of the first round."""
        longer = {key: times(value, self.factor) for key, value in self.lengths.items()} if self.factor > 1 else {}
        return [f"run.{key}={value}" for key, value in longer.items()]


def times(length: Any, factor: int) -> str:
    """Multiplies a number of flows, or a time such as `"500 us"`."""
    if isinstance(length, int):
        return str(length * factor)
    number, unit = quantities.quantity(length) or (0.0, "s")
    return json.dumps(f"{number * factor:.12g} {unit}")


def is_failed(done: results.Results) -> bool:
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
    if (found := quantities.quantity(budget, quantities.LONG_TIMES)) is None:
        raise InputError(f"--budget {budget}: expected a number and one of {', '.join(quantities.LONG_TIMES)}")
    return found[0] * quantities.LONG_TIMES[found[1]]
