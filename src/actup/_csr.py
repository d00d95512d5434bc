"""Check sparse matrices once, before compiled code reads them without any check; leave empty columns out.

SciPy checks a matrix when it is built, but not when its arrays are changed later, and not every id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from actup._device import array_module
from actup._typing import Array, CsrMatrix

_CHUNK_IDS = 2**18
WIDE_COLUMNS = 2**16  # fewer columns take little memory, even if they are empty
_REMEDY = "rebuild the matrix, e.g. scipy.sparse.csr_matrix((values, (rows, columns)), shape)"


def entry_rows(offsets: np.ndarray) -> np.ndarray:
    """The row of each entry of a CSR matrix with these offsets: (entries,) int64."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def read_sparse(matrix: Any, name: str) -> CsrMatrix:
    """Any sparse matrix as CSR, with its structure checked: ids ascend, duplicate entries are summed.

    Parameters
    ----------
    matrix : sparse matrix or array of any format
        Never changed.
    name : str
        What errors call it.

    Returns
    -------
    CSR matrix or array
        The matrix itself if it is that already.
    """
    if not hasattr(matrix, "format"):
        raise TypeError(f"{name} is a {type(matrix).__name__}: give a sparse matrix")
    check_sparse(matrix, name)
    csr = _with_scipys_ids(matrix).tocsr()
    if matrix.format not in ("csr", "csc", "bsr", "coo"):
        _check_structure(csr, name)
    if ids_ascend(csr.indptr, csr.indices):
        return csr
    copied = type(csr)((csr.data, csr.indices, csr.indptr), shape=csr.shape, copy=True)  # flags may be stale
    copied.sum_duplicates()
    return copied


def check_sparse(matrix: Any, name: str) -> None:
    """Reject a sparse matrix of any format that SciPy would not convert to CSR, or out of bounds."""
    if len(matrix.shape) != 2:
        raise ValueError(f"{name} has shape {matrix.shape}: give a matrix of rows and columns")
    if matrix.dtype.kind not in "biufc":
        raise TypeError(
            f"{name} holds {matrix.dtype}, which SciPy does not compute with: use {name}.astype(float)"
        )
    _check_structure(matrix, name)


def _with_scipys_ids(matrix: Any) -> Any:
    """A matrix whose ids are all int32 or all int64: SciPy's conversions reject mixtures and other types."""
    ids: tuple[Any, ...]
    match matrix.format:
        case "csr" | "csc" | "bsr":
            ids = matrix.indices, matrix.indptr
            arrays: Any = (matrix.data, *ids)
        case "coo":
            ids = matrix.row, matrix.col
            arrays = matrix.data, ids
        case _:
            return matrix
    if {part.dtype for part in ids} in ({np.dtype(np.int32)}, {np.dtype(np.int64)}):
        return matrix
    return type(matrix)(arrays, shape=matrix.shape)


def check_compressed(
    offsets: Array, ids: Array, values: int, shape: tuple[int, int], name: str, axes: str = "row column"
) -> None:
    """Reject arrays that are no valid matrix in compressed rows.

    Parameters
    ----------
    offsets : array of shape (rows + 1,)
    ids : array of shape (entries,)
        Of columns. Both arrays may lie on a GPU.
    values : int
        The number of values.
    shape : tuple of int
        Rows and columns.
    name : str
        What errors call the matrix.
    axes : str, default="row column"
        What errors call the two axes.
    """
    row, column = axes.split()
    _check_whole(offsets, f"{name}: its offsets (indptr)")
    _check_whole(ids, f"{name}: its {column} ids (indices)")
    if len(offsets) != shape[0] + 1 or not len(offsets):
        raise ValueError(
            f"{name} has {len(offsets)} offsets (indptr) for {shape[0]} {row}s, which need {shape[0] + 1}: "
            f"{_REMEDY}"
        )
    if int(offsets[0]) != 0:
        raise ValueError(f"{name}: {row} 0 begins at entry {int(offsets[0])} (indptr[0]), not 0: {_REMEDY}")
    decreases = offsets[1:] < offsets[:-1]
    if decreases.any():
        at = int(decreases.argmax())
        raise ValueError(
            f"{name}: {row} {at} ends at entry {int(offsets[at + 1])}, before its begin at "
            f"{int(offsets[at])} (indptr): {_REMEDY}"
        )
    if not int(offsets[-1]) == len(ids) == values:
        raise ValueError(
            f"{name}: the last {row} ends at entry {int(offsets[-1])} (indptr[-1]), but there are {len(ids)} "
            f"{column} ids (indices) and {values} values (data): {_REMEDY}"
        )
    at = _first_outside(ids, shape[1])
    if at >= 0:
        found = int(array_module(offsets).searchsorted(offsets, at, side="right")) - 1
        raise ValueError(
            f"{name}: {row} {found} has an entry in {column} {int(ids[at])}, but the {column}s are 0 to "
            f"{shape[1] - 1}: {_REMEDY}"
        )


