"""Pack small pictures of the points into PNG sheets, using only NumPy and the standard library."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# Large enough to compress well, small enough that a browser decodes a sheet without a noticeable delay.
_PIXELS_PER_SHEET = 1 << 20


def pack_images(images: ArrayLike, n: int) -> dict[str, Any]:
    """Pack one picture per point into sheets for the page.

    Parameters
    ----------
    images : array-like of shape (n, height, width) or (n, height, width, channels)
        Grey, or 3 (RGB) or 4 (RGBA) channels. Pictures of dtype uint8 are used unchanged; any other dtype is
        scaled so that the smallest value becomes 0 and the largest 255.
    n : int
        Number of points.

    Returns
    -------
    dict
        ``width``, ``height``, ``columns``, ``per_sheet`` and ``sheets`` (PNG files in base64).
    """
    try:
        pixels = np.asarray(images)
    except ValueError:
        raise ValueError("images have different shapes: give all pictures one width and one height") from None
    if pixels.ndim == 3:
        pixels = pixels[..., None]
    if pixels.ndim != 4 or len(pixels) != n or pixels.shape[3] not in (1, 3, 4) or 0 in pixels.shape:
        raise ValueError(
            f"images must have shape ({n}, height, width) or ({n}, height, width, 3 or 4), one picture for "
            f"each of the {n} points; got shape {np.shape(images)}"
        )
    pixels = _to_bytes(pixels)
    _, height, width, channels = pixels.shape
    columns = max(1, int(math.sqrt(_PIXELS_PER_SHEET) // width))
    per_sheet = columns * max(1, int(_PIXELS_PER_SHEET // (columns * width * height)))
    sheets = []
    for start in range(0, n, per_sheet):
        part = pixels[start : start + per_sheet]
        rows = math.ceil(len(part) / columns)
        tiles = np.zeros((rows * columns, height, width, channels), np.uint8)
        tiles[: len(part)] = part
        sheet = tiles.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
        png = _png(sheet.reshape(rows * height, columns * width, channels))
        sheets.append(base64.b64encode(png).decode("ascii"))
    return {"width": width, "height": height, "columns": columns, "per_sheet": per_sheet, "sheets": sheets}


def _to_bytes(pixels: np.ndarray) -> np.ndarray:
    if pixels.dtype == np.uint8:
        return pixels
    pixels = pixels.astype(np.float64)
    if not np.isfinite(pixels).all():
        raise ValueError("images hold NaN or infinite values; replace them first")
    low, high = pixels.min(), pixels.max()
    scaled: np.ndarray = np.rint((pixels - low) * (255.0 / (high - low if high > low else 1.0)))
    return scaled.astype(np.uint8)


def _png(pixels: np.ndarray) -> bytes:
    """Encode pixels of shape (height, width, channels), uint8, as a PNG file."""
    height, width, channels = pixels.shape
    color_type = {1: 0, 3: 2, 4: 6}[channels]
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each line starts with its filter: 0, none
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
