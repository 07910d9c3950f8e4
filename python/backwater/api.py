"""Experiments from Python: load, run, look.

>>> results = Experiment("fig9.toml", scale="quick", seed=7, **{"switch.queues": 128}).run()
>>> results.table("flows")
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
import time
import weakref
from pathlib import Path
from typing import Any

from backwater import _core, results, sweep
from backwater.judge import claims
from backwater.results import FORMAT, MANIFEST, Writer, digest_of, disk_errors
from backwater.show import report


class Results(results.Results):
    """The runs of one experiment, read from its directory, and able to draw its page."""

    def report(self) -> Path:
        """Writes `report.html` and the figures again; returns the page."""
        with disk_errors(self.path):
            return report.write([self], self.path)


class Experiment:
    """A scenario file with its changes, checked: one or more runs.

    `sets` holds dotted keys as in `--set`, such as `{"switch.queues": 128}`; keyword arguments do the same.

    # Errors
    `InputError` naming file, place, value and what was allowed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        seed: int | None = None,
        scale: str | None = None,
        sets: dict[str, Any] | None = None,
        **more_sets: Any,
    ) -> None:
        changes = {**({} if seed is None else {"seed": seed}), **(sets or {}), **more_sets}
        self._open(Path(path), [f"{key}={toml_value(value)}" for key, value in changes.items()], scale)

    @classmethod
    def from_arguments(cls, path: Path, sets: list[str], scale: str | None) -> Experiment:
        """As the command line gives it, `sets` as `KEY=VALUE`."""
        experiment = cls.__new__(cls)
        experiment._open(path, sets, scale)
        return experiment

    def _open(self, path: Path, sets: list[str], scale: str | None) -> None:
        self.path = path
        self.sets = sets
        self.invocation = ["run", str(path)]
        self.plan: dict[str, Any] = json.loads(_core.load(str(path), sets, scale))

    def __repr__(self) -> str:
        return f"Experiment({str(self.path)!r}, runs={self.labels})"

    @property
    def name(self) -> str:
        return self.plan["name"] or self.path.stem

    @property
    def scale(self) -> str:
        return self.plan["scale"]

    @property
    def labels(self) -> list[str]:
        return [run["label"] for run in self.plan["runs"]]

    def command(self, out: Path | None) -> str:
        """What to type to run it again."""
        words = ["backwater", *self.invocation]
        for change in self.sets:
            words += ["--set", change]
        if self.scale:
            words += ["--scale", self.scale]
        if out is not None:
            words += ["--out", str(out)]
        return shlex.join(words)

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        threads: int | None = None,
        force: bool = False,
        watch: sweep.Watch | None = None,
    ) -> Results:
        """Runs it and writes its directory; without `out`, into a temporary one that lives as long as the results.

        Interrupted, it keeps what was done: then `Results.complete` is False.

        # Errors
        `InputError` when `out` exists or cannot be written.
        """
        temporary = None if out is not None else tempfile.mkdtemp(prefix="backwater-")
        out = Path(out) if out is not None else Path(temporary or "") / self.path.stem
        jobs = sweep.jobs_of(self.plan)
        writer = Writer(out, force=force)
        began = time.perf_counter()
        try:
            failure: BaseException | None = None
            try:
                complete = sweep.execute(jobs, writer, threads, watch or sweep.Watch())
            except (_core.InputError, sweep.SimulatorError) as error:
                complete, failure = False, error
            done = [job for job in jobs if job.state == "done"]
            if failure is not None and not done:
                raise failure
            self._describe(writer, done, complete, None if temporary else out, time.perf_counter() - began)
            try:
                self._judge_and_draw(writer)
            except Exception as error:  # No picture is worth the runs: they are kept first.
                failure = failure or error
            writer.commit()
        except BaseException:
            writer.discard()
            raise
        if failure is not None:
            kept = f"{len(done)} of {len(jobs)} runs were finished and are kept in {out}"
            kind = _core.InputError if isinstance(failure, _core.InputError) else sweep.SimulatorError
            raise kind(f"{failure}\n{kept}") from failure
        written = Results(out)
        if temporary is not None:
            weakref.finalize(written, shutil.rmtree, temporary, ignore_errors=True)
        return written

    def _describe(self, writer: Writer, done: list[sweep.Job], complete: bool, out: Path | None, wall_s: float) -> None:
        """Everything in a run directory that is not a run."""
        hops = sum(job.summary["packet_hops"] for job in done)
        writer.write_json(
            "timing.json",
            {
                "wall_s": round(wall_s, 4),
                "packet_hops": hops,
                "packet_hops_per_s": round(hops / wall_s) if wall_s > 0 else None,
                "threads": max((job.threads for job in done), default=0),
                "processors": os.cpu_count(),
                "peak_rss_mb": sweep.peak_rss_mb(),
                "runs": [job.timing() for job in done],
            },
        )
        writer.write_json(
            MANIFEST,
            {
                "format": FORMAT,
                "name": self.name,
                "description": self.plan["description"],
                "version": _core.version,
                "seed": self.plan["runs"][0]["scenario"]["seed"],
                "scale": self.scale,
                "digest": digest_of([job.digest for job in done]),
                "command": self.command(out),
                "complete": complete,
                "figure": self.plan["figure"],
                "runs": [job.entry() for job in done],
            },
        )

    def _judge_and_draw(self, writer: Writer) -> None:
        """Claims, figures and the page."""
        written = Results(writer.path)
        if self.plan["expect"]:
            writer.write_json("claims.json", claims.evaluate(self.plan["expect"], written))
        with disk_errors(writer.out):
            report.write([written], writer.path)


def toml_value(value: Any) -> str:
    """A value as `--set` reads it; JSON's strings, numbers, booleans and lists are TOML's."""
    return json.dumps(value)
