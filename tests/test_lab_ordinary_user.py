"""`backwater lab --processes` as a user who is not root: TCP, a switch that is killed, Ctrl-C, and nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import ROOT, Cli
from labs import OVERLOAD, node, traces, until

USER = 65534
"""An ordinary user of every system, whose home is nowhere."""
BECOME = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
TCP = f"{sys.executable} -m backwater.lab.tcp --seconds"
Start = Callable[..., "subprocess.Popen[str]"]


def closed(place: Path) -> Path | None:
    """Returns the first directory on the way to a place into which only its owner may go."""
    ways = [*reversed(place.parents), place]
    return next((way for way in ways if not way.stat().st_mode & 0o001), None)


def becoming(stage: Path) -> list[str]:
    """Returns the beginning of a command that runs another as an ordinary user who can read Backwater and its Python.

    Where only root may go to them, the user sees them through mounts that nobody else has.
    """
    if os.geteuid() != 0:
        return []
    places = [place.resolve() for place in (Path(sys.base_prefix), Path(sys.prefix), ROOT)]
    hidden = {place: closed(place) for place in places}
    script = ["set -e", "mount --make-rprivate /", f"mount -t tmpfs none {stage}"]
    for number, place in enumerate(places):
        script += [f"mkdir {stage}/{number}", f"mount --rbind {place} {stage}/{number}"]
    script += [f"mount -t tmpfs -o mode=755 none {one}" for one in {*hidden.values()} - {None}]
    for number, place in enumerate(places):
        if hidden[place] is not None:
            script += [f"mkdir -p {place}", f"mount --rbind {stage}/{number} {place}"]
    script += [f'exec {" ".join(BECOME)} "$@"']
    return ["unshare", "-m", "sh", "-c", "\n".join(script), "sh"]


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of the user's own. Those of the tests belong to the user who runs them."""
    made = Path(tempfile.mkdtemp(prefix="backwater-user-"))
    if os.geteuid() == 0:
        os.chown(made, USER, USER)
    (made / "overload.toml").write_text(OVERLOAD)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def begin(place: Path, tmp_path: Path) -> Start:
    """Starts a lab as the user, or skips where the system allows the user no lab."""
    if sys.platform != "linux" or any(shutil.which(one) is None for one in ("setpriv", "unshare", "mount")):
        pytest.skip("no setpriv, unshare and mount in PATH")
    stage = tmp_path / "stage"
    stage.mkdir()
    environment = {**os.environ, "HOME": str(place), "TMPDIR": str(place)}
    # The terminal's Ctrl-C goes to a whole group of processes.
    started = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}

    def start(*words: str, mark: str = "") -> subprocess.Popen[str]:
        command = [*becoming(stage), sys.executable, "-m", "backwater", "lab", "overload.toml", *words]
        return subprocess.Popen(command, cwd=place, env={**environment, "LAB_MARK": mark}, **started)  # type: ignore[call-overload,no-any-return]

    tried = start("--for", "0.1")
    said = tried.communicate(timeout=60)[1]
    if tried.returncode != 0:
        pytest.skip(f"a lab of an ordinary user cannot run here: {said.strip()}")
    return start


def test_tcp_of_an_ordinary_user_outlives_a_switch(begin: Start, place: Path, cli: Cli) -> None:
    mark, log = secrets.token_hex(8), place / "sw2.log"
    senders = [word for host in ("a", "b") for word in ("--exec", f"{host} {TCP} 8 send r")]
    files = ["--log", f"sw2={log}", "--pcap", f"r={place / 'r.pcapng'}"]
    run = begin("--processes", *files, "--exec", f"r {TCP} 9 receive", *senders, "--json", mark=mark)
    until(lambda: log.exists() and log.stat().st_size > 100_000)
    [victim] = node(mark, "sw2")
    os.kill(victim, signal.SIGKILL)
    killed = time.monotonic()
    out, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    # What programs print comes before: the receiver's results, a line for each sender.
    results = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert {one["about"] for one in results if "about" in one} >= {"a", "b"}, said
    found = json.loads(out)
    assert {one["name"]: one["restarts"] for one in found["processes"]} == {"hosts": 0, "sw1": 0, "sw2": 1}
    assert time.monotonic() - killed > 2
    for one, ending in ((log, ("interrupted", "torn")), (place / "sw2.log.2", ("complete",))):
        replay = json.loads(cli("replay", one, "--json").stdout)
        assert replay["equal"]
        assert replay["ending"] in ending
        assert replay["packets"] > 100
    if os.geteuid() == 0:
        assert all(file.stat().st_uid == USER for file in place.iterdir() if file.name != "overload.toml")
    assert {file.name for file in place.iterdir()} == {"overload.toml", "sw2.log", "sw2.log.2", "r.pcapng"}
    assert not traces(mark)[1]


@pytest.mark.parametrize("after", [0.1, 0.2, 0.3, 0.4, 0.7, 1.0, 3.0])
def test_a_key_of_the_terminal_ends_everything_at_any_time(begin: Start, place: Path, after: float) -> None:
    mark = secrets.token_hex(8)
    before = traces(mark)
    run = begin("--processes", "--exec", f"r {TCP} 60 receive", "--exec", f"a {TCP} 60 send r", mark=mark)
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGINT)
    said = run.communicate(timeout=40)[1]
    # Programs may say what they like.
    assert "lab/inside.py" not in said
    assert "lab/node.py" not in said
    until(lambda: traces(mark) == before, 10)
    assert [file.name for file in place.iterdir()] == ["overload.toml"]


@pytest.mark.parametrize("written", [b"", b'{"parent": 1, "does": "pro'])
def test_a_lab_that_ends_before_it_gave_its_order_leaves_no_traceback(written: bytes) -> None:
    """A key of the terminal may come at that moment too, which is too short to be hit by chance."""
    order, write = os.pipe()
    os.write(write, written)
    os.close(write)
    command = [sys.executable, "-m", "backwater.lab.inside", str(order), "1"]
    done = subprocess.run(command, pass_fds=[order], capture_output=True, check=False)
    os.close(order)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
