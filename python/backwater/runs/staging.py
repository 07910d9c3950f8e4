"""A directory in the making, which gets its name in one step when it is complete.

PLACE/../.NAME.partial/       the unfinished directory
    unfinished.json           the process that makes it, and a lock that ends with that process

If the process is killed, the directory stays, unlocked. The next process that makes the same place finds its content.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
from pathlib import Path

from backwater._core import InputError
from backwater.common import disk

CLAIM = "unfinished.json"
held: set[Path] = set()
"""What this process holds."""
CANNOT_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


class Staging:
    """A directory in the making for one place. This process holds it until it is named, discarded or left.

    # Errors
    `InputError` where another process holds it, or where it could not take its name in the end.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.path = partial(place)
        self.aside = place.with_name(f".{place.name}.replaced")
        with disk.errors(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            self._claim = self._hold()
            held.add(self.path)
            try:
                if self.aside.exists() and not os.path.lexists(place):
                    self.aside.rename(place)  # Its process died between two renames.
                self._try_name()
            except BaseException:
                self.discard()
                raise

    def _hold(self) -> int:
        """Locks the claim file. The lock lasts as long as the descriptor."""
        while True:
            self.path.mkdir(exist_ok=True)
            try:
                descriptor = os.open(self.path / CLAIM, os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:
                continue  # It took its name just now.
            try:
                locked = try_lock(descriptor)
                if locked and is_at(descriptor, self.path / CLAIM):
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, json.dumps({"process": os.getpid()}).encode() + b"\n")
                    return descriptor
                if not locked:
                    raise InputError(f"{self.place}: {holder(descriptor)} is writing it; name another directory")
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _try_name(self) -> None:
        """Asks the file system whether the present directory could be replaced.

        A directory does not replace one that holds something, and ours holds the claim; that is refused last, after
        permissions, mount points and whatever else would be in the way.
        """
        if not self.place.is_dir():
            return
        try:
            self.place.rename(self.path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                reason = "is a mount point" if error.errno == errno.EBUSY else error.strerror
                raise InputError(
                    f"{self.place}: cannot be replaced: {reason}; name a directory that is not there yet"
                ) from error

    def take_name(self) -> None:
        """Gives the directory its name. An older one is removed only then."""
        with disk.errors(self.place):
            disk.sync(self.path)
            replaced = self.place.is_dir()
            if replaced:
                self._replace()
            else:
                self.path.rename(self.place)
            (self.place / CLAIM).unlink(missing_ok=True)
            disk.sync(self.place.parent)
        if replaced:
            clear(self.path)
        self.leave()

    def _replace(self) -> None:
        claim = self.place / CLAIM
        claim.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # What is replaced is held too until it is gone, where links are known.
            claim.hardlink_to(self.path / CLAIM)
        try:
            disk.exchange(self.path, self.place)
        except OSError as error:
            claim.unlink(missing_ok=True)
            if error.errno not in CANNOT_EXCHANGE:
                raise
            shutil.rmtree(self.aside, ignore_errors=True)
            self.place.rename(self.aside)
            self.path.rename(self.place)
            shutil.rmtree(self.aside, ignore_errors=True)

    def leave(self) -> None:
        """Releases the directory, which stays for the next process."""
        held.discard(self.path)
        os.close(self._claim)

    def discard(self) -> None:
        """Removes the directory."""
        clear(self.path)
        self.leave()


def partial(place: Path) -> Path:
    """Returns the path at which a place is made."""
    return place.with_name(f".{place.name}.partial")


def is_held(place: Path) -> bool:
    """Returns whether some process is making the place."""
    try:
        descriptor = os.open(partial(place) / CLAIM, os.O_RDWR)
    except OSError:
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # A file system without locks.
    return True


def is_at(descriptor: int, path: Path) -> bool:
    """Returns whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def holder(descriptor: int) -> str:
    """Returns which process wrote the claim."""
    try:
        return f"process {json.loads(os.pread(descriptor, 4096, 0))['process']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def clear(path: Path) -> None:
    """Removes a directory that this process holds. The claim goes last, so nobody else begins in it."""
    for inner in path.iterdir() if path.is_dir() else ():
        if inner.name != CLAIM:
            remove(inner)
    with contextlib.suppress(OSError):  # Somebody else may have begun in it, or the file system takes no more changes.
        (path / CLAIM).unlink(missing_ok=True)
        path.rmdir()


def remove(path: Path) -> None:
    """Removes a file or a directory, as far as the file system allows."""
    if path.is_dir() and not path.is_symlink():
        disk.remove_directory(path)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
