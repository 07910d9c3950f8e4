"""What a program on a host may know of the run that it is part of, and what it may say of it.

The lab sets three variables for programs of a run that writes a run directory. Any program may use them.

BACKWATER_FROM, BACKWATER_UNTIL    the counted window, in seconds of the machine's monotonic clock
BACKWATER_RESULT                   a file for results: each line a JSON object of numbers and short texts

With `--dctcp` it sets a fourth, for any program:

BACKWATER_CONGESTION               the congestion control of the hosts' TCP

The table `programs` has a row for each of them. `about` in an object names what the others are about, such as a peer.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backwater.lab.orders import Told

FROM, UNTIL, RESULT = "BACKWATER_FROM", "BACKWATER_UNTIL", "BACKWATER_RESULT"
CONGESTION = "BACKWATER_CONGESTION"


def window(seconds: float) -> tuple[float, float]:
    """Returns the counted window. Outside of a run it is the next `seconds`."""
    now = time.monotonic()
    return float(os.environ.get(FROM, now)), float(os.environ.get(UNTIL, now + seconds))


def tell(about: str = "", **results: float | str) -> None:
    """Says results. Outside of a run they are printed."""
    line = json.dumps({**({"about": about} if about else {}), **results})
    if RESULT not in os.environ:
        print(line)
        return
    with Path(os.environ[RESULT]).open("a", encoding="utf-8") as results_file:
        results_file.write(line + "\n")


def read(file: Path) -> list[Told]:
    """Returns the results that a program has left in its file: each with `about`, `metric`, `value` and `text`.

    # Errors
    `ValueError` that names the line, for anything else than JSON objects of numbers and texts.
    """
    rows: list[Told] = []
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            results = json.loads(line)
        except ValueError:
            results = None
        if not isinstance(results, dict):
            raise ValueError(f"line {number} of its results: {line[:60]!r}: expected a JSON object")
        about = results.pop("about", "")
        for metric, value in results.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not (is_number or isinstance(value, str)) or not isinstance(about, str):
                raise ValueError(f"line {number} of its results: {metric} = {value!r}: expected a number or a text")
            rows.append(
                {
                    "about": about,
                    "metric": metric,
                    "value": float(value) if is_number else None,
                    "text": None if is_number else value,
                }
            )
    return rows
