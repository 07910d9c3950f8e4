"""Which simulator is loaded: the package's, or one that has schemes of your own as well.

`backwater build-scheme` makes the second. It stands in for `backwater._core` if it was built from the package's own
sources, so this module is imported before anything else.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from pathlib import Path

NAME = "backwater._core"
VARIABLE = "BACKWATER_SCHEMES"
"""Environment variable with the directory of the second; empty if none is wanted."""
FILE = "_core.abi3.so"
BUILT = "built.json"
"""Beside it: from which schemes it was built, and for which package."""


def place() -> Path | None:
    """Returns the directory for the simulator with schemes of your own."""
    asked = os.environ.get(VARIABLE)
    if asked is not None:
        return Path(asked) if asked else None
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "backwater" / "schemes"


def packaged() -> Path:
    """Returns the file of the package's simulator."""
    package = Path(__file__).parents[1]
    files = (package / f"_core{suffix}" for suffix in EXTENSION_SUFFIXES)
    return next((file for file in files if file.exists()), package / FILE)


def mark(path: Path) -> dict[str, int | str]:
    """Returns size, time and hash of a file: two builds of one version may differ."""
    import hashlib  # Takes 3 ms, and `import backwater` seldom needs it.

    stat = path.stat()
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"size": stat.st_size, "modified": stat.st_mtime_ns, "sha256": digest}


def fits(built_for: dict[str, int | str], path: Path) -> bool:
    """Returns whether the package's simulator is the one with this mark. It is read only if its time differs."""
    stat = path.stat()
    if built_for["size"] != stat.st_size:
        return False
    return built_for["modified"] == stat.st_mtime_ns or built_for["sha256"] == mark(path)["sha256"]


def load() -> None:
    """Loads the simulator with schemes of your own, if there is one for this package."""
    directory = place()
    if directory is None or NAME in sys.modules:
        return
    file = directory / FILE
    try:
        facts = json.loads((directory / BUILT).read_bytes())
        # A file that was cut short would end the process.
        wanted = file.stat().st_size == facts["size"] and fits(facts["for"], packaged())
    except (OSError, ValueError, KeyError, TypeError):
        return  # There is none, or another version made it. The package's is loaded then.
    if not wanted:
        return
    loader = ExtensionFileLoader(NAME, str(file))
    spec = ModuleSpec(NAME, loader, origin=str(file))
    spec.has_location = True
    try:
        core = importlib.util.module_from_spec(spec)
        loader.exec_module(core)
    except ImportError:  # The file is damaged.
        return
    sys.modules[NAME] = core
    sys.modules["backwater"]._core = core  # type: ignore[attr-defined]