def _check_structure(matrix: Any, name: str) -> None:
    """Reject a matrix that SciPy's own conversions would read or write out of bounds with."""
    rows, columns = matrix.shape
    match matrix.format:
        case "csr":
            arrays = _arrays(matrix, name, 1)
            check_compressed(*arrays, (rows, columns), name)
        case "csc":
            arrays = _arrays(matrix, name, 1)
            check_compressed(*arrays, (columns, rows), name, "column row")
        case "bsr":
            arrays = _arrays(matrix, name, 3)
            height, width = matrix.data.shape[1:]
            if not height or not width or rows % height or columns % width:
                raise ValueError(
                    f"{name} of shape {(rows, columns)} cannot have blocks of {(height, width)}: {_REMEDY}"
                )
            check_compressed(*arrays, (rows // height, columns // width), name, "block-row block-column")
        case "coo":
            _check_triplets(matrix, name)
        case "dia":
            if matrix.data.ndim != 2 or matrix.offsets.shape != matrix.data.shape[:1]:
                raise ValueError(
                    f"{name} has diagonals of shape {matrix.data.shape} (data) for {matrix.offsets.shape} "
                    f"offsets: {_REMEDY}"
                )
        case "lil":
            if not len(matrix.rows) == len(matrix.data) == rows:
                raise ValueError(
                    f"{name} has {len(matrix.rows)} lists of column ids and {len(matrix.data)} of values for "
                    f"{rows} rows: {_REMEDY}"
                )
            for row, (ids, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
                if len(ids) != len(values):
                    raise ValueError(
                        f"{name}: row {row} has {len(ids)} column ids and {len(values)} values: {_REMEDY}"
                    )


def _arrays(matrix: Any, name: str, dimensions: int) -> tuple[np.ndarray, np.ndarray, int]:
    if matrix.data.ndim != dimensions:
        raise ValueError(f"{name} has values (data) of {matrix.data.ndim} dimensions: {_REMEDY}")
    return matrix.indptr, matrix.indices, len(matrix.data)


def _check_triplets(matrix: Any, name: str) -> None:
    for ids, count, axis in zip((matrix.row, matrix.col), matrix.shape, ("row", "column"), strict=True):
        _check_whole(ids, f"{name}: its {axis} ids")
        if len(ids) != len(matrix.data):
            raise ValueError(
                f"{name} has {len(ids)} {axis} ids for {len(matrix.data)} values (data): {_REMEDY}"
            )
        at = _first_outside(ids, count)
        if at >= 0:
            raise ValueError(
                f"{name}: entry {at} lies in {axis} {ids[at]}, but the {axis}s are 0 to {count - 1}: "
                f"{_REMEDY}"
            )


def _check_whole(ids: Array, what: str) -> None:
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError(
            f"{what} are {ids.dtype} of shape {ids.shape}, not whole numbers in one dimension: {_REMEDY}"
        )


def _first_outside(ids: Array, count: int) -> int:
    """The position of the first id that is not from 0 to ``count - 1``; -1 if there is none."""
    if not len(ids) or (int(ids.min()) >= 0 and int(ids.max()) < count):
        return -1
    return int(((ids < 0) | (ids >= count)).argmax())


def ids_ascend(offsets: np.ndarray, ids: np.ndarray) -> bool:
    """Whether ids ascend within every row, without duplicates."""
    for begin in range(0, len(ids) - 1, _CHUNK_IDS):
        end = min(begin + _CHUNK_IDS, len(ids) - 1)
        descents = begin + 1 + np.flatnonzero(ids[begin + 1 : end + 1] <= ids[begin:end])
        if (offsets[np.minimum(np.searchsorted(offsets, descents), len(offsets) - 1)] != descents).any():
            return False
    return True


@dataclass(frozen=True)
class NonemptyColumns:
    """The columns of a wide sparse matrix that have entries, ascending; the others need no memory.

    Attributes
    ----------
    kept : ndarray of shape (columns,), int64
    """

    kept: np.ndarray

    def compress(self, rows: CsrMatrix) -> CsrMatrix:
        """Rows in the kept columns, and in one last column that stands for all others.

        The matrix that the columns were found in has no entry there. Other matrices may have several in one
        row, whose sum would mean nothing.
        """
        ids, known = np.empty(rows.nnz, np.int32), np.empty(rows.nnz, bool)
        for begin in range(0, rows.nnz, _CHUNK_IDS):  # Ctrl-C is answered between chunks
            chunk = slice(begin, begin + _CHUNK_IDS)
            at = np.searchsorted(self.kept, rows.indices[chunk])
            known[chunk] = self.kept[np.minimum(at, len(self.kept) - 1)] == rows.indices[chunk]
            ids[chunk] = np.where(known[chunk], at, len(self.kept))
        data = rows.data
        if not known.all():  # ids ascend again
            order = np.lexsort((ids, entry_rows(rows.indptr)))
            ids, data = ids[order], data[order]
        return type(rows)((data, ids, rows.indptr), shape=(rows.shape[0], len(self.kept) + 1))


def _distinct(ids: np.ndarray) -> np.ndarray:
    """The distinct ids, ascending; by sorting, which takes a tenth of the time of NumPy's ``unique``."""
    ascending = np.sort(ids)
    distinct: np.ndarray = ascending[np.concatenate([[True], ascending[1:] != ascending[:-1]])]
    return distinct


def nonempty_columns(rows: CsrMatrix) -> NonemptyColumns | None:
    """The columns with entries, if most of very many columns have none; otherwise None."""
    columns = rows.shape[1]
    if columns <= WIDE_COLUMNS or not rows.nnz:
        return None
    if columns <= rows.nnz:
        present = np.zeros(columns, bool)
        present[rows.indices] = True
        kept = np.flatnonzero(present)
    else:
        kept = _distinct(rows.indices).astype(np.int64)
    return NonemptyColumns(kept) if len(kept) < columns / 2 else None
