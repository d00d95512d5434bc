"""Screenshots of pages for the documentation: digits, MNIST, words, single cells and a million points.

    python benchmarks/page_pictures.py [--docs docs] [--only digits mnist ...] [--chromium PATH]

Data sets: see `actup datasets`; missing ones are left out. The pictures are docs/pictures/page_*.png.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from page import ARGUMENTS, wait, write

import actup
from actup.datasets import MissingDataset, load
from actup.viewer import write_page

DESKTOP, PHONE = (1280, 800), (390, 844)
WORD = 3607  # guitar
COLORS = 256  # of a saved picture, which makes it a third as large


def digits(path: Path) -> None:
    data = load("digits")
    maps = {"UMAP": actup.UMAP(random_state=0).fit(data.X), "t-SNE": actup.TSNE(random_state=0).fit(data.X)}
    images = data.X.reshape(-1, 8, 8) * (255 / 16)
    write_page(path, maps, data.y, images=images, title="1,797 handwritten digits")


def mnist(path: Path) -> None:
    data = load("mnist")
    X = data.X.reshape(len(data.X), -1)
    model = actup.UMAP(random_state=0).fit(X)
    write_page(path, model, data.y, images=X.reshape(-1, 28, 28), title=f"{len(X):,} digits of MNIST")


def words(path: Path) -> None:
    data = load("word_vectors")
    model = actup.UMAP(metric="cosine", random_state=0).fit(data.X)
    columns = {"frequency rank": range(1, len(data.X) + 1)}
    title = f"The {len(data.X):,} most frequent words"
    write_page(path, model, hover={"word": data.point_names}, columns=columns, title=title)


def cells(path: Path) -> None:
    data = load("single_cell")
    model = actup.UMAP(random_state=0).fit(data.X)
    names = [data.label_names[code] for code in data.y]
    write_page(path, model, names, title=f"{len(data.X):,} cells of lung lavage")


def million(path: Path) -> None:
    write(path, 1_000_000)


# Picture: what writes the page, its state, the size of the window, the theme, and the point that is hovered.
PICTURES = {
    "digits": (digits, "#side=1", DESKTOP, "light", 1234),
    "mnist": (mnist, "", DESKTOP, "light", 24),
    "words": (words, "", DESKTOP, "light", WORD),
    "cells": (cells, "", DESKTOP, "dark", 7),
    "million": (million, "", DESKTOP, "dark", None),
    "phone": (digits, "", PHONE, "light", 70),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--docs", type=Path, default=Path("docs"))
    arguments.add_argument("--only", nargs="+", default=list(PICTURES), choices=list(PICTURES))
    arguments.add_argument("--chromium", default=shutil.which("chromium"))
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            path = Path(folder) / f"{name}.html"
            try:
                PICTURES[name][0](path)
            except MissingDataset as error:
                print(f"{name}: left out ({error})")
                continue
            target = options.docs / "pictures" / f"page_{name}.png"
            photograph(path, target, *PICTURES[name][1:], chromium=options.chromium)
            print(target, f"{target.stat().st_size / 1e3:.0f} kB")


def photograph(
    path: Path, target: Path, state: str, size: tuple, theme: str, hovered: int | None, chromium: str
) -> None:
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = browser.new_page(
            viewport=dict(zip(("width", "height"), size, strict=True)),
            color_scheme=theme,
            device_scale_factor=2 if size == PHONE else 1,
        )
        page.goto(path.as_uri() + state)
        page.evaluate("() => actupPage.ready")
        wait(page, "!actupPage.state().busy")
        if hovered is not None:
            x, y = page.evaluate(f"() => actupPage.screenPosition({hovered})")
            box = page.locator("#stage").bounding_box()
            page.mouse.move(box["x"] + x, box["y"] + y)
        page.wait_for_timeout(500)
        page.screenshot(path=target)
        browser.close()
    picture = Image.open(target).convert("RGB").quantize(COLORS, dither=Image.Dither.FLOYDSTEINBERG)
    picture.save(target, optimize=True)


if __name__ == "__main__":
    main()
