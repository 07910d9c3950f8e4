"""How commands read their arguments and write their help: `-h` everywhere, options in panels, examples at the end."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from backwater._core import InputError
from backwater.cli import everywhere, later
from backwater.cli.catalogue import COMMANDS, MOVED, Entry, Family

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
EXAMPLES = "Examples:"
"""The line of a docstring after which its examples stand, each with `$ ` or as a comment."""
EVERYWHERE = "Options of every command"


class Command(TyperCommand):
    """One command. Its help is its function's docstring: sentences, and after `Examples:` lines to type."""

    def get_params(self, ctx: Any) -> list[Any]:
        return with_common(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        later.load_all()
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [param for param in self.params if isinstance(param, TyperArgument)]
        return [self.options_metavar or "", *map(usage, arguments)]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        sentences, _ = parts(self.help or "")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(sentences)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_params(self.get_params(ctx), formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if lines := parts(self.help or "")[1]:
            formatter.write_paragraph()
            formatter.write(f"{EXAMPLES}\n" + "".join(f"  {line}".rstrip() + "\n" for line in lines))


class Group(TyperGroup):
    """A command with commands, of which it imports those that are used."""

    entries: Mapping[str, Entry | Family] = COMMANDS
    only_names = False
    """Whether commands are asked for their names and first sentences alone, as in the list of all."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in self.entries if " " not in name]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        if isinstance(entry, Family):
            family = Group(
                name=cmd_name, help=entry.line, no_args_is_help=True, context_settings=SETTINGS, rich_markup_mode=None
            )
            family.entries = entry.entries
            return family
        if self.only_names:
            return Command(cmd_name, help=entry.line)
        return load(cmd_name, entry)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.entries is COMMANDS:
            refuse_moved(args)
        if (name := " ".join(args[:2])) in self.entries:  # `lab shell` is a command beside `lab SCENARIO`.
            args = [name, *args[2:]]
        self.commands = dict.fromkeys(self.entries, self)  # The names that a mistyped one may have meant.
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        self.only_names = True
        return super().shell_complete(ctx, incomplete)

    def get_params(self, ctx: Any) -> list[Any]:
        return with_common(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self.entries.items():
            panels.setdefault(entry.panel, []).append((name, entry.line))
        width = max(map(len, self.entries))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(width), line) for name, line in rows])
        write_params(self.get_params(ctx), formatter)


def refuse_moved(words: list[str]) -> None:
    """Refuses commands and options that had another name in an earlier version.

    # Errors
    `InputError` that names the new form.
    """
    for old, new in MOVED.items():
        *command, last = old.split()
        given = [word.partition("=")[0] for word in words]
        called = given[: len(command)] == command and last in given[len(command) :]
        if called if command and last.startswith("-") else given[: len(command) + 1] == [*command, last]:
            raise InputError(f"{old}: this is `backwater {new}` now")
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word == "--json" and (after == "-" or after.endswith(".json")):
            raise InputError(
                f"--json {after}: --json prints to standard output now: `--json > {after.strip('-') or 'FILE'}`"
            )


@cache
def load(name: str, entry: Entry) -> Any:
    """Makes a command from its function's signature, once in a process."""
    module, _, function = entry.home.partition(":")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    found = getattr(import_module(f"backwater.cli.{module}"), function)
    app.command(name, cls=Command, context_settings=SETTINGS)(found)
    return typer.main.get_command(app)


def parts(help_text: str) -> tuple[str, list[str]]:
    """Returns the sentences of a docstring, and the lines of its examples."""
    sentences, _, examples = inspect.cleandoc(help_text).partition(EXAMPLES)
    return sentences.strip(), inspect.cleandoc(examples).splitlines() if examples.strip() else []


# Parameters.


def with_common(params: list[Any]) -> list[Any]:
    """Adds the options of every command before `--help`."""
    *own, last = params
    last.rich_help_panel = EVERYWHERE
    last.help = "Print this help and exit."
    return [*own, *everywhere.options(EVERYWHERE), last]


def usage(argument: TyperArgument) -> str:
    name = f"{argument.metavar or str(argument.name).upper()}{'...' if argument.nargs != 1 else ''}"
    return name if argument.required else f"[{name}]"


def write_params(params: Iterable[Any], formatter: Any) -> None:
    """Writes the arguments, then the options by panel in their order. Options without a panel come first."""
    panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for param in params:
        if not param.hidden:
            panel = "Arguments" if isinstance(param, TyperArgument) else param.rich_help_panel or "Options"
            panels.setdefault(panel, []).append((name_of(param), told(param)))
    panels[EVERYWHERE] = panels.pop(EVERYWHERE)
    for panel, rows in panels.items():
        if rows:
            with formatter.section(panel):
                formatter.write_dl(rows, col_max=24)


def name_of(param: Any) -> str:
    """Returns the names of an option, such as `-o, --out DIR`."""
    if isinstance(param, TyperArgument):
        return usage(param)
    names = ", ".join(sorted(param.opts, key=len))
    return names if param.is_flag else f"{names} {param.metavar or param.name.upper()}"


def told(param: Any) -> str:
    """Returns the help of an option, and its default if that is a value."""
    text = re.sub(r"\s+", " ", param.help or "")
    if isinstance(param, TyperOption) and param.required:
        return f"{text} [required]"
    shown = param.default
    if param.show_default and not (shown is None or isinstance(shown, bool | list | tuple) or callable(shown)):
        return f"{text} [default: {shown}]"
    return text
