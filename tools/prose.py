"""Sentence lengths of what people read: `python tools/prose.py FILE...` names every sentence that is too long.

Code blocks, tables, pictures and headings are left out. A piece of code in a sentence counts as one word, and so does a
link's address as none.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

LONGEST = 35
"""Words of a sentence."""
MEDIAN = 18
"""Words of the median sentence of a document."""

BLOCK = re.compile(r"^([ ]*)(```|~~~).*?^\1\2[ ]*$|^---\n.*?^---$|<!--.*?-->", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"\s*(?:[*+-]|\d+\.)\s+")
APART = re.compile(r"\s*(?:\||#|!\[|<|!!!|:::)")
END = re.compile(r"(?<=[.!?:;])[\"”)*_]*\s+(?=[\"“(*_\[]*[A-Z`\[])")


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a Markdown text; each item of a list is one."""
    lines: list[str] = []
    for line in [*BLOCK.sub("", text).splitlines(), ""]:
        item = ITEM.match(line)
        if (not line.strip() or item or APART.match(line)) and lines:
            yield " ".join(lines)
            lines = []
        if line.strip() and not APART.match(line):
            lines.append(line[item.end() :].strip() if item else line.strip())


def sentences(text: str) -> Iterator[str]:
    """The sentences of a Markdown text, without fragments of one or two words."""
    for paragraph in paragraphs(text):
        plain = re.sub(r"``[^`]+``|`[^`]+`", "`C`", paragraph)
        plain = re.sub(r"\]\([^)]*\)", "]", plain)
        yield from (sentence for sentence in END.split(plain) if len(sentence.split()) > 2)


def faults(text: str) -> list[str]:
    """What is wrong with the lengths of a text's sentences, a line each."""
    found = list(sentences(text))
    lengths = [len(sentence.split()) for sentence in found]
    wrong = [
        f"{words} words, {LONGEST} allowed: {sentence}"
        for words, sentence in zip(lengths, found, strict=True)
        if words > LONGEST
    ]
    if lengths and statistics.median(lengths) > MEDIAN:
        wrong.append(f"the median sentence has {statistics.median(lengths):g} words, {MEDIAN} allowed")
    return wrong


def main(files: list[str]) -> int:
    wrong = [f"{file}: {fault}" for file in files for fault in faults(Path(file).read_text(encoding="utf-8"))]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
