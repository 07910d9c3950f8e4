"""Reads run directories. A file is parsed only after its hash is checked.

OUT/manifest.json        version, seed, scale, digest, command, expectations, and the runs with hashes of their files
OUT/<label>/             one per run: scenario.json (resolved), summary.json, one Parquet file per table, and stored
                         explanations (`kept`)
OUT/timing.json          wall clock and memory, which the digest does not cover
OUT/claims.json          the judged claims
OUT/summary.parquet      a row for each run (`summaries`)
OUT/report.html figures/

Manifest and timing carry a seal: a hash of everything else in them. Claims, summaries, report and figures are made
from the other files.
"""

from __future__ import annotations

import hashlib
import os
from functools import cached_property
from pathlib import Path

from backwater._core import InputError
from backwater.common.json_files import fitting, parsed
from backwater.runs.joined import Runs
from backwater.runs.manifest import MANIFEST, UNSEALED, Timing, read_manifest, read_timing
from backwater.runs.run import Run
from backwater.runs.verdicts import Claim

TIMING = "timing.json"
CLAIMS = "claims.json"
SUMMARY = "summary.parquet"


class RunDirectory(Runs):
    """The runs of one experiment, read from its directory `path`. `backwater.Results` judges and draws them as well."""

    keeper: object = None
    """Keeps a temporary directory alive, as long as this or any of the runs."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise InputError(f"{self.path}: no such run directory")
        if not (self.path / MANIFEST).is_file():
            raise InputError(f"{self.path}: not a run directory: it has no {MANIFEST}")
        self._read()

    def _read(self) -> None:
        self.manifest = read_manifest(self.path / MANIFEST)
        self.__dict__.pop("coordinates", None)
        self.runs = [Run(entry.label, self.path / entry.dir, entry, keeps=self.keeper) for entry in self.manifest.runs]

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.manifest.name

    @property
    def digest(self) -> str:
        """Digest of all runs together."""
        return self.manifest.digest

    @property
    def complete(self) -> bool:
        """Whether all runs are complete."""
        return self.manifest.complete

    @property
    def interrupted(self) -> bool:
        """Whether the experiment was stopped before all its runs had ended."""
        interrupted = self.manifest.interrupted
        return not self.complete if interrupted is None else interrupted

    @property
    def judged(self) -> list[Claim]:
        """Claims as they were judged when `claims.json` was written. Empty if there is no such file."""
        path = self.path / CLAIMS
        if not path.exists():
            return []
        rows: list[Claim] = parsed(path)
        fitting(path, rows, list[Claim], "claims")
        return rows

    @cached_property
    def timing(self) -> Timing:
        """Wall-clock time and memory of the runs, as in `timing.json`."""
        path = self.path / TIMING
        if not path.exists():
            return {"runs": []}
        return read_timing(path, seal=self.manifest.format != UNSEALED)

    def verify(self) -> None:
        """Compares every file of every run with its hash in the manifest.

        # Errors
        `InputError` that names the first missing or changed file.
        """
        for run in self.runs:
            run.verify()


def next_name(place: Path) -> Path:
    """Returns the next name: `fig9.2` for `fig9`, `fig9.3` for `fig9.2`."""
    stem, dot, n = place.name.rpartition(".")
    return place.with_name(f"{stem}.{int(n) + 1}" if dot and n.isascii() and n.isdigit() else f"{place.name}.2")


def digest_of(digests: list[str]) -> str:
    """Returns the digest of an experiment: that of its only run, or SHA-256 over those of its runs in order."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
