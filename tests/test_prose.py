"""Documents and help texts are short sentences."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backwater import cli
from backwater.cli.command import parts
from conftest import ROOT

CHECK = ROOT / "tools" / "prose.py"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "experiments").rglob("*.md")])


def check(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, CHECK, *files], capture_output=True, text=True, check=False)


def test_documents_are_short_sentences() -> None:
    assert len(DOCUMENTS) > 30
    done = check(*DOCUMENTS)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_help_is_short_sentences(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{number}.md", help_texts(command)) for number, (_, command) in enumerate(cli.tree())]
    assert len(files) > 20
    done = check(*files)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def help_texts(command: Any) -> list[str]:
    """The sentences of a command and of its options."""
    return [parts(command.help or "")[0], *(getattr(option, "help", None) or "" for option in command.params)]


def write(file: Path, texts: list[str]) -> Path:
    file.write_text("\n\n".join(texts))
    return file


LONG = "Word" + " word" * 35


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"A short sentence is here. {LONG}", "36 words, 35 allowed"),
        (f"* {LONG}", "36 words, 35 allowed"),
        (f"A short one: [link](http://x/{'y' * 99}) {LONG}", "allowed"),
        (" ".join([("Nineteen" + " word" * 18 + ".")] * 3), "the median sentence has 19 words, 18 allowed"),
    ],
)
def test_long_sentences_are_found(tmp_path: Path, text: str, fault: str) -> None:
    done = check(write(tmp_path / "bad.md", [text]))
    assert done.returncode == 1
    assert fault in done.stdout
    assert "bad.md" in done.stdout


@pytest.mark.parametrize(
    "text",
    [f"```text\n{LONG}\n```", f"| {LONG} |", f"# {LONG}", f"A sentence with `{LONG}` in it.", "One. " * 90],
    ids=["block", "table", "heading", "code", "short"],
)
def test_code_tables_and_headings_have_any_length(tmp_path: Path, text: str) -> None:
    assert check(write(tmp_path / "good.md", [text])).returncode == 0
