"""Imports that wait until they are used, so that `--help` does not pay for NumPy, Arrow and the simulator's modules.

A command's module needs little to describe its arguments, and much to do its work. It imports the latter like this:

    with when_used():
        from backwater import experiment
        from backwater.cli import printing

The names are modules: `from backwater.experiment import Experiment` would use the module at once. Before a command does
its work, `load_all` imports everything that still waits, in one thread and in a fixed order.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import LazyLoader
from types import ModuleType

waiting: list[str] = []
"""Modules that were named and not imported yet, or were imported on their first use."""


class Finder(MetaPathFinder):
    """Finds modules as the others do, and has them executed on their first use."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        for other in sys.meta_path:
            if other is not self and (spec := other.find_spec(fullname, path, target)) is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = LazyLoader(spec.loader)
                    waiting.append(fullname)
                return spec
        return None


@contextlib.contextmanager
def when_used() -> Iterator[None]:
    """Within, modules that are imported for the first time are executed when an attribute of theirs is used."""
    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def load_all() -> None:
    """Imports what waits. `LazyLoader` does not allow two threads to use a module for the first time together."""
    while waiting:
        module = sys.modules[waiting.pop(0)]
        _ = module.__doc__  # Any attribute; a module that executes may add others that wait.
