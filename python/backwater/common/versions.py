"""The version of Backwater, to the commit."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from backwater import _core


@cache
def commit() -> str | None:
    """Returns the commit of the checkout, with `+` if files have changed since, or the commit of the build.

    None where nobody knows. Documents do not count: the ledger is one, and changes with every experiment that is put
    into it.
    """
    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:  # Installed, be it below a checkout of others.
        return _core.commit[:12] or None
    head = git("rev-parse", "--short=12", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":(top)", ":(top,exclude)docs")
    return head and head + ("+" if changed else "")


def git(*words: str) -> str | None:
    command = ["git", "-C", str(Path(__file__).resolve().parent), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
