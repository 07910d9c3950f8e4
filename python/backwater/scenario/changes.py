"""Changes of a scenario from Python: as `--set` has them for the loader, and as Python's words in its errors."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from backwater import _core
from backwater.scenario.toml_text import toml_value
from backwater.scenario.units import Quantity


def changed(
    seed: int | None,
    seeds: int | None,
    vary: Mapping[str, Iterable[Any]] | None,
    sets: Mapping[str, Any] | None,
    more_sets: Mapping[str, Any],
) -> list[str]:
    """Returns changes in the form of `--set`."""
    if seed is not None and seeds is not None:
        raise _core.InputError(f"seed={seed}, seeds={seeds}: expected one of them")
    given = {"seed": seed, "seeds.count": seeds}
    changes = {key: value for key, value in given.items() if value is not None}
    for table in (vary, sets):
        if table is not None and not isinstance(table, Mapping):
            raise _core.InputError(f"{table!r}: expected keys and their values, such as {{'switch.queues': 64}}")
    axes = {f"sweep.{key}": in_turn(key, values) for key, values in (vary or {}).items()}
    return [
        f"{key}={toml_value(value, key)}" for key, value in {**changes, **axes, **(sets or {}), **more_sets}.items()
    ]


def in_turn(key: str, values: Iterable[Any]) -> list[Any]:
    """Returns the values that a key takes in turn, with 0.6 for the 0.6000000000000001 of `numpy.arange`.

    # Errors
    `InputError` for one value in place of several.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise _core.InputError(f"vary: {key} = {values!r}: expected a list of values, such as [{values!r}]")
    return [meant(value) for value in values]


def meant(value: Any) -> Any:
    """Removes rounding errors from the last digits of a float. Anything else stays as it is."""
    if isinstance(value, float) and not isinstance(value, Quantity):
        plain = float(f"{value:.12g}")
        return plain if abs(plain - value) <= 8 * sys.float_info.epsilon * abs(value) else value
    return value


LISTS = {
    "`backwater list schemes`": "`backwater.schemes()`",
    "`backwater list experiments`": "`backwater.experiments()`",
}
"""Commands that list names, and what does so in Python."""
OPTIONS = ((" with --out", ""), ("with --force", "with force=True"))
"""Options in errors about a directory, and what they are in Python."""


LINES = re.compile(r"\b(the dictionary|the topology):\d+")
"""Places in a scenario that is in no file. Their lines mean nothing to a user."""


@contextlib.contextmanager
def python_words() -> Iterator[None]:
    """Rewrites errors about a scenario: they name a change as it was given in Python, not as `--set`."""
    try:
        yield
    except _core.InputError as error:
        place = error.place or ""
        if not place.startswith("--set "):
            retell(error, LINES.sub(r"\1", str(error)), LINES.sub(r"\1", place))
        key, _, value = place.removeprefix("--set ").partition("=")
        swept = key.removeprefix("sweep.")
        given = f"vary: {swept} = {value}" if swept != key else f"{'seeds' if key == 'seeds.count' else key} = {value}"
        problem = error.problem or ""
        about = (
            f"{error.key} = {error.value}" if error.key and error.key not in (key, swept, f'sweep."{swept}"') else ""
        )
        told = ": ".join(part for part in (given, about, problem) if part)
        retell(error, f"{told} (run {error.run})" if error.run else told, given)


@contextlib.contextmanager
def python_arguments() -> Iterator[None]:
    """Rewrites errors about options of the command line: they name the arguments of Python."""
    try:
        yield
    except _core.InputError as error:
        told = re.sub(r"^--on (.*?): ", r"on = '\1': ", str(error))
        for option, argument in OPTIONS:
            told = told.replace(option, argument)
        retell(error, told, error.place)


def retell(error: _core.InputError, told: str, place: str | None) -> NoReturn:
    """Raises an error again with these words, in which commands that list names are functions of Python."""
    for command, function in LISTS.items():
        told = told.replace(command, function)
    if told == str(error):
        raise error
    again = _core.InputError(told)
    again.place, again.file, again.key, again.value = place, error.file, error.key, error.value
    again.problem, again.run = error.problem, error.run
    raise again from error.__cause__
