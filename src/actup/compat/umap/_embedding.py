"""``simplicial_set_embedding`` and the functions of ``umap.umap_`` around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from actup._csr import entry_rows, read_sparse
from actup._elementary import log
from actup._given import Given
from actup._pipeline import Embedding, descend, prepare
from actup._threads import count_threads
from actup._values import as_float
from actup.backends import PointInputs, load_backend
from actup.compat.umap._graphs import fuzzy_simplicial_set
from actup.compat.umap.distances import named_distances_with_gradients
from actup.estimators._inputs import RandomState, draw_seed
from actup.graph._radii import standardize
from actup.graph._records import Graph
from actup.neighbors._rows import read_rows
from actup.progress import Progress
from actup.recipe._kernel import fit_kernel
from actup.recipe._presets import preset, preset_for
from actup.recipe._recipe import Recipe

_DEFAULT_ALPHA = 1.0  # of umap-learn, whose callers pass it on
_LEAST_RADIUS = 1e-8  # of a squared radius, so that its logarithm is finite


def find_ab_params(spread: float, min_dist: float) -> tuple[float, float]:
    """The a and b of the map's kernel 1/(1 + a d^(2b)) that ``spread`` and ``min_dist`` ask for.

    Parameters
    ----------
    spread, min_dist : float

    Returns
    -------
    a, b : float

    Examples
    --------
    >>> from actup.compat.umap.umap_ import find_ab_params
    >>> [round(value, 3) for value in find_ab_params(1.0, 0.1)]
    [1.577, 0.895]
    """
    recipe = Recipe(min_dist=min_dist, spread=spread)  # which checks them
    return fit_kernel(recipe.min_dist, recipe.spread)


def make_epochs_per_sample(weights: np.ndarray, n_epochs: int) -> np.ndarray:
    """After how many epochs each edge is due again if the heaviest one is due in every epoch.

    Parameters
    ----------
    weights : ndarray of shape (edges,)
    n_epochs : int

    Returns
    -------
    ndarray of shape (edges,), float64
        -1 for an edge that is never due.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.umap_ import make_epochs_per_sample
    >>> make_epochs_per_sample(np.array([1.0, 0.5, 0.0]), 10).tolist()
    [1.0, 2.0, -1.0]
    """
    weights = np.asarray(weights, np.float64)
    due = n_epochs * (weights / weights.max(initial=0)) if weights.size else weights
    return np.asarray(np.divide(float(n_epochs), due, out=np.full(due.shape, -1.0), where=due > 0))


def noisy_scale_coords(
    coords: np.ndarray, random_state: np.random.RandomState, max_coord: float = 10.0, noise: float = 0.0001
) -> np.ndarray:
    """Scale coordinates to a largest absolute value, and add normal noise.

    Parameters
    ----------
    coords : ndarray of shape (n, dimensions)
    random_state : RandomState
    max_coord : float, default=10.0
    noise : float, default=0.0001
        Standard deviation of the noise.

    Returns
    -------
    ndarray of shape (n, dimensions), float32

    Examples
    --------
    >>> import numpy as np
    >>> from actup.compat.umap.umap_ import noisy_scale_coords
    >>> noisy_scale_coords(np.array([[1.0], [-2.0]]), np.random.RandomState(0), noise=0.0).tolist()
    [[5.0], [-10.0]]
    """
    scaled = np.asarray(coords) * (max_coord / np.abs(coords).max())
    return np.asarray(scaled + random_state.normal(scale=noise, size=scaled.shape), np.float32)


def simplicial_set_embedding(
    data: Any,
    graph: Any,
    n_components: int,
    initial_alpha: float,
    a: float,
    b: float,
    gamma: float,
    negative_sample_rate: float,
    n_epochs: int | list[int] | None,
    init: str | np.ndarray,
    random_state: RandomState,
    metric: Any,
    metric_kwds: Mapping[str, Any] | None,
    densmap: bool,
    densmap_kwds: dict[str, Any] | None,
    output_dens: bool,
    output_metric: str | Callable[..., Any] = named_distances_with_gradients["euclidean"],
    output_metric_kwds: Mapping[str, Any] | None = None,
    euclidean_output: bool = True,
    parallel: bool = False,
    verbose: bool = False,
    tqdm_kwds: Mapping[str, Any] | None = None,
) -> tuple[np.ndarray, dict[str, Any]]:
    """Lay a graph out.

    umap-learn's defaults, ``initial_alpha=1.0`` and 500 epochs (200 above 10,000 rows), stand for those of
    ``actup.UMAP``: its own descent with fewer epochs. Other values are used as they are.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n, columns), or None
        The rows that the graph was made of; used by ``init="pca"`` and for graphs of several components.
    graph : sparse matrix of shape (n, n)
        Symmetric weights.
    n_components : int
    initial_alpha : float
        The learning rate; other than 1.0: the descent goes edge by edge, as in umap-learn.
    a, b : float
        Of the map's kernel.
    gamma, negative_sample_rate : float
        Their product is the weight of the repulsion.
    n_epochs : int, list of int or None
        With a list, ``aux_data["embedding_list"]`` has the map after each of these epochs.
    init : {"spectral", "tswspectral", "pca", "random"} or ndarray of shape (n, n_components)
    random_state : int, RandomState, Generator or None
    metric : str, callable or None
        Only "precomputed" matters: ``data`` are then no rows.
    densmap : bool
        Whether to preserve local densities.
    densmap_kwds : dict
        For ``densmap`` and ``output_dens``: "graph_dists" (sparse distances of the edges), "n_neighbors",
        "lambda", "frac" and "var_shift".
    output_dens : bool
        Whether ``aux_data`` gets the logarithms of local radii, "rad_orig" and "rad_emb".
    output_metric : str or callable
        A metric of ``umap.distances.named_distances_with_gradients``, by name or as the function there, or a
        function of two points that returns their distance and its gradient by the first one.
    euclidean_output : bool, default=True
        Whether the output metric is Euclidean, whatever ``output_metric`` says.
    verbose : bool, default=False
        Whether to show a progress bar.
    output_metric_kwds : dict, default=None
        Parameters of the output metric.
    metric_kwds, parallel, tqdm_kwds
        Without effect.

    Returns
    -------
    embedding : ndarray of shape (n, n_components), float32
    aux_data : dict

    See Also
    --------
    fuzzy_simplicial_set : Makes the graph.
    actup.embed : Lays a graph out as a recipe says.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from actup.compat.umap.umap_ import find_ab_params, fuzzy_simplicial_set, simplicial_set_embedding
    >>> X = load_digits().data[:200]
    >>> graph, _, _ = fuzzy_simplicial_set(X, 15, 0, "euclidean")
    >>> a, b = find_ab_params(1.0, 0.5)
    >>> embedding, aux_data = simplicial_set_embedding(
    ...     X, graph, 2, 1.0, a, b, 1.0, 5, 50, "spectral", 0, "euclidean", {}, False, {}, False)
    >>> embedding.shape, aux_data
    ((200, 2), {})
    """
    if not hasattr(graph, "format"):
        raise TypeError(f"graph is a {type(graph).__name__}: give a sparse matrix of weights")
    n = graph.shape[0]
    stops = sorted({int(epoch) for epoch in n_epochs}) if isinstance(n_epochs, list | tuple) else []
    epochs = stops[-1] if stops else n_epochs
    output = {} if euclidean_output else _output_fields(output_metric, output_metric_kwds)
    recipe = _recipe(n, n_components, initial_alpha, epochs, densmap, bool(output))
    recipe = recipe.but(
        a=as_float(a, "a"),
        b=as_float(b, "b"),
        repulsion_rate=as_float(gamma, "gamma") * as_float(negative_sample_rate, "negative_sample_rate"),
        initialization=_start_name(init, recipe),
        **output,
    )
    density = _density_fields(densmap_kwds or {}) if densmap else {}
    rows = None if data is None or metric == "precomputed" else _rows_of(data)
    given = Given(init=None if isinstance(init, str) else init, graph=Graph.from_scipy(graph))
    seed = draw_seed(random_state)
    with Progress(bool(verbose)) as progress:
        prepared = prepare(
            rows,
            recipe,
            given,
            seed=seed,
            threads=count_threads(-1),
            backend=load_backend("cpu"),
            progress=progress,
        )
        if densmap and prepared.layout is not None:
            radii = _radii_of_data(graph, densmap_kwds or {})
            prepared = _with_density(prepared, recipe.but(**density), radii, seed)
        aux_data: dict[str, Any] = {}
        if stops and prepared.layout is not None:
            maps = {0: prepared.layout.embedding()}
            for epoch in stops:
                prepared.layout.run(until=epoch)
                maps[epoch] = prepared.layout.embedding()
            aux_data["embedding_list"] = [maps[int(epoch)] for epoch in n_epochs]  # type: ignore[union-attr]
        embedding = descend(prepared, progress).embedding
    if output_dens:
        aux_data["rad_orig"] = _radii_of_data(graph, densmap_kwds or {})
        aux_data["rad_emb"] = _radii_of_map(embedding, densmap_kwds or {})
    return embedding, aux_data


def _recipe(
    n: int, n_components: int, initial_alpha: float, epochs: Any, densmap: bool, other_space: bool
) -> Recipe:
    """The recipe of umap-learn's default learning rate, or of any other one."""
    if other_space:
        base = preset("sampled_umap").but(horizon=None, n_components=n_components)
        return base.but(learning_rate=as_float(initial_alpha, "initial_alpha"), epochs=epochs)
    if densmap:
        return preset("umap").but(n_components=n_components, epochs=epochs)
    if initial_alpha != _DEFAULT_ALPHA:
        base = preset("sampled_umap").but(
            n_components=n_components, learning_rate=as_float(initial_alpha, "initial_alpha")
        )
        return base.but(epochs=epochs)
    default_epochs = 500 if n <= 10_000 else 200
    return preset_for("umap", n_components).but(epochs=None if epochs == default_epochs else epochs)


