"""Writes `docs/job-formats.md` from the documentation of the readers: `python tools/job_formats.py FILE`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
READERS = ROOT / "crates"
HEAD = """# Files of training jobs

This page says for each format what is read, and what is refused. Where the program that a format comes from does
otherwise, a table says so. An error names the file, the line or byte, the value, and what was expected. [Run your
training job](guides/training-job.md) says how to bring a file in. [Training jobs beside other simulators](jobs.md) says
what the results were compared with.

This page is generated from the documentation of the readers (`make formats`).
"""
SECTIONS = {
    "GOAL, text": ["jobs/src/goal/text.rs"],
    "GOAL, binary": ["jobs/src/goal/binary.rs"],
    "CSV of dependent messages": ["jobs/src/csv/mod.rs"],
    "Connection matrices of htsim": ["jobs/src/htsim/matrix.rs", "jobs/src/htsim/job.rs"],
    "Fat trees of htsim": ["jobs/src/htsim/fat_tree.rs"],
    "Text workloads of SimAI and ASTRA-sim": [
        "jobs/src/simai/text.rs",
        "jobs/src/simai/policy.rs",
        "jobs/src/simai/groups.rs",
        "jobs/src/simai/plan.rs",
    ],
    "Execution traces of Chakra": ["jobs/src/chakra/node.rs", "jobs/src/chakra/groups.rs", "jobs/src/chakra/job.rs"],
    "Hosts of ranks": ["scenario/src/host_list.rs"],
}
"""Headings, and the modules whose documentation stands below each."""
LINK = re.compile(r"\[(`[^`]*`)\](?:\([^)]*\))?")


def page() -> str:
    """Returns the page."""
    parts = [HEAD.rstrip()]
    for heading, files in SECTIONS.items():
        parts += [f"## {heading}", *(documentation(READERS / file) for file in files)]
    return "\n\n".join(parts)


def documentation(path: Path) -> str:
    """Returns the documentation of a module, without its first sentence where that only names the module."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//!"):
            break
        lines.append(line[3:].removeprefix(" ").rstrip())
    text = LINK.sub(r"\1", "\n".join(lines)).strip()
    return text.replace("```text\n", "<!-- not run: it shows what a file looks like -->\n```text\n")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page() + "\n", encoding="utf-8")
