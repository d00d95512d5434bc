"""neighbors(): the nearest neighbours of cells and their weights, as ``scanpy.pp.neighbors``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from actup._device import to_host
from actup._suggestions import explain_unknown_keywords
from actup._threads import count_threads
from actup._warnings import warn_user
from actup.backends import choose_backend, load_backend
from actup.estimators._inputs import RandomState, draw_seed
from actup.graph._records import Neighbors
from actup.neighbors import nearest_neighbors
from actup.neighbors._metric_parameters import check_parameters
from actup.neighbors._metrics import canonical_metric
from actup.recipe._presets import preset
from actup.sc._keys import Metric, recorded_seed, representation, writable, write

if TYPE_CHECKING:
    from anndata import AnnData


@explain_unknown_keywords({"k": "n_neighbors", "metric_params": "metric_kwds", "seed": "random_state"})
def neighbors(
    adata: AnnData,
    n_neighbors: int = 15,
    n_pcs: int | None = None,
    *,
    use_rep: str | None = None,
    knn: bool = True,
    method: str = "umap",
    metric: Metric = "euclidean",
    metric_kwds: Mapping[str, Any] | None = None,
    random_state: RandomState = 0,
    key_added: str | None = None,
    copy: bool = False,
    n_jobs: int | None = None,
    backend: str = "cpu",
) -> AnnData | None:
    """Search the nearest neighbours of every cell and weigh them as UMAP does, as ``scanpy.pp.neighbors``.

    Parameters
    ----------
    adata : AnnData
        The cells.
    n_neighbors : int, default=15
        Size of the neighbourhood, the cell itself included. If there are fewer cells, it becomes half their
        number, with a warning.
    n_pcs : int, default=None
        Use this many columns of ``use_rep`` or ``obsm["X_pca"]``; 0: ``X`` itself. None: all columns.
    use_rep : str, default=None
        What to compare: a key of ``obsm``, or "X". None: ``X`` if it has at most 50 columns, else
        ``obsm["X_pca"]``, which is computed with a warning if it is missing.
    knn : bool, default=True
        Only True: weights of all pairs are scanpy's own.
    method : str, default="umap"
        Only "umap": other weights are scanpy's own.
    metric : str or callable, default="euclidean"
        A metric of ``actup.nearest_neighbors``.
    metric_kwds : dict, default=None
        Parameters of the metric.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the approximate search on a CPU.
    key_added : str, default=None
        Write ``uns[key_added]``, ``obsp[f"{key_added}_distances"]`` and
        ``obsp[f"{key_added}_connectivities"]`` instead of the names below.
    copy : bool, default=False
        Return a copy of ``adata`` with the results instead of writing into it.
    n_jobs : int, default=None
        Number of threads; None and -1: one per core that this process may use.
    backend : {"cpu", "cuda", "auto"}, default="cpu"
        Where to compute.

    Returns
    -------
    AnnData or None
        None unless ``copy``. Written are

        - ``obsp["distances"]``: CSR matrix of the distances to the ``n_neighbors - 1`` nearest other cells,
        - ``obsp["connectivities"]``: symmetric CSR matrix of the weights,
        - ``uns["neighbors"]``: the two keys, and the parameters under "params".

    Raises
    ------
    ValueError
        If what is to be compared is missing, or lies in the file of a backed AnnData.

    See Also
    --------
    umap : A map of these neighbours.
    actup.KNeighborsTransformer : Does the search alone, as ``scanpy.pp.neighbors(transformer=...)``.

    Examples
    --------
    >>> import anndata
    >>> import actup
    >>> from sklearn.datasets import load_digits
    >>> adata = anndata.AnnData(load_digits().data, obsm={"X_pca": load_digits().data[:, :30]})
    >>> actup.sc.neighbors(adata, n_neighbors=10)
    >>> adata.obsp["distances"].nnz, adata.uns["neighbors"]["params"]["n_neighbors"]
    (16173, 10)
    """
    if not knn or method != "umap":
        raise ValueError(
            f"knn={knn!r}, method={method!r}: ActUp weighs nearest neighbours as UMAP does; leave both out, "
            "or call scanpy.pp.neighbors(adata, transformer=actup.KNeighborsTransformer(...), method=...)"
        )
    adata = writable(adata, copy)
    X = representation(adata, use_rep, n_pcs, may_compute=True)
    n = adata.n_obs
    if n_neighbors > n:
        given, n_neighbors = n_neighbors, 1 + n // 2
        warn_user(f"n_neighbors={given} is larger than the number of cells; using {n_neighbors}")
    check_parameters(metric_kwds)
    name, parameters = canonical_metric(metric), dict(metric_kwds or {})
    seed, threads = draw_seed(random_state), count_threads(n_jobs)
    recipe = preset("umap").but(n_neighbors=n_neighbors, metric=name, metric_kwds=parameters)
    computing = load_backend(choose_backend(backend, X, n))
    if computing.name == "cpu":
        found = nearest_neighbors(
            X, n_neighbors - 1, metric=name, metric_kwds=parameters, random_state=seed, n_jobs=n_jobs
        )
    else:
        rows = computing.load_rows(computing.read_rows(X, name))
        found = computing.nearest_neighbors(rows, n_neighbors - 1, name, threads, parameters)
    weights = computing.affinity_graph(found, recipe, threads).to_scipy()

    params: dict[str, Any] = {
        "n_neighbors": n_neighbors,
        "method": "umap",
        "random_state": recorded_seed(random_state, seed),
        "metric": metric,
    }
    optional = {"metric_kwds": parameters or None, "use_rep": use_rep, "n_pcs": n_pcs}
    params |= {name: value for name, value in optional.items() if value is not None}
    prefix = "" if key_added is None else f"{key_added}_"
    keys = {"connectivities_key": f"{prefix}connectivities", "distances_key": f"{prefix}distances"}
    write(
        adata,
        obsp={keys["distances_key"]: _distances(found), keys["connectivities_key"]: weights},
        uns={"neighbors" if key_added is None else key_added: {**keys, "params": params}},
    )
    return adata if copy else None


def _distances(found: Neighbors) -> sparse.csr_matrix:
    """Neighbours as scanpy stores them: the nearest first in every row, without the cell itself."""
    indices, distances = to_host(found.indices), to_host(found.distances)
    n, k = indices.shape
    offsets = np.arange(0, n * k + 1, k)
    return sparse.csr_matrix((distances.ravel().astype(np.float64), indices.ravel(), offsets), shape=(n, n))
