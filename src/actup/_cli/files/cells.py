"""Read AnnData files of single cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from actup._cli.files.errors import reading_error
from actup._cli.files.formats import Source
from actup._cli.files.table import Matrix, Table
from actup._cli.reporting import InputError
from actup._csr import read_sparse


def read_h5ad(source: Source) -> Table:
    """Read X, layers and obsm as matrices and obs as columns; rows are identified by their names."""
    try:
        import anndata
    except ImportError:
        raise ImportError(
            f"reading {source.name} needs the package anndata: pip install 'actup[scanpy]'"
        ) from None
    if source.path is None:
        raise InputError(f"{source.name}: h5ad is read from a file on disk only, neither compressed nor -")
    try:
        return _table(anndata.read_h5ad(source.path), source.name)
    except Exception as error:  # h5py and anndata raise many kinds for damaged files
        raise reading_error(source.name, error, "is damaged or no AnnData ({})") from None


def _table(data: Any, name: str) -> Table:
    genes = [str(gene) for gene in data.var_names]
    matrices = {key: Matrix(_rows(rows, key)) for key, rows in data.obsm.items() if np.ndim(rows) == 2}
    if data.X is not None:
        matrices["X"] = Matrix(_rows(data.X, "X"), genes)
    matrices.update({key: Matrix(_rows(rows, key), genes) for key, rows in data.layers.items()})
    columns = {"cell": np.array([str(cell) for cell in data.obs_names], object)}
    for column in data.obs:
        columns[str(column)] = _column(data.obs[column])
    return Table(name, columns, matrices, ids="cell")


def _rows(values: object, name: str) -> object:
    return read_sparse(values, name) if hasattr(values, "tocsr") else np.asarray(values)


def _column(values: object) -> np.ndarray:
    array = np.asarray(values)
    return array.astype(object) if array.dtype.kind in "US" else array
