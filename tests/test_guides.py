"""The code of the documents runs as a reader would type it: block by block, in one empty directory a document.

* `sh`: commands, each line one. A comment `exit code 1` at the end of a line says that it ends so.
* `python`: one session for the whole document.
* `toml`, `yaml` and `csv` with a `title`: a file of that name. Without one: part of a file, which has to be valid.
* `text`: the last block of commands or Python printed this, but for line breaks. A line `...` leaves lines out.
* `console`, `rust`: what a reader does elsewhere or with more time. It is not run, and the comment before it says why.
"""

from __future__ import annotations

import contextlib
import io
import os
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
import yaml

from backwater.cli import main
from conftest import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "experiments/README.md"]
DOCUMENTS += sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "api.md")
"""`test_api_page.py` runs the examples of the other page. Contributors have cargo and make for what they type."""
BLOCK = re.compile(
    r"(?:^<!-- not (?:run|compared): (?P<why>[^\n]+) -->\n+)?"
    r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SHELL = {">", "|", "&&"}
"""Words by which a line needs a shell."""
RUN = ("sh", "python")
PARTS = {"toml": tomllib.loads, "yaml": yaml.safe_load}
SHORTER = {"5 ms": "1 ms", "8 ms": "2 ms"}
"""Examples run for a part of the time here, unless the document shows what they print."""
COMPARED = re.compile(r"^```text", re.MULTILINE)


@dataclass
class Reader:
    """Somebody who follows a document in an empty directory."""

    place: Path
    session: dict[str, Any]
    said: str | None = None
    """What the last block of commands or Python printed."""

    def follow(self, text: str) -> None:
        for block in BLOCK.finditer(text):
            language, code = block["language"], block["code"]
            assert not (block["why"] and language in RUN), f"a block that is not run is marked console:\n{code}"
            if block["title"]:
                (self.place / block["title"]).write_text(code)
            elif language in PARTS:
                PARTS[language](code)
            elif language == "sh":
                self.said = "".join(map(self.command, code.replace("\\\n", " ").splitlines()))
            elif language == "python":
                self.said = self.python(code)
            elif language == "text" and not block["why"]:
                self.compare(code)
            else:
                assert language in ("console", "text", "rust"), f"```{language}: nothing says how to run this"
                assert block["why"], f"nothing says why this is not run:\n{code}"

    def command(self, line: str) -> str:
        words = shlex.split(line, comments=True)
        if not words:
            return ""
        typed = words[0] == "backwater" and not SHELL & set(words)
        code, said = backwater(words) if typed else shell(line)
        assert code == (1 if "# exit code 1" in line else 0), f"{line}\n{said}"
        return said

    def python(self, code: str) -> str:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(code, "<document>", "exec"), self.session)
        return said.getvalue()

    def compare(self, shown: str) -> None:
        """Line breaks are those of a terminal as wide as the document, so only words count."""
        assert self.said is not None, f"nothing before it printed this:\n{shown}"
        rest = " ".join(self.said.split())
        for part in re.split(r"^ *\.\.\.\n", shown, flags=re.MULTILINE):
            words = " ".join(part.split())
            assert words in rest, f"nothing printed this:\n{part}\nwhat was printed:\n{self.said}"
            rest = rest.split(words, 1)[1]


def backwater(words: list[str]) -> tuple[int, str]:
    """Calls the command line in this process, as starting one takes longer than most calls."""
    said = io.StringIO()
    sys.argv = words
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as leave:
        main()
    return int(leave.value.code or 0), said.getvalue()


def shell(command: str) -> tuple[int, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, env=os.environ | {"PATH": path}
    )
    return done.returncode, done.stdout + done.stderr


def shorten(examples: Path) -> None:
    """Last flows have as long to finish as in `test_examples.py`."""
    for path in examples.glob("*.toml"):
        scenario = path.read_text()
        for long, short in SHORTER.items():
            scenario = scenario.replace(f'duration = "{long}"', f'duration = "{short}"\ndrain = 20')
        path.write_text(scenario)
    header, *flows = (examples / "own-flows.csv").read_text().splitlines(keepends=True)
    (examples / "own-flows.csv").write_text(
        "".join([header, *(flow for flow in flows if int(flow.split(",")[0]) < 2e6)])
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_reader_can_follow(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = document.read_text(encoding="utf-8")
    for name in ("experiments", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    if not COMPARED.search(text):
        shorten(tmp_path / "examples")
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
        ("```console\n$ rm -r runs\n```\n", "nothing says why this is not run"),
        ("```text\n3\n```\n", "nothing before it printed this"),
        ("```python\nprint(2)\n```\n\n```text\n3\n```\n", "nothing printed this"),
        ("```sh\necho 1 2; echo 3\n```\n\n```text\n3\n...\n1 2\n```\n", "nothing printed this"),
    ],
)
def test_what_does_not_run_is_told(tmp_path: Path, text: str, wrong: str) -> None:
    with (
        contextlib.chdir(tmp_path),
        pytest.raises((AssertionError, AttributeError, tomllib.TOMLDecodeError), match=wrong),
    ):
        Reader(tmp_path, {}).follow(text)


def test_what_is_shown_may_be_broken_and_left_out(tmp_path: Path) -> None:
    said = "```sh\necho 1 2 3; echo 4; echo 5\n```\n"
    Reader(tmp_path, {}).follow(said + "```text\n1 2\n  3\n...\n5\n```\n")
    Reader(tmp_path, {}).follow(said + "<!-- not compared: numbers of another day -->\n\n```text\n6\n```\n")
