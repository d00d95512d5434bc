"""Read NumPy's files. Nothing in them is ever run: Python objects are rejected."""

from __future__ import annotations

import numpy as np

from actup._array_files import ARRAY_FILE_ERRORS
from actup._cli.files.errors import reading_error
from actup._cli.files.formats import Source
from actup._cli.files.table import Matrix, Table
from actup._cli.reporting import InputError
from actup._csr import read_sparse


def read_npy(source: Source) -> Table:
    """Read one array; a file on disk is mapped into memory, not copied."""
    try:
        if source.path is not None:
            array = np.load(source.path, mmap_mode="r", allow_pickle=False)
        else:
            array = np.load(source.file, allow_pickle=False)
    except (*ARRAY_FILE_ERRORS, OSError, MemoryError) as error:
        raise _damaged(source, error) from None
    return Table(source.name, matrices={"X": Matrix(_as_rows(array, source.name))})


def read_npz(source: Source) -> Table:
    """Read the arrays of an archive: of two and more dimensions as matrices, of one as columns.

    A sparse matrix of ``scipy.sparse.save_npz`` is read as such.
    """
    try:
        with np.load(source.file, allow_pickle=False) as archive:
            if {"indices", "indptr", "data", "format", "shape"} <= set(archive.files):
                for name in ("indices", "indptr"):
                    if archive[name].dtype.kind not in "iu":
                        raise ValueError(f"{name} holds {archive[name].dtype}, not whole numbers")
                source.file.seek(0)
                from scipy.sparse import load_npz

                X = read_sparse(load_npz(source.file), source.name)
                return Table(source.name, matrices={"X": Matrix(X)})
            members = {name: archive[name] for name in archive.files}
            arrays = {name: array for name, array in members.items() if isinstance(array, np.ndarray)}
    except (*ARRAY_FILE_ERRORS, OSError, MemoryError) as error:
        raise _damaged(source, error) from None
    wide = {name: array for name, array in arrays.items() if array.ndim >= 2}
    if not wide:
        raise InputError(f"{source.name} holds no array of rows; its arrays: {', '.join(arrays) or 'none'}")
    matrices = {name: Matrix(_as_rows(array, source.name)) for name, array in wide.items()}
    counts = {matrix.rows.shape[0] for matrix in matrices.values()}
    if len(counts) > 1:
        chosen = Table(source.name, matrices=matrices).matrix(source.hints.array)
        counts = set() if chosen is None else {chosen.rows.shape[0]}
    n = max(counts, default=0)
    columns = {name: array for name, array in arrays.items() if array.shape == (n,)}
    return Table(source.name, columns, {name: m for name, m in matrices.items() if m.rows.shape[0] == n})


def _as_rows(array: np.ndarray, name: str) -> np.ndarray:
    """An array with one row per point: further dimensions, such as those of images, become columns."""
    if array.ndim < 2:
        raise InputError(f"{name} has shape {array.shape}: a map needs rows and columns")
    return array if array.ndim == 2 else array.reshape(len(array), -1)


def _damaged(source: Source, error: Exception) -> Exception:
    if "allow_pickle" in str(error) or "Python objects" in str(error):
        return InputError(
            f"{source.name} holds Python objects, whose reading would run code of the file: save an array of "
            "numbers or text"
        )
    return reading_error(source.name, error, "is damaged or cut off ({})")
