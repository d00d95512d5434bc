"""Sparse matrices that were changed, given as graphs, distances and rows."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from scipy import sparse

import actup

from .changed_bytes import change_bytes
from .matrices import malform
from .oracle import NUMPYS_SETTINGS, Report, check_error, check_map


def run_case(draw: random.Random, report: Report) -> None:
    """Use one changed matrix in one way."""
    n = draw.randrange(4, 30)
    rng = np.random.default_rng(draw.getrandbits(32))
    dense = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    matrix = sparse.csr_matrix((dense + dense.T).astype(draw.choice(["f4", "f8"])))
    use = draw.choice(list(USES))
    if draw.random() < 0.25:
        change_arrays(matrix, draw)
    else:
        malform(matrix, draw)
    report.steps.append(f"{use}({matrix.shape}, {matrix.indptr!r:.200}, {matrix.indices!r:.200})")
    try:
        with np.errstate(**NUMPYS_SETTINGS):
            Y = USES[use](matrix)
    except (ValueError, TypeError) as error:
        check_error(error, use)
        report.count(use, "rejected")
        return
    if Y is not None:
        check_map(Y, len(matrix.indptr) - 1 if use == "graph of embed" else matrix.shape[0])
    report.count(use, "used")


def change_arrays(matrix: Any, draw: random.Random) -> None:
    """Change bytes of one of the three arrays, as a damaged file would."""
    name = draw.choice(["indices", "indptr", "data"])
    array = getattr(matrix, name)
    data = change_bytes(array.tobytes(), draw)[1]
    setattr(matrix, name, np.frombuffer(data[: len(data) // array.itemsize * array.itemsize], array.dtype))


def _graph(matrix: Any) -> Any:
    recipe = actup.Recipe(epochs=2, n_components=2)
    graph = actup.Graph(matrix.indptr, matrix.indices, matrix.data)
    return actup.embed(None, recipe, graph=graph, threads=1).embedding


def _scipy_graph(matrix: Any) -> None:
    actup.Graph.from_scipy(matrix)


def _distances(matrix: Any) -> Any:
    return actup.UMAP(
        metric="precomputed", n_neighbors=3, n_epochs=2, n_jobs=1, random_state=0
    ).fit_transform(matrix)


def _rows(matrix: Any) -> Any:
    return actup.TSNE(perplexity=1.2, max_iter=2, n_jobs=1, random_state=0, init="random").fit_transform(
        matrix
    )


def _search(matrix: Any) -> None:
    actup.nearest_neighbors(matrix, 2, n_jobs=1)


def _clusters(matrix: Any) -> None:
    graph = actup.Graph(matrix.indptr, matrix.indices, matrix.data)
    actup.find_clusters(
        np.zeros((matrix.shape[0], 2)), graph=graph, space="graph", min_cluster_size=2, n_jobs=1
    )


USES = {
    "graph of embed": _graph,
    "Graph.from_scipy": _scipy_graph,
    "precomputed distances": _distances,
    "rows of TSNE": _rows,
    "nearest_neighbors": _search,
    "graph of find_clusters": _clusters,
}
