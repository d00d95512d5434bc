"""The pipeline: the whole flow of a run, from the data to the map.

X ──> neighbors ──> graph ──> start ──> layout ──> embedding
"""

from __future__ import annotations

import math
import reprlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from types import TracebackType
from typing import Any

import numpy as np
from scipy.sparse import issparse

from actup._device import array_module, to_host
from actup._given import Given, check_graph, check_neighbors, count_rows, warn_if_asymmetric
from actup._memory import explained, explained_in_layout, lean_enough, shape_of
from actup._reporting import reporting_to
from actup._suggestions import explain_unknown_keywords
from actup._threads import count_threads
from actup._typing import Array, Rows
from actup._values import naming_memory
from actup._warnings import warn_user
from actup.backends import Backend, Layout, PointInputs, choose_backend, load_backend
from actup.backends._graph_file import GraphFile
from actup.graph._disconnection import disconnect
from actup.graph._radii import edge_lengths, local_radii, standardize
from actup.graph._records import Graph, Neighbors
from actup.neighbors._chunks import row_chunks
from actup.neighbors._metrics import compares_missing
from actup.neighbors._rows import column_parameters
from actup.progress import Progress, read_progress, run_progress
from actup.recipe._presets import preset
from actup.recipe._recipe import Recipe, switches
from actup.recipe._schedule import settling_recipe
from actup.start._coordinates import read_places
from actup.start._known_places import fill_places
from actup.start._start import make_start

# A slice has at most this many times the epochs of the one before it, because the first epoch may be
# unusually slow.
_MAX_SLICE_GROWTH = 4.0
_CHUNK_VALUES = 2**20
# Names that the estimators have for parameters of ``embed`` and ``embed_many``.
OTHER_NAMES = {
    "random_state": "seed",
    "n_jobs": "threads",
    "precomputed_knn": "neighbors",
    "callback": "progress",
}
_REPORT_SECONDS = 0.1  # between two reports of a stage before the layout


@dataclass(frozen=True)
class Embedding:
    """A map, and everything that was computed on the way to it.

    Attributes
    ----------
    embedding : ndarray of shape (n, n_components), float32
    recipe : Recipe
        The recipe as it was run: ``n_neighbors`` is cut if there were fewer points.
    graph : Graph
    neighbors : Neighbors or None
        None if the graph was given.
    recall : float
        Share of true neighbours found, measured on a sample; NaN if neighbours or the graph were given.
    init_used : str
        Where the points started.
    n_epochs : int
        How many epochs were run.
    interrupted : bool
        Whether the layout was stopped before its last epoch, by Ctrl-C or by the callback.
    snapshots : tuple of ndarray of shape (n, n_components), float32
        The map after each of the epochs that the caller asked for, as far as they were reached.
    radii : ndarray of shape (n,) or None
        The logarithms of the local radii of the data, if the recipe preserves density.
    edge_lengths : ndarray of shape (edges,), float32, or None
        The distances of the two ends of each edge of the graph, if there are radii; NaN: unknown.
    seconds : dict of str to float
        Wall time of every stage that ran.
    layout : Layout or None
        The descent itself, which can be run further: ``layout.run(until=...)``, ``layout.embedding()``.
        None for a single point, and in pickles and deep copies: a descent cannot leave its process.
    """

    embedding: np.ndarray
    recipe: Recipe
    graph: Graph
    neighbors: Neighbors | None
    init_used: str
    n_epochs: int = 0
    interrupted: bool = False
    snapshots: tuple[np.ndarray, ...] = ()
    radii: np.ndarray | None = None
    edge_lengths: np.ndarray | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    layout: Layout | None = None
    recall: float = math.nan

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "layout": None}

    def __copy__(self) -> Embedding:
        return replace(self)


def belongs_to_recipe(name: str, value: object) -> str | None:
    """Where an argument belongs that is a switch of recipes, for errors; None if it is none."""
    if name not in switches():
        return None
    return f"it is a switch of the recipe, e.g. actup.preset('umap').but({name}={reprlib.repr(value)})"


