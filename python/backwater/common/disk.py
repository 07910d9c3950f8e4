"""The file system: files and directories that are complete or absent, and its errors in words.

Data that has to survive a power failure is synchronised before it gets its name. Then the name is synchronised.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from backwater._core import InputError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
AT_FDCWD = -2 if sys.platform == "darwin" else -100
EXCHANGE = 2
"""`RENAME_EXCHANGE` of Linux and `RENAME_SWAP` of macOS."""

scratches: set[Path] = set()
"""Directories that nobody needs when this process ends."""


@contextlib.contextmanager
def errors(place: Path) -> Iterator[None]:
    """Turns an error of the file system into a message for the user."""
    try:
        yield
    except OSError as error:
        full = error.errno in FULL or any(f"[errno {number}]" in str(error) for number in FULL)  # As Arrow says it.
        standing = isinstance(error, FileExistsError | NotADirectoryError)
        reason = "the disk is full" if full else error.strerror or str(error)
        if standing:
            reason = "a file is in the way: expected a directory, or a name that is free"
        where = f" ({error.filename})" if error.filename and str(error.filename) != str(place) and not full else ""
        refusal = InputError(f"{place}: cannot be written: {reason}{where}")
        refusal.place = refusal.file = str(place)
        raise refusal from error


@contextlib.contextmanager
def scratch(beside: Path | None = None) -> Iterator[Path]:
    """Makes a directory that is removed at the end: hidden beside a file, or in the system's temporary directory."""
    if beside is None:
        path = Path(tempfile.mkdtemp(prefix="backwater-"))
    else:
        path = Path(tempfile.mkdtemp(prefix=f".{beside.name[:100]}.", suffix=".partial", dir=beside.parent))
    scratches.add(path)
    try:
        yield path
    finally:
        forget(path)


def forget(path: Path) -> None:
    """Removes a scratch directory."""
    remove_directory(path)
    scratches.discard(path)


def forget_all() -> None:
    """Removes all scratch directories at the end of the process."""
    for path in list(scratches):
        forget(path)


def remove_directory(path: Path) -> None:
    """Removes a directory, as far as the file system allows. It is renamed first, so that no thread adds to it."""
    gone = path.with_name(f"{path.name}.{os.getpid()}.gone")
    try:
        path.rename(gone)
    except OSError:
        gone = path
    shutil.rmtree(gone, ignore_errors=True)


def write_whole(place: Path, text: str, *, durable: bool = False) -> None:
    """Writes a file that gets its name when it is complete. An older file of that name stays until then."""
    with scratch(place) as partial:
        made = partial / "made"
        made.write_text(text, encoding="utf-8")
        if durable:
            sync(made)
        made.replace(place)
    if durable:
        sync(place.parent)


def sync(path: Path) -> None:
    """Waits until a file, or the list of names in a directory, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # Some file systems know no such thing for directories.
            raise
    finally:
        os.close(descriptor)


def exchange(a: Path, b: Path) -> None:
    """Exchanges two names in one step.

    # Errors
    `OSError`, of kind `ENOSYS` or `EINVAL` where the system or the file system cannot.
    """
    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "renameatx_np" if sys.platform == "darwin" else "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), EXCHANGE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(b))


def put_directory(made: Path, place: Path) -> None:
    """Gives a finished directory its name. An older directory of that name is moved aside or removed."""
    if not place.is_dir():
        made.rename(place)
        return
    try:
        exchange(made, place)
    except OSError:
        shutil.rmtree(place)
        made.rename(place)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
