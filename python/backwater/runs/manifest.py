"""The files that describe a run directory. Manifest and timing carry a seal: a hash of everything else in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Required, TypedDict

import msgspec

from backwater.common.json_files import fitting, indented, parsed, refused
from backwater.scenario.plan import Components, Expectation, Figure, Params

FORMAT = 2
UNSEALED = 1
"""The previous format, whose manifests have no seal."""
MANIFEST = "manifest.json"
SEAL = "sha256"


class Entry(msgspec.Struct, kw_only=True):
    """A run in a manifest. What older versions did not write has a default."""

    label: str
    scheme: str
    params: Params
    digest: str
    """Digest of all results of the run."""
    digests: dict[str, str] = {}
    """Digest of each table."""
    dir: str
    complete: bool
    ending: str | None = None
    cut_short: bool = False
    """Whether it was stopped before its end."""
    files: dict[str, str]
    """SHA-256 of each file."""


class Manifest(msgspec.Struct, kw_only=True):
    """What was run, and what came out. What older versions did not write has a default."""

    format: int
    name: str
    description: str = ""
    version: str
    commit: str | None = None
    build: str | None = None
    seed: int | None = None
    scale: str
    seeds: dict[str, int | str] | None = None
    without: dict[str, str] | None = None
    configured: dict[str, str] | None = None
    components: Components | None = None
    digest: str
    command: str
    complete: bool
    interrupted: bool | None = None
    figure: Figure | None = None
    expect: list[Expectation] | None = None
    runs: list[Entry]


class RunTiming(TypedDict, total=False):
    """How long a run took. Calls of a control are of one in Python."""

    label: Required[str]
    wall_s: Required[float]
    threads: Required[int]
    packet_hops: int
    packet_hops_per_s: float | None
    control_calls: int
    control_s: float


class Timing(TypedDict, total=False):
    """Wall-clock time and memory of an experiment. Without the file there are no runs."""

    wall_s: float
    packet_hops: int
    packet_hops_per_s: float | None
    threads: int
    processors: int
    peak_rss_mb: float
    runs: Required[list[RunTiming]]


def read_manifest(path: Path) -> Manifest:
    """Reads a manifest.

    # Errors
    `InputError` if it is damaged, has another format, or is no manifest.
    """
    manifest = unwrapped(path)
    read = fitting(path, manifest, Manifest)
    for i, entry in enumerate(read.runs):
        if Path(entry.dir).name != entry.dir:
            raise refused(path, f"not a manifest of ours: runs[{i}].dir = {entry.dir!r}: expected a plain name")
    return read


def relisted(path: Path, files: Mapping[str, dict[str, str]]) -> str:
    """Returns the text of a manifest in which some runs have other files, by label. Everything else is as it is."""
    manifest = unwrapped(path)
    for entry in manifest["runs"]:
        entry["files"] = files.get(entry["label"], entry["files"])
    return indented(manifest) if manifest["format"] == UNSEALED else sealed(manifest)


def unwrapped(path: Path) -> Any:
    """Reads a manifest of a known format without its seal."""
    manifest = parsed(path)
    known = isinstance(manifest, dict) and manifest.get("format")
    if known == UNSEALED and type(known) is int:
        return manifest
    if isinstance(manifest, dict) and "format" in manifest and (type(known) is not int or known != FORMAT):
        raise refused(path, f"format {known!r}: expected {UNSEALED} or {FORMAT}")
    return unsealed(path, manifest)


def read_timing(path: Path, *, seal: bool) -> Timing:
    """Reads `timing.json`, with a seal or without.

    # Errors
    `InputError` if it is damaged.
    """
    timing: Timing = read_sealed(path) if seal else parsed(path)
    fitting(path, timing, Timing)
    return timing


def sealed(value: object) -> str:
    """Returns JSON with a hash over everything in it."""
    plain = msgspec.to_builtins(value)
    return indented(plain | {SEAL: seal_of(plain)})


def read_sealed(path: Path) -> Any:
    """Reads a file that `sealed` wrote.

    # Errors
    `InputError` if it is damaged.
    """
    return unsealed(path, parsed(path))


def unsealed(path: Path, value: Any) -> Any:
    if not isinstance(value, dict) or SEAL not in value:
        raise refused(path, f"not a {path.stem} of ours: it has no '{SEAL}' over what is in it")
    if value.pop(SEAL) != seal_of(value):
        raise refused(path, f"damaged: its '{SEAL}' is not that of what is in it")
    return value


def seal_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()


def variant_of(params: Params, other: str) -> str:
    """Returns the variant of a run, or another name if there are no variants."""
    return str(params.get("variant", other))


def without_seed(label: str, params: Params) -> str:
    """Returns the label that runs share which differ only in their seed."""
    return label.removesuffix(f".seed={params['seed']}") if "seed" in params else label