@explain_unknown_keywords(OTHER_NAMES, belongs_to_recipe)
def embed(
    X: Any,
    recipe: Recipe | str,
    *,
    init: Any = None,
    neighbors: Neighbors | None = None,
    graph: Graph | None = None,
    seed: int = 0,
    threads: int | None = None,
    backend: str = "cpu",
    progress: Progress | bool | None = None,
    max_memory: int | str | None = None,
) -> Embedding:
    """Make a map of X, as a recipe says.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, features), or None
        Finite numbers; it is never changed. (n, n) distances, dense or sparse, if the recipe's metric is
        "precomputed". None if ``neighbors`` or ``graph`` is all that is known. An array on a GPU (CuPy,
        torch) is used where it lies by backend "cuda", and the map is returned as the same kind of array.
    recipe : Recipe or str
        What to do, e.g. ``preset("umap").but(epochs=100)``, or the name of a preset.
    init : array-like of shape (n, n_components), default=None
        Where the points start, instead of ``recipe.initialization``; scaled down if it is far wider than maps
        are, moved to 0 if it is far from it, else used as it is. Equal rows are moved apart at random.
    neighbors : Neighbors, default=None
        The nearest neighbours, if they are known already; columns beyond those the recipe needs are left out.
    graph : Graph or sparse matrix of shape (n, n), default=None
        The similarities, if they are known already; neighbours and affinities are then not computed.
    seed : int, default=0
        From 0 to 2⁶⁴ - 1. The same seed gives the same bits on every processor, at any number of threads.
    threads : int, default=None
        How many threads work; None and -1: one per core that this process may use.
    backend : str, default="cpu"
        Compute backend; ``actup.backends.backends()`` lists the names. "auto": "cuda" where there is a GPU
        and at least 5,000 points, else "cpu"; their maps differ as much as maps of two seeds.
    progress : Progress or bool, default=None
        Shows how far the run is, and can stop it. True: a bar.
    max_memory : int or str, default=None
        Bytes that the run may take, e.g. "4GB", with X but without Python and its libraries; with backend
        "cuda" those of the GPU. A run that would take more takes less memory and more time, for the same
        bits: few rows are compared without integer codes, and the graph lies in a temporary file.

    Returns
    -------
    Embedding
        The map, its graph and the layout, which can be run further if it was stopped early.

    Warns
    -----
    UserWarning
        If ``n_neighbors`` is larger than n, if the callback stopped the run before the layout, or if Ctrl-C
        stopped the layout: the points are then returned as far as they have come. Ctrl-C before the layout
        raises KeyboardInterrupt.

    Raises
    ------
    MemoryError
        Before any work, if the run cannot stay within ``max_memory``; later, if memory runs out: the error
        says in which stage, and how much it needs.

    See Also
    --------
    actup.memory_estimate : How much memory a run takes.
    actup.embed_many : Several maps of the same data.
    actup.GDR : The same as a scikit-learn estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import actup
    >>> X = load_digits().data[:300]
    >>> result = actup.embed(X, actup.preset("gdr_umap").but(epochs=20), seed=1)
    >>> result.embedding.shape, result.init_used, result.n_epochs
    ((300, 2), 'spectral', 20)
    """
    recipe = preset(recipe) if isinstance(recipe, str) else recipe
    if not isinstance(recipe, Recipe):
        raise TypeError(f"recipe={recipe!r} must be a Recipe or the name of a preset")
    if neighbors is not None and not isinstance(neighbors, Neighbors):
        raise TypeError(
            f"neighbors is a {type(neighbors).__name__}: make Neighbors of it, e.g. with "
            "Neighbors.from_lists(indices, distances)"
        )
    graph = graph if graph is None or isinstance(graph, Graph) else Graph.from_scipy(graph)
    read_progress(progress)
    given = Given(init, neighbors, graph)
    chosen = load_backend(choose_backend(backend, X, count_rows(X, given)))
    if X is None and given.graph is None and given.neighbors is None:
        raise ValueError("X=None needs neighbors or graph in its place")
    recipe = recipe if X is None else with_column_numbers(recipe, X)
    threads = count_threads(threads, "threads")
    given = replace(given, lean=lean_enough(max_memory, X, recipe, given, threads, chosen))
    with explained("read", partial(shape_of, X, recipe, given, threads), chosen):
        rows = (
            None
            if X is None
            else chosen.load_rows(chosen.read_rows(X, recipe.metric, threads=threads), recipe.metric)
        )
    with run_progress(progress) as reports:
        prepared = prepare(
            rows,
            recipe,
            given,
            seed=seed,
            threads=threads,
            backend=chosen,
            progress=reports,
            like=X,
        )
        return descend(prepared, reports)


