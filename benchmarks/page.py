"""The interactive page in headless Chromium: size of the file, seconds to open, milliseconds per frame.

    python benchmarks/page.py [--points 60000 1000000 5000000] [--renderers auto] [--chromium PATH]

"auto" is what the page chooses without a GPU: its own painter. "webgl" forces WebGL, which the processor then
computes. Results are saved in benchmarks/results/page.json.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from report import save, saved

from actup.viewer import write_page

PACKAGES = ["actup", "playwright", "numpy"]
UNSAFE = ["--enable-unsafe-swiftshader"]
ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-gpu",
]  # as on a machine without a GPU
SOFTWARE_WEBGL = ["--no-sandbox", "--disable-quic", "--no-first-run", "--use-angle=swiftshader", *UNSAFE]
CLASSES = 40
MOVES = 60  # frames of panning and zooming

# Moves the camera once per frame; returns the milliseconds between frames.
MOVE = """(async (step) => {
  const { camera } = actupPage.page.bar.views[0];
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let k = 0; k < MOVES; k++) {
    if (step === "pan") camera.pan(k < MOVES / 2 ? 4 : -4, 2);
    else camera.zoomAroundMiddle(k < MOVES / 2 ? 1.06 : 1 / 1.06);
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  return times;
})""".replace("MOVES", str(MOVES))
# Milliseconds of one call.
TIMED = "(() => {{ const start = performance.now(); {action}; return performance.now() - start; }})()"
ACTIONS = {
    "hover": "actupPage.page.setHovered(...actupPage.page.pointAt(500, 400))",
    "lasso": "actupPage.page.selectInside([[300, 200], [700, 210], [720, 600], [310, 590]], "
    "actupPage.page.bar.views[0].camera)",
    "switch a class off": "actupPage.page.selection.toggle(actupPage.page.selection.off, 0)",
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--points", type=int, nargs="+", default=[60_000, 1_000_000, 5_000_000])
    arguments.add_argument("--renderers", nargs="+", default=["auto"], choices=["auto", "webgl", "canvas"])
    arguments.add_argument("--chromium", default=shutil.which("chromium"))
    options = arguments.parse_args()
    results = saved("page")
    with tempfile.TemporaryDirectory() as folder:
        for n in options.points:
            path, written = write(Path(folder) / f"{n}.html", n)
            for renderer in options.renderers:
                row = written | measure(path, renderer, options.chromium)
                results[f"{n:,} points, {renderer}"] = row
                print(f"{n:,} points, {renderer}:", row, flush=True)
                print("saved", save("page", results, PACKAGES), flush=True)


def write(path: Path, n: int) -> tuple[Path, dict]:
    """Write a page of elongated clusters with one column of classes."""
    generator = np.random.default_rng(0)
    codes = generator.choice(CLASSES, n, p=generator.dirichlet(np.full(CLASSES, 1.5)))
    centers, spread = generator.normal(size=(CLASSES, 2)) * 6, 0.3 + generator.random((CLASSES, 2))
    Y = centers[codes] + generator.normal(size=(n, 2)) * spread[codes]
    start = time.perf_counter()
    write_page(path, Y, codes, title=f"{n:,} points")
    return path, {"megabytes": path.stat().st_size / 1e6, "write_seconds": time.perf_counter() - start}


def measure(path: Path, renderer: str, chromium: str) -> dict:
    """Open a page and use it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=SOFTWARE_WEBGL if renderer == "webgl" else ARGUMENTS
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        start = time.perf_counter()
        page.goto(path.as_uri() + ("" if renderer == "auto" else f"#renderer={renderer}"))
        page.evaluate("() => actupPage.ready")
        opened = time.perf_counter() - start
        wait(page, "actupPage.state().frames.moving > 0")
        first = time.perf_counter() - start
        wait(page, "!actupPage.state().busy")
        row = {
            "open_seconds": opened,
            "first_points_seconds": first,
            "all_points_seconds": time.perf_counter() - start,
        }
        row["painter"] = page.evaluate("() => actupPage.state().renderer")
        row["load_average"] = os.getloadavg()[0]  # other work on the machine delays frames
        for step in ("pan", "zoom"):
            times = page.evaluate(f"() => {MOVE}('{step}')")[MOVES // 6 :]  # without the first, which adapt
            row[f"{step}_frame_ms"] = {
                "median": float(np.median(times)),
                "p95": float(np.percentile(times, 95)),
            }
            wait(page, "!actupPage.state().busy")
        for name, action in ACTIONS.items():
            row[f"{name}_ms"] = page.evaluate(f"() => {TIMED.format(action=action)}")
            wait(page, "!actupPage.state().busy")
        browser.close()
    return row


def wait(page, condition: str) -> None:
    """Poll, because the page's policy forbids what playwright's own waiting does."""
    while not page.evaluate(f"() => {condition}"):
        time.sleep(0.01)


if __name__ == "__main__":
    main()
