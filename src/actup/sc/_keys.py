"""What is read from an AnnData and written into it, under the keys of scanpy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from actup._typing import Rows
from actup._warnings import warn_user
from actup.estimators._inputs import RandomState
from actup.neighbors._metrics import canonical_metric

if TYPE_CHECKING:
    from anndata import AnnData


Metric = str | Callable[..., float]

_PCA_COLUMNS = 50  # scanpy's settings.N_PCS: data with more columns are searched in principal components


def writable(adata: Any, copy: bool) -> AnnData:
    """The AnnData to write into: ``adata`` itself, or a copy of it."""
    try:
        from anndata import AnnData
    except ImportError as error:
        raise ImportError("actup.sc needs the package anndata: pip install 'actup[scanpy]'") from error
    if not isinstance(adata, AnnData):
        raise TypeError(
            f"adata is a {type(adata).__name__}, not an AnnData: for arrays, use actup.UMAP or TSNE"
        )
    if not copy:
        return adata
    if adata.isbacked:
        raise ValueError(
            "copy=True would need another file for a backed AnnData: use adata.to_memory() first"
        )
    return adata.copy()


def write(adata: AnnData, **parts: Mapping[str, Any]) -> None:
    """Set keys of ``obsm``, ``obsp`` and ``uns``; a view becomes an AnnData of its own, as in scanpy."""
    from anndata import ImplicitModificationWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplicitModificationWarning)
        for part, entries in parts.items():
            for key, value in entries.items():
                getattr(adata, part)[key] = value


def representation(adata: AnnData, use_rep: str | None, n_pcs: int | None, *, may_compute: bool) -> Rows:
    """The rows that scanpy would compare for these parameters."""
    if use_rep is None and n_pcs != 0 and adata.n_vars > _PCA_COLUMNS:
        if "X_pca" not in adata.obsm:
            _compute_pca(adata, n_pcs, may_compute)
        use_rep = "X_pca"
    if use_rep is None or (use_rep == "X" and "X" not in adata.obsm):
        if adata.isbacked:
            raise ValueError(
                "X lies in the file of this backed AnnData: name a representation in memory, e.g. "
                "use_rep='X_pca', or load it with adata.to_memory()"
            )
        if adata.X is None:
            raise ValueError("adata.X is None: name what to compare with use_rep, a key of obsm")
        return adata.X
    if use_rep not in adata.obsm:
        keys = ", ".join(map(repr, adata.obsm)) or "no keys"
        raise ValueError(f"use_rep={use_rep!r} is not in obsm, which has {keys}: compute it first")
    rows = adata.obsm[use_rep]
    if n_pcs is None:
        return rows
    if n_pcs > rows.shape[1]:
        raise ValueError(
            f"n_pcs={n_pcs}, but obsm[{use_rep!r}] has {rows.shape[1]} columns: lower n_pcs, or compute more"
        )
    return rows.iloc[:, :n_pcs] if hasattr(rows, "iloc") else rows[:, :n_pcs]


def _compute_pca(adata: AnnData, n_pcs: int | None, may_compute: bool) -> None:
    """Compute ``obsm["X_pca"]`` by scanpy, as its own functions do, or as it does where it is missing."""
    missing = f"X has {adata.n_vars} columns and obsm has no 'X_pca'"
    if not may_compute:
        raise ValueError(
            f"{missing}: run scanpy.pp.pca(adata), name a key of obsm with use_rep, or compare all columns "
            "with use_rep='X'"
        )
    rows = representation(adata, "X", None, may_compute=False)  # rejects what is not in memory
    most = min(rows.shape) - 1
    if n_pcs is not None and not 0 < n_pcs <= most:
        raise ValueError(f"n_pcs={n_pcs}, but X has at most {most} principal components: lower n_pcs")
    warn_user(f"{missing}: computing principal components; use_rep='X' would compare all columns")
    try:
        import scanpy
    except ImportError:
        write(adata, obsm={"X_pca": _principal_components(adata, rows, n_pcs)})
    else:
        scanpy.pp.pca(adata, n_comps=n_pcs)


def _principal_components(adata: AnnData, rows: Rows, n_pcs: int | None) -> np.ndarray:
    """What ``scanpy.pp.pca`` stores: of highly variable genes alone, if these are marked."""
    from sklearn.decomposition import PCA

    if "highly_variable" in adata.var:
        rows = rows[:, adata.var["highly_variable"].to_numpy(bool)]
    most = min(rows.shape) - 1
    pca = PCA(min(_PCA_COLUMNS if n_pcs is None else n_pcs, most), svd_solver="arpack", random_state=0)
    components: np.ndarray = pca.fit_transform(rows.astype(np.float64)).astype(np.float32)
    return components


def stored_graph(adata: AnnData, key: str) -> tuple[Any, Mapping[str, Any]]:
    """The weights and parameters that a search of neighbours left under a key."""
    if key not in adata.uns:
        raise ValueError(f"uns has no {key!r}: run actup.sc.neighbors or scanpy.pp.neighbors first")
    stored = adata.uns[key]
    weights = stored.get("connectivities_key", "connectivities")
    if weights not in adata.obsp:
        raise ValueError(
            f"obsp has no {weights!r}, which uns[{key!r}] names: run actup.sc.neighbors or "
            "scanpy.pp.neighbors again"
        )
    params = stored.get("params", {})
    if params.get("method") != "umap":
        warn_user(f"obsp[{weights!r}] was not computed with method='umap': the map shows it as it is")
    return adata.obsp[weights], params


def rows_of_graph(adata: AnnData, params: Mapping[str, Any]) -> tuple[Rows | None, dict[str, Any]]:
    """The rows that neighbours were searched among, which only the start uses, and their metric.

    None if they are no longer there: the graph is enough.
    """
    metric = params.get("metric", "euclidean")
    try:
        X = representation(adata, params.get("use_rep"), params.get("n_pcs"), may_compute=False)
        name = canonical_metric(metric)
    except (TypeError, ValueError):
        return None, {}
    if not isinstance(name, str) or name in ("precomputed", "nan_euclidean") or X.shape[0] != adata.n_obs:
        return None, {}
    return X, {"metric": name, "metric_kwds": dict(params.get("metric_kwds") or {})}


def recorded_seed(random_state: RandomState, seed: int) -> int:
    """What to write about the seed: files hold neither None nor a generator, but the number it drew."""
    return random_state if isinstance(random_state, int) else seed
