"""Draw sparse matrices, whole and malformed: unsorted, duplicated and wild ids, lying offsets, odd types."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from scipy import sparse

FORMATS = ["csr"] * 5 + ["csc", "coo", "bsr", "dia", "lil", "dok"]
WILD = [-1, 0, 1, 7, 1000, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, -(2**63)]


def draw_matrix(draw: random.Random, values: np.ndarray) -> Any:
    """These values as a sparse matrix or array, which in a third of the cases is malformed."""
    with np.errstate(all="ignore"):
        dtype = draw.choice(["f4", "f4", "f8", "f8", "i4", "i8", "u1", "?", "g", "c8"])
        csr = sparse.csr_array(values.astype(dtype))
    matrix = csr if draw.random() < 0.5 else sparse.csr_matrix(csr)
    if draw.random() < 0.35:
        return malform(matrix, draw)
    kind = draw.choice(FORMATS)
    return matrix if kind == "csr" else matrix.asformat(kind)


def malform(matrix: Any, draw: random.Random) -> Any:
    """Change the arrays of a CSR matrix in place, as SciPy lets anybody do."""
    for _ in range(draw.choice([1, 1, 2, 3])):
        _malform_once(matrix, draw)
    return matrix


def _malform_once(matrix: Any, draw: random.Random) -> None:
    ids, offsets, data = matrix.indices.copy(), matrix.indptr.copy(), matrix.data.copy()
    ids.flags.writeable = offsets.flags.writeable = True
    match draw.randrange(11):
        case 0:  # ids do not ascend; the matrix may claim that they do
            ids = ids[::-1].copy()
            matrix.has_sorted_indices = draw.random() < 0.5
        case 1 if len(ids) and ids.dtype.kind == "i":
            ids[:] = draw.choice([0, int(ids[0]), matrix.shape[1] - 1])  # duplicates
            matrix.has_canonical_format = draw.random() < 0.5
        case 2 if len(ids) and ids.dtype.kind == "i":
            wide = ids.astype(np.int64)
            wide[draw.randrange(len(ids))] = draw.choice(WILD)
            ids = wide
        case 3 if len(ids) and ids.dtype.kind == "i":
            ids = ids.astype(np.int32)
            ids[draw.randrange(len(ids))] = draw.choice([n for n in WILD if abs(n) < 2**31])
        case 4 if len(offsets):
            wide = offsets.astype(np.int64)
            wide[draw.randrange(len(offsets))] = draw.choice(WILD)
            offsets = wide
        case 5:
            offsets = offsets[: draw.randrange(len(offsets) + 1)]
        case 6:
            ids, offsets = ids.astype(np.int64), offsets.astype(np.int64)
        case 7 if ids.dtype.kind == "i":
            kind = draw.choice(["f4", "u1", "i2", "u8", "O"])
            with np.errstate(all="ignore"):
                ids = ids.astype(kind)
        case 8:
            data = data[: draw.randrange(len(data) + 1)]
        case 9 if len(data) and data.dtype.kind == "f":
            data[draw.randrange(len(data))] = draw.choice([np.nan, np.inf, -1.0, 0.0, 3e38, 1e-45])
        case _:
            matrix._shape = (matrix.shape[0] + draw.choice([-1, 0, 1, 10]), max(0, matrix.shape[1] - 1))
    matrix.indices, matrix.indptr, matrix.data = ids, offsets, data


def draw_graph(draw: random.Random, n: int) -> Any:
    """A graph of n points as a symmetric matrix of weights, often malformed or not quite symmetric."""
    rng = np.random.Generator(np.random.PCG64(draw.getrandbits(32)))
    dense = rng.random((n, n)) * (rng.random((n, n)) < draw.choice([0.0, 0.1, 0.4, 1.0]))
    dense = np.maximum(dense, dense.T)
    if draw.random() < 0.8:
        np.fill_diagonal(dense, 0)
    if n and draw.random() < 0.1:
        dense[draw.randrange(n), draw.randrange(n)] = draw.choice([-1, np.nan, np.inf, 1e39, 1e-45, 2])
    kind = draw.random()
    if kind < 0.1:
        return draw.choice([None, "graph", dense, 3, sparse.csr_matrix((n, n + 1)), []])
    with np.errstate(over="ignore"):
        matrix = sparse.csr_matrix(dense.astype(draw.choice(["f4", "f8"]), copy=False))
    return malform(matrix, draw) if kind < 0.4 else matrix.asformat(draw.choice(FORMATS))
