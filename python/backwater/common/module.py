"""Which simulator is loaded: the package's, or one that has schemes of your own as well.

`backwater build-scheme` makes the second. It stands in for `backwater._core` if it was built from the package's own
sources, so this module is imported before anything else. It imports little until it knows that there is one.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

NAME = "backwater._core"
VARIABLE = "BACKWATER_SCHEMES"
"""Environment variable with the directory of the second; empty if none is wanted."""
FILE = "_core.abi3.so"
BUILT = "built.json"
"""Beside it: from which schemes it was built, and for which package."""


def place() -> Path | None:
    """Returns the directory for the simulator with schemes of your own."""
    from pathlib import Path

    named = named_place()
    return Path(named) if named else None


def named_place() -> str:
    """Returns the name of that directory, empty if none is wanted."""
    asked = os.environ.get(VARIABLE)
    if asked is not None:
        return asked
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "backwater", "schemes")


def packaged() -> Path:
    """Returns the file of the package's simulator."""
    from importlib.machinery import EXTENSION_SUFFIXES
    from pathlib import Path

    package = Path(__file__).parents[1]
    files = (package / f"_core{suffix}" for suffix in EXTENSION_SUFFIXES)
    return next((file for file in files if file.exists()), package / FILE)


def mark(path: Path) -> dict[str, int | str]:
    """Returns size, time and hash of a file: two builds of one version may differ."""
    import hashlib

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
    named = named_place()
    if named and NAME not in sys.modules and os.path.exists(os.path.join(named, BUILT)):
        load_from(named)


def load_from(named: str) -> None:
    """Loads the simulator of a directory, if it is one for this package and whole."""
    import importlib.util
    import json
    from importlib.machinery import ExtensionFileLoader, ModuleSpec
    from pathlib import Path

    file = Path(named, FILE)
    try:
        facts = json.loads(Path(named, BUILT).read_bytes())
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
