"""Arrays and ids in groups of zarr and HDF5, such as AnnData: both have the same interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actup._suggestions import closest_name
from actup.distributed._sources._base import ShardError

_PCA = "obsm/X_pca"
_OBS_NAMES = ("obs_names", "_index")
_SPARSE_ENCODINGS = ("csr_matrix", "csc_matrix")
SPARSE_REMEDY = (
    "reduce it to few columns first, such as with sklearn.decomposition.TruncatedSVD or PCA, and give those"
)


def sparse_remedy(known: Sequence[str]) -> str:
    """What to do instead of reading a sparse matrix of an AnnData whose other matrices are known."""
    if _PCA in known:
        return f"give its principal components, columns={_PCA!r}"
    return f"compute principal components (scanpy.pp.pca, then save the AnnData), and give columns={_PCA!r}"


def is_anndata(root: Any) -> bool:
    """Whether a group is an AnnData."""
    return not is_array(root) and _encoding(root) == "anndata"


def is_array(node: Any) -> bool:
    """Whether a node of a store is an array, not a group."""
    return hasattr(node, "shape")


def choose_array(root: Any, columns: Any, name: str) -> str:
    """The path of the array in a group that ``columns`` names; None: the only one with rows and columns."""
    if columns is not None and not isinstance(columns, str):
        raise ValueError(f"columns={columns!r}: give the path of one array in {name}, such as 'obsm/X_pca'")
    known = _matrices(root)
    if columns is None:
        usable = [path for path in known if is_array(root[path]) and len(root[path].shape) == 2]
        if len(usable) == 1 and not is_anndata(root):
            return usable[0]
        if not known:
            raise ValueError(f"{name} holds no matrix of rows and columns")
        if is_anndata(root) and not usable:
            raise TypeError(f"{name} holds no dense matrix: {sparse_remedy(known)}")
        raise ValueError(
            f"{name} is a group of {', '.join(map(repr, known))}: choose one, "
            f"columns={suggested(usable or known)!r}"
        )
    path = columns.strip("/")
    if path not in root:
        close = f"obsm/{path}" if f"obsm/{path}" in known else closest_name(path, known)
        hint = f"did you mean {close!r}?" if close else f"it has {', '.join(map(repr, known)) or 'no matrix'}"
        raise ValueError(f"columns={columns!r} is not in {name}: {hint}")
    node = root[path]
    if _encoding(node) in _SPARSE_ENCODINGS:
        remedy = sparse_remedy(known) if is_anndata(root) else SPARSE_REMEDY
        raise TypeError(f"columns={columns!r} of {name} is a sparse matrix: {remedy}")
    if not is_array(node):
        raise TypeError(f"columns={columns!r} of {name} is no array ({_encoding(node) or 'a group'})")
    return path


def check_id_column(root: Any, id_column: str | None, name: str, rows: int) -> None:
    """Reject an id column that does not exist or has another number of values."""
    if id_column is None:
        return
    if is_array(root):
        raise ValueError(f"id_column={id_column!r}: {name} is an array without ids; leave id_column out")
    path = _id_path(root, id_column)
    if path not in root:
        known = [*(["obs_names"] if "obs" in root else []), *(root["obs"].keys() if "obs" in root else [])]
        close = closest_name(id_column, known)
        hint = f"did you mean {close!r}?" if close else f"it has {', '.join(map(repr, known)) or 'none'}"
        raise ValueError(f"id_column={id_column!r} is not in {name}: {hint}")
    node = root[path]
    values = node if is_array(node) else node.get("codes")
    if values is None or values.shape != (rows,):
        raise ValueError(
            f"id_column={id_column!r} of {name} does not hold one value for each of {rows:,} rows"
        )


def read_ids(root: Any, id_column: str, begin: int, end: int, shard: str) -> np.ndarray:
    """Values of an id column of some rows: numbers, or objects for text."""
    node = root[_id_path(root, id_column)]
    if is_array(node):
        return _values(node, slice(begin, end))
    codes = np.asarray(node["codes"][begin:end])
    if (codes < 0).any():
        raise ShardError(shard, f"id_column={id_column!r} has missing values: fill them")
    values: np.ndarray = _values(node["categories"], slice(None))[codes]
    return values


def _id_path(root: Any, id_column: str) -> str:
    """Where ids are: in ``obs`` of an AnnData, else at a path of their own."""
    if "obs" not in root:
        return id_column
    if id_column in _OBS_NAMES:
        return f"obs/{root['obs'].attrs.get('_index', '_index')}"
    return f"obs/{id_column.removeprefix('obs/')}"


def _values(array: Any, rows: slice) -> np.ndarray:
    if hasattr(array, "asstr") and array.dtype.kind == "O":  # of h5py, which otherwise gives bytes
        return np.asarray(array.asstr()[rows], object)
    values = np.asarray(array[rows])
    return values.astype(object) if values.dtype.kind in "OSTU" else values


def _matrices(root: Any) -> list[str]:
    """The paths of what may be a matrix of rows: of an AnnData X, obsm and layers, else all members."""
    if not is_anndata(root):
        return [str(name) for name in root]
    members = [f"{group}/{name}" for group in ("obsm", "layers") if group in root for name in root[group]]
    return (["X"] if "X" in root else []) + members


def suggested(known: Sequence[str]) -> str:
    """The matrix that is most probably wanted."""
    return _PCA if _PCA in known else known[0]


def _encoding(node: Any) -> Any:
    return node.attrs.get("encoding-type")
