"""Neighbours and maps of single cells in an AnnData, under the keys that scanpy reads and writes.

``import actup`` beside ``import scanpy as sc``, and ``actup.sc.neighbors``, ``actup.sc.umap`` and
``actup.sc.tsne`` take the places of ``sc.pp.neighbors``, ``sc.tl.umap`` and ``sc.tl.tsne``; clustering,
plotting and ``sc.tl.ingest`` go on from what they have written. Needs the package anndata (``pip install
'actup[scanpy]'``), not scanpy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import sparse

from actup._device import to_host
from actup._pipeline import embed
from actup._threads import count_threads
from actup._typing import Rows
from actup._warnings import warn_user
from actup.backends import choose_backend, load_backend
from actup.estimators import TSNE
from actup.estimators._inputs import RandomState, change, draw_seed
from actup.estimators._learning_rate import is_automatic
from actup.graph._records import Neighbors
from actup.neighbors import nearest_neighbors
from actup.neighbors._metrics import canonical_metric
from actup.progress import Progress
from actup.recipe._presets import preset, preset_for

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["neighbors", "tsne", "umap"]

_PCA_COLUMNS = 50  # scanpy's settings.N_PCS: data with more columns are searched in principal components
_STARTS = ("spectral", "random", "pca")
Metric = str | Callable[..., float]


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
        ``obsm["X_pca"]``, which scanpy is asked to compute if it is missing.
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
    adata = _writable(adata, copy)
    X = _representation(adata, use_rep, n_pcs, may_compute=True)
    n = adata.n_obs
    if n_neighbors > n:
        given, n_neighbors = n_neighbors, 1 + n // 2
        warn_user(f"n_neighbors={given} is larger than the number of cells; using {n_neighbors}")
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
        "random_state": _recorded(random_state, seed),
        "metric": metric,
    }
    optional = {"metric_kwds": parameters or None, "use_rep": use_rep, "n_pcs": n_pcs}
    params |= {name: value for name, value in optional.items() if value is not None}
    prefix = "" if key_added is None else f"{key_added}_"
    keys = {"connectivities_key": f"{prefix}connectivities", "distances_key": f"{prefix}distances"}
    _write(
        adata,
        obsp={keys["distances_key"]: _distances(found), keys["connectivities_key"]: weights},
        uns={"neighbors" if key_added is None else key_added: {**keys, "params": params}},
    )
    return adata if copy else None


def umap(
    adata: AnnData,
    *,
    min_dist: float = 0.5,
    spread: float = 1.0,
    n_components: int = 2,
    maxiter: int | None = None,
    alpha: str | float = "auto",
    gamma: float = 1.0,
    negative_sample_rate: float = 5,
    init_pos: Any = "spectral",
    random_state: RandomState = 0,
    a: float | None = None,
    b: float | None = None,
    method: str = "umap",
    key_added: str | None = None,
    neighbors_key: str | None = None,
    copy: bool = False,
    n_jobs: int | None = None,
    verbose: bool = False,
    backend: str = "cpu",
) -> AnnData | None:
    """Make a UMAP map of the graph of neighbours in ``adata``, as ``scanpy.tl.umap``.

    Parameters
    ----------
    adata : AnnData
        The cells, after ``actup.sc.neighbors`` or ``scanpy.pp.neighbors``.
    min_dist : float, default=0.5
        How close points may lie in the map; at most ``spread``.
    spread : float, default=1.0
        Scale of the map.
    n_components : int, default=2
        Dimensions of the map.
    maxiter : int, default=None
        Number of epochs; None: as ``n_epochs`` of ``actup.UMAP``.
    alpha : "auto" or float, default="auto"
        "auto": steps without a learning rate. A number: the descent goes edge by edge as umap-learn's, with
        this length of the first steps (scanpy's default is 1.0).
    gamma : float, default=1.0
        Factor of the repulsion.
    negative_sample_rate : float, default=5
        Repulsions per attraction: another factor of the repulsion.
    init_pos : str or array of shape (n_cells, n_components), default="spectral"
        Where the cells start: a key of ``obsm``, "paga" (around the groups as ``scanpy.pl.paga`` placed
        them), "spectral", "random", "pca", or coordinates.
    random_state : int, RandomState, Generator or None, default=0
        Where the seed comes from; None: a fresh seed, which is written to ``uns``.
    a, b : float, default=None
        Parameters of the map's kernel 1/(1 + a d^(2b)); None: fitted to ``min_dist`` and ``spread``.
    method : str, default="umap"
        Only "umap". In place of "rapids" use ``backend="cuda"``.
    key_added : str, default=None
        Write ``obsm[key_added]`` and ``uns[key_added]`` instead of the names below.
    neighbors_key : str, default=None
        The ``key_added`` of the neighbours; None: "neighbors".
    copy : bool, default=False
        Return a copy of ``adata`` with the map instead of writing into it.
    n_jobs : int, default=None
        Number of threads; None and -1: one per core. It never changes the map.
    verbose : bool, default=False
        Show a progress bar.
    backend : {"cpu", "cuda", "auto"}, default="cpu"
        Where to compute.

    Returns
    -------
    AnnData or None
        None unless ``copy``. Written are ``obsm["X_umap"]`` (float32) and ``uns["umap"]``, which has ``a``,
        ``b`` and a ``random_state`` other than 0 under "params".

    See Also
    --------
    neighbors : Searches the neighbours.
    actup.UMAP : The estimator, which can also place new cells.

    Examples
    --------
    >>> import anndata
    >>> import actup
    >>> from sklearn.datasets import load_digits
    >>> adata = anndata.AnnData(load_digits().data[:300])
    >>> actup.sc.neighbors(adata, use_rep="X")
    >>> actup.sc.umap(adata, maxiter=50)
    >>> adata.obsm["X_umap"].shape, sorted(adata.uns["umap"]["params"])
    ((300, 2), ['a', 'b'])
    """
    if method != "umap":
        raise ValueError(f"method={method!r} must be 'umap': for a GPU, use backend='cuda'")
    adata = _writable(adata, copy)
    key = "neighbors" if neighbors_key is None else neighbors_key
    graph, params = _stored_graph(adata, key)
    X, used = _rows_of_graph(adata, params)
    seed = draw_seed(random_state)
    automatic = is_automatic(alpha, "alpha")
    base = preset_for("umap", n_components) if automatic else preset("sampled_umap")
    init, start = _start(adata, init_pos, n_components, seed, base.initialization)
    names = {"epochs": "maxiter", "initialization": "init_pos", "learning_rate": "alpha"}
    for name, factor in {"gamma": gamma, "negative_sample_rate": negative_sample_rate}.items():
        change(base, {"repulsion_rate": name}, repulsion_rate=factor)  # rejects a wrong one by its own name
    recipe = change(
        base,
        names,
        n_components=n_components,
        epochs=maxiter,
        learning_rate=base.learning_rate if automatic else alpha,
        initialization=start,
        min_dist=min_dist,
        spread=spread,
        repulsion_rate=gamma * negative_sample_rate,
        a=a,
        b=b,
        **used,
    )
    with Progress(verbose) as progress:
        made = embed(
            X, recipe, init=init, graph=graph, seed=seed, threads=n_jobs, backend=backend, progress=progress
        )
    kernel = dict(zip("ab", map(float, recipe.kernel()), strict=True))
    recorded = _recorded(random_state, seed)
    obsm, uns = ("X_umap", "umap") if key_added is None else (key_added, key_added)
    _write(
        adata,
        obsm={obsm: to_host(made.embedding)},
        uns={uns: {"params": kernel if recorded == 0 else {**kernel, "random_state": recorded}}},
    )
    return adata if copy else None


def tsne(
    adata: AnnData,
    n_pcs: int | None = None,
    *,
    use_rep: str | None = None,
    perplexity: float = 30,
    metric: Metric = "euclidean",
    early_exaggeration: float = 12,
    learning_rate: str | float = "auto",
    random_state: RandomState = 0,
    use_fast_tsne: bool = False,
    n_jobs: int | None = None,
    key_added: str | None = None,
    copy: bool = False,
    verbose: bool = False,
    backend: str = "cpu",
) -> AnnData | None:
    """Make a t-SNE map of the cells, as ``scanpy.tl.tsne``.

    Parameters
    ----------
    adata : AnnData
        The cells.
    n_pcs : int, default=None
        Use this many columns of ``use_rep`` or ``obsm["X_pca"]``; 0: ``X`` itself. None: all columns.
    use_rep : str, default=None
        What to compare, as in ``neighbors``.
    perplexity : float, default=30
        Effective number of neighbours of a cell; less than the number of cells.
    metric : str or callable, default="euclidean"
        A metric of ``actup.nearest_neighbors``.
    early_exaggeration : float, default=12
        Factor of the attraction in the first epochs.
    learning_rate : "auto" or float, default="auto"
        "auto": steps without a learning rate. A number: momentum with gains and this rate, as in scikit-learn
        (scanpy's default is 1000).
    random_state : int, RandomState, Generator or None, default=0
        Where the seed comes from; None: a fresh seed.
    use_fast_tsne : bool, default=False
        Without effect; here because scanpy has it.
    n_jobs : int, default=None
        Number of threads; None and -1: one per core. It never changes the map.
    key_added : str, default=None
        Write ``obsm[key_added]`` and ``uns[key_added]`` instead of the names below.
    copy : bool, default=False
        Return a copy of ``adata`` with the map instead of writing into it.
    verbose : bool, default=False
        Show a progress bar.
    backend : {"cpu", "cuda", "auto"}, default="cpu"
        Where to compute.

    Returns
    -------
    AnnData or None
        None unless ``copy``. Written are ``obsm["X_tsne"]`` (float32) and ``uns["tsne"]``, which has the
        parameters under "params".

    See Also
    --------
    umap : A UMAP map of the graph of neighbours.
    actup.TSNE : The estimator, which can also place new cells.

    Examples
    --------
    >>> import anndata
    >>> import actup
    >>> from sklearn.datasets import load_digits
    >>> adata = anndata.AnnData(load_digits().data[:300])
    >>> actup.sc.tsne(adata, use_rep="X", key_added="digits")
    >>> adata.obsm["digits"].shape, adata.uns["digits"]["params"]["perplexity"]
    ((300, 2), 30)
    """
    adata = _writable(adata, copy)
    X = _representation(adata, use_rep, n_pcs, may_compute=True)
    model = TSNE(
        perplexity=perplexity,
        metric=metric,
        early_exaggeration=early_exaggeration,
        learning_rate=learning_rate,
        random_state=draw_seed(random_state),
        n_jobs=n_jobs,
        verbose=verbose,
        backend=backend,
    )
    places = to_host(model.fit_transform(X))
    params = {
        "perplexity": perplexity,
        "early_exaggeration": early_exaggeration,
        "learning_rate": learning_rate,
        "n_jobs": n_jobs,
        "metric": metric,
        "use_rep": use_rep,
    }
    params = {name: value for name, value in params.items() if value is not None}
    obsm, uns = ("X_tsne", "tsne") if key_added is None else (key_added, key_added)
    _write(adata, obsm={obsm: places}, uns={uns: {"params": params}})
    return adata if copy else None


def _writable(adata: Any, copy: bool) -> AnnData:
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


def _write(adata: AnnData, **parts: Mapping[str, Any]) -> None:
    """Set keys of ``obsm``, ``obsp`` and ``uns``; a view becomes an AnnData of its own, as in scanpy."""
    from anndata import ImplicitModificationWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplicitModificationWarning)
        for part, entries in parts.items():
            for key, value in entries.items():
                getattr(adata, part)[key] = value


def _representation(adata: AnnData, use_rep: str | None, n_pcs: int | None, *, may_compute: bool) -> Rows:
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
    """Have scanpy compute ``obsm["X_pca"]``, as its own functions do."""
    remedy = f"X has {adata.n_vars} columns and obsm has no 'X_pca'"
    try:
        if not may_compute:
            raise ImportError
        import scanpy
    except ImportError:
        raise ValueError(
            f"{remedy}: run scanpy.pp.pca(adata), name a key of obsm with use_rep, or compare all columns "
            "with use_rep='X'"
        ) from None
    warn_user(f"{remedy}: running scanpy.pp.pca(adata); use_rep='X' would compare all columns")
    scanpy.pp.pca(adata, n_comps=n_pcs)


def _distances(found: Neighbors) -> sparse.csr_matrix:
    """Neighbours as scanpy stores them: the nearest first in every row, without the cell itself."""
    indices, distances = to_host(found.indices), to_host(found.distances)
    n, k = indices.shape
    offsets = np.arange(0, n * k + 1, k)
    return sparse.csr_matrix((distances.ravel().astype(np.float64), indices.ravel(), offsets), shape=(n, n))


def _stored_graph(adata: AnnData, key: str) -> tuple[Any, Mapping[str, Any]]:
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


def _rows_of_graph(adata: AnnData, params: Mapping[str, Any]) -> tuple[Rows | None, dict[str, Any]]:
    """The rows that neighbours were searched among, which only the start uses, and their metric.

    None if they are no longer there: the graph is enough.
    """
    metric = params.get("metric", "euclidean")
    try:
        X = _representation(adata, params.get("use_rep"), params.get("n_pcs"), may_compute=False)
        name = canonical_metric(metric)
    except (TypeError, ValueError):
        return None, {}
    if not isinstance(name, str) or name in ("precomputed", "nan_euclidean") or X.shape[0] != adata.n_obs:
        return None, {}
    return X, {"metric": name, "metric_kwds": dict(params.get("metric_kwds") or {})}


def _start(adata: AnnData, init_pos: Any, n_components: int, seed: int, otherwise: str) -> tuple[Any, str]:
    """The coordinates to start from or None, and the name of a start."""
    if not isinstance(init_pos, str):
        return init_pos, otherwise
    if init_pos in adata.obsm:
        return np.asarray(adata.obsm[init_pos]), otherwise
    if init_pos == "paga":
        return _places_around_groups(adata, n_components, seed), otherwise
    if init_pos not in _STARTS:
        keys = ", ".join(map(repr, [*adata.obsm, "paga", *_STARTS]))
        raise ValueError(f"init_pos={init_pos!r} is not one of {keys}, nor an array")
    return None, init_pos


def _places_around_groups(adata: AnnData, n_components: int, seed: int) -> np.ndarray:
    """Random places around those of PAGA's groups, on the line to the most strongly connected group.

    Each cell lies within half the distance to that group, so that connected groups touch.
    """
    paga = adata.uns.get("paga", {})
    if "pos" not in paga:
        raise ValueError("init_pos='paga' needs uns['paga']['pos']: run scanpy.pl.paga(adata) first")
    if n_components != 2:
        raise ValueError(f"init_pos='paga' has 2 dimensions, but n_components={n_components}")
    groups = adata.obs[paga["groups"]].astype("category").cat.codes.to_numpy()
    places = np.asarray(paga["pos"], np.float64)
    links = sparse.csr_matrix(paga["connectivities"])
    reach = np.zeros_like(places)
    for group in range(len(places)):
        row = links[group]
        if row.nnz:
            reach[group] = places[group] - places[row.indices[row.data.argmax()]]
    offsets = np.random.default_rng(seed).random((adata.n_obs, 2)) - 0.5
    return cast("np.ndarray", places[groups] + offsets * reach[groups])


def _recorded(random_state: RandomState, seed: int) -> int:
    """What to write about the seed: files hold neither None nor a generator, but the number it drew."""
    return random_state if isinstance(random_state, int) else seed
