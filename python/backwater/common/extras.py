"""Libraries that are extras of this package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from backwater._core import InputError


def library(name: str, extra: str | None = None) -> Any:
    """Imports a library of an extra, which has the library's name if no other is given.

    # Errors
    `InputError` that says how to install it.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise InputError(f"{name} is not installed: pip install 'backwater[{extra or name}]'") from None
