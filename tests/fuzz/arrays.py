"""Draw rows of every shape, type, order in memory and container; most of them are small and usable."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .matrices import draw_matrix

TYPES = (
    ["f4"] * 6 + ["f8"] * 6 + ["f2", "g", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?", ">f4", ">f8"]
)
TYPES += [">i4", "c16", "O", "M8[s]", "m8[ns]", "U3", "S2"]
EXTREMES = [np.nan, np.inf, -np.inf, 1e30, -1e38, 1e39, 1e300, 1e-40, 5e-324, -0.0, 65504.0, 2.0**53]


def draw_generator(draw: random.Random) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(draw.getrandbits(32)))


def draw_count(draw: random.Random) -> int:
    """A number of rows: mostly 5 to 40, seldom none, seldom some hundreds."""
    kind = draw.random()
    if kind < 0.08:
        return draw.randrange(5)
    return draw.randrange(5, 41) if kind < 0.985 else draw.randrange(41, 400)


def draw_columns(draw: random.Random) -> int:
    kind = draw.random()
    return draw.randrange(1, 9) if kind < 0.93 else draw.choice([0, 1, 16, 17, 65, 130])


def draw_values(draw: random.Random, n: int, columns: int) -> np.ndarray:
    """Float64 values of many distributions."""
    rng = draw_generator(draw)
    match draw.randrange(12):
        case 0:
            values = rng.integers(0, 3, (n, columns)).astype(np.float64)
        case 1:
            values = np.full((n, columns), draw.choice([0.0, 1.0, -3.5, 1e20]))
        case 2:
            values = rng.normal(size=(max(1, n // 3), columns))[rng.integers(0, max(1, n // 3), n)]
        case 3:
            values = rng.normal(size=(n, columns)) * 10.0 ** draw.choice([-42, -30, -10, 10, 25, 37, 150])
        case 4:
            values = rng.normal(size=(n, columns)) + 10.0 ** draw.choice([3, 8, 15])
        case 5:
            values = rng.normal(size=(n, columns)) * 10.0 ** rng.integers(-8, 8, columns)
        case 6:
            values = rng.random((n, columns)) * (rng.random((n, columns)) < 0.3)
        case 7:
            values = rng.normal(size=(n, columns)) + 1e6 * (np.arange(n)[:, None] >= n // 2)
        case _:
            values = rng.normal(size=(n, columns))
    if values.size and draw.random() < 0.05:
        values[draw.randrange(n), draw.randrange(columns)] = draw.choice(EXTREMES)
    return values


def convert(values: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        if dtype in ("M8[s]", "m8[ns]"):
            return np.nan_to_num(values, posinf=0, neginf=0).clip(-1e9, 1e9).astype("i8").astype(dtype)
        return values.astype(dtype)


def arrange(array: np.ndarray, draw: random.Random) -> np.ndarray:
    """The same values in another order in memory."""
    match draw.randrange(9):
        case 0:
            return np.asfortranarray(array)
        case 1:
            return np.repeat(array, 2, axis=0)[::2]
        case 2:
            return np.ascontiguousarray(array[::-1])[::-1]
        case 3:
            wide = np.zeros((len(array), array.shape[1] + 3), array.dtype)
            wide[:, 1:-2] = array
            return wide[:, 1:-2]
        case 4 if array.dtype != object and array.size:
            shifted = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
            shifted[...] = array
            return shifted
        case 5:
            array.flags.writeable = False
    return array


def contain(array: np.ndarray, draw: random.Random) -> Any:
    """The same rows in another container."""
    import pandas as pd
    import polars as pl

    match draw.randrange(6):
        case 0:
            return array.tolist()
        case 1 if array.shape[1]:
            native = array.astype(array.dtype.newbyteorder("="))  # pandas selects no rows of others
            return pd.DataFrame(native, columns=[f"column {i}" for i in range(array.shape[1])])
        case 2 if array.dtype.kind in "fiu" and array.dtype.str[0] != ">" and array.itemsize in (4, 8):
            return pl.DataFrame({f"c{i}": np.ascontiguousarray(array[:, i]) for i in range(array.shape[1])})
        case 3:
            return np.ma.masked_array(array, draw_generator(draw).random(array.shape) < draw.choice([0, 0.1]))
        case 4:
            return [row for row in array]  # noqa: C416 (a list of arrays)
        case _:
            return np.asmatrix(array)


def draw_nonsense(draw: random.Random, n: int) -> Any:
    """What is no table of numbers."""
    return draw.choice([
        None, 3, "X", b"abc", [], [[]], {}, object(), np.zeros(n), np.zeros((n, 2, 2)), np.float64(3),
        [[1, 2], [3]], [["a", "b"]] * max(n, 1), [[1, None]] * max(n, 1), [{"a": 1}] * max(n, 1), range(n),
        np.full((n, 2), None), np.zeros((n, 2), [("a", "f4")]), np.zeros((3, 0)),
        np.full((n, 2), 10**400, object), [[10**400, 1]] * max(n, 1), np.full((n, 2), -(10**30), object),
        iter([1, 2]), lambda: None, np.array(["x"] * n), (1, 2, 3), {"a": [1, 2]}, np.zeros((0, 3)),
    ])  # fmt: skip


def draw_rows(draw: random.Random, n: int | None = None, columns: int | None = None) -> Any:
    """Rows: a fifth of them are unusual, some are no rows at all."""
    n = draw_count(draw) if n is None else n
    columns = draw_columns(draw) if columns is None else columns
    kind = draw.random()
    if kind < 0.03:
        return draw_nonsense(draw, n)
    if kind < 0.13:
        return draw_matrix(draw, draw_values(draw, n, columns))
    array = convert(draw_values(draw, n, columns), draw.choice(TYPES) if kind < 0.6 else "f4")
    if kind < 0.25:
        return contain(array, draw)
    return arrange(array, draw) if kind < 0.6 else array


def draw_places(draw: random.Random, n: int, dimensions: int = 2) -> Any:
    """A map of n points, mostly a good one."""
    kind = draw.random()
    if kind < 0.7:
        return draw_generator(draw).normal(size=(n, dimensions)).astype(draw.choice(["f4", "f8"]))
    return draw_rows(draw, n if kind < 0.9 else None, dimensions if kind < 0.9 else None)


def draw_labels(draw: random.Random, n: int) -> Any:
    """Labels of n rows, or of another number of rows."""
    n = n if draw.random() < 0.9 else max(0, n + draw.choice([-1, 1]))
    rng = draw_generator(draw)
    codes = rng.integers(-1, 4, n)
    return draw.choice([
        codes, codes.astype(np.float64), codes.tolist(), rng.normal(size=n), codes.astype(str),
        np.array([None, "a", "b", "c", float("nan")], object)[codes], codes > 0, codes.astype("M8[D]"),
        np.full(n, np.nan), np.full(n, -1), codes[:, None], rng.normal(size=(n, 2)), "labels", 3,
        codes.astype(np.uint8), np.array([1, "a", 2.5, None, True], object)[codes], np.full(n, 1e300),
        np.ma.masked_array(codes, codes == draw.choice([-9, 1])), np.full(n, 10**400, object),
    ])  # fmt: skip


def draw_graph_of_neighbors(draw: random.Random, n: int) -> Any:
    """Lists of neighbours for ``precomputed_knn``, right and wrong."""
    rng, k = draw_generator(draw), draw.randrange(1, 8)
    ids = rng.integers(0, max(1, n), (n, k))
    if draw.random() < 0.6 and n > k:
        ids = (np.arange(n)[:, None] + np.arange(k)) % n
    distances = np.sort(rng.random((n, k)), axis=1)
    if n and draw.random() < 0.3:
        ids[draw.randrange(n), draw.randrange(k)] = draw.choice([-1, n, 2**31, 2**62, -(2**40)])
    if n and draw.random() < 0.3:
        distances[draw.randrange(n), draw.randrange(k)] = draw.choice([*EXTREMES, -1.0])
    return draw.choice([
        (ids, distances), (ids.astype(np.int32), distances.astype(np.float32)), (ids, distances, None),
        [ids, distances], (ids,), (ids, distances[:, :-1]), (ids[:-1], distances[:-1]), "knn",
        (None, None, None),
        (ids.astype(float), distances), (ids.tolist(), distances.tolist()), (ids.astype(object), distances),
        (np.full(ids.shape, 10**400, object), distances), (ids, np.full(ids.shape, 10**400, object)),
        (np.ma.masked_array(ids, ids == 0), distances), (ids, np.ma.masked_array(distances, distances > 0.5)),
    ])  # fmt: skip
