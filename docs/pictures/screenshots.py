"""Take screenshots of interactive pages, wide and on a phone, for docs/showcase.md: ``make screenshots``.

The pages are written by write_page and opened in the Chromium of the system, without a network. Data sets
other than the digits are read from the folder that ACTUP_DATA names; one that is missing is left out.
"""

from __future__ import annotations

import argparse
import io
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import actup
from actup import datasets
from actup.viewer import write_page

FOLDER = Path(__file__).parent / "screenshots"
SCREENS = {"desktop": (1280, 800), "phone": (390, 760)}  # width and height in pixels of the page
SCALE = {"desktop": 1, "phone": 2}  # pixels of the picture per pixel of the page
SETTLE_MILLISECONDS = 2500  # until points and names stand still
QUALITY = 82  # of WebP, from 0 to 100
MAX_ROWS = 60_000
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Show:
    """What one page shows.

    Attributes
    ----------
    title : str
        Title of the page.
    X : ndarray of shape (n, d)
    labels : ndarray of shape (n,), or None
    extras : dict
        Further arguments of write_page.
    parameters : dict
        Parameters of both methods, such as the metric.
    names : list of str or None
        A text per point that names the clusters of the first map; None: no clusters.
    """

    title: str
    X: np.ndarray
    labels: np.ndarray | None = None
    extras: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    names: list[str] | None = None


def digits() -> Show:
    """Images of scikit-learn's digits."""
    data = datasets.load("digits")
    return Show("Handwritten digits", data.X, data.y, {"images": data.X.reshape(-1, 8, 8)})


def mnist() -> Show:
    """Images of MNIST, thumbnails at half their size."""
    data = datasets.load("mnist")
    X, y = data.X[:MAX_ROWS], data.y[:MAX_ROWS]
    images = (255 - X.reshape(-1, 28, 28)[:, ::2, ::2]).astype(np.uint8)
    return Show("MNIST, 60,000 handwritten digits", X, y, {"images": images})


def words() -> Show:
    """Vectors of frequent English words, with the words as texts and as names of clusters."""
    X = datasets.load("word_vectors").X
    with np.load(datasets.locate("word_vectors"), allow_pickle=False) as file:
        texts = bytes(file["words"]).decode("utf-8").split("\n")
    texts = texts[: len(X)]
    return Show("50,000 English words", X, None, {"hover": texts}, {"metric": "cosine"}, texts)


def single_cells() -> Show:
    """Cells of lung lavage, with their types."""
    data = datasets.load("single_cell")
    labels = data.y if data.label_names is None else np.asarray(data.label_names)[data.y]
    return Show("Cells of the lung", data.X, labels)


SHOWS: dict[str, Callable[[], Show]] = {
    "digits": digits,
    "mnist": mnist,
    "words": words,
    "single_cells": single_cells,
}


def main() -> None:
    """Write a page and two pictures for each data set that is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SHOWS, default=list(SHOWS), help="these data sets")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the pictures are written")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        for name in options.only:
            try:
                show = SHOWS[name]()
            except datasets.MissingDataset as reason:
                print(f"{name} is left out: {reason}")
                continue
            page = _write(Path(folder) / f"{name}.html", show)
            for screen in SCREENS:
                path = options.folder / f"{name}_{screen}.webp"
                _take(browser, page, path, screen)
                sizes = f"{path.stat().st_size / 1e3:.0f} kB; html {page.stat().st_size / 1e6:.1f} MB"
                print(f"{path.name}: {sizes}")
        browser.close()


def _write(path: Path, show: Show) -> Path:
    maps = {
        "UMAP": actup.UMAP(random_state=0, **show.parameters).fit(show.X),
        "t-SNE": actup.TSNE(random_state=0, **show.parameters).fit(show.X),
    }
    named = None
    if show.names is not None:  # one mass of points: its densest spots
        named = actup.find_clusters(
            maps["UMAP"], texts=show.names, selection="leaf", min_cluster_size=100, min_samples=10, n_layers=1
        )
    return write_page(path, maps, show.labels, title=show.title, clusters=named, **show.extras)


def _take(browser: Browser, page: Path, path: Path, screen: str) -> None:
    width, height = SCREENS[screen]
    context = browser.new_context(
        viewport={"width": width, "height": height}, device_scale_factor=SCALE[screen], color_scheme="light"
    )
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.wait_for_timeout(SETTLE_MILLISECONDS)
    Image.open(io.BytesIO(tab.screenshot())).convert("RGB").save(path, quality=QUALITY, method=6)
    context.close()


def _chromium() -> str:
    """The path of an installed Chromium."""
    for name in CHROMIUM:
        if found := shutil.which(name):
            return found
    raise SystemExit(f"screenshots need one of {', '.join(CHROMIUM)}: apt install chromium")


if __name__ == "__main__":
    main()