def prepare(
    X: Rows | None,
    recipe: Recipe,
    given: Given,
    *,
    seed: int,
    threads: int,
    backend: Backend,
    progress: Progress,
    like: Any = None,
) -> Embedding:
    """Run all stages up to the layout, at epoch 0.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, features), or None
        Checked rows where the backend computes.
    recipe : Recipe
    given : Given
    seed, threads : int
    backend : Backend
    progress : Progress
    like : object, default=None
        What the caller gave as X: results are of its kind.
    """
    if not isinstance(seed, Integral):
        raise TypeError(f"seed={seed!r} must be an integer from 0 to 2**64 - 1")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed={seed} must be 0 to 2**64 - 1")
    n_samples = count_rows(X, given)
    if n_samples == 1:
        return backend.results_as_callers_kind(_single_point(recipe, given), like)
    if given.init is not None:  # rejects wrong ones before any work is done
        read_places(given.init, n_samples, recipe.n_components, allow_missing=given.mobility is not None)
    seconds: dict[str, float] = {}
    if given.graph is None:
        recipe = adapt_to_size(recipe, n_samples)
    searched = X is not None and given.graph is None and given.neighbors is None
    backend.compile_ahead(recipe, n_samples, X.shape[1] if X is not None and searched else 0)
    explain = partial(explained, shape=partial(shape_of, X, recipe, given, threads), backend=backend)
    give_back = backend.free_memory if given.lean.gives_back else lambda: None
    give_back()
    neighbors: Neighbors | None = None
    graph_file: GraphFile | None = None
    with_radii, lengths, recall = _keeps_radii(recipe, given), None, math.nan
    if given.graph is None:
        with _Stage("neighbors", backend, progress, seconds, explain):
            neighbors = _find_neighbors(X, n_samples, recipe, given, threads, backend)
            recall = neighbors.recall
        give_back()
        with _Stage("graph", backend, progress, seconds, explain):
            if given.disconnection_distance < math.inf:
                neighbors, _ = disconnect(neighbors, given.disconnection_distance)
            if given.lean.graph_on_disc:
                graph_file = GraphFile(neighbors, recipe, threads)
                graph = graph_file.mapped()
            else:
                graph = backend.affinity_graph(neighbors, recipe, threads)
            if given.reshape_graph is not None:
                graph = given.reshape_graph(graph, backend=backend, threads=threads)
            if with_radii:
                lengths = edge_lengths(graph, neighbors, allow_unknown=given.reshape_graph is not None)
    else:
        graph = check_graph(given.graph, n_samples)
        if with_radii:
            raise ValueError(
                f"density_weight={recipe.density_weight:g} needs distances of neighbours, but only a graph "
                "was given: give X or neighbors"
            )
    if not given.keep_neighbors:
        neighbors = None  # frees their memory before the layout copies the graph
    give_back()
    with _Stage("start", backend, progress, seconds, explain):
        if given.mobility is None:
            rows = X if _are_coordinates(X, recipe.metric) else None
            start, init_used = make_start(rows, graph, recipe, given.init, seed, threads, backend)
        else:
            places = read_places(given.init, n_samples, recipe.n_components, allow_missing=True)
            start, init_used = fill_places(graph, places, seed).astype(np.float32), "array"
    give_back()
    if progress.stopped:
        warn_user(
            f"the callback stopped the run in stage {progress.stopped_in!r}: no epoch of the layout is run, "
            "and the points stay where they start"
        )
    begin = time.perf_counter()
    points = None
    with explain("layout"):
        radii = None if lengths is None else local_radii(graph, lengths)
        if recipe.density_weight or given.mobility is not None:
            points = PointInputs(
                given.mobility, standardize(radii) if radii is not None and recipe.density_weight else None
            )
        if graph_file is not None:
            graph = graph_file.mapped()  # without the pages that the start has read
        edges = graph if graph_file is None else graph_file.parts()
        layout = backend.make_layout(edges, start, recipe, seed, threads, points)
    seconds["layout"] = time.perf_counter() - begin
    prepared = Embedding(
        start,
        recipe,
        graph,
        neighbors,
        init_used,
        seconds=seconds,
        radii=radii,
        edge_lengths=lengths,
        layout=layout,
        recall=recall,
    )
    return backend.results_as_callers_kind(prepared, like)


def _find_neighbors(
    X: Rows | None, n_samples: int, recipe: Recipe, given: Given, threads: int, backend: Backend
) -> Neighbors:
    """The neighbours that the recipe needs: the caller's, checked, or those that a search finds."""
    k = recipe.neighbors_searched(n_samples)
    if given.neighbors is not None:
        return check_neighbors(given.neighbors, n_samples, k, backend, given.neighbors_name)
    if recipe.metric == "precomputed":
        warn_if_asymmetric(X)
    parameters = dict(recipe.metric_kwds)
    neighbors = backend.nearest_neighbors(
        X, k, recipe.metric, threads, parameters, recipe.recall, given.lean.search
    )
    if not backend.has_valid_distances(neighbors.distances, threads):
        raise ValueError(
            "X has rows whose distance is negative, NaN or too large for float32: divide X by its largest "
            "value"
        )
    return neighbors


