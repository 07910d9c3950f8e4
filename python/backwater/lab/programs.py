"""Programs for the hosts of a lab: as options name them, and as the file beside an experiment does."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from backwater._core import InputError
from backwater.common import suggest
from backwater.lab.orders import Order, ProgramOrder
from backwater.scenario.experiments import PROGRAMS

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

OBEYED: dict[str, Literal["bfc", "flowsail"] | None] = {
    "bfc": "bfc",
    "flowsail": "flowsail",
    "per-flow": "flowsail",
    "none": None,
}
"""Backpressures whose pauses NICs may ignore, and the table of each that says so; None if there are no pauses."""
KINDS = ("serve", "exec")
"""Its keys, which are the options' names."""


@dataclass(frozen=True)
class Program:
    """A program to start on a host."""

    host: str
    argv: list[str]

    def to_json(self) -> ProgramOrder:
        return {"host": self.host, "argv": self.argv}


@dataclass(frozen=True)
class Programs:
    """Programs of a run: those that serve, which start first and end with the lab, and the others."""

    servers: list[Program] = field(default_factory=list)
    others: list[Program] = field(default_factory=list)

    def to_json(self) -> Order:
        return {
            "servers": [one.to_json() for one in self.servers],
            "programs": [one.to_json() for one in self.others],
        }


def read(where: str, serves: Sequence[str], execs: Sequence[str], hosts: list[str]) -> Programs:
    """Reads `HOST COMMAND` of programs that serve, and of others. `where` begins each message, such as `--`.

    # Errors
    `InputError` for a host that is not there, or no command.
    """
    servers, others = (
        [one for text in texts for one in parse(f"{where}{kind}", text, hosts)]
        for kind, texts in zip(KINDS, (serves, execs), strict=True)
    )
    return Programs(servers, others)


def parse(place: str, text: str, hosts: list[str]) -> list[Program]:
    """Reads `HOST COMMAND` or `FIRST..LAST COMMAND`: a program for each of these hosts."""
    named, _, command = text.strip().partition(" ")
    ends = named.split("..")
    for host in ends:
        if host not in hosts:
            raise InputError(f"{place} {text!r}: {host!r} is no host: {suggest.expected(host, hosts)}")
    numbers = [hosts.index(host) for host in ends]
    if len(numbers) > 2 or numbers != sorted(numbers):
        raise InputError(f"{place} {text!r}: {named}: expected FIRST..LAST, such as {hosts[0]}..{hosts[-1]}")
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{place} {text!r}: {str(error).lower()}") from None
    if not argv:
        raise InputError(f"{place} {text!r}: a command is missing after the host")
    return [Program(host, argv) for host in hosts[numbers[0] : numbers[-1] + 1]]


def needs_dctcp(scenario: Scenario) -> bool:
    """Whether the hosts of a run need DCTCP of the kernel."""
    return bool(scenario["host"]["transport"] == "dctcp")


def deafen(scenario: Scenario) -> None:
    """Lets the NICs of hosts ignore pauses, in a resolved scenario.

    # Errors
    `InputError` if its switches pause in a way that NICs cannot ignore.
    """
    pausing = scenario["switch"]["backpressure"]
    if pausing not in OBEYED:
        raise InputError(
            f'--obey none: every NIC obeys switch.backpressure = "{pausing}": expected one of {", ".join(OBEYED)}'
        )
    if (table := OBEYED[pausing]) is not None:
        scenario["switch"][table]["nic_obeys"] = False


def lacking(scenario: Scenario, *, dctcp: bool) -> str | None:
    """Says what programs need for a run and this lab does not give; None if it gives all."""
    if needs_dctcp(scenario) and not dctcp:
        return "its hosts need DCTCP; add --dctcp, as root"
    return None


def beside(scenario: Path) -> Path | None:
    """Returns the file with the programs of a scenario, if there is one."""
    file = scenario.with_suffix(PROGRAMS)
    return file if file.is_file() else None


def from_file(file: Path, hosts: list[str]) -> Programs:
    """Reads such a file: `serve` and `exec`, lists of texts as the options take them.

    # Errors
    `InputError` that names the file, the key and what was allowed.
    """
    try:
        keys = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: {error}") from None
    for key, texts in keys.items():
        if key not in KINDS:
            raise InputError(f"{file}: {key}: {suggest.expected(key, list(KINDS))}")
        if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
            raise InputError(f"{file}: {key} = {texts!r}: expected a list of texts, each a host and a command")
    found = read(f"{file}: ", keys.get("serve", []), keys.get("exec", []), hosts)
    if not found.others:
        raise InputError(f'{file}: expected exec = ["HOST COMMAND", ...] with one program at least')
    return found
