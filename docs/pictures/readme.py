"""Draw the picture and the animation of the README from scikit-learn's digits: ``make pictures``."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from PIL import Image
from sklearn.datasets import load_digits

import actup

FOLDER = Path(__file__).parent
DPI = 100
INK, QUIET_INK, TRACK = "#22252b", "#6b7280", "#d8dbe0"

# The animation: maps at these factors of the attraction, with frames between them.
FACTORS = np.geomspace(1.0, 4.0, 8)
FRAMES_BETWEEN_MAPS = 5
FRAME_MILLISECONDS = 60
PAUSE_MILLISECONDS = 1200  # at both ends
SIDE_INCHES = 5.6
QUALITY = 70  # of WebP, from 0 to 100


def main() -> None:
    """Write both files and print their sizes."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--folder", type=Path, default=FOLDER, help="where the files are written")
    folder = arguments.parse_args().folder
    X, digits = load_digits(return_X_y=True)
    for path in (
        draw_first_map(folder / "first_map.png", X, digits),
        draw_slider(folder / "slider.webp", X, digits),
    ):
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def draw_first_map(path: Path, X: np.ndarray, digits: np.ndarray) -> Path:
    """Draw the map of the README's five lines."""
    figure, axes = _square_figure(SIDE_INCHES)
    actup.plot(actup.UMAP(random_state=0).fit_transform(X), digits, ax=axes)
    figure.savefig(path, dpi=2 * DPI)
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


def draw_slider(path: Path, X: np.ndarray, digits: np.ndarray) -> Path:
    """Draw the slider from t-SNE to UMAP, there and back, as an animated WebP."""
    recipe = actup.preset("tsne")
    maps = actup.embed_many(X, [recipe.but(late_exaggeration=float(factor)) for factor in FACTORS], seed=0)
    stops = [_fitted(Y) for Y in maps.aligned.values()]
    frames = [_draw_frame(stops, digits, step / FRAMES_BETWEEN_MAPS)
              for step in range(FRAMES_BETWEEN_MAPS * (len(stops) - 1) + 1)]  # fmt: skip
    there_and_back = frames + frames[-2:0:-1]
    durations = [FRAME_MILLISECONDS] * len(there_and_back)
    durations[0] = durations[len(frames) - 1] = PAUSE_MILLISECONDS
    there_and_back[0].save(path, save_all=True, append_images=there_and_back[1:], duration=durations, loop=0,
                           quality=QUALITY, method=6, minimize_size=True)  # fmt: skip
    return path


def _fitted(Y: np.ndarray) -> np.ndarray:
    """A map whose bulk fills the square from -1 to 1."""
    low, high = np.quantile(Y, [0.005, 0.995], axis=0)
    return (Y - (low + high) / 2) / ((high - low).max() / 2)


def _draw_frame(stops: list[np.ndarray], digits: np.ndarray, position: float) -> Image.Image:
    """The map at a position between two stops, with the slider under it."""
    before = min(int(position), len(stops) - 2)
    share = position - before
    figure, axes = _square_figure(SIDE_INCHES, foot=0.12)
    Y = (1 - share) * stops[before] + share * stops[before + 1]
    actup.plot(Y, digits, ax=axes, names="none", view="all", note=False)
    for digit in np.unique(digits):  # at the median, which moves without jumps
        place = np.median(Y[digits == digit], axis=0)
        text = axes.text(*place, str(digit), ha="center", va="center", fontsize=13, color=INK, weight="bold")
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])
    axes.set_aspect("equal", adjustable="box")
    axes.set(xlim=(-1.22, 1.22), ylim=(-1.08, 1.08))
    _draw_knob(figure, position / (len(stops) - 1))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())


def _draw_knob(figure: Figure, share: float) -> None:
    axes = figure.add_axes((0.18, 0.0, 0.56, 0.12))
    axes.set(xlim=(-0.02, 1.02), ylim=(0, 1))
    axes.axis("off")
    axes.plot([0, 1], [0.5, 0.5], color=TRACK, linewidth=4, solid_capstyle="round")
    axes.plot([share], [0.5], marker="o", markersize=13, color=INK, clip_on=False)
    for x, text, side in ((-0.07, "t-SNE", "right"), (1.07, "like UMAP", "left")):
        axes.text(x, 0.48, text, ha=side, va="center", fontsize=12, color=QUIET_INK, clip_on=False)


def _square_figure(inches: float, foot: float = 0.0) -> tuple[Figure, Axes]:
    """A white square with axes that fill it, above a foot of this share of its height."""
    figure = Figure(figsize=(inches, inches), facecolor="white", dpi=DPI)
    return figure, figure.add_axes((0.01, foot, 0.98, 0.99 - foot))


if __name__ == "__main__":
    main()
