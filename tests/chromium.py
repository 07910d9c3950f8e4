"""A headless Chromium, driven over its DevTools protocol: what a page draws, says and asks of the network."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import websocket

NONE = "no Chromium: set $CHROMIUM or put chromium, chromium-browser or google-chrome in PATH"
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--window-size=1280,1600",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
]
START_S = 30.0


def find() -> str | None:
    """The browser: `$CHROMIUM`, or one in PATH."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


class Page:
    """An open page. `console` holds errors, `requests` every URL it asked for besides itself."""

    def __init__(self, socket: websocket.WebSocket) -> None:
        self.socket = socket
        self.sent = 0
        self.console: list[str] = []
        self.requests: list[str] = []
        self.loaded = False
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(f"{domain}.enable")

    def open(self, url: str) -> None:
        self.loaded, self.console, self.requests = False, [], []
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + START_S
        while not self.loaded and time.monotonic() < deadline:
            self.take()
        self.requests = [asked for asked in self.requests if asked != url]

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page, waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"].get("description", answer))
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")

    def screenshot(self, path: Path, *, dark: bool = False) -> None:
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.sent += 1
        self.socket.send(json.dumps({"id": self.sent, "method": method, "params": params}))
        while True:
            message = self.take()
            if message.get("id") == self.sent:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]

    def take(self) -> dict[str, Any]:
        """The next message, noted if it tells of trouble."""
        message = json.loads(self.socket.recv())
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
                self.console.append(str(params["args"]))
            case "Runtime.exceptionThrown":
                self.console.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.console.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Page.loadEventFired":
                self.loaded = True
        return message


@contextlib.contextmanager
def browser(executable: str) -> Iterator[Page]:
    """A fresh browser with one page."""
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        command = [executable, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                with contextlib.closing(
                    websocket.create_connection(page_address(Path(profile)), timeout=START_S)
                ) as socket:
                    yield Page(socket)
            finally:
                process.terminate()


def page_address(profile: Path) -> str:
    """Where the page listens, once the browser has written down its port."""
    deadline = time.monotonic() + START_S
    while True:
        with contextlib.suppress(OSError, ValueError, IndexError):
            port = (profile / "DevToolsActivePort").read_text().split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=5) as answer:
                return next(page for page in json.load(answer) if page["type"] == "page")["webSocketDebuggerUrl"]
        if time.monotonic() > deadline:
            raise AssertionError("the browser did not start")
        time.sleep(0.1)
