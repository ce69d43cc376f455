"""A real headless Chromium, driven over WebDriver's plain HTTP: no library between the test and the page."""

import base64
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
)
TAB, ENTER, SPACE, ESCAPE, SHIFT = "\ue004", "\ue007", " ", "\ue00c", "\ue008"


class Browser:
    def __init__(self, address: str, profile: Path) -> None:
        self._address = address
        options = {"binary": str(CHROMIUM), "args": [*ARGUMENTS, f"--user-data-dir={profile}"]}
        capabilities = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
        session = self._call("POST", "/session", {"capabilities": capabilities})
        self._address += f"/session/{session['sessionId']}"

    def open(self, url: str) -> None:
        self._call("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, keys: str) -> None:
        """Keys one after the other, on whatever has the focus."""
        events = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": events}]})

    def wait(self, condition: str, *, seconds: float = 10) -> Any:
        """Until the JavaScript expression is true; its value."""
        deadline = time.monotonic() + seconds
        while not (value := self.run(f"return {condition}")):
            if time.monotonic() > deadline:
                raise AssertionError(f"{condition} did not come true: {self.run('return document.body.innerText')}")
            time.sleep(0.05)
        return value

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def log(self) -> list[str]:
        """What the browser complained about since the last call."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def close(self) -> None:
        self._call("DELETE", "")

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._address + path, data, {"content-type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(error.read().decode()) from None


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    environment = {**os.environ, "HOME": str(profile)}
    with subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True, env=environment) as driver:
        try:
            assert driver.stdout is not None
            started = next(found for line in driver.stdout if (found := re.search(r"successfully on port (\d+)", line)))
            browser = Browser(f"http://127.0.0.1:{started[1]}", profile / "profile")
            try:
                yield browser
            finally:
                browser.close()
        finally:
            driver.terminate()
            try:
                driver.wait(10)
            except subprocess.TimeoutExpired:  # it may miss the signal while a browser of its own ends
                driver.kill()
