"""A new crate with a scheme of your own, from a template."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from backwater._core import InputError
from backwater.common import disk
from backwater.mine.building import NAMED, engine_or_none
from backwater.mine.kinds import KINDS

TEMPLATES = Path(__file__).parent / "templates"
SCHEME = Path("src") / "lib.rs"
PRESET = "preset.toml"
COMPARISON = "compare.toml"
COMPARE = """\
# Compares {name} with BFC and DCTCP: `backwater run {place}`.

[topology]
kind = "leaf-spine"
leaves = 8
spines = 8
hosts_per_leaf = 16
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"

[[workload]]
kind = "background"
sizes = {{ table = "google_rpc" }}
load = 0.6

[[workload]]
kind = "incast"
degree = 100
aggregate = "2 MB"
load = 0.05

[run]
duration = "1 ms"

[seeds]
count = 3

[[variant]]
name = "{name}"
scheme = "mine/{name}"

[[variant]]
name = "BFC"
scheme = "bfc"

[[variant]]
name = "DCTCP"
scheme = "dctcp"
"""

CARGO = """\
# For your editor. `backwater build-scheme` compiles src/lib.rs without this file.
[package]
name = "{name}"
version = "0.1.0"
edition = "2024"
publish = false

[dependencies]
backwater = {{ package = "backwater-scheme", path = "{engine}/crates/scheme" }}
schemars = "1"
serde = {{ version = "1", features = ["derive"] }}

[workspace]
"""


@dataclass(frozen=True)
class Started:
    """A new crate."""

    path: Path
    name: str

    @property
    def file(self) -> Path:
        """The file to write."""
        return self.path / SCHEME

    @property
    def comparison(self) -> Path:
        """A scenario that compares the scheme with others."""
        return self.path / COMPARISON


def start(path: Path, kind: str, *, force: bool = False) -> Started:
    """Writes a crate into the directory `path`. The scheme is called by its last part.

    # Errors
    `InputError` if the name is no name of a scheme, if the kind is unknown, or if the directory exists.
    """
    name = path.resolve().name
    if not re.fullmatch(NAMED, name):
        raise InputError(
            f'{path}: "{name}" cannot be the name of a scheme: expected a small letter, and then small letters, '
            "digits and _"
        )
    if kind not in KINDS:
        raise InputError(f"--kind {kind}: expected {', '.join(KINDS)}")
    if path.exists() and not force:
        raise InputError(f"{path}: exists; name another directory, or replace its files with --force")
    template = TEMPLATES / f"my_{kind}"
    engine = engine_or_none()
    files = {SCHEME: named(template / SCHEME, kind, name), Path(PRESET): named(template / PRESET, kind, name)}
    files[Path(COMPARISON)] = COMPARE.format(name=name, place=path / COMPARISON)
    files[Path("Cargo.toml")] = CARGO.format(name=name, engine=engine or "BACKWATER")
    with disk.errors(path):
        for file, text in files.items():
            (path / file).parent.mkdir(parents=True, exist_ok=True)
            disk.write_whole(path / file, text)
    return Started(path, name)


def named(file: Path, kind: str, name: str) -> str:
    """Returns the text of a template with the scheme's name in it."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    text = file.read_text(encoding="utf-8")
    return text.replace(f"My{kind.capitalize()}", camel).replace(f"my_{kind}", name)