def descend(prepared: Embedding, progress: Progress, epochs: Sequence[int] = ()) -> Embedding:
    """Run the layout to its last epoch, or until Ctrl-C or the callback stops it.

    Parameters
    ----------
    prepared : Embedding
    progress : Progress
    epochs : sequence of int, ascending
        Epochs after which the map is kept in ``snapshots``.
    """
    layout = prepared.layout
    if layout is None:
        return replace(prepared, snapshots=(prepared.embedding,) * len(epochs))
    begin = time.perf_counter()
    snapshots: list[np.ndarray] = []

    def keep() -> None:
        while len(snapshots) < len(epochs) and layout.epoch >= epochs[len(snapshots)]:
            snapshots.append(layout.embedding())

    try:
        with explained_in_layout(layout):
            keep()
            slices = EpochSlices(layout, progress, stops=epochs)
            while slices.run_next():
                keep()
    except KeyboardInterrupt:
        warn_user(f"interrupted at epoch {layout.epoch} of {layout.n_epochs}: the points stay where they are")
    with explained_in_layout(layout):
        return replace(_record(prepared, time.perf_counter() - begin), snapshots=tuple(snapshots))


def settle(reached: Embedding, progress: Progress, *, seed: int, threads: int, backend: Backend) -> Embedding:
    """Run the last part of the descent once more, with points that move freely, from where a map is.

    Parameters
    ----------
    reached : Embedding
        The map, of which some points were fixed, or which is not yet one of its graph.
    progress : Progress
    seed, threads : int
    backend : Backend
    """
    recipe, n = reached.recipe, len(reached.graph)
    graph = Graph(*map(to_host, (reached.graph.offsets, reached.graph.indices, reached.graph.weights)))
    settling = settling_recipe(recipe, n)
    start, _ = backend.given_start(to_host(reached.embedding), n, settling, seed)
    radii = standardize(reached.radii) if reached.radii is not None and recipe.density_weight else None
    points = None if radii is None else PointInputs(None, radii)
    layout = backend.make_layout(graph, start, settling, seed, threads, points)
    settled = descend(replace(reached, layout=layout), progress)
    return replace(settled, n_epochs=reached.n_epochs + settled.n_epochs)


def iterate_maps(prepared: Embedding, every: int, progress: Progress) -> Iterator[Embedding]:
    """The map at the start and after every further ``every`` epochs, up to the last one."""
    if prepared.layout is None:
        yield prepared
        return
    yield _record(prepared, 0.0)
    slices = EpochSlices(prepared.layout, progress, every)
    while slices.run_next():
        yield _record(prepared, slices.seconds)


def _record(prepared: Embedding, seconds: float) -> Embedding:
    """The map as far as the layout has come in these seconds."""
    layout = prepared.layout
    assert layout is not None
    return replace(
        prepared,
        embedding=finite_places(layout, prepared.recipe),
        n_epochs=layout.epoch,
        interrupted=layout.epoch < layout.n_epochs,
        seconds={**prepared.seconds, "layout": prepared.seconds["layout"] + seconds},
    )


def finite_places(layout: Layout, recipe: Recipe) -> Array:
    """The places of the points, which extreme parameters may have thrown out of the range of float32."""
    places = layout.embedding()
    if not bool(array_module(places).isfinite(places).all()):
        raise ValueError(
            f"the layout left the range of float32 by epoch {layout.epoch} of {layout.n_epochs}, with "
            f"learning_rate={recipe.learning_rate:g}, repulsion_rate={recipe.repulsion_rate:g} and "
            f"exaggeration={recipe.exaggeration:g}: choose parameters nearer to those of a preset"
        )
    return places


