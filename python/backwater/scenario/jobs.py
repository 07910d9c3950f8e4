"""Scenarios for jobs: a file of a job, a network that is large enough, and schemes to compare."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from backwater import _core
from backwater._core import InputError
from backwater.common import disk, suggest
from backwater.common.quantities import TIMES, in_largest, size, some

PER_LEAF = 16
"""Most hosts below a switch of a network that an import makes."""


class Facts(TypedDict):
    """What a file of a job holds."""

    format: str
    ranks: int
    operations: int
    messages: int
    bytes: int
    compute_ps: int
    phases: list[str]


class Tier(TypedDict):
    """A tier of a fat tree of htsim."""

    rate_bps: int
    radix_down: int
    bundle: int
    link_latency_ps: int
    switch_latency_ps: int
    queue_down_bytes: int | None
    queue_up_bytes: int | None


class Tree(TypedDict):
    """A fat tree of htsim: its switches, and its tiers from the hosts upwards."""

    hosts: int
    pods: int
    tors: int
    aggregation: int
    cores: int
    tiers: list[Tier]


@dataclass
class Job:
    """A job to import, and how."""

    file: Path
    format: str
    schemes: list[str]
    iterations: int = 1
    ranks_per_host: int = 1
    tree: Path | None = None
    start_unit: str | None = None
    signal: int | None = None
    model: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Imported:
    """The text of a scenario, and what it was made from."""

    text: str
    facts: Facts
    hosts: int
    notes: list[str]


def read(job: Job, out: Path) -> Imported:
    """Reads a job's file, and makes the text of a scenario that names it.

    # Errors
    `InputError` where the file, a scheme or the network is not valid.
    """
    known = [one["name"] for one in json.loads(_core.schemes())]
    for scheme in job.schemes:
        if scheme not in known:
            raise InputError(f"--scheme {scheme}: unknown scheme; {suggest.expected(scheme, known)}")
    asked = {"format": job.format, "iterations": job.iterations}
    asked |= {"start_unit": job.start_unit} if job.start_unit else {}
    asked |= {"signal": job.signal} if job.signal is not None else {}
    asked |= {"model": job.model} if job.model else {}
    facts: Facts = json.loads(_core.job_facts(job.file, json.dumps(asked)))
    hosts = -(-facts["ranks"] // job.ranks_per_host)
    notes: list[str] = []
    if job.tree is None:
        topology, there = network(hosts), hosts
        notes.append("the network is one that we chose: edit [topology]")
    else:
        tree: Tree = json.loads(_core.htsim_tree(job.tree))
        topology, there = fat_tree(tree, job.tree, notes), tree["hosts"]
    if there < hosts:
        raise InputError(f"{job.tree}: has {there} hosts; the job needs {hosts}")
    sections = [head(job, out, facts), topology, workload(job, out), run(), variants(job.schemes)]
    return Imported("\n\n".join(sections) + "\n", facts, there, notes)


def write(imported: Imported, out: Path, *, force: bool) -> None:
    """Writes the scenario, once the core has accepted it.

    # Errors
    `InputError` where the file exists or cannot be written, or a run would refuse the scenario.
    """
    if out.exists() and not force:
        raise InputError(f"{out}: exists; name another file with -o, or replace it with --force")
    _core.load_text(imported.text, str(out.parent), out.name, [], None)
    with disk.errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        disk.write_whole(out, imported.text)


def summary(imported: Imported, out: Path) -> list[str]:
    """What was imported, in lines for the terminal."""
    facts = imported.facts
    moved = f"{some(facts['messages'], 'message')} of {size(facts['bytes'])} in all"
    what = f"{some(facts['ranks'], 'rank')}, {some(facts['operations'], 'operation')}, {moved}"
    lines = [f"{out}: {what}, on {some(imported.hosts, 'host')}"]
    lines += [f"Note: {note}" for note in imported.notes]
    return [*lines, f"Next: `backwater check {out}` says what a run takes; `backwater run {out}` runs it."]


def head(job: Job, out: Path, facts: Facts) -> str:
    described = f"{job.file.name}: {some(facts['ranks'], 'rank')}, {some(facts['messages'], 'message')}."
    return f'name = "{out.stem}"\ndescription = {json.dumps(described)}\nscheme = "{job.schemes[0]}"'


def network(hosts: int) -> str:
    """A network of 100 Gb/s without oversubscription."""
    if hosts <= PER_LEAF:
        return f'[topology]\nkind = "single-switch"\nhosts = {max(hosts, 2)}\nrate = "100 Gbps"\ndelay = "1 us"'
    return (
        f'[topology]\nkind = "leaf-spine"\nleaves = {-(-hosts // PER_LEAF)}\nspines = {PER_LEAF}\n'
        f'hosts_per_leaf = {PER_LEAF}\nhost_rate = "100 Gbps"\ncore_rate = "100 Gbps"\n'
        'host_delay = "1 us"\ncore_delay = "1 us"'
    )


def fat_tree(tree: Tree, file: Path, notes: list[str]) -> str:
    """The network of a fat tree of htsim.

    # Errors
    `InputError` for parallel links, and for tiers of switches that differ in rate or latency.
    """
    tiers = tree["tiers"]
    if any(tier["bundle"] != 1 for tier in tiers):
        raise InputError(f"{file}: Bundle: a network here has one link between two nodes; expected 1")
    latency = tiers[0]["switch_latency_ps"]
    if any(tier["switch_latency_ps"] != latency for tier in tiers) or latency % 2:
        raise InputError(f"{file}: Switch_Latency_ns: expected the same of all tiers")
    core = tiers[1]
    if any(
        (tier["rate_bps"], tier["link_latency_ps"]) != (core["rate_bps"], core["link_latency_ps"]) for tier in tiers[2:]
    ):
        raise InputError(f"{file}: tiers 1 and 2 differ in speed or latency; expected the same")
    if latency:
        notes.append("the latency of switches is part of that of links, half of it at each")
    if any(tier["queue_down_bytes"] or tier["queue_up_bytes"] for tier in tiers):
        notes.append("sizes of queues are left out: switches here share their buffer (switch.buffer)")
    links = (
        f'host_rate = "{rate(tiers[0])}"\ncore_rate = "{rate(core)}"\n'
        f'host_delay = "{time(tiers[0]["link_latency_ps"] + latency // 2)}"\n'
        f'core_delay = "{time(core["link_latency_ps"] + latency)}"'
    )
    if len(tiers) == 2:
        counts = f'kind = "leaf-spine"\nleaves = {tree["tors"]}\nspines = {tree["aggregation"]}'
        return f"[topology]\n{counts}\nhosts_per_leaf = {tiers[0]['radix_down']}\n{links}"
    counts = (
        f'kind = "fat-tree"\npods = {tree["pods"]}\ntors_per_pod = {tree["tors"]}\n'
        f"aggs_per_pod = {tree['aggregation']}\ncores = {tree['cores']}"
    )
    return f"[topology]\n{counts}\nhosts_per_tor = {tiers[0]['radix_down']}\n{links}"


def rate(tier: Tier) -> str:
    """Its rate; those of htsim are whole numbers of Gb/s."""
    return f"{tier['rate_bps'] // 10**9} Gbps"


def time(picoseconds: int) -> str:
    number, unit = in_largest(picoseconds, TIMES)
    return f"{number} {unit}"


def workload(job: Job, out: Path) -> str:
    file = Path(os.path.relpath(job.file, out.parent)).as_posix()
    lines = ["[[workload]]", 'kind = "job"', f"file = {json.dumps(file)}", f'format = "{job.format}"']
    lines += [f'start_unit = "{job.start_unit}"'] if job.start_unit else []
    lines += [f'signal = "{job.signal} B"'] if job.signal is not None else []
    lines += [f"iterations = {job.iterations}"] if job.iterations != 1 else []
    lines += [f"ranks_per_host = {job.ranks_per_host}"] if job.ranks_per_host != 1 else []
    if job.model:
        lines += ["[workload.model]", *(f"{key} = {toml(value)}" for key, value in job.model.items())]
    return "\n".join(lines)


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def run() -> str:
    """The job runs to its end, for up to ten seconds of the network."""
    return '[run]\nduration = "1 ms"\nwarmup = "0 s"\ndrain = 10000.0'


def variants(schemes: list[str]) -> str:
    if len(schemes) == 1:
        return "# Add [[variant]] tables to compare schemes."
    return "\n\n".join(f'[[variant]]\nname = "{scheme}"\nscheme = "{scheme}"' for scheme in schemes)
