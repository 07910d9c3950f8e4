"""The documentation site builds and reads without a network, and its links lead somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chromium
import figures
import ns3_peer
from conftest import ROOT

OFFLINE = """
import socket, sys

def refuse(*_):
    raise OSError("the site is built without a network")

socket.socket.connect = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli(sys.argv[1:])
"""
LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=\"?([^\s\">]+)|<link\b[^>]*?\bhref=\"?([^\s\">]+)", re.DOTALL
)


def built(config: Path, place: Path) -> subprocess.CompletedProcess[str]:
    """The site, built with every connection refused; a broken link is an error."""
    words = ("build", "--strict", "--config-file", config, "--site-dir", place)
    return subprocess.run(
        [sys.executable, "-c", OFFLINE, *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    done = built(ROOT / "mkdocs.yml", place)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        for loaded in LOADED.findall(page.read_text(encoding="utf-8")):
            address = "".join(loaded)
            assert not re.match(r"(https?:)?//", address), f"{page.name}: {address}"
            if page.name != "404.html" and not address.startswith("data:"):  # That one is served from any place.
                assert (page.parent / address.partition("?")[0].partition("#")[0]).exists(), f"{page.name}: {address}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)[\s\"']*(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_broken_links_fail_the_build(tmp_path: Path) -> None:
    broken = ["nowhere.md", "scenarios.md#no-such-heading", "../crates/nowhere.rs"]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Home\n\n" + "".join(f"[x]({link})\n" for link in broken))
    (tmp_path / "docs/scenarios.md").write_text("# Scenarios\n")
    config = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[0]
    config = config.replace("  - tools/site/hooks.py", f"  - {ROOT}/tools/site/hooks.py")
    (tmp_path / "mkdocs.yml").write_text(config)
    done = built(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 1
    assert [link for link in broken if link not in done.stdout + done.stderr] == []


def test_search_works_in_a_page_opened_as_a_file(site: Path, browser: chromium.Page) -> None:
    browser.open(f"file://{site}/index.html?q=headroom")
    found = browser.evaluate("""new Promise(done => {
        const look = () => {
            const links = [...document.querySelectorAll(".md-search-result__link")]
            links.length ? done(links.map(link => link.href)) : setTimeout(look, 50)
        }
        look()
    })""")
    assert any("scenarios.html" in link for link in found)
    assert all(asked.startswith(("file:", "data:")) for asked in browser.requests)
    assert browser.console == []


def test_no_table_hangs_over_the_side_of_a_phone(site: Path, browser: chromium.Page) -> None:
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.call("Emulation.setDeviceMetricsOverride", **metrics)
    widths = "[...document.querySelectorAll('.md-typeset__scrollwrap')].map(of => of.scrollWidth - of.clientWidth)"
    try:
        for page in ("scenarios.html", "reference/keys/host.html", "results/bfc.html", "guides/compare-schemes.html"):
            browser.open((site / page).as_uri())
            over = browser.evaluate(widths)
            assert over
            assert max(over) == 0, page
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), page
        assert browser.evaluate("document.querySelector('td[data-name]').dataset.name") != ""
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


def test_charts_are_what_their_data_draw(tmp_path: Path) -> None:
    """`make figures` after a change of the data or of the drawing."""
    figures.draw(tmp_path)
    for name in figures.CHARTS:
        assert (tmp_path / f"{name}.svg").read_bytes() == (figures.PLACE / f"{name}.svg").read_bytes(), name
    data = json.loads((figures.PLACE / "speed.json").read_text())
    for document, text in figures.speed_texts(data).items():
        assert figures.between_marks(document.read_text(), text) == document.read_text(), document


def test_the_page_beside_ns3_has_what_was_measured() -> None:
    data = json.loads((figures.PLACE / "ns3.json").read_text())
    page = ns3_peer.PAGE.read_text()
    assert ns3_peer.page_of(page, data["rounds"], data["rows"]) == page


def test_the_median_of_rounds_is_shown(tmp_path: Path) -> None:
    row = {"scenario": "facebook", "scheme": "bfc", "threads": 1, "peak_rss_mb": 26.4}
    files = [tmp_path / f"{speed}.json" for speed in (10, 30, 11)]
    for file in files:
        rows = [{**row, "packet_hops_per_s": int(file.stem) * 1e6}, {**row, "scheme": "other"}]
        file.write_text(json.dumps({"machine": {}, "rows": rows}))
    (shown,) = figures.speed_data(files)["rows"]
    assert (shown["packet_hops_per_s"], shown["rounds"]) == (11e6, 3)
