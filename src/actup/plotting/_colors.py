"""Colours of a map, safe for colour-blind readers: a palette of any length for classes, a ramp for values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

# Twelve colours that stand out on white and on near-black: those of Okabe and Ito (2008) except black, then
# five that colour-blind readers can also tell apart from these.
CATEGORICAL = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#56b4e9",
    "#cc79a7",
    "#dfca2a",
    "#64329e",
    "#9c3418",
    "#7adbbd",
    "#6f8cff",
    "#a3156f",
)
# Nine stops of viridis without its darkest and brightest ends, which would not stand out on black or white.
SEQUENTIAL = (
    "#472d7b",
    "#3f4889",
    "#33638d",
    "#287d8e",
    "#1f978b",
    "#2eb37c",
    "#5ec962",
    "#a2da37",
    "#e5e419",
)
MISSING = "#9a9a9a"
OTHER = "#6f7680"  # of all classes that have no colour of their own
_MAX_DISTINCT_COLORS = 256  # a palette with more classes repeats its colours

_LINEAR_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LMS_TO_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# Linear RGB as seen with normal, protanopic and deuteranopic vision (Machado, Oliveira and Fernandes, 2009,
# severity 1).
_VISIONS = (
    np.eye(3),
    np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
)


def categorical_palette(count: int) -> list[str]:
    """Return colours for ``count`` classes; a longer palette starts with every shorter one.

    The first twelve are chosen by hand. Each further colour is the candidate farthest from all before it; the
    distance is the smallest of those seen with normal, protanopic and deuteranopic vision. Nobody can tell a
    hundred colours apart: with many classes, names on the map identify a class, and colours only separate it
    from its neighbours.

    Parameters
    ----------
    count : int
        Number of classes.

    Returns
    -------
    list of str
        ``count`` colours as ``"#rrggbb"``.
    """
    if count <= len(CATEGORICAL):
        return list(CATEGORICAL[:count])
    distinct = _extended_palette(min(count, _MAX_DISTINCT_COLORS))
    return [distinct[index % len(distinct)] for index in range(count)]


def ramp(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the colours of values along the sequential ramp.

    Parameters
    ----------
    values : ndarray of shape (n,)
    low, high : float
        The values at the two ends; values outside take the colour of the nearer end.

    Returns
    -------
    ndarray of shape (n, 3), uint8
    """
    stops = _to_rgb(SEQUENTIAL)
    position = np.clip((values - low) / (high - low if high > low else 1.0), 0.0, 1.0)
    where = np.linspace(0.0, 1.0, len(stops))
    return np.stack([np.rint(255 * np.interp(position, where, stops[:, c])) for c in range(3)], 1).astype(
        np.uint8
    )


def color_distances(colors: Sequence[str]) -> np.ndarray:
    """Return the OKLab distances between colours, each with the vision that makes it smallest: (n, n)."""
    seen = _as_seen(_to_rgb(colors))
    return np.asarray(np.linalg.norm(seen[:, :, None] - seen[:, None], axis=3).min(axis=0))


@lru_cache(maxsize=8)
def _extended_palette(count: int) -> tuple[str, ...]:
    """Extend the twelve colours to ``count`` by farthest-point selection among a grid of RGB colours."""
    levels = np.linspace(0.0, 1.0, 18)
    candidates = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), -1).reshape(-1, 3)
    lightness, *opponents = _oklab(candidates).T
    # Reject colours too pale for white, too dark for black, close to the grey of missing labels, or garish.
    chroma = np.hypot(*opponents)
    candidates = candidates[(lightness > 0.42) & (lightness < 0.84) & (chroma > 0.06) & (chroma < 0.22)]
    seen = _as_seen(candidates)
    palette = list(CATEGORICAL)
    nearest = np.full(len(candidates), np.inf)
    for color in _as_seen(_to_rgb([*CATEGORICAL, MISSING, "#ffffff", "#111111"])).swapaxes(0, 1):
        nearest = np.minimum(nearest, _distance(seen, color))
    while len(palette) < count:
        best = int(np.argmax(nearest))
        palette.append("#" + "".join(f"{round(255 * channel):02x}" for channel in candidates[best]))
        nearest = np.minimum(nearest, _distance(seen, seen[:, best]))
    return tuple(palette)


def _to_rgb(colors: Sequence[str]) -> np.ndarray:
    """Convert ``"#rrggbb"`` to numbers from 0 to 1, shape (n, 3)."""
    return np.array([[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in colors])


def to_linear(rgb: np.ndarray) -> np.ndarray:
    """Undo the gamma curve of sRGB."""
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def to_srgb(linear: np.ndarray) -> np.ndarray:
    """Apply the gamma curve of sRGB."""
    linear = np.clip(linear, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def linear_rgb(colors: Sequence[str]) -> np.ndarray:
    """Convert ``"#rrggbb"`` to linear light from 0 to 1, shape (n, 3)."""
    return to_linear(_to_rgb(colors))


def _oklab(rgb: np.ndarray, vision: np.ndarray = _VISIONS[0]) -> np.ndarray:
    seen = np.clip(to_linear(rgb) @ vision.T, 0.0, 1.0)
    return np.asarray(np.cbrt(seen @ _LINEAR_TO_LMS.T) @ _LMS_TO_OKLAB.T)


def _as_seen(rgb: np.ndarray) -> np.ndarray:
    """Return the OKLab coordinates of colours with every kind of vision, shape (visions, n, 3)."""
    return np.stack([_oklab(rgb, vision) for vision in _VISIONS])


def _distance(seen: np.ndarray, color: np.ndarray) -> np.ndarray:
    """Return the distance of every candidate to one colour, with the vision that makes it smallest."""
    return np.asarray(np.linalg.norm(seen - color[:, None, :], axis=2).min(axis=0))
