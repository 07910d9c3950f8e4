"""How long a page takes to answer: `python tests/bench_page.py [PAGE]`, without PAGE that of `tests/data/large.toml`.

Milliseconds from an event to the end of the frame that shows what it did, in a headless Chromium, without a
processor for graphics; what is unpacked the first time is among them. Nothing is asserted.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import chromium

LARGE = Path(__file__).parent / "data" / "large.toml"
TIMES = 60
"""Of each event."""

# Of what each does n is the number of the time: another flow, link or span each time.
HELPERS = """
window.shown = () => new Promise((done) => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = done;
  port2.postMessage(null);
}));
window.timed = async (act, times) => {
  const took = [];
  for (let n = 0; n < times; n++) {
    const began = performance.now();
    await act(n);
    await shown();
    took.push(performance.now() - began);
    await new Promise((done) => setTimeout(done, 30));
  }
  return took;
};
window.until = async (is) => { while (!is()) await new Promise((done) => setTimeout(done, 0)); };
window.mouse = (on, kind, x, y) => on.dispatchEvent(
  new PointerEvent(kind, { bubbles: true, clientX: x, clientY: y, movementX: 1, pointerType: "mouse" }));
const CLICK = ["mousemove", "pointerdown", "mousedown", "mouseup", "click"];
window.click = (on, x, y) => CLICK.forEach((kind) => mouse(on, kind, x, y));
"""

EVENTS = {
    "a dot": """async (n) => {
      const u = backwater.charts.slowdown, box = u.over.getBoundingClientRect();
      const dots = backwater.dots(), dot = dots[(n * 7919) % dots.length];
      const before = backwater.flow();
      const [x, y] = [box.left + u.valToPos(dot.x, "x"), box.top + u.valToPos(dot.y, "y")];
      click(u.over, x, y);
      const late = performance.now() + 400; // The nearest dot may be the one that was picked.
      await until(() => backwater.flow() !== before || performance.now() > late);
    }""",
    "a flow in the list": """async (n) => {
      const before = backwater.flow();
      const buttons = [...document.querySelectorAll("#flow-list button")];
      const others = buttons.filter((one) => one.textContent !== String(before?.flow));
      others[n % others.length].click();
      await until(() => backwater.flow() !== before);
    }""",
    "the next flow": """async () => {
      const before = backwater.flow();
      const buttons = [...document.querySelectorAll("#flow .controls button")];
      (buttons.find((one) => one.textContent === "Faster" && !one.disabled) ?? buttons[0]).click();
      await until(() => backwater.flow() !== before);
    }""",
    "a link in the table": """async (n) => {
      const buttons = document.querySelectorAll("#network-links button");
      buttons[n % buttons.length].click();
    }""",
    "a link in the picture": """async (n) => {
      const canvas = document.querySelector("canvas.network"), box = canvas.getBoundingClientRect();
      const at = (n + 0.5) / 60;
      click(canvas, box.left + at * box.width, box.top + box.height * (0.3 + 0.5 * at));
    }""",
    "brushing a span": """async (n) => {
      const u = backwater.charts.network, box = u.over.getBoundingClientRect(), y = box.top + 40;
      const [from, to] = [0.05 + 0.01 * (n % 40), 0.3 + 0.01 * (n % 60)].map((share) => box.left + share * box.width);
      mouse(u.over, "mouseenter", from, y); mouse(u.over, "mousedown", from, y);
      mouse(document, "mousemove", to, y); mouse(u.over, "mousemove", to, y); mouse(document, "mouseup", to, y);
    }""",
    "the slider": """async (n) => {
      const slider = document.querySelector("input[type=range]");
      slider.value = (n * 7) % Number(slider.max);
      slider.dispatchEvent(new Event("input"));
    }""",
}
NETWORK = ("a link in the table", "a link in the picture", "brushing a span", "the slider")


def made(place: Path) -> Path:
    """The page of a large run that is explained."""
    for words in (["run", LARGE, "--out", place], ["explain", place, "--worst", 1, "--page"]):
        command = [sys.executable, "-m", "backwater", *map(str, words)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return place / "report.html"


def measure(page: Path, browser: str) -> None:
    with chromium.browser(browser) as opened:
        began = time.perf_counter()
        opened.open(page.absolute().as_uri())
        opened.evaluate(HELPERS)
        opened.evaluate("until(() => !backwater.network || document.querySelector('#network-links table'))")
        opened.evaluate("shown()")
        shown = 1e3 * (time.perf_counter() - began)
        count = "(run) => [run.name, run.network?.links.length, run.explained?.flow.length]"
        kinds = f"JSON.stringify(backwater.data.runs.map({count}))"
        print(f"{page}: {page.stat().st_size / 1e6:.2f} MB; open in {shown:.0f} ms")
        print(f"run, directed links, explained flows: {opened.evaluate(kinds)}")
        print(f"{'ms to the frame that shows it':32}{'median':>8}{'max':>8}{'first':>8}")
        for name, act in EVENTS.items():
            if name in NETWORK and not opened.evaluate("Boolean(backwater.network)"):
                continue
            took = opened.evaluate(f"timed({act}, {TIMES})")
            print(f"{name:32}{statistics.median(took):8.0f}{max(took):8.0f}{took[0]:8.0f}")


def main() -> None:
    browser = chromium.find()
    if browser is None:
        sys.exit(chromium.NONE)
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]), browser)
        return
    with tempfile.TemporaryDirectory(prefix="bench-page-") as place:
        measure(made(Path(place) / "large"), browser)


if __name__ == "__main__":
    main()
