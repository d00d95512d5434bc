"""The source of an AnnData object: of its file if it is backed, else of what it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from actup._suggestions import closest_name
from actup.distributed._sources._base import Source
from actup.distributed._sources._dask import DaskSource, dask_array_source
from actup.distributed._sources._groups import sparse_remedy, suggested
from actup.distributed._sources._hdf5 import hdf5_source
from actup.distributed._sources._memory import memory_source


def is_anndata_object(source: Any) -> bool:
    """Whether an object is an AnnData."""
    return hasattr(source, "obsm") and hasattr(source, "obs_names")


def anndata_source(
    data: Any,
    columns: Any,
    id_column: str | None,
    shard_rows: int,
) -> Source | DaskSource:
    """The source of a matrix of an AnnData.

    Parameters
    ----------
    data : AnnData
        If it is backed, rows are read from its file, by every worker for itself.
    columns : str or None
        ``"X"``, ``"obsm/KEY"`` or ``"layers/KEY"``.
    id_column : str or None
        ``"obs_names"`` or a column of ``obs``.
    shard_rows : int
    """
    if data.isbacked:
        if data.is_view:
            raise ValueError(
                "source is a view of a backed AnnData, whose file holds other rows: write the view to a file "
                "of its own, source.copy(filename)"
            )
        return hdf5_source(str(data.filename), columns, id_column, shard_rows)
    matrix = _matrix(data, columns)
    if hasattr(matrix, "__dask_graph__"):
        if id_column is not None:
            raise ValueError(f"id_column={id_column!r}: an array of dask has no ids; leave id_column out")
        return dask_array_source(matrix)
    if sparse.issparse(matrix):
        remedy = sparse_remedy([f"obsm/{key}" for key in data.obsm])
        raise TypeError(f"columns={columns!r} of source is a sparse matrix: {remedy}")
    ids = None
    if id_column is not None:
        if id_column != "obs_names" and id_column not in data.obs:
            known = ["obs_names", *map(str, data.obs)]
            hint = closest_name(id_column, known) or ", ".join(known)
            raise ValueError(f"id_column={id_column!r} is not in source.obs: did you mean {hint}?")
        ids = np.asarray(data.obs_names if id_column == "obs_names" else data.obs[id_column])
    return memory_source(np.asarray(matrix), shard_rows, ids)


def _matrix(data: Any, columns: Any) -> Any:
    known = [
        *(["X"] if data.X is not None else []),
        *(f"obsm/{key}" for key in data.obsm),
        *(f"layers/{key}" for key in data.layers),
    ]
    if columns is None:
        dense = [path for path in known if not sparse.issparse(_member(data, path))]
        if not dense:
            raise TypeError(f"source holds no dense matrix: {sparse_remedy(known)}")
        raise ValueError(
            f"source is an AnnData with {', '.join(map(repr, known))}: choose one, "
            f"columns={suggested(dense)!r}"
        )
    if columns not in known:
        meant = f"obsm/{columns}" if f"obsm/{columns}" in known else closest_name(columns, known)
        hint = f"did you mean {meant!r}?" if meant else f"give one of {', '.join(map(repr, known))}"
        raise ValueError(f"columns={columns!r} is no matrix of the AnnData: {hint}")
    return _member(data, columns)


def _member(data: Any, path: str) -> Any:
    group, _, key = path.partition("/")
    return data.X if group == "X" else getattr(data, group)[key]
