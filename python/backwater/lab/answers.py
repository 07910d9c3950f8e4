"""Answers what other commands ask of a running lab, on threads of its own. The fabric does not wait for them."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

from backwater._core import InputError
from backwater.common import suggest
from backwater.lab import control
from backwater.lab.orders import About, Answer, Question, Reading

OWN = ("mnt", "pid")
"""Namespaces of the lab's process that those who enter a host need, beside that of the host."""


class Hosts(Protocol):
    """Description of a lab."""

    def hosts(self) -> list[tuple[str, str]]: ...
    def join(self, host: int) -> None: ...
    def reading(self) -> str: ...


def serve(descriptor: int, lab: Hosts, about: About) -> None:
    """Answers at a listening socket from now on. `about` is what a reading says of the lab beside its ports."""
    listener = socket.socket(fileno=descriptor)
    listener.settimeout(None)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=converse, args=(connection, lab, about), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def converse(connection: socket.socket, lab: Hosts, about: About) -> None:
    """Answers one line after the other, of the lab's own user."""
    with connection, contextlib.suppress(OSError, ValueError):
        if not control.is_ours(connection):
            return
        for line in connection.makefile("rb"):
            question = json.loads(line)
            try:
                with answered(question, lab, about) as (said, descriptors):
                    control.answer(connection, said, descriptors)
            except InputError as error:
                control.answer(connection, {"refused": str(error)}, [])


@contextlib.contextmanager
def answered(question: Question, lab: Hosts, about: About) -> Iterator[tuple[Answer, list[int]]]:
    """Yields the answer, and descriptors that stay open for as long."""
    if question.get("ask") == "reading":
        reading: Reading = json.loads(lab.reading())
        yield {**about, **reading}, []
        return
    if question.get("ask") != "enter":
        raise InputError(f"{question.get('ask')}: expected reading or enter")
    names = [name for name, _ in lab.hosts()]
    host = str(question.get("host"))
    if host not in names:
        raise InputError(f"{host}: no host of the lab; {suggest.expected(host, names)}")
    opened = namespaces(lambda: lab.join(names.index(host)), with_user=bool(about["own_users"]))
    try:
        yield {"host": host, "address": dict(lab.hosts())[host]}, opened
    finally:
        for one in opened:
            os.close(one)


def namespaces(join: Callable[[], None], *, with_user: bool) -> list[int]:
    """Opens the namespaces to enter, in their order: users first, and the host that a thread `join`s last."""
    opened = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in (("user",) if with_user else ()) + OWN]
    failures: list[Exception] = []

    def enter() -> None:
        try:
            join()
            opened.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY))
        except (OSError, ValueError) as error:
            failures.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if failures:
        for one in opened:
            os.close(one)
        raise InputError(f"the host cannot be entered: {failures[0]}")
    return opened