class EpochSlices:
    """A layout that runs in slices of ``every`` epochs, or of about ``progress.slice_seconds``, and reports.

    No slice goes beyond the next epoch of ``stops``. It is no generator: the callback's StopIteration would
    come out of one as a RuntimeError.
    """

    def __init__(
        self, layout: Layout, progress: Progress, every: int | None = None, stops: Sequence[int] = ()
    ) -> None:
        self._layout, self._progress, self._every, self._stops = layout, progress, every, stops
        self._pace = 1 if every is None else every
        self.seconds = 0.0  # of all slices so far, without what the callback takes
        self._report()

    def run_next(self) -> bool:
        """Run the next slice, if there is one and the callback has not stopped the run; whether it did."""
        layout, limit = self._layout, self._progress.slice_seconds
        if layout.epoch >= layout.n_epochs or self._progress.stopped:
            return False
        begin = time.perf_counter()
        next_stop = min((stop for stop in self._stops if stop > layout.epoch), default=layout.n_epochs)
        with explained_in_layout(layout):
            layout.run(min(layout.epoch + self._pace, next_stop, layout.n_epochs))
        seconds = time.perf_counter() - begin
        if self._every is None:
            self._pace = max(1, int(self._pace * min(limit / max(seconds, 1e-9), _MAX_SLICE_GROWTH)))
        self.seconds += seconds
        self._report()
        return True

    def _report(self) -> None:
        layout = self._layout
        fraction = layout.epoch / layout.n_epochs if layout.n_epochs else 1.0
        self._progress.report("layout", fraction, layout.embedding)
        self._progress.guide(layout)


class _Stage:
    """Time a stage and report its beginning, how far it has come, and its end; explain a lack of memory.

    No generator, as ``EpochSlices``.
    """

    def __init__(
        self,
        name: str,
        backend: Backend,
        progress: Progress,
        seconds: dict[str, float],
        explain: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self._name, self._backend, self._progress, self._seconds = name, backend, progress, seconds
        self._explain = explain
        self._reached = 0.0

    def __enter__(self) -> None:
        self._progress.report(self._name, 0.0)
        self._begin = self._last = time.perf_counter()
        with ExitStack() as stack:
            stack.enter_context(reporting_to(self._show))
            stack.enter_context(self._explain(self._name))
            stack.push(lambda kind, *_: None if kind else self._backend.synchronize())
            self._stack = stack.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
        if error is None:
            self._seconds[self._name] = time.perf_counter() - self._begin
            self._progress.report(self._name, 1.0)

    def _show(self, fraction: float) -> None:
        self._reached = max(self._reached, fraction)
        if time.perf_counter() - self._last >= _REPORT_SECONDS:
            self._progress.report(self._name, self._reached)
            self._last = time.perf_counter()


def with_column_numbers(recipe: Recipe, X: Any) -> Recipe:
    """The recipe with the parameters of its metric for X: columns by numbers instead of names."""
    parameters = dict(recipe.metric_kwds)
    resolved = column_parameters(X, recipe.metric, parameters)
    return recipe if resolved is parameters else recipe.but(metric_kwds=resolved)


def _are_coordinates(X: Rows | None, metric: str | Callable[..., float]) -> bool:
    """Whether a start can use rows as places in space: distances, categories and missing values are none."""
    if X is None or metric in ("precomputed", "gower"):
        return False
    if isinstance(metric, str) and not compares_missing(metric):
        return True
    return issparse(X) or all(
        bool(array_module(X).isfinite(X[rows]).all()) for rows in row_chunks(X, _CHUNK_VALUES)
    )


def _keeps_radii(recipe: Recipe, given: Given) -> bool:
    return recipe.density_weight > 0 or given.keep_radii


def _single_point(recipe: Recipe, given: Given) -> Embedding:
    """One point has no neighbours: its map is the origin, and its radius unknown."""
    empty = Graph(np.zeros(2), np.zeros(0), np.zeros(0))
    with naming_memory(recipe.n_components, "n_components"):
        origin = np.zeros((1, recipe.n_components), np.float32)
    single = Embedding(origin, recipe, empty, None, "origin")
    if not _keeps_radii(recipe, given):
        return single
    return replace(single, radii=np.full(1, np.nan, np.float32), edge_lengths=np.zeros(0, np.float32))


def adapt_to_size(recipe: Recipe, n_samples: int) -> Recipe:
    """The recipe for this many points: cut ``n_neighbors`` with a warning, reject a large perplexity."""
    if recipe.scales():
        if max(recipe.scales()) >= n_samples:
            raise ValueError(
                f"perplexity={max(recipe.scales())} must be less than the number of samples, {n_samples}: "
                f"give more samples, or perplexity={n_samples - 1} at most"
            )
        return recipe
    if recipe.n_neighbors <= n_samples:
        return recipe
    warn_user(f"n_neighbors={recipe.n_neighbors} is larger than the number of samples; using {n_samples}")
    return recipe.but(n_neighbors=n_samples)