def _start_name(init: Any, recipe: Recipe) -> Any:
    if not isinstance(init, str):
        return recipe.initialization
    return "spectral" if init == "tswspectral" else init


def _rows_of(data: Any) -> Any:
    """The rows, or None if they hold nothing, such as the empty matrices that some programs pass."""
    rows = read_sparse(data, "data") if issparse(data) else data
    return None if issparse(rows) and not rows.nnz else read_rows(rows, "euclidean")


def _output_fields(output_metric: Any, output_metric_kwds: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of a recipe; functions of ``umap.distances`` are metrics of the engine."""
    names = [name for name, function in named_distances_with_gradients.items() if function is output_metric]
    metric = names[0] if names else output_metric
    if metric in ("euclidean", "l2"):
        return {}
    return {"output_metric": metric, "output_metric_kwds": dict(output_metric_kwds or {})}


def _density_fields(densmap_kwds: Mapping[str, Any]) -> dict[str, Any]:
    return {
        field: as_float(densmap_kwds.get(name, default), f"densmap_kwds[{name!r}]")
        for field, name, default in (
            ("density_weight", "lambda", 2.0),
            ("density_share", "frac", 0.3),
            ("density_shift", "var_shift", 0.1),
        )
    }


def _with_density(prepared: Embedding, recipe: Recipe, radii: np.ndarray, seed: int) -> Embedding:
    """A prepared run whose layout also preserves the local radii of the data."""
    points = PointInputs(log_radii=standardize(radii))
    layout = load_backend("cpu").make_layout(
        prepared.graph, prepared.embedding, recipe, seed, count_threads(-1), points
    )
    return replace(prepared, recipe=recipe, layout=layout)


def _radii_of_data(graph: Any, densmap_kwds: Mapping[str, Any]) -> np.ndarray:
    """The logarithms of the local radii of the data: of the mean squared lengths of a row's edges."""
    distances = densmap_kwds.get("graph_dists")
    if distances is None:
        raise ValueError(
            "densmap and output_dens need densmap_kwds['graph_dists'], the sparse distances of the edges, as "
            "fuzzy_simplicial_set(..., return_dists=True) returns them"
        )
    return _mean_logs(graph, csr_matrix(distances).power(2))


def _radii_of_map(embedding: np.ndarray, densmap_kwds: Mapping[str, Any]) -> np.ndarray:
    """The logarithms of the local radii of a map, from the neighbours there."""
    k = int(densmap_kwds.get("n_neighbors", 15))
    graph, _, _, lengths = fuzzy_simplicial_set(embedding, k, 0, "euclidean", return_dists=True)
    return _mean_logs(graph, csr_matrix(lengths))


def _mean_logs(graph: Any, values: Any) -> np.ndarray:
    """The logarithm of every row's mean value, weighted by the edges of the row and its column."""
    graph = csr_matrix(graph)
    weighted = graph.multiply(values).tocsr()
    sums, weights = (
        np.asarray(matrix.sum(axis=0)).ravel() + np.asarray(matrix.sum(axis=1)).ravel()
        for matrix in (weighted, graph)
    )
    means = np.divide(sums, weights, out=np.zeros(len(sums)), where=weights > 0)
    return log(_LEAST_RADIUS + means).astype(np.float32)


def init_graph_transform(graph: Any, embedding: np.ndarray) -> np.ndarray:
    """Where new rows start: at the mean of their neighbours' places, weighted by the edges.

    Parameters
    ----------
    graph : CSR matrix of shape (m, n)
        Edges from new rows to points of the map.
    embedding : ndarray of shape (n, n_components)

    Returns
    -------
    ndarray of shape (m, n_components), float32
        A row with an edge of weight 1 has the place of the first such neighbour, a row without edges NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from actup.compat.umap.umap_ import init_graph_transform
    >>> places = np.array([[0.0, 0.0], [4.0, 2.0]])
    >>> init_graph_transform(csr_matrix([[0.5, 0.5], [0, 1.0]]), places).tolist()
    [[2.0, 1.0], [4.0, 2.0]]
    """
    graph, embedding = read_sparse(graph, "graph").copy(), np.asarray(embedding, np.float64)
    graph.eliminate_zeros()
    row_of = entry_rows(graph.indptr)
    sums = np.bincount(row_of, graph.data, minlength=graph.shape[0])
    places = np.full((graph.shape[0], embedding.shape[1]), np.nan)
    for axis in range(embedding.shape[1]):
        weighted = np.bincount(row_of, graph.data * embedding[graph.indices, axis], minlength=len(sums))
        np.divide(weighted, sums, out=places[:, axis], where=sums > 0)
    full = np.flatnonzero(graph.data == 1)[::-1]  # the first of a row is assigned last
    places[row_of[full]] = embedding[graph.indices[full]]
    return places.astype(np.float32)
