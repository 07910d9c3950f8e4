"""The page on files of training jobs is what the readers say."""

from __future__ import annotations

import job_formats
from conftest import ROOT


def test_the_page_is_what_the_readers_say() -> None:
    assert (ROOT / "docs/job-formats.md").read_text() == job_formats.page() + "\n", "`make formats` writes it again"


def test_links_of_rust_are_left_out() -> None:
    page = job_formats.page()
    assert "](super::" not in page
    assert "[`" not in page
    assert page.count("\n## ") == len(job_formats.SECTIONS)
