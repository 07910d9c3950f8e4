"""The code of README and guides runs as a reader would type it: block by block, in one empty directory a document.

* `sh`: commands, each line one. A comment `exit code 1` at the end of a line says that it ends so.
* `python`: one session for the whole document.
* `toml` and `csv` with a `title`: a file of that name. Without one: part of a file, which has to be TOML.
* `console` and `text` show what a reader sees or does elsewhere, and are not run.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from backwater.cli import main
from backwater.show import figures
from conftest import ROOT

DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs/start").glob("*.md"), *(ROOT / "docs/guides").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = {"console", "text"}
SHORTER = ('duration = "5 ms"', 'duration = "1 ms"\ndrain = 20')
"""Examples run for a fifth of the time here. Their last flows have as long to finish as in `test_examples.py`."""
PICTURES = re.compile(r"figures/|--format")
"""A document that needs figures says so. They take most of a short run's time, so the others go without."""


@dataclass
class Reader:
    """Somebody who follows a document in an empty directory."""

    place: Path
    session: dict[str, Any]

    def follow(self, text: str) -> None:
        for language, title, code in BLOCK.findall(text):
            if title:
                (self.place / title).write_text(code)
            elif language == "toml":
                tomllib.loads(code)
            elif language == "sh":
                for line in code.replace("\\\n", " ").splitlines():
                    self.command(line)
            elif language == "python":
                exec(compile(code, "<document>", "exec"), self.session)
            else:
                assert language in SHOWN, f"```{language}: nothing says how to run this"

    def command(self, line: str) -> None:
        command, _, comment = line.partition("#")
        words = shlex.split(command)
        if not words:
            return
        expected = 1 if "exit code 1" in comment else 0
        code, said = backwater(words) if words[0] == "backwater" else shell(command)
        assert code == expected, f"{line}\n{said}"


def backwater(words: list[str]) -> tuple[int, str]:
    """Calls the command line in this process, as starting one takes longer than most calls."""
    said = io.StringIO()
    sys.argv = words
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as leave:
        main()
    return int(leave.value.code or 0), said.getvalue()


def shell(command: str) -> tuple[int, str]:
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_reader_can_follow(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = document.read_text(encoding="utf-8")
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for path in (tmp_path / "examples").glob("*.toml"):
        path.write_text(path.read_text().replace(*SHORTER))
    if not PICTURES.search(text):
        monkeypatch.setattr(figures, "write", lambda data, place, formats, size: place.mkdir(exist_ok=True))
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setenv("COLUMNS", "100")
    mpl.rcParams.update(mpl.rcParamsDefault)
    with contextlib.chdir(tmp_path):
        Reader(tmp_path, {"__name__": "__main__"}).follow(text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("```sh\nbackwater run nowhere.toml\n```\n", "nowhere.toml"),
        ("```sh\ntest -e nowhere\n```\n", "test -e nowhere"),
        ("```python\nimport backwater\nbackwater.nothing\n```\n", "nothing"),
        ("```toml\nname = \n```\n", "Invalid value"),
        ("```ruby\nputs 1\n```\n", "ruby"),
    ],
)
def test_what_does_not_run_is_told(tmp_path: Path, text: str, wrong: str) -> None:
    with (
        contextlib.chdir(tmp_path),
        pytest.raises((AssertionError, AttributeError, tomllib.TOMLDecodeError), match=wrong),
    ):
        Reader(tmp_path, {}).follow(text)
