"""The files that describe a run directory. Manifest and timing carry a seal: a hash of everything else in them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from backwater._core import InputError

FORMAT = 2
UNSEALED = 1
"""The previous format, whose manifests have no seal."""
MANIFEST = "manifest.json"
SEAL = "sha256"
ENTRY = {"label": str, "dir": str, "scheme": str, "digest": str, "complete": bool, "params": dict, "files": dict}
"""Keys of each run in a manifest, and their types."""
HEAD = {"name": str, "version": str, "scale": str, "digest": str, "command": str, "complete": bool, "runs": list}


def read_manifest(path: Path) -> dict[str, Any]:
    """Reads a manifest.

    # Errors
    `InputError` if it is damaged, has another format, or is no manifest.
    """
    manifest = parsed(path)
    known = isinstance(manifest, dict) and manifest.get("format")
    if known == UNSEALED and type(known) is int:
        return checked(path, manifest)
    if isinstance(manifest, dict) and "format" in manifest and (type(known) is not int or known != FORMAT):
        raise refused(path, f"format {known!r}: expected {UNSEALED} or {FORMAT}")
    return checked(path, unsealed(path, manifest))


def checked(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Returns the manifest if it has all required keys.

    # Errors
    `InputError` if one is missing or has another type.
    """

    def check(table: Any, shape: dict[str, type], where: str) -> None:
        if not isinstance(table, dict):
            raise refused(path, f"not a manifest of ours: {where} is no table")
        for key, kind in shape.items():
            if not isinstance(table.get(key), kind):
                raise refused(path, f"not a manifest of ours: {where} has no '{key}' of type {kind.__name__}")

    check(manifest, HEAD, "it")
    for i, entry in enumerate(manifest["runs"]):
        check(entry, ENTRY, f"runs[{i}]")
        if Path(entry["dir"]).name != entry["dir"]:
            raise refused(path, f"not a manifest of ours: runs[{i}].dir = {entry['dir']!r}: expected a plain name")
    return manifest


def sealed(value: dict[str, Any]) -> str:
    """Returns JSON with a hash over everything in it."""
    return json.dumps(value | {SEAL: seal_of(value)}, indent=2) + "\n"


def read_sealed(path: Path) -> dict[str, Any]:
    """Reads a file that `sealed` wrote.

    # Errors
    `InputError` if it is damaged.
    """
    return unsealed(path, parsed(path))


def unsealed(path: Path, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or SEAL not in value:
        raise refused(path, f"not a {path.stem} of ours: it has no '{SEAL}' over what is in it")
    if value.pop(SEAL) != seal_of(value):
        raise refused(path, f"damaged: its '{SEAL}' is not that of what is in it")
    return value


def seal_of(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()


def parsed(path: Path) -> Any:
    """Reads a JSON file."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise refused(path, f"cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise refused(path, f"damaged: {error}") from error


def refused(path: Path, problem: str) -> InputError:
    """Returns the error for a file of a run directory."""
    error = InputError(f"{path}: {problem}")
    error.place = error.file = str(path)
    error.problem = problem
    return error


def without_seed(label: str, params: dict[str, Any]) -> str:
    """Returns the label that runs share which differ only in their seed."""
    return label.removesuffix(f".seed={params['seed']}") if "seed" in params else label
