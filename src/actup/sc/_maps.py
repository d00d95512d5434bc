"""umap() and tsne(): maps of cells, as ``scanpy.tl.umap`` and ``scanpy.tl.tsne``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import sparse

from actup._device import to_host
from actup._pipeline import embed
from actup._suggestions import explain_unknown_keywords
from actup.estimators import TSNE
from actup.estimators._inputs import RandomState, change, draw_seed
from actup.estimators._learning_rate import is_automatic
from actup.progress import Progress
from actup.recipe._presets import preset, preset_for
from actup.sc._keys import Metric, recorded_seed, representation, rows_of_graph, stored_graph, writable, write

if TYPE_CHECKING:
    from anndata import AnnData

_STARTS = ("spectral", "random", "pca")


# Names that ``actup.UMAP`` and ``actup.TSNE`` have for scanpy's parameters.
_OTHER_NAMES = {
    "n_epochs": "maxiter",
    "max_iter": "maxiter",
    "learning_rate": "alpha",
    "repulsion_strength": "gamma",
    "init": "init_pos",
    "seed": "random_state",
}


@explain_unknown_keywords(_OTHER_NAMES)
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
    adata = writable(adata, copy)
    key = "neighbors" if neighbors_key is None else neighbors_key
    graph, params = stored_graph(adata, key)
    X, used = rows_of_graph(adata, params)
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
    recorded = recorded_seed(random_state, seed)
    obsm, uns = ("X_umap", "umap") if key_added is None else (key_added, key_added)
    write(
        adata,
        obsm={obsm: to_host(made.embedding)},
        uns={uns: {"params": kernel if recorded == 0 else {**kernel, "random_state": recorded}}},
    )
    return adata if copy else None


@explain_unknown_keywords(_OTHER_NAMES)
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
    adata = writable(adata, copy)
    X = representation(adata, use_rep, n_pcs, may_compute=True)
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
    write(adata, obsm={obsm: places}, uns={uns: {"params": params}})
    return adata if copy else None


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
