"""Quantities with units: read and written in one place, exactly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import backwater
from backwater import InputError
from backwater.cli.explain import size_of
from backwater.common.quantities import BINARY_SIZES, RATES, SIZES, TIMES, as_number, in_largest, whole
from backwater.hpcc.units import resolved, toml_rate, toml_size, toml_time
from backwater.runs.events import time_ps


@pytest.mark.parametrize(
    ("text", "units", "count"),
    [
        ("2.5 us", TIMES, 2_500_000),
        (" 1ms ", TIMES, 10**9),
        ("0.0005 ps", TIMES, 0),
        ("123456789012.123456789012 s", TIMES, 123456789012123456789012),
        ("1.1 GiB", SIZES | BINARY_SIZES, 1181116006),
        ("40 Gbps", RATES, 40 * 10**9),
        ("40 Gbps", TIMES, None),
        ("1 min", TIMES, None),
        ("-1 s", TIMES, None),
        ("1e3 s", TIMES, None),
        ("", TIMES, None),
    ],
)
def test_a_quantity_is_counted_in_its_smallest_unit(text: str, units: dict[str, int], count: int | None) -> None:
    assert whole(text, units) == count


def test_what_is_read_was_written() -> None:
    for value in (0, 1, 999, 1000, 325_000, 10**9, 7 * 10**12 + 1):
        for units in (TIMES, SIZES, RATES):
            number, unit = in_largest(value, units)
            assert whole(f"{number} {unit}", units) == value
        for written, scale in ((toml_time, 1000), (toml_size, 1), (toml_rate, 1)):
            assert resolved(written(value)) == value * scale
    assert (toml_time(0), toml_rate(10**12), toml_size(2048)) == ("0 ns", "1000 Gbps", "2048 B")


def test_base_units_are_those_of_the_exact_ones() -> None:
    assert [as_number(f"1 {unit}", "x") for unit in TIMES] == [1e-12, 1e-9, 1e-6, 1e-3, 1.0]
    assert as_number("1 TiB", "x") == 2.0**40


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="--above 99999999999TB: expected a size such as 3KB or 1 MiB"):
        size_of("99999999999TB", "--above")
    with pytest.raises(ValueError):  # noqa: PT011  # Its callers say what was expected.
        time_ps("9999999999999 s")


def test_units_are_read_in_one_module_only() -> None:
    """A table of units, or a pattern with some, anywhere else is a second reader. Tables of what is written are not."""
    package = Path(backwater.__file__).parent
    table = re.compile(r'"(?:us|KB|Gbps)": *[0-9]|\(ps\|ns\||s\|min\|h')
    readers = {
        str(path.relative_to(package)) for path in package.rglob("*.py") if table.search(path.read_text("utf-8"))
    }
    assert readers == {"common/quantities.py"}
