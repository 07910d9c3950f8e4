"""Libraries that are extras of this package."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def library(name: str) -> Any:
    """Imports an extra.

    # Errors
    `ModuleNotFoundError` that says how to install it.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        told = f"{name} is not installed: pip install 'backwater[{name}]'"
        raise ModuleNotFoundError(told, name=name) from None
