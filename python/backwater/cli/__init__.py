"""The `backwater` command: its parts, and what becomes of everything that goes wrong in it.

catalogue     every command by name, with its module: one file for each command
command       how commands read arguments and write help
everywhere    options of every command               options     options of several commands
places        where experiments are written          experiment  one experiment from its runs to its report
printing      results as tables                      exits       exit codes, messages and signals
later         imports that wait until a command works

For a reference, walk `tree()`: each command has `help` (split by `command.parts`) and `params` with `opts`, `metavar`,
`help`, `required`, `default` and `rich_help_panel`.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any

import typer

from backwater import _core
from backwater.cli.catalogue import COMMANDS
from backwater.cli.command import SETTINGS, Group
from backwater.cli.exits import BAD_INPUT, BUG, fail
from backwater.common import signals

app = typer.Typer(
    cls=Group,
    help="Packet-level simulator of flow control in datacenter networks.",
    no_args_is_help=True,
    context_settings=SETTINGS,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def show_version(wanted: bool) -> None:
    if wanted:
        from backwater.common import versions

        commit = versions.commit()
        print(f"backwater {_core.version}" + (f" ({commit})" if commit else ""))
        raise typer.Exit


@app.callback()
def backwater(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and commit.")
    ] = False,
) -> None:
    """Packet-level simulator of flow control in datacenter networks."""


@cache
def root() -> Any:
    """The command `backwater`, which has all others. It is made once in a process."""
    return typer.main.get_command(app)


def tree() -> Iterator[tuple[str, Any]]:
    """Yields every command with the words that call it, such as `plan bcc`. A family comes before its commands."""
    for name in COMMANDS:
        command = root().get_command(None, name)
        yield name, command
        if isinstance(command, Group):
            for inner in command.entries:
                yield f"{name} {inner}", command.get_command(None, inner)


def main() -> None:
    """Runs the command line. Any failure becomes one message on stderr and an exit code."""
    try:
        sys.argv[1:] = texts(sys.argv[1:])
        sys.exit(root()(standalone_mode=False, prog_name="backwater") or 0)
    except _core.InputError as error:
        fail(f"error: {error}", BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        fail(f"{signals.name()}: nothing was finished", signals.code())
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except UnicodeEncodeError as error:  # A path in letters that the locale's encoding lacks.
        fail(f"error: {error.object!a}: no name in the locale's {error.encoding}; LC_ALL=C.UTF-8 has all", BAD_INPUT)
    except OSError as error:  # A path that no file system takes, such as one of 300 characters.
        where = f"{error.filename}: " if error.filename is not None else ""
        fail(f"error: {where}{error.strerror or error}", BAD_INPUT)
    except Exception as error:
        show = getattr(error, "show", None)  # What Typer says of wrong options, with usage.
        if show is not None:
            show()
            sys.exit(BAD_INPUT)
        bug(error)


def texts(words: list[str]) -> list[str]:
    """Returns the arguments as UTF-8, whatever the locale is, since file names go into documents.

    # Errors
    `InputError` on what is not UTF-8.
    """
    try:
        return [os.fsencode(word).decode() for word in words]
    except UnicodeDecodeError as error:
        shown = error.object.decode(errors="backslashreplace")
        raise _core.InputError(f"argument {shown}: expected UTF-8; a file may need another name") from None


def bug(error: Exception) -> None:
    """Reports a failure that no input should cause."""
    from backwater.execute.job import SimulatorError
    from backwater.show.failures import Undrawn

    if os.environ.get("BACKWATER_TRACEBACK"):
        traceback.print_exc()
    told = isinstance(error, SimulatorError | Undrawn)
    cause = str(error) if told else f"{type(error).__name__}: {error}"
    fail(
        f"bug in Backwater {_core.version}: {cause}\n"
        "This is our mistake, not yours. Please report it with the scenario and the command; "
        "BACKWATER_TRACEBACK=1 adds detail.",
        BUG,
    )
