"""find_clusters(): density clusters of a map or graph, in layers, with names and representative points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from actup._engine import engine
from actup._suggestions import explain_unknown_keywords
from actup._threads import count_threads
from actup._values import read_count, read_flag, read_optional_count
from actup.clusters._inputs import ClusterInput, read_input
from actup.clusters._layers import LEAVES, LayerParts, choose_layers, number_by_size
from actup.clusters._names import LabelNamer, Namer, NumberNamer, TextNamer
from actup.clusters._records import ClusterLayer, Clusters

# benchmarks/clusters.py measures these defaults.
_DIVISIONS = {"balanced": 0.7, "eom": 1.0, "leaf": LEAVES}
_CLUSTERS_PER_MAP = 200  # the least size of clusters is n over this
_MIN_CLUSTER_SIZE = 5
_MIN_SAMPLES = 25
_POINTS_PER_SAMPLE = 50  # fewer than 25 samples for maps of fewer than 25 times this
_GRAPH_MIN_SAMPLES = 5  # a point has few edges
_SAME_CLUSTER_SHARE = 0.7  # a cluster with more of its parent than this share has the same name


@explain_unknown_keywords()
def find_clusters(
    model_or_Y: Any,
    *,
    space: str = "map",
    graph: Any = None,
    min_cluster_size: int | None = None,
    min_samples: int | None = None,
    selection: str = "balanced",
    n_layers: int | None = None,
    assign_all: bool = False,
    texts: Any = None,
    labels: ArrayLike | None = None,
    stop_words: str | list[str] | None = "english",
    n_representatives: int = 5,
    n_jobs: int | None = None,
) -> Clusters:
    """Find density clusters of a map, or of the graph behind it, in layers from coarse to fine.

    The clusters are those of HDBSCAN: parts that stay connected at a higher density than their surroundings.
    Nothing is random, and the same points give the same clusters at any number of threads.

    Parameters
    ----------
    model_or_Y : fitted estimator, result of ``actup.embed``, or array-like of shape (n, n_components)
        The map, of at most 16 dimensions. Points with NaN coordinates are in no cluster.
    space : {"map", "graph"}, default="map"
        Where density is measured: by distances on the map, or in the model's graph, where points are near
        that have an edge and many common neighbours. Dense cores of a graph hold few of its points: use
        ``assign_all=True`` there.
    graph : Graph or sparse matrix of shape (n, n), default=None
        Look for clusters in this graph of positive similarities; implies ``space="graph"``.
    min_cluster_size : int, default=None
        The least number of points in a cluster of ``labels`` and of every layer. None: n / 200, at least 5,
        and layers of smaller clusters are added.
    min_samples : int, default=None
        Density is that of the distance to the ``min_samples``-th nearest point, counting the point itself;
        more give fewer, smoother clusters and more points in none. None: 25, fewer below 1,250 points; 5 in a
        graph.
    selection : {"balanced", "eom", "leaf"}, default="balanced"
        Which clusters of the tree to take. "eom": HDBSCAN's excess of mass, the most stable ones. "balanced":
        the same, but a cluster is divided if those inside it hold 70 % of its stability, which separates
        clusters that touch. "leaf": the smallest ones.
    n_layers : int, default=None
        At most this many layers. None: up to five.
    assign_all : bool, default=False
        Whether points in no cluster join the one that they are connected with at the highest density.
    texts : sequence of str, default=None
        A text per point; clusters are named by the words that tell them from others (class-based tf-idf).
    labels : array-like of shape (n,), default=None
        A label per point; clusters are named by their most frequent label, and by up to two others that
        are at least half as frequent.
    stop_words : "english", list of str or None, default="english"
        Words that names leave out, unless no other word tells a cluster from the others; lower case.
        "english": articles, pronouns, prepositions, conjunctions, auxiliary verbs.
    n_representatives : int, default=5
        Representative points per cluster.
    n_jobs : int, default=None
        Number of threads. None or -1: one per core.

    Returns
    -------
    Clusters
        ``labels``, ``layers``, and tables of them. A map without two separate dense parts has no clusters:
        all its labels are -1.

    See Also
    --------
    actup.UMAP : Makes maps whose clusters are separate.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import actup
    >>> X, y = load_digits(return_X_y=True)
    >>> model = actup.UMAP(random_state=0).fit(X)
    >>> clusters = actup.find_clusters(model, labels=y)
    >>> clusters.labels.shape, len(clusters) >= 10
    ((1797,), True)
    >>> sorted(set(name[0] for name in clusters.layers[clusters.main].names)) == list("0123456789")
    True
    """
    division = _read_selection(selection)
    size = read_optional_count(min_cluster_size, "min_cluster_size", 2)
    samples = read_optional_count(min_samples, "min_samples", 1)
    n_layers = read_optional_count(n_layers, "n_layers", 1)
    wanted = read_count(n_representatives, "n_representatives", 1)
    assign_all = read_flag(assign_all, "assign_all")
    threads = count_threads(n_jobs)
    points = read_input(model_or_Y, space, graph)
    n = len(points.Y)
    wanted, size = min(wanted, n), None if size is None else min(size, n + 1)
    namer = _read_namer(texts, labels, stop_words, n)
    clustered = np.arange(n) if points.graph is not None else np.flatnonzero(points.placed)
    hierarchy = _make_hierarchy(points, clustered, samples, threads)
    chosen, main = choose_layers(
        hierarchy,
        len(clustered),
        size or max(_MIN_CLUSTER_SIZE, n // _CLUSTERS_PER_MAP),
        n_layers,
        finer=size is None,
        division=division,
    )
    layers: list[ClusterLayer] = []
    for layer in chosen:
        found = _describe(layer, hierarchy, clustered, points, assign_all, wanted, threads)
        layers.append(_name(found, namer, layers[-1] if layers else None))
    return Clusters(layers[main].codes, layers, main)


def _read_selection(selection: str) -> float:
    if not isinstance(selection, str) or selection not in _DIVISIONS:
        raise ValueError(f"selection={selection!r} is not one of {', '.join(map(repr, _DIVISIONS))}")
    return _DIVISIONS[selection]


def _read_namer(texts: Any, labels: Any, stop_words: str | list[str] | None, n: int) -> Namer:
    if texts is not None and labels is not None:
        raise ValueError("texts and labels are both given, but clusters are named by one of them: leave one")
    if texts is not None:
        return TextNamer(texts, n, stop_words)
    if labels is not None:
        return LabelNamer(labels, n)
    return NumberNamer()


def _make_hierarchy(
    points: ClusterInput, clustered: np.ndarray, min_samples: int | None, threads: int
) -> engine.Hierarchy:
    """The hierarchy of single linkage under mutual reachability distances."""
    n = len(clustered)
    if points.graph is not None:
        samples = min(min_samples or _GRAPH_MIN_SAMPLES, n)
        graph = points.graph
        tree = engine.graph_tree(graph.offsets, graph.indices, graph.weights, samples, threads)
    elif n:
        samples = min(min_samples or usual_samples(n), n)
        tree = engine.reachability_tree(points.Y[clustered], samples, threads)
    else:
        tree = engine.reachability_tree(np.zeros((1, 1)), 1, threads)  # no point has a place
    return engine.Hierarchy(*tree[:3])


def usual_samples(n: int) -> int:
    """Samples of the density on a map of n points."""
    return min(_MIN_SAMPLES, max(2, n // _POINTS_PER_SAMPLE))


def _describe(
    layer: LayerParts,
    hierarchy: engine.Hierarchy,
    clustered: np.ndarray,
    points: ClusterInput,
    assign_all: bool,
    wanted: int,
    threads: int,
) -> ClusterLayer:
    """A layer with everything but names and parents."""
    local, ranked = number_by_size(layer.parts, hierarchy.order(), max(len(clustered), 1))
    local = hierarchy.spread(local) if assign_all else local
    codes = np.full(len(points.Y), -1, np.int32)
    codes[clustered] = local[: len(clustered)]
    rows = _representatives(np.where(points.placed, codes, -1), len(ranked), points.Y, wanted, threads)
    centers = np.where(rows[:, :1] >= 0, points.given[rows[:, 0]], np.nan)
    return ClusterLayer(
        codes=codes,
        names=[],
        centers=centers,
        sizes=np.bincount(codes[codes >= 0], minlength=len(ranked)).astype(np.int64),
        parents=np.full(len(ranked), -1, np.int32),
        persistence=np.array([part.persistence for part in ranked], np.float64),
        representatives=[row[row >= 0].astype(np.int64) for row in rows],
        keywords=[],
        label_shares=None,
        min_cluster_size=layer.min_cluster_size,
    )


def _representatives(codes: np.ndarray, count: int, Y: np.ndarray, wanted: int, threads: int) -> np.ndarray:
    """Rows per cluster: (count, wanted) int32, -1 where there are fewer."""
    members = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :].astype(np.int32)
    sizes = np.bincount(codes[codes >= 0], minlength=count)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if count == 0:
        return np.full((0, wanted), -1, np.int32)
    return engine.representatives(Y, offsets, members, wanted, threads)


def _name(layer: ClusterLayer, namer: Namer, above: ClusterLayer | None) -> ClusterLayer:
    """The layer with parents and names."""
    parents = layer.parents if above is None else _parents(layer.codes, len(layer), above.codes)
    kept = {}
    if above is not None:
        inside = np.flatnonzero(parents >= 0)
        most = layer.sizes[inside] > _SAME_CLUSTER_SHARE * above.sizes[parents[inside]]
        kept = {cluster: above.names[parents[cluster]] for cluster in inside[most].tolist()}
    named = namer.name(layer.codes, layer.representatives, kept)
    return replace(
        layer, parents=parents, names=named.names, keywords=named.keywords, label_shares=named.label_shares
    )


def _parents(codes: np.ndarray, count: int, above: np.ndarray) -> np.ndarray:
    """The cluster above that holds each cluster; layers nest, so one member tells it."""
    members = np.empty(count, np.int64)
    inside = np.flatnonzero(codes >= 0)
    members[codes[inside]] = inside
    return np.asarray(above[members], np.int32)
