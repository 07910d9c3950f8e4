"""Parses the values of a sweep: `load=0.5:0.95:0.05`, `scheme=bfc,dctcp`, `run.duration=1ms:5ms:1ms`.

A text has a key, or its name (`docs/scenarios.md`), and the values that it takes in turn. They are a list, or first
value, last value and step. The last value is included if the steps reach it. Values that begin with a bracket are TOML.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from backwater._core import InputError
from backwater.scenario.toml_text import toml_value

NUMBER = re.compile(r"(-?[0-9]{1,18}(?:\.[0-9]{1,12})?(?:[eE][-+]?[0-9]{1,2})?) *([A-Za-z]{0,6})")
STEPS_MAX = 10_000


def as_set(asked: str) -> str:
    """Returns the form of `--set`: `sweep.load=[0.5, 0.55]`.

    # Errors
    `InputError` naming what was asked, where it is no list and no range.
    """
    key, equals, text = asked.partition("=")
    key, text = key.strip(), text.strip()
    if not equals or not key or not text:
        raise refused(asked, "expected KEY=VALUES, such as load=0.5:0.9:0.1 or scheme=bfc,dctcp")
    if text.startswith("["):
        return f"sweep.{key}={text}"
    values = [value for part in text.split(",") for value in between(asked, part.strip())]
    if len(set(values)) < len(values):
        raise refused(asked, f"{next(one for one in values if values.count(one) > 1)} twice; expected each value once")
    return f"sweep.{key}=[{', '.join(values)}]"


def as_asked(problem: str) -> str:
    """Rewords an error about `--set sweep.KEY` as one about `--vary KEY`."""
    return problem.replace("--set sweep.", "--vary ")


def between(asked: str, part: str) -> list[str]:
    """Returns one value, or the values of a range, as TOML."""
    ends = [end.strip() for end in part.split(":")]
    if len(ends) == 1:
        return [scalar(asked, part)]
    numbers = [match for end in ends if (match := NUMBER.fullmatch(end))]
    if len(ends) != 3 or len(numbers) != 3:
        raise refused(asked, f"{part}: expected FROM:TO:STEP, three numbers with or without a unit")
    units = {match[2] for match in numbers}
    if len(units) > 1:
        raise refused(asked, f"{part}: expected one unit, not {' and '.join(sorted(units)) or 'several'}")
    first, last, step = (Decimal(match[1]) for match in numbers)
    unit = units.pop()
    if step == 0 or (last - first) / step < 0:
        raise refused(asked, f"{part}: steps of {step} do not lead from {first} to {last}")
    count = math.floor((last - first) / step) + 1
    if count > STEPS_MAX:
        raise refused(asked, f"{part}: {count} values; expected at most {STEPS_MAX}")
    steps = [plain(first + i * step) for i in range(count)]
    return [toml_value(f"{number} {unit}") if unit else number for number in steps]


def scalar(asked: str, text: str) -> str:
    """Returns a number or truth value as it is, and anything else as text."""
    if not text:
        raise refused(asked, "an empty value; expected values between commas")
    number = NUMBER.fullmatch(text)
    return text if text in ("true", "false") or (number and not number[2]) else toml_value(text)


def plain(number: Decimal) -> str:
    """Writes a number without an exponent and without zeros at the end."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def refused(asked: str, problem: str) -> InputError:
    return InputError(f"--vary {asked}: {problem}")
