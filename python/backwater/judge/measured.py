"""Single numbers from runs, as expectations name them: what was measured is remembered, and each table is read once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from backwater._core import InputError
from backwater.judge import leaves
from backwater.judge.columns import Columns
from backwater.judge.statistics import NoData
from backwater.runs.run import Run
from backwater.scenario.claims import Leaf

AT_ONCE = 4
"""Runs that are read at once. The columns of each may take hundreds of megabytes."""

Question = Callable[[Columns, list[Run], Leaf], Any]
"""What can be asked of a run's tables."""
Asked = tuple[list[Run], Leaf, Question]
"""A question, about which runs, and of which measurement."""


class Measured:
    """Measures runs and remembers the answers. While it listens it only notes the requests, to read each table once."""

    def __init__(self) -> None:
        self.known: dict[str, object] = {}
        """Answers, and the errors instead of one."""
        self.wanted: dict[str, Asked] | None = None

    @property
    def hears(self) -> bool:
        """Whether it only notes what is asked."""
        return self.wanted is not None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Within, `of` returns 1 and notes the request. At the end it measures everything that was requested."""
        self.wanted = {}
        yield
        wanted, self.wanted = self.wanted, None
        by_run: dict[str, dict[str, Asked]] = {}
        for key, asked in wanted.items():
            by_run.setdefault(asked[0][0].label, {})[key] = asked
        # Arrow and NumPy let other threads run while they work on a column.
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            for answers in pool.map(answered, by_run.values()):
                self.known |= answers

    def of(self, runs: list[Run], leaf: Leaf) -> float:
        """Measures the first run. A distance is that to the second run.

        # Errors
        `NoData` where it has too little, `InputError` where it has nothing of that name.
        """
        value: float = self.ask(runs, leaf, leaves.read, 1.0)
        return value

    def ask(self, runs: list[Run], leaf: Leaf, question: Question, unheard: Any) -> Any:
        """Answers a question about the runs; `unheard` while it listens."""
        key = repr((question.__name__, [run.label for run in runs], sorted(leaf.items(), key=str)))
        if self.wanted is not None:
            self.wanted[key] = (runs, leaf, question)
            return unheard
        if key not in self.known:  # What is asked can depend on values, which are not there while it listens.
            self.known |= answered({key: (runs, leaf, question)})
        answer = self.known[key]
        if isinstance(answer, Exception):
            raise answer
        return answer


def answered(questions: dict[str, Asked]) -> dict[str, object]:
    """Answers all questions about one run, and reads its tables once. An answer may be the error instead."""
    columns = Columns()
    answers: dict[str, object] = {}
    for key, (runs, leaf, question) in questions.items():
        try:
            answers[key] = question(columns, runs, leaf)
        except (NoData, InputError) as nothing:
            answers[key] = nothing
    return answers
