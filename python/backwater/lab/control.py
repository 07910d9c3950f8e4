"""The socket of a running lab, by which other commands of the same user find it, and what they ask there.

The socket is an abstract one of Unix, which is in no directory and ends with the lab's last process, however that ends.
Its name has the user's number, the process that started the lab, and the number of the lab in that process. Both ends
refuse other users: a name alone proves nothing.

A question is a line of JSON, and so is its answer. With the answer to `enter` come descriptors of namespaces.
"""

from __future__ import annotations

import array
import json
import os
import re
import socket
import struct
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from backwater._core import InputError
from backwater.common import suggest
from backwater.lab.orders import Answer, Entered, Question, Reading

NAMES = re.compile(r"@backwater-lab-([0-9]+)-([0-9]+)-([0-9]+)$", re.MULTILINE)
CREDENTIALS = struct.Struct("3i")
"""Process, user and group, as SO_PEERCRED has them."""
LINE_MAX = 1 << 24
DESCRIPTORS_MAX = 8
PATIENCE_S = 10.0


class Ended(InputError):
    """The lab has ended."""

    def __init__(self) -> None:
        super().__init__("the lab has ended")


numbers = count()
"""Number of the next lab of this process."""


def listen() -> socket.socket:
    """Opens the socket of a lab that this process starts."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"\0backwater-lab-{os.getuid()}-{os.getpid()}-{next(numbers)}")
    listener.listen()
    return listener


def is_ours(connection: socket.socket) -> bool:
    """Whether the other end belongs to this user, who has another number in a lab than outside."""
    said = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    return int(CREDENTIALS.unpack(said)[1]) == os.getuid()


@dataclass(frozen=True)
class Found:
    """A lab that runs."""

    process: int
    """The process that started it."""
    number: int

    @property
    def address(self) -> str:
        return f"\0backwater-lab-{os.getuid()}-{self.process}-{self.number}"


def labs() -> list[Found]:
    """Returns this user's labs: of each process the last that it started."""
    if sys.platform != "linux":
        raise InputError("the lab needs Linux: it is made of network namespaces")
    listed = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")
    newest: dict[int, int] = {}
    for user, process, number in NAMES.findall(listed):
        if int(user) == os.getuid():
            newest[int(process)] = max(int(number), newest.get(int(process), 0))
    return [Found(process, number) for process, number in sorted(newest.items())]


def choose(process: int | None) -> Lab:
    """Connects to the lab that this process has started, or to the only one.

    # Errors
    `InputError` if there is none, or several and none is named.
    """
    running = labs()
    known = [str(one.process) for one in running]
    if not running:
        raise InputError("no lab of yours runs: start one with `backwater lab SCENARIO --exec 'HOST COMMAND'`")
    if process is None and len(running) > 1:
        raise InputError(f"{len(running)} labs run: choose one with --lab {' or --lab '.join(known)}")
    for one in running:
        if process in (None, one.process):
            return Lab(one)
    raise InputError(f"--lab {process}: no lab of yours has this number: {suggest.expected(str(process), known)}")


class Lab:
    """A connection to a running lab."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connection.settimeout(PATIENCE_S)
        try:
            self.connection.connect(found.address)
        except OSError:
            self.connection.close()
            raise Ended from None
        if not is_ours(self.connection):
            self.connection.close()
            raise InputError(f"the socket of lab {found.process} belongs to another user")

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def reading(self) -> Reading:
        """Returns the state of every port a moment ago.

        # Errors
        `Ended` if the lab has ended.
        """
        said: Reading = self._ask({"ask": "reading"})[0]
        return said

    def enter(self, host: str) -> tuple[Entered, list[int]]:
        """Returns a host, and descriptors of the namespaces that lead there.

        # Errors
        `Ended` if the lab has ended, and `InputError` if it has no such host.
        """
        return self._ask({"ask": "enter", "host": host})

    def _ask(self, question: Question) -> tuple[Any, list[int]]:
        """Returns the answer to a question, and the descriptors that come with it."""
        descriptors: list[int] = []
        text = b""
        try:
            self.connection.sendall(json.dumps(question).encode() + b"\n")
            while not text.endswith(b"\n"):
                part, more, _, _ = socket.recv_fds(self.connection, 1 << 16, DESCRIPTORS_MAX)
                descriptors += more
                text += part
                if not part or len(text) > LINE_MAX:
                    raise Ended
        except OSError:
            raise Ended from None
        answer = json.loads(text)
        if "refused" in answer:
            raise InputError(answer["refused"])
        return answer, descriptors


def answer(connection: socket.socket, said: Answer, descriptors: list[int]) -> None:
    """Sends an answer, with descriptors if there are any."""
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    text = json.dumps(said).encode() + b"\n"
    sent = connection.sendmsg([text], ancillary)
    connection.sendall(text[sent:])
