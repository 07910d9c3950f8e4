"""Reference page of the command line, from its commands, arguments and options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from backwater import cli
from backwater.cli.command import parts
from cells import cell

HEAD = """# Command line

This page is generated from the commands. `backwater COMMAND --help` prints the same.

The exit code is 0 for success and 2 for bad input. It is 1 if a claim failed, flows did not finish, or a check found
something. See [what a run leaves behind](../concepts/run-directory.md#exit-codes).
"""


def pages() -> dict[str, str]:
    lines = [
        line
        for name, command in cli.tree()
        if not hasattr(command, "entries")
        for line in described(command, f"backwater {name}")
    ]
    return {"reference/commands.md": HEAD + "\n" + "\n".join(lines)}


def described(command: Any, name: str) -> Iterator[str]:
    """A command: its help, how to call it, its arguments and options."""
    shown = [one for one in command.params if not one.hidden]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    words = "".join(f" {called(one)}" if one.required else f" [{called(one)}]" for one in arguments)
    sentences, examples = parts(command.help or "")
    yield from (f"## `{name}`", "", sentences, "", "```text", f"{name}{words} [OPTIONS]", "```", "")
    if examples:
        yield from ("Examples:", "", "```console", *(f"$ {line}" for line in examples), "```", "")
    if shown:
        yield from ("| argument or option | what |", "|---|---|")
        for one in shown:
            flag = called(one) if one in arguments else " ".join([", ".join(one.opts), one.metavar or ""]).strip()
            yield f"| `{cell(flag)}` | {cell(one.help or '')} |"
        yield ""


def called(argument: Any) -> str:
    return (argument.metavar or argument.name.upper()) + ("..." if argument.nargs == -1 else "")
