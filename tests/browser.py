"""A headless Chromium for the tests of pages: opens files, and records console messages and requests."""

import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

# As root there is no sandbox; without a GPU, WebGL is computed by the processor.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LONGEST_WAIT_SECONDS = 20


def find_chromium():
    """The path of the system's Chromium, or None; ACTUP_CHROMIUM names another one."""
    return os.environ.get("ACTUP_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium():
    """A browser of playwright; skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    path = find_chromium()
    if path is None:
        pytest.skip("needs Chromium, such as Debian's package chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


class OpenPage:
    """A page in the browser: what its console said, what it requested, and short ways to look at it."""

    def __init__(self, browser, path, hash_="", width=1000, height=700, **context):
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, accept_downloads=True, **context
        )
        self.page = self.context.new_page()
        self.problems, self.requests = [], []
        self.page.on("console", lambda message: self._take(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.as_uri()
        self.page.goto(self.url + hash_)
        self.run("actupPage.ready")
        self.settle()

    def _take(self, text):
        if "getImageData" not in text:  # advice that the tests themselves cause, which read pixels back
            self.problems.append(text)

    def run(self, expression):
        """The value of a JavaScript expression; promises are awaited."""
        return self.page.evaluate(f"() => {expression}")

    def state(self):
        return self.run("actupPage.state()")

    def wait(self, condition):
        """Wait until a JavaScript expression is true: polled, as the page's policy forbids eval."""
        end = time.monotonic() + LONGEST_WAIT_SECONDS
        while not self.run(condition):
            assert time.monotonic() < end, f"still waiting for {condition}"
            time.sleep(0.01)

    def settle(self):
        """Wait until all points are drawn and nothing moves."""
        self.wait("!actupPage.state().busy")
        before = None
        while (
            now := self.run("JSON.stringify([actupPage.state().frames, actupPage.state().center])")
        ) != before:
            before = now
            time.sleep(0.06)
            self.wait("!actupPage.state().busy")

    def stage_box(self):
        return self.page.locator("#stage").bounding_box()

    def at(self, point, view=0):
        """Where a point is in the window."""
        x, y = self.run(f"actupPage.screenPosition({point}, {view})")
        box = self.stage_box()
        return box["x"] + x, box["y"] + y

    def drag(self, corners):
        self.page.mouse.move(*corners[0])
        self.page.mouse.down()
        for corner in corners[1:]:
            self.page.mouse.move(*corner)
        self.page.mouse.up()

    def download(self, selector):
        """The bytes of the file that a click saves, and its name."""
        with self.page.expect_download() as waiting:
            self.page.click(selector)
        return Path(waiting.value.path()).read_bytes(), waiting.value.suggested_filename

    def pixels(self):
        """The window as an array of shape (height, width, 3)."""
        import io

        import numpy as np
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")).astype(int)

    def close(self):
        """Close the page; its console must have said nothing, and it must have requested nothing."""
        self.context.close()
        assert self.problems == []
        assert {url.split("#")[0] for url in self.requests if not url.startswith(("data:", "blob:"))} <= {
            self.url
        }
